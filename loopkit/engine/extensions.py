"""What users may bring by name: entry points of packages that they have installed for loopkit.

loopkit runs apart from other Python packages; it finds those in `packages` in the person's own
folder (`pip install --target ~/.config/loopkit/packages …`), and those of its own environment. Ours
come first, in names and in imports.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from ..core.journal.errors import LoopError, UsageFault
from ..store import personal, place

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

#: The folder, beside the person's settings.
PACKAGES = "packages"


def names(table: Mapping[str, str], group: str) -> list[str]:
    """Names of a table of ours, then those of entry points."""
    own = {point.name for point in _points(group)}
    return [*table, *sorted(own - set(table))]


def load(name: str, table: Mapping[str, str], group: str, what: str) -> object:
    """What a name stands for in a table `module:attribute`, or at an entry point. Raises
    UsageFault; whatever a user's own raises while it is loaded becomes one line."""
    if name in table:
        module, _, attribute = table[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    for point in _points(group):
        if point.name != name:
            continue
        with told(f"{what} {name[:40]!r} ({point.value})"):
            return point.load()
    fault = f"there is no {what} {name[:40]!r}"
    raise UsageFault(fault, "use one of " + ", ".join(names(table, group)))


def made(name: str, table: Mapping[str, str], group: str, what: str) -> object:
    """The same; of a class one that it makes."""
    loaded = load(name, table, group, what)
    with told(f"{what} {name[:40]!r}"):
        return loaded() if isinstance(loaded, type) else loaded


def called(name: str, table: Mapping[str, str], what: str) -> AbstractContextManager[None]:
    """Around what is asked of one that was made."""
    return nullcontext() if name in table else told(f"{what} {name[:40]!r}")


@contextlib.contextmanager
def told(whose: str) -> Iterator[None]:
    """Whatever a user's own raises becomes one line: a UsageFault."""
    try:
        yield
    except LoopError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        what = f"{whose} cannot be used: {said}"
        raise UsageFault(what, "correct it, or uninstall its package") from error


def _points(group: str) -> EntryPoints:
    from importlib import metadata

    environment = dict(os.environ)
    folder = os.path.join(os.path.dirname(personal.path(environment)), PACKAGES)
    project = os.path.realpath(place.project(os.getcwd(), environment))
    # a repository may name such a folder in settings of the client
    if os.path.isdir(folder) and not place.inside(os.path.realpath(folder), project):
        if folder not in sys.path:
            sys.path.append(folder)
    return metadata.entry_points(group=group)
