"""What a loop has shown, for its card and its report: each criterion and mustNot with how it is
known, what is open, what was replaced, what changed, what people decided."""

from __future__ import annotations

from collections import namedtuple

from ..evidence import changes, trials
from ..journal import prose, verdict
from ..journal.parts import BEFORE_WORK, GREEN, NOT_TRIED, RED, WITHOUT_WORK, Criterion, Finding
from ..journal.state import LoopState
from . import gate, review, shown

#: mark: FULL, PART or NOT · id, text: of the criterion or mustNot · how: how it is known.
Row = namedtuple("Row", "mark id text how")
FULL, PART, NOT = "✓", "~", "✗"
#: How a mustNot is told, of which the text says what must not happen.
NEVER = "never: "
_BEFORE = {RED: "failed before", GREEN: "passed before", NOT_TRIED: "not tried before"}
_WITHOUT = {RED: "fails", GREEN: "passes", NOT_TRIED: "not tried"}


def rows(state: LoopState) -> list[Row]:
    """Each criterion, then each mustNot."""
    order = sorted(state.criteria.values(), key=lambda one: one.must_not)
    return [(_never if one.must_not else _criterion)(state, one) for one in order]


def _criterion(state: LoopState, one: Criterion) -> Row:
    seen = state.criterion_evidence.get(one.id)
    if not one.command:
        answers = (state.gate or {}).get("criteria") or {}
        said = str(answers.get(one.id) or "nobody has answered")
        mark = PART if said[:4].upper() == "PASS" else NOT
        return Row(mark, one.id, one.text, f"{one.type}: {said}")
    if seen is None or not seen.passed:
        how = "does not pass" if seen else "was not run"
        return Row(NOT, one.id, one.text, f"{how}: {one.command}")
    if one.keeps:
        return Row(FULL, one.id, one.text, f"kept: {one.command}{_said(seen.said)}")
    results = [trials.of(state, one.id, when) for when in (BEFORE_WORK, WITHOUT_WORK)]
    before, without = [row.result if row else NOT_TRIED for row in results]
    mark = FULL if before == without == RED else PART
    how = f"{_BEFORE[before]} · passes · {_WITHOUT[without]} without the work"
    return Row(mark, one.id, one.text, how)


def _never(state: LoopState, one: Criterion) -> Row:
    text = NEVER + one.text
    seen = state.criterion_evidence.get(one.id)
    watched = changes.watched(state, one)
    if one.command and (seen is None or not seen.passed):
        how = "broken" if seen else "was not run"
        return Row(NOT, one.id, text, f"{how}: {one.command}")
    if one.command and seen:
        more = f"; {watched}" if watched else ""
        return Row(FULL, one.id, text, f"kept: {one.command}{_said(seen.said)}{more}")
    if watched:
        kept = watched.startswith("unchanged")
        return Row(FULL if kept else NOT, one.id, text, f"kept: {watched}" if kept else watched)
    answer = shown.answer(state, one.id)
    return Row(FULL if answer.startswith(shown.KEPT) else PART, one.id, text, answer)


def _said(text: str) -> str:
    return f" ({text})" if text else ""


def counted(state: LoopState) -> str:
    """`3 of 3 tasks, 7 of 8 criteria shown, 1 thing open`."""
    criteria = [row for row in rows(state) if not state.criteria[row.id].must_not]
    full, done = sum(row.mark == FULL for row in criteria), state.counts["completed"]
    parts = [f"{done} of {prose.count(len(state.tasks), 'task')}"]
    parts.append(f"{full} of {prose.count(len(criteria), 'criterion', 'criteria')} shown")
    left = len(open_rows(state))
    return ", ".join([*parts, *([f"{prose.count(left, 'thing')} open"] if left else [])])


def open_rows(state: LoopState) -> list[str]:
    """What reviews found and nobody has fixed: `README.md:3: text (warning, technical writer)`."""
    return [finding_line(finding) for finding in review.standing(state)]


def finding_line(finding: Finding) -> str:
    """A finding in a line: where, what, how bad, whose, why it was left."""
    how = finding.resolution or {}
    who = [one.replace("-", " ") for one in finding.experts] or [finding.source.replace("_", " ")]
    notes = [finding.severity.lower(), *who]
    notes += [f"left: {how['text']}"] if how.get("text") else []
    where = f"{finding.place}: " if finding.place else ""
    return f"{where}{finding.issue} ({', '.join(notes)})"


def replaced(state: LoopState) -> list[str]:
    """Proofs and checks that others took the place of, old and new."""
    lines = []
    for row in state.replaced:
        when = " after it failed" if row.failed else ""
        when += f" by the {row.word}" if row.word else ""
        new = row.new or "none"
        lines.append(f"{row.id}'s proof was replaced{when} ({row.why}): {row.old} → {new}")
    for task in state.tasks.values():
        checks = (*task.checks_before, task.verify)
        pairs = zip(checks, checks[1:], strict=False)
        lines += [f"{task.id}'s check was replaced: {old} → {new}" for old, new in pairs]
    return lines


def changed(state: LoopState) -> list[str]:
    """Files that were measured as changed since the start, with lines."""
    return [changes.told(row) for row in state.changes.whole or ()]


def notes(state: LoopState) -> list[str]:
    """What a reader has to know of how it was done and checked, a line each."""
    by_command: dict[str, list[str]] = {}
    for row in state.criteria.values():
        if row.command and not row.must_not:
            by_command.setdefault(row.command, []).append(row.id)
    several = [(line, names) for line, names in by_command.items() if len(names) > 1]
    rows = [f"one command shows {', '.join(names)}: {line}" for line, names in several]
    rows += [*_idle(state), *filter(None, [trials.silent(state)])]
    rows += [
        f"{name} passes though nothing is left in {functions}: it shows that they are there"
        for name, functions in trials.thin(state).items()
        if not trials.hollow(state)
    ]
    rows += [
        f"paused: {row['reason']}" for row in state.pauses if row["verdict"] == verdict.BREACHED
    ]
    done = state.changes
    if done.session:
        rows.append(f"the session wrote itself, no agent: {', '.join(done.session)}")
    if done.unanswered:
        rows.append(f"no coder answered for {', '.join(done.unanswered)}")
    return [*changes.notes(state), *rows]


def _idle(state: LoopState) -> list[str]:
    """Tasks that are called done for what others did: of which nothing that they name has changed;
    which one check completed."""
    by_check: dict[str, list[str]] = {}
    rows = []
    changed = [path for row in state.changes.whole or () for path in changes.paths(row)]
    for task in state.tasks.values():
        by_check.setdefault(task.verify, []).append(task.id)
        if task.files and changed and not any(changes.named(one, task.files) for one in changed):
            rows.append(f"nothing has changed that {task.id} names: {', '.join(task.files)}")
    return rows + [
        f"one check completed {', '.join(names)}: {line}"
        for line, names in by_check.items()
        if line and len(names) > 1
    ]


def doubts(state: LoopState) -> list[str]:
    """Why it is not fit to ship, and answers by hand."""
    return [*gate.doubts(state), *gate.by_hand(state)]


def decided(state: LoopState) -> list[str]:
    """Pauses and breaches, and what people said."""
    lines = []
    for row in state.pauses:
        name = str(row["verdict"] or "").replace("_", " ")
        lines.append(f"paused{f' ({name})' if name else ''}: {row['reason'] or verdict.BY_HAND}")
    if state.overruled:
        lines.append(f"the person let a vague request pass: {state.overruled}")
    for row in state.supervision.questions:
        if row["answer"]:
            lines.append(f"asked: {row['question']} — the person: {row['answer']}")
    for finding in state.findings.values():
        how = finding.resolution or {}
        if how.get("how") in ("waive", "skip", "discuss", "approve"):
            lines.append(f"{finding.id} {how['how']}: {how.get('text') or finding.issue}")
    return lines
