"""Expert reviews: findings, what blocks, when the thorough review has passed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import announce
from .errors import Refused, UsageFault

if TYPE_CHECKING:
    from .state import LoopState

BLOCKER, WARNING, SUGGESTION = "BLOCKER", "WARNING", "SUGGESTION"
SEVERITIES = (BLOCKER, WARNING, SUGGESTION)
LIGHT_EXPERTS, THOROUGH_EXPERTS = (2, 3), (3, 4)


def findings(rows: object, first: int) -> list[dict]:
    """Checked findings of a review, numbered from `first` on: `F-003`. Raises UsageFault naming the row."""
    from . import work

    if not isinstance(rows, list):
        raise UsageFault("findings is not a list", "each finding begins with `- severity:`")
    result = []
    for place, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not str(row.get("issue") or "").strip():
            raise UsageFault(f"finding {place} has no issue", "say what is wrong")
        severity = str(row.get("severity", "")).upper()
        if severity not in SEVERITIES:
            raise UsageFault(f"finding {place} has severity {row.get('severity')!r}", "use " + ", ".join(SEVERITIES))
        result.append(
            {
                "id": f"F-{first + place - 1:03d}",
                "severity": severity,
                "issue": str(row["issue"]).strip(),
                "guidance": str(row.get("guidance") or "").strip(),
                "verify": str(row.get("verify") or "").strip(),
                "files": work.paths(row.get("files"), f"finding {place}"),
                "violates": work.texts(row.get("violates"), f"violates of finding {place}"),
            }
        )
    return result


def blockers_left(state: LoopState) -> int:
    """Blockers of the thorough review that neither a completed task nor a waiver has settled."""
    from .nextstep import unsettled

    return sum(one.severity == BLOCKER and unsettled(one, state) for one in state.findings.values())


def passed(state: LoopState) -> bool:
    """The thorough review has been held on this state of the work, with no blocker left and every warning settled."""
    from .nextstep import needs_new_round, unsettled

    if state.thorough is None or needs_new_round(state):
        return False
    return not any(unsettled(one, state) for one in state.findings.values())


def summary(state: LoopState) -> dict:
    """`reviews` of the snapshot: `wave_N {score, issues, blockers}` and `thorough {passed, blockers_remaining, …}`."""
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
    """`review --wave N`: recorded, never blocks. `given`: score, experts, and findings or the two counts."""
    from . import intake

    intake.running(state)
    closed = [one.number for one in state.waves if one.closed]
    if wave not in closed:
        raise Refused(f"wave {wave} is not closed", f"closed waves: {', '.join(map(str, closed)) or 'none'}")
    rows = findings(given.get("findings") or [], len(state.findings) + 1)
    issues = _count(given, "issues", sum(row["severity"] != BLOCKER for row in rows))
    blockers = _count(given, "blockers", sum(row["severity"] == BLOCKER for row in rows))
    data = {
        "wave": wave,
        "score": _score(given.get("score")),
        "issues": issues,
        "blockers": blockers,
        "experts": _experts(given, LIGHT_EXPERTS),
        "findings": rows,
    }
    return [("review_light", data)]


def _count(given: dict, key: str, found: int) -> int:
    value = given.get(key)
    if value is None:
        return found
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UsageFault(f"{key} is {value!r}", "give a whole number from 0 on")
    return value


def _score(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 10:
        raise UsageFault(f"score is {value!r}", "give a whole number from 0 to 10")
    return value


def _experts(given: dict, bounds: tuple) -> list:
    names = given.get("experts") or []
    if not isinstance(names, list) or not all(isinstance(one, str) and one.strip() for one in names):
        raise UsageFault("experts is not a list of names", f"give experts: with {bounds[0]} to {bounds[1]} names")
    if not bounds[0] <= len(set(names)) <= bounds[1]:
        raise Refused(
            announce.count(len(set(names)), "expert"),
            f"{bounds[0]} to {bounds[1]} look at it, each with a view of its own",
        )
    return names


def thorough(state: LoopState, given: dict) -> list:
    """`review --thorough`: blockers become remediation tasks and lead back to waves; warnings wait for an answer.

    A blocker needs a `verify` command for its task. Guidance that would break a mustNot is refused.
    """
    from . import command, intake, stage, work

    intake.running(state)
    if state.stage == stage.EXECUTING:
        stage.check_leave_executing(state)
    else:
        stage.require(state, stage.REVIEW, doing="the thorough review")
    experts = _experts(given, THOROUGH_EXPERTS)
    if "findings" not in given:
        raise UsageFault("findings is missing", "give findings: [] where there is nothing")
    rows = findings(given["findings"], len(state.findings) + 1)
    known = {one.id for one in state.must_nots}
    changes: list = []
    made = 0
    for row in rows:
        broken = [one for one in row["violates"] if one in known]
        if broken and row["guidance"]:
            raise Refused(
                f"the guidance of {row['issue'][:60]!r} would break {', '.join(broken)}",
                "give an alternative that does not",
            )
        if row["severity"] == BLOCKER:
            if not row["verify"]:
                raise UsageFault(
                    f"blocker {row['issue'][:60]!r} has no verify",
                    'give verify: "<command that exits 0 when it is mended>"',
                )
            command.split(row["verify"])
            change = work.remediation(
                state, f"Mend: {row['issue']}", row["verify"], row["guidance"], row["files"], made
            )
            row["task"] = change[1]["task"]["id"]
            changes.append(change)
            made += 1
        elif row["severity"] == WARNING and state.session.unattended:
            row["resolution"] = {"how": "unattended", "text": "nobody could be asked"}
    number = 1 + (state.thorough or {}).get("round", 0)
    review = ("review_thorough", {"round": number, "experts": experts, "findings": rows})
    if state.stage == stage.EXECUTING:
        changes.insert(0, intake.move(state, stage.REVIEW))
    changes.append(review)
    if made:
        changes.append(("stage_moved", {"from": stage.REVIEW, "to": stage.EXECUTING}))
    return changes


def resolved(state: LoopState, finding_id: str, how: str, text: str, verify: str) -> list:
    """`review resolve`: approve, task, discuss, skip; a blocker only by its task or by the person's waiver."""
    from . import command, intake, stage, work

    intake.running(state)
    finding = state.findings.get(finding_id.upper())
    if finding is None:
        raise Refused(f"there is no finding {finding_id[:20]}", "see loopkit review --thorough")
    if finding.severity == BLOCKER and how != "waive":
        who = f"its task {finding.task} settles it, or the person" if finding.task else "only the person settles it"
        raise Refused(f"{finding.id} is a blocker", f'{who}: loopkit review resolve {finding.id} --waive "<why>"')
    if how == "waive" and not text.strip():
        raise Refused("no reason given", f'loopkit review resolve {finding.id} --waive "<why>"')
    data = {"id": finding.id, "how": how, "text": text}
    if how != "task":
        return [("finding_resolved", data)]
    if not verify:
        raise UsageFault(
            "a task needs a verification command", f'loopkit review resolve {finding.id} --task --verify "<command>"'
        )
    command.split(verify)
    change = work.remediation(state, f"Mend: {finding.issue}", verify, finding.guidance, [], 0)
    changes = [change, ("finding_resolved", {**data, "task": change[1]["task"]["id"]})]
    if state.stage == stage.REVIEW:
        changes.append(intake.move(state, stage.EXECUTING))
    return changes
