"""Trees of working files in real repositories: what is taken, what stays untouched, what comes
back."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from loopkit.core.journal.errors import LoopError
from loopkit.engine import checkpoints, git, restoring, trees
from tests.waiting import gone, wait_for

#: Bytes of a file that is too large for a checkpoint in these tests.
LARGE = 1_000_001


class Repo:
    """A repository, what it looks like from outside, and the calls under test."""

    before = ""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = self.project = folder
        self.environment = dict(os.environ)
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", *words)

    def git(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            ["git", "--no-optional-locks", *words], cwd=self.folder, capture_output=True, check=False
        )  # fmt: skip
        assert not check or done.returncode == 0, done.stderr
        return os.fsdecode(done.stdout)

    def write(self, name: str, text: str | bytes = "x\n", mode: int | None = None) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if mode is not None:
            path.chmod(mode)
        return path

    def commit(self, *paths: str) -> str:
        self.git("add", *(paths or ("-A",)))
        self.git("commit", "-qm", "x")
        return self.git("rev-parse", "HEAD").strip()

    # -- calls under test

    def take(self, plain: str | None = None) -> checkpoints.Snapshot:
        """A tree; what is measured without one is the same, be it little or much."""
        given = str(self.project), self.environment
        taken = checkpoints.snapshot(*given, (), plain)
        if self.before:
            compared = trees.measured(str(self.project), self.before, taken.tree, self.environment)
            for few, order in ((checkpoints.FEW, 1), (0, -1)):
                before = [self.before, taken.tree][::order]
                with mock.patch.object(checkpoints, "FEW", few):
                    rows, _ = checkpoints.measured(*given, before, (), plain)
                assert rows == {taken.tree: [], self.before: compared}
        self.before = taken.tree
        return taken

    def restore(self, before: str, after: str) -> restoring.Restored:
        return restoring.restore(str(self.project), before, after, self.environment)

    def back(self, to: str) -> restoring.Restored:
        return self.restore(self.take().tree, to)

    def names(self, tree: str) -> set[str]:
        return {
            one for one in self.git("ls-tree", "-r", "-z", "--name-only", tree).split("\0") if one
        }

    # -- looking

    def files(self) -> dict[str, tuple]:
        """Everything in the working tree but git's own: {path: (kind and mode, bytes or
        target)}."""
        found = {}
        for top, folders, names in os.walk(self.folder):
            if ".git" in folders:
                folders.remove(".git")
            for name in [
                *names,
                *(one for one in folders if os.path.islink(os.path.join(top, one))),
            ]:
                path = os.path.join(top, name)
                state = os.lstat(path)
                large = state.st_size > 1_000_000
                if stat.S_ISLNK(state.st_mode):
                    held: object = os.readlink(path)
                else:
                    held = (state.st_size, state.st_mtime_ns) if large else Path(path).read_bytes()
                found[os.path.relpath(path, self.folder)] = (oct(state.st_mode), held)
        return found

    def outside(self) -> dict[str, object]:
        """What a checkpoint must not touch: everything in the git folder but objects and our refs,
        and the status."""
        own = Path(self.git("rev-parse", "--absolute-git-dir").strip())
        found: dict[str, object] = {
            "status": self.git("status", "--porcelain=v2", "--branch", "--ignored", "--show-stash")
        }
        for path in sorted(own.rglob("*")):
            name = str(path.relative_to(own))
            if path.is_file() and not name.startswith(("objects/", "refs/loopkit/")):
                found[name] = path.read_bytes()
        return found


@pytest.fixture(autouse=True)
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred megabytes are read and compressed for seconds."""
    monkeypatch.setattr(checkpoints, "LARGEST", LARGE - 1)


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Repo:
    return Repo(tmp_path / "proj & co")


@pytest.fixture
def rich(repo: Repo) -> Repo:
    """Files of every kind, a dirty index, a stash, reflogs."""
    repo.write("staged.txt", "old\n")
    repo.write("both.txt", "old\n")
    repo.write("unstaged.txt", "old\n")
    repo.write("deleted.txt", "gone in the tree\n")
    repo.write("dropped.txt", "gone in the index\n")
    repo.write("crlf.txt", b"one\r\ntwo\r\n\x00three\r\n")
    repo.write("tool.sh", "#!/bin/sh\n", 0o755)
    repo.write("late.sh", "#!/bin/sh\n", 0o644)
    repo.write("größe/日本 語.txt", "umlaute\n")
    repo.write("tracked.log", "tracked though ignored\n")
    repo.write("large.bin", b"\0" * LARGE)
    repo.write("-rf", "a leading dash\n")
    repo.write(":(top)x", "no magic\n")
    os.symlink("staged.txt", repo.folder / "link")
    os.symlink("nowhere", repo.folder / "dangling")
    repo.write(".gitignore", "*.log\nbuild/\n")
    repo.git("add", "-f", "tracked.log")
    repo.commit()
    repo.write("stashed.txt", "s\n")
    repo.git("stash", "-u")
    repo.git("checkout", "-qb", "side")
    repo.write("staged.txt", "new\n")
    repo.write("both.txt", "in the index\n")
    repo.git("add", "staged.txt", "both.txt")
    repo.git("rm", "-q", "--cached", "dropped.txt")
    repo.write("both.txt", "in the tree\n")
    repo.write("unstaged.txt", "new\n")
    repo.write("tracked.log", "changed though ignored\n")
    (repo.folder / "deleted.txt").unlink()
    (repo.folder / "late.sh").chmod(0o755)
    (repo.folder / "link").unlink()
    os.symlink("both.txt", repo.folder / "link")
    repo.write("untracked/new file\nwith a line break.txt", "n\n")
    repo.write("intended.txt", "meant\n")
    repo.git("add", "-N", "intended.txt")
    (repo.folder / os.fsdecode(b"latin-\xe9.txt")).write_bytes(b"caf\xe9")
    repo.write("build/out.o", "ignored\n")
    repo.write("noise.log", "ignored\n")
    (repo.folder / "huge.bin").touch()
    os.truncate(repo.folder / "huge.bin", LARGE)
    repo.write(".loop/001-x/learnings/001.md", "reasons\n")
    return repo


def test_a_checkpoint_holds_all_that_belongs_to_it_and_touches_nothing_of_the_persons(
    rich: Repo,
) -> None:
    files, outside = rich.files(), rich.outside()
    snapshot = rich.take()
    sha = trees.commit(
        str(rich.folder), snapshot.tree, None, "checkpoint: start - none", rich.environment
    )
    assert checkpoints.keep(str(rich.folder), "001-x", 1, sha, rich.environment)
    assert rich.files() == files
    assert rich.outside() == outside
    assert "logs/HEAD" in outside and "logs/refs/stash" in outside and "index" in outside
    assert rich.git("rev-parse", "refs/loopkit/001-x/1").strip() == sha
    held = rich.names(snapshot.tree)  # tracked and untracked files; what is left out is named
    assert held == {
        *(
            "staged.txt",
            "both.txt",
            "unstaged.txt",
            "dropped.txt",
            "crlf.txt",
            "tool.sh",
            "late.sh",
            "link",
            "dangling",
        ),
        *(
            "größe/日本 語.txt",
            "tracked.log",
            "large.bin",
            "-rf",
            ":(top)x",
            ".gitignore",
            "intended.txt",
        ),
        *("untracked/new file\nwith a line break.txt", os.fsdecode(b"latin-\xe9.txt")),
    }
    assert snapshot.left_out == ("huge.bin (1 MB)",)
    modes = dict(
        row.split("\t")[::-1] for row in rich.git("ls-tree", "-z", snapshot.tree).split("\0")[:-1]
    )
    assert modes["late.sh"].startswith("100755") and modes["link"].startswith("120000")
    assert rich.git("cat-file", "blob", f"{snapshot.tree}:both.txt") == "in the tree\n"


def wreck(repo: Repo) -> None:
    """What a bad batch does."""
    for name in ("staged.txt", "both.txt", "tracked.log", "tool.sh"):
        repo.write(name, f"broken {name}\n")
    repo.write("crlf.txt", b"one\ntwo\n")
    (repo.folder / "tool.sh").chmod(0o644)
    (repo.folder / "late.sh").chmod(0o644)
    for name in ("unstaged.txt", "größe/日本 語.txt", "link", "dangling", "-rf", ":(top)x"):
        (repo.folder / name).unlink()
    (repo.folder / "größe").rmdir()
    repo.write("link", "no link any more\n")
    (repo.folder / "untracked/new file\nwith a line break.txt").unlink()
    repo.write("untracked/other/deep/er.txt", "new\n")
    os.symlink("/etc/passwd", repo.folder / "evil")
    repo.write("build/out.o", "rebuilt\n")
    with open(repo.folder / "large.bin", "r+b") as file:
        file.write(b"changed")


def test_rollback_and_undo_give_the_identical_tree(rich: Repo) -> None:
    first = rich.take()
    files = rich.files()
    wreck(rich)
    second = rich.take()
    wrecked, outside = rich.files(), rich.outside()
    restored = rich.restore(second.tree, first.tree)
    assert restored.left == []
    assert rich.take() == first
    now = rich.files()
    kept = {"build/out.o": now.pop("build/out.o"), "large.bin": now.pop("large.bin")}
    assert kept["build/out.o"] == wrecked["build/out.o"]
    assert now == {name: held for name, held in files.items() if name not in kept}
    assert not (rich.folder / "untracked/other").exists() and os.path.lexists(
        rich.folder / "dangling"
    )
    assert {**rich.outside(), "status": 0} == {**outside, "status": 0}
    assert rich.restore(first.tree, second.tree).left == []
    assert rich.take().tree == second.tree
    assert rich.files().keys() == wrecked.keys()
    assert rich.outside() == outside


def test_only_what_differs_is_written(repo: Repo) -> None:
    repo.write("same.txt")
    repo.write("other.txt", "1\n")
    first = repo.take().tree
    repo.write("other.txt", "2\n")
    before = os.lstat(repo.folder / "same.txt")
    assert repo.back(first).paths == ["other.txt"]
    assert os.lstat(repo.folder / "same.txt") == before
    assert (repo.folder / "other.txt").read_text() == "1\n"


# -- bytes, whatever git is told to do with them


ATTRIBUTES = """\
*.txt text=auto
*.win text eol=crlf
*.id ident
*.utf16 text working-tree-encoding=UTF-16
*.up filter=up
*.big filter=lfs
"""


@pytest.fixture
def converting(repo: Repo) -> Repo:
    """A repository with line ends, keywords, encodings and filters: what it stores is not what lies
    there."""
    repo.git("config", "filter.up.clean", "tr a-z A-Z")
    repo.git("config", "filter.up.smudge", "tr A-Z a-z")
    repo.git("config", "filter.lfs.process", "sh -c 'sleep 100'")
    repo.git("config", "filter.lfs.clean", "false")
    repo.git("config", "filter.lfs.required", "true")
    repo.write(".gitattributes", ATTRIBUTES)
    repo.write("crlf.txt", b"one\r\ntwo\r\n")
    repo.write("lf.txt", b"one\ntwo\n")
    repo.write("mixed.win", b"one\r\ntwo\r\n")
    repo.write("key.id", b"$Id$\n")
    repo.write("wide.utf16", "wide\n".encode("utf-16"))
    repo.write("letters.up", b"letters\n")
    repo.git("-c", "filter.lfs.required=false", "add", ".")
    repo.git("commit", "-qm", "x")
    (repo.folder / "key.id").unlink()
    repo.git("checkout", "key.id")
    time.sleep(0.01)
    repo.git("update-index", "--refresh")
    return repo


@pytest.mark.parametrize("crlf", ["true", "input", "false"])
def test_conversions_and_filters_change_no_byte(converting: Repo, crlf: str) -> None:
    converting.git("config", "core.autocrlf", crlf)
    converting.write("pointer.big", "not handed to the filter, which would wait\n")
    files = converting.files()
    assert b"$Id: " in files["key.id"][1]
    first = converting.take()
    for name in (
        "crlf.txt",
        "lf.txt",
        "mixed.win",
        "key.id",
        "wide.utf16",
        "letters.up",
        "pointer.big",
    ):
        held = subprocess.run(
            ["git", "cat-file", "blob", f"{first.tree}:{name}"],
            cwd=converting.folder,
            capture_output=True,
            check=True,
        )
        assert held.stdout == files[name][1], name
        converting.write(name, b"broken\n")
    second = converting.take()
    converting.restore(second.tree, first.tree)
    assert converting.files() == files
    assert converting.take().tree == first.tree


def test_an_encoding_that_keeps_the_size(repo: Repo) -> None:
    repo.write(".gitattributes", "*.txt text working-tree-encoding=UTF-16LE\n")
    held = "слово".encode("utf-16-le")
    repo.write("word.txt", held)
    repo.commit()
    assert repo.git("cat-file", "-s", "HEAD:word.txt").strip() == str(len(held))
    first = repo.take().tree
    repo.write("word.txt", "other\n")
    repo.back(first)
    assert (repo.folder / "word.txt").read_bytes() == held


def test_an_index_is_looked_through_once(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("a.txt", "1\n")
    repo.commit()
    first = repo.take()
    calls = []
    real = git.call
    monkeypatch.setattr(
        git, "call", lambda *given, **more: (calls.append(given[1][0]), real(*given, **more))[1]
    )
    repo.write("a.txt", "22\n")
    second = repo.take(first.plain)
    assert second.tree != first.tree and second.plain == first.plain and "cat-file" not in calls
    repo.git("config", "core.autocrlf", "input")
    repo.write("b.txt", b"1\r\n")
    repo.git("add", "b.txt")
    assert repo.git("cat-file", "-s", repo.take(first.plain).tree + ":b.txt").strip() == "3"
    assert "cat-file" in calls and repo.take(first.plain).plain is None


def test_attributes_that_changed_since_are_no_matter(converting: Repo) -> None:
    (converting.folder / ".gitattributes").unlink()
    tree = converting.take().tree
    assert converting.git("cat-file", "-s", f"{tree}:crlf.txt").strip() == "10"


def test_what_git_was_asked_not_to_look_at_is_read(repo: Repo) -> None:
    for name in ("assumed.txt", "skipped.txt", "sparse.txt"):
        repo.write(name, "old\n")
    repo.commit()
    repo.git("update-index", "--assume-unchanged", "assumed.txt")
    repo.git("update-index", "--skip-worktree", "skipped.txt", "sparse.txt")
    (repo.folder / "sparse.txt").unlink()
    repo.write("assumed.txt", "my own\n")
    repo.write("skipped.txt", "my own\n")
    first = repo.take().tree
    assert repo.git("cat-file", "blob", f"{first}:assumed.txt") == "my own\n"
    assert repo.git("cat-file", "blob", f"{first}:skipped.txt") == "my own\n"
    repo.write("assumed.txt", "broken\n")
    repo.back(first)
    assert (repo.folder / "assumed.txt").read_text() == "my own\n"
    assert not (repo.folder / "sparse.txt").exists()


def test_a_change_that_keeps_size_and_time_of_a_young_index_is_seen(repo: Repo) -> None:
    path = repo.write("a.txt", "aaaa\n")
    repo.git("add", "a.txt")
    index = repo.folder / ".git/index"
    state = os.stat(path)
    path.write_text("bbbb\n")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    os.utime(index, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert repo.git("cat-file", "blob", f"{repo.take().tree}:a.txt") == "bbbb\n"


# -- nothing runs, nothing waits


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_no_hook_helper_monitor_or_signature(repo: Repo, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    loud = program(tmp_path, "loud", f"#!/bin/sh\necho $0 >> '{seen}'\nsleep 100\n")
    for name in (
        "pre-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
        "commit-msg",
    ):
        program(repo.folder / ".git/hooks", name, loud.read_text())
    for key in (
        "core.fsmonitor",
        "gpg.program",
        "core.askPass",
        "credential.helper",
        "diff.external",
        "core.pager",
    ):
        repo.git("config", key, str(loud))
    repo.git("config", "commit.gpgSign", "true")
    repo.git("config", "core.logAllRefUpdates", "always")
    repo.write("a.txt")
    first = repo.take().tree
    sha = trees.commit(str(repo.folder), first, None, "x", repo.environment)
    assert checkpoints.keep(str(repo.folder), "001-x", 1, sha, repo.environment)
    repo.write("a.txt", "broken\n")
    repo.back(first)
    assert not seen.exists()
    assert not (repo.folder / ".git/logs").exists()
    assert "gpgsig" not in repo.git("cat-file", "commit", sha)


def test_a_git_that_waits_is_stopped_by_name_with_all_it_started(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    fake = tmp_path / "bin"
    fake.mkdir()
    program(fake, "git", f"#!/bin/sh\nsleep 300 &\necho $! > '{started}'\nwait\n")
    repo.environment["PATH"] = f"{fake}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", repo.environment["PATH"])
    monkeypatch.setattr(git, "SECONDS", 0.5)
    with pytest.raises(git.Late, match=r"git rev-parse did not end within 0\.5 s"):
        repo.take()
    child = int(started.read_text())
    wait_for("the end of git's child", lambda: gone(child))


def test_whoever_runs_us_chooses_no_folder(repo: Repo, tmp_path: Path) -> None:
    other = Repo(tmp_path / "other")
    other.write("a.txt")
    repo.write("b.txt")
    repo.environment |= {
        "GIT_DIR": str(other.folder / ".git"),
        "GIT_INDEX_FILE": "/nonexistent",
        "GIT_WORK_TREE": "/",
    }
    repo.environment |= {
        "GIT_NAMESPACE": "x",
        "LC_ALL": "de_DE.UTF-8",
        "GIT_EXTERNAL_DIFF": "false",
    }
    assert repo.names(repo.take().tree) == {"b.txt"}


# -- repositories of every kind


def kept(repo: Repo) -> str:
    """A tree, a commit and its ref; a change, and back again."""
    repo.write("new.txt", "1\n")
    first = repo.take()
    parent = git.head(str(repo.folder), repo.environment)
    sha = trees.commit(str(repo.folder), first.tree, parent, "x", repo.environment)
    assert checkpoints.keep(str(repo.folder), "001-x", 1, sha, repo.environment)
    repo.write("new.txt", "2\n")
    assert repo.back(first.tree).paths == ["new.txt"]
    assert (repo.folder / "new.txt").read_text() == "1\n"
    return sha


def test_without_a_commit_and_without_a_name(repo: Repo) -> None:
    repo.environment = {
        name: value
        for name, value in os.environ.items()
        if "AUTHOR" not in name and "COMMIT" not in name
    }
    sha = kept(repo)
    assert "parent" not in repo.git("cat-file", "commit", sha)
    assert "loopkit <loopkit@localhost>" in repo.git("cat-file", "commit", sha)
    assert (
        not (repo.folder / ".git/refs/heads/master").exists()
        and not (repo.folder / ".git/index").exists()
    )


def test_the_first_follows_head(repo: Repo) -> None:
    repo.write("a.txt")
    assert f"parent {repo.commit()}" in repo.git("cat-file", "commit", kept(repo))


def test_in_a_linked_worktree(repo: Repo, tmp_path: Path) -> None:
    repo.write("a.txt")
    repo.commit()
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Repo.__new__(Repo)
    linked.folder = linked.project = tmp_path / "linked"
    linked.environment = repo.environment
    outside = repo.outside()
    sha = kept(linked)
    assert repo.git("rev-parse", "refs/loopkit/001-x/1").strip() == sha
    assert repo.names(sha) == {"a.txt", "new.txt"}
    assert repo.outside() == outside
    place = git.repository(str(linked.folder), linked.environment)
    assert git.place_of(place) == "worktrees/linked"


def test_what_is_kept_apart_and_what_is_ours_are_left_out(repo: Repo) -> None:
    repo.write("above.txt")
    repo.write("sub/.loop/ledger", "ours\n")
    repo.write("sub/.loop/learnings/x.md", "ours\n")
    repo.git("add", "-f", "sub/.loop/learnings/x.md")
    repo.write("sub/in.txt")
    assert repo.names(repo.take().tree) == {"above.txt", "sub/in.txt"}
    apart = checkpoints.snapshot(str(repo.folder), repo.environment, [str(repo.folder / "sub")])
    assert repo.names(apart.tree) == {"above.txt"}


@pytest.mark.parametrize(
    "setting",
    [("index.version", "4"), ("core.splitIndex", "true"), ("core.untrackedCache", "true")],
)
def test_with_other_kinds_of_index(repo: Repo, setting: tuple[str, str]) -> None:
    for number in range(30):
        repo.write(f"d{number % 3}/f{number}.txt")
    repo.git("config", *setting)
    repo.git("config", "splitIndex.maxPercentChange", "100")
    repo.commit()
    repo.write("d0/one more.txt")
    repo.git("add", "d0/one more.txt")
    outside = repo.outside()
    assert len(repo.names(kept(repo))) == 32
    (repo.folder / "new.txt").unlink()
    assert {**repo.outside(), "status": ""} == {**outside, "status": ""}


def test_with_sha256(tmp_path: Path, home: Path) -> None:
    repo = Repo(tmp_path / "wide", "--object-format=sha256")
    repo.write("a.txt")
    repo.commit()
    assert len(kept(repo)) == 64


def test_in_the_middle_of_a_merge(repo: Repo) -> None:
    repo.write("a.txt", "base\n")
    repo.commit()
    repo.git("checkout", "-qb", "side")
    repo.write("a.txt", "side\n")
    repo.commit()
    repo.git("checkout", "-q", "-")
    repo.write("a.txt", "main\n")
    repo.commit()
    repo.git("merge", "side", check=False)
    outside = repo.outside()
    tree = repo.take().tree
    assert "<<<<<<<" in repo.git("cat-file", "blob", f"{tree}:a.txt")
    assert repo.outside() == outside
    assert git.under_way(git.repository(str(repo.folder), repo.environment)) == "a merge"


def test_repositories_in_it_are_left_alone_and_named(repo: Repo, tmp_path: Path) -> None:
    inner = Repo(tmp_path / "inner")
    inner.write("i.txt")
    inner.commit()
    repo.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.folder), "module"
    )
    repo.commit()
    nested = Repo(repo.folder / "vendor/nested")
    nested.write("n.txt")
    nested.commit()
    repo.write("vendor/plain.txt")
    first = repo.take()
    assert first.left_out == ("module (a submodule)", "vendor/nested (a repository of its own)")
    repo.write("module/i.txt", "changed\n")
    repo.write("vendor/nested/n.txt", "changed\n")
    repo.write("vendor/plain.txt", "changed\n")
    assert repo.back(first.tree).paths == ["vendor/plain.txt"]
    assert (repo.folder / "module/i.txt").read_text() == "changed\n"
    assert (repo.folder / "vendor/nested/n.txt").read_text() == "changed\n"


@pytest.mark.parametrize("commits", [0, 1])
def test_a_folder_with_a_line_break_in_its_name(tmp_path: Path, home: Path, commits: int) -> None:
    repo = Repo(tmp_path / "a\nb \x1b")
    repo.write("a.txt")
    if commits:
        repo.commit()
    assert ("parent" in repo.git("cat-file", "commit", kept(repo))) == bool(commits)


def test_a_submodule_in_place_of_a_file_is_no_change(repo: Repo) -> None:
    repo.write("a.txt")
    repo.write("sub", "text\n" * 20)
    repo.commit()
    with_file = repo.take().tree
    repo.git("rm", "-q", "sub")
    without = repo.take().tree
    head = repo.git("rev-parse", "HEAD").strip()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{head},sub")
    repo.write("moved", "text\n" * 20)
    given = str(repo.folder), repo.environment
    rows, _ = checkpoints.measured(*given, [without, with_file])
    new = [("moved", "A")]
    assert {tree: [row.row[:2] for row in rows[tree]] for tree in rows} == dict.fromkeys(rows, new)


def test_pipes_and_empty_repositories_are_no_files(repo: Repo) -> None:
    os.mkfifo(repo.folder / "pipe")
    Repo(repo.folder / "begun").write("i.txt")
    repo.write("a.txt")
    snapshot = repo.take()
    assert repo.names(snapshot.tree) == {"a.txt"}
    assert snapshot.left_out == ("begun (a repository of its own)",)


def test_a_pipe_in_place_of_a_file_is_no_file(repo: Repo) -> None:
    repo.write("a.txt")
    repo.write("b.txt")
    repo.commit()
    first = repo.take().tree
    (repo.folder / "a.txt").unlink()
    os.mkfifo(repo.folder / "a.txt")
    snapshot = repo.take()
    assert repo.names(snapshot.tree) == {"b.txt"}
    assert snapshot.left_out == ("a.txt (neither file nor link)",)
    assert repo.back(first) == ([], ["a.txt (a file that is in no checkpoint is in its way)"])


def test_a_repository_in_place_of_a_file_is_left_alone_and_named(repo: Repo) -> None:
    repo.write("a.txt")
    repo.commit()
    (repo.folder / "a.txt").unlink()
    nested = Repo(repo.folder / "a.txt")
    nested.write("n.txt")
    nested.commit()
    snapshot = repo.take()
    assert (repo.names(snapshot.tree), snapshot.left_out) == (
        set(),
        ("a.txt (a repository of its own)",),
    )


def test_settings_that_are_empty_or_have_no_value(repo: Repo) -> None:
    repo.git("config", "core.excludesFile", "")
    own = repo.folder / ".git/config"
    own.write_text(own.read_text().replace("filemode = true", "filemode"))
    first = repo.take().tree
    repo.write("tool.sh", mode=0o755)
    assert repo.git("ls-tree", repo.take().tree).startswith("100755 ")
    assert repo.back(first) == (["tool.sh"], [])


def test_names_that_differ_in_case_alone(repo: Repo) -> None:
    repo.git("config", "core.ignoreCase", "true")
    repo.write("readme")
    repo.commit()
    repo.write("README")
    if len(os.listdir(repo.folder)) == 2:
        pytest.skip("one file to this disk")
    assert repo.names(repo.take().tree) == {"readme", "README"}
    (repo.folder / "readme").unlink()
    assert repo.names(repo.take().tree) == {"README"}


def test_ignored_by_every_kind_of_list(repo: Repo, home: Path) -> None:
    (repo.folder / ".git/info/exclude").write_text("excluded.txt\n")
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("mine.txt\n")
    for name in ("excluded.txt", "mine.txt", "seen.txt"):
        repo.write(name)
    assert repo.names(repo.take().tree) == {"seen.txt"}
    (home / "own").write_text("seen.txt\n")
    repo.git("config", "--global", "core.excludesFile", "~/own")
    assert repo.names(repo.take().tree) == {"mine.txt"}


@pytest.mark.parametrize("kind", ["none", "bare", "inside", "git missing", "strange"])
def test_where_there_is_no_tree_it_says_why_in_one_line(
    tmp_path: Path, home: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, says = tmp_path / "plain", "is in no git repository"
    folder.mkdir()
    if kind == "bare":
        Repo(folder, "--bare")
        says = "is a bare repository, without working files"
    elif kind == "inside":
        Repo(folder)
        folder, says = folder / ".git", "lies inside a git folder"
    elif kind == "git missing":
        monkeypatch.setenv("PATH", str(tmp_path))
        says = "need git, and none is found"
    elif kind == "strange":
        (folder / ".git").write_text("gitdir: /nowhere\n")
        says = "not a git repository: /nowhere"
    with pytest.raises(git.Unavailable, match=says) as caught:
        checkpoints.snapshot(str(folder), dict(os.environ))
    assert "\n" not in str(caught.value) and caught.value.exit_code == 1


# -- what stands in the way


def test_kinds_that_change_places(repo: Repo) -> None:
    repo.write("a", "a file\n")
    repo.write("b/deep/er", "in a folder\n")
    os.symlink("b", repo.folder / "c")
    repo.write("d/x", "in a folder\n")
    repo.commit()
    files = repo.files()
    first = repo.take()
    (repo.folder / "a").unlink()
    repo.write("a/b/c", "now a folder\n")
    (repo.folder / "b/deep/er").unlink()
    (repo.folder / "b/deep").rmdir()
    (repo.folder / "b").rmdir()
    repo.write("b", "now a file\n")
    (repo.folder / "c").unlink()
    repo.write("c/d", "now a folder\n")
    (repo.folder / "d/x").unlink()
    (repo.folder / "d").rmdir()
    os.symlink("a/b", repo.folder / "d")
    second = repo.take()
    wrecked = repo.files()
    assert repo.restore(second.tree, first.tree).left == []
    assert repo.files() == files
    assert repo.restore(first.tree, second.tree).left == []
    assert repo.files() == wrecked


def test_empty_folders_are_in_no_file_s_way(repo: Repo) -> None:
    repo.write("file")
    repo.write("held")
    first = repo.take().tree
    for name in ("file", "held"):
        (repo.folder / name).unlink()
        (repo.folder / name / "a/b").mkdir(parents=True)
    os.symlink("a", repo.folder / "held/link")
    (repo.folder / ".git/info/exclude").write_text("link\n")
    assert repo.back(first) == (["file"], ["held (a file that is in no checkpoint is in its way)"])
    assert (repo.folder / "file").read_text() == "x\n"
    assert sorted(os.listdir(repo.folder / "held")) == ["a", "link"]


def test_a_folder_that_became_a_link_leads_nowhere(repo: Repo, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    (outer / "x").write_text("not ours\n")
    repo.write("d/x", "ours\n")
    repo.write("d/y", "ours\n")
    repo.commit()
    first = repo.take().tree
    for name in ("x", "y"):
        (repo.folder / "d" / name).unlink()
    (repo.folder / "d").rmdir()
    os.symlink(outer, repo.folder / "d")
    second = repo.take().tree
    assert repo.names(second) == {"d"}
    # a tree that was taken before the link came: nothing is followed
    restored = repo.restore(repo.git("mktree", "--missing").strip(), first)
    assert sorted(os.listdir(outer)) == ["x"] and len(restored.left) == 2
    assert "behind a link" in restored.left[0]
    assert repo.restore(second, first).left == []
    assert (outer / "x").read_text() == "not ours\n" and (
        repo.folder / "d/x"
    ).read_text() == "ours\n"


def test_what_no_checkpoint_holds_is_never_overwritten(repo: Repo) -> None:
    repo.write("grown.bin", "small\n")
    repo.write("hidden.txt", "seen\n")
    first = repo.take()
    (repo.folder / "grown.bin").unlink()
    (repo.folder / "grown.bin").touch()
    os.truncate(repo.folder / "grown.bin", LARGE)
    repo.write("hidden.txt", "now ignored\n")
    repo.write(".gitignore", "hidden.txt\n")
    restored = repo.back(first.tree)
    assert [one.split(" (")[0] for one in restored.left] == ["grown.bin", "hidden.txt"]
    assert (repo.folder / "hidden.txt").read_text() == "now ignored\n"
    assert os.path.getsize(repo.folder / "grown.bin") == LARGE


def test_what_was_left_out_is_not_deleted(repo: Repo) -> None:
    nested = Repo(repo.folder / "nested")
    nested.write("n.txt")
    nested.commit()
    first = repo.take()
    (repo.folder / "nested/.git").rename(repo.folder.parent / "away")
    repo.write("nested.txt")
    left = [one.partition(" (")[0] for one in first.left_out]
    restored = restoring.restore(
        str(repo.folder), repo.take().tree, first.tree, repo.environment, left
    )
    assert restored == (["nested.txt"], ["nested/n.txt (left out of the checkpoint)"])


def test_what_changed_after_the_save_is_left(repo: Repo) -> None:
    repo.write("a.txt", "1\n")
    first = repo.take().tree
    repo.write("a.txt", "2\n")
    repo.write("b.txt", "2\n")
    second = repo.take().tree
    repo.write("a.txt", "3\n")
    repo.write("b.txt", "3\n")
    assert repo.restore(second, first) == (
        [],
        ["a.txt (changed meanwhile)", "b.txt (changed meanwhile)"],
    )
    assert (repo.folder / "a.txt").read_text() == "3\n"


def test_folders_that_others_use_stay(repo: Repo) -> None:
    repo.write(".gitignore", "*.log\n")
    first = repo.take().tree
    repo.write("made/by/us.txt")
    repo.write("kept/by/us.txt")
    repo.write("kept/own.log")
    repo.back(first)
    assert not (repo.folder / "made").exists()
    assert sorted(os.listdir(repo.folder / "kept")) == ["own.log"]


def test_who_may_read_a_file_stays(repo: Repo) -> None:
    repo.write("secret.txt", "1\n", 0o600)
    repo.write("tool", "1\n", 0o700)
    first = repo.take().tree
    for name in ("secret.txt", "tool"):
        repo.write(name, "2\n")
    (repo.folder / "tool").chmod(0o600)
    repo.back(first)
    assert [stat.S_IMODE(os.stat(repo.folder / one).st_mode) for one in ("secret.txt", "tool")] == [
        0o600,
        0o700,
    ]


def test_what_cannot_be_read_is_named(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("known.txt", "1\n")
    repo.commit()
    for name in ("dark.txt", "known.txt"):
        repo.write(name, "22\n")
    monkeypatch.setattr(os, "access", lambda *given, **more: False)  # root may read everything
    snapshot = repo.take()
    assert snapshot.left_out == ("dark.txt (unreadable)", "known.txt (unreadable)")
    assert repo.names(snapshot.tree) == {"known.txt"}


@pytest.fixture
def broken(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repo]:
    """A repository in which write-tree fails."""
    real = git.call

    def call(folder: str, arguments: tuple, *more: object, **options: object) -> bytes:
        if arguments[0] == "write-tree":
            raise git.GitFault("git write-tree fails")
        return real(folder, arguments, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(git, "call", call)
    yield repo


def test_a_failure_leaves_nothing_behind(broken: Repo) -> None:
    broken.write("a.txt")
    before = sorted(os.listdir(broken.folder / ".git"))
    with pytest.raises(LoopError):
        broken.take()
    assert sorted(os.listdir(broken.folder / ".git")) == before


def test_no_room_is_one_line(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    repo.write("a.txt", "1\n")
    first = repo.take()
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(git.GitFault, match="No space left"):
        trees.commit(str(repo.folder), first.tree, None, "x", repo.environment)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    with pytest.raises(git.GitFault, match="No space left"):
        repo.take()


def test_a_git_folder_on_another_disk(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("a.txt", "1\n")
    first = repo.take().tree
    repo.write("a.txt", "2\n")
    second = repo.take().tree
    replace, room = os.replace, [False, True]

    def elsewhere(made: str, full: str) -> None:
        if not str(made).endswith(".tmp"):
            raise OSError(18, "Invalid cross-device link")
        if not room.pop(0):
            raise OSError(28, "No space left on device")
        replace(made, full)

    monkeypatch.setattr(os, "replace", elsewhere)
    files = repo.files()
    assert repo.restore(second, first) == ([], ["a.txt (No space left on device)"])
    assert repo.files() == files
    assert repo.restore(second, first) == (["a.txt"], [])
    assert (repo.folder / "a.txt").read_text() == "1\n"


def test_files_of_one_content_come_back_each(repo: Repo) -> None:
    for number in range(3):
        repo.write(f"f{number}.txt", "same\n", 0o755 if number else 0o644)
    first, files = repo.take().tree, repo.files()
    for number in range(3):
        (repo.folder / f"f{number}.txt").unlink()
    repo.back(first)
    assert repo.files() == files


def test_what_a_killed_one_left_is_swept(repo: Repo) -> None:
    left = repo.folder / ".git/loopkit-dead"
    left.mkdir()
    os.utime(left, (1, 1))
    repo.take()
    assert not left.exists()


def test_a_ref_is_made_once(repo: Repo) -> None:
    sha = trees.commit(str(repo.folder), repo.take().tree, None, "x", repo.environment)
    assert checkpoints.keep(str(repo.folder), "001-x", 1, sha, repo.environment)
    assert not checkpoints.keep(str(repo.folder), "001-x", 1, sha, repo.environment)
    with pytest.raises(git.GitFault):
        checkpoints.keep(str(repo.folder), "001 x..", 1, sha, repo.environment)


def test_never_empty_after_a_change(repo: Repo) -> None:
    """Whatever kind of change: the tree differs."""
    repo.write("a.txt", "1\n")
    repo.commit()
    seen = [repo.take().tree]
    repo.write("a.txt", "2\n")
    seen.append(repo.take().tree)
    repo.git("add", "a.txt")
    assert repo.take().tree == seen[-1]
    repo.write("new/file.txt")
    seen.append(repo.take().tree)
    (repo.folder / "a.txt").chmod(0o755)
    seen.append(repo.take().tree)
    (repo.folder / "a.txt").unlink()
    seen.append(repo.take().tree)
    assert len(set(seen)) == len(seen)


# -- by chance

NAMES = (
    "a",
    "b",
    "c",
    "c/d",
    "c/e/f",
    "b/x",
    "b/x/y",
    "own.log",
    "c/own.log",
    "line\nbreak",
    "-q",
    "é/ü",
    ":(glob)*",
)


def change(chance: random.Random, repo: Repo) -> None:
    """A few changes of any kind: files, links and folders in each other's place, lists of ignored
    files, the index."""
    for _ in range(chance.randint(1, 6)):
        name, act = chance.choice(NAMES), chance.choice("wwwwlrrgGciam")
        path = repo.folder / name
        if act in "wlr":
            clear(repo.folder, Path(name), act != "r")
        if act == "w":
            repo.write(
                name,
                chance.choice((b"1\n", b"2\r\n", b"", b"\0\xff")),
                chance.choice((0o644, 0o755)),
            )
        elif act == "l":
            path.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(chance.choice(("a", "c", "..", "/etc", "nowhere")), path)
        elif act == "g":
            repo.write(".gitignore", chance.choice(("*.log\n", "a\nc/\n", "b\n", "!own.log\n", "")))
        elif act == "G":
            (repo.folder / ".gitignore").unlink(missing_ok=True)
        elif act in "ci":
            repo.git("add", "-A")
            repo.git(*(("commit", "-qm", "x") if act == "c" else ("status",)), check=False)
        elif act in "am":
            words = ("add", "-f") if act == "a" else ("rm", "-q", "--cached", "-r")
            repo.git(*words, "--", "./" + name, check=False)


def clear(top: Path, name: Path, above: bool) -> None:
    """Make room for `name`: also, with `above`, where a file or a link stands for one of its
    folders."""
    for folder in [top / one for one in reversed(name.parents) if above and str(one) != "."]:
        if folder.is_symlink() or folder.is_file():
            folder.unlink()
    path = top / name
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


@pytest.mark.parametrize("seed", [5, 107, 130, 145])
def test_there_and_back_again(repo: Repo, seed: int) -> None:
    chance = random.Random(seed)
    change(chance, repo)
    first = repo.take()
    for _ in range(3):
        change(chance, repo)
        outside = repo.outside()
        second, files = repo.take(first.plain), repo.files()
        assert repo.outside() == outside and repo.take().tree == second.tree
        there = repo.restore(second.tree, first.tree)
        assert not [one for one in there.left if not one.endswith(("in its way)", " (ignored)"))]
        repo.back(second.tree)
        assert repo.take().tree == second.tree and repo.files() == files
        first = second
