"""Topics and kinds of work: closed lists; what kind and files add to the topics that were chosen."""

from __future__ import annotations

import pytest

from loopkit.core.journal import stage
from loopkit.core.journal.errors import UsageFault
from loopkit.core.request import intake, topics
from loopkit.core.review import gate
from tests.core.kit import Book

SCORES = {"outcome": 2, "scope": 2, "constraints": 2, "success": 2, "done": 2}


def test_a_word_of_the_list_is_taken_once_and_another_is_refused_with_the_list() -> None:
    assert topics.topics(" API, auth,,api") == ["api", "auth"]
    with pytest.raises(UsageFault, match="unknown topic 'login'; use data, api, .*, requirements"):
        topics.topics("api, login")
    with pytest.raises(UsageFault, match="unknown kind of work 'feature'; use build, debug, ref"):
        topics.kind("feature")
    assert list(gate.POINTS) == list(stage.KINDS)


def test_they_are_given_with_the_scores_and_stand_until_given_again() -> None:
    book = Book()
    book.score(0, 0, 0, 0, 0)
    assert (topics.of_loop(book.state), topics.kind_of(book.state)) == ([], None)
    book.do(intake.scored, {"scope": 1, "topics": "ui, api"})
    book.do(intake.scored, {"outcome": 1, "kind": "debug"})
    assert (topics.of_loop(book.state), topics.kind_of(book.state)) == (["ui", "api"], "debug")
    with pytest.raises(UsageFault, match="unknown topic"):
        intake.scored(book.state, {**SCORES, "topics": "beauty"})


def test_a_loop_without_them_has_the_aspects_of_its_shape() -> None:
    book = Book()
    values = {"values": SCORES, "spec": 10, "fit": 65, "shape": "tool"}  # as journalled before
    book.line("scored", **values)
    book.line("shape_saved", criteria=[], aspects=["ui", "error"])
    assert (topics.of_loop(book.state), topics.kind_of(book.state)) == (["ui", "error"], None)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("tests/test_a.py", ["testing"]),
        ("pool_test.go", ["testing"]),
        ("src/a.spec.ts", ["testing"]),
        ("src/latest.py", []),
        ("docs/Guide.MD", ["documentation"]),
        ("db/migrations/1.sql", ["data", "migration"]),
        ("web/Button.tsx", ["ui"]),
        (".github/workflows/ci.yml", ["deployment"]),
        ("package-lock.json", ["dependencies"]),
        ("requirements-dev.txt", ["dependencies"]),
        ("blocking.py", []),
    ],
)
def test_topics_of_a_file(path: str, found: list) -> None:
    assert topics.ranked([], None, [path]) == found


def test_the_order_of_topics() -> None:
    ranked = topics.ranked(["api", "auth"], "debug", ["tests/a.py", "a.md"], "concurrency")
    assert ranked == ["concurrency", "api", "debugging", "testing", "documentation", "auth"]
    assert topics.ranked(["testing", "api"], "build", ["tests/a.py"]) == ["testing", "api"]
