"""The git worktrees of tasks: made when a wave opens, brought together, listed, removed."""

import contextlib
import os
import time
from collections import namedtuple

from ..core.evidence import command
from ..core.health.checkpoints import spared
from ..core.journal import clock, prose, stage
from ..core.journal.errors import LoopError, Refused
from ..core.journal.events import Change
from ..core.journal.parts import Row
from ..core.journal.state import LoopState
from ..core.plan import outline, work
from ..core.steps import attempts, waves
from ..engine import checkpoints, git, restoring, trees
from ..engine import worktrees as engine
from ..store import loops, place, trust
from ..store.loop import Loop
from .workspace import Result, Workspace

#: A worktree on disk. loop: its loop's name · folder: that loop's · state: as its journal says ·
#: task · path: absolute · row: what was noted of it, or None.
Worktree = namedtuple("Worktree", "loop folder state task path row")


# -- opening a wave


def opener(workspace: Workspace, loop: Loop, sequential: bool, apart: bool) -> list[Change]:
    """`wave next`, with worktrees where wanted. All of them, or nothing is recorded."""

    def decide(state: LoopState) -> list[Change]:
        changes = waves.next_wave(state, sequential, apart)
        opening = any(kind == "wave_opened" for kind, _ in changes)
        if not (apart if opening else work.in_worktrees(state)):
            return changes
        started = [data["id"] for kind, data in changes if kind == "task_started"]
        rows = {task: state.worktrees.of(task) for task in started}
        lacking = [  # one that is started again may have its worktree still
            task
            for task, row in rows.items()
            if row is None or not os.path.isdir(os.path.join(loop.folder, row.path))
        ]
        return [*changes, *(_made(workspace, loop, lacking) if lacking else [])]

    return workspace.change(loop, decide)


def place_of(workspace: Workspace, loop: Loop, row: Row) -> str:
    """The project's folder in a task's worktree. Raises Refused where it is gone."""
    path, project = os.path.join(loop.folder, row.path), workspace.project
    top = place.work_tree(project, workspace.environment)
    if top:
        path = os.path.normpath(os.path.join(path, os.path.relpath(project, top)))
    if not os.path.isdir(path):
        raise _gone(row.task, path)
    return path


def _gone(task: str, path: str) -> Refused:
    give_up = f"give the attempt up: loopkit task fail {task}"
    return Refused(f"the worktree of {task} is gone: {path}", give_up)


def _made(workspace: Workspace, loop: Loop, tasks: list[str]) -> list[Change]:
    project, environment = workspace.project, workspace.environment
    message = f"{loop.name}: where {', '.join(tasks)} begin"
    begin = engine.start(project, environment, loop.root, message)
    made: list[engine.Made] = []
    try:
        for task in tasks:
            tree = made[0].tree if made else ""
            made.append(engine.make(project, loop.folder, task, begin, tree, environment))
            _check_program(workspace, loop, task, made[-1].path)
    except LoopError:
        for row in made:
            path = os.path.join(loop.folder, row.path)
            with contextlib.suppress(LoopError):
                standing = engine.standing(project, path, row.base, (row.tree,), environment)
                engine.remove(project, path, standing, row.branch, environment)
        raise
    changes: list[Change] = [
        ("worktree_made", {"task": task, **row._asdict()})
        for task, row in zip(tasks, made, strict=True)
    ]
    if begin.left_out:
        changes[0][1]["left_out"] = list(begin.left_out)
    return changes


def _check_program(workspace: Workspace, loop: Loop, task: str, path: str) -> None:
    """Raises Refused where the program of a task's check lies in the project, not in its
    worktree."""
    line = loop.state.tasks[task].verify
    program = command.unwrapped(command.split(line))[0] if line else ""
    if "/" not in program or os.path.isabs(program):
        return
    tree = place_of(workspace, loop, Row(task, path, "", "", "", False, False, False))
    folders = [workspace.work_folder(loop.state, base) for base in (workspace.project, tree)]
    known, there = (os.path.exists(os.path.join(folder, program)) for folder in folders)
    if known and not there:
        what = f"the check of {task} cannot start in a worktree: git ignores {program}"
        raise Refused(what, "loopkit wave next, without --worktrees; or give it another check")


def note(workspace: Workspace, loop: Loop, changes: list[Change]) -> str:
    """What is to be known of worktrees that were just made; "" where none was."""
    rows = [data for kind, data in changes if kind == "worktree_made"]
    if not rows:
        return ""
    base, left_out = rows[0]["base"], rows[0].get("left_out")
    clean = base == git.head(workspace.project, workspace.environment)
    begin = "" if clean else ", the working files as they are now"
    lines = [f"worktrees begin at {base[:12]}{begin}"]
    if left_out:
        lines.append(f"not in them: {work.named_paths(left_out)}")
    new = {os.path.join(loop.folder, row["path"]) for row in rows}
    earlier = [tree for tree in _find(workspace, loop.name) if tree.path not in new]
    return "\n".join([*lines, *_listed(workspace, earlier, "left by earlier attempts:")])


# -- bringing together


def merge(workspace: Workspace, task_id: str | None = None, base: str | None = None) -> Result:
    """Bring the result of a task that worked in a worktree into the project's own tree, one after
    the other.

    Its check has passed in the worktree; it runs again in the project's own tree before the task
    counts as completed.
    """
    loop = workspace.own_loop()
    stage.running(loop.state)
    if task_id is None:
        waiting = work.unmerged(loop.state)
        if not waiting or work.unchecked(loop.state):
            text = "nothing to merge"
            if waiting:
                text = f"{', '.join(waiting)} to be merged, after this check"
            return Result(loop, text, {"merged": None}, following(loop.state) or None)
        task_id = waiting[0]
    facts: dict = {}

    def decide(state: LoopState) -> list[Change]:
        return _merged(workspace, loop, state, task_id, base, facts)

    kind, data = workspace.change(loop, decide)[0]
    task = work.find(loop.state, task_id)
    if kind == "worktree_merged":
        files, left_out = data["files"], facts["left_out"]
        text = f"{task.id} merged: {prose.count(len(files), 'file')}"
        text += f" ({work.named_paths(files)})" if files else ""
        text += f"\nnot merged: {work.named_paths(left_out)}" if left_out else ""
        row = {"merged": task.id, "files": files, "left_out": left_out}
        return Result(loop, text, row, [f"loopkit verify {task.id} -- {task.verify}"])
    text = (
        f"{task.id} is not merged: {data['error']}\n{task.id} failed, attempt {task.attempts}: "
        f"{data['action']}; its work stays in {facts['path']}"
    )
    row = {"merged": None, "task": task.id, "action": data["action"]}
    return Result(loop, text, row, following(loop.state) or None, 1)


def following(state: LoopState) -> list[str]:
    """The steps that bring the rest of an open wave in worktrees together, or close it."""
    if not work.in_worktrees(state):
        return []
    wave = "loopkit wave next" if state.interrupted else "loopkit wave close"
    return [work.merge_command(state) or wave]


def _merged(
    workspace: Workspace, loop: Loop, state: LoopState, task_id: str, base: str | None, facts: dict
) -> list[Change]:
    """Under the lock: one merge comes after the other. facts: gets `path` and `left_out`."""
    project, environment = workspace.project, workspace.environment
    task = work.find(state, task_id)
    row = work.check_merge(state, task)
    path = os.path.join(loop.folder, row.path)
    shown = facts["path"] = os.path.relpath(path, os.path.dirname(loop.root))
    _check_trees(workspace, task.id, path, shown)
    began = engine.began(path, row.base, environment)
    if base is not None and began == row.base:
        began = engine.commit_of(project, base, environment)
    if began != row.base:
        return attempts.astray(state, task, row.base, began)
    touched = engine.touched(path, row.base, environment)
    if touched:
        what = f"{task.id} touches .loop/, where only loopkit writes: {work.named_paths(touched)}"
        raise Refused(what, f"have that undone in {shown}, then verify and merge again")
    theirs = checkpoints.snapshot(engine.same(project, path, environment), environment)
    outside = engine.outside(project, path, row.base, environment)
    facts["left_out"] = [name for name in theirs.left_out if not name.endswith("(a submodule)")]
    facts["left_out"] += [f"{name} (outside the project)" for name in outside]
    ours = checkpoints.snapshot(project, environment, [loop.root])
    result = trees.merged(project, row.tree, ours.tree, theirs.tree, environment)
    if result.conflicts:
        return attempts.conflict(state, task, result.conflicts)
    spare = spared(ours.left_out)
    done = restoring.restore(project, ours.tree, result.tree, environment, spare)
    if done.left:
        restoring.restore(project, result.tree, ours.tree, environment, spare)
        way = "clear the way"
        if any(name.endswith(f"({restoring.IGNORED})") for name in done.left):
            way = f"take what git ignores here out of {shown}, or stop ignoring it"
        what = f"{task.id} cannot be merged now: {work.named_paths(done.left)}"
        raise Refused(what, f"nothing was changed; {way}, then: loopkit wave merge {task.id}")
    return work.merged(row, done.paths, theirs.tree)


def _check_trees(workspace: Workspace, task: str, path: str, shown: str) -> None:
    """Raises Refused where a worktree is gone, or git is in the middle of something."""
    project, environment = workspace.project, workspace.environment
    try:
        known = engine.is_one(project, path, environment)
    except git.Unavailable as error:
        todo = f"copy what {task} made there into the project, then: loopkit task fail {task}"
        raise Refused(f"{error.what}, so nothing can be merged from {shown}", todo) from None
    if not known:
        raise _gone(task, path)
    for tree in (project, path):
        engine.check_calm(tree, environment)


# -- which there are


def _find(workspace: Workspace, loop: str = "") -> list[Worktree]:
    """Worktrees of a loop, by default of all of the project's, archived ones too; also those that
    have left nothing but a branch of ours."""
    root = str(workspace.root)
    archive = os.path.join(root, "archive")
    folders = [(root, name) for name in ([loop] if loop else loops.names(root))]
    if not loop and os.path.isdir(archive):
        folders += [(archive, name) for name in loops.names(archive)]
    trees, branches = [], engine.branches(workspace.project, workspace.environment)
    for above, name in folders:
        folder = os.path.join(above, name)
        paths = engine.lying(folder)
        if not paths and not any(one.startswith(f"{engine.BRANCHES}{name}/") for one in branches):
            continue
        state, _ = loops.fold(above, name)
        if not trust.known(above, name, state.session.token):
            continue
        rows = state.worktrees.rows.values()
        gone = [row.path for row in rows if row.path not in paths and row.branch in branches]
        for path in paths + gone:
            row = state.worktrees.rows.get(path)
            task = row.task if row else "-".join(os.path.basename(path).split("-")[:2])
            trees.append(Worktree(name, folder, state, task, os.path.join(folder, path), row))
    return trees


def _look(workspace: Workspace, tree: Worktree) -> engine.Standing:
    row = tree.row
    known = tuple(sha for sha in (row.tree, row.merged) if sha) if row else ()
    base = row.base if row else ""
    return engine.standing(workspace.project, tree.path, base, known, workspace.environment)


def _line(workspace: Workspace, tree: Worktree, standing: engine.Standing) -> str:
    """`T-001 loopkit/001-limiter/T-001 changed (2 paths) .loop/…`"""
    changed, branch = standing.changed, standing.branch
    if not standing.there:
        branch = branch or (tree.row.branch if tree.row else "")
        word = "no worktree any more" + (", files left" if changed else "")
    elif changed:
        word = f"changed ({prose.count(len(changed), 'path')})"
    else:
        word = "merged, clean" if tree.row and tree.row.merged else "clean"
    return f"{tree.task} {branch or '(no branch)'} {word} {_shown(workspace, tree)}"


def _shown(workspace: Workspace, tree: Worktree) -> str:
    return os.path.relpath(tree.path, os.path.dirname(str(workspace.root)))


def _listed(workspace: Workspace, trees: list[Worktree], head: str, end: str = "") -> list[str]:
    """These under a head; nothing where there are none."""
    rows = [f"  {_line(workspace, tree, _look(workspace, tree))}" for tree in trees]
    return [head, *rows, *([end] if end else [])] if rows else []


def left(workspace: Workspace, loop: Loop) -> list[str]:
    """What a loop that is gone on with should say of its worktrees; nothing where it has none."""
    end = "clean ones go with: loopkit worktree remove --clean"
    try:
        return _listed(workspace, _find(workspace, loop.name), "worktrees:", end)
    except (LoopError, OSError) as error:
        return [f"worktrees cannot be looked at: {error}"]


def listing(workspace: Workspace) -> Result:
    """Worktrees of this project's loops, each with task, branch, and whether it holds something
    that is not merged."""
    loop = workspace.loop()
    lines, rows = [], []
    for tree in _find(workspace):
        standing = _look(workspace, tree)
        row = {"loop": tree.loop, "task": tree.task, "branch": standing.branch, "path": tree.path}
        word = "changed" if standing.changed else "clean"
        rows.append({**row, "state": word, "changed": standing.changed})
        lines.append(_line(workspace, tree, standing))
    return Result(loop, "\n".join(lines) or "no worktrees", {"worktrees": rows}, [])


# -- removing


def remove(workspace: Workspace, names: list[str]) -> Result:
    """Remove those that hold nothing unmerged; without names, that nobody works in."""
    loop = workspace.our_loop()
    with loop.writing():  # nobody opens a wave or merges meanwhile
        trees = _find(workspace)
        if names:
            trees = _named(workspace, trees, names)
        lines, kept = _remove(workspace, trees, clean=not names)
    return Result(loop, "\n".join(lines) or "no worktrees", {"kept": kept}, [], int(bool(kept)))


def _named(workspace: Workspace, trees: list[Worktree], names: list[str]) -> list[Worktree]:
    """Those that a path, folder or task names. Raises Refused: none, or somebody works in it."""
    chosen = []
    for name in names:
        path, word = os.path.realpath(os.path.join(workspace.folder, name)), name.upper()
        hits = (
            [tree for tree in trees if os.path.realpath(tree.path) == path]
            or [tree for tree in trees if word in (tree.task, os.path.basename(tree.path).upper())]
            or [tree for tree in trees if outline.named(tree.state, name) == tree.task]
        )
        if not hits:
            raise Refused(f"{name[:100]} is no worktree of a task", "see loopkit worktree list")
        chosen += [tree for tree in hits if tree not in chosen]
    for tree in chosen:
        user = _user(workspace, tree)
        if user:
            way = f"wait for it, or end the attempt first: loopkit task fail {tree.task}"
            raise Refused(user, way)
    return chosen


def _user(workspace: Workspace, tree: Worktree) -> str:
    """Who works in a worktree, in words; "" where nobody does."""
    session, path = tree.state.session, os.path.relpath(tree.path, tree.folder)
    age = max(0.0, time.time() - clock.epoch(session.last_updated))
    if not work.worktree_in_use(tree.state, path, age, place.alive(session.owner_pid)):
        return ""
    whose = workspace.whose(session.owner)
    return (
        f"{tree.task} is worked on in {tree.path} by {whose}, last heard of {clock.human(age)} ago"
    )


def _remove(
    workspace: Workspace, trees: list[Worktree], clean: bool
) -> tuple[list[str], list[str]]:
    """(lines, paths that were kept though they were asked for). clean: leave those in use."""
    lines, kept = [], []
    for tree in trees:
        path = _shown(workspace, tree)
        user = _user(workspace, tree) if clean else ""
        if user:
            lines.append(f"in use: {user}")
            continue
        standing = _look(workspace, tree)
        why = f"not merged: {work.named_paths(standing.changed)}" if standing.changed else ""
        made = tree.row.branch if tree.row else ""
        try:
            if not why:
                where = workspace.project, tree.path
                stays = engine.remove(*where, standing, made, workspace.environment)
                why = stays and f"its branch {stays} has commits that nothing else has"
        except git.GitFault as error:  # git keeps it: locked, for one
            why = error.what
        if why:
            kept.append(path)
            lines.append(f"kept {path}: {why}")
        else:
            lines.append(f"removed {path}")
            _record(workspace, tree)
    return lines, kept


def _record(workspace: Workspace, tree: Worktree) -> None:
    """Note it in the journal of a loop that is not archived. Under the lock."""
    root = str(workspace.root)
    if tree.row is not None and os.path.dirname(tree.folder) == root:
        before = loops.read_snapshot(root)
        change = ("worktree_removed", {"task": tree.task, "path": tree.row.path})
        Loop(root, tree.loop).record([change], workspace.by)
        if before is not None and before["loop"] != tree.loop:  # the active loop stays what it is
            Loop(root, before["loop"]).write_snapshot()


def clean_up(workspace: Workspace, loop: Loop) -> str:
    """After a wave its merged worktrees go; a line that says what stays."""
    if not loop.state.worktrees.rows:
        return ""
    try:
        with loop.writing():
            trees = _find(workspace, loop.name)
            merged = [tree for tree in trees if tree.row is not None and tree.row.merged]
            _remove(workspace, merged, clean=True)
        loop.refresh()
        stay = _find(workspace, loop.name)
        return "\n".join(_listed(workspace, stay, "worktrees that stay:"))
    except (LoopError, OSError) as error:
        return f"worktrees were not tidied: {error}"


def check_purge(workspace: Workspace, name: str) -> None:
    """Remove a loop's clean worktrees, under the lock. Refused where one holds unmerged work."""
    folder = os.path.join(str(workspace.root), name)
    with contextlib.suppress(OSError):  # its journal cannot be read: all of them stay
        _remove(workspace, _find(workspace, name), clean=False)
    stay = engine.lying(folder)
    if stay:
        what = f"worktrees of {name} hold work that is not merged: {work.named_paths(stay)}"
        raise Refused(what, "see loopkit worktree list; without --purge they are archived with it")


def moved(workspace: Workspace, folder: str) -> None:
    """Tell git where the worktrees of a loop whose folder was moved are now."""
    paths = [os.path.join(folder, path) for path in engine.lying(folder)]
    with contextlib.suppress(LoopError):
        engine.moved(workspace.project, paths, workspace.environment)
