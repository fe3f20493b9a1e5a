"""Reviews: light ones never block, the thorough one does until all is settled."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit.core.journal.errors import LoopError, Refused, UsageFault
from loopkit.core.journal.parts import Changed
from loopkit.core.memory import decisions
from loopkit.core.plan import drafts
from loopkit.core.review import gate, result, review
from loopkit.core.steps import due, kinds, snapshot, waves
from tests.core.kit import Book, outcome, task

BLOCKER = {
    "severity": "BLOCKER",
    "issue": "no doc",
    "guidance": "write it",
    "verify": "test -f doc.md",
}
WARNING = {"severity": "WARNING", "issue": "long function", "guidance": "cut it"}
SUGGESTION = {"severity": "SUGGESTION", "issue": "a better name"}


def closed_wave() -> Book:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]))
    book.wave()
    book.verify("T-001")
    book.do(waves.closed)
    return book


def light(**changes: Any) -> dict:
    return {"score": 8, "experts": ["a", "b"], "findings": [], **changes}


# -- light


def test_a_light_review_is_stored_and_never_blocks() -> None:
    book = closed_wave()
    book.do(review.light, 1, light(score=0, findings=[BLOCKER, WARNING]))
    assert review.summary(book.state)["wave_1"] == {"score": 0, "issues": 1, "blockers": 1}
    book.wave()
    assert book.state.wave.tasks == ("T-002",)


def test_the_next_wave_needs_no_review_at_all() -> None:
    book = closed_wave()
    book.wave()
    assert review.summary(book.state) == {}


def test_findings_give_the_counts() -> None:
    book = closed_wave()
    book.do(review.light, 1, light(findings=[BLOCKER, WARNING, SUGGESTION], issues=2, blockers=1))
    assert review.summary(book.state)["wave_1"] == {"score": 8, "issues": 2, "blockers": 1}
    assert [one.source for one in book.state.findings.values()] == ["wave_1"] * 3


@pytest.mark.parametrize("counts", [{"issues": 0}, {"blockers": 3}, {"issues": 2, "blockers": 3}])
def test_what_is_counted_is_told(counts: dict) -> None:
    """The words of an issue are kept; a number says nothing."""
    with pytest.raises(Refused, match="are counted, and 1 told"):
        closed_wave().do(review.light, 1, light(findings=[WARNING, BLOCKER], **counts))


def test_only_experts_that_were_asked_count() -> None:
    book, printed = Book().worked(), ["a", "b", "c", "d"]
    for experts in (["a", "b", "nobody"], ["a", "b"]):
        with pytest.raises(Refused, match=r"nobody was not asked; asked are: a, b|2 experts"):
            book.do(review.thorough, {"experts": experts, "findings": []}, 0, printed)
    book.do(review.thorough, {"experts": [], "findings": []}, 0, printed)
    assert book.state.thorough["experts"] == printed


def test_blockers_of_a_light_review_do_not_keep_the_gate_shut() -> None:
    book = Book().worked()
    book.do(review.light, 1, light(findings=[BLOCKER]))
    book.review([])
    assert review.passed(book.state)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_two_or_three_experts(count: int) -> None:
    given = light(experts=[str(number) for number in range(count)])
    if count in (2, 3):
        closed_wave().do(review.light, 1, given)
    else:
        with pytest.raises(Refused, match=f"{count} expert"):
            closed_wave().do(review.light, 1, given)


@pytest.mark.parametrize("wave", [0, 2, 99])
def test_only_closed_waves_are_reviewed(wave: int) -> None:
    with pytest.raises(Refused, match=f"wave {wave} is not closed"):
        closed_wave().do(review.light, wave, light())


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
        "Fix: no doc",
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


def test_guidance_that_would_break_a_must_not_is_refused_or_replaced() -> None:
    given = {**WARNING, "violates": ["M2"]}
    with pytest.raises(Refused, match="would break M2"):
        Book().reviewed(findings=[given])
    with pytest.raises(Refused, match="would break M2"):
        Book().reviewed(findings=[{**given, "alternative": given["guidance"]}])
    one = Book().reviewed(findings=[{**given, "alternative": "shorten it"}]).state.findings["F-001"]
    assert (one.guidance, one.replaced, one.violates) == ("shorten it", "cut it", ("M2",))
    with pytest.raises(UsageFault, match="violates must be given beside an alternative"):
        Book().reviewed(findings=[{**WARNING, "alternative": "shorten it"}])


def test_the_task_of_a_blocker_gets_the_alternative() -> None:
    book = Book().reviewed(
        findings=[
            {**BLOCKER, "violates": ["M1"], "alternative": "add a new one", "reason": "why not"}
        ]
    )
    assert book.state.tasks["T-002"].description == "add a new one\nwhy: why not"


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"violates": ["M9"]}, "violates of finding 1: there is no M9; SHAPE.md has: M1, M2"),
        ({"violates": ["C1"]}, "violates of finding 1: there is no C1"),
        ({"breaks": ["C7"]}, "breaks of finding 1: there is no C7; SHAPE.md has: C1, M1, M2"),
        (
            {"breaks": ["M1"]},
            "finding 1 says that M1 is broken, as WARNING; a broken mustNot is a BLOCKER",
        ),
    ],
)
def test_a_finding_is_checked(extra: dict, words: str) -> None:
    book = Book().worked()
    with pytest.raises(LoopError) as caught:
        book.do(review.thorough, {"experts": ["a", "b", "c"], "findings": [{**WARNING, **extra}]})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("extra", "place"),
    [
        ({"issue": "app/limits.py:31 the key is a header"}, "app/limits.py:31"),
        ({"issue": "the key (limits.py:31) is a header"}, "limits.py:31"),
        ({"issue": "src/a.ts is long, see b.ts:4"}, "b.ts:4"),
        ({"issue": "README.md is out of date"}, "README.md"),
        ({"issue": "it is slow, e.g. in 3.5 s, at 10:30 on host.example:80x"}, ""),
        ({"issue": "http://a.example/x is dead"}, ""),
        ({"issue": "Makefile:3 x", "place": "Makefile:4"}, "Makefile:4"),
        ({"issue": "x", "files": ["a.py"]}, "a.py"),
        ({"issue": "x", "files": ["a.py", "b.py"]}, ""),
    ],
)
def test_the_place_of_a_finding(extra: dict, place: str) -> None:
    assert (
        Book().reviewed(findings=[{**SUGGESTION, **extra}]).state.findings["F-001"].place == place
    )


def test_the_category_of_a_finding() -> None:
    rows = [SUGGESTION, {**SUGGESTION, "category": "Style"}]
    found = Book().reviewed(findings=rows).state.findings.values()
    assert [one.category for one in found] == ["other", "style"]


# -- a mustNot that is broken


def test_a_broken_must_not_pauses_at_once_and_is_fixed_after_resume() -> None:
    book = Book().reviewed(findings=[{**BLOCKER, "breaks": ["M2"], "place": "requirements.txt:3"}])
    assert (book.state.session.status, book.state.session.verdict) == (
        "paused",
        "must_not_breached",
    )
    assert (
        "M2 is broken: A runtime dependency is added; F-001 (requirements.txt:3)"
        in book.state.session.reason
    )
    with pytest.raises(Refused, match="paused"):
        book.wave()
    book.line("resumed")
    book.wave()
    book.verify("T-002")
    book.do(waves.closed)
    book.review([])
    assert review.passed(book.state)


def test_what_its_check_has_said_already_pauses_no_second_time() -> None:
    book = Book().worked()
    book.do(gate.criterion_verified, "M2", outcome(False))
    assert book.state.session.verdict == "must_not_breached"
    book.line("resumed")
    book.review([{**BLOCKER, "breaks": ["M2"]}])
    assert book.state.session.status == "running" and list(book.state.open) == ["T-002"]
    (said,) = result.notes(book.state)
    assert said.startswith("paused: M2 is broken: A runtime dependency is added")


def test_a_finding_that_is_said_again_is_fixed_with_that() -> None:
    book = Book().worked()
    book.do(review.light, 1, light(findings=[WARNING]))
    book.review([{**BLOCKER, "repeats": "F-001"}])
    assert [row.id for row in review.standing(book.state)] == ["F-001", "F-002"]
    book.wave()
    book.verify("T-002")
    assert review.standing(book.state) == []


def test_also_in_a_light_review_which_blocks_nothing_else() -> None:
    book = closed_wave()
    book.do(review.light, 1, light(findings=[{**BLOCKER, "breaks": ["C1", "M1"]}]))
    assert book.state.session.verdict == "must_not_breached" and len(book.state.tasks) == 2
    book.line("resumed")
    book.wave()
    assert book.state.wave.tasks == ("T-002",)


def test_a_missed_criterion_pauses_nothing() -> None:
    book = Book().reviewed(findings=[{**BLOCKER, "breaks": ["C1"]}])
    assert book.state.session.status == "running" and book.state.findings["F-001"].breaks == ("C1",)


# -- giving it to agents


def test_the_thorough_review_is_given_out_once() -> None:
    book = Book().worked()
    assert [kind for kind, _ in book.do(review.asked, ["a", "b", "c"])] == ["review_asked"]
    assert book.do(review.asked, ["a", "b", "c"]) == [] and review.still_out(book.state) == 3
    for number in range(3):
        book.line(
            "subagent_stopped", by="hook", agent_id=f"agent-{number}", transcript=f"t-{number}"
        )
    assert book.do(review.asked, ["a", "b", "c"]) == [] and review.still_out(book.state) == 0
    book.review([])
    assert book.do(review.asked, ["a", "b", "c"])


@pytest.mark.parametrize(
    "line",
    [
        ("iteration_ended", {"decision": "hold"}),
        ("owner_changed", {"session_id": "session-two"}),
        ("resumed", {}),
    ],
)
def test_agents_that_are_lost_are_asked_again(line: tuple) -> None:
    book = Book().worked()
    book.do(review.asked, ["a", "b", "c"])
    book.line(line[0], **line[1])
    assert book.do(review.asked, ["a", "b", "c"])


def test_whoever_has_reported_before_a_hold_need_not_look_twice() -> None:
    book = Book().worked()
    book.do(review.asked, ["a", "b", "c"])
    for number in range(3):
        book.line(
            "subagent_stopped", by="hook", agent_id=f"agent-{number}", transcript=f"t-{number}"
        )
    book.line("iteration_ended", decision="hold")
    assert book.do(review.asked, ["a", "b", "c"]) == []
    book.line("owner_changed", session_id="session-two")
    assert book.do(review.asked, ["a", "b", "c"]), "the other session has not read the reports"


def test_asking_is_progress_once_a_round() -> None:
    book = Book().worked()
    marks = [snapshot.fingerprint(book.state)]
    for _ in range(3):
        book.do(review.asked, ["a", "b", "c"])
        book.line("iteration_ended", decision="hold")
        marks.append(snapshot.fingerprint(book.state))
    assert marks[0] != marks[1] == marks[2] == marks[3]


def test_it_is_not_given_out_while_work_is_open(executing: Book) -> None:
    with pytest.raises(Refused, match="wave 1 is open"):
        executing.do(review.asked, ["a", "b", "c"])


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
        review.resolved(book.state, "F-001", how, "x", "ls")


def test_a_waiver_needs_a_reason() -> None:
    book = Book().reviewed(findings=[BLOCKER])
    with pytest.raises(Refused, match="no reason"):
        review.resolved(book.state, "F-001", "waive", " ", "")
    book.do(review.resolved, "F-001", "waive", "the person knows", "")
    assert review.blockers_left(book.state) == 0


def test_the_task_of_a_waived_blocker_goes_and_the_loop_is_in_review_again() -> None:
    book = Book().reviewed(findings=[BLOCKER, {**BLOCKER, "issue": "no test"}])
    assert list(book.state.open) == ["T-002", "T-003"]
    book.do(review.resolved, "F-001", "waive", "the person knows", "")
    assert list(book.state.open) == ["T-003"] and book.state.stage == "executing"
    book.do(review.resolved, "F-002", "waive", "that too", "")
    assert not book.state.open and book.state.stage == "review" and review.passed(book.state)
    assert due.due(book.state)[0].kind == kinds.GATE


def test_a_waived_blocker_takes_the_subtasks_and_the_attempt_of_its_task_along() -> None:
    book = Book().reviewed(findings=[BLOCKER, {**BLOCKER, "issue": "no test"}])
    book.do(drafts.split, "T-002", [task("half"), task("other half")])
    book.wave()
    assert book.state.running
    book.do(review.resolved, "F-001", "waive", "the person knows", "")
    assert list(book.state.tasks) == ["T-001", "T-003"]
    for name in list(book.state.running):
        book.verify(name)
    book.do(waves.closed)
    assert book.state.stage == "review"


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
        Book().worked().do(review.thorough, given)
    else:
        with pytest.raises(Refused, match=f"{count} expert"):
            Book().worked().do(review.thorough, given)


def test_the_same_expert_twice_is_one() -> None:
    with pytest.raises(Refused, match="2 experts"):
        Book().worked().do(review.thorough, {"experts": ["a", "b", "a"], "findings": []})


def test_it_is_too_early_while_work_is_open(executing: Book) -> None:
    with pytest.raises(Refused, match="wave 1 is open"):
        executing.review([])


def test_several_are_settled_at_once_or_none() -> None:
    book = Book().reviewed(
        findings=[WARNING, {**WARNING, "issue": "b"}, {**WARNING, "issue": "c", "files": ["c.py"]}]
    )
    with pytest.raises(Refused, match="no finding F-009; unsettled: F-001, F-002, F-003"):
        review.resolved(book.state, ["F-001", "F-009"], "approve", "", "")
    book.do(review.resolved, ["f-001", "F-002", "F-001"], "approve", "", "")
    assert not review.passed(book.state)
    book.do(review.resolved, ("F-003",), "task", "", "ls")
    assert book.state.tasks["T-002"].files == ("c.py",) and book.state.stage == "executing"


def test_several_become_a_task_each() -> None:
    book = Book().reviewed(findings=[WARNING, {**WARNING, "issue": "b"}])
    book.do(review.resolved, ["F-001", "F-002"], "task", "", "ls")
    assert [one.task for one in book.state.findings.values()] == ["T-002", "T-003"]


def test_an_unknown_finding() -> None:
    with pytest.raises(LoopError, match="no finding F-009"):
        review.resolved(Book().reviewed().state, "F-009", "skip", "x", "")


def test_removing_the_task_of_a_blocker_does_not_settle_it() -> None:
    book = Book().reviewed(findings=[BLOCKER])
    book.do(drafts.removed, "T-002")
    assert review.blockers_left(book.state) == 1 and not review.passed(book.state)


# -- decisions, lessons, other words for a severity

DECISION = {
    "title": "Stream rows",
    "context": "c",
    "choice": "a generator",
    "alternatives": ["a file: too large"],
}


def decided(book: Book, **fields: Any) -> Book:
    book.do(decisions.recorded, {**DECISION, **fields})
    return book


def against(severity: str = "BLOCKER", **fields: Any) -> dict:
    return {
        "severity": severity,
        "issue": "export.py:3 the rows are written to a file",
        "verify": "ls",
        **fields,
    }


def test_a_contradiction_to_a_live_decision_is_a_blocker_that_names_it() -> None:
    book = decided(Book().worked())
    for severity in ("WARNING", "suggestion", "Minor"):
        with pytest.raises(Refused, match="contradicts decision 001, as (WARNING|SUGGESTION)"):
            book.review([against(severity, contradicts=[1])])
    with pytest.raises(Refused, match="there is no decision 002"):
        book.review([against(contradicts=2)])
    book.review([against(contradicts=["001"])])
    assert book.state.findings["F-001"].contradicts == (1,) and not review.passed(book.state)
    assert book.state.findings["F-001"].task == "T-002"


def test_superseding_settles_what_contradicts_it_and_nothing_else() -> None:
    book = decided(Book().worked())
    book.review(
        [against(contradicts=[1]), against(contradicts=[1], breaks=["C1"]), against(issue="other")]
    )
    decided(book, title="Write a file", supersedes=1)
    settled = [
        name
        for name, one in book.state.findings.items()
        if (one.resolution or {}).get("how") == "superseded"
    ]
    assert settled == ["F-001"]
    with pytest.raises(Refused, match="decision 001 is SUPERSEDED by 00"):
        book.do(review.findings, [against(contradicts=[1])])


def test_a_contradiction_is_never_settled_by_a_decision_of_the_reviews() -> None:
    book = decided(Book().worked())
    book.review([against(issue="tabs at a.py:3")])
    book.wave()
    book.verify("T-002")
    book.do(waves.closed)
    book.review([against(issue="spaces at a.py:3", contradicts=[1])])
    assert book.state.findings["F-002"].resolution is None


def test_each_new_kind_of_blocker_gives_one_anti_pattern() -> None:
    book = decided(Book().worked())
    rows = [
        against(category="security", guidance="g", reason="r"),
        against(category="security"),
        against("WARNING", category="tests"),
        against(category="naming", issue="bad name in b.py"),
    ]
    book.review(rows)
    found = book.state.decision_log.anti_patterns
    assert [(one["number"], one["category"], one["source"]) for one in found] == [
        (2, "security", "review"),
        (3, "naming", "review"),
    ]
    assert (found[0]["why"], found[0]["avoid"], found[1]["files"]) == ("r", "g", ["b.py"])
    given = {
        "score": 5,
        "experts": ["a", "b"],
        "findings": [against(category="security"), against(category="docs")],
    }
    book.do(review.light, 1, given)
    assert [one["category"] for one in book.state.decision_log.anti_patterns] == [
        "security",
        "naming",
        "docs",
    ]


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        (None, 4),
        ([], 1),
        ([("a", "M", 30, 30)], 1),
        ([("a", "M", 30, 31)], 2),
        ([("a", "A", None, None)], 1),
        ([("a", "M", 5, 0), ("b", "M", 5, 0)], 2),
        ([("a", "M", 400, 0), ("b", "D", 0, 0)], 2),
        ([("a", "M", 400, 0), ("b", "A", None, None)], 4),
    ],
)
def test_how_many_look_follows_from_what_was_measured(rows: list | None, count: int) -> None:
    changed = None if rows is None else [Changed(*row) for row in rows]
    assert review.agents_for(changed, 4) == count
    assert review.agents_for(changed, 1) == 1


# -- who looks again


DEPTH = {"writer": ["documentation"], "api": ["api"], "tester": ["testing"], "simplifier": []}


def remedied(*findings: dict, files: tuple = ("src/a.py",)) -> Book:
    """Reviewed by four, the first blocker's task done with these files."""
    book = Book().worked()
    book.do(review.thorough, {"experts": list(DEPTH), "findings": list(findings)})
    for finding in book.state.findings.values():
        by = {"F-001": ("api",), "F-002": ("simplifier",)}
        book.state.findings[finding.id] = finding._replace(experts=by[finding.id])
    book.wave()
    for name in list(book.state.running):
        book.line("task_changed", id=name, files=list(files))
        book.verify(name)
    book.do(waves.closed)
    return book


@pytest.mark.parametrize(
    ("findings", "files", "names"),
    [
        ([BLOCKER], ("src/a.py",), ["api"]),
        ([BLOCKER], ("README.md",), ["writer", "api"]),
        ([BLOCKER], ("src/a.py", "tests/test_a.py"), ["api", "tester"]),
        ([BLOCKER, {**BLOCKER, "issue": "no test"}], ("src/a.py",), ["api", "simplifier"]),
        ([BLOCKER], (), list(DEPTH)),
    ],
)
def test_only_whose_point_was_open_or_whose_files_changed_look_again(
    findings: list, files: tuple, names: list
) -> None:
    book = remedied(*findings, files=files)
    assert review.needs_new_round(book.state)
    assert review.looks_again(book.state, DEPTH) == names


def test_a_sentence_of_a_readme_is_looked_at_by_one() -> None:
    book = Book().worked()
    warning = {**WARNING, "files": ["README.md"]}
    book.do(review.thorough, {"experts": list(DEPTH), "findings": [warning]})
    book.state.findings["F-001"] = book.state.findings["F-001"]._replace(experts=("writer",))
    book.do(review.resolved, "F-001", "task", "", "grep -q x README.md")
    book.wave()
    book.verify("T-002")
    book.do(waves.closed)
    assert review.looks_again(book.state, DEPTH) == ["writer"]
    book.do(review.thorough, {"experts": [], "findings": []}, 0, ["writer"])
    assert review.passed(book.state) and book.state.thorough["panel"] == list(DEPTH)


def test_where_nobody_knows_whose_it_was_all_look_again() -> None:
    book = remedied(BLOCKER)
    book.state.findings["F-001"] = book.state.findings["F-001"]._replace(experts=())
    assert review.looks_again(book.state, DEPTH) == list(DEPTH)


def test_a_proof_that_is_another_now_is_looked_at_by_who_refused_the_old_one() -> None:
    book = Book().worked()
    answers = {"proofs": {"C1": "no: it asserts nothing"}, "seen_by": {"C1": "tester"}}
    given = {"experts": list(DEPTH), "findings": [], **answers}
    for kind, data in review.thorough(book.state, given):
        book.line(kind, **data)
    book.state.proof_replaced("C1")
    assert review.looks_again(book.state, DEPTH) == ["tester"]
