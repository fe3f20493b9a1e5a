"""Proofs put to the trial: before the work, and at the end without it."""

from __future__ import annotations

from .. import replies
from ..core.evidence import baseline as rules
from ..core.evidence import trials
from ..core.journal import prose
from ..core.journal.parts import BEFORE_WORK, GREEN, NOT_TRIED, RED
from ..core.steps import kinds
from ..core.steps.kinds import Step
from ..store.loop import Loop
from . import baseline
from .workspace import Result, Workspace


def due(loop: Loop, steps: list[Step]) -> list[Step]:
    """What comes before the first wave and before the gate: proofs that are still to be tried, then
    others for those that prove nothing."""
    state = loop.state
    ahead = [step.kind for step in steps]
    if ahead == [kinds.OPEN_WAVE]:
        untried = [kinds.step(kinds.RED_FIRST, name) for name in trials.untried(state)]
        if untried:
            return untried
    elif ahead not in ([kinds.THOROUGH_REVIEW], [kinds.GATE], [kinds.GATE_AGAIN]):
        return steps
    return [kinds.step(kinds.PROOFS)] if trials.vain(state) else steps


def try_before(workspace: Workspace, name: str) -> Result:
    """Run a proof on the untouched tree. The same command runs once, whoever it is tried for."""
    loop = workspace.own_loop()
    line = trials.checks(loop.state)[name]
    known = trials.passed_before(loop.state, line)
    if known is None:
        outcome, failing = baseline.run_named(workspace, loop, f"{name}-before", line)
    else:
        outcome = {**known._asdict(), "passed": known.result == GREEN, "note": known.why}
        failing = loop.state.baselines.get(line, {}).get("failures", [])
    workspace.change(loop, trials.tried_before, name, outcome, failing)
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


def compared(workspace: Workspace, loop: Loop, name: str, line: str, outcome: dict) -> dict:
    """The outcome of a check that keeps something, held against how it stood before the work: what
    failed then as well does not count. `said`: that in words."""
    before = loop.state.baselines.get(line)
    if before is None or outcome["passed"] or not trials.keeps(loop.state, name):
        return outcome
    failing = baseline.names_of(workspace, loop, outcome)
    result = rules.compare(before, outcome["exit"], failing)
    return {**outcome, "passed": not result.regression, "said": result.said}
