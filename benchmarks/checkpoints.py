"""Whether checkpoints stay as fast as they were, and how they compare to `git stash create` on the
same tree.

    .venv/bin/python benchmarks/checkpoints.py [CHECKPOINTS]

A repository of 5,000 files, 20 of them changed and 20 new ones beside them. Ours is what the
command does but for the start of its interpreter: the tree, the commit, the ref, the journal's
line.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import _loops
import _measure

from loopkit.core.health import checkpoints as rules
from loopkit.engine import checkpoints, git, trees
from loopkit.store.loop import Loop

FILES, FOLDER = 5000, 50
#: Files that differ from the commit, and as many new ones; one of each is written before every
#: checkpoint.
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
    lines, newest = loop.state.lines, loop.state.checkpoints.rows[-1:]
    snapshot = checkpoints.snapshot(
        project, environment, [loop.root], newest[0].plain if newest else None
    )
    with loop.writing() as state:
        head, before, number = snapshot.place.head, rules.parent(state), rules.next_number(state)
        parent = before.sha if before else head
        sha = trees.commit(project, snapshot.tree, parent, rules.message("manual", ()), environment)
        assert checkpoints.keep(project, loop.name, number, sha, environment)
        facts = {
            "sha": sha,
            "tree": snapshot.tree,
            "label": "manual",
            "lines": lines,
            "head": head,
            "plain": snapshot.plain,
        }
        loop.record(
            rules.made(state, number, place=git.place_of(snapshot.place), **facts),
            _loops.BY,
        )


class Repository:
    """A repository and a loop in it."""

    def __init__(self, project: Path) -> None:
        names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(project),
            **dict.fromkeys(names, "bench"),
        }
        self.project = project
        project.mkdir()
        made(project, self.environment)
        self.loop = _loops.started(project)
        self.written = 0
        for _ in range(CHANGED):  # from the first to the last as many files differ from the commit
            self.change()

    def change(self) -> None:
        self.written += 1
        place = self.written % CHANGED
        text = f"value = {self.written}\n" * 21
        (self.project / f"src/d{place}/f{place * FOLDER}.py").write_text(text)
        (self.project / f"new{place}.txt").write_text(text)

    def keep(self) -> None:
        keep(self.loop, str(self.project), self.environment)

    def stash(self) -> None:
        words = ["git", "stash", "create"]
        subprocess.run(
            words, cwd=self.project, env=self.environment, check=True, stdout=subprocess.DEVNULL
        )


def main() -> int:
    count = _measure.rounds(1000)
    end = min(END, count)
    with _measure.folder() as place:
        old, new = Repository(place / "old"), Repository(place / "new")
        for _ in range(count - end):
            old.change()
            old.keep()
        acts = [old.keep, new.keep, old.stash, new.stash]
        taken: list[list[float]] = [[] for _ in acts]
        for number in range(end):
            old.change()
            new.change()
            for step in range(len(acts)):
                which = (number + step) % len(acts)
                began = time.perf_counter()
                acts[which]()
                taken[which].append(time.perf_counter() - began)
        trees = [one.tree for one in old.loop.state.checkpoints.rows]
        assert len(set(trees)) == len(trees) == count
    last, first, late, early = (statistics.median(times) for times in taken)
    _measure.head(
        f"{count:,} checkpoints of {FILES:,} files; medians of the last {end}, side by side with "
        f"the first {end} of\n"
        "another repository like it, and with git stash create on the same trees"
    )
    _measure.row("the last ones against the first ones", last, first, 1.5)
    _measure.row("the first, against git stash create", first, early, 2)
    _measure.row("the last, against git stash create", last, late, 2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
