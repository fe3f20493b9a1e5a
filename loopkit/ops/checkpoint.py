"""The working files are kept as they are now, and put back; what loopkit does of a recovery."""

import time
from collections import namedtuple
from typing import Any, NamedTuple

from ..core.health import checkpoints as rules
from ..core.health import recovery
from ..core.journal import clock, prose
from ..core.journal.errors import LoopError, Refused, UsageFault
from ..core.journal.events import Change
from ..core.journal.parts import BEFORE, Checkpoint
from ..core.journal.state import LoopState
from ..engine import checkpoints, git, restoring, trees
from ..engine import listing as lists
from ..store.loop import Loop
from .workspace import Result, Workspace

#: Checkpoints that a listing shows at most.
SHOWN = 30
#: Files that a rollback lists at most.
SHOWN_FILES = 25
#: Numbers that are tried where others are quicker.
_TRIES = 5
_NOTICE, _MUCH = "no_checkpoints", "many_bytes"


def checkpoint(workspace: Workspace, label: str | None = None) -> Result:
    """Keep the working files: tracked and untracked ones, not ignored ones, not .loop."""
    words = rules.label_of(label)
    loop = workspace.own_loop()
    made = _take(workspace, loop, words, None)
    return Result(loop, _said(made) + _weight(workspace, loop), _row(loop, made))


def make(workspace: Workspace, loop: Loop, label: str | None = None) -> str:
    """Make the checkpoint that is due, or one with this label; a line to print, which tells of a
    failure too. Without git this is told once in a loop."""
    wanted = (label, None) if label else rules.due(loop.state)
    if wanted is None:
        return ""
    before = rules.parent(loop.state)
    try:
        return _said(_take(workspace, loop, *wanted), before) + _weight(workspace, loop)
    except git.Unavailable as error:
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
        return kept(workspace, state, snapshot, label, wave, line=lines)

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
    tree = trees.placed(snapshot.place, snapshot.tree, environment)
    sha = trees.commit(project, tree, before.sha if before else now, text, environment)
    number = rules.next_number(state)
    for _ in range(_TRIES):
        if checkpoints.keep(project, state.name, number, sha, environment):
            break
        number = max(number, checkpoints.highest(project, state.name, environment)) + 1
    else:
        raise git.GitFault(
            f"{checkpoints.REFS}{state.name}/{number} is taken again and again", "try once more"
        )
    facts |= {"number": number, "sha": sha, "tree": snapshot.tree, "label": label, "wave": wave}
    facts |= {"left_out": snapshot.left_out, "head": now, "plain": snapshot.plain}
    return rules.made(state, {**facts, "place": git.place_of(snapshot.place)})


def _said(made: Checkpoint, before: Checkpoint | None = None) -> str:
    line = f"checkpoint {made.number} ({made.label}) {made.sha[: rules.SHOWN_SHA]}"
    if made.left_out and (before is None or before.left_out != made.left_out):
        line += "; left out: " + rules.named(list(made.left_out))
    return line


def _weight(workspace: Workspace, loop: Loop) -> str:
    """A line on what checkpoints keep, once in a loop."""
    if _MUCH in loop.state.session.notices:
        return ""
    text = checkpoints.weight(workspace.project, loop.name, workspace.environment)
    if text:
        workspace.change(loop, lambda state: [("notice_given", {"name": _MUCH})])
    return text and f"\n{text}"


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
    lines += filter(None, [checkpoints.weight(workspace.project, loop.name, workspace.environment)])
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
        usage = "loopkit rollback start | last-good | '~2' | NUMBER | SHA | --undo"
        raise UsageFault("give a checkpoint, or --undo alone", usage)
    loop = workspace.own_loop()
    if dry_run:
        with loop.writing() as state:
            plan = _planned(workspace, loop.root, state, target, force)
        again = rules.reopened(loop.state, plan.goal)
        head = f"a rollback to {plan.name} would change {prose.count(len(plan.rows), 'file')}"
        head += f" and reopen {rules.named(again)}" if again else ""
        text = "\n".join([head, *_files(plan.rows, plan.left)])
        return Result(loop, text, _rollback_row(plan, plan.rows, plan.left, None, again), [])
    facts: dict = {}

    def decide(state: LoopState) -> list[Change]:
        plan = facts["plan"] = _planned(workspace, loop.root, state, target, force)
        about = {"line": state.lines, "target": plan.goal.number, "undo": undo}
        saving = kept(workspace, state, plan.snapshot, BEFORE, **about)
        loop.record(saving, workspace.by)
        saved = saving[0][1]["number"]
        facts["saved"] = rules.brought_back(loop.state, plan.goal, saved, undo, bool(plan.rows))
        facts["done"] = done = restoring.restore(
            *(workspace.project, plan.snapshot.tree, plan.goal.tree, workspace.environment),
            plan.spare,
            lists.kept_rights(loop.folder),
        )
        return rules.rolled_back(loop.state, plan.goal, facts["saved"], done.paths, undo, why)

    changes = workspace.change(loop, decide)
    plan, saved, done = facts["plan"], facts["saved"], facts["done"]
    again = [data["id"] for kind, data in changes if kind == "task_reopened"]
    rows = [row for row in plan.rows if row[1] in set(done.paths)]
    count = prose.count(len(rows), "file")
    lines = [f"rolled back to {plan.name}: {count} restored", *_files(rows, done.left)]
    if again:
        lines.append(f"open again: {rules.named(again)}")
    if undo:
        lines.append(
            "tasks that the rollback opened stay open: each is completed by its check, which runs "
            "anew"
        )
    lines.append(
        f"the files before are checkpoint {saved}; to have them back: loopkit rollback --undo"
    )
    # after a flip-flop the person decides which way is right
    settled = settle(workspace, loop)
    row = {**_rollback_row(plan, rows, done.left, saved, again), "question": settled.question}
    return Result(loop, "\n".join([*lines, *settled.lines]), row, code=settled.exit).going_on()


class _Plan(NamedTuple):
    """A rollback that can be done. rows: (status, path) of what differs · left: paths that stay as
    they are, with the reason · spare: paths that no checkpoint holds."""

    goal: Checkpoint
    snapshot: checkpoints.Snapshot
    spare: list[str]
    rows: list[tuple[str, str]]
    left: list[str]

    @property
    def name(self) -> str:
        return f"checkpoint {self.goal.number} ({self.goal.label})"


def _planned(
    workspace: Workspace, root: str, state: LoopState, target: str | None, force: bool
) -> _Plan:
    """Find the target (None: what the newest rollback saved) and what differs from it; refuse. The
    caller holds the lock."""
    project, environment = workspace.project, workspace.environment
    goal = rules.find(state, target) if target else rules.undone(state)
    try:
        place = git.repository(project, environment)
    except git.Unavailable as error:
        raise Refused(f"NO_CHECKPOINTS: {error.what}", error.todo) from None
    rules.check(state, goal, git.place_of(place))
    rules.check_conflict(git.under_way(place), [], force)
    trees.check_there(project, goal.tree, goal.number, environment)
    snapshot = checkpoints.snapshot(project, environment, [root])
    spare = rules.spared([*goal.left_out, *snapshot.left_out])
    plan = restoring.planned(project, snapshot.tree, goal.tree, environment, spare)
    rows = [(row.status, row.path) for row in plan.rows]
    committed = _committed(workspace, goal)
    rules.check_conflict(None, [path for _, path in rows if path in committed], force)
    left = sorted(f"{path} ({why})" for path, why in plan.left.items())
    return _Plan(goal, snapshot, spare, rows, left)


def _committed(workspace: Workspace, goal: Checkpoint) -> set[str]:
    """Files that were committed after a checkpoint, with something else than it holds."""
    project, environment = workspace.project, workspace.environment
    now = git.head(project, environment)
    if now is None or now == goal.head:
        return set()
    since = trees.committed(project, goal.head, now, environment)
    tree = trees.tree_of(project, now, environment)
    rows = trees.changed(project, goal.tree, tree, environment)
    return {path for _, path in rows if path in since}


def _files(rows: list[tuple[str, str]], left: list[str]) -> list[str]:
    kinds = {"A": "back", "D": "gone"}
    lines = [
        f"  {kinds.get(status, 'changed')}: {prose.clean(path, rules.LONGEST_NAME)}"
        for status, path in rows[:SHOWN_FILES]
    ]
    more = len(rows) - SHOWN_FILES
    lines += [f"  and {more} more"] if more > 0 else []
    end = f" ({restoring.IGNORED})"
    ignored = [path.removesuffix(end) for path in left if path.endswith(end)]
    others = [path for path in left if not path.endswith(end)]
    if ignored:
        lines.append(f"left as they are, since git ignores them: {rules.named(ignored)}")
    return lines + ([f"left as they are: {rules.named(others)}"] if others else [])


def _rollback_row(
    plan: _Plan, rows: list[tuple[str, str]], left: list[str], saved: int | None, again: list[str]
) -> dict:
    return {
        "checkpoint": plan.goal.number,
        "files": [{"status": status, "path": path} for status, path in rows],
        "left": left,
        "saved": saved or None,
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
