"""Expert reviews: findings, what blocks, when the thorough review has passed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import UsageFault

if TYPE_CHECKING:
    from .state import LoopState

BLOCKER, WARNING, SUGGESTION = "BLOCKER", "WARNING", "SUGGESTION"
SEVERITIES = (BLOCKER, WARNING, SUGGESTION)
LIGHT_EXPERTS, THOROUGH_EXPERTS = (2, 3), (3, 4)
RESOLUTIONS = ("approve", "task", "discuss", "skip", "waive", "unattended")


def findings(rows: object, first: int) -> list[dict]:
    """Checked findings of a review, numbered from `first` on: `F-003`. Raises UsageFault naming the row."""
    if not isinstance(rows, list):
        raise UsageFault("findings is not a list", 'give "findings": [{"severity", "issue", "guidance"}]')
    result = []
    for place, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not str(row.get("issue", "")).strip():
            raise UsageFault(f"finding {place} has no issue", "say what is wrong")
        severity = str(row.get("severity", "")).upper()
        if severity not in SEVERITIES:
            raise UsageFault(f"finding {place} has severity {row.get('severity')!r}", "use " + ", ".join(SEVERITIES))
        result.append(
            {
                "id": f"F-{first + place - 1:03d}",
                "severity": severity,
                "issue": str(row["issue"]).strip(),
                "guidance": str(row.get("guidance", "")).strip(),
                "verify": str(row.get("verify", "")).strip(),
                "files": [str(one) for one in row.get("files") or []],
                "violates": [str(one) for one in row.get("violates") or []],
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
