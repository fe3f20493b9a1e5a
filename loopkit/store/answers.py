"""What agents answered, as hooks heard it: `answers/<name>.json` in a loop's folder, by the name of
the prompt. The first answer counts, later ones are kept beside it. Standard library only."""

from __future__ import annotations

import json
import os

from . import atomic

#: What a token begins with; the rest is the name of the prompt.
MARK = "loop:"
FOLDER = "answers"
#: Bytes of an answer's file that is read; later answers that are kept of one prompt.
LARGEST, MOST_LATE = 4_000_000, 20
#: How the client begins an agent's report, in default and in auto mode.
REPORTS = ("<task-notification>", "<agent-message from=")
#: How often an agent is asked for another answer, by token; the one after that counts as it is.
MOST_HELD = 2
#: Ending of the file whose size says how often an agent was asked for another answer.
_HELD = ".held"
#: Ending of the file that says that an agent was started with a prompt.
_STARTED = ".started"
#: Ending of the file that says that something was said.
_SAID = ".said"


def write(folder: str, name: str, row: dict) -> str:
    """Keep an answer; the path of its file, "" where nothing new is kept. Raises OSError. row:
    `text` (None: the agent ended without one) and whatever else is known of it. An answer takes the
    place of none; one that comes after another is kept as `<name>.late-N.json`."""
    home = os.path.join(folder, FOLDER)
    atomic.check_inside(folder, _path(folder, name))
    os.makedirs(home, exist_ok=True)
    atomic.clean_up(home)
    data = (json.dumps(row, indent=1) + "\n").encode("ascii")
    for own in (name, *(f"{name}.late-{number}" for number in range(1, MOST_LATE + 1))):
        path = _path(folder, own)
        if atomic.create(path, data):
            return path
        known = read(folder, own) or {}
        if row.get("text") is None or _same(known, row):
            return ""
        if known.get("text") is None:
            atomic.write(path, data)
            return path
    return ""


def _same(known: dict, row: dict) -> bool:
    return all(known.get(key) == row.get(key) for key in ("agent_id", "text"))


def read(folder: str, name: str) -> dict | None:
    """The answer to a prompt; None where there is none that can be read."""
    path = _path(folder, name)
    try:
        atomic.check_inside(folder, path)
        row = json.loads(atomic.read(path, LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return row if type(row) is dict else None


def given(folder: str, name: str) -> bool:
    """Whether there is one that says something."""
    return (read(folder, name) or {}).get("text") is not None


def names(folder: str) -> list:
    """The prompts that have an answer, in order."""
    try:
        files = os.listdir(os.path.join(folder, FOLDER))
    except OSError:
        return []
    found = [file[: -len(".json")] for file in files if file.endswith(".json")]
    return sorted(name for name in found if ".late-" not in name)


def held(folder: str, name: str) -> int:
    """How often an agent with this prompt was asked for another answer."""
    try:
        return os.path.getsize(_path(folder, name, _HELD))
    except OSError:
        return 0


def hold(folder: str, name: str) -> None:
    """Count one more time. Raises OSError."""
    _mark(folder, name, _HELD)


def started(folder: str, name: str) -> bool:
    """Whether an agent was started with a prompt."""
    return os.path.lexists(_path(folder, name, _STARTED))


def start(folder: str, name: str) -> None:
    """Note that one is. Raises OSError."""
    _mark(folder, name, _STARTED)


def first(folder: str, name: str) -> bool:
    """Whether this is asked for the first time; of several at once, one hears so."""
    path = _path(folder, name, _SAID)
    try:
        atomic.check_inside(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return atomic.create(path, b"")
    except OSError:
        return False


def _mark(folder: str, name: str, ending: str) -> None:
    path = _path(folder, name, ending)
    atomic.check_inside(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "ab") as file:
        file.write(b".")


def _path(folder: str, name: str, ending: str = ".json") -> str:
    return os.path.join(folder, FOLDER, name + ending)
