"""All event types of a loop, in the order in which they fold."""

from __future__ import annotations

from ..evidence import events as evidence
from ..health import events as health
from ..journal import state
from ..journal.events import Table
from ..journal.session import SESSION
from ..memory import events as memory
from ..plan import events as plan
from ..request import events as request
from ..review import events as review

LOOP = Table(state, evidence, request, plan, memory, health, review, base=SESSION)
