"""Which loop an event is about: the project is where the session works, or where it was opened."""

from __future__ import annotations

import os

from ..store import journal, loops, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..core.events import Event
    from .dispatch import Call


def view(call: Call) -> loops.View | None:
    """The active loop of the event's project, or None where there is none that can be read."""
    tried = set()
    for folder in (call.given.get("cwd"), _here(), call.env.get("CLAUDE_PROJECT_DIR")):
        if type(folder) is str and folder and folder not in tried:
            tried.add(folder)
            root = place.find(folder, call.env)
            if root is not None and root not in tried:
                tried.add(root)
                found = loops.view(root)
                if found is not None:
                    return found
    return None


def own_view(call: Call) -> loops.View | None:
    """The same, if the event's session owns that loop."""
    found = view(call)
    return found if found is not None and found.session.owner == session_id(call) != "" else None


def session_id(call: Call) -> str:
    """The event's session, empty where the input does not say."""
    name = call.given.get("session_id")
    return name if type(name) is str else ""


def append(found: loops.View, event: Event) -> None:
    """Add one line to the loop's journal; raises OSError."""
    journal.append(loops.ledger(found.root, found.name), [event])


def _here() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # the folder is gone
        return None
