"""The journal: what was acknowledged is read again, whatever else happens to the file."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.journal.events import Event, EventType, Table, encode
from loopkit.store import journal

if TYPE_CHECKING:
    from loopkit.core.journal.events import Count, Text

STAMP = "2026-12-01T09:30:00Z"


class Counter:
    """The state of a log that is no loop's: a sum and the last text."""

    def __init__(self) -> None:
        self.sum, self.text, self.events = 0, "", 0

    def before(self, event: Event) -> None:
        self.events += 1

    def after(self, event: Event) -> None:
        """Nothing follows from every event."""


class NumberSeen(EventType):
    number: Count
    text: Text = ""

    def fold(self, state: Counter) -> None:
        state.sum, state.text = state.sum + self.number, self.text


TABLE = Table(sys.modules[__name__])


def event(number: int, text: str = "") -> Event:
    return Event("number_seen", {"number": number, "text": text}, STAMP, "person")


def test_another_kind_of_log_is_a_table_and_a_state_class(tmp_path: Path) -> None:
    path = str(tmp_path / "numbers.jsonl")
    journal.create(path, TABLE, [event(2, "a")])
    journal.append(path, TABLE, [Event("number_seen", {"number": 3}, STAMP, "person")])
    with open(path, "ab") as file:
        file.write(encode(Event("number_seen", {"number": -1}, STAMP, "person")))
        file.write(encode(Event("number_seen", {"number": 4, "of_old": 1}, STAMP, "person")))
        file.write(encode(Event("of_the_future", {}, STAMP, "person")))
    tail, state = journal.read(path, TABLE), Counter()
    assert tail is not None and tail.damaged == [3]
    for one in tail.events:
        TABLE.apply(state, one)
    assert (state.sum, state.text, state.events) == (9, "", 4)


@pytest.mark.parametrize(
    ("kind", "data"),
    [("number_unseen", {}), ("number_seen", {"number": 1, "nmuber": 2}), ("loop_started", {})],
)
def test_what_the_table_does_not_know_is_not_written(path: str, kind: str, data: dict) -> None:
    size = journal.create(path, TABLE, [event(0)])
    with pytest.raises(TypeError):
        journal.append(path, TABLE, [event(1), Event(kind, data, STAMP, "person")])
    assert os.path.getsize(path) == size


def numbers(tail: Any) -> list:
    return [one.data["number"] for one in tail.events]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.jsonl")


def test_lines_come_back_in_order_and_the_offset_is_the_size(path: str) -> None:
    journal.create(path, TABLE, [event(0)])
    size = journal.append(path, TABLE, [event(1, "ü\n"), event(2)])
    tail = journal.read(path, TABLE)
    assert tail is not None and tail.events == [event(0), event(1, "ü\n"), event(2)]
    assert tail.offset == size == os.path.getsize(path)
    assert (tail.damaged, tail.cut, tail.torn) == ([], [], False)


def test_a_journal_is_never_made_over_another(path: str) -> None:
    journal.create(path, TABLE, [event(0)])
    with pytest.raises(FileExistsError):
        journal.create(path, TABLE, [event(1)])
    assert numbers(journal.read(path, TABLE)) == [0]


def test_appending_makes_no_file(path: str) -> None:
    with pytest.raises(FileNotFoundError):
        journal.append(path, TABLE, [event(1)])
    assert not os.path.exists(path)


def test_only_what_is_new_is_read_from_an_offset(path: str) -> None:
    size = journal.create(path, TABLE, [event(0)])
    end = journal.append(path, TABLE, [event(1)])
    tail = journal.read(path, TABLE, size)
    assert tail is not None and (numbers(tail), tail.offset) == ([1], end)
    tail = journal.read(path, TABLE, end)
    assert tail is not None and (numbers(tail), tail.offset) == ([], end)


@pytest.mark.parametrize("wrong", [1, 5, 10_000])
def test_an_offset_that_is_no_line_start_is_noticed(path: str, wrong: int) -> None:
    journal.create(path, TABLE, [event(0)])
    assert journal.read(path, TABLE, wrong) is None


def test_torn_at_every_byte_nothing_acknowledged_is_lost(path: str) -> None:
    """A crash within the third line, wherever; then another program goes on."""
    whole = [encode(event(number, "é“\\\n")) for number in range(3)]
    for end in range(len(whole[2])):
        Path(path).write_bytes(whole[0] + whole[1] + whole[2][:end])
        tail = journal.read(path, TABLE)
        assert tail is not None and numbers(tail) == [0, 1]
        assert (tail.torn, tail.offset) == (end > 0, len(whole[0] + whole[1]))
        journal.append(path, TABLE, [event(7), event(8)])
        after = journal.read(path, TABLE)
        assert after is not None and numbers(after) == [0, 1, 7, 8], (
            "a torn line never counts, not even later"
        )
        assert after.damaged == [] and after.cut == ([3] if end else []) and not after.torn
        onwards = journal.read(path, TABLE, tail.offset)
        assert onwards is not None and numbers(onwards) == [7, 8] and onwards.offset == after.offset


GARBAGE = some.one_of(
    some.binary(max_size=40).filter(lambda line: b"\n" not in line),
    some.sampled_from(
        [
            b"",
            b"  ",
            b"\r",
            b"null",
            b"{}",
            b"[1]",
            b"\xff\xfe",
            b"{" * 50,
            b"<<<<<<< HEAD",
            b"\x00" * 20,
        ]
    ),
)


@given(
    some.lists(GARBAGE | some.none(), max_size=12),
    some.booleans(),
    some.booleans(),
    some.binary(max_size=10),
)
def test_garbage_between_lines_hides_none_of_them(
    tmp_path_factory: pytest.TempPathFactory, rows: list, bom: bool, crlf: bool, tail: bytes
) -> None:
    path = str(tmp_path_factory.mktemp("j") / "ledger.jsonl")
    end = b"\r\n" if crlf else b"\n"
    raw, wanted = (journal.BOM if bom else b""), []
    for number, row in enumerate(rows):
        if row is None:
            raw += encode(event(number))[:-1] + end
            wanted.append(number)
        else:
            raw += row + end
    Path(path).write_bytes(raw + tail.replace(b"\n", b""))
    found = journal.read(path, TABLE)
    assert found is not None
    assert [number for number in numbers(found) if number in wanted] == wanted
    assert found.offset == len(raw) or not raw.endswith(b"\n")
    bad = {number - 1 for number in (*found.damaged, *found.cut)}
    assert bad.isdisjoint(wanted)


@given(some.binary(max_size=200), some.integers(0, 250))
def test_reading_never_raises(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, offset: int
) -> None:
    path = str(tmp_path_factory.mktemp("j") / "ledger.jsonl")
    Path(path).write_bytes(raw)
    tail = journal.read(path, TABLE, offset)
    assert tail is None or 0 <= tail.offset <= max(len(raw), offset)


def test_damaged_and_cut_lines_are_told_apart(path: str) -> None:
    good = encode(event(0))
    Path(path).write_bytes(good + b'{"no":"event"}\n' + good[:20] + b"#\n" + good)
    tail = journal.read(path, TABLE)
    assert tail is not None and (numbers(tail), tail.damaged, tail.cut) == ([0, 0], [2], [3])


def test_a_line_that_was_only_seen_half_written_is_whole(path: str) -> None:
    """A hook takes no lock: it may look while the system is still copying somebody's write, and
    closes what is not cut."""
    journal.create(path, TABLE, [event(0)])
    with open(path, "ab") as file:
        file.write(b"#\n" + encode(event(1)))
    tail = journal.read(path, TABLE)
    assert tail is not None and (numbers(tail), tail.damaged, tail.cut, tail.torn) == (
        [0, 1],
        [],
        [],
        False,
    )


def test_a_byte_order_mark_in_the_middle_is_passed_over(path: str) -> None:
    Path(path).write_bytes(encode(event(0)) + journal.BOM + encode(event(1)))
    assert numbers(journal.read(path, TABLE)) == [0, 1]


def test_a_write_in_pieces_is_finished(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    journal.create(path, TABLE, [event(0)])
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data[:7])))
    journal.append(path, TABLE, [event(1), event(2)])
    monkeypatch.undo()
    assert numbers(journal.read(path, TABLE)) == [0, 1, 2]


@pytest.mark.parametrize("after", [0, 1, 60, 150])
def test_a_disk_that_fills_up_leaves_nothing_of_the_write(
    path: str, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    journal.create(path, TABLE, [event(0)])
    before = Path(path).read_bytes()
    real, left = os.write, [after]

    def write(descriptor: int, data: bytes) -> int:
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = real(descriptor, bytes(data[: left[0]]))
        left[0] -= done
        return done

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space"):
        journal.append(path, TABLE, [event(1), event(2)])
    monkeypatch.undo()
    assert Path(path).read_bytes() == before
    journal.append(path, TABLE, [event(3)])
    assert numbers(journal.read(path, TABLE)) == [0, 3]


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("x\n")
    os.symlink(target, tmp_path / "ledger.jsonl")
    with pytest.raises(OSError):
        journal.append(str(tmp_path / "ledger.jsonl"), TABLE, [event(1)])
    assert target.read_text() == "x\n"
