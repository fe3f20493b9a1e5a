"""What can go wrong, each with its exit code, as one line: what, where, what to do."""

from __future__ import annotations

EXIT_DONE = 0
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_DAMAGED = 3
EXIT_LIMIT = 75


class LoopError(Exception):
    """A refusal or fault. `what` happened (and where), `todo` is the way out; `exit_code` is the
    process's answer."""

    exit_code = EXIT_REFUSED

    def __init__(self, what: str, todo: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo

    def __str__(self) -> str:
        return f"{self.what}; {self.todo}" if self.todo else self.what


class Refused(LoopError):
    """A rule says no. Exit 1."""


class NotYet(Refused):
    """A rule says that something else comes first, the loop's next step: whoever has the whole loop
    adds it (`next_comes`). Exit 1."""

    def next_comes(self, command: str | None) -> None:
        """Say which step comes first."""
        self.todo = f"next: {command}" if command else "see loopkit status"


class UsageFault(LoopError):
    """The call cannot be understood. Exit 2."""

    exit_code = EXIT_USAGE


class Damaged(LoopError):
    """State on disk cannot be read or written. Exit 3."""

    exit_code = EXIT_DAMAGED


class LimitReached(LoopError):
    """A limit the person chose is used up. Exit 75."""

    exit_code = EXIT_LIMIT
