"""What a loop teaches: proposals to keep, made from its state and its journal. Nothing is kept
unless the person says so."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ..journal import prose, verdict
from ..journal import task as tasks
from ..request.shape import TYPES
from . import learned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..journal.events import Event
    from ..journal.state import LoopState

#: Characters of one field that is proposed; proposals that are listed at the end of a loop.
PROPOSED, LISTED = 400, 5


def proposed(state: LoopState, events: Iterable[Event], masked: Callable[[str], str]) -> list[dict]:
    """What a loop taught, as rows without `ts`, the most useful first: tasks that failed, what must
    hold, what was decided, how it went. events: the loop's journal, for what the state has
    forgotten · masked: a text without what looks like a credential.

    Nothing of it is kept unless the person says so.
    """
    request = _one_line(state.text, learned.TITLE)
    rows = [
        *_failures(state, request),
        *_constraints(state, request, events),
        *_decisions(state),
        *_outcome(state, request),
    ]
    found: dict[str, dict] = {}
    for row in rows:
        row = {
            "kind": row["kind"],
            **{k: masked(v) if isinstance(v, str) else v for k, v in row.items()},
        }
        found.setdefault(learned.key(row), {**row, "loop": state.name})
    return list(found.values())


def _failures(state: LoopState, request: str) -> list[dict]:
    rows = []
    met = [task for task in state.tasks.values() if task.history]
    for task in sorted(met, key=lambda one: one.status != tasks.COMPLETED):
        panels = [one for one in state.panels if one.get("task") == task.id]
        panel = panels[-1] if panels else None
        line = error_line(task.history[-1]["error"])
        context = f"{_one_line(task.subject, learned.TITLE)} (in: {request})"
        consensus = _one_line(panel.get("consensus"), PROPOSED) if panel else ""
        done = task.status == tasks.COMPLETED
        if not line:  # nothing to know the failure by again, but what helped may be worth keeping
            if consensus and done:
                sure = (
                    learned.number((panel or {}).get("recommendations", [{}])[0].get("confidence"))
                    / 10
                )
                rows.append(
                    {
                        "kind": learned.DISCOVERY,
                        "context": context,
                        "discovery": consensus,
                        "confidence": round(sure, 1),
                        "applies_to": ", ".join(task.files[:5]),
                    }
                )
            continue
        causes = [_one_line(one.get("diagnosis"), 150) for one in (panel or {}).get("experts", [])]
        split = any(one.parent == task.id for one in state.tasks.values())
        way = consensus or ("split it into smaller tasks" if split else "")
        rows.append(
            {
                "kind": learned.FAILURE,
                "context": context,
                "failure": line,
                "root_cause": "; ".join(dict.fromkeys(filter(None, causes))) or "not known",
                "prevention": (
                    way if done else f"not solved; tried: {way}" if way else "not solved"
                )
                or "not known",
                "seen": 1,
            }
        )
    return rows


def _constraints(state: LoopState, request: str, events: Iterable[Event]) -> list[dict]:
    rows = []

    def add(text: str, source: str, permanent: bool) -> None:
        rows.append(
            {
                "kind": learned.CONSTRAINT,
                "context": request,
                "constraint": _one_line(text, PROPOSED),
                "source": _one_line(source, PROPOSED),
                "permanent": permanent,
            }
        )

    journal = list(events)
    pauses = [event.data for event in journal if event.type == "paused"]
    breaches = [
        str(data.get("reason")) for data in pauses if data.get("verdict") == verdict.BREACHED
    ]
    for rule in state.must_nots:
        near = [
            one.id for one in state.findings.values() if rule.id in (*one.violates, *one.breaks)
        ]
        if any(re.search(rf"\b{re.escape(rule.id)}\b", reason) for reason in breaches):
            add(f"must not: {rule.text}", f"{rule.id}, which came true in {state.name}", True)
        elif near:
            add(
                f"must not: {rule.text}",
                f"{rule.id}, nearly broken in {state.name} ({', '.join(near[:3])})",
                True,
            )
    for one in state.findings.values():
        how = one.resolution or {}
        if how.get("how") == "waive":
            add(f"accepted: {one.issue}", f"the person: {how.get('text', '')}", False)
    for event in journal:
        if event.type == "task_blocked" and event.data.get("kind") in ("external", "permission"):
            add(
                str(event.data.get("text", "")),
                f"a task of {state.name} waited for it ({event.data['kind']})",
                False,
            )
    return rows


def _decisions(state: LoopState) -> list[dict]:
    """Reviews that swung to and fro: what was settled. Fatigue with a category or with growth is of
    this loop only; what was decided on purpose is found again by its file."""
    return [
        {
            "kind": learned.DISCOVERY,
            "context": _one_line(one.get("context") or one.get("title"), PROPOSED),
            "discovery": _one_line(one.get("choice") or one.get("title"), PROPOSED),
            "confidence": 0.7,
            "applies_to": _one_line(one.get("title"), learned.TITLE),
        }
        for one in state.decisions
        if one.get("kind") not in ("category", "growth", "choice")
        and (one.get("choice") or one.get("title"))
    ]


def _outcome(state: LoopState, request: str) -> list[dict]:
    if state.session.status not in verdict.FINAL or state.scores is None:
        return []
    types = [
        one
        for one in TYPES
        if any(row.type == one for row in state.criteria.values() if not row.must_not)
    ]
    errors = Counter(
        error_line(entry["error"]) for task in state.tasks.values() for entry in task.history
    )
    errors.pop("", None)
    worst = [line for line, _ in errors.most_common(1)]
    failed = [task for task in state.tasks.values() if task.history]
    done, total = state.counts[tasks.COMPLETED], len(state.tasks)
    pattern = f"{prose.count(len(failed), 'task')} of {total} failed first" if failed else "none"
    went = f"{done} of {total} tasks in {prose.count(len(state.waves), 'wave')}"
    return [
        {
            "kind": learned.DELEGATION,
            "context": request,
            "spec_score": state.scores.get("spec"),
            "fit_score": state.scores.get("fit"),
            "shape_chosen": state.scores.get("shape") or "none",
            "verification_type": types[0] if types else "none",
            "outcome": f"{state.session.verdict or state.session.status}: {went}",
            "failure_pattern": pattern,
            "root_cause": worst[0] if worst else "none",
            "prevention": _advice(state, bool(failed)),
        }
    ]


def _advice(state: LoopState, failed: bool) -> str:
    """What to do differently next time, as far as figures tell."""
    if state.session.verdict == verdict.ACHIEVED:
        return (
            "smaller tasks, or the failures above told in advance" if failed else "the same again"
        )
    low = [name for name, value in ((state.scores or {}).get("values") or {}).items() if value != 2]
    return f"make these explicit first: {', '.join(low)}" if low else "a smaller request"


#: Lines that name an error by its kind; else those that say something of failing.
_NAMED = re.compile(
    r"^\s*(?:[\w.]*(?:Error|Exception|Panic)\b|error(?:\[\w+\])?:|fatal:|panic:|FAIL(?:ED)?\b)"
)
_COUNTS = re.compile(r"=+ .* =+$|\d+ (?:failed|passed|tests?\b)|FAILED \(")
_FAILING = re.compile(
    r"error|exception|fail|assert|panic|fatal|denied|not found|cannot|timed out", re.I
)


def error_line(error: str) -> str:
    """The line by which an error is known again, or empty where nothing was told."""
    lines = [line.strip() for line in str(error or "").splitlines() if line.strip()]
    if not lines or lines == ["no error given"]:
        return ""
    told = [
        line[1:].strip() for line in lines if re.match(r"E\s{2}", line)
    ]  # pytest marks what it has to say
    if told:
        return _one_line(told[0], PROPOSED)
    lines = [line for line in lines if not _COUNTS.match(line)] or lines
    for pattern in (_NAMED, _FAILING):
        fitting = [line for line in lines if pattern.search(line)]
        if fitting:
            return _one_line(fitting[-1], PROPOSED)
    return _one_line(lines[-1], PROPOSED)


def _one_line(text: object, most: int) -> str:
    return prose.clean(" ".join(str(text or "").split()), most)


# -- showing


def told(row: dict) -> str:
    """`[failure] context: what to do`, one line of a row as it is proposed."""
    one = learned.entry(row, "")
    assert one is not None
    text = (
        f"{prose.untagged(str(row.get('failure')))} → {one.text}"
        if row["kind"] == learned.FAILURE
        else one.text
    )
    if row["kind"] == learned.DELEGATION:
        text = f"{prose.untagged(str(row.get('outcome')))}; next time: {one.text}"
    return (
        f"[{one.kind}] {prose.clean(one.title, learned.TITLE)}: {prose.clean(text, learned.TEXT)}"
    )


def summary(state: LoopState, events: Iterable[Event], masked: Callable[[str], str]) -> list[str]:
    """What to tell at the end of a loop: short numbered proposals and how to keep them; empty where
    nothing was learnt.

    The numbers are those of `loopkit learn`.
    """
    rows = proposed(state, events, masked)
    if not rows:
        return []
    lines = ["learnt in this loop, not kept yet:"]
    lines += [
        f"  {place}. {prose.clean(told(row), 140)}" for place, row in enumerate(rows[:LISTED], 1)
    ]
    more = f" ({len(rows) - LISTED} more)" if len(rows) > LISTED else ""
    return [*lines, f"the person decides what is kept: skill hope:learn, loopkit learn{more}"]
