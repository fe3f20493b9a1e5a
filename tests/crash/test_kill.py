"""`kill -9` at every system call that changes a file: what was acknowledged is there, nothing is
half done."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.hooks import dispatch
from loopkit.store import answers
from tests.cli.kit import REQUEST, S1, SHAPE, Answer, Project, task
from tests.crash import kit

pytestmark = pytest.mark.usefixtures("strace")

LEARNT = [
    {"kind": "discovery", "context": f"limits {number}", "discovery": f"{number} is enough"}
    for number in (1, 2)
]


def hook(project: Project, event: str, **given: object) -> Answer:
    """A hook's event as the client sends it to S1, answered within this process."""
    row = {"session_id": S1, "cwd": str(project.folder), "transcript_path": "", **given}
    data = project.environment["LOOPKIT_DATA"]
    said = dispatch.answer(event, json.dumps(row).encode(), project.env(), data, time.time())
    return Answer(0, said.decode(), "")


def stop(project: Project) -> Answer:
    return hook(project, "stop", stop_hook_active=False, background_tasks=[])


def native(project: Project, name: str, **fields: object) -> None:
    """A task that Claude made by itself in the list of S1."""
    row = {
        "id": name,
        "subject": f"Claude's {name}",
        "description": "",
        "status": "pending",
        "blocks": [],
    }
    path = Path(project.environment["HOME"], ".claude", "tasks", S1, f"{name}.json")
    path.write_text(json.dumps({**row, "blockedBy": [], **fields}))


def changes(call: kit.Call) -> bool:
    """To look, to read, to wait for the disk or for a lock changes nothing that others see: to die at
    such a call is to die at the next one that does. LOOPKIT_TEST_LONG=1 dies at each of them too."""
    return call.changing and call.name not in kit.WAITING or kit.LONG


def worth(call: kit.Call) -> bool:
    """Files that are made anew from the journal are written alike by every command: one scene dies
    at those calls too, all others at the rest."""
    return changes(call) and (kit.LONG or not call.derived)


def killed(
    project: Project,
    tally: Counter,
    act: Callable[[], Answer],
    after: Callable[[bool], None],
    wanted: Callable[[kit.Call], bool] = worth,
) -> None:
    """Kill `act` at every such call of its; `after(done)` says what must hold then, told whether it had
    come to its end.

    wanted: at which calls.
    """
    died = 0
    for call, _, outcome in kit.each(
        project, act, lambda call: [kit.kill_at(call)] if wanted(call) else []
    ):
        assert outcome.killed, (call, outcome.code, outcome.said)
        died += 1
        kit.age(project)
        try:
            after(False)
        except Exception as error:
            raise AssertionError(
                f"killed before {call.name} {call.number}: {call.line[:300]}"
            ) from error
    tally.update({"killed": died, "survived": died})


def add_and_look(project: Project, wanted: Callable[[dict], bool]) -> None:
    """Another command works, and everything is whole after it."""
    status = project.lk("status", "--json")
    assert status.exit == 0, status
    before = project.tasks
    assert wanted(before), before
    added = project.lk("task", "add", "the next one", "--verify", "ls")
    assert (added.exit, added.err) == (0, ""), added
    after = project.tasks
    assert len(after) == len(before) + 1 and wanted(after)
    kit.whole(project)


def test_task_add_and_its_push_to_the_list(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "ls"), task("second", "ls", blocked_by=["T-001"]))

    def after(done: bool) -> None:
        add_and_look(
            listed,
            lambda rows: [row["subject"] for row in rows.values()][:2] == ["first", "second"],
        )
        assert kit.mirrored(listed) == dict.fromkeys(listed.tasks, "pending")

    act = lambda: listed.lk("task", "add", "killed", "--verify", "ls")  # noqa: E731
    killed(listed, tally, act, after, changes)


def test_verify_and_its_evidence(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "ls"), task("second", "ls"))
    listed.ok("wave", "next")

    def after(done: bool) -> None:
        row = listed.tasks["T-001"]
        assert (row["status"], row["evidence"] is None) in (
            ("in_progress", True),
            ("completed", False),
        )
        assert listed.verify("T-001").exit == 0
        row = listed.tasks["T-001"]
        log = listed.root / listed.name / row["evidence"]["log"]
        assert row["status"] == "completed" and "[exit 0" in log.read_text()
        kit.whole(listed)
        assert kit.mirrored(listed) == {"T-001": "completed", "T-002": "in_progress"}

    killed(listed, tally, lambda: listed.verify("T-001"), after)


def test_wave_close_with_its_many_lines(listed: Project, tally: Counter) -> None:
    (listed.folder / ".git").rename(
        listed.folder.parent / "git"
    )  # checkpoints are killed on their own
    listed.planned(task("first", "ls"), task("second", "false"), task("third", "ls"))
    listed.ok("wave", "next")
    listed.verify("T-001")

    def after(done: bool) -> None:
        open_ = listed.status["wave"]["open"]
        rows = {name: row["status"] for name, row in listed.tasks.items()}
        assert (
            rows["T-002"] == rows["T-003"] == ("in_progress" if open_ else "pending") or not open_
        ), rows
        if open_:
            listed.ok("wave", "close")
        assert not listed.status["wave"]["open"] and len(listed.of("wave_closed")) == 1
        assert len(listed.of("task_failed")) == 2
        add_and_look(listed, lambda rows: rows["T-001"]["status"] == "completed")

    killed(listed, tally, lambda: listed.lk("wave", "close"), after)


def recording(call: kit.Call) -> bool:
    """What writes the journal: to die anywhere else changes no record."""
    return call.changing and "ledger.jsonl" in call.line


def test_rollback_between_its_save_its_files_and_its_record(
    listed: Project, tally: Counter
) -> None:
    """Git folder and working tree are not put back from one death to the next: each rollback saves
    what the last left."""
    listed.planned(task("first", "test -f one.txt"), task("second", "ls", blocked_by=["T-001"]))
    listed.ok("wave", "next")
    listed.write("one.txt")
    listed.verify("T-001")
    listed.ok("wave", "close")
    for call, _, outcome in kit.each(
        listed,
        lambda: listed.lk("rollback", "1"),
        lambda call: [kit.kill_at(call)] if recording(call) else [],
    ):
        assert outcome.killed, (call, outcome)
        tally.update({"killed": 1, "survived": 1})
        kit.age(listed)
        saved = listed.of("checkpoint_made")[2:]
        assert [one["label"] for one in saved] in ([], ["before-rollback"])
        assert listed.tasks["T-001"]["status"] == (
            "pending" if listed.of("rolled_back") else "completed"
        )
        if saved:
            listed.ok("rollback", "--undo")
            assert (listed.folder / "one.txt").exists()
        listed.write("one.txt")
        assert listed.ok("rollback", "1").exit == 0
        assert (
            not (listed.folder / "one.txt").exists()
            and listed.tasks["T-001"]["status"] == "pending"
        )
        listed.write("one.txt")
        kit.whole(listed)


def test_start(listed: Project, tally: Counter) -> None:
    words = ("start", "--task-file", "-")

    def after(done: bool) -> None:
        again = listed.lk(*words, given="add limits")
        assert again.exit == 0 or "is not finished" in again.err, again
        assert listed.status["task"] == "add limits"
        assert listed.score(2, 2, 2, 2, 2).exit == 0
        kit.whole(listed)
        folders = [one.name for one in listed.root.iterdir() if one.is_dir()]
        assert folders == ["001-add-limits"], "a folder that nobody was told of is not left over"

    killed(listed, tally, lambda: listed.lk(*words, given="add limits"), after)


@pytest.mark.parametrize("purge", [False, True], ids=["archive", "purge"])
def test_start_afresh(listed: Project, tally: Counter, purge: bool) -> None:
    listed.planned(task("old", "ls"))
    words = ("start", "--fresh", *(["--purge"] if purge else []), "--task-file", "-")
    old = listed.name

    def after(done: bool) -> None:
        status = listed.lk("status", "--json")
        assert status.exit == 0 or "there is no loop" in status.err, status
        again = listed.lk(*words, given="the new one")
        assert again.exit == 0, again
        assert listed.status["task"] == "the new one" and listed.status["status"] == "running"
        archive = listed.root / "archive"
        kept = [one.name for one in archive.iterdir()] if archive.exists() else []
        there = [one.name for one in listed.root.iterdir() if one.name[:1].isdigit()]
        assert len(there) == len(set(there) - {old}) + (old in there)
        assert old in there or (old + (".purged" if purge else "")) in kept
        if purge:
            assert old not in kept and (
                old not in there or (listed.root / old / "ledger.jsonl").exists()
            )
        else:
            home = listed.root / old if old in there else archive / old
            assert len((home / "ledger.jsonl").read_text().splitlines()) >= 5, (
                "nothing of the old one is lost"
            )
        assert "T-001" not in kit.mirrored(listed)
        kit.whole(listed)

    killed(listed, tally, lambda: listed.lk(*words, given="the new one"), after)


def test_cancel(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "ls"), task("second", "ls"))
    native(listed, "1")
    listed.ok("task", "list")

    def after(done: bool) -> None:
        assert listed.status["status"] in ("running", "aborted")
        assert listed.lk("cancel").exit == 0
        assert listed.status["status"] == "aborted" and len(listed.of("loop_cancelled")) == 1
        assert stop(listed).out == ""
        assert [name for name in kit.mirrored(listed) if name.startswith("T-")] == []
        kit.whole(listed)

    killed(listed, tally, lambda: listed.lk("cancel"), after)


def test_shape_is_accepted(listed: Project, tally: Counter) -> None:
    listed.start()
    listed.score(2, 2, 2, 2, 2)
    act = lambda: listed.lk("shape", "--accept", "-", given=SHAPE)  # noqa: E731

    def after(done: bool) -> None:
        stage = listed.status["stage"]
        assert (stage, len(listed.of("shape_saved"))) in (("shape", 0), ("decompose", 1))
        assert act().exit == 0
        assert (listed.root / listed.name / "SHAPE.md").read_text() == SHAPE
        add_and_look(listed, lambda rows: True)

    killed(listed, tally, act, after)


def test_learn(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "ls"))
    act = lambda: listed.lk("learn", "--file", "-", given=LEARNT)  # noqa: E731
    path = listed.root / "learnings.jsonl"

    def after(done: bool) -> None:
        rows = path.read_text().splitlines() if path.exists() else []
        assert len(rows) in (0, 2)
        assert act().exit == 0
        kept = [json.loads(row)["discovery"] for row in path.read_text().splitlines()]
        assert kept == ["1 is enough", "2 is enough"]
        add_and_look(listed, lambda rows: True)

    killed(listed, tally, act, after)


def test_a_held_stop_that_takes_in_what_claude_added(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "ls"))
    listed.ok("wave", "next")
    native(listed, "1")
    listed.ok("status")

    def after(done: bool) -> None:
        assert len(listed.of("iteration_ended")) in (0, 1)
        assert "additionalContext" in stop(listed).out
        rows = [row["subject"] for row in listed.tasks.values()]
        assert rows == ["first", "Claude's 1"], rows
        add_and_look(listed, lambda rows: "T-001" in rows and "T-002" in rows)

    killed(listed, tally, lambda: stop(listed), after)


def test_a_start_of_a_session_after_clear(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "ls"))

    def act() -> Answer:
        return hook(listed, "session_start", session_id="after-clear", source="clear")

    def after(done: bool) -> None:
        assert listed.status["owner"]["session_id"] in (S1, "after-clear")
        assert "[LOOP RESUME]" in act().out
        assert listed.status["owner"]["session_id"] == "after-clear"
        added = listed.lk("task", "add", "the next one", "--verify", "ls", session="after-clear")
        assert added.exit == 0
        kit.whole(listed)

    killed(listed, tally, act, after)


def test_resume_in_another_session(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "ls"))
    listed.ok("pause")
    act = lambda: listed.lk("resume", "--take-over", "--iterations", "+5", session="other")  # noqa: E731

    def after(done: bool) -> None:
        session = listed.status
        assert (session["owner"]["session_id"], session["status"]) in (
            (S1, "paused"),
            ("other", "running"),
        )
        assert act().exit == 0
        assert listed.status["status"] == "running" and listed.status["limits"]["iterations"] in (
            30,
            35,
        )
        kit.whole(listed)

    killed(listed, tally, act, after)


def test_decide_and_what_it_supersedes(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "ls"))
    row = {
        "title": "Stream the rows",
        "context": "c",
        "choice": "x",
        "alternatives": ["a file: too large"],
    }
    listed.ok("decide", "--file", "-", given=row)

    def after(done: bool) -> None:
        listed.ok("decide", "--file", "-", given={**row, "title": "One more after it"})
        numbers = [one["number"] for one in listed.of("decision_recorded")]
        assert numbers == list(range(1, len(numbers) + 1))
        names = sorted(one.name for one in (listed.root / listed.name / "learnings").glob("*.md"))
        assert [int(name[:3]) for name in names] == numbers
        first = (listed.root / listed.name / "learnings" / names[0]).read_text()
        assert ("SUPERSEDED by 002" in first) == (len(numbers) == 3)
        kit.whole(listed)

    killed(
        listed,
        tally,
        lambda: listed.lk("decide", "--file", "-", given={**row, "supersedes": 1}),
        after,
    )


def supervised(project: Project) -> None:
    """A loop under a supervisor whose first plan is to be revised."""
    project.shaped(words=("--approval", "supervisor"))
    project.ok("wave", "next")
    project.ok("reply", "plan", "--file", "-", given=plan("old"))
    project.ok("wave", "next")
    judged = {"score": 40, "approved": True, "recommendation": "approve", "feedback": "too coarse"}
    project.ok("reply", "verification", "plan", "--file", "-", given=judged)


def plan(words: str) -> dict:
    return {
        "tasks": [
            {"description": f"{words} {one}", "complexity": "simple", "verify": "ls"}
            for one in "abc"
        ]
    }


def test_a_dispatch_and_its_prompt(listed: Project, tally: Counter) -> None:
    supervised(listed)

    def after(done: bool) -> None:
        steps = listed.ok("wave", "next").steps
        assert steps[-1] == "loopkit reply plan --file -"
        for row in listed.of("role_asked"):
            prompt = "-".join(filter(None, (row["kind"], row["task"], str(row["number"])))) + ".md"
            assert (
                (listed.root / listed.name / "prompts" / prompt).read_text().startswith("loop:")
            ), prompt
        kit.whole(listed)

    killed(listed, tally, lambda: listed.lk("wave", "next"), after)


def test_next_takes_an_answer_checks_and_dispatches(
    listed: Project, tally: Counter, tmp_path: Path
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('verify_allow = ["*"]\n')
    listed.environment["LOOPKIT_CONFIG_DIR"] = str(tmp_path / "config")
    listed.start()
    rows = [task("first", "test -f one.txt"), task("second", "test -f 2.txt", blocked_by=[1])]
    opened = listed.ok("submit", "--file", "-", given={**REQUEST, "tasks": rows})
    assert opened.steps[0] == "agent loop:coder: loop:implementation-T-001-1"
    listed.write("one.txt")
    folder = listed.root / listed.name
    said = {"status": "complete", "summary": "it is there"}
    answers.write(str(folder), "implementation-T-001-1", {"text": json.dumps(said), "by": "stop"})

    def after(done: bool) -> None:
        said = listed.ok("next")
        assert [row["id"] for row in listed.of("task_coded")] == ["T-001"]
        assert {name: row["status"] for name, row in listed.tasks.items()} == {
            "T-001": "completed",
            "T-002": "in_progress",
        }, said
        for name in ("implementation-T-002-1", "wave_review-1-1"):
            assert (folder / "prompts" / f"{name}.md").read_text().startswith(f"loop:{name}\n")
        assert len(listed.of("checkpoint_made")) == 2
        kit.whole(listed)

    def some(call: kit.Call) -> bool:
        """It is the longest of all."""
        return worth(call) and (kit.LONG or call.number % 9 == 0)

    killed(listed, tally, lambda: listed.lk("next"), after, some)


def test_a_reply_that_replaces_the_plan(listed: Project, tally: Counter) -> None:
    supervised(listed)
    listed.ok("wave", "next")

    def after(done: bool) -> None:
        rows = {name: row["subject"][:3] for name, row in listed.tasks.items()}
        assert rows in (
            dict.fromkeys(("T-001", "T-002", "T-003"), "old"),
            dict.fromkeys(("T-004", "T-005", "T-006"), "new"),
        )
        again = listed.lk("reply", "plan", "--file", "-", given=plan("new"))
        assert again.exit == 0 or "no plan is awaited" in again.err, again
        assert list(listed.tasks) == ["T-004", "T-005", "T-006"]
        assert listed.ok("wave", "next").steps[-1] == "loopkit reply verification plan --file -"
        assert set(kit.mirrored(listed)) == set(listed.tasks)
        kit.whole(listed)

    killed(
        listed,
        tally,
        lambda: listed.lk("reply", "plan", "--file", "-", given=plan("new")),
        after,
    )


def test_another_loop_that_goes_on(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "ls"))
    listed.ok("wave", "next")
    listed.start("rename the logo", "--beside")

    def after(done: bool) -> None:
        rows = {
            row["loop"][:3]: row["status"] for row in listed.ok("status", "--list", "--json").json
        }
        assert rows in (
            {"001": "paused", "002": "running"},
            {"001": "paused", "002": "paused"},
            {"001": "running", "002": "paused"},
        )
        assert listed.ok("resume", "1").exit == 0
        assert listed.status["loop"].startswith("001-")
        assert listed.ok("wave", "next").steps[0].startswith("agent loop:coder: Do T-001")
        assert kit.mirrored(listed) == {"T-001": "in_progress"}
        assert listed.verify("T-001").exit == 0

    killed(listed, tally, lambda: listed.lk("resume", "1"), after, recording)


def test_a_wave_in_worktrees(listed: Project, tally: Counter) -> None:
    """Git folder and working tree are not put back from one death to the next, so names are taken
    by then."""
    listed.planned(task("first", "test -f a.txt"), task("second", "ls"))

    def opened(done: bool) -> None:
        if not listed.status["wave"]["open"]:
            assert listed.ok("wave", "next", "--worktrees").exit == 0
        for row in listed.of("worktree_made"):
            assert (listed.root / listed.name / row["path"] / ".git").exists()
        assert len(listed.of("worktree_made")) == 2
        add_and_look(listed, lambda rows: {"T-001", "T-002"} <= set(rows))

    killed(listed, tally, lambda: listed.lk("wave", "next", "--worktrees"), opened, recording)


def test_a_merge(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "test -f a.txt"))
    listed.ok("wave", "next", "--worktrees")
    place = listed.root / listed.name / listed.of("worktree_made")[0]["path"]
    (place / "a.txt").write_text("a\n")
    assert listed.verify("T-001").exit == 0

    def merged(done: bool) -> None:
        if not listed.of("worktree_merged"):
            listed.ok("wave", "merge", "T-001")
        assert (listed.folder / "a.txt").read_text() == "a\n"
        assert listed.verify("T-001").exit == 0 and listed.tasks["T-001"]["status"] == "completed"
        kit.whole(listed)

    killed(listed, tally, lambda: listed.lk("wave", "merge", "T-001"), merged, recording)


def test_baseline(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "ls"))
    words = ("baseline", "--", "sh", "-c", "echo FAILED a; exit 1")

    def after(done: bool) -> None:
        again = listed.lk(*words)
        assert again.exit == 0 or "is recorded already" in again.err
        assert [row["failures"] for row in listed.of("baseline_recorded")] == [["a"]]
        assert listed.ok("baseline", "--check", *words[1:]).exit == 0
        add_and_look(listed, lambda rows: True)

    killed(listed, tally, lambda: listed.lk(*words), after, recording)
