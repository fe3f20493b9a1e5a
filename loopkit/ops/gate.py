"""The gate: what it waits for before the loop completes."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

from ..core.review import gate
from ..core.steps import nextstep
from ..store import digest
from ..store.loop import Loop
from .workspace import Workspace


def digests(workspace: Workspace) -> Callable[[str], str]:
    """A file's present digest, each file looked at once."""
    return functools.cache(functools.partial(digest.of, workspace.project))


def lost(loop: Loop) -> frozenset[str]:
    """Ids of completed tasks and of criteria whose evidence file is gone."""
    proofs = [
        (task.id, task.evidence) for task in loop.state.tasks.values() if task.status == "completed"
    ]
    proofs += list(loop.state.criterion_evidence.items())
    return frozenset(
        name
        for name, proof in proofs
        if proof is not None and not os.path.isfile(os.path.join(loop.folder, proof.log))
    )


def next_check(workspace: Workspace, loop: Loop) -> list[str]:
    """The step after a check in review: the next one the gate waits for, or the gate itself."""
    missing = gate.open_points(loop.state, digests(workspace), lost(loop))
    step = missing[0][1] if missing else "loopkit gate"
    return [step] if step else []


def checks(workspace: Workspace, loop: Loop) -> list[str]:
    """Tasks and criteria whose checks the gate waits for."""
    waiting = {step for _, step in gate.open_points(loop.state, digests(workspace), lost(loop))}
    names = (*loop.state.tasks, *loop.state.criteria)
    return [name for name in names if nextstep.check(loop.state, name) in waiting]
