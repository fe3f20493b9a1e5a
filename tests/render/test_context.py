"""plan.md, context.md and report.md: what they say, how long they get, what odd words do to
them."""

from __future__ import annotations

import pytest

from loopkit.core.memory import decisions
from loopkit.core.plan import drafts
from loopkit.core.review import batch_review, review
from loopkit.core.steps import attempts, waves
from loopkit.render import files, report
from tests.core.kit import Book, outcome, task

ODD = "# no heading\n- [x] 9.9 done | `a` <!-- hidden\x1b[31m‮" + "x" * 1_000_000
DECISION = {
    "title": "Stream rows",
    "context": "c",
    "choice": "a generator",
    "alternatives": ["a file: too large"],
}
LESSON = {"what": "the key was a header", "why": "clients set it", "avoid": "use the address"}


def decided(book: Book, count: int = 1, **fields: object) -> Book:
    for place in range(count):
        book.do(decisions.recorded, {**DECISION, "title": f"Decision of matter {place}", **fields})
    return book


def rows(text: str, heading: str) -> list[str]:
    """The lines under a heading."""
    part = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    return [one for one in part.splitlines() if one.strip()]


# -- plan.md


def exported() -> Book:
    book = Book(text="x").shaped()
    book.do(
        drafts.submit,
        [
            task("Writer module with an empty function", group="Writer", scaffold=True, files=["app/export.py"], criteria=["C1"]),
            task("Escape quotes", group="Writer", blocked_by=["#1"]),
            task("Describe it", group="Documents", blocked_by=["#2"]),
        ],
    )  # fmt: skip
    return book


def test_plan_md_has_the_form_of_the_rule() -> None:
    book = decided(exported())
    book.wave()
    book.verify("T-001")
    assert files.plan(book.state).startswith(
        """\
# Plan: add rate limiting
Iteration: 1
Status: IN_PROGRESS
## Tasks
### 1 Writer
- [x] 1.1 Writer module with an empty function (T-001) · scaffold
  - Files: app/export.py
  - Acceptance: The 101st request of a minute is answered with 429; `ls` exits 0
- [ ] 1.2 Escape quotes (T-002) · depends_on: 1.1
  - Acceptance: `ls` exits 0
### 2 Documents
- [ ] 2.1 Describe it (T-003) · depends_on: 1.2
  - Acceptance: `ls` exits 0
## Dependency graph
- 1.1 → 1.2
- 1.2 → 2.1
"""
    )
    assert rows(files.plan(book.state), "Decisions") == ["- 001: Decision of matter 0: a generator"]


def test_a_revision_raises_the_iteration_and_shows_risks_and_questions() -> None:
    book = Book(approval="review").shaped()
    for count in (0, 1):
        said = {
            "risks": [f"risk {count}"],
            "assumptions": ["one process"],
            "questions": ["per key?"],
        }
        book.do(drafts.replaced, [task("a"), task("b")], said)
        book.do(
            batch_review.planned,
            {"findings": [] if count else [{"severity": "BLOCKER", "issue": "x"}]},
        )
    text = files.plan(book.state)
    assert "Iteration: 2\nStatus: APPROVED\n" in text and "risk 0" not in text
    assert rows(text, "Risks") == ["- risk 1", "- assumed: one process"] and rows(
        text, "Open questions"
    ) == ["- per key?"]


def test_splits_stand_below_their_parent() -> None:
    book = exported()
    book.do(drafts.split, "1.2", [task("quotes"), task("line breaks")])
    text = files.plan(book.state)
    assert "- [ ] 1.2 Escape quotes (T-002) · depends_on: 1.1 · blocked (split)\n" in text
    assert text.index("  - [ ] 1.2.1 quotes (T-004)") < text.index("### 2 Documents")


def test_a_long_plan_is_bounded() -> None:
    book = Book().shaped()
    for place in range(1, 900):
        row = {
            "id": f"T-{place:03d}",
            "subject": "s" * 500,
            "files": ["f" * 300] * 50,
            "blockedBy": ["T-001"],
        }
        book.line("task_added", task=row)
    text = files.plan(book.state)
    assert len(text) < 500_000 and f"+{899 - files.MOST_TASKS} more" in text


# -- context.md


def test_context_md_says_what_an_agent_needs() -> None:
    book = decided(exported())
    book.do(decisions.avoided, LESSON)
    book.line("patterns_gathered", lines=["pattern: app/cache.py:8 stores are classes"])
    book.wave()
    text = files.context(book.state)
    assert text.startswith(
        "# Context: add rate limiting\nPlan: IN_PROGRESS, iteration 1 (plan.md)\nPhase: SCAFFOLD, "
        "wave 1\n"
        "Active: 1.1 T-001 Writer module with an empty function\nReady: none\nUpdated: "
        "2027-01-15T08:00:00Z\n"
    )
    assert rows(text, "Key decisions") == ["- 001: Decision of matter 0: a generator"]
    assert rows(text, "Anti-patterns") == [
        "- 002: avoid: the key was a header; instead: use the address"
    ]
    assert rows(text, "Relevant patterns") == ["- pattern: app/cache.py:8 stores are classes"]
    assert rows(text, "Current state") == ["- 0/3 tasks completed; batches: INITIALIZING"]
    book.verify("T-001")
    book.do(waves.closed)
    assert "Ready: 1.2 T-002 Escape quotes\n" in files.context(book.state)


def tokens(text: str) -> float:
    return len(text) / 4


@pytest.mark.parametrize("lessons", [0, 3, 60])
def test_context_md_stays_under_500_tokens_with_50_decisions(lessons: int) -> None:
    book = decided(exported(), 50, choice="rows " * 100)
    for _ in range(lessons):
        book.do(decisions.avoided, {**LESSON, "what": "the key " * 40})
    book.line("patterns_gathered", lines=["pattern: app/cache.py:8 stores are classes " * 4] * 10)
    text = files.context(book.state)
    assert tokens(text) < 500
    if lessons <= 3:
        assert rows(text, "Key decisions")[0].startswith("- 050: "), "the newest stay longest"
        left = len(rows(text, "Key decisions")) - 1
        assert f"- +{50 - left} more" in text and left >= 4
    else:
        assert (
            rows(text, "Key decisions") == ["- +50 more"] and len(rows(text, "Anti-patterns")) > 5
        )


def test_anti_patterns_are_the_last_to_go() -> None:
    """However much else there is, they stand as long as anything else can still give way."""
    book = decided(exported(), 50)
    for place in range(8):
        book.do(decisions.avoided, {**LESSON, "what": f"lesson {place} " + "x" * 60})
    book.line("patterns_gathered", lines=["p" * 200] * 10)
    text = files.context(book.state)
    assert len(rows(text, "Anti-patterns")) == 8 and tokens(text) < 500


def test_a_superseded_decision_is_not_shown() -> None:
    book = decided(decided(exported()), supersedes=1, title="Write a file")
    assert rows(files.context(book.state), "Key decisions") == ["- 002: Write a file: a generator"]


def test_a_failed_attempt_is_part_of_the_state() -> None:
    book = exported()
    book.wave()
    book.do(attempts.failed, "1.1", "the endpoint needs a token\nand more", None)
    assert "- 1.1 failed 1×: the endpoint needs a token\n" in files.context(book.state)


# -- report.md


def finding(**fields: object) -> dict:
    return {
        "severity": "BLOCKER",
        "issue": "rows go to a file",
        "place": "export.py:3",
        "verify": "ls",
        **fields,
    }


def test_the_report_says_what_was_found_and_left() -> None:
    book = Book(unattended=True).reviewed(
        findings=[
            {"severity": "WARNING", "issue": "smaller units now stand under it", "place": "R.md:3"},
            {"severity": "SUGGESTION", "issue": "a better name"},
        ]
    )
    text = report.render(book.state)
    assert "## Found in reviews, still open\n\n- R.md:3: smaller units" in text
    assert "(warning, thorough, left: nobody could be asked)" in text
    assert "- a better name (suggestion, thorough" in text
    assert "- ✓ M1 never: The signature of a public route handler changes: kept: git" in text
    assert "looked at" not in text


def adherence(book: Book) -> list[tuple[str, str]]:
    return [(one["kept"], one["where"]) for one in report.adherence(book.state)]


def test_the_adherence_table() -> None:
    book = decided(Book().worked(), 6)
    assert adherence(book)[0] == ("nobody has looked", "–")
    book.do(decisions.recorded, {**DECISION, "supersedes": 5, "files": ["app/x.py"]})
    book.review([finding(contradicts=[2]), finding(contradicts=[3], issue="other", place="a.py:1")])
    assert adherence(book) == [
        ("no finding against it", "–"),
        ("no (F-001)", "export.py:3"),
        ("no (F-002)", "a.py:1"),
        ("no finding against it", "–"),
        ("superseded by 007", "–"),
        ("no finding against it", "–"),
        ("no finding against it", "app/x.py"),
    ]
    book.do(review.resolved, "F-002", "waive", "known", "")
    book.wave()
    book.verify("T-002")
    assert adherence(book)[1:3] == [
        ("yes, after F-001", "export.py:3"),
        ("no, the person let F-002 pass", "a.py:1"),
    ]
    text = report.render(book.state)
    assert (
        "| decision | kept | where |\n|---|---|---|\n"
        "| 001 Decision of matter 0 | no finding against it | – |\n" in text
    )


def test_a_decision_that_no_longer_holds_says_so() -> None:
    book = decided(Book().worked(), invalidated_if="$ ls")
    book.do(decisions.checked, 1, outcome())
    assert adherence(book) == [("no longer holds (F-001)", "F-001")]


def test_the_report_has_goal_items_verification_adherence_and_summary() -> None:
    book = Book().reviewed().seen()
    text = report.render(book.state)
    for heading in ("Goal", "Completed", "Verification", "Decision adherence", "Summary"):
        assert f"\n## {heading}\n" in text
    assert "- [x] 1.1 write it (T-001)" in text and "## Not completed" not in text
    assert (
        "- ✓ C1 The 101st request of a minute is answered with 429: `pytest tests/test_limits.py -q` "
        "failed before · passes · fails without the work" in text
    )
    assert (
        "No decision was recorded." in text
        and "1 of 1 task completed in 1 wave, 0 failed attempts" in text
    )


# -- whatever words people and models use


@pytest.mark.parametrize("view", [files.plan, files.context, report.render])
def test_odd_words_break_nothing_and_stay_bounded(view: object) -> None:
    book = Book(task=ODD).shaped()
    row = {
        "id": "T-001",
        "subject": ODD,
        "verify": ODD,
        "files": [ODD],
        "group": ODD,
        "criteria": [ODD],
    }
    book.line("task_added", task=row)
    book.line("task_added", task={"id": "T-002", "subject": "after", "blockedBy": ["T-001"]})
    book.line("decision_recorded", number=1, title=ODD, choice=ODD, files=[ODD])
    book.line("anti_pattern_recorded", number=2, title=ODD, what=ODD, avoid=ODD)
    book.line("patterns_gathered", lines=[ODD] * 10)
    book.line("task_failed", id="T-001", attempt=1, error=ODD, result=ODD, action="retry")
    book.line("question_asked", text=ODD)
    book.line(
        "plan_proposed", risks=[ODD], assumptions=[ODD], questions=[ODD], warning="", replaces=[]
    )
    book.line(
        "review_thorough",
        experts=[ODD],
        round=1,
        findings=[{**finding(contradicts=[1]), "id": "F-001", "issue": ODD}],
    )
    text = view(book.state)  # type: ignore[operator]
    assert len(text) < 20_000 and "<!--" not in text and "\x1b" not in text and "‮" not in text
    assert not any(line.startswith(("# no heading", "- [x] 9.9")) for line in text.splitlines())
    assert [line for line in text.splitlines() if line.startswith("# ")] == [text.splitlines()[0]]


@pytest.mark.parametrize("view", [files.plan, files.context, report.render])
def test_they_can_be_made_at_every_stage(view: object) -> None:
    for book in (
        Book(),
        Book().shaped(),
        Book().planned(),
        Book().worked(),
        Book().reviewed().seen(),
    ):
        assert view(book.state).startswith("# ")  # type: ignore[operator]


def test_a_check_that_was_replaced_is_shown_in_plan_and_report() -> None:
    book = Book().planned(task("a", "pytest -q"))
    book.do(drafts.changed, "T-001", "test -f a.py", None, None)
    assert "`test -f a.py` exits 0; the check before was `pytest -q`" in files.plan(book.state)
    assert "(T-001, another check before: `pytest -q`)" in report.render(book.state)
