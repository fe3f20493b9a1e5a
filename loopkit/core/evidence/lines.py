"""Which call of `loopkit` a line of the Bash tool is, and whether it may run unasked.

Two shapes are read: one simple call of bare words and '…', and the same with a quoted here-document
(<<'EOF') for an option whose value is `-`. Everything else is nobody's: the client decides. Bare
words hold no character that sh, bash or zsh expands.
"""

from __future__ import annotations

import re
from collections import namedtuple

#: A line that was read. words: after the program, without quotes · rest: the text after the
#: program's name, here-document included.
Line = namedtuple("Line", "words rest")

#: `=` begins no word: zsh replaces `=ls` by the program's path.
_WORD = r"(?:[A-Za-z0-9_./:,@%+-][A-Za-z0-9_./:=,@%+-]*|'[^'\x00-\x1f\x7f]*')"
_CALL = re.compile(rf"loopkit((?: +{_WORD})*)(?: +<<'([A-Z_]+)')? *")
_PARTS = re.compile(_WORD)
#: What only prints a command's help.
_HELP = re.compile(r"([a-z]+)( [a-z]+)? (--help|-h)")

#: Options of every command.
_COMMON = ("--json", "--soft", "--help", "-h")
#: Commands that may run unasked: the options they may have, with `=` where a value follows, and a
#: `*` for each other word (`**`: any number). What is left out records a person's decision, gives
#: leave, replaces a check, or runs a command that stands in the line.
SAFE = {
    "ask": "*",
    "checkpoint": "--label= --list",
    "clarify": "--file=",
    "complete": "",
    "decide": "--file= --avoid --list",
    "doctor": "",
    "gate": "--file=",
    "learn": "",
    "next": "",
    "panel": "* --file= --clarify= --wave",
    "recall": "",
    "reply": "* * --file=",
    "report": "* --file=",
    "resume --ask": "",
    "review": "--wave= --thorough --plan --scaffold --file= --prompt= --score= --issues= "
    "--blockers= --experts=",
    "score": "--outcome= --scope= --constraints= --success= --done= --kind= --topics=",
    "shape": "--accept=",
    "start --from-prompt": "",
    "status": "** --list",
    "submit": "--file= --answer-of=",
    "task add": "* --verify= --description= --blocked-by= --files= --criteria= --complexity= "
    "--active-form= --scaffold --file= --replace",
    "task block": "* --kind= --reason=",
    "task fail": "* --error= --error-file= --suggest=",
    "task list": "",
    "task remove": "*",
    "task set": "* --blocked-by= --files=",
    "task show": "*",
    "task split": "* --file=",
    "task start": "*",
    "task waves": "",
    "verify": "*",
    "wave close": "",
    "wave next": "--sequential --worktrees",
    "worktree list": "",
}
#: The calls for which the person is asked: the first word of one, all of the other.
PROOF, ALLOW = "proof", ["allow"]
#: Commands that any session of the project may run, and those that may take long.
LOOKS = ("status",)
LONG = ("next", "submit", "allow", "start", "resume", "verify")


def read(text: object) -> Line | None:
    """The call that a line is, in one of the two shapes; None for anything else."""
    if type(text) is not str or "\0" in text:
        return None
    head, _, body = text.partition("\n")
    found = _CALL.fullmatch(head)
    if found is None:
        return None
    words = [word.strip("'") for word in _PARTS.findall(found[1])]
    if found[2] is None:
        return None if body.strip("\n") else Line(words, found[1])
    rows = body.rstrip("\n").split("\n")
    if "-" not in words or found[2] not in rows or rows.index(found[2]) < len(rows) - 1:
        return None
    return Line(words, text[len("loopkit") :])


def safe(words: list) -> str:
    """The command of a call that may run unasked, as it stands in SAFE; "" for any other call."""
    if words and all(word in (*_COMMON, "--version") for word in words):
        return words[0]
    if _HELP.fullmatch(" ".join(words)):
        return words[0]
    name = next((name for name in (" ".join(words[:2]), *words[:1]) if name in SAFE), "")
    options, others = (*SAFE.get(name, "").split(), *_COMMON), 0
    rest = iter(words[len(name.split()) :])
    for word in rest:
        option, equals, _ = word.partition("=")
        if word == "-" or not word.startswith("-"):
            others += 1
        elif f"{option}=" in options:
            if not equals and next(rest, None) is None:
                return ""
        elif equals or option not in options:
            return ""
    return name if "**" in options or others <= options.count("*") else ""
