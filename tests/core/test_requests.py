"""Twenty requests of several languages and kinds of work: what is chosen for each, the same in
every run."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from loopkit.core.evidence import proofs
from loopkit.core.journal import stage
from loopkit.core.request import aspects
from tests.core import judge

HELD = ("spec", "fit", "shape", "aspects", "panel", "proofs")


@pytest.mark.parametrize("row", judge.REQUESTS, ids=lambda row: row["text"][:30])
def test_what_is_chosen(row: dict) -> None:
    found = judge.judged(row)
    assert {name: found[name] for name in HELD} == {name: row[name] for name in HELD}
    assert aspects.faults(found["aspects"]) == []
    assert 2 <= len(found["panel"]) <= 4 and len(set(found["questions"])) == len(found["panel"])
    assert not set(found["proofs"]) & set(proofs.UNSEEN)
    assert (found["shape"] is None) == (found["fit"] < stage.FIT_COLLEAGUE)


def test_they_are_of_all_sorts() -> None:
    assert len(judge.REQUESTS) == 20
    specs = [row["spec"] for row in judge.REQUESTS]
    vague, precise = sum(one <= 2 for one in specs), sum(one >= 8 for one in specs)
    assert (vague, precise) == (5, 5)
    for name in ("kind", "shape"):
        assert len({row[name] for row in judge.REQUESTS}) >= 3
    assert len({one for row in judge.REQUESTS for one in row["aspects"]}) >= 10


def test_two_runs_give_the_same() -> None:
    def run(seed: str) -> list:
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-m", "tests.core.judge"],
            cwd=judge.ROOT,
            env=env,
            capture_output=True,
            check=True,
            timeout=60,
        )
        return json.loads(done.stdout)

    assert run("1") == run("2")


@pytest.mark.parametrize(
    ("values", "learnings", "fit", "chosen"),
    [
        ((1, 1, 1, 1, 0), 2, 24, None),  # 24 is blocked, also where the spec is overruled
        ((1, 1, 1, 1, 1), 0, 25, stage.COLLEAGUE),
        ((1, 1, 1, 1, 1), 2, 29, stage.COLLEAGUE),
        ((2, 1, 1, 1, 1), 0, 30, stage.TOOL_REVIEW),
        ((2, 2, 1, 1, 1), 2, 39, stage.TOOL_REVIEW),
        ((2, 2, 2, 1, 0), 0, 40, stage.TOOL),
    ],
)
def test_the_boundaries(values: tuple, learnings: int, fit: int, chosen: str | None) -> None:
    scores = stage.score(dict(zip(stage.DIMENSIONS, values, strict=True)), learnings)
    assert (scores.fit, scores.shape) == (fit, chosen)
