"""What recalling from 1,000 learnings costs: in units of reading them with plain Python, and as a
command in units of `python -c "import click"` in bin/loopkit's environment.

.venv/bin/python benchmarks/recall.py [ROUNDS]
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import _loops
import _measure
from _measure import Program

from loopkit.core.journal import clock
from loopkit.core.memory.recall import stem
from loopkit.store import learnings
from loopkit.store.origin import Origin

COUNT = 1_000
#: A request with words that every learning has, that many have and that few have.
REQUEST = (
    "Add rate limiting to the search API: the 101st request of a minute from one client is "
    "answered with 429"
)
_SUBJECTS = (
    "search export import login billing report upload cache queue worker index mail page form table"
).split()
_DEEDS = (
    "limiting paging sorting parsing rendering retrying caching locking streaming testing migrating"
).split()


def rows() -> list[dict]:
    """Learnings of all kinds, the same ones each time: some 300 bytes each, a vocabulary of some
    thousands of words."""
    pick = random.Random(7)
    spare = [
        f"{start}{end}"
        for start in ("ab", "co", "de", "lu", "ma", "po", "ri", "ta")
        for end in range(500)
    ]
    found = []
    for number in range(COUNT):
        context = (
            f"{pick.choice(_DEEDS)} of the {pick.choice(_SUBJECTS)} api with "
            f"{' '.join(pick.sample(spare, 4))}"
        )
        stamp = clock.stamp(1_790_000_000 + number * 60)
        said = " ".join(pick.sample(spare, 20))
        row: dict = {
            "ts": stamp,
            "kind": "failure",
            "context": context,
            "failure": said,
            "prevention": said,
            "seen": 1,
        }
        if number % 3 == 0:
            row = {
                "ts": stamp,
                "kind": "discovery",
                "context": context,
                "discovery": said,
                "confidence": 0.9,
            }
            row["applies_to"] = f"every request to {pick.choice(_SUBJECTS)}"
        found.append(row)
    return found


def plain(file: Path) -> None:
    """Read every line of a file, and no more."""
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            json.loads(line)


def seconds(done: Callable[[], object]) -> float:
    began = time.perf_counter()
    done()
    return time.perf_counter() - began


def main() -> int:
    data = _measure.data_folder()
    python = data / "env" / "bin" / "python"
    rounds = _measure.rounds(21)
    with _measure.folder() as home:
        project = home / "project"
        (project / ".git").mkdir(parents=True)
        loop = _loops.started(project, REQUEST)
        file = project / ".loop" / "learnings.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
        whose, now = Origin(str(file.parent), frozenset()), clock.epoch(rows()[-1]["ts"])

        def found() -> object:
            stem.cache_clear()  # as in a new process
            return learnings.fitting(whose, REQUEST, now, {}, print)

        ours = statistics.median(seconds(found) for _ in range(rounds))
        read = statistics.median(seconds(lambda: plain(file)) for _ in range(rounds))
        env = _measure.clean(home, data, CLAUDE_CODE_SESSION_ID=_loops.SESSION)
        loopkit = str(_measure.ROOT / "bin" / "loopkit")
        programs = {
            "click": Program([str(python), "-c", "import click"], project, env),
            "status": Program([loopkit, "status"], project, env),
            "recall": Program([loopkit, "recall"], project, env),
        }
        said = _measure.output(programs["recall"]).decode()
        assert said.count("\n") > 5 and "limiting" in said, (loop.name, said)
        times = _measure.in_turn(programs, rounds)
        size = file.stat().st_size
    _measure.head(
        f"{COUNT:,} learnings, {size:,} bytes; references: json.loads of each line, {python} -c "
        '"import click"'
    )
    _measure.row("read and put in order", ours, read, None)
    _measure.row("loopkit recall", times["recall"], times["click"], None)
    _measure.row("loopkit status, for comparison", times["status"], times["click"], None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
