"""Panels: who is asked, how sure an expert may be, what a record must hold."""

from __future__ import annotations

import pytest

from loopkit.core.journal import stage
from loopkit.core.journal.errors import LoopError, Refused
from loopkit.core.plan import drafts
from loopkit.core.request import topics
from loopkit.core.review import panel
from loopkit.core.review.panel import Profile
from loopkit.core.steps import attempts, waves
from loopkit.store import profiles
from tests.core.judge import ROOT
from tests.core.kit import PANEL, SHAPE, Book, task


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
    ("value", "word"),
    [(0, "silent"), (2, "silent"), (3, "weak"), (5, "weak"), (6, "firm"), (9, "firm")],
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


EXPERTS = profiles.read(str(ROOT))


@pytest.mark.parametrize("named", [(), *((one,) for one in topics.TOPICS), ("auth", "api")])
@pytest.mark.parametrize("kind", stage.KINDS)
def test_tests_among_the_files_bring_a_tester(named: tuple, kind: str) -> None:
    ranked = topics.ranked(list(named), kind, ["app/a.py", "tests/test_a.py"])
    assert any("testing" in one.depth for one in panel.choose(EXPERTS, ranked))
    first = panel.choose(EXPERTS, ranked, 2)[0]
    assert not named or named[0] in first.depth, "the first topic has the first expert"


def test_what_each_call_is_about() -> None:
    book = Book().planned(task("a", files=["a.md"]), task("b", files=["tests/b.py"]))
    assert panel.clarify_topics(book.state) == ["requirements", "testing", "error"]
    assert panel.wave_topics(book.state)[:2] == ["concurrency", "simplicity"]
    assert panel.stuck_topics(book.state, book.state.tasks["T-001"]) == [
        *["debugging", "testing", "documentation", "error"]
    ]
    assert panel.review_topics(book.state, None)[-1] == "simplicity"
    book.wave()
    assert panel.review_topics(book.state, 1) == [
        *("testing", "documentation", "error", "simplicity")
    ]


@pytest.mark.parametrize(
    "named", [("api",), ("api", "documentation"), ("data",), ("data", "error"), ("types",)]
)
@pytest.mark.parametrize("wave", [1, None])
def test_every_view_of_a_review_has_something_to_look_at(named: tuple, wave: int | None) -> None:
    """A pure function was looked at by who knows integration and by who knows statistics, and by no
    tester though tests were written."""
    text = SHAPE.replace("criteria:", "aspects: testing, error\ncriteria:", 1)
    book = Book().shaped(text=text)
    book.state.scores["topics"] = list(named)
    book.do(drafts.submit, [task("a", files=["src/words.py"])])
    book.wave()
    work = {"status": "complete", "summary": "x", "files": ["src/words.py", "tests/test_words.py"]}
    book.line("task_coded", id="T-001", kind="implementation", **work)
    about = panel.review_topics(book.state, wave)
    assert "testing" in about[:2], "what was changed counts, not only what was declared"
    for count in (3, 4):
        chosen = panel.choose(EXPERTS, about, count)
        assert any("testing" in one.depth for one in chosen)
        assert {"integration-engineer", "statistician"}.isdisjoint(one.name for one in chosen)
        assert all(set(one.depth).intersection(about) for one in chosen)


# -- the record


@pytest.fixture
def stuck(executing: Book) -> Book:
    executing.do(attempts.failed, "T-001", "it says no", None)
    return executing


def test_a_panel_records_error_diagnoses_ranking_consensus_and_fallback(stuck: Book) -> None:
    given = {
        **PANEL,
        "recommendations": [{"approach": "b", "confidence": 3}, {"approach": "a", "confidence": 8}],
    }
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


def test_an_unknown_task(stuck: Book) -> None:
    with pytest.raises(Refused, match="no task T-009"):
        stuck.do(panel.recorded, "T-009", PANEL)


# -- experts are those of the profiles; what they may claim is computed

KNOWN = [
    profile("debugger", depth=("debugging",)),
    profile("tester", depth=("testing",), core=("debugging",)),
    profile("gardener", depth=("ui",)),
    profile("banned", depth=("debugging",)),
]


def asked(*names: str) -> dict:
    rows = [{"name": name, "question": f"{name}?", "diagnosis": "d"} for name in names]
    return {**PANEL, "experts": rows, "recommendations": [{"approach": "a", "confidence": 9}]}


def test_confidence_is_computed_and_caps_what_is_claimed(stuck: Book) -> None:
    given = asked("debugger", "gardener")
    given["recommendations"] = [
        {"approach": "by nobody", "confidence": 9},
        {"approach": "by one who knows nothing of it", "confidence": 9, "by": "gardener"},
        {"approach": "modest", "confidence": 2, "by": "debugger"},
    ]
    data = stuck.do(panel.recorded, "T-001", given, KNOWN)[0][1]
    assert [(one["confidence"], one["standing"]) for one in data["experts"]] == [
        (8, "firm"),
        (4, "weak"),
    ]
    assert [one["confidence"] for one in data["recommendations"]] == [8, 4, 2]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("debugger", "stranger"), "stranger has no profile: silent; ask: debugger"),
        (("debugger", "banned"), "banned is on the blocklist; ask: debugger, tester"),
    ],
)
def test_who_may_not_speak(names: tuple, words: str) -> None:
    book = Book(settings={"blocklist": ["banned"]}).planned(task("a"))
    book.wave()
    book.do(attempts.failed, "T-001", "no", None)
    with pytest.raises(Refused, match=words):
        book.do(panel.recorded, "T-001", asked(*names), KNOWN)
    assert "banned" not in [one.name for one in panel.allowed(KNOWN, book.state)]


def test_what_failed_is_not_advised_again(stuck: Book) -> None:
    stuck.do(panel.recorded, "T-001", PANEL)
    stuck.do(panel.recorded, "T-001", PANEL)  # the same failure: it may be written again
    stuck.do(waves.closed)
    stuck.wave()
    stuck.do(attempts.failed, "T-001", "again", None)
    with pytest.raises(Refused, match="this consensus stood before attempt 2, which failed"):
        stuck.do(panel.recorded, "T-001", {**PANEL, "consensus": "Use the  other path."})
    stuck.do(panel.recorded, "T-001", {**PANEL, "consensus": "something else", "dissent": "b: no"})
    assert panel.advice(stuck.state, "T-001")["dissent"] == "b: no"


def test_the_one_in_depth_comes_first() -> None:
    known = [
        profile("broad", core=("api",), current=("testing",)),
        profile("deep", depth=("testing",)),
    ]
    assert [one.name for one in panel.choose(known, ["api", "testing"])] == ["deep", "broad"]


# -- the other calls


def test_a_panel_on_a_dimension_gives_options() -> None:
    book = Book()
    options = [{"approach": f"reading {number}", "confidence": number} for number in range(3)]
    data = book.do(panel.clarified, "outcome", {**PANEL, "recommendations": options})[0][1]
    assert (data["call"], data["dimension"], len(data["recommendations"])) == (
        "clarify",
        "outcome",
        3,
    )
    with pytest.raises(LoopError, match="no dimension 'taste'"):
        book.do(panel.clarified, "taste", PANEL)
    for wrong in (options[:1], options * 2):
        with pytest.raises(Refused, match="option"):
            book.do(panel.clarified, "outcome", {**PANEL, "recommendations": wrong})
    with pytest.raises(Refused, match="belongs to stage intent"):
        Book().shaped().do(panel.clarified, "outcome", {**PANEL, "recommendations": options})


def test_a_panel_can_make_the_next_wave_sequential() -> None:
    book = Book().planned(task("a"), task("b"))
    book.do(panel.planned, {**PANEL, "sequential": True})
    book.wave()
    assert book.state.wave.tasks == ("T-001",) and book.state.wave.sequential
    with pytest.raises(Refused, match="wave 1 is open"):
        book.do(panel.planned, PANEL)
    book.verify("T-001")
    book.do(waves.closed)
    book.wave()
    assert not book.state.wave.sequential  # it was about that wave only


def test_no_strategy_without_tasks() -> None:
    with pytest.raises(Refused, match="no task is open"):
        Book().shaped().do(panel.planned, PANEL)
