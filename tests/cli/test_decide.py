"""Decisions by the command line: their files, their numbers, what supersedes them, when they no
longer hold."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import Project, at_once, task

ONE = {
    "title": "Stream rows to the client",
    "context": "exports reach 2 GB, a worker has 512 MB",
    "choice": "generator response, 1,000 rows at a time",
    "alternatives": ["Temporary file: fills the disk when several exports run"],
    "consequences": "the length is unknown when the answer begins",
    "invalidated_if": "exports are made in the background",
}
LESSON = {
    "what": "the key was a header",
    "why": "clients can set it",
    "avoid": "take the connection's address",
}


def decide(project: Project, *words: str, **fields: Any) -> Any:
    return project.ok(
        "decide", *words, "--file", "-", given={**(LESSON if "--avoid" in words else ONE), **fields}
    )


def learnings(project: Project) -> dict[str, str]:
    folder = project.root / project.name / "learnings"
    return {one.name: one.read_text(encoding="utf-8") for one in sorted(folder.glob("*"))}


def test_a_decision_file_has_all_fields(project: Project) -> None:
    project.planned()
    answer = decide(project, files=["app/export.py"])
    text = learnings(project)["001-stream-rows-client.md"]
    for name in (
        "Context",
        "Choice",
        "Alternatives Rejected",
        "Consequences",
        "Depends On",
        "Invalidated If",
        "Files",
    ):
        assert f"**{name}**:" in text
    assert (
        text.startswith("# Decision 001: Stream rows to the client\n**Date**: 2")
        and "**Status**: DECISION\n" in text
    )
    assert (
        "- Temporary file: fills the disk when several exports run\n" in text
        and len(text.splitlines()) < 30
    )
    assert f".loop/{project.name}/learnings/001-stream-rows-client.md" in answer.out
    assert answer.steps == ["loopkit wave next"]


def test_block_yaml_is_read_as_people_write_it(project: Project) -> None:
    project.planned()
    text = (
        "title: t\ncontext: c\nchoice: x\nalternatives:\n- Another way: too slow\ndepends_on: "
        "none\nsupersedes:\n"
    )
    project.ok("decide", "--file", "-", given=text)
    assert project.of("decision_recorded")[0]["alternatives"] == ["Another way: too slow"]
    form = project.ok("decide")
    assert (
        "alternatives:" in form.out
        and "$ command" in form.out
        and form.steps == ["loopkit decide --file -"]
    )
    lesson = project.ok("decide", "--avoid")
    assert "do_instead:" in lesson.out and lesson.steps == ["loopkit decide --avoid --file -"]


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        ({"alternatives": []}, 2, "alternatives: must have at least 1 entry"),
        ({"alternatives": None}, 2, "alternatives: must be given"),
        ({"alternatives": [["x"]]}, 2, "alternatives.1: must be a text"),
        ({"alternatives": ["a"] * 11}, 2, "alternatives: must have at most 10 entries"),
        ({"title": ""}, 2, "title: must say something"),
        ({"choice": ["x"]}, 2, "choice: must be a text"),
        ({"context": "x" * 601}, 2, "context: must have at most 600 characters"),
        ({"colour": "red"}, 2, "colour: must be left out"),
        ({"depends_on": [7]}, 1, "depends_on: there is no decision 007"),
        ({"supersedes": 7}, 1, "supersedes: there is no decision 007"),
        ({"supersedes": "the first"}, 2, "supersedes.1: must be numbers of decisions"),
        ({"depends_on": 1, "supersedes": 1}, 1, "it depends on decision 001 and supersedes it"),
        ({"supersedes": [2]}, 1, "002 is an anti-pattern"),
        ({"invalidated_if": "$ a | b"}, 2, "unquoted '|'"),
        ({"files": ["../x"]}, 2, "must be a path inside the project"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    project: Project, fields: dict, code: int, says: str
) -> None:
    project.planned()
    decide(project)
    decide(project, "--avoid")
    project.refused(code, "decide", "--file", "-", given={**ONE, **fields}, says=says)


def test_superseding_links_both_ways_and_changes_one_line(project: Project) -> None:
    project.planned()
    decide(project)
    path = project.root / project.name / "learnings" / "001-stream-rows-client.md"
    edited = path.read_bytes().replace(b"\n", b"\r\n") + "a person’s note\r\n".encode()
    path.write_bytes(edited)
    decide(project, title="Depends on it", depends_on=[1])
    answer = decide(project, title="Write a file in the background", supersedes="001")
    assert path.read_bytes() == edited.replace(b"DECISION\r", b"SUPERSEDED by 003\r")
    assert "**Supersedes**: 001\n" in learnings(project)["003-write-file-background.md"]
    assert "still stands and depends on it: 002" in answer.out
    project.refused(
        1, "decide", "--file", "-", given={**ONE, "supersedes": 1}, says="SUPERSEDED by 003"
    )
    rows = project.ok("decide", "--list").out.splitlines()
    assert rows[0] == "001 SUPERSEDED by 003: Stream rows to the client" and rows[1].startswith(
        "002 DECISION"
    )


def test_a_renamed_file_is_still_its_decision(project: Project) -> None:
    project.planned()
    decide(project)
    folder = project.root / project.name / "learnings"
    (folder / "001-stream-rows-client.md").rename(folder / "001-streaming.md")
    decide(project, supersedes=1)
    assert list(learnings(project)) == ["001-streaming.md", "002-stream-rows-client.md"]
    assert "SUPERSEDED by 002" in learnings(project)["001-streaming.md"]


def test_files_that_are_gone_are_made_again(project: Project) -> None:
    project.planned()
    decide(project)
    decide(project, supersedes=1)
    before = learnings(project)
    for name in before:
        (project.root / project.name / "learnings" / name).unlink()
    project.ok("wave", "next")
    assert learnings(project) == before


def test_anti_patterns_count_with_decisions(project: Project) -> None:
    project.planned()
    decide(project)
    decide(project, "--avoid", files=["app/limits.py"])
    text = learnings(project)["002-key-was-header.md"]
    assert (
        "**Status**: ANTI-PATTERN\n**Source**: implement-fix\n**What**: the key was a header\n"
        in text
    )
    assert "**Why**: clients can set it\n**Instead**: take the connection's address\n" in text
    decide(project, title="third")
    assert [one["number"] for one in project.of("decision_recorded")] == [1, 3]
    project.refused(
        2,
        "decide",
        "--avoid",
        "--file",
        "-",
        given={**LESSON, "source": "me"},
        says="source: must be one of review",
    )
    assert "002 ANTI-PATTERN: the key was a header" in project.ok("decide", "--list").out


def test_ten_in_parallel_give_ten_numbers_and_ten_files(project: Project) -> None:
    project.planned()
    project.ok("wave", "next")
    decide_one = functools.partial(project.lk, "decide", "--file", "-")
    ways = [{**ONE, "title": f"way {number}"} for number in range(10)]
    for answer in at_once(*[functools.partial(decide_one, given=way) for way in ways]):
        assert (answer.exit, answer.err) == (0, "")
        assert "next:" not in answer.out, "others are still at work"
    assert sorted(one["number"] for one in project.of("decision_recorded")) == list(range(1, 11))
    assert len(learnings(project)) == 10
    titles = {re.findall(r"way \d", text)[0] for text in learnings(project).values()}
    assert len(titles) == 10


def test_a_command_in_invalidated_if_is_offered_after_a_wave_and_gives_a_finding(
    project: Project,
) -> None:
    project.planned(task(), task("second", verify="test -f limiter.txt", blocked_by=[1]))
    decide(project, invalidated_if="$ test -f background.py", files=["limiter.txt"])
    decide(project, title="other", invalidated_if="in words")
    for name, holds in (("T-001", True), ("T-002", False)):
        project.ok("wave", "next")
        project.write("limiter.txt")
        project.verify(name)
        closed = project.ok("wave", "close")
        assert closed.steps == ["loopkit verify M2 -- test ! -f forbidden.txt"]
        check = project.verify("M2")
        assert check.steps == ["loopkit verify D1 -- test -f background.py"]
        if not holds:
            project.write("background.py")
        answer = project.lk("verify", "D1", "--", "test", "-f", "background.py")
        assert answer.exit == (0 if holds else 1)
        assert answer.steps == ["loopkit wave next" if holds else "loopkit review --thorough"]
    assert "F-001 BLOCKER: supersede it" in answer.out
    assert (project.root / project.name / project.of("decision_invalidated")[0]["log"]).is_file()
    assert "001 DECISION (no longer holds)" in project.ok("decide", "--list").out
    project.review([])
    assert project.lk("gate").steps[0].startswith("loopkit review resolve F-001 ")
    assert "F-001 is settled by it" in decide(project, supersedes=1).out
    assert project.gated().exit == 0


def test_a_decisions_check_is_its_own_and_nobody_elses(project: Project) -> None:
    project.planned()
    decide(project, invalidated_if="$ false")
    decide(project, title="in words")
    project.refused(1, "verify", "D3", "--", "false", says="there is no decision 003")
    project.refused(1, "verify", "D2", "--", "false", says="decision 002 has no command")
    project.refused(1, "verify", "D1", "--", "ls", says="next: loopkit verify D1 -- false")
    decide(project, supersedes=1, title="new")
    project.refused(1, "verify", "D1", "--", "false", says="SUPERSEDED by 003")


def test_what_came_true_may_be_fixed_by_a_task(project: Project) -> None:
    project.worked()
    decide(project, invalidated_if="$ ls")
    assert project.lk("verify", "D1", "--", "ls").exit == 1
    assert project.lk("verify", "D1", "--", "ls").exit == 1, "said again, found once"
    assert len(project.of("decision_invalidated")) == 1
    project.review([])
    project.ok("review", "resolve", "F-001", "--task", "--verify", "ls")
    assert project.status["stage"] == "executing" and "T-002" in project.tasks


def test_a_task_shows_what_touches_its_files(project: Project) -> None:
    project.planned(task(files=["app/export.py"]), task("other", verify="ls", files=["docs/a.md"]))
    decide(project, files=["app"])
    decide(project, "--avoid", files=["app/export.py"])
    decide(project, title="of another place", files=["lib/x.py"])
    shown = project.ok("task", "show", "T-001").out
    assert "keep to decision 001: Stream rows to the client: generator response" in shown
    assert (
        "anti-pattern 002: avoid: the key was a header; instead: take the connection's address"
        in shown
    )
    assert "003" not in shown and "decision" not in project.ok("task", "show", "T-002").out


def test_a_task_shows_so_many_of_them_and_says_how_many_more(project: Project) -> None:
    project.planned(task(files=["app/export.py"]))
    for place in range(14):
        decide(project, title=f"choice {place}", files=["app/export.py"])
    shown = project.ok("task", "show", "1.1").out
    assert shown.count("keep to decision") == 12 and "and 2 more: loopkit decide --list" in shown


def test_nothing_is_recorded_in_a_loop_that_is_over(project: Project) -> None:
    project.planned()
    project.ok("cancel")
    project.refused(1, "decide", "--file", "-", given=ONE, says="is over")


def test_a_link_in_place_of_the_folder_is_not_followed(project: Project, tmp_path: Path) -> None:
    project.planned()
    (tmp_path / "elsewhere").mkdir()
    (project.root / project.name / "learnings").symlink_to(tmp_path / "elsewhere")
    answer = project.lk("decide", "--file", "-", given=ONE)
    assert answer.exit == 0 and "learnings not written" in answer.err
    assert not list((tmp_path / "elsewhere").iterdir())


def test_git_keeps_the_files(project: Project) -> None:
    project.planned()
    decide(project)
    words = ["git", "-C", str(project.folder), "status", "--porcelain", "-uall"]
    listed = subprocess.run(
        words, capture_output=True, text=True, check=True, env=project.env()
    ).stdout
    assert "learnings/001-stream-rows-client.md" in listed and "ledger" not in listed


# -- the loop's own files, derived


def own(project: Project, name: str) -> str:
    return (project.root / project.name / name).read_text(encoding="utf-8")


def test_plan_and_context_follow_every_command(project: Project) -> None:
    project.write("limiter.txt")
    project.planned(
        task(group="Limits", files=["limiter.txt"]), task("doc", verify="false", blocked_by=[1])
    )
    assert "Status: APPROVED" in own(project, "plan.md") and "Ready: 1.1 T-001" in own(
        project, "context.md"
    )
    decide(project)
    assert "- 001: Stream rows to the client" in own(project, "context.md")
    project.ok("wave", "next")
    assert "Active: 1.1 T-001" in own(project, "context.md")
    assert project.lk("verify", "1.1", "--", "test", "-f", "limiter.txt").exit == 0
    assert "- [x] 1.1 write the limiter (T-001)" in own(project, "plan.md")
    assert not (project.root / project.name / "report.md").exists()
    before = (project.root / project.name / "plan.md").stat().st_mtime_ns
    decide(project, "--avoid")
    assert "- 002: avoid: the key was a header" in own(project, "context.md")
    assert (project.root / project.name / "plan.md").stat().st_mtime_ns == before, (
        "written only where it changed"
    )


def test_the_final_review_writes_the_report_with_the_adherence_table(project: Project) -> None:
    project.worked()
    decide(project)
    row = {
        "severity": "BLOCKER",
        "issue": "rows go to a file",
        "place": "export.py:3",
        "verify": "test -f limiter.txt",
    }
    project.review([{**row, "contradicts": [1]}])
    assert "| 001 Stream rows to the client | no (F-001) | export.py:3 |" in own(
        project, "report.md"
    )
    project.ok("wave", "next")
    project.verify("T-002")
    project.ok("wave", "close")
    project.review([])
    assert project.gated().exit == 0
    project.ok("complete")
    text = own(project, "report.md")
    assert "| 001 Stream rows to the client | yes, after F-001 | export.py:3 |" in text
    assert "\n- completed" in text and "gate: MONITOR" in text


def test_what_was_gathered_stands_in_the_context(project: Project) -> None:
    project.planned()
    text = "```\n- touches: app/api.py:12 the router\n# heading\n" + "pattern: x\n" * 20
    answer = project.ok("report", "gather", "--file", "-", given=text)
    assert "10 patterns in context.md" in answer.out and answer.steps == []
    assert "- touches: app/api.py:12 the router" in own(project, "context.md")
    assert len(project.of("patterns_gathered")[0]["lines"]) == 10
    project.ok("report", "security-reviewer", "--file", "-", given="x")
    assert len(project.of("patterns_gathered")) == 1


def test_a_new_session_goes_on_from_the_files_alone(project: Project) -> None:
    """Everything derived is gone, another session comes: plan, context, decisions and the next step
    are what they were."""
    project.write("limiter.txt")
    project.planned(
        task(files=["limiter.txt"]), task("doc", verify="test -f doc.md", blocked_by=[1])
    )
    decide(project, files=["limiter.txt"], invalidated_if="$ test -f background.py")
    decide(project, "--avoid")
    project.ok("report", "gather", "--file", "-", given="pattern: app/cache.py:8")
    project.ok("wave", "next")
    project.verify("T-001")
    project.ok("wave", "close")
    before = project.files()
    derived = [
        name
        for name in before
        if not name.endswith((".jsonl", ".toml", ".gitignore", ".log", "SHAPE.md"))
    ]
    derived = [name for name in derived if "/reports/" not in name]
    assert {"plan.md", "context.md"} <= {Path(name).name for name in derived}
    for name in derived:
        (project.root / name).unlink()
    answer = project.ok("resume", "--take-over", session="session-two")
    assert answer.steps == ["loopkit next"]
    after = project.files()
    for name in derived:
        if "learnings" in name or Path(name).name == "plan.md":
            assert after[name] == before[name], name
    lines = [
        set(text.decode().splitlines())
        for text in (before[f"{project.name}/context.md"], after[f"{project.name}/context.md"])
    ]
    assert not [one for one in lines[0] ^ lines[1] if not one.startswith("Updated: ")]
    project.verify("M2", session="session-two")
    project.lk("verify", "D1", "--", "test", "-f", "background.py", session="session-two")
    project.ok(
        *"review --wave 1 --score 9".split(),
        session="session-two",
    )
    assert "Do T-002" in project.ok("wave", "next", session="session-two").steps[0]


def test_a_derived_file_that_is_a_link_is_told_and_not_followed(
    project: Project, tmp_path: Path
) -> None:
    project.planned()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    path = project.root / project.name / "plan.md"
    path.unlink()
    path.symlink_to(victim)
    answer = project.lk("wave", "next")
    assert answer.exit == 0 and "plan.md not written" in answer.err and victim.read_text() == "mine"


def test_a_long_list_stays_on_one_screen(project: Project) -> None:
    project.planned()
    for place in range(40):
        decide(project, "--avoid", title=f"lesson {place}")
    rows = project.ok("decide", "--list").out.splitlines()
    assert (
        len(rows) == 39
        and rows[0].startswith("2 earlier ones: ")
        and rows[-1].endswith("lesson 39")
    )
    assert len(project.ok("decide", "--list", "--json").json["decisions"]) == 40
