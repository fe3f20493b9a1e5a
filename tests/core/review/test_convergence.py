"""Reviews that do not converge: going back, the same again and growth are recognised, decided
once, not raised again."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit.core.journal.errors import Refused
from loopkit.core.plan import drafts, work
from loopkit.core.review import convergence, review
from loopkit.core.steps import waves
from tests.core.kit import Book


def finding(issue: str, guidance: str = "", severity: str = "WARNING", **fields: Any) -> dict:
    row = {"severity": severity, "issue": issue, "guidance": guidance, **fields}
    if severity == "BLOCKER":
        row.setdefault("verify", "ls")
    return row


def fix(book: Book) -> None:
    """Work off what the review asked."""
    while book.state.open:
        book.wave()
        for name in list(book.state.running):
            book.verify(name)
        book.do(waves.closed)


def rounds(*findings: dict, **fields: Any) -> Book:
    """One thorough review for each finding; blockers are fixed, warnings approved."""
    book = Book().worked()
    for row in findings:
        book.do(review.thorough, {"experts": ["a", "b", "c"], "findings": [row], **fields})
        fix(book)
        for one in list(book.state.findings.values()):
            if one.severity == "WARNING" and one.resolution is None:
                book.do(review.resolved, one.id, "approve", "", "")
    return book


def how(book: Book, name: str) -> str | None:
    return (book.state.findings[name].resolution or {}).get("how")


# -- a reversal of our own change

TABS = finding("tabs at a.py:3", "use spaces", category="style")
SPACES = finding("spaces at a.py:4", "use tabs", category="style")


def blocker(row: dict, **fields: Any) -> dict:
    return {**row, "severity": "BLOCKER", "verify": "ls", **fields}


def test_tabs_then_spaces_is_decided_once_and_not_changed_back() -> None:  # case I1
    book = rounds(blocker(TABS))
    with pytest.raises(
        Refused, match=r"F-002 is at a.py:4, where F-001 \(style\) was fixed; say reverses: F-001"
    ):
        book.review([blocker(SPACES)])
    book.review([blocker(SPACES, reverses="f-001")])
    assert [one.kind for one in book.state.tasks.values()] == ["work", "remediation"], (
        "no task to change it back"
    )
    assert (how(book, "F-002"), review.passed(book.state)) == ("decided", True)
    (decision,) = book.state.decisions
    assert (decision["number"], decision["kind"], decision["findings"]) == (
        *(2, "reversal"),
        ["F-001", "F-002"],
    )
    assert decision["alternatives"] and decision["source"] == "review"
    for row in (TABS, SPACES, finding("z.py:9 hm", reverses="F-001")):
        book.review([blocker(row)])
        assert review.passed(book.state)
    assert len(book.state.decisions) == 1 and book.state.session.stage == "review"


def test_a_warning_that_takes_back_what_was_approved_is_decided() -> None:
    book = rounds(TABS, {**SPACES, "reverses": "F-001"})
    assert how(book, "F-002") == "decided" and "approved" in book.state.decisions[0]["context"]


def test_the_same_again_is_fixed_again_and_decided_the_third_time() -> None:
    book = rounds(blocker(TABS), blocker(TABS, repeats="F-001"))
    assert how(book, "F-002") is None and len(book.state.tasks) == 3
    book.review([blocker(TABS, repeats="F-002")])
    assert how(book, "F-003") == "decided" and len(book.state.tasks) == 3
    assert book.state.decisions[0]["findings"] == ["F-002", "F-003"]


@pytest.mark.parametrize(
    "row",
    [
        blocker(TABS, repeats="none"),
        blocker(TABS, category="tests"),
        blocker(TABS, issue="tabs at a.py:9"),
        blocker(TABS, issue="tabs at b.py:3"),
        blocker(TABS, issue="tabs"),
        blocker(TABS, breaks=["C1"]),
        blocker(TABS, breaks=["C1"], reverses="F-001"),
        TABS,
    ],
)
def test_what_is_something_else_needs_no_name(row: dict) -> None:
    book = rounds(blocker(TABS))
    book.review([row])
    assert how(book, "F-002") is None and not book.state.decisions


def test_what_was_not_done_cannot_be_taken_back_and_a_name_must_be_known() -> None:
    book = Book().worked()
    book.review([TABS])
    book.do(review.resolved, "F-001", "skip", "later", "")
    with pytest.raises(Refused, match="reverses of finding 1: F-001 has not been fixed"):
        book.review([{**SPACES, "reverses": "F-001"}])
    for key in ("reverses", "repeats"):
        with pytest.raises(Refused, match=f"{key} of finding 1: there is no F-009; there are: F-0"):
            book.review([{**SPACES, key: "F-009"}])


# -- what the person has settled


def settled(row: dict, word: str) -> Book:
    """A finding of the first review, settled by the person without work."""
    book = Book().worked()
    book.review([row])
    if book.state.session.status == "paused":
        book.line("resumed")
    book.do(review.resolved, "F-001", word, "known", "")
    for task in list(book.state.open):
        book.do(drafts.removed, task)
    return book


WAIVED = blocker(finding("a.py:30 no lock", category="correctness"))


@pytest.mark.parametrize(
    ("old", "word", "new"),
    [
        (WAIVED, "waive", WAIVED),
        (WAIVED, "waive", {**WAIVED, "issue": "a.py:33 a race", "severity": "WARNING"}),
        (WAIVED, "waive", blocker(finding("no lock"), repeats="F-001")),
        (TABS, "approve", TABS),
        (TABS, "skip", SPACES),
        (TABS, "discuss", TABS),
        (
            blocker(finding("a.py drops it"), breaks=["C1"]),
            "waive",
            blocker(finding("a.py loses it"), breaks=["C1"]),
        ),
    ],
)
def test_it_does_not_come_back(old: dict, word: str, new: dict) -> None:
    book = settled(old, word)
    book.review([new])
    assert how(book, "F-002") == "repeats" and review.passed(book.state)
    resolution = book.state.findings["F-002"].resolution
    assert resolution is not None and resolution["text"] == f"F-001, settled ({word})"
    book.review([{**new, "repeats": "F-002"}])
    assert how(book, "F-003") == "repeats" and len(book.state.tasks) == 1


@pytest.mark.parametrize(
    ("old", "word", "new"),
    [
        (TABS, "skip", blocker(TABS)),
        (WAIVED, "waive", {**WAIVED, "breaks": ["C1"]}),
        (WAIVED, "waive", {**WAIVED, "issue": "a.py:40 no lock"}),
        (WAIVED, "waive", {**WAIVED, "category": "security"}),
        (WAIVED, "waive", {**WAIVED, "repeats": "none"}),
        ({**WAIVED, "category": "other"}, "waive", {**WAIVED, "category": "other"}),
        ({**WAIVED, "breaks": ["M1"]}, "waive", {**WAIVED, "breaks": ["M1"]}),
    ],
)
def test_what_is_graver_or_another_point_blocks(old: dict, word: str, new: dict) -> None:
    book = settled(old, word)
    book.review([new])
    assert how(book, "F-002") is None and not review.passed(book.state)


@pytest.mark.parametrize("name", ["C1", "M1"])
def test_what_changes_the_outcome_blocks_all_the_same(name: str) -> None:
    book = rounds(blocker(TABS))
    book.review([blocker(SPACES, reverses="F-001", breaks=[name])])
    assert not book.state.decisions and book.state.tasks["T-003"].kind == "remediation"


# -- the same category for the third round


def test_the_same_category_in_the_third_round() -> None:
    kinds = [
        finding(f"{where} badly named", severity="BLOCKER", category="naming")
        for where in ("a.py:1", "b.py:2", "c.py:3", "d.py:4")
    ]
    book = rounds(*kinds)
    assert [how(book, f"F-00{number}") for number in (1, 2, 3, 4)] == [
        None,
        None,
        "decided",
        "decided",
    ]
    (decision,) = book.state.decisions
    assert (decision["kind"], decision["category"]) == ("category", "naming")
    assert len(book.state.tasks) == 3
    book.review([finding("e.py:5 wrong result", severity="BLOCKER")])
    assert not review.passed(book.state), "another category blocks"


@pytest.mark.parametrize(
    "second",
    [
        finding("b.py:2 slow", category="performance"),
        finding("b.py:2 badly named", severity="SUGGESTION", category="naming"),
        None,
    ],
)
def test_running_means_round_after_round(second: dict | None) -> None:
    book = rounds(finding("a.py:1 badly named", category="naming"))
    book.review([second] if second else [])
    for one in list(book.state.findings.values())[1:]:
        book.do(review.resolved, one.id, "approve", "", "")
    book.review([finding("c.py:3 badly named", category="naming")])
    assert not book.state.decisions


def test_findings_that_nobody_can_classify_are_no_category() -> None:
    book = rounds(*[finding(f"{name}.py:1 hm") for name in "abcd"])
    assert not book.state.decisions


# -- growth without gain


def round_of(size: int, score: int | None = 7, goals: tuple = (("C1", "x"),)) -> dict:
    return {"size": size, "score": score, "goals": goals}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([round_of(100), round_of(110), round_of(121)], True),
        ([round_of(100), round_of(120), round_of(144), round_of(173)], True),
        ([round_of(100, None), round_of(120, None), round_of(144, None)], True),
        ([round_of(100), round_of(109), round_of(121)], False),
        ([round_of(100), round_of(120)], False),
        ([round_of(100, 7), round_of(120, 7), round_of(144, 8)], False),
        ([round_of(100), round_of(120), round_of(144, goals=(("C1", "y"),))], False),
        ([round_of(0), round_of(120), round_of(144)], False),
        ([], False),
    ],
)
def test_growth_without_gain(given: list, wanted: bool) -> None:
    assert convergence.growing(given) is wanted


def grown(book: Book, size: int, *findings: dict, score: int | None = 7) -> None:
    given = {"experts": ["a", "b", "c"], "findings": list(findings), "score": score}
    book.do(review.thorough, given, size)


def test_growth_ends_the_review_and_only_the_outcome_blocks() -> None:  # case I4
    book = Book().worked()
    for number, size in enumerate((1000, 1200)):
        grown(book, size, finding(f"SHAPE.md:{number} hm"))
        book.do(review.resolved, f"F-{number + 1:03d}", "approve", "", "")
    grown(
        book,
        1440,
        finding("a.py:1 hm", severity="BLOCKER"),
        finding("b.py:1 so so"),
        finding("c", severity="SUGGESTION"),
    )
    assert [how(book, f"F-00{number}") for number in (3, 4, 5)] == ["decided", "decided", None]
    assert review.passed(book.state) and len(book.state.tasks) == 1
    assert [one["kind"] for one in book.state.decisions] == ["growth"]
    grown(book, 1440, finding("again"))
    assert review.passed(book.state) and len(book.state.decisions) == 1
    grown(book, 1440, finding("the limit is off by one", severity="BLOCKER", breaks=["C1"]))
    assert not review.passed(book.state) and len(book.state.tasks) == 2


def test_growth_with_a_better_score_is_gain() -> None:
    book = Book().worked()
    for number, size in enumerate((1000, 1200, 1440)):
        grown(book, size, finding(f"hm {number}"), score=5 + number)
        book.do(review.resolved, f"F-{number + 1:03d}", "approve", "", "")
    assert not book.state.decisions


def test_old_journals_fold_without_the_new_fields() -> None:
    book = Book().worked()
    row = {"id": "F-001", "severity": "WARNING", "issue": "x", "guidance": "", "violates": []}
    book.line("review_thorough", round=1, experts=["a", "b", "c"], findings=[row])
    assert (
        book.state.findings["F-001"].category == "other"
        and book.state.review_rounds[0]["size"] == 0
    )
    book.do(review.resolved, "F-001", "task", "", "ls")
    assert work.find(book.state, "T-002").kind == "remediation"
