"""From a vague request to a clear one: answers, marked assumptions, an echo, for a clear one the
full order.

Deciders as elsewhere: (state, input) → journal lines (rule: Recall, spec score, fit score).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..journal import prose, score, stage, stages
from ..journal.errors import Refused, UsageFault

if TYPE_CHECKING:
    from ..journal.state import LoopState

MOST_ROUNDS = 2
MARK = "[ASSUMPTION]"
#: What a clarified request says; the first three always.
FIELDS = ("task", "context", "done", "stakes", "reviewers")
_NEEDED = FIELDS[:3]
MOST_ECHO = 400
#: The full order of a request that is nearly explicit: what it holds, least and most of each list.
ORDER_FROM = 8
_ORDER = {
    "non_goals": (3, 5),
    "constraints": (1, None),
    "acceptance": (7, 12),
    "stop_conditions": (3, 5),
}
_ORDER_MUST_NOTS = 2
#: What a dimension may be scored at most while it rests on an assumption: explicit is what was
#: said.
MOST_ASSUMED = 1


def open_dimensions(state: LoopState) -> list[str]:
    """Dimensions of the rubric that are not explicit yet, by the last score; all where nothing was
    scored."""
    values = (state.scores or {}).get("values") or {}
    return [name for name in score.DIMENSIONS if values.get(name, 0) < 2]


def assumed(state: LoopState) -> dict:
    """{dimension: marked text} of what the clarified request assumes."""
    return (state.clarified or {}).get("assumptions") or {}


def told(state: LoopState) -> list[tuple[str, str]]:
    """(what, words) of the clarification that a shape has to keep to; empty where nothing had to be
    clarified."""
    if state.clarified is None:
        return []
    order = state.clarified.get("order") or {}
    rows = [("clarified", state.clarified["echo"])]
    rows += [(f"assumed, {name}", text) for name, text in assumed(state).items()]
    rows += [
        ("must not", text)
        for text in [*state.clarified.get("must_nots", ()), *order.get("must_nots", ())]
    ]
    rows += [(name.replace("_", " "), text) for name in _ORDER for text in order.get(name, ())]
    return rows + [
        (f"answered, {name}", text) for name, text in (state.clarified.get("answers") or {}).items()
    ]


def due(state: LoopState) -> bool:
    """The request was scored too low and nothing has been clarified since."""
    return bool(state.scores) and state.clarified_line < state.scored_line


def rounds_left(state: LoopState) -> int:
    """Rounds of questions that may still be asked; none where nobody can be asked."""
    return 0 if state.session.unattended else max(0, MOST_ROUNDS - state.rounds)


def clarified(state: LoopState, given: dict) -> list:
    """`clarify --file`: recorded with its round. Raises UsageFault and Refused; then nothing is
    recorded.

    given: echo, the FIELDS, answers {dimension: what the person chose}, assumptions {dimension:
    text}, approved, and optionally must_nots and order.
    """

    stage.running(state)
    stage.require(state, stages.INTENT, doing="clarifying")
    known = {"echo", "answers", "assumptions", "approved", "must_nots", "order", *FIELDS}
    for key in given:
        if key not in known:
            raise UsageFault(f"unknown field {str(key)[:40]!r}", "the form: loopkit clarify")
    texts = {name: _text(given, name, name in _NEEDED) for name in FIELDS}
    echo = _text(given, "echo", True)
    if len(echo) > MOST_ECHO or re.search(r"\w{3}[.!?]\s+[A-Z]|[。！？]\s*\S", echo):
        raise UsageFault("echo is no single sentence", f"one, of at most {MOST_ECHO} characters")
    answers, guesses = _by_dimension(given, "answers"), _by_dimension(given, "assumptions")
    _check_sources(state, answers, guesses)
    guesses = {
        name: text if text.startswith(MARK) else f"{MARK} {text}" for name, text in guesses.items()
    }
    if not state.session.unattended and given.get("approved") not in (True, "true", "yes"):
        raise Refused(
            "the echo is not approved", "show it to the person and ask; then approved: yes"
        )
    data = {
        "echo": echo,
        **{name: text for name, text in texts.items() if text},
        "answers": answers,
        "assumptions": guesses,
        "must_nots": _list(given, "must_nots"),
        "by": "nobody" if state.session.unattended else "person",
        "round": state.rounds + bool(answers),
    }
    if given.get("order") is not None:
        data["order"] = order(given["order"])
    return [("clarified", data)]


def _check_sources(state: LoopState, answers: dict, guesses: dict) -> None:
    if state.session.unattended and answers:
        raise Refused(
            "nobody could be asked, so nothing was answered", "give these as assumptions:"
        )
    if answers and not rounds_left(state):
        raise Refused(
            f"{prose.count(MOST_ROUNDS, 'round')} of questions were asked",
            "what is still open is an assumption: give it under assumptions:",
        )
    both = sorted(set(answers) & set(guesses))
    if both:
        raise UsageFault(f"{both[0]} is both answered and assumed", "give it once")
    kept = {**((state.clarified or {}).get("answers") or {}), **answers, **guesses}
    missing = [name for name in open_dimensions(state) if name not in kept]
    if missing:
        raise Refused(
            f"{', '.join(missing)}: neither answered nor assumed",
            "give each under answers: or under assumptions:",
        )


def order(given: object) -> dict:
    """A full order, checked: objective, non-goals, constraints, acceptance criteria, mustNots, stop
    conditions."""
    if not isinstance(given, dict):
        raise UsageFault(
            "order is no record", "give objective, " + ", ".join([*_ORDER, "must_nots"])
        )
    found: dict = {"objective": _text(given, "objective", True)}
    for name, (least, most) in _ORDER.items():
        rows = _list(given, name)
        if len(rows) < least or most is not None and len(rows) > most:
            bounds = f"{least} to {most}" if most else f"at least {least}"
            raise Refused(f"order has {len(rows)} {name}", f"give {bounds}")
        found[name] = rows
    found["must_nots"] = _list(given, "must_nots")
    if len(found["must_nots"]) < _ORDER_MUST_NOTS:
        raise Refused(
            f"order has {len(found['must_nots'])} must_nots", f"give at least {_ORDER_MUST_NOTS}"
        )
    return found


def check_scores(state: LoopState, values: dict) -> None:
    """Raises Refused where a dimension that rests on an assumption is scored as explicit."""
    for name, text in assumed(state).items():
        if isinstance(values.get(name), int) and values[name] > MOST_ASSUMED:
            raise Refused(
                f"{name} is an assumption ({prose.clean(text, 80)}): at most {MOST_ASSUMED}",
                "explicit is what the person said",
            )


def _text(given: dict, name: str, needed: bool) -> str:
    value = given.get(name)
    if isinstance(value, (dict, list)):
        raise UsageFault(f"{name} is no text", "a sentence")
    text = " ".join(str("" if value is None else value).split())
    if needed and not text:
        raise UsageFault(f"{name} is missing", "a sentence; the form: loopkit clarify")
    return text


def _by_dimension(given: dict, name: str) -> dict:
    rows = given.get(name) or {}
    if not isinstance(rows, dict):
        raise UsageFault(
            f"{name} is no record", "one line a dimension: " + ", ".join(score.DIMENSIONS)
        )
    for key in rows:
        if key not in score.DIMENSIONS:
            raise UsageFault(
                f"{name} names {str(key)[:40]!r}", "use " + ", ".join(score.DIMENSIONS)
            )
    return {key: _text(rows, key, True) for key in rows}


def _list(given: dict, name: str) -> list[str]:
    rows = given.get(name) or []
    if not isinstance(rows, list) or not all(
        isinstance(one, (str, int, float)) and str(one).strip() for one in rows
    ):
        raise UsageFault(f"{name} is no list of sentences", "each begins with `- `")
    return [" ".join(str(one).split()) for one in rows]
