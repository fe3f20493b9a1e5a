"""Proofs put to the trial: one that proves the work fails before it, and without it again.

Before the work each proof runs on the untouched tree; at the end each criterion's once more with
the loop's changes taken away, and where tests or their settings changed, with the work and those as
they were. What passes without the work proves nothing, unless it is to keep what holds already.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..journal import stage, verdict
from ..journal.errors import Refused
from ..journal.events import Change
from ..journal.parts import (
    BEFORE_WORK,
    GREEN,
    HOLLOW,
    NO,
    NOT_TRIED,
    OLD_TESTS,
    PROOF,
    RED,
    REVIEWER,
    WITHOUT_WORK,
    Criterion,
    Trial,
)
from ..journal.state import LoopState
from . import changes, command, consent, proofs, testfiles

#: How it is said that a check has not run at all, of which nothing follows for the work.
CANNOT_START = "it cannot be started: "
#: Why none of the criteria's proofs is taken, though each may stand.
NOTHING_NEW = "no criterion fails before the work, so nothing would be shown"
#: The kind of task that mends what was found.
FIX = "remediation"
#: How often another proof is asked for in place of one that proves nothing.
MOST_REPLACED = 3


def checks(state: LoopState) -> dict[str, str]:
    """{whose: command} of the proofs that are tried: criteria, mustNots, then tasks."""
    rows = {one.id: one.command or "" for one in state.criteria.values()}
    rows |= {one.id: one.verify for one in state.tasks.values() if one.kind in ("work", FIX)}
    return {name: line for name, line in rows.items() if line}


def is_fix(state: LoopState, name: str) -> bool:
    """Whether it is a task that mends what was found; before it is then before it was mended."""
    return name in state.tasks and state.tasks[name].kind == FIX


def keeps(state: LoopState, name: str) -> bool:
    """Whether a proof shows what holds already and has to stay so."""
    if name in state.tasks:
        return state.tasks[name].keeps
    row = state.criteria[name]
    return row.keeps or row.must_not


def untried(state: LoopState) -> list[str]:
    """Whose proofs are to be tried before the work; once a wave was opened corrected ones."""
    rows = {name: line for name, line in checks(state).items() if _is_tried(state, name, line)}
    return [name for name, line in rows.items() if of(state, name, BEFORE_WORK, line) is None]


def _is_tried(state: LoopState, name: str, line: str) -> bool:
    """Whether what a proof comes to before the work can still be found out: until the work begins,
    and for one that the person or the plan's reviewer has corrected; of a fix until it begins."""
    if is_fix(state, name):
        task, by_next = state.tasks[name], state.session.dispatches
        return bool(by_next) and name in state.open and not task.attempts and not task.runs
    newest = [row for row in state.replaced if row.id == name][-1:]
    return not state.waves or any(row.word and row.new == line for row in newest)


def of(state: LoopState, name: str, when: str, line: str | None = None) -> Trial | None:
    """What the present proof came to when it was tried; None where it was not."""
    trial = state.trials.get(name, {}).get(when)
    wanted = checks(state).get(name) if line is None else line
    return trial if trial is not None and trial.command == wanted else None


def before_of(state: LoopState, line: str) -> Trial | None:
    """What the same command came to before the work, whoever it was tried for."""
    tried = ((name, when) for name, when in state.trials.items() if not is_fix(state, name))
    rows = [when.get(BEFORE_WORK) for _, when in tried]
    return next((row for row in rows if row is not None and row.command == line), None)


def tried_before(
    state: LoopState, name: str, line: str, outcome: dict, failing: list[str]
) -> list[Change]:
    """What a proof comes to on the untouched tree; where it keeps something and fails, that is its
    baseline. Nothing where it has another by now, or that cannot be found out any more. failing:
    the names that it printed."""
    if checks(state).get(name) != line or not _is_tried(state, name, line):
        return []
    exit_code = outcome["exit"]
    if exit_code in command.UNSTARTABLE:
        result, why = NOT_TRIED, CANNOT_START + (outcome["note"] or f"exit {exit_code}")
    elif exit_code in (command.OUT_OF_TIME, None):
        result, why = NOT_TRIED, outcome["note"]
    else:
        result, why = (GREEN if outcome["passed"] else RED), ""
    trial = tried(name, BEFORE_WORK, result, line, why, outcome)
    if result != RED or not keeps(state, name) or line in state.baselines:
        return [trial]
    row = {"command": line, "exit": exit_code, "failures": failing, "log": outcome["log"]}
    return [trial, ("baseline_recorded", row)]


def tried_apart(state: LoopState, name: str, line: str, found: Mapping[str, tuple]) -> list[Change]:
    """What a proof comes to apart from the real tree: {when: (result, why, outcome or None)}."""
    return [
        tried(name, when, result, line, why, outcome or {})
        for when, (result, why, outcome) in found.items()
    ]


def tried(name: str, when: str, result: str, line: str, why: str, outcome: dict) -> Change:
    """The event of a trial. outcome: of the run; {} where there was none."""
    row = {"id": name, "when": when, "result": result, "command": line, "why": why}
    row |= {"program": outcome["program"]} if outcome.get("program") else {}
    return ("proof_tried", {**row, "exit": outcome.get("exit"), "log": outcome.get("log", "")})


# -- what proves nothing


def vain(state: LoopState) -> dict[str, str]:
    """{whose: why} of proofs that prove nothing: another is to be given."""
    faults = {name: _vain(state, name, line) for name, line in checks(state).items()}
    found = {name: why for name, why in faults.items() if why}
    if not found and not state.waves and all(row.keeps for row in _criteria(state)):
        found = {row.id: NOTHING_NEW for row in _criteria(state)}
    return found


def _vain(state: LoopState, name: str, line: str) -> str:
    if is_fix(state, name):
        return ""
    before = of(state, name, BEFORE_WORK, line) if _is_tried(state, name, line) else None
    if before is not None and before.exit in command.UNSTARTABLE:
        return before.why
    refused = _refused(state, name)
    if refused or keeps(state, name):
        return refused
    if before is not None and before.result == GREEN:
        return "passes before the work: proves nothing"
    without = of(state, name, WITHOUT_WORK, line)
    if without is not None and without.result == GREEN:
        return "passes without the work too: proves nothing"
    return ""


def _refused(state: LoopState, name: str) -> str:
    """Why a review says that the proof does not show it, unless the person let it pass."""
    seen = state.shown.get(name)
    if seen is None or seen.word != NO:
        return ""
    for finding in state.findings.values():
        if finding.category == PROOF and name in finding.breaks:
            if (finding.resolution or {}).get("how") == "waive":
                return ""
    return f"does not show it, the review says: {seen.text}"


def _criteria(state: LoopState) -> list[Criterion]:
    """Those that rest on a command."""
    return [row for row in state.criteria.values() if row.command and not row.must_not]


def replaced(state: LoopState, rows: list[dict]) -> list[Change]:
    """Other proofs, or `keeps`, for those that prove nothing. rows: {id, proof, keeps, why}. Raises
    Refused where one is missing, the same again, or says too late that it keeps."""
    stage.running(state)
    wanted, given = vain(state), {row["id"]: row for row in rows}
    for name in given:
        if name not in wanted:
            todo = f"asked for: {', '.join(wanted) or 'none'}"
            raise Refused(f"the proof of {name} stands", todo)
    made: list[Change] = []
    for name, why in wanted.items():
        row = given.get(name)
        if row is None:
            if why == NOTHING_NEW and given:  # one other proof is enough
                continue
            raise Refused(f"nothing is said of {name}: {why}", "give another proof for it")
        made += _replaced(state, name, row, why)
    return made


def _replaced(state: LoopState, name: str, row: dict, why: str) -> list[Change]:
    line, old = row["proof"].strip(), checks(state)[name]
    must_not = name in state.criteria and state.criteria[name].must_not
    kept = row["keeps"] and not must_not
    if kept and state.waves:
        what = f"{name} was to be new, and its proof {why}"
        raise Refused(what, "give a proof that fails without the work")
    if not must_not:  # that one may do without
        line = line or old
        if not kept and command.same(old, command.split(line)):
            todo = "another one" + ("" if state.waves else ", or keeps: true for what stays so")
            raise Refused(f"{name}: `{old}` {why}", f"give {todo}")
    if name in state.tasks:
        return [("task_changed", {"id": name, "verify": line, "keeps": kept})]
    data = {"id": name, "command": line, "keeps": kept, "why": row["why"] or why, "failed": False}
    made: list[Change] = [("proof_replaced", data)]
    count = sum(one.id == name for one in state.replaced) + 1
    if count >= MOST_REPLACED:
        reason = f"{count} proofs of {name} have proved nothing ({why}): a person has to look"
        made.append(("paused", {"verdict": verdict.WAITING, "reason": reason}))
    return made


def corrected(state: LoopState, name: str, line: str, why: str, word: str) -> list[Change]:
    """Another proof of a criterion or mustNot, on somebody's word (of journal/parts); also
    while the loop is paused for it. The old one stays on record. Raises Refused, UsageFault."""
    if state.session.status in verdict.FINAL:
        stage.running(state)  # says so
    row = state.criteria.get(name)
    if row is None or not row.command:
        known = ", ".join(one.id for one in state.criteria.values() if one.command) or "none"
        raise Refused(f"there is no proof of {name}", f"there are: {known}", code="unknown")
    if not why.strip():
        raise Refused("no reason given", f'loopkit proof {name} --why "<why>" -- <command>')
    if command.same(row.command, command.accept(line)):
        raise Refused(f"`{line}` is the proof of {name} already", "give another one")
    seen = state.criterion_evidence.get(name)
    failed = seen is not None and not seen.passed
    data = {"id": name, "command": line, "keeps": row.keeps, "why": why.strip(), "failed": failed}
    return [("proof_replaced", {**data, **({"word": word} if word else {})})]


def reviewed(state: LoopState, rows: list[dict]) -> list[Change]:
    """The proofs that the plan's reviewer corrects. rows: {id, proof, why}. Raises as that."""
    return [
        change
        for row in rows
        for change in corrected(state, row["id"], row["proof"], row["why"], REVIEWER)
    ]


# -- what the verdict rests on


def gaps(state: LoopState) -> list[str]:
    """Which criteria no command shows, and what was not tried of the others, a line each."""
    lines = []
    for row in state.criteria.values():
        if row.must_not:
            continue
        if not row.command or row.type == proofs.REVIEWED:
            lines.append(f"{row.id} rests on {row.type or 'words'} alone")
        if not row.command or row.keeps:
            continue
        for when, what in ((BEFORE_WORK, "before the work"), (WITHOUT_WORK, "without the work")):
            trial = of(state, row.id, when)
            if trial is not None and trial.result == GREEN:
                lines.append(f"{row.id} passes {what}")
            elif trial is None or trial.result != RED:
                why = (trial.why if trial else "") or "nobody has run it there"
                lines.append(f"{row.id} not tried {what}: {why}")
    return lines


def weakened(state: LoopState) -> list[str]:
    """What may have passed only since its tests, their settings or its program were changed."""
    lines: list[str] = []
    ran: list[str] = []
    for row in state.criteria.values():
        trial = of(state, row.id, OLD_TESTS) if row.command else None
        if trial is not None:
            if trial.result != NOT_TRIED and consent.is_runner(trial.command):
                ran.append(trial.command)
            how = {RED: "fails", NOT_TRIED: "was not tried"}.get(trial.result)
            if how:
                lines.append(f"{row.id} {how} with tests and settings as before: {trial.why}")
        before, now = of(state, row.id, BEFORE_WORK), state.criterion_evidence.get(row.id)
        if before is not None and now is not None and now.passed:
            was, program = before.program, now.program
            if was and program != was:
                name = program.rpartition(" ")[0] or "none"
                lines.append(f"{row.id} runs another program than before the work: {name}")
    lines += [
        f"no check ran {path} as it was before the work"
        for path in state.changes.tests
        if not any(testfiles.runs(line, path, state.folder) for line in ran)
    ]
    measured = {path for row in state.changes.whole or () for path in changes.paths(row)}
    hidden = [path for path in state.changes.settings if path not in measured]
    lines += [
        f"{path} changed between the request and the first wave" for path in state.changes.unfit
    ]
    lines += [
        f"what says how checks run changed above the project: {path}"
        for path in state.changes.above
    ]
    return lines + [f"git ignores what says how checks run, and it changed: {p}" for p in hidden]


def unfixed(state: LoopState) -> list[str]:
    """Fixes whose check passed before them: nothing shows that they were made."""
    seen = {name: of(state, name, BEFORE_WORK) for name in state.tasks if is_fix(state, name)}
    green = [name for name, trial in seen.items() if trial and trial.result == GREEN]
    return [f"{name}'s check passed before its fix: it does not show it" for name in green]


def thin(state: LoopState) -> dict[str, str]:
    """{whose: functions} of proofs that pass though nothing is left in the functions that the work
    changed: they see names alone."""
    seen = {row.id: of(state, row.id, HOLLOW) for row in _criteria(state)}
    return {name: row.why for name, row in seen.items() if row and row.result == GREEN}


def silent(state: LoopState) -> str:
    """Why nothing could be emptied for any proof, where that is worth a word."""
    seen = [of(state, row.id, HOLLOW) for row in _criteria(state)]
    return next((row.why for row in seen if row and row.result == NOT_TRIED), "")


def hollow(state: LoopState) -> list[str]:
    """The same, where no check at all sees what they do, in a line."""
    rows = [of(state, row.id, HOLLOW) for row in state.criteria.values() if row.command]
    found = thin(state)
    if not found or any(row is not None and row.result == RED for row in rows):
        return []
    return [f"every check passes though nothing is left in {next(iter(found.values()))}"]


def untold(state: LoopState) -> list[str]:
    """Of what must not happen or has to stay: whose check failed before the work and names nothing,
    so that nobody can compare."""
    lines = []
    for name, line in checks(state).items():
        before = of(state, name, BEFORE_WORK, line)
        known = state.baselines.get(line)
        if before is None or before.result != RED or not keeps(state, name) or known is None:
            continue
        if not known["failures"] and known["exit"]:  # with 0 there was no test to run
            lines.append(f"{name} failed before the work too and names nothing to compare")
    return lines
