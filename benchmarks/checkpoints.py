"""Whether checkpoints stay as fast as they were, and how they compare to `git stash create` on the same tree.

    .venv/bin/python benchmarks/checkpoints.py [CHECKPOINTS]

A repository of 5,000 files, 20 of them changed and 20 new ones beside them. Ours is what the command does but
for the start of its interpreter: the tree, the commit, the ref, the journal's line.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import _loops
import _measure

from loopkit.core import checkpoints as rules
from loopkit.engine import checkpoints
from loopkit.store.loop import Loop

FILES, FOLDER = 5000, 50
#: Files that differ from the commit, and as many new ones; one of each is written before every checkpoint.
CHANGED = 20
#: Checkpoints at each end.
END = 20


def made(project: Path, environment: dict[str, str]) -> None:
    """The repository, with one commit, packed as a clone is."""
    for number in range(FILES):
        path = project / f"src/d{number // FOLDER}/f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"value = {number}\n" * 20)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x"), ("gc", "-q")):
        subprocess.run(["git", *words], cwd=project, env=environment, check=True)


def keep(loop: Loop, project: str, environment: dict[str, str]) -> None:
    """One checkpoint, as `loopkit checkpoint` makes it."""
    lines, newest = loop.state.lines, loop.state.line.checkpoints[-1:]
    snapshot = checkpoints.snapshot(project, environment, [loop.root], newest[0].plain if newest else None)
    with loop.writing() as state:
        head, before, number = snapshot.place.head, rules.parent(state), rules.next_number(state)
        parent = before.sha if before else head
        sha = checkpoints.commit(project, snapshot.tree, parent, rules.message("manual", ()), environment)
        assert checkpoints.keep(project, loop.name, number, sha, environment)
        facts = {
            "sha": sha,
            "tree": snapshot.tree,
            "label": "manual",
            "lines": lines,
            "head": head,
            "plain": snapshot.plain,
        }
        loop.record(rules.made(state, number, place=checkpoints.place_of(snapshot.place), **facts), _loops.BY)


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def main() -> int:
    count = _measure.rounds(1000)
    with _measure.folder() as place:
        project = place / "project"
        project.mkdir()
        names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
        environment = {"PATH": os.environ["PATH"], "HOME": str(place), **dict.fromkeys(names, "bench")}
        made(project, environment)
        loop = _loops.started(project)
        ours, theirs = [], []

        def stash() -> None:
            subprocess.run(
                ["git", "stash", "create"], cwd=project, env=environment, check=True, stdout=subprocess.DEVNULL
            )

        def change(number: int) -> None:
            place = number % CHANGED
            (project / f"src/d{place}/f{place * FOLDER}.py").write_text(f"value = {number}\n" * 21)
            (project / f"new{place}.txt").write_text(f"{number}\n")

        for number in range(CHANGED):  # from the first to the last as many files differ from the commit
            change(-number)
        for number in range(count):
            change(number)
            acts = [(ours, lambda: keep(loop, str(project), environment))]
            if number < END or number >= count - END:
                acts.insert(number % 2, (theirs, stash))
            for times, act in acts:
                times.append(timed(act))
        trees = [one.tree for one in loop.state.line.checkpoints]
        assert len(set(trees)) == len(trees) == count
    end = min(END, count // 2)
    _measure.head(f"{count:,} checkpoints of {FILES:,} files; medians of {end} at each end")
    _measure.row(
        "the last ones against the first ones", statistics.median(ours[-end:]), statistics.median(ours[:end]), 1.5
    )
    _measure.row(
        "against git stash create, at the start", statistics.median(ours[:end]), statistics.median(theirs[:end]), 2
    )
    _measure.row(
        "against git stash create, at the end", statistics.median(ours[-end:]), statistics.median(theirs[-end:]), 2
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
