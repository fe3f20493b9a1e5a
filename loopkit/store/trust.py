"""Which loops are this person's own: started or adopted here. Standard library only.

A `.loop/` can come with a cloned repository; what stands in it is data from strangers. So each loop
carries a random token, and this machine keeps a file of that name outside every repository,
`<state>/loopkit/loops/<token>`, which says where the loop's journal lies. Without it a loop does
nothing. A moved project keeps its loops; a copy beside the original has to be adopted.

Beside them lie the digests of settings, learnings and decisions that loopkit wrote here or that the
person took over, `<state>/loopkit/contents`, one a line: `<sha256> <own | taken> <what>`. It is
only appended to.
"""

from __future__ import annotations

import os

from . import atomic, journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_LENGTH = 32
#: How a content came to be known: loopkit wrote it here; the person took it over.
OWN, TAKEN = "own", "taken"
#: Bytes of the file of contents at the most, characters of what a line is about.
LARGEST, LONGEST = 1 << 26, 200


def new_token() -> str:
    """A token that nobody can guess: 128 random bits in hexadecimal."""
    return os.urandom(_LENGTH // 2).hex()


def state_home() -> str:
    """Where state is kept: `$XDG_STATE_HOME`, by default `~/.local/state`. LOOPKIT_STATE comes
    first: the hooks hand on what they go by, since a shell's profile may change the other."""
    state = os.environ.get("LOOPKIT_STATE") or os.environ.get("XDG_STATE_HOME") or ""
    if not os.path.isabs(state):
        state = os.path.join(os.environ.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return state


def folder() -> str:
    """Where the tokens are kept."""
    return os.path.join(state_home(), "loopkit", "loops")


def remember(root: str, name: str, token: str) -> None:
    """Note that the loop `name` of the `.loop` at `root` is ours; raises OSError."""
    os.makedirs(folder(), mode=0o700, exist_ok=True)
    atomic.clean_up(folder())
    atomic.write(os.path.join(folder(), token), os.fsencode(_ledger(root, name)))


def forget(token: str) -> None:
    """Forget a loop that is deleted; no fault where nothing was known."""
    if is_token(token):
        atomic.remove(os.path.join(folder(), token))


def known(root: str, name: str, token: str) -> bool:
    """Whether the loop was started or adopted by this person: here, or where the project stood
    before it was moved. Raises OSError where that cannot be found out."""
    if not is_token(token):
        return False
    try:
        with open(os.path.join(folder(), token), "rb") as file:
            noted = os.fsdecode(file.read(8192))
    except (FileNotFoundError, NotADirectoryError):
        return False
    ledger = _ledger(root, name)
    try:
        if noted == ledger or os.path.samefile(noted, ledger):
            return True
        with open(noted, "rb") as file:  # a copy, where the one that was started is in its place
            return token.encode() not in file.readline()
    except (OSError, ValueError):
        return True


def mentioned(raw: bytes) -> bool:
    """Whether a journal's bytes name any loop of this person: one that does not need not be read
    any further. Raises OSError where that cannot be found out."""
    try:
        kept = frozenset(os.listdir(folder()))
    except (FileNotFoundError, NotADirectoryError):
        return False
    return any(
        piece[:64].lstrip(b' \t:"')[:_LENGTH].decode("ascii", "replace") in kept
        for piece in raw.split(b'"token"')[1:]
    )


def is_token(token: object) -> bool:
    """Whether it has the form of a token, and so may name a file."""
    return type(token) is str and len(token) == _LENGTH and not token.strip("0123456789abcdef")


def _ledger(root: str, name: str) -> str:
    return os.path.join(os.path.realpath(root), name, journal.NAME)


# -- contents


def contents() -> str:
    """The file of known contents."""
    return os.path.join(os.path.dirname(folder()), "contents")


def known_contents() -> dict[str, str]:
    """{digest: OWN or TAKEN} of all known contents; what was both is OWN. Raises OSError."""
    try:
        rows = atomic.read(contents(), LARGEST).split(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    known: dict[str, str] = {}
    for row in rows:
        digest, how, *_ = (*row.decode("utf-8", "replace").split(" ", 2), "")
        if len(digest) == 64 and (how == OWN or how == TAKEN and digest not in known):
            known[digest] = how
    return known


def vouch(how: str, rows: Iterable[tuple[str, str]]) -> None:
    """Note that contents are known, (digest, what it is) each; those that are known so already are
    left out. Raises OSError."""
    known = known_contents()
    lines = [
        f"{digest} {how} {' '.join(what.split())[:LONGEST]}\n"
        for digest, what in rows
        if known.get(digest) not in (how, OWN)
    ]
    if lines:
        os.makedirs(os.path.dirname(contents()), mode=0o700, exist_ok=True)
        data = "".join(lines).encode("utf-8", "backslashreplace")
        atomic.append(contents(), data, sync=False, bits=0o600)
