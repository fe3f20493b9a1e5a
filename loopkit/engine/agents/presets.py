"""Other agent programs, as agent `command` runs them: how each is told not to ask anybody.

Each was run with a model that was played, in November 2026: codex 0.171.0, gemini 0.61.0, opencode
1.18.33. It reads the prompt on standard input and prints its final message, all else on standard
error; none says what a run costs. What a person has to trust stays theirs to say: codex wants a git
repository, gemini a folder that it was told to trust, and each says so in the line of its failure.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from . import Options
from .command import Command


class Preset(NamedTuple):
    """words: the program and what it is always told · permission: how a permission mode is said ·
    mode: the one unless another is chosen; by it files of the project may be edited · last: what
    stands behind all other arguments."""

    words: tuple[str, ...]
    permission: tuple[str, ...]
    mode: str = ""
    last: tuple[str, ...] = ()


PRESETS = {
    "codex": Preset(("codex", "exec"), ("--sandbox", "{}"), "workspace-write", ("-",)),
    "gemini": Preset(("gemini",), ("--approval-mode", "{}"), "auto_edit"),
    "opencode": Preset(("opencode", "run"), ("--{}",)),  # its one mode is `auto`
}


def make(name: str, options: Options) -> Command:
    """The program of that name. Raises Damaged where it is not on the PATH."""
    preset = PRESETS[name]
    words, mode = list(preset.words), options.permission_mode or preset.mode
    if options.model:
        words += ["--model", options.model]
    if mode:
        words += [word.format(mode) for word in preset.permission]
    agent = Command([*words, *options.arguments, *preset.last], options.surroundings)
    agent.check("install it, or add its folder to the PATH")
    return agent


codex, gemini, opencode = partial(make, "codex"), partial(make, "gemini"), partial(make, "opencode")
