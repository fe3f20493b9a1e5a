"""What masking the output of checks costs: an ordinary log of tests, looked through by `grep` for
the same marks, and masked as evidence is.

    .venv/bin/python benchmarks/masking.py [MEGABYTES]
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import _measure

from loopkit.core.evidence import masking
from loopkit.store import tables

#: Bytes that are fed at once, as from a pipe; rounds.
PIECE, ROUNDS = 1 << 16, 5


def _log(most: int) -> bytes:
    """Lines as a test runner prints them, of this repository's own tests."""
    rows = []
    for path in sorted(Path(_measure.ROOT, "tests").rglob("test_*.py")):
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M):
            share = len(rows) % 100
            rows.append(f"{path.relative_to(_measure.ROOT)}::{name} PASSED [{share:3} %]\n")
    text = "".join(rows).encode()
    return (text * (most // len(text) + 1))[:most]


def _masked(masks: masking.Masks, log: bytes) -> float:
    began = time.process_time()
    stream = masking.Stream(masks, ["a-value-of-the-environment"])
    for at in range(0, len(log), PIECE):
        stream.feed(log[at : at + PIECE])
    stream.end()
    return time.process_time() - began


def _grepped(marks: str, log: bytes) -> float:
    """Ends with 1 where nothing is found."""
    command = ["grep", "-ciE", marks]
    began = time.perf_counter()
    subprocess.run(
        command,
        input=log,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    return time.perf_counter() - began


def main() -> int:
    megabytes = _measure.rounds(20)
    log, masks = _log(megabytes * 1_000_000), tables.masks()
    marks = "|".join(re.escape(mark.decode()).replace("\\-", "-") for mark, _ in masks.marks)
    pairs = [(_masked(masks, log), _grepped(marks, log)) for _ in range(ROUNDS)]
    ours, reference = (statistics.median(column) for column in zip(*pairs, strict=True))
    _measure.head(f"{megabytes} MB of a test log; reference: grep -ciE of the same marks")
    _measure.row("masking a log", ours, reference, None)
    print(f"{megabytes / ours:.0f} MB of a log in a second of processor time; to reach: 30")
    return 0


if __name__ == "__main__":
    sys.exit(main())
