"""Run a program: argument list, a time limit, its own process group, its output in a file."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections import namedtuple

#: exit: the program's code, 124 out of time, 127 not found, 126 not startable, 128 + n ended by signal n · seconds: run
#: time.
Outcome = namedtuple("Outcome", "exit seconds note")

#: Bytes of output that are kept at the most; the end is what matters, so a longer log keeps its head and tail.
MOST_OUTPUT = 4_000_000
#: Variables that belong to the session around us, not to the project's own programs.
_OURS = ("CLAUDE_CODE_TASK_LIST_ID",)


def run(arguments: list[str], folder: str, log: str, seconds: float, environment: dict[str, str]) -> Outcome:
    """Run `arguments` in `folder` with both streams appended to the file `log`; the whole group ends with it.

    No shell. Raises OSError where the log cannot be opened.
    """
    began = time.monotonic()
    environment = {name: value for name, value in environment.items() if name not in _OURS}
    with open(log, "ab") as output:
        try:
            process = subprocess.Popen(
                arguments,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError:
            return Outcome(127, 0.0, f"no such program: {arguments[0]}")
        except (OSError, ValueError) as error:
            return Outcome(126, 0.0, f"cannot start {arguments[0]}: {error}")
        note = ""
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code, note = 124, f"ended after {seconds:g} s"
        finally:
            end_group(process)
    if code < 0:
        code = 128 - code
    return Outcome(code, time.monotonic() - began, note)


def end_group(process: subprocess.Popen, grace: float = 5.0) -> None:
    """End a process and all of its group: TERM, then KILL after `grace` seconds."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
        if process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(grace)
        os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        process.wait()
