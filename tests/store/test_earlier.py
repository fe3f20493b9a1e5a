"""Journals of an earlier version: they fold to the stage in which they were left, whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.core.steps.events import LOOP
from loopkit.store import journal, loops
from tests.data import earlier

AT = {
    "begun": ("intent", {}),
    "scored": ("shape", {}),
    "shaped": ("decompose", {}),
    "planned": ("decompose", {"T-001": "pending", "T-002": "pending", "T-003": "pending"}),
    "executing": (
        "executing",
        {"T-001": "in_progress", "T-002": "in_progress", "T-003": "pending"},
    ),
    "second-wave": (
        "executing",
        {"T-001": "completed", "T-002": "completed", "T-003": "in_progress"},
    ),
    "review": ("review", {"T-001": "completed", "T-002": "completed", "T-003": "completed"}),
    "gate": ("review", {"T-001": "completed", "T-002": "completed", "T-003": "completed"}),
    "complete": ("review", {"T-001": "completed", "T-002": "completed", "T-003": "completed"}),
}


@pytest.mark.parametrize("stage", earlier.STAGES)
def test_each_folds(tmp_path: Path, home: Path, stage: str) -> None:
    ledger = earlier.plant(stage, tmp_path)
    tail = journal.read(str(ledger), LOOP)
    assert tail is not None and not tail.damaged and not tail.torn and not tail.cut
    view = loops.view(str(tmp_path / ".loop"))
    assert view is not None and loops.vouched(view.root, view.snapshot)
    state, _ = loops.fold(view.root, view.name)
    tasks = {name: task.status for name, task in state.tasks.items()}
    assert (state.stage, tasks) == AT[stage]
    assert state.folder == "" and view.session.status == "running"
