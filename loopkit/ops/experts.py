"""Which experts are asked what: chosen from the profiles by the topics of the work."""

from __future__ import annotations

from ..core.journal import prose
from ..core.journal.state import LoopState
from ..core.review import panel, review
from ..store import place, profiles

LIGHT, THOROUGH = review.LIGHT_EXPERTS, review.THOROUGH_EXPERTS

#: An expert, the question that nobody before it is asked, how sure it may be.
Chosen = tuple[panel.Profile, str, int]


def chosen(state: LoopState, topics: list[str], count: int = panel.NORMAL) -> list[Chosen]:
    """The experts for these topics, of those that the project lets speak."""
    allowed = panel.allowed(profiles.read(place.plugin_root()), state)
    rows: list[Chosen] = []
    for expert in panel.choose(allowed, topics, count):
        taken, asks = [question for _, question, _ in rows], questions(expert)
        question = next((ask for ask in asks if ask not in taken), asks[0])
        rows.append((expert, question, panel.confidence(expert, topics)))
    return rows


def of_review(state: LoopState, bounds: tuple[int, int], wave: int | None = None) -> list[Chosen]:
    """The experts of a review; the more topics, the more of them. bounds: least and most · wave:
    whose tasks a light review is about, by default the newest."""
    if wave is None and bounds == LIGHT:
        wave = state.waves[-1].number if state.waves else None
    topics = panel.review_topics(state, wave)
    return chosen(state, topics, bounds[len(topics) >= bounds[1]])


def lines(state: LoopState, bounds: tuple[int, int], wave: int | None = None) -> list[str]:
    """One line for each expert of a review: role, confidence, question."""
    head = f"ask {bounds[0]} to {bounds[1]} experts, each with the question of the role:"
    return [head, *[line(*row) for row in of_review(state, bounds, wave)]]


def line(expert: panel.Profile, question: str, confidence: int | str) -> str:
    """`  api-designer (API designer), confidence 8: Can a caller …?`"""
    asked = prose.clean(question, 120)
    return f"  {expert.name} ({expert.title}), confidence {confidence}: {asked}"


def questions(expert: panel.Profile) -> list[str]:
    """What a role asks."""
    asks = expert.asks
    return [str(ask) for ask in asks] if isinstance(asks, (list, tuple)) and asks else [str(asks)]
