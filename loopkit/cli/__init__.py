"""The program `loopkit`: parse, call, print. Commands are loaded when they are asked for."""

import contextlib
import errno
import importlib
import os
import sys

import click

from .. import __version__
from ..core.journal.errors import EXIT_DAMAGED, EXIT_USAGE, LoopError, UsageFault

#: What printing can fail with.
UNPRINTED = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT)

#: Command name → one line of help, so that --help loads none. The module of this name defines it,
#: or that of MODULES.
COMMANDS = {
    "next": "Go on: do what is due, print what needs judgement",
    "submit": "Submit the form that was asked for, and go on",
    "start": "Start a loop on a task",
    "recall": "Answer the learnings that fit the request",
    "score": "Score the request: spec and fit",
    "clarify": "What is unclear about the request; answers and assumptions",
    "shape": "Submit SHAPE.md: criteria, mustNot, verification",
    "confirm": "Record the person's yes to shape, tasks or wave",
    "task": "Add, list, show, start, fail, block, split tasks",
    "allow": "The checks, and which of them the person lets run",
    "verify": "Run a verification and keep its output as evidence",
    "proof": "Correct a wrong proof, on the person's word",
    "baseline": "How a check stood before the work; --check: is it worse now?",
    "wave": "Open the next wave of tasks, close the open one",
    "reply": "Submit what a role answered: plan, test, judgement …",
    "worktree": "Worktrees of tasks: list them, remove clean ones",
    "review": "Record expert reviews and settle findings",
    "decide": "Record a decision and the ways that were rejected",
    "report": "Keep a long report of an agent in a file",
    "panel": "Ask experts: a stuck task, a vague request, the next wave",
    "gate": "What is missing before completion; answer for it",
    "complete": "Complete the loop: checks everything once more",
    "learn": "What the loop taught; keep what the person chooses",
    "trust": "What came with the repository; the person takes it over",
    "checkpoint": "Keep the working files as they are now",
    "rollback": "Put the working files back to a checkpoint",
    "status": "Where the loop stands and what comes next",
    "statusline": "The loop's line for Claude Code's status line",
    "resume": "Go on with a loop, here",
    "pause": "Let the session go; the loop waits",
    "cancel": "End the loop; the work stays as it is",
    "ask": "Record a question to the person; stops are let through",
    "answer": "Record the person's answer",
    "run": "Run a stage or a pipeline, a fresh agent each iteration",
    "runs": "The runs: list, show, stop, pause, logs, clean",
    "watch": "Print what happens in a run until it ends",
    "lint": "Check stages and pipelines: each fault with file and line",
    "doctor": "Find out what is wrong; --fix rebuilds derived files",
    "demo": "Run a whole loop on a small project, without a model",
}

MODULES = {
    **dict.fromkeys(("clarify", "score", "shape"), "request"),
    **dict.fromkeys(("pause", "cancel", "ask", "answer", "confirm", "complete"), "control"),
    **dict.fromkeys(("decide", "learn", "recall"), "memory"),
    **dict.fromkeys(("panel", "gate"), "review"),
    "watch": "runs",
    "next": "step",
    "submit": "step",
    "resume": "start",
    "report": "reply",
    "rollback": "checkpoint",
    "worktree": "wave",
}


class Lazy(click.Group):
    """A group whose commands are imported on use."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f".{MODULES.get(name, name)}", __name__)
        return getattr(module, "next_step" if name == "next" else name)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80}
)
@click.version_option(__version__, message="loopkit %(version)s", help="Print the version.")
def cli() -> None:
    """Autonomous loops for Claude Code: tasks that are done when their checks ran.

    Exit codes: 0 done, 1 a rule says no, 2 usage, 3 damaged or unreadable state, 75 limit reached,
    128 + n signal n.

    Example: loopkit status
    """


def main(arguments: list[str] | None = None) -> int:
    """Run the program; every failure is one line on standard error and a documented exit code."""
    code = _run(arguments)
    for stream, number in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except (OSError, ValueError) as error:  # the interpreter would try again, and complain
            _give_up(number)
            if number == 1:
                code = _unprinted(error)
        except AttributeError:  # no such stream
            pass
    return code


def _give_up(number: int) -> None:
    """Whatever is still to be written to this stream goes nowhere."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _unprinted(error: Exception) -> int:
    """Standard output takes nothing any more: no reader, or no room."""
    if isinstance(error, BrokenPipeError):
        return 141
    why = getattr(error, "strerror", error)
    return _say(f"cannot print to standard output: {why}; what was recorded stays", EXIT_DAMAGED)


def _run(arguments: list[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    as_json = "--json" in _own(sys.argv[1:] if arguments is None else arguments)
    try:
        code = cli.main(arguments, prog_name="loopkit", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return EXIT_USAGE
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "loopkit"
        return _refuse(
            UsageFault(error.format_message().rstrip("."), f"see {where} --help"), as_json
        )
    except LoopError as error:
        return _refuse(error, as_json)
    except (KeyboardInterrupt, click.Abort):
        return 130
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in UNPRINTED:
            _give_up(1)
            return _unprinted(error)
        what = f"{type(error).__name__}: {error}; please report it{_keep_traceback()}"
        return _say(what, EXIT_DAMAGED)


def _own(arguments: list[str]) -> list[str]:
    """What is said to loopkit itself: without the command that a check consists of."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _refuse(error: LoopError, as_json: bool) -> int:
    """One line on standard error; with --json the same for programs on standard output."""
    if as_json:
        from .app import refused

        click.echo(refused(error))
    return _say(str(error), error.exit_code)


def _say(text: str, code: int) -> int:
    from .app import MOST_LINE, printable

    line = printable(" ".join(text.split()))
    if sys.stderr is not None:  # print() would take standard output
        line = line if len(line) <= MOST_LINE else line[: MOST_LINE - 1] + "…"
        with contextlib.suppress(OSError):
            print(f"loopkit: {line}", file=sys.stderr)
    return code


def _keep_traceback() -> str:
    import traceback

    from ..store import place

    path = os.path.join(place.data_dir(dict(os.environ)), "error.log")
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(traceback.format_exc())
    except OSError:
        return ""
    return f" with {path}"
