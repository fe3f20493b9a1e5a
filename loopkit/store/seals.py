"""Seals of journals: how far commands have seen one, and its digest up to there, so that a line
which is changed or removed later is noticed. `<state>/loopkit/seals/<token>`: `<offset> <digest>`.

A digest is that of the one before and the next line, so a command reads only what is new; lines of
hooks, which write without a lock, are sealed by the next command. It tells of careless changes: it
is no proof against somebody who can write there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os

from . import atomic, journal, trust


def folder() -> str:
    """Where the seals lie."""
    return os.path.join(os.path.dirname(trust.folder()), "seals")


def _path(token: str) -> str:
    return os.path.join(folder(), token)


def _read(token: str) -> tuple[int, str] | None:
    try:
        offset, digest = atomic.read(_path(token), 200).decode("ascii").split()
        return int(offset), digest
    except (OSError, ValueError):
        return None


def _digest(lines: list[bytes], digest: str = "") -> str:
    for line in lines:
        digest = hashlib.sha256(digest.encode() + line).hexdigest()
    return digest


def extend(token: str, ledger: str) -> None:
    """Seal what a journal holds by now; one that became shorter keeps its seal. No fault where that
    cannot be done: then the next command does it. The caller holds the writing lock."""
    offset, digest = _read(token) or (0, "")
    with contextlib.suppress(OSError), atomic.opened(ledger, journal.LARGEST) as file:
        file.seek(offset)
        new = file.read()
        new = new[: new.rfind(b"\n") + 1]
        if new and trust.is_token(token):
            os.makedirs(folder(), mode=0o700, exist_ok=True)
            digest = _digest(new.splitlines(keepends=True), digest)
            atomic.write(_path(token), f"{offset + len(new)} {digest}\n".encode())


def broken(token: str, ledger: str) -> bool:
    """Whether a journal is another one than was sealed; one without a seal is not. Raises
    OSError."""
    seal = _read(token) if trust.is_token(token) else None
    if seal is None:
        return False
    with atomic.opened(ledger, journal.LARGEST) as file:
        raw = file.read(seal[0])
    return len(raw) < seal[0] or _digest(raw.splitlines(keepends=True)) != seal[1]


def forget(token: str) -> None:
    """Forget the seal of a loop that is deleted."""
    if trust.is_token(token):
        atomic.remove(_path(token))
