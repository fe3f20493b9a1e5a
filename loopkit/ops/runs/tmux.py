"""A run in a tmux session of its own."""

from __future__ import annotations

import os
import shutil
import subprocess

from ...core.journal.errors import Damaged, Refused
from ...store import place
from ..workspace import Result, Workspace
from . import start as starting
from . import taking
from .ready import INSIDE, Asked

#: Variables that say where state and settings are; a tmux server knows those of its own start.
_KEPT = ("LOOPKIT_", "XDG_", "CLAUDE_CONFIG_DIR", "PATH", "HOME")


def start(workspace: Workspace, asked: Asked, words: list[str]) -> Result:
    """Start `loopkit words…` in the session `loop-<session>`; it is checked first, so that what
    cannot be run is said here. Raises LoopError."""
    program = shutil.which("tmux", path=place.search_path(workspace.environment))
    if program is None:
        raise Damaged("tmux is not on the PATH", "install it, or leave --tmux out")
    try:
        starting.checked(workspace, asked)
    except taking.Stands as there:
        over = starting.stands(there, asked)
        return Result(None, over.text, {**over.data, "said": over.text, "next": []}, code=over.code)
    name = f"loop-{asked.session}"
    kept = [
        f"{key}={value}" for key, value in workspace.environment.items() if key.startswith(_KEPT)
    ]
    inner = [
        "env",
        *kept,
        f"{INSIDE}=1",
        os.path.join(place.plugin_root(), "bin", "loopkit"),
        *words,
    ]
    arguments = [program, "new-session", "-d", "-s", name, "-c", workspace.folder, "--", *inner]
    try:
        done = subprocess.run(
            arguments,
            env=workspace.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Damaged(f"tmux: {error}", "leave --tmux out") from None
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip()[:300]
        way = f"attach to it: tmux attach -t {name}, or leave --tmux out"
        raise Refused(f"tmux starts no session {name}: {why}", way)
    lines = [
        f"run {asked.session} goes on in tmux session {name}",
        f"watch it: tmux attach -t {name}, or loopkit watch {asked.session}",
    ]
    text = "\n".join(lines)
    return Result(None, text, {"session": asked.session, "tmux": name, "said": text, "next": []})
