"""Prompts of a loop: what an agent is told for a step, a file each, never written twice. Its first
line is the token that starts the agent; a schema lies beside it. Standard library only."""

from __future__ import annotations

import json
import os
import re

from . import answers, atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..core.steps.kinds import Step

FOLDER = "prompts"
#: Bytes of a prompt or a schema at the most.
LARGEST = 1_000_000
_TOKEN = re.compile(answers.MARK + r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})")


def name(step: Step, number: int) -> str:
    """`test-T-001-2` for the second time that the test of T-001 is asked for."""
    from ..core.steps import kinds

    return kinds.name(kinds.key(step), number)


def token(name: str) -> str:
    """What an agent is started with instead of the prompt of that name."""
    return answers.MARK + name


def named(text: object) -> str:
    """The name in the token on the first line of a text; "" where there is none."""
    found = (
        _TOKEN.fullmatch(text.strip().partition("\n")[0].rstrip()) if type(text) is str else None
    )
    return found[1] if found else ""


def write(folder: str, step: Step, number: int, text: str, schema: dict | None = None) -> str:
    """Write a prompt into a loop's folder and return its path. schema: the JSON Schema of the
    answer, None where none is checked. Raises OSError."""
    own = name(step, number)
    home = os.path.join(folder, FOLDER)
    path = os.path.join(home, own + ".md")
    atomic.check_inside(folder, path)
    os.makedirs(home, exist_ok=True)
    atomic.clean_up(home)
    if schema is not None:
        atomic.write(os.path.join(home, own + ".json"), json.dumps(schema).encode())
    atomic.write(path, f"{token(own)}\n\n{text}".encode("utf-8", "replace"))
    return path


def next_number(folder: str, step: Step) -> int:
    """One more than the prompts that a step has had."""
    number = 1
    while os.path.exists(os.path.join(folder, FOLDER, name(step, number) + ".md")):
        number += 1
    return number


def read(folder: str, name: str) -> str | None:
    """The prompt of that name with its token; None where there is none that can be read."""
    raw = _read(folder, name + ".md")
    text = raw.decode("utf-8", "replace") if raw is not None else None
    return text if named(text) == name else None


def schema(folder: str, name: str) -> dict | None:
    """The JSON Schema of its answer; None where none is checked, or it cannot be read."""
    raw = _read(folder, name + ".json")
    try:
        found = json.loads(raw) if raw is not None else None
    except (ValueError, RecursionError):
        return None
    return found if type(found) is dict else None


def _read(folder: str, file: str) -> bytes | None:
    path = os.path.join(folder, FOLDER, file)
    try:
        atomic.check_inside(folder, path)
        return atomic.read(path, LARGEST)
    except OSError:
        return None
