"""Tasks: added, started, verified, failed, blocked, split; every refusal leaves nothing behind."""

from __future__ import annotations

import pytest

from loopkit.core.journal.errors import LoopError, Refused, UsageFault
from loopkit.core.plan import drafts, work
from loopkit.core.steps import attempts, due, resumption, waves
from tests.core.kit import Book, task


def ids(changes: list) -> list:
    return [data["task"]["id"] for kind, data in changes if kind == "task_added"]


def kinds(changes: list) -> list:
    return [kind for kind, _ in changes]


# -- adding


def test_ids_follow_and_places_in_the_list_are_names() -> None:
    book = Book().shaped()
    changes = book.do(
        drafts.submit,
        [task("a", blocked_by=[2]), task("b"), task("c", blocked_by=["t-1", "#2", "T-002"])],
    )
    assert ids(changes) == ["T-001", "T-002", "T-003"]
    blockers = [one.blocked_by for one in book.state.tasks.values()]
    assert blockers == [("T-002",), (), ("T-001", "T-002")]
    assert ids(book.do(drafts.submit, [task("d", blocked_by=["#1", "T-001"][1:])])) == ["T-004"]


@pytest.mark.parametrize(
    ("blocker", "words"),
    [
        ("T-099", "T-099, which does not exist"),
        ("T-003", "T-003, which does not exist"),
        ("#0", "#0"),
        ("#3", "#3, but 2 tasks"),
        ("#²", "not a task id"),
        ("soon", "not a task id"),
        ("#" + "9" * 5000, "tasks were submitted"),
    ],
)
def test_an_unknown_blocker_is_refused(blocker: str, words: str) -> None:
    book = Book().shaped()
    with pytest.raises(LoopError) as caught:
        book.do(drafts.submit, [task("a"), task("b", blocked_by=[blocker])])
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("blockers", "circle"),
    [
        ([["#1"]], "T-001 → T-001"),
        ([["#2"], ["#1"]], "T-001 → T-002 → T-001"),
        ([[], ["#3"], ["#4"], ["#2"]], "T-002 → T-003 → T-004 → T-002"),
    ],
)
def test_a_cycle_is_refused_by_name(blockers: list, circle: str) -> None:
    rows = [task(str(number), blocked_by=wants) for number, wants in enumerate(blockers)]
    with pytest.raises(Refused) as caught:
        Book().shaped().do(drafts.submit, rows)
    assert f"cycle: {circle};" in str(caught.value)


def test_a_change_that_closes_a_circle_is_refused_by_name() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]), task("c", blocked_by=["#2"]))
    with pytest.raises(Refused, match="^cycle: T-001 → T-003 → T-002 → T-001"):
        drafts.changed(book.state, "T-001", None, ["T-003"], None)
    with pytest.raises(Refused, match="cycle: T-001 → T-001"):
        drafts.changed(book.state, "T-001", None, ["T-001"], None)


def test_a_circle_may_lead_over_a_parent_that_waits_for_its_subtasks() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]))
    for blocker in ("T-001", "T-002"):
        with pytest.raises(Refused, match="cycle: T-003 → .*T-001 → T-003"):
            book.do(drafts.split, "T-001", [task("x", blocked_by=[blocker])])
    book.do(drafts.split, "T-001", [task("x"), task("y")])
    for blocker in ("T-001", "T-002"):
        with pytest.raises(Refused, match="cycle: T-003 → .*T-001 → T-003"):
            book.do(drafts.changed, "T-003", None, [blocker], None)


def test_25_tasks_are_taken_26_refused() -> None:
    rows = [task(str(number)) for number in range(26)]
    with pytest.raises(Refused, match="26 tasks, at most 25") as caught:
        Book().shaped().do(drafts.submit, rows)
    assert "several loops" in caught.value.todo
    book = Book().shaped()
    book.do(drafts.submit, rows[:25])
    with pytest.raises(Refused, match="26 tasks"):
        book.do(drafts.submit, rows[:1])
    book.wave()


def test_subtasks_and_remediation_do_not_count() -> None:
    book = Book().planned(*[task(str(number)) for number in range(25)])
    book.do(drafts.split, "T-001", [task("x"), task("y")])
    book.line(
        "task_added", task={"id": "T-028", "subject": "fix", "verify": "ls", "kind": "remediation"}
    )
    assert (book.state.planned, len(book.state.tasks)) == (25, 28)
    book.wave()


def test_tasks_added_in_review_lead_back_to_waves() -> None:
    book = Book().worked()
    book.do(drafts.submit, [task("more")])
    assert book.state.stage == "executing"


@pytest.mark.parametrize("name", ["T-009", "t-9"])
def test_an_unknown_task(name: str) -> None:
    with pytest.raises(Refused, match="there is no task T-009"):
        work.find(Book().planned().state, name)


# -- changing, removing


def test_set_changes_what_is_given() -> None:
    book = Book().planned(task("a"), task("b"))
    book.do(drafts.changed, "T-002", " false ", ["T-001"], ["a.py"])
    row = book.state.tasks["T-002"]
    assert (row.verify, row.blocked_by, row.files) == ("false", ("T-001",), ("a.py",))
    book.do(drafts.changed, "T-002", None, [], None)
    assert book.state.tasks["T-002"].blocked_by == ()


def test_set_without_anything() -> None:
    with pytest.raises(UsageFault, match="nothing to set"):
        drafts.changed(Book().planned().state, "T-001", None, None, None)


def test_a_completed_task_is_not_changed(executing: Book) -> None:
    executing.verify("T-001")
    with pytest.raises(Refused, match="T-001 is completed"):
        drafts.changed(executing.state, "T-001", "false", None, None)


@pytest.mark.parametrize("status", ["in_progress", "completed", "failed"])
def test_only_pending_and_blocked_tasks_are_removed(status: str) -> None:
    book = Book().planned()
    line = {"in_progress": "task_started", "completed": "task_completed", "failed": "task_failed"}[
        status
    ]
    book.line(line, id="T-001", action="replan")
    with pytest.raises(Refused, match=f"T-001 is {status}"):
        drafts.removed(book.state, "T-001")


def test_a_removed_blocker_blocks_no_longer() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]))
    book.do(drafts.removed, "T-001")
    assert book.state.tasks["T-002"].blocked_by == () and book.state.free == 1
    assert ids(book.do(drafts.submit, [task("c")])) == ["T-003"]


# -- starting


def test_start_opens_a_wave_of_its_own() -> None:
    book = Book().planned(task("a"), task("b"))
    assert kinds(book.do(waves.started, "T-002")) == ["stage_moved", "wave_opened", "task_started"]
    assert book.do(waves.started, "T-002") == []
    book.do(waves.started, "T-001")
    assert book.state.wave.tasks == ("T-002", "T-001")


def test_start_of_a_seventh_in_a_wave_is_refused() -> None:
    book = Book().planned(*[task(str(number)) for number in range(7)])
    book.wave()
    with pytest.raises(Refused, match="wave 1 is full"):
        waves.started(book.state, "T-007")


def test_start_is_refused_while_a_blocker_is_open(executing: Book) -> None:
    with pytest.raises(Refused, match="T-002 waits for T-001"):
        waves.started(executing.state, "T-002")


def test_start_is_refused_while_a_panel_is_due(executing: Book) -> None:
    executing.do(attempts.failed, "T-001", "no", None)
    with pytest.raises(Refused, match="no panel has looked") as caught:
        waves.started(executing.state, "T-001")
    assert caught.value.todo == "next: loopkit panel T-001"
    executing.panel("T-001")
    executing.do(waves.started, "T-001")
    assert executing.state.tasks["T-001"].status == "in_progress"


def test_a_panel_is_good_for_one_failure(executing: Book) -> None:
    for _ in range(2):
        executing.do(attempts.failed, "T-001", "no", None)
        with pytest.raises(Refused, match="no panel"):
            waves.started(executing.state, "T-001")
        executing.panel("T-001")
        executing.do(waves.started, "T-001")


def test_start_without_a_command_is_refused() -> None:
    book = Book().planned()
    book.line("task_added", task={"id": "T-002", "subject": "native"})
    with pytest.raises(Refused, match="no verification command"):
        waves.started(book.state, "T-002")


# -- verifying


def test_only_the_stored_command_verifies(executing: Book) -> None:
    attempts.check_verify(executing.state, "T-001", ["ls"])
    with pytest.raises(Refused, match="not the stored command of T-001") as caught:
        attempts.check_verify(executing.state, "T-001", ["ls", "x"])
    assert caught.value.todo == "next: loopkit verify T-001 -- ls"


def test_a_task_that_was_not_started_is_not_verified(executing: Book) -> None:
    with pytest.raises(Refused, match="T-002 is pending"):
        attempts.check_verify(executing.state, "T-002", ["ls"])


def test_passing_completes(executing: Book) -> None:
    assert kinds(executing.verify("T-001")) == ["task_verified", "task_completed"]
    assert executing.state.tasks["T-001"].evidence.passed


def test_three_fixes_then_the_attempt_has_failed(executing: Book) -> None:
    for _ in range(3):
        assert kinds(executing.verify("T-001", passed=False)) == ["task_verified"]
        assert executing.state.tasks["T-001"].status == "in_progress"
    assert kinds(executing.verify("T-001", passed=False)) == ["task_verified", "task_failed"]
    row = executing.state.tasks["T-001"]
    assert (row.status, row.attempts, row.stuck_count, row.runs) == ("pending", 1, 1, 4)
    assert row.history[-1]["error"] == "boom"


def test_the_next_attempt_has_its_own_fixes(executing: Book) -> None:
    for _ in range(4):
        executing.verify("T-001", passed=False)
    executing.panel("T-001")
    executing.do(waves.started, "T-001")
    for _ in range(3):
        assert kinds(executing.verify("T-001", passed=False)) == ["task_verified"]
    assert kinds(executing.verify("T-001", passed=False)) == ["task_verified", "task_failed"]


def test_what_the_panel_advised_is_the_next_approach(executing: Book) -> None:
    executing.do(attempts.failed, "T-001", "no", None)
    executing.panel("T-001")
    executing.do(waves.started, "T-001")
    assert executing.do(attempts.failed, "T-001", "no", None)[0][1]["approach"] == "use path 1"
    assert executing.state.tasks["T-001"].history[0]["approach"] == "as described"


def test_a_completed_task_that_fails_again_is_open_again() -> None:
    book = Book().worked()
    assert kinds(book.verify("T-001", passed=False)) == [
        "task_verified",
        "task_reopened",
        "stage_moved",
    ]
    assert (book.state.stage, book.state.tasks["T-001"].status) == ("executing", "pending")
    assert book.state.tasks["T-001"].evidence is None


def test_a_completed_task_that_passes_again_has_fresh_evidence() -> None:
    book = Book().worked()
    assert kinds(book.verify("T-001", files={"a": "new"})) == ["task_verified"]
    assert book.state.tasks["T-001"].evidence.files == {"a": "new"}


# -- blocking


@pytest.mark.parametrize(
    "kind", ["dependency", "external", "permission", "information", "fundamental"]
)
def test_block_and_unblock(executing: Book, kind: str) -> None:
    executing.do(work.blocked, "T-001", kind, " needs a signature ")
    row = executing.state.tasks["T-001"]
    assert (row.status, row.block_kind, row.block_text) == ("blocked", kind, "needs a signature")
    executing.do(work.unblocked, "T-001")
    assert executing.state.tasks["T-001"].status == "pending"


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [("split", "x", "block kind"), ("mood", "x", "block kind"), ("external", " ", "no reason")],
)
def test_no_block(executing: Book, kind: str, text: str, words: str) -> None:
    with pytest.raises(UsageFault, match=words):
        work.blocked(executing.state, "T-001", kind, text)


def test_unblock_what_is_not_blocked(executing: Book) -> None:
    with pytest.raises(Refused, match="nothing to unblock"):
        work.unblocked(executing.state, "T-001")
    executing.do(drafts.split, "T-002", [task()])
    with pytest.raises(Refused, match="nothing to unblock"):
        work.unblocked(executing.state, "T-002")


def test_unblock_works_while_the_loop_waits_for_it(executing: Book) -> None:
    executing.do(work.blocked, "T-001", "permission", "sign")
    executing.line("paused", verdict="waiting", reason="sign")
    executing.do(work.unblocked, "T-001")
    assert executing.state.tasks["T-001"].status == "pending"


def test_a_loop_that_is_over_is_not_changed(executing: Book) -> None:
    executing.do(work.blocked, "T-001", "permission", "sign")
    executing.line("loop_cancelled", reason="x")
    for decide in (
        lambda state: work.unblocked(state, "T-001"),
        lambda state: drafts.submit(state, [task()]),
        lambda state: drafts.removed(state, "T-001"),
        lambda state: drafts.split(state, "T-001", [task()]),
        lambda state: waves.closed(state),
    ):
        with pytest.raises(Refused, match="is over"):
            decide(executing.state)


# -- splitting


def test_three_levels_complete_upwards() -> None:
    book = Book().planned(task("top"))
    book.do(drafts.split, "T-001", [task("a"), task("b")])
    book.do(drafts.split, "T-002", [task("aa"), task("ab")])
    book.do(drafts.split, "T-004", [task("aaa")])
    assert [book.state.tasks[one].depth for one in ("T-001", "T-002", "T-004", "T-006")] == [
        0,
        1,
        2,
        3,
    ]
    done = []
    while book.state.open:
        book.wave()
        for name in list(book.state.running):
            done.append(
                [data["id"] for kind, data in book.verify(name) if kind == "task_completed"]
            )
        book.do(waves.closed)
    assert done == [["T-003"], ["T-005"], ["T-006", "T-004", "T-002", "T-001"]]
    assert book.state.counts["completed"] == 6 and book.state.stage == "review"


def test_completion_goes_up_exactly_with_the_last_subtask() -> None:
    book = Book().planned(task("top"))
    book.do(drafts.split, "T-001", [task("a"), task("b")])
    book.wave()
    assert [data["id"] for kind, data in book.verify("T-003") if kind == "task_completed"] == [
        "T-003"
    ]
    assert book.state.tasks["T-001"].status == "blocked"
    assert [data["id"] for kind, data in book.verify("T-002") if kind == "task_completed"] == [
        "T-002",
        "T-001",
    ]


def test_parents_wait_again_for_a_subtask_that_is_found_broken() -> None:
    book = Book().planned(task("a"), task("c", blocked_by=["#1"]))
    book.do(drafts.split, "T-001", [task("x"), task("y")])
    book.do(drafts.split, "T-003", [task("z")])
    book.wave()
    for name in ("T-004", "T-005"):
        book.verify(name)
    assert [book.state.tasks[one].status for one in ("T-001", "T-003")] == [
        "completed",
        "completed",
    ]
    assert book.state.is_free(book.state.tasks["T-002"])
    changes = book.verify("T-005", passed=False)
    assert kinds(changes)[1:] == ["task_reopened", "task_split", "task_split"]
    assert [book.state.tasks[one].block_kind for one in ("T-001", "T-003")] == ["split", "split"]
    assert not book.state.is_free(book.state.tasks["T-002"])
    book.do(waves.closed)
    book.wave()
    book.verify("T-005")
    assert [book.state.tasks[one].status for one in ("T-001", "T-003")] == [
        "completed",
        "completed",
    ]


def test_an_attempt_that_was_cut_short_and_waits_by_now_leaves_its_wave() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]))
    book.wave()
    book.verify("T-001")
    book.do(waves.closed)
    book.wave()
    book.verify("T-001", passed=False)
    book.do(resumption.reopened)
    book.line("resumed")
    assert book.state.interrupted == ["T-002"] and book.wave() == []
    assert due.command(book.state) == "loopkit wave close"
    book.do(waves.closed)
    assert book.do(waves.next_wave, False)[0][1]["tasks"] == ["T-001"]


def test_subtasks_wait_for_what_the_parent_waited_for() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]), task("c", blocked_by=["#2"]))
    book.do(drafts.split, "T-002", [task("b1"), task("b2", blocked_by=["#1"])])
    assert book.state.tasks["T-004"].blocked_by == ("T-001",)
    assert book.state.tasks["T-005"].blocked_by == ("T-004", "T-001")
    assert not book.state.is_free(book.state.tasks["T-003"])


@pytest.mark.parametrize("rows", [[], [{"subject": "no check"}]])
def test_a_split_needs_subtasks(rows: list) -> None:
    with pytest.raises(LoopError):
        Book().planned().do(drafts.split, "T-001", rows)


def test_a_running_task_is_not_split(executing: Book) -> None:
    with pytest.raises(Refused, match="only failed and pending"):
        executing.do(drafts.split, "T-001", [task()])


def test_the_sixth_level_is_refused() -> None:
    book = Book().planned()
    name = "T-001"
    for _ in range(5):
        name = ids(book.do(drafts.split, name, [task()]))[0]
    assert book.state.tasks[name].depth == 5
    with pytest.raises(Refused, match="5 levels deep"):
        book.do(drafts.split, name, [task()])


def test_a_parent_whose_last_open_subtask_is_removed_does_not_wait_for_ever() -> None:
    book = Book().planned(task("top"))
    book.do(drafts.split, "T-001", [task("a"), task("b")])
    book.wave()
    book.verify("T-002")
    book.line("task_reopened", id="T-003", reason="x")
    assert kinds(book.do(drafts.removed, "T-003")) == ["task_removed", "task_completed"]
    assert book.state.tasks["T-001"].status == "completed"


def test_a_parent_without_any_subtask_left_is_pending_again() -> None:
    book = Book().planned(task("top"))
    book.do(drafts.split, "T-001", [task("a")])
    assert kinds(book.do(drafts.removed, "T-002")) == ["task_removed", "task_reopened"]
    assert book.state.tasks["T-001"].status == "pending"


# -- staleness


def test_stale_is_a_completed_task_whose_file_changed_after_its_evidence() -> None:
    book = Book().planned(task("a", files=["a.py"]), task("b"))
    book.wave()
    book.verify("T-001", files={"a.py": "1"})
    book.verify("T-002")
    assert work.stale(book.state, lambda path: "1") == []
    assert [one.id for one in work.stale(book.state, lambda path: "2")] == ["T-001"]
    assert [one.id for one in work.stale(book.state, lambda path: "")] == ["T-001"]
