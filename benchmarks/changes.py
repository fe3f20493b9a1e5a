"""What it costs to measure what changed, against `git status` in the same folder, side by side.

    .venv/bin/python benchmarks/changes.py [ROUNDS]

A repository of 20,000 files and an ignored folder of 5,000 more; 20 files changed, 20 are new.
Measuring a wave begins with the tree of its checkpoint, which is made anyway; at the end none is
taken.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import _measure

from loopkit.engine import checkpoints, listing, trees

FILES, IGNORED, FOLDER, CHANGED = 20_000, 5_000, 50, 20


def made(project: Path, environment: dict[str, str]) -> None:
    """The repository, with one commit, packed as a clone is."""
    for number in range(FILES + IGNORED):
        top = "src" if number < FILES else "build"
        path = project / f"{top}/d{number // FOLDER}/f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"value = {number}\n" * 20)
    (project / ".gitignore").write_text("build/\n")
    commands = "init -q", "config gc.auto 0", "add -A", "commit -qm x", "gc -q"
    for words in map(str.split, commands):
        subprocess.run(["git", *words], cwd=project, env=environment, check=True)


def change(project: Path, text: str) -> None:
    for number in range(CHANGED):
        (project / f"src/d{number}/f{number * FOLDER}.py").write_text(text * 21)
        (project / f"new{number}.txt").write_text(text)


def main() -> int:
    rounds = _measure.rounds(15)
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    with _measure.folder() as place:
        project = place / "project"
        project.mkdir()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(place),
            **dict.fromkeys(names, "bench"),
        }
        made(project, environment)
        folder = str(project)
        start = checkpoints.snapshot(folder, environment)
        before = listing.ignored(folder, environment)
        change(project, "value = 1\n")
        wave = checkpoints.snapshot(folder, environment, plain=start.plain).tree

        def measure(tree: str) -> None:
            assert len(trees.measured(folder, start.tree, tree, environment)) == 2 * CHANGED
            assert listing.compared(before, listing.ignored(folder, environment)) == []

        def whole() -> None:
            found, ignored = checkpoints.measured(
                folder, environment, [start.tree], (), start.plain, before[""]
            )
            assert len(found[start.tree]) == 2 * CHANGED
            assert listing.compared(before, ignored) == []

        def status() -> None:
            words = ["git", "status", "--porcelain"]
            subprocess.run(words, cwd=project, env=environment, check=True, capture_output=True)

        acts: list[Callable[[], None]] = [lambda: measure(wave), whole, status]
        taken: list[list[float]] = [[] for _ in acts]
        for number in range(rounds * len(acts)):
            for step in range(len(acts)):
                which = (number + step) % len(acts)
                began = time.perf_counter()
                acts[which]()
                taken[which].append(time.perf_counter() - began)
        of_wave, of_all, reference = (statistics.median(times) for times in taken)
    _measure.head(f"{FILES:,} files, {2 * CHANGED} of them changed; medians, beside git status")
    _measure.row("a closed wave, its checkpoint made", of_wave, reference, 1.5)
    _measure.row("at the end", of_all, reference, 1.5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
