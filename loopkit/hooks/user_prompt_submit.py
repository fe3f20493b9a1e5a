"""UserPromptSubmit: a turn that an agent's report has begun hears whether others are at work."""

from __future__ import annotations

import re

from ..core.journal import verdict
from ..core.steps import announce
from ..store import answers
from . import agents, project, reply
from .reply import Call

#: How a report begins, in default and in auto mode.
REPORTS = ("<task-notification>", "<agent-message from=")
#: How the report of an agent reads that was killed or failed.
_LOST = re.compile(r"<status>\s*(?!completed\b)\w")


def handle(call: Call) -> dict | None:
    """Nothing where a person typed, nothing of the loop was out, or no answer comes by hook."""
    words = call.given.get("prompt")
    if type(words) is not str or not words.lstrip().startswith(REPORTS):
        return None
    found = project.own_view(call)
    if found is None or found.session.status != verdict.RUNNING or not found.snapshot["out"]:
        return None
    given = answers.names(agents.folder(found))
    if not given:
        return None
    waiting = sum(name not in given for name in found.snapshot["out"])
    lost = _LOST.search(words[:2000]) is not None
    return reply.add(announce.report(found.name, waiting, lost), "UserPromptSubmit")
