"""Whole files, written so that a reader sees the old text or the new one. Standard library only."""

from __future__ import annotations

import os


def write(path: str, data: bytes, sync: bool = False) -> None:
    """Replace a file's content through a temporary sibling and a rename; nothing is left behind on failure. OSError."""
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(beside, flags, 0o644)
        except FileExistsError:  # left by a process of the same number, or a link that somebody planted
            os.unlink(beside)
            descriptor = os.open(beside, flags, 0o644)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(beside, path)
    except OSError:
        try:
            os.unlink(beside)
        except OSError:
            pass
        raise
