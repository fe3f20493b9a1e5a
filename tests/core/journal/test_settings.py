"""Settings and errors: defaults and exit codes that others rely on."""

from __future__ import annotations

import pytest

from loopkit.core.journal import errors, settings
from loopkit.core.journal.state import LoopState


def test_defaults() -> None:
    assert settings.DEFAULTS == {
        "max_idle_stops": 3,
        "max_step_attempts": 3,
        "max_fix_cycles": 3,
        "max_replan_depth": 5,
        "verify_seconds": 600,
        "max_plan_revisions": 3,
        "approval_threshold": 70,
        "revision_threshold": 50,
        "plan_review_failure": "continue",
    }
    assert (settings.MOST_TASKS, settings.MOST_IN_WAVE) == (25, 6)


def test_what_was_stored_at_the_start_counts() -> None:
    state = LoopState()
    assert settings.of(state, "max_fix_cycles") == 3
    state.settings = {"max_fix_cycles": 0}
    assert settings.of(state, "max_fix_cycles") == 0


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.Refused, 1),
        (errors.UsageFault, 2),
        (errors.Damaged, 3),
        (errors.LimitReached, 75),
        (errors.LoopError, 1),
    ],
)
def test_exit_codes(kind: type[errors.LoopError], code: int) -> None:
    error = kind("what", "what to do")
    assert (error.exit_code, str(error)) == (code, "what; what to do")
    assert str(kind("what")) == "what"
