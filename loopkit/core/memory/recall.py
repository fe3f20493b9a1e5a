"""Finding what was learnt: the words of a text, which to look for, the order of what fits."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, namedtuple
from typing import TYPE_CHECKING

from .stem import stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .learned import Learning

#: Learnings shown at the most, and how long one counts as fresh, in seconds (rule: Recall).
SHOWN = 5
FRESH = 30 * 86400
#: From where on a discovery is sure, and a failure has come back.
SURE, AGAIN = 0.8, 2
#: What is as good as this share of the best match may come before it (fresh, sure, repeated); the
#: rest comes after.
CLOSE = 0.25
#: What a word counts in context, in applies_to and in body.
_WEIGHTS = (3.0, 2.0, 0.5)
#: BM25: how soon a word that comes again counts for less, how much a long learning counts for less,
#: and what a word counts at least that most learnings have.
_DAMPED, _LENGTH, _LEAST = 1.2, 0.75, 1e-6
#: Words of one text that are looked for, the rarest; how often these may occur together, where they
#: are several; matches that are put in order, the most relevant.
MOST_WORDS, OCCURRENCES, CONSIDERED = 16, 4000, 400

#: A learning that was found. relevance: how well it fits, higher is better; at: POSIX seconds;
#: sure, again: bool; place: where it stands among all, later is newer; what: whatever the caller
#: keeps with it.
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
#: Marks that belong to a word though no letter: vowel signs of Hebrew, Arabic, the scripts of
#: India, Thai, Lao, Burmese.
_MARKS = (
    "\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0981-\u0983\u09bc-\u09e3\u0a01-\u0ddf"
    "\u0e31-\u0e4e\u0eb1-\u0ece\u102b-\u103e\u17b4-\u17d3"
)
_WORD = f"(?:[^\\W_]|[{_MARKS}])+"
#: Letters of scripts that put no blanks between words, and those of Korean, which hangs its
#: particles on them.
_UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)


def words(text: str) -> list[str]:
    """What a text is found by, in its order: words in small letters without accents, English stop
    words and single letters left out; where a script has no blanks between words, the pairs of
    neighbouring letters."""
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


def wanted(text: str) -> list[str]:
    """The words of a text, the most frequent first, at most 4 times those looked for in the end."""
    return [word for word, _ in Counter(words(text[:100_000])).most_common(4 * MOST_WORDS)]


def chosen(candidates: list[str], known: dict[str, int]) -> list[str]:
    """The rarest words of those that learnings have (`known`: how many), and forms of others."""
    rarest: list[str] = []
    total = 0
    for word in sorted((word for word in candidates if word in known), key=known.__getitem__):
        total += known[word]
        if rarest and (total > OCCURRENCES or len(rarest) == MOST_WORDS):
            break
        rarest.append(word)
    forms = [word for word in candidates if word not in known and word.isascii()]
    return [*rarest, *forms[:MOST_WORDS]]


def relevant(rows: Sequence[Learning], request: str) -> list[Match]:
    """The rows that share a word with a request, in any of its forms: at most CONSIDERED, the most
    relevant first by BM25, of two alike the later one. A match's place is that in `rows`."""
    candidates = wanted(request)
    stems = {stem(word) for word in candidates}
    fields = [[words(text) for text in (row.context, row.applies_to, row.body)] for row in rows]
    lengths = [sum(map(len, texts)) for texts in fields]
    counts = [_counted(texts, stems) for texts in fields]
    known = Counter(word for count in counts for word in count)
    looked_for = [stem(word) for word in chosen(candidates, known)]
    counts = [_of_stems(count, looked_for) for count in counts]
    having = Counter(word for count in counts for word in count)
    rarity = {
        word: max(math.log((len(rows) - n + 0.5) / (n + 0.5)), _LEAST) for word, n in having.items()
    }
    average = sum(lengths) / max(len(rows), 1)
    matches = []
    for place, (row, count, length) in enumerate(zip(rows, counts, lengths)):
        if count:
            damped = _DAMPED * (1 - _LENGTH + _LENGTH * length / average)
            relevance = sum(
                rarity[word] * count[word] * (_DAMPED + 1) / (count[word] + damped)
                for word in looked_for
                if word in count
            )
            matches.append(Match(relevance, row.at, row.sure, row.seen >= AGAIN, place, row))
    return sorted(matches, key=lambda match: (-match.relevance, -match.place))[:CONSIDERED]


def _counted(fields: list[list[str]], stems: set[str]) -> dict[str, float]:
    """What each word of these stems counts in a learning."""
    count: dict[str, float] = {}
    for weight, field in zip(_WEIGHTS, fields):
        for word in field:
            if stem(word) in stems:
                count[word] = count.get(word, 0) + weight
    return count


def _of_stems(count: dict[str, float], stems: list[str]) -> dict[str, float]:
    """The same by their stems, as far as these are looked for."""
    counts: dict[str, float] = {}
    for word, weight in count.items():
        if stem(word) in stems:
            counts[stem(word)] = counts.get(stem(word), 0) + weight
    return counts


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
