"""Reviews that do not converge: told by what a finding names and its place, decided once.

A finding takes back an earlier one by naming it (`reverses`), and repeats one by naming it
(`repeats`) or by being at the same point. A decision is made where a finding takes back what was
done, where one comes back for the third time, where a category comes for the third round running,
and where text grows while nothing gets better. What is decided, or was settled by the person, makes
no task and blocks nothing; a finding that names a criterion or mustNot it breaks is never decided.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..journal import prose
from ..journal import task as tasks
from ..journal.errors import Refused
from ..journal.parts import Finding
from ..journal.state import LoopState
from ..memory import events

#: Rounds in a row that count as a habit, growth of each in percent that counts, lines of one place.
ROUNDS, GROWTH, NEAR = 3, 10, 5
REVERSAL, CATEGORY, GROWING = KINDS = "reversal", "category", "growth"
#: How a settled finding is marked: by a decision, or with the one that it repeats.
DECIDED, REPEATED = "decided", "repeats"
#: The category of a finding that names none.
OTHER = "other"
_BY_PERSON = ("approve", "discuss", "skip", "waive", REPEATED)
_LONGEST = 300
_CHANGES_THE_OUTCOME = "a review finds a criterion missed or a mustNot broken by it (breaks:)"


def same_point(row: dict, old: Finding) -> bool:
    """A new finding is at the point of an earlier one: lines of a file that are close, and the same
    category or criterion; where no line is named the same file and criterion."""
    (file, line), (old_file, old_line) = _split(row["place"]), _split(old.place)
    if not file or file != old_file:
        return False
    criterion = not set(old.breaks).isdisjoint(row["breaks"])
    if line is None or old_line is None:
        return criterion
    return abs(line - old_line) <= NEAR and (criterion or row["category"] == old.category)


def _split(place: str) -> tuple[str, int | None]:
    """(file, 1-based line or None) of `file:line`."""
    match = re.fullmatch(r"(.+?):(\d{1,7})(?:[:-]\d+)?", place)
    return (match[1], int(match[2])) if match else (place, None)


def fixed(state: LoopState, finding: Finding) -> bool:
    """What the finding asked has been done: its task is completed, or it was approved; or so it is
    with one that says it again."""
    rows = [row for row in state.findings.values() if row.repeats == finding.id]
    return any(_done(state, row) for row in (finding, *rows))


def _done(state: LoopState, finding: Finding) -> bool:
    task = state.tasks.get(finding.task or "")
    done = task is not None and task.status == tasks.COMPLETED
    return done or (finding.resolution or {}).get("how") == "approve"


def growing(rounds: Sequence[dict]) -> bool:
    """Growth without gain: in the last rounds the size rose each time, the score did not, and no
    goal changed. rounds: {size in bytes (0 where unknown), score or None, goals}, oldest first."""
    last = rounds[-ROUNDS:]
    sizes = [row.get("size") or 0 for row in last]
    if len(last) < ROUNDS or not all(sizes):
        return False
    grew = all(after * 100 >= before * (100 + GROWTH) for before, after in zip(sizes, sizes[1:]))
    first, final = last[0].get("score"), last[-1].get("score")
    gained = first is not None and final is not None and final > first
    return grew and not gained and all(row.get("goals") == last[0].get("goals") for row in last)


def settle(state: LoopState, rows: list[dict], size: int, score: int | None) -> list:
    """Settle what goes round in circles among the new findings of a thorough review: their
    `resolution` is set. Gives the decisions to record first.

    Raises Refused for a blocker at the point of a fixed finding that does not say what it is to
    that one. rows: checked findings; size: bytes of shape and task files now, 0 if unknown.
    """
    goals = tuple((row.id, row.text) for row in state.criteria.values())
    grown = growing([*state.review_rounds, {"size": size, "score": score, "goals": goals}])
    made: list[dict] = []
    for row in rows:
        earlier = _repeated(state, row)
        spoken = next((old for old in earlier if _by_person(state, row, old)), None)
        if row.get("contradicts") or row["breaks"] and spoken is None:
            continue
        if spoken is not None:
            text = f"{spoken.id}, settled ({(spoken.resolution or {})['how']})"
            row["resolution"] = {"how": REPEATED, "text": text}
            continue
        recorded = [*state.decisions, *made]
        known = next((decision for decision in recorded if _covers(decision, row, earlier)), None)
        if known is None:
            known = _decision(state, row, earlier, grown)
            if known is None:
                _check_named(state, row, earlier)
                continue
            known["number"] = events.next_number(state) + len(made)
            made.append(known)
        text = f"decision {known['number']:03d}: {known['title']}"
        row["resolution"] = {"how": DECIDED, "text": text}
    return [("decision_recorded", decision) for decision in made]


def _repeated(state: LoopState, row: dict) -> list[Finding]:
    """The earlier findings that a new one repeats, the newest first; none where it says so."""
    named = row.get("repeats")
    if named == "":
        return []
    findings = reversed(state.findings.values())
    return [old for old in findings if old.id == named or same_point(row, old)]


def _by_person(state: LoopState, row: dict, old: Finding) -> bool:
    """The person has settled the earlier one, and the new one is no graver than that."""
    if row.get("reverses") or (old.resolution or {}).get("how") not in _BY_PERSON:
        return False
    if row["severity"] == "SUGGESTION" or any(rule.id in row["breaks"] for rule in state.must_nots):
        return False
    known = row["category"] != OTHER or row["breaks"] or row.get("repeats") == old.id
    graver = old.severity not in (row["severity"], "BLOCKER")
    return bool(known) and not graver and set(row["breaks"]) <= set(old.breaks)


def _check_named(state: LoopState, row: dict, earlier: list[Finding]) -> None:
    if row["severity"] != "BLOCKER" or row.get("repeats"):
        return
    for old in (old for old in earlier if fixed(state, old)):
        raise Refused(
            f"{row['id']} is at {row['place']}, where {old.id} ({old.category}) was fixed",
            f"say reverses: {old.id} where it takes that back, repeats: {old.id} where that is not "
            "enough, repeats: none where it is something else",
        )


def _covers(decision: dict, row: dict, earlier: list[Finding]) -> bool:
    kind = decision.get("kind")
    if kind == REVERSAL:
        about = {row.get("reverses"), *(old.id for old in earlier)}
        return not about.isdisjoint(decision.get("findings", ()))
    if row["severity"] == "SUGGESTION":
        return False
    return kind == GROWING or kind == CATEGORY and row["category"] == decision.get("category")


def _decision(state: LoopState, row: dict, earlier: list[Finding], grown: bool) -> dict | None:
    if row.get("reverses"):
        return _reversal(state, row, state.findings[row["reverses"]], "wants the way back")
    before = [old for old in earlier if fixed(state, old)]
    if row.get("repeats") and len(before) >= ROUNDS - 1:
        return _reversal(state, row, before[0], "comes back once more")
    if row["severity"] == "SUGGESTION":
        return None
    rounds = state.review_rounds[-(ROUNDS - 1) :]
    habit = all(row["category"] in past["categories"] for past in rounds)
    if habit and len(rounds) == ROUNDS - 1 and row["category"] != OTHER:
        return _habit(state, row)
    return _growth(state, row) if grown else None


def _made(kind: str, row: dict, about: str, why_not: str, **texts: object) -> dict:
    return {
        "title": prose.line(f"Settled once: {about}", 80),
        "alternatives": [prose.line(f"{row['guidance'] or row['issue']}: {why_not}", _LONGEST)],
        "depends_on": "none",
        "invalidated_if": _CHANGES_THE_OUTCOME,
        "source": "review",
        "kind": kind,
        "findings": [row["id"]],
        **{
            name: prose.line(text, _LONGEST) if isinstance(text, str) else text
            for name, text in texts.items()
        },
    }


def _reversal(state: LoopState, row: dict, old: Finding, how: str) -> dict:
    done = f"done by {old.task}" if old.task in state.tasks else "approved"
    return _made(
        REVERSAL,
        row,
        old.guidance or old.issue,
        "the next review would ask for it again",
        context=f"round {old.round}, {old.id} at {old.place or 'no place'}: {old.issue} ({done}); "
        f"now {row['id']} {how}: {row['issue']}",
        choice=f"it stays as {old.id} left it" + (f": {old.guidance}" if old.guidance else ""),
        consequences="findings for either side at this place make no task and block nothing",
        depends_on=old.id + (f" ({old.task})" if old.task else ""),
        findings=[old.id, row["id"]],
    )


def _habit(state: LoopState, row: dict) -> dict:
    name = row["category"]
    same = [finding for finding in state.findings.values() if finding.category == name]
    earlier = [finding.id for finding in same if finding.source == "thorough"][-6:]
    return _made(
        CATEGORY,
        row,
        f"{name} in reviews",
        "the next round would find the next one of its kind",
        context=f"{name} findings in {ROUNDS} rounds running, now {row['id']}: {row['issue']}",
        choice=f"the {name} of this work is good enough as it is; no further task for it",
        consequences=f"later findings about {name} make no task and block nothing",
        depends_on=", ".join(earlier) or "none",
        category=name,
        findings=[*earlier, row["id"]],
    )


def _growth(state: LoopState, row: dict) -> dict:
    first = state.review_rounds[-(ROUNDS - 1)]
    return _made(
        GROWING,
        row,
        "growth without gain",
        "more text, and nothing that was asked for gets better",
        context=f"since round {first['round']} each round let shape and files grow by a tenth or "
        f"more ({first['size']} bytes then), no score rose and no criterion or mustNot changed",
        choice="what the reviews still ask is left; only findings that change the outcome block",
        consequences="the review ends unless a criterion is missed or a mustNot broken",
    )
