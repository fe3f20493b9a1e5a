"""What is done and said of a recovery: loopkit's own part is done, the person is asked, or the play
is named."""

from __future__ import annotations

from collections import namedtuple

from ..core.health import recovery
from ..store.loop import Loop
from .workspace import Workspace

#: lines: what is said of it · question: that the person is asked now, or None · exit: 1 where
#: nobody can answer it · done: whether loopkit has recorded anything.
Settled = namedtuple("Settled", "lines question exit done")


def settle(workspace: Workspace, loop: Loop) -> Settled:
    """Do what loopkit does by itself of the recovery that is due: let a task wait for another, ask
    the person.

    Without a person the question stays, and the command exits 1 (rule: Recovery).
    """
    changes = workspace.change(loop, recovery.settled) if recovery.due(loop.state) else []
    lines, question = [], None
    for kind, row in changes:
        if kind == "task_changed":
            lines.append(f"{row['id']} waits for {', '.join(row['blockedBy'])} now")
        elif kind == "question_asked":
            question = row["text"]
            lines.append(question)
    play = recovery.due(loop.state)
    if play is not None and not changes:
        lines.append(f"recovery: {play.why}")
    unanswered = question is not None and loop.state.session.unattended
    return Settled(lines, question, int(unanswered), bool(changes))
