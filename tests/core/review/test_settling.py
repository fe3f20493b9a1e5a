"""Reviews that do not settle: going back, the same again and growth are recognised, decided once,
not raised again."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit.core.journal.errors import Refused, UsageFault
from loopkit.core.plan import work
from loopkit.core.review import review, settling
from loopkit.core.steps import waves
from tests.core.kit import Book


def finding(issue: str, guidance: str = "", severity: str = "WARNING", **fields: Any) -> dict:
    row = {"severity": severity, "issue": issue, "guidance": guidance, **fields}
    if severity == "BLOCKER":
        row.setdefault("verify", "ls")
    return row


def mend(book: Book) -> None:
    """Work off what the review asked."""
    while book.state.open:
        book.wave()
        for name in list(book.state.running):
            book.verify(name)
        book.do(waves.closed)


def rounds(*findings: dict, **fields: Any) -> Book:
    """One thorough review for each finding; blockers are mended, warnings approved."""
    book = Book().worked()
    for row in findings:
        book.do(review.thorough, {"experts": ["a", "b", "c"], "findings": [row], **fields})
        mend(book)
        for one in list(book.state.findings.values()):
            if one.severity == "WARNING" and one.resolution is None:
                book.do(review.resolved, one.id, "approve", "", "")
    return book


def how(book: Book, name: str) -> str | None:
    return (book.state.findings[name].resolution or {}).get("how")


# -- a reversal of our own change


def test_tabs_then_spaces_is_decided_once_and_not_changed_back() -> None:  # case I1
    book = rounds(
        finding("tabs at a.py:3", severity="BLOCKER"),
        finding("spaces at a.py:3", severity="BLOCKER"),
    )
    assert [one.kind for one in book.state.tasks.values()] == ["work", "remediation"], (
        "no task to change it back"
    )
    assert (how(book, "F-002"), review.passed(book.state)) == ("decided", True)
    (decision,) = book.state.decisions
    assert (decision["number"], decision["kind"], decision["findings"]) == (
        2,
        "reversal",
        ["F-001", "F-002"],
    )
    assert decision["alternatives"] and decision["source"] == "review"
    for issue in ("tabs at a.py:3", "spaces at a.py:4"):
        book.review([finding(issue, severity="BLOCKER")])
        assert review.passed(book.state)
    assert len(book.state.decisions) == 1 and book.state.session.stage == "review"


OLD = ("tabs in a.py:3", "use spaces")
BACK = [
    (OLD, ("a.py:3 is indented with spaces", "use tabs, as the rest of the project")),
    (
        ("a.py:10 the helper is repeated", "extract the helper"),
        ("a.py:12 one helper for one call", "inline the helper"),
    ),
    (
        ("a.py:3 no docstring", "add a docstring"),
        ("a.py:3 the docstring says nothing", "remove the docstring"),
    ),
    (
        ("a.py:3 blocking read", "read it asynchronously"),
        ("a.py:5 async for one file", "read it synchronously"),
    ),
    (
        ("a.py:3 the parser knows the printer", "split parser and printer into two modules"),
        ("a.py:3 two modules for twenty lines", "merge parser and printer"),
    ),
    (
        ("a.py:3 lookups are slow", "keep results in a module-level dictionary"),
        ("a.py:4 a module-level dictionary of results is overkill", "drop it"),
    ),
    (
        ("a.py the flag is public", "make the flag private"),
        ("a.py the flag is private", "make the flag public"),
    ),
]


@pytest.mark.parametrize(("old", "new"), BACK)
@pytest.mark.parametrize("severity", ["WARNING", "BLOCKER"])
def test_the_way_back(old: tuple, new: tuple, severity: str) -> None:
    book = rounds(finding(*old, severity=severity), finding(*new, severity=severity))
    assert how(book, "F-002") == "decided"
    assert len(book.state.tasks) == (2 if severity == "BLOCKER" else 1)


ON = [
    (OLD, ("tabs are still in a.py:4", "use spaces there too")),
    (OLD, ("a.py:3 tabs", "spaces, please")),
    (OLD, ("a.py:90 spaces in the table", "use tabs")),
    (OLD, ("b.py:3 spaces", "use tabs")),
    (OLD, ("spaces somewhere", "use tabs")),
    (("a.py:3 no docstring", "add a docstring"), ("a.py:3 no type hints", "add type hints")),
    (
        ("a.py:3 no docstring", "add a docstring"),
        ("a.py:3 the debug print is needless", "remove the debug print"),
    ),
    (
        ("a.py:3 the docstring is short", "say units in the docstring"),
        ("a.py:3 the docstring lacks units", "add units"),
    ),
    (
        ("a.py:3 key is a header", "use the address of the connection"),
        ("a.py:3 IPv6 address crashes it", "parse it"),
    ),
    (
        ("a.py:3 lookups are slow", "cache the lookups"),
        ("a.py:3 the cached lookups never expire", "expire them"),
    ),
]


@pytest.mark.parametrize(("old", "new"), ON)
def test_what_is_no_way_back(old: tuple, new: tuple) -> None:
    book = Book().worked()
    book.review([finding(*old)])
    book.do(review.resolved, "F-001", "approve", "", "")
    book.review([finding(*new)])
    assert how(book, "F-002") is None and not book.state.decisions


def test_what_nobody_did_cannot_be_taken_back() -> None:
    book = Book().worked()
    book.review([finding(*OLD)])
    book.do(review.resolved, "F-001", "skip", "later", "")
    book.review([finding("spaces in a.py:3", "use tabs")])
    assert not book.state.decisions


def test_a_finding_that_says_so_itself() -> None:
    book = rounds(finding("a.py:3 unclear", "say more"))
    book.review([finding("z.py: now it is long", "say less", reverses="f-001")])
    assert how(book, "F-002") == "decided" and book.state.decisions[0]["findings"] == [
        "F-001",
        "F-002",
    ]
    with pytest.raises(Refused, match="there is no F-009"):
        book.review([finding("x", reverses="F-009")])
    with pytest.raises(Refused, match="F-002 has not been mended"):
        book.review([finding("x", reverses="F-002")])


@pytest.mark.parametrize("name", ["C1", "M1"])
def test_what_changes_the_outcome_blocks_all_the_same(name: str) -> None:
    book = rounds(finding(*OLD, severity="BLOCKER"))
    book.review([finding("spaces in a.py:3", "use tabs", severity="BLOCKER", breaks=[name])])
    assert not book.state.decisions and book.state.tasks["T-003"].kind == "remediation"


# -- the same category for the third round


def test_the_same_category_in_the_third_round() -> None:
    kinds = [
        finding(f"{where} badly named", severity="BLOCKER")
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
    "second", [finding("b.py:2 slow"), finding("b.py:2 badly named", severity="SUGGESTION"), None]
)
def test_running_means_round_after_round(second: dict | None) -> None:
    book = rounds(finding("a.py:1 badly named"))
    book.review([second] if second else [])
    for one in list(book.state.findings.values())[1:]:
        book.do(review.resolved, one.id, "approve", "", "")
    book.review([finding("c.py:3 badly named")])
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
    assert settling.growing(given) is wanted


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


def test_the_score_of_a_review_is_checked() -> None:
    with pytest.raises(UsageFault, match="score is 11"):
        grown(Book().worked(), 1, score=11)


# -- words


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ("a.py:3", "a.py:8", True),
        ("a.py:3", "a.py:9", False),
        ("a.py", "a.py:900", True),
        ("a.py", "b.py", False),
        ("", "", False),
        ("a.py:3:7", "a.py:3", True),
    ],
)
def test_places(one: str, other: str, wanted: bool) -> None:
    assert settling.same_place(one, other) is wanted


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
