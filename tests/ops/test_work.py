"""Runs that work on a loop: task by task with commits, to a goal's end, after a crash, from and to a
session."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopkit.core.journal.errors import LoopError
from loopkit.core.pipeline import status
from loopkit.engine import process
from loopkit.engine import run as runner
from loopkit.engine.agents import INTERRUPTED, Answer
from loopkit.engine.agents.patient import Patient
from loopkit.engine.agents.script import Script
from loopkit.ops import advance, resume, taskfile
from loopkit.ops import start as starting
from loopkit.ops.runs import loops, on_loop, start
from loopkit.ops.runs.driver import RUN, Stop
from loopkit.ops.runs.loops import Found
from loopkit.ops.runs.start import Asked, Over
from loopkit.ops.workspace import Workspace
from loopkit.store.runs import Run
from tests.cli.kit import GATE, S1, Project
from tests.core import roles
from tests.ops.kit import WANTED, Case, asked, check, part, planned, writes
from tests.waiting import DEADLINE, wait_for

TASKS = "".join(
    f"- subject: Write {name}\n  verify: grep -qx good {name}.txt\n  files: [{name}.txt]\n"
    for name in "abc"
)


class Work(Case):
    """A project with tasks in a file, and runs in it as from a terminal. pid: of a client."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch, pid: str) -> None:
        super().__init__(project, monkeypatch)
        self.pid = pid
        for name in ("CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_PID"):
            monkeypatch.delenv(name, raising=False)
        folder = project.folder / "docs" / "plans"
        folder.mkdir(parents=True)
        (folder / "demo.tasks.yaml").write_text(TASKS)
        self.git("add", "-A")
        self.git("commit", "-qm", "tasks")
        self.steps |= {
            f"implementation T-00{n}": writes(name, "good", cost=0.25)
            for n, name in enumerate("abc", 1)
        }

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.project.folder, capture_output=True, text=True, check=True
        )
        return done.stdout

    @property
    def subjects(self) -> list[str]:
        return self.git("log", "--format=%s").splitlines()

    def script(self) -> str:
        """The file that its agents answer from."""
        path = self.project.folder.parent / "script.yaml"
        path.write_text(json.dumps({"steps": self.steps}))
        return str(path)

    def go(self, name: str = "work", session: str = "demo", **more: Any) -> Over:
        chosen = {"agent": "script", "script": self.script()}
        more = {"checks": ("grep *",), "words": (name, session), **more}
        wanted = Asked(name, session, chosen=chosen, **more)
        self.records, self.progress = [], []
        for record in start.start(Workspace(self.notes.append), wanted, self.progress.append):
            self.records.append(record)
        assert isinstance(record, Over)
        return record

    @property
    def told(self) -> list[str]:
        return [one.text for one in self.records if isinstance(one, runner.Recorded | start.Told)]

    def run_of(self, session: str = "demo") -> Run:
        found = Run.open(str(self.project.root), session)
        assert found is not None
        return found


@pytest.fixture
def work(project: Project, monkeypatch: pytest.MonkeyPatch, other_pid: str) -> Work:
    monkeypatch.setattr("loopkit.core.pipeline.definitions.DELAY", 0.0)
    case = Work(project, monkeypatch, other_pid)
    stage = project.root / "stages" / "work"
    stage.mkdir(parents=True, exist_ok=True)
    source = os.path.join(os.path.dirname(__file__), "..", "..", "stages", "work")
    for name in ("stage.yaml", "prompt.md"):
        text = open(os.path.join(source, name), encoding="utf-8").read()
        (stage / name).write_text(text.replace("delay: 3", "delay: 0"), encoding="utf-8")
    return case


def test_three_tasks_are_done_and_committed_one_by_one(work: Work) -> None:
    (work.project.folder / "mine.txt").write_text("not committed\n")
    over = work.go(iterations=5)
    assert (over.code, over.data["status"]) == (0, "completed"), (over.text, work.told)
    assert work.subjects[:4] == ["Write c (T-003)", "Write b (T-002)", "Write a (T-001)", "tasks"]
    assert work.git("show", "--name-only", "--format=", "HEAD").split() == ["c.txt"]
    assert work.git("status", "--porcelain").splitlines() == ["?? .loop/", "?? mine.txt"]
    assert over.data["spent"]["usd"] == pytest.approx(0.75)
    assert over.data["iteration_completed"] == 3
    rows = over.data["history"]
    assert [row["task"] for row in rows] == ["T-001", "T-002", "T-003"]
    assert rows[2]["commit"] == work.git("rev-parse", "HEAD").strip()
    assert work.project.snapshot["status"] == "paused"
    assert "--continue demo" in work.project.snapshot["reason"]
    assert work.notes == []


def test_a_check_that_nobody_allowed_waits_with_the_pattern_to_add(work: Work) -> None:
    over = work.go(checks=())
    assert (over.code, over.data["status"], over.data["completion_reason"]) == (
        1,
        "paused",
        "denied",
    )
    assert "--checks 'grep *'" in over.text and 'verify_allow = ["grep *"]' in over.text
    assert over.data["history"] == [] and work.subjects[0] == "tasks"
    work.steps["implementation T-001"] = writes("a", "bad", "good", cost=0.1)
    over = work.go(how="resume")
    assert over.code == 0, (over.text, work.told)
    rows = [(row["task"], bool(row.get("commit"))) for row in over.data["history"]]
    assert rows == [("T-001", False), ("T-001", True), ("T-002", True), ("T-003", True)]
    assert work.git("show", "--format=", "--name-only", "HEAD~2").split() == ["a.txt"]
    assert [row["task"] for row in work.project.of("panel_recorded")] == ["T-001"]


def test_the_line_that_goes_on_names_every_check(work: Work) -> None:
    path = work.project.folder / "docs" / "plans" / "demo.tasks.yaml"
    path.write_text(TASKS.replace("grep -qx good c.txt", "python3 -c 'open(\"c.txt\")'"))
    over = work.go(checks=(), words=("work", "demo", "--usd", "3"))
    line = over.text.partition("go on with iteration 1: ")[2].splitlines()[0]
    leave = ["--checks", "grep *", "--checks", "python3 -c 'open(\"c.txt\")'"]
    number = str(over.data["limits"]["iterations"])
    assert shlex.split(line) == [
        *("loopkit", "run", "work", "demo", number, "--usd", "3", "--resume"),
        *leave,
    ]
    answer = work.project.lk(*shlex.split(line)[1:], session=None)
    assert answer.exit == 0, answer  # the agent is the same
    shown = work.project.lk("run", "work", "demo", session=None)
    assert shown.exit == 1 and "--usd 3 --checks 'grep *' --checks" in shown.out


def test_tasks_that_the_loop_does_not_hold_are_not_passed_over_in_silence(work: Work) -> None:
    path = work.project.folder / taskfile.path_of("demo")
    work.steps["implementation T-002"] = {"outcome": "fatal", "error": "no"}
    assert work.go().code == 1
    path.write_text(TASKS + "- subject: Write d\n  verify: grep -qx good d.txt\n")
    work.steps["implementation T-002"] = writes("b", "good")
    assert work.go(how="resume").code == 0
    assert "does not hold 1 task of docs/plans/demo.tasks.yaml (Write d)" in work.told[0]
    with pytest.raises(LoopError, match=r"has done its tasks, and does not hold .* \(Write d\)"):
        work.go(how="force")
    path.write_text("no list")
    assert work.go(how="force").code == 0
    with pytest.raises(LoopError, match="it is no list"):
        work.go(how="force", tasks=str(path))


def test_the_end_is_told_before_the_person_is_called(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start.notices, "give", lambda *given: work.records.append("called"))
    work.go(checks=())
    assert isinstance(work.records[-2], Over) and work.records[-1] == "called"


def test_a_session_may_repeat_the_leave_that_was_given(work: Work) -> None:
    work.steps["implementation T-001"] = {"outcome": "fatal", "error": "no"}
    assert work.go().code == 1
    words = ("run", "work", "demo", "--resume", "--checks")
    assert work.project.lk(*words, "pytest *").exit == 1
    work.steps["implementation T-001"] = writes("a", "good")
    work.script()
    answer = work.project.lk(*words, "grep *")
    assert answer.exit == 0, answer


@pytest.mark.parametrize(
    ("file", "what"),
    [(None, "neither a loop other nor a file docs/plans/other.tasks.yaml"), ("# A plan\n", "list")],
    ids=["no file", "prose"],
)
def test_without_a_task_nothing_is_begun(work: Work, file: str | None, what: str) -> None:
    if file:
        (work.project.folder / taskfile.path_of("other")).write_text(file)
    with pytest.raises(LoopError) as fault:
        work.go(session="other")
    assert what in fault.value.what and "- subject:" in fault.value.todo
    assert fault.value.exit_code == 1
    assert not (work.project.root / "runs").exists()


def test_a_dry_run_tells_of_the_loop_and_writes_nothing(work: Work) -> None:
    answer = work.project.lk("run", "work", "demo", "--dry-run", session=None)
    assert answer.exit == 0, answer
    assert "begins a loop demo with 3 tasks" in answer.out and "(Write a, with" in answer.out
    assert "checks that may not run (task 1: grep -qx good a.txt; task 2" in answer.out
    for checks, waits in (("grep *", False), ("pytest *", True)):
        given = ("run", "work", "demo", "--dry-run", "--checks", checks)
        allowed = work.project.lk(*given, session=None)
        assert ("checks that may not run" in allowed.out) is waits, allowed
    assert not (work.project.root / "runs").exists()
    assert not list(work.project.root.glob("0*"))
    work.go(checks=())
    answer = work.project.lk("run", "work", "demo", "--dry-run", session=None)
    assert "works on loop 001-demo, paused: 0 of 3 tasks completed" in answer.out
    assert "checks that may not run" in answer.out and "(T-001: Write a, with" in answer.out


def test_what_every_step_would_note_is_noted_once(work: Work) -> None:
    shutil.rmtree(work.project.folder / ".git")
    assert work.go(iterations=2).data["iteration_completed"] == 2
    said = [line for line in work.notes if line.startswith("nothing will be committed")]
    assert len(said) == 1, work.notes


def test_a_dry_run_of_a_goal_names_its_models_and_no_prompt(work: Work) -> None:
    words = ("run", "looper", "Add a limit", "limits", "--dry-run")
    out = work.project.ok(*words, "--agent", "command", session=None).out
    assert "begins a loop limits" in out and "each step asks a fresh agent" in out
    assert "prompt of iteration" not in out and "all that is known" not in out
    wanted = Asked("looper", "limits", goal="Add a limit", chosen={})
    lines = start.shown(Workspace(work.notes.append), wanted).text.splitlines()
    assert "  coder      opus, else sonnet" in lines and "  prompt " not in lines


def test_logs_show_the_last_agent_of_an_iteration_and_name_the_others(work: Work) -> None:
    assert work.go(iterations=1).data["status"] == "limit"
    folder = os.path.join(work.run_of().folder, "stage-1-work", "log")
    for number, name in enumerate(("001", "001-test-T-001", "001-verdict-T-001", "0010")):
        path = Path(folder, f"{name}.jsonl")
        path.write_text(f"words of {name}\n")
        os.utime(path, (number, number))
    out = work.project.ok("runs", "logs", "demo", session=None).out
    assert "words of 001-verdict-T-001\n" in out
    assert "before it: 001.jsonl, 001-test-T-001.jsonl" in out and "0010" not in out


def test_only_blocked_tasks_left_is_waiting(work: Work) -> None:
    reply = {"status": "blocked", "summary": "no key", "block_reason": "the API key is missing"}
    work.steps |= {f"implementation T-00{n}": {"reply": reply} for n in (1, 2, 3)}
    over = work.go()
    assert (over.code, over.data["status"], over.data["completion_reason"]) == (
        1,
        "paused",
        "waiting",
    )
    assert "the API key is missing" in over.text
    assert len(over.data["history"]) == 3


NONSENSE = {"text": "I'll wait for the build. <promise>COMPLETE</promise>", "cost": 0.01}


def nothing_usable(work: Work) -> None:
    """Agents that do no work and fill in no form."""
    kinds = ("implementation T-001", "panel", "split")
    work.steps |= dict.fromkeys(kinds, NONSENSE)


def test_an_agent_that_answers_nonsense_is_tried_again_up_to_the_limit(work: Work) -> None:
    nothing_usable(work)
    over = work.go(iterations=3)
    assert (over.code, over.data["completion_reason"]) == (75, "max_iterations"), over.text
    assert "T-001 is not completed: verification exits 2" in over.text
    rows = over.data["history"]
    assert [(row["task"], row["outcome"]) for row in rows] == [("T-001", "done")] * 3
    assert all("not completed" in row["error"] for row in rows)
    assert [row.get("consensus") for row in work.project.of("panel_recorded")] == [None, None]
    assert "verification exits 2" in open(work.run_of().progress, encoding="utf-8").read()
    words = ("work", "demo", "--resume", "--iterations", "5")
    again = work.project.lk("run", *words, "--json", session=None)
    assert again.exit == 75 and "split T-001: the form is no list" in again.json["error"]
    assert [row["outcome"] for row in again.json["history"][3:]] == ["unusable"] * 2
    told = work.project.lk("run", *words[:-1], "6", session=None).out.splitlines()
    at = told.index("split T-001: begun")
    assert told[at + 1].startswith("  its answer cannot be used: the form is no list")


def test_iterations_that_come_no_further_at_one_step_are_not_repeated_for_ever(work: Work) -> None:
    nothing_usable(work)
    over = work.go(iterations=25)
    assert (over.code, over.data["status"]) == (1, "paused")
    assert over.data["completion_reason"] == "stalled" and len(over.data["history"]) == 6
    assert "3 iterations in a row came no further: split T-001: the form is no list" in over.text
    assert work.project.snapshot["verdict"] == "stalled"
    over = work.go(how="resume")  # a person's decision: it is tried as often again
    assert over.data["completion_reason"] == "stalled" and len(over.data["history"]) == 9
    assert over.data["spent"]["usd"] == pytest.approx(3 * 0.01 + 2 * 0.02 + 6 * 0.02)


def test_judges_of_the_whole_are_asked_once_an_iteration(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer of one that never lets a loop be complete counts like any iteration."""
    begun_in_a_session(work, monkeypatch, part("a"))
    work.project.ok("pause")
    usual, unsure = work.steps["gate"], {"reply": {**GATE, "confidence": 10}, "cost": 0.01}
    review = work.steps["thorough_review"]
    work.steps |= {
        "gate": unsure,
        "gate_again": unsure,
        "thorough_review": [NONSENSE, NONSENSE, review],
    }
    over = work.go("looper", "demo", loop="001-demo", iterations=4)
    assert (over.code, over.data["completion_reason"]) == (75, "max_iterations"), over.text
    outcomes = [row["outcome"] for row in over.data["history"]]
    assert outcomes == ["done", "unusable", "done", "done"]
    over = work.go("looper", "demo", how="resume", iterations=25)
    assert (over.code, over.data["completion_reason"]) == (1, "stalled"), over.text
    assert "came no further: gate_again" in over.text
    work.steps["gate_again"] = usual
    over = work.go("looper", "demo", how="resume")
    assert (over.code, over.data["status"]) == (0, "completed"), (over.text, work.told)


def dying(work: Work, at: str) -> None:
    """A run that is killed at this point, in a process of its own."""
    child = os.fork()
    if not child:
        module, _, name = at.rpartition(".")
        owner: Any = on_loop
        for part_of in module.split("."):
            owner = getattr(owner, part_of)
        real = getattr(owner, name.rstrip("!"))

        def killed(*given: Any, **named: Any) -> Any:
            if at.endswith("!"):
                real(*given, **named)
            os._exit(9)

        setattr(owner, name.rstrip("!"), killed)
        try:
            work.go()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize(
    ("at", "asked"),
    [
        ("headless.Driver.ended", 2),  # the agent has ended, nobody knows
        ("headless.Driver.ended!", 2),
        ("headless.drive.verify.verify", 1),  # its answer is recorded
        ("commits.commit", 1),  # the check has passed
        ("commits.commit!", 1),  # the commit is made, the iteration is not marked
        ("Driver._row!", 1),
    ],
)
def test_killed_anywhere_each_step_happens_once(work: Work, at: str, asked: int) -> None:
    (work.project.folder / taskfile.path_of("demo")).write_text(
        TASKS.split("- subject: Write b")[0]
    )
    work.git("commit", "-qam", "one task")
    dying(work, at)
    over = work.go(how="resume")
    assert (over.code, over.data["status"]) == (0, "completed"), (over.text, work.told)
    assert [row["task"] for row in over.data["history"]] == ["T-001"]
    assert over.data["history"][0]["commit"] == work.git("rev-parse", "HEAD").strip()
    assert work.subjects.count("Write a (T-001)") == 1 and work.subjects[1] == "one task"
    dispatched = [row for row in work.project.of("role_asked") if row["kind"] == "implementation"]
    assert len(dispatched) == asked
    assert work.project.of("task_failed") == []
    known = [row for row in work.project.of("agent_ended") if row["step"] == "implementation T-001"]
    assert over.data["spent"]["usd"] == pytest.approx(0.25 * len(known))


def test_killed_after_a_failed_attempt_it_counts_once_with_its_task(work: Work) -> None:
    good, work.steps["implementation T-001"] = (
        work.steps["implementation T-001"],
        writes("a", "bad", cost=0.1),
    )
    dying(work, "Driver._close")
    work.steps["implementation T-001"] = good
    over = work.go(how="resume")
    assert over.code == 0, (over.text, work.told)
    rows = [(row["task"], bool(row.get("commit"))) for row in over.data["history"]]
    assert rows == [("T-001", False), ("T-001", True), ("T-002", True), ("T-003", True)]
    assert "T-001 is not completed" in over.data["history"][0]["error"]
    assert over.data["history"][0]["usd"] == pytest.approx(0.1)


@pytest.mark.parametrize("session", ["demo", "again"])
def test_a_dead_runs_number_that_another_process_got_holds_no_loop(
    work: Work, monkeypatch: pytest.MonkeyPatch, session: str
) -> None:
    dying(work, "headless.Driver.ended")
    monkeypatch.setattr("loopkit.store.place.alive", lambda pid: True)
    over = work.go("work", session, loop="001-demo", how="resume" if session == "demo" else "plain")
    assert (over.code, over.data["status"]) == (0, "completed"), (over.text, work.told)


def test_a_run_takes_no_project_in_which_another_one_works(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even one that began after it had looked."""
    assert work.go(iterations=1).code == 75
    begun_in_a_session(work, monkeypatch, part("x"), name="other")
    with pytest.raises(LoopError, match="one loop of a project is worked on at a time"):
        work.go(how="resume", iterations=5)
    with monkeypatch.context() as patch:
        patch.setattr(
            "loopkit.ops.runs.loops.look", lambda workspace, wish: Found(wish, "001-demo")
        )
        over = work.go(how="resume", iterations=5)
    assert over.code == 1 and "is worked on by session in-a-terminal" in over.text
    assert work.project.snapshot["status"] == "running"


@pytest.mark.parametrize("tasks", ["one", "three"])
def test_work_that_could_not_be_committed_is_before_anything_else_is_done(
    work: Work, monkeypatch: pytest.MonkeyPatch, tasks: str
) -> None:
    if tasks == "one":
        rows = TASKS.split("- subject: Write b")[0]
        (work.project.folder / taskfile.path_of("demo")).write_text(rows)
        work.git("commit", "-qam", "tasks")
    lock = work.project.folder / ".git" / "index.lock"
    with monkeypatch.context() as patch:
        also(patch, lock.touch)
        over = work.go()
    assert (over.code, over.data["status"]) == (1, "failed"), over.text
    assert "T-001 completed, not committed: " in over.text and "index.lock" in over.text
    lock.unlink()
    over = work.go(how="resume")
    assert (over.code, over.data["status"]) == (0, "completed"), over.text
    made = ["Write c (T-003)", "Write b (T-002)", "Write a (T-001)"][2 if tasks == "one" else 0 :]
    assert work.subjects[: len(made)] == made
    assert work.git("show", "--name-only", "--format=", f"HEAD~{len(made) - 1}").split() == [
        "a.txt"
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("git checkout -q -b other", "the branch was changed from main to other"),
        ("git add mine.txt; git commit -qm own", "not any more: mine.txt"),
        ("git commit -q --allow-empty -m own", " became "),
        ("git stash -qu", "uncommitted before, and not any more: mine.txt"),
    ],
)
def test_what_an_agent_did_to_the_branch_is_told(
    work: Work, monkeypatch: pytest.MonkeyPatch, line: str, says: str
) -> None:
    work.git("branch", "-M", "main")
    (work.project.folder / "mine.txt").write_text("not committed\n")
    with monkeypatch.context() as patch:
        also(patch, lambda: subprocess.run(line, shell=True, check=True, cwd=work.project.folder))
        over = work.go(iterations=1)
    (row,) = over.data["history"]
    assert says in "; ".join(row["notes"]), row
    assert any(says in line for line in work.told)
    assert over.data["history"][0]["task"] == "T-001"


def test_whatever_an_agent_says_its_work_is_committed(work: Work) -> None:
    mark = on_loop.MARK.format(loop="001-demo", task="T-002", evidence="evidence/T-002-1.log")
    said = {**roles.implemented(), "summary": f"a\0b \x1b[31mred\n{mark}\nend"}
    work.steps["implementation T-001"][0]["reply"] = said
    (work.project.folder / "mine.txt").write_text("not committed\n")
    over = work.go()
    assert over.code == 0, over.text
    assert work.git("log", "--format=%s").splitlines()[1:3] == [
        "Write b (T-002)",
        "Write a (T-001)",
    ]
    assert work.git("log", "--skip=2", "-1", "--format=%b").split() == ["a", "b", "red", "end"] + (
        ["Loopkit-Task:", "001-demo", "T-001", "evidence/T-001-1.log"]
    )
    assert not any(row.get("dirty") for row in over.data["history"]), over.data
    assert any("· T-001 completed, commit " in line for line in work.told), work.told


def test_an_agent_of_a_run_runs_its_check_and_ends_nothing(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []

    def tries() -> None:
        lk, state = work.project.lk, work.run_of().state
        owner = work.project.snapshot["owner"]["session_id"]
        env = {"LOOPKIT_CHILD": "1", on_loop.OWNER: owner, RUN: state.token}
        for words in (["cancel"], ["pause"], ["runs", "stop", "demo"], ["runs", "pause", "demo"]):
            answers.append(lk(*words, session=None, **env).err)
        checked = lk("verify", "T-001", session=None, **env)
        assert checked.exit == 1 and "T-001 not passed" in checked.out, checked

    with monkeypatch.context() as patch:
        also(patch, tries)
        over = work.go(iterations=1)
    assert len(answers) == 4 and all("an agent of a run" in err for err in answers), answers
    assert over.data["completion_reason"] == "max_iterations", over.text


def test_what_the_person_changes_while_a_run_is_paused_stays_theirs(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    drivers: list[on_loop.Driver] = []
    begin = on_loop.Driver._begin_attempt

    def begun(self: on_loop.Driver) -> None:
        drivers.append(self)
        begin(self)

    def cut(self: Any, *given: Any) -> Answer:
        (folder / "half.txt").write_text("of the agent\n")
        drivers[0].interrupt(Stop(status.INTERRUPTED, 2))
        return Answer(INTERRUPTED, error="it was ended")

    folder = work.project.folder
    monkeypatch.setattr(on_loop.Driver, "_begin_attempt", begun)
    with monkeypatch.context() as patch:
        patch.setattr(Script, "run", cut)
        assert work.go().code == 130
    for name in ("README.txt", "mine.txt"):
        (folder / name).write_text("of the person\n")
    assert work.go(how="resume").code == 0
    changed = work.git("show", "--name-only", "--format=", "HEAD~2").split()
    assert changed == ["a.txt", "half.txt"], work.told
    left = work.git("status", "--porcelain").splitlines()
    assert left == [" M README.txt", "?? .loop/", "?? mine.txt"]


@pytest.mark.parametrize("tasks", ["one", "three"])
def test_a_task_that_was_completed_as_the_run_was_aborted_is_committed_by_the_next(
    work: Work, monkeypatch: pytest.MonkeyPatch, tasks: str
) -> None:
    if tasks == "one":
        rows = TASKS.split("- subject: Write b")[0]
        (work.project.folder / taskfile.path_of("demo")).write_text(rows)
        work.git("commit", "-qam", "tasks")

    def aborted(self: on_loop.Driver, step: Any) -> Any:
        raise SystemExit(130)

    with monkeypatch.context() as patch:
        patch.setattr(on_loop.Driver, "_close", aborted)
        with pytest.raises(SystemExit):
            work.go()
    assert work.project.snapshot["tasks"]["completed"] == 1 and work.subjects[0] == "tasks"
    over = work.go(how="resume")
    assert (over.code, over.data["status"]) == (0, "completed"), over.text
    made = ["Write c (T-003)", "Write b (T-002)", "Write a (T-001)"][2 if tasks == "one" else 0 :]
    assert work.subjects[: len(made)] == made
    assert over.data["history"][0]["task"] == "T-001"
    assert work.git("status", "--porcelain").split() == ["??", ".loop/"]


def begun_in_a_session(
    work: Work, monkeypatch: pytest.MonkeyPatch, *rows: dict, name: str = "demo"
) -> None:
    """A loop that a session has begun and given its tasks; its client still runs."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "in-a-terminal")
    monkeypatch.setenv("CLAUDE_PID", work.pid)
    work.steps["score"] = asked(*rows)
    options = starting.Options(approval="evidence", name=name, beside=True)
    starting.start(Workspace(work.notes.append), "write three words", options)
    work.project.ok("submit", "--file", "-", given=json.dumps(work.steps["score"]["reply"]))
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")
    monkeypatch.delenv("CLAUDE_PID")


def test_a_loop_of_a_session_ends_headless(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never while that session is at work on it; the same journal, evidence and leave."""
    begun_in_a_session(work, monkeypatch, part("a"), part("b"))
    with pytest.raises(LoopError, match="is worked on by session in-a-terminal"):
        work.go("looper", "demo", loop="001-demo")
    work.project.ok("pause")
    over = work.go("looper", "demo", loop="001-demo")
    assert (over.code, over.data["status"]) == (0, "completed"), (over.text, work.told)
    assert work.project.snapshot["verdict"] == "achieved"
    assert work.project.snapshot["spent"]["usd"] == pytest.approx(0.5)
    assert over.data["spent"]["usd"] == pytest.approx(0.5)
    assert [row["why"] for row in work.project.of("owner_changed")] == ["resume"]
    assert any("<loop-complete>" in text for text in work.told)


def test_a_session_that_comes_to_the_loop_just_before_keeps_it(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.go(checks=())
    real = loops.take

    def late(*given: Any) -> str:
        work.project.ok("resume", "demo", session=S1, CLAUDE_PID=work.pid)
        return real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(loops, "take", late)
        over = work.go(how="resume")
        assert over.code == 1 and f"worked on by session {S1}" in over.text, over.text
        assert work.project.snapshot["owner"]["session_id"] == S1
        assert work.project.snapshot["status"] == "running"
        over = work.go(how="resume", take_over=True)
    assert (over.code, over.data["status"]) == (0, "completed"), over.text


def test_a_loop_begun_headless_goes_on_in_a_session(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = {"outcome": "limit", "error": "limit", "until": time.time() + 1e5}
    work.steps["implementation T-002"] = limit
    over = work.go()
    assert (over.code, over.data["status"]) == (75, "limit"), over.text
    assert work.project.snapshot["status"] == "paused"
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "in-a-terminal")
    monkeypatch.setenv("CLAUDE_PID", work.pid)
    workspace = Workspace(work.notes.append)
    resume.resume(workspace, "demo")
    told = advance.advance(Workspace(work.notes.append)).text
    state = work.project.snapshot
    assert state["owner"]["session_id"] == "in-a-terminal" and state["status"] == "running"
    assert state["tasks"]["completed"] == 1, told
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")
    with pytest.raises(LoopError, match="is worked on by session in-a-terminal"):
        work.go(how="resume", usd=50)


def test_more_given_to_a_run_lifts_the_limits_of_its_loop(work: Work) -> None:
    assert work.go(usd=0.3).data["completion_reason"] == "max_cost"
    assert work.project.snapshot["verdict"] == "waiting"
    over = work.go("work", "again", loop="001-demo")
    assert (over.code, over.data["error"]) == (75, "$0.50 of $0.3 spent")
    assert work.project.snapshot["verdict"] == "limit_budget"
    with pytest.raises(LoopError, match="raise it: --usd"):
        work.go("work", "again", how="resume")
    over = work.go("work", "again", how="resume", usd=1)
    assert (over.code, over.data["status"]) == (0, "completed"), (over.text, work.told)
    assert work.project.snapshot["limits"] == {"iterations": 25, "usd": 1.5, "seconds": 7200}


def test_an_agent_that_uses_up_its_loops_money_ends_the_run_at_a_limit(work: Work) -> None:
    work.go(usd=0.3, iterations=1)
    spent = {"outcome": "spent", "error": "its budget is used up", "cost": 0.06}
    work.steps["implementation T-002"] = spent
    over = work.go("work", "again", loop="001-demo", iterations=5)
    assert (over.code, over.data["completion_reason"]) == (75, "max_cost"), over.text
    assert over.data["spent"]["usd"] == pytest.approx(0.06)
    work.steps["implementation T-002"] = writes("b", "good", cost=0.25)
    over = work.go("work", "again", how="resume", usd=1)
    assert (over.code, over.data["status"]) == (0, "completed"), over.text


@pytest.mark.parametrize("policy", ["review", "supervisor"])
def test_a_goal_is_worked_to_its_verdict(
    work: Work, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    score = {"reply": roles.scored(90)}
    batch = {"build": "passed", "tests": "passed", "lint": "none", "findings": []}
    rows = [
        {"description": f"write {name}", "complexity": "simple", "verify": check(name)}
        for name in "ab"
    ]
    implemented = [
        {**writes(name, "good", cost=0.1)[0], "reply": roles.implemented()} for name in "ab"
    ]
    work.steps |= {
        "score": {"reply": WANTED},
        "plan": planned(*rows),
        "plan_review": {"reply": {"score": 90, "summary": "whole", "findings": []}},
        "plan_verdict": {"reply": {"score": 90, "summary": "whole", "findings": []}},
        "implementation T-001": implemented[0],
        "implementation T-002": implemented[1],
        **{
            f"batch_review {n}": {"reply": {**batch, "verdicts": {f"T-00{n}": "approved"}}}
            for n in (1, 2)
        },
        "test": {"reply": roles.saw()},
        "verdict": score,
        "goal_verdict": score,
    }
    over = work.go("looper", "limits", goal="Add rate limiting", approval=policy)
    assert (over.code, over.data["status"]) == (0, "completed"), (over.text, work.told)
    state = work.project.snapshot
    assert (state["verdict"], state["loop"]) == ("achieved", "001-limits")
    assert (work.project.root / "001-limits" / "report.md").exists()
    assert over.data["spent"]["usd"] == pytest.approx(0.2)


def test_the_command_line_says_which_loop_is_meant(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A goal names its run, --resume a run, --continue a loop: the active one, or by its name."""
    seen: list[Asked] = []

    def started(workspace: Workspace, wanted: Asked, told: Any = None) -> Any:
        seen.append(wanted)
        yield Over(0, "", {})

    begun_in_a_session(work, monkeypatch, part("a"))
    monkeypatch.setattr(start, "start", started)
    lines = (
        ["looper", "Add rate limiting to the API", "--checks", "pytest *", "--usd", "3"],
        ["looper", "Add rate limiting", "limits", "--approval", "review"],
        ["looper", "limits", "7", "--resume"],
        ["looper", "limits", "7", "--force"],
        ["looper", "Add rate limiting", "limits", "--force"],
        ["--continue"],
        ["--continue", "demo"],
        ["work", "demo", "--tasks", "other.yaml", "--take-over"],
    )
    for words in lines:
        answer = work.project.lk("run", *words, session=None)
        assert answer.exit == 0, (words, answer)
    goal, named, again, anew, renamed, active, by_name, tasks = seen
    assert (goal.name, goal.session, goal.approval) == (
        "looper",
        "add-rate-limiting-api",
        "supervisor",
    )
    assert (goal.goal, goal.checks, goal.usd) == ("Add rate limiting to the API", ("pytest *",), 3)
    assert (named.session, named.approval, named.words) == (
        "limits",
        "review",
        ("looper", "limits", "--approval", "review"),
    )
    assert (again.session, again.how, again.iterations, again.goal) == ("limits", "resume", 7, "")
    assert (anew.session, anew.how, anew.iterations, anew.goal) == ("limits", "force", 7, "")
    assert (renamed.session, renamed.how, renamed.goal) == ("limits", "force", "Add rate limiting")
    for one in (active, by_name):
        assert (one.session, one.loop, one.how) == ("demo", "001-demo", "plain")
    assert (tasks.name, tasks.tasks, tasks.take_over) == ("work", "other.yaml", True)
    for wrong in (
        ["looper"],
        ["looper", "limits", "7", "8", "--force"],
        ["--continue", "a", "b"],
        ["--continue", "none"],
    ):
        assert work.project.lk("run", *wrong, session=None).exit in (1, 2), wrong


def test_a_session_gives_no_leave(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "in-a-terminal")
    with pytest.raises(LoopError, match="--checks gives leave"):
        work.go()


@pytest.mark.parametrize("ignored", [False, True], ids=["ended", "nohup"])
def test_a_signal_during_a_check_ends_it_at_once_unless_it_is_ignored(
    work: Work, monkeypatch: pytest.MonkeyPatch, ignored: bool
) -> None:
    (work.project.folder / taskfile.path_of("demo")).write_text(
        TASKS.split("- subject: Write b")[0]
    )
    number = signal.SIGHUP if ignored else signal.SIGINT
    real = process._Watch.follow

    def interrupted(self: Any, *given: Any) -> str:
        assert os.environ[RUN] == work.run_of().state.token  # so a check that outlives it is found
        if (work.project.folder / "a.txt").exists():  # its agent has ended
            signal.raise_signal(number)
        return real(self, *given)

    before = signal.signal(number, signal.SIG_IGN) if ignored else None
    try:
        with monkeypatch.context() as patch:
            patch.setattr(process._Watch, "follow", interrupted)
            code = work.go().code if ignored else None
            if not ignored:
                with pytest.raises(SystemExit) as ended:
                    work.go()
                code = ended.value.code
    finally:
        if before is not None:
            signal.signal(number, before)
    assert code == (0 if ignored else 130)
    if not ignored:
        state = work.run_of().state
        assert (state.status, state.reason) == (status.PAUSED, status.INTERRUPTED)
        assert work.project.snapshot["status"] == "paused"
        assert any("work demo 25 --resume" in line for line in work.progress), work.progress
        assert not os.path.exists(os.path.join(work.run_of().folder, "lock"))
        assert state.usd == pytest.approx(0.25) and state.done == 0, "what the agent cost counts"
        work.steps["implementation T-001"] = NONSENSE  # its check alone is left
        over = work.go(how="resume")
        assert over.code == 0 and over.data["spent"]["usd"] == pytest.approx(0.25)
        assert over.data["history"][0]["commit"] == work.git("rev-parse", "HEAD").strip()


def test_a_second_signal_aborts_and_what_was_spent_counts(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, seen, swept = on_loop.Driver._begin_attempt, list[on_loop.Driver](), threading.Event()

    def begun(self: on_loop.Driver) -> None:
        seen.append(self)
        begin(self)

    def ended(self: Any, *given: Any) -> Answer:
        os.kill(os.getpid(), signal.SIGINT)
        wait_for("the first signal", lambda: seen[0].stop)
        patch.setattr(process, "sweep", lambda mark: swept.set())
        os.kill(os.getpid(), signal.SIGINT)
        assert swept.wait(DEADLINE)
        return Answer(INTERRUPTED, error="it was ended", cost=0.1)

    with monkeypatch.context() as patch:
        patch.setattr(on_loop.Driver, "_begin_attempt", begun)
        patch.setattr(Script, "run", ended)
        with pytest.raises(SystemExit) as aborted:
            work.go()
    assert aborted.value.code == 130
    state = work.run_of().state
    assert (state.status, state.reason, state.done) == ("paused", "interrupted", 0)
    assert state.usd == pytest.approx(0.1)
    assert [row["outcome"] for row in work.project.of("agent_ended")] == ["interrupted"]
    over = work.go(how="resume")
    assert over.code == 0 and over.data["spent"]["usd"] == pytest.approx(0.85)


def test_a_signal_pauses_run_and_loop_and_what_was_spent_counts(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[on_loop.Driver] = []
    begin = on_loop.Driver._begin_attempt

    def begun(self: on_loop.Driver) -> None:
        seen.append(self)
        begin(self)

    def ended(self: Any, *given: Any) -> Answer:
        seen[0].interrupt(Stop(status.INTERRUPTED, 2))  # as the signal's handler does
        return Answer(INTERRUPTED, error="it was ended", cost=0.1)

    monkeypatch.setattr(on_loop.Driver, "_begin_attempt", begun)
    with monkeypatch.context() as patch:
        patch.setattr(Script, "run", ended)
        over = work.go()
    assert (over.code, over.data["status"]) == (130, "paused"), over.text
    assert over.data["completion_reason"] == "interrupted"
    state = work.project.snapshot
    assert state["status"] == "paused" and state["tasks"]["completed"] == 0
    assert [row["outcome"] for row in work.project.of("agent_ended")] == ["interrupted"]
    assert over.data["spent"]["usd"] == pytest.approx(0.1) and over.data["history"] == []
    over = work.go(how="resume")
    assert over.code == 0 and [row["task"] for row in over.data["history"]][0] == "T-001"
    assert work.project.of("task_failed") == []


def also(monkeypatch: pytest.MonkeyPatch, what: Callable[[], None]) -> None:
    """What happens while an agent is at work."""
    real = Script.run

    def ran(self: Any, *given: Any) -> Answer:
        what()
        return real(self, *given)

    monkeypatch.setattr(Script, "run", ran)


def test_a_pause_lets_the_iteration_end_with_its_check_and_commit(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        also(patch, lambda: (Path(work.run_of().folder) / "pause").touch())
        over = work.go()
    assert (over.code, over.data["completion_reason"]) == (1, "asked"), over.text
    assert [row["task"] for row in over.data["history"]] == ["T-001"]
    assert work.subjects[0] == "Write a (T-001)"
    assert over.data["spent"]["usd"] == pytest.approx(0.25)
    assert work.go(how="resume").code == 0


@pytest.mark.parametrize("kind", ["time", "usd"])
def test_a_limit_within_an_iteration_asks_no_further_agent_and_loses_no_cost(
    work: Work, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    work.steps["score"] = {**asked(part("a")), "cost": 0.25}
    given = {"seconds": 7200.0} if kind == "time" else {"usd": 0.2}
    with monkeypatch.context() as patch:
        if kind == "time":
            also(patch, lambda: patch.setattr(Run, "elapsed", 7200.0))
        over = work.go("looper", goal="write a word", approval="supervisor", **given)
    reason = {"time": "max_duration", "usd": "max_cost"}[kind]
    assert (over.code, over.data["completion_reason"]) == (75, reason), over.text
    assert over.data["spent"]["usd"] == pytest.approx(0.25) and over.data["history"] == []
    assert [row["step"] for row in work.project.of("agent_ended")] == ["score"]


def test_a_loop_that_is_taken_away_ends_the_run_and_what_was_spent_counts(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Script.run

    def taken(self: Any, *given: Any) -> Answer:
        answer = real(self, *given)
        work.project.ok("resume", "demo", "--take-over", session=S1, CLAUDE_PID=work.pid)
        return answer

    monkeypatch.setattr(Script, "run", taken)
    over = work.go()
    assert (over.code, over.data["status"]) == (1, "failed"), over.text
    assert S1 in over.text
    assert over.data["spent"]["usd"] == pytest.approx(0.25) and over.data["history"] == []
    state = work.project.snapshot
    assert (state["status"], state["owner"]["session_id"]) == ("running", S1)


def test_waiting_for_a_usage_limit_takes_no_time_of_run_and_loop(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = [0.0]
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + later[0])

    def waited(self: Any, *given: Any) -> bool:
        later[0] += 5000
        return True

    monkeypatch.setattr(Patient, "_count_down", waited)
    limit = {"outcome": "limit", "error": "limit", "until": time.time() + 5000}
    work.steps["implementation T-001"] = [limit, *work.steps["implementation T-001"]]
    work.steps["implementation T-002"] = [limit, *work.steps["implementation T-002"]]
    over = work.go(seconds=7200.0)
    assert (over.code, over.data["status"]) == (0, "completed"), over.text
    assert over.data["spent"]["seconds"] < 5000 < later[0]
    assert work.project.snapshot["spent"]["seconds"] < 5000
