"""Briefs on disk: a file each, by what is asked for and how often."""

from __future__ import annotations

import os

import pytest

from loopkit.store import briefs
from tests.core.roles import named


def test_each_brief_has_a_name_of_its_own(tmp_path):
    names = [
        briefs.name(named("plan", None), 1),
        briefs.name(named("replan", "T-003"), 1),
        briefs.name(named("test", "T-001"), 12),
        briefs.name(named("verification", "plan"), 2),
        briefs.name(named("verification", "goal"), 1),
    ]
    assert names == [
        "plan-1.md",
        "replan-T-003-1.md",
        "test-T-001-12.md",
        "verification-plan-2.md",
        "verification-goal-1.md",
    ]
    path = briefs.write(str(tmp_path), named("test", "T-001"), 1, "größe 漢字 \ud800\n")
    assert path == str(tmp_path / "briefs" / "test-T-001-1.md")
    assert (tmp_path / "briefs" / "test-T-001-1.md").read_bytes() == "größe 漢字 ?\n".encode()
    assert os.listdir(tmp_path / "briefs") == ["test-T-001-1.md"]


def test_nothing_is_written_through_a_link(tmp_path):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "loop"
    elsewhere.mkdir()
    folder.mkdir()
    (folder / "briefs").symlink_to(elsewhere)
    with pytest.raises(OSError):
        briefs.write(str(folder), named("test", "T-001"), 1, "x")
    assert not os.listdir(elsewhere)
