"""Reviews by the command line: whom they are given to, what an expert is told, what is decided and
kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.kit import GATE, Answer, Project, task

WARNING = {"severity": "WARNING", "issue": "long function", "guidance": "cut it"}
BLOCKER = {
    "severity": "BLOCKER",
    "issue": "no doc",
    "guidance": "write it",
    "verify": "test -f doc.md",
}
HAND_IN = "loopkit review --thorough --file -"


def names(answer: Answer) -> list[str]:
    """The experts of the agent lines."""
    return [found[1] for step in answer.steps if (found := re.search(r"--prompt ([a-z-]+)`", step))]


def fixed(project: Project, name: str, file: str) -> None:
    project.ok("wave", "next")
    project.write(file)
    assert project.verify(name).exit == 0
    project.ok("wave", "close")


def test_the_thorough_review_goes_to_an_agent_for_each_expert(project: Project) -> None:
    project.worked()
    answer = project.ok("review", "--thorough")
    assert 3 <= len(names(answer)) <= 4 and len(set(names(answer))) == len(names(answer))
    assert answer.steps[-1] == HAND_IN
    for step, name in zip(answer.steps, names(answer), strict=False):
        assert re.fullmatch(
            rf"agent loop:review: Review loop 001-\S+, round 1, as {name}: .+\? "
            rf"Run `loopkit review --thorough --prompt {name}` first\.",
            step,
        )
        assert f"  {name} (" in answer.out
    assert len({step.split(": ")[2] for step in answer.steps[:-1]}) == len(names(answer)), (
        "a question each"
    )
    assert "confidence" in answer.out and "must not be broken by any guidance: M1" in answer.out


def test_nobody_is_started_twice(project: Project) -> None:
    project.worked()
    first = project.ok("review", "--thorough")
    again = project.ok("review", "--thorough")
    assert again.steps == [] and "still to report" in again.out
    assert len(project.of("review_asked")) == 1
    # another session after /clear: those who were asked are gone, the same lines come again
    project.ok("resume", "--take-over", session="session-two")
    anew = project.ok("review", "--thorough", session="session-two")
    assert anew.steps == first.steps


def test_who_is_asked_does_not_depend_on_the_run(project: Project) -> None:
    project.worked()
    prompts = {
        name: project.ok("review", "--thorough", "--prompt", name).out
        for name in names(project.ok("review", "--thorough"))
    }
    assert {
        name: project.ok("review", "--thorough", "--prompt", name).out for name in prompts
    } == prompts


def test_the_prompt_of_an_expert_changes_nothing(project: Project) -> None:
    project.worked(task(files=["limiter.txt"], criteria=["C1"]))
    project.ok(
        "review",
        "--wave",
        "1",
        "--file",
        "-",
        given={"score": 1, "findings": [BLOCKER]},
    )
    before = project.files()
    answer = project.ok(
        "review", "--thorough", "--prompt", "security-reviewer", session="somebody-else"
    )
    assert answer.steps == [] and project.files() == before
    for words in (
        "## View: security-reviewer",
        "- Evidence it trusts: ",
        "## The whole request\n\n> add rate limiting to the API",
        "- C1: The 101st request",
        "## What must not happen",
        "- M2: A runtime dependency is added",
        "## Open from earlier looks: does it still hold?\n\n- F-001 BLOCKER, wave 1: no doc",
        "- Files: limiter.txt (new) +1",
        '"severity": "<BLOCKER',
        '"breaks": ["<C1 or M1',
        "End with one JSON object in this form",
    ):
        assert words in answer.out, words
    light = project.ok("review", "--wave", "1", "--prompt", "simplifier").out
    assert light.startswith("# Review wave 1, a quick look\n") and '"score": <0 to 10>' in light
    assert "Open from earlier looks" not in light
    assert '"repeats"' in answer.out and '"repeats"' not in light  # who is told of none names none
    assert '"alternative": "<then: guidance that does not>"\n }]' in light
    project.refused(
        1,
        "review",
        "--thorough",
        "--prompt",
        "nobody",
        says="there is no expert nobody; asked are: ",
    )


def test_it_is_not_given_out_before_it_is_due(project: Project) -> None:
    project.planned()
    project.refused(1, "review", "--thorough", says="the loop is in decompose")
    project.ok("wave", "next")
    project.refused(1, "review", "--thorough", says="wave 1 is open")
    project.refused(1, "review", "--wave", "7", says="there is no wave 7")


def test_the_blocklist_keeps_experts_away(project: Project) -> None:
    (project.folder / ".loop").mkdir()
    project.worked()
    asked = names(project.ok("review", "--thorough"))
    other = Project(project.folder.parent / "other", project.environment)
    other.folder.mkdir()
    other.root.mkdir()
    (other.root / "config.toml").write_text(f'[panel]\nblocklist = ["{asked[0]}"]\n')
    other.worked()
    assert asked[0] not in names(other.ok("review", "--thorough"))
    assert f"  {asked[0]} (" not in other.ok("review", "--wave", "1").out


def test_a_light_review_asks_by_what_the_wave_touched(project: Project) -> None:
    project.worked(task("Describe the limit in the manual", files=["docs/manual.md"]))
    prompt = project.ok("review", "--wave", "1")
    assert "technical-writer" in prompt.out and prompt.steps[0].startswith(
        "loopkit review --wave 1 --file -"
    )
    assert len(re.findall(r"^  [a-z-]+ \(", prompt.out, re.M)) in (2, 3)


# -- findings


def test_replaced_guidance_is_said(project: Project) -> None:
    project.worked()
    answer = project.review([{**WARNING, "violates": ["M2"], "alternative": "shorten it"}])
    assert "guidance replaced, it would break M2: shorten it" in answer.out
    assert "for the person: F-001 long function; guidance: shorten it" in answer.out
    assert "task: a task fixes it" in answer.out and "shown by" not in answer.out


def test_the_check_that_a_reviewer_gave_stands_beside_its_finding(project: Project) -> None:
    project.worked()
    answer = project.review([{**WARNING, "verify": "grep -q short limiter.txt"}])
    assert "guidance: cut it\n  shown by: grep -q short limiter.txt\n" in answer.out


def test_a_broken_must_not_pauses_and_its_task_is_worked_after_resume(project: Project) -> None:
    project.worked()
    answer = project.review([{**BLOCKER, "breaks": ["M1"]}])
    assert (
        "F-001 BLOCKER → T-002" in answer.out and "the loop is paused: M1 is broken" in answer.out
    )
    assert answer.waits == ["loopkit resume"]
    assert (project.snapshot["status"], project.snapshot["verdict"]) == (
        "paused",
        "must_not_breached",
    )
    project.refused(1, "wave", "next", says="paused")
    project.ok("resume")
    fixed(project, "T-002", "doc.md")
    assert "passed" in project.review([]).out


def test_a_must_not_that_a_light_review_saw_broken_stays_open_until_it_is_fixed(
    project: Project,
) -> None:
    project.worked()
    light = {
        "score": 3,
        "experts": ["simplifier", "api-designer"],
        "findings": [{**BLOCKER, "breaks": ["M1"]}],
    }
    project.ok("review", "--wave", "1", "--file", "-", given=light)
    assert project.snapshot["verdict"] == "must_not_breached"
    project.ok("resume")
    assert "passed" not in project.review([]).out
    way = "loopkit review resolve F-001 <--task --verify COMMAND | --waive WHY>"
    assert project.ok("next").steps == [way]
    project.refused(1, "gate", "--file", "-", given=GATE, says="the thorough review has not passed")
    project.refused(
        1, "review", "resolve", "F-001", "--approve", says="F-001 is a blocker; a task of its own"
    )
    project.ok("review", "resolve", "F-001", "--task", "--verify", "test -f doc.md")
    fixed(project, "T-002", "doc.md")
    assert "passed" in project.review([]).out
    for name in ("C1", "M2"):
        assert project.verify(name).exit == 0
    project.refused(1, "gate", "--file", "-", given=GATE, says="no answer for mustNot M1")
    assert (
        project.lk(
            "gate", "--file", "-", given={**GATE, "criteria": {"M1": "PASS the old call works"}}
        ).exit
        == 0
    )


def test_several_findings_are_settled_at_once(project: Project) -> None:
    project.reviewed(findings=[WARNING, {**WARNING, "issue": "b"}])
    project.refused(
        1,
        "review",
        "resolve",
        "F-001",
        "F-007",
        "--approve",
        says="no finding F-007; unsettled: F-001, F-002",
    )
    assert (
        "F-001, F-002 settled (approve), 0 left"
        in project.ok("review", "resolve", "F-001", "f-002", "--approve").out
    )


# -- what does not settle


def test_tabs_and_spaces(project: Project) -> None:  # case I1
    project.worked()
    tabs = {**BLOCKER, "issue": "tabs at a.py:3", "verify": "test -f a.py", "category": "style"}
    project.review([tabs])
    fixed(project, "T-002", "a.py")
    prompt = project.ok("review", "--thorough", "--prompt", "simplifier").out
    settled = prompt.partition("## Settled earlier, not raised again")[2]
    assert "- F-001 (style) a.py:3 tabs at a.py:3 (fixed)" in settled
    spaces = {**tabs, "issue": "spaces at a.py:3", "verify": "test -f b.py"}
    given = {"findings": [spaces]}
    project.refused(
        1, "review", "--thorough", "--file", "-", given=given, says="say reverses: F-001 where"
    )
    answer = project.review([{**spaces, "reverses": "F-001"}])
    assert "F-002 BLOCKER (decided): spaces at a.py:3" in answer.out and "passed" in answer.out
    assert (
        "decided, not raised again: decision 002 (reversal): it stays as F-001 left it"
        in answer.out
    )
    assert list(project.tasks) == ["T-001", "T-002"]
    lesson, file = sorted((project.root / project.name / "learnings").iterdir())
    assert lesson.name == "001-style-tabs-py-3.md" and "**Source**: review" in lesson.read_text(
        encoding="utf-8"
    )
    assert f".loop/{project.name}/learnings/{file.name}" in answer.out
    text = file.read_text(encoding="utf-8")
    assert (
        text.startswith("# Decision 002: ")
        and "**Status**: DECISION" in text
        and len(text.splitlines()) < 30
    )
    for row in (tabs, spaces):
        assert "passed" in project.review([row]).out
    assert len(project.of("decision_recorded")) == 1
    assert "decided, not raised again: decision 002" in project.ok("review", "--thorough").out
    assert (
        "decided, not raised again: decision 002"
        in project.ok("review", "--thorough", "--prompt", "simplifier").out
    )


def test_a_decision_that_is_gone_comes_back_with_the_next_one(project: Project) -> None:
    project.worked()
    project.review([{**WARNING, "issue": "tabs at a.py:3", "guidance": ""}])
    project.ok("review", "resolve", "F-001", "--approve")
    project.review([{**WARNING, "issue": "spaces", "guidance": "", "reverses": "F-001"}])
    (file,) = (project.root / project.name / "learnings").iterdir()
    text = file.read_text(encoding="utf-8")
    file.unlink()
    project.review([])
    assert file.read_text(encoding="utf-8") == text


def test_what_the_person_let_pass_is_said_to_come_back(project: Project) -> None:
    project.worked()
    row = {**WARNING, "issue": "a.py:3 it is long", "category": "style"}
    project.review([row])
    project.ok("review", "resolve", "F-001", "--skip", "known")
    answer = project.review([row])
    assert "F-002 WARNING (repeats F-001, settled (skip)): a.py:3 it is long" in answer.out
    assert "for the person" not in answer.out and "passed" in answer.out


@pytest.mark.parametrize(("score", "ends"), [(7, True), (None, True)])
def test_a_shape_that_grows_because_it_is_reviewed(
    project: Project, score: int | None, ends: bool
) -> None:  # case I4
    project.worked()
    shape = project.root / project.name / "SHAPE.md"
    for number in (1, 2, 3):
        row = {**WARNING, "issue": f"say more {number}", "guidance": "more"}
        given = {"findings": [row], "score": score}
        answer = project.ok("review", "--thorough", "--file", "-", given=given)
        if number < 3:
            project.ok("review", "resolve", f"F-00{number}", "--approve")
            shape.write_bytes(shape.read_bytes() + b"x" * (shape.stat().st_size // 5 + 1))
    assert "(growth)" in answer.out and "passed" in answer.out
    blocker = {**BLOCKER, "breaks": ["C1"]}
    assert "blockers left: 1" in project.review([blocker, WARNING]).out
    assert len(project.of("decision_recorded")) == 1


# -- reports


def test_a_long_report_is_kept(project: Project) -> None:
    project.planned()
    answer = project.ok("report", "../Security Reviewer", "--file", "-", given="# all of it\n")
    assert answer.out == f".loop/{project.name}/reports/security-reviewer-1.md\n"
    assert (project.folder / answer.out.strip()).read_text() == "# all of it\n"
    project.refused(2, "report", "x", "--file", "-", given="", says="the report is empty")
    project.refused(2, "report", "x", says="--file")
    project.refused(
        1, "report", "x", "--file", "-", given="y", session="session-two", says="belongs to session"
    )


def test_without_a_loop(project: Project, tmp_path: Path) -> None:
    project.refused(1, "review", "--thorough", "--prompt", "simplifier", says="there is no loop")
    project.refused(1, "report", "x", "--file", "-", given="y", says="there is no loop")


def test_who_is_on_the_blocklist_reviews_nothing(project: Project) -> None:
    project.root.mkdir()
    (project.root / "config.toml").write_text('[panel]\nblocklist = ["simplifier"]\n')
    project.worked()
    given = {"experts": ["simplifier", "api-designer", "domain-modeller"], "findings": []}
    project.refused(
        1, "review", "--thorough", "--file", "-", given=given, says="simplifier is on the blocklist"
    )
    words = ("--score=8", "--issues=0", "--blockers=0", "--experts=simplifier,api-designer")
    project.refused(1, "review", "--wave", "1", *words, says="simplifier is on the blocklist")
