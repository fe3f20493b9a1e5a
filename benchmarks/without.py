"""Whether a check without the work costs little more than the check, however many files changed.

    .venv/bin/python benchmarks/without.py [ROUNDS]

A repository of 5,000 files, 1 or 4,000 of them changed; a check of about half a second that fails
without the work. The run without it is all that `without.tried` takes beside the run with it: the
folder of ours, what git reads, the namespaces, the files, the check. The reference is the check
by itself. A busy machine stretches all of it but the seconds that are allowed.
"""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

import _measure
from checkpoints import FILES, FOLDER, made

from loopkit.core.evidence import command
from loopkit.engine import process, without

#: Files that are taken back.
FEW, MANY = 1, 4000
#: The promise: so many times the check's own time, and so many seconds.
TIMES, SECONDS = 1.3, 0.3

CODE = "sum(range(12_000_000)); assert 'new' in open('src/d0/f0.py').read()"
LINE = f"{shlex.quote(sys.executable)} -S -c {shlex.quote(CODE)}"


def main() -> int:
    rounds = _measure.rounds(10)
    with _measure.folder() as place:
        project = place / "project"
        names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
        environment = {"PATH": os.environ["PATH"], "HOME": str(place)}
        environment |= dict.fromkeys(names, "bench")
        project.mkdir()
        made(project, environment)
        head = ["git", "rev-parse", "HEAD^{tree}"]
        start = subprocess.check_output(head, cwd=project, text=True).strip()
        changed = [f"src/d{number // FOLDER}/f{number}.py" for number in range(MANY)]
        for path in changed:
            (project / path).write_text("new = True\n" * 20)
        taken = [measured(project, changed, start, environment) for _ in range(rounds + 1)][1:]
    own, control, few, many = (statistics.median(times) for times in zip(*taken, strict=True))
    allowed = TIMES * own + SECONDS
    _measure.head(
        f"A check without the work, {FILES:,} files; medians of {rounds}; the reference is the "
        f"check's own\ntime, {_measure.milliseconds(own)}, times {TIMES} and {SECONDS} s more"
    )
    _measure.row("with the work, in the overlay", control, allowed, 1)
    _measure.row(f"without the work, {FEW} file taken back", few, allowed, 1)
    _measure.row(f"without the work, {MANY:,} files", many, allowed, 1)
    return 0


def measured(
    project: Path, changed: list[str], start: str, environment: dict[str, str]
) -> tuple[float, float, float, float]:
    """Seconds of the check by itself, with the work, and without it for FEW and MANY files."""
    log = str(project.parent / "log")
    own = process.run(command.split(LINE), str(project), log, 60, environment)
    assert own.exit == 0
    control, beside = 0.0, []
    for count in (FEW, MANY):
        began = time.perf_counter()
        until = time.monotonic() + 600
        where = (str(project), ".", changed[:count], start, LINE, 60)
        found = without.tried(without.Check(*where, environment, until))
        assert found.word == without.RED and found.with_work, found
        control = found.with_work["seconds"]
        beside.append(time.perf_counter() - began - control)
    return own.seconds, control, beside[0], beside[1]


if __name__ == "__main__":
    sys.exit(main())
