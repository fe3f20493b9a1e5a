"""loopkit learn: proposals of a loop, kept only where the person says so; entries in other words;
the user's own file."""

from __future__ import annotations

import json

import pytest

from tests.cli.kit import Project, task

FAILURE = """\
- kind: failure
  context: counting requests with several workers
  failure: counts were lost
  root_cause: each process had its own
  prevention: keep counts in the store
"""


def failed(project: Project) -> Project:
    """T-001 failed; T-002 waits for something outside."""
    project.planned(
        task("Count requests", "test -f limiter.txt"), task("Deploy it", "test -f limiter.txt")
    )
    project.ok("wave", "next")
    project.ok("task", "fail", "T-001", "--error", "ValueError: lost 3 counts, token=abcdef12345")
    project.ok(
        "task",
        "block",
        "T-002",
        "--kind",
        "external",
        "--reason",
        "the registry of the team is read-only",
    )
    return project


def kept(project: Project) -> list[dict]:
    path = project.root / "learnings.jsonl"
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if path.exists()
        else []
    )


def test_showing_keeps_nothing(project: Project) -> None:
    failed(project)
    answer = project.ok("learn")
    assert (
        "1. [failure] Count requests (in: add rate limiting to the API): ValueError: lost 3 counts"
        in answer.out
    )
    assert (
        "2. [constraint] add rate limiting to the API: the registry of the team is read-only"
        in answer.out
    )
    assert "abcdef" not in answer.out, "no secret of an error"
    assert "hope:learn" in answer.out and "- kind: failure" in answer.out
    assert kept(project) == []
    assert [row["number"] for row in project.ok("learn", "--json").json["proposals"]] == [1, 2]


def test_accepted_ones_are_kept_once(project: Project) -> None:
    failed(project)
    assert "kept in .loop/learnings.jsonl: 2 of 2" in project.ok("learn", "--accept", "2,1,2").out
    rows = kept(project)
    assert [row["kind"] for row in rows] == ["constraint", "failure"]
    assert all(row["loop"] == project.name and row["ts"].endswith("Z") for row in rows)
    assert project.ok("learn").out.count("(kept)") == 2
    before = (project.root / "learnings.jsonl").read_bytes()
    assert "0 of 1 (known already)" in project.ok("learn", "--accept", "1").out
    assert (project.root / "learnings.jsonl").read_bytes() == before


def test_a_later_loop_recalls_it_and_a_failure_that_comes_back_is_seen_twice(
    project: Project,
) -> None:
    failed(project).ok("learn", "--accept", "1")
    project.ok("cancel")
    project.start()
    assert "1. [failure] Count requests" in project.ok("recall").out
    project.ok("cancel")
    failed(project).ok("learn", "--accept", "1")
    assert [row["seen"] for row in kept(project)] == [1, 2]
    out = project.ok("recall").out
    assert out.count("[failure] Count requests") == 1, "the newer line stands for both"


def test_after_a_loop_is_over_only_what_was_learnt_is_proposed(project: Project) -> None:
    project.start()
    project.score(2, 1, 2, 2, 2)
    project.ok("cancel")
    assert "next time: make these explicit first: scope" in project.ok("learn").out
    project.ok("learn", "--accept", "1")
    (row,) = kept(project)
    assert row["kind"] == "delegation" and row["outcome"].startswith("cancelled")


def test_own_words(project: Project) -> None:
    project.start()
    answer = project.ok("learn", "--file", "-", given=FAILURE)
    assert "counts were lost → keep counts in the store" in answer.out
    project.ok("learn", "--file", "-", given=FAILURE.replace("the store", "Redis"))
    rows = kept(project)
    assert [row["prevention"] for row in rows] == [
        "keep counts in the store",
        "keep counts in Redis",
    ]
    assert [row["seen"] for row in rows] == [1, 1], "the same loop only said it better"


def test_for_all_projects_of_the_user(project: Project, tmp_path) -> None:
    answer = project.ok("learn", "--user", "--file", "-", given=FAILURE)
    path = tmp_path / "home" / ".config" / "loopkit" / "learnings.jsonl"
    assert str(path) in answer.out and json.loads(path.read_text())["kind"] == "failure"
    assert not project.root.exists(), "without a loop too"
    project.start("count requests with several workers")
    assert "[recall]" in project.ok("learn", "--user", "--file", "-", given=FAILURE).out, (
        "says that it is not recalled"
    )
    (project.root / "config.toml").write_text("[recall]\nuser = true\n")
    assert "keep counts in the store (user)" in project.ok("recall").out


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            "- kind: mood\n  context: x\n",
            "learnings.1: kind must be one of failure, discovery, constraint, delegation, not mood",
        ),
        ("- x\n", "learnings.1: must be a record"),
        ("kind: failure\n", "is no list"),
        ("[]\n", "learnings: must have at least 1 entry"),
        ("- kind: discovery\n  context: x\n", "learnings.1.discovery: must be given"),
        (
            "- kind: discovery\n  context: x\n  discovery: y\n  confidence: 7\n",
            "learnings.1.confidence:",
        ),
        (
            "- kind: discovery\n  context: x\n  discovery: y\n  confidence: nan\n",
            "learnings.1.confidence:",
        ),
        (
            "- kind: discovery\n  context: x\n  discovery: y\n  colour: z\n",
            "learnings.1.colour: must be left out",
        ),
        ("- kind: discovery\n  context: ''\n  discovery: y\n", "learnings.1.context:"),
        (
            FAILURE + "- kind: constraint\n  context: x\n  constraint: y\n  permanent: perhaps\n",
            "learnings.2.permanent:",
        ),
        (FAILURE.replace("counts were lost", "x" * 1001), "learnings.1.failure:"),
    ],
)
def test_what_is_submitted_is_checked_and_nothing_kept(
    project: Project, given: str, says: str
) -> None:
    project.start()
    project.refused(2, "learn", "--file", "-", given=given, says=says)


@pytest.mark.parametrize(
    ("code", "words", "says"),
    [
        (1, ("--accept", "3"), "there is no proposal 3; see loopkit learn, it shows 2"),
        (1, ("--accept", "0"), "there is no proposal 0"),
        (2, ("--accept", "x"), "not a list of numbers"),
        (2, ("--accept", ","), "no number was given"),
        (2, ("--accept", "1", "--file", "-"), "--accept together with --file"),
        (2, ("--user",), "--user without something to keep"),
        (2, ("--file", "nowhere.yaml"), "no such file"),
    ],
)
def test_calls_that_cannot_be_taken(project: Project, code: int, words: tuple, says: str) -> None:
    failed(project)
    project.refused(code, "learn", *words, says=says)


def test_a_secret_is_refused(project: Project) -> None:
    project.start()
    given = FAILURE.replace("counts were lost", '"password=hunter22 was refused"')
    project.refused(
        1, "learn", "--file", "-", given=given, says="failure looks like it holds a secret"
    )


def test_no_loop_and_no_folder(project: Project) -> None:
    project.refused(1, "learn", says="no loop in this project")
    project.refused(
        1,
        "learn",
        "--file",
        "-",
        given=FAILURE,
        says="no .loop in this project; keep it for yourself",
    )


def test_what_cannot_be_written_is_said(project: Project) -> None:
    project.start()
    (project.root / "learnings.jsonl").mkdir()
    project.refused(3, "learn", "--file", "-", given=FAILURE, says="learnings.jsonl")
