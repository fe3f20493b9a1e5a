"""The completion strategy beads-empty: nothing is ready in the tracker `bd` for a run's label."""

from __future__ import annotations

import json
import subprocess

from ...core.journal import prose
from ...core.journal.errors import Damaged
from ...core.pipeline import completion
from ...core.pipeline.completion import Verdict
from ...engine import process
from .completions import Strategy, View

PROGRAM = "bd"
#: Seconds that it may take to answer.
_SECONDS = 120


class BeadsEmpty(Strategy):
    """`bd ready --label=loop/<session> --json` answers an empty list, and no bead with that label
    is in progress: one that an agent has begun is not ready, also where it was cut off."""

    works = True
    programs = (PROGRAM,)

    def verdict(self, view: View) -> Verdict:
        """Raises Damaged where bd cannot be asked: that is never "empty"."""
        label, project = f"loop/{view.run.session}", view.run.state.project
        environment = view.workspace.environment
        if ready(label, project, environment):
            return Verdict(completion.OPEN)
        begun, more = [], ""
        try:
            begun = _asked(
                ("list", f"--label={label}", "--status=in_progress"), project, environment
            )
        except Damaged as error:
            more = f"; whether one is in progress nobody knows: {error.what}"
        if begun:
            return Verdict(completion.OPEN)
        return Verdict(completion.COMPLETE, f"no bead is ready with label {label}{more}")


def ready(label: str, folder: str, environment: dict) -> list:
    """The beads that are ready with a label. Raises Damaged."""
    return _asked(("ready", f"--label={label}"), folder, environment)


def _asked(words: tuple[str, ...], folder: str, environment: dict) -> list:
    """The list that a command of bd answers. Raises Damaged."""
    try:
        program = process.find(PROGRAM, environment.get("PATH", ""))
        done = subprocess.run(
            [program, *words, "--json"],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _fault(f"it did not answer within {_SECONDS} s") from None
    except OSError as error:
        raise _fault(str(error)) from None
    said = (done.stderr.strip() or done.stdout).decode("utf-8", "replace").strip()
    if done.returncode:
        raise _fault(f"it exits {done.returncode}: {prose.clean(said, 200)}")
    try:
        rows = json.loads(done.stdout)
    except (ValueError, RecursionError):
        said = done.stdout.decode("utf-8", "replace").strip()
        raise _fault(f"its answer is no JSON: {prose.clean(said, 100)!r}") from None
    if type(rows) is dict and "schema_version" in rows:  # the envelope of bd 2, or BD_JSON_ENVELOPE
        rows = rows.get("data")
    if type(rows) is not list:
        raise _fault("its answer is no list")
    return rows


def _fault(why: str) -> Damaged:
    return Damaged(f"bd cannot say what is ready: {why}", "see what `bd ready` prints")
