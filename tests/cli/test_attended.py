"""Whether somebody can be asked is the session's, asked at each command; what only the person decides
follows from it."""

from __future__ import annotations

import pytest

from tests.cli.kit import S2, Project

ALONE = {"CLAUDE_CODE_SESSION_ATTENDED": "0"}
THERE = {"CLAUDE_CODE_SESSION_ATTENDED": "1"}
OLDER = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
WARNING = {"severity": "WARNING", "issue": "x"}
BLOCKER = {"severity": "BLOCKER", "issue": "y", "verify": "test -f fixed"}


def told(project: Project) -> list[bool]:
    return [row["unattended"] for row in project.of("attended_changed")]


def test_it_is_asked_at_each_command_and_recorded_where_it_changes(project: Project) -> None:
    project.shaped()
    for env in (ALONE, ALONE, THERE, THERE, OLDER, {**OLDER, **THERE}):
        project.ok("next", **env)
    assert told(project) == [True, False, True, False]
    project.ok("status", **ALONE)
    assert told(project)[-1] is False, "who only looks changes nothing"


def test_who_said_that_nobody_is_there_is_believed(project: Project) -> None:
    project.start("add it", "--unattended")
    project.score()
    project.ok("next", **THERE)
    assert told(project) == []
    assert project.lk("score", "--overrule", "x", **THERE).exit == 1
    project.ok("resume", "--take-over", session=S2, **THERE)
    assert told(project) == [False]
    project.ok("next", session=S2, **THERE)
    project.ok("ask", "which?", session=S2, **THERE)
    project.ok("answer", "that", session=S2, **THERE)


def test_who_goes_on_after_a_pause_is_there_again(project: Project) -> None:
    project.start("add it", "--unattended")
    project.score()
    project.ok("resume", **THERE)
    assert told(project) == [], "it was not paused"
    project.ok("pause", **THERE)
    project.ok("resume", **ALONE)
    assert told(project) == [], "nor is anybody there"
    project.ok("pause", **THERE)
    project.ok("resume", "--usd", "50", **THERE)
    project.ok("ask", "which?", **THERE)
    project.ok("answer", "that", **THERE)
    assert told(project) == [False], "for good"


def tasked(project: Project) -> None:
    project.planned()


def asked(project: Project) -> None:
    project.planned()
    project.ok("ask", "which one?")


def blocked(project: Project) -> None:
    project.planned()
    project.ok("task", "block", "T-001", "--kind", "permission", "--reason", "a signature")


def low(project: Project) -> None:
    project.start()
    project.score(1, 1, 1, 1, 0)


def to_confirm(project: Project) -> None:
    project.shaped(2, 2, 1, 1, 1)


def warned(project: Project) -> None:
    project.reviewed(findings=[WARNING])


def stopped(project: Project) -> None:
    project.reviewed(findings=[BLOCKER])


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        (asked, (("answer", "that one"), ("resume", "--answer", "that one"))),
        (to_confirm, (("confirm", "shape"),)),
        (blocked, (("task", "unblock", "T-001", "signed"),)),
        (low, (("score", "--overrule", "it is fine"), ("recall", "--confirm", "1"))),
        (
            warned,
            (
                ("review", "resolve", "F-001", "--approve"),
                ("review", "resolve", "F-001", "--skip", "no"),
            ),
        ),
        (stopped, (("review", "resolve", "F-001", "--waive", "fine"),)),
        (
            tasked,
            (
                ("proof", "C1", "--why", "wrong", "--", "test", "-f", "x"),
                ("resume", "--time", "+2h"),
            ),
        ),
    ],
)
def test_what_only_the_person_decides_is_refused(
    project: Project, made: object, lines: tuple
) -> None:
    made(project)  # type: ignore[operator]
    for words in lines:
        for env in (ALONE, OLDER):
            before = project.ledger.read_bytes()
            answer = project.lk(*words, **env)
            assert answer.exit == 1 and "nobody can be asked, and only the person" in answer.err
            kinds = [line["type"] for line in project.lines[len(before.splitlines()) :]]
            assert kinds in ([], ["attended_changed"]), "nothing else is recorded"


def test_where_nobody_can_be_asked_a_decision_takes_its_default_or_puts_the_loop_off(
    project: Project,
) -> None:
    """Each state that waits for the person has a way on in `claude -p`."""
    to_confirm(project)
    said = project.ok("next", **ALONE)
    assert "shape: taken as confirmed, since nobody can be asked" in said.out
    assert project.status["stage"] == "decompose" and said.steps == ["loopkit submit --file -"]


@pytest.mark.parametrize(
    ("made", "why"),
    [(asked, "a question is open: which one?"), (blocked, "T-001 is blocked")],
)
def test_what_has_no_default_is_put_off_and_asked_again_once(
    project: Project, made: object, why: str
) -> None:
    made(project)  # type: ignore[operator]
    for command in ("next", "resume"):
        said = project.ok(command, **ALONE)
        assert "loopkit answer" not in said.out and "loopkit task unblock" not in said.out
    project.ok("next", **ALONE)
    state = project.status
    assert (state["status"], state["verdict"]) == ("paused", "waiting")
    assert why in state["reason"] and "in a terminal: /loop:resume" in state["reason"]
    back = project.ok("resume", **THERE)
    wanted = "loopkit answer" if made is asked else "loopkit task unblock T-001"
    assert told(project) == [True, False] and wanted in "\n".join(back.steps)


def test_a_step_by_step_shape_is_put_off(project: Project) -> None:
    project.shaped(1, 1, 1, 1, 1)
    said = project.ok("next", **ALONE)
    assert "the person confirms the shape, and nobody can be asked" in said.out
    assert project.status["verdict"] == "waiting"
    assert "loopkit confirm shape" in project.ok("resume", **THERE).steps


def test_what_was_taken_by_default_is_asked_again_once_somebody_is_there(project: Project) -> None:
    to_confirm(project)
    project.ok("next", **ALONE)
    assert "loopkit confirm shape" in project.ok("next", **THERE).steps
    project.ok("confirm", "shape", **THERE)
    assert "confirm shape" not in project.ok("next", **ALONE).out
    assert "confirm shape" not in project.ok("next", **THERE).out


def test_warnings_follow_the_session(project: Project) -> None:
    """Left open where nobody can be asked, asked about once somebody can."""
    warned(project)
    assert project.status["waits"] == "to be decided: F-001"
    project.ok("next", **ALONE)
    assert [row["how"] for row in project.of("finding_resolved")] == ["unattended"]
    assert project.status["waits"] is None
    project.ok("resume", **THERE)
    assert "loopkit review resolve F-001" in project.ok("next", **THERE).out
    project.ok("review", "resolve", "F-001", "--approve", **THERE)
    assert project.status["waits"] is None
    assert "review resolve" not in project.lk("next", **ALONE).out
    assert "review resolve" not in project.lk("next", **THERE).out


def test_a_waived_blocker_s_task_is_gone(project: Project) -> None:
    stopped(project)
    assert "T-002" in project.tasks
    project.ok("review", "resolve", "F-001", "--waive", "it is meant so", **THERE)
    assert "T-002" not in project.tasks and project.status["stage"] == "review"
    assert "T-002" not in project.lk("next").out


def test_in_a_terminal_the_person_types_limits_that_nobody_else_changes(project: Project) -> None:
    tasked(project)
    project.ok("resume", "--time", "+2h", **THERE)
    assert project.of("limits_set")[-1] == {"seconds": 4 * 3600}


# -- what a person who asks is told


def test_a_status_that_the_person_asks_for_has_nothing_to_run(project: Project) -> None:
    tasked(project)
    before = project.files()
    ways = "(/loop:pause, /loop:resume, /loop:cancel)"
    said = project.ok("status", "--asked")
    assert said.steps == [] and said.out.endswith(f"It goes on by itself. {ways}\n")
    assert project.files() == before
    project.ok("pause")
    told = " ".join(project.ok("status", "--asked", "--soft").out.split())
    assert f"It waits for you (paused: by hand); /loop:resume goes on. {ways}" in told
    project.ok("resume", "--take-over", CLAUDE_PID="999999999", session=S2)
    assert "(its session is gone)" in project.ok("status", "--asked").out


def test_whatever_pauses_names_goal_and_ways(project: Project) -> None:
    tasked(project)
    said = project.ok("pause").out
    line = "loop 001 “add rate limiting to the API” is paused; the person has /loop:pause, "
    assert f"{line}/loop:resume, /loop:cancel\n" in said
