"""StopFailure: note for `loopkit status` that a turn died of an error of the API."""

from __future__ import annotations

from ..core.journal import prose
from . import project
from .reply import Call

#: Characters of the client's own words that are kept; the time of a reset stands in them.
LONGEST = 300


def handle(call: Call) -> None:
    """Note the kind of error and the client's words."""
    found = project.open_view(call)
    if found is None:
        return
    words = call.given.get("last_assistant_message") or call.given.get("error_details") or ""
    data = {
        "error": prose.clean(str(call.given.get("error") or "unknown"), 80),
        "text": prose.clean(words if type(words) is str else str(words), LONGEST),
    }
    project.record(found, call, ("stop_failed", data))
