"""What all commands share: how they are called, what they read, how they answer."""

import errno
import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from ..core.journal import prose
from ..core.journal.errors import Damaged, LoopError, Refused, UsageFault
from ..ops.workspace import Result, Workspace
from ..render import printable, printable_json
from ..store import atomic, place

#: Bytes that a command takes from standard input or a file at the most.
MOST_INPUT = 4_000_000
#: Characters of an error's line at the most.
MOST_LINE = 2000
#: What the hook adds to a call for which the client asks the person.
ASKED = click.option("--asked", "word", default="", hidden=True, help="The word of an asked call.")


class App(Workspace):
    """A workspace whose results are printed: as text, or as one JSON object."""

    def __init__(self, as_json: bool = False) -> None:
        super().__init__(note)
        self.as_json = as_json

    def show(self, result: Result) -> int:
        """Print what a use case gave; its exit code."""
        full = result.completed()
        if self.as_json:
            click.echo(printable_json(full.data))
        else:
            click.echo(printable(full.text))
        return result.code


def note(text: str) -> None:
    """Say on standard error what could not be read."""
    print(printable(f"loopkit: {text}".replace("\n", " ")), file=sys.stderr)


def command(
    name: str, example: str, *parameters: Callable, goes_on: bool = False, **settings: Any
) -> Callable:
    """A click command with --json around a function that gets an App first and gives a Result, or
    an exit code where it has printed itself; its docstring and the `example` are the help.

    A use case whose arguments are called like the `parameters` needs no other function. A refusal
    is printed in place of an answer, exit 0, with --soft and where a parameter `typed` says that
    the words came with a slash command: another exit code would abort that. One that `goes_on`
    does so for whatever a rule says no to: on the client's screen a refusal looks like a failure.
    """

    def wrap(function: Callable) -> Any:
        @functools.wraps(function)
        def call(as_json: bool, soft: bool, **given: Any) -> int | None:
            try:
                app = App(as_json)
                with app.next_comes():
                    result = function(app, **given)
            except LoopError as error:
                calm = soft or given.get("typed")
                calm = calm or goes_on and isinstance(error, Refused | UsageFault)
                if not calm or as_json and not goes_on:
                    raise
                if as_json:
                    click.echo(refused(error))
                    return 0
                line = " ".join(printable(str(error)).split())
                click.echo("loopkit says no: " + prose.clean(line, MOST_LINE))
                return 0
            return app.show(result) if isinstance(result, Result) else result

        call.__doc__ = f"{function.__doc__}\n\n    Example: {example}\n    "
        for parameter in reversed(parameters):
            call = parameter(call)
        call = flag("--soft", hidden=True, help="Print a refusal and exit 0.")(call)
        call = flag("--json", "as_json", help="Answer as one JSON object.")(call)
        return click.command(name, **settings)(call)

    return wrap


def refused(error: LoopError) -> str:
    """A refusal for programs."""
    row = {"code": error.code, "what": error.what, "todo": error.todo, **error.details()}
    return printable_json({"refused": row})


class Group(click.Group):
    """A command that has commands."""

    def add(self, name: str, example: str, *parameters: Callable, **settings: Any) -> Callable:
        """As `command`, of this group."""

        def wrap(function: Callable) -> click.Command:
            made = command(name, example, *parameters, **settings)(function)
            self.add_command(made)
            return made

        return wrap


def group(name: str, example: str, text: str) -> Group:
    """A command that does nothing itself."""
    return Group(name, help=f"{text}\n\nExample: {example}")


#: An option without a value.
flag = functools.partial(click.option, is_flag=True)


def file(what: str, name: str = "--file", end: str = "", **settings: Any) -> Callable:
    """An option that takes a file or standard input, as the argument `source`."""
    text = f"{what}; - for standard input.{end}"
    return click.option(name, "source", metavar="FILE", help=text, **settings)


def several(name: str, metavar: str, text: str) -> Callable:
    """An option that may be given several times, as a list."""
    return click.option(name, multiple=True, metavar=metavar, help=text, callback=_list)


def _list(context: click.Context, parameter: click.Parameter, values: tuple) -> list:
    return list(values)


def words(name: str, **settings: Any) -> Callable:
    """An argument of any number of words, as one text."""
    return click.argument(name, nargs=-1, callback=_text, **settings)


def _text(context: click.Context, parameter: click.Parameter, values: tuple) -> str:
    return " ".join(values)


# -- what is submitted


def read_input(call: App, source: str) -> str:
    """UTF-8 text of a file in the project, or of standard input. Raises UsageFault, Damaged."""
    return read_copied(call, source)[0]


def read_record(call: App, source: str, name: str) -> Any:
    """The same as what is submitted under a name of the registry."""
    from .. import replies  # most commands read none

    return replies.read(name, read_input(call, source), _named(source))


def read_shape(call: App, source: str) -> tuple[str, int]:
    """As `read_copied`, of a file called SHAPE.md, which may lie outside too if it is a shape
    without a fault: any other file there is refused in the same words as ever, so that nothing is
    told of it."""
    try:
        return read_copied(call, source)
    except UsageFault as fault:
        from ..core.request import shape

        path = os.path.join(call.folder, source)
        real = os.path.realpath(path)
        names = {os.path.basename(source), os.path.basename(real)}
        if names != {shape.FILE} or _is_inside(call, path):
            raise
        try:
            with atomic.opened(real, MOST_INPUT) as file:
                text = file.read().decode("utf-8-sig")
                most = os.fstat(file.fileno()).st_mode & 0o777
            shape.parse(text)
        except (OSError, ValueError, LoopError):
            raise fault from None
        return text, most


def read_copied(call: App, source: str) -> tuple[str, int]:
    """As `read_input`, with the permission bits that a copy has at most: those of the file."""
    most = 0o777
    try:
        if source == "-":
            raw = sys.stdin.buffer.read(MOST_INPUT + 1)
        else:
            with atomic.opened(_in_project(call, source), MOST_INPUT) as file:
                most &= os.fstat(file.fileno()).st_mode
                raw = file.read(MOST_INPUT + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(source, getattr(error, "errno", None)) from None
    if len(raw) > MOST_INPUT:
        raise _unreadable(source, errno.EFBIG)
    try:
        return raw.decode("utf-8-sig"), most
    except UnicodeDecodeError as error:
        what = f"{_named(source)} is not UTF-8 at byte {error.start}"
        raise UsageFault(what, "save it as UTF-8") from None


def _unreadable(source: str, why: int | None) -> LoopError:
    # a folder, a pipe or a device is no file
    if why in (None, errno.ENOENT, errno.ENOTDIR, errno.EINVAL):
        return UsageFault(f"no such file: {source}", "give a file, or - for standard input")
    if why == errno.EFBIG:
        return UsageFault(f"{_named(source)} is larger than {MOST_INPUT:,} bytes", "shorten it")
    return Damaged(f"cannot read {source}: {os.strerror(why)}", "give a file that can be read")


def _in_project(call: App, source: str) -> str:
    """Where a file that was named really lies. Raises UsageFault outside the project, whether there
    is one or not: what is allowed in advance must not read what the client would not."""
    path = os.path.join(call.folder, source)
    if not _is_inside(call, path):
        where = f"give a file inside {call.input_folders[0]}, or" if call.input_folders else "give"
        raise UsageFault(f"{source} is outside the project", f"{where} - for standard input")
    return os.path.realpath(path)


def _is_inside(call: App, path: str) -> bool:
    """Whether a path really lies in the project, or in our linked worktree of it."""
    real = os.path.realpath(path)
    return any(place.inside(real, os.path.realpath(folder)) for folder in call.input_folders)


def _named(source: str) -> str:
    return "standard input" if source == "-" else source


def numbers(text: str | None) -> list[int]:
    """The numbers of `1,3`. Raises UsageFault."""
    try:
        return [int(number) for number in (text or "").replace(" ", "").split(",") if number]
    except ValueError:
        raise UsageFault(f"not a list of numbers: {text!r}", "write it like 1,3") from None
