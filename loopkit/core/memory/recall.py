"""Finding what was learnt: the words of a text, which to look for, the order of what fits."""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections import Counter, namedtuple
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .learned import Learning

#: Learnings shown at the most, and how long one counts as fresh, in seconds (rule: Recall).
SHOWN = 5
FRESH = 30 * 86400
#: From where on a discovery is sure, and a failure has come back.
SURE, AGAIN = 0.8, 2
#: What is as good as this share of the best match may come before it (fresh, sure, repeated).
CLOSE = 0.25
#: What a word counts in context, in applies_to and in body.
_WEIGHTS = (3.0, 2.0, 0.5)
#: BM25: how soon a word that comes again counts for less, how much a long learning counts for less,
#: and what a word counts at least that most learnings have.
_DAMPED, _LENGTH, _LEAST = 1.2, 0.75, 1e-6
#: Characters of a request that are looked at.
LONGEST = 100_000

#: A learning that was found. relevance: how well it fits, higher is better; at: POSIX seconds;
#: sure, again: bool; place: where it stands among all, later is newer; what: the Learning.
Match = namedtuple("Match", "relevance at sure again place what")

_STOP = frozenset(
    "a an the to of in on at for and or not no nor but with without by from into onto as is are "
    "was were be been being it its this that these those there here then than so if else when "
    "where which who what how why we i you he she they our my your their his her us me them "
    "please can could should would will shall may might must do does did done has have had make "
    "makes made let use uses used using get gets set add adds added new change changes changed "
    "need needs want also all any each every some such only very just more most other up out "
    "about after before over under".split()
)
# Patterns as texts: compiling them costs more than a short text; most texts need only the first.
_ASCII_WORD = "[a-z0-9]+"
_ACCENTS = "[\u0300-\u036f]+"
#: Marks that belong to a word though no letter: vowel signs from Hebrew to Burmese.
_MARKS = (
    "\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0981-\u0983\u09bc-\u09e3\u0a01-\u0ddf"
    "\u0e31-\u0e4e\u0eb1-\u0ece\u102b-\u103e\u17b4-\u17d3"
)
_WORD = f"(?:[^\\W_]|[{_MARKS}])+"
#: Letters of scripts that put no blanks between words, and those of Korean.
_UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)


def words(text: str) -> list[str]:
    """What a text is found by, in its order: words in small letters without accents, English stop
    words and single letters left out; of scripts without blanks, pairs of neighbouring letters."""
    if text.isascii():
        return list(filter(_tells, re.findall(_ASCII_WORD, text.lower())))
    parts: list[str] = []
    for word in re.findall(_WORD, _plain(text)):
        last = 0
        for run in () if word.isascii() else re.finditer(_UNSPACED, word):
            parts += filter(_tells, [word[last : run.start()]])
            letters = run[0]
            parts += [letters[at : at + 2] for at in range(max(1, len(letters) - 1))]
            last = run.end()
        parts += filter(_tells, [word[last:]])
    return parts


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", re.sub(_ACCENTS, "", decomposed))


def _tells(word: str) -> bool:
    return len(word) > 1 and word not in _STOP


_ENDING = r"(?<=\w{3})(?:(?:at)?(?:e|ed|er|or|ing|ion(?:al)?)|ment|able)$"


@functools.lru_cache(1 << 16)
def stem(word: str) -> str:
    """A word without the endings that English hangs on it: limit, limits, limited and limiter share
    one stem, as retry and retries do."""
    word = re.sub(_ENDING, "", re.sub(r"(?<=\w\w[^s])s$", "", word))
    word = re.sub(r"([a-z])\1$", r"\1", word)
    return word[:-1] + "i" if word.endswith("y") else word


def relevant(rows: Sequence[Learning], request: str) -> list[Match]:
    """The rows that share a word with a request, in any of its forms, the most relevant first by
    BM25, of two alike the later one. A match's place is that in `rows`."""
    wanted = set(map(stem, words(request[:LONGEST])))
    fields = [[words(text) for text in (row.context, row.applies_to, row.body)] for row in rows]
    counts = [_counted(texts, wanted) for texts in fields]
    having = Counter(word for count in counts for word in count)
    rarity = {
        word: max(math.log((len(rows) - n + 0.5) / (n + 0.5)), _LEAST) for word, n in having.items()
    }
    lengths = [sum(map(len, texts)) for texts in fields]
    average = sum(lengths) / max(len(rows), 1)
    matches = []
    for place, (row, count, length) in enumerate(zip(rows, counts, lengths)):
        damped = _DAMPED * (1 - _LENGTH + _LENGTH * length / (average or 1))
        relevance = sum(
            rarity[word] * weight * (_DAMPED + 1) / (weight + damped)
            for word, weight in count.items()
        )
        if count:
            matches.append(Match(relevance, row.at, row.sure, row.seen >= AGAIN, place, row))
    return sorted(matches, key=lambda match: (-match.relevance, -match.place))


def _counted(fields: list[list[str]], stems: set[str]) -> dict[str, float]:
    """{stem: what it counts} of those among these that a learning has."""
    count: dict[str, float] = {}
    for weight, field in zip(_WEIGHTS, fields):
        for word in map(stem, field):
            if word in stems:
                count[word] = count.get(word, 0) + weight
    return count


def ordered(matches: list[Match], now: float) -> list[Match]:
    """The matches, best first: those close to the most relevant one by how many of fresh, sure and
    repeated they are, then the others; each group by relevance, the newest first where all is the
    same (rule: Recall). `now`: POSIX seconds."""
    bound = max((match.relevance for match in matches), default=0) * CLOSE

    def key(match: Match) -> tuple:
        close = match.relevance >= bound
        boosts = (now - match.at < FRESH) + match.sure + match.again if close else 0
        return (not close, -boosts, -match.relevance, -match.at, -match.place)

    return sorted(matches, key=key)
