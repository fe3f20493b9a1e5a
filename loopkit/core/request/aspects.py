"""Aspects of a request: which sides of the work a shape has to cover, who anchors each, what proves
it (rule: Shape)."""

from __future__ import annotations

import re
from collections import namedtuple

from ..evidence import proofs
from . import topics

LEAST, MOST = 2, 5
#: What wins where two aspects ask for opposite things, first first (rule: Shape).
CONFLICTS = ("simplicity", "changeability", "fewer dependencies")
BUILD, DEBUG, REFACTOR = "build", "debug", "refactor"

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
#: What is looked at where a request names too few sides of itself.
_ALWAYS = ("testing", "error")

#: Words of a request within which its kind is looked for; later ones name conditions.
_TELLING = 10
_KINDS = {
    BUILD: "add build create write implement introduce support provide send deploy",
    DEBUG: "fix fixes bug bugs debug crash crashes broken breaks fail fails failing flaky hang "
    "hangs leak leaks leaking "
    "regression wrong wrongly why kaputt исправь behebe beheben repariere fehler corrige corriger "
    "arregla 修正 修复 直す",
    REFACTOR: "refactor restructure rename extract inline deduplicate simplify cleanup clean "
    "untangle decouple split merge "
    "move reorganise reorganize refaktoriere umbenennen renommer refactorise refactoriza "
    "重构 リファクタ",
}


def chosen(text: str) -> list[str]:
    """The 2 to 5 aspects of a request: those it names most and first, each with the one it brings.

    A request that names too few gets testing and error beside them. The same text gives the same
    choice.
    """
    named = {name: places for name, places in topics.mentions(text).items() if name in ASPECTS}
    ranked = sorted(
        named, key=lambda name: (-len(named[name]), named[name][0], topics.TOPICS.index(name))
    )
    found: list[str] = []
    for name in ranked:
        more = [one for one in (name, ASPECTS[name].brings) if one and one not in found]
        if len(found) + len(more) <= MOST:
            found += more
    for name in _ALWAYS:
        if len(found) < LEAST and name not in found:
            found.append(name)
    return found


def faults(names: list[str]) -> list[str]:
    """What is wrong with a list of aspects that somebody chose; empty where nothing is."""
    wrong = [
        f"unknown aspect {name!r}; there are {', '.join(ASPECTS)}"
        for name in names
        if name not in ASPECTS
    ]
    if len(set(names)) < len(names):
        wrong.append("an aspect stands twice")
    if not LEAST <= len(names) <= MOST:
        wrong.append(f"{len(names)} aspects instead of {LEAST} to {MOST}")
    for name in names:
        brings = ASPECTS[name].brings if name in ASPECTS else None
        if brings and brings not in names:
            wrong.append(f"{name} brings {brings}")
    return wrong


def kind_of(text: str) -> str:
    """The kind of work a request asks for, by the first word of its beginning that tells: build,
    debug or refactor.

    Where none tells it is a build, or a refactoring if what is there has to stay as it is.
    """
    plain = " ".join(text.lower().split()[:_TELLING])
    best: tuple[int, str] = (len(plain), BUILD)
    for kind, words in _KINDS.items():
        for word in words.split():
            pattern = rf"\b{word}\b" if word.isascii() else word
            found = re.search(pattern, plain)
            if found:
                best = min(best, (found.start(), kind))
    if best[1] == BUILD and re.search(
        r"\bunchanged\b|\bas they are\b|\bsame behaviou?r\b", text.lower()
    ):
        return REFACTOR
    return best[1]
