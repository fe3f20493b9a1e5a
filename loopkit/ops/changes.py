"""What changed is measured, between checkpoints or without git by digests, never taken from what
anybody says; what must not have changed is watched."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections import namedtuple
from collections.abc import Iterator

from ..core.evidence import changes as rules
from ..core.evidence import consent, testfiles
from ..core.health import checkpoints as branch
from ..core.journal import clock, stage, task, verdict
from ..core.journal.errors import LoopError
from ..core.journal.parts import UNDO, Changed, Checkpoint, Touched
from ..core.journal.state import LoopState
from ..core.steps import kinds
from ..engine import checkpoints, git, listing, restoring, trees
from ..store import answers, looks, place, prompts, tables, transcript
from ..store.loop import Loop
from .workspace import Workspace, data_of

#: files: [Changed] against what was before · whole: against the start · marks: {path: what it holds
#: now, "" where it is gone} of all that changed since the last look and is not as at the start ·
#: ignored: names, since the start · lists: what no checkpoint holds.
_Measured = namedtuple("_Measured", "files whole marks ignored lists")
#: Programs that only read, unless they are told where to write.
_READERS = frozenset(
    "cat head tail less more grep rg egrep fgrep wc ls diff cmp stat file nl od xxd md5sum "
    "sha256sum pytest test loopkit".split()
)
#: What a coder is asked.
_CODERS = "|".join((kinds.IMPLEMENTATION, kinds.SCAFFOLD, kinds.FIX))
#: Words in quotes, of one line.
_QUOTED = re.compile(r"'[^'\n]*'|\"(?:\\.|[^\"\\\n])*\"")
_GIT_READS = ("diff", "show", "log", "status", "blame", "grep")
#: Seconds by which the clock of a transcript and ours may differ.
_SLACK = 30


def begun(workspace: Workspace, loop: Loop) -> None:
    """Execution begins: what no checkpoint holds is listed, once. No fault where that cannot be
    done."""
    if not loop.state.waves[1:] and not listing.read(loop.folder, listing.START):
        project, environment = workspace.project, workspace.environment
        lists: dict[str, dict] = {}
        try:
            lists["ignored"] = listing.ignored(project, environment)
            lists["rights"] = listing.rights(project, environment)
        except git.Unavailable:
            lists["files"] = listing.files(project, {})
        except LoopError:
            pass
        lists["early"] = dict.fromkeys(_early(workspace, loop))
        _keep(workspace, loop, lists, listing.START)


def _early(workspace: Workspace, loop: Loop) -> list[str]:
    """What has changed since the request was made, before any of it was worked on."""
    project, environment = workspace.project, workspace.environment
    began = clock.epoch(loop.state.session.started_at)
    if not began:
        return []
    try:
        repo = git.repository(project, environment)
        command = f"rev-list -1 --before={int(began)} HEAD"
        commit = git.word(git.git(project, environment, command))
        tree = git.word(git.git(project, environment, f"rev-parse {commit}:{repo.prefix}"))
        found, _ = checkpoints.measured(project, environment, [tree], [loop.root])
    except LoopError:
        return []
    names = [path for row in found[tree] for path in rules.paths(row.row)]
    return [path for path in _work(names) if _age(project, path) >= began + 1]


def _age(project: str, path: str) -> float:
    """When a file was written, or went from its folder."""
    full = os.path.join(project, path)
    while not os.path.lexists(full):
        full = os.path.dirname(full)
    return os.lstat(full).st_mtime


def _work(names: list[str]) -> list[str]:
    return [name for name in names if not listing.comes_and_goes(name)]


def of_wave(workspace: Workspace, loop: Loop, number: int) -> list[str]:
    """Measure a wave that is closed, its checkpoint made; lines to print of what that brings."""
    return _looked(workspace, loop, number)


def at_end(workspace: Workspace, loop: Loop) -> list[str]:
    """Measure all since the start, before anybody judges the whole; the same lines."""
    state, session = loop.state, loop.state.session
    stands = session.status != verdict.RUNNING or session.question is not None
    ended = state.waves and state.wave is None and state.stage == stage.REVIEW
    return [] if stands or not ended else _looked(workspace, loop, None)


def at_work(workspace: Workspace, loop: Loop) -> list[Changed]:
    """What has changed since the newest checkpoint; nothing is recorded. [] where nobody knows."""
    try:
        found = _measured(workspace, loop, None, wave=True)
    except LoopError:
        return []
    return found.files if found else []


def _looked(workspace: Workspace, loop: Loop, wave: int | None) -> list[str]:
    made = _checkpoint_of(loop.state, wave)
    try:
        found = _measured(workspace, loop, made, wave=wave is not None)
    except LoopError as error:
        return [f"what changed is not measured: {error}"]
    if found is None:
        return []
    if wave is not None:
        _keep(workspace, loop, found.lists, listing.NEWEST)
    rows = _explained(workspace, loop, rules.broken(loop.state, found.marks))
    early = list(listing.read(loop.folder, listing.START).get("early") or ())
    lines = [check for _, check in consent.checks(loop.state)] or [""]
    alone = {
        "session": _by_session(workspace, loop, found.whole),
        "unanswered": _unanswered(loop),
        "early": early,
        "unfit": [path for path in early if testfiles.of_either(path, lines, tables.tests())],
        "above": _above(workspace, loop),
        "outside": _outside(workspace, loop),
        "unmoved": _unmoved(workspace, loop, found.whole),
    }

    def decide(state: LoopState) -> list:
        checks = testfiles.of_checks(found.whole, found.ignored, state, tables.tests())
        whole = rules.event(None, found.whole, found.ignored, None, checks | alone)
        measured = [whole] if _is_new(state, whole[1]) else []
        if wave is not None:
            number = made.number if made else None
            measured.insert(0, rules.event(wave, found.files, (), number))
        if state.session.status in verdict.FINAL or state.session.question is not None:
            return measured
        judged = rules.judged(state, rows, wave, own=alone["session"])
        if wave is None and not judged:
            differs = {path for row in found.whole for path in rules.paths(row)}
            still = rules.open_rows(state, differs)
            judged = rules.judged(state, still, wave, again=True, own=alone["session"])
        return [*measured, *judged]

    changes = workspace.change(loop, decide)
    paused, asked = data_of(changes, "paused"), data_of(changes, "question_asked")
    lines = _said(loop.state, found.files, wave) if wave is not None else []
    if paused:
        lines.append(f"the loop is paused: {paused['reason']}")
    return [*lines, asked["text"]] if asked else lines


def _is_new(state: LoopState, data: dict) -> bool:
    known = state.changes
    rows = [Changed(**{"added": None, "removed": None, **row}) for row in data["files"]]
    names = ("session", "unanswered", "outside", "unmoved", "above")
    alone = [data.get(name, []) for name in names]
    seen = (known.whole, known.ignored, [getattr(known, name) for name in names])
    return (rows, data["ignored"], alone) != seen


def _said(state: LoopState, rows: list[Changed], wave: int) -> list[str]:
    """What a closed wave changed that nobody named."""
    names = next((row.tasks for row in state.waves if row.number == wave), ())
    files = {path for name in names if name in state.tasks for path in state.tasks[name].files}
    others = rules.outside(rows, files)
    told = branch.named([rules.told(row) for row in others], rules.SHOWN)
    return [f"changed beside what the tasks name: {told}"] if others else []


# -- measuring


def _keep(workspace: Workspace, loop: Loop, lists: dict, name: str) -> None:
    try:
        listing.write(loop.folder, name, lists)
        if name == listing.START:
            listing.write(loop.folder, listing.NEWEST, lists)
    except OSError as error:
        workspace.note(f"cannot list what no checkpoint holds: {error.strerror}")


def _checkpoint_of(state: LoopState, wave: int | None) -> Checkpoint | None:
    rows = state.checkpoints.rows
    return next((row for row in reversed(rows) if row.wave == wave), None) if wave else None


def _measured(
    workspace: Workspace, loop: Loop, made: Checkpoint | None, wave: bool
) -> _Measured | None:
    """made: the checkpoint that holds what is there now, where one does. None where nothing was
    kept to compare with. Raises LoopError."""
    line = [row for row in branch.ancestors(loop.state) if row is not made]
    if line:
        with contextlib.suppress(git.Unavailable):
            return _by_trees(workspace, loop, made, line, wave)
    return _by_digests(workspace, loop)


def _by_trees(
    workspace: Workspace, loop: Loop, made: Checkpoint | None, line: list[Checkpoint], wave: bool
) -> _Measured:
    """line: the checkpoints before that, the newest first."""
    project, environment = workspace.project, workspace.environment
    newest, start = line[0].tree, line[-1].tree
    since = loop.state.checkpoints.numbers.get(loop.state.changes.base or 0, line[-1]).tree
    before = list(dict.fromkeys((*([newest] if wave else []), start, since)))
    ignored = listing.read(loop.folder, listing.START).get("ignored")
    ignored = ignored if type(ignored) is dict else {}
    if made:
        now = listing.ignored(project, environment)
        found = {tree: trees.measured(project, tree, made.tree, environment) for tree in before}
    else:
        names = ignored.get("")
        found, now = checkpoints.measured(
            *(project, environment, before, [loop.root], line[0].plain),
            names if type(names) is dict else (),
        )
    whole, marks = _marks(found[start]), _marks(found[since])
    return _Measured(
        _lasting(found[newest]) if wave else [],
        _lasting(found[start]),
        {path: mark for path, mark in marks.items() if path in whole},
        listing.compared(ignored, now),
        {"ignored": now},
    )


def _by_digests(workspace: Workspace, loop: Loop) -> _Measured | None:
    first, last = (
        listing.read(loop.folder, name).get("files") for name in (listing.START, listing.NEWEST)
    )
    if type(first) is not dict or type(last) is not dict:
        return None
    now = listing.files(workspace.project, last)
    whole, files = listing.measured(first, now), listing.measured(last, now)
    differs = _marks(whole)
    marks = {path: mark for path, mark in _marks(files).items() if path in differs}
    return _Measured(
        [row.row for row in files], [row.row for row in whole], marks, [], {"files": now}
    )


def _lasting(rows: list[trees.Measured]) -> list[Changed]:
    return [row.row for row in rows if not listing.comes_and_goes(row.row.path)]


def _marks(rows: list[trees.Measured]) -> dict[str, str]:
    """{path: what it holds now}; a file that was renamed is gone from its old path."""
    found = {row.row.was: "" for row in rows if row.row.was}
    return {**found, **{row.row.path: row.mark for row in rows}}


# -- who did it


def _explained(workspace: Workspace, loop: Loop, rows: list[Touched]) -> list[Touched]:
    """The same, with whose tool call explains each."""
    if not rows:
        return []
    calls = list(_calls(workspace, loop))
    return [row._replace(by=_who(workspace.project, row.path, calls)) for row in rows]


def _who(project: str, path: str, calls: list[tuple[str, str, str]]) -> str:
    for agent, tool, words in calls:
        if tool in ("Bash", "PowerShell"):
            if _writes(words, path):
                return f"{agent} ({tool})"
            continue
        full = os.path.normpath(os.path.join(project, words))
        if os.path.realpath(full) == os.path.realpath(os.path.join(project, path)):
            return f"{agent} ({tool})"
        # in a worktree of its own the agent has the same paths
        inner = re.search(r"/worktrees/[^/]+/(.+)", full)
        if inner and inner[1] == path:
            return f"{agent} ({tool})"
    return ""


def _writes(line: str, path: str) -> bool:
    """Whether a command line names a path and does more than read."""
    name = os.path.basename(path)
    if not re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", line):
        return False
    # what stands in quotes is an argument, such as the pattern of a grep, and joins no commands
    line = _QUOTED.sub(lambda found: re.sub(r"[&|;>\n]", " ", found[0]), line)
    simple = re.split(r"&&|\|\||[;|\n&]", re.sub(r"\d?>&\d|2>\s*/dev/null", " ", line))
    return any(name in one and not _only_reads(one.split()) for one in simple)


def _only_reads(words: list[str]) -> bool:
    words = [word for word in words if not re.fullmatch(r"\w+=\S*", word)]
    if not words or any(">" in word for word in words):
        return not words
    program = os.path.basename(words[0])
    if program == "git":
        return words[1:2] != [] and words[1] in _GIT_READS
    if program == "sed":
        return words[1:2] == ["-n"] and not any(word.startswith("-i") for word in words)
    return program in _READERS or words[1:3] == ["-m", "pytest"]


def _calls(workspace: Workspace, loop: Loop) -> Iterator[tuple[str, str, str]]:
    """(agent, tool, path or command) of what agents of this loop did since the last look."""
    session = loop.state.session
    main = transcript.find(place.config_dir(workspace.environment), session.owner)
    known = [path for path in session.subagents.values() if type(path) is str]
    since = _earlier(loop.state.changes.at or session.started_at)
    for path in dict.fromkeys([*(transcript.agents(main) if main else []), *known]):
        line, files = looks.started(path)
        name = prompts.named(line)
        if not name or prompts.read(loop.folder, name) is None:
            name = looks.kind(path) if looks.kind(path).startswith("loop:") else ""
        if name:
            yield from ((name, tool, words) for tool, words in looks.written(files, since))


def _by_session(workspace: Workspace, loop: Loop, rows: list[Changed]) -> list[str]:
    """Of these files those that the main session itself wrote, by its transcript; of sessions
    before it what was known."""
    session = loop.state.session
    main = transcript.find(place.config_dir(workspace.environment), session.owner)
    since = _earlier(session.started_at)
    calls = [
        ("session", tool, words)
        for tool, words in (looks.written([main], since) if main else ())
        if not re.match(r"\s*loopkit\b", words)
    ]
    return [
        row.path
        for row in rows
        if row.path in loop.state.changes.session or _who(workspace.project, row.path, calls)
    ]


def _unmoved(workspace: Workspace, loop: Loop, rows: list[Changed]) -> list[str]:
    """Files that the request names and that are as they were, but for tests, and for those that
    must not change."""
    state, changed = loop.state, {path for row in rows for path in rules.paths(row)}
    words = dict.fromkeys(re.findall(r"\w[\w./-]*\.\w+", state.text))
    there = (word for word in words if os.path.isfile(os.path.join(workspace.project, word)))
    return [
        word
        for word in there
        if word not in changed and not testfiles.of_tests(word, tables.tests())
        if not rules.forbidden(state, word)
    ]


def _above(workspace: Workspace, loop: Loop) -> list[str]:
    """What says how checks run, lies above the project (up to where all throw things away), and has
    changed since the request."""
    began, table = clock.epoch(loop.state.session.started_at), tables.tests()
    folder, found = os.path.realpath(workspace.project), []
    ends = ("/", os.path.realpath(tempfile.gettempdir()))
    while began and (folder := os.path.dirname(folder)) not in ends:
        with contextlib.suppress(OSError):
            paths = [os.path.join(folder, name) for name in os.listdir(folder)]
            settings = [path for path in paths if testfiles.of_settings(path, "", table)]
            found += [path for path in settings if _age(folder, path) >= began + 1]
    return found


def _outside(workspace: Workspace, loop: Loop) -> list[str]:
    """Files that the session or its agents wrote by a tool outside the project, but for what is
    meant to be thrown away and the client's own."""
    session, project = loop.state.session, os.path.realpath(workspace.project)
    config = place.config_dir(workspace.environment)
    main = transcript.find(config, session.owner)
    calls = list(looks.written([main], _earlier(session.started_at)) if main else ())
    calls += [(tool, words) for _, tool, words in _calls(workspace, loop)]
    free = [project, os.path.realpath(config), os.path.realpath(tempfile.gettempdir())]
    named = {
        os.path.realpath(os.path.join(project, words))
        for tool, words in calls
        if tool not in ("Bash", "PowerShell") and "\0" not in words
    }
    new = [path for path in named if not any(f"{path}/".startswith(f"{one}/") for one in free)]
    return sorted({*loop.state.changes.outside, *new})


def _unanswered(loop: Loop) -> list[str]:
    """Tasks of a loop driven by `next` that are done though no coder has answered for them."""
    state, known = loop.state, answers.names(loop.folder)
    split = {one.parent for one in state.tasks.values()}
    return [
        one.id
        for one in state.tasks.values()
        if state.session.dispatches and one.status == task.COMPLETED
        if one.coded is None and one.id not in split
        if not any(re.fullmatch(rf"(?:{_CODERS})-{one.id}-\d+", name) for name in known)
    ]


def _earlier(stamp: str) -> str:
    at = clock.epoch(stamp)
    return clock.stamp(at - _SLACK) if at else ""


# -- putting back


def settled(workspace: Workspace, loop: Loop, changes: list) -> str:
    """What the person's answer about such files brings; a line to print, or "". Where they are to
    be undone, the files of the start are put back; what is there is kept as a checkpoint first."""
    settled = data_of(changes, "watched_settled")
    if settled is None or settled["how"] != UNDO:
        return ""
    names = [row.path for row in loop.state.changes.touched if row.how == UNDO]
    try:
        return _put_back(workspace, loop, names)
    except LoopError as error:
        return f"put {branch.named(names)} back by hand: {error}"


def _put_back(workspace: Workspace, loop: Loop, names: list[str]) -> str:
    from . import checkpoint

    project, environment = workspace.project, workspace.environment
    start = branch.ancestors(loop.state)
    if not start:
        return f"put {branch.named(names)} back by hand: no checkpoint holds what was there"
    said = checkpoint.make(workspace, loop, "before putting back")
    now = checkpoints.snapshot(project, environment, [loop.root]).tree
    goal = trees.with_paths(project, now, start[-1].tree, names, environment)
    done = restoring.restore(
        project, now, goal, environment, rights=listing.kept_rights(loop.folder)
    )
    left = f"; left as they are: {branch.named(done.left)}" if done.left else ""
    return f"{said}\nput back: {branch.named(done.paths) or 'nothing'}{left}"
