"""What a thorough review says of each proof, and of what nothing can check: closed answers. Several
agents carry one review; the worst of their answers counts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..journal.parts import NO, PARTLY, PROOF, YES, Shown
from ..journal.state import LoopState

#: Was it kept? Whoever cannot see it says so.
KEPT, BROKEN, UNSEEN = "kept", "broken", "cannot be checked"
#: Among the proofs: do criteria and mustNots say all that the request asks for?
REQUEST = "REQUEST"
_WAS_KEPT = "kept: how seen | broken: what | cannot be checked"
#: field: (its words, those that need no reason, what is asked).
FIELDS = {
    "proofs": ((YES, PARTLY, NO), (YES,), "yes | partly: what is missing | no: why"),
    "must_nots": ((KEPT, BROKEN, UNSEEN), (UNSEEN,), _WAS_KEPT),
}
_MARK = r"[\s:;,.–—-]*"


def pattern(field: str) -> str:
    """What an answer looks like, in any case."""
    words, bare, _ = FIELDS[field]
    return "|".join(rf"{word}\b" if word in bare else rf"{word}\b{_MARK}\w" for word in words)


def split(text: str) -> Shown:
    """`partly: what` in its two parts; a text that begins with no word of ours is all reason."""
    words = [word for known, _, _ in FIELDS.values() for word in known]
    match = re.match(rf"({'|'.join(words)})\b{_MARK}(.*)", text, re.I | re.S)
    return Shown(match[1].lower(), match[2].strip()) if match else Shown("", text.strip())


def read(field: str, text: str) -> str:
    """An answer as it is kept, `partly: what`; "" where it is none of those asked for."""
    if not re.match(pattern(field), text.strip(), re.I):
        return ""
    word, why, _ = split(text.strip())
    return f"{word}: {why}" if why else word


def asked(state: LoopState) -> dict[str, dict[str, str]]:
    """{field: {id: what is asked}} of a thorough review; without the fields that ask nothing."""
    names = {"proofs": [*proven(state), REQUEST], "must_nots": unchecked(state)}
    return {field: dict.fromkeys(ids, FIELDS[field][2]) for field, ids in names.items() if ids}


def schemas(state: LoopState) -> dict[str, dict[str, dict]]:
    """The JSON Schema of each of these answers."""
    return {
        field: {
            name: {"type": "string", "pattern": pattern(field), "description": words}
            for name, words in rows.items()
        }
        for field, rows in asked(state).items()
    }


def proven(state: LoopState) -> list[str]:
    """The criteria that rest on a command."""
    return [row.id for row in state.criteria.values() if row.command and not row.must_not]


def guarded(state: LoopState) -> list[str]:
    """The mustNots that a command watches: a review may say of it that it would not notice."""
    return [row.id for row in state.must_nots if row.command]


def unchecked(state: LoopState) -> list[str]:
    """The mustNots that neither a command nor named paths watch."""
    rows = [row for row in state.must_nots if not row.command]
    return [row.id for row in rows if not row.paths]


def merged(answers: Iterable[tuple[list[str], dict]]) -> dict:
    """One review of what its agents said, each with the views it carried: all findings, what is
    said alike once; of each proof the worst answer; of a mustNot that it is broken, else that
    somebody saw it kept."""
    rows = list(answers)
    whole = {**rows[0][1], "experts": [name for names, _ in rows for name in names]}
    found: dict[tuple, dict] = {}
    for names, row in ((names, row) for names, given in rows for row in given["findings"]):
        key = row.get("severity"), row.get("place"), row["issue"]
        before = {field: value for field, value in found.get(key, {}).items() if value}
        experts = dict.fromkeys([*before.get("experts", ()), *_views(row, names)])
        found[key] = {**row, **before, "experts": list(experts)}
    whole["findings"] = list(found.values())
    for field, order in (("proofs", (NO, PARTLY, YES)), ("must_nots", (BROKEN, KEPT, UNSEEN))):
        told: dict[str, dict[str, list]] = {}
        for names, given in rows:
            for name, text in (given.get(field) or {}).items():
                told.setdefault(name, {}).setdefault(split(text).word, []).append((text, names))
        chosen = {
            name: next(said[word] for word in order if word in said) for name, said in told.items()
        }
        whole[field] = {name: said[0][0] for name, said in chosen.items()}
        views = {name: [view for _, by in said for view in by] for name, said in chosen.items()}
        seen_by = {name: ", ".join(names) for name, names in views.items()}
        whole["seen_by"] = {**whole.get("seen_by", {}), **seen_by}
    return whole


def _views(row: dict, names: list[str]) -> list[str]:
    """Whose finding it is: of the view that it names, else of all that its agent carried."""
    named = row.get("expert")
    return [named] if named in names else list(names)


def findings(state: LoopState, given: dict) -> list[dict]:
    """What a review's answers find: a proof that does not show its criterion, a mustNot that was
    broken, each unless a finding says so already or the person has let it pass."""
    named = {name for row in given["findings"] for name in row.get("breaks", ())}
    proofs = [row for row in state.findings.values() if row.category == PROOF]
    passed = [row for row in proofs if (row.resolution or {}).get("how") == "waive"]
    waived = {name for row in passed for name in row.breaks}
    rows, by = [], given.get("seen_by") or {}
    for name, text in (given.get("proofs") or {}).items():
        if split(text).word == NO and name not in {*waived, REQUEST, *guarded(state)}:
            proof = state.criteria[name].command if name in state.criteria else ""
            row = {
                "issue": f"the proof of {name} does not show it: {split(text).text}",
                "reason": f"`{proof}` can pass without it",
                "guidance": f"another proof for {name}, or a test that looks at it",
                "category": PROOF,
            }
            views = [one for one in by.get(name, "").split(", ") if one]
            rows.append({**row, "breaks": [name], "experts": views})
    for name, text in (given.get("must_nots") or {}).items():
        if split(text).word == BROKEN and name not in named:
            rows.append({"issue": f"{name} is broken: {split(text).text}", "breaks": [name]})
    return [{"severity": "BLOCKER", "experts": [], **row} for row in rows]


def answer(state: LoopState, name: str) -> str:
    """Who says what of a mustNot that nothing watches."""
    seen = state.shown.get(name)
    if seen is None or seen.word == UNSEEN:
        return "nobody could check"
    by = f" ({seen.by})" if seen.by else ""
    return f"{seen.word}: {seen.text}{by}"


def doubts(state: LoopState) -> list[str]:
    """What nobody has seen, or not all of it, a line each."""
    rows = []
    for name in [*proven(state), *(name for name in guarded(state) if name in state.shown)]:
        seen: Shown = state.shown.get(name, Shown("", ""))
        word, why = seen.word, seen.text
        if word == PARTLY:
            rows.append(f"the proof of {name} shows a part of it: {why}")
        elif word == NO:
            rows.append(f"the proof of {name} does not show it: {why}")
        elif word in (BROKEN, UNSEEN):  # of a mustNot whose command was not looked at
            rows.append(f"{name}: {answer(state, name)}")
        elif word not in (YES, KEPT):
            rows.append(f"nobody has said whether the proof of {name} shows it")
    asked_for = state.shown.get(REQUEST, Shown(YES, ""))
    if asked_for.word != YES:
        rows.append(f"the request asks for more than the criteria say: {asked_for.text}")
    for name in unchecked(state):
        if state.shown.get(name, Shown("", "")).word != KEPT:
            rows.append(f"{name}: {answer(state, name)}")
    return rows
