"""report.md: what was asked, what was done, how it is known, which decisions were kept."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.journal import prose, verdict
from ..core.journal import task as tasks
from ..core.journal.parts import Finding
from ..core.journal.state import LoopState
from ..core.memory import decisions
from ..core.plan import outline
from ..core.review import result, review
from ..core.steps import supervision
from . import first, line, text

#: Most rows of a table or list, characters of a cell.
MOST, LONGEST = 400, 200


def render(state: LoopState) -> str:
    """The whole file; bounded whatever anything is called."""
    lessons = [line(decisions.line(row, 400), 400) for row in state.decision_log.anti_patterns]
    return text(
        "report.md",
        title=line(state.text, 120),
        goal=line((state.clarified or {}).get("echo") or state.text, 600),
        done=first(_items(state, True), MOST),
        open=first(_items(state, False), MOST),
        proofs=first(_proofs(state), MOST),
        reviews=first(_reviews(state), MOST),
        sections=[
            ("Changed", _bounded(result.changed(state))),
            ("Ignored files that changed", _bounded(state.changes.ignored)),
            ("Found in reviews, still open", _bounded(result.open_rows(state))),
            ("Why it is not simply done", _bounded(result.doubts(state))),
            ("Proofs and checks that were replaced", _bounded(result.replaced(state))),
            ("How it was done and checked", _bounded(result.notes(state))),
            ("Pauses, and what people decided", _bounded(result.decided(state))),
        ],
        adherence=adherence(state)[:MOST],
        lessons=first(lessons, MOST),
        summary=_summary(state),
    )


def _bounded(rows: list[str]) -> list[str]:
    return first([line(row, 2 * LONGEST) for row in rows], MOST)


def _items(state: LoopState, done: bool) -> list[str]:
    rows = []
    for task in state.tasks.values():
        if (task.status == tasks.COMPLETED) == done:
            tried = f", {prose.count(task.attempts, 'failed attempt')}" if task.attempts else ""
            if task.checks_before:
                tried += f", another check before: `{line(task.checks_before[-1], 200)}`"
            note = "" if done else f" · {task.block_kind or task.status}"
            number = outline.number(state, task.id)
            rows.append(f"{number} {line(task.subject, LONGEST)} ({task.id}{tried}){note}")
    return rows


def _proofs(state: LoopState) -> list[str]:
    """Each criterion and mustNot, its command, and how it is known."""
    rows = []
    for row in result.rows(state):
        one = state.criteria[row.id]
        how = line(row.how, LONGEST)
        if one.command and one.command not in row.how:
            how = f"`{line(one.command, LONGEST)}` {how}"
        rows.append(f"{row.mark} {row.id} {line(row.text, LONGEST)}: {how}")
    return rows


def _reviews(state: LoopState) -> list[str]:
    rows = []
    for name, judged in (("plan", state.supervision.review), ("goal", state.supervision.goal)):
        if judged is not None and judged.get("score") is not None:
            how = "approved" if judged.get("approved") else "not approved"
            rows.append(f"{name}: {judged['score']} of 100, {how}")
    rows += [f"warning: {line(warning, LONGEST)}" for warning in supervision.warnings(state)]
    for name, row in state.reviews.items():
        score = "" if row.get("score") is None else f"{row['score']}/10, "
        issues = prose.count(row.get("issues") or 0, "issue")
        blockers = prose.count(row.get("blockers") or 0, "blocker")
        rows.append(f"{name.replace('_', ' ')}: {score}{issues}, {blockers}")
    if state.thorough is not None:
        names = ", ".join(line(expert, 60) for expert in state.thorough["experts"][:8])
        left = sum(review.unsettled(finding, state) for finding in state.findings.values())
        number, findings = state.thorough["round"], prose.count(left, "finding")
        rows.append(f"thorough, round {number} ({names}): {findings} unsettled")
    return rows


def adherence(state: LoopState) -> list[dict]:
    """{decision, kept, where} of every decision, by the findings that name it and its own check."""
    rows = []
    for row in state.decisions:
        number = row.get("number", 0)
        kept, where = _kept(state, number)
        where = where or ", ".join(row.get("files", ())[:6])
        title = f"{number:03d} {row.get('title', '')}"
        rows.append({"decision": _cell(title), "kept": _cell(kept), "where": _cell(where or "–")})
    return rows


def _kept(state: LoopState, number: int) -> tuple[str, str]:
    newer = state.decision_log.superseded.get(number)
    if newer is not None:
        return f"superseded by {newer:03d}", ""
    against = [row for row in state.findings.values() if number in row.contradicts]
    if not against:
        return ("no finding against it" if state.thorough else "nobody has looked"), ""
    places = ", ".join(finding.place or finding.id for finding in against[:6])
    left = _ids(finding for finding in against if _stands(state, finding))
    waived = _ids(row for row in against if (row.resolution or {}).get("how") == "waive")
    if left and number in state.decision_log.invalidated:
        return f"no longer holds ({left})", places
    if left:
        return f"no ({left})", places
    return f"no, the person let {waived} pass" if waived else f"yes, after {_ids(against)}", places


def _ids(findings: Iterable[Finding]) -> str:
    return ", ".join([finding.id for finding in findings][:6])


def _stands(state: LoopState, finding: Finding) -> bool:
    """Neither its task is completed nor has anybody settled it."""
    task = state.tasks.get(finding.task or "")
    if task is not None and task.status == tasks.COMPLETED:
        return False
    return (finding.resolution or {}).get("how") in (None, "task")


def _cell(words: str) -> str:
    return line(words, LONGEST).replace("|", "\\|")


def _summary(state: LoopState) -> list[str]:
    session = state.session
    usd, tokens, unpriced = session.cost()
    money = f"{tokens} tokens" if unpriced else f"${usd:.2f}"
    rows = [session.status]
    if session.status in verdict.FINAL:
        rows[0] += f" ({line(session.verdict, 40)})" if session.verdict else ""
        rows[0] += f": {line(session.reason, 600)}" if session.reason else ""
    work = prose.count(len(state.tasks), "task")
    waves = prose.count(len(state.waves), "wave")
    failed = prose.count(state.attempts, "failed attempt")
    panels = prose.count(len(state.panels), "panel")
    done = state.counts[tasks.COMPLETED]
    rows.append(f"{done} of {work} completed in {waves}, {failed}, {panels}, {money}")
    gate = state.gate or {}
    if gate.get("passed"):
        card = line(gate.get("card", ""), 40)
        rows.append(f"gate: {card}, confidence {gate.get('confidence', 0)} %")
        keys = [key for key in ("alternative", "risk") if gate.get(key)]
        rows += [f"{key}: {line(gate[key], LONGEST)}" for key in keys]
    return rows
