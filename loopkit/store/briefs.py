"""Briefs of a loop: what a role reads before its step, a file each, never written twice."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..core.steps import kinds
from . import atomic, inside

if TYPE_CHECKING:
    from ..core.steps.kinds import Step

FOLDER = "briefs"


def name(step: Step, number: int) -> str:
    """`test-T-001-2.md` for the second time that the test of T-001 is asked for, `plan-1.md` for
    the first plan."""
    return f"{kinds.key(step).replace(' ', '-')}-{number}.md"


def write(folder: str, step: Step, number: int, text: str) -> str:
    """Write a brief into a loop's folder and return its path. Raises OSError."""
    home = os.path.join(folder, FOLDER)
    path = os.path.join(home, name(step, number))
    inside.check(folder, path)
    os.makedirs(home, exist_ok=True)
    atomic.clean_up(home)
    atomic.write(path, text.encode("utf-8", "replace"))
    return path
