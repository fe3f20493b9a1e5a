"""Expert reviews: findings, what blocks, when the thorough review has passed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ..evidence import command
from ..journal import prose, stage, verdict
from ..journal import task as tasks
from ..journal.errors import Refused, UsageFault
from ..journal.events import Change
from ..journal.parts import Changed, Finding
from ..journal.state import LoopState
from ..memory import decisions
from ..memory.decisions import listed
from ..plan import drafts, work
from ..request.topics import ranked
from . import convergence, panel, shown

BLOCKER, WARNING, SUGGESTION = "BLOCKER", "WARNING", "SUGGESTION"
SEVERITIES = (BLOCKER, WARNING, SUGGESTION)
LIGHT_EXPERTS, THOROUGH_EXPERTS = (2, 3), (3, 4)
#: What findings are about; one that does not say is `other`.
CATEGORIES = (
    *("security", "performance", "tests", "docs", "naming", "style", "structure"),
    *("dependencies", "correctness", convergence.OTHER),
)
#: A file with a line, or a file; compiled where it is first looked for: most commands never do.
_PLACE = (
    r"(?<![\w/:.-])((?:[\w.-]+/)*[\w.-]*\w\.[A-Za-z]\w{0,9}|(?:[\w.-]+/)+[\w.-]+):(\d+)(?!\w)"
    r"|(?<![\w/:.-])((?:[\w.-]+/)+[\w-]+\.[A-Za-z]\w{0,9}|[\w-]+\.(?:py|md|js|jsx|ts|tsx|go|rs"
    r"|java|kt|rb|php|cs|c|h|cpp|sql|toml"
    r"|ya?ml|json|cfg|ini|sh|html|css|txt))(?![\w/])"
)


#: Changed lines of one file up to which one agent carries all views of a thorough review; changed
#: lines above which each view has an agent of its own.
SMALL, LARGE = 60, 400


def agents_for(rows: Sequence[Changed] | None, views: int) -> int:
    """How many agents carry the views of a thorough review, by what was measured as changed (None:
    nobody knows). A file without lines counts as one."""
    if rows is None:
        return views
    lines = sum((row.added or 0) + (row.removed or 0) or row.added is None for row in rows)
    if len(rows) <= 1 and lines <= SMALL:
        return 1
    return views if lines > LARGE else min(2, views)


def place_in(text: str) -> str:
    """The first `file:line`, else the first file, that a text names; "" where it names none."""
    matches = sorted(re.finditer(_PLACE, text), key=lambda match: match[2] is None)
    first = matches[0] if matches else None
    return "" if first is None else f"{first[1]}:{first[2]}" if first[2] else first[3]


def findings(state: LoopState, rows: list[dict]) -> list[dict]:
    """Findings of a review with what the loop knows, numbered after those there are: `F-003`.
    Raises Refused for guidance that would break a mustNot, and for a name that does not exist."""
    return [_finding(state, row, number) for number, row in enumerate(rows, 1)]


def _finding(state: LoopState, row: dict, number: int) -> dict:
    what, severity = f"finding {number}", row["severity"]
    texts = {name: row.get(name) or "" for name in ("issue", "reason", "guidance", "verify")}
    breaks = _known(state, row.get("breaks", ()), f"breaks of {what}")
    if severity != BLOCKER and any(state.criteria[name].must_not for name in breaks):
        broken = f"{what} says that {', '.join(breaks)} is broken, as {severity}"
        raise Refused(broken, "a broken mustNot is a BLOCKER")
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
        **({"experts": list(row["experts"])} if row.get("experts") else {}),
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
    known = [name for name, row in state.criteria.items() if row.must_not or not must_not]
    for name in names:
        if name not in known:
            todo = f"SHAPE.md has: {', '.join(known) or 'none'}"
            raise Refused(f"{what}: there is no {name[:20]}", todo)
    return list(names)


def _earlier(state: LoopState, name: str, what: str) -> str:
    """The id of an earlier finding, "" for `none`."""
    if name.lower() == "none":
        return ""
    if name.upper() not in state.findings:
        raise Refused(f"{what}: there is no {name[:20]}", f"there are: {listed(state.findings)}")
    return name.upper()


def _allowed(finding: dict, alternative: str) -> dict:
    """The constraint check: guidance that would break a mustNot is replaced, or refused."""
    guidance, broken = finding["guidance"], finding["violates"]
    if not broken or not guidance:
        return {"guidance": guidance or alternative}
    if not alternative or alternative == guidance:
        what = f"the guidance of {finding['issue'][:60]!r} would break {', '.join(broken)}"
        raise Refused(what, "give an alternative: that does not")
    return {"guidance": alternative, "replaced": guidance}


def needs_new_round(state: LoopState) -> bool:
    """After the last thorough review a remediation was completed, or a proof replaced."""
    if state.thorough is None:
        return False
    return state.last_completion > state.thorough["line"] or bool(state.unlooked)


def looks_again(state: LoopState, depth: dict[str, Sequence[str]]) -> list[str]:
    """Who of the experts that have looked does so once more: whose finding was worked on, or whose
    subject the files are that were changed for it; everybody where that is not known. depth:
    {expert: topics that it knows best}."""
    panelists = list((state.thorough or {}).get("panel", ()))
    since = (state.thorough or {}).get("line", 0)
    completed = state.checkpoints.completed
    done = [task for task in state.tasks.values() if completed.get(task.id, 0) > since]
    files = [path for task in done for path in work.files_of(task)]
    for number, rows in state.changes.waves.items():
        if number > (state.thorough or {}).get("wave", 0):
            files += [row.path for row in rows]
    about = set(ranked([], None, files))
    chosen = {name for name in panelists if about.intersection(depth.get(name, ()))}
    known = bool(files) or not done
    for seen in state.shown.values():
        chosen.update(seen.by.split(", ") if seen.word == shown.PARTLY else ())
    for finding in state.findings.values():
        proof = finding.category == shown.PROOF and not state.unlooked.isdisjoint(finding.breaks)
        if proof or finding.task and finding.task in [task.id for task in done]:
            chosen.update(finding.experts)
            known = known and bool(finding.experts)
    if not known:
        return panelists
    return [name for name in panelists if name in chosen] or panelists[:1]


#: How a warning was left that nobody could be asked about; where somebody can be again, they are.
UNASKED = "unattended"


def put_off(state: LoopState) -> list[Change]:
    """Warnings that the person would decide on stay open, since nobody can be asked."""
    rows = [row for row in state.findings.values() if unsettled(row, state)]
    said = {"how": UNASKED, "text": "nobody could be asked"}
    return [("finding_resolved", {"id": row.id, **said}) for row in rows if row.severity != BLOCKER]


def unsettled(finding: Finding, state: LoopState) -> bool:
    """A finding that still keeps the gate shut: of the thorough review, of a decision that no
    longer holds, or of any review if it says that a mustNot is broken."""
    how = (finding.resolution or {}).get("how")
    if how == UNASKED and not state.session.unattended:
        how = None
    to_do = how == "task" and finding.severity == BLOCKER
    if how and not to_do or finding.severity == SUGGESTION or _shown_since(finding, state):
        return False
    broken = any(row.id in finding.breaks for row in state.must_nots)
    if finding.source not in ("thorough", "decision") and not broken:
        return False
    task = state.tasks.get(finding.task or "")
    return task is None or task.status != tasks.COMPLETED


def _shown_since(finding: Finding, state: LoopState) -> bool:
    """It says that a proof does not show its criterion, and the newest look says otherwise."""
    if finding.category != shown.PROOF:
        return False
    return not any(state.shown.get(name, ("",))[0] == shown.NO for name in finding.breaks)


def blockers_left(state: LoopState) -> int:
    """Blockers of the thorough review that neither a completed task nor a waiver has settled."""
    return sum(row.severity == BLOCKER and unsettled(row, state) for row in state.findings.values())


def passed(state: LoopState) -> bool:
    """The thorough review was held on this state of the work, and nothing is unsettled."""
    if state.thorough is None or needs_new_round(state):
        return False
    return not any(unsettled(row, state) for row in state.findings.values())


def summary(state: LoopState) -> dict:
    """`reviews` of the snapshot: `wave_N` and `thorough`, with their figures."""
    rows = dict(state.reviews)
    if state.thorough is not None:
        rows["thorough"] = {
            "passed": passed(state),
            "blockers_remaining": blockers_left(state),
            "findings_total": sum(row.source == "thorough" for row in state.findings.values()),
            "experts": state.thorough["experts"],
            "timestamp": state.thorough["timestamp"],
        }
    return rows


def light(state: LoopState, wave: int, given: dict, printed: Sequence[str] = ()) -> list:
    """`review --wave N`: recorded, never blocks. given: score, findings, experts (all of `printed`
    where none is named), issues and blockers as somebody counts them."""
    stage.running(state)
    closed = [row.number for row in state.waves if row.closed]
    if wave not in closed:
        todo = f"closed waves: {', '.join(map(str, closed)) or 'none'}"
        raise Refused(f"wave {wave} is not closed", todo)
    rows = findings(state, given["findings"])
    blocking = sum(row["severity"] == BLOCKER for row in rows)
    counted = {"issues": len(rows) - blocking, "blockers": blocking}
    for name, count in counted.items():
        if given.get(name) not in (None, count):
            todo = f"submit the words of each: loopkit review --wave {wave} --file -"
            raise Refused(f"{given[name]} {name} are counted, and {count} told", todo)
    experts = _experts(state, given, LIGHT_EXPERTS, printed)
    data = {"wave": wave, "score": given["score"], **counted, "experts": experts}
    review = ("review_light", {**data, "findings": rows})
    return [review, *decisions.lessons(state, rows, "review"), *breach(state, rows)]


def breach(state: LoopState, rows: list[dict]) -> list:
    """The pause that follows at once where a finding says that a mustNot is broken, which nobody
    knew: where its check has failed the loop has stopped for that already."""
    for row in rows:
        for rule in (state.criteria[name] for name in row["breaks"]):
            seen = state.criterion_evidence.get(rule.id)
            if rule.must_not and (seen is None or seen.passed):
                where = f" ({row['place']})" if row["place"] else ""
                reason = f"{rule.id} is broken: {rule.text}; "
                reason += f"{row['id']}{where}: {row['issue'][:300]}"
                return [("paused", {"verdict": verdict.BREACHED, "reason": reason})]
    return []


def _experts(state: LoopState, given: dict, bounds: tuple, printed: Sequence[str]) -> list:
    """Whose views a review has. Raises Refused for one that was not asked."""
    experts = given["experts"] or list(printed)
    names = set(experts)
    for name in sorted(names.intersection(panel.blocklist(state))):
        todo = "ask another: loopkit review --thorough names some"
        raise Refused(f"{name} is on the blocklist", todo)
    strangers = [name for name in experts if printed and name not in printed]
    if strangers:
        todo = f"asked are: {', '.join(printed)}"
        raise Refused(f"{prose.clean(', '.join(strangers), 100)} was not asked", todo)
    least = min(bounds[0], len(printed) or bounds[0])
    if not least <= len(names) <= bounds[1]:
        todo = f"{bounds[0]} to {bounds[1]} look at it, each with a view of its own"
        raise Refused(prose.count(len(names), "expert"), todo)
    return experts


def check_due(state: LoopState) -> None:
    """Raises Refused unless every task is completed and the last wave closed."""
    stage.running(state)
    if state.stage == stage.EXECUTING:
        stage.check_leave_executing(state)
    else:
        stage.require(state, stage.REVIEW, doing="the thorough review")


def asked(state: LoopState, experts: list[str]) -> list:
    """`review --thorough` without a file: whom it is given to, unless they may be at work."""
    check_due(state)
    return [] if at_work(state) else [("review_asked", {"experts": experts})]


def at_work(state: LoopState) -> bool:
    """The thorough review is with its experts, or their reports are with the session. After a hold
    nobody is at work any more, yet whoever has reported by then need not look twice."""
    if state.asked is None or not with_experts(state):
        return False
    return state.asked["line"] > state.idle_at or not still_out(state)


def with_experts(state: LoopState) -> bool:
    """The thorough review was given to its experts and has not been recorded."""
    since = max((state.thorough or {}).get("line", 0), state.last_completion)
    return state.asked is not None and state.asked["line"] >= since


def still_out(state: LoopState) -> int:
    """How many of those who were asked have not reported."""
    if state.asked is None:
        return 0
    reported = len(state.session.subagents) - state.asked["reported"]
    return max(0, len(state.asked["experts"]) - reported)


def thorough(
    state: LoopState,
    given: dict,
    size: int = 0,
    printed: Sequence[str] = (),
    may_run: Callable[[str], bool] = lambda line: False,
) -> list:
    """`review --thorough`: blockers become tasks, warnings wait for an answer.

    size: bytes of SHAPE.md and the tasks' files now, 0 where unknown · printed: the experts that
    were asked · may_run: whether a check may run without asking. A blocker needs a `verify` command
    for its task. What goes round in circles is decided instead; a mustNot that has come true pauses
    the loop after all is recorded.
    """
    check_due(state)
    experts = _experts(state, given, THOROUGH_EXPERTS, printed)
    answers = {field: given[field] for field in (*shown.FIELDS, "seen_by") if given.get(field)}
    for field in shown.FIELDS:
        names = [name for name in answers.get(field, ()) if name != shown.REQUEST]
        _known(state, names, field, must_not=field == "must_nots")
    told = [name for field in shown.FIELDS for name in answers.get(field, ())]
    if told:
        answers.setdefault("seen_by", dict.fromkeys(told, ", ".join(experts)))
    rows = findings(state, [*given["findings"], *shown.findings(state, given)])
    score = given.get("score")
    decided = convergence.settle(state, rows, size, score)
    made: list = []
    for row in (row for row in rows if "resolution" not in row):
        if row["severity"] == WARNING and state.session.unattended:
            small = _is_small(row) and state.thorough is None and may_run(row["verify"])
            text = "small, nobody had to be asked" if small else "nobody could be asked"
            row["resolution"] = {"how": "task" if small else UNASKED, "text": text}
        if _needs_task(state, row):
            change = _remediation(state, row, row["verify"], len(made))
            row["task"] = change[1]["task"]["id"]
            made.append(change)
    number = 1 + (state.thorough or {}).get("round", 0)
    data = {"round": number, "experts": experts, "size": size, "score": score, "findings": rows}
    data |= answers
    changes = [stage.move(state, stage.REVIEW)] if state.stage == stage.EXECUTING else []
    changes += [*decided, *made, ("review_thorough", data)]
    changes += decisions.lessons(state, rows, "review", len(decided))
    if made:
        changes.append(("stage_moved", {"from": stage.REVIEW, "to": stage.EXECUTING}))
    return changes + breach(state, rows)


def _needs_task(state: LoopState, row: dict) -> bool:
    """Whether a task fixes a finding: one that was resolved so, or a blocker, unless no command can
    show it to be fixed: a proof, a mustNot that was broken."""
    if row["severity"] != BLOCKER:
        return row.get("resolution", {}).get("how") == "task"
    if row["verify"] or row["category"] == shown.PROOF:
        return bool(row["verify"])
    if not any(state.criteria[name].must_not for name in row["breaks"]):
        todo = 'give verify: "<command that exits 0 when it is fixed>"'
        raise UsageFault(f"blocker {row['issue'][:60]!r} has no verify", todo)
    return False


def _is_small(row: dict) -> bool:
    """A place and a remedy in one file, and a command that shows that it is done."""
    files = {*row["files"], row["place"].partition(":")[0]} - {""}
    return bool(row["guidance"] and row["verify"]) and len(files) == 1


def standing(state: LoopState) -> list[Finding]:
    """What reviews found and nobody has fixed or called right."""
    rows = []
    for finding in state.findings.values():
        left = (finding.resolution or {}).get("how") in (None, UNASKED, "skip", "waive")
        if left and not convergence.fixed(state, finding) and not _shown_since(finding, state):
            rows.append(finding)
    return rows


def _remediation(state: LoopState, row: dict, verify: str, number: int) -> Change:
    """The task that fixes a finding; it is told what to know."""
    parts = {"": row["guidance"], "why: ": row["reason"], "where: ": row["place"]}
    why = "\n".join(head + text for head, text in parts.items() if text)
    files = list(row["files"])
    return drafts.remediation(state, f"Fix: {row['issue']}", verify, why, files, number)


def resolved(
    state: LoopState, ids: str | Sequence[str], how: str, text: str, verify: str
) -> list[Change]:
    """`review resolve`: approve, task, discuss, skip; a blocker only by its task or by the person's
    waiver. ids: one or several findings; all are settled in the same way, or none is."""
    stage.running(state)
    names = [ids] if isinstance(ids, str) else list(dict.fromkeys(name.upper() for name in ids))
    chosen = [_settleable(state, name, how, text) for name in names]
    if how != "task":
        said = {"how": how, "text": text}
        settled: list[Change] = [("finding_resolved", {"id": row.id, **said}) for row in chosen]
        return settled + (_given_up(state, chosen) if how == "waive" else [])
    if not verify:
        todo = f'loopkit review resolve {chosen[0].id} --task --verify "<command>"'
        raise UsageFault("a task needs a verification command", todo)
    command.accept(verify)
    changes: list[Change] = []
    for number, row in enumerate(chosen):
        change = _remediation(state, row._asdict(), verify, number)
        data = {"id": row.id, "how": how, "text": text, "task": change[1]["task"]["id"]}
        changes += [change, ("finding_resolved", data)]
    if state.stage == stage.REVIEW:
        changes.append(stage.move(state, stage.EXECUTING))
    return changes


def _given_up(state: LoopState, waived: list[Finding]) -> list[Change]:
    """The tasks of waived findings go, with their subtasks; with the last one back to review."""
    gone = [row.task for row in waived if row.task in state.open]
    for task in state.tasks.values():  # subtasks come after what they were split from
        if task.parent in gone and task.id in state.open:
            gone.append(task.id)
    changes: list[Change] = [("task_removed", {"id": name}) for name in reversed(gone)]
    if gone and state.stage == stage.EXECUTING and state.wave is None:
        if not state.open.keys() - set(gone):
            changes.append(stage.move(state, stage.REVIEW))
    return changes


def _settleable(state: LoopState, name: str, how: str, text: str) -> Finding:
    finding = state.findings.get(name.upper())
    if finding is None:
        left = [row.id for row in state.findings.values() if unsettled(row, state)]
        raise Refused(f"there is no finding {name[:20]}", f"unsettled: {listed(left)}")
    waive = f'loopkit review resolve {finding.id} --waive "<why>"'
    if finding.severity == BLOCKER and how != "waive" and (how != "task" or finding.task):
        own = "a task of its own (--task), or the person"
        who = f"its task {finding.task} settles it, or the person" if finding.task else own
        raise Refused(f"{finding.id} is a blocker", f"{who}: {waive}")
    if how == "waive" and not text.strip():
        raise Refused("no reason given", waive)
    return finding
