"""What the doctor's checks share: what is looked at, and what was found."""

from __future__ import annotations

from collections.abc import Callable

from ..core.journal.errors import EXIT_DAMAGED

OK, WARN, FAULT, DAMAGE = "ok", "note", "fault", "damaged"


class Case:
    """What is looked at: environment, current folder, session id, `.loop` (or None), how derived
    files are renewed.

    system: as `sys.platform` names it.
    """

    def __init__(
        self,
        environment: dict,
        folder: str,
        session: str,
        root: str | None,
        renew: Callable,
        system: str,
    ) -> None:
        self.environment, self.folder, self.session, self.root, self.follow = (
            environment,
            folder,
            session,
            root,
            renew,
        )
        self.system = system


class Report:
    """Findings: (level, one line), and the exit code that follows."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []

    def add(self, level: str, text: str) -> None:
        self.rows.append((level, " ".join(text.split())))

    @property
    def exit(self) -> int:
        levels = {level for level, _ in self.rows}
        return EXIT_DAMAGED if DAMAGE in levels else 1 if FAULT in levels else 0
