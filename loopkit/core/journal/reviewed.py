"""What experts leave in a loop's state, folded from the journal: reviews, findings and their end,
panels, the gate."""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Callable

    from .events import Event
    from .state import LoopState

#: A finding of a review. place: `file` or `file:line`; breaks: criteria and mustNots that the work
#: misses; replaced: the guidance that would have broken a mustNot; resolution: {how, text} or None;
#: contradicts: numbers of live decisions.
Finding = namedtuple(
    "Finding",
    "id severity issue guidance violates source round resolution task place reason breaks "
    "category replaced reverses files "
    "contradicts",
    defaults=(None, None, "", "", (), "other", "", None, (), ()),
)


def _light(state: LoopState, data: dict, event: Event) -> None:
    state.records += 1
    key = f"wave_{data.get('wave')}"
    state.reviews[key] = {name: data.get(name) for name in ("score", "issues", "blockers")}
    take_findings(state, data, key)


def _thorough(state: LoopState, data: dict, event: Event) -> None:
    state.records += 1
    state.thorough = {
        "experts": data.get("experts", []),
        "timestamp": event.at,
        "round": data.get("round", 1),
        "line": state.lines,
        "wave": len(state.waves),
    }
    take_findings(state, data, "thorough")
    rows = data.get("findings", [])
    state.review_rounds.append(
        {
            "round": data.get("round", 1),
            "size": data.get("size", 0),
            "score": data.get("score"),
            "goals": tuple((one.id, one.text) for one in state.criteria.values()),
            "categories": {
                row.get("category") for row in rows if row.get("severity") != "SUGGESTION"
            },
        }
    )


def _asked(state: LoopState, data: dict, event: Event) -> None:
    since = max((state.thorough or {}).get("line", 0), state.last_completion)
    if state.asked is None or state.asked["line"] < since:
        state.records += 1  # to ask the same again is no progress
    reported = len(state.session.subagents)
    state.asked = {"experts": data.get("experts", []), "line": state.lines, "reported": reported}


def take_findings(state: LoopState, data: dict, source: str) -> None:
    """Take in the findings of a line; source: `wave_N`, `thorough` or `decision`."""
    for row in data.get("findings", []):
        state.findings[row["id"]] = Finding(
            row["id"],
            row.get("severity"),
            row.get("issue", ""),
            row.get("guidance", ""),
            tuple(row.get("violates", ())),
            source,
            data.get("round", 1),
            row.get("resolution"),
            row.get("task"),
            row.get("place", ""),
            row.get("reason", ""),
            tuple(row.get("breaks", ())),
            row.get("category", "other"),
            row.get("replaced", ""),
            row.get("reverses"),
            tuple(row.get("files", ())),
            tuple(row.get("contradicts", ())),
        )


def _resolved(state: LoopState, data: dict, event: Event) -> None:
    finding = state.findings.get(data.get("id", ""))
    if finding is not None:
        state.records += 1
        how = {"how": data.get("how"), "text": data.get("text", "")}
        state.findings[finding.id] = finding._replace(
            resolution=how, task=data.get("task", finding.task)
        )


def _panel(state: LoopState, data: dict, event: Event) -> None:
    state.records += 1
    state.panels.append(data)
    task = state.tasks.get(data.get("task") or "")
    if task is not None:
        state._put(task._replace(panel_for=data.get("attempt", task.attempts)))


def _gate(state: LoopState, data: dict, event: Event) -> None:
    state.records += 1
    state.gate = {**data, "line": state.lines}


#: {type of a journal line: (state, data, event) → None}.
FOLDS: dict[str, Callable] = {
    "review_light": _light,
    "review_thorough": _thorough,
    "review_asked": _asked,
    "finding_resolved": _resolved,
    "panel_recorded": _panel,
    "gate_result": _gate,
}
