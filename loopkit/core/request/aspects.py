"""Aspects: the sides of the work a shape has to cover, who anchors each, what proves it."""

from __future__ import annotations

from collections import namedtuple

from ..evidence import proofs
from ..journal.state import LoopState
from . import topics

LEAST, MOST = 2, 5
#: What wins where two aspects ask for opposite things, first first (rule: Shape).
CONFLICTS = ("simplicity", "changeability", "fewer dependencies")

#: anchor: the expert profile whose view the aspect is seen from; proof: the strongest verification
#: type that is usually within reach; brings: the aspect that always comes with it.
Aspect = namedtuple("Aspect", "name anchor proof brings")

ASPECTS = {
    one.name: one
    for one in (
        Aspect("data", "data-modeller", proofs.EXECUTION, None),
        Aspect("api", "api-designer", proofs.EXECUTION, "documentation"),
        Aspect("ui", "interaction-designer", proofs.OBSERVATION, None),
        Aspect("auth", "security-reviewer", proofs.EXECUTION, "testing"),
        Aspect("performance", "performance-engineer", proofs.MEASUREMENT, None),
        Aspect("error", "error-designer", proofs.EXECUTION, None),
        Aspect("testing", "test-first-developer", proofs.EXECUTION, None),
        Aspect("migration", "migration-planner", proofs.EXECUTION, "deployment"),
        Aspect("integration", "integration-engineer", proofs.EXECUTION, None),
        Aspect("deployment", "reliability-engineer", proofs.OBSERVATION, None),
        Aspect("observability", "observability-engineer", proofs.OBSERVATION, None),
        Aspect("documentation", "technical-writer", proofs.OBSERVATION, None),
    )
}
#: What is looked at where too few aspects are named.
_ALWAYS = ("testing", "error")


def chosen(state: LoopState) -> list[str]:
    """The 2 to 5 aspects of a loop: of its shape, else those among its topics, each with the one it
    brings, filled up with testing and error."""
    if state.aspects:
        return list(state.aspects)
    found: list[str] = []
    for name in (one for one in topics.of_loop(state) if one in ASPECTS):
        more = [one for one in (name, ASPECTS[name].brings) if one and one not in found]
        if len(found) + len(more) <= MOST:
            found += more
    missing = [name for name in _ALWAYS if name not in found]
    return found + missing[: max(0, LEAST - len(found))]


def faults(names: list[str]) -> list[str]:
    """What is wrong with a list of aspects that somebody chose; empty where nothing is."""
    unknown = [name for name in names if name not in ASPECTS]
    wrong = [f"unknown aspect {name!r}; there are {', '.join(ASPECTS)}" for name in unknown]
    if len(set(names)) < len(names):
        wrong.append("an aspect stands twice")
    if not LEAST <= len(names) <= MOST:
        wrong.append(f"{len(names)} aspects instead of {LEAST} to {MOST}")
    for name in names:
        brings = ASPECTS[name].brings if name in ASPECTS else None
        if brings and brings not in names:
            wrong.append(f"{name} brings {brings}")
    return wrong
