"""What recalling from 10,000 learnings costs, in units of `python -c "import click"` in bin/loopkit's environment.

.venv/bin/python benchmarks/recall.py [ROUNDS]
"""

from __future__ import annotations

import json
import random
import sys

import _loops
import _measure
from _measure import Program

from loopkit.core import clock

COUNT = 10_000
#: A request with words that every learning has, that many have and that few have.
REQUEST = "Add rate limiting to the search API: the 101st request of a minute from one client is answered with 429"
_SUBJECTS = "search export import login billing report upload cache queue worker index mail page form table".split()
_DEEDS = "limiting paging sorting parsing rendering retrying caching locking streaming testing migrating".split()


def rows() -> list[dict]:
    """Learnings of all kinds, the same ones each time: some 300 bytes each, a vocabulary of some thousands of words."""
    pick = random.Random(7)
    spare = [f"{start}{end}" for start in ("ab", "co", "de", "lu", "ma", "po", "ri", "ta") for end in range(500)]
    found = []
    for number in range(COUNT):
        context = f"{pick.choice(_DEEDS)} of the {pick.choice(_SUBJECTS)} api with {' '.join(pick.sample(spare, 4))}"
        stamp = clock.stamp(1_790_000_000 + number * 60)
        said = " ".join(pick.sample(spare, 20))
        row: dict = {"ts": stamp, "kind": "failure", "context": context, "failure": said, "prevention": said, "seen": 1}
        if number % 3 == 0:
            row = {"ts": stamp, "kind": "discovery", "context": context, "discovery": said, "confidence": 0.9}
            row["applies_to"] = f"every request to {pick.choice(_SUBJECTS)}"
        found.append(row)
    return found


def main() -> int:
    data = _measure.data_folder()
    python = data / "env" / "bin" / "python"
    with _measure.folder() as home:
        project = home / "project"
        (project / ".git").mkdir(parents=True)
        loop = _loops.started(project, REQUEST)
        file = project / ".loop" / "learnings.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
        whole = file.read_bytes()
        index = project / ".loop" / "learnings.db"
        line = json.dumps({"kind": "discovery", "context": "rate limiting", "discovery": "one more"}).encode() + b"\n"
        env = _measure.clean(home, data, CLAUDE_CODE_SESSION_ID=_loops.SESSION)
        loopkit = str(_measure.ROOT / "bin" / "loopkit")
        recall = Program([loopkit, "recall"], project, env)

        def more() -> None:
            file.write_bytes(file.read_bytes() + line.replace(b"one", str(file.stat().st_size).encode()))

        programs = {
            "click": Program([str(python), "-c", "import click"], project, env),
            "status": Program([loopkit, "status"], project, env),
            "recall": recall,
        }
        said = _measure.output(recall).decode()
        assert said.count("\n") > 5 and "limiting" in said, (loop.name, said)
        times = _measure.in_turn(programs, _measure.rounds(41))
        added = {"added": recall._replace(before=more), "anew": recall._replace(before=lambda: index.unlink())}
        times |= _measure.in_turn(added, max(3, _measure.rounds(41) // 8))
    _measure.head(f'{COUNT:,} learnings, {len(whole):,} bytes; reference: {python} -c "import click"')
    _measure.row("loopkit recall", times["recall"], times["click"], 2)
    _measure.row("loopkit status, for comparison", times["status"], times["click"], None)
    _measure.row("loopkit recall, a line was added", times["added"], times["click"], None)
    _measure.row("loopkit recall, index made anew", times["anew"], times["click"], None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
