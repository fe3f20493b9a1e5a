"""Reviews that do not settle: recognised from their rounds, decided once, not raised again.

Three ways of going round in circles: a finding that takes back what an earlier finding had asked
and the work has done, the same category for the third round running, and text that grows while
nothing gets better. What is decided makes no task and blocks nothing; a finding that names a
criterion or mustNot it breaks changes the outcome and is never decided.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..journal import prose, trail
from ..journal import task as tasks

if TYPE_CHECKING:
    from ..journal.reviewed import Finding
    from ..journal.state import LoopState

#: Rounds in a row that count as a habit, growth of each in percent that counts, lines within which
#: a place is the same one.
ROUNDS, GROWTH, NEAR = 3, 10, 5
REVERSAL, CATEGORY, GROWING = KINDS = "reversal", "category", "growth"
#: How a settled finding is marked.
DECIDED = "decided"
_LONGEST = 300

#: Opposite ways to have a thing: naming one in an issue is a complaint, in guidance a wish. The
#: first ones say enough by themselves, with the others both findings must name the same object.
_MANNERS = (
    ("tab tabs", "space spaces"),
    ("single-quotes single-quoted", "double-quotes double-quoted"),
    ("sync synchronous synchronously blocking", "async asynchronous asynchronously non-blocking"),
    ("camelcase camel-case", "snakecase snake-case snake_case"),
)
_STATES = (
    ("mutable", "immutable frozen"),
    ("eager eagerly", "lazy lazily"),
    ("public", "private internal"),
    ("explicit explicitly", "implicit implicitly"),
    ("static", "dynamic"),
    ("global", "local"),
    ("recursive recursion", "iterative iteration"),
    ("singular", "plural"),
    ("strict strictly", "lenient tolerant"),
)
#: Opposite things to do, with the words for what has been done; they are about an object too.
_ACTS = (
    (
        "add introduce insert missing lacks lack needs need",
        "remove delete drop strip needless unneeded unnecessary superfluous redundant useless "
        "pointless overkill noise",
    ),
    ("inline", "extract"),
    ("split separate", "merge join combine"),
    ("wrap", "unwrap"),
    ("enable allow permit", "disable forbid"),
    ("raise increase widen lengthen expand", "lower decrease reduce narrow shorten"),
    ("abstract generalise generalize", "specialise specialize simplify"),
    ("cache memoise memoize", "recompute"),
)
_DONE = (
    "added inserted",
    "removed deleted dropped",
    "inlined",
    "extracted",
    "merged joined combined",
)
_UNWANTED = frozenset(
    ("not", "no", "without", "avoid", "never", "instead-of", "rather-than", "than", "replace")
    + ("from", "remove", "drop", "over", "stop")
)
_WANTED = frozenset("use prefer should must want wants make".split())
#: What follows these is wanted where something is to be changed: `replace tabs with spaces`.
_TARGETS, _CHANGES = (
    frozenset(("with", "to", "into", "by")),
    frozenset("replace change convert turn move from".split()),
)
#: Words with which a finding asks for the way back.
_BACK = frozenset(
    "revert undo restore back remove drop delete unnecessary unneeded needless superfluous "
    "redundant overkill pointless "
    "useless instead without".split()
)
_EMPTY = frozenset(
    "the and that this these those with from into for has have had was were are been being its "
    "not you your but can could "
    "should would must may might will shall when where which while what who why how all any each "
    "every some more most less "
    "than then there here only also just very too use uses used using make makes made does did "
    "done get gets one two new "
    "line lines file files code still again instead rather without after before between about "
    "over under und der die das "
    "nicht ist les des une que los las".split()
)

#: A finding as far as it says something: a finding of the state, or a row that is handed in.
_Said = namedtuple("_Said", "id place issue guidance reverses")


def content(text: str) -> set:
    """The words of a text that carry its meaning, small, without the commonest endings."""
    words = re.findall(r"[^\W_]{3,}", text.lower())
    return {_stem(word) for word in words if word not in _EMPTY}


def _stem(word: str) -> str:
    for ending in ("ies", "ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def shares_most(text: str, of: str) -> bool:
    """Whether a text has more than half of the content words of another one, two at the least."""
    wanted = content(of)
    shared = wanted & content(text)
    return len(shared) >= 2 and 2 * len(shared) > len(wanted)


def split_place(place: str) -> tuple[str, int | None]:
    """(file, 1-based line or None) of `file:line`."""
    found = re.fullmatch(r"(.+?):(\d{1,7})(?:[:-]\d+)?", place)
    return (found[1], int(found[2])) if found else (place, None)


def same_place(one: str, other: str) -> bool:
    """The same file, and lines that are close where both name one; nothing is at no place."""
    (file, line), (file_2, line_2) = split_place(one), split_place(other)
    if not file or file != file_2:
        return False
    return line is None or line_2 is None or abs(line - line_2) <= NEAR


def _said(one: dict | Finding) -> _Said:
    if isinstance(one, dict):
        return _Said(
            one["id"],
            one.get("place", ""),
            one["issue"],
            one.get("guidance", ""),
            one.get("reverses"),
        )
    return _Said(one.id, one.place, one.issue, one.guidance, one.reverses)


def _words(said: _Said, text: str) -> list[str]:
    """The words of a text without the place it is about; `instead of` and the like are one word."""
    plain = text.lower().replace(said.place.lower(), " ") if said.place else text.lower()
    plain = re.sub(r"[\w./-]+\.\w{1,5}(?::\d+)?", " ", plain)
    plain = re.sub(
        r"\b(instead of|rather than|single quotes|double quotes|needs no|need no)\b",
        _one_word,
        plain,
    )
    return re.findall(r"[\w-]+", plain)


def _one_word(found: re.Match) -> str:
    return "needless" if found[1].startswith("need") else found[1].replace(" ", "-")


def _sides(said: _Said) -> dict[tuple, int]:
    """{pair: 0 or 1}: which of two opposites a finding wants, where it says so."""
    scores: dict[tuple, int] = {}
    for text, in_issue in ((said.issue, True), (said.guidance, False)):
        words = _words(said, text)
        for place, word in enumerate(words):
            before = words[max(0, place - 3) : place]
            for pair, side, act in _meanings(word):
                wish = 1 if act or not in_issue else -1
                if _UNWANTED.intersection(before[-2:]) and not (
                    act and pair == _ACTS[0] and "no" in before[-2:]
                ):
                    wish = -1
                elif (
                    _WANTED.intersection(before)
                    or _TARGETS.intersection(before)
                    and _CHANGES.intersection(words)
                ):
                    wish = 1
                elif act and in_issue and any(word in done.split() for done in _DONE):
                    wish = -1  # it has been done, and that is the complaint
                scores[pair] = scores.get(pair, 0) + (wish if side == 0 else -wish)
        for place, word in enumerate(words[:-1]):
            if in_issue and word in ("no", "without") and not _meanings(words[place + 1]):
                scores[_ACTS[0]] = scores.get(_ACTS[0], 0) + 1  # `no docstring` asks for one
    return {pair: 0 if score > 0 else 1 for pair, score in scores.items() if score}


def _meanings(word: str) -> list[tuple]:
    """(pair, side, whether it is something to do) of a word."""
    found: list[tuple] = []
    for pair in (*_MANNERS, *_STATES):
        found += [(pair, side, False) for side in (0, 1) if word in pair[side].split()]
    for pair in _ACTS:
        for side in (0, 1):
            verbs = pair[side].split()
            if word in verbs or word.removesuffix("ed") in verbs or word.removesuffix("d") in verbs:
                found.append((pair, side, True))
    return found


def _object(said: _Said) -> set:
    """What a finding is about: its content words without those that say what to do, or where."""
    words = {
        word
        for text in (said.issue, said.guidance)
        for word in _words(said, text)
        if not _meanings(word)
    }
    return content(" ".join(words))


def _opposes(one: _Said, other: _Said) -> bool:
    """They want opposite things."""
    mine, theirs = _sides(one), _sides(other)
    against = [pair for pair in mine if pair in theirs and mine[pair] != theirs[pair]]
    return any(pair in _MANNERS or _object(one) & _object(other) for pair in against)


def _agrees(one: _Said, other: _Said) -> bool:
    """They want the same of a pair, or complain of the same: a mend that was not complete."""
    mine, theirs = _sides(one), _sides(other)
    if any(pair in theirs and mine[pair] == theirs[pair] for pair in mine):
        return True
    first, second = content(one.issue), content(other.issue)
    return len(first & second) >= 2 and 2 * len(first & second) >= min(len(first), len(second))


def _complains_of_the_mend(new: _Said, old: _Said) -> bool:
    """The new issue is about what the old guidance had asked for, and wants it gone."""
    if not shares_most(new.issue, old.guidance) or _agrees(new, old):
        return False
    words = {word for text in (new.issue, new.guidance) for word in _words(new, text)}
    asks_back = len(content(new.guidance) & content(old.issue)) >= 2
    return asks_back or bool(_BACK & words - set(_words(old, old.guidance)))


def mended(state: LoopState, finding: Finding) -> bool:
    """What the finding asked has been done: its task is completed, or it was approved."""
    task = state.tasks.get(finding.task or "")
    done = task is not None and task.status == tasks.COMPLETED
    return done or (finding.resolution or {}).get("how") == "approve"


def reversed_by(state: LoopState, row: dict) -> Finding | None:
    """The mended finding that a new one would take back, if there is one; the newest first."""
    new = _said(row)
    if new.reverses:
        return state.findings.get(new.reverses)
    for old in reversed(list(state.findings.values())):
        said = _said(old)
        if mended(state, old) and same_place(new.place, old.place):
            if _opposes(new, said) or _complains_of_the_mend(new, said):
                return old
    return None


def growing(rounds: Sequence[dict]) -> bool:
    """Growth without gain: in the last rounds the size rose each time, the score did not, and no
    goal changed.

    rounds: {size in bytes (0 where unknown), score or None, goals}, oldest first.
    """
    last = rounds[-ROUNDS:]
    if len(last) < ROUNDS or any(not one.get("size") for one in last):
        return False
    if any(
        after["size"] * 100 < before["size"] * (100 + GROWTH)
        for before, after in zip(last, last[1:])
    ):
        return False
    if any(one.get("goals") != last[0].get("goals") for one in last):
        return False
    first, final = last[0].get("score"), last[-1].get("score")
    return first is None or final is None or final <= first


def settle(state: LoopState, rows: list[dict], size: int, score: int | None) -> list:
    """Settle what goes round in circles among the new findings of a thorough review: their
    `resolution` is set.

    Gives the decisions to record first. rows: checked findings; size: bytes of shape and task files
    now, 0 if unknown.
    """
    goals = tuple((one.id, one.text) for one in state.criteria.values())
    grown = growing([*state.review_rounds, {"size": size, "score": score, "goals": goals}])
    made: list[dict] = []
    said = {name: _said(one) for name, one in state.findings.items()}
    said.update((row["id"], _said(row)) for row in rows)
    for row in rows:
        if row["breaks"] or row.get("contradicts"):
            continue
        known = next((one for one in [*state.decisions, *made] if _covers(one, row, said)), None)
        known = known or _decision(state, row, trail.next_number(state) + len(made), grown)
        if known is None:
            continue
        if known not in state.decisions and known not in made:
            made.append(known)
        row["resolution"] = {
            "how": DECIDED,
            "text": f"decision {known['number']:03d}: {known['title']}",
        }
    return [("decision_recorded", one) for one in made]


def _covers(decision: dict, row: dict, said: dict[str, _Said]) -> bool:
    kind = decision.get("kind")
    if kind == GROWING:
        return row["severity"] != "SUGGESTION"
    if kind == CATEGORY:
        return row["severity"] != "SUGGESTION" and row["category"] == decision.get("category")
    if kind != REVERSAL:
        return False
    new = _said(row)
    for name in decision.get("findings", ()):
        old = said.get(name)
        if old is None or old.id == new.id:
            continue
        if (
            new.reverses == name
            or same_place(new.place, old.place)
            and (_opposes(new, old) or _agrees(new, old))
        ):
            return True
    return False


def _decision(state: LoopState, row: dict, number: int, grown: bool) -> dict | None:
    old = reversed_by(state, row)
    if old is not None:
        return {**_reversal(state, row, old), "number": number}
    if row["severity"] == "SUGGESTION":
        return None
    before = state.review_rounds[-(ROUNDS - 1) :]
    habit = len(before) == ROUNDS - 1 and all(
        row["category"] in one["categories"] for one in before
    )
    if habit and row["category"] != "other":
        return {**_habit(state, row), "number": number}
    return {**_growth(state, row), "number": number} if grown else None


_CHANGES_THE_OUTCOME = "a review finds a criterion missed or a mustNot broken by it (breaks:)"


def _line(text: str, most: int = _LONGEST) -> str:
    return prose.clean(" ".join(text.split()), most)


def _reversal(state: LoopState, row: dict, old: Finding) -> dict:
    done = f"done by {old.task}" if old.task in state.tasks else "approved"
    new = row["guidance"] or row["issue"]
    return {
        "title": _line(f"Settled once: {old.guidance or old.issue}", 80),
        "context": _line(
            f"round {old.round}, {old.id} at {old.place or 'no place'}: {old.issue} ({done}); now "
            f"{row['id']} wants the "
            f"way back: {row['issue']}"
        ),
        "choice": _line(
            f"it stays as {old.id} left it" + (f": {old.guidance}" if old.guidance else "")
        ),
        "alternatives": [
            _line(
                f"{new}: takes back what {old.id} asked, and the next review would ask for it again"
            )
        ],
        "consequences": "findings for either side at this place make no task and block nothing",
        "depends_on": f"{old.id}" + (f" ({old.task})" if old.task else ""),
        "invalidated_if": _CHANGES_THE_OUTCOME,
        "source": "review",
        "kind": REVERSAL,
        "findings": [old.id, row["id"]],
    }


def _habit(state: LoopState, row: dict) -> dict:
    name = row["category"]
    earlier = [
        one.id
        for one in state.findings.values()
        if one.category == name and one.source == "thorough"
    ]
    return {
        "title": f"Settled once: {name} in reviews",
        "context": _line(
            f"{name} findings in {ROUNDS} rounds running, now {row['id']}: {row['issue']}"
        ),
        "choice": f"the {name} of this work is good enough as it is; no further task for it",
        "alternatives": [
            _line(
                f"{row['guidance'] or row['issue']}: the next round would find the next one of "
                "its kind"
            )
        ],
        "consequences": f"later findings about {name} make no task and block nothing",
        "depends_on": ", ".join(earlier[-6:]) or "none",
        "invalidated_if": _CHANGES_THE_OUTCOME,
        "source": "review",
        "kind": CATEGORY,
        "category": name,
        "findings": [*earlier[-6:], row["id"]],
    }


def _growth(state: LoopState, row: dict) -> dict:
    first = state.review_rounds[-(ROUNDS - 1)]
    return {
        "title": "Settled once: growth without gain",
        "context": _line(
            f"since round {first['round']} each round let shape and files grow by a tenth or more "
            f"({first['size']} bytes "
            "then), no score rose and no criterion or mustNot changed"
        ),
        "choice": "what the reviews still ask is left; only findings that change the outcome block",
        "alternatives": [
            _line(
                f"{row['guidance'] or row['issue']}: more text, and nothing that was asked for "
                "gets better"
            )
        ],
        "consequences": "the review ends unless a criterion is missed or a mustNot broken",
        "depends_on": "none",
        "invalidated_if": _CHANGES_THE_OUTCOME,
        "source": "review",
        "kind": GROWING,
        "findings": [row["id"]],
    }
