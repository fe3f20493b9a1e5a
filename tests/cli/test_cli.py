"""What all commands have in common: help, --json, exit codes, one line for an error."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import loopkit
from loopkit.cli import COMMANDS, cli
from tests.cli.kit import GATE, PANEL, REQUEST, ROOT, SHAPE, Project, task


def commands(
    group: click.Command = cli, words: tuple = ()
) -> Iterator[tuple[tuple, click.Command]]:
    """Every command with the words that call it."""
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            child = group.get_command(context, name)
            assert child is not None
            yield from commands(child, (*words, name))
    if words:
        yield words, group


ALL = dict(commands())


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_each_has_a_one_screen_help_with_an_example(project: Project, words: tuple) -> None:
    answer = project.ok(*words, "--help")
    lines = answer.out.splitlines()
    assert answer.out.startswith("Usage: loopkit " + " ".join(words))
    assert "Example: loopkit " in answer.out
    assert len(lines) <= 32 and max(map(len, lines)) <= 80
    assert project.ok(*words, "-h").out == answer.out


@pytest.mark.parametrize(
    "words", [words for words, one in ALL.items() if not isinstance(one, click.Group)], ids=" ".join
)
def test_each_can_answer_as_json(words: tuple) -> None:
    assert any("--json" in option.opts for option in ALL[words].params)


def test_help_and_version(project: Project) -> None:
    out = project.ok("--help").out
    assert all(name in out for name in COMMANDS) and "Exit codes: 0 done" in out
    assert project.ok("--version").out == f"loopkit {loopkit.__version__}\n"


@pytest.mark.parametrize(
    "words",
    [("nonsense",), ("task", "nonsense"), ("complete", "extra"), ("wave",), ("--nonsense",)],
)
def test_wrong_use_is_exit_2_and_names_the_help(project: Project, words: tuple) -> None:
    answer = project.lk(*words)
    assert answer.exit == 2
    if answer.err.startswith("loopkit: "):
        assert len(answer.err.splitlines()) == 1 and "--help" in answer.err


# -- --json


def walk(project: Project) -> Iterator[tuple]:
    """Every command once, in an order in which each has something to do: (words, input, exit
    code)."""
    stamp = (
        '{"ts":"2026-12-01T09:30:00Z","kind":"discovery","context":"rate limits","discovery":"x"}\n'
    )
    project.root.mkdir()
    (project.root / "learnings.jsonl").write_text(stamp)
    yield ("start", "--task-file", "-"), "add rate limits", 0
    yield ("recall",), None, 0
    yield ("recall", "--confirm", "1"), None, 0
    yield (
        ("score", "--outcome=1", "--scope=1", "--constraints=1", "--success=1", "--done=0"),
        None,
        1,
    )
    yield ("clarify",), None, 0
    yield ("panel", "--clarify", "done"), None, 0
    rest = dict.fromkeys(("outcome", "scope", "constraints", "success", "done"), "A")
    told = {
        "echo": "e",
        "task": "t",
        "context": "c",
        "done": "d",
        "approved": "yes",
        "answers": rest,
    }
    yield ("clarify", "--file", "-"), told, 0
    yield (
        ("score", "--outcome=2", "--scope=2", "--constraints=1", "--success=1", "--done=1"),
        None,
        0,
    )
    yield ("score",), None, 0
    yield ("shape", "--accept", "-"), SHAPE, 0
    yield ("confirm", "shape"), None, 0
    yield ("proof", "C1", "--why", "x", "--", "ls"), None, 0
    yield ("proof", "C1", "--why", "x", "--", "test", "-f", "limiter.txt"), None, 0
    yield ("task", "add", "a", "--verify", "test -f limiter.txt"), None, 0
    yield (
        ("task", "add", "--file", "-"),
        [task("b", "ls", blocked_by=["T-001"]), task("c"), task("d")],
        0,
    )
    yield ("confirm", "tasks"), None, 0
    yield ("task", "list"), None, 0
    yield ("task", "show", "T-001"), None, 0
    yield ("task", "waves"), None, 0
    yield ("task", "set", "T-003", "--files", "x"), None, 0
    yield ("task", "remove", "T-004"), None, 0
    yield ("task", "block", "T-003", "--reason", "x"), None, 0
    yield ("task", "unblock", "T-003"), None, 0
    yield ("task", "remove", "T-003"), None, 0
    yield ("panel", "--wave"), None, 0
    yield ("wave", "next"), None, 0
    yield ("wave", "next"), None, 0
    yield ("task", "start", "T-001"), None, 0
    yield ("verify", "T-001", "--", "test", "-f", "limiter.txt"), None, 1
    yield ("task", "fail", "T-001", "--error", "x"), None, 0
    yield ("wave", "close"), None, 0
    yield ("panel", "T-001"), None, 0
    yield ("panel", "T-001", "--file", "-"), PANEL, 0
    yield ("task", "split", "T-001", "--file", "-"), [task("aa")], 0
    yield ("confirm", "tasks"), None, 0
    decision = {
        "title": "t",
        "context": "c",
        "choice": "x",
        "alternatives": ["y: slow"],
        "invalidated_if": "$ false",
    }
    yield ("decide",), None, 0
    yield ("decide", "--file", "-"), decision, 0
    yield ("decide", "--list"), None, 0
    yield ("confirm", "tasks"), None, 0
    yield ("verify", "D1", "--", "false"), None, 0
    yield ("ask", "?"), None, 0
    yield ("answer", "!"), None, 0
    yield ("pause",), None, 0
    yield ("resume", "--iterations", "+5"), None, 0
    project.write("limiter.txt")
    yield ("baseline", "--", "ls"), None, 0
    yield ("baseline", "--check", "--", "ls"), None, 0
    yield ("checkpoint",), None, 0
    yield ("rollback", "last-good", "--dry-run"), None, 0
    yield ("wave", "next", "--worktrees"), None, 0
    yield ("worktree", "list"), None, 0
    yield ("verify", "T-005", "--", "test", "-f", "limiter.txt"), None, 0
    yield ("wave", "merge"), None, 0
    yield ("verify", "T-005", "--", "test", "-f", "limiter.txt"), None, 0
    yield ("worktree", "remove", "--clean"), None, 0
    yield ("wave", "close"), None, 0
    yield ("review", "--wave", "2"), None, 0
    yield (
        ("review", "--wave", "2", "--score=8"),
        None,
        0,
    )
    yield ("wave", "next"), None, 0
    yield ("verify", "T-002", "--", "ls"), None, 0
    yield ("wave", "close"), None, 0
    yield ("review", "--thorough"), None, 0
    yield ("review", "--thorough", "--prompt", "simplifier"), None, 0
    yield ("report", "simplifier", "--file", "-"), "a long report", 0
    warning = {"severity": "WARNING", "issue": "x"}
    yield (
        ("review", "--thorough", "--file", "-"),
        {"findings": [warning]},
        0,
    )
    yield ("review", "resolve", "F-001", "--skip", "x"), None, 0
    yield ("gate",), None, 1
    yield ("verify", "C1", "--", "test", "-f", "limiter.txt"), None, 0
    yield ("verify", "M2", "--", "test", "!", "-f", "forbidden.txt"), None, 0
    yield ("gate",), None, 0
    yield ("gate", "--file", "-"), GATE, 0
    yield ("status",), None, 0
    yield ("complete",), None, 0
    yield ("learn",), None, 0
    yield ("status", "--list"), None, 0
    yield ("cancel",), None, 0
    yield ("start", "--task-file", "-"), "add rate limits", 0
    yield ("next",), None, 0
    yield ("submit", "--file", "-"), {**REQUEST, "tasks": [task()]}, 0
    yield ("allow",), None, 0
    yield ("cancel",), None, 0
    yield ("start", "--approval", "supervisor", "--task-file", "-"), "add rate limits", 0
    yield (
        ("score", "--outcome=2", "--scope=2", "--constraints=2", "--success=2", "--done=2"),
        None,
        0,
    )
    yield ("shape", "--accept", "-"), SHAPE, 0
    yield ("wave", "next"), None, 0
    yield ("reply", "plan", "--file", "-"), "I cannot", 1
    pieces = [{"description": one, "complexity": "simple", "verify": "ls"} for one in "abc"]
    yield ("reply", "plan", "--file", "-"), {"tasks": pieces}, 0
    yield ("task", "add", "--replace", "--file", "-"), [task("d"), task("e")], 0
    yield ("wave", "next"), None, 0
    yield ("status",), None, 0


def asking_for_json(words: tuple) -> tuple:
    return (
        (*words[: words.index("--")], "--json", *words[words.index("--") :])
        if "--" in words
        else (*words, "--json")
    )


def test_every_command_answers_with_one_json_object_and_the_same_exit_code(
    project: Project,
) -> None:
    called = set()
    for words, given, code in walk(project):
        answer = project.lk(*asking_for_json(words), given=given)
        assert answer.exit == code and answer.err == "", (words, answer)
        row: Any = json.loads(answer.out)
        if words[0] not in ("status",) and words[:2] not in (("task", "list"), ("task", "show")):
            assert {"loop", "stage", "said", "next"} <= set(row), words
            assert isinstance(row["next"], list)
        called.add(words[:2] if words[0] in ("task", "wave", "worktree") else words[:1])
    missing = {
        words for words in ALL if words not in called and not isinstance(ALL[words], click.Group)
    }
    elsewhere = {
        words for words in missing if words[0] in ("run", "runs", "watch", "lint")
    }  # test_run.py
    known = {("doctor",), ("trust",), ("demo",), ("statusline",), ("review", "resolve")}
    assert missing - elsewhere <= known


def test_every_command_answers_in_words_and_ends_with_the_next_step(project: Project) -> None:
    for words, given, code in walk(project):
        answer = project.lk(*words, given=given)
        assert answer.exit == code and answer.err == "", (words, answer)
        steps = answer.steps
        rows = answer.out.splitlines()
        assert rows[len(rows) - len(steps) :] == [f"next: {step}" for step in steps], (
            "the steps stand at the end"
        )
        assert all(step.startswith(("loopkit ", "agent ")) for step in steps), words
        assert "Traceback" not in answer.out and "None" not in answer.out, (words, answer.out)


def test_a_refusal_with_soft_is_printed_and_exits_0(project: Project) -> None:
    answer = project.ok("status", "--soft")
    assert answer.out.startswith("loopkit says no: there is no loop in this project")


# -- as a program


def test_the_program_itself(project: Project, data: Path) -> None:
    def run(*words: str, given: str = "") -> subprocess.CompletedProcess:
        return subprocess.run(
            ["sh", ROOT / "bin" / "loopkit", *words],
            cwd=project.folder,
            env=project.env(
                LOOPKIT_DATA=str(data), LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
            ),
            input=given.encode(),
            capture_output=True,
        )

    done = run("start", "--task-file", "-", given="Größe “ändern” 🎉")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "> Größe “ändern” 🎉" in run("next").stdout.decode("utf-8")
    assert project.of("loop_started")[0]["task"] == "Größe “ändern” 🎉"
    done = run("wave", "next")
    assert done.returncode == 1 and done.stdout == b"" and done.stderr.count(b"\n") == 1
    done = run("start", "--sideways")
    assert done.returncode == 2


def test_a_reader_that_goes_away_is_no_fault_of_ours(project: Project, data: Path) -> None:
    project.planned(*[task(f"number {number}") for number in range(25)])
    program = ROOT / "bin" / "loopkit"
    done = subprocess.run(
        ["sh", "-c", f"sh '{program}' task list | head -1"],
        cwd=project.folder,
        env=project.env(LOOPKIT_DATA=str(data)),
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("[ ] T-001") and done.stderr == ""


def test_looking_imports_nothing_heavy(project: Project, data: Path) -> None:
    """A command that only looks does without what is slow to import."""
    project.planned()
    code = (
        "import sys, loopkit.cli\n"
        "loopkit.cli.main(['status'])\n"
        "heavy = {'pydantic', 'jinja2', 'rich', 'yaml', 'portalocker', 'subprocess'} & "
        "set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run(
        [data / "env" / "bin" / "python", "-c", code],
        cwd=project.folder,
        env=project.env(PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done


@pytest.mark.parametrize(
    ("words", "code", "end"),
    [
        (("wave", "close"), "no_loop", 1),
        (("wave", "--json"), "usage", 2),
        (("task", "show", "T-9x"), "no_loop", 1),
    ],
)
def test_a_refusal_is_a_json_object_too(
    project: Project, words: tuple, code: str, end: int
) -> None:
    answer = project.lk(*words, "--json")
    assert answer.exit == end and answer.err.startswith("loopkit: ")
    row = answer.json["refused"]
    assert row["code"] == code and set(row) == {"code", "what", "todo"}
    assert row["what"] in answer.err and row["todo"] in answer.err
    if "--json" not in words:
        assert project.lk(*words).out == ""


def test_a_refusal_with_a_next_step_names_it_in_json(project: Project) -> None:
    project.start()
    answer = project.lk("wave", "next", "--json")
    assert answer.json["refused"]["code"] == "not_yet"
    assert answer.json["refused"]["todo"].startswith("next: loopkit score ")


def test_what_a_check_says_is_not_taken_for_a_wish_of_json(project: Project) -> None:
    assert project.lk("verify", "T-001", "--", "tool", "--json").out == ""
