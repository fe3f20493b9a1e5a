"""Checkpoints of a project that is a part of a repository: nothing beside it is kept, read or
changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.engine import checkpoints, git, trees
from tests.engine.test_checkpoints import Repo


class Part(Repo):
    """A part of a repository; what is written and taken is the part's, git runs in the whole."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder)
        self.part = self.project = folder / name
        self.part.mkdir(parents=True)


@pytest.fixture(params=["packages/web", "a [b]*?", ":(top)x", "Ünï cødé", "-x"])
def repo(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Part:
    made = Part(tmp_path / "mono", request.param)
    made.write("root.txt", "root\n")
    made.write("other/file.txt", "other\n")
    made.write(f"{request.param}/package.json", "{}\n")
    made.write(f"{request.param}/src/a.txt", "a\n")
    made.commit()
    return made


def test_only_the_part_is_kept(repo: Part) -> None:
    repo.write("new beside.txt", "beside\n")
    repo.write("other/file.txt", "changed\n")
    (repo.part / "new.txt").write_text("new\n")
    taken = repo.take()
    assert repo.names(taken.tree) == {"package.json", "src/a.txt", "new.txt"}
    assert taken.left_out == ()
    for name in ("new beside.txt", "other/file.txt"):  # not even as objects
        assert repo.git("cat-file", "-t", repo.git("hash-object", name).strip(), check=False) == ""


def test_there_and_back_leaves_all_beside_it_alone(repo: Part) -> None:
    first = repo.take().tree
    (repo.part / "src/a.txt").write_text("changed\n")
    (repo.part / "made.txt").write_text("made\n")
    (repo.part / "package.json").unlink()
    repo.write("other/file.txt", "the person's\n")
    repo.write("letter.txt", "dear\n")
    (repo.folder / "root.txt").unlink()
    before, outside = repo.files(), repo.outside()
    second = repo.take().tree
    done = repo.restore(second, first)
    assert (sorted(done.paths), done.left) == (["made.txt", "package.json", "src/a.txt"], [])
    now = repo.files()
    beside = {
        name: held
        for name, held in before.items()
        if not Path(repo.folder / name).is_relative_to(repo.part)
    }
    assert {name: held for name, held in now.items() if name in beside} == beside
    assert "root.txt" not in now and (repo.part / "src/a.txt").read_text() == "a\n"
    assert not (repo.part / "made.txt").exists()
    repo.restore(first, second)
    assert repo.files() == before and repo.outside() == outside


def test_rules_of_the_whole_hold_in_the_part(repo: Part) -> None:
    repo.write(".gitignore", "*.log\nnode_modules\n")
    repo.write(".gitattributes", "*.txt text eol=crlf\n*.bin filter=boom\n")
    repo.git("config", "filter.boom.clean", "false")
    repo.git("config", "filter.boom.required", "true")
    (repo.part / "x.log").write_text("log\n")
    (repo.part / "node_modules").mkdir()
    (repo.part / "node_modules/y.js").write_text("y\n")
    (repo.part / "keep.bin").write_bytes(b"\r\n\x00")
    tree = repo.take().tree
    assert repo.names(tree) == {"package.json", "src/a.txt", "keep.bin"}
    assert repo.git("cat-file", "blob", f"{tree}:keep.bin") == "\r\n\x00"
    repo.write("other/file.txt", "x\n")
    (repo.part / "src/a.txt").write_bytes(b"a\r\n")
    assert repo.git("cat-file", "blob", f"{repo.take().tree}:src/a.txt") == "a\r\n"


@pytest.mark.parametrize("rules", ["inner", "outer", "changed inner"])
def test_what_is_ignored_stays_there_and_back(repo: Part, rules: str) -> None:
    (repo.part / ".env").write_text("secret\n")
    first = repo.take().tree
    assert ".env" in repo.names(first)
    (repo.part / ".gitignore" if "inner" in rules else repo.folder / ".gitignore").write_text(
        ".env\n"
    )
    (repo.part / "src/a.txt").write_text("changed\n")
    if "changed" in rules:
        (repo.part / ".env").write_text("another secret\n")
    before = repo.files()
    second = repo.take().tree
    done = repo.restore(second, first)
    assert done.left == [".env (ignored)"] and "src/a.txt" in done.paths
    assert (repo.part / ".env").read_bytes() == before[
        str((repo.part / ".env").relative_to(repo.folder))
    ][1]
    repo.restore(repo.take().tree, second)
    assert repo.files() == before


def test_a_conflict_beside_it_is_none_of_its_business(repo: Part) -> None:
    repo.git("checkout", "-q", "-b", "theirs")
    repo.write("other/file.txt", "theirs\n")
    repo.commit()
    repo.git("checkout", "-q", "-")
    repo.write("other/file.txt", "ours\n")
    repo.commit()
    repo.git("merge", "-q", "theirs", check=False)
    outside = repo.outside()
    assert repo.names(repo.take().tree) == {"package.json", "src/a.txt"}
    assert repo.outside() == outside


def test_a_part_without_a_file_and_one_that_is_all_new(repo: Part, tmp_path: Path) -> None:
    empty = repo.folder / "empty"
    empty.mkdir()
    assert repo.names(checkpoints.snapshot(str(empty), repo.environment).tree) == set()
    (empty / "first.txt").write_text("1\n")
    taken = checkpoints.snapshot(str(empty), repo.environment)
    assert repo.names(taken.tree) == {"first.txt"}
    head = repo.git("rev-parse", "HEAD").strip()
    assert repo.names(trees.tree_of(str(empty), head, repo.environment)) == set()
    assert repo.names(trees.tree_of(str(repo.part), head, repo.environment)) == {
        "package.json",
        "src/a.txt",
    }
    young = Part(tmp_path / "young", "web")
    (young.part / "x.txt").write_text("x\n")
    assert young.names(young.take().tree) == {"x.txt"}


def test_the_whole_tree_with_the_part_as_it_is(repo: Part) -> None:
    repo.write("other/file.txt", "not committed\n")
    (repo.part / "src/a.txt").write_text("new\n")
    taken = repo.take()
    whole = trees.whole(taken.place, taken.tree, repo.environment)
    assert repo.git("cat-file", "blob", f"{whole}:other/file.txt") == "other\n"
    name = repo.part.relative_to(repo.folder)
    assert repo.git("cat-file", "blob", f"{whole}:{name}/src/a.txt") == "new\n"
    assert repo.git("rev-parse", f"{whole}:{name}").strip() == taken.tree


def test_committed_names_files_of_the_part(repo: Part) -> None:
    before = repo.git("rev-parse", "HEAD").strip()
    repo.write("other/file.txt", "x\n")
    (repo.part / "src/a.txt").write_text("b\n")
    after = repo.commit()
    assert trees.committed(str(repo.part), before, after, repo.environment) == {"src/a.txt"}
    assert trees.committed(str(repo.part), None, after, repo.environment) == {
        "package.json",
        "src/a.txt",
    }


def test_which_part_it_was_is_part_of_where_it_was(repo: Part) -> None:
    whole = git.repository(str(repo.folder), repo.environment)
    part = git.repository(str(repo.part), repo.environment)
    assert git.place_of(whole) == "." and git.place_of(part) == ".:part"


def test_refs_of_another_loop_of_that_name_stay(repo: Part) -> None:
    own, other = (
        trees.commit(str(repo.part), repo.take().tree, None, text, repo.environment)
        for text in ("own", "other")
    )
    assert checkpoints.keep(str(repo.part), "001-x", 1, own, repo.environment)
    assert checkpoints.keep(str(repo.part), "001-x", 2, other, repo.environment)
    checkpoints.forget(str(repo.part), "001-x", [own], repo.environment)
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/loopkit").split() == [
        "refs/loopkit/001-x/2"
    ]


@pytest.mark.parametrize("below", ["", "code/foo"])
def test_the_repository_of_a_home_folder_is_nobody_s(tmp_path: Path, below: str) -> None:
    dots = Repo(tmp_path / "home")
    dots.write(".ssh/id", "key\n")
    dots.commit(".ssh")
    project = dots.folder / below
    project.mkdir(parents=True, exist_ok=True)
    for home in (dots.folder, dots.folder / "deeper"):  # HOME itself, or above it
        environment = {**dots.environment, "HOME": str(home)}
        with pytest.raises(git.Unavailable) as fault:
            git.repository(str(project), environment)
        assert (
            "holds much more than the project" in fault.value.what
            and "git init here" in fault.value.todo
        )
    assert git.repository(
        str(project), {**dots.environment, "HOME": str(tmp_path / "other")}
    ).top == str(dots.folder)
