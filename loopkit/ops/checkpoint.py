"""The working files are kept as they are now, and put back; what loopkit does of a recovery."""

from __future__ import annotations

import time
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any

from ..core.health import checkpoints as rules
from ..core.health import recovery
from ..core.journal import clock, prose
from ..core.journal.errors import LoopError, Refused, UsageFault
from ..core.journal.events import Change
from ..core.journal.parts import BEFORE, Checkpoint
from ..core.journal.state import LoopState
from ..engine import checkpoints
from ..store.loop import Loop
from .workspace import Result, Workspace

#: Checkpoints that a listing shows at most.
SHOWN = 30
#: Files that a rollback lists at most.
SHOWN_FILES = 25
#: Numbers that are tried where others are quicker.
_TRIES = 5
_NOTICE = "no_checkpoints"


def checkpoint(workspace: Workspace, label: str | None = None) -> Result:
    """Keep the working files: tracked and untracked ones, not ignored ones, not .loop."""
    words = rules.label_of(label)
    loop = workspace.own_loop()
    made = _take(workspace, loop, words, None)
    return Result(loop, _said(made), _row(loop, made))


def make(workspace: Workspace, loop: Loop, label: str | None = None) -> str:
    """Make the checkpoint that is due, or one with this label; a line to print, which tells of a
    failure too. Without git this is told once in a loop."""
    wanted = (label, None) if label else rules.due(loop.state)
    if wanted is None:
        return ""
    before = rules.parent(loop.state)
    try:
        return _said(_take(workspace, loop, *wanted), before)
    except checkpoints.Unavailable as error:
        if _NOTICE in loop.state.session.notices:
            return ""
        workspace.change(loop, lambda state: [("notice_given", {"name": _NOTICE})])
        return f"no checkpoints, and no rollback: {error.what}; {error.todo}"
    except LoopError as error:
        return f"no checkpoint was made: {error}"


def _take(workspace: Workspace, loop: Loop, label: str, wave: int | None) -> Checkpoint:
    """Take the tree, keep and record it. Raises Unavailable, GitFault, Late, Damaged."""
    lines = loop.state.lines
    newest = loop.state.checkpoints.rows[-1:]
    snapshot = checkpoints.snapshot(
        workspace.project,
        workspace.environment,
        [loop.root],
        newest[0].plain if newest else None,
    )

    def decide(state: LoopState) -> list[Change]:
        return kept(workspace, state, snapshot, label, lines=lines, wave=wave)

    number = workspace.change(loop, decide)[0][1]["number"]
    return loop.state.checkpoints.numbers[number]


def kept(
    workspace: Workspace,
    state: LoopState,
    snapshot: checkpoints.Snapshot,
    label: str,
    wave: int | None = None,
    **facts: Any,
) -> list[Change]:
    """Put a tree on the loop's next free ref; gives its event. Under the lock. A ref that is taken
    belongs to a checkpoint whose record was cut off, or to an older loop of this name."""
    project, environment = workspace.project, workspace.environment
    before, now = rules.parent(state), snapshot.place.head
    text = rules.message(label, rules.worked_on(state, wave))
    tree = checkpoints.placed(snapshot.place, snapshot.tree, environment)
    sha = checkpoints.commit(project, tree, before.sha if before else now, text, environment)
    number = rules.next_number(state)
    for _ in range(_TRIES):
        if checkpoints.keep(project, state.name, number, sha, environment):
            break
        number = max(number, checkpoints.highest(project, state.name, environment)) + 1
    else:
        raise checkpoints.GitFault(
            f"{checkpoints.REFS}{state.name}/{number} is taken again and again", "try once more"
        )
    return rules.made(
        state,
        number,
        sha=sha,
        tree=snapshot.tree,
        label=label,
        left_out=snapshot.left_out,
        head=now,
        place=checkpoints.place_of(snapshot.place),
        plain=snapshot.plain,
        wave=wave,
        **facts,
    )


def _said(made: Checkpoint, before: Checkpoint | None = None) -> str:
    line = f"checkpoint {made.number} ({made.label}) {made.sha[: rules.SHOWN_SHA]}"
    if made.left_out and (before is None or before.left_out != made.left_out):
        line += "; left out: " + rules.named(list(made.left_out))
    return line


def _row(loop: Loop, made: Checkpoint) -> dict:
    names = ("number", "sha", "label", "tasks", "parent", "wave", "left_out", "at")
    row = {name: getattr(made, name) for name in names}
    ref = f"{checkpoints.REFS}{loop.name}/{made.number}"
    return {**row, "ref": ref, "good": rules.is_good(loop.state, made)}


def listing(workspace: Workspace) -> Result:
    """The checkpoints there are."""
    loop = workspace.loop()
    state = loop.state
    on_line = {made.number for made in rules.ancestors(state)}
    rows, lines = [], []
    for made in state.checkpoints.rows:
        row = {**_row(loop, made), "on_line": made.number in on_line}
        row["here"] = made.number == state.checkpoints.head
        rows.append(row)
        kind = "good" if row["good"] else "saved" if made.label == BEFORE else "-"
        at = time.strftime("%d %b %H:%M", time.localtime(clock.epoch(made.at)))
        mark = "*" if row["here"] else " " if row["on_line"] else "~"
        sha, names = made.sha[: rules.SHOWN_SHA], rules.named(list(made.tasks))
        line = f"{mark} {made.number:>3}  {sha}  {at}  {kind:<5}  {made.label}"
        lines.append(f"{line}  {names}" if made.tasks else line)
    more = len(lines) - SHOWN
    if more > 0:
        lines = [f"{more} older ones: loopkit checkpoint --list --json", *lines[more:]]
    lines += [
        "good: nothing of its wave failed or is blocked by its review · saved: by a rollback, "
        "before it went back",
        "* the newest on the line, ~ beside it; go back: loopkit rollback <number>",
    ]
    none = "no checkpoints; the first is made when a wave is opened"
    return Result(loop, "\n".join(lines) if rows else none, {"checkpoints": rows}, [])


# -- going back


def rollback(
    workspace: Workspace,
    target: str | None = None,
    *,
    undo: bool = False,
    force: bool = False,
    why: str = "",
    dry_run: bool = False,
) -> Result:
    """Make the working files equal to a checkpoint's; the tree before is saved first. Index, HEAD
    and branch stay as they are, .loop and ignored files too. Tasks completed after the checkpoint
    are open again.
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
    settled = settle(workspace, loop)
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
            place = checkpoints.repository(project, environment)
        except checkpoints.Unavailable as error:
            raise Refused(f"NO_CHECKPOINTS: {error.what}", error.todo) from None
        rules.check(state, self.goal, checkpoints.place_of(place))
        rules.check_conflict(checkpoints.under_way(place), [], self.force)
        checkpoints.check_there(project, self.goal.tree, self.goal.number, environment)
        self.snapshot = checkpoints.snapshot(project, environment, [self.root])
        self.spare = rules.spared([*self.goal.left_out, *self.snapshot.left_out])
        plan = checkpoints.planned(
            project, self.snapshot.tree, self.goal.tree, environment, self.spare
        )
        self.rows = [(row.status, row.path) for row in plan.rows]
        self.left = sorted(f"{path} ({why})" for path, why in plan.left.items())
        rules.check_conflict(None, self._committed(), self.force)

    def _committed(self) -> list[str]:
        """Affected files that were committed since, with something else than it holds."""
        (project, environment), goal = self.git, self.goal
        now = checkpoints.head(project, environment)
        if now is None or now == goal.head:
            return []
        since = checkpoints.committed(project, goal.head, now, environment)
        tree = checkpoints.tree_of(project, now, environment)
        rows = checkpoints.changed(project, goal.tree, tree, environment)
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
        done = checkpoints.restore(
            project, self.snapshot.tree, self.goal.tree, environment, self.spare
        )
        written = set(done.paths)
        self.rows, self.left = [row for row in self.rows if row[1] in written], done.left
        return rules.rolled_back(state, self.goal, self.saved, done.paths, self.undo, self.why)

    # -- what is told

    def _files(self) -> list[str]:
        kinds = {"A": "back", "D": "gone"}
        shown = [(kinds.get(status, "changed"), path) for status, path in self.rows[:SHOWN_FILES]]
        lines = [f"  {kind}: {prose.clean(path, rules.LONGEST_NAME)}" for kind, path in shown]
        more = len(self.rows) - SHOWN_FILES
        lines += [f"  and {more} more"] if more > 0 else []
        end = f" ({checkpoints.IGNORED})"
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


# -- recovery

#: lines: what is said of it · question: that the person is asked now, or None · exit: 1 where
#: nobody can answer it · done: whether loopkit has recorded anything.
Settled = namedtuple("Settled", "lines question exit done")


def settle(workspace: Workspace, loop: Loop) -> Settled:
    """Do what loopkit does by itself of the recovery that is due: let a task wait for another, ask
    the person. Without a person the question stays (rule: Recovery)."""
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
