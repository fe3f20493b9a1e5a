"""What `loopkit next` tells the session and the agents: the whole request, once; guides with the
form; what was cut off; what reviewers look at."""

from __future__ import annotations

import re

import pytest

from loopkit.ops import verify
from loopkit.render import prompts
from loopkit.store import answers
from tests.cli.kit import GATE, PANEL, S1, Project, task

REQUEST = {
    "scores": dict.fromkeys(("outcome", "scope", "constraints", "success", "done"), 2),
    "kind": "build",
    "topics": ["api"],
    "title": "A limiter",
    "criteria": [{"text": "The limiter is there", "proof": "test -f limiter.txt"}],
    "must_nots": [
        {"text": "Something forbidden", "proof": "test ! -f forbidden.txt"},
        {"text": "A dependency is added"},
    ],
    "tasks": [task(files=["limiter.txt"], criteria=["C1"], description="as others do")],
}
DONE = '{"status": "complete", "summary": "written"}'
ALONE = {"CLAUDE_CODE_SESSION_ATTENDED": "0"}


@pytest.fixture
def project(project: Project, tmp_path) -> Project:
    settings = tmp_path / "settings"
    settings.mkdir(exist_ok=True)
    (settings / "config.toml").write_text('verify_allow = ["*"]\n')
    project.environment |= {"LOOPKIT_CONFIG_DIR": str(settings), **ALONE}
    return project


def begun(project: Project, text: str = "add a limiter") -> Project:
    project.start(text)
    project.ok("submit", "--file", "-", given=REQUEST)
    return project


def told(project: Project, name: str) -> str:
    path = project.root / project.name / "prompts" / f"{name}.md"
    return path.read_text(encoding="utf-8")


def says(project: Project, name: str, text: str) -> None:
    answers.write(str(project.root / project.name), name, {"text": text, "by": "stop"})


def coded(project: Project) -> None:
    """The first task is done, its wave closed."""
    begun(project)
    project.write("limiter.txt")
    says(project, "implementation-T-001-1", DONE)
    project.ok("next")


def test_rules_request_and_guides_come_with_the_first_form_and_once_in_a_session(
    project: Project,
) -> None:
    text = "add a limiter\n" + "that holds\n" * 30
    assert "that holds" not in project.start(text).out, "the request is not cut, it comes whole"
    first = project.ok("next").out
    heads = re.findall(r"^# (.*)$", first, re.M)
    assert heads == [
        "How this loop goes on, until it says that it is over",
        *("The request", "How: shape", "How: decomposition", "To fill in: request"),
    ]
    assert first.count("> that holds") == 30
    assert "**By itself.**" not in first and "**Example.**" not in first
    assert re.findall(r"^# (.*)$", project.ok("next").out, re.M) == ["To fill in: request"]


def test_a_vague_request_needs_its_scores_alone(project: Project) -> None:
    project.start("make it nicer")
    form = project.ok("next").out
    assert "a vague request, mostly 0 and 1: fill in scores, kind and topics alone" in form
    scores = dict.fromkeys(REQUEST["scores"], 0)
    low = {"scores": scores, "kind": "build", "topics": ["api"]}
    answer = project.ok("submit", "--file", "-", given=low)
    assert "too vague to be planned" in answer.out and "# To fill in: clarification" in answer.out
    clear = {"scores": REQUEST["scores"], "kind": "build"}
    project.start("another", "--beside")
    assert "criteria, must_nots, tasks must be given" in str(
        project.lk("submit", "--file", "-", given=clear)
    )
    assert not project.of("scored")


def test_a_long_request_is_a_file_for_the_session_and_for_each_agent(project: Project) -> None:
    text = "add a limiter. " + "It holds. " * 500 + "The end"
    project.start(text)
    path = f".loop/{project.name}/{prompts.REQUEST}"
    printed = project.ok("next").out
    assert f"`{path}`" in printed and "The end" not in printed
    assert (project.folder / path).read_text() == text
    project.ok("submit", "--file", "-", given=REQUEST)
    prompt = told(project, "implementation-T-001-1")
    assert f"Read all of it first, {len(text):,} characters: `{path}`" in prompt
    assert "The end" not in prompt and len(prompt) < 6000


def test_a_request_of_four_thousand_characters_is_never_cut(project: Project) -> None:
    text = ("x" * 79 + "\n") * 49 + "y" * 79
    assert len(text) <= prompts.LONGEST_REQUEST
    begun(project, text)
    assert "> " + "y" * 79 in told(project, "implementation-T-001-1")
    assert not (project.root / project.name / prompts.REQUEST).exists()


def test_a_coder_is_told_the_proofs_and_how_to_answer(project: Project) -> None:
    prompt = told(begun(project), "implementation-T-001-1")
    for words in (
        "loop:implementation-T-001-1\n\n# Do T-001\n",
        "> as others do",
        "- Its check: `test -f limiter.txt`",
        "> add a limiter",
        "- C1 (yours): The limiter is there\n  `test -f limiter.txt`",
        "- M1: Something forbidden\n  `test ! -f forbidden.txt`, exit 0 while it has not",
        "      loopkit verify T-001\n",
        "End with one JSON object in this form",
        "what does not fit comes back to you, at most twice",
        '"status": "<complete | blocked | needs_clarification>"',
    ):
        assert words in prompt, words
    assert "Work was cut off here" not in prompt and "task show" not in prompt


def test_after_an_agent_that_gave_no_answer_the_next_looks_at_the_diff_first(
    project: Project,
) -> None:
    begun(project)
    project.ok("pause")
    project.ok("resume")
    project.ok("next")
    assert "`git diff` first" in told(project, "implementation-T-001-2")


def test_one_that_answered_cut_nothing_off(project: Project) -> None:
    begun(project)
    says(project, "implementation-T-001-1", DONE)
    printed = project.ok("next")
    assert "# How: panel" in printed.out and "skill counsel" not in printed.out
    project.ok("submit", "--file", "-", given=PANEL)
    prompt = told(project, "implementation-T-001-2")
    assert "Work was cut off here" not in prompt and "## Earlier attempts, all failed" in prompt


def test_a_check_that_the_program_runs_gives_no_hints_for_who_fixes(project: Project) -> None:
    begun(project)
    says(project, "implementation-T-001-1", DONE)
    printed = project.ok("next").out
    assert "T-001 not passed" in printed
    assert verify.LOOK_WIDER not in printed and "still to report" not in printed
    hints = f"a\n{verify.LOOK_WIDER}, b\nslow: 9 s\nwave 2: T-001 still to report\nb"
    assert verify.without_hints(hints) == "a\nb"


def test_an_agent_with_several_views_has_a_section_for_each_and_one_form(project: Project) -> None:
    coded(project)
    prompt = told(project, "thorough_review-1-1")
    views = re.findall(r"^## View: ([a-z-]+)$", prompt, re.M)
    asked = project.of("review_asked")[-1]
    assert len(views) == len(asked["experts"]) // asked["agents"] or len(views) > 1
    assert f"the views of {len(views)} experts" in prompt
    for words in ("# Review the work of the loop", "> add a limiter", "## What was changed"):
        assert prompt.count(words) == 1, words
    assert prompt.count('"severity"') == 1 and "one list" in prompt
    before, after = re.search(r"`git diff ([0-9a-f]+) ([0-9a-f]+)`", prompt).groups()
    assert [row["sha"][:12] for row in project.of("checkpoint_made")] == [before, after]
    assert "- C1: The limiter is there\n  `test -f limiter.txt`" in prompt


def test_the_end_is_said_once_more_where_nothing_is_due(project: Project) -> None:
    coded(project)
    for number in range(1, 5):
        says(project, f"thorough_review-{number}-1", '{"findings": []}')
    printed = project.ok("next").out
    assert "# How: gate" in printed
    assert "<loop-complete>" in project.ok("submit", "--file", "-", given=GATE).out
    assert project.ok("next", session=S1).out == "the loop is completed\n"


def test_the_experts_of_a_quick_look_are_those_that_were_printed(project: Project) -> None:
    project.start("add a limiter")
    rows = [
        task(files=["limiter.txt"], criteria=["C1"]),
        task("b", "test -f b.txt", blocked_by=[1]),
    ]
    project.ok("submit", "--file", "-", given={**REQUEST, "tasks": rows})
    project.write("limiter.txt")
    says(project, "implementation-T-001-1", DONE)
    steps = project.ok("next").steps
    assert "agent loop:review: loop:wave_review-1-1" in steps
    prompt = told(project, "wave_review-1-1")
    assert '"experts"' not in prompt and '"score": <0 to 10>' in prompt
    says(project, "wave_review-1-1", '{"score": 8, "experts": ["somebody"], "findings": []}')
    project.ok("next")
    views = re.findall(r"^## View: ([a-z-]+)$", prompt, re.M)
    assert project.of("review_light")[-1]["experts"] == views
