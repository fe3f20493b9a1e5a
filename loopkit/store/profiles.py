"""Expert profiles of the counsel plugin: one Markdown file each, its front matter is the data."""

from __future__ import annotations

import os

from ..core.review.panel import Profile


def read(root: str) -> list[Profile]:
    """All profiles below `plugins/counsel/profiles` of the plugin root, by name."""
    import yaml

    # many small files: the compiled reader where there is one
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    folder = os.path.join(root, "plugins", "counsel", "profiles")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    except OSError:
        return []
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
