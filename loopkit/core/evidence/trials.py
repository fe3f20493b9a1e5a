"""Proofs put to the trial: one that proves the work fails before it, and without it again.

Before the work each proof runs on the untouched tree; at the end each criterion's once more with
the loop's changes taken away. What passes there proves nothing, unless it is to keep what holds
already.
"""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ..journal import stage, verdict
from ..journal.errors import Refused
from ..journal.parts import (
    BEFORE_WORK,
    GREEN,
    NO,
    NOT_TRIED,
    OLD_TESTS,
    PROOF,
    RED,
    WITHOUT_WORK,
)
from . import baseline, changes, command, consent, proofs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..journal.events import Change
    from ..journal.parts import Changed, Trial
    from ..journal.state import LoopState

#: Exit codes of what cannot be started: it says nothing of the work.
UNSTARTABLE = (126, 127)
#: Words at the beginning of a check among which its runner is.
MOST_RUNNER = 4
#: Folders of packages that others wrote.
PACKAGES = ("node_modules", "site-packages", "vendor", "bower_components")
CANNOT_START = "it cannot be started: "
#: How often another proof is asked for in place of one that proves nothing.
MOST_REPLACED = 3


def checks(state: LoopState) -> dict[str, str]:
    """{whose: command} of the proofs that are tried: of criteria, mustNots and tasks of the plan,
    those of criteria first."""
    rows = {one.id: one.command or "" for one in state.criteria.values()}
    rows |= {one.id: one.verify for one in state.tasks.values() if one.kind == "work"}
    return {name: line for name, line in rows.items() if line}


def keeps(state: LoopState, name: str) -> bool:
    """Whether a proof shows what holds already and has to stay so."""
    if name in state.tasks:
        return state.tasks[name].keeps
    row = state.criteria[name]
    return row.keeps or row.must_not


def untried(state: LoopState) -> list[str]:
    """Whose proofs are still to be tried before the work; none once a wave was opened."""
    if state.waves:
        return []
    rows = checks(state)
    return [name for name, line in rows.items() if of(state, name, BEFORE_WORK, line) is None]


def of(state: LoopState, name: str, when: str, line: str | None = None) -> Trial | None:
    """What the present proof came to when it was tried; None where it was not."""
    trial = state.trials.get(name, {}).get(when)
    wanted = checks(state).get(name) if line is None else line
    return trial if trial is not None and trial.command == wanted else None


def passed_before(state: LoopState, line: str) -> Trial | None:
    """What the same command came to before the work, whoever it was tried for."""
    rows = [when.get(BEFORE_WORK) for when in state.trials.values()]
    return next((row for row in rows if row is not None and row.command == line), None)


def tried_before(
    state: LoopState, name: str, line: str, outcome: dict, failing: list[str]
) -> list[Change]:
    """What a proof comes to on the untouched tree; where it keeps something and fails, that is its
    baseline. Nothing where it has another by now, or the work has begun. failing: the names that it
    printed."""
    if state.waves or checks(state).get(name) != line:
        return []
    exit_code = outcome["exit"]
    if exit_code in UNSTARTABLE:
        result, why = NOT_TRIED, CANNOT_START + (outcome["note"] or f"exit {exit_code}")
    elif exit_code == baseline.CUT_SHORT:
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


# -- what is taken away


def taken_away(changed: list[str], line: str, table: dict, folder: str = ".") -> list[str]:
    """Paths of the work that a check has to need: all that changed but what belongs to tests, the
    files that the check runs among them; where nothing else changed, those.

    table: of data/toolchains.toml, names of `folders` and `files` of tests · folder: where the
    check runs.
    """
    run = _files_run(line, folder)
    work = [path for path in changed if path not in run and not of_tests(path, table)]
    return work or changed


def of_tests(path: str, table: dict) -> bool:
    """Whether a path belongs to tests and not to what they test."""
    *folders, name = path.split("/")
    in_tests = any(folder in table["folders"] for folder in folders)
    return in_tests or any(fnmatchcase(name, pattern) for pattern in table["files"])


def _files_run(line: str, folder: str) -> set[str]:
    """Paths that a check in this folder runs: its program, or what a runner of tests is given."""
    given = set()
    if consent.is_runner(line):
        given = {re.split("::?", word)[0] for word in consent.words(line)}
    paths = (word for word in (*given, consent.program_file(line)) if word)
    return {posixpath.normpath(posixpath.join(folder, path)) for path in paths}


# -- what a check itself is made of


def old_tests(
    rows: Iterable[Changed], line: str, keeps: bool, table: dict, folder: str = "."
) -> list[Changed]:
    """Of what changed the tests and settings that a check is made of, so that it could pass by
    them alone: as they were before the work it has to pass too. None where nothing was there to
    weaken; the new tests of a check that is new are its own, and what it adds to old ones, where
    more than tests changed: it fails then without that.

    table, folder: as for `taken_away`, names of `settings` as well.
    """
    rows, run = list(rows), _files_run(line, folder)
    tests = [row for row in rows if _any(row, lambda path: of_tests(path, table) or path in run)]
    setup = [row for row in rows if _any(row, lambda path: of_settings(path, line, table))]
    new = [row for row in tests if row.status == "A"]
    old = [row for row in tests if row not in new]
    if keeps:
        return [row for row in rows if row in tests or row in setup] if old or setup else []
    if len(tests) < len(rows):  # then what was only added to tests cannot be what passes
        old = [row for row in old if changes.lost(row)]
    return [row for row in rows if row in old or row in setup and row not in new]


def of_settings(path: str, line: str, table: dict) -> bool:
    """Whether a file says how checks run, or stands in for the runner of this one."""
    folder, _, name = path.rpartition("/")
    if any(fnmatchcase(name, pattern) for pattern in table["settings"]):
        return True
    if not consent.is_runner(line):
        return False
    words = command.unwrapped(list(consent.words(line)))[:MOST_RUNNER]
    runners = {posixpath.basename(word) for word in words} - {""}
    stem = name.rpartition(".")[0] or name
    return stem in runners or folder.partition("/")[0] in runners


def of_checks(
    rows: Iterable[Changed], ignored: Iterable[str], state: LoopState, table: dict
) -> dict[str, list[str]]:
    """{tests, settings}: paths of existing tests that lost something, of changed settings."""
    lines = [line for _, line in consent.checks(state)] or [""]
    rows, run = list(rows), {path for line in lines for path in _files_run(line, state.folder)}
    tests = [
        row.path
        for row in rows
        if changes.lost(row) and _any(row, lambda path: of_tests(path, table) or path in run)
    ]
    known = [*(row.path for row in rows), *(path for path in ignored if _shallow(path))]
    setup = [path for path in known if any(of_settings(path, line, table) for line in lines)]
    return {"tests": tests, "settings": [path for path in setup if path not in tests]}


def _shallow(path: str) -> bool:
    """Whether an ignored file is the project's own: packages bring settings of theirs."""
    return not any(part in PACKAGES for part in path.split("/"))


def _any(row: Changed, holds: Callable[[str], bool]) -> bool:
    return any(map(holds, changes.paths(row)))


# -- what proves nothing


def vain(state: LoopState) -> dict[str, str]:
    """{whose: why} of proofs that prove nothing: another is to be given."""
    found = {}
    for name, line in checks(state).items():
        why = _vain(state, name, line)
        if why:
            found[name] = why
    if not found and not state.waves and _nothing_new(state):
        why = "no criterion fails before the work, so nothing would be shown"
        found = {row.id: why for row in state.criteria.values() if row.command and not row.must_not}
    return found


def _vain(state: LoopState, name: str, line: str) -> str:
    before = None if state.waves else of(state, name, BEFORE_WORK, line)
    if before is not None and before.exit in UNSTARTABLE:
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
    """Why a review says that the proof does not show its criterion, unless the person let it
    pass."""
    seen = state.shown.get(name)
    if seen is None or seen.word != NO:
        return ""
    for finding in state.findings.values():
        if finding.category == PROOF and name in finding.breaks:
            if (finding.resolution or {}).get("how") == "waive":
                return ""
    return f"does not show it, the review says: {seen.text}"


def _nothing_new(state: LoopState) -> bool:
    shown = [row for row in state.criteria.values() if row.command and not row.must_not]
    return bool(shown) and all(row.keeps for row in shown)


def replaced(state: LoopState, rows: list[dict]) -> list[Change]:
    """Other proofs, or `keeps`, for those that prove nothing.

    rows: {id, proof, keeps, why}. Raises Refused where one of these is missing, is the same again,
    or says after the work that nothing had to change.
    """
    stage.running(state)
    wanted, given = vain(state), {row["id"]: row for row in rows}
    for name in given:
        if name not in wanted:
            raise Refused(
                f"the proof of {name} stands", f"asked for: {', '.join(wanted) or 'none'}"
            )
    made: list[Change] = []
    for name, why in wanted.items():
        row = given.get(name)
        if row is None:
            if why.startswith("no criterion") and given:
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


def corrected(state: LoopState, name: str, line: str, why: str) -> list[Change]:
    """Another proof of a criterion or mustNot, on the person's word; also while the loop is paused
    for it. The old one stays on record. Raises Refused, UsageFault."""
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
    return [("proof_replaced", data)]


# -- what the verdict rests on


def gaps(state: LoopState) -> list[str]:
    """Which criteria no command shows, and what was not tried of the others, one line each: why the
    work is not shown whole."""
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
            if trial is None or trial.result != RED:
                why = (trial.why if trial else "") or "nobody has run it there"
                lines.append(f"{row.id} not tried {what}: {why}")
    return lines


def weakened(state: LoopState) -> list[str]:
    """What may have passed only since its tests, their settings or its program were changed."""
    lines, ran = [], False
    for row in state.criteria.values():
        trial = of(state, row.id, OLD_TESTS) if row.command else None
        if trial is not None:
            ran = ran or trial.result != NOT_TRIED and consent.is_runner(trial.command)
            how = {RED: "fails", NOT_TRIED: "was not tried"}.get(trial.result)
            lines += [f"{row.id} {how} with tests and settings as before: {trial.why}"] * bool(how)
        before, now = of(state, row.id, BEFORE_WORK), state.criterion_evidence.get(row.id)
        if before is not None and now is not None and now.passed:
            was, program = before.program, now.program
            if was and program != was:
                name = program.rpartition(" ")[0] or "none"
                lines.append(f"{row.id} runs another program than before the work: {name}")
    if not ran:
        lines += [f"no check ran {path} as it was before the work" for path in state.changes.tests]
    measured = {path for row in state.changes.whole or () for path in changes.paths(row)}
    hidden = [path for path in state.changes.settings if path not in measured]
    return lines + [f"git ignores what says how checks run, and it changed: {p}" for p in hidden]


def untold(state: LoopState) -> list[str]:
    """Of what must not happen or has to stay: whose check failed before the work and names nothing,
    so that nobody can compare."""
    lines = []
    for name, line in checks(state).items():
        before = of(state, name, BEFORE_WORK, line)
        known = state.baselines.get(line)
        if before is None or before.result != RED or not keeps(state, name) or known is None:
            continue
        if not known["failures"]:
            lines.append(f"{name} failed before the work too and names nothing to compare")
    return lines
