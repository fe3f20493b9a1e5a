"""Start of the command-line program, inside the environment that bin/loopkit prepared.

Before anything is imported, module search moves from the link `env` to the folder behind it, and a
shared lock marks that folder as in use: a build for another lock file neither mixes versions into
this process nor takes modules away, nor removes what was used of late.
"""

from __future__ import annotations

import gc
import os
import sys


def pin_environment() -> int | None:
    """Bind this process to the real folder of its environment; gives the descriptor that holds the
    mark."""
    prefix = sys.prefix
    real = os.path.realpath(prefix)
    if real != prefix:
        sys.path[:] = [
            real + p[len(prefix) :] if p.startswith(prefix + os.sep) else p for p in sys.path
        ]
    stamp = os.path.join(real, "pyvenv.cfg")
    try:
        os.utime(stamp)
    except OSError:
        pass
    try:
        import fcntl

        mark = os.open(stamp, os.O_RDONLY)
        fcntl.flock(mark, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return None
    return mark


def discard_environment() -> bool:
    """Let the next start build the environment anew. False where this is none of ours, or it cannot
    be changed.

    Needed when an environment is complete by its stamp and yet lacks a module, as after an upgrade
    of the interpreter below it.
    """
    stamp = os.path.join(os.path.realpath(sys.prefix), "requirements.lock")
    try:
        os.unlink(stamp)
    except OSError:
        return False
    return True


def start() -> int:
    """Import the program and run it; gives its exit code (3 where the environment is damaged)."""
    # imports leave next to nothing to collect, and looking for it takes a tenth of a command
    gc.set_threshold(100_000)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    mark = pin_environment()
    if root not in sys.path:
        sys.path.insert(0, root)
    repaired = os.environ.pop("LOOPKIT_REPAIRED", None)
    ran = False
    try:
        from loopkit.cli import main

        ran = True
        return main() or 0
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "loopkit":
            raise
        lacks = f"loopkit: the environment {sys.prefix} lacks the module {error.name}"
        if not discard_environment():
            print(f"{lacks}: remove that folder and run this again", file=sys.stderr)
            return 3
        if ran or repaired:
            print(f"{lacks}: run this again, it will be prepared anew", file=sys.stderr)
            return 3
        print(f"{lacks}, preparing it anew", file=sys.stderr)
        os.environ["LOOPKIT_REPAIRED"] = "1"
        os.execv("/bin/sh", ["sh", os.path.join(root, "bin", "loopkit"), *sys.argv[1:]])
    finally:
        if mark is not None:
            os.close(mark)


if __name__ == "__main__":
    sys.exit(start())
