"""The words of a start as they are typed again: its names, then its options in pairs."""

from __future__ import annotations

from collections.abc import Sequence


def parted(words: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """(names, options with their values)."""
    cut = next((at for at, word in enumerate(words) if word.startswith("--")), len(words))
    rest = words[cut:]
    return list(words[:cut]), list(zip(rest[::2], rest[1::2], strict=False))


def anew(words: Sequence[str], before: Sequence[str]) -> list[str]:
    """The words of a start, with the options of the one before it that it does not give itself."""
    names, own = parted(words)
    given = {name for name, _ in own}
    kept = [pair for pair in parted(before)[1] if pair[0] not in given]
    return [*names, *(word for pair in (*kept, *own) for word in pair)]


def again(words: Sequence[str], number: Sequence[str], more: Sequence[str]) -> list[str]:
    """The same with further words, which count before what was typed. number: of iterations, where
    it stands behind the names."""
    names, own = parted(words)
    passed = {*more, "--iterations"} if number else {*more}
    kept = [word for pair in own if pair[0] not in passed for word in pair]
    return [*names, *number, *kept, *more]
