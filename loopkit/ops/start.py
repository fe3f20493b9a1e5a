"""A loop is armed on a task."""

import contextlib
import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from ..core.journal import clock, limits, prose, verdict
from ..core.journal.errors import Damaged, LoopError, Refused, UsageFault
from ..core.journal.settings import POLICIES
from ..core.review import review
from ..core.steps import due
from ..engine import checkpoints, git
from ..store import config, loops, mirror, native, origin, place, trust, typed
from ..store import loop as store
from . import advance, consent, worktree
from .workspace import Result, Workspace, untrusted_only

USAGE = "write what is to be done: /loop:start <task>, or loopkit start --task-file FILE"

#: An option that a person types before the request; a phone or an editor makes a dash of "--".
_NAME = r"\s*(?:--|[–—])([A-Za-z][\w-]*)"
_OPTION = re.compile(_NAME + r"""(?:=|[ \t]+)('[^']*'|"[^"]*"|(?!--|['"])\S+)(?!\S)""")
_BARE = re.compile(_NAME + r"""(?:[ \t=]+(['"])|[\s=]|$)""")
#: The request begins behind it, whatever it begins with.
_END = re.compile(r"\s*--(?:\s+|$)")
#: A value of each.
EXAMPLES = {
    "approval": "review",
    "iterations": "30",
    "usd": "10",
    "time": "2h",
    "list": "new",
    "checks": "'pytest *'",
}
LISTS = ("new", "existing", "session")


class Options(NamedTuple):
    """How a loop is started. most: limits by their kind, as typed · unattended: nobody can be asked
    · approval, list_mode: None for what settings and environment say · fresh: archive the
    unfinished loop first, with `purge` delete it · beside: pause it and keep it · name: of the loop
    and its folder, instead of one that the request gives."""

    most: dict[str, str] = {}
    unattended: bool = False
    approval: str | None = None
    list_mode: str | None = None
    fresh: bool = False
    beside: bool = False
    purge: bool = False
    name: str = ""


def start_typed(workspace: Workspace, options: Options) -> Result:
    """Start with the words typed after /loop:start, which may begin with options."""
    text = typed.load(place.data_dir(workspace.environment), workspace.session)
    if text is None:
        text = (
            "No task text has arrived. Ask the person what is to be done, then submit it unchanged:"
        )
        step = "loopkit start --task-file -"
        return Result(None, f"{text}\nnext: {step}", {"said": text, "next": [step]})
    options, patterns, text = _typed(options, text)
    begun = start(workspace, text, options)
    if patterns and begun.loop is not None:
        consent.typed_patterns(begun.loop, patterns)
        allowed = f"checks allowed: {', '.join(patterns)}"
        if workspace.unattended:
            allowed += "; nobody can be asked about others"
        begun = begun._replace(text=f"{begun.text}\n{allowed}")
    return advance.advance(workspace, begun.text)


def _typed(options: Options, text: str) -> tuple[Options, list[str], str]:
    """(the options that stand before the request, patterns of checks, the request). Raises
    UsageFault."""
    given, text = typed_options(text)
    most = {**options.most, **limits_of(given)}
    for name, allowed in (("approval", POLICIES), ("list", LISTS)):
        for value in given.get(name, ()):
            if value not in allowed:
                raise UsageFault(f"--{name} is {value[:30]!r}", "use " + ", ".join(allowed))
    policy, mode = (given.get(name, [None])[-1] for name in ("approval", "list"))
    options = options._replace(
        most=most,
        approval=options.approval or policy,
        list_mode=options.list_mode or mode,
    )
    return options, given.get("checks", []), text


def typed_options(text: str, names: Sequence[str] = ()) -> tuple[dict[str, list[str]], str]:
    """({option: its values}, the rest) of words that a person typed behind a slash command. names:
    the options that it has, by default those of /loop:start. Raises UsageFault for another one, and
    for one without a value: none becomes a part of the request unseen."""
    given: dict[str, list[str]] = {}
    names = names or tuple(EXAMPLES)
    while (match := _OPTION.match(text)) and match[1] in names:
        given.setdefault(match[1], []).append(match[2].strip("'\""))
        text = text[match.end() :].lstrip()
    bare = _BARE.match(text)
    if bare and bare[1] not in names:
        raise UsageFault(
            f"there is no option --{bare[1][:30]}",
            f"options are --{', --'.join(names)}; other words that begin so stand behind --",
        )
    if bare:
        example = f"for example --{bare[1]} {EXAMPLES[bare[1]]}"
        what = "has a quote that does not end" if bare[2] else "needs a value"
        raise UsageFault(f"--{bare[1]} {what}", example)
    end = _END.match(text)
    return given, text[end.end() :] if end else text


def limits_of(given: dict[str, list[str]]) -> dict[str, str]:
    """The limits among typed options, by their kind. Raises UsageFault for no limit."""
    kinds = {"iterations": "iterations", "usd": "usd", "time": "seconds"}
    most = {kind: given[name][-1] for name, kind in kinds.items() if name in given}
    for kind, value in most.items():
        limits.amount(value, None, kind)
    return most


def start(workspace: Workspace, text: str, options: Options) -> Result:
    """Record the text, limits and settings of a new loop of this session; scoring comes next."""
    _check(workspace, text, options)
    other, root = workspace.root, _root(workspace)
    settings = config.read(workspace.origin(root))
    config.note_own(workspace.origin(root))
    _check_blocklist(settings["blocklist"])
    most = settings.pop("limits")
    most |= {kind: limits.amount(amount, None, kind) for kind, amount in options.most.items()}
    default = settings.pop("approval")
    existing = workspace.environment.get("CLAUDE_CODE_TASK_LIST_ID")
    if options.list_mode == "existing" and not existing:
        what = "--list existing, but CLAUDE_CODE_TASK_LIST_ID is not set"
        raise UsageFault(what, "start Claude Code with it, or leave --list out")
    if other is not None and other != root and _overlaps(workspace, other, root):
        with store.locked(other):
            _make_room(workspace, other, options)
    store.prepare(root)
    workspace.root = root
    with store.locked(root):
        _make_room(workspace, root, options)
        first = {
            "task": text,
            "session_id": workspace.session,
            "client_pid": place.client_pid(workspace.environment),
            "unattended": options.unattended or workspace.unattended,
            **({"by_word": True} if options.unattended else {}),
            "approval": options.approval or default,
            "list": options.list_mode or ("existing" if existing else "session"),
            "folder": _folder(workspace, root),
            "settings": settings,
        }
        if workspace.environment.get("LOOPKIT_DIR"):
            first["project"] = _project(workspace)
        changes = [("loop_started", first), ("limits_set", most)]
        loop = store.Loop.create(root, text, changes, workspace.by, options.name)
    typed.forget(place.data_dir(workspace.environment), workspace.session)
    native.ensure_folder(workspace.environment, workspace.session)
    try:
        mirror.make(loop, workspace.environment)
    except OSError as error:
        workspace.note(f"no task list: cannot make {error.filename}: {error.strerror}")
    workspace.follow(loop)
    told = "\n".join(_told(workspace, loop, first, most))
    return Result(loop, told, {"task": text}, [due.NEXT])


def _check(workspace: Workspace, text: str, options: Options) -> None:
    """Raises UsageFault, Refused where no loop can be started so."""
    if not text.strip():
        raise UsageFault("the task is empty", USAGE)
    if not workspace.session:
        what = "the session id is missing (CLAUDE_CODE_SESSION_ID is not set)"
        raise UsageFault(what, "start the loop inside Claude Code: /loop:start <task>")
    if workspace.environment.get("LOOPKIT_CHILD"):
        raise Refused("an agent of a run starts no loop", "report to the run that started you")
    if options.purge and not options.fresh:
        raise UsageFault("--purge without --fresh", "add --fresh to replace the unfinished loop")
    if options.beside and options.fresh:
        way = "one keeps the unfinished loop, the other archives it: give one"
        raise UsageFault("--beside and --fresh", way)


def _check_blocklist(names: list) -> None:
    """Raises UsageFault where a name is no expert's: a rule that stops nobody is a mistake."""
    if not names:
        return
    from ..store import profiles

    known = [profile.name for profile in profiles.read(place.plugin_root())]
    unknown = [name for name in names if known and name not in known]
    if unknown:
        what = f"panel.blocklist names no expert: {unknown[0]!r}"
        raise UsageFault(what, "experts: " + ", ".join(known))
    left, wanted = len(known) - len(set(names)), review.THOROUGH_EXPERTS[1]
    if known and left < wanted:
        raise UsageFault(f"panel.blocklist leaves {left} experts", f"a review asks up to {wanted}")


# -- where it goes


def _root(workspace: Workspace) -> str:
    """Where the new loop goes: the project's `.loop`, or a linked worktree's own where it has one
    or that is taken. Raises Refused where the project is out of reach."""
    project, environment = _project(workspace), workspace.environment
    if place.out_of_reach(project, environment):
        raise Refused(
            f"{project} is no project: it holds the home folder, and with it everything else of "
            "yours",
            "open Claude Code in the project's own folder (mkdir one for a new project), and "
            "start there",
        )
    root = place.future(workspace.folder, environment)
    tree_root = os.path.join(workspace.in_tree(project), place.FOLDER)
    if environment.get("LOOPKIT_DIR") or tree_root == root:
        return root
    if workspace.root == tree_root:
        return tree_root
    view = loops.view(root)
    if view is None or view.session.status in verdict.FINAL:
        return root
    taken = view.session.owner != workspace.session
    return tree_root if taken and trust.known(root, view.name, view.session.token) else root


def _project(workspace: Workspace) -> str:
    return place.project(workspace.folder, workspace.environment)


def _overlaps(workspace: Workspace, other: str, root: str) -> bool:
    """Whether a loop in another `.loop` works on the same files: begun for the whole of which this
    is a part, or by an earlier version. One of a home folder counts for its own session only."""
    old, new = os.path.dirname(other), os.path.dirname(root)
    if place.out_of_reach(old, workspace.environment):
        view = loops.view(other)
        return view is not None and view.session.owner == workspace.session
    trees = [place.work_tree(folder, workspace.environment) for folder in (old, new)]
    return trees[0] == trees[1]


def _folder(workspace: Workspace, root: str) -> str:
    """Where the loop's checks run, relative to the project: where the session was opened."""
    opened = place.opened(workspace.folder, workspace.environment)
    project = workspace.in_tree(_project(workspace))
    if opened == project or not place.inside(opened, project) or place.inside(opened, root):
        return ""
    return os.path.relpath(opened, project)


# -- what is in its way


def _make_room(workspace: Workspace, root: str, options: Options) -> None:
    """Put an unfinished loop away, as the options say. Raises Refused. Under the lock."""
    if untrusted_only(root):
        return
    try:
        old = store.Loop.active(root)
    except Damaged:
        if not options.fresh:
            raise
        snapshot = loops.read_snapshot(root)
        name = snapshot["loop"] if snapshot else loops.names(root)[-1]
        return _put_away(workspace, root, name, options.purge)
    if old is None or not old.ours:
        return
    session = old.state.session
    over = session.status in verdict.FINAL
    if over and session.verdict != verdict.CANCELLED:
        return
    elsewhere = session.owner != workspace.session and place.alive(session.owner_pid)
    if not over and (elsewhere or not (options.fresh or options.beside)):
        raise _in_the_way(workspace, old, elsewhere)
    if not over:
        _end(workspace, old, options)
    # where it was cancelled whoever did so may have died before this
    native.withdraw(native.folder(workspace.environment, session.owner), old.name)
    if not over and options.fresh:
        _put_away(workspace, root, old.name, options.purge)
        if options.purge:
            trust.forget(session.token)


def _end(workspace: Workspace, old: store.Loop, options: Options) -> None:
    if options.purge:
        worktree.check_purge(workspace, old.name)
    if options.fresh:
        old.record([("loop_cancelled", {"reason": "started afresh"})], workspace.by)
    elif old.state.session.status == verdict.RUNNING:
        reason = "put aside: another loop was started"
        old.record([("paused", {"reason": reason})], workspace.by)


def _in_the_way(workspace: Workspace, old: store.Loop, elsewhere: bool) -> Refused:
    state, session = old.state, old.state.session
    whose, scores = workspace.whose(session.owner), state.scores or {}
    ways = (
        "resume: loopkit resume; start fresh (archives it): loopkit start --fresh with "
        "--from-prompt or --task-file; keep it for later: the same with --beside"
    )
    if elsewhere:
        whose, ways = f"{whose} (running)", "take over: loopkit resume --take-over"
    return Refused(
        f"loop {old.name} is not finished: stage {session.stage}, spec "
        f"{scores.get('spec', '–')}/10, fit {scores.get('fit', '–')}, {state.counts['completed']}/"
        f"{len(state.tasks)} tasks, {session.status}, owner {whose}",
        f"ask the person: {ways}; look: loopkit status; or work in a new worktree: git worktree "
        "add ../<name>, and start there",
    )


def _put_away(workspace: Workspace, root: str, name: str, purge: bool) -> None:
    """Archive or delete a loop; worktrees in it go along, and git is told where they are."""
    if not purge:
        return worktree.moved(workspace, store.archive(root, name, purge))
    kept = []
    with contextlib.suppress(OSError):  # a journal that cannot be read names none
        kept = [row.sha for row in loops.fold(root, name)[0].checkpoints.rows]
    worktree.check_purge(workspace, name)
    store.archive(root, name, purge)
    try:
        checkpoints.forget(workspace.project, name, kept, workspace.environment)
    except git.Unavailable:  # then there are none
        pass
    except LoopError as error:
        workspace.note(f"the checkpoints of {name} are still there: {error}")


def _told(workspace: Workspace, loop: store.Loop, first: dict, most: dict) -> list[str]:
    state, usd, seconds = loop.state, most["usd"], most["seconds"]
    turns = most["iterations"]
    shown = (
        "no limit on iterations" if turns is None else f"{turns} iterations",
        "no limit on money" if usd is None else f"${usd:g}",
        "no limit on time" if seconds is None else clock.human(seconds),
    )
    lines = [
        f"loop {loop.name} started, state in {os.path.relpath(loop.folder, workspace.folder)}",
        f"limits: {', '.join(shown)} (change: loopkit resume --iterations N --usd N --time T; none "
        "lifts one)",
    ]
    if not state.terms.check_completes:
        lines.append(f"approval: {state.approval} (tasks need more than a check that passes)")
    if first["unattended"]:
        lines.append("unattended: confirmations take their defaults")
    if first["list"] == mirror.NEW:
        variable = f"CLAUDE_CODE_TASK_LIST_ID={loop.name}"
        lines.append(f"task list {loop.name}: later sessions see it with {variable}")
    if state.folder:
        text = f"checks run in {state.folder}, where this session was opened; files are named from"
        lines.append(prose.clean(f"{text} {workspace.project}", 2000))
    lines += filter(None, [origin.line(origin.along(workspace.origin(loop.root)))])
    return lines
