"""Everyday misfortunes of the client's task list, around the hooks."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from loopkit.store import native


@pytest.mark.parametrize(
    ("age", "taken"),
    [(0, False), (native.STALE + 60, True), (-native.STALE - 3600, True)],
    ids=["just made", "left behind", "of the future, since the clock was set back"],
)
def test_a_lock_in_the_list_blocks_nobody_for_ever(tmp_path: Path, age: float, taken: bool) -> None:
    lock = tmp_path / "1.json.lock"
    lock.mkdir()
    then = time.time() - age
    os.utime(lock, (then, then))
    assert native.Patience(0).lock(str(lock)) is taken
