"""Spec score and fit score: the rubric, the formula, the shape that follows."""

from __future__ import annotations

from collections import namedtuple

from .errors import UsageFault

DIMENSIONS = ("outcome", "scope", "constraints", "success", "done")
RUBRIC = {
    "outcome": ("vague wish", "a metric without a target", "a target that can be measured"),
    "scope": ("whole application", "a named module", "a named file, function or endpoint"),
    "constraints": ("none", "general", "explicit technical limits"),
    "success": ("none", "one way to check", "several ways"),
    "done": ("implied", "vague end", "an end that can be observed"),
}
#: The kinds of work, one of which is chosen with the scores.
BUILD, DEBUG, REFACTOR = KINDS = ("build", "debug", "refactor")
SPEC_MINIMUM = 5
TOOL, TOOL_REVIEW, COLLEAGUE = "tool", "tool-review", "colleague"
FIT_TOOL, FIT_TOOL_REVIEW, FIT_COLLEAGUE = 40, 30, 25
FAMILIARITY_EACH, FAMILIARITY_MOST = 2, 10

#: A scored request: `values` by dimension (0-2), spec 0-10, fit 0-75, shape name or None where fit
#: is too low.
Scores = namedtuple("Scores", "values spec fit shape")


def score(values: dict, confirmed_learnings: int) -> Scores:
    """Scores of the five dimensions; `confirmed_learnings` is how many recalled learnings a person
    confirmed.

    Raises UsageFault where a dimension is missing or not 0, 1 or 2 (rule: Spec score, fit score).
    """
    for name in DIMENSIONS:
        if values.get(name) not in (0, 1, 2):
            raise UsageFault(f"--{name} is {values.get(name)!r}", "give 0, 1 or 2")
    spec = sum(values[name] for name in DIMENSIONS)
    explicit = sum(values[name] == 2 for name in ("constraints", "success", "done"))
    familiarity = min(FAMILIARITY_EACH * confirmed_learnings, FAMILIARITY_MOST)
    fit = 5 * spec + 5 * explicit + familiarity
    return Scores({name: values[name] for name in DIMENSIONS}, spec, fit, shape_of(fit))


def shape_of(fit: int) -> str | None:
    """The shape that a fit score chooses, or None: blocked, clarify first."""
    for least, shape in (
        (FIT_TOOL, TOOL),
        (FIT_TOOL_REVIEW, TOOL_REVIEW),
        (FIT_COLLEAGUE, COLLEAGUE),
    ):
        if fit >= least:
            return shape
    return None


def needs(shape: str | None) -> tuple:
    """What the person confirms in a shape: of `shape`, `tasks`, `wave`."""
    return {TOOL_REVIEW: ("shape", "tasks"), COLLEAGUE: ("shape", "tasks", "wave")}.get(
        shape or "", ()
    )
