"""Read only regular files up to a size, write through no symbolic link. Standard library only."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO


def flags(*names: str) -> int:
    """Flags of os.open, without those that this system lacks."""
    value = 0
    for name in names:
        value |= getattr(os, name, 0)
    return value


def read(path: str, most: int, links: bool = False) -> bytes:
    """The content of `opened`."""
    with opened(path, most, links) as file:
        return file.read()


def opened(path: str, most: int, links: bool = False) -> BinaryIO:
    """A regular file of at most `most` bytes, for reading; `links`: follow a link. Raises OSError,
    also for a pipe, a device or anything else that would never end."""
    names = ["O_NONBLOCK", "O_BINARY", "O_NOCTTY"] + ([] if links else ["O_NOFOLLOW"])
    descriptor = os.open(path, os.O_RDONLY | flags(*names))
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
    """Raise OSError (ELOOP, with the link's name) where `path` or a folder on its way is a link.
    root: a folder that is trusted as it stands · path: what is going to be written, below it; it
    need not exist."""
    current = root
    for part in os.path.relpath(path, root).split(os.sep):
        if part == os.pardir:
            raise OSError(errno.EPERM, "outside of " + root, path)
        current = os.path.join(current, part)
        if os.path.islink(current):
            why = "a symbolic link, and nothing is written through one"
            raise OSError(errno.ELOOP, why, current)
