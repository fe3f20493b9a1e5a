"""The words of a start as they are typed again: its names, then its options."""

from __future__ import annotations

from collections.abc import Sequence

#: The option that has no value; it is each start's own.
TMUX = "--tmux"


def parted(words: Sequence[str]) -> tuple[list[str], list[tuple[str, ...]]]:
    """(names, options: with its value each, where it has one)."""
    at = next((place for place, word in enumerate(words) if word.startswith("--")), len(words))
    names, options = list(words[:at]), []
    while at < len(words):
        after = at + (1 if words[at] == TMUX else 2)
        options.append(tuple(words[at:after]))
        at = after
    return names, options


def anew(words: Sequence[str], before: Sequence[str]) -> list[str]:
    """The words of a start, with the options of the one before it that it does not give itself."""
    names, own = parted(words)
    given = {TMUX, *(option[0] for option in own)}
    kept = [option for option in parted(before)[1] if option[0] not in given]
    return [*names, *(word for option in (*kept, *own) for word in option)]


def again(words: Sequence[str], number: Sequence[str], more: Sequence[str]) -> list[str]:
    """The same with further words, which count before what was typed. number: of iterations, where
    it stands behind the names."""
    names, own = parted(words)
    passed = {*more, "--iterations"} if number else {*more}
    kept = [word for option in own if option[0] not in passed for word in option]
    return [*names, *number, *kept, *more]
