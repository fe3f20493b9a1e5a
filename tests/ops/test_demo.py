"""The demo, run for real: what it shows is what happened."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def demo(data: Path, *words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", ROOT / "bin/loopkit", "demo", *words],
        env={**os.environ, "LOOPKIT_DATA": str(data), **changes},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "my project"


@pytest.fixture(scope="module")
def output(data: Path, folder: Path) -> str:
    done = demo(data, "--folder", str(folder))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def lines(output: str, folder: Path) -> list[dict]:
    """The ledger of the demo's loop."""
    (ledger,) = folder.glob(".loop/*/ledger.jsonl")
    return [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]


def of(lines: list[dict], kind: str) -> list[dict]:
    return [line["data"] for line in lines if line["type"] == kind]


def test_the_loop_is_achieved(lines: list[dict], folder: Path) -> None:
    snapshot = json.loads((folder / ".loop/workflow-state.json").read_text(encoding="utf-8"))
    assert len(of(lines, "loop_completed")) == 1
    assert snapshot["tasks"]["completed"] == snapshot["tasks"]["total"] == 4
    assert (
        subprocess.run(
            ["python3", "-m", "unittest", "-q"], cwd=folder, capture_output=True
        ).returncode
        == 0
    )


def test_every_completed_task_has_its_evidence(lines: list[dict], folder: Path) -> None:
    (loop,) = [path.parent for path in folder.glob(".loop/*/ledger.jsonl")]
    done = {row["id"] for row in of(lines, "task_completed")}
    assert len(done) == 4
    for task in done:
        proof = [row for row in of(lines, "task_verified") if row["id"] == task][-1]
        assert (proof["passed"], proof["exit"]) == (True, 0)
        log = (loop / proof["log"]).read_text(encoding="utf-8")
        assert re.search(r"\[exit 0 in [\d.]+ s\]\s*\Z", log), log


def test_it_has_waves_a_failure_with_a_panel_and_a_blocker_made_a_task(lines: list[dict]) -> None:
    assert len(of(lines, "wave_closed")) >= 2
    assert [row["id"] for row in of(lines, "task_failed")] == ["T-002"]
    assert [row["task"] for row in of(lines, "panel_recorded")] == ["T-002"]
    (blocker,) = [
        row for row in of(lines, "review_thorough")[0]["findings"] if row["severity"] == "BLOCKER"
    ]
    assert blocker["task"] == "T-004"
    assert of(lines, "review_thorough")[-1]["findings"] == []


@pytest.mark.parametrize(
    "text",
    [
        "▸ python -m unittest -q → FAILED (errors=7)",
        "▸ score\n  spec 10/10",
        "T-001 Parse",
        "T-002 Round",
        "T-003 Total",
        "▸ check T-002 → the check exits 1: AssertionError: ",
        "The Stop hook says:\n  │ Loop 001 “",
        "▸ panel T-002\n  experts: systematic-debugger, ",
        "the next attempt is told: use Decimal.quantize",
        "F-001 BLOCKER → T-004: a negative quantity",
        "▸ gate\n  gate passed: SHIP",
        "<loop-complete>",
    ],
)
def test_what_convinces_is_shown(output: str, text: str) -> None:
    assert text in output


def test_it_can_be_read_in_eighty_columns(output: str, folder: Path) -> None:
    rows = output.splitlines()
    assert len(rows) <= 150
    assert [row for row in rows if len(row) > 80 and str(folder) not in row] == []
    assert output.count(str(folder)) == 2 and f"cd '{folder}'" in output
    assert "\x1b" not in output, "no colours in a pipe"


def test_a_folder_that_is_not_empty_is_refused(data: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    done = demo(data, "--folder", str(tmp_path))
    assert (done.returncode, done.stderr) == (
        1,
        f"loopkit: {tmp_path} is not empty; give a new folder\n",
    )
    assert os.listdir(tmp_path) == ["mine"]


def test_without_git_it_says_so_in_one_line(data: Path, tmp_path: Path) -> None:
    for name in (
        "sh",
        "cmp",
        "cat",
        "dirname",
        "readlink",
        "uname",
        "mkdir",
        "python3",
        "stat",
        "ls",
        "date",
        "rm",
    ):
        if found := shutil.which(name):
            (tmp_path / name).symlink_to(found)
    done = demo(data, PATH=str(tmp_path))
    assert done.returncode == 3
    assert re.fullmatch(r"loopkit: git is not on the PATH; [^\n]+\n", done.stderr), done.stderr
