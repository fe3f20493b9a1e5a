"""Whole files: the old text or the new one, and nothing left behind."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from loopkit.store import atomic


def test_a_new_file_and_a_replaced_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    atomic.write(str(path), b"one")
    atomic.write(str(path), b"two", sync=True)
    assert path.read_bytes() == b"two" and os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("broken", ["open", "write", "replace"])
def test_a_failure_keeps_the_old_text_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    path = tmp_path / "a"
    atomic.write(str(path), b"old")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, broken, full)
    with pytest.raises(OSError, match="No space"):
        atomic.write(str(path), b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a"]


def test_a_write_in_pieces_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data[:3])))
    atomic.write(str(tmp_path / "a"), b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_a_missing_folder_is_the_callers_affair(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        atomic.write(str(tmp_path / "no" / "a"), b"x")


def test_a_file_keeps_its_permission_bits_and_gets_no_more_than_it_may_have(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def written(most: int = 0o777) -> int:
        atomic.write(str(path), b"x", most=most)
        return path.stat().st_mode & 0o777

    assert written() == 0o644
    path.chmod(0o664)
    assert written() == 0o664, "whatever the umask"
    assert written(0o600) == 0o600
    assert written() == 0o600
    path.unlink()
    assert written(0o440) == 0o440
    assert written() == 0o440
    path.unlink()
    path.symlink_to(tmp_path / "b")
    assert written() == 0o644
