"""Proofs put to the trial: before the work, and at the end without it."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import time
from collections.abc import Callable
from typing import NamedTuple

from .. import replies
from ..core.evidence import baseline as rules
from ..core.evidence import changes, command, consent, testfiles, trials
from ..core.health import checkpoints
from ..core.journal import prose, settings, stage
from ..core.journal.errors import LoopError
from ..core.journal.parts import (
    BEFORE_WORK,
    GREEN,
    HOLLOW,
    NOT_TRIED,
    OLD_TESTS,
    PERSON,
    RED,
    WITHOUT_WORK,
    Changed,
)
from ..core.journal.state import LoopState
from ..core.steps import due as waiting
from ..core.steps import kinds
from ..engine import without
from ..engine.checkpoints import measured
from ..engine.git import repository
from ..store import atomic, digest, tables
from ..store.loop import Loop
from . import baseline, verify
from . import consent as leaves
from .workspace import OutOfTime, Result, Workspace

#: Seconds that the runs of one proof apart from the real tree may take in all.
APART_SECONDS = 480
#: Bytes of a script that is read for the names of others.
LARGEST = 1_000_000


def try_before(workspace: Workspace, name: str) -> Result:
    """Run a proof on the untouched tree. The same command runs once, whoever it is tried for."""
    loop = workspace.own_loop()
    line = trials.checks(loop.state)[name]
    fix = trials.is_fix(loop.state, name)
    known = None if fix else trials.before_of(loop.state, line)
    if known is None:
        run = _taken_away if loop.state.waves and not fix else baseline.run_named
        outcome, failing = run(workspace, loop, f"{name}-before", line)
        outcome["program"] = _program(workspace, loop, line)
    else:
        why = known.why.removeprefix(trials.CANNOT_START)
        outcome = {**known._asdict(), "passed": known.result == GREEN, "note": why}
        failing = loop.state.baselines.get(line, {}).get("failures", [])
    workspace.change(loop, trials.tried_before, name, line, outcome, failing)
    return Result(loop, _said(loop, name, line), {"id": name})


def _taken_away(workspace: Workspace, loop: Loop, target: str, line: str) -> tuple[dict, list[str]]:
    """The outcome of a check with all of the work taken away, and the names that it printed."""
    since = _since(workspace, loop)
    paths = sorted({path for row in since.rows for path in changes.paths(row)})
    tried = _told(NOT_TRIED, since.why)
    if not since.why:
        tried = without.before(_apart(workspace, loop, target, line, paths, since))
        _check_time(workspace, tried)
    if tried.word == NOT_TRIED or tried.without is None:
        note = {"exit": None, "passed": False, "note": tried.why, "log": ""}
        return note, []
    return tried.without, baseline.names_of(workspace, loop, tried.without)


def before_wave(workspace: Workspace, loop: Loop) -> Result:
    """Try what may run before the first wave is opened by hand. Exit 1 where a proof proves
    nothing."""
    ahead = waiting.due(loop.state)[0].kind
    if loop.state.waves or ahead not in (kinds.OPEN_WAVE, kinds.RED_FIRST, kinds.PROOFS):
        return Result(loop, "")
    lines = [
        try_before(workspace, name).text
        for name in trials.untried(loop.state)
        if leaves.allowed(workspace, loop, trials.checks(loop.state)[name])
    ]
    loop.refresh()
    vain = [f"no wave: the proof of {name} {why}" for name, why in trials.vain(loop.state).items()]
    return Result(loop, "\n".join([*lines, *vain]), {}, [waiting.NEXT], int(bool(vain)))


def _said(loop: Loop, name: str, line: str) -> str:
    trial = trials.of(loop.state, name, BEFORE_WORK, line)
    if trial is None or trial.result == NOT_TRIED:
        return f"{name} not tried before the work: {trial.why if trial else 'it was changed'}"
    if not trials.keeps(loop.state, name):
        must = "as it must" if trial.result == RED else "so it proves nothing"
        what = "fix" if trials.is_fix(loop.state, name) else "work"
        return f"{name} {'fails' if trial.result == RED else 'passes'} before the {what}, {must}"
    if trial.result == GREEN:
        return f"{name} passes before the work"
    known = loop.state.baselines.get(line, {}).get("failures") or []
    names = prose.count(len(known), "name") if known else "it names nothing to compare"
    return f"{name} fails before the work: only what fails newly counts ({names})"


def ask(workspace: Workspace) -> Result:
    """Which proofs prove nothing, and the form for others."""
    loop = workspace.own_loop()
    state = loop.state
    lines = ["proofs that prove nothing:"]
    for name, why in trials.vain(state).items():
        what = state.criteria[name].text if name in state.criteria else state.tasks[name].subject
        line = prose.clean(trials.checks(state)[name], 200)
        lines.append(f"  {name} {prose.clean(what, 200)}: `{line}` {why}")
    lines.append("a proof fails as long as the work is not done, and passes because of it;")
    if state.waves:
        lines.append("these pass with the loop's changes taken away: give one that looks at them")
    else:
        lines.append("what holds already and has to stay so: keeps: true in place of a proof")
    return Result(loop, "\n".join([*lines, "the form:", replies.form("proofs")]))


def record(workspace: Workspace, rows: list[dict]) -> Result:
    """Record other proofs, or nothing."""
    loop = workspace.own_loop()
    workspace.change(loop, trials.replaced, rows)
    names = ", ".join(row["id"] for row in rows)
    return Result(loop, f"proofs recorded: {names}", {"ids": [row["id"] for row in rows]})


def correct(
    workspace: Workspace, target: str, words: list[str], why: str = "", word: str = ""
) -> Result:
    """Put another proof in the place of a criterion's or mustNot's that is wrong, on the person's
    word: in a session the client asks them. It is tried at once with all the work taken away. Card
    and report keep the old one."""
    loop = workspace.persons_loop("corrects a proof")
    name, line = target.upper(), shlex.join(words)
    # the hook asked the person: the call to which they said yes has its word
    granted = leaves.granted(workspace, loop, word) if word else []
    whose = PERSON if line in granted or not workspace.session else ""
    workspace.change(loop, trials.corrected, name, line, why, whose)
    said = [f"the proof of {name} is now: {prose.clean(line, 300)}"]
    if loop.state.waves and name in trials.untried(loop.state) and loop.state.wave is None:
        if leaves.allowed(workspace, loop, line):
            said.append(try_before(workspace, name).text)
            loop.refresh()
    return Result(loop, "\n".join(said)).going_on()


# -- at the end


def run(
    workspace: Workspace, loop: Loop, name: str, line: str, files: list[str]
) -> tuple[dict, dict[str, tuple]]:
    """Run the check of a criterion or mustNot. (outcome; in review also what it came to apart from
    the real tree: {when: (result, why, that run's outcome)}.)"""
    earlier, again = loop.state.criterion_evidence.get(name), line not in loop.state.baselines
    kept, in_review = trials.keeps(loop.state, name), loop.state.stage == stage.REVIEW
    given = (workspace, loop, name, line)
    runs = functools.partial(verify.run, *given, files, None, earlier, again)
    since = _since(workspace, loop) if in_review else None
    tried: dict[str, tuple] = {}
    if since is None or kept:
        outcome = _compared(*given, runs())
    else:
        outcome, tried = _new(*given, files, since, runs)
    outcome["program"] = _program(workspace, loop, line)
    if since is not None and outcome["passed"] and OLD_TESTS not in tried:
        tried |= _with_old_tests(*given, since)
    if since is not None and outcome["passed"] and not loop.state.criteria[name].must_not:
        tried |= {} if HOLLOW in tried else _hollow(*given, since)
    return outcome, tried


def _new(
    workspace: Workspace,
    loop: Loop,
    name: str,
    line: str,
    files: list[str],
    since: _Since,
    runs: Callable[[], dict],
) -> tuple[dict, dict[str, tuple]]:
    """The check of what is new: with the work and without it. runs: it in the real tree."""
    seen = {path: digest.of(workspace.project, path) for path in files}
    known = _same(loop.state, name, line, seen)
    if known is not None:
        return known
    before = trials.of(loop.state, name, WITHOUT_WORK, line)
    if before is not None and before.result == NOT_TRIED and before.log:
        tried = _told(before.result, before.why)  # there was no time left for the real tree
    else:
        tried = _without(workspace, loop, name, line, since)
    trial = {WITHOUT_WORK: (tried.word, tried.why, tried.without)}
    apart = tried.with_work
    if apart is None or not apart["passed"]:  # then the real tree decides
        if apart is not None and apart["seconds"] > workspace.time.left:
            cut = {WITHOUT_WORK: (tried.word, tried.why, apart)}
            workspace.change(loop, trials.tried_apart, name, line, cut)
            raise OutOfTime
        outcome = runs()
        fails = {WITHOUT_WORK: (NOT_TRIED, "it does not pass with the work", None)}
        return outcome, trial if outcome["passed"] else fails
    head = digest.head(workspace.project, workspace.environment)
    outcome = {**apart, "files": seen, "head": head, "shown": verify.shown(loop, apart)}
    return outcome, trial


def _program(workspace: Workspace, loop: Loop, line: str) -> str:
    """The program that the system finds for a check, and what tells it from another: the digest of
    one in the project, else size and time. "" where the work itself may bring it."""
    word = command.unwrapped(command.split(line))[0]
    if "/" in word and not consent.is_runner(line):
        return ""
    folder = workspace.work_folder(loop.state)
    path = os.path.join(folder, word)
    if "/" not in word:
        places = verify.environment_of(workspace)["PATH"].split(os.pathsep)
        inside = os.pathsep.join(os.path.join(folder, place) for place in places)
        path = shutil.which(word, path=inside) or ""
    if not os.path.isfile(path):
        return ""
    inner = os.path.relpath(path, workspace.project)
    if not inner.startswith(os.pardir) and not os.path.islink(path):
        return f"{inner} {digest.of(workspace.project, inner)}"
    known = os.stat(path)
    return f"{path} {known.st_size}:{known.st_mtime_ns}"


def told(tried: dict[str, tuple]) -> str:
    """What a proof came to apart from the real tree, to follow what it came to there."""
    said = []
    for when, (result, why, _) in tried.items():
        if when == HOLLOW:
            said += [f"passes though nothing is left in {why}"] if result == GREEN else []
            continue
        how, good = _HOW[when]
        words = {RED: f"fails {how}", GREEN: f"passes {how}"}.get(result, f"not tried {how}")
        said.append(words if result == good or not why else f"{words}: {why}")
    return "".join(f"; {words}" for words in said)


#: How it is tried, and what it has to come to.
_HOW = {
    WITHOUT_WORK: ("without the work", RED),
    OLD_TESTS: ("with tests and settings as before", GREEN),
}


def _same(state: LoopState, name: str, line: str, seen: dict) -> tuple[dict, dict] | None:
    """What the same command came to for another criterion, on the very same files."""
    for other, evidence in state.criterion_evidence.items():
        trial = trials.of(state, other, WITHOUT_WORK, line)
        if other == name or trial is None or trial.line < evidence.line or evidence.files != seen:
            continue
        outcome = {**evidence._asdict(), "note": "", "output": "", "signature": ""}
        outcome["shown"] = f"as for {other}"
        more = {when: trials.of(state, other, when, line) for when in (OLD_TESTS, HOLLOW)}
        known = {WITHOUT_WORK: trial, **more}
        tried = {when: (one.result, one.why, one._asdict()) for when, one in known.items() if one}
        return outcome, tried
    return None


def _without(
    workspace: Workspace, loop: Loop, name: str, line: str, since: _Since
) -> without.Tried:
    """Run a check with and without the work."""
    if since.why:
        return _told(NOT_TRIED, since.why)
    changed = sorted(path for row in since.rows for path in changes.paths(row))
    paths = testfiles.taken_away(changed, line, tables.tests(), _inner(workspace, loop))
    if not paths:
        return _told(GREEN, "no file has changed since the start")
    tried = without.tried(_apart(workspace, loop, name, line, paths, since))
    _check_time(workspace, tried)
    return tried


def _check_time(workspace: Workspace, tried: without.Tried) -> None:
    """Raises OutOfTime where the runs were cut and another call would have more time for them."""
    late = tried.word == NOT_TRIED and workspace.time.left <= 0
    if late and not workspace.time.whole:
        raise OutOfTime


def _with_old_tests(
    workspace: Workspace, loop: Loop, name: str, line: str, since: _Since
) -> dict[str, tuple[str, str, dict | None]]:
    """Run a check with the work, but its tests and their settings as they were; {} where they
    are, and where nobody knows."""
    kept = trials.keeps(loop.state, name)
    inner = _inner(workspace, loop)
    rows = testfiles.old_tests(since.rows, line, kept, tables.tests(), inner)
    if kept:
        read = functools.partial(_text, workspace.project)
        scripts = testfiles.called(since.rows, line, read, tables.tests(), inner)
        rows += [row for row in scripts if row not in rows]
    if not rows:
        return {}
    paths = [path for row in rows for path in changes.paths(row)]
    found = without.held(_apart(workspace, loop, name, line, paths, since))
    _check_time(workspace, found)
    word, why, outcome = found.word, found.why, found.without
    if outcome is not None and kept and line in loop.state.baselines:
        passed = _compared(workspace, loop, name, line, outcome)["passed"]
        word, why = (GREEN if passed else RED), ""
    weak = [changes.told(row) for row in rows if row.status != "A"] or map(changes.told, rows)
    return {OLD_TESTS: (word, why or ", ".join(list(weak)[: changes.SHOWN]), outcome)}


def _text(project: str, path: str) -> str:
    try:
        return atomic.read(os.path.join(project, path), LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _hollow(
    workspace: Workspace, loop: Loop, name: str, line: str, since: _Since
) -> dict[str, tuple[str, str, dict | None]]:
    """Run a check with the work, but nothing in the functions that it changed; {} where that says
    nothing. Where it passes, and no criterion's did not, the mustNots' too until one fails: so
    something looks at what the work does."""
    found = _emptied(workspace, loop, name, line, since)
    known = [when.get(HOLLOW) for when in loop.state.trials.values()]
    if GREEN in (row[0] for row in found.values()) and not _has_red(known):
        for other in loop.state.must_nots:
            shown = loop.state.criterion_evidence.get(other.id)
            if shown is None or not shown.passed:
                continue
            seen = _emptied(workspace, loop, other.id, other.command, since)
            for when, (result, _, ran) in seen.items():
                token = loop.state.session.token
                digest.vouch_trial(token, other.id, when, other.command, result, ran or {})
            workspace.change(loop, trials.tried_apart, other.id, other.command, seen)
            if RED in (row[0] for row in seen.values()):
                break
    return found


def _has_red(rows: list) -> bool:
    return any(row is not None and row.result == RED for row in rows)


def _emptied(
    workspace: Workspace, loop: Loop, name: str, line: str, since: _Since
) -> dict[str, tuple[str, str, dict | None]]:
    changed = sorted(path for row in since.rows for path in changes.paths(row))
    paths = testfiles.work(changed, line or "", tables.tests(), _inner(workspace, loop))
    code = [path for path in paths if path.endswith(".py")]
    if since.why or not code or not line:
        return {}
    found = without.hollowed(_apart(workspace, loop, name, line, code, since))
    _check_time(workspace, found)
    word, ran = found.word, found.without
    if word == RED and ran is not None:
        word = NOT_TRIED if _compared(workspace, loop, name, line, ran)["passed"] else RED
    if word == NOT_TRIED and found.why != without.ONLY_COMMENTS:
        return {}
    return {HOLLOW: (word, found.why, ran)}


class _Since(NamedTuple):
    """start: the tree before the work · rows: what has changed since · why: that is not known."""

    start: str
    rows: list[Changed]
    why: str = ""


def _since(workspace: Workspace, loop: Loop) -> _Since:
    environment = verify.environment_of(workspace)
    line = checkpoints.ancestors(loop.state)
    try:
        if not line:
            repository(workspace.project, environment)  # says so where there is none
            return _Since("", [], "no checkpoint holds the tree before the work")
        start = line[-1].tree
        found, _ = measured(workspace.project, environment, [start], [loop.root], line[0].plain)
    except LoopError as fault:
        return _Since("", [], fault.what)
    return _Since(start, [row.row for row in found[start]])


def _inner(workspace: Workspace, loop: Loop) -> str:
    """Where checks run, from the project."""
    return os.path.relpath(workspace.work_folder(loop.state), workspace.project)


def _apart(
    workspace: Workspace, loop: Loop, name: str, line: str, paths: list[str], since: _Since
) -> without.Check:
    return without.Check(
        workspace.project,
        workspace.work_folder(loop.state),
        paths,
        since.start,
        line,
        settings.of(loop.state, "verify_seconds"),
        verify.environment_of(workspace),
        min(time.monotonic() + APART_SECONDS, workspace.time.until),
        loop.folder,
        name,
    )


def _told(word: str, why: str) -> without.Tried:
    return without.Tried(None, None, None, word, why)


def _compared(workspace: Workspace, loop: Loop, name: str, line: str, outcome: dict) -> dict:
    """The outcome of a check that keeps something, held against how it stood before the work: what
    failed then as well does not count. `said`: that in words."""
    before = loop.state.baselines.get(line)
    if before is None or outcome["passed"] or not trials.keeps(loop.state, name):
        return outcome
    failing = baseline.names_of(workspace, loop, outcome)
    result = rules.compare(before, outcome["exit"], failing)
    return {**outcome, "passed": not result.regression, "said": result.said}
