"""What the person allowed to run, in `<state>/loopkit/leave`. Standard library only.

A line each, only appended to: `<digest of a command's words and its folder> <the command>`, or
`<token of a loop> <pattern>`, both texts in JSON. What lies in the project, as a repository's
settings could have it, counts for nothing.
"""

from __future__ import annotations

import json
import os
from collections import namedtuple

from ..core.evidence import consent
from . import atomic, personal, place, trust, typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..core.journal.state import LoopState

#: Bytes of the file at the most.
LARGEST = 1 << 24

#: What may run in a loop. folder: where its checks run, and what leave is bound to · lines: allowed
#: commands · patterns: those of the person's settings, and those typed when the loop began.
Leave = namedtuple("Leave", "folder lines patterns")


def path() -> str:
    """The file."""
    return os.path.join(trust.state_home(), "loopkit", "leave")


def of(root: str, state: LoopState, environment: dict) -> Leave:
    """What may run in the loop of that state. Raises OSError, and what personal settings raise."""
    project = state.session.project or os.path.dirname(root)
    folder = os.path.join(project, state.folder)
    return in_folder(project, folder, state.session.token, environment)


def in_folder(project: str, folder: str, token: str, environment: dict) -> Leave:
    """What may run in a folder of a project. token: of a loop, "" without one. Raises as `of`."""
    folder = os.path.realpath(folder)
    lines, patterns = [], list(personal.verify_allow(environment, project))
    for key, text in () if _lies_in(project) else _rows():
        if token and key == token:
            patterns.append(text)
        elif key == digest(text, folder):
            lines.append(text)
    return Leave(folder, lines, patterns)


def missing(state: LoopState, leave: Leave) -> list[tuple[str, str]]:
    """(whose, command) of the checks that may not run yet."""
    return [
        (names, line)
        for names, line in consent.checks(state)
        if not consent.is_covered(line, leave.lines, leave.patterns)
    ]


def askable(state: LoopState, leave: Leave) -> list[str]:
    """The commands among them that the person can be asked for."""
    return [line for _, line in missing(state, leave) if not unwritten(leave, line)]


def unwritten(leave: Leave, line: str) -> str:
    """The file of the project that a check runs as its program and that does not exist; ""."""
    file = consent.program_file(line)
    full = os.path.normpath(os.path.join(leave.folder, file))
    return file if file and place.inside(full, leave.folder) and not os.path.exists(full) else ""


def digest(line: str, folder: str) -> str:
    """The digest of a command's words in a folder."""
    return _digest(*consent.words(line), folder)


def _digest(*texts: str) -> str:
    import hashlib

    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def grant(folder: str, lines: list[str]) -> None:
    """Note that the person allows commands in a folder. Raises OSError."""
    _append([(digest(line, folder), line) for line in lines])


def grant_patterns(token: str, patterns: list[str]) -> None:
    """Note what the person typed when a loop began; it holds for that loop. Raises OSError."""
    _append([(token, pattern) for pattern in patterns])


def request(data: str, session: str, token: str, leave: Leave, lines: list[str]) -> str:
    """Note what a session's person is being asked for; the word by which the call that they say yes
    to is known, and no other. It is kept as a digest. Raises OSError."""
    word = os.urandom(16).hex()
    row = {"word": _digest(word, token), "folder": leave.folder, "lines": lines}
    typed.save(data, session, json.dumps(row), typed.ASKED)
    return word


def grant_requested(data: str, session: str, token: str, word: str) -> list[str]:
    """Grant what the session's person was asked for last, if the word is that of this call; the
    commands. A word counts once. Raises OSError."""
    row = json.loads(typed.load(data, session, typed.ASKED) or "{}")
    if not word or row.get("word") != _digest(word, token):
        return []
    grant(row["folder"], row["lines"])
    typed.forget(data, session, typed.ASKED)
    return row["lines"]


def _append(rows: list[tuple[str, str]]) -> None:
    known = set(_rows())
    text = "".join(f"{key} {json.dumps(text)}\n" for key, text in rows if (key, text) not in known)
    if text:
        os.makedirs(os.path.dirname(path()), mode=0o700, exist_ok=True)
        atomic.append(path(), text.encode())


def _rows() -> list[tuple[str, str]]:
    try:
        raw = atomic.read(path(), LARGEST).decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return []
    rows = []
    for row in raw.split("\n"):
        key, _, text = row.partition(" ")
        try:
            rows.append((key, json.loads(text)))
        except ValueError:  # cut short
            continue
    return [(key, text) for key, text in rows if type(text) is str]


def _lies_in(project: str) -> bool:
    return place.inside(os.path.realpath(path()), os.path.realpath(project))
