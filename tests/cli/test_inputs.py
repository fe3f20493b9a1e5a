"""Files that are named to be read: inside the project or standard input, whoever asks; copies are
as private as they are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from loopkit.cli import app
from tests.cli.kit import S1, SHAPE, Project

SECRET = "TOP SECRET zebra-4711"
#: Every option that names a file to read, with `{}` for the file.
READERS = [
    ("start", "--task-file"), ("recall", "--about"), ("clarify", "--file"), ("shape", "--accept"),
    ("task", "add", "--file"), ("task", "fail", "T-001", "--error-file"), ("task", "split", "T-001", "--file"),
    ("reply", "plan", "--file"), ("decide", "--file"), ("decide", "--avoid", "--file"), ("report", "x", "--file"),
    ("panel", "T-001", "--file"), ("review", "--wave", "1", "--file"), ("review", "--thorough", "--file"),
    ("review", "--plan", "--file"), ("gate", "--file"), ("learn", "--file"),
]  # fmt: skip


def outside(project: Project, how: str) -> str:
    """The name of a file outside the project, as somebody might give it."""
    secret = project.folder.parent / "outside.txt"
    secret.write_text(SECRET)
    (project.folder / "link").symlink_to(secret)
    (project.folder / "folder").symlink_to(project.folder.parent)
    (project.folder / "sub").mkdir()
    beside = project.folder.parent / (project.folder.name + "-2")
    beside.mkdir()
    (beside / "x").write_text(SECRET)
    return {
        "absolute": str(secret),
        "above": "../outside.txt",
        "above what is not there": "nowhere/../../outside.txt",
        "in a folder first": "sub/../../outside.txt",
        "link": "link",
        "linked folder": "folder/outside.txt",
        "beside, with the same beginning": str(beside / "x"),
        "absent": "../absent.txt",
        "unreadable": "/proc/1/mem",
        "device": "/dev/zero",
        "terminal": "/dev/tty",
        "standard input by its path": "/dev/stdin",
        "the user's": "/root/.ssh/id_rsa",
    }[how]


WAYS = [
    "absolute", "above", "above what is not there", "in a folder first", "link", "linked folder",
    "beside, with the same beginning", "absent", "unreadable", "device", "terminal", "standard "
    "input by its path", "the user's",
]  # fmt: skip


def test_every_option_refuses_a_file_outside(project: Project) -> None:
    project.planned()
    project.ok("wave", "next")
    given = outside(project, "above")
    way = f"give a file inside {os.path.realpath(project.folder)}, or - for standard input"
    for words in READERS:
        said = project.refused(2, *words, given, says="../outside.txt is outside the project")
        assert way in said and "zebra-4711" not in said, words


@pytest.mark.parametrize("session", [S1, None], ids=["session", "terminal"])
@pytest.mark.parametrize("how", WAYS)
def test_what_lies_outside_is_refused_alike_whether_it_is_there_or_not(
    project: Project, how: str, session: str | None
) -> None:
    project.start()
    given = outside(project, how)
    said = project.refused(2, "report", "x", "--file", given, session=session)
    assert said.startswith(f"loopkit: {given} is outside the project; give a file inside ")
    assert not [name for name, raw in project.files().items() if b"zebra-4711" in raw]


def test_a_file_inside_is_taken_by_every_way_to_it(project: Project) -> None:
    project.start()
    (project.folder / "sub").mkdir()
    project.write("a report.md", "inside\n")
    (project.folder / "sub" / "link").symlink_to("../a report.md")
    for folder, given in (
        ("", "a report.md"),
        ("sub", "../a report.md"),
        ("sub", "link"),
        # fmt: skip
        ("", str(project.folder / "a report.md")),
        ("", "../proj & co/a report.md"),
    ):
        before = project.folder
        project.folder = before / folder if folder else before
        try:
            project.ok("report", "x", "--file", given)
        finally:
            project.folder = before


@pytest.mark.parametrize("kind", ["pipe", "folder", "absent", "nul"])
def test_something_else_inside_is_named_and_never_waited_for(project: Project, kind: str) -> None:
    project.start()
    path = project.folder / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    project.refused(
        2, "report", "x", "--file", "x\0" if kind == "nul" else "x", says="no such file: x"
    )


def test_a_file_that_is_too_large(project: Project) -> None:
    project.start()
    with open(project.folder / "x", "wb") as file:
        file.truncate(app.MOST_INPUT + 1)
    project.refused(2, "report", "x", "--file", "x", says="x is larger than 4,000,000 bytes")


def test_a_project_whose_state_lies_elsewhere(project: Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "state"
    project.environment["LOOPKIT_DIR"] = str(elsewhere)
    project.ok("start", "--task-file", "-", given="x")
    project.write("r.md", "inside\n")
    (elsewhere / "r.md").write_text("state\n")
    assert project.lk("report", "x", "--file", "r.md").exit == 0
    assert project.lk("report", "x", "--file", str(elsewhere / "r.md")).exit == 2


def test_a_linked_worktree_of_the_project_is_inside(project: Project, tmp_path: Path) -> None:
    project.start()
    tree = tmp_path / "tree"
    subprocess.run(
        ["git", "-C", project.folder, "worktree", "add", "-q", tree],
        check=True,
        env=project.environment,
    )
    (tree / "r.md").write_text("x")
    project.write("r.md")
    project.folder = tree
    project.ok("report", "x", "--file", "r.md")
    project.ok("report", "x", "--file", "../proj & co/r.md")
    project.ok("report", "x", "--file", "-", given="x")


def test_only_a_whole_shape_is_taken_from_outside(project: Project) -> None:
    project.start()
    project.score()
    path = project.folder.parent / "SHAPE.md"
    for text in (SHAPE.replace("| C1 |", "| C9 |") + SECRET, SECRET, ""):
        path.write_text(text)
        said = project.refused(
            2, "shape", "--accept", "../SHAPE.md", says="../SHAPE.md is outside the project; give"
        )
        assert "zebra-4711" not in said and "C9" not in said
    path.write_text(SHAPE)
    (path.parent / "other.md").write_text(SHAPE)
    project.refused(
        2, "shape", "--accept", "../other.md", says="../other.md is outside the project; give"
    )
    path.chmod(0o600)
    project.ok("shape", "--accept", "../SHAPE.md")
    assert mode(project.root / project.name / "SHAPE.md") == 0o600


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(
    ("own", "copy"),
    [(0o600, 0o600), (0o644, 0o644), (0o640, 0o640), (0o755, 0o644), (0o400, 0o400)],
)
def test_a_copy_is_never_more_readable_than_its_file(project: Project, own: int, copy: int) -> None:
    project.start()
    project.score()
    project.write("SHAPE.md", SHAPE)
    (project.folder / "SHAPE.md").chmod(own)
    folder = project.root / project.name
    project.ok("shape", "--accept", "SHAPE.md")
    project.ok("report", "x", "--file", "SHAPE.md")
    assert [mode(folder / "SHAPE.md"), mode(folder / "reports" / "x-1.md")] == [copy, copy]


def test_what_comes_by_standard_input_is_as_usual_and_opens_nothing(project: Project) -> None:
    project.shaped()
    folder = project.root / project.name
    project.ok("report", "x", "--file", "-", given="x")
    assert [mode(folder / "SHAPE.md"), mode(folder / "reports" / "x-1.md")] == [0o644, 0o644]
    (folder / "SHAPE.md").chmod(0o600)
    project.ok("shape", "--accept", "-", given=SHAPE)
    assert mode(folder / "SHAPE.md") == 0o600


def test_what_is_put_away_stays_as_private_as_it_was(project: Project) -> None:
    project.start()
    project.write("r.md")
    (project.folder / "r.md").chmod(0o600)
    project.ok("report", "x", "--file", "r.md")
    name = project.name
    project.start("another", "--fresh")
    assert mode(project.root / "archive" / name / "reports" / "x-1.md") == 0o600


def test_a_report_is_masked_as_evidence_is(project: Project) -> None:
    project.start()
    text = "found ghp_0123456789abcdefghij\nand hunter2hunter2 there\n"
    text += "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
    project.ok("report", "gather", "--file", "-", given=text, DB_PASSWORD="hunter2hunter2")
    kept = (project.root / project.name / "reports" / "gather-1.md").read_text()
    assert "found ***\nand *** there\n" in kept and "AAAA" not in kept
    assert not [
        name for name, raw in project.files().items() if b"ghp_" in raw or b"hunter2" in raw
    ]
