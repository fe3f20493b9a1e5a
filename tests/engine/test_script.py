"""The script agent: answers, edits, what it tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.core.journal.errors import Damaged, Refused
from loopkit.engine import script

TEXT = r"""
task: do it
answers:
- step: ^loopkit score
  arguments: [score, --outcome, "2"]
- step: ^loopkit review --wave (\d+)
  arguments: [review, --wave, '\1', --score, "8"]
- step: ^loopkit gate --file -
  input: "first {python}"
  times: 1
- step: ^loopkit gate --file -
  input: second
agents:
  T-001:
  - - a/b.txt: one
    - a/b.txt: two
  - - a/b.txt: three
"""
FAILED = (
    "T-001 not passed: exit 1\n  Traceback\n  AssertionError: 1 != 2\n  FAILED (failures=1)\n"
    "next: loopkit verify T-001 -- x"
)


def loaded(tmp_path: Path, text: str = TEXT) -> script.Script:
    path = tmp_path / "script.yaml"
    path.write_text(text, encoding="utf-8")
    return script.load(str(path), python="/bin/py")


def test_rules_answer_by_arguments_and_by_input(tmp_path: Path) -> None:
    answers = loaded(tmp_path)
    assert answers.answer("loopkit score --outcome <0-2>") == (["score", "--outcome", "2"], "")
    assert answers.answer("loopkit review --wave 12 --score <0-10>")[0] == [
        "review",
        "--wave",
        "12",
        "--score",
        "8",
    ]
    assert [answers.answer("loopkit gate --file -") for _ in range(3)] == [
        (None, "first /bin/py"),
        (None, "second"),
        (None, "second"),
    ]


@pytest.mark.parametrize(
    "step",
    [
        "loopkit wave next",
        'loopkit verify C1 -- python -c "a < b > c"',
        "loopkit verify C1 -- cat -",
    ],
)
def test_a_step_that_asks_for_nothing_needs_no_rule(tmp_path: Path, step: str) -> None:
    assert loaded(tmp_path).answer(step) == (None, "")


@pytest.mark.parametrize(
    "step", ["loopkit shape --accept -", "loopkit resume --usd <+25, if the person agrees>"]
)
def test_a_step_without_an_answer_is_named(tmp_path: Path, step: str) -> None:
    with pytest.raises(Refused, match="the script has no answer to: loopkit ") as caught:
        loaded(tmp_path).answer(step)
    assert step in str(caught.value) and "\n" not in str(caught.value)


def test_an_agent_edits_until_its_check_passes(tmp_path: Path) -> None:
    answers, told, calls = loaded(tmp_path), list[str](), list[list]()

    def call(arguments: list, given: str) -> tuple:
        calls.append(arguments)
        if arguments[0] == "task":
            return 0, "T-001\nnext: loopkit verify T-001 -- x"
        return (
            (0, "T-001 completed") if (tmp_path / "a/b.txt").read_text() == "three" else (1, FAILED)
        )

    assert answers.work("T-001", str(tmp_path), call, told.append) == FAILED
    assert told == [
        "T-001 writes a/b.txt",
        "T-001 not passed: exit 1\nAssertionError: 1 != 2",
        "T-001 writes a/b.txt",
        "T-001 not passed: exit 1",  # for the same reason as before
    ]
    assert answers.work("T-001", str(tmp_path), call, told.append) == "T-001 completed"
    assert calls[-1] == ["verify", "T-001", "--", "x"]


def test_an_agent_that_the_script_does_not_know_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no agent for T-009"):
        loaded(tmp_path).work("T-009", str(tmp_path), lambda arguments, given: (0, ""), print)


@pytest.mark.parametrize(
    "text",
    ["", "task: x", "[", "task: x\nanswers:\n- step: '('\nagents: {}", "task: x\nanswers: [1]"],
)
def test_a_script_that_is_no_use_is_damaged(tmp_path: Path, text: str) -> None:
    with pytest.raises(Damaged, match="cannot use"):
        loaded(tmp_path, text)


def test_next_steps_are_the_last_block() -> None:
    assert script.next_steps("next: a\nsaid\nnext: b\nnext: c\n\n") == ["b", "c"]
    assert script.next_steps("next: a\nsaid\n") == script.next_steps("") == []


def test_an_edit_may_be_a_call_of_the_agents_own(tmp_path: Path) -> None:
    answers = loaded(
        tmp_path, TEXT.replace("a/b.txt: three", "loopkit verify T-002 -- grep -q x y: ''")
    )
    answers.used["T-001"] = 1
    calls: list[tuple] = []
    told: list[str] = []

    def call(arguments: list, given: str) -> tuple:
        calls.append((arguments, given))
        return 0, "fine\nnext: loopkit verify T-001 -- x" if arguments[
            0
        ] == "task" else "T-00x: so it is"

    answers.work("T-001", str(tmp_path), call, told.append)
    assert calls[1:] == [
        (["verify", "T-002", "--", "grep", "-q", "x", "y"], ""),
        (["verify", "T-001", "--", "x"], ""),
    ]
    assert told[0] == "T-001 runs loopkit verify T-002 -- grep -q x y: T-00x: so it is"
    assert not (tmp_path / "loopkit verify T-002 -- grep -q x y").exists()
