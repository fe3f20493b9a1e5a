"""report.md: what was asked, what was done, how it is known, which decisions were kept."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.evidence import changes
from ..core.journal import pricing, prose, verdict
from ..core.journal import task as tasks
from ..core.journal.parts import Finding
from ..core.journal.state import LoopState
from ..core.memory import decisions
from ..core.plan import outline
from ..core.review import gate, review, shown
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
        findings=first(_findings(state), MOST),
        adherence=adherence(state)[:MOST],
        lessons=first(lessons, MOST),
        summary=_summary(state),
    )


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


#: What a check that passes says, and one that fails.
_SHOWN, _KEPT = ("shown", "not shown"), ("kept", "broken")


def _proofs(state: LoopState) -> list[str]:
    rows = []
    for criterion in state.criteria.values():
        seen = state.criterion_evidence.get(criterion.id)
        command = f"`{line(criterion.command, LONGEST)}`"
        if seen is not None:
            words = _KEPT if criterion.must_not else _SHOWN
            how = f"{words[not seen.passed]}: {command} exits {seen.exit}"
        elif criterion.command:
            how = f"not verified: {command}"
        else:
            answers = (state.gate or {}).get("criteria") or {}
            how = line(answers.get(criterion.id) or "", LONGEST)
            watched = changes.watched(state, criterion) if criterion.must_not else ""
            seen_by = shown.answer(state, criterion.id) if criterion.must_not else ""
            how = how or line(watched or seen_by, LONGEST) or "answered for at the gate"
        kind = "must not" if criterion.must_not else criterion.type or "criterion"
        rows.append(f"{criterion.id} {line(criterion.text, LONGEST)} ({kind}): {how}")
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
    rows += [*gate.doubts(state), *gate.by_hand(state)]
    if state.thorough is not None:
        names = ", ".join(line(expert, 60) for expert in state.thorough["experts"][:8])
        left = sum(review.unsettled(finding, state) for finding in state.findings.values())
        number, findings = state.thorough["round"], prose.count(left, "finding")
        rows.append(f"thorough, round {number} ({names}): {findings} unsettled")
    return rows


def _findings(state: LoopState) -> list[str]:
    """What reviews found and nobody has fixed: `F-002 WARNING README.md:3: text (writer; why)`."""
    rows = []
    for finding in review.standing(state):
        resolution = finding.resolution or {}
        notes = [", ".join(finding.experts) or finding.source.replace("_", " ")]
        notes += [f"left: {resolution['text']}"] if resolution.get("text") else []
        place = f" {finding.place}" if finding.place else ""
        words = f"{finding.id} {finding.severity}{place}: {finding.issue} ({'; '.join(notes)})"
        rows.append(line(words, 2 * LONGEST))
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
    usd, tokens, unpriced = pricing.cost(session.usage, session.prices)
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
