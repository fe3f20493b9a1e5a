"""Whose word lets a line run: loopkit's own lines without a dialog, the checks with one."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from tests.client.harness import YES, Sandbox
from tests.client.model import Reply, Scenario, Text, Turn, bash, here_document
from tests.core.attacks import ATTACKS

CHECK = "test -f greeting.txt"
SHAPE = f"""\
# Shape: Greet
criteria:
- C1: There is a greeting
mustNot:
- M1: The README changes
- M2: A file is removed
verification:
| criterion | type | command |
|---|---|---|
| C1 | execution output | {CHECK} |
"""


def planned(here: Sandbox) -> str:
    """A loop with a check that nobody has allowed; its session, which no client has opened yet."""
    here.allow_checks()
    session = str(uuid.uuid4())
    for words, text in (
        (("start", "--task-file", "-"), "Greet"),
        (("score", "--outcome=2", "--scope=2", "--constraints=2", "--success=2", "--done=2"), ""),
        (("shape", "--accept", "-"), SHAPE),
        (("task", "add", "Greet", "--verify", CHECK), ""),
    ):
        done = here.loopkit(*words, session=session, given=text)
        assert done.returncode == 0, done.stderr
    return session


def runs(*lines: str) -> Scenario:
    """A model that runs these lines, all in one message."""

    def deviate(turn: Turn) -> Reply | None:
        if not turn.main or not turn.tools:
            return None
        return [Text("I see.")] if turn.calls else [bash(line) for line in lines]

    return Scenario(deviate=deviate)


def missing(here: Sandbox, session: str) -> list[str]:
    return json.loads(here.loopkit("allow", "--json", session=session).stdout)["missing"]


def lookalike(here: Sandbox) -> Path:
    """A `loopkit` earlier on the PATH, and the file that it writes when it runs."""
    folder, ran = here.folder / "bin", here.folder / "ran"
    folder.mkdir()
    (folder / "loopkit").write_text(f"#!/bin/sh\necho lookalike >> '{ran}'\n")
    (folder / "loopkit").chmod(0o755)
    here.env["PATH"] = f"{folder}:{here.environment()['PATH']}"
    return ran


def test_headless_own_lines_run_and_nobody_says_yes(place) -> None:
    own = [
        "loopkit status",
        "loopkit task show T-001",
        here_document("loopkit report notes --file -", "it's {\"b\": '1'} $(touch x)\n" * 500),
    ]
    wrapped = ["timeout 5 loopkit allow", "sh -c 'loopkit allow'"]
    here = place(runs(*own, *ATTACKS[::8], *wrapped, "loopkit allow"))
    session = planned(here)
    leave = ("Bash(timeout *)", "Bash(sh -c *)")  # so that they do run
    run = here.run("go", "--session-id", session, allowed=leave)
    denied = [row["tool_input"]["command"] for row in run.result["permission_denials"]]
    assert not {*own, *wrapped} & set(denied) and "allow --asked" in denied[-1]
    assert here.model.heard("notes-1.md")
    assert here.model.heard("nobody has said yes: nobody can be asked here")
    assert missing(here, session) == [CHECK]
    assert not (here.project / "x").exists()


def test_in_a_terminal_the_person_says_yes_in_a_dialog(place, tmux) -> None:
    here = place(runs("loopkit allow"))
    session, ran = planned(here), lookalike(here)
    terminal = here.terminal("--session-id", session, "--permission-mode", "auto", allowed=())
    terminal.say("go")
    terminal.see("runs the project's own code: before the work, after it, and on a copy")
    terminal.see(CHECK)
    assert missing(here, session) == [CHECK]
    terminal.answer(YES)
    terminal.wait("what the command says", lambda: here.model.heard("next: loopkit next"))
    assert missing(here, session) == [] and not ran.exists()


def test_a_typed_allow_is_a_yes_and_the_command_goes_on(place) -> None:
    here = place(runs("loopkit status"))
    session = planned(here)
    run = here.run("/loop:allow", "--session-id", session, allowed=())
    assert run.result["permission_denials"] == []
    assert here.model.heard("next: loopkit next")
    assert missing(here, session) == []
