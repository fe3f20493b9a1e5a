"""Proofs put to the trial: before the work, and at the end without it."""

from __future__ import annotations

import os
import time

from .. import replies
from ..core.evidence import baseline as rules
from ..core.evidence import command, trials
from ..core.health import checkpoints
from ..core.journal import prose, settings, stage
from ..core.journal.errors import LoopError, Refused
from ..core.journal.parts import BEFORE_WORK, GREEN, NOT_TRIED, PROOF, RED, WITHOUT_WORK
from ..core.journal.state import LoopState
from ..core.steps import kinds
from ..core.steps.kinds import Step
from ..engine import trees, without
from ..engine.checkpoints import snapshot
from ..engine.git import repository
from ..store import digest, tables
from ..store.loop import Loop
from . import baseline, verify
from .workspace import OutOfTime, Result, Workspace

#: Seconds that the runs with and without the work of one proof may take in all.
MOST_SECONDS = 480


def due(loop: Loop, steps: list[Step]) -> list[Step]:
    """What comes before the first wave and before the gate: proofs that are still to be tried, then
    others for those that prove nothing."""
    state = loop.state
    ahead = [step.kind for step in steps]
    if ahead == [kinds.OPEN_WAVE]:
        untried = [kinds.step(kinds.RED_FIRST, name) for name in trials.untried(state)]
        if untried:
            return untried
    elif not _asks_for_proofs(state, steps) and ahead not in (
        *([kinds.THOROUGH_REVIEW], [kinds.GATE], [kinds.GATE_AGAIN]),
    ):
        return steps
    return [kinds.step(kinds.PROOFS)] if trials.vain(state) else steps


def _asks_for_proofs(state: LoopState, steps: list[Step]) -> bool:
    """A finding that waits to be settled says that a proof does not show its criterion."""
    names = [step.subject for step in steps if step.kind == kinds.RESOLVE]
    return any(state.findings[name].category == PROOF for name in names)


def try_before(workspace: Workspace, name: str) -> Result:
    """Run a proof on the untouched tree. The same command runs once, whoever it is tried for."""
    loop = workspace.own_loop()
    line = trials.checks(loop.state)[name]
    known = trials.passed_before(loop.state, line)
    if known is None:
        outcome, failing = baseline.run_named(workspace, loop, f"{name}-before", line)
    else:
        why = known.why.removeprefix(trials.CANNOT_START)
        outcome = {**known._asdict(), "passed": known.result == GREEN, "note": why}
        failing = loop.state.baselines.get(line, {}).get("failures", [])
    workspace.change(loop, trials.tried_before, name, line, outcome, failing)
    return Result(loop, _said(loop, name, line), {"id": name})


def _said(loop: Loop, name: str, line: str) -> str:
    trial = trials.of(loop.state, name, BEFORE_WORK, line)
    if trial is None or trial.result == NOT_TRIED:
        return f"{name} not tried before the work: {trial.why if trial else 'it was changed'}"
    if not trials.keeps(loop.state, name):
        must = "as it must" if trial.result == RED else "so it proves nothing"
        return f"{name} {'fails' if trial.result == RED else 'passes'} before the work, {must}"
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


def correct(workspace: Workspace, target: str, words: list[str], why: str = "") -> Result:
    """Put another proof in the place of a criterion's or mustNot's that is wrong, on the person's
    word: ask them first. Card and report keep the old one."""
    loop = workspace.own_loop()
    if workspace.unattended:
        what = "nobody can be asked, and only the person corrects a proof"
        raise Refused(what, "next: loopkit next", code="nobody_to_ask")
    name, line = target.upper(), command.quote(words)
    workspace.change(loop, trials.corrected, name, line, why)
    return Result(loop, f"the proof of {name} is now: {prose.clean(line, 300)}").going_on()


# -- at the end


def run(
    workspace: Workspace, loop: Loop, name: str, line: str, files: list[str]
) -> tuple[dict, tuple | None]:
    """Run the check of a criterion or mustNot. (outcome; in review and of one that is new also what
    it came to without the work: result, why, that run's outcome.)"""
    earlier, again = loop.state.criterion_evidence.get(name), line not in loop.state.baselines
    if loop.state.stage != stage.REVIEW or trials.keeps(loop.state, name):
        outcome = verify.run(workspace, loop, name, line, files, None, earlier, again)
        return _compared(workspace, loop, name, line, outcome), None
    seen = {path: digest.of(workspace.project, path) for path in files}
    known = _same(loop.state, name, line, seen)
    if known is not None:
        return known
    before = trials.of(loop.state, name, WITHOUT_WORK, line)
    if before is not None and before.result == NOT_TRIED and before.log:
        tried = _told(before.result, before.why)  # there was no time left for the real tree
    else:
        tried = _without(workspace, loop, name, line)
    trial = tried.word, tried.why, tried.without
    apart = tried.with_work
    if apart is None or not apart["passed"]:  # then the real tree decides
        if apart is not None and apart["seconds"] > workspace.time.left:
            row = (name, line, *trial[:2], apart)
            workspace.change(loop, trials.tried_without, *row)
            raise OutOfTime
        return verify.run(workspace, loop, name, line, files, None, earlier, again), trial
    head = digest.head(workspace.project, workspace.environment)
    outcome = {**apart, "files": seen, "head": head, "shown": verify.shown(loop, apart)}
    return outcome, trial


def told(trial: tuple | None) -> str:
    """What a proof came to without the work, to follow what it came to with it."""
    if trial is None:
        return ""
    result, why, _ = trial
    words = {
        RED: "fails without the work",
        GREEN: f"passes without the work too{why and ': ' + why}",
    }
    return "; " + words.get(result, f"not tried without the work: {why}")


def _same(state: LoopState, name: str, line: str, seen: dict) -> tuple[dict, tuple] | None:
    """What the same command came to for another criterion, on the very same files."""
    for other, evidence in state.criterion_evidence.items():
        trial = trials.of(state, other, WITHOUT_WORK, line)
        if other == name or trial is None or trial.line < evidence.line or evidence.files != seen:
            continue
        outcome = {**evidence._asdict(), "note": "", "output": "", "signature": ""}
        outcome["shown"] = f"as for {other}"
        return outcome, (trial.result, trial.why, trial._asdict())
    return None


def _without(workspace: Workspace, loop: Loop, name: str, line: str) -> without.Tried:
    """Run a check with and without the work."""
    state, environment = loop.state, verify.environment_of(workspace)
    began = checkpoints.ancestors(state)[-1:]
    try:
        if not began:
            repository(workspace.project, environment)
            return _told(NOT_TRIED, "no checkpoint holds the tree before the work")
        now = snapshot(workspace.project, environment, [loop.root]).tree
        changed = trees.changed(workspace.project, began[0].tree, now, environment)
    except LoopError as fault:
        return _told(NOT_TRIED, fault.what)
    folder = workspace.work_folder(state)
    inner = os.path.relpath(folder, workspace.project)
    paths = trials.taken_away([path for _, path in changed], line, tables.tests(), inner)
    if not paths:
        return _told(GREEN, "no file has changed since the start")
    until = min(time.monotonic() + MOST_SECONDS, workspace.time.until)
    tried = without.tried(
        workspace.project,
        folder,
        paths,
        began[0].tree,
        line,
        settings.of(state, "verify_seconds"),
        environment,
        until,
        loop.folder,
        name,
    )
    late = tried.word == NOT_TRIED and time.monotonic() >= until
    if late and not workspace.time.whole:
        raise OutOfTime
    return tried


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
