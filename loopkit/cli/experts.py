"""Whom a review asks what: chosen from the profiles by the topics of the work."""

from __future__ import annotations

from ..core import panel, review
from ..core.state import LoopState
from ..store import place, profiles


def lines(state: LoopState, bounds: tuple[int, int]) -> list[str]:
    """One line for each expert of a review, role and question; `bounds` are the least and most of them."""
    said = state.text + " " + " ".join(task.subject for task in list(state.tasks.values())[:50])
    chosen = panel.choose(profiles.read(place.plugin_root()), panel.topics_in(said, "testing", "simplicity"), bounds[1])
    head = f"ask {bounds[0]} to {bounds[1]} experts, each with the question of the role:"
    return [head, *[f"  {one.name} ({one.title}): {question(one)}" for one in chosen]]


def question(profile: panel.Profile) -> str:
    """The first question a role asks."""
    asks = profile.asks
    return str(asks[0]) if isinstance(asks, (list, tuple)) and asks else str(asks)


LIGHT, THOROUGH = review.LIGHT_EXPERTS, review.THOROUGH_EXPERTS
