"""Validators by name: what a stage's result has to pass besides its completion strategy. Ours runs
commands and keeps what they print as evidence."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.journal import settings
from ...core.journal.errors import Refused
from ...engine import extensions, process
from ...store import personal
from .. import consent
from ..verify import environment_of
from ..workspace import Workspace
from .completions import View


class Outcome(NamedTuple):
    """passed: whether all is well · rows: a record for each check: line, passed, exit, log, seconds
    · text: what to tell the next agent where it is not."""

    passed: bool
    rows: list[dict]
    text: str = ""


class Validator:
    """Looks at what a stage's last iteration left."""

    def validate(self, view: View) -> Outcome:
        """Raises LoopError where that cannot be found out."""
        raise NotImplementedError


class Command(Validator):
    """The commands of the stage, one after the other up to the first that fails; each runs only if
    the person allowed it."""

    def validate(self, view: View) -> Outcome:
        workspace, run, stage = view.workspace, view.run, view.entry.stage
        rows: list[dict] = []
        project = run.state.project
        for line in stage.validate:
            check_allowed(workspace, line, view.entry.name)
            found = process.verify(
                *(project, project, run.folder, view.entry.name, line, []),
                settings.VERIFY_SECONDS,
                environment_of(workspace),
            )
            row: dict[str, Any] = {"line": line}
            row |= {key: found[key] for key in ("passed", "exit", "log", "seconds")}
            rows.append(row)
            if not found["passed"]:
                text = f"`{line}` exits {found['exit']}, see {run.folder}/{found['log']}"
                return Outcome(False, rows, text)
        return Outcome(True, rows)


#: Entry points of users' own validators: each gives a Validator.
GROUP = "loopkit.validators"
COMMAND = "command"
_KNOWN = {COMMAND: f"{__name__}:Command"}


def names() -> list[str]:
    """All validators there are."""
    return extensions.names(_KNOWN, GROUP)


def made(name: str) -> Validator:
    """The validator of a name. Raises UsageFault."""
    validator: Any = extensions.made(name, _KNOWN, GROUP, "validator")
    return validator


def validated(name: str, view: View) -> Outcome:
    """What the validator of a name says. Raises LoopError where it cannot say."""
    validator = made(name)
    with extensions.called(name, _KNOWN, "validator"):
        return validator.validate(view)


def check_allowed(workspace: Workspace, line: str, stage: str) -> None:
    """Raises Refused for a check that the person has not allowed."""
    if consent.uncovered(workspace, [(stage, line)]):
        raise Refused(
            f"nobody has allowed the check of stage {stage}: {line}",
            f"the person adds verify_allow = [{line!r}] to {personal.path(workspace.environment)}",
            code="unconfirmed",
        )
