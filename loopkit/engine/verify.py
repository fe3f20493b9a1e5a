"""Run a verification and keep what it printed as evidence."""

from __future__ import annotations

import itertools
import os

from ..core.evidence import command
from ..core.journal.errors import Damaged
from ..store import atomic, digest, tables
from . import process

TAIL = 2000


def run(
    project: str,
    work: str,
    folder: str,
    target: str,
    line: str,
    files: list[str],
    seconds: float,
    environment: dict,
) -> dict:
    """Run a stored command line in the folder `work`; gives the data of a `…_verified` event, plus
    `output` (its end) and `signature` (of its first error, or "").

    project: what `files` are relative to · folder: the loop's, where the log goes to
    `evidence/<target>-<number>.log` · files: paths that the evidence vouches for, taken before the
    run, so that an edit during it makes the evidence stale. Raises Damaged where no log can be
    written.
    """
    seen = {path: digest.of(project, path) for path in files}
    commit = digest.head(project, environment)
    log = os.path.join(folder, "evidence")
    try:
        atomic.check_inside(folder, log)
        os.makedirs(log, exist_ok=True)
        relative, log = _new_log(folder, target)
        with open(log, "wb") as file:
            file.write(f"$ {tables.masks().masked(line)}\n".encode("utf-8", "surrogateescape"))
        outcome = process.run(command.split(line), work, log, seconds, environment)
        note = f"; {outcome.note}" if outcome.note else ""
        with open(log, "ab") as file:
            ending = f"\n[exit {outcome.exit} in {outcome.seconds:.1f} s{note}]\n"
            file.write(ending.encode("utf-8", "replace"))
        output = _tail(log)
        mark = "" if outcome.exit == 0 else _signature(log)
    except OSError as error:
        way_out = "make room or give write access; nothing was recorded"
        raise Damaged(f"cannot write {log}: {error.strerror}", way_out) from None
    return {
        "passed": outcome.exit == 0,
        "exit": outcome.exit,
        "log": relative,
        "seconds": round(outcome.seconds, 3),
        "note": outcome.note,
        "head": commit,
        "files": seen,
        "output": output,
        "signature": mark,
    }


def _new_log(folder: str, target: str) -> tuple[str, str]:
    """A new log, `evidence/T-003-2.log`: its path relative to the loop's folder, and whole."""
    for number in itertools.count(1):
        relative = f"evidence/{target}-{number}.log"
        log = os.path.join(folder, relative)
        try:
            os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        except FileExistsError:
            continue
        return relative, log
    raise AssertionError


def _signature(log: str) -> str:
    from ..core.evidence import signature

    with open(log, "rb") as file:
        return signature.of(file.read(signature.LOOKED).decode("utf-8", "replace"))


def _tail(log: str) -> str:
    with open(log, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL))
        return file.read().decode("utf-8", "replace")
