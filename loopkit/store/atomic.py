"""Files: written whole, so that a reader sees the old text or the new one; only regular ones up to
a size are read, and none is written through a symbolic link. Standard library only."""

from __future__ import annotations

import errno
import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

#: Seconds after which a draft counts as left behind by a process that died.
LEFT = 60
#: Permission bits of a new file.
USUAL = 0o644


def write(path: str, data: bytes, sync: bool = False, most: int = 0o777) -> None:
    """Replace a file's content through a draft and a rename; nothing is left behind on failure. A
    file that is there keeps its permission bits. most: mask of these bits. Raises OSError."""
    beside = f"{path}.{os.getpid()}.tmp"
    known = _bits(path)
    bits = (USUAL if known is None else known) & most
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | open_flags("O_BINARY")
        try:
            descriptor = os.open(beside, flags, bits)
        except FileExistsError:  # left by a process of that number, or a link somebody planted
            os.unlink(beside)
            descriptor = os.open(beside, flags, bits)
        try:
            if known is not None and hasattr(os, "fchmod"):  # the umask is for new files
                os.fchmod(descriptor, bits)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(beside, path)
    except OSError:
        remove(beside)
        raise


def create(path: str, data: bytes) -> bool:
    """Write a file that is not there yet, as a whole; False where it is. Raises OSError."""
    if os.path.lexists(path):
        return False
    whole = f"{path}.new.{os.getpid()}.tmp"
    write(whole, data)
    try:
        os.link(whole, path)
    except FileExistsError:
        return False
    except OSError:  # no links here
        os.rename(whole, path)
        return True
    finally:
        remove(whole)
    return True


def remove(path: str) -> None:
    """Delete a file; no fault where that cannot be done."""
    try:
        os.unlink(path)
    except OSError:
        pass


def append(
    path: str,
    data: bytes,
    ending: bytes = b"\n",
    create: bool = True,
    sync: bool = True,
    bits: int = USUAL,
) -> int:
    """Append lines to a regular file with one write, closing an unfinished last line with `ending`;
    returns the file's size. What was written is taken back on failure. Raises OSError. A process
    that dies within the write leaves a torn line, which readers skip."""
    flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0)
    descriptor = regular(path, flags, bits)
    try:
        state, written = os.fstat(descriptor), 0
        if state.st_size:
            os.lseek(descriptor, state.st_size - 1, os.SEEK_SET)  # O_APPEND writes at the end
            data = data if os.read(descriptor, 1) == b"\n" else ending + data
        try:
            while written < len(data):
                written += os.write(descriptor, data[written:])
            if sync:
                os.fsync(descriptor)
        except OSError:
            # unless somebody has written behind it
            if written and os.fstat(descriptor).st_size == state.st_size + written:
                os.ftruncate(descriptor, state.st_size)
            raise
        return os.fstat(descriptor).st_size
    finally:
        try:
            os.close(descriptor)
        except OSError:  # what was to be known of the write is known by now
            pass


def _bits(path: str) -> int | None:
    """The permission bits of an ordinary file; None where there is none."""
    try:
        state = os.lstat(path)
    except OSError:
        return None
    return stat.S_IMODE(state.st_mode) & 0o777 if stat.S_ISREG(state.st_mode) else None


def is_draft(name: str) -> bool:
    """Whether a name is that of a draft: `name.<pid>.tmp`, the client's `N.json.tmp.<8 hex>`."""
    stem, _, ending = name.rpartition(".")
    if ending == "tmp":
        return stem.rpartition(".")[2].isdigit()
    return stem.endswith(".json.tmp") and len(ending) == 8 and not ending.strip("0123456789abcdef")


def clean_up(folder: str, older: float = LEFT) -> None:
    """Remove drafts that are older than that in seconds, or of the future. Never raises OSError."""
    try:
        names = [name for name in os.listdir(folder) if is_draft(name)]
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        try:
            if abs(time.time() - os.lstat(path).st_mtime) >= older:
                os.unlink(path)
        except OSError:
            pass


# -- reading


def open_flags(*names: str) -> int:
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
    descriptor = regular(path, os.O_RDONLY, links=links)
    try:
        if os.fstat(descriptor).st_size > most:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def regular(path: str, flags: int, bits: int = USUAL, links: bool = False) -> int:
    """A descriptor of a regular file; what is none (a pipe, a device, without `links` a link) is
    neither waited for nor opened. Raises OSError: EINVAL, ELOOP."""
    names = ["O_NONBLOCK", "O_BINARY", "O_NOCTTY"] + ([] if links else ["O_NOFOLLOW"])
    descriptor = os.open(path, flags | open_flags(*names), bits)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no file", path)
    return descriptor


def check_inside(root: str, path: str) -> None:
    """Raise OSError (ELOOP, with the link's name) where `path` or a folder on its way is a link.
    root: a folder that is trusted as it stands · path: what is to be written below it."""
    current = root
    for part in os.path.relpath(path, root).split(os.sep):
        if part == os.pardir:
            raise OSError(errno.EPERM, "outside of " + root, path)
        current = os.path.join(current, part)
        if os.path.islink(current):
            why = "a symbolic link, and nothing is written through one"
            raise OSError(errno.ELOOP, why, current)
