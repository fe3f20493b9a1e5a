"""The working files are put back to a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..core.health import checkpoints as rules
from ..core.journal import prose
from ..core.journal.errors import Refused, UsageFault
from ..core.journal.events import Change
from ..core.journal.parts import BEFORE, Checkpoint
from ..core.journal.state import LoopState
from ..engine import checkpoints, git, restoring, trees
from . import recovering
from .checkpoint import kept
from .workspace import Result, Workspace

#: Files that are listed at most.
SHOWN = 25


def rollback(
    workspace: Workspace,
    target: str | None = None,
    *,
    undo: bool = False,
    force: bool = False,
    why: str = "",
    dry_run: bool = False,
) -> Result:
    """Make the working files equal to a checkpoint's, or with `undo` to what the newest rollback
    saved; the tree before is saved first. Tasks completed after the checkpoint are open again.

    force: also overwrite files that were committed after the checkpoint · dry_run: change nothing.
    """
    if undo == bool(target):
        raise UsageFault(
            "give a checkpoint, or --undo alone",
            "loopkit rollback last-good | '~2' | NUMBER | SHA | --undo",
        )
    loop = workspace.own_loop()
    acting = _Rollback(workspace, loop.root, target, force, undo, why)
    if dry_run:
        with loop.writing() as state:
            acting.prepare(state)
        again = rules.reopened(loop.state, acting.goal)
        return Result(loop, "\n".join(acting.preview(again)), acting.row(again), [])

    def decide(state: LoopState) -> list[Change]:
        acting.prepare(state)
        loop.record(acting.save(loop.state), workspace.by)
        return acting.restore(loop.state)

    changes = workspace.change(loop, decide)
    again = [data["id"] for kind, data in changes if kind == "task_reopened"]
    # after a flip-flop the person decides which way is right
    settled = recovering.settle(workspace, loop)
    row = {**acting.row(again), "question": settled.question}
    return Result(loop, "\n".join([*acting.told(again), *settled.lines]), row, code=settled.exit)


@dataclass
class _Rollback:
    """One rollback: what it is about, step by step. The caller holds the lock."""

    workspace: Workspace
    root: str
    target: str | None
    force: bool
    undo: bool
    why: str
    rows: list[tuple[str, str]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    saved: int = 0

    @property
    def git(self) -> tuple[str, dict]:
        """Where git runs: the project and the environment."""
        return self.workspace.project, self.workspace.environment

    def prepare(self, state: LoopState) -> None:
        """Find the target and what differs from it; refuse."""
        project, environment = self.git
        self.goal: Checkpoint = (
            rules.undone(state) if self.undo else rules.find(state, self.target or "")
        )
        try:
            place = git.repository(project, environment)
        except git.Unavailable as error:
            raise Refused(f"NO_CHECKPOINTS: {error.what}", error.todo) from None
        rules.check(state, self.goal, git.place_of(place))
        rules.check_conflict(git.under_way(place), [], self.force)
        trees.check_there(project, self.goal.tree, self.goal.number, environment)
        self.snapshot = checkpoints.snapshot(project, environment, [self.root])
        self.spare = rules.spared([*self.goal.left_out, *self.snapshot.left_out])
        plan = restoring.planned(
            project, self.snapshot.tree, self.goal.tree, environment, self.spare
        )
        self.rows = [(row.status, row.path) for row in plan.rows]
        self.left = sorted(f"{path} ({why})" for path, why in plan.left.items())
        rules.check_conflict(None, self._committed(), self.force)

    def _committed(self) -> list[str]:
        """Affected files that were committed since, with something else than it holds."""
        (project, environment), goal = self.git, self.goal
        now = git.head(project, environment)
        if now is None or now == goal.head:
            return []
        since = trees.committed(project, goal.head, now, environment)
        tree = trees.tree_of(project, now, environment)
        rows = trees.changed(project, goal.tree, tree, environment)
        other = {path for _, path in rows}
        return [path for _, path in self.rows if path in since and path in other]

    def save(self, state: LoopState) -> list[Change]:
        """Keep the present tree."""
        facts = {"lines": state.lines, "target": self.goal.number, "undo": self.undo}
        changes = kept(self.workspace, state, self.snapshot, BEFORE, **facts)
        self.saved = changes[0][1]["number"]
        return changes

    def restore(self, state: LoopState) -> list[Change]:
        """Put the target's tree back; gives the lines of the rollback."""
        self.saved = rules.brought_back(state, self.goal, self.saved, self.undo, bool(self.rows))
        project, environment = self.git
        done = restoring.restore(
            project, self.snapshot.tree, self.goal.tree, environment, self.spare
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
        lines += [f"  and {more} more"] if more > 0 else []
        end = f" ({restoring.IGNORED})"
        ignored = [path.removesuffix(end) for path in self.left if path.endswith(end)]
        others = [path for path in self.left if not path.endswith(end)]
        if ignored:
            lines.append(f"left as they are, since git ignores them: {rules.named(ignored)}")
        return lines + ([f"left as they are: {rules.named(others)}"] if others else [])

    def _name(self) -> str:
        return f"checkpoint {self.goal.number} ({self.goal.label})"

    def preview(self, again: list[str]) -> list[str]:
        """What a dry run prints."""
        head = f"a rollback to {self._name()} would change {prose.count(len(self.rows), 'file')}"
        return [head + (f" and reopen {rules.named(again)}" if again else ""), *self._files()]

    def told(self, again: list[str]) -> list[str]:
        """What a rollback prints."""
        count = prose.count(len(self.rows), "file")
        lines = [f"rolled back to {self._name()}: {count} restored", *self._files()]
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
        return lines

    def row(self, again: list[str]) -> dict:
        """The same as a record."""
        return {
            "checkpoint": self.goal.number,
            "files": [{"status": status, "path": path} for status, path in self.rows],
            "left": self.left,
            "saved": self.saved or None,
            "reopened": again,
        }
