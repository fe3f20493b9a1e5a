"""A clear request in one go: what was learnt before, scores, shape, tasks."""

from __future__ import annotations

import copy
from collections.abc import Callable

from ..evidence import proofs
from ..journal import stage
from ..journal.errors import Refused
from ..journal.events import Change, Event
from ..journal.state import LoopState
from ..plan import drafts
from ..request import intake
from ..request import shape as shapes
from .events import LOOP


def wanted(state: LoopState) -> list[str]:
    """The fields of the form `request` that the loop has not got yet; none once it has all."""
    if state.stage not in (stage.INTENT, stage.SHAPE, stage.DECOMPOSE):
        return []
    fields = []
    if state.stage == stage.INTENT:
        fields = ["scores", *([] if state.scores else ["kind", "topics"])]
    if state.stage != stage.DECOMPOSE:
        fields += ["title", "criteria", "must_nots"]
    if not state.terms.plan_reviewed and not state.tasks:
        fields.append("tasks")
    return fields


def submitted(state: LoopState, row: dict, titles: list[str]) -> list[Change]:
    """Everything that the form `request` brings, or nothing. titles: of what was learnt before.
    Where the scores are too low they alone are recorded, and the rest may be missing. Raises
    Refused, ShapeFaults."""
    fields = wanted(state)
    _check_given(row, [name for name in fields if name in ("scores", "kind")])
    trial = _Trial(state)
    if state.stage == stage.INTENT:
        if titles:
            chosen = sorted(set(row["learnings"]))
            others = [number for number in range(1, len(titles) + 1) if number not in chosen]
            trial.decide(intake.recall_answered, titles, chosen, others)
        scores = {**row["scores"], "kind": row["kind"] or "", "topics": ", ".join(row["topics"])}
        trial.decide(intake.scored, scores)
        if trial.state.stage == stage.INTENT:
            return trial.changes
    _check_given(row, [name for name in fields if name not in ("title", "topics")])
    if "criteria" in fields:
        _check_shown(row["criteria"])
        trial.decide(intake.shaped, shape(row))
    if "tasks" in fields and trial.state.stage == stage.DECOMPOSE:
        trial.decide(drafts.submit, row["tasks"])
    return trial.changes


#: What no task may do, where the person has written down tasks and nothing else.
_MUST_NOTS = (
    "a test that was there is weakened, skipped or removed",
    "something is changed that no task asks for",
)


def shape_of_tasks(title: str, rows: list[dict]) -> str:
    """The SHAPE.md of tasks that the person has written down: each is a criterion by its check."""
    kind = {"type": proofs.EXECUTION}
    criteria = [{"text": row["subject"], "proof": row["verify"], **kind} for row in rows]
    must_nots = [{"text": text, "proof": ""} for text in _MUST_NOTS]
    return shapes.written(title, criteria, must_nots)


def of_tasks(state: LoopState, shape_text: str, rows: list[dict]) -> list[Change]:
    """A loop that has only begun gets these tasks. Raises Refused."""
    trial = _Trial(state)
    trial.decide(lambda state: [stage.move(state, stage.SHAPE)])
    trial.decide(intake.shaped, shape_text)
    named = [{**row, "criteria": [f"C{number}"]} for number, row in enumerate(rows, 1)]
    trial.decide(drafts.submit, named)
    return trial.changes


def _check_given(row: dict, fields: list[str]) -> None:
    missing = [name for name in fields if not row[name]]
    if missing:
        raise Refused(f"{', '.join(missing)} must be given", "fill in the whole form")


def _check_shown(rows: list[dict]) -> None:
    """Raises Refused for criteria that nobody would see anything of."""
    bare = [row["type"] == proofs.EXECUTION and not row["proof"] for row in rows]
    names = [f"C{number}" for number, is_bare in enumerate(bare, 1) if is_bare]
    if names:
        others = ", ".join(proofs.SEEN[1:])
        todo = f"give a proof, or, where no command can show it, its type: {others}"
        raise Refused(f"nothing would show {', '.join(names)}", todo)


def shape(row: dict) -> str:
    """The SHAPE.md of a record of the form `request`."""
    return shapes.written(row["title"], row["criteria"], row["must_nots"])


class _Trial:
    """A copy of the state, on which one decision builds upon the other."""

    def __init__(self, state: LoopState) -> None:
        self.state = copy.deepcopy(state)
        self.changes: list[Change] = []

    def decide(self, decide: Callable[..., list[Change]], *arguments: object) -> None:
        for kind, data in decide(self.state, *arguments):
            LOOP.apply(self.state, Event(kind, data, self.state.session.last_updated, ""))
            self.changes.append((kind, data))
