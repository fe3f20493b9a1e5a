"""Which loops are this person's own: those that were started or adopted here. Standard library only.

A `.loop/` can come with a cloned repository; what stands in it is data from strangers. So each loop carries a random
token, and this machine keeps a file of that name outside every repository, `<state>/loopkit/loops/<token>`, which says
where the loop's journal lies. Without it a loop does nothing. A moved project keeps its loops; a copy beside the
original is another loop than the one that was started, and has to be adopted.
"""

from __future__ import annotations

import os

from . import atomic, journal

_LENGTH = 32


def new_token() -> str:
    """A token that nobody can guess: 128 random bits in hexadecimal."""
    return os.urandom(_LENGTH // 2).hex()


def state_home() -> str:
    """Where state is kept: `$XDG_STATE_HOME`, by default `~/.local/state`.

    LOOPKIT_STATE comes first: the hooks hand on what they go by, since a shell's profile may change the other.
    """
    state = os.environ.get("LOOPKIT_STATE") or os.environ.get("XDG_STATE_HOME") or ""
    if not os.path.isabs(state):
        state = os.path.join(os.environ.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return state


def folder() -> str:
    """Where the tokens are kept."""
    return os.path.join(state_home(), "loopkit", "loops")


def remember(root: str, name: str, token: str) -> None:
    """Note that the loop `name` of the `.loop` at `root` is ours; raises OSError."""
    place = folder()
    os.makedirs(place, mode=0o700, exist_ok=True)
    atomic.sweep(place)
    atomic.write(os.path.join(place, token), os.fsencode(_ledger(root, name)))


def forget(token: str) -> None:
    """Forget a loop that is deleted; no fault where nothing was known."""
    try:
        if _is_token(token):
            os.unlink(os.path.join(folder(), token))
    except OSError:
        pass


def known(root: str, name: str, token: str) -> bool:
    """Whether the loop was started or adopted by this person: here, or where the project stood before it was moved.

    Raises OSError where that cannot be found out: a loop of ours is not to be taken for a stranger's.
    """
    if not _is_token(token):
        return False
    try:
        with open(os.path.join(folder(), token), "rb") as file:
            noted = os.fsdecode(file.read(8192))
    except (FileNotFoundError, NotADirectoryError):
        return False
    here = _ledger(root, name)
    if noted == here:
        return True
    try:
        if os.path.samefile(noted, here):
            return True
        with open(noted, "rb") as file:  # a copy, where the one that was started still lies in its place
            return token.encode() not in file.readline()
    except (OSError, ValueError):
        return True


def mentioned(raw: bytes) -> bool:
    """Whether a journal's bytes name any loop of this person: one that does not need not be read any further.

    Raises OSError where that cannot be found out.
    """
    try:
        kept = frozenset(os.listdir(folder()))
    except (FileNotFoundError, NotADirectoryError):
        return False
    return any(
        piece[:64].lstrip(b' \t:"')[:_LENGTH].decode("ascii", "replace") in kept for piece in raw.split(b'"token"')[1:]
    )


def _is_token(token: object) -> bool:
    return type(token) is str and len(token) == _LENGTH and not token.strip("0123456789abcdef")


def _ledger(root: str, name: str) -> str:
    return os.path.join(os.path.realpath(root), name, journal.NAME)
