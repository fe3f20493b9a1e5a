"""May this session stop now? The rows of the Stop hook's table; the first that fits decides."""

from __future__ import annotations

from collections import namedtuple

from ..journal import limits, verdict
from ..journal.session import BESIDE, WAITS
from . import announce

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from ..journal.session import Session

#: row: number in the table · decision: allow or hold · record: data of the journal line to append,
#: or None · text: what Claude reads (hold) or the person reads (allow), "" for silence · notice:
#: what the person reads beside a hold · name: of the notice, where something is said once.
Decision = namedtuple("Decision", "row decision record text notice name", defaults=("", ""))

#: Name of the notice that no money limit can be kept.
NO_PRICE = "no_price"


def first_rows(
    session: Session, snapshot: dict, session_id: str, agents: int, other: str
) -> Decision | None:
    """Rows 2 to 4, which need nothing but the state. None: go on with `last_rows`.

    session: the folded Session · snapshot: the work it belongs to (`snapshot.build`) · agents: at
    work in the background · other: what else runs there, as the client describes it, "" for
    nothing; it lets a stop pass once a hold has said what is waited for.
    """
    row, text, name = None, "", ""
    asking = session.question is not None or snapshot["confirm"] or talks(session)
    if not session_id or session.owner != session_id or session.status != verdict.RUNNING or asking:
        row = 2
    elif session.free:
        row, text, name = 2, announce.waits(snapshot, agents), WAITS
    elif snapshot["waits"] and not snapshot["tasks"]["blocked_on"]:
        row, text, name = 2, announce.to_decide(snapshot), WAITS
    elif agents:
        row = 3
    elif other and session.hold_count and _same(session, snapshot):
        row, text, name = 3, announce.beside(snapshot, other), BESIDE
    elif session.stage == "complete":
        row = 4
    if name in session.notices:
        text = name = ""
    return Decision(row, "allow", None, text, "", name) if row else None


def talks(session: Session) -> bool:
    """The stage in which the request is cleared up is a conversation, if somebody is there."""
    return session.stage == "intent" and not session.unattended


def _same(session: Session, snapshot: dict) -> bool:
    """Nothing has moved since the last hold."""
    return session.hold_fingerprint == snapshot["tasks"]["fingerprint"]


def last_rows(session: Session, snapshot: dict, forced: bool, active: bool, seen: dict) -> Decision:
    """Rows 5 to 9. forced: the client's `stop_hook_active` · active: a tool was used after the last
    hold, by the transcript · seen: what the transcript gave, fields of `iteration_ended`."""
    work = snapshot["tasks"]
    mark = work["fingerprint"]
    record = {"decision": "allow", "fingerprint": mark}
    record.update((key, value) for key, value in seen.items() if value)
    usd, tokens, unpriced = session.cost(seen.get("usage"))
    # iterations are counted where agents are dispatched, in a loop that is driven so
    counted = not session.dispatches
    turn = session.iteration + counted
    most = (session.limit_iterations if counted else None, *session.most[1:])
    seconds = session.spent_seconds + seen.get("worked", 0)
    over = limits.reached(turn, usd, seconds, most)
    if over:
        options = limits.raising(turn, usd, seconds, most)
        return _end(5, record, over[0], over[1], snapshot, options)
    still_open = work["total"] - work["completed"]
    if still_open and not work["workable"] and work["blocked_on"]:
        rows = (f"{row['id']} {row['subject']}: {row['text']}" for row in work["blocked_on"])
        named = "; ".join(rows)
        return _end(6, record, verdict.WAITING, f"only a person can go on: {named}", snapshot)
    if session.hold_count >= session.max_idle_stops and session.hold_fingerprint == mark:
        why = f"{session.hold_count} turns without any progress"
        return _end(7, record, verdict.STALLED, why, snapshot)
    if forced and session.hold_quiet and not active:
        return Decision(8, "allow", None, "")
    record["decision"] = "hold"
    text = announce.hold(snapshot, session, turn, usd, tokens if unpriced else 0)
    if unpriced and session.limit_usd is not None and NO_PRICE not in session.notices:
        notice = announce.unpriced(unpriced, session.limit_usd)
        return Decision(9, "hold", record, text, notice, NO_PRICE)
    return Decision(9, "hold", record, text)


def _end(
    row: int, record: dict, name: str, reason: str, snapshot: dict, options: str = ""
) -> Decision:
    record["verdict"], record["reason"] = name, reason
    return Decision(row, "allow", record, announce.paused(snapshot, name, reason, options))
