"""Find and keep learnings: the project's lines, its decisions and the user's lines."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..core.journal import prose
from ..core.journal.events import encoded
from ..core.memory import learned, recall
from ..core.memory.learned import Learning
from . import atomic, origin, personal, trust
from .origin import LEARNINGS, PROJECT, USER, Origin


def user_too(whose: Origin) -> bool:
    """Whether the project reads the user's learnings too: `[recall] user = true` in its
    config.toml. A file with a fault in it says no; whoever starts a loop is told of the fault."""
    try:
        raw = whose.settings()
    except OSError:
        return False
    if b"recall" not in raw:  # the parser costs more than the rest of this
        return False
    import tomllib

    try:
        table = tomllib.loads(raw.decode("utf-8-sig").replace("\r\n", "\n")).get("recall")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return False
    return isinstance(table, dict) and table.get("user") is True


def named(path: str, bad: list[int]) -> str:
    """The note about all lines of a file that cannot be read."""
    numbers = prose.few([*map(str, bad)], 5)
    lines, are = ("line", "is") if len(bad) == 1 else ("lines", "are")
    return f"{path}: {lines} {numbers} cannot be read and {are} left out"


def rows(path: str, whose: Origin | None = None) -> list[dict]:
    """The rows of a file that are the person's own; whose: of a project's. Raises OSError."""
    lines = origin.lines(origin.read(path, links=whose is None), PROJECT, whose)
    found = [origin.row(line.raw) for line in lines if line.how == trust.OWN]
    return [row for row in found if learned.entry(row, "")]


def known(whose: Origin, environment: dict, note: Callable[[str], None]) -> list[Learning]:
    """All that counts, each once; the user's lines where they are switched on."""
    user = path_of(None, environment) if user_too(whose) else ""
    learnings: list[Learning] = []
    bad: dict[str, list[int]] = {PROJECT: [], USER: []}
    for content in origin.contents(whose, note, user):
        learning = origin.learning(content) if content.how else None
        if learning:
            learnings.append(learning)
        elif content.how and content.number:
            bad[content.where].append(content.number)
    project = os.path.join(os.path.basename(whose.root), LEARNINGS)
    for path, numbers in ((project, bad[PROJECT]), (user, bad[USER])):
        if numbers:
            note(named(path, numbers))
    return learned.unlike(learnings)


def fitting(
    whose: Origin | None,
    request: str,
    now: float,
    environment: dict,
    note: Callable[[str], None],
    most: int = recall.SHOWN,
) -> list[Learning]:
    """The learnings that fit a request best, at most `most`, each with a title of its own. `note`
    is told, once a file, what could not be read. No `.loop`: none."""
    learnings = known(whose, environment, note) if whose else []
    titled: dict[str, Learning] = {}
    for match in recall.ordered(recall.relevant(learnings, request), now)[:most]:
        learning = match.what
        title = f"{learned.CAME} {learning.title}" if learning.taken else learning.title
        if title in titled:  # an answer names a learning by its title
            title = f"{title}: {learning.text[:80]}"
        titled[title] = learning._replace(title=title)
    return list(titled.values())


def path_of(root: str | None, environment: dict) -> str:
    """The file that learnings are added to: the project's, or the user's where `root` is None."""
    return os.path.join(root or os.path.dirname(personal.path(environment)), LEARNINGS)


def append(path: str, added: list[dict]) -> None:
    """Add rows as lines with one write; an unfinished last line stays a line of its own. The caller
    holds the lock. They are known as the person's own from then on, wherever the file goes. Raises
    OSError; what was written of them is then taken back."""
    written = [encoded(row) + b"\n" for row in added]
    kind = origin.LEARNING
    trust.vouch(trust.OWN, [(origin.digest(kind, line), kind) for line in written])
    atomic.append(path, b"".join(written))
