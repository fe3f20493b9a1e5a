"""Plans, their reviews and revisions, replans: what is accepted, what is asked again, what ends in
a pause."""

from __future__ import annotations

import pytest

from loopkit.core.journal.errors import Refused
from loopkit.core.plan import drafts
from loopkit.core.steps import answers, due, snapshot, supervision, waves
from tests.core.kit import Book, task
from tests.core.roles import Roles, diagnosis, piece, pieces, plan, replan, scored


@pytest.fixture
def book() -> Roles:
    """Shaped; a plan is to be made."""
    return Roles()


def outcome(book: Roles, score: int, **fields: object) -> str:
    given = {"feedback": f"worth {score}\nnext: rm -r x", **fields}
    return book.reply("verification", "plan", scored(score, **given))[0][1]["outcome"]


def invalid(
    book: Roles, kind: str, target: str | None, text: str = "a plan", instead: dict | None = None
) -> list[str]:
    return [
        one
        for one, _ in book.do(
            answers.answered, kind, target, None, "it is no record", text, instead
        )
    ]


# -- size and shape of a plan


@pytest.mark.parametrize("count", range(3, 9))
def test_three_to_eight_tasks_need_no_warning(book: Roles, count: int) -> None:
    book.reply("plan", None, plan(*pieces(count)))
    assert book.state.supervision.plan["warning"] == "" and len(book.state.tasks) == count
    assert supervision.warnings(book.state) == []


@pytest.mark.parametrize("count", [2, 9, 15])
def test_two_and_nine_to_fifteen_are_taken_with_a_warning(book: Roles, count: int) -> None:
    book.reply("plan", None, plan(*pieces(count)))
    assert (
        book.state.supervision.plan["warning"] == f"the plan has {count} tasks, 3 to 8 are expected"
    )
    assert supervision.warnings(book.state) == [f"the plan has {count} tasks, 3 to 8 are expected"]


@pytest.mark.parametrize("count", [1, 16, 40])
def test_one_and_sixteen_are_refused_and_asked_for_again(book: Roles, count: int) -> None:
    book.ask()
    assert book.kinds("plan", None, plan(*pieces(count))) == ["reply_unfit"]
    assert book.state.tasks == {} and [one.kind for one in due.undispatched(book.state)] == ["plan"]
    assert f"at least 2 and at most 15, not {count}" in book.state.supervision.invalid["plan"]
    book.reply("plan", None, plan())
    assert len(book.state.tasks) == 3 and book.state.supervision.invalid == {}


def test_the_size_rule_is_for_supervised_plans_only() -> None:
    assert len(Book().planned(task()).state.tasks) == 1
    assert len(Book().planned(*[task(str(number)) for number in range(16)]).state.tasks) == 16


def test_each_task_has_complexity_criteria_and_a_check(book: Roles) -> None:
    rows = [
        piece(
            "Count requests\nper minute",
            "pytest -q",
            "medium",
            verificationCriteria=["the 101st is refused"],
        ),
        piece(
            "answer", dependencies=[0], files=["a.py"], criteria=["C1"], scaffold=False, group="api"
        ),
        piece("x" * 300, subject="Tell the client"),
    ]
    book.reply("plan", None, plan(*rows))
    first, second, third = book.state.tasks.values()
    assert (first.subject, first.verify, first.complexity) == (
        "Count requests",
        "pytest -q",
        "medium",
    )
    assert first.description == "Count requests\nper minute\nDone when:\n- the 101st is refused"
    assert second.description == "answer"
    assert (second.blocked_by, second.files, second.criteria, second.group) == (
        ("T-001",),
        ("a.py",),
        ("C1",),
        "api",
    )
    assert third.subject == "Tell the client" and "x" * 300 in third.description


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (piece("b", dependencies=[2]), "cycle: T-002 → T-003 → T-002"),
        (piece("b", criteria=["C9"]), "there is no criterion C9"),
    ],
)
def test_a_plan_that_the_rules_cannot_take_is_asked_for_again(
    book: Roles, row: dict, words: str
) -> None:
    assert book.kinds("plan", None, plan(piece("a"), row, piece("c", dependencies=[1]))) == [
        "reply_unfit"
    ]
    assert words in book.state.supervision.invalid["plan"] and book.state.tasks == {}


def test_decisions_of_a_plan_are_recorded_with_it(book: Roles) -> None:
    rows = [
        {
            "title": name,
            "choice": "c",
            "context": "x",
            "alternatives": ["other: slow"],
            "supersedes": None,
            "files": [],
        }
        for name in ("first", "second")
    ]
    book.reply("plan", None, plan(decisions=rows))
    assert [(one["number"], one["title"]) for one in book.state.decisions] == [
        (1, "first"),
        (2, "second"),
    ]
    book.reply("verification", "plan", scored(60))
    book.reply("plan", None, plan(decisions=rows))
    assert len(book.state.decisions) == 2


# -- a planner that gives nothing


def test_a_list_is_taken_the_second_time(book: Roles) -> None:
    assert invalid(book, "plan", None, instead=plan(*pieces(4))) == ["reply_unfit"]
    kinds = invalid(book, "plan", None, instead=plan(*pieces(4)))
    assert kinds[:2] == ["reply_unfit", "plan_proposed"] and len(book.state.tasks) == 4
    assert book.state.supervision.misses == {}


def test_a_list_that_is_no_plan_says_so_too(book: Roles) -> None:
    invalid(book, "plan", None)
    assert invalid(book, "plan", None, instead=plan(piece("all of it"))) == ["reply_unfit"]
    assert book.of("reply_unfit")[-1]["error"].startswith(
        "it is no record; as a list: tasks: a plan has"
    )


def test_nothing_usable_for_the_third_time_pauses(book: Roles) -> None:
    for _ in range(2):
        assert invalid(book, "plan", None)[-1] == "reply_unfit"
    assert invalid(book, "plan", None) == ["reply_unfit", "paused"]
    session = book.state.session
    assert (session.status, session.verdict) == ("paused", "planner_unusable")
    book.line("resumed")
    assert book.wanted == ["plan"]
    assert invalid(book, "plan", None) == ["reply_unfit"]  # a person's new decision: three more


# -- questions


def test_questions_go_to_the_person_and_the_answer_to_the_planner(book: Roles) -> None:
    book.ask()
    assert book.kinds("plan", None, {"tasks": [], "questions": ["Which table?", "How many?"]}) == [
        "question_asked"
    ]
    assert book.state.session.question == "Which table?\nHow many?" and book.wanted == []
    book.line("question_answered", text="the new one, 100")
    assert [one.kind for one in due.undispatched(book.state)] == ["plan"]
    assert book.state.supervision.questions == [
        {"question": "Which table?\nHow many?", "answer": "the new one, 100"}
    ]


def test_questions_without_end_are_no_questions(book: Roles) -> None:
    for questions in (["why? " * 2000], ["why?\r" * 21]):
        assert book.kinds("plan", None, {"tasks": [], "questions": questions}) == ["reply_unfit"]
    assert "ask what only a person can answer" in book.state.supervision.invalid["plan"]


def test_where_nobody_can_be_asked_the_planner_has_to_assume() -> None:
    book = Roles(unattended=True)
    assert book.kinds("plan", None, {"tasks": [], "questions": ["Which table?"]}) == ["reply_unfit"]
    assert (
        "assumptions" in book.state.supervision.invalid["plan"]
        and book.state.session.question is None
    )


def test_questions_beside_tasks_are_kept_with_the_plan(book: Roles) -> None:
    book.reply(
        "plan", None, plan(questions=["Is 429 right?"], risks=["slow"], assumptions=["one process"])
    )
    row = book.state.supervision.plan
    assert (row["questions"], row["risks"], row["assumptions"]) == (
        ["Is 429 right?"],
        ["slow"],
        ["one process"],
    )


# -- the review of a plan


def test_a_plan_after_all_tasks_were_removed_is_reviewed_too(book: Roles) -> None:
    book.approved()
    for name in list(book.state.tasks):
        book.do(drafts.removed, name)
    assert book.wanted == ["plan"]
    book.reply("plan", None, plan())
    assert book.wanted == ["verification plan"]


def test_70_approves_and_69_does_not(book: Roles) -> None:
    book.reply("plan", None, plan())
    assert book.wanted == ["verification plan"]
    assert outcome(book, 69) == "revise" and book.wanted == ["plan"]
    book.reply("plan", None, plan())
    assert outcome(book, 70) == "approved" and book.wanted == []
    assert due.command(book.state) == "loopkit wave next"


def test_no_wave_opens_before_the_plan_is_reviewed(book: Roles) -> None:
    book.reply("plan", None, plan())
    for decide in (lambda: book.do(waves.started, "T-001"), book.wave):
        with pytest.raises(Refused, match="the plan has not been reviewed"):
            decide()


def test_a_revised_plan_replaces_the_former_one_whose_ids_stay_used(book: Roles) -> None:
    book.reply("plan", None, plan(*pieces(4)))
    outcome(book, 40)
    book.reply("plan", None, plan(*pieces(3)))
    assert list(book.state.tasks) == ["T-005", "T-006", "T-007"]
    assert (book.state.planned, book.state.highest, len(book.state.open)) == (3, 7, 3)
    assert snapshot.build(book.state, 0)["tasks"]["total"] == 3
    assert book.state.supervision.plan["replaces"] == ["T-001", "T-002", "T-003", "T-004"]


def test_feedback_issues_and_missing_elements_are_kept_for_the_planner(book: Roles) -> None:
    book.reply("plan", None, plan())
    outcome(book, 55, issues=["no test"], missingElements=["the header"])
    row = book.state.supervision.review
    assert (row["feedback"], row["issues"], row["missing"]) == (
        "worth 55\nnext: rm -r x",
        ["no test"],
        ["the header"],
    )
    assert row["level"] == "remind"


def to_the_last_review(book: Roles, score: int = 69) -> str:
    """Plan and review until no revision is left; the last outcome."""
    for _ in range(20):
        book.reply("plan", None, plan())
        last = outcome(book, score)
        if last != "revise":
            return last
    raise AssertionError("revised for ever")


@pytest.mark.parametrize(("most", "plans"), [(3, 4), (0, 1), (1, 2)])
def test_max_plan_revisions_changes_how_often_is_revised(most: int, plans: int) -> None:
    book = Roles(settings={"max_plan_revisions": most})
    assert to_the_last_review(book) == "continue"
    assert sum(event.type == "plan_proposed" for event in book.events) == plans
    assert [
        event.data["revision"] for event in book.events if event.type == "plan_reviewed"
    ] == list(range(plans))


@pytest.mark.parametrize(
    ("how", "score", "wanted"),
    [
        ("continue", 10, "continue"),
        ("lower", 50, "lower"),
        ("lower", 49, "paused"),
        ("stop", 69, "paused"),
    ],
)
def test_plan_review_failure_decides_what_follows_the_last_revision(
    how: str, score: int, wanted: str
) -> None:
    book = Roles(settings={"plan_review_failure": how})
    assert to_the_last_review(book, score) == wanted
    if wanted == "paused":
        assert "\n" not in book.state.session.reason  # nothing of it can pass for a line of ours
        assert (
            book.state.session.status == "paused"
            and "not approved after 3 revisions" in book.state.session.reason
        )
        book.line("resumed")
        assert book.wanted == ["plan"]  # the person goes on: the planner has another try
        assert "revision 3 of 3" in supervision.lines(book.state)[0]
        book.reply("plan", None, plan())
        assert (
            "revision 4" in supervision.lines(book.state)[0]
            and "4 of" not in supervision.lines(book.state)[0]
        )
    else:
        assert due.command(book.state) == "loopkit wave next"
        assert supervision.warnings(book.state) == [
            f"the plan was not approved (with {score} after revision 3)"
        ]


def test_an_invalid_plan_review_counts_as_failed(book: Roles) -> None:
    book.reply("plan", None, plan())
    invalid(book, "verification", "plan")
    invalid(book, "verification", "plan")
    assert book.wanted == ["plan"] and book.state.supervision.review["score"] is None


def test_plan_review_is_skipped_when_a_task_is_completed(book: Roles) -> None:
    book.reply("plan", None, plan())
    book.line("task_completed", id="T-001")
    assert "verification plan" not in book.wanted
    book.wave()
    assert book.wanted == ["implementation T-002", "implementation T-003"]


def test_the_task_list_is_confirmed_once_the_plan_is_approved() -> None:
    book = Book(approval="supervisor")
    roles = Roles.__new__(Roles)
    roles.__dict__ = book.__dict__
    roles.score(2, 2, 1, 1, 1)  # tool-review: shape and task list are confirmed
    from loopkit.core.request import intake
    from tests.core.kit import SHAPE

    roles.do(intake.shaped, SHAPE)
    roles.do(intake.confirmed, "shape")
    assert due.command(roles.state) == "loopkit wave next" and roles.wanted == ["plan"]
    roles.reply("plan", None, plan())
    assert roles.wanted == ["verification plan"]
    roles.reply("verification", "plan", scored(80))
    assert due.command(roles.state) == "loopkit confirm tasks" and roles.wanted == []
    roles.do(intake.confirmed, "tasks")
    assert due.command(roles.state) == "loopkit wave next"


# -- loops whose batches are reviewed


def test_in_a_reviewed_loop_the_planner_plans_and_loopkit_review_judges_it() -> None:
    book = Roles("review")
    assert book.wanted == ["plan"] and due.command(book.state) == "loopkit wave next"
    book.reply("plan", None, plan())
    assert book.wanted == [] and due.command(book.state) == "loopkit review --plan"
    with pytest.raises(
        Refused, match="the plan has not been reviewed; next: loopkit review --plan"
    ):
        book.wave()
    row = {"score": None, "feedback": "f", "issues": ["i"], "missing": []}
    book.line("plan_reviewed", revision=0, approved=False, outcome="revise", **row)
    assert book.wanted == ["plan"]
    book.reply("plan", None, plan())
    book.line("plan_reviewed", revision=1, approved=True, outcome="approved", **row)
    book.wave()
    assert book.wanted == [] and len(book.state.running) == 3
    book.reply("implementation", "T-004", {"status": "complete", "summary": "s"})
    assert book.state.tasks["T-004"].coded is not None, "its check and the review decide"


# -- task add --replace


def test_replace_in_any_loop_before_the_first_attempt() -> None:
    book = Book().planned(task("a"), task("b"))
    book.do(drafts.replaced, [task("c"), task("d", blocked_by=["#1"])])
    assert list(book.state.tasks) == ["T-003", "T-004"]
    assert book.state.tasks["T-004"].blocked_by == ("T-003",)
    with pytest.raises(Refused, match="blocked by T-003, which is replaced"):
        book.do(drafts.replaced, [task("e", blocked_by=["T-003"])])
    with pytest.raises(Refused, match="26 tasks, at most 25"):
        book.do(drafts.replaced, [task(str(number)) for number in range(26)])
    book.wave()
    with pytest.raises(Refused, match="replacing the plan belongs to stage decompose"):
        book.do(drafts.replaced, [task("e")])


def test_replace_is_refused_after_an_attempt() -> None:
    book = Book().planned(task("a"), task("b"))
    book.line("task_failed", id="T-001", attempt=1, action="retry")
    with pytest.raises(Refused, match="T-001 has been worked on, so the plan is not replaced"):
        book.do(drafts.replaced, [task("c")])


# -- replans


@pytest.fixture
def split() -> Roles:
    """T-001 is complex and is to be split."""
    return Roles().approved(piece("large", complexity="complex"), piece("b", dependencies=[0]))


def test_no_wave_takes_what_is_to_be_split(split: Roles) -> None:
    assert waves.choose(split.state, 6) == []
    split.reply("replan", "T-001", replan())
    assert [one.parent for one in waves.choose(split.state, 6)] == ["T-001", "T-001"]


@pytest.mark.parametrize(
    ("count", "warning"), [(1, "the same task in other words"), (2, ""), (15, "")]
)
def test_one_to_fifteen_subtasks(split: Roles, count: int, warning: str) -> None:
    data = split.reply("replan", "T-001", replan(*pieces(count)))[-1][1]
    assert (
        len(data["subtasks"]) == count
        and (warning in data["warning"])
        and bool(data["warning"]) == bool(warning)
    )
    assert split.state.tasks["T-001"].block_kind == "split" and data["analysis"] == "too large"
    assert {split.state.tasks[one].depth for one in data["subtasks"]} == {1}
    assert split.state.tasks["T-001"].attempts == 0


def test_a_replan_without_subtasks_is_an_error_asked_for_twice_more_then_pauses(
    split: Roles,
) -> None:
    none = {"analysis": "cannot be cut", "subtasks": []}
    split.ask()
    for _ in range(2):
        assert split.kinds("replan", "T-001", none) == ["reply_unfit"]
        assert split.state.tasks["T-001"].status == "pending"  # never a silent block
        assert [one.kind for one in split.ask()] == ["replan"]
    assert split.kinds("replan", "T-001", none) == ["reply_unfit", "paused"]
    assert split.state.session.verdict == "planner_unusable"
    split.line("resumed")
    split.reply("replan", "T-001", replan())
    assert split.state.tasks["T-001"].status == "blocked"


def test_sixteen_subtasks_are_asked_for_again(split: Roles) -> None:
    assert split.kinds("replan", "T-001", replan(*pieces(16))) == ["reply_unfit"]


def test_a_failed_task_is_split_after_its_diagnosis() -> None:
    book = Roles(settings={"max_step_attempts": 1}).executing()
    book.fail("T-001")
    for name in ("T-002", "T-003"):
        book.to_judge(name)
        book.reply("verification", name, scored(80))
    book.close()
    assert book.wanted == ["diagnosis T-001"]
    book.reply("diagnosis", "T-001", diagnosis("impossible", "two things in one"))
    book.seen()  # the mustNots are looked at after each wave
    assert book.wanted == ["replan T-001"] and due.command(book.state) == "loopkit wave next"
    book.reply("replan", "T-001", replan())
    assert book.state.tasks["T-001"].status == "blocked" and book.wanted == []
