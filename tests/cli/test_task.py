"""loopkit task: the ledger of tasks, from the outside."""

from __future__ import annotations

import functools

import pytest

from tests.cli.kit import PANEL, Project, at_once, task


def test_one_task_and_a_list_of_tasks(project: Project) -> None:
    project.shaped()
    answer = project.ok(
        "task",
        "add",
        "write it",
        "--verify",
        "test -f a",
        "--files",
        "a",
        "--files",
        "b",
        "--criteria",
        "C1",
    )
    assert answer.out.startswith("T-001 added: write it") and answer.steps == ["loopkit wave next"]
    given = [
        task("use it", "ls", blocked_by=["T-001"]),
        task("test it", "ls", blocked_by=["#1"], complexity="simple"),
    ]
    assert project.ok("task", "add", "--file", "-", "--json", given=given).json["added"] == [
        "T-002",
        "T-003",
    ]
    rows = project.tasks
    assert rows["T-001"]["files"] == ["a", "b"] and rows["T-001"]["criteria"] == ["C1"]
    assert [rows[one]["blockedBy"] for one in rows] == [[], ["T-001"], ["T-002"]]
    assert rows["T-001"]["metadata"] == {
        "wave": None,
        "loopId": project.name,
        "verification": "execution output",
        "stuckCount": 0,
    }


def test_a_list_in_block_yaml(project: Project) -> None:
    project.shaped()
    text = """\
- subject: write it
  verify: test -f a
  files: [a]
- subject: use it
  verify: ls
  blocked_by: [1, T-001]
"""
    project.ok("task", "add", "--file", "-", given=text)
    rows = project.tasks
    assert (rows["T-002"]["verify"], rows["T-002"]["blockedBy"]) == ("ls", ["T-001"])


def test_a_doubtful_subject_is_warned_about(project: Project) -> None:
    project.shaped()
    assert (
        "“and” is often two tasks"
        in project.ok("task", "add", "write and test", "--verify", "ls").out
    )


@pytest.mark.parametrize(
    ("code", "given", "says"),
    [
        (2, "{", "standard input"),
        (2, "text", "standard input"),
        (2, {"subject": "a"}, "list"),
        (2, [], "tasks: must have at least 1 entry"),
        (2, [1], "tasks.1: must be a record"),
        (2, [task(verify="")], "tasks.1.verify: must say something"),
        (2, [task(verify="a | b")], "'|'"),
        (2, [task("x" * 50_000)], "tasks.1.subject: must have at most 1,000 characters"),
        (2, [task(), task(subject="")], "tasks.2.subject: must say something"),
        (1, [task(blocked_by=["T-099"])], "T-099"),
        (1, [task(blocked_by=["#2"]), task(blocked_by=["#1"])], "cycle: T-001 → T-002 → T-001"),
        (1, [task(str(number)) for number in range(26)], "26 tasks, at most 25"),
        (2, b"\xff", "not UTF-8"),
        (2, b"- subject: &a x\n- *a\n", "anchors"),
    ],
)
def test_lists_that_cannot_be_taken_add_nothing(
    project: Project, code: int, given: object, says: str
) -> None:
    project.shaped()
    project.refused(code, "task", "add", "--file", "-", given=given, says=says)
    assert project.tasks == {}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "give either a subject or --file"),
        (("a", "--file", "-"), "give either a subject or --file"),
        (("a",), "tasks.1.verify: must be given"),
        (
            ("a", "--verify", "ls", "--complexity", "huge"),
            "tasks.1.complexity: must be one of simple, medium, complex",
        ),
        (("a", "--verify", "x > y"), "'>'"),
    ],
)
def test_wrong_use_of_add(project: Project, words: tuple, says: str) -> None:
    project.shaped()
    project.refused(2, "task", "add", *words, says=says)


def test_25_tasks_are_taken(project: Project) -> None:
    project.shaped()
    project.ok("task", "add", "--file", "-", given=[task(str(number)) for number in range(25)])
    project.refused(1, "task", "add", "one more", "--verify", "ls", says="26 tasks")


@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("start",),
        ("fail",),
        ("block", "--reason", "x"),
        ("unblock",),
        ("set", "--verify", "ls"),
        ("remove",),
    ],
)
def test_an_unknown_id_and_no_id(project: Project, words: tuple) -> None:
    project.planned()
    project.refused(1, "task", words[0], "T-099", *words[1:], says="there is no task T-099")
    project.refused(2, "task", words[0], "banana", *words[1:], says="not a task id")
    project.refused(2, "task", words[0])


def test_a_circle_closed_later_is_refused_by_name(project: Project) -> None:
    project.planned(task("a"), task("b", blocked_by=["#1"]))
    project.refused(
        1, "task", "set", "T-001", "--blocked-by", "T-002", says="cycle: T-001 → T-002 → T-001"
    )
    project.refused(
        1, "task", "add", "never free", "--verify", "ls", "--blocked-by", "T-099", says="T-099"
    )


def test_set_and_remove(project: Project) -> None:
    project.planned(task("a"), task("b", blocked_by=["#1"]))
    project.ok("task", "set", "T-002", "--blocked-by", "none", "--verify", "ls", "--files", "x")
    row = project.tasks["T-002"]
    assert (row["blockedBy"], row["verify"], row["files"]) == ([], "ls", ["x"])
    project.ok("task", "remove", "T-001")
    project.ok("task", "add", "c", "--verify", "ls")
    assert list(project.tasks) == ["T-002", "T-003"]


def test_start_fail_panel_and_the_changed_approach(project: Project) -> None:
    """A failure asks for a panel before the next start; its advice is in the next prompt; nobody is
    asked."""
    project.planned()
    assert project.ok("task", "start", "T-001").out.startswith("T-001 started in wave 1")
    answer = project.ok(
        "task", "fail", "T-001", "--error", "it says no", "--suggest", "impossible", "--json"
    )
    row = answer.json
    assert (row["action"], row["clamped"], row["attempts"], row["depth"]) == ("retry", True, 1, 0)
    assert project.tasks["T-001"]["metadata"]["stuckCount"] == 1
    project.refused(
        1, "task", "start", "T-001", says="no panel has looked at it; next: loopkit panel T-001"
    )
    project.ok("wave", "close")
    prompt = project.ok("panel", "T-001")
    assert "it says no" in prompt.out and prompt.steps == ["loopkit panel T-001 --file -"]
    assert "use the other path" in project.ok("panel", "T-001", "--file", "-", given=PANEL).out
    project.ok("wave", "next")
    shown = project.ok("task", "show", "T-001").out
    assert "the panel says: use the other path" in shown and "it says no" in shown
    assert project.snapshot["status"] == "running"
    assert [
        line["type"] for line in project.lines if line["type"] in ("question_asked", "paused")
    ] == []


def test_error_text_from_standard_input(project: Project) -> None:
    project.planned()
    project.ok("task", "start", "T-001")
    project.ok("task", "fail", "T-001", "--error-file", "-", given='a "quoted" $(error)\n')
    assert project.of("task_failed")[0]["error"] == 'a "quoted" $(error)\n'


def test_block_and_unblock(project: Project) -> None:
    project.planned()
    project.refused(
        2, "task", "block", "T-001", "--kind", "mood", "--reason", "x", says="block kind 'mood'"
    )
    project.refused(2, "task", "block", "T-001", says="no reason given")
    project.ok("task", "block", "T-001", "--kind", "permission", "--reason", "needs a signature")
    assert project.tasks["T-001"]["block"] == {"kind": "permission", "text": "needs a signature"}
    assert "needs a signature" in project.ok("status").out
    project.refused(1, "wave", "next", says="next: loopkit task unblock T-001")
    project.ok("task", "unblock", "T-001")
    assert project.tasks["T-001"]["status"] == "pending"


def test_three_levels_of_a_split_complete_upwards(project: Project) -> None:
    project.planned(task("top", "ls"))
    project.ok("task", "split", "T-001", "--file", "-", given=[task("a", "ls"), task("b", "ls")])
    project.ok("task", "split", "T-002", "--file", "-", given=[task("aa", "ls")])
    project.ok("task", "split", "T-004", "--file", "-", given=[task("aaa", "ls")])
    assert [row["status"] for row in project.tasks.values()] == [
        "blocked",
        "blocked",
        "pending",
        "blocked",
        "pending",
    ]
    project.ok("wave", "next")
    assert project.verify("T-003").exit == 0
    answer = project.verify("T-005")
    assert "T-004, T-002, T-001 completed with its last subtask" in answer.out
    assert {row["status"] for row in project.tasks.values()} == {"completed"}
    project.ok("wave", "close")
    assert project.snapshot["stage"] == "review"


@pytest.mark.parametrize(
    ("code", "given"),
    [(2, []), (2, [{"subject": "no check"}]), (2, "x"), (1, [task(blocked_by=["T-9"])])],
)
def test_splits_that_cannot_be_taken(project: Project, code: int, given: object) -> None:
    project.planned()
    project.refused(code, "task", "split", "T-001", "--file", "-", given=given)


def test_waves_shows_the_order(project: Project) -> None:
    project.planned(task("a"), task("b", blocked_by=["#1"]), task("c"))
    answer = project.ok("task", "waves", "--json")
    assert answer.json["waves"] == [["T-001", "T-003"], ["T-002"]]


def test_nasty_subjects_do_no_harm(project: Project) -> None:
    subjects = [
        '"quotes" \\ and $(x) `y`',
        "Ünï 🎉 日本語",
        "new\nline\ttab",
        "-rf",
        "</loop-complete>",
        "{{ 7 * 7 }}",
    ]
    project.shaped()
    project.ok("task", "add", "--file", "-", given=[task(subject, "ls") for subject in subjects])
    shown = [row["subject"] for row in project.tasks.values()]
    assert shown == [" ".join(subject.split()) for subject in subjects]
    for text in (project.progress, project.ok("task", "list").out):
        assert all(subject in text for subject in shown)


# -- many at the same time


def test_twenty_adds_at_the_same_time(project: Project) -> None:
    project.shaped()
    add = functools.partial(project.lk, "task", "add", "--verify", "ls")
    answers = at_once(*[functools.partial(add, f"number {number}") for number in range(20)])
    assert {answer.exit for answer in answers} == {0}
    rows = project.tasks
    assert list(rows) == [f"T-{number:03d}" for number in range(1, 21)]
    assert {row["subject"] for row in rows.values()} == {f"number {number}" for number in range(20)}
    assert project.snapshot["tasks"]["total"] == 20
    assert project.snapshot["ledger_offset"] == project.ledger.stat().st_size


def test_a_long_list_fits_on_a_screen_and_leaves_out_what_is_done_first(project: Project) -> None:
    project.planned(*[task(f"t{number}") for number in range(10)])
    project.write("limiter.txt")
    project.ok("task", "start", "T-001")
    assert project.verify("T-001").exit == 0
    project.ok(
        "task",
        "split",
        "T-010",
        "--file",
        "-",
        given=[task(f"part {number}") for number in range(30)],
    )
    said = project.ok("task", "list").out
    assert said.count("\n") <= 40 and "T-001" not in said.split("1/40 completed")[0]
    assert "T-037 " in said and "T-038 " not in said
    assert "1/40 completed; 4 of them not shown: loopkit task list --json" in said
    assert len(project.tasks) == 40
