"""Files of `.loop/` are taken for what they are: nothing is written through a symbolic link, and
nothing but an ordinary file is read, up to a size. Standard library only."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO


def opened(path: str, most: int, links: bool = False) -> BinaryIO:
    """An ordinary file of at most `most` bytes, for reading; `links`: also what a link leads to.

    Raises OSError, also for a pipe, a device or anything else that would never end.
    """
    flags = (
        os.O_RDONLY
        | getattr(os, "O_NONBLOCK", 0)
        | getattr(os, "O_BINARY", 0)
        | getattr(os, "O_NOCTTY", 0)
    )
    descriptor = os.open(path, flags | (0 if links else getattr(os, "O_NOFOLLOW", 0)))
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "it is no file", path)
        if state.st_size > most:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check(root: str, path: str) -> None:
    """Raises OSError (ELOOP, with the link's name) where something between `root` and `path`, or
    `path`, is a link.

    root: a folder that is trusted as it stands · path: what is going to be written, below it; it
    need not exist.
    """
    here = root
    for part in os.path.relpath(path, root).split(os.sep):
        if part == os.pardir:
            raise OSError(errno.EPERM, "outside of " + root, path)
        here = os.path.join(here, part)
        if os.path.islink(here):
            raise OSError(errno.ELOOP, "a symbolic link, and nothing is written through one", here)
