"""From a request to a shape: recall, scores, SHAPE.md, confirmations. Deciders."""

from __future__ import annotations

from ..journal import stage, verdict
from ..journal.errors import Refused
from ..journal.events import Change
from ..journal.state import LoopState
from . import aspects, clarify, shape, topics


def recall_answered(state: LoopState, titles: list, confirm: list, dismiss: list) -> list[Change]:
    """Confirmed and dismissed learnings, by their 1-based place in the list that was shown."""
    stage.running(state)
    stage.require(state, stage.INTENT, doing="recall")
    for place in (*confirm, *dismiss):
        if not 1 <= place <= len(titles):
            todo = f"see loopkit recall, it shows {len(titles)}"
            raise Refused(f"there is no learning {place}", todo)
    both = sorted(set(confirm) & set(dismiss))
    if both:
        raise Refused(f"learning {both[0]} is both confirmed and dismissed", "give it once")
    chosen = [titles[place - 1] for place in confirm]
    away = [titles[place - 1] for place in dismiss]
    return [("recall_answered", {"shown": titles, "confirmed": chosen, "dismissed": away})]


def scored(state: LoopState, values: dict) -> list[Change]:
    """Scores of the request; the loop goes on to shape where spec and fit suffice. values: a score
    for each dimension, `topics` (`api, auth`) and `kind` of work. What was given before stands
    unless it is given again."""
    stage.running(state)
    stage.require(state, stage.INTENT, doing="scoring")
    named = topics.topics(values.get("topics") or "") or topics.of_loop(state)
    kind = topics.kind(values["kind"]) if values.get("kind") else topics.kind_of(state)
    known = (state.scores or {}).get("values") or {}
    given = {name: value for name, value in values.items() if value is not None}
    values = {name: given.get(name, known.get(name)) for name in stage.DIMENSIONS}
    clarify.check_scores(state, values)
    result = stage.score(values, len(state.recall_surfaced))
    row = {**result._asdict(), "topics": named, "kind": kind}
    changes: list[Change] = [("scored", row)]
    try:
        stage.check_leave_intent(row, state.overruled)
    except Refused as error:
        if state.session.unattended and state.clarified is not None:  # assumptions do not suffice
            low = ", ".join(name for name in stage.DIMENSIONS if values[name] < 2)
            why = f"too vague to work on unasked ({error.what}); to be answered: {low}"
            changes.append(("paused", {"verdict": verdict.WAITING, "reason": why}))
        return changes
    return [*changes, stage.move(state, stage.SHAPE)]


def overruled(state: LoopState, why: str) -> list[Change]:
    """The person lets a spec under the minimum pass; fit under its minimum stays blocked."""
    stage.running(state)
    stage.require(state, stage.INTENT, doing="overruling the spec score")
    if not why.strip():
        raise Refused("no reason given", 'loopkit score --overrule "<why>"')
    if state.scores is None:
        raise Refused("not scored yet", "next: loopkit score")
    changes: list[Change] = [("spec_overruled", {"why": why})]
    try:
        stage.check_leave_intent(state.scores, why)
    except Refused:
        return changes
    return [*changes, stage.move(state, stage.SHAPE)]


def shaped(state: LoopState, text: str) -> list[Change]:
    """A SHAPE.md that parses; the loop goes on to tasks unless the person has to confirm first.
    Once there are tasks, only a proof may grow stronger (shape.stronger)."""
    stage.running(state)
    parsed = shape.parse(text)
    row = {**parsed, "size": len(text.encode("utf-8", "replace"))}
    row["aspects"] = parsed["aspects"] or aspects.chosen(state)
    if state.tasks and state.stage in (stage.DECOMPOSE, stage.EXECUTING, stage.REVIEW):
        row["stronger"] = shape.stronger(state.criteria, parsed["criteria"])
        return [("shape_saved", row)]
    stage.require(state, stage.SHAPE, stage.DECOMPOSE, doing="shaping")
    changes: list[Change] = [("shape_saved", row)]
    needs = stage.needs(state.shape)
    if "shape" in needs:
        if not state.session.unattended:
            return changes
        if "wave" in needs:
            why = "the shape asks a person to confirm each step, and nobody can be asked"
            return [*changes, ("paused", {"verdict": verdict.WAITING, "reason": why})]
        changes.append(("confirmed", {"what": "shape", "default": True}))
    if state.stage == stage.SHAPE:
        changes.append(stage.move(state, stage.DECOMPOSE))
    return changes


def confirmed(state: LoopState, what: str) -> list[Change]:
    """The person's yes to what is open; `what` is shape, tasks or wave."""
    stage.running(state)
    open_now = stage.confirmation(state)
    if open_now != what:
        todo = f"open: {open_now or 'nothing'}; see loopkit status"
        raise Refused(f"nothing to confirm as {what}", todo)
    key = stage.wave_key(state) if what == "wave" else what
    changes: list[Change] = [("confirmed", {"what": key, "default": False})]
    if what == "shape" and state.stage == stage.SHAPE:
        changes.append(stage.move(state, stage.DECOMPOSE))
    return changes
