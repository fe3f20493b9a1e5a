"""Permission rules of the client that let a program of ours run whatever it is told, without a question."""

from __future__ import annotations

import re

#: Commands of `loopkit` that run a command line which Claude wrote.
RUNNING = ("verify", "baseline")
#: A rule for one check, in its exact words.
EXACT = "Bash(loopkit verify T-001 -- npm test)"

_RULE = re.compile(r"\s*Bash\s*\((.*)\)\s*", re.DOTALL)
#: What may stand before a program: assignments, and programs that run another one.
_BEFORE = r"(?:(?:\w+=\S*|env|command|exec|nohup|time|timeout\s+\S+|python[\d.]*\s+-m)\s+)*"
#: The program by its name, by a path that may be quoted, or by a pattern of one.
_PROGRAM = re.compile(
    _BEFORE + r"""(?:(["'])(?:[^"']*[/*\\])?loopkit\1|(?:\S*[/*\\])?loopkit|\*.*[\s/*]loopkit["']?)(?=[\s:*]|$)"""
)


def too_wide(rule: str) -> bool:
    """Whether a rule for `loopkit` also fits calls that run any command: `Bash(loopkit verify *)`, `Bash(loopkit:*)`.

    A `*` stands for any words, others in the middle of a line included. A rule that gives everything (`Bash`, `Bash(*)`) is
    none of ours, nor is one without a `*`: it fits a single call.
    """
    found = _RULE.fullmatch(rule)
    program = _PROGRAM.match(found[1].strip()) if found else None
    if found is None or program is None or "*" not in found[1]:
        return False
    rest = found[1].strip()[program.end() :]
    literal, star, _ = rest.partition("*")
    words = [word for word in literal.rstrip(":").split() if not word.startswith("-")]
    if not words:
        return bool(star)
    whole = len(words) > 1 or not star or literal[-1:] in (" ", ":")  # else the word may go on
    return any(words[0] == name or not whole and name.startswith(words[0]) for name in RUNNING)
