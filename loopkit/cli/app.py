"""What all commands share: where they run, who runs them, how they answer."""

from __future__ import annotations

import errno
import functools
import json
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ..core.journal import prose, stage, verdict
from ..core.journal.errors import Damaged, LoopError, UsageFault
from ..core.steps import nextstep
from ..ops.workspace import Result, Workspace
from ..store import inside, place
from ..store.loop import Loop

if TYPE_CHECKING:
    pass

#: Bytes that a command takes from standard input or a file at the most.
MOST_INPUT = 4_000_000
#: Characters of an error's line at the most.
MOST_LINE = 2000
#: How the lines begin that show an open question; characters of it at most.
QUESTION, LONGEST_QUESTION = "The person is asked: ", 4000


class App(Workspace):
    """A workspace whose results are printed: as text, or as one JSON object."""

    def __init__(self, as_json: bool = False) -> None:
        super().__init__(note)
        self.as_json = as_json

    def show(self, result: Result) -> int:
        """Print what a use case gave; its exit code."""
        self.answer(result.loop, result.text, result.data, result.steps)
        return result.code

    def answer(
        self, loop: Loop, text: str, data: dict | None = None, steps: list[str] | None = None
    ) -> None:
        """Print what was recorded, then the next step: the state's own, or these `steps`."""
        own = nextstep.command(loop.state)
        session = loop.state.session
        if session.status == verdict.FAILED:
            text = "\n".join(
                [
                    text,
                    f"loop {loop.name} is over ({session.verdict}): {session.reason}",
                    *taught(loop),
                ]
            )
            steps = []
        following = steps if steps is not None else [own] if own else []
        if loop.state.new_checks and stage.confirmation(loop.state) == "tasks":
            named = prose.clean(", ".join(sorted(loop.state.new_checks)), 200)
            text += f"\nthe person is asked again, since their yes was to other checks: {named}"
        if self.as_json:
            row = {
                "loop": loop.name,
                "stage": loop.state.stage,
                **(data or {}),
                "said": text,
                "next": following,
            }
            click.echo(json.dumps(row, ensure_ascii=False))
            return
        body = text.rstrip("\n")
        # a paused loop waits for a person: no line that would be followed unasked
        word = (
            "to go on, if the person says so: "
            if steps is None and session.status == verdict.PAUSED
            else "next: "
        )
        lines = ([body] if body else []) + [word + one for one in following]
        click.echo(printable("\n".join(lines)))


#: Control characters but line breaks; marks that turn the direction of text, and those that nobody
#: sees (the joiners of scripts and emoji apart), which hide words from a person and not from a
#: model.
_HARMLESS = dict.fromkeys(
    (
        *range(10),
        *range(11, 32),
        *range(127, 160),
        *(0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF),
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFFF9, 0xFFFC),
        *range(0xE0000, 0xE0080),
    ),
    " ",
)


def printable(text: str) -> str:
    """Text that does nothing to a terminal and hides nothing: such characters become blanks, line
    breaks stay."""
    return text.translate(_HARMLESS)


def quoted(text: str, most: int) -> str:
    """Somebody's words with their line breaks, at most `most` characters: each further line is
    indented, so that none can pass for one of ours."""
    rows = [row.rstrip() for row in text[:most].splitlines() if row.strip()]
    return "\n  ".join(rows) + (" …" if len(text) > most else "")


def asked(loop: Loop) -> list[str]:
    """The question that is open, whole, in a list of one; an empty one where none is."""
    question = loop.state.session.question
    if question is None or loop.state.session.status in verdict.FINAL:
        return []
    return [QUESTION + quoted(question, LONGEST_QUESTION)]


def say_no(error: LoopError) -> None:
    """A refusal that is printed in place of an answer, as one line."""
    click.echo(
        "loopkit says no: " + prose.clean(" ".join(printable(str(error)).split()), MOST_LINE)
    )


def taught(loop: Loop) -> list[str]:
    """What a loop that has ended proposes to keep, folded to 80 columns; nothing of it is
    written."""
    from ..core.memory import learning
    from ..store import journal, tables

    try:
        tail = journal.read(loop.path)
    except OSError:  # what was asked for is done
        return []
    rows = learning.summary(loop.state, tail.events if tail else (), tables.masks().masked)
    return [wrapped(row, "     ") for row in rows]


def note(text: str) -> None:
    """Say on standard error what could not be read."""
    print(printable(f"loopkit: {text}".replace("\n", " ")), file=sys.stderr)


def command(name: str, example: str, **settings: Any) -> Callable:
    """A click command with --json, whose function gets an App first; `example` ends its help."""

    def wrap(function: Callable) -> click.Command:
        @functools.wraps(function)
        def call(as_json: bool, soft: bool, **given: Any) -> int | None:
            try:
                app = App(as_json)
                with app.next_comes():
                    return function(app, **given)
            except LoopError as error:
                if not soft:
                    raise
                say_no(error)
                return 0

        call.__doc__ = f"{function.__doc__}\n\n    Example: {example}\n    "
        call = click.option(
            "--soft", is_flag=True, hidden=True, help="Print a refusal and exit 0."
        )(call)
        call = click.option("--json", "as_json", is_flag=True, help="Answer as one JSON object.")(
            call
        )
        return click.command(name, **settings)(call)

    return wrap


def read_input(call: App, source: str) -> str:
    """Text of a file inside the project, or of standard input for `-`, UTF-8, without a byte order
    mark.

    Raises UsageFault, Damaged.
    """
    return read_copied(call, source)[0]


def read_shape(call: App, source: str) -> tuple[str, int]:
    """The same for a file called SHAPE.md, which may lie outside too if it is a shape without a
    fault: any other file there is refused in the same words as ever, so that nothing is told of
    it."""
    try:
        return read_copied(call, source)
    except UsageFault as fault:
        from ..core.request import shape

        path = os.path.join(call.folder, source)
        real = os.path.realpath(path)
        if {os.path.basename(source), os.path.basename(real)} != {shape.FILE} or _is_inside(
            call, path
        ):
            raise
        try:
            with inside.opened(os.path.realpath(path), MOST_INPUT) as file:
                text, most = (
                    file.read().decode("utf-8-sig"),
                    os.fstat(file.fileno()).st_mode & 0o777,
                )
            shape.parse(text)
        except (OSError, ValueError, LoopError):
            raise fault from None
        return text, most


def read_copied(call: App, source: str) -> tuple[str, int]:
    """The same with the permission bits that a copy has at most: those of the file. Raises
    UsageFault, Damaged."""
    most = 0o777
    try:
        if source == "-":
            raw = sys.stdin.buffer.read(MOST_INPUT + 1)
        else:
            with inside.opened(_in_project(call, source), MOST_INPUT) as file:
                most &= os.fstat(file.fileno()).st_mode
                raw = file.read(MOST_INPUT + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "errno", None)
        if why in (
            None,
            errno.ENOENT,
            errno.ENOTDIR,
            errno.EINVAL,
        ):  # a folder, a pipe or a device is no file
            raise UsageFault(
                f"no such file: {source}", "give a file, or - for standard input"
            ) from None
        if why == errno.EFBIG:
            raise _too_large(source) from None
        raise Damaged(
            f"cannot read {source}: {os.strerror(why)}", "give a file that can be read"
        ) from None
    if len(raw) > MOST_INPUT:
        raise _too_large(source)
    try:
        return raw.decode("utf-8-sig"), most
    except UnicodeDecodeError as error:
        raise UsageFault(
            f"{_named(source)} is not UTF-8 at byte {error.start}", "save it as UTF-8"
        ) from None


def _in_project(call: App, source: str) -> str:
    """Where a file that was named really lies. Raises UsageFault outside the project, whether there
    is one or not: what is allowed in advance must not read what the client would not."""
    path = os.path.join(call.folder, source)
    if not _is_inside(call, path):
        where = f"give a file inside {call.input_folders[0]}, or" if call.input_folders else "give"
        raise UsageFault(f"{source} is outside the project", f"{where} - for standard input")
    return os.path.realpath(path)


def _is_inside(call: App, path: str) -> bool:
    """Whether a path really lies in the project, or in the linked worktree of it that we stand
    in."""
    real = os.path.realpath(path)
    return any(place.inside(real, os.path.realpath(folder)) for folder in call.input_folders)


def _too_large(source: str) -> UsageFault:
    return UsageFault(f"{_named(source)} is larger than {MOST_INPUT:,} bytes", "shorten it")


def _named(source: str) -> str:
    return "standard input" if source == "-" else source


def read_record(call: App, source: str, kind: type) -> Any:
    """A record (kind dict) or a list of records (kind list) of such a file or standard input.
    Raises UsageFault, Damaged."""
    from ..store import records

    return records.parse(read_input(call, source), _named(source), kind)


def wrapped(line: str, indent: str = "  ") -> str:
    """A line of words for people, folded to 80 columns; what cannot be folded (paths, commands)
    stays whole."""
    import textwrap

    return textwrap.fill(
        line,
        80,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def now() -> float:
    """POSIX seconds."""
    return time.time()
