"""Runs of pipelines: what the runner adds to the agents' own time, whether its memory stays flat.

benchmarks/runs.py [ROUNDS]    (of 200 iterations; default 3)
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import _measure as measure

#: Iterations of a run that is timed, and of one whose memory is watched.
TIMED, WATCHED = 200, 2000
#: Bytes that the runner may take at the most.
MOST_MEMORY = 80_000_000

#: Runs a stage within this process and prints how much memory it had after each iteration.
WATCH = """
import json, os, sys
from loopkit.cli.app import note
from loopkit.engine.run import Answered
from loopkit.ops.runs import start
from loopkit.ops.workspace import Workspace
page, seen = os.sysconf("SC_PAGE_SIZE"), []
chosen = {"agent": "command", "program": ["true"]}
most = int(sys.argv[1])
asked = start.Asked("bare", "watched", iterations=most, usd=0, seconds=0, chosen=chosen)
for record in start.start(Workspace(note), asked):
    if isinstance(record, Answered):
        with open("/proc/self/statm") as file:
            seen.append(int(file.read().split()[1]) * page)
print(json.dumps(seen))
"""


def project(folder: Path) -> Path:
    """A project with a stage that pauses between no iterations."""
    stage = folder / "project/.loop/stages/bare"
    stage.mkdir(parents=True)
    text = "name: bare\ndescription: Nothing\ncompletion: fixed-n\ndelay: 0\n"
    (stage / "stage.yaml").write_text(text)
    (stage / "prompt.md").write_text("Do nothing.\n")
    return folder / "project"


def timed(folder: Path, rounds: int) -> None:
    """200 iterations through `loopkit run`, and as many bare starts of their program."""
    home, data = folder / "home", measure.data_folder()
    home.mkdir()
    where, env = project(folder), measure.clean(home, data)
    program = [sys.executable, "-c", "import json"]
    words = ["sh", str(measure.ROOT / "bin/loopkit"), "run", "bare", "timed", str(TIMED)]

    def tidy() -> None:
        shutil.rmtree(where / ".loop/runs", ignore_errors=True)

    whole = measure.Program([*words, "--usd", "none", "--", *program], where, env, before=tidy)
    bare = measure.Program(program, where, env)
    ours, reference = [], []
    measure.once(bare)
    for _ in range(rounds):
        ours.append(measure.once(whole))
        reference.append(sum(measure.once(bare) for _ in range(TIMED)))
    state = json.loads((where / ".loop/runs/timed/state.json").read_text())
    assert state["iteration_completed"] == TIMED, state
    taken = statistics.median(ours), statistics.median(reference)
    measure.row(f"{TIMED} iterations ÷ bare starts", *taken, 1.5)


def watched(folder: Path) -> None:
    """Memory of the runner over 2,000 iterations, in its first and its last tenth."""
    if not os.path.exists("/proc/self/statm"):
        return
    env = measure.clean(folder / "home", measure.data_folder(), PYTHONPATH=str(measure.ROOT))
    words = [sys.executable, "-c", WATCH, str(WATCHED)]
    done = subprocess.run(
        words, cwd=folder / "project", env=env, stdout=subprocess.PIPE, check=True
    )
    seen = json.loads(done.stdout)
    assert len(seen) == WATCHED, len(seen)
    tenth = WATCHED // 10
    first, last = (statistics.median(rows) for rows in (seen[:tenth], seen[-tenth:]))

    def megabytes(size: float) -> str:
        return f"{size / 1e6:.0f} MB"

    measure.row(f"memory, last ÷ first of {WATCHED}", last, first, 1.1, megabytes)
    measure.row("memory at the most", max(seen), MOST_MEMORY, 1, megabytes)


def main() -> None:
    measure.head("a stage with agent command; reference: bare starts, first tenth, bound")
    with measure.folder() as folder:
        timed(folder, measure.rounds(3))
        watched(folder)


if __name__ == "__main__":
    main()
