"""loopkit worktree: the git worktrees of tasks; made by wave next --worktrees, brought together by
wave merge."""

from __future__ import annotations

import contextlib
import os
from collections import namedtuple

import click

from ..core.health.checkpoints import spared
from ..core.journal import clock, prose, stage
from ..core.journal import worktrees as rules
from ..core.journal.errors import LoopError, Refused, UsageFault
from ..core.journal.events import Change
from ..core.journal.state import LoopState
from ..core.plan import outline, work
from ..core.steps import waves
from ..engine import checkpoints
from ..engine import worktrees as engine
from ..ops import workspace
from ..store import loops, place, trust
from ..store.loop import Loop
from . import app

#: One that lies in a project. loop: its loop's name · folder: that loop's · state: as its journal
#: says · task · path: whole · row: what was noted of it, or None.
Found = namedtuple("Found", "loop folder state task path row")


@click.group("worktree", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Worktrees of tasks: which there are, and removing those that hold nothing of their own.

    Example: loopkit worktree list
    """


# -- opening a wave


def opener(call: app.App, loop: Loop, sequential: bool, apart: bool) -> list[Change]:
    """`wave next`, with a worktree for each task that a wave in worktrees starts. All of them, or
    nothing is recorded."""

    def decide(state: LoopState) -> list[Change]:
        if apart and state.wave is None:
            rules.check_policy(state)
        changes = waves.next_wave(state, sequential, apart)
        opening = any(kind == "wave_opened" for kind, _ in changes)
        started = [data["id"] for kind, data in changes if kind == "task_started"]
        if not started or not (apart if opening else rules.used(state)):
            return changes
        return [
            *changes,
            *_made(call, loop, [one for one in started if not _usable(loop, state, one)]),
        ]

    return call.change(loop, decide)


def place_of(call: app.App, loop: Loop, row: rules.Row) -> str:
    """The project's folder in a task's worktree."""
    path = os.path.join(loop.folder, row.path)
    top = place.work_tree(call.project, call.environment)
    return os.path.normpath(os.path.join(path, os.path.relpath(call.project, top))) if top else path


def _usable(loop: Loop, state: LoopState, task: str) -> bool:
    """Whether a task that is started again has its worktree still."""
    row = state.worktrees.of(task)
    return row is not None and os.path.isdir(os.path.join(loop.folder, row.path))


def _made(call: app.App, loop: Loop, tasks: list[str]) -> list[Change]:
    if not tasks:
        return []
    project, environment = call.project, call.environment
    begin = engine.start(
        project, environment, loop.root, f"{loop.name}: where {', '.join(tasks)} begin"
    )
    changes: list[Change] = []
    made: list[engine.Made] = []
    try:
        for task in tasks:
            one = engine.make(
                project, loop.folder, task, begin, made[0].tree if made else "", environment
            )
            made.append(one)
            left = {"left_out": list(begin.left_out)} if begin.left_out and len(made) == 1 else {}
            changes.append(("worktree_made", {"task": task, **one._asdict(), **left}))
    except LoopError:
        for one in made:
            path = os.path.join(loop.folder, one.path)
            with contextlib.suppress(LoopError):
                engine.remove(
                    project, path, _standing(call, path, one.base, (one.tree,)), environment
                )
        raise
    return changes


def note(call: app.App, loop: Loop, changes: list[Change]) -> str:
    """What a person and an agent should know of worktrees that were just made; "" where none
    was."""
    rows = [data for kind, data in changes if kind == "worktree_made"]
    if not rows:
        return ""
    base = rows[0]["base"]
    clean = base == checkpoints.head(call.project, call.environment)
    lines = [
        f"worktrees begin at {base[:12]}" + ("" if clean else ", the working files as they are now")
    ]
    if rows[0].get("left_out"):
        lines.append(f"not in them: {rules.named(rows[0]['left_out'])}")
    mine = {os.path.join(loop.folder, row["path"]) for row in rows}
    others = [one for one in found(call, [loop.name]) if one.path not in mine]
    if others:
        lines += ["left by earlier attempts:", *[f"  {one}" for one in lines_of(call, others)]]
    return "\n".join(lines)


# -- bringing together


def merge(call: app.App, task_id: str | None, base: str | None) -> int:
    """Bring a task's result into the project's own tree; its check runs there next."""
    loop = call.own_loop()
    stage.running(loop.state)
    if task_id is None:
        waiting = rules.unmerged(loop.state)
        if not waiting or rules.unchecked(loop.state):
            text = (
                "nothing to merge"
                if not waiting
                else f"{', '.join(waiting)} to be merged, after this check"
            )
            call.answer(loop, text, {"merged": None}, following(loop.state) or None)
            return 0
        task_id = waiting[0]
    facts: dict = {}

    def decide(state: LoopState) -> list[Change]:
        return _merged(call, loop, state, task_id, base, facts)

    changes = call.change(loop, decide)
    data = dict(changes[0][1])
    task = work.find(loop.state, task_id)
    if changes[0][0] == "worktree_merged":
        files = data["files"]
        text = f"{task.id} merged: {prose.count(len(files), 'file')}"
        text += f" ({rules.named(files)})" if files else ""
        text += f"\nnot merged: {rules.named(facts['left_out'])}" if facts["left_out"] else ""
        row = {"merged": task.id, "files": files, "left_out": facts["left_out"]}
        call.answer(loop, text, row, [f"loopkit verify {task.id} -- {task.verify}"])
        return 0
    text = f"{task.id} is not merged: {data['error']}"
    text += (
        f"\n{task.id} failed, attempt {task.attempts}: {data['action']}; its work stays in "
        f"{facts['path']}"
    )
    call.answer(
        loop,
        text,
        {"merged": None, "task": task.id, "action": data["action"]},
        following(loop.state) or None,
    )
    return 1


def following(state: LoopState) -> list[str]:
    """The steps that bring the rest of an open wave in worktrees together, or close it."""
    if not rules.used(state):
        return []
    return [
        rules.command(state) or ("loopkit wave next" if state.interrupted else "loopkit wave close")
    ]


def _merged(
    call: app.App, loop: Loop, state: LoopState, task_id: str, base: str | None, facts: dict
) -> list[Change]:
    """The decision under the lock, so that one merge comes after the other."""
    project, environment = call.project, call.environment
    task = work.find(state, task_id)
    row = rules.check_merge(state, task)
    path = os.path.join(loop.folder, row.path)
    facts["path"] = os.path.relpath(path, os.path.dirname(loop.root))
    try:
        there = engine.is_one(project, path, environment)
    except checkpoints.Unavailable as error:
        what = f"{error.what}, so nothing can be merged from {facts['path']}"
        raise Refused(
            what,
            f"copy what {task.id} made there into the project, then: loopkit task fail {task.id}",
        ) from None
    if not there:
        raise Refused(
            f"the worktree of {task.id} is gone: {path}",
            f"give the attempt up: loopkit task fail {task.id}",
        )
    for tree in (project, path):
        engine.check_calm(tree, environment)
    began = engine.began(path, row.base, environment)
    if base is not None:
        began = engine.commit_of(project, base, environment) if began == row.base else began
    if began != row.base:
        return work.astray(state, task, row.base, began)
    touched = engine.touched(path, row.base, environment)
    if touched:
        raise Refused(
            f"{task.id} touches .loop/, where only loopkit writes: {rules.named(touched)}",
            f"have that undone in {facts['path']}, then verify and merge again",
        )
    theirs = checkpoints.snapshot(engine.same(project, path, environment), environment)
    facts["left_out"] = [one for one in theirs.left_out if not one.endswith("(a submodule)")]
    facts["left_out"] += [
        f"{name} (outside the project)"
        for name in engine.outside(project, path, row.base, environment)
    ]
    ours = checkpoints.snapshot(project, environment, [loop.root])
    result = checkpoints.merged(project, row.tree, ours.tree, theirs.tree, environment)
    if result.conflicts:
        return work.conflict(state, task, result.conflicts)
    spare = spared(ours.left_out)
    done = checkpoints.restore(project, ours.tree, result.tree, environment, spare)
    if done.left:
        checkpoints.restore(project, result.tree, ours.tree, environment, spare)
        ignored = any(one.endswith(f"({checkpoints.IGNORED})") for one in done.left)
        way = (
            f"take what git ignores here out of {facts['path']}, or stop ignoring it"
            if ignored
            else "clear the way"
        )
        raise Refused(
            f"{task.id} cannot be merged now: {rules.named(done.left)}",
            f"nothing was changed; {way}, then: loopkit wave merge {task.id}",
        )
    return rules.merged(row, done.paths, theirs.tree)


# -- what lies there


def found(call: app.App, names: list[str] | None = None) -> list[Found]:
    """The worktrees of these loops, of all of the project's by default, those that were put away
    included."""
    root = str(call.root)
    rows = []
    where = [(name, os.path.join(root, name)) for name in names or loops.names(root)]
    archive = os.path.join(root, "archive")
    if names is None and os.path.isdir(archive):
        where += [(name, os.path.join(archive, name)) for name in loops.names(archive)]
    for name, folder in where:
        lying = engine.lying(folder)
        if not lying:
            continue
        state, _ = loops.fold(os.path.dirname(folder), name)
        if not trust.known(os.path.dirname(folder), name, state.session.token):
            continue
        for path in lying:
            row = state.worktrees.rows.get(path)
            task = row.task if row else "-".join(os.path.basename(path).split("-")[:2])
            rows.append(Found(name, folder, state, task, os.path.join(folder, path), row))
    return rows


def _standing(call: app.App, path: str, base: str, known: tuple) -> engine.Standing:
    return engine.standing(call.project, path, base, known, call.environment)


def _look(call: app.App, one: Found) -> engine.Standing:
    row = one.row
    known = tuple(tree for tree in (row.tree, row.merged) if tree) if row else ()
    return _standing(call, one.path, row.base if row else "", known)


def _word(one: Found, how: engine.Standing) -> str:
    if not how.there:
        return "no worktree any more" + (", files left" if how.changed else "")
    if how.changed:
        return f"changed ({prose.count(len(how.changed), 'path')})"
    return "merged, clean" if one.row and one.row.merged else "clean"


def lines_of(call: app.App, rows: list[Found]) -> list[str]:
    """`T-001 loopkit/001-limiter/T-001 changed (2 paths) .loop/…`, a line each."""
    lines = []
    for one in rows:
        how = _look(call, one)
        path = os.path.relpath(one.path, os.path.dirname(str(call.root)))
        lines.append(f"{one.task} {how.branch or '(no branch)'} {_word(one, how)} {path}")
    return lines


def left(call: app.App, loop: Loop) -> list[str]:
    """What a loop that is gone on with should say of its worktrees; nothing where it has none."""
    try:
        rows = found(call, [loop.name])
        if not rows:
            return []
        return [
            "worktrees:",
            *[f"  {one}" for one in lines_of(call, rows)],
            "clean ones go with: loopkit worktree remove --clean",
        ]
    except (LoopError, OSError) as error:
        return [f"worktrees cannot be looked at: {error}"]


@app.command("list", "loopkit worktree list")
def list_(call: app.App) -> None:
    """Worktrees of this project's loops, each with task, branch, and whether it holds something
    that is not merged."""
    loop = call.loop()
    rows = found(call)
    if call.as_json:
        table = []
        for one in rows:
            how = _look(call, one)
            row = {"loop": one.loop, "task": one.task, "branch": how.branch, "path": one.path}
            table.append(
                {**row, "state": "changed" if how.changed else "clean", "changed": how.changed}
            )
        call.answer(loop, "", {"worktrees": table}, [])
        return
    call.answer(loop, "\n".join(lines_of(call, rows)) or "no worktrees", None, [])


@app.command("remove", "loopkit worktree remove --clean")
@click.argument("names", nargs=-1, metavar="[TASK|PATH]...")
@click.option(
    "--clean", is_flag=True, help="All that hold nothing of their own and that nobody works in."
)
def remove(call: app.App, names: tuple, clean: bool) -> int:
    """Remove worktrees that hold nothing that is not merged. Nothing is forced: the others are kept
    and named, exit 1."""
    if bool(names) == clean:
        raise UsageFault("name worktrees, or --clean", "loopkit worktree remove --clean")
    loop = call.loop()
    if not loop.ours:
        raise workspace.not_ours()
    with loop.writing():  # nobody opens a wave or merges meanwhile
        rows = found(call)
        if names:
            rows = _named(call, rows, names)
        said, kept = _remove(call, rows, clean)
    call.answer(loop, "\n".join(said) or "no worktrees", {"kept": kept}, [])
    return 1 if kept else 0


def _named(call: app.App, rows: list[Found], names: tuple) -> list[Found]:
    chosen = []
    for name in names:
        path = os.path.realpath(os.path.join(call.folder, name))
        word = name.upper()
        hits = [one for one in rows if os.path.realpath(one.path) == path]
        hits = hits or [
            one for one in rows if word in (one.task, os.path.basename(one.path).upper())
        ]
        hits = hits or [one for one in rows if outline.named(one.state, name) == one.task]
        if not hits:
            raise Refused(f"{name[:100]} is no worktree of a task", "see loopkit worktree list")
        chosen += [one for one in hits if one not in chosen]
    for one in chosen:
        if _in_use(one):
            raise Refused(
                _whose(call, one),
                "wait for it, or end the attempt first: loopkit task fail " + one.task,
            )
    return chosen


def _in_use(one: Found) -> bool:
    session = one.state.session
    path = os.path.relpath(one.path, one.folder)
    return rules.in_use(one.state, path, _age(one), place.alive(session.owner_pid))


def _age(one: Found) -> float:
    return max(0.0, app.now() - clock.epoch(one.state.session.last_updated))


def _whose(call: app.App, one: Found) -> str:
    owner = one.state.session.owner
    whose = "this session" if owner == call.session else f"session {owner}"
    return (
        f"{one.task} is worked on in {one.path} by {whose}, last heard of "
        f"{clock.human(_age(one))} ago"
    )


def _remove(call: app.App, rows: list[Found], clean: bool) -> tuple[list[str], list[str]]:
    """(lines, paths that were kept though they were asked for)."""
    said, kept = [], []
    for one in rows:
        path = os.path.relpath(one.path, os.path.dirname(str(call.root)))
        if clean and _in_use(one):
            said.append(f"in use: {_whose(call, one)}")
            continue
        how = _look(call, one)
        if how.changed:
            kept.append(path)
            said.append(f"kept {path}: not merged: {rules.named(how.changed)}")
            continue
        try:
            engine.remove(call.project, one.path, how, call.environment)
        except checkpoints.GitFault as error:  # git keeps it: locked, for one
            kept.append(path)
            said.append(f"kept {path}: {error.what}")
            continue
        said.append(f"removed {path}")
        _record(call, one)
    return said, kept


def _record(call: app.App, one: Found) -> None:
    """Note it in the loop's journal, where that is one of those that are not put away. The caller
    holds the lock."""
    if one.row is not None and os.path.dirname(one.folder) == call.root:
        owner = Loop(str(call.root), one.loop)
        before = loops.read_snapshot(str(call.root))
        owner.record([("worktree_removed", {"task": one.task, "path": one.row.path})], call.by)
        if before is not None and before["loop"] != one.loop:  # the active loop stays what it is
            Loop(str(call.root), before["loop"]).write_snapshot()


def tidy(call: app.App, loop: Loop) -> str:
    """After a wave: its worktrees that were merged and hold nothing else go; a line that says what
    stays."""
    if not loop.state.worktrees.rows:
        return ""
    try:
        with loop.writing():
            rows = found(call, [loop.name])
            merged = [one for one in rows if one.row is not None and one.row.merged]
            _remove(call, merged, clean=True)
        loop.refresh()
        stay = found(call, [loop.name])
        return (
            "\n".join(["worktrees that stay:", *[f"  {one}" for one in lines_of(call, stay)]])
            if stay
            else ""
        )
    except (LoopError, OSError) as error:
        return f"worktrees were not tidied: {error}"


def check_purge(call: app.App, name: str) -> None:
    """Before a loop is deleted: its clean worktrees go; Refused where another holds something that
    is not merged.

    The caller holds the lock.
    """
    folder = os.path.join(str(call.root), name)
    if not engine.lying(folder):
        return
    try:
        _remove(call, found(call, [name]), clean=False)
    except OSError:  # its journal cannot be read: what lies there stays
        pass
    stay = engine.lying(folder)
    if stay:
        raise Refused(
            f"worktrees of {name} hold work that is not merged: {rules.named(stay)}",
            "see loopkit worktree list; without --purge they are archived with it",
        )


def moved(call: app.App, folder: str) -> None:
    """A loop's folder lies elsewhere now; its worktrees are still good there."""
    paths = [os.path.join(folder, one) for one in engine.lying(folder)]
    with contextlib.suppress(LoopError):
        engine.moved(call.project, paths, call.environment)


command.add_command(list_)
command.add_command(remove)
