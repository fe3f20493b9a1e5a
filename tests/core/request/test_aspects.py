"""Aspects: two to five, chosen by the topics, forced pairs included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.evidence import proofs
from loopkit.core.journal import stage
from loopkit.core.request import aspects, intake, topics
from tests.core.kit import SHAPE, Book
from tests.plugin.bundle import PROFILES, split

ALL = (
    "data api ui auth performance error testing migration integration deployment observability "
    "documentation"
).split()


def test_there_are_twelve() -> None:
    assert list(aspects.ASPECTS) == ALL == list(topics.TOPICS[: len(ALL)])


def test_the_forced_pairs() -> None:
    pairs = {name: one.brings for name, one in aspects.ASPECTS.items() if one.brings}
    assert pairs == {"auth": "testing", "api": "documentation", "migration": "deployment"}


def test_conflicts_are_settled_in_this_order() -> None:
    assert aspects.CONFLICTS == ("simplicity", "changeability", "fewer dependencies")


@pytest.mark.parametrize("name", ALL)
def test_each_has_an_anchor_that_knows_it_in_depth_and_a_proof(name: str) -> None:
    one = aspects.ASPECTS[name]
    profiles = {path.stem: split(path)[0] for path in PROFILES}
    assert name in profiles[one.anchor]["depth"]
    assert one.proof in proofs.TYPES and one.proof not in proofs.UNSEEN


def chosen(*named: str) -> list[str]:
    book = Book()
    book.do(intake.scored, {**dict.fromkeys(stage.DIMENSIONS, 2), "topics": ",".join(named)})
    return aspects.chosen(book.state)


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (("api",), ["api", "documentation"]),
        ((), ["testing", "error"]),
        (("testing", "cost"), ["testing", "error"]),
        (("migration", "data"), ["migration", "deployment", "data"]),
        (("performance", "ui"), ["performance", "ui"]),
        # the pair does not fit any more: what would be the sixth is left out with the one that
        # brings it
        (
            ("data", "ui", "error", "integration", "migration"),
            ["data", "ui", "error", "integration"],
        ),
        (("auth", "api", "migration"), ["auth", "testing", "api", "documentation"]),
    ],
)
def test_chosen_by_the_topics(named: tuple, found: list) -> None:
    assert chosen(*named) == found


@given(some.lists(some.sampled_from(topics.TOPICS), max_size=8))
def test_two_to_five_with_their_pairs(named: list) -> None:
    assert aspects.faults(chosen(*named)) == []


def test_those_of_the_shape_stand() -> None:
    book = Book().shaped(text=SHAPE.replace("criteria:", "aspects: data, ui\ncriteria:", 1))
    assert aspects.chosen(book.state) == ["data", "ui"]
    book.do(intake.shaped, SHAPE)
    assert book.state.aspects == ["data", "ui"]


def test_faults_of_a_choice() -> None:
    assert aspects.faults(["data", "ui"]) == []
    assert aspects.faults(["data", "beauty"])[0].startswith("unknown aspect 'beauty'")
    assert "an aspect stands twice" in aspects.faults(["data", "data"])
    assert "6 aspects instead of 2 to 5" in aspects.faults(
        ["data", "ui", "error", "testing", "performance", "data"]
    )
    assert aspects.faults(["auth", "ui"]) == ["auth brings testing"]
