"""What a person typed after /loop:start or /loop:resume, kept until the command's own call takes
it, and where the session's hooks look for the notes of its loops. Standard library only."""

from __future__ import annotations

import json
import os

from . import atomic

#: Whose words they are: the request of /loop:start, or which loop /loop:resume goes on with.
START, RESUME = "", ".resume"
#: The state folder that hooks use (trust.py), the folder the session was opened in (place.py).
STATE, OPENED = ".state", ".opened"
#: What the person is being asked to allow (leave.py).
ASKED = ".asked"


def path(data: str, session: str, whose: str = START) -> str:
    """Where a session's words are kept in the data folder, whatever its id contains."""
    name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in session)
    return os.path.join(data, "prompts", name[:100] + whose + ".json")


def save(data: str, session: str, text: str, whose: str = START) -> None:
    """Keep the words for the session; raises OSError."""
    target = path(data, session, whose)
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    atomic.write(target, json.dumps({"text": text}).encode())


def load(data: str, session: str, whose: str = START) -> str | None:
    """The words, or None where none are kept."""
    try:
        with open(path(data, session, whose), "rb") as file:
            text = json.loads(file.read())["text"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return text if isinstance(text, str) else None


def forget(data: str, session: str, whose: str = START) -> None:
    """Drop a session's words; no fault where there are none."""
    atomic.remove(path(data, session, whose))
