"""A verification that is run: what is kept of it, and of the tree it saw."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from loopkit.core.journal.errors import Damaged
from loopkit.engine import process
from loopkit.store import digest

ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "loop").mkdir()
    return tmp_path / "loop"


def run(folder: Path, line: str, files: tuple = (), target: str = "T-001") -> dict[str, Any]:
    return process.verify(
        str(folder.parent), str(folder.parent), str(folder), target, line, list(files), 60, ENV
    )


def test_what_is_recorded(folder: Path) -> None:
    project = folder.parent
    subprocess.run(["git", "init", "-q", project], check=True)
    subprocess.run(["git", "-C", project, "commit", "-qm", "x", "--allow-empty"], check=True)
    (project / "a").write_text("x")
    row = run(folder, "sh -c 'echo seen; exit 3'", ("a", "absent"))
    assert (row["passed"], row["exit"], row["log"]) == (False, 3, "evidence/T-001-1.log")
    assert row["files"] == {"a": digest.of(str(project), "a"), "absent": ""}
    assert row["head"] == digest.head(str(project), {}) is not None
    text = (folder / row["log"]).read_text()
    assert (
        text.startswith("$ sh -c 'echo seen; exit 3'\nseen\n\n[exit 3 in ")
        and row["output"] == text
    )


def test_only_exit_0_passes(folder: Path) -> None:
    assert run(folder, "true")["passed"] is True
    for line in ("false", "no-such-program", "sh -c 'kill $$'"):
        assert run(folder, line)["passed"] is False


def test_each_run_has_a_log_of_its_own(folder: Path) -> None:
    assert [run(folder, "true")["log"] for _ in range(3)] == [
        f"evidence/T-001-{number}.log" for number in (1, 2, 3)
    ]
    assert run(folder, "true", target="C1")["log"] == "evidence/C1-1.log"


def test_files_are_looked_at_before_the_check_runs(folder: Path) -> None:
    (folder.parent / "a").write_text("before")
    seen = digest.of(str(folder.parent), "a")
    row = run(folder, "sh -c 'echo after > a'", ("a",))
    assert row["files"] == {"a": seen} and digest.of(str(folder.parent), "a") != seen


def test_a_program_that_is_missing_says_so_in_the_log(folder: Path) -> None:
    row = run(folder, "no-such-program")
    assert row["exit"] == 127 and "no such program: no-such-program" in row["output"]


def test_of_a_very_long_output_head_and_end_are_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MOST_OUTPUT", 2000)
    monkeypatch.setattr(process, "_BEFORE", 100)
    row = run(folder, "sh -c 'echo first; yes middle | head -c 9000; echo last'")
    text = (folder / row["log"]).read_text()
    assert len(text) < 2200 and "first\n" in text and "last\n" in text and "bytes left out" in text
    assert row["output"].endswith(text[-100:])
    assert os.listdir(folder / "evidence") == ["T-001-1.log"]


def test_a_key_that_begins_in_what_is_left_out_stays_hidden(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MOST_OUTPUT", 2000)
    monkeypatch.setattr(process, "_BEFORE", 500)
    begin, end = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
    (folder.parent / "out.txt").write_text(
        "first\n" + "middle\n" * 900 + f"{begin}\n" + "QUJD\n" * 230 + f"{end}\n"
        + "token=geheim12\n" + "late\n" * 50
    )  # fmt: skip
    text = (folder / run(folder, "cat out.txt")["log"]).read_text()
    assert "bytes left out" in text and "late\n" in text and "token=***" in text
    assert "QUJD" not in text and len(text) < 2200


def test_output_that_is_no_text(folder: Path) -> None:
    assert "\ufffd" in run(folder, r"printf '\377\000\376'")["output"]


def test_only_the_end_is_handed_on(folder: Path) -> None:
    assert len(run(folder, "sh -c 'yes x | head -c 50000'")["output"]) == process.TAIL


def test_a_log_that_cannot_be_written_is_damage_and_nothing_is_run(folder: Path) -> None:
    (folder / "evidence").write_text("a file in the folder's place")
    with pytest.raises(Damaged, match="nothing was recorded"):
        run(folder, "touch ran")
    assert not (folder.parent / "ran").exists()
