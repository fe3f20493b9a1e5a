"""StopFailure: note for `loopkit status` that a turn died of an error of the API."""

from __future__ import annotations

from ..core.journal import clock, prose, verdict
from ..core.journal.events import Event
from . import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .dispatch import Call

#: Characters of the client's own words that are kept; the time of a reset stands in them.
LONGEST = 300


def handle(call: Call) -> None:
    """Note the kind of error and the client's words."""
    found = project.own_view(call)
    if found is None or found.session.status in verdict.FINAL:
        return
    words = call.given.get("last_assistant_message") or call.given.get("error_details") or ""
    data = {
        "error": prose.clean(str(call.given.get("error") or "unknown"), 80),
        "text": prose.clean(words if type(words) is str else str(words), LONGEST),
    }
    project.append(found, Event("stop_failed", data, clock.stamp(call.now), "hook"))
