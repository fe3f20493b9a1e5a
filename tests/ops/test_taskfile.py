"""Task files: what is wrong with one, and the loop that is made of one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loopkit.core.journal.errors import Refused
from loopkit.core.pipeline import on_loop
from loopkit.ops import start, taskfile
from loopkit.ops.workspace import Workspace
from tests.cli.kit import Project
from tests.ops.kit import Case

TASKS = """\
- subject: Write a
  verify: grep -qx good a.txt
  description: one word
  files: [a.txt]
- subject: Write b
  verify: grep -qx good b.txt
  description: one word
  blocked_by: [1]
"""


@pytest.fixture
def case(project: Project, monkeypatch: pytest.MonkeyPatch) -> Case:
    return Case(project, monkeypatch)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("# Plan\n\nFirst the store, then the limiter.\n", "list"),
        ("[]", ""),
        ("- subject: a\n", "verify"),
        ("- {subject: a, verify: 'grep a b | wc'}\n", "verify"),
        ("- {subject: a, verify: pytest, blocked_by: [2]}\n", "blocked by #2"),
        (
            "- {subject: a, verify: x, blocked_by: [2]}\n- {subject: b, verify: x, blocked_by: [1]}\n",
            "cycle",
        ),
        ("- subject: [\n", ""),
        ("\xff", ""),
    ],
)
def test_a_file_without_usable_tasks_says_what_a_task_looks_like(
    tmp_path: Path, text: str, what: str
) -> None:
    path = tmp_path / "auth.tasks.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(Refused) as fault:
        taskfile.read(str(path), "auth.tasks.yaml")
    assert what in fault.value.what
    if text != "\xff":
        assert "- subject:" in fault.value.todo
    assert fault.value.exit_code == 1


def test_no_file_is_refused_with_the_way_to_one(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="there is no file docs"):
        taskfile.read(str(tmp_path / "x"), "docs/x")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TASKS.replace("  verify: grep -qx good b.txt\n", ""),
         "x.yaml:5: error: task 2, verify: must be given; write verify: "),
        (TASKS + "  nope: 1\n", "x.yaml:9: error: task 2, nope: must be left out"),
        (TASKS + "- just words\n", "x.yaml:9: error: task 3: must be a record"),
        (TASKS.replace("grep -qx good b.txt", "a | b"), "x.yaml:6: error: task 2, verify: "),
        (TASKS.replace("[1]", "[9]"), "x.yaml: error: blocked by #9"),
        (TASKS.replace("[1]", "[2]"), "x.yaml: error: cycle: T-002 → T-002; drop one of these"),
        (TASKS + "\tverify: x\n", "x.yaml:9: error: no YAML: "),
        (TASKS + "  subject: c\n", "x.yaml:9: error: no YAML: subject stands twice"),
        ("- &a\n  subject: x\n", "x.yaml:1: error: no YAML: anchors are not used here"),
        ("", "x.yaml:1: error: it is no list; write a list: a task is `- subject:"),
        ("\xff", "x.yaml: error: it is not UTF-8 at byte 0; save it as UTF-8"),
        (None, "x.yaml: error: there is no file x.yaml; give a file of tasks; skill loop:create"),
    ],
)  # fmt: skip
def test_lint_names_file_line_and_cure(case: Case, text: str | None, line: str) -> None:
    if text is not None:
        (case.project.folder / "x.yaml").write_bytes(text.encode("latin-1"))
    answer = case.project.lk("lint", "tasks", "x.yaml", session=None)
    assert answer.exit == 1 and answer.out.startswith(line), answer


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "large"])
def test_what_is_no_file_of_tasks_is_named_and_hangs_nothing(case: Case, kind: str) -> None:
    path = case.project.folder / "x.yaml"
    {
        "link": lambda: path.symlink_to("y.yaml"),
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "large": lambda: path.write_text("# " * taskfile.LARGEST),
    }[kind]()
    answer = case.project.lk("lint", "tasks", "x.yaml", session=None)
    assert answer.exit == 1 and answer.out.startswith("x.yaml: error: it "), answer
    answer = case.project.lk("run", "work", "x", "--tasks", "x.yaml", session=None)
    assert answer.exit == 3 and "x.yaml: it " in answer.err, answer


def test_lint_names_each_doubt_and_counts(case: Case) -> None:
    case.project.write("good.yaml", TASKS)
    case.project.write(
        "odd.yaml", "- {subject: Do a and b, verify: pytest, files: [a, b, c, d, e]}\n"
    )
    workspace = Workspace(case.notes.append)
    good = taskfile.lint(workspace, ["good.yaml"])
    assert (good.code, good.text) == (
        0,
        "2 tasks checked: 0 errors, 0 warnings\n"
        "work them: loopkit run work good-yaml 6 --tasks good.yaml",
    )
    odd = taskfile.lint(workspace, ["odd.yaml", "none.yaml"])
    assert odd.code == 1
    assert odd.text.count("warning: task 1:") == 3
    assert odd.text.endswith("1 task checked: 1 error, 3 warnings")
    (case.project.folder / taskfile.FOLDER).mkdir(parents=True)
    case.project.write(taskfile.path_of("csv"), TASKS)
    case.project.write("docs/plans/csv.md", "A plan\n")
    every = taskfile.lint(workspace, [])
    assert (every.code, every.text) == (0, "2 tasks checked: 0 errors, 0 warnings")
    named = taskfile.lint(workspace, [taskfile.path_of("csv")])
    assert named.text.endswith("\nwork them: loopkit run work csv 6")
    assert taskfile.lint(workspace, ["csv"]).text == named.text


@pytest.mark.parametrize(("tasks", "iterations"), [(0, 3), (1, 5), (5, 11), (10, 18), (20, 33)])
def test_as_many_iterations_as_tasks_may_take(tasks: int, iterations: int) -> None:
    assert on_loop.suggested(tasks) == iterations


def test_the_loop_of_a_file_has_its_name_its_tasks_and_the_plan_as_request(case: Case) -> None:
    project = case.project
    (project.folder / "docs" / "plans").mkdir(parents=True)
    project.write("docs/plans/csv-export.md", "# Export as CSV\n\nAccountants want it.\n")
    project.write(taskfile.path_of("csv-export"), TASKS)
    workspace = Workspace(case.notes.append)
    rows = taskfile.read(os.path.join(workspace.folder, taskfile.path_of("csv-export")))
    loop = taskfile.begin(workspace, "csv-export", rows, start.Options())
    assert loop.name == "001-csv-export"
    state = loop.state
    assert state.text.startswith("# Export as CSV")
    assert [task.verify for task in state.tasks.values()] == [row["verify"] for row in rows]
    assert state.tasks["T-002"].blocked_by == ("T-001",)
    assert state.criteria["C2"].command == "grep -qx good b.txt"
    assert len(state.must_nots) == 2
    assert state.stage == "decompose"
    assert (Path(loop.folder) / "SHAPE.md").exists()


def test_what_is_shipped_passes_lint(project: Project) -> None:
    answer = project.lk("lint", session=None)
    assert (answer.exit, answer.out.splitlines()[-1]) == (0, "12 checked: 0 errors, 0 warnings")
