"""loopkit start: arm a loop on a task."""

from __future__ import annotations

import os
import re
import sys

import click

from ..core.journal import clock, limits, prose, score, verdict
from ..core.journal.errors import Damaged, LoopError, Refused, UsageFault
from ..core.plan import approval
from ..core.review import review
from ..engine import checkpoints
from ..ops import workspace, worktree
from ..store import config, loops, mirror, native, origin, place, prompts, trust
from ..store import loop as store
from . import app, recall

USAGE = "write what is to be done: /loop:start <task>, or loopkit start --task-file FILE"

#: The approval policy that a person types before the request.
_POLICY = re.compile(r"\s*--approval(?:=|\s+)(\S*)\s*(.*)\Z", re.DOTALL)


@app.command("start", "loopkit start --task-file - <<'EOF'")
@click.option("--task-file", metavar="FILE", help="The task's text; - for standard input.")
@click.option(
    "--from-prompt",
    is_flag=True,
    help="The words typed after /loop:start; a refusal is printed, exit 0.",
)
@click.option("--iterations", metavar="N", help="Turns at most, or none.")
@click.option("--usd", metavar="N", help="Dollars at most, or none.")
@click.option(
    "--time", "time_limit", metavar="T", help="Running time at most, like 90m or 2h, or none."
)
@click.option(
    "--unattended", is_flag=True, help="Nobody can be asked; confirmations take their defaults."
)
@click.option(
    "--approval", type=click.Choice(list(approval.POLICIES)), help="What completes a task."
)
@click.option(
    "--list",
    "list_mode",
    type=click.Choice(["new", "existing", "session"]),
    help="Which native task list mirrors it.",
)
@click.option("--fresh", is_flag=True, help="Archive the unfinished loop first.")
@click.option("--beside", is_flag=True, help="Pause the unfinished loop and keep it for later.")
@click.option("--purge", is_flag=True, help="With --fresh: delete it instead.")
def command(call: app.App, from_prompt: bool, **options: object) -> int:
    """Start a loop: its text, limits and settings are recorded, scoring comes next."""
    if not from_prompt:
        return _start(call, options, _text(call, options["task_file"]))
    try:
        text = prompts.load(place.data_dir(call.environment), call.session)
        if text is None:
            return _nothing_typed(call)
        policy, text = _typed(text)
        return _start(call, {**options, "approval": options["approval"] or policy}, text)
    except LoopError as error:
        app.say_no(error)
        return 0


def _typed(text: str) -> tuple[str | None, str]:
    """(policy, request) of `/loop:start --approval review <request>`; (None, the whole text) where
    it names none."""
    found = _POLICY.match(text)
    if found is None:
        return None, text
    if found[1] not in approval.POLICIES:
        raise UsageFault(f"--approval is {found[1][:30]!r}", "use " + ", ".join(approval.POLICIES))
    return found[1], found[2]


def _text(call: app.App, source: object) -> str:
    if not source:
        raise UsageFault("no task given", USAGE)
    return app.read_input(call, str(source))


def _nothing_typed(call: app.App) -> int:
    click.echo(
        "No task text has arrived. Ask the person what is to be done, then hand it over unchanged:"
    )
    click.echo("next: loopkit start --task-file -")
    return 0


def _start(call: app.App, options: dict, text: str) -> int:
    if not text.strip():
        raise UsageFault("the task is empty", USAGE)
    if not call.session:
        raise UsageFault(
            "the session id is missing (CLAUDE_CODE_SESSION_ID is not set)",
            "start the loop inside Claude Code: /loop:start <task>",
        )
    if call.environment.get("LOOPKIT_CHILD"):
        raise Refused("an agent of a run starts no loop", "report to the run that started you")
    if options["purge"] and not options["fresh"]:
        raise UsageFault("--purge without --fresh", "add --fresh to replace the unfinished loop")
    if options["beside"] and options["fresh"]:
        raise UsageFault(
            "--beside and --fresh",
            "one keeps the unfinished loop, the other puts it away: give one",
        )
    other, root = call.root, _root(call)
    settings = config.read(call.origin(root))
    config.note_own(call.origin(root))
    _check_blocklist(settings["blocklist"])
    chosen = _limits(options, settings.pop("limits"))
    list_mode = _list_mode(call, options["list_mode"])
    if other is not None and other != root and _overlaps(call, other, root):
        with store.locked(other):
            _make_room(call, other, options)
    store.prepare(root)
    call.root = root
    with store.locked(root):
        _make_room(call, root, options)
        unattended = (
            bool(options["unattended"])
            or call.environment.get("CLAUDE_CODE_SESSION_ATTENDED") == "0"
        )
        first = {
            "task": text,
            "session_id": call.session,
            "client_pid": place.client_pid(call.environment),
            "unattended": unattended,
            "approval": options["approval"] or settings.pop("approval"),
            "list": list_mode,
            "folder": _folder(call, root),
            **({"project": _project(call)} if call.environment.get("LOOPKIT_DIR") else {}),
            "settings": settings,
        }
        loop = store.Loop.create(
            root, text, [("loop_started", first), ("limits_set", chosen)], call.by
        )
    call.forget_place()
    prompts.forget(place.data_dir(call.environment), call.session)
    native.ensure_folder(call.environment, call.session)
    try:
        mirror.make(loop, call.environment)
    except OSError as error:
        print(
            f"loopkit: no task list: cannot make {error.filename}: {error.strerror}",
            file=sys.stderr,
        )
    call.follow(loop)
    call.answer(loop, _report(call, loop, first, chosen), {"task": text})
    return 0


def _check_blocklist(names: list) -> None:
    """Raises UsageFault where a name is no expert's: a rule that stops nobody is a mistake."""
    if not names:
        return
    from ..store import profiles

    known = [one.name for one in profiles.read(place.plugin_root())]
    for name in names:
        if known and name not in known:
            raise UsageFault(
                f"panel.blocklist names no expert: {name!r}", "experts: " + ", ".join(known)
            )
    left = len(known) - len(set(names))
    if known and left < review.THOROUGH_EXPERTS[1]:
        raise UsageFault(
            f"panel.blocklist leaves {left} experts",
            f"a review asks up to {review.THOROUGH_EXPERTS[1]}",
        )


def _root(call: app.App) -> str:
    """Where the new loop goes: the project's `.loop`, or a linked worktree's own where it has one
    or that is taken.

    Raises Refused where the project is out of reach.
    """
    project = _project(call)
    if place.out_of_reach(project, call.environment):
        raise Refused(
            f"{project} is no project: it holds the home folder, and with it everything else of "
            "yours",
            "open Claude Code in the project's own folder (mkdir one for a new project), and "
            "start there",
        )
    root = place.future(call.folder, call.environment)
    own = os.path.join(_same(call, project), place.FOLDER)
    if call.environment.get("LOOPKIT_DIR") or own == root:
        return root
    if call.root == own:
        return own
    view = loops.view(root)
    busy = (
        view is not None
        and view.session.status not in verdict.FINAL
        and view.session.owner != call.session
    )
    return (
        own
        if view is not None and busy and trust.known(root, view.name, view.session.token)
        else root
    )


def _project(call: app.App) -> str:
    return place.project(call.folder, call.environment)


def _overlaps(call: app.App, other: str, root: str) -> bool:
    """Whether a loop in the `.loop` at `other` works on the same files: begun for the whole of
    which this is a part, or by an earlier version in another place. One of a home folder counts for
    its own session only."""
    old, new = os.path.dirname(other), os.path.dirname(root)
    if place.out_of_reach(old, call.environment):
        view = loops.view(other)
        return view is not None and view.session.owner == call.session
    return place.work_tree(old, call.environment) == place.work_tree(new, call.environment)


def _same(call: app.App, project: str) -> str:
    """The project's folder in the working tree that we stand in."""
    tree, main = (
        find(call.folder, call.environment) for find in (place.work_tree, place.main_tree)
    )
    if tree is None or main is None or not place.inside(project, main):
        return project
    return os.path.normpath(os.path.join(tree, os.path.relpath(project, main)))


def _folder(call: app.App, root: str) -> str:
    """Where the loop's checks run, relative to the project: where the session was opened; "" for
    the project itself."""
    opened = place.opened(call.folder, call.environment)
    project = _same(call, _project(call))
    inside = place.inside(opened, project) and opened != project and not place.inside(opened, root)
    return os.path.relpath(opened, project) if inside else ""


def _limits(options: dict, settings: dict) -> dict:
    chosen = dict(settings)
    for option, kind in (("iterations", "iterations"), ("usd", "usd"), ("time_limit", "seconds")):
        if options[option]:
            chosen[kind] = limits.amount(str(options[option]), None, kind)
    return chosen


def _list_mode(call: app.App, mode: object) -> str:
    if mode == "existing" and not call.environment.get("CLAUDE_CODE_TASK_LIST_ID"):
        raise UsageFault(
            "--list existing, but CLAUDE_CODE_TASK_LIST_ID is not set",
            "start Claude Code with it, or leave --list out",
        )
    return str(
        mode or ("existing" if call.environment.get("CLAUDE_CODE_TASK_LIST_ID") else "session")
    )


def _make_room(call: app.App, root: str, options: dict) -> None:
    """Raises Refused where an unfinished loop stands in the way; puts it away where the person said
    so."""
    if workspace.strangers_only(root):
        return
    try:
        old = store.Loop.active(root)
    except Damaged:
        if not options["fresh"]:
            raise
        snapshot = loops.read_snapshot(root)
        _put_away(
            call,
            root,
            snapshot["loop"] if snapshot else loops.names(root)[-1],
            bool(options["purge"]),
        )
        return
    if old is None or not old.ours:
        return
    session = old.state.session
    listed = native.folder(call.environment, session.owner)
    if session.status in verdict.FINAL:
        if session.verdict == verdict.CANCELLED:  # whoever cancelled it may have died before
            native.withdraw(listed, old.name)
        return
    elsewhere = session.owner != call.session and place.alive(session.owner_pid)
    if options["fresh"] and not elsewhere:
        if options["purge"]:
            worktree.check_purge(call, old.name)
        old.record([("loop_cancelled", {"reason": "started afresh"})], call.by)
        native.withdraw(listed, old.name)
        _put_away(call, root, old.name, bool(options["purge"]))
        if options["purge"]:
            trust.forget(session.token)
        return
    if options["beside"] and not elsewhere:
        if session.status == verdict.RUNNING:
            old.record([("paused", {"reason": "put aside: another loop was started"})], call.by)
        native.withdraw(listed, old.name)
        return
    whose = (
        "this session"
        if session.owner == call.session
        else f"session {session.owner}" + (" (running)" if elsewhere else "")
    )
    scores = old.state.scores or {}
    stand = (
        f"stage {session.stage}, spec {scores.get('spec', '–')}/10, fit {scores.get('fit', '–')}"
    )
    done = f"{old.state.counts['completed']}/{len(old.state.tasks)} tasks"
    fresh = (
        "start fresh (archives it): loopkit start --fresh with --from-prompt or --task-file; keep "
        "it for later: "
    )
    fresh = "" if elsewhere else fresh + "the same with --beside; "
    again = "take over: loopkit resume --take-over" if elsewhere else "resume: loopkit resume"
    raise Refused(
        f"loop {old.name} is not finished: {stand}, {done}, {session.status}, owner {whose}",
        f"ask the person: {again}; {fresh}look: loopkit status; "
        "or work in a new worktree: git worktree add ../<name>, and start there",
    )


def _put_away(call: app.App, root: str, name: str, purge: bool) -> None:
    """Archive or delete a loop; worktrees in it that hold something go along, and git is told where
    they are now."""
    kept = _checkpoints(root, name) if purge else []
    if purge:
        worktree.check_purge(call, name)
    target = store.archive(root, name, purge)
    if not purge:
        worktree.moved(call, target)
        return
    try:
        checkpoints.forget(call.project, name, kept, call.environment)
    except checkpoints.Unavailable:  # then there are none
        pass
    except LoopError as error:
        print(f"loopkit: the checkpoints of {name} are still there: {error}", file=sys.stderr)


def _checkpoints(root: str, name: str) -> list[str]:
    """The commits that a loop has kept; of one whose journal cannot be read none are known."""
    try:
        state, _ = loops.fold(root, name)
    except OSError:
        return []
    return [one.sha for one in state.checkpointed.checkpoints]


def _report(call: app.App, loop: store.Loop, first: dict, chosen: dict) -> str:
    lines = [f"loop {loop.name} started, state in {os.path.relpath(loop.folder, call.folder)}"]
    turns = (
        "no limit on iterations"
        if chosen["iterations"] is None
        else f"{chosen['iterations']} iterations"
    )
    money = "no limit on money" if chosen["usd"] is None else f"${chosen['usd']:g}"
    time = "no limit on time" if chosen["seconds"] is None else clock.human(chosen["seconds"])
    lines.append(
        f"limits: {turns}, {money}, {time} (change: loopkit resume --iterations N --usd N --time "
        "T; none lifts one)"
    )
    if loop.state.approval != approval.EVIDENCE:
        lines.append(f"approval: {loop.state.approval} (tasks need more than a check that passes)")
    if first["unattended"]:
        lines.append("unattended: confirmations take their defaults")
    if first["list"] == mirror.NEW:
        lines.append(
            f"task list {loop.name}: later sessions see it with "
            f"CLAUDE_CODE_TASK_LIST_ID={loop.name}"
        )
    if loop.state.folder:
        where = (
            f"checks run in {loop.state.folder}, where this session was opened; files are named "
            f"from {call.project}"
        )
        lines.append(prose.clean(where, 2000))
    along = origin.line(origin.along(call.origin(loop.root)))
    lines += [along] if along else []
    lines.append("task: " + prose.clean(loop.state.text.strip().splitlines()[0], 200))
    found = recall.fitting(call, loop.root, loop.state)
    if found:
        lines.append("learnt before (skill hope:recall: what applies here?):")
        lines += ["  " + line for line in recall.lines(found)]
    lines.append("score the request, 0 to 2 each:")
    lines += [
        f"  {name}: "
        + " · ".join(f"{value} {text}" for value, text in enumerate(score.RUBRIC[name]))
        for name in score.DIMENSIONS
    ]
    return "\n".join(lines)
