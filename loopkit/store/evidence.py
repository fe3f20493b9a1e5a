"""Evidence on disk, compared with what the journal says of it."""

from __future__ import annotations

import os

from ..core.evidence import consent
from ..core.journal import task as tasks
from ..core.journal.parts import HOLLOW, OLD_TESTS, WITHOUT_WORK
from ..core.journal.state import LoopState
from ..core.journal.task import Evidence
from . import atomic, digest, tables
from .loop import Loop

#: Bytes of a log at the most; what is longer is another file.
LARGEST = 1 << 25


def unlike(loop: Loop) -> dict[str, str]:
    """{task or criterion: why its evidence counts for nothing}: the file is gone or another one, it
    names another command or exit code, or nobody here has recorded it. Evidence of older versions,
    without a digest, only has to be there."""
    vouched = None
    found = {}
    for name, proof in _proofs(loop.state).items():
        if vouched is None and proof.digest:
            vouched = digest.vouched_evidence(loop.state.session.token)
        why = _fault(loop, name, proof, vouched or frozenset())
        why = why or _trial_fault(loop.state, name, proof, vouched or frozenset())
        if why:
            found[name] = why
    return found


def _proofs(state: LoopState) -> dict[str, Evidence]:
    done = [task for task in state.tasks.values() if task.status == tasks.COMPLETED]
    proofs = {task.id: task.evidence for task in done if task.evidence is not None}
    known = {name: state.criterion_evidence.get(name) for name in state.criteria}
    return {**proofs, **{name: proof for name, proof in known.items() if proof is not None}}


def _fault(loop: Loop, name: str, proof: Evidence, vouched: frozenset[str]) -> str:
    path = os.path.join(loop.folder, proof.log)
    if not os.path.isfile(path):
        return "its evidence file is gone"
    if not proof.digest:
        return ""
    line = proof.command or loop.state.check_of(name)
    recorded = digest.of_evidence(name, line, proof.exit, proof.log, proof.digest)
    if recorded not in vouched:
        return "loopkit has not recorded its evidence, the journal was written by something else"
    if digest.of(loop.folder, proof.log) != proof.digest or not _says(path, line, proof.exit):
        return f"its evidence file {proof.log} is not what was recorded"
    if consent.words(line) != consent.words(loop.state.check_of(name)):
        return "its evidence is of another command"
    return ""


def _trial_fault(state: LoopState, name: str, proof: Evidence, vouched: frozenset[str]) -> str:
    """Trials of the proof that stands count only where loopkit has recorded them."""
    line = state.check_of(name)
    for when in (WITHOUT_WORK, OLD_TESTS, HOLLOW) if proof.digest else ():
        trial = state.trials.get(name, {}).get(when)
        if trial is None or trial.command != line:
            continue
        if digest.of_trial(name, when, line, trial.result, trial.exit, trial.log) not in vouched:
            return "loopkit has not recorded what its proof came to without the work"
    return ""


def _says(path: str, line: str, code: int) -> bool:
    """Whether the first line of a log names the command, and the last one the exit code."""
    try:
        raw = atomic.read(path, LARGEST).decode("utf-8", "surrogateescape")
    except OSError:
        return False
    last = raw.rstrip("\n").rpartition("\n")[2]
    first = next((row for row in raw.split("\n", 2) if row.startswith("$ ")), "")
    return first == f"$ {tables.masks().masked(line)}" and last.startswith(f"[exit {code} in ")
