"""What a loop teaches: proposals to keep, made from its state and journal; the person decides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from ..journal import prose, verdict
from ..journal import task as tasks
from ..journal.events import Event
from ..journal.state import LoopState
from ..request.shape import TYPES
from . import learned

#: Characters of one field that is proposed; proposals that are listed at the end of a loop.
PROPOSED, LISTED = 400, 5


def proposed(state: LoopState, events: Iterable[Event], masked: Callable[[str], str]) -> list[dict]:
    """What a loop taught, as rows without `ts`, the most useful first: tasks that failed, checks
    that showed nothing, what must hold or is missing, what was decided, why it came to nothing.
    events: the loop's journal · masked: a text without what looks like a credential."""
    request = prose.line(state.text, learned.TITLE)
    rows = [
        *_failures(state, request),
        *_proofs(state, request),
        *_constraints(state, request, events),
        *_decisions(state),
        *_outcome(state, request),
    ]
    different: dict[str, dict] = {}
    for row in rows:
        row.update((k, masked(v)) for k, v in row.items() if isinstance(v, str) and k != "kind")
        different.setdefault(learned.key(row), {**row, "loop": state.name})
    return list(different.values())


def _failures(state: LoopState, request: str) -> list[dict]:
    rows = []
    met = [task for task in state.tasks.values() if task.history]
    for task in sorted(met, key=lambda task: task.status != tasks.COMPLETED):
        panel: dict = next((row for row in state.panels[::-1] if row.get("task") == task.id), {})
        context = f"{prose.line(task.subject, learned.TITLE)} (in: {request})"
        consensus = prose.line(panel.get("consensus") or "", PROPOSED)
        done = task.status == tasks.COMPLETED
        line = error_line(task.history[-1]["error"])
        said = (prose.line(row.get("diagnosis") or "", 150) for row in panel.get("experts", []))
        causes = dict.fromkeys(filter(None, said))
        split = any(row.parent == task.id for row in state.tasks.values())
        way = consensus or ("split it into smaller tasks" if split else "")
        if done and not way and not causes:
            continue  # it failed, then it passed: nobody knows what was learnt
        if line:
            prevention = way if done else f"not solved; tried: {way}" if way else "not solved"
            rows.append(_failure(context, line, "; ".join(causes), prevention))
        elif consensus and done:  # nothing to know the failure by again, but this may have helped
            sure = learned.number(panel.get("recommendations", [{}])[0].get("confidence"))
            files = ", ".join(task.files[:5])
            rows.append(_discovery(context, consensus, round(sure / 10, 1), files))
    return rows


def _failure(context: str, failure: str, cause: str, prevention: str) -> dict:
    row = {"kind": learned.FAILURE, "context": context, "failure": failure, "seen": 1}
    return {**row, "root_cause": cause or "not known", "prevention": prevention or "not known"}


def _proofs(state: LoopState, request: str) -> Iterator[dict]:
    """Checks that had to be replaced: they could not pass, or proved nothing."""
    texts = {name: row.text for name, row in state.criteria.items()}
    rows = [(texts.get(row.id, row.id), row.old, row.new, row.why) for row in state.replaced]
    for task in state.tasks.values():
        later = (*task.checks_before[1:], task.verify)
        rows += [(task.subject, *pair, "") for pair in zip(task.checks_before, later, strict=False)]
    for what, old, new, why in rows:
        context = f"{prose.line(what, learned.TITLE)} (in: {request})"
        said = prose.line(f"its check `{old}` did not show it", PROPOSED)
        yield _failure(context, said, prose.line(why, PROPOSED), prose.line(new, PROPOSED))


def _discovery(context: str, text: str, confidence: float, applies_to: str) -> dict:
    what = {"kind": learned.DISCOVERY, "context": context, "discovery": text}
    return {**what, "confidence": confidence, "applies_to": applies_to}


def _constraints(state: LoopState, request: str, events: Iterable[Event]) -> Iterator[dict]:
    def constraint(text: str, source: str, permanent: bool) -> dict:
        texts = {"constraint": prose.line(text, PROPOSED), "source": prose.line(source, PROPOSED)}
        row = {"kind": learned.CONSTRAINT, "context": request}
        return {**row, **texts, "permanent": permanent}

    journal = [(event.type, event.data) for event in events]
    pauses = [data for kind, data in journal if kind == "paused"]
    breaches = [str(row.get("reason")) for row in pauses if row.get("verdict") == verdict.BREACHED]
    findings = state.findings.values()
    for rule in state.must_nots:
        name = rule.id
        near = [row.id for row in findings if name in (*row.violates, *row.breaks)]
        source = f"{name}, nearly broken in {state.name} ({', '.join(near[:3])})" if near else ""
        if any(re.search(rf"\b{re.escape(name)}\b", reason) for reason in breaches):
            source = f"{name}, which came true in {state.name}"
        if source:
            yield constraint(f"must not: {rule.text}", source, True)
    for row in findings:
        how = row.resolution or {}
        if how.get("how") == "waive":
            yield constraint(f"accepted: {row.issue}", f"the person: {how.get('text', '')}", False)
    for kind, data in journal:
        missing = _UNSTARTED.match(str(data.get("why") or data.get("reason") or ""))
        if missing and kind in ("proof_tried", "paused"):
            name = data.get("id") or missing[1]
            source = f"the check of {name} could not start in {state.name}"
            yield constraint(missing[2], source, False)
        if kind == "task_blocked" and data.get("kind") in ("external", "permission"):
            source = f"a task of {state.name} waited for it ({data['kind']})"
            yield constraint(str(data.get("text", "")), source, False)


def _decisions(state: LoopState) -> Iterator[dict]:
    """Reviews that swung to and fro: what was settled. Fatigue with a category or with growth is of
    this loop only; what was decided on purpose is found again by its file."""
    for row in state.decisions:
        title = row.get("title")
        choice = prose.line(row.get("choice") or title, PROPOSED)
        if choice and row.get("kind") not in ("category", "growth", "choice"):
            context = prose.line(row.get("context") or title, PROPOSED)
            yield _discovery(context, choice, 0.7, prose.line(title or "", learned.TITLE))


#: How the journal says that a check could not start.
_UNSTARTED = re.compile(r"(?:it cannot be started|the check of (\S+) cannot start): (.+)")


def _outcome(state: LoopState, request: str) -> list[dict]:
    """Of a loop that came to nothing: what its request did not say."""
    low = [name for name, value in ((state.scores or {}).get("values") or {}).items() if value != 2]
    achieved = state.session.verdict == verdict.ACHIEVED
    if state.session.status not in verdict.FINAL or state.scores is None or achieved or not low:
        return []
    known = {row.type for row in state.criteria.values() if not row.must_not}
    failed = [task for task in state.tasks.values() if task.history]
    errors = Counter(error_line(entry["error"]) for task in failed for entry in task.history)
    errors.pop("", None)
    done, total = state.counts[tasks.COMPLETED], len(state.tasks)
    pattern = f"{prose.count(len(failed), 'task')} of {total} failed first" if failed else "none"
    went = f"{done} of {total} tasks in {prose.count(len(state.waves), 'wave')}"
    row = {
        "kind": learned.DELEGATION,
        "context": request,
        "spec_score": state.scores.get("spec"),
        "fit_score": state.scores.get("fit"),
        "shape_chosen": state.scores.get("shape") or "none",
        "verification_type": next((kind for kind in TYPES if kind in known), "none"),
        "outcome": f"{state.session.verdict or state.session.status}: {went}",
        "failure_pattern": pattern,
        "root_cause": next((line for line, _ in errors.most_common(1)), "none"),
        "prevention": f"make these explicit first: {', '.join(low)}",
    }
    return [row]


def error_line(error: str) -> str:
    """The line by which an error is known again, or empty where nothing was told."""
    from ..evidence import signature  # its patterns are only paid for where something failed

    line = prose.line(signature.line_of(error), PROPOSED)
    return "" if line == "no error given" else line


# -- showing


def told(row: dict) -> str:
    """`[failure] context: what to do`, one line of a row as it is proposed."""
    entry = learned.entry(row, "")
    assert entry is not None
    text = entry.text
    if row["kind"] == learned.FAILURE:
        text = f"{prose.untagged(str(row.get('failure')))} → {text}"
    if row["kind"] == learned.DELEGATION:
        text = f"{prose.untagged(str(row.get('outcome')))}; next time: {text}"
    title = prose.clean(entry.title, learned.TITLE)
    return f"[{entry.kind}] {title}: {prose.clean(text, learned.TEXT)}"


def summary(state: LoopState, events: Iterable[Event], masked: Callable[[str], str]) -> list[str]:
    """Proposals with the numbers of `loopkit learn`, and how to keep them; empty where none."""
    rows = [prose.clean(told(row), PROPOSED) for row in proposed(state, events, masked)]
    if not rows:
        return []
    more = f" ({len(rows) - LISTED} more)" if len(rows) > LISTED else ""
    return [
        "learnt in this loop, not kept yet:",
        *(f"  {number}. {text}" for number, text in enumerate(rows[:LISTED], 1)),
        f"the person decides what is kept: skill hope:learn, loopkit learn{more}",
    ]
