"""Writes stay where they belong: no symbolic link within `.loop/` leads one out of it. Standard library only."""

from __future__ import annotations

import errno
import os


def check(root: str, path: str) -> None:
    """Raises OSError (ELOOP, with the link's name) where something between `root` and `path`, or `path`, is a link.

    root: a folder that is trusted as it stands · path: what is going to be written, below it; it need not exist.
    """
    here = root
    for part in os.path.relpath(path, root).split(os.sep):
        if part == os.pardir:
            raise OSError(errno.EPERM, "outside of " + root, path)
        here = os.path.join(here, part)
        if os.path.islink(here):
            raise OSError(errno.ELOOP, "a symbolic link, and nothing is written through one", here)
