"""Expert panels: who is asked, how sure an expert may be, what a record must hold."""

from __future__ import annotations

import re
from collections import namedtuple
from typing import TYPE_CHECKING

from . import announce
from .errors import Refused, UsageFault

if TYPE_CHECKING:
    from .state import LoopState

LEAST, MOST, NORMAL = 2, 4, 3
WEAK, SILENT = 6, 3

#: Topics that requests, tasks and profiles share: the twelve aspects of a shape, and what goes across them.
TOPICS = (
    "data",
    "api",
    "ui",
    "auth",
    "performance",
    "error",
    "testing",
    "migration",
    "integration",
    "deployment",
    "observability",
    "documentation",
    "debugging",
    "simplicity",
    "concurrency",
    "data-modelling",
    "release",
)

#: A profile as data: name, title, viewpoint, asks, evidence, blind spots, and topics by how well it knows them.
Profile = namedtuple("Profile", "name title viewpoint asks evidence blind_spots depth core current")


#: Other words that name a topic.
_ALIASES = {
    "auth": ("authentication", "authorization", "login", "password", "token"),
    "deployment": ("deploy",),
    "documentation": ("docs", "document", "readme", "docstring"),
    "error": ("exception", "crash"),
    "migration": ("migrate",),
    "observability": ("log", "logging", "metrics", "trace"),
    "performance": ("fast", "slow", "speed", "latency", "memory"),
    "testing": ("test",),
    "ui": ("button", "form", "page", "screen"),
    "concurrency": ("parallel", "thread", "race", "lock"),
}


def topics_in(text: str, *always: str) -> list:
    """The topics that a text names by a whole word of its own, after those that are always meant."""
    words = set(re.findall(r"[a-z]+(?:-[a-z]+)*", text.lower()))
    words |= {word[:-1] for word in words if word.endswith("s")}
    named = [topic for topic in TOPICS if words.intersection((topic, *_ALIASES.get(topic, ())))]
    return list(dict.fromkeys([*always, *named]))


def confidence(profile: Profile | None, topics: list) -> int:
    """How sure an expert may be about these topics, 0-9: 6 with a profile, 4 without; +2 for a topic in `depth`, +1 in
    `core`, +1 in `current`, −2 in none (rule: Panel)."""
    value = 6 if profile is not None else 4
    known = False
    if profile is not None:
        for names, step in ((profile.depth, 2), (profile.core, 1), (profile.current, 1)):
            if any(topic in names for topic in topics):
                value += step
                known = True
    return min(9, value if known else value - 2)


def standing(value: int) -> str:
    """`silent` under 3, `weak` from 3 to 5, else `firm`."""
    if value < SILENT:
        return "silent"
    return "weak" if value < WEAK else "firm"


def choose(profiles: list, topics: list, count: int = NORMAL) -> list:
    """The experts for these topics, surest first, those that add a topic of their own before those that repeat one."""
    ranked = sorted(profiles, key=lambda one: (-confidence(one, topics), one.name))
    chosen: list = []
    covered: set = set()
    for fresh in (True, False):
        for one in ranked:
            if len(chosen) == count:
                return chosen
            own = {topic for topic in topics if topic in (*one.depth, *one.core, *one.current)}
            if one not in chosen and standing(confidence(one, topics)) != "silent" and (not fresh or own - covered):
                chosen.append(one)
                covered |= own
    return chosen


def recorded(state: LoopState, task_id: str, given: dict) -> list:
    """`panel T-003 --file`: experts with a diagnosis each, ranked recommendations, one consensus, a fallback."""
    from . import intake, work

    intake.running(state)
    task = work.find(state, task_id)
    experts = given.get("experts")
    if not isinstance(experts, list) or not all(isinstance(one, dict) for one in experts):
        raise UsageFault("experts is no list of objects", "each begins with `- name:`, then question: and diagnosis:")
    if not LEAST <= len(experts) <= MOST:
        raise Refused(announce.count(len(experts), "expert"), f"a panel has {LEAST} to {MOST}, normally {NORMAL}")
    for place, one in enumerate(experts, 1):
        for key in ("name", "question", "diagnosis"):
            if not str(one.get(key, "")).strip():
                raise UsageFault(f"expert {place} has no {key}", "each has name, question and diagnosis")
    if len({str(one["question"]).strip().lower() for one in experts}) < len(experts):
        raise Refused("two experts have the same question", "each looks at it with a question of its own")
    ranked = given.get("recommendations")
    if (
        not isinstance(ranked, list)
        or not ranked
        or not all(isinstance(one, dict) and one.get("approach") for one in ranked)
    ):
        raise UsageFault("recommendations is missing", "each begins with `- approach:`, then confidence:")
    for key in ("consensus", "fallback"):
        if not str(given.get(key, "")).strip():
            raise UsageFault(f"{key} is missing", "one consensus and one fallback, a sentence each")
    data = {
        "task": task.id,
        "attempt": task.attempts,
        "error": task.history[-1]["error"] if task.history else "",
        "experts": [{key: str(one[key]).strip() for key in ("name", "question", "diagnosis")} for one in experts],
        "recommendations": sorted(ranked, key=lambda one: -_number(one.get("confidence"))),
        "consensus": str(given["consensus"]).strip(),
        "fallback": str(given["fallback"]).strip(),
        "dissent": str(given.get("dissent", "")).strip(),
        "sequential": given.get("sequential") in (True, "true"),
    }
    return [("panel_recorded", data)]


def _number(value: object) -> float:
    if value is None:
        return 0
    if isinstance(value, str) and value.replace(".", "", 1).isdigit():
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 9:
        raise UsageFault(f"confidence is {value!r}", "give 0 to 9")
    return value


def advice(state: LoopState, task_id: str) -> dict | None:
    """The newest panel on a task, for the next attempt's prompt."""
    for panel in reversed(state.panels):
        if panel.get("task") == task_id:
            return panel
    return None
