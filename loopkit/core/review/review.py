"""Expert reviews: findings, what blocks, when the thorough review has passed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..evidence import command
from ..journal import prose, stage, stages, verdict
from ..journal import task as tasks
from ..journal.errors import Refused, UsageFault
from ..memory import decisions
from ..plan import work
from . import convergence

if TYPE_CHECKING:
    from ..journal.parts import Finding
    from ..journal.state import LoopState

BLOCKER, WARNING, SUGGESTION = "BLOCKER", "WARNING", "SUGGESTION"
SEVERITIES = (BLOCKER, WARNING, SUGGESTION)
LIGHT_EXPERTS, THOROUGH_EXPERTS = (2, 3), (3, 4)


#: What findings are about; one that does not say is `other`.
CATEGORIES = (
    *("security", "performance", "tests", "docs", "naming", "style", "structure"),
    *("dependencies", "correctness", convergence.OTHER),
)
#: A file with a line, or a file; compiled where it is first looked for, since most commands never
#: do.
_PLACE = (
    r"(?<![\w/:.-])((?:[\w.-]+/)*[\w.-]*\w\.[A-Za-z]\w{0,9}|(?:[\w.-]+/)+[\w.-]+):(\d+)(?!\w)"
    r"|(?<![\w/:.-])((?:[\w.-]+/)+[\w-]+\.[A-Za-z]\w{0,9}|[\w-]+\.(?:py|md|js|jsx|ts|tsx|go|rs"
    r"|java|kt|rb|php|cs|c|h|cpp|sql|toml"
    r"|ya?ml|json|cfg|ini|sh|html|css|txt))(?![\w/])"
)


def place_in(text: str) -> str:
    """The first `file:line`, else the first file, that a text names; "" where it names none."""
    found = sorted(re.finditer(_PLACE, text), key=lambda one: one[2] is None)
    return "" if not found else f"{found[0][1]}:{found[0][2]}" if found[0][2] else found[0][3]


def findings(state: LoopState, rows: list[dict]) -> list[dict]:
    """Findings of a review with what the loop knows, numbered after those there are: `F-003`.

    Raises Refused for guidance that would break a mustNot, and for a criterion, mustNot, decision
    or finding that does not exist.
    """
    return [_finding(state, row, number) for number, row in enumerate(rows, 1)]


def _finding(state: LoopState, row: dict, number: int) -> dict:
    what, severity = f"finding {number}", row["severity"]
    texts = {name: row.get(name) or "" for name in ("issue", "reason", "guidance", "verify")}
    breaks = _known(state, row.get("breaks", ()), f"breaks of {what}")
    if severity != BLOCKER and any(state.criteria[name].must_not for name in breaks):
        raise Refused(
            f"{what} says that {', '.join(breaks)} is broken, as {severity}",
            "a broken mustNot is a BLOCKER",
        )
    files = list(row.get("files", ()))
    place = row.get("place") or place_in(texts["issue"]) or (files[0] if len(files) == 1 else "")
    against = list(row.get("contradicts", ()))
    decisions.check_contradicted(state, against, severity, what)
    finding: dict = {
        "id": f"F-{len(state.findings) + number:03d}",
        "severity": severity,
        **texts,
        "place": prose.clean(place, 200),
        "category": row.get("category") or convergence.OTHER,
        "breaks": breaks,
        "files": files,
        "violates": _known(state, row.get("violates") or (), f"violates of {what}", must_not=True),
        **({"contradicts": against} if against else {}),
    }
    for name in ("reverses", "repeats"):
        if row.get(name):
            finding[name] = _earlier(state, row[name], f"{name} of {what}")
    reversed_ = finding.get("reverses")
    if reversed_ and not convergence.fixed(state, state.findings[reversed_]):
        raise Refused(f"reverses of {what}: {reversed_} has not been fixed", "leave reverses out")
    return {**finding, **_allowed(finding, row.get("alternative") or "")}


def _known(state: LoopState, names: Iterable[str], what: str, must_not: bool = False) -> list[str]:
    known = [name for name, one in state.criteria.items() if one.must_not or not must_not]
    for name in names:
        if name not in known:
            raise Refused(
                f"{what}: there is no {name[:20]}", f"SHAPE.md has: {', '.join(known) or 'none'}"
            )
    return list(names)


def _earlier(state: LoopState, name: str, what: str) -> str:
    """The id of an earlier finding, "" for `none`."""
    if name.lower() == "none":
        return ""
    if name.upper() not in state.findings:
        raise Refused(f"{what}: there is no {name[:20]}", f"there are: {_listed(state.findings)}")
    return name.upper()


def _allowed(finding: dict, alternative: str) -> dict:
    """The constraint check: guidance that would break a mustNot is replaced by the alternative, or
    refused."""
    guidance, broken = finding["guidance"], finding["violates"]
    if not broken or not guidance:
        return {"guidance": guidance or alternative}
    if not alternative or alternative == guidance:
        raise Refused(
            f"the guidance of {finding['issue'][:60]!r} would break {', '.join(broken)}",
            "give an alternative: that does not",
        )
    return {"guidance": alternative, "replaced": guidance}


def _listed(names: Iterable[str], most: int = 12) -> str:
    rows = list(names)
    return (", ".join(rows[-most:]) or "none") + (
        f" and {len(rows) - most} before" if len(rows) > most else ""
    )


def needs_new_round(state: LoopState) -> bool:
    """A remediation task was completed after the last thorough review: it has to be repeated."""
    return state.thorough is not None and state.last_completion > state.thorough["line"]


def unsettled(finding: Finding, state: LoopState) -> bool:
    """A finding that still keeps the gate shut: of the thorough review, of a decision that no
    longer holds, or of any review if it says that a mustNot has come true."""
    how = (finding.resolution or {}).get("how")
    if (
        how
        and not (how == "task" and finding.severity == "BLOCKER")
        or finding.severity == "SUGGESTION"
    ):
        return False
    if finding.source not in ("thorough", "decision") and not any(
        one.id in finding.breaks for one in state.must_nots
    ):
        return False
    task = state.tasks.get(finding.task or "")
    return task is None or task.status != tasks.COMPLETED


def blockers_left(state: LoopState) -> int:
    """Blockers of the thorough review that neither a completed task nor a waiver has settled."""
    return sum(one.severity == BLOCKER and unsettled(one, state) for one in state.findings.values())


def passed(state: LoopState) -> bool:
    """The thorough review has been held on this state of the work, with no blocker left and every
    warning settled."""
    if state.thorough is None or needs_new_round(state):
        return False
    return not any(unsettled(one, state) for one in state.findings.values())


def summary(state: LoopState) -> dict:
    """`reviews` of the snapshot: `wave_N {score, issues, blockers}` and `thorough {passed,
    blockers_remaining, …}`."""
    rows = dict(state.reviews)
    if state.thorough is not None:
        rows["thorough"] = {
            "passed": passed(state),
            "blockers_remaining": blockers_left(state),
            "findings_total": sum(one.source == "thorough" for one in state.findings.values()),
            "experts": state.thorough["experts"],
            "timestamp": state.thorough["timestamp"],
        }
    return rows


def light(state: LoopState, wave: int, given: dict) -> list:
    """`review --wave N`: recorded, never blocks. `given`: score, experts, and findings or the two
    counts."""

    stage.running(state)
    closed = [one.number for one in state.waves if one.closed]
    if wave not in closed:
        raise Refused(
            f"wave {wave} is not closed", f"closed waves: {', '.join(map(str, closed)) or 'none'}"
        )
    rows = findings(state, given["findings"])
    blocking = sum(row["severity"] == BLOCKER for row in rows)
    issues, blockers = given.get("issues"), given.get("blockers")
    data = {
        "wave": wave,
        "score": given["score"],
        "issues": len(rows) - blocking if issues is None else issues,
        "blockers": blocking if blockers is None else blockers,
        "experts": _experts(state, given, LIGHT_EXPERTS),
        "findings": rows,
    }
    return [("review_light", data), *decisions.lessons(state, rows, "review"), *breach(state, rows)]


def breach(state: LoopState, rows: list[dict]) -> list:
    """The pause that follows at once where a finding says that a mustNot has come true."""
    for row in rows:
        for name in row["breaks"]:
            if state.criteria[name].must_not:
                where = f" ({row['place']})" if row["place"] else ""
                reason = (
                    f"{name} has come true: {state.criteria[name].text}; {row['id']}{where}: "
                    f"{row['issue'][:300]}"
                )
                return [("paused", {"verdict": verdict.BREACHED, "reason": reason})]
    return []


def _experts(state: LoopState, given: dict, bounds: tuple) -> list:
    names = given["experts"]
    blocked = sorted(set(names) & set(state.settings.get("blocklist") or ()))
    if blocked:
        raise Refused(
            f"{blocked[0]} is on the blocklist", "ask another: loopkit review --thorough names some"
        )
    if not bounds[0] <= len(set(names)) <= bounds[1]:
        raise Refused(
            prose.count(len(set(names)), "expert"),
            f"{bounds[0]} to {bounds[1]} look at it, each with a view of its own",
        )
    return names


def check_due(state: LoopState) -> None:
    """Raises Refused unless the thorough review may be held now: every task completed, the last
    wave closed."""

    stage.running(state)
    if state.stage == stages.EXECUTING:
        stage.check_leave_executing(state)
    else:
        stage.require(state, stages.REVIEW, doing="the thorough review")


def asked(state: LoopState, experts: list[str]) -> list:
    """`review --thorough` without a file: whom it is given to. No line while those who were asked
    may be at work."""
    check_due(state)
    return [] if at_work(state) else [("review_asked", {"experts": experts})]


def at_work(state: LoopState) -> bool:
    """The thorough review is with its experts, or their reports are with the session: nobody has to
    be asked again.

    After a hold nobody is at work any more, yet whoever has reported by then need not look twice.
    """
    if state.asked is None:
        return False
    line = state.asked["line"]
    done = line < max((state.thorough or {}).get("line", 0), state.last_completion)
    return not done and (line > state.idle_at or not still_out(state))


def still_out(state: LoopState) -> int:
    """How many of those who were asked have not reported."""
    if state.asked is None:
        return 0
    return max(
        0, len(state.asked["experts"]) - (len(state.session.subagents) - state.asked["reported"])
    )


def thorough(state: LoopState, given: dict, size: int = 0) -> list:
    """`review --thorough`: blockers become remediation tasks and lead back to waves; warnings wait
    for an answer.

    size: bytes of SHAPE.md and the tasks' files now, 0 where unknown. A blocker needs a `verify`
    command for its task. What goes round in circles is decided instead; a mustNot that has come
    true pauses the loop after all is recorded.
    """
    check_due(state)
    experts = _experts(state, given, THOROUGH_EXPERTS)
    rows, score = findings(state, given["findings"]), given.get("score")
    changes: list = convergence.settle(state, rows, size, score)
    made = 0
    for row in rows:
        if "resolution" in row:
            continue
        if row["severity"] == BLOCKER:
            if not row["verify"]:
                raise UsageFault(
                    f"blocker {row['issue'][:60]!r} has no verify",
                    'give verify: "<command that exits 0 when it is fixed>"',
                )
            change = work.remediation(
                state, f"Fix: {row['issue']}", row["verify"], _told(row), row["files"], made
            )
            row["task"] = change[1]["task"]["id"]
            changes.append(change)
            made += 1
        elif row["severity"] == WARNING and state.session.unattended:
            row["resolution"] = {"how": "unattended", "text": "nobody could be asked"}
    number = 1 + (state.thorough or {}).get("round", 0)
    review = (
        "review_thorough",
        {"round": number, "experts": experts, "size": size, "score": score, "findings": rows},
    )
    if state.stage == stages.EXECUTING:
        changes.insert(0, stage.move(state, stages.REVIEW))
    decided = sum(kind == "decision_recorded" for kind, _ in changes)
    changes += [review, *decisions.lessons(state, rows, "review", decided)]
    if made:
        changes.append(("stage_moved", {"from": stages.REVIEW, "to": stages.EXECUTING}))
    return changes + breach(state, rows)


def _told(row: dict) -> str:
    """What the one who fixes a finding has to know."""
    parts = (
        row["guidance"],
        row["reason"] and f"why: {row['reason']}",
        row["place"] and f"where: {row['place']}",
    )
    return "\n".join(part for part in parts if part)


def resolved(
    state: LoopState, finding_id: str | Sequence[str], how: str, text: str, verify: str
) -> list:
    """`review resolve`: approve, task, discuss, skip; a blocker only by its task or by the person's
    waiver.

    finding_id: one id or several; all are settled in the same way, or none is.
    """
    stage.running(state)
    names = (
        [finding_id]
        if isinstance(finding_id, str)
        else list(dict.fromkeys(one.upper() for one in finding_id))
    )
    chosen = [_settleable(state, name, how, text) for name in names]
    if how != "task":
        return [("finding_resolved", {"id": one.id, "how": how, "text": text}) for one in chosen]
    if not verify:
        raise UsageFault(
            "a task needs a verification command",
            f'loopkit review resolve {chosen[0].id} --task --verify "<command>"',
        )
    command.accept(verify)
    changes: list = []
    for place, one in enumerate(chosen):
        change = work.remediation(
            state, f"Fix: {one.issue}", verify, _told(one._asdict()), list(one.files), place
        )
        task_id = change[1]["task"]["id"]
        changes += [
            change,
            ("finding_resolved", {"id": one.id, "how": how, "text": text, "task": task_id}),
        ]
    if state.stage == stages.REVIEW:
        changes.append(stage.move(state, stages.EXECUTING))
    return changes


def _settleable(state: LoopState, name: str, how: str, text: str) -> Finding:
    finding = state.findings.get(name.upper())
    if finding is None:
        left = [one.id for one in state.findings.values() if unsettled(one, state)]
        raise Refused(f"there is no finding {name[:20]}", f"unsettled: {_listed(left)}")
    if finding.severity == BLOCKER and how != "waive" and not (how == "task" and not finding.task):
        who = (
            f"its task {finding.task} settles it, or the person"
            if finding.task
            else "a task of its own (--task), or the person"
        )
        raise Refused(
            f"{finding.id} is a blocker",
            f'{who}: loopkit review resolve {finding.id} --waive "<why>"',
        )
    if how == "waive" and not text.strip():
        raise Refused("no reason given", f'loopkit review resolve {finding.id} --waive "<why>"')
    return finding
