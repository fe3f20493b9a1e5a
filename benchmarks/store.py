"""Whether adding a task stays as fast as it was: 10,000 tasks, one `record` each, the last ones
against the first ones.

    .venv/bin/python benchmarks/store.py [TASKS]

Every record takes the lock, syncs the journal and rewrites the snapshot, as `loopkit task add`
does.
"""

from __future__ import annotations

import statistics
import sys
import time

import _loops
import _measure

from loopkit.core.plan import drafts
from loopkit.store import loop as store

#: Tasks at each end.
END = 500


def main() -> int:
    count = _measure.rounds(10_000)
    with _measure.folder() as project:
        loop = _loops.started(project)
        taken, worked = [], []
        for number in range(1, count + 1):
            row = _loops.row(number)
            began, busy = time.perf_counter(), time.process_time()
            with loop.writing() as state:
                loop.record(drafts.added(state, [row]), _loops.BY)
            taken.append(time.perf_counter() - began)
            worked.append(time.process_time() - busy)
        assert len(loop.state.tasks) == count
        began = time.perf_counter()
        again = store.Loop(loop.root, loop.name)
        folded = time.perf_counter() - began
        assert again.state.counts == loop.state.counts and list(again.state.tasks) == list(
            loop.state.tasks
        )
    end = min(END, count // 2)
    _measure.head(
        f"{count:,} tasks added one by one; reference: the first {end} of them, ours: the last "
        f"{end}, medians"
    )
    _measure.row(
        "a task, journal synced",
        statistics.median(taken[-end:]),
        statistics.median(taken[:end]),
        1.3,
    )
    _measure.row(
        "a task, processor time",
        statistics.median(worked[-end:]),
        statistics.median(worked[:end]),
        None,
    )
    print(
        f"the whole journal read again: {_measure.milliseconds(folded)}, "
        f"{folded / count * 1e6:.0f} µs a task"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
