"""Waves of a large graph against the standard library's graphlib on the same graph, and the memory
it takes.

    .venv/bin/python benchmarks/graph.py [ROUNDS]

Each round starts a fresh process for either; it makes the same graph, then lets `core.graph.waves`
or `graphlib` cut it into layers. Memory is the process's peak, the graph included.
"""

from __future__ import annotations

import gc
import random
import resource
import statistics
import subprocess
import sys
import time

import _measure

TASKS, DEPENDENCIES = 100_000, 300_000
#: Bytes that the process may take at its peak.
MEMORY = 400e6


def make() -> dict[str, tuple[str, ...]]:
    """{task: tasks it waits for}, always the same: three earlier tasks each, most of them made
    shortly before."""
    chance = random.Random(1)
    names = [f"T-{number:03d}" for number in range(1, TASKS + 1)]
    each = DEPENDENCIES // TASKS
    blocked_by: dict[str, tuple[str, ...]] = {}
    missing = 0
    for place, name in enumerate(names):
        wanted: set[int] = set()
        many = min(place, each + (1 if missing else 0))
        missing += each - many
        while len(wanted) < many:
            wanted.add(max(0, place - 1 - int(chance.expovariate(1 / 500))))
        blocked_by[name] = tuple(names[one] for one in sorted(wanted))
    assert sum(map(len, blocked_by.values())) == DEPENDENCIES
    return blocked_by


def ours(blocked_by: dict[str, tuple[str, ...]]) -> list[list[str]]:
    from loopkit.core.plan import outline

    return outline.waves(blocked_by)


def library(blocked_by: dict[str, tuple[str, ...]]) -> list[list[str]]:
    import graphlib

    sorter = graphlib.TopologicalSorter(blocked_by)
    sorter.prepare()
    layers = []
    while sorter.is_active():
        ready = sorter.get_ready()
        layers.append(list(ready))
        sorter.done(*ready)
    return layers


def child(name: str) -> None:
    """Prints seconds, peak memory in kB, number of layers, and a figure that is the same for the
    same layers."""
    blocked_by = make()
    cut = {"ours": ours, "graphlib": library}[name]
    gc.collect()
    began = time.perf_counter()
    layers = cut(blocked_by)
    taken = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (
        1024 if sys.platform == "darwin" else 1
    )
    place = {task: number for number, layer in enumerate(layers) for task in layer}
    print(taken, peak, len(layers), sum(int(task[2:]) * number for task, number in place.items()))


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2])
        return 0
    taken: dict[str, list[float]] = {"ours": [], "graphlib": []}
    peak = {"ours": 0.0, "graphlib": 0.0}
    same = set()
    for number in range(_measure.rounds(7)):
        for name in list(taken)[:: -1 if number % 2 else 1]:
            argv = [sys.executable, __file__, "--child", name]
            said = subprocess.run(argv, stdout=subprocess.PIPE, check=True, text=True).stdout
            seconds, memory, *cut = said.split()
            taken[name].append(float(seconds))
            peak[name] = max(peak[name], float(memory) * 1024)
            same.add(tuple(cut))
    assert len(same) == 1, same
    layers = same.pop()[0]
    _measure.head(
        f"{TASKS:,} tasks, {DEPENDENCIES:,} dependencies, {layers} layers; reference: "
        "graphlib.TopologicalSorter"
    )
    middle = {name: statistics.median(times) for name, times in taken.items()}
    _measure.row("waves", middle["ours"], middle["graphlib"], 2)
    _measure.row("peak memory of the process", peak["ours"], peak["graphlib"], None, megabytes)
    _measure.row("peak memory, against its bound", peak["ours"], MEMORY, 1, megabytes)
    return 0


def megabytes(count: float) -> str:
    return f"{count / 1e6:.0f} MB"


if __name__ == "__main__":
    sys.exit(main())
