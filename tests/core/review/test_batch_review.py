"""Reviews that decide: the plan, the scaffold batch, every batch; what is approved and what is
not."""

from __future__ import annotations

import random
from typing import Any

import pytest

from loopkit.core.evidence import trials
from loopkit.core.journal.errors import LoopError, Refused
from loopkit.core.memory import decisions
from loopkit.core.plan import drafts, outline, work
from loopkit.core.review import batch_review, panel
from loopkit.core.steps import attempts, due, policies, resumption, supervision, waves
from tests.core.kit import Book, task

FINE = {"build": "passed", "tests": "passed", "lint": "none", "findings": []}
DECISION = {
    "title": "Stream rows",
    "context": "c",
    "choice": "a generator",
    "alternatives": ["a file: too large"],
}


def blocker(**fields: Any) -> dict:
    return {
        "severity": "Critical",
        "issue": "the key is a header",
        "guidance": "use the address",
        **fields,
    }


def drafted(*rows: dict, **settings: Any) -> Book:
    """A reviewed loop whose plan waits for its review."""
    book = Book(approval="review", settings=settings).shaped()
    book.line("plan_proposed", warning="", risks=["r"], assumptions=[], questions=[], replaces=[])
    book.do(drafts.submit, list(rows) or [task("a", files=["a.py"]), task("b", files=["b.py"])])
    return book


def planned(*rows: dict, **settings: Any) -> Book:
    book = drafted(*rows, **settings)
    book.do(batch_review.planned, {"findings": []})
    return book


def running(*rows: dict, **settings: Any) -> Book:
    """The first batch dispatched, every check of it passed."""
    book = planned(*rows, **settings)
    begin(book)
    return book


def begin(book: Book) -> None:
    book.wave()
    for task_id in list(book.state.running):
        book.verify(task_id)


def judge(book: Book, kind: str = "batch", **given: Any) -> list:
    verdicts = dict.fromkeys(work.running(book.state), "approved")
    return book.do(batch_review.judged, None, kind, {**FINE, "verdicts": verdicts, **given})


def status(book: Book, task_id: str = "T-001") -> str:
    return book.state.tasks[task_id].status


# -- the plan


def test_a_plan_without_a_blocker_is_approved_and_only_then_worked_on() -> None:
    book = drafted()
    assert (
        due.command(book.state) == "loopkit review --plan"
        and outline.plan_status(book.state) == "DRAFT"
    )
    with pytest.raises(
        Refused, match="the plan has not been reviewed; next: loopkit review --plan"
    ):
        book.wave()
    book.do(
        batch_review.planned, {"status": "NEEDS REVISION", "findings": [blocker(severity="Minor")]}
    )
    assert (
        outline.plan_status(book.state) == "APPROVED"
        and due.command(book.state) == "loopkit wave next"
    )
    assert {one.status for one in book.state.tasks.values()} == {"pending"}


def test_any_blocker_needs_a_revision_whatever_the_status_says() -> None:
    book = drafted()
    changes = book.do(
        batch_review.planned, {"status": "APPROVED", "findings": [blocker()], "missing": ["a test"]}
    )
    data = changes[0][1]
    assert (data["approved"], data["outcome"], data["revision"]) == (False, "revise", 0)
    assert data["issues"] == ["BLOCKER: the key is a header; do: use the address"] and data[
        "missing"
    ] == ["a test"]
    assert [one.kind for one in due.undispatched(book.state)] == ["plan"]
    assert due.command(book.state) == "loopkit wave next"
    with pytest.raises(Refused, match="to be revised first"):
        book.do(batch_review.planned, {"findings": []})


def test_the_lesson_of_a_revision_is_recorded() -> None:
    book = drafted()
    book.do(batch_review.planned, {"findings": [blocker(category="security")]})
    (lesson,) = book.state.decision_log.anti_patterns
    assert (lesson["source"], lesson["category"], lesson["avoid"]) == (
        "plan-review",
        "security",
        "use the address",
    )


def revise(book: Book) -> None:
    rows = [task("c"), task("d")]
    book.do(drafts.replaced, rows, {"risks": []})


@pytest.mark.parametrize("most", [0, 1, 3])
def test_after_the_last_revision_the_person_is_asked(most: int) -> None:
    book = drafted(max_plan_revisions=most)
    for _ in range(most):
        assert book.do(batch_review.planned, {"findings": [blocker()]})[0][1]["outcome"] == "revise"
        revise(book)
    changes = book.do(batch_review.planned, {"findings": [blocker()]})
    assert changes[0][1]["outcome"] == "asked" and "the key is a header" in str(
        book.state.session.question
    )
    assert str(book.state.session.question).endswith(
        'let it pass as it is: loopkit review --plan --waive "<why>"'
    )
    assert due.command(book.state) == 'loopkit answer "<what the person said>"'
    book.line("question_answered", text="leave the header out")
    assert [one.kind for one in due.undispatched(book.state)] == ["plan"]


def test_the_person_lets_a_plan_pass() -> None:
    book = drafted(max_plan_revisions=0)
    book.do(batch_review.planned, {"findings": [blocker()]})
    with pytest.raises(Refused, match="no reason given"):
        book.do(batch_review.waived, " ")
    book.do(batch_review.waived, "good enough")
    assert book.state.session.question is None and due.command(book.state) == "loopkit wave next"
    assert "the plan was not approved" in supervision.warnings(book.state)[-1], "it stays told"


def test_a_plan_that_contradicts_a_decision_is_no_plan() -> None:
    book = drafted()
    book.do(decisions.recorded, DECISION)
    with pytest.raises(Refused, match="contradicts decision 001, as WARNING"):
        book.do(batch_review.planned, {"findings": [blocker(severity="Minor", contradicts=[1])]})
    data = book.do(batch_review.planned, {"findings": [blocker(contradicts=[1])]})[0][1]
    assert "contradicts decision 001" in data["issues"][0] and data["outcome"] == "revise"


def test_reviews_that_decide_belong_to_their_policy() -> None:
    policy = policies.of(Book().state)
    with pytest.raises(Refused, match="approval = review, this one has evidence"):
        policy.check_reviews("loopkit review --plan")
    policies.of(planned().state).check_reviews("loopkit review --plan")
    with pytest.raises(Refused, match="the plan is approved"):
        planned().do(batch_review.planned, {"findings": []})


# -- a batch


def test_the_three_moments_of_a_todo() -> None:
    book = planned()
    assert status(book) == "pending", "the plan is approved"
    book.wave()
    assert status(book) == "in_progress", "dispatched"
    book.verify("T-001")
    book.verify("T-002")
    assert status(book) == "in_progress", "a passing check completes nothing here"
    with pytest.raises(
        Refused, match=r"nobody has judged T-001, T-002; next: loopkit review --wave 1"
    ):
        book.do(waves.closed)
    judge(book)
    assert status(book) == "completed" and due.command(book.state) == "loopkit wave close"
    book.do(waves.closed)
    assert book.state.reviews["wave_1"]["blockers"] == 0


def test_changes_fail_the_attempt_and_the_findings_go_to_the_next_one() -> None:
    book = running()
    rows = [
        blocker(task="T-002", place="b.py:3"),
        blocker(severity="Suggestion", issue="a name", task="T-002"),
    ]
    judge(book, verdicts={"T-001": "approved", "T-002": "changes"}, findings=rows)
    assert (status(book, "T-001"), status(book, "T-002")) == ("completed", "pending")
    entry = book.state.tasks["T-002"].history[-1]
    assert entry["error"].splitlines() == [
        "BLOCKER b.py:3: the key is a header; do: use the address",
        "SUGGESTION: a name; do: use the address",
    ]
    assert book.state.findings["F-001"].task == "T-002" and book.state.attempts == 1
    book.do(waves.closed)
    assert due.command(book.state) == "loopkit verify M2 -- git diff --exit-code requirements.txt"
    book.seen()
    assert due.command(book.state) == "loopkit panel T-002"
    book.panel("T-002")
    assert panel.advice(book.state, "T-002") is not None
    begin(book)
    judge(book)
    book.do(waves.closed)
    assert book.state.stage == "review"


def test_every_task_of_the_batch_has_a_verdict_or_nothing_is_recorded() -> None:
    book = running()
    with pytest.raises(
        Refused, match="no verdict for T-002; the whole batch is judged in one review"
    ):
        judge(book, verdicts={"T-001": "approved"})
    with pytest.raises(Refused, match="no verdict for T-001, T-002"):
        judge(book, verdicts={})
    assert status(book) == "in_progress"


def test_nothing_is_approved_without_a_check_that_passes_now() -> None:
    book = planned()
    book.wave()
    with pytest.raises(
        Refused, match="T-001 has no passing check; next: loopkit verify T-001 -- ls"
    ):
        judge(book)
    book.verify("T-001")
    book.verify("T-002")
    book.verify("T-002", passed=False)
    with pytest.raises(Refused, match="T-002 has no passing check"):
        judge(book)
    judge(
        book, verdicts={"T-001": "approved", "T-002": "changes"}, findings=[blocker(task="T-002")]
    )
    assert (status(book, "T-001"), status(book, "T-002")) == ("completed", "pending")


def test_a_check_of_an_earlier_attempt_proves_nothing() -> None:
    book = running(task("a"))
    judge(book, verdicts={"T-001": "changes"}, findings=[blocker()])
    book.do(waves.closed)
    book.panel("T-001")
    book.wave()
    assert (
        policies.of(book.state).at_work(book.state) == ["T-001"]
        and due.command(book.state) == "loopkit wave next"
    )
    with pytest.raises(Refused, match="no passing check"):
        judge(book)


@pytest.mark.parametrize("name", ["build", "tests"])
def test_with_a_failed_build_or_failed_tests_nothing_is_approved(name: str) -> None:
    book = running()
    judge(book, **{name: "failed"})
    assert (status(book, "T-001"), status(book, "T-002")) == ("pending", "pending")
    (found,) = book.state.findings.values()
    assert (found.id, found.severity) == ("F-001", "BLOCKER") and "fail" in found.issue
    assert all(f"{name} failed" in one.history[-1]["error"] for one in book.state.tasks.values())
    assert book.of("review_light")[0]["verdicts"] == {"T-001": "changes", "T-002": "changes"}


def test_lint_that_fails_is_what_the_reviewer_makes_of_it() -> None:
    book = running()
    judge(book, lint="failed")
    assert status(book) == "completed"


def test_a_blocker_and_an_approval_do_not_go_together() -> None:
    book = running()
    book.do(decisions.recorded, DECISION)
    for row in (
        blocker(task="1.1"),
        blocker(place="a.py:3"),
        blocker(files=["a.py"]),
        blocker(task="T-001", contradicts=1),
    ):
        with pytest.raises(Refused, match="T-001 is approved, yet a BLOCKER is about it"):
            judge(book, findings=[row])
    with pytest.raises(Refused, match="a BLOCKER and nothing to be changed for it"):
        judge(book, findings=[blocker()])
    with pytest.raises(Refused, match="T-002 is to be changed and no finding says how"):
        judge(
            book,
            verdicts={"T-001": "approved", "T-002": "changes"},
            findings=[blocker(severity="Minor", task="T-001")],
        )
    with pytest.raises(Refused, match="F-001 is about T-003, which is not in this batch"):
        book.do(drafts.submit, [task("later")])
        judge(book, findings=[blocker(task="T-003")])


@pytest.mark.parametrize("build", ["passed", "failed"])
def test_a_blocker_about_a_completed_task_opens_it_again_and_it_failed_in_that_batch(
    build: str,
) -> None:
    book = running(task("a", files=["a.py"]), task("b", files=["b.py"], blocked_by=["#1"]))
    judge(book)
    book.do(waves.closed)
    begin(book)
    rows = [blocker(task="T-001", issue="no answer for 101 in a.py")]
    verdicts = {"T-002": "changes" if build == "failed" else "approved"}
    judge(
        book,
        verdicts=verdicts,
        findings=[*rows, *([blocker(task="T-002")] if build == "failed" else [])],
        build=build,
    )
    assert status(book) == "pending" and book.state.findings["F-001"].task == "T-001"
    book.do(waves.closed)
    (outcome, other) = (book.state.history.batches[-1].outcomes[one] for one in ("T-001", "T-002"))
    assert outcome.result == "failed" and "no answer for <n> in <path>" in outcome.signature
    assert other.result == ("failed" if build == "failed" else "passed")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"verdicts": {"T-009": "approved"}}, "there is no task T-009"),
        ({"verdicts": {"T-001": "approved", "1.1": "changes"}}, "T-001 has two verdicts"),
        ({"build": None}, "build is missing"),
    ],
)
def test_a_batch_review_that_does_not_fit(given: dict, says: str) -> None:
    book = running()
    with pytest.raises(LoopError, match=says):
        judge(book, **given)
    assert not book.of("review_light")


def test_the_wave_that_is_meant_is_the_open_one() -> None:
    book = running()
    with pytest.raises(Refused, match="wave 2 is not open; next: loopkit review --wave 1"):
        book.do(batch_review.judged, 2, "batch", FINE)
    with pytest.raises(
        Refused, match="wave 1 holds no scaffold task; next: loopkit review --wave 1"
    ):
        judge(book, "scaffold")
    judge(book)
    with pytest.raises(Refused, match="every task of wave 1 is decided; next: loopkit wave close"):
        judge(book)
    book.do(waves.closed)
    with pytest.raises(Refused, match="no wave is open"):
        judge(book)


def test_a_task_that_failed_by_its_check_needs_no_verdict() -> None:
    book = planned(max_fix_cycles=0)
    book.wave()
    book.verify("T-001", passed=False)
    book.verify("T-002")
    assert status(book) == "pending"
    assert due.command(book.state) == "loopkit review --wave 1"
    with pytest.raises(
        Refused, match="T-001 is pending and cannot be approved; a verdict is wanted for T-002"
    ):
        judge(book, verdicts={"T-001": "approved", "T-002": "approved"})
    judge(
        book, verdicts={"T-001": "changes", "T-002": "approved"}
    )  # what has failed already is not failed again
    assert book.state.tasks["T-001"].attempts == 1
    book.do(waves.closed)
    assert (book.state.waves[0].completed, book.state.waves[0].failed) == (("T-002",), ("T-001",))


def test_the_last_subtasks_of_a_parent_are_approved_in_one_review() -> None:
    book = planned(task("a"))
    book.do(drafts.split, "T-001", [task("x"), task("y")])
    begin(book)
    judge(book)
    assert {one.status for one in book.state.tasks.values()} == {"completed"}


def test_a_build_that_a_completed_task_broke_needs_no_finding_about_each_task_of_the_batch() -> (
    None
):
    book = running(task("a", files=["a.py"]), task("b", files=["b.py"], blocked_by=["#1"]))
    judge(book)
    book.do(waves.closed)
    begin(book)
    judge(book, verdicts={"T-002": "approved"}, findings=[blocker(task="T-001")], build="failed")
    assert [status(book, one) for one in ("T-001", "T-002")] == ["pending", "pending"]
    assert "the build fails" in book.state.tasks["T-002"].history[-1]["error"]
    assert [one.task for one in book.state.findings.values()] == ["T-001", "T-002"]


def test_a_parent_is_not_complete_while_a_subtask_is_opened_again() -> None:
    book = planned(task("a"))
    book.do(drafts.split, "T-001", [task("x"), task("y", blocked_by=["#1"])])
    begin(book)
    judge(book)
    book.do(waves.closed)
    begin(book)
    judge(book, verdicts={"T-003": "approved"}, findings=[blocker(task="T-002")])
    assert [status(book, one) for one in ("T-001", "T-002", "T-003")] == [
        "blocked",
        "pending",
        "completed",
    ]
    book.do(waves.closed)
    begin(book)
    judge(book)
    assert {one.status for one in book.state.tasks.values()} == {"completed"}


def test_a_broken_must_not_pauses_the_loop_after_all_is_recorded() -> None:
    book = running()
    judge(
        book,
        verdicts={"T-001": "approved", "T-002": "changes"},
        findings=[blocker(task="T-002", breaks=["M1"])],
    )
    assert book.state.session.status == "paused" and status(book) == "completed"


def test_the_attempt_too_many_ends_the_loop() -> None:
    book = running(task("a"), task("b"), max_step_attempts=1, max_replan_depth=0)
    judge(book, verdicts=dict.fromkeys(("T-001", "T-002"), "changes"), findings=[blocker()])
    assert (book.state.session.status, book.state.session.verdict) == ("failed", "impossible")
    assert len(book.of("loop_failed")) == 1


# -- scaffold


def test_scaffold_and_its_review_come_before_the_first_other_task() -> None:
    book = planned(task("b"), task("a", scaffold=True), task("c", scaffold=True, blocked_by=[2]))
    for task_id in ("T-002", "T-003"):
        assert outline.phase(book.state) == "SCAFFOLD"
        begin(book)
        assert list(book.state.running) == [task_id]
        assert due.command(book.state) == "loopkit review --scaffold"
        with pytest.raises(Refused, match="holds scaffold tasks; next: loopkit review --scaffold"):
            judge(book)
        judge(book, "scaffold")
        book.do(waves.closed)
        book.seen()
    assert [one["mode"] for one in book.of("review_light")] == ["scaffold", "scaffold"]
    assert outline.phase(book.state) == "EXECUTE"
    begin(book)
    assert list(book.state.running) == ["T-001"]


def test_a_scaffold_task_that_failed_holds_the_others_back() -> None:
    book = running(task("a", scaffold=True), task("b"))
    judge(book, "scaffold", verdicts={"T-001": "changes"}, findings=[blocker()])
    book.do(waves.closed)
    with pytest.raises(Refused, match="no task is ready"):
        book.wave()
    book.panel("T-001")
    book.wave()
    assert list(book.state.running) == ["T-001"]


def test_a_scaffold_task_may_wait_for_another_one() -> None:
    book = planned(task("a"), task("b"), task("c", scaffold=True, blocked_by=[1]))
    book.wave()
    assert list(book.state.running) == ["T-001"], "what the scaffold waits for, and nothing else"


def test_the_subtasks_of_a_scaffold_task_are_scaffold_too() -> None:
    book = planned(task("a", scaffold=True), task("b"))
    book.do(drafts.split, "T-001", [task("x"), task("y")])
    book.wave()
    assert list(book.state.running) == ["T-003", "T-004"]


def test_dispatch_name_the_role_and_the_review() -> None:
    book = planned(task("a", scaffold=True), task("b"))
    book.wave()
    lines = due.dispatch_lines(book.state, ["T-001"])
    assert (
        lines[0].startswith("agent loop:scaffold: Do T-001")
        and lines[1] == "loopkit review --scaffold"
    )
    other = running()
    coder, step = due.dispatch_lines(other.state, ["T-001"])
    assert coder.startswith("agent loop:coder: Do T-001") and step == "loopkit review --wave 1"
    unreviewed = Book().planned(task("a", scaffold=True))
    unreviewed.wave()
    assert due.dispatch_lines(unreviewed.state, ["T-001"])[0].startswith("agent loop:coder: ")


def test_no_step_of_a_reviewed_loop_is_missing() -> None:
    """Following what comes next, from the plan to the thorough review, with a revision and an
    attempt that failed."""
    book = drafted(task("a", scaffold=True), task("b"), task("c", blocked_by=["#2"]))
    seen: list[str] = []
    refused = False
    while book.state.stage in ("decompose", "executing"):
        step = due.command(book.state) or ""
        seen.append(step)
        assert len(seen) < 40, seen
        if step == "loopkit review --plan":
            book.do(batch_review.planned, {"findings": [] if len(seen) > 1 else [blocker()]})
        elif step == "loopkit wave next" and due.undispatched(book.state):
            book.do(
                drafts.replaced,
                [task("a", scaffold=True), task("b"), task("c", blocked_by=["#2"])],
                {},
            )
        elif step == "loopkit wave next":
            begin(book)
        elif step.startswith("loopkit review --") and step != "loopkit review --thorough":
            kind = "scaffold" if "scaffold" in step else "batch"
            changes = kind == "batch" and not refused
            refused = refused or changes
            waiting = work.running(book.state)
            judge(
                book,
                kind,
                **(
                    {"verdicts": dict.fromkeys(waiting, "changes"), "findings": [blocker()]}
                    if changes
                    else {}
                ),
            )
        elif step == "loopkit wave close":
            book.do(waves.closed)
        elif step.startswith("loopkit verify M2"):
            book.seen()
        elif step.startswith("loopkit panel"):
            book.panel(step.split()[-1])
        else:
            raise AssertionError(step)
    assert str(due.command(book.state)).startswith("loopkit verify M2 ")
    book.seen()
    assert due.command(book.state) == "loopkit review --thorough"
    assert seen.count("loopkit review --scaffold") == 1 and len(book.state.waves) == 4


def test_a_reviewer_whose_verdict_is_in_is_at_no_other_batch() -> None:
    book = running(task("a"), task("b", blocked_by=["#1"]))
    assert [kind for kind, _ in book.do(batch_review.asked, None, "batch")] == ["role_asked"]
    assert batch_review.at_review(book.state) and book.do(batch_review.asked, None, "batch") == []
    judge(book)
    book.do(waves.closed)
    book.wave()
    assert not batch_review.at_review(book.state)


def test_who_waits_for_the_review_is_not_dispatched_again() -> None:
    """A stop lets the session go between the last check and the review: what was proven stays
    so."""
    book = planned()
    book.wave()
    book.verify("T-001")
    book.line("iteration_ended", "hook", decision="hold", fingerprint="f")
    assert waves.orphaned(book.state) == ["T-002"]
    book.do(waves.next_wave, False)
    book.verify("T-002")
    judge(book)
    assert status(book) == "completed"


def test_a_loop_that_is_resumed_keeps_what_waits_for_its_review() -> None:
    book = planned()
    book.wave()
    book.verify("T-001")
    book.do(resumption.reopened)
    assert (status(book), status(book, "T-002")) == ("in_progress", "pending")
    book.do(waves.next_wave, False)
    book.verify("T-002")
    judge(book)
    assert book.state.counts["completed"] == 2


def at_random(book: Book, dice: random.Random, step: str) -> None:
    """Do what comes next, however it turns out."""
    words = step.split()
    if step == "loopkit review --plan":
        book.do(batch_review.planned, {"findings": [blocker()] if dice.random() < 0.4 else []})
    elif step == "loopkit wave next" and due.undispatched(book.state):
        rows = [
            task(
                f"t{place}",
                scaffold=place == 0 and dice.random() < 0.5,
                blocked_by=["#1"] * (place == 3),
            )
            for place in range(4)
        ]
        book.do(drafts.replaced, rows, {})
    elif step == "loopkit wave next":
        if not policies.of(book.state).at_work(book.state):
            book.wave()
        for task_id in policies.of(book.state).at_work(book.state):
            fate = dice.random()
            if fate < 0.7:
                book.verify(task_id, passed=fate < 0.5)
            elif fate < 0.8:
                book.do(attempts.failed, task_id, "no way", None)
            elif fate < 0.85:
                book.do(work.blocked, task_id, dice.choice(("external", "dependency")), "a key")
            if book.state.session.status != "running":
                return
    elif words[1] == "review" and "--thorough" not in words:
        kind = "scaffold" if "--scaffold" in words else "batch"
        verdicts = dict.fromkeys(work.running(book.state), "approved")
        verdicts.update((one, "changes") for one in verdicts if dice.random() < 0.3)
        rows = [blocker(task=one) for one, verdict in verdicts.items() if verdict == "changes"]
        judge(
            book,
            kind,
            verdicts=verdicts,
            findings=rows,
            tests=dice.choice(("passed",) * 5 + ("failed",)),
        )
    elif words[1:3] == ["wave", "close"]:
        book.do(waves.closed)
    elif words[1:3] == ["verify", "M2"]:
        book.seen()
    elif words[1:3] == ["verify", "D1"]:
        book.do(
            decisions.checked,
            1,
            {**dict.fromkeys(("log", "head"), "x"), "exit": 1, "seconds": 0.1, "passed": False},
        )
    elif words[1] == "panel":
        book.panel(words[2])
    elif words[1:3] == ["task", "split"]:
        book.do(drafts.split, words[3], [task("x"), task("y")])
    elif words[1:3] == ["task", "unblock"]:
        book.do(work.unblocked, words[3])
    elif words[1] == "answer":
        book.line("question_answered", text="go on")
    else:
        raise AssertionError(step)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_there_is_a_next_step_that_can_be_done(seed: int) -> None:
    dice = random.Random(seed)
    book = Book(approval="review", settings={"max_replan_depth": 1}).shaped()
    book.do(decisions.recorded, {**DECISION, "invalidated_if": "$ false"})
    for _ in range(300):
        step = due.command(book.state)
        if (
            step is None
            or step == "loopkit review --thorough"
            or book.state.session.status == "paused"
        ):
            break
        at_random(book, dice, step)
    else:
        raise AssertionError(f"no end: {step}")
    completed = {one["id"] for one in book.of("task_completed")}
    approved = {
        name
        for row in book.of("review_light")
        for name, said in row["verdicts"].items()
        if said == "approved"
    }
    parents = {one.parent for one in book.state.tasks.values()}
    assert completed - parents <= approved, "nothing is completed but by a verdict"


def test_a_blocked_scaffold_task_lets_the_session_go_and_names_what_it_waits_for() -> None:
    book = planned(task("a", scaffold=True), task("b"))
    book.wave()
    book.do(work.blocked, "T-001", "permission", "a key")
    book.do(waves.closed)
    book.seen()
    assert book.state.free == 1 and book.state.workable == 0, "the other one waits for the scaffold"
    while book.state.session.question is None and due.command(book.state) == "loopkit wave next":
        book.wave()
    book.line("question_answered", text="here it is")
    assert due.command(book.state) == "loopkit task unblock T-001"


def test_the_plan_s_reviewer_may_correct_a_proof() -> None:
    book = drafted()
    row = {"id": "c1", "proof": "pytest tests/test_all.py", "why": "that file is not there"}
    with pytest.raises(Refused, match="there is no proof of M1"):
        book.do(batch_review.planned, {"findings": [], "proofs": [{**row, "id": "M1"}]})
    book.do(batch_review.planned, {"findings": [], "proofs": [row]})
    (replaced,) = book.state.replaced
    assert replaced.word == "plan reviewer"
    assert book.state.criteria["C1"].command == "pytest tests/test_all.py" == replaced.new
    assert "C1" in trials.untried(book.state)
