"""What loopkit makes of twenty requests: scores, aspects, panel, proofs; and whether two runs
agree.

    .venv/bin/python benchmarks/judgement.py

The scores are by the rubric, topics and kind of work from their lists, both by hand
(tests/data/requests.yaml); the rest is worked out from these. No time is measured here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


def run(seed: str) -> list[dict]:
    """All requests judged in an interpreter of its own, with another order of sets."""
    env = {**os.environ, "PYTHONHASHSEED": seed}
    argv = [sys.executable, "-m", "tests.core.judge"]
    return json.loads(
        subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, check=True).stdout
    )


def main() -> int:
    first, second = run("1"), run("2")
    requests = yaml.safe_load(
        (ROOT / "tests" / "data" / "requests.yaml").read_text(encoding="utf-8")
    )
    print("| request | scores | spec | fit | shape | kind | aspects | panel | proofs |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row, found in zip(requests, first, strict=True):
        text = row["text"] if len(row["text"]) <= 48 else row["text"][:47] + "…"
        scores = "".join(map(str, row["scores"]))
        cells = [
            text,
            scores,
            found["spec"],
            found["fit"],
            found["shape"] or "blocked",
            row["kind"],
        ]
        cells += [", ".join(found[name]) for name in ("aspects", "panel", "proofs")]
        print("| " + " | ".join(map(str, cells)) + " |")
    same = sum(one == other for one, other in zip(first, second, strict=True))
    print(f"two runs agree on {same} of {len(first)}")
    return 0 if same == len(first) else 1


if __name__ == "__main__":
    sys.exit(main())
