"""Loops in memory at the stages that tests start from."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from tests.core.kit import Book, task

# where nobody looks at a new example, the same ones each time
settings.register_profile("loopkit", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("loopkit")


@pytest.fixture
def book() -> Book:
    """A loop that was just started."""
    return Book()


@pytest.fixture
def executing() -> Book:
    """Two tasks, the second waits for the first; wave 1 open with the first."""
    loop = Book().planned(task("first", "ls"), task("second", "ls", blocked_by=["#1"]))
    loop.wave()
    return loop
