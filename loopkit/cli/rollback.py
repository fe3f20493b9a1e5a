"""loopkit rollback: put the working files back to a checkpoint."""

from __future__ import annotations

import click

from ..core.health import checkpoints as rules
from ..core.journal import prose
from ..core.journal.checkpointed import BEFORE, Checkpoint
from ..core.journal.errors import Refused, UsageFault
from ..core.journal.events import Change
from ..core.journal.state import LoopState
from ..engine import checkpoints
from . import app, recovering
from .checkpoint import kept

#: Files that are listed at most.
SHOWN = 25


@app.command("rollback", "loopkit rollback last-good --dry-run")
@click.argument("target", required=False, metavar="[last-good|'~2'|NUMBER|SHA]")
@click.option("--dry-run", is_flag=True, help="List what would change; change nothing.")
@click.option(
    "--force", is_flag=True, help="Also overwrite files that were committed after the checkpoint."
)
@click.option("--undo", is_flag=True, help="Go back to what the newest rollback saved.")
@click.option("--why", default="", metavar="TEXT", help="The reason, kept with the lesson.")
def command(
    call: app.App, target: str | None, dry_run: bool, force: bool, undo: bool, why: str
) -> int:
    """Make the working files equal to a checkpoint's; the tree before is saved first. Index, HEAD
    and branch stay as they are, .loop and ignored files too. Tasks completed after the checkpoint
    are open again.
    """
    if undo == bool(target):
        raise UsageFault(
            "give a checkpoint, or --undo alone",
            "loopkit rollback last-good | '~2' | NUMBER | SHA | --undo",
        )
    loop = call.own_loop()
    acting = _Rollback(call, loop.root, target, force, undo, why)
    if dry_run:
        with loop.writing() as state:
            acting.prepare(state)
        call.answer(loop, acting.preview(loop.state), acting.row(loop.state, acting.rows), [])
        return 0

    def decide(state: LoopState) -> list[Change]:
        acting.prepare(state)
        loop.record(acting.save(loop.state), call.by)
        return acting.restore(loop.state)

    changes = call.change(loop, decide)
    again = [data["id"] for kind, data in changes if kind == "task_reopened"]
    settled = recovering.settle(
        call, loop
    )  # after a flip-flop the person decides which way is right
    row = {**acting.row(loop.state, acting.rows), "reopened": again, "question": settled.question}
    call.answer(loop, "\n".join([acting.told(again), *settled.lines]), row)
    return int(settled.exit)


class _Rollback:
    """One rollback: what it is about, step by step. The caller holds the lock."""

    def __init__(
        self, call: app.App, root: str, target: str | None, force: bool, undo: bool, why: str
    ) -> None:
        self.call, self.root = call, root
        self.target, self.force, self.undo, self.why = target, force, undo, why
        self.project, self.environment = call.project, call.environment
        self.rows: list[tuple[str, str]] = []
        self.left: list[str] = []
        self.saved = 0

    def prepare(self, state: LoopState) -> None:
        """Find the target and what differs from it; refuse. Raises Refused, UsageFault, GitFault,
        Late."""
        self.goal: Checkpoint = (
            rules.undone(state) if self.undo else rules.find(state, self.target or "")
        )
        try:
            place = checkpoints.repository(self.project, self.environment)
        except checkpoints.Unavailable as error:
            raise Refused(f"NO_CHECKPOINTS: {error.what}", error.todo) from None
        rules.check(state, self.goal, checkpoints.place_of(place))
        rules.check_conflict(checkpoints.under_way(place), [], self.force)
        checkpoints.check_there(self.project, self.goal.tree, self.goal.number, self.environment)
        self.snapshot = checkpoints.snapshot(self.project, self.environment, [self.root])
        self.spare = rules.spared([*self.goal.left_out, *self.snapshot.left_out])
        plan = checkpoints.planned(
            self.project, self.snapshot.tree, self.goal.tree, self.environment, self.spare
        )
        self.rows = [(row.status, row.path) for row in plan.rows]
        self.left = sorted(f"{path} ({why})" for path, why in plan.left.items())
        rules.check_conflict(None, self._committed(), self.force)

    def _committed(self) -> list[str]:
        """Affected files that were committed since the checkpoint, with something else than it
        holds."""
        now = checkpoints.head(self.project, self.environment)
        if now is None or now == self.goal.head:
            return []
        since = checkpoints.committed(self.project, self.goal.head, now, self.environment)
        tree = checkpoints.tree_of(self.project, now, self.environment)
        other = {
            path
            for _, path in checkpoints.changed(self.project, self.goal.tree, tree, self.environment)
        }
        return [path for _, path in self.rows if path in since and path in other]

    def save(self, state: LoopState) -> list[Change]:
        """Keep the present tree."""
        facts = {"lines": state.lines, "target": self.goal.number, "undo": self.undo}
        changes = kept(self.call, state, self.snapshot, BEFORE, **facts)
        self.saved = changes[0][1]["number"]
        return changes

    def restore(self, state: LoopState) -> list[Change]:
        """Put the target's tree back; gives the lines of the rollback."""
        self.saved = rules.brought_back(state, self.goal, self.saved, self.undo, bool(self.rows))
        done = checkpoints.restore(
            self.project, self.snapshot.tree, self.goal.tree, self.environment, self.spare
        )
        written = set(done.paths)
        self.rows, self.left = [row for row in self.rows if row[1] in written], done.left
        return rules.rolled_back(state, self.goal, self.saved, done.paths, self.undo, self.why)

    # -- what is told

    def _files(self) -> list[str]:
        kinds = {"A": "back", "D": "gone"}
        shown = [(kinds.get(status, "changed"), path) for status, path in self.rows[:SHOWN]]
        lines = [f"  {kind}: {prose.clean(path, rules.LONGEST_NAME)}" for kind, path in shown]
        more = len(self.rows) - SHOWN
        return lines + ([f"  and {more} more"] if more > 0 else []) + self._untouched()

    def _untouched(self) -> list[str]:
        """What is not touched, each file once: those that git ignores, then the others with the
        reason of each."""
        end = f" ({checkpoints.IGNORED})"
        ignored = [one.removesuffix(end) for one in self.left if one.endswith(end)]
        others = [one for one in self.left if not one.endswith(end)]
        lines = (
            [f"left as they are, since git ignores them: {rules.named(ignored)}"] if ignored else []
        )
        return lines + ([f"left as they are: {rules.named(others)}"] if others else [])

    def _name(self) -> str:
        return f"checkpoint {self.goal.number} ({self.goal.label})"

    def preview(self, state: LoopState) -> str:
        """What a dry run prints."""
        again = rules.reopened(state, self.goal)
        head = f"a rollback to {self._name()} would change {prose.count(len(self.rows), 'file')}"
        return "\n".join(
            [head + (f" and reopen {rules.named(again)}" if again else ""), *self._files()]
        )

    def told(self, again: list[str]) -> str:
        """What a rollback prints."""
        lines = [
            f"rolled back to {self._name()}: {prose.count(len(self.rows), 'file')} restored",
            *self._files(),
        ]
        if again:
            lines.append(f"open again: {rules.named(again)}")
        if self.undo:
            lines.append(
                "tasks that the rollback opened stay open: each is completed by its check, which "
                "runs anew"
            )
        lines.append(
            f"the files before are checkpoint {self.saved}; to have them back: loopkit rollback "
            "--undo"
        )
        return "\n".join(lines)

    def row(self, state: LoopState, rows: list[tuple[str, str]]) -> dict:
        """The same as a record."""
        files = [{"status": status, "path": path} for status, path in rows]
        found = {
            "checkpoint": self.goal.number,
            "files": files,
            "left": self.left,
            "saved": self.saved or None,
        }
        return {**found, "reopened": rules.reopened(state, self.goal)}
