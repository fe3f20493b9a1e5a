"""report.md: what was asked, what was done, how it is known, which decisions were kept (rule:
Files, report.md)."""

from __future__ import annotations

from ..core.journal import pricing, prose, verdict
from ..core.journal import task as tasks
from ..core.journal.state import LoopState
from ..core.memory import decisions
from ..core.plan import outline
from ..core.review import review
from ..core.steps import supervision
from . import text
from .words import line, more

#: Rows of a table or list at the most, characters of a cell.
MOST, LONGEST = 400, 200


def render(state: LoopState) -> str:
    """The whole file; bounded whatever anything is called."""
    return text(
        "report.md",
        title=line(state.text, 120),
        goal=line((state.clarified or {}).get("echo") or state.text, 600),
        done=_listed(_items(state, True)),
        open=_listed(_items(state, False)),
        proofs=_listed(_proofs(state)),
        reviews=_listed(_reviews(state)),
        adherence=adherence(state)[:MOST],
        lessons=_listed([line(decisions.line(one, 400), 400) for one in state.trail.anti_patterns]),
        summary=_summary(state),
    )


def _listed(rows: list[str]) -> list[str]:
    return [*rows[:MOST], more(len(rows) - MOST)] if len(rows) > MOST else rows


def _items(state: LoopState, done: bool) -> list[str]:
    rows = []
    for task in state.tasks.values():
        if (task.status == tasks.COMPLETED) == done:
            tried = f", {prose.count(task.attempts, 'failed attempt')}" if task.attempts else ""
            if task.checks_before:
                tried += f", another check before: `{line(task.checks_before[-1], 200)}`"
            note = "" if done else f" · {task.block_kind or task.status}"
            rows.append(
                f"{outline.number(state, task.id)} {line(task.subject, LONGEST)} "
                f"({task.id}{tried}){note}"
            )
    return rows


def _proofs(state: LoopState) -> list[str]:
    rows = []
    for one in state.criteria.values():
        seen = state.criterion_evidence.get(one.id)
        if seen is not None:
            how = (
                f"{'holds' if seen.passed else 'does not hold'}: `{line(one.command, LONGEST)}` "
                f"exits {seen.exit}"
            )
        elif one.command:
            how = f"not verified: `{line(one.command, LONGEST)}`"
        else:
            said = ((state.gate or {}).get("criteria") or {}).get(one.id)
            how = line(said, LONGEST) if said else "answered for at the gate"
            how = "looked at in the thorough review" if one.must_not and not said else how
        kind = "must not" if one.must_not else one.type or "criterion"
        rows.append(f"{one.id} {line(one.text, LONGEST)} ({kind}): {how}")
    return rows


def _reviews(state: LoopState) -> list[str]:
    rows = []
    for name, judged in (("plan", state.supervised.review), ("goal", state.supervised.goal)):
        if judged is not None and judged.get("score") is not None:
            how = "approved" if judged.get("approved") else "not approved"
            rows.append(f"{name}: {judged['score']} of 100, {how}")
    rows += [f"warning: {line(one, LONGEST)}" for one in supervision.warnings(state)]
    for name, one in state.reviews.items():
        score = "" if one.get("score") is None else f"{one['score']}/10, "
        counts = (
            f"{prose.count(one.get('issues') or 0, 'issue')}, "
            f"{prose.count(one.get('blockers') or 0, 'blocker')}"
        )
        rows.append(f"{name.replace('_', ' ')}: {score}{counts}")
    if state.thorough is not None:
        names = ", ".join(line(one, 60) for one in state.thorough["experts"][:8])
        left = sum(review.unsettled(one, state) for one in state.findings.values())
        rows.append(
            f"thorough, round {state.thorough['round']} ({names}): {prose.count(left, 'finding')} "
            "unsettled"
        )
    return rows


def adherence(state: LoopState) -> list[dict]:
    """{decision, kept, where} of every decision: what the findings that name it, and its own check,
    say."""
    rows = []
    for one in state.decisions:
        number = one.get("number", 0)
        kept, where = _kept(state, number)
        where = where or ", ".join(one.get("files", ())[:6])
        title = f"{number:03d} {one.get('title', '')}"
        rows.append({"decision": _cell(title), "kept": _cell(kept), "where": _cell(where or "–")})
    return rows


def _kept(state: LoopState, number: int) -> tuple[str, str]:
    newer = state.trail.superseded.get(number)
    if newer is not None:
        return f"superseded by {newer:03d}", ""
    against = [one for one in state.findings.values() if number in one.contradicts]
    places = ", ".join(one.place or one.id for one in against[:6])
    left = [one.id for one in against if _stands(state, one)]
    if left and number in state.trail.invalidated:
        return f"no longer holds ({', '.join(left[:6])})", places
    if left:
        return f"no ({', '.join(left[:6])})", places
    waived = [one.id for one in against if (one.resolution or {}).get("how") == "waive"]
    if waived:
        return f"no, the person let {', '.join(waived[:6])} pass", places
    return (
        ("yes, after " + ", ".join(one.id for one in against[:6]), places)
        if against
        else ("yes", "")
    )


def _stands(state: LoopState, finding: object) -> bool:
    """Neither its task is completed nor has anybody settled it."""
    task = state.tasks.get(getattr(finding, "task", None) or "")
    how = (getattr(finding, "resolution", None) or {}).get("how")
    if task is not None:
        return task.status != tasks.COMPLETED and how in (None, "task")
    return how in (None, "task")


def _cell(words: str) -> str:
    return line(words, LONGEST).replace("|", "\\|")


def _summary(state: LoopState) -> list[str]:
    session = state.session
    usd, tokens, unpriced = pricing.cost(session.usage, session.prices)
    money = f"{tokens} tokens" if unpriced else f"${usd:.2f}"
    ended = session.status in verdict.FINAL
    rows = [
        f"{session.status}"
        + (f" ({line(session.verdict, 40)})" if ended and session.verdict else "")
        + (f": {line(session.reason, 600)}" if session.reason and ended else ""),
        f"{state.counts[tasks.COMPLETED]} of {prose.count(len(state.tasks), 'task')} completed in "
        f"{prose.count(len(state.waves), 'wave')}, "
        f"{prose.count(state.attempts, 'failed attempt')}, "
        f"{prose.count(len(state.panels), 'panel')}, {money}",
    ]
    if (state.gate or {}).get("passed"):
        gate = state.gate or {}
        rows.append(
            f"gate: {line(gate.get('card', ''), 40)}, confidence {gate.get('confidence', 0)} %"
        )
        rows += [
            f"{key}: {line(gate[key], LONGEST)}" for key in ("alternative", "risk") if gate.get(key)
        ]
    return rows
