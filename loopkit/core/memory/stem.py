"""The stem of an English word (Porter, 1980): limit, limits, limited, limiter have the same."""

from __future__ import annotations

import functools
from collections.abc import Container

#: Endings that are replaced, in two steps, where a syllable is left; those that fall where two are.
_REPLACED = tuple(
    dict(pair.split(":") for pair in step.split())
    for step in (
        "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e "
        "ousli:ous ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous "
        "aliti:al iviti:ive biliti:ble logi:log",
        "icate:ic ative: alize:al iciti:ic ical:ic ful: ness:",
    )
)
_DROPPED = frozenset(
    "al ance ence er ic able ible ant ement ment ent sion tion ou ism ate iti ous ive ize".split()
)
_LONGEST = 7
#: Letters of a word that has a stem; how many stems are remembered.
_FEWEST, _MOST, _REMEMBERED = 3, 64, 1 << 16


@functools.lru_cache(_REMEMBERED)
def stem(word: str) -> str:
    """The stem of a word in small letters; one of another script or of an odd length is its own."""
    if not _FEWEST <= len(word) <= _MOST:
        return word
    word = _without_inflection(word)
    for step in _REPLACED:
        ending = _ending(word, step)
        if ending and _syllables(word[: -len(ending)]):
            word = word[: -len(ending)] + step[ending]
    ending = _ending(word, _DROPPED)
    kept = len(word) - len(ending) + ending.endswith("ion")  # the s or t of -sion and -tion stays
    if ending and _syllables(word[:kept]) > 1:
        word = word[:kept]
    if word[-1] == "e" and _syllables(word[:-1]) > _short(word[:-1]):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and _syllables(word) > 1 else word


def _without_inflection(word: str) -> str:
    """Without a plural's, past's or -ing's ending; a last y after a vowel is an i."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word[-1] == "s" and word[-2] != "s":
        word = word[:-1]
    ending = _ending(word, ("eed", "ed", "ing"))
    start = word[: len(word) - len(ending)]
    if ending == "eed":
        word = start + ("ee" if _syllables(start) else ending)
    elif ending and "v" in _sounds(start):
        word = start
        if word.endswith(("at", "bl", "iz")) or _syllables(word) == 1 and _short(word):
            word += "e"
        elif word[-2:-1] == word[-1] and word[-1] not in "aeioulsz":
            word = word[:-1]
    return word[:-1] + "i" if word[-1:] == "y" and "v" in _sounds(word[:-1]) else word


def _ending(word: str, endings: Container[str]) -> str:
    """The longest of some endings that a word has, or ""."""
    return next((word[-size:] for size in range(_LONGEST, 1, -1) if word[-size:] in endings), "")


def _sounds(text: str) -> str:
    """A letter for each: v for a vowel, c for a consonant; a y after a consonant is a vowel."""
    sounds = ""
    for letter in text:
        sounds += "v" if letter in "aeiou" or letter == "y" and sounds.endswith("c") else "c"
    return sounds


def _syllables(text: str) -> int:
    return _sounds(text).count("vc")


def _short(text: str) -> bool:
    """Whether a text ends in a consonant, a vowel and a consonant that is heard."""
    return _sounds(text).endswith("cvc") and text[-1] not in "wxy"
