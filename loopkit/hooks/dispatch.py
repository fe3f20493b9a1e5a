"""Run one hook event: read the input, ask its handler, print the answer, end the process."""

from __future__ import annotations

import os
import sys
import time

from ..core.journal import jsons
from ..store import beats
from . import reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

EVENTS = (
    *("session_start", "user_prompt_expansion", "pre_tool_use", "stop", "subagent_stop"),
    *("stop_failure", "task_created", "task_completed", "session_end", "user_prompt_submit"),
)
#: What is called like a hook, without a mark of the call, and answers with a line for people.
STATUS_LINE = "statusline"


def parse(raw: bytes) -> dict | None:
    """The input, one JSON object in UTF-8, with or without a byte order mark; else None."""
    try:
        given = jsons.loads(raw.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return given if type(given) is dict else None


def answer(event: str, raw: bytes, env: dict, data: str, now: float) -> bytes:
    """What to print: one ASCII JSON object, or nothing. Never raises; faults go to the log."""
    if event not in EVENTS and event != STATUS_LINE:
        return b""
    try:
        given = parse(raw)
        handler = __import__("loopkit.hooks." + event, fromlist=["handle"]).handle
        answer = handler(reply.Call(event, given or {}, given is not None, env, data, now))
        if event == STATUS_LINE:
            return answer.encode("utf-8", "replace")
        output, result = jsons.dumps(answer).encode("ascii") if answer else b"", reply.kind(answer)
    except Exception as fault:  # whatever it is, the session must not suffer from it
        from . import log

        log.fault(data, event, fault)
        output, result = b"", "fault"
    beats.end(data, event, result)
    return output


def main(argv: list) -> NoReturn:
    """`argv`: [file, EVENT, DATA_FOLDER, EXIT_CODE]. Exits without the interpreter's clean-up."""
    raw = b""
    try:
        raw = sys.stdin.buffer.read()
    except (OSError, AttributeError):
        pass
    output = answer(argv[1], raw, dict(os.environ), argv[2], time.time())
    try:
        # without stdout its number may be that of a file of ours by now
        while output and sys.stdout is not None:
            output = output[os.write(1, output) :]
    except OSError:
        pass
    os._exit(int(argv[3]) if len(argv) > 3 else 0)
