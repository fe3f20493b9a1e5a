"""Handing steps out: prompts that are there before a line names them, paths that agents find,
nothing lost or doubled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopkit.core.steps import due
from tests.cli.kit import Project
from tests.core.roles import named

GOOD = {"score": 82, "approved": True, "recommendation": "approve", "feedback": "as asked"}


def piece(text: str, **fields: Any) -> dict:
    return {"description": text, "complexity": "simple", "verify": "test -f limiter.txt", **fields}


@pytest.fixture
def supervised(project: Project) -> Project:
    return project.shaped(words=("--approval", "supervisor"))


def path_of(line: str) -> str:
    return line.split("`")[1]


def reply(project: Project, what: str, given: object) -> list[str]:
    return project.ok("reply", *what.split(), "--file", "-", given=given).steps


def test_an_agent_line_names_a_prompt_that_is_there_and_ends_in_its_form(
    supervised: Project,
) -> None:
    agent, submit = supervised.ok("wave", "next").steps
    text = (supervised.folder / path_of(agent)).read_text(encoding="utf-8")
    assert (
        text.startswith("loop:plan-1\n\n# Plan the work\n")
        and f"`{submit}`; that line is not for you." in text
    )
    assert supervised.of("role_asked") == [
        {"role": "planner", "kind": "plan", "task": None, "number": 1}
    ]


def test_from_a_sub_folder_the_path_is_a_whole_one(supervised: Project) -> None:
    (supervised.folder / "deep").mkdir()
    agent, _ = supervised.ok("wave", "next", cwd=supervised.folder / "deep").steps
    assert Path(path_of(agent)).is_absolute() and Path(path_of(agent)).is_file()


def test_what_is_out_is_not_dispatched_twice(supervised: Project) -> None:
    supervised.ok("wave", "next")
    again = supervised.ok("wave", "next")
    assert again.steps == ["loopkit reply plan --file -"] and "still out" in again.out
    assert len(supervised.of("role_asked")) == 1


def test_where_a_prompt_cannot_be_written_nothing_is_recorded(supervised: Project) -> None:
    elsewhere = supervised.folder / "elsewhere"
    elsewhere.mkdir()
    (supervised.root / supervised.name / "prompts").symlink_to(elsewhere)
    before = supervised.lines
    answer = supervised.lk("wave", "next")
    assert answer.exit == 3 and "a symbolic link" in answer.err and not answer.out
    assert supervised.lines == before and not list(elsewhere.iterdir())


def test_a_reply_that_does_not_fit_is_asked_for_with_a_prompt_that_says_so(
    supervised: Project,
) -> None:
    supervised.ok("wave", "next")
    answer = supervised.lk("reply", "plan", "--file", "-", given="I would first look around.")
    assert answer.exit == 1 and "does not fit" in answer.out
    assert answer.steps[1] == "loopkit reply plan --file -" and path_of(answer.steps[0]).endswith(
        "plan-2.md"
    )
    text = (supervised.folder / path_of(answer.steps[0])).read_text(encoding="utf-8")
    assert "## Your last answer could not be used" in text


def test_scaffold_goes_to_its_own_agent_and_a_large_wave_is_one_message(
    supervised: Project,
) -> None:
    supervised.ok("wave", "next")
    rows = [
        piece("Lay it out", scaffold=True),
        *(piece(f"Part {n}", dependencies=[0]) for n in range(3)),
    ]
    reply(supervised, "plan", {"tasks": rows})
    supervised.ok("wave", "next")
    reply(supervised, "verification plan", GOOD)
    steps = supervised.ok("wave", "next").steps
    assert steps[0].startswith("agent loop:scaffold: Do T-001 (Lay it out).")
    assert "This is scaffold" in (supervised.folder / path_of(steps[0])).read_text(encoding="utf-8")
    assert steps[1:] == ["loopkit reply implementation T-001 --file -"]


def test_an_evidence_loop_dispatches_as_ever(project: Project) -> None:
    project.planned()
    steps = project.ok("wave", "next").steps
    assert steps == [
        "agent loop:coder: Do T-001 (write the limiter). Run `loopkit task show T-001` first.",
        "loopkit wave close",
    ]
    assert not (project.root / project.name / "prompts").exists()


def test_the_whole_of_what_is_printed_stays_short(supervised: Project) -> None:
    supervised.ok("wave", "next")
    reply(supervised, "plan", {"tasks": [piece(f"Part {n} " + "x" * 300) for n in range(8)]})
    supervised.ok("wave", "next")
    reply(supervised, "verification plan", GOOD)
    opened = supervised.ok("wave", "next")
    assert len(opened.out.splitlines()) <= 40 and max(map(len, opened.out.splitlines())) < 300


def test_what_another_command_has_just_dispatched_is_told_as_out(
    supervised: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = supervised.ok("wave", "next")
    real = due.undispatched
    late = iter([[named("plan", None)]])  # as it was before the other command had the lock
    monkeypatch.setattr(due, "undispatched", lambda state: next(late, None) or real(state))
    second = supervised.ok("wave", "next")
    assert "1 reply is still out" in second.out and second.steps == first.steps[1:]
    assert len(supervised.of("role_asked")) == 1
