"""Verification commands: one line, split as a shell would, run without one."""

from __future__ import annotations

import re
import shlex

from .errors import UsageFault

_OPERATORS = "|&;<>`\n"


def split(text: str) -> list[str]:
    """The arguments of a command line. UsageFault for an unquoted shell operator, an assignment in front, nothing."""
    operator = _operator(text)
    if operator:
        raise UsageFault(
            f"verification command has an unquoted {operator!r}: it runs without a shell",
            "quote it, put it into a script, or write sh -c '…'",
        )
    try:
        arguments = shlex.split(text)
    except ValueError as error:
        raise UsageFault(f"verification command cannot be split: {error}", "balance its quotes") from None
    if not arguments:
        raise UsageFault("verification command is empty", 'give --verify "<command>"')
    if re.match(r"[A-Za-z_]\w*=", arguments[0]):
        raise UsageFault(f"verification command begins with {arguments[0]!r}", "write env NAME=value command …")
    return arguments


def accept(text: str) -> list[str]:
    """The arguments of a command line that is handed in. UsageFault as for `split`, and for a line break or a character
    that nobody sees in a word: the command is shown, allowed and run on a line of its own."""
    arguments = split(text)
    if len(text.strip().splitlines()) > 1:
        raise UsageFault("verification command has a line break", "put it into a script")
    hidden = next((one for word in arguments for one in word if _is_hidden(one)), None)
    if hidden is not None:
        raise UsageFault(
            f"verification command has the invisible character U+{ord(hidden):04X}", "put it into a script"
        )
    return arguments


def _is_hidden(letter: str) -> bool:
    """Control and format characters, halves of characters; not the joiners of scripts and emoji."""
    if letter.isprintable():
        return False
    import unicodedata  # few words need it

    return unicodedata.category(letter) in ("Cc", "Cf", "Cs") and letter not in "\u200c\u200d"


def _operator(text: str) -> str | None:
    """The first shell operator that stands outside quotes."""
    quote, place = "", 0
    while place < len(text):
        letter = text[place]
        if letter == "\\" and quote != "'":
            place += 2
            continue
        if quote:
            if letter == quote:
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter in _OPERATORS:
            return letter
        elif letter == "$" and text[place + 1 : place + 2] == "(":
            return "$("
        place += 1
    return None


def same(stored: str, given: list[str]) -> bool:
    """Whether the words of a call are the stored command."""
    try:
        return split(stored) == list(given)
    except UsageFault:
        return False


def quote(arguments: list[str]) -> str:
    """The arguments as one line that `split` takes apart again."""
    return shlex.join(arguments)
