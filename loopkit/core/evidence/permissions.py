"""The client's permission rules that let `loopkit` do unasked what only a person may do."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

#: Commands that run a line which Claude wrote, and that record the person's word.
RUNNING = ("verify", "baseline")
DECIDING = ("confirm", "answer", "trust", "rollback")

_RULE = re.compile(r"\s*Bash\s*\((.*)\)\s*", re.DOTALL)
#: The program's name as a word of its own, by whatever path, quoted or not.
_PROGRAM = re.compile(r"""(?:^|[\s/*\\"'])loopkit["']?(?=[\s*]|$)""")
#: What may stand before it: programs that start another one; nothing that only reads.
_OTHERS = re.compile(
    r"^(?:cat|ls|git|cd|find|grep|rg|head|tail|less|vim?|code|rm|cp|mv|du|wc|tree|stat)\s"
)
#: Characters of a rule that are looked at.
_LONGEST = 1000


def too_wide(rule: str) -> str:
    """The command of `loopkit` that a rule allows in any words, as `Bash(loopkit:*)`; or "".

    A `*` stands for any words, others in the middle of a line included. A rule that gives
    everything (`Bash`, `Bash(*)`) is none of ours, nor is one without a `*`: it fits a single call.
    """
    match = _RULE.fullmatch(rule)
    body = re.sub(r":\*$", " *", match[1].strip()[:_LONGEST]) if match else ""
    if "*" not in body or not body.strip("* \t") or _OTHERS.match(body):
        return ""
    program, names = _PROGRAM.search(body), (*RUNNING, *DECIDING)
    if program is None:  # the `*` may stand for the program too
        return next((name for name in names if fits(body, f"loopkit {name} x -- y")), "")
    rest = body[program.end() :]
    words = [word for word in rest.split() if not word.startswith("-")]
    if not words:
        return RUNNING[0] if "*" in rest else ""
    return next((name for name in names if fits(words[0], name)), "")


def fits(pattern: str, text: str) -> bool:
    """Whether a rule's words, in which `*` stands for any text, fit a text."""
    return fnmatchcase(text, re.sub(r"[?\[]", r"[\g<0>]", pattern))
