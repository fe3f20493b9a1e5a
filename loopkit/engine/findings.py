"""What the doctor's checks share: the case they look at, the report they add to."""

from __future__ import annotations

from collections import namedtuple
from functools import partialmethod

from ..core.journal.errors import EXIT_DAMAGED

OK, WARN, FAULT, DAMAGE = "ok", "note", "fault", "damaged"

#: env: variables · folder: the current one · session: its id · root: `.loop` or None · follow:
#: renews a loop's derived files · system: as `sys.platform` names it.
Case = namedtuple("Case", "env folder session root follow system")


class Report:
    """Findings: (level, one line), and the exit code that follows."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []

    def add(self, level: str, text: str) -> None:
        self.rows.append((level, " ".join(text.split())))

    ok, warn = partialmethod(add, OK), partialmethod(add, WARN)
    fault, damage = partialmethod(add, FAULT), partialmethod(add, DAMAGE)

    @property
    def exit(self) -> int:
        levels = {level for level, _ in self.rows}
        return EXIT_DAMAGED if DAMAGE in levels else 1 if FAULT in levels else 0
