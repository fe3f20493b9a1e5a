"""Topics: which a text names, in whatever language it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.request import topics


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The API is slow in testing", ["api", "performance", "testing"]),
        ("Build a rapid, required boat", []),
        ("The login page of the APIs is slow", ["api", "ui", "auth", "performance"]),
        ("Log in with a passkey", ["auth"]),
        ("Log every failed call", ["observability"]),
        ("Authentication, authorised users", ["auth"]),
        ("migrating the DB", ["data", "migration"]),
        ("Füge dem Formular eine Schnittstelle hinzu, Datenbank inklusive", ["data", "api"]),
        ("Migrer la base de données", ["data", "migration"]),
        ("ログインを速く、データベースも", ["data", "auth"]),
        ("a non-blocking lock-file", ["dependencies", "concurrency"]),
        ("", []),
    ],
)
def test_topics_of_a_text(text: str, found: list) -> None:
    assert set(topics.topics_in(text)) == set(found)


def test_what_is_always_meant_comes_first_and_once() -> None:
    assert topics.topics_in("an API test", "testing", "debugging") == [
        "testing",
        "debugging",
        "api",
    ]


def test_mentions_count_and_place_words() -> None:
    assert topics.mentions("Test the page, then test the API") == {
        "api": [6],
        "ui": [2],
        "testing": [0, 4],
    }


@given(some.text(max_size=200))
def test_any_text_has_an_answer(text: str) -> None:
    assert set(topics.topics_in(text)) <= set(topics.TOPICS)
    assert topics.topics_in(text) == topics.topics_in(text)
