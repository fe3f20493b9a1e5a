"""Reviews: light ones never block, the thorough one does until all is settled."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit.core import review, waves, work
from loopkit.core.errors import LoopError, Refused, UsageFault
from tests.core.kit import Book, task

BLOCKER = {"severity": "BLOCKER", "issue": "no doc", "guidance": "write it", "verify": "test -f doc.md"}
WARNING = {"severity": "WARNING", "issue": "long function", "guidance": "cut it"}
SUGGESTION = {"severity": "SUGGESTION", "issue": "a better name"}


def closed_wave() -> Book:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]))
    book.wave()
    book.verify("T-001")
    book.do(waves.closed)
    return book


def light(**changes: Any) -> dict:
    return {"score": 8, "issues": 2, "blockers": 1, "experts": ["a", "b"], **changes}


# -- light


def test_a_light_review_is_stored_and_never_blocks() -> None:
    book = closed_wave()
    book.do(review.light, 1, light(score=0, blockers=5))
    assert review.summary(book.state)["wave_1"] == {"score": 0, "issues": 2, "blockers": 5}
    book.wave()
    assert book.state.wave.tasks == ("T-002",)


def test_the_next_wave_needs_no_review_at_all() -> None:
    book = closed_wave()
    book.wave()
    assert review.summary(book.state) == {}


def test_findings_give_the_counts() -> None:
    book = closed_wave()
    given = light(findings=[BLOCKER, WARNING, SUGGESTION])
    del given["issues"], given["blockers"]
    book.do(review.light, 1, given)
    assert review.summary(book.state)["wave_1"] == {"score": 8, "issues": 2, "blockers": 1}
    assert [one.source for one in book.state.findings.values()] == ["wave_1"] * 3


def test_blockers_of_a_light_review_do_not_keep_the_gate_shut() -> None:
    book = Book().worked()
    book.do(review.light, 1, light(findings=[BLOCKER]))
    book.review([])
    assert review.passed(book.state)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_two_or_three_experts(count: int) -> None:
    given = light(experts=[str(number) for number in range(count)])
    if count in (2, 3):
        review.light(closed_wave().state, 1, given)
    else:
        with pytest.raises(Refused, match=f"{count} expert"):
            review.light(closed_wave().state, 1, given)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"score": 11}, "score is 11"),
        ({"score": None}, "score is None"),
        ({"score": 7.5}, "score is 7.5"),
        ({"issues": -1}, "issues is -1"),
        ({"blockers": "1"}, "blockers is '1'"),
        ({"experts": "a,b"}, "experts is not a list"),
        ({"findings": {}}, None),
        ({"findings": [{"severity": "BLOCKER"}]}, "finding 1 has no issue"),
        ({"findings": [SUGGESTION, {"severity": "bad", "issue": "x"}]}, "finding 2 has severity 'bad'"),
    ],
)
def test_a_light_review_is_checked(changes: dict, words: str | None) -> None:
    if words is None:
        review.light(closed_wave().state, 1, light(**changes))
        return
    with pytest.raises(UsageFault) as caught:
        review.light(closed_wave().state, 1, light(**changes))
    assert words in str(caught.value)


@pytest.mark.parametrize("wave", [0, 2, 99])
def test_only_closed_waves_are_reviewed(wave: int) -> None:
    with pytest.raises(Refused, match=f"wave {wave} is not closed"):
        review.light(closed_wave().state, wave, light())


# -- thorough


def test_nothing_found_passes() -> None:
    book = Book().reviewed()
    row = review.summary(book.state)["thorough"]
    assert (row["passed"], row["blockers_remaining"], row["findings_total"]) == (True, 0, 0)
    assert (row["experts"], row["timestamp"]) == (["a", "b", "c"], book.events[-1].at)
    assert book.state.stage == "review"


def test_a_blocker_makes_a_task_leads_back_and_ends_with_none_left() -> None:
    book = Book().reviewed(findings=[BLOCKER])
    assert book.state.stage == "executing"
    row = book.state.tasks["T-002"]
    assert (row.kind, row.subject, row.verify, row.description) == (
        "remediation",
        "Mend: no doc",
        "test -f doc.md",
        "write it",
    )
    assert review.summary(book.state)["thorough"]["blockers_remaining"] == 1
    book.wave()
    book.verify("T-002")
    book.do(waves.closed)
    assert review.blockers_left(book.state) == 0
    assert not review.passed(book.state), "the review is repeated after new work"
    book.review([])
    assert review.passed(book.state)
    assert book.state.thorough["round"] == 2


def test_each_blocker_has_a_task_of_its_own() -> None:
    book = Book().reviewed(findings=[BLOCKER, WARNING, {**BLOCKER, "issue": "no test"}])
    assert [one.task for one in book.state.findings.values()] == ["T-002", None, "T-003"]
    assert list(book.state.findings) == ["F-001", "F-002", "F-003"]


def test_a_blocker_needs_a_command_for_its_task() -> None:
    with pytest.raises(UsageFault, match="has no verify"):
        Book().reviewed(findings=[{**BLOCKER, "verify": ""}])
    with pytest.raises(UsageFault, match="without a shell"):
        Book().reviewed(findings=[{**BLOCKER, "verify": "a | b"}])


def test_guidance_that_would_break_a_must_not_is_refused() -> None:
    with pytest.raises(Refused, match="would break M2"):
        Book().reviewed(findings=[{**WARNING, "violates": ["M2"]}])
    Book().reviewed(findings=[{**WARNING, "violates": ["M9"]}])


@pytest.mark.parametrize("how", ["approve", "discuss", "skip"])
def test_a_warning_must_be_acknowledged(how: str) -> None:
    book = Book().reviewed(findings=[WARNING])
    assert not review.passed(book.state) and review.blockers_left(book.state) == 0
    book.do(review.resolved, "f-001", how, "because", "")
    assert review.passed(book.state)


def test_a_warning_can_become_a_task() -> None:
    book = Book().reviewed(findings=[WARNING])
    with pytest.raises(UsageFault, match="needs a verification command"):
        review.resolved(book.state, "F-001", "task", "", "")
    book.do(review.resolved, "F-001", "task", "", "test -f short")
    assert book.state.stage == "executing" and book.state.tasks["T-002"].kind == "remediation"
    book.wave()
    book.verify("T-002")
    book.do(waves.closed)
    book.review([])
    assert review.passed(book.state)


def test_a_suggestion_informs() -> None:
    assert review.passed(Book().reviewed(findings=[SUGGESTION]).state)


@pytest.mark.parametrize("how", ["approve", "task", "discuss", "skip"])
def test_a_blocker_is_settled_by_its_task_or_a_waiver_only(how: str) -> None:
    book = Book().reviewed(findings=[BLOCKER])
    with pytest.raises(Refused, match="F-001 is a blocker"):
        review.resolved(book.state, "F-001", how, "x", "true")


def test_a_waiver_needs_a_reason() -> None:
    book = Book().reviewed(findings=[BLOCKER])
    with pytest.raises(Refused, match="no reason"):
        review.resolved(book.state, "F-001", "waive", " ", "")
    book.do(review.resolved, "F-001", "waive", "the person knows", "")
    assert review.blockers_left(book.state) == 0


def test_unattended_warnings_are_acknowledged_as_such() -> None:
    book = Book(unattended=True).reviewed(findings=[WARNING])
    assert review.passed(book.state)
    assert book.state.findings["F-001"].resolution["how"] == "unattended"
    book = Book(unattended=True).reviewed(findings=[BLOCKER])
    assert not review.passed(book.state)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_three_or_four_experts(count: int) -> None:
    given = {"experts": [str(number) for number in range(count)], "findings": []}
    if count in (3, 4):
        review.thorough(Book().worked().state, given)
    else:
        with pytest.raises(Refused, match=f"{count} expert"):
            review.thorough(Book().worked().state, given)


def test_the_same_expert_twice_is_one() -> None:
    with pytest.raises(Refused, match="2 experts"):
        review.thorough(Book().worked().state, {"experts": ["a", "b", "a"], "findings": []})


def test_findings_must_be_said_even_if_there_are_none() -> None:
    with pytest.raises(UsageFault, match="findings is missing"):
        review.thorough(Book().worked().state, {"experts": ["a", "b", "c"]})


def test_it_is_too_early_while_work_is_open(executing: Book) -> None:
    with pytest.raises(Refused, match="wave 1 is open"):
        executing.review([])


def test_an_unknown_finding() -> None:
    with pytest.raises(LoopError, match="no finding F-009"):
        review.resolved(Book().reviewed().state, "F-009", "skip", "x", "")


def test_removing_the_task_of_a_blocker_does_not_settle_it() -> None:
    book = Book().reviewed(findings=[BLOCKER])
    book.do(work.removed, "T-002")
    assert review.blockers_left(book.state) == 1 and not review.passed(book.state)
