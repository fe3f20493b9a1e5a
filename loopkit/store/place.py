"""Where things are: the project's `.loop/`, the plugin's data folder, the session. Standard library only."""

from __future__ import annotations

import os

FOLDER = ".loop"


def main_tree(folder: str) -> str | None:
    """The root of the working tree that holds `folder`, and of the main one where that is a linked worktree."""
    top = _climb(folder, ".git")
    if top is None:
        return None
    link = os.path.join(top, ".git")
    if os.path.isfile(link):
        try:
            with open(link, encoding="utf-8", errors="surrogateescape") as file:
                target = file.read(4096).strip()
        except OSError:
            return top
        if target.startswith("gitdir:"):
            target = os.path.join(top, target[7:].strip())
            parent, _, last = target.partition(os.sep + ".git" + os.sep + "worktrees" + os.sep)
            if last and os.path.isdir(parent):
                return os.path.normpath(parent)
    return top


def work_tree(folder: str) -> str | None:
    """The root of the working tree (linked or main) that holds `folder`, or None outside git."""
    return _climb(folder, ".git")


def _climb(folder: str, name: str) -> str | None:
    here = os.path.abspath(folder)
    while True:
        if os.path.exists(os.path.join(here, name)):
            return here
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def find(folder: str, environment: dict) -> str | None:
    """The `.loop` that serves `folder`: LOOPKIT_DIR, the nearest one upwards, the main working tree's; or None."""
    given = environment.get("LOOPKIT_DIR")
    if given:
        return os.path.abspath(given) if os.path.isdir(given) else None
    home = environment.get("HOME")
    top = _climb(folder, FOLDER)
    near = os.path.join(top, FOLDER) if top is not None else None
    # a .loop of the home folder would serve every project below it
    if near is not None and (not os.path.isdir(near) or top == home and os.path.abspath(folder) != top):
        near = None
    main = main_loop(folder, environment)
    # a linked worktree checks out what is kept of .loop (shapes, reasons); the loops are where the journals are
    if near is not None and main is not None and near != main and not holds_loop(near) and holds_loop(main):
        return main
    return near or main


def holds_loop(root: str) -> bool:
    """Whether a `.loop` holds a loop, or did: a snapshot, or a journal in one of its folders."""
    if os.path.exists(os.path.join(root, "workflow-state.json")):
        return True
    try:
        return any(os.path.exists(os.path.join(root, name, "ledger.jsonl")) for name in os.listdir(root))
    except OSError:
        return False


def main_loop(folder: str, environment: dict) -> str | None:
    """The main working tree's `.loop`, seen from a linked worktree that may have one of its own; or None."""
    if environment.get("LOOPKIT_DIR"):
        return None
    top = main_tree(folder)
    root = os.path.join(top, FOLDER) if top is not None else None
    return root if root is not None and os.path.isdir(root) else None


def future(folder: str, environment: dict) -> str:
    """Where a new `.loop` belongs: LOOPKIT_DIR, else the main working tree's root, else the folder itself."""
    given = environment.get("LOOPKIT_DIR")
    if given:
        return os.path.abspath(given)
    return os.path.join(main_tree(folder) or os.path.abspath(folder), FOLDER)


def config_dir(environment: dict) -> str:
    """Claude Code's own folder."""
    return environment.get("CLAUDE_CONFIG_DIR") or os.path.join(
        environment.get("HOME") or os.path.expanduser("~"), ".claude"
    )


def plugin_root() -> str:
    """The folder that holds the package `loopkit`."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def data_dir(environment: dict) -> str:
    """The plugin's data folder: outside the plugin, kept over updates."""
    given = environment.get("LOOPKIT_DATA") or environment.get("CLAUDE_PLUGIN_DATA")
    if given:
        return given
    market = marketplace(environment, plugin_root()) or "inline"
    name = "loop-" + "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "-" for one in market)
    return os.path.join(config_dir(environment), "plugins", "data", name)


def marketplace(environment: dict, root: str) -> str | None:
    """The marketplace that the plugin folder `root` was installed from; None for a checkout."""
    cache = os.path.join(os.path.realpath(config_dir(environment)), "plugins", "cache") + os.sep
    real = os.path.realpath(root)
    return real[len(cache) :].split(os.sep)[0] if real.startswith(cache) else None


def session_id(environment: dict) -> str:
    """The id of the Claude Code session that runs us, or empty."""
    return environment.get("CLAUDE_CODE_SESSION_ID") or ""


def client_pid(environment: dict) -> int | None:
    """The process id of the client, or None where it does not say."""
    text = environment.get("CLAUDE_PID") or ""
    return int(text) if text.isdigit() and text.isascii() and len(text) < 10 else None


def alive(pid: int | None) -> bool:
    """Whether a process of that number runs (a zombie counts as gone)."""
    if not pid or not 0 < pid < 1 << 31:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except (OSError, IndexError):
        return True
