"""UserPromptExpansion of /loop:start: keeps the person's words for the command, past every shell and the model."""

from __future__ import annotations

import os

from ..store import prompts
from . import project, reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .dispatch import Call

COMMAND = "loop:start"
USAGE = "usage: /loop:start <what is to be done>, for example: /loop:start add rate limiting to the API"
#: Seconds after which words that no command took are thrown away.
KEPT = 7 * 86400


def handle(call: Call) -> dict | None:
    """Store `command_args` as they were typed; without any words the prompt ends here, with the usage."""
    if call.given.get("command_name") != COMMAND:
        return None
    session_id, words = project.session_id(call), call.given.get("command_args")
    if type(words) is not str or not words.strip():
        return reply.refuse(USAGE)
    if session_id:
        prompts.save(call.data, session_id, words)
        _tidy(os.path.dirname(prompts.path(call.data, session_id)), call.now)
    return None


def _tidy(folder: str, now: float) -> None:
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        try:
            if now - os.stat(path).st_mtime > KEPT:
                os.unlink(path)
        except OSError:
            pass
