"""resume, pause, cancel, ask, answer, status: leaving a loop and coming back to it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from tests.cli.kit import PANEL, S1, S2, SHAPE, Project, task


def at_intent(project: Project) -> None:
    project.start()


def at_shape(project: Project) -> None:
    project.start()
    project.score(2, 2, 1, 1, 1)


def at_decompose(project: Project) -> None:
    project.planned()


def at_executing(project: Project) -> None:
    project.planned(task(), task("b", blocked_by=["#1"]))
    project.write("limiter.txt")
    project.ok("wave", "next")
    project.verify("T-001")


def at_review(project: Project) -> None:
    project.reviewed(findings=[{"severity": "WARNING", "issue": "x"}])


def at_complete(project: Project) -> None:
    project.completed()


STAGES: dict[str, Callable] = {
    "intent": at_intent,
    "shape": at_shape,
    "decompose": at_decompose,
    "executing": at_executing,
    "review": at_review,
    "complete": at_complete,
}


@pytest.mark.parametrize("stage", STAGES)
def test_resume_in_another_session_keeps_everything(project: Project, stage: str) -> None:
    """Six stages: same stage, both scores, tasks, reviews; the loop's next step comes next."""
    STAGES[stage](project)
    before = project.status
    if stage == "complete":
        project.refused(
            1, "resume", session=S2, says="is over (achieved); start another: /loop:start <task>"
        )
        return
    answer = project.lk("resume", "--take-over", session=S2)
    assert answer.exit == 0 and "goes on in this session" in answer.out
    assert answer.steps == ["loopkit next"]
    after = json.loads(project.lk("status", "--json", session=S2).out)
    for key in (
        "stage",
        "spec_score",
        "fit_score",
        "shape_chosen",
        "tasks",
        "reviews",
        "wave",
        "iteration",
        "limits",
    ):
        assert after[key] == before[key]
    assert after["owner"]["session_id"] == S2
    assert len(project.of("scored")) == (0 if stage == "intent" else 1)


def test_a_live_owner_is_asked_for(project: Project) -> None:
    project.planned()
    said = project.refused(
        1, "resume", session=S2, says=f"belongs to session {S1}, which is running"
    )
    assert "loopkit resume --take-over" in said
    project.ok("resume", "--take-over", session=S2)
    project.refused(1, "wave", "next", says=f"belongs to session {S2}")
    project.ok("wave", "next", session=S2)


def test_an_owner_that_is_gone_is_not(project: Project, dead: str) -> None:
    project.start("x", CLAUDE_PID=dead)
    project.ok("resume", session=S2)
    assert project.snapshot["owner"] == {
        "session_id": S2,
        "client_pid": os.getpid(),
        "since": project.lines[-1]["at"],
    }


def test_every_changing_command_of_a_second_session_is_refused(project: Project) -> None:
    project.planned()
    for words in (
        ("score", "--overrule", "x"),
        ("shape", "--accept", "-"),
        ("confirm", "tasks"),
        ("task", "add", "a", "--verify", "ls"),
        ("task", "start", "T-001"),
        ("task", "fail", "T-001"),
        ("task", "block", "T-001", "--reason", "x"),
        ("task", "unblock", "T-001"),
        ("task", "split", "T-001", "--file", "-"),
        ("task", "set", "T-001", "--verify", "x"),
        ("task", "remove", "T-001"),
        ("verify", "T-001", "--", "test", "-f", "limiter.txt"),
        ("wave", "next"),
        ("wave", "close"),
        ("review", "--thorough"),
        ("review", "resolve", "F-001", "--approve"),
        ("panel", "T-001"),
        ("gate",),
        ("complete",),
        ("recall", "--confirm", "1"),
        ("ask", "?"),
        ("answer", "!"),
    ):
        given = [task()] if "split" in words else SHAPE
        project.refused(
            1, *words, given=given, session=S2, says=f"belongs to session {S1}; take it over"
        )


def test_looking_is_free_for_everybody(project: Project) -> None:
    project.planned()
    before = project.files()
    for words in (
        ("status",),
        ("status", "--list"),
        ("task", "list"),
        ("task", "show", "T-001"),
        ("task", "waves"),
        ("recall",),
    ):
        assert project.lk(*words, session=S2).exit == 0
        assert project.lk(*words, session=None).exit == 0
    assert project.files() == before


def test_a_person_in_a_terminal_may_change_it(project: Project) -> None:
    project.planned()
    project.ok("task", "add", "b", "--verify", "ls", session=None)
    assert project.lines[-1]["by"] == "person"


# -- pause, resume, limits


def test_resume_cuts_a_long_goal_between_words(project: Project) -> None:
    project.start("rate limiting " * 40)
    goal = project.ok("resume").out.partition("goal: ")[2].partition("\n")[0]
    assert len(goal) <= 300 and goal.endswith(("rate…", "limiting…"))


def test_pause_and_resume(project: Project) -> None:
    project.planned()
    answer = project.ok("pause", "lunch", "break")
    assert "the session is free" in answer.out and answer.waits == ["loopkit resume"]
    snapshot = project.snapshot
    assert (snapshot["status"], snapshot["reason"], snapshot["verdict"]) == (
        "paused",
        "lunch break",
        None,
    )
    project.refused(
        1,
        "wave",
        "next",
        says="is paused: lunch break; to go on, if the person says so: loopkit resume",
    )
    before = project.ledger.read_bytes()
    project.ok("pause")
    assert project.ledger.read_bytes() == before, "once is enough"
    project.ok("resume")
    project.ok("pause")
    project.refused(
        1,
        "wave",
        "next",
        says="is paused: by hand; to go on, if the person says so: loopkit resume",
    )
    assert project.ok("resume").steps == ["loopkit next"]
    assert project.snapshot["status"] == "running"


def stop_at(project: Project, verdict: str, **usage: object) -> None:
    """What the Stop hook writes when it lets the session go for good."""
    row = {
        "decision": "allow",
        "fingerprint": "x",
        "verdict": verdict,
        "reason": "used up",
        **usage,
    }
    line = {
        "v": 1,
        "at": project.lines[-1]["at"],
        "type": "iteration_ended",
        "by": "hook",
        "data": row,
    }
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


@pytest.mark.parametrize(
    ("verdict", "start", "usage", "too_little", "enough"),
    [
        ("limit_iterations", ("--iterations", "1"), {}, (), ("--iterations", "+1")),
        (
            "limit_budget",
            ("--usd", "3"),
            {"usage": {"claude-sonnet-5": [1_500_000, 0, 0, 0]}},
            ("--iterations", "+5"),
            ("--usd", "+0.5"),
        ),
        (
            "limit_iterations",
            ("--iterations", "1"),
            {},
            ("--usd", "none"),
            ("--iterations", "none"),
        ),
    ],
)
def test_a_reached_limit_goes_on_only_when_it_is_raised(
    project: Project, verdict: str, start: tuple, usage: dict, too_little: tuple, enough: tuple
) -> None:
    project.start("x", *start)
    stop_at(project, verdict, **usage)
    project.refused(75, "score", "--outcome", "2", says=f"paused ({verdict})")
    said = project.refused(75, "resume", *too_little, says="still at its limit")
    assert start[0] in said
    answer = project.ok("resume", *enough)
    assert project.snapshot["status"] == "running" and project.snapshot["verdict"] is None
    assert answer.steps == ["loopkit next"]


def test_a_limit_set_below_what_is_spent_says_so(project: Project) -> None:
    project.start()
    row = {
        "decision": "hold",
        "fingerprint": "x",
        "usage": {"claude-sonnet-5": [1_500_000, 0, 0, 0]},
    }
    line = {
        "v": 1,
        "at": project.lines[-1]["at"],
        "type": "iteration_ended",
        "by": "hook",
        "data": row,
    }
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    assert "a limit is reached" not in project.ok("resume", "--usd", "30").out
    said = project.ok("resume", "--usd", "1").out
    assert (
        "a limit is reached, so the loop pauses at its next step: $" in said
        and "raise: loopkit resume --usd +" in said
    )


def test_raised_limits_are_kept(project: Project) -> None:
    project.start()
    project.ok("resume", "--iterations", "+25", "--usd", "none", "--time", "+30m")
    assert project.snapshot["limits"] == {"iterations": 50, "usd": None, "seconds": 9000}


@pytest.mark.parametrize("words", [("--iterations", "some"), ("--usd", "-1"), ("--time", "0")])
def test_limits_that_cannot_be_taken(project: Project, words: tuple) -> None:
    project.start()
    project.refused(2, "resume", *words)


def test_a_stalled_loop_goes_on_with_fresh_counters(project: Project) -> None:
    project.planned()
    stop_at(project, "stalled")
    assert project.status["verdict"] == "stalled"
    project.ok("resume")
    assert project.status["verdict"] is None


# -- cancel


@pytest.mark.parametrize("session", [S1, S2, None])
def test_cancel_from_anywhere_keeps_the_work(project: Project, session: str | None) -> None:
    project.planned()
    answer = project.ok("cancel", "no", "longer", "needed", session=session)
    assert "0 of 1 tasks were completed" in answer.out and "its folder stays" in answer.out
    snapshot = project.snapshot
    assert (snapshot["status"], snapshot["verdict"], snapshot["stage"]) == (
        "aborted",
        "cancelled",
        "decompose",
    )
    assert project.ledger.exists()
    before = project.files()
    assert "was over already (cancelled)" in project.ok("cancel").out
    assert project.ledger.read_bytes() == before[f"{project.name}/ledger.jsonl"]
    project.refused(1, "resume", says="is over (cancelled)")


# -- questions


def test_a_question_stops_the_work_until_it_is_answered(project: Project) -> None:
    project.planned()
    answer = project.ok("ask", "Which of the two?")
    assert answer.out.startswith("asked: Which of the two?")
    assert answer.steps == ['loopkit answer "<what the person said>"']
    assert project.snapshot["status"] == "awaiting_approval"
    project.refused(1, "wave", "next", says="a question is open: Which of the two?")
    project.refused(1, "ask", "Another?", says="a question is open")
    answer = project.ok("answer", "The newer one")
    assert "answered: Which of the two?: The newer one" in answer.out and answer.steps == [
        "loopkit next"
    ]
    assert project.of("question_answered") == [{"text": "The newer one"}]
    project.refused(1, "answer", "again", says="no question is open")
    project.refused(1, "resume", "--answer", "again", says="no question is open")
    project.refused(2, "ask", "  ", says="the question is empty")


def test_resume_can_carry_the_answer(project: Project) -> None:
    project.planned()
    project.ok("ask", "?")
    assert project.ok("resume").steps == ['loopkit answer "<what the person said>"']
    assert project.ok("resume", "--answer", "yes").steps == ["loopkit next"]
    assert project.snapshot["status"] == "running"


# -- status


def test_status_shows_all_and_one_next_action(project: Project) -> None:
    project.planned(task("a"), task("b", blocked_by=["#1"]))
    project.ok("wave", "next")
    project.ok("wave", "close")
    project.ok("panel", "T-001", "--file", "-", given=PANEL)
    answer = project.ok("status")
    for words in (
        f"Loop {project.name}: running",
        "add rate limiting to the API",
        "Stage: executing | Spec: 10/10 | Fit: 65 | Shape: tool",
        "Tasks: 0/2 completed, 0 running, 2 pending, 0 failed, 0 blocked | Wave: 1",
        "T-001 a",
        "Iterations: 0 of 25 | Cost: $0.00 of $25 | Time: ",
        "Owner: this session | Started: ",
    ):
        assert words in answer.out
    assert answer.steps == ["loopkit next"]
    assert max(map(len, answer.out.splitlines())) <= 120


def test_status_names_models_without_a_price(project: Project) -> None:
    project.start()
    stop_at(project, "", usage={"mystery": [5, 5, 5, 5]})
    out = " ".join(project.ok("status").out.split())
    assert "20 tokens (no price for mystery: no money limit can be kept)" in out


def test_status_tells_of_a_failed_turn(project: Project) -> None:
    project.start()
    line = {
        **project.lines[0],
        "type": "stop_failed",
        "data": {"error": "rate_limit", "text": "resets 1pm"},
    }
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    assert (
        "Last turn died of rate_limit" in project.ok("status").out
        and "resets 1pm" in project.ok("status").out
    )


def test_all_loops_are_listed(project: Project) -> None:
    assert "no loops in this project" in project.ok("status", "--list").out
    project.start("first thing")
    project.ok("cancel")
    project.start("second thing")
    rows = project.ok("status", "--list", "--json").json
    assert [(row["loop"], row["status"]) for row in rows] == [
        ("001-first-thing", "aborted"),
        ("002-second-thing", "running"),
    ]
    assert "001-first-thing" in project.ok("status", "--list").out


def test_without_a_loop_every_command_says_how_to_start_one(project: Project) -> None:
    for words in (
        ("status",),
        ("resume",),
        ("cancel",),
        ("pause",),
        ("task", "list"),
        ("wave", "next"),
        ("complete",),
    ):
        project.refused(
            1,
            *words,
            says="there is no loop in this project; start one in Claude Code: /loop:start <task>",
        )


def test_research_leads_back_to_the_gate(project: Project) -> None:
    project.reviewed()
    answer = project.gated(confidence=60)
    assert "RESEARCH" in answer.out and answer.steps == ["loopkit gate --file -"]
    assert project.gated(confidence=90).steps == ["loopkit complete"]


def test_only_what_is_still_low_has_to_be_scored_again(project: Project) -> None:
    project.start()
    assert project.score(1, 1, 1, 1, 0).exit == 1
    answer = project.ok("score", "--done", "2")
    assert "spec 6/10" in answer.out


def test_an_empty_answer_is_none(project: Project) -> None:
    project.planned()
    project.ok("ask", "which?")
    project.refused(2, "answer", " ", says="the answer is empty")


def test_scaffold_comes_first_and_alone(project: Project) -> None:
    project.planned(task("one"), {**task("frame"), "scaffold": True}, task("two"))
    assert project.ok("wave", "next").out.startswith("wave 1 opened: T-002\n")


def test_a_panel_s_advice_to_go_one_by_one_is_followed(project: Project) -> None:
    project.planned(task("one"), task("two"))
    project.ok("wave", "next")
    project.ok("task", "fail", "T-001", "--error", "x")
    project.verify("T-002")
    project.ok("wave", "close")
    panel = {
        "experts": [
            {"name": n, "question": n, "diagnosis": "d"}
            for n in ("simplifier", "systematic-debugger")
        ],
        "recommendations": [{"approach": "x", "confidence": 5}],
        "consensus": "c",
        "fallback": "f",
        "sequential": "true",
    }
    project.ok("panel", "T-001", "--file", "-", given=panel)
    project.ok("task", "add", "three", "--verify", "ls")
    assert project.ok("wave", "next").out.startswith("wave 2 opened: T-001\n")


@pytest.mark.parametrize(
    "ending", [("task", "fail", "T-001", "--error", "no way"), ("wave", "close")]
)
def test_a_command_that_ends_the_loop_as_impossible_exits_1(
    project: Project, ending: tuple
) -> None:
    (project.folder / ".loop").mkdir()
    project.write(".loop/config.toml", "max_step_attempts = 1\nmax_replan_depth = 0\n")
    project.planned(task("one", "false")).ok("wave", "next")
    answer = project.lk(*ending)
    assert (
        answer.exit == 1
        and "is over (impossible): goal: add rate limiting" in answer.out
        and answer.steps == []
    )


def test_a_loop_that_ends_impossible_says_so(project: Project) -> None:
    (project.folder / ".loop").mkdir()
    project.write(
        ".loop/config.toml", "max_step_attempts = 1\nmax_replan_depth = 0\nmax_fix_cycles = 0\n"
    )
    project.planned(task("one", "false"), task("two"))
    project.ok("wave", "next")
    answer = project.verify("T-001")
    assert (
        answer.exit == 1
        and "is over (impossible): goal: add rate limiting" in answer.out
        and answer.steps == []
    )


def test_after_a_limit_the_next_step_raises_it(project: Project) -> None:
    """With every limit that is reached; the line works as it is printed."""
    project.planned()
    dollars = {"claude-sonnet-5": [1_000_000, 10_000_000, 0, 0]}
    stop_at(project, "limit_time", usage=dollars, worked=9 * 3600)
    last = project.ok("status").out.splitlines()[-1]
    assert last.startswith("to go on, if the person says so: loopkit resume --time +12h --usd +")
    refused = project.lk("next")
    assert refused.exit in (0, 75) and "loopkit resume --time +12h --usd +" in refused.out
    project.ok(*last.partition("loopkit ")[2].split())
    assert project.status["status"] == "running"
    assert "paused" not in project.ok("next").out
