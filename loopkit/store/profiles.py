"""Expert profiles of the counsel plugin: one Markdown file each, its front matter is the data."""

from __future__ import annotations

import os

from ..core.review.panel import Profile


def read(root: str) -> list[Profile]:
    """All profiles below `plugins/counsel/profiles` of the plugin root, or of the plugin beside it;
    by name."""
    import yaml

    loader = getattr(
        yaml, "CSafeLoader", yaml.SafeLoader
    )  # many small files: the compiled reader where there is one
    found = []
    for folder in _folders(root):
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
        except OSError:
            continue
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8-sig") as file:
                text = file.read()
            row = yaml.load(text.split("---", 2)[1], loader) if text.startswith("---") else None
            if isinstance(row, dict):
                lists = [list(row.get(key) or []) for key in ("depth", "core", "current")]
                words = [
                    row.get(key) or ""
                    for key in ("title", "viewpoint", "asks", "evidence", "blind_spots")
                ]
                found.append(Profile(row.get("name") or name[:-3], *words, *lists))
        break
    return found


def _folders(root: str) -> list[str]:
    own = os.path.join(root, "plugins", "counsel", "profiles")
    return [own]
