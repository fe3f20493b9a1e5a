"""Agents by name: ours, those of a user's own package, other programs, what is recorded."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import yaml

from loopkit.core.journal.errors import Damaged, LoopError, UsageFault
from loopkit.engine import agents, extensions
from loopkit.engine.agents import Answer, Denied, Options, Prompt
from loopkit.engine.process import Deadlines


def ask(
    agent: agents.Agent, folder: Path, kind: str = "work", subject: str | None = None
) -> Answer:
    return agent.run(Prompt("what to do", kind, subject), None, Deadlines(), folder)


@pytest.mark.parametrize(
    ("name", "options", "fault"),
    [
        ("clod", Options(), "there is no agent 'clod'; use one of claude, codex, gemini, "),
        ("command", Options(), "agent 'command' has no program"),
        ("command", Options(program=("",)), "agent 'command' has no program"),
        ("command", Options(program=("no-such",)), "no-such is not on the PATH"),
        ("command", Options(program=("/nowhere/x",)), "there is no program /nowhere/x"),
        ("command", Options(program=("/",)), "there is no program /"),
        ("command", Options(program=(__file__,)), f"{__file__} may not be executed; chmod +x"),
        ("script", Options(), "agent 'script' has no file"),
        ("script", Options(script="/nowhere.yaml"), "cannot use /nowhere.yaml"),
        ("codex", Options(environment={"PATH": "bin:."}), "codex is not on the PATH"),
        ("claude", Options(environment={"PATH": "/nowhere"}), "claude is not on the PATH"),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_line(
    name: str, options: Options, fault: str
) -> None:
    with pytest.raises(LoopError) as caught:
        agents.make(name, options)
    assert str(caught.value).startswith(fault) and "\n" not in str(caught.value)


# -- a user's own


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with agents of its own."""
    folder = tmp_path / "packages"
    info = folder / "theirs-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    points = (
        "echo = theirs:make\nbroken = theirs:no_such\nangry = theirs:angry\nclaude = theirs:make"
    )
    (info / "entry_points.txt").write_text(f"[loopkit.agents]\n{points}\n")
    (folder / "theirs.py").write_text(
        "from loopkit.engine.agents import Answer\n"
        "class Echo:\n"
        "    def __init__(self, options): self.options = options\n"
        "    def run(self, prompt, schema, deadlines, folder):\n"
        "        return Answer('done', f'{self.options.model}: {prompt.text}')\n"
        "    def interrupt(self): pass\n"
        "make = Echo\n"
        "def angry(options): raise RuntimeError('no key')\n"
    )
    monkeypatch.setenv("LOOPKIT_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield folder
    sys.modules.pop("theirs", None)


def test_an_entry_point_makes_an_agent(package: Path, tmp_path: Path) -> None:
    assert {"claude", "echo"} <= set(agents.names())
    assert agents.names().count("claude") == 1, "ours stay ours"
    agent = agents.make("echo", Options(model="m"))
    assert ask(agent, tmp_path).text == "m: what to do"


@pytest.mark.parametrize("name", ["broken", "angry"])
def test_one_that_cannot_be_made_is_named(package: Path, name: str) -> None:
    with pytest.raises(UsageFault, match=f"agent '{name}'.* cannot be used: "):
        agents.make(name)


def test_a_folder_of_the_project_is_nobodys_own(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageFault, match="there is no agent 'echo'"):
        agents.make("echo")


# -- other programs


#: Refuses what the help of codex 0.171.0, gemini 0.61.0 and opencode 1.18.33 does not know.
STRICT = """
import argparse, json, os, sys
name = os.path.basename(sys.argv[0])
parser = argparse.ArgumentParser(prog=name, allow_abbrev=False)
if name != "gemini":
    parser.add_argument("command", choices=["exec"] if name == "codex" else ["run"])
parser.add_argument("-m", "--model")
if name == "codex":
    sandboxes = ["read-only", "workspace-write", "danger-full-access"]
    parser.add_argument("-s", "--sandbox", choices=sandboxes)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--skip-git-repo-check", action="store_true")
    parser.add_argument("prompt", nargs="?", choices=["-"])
elif name == "gemini":
    parser.add_argument("--approval-mode", choices=["default", "auto_edit", "yolo", "plan"])
else:
    parser.add_argument("--auto", action="store_true")
parser.parse_intermixed_args()
print(json.dumps([sys.argv[1:], sys.stdin.read()]))
"""


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("codex", Options(), ["exec", "--sandbox", "workspace-write", "-"]),
        ("codex", Options(model="m", permission_mode="read-only", arguments=("--json",)),
         ["exec", "--model", "m", "--sandbox", "read-only", "--json", "-"]),
        ("gemini", Options(), ["--approval-mode", "auto_edit"]),
        ("gemini", Options(model="m", permission_mode="yolo"),
         ["--model", "m", "--approval-mode", "yolo"]),
        ("opencode", Options(), ["run"]),
        ("opencode", Options(permission_mode="auto"), ["run", "--auto"]),
    ],
)  # fmt: skip
def test_presets(tmp_path: Path, name: str, options: Options, words: list[str]) -> None:
    program = tmp_path / "bin" / name
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{STRICT}")
    program.chmod(0o755)
    agent = agents.make(name, options._replace(environment={"PATH": str(program.parent)}))
    answer = ask(agent, tmp_path)
    assert (answer.outcome, json.loads(answer.text)) == ("done", [words, "what to do"])
    assert answer.cost is None, "it is not known, which is said"


@pytest.mark.parametrize(
    ("options", "begins"),
    [
        (Options(program=("cat",)), "what to do"),
        (Options(program=("echo",), arguments=("-n", "x")), "x"),
        (Options(program=("cat",), prompt_by="file"), "what to do"),
        (Options(program=("cat", "{prompt}"), prompt_by="file"), "what to do"),
    ],
)
def test_a_program_with_its_prompt(tmp_path: Path, options: Options, begins: str) -> None:
    assert ask(agents.make("command", options), tmp_path).text == begins


def test_a_program_beside_the_project_is_not_taken_for_one_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "helper"
    program.write_text("#!/bin/sh\necho taken\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    with pytest.raises(Damaged, match="helper is not on the PATH"):
        agents.make("command", Options(program=("helper",)))
    answer = ask(agents.make("command", Options(program=("./helper",))), tmp_path)
    assert answer.text == "taken\n"


# -- recording


class Worker:
    """An agent that works on files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers = [
            Answer("done", "first", cost=0.5, turns=2, denied=(Denied("Bash: x", ("Bash(x)",)),)),
            Answer("limit", "", error="no more", until=9.5),
            Answer("done", "last", reply={"a": 1}),
        ]

    def run(self, prompt: Prompt, *rest: object) -> Answer:
        (self.folder / "new.txt").write_text(f"héllo {len(self.answers)}\n")
        (self.folder / "old.txt").unlink(missing_ok=True)
        (self.folder / "picture").write_bytes(b"\xff\x00")
        return self.answers.pop(0)

    def interrupt(self) -> None: ...


def test_what_is_recorded_can_be_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, told = tmp_path / "project", list[str]()
    project.mkdir()
    (project / "old.txt").write_text("x")
    monkeypatch.setattr(extensions, "load", lambda *given: lambda options: Worker(project))
    record = str(tmp_path / "record.yaml")
    made = agents.make("theirs", Options(record=record, told=told.append))
    answers = [ask(made, project, *step) for step in (("work",), ("work",), ("test", "T-001"))]
    assert told == [f"picture is not recorded: {line.split(': ', 1)[1]}" for line in told]
    assert len(told) == 1, "it changed once only"

    (project / "old.txt").write_text("x")
    (project / "new.txt").unlink()
    monkeypatch.undo()
    again = agents.make("script", Options(script=record))
    played = [ask(again, project, *step) for step in (("work",), ("work",), ("test", "T-001"))]
    bare = [one._replace(started=0, ended=0) for one in played]
    assert bare[0] == answers[0]._replace(denied=(Denied("Bash: x"),))
    assert bare[1:] == answers[1:]
    assert (project / "new.txt").read_text() == "héllo 1\n"
    assert not (project / "old.txt").exists()
    assert list(yaml.safe_load(Path(record).read_text())["steps"]) == ["work", "test T-001"]


def test_a_record_is_added_to_and_never_replaced(tmp_path: Path) -> None:
    record = tmp_path / "record.yaml"
    record.write_text("steps: {work: {text: before}}")
    ask(agents.make("command", Options(program=("echo", "now"), record=str(record))), tmp_path)
    rows = yaml.safe_load(record.read_text())["steps"]["work"]
    assert [row["text"] for row in rows] == ["before", "now\n"]
    record.write_text("no script")
    with pytest.raises(Damaged):
        agents.make("command", Options(program=("echo",), record=str(record)))
