"""What can go wrong, each with its exit code, as one line: what, where, what to do."""

from __future__ import annotations

EXIT_DONE = 0
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_DAMAGED = 3
EXIT_LIMIT = 75


#: Reason codes, for programs: they stay what they are, whatever the words for people become.
CODES = {
    "refused": "a rule says no, and none of the other codes fits",
    "not_yet": "something else comes first: the loop's next step",
    "no_loop": "there is no loop here",
    "not_yours": "the loop belongs to another session, or was not started on this machine",
    "loop_over": "the loop has ended",
    "loop_paused": "the loop is paused",
    "question_open": "the person has not answered yet",
    "unconfirmed": "the person has not agreed yet",
    "nobody_to_ask": "only the person decides that, and nobody can be asked",
    "limit_reached": "a limit that the person chose is used up",
    "unknown": "what is named does not exist",
    "wrong_state": "what is named is in a state that does not allow it",
    "other_command": "the command is not the stored one",
    "not_proven": "a check has not passed, or has not run since",
    "unanswered": "an answer is missing",
    "contradiction": "two answers do not go together",
    "out_of_bounds": "there are more or fewer than the rules take",
    "busy": "another command is at it",
    "usage": "the call cannot be understood",
    "damaged": "state on disk cannot be read or written",
}


class LoopError(Exception):
    """A refusal or fault. `what` happened (and where), `todo` is the way out, `code` a reason out
    of CODES; `exit_code` is the process's answer."""

    exit_code = EXIT_REFUSED
    code = "refused"

    def __init__(self, what: str, todo: str = "", code: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo
        self.code = code or self.code

    def details(self) -> dict:
        """What a program is told besides."""
        return {}

    def __str__(self) -> str:
        return f"{self.what}; {self.todo}" if self.todo else self.what


class Refused(LoopError):
    """A rule says no. Exit 1."""


class NotYet(Refused):
    """A rule says that something else comes first, the loop's next step: whoever has the whole loop
    adds it (`next_comes`). Exit 1."""

    code = "not_yet"

    def __init__(self, what: str, code: str = "") -> None:
        super().__init__(what, "", code)

    def next_comes(self, command: str | None) -> None:
        """Say which step comes first."""
        self.todo = f"next: {command}" if command else "see loopkit status"


class UsageFault(LoopError):
    """The call cannot be understood. Exit 2."""

    exit_code = EXIT_USAGE
    code = "usage"


class Damaged(LoopError):
    """State on disk cannot be read or written. Exit 3."""

    exit_code = EXIT_DAMAGED
    code = "damaged"


class LimitReached(LoopError):
    """A limit the person chose is used up. Exit 75."""

    exit_code = EXIT_LIMIT
    code = "limit_reached"
