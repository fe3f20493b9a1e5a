"""From a vague request to a clear one: answers, marked assumptions, an echo, an order.

Deciders as elsewhere: (state, input) → journal lines (rule: Recall, spec score, fit score).
"""

from __future__ import annotations

from ..journal import prose, stage
from ..journal.errors import Refused
from ..journal.state import LoopState

MOST_ROUNDS = 2
MARK = "[ASSUMPTION]"
#: What a clarified request says.
FIELDS = ("task", "context", "done", "stakes", "reviewers")
MOST_ECHO = 400
#: The spec score from which a request is nearly explicit and gets a full order; its lists.
ORDER_FROM = 8
_ORDER = ("non_goals", "constraints", "acceptance", "stop_conditions")
#: What a dimension may be scored at most while it rests on an assumption.
MOST_ASSUMED = 1


def open_dimensions(state: LoopState) -> list[str]:
    """Dimensions of the rubric that are not explicit yet, by the last score."""
    values = (state.scores or {}).get("values") or {}
    return [name for name in stage.DIMENSIONS if values.get(name, 0) < 2]


def assumed(state: LoopState) -> dict:
    """{dimension: marked text} of what the clarified request assumes."""
    return (state.clarified or {}).get("assumptions") or {}


def told(state: LoopState) -> list[tuple[str, str]]:
    """(what, words) of the clarification that a shape has to keep to."""
    if state.clarified is None:
        return []
    order = state.clarified.get("order") or {}
    rows = [("clarified", state.clarified["echo"])]
    rows += [(f"assumed, {name}", text) for name, text in assumed(state).items()]
    must_nots = [*state.clarified.get("must_nots", ()), *order.get("must_nots", ())]
    rows += [("must not", text) for text in must_nots]
    rows += [(name.replace("_", " "), text) for name in _ORDER for text in order.get(name, ())]
    answers = state.clarified.get("answers") or {}
    return rows + [(f"answered, {name}", text) for name, text in answers.items()]


def due(state: LoopState) -> bool:
    """The request was scored too low and nothing has been clarified since."""
    return bool(state.scores) and state.clarified_line < state.scored_line


def rounds_left(state: LoopState) -> int:
    """Rounds of questions that may still be asked; none where nobody can be asked."""
    return 0 if state.session.unattended else max(0, MOST_ROUNDS - state.rounds)


def clarified(state: LoopState, given: dict) -> list:
    """`clarify --file`: recorded with its round. Raises Refused; then nothing is recorded."""
    stage.running(state)
    stage.require(state, stage.INTENT, doing="clarifying")
    answers, guesses = given["answers"], given["assumptions"]
    _check_sources(state, answers, guesses)
    rows = guesses.items()
    guesses = {name: text if text.startswith(MARK) else f"{MARK} {text}" for name, text in rows}
    if guesses and not state.session.unattended and not given["approved"]:
        todo = "ask the person about the echo and these; then once more with approved: yes"
        raise Refused(f"nobody has agreed to what is assumed: {', '.join(guesses)}", todo)
    data = {
        "echo": given["echo"],
        **{name: given[name] for name in FIELDS if given.get(name)},
        "answers": answers,
        "assumptions": guesses,
        "must_nots": given["must_nots"],
        "by": "nobody" if state.session.unattended else "person",
        "round": state.rounds + bool(answers),
    }
    if "order" in given:
        data["order"] = given["order"]
    return [("clarified", data)]


def _check_sources(state: LoopState, answers: dict, guesses: dict) -> None:
    if state.session.unattended and answers:
        what = "nobody could be asked, so nothing was answered"
        raise Refused(what, "give these as assumptions:")
    if answers and not rounds_left(state):
        what = f"{prose.count(MOST_ROUNDS, 'round')} of questions were asked"
        raise Refused(what, "what is still open is an assumption: give it under assumptions:")
    kept = {**((state.clarified or {}).get("answers") or {}), **answers, **guesses}
    missing = [name for name in open_dimensions(state) if name not in kept]
    if missing:
        what = f"{', '.join(missing)}: neither answered nor assumed"
        raise Refused(what, "give each under answers: or under assumptions:")


def check_scores(state: LoopState, values: dict) -> None:
    """Raises Refused where a dimension that rests on an assumption is scored as explicit."""
    for name, text in assumed(state).items():
        if isinstance(values.get(name), int) and values[name] > MOST_ASSUMED:
            what = f"{name} is an assumption ({prose.clean(text, 80)}): at most {MOST_ASSUMED}"
            raise Refused(what, "explicit is what the person said")
