"""Reports of agents as files: names without tricks, a limit, never one over another."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.core.journal.errors import Damaged, Refused, UsageFault
from loopkit.store import reports


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("security-reviewer", "security-reviewer"),
        ("../../x", "x"),
        ("/etc/passwd\0", "etc-passwd"),
        ("Über Größe", "uber-groe"),
        ("日本", "report"),
        ("..", "report"),
        ("a" * 1000, "a" * 40),
        ("-rf", "rf"),
    ],
)
def test_names(tmp_path: Path, name: str, wanted: str) -> None:
    assert reports.keep(str(tmp_path), name, "x") == str(tmp_path / "reports" / f"{wanted}-1.md")


def test_each_is_kept(tmp_path: Path) -> None:
    paths = [Path(reports.keep(str(tmp_path), "a", text)) for text in ("one", "two")]
    assert [path.name for path in paths] == ["a-1.md", "a-2.md"]
    assert [path.read_text() for path in paths] == ["one", "two"]


def test_what_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="empty"):
        reports.keep(str(tmp_path), "a", " \n")
    with pytest.raises(UsageFault, match="at most 1,000,000"):
        reports.keep(str(tmp_path), "a", "x" * (reports.LARGEST + 1))
    (tmp_path / "reports").symlink_to(tmp_path)
    with pytest.raises(Refused, match="is a link"):
        reports.keep(str(tmp_path), "a", "x")
    (tmp_path / "reports").unlink()
    (tmp_path / "reports").write_text("")
    with pytest.raises(Damaged, match="cannot write"):
        reports.keep(str(tmp_path), "a", "x")
