"""Task files: what is wrong with one, and the loop that is made of one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loopkit.core.journal.errors import Refused
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


def test_lint_names_each_doubt_and_counts(case: Case) -> None:
    case.project.write("good.yaml", TASKS)
    case.project.write(
        "odd.yaml", "- {subject: Do a and b, verify: pytest, files: [a, b, c, d, e]}\n"
    )
    workspace = Workspace(case.notes.append)
    good = taskfile.lint(workspace, ["good.yaml"])
    assert (good.code, good.text) == (0, "2 tasks checked: 0 errors, 0 warnings")
    odd = taskfile.lint(workspace, ["odd.yaml", "none.yaml"])
    assert odd.code == 1
    assert odd.text.count("warning: task 1:") == 3
    assert odd.text.endswith("1 task checked: 1 error, 3 warnings")
    (case.project.folder / taskfile.FOLDER).mkdir(parents=True)
    case.project.write(taskfile.path_of("csv"), TASKS)
    case.project.write("docs/plans/csv.md", "A plan\n")
    every = taskfile.lint(workspace, [])
    assert (every.code, every.text) == (0, "2 tasks checked: 0 errors, 0 warnings")


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
