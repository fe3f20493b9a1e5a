"""`workflow-state.json`: derived from the journal for readers in a hurry (hooks, people, programs).

Its size does not grow with the number of tasks. `check` is a checksum over the canonical text of
everything else, so that a hand-edited or half-written file is noticed and rebuilt; white space, key
order, CRLF and a byte order mark do not matter.
"""

from __future__ import annotations

from binascii import crc32
from itertools import chain, islice

from ..journal import jsons, verdict
from ..journal.session import Session

TYPE_CHECKING = False  # hooks read snapshots: no import that reading does not need
if TYPE_CHECKING:
    from ..journal.state import LoopState

VERSION = 1
SHOWN, SUBJECT = 3, 120


def fingerprint(state: LoopState) -> str:
    """Progress in one short text: changes when stage, tasks, evidence, attempts or reviews do."""
    counts = ",".join(map(str, state.counts.values()))
    return f"{state.stage}|{counts}|e{state.evidence_count}|a{state.attempts}|r{state.records}"


def _short(state: LoopState, task_id: str) -> dict:
    task = state.tasks[task_id]
    row = {"id": task.id, "subject": _cut(task.subject)}
    if task.block_kind:
        row["block"] = task.block_kind
        row["text"] = _cut(task.block_text)
    return row


def _cut(text: str) -> str:
    return text if len(text) <= SUBJECT else text[: SUBJECT - 1] + "…"


def _open_ids(state: LoopState) -> list:
    """The first few open tasks: running ones, free ones, whatever else is open. Bounded work."""
    looked_at = list(islice(state.open, 64))
    free = (name for name in looked_at if state.is_free(state.tasks[name]))
    chosen = dict.fromkeys(islice(state.running, SHOWN))
    for name in chain(free, looked_at):
        if len(chosen) >= SHOWN:
            break
        chosen[name] = None
    return list(chosen)


def _blocked_ids(state: LoopState) -> list:
    from ..journal import task as tasks

    if not state.counts[tasks.BLOCKED]:
        return []
    kinds = (None, tasks.SPLIT)
    blocked = (name for name in state.open if state.tasks[name].block_kind not in kinds)
    return list(islice(blocked, SHOWN))


def out(state: LoopState) -> list:
    """The names of the prompts that were given to agents and have no reply yet."""
    given = state.supervision
    if not given.out:
        return []
    from . import kinds

    return [kinds.name(key, given.asked[key]) for key in given.out]


def build(state: LoopState, offset: int) -> dict:
    """The snapshot of a state that reflects `offset` bytes of its ledger."""
    from ..journal import stage
    from . import due

    session = state.session
    usd, tokens, unpriced = session.cost()
    confirm = stage.confirmation(state)
    asking = confirm is not None or session.question is not None
    waiting = asking and session.status == verdict.RUNNING
    reviews = dict(state.reviews)
    if state.thorough is not None:
        from ..review import review

        reviews = review.summary(state)
    snapshot = {
        "version": VERSION,
        "loop": state.name,
        "stage": session.stage,
        "status": verdict.AWAITING if waiting else session.status,
        "verdict": session.verdict,
        "reason": session.reason,
        "task": state.text,
        "spec_score": (state.scores or {}).get("spec"),
        "fit_score": (state.scores or {}).get("fit"),
        "shape_chosen": state.shape,
        "started_at": session.started_at,
        "last_updated": session.last_updated,
        "recall_surfaced": state.recall_surfaced,
        "reviews": reviews,
        "owner": {
            "session_id": session.owner,
            "client_pid": session.owner_pid,
            "since": session.owner_since,
        },
        "iteration": session.iteration,
        "limits": dict(zip(("iterations", "usd", "seconds"), session.most)),
        "spent": {
            "iterations": session.iteration,
            "usd": round(usd, 6),
            "seconds": session.spent_seconds,
            "tokens": tokens,
            "unpriced_models": unpriced,
        },
        "confirm": confirm,
        "tasks": {
            "total": len(state.tasks),
            **state.counts,
            "workable": state.workable,
            "open": [_short(state, name) for name in _open_ids(state)],
            "blocked_on": [_short(state, name) for name in _blocked_ids(state)],
            "fingerprint": fingerprint(state),
        },
        "wave": {"number": len(state.waves), "open": state.wave is not None},
        "out": out(state),
        "next": due.onward(state),
        "waits": due.waits(state),
        "session": session.dump(),
        "ledger_offset": offset,
    }
    snapshot["check"] = checksum(snapshot)
    return snapshot


def checksum(snapshot: dict) -> int:
    """CRC-32 over the canonical JSON of a snapshot without its `check`."""
    body = {key: value for key, value in snapshot.items() if key != "check"}
    return crc32(jsons.dumps(body, compact=True, sort=True).encode())


def parse(raw: bytes) -> dict | None:
    """The snapshot in a file's bytes; None where it is torn, edited or too old. The checksum is no
    secret: who uses more of it than its name asks first whose it is (store/loops.vouched)."""
    try:
        text = (raw[3:] if raw[:3] == b"\xef\xbb\xbf" else raw).decode("utf-8", "surrogatepass")
        snapshot = jsons.loads(text)
        intact = snapshot["version"] == VERSION and snapshot["check"] == checksum(snapshot)
        Session.load(snapshot["session"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return snapshot if intact else None
