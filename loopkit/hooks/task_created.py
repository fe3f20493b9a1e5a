"""TaskCreated: Claude made a task in its own list; the loop takes it in, without a verification."""

from __future__ import annotations

from ..store import native
from . import project
from .reply import Call


def handle(call: Call) -> None:
    """Note once that this client has task tools; take the task in once the loop has a shape."""
    found = project.open_view(call)
    if found is None:
        return
    if not found.session.native_seen:
        project.record(found, call, ("native_seen", {}))
    folder = native.folder(call.env, project.session_id(call))
    if folder is not None and found.session.stage in ("decompose", "executing", "review"):
        from . import mirror

        mirror.sync(found, folder, call)
