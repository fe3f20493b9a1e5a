"""`config.toml` in the person's own folder: what holds for all their projects. Standard library
only; where Python is too old to read TOML nothing stands in it."""

from __future__ import annotations

import os

from ..core.journal.errors import Damaged, UsageFault
from . import atomic, place

CONFIG = "config.toml"
#: Bytes of the file at the most.
LARGEST = 1 << 20
#: What may stand in it; those of runs are checked by store/config.py.
_KEYS = ("verify_allow", "notify", "agents")
_TAKES = 'a list of patterns, as in verify_allow = ["pytest *"]'


def path(environment: dict) -> str:
    """Where it lies: LOOPKIT_CONFIG_DIR, else `loopkit` in XDG_CONFIG_HOME or ~/.config."""
    given = environment.get("LOOPKIT_CONFIG_DIR") or ""
    if not os.path.isabs(given):
        base = environment.get("XDG_CONFIG_HOME") or ""
        if not os.path.isabs(base):
            home = environment.get("HOME") or os.path.expanduser("~")
            base = os.path.join(home, ".config")
        given = os.path.join(base, "loopkit")
    return os.path.join(given, CONFIG)


def load(environment: dict, project: str) -> dict:
    """What stands in it, its keys known, its values unchecked. A file in the project is nobody's
    own: a repository may name its folder in settings of the client. Raises Damaged, UsageFault."""
    file = path(environment)
    if place.inside(os.path.realpath(file), os.path.realpath(project)):
        return {}
    try:
        import tomllib
    except ImportError:
        return {}
    try:
        given = tomllib.loads(atomic.read(file, LARGEST, links=True).decode("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise Damaged(f"cannot read {file}: {error.strerror}", "fix or remove it") from None
    except ValueError as error:
        raise Damaged(f"{file}: {error}", "fix it") from None
    unknown = [key for key in given if key not in _KEYS]
    if unknown:
        takes = "it takes " + ", ".join(_KEYS)
        raise UsageFault(f"{file}: there is no setting {unknown[0]!r}", takes)
    return given


def verify_allow(environment: dict, project: str) -> list:
    """Patterns of checks that may run unasked. Raises Damaged, UsageFault."""
    file = path(environment)
    patterns = load(environment, project).get("verify_allow", [])
    if type(patterns) is not list or not all(type(one) is str and one for one in patterns):
        raise UsageFault(f"{file}: verify_allow must be {_TAKES}")
    return patterns
