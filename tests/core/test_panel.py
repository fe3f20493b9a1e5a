"""Panels: who is asked, how sure an expert may be, what a record must hold."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit.core import panel, work
from loopkit.core.errors import LoopError, Refused
from loopkit.core.panel import Profile
from tests.core.kit import PANEL, Book


def profile(name: str, depth: tuple = (), core: tuple = (), current: tuple = ()) -> Profile:
    return Profile(name, name.title(), "", "?", "", "", list(depth), list(core), list(current))


@pytest.mark.parametrize(
    ("depth", "core", "current", "value"),
    [
        (("api",), (), (), 8),
        ((), ("api",), (), 7),
        ((), (), ("api",), 7),
        (("api",), ("api",), (), 9),
        (("api",), ("api",), ("api",), 9),  # at most 9
        ((), (), (), 4),
        (("ui",), (), (), 4),
        (("api", "ui"), (), (), 8),
    ],
)
def test_confidence(depth: tuple, core: tuple, current: tuple, value: int) -> None:
    assert panel.confidence(profile("x", depth, core, current), ["api"]) == value


def test_confidence_without_a_profile() -> None:
    assert panel.confidence(None, ["api"]) == 2


@pytest.mark.parametrize(
    ("value", "word"), [(0, "silent"), (2, "silent"), (3, "weak"), (5, "weak"), (6, "firm"), (9, "firm")]
)
def test_standing(value: int, word: str) -> None:
    assert panel.standing(value) == word


def test_the_surest_are_chosen_and_each_adds_a_topic() -> None:
    known = [
        profile("a", depth=("api",)),
        profile("b", depth=("api",)),
        profile("c", core=("testing",)),
        profile("d", depth=("ui",)),
    ]
    chosen = panel.choose(known, ["api", "testing"])
    assert [one.name for one in chosen] == ["a", "c", "b"]
    assert len(panel.choose(known, ["api"], 2)) == 2


def test_there_may_be_fewer_than_wanted() -> None:
    assert panel.choose([], ["api"]) == []


def test_topics_of_a_text() -> None:
    assert panel.topics_in("The API is slow in testing", "debugging") == ["debugging", "api", "performance", "testing"]


# -- the record


@pytest.fixture
def stuck(executing: Book) -> Book:
    executing.do(work.failed, "T-001", "it says no", None)
    return executing


def test_a_panel_records_error_diagnoses_ranking_consensus_and_fallback(stuck: Book) -> None:
    given = {**PANEL, "recommendations": [{"approach": "b", "confidence": 3}, {"approach": "a", "confidence": 8}]}
    data = stuck.do(panel.recorded, "T-001", given)[0][1]
    assert (data["task"], data["attempt"], data["error"]) == ("T-001", 1, "it says no")
    assert [one["approach"] for one in data["recommendations"]] == ["a", "b"]
    assert [one["diagnosis"] for one in data["experts"]] == ["the path", "nothing"]
    assert (data["consensus"], data["fallback"]) == ("use the other path", "ask for the old one")
    assert not stuck.state.tasks["T-001"].panel_due


def test_the_newest_advice_counts(stuck: Book) -> None:
    stuck.panel("T-001")
    stuck.do(panel.recorded, "T-001", {**PANEL, "consensus": "newer"})
    assert panel.advice(stuck.state, "T-001")["consensus"] == "newer"
    assert panel.advice(stuck.state, "T-002") is None


def experts(count: int) -> list:
    return [{"name": str(number), "question": f"q{number}", "diagnosis": "d"} for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5])
def test_two_to_four_experts(stuck: Book, count: int) -> None:
    given = {**PANEL, "experts": experts(count)}
    if 2 <= count <= 4:
        panel.recorded(stuck.state, "T-001", given)
    else:
        with pytest.raises(Refused, match=f"{count} expert"):
            panel.recorded(stuck.state, "T-001", given)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"experts": "many"}, "experts is no list"),
        ({"experts": [1, 2]}, "experts is no list"),
        ({"experts": [*experts(1), {"name": "x", "question": "y"}]}, "expert 2 has no diagnosis"),
        ({"experts": [*experts(1), {"name": "x", "diagnosis": "y"}]}, "expert 2 has no question"),
        ({"experts": [*experts(1), {**experts(1)[0], "question": " Q0 "}]}, "the same question"),
        ({"recommendations": []}, "recommendations is missing"),
        ({"recommendations": [{"confidence": 3}]}, "recommendations is missing"),
        ({"recommendations": [{"approach": "a", "confidence": 10}]}, "confidence is 10"),
        ({"recommendations": [{"approach": "a", "confidence": "high"}]}, "confidence is 'high'"),
        ({"consensus": " "}, "consensus is missing"),
        ({"fallback": ""}, "fallback is missing"),
    ],
)
def test_what_a_record_must_hold(stuck: Book, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(LoopError) as caught:
        panel.recorded(stuck.state, "T-001", {**PANEL, **changes})
    assert words in str(caught.value)


def test_an_unknown_task(stuck: Book) -> None:
    with pytest.raises(Refused, match="no task T-009"):
        panel.recorded(stuck.state, "T-009", PANEL)


def test_a_topic_is_named_by_a_whole_word() -> None:
    assert panel.topics_in("Build a rapid, required database", "debugging") == ["debugging"]
    assert panel.topics_in("The login page of the APIs is slow") == ["api", "ui", "auth", "performance"]
