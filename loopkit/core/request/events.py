"""What clarifying, scoring and shaping a request leave in a loop's state, and the person's yes."""

from __future__ import annotations

from ..journal.events import EventType, Fields
from ..journal.parts import Criterion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.events import Count, Flag, Text
    from ..journal.state import LoopState


class RecallAnswered(EventType):
    """Titles of what was shown of earlier loops."""

    shown: list[Text] | None = None
    confirmed: list[Text] = []
    dismissed: list[Text] = []

    def fold(self, state: LoopState) -> None:
        yes, no = self.confirmed, self.dismissed
        state.recall_shown = state.recall_shown if self.shown is None else self.shown
        surfaced = dict.fromkeys([*state.recall_surfaced, *yes])
        state.recall_surfaced = [one for one in surfaced if one not in no]
        dismissed = dict.fromkeys([*state.recall_dismissed, *no])
        state.recall_dismissed = [one for one in dismissed if one not in yes]


class Scored(EventType):
    values: dict[str, Count | None] | None = None
    spec: Count | None = None
    fit: Count | None = None
    shape: Text | None = None
    topics: list[Text] | None = None
    kind: Text | None = None

    def fold(self, state: LoopState) -> None:
        keys = ("values", "spec", "fit", "shape", "topics", "kind")
        state.scores = {key: getattr(self, key) for key in keys}
        state.scored_line = state.lines


class Clarified(EventType):
    echo: Text
    answers: dict[str, Text] = {}
    assumptions: dict[str, Text] = {}
    round: Count | None = None
    also = {
        "Text": "task context done stakes reviewers by",
        "list[Text]": "must_nots",
        "dict[str, TextOrTexts]": "order",
    }

    def fold(self, state: LoopState) -> None:
        answers = {**(state.clarified or {}).get("answers", {}), **self.answers}
        state.clarified = {**self.data, "answers": answers, "assumptions": dict(self.assumptions)}
        state.rounds = state.rounds if self.round is None else self.round
        state.clarified_line = state.lines


class SpecOverruled(EventType):
    why: Text = ""

    def fold(self, state: LoopState) -> None:
        state.overruled = self.why


class CriterionRow(Fields):
    id: Text
    text: Text
    type: Text | None = None
    command: Text | None = None
    must_not: Flag = False


class ShapeSaved(EventType):
    criteria: list[CriterionRow] = []
    aspects: list[Text] | None = None
    size: Count = 0
    stronger: list[Text] = []
    also = {"Text": "title"}

    def fold(self, state: LoopState) -> None:
        known = {name: one.command for name, one in state.criteria.items()}
        state.criteria = {
            row.id: Criterion(row.id, row.text, row.type, row.command, row.must_not)
            for row in self.criteria
        }
        for name in [one for one in state.criterion_evidence if one in known]:
            if name not in state.criteria or state.criteria[name].command != known[name]:
                del state.criterion_evidence[name]  # another command ran then
        state.aspects = list(self.aspects or ())
        spec, goals = (state.scores or {}).get("spec"), list(state.criteria)
        state.shape_rounds.append({"size": self.size, "score": spec, "goals": goals})
        if not self.stronger:
            state.confirmed.discard("shape")
        state.records += 1


class Confirmed(EventType):
    """The person's yes; `default`: nobody could be asked."""

    what: Text = ""
    also = {"Flag": "default"}

    def fold(self, state: LoopState) -> None:
        state.confirmed.add(self.what)
        if self.what == "tasks":
            state.new_checks.clear()


class ConfirmationDropped(EventType):
    """Checks have changed since the yes; `ids`: whose."""

    what: list[Text] = []
    ids: list[Text] = []

    def fold(self, state: LoopState) -> None:
        state.confirmed.difference_update(self.what)
        state.new_checks.update(self.ids)
