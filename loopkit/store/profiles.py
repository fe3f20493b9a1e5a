"""Expert profiles of the counsel plugin: one Markdown file each, its front matter is the data."""

from __future__ import annotations

import functools
import os

from ..core.review.panel import Profile
from . import digest


def read(root: str) -> list[Profile]:
    """All profiles below `plugins/counsel/profiles` of the plugin root, by name."""
    folder = os.path.join(root, "plugins", "counsel", "profiles")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
        marks = tuple(digest.mark(os.path.join(folder, name)) for name in names)
    except OSError:
        return []
    return list(_read(folder, tuple(names), marks))


@functools.lru_cache(maxsize=1)
def _read(folder: str, names: tuple[str, ...], marks: tuple) -> list[Profile]:
    """marks: what tells whether the files are the same as last time."""
    import yaml

    # many small files: the compiled reader where there is one
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    profiles = []
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8-sig") as file:
            text = file.read()
        row = yaml.load(text.split("---", 2)[1], loader) if text.startswith("---") else None
        if isinstance(row, dict):
            keys = ("title", "viewpoint", "asks", "evidence", "blind_spots")
            texts = [row.get(key) or "" for key in keys]
            lists = [list(row.get(key) or []) for key in ("depth", "core", "current")]
            profiles.append(Profile(row.get("name") or name[:-3], *texts, *lists))
    return profiles
