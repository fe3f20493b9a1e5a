"""Topics and kinds of work: closed lists from which the session chooses once, with the scores."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..journal.errors import UsageFault
from ..journal.stage import DEBUG, KINDS, REFACTOR
from ..journal.state import LoopState

#: The aspects of a shape (rule: Shape), then the topics that go across them.
TOPICS = tuple(
    (
        "data api ui auth performance error testing migration integration deployment observability "
        "documentation "
        "debugging simplicity refactoring concurrency distribution data-modelling release security "
        "privacy accessibility localisation dependencies compatibility command-line configuration "
        "cost statistics types requirements"
    ).split()
)
#: What a loop is about where nothing says more, and what is asked about everything.
GENERAL = ("testing", "simplicity")
_OF_KIND = {DEBUG: "debugging", REFACTOR: "refactoring"}
#: (what a path in small letters holds, the topic of such a file).
_OF_FILES = (
    (r"(^|/)(tests?|__tests__|specs?)/|(^|/)test_|_test\.|[._]spec\.|\.test\.", "testing"),
    (r"\.(md|rst)$", "documentation"),
    (r"\.(css|html|[jt]sx|vue|svelte)$", "ui"),
    (r"\.sql$", "data"),
    (r"(^|/)migrations?/", "migration"),
    (r"(^|/)(dockerfile|\.github/)", "deployment"),
    (r"(^|/)(requirements[^/]*\.txt|package\.json|go\.mod|cargo\.toml)$", "dependencies"),
    (r"[.-]lock(\.\w+)?$", "dependencies"),
)


def topics(text: str) -> list[str]:
    """The topics of `api, auth`, each once. Raises UsageFault for an unknown one."""
    names = list(dict.fromkeys(filter(None, (word.strip() for word in text.lower().split(",")))))
    for name in names:
        if name not in TOPICS:
            raise UsageFault(f"unknown topic {name[:40]!r}", "use " + ", ".join(TOPICS))
    return names


def kind(word: str) -> str:
    """A chosen kind of work. Raises UsageFault for an unknown one."""
    if word not in KINDS:
        raise UsageFault(f"unknown kind of work {word[:40]!r}", "use " + ", ".join(KINDS))
    return word


def of_loop(state: LoopState) -> list[str]:
    """The topics of a loop: those given with its scores, then the aspects of its shape."""
    return list(dict.fromkeys([*((state.scores or {}).get("topics") or ()), *state.aspects]))


def kind_of(state: LoopState) -> str | None:
    """The kind of work given with the scores of a loop, or None."""
    return (state.scores or {}).get("kind")


def ranked(named: list[str], kind: str | None, files: Iterable[str], *first: str) -> list[str]:
    """The topics that experts are chosen by, the most important first: what the call is about
    (`first`), the first one named, what the kind of work and the files add, the others named."""
    paths = [path.lower() for path in files]
    added = [topic for held, topic in _OF_FILES if any(re.search(held, path) for path in paths)]
    of_kind = [_OF_KIND[kind]] if kind in _OF_KIND else []
    return list(dict.fromkeys([*first, *named[:1], *of_kind, *added, *named[1:]]))
