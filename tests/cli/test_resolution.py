"""Several loops in one project: which one a call means, putting one aside for another, numbers that
are never reused."""

from __future__ import annotations

import json
import time

import pytest

from loopkit.hooks import dispatch
from loopkit.store import loops, place, typed
from tests.cli.kit import S1, S2, Project, task


@pytest.fixture
def three(project: Project) -> Project:
    """Three unfinished loops, the third one active."""
    project.start("Add CSV export to the reports")
    project.start("Fix the slow import of files", "--beside")
    project.start("レート制限をAPIに追加する", "--beside")
    return project


def status_of(project: Project, which: str) -> str:
    return project.ok("status", which, "--json").json["status"]


def test_another_loop_is_started_beside_the_unfinished_one(three: Project) -> None:
    rows = three.ok("status", "--list", "--json").json
    assert [(row["loop"], row["status"]) for row in rows] == [
        ("001-add-csv-export-reports", "paused"),
        ("002-fix-slow-import-files", "paused"),
        ("003-api", "running"),
    ]
    assert three.status["loop"] == "003-api"


def test_beside_needs_the_other_session_s_loop_to_be_free(project: Project) -> None:
    project.start("x")
    project.refused(
        1, "start", "--task-file", "-", "--beside", given="y", session=S2, says="is not finished"
    )
    project.refused(
        2, "start", "--task-file", "-", "--beside", "--fresh", given="y", says="give one"
    )


def test_a_refused_start_names_all_three_ways(project: Project) -> None:
    project.start("x")
    said = project.refused(1, "start", "--task-file", "-", given="y", says="is not finished")
    assert "--fresh" in said and "--beside" in said and "loopkit resume" in said


@pytest.mark.parametrize(
    "words",
    [("002",), ("2",), ("002-fix-slow-import-files",), ("slow-import",), ("the", "slow", "import")],
)
def test_resume_goes_on_with_the_named_loop_and_pauses_the_active_one(
    three: Project, words: tuple
) -> None:
    answer = three.ok("resume", *words)
    assert answer.out.startswith(
        "loop 002-fix-slow-import-files (Fix the slow import of files) goes on; 003-api is paused\n"
    )
    assert (
        three.status["loop"] == "002-fix-slow-import-files" and three.status["status"] == "running"
    )
    assert status_of(three, "3") == "paused"
    paused = three.of("paused")[-1]
    assert paused == {"reason": "put aside: loop 002-fix-slow-import-files goes on"}


def test_words_that_are_not_latin_name_a_loop(three: Project) -> None:
    three.ok("resume", "1")
    assert "003-api" in three.ok("resume", "レート制限").out
    assert three.status["loop"] == "003-api"


def test_the_loop_that_goes_on_is_found_without_a_snapshot(three: Project) -> None:
    three.ok("resume", "1")
    (three.root / "workflow-state.json").unlink()
    assert three.status["loop"] == "001-add-csv-export-reports"
    assert loops.active(str(three.root)) == "001-add-csv-export-reports"


def test_ambiguous_and_none_are_listed_and_nothing_changes(three: Project) -> None:
    three.refused(
        1,
        "resume",
        "the export or the import",
        says="several loops fit: 001-add-csv-export-reports (paused, 0/0",
    )
    three.refused(
        1,
        "resume",
        "the login page",
        says="no loop fits: 001-add-csv-export-reports (paused, 0/0 tasks), ",
    )
    three.refused(1, "status", "the login page", says="ask the person")


def test_without_a_loop_a_name_says_how_to_start_one(project: Project) -> None:
    for command in ("resume", "status"):
        project.refused(
            1,
            command,
            "002",
            says="there is no loop in this project; start one in Claude Code: /loop:start",
        )


def test_a_finished_loop_is_named_but_not_resumed(project: Project) -> None:
    project.start("first thing")
    project.ok("cancel")
    project.start("second job")
    project.refused(1, "resume", "first thing", says="loop 001-first-thing is over (cancelled)")
    assert project.status["status"] == "running", "and the active one goes on"


def test_a_loop_of_another_live_session_is_asked_for(three: Project) -> None:
    said = three.refused(
        1, "resume", "1", session=S2, says="001-add-csv-export-reports belongs to session"
    )
    assert "--take-over" in said
    three.ok("resume", "1", "--take-over", session=S2)
    assert status_of(three, "3") == "paused"


def test_a_loop_at_work_in_another_session_is_not_put_aside(three: Project) -> None:
    three.ok("resume", "3", "--take-over", session=S2)
    three.refused(
        1, "resume", "1", says=f"loop 003-api of session {S2} is running, and one loop of a folder"
    )
    three.ok("resume", "1", "--take-over")


def test_status_of_another_loop_says_how_to_go_on_with_it(three: Project) -> None:
    before = three.files()
    answer = three.ok("status", "slow-import")
    assert (
        answer.out.startswith("Loop 002-fix-slow-import-files: paused")
        and "put aside" in answer.out
    )
    assert "if the person says so: loopkit resume 002-fix-slow-import-files" in answer.out
    assert answer.steps == []
    assert three.files() == before


def test_the_words_after_loop_resume_pass_no_shell(three: Project) -> None:
    data = place.data_dir(three.environment)
    typed.save(data, S1, "the slow import; touch pwned $(touch pwned) `touch pwned`", typed.RESUME)
    answer = three.ok("resume", "--ask")
    assert (
        answer.out.startswith("loop 002-fix-slow-import-files")
        and not (three.folder / "pwned").exists()
    )
    assert typed.load(data, S1, typed.RESUME) is None, "taken once"
    typed.save(data, S1, "--usd", typed.RESUME)
    assert "--usd needs a value; for example --usd 10" in three.ok("resume", "--ask").out
    typed.save(data, S1, "--approval review", typed.RESUME)
    assert "no option --approval; options are --iterations" in three.ok("resume", "--ask").out
    assert three.ok("resume", "--ask").out.startswith("loop 002-fix-slow-import-files goes on\n")


def test_the_words_choose_a_loop_of_a_session_that_is_gone(project: Project) -> None:
    for words in (("fix the slow import",), ("another", "--beside")):
        project.start(*words, CLAUDE_PID=None)
    typed.save(place.data_dir(project.environment), S2, "the slow import", typed.RESUME)
    answer = project.ok("resume", "--ask", session=S2)
    assert answer.out.startswith("loop 001-fix-slow-import"), answer.out
    assert project.status["owner"]["session_id"] == S2


def test_words_that_name_none_are_told_softly(three: Project) -> None:
    typed.save(place.data_dir(three.environment), S1, "the login page", typed.RESUME)
    answer = three.ok("resume", "--ask")
    assert answer.out.startswith("loopkit says no: no loop fits: ") and answer.steps == []


@pytest.mark.parametrize("text", ["レート制限を追加", "Überprüfung der Größe", "добавить лимит"])
def test_titles_without_an_english_word_are_found_again(project: Project, text: str) -> None:
    project.start(text)
    project.start("another", "--beside")
    assert project.ok("status", text).out.startswith("Loop 001-")


def test_a_title_of_signs_is_found_by_its_number(project: Project) -> None:
    project.start("🚀🚀")
    assert project.name == "001-task"
    project.refused(1, "status", "🚀🚀", says="no loop fits: 001-task")
    assert project.ok("status", "1").out.startswith("Loop 001-task")


def test_an_empty_title_is_refused(project: Project) -> None:
    assert project.lk("start", "--task-file", "-", given=" \n").exit == 2
    assert not project.root.exists()


def test_numbers_of_archived_and_purged_loops_are_not_used_again(project: Project) -> None:
    project.start("one")
    project.start("two", "--fresh")
    project.start("three", "--fresh", "--purge")
    project.ok("cancel")
    assert (project.root / "archive" / "001-one").is_dir()
    assert (project.root / "archive" / "002-two.purged").is_file()
    project.start("four")
    assert project.name == "004-four"
    project.refused(1, "resume", "two", says="no loop fits")


def test_tasks_of_the_loop_put_aside_are_kept(project: Project) -> None:
    project.planned(task("a"), task("b"))
    project.ok("wave", "next")
    project.start("another", "--beside")
    project.ok("resume", "1")
    assert [row["status"] for row in project.tasks.values()] == ["pending", "pending"]
    assert project.ok("wave", "next").out.startswith("wave 1 goes on: T-001, T-002\n")


def test_an_older_loop_that_ends_later_is_the_one_that_ended(
    three: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What follows an end (`loopkit learn`, `status`) is about it; a new session still hears of the
    one put aside."""
    three.ok("resume", "1")
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 100)
    three.ok("cancel")
    assert (three.status["loop"], three.status["status"]) == (
        "001-add-csv-export-reports",
        "aborted",
    )
    given = {"session_id": "new", "source": "startup", "cwd": str(three.folder)}
    said = dispatch.answer(
        "session_start",
        json.dumps(given).encode(),
        three.env(),
        three.environment["LOOPKIT_DATA"],
        time.time(),
    )
    assert "[LOOP RESUME]" in json.loads(said)["hookSpecificOutput"]["additionalContext"]


def test_a_loop_that_is_over_names_those_that_are_not(three: Project) -> None:
    three.ok("resume", "1")
    three.ok("resume", "3")
    three.ok("cancel")
    said = three.refused(1, "resume", says="loop 003-api is over (cancelled)")
    assert (
        "or go on with one of: 001-add-csv-export-reports (paused, 0/0 tasks), "
        "002-fix-slow-import-files (paused" in said
    )
