"""Seals: whatever was written stays as it is, and what is changed afterwards is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.core.journal.events import Event
from loopkit.core.journal.session import SESSION
from loopkit.store import digest, journal
from loopkit.store.loop import Loop
from tests.core.kit import S1
from tests.store.test_loop import add, loop, root

__all__ = ["loop", "root"]

STAMP = "2026-12-01T09:30:00Z"


def token(loop: Loop) -> str:
    return loop.state.session.token


def by_hook(loop: Loop) -> None:
    event = Event("notice_given", {"name": "x"}, STAMP, "hook")
    journal.append(loop.path, SESSION, [event])


def worked(loop: Loop) -> Path:
    """A loop that commands and hooks wrote to in turn."""
    for number in range(1, 4):
        loop.record([add(number)], f"session:{S1}")
        by_hook(loop)
    return Path(loop.path)


def test_what_commands_and_hooks_write_breaks_no_seal(loop: Loop) -> None:
    assert not digest.seal_broken(token(loop), loop.path)
    path = worked(loop)
    assert not digest.seal_broken(token(loop), loop.path)
    with path.open("ab") as file:
        file.write(b'{"v":1,"torn')
    loop.record([add(4)], f"session:{S1}")
    assert not digest.seal_broken(token(loop), loop.path)


@pytest.mark.parametrize("line", [1, 2, 3, 4, 5, 6])
def test_a_line_that_is_changed_or_removed_is_noticed_for_good(loop: Loop, line: int) -> None:
    path = worked(loop)
    rows = path.read_bytes().splitlines(keepends=True)
    changed = [*rows[:line], rows[line].replace(b"2", b"3"), *rows[line + 1 :]]
    for other in (changed, [*rows[:line], *rows[line + 1 :]]):
        path.write_bytes(b"".join(other))
        assert digest.seal_broken(token(loop), loop.path)
    loop.record([add(4)], f"session:{S1}")
    assert digest.seal_broken(token(loop), loop.path)


def test_a_line_of_a_hook_is_sealed_by_the_next_command(loop: Loop) -> None:
    path = worked(loop)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 1])
    assert not digest.seal_broken(token(loop), loop.path)
    path.write_bytes(whole)
    loop.record([add(4)], f"session:{S1}")
    path.write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 1])
    assert digest.seal_broken(token(loop), loop.path)


def test_a_loop_of_an_earlier_version_has_no_seal_until_a_command_writes(loop: Loop) -> None:
    path = worked(loop)
    Path(digest._seal_path(token(loop))).unlink()
    path.write_bytes(path.read_bytes().replace(b"task 1", b"task 9"))
    assert not digest.seal_broken(token(loop), loop.path)
    loop.record([add(4)], f"session:{S1}")
    assert not digest.seal_broken(token(loop), loop.path)
    path.write_bytes(path.read_bytes().replace(b"task 9", b"task 1"))
    assert digest.seal_broken(token(loop), loop.path)


def test_a_seal_that_cannot_be_written_stops_no_command(
    loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(digest, "_seal_path", lambda token: str(tmp_path / "file" / token))
    loop.record([add(1)], f"session:{S1}")
    assert "T-001" in loop.state.tasks and not digest.seal_broken(token(loop), loop.path)


def test_only_what_is_new_is_read(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    worked(loop)
    loop.record([add(4)], f"session:{S1}")
    seen: list[bytes] = []
    real = digest._digest

    def counted(lines: list[bytes], start: str = "") -> str:
        seen.extend(lines)
        return real(lines, start)

    monkeypatch.setattr(digest, "_digest", counted)
    by_hook(loop)
    loop.record([add(5)], f"session:{S1}")
    assert len(seen) == 2
