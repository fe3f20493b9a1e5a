"""Variables of a prompt: `${SESSION}`, `${INPUTS.plan}`. What comes in by one is never expanded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_VARIABLE = re.compile(r"\$?\$\{([A-Za-z][A-Za-z0-9_.-]*)\}")
#: Names that a prompt may use, besides INPUTS.<stage>.
NAMES = "SESSION SESSION_NAME ITERATION INDEX PROGRESS PROGRESS_FILE OUTPUT INPUTS".split()
NAMES += ["ITEM", "PERSPECTIVE", "LOOP"]
INPUTS = "INPUTS"
OF_STAGE = "INPUTS."
#: Characters of inputs from which on their paths stand in their place.
MOST_INPUTS = 60_000
#: What every agent of a run is told, whatever its prompt says.
FOREGROUND = (
    "\n\nYou work alone and nobody answers questions. Do everything in the foreground and wait for "
    "what you start: when you answer, your process ends, and whatever still runs ends with it. "
    "This prompt is all of it: load no skill of loop, hope or counsel. A command that is refused "
    "stays refused: go on without it, and say in your answer what you could not see.\n"
)


def expand(text: str, value: Callable[[str], str | None]) -> str:
    """The text with the value of each variable; None: it stays as it is. `$${X}` gives `${X}`."""

    def replaced(match: re.Match) -> str:
        whole: str = match.group()
        if whole.startswith("$$"):
            return whole[1:]
        found = value(match.group(1))
        return whole if found is None else found

    return _VARIABLE.sub(replaced, text)


def used(text: str) -> Iterator[tuple[str, int]]:
    """(name, line from 1) of each variable that a prompt uses."""
    for match in _VARIABLE.finditer(text):
        if not match.group().startswith("$$"):
            yield match.group(1), text.count("\n", 0, match.start()) + 1


def is_known(name: str) -> bool:
    """Whether there is a variable of that name; of which stages there are inputs is not asked."""
    return name in NAMES or name.startswith(OF_STAGE)


def inputs(stage: str, results: list[tuple[str, str]]) -> str:
    """What `${INPUTS}` stands for. results: (path, text) of that stage's, in order."""
    if not results:
        return f"(no output of stage {stage})"
    if sum(len(text) for _, text in results) > MOST_INPUTS:
        return "\n".join(f"- {path}" for path, _ in results)
    if len(results) == 1:
        return results[0][1]
    return "\n\n".join(
        f"## {stage}, result {number} of {len(results)}\n\n{text.strip()}"
        for number, (_, text) in enumerate(results, 1)
    )
