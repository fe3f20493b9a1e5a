"""Policies: what completes a task besides its check, and which steps that takes; one class each."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ...journal.settings import POLICIES, SUPERVISOR

if TYPE_CHECKING:
    from ...journal.state import LoopState
    from .policy import Policy


def of(state: LoopState) -> Policy:
    """The strategy of a loop; of a name that nobody knows the strictest."""
    name = state.approval if state.approval in POLICIES else SUPERVISOR
    policy: Policy = importlib.import_module("." + name, __name__).POLICY
    return policy
