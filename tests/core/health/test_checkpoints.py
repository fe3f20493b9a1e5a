"""Checkpoints and rollbacks as rules: which are due, which is meant, what going back changes."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit.core.health import checkpoints
from loopkit.core.journal.errors import Refused, UsageFault
from loopkit.core.journal.parts import BEFORE
from loopkit.core.review import gate
from loopkit.core.steps import attempts, due, waves
from loopkit.core.steps.events import LOOP
from tests.core.kit import Book, outcome, task


def sha(number: int) -> str:
    return f"{number:02d}" * 20


def keep(book: Book, label: str | None = None, wave: int | None = None, **more: Any) -> int:
    """A checkpoint: the one that is due, or one of this label."""
    if label is None:
        due = checkpoints.due(book.state)
        assert due is not None
        label, wave = due
    number = checkpoints.next_number(book.state)
    facts = {"number": number, "sha": sha(number), "tree": sha(number), "label": label}
    facts |= {"wave": wave, "line": book.state.lines, "left_out": ()}
    book.do(checkpoints.made, {**facts, **more})
    return number


def batch(book: Book, fail: tuple = ()) -> int:
    """The next wave, worked on and closed, with its checkpoint; these tasks fail."""
    book.wave()
    if not book.state.checkpoints.rows:
        keep(book)
    for name in list(book.state.running):
        book.verify(name, name not in fail)
    book.do(waves.closed)
    return keep(book)


def roll(book: Book, number: int, undo: bool = False, files: tuple = ("a.py",)) -> list:
    """A rollback with its save."""
    goal = book.state.checkpoints.numbers[number]
    checkpoints.check(book.state, goal, ".")
    saved = keep(book, BEFORE, target=number, undo=undo)
    return book.do(checkpoints.rolled_back, goal, saved, list(files), undo)


@pytest.fixture
def four() -> Book:
    """start (1), batch-1 (2), batch-2 (3), batch-3 (4); one task each, the fourth open."""
    book = Book().planned(
        *[task(f"t{one}", "ls", blocked_by=[f"#{one}"] if one else []) for one in range(4)]
    )
    for _ in range(3):
        batch(book)
    return book


def numbers(found: list) -> list[int]:
    return [one.number for one in found]


# -- when one is due


def test_due_at_the_first_wave_after_the_scaffold_and_after_every_batch() -> None:
    book = Book().planned(
        task("s", "ls", scaffold=True), task("a", "ls"), task("b", "ls", blocked_by=["#2"])
    )
    assert checkpoints.due(book.state) is None
    book.wave()
    assert checkpoints.due(book.state) == ("start", None)
    assert keep(book) == 1
    assert checkpoints.due(book.state) is None
    book.verify("T-001")
    book.do(waves.closed)
    assert checkpoints.due(book.state) == ("scaffold", 1)
    keep(book)
    assert checkpoints.due(book.state) is None
    batch(book)
    batch(book)
    assert [one.label for one in book.state.checkpoints.rows] == [
        "start",
        "scaffold",
        "batch-2",
        "batch-3",
    ]
    assert [one.tasks for one in book.state.checkpoints.rows] == [
        (),
        ("T-001",),
        ("T-002",),
        ("T-003",),
    ]


def test_a_missed_one_is_due_still_and_one_by_hand_takes_no_place(executing: Book) -> None:
    keep(executing)
    executing.verify("T-001")
    executing.do(waves.closed)
    keep(executing, "manual")
    assert checkpoints.due(executing.state) == ("batch-1", 1)


def test_what_a_batch_has_changed_is_no_start(executing: Book) -> None:
    executing.verify("T-001", False)
    executing.do(waves.closed)
    assert checkpoints.due(executing.state) == ("batch-1", 1)
    keep(executing)
    with pytest.raises(Refused, match="no checkpoint of this line is good"):
        checkpoints.find(executing.state, "last-good")


def test_labels() -> None:
    assert checkpoints.label_of(None) == "manual"
    assert checkpoints.label_of("  before\nthe   rewrite \x1b[31m") == "before the rewrite"
    assert len(checkpoints.label_of("x" * 500)) <= checkpoints.LONGEST_LABEL
    for words in ("", "  ", "before-rollback", "start", "scaffold", "batch-7"):
        with pytest.raises(UsageFault):
            checkpoints.label_of(words)
    assert (
        checkpoints.message("batch-2", ["T-003", "T-004"]) == "checkpoint: batch-2 - T-003, T-004"
    )
    assert checkpoints.message("start", []) == "checkpoint: start - none"


# -- the line


def test_parents_follow_the_line_and_a_rollback_continues_it_at_its_target(four: Book) -> None:
    assert [one.parent for one in four.state.checkpoints.rows] == [None, 1, 2, 3]
    roll(four, 2)
    assert four.state.checkpoints.numbers[5].parent == 4  # what was saved follows what was
    batch(four)
    assert four.state.checkpoints.numbers[6].parent == 2
    assert numbers(checkpoints.ancestors(four.state)) == [6, 2, 1]


def test_back_counts_from_the_newest_along_the_line_without_what_was_saved(four: Book) -> None:
    assert [checkpoints.find(four.state, f"~{one}").number for one in (0, 1, 2, 3, 4, 99)] == [
        4,
        3,
        2,
        1,
        1,
        1,
    ]
    assert checkpoints.find(four.state, "~").number == 3
    roll(four, 3)
    assert checkpoints.find(four.state, "~0").number == 3
    batch(four)
    assert checkpoints.find(four.state, "~2").number == 2
    roll(four, 5, undo=True)  # 5 was saved: it stands beside the line, 4 before it
    assert numbers(checkpoints.ancestors(four.state)) == [4, 3, 2, 1]
    assert checkpoints.find(four.state, "~1").number == 3


def test_last_good_is_the_newest_of_the_line_whose_batch_had_no_failure() -> None:
    book = Book().planned(task("a", "ls"), task("b", "ls"), task("c", "ls", blocked_by=["#1"]))
    batch(book, fail=("T-002",))
    assert checkpoints.find(book.state, "last-good").number == 1  # start is always good
    book.panel("T-002")
    assert batch(book) == 3
    assert checkpoints.find(book.state, "last-good").number == 3
    keep(book, "manual")
    assert checkpoints.find(book.state, "last-good").number == 3


def test_a_blocking_finding_makes_a_batch_bad_until_it_is_waived(four: Book) -> None:
    rows = [
        {"id": "F-001", "severity": "BLOCKER", "issue": "wrong"},
        {"id": "F-002", "severity": "WARNING", "issue": "x"},
    ]
    four.line("review_light", wave=3, score=5, issues=2, blockers=1, findings=rows)
    assert checkpoints.last_good(four.state).number == 3
    four.line("review_light", wave=2, score=5, issues=2, blockers=1)
    assert checkpoints.last_good(four.state).number == 2
    four.line("review_light", wave=2, score=5, issues=2, blockers=0)
    assert checkpoints.last_good(four.state).number == 3
    four.line("finding_resolved", id="F-001", how="waive", text="it is right")
    assert checkpoints.last_good(four.state).number == 4


def test_last_good_stays_on_the_line(four: Book) -> None:
    roll(four, 2)
    four.wave()
    four.verify("T-002", False)
    four.do(waves.closed)
    keep(four)
    assert checkpoints.last_good(four.state).number == 2


def test_targets(four: Book) -> None:
    assert checkpoints.find(four.state, " 3 ").number == 3
    assert checkpoints.find(four.state, "0303").number == 3
    assert checkpoints.find(four.state, sha(2)).number == 2
    with pytest.raises(Refused, match="no checkpoint 9"):
        checkpoints.find(four.state, "9")
    with pytest.raises(Refused, match="no checkpoint abcd"):
        checkpoints.find(four.state, "abcd")
    for words in ("", "~x", "HEAD", "-1", "--help", "~-1", "²", "abc"):
        with pytest.raises(UsageFault, match="no checkpoint is named"):
            checkpoints.find(four.state, words)
    keep(four, "twin", sha="0303" + "f" * 36)
    with pytest.raises(Refused, match="begins the ids of 2 checkpoints"):
        checkpoints.find(four.state, "0303")


@pytest.mark.parametrize("words", ["last-good", "~2", "1", "abcd"])
def test_no_checkpoints(executing: Book, words: str) -> None:
    with pytest.raises(Refused, match="NO_CHECKPOINTS"):
        checkpoints.find(executing.state, words)
    with pytest.raises(Refused, match="NO_CHECKPOINTS"):
        checkpoints.undone(executing.state)


# -- what a rollback changes


def test_tasks_completed_after_the_target_are_open_again_without_evidence(four: Book) -> None:
    changes = roll(four, 2)
    assert [data["id"] for kind, data in changes if kind == "task_reopened"] == ["T-002", "T-003"]
    rows = four.state.tasks
    assert [one.status for one in rows.values()] == ["completed", "pending", "pending", "pending"]
    assert [one.evidence is None for one in rows.values()] == [False, True, True, True]
    assert due.command(four.state) == "loopkit wave next"


def test_what_was_completed_just_before_the_target_stays(executing: Book) -> None:
    executing.verify("T-001")
    executing.line("notice_given", name="x")
    made = keep(executing, "manual", line=executing.state.checkpoints.completed["T-001"])
    assert checkpoints.reopened(executing.state, executing.state.checkpoints.numbers[made]) == []


def test_what_a_check_said_of_files_that_are_gone_is_void() -> None:
    book = Book(settings={"max_fix_cycles": 9}).planned(
        task("a", "ls"), task("b", "ls", blocked_by=["#1"])
    )
    batch(book)
    book.do(gate.criterion_verified, "C1", outcome())
    seen = book.state.criterion_evidence["C1"].line
    target = keep(book, "manual", line=seen)
    batch(book, fail=("T-002",))
    assert book.state.tasks["T-002"].evidence is not None
    roll(book, target)
    assert book.state.tasks["T-002"].evidence is None, "of what came after"
    assert "C1" in book.state.criterion_evidence and book.state.tasks["T-001"].evidence is not None


def test_no_evidence_of_a_tree_that_is_gone_counts() -> None:
    book = Book().planned(task("a", "ls"), task("b", "ls", blocked_by=["#1"]))
    batch(book)
    batch(book)
    book.review([])
    book.seen()
    book.do(gate.criterion_verified, "C1", outcome())
    book.line("gate_result", passed=True)
    assert book.state.thorough and book.state.criterion_evidence and book.state.gate
    keep(book, "manual")
    roll(book, 4)
    assert book.state.thorough and book.state.criterion_evidence and not book.state.gate
    roll(book, 3)
    assert not book.state.thorough and not book.state.criterion_evidence
    assert book.state.counts["completed"] == 2
    assert due.command(book.state) == "loopkit review --thorough"


def test_evidence_that_came_while_the_tree_was_taken_is_younger_than_it(executing: Book) -> None:
    lines = executing.state.lines
    executing.verify("T-001")
    keep(executing, "manual", line=lines)
    assert checkpoints.reopened(executing.state, executing.state.checkpoints.numbers[1]) == [
        "T-001"
    ]


def test_a_parent_waits_for_its_subtasks_again() -> None:
    book = Book().planned(task("whole", "ls"), task("other", "ls"))
    batch(book, fail=("T-001",))
    book.line(
        "task_added",
        task={"id": "T-003", "subject": "part", "verify": "ls", "parent": "T-001", "depth": 1},
    )
    book.line("task_split", id="T-001", subtasks=["T-003"])
    batch(book)
    assert book.state.tasks["T-001"].status == "completed"
    roll(book, 1)
    assert (book.state.tasks["T-001"].status, book.state.tasks["T-001"].block_kind) == (
        "blocked",
        "split",
    )
    assert book.state.tasks["T-003"].status == "pending"
    while book.state.open:
        batch(book)
    assert book.state.tasks["T-001"].status == "completed"


def test_it_is_a_lesson_that_names_work_reason_and_files(four: Book) -> None:
    four.wave()
    four.do(attempts.failed, "T-004", "AssertionError: 3 != 4", None)
    four.do(waves.closed)
    goal = four.state.checkpoints.numbers[2]
    changes = four.do(
        checkpoints.rolled_back, goal, 5, ["src/b.py", "src/a.py"], False, "it got slower"
    )
    [lesson] = [data for kind, data in changes if kind == "anti_pattern_recorded"]
    assert lesson["source"] == "rollback" and lesson["number"] == 1
    assert lesson["title"] == "Rolled back to checkpoint 2 (batch-1)"
    assert "T-002 t1" in lesson["what"] and lesson["files"] == ["src/b.py", "src/a.py"]
    assert lesson["why"].startswith("it got slower") and "3 != 4" in lesson["why"]
    assert "T-004 t3" in lesson["what"] and lesson["avoid"] == "another approach"
    assert four.state.decision_log.anti_patterns[-1]["number"] == 1


def test_undoing_is_no_lesson_and_neither_is_nothing(four: Book) -> None:
    roll(four, 3)
    assert "anti_pattern_recorded" not in [kind for kind, _ in roll(four, 5, undo=True)]
    keep(four, "manual")
    assert "anti_pattern_recorded" not in [kind for kind, _ in roll(four, 7, files=())]


def lesson(book: Book, source: str) -> None:
    number = book.state.decision_log.highest + 1
    texts = {"title": source, "what": "w", "why": "y", "avoid": "z", "category": source}
    book.line("anti_pattern_recorded", number=number, source=source, **texts)


def test_what_a_review_said_of_a_tree_that_is_gone_teaches_nothing(four: Book) -> None:
    lesson(four, "review")
    lesson(four, "plan-review")
    roll(four, 3)
    log = four.state.decision_log
    assert [row["source"] for row in log.anti_patterns] == ["plan-review", "rollback"]
    assert [row["number"] for row in log.withdrawn] == [1] and "review" not in log.kinds


def test_a_rollback_that_was_undone_teaches_nothing(four: Book) -> None:
    roll(four, 3)
    roll(four, 5, undo=True)
    log = four.state.decision_log
    assert not log.anti_patterns and [row["source"] for row in log.withdrawn] == ["rollback"]


def test_a_rollback_to_what_was_saved_voids_what_came_after_it(four: Book) -> None:
    roll(four, 2)
    batch(four)
    assert four.state.tasks["T-002"].status == "completed"
    roll(four, 5, undo=True)
    assert (
        four.state.tasks["T-002"].status == "pending"
        and four.state.tasks["T-001"].status == "completed"
    )


def test_work_in_progress_keeps_from_going_back(executing: Book) -> None:
    keep(executing)
    goal = executing.state.checkpoints.numbers[1]
    with pytest.raises(
        Refused, match=r"wave 1 is open, T-001 in progress.*loopkit task fail .*loopkit wave close"
    ):
        checkpoints.check(executing.state, goal, ".")
    executing.verify("T-001")
    executing.do(waves.closed)
    checkpoints.check(executing.state, goal, ".")
    with pytest.raises(Refused, match="another working tree"):
        checkpoints.check(executing.state, goal, "worktrees/other")


def test_conflicts() -> None:
    with pytest.raises(Refused, match="CONFLICT: a rebase is in progress"):
        checkpoints.check_conflict("a rebase", [], force=True)
    with pytest.raises(
        Refused,
        match=r"CONFLICT: committed after the checkpoint: 0, 1, 2, 3, 4 and 2 more.*--force",
    ):
        checkpoints.check_conflict(None, [str(one) for one in range(7)], force=False)
    checkpoints.check_conflict(None, ["a"], force=True)
    checkpoints.check_conflict(None, [], force=False)


def test_what_was_left_out_is_named_within_bounds_and_spared(four: Book) -> None:
    names = [f"d/{one} (x) (a repository of its own)" for one in range(checkpoints.MOST_LEFT + 3)]
    goal = four.state.checkpoints.numbers[keep(four, "manual", left_out=names)]
    assert len(goal.left_out) == checkpoints.MOST_LEFT + 1 and goal.left_out[-1] == "3 more"
    for more, last in ((0, names[checkpoints.MOST_LEFT - 1]), (1, "1 more")):
        just = keep(four, "manual", left_out=names[: checkpoints.MOST_LEFT + more])
        assert four.state.checkpoints.numbers[just].left_out[-1] == last
    assert (
        checkpoints.spared(goal.left_out)[:2] == ["d/0 (x)", "d/1 (x)"]
        and len(checkpoints.spared(goal.left_out)) == checkpoints.MOST_LEFT
    )


# -- undo, and what broke off


def test_undo_leads_to_what_the_newest_rollback_saved(four: Book) -> None:
    with pytest.raises(Refused, match="no rollback was made"):
        checkpoints.undone(four.state)
    roll(four, 2)
    assert checkpoints.undone(four.state).number == 5
    roll(four, 5, undo=True)
    assert checkpoints.undone(four.state).number == 6


def test_what_an_undo_brings_back_stays_so_however_often_it_is_undone(four: Book) -> None:
    """Rolled back, undone, undone, undone: the work is away, there, away, there."""
    roll(four, 2)
    opened = four.of("rolled_back")[-1]["reopened"]
    assert opened

    def back() -> list[str]:
        return [task.id for task in four.state.tasks.values() if task.back]

    assert back() == []
    for there in (True, False, True, False, True):
        roll(four, checkpoints.undone(four.state).number, undo=True)
        assert back() == (opened if there else []), there
    four.verify(opened[0])
    assert four.state.tasks[opened[0]].status == "completed", "by its check alone"
    roll(four, checkpoints.undone(four.state).number, undo=True)
    assert four.state.tasks[opened[0]].status == "pending" and back() == []
    roll(four, checkpoints.undone(four.state).number, undo=True)
    assert back() == opened


def test_a_rollback_that_broke_off_is_undone_to_the_tree_before_it(four: Book) -> None:
    keep(four, BEFORE, target=2)
    assert checkpoints.undone(four.state).number == 5
    keep(four, BEFORE, target=2)  # the same once more: the tree was half way then
    assert checkpoints.undone(four.state).number == 5
    assert four.state.checkpoints.begun == 5


def test_an_undo_that_broke_off_goes_on_to_where_it_led(four: Book) -> None:
    roll(four, 2)
    keep(four, BEFORE, target=5, undo=True)
    assert checkpoints.undone(four.state).number == 5
    roll(four, 5, undo=True)
    assert four.state.checkpoints.begun is None


def test_a_loop_that_is_over_is_rolled_back_without_a_word_in_its_record(four: Book) -> None:
    four.line("loop_failed", reason="impossible")
    changes = roll(four, 2)
    assert [kind for kind, _ in changes] == ["rolled_back"]
    assert (
        four.state.tasks["T-003"].status == "completed"
        and four.state.tasks["T-003"].evidence is not None
    )


# -- the journal


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("checkpoint_made", {"number": 1, "sha": "--upload-pack=x", "tree": sha(1)}),
        ("checkpoint_made", {"number": 1, "sha": sha(1), "tree": "HEAD"}),
        ("checkpoint_made", {"number": 0, "sha": sha(1), "tree": sha(1)}),
        ("checkpoint_made", {"number": 1, "sha": sha(1)}),
        ("checkpoint_made", {"number": 1, "sha": sha(1), "tree": sha(1), "head": "main"}),
        ("rolled_back", {"number": -1}),
        ("rolled_back", {}),
    ],
)
def test_lines_that_are_none(kind: str, data: dict) -> None:
    assert not LOOP.types[kind].fits(data)


def test_lines_of_strangers_make_no_endless_line() -> None:
    book = Book().planned(task())
    for number, above in ((1, 1), (2, 3), (3, 2)):
        book.line("checkpoint_made", number=number, sha=sha(number), tree=sha(number), parent=above)
    book.line("checkpoint_made", number=2, sha=sha(9), tree=sha(9))
    book.line("rolled_back", number=99, saved=98)
    assert numbers(checkpoints.ancestors(book.state)) == [3, 2]
    assert checkpoints.back(book.state, 50).number == 2
