"""The stages of a loop, in their order."""

from __future__ import annotations

INTENT, SHAPE, DECOMPOSE, EXECUTING, REVIEW, COMPLETE = (
    "intent",
    "shape",
    "decompose",
    "executing",
    "review",
    "complete",
)
ORDER = (INTENT, SHAPE, DECOMPOSE, EXECUTING, REVIEW, COMPLETE)
