"""Contents by their digests: whose they are, and where they count."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from loopkit.store import decisions, learnings, origin, trust
from loopkit.store.origin import CONFIG, DECISION, LEARNING, LEARNINGS, SETTINGS, Origin, digest

TEXT = b'{"kind": "discovery", "context": "a", "discovery": "b"}'
ROW = {"number": 1, "title": "Stream rows", "choice": "generator"}


@pytest.fixture(autouse=True)
def _home(home: Path) -> Path:
    return home


def test_line_ends_and_marks_make_no_other_content() -> None:
    wanted = digest(LEARNING, TEXT)
    assert {
        digest(LEARNING, one) for one in (TEXT + b"\r", b"\xef\xbb\xbf" + TEXT, b" " + TEXT + b"\n")
    } == {wanted}
    assert digest(DECISION, b"a\r\nb\r\n") == digest(DECISION, b"a\nb") != digest(DECISION, b"a b")
    assert digest(LEARNING, TEXT) != digest(DECISION, TEXT)


def test_settings_count_for_one_project_and_its_worktrees(tmp_path: Path) -> None:
    first, second = (tmp_path / name / ".loop" for name in ("a", "b"))
    first.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert digest(SETTINGS, TEXT, str(first)) != digest(SETTINGS, TEXT, str(second))
    assert digest(SETTINGS, TEXT, str(first)) == digest(
        SETTINGS, TEXT, str(tmp_path / "link" / ".loop")
    )
    subprocess.run(["git", "init", "-q", tmp_path / "a"], check=True)
    subprocess.run(["git", "-C", tmp_path / "a", "commit", "-qm", "x", "--allow-empty"], check=True)
    subprocess.run(
        ["git", "-C", tmp_path / "a", "worktree", "add", "-q", tmp_path / "tree"], check=True
    )
    assert digest(SETTINGS, TEXT, str(first)) == digest(
        SETTINGS, TEXT, str(tmp_path / "tree" / ".loop")
    )


def test_whose_a_content_is(tmp_path: Path) -> None:
    def whose(tracked: frozenset | None, raw: bytes = TEXT) -> str | None:
        return Origin(str(tmp_path), tracked).whose(LEARNINGS, LEARNING, raw)

    both = frozenset([LEARNINGS])
    assert [whose(frozenset()), whose(both), whose(None)] == ["own", None, None]
    trust.vouch(trust.TAKEN, [(digest(LEARNING, TEXT), "learning")])
    assert [whose(both), whose(None), whose(both, TEXT + b"!")] == ["taken", "taken", None]
    trust.vouch(trust.OWN, [(digest(LEARNING, TEXT), "learning")])
    assert whose(both) == "own"
    trust.vouch(trust.TAKEN, [(digest(LEARNING, TEXT), "learning")])
    assert whose(both) == "own", "what the person wrote is not a stranger's by being taken over"


def test_the_note_is_one_line_a_content(tmp_path: Path) -> None:
    trust.vouch(trust.OWN, [("a" * 64, "settings /x\ny \ud800"), ("b" * 64, "learning")])
    trust.vouch(trust.OWN, [("b" * 64, "learning")])
    lines = Path(trust.contents()).read_bytes().split(b"\n")
    assert lines[0].startswith(b"a" * 64 + b" own settings /x y ") and lines[1:] == [
        b"b" * 64 + b" own learning",
        b"",
    ]
    assert os.stat(trust.contents()).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(trust.contents())).st_mode & 0o777 == 0o700


def test_a_note_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("a" * 64 + " own learning\n")
    os.makedirs(os.path.dirname(trust.contents()))
    os.symlink(tmp_path / "elsewhere", trust.contents())
    with pytest.raises(OSError, match="symbolic"):
        trust.known_contents()
    with pytest.raises(OSError, match="symbolic"):
        trust.vouch(trust.OWN, [("b" * 64, "learning")])
    assert Origin(str(tmp_path), None).whose(CONFIG, SETTINGS, b"") is None


def test_what_is_written_here_is_known(tmp_path: Path) -> None:
    learnings.append(str(tmp_path / LEARNINGS), [{"kind": "discovery", "discovery": "b\ud800"}])
    (made,) = decisions.write(str(tmp_path), [ROW])

    def whose(kind: str, path: Path) -> str | None:
        return Origin(str(tmp_path), None).whose("x", kind, path.read_bytes())

    assert whose(LEARNING, tmp_path / LEARNINGS) == whose(DECISION, Path(made)) == "own"
    decisions.write(str(tmp_path), [ROW], {1: 2})
    assert b"SUPERSEDED" in Path(made).read_bytes() and whose(DECISION, Path(made)) == "own"


@pytest.mark.parametrize("how", [None, "taken"])
def test_a_status_that_is_set_makes_nothing_of_a_strangers_ones_own(
    tmp_path: Path, how: str | None
) -> None:
    path = tmp_path / "learnings" / "001-theirs.md"
    path.parent.mkdir()
    path.write_bytes(b"# x\n**Status**: DECISION\n")
    if how:
        trust.vouch(how, [(digest(DECISION, path.read_bytes()), "decision")])
    decisions.write(str(tmp_path), [ROW], {1: 2})
    assert b"SUPERSEDED by 002" in path.read_bytes()
    assert Origin(str(tmp_path), None).whose("x", DECISION, path.read_bytes()) == how


def test_nothing_is_written_that_cannot_be_noted(tmp_path: Path, home: Path) -> None:
    (home / ".local").write_text("no folder")
    with pytest.raises(OSError, match="directory"):
        learnings.append(str(tmp_path / LEARNINGS), [{"kind": "discovery"}])
    with pytest.raises(OSError, match="directory"):
        decisions.write(str(tmp_path), [ROW])
    assert not (tmp_path / LEARNINGS).exists() and not list(tmp_path.rglob("*.md"))


def test_only_lines_of_ones_own_are_met_again(tmp_path: Path) -> None:
    path = tmp_path / LEARNINGS
    path.write_bytes(TEXT + b"\n" + TEXT.replace(b'"a"', b'"taken"') + b"\n")
    trust.vouch(
        trust.TAKEN,
        [(digest(LEARNING, line), "learning") for line in path.read_bytes().split(b"\n")[1:]],
    )
    learnings.append(str(path), [{"kind": "discovery", "discovery": "own"}])
    rows = learnings.rows(str(path), Origin(str(tmp_path), None))
    assert [one["discovery"] for one in rows] == ["own"]
    assert len(learnings.rows(str(path))) == 3, "of the user's own file all"


def test_what_counts_as_having_come_along(tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_text("\n")
    (tmp_path / LEARNINGS).write_bytes(b"no row\n" + TEXT + b"\n{}\n" + TEXT + b"\n")
    folder = tmp_path / "001-x" / "learnings"
    folder.mkdir(parents=True)
    (folder / "001-a.md").write_text("# A\n**Status**: DECISION\n**Choice**: c\n")
    (folder / "002-b.md").write_text("# B\n**Status**: SUPERSEDED by 001\n")
    (folder / "003-c.md").symlink_to("001-a.md")
    assert origin.along(Origin(str(tmp_path), frozenset())) == []
    found = origin.along(Origin(str(tmp_path), None))
    assert [(one.kind, one.name) for one in found] == [
        ("learning", "learnings.jsonl:2"), ("learning", "learnings.jsonl:4"), ("decision", "001-x/learnings/001-a.md"),
    ]  # fmt: skip
    assert origin.counted(found) == "2 learnings, 1 decision" and origin.line([]) == ""
