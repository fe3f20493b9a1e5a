"""Expert panels: who is asked, how sure an expert may be, what a record must hold."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Collection, Iterable

from ..evidence import changes
from ..journal import prose, stage
from ..journal.errors import Refused, UsageFault
from ..journal.state import LoopState
from ..journal.task import Task
from ..plan import work
from ..request.topics import GENERAL, kind_of, of_loop, ranked

LEAST, MOST, NORMAL = 2, 4, 3
WEAK, SILENT = 6, 3
#: Readings that a panel on an unclear dimension gives to choose from.
OPTIONS = (2, 4)

#: A profile as data; depth, core, current: topics by how well it knows them.
Profile = namedtuple("Profile", "name title viewpoint asks evidence blind_spots depth core current")


def confidence(profile: Profile | None, topics: list) -> int:
    """How sure an expert may be about these topics, 0-9: 6 with a profile, 4 without; +2 for a
    topic in `depth`, +1 in `core`, +1 in `current`, −2 in none (rule: Panel)."""
    if profile is None:
        return 2
    steps = ((profile.depth, 2), (profile.core, 1), (profile.current, 1))
    known = sum(step for names, step in steps if not set(names).isdisjoint(topics))
    return min(9, 6 + (known or -2))


def standing(value: int) -> str:
    """`silent` under 3, `weak` from 3 to 5, else `firm`."""
    return "silent" if value < SILENT else "weak" if value < WEAK else "firm"


def choose(profiles: list, topics: list, count: int = NORMAL) -> list:
    """The experts for these topics, the most important topic first: for each the one who knows it
    best in depth, then for each that is still open who knows it at all; then those whose own
    subject, the first of `depth`, is among them, then who fits best.

    Nobody who would have to be silent; the same input gives the same panel.
    """

    def fit(profile: Profile, topic: str) -> float:
        """3 and more: in depth, most where the profile names it first."""
        if topic in profile.depth:
            return 4 - min(profile.depth.index(topic), 2) / 2
        return (topic in profile.core) + (topic in profile.current) / 2

    def overall(profile: Profile) -> tuple:
        total = sum(fit(profile, topic) / place for place, topic in enumerate(topics, 1))
        return (-total, -confidence(profile, topics), profile.name)

    left = [profile for profile in profiles if standing(confidence(profile, topics)) != "silent"]
    left.sort(key=overall)
    chosen: list = []
    for least in (3, 0.5):
        for topic in topics:
            best = max(left, key=lambda profile: fit(profile, topic), default=None)
            open_yet = all(fit(profile, topic) < least for profile in chosen)
            if best and open_yet and fit(best, topic) >= least and len(chosen) < count:
                chosen.append(best)
                left.remove(best)
    own = [row for name in topics for row in left if row.depth[:1] == [name]]
    return list({row.name: row for row in [*chosen, *own, *left]}.values())[:count]


def allowed(profiles: list, state: LoopState) -> list:
    """The profiles that may speak in this project, by the setting `panel.blocklist`."""
    return [profile for profile in profiles if profile.name not in blocklist(state)]


def blocklist(state: LoopState) -> Collection[str]:
    """Names of the experts that may not speak."""
    return state.settings.get("blocklist") or ()


# -- the calls: stuck on a task, clarify a dimension, wave strategy (reviews are review.py's)


def stuck_topics(state: LoopState, task: Task) -> list[str]:
    """What a panel on a failed task is about."""
    return _about(state, task.files, "debugging")


def clarify_topics(state: LoopState) -> list[str]:
    """What a panel on an unclear dimension of the request is about."""
    return _about(state, (), "requirements")


def wave_topics(state: LoopState) -> list[str]:
    """What a panel on the strategy of the next wave is about."""
    files = [path for name in list(state.open)[:20] for path in state.tasks[name].files]
    return _about(state, files, "concurrency", "simplicity")


def _about(state: LoopState, files: Iterable[str], *first: str) -> list[str]:
    return ranked(of_loop(state), kind_of(state), files, *first)


def review_topics(state: LoopState, wave: int | None) -> list[str]:
    """What a review of a wave, or (None) of the whole loop, is about: its own topics, then what is
    asked about everything, so that no seat goes to a view that would have nothing to look at."""
    names = next((row.tasks for row in state.waves if row.number == wave), ())
    reviewed = [task for task in state.tasks.values() if wave is None or task.id in names]
    files = [path for task in reviewed for path in work.files_of(task)]
    files += [row.path for row in changes.of_wave(state, wave) or ()]
    topics = _about(state, files)
    return list(dict.fromkeys([*topics, *GENERAL]))


def recorded(state: LoopState, task_id: str, given: dict, profiles: list | None = None) -> list:
    """`panel T-003 --file`: error, a diagnosis per expert, ranked recommendations, consensus,
    dissent, fallback. profiles: what is known of experts; None or empty where no profile can be
    read (then nobody's standing is checked).
    """
    stage.running(state)
    task = work.find(state, task_id)
    data = _record(state, given, profiles, stuck_topics(state, task))
    earlier = [row for row in state.panels if row.get("task") == task.id]
    for number in (row.get("attempt", 0) for row in earlier if _same(row, data)):
        if number < task.attempts:
            what = f"this consensus stood before attempt {number + 1}, which failed"
            raise Refused(what, "find another approach, or take that panel's fallback")
    error = task.history[-1]["error"] if task.history else ""
    about = {"call": "stuck", "task": task.id, "attempt": task.attempts, "error": error}
    return [("panel_recorded", {**about, **data})]


def unheard(state: LoopState, task_id: str) -> list:
    """A panel on a failed task whose answer cannot be used: the next attempt does without."""
    task = work.find(state, task_id)
    return [("panel_recorded", {"call": "stuck", "task": task.id, "attempt": task.attempts})]


def _same(row: dict, data: dict) -> bool:
    return plain(str(row.get("consensus", ""))) == plain(data["consensus"])


def clarified(state: LoopState, dimension: str, given: dict, profiles: list | None = None) -> list:
    """`panel --clarify outcome --file`: readings of an unclear dimension, the first is proposed."""
    stage.running(state)
    stage.require(state, stage.INTENT, doing="clarifying")
    if dimension not in stage.DIMENSIONS:
        known = ", ".join(stage.DIMENSIONS)
        raise UsageFault(f"there is no dimension {dimension[:30]!r}", f"use {known}")
    data = _record(state, given, profiles, clarify_topics(state))
    count = len(data["recommendations"])
    if not OPTIONS[0] <= count <= OPTIONS[1]:
        todo = f"give {OPTIONS[0]} to {OPTIONS[1]} to choose from"
        raise Refused(prose.count(count, "option"), todo)
    return [("panel_recorded", {"call": "clarify", "dimension": dimension, **data})]


def planned(state: LoopState, given: dict, profiles: list | None = None) -> list:
    """`panel --wave --file`: how the next wave is worked; `sequential`: one task at a time."""
    stage.running(state)
    if state.wave is not None or not state.open:
        why = f"wave {state.wave.number} is open" if state.wave is not None else "no task is open"
        raise Refused(why, "the strategy is settled before a wave opens")
    data = _record(state, given, profiles, wave_topics(state))
    return [("panel_recorded", {"call": "wave", "wave": len(state.waves) + 1, **data})]


def _record(state: LoopState, given: dict, profiles: list | None, topics: list) -> dict:
    """What every panel holds; no recommendation claims more confidence than its expert may."""
    experts = _ranked(state, given["experts"], profiles, topics) if profiles else given["experts"]
    sure = {row["name"]: row["confidence"] for row in experts if "confidence" in row}
    rows = []
    for row in given["recommendations"]:
        by = {"by": row["by"]} if row.get("by") else {}
        most = sure.get(row.get("by", ""), max(sure.values(), default=9))
        least = min(row.get("confidence", 0), most)
        rows.append({"approach": row["approach"], "confidence": least, **by})
    return {
        "experts": experts,
        "recommendations": sorted(rows, key=lambda row: -row["confidence"]),
        **{name: given[name] for name in ("consensus", "fallback")},
        "dissent": given.get("dissent", ""),
        "sequential": given.get("sequential", False),
    }


def _ranked(state: LoopState, experts: list[dict], profiles: list, topics: list) -> list[dict]:
    """The experts, each with how sure it may be. Raises Refused for one that may not speak."""
    free = allowed(profiles, state)
    known = {profile.name: profile for profile in free}
    others = ", ".join(profile.name for profile in choose(free, topics, MOST))
    rows = []
    for row in experts:
        if row["name"] in blocklist(state):
            raise Refused(f"{row['name']} is on the blocklist", f"ask: {others}")
        value = confidence(known.get(row["name"]), topics)
        if standing(value) == "silent":
            raise Refused(f"{row['name'][:40]} has no profile: silent", f"ask: {others}")
        rows.append({**row, "confidence": value, "standing": standing(value)})
    return rows


def plain(text: str) -> str:
    """A text without what does not matter when two are compared."""
    return " ".join(text.lower().split()).strip(" .!?")


def advice(state: LoopState, task_id: str) -> dict | None:
    """The newest panel on a task, for the next attempt's prompt."""
    return next((row for row in reversed(state.panels) if row.get("task") == task_id), None)


def strategy(state: LoopState, wave: int) -> bool:
    """The newest panel on the strategy of a wave wants it one task at a time."""
    rows = [row for row in state.panels if (row.get("call"), row.get("wave")) == ("wave", wave)]
    return bool(rows and rows[-1].get("sequential"))
