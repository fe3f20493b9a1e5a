"""The agent that answers from a file, and the one that writes such a file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from loopkit.core.journal.errors import Damaged
from loopkit.engine.agents import Answer, Denied, Prompt
from loopkit.engine.agents.script import Script
from loopkit.engine.process import Deadlines

ENV = {"PATH": os.environ["PATH"]}


class Case:
    """A script file in a folder of its own, and its agent."""

    def __init__(self, tmp_path: Path, text: str, **values: str) -> None:
        self.folder = tmp_path / "project"
        self.folder.mkdir(exist_ok=True)
        path = tmp_path / "script.yaml"
        path.write_text(text, encoding="utf-8")
        self.agent = Script(str(path), values, ENV)

    def ask(
        self, kind: str, subject: str | None = None, deadlines: Deadlines | None = None
    ) -> Answer:
        return self.agent.run(
            Prompt("", kind, subject), None, deadlines or Deadlines(), self.folder
        )


def test_an_answer_by_kind_and_subject_before_one_by_kind(tmp_path: Path) -> None:
    case = Case(tmp_path, "steps: {test T-001: {text: one}, test: {text: any}, plan: {text: all}}")
    assert [case.ask("test", "T-001").text, case.ask("test", "T-002").text] == ["one", "any"]
    assert case.ask("plan").text == "all"


def test_the_next_time_has_the_next_answer_and_the_last_one_stays(tmp_path: Path) -> None:
    case = Case(tmp_path, "steps: {test: [{text: a, times: 2}, {text: b}, {text: c}]}")
    assert "".join(case.ask("test", "T-001").text for _ in range(6)) == "aabccc"
    assert case.ask("test", "T-002").text == "a", "each subject counts for itself"


def test_what_stands_in_no_file_is_fatal_and_named(tmp_path: Path) -> None:
    answer = Case(tmp_path, "steps: {plan: {text: x}}").ask("test", "T-009")
    assert (answer.outcome, answer.error) == ("fatal", "the script has no answer to: test T-009")


def test_edits(tmp_path: Path) -> None:
    case = Case(tmp_path, "steps: {fix: {write: {a/b.txt: new, gone.txt: null}}}")
    (case.folder / "gone.txt").write_text("x")
    assert case.ask("fix").text == "wrote a/b.txt\nremoved gone.txt\n", "where it says no more"
    assert (case.folder / "a/b.txt").read_text() == "new"
    assert not (case.folder / "gone.txt").exists()


@pytest.mark.parametrize("path", ["../out.txt", "/out.txt", "link/out.txt", "missing.txt: null #"])
def test_an_edit_that_cannot_be_made_is_fatal(tmp_path: Path, path: str) -> None:
    case = Case(tmp_path, f"steps: {{fix: {{write: {{{path}: x\n}}}}}}")
    (case.folder / "link").symlink_to(tmp_path)
    assert case.ask("fix").outcome == "fatal"
    assert not (tmp_path / "out.txt").exists()


def test_commands_run_in_the_folder_one_after_the_other(tmp_path: Path) -> None:
    case = Case(
        tmp_path, "steps: {fix: {write: {x: y}, run: [[cat, x], [sh, -c, 'echo z > x'], [cat, x]]}}"
    )
    assert case.ask("fix").text == "wrote x\nyz\n"


def test_a_command_that_fails_is_the_runs_own_failure(tmp_path: Path) -> None:
    case = Case(tmp_path, "steps: {fix: {text: fine, run: [[sh, -c, exit 3], [touch, x]]}}")
    answer = case.ask("fix")
    assert (answer.outcome, answer.error) == ("fatal", "exit 3")
    assert not (case.folder / "x").exists()


def test_a_reply_is_there_as_a_record_and_as_text(tmp_path: Path) -> None:
    answer = Case(tmp_path, "steps: {plan: {reply: {tasks: [{verify: ls}]}}}").ask("plan")
    assert answer.reply == {"tasks": [{"verify": "ls"}]}
    assert answer.text == "tasks:\n- verify: ls\n"
    assert answer.outcome == "done"


def test_a_failure_with_all_that_is_said_of_it(tmp_path: Path) -> None:
    row = "{outcome: limit, error: until 8, until: 8.5, cost: 0.25, turns: 3, session: s}"
    answer = Case(tmp_path, f"steps: {{plan: {row}}}").ask("plan")
    assert answer._replace(started=0, ended=0) == Answer(
        "limit", "", None, "until 8", 0.25, 3, "s", (), 0, 0, 8.5
    )
    answer = Case(tmp_path, "steps: {plan: {outcome: denied, denied: [rm x]}}").ask("plan")
    assert (answer.outcome, answer.denied) == ("denied", (Denied("rm x"),))


@pytest.mark.parametrize(
    ("deadlines", "late"),
    [
        (Deadlines(0, 9999, 9999), "start"),
        (Deadlines(9999, 0, 9999), "idle"),
        (Deadlines(9999, 9999, 0), "total"),
    ],
)
def test_a_delay_can_be_too_long(tmp_path: Path, deadlines: Deadlines, late: str) -> None:
    case = Case(tmp_path, "steps: {fix: {seconds: 1000, write: {x: y}}}")
    answer = case.ask("fix", deadlines=deadlines)
    assert (answer.outcome, answer.error) == ("timed_out", f"{late} deadline of 0 s passed")
    assert list(case.folder.iterdir()) == []


def test_a_delay_can_be_interrupted(tmp_path: Path) -> None:
    case = Case(tmp_path, "steps: {fix: {seconds: 1000}}")
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(case.ask("fix")))
    thread.start()
    case.agent.interrupt()
    thread.join()
    assert [answer.outcome for answer in answers] == ["interrupted"]


def test_values_are_filled_in_wherever_they_stand(tmp_path: Path) -> None:
    text = "steps: {plan: {reply: {verify: ['{python} -m x', '{other}']}, write: {'{python}': '{python}'}}}"
    case = Case(tmp_path, text, python="py")
    assert case.ask("plan").reply == {"verify": ["py -m x", "{other}"]}
    assert (case.folder / "py").read_text() == "py"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "None is not of type 'object'"),
        ("task: x", "'steps' is a required property"),
        ("[", "while parsing"),
        ("steps: {plan: {txt: x}}", "steps/plan: "),
        ("steps: {plan: []}", "steps/plan: "),
        ("steps: {plan: [{outcome: well}]}", "steps/plan/0/outcome: 'well' is not one of"),
        ("steps: {plan: [{times: 0}]}", "steps/plan/0/times: 0 is less than"),
        ("steps: {plan: [{run: [[]]}]}", "steps/plan/0/run/0: "),
    ],
)
def test_a_file_that_does_not_fit_says_where(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(Damaged) as caught:
        Case(tmp_path, text)
    message = str(caught.value)
    assert fault in message and message.startswith(f"cannot use {tmp_path}/script.yaml: ")
    assert "\n" not in message
