"""Aspects: two to five, chosen by the request, forced pairs included; the kind of work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.evidence import proofs
from loopkit.core.request import aspects, topics
from tests.plugin.bundle import PROFILES, split

ALL = (
    "data api ui auth performance error testing migration integration deployment observability "
    "documentation"
).split()


def test_there_are_twelve() -> None:
    assert list(aspects.ASPECTS) == ALL == list(topics.TOPICS[: topics.ASPECT_COUNT])


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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Add rate limiting to the API", ["api", "documentation"]),
        ("Make it better", ["testing", "error"]),
        ("Test it better", ["testing", "error"]),
        ("Log in with a password", ["auth", "testing"]),
        ("Move the database to Postgres: migrate the tables", ["data", "migration", "deployment"]),
        ("Speed up the page; the page is slow on the phone", ["performance", "ui"]),
        # the pair does not fit any more: what would be the sixth is left out with the one that
        # brings it
        ("data page slow error migrate api", ["data", "ui", "performance", "error"]),
        ("auth api migrate", ["auth", "testing", "api", "documentation"]),
    ],
)
def test_chosen_by_the_request(text: str, found: list) -> None:
    assert aspects.chosen(text) == found


@given(
    some.lists(some.sampled_from([*ALL, "login", "slow", "migrate", "x"]), max_size=20).map(
        " ".join
    )
)
def test_two_to_five_with_their_pairs_and_always_the_same(text: str) -> None:
    found = aspects.chosen(text)
    assert aspects.faults(found) == []
    assert aspects.chosen(text) == found


def test_faults_of_a_choice() -> None:
    assert aspects.faults(["data", "ui"]) == []
    assert aspects.faults(["data", "beauty"])[0].startswith("unknown aspect 'beauty'")
    assert "an aspect stands twice" in aspects.faults(["data", "data"])
    assert "6 aspects instead of 2 to 5" in aspects.faults(
        ["data", "ui", "error", "testing", "performance", "data"]
    )
    assert aspects.faults(["auth", "ui"]) == ["auth brings testing"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Add a button", "build"),
        ("", "build"),
        ("Fix the crash when the file is empty", "debug"),
        ("Why does the job hang?", "debug"),
        ("Rename utils to text; fix its imports", "refactor"),
        ("Extract the parser", "refactor"),
        ("Behebe den Absturz", "debug"),
        ("Add a prefix", "build"),
        ("Add a button to move items between lists", "build"),
        ("Build a CSV importer that skips wrong rows", "build"),
        ("Write a leak detector", "build"),
        ("Die Anmeldung ist kaputt", "debug"),
        ("ログインのバグを直す", "debug"),
    ],
)
def test_kind_of_work(text: str, kind: str) -> None:
    assert aspects.kind_of(text) == kind
