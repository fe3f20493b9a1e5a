"""Drive a loop to its end by its own `next:` lines: nothing else is known here of how a loop
goes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ..core.journal.errors import Refused
from .script import Call, Script, next_steps, words

#: Steps after which a drive that does not end is given up: far more than any script needs.
MOST_STEPS = 500


def drive(
    script: Script, project: str, call: Call, first: str, tell: Callable[[str, str], None]
) -> str:
    """Follow the steps from an output on until there is none; gives the last output.

    tell(kind, text): `step` before a step, with the script's answer in it, `said` for what it
    printed, `agent` for an agent's doings. Raises Refused where a step says no and offers no other,
    or where the drive goes round in circles.
    """
    output, steps = first, next_steps(first)
    for _ in range(MOST_STEPS):
        if not steps:
            return output
        if steps[0].startswith("agent "):
            team = []
            while steps and steps[0].startswith("agent "):
                team.append(steps.pop(0))
            _team(script, project, call, team, tell)
            continue
        step = steps.pop(0)
        arguments, given = script.answer(step)
        if arguments is None:
            arguments = words(step)
        else:
            step = shlex.join(["loopkit", *arguments])
        tell("step", step)
        code, output = call(arguments, given)
        tell("said", output)
        following = next_steps(output)
        if code and not following:
            raise Refused(
                f"{step} exits {code}: {output.strip().splitlines()[-1] if output.strip() else ''}",
                "see above",
            )
        steps = following or steps
    raise Refused(f"no end after {MOST_STEPS} steps", "this is a defect, please report it")


def _team(
    script: Script, project: str, call: Call, team: list[str], tell: Callable[[str, str], None]
) -> None:
    """All agents of a block, in parallel; their reports were told as they went."""
    ids = []
    for line in team:
        tell("step", line)
        found = re.search(r"\bT-\d+\b", line.split(" (")[0])
        if found:
            ids.append(found[0])
        elif (first := re.search(r"`(loopkit [^`]+)`", line)) is not None:
            call(
                words(first[1]), ""
            )  # a reviewer: what it found is in the script's answer to the step that follows
    if not ids:
        return
    with ThreadPoolExecutor(len(ids)) as pool:
        for done in [
            pool.submit(script.work, one, project, call, lambda text: tell("agent", text))
            for one in ids
        ]:
            done.result()
