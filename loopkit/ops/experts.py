"""Whom a review asks what: chosen from the profiles by the topics of the work."""

from __future__ import annotations

from ..core.journal import prose
from ..core.journal import task as tasks
from ..core.journal.state import LoopState
from ..core.review import panel, review
from ..store import place, profiles

LIGHT, THOROUGH = review.LIGHT_EXPERTS, review.THOROUGH_EXPERTS


def chosen(
    state: LoopState, bounds: tuple[int, int], wave: int | None = None
) -> list[tuple[panel.Profile, str, int]]:
    """(profile, question, confidence) of each expert; the more topics, the more experts."""
    topics = panel.review_topics(state, wave)
    free = panel.allowed(profiles.read(place.plugin_root()), state)
    count = bounds[1] if len(topics) >= bounds[1] else bounds[0]
    rows: list[tuple[panel.Profile, str, int]] = []
    for one in panel.choose(free, topics, count):
        taken = [question for _, question, _ in rows]
        asks = [ask for ask in questions(one) if ask not in taken] or questions(one)
        rows.append((one, asks[0], panel.confidence(one, topics)))
    return rows


def lines(state: LoopState, bounds: tuple[int, int], wave: int | None = None) -> list[str]:
    """One line for each expert of a review: role, confidence, question. `bounds` are the least and
    most of them.

    wave: whose tasks a light review is about; the newest where none is given.
    """
    if wave is None and bounds == LIGHT:
        wave = state.waves[-1].number if state.waves else None
    head = f"ask {bounds[0]} to {bounds[1]} experts, each with the question of the role:"
    return [head, *[line(*row) for row in chosen(state, bounds, wave)]]


def line(one: panel.Profile, question: str, confidence: int) -> str:
    """`  api-designer (API designer), confidence 8: Can a caller …?`"""
    return f"  {one.name} ({one.title}), confidence {confidence}: {prose.clean(question, 120)}"


def questions(profile: panel.Profile) -> list[str]:
    """What a role asks."""
    asks = profile.asks
    return [str(one) for one in asks] if isinstance(asks, (list, tuple)) and asks else [str(asks)]


def files(state: LoopState) -> list[str]:
    """The files of the completed tasks, newest task first, each once."""
    done = [task for task in reversed(list(state.tasks.values())) if task.status == tasks.COMPLETED]
    return list(dict.fromkeys(path for task in done for path in task.files))
