"""UserPromptExpansion: keep what a person typed after /loop:start or /loop:resume as it is; grant
what /loop:allow grants."""

from __future__ import annotations

import os

from ..store import trust, typed
from . import project, reply
from .reply import Call

COMMAND, AGAIN, ALLOW = "loop:start", "loop:resume", "loop:allow"
EXAMPLE = "/loop:start add rate limiting to the API"
USAGE = f"usage: /loop:start <what is to be done>, for example: {EXAMPLE}"
#: Seconds after which words that no command took are thrown away.
KEPT = 7 * 86400


def handle(call: Call) -> dict | None:
    """Store `command_args`; a start without any ends here, with the usage."""
    name = call.given.get("command_name")
    if name == ALLOW:
        _grant(call)
    if name not in (COMMAND, AGAIN):
        return None
    session_id, words = project.session_id(call), call.given.get("command_args")
    empty = type(words) is not str or not words.strip()
    if empty and name == COMMAND:
        return reply.refuse(USAGE)
    whose = typed.START if name == COMMAND else typed.RESUME
    if not session_id:
        return None
    if empty:  # forget those of an earlier call that never came to it
        typed.forget(call.data, session_id, whose)
    else:
        typed.save(call.data, session_id, words, whose)
    opened = call.env.get("CLAUDE_PROJECT_DIR") or ""
    typed.save(call.data, session_id, trust.state_home(), typed.STATE)
    typed.save(call.data, session_id, opened, typed.OPENED)
    _clean_up(os.path.dirname(typed.path(call.data, session_id)), call.now)
    return None


def _grant(call: Call) -> None:
    """The person allows the checks of their session's loop, as they stand now."""
    found = project.own_view(call)
    if found is None:
        return
    from ..store import leave, loops

    state, _ = loops.fold(found.root, found.name)
    known = leave.of(found.root, state, call.env)
    leave.grant(known.folder, leave.askable(state, known))


def _clean_up(folder: str, now: float) -> None:
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        try:
            if now - os.stat(path).st_mtime > KEPT:
                os.unlink(path)
        except OSError:
            pass
