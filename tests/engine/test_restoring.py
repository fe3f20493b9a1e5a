"""The way from one tree to another: what git ignores is left alone in both directions, all else
comes back."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from loopkit.engine import git, restoring
from tests.engine.test_checkpoints import Repo


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Repo:
    return Repo(tmp_path / "proj & co")


def planned(repo: Repo, before: str, after: str) -> tuple[list[str], list[str]]:
    """What `restore` would write or delete, and what it would leave."""
    plan = restoring.planned(str(repo.folder), before, after, repo.environment)
    return sorted(row.path for row in plan.rows), sorted(
        f"{path} ({why})" for path, why in plan.left.items()
    )


def gone_to(repo: Repo, tree: str) -> restoring.Restored:
    """The working files brought to a tree, as it was planned before; no file is in both lists."""
    before = repo.take().tree
    expected = planned(repo, before, tree)
    done = repo.restore(before, tree)
    assert (done.paths, done.left) == expected
    assert not set(done.paths) & {one.rpartition(" (")[0] for one in done.left}
    return done


def ignore(repo: Repo, how: str, on: bool) -> None:
    """Has `.env` ignored or not: by .gitignore, by the repository's own list, or by the
    person's."""
    text = "*.log\n" + (".env\n" if on else "")
    if how == "person":
        Path(repo.environment["HOME"], "ignored").write_text(text)
        repo.git("config", "--global", "core.excludesFile", "~/ignored")
    else:
        repo.write(".gitignore" if how == "project" else ".git/info/exclude", text)


def change(repo: Repo, kind: str, text: str) -> None:
    there = (repo.folder / ".env").exists()
    if kind == "deleted" and there:
        (repo.folder / ".env").unlink()
    elif kind == "modified" and there or kind == "created" and not there:
        repo.write(".env", text, 0o600)


def without(files: dict, *names: str) -> dict:
    return {name: held for name, held in files.items() if name not in names}


KINDS = ("unchanged", "modified", "deleted", "created")
#: Whether it is ignored at each of three moments; each two of them meet in all four ways.
PAIRS = [row for row in itertools.product((False, True), repeat=3) if sum(row) % 2 == 0]


@pytest.mark.parametrize(
    "how, kind",
    [*itertools.product(["project"], KINDS), ("repository", "modified"), ("person", "deleted")],
)
def test_there_and_back_with_a_file_that_is_ignored_at_some_moments(
    repo: Repo, how: str, kind: str
) -> None:
    """At the checkpoint, at the rollback, between it and the undo; all else is as it was, byte for
    byte."""
    repo.write("tracked.txt", "1\n")
    repo.commit()
    for moments in PAIRS:
        (repo.folder / ".env").unlink(missing_ok=True)
        (repo.folder / "new.txt").unlink(missing_ok=True)
        # the list in the project is part of each tree; of the others only what they say now is
        # known
        known = moments if how == "project" else (False, *moments[1:])
        ignore(repo, how, moments[0])
        if kind != "created":
            repo.write(".env", "KEY=1\n", 0o600)
        repo.write("plain.txt", "1\n", 0o644)
        repo.write("tracked.txt", "1\n")
        first, at_first = repo.take().tree, repo.files()

        ignore(repo, how, moments[1])
        change(repo, kind, "KEY=2\n")
        repo.write("plain.txt", "2\n", 0o755)
        repo.write("tracked.txt", "2\n")
        repo.write("new.txt")
        second, at_second = repo.take().tree, repo.files()
        gone_to(repo, first)
        now = repo.files()
        assert without(now, ".env") == without(at_first, ".env")
        if known[0] or known[1]:
            assert now.get(".env") == at_second.get(".env"), moments
        else:
            assert now.get(".env", "  ")[1] == (
                " " if moments[0] else at_first.get(".env", "  ")[1]
            ), moments

        ignore(repo, how, moments[2])
        change(repo, kind, "KEY=3\n")
        at_third = repo.files()
        gone_to(repo, second)
        now = repo.files()
        assert without(now, ".env") == without(at_second, ".env")
        if moments[2] or how == "project" and moments[1]:
            assert now.get(".env") == at_third.get(".env"), moments
        else:
            assert now.get(".env", "  ")[1] == (
                " " if moments[1] else at_second.get(".env", "  ")[1]
            ), moments


def test_what_is_ignored_on_either_side_stays_there_and_back(repo: Repo) -> None:
    """A list of ignored files that comes and goes with the trees; tracked files are ordinary ones
    whatever it says."""
    repo.write("dist/out.js", "built\n")
    repo.write("forced.log", "tracked\n")
    repo.git("add", "-f", "forced.log")
    first = repo.take().tree
    repo.write(".gitignore", "dist/\n*.log\n!kept.log\n")
    repo.write("dist/out.js", "built again\n")
    repo.write("own.log", "mine\n")
    repo.write("kept.log", "ours\n")
    repo.write(":(top)odd.log", "mine\n")
    repo.write("forced.log", "changed\n")
    second, files = repo.take().tree, repo.files()
    assert repo.names(second) == {".gitignore", "kept.log", "forced.log"}
    there = gone_to(repo, first)
    assert (there.paths, there.left) == (
        [".gitignore", "forced.log", "kept.log"],
        ["dist/out.js (ignored)"],
    )
    assert (repo.folder / "forced.log").read_text() == "tracked\n"
    assert repo.names(repo.take().tree) == {"dist/out.js", "own.log", ":(top)odd.log", "forced.log"}
    back = gone_to(repo, second)
    ignored = (":(top)odd.log", "dist/out.js", "own.log")
    assert back.left == [f"{one} (ignored)" for one in ignored]
    assert repo.files() == files and repo.take().tree == second


def test_what_is_ignored_now_is_not_made_either(repo: Repo) -> None:
    repo.write("dist/out.js", "built\n")
    first = repo.take().tree
    (repo.folder / "dist/out.js").unlink()
    (repo.folder / "dist").rmdir()
    repo.write(".gitignore", "dist/\n")
    second, files = repo.take().tree, repo.files()
    assert gone_to(repo, first).paths == [".gitignore"]
    assert not (repo.folder / "dist").exists()
    gone_to(repo, second)
    assert repo.files() == files


def test_rules_of_every_level_count(repo: Repo) -> None:
    """Nested lists, a list that is ignored itself, a file that git was told to forget; links and
    odd names."""
    names = (
        "a/b/x.tmp",
        "a/keep.tmp",
        "a/line\nbreak.tmp",
        "forgotten.key",
        "-rf.tmp",
        os.fsdecode(b"a/\xe9.tmp"),
        "a/-q",
    )
    for name in names:
        repo.write(name, "1\n")
    os.symlink("x", repo.folder / "a/link.tmp")
    repo.write("sub/own", "1\n")
    repo.commit("forgotten.key", "a/keep.tmp")
    first = repo.take().tree
    repo.git("rm", "-q", "--cached", "forgotten.key")
    repo.write(".gitignore", "*.key\nsub/.gitignore\n/-rf.tmp\n")
    repo.write("a/.gitignore", "*.tmp\n!/keep.tmp\n")
    repo.write("sub/.gitignore", "own\n")
    for name in (*names, "sub/own"):
        repo.write(name, "2\n")
    (repo.folder / "a/link.tmp").unlink()
    os.symlink("y", repo.folder / "a/link.tmp")
    second, files = repo.take().tree, repo.files()
    there = gone_to(repo, first)
    left = (
        "-rf.tmp",
        "a/b/x.tmp",
        "a/line\nbreak.tmp",
        "a/link.tmp",
        "forgotten.key",
        "sub/own",
        names[5],
    )
    assert there.left == sorted(f"{one} (ignored)" for one in left)
    assert there.paths == [".gitignore", "a/-q", "a/.gitignore", "a/keep.tmp"]
    now = repo.files()
    assert {one: now[one] for one in left} == {one: files[one] for one in left}
    gone_to(repo, second)
    assert repo.files() == files


def test_ignoring_costs_no_call_for_each_file(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        repo.write(f"d{number}/f.txt", "1\n")
        repo.write(f"d{number}/.gitignore", f"{number}\n")
    first = repo.take().tree
    calls: list[str] = []
    real = git.git.__globals__["call"]

    def call(folder: str, arguments: tuple, *more: object, **options: object) -> bytes:
        calls.append(arguments[0])
        return real(folder, arguments, *more, **options)  # type: ignore[no-any-return]

    monkeypatch.setitem(git.git.__globals__, "call", call)
    for lists, most in ((False, 6), (True, 12)):
        for number in range(60):
            repo.write(f"d{number}/f.txt", "2\n")
            if lists:
                repo.write(f"d{number}/.gitignore", f"{number}\nx\n")
        second = repo.take().tree
        calls.clear()
        planned(repo, second, first)
        assert len(calls) <= most, calls
