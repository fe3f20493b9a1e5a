"""Start of the command-line program, inside the environment that bin/loopkit prepared.

Before anything is imported, module search moves from the link `env` to the folder behind it, and a shared lock marks that
folder as in use: a rebuild for another lock file neither mixes versions into this process nor takes modules away from it.
"""

from __future__ import annotations

import os
import sys


def pin_environment() -> int | None:
    """Bind this process to the real folder of its environment; gives the descriptor that holds the mark."""
    prefix = sys.prefix
    real = os.path.realpath(prefix)
    if real != prefix:
        sys.path[:] = [real + p[len(prefix) :] if p.startswith(prefix + os.sep) else p for p in sys.path]
    try:
        import fcntl

        mark = os.open(os.path.join(real, "pyvenv.cfg"), os.O_RDONLY)
        fcntl.flock(mark, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return None
    return mark


def repair(root: str, missing: str | None) -> None:
    """Run the program once more through bin/loopkit, which builds the environment anew.

    Needed when an environment is complete by its stamp and yet lacks a module, as after an upgrade of the interpreter
    below it. Returns only when that was tried already or cannot be done.
    """
    stamp = os.path.join(os.path.realpath(sys.prefix), "requirements.lock")
    if os.environ.get("LOOPKIT_REPAIRED") or sys.prefix == sys.base_prefix or not os.path.exists(stamp):
        return
    print(f"loopkit: its environment lacks the module {missing}, preparing it anew", file=sys.stderr)
    try:
        os.unlink(stamp)
        os.environ["LOOPKIT_REPAIRED"] = "1"
        os.execvp("sh", ["sh", os.path.join(root, "bin", "loopkit"), *sys.argv[1:]])
    except OSError:
        return


def start() -> int:
    """Import the program and run it; gives its exit code."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    mark = pin_environment()
    if root not in sys.path:
        sys.path.insert(0, root)
    try:
        from loopkit.cli import main
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "loopkit":
            raise
        repair(root, error.name)
        print(
            f"loopkit: cannot import {error.name} in {sys.prefix}: remove that folder and run this again",
            file=sys.stderr,
        )
        return 3
    os.environ.pop("LOOPKIT_REPAIRED", None)
    try:
        return main() or 0
    finally:
        if mark is not None:
            os.close(mark)


if __name__ == "__main__":
    sys.exit(start())
