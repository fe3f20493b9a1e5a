"""Loops of a project: the active one, its snapshot brought up to date or rebuilt, whatever happened
to the file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from loopkit.core.journal.events import Event, encode
from loopkit.core.journal.state import LoopState
from loopkit.core.request import intake
from loopkit.core.steps import snapshot as snapshots
from loopkit.core.steps.events import LOOP
from loopkit.store import journal, loops, trust
from tests.core.kit import S1, Book, task

NAME = "001-limiter"


def story() -> list[Event]:
    """A loop with every kind of line that matters, as journal lines."""
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]))
    book.line("limits_set", iterations=25, usd=25.0, seconds=7200)
    book.wave()
    book.line(
        "iteration_ended",
        by="hook",
        decision="hold",
        fingerprint="x",
        usage={"m": [1, 2, 3, 4]},
        offsets={"t": 5},
    )
    book.line("subagent_stopped", by="hook", agent_id="a", transcript="t")
    book.verify("T-001", passed=False)
    book.line("stop_failed", by="hook", error="rate_limit", text="later")
    book.line("question_asked", text="?")
    book.now += 60
    book.line("question_answered", text="!")
    book.verify("T-001")
    book.line("wave_closed", wave=1, completed=["T-001"], failed=[])
    book.line("review_light", wave=1, score=8, issues=0, blockers=0, experts=["a", "b"])
    book.line("native_seen", by="hook")
    book.line("notice_given", name="no_task_tools")
    book.line(
        "iteration_ended", by="hook", decision="allow", verdict="limit_time", reason="2 h used"
    )
    book.line("limits_set", seconds=None)
    book.line("owner_changed", session_id="s2", client_pid=9, unattended=False)
    book.line("resumed")
    book.line("paused", reason="by hand")
    return book.events


def waiting() -> list[Event]:
    """A loop whose shape asks a person to confirm things, paused and resumed in between."""
    book = Book().shaped(2, 2, 1, 1, 1)
    for kind, data in (
        ("paused", {"reason": "x"}),
        ("resumed", {}),
        ("question_asked", {"text": "?"}),
    ):
        book.now += 60
        book.line(kind, **data)
    book.line("question_answered", text="!")
    book.now += 60
    book.do(intake.confirmed, "shape")
    book.now += 60
    book.line("native_seen", by="hook")
    return book.events


STORY, WAITING = story(), waiting()


@pytest.fixture(autouse=True)
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """All loops here are this person's own."""
    monkeypatch.setattr(trust, "known", lambda root, name, token: True)
    monkeypatch.setattr(trust, "mentioned", lambda raw: True)


def write(root: Path, rows: list[Event], name: str = NAME, extra: bytes = b"") -> str:
    (root / name).mkdir(parents=True, exist_ok=True)
    (root / name / journal.NAME).write_bytes(b"".join(map(encode, rows)) + extra)
    return str(root)


def snapshot_of(rows: list[Event], offset: int, name: str = NAME) -> dict:
    state = LoopState(name)
    for event in rows:
        LOOP.apply(state, event)
    return snapshots.build(state, offset)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".loop"


@settings(deadline=None, max_examples=60)
@given(
    some.integers(1, len(STORY)), some.integers(0, len(STORY)), some.sampled_from([STORY, WAITING])
)
def test_a_snapshot_that_lags_behind_gives_what_a_full_fold_gives(
    tmp_path_factory: pytest.TempPathFactory, seen: int, more: int, story: list[Event]
) -> None:
    """The snapshot reflects the first `seen` lines, the journal has `more` behind them: any cut of
    the ledger."""
    rows = story[: seen + more]
    root = write(tmp_path_factory.mktemp("l") / ".loop", rows)
    offset = sum(len(encode(event)) for event in story[:seen])
    loops.write_snapshot(root, snapshot_of(story[:seen], offset))
    view = loops.view(root)
    state, _ = loops.fold(root, NAME)
    assert view is not None
    assert view.session.dump() == state.session.dump()
    whole = snapshots.build(state, 0)
    assert view.snapshot["tasks"] == whole["tasks"]
    assert (view.snapshot["wave"], view.snapshot["reviews"]) == (whole["wave"], whole["reviews"])


def broken_bytes(root: Path) -> bytes:
    return (root / loops.SNAPSHOT).read_bytes()


DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "deleted": lambda raw: None,
    "empty": lambda raw: b"",
    "garbage": lambda raw: b"\x00\xff{",
    "torn": lambda raw: raw[: len(raw) // 2],
    "status edited": lambda raw: raw.replace(b'"status": "running"', b'"status": "completed"'),
    "stage edited": lambda raw: raw.replace(b'"stage": "executing"', b'"stage": "complete"'),
    "another version": lambda raw: raw.replace(b'"version": 1', b'"version": 2'),
    "not an object": lambda raw: b"[]",
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_snapshot_is_rebuilt_from_the_ledger(root: Path, how: str) -> None:
    rows = STORY[:12]
    write(root, rows)
    view = loops.view(str(root))
    assert view is not None
    loops.write_snapshot(str(root), view.snapshot)
    before = broken_bytes(root)
    after = DAMAGE[how](before)
    assert after != before
    (root / loops.SNAPSHOT).unlink()
    if after is not None:
        (root / loops.SNAPSHOT).write_bytes(after)
    assert loops.read_snapshot(str(root)) is None
    again = loops.view(str(root))
    assert again is not None and again.snapshot == view.snapshot
    assert again.session.dump() == view.session.dump()


def test_an_older_copy_of_the_snapshot_is_brought_up_to_date(root: Path) -> None:
    write(root, STORY[:6])
    old = loops.view(str(root))
    assert old is not None
    write(root, STORY)
    loops.write_snapshot(str(root), old.snapshot)
    view = loops.view(str(root))
    assert (
        view is not None
        and view.session.status == "paused"
        and view.snapshot["tasks"]["completed"] == 1
    )


def test_a_copy_from_a_loop_that_is_over_does_not_hide_the_one_that_runs(root: Path) -> None:
    over = [*STORY[:3], Event("loop_cancelled", {"reason": "x"}, STORY[3].at, "person")]
    write(root, over)
    loops.write_snapshot(str(root), snapshot_of(over, os.path.getsize(root / NAME / journal.NAME)))
    assert loops.view(str(root)).name == NAME  # type: ignore[union-attr]
    write(root, STORY[:6], "002-next")
    view = loops.view(str(root))
    assert view is not None and (view.name, view.session.status) == ("002-next", "running")


def test_a_ledger_that_was_put_back_is_read_anew(root: Path) -> None:
    write(root, STORY)
    view = loops.view(str(root))
    assert view is not None
    loops.write_snapshot(str(root), view.snapshot)
    write(root, STORY[:6])
    again = loops.view(str(root))
    assert again is not None and again.session.status == "running"
    assert again.snapshot["ledger_offset"] == os.path.getsize(root / NAME / journal.NAME)


def test_a_torn_last_line_is_ignored(root: Path) -> None:
    write(root, STORY[:12], extra=encode(STORY[12])[:-5])
    view = loops.view(str(root))
    assert view is not None
    loops.write_snapshot(str(root), view.snapshot)
    again = loops.view(str(root))
    assert again is not None and again.snapshot == view.snapshot


@pytest.mark.parametrize("raw", [b"", b"\xff\xff\n", b"garbage\n", b'{"v":1}\n', b"\n\n"])
def test_a_ledger_that_cannot_be_read_is_no_loop(root: Path, raw: bytes) -> None:
    write(root, [])
    (root / NAME / journal.NAME).write_bytes(raw)
    assert loops.view(str(root)) is None and loops.active(str(root)) is None
    assert loops.names(str(root)) == [NAME]


def test_a_ledger_that_does_not_begin_with_a_start_is_no_loop(root: Path) -> None:
    write(root, STORY[1:])
    assert loops.view(str(root)) is None


def test_no_folder_no_loop(root: Path) -> None:
    assert loops.names(str(root)) == [] and loops.view(str(root)) is None


def test_names_are_numbered_folders_with_a_journal_in_order(root: Path) -> None:
    for name in ("1000-late", "002-b", "010-c", "001-a"):
        write(root, STORY[:1], name)
    (root / "003-empty").mkdir()
    (root / "archive").mkdir()
    (root / "004-x.purged").write_text("")
    assert loops.names(str(root)) == ["001-a", "002-b", "010-c", "1000-late"]


def at(stamp: str, *more: tuple) -> list[Event]:
    first = Event("loop_started", {"task": "x", "session_id": S1}, stamp, f"session:{S1}")
    return [first, *[Event(kind, {}, when, "person") for kind, when in more]]


EARLY, LATE, LATEST = "2026-12-01T09:00:00Z", "2026-12-02T09:00:00Z", "2026-12-03T09:00:00Z"


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        (at(EARLY), at(LATE), "002-b"),
        (at(EARLY, ("resumed", LATEST)), at(LATE), "001-a"),
        (at(LATEST), at(EARLY), "001-a"),
        (at(LATEST, ("loop_cancelled", LATEST)), at(EARLY), "002-b"),
        (at(EARLY, ("paused", LATE)), at(LATE, ("loop_completed", LATEST)), "001-a"),
        (at(EARLY, ("loop_cancelled", EARLY)), at(LATE, ("loop_cancelled", LATE)), "002-b"),
        (at(EARLY), at(EARLY), "002-b"),
    ],
)
def test_which_loop_is_meant(root: Path, first: list, second: list, wanted: str) -> None:
    write(root, first, "001-a")
    write(root, second, "002-b")
    assert loops.active(str(root)) == wanted


def test_looking_writes_nothing(root: Path) -> None:
    write(root, STORY, extra=b"torn")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    loops.view(str(root))
    loops.active(str(root))
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_the_snapshot_is_plain_json_with_the_documented_names(root: Path) -> None:
    write(root, STORY)
    view = loops.view(str(root))
    assert view is not None
    loops.write_snapshot(str(root), view.snapshot)
    row = json.loads((root / loops.SNAPSHOT).read_text(encoding="ascii"))
    wanted = (
        "version stage task spec_score fit_score shape_chosen started_at last_updated "
        "recall_surfaced reviews"
    )
    ours = "loop status verdict owner iteration limits spent tasks ledger_offset"
    assert set((wanted + " " + ours).split()) <= set(row)
