"""`workflow-state.json`: what is derived from the journal for readers in a hurry (hooks, people,
other programs).

Its size does not grow with the number of tasks. `check` is a checksum over the canonical text of
everything else, so that a hand-edited or half-written file is noticed and rebuilt; white space, key
order, CRLF and a byte order mark do not matter.
"""

from __future__ import annotations

import json
from binascii import crc32

from ..journal import pricing, verdict
from ..journal.session import Session

TYPE_CHECKING = False  # hooks read snapshots: no import that reading does not need
if TYPE_CHECKING:
    from ..journal.state import LoopState

VERSION = 1
SHOWN, SUBJECT = 3, 120


def fingerprint(state: LoopState) -> str:
    """Progress in one short text: it changes exactly when stage, tasks, evidence, attempts or
    reviews do."""
    counts = ",".join(map(str, state.counts.values()))
    return f"{state.stage}|{counts}|e{state.evidence_count}|a{state.attempts}|r{state.records}"


def _brief(state: LoopState, task_id: str) -> dict:
    task = state.tasks[task_id]
    row = {"id": task.id, "subject": _cut(task.subject)}
    if task.block_kind:
        row["block"] = task.block_kind
        row["text"] = _cut(task.block_text)
    return row


def _cut(text: str) -> str:
    return text if len(text) <= SUBJECT else text[: SUBJECT - 1] + "…"


def _open_ids(state: LoopState) -> list:
    """The first few open tasks: running ones, then free ones, then whatever else is open. Bounded
    work."""
    chosen: dict[str, None] = {}
    for task_id in state.running:
        if len(chosen) < SHOWN:
            chosen[task_id] = None
    for wanted_free in (True, False):
        for looked, task_id in enumerate(state.open):
            if len(chosen) >= SHOWN or looked >= 64:
                break
            if not wanted_free or state.is_free(state.tasks[task_id]):
                chosen[task_id] = None
    return list(chosen)


def _blocked_ids(state: LoopState) -> list:
    from ..journal import task as tasks

    if not state.counts[tasks.BLOCKED]:
        return []
    found = []
    for task_id in state.open:
        if state.tasks[task_id].block_kind not in (None, tasks.SPLIT):
            found.append(task_id)
            if len(found) == SHOWN:
                break
    return found


def _summary(state: LoopState) -> dict:
    if state.thorough is None:
        return dict(state.reviews)
    from ..review import review

    return review.summary(state)


def _out(state: LoopState) -> list:
    """The names of the prompts that were given to agents and have no reply yet."""
    own = state.supervision
    if not own.out:
        return []
    from . import kinds

    return [kinds.name(key, own.asked[key]) for key in own.out]


def build(state: LoopState, offset: int) -> dict:
    """The snapshot of a state that reflects `offset` bytes of its ledger."""
    from ..journal import stage
    from . import nextstep

    session = state.session
    usd, tokens, unpriced = pricing.cost(session.usage, session.prices)
    confirm = stage.confirmation(state)
    asking = confirm is not None or session.question is not None
    waiting = asking and session.status == verdict.RUNNING
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
        "reviews": _summary(state),
        "owner": {
            "session_id": session.owner,
            "client_pid": session.owner_pid,
            "since": session.owner_since,
        },
        "iteration": session.iteration,
        "limits": {
            "iterations": session.limit_iterations,
            "usd": session.limit_usd,
            "seconds": session.limit_seconds,
        },
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
            "open": [_brief(state, one) for one in _open_ids(state)],
            "blocked_on": [_brief(state, one) for one in _blocked_ids(state)],
            "fingerprint": fingerprint(state),
        },
        "wave": {"number": len(state.waves), "open": state.wave is not None},
        "out": _out(state),
        "next": nextstep.command(state),
        "session": session.dump(),
        "ledger_offset": offset,
    }
    snapshot["check"] = checksum(snapshot)
    return snapshot


def checksum(snapshot: dict) -> int:
    """CRC-32 over the canonical JSON of a snapshot without its `check`."""
    body = {key: value for key, value in snapshot.items() if key != "check"}
    return crc32(json.dumps(body, sort_keys=True, separators=(",", ":")).encode())


def parse(raw: bytes) -> dict | None:
    """The snapshot in a file's bytes, or None where it is torn, foreign, edited or of another
    version."""
    if raw[:3] == b"\xef\xbb\xbf":
        raw = raw[3:]
    try:
        snapshot = json.loads(raw)
        if (
            snapshot["version"] != VERSION
            or snapshot["check"] != checksum(snapshot)
            or not _fit(snapshot, _KINDS)
        ):
            return None
        Session.load(snapshot["session"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return snapshot


# -- the kinds of what readers use: a checksum is no secret, so a stranger's file may say anything


def _word(value: object) -> bool:
    """Of the names of stages and states, which are shown as they are."""
    return type(value) is str and value.isascii() and value.isidentifier() and len(value) <= 20


def _number(value: object) -> bool:
    return type(value) in (int, float) and -1e15 < value < 1e15  # type: ignore[operator]


def _numbers(value: object) -> bool:
    return type(value) is dict and all(_number(one) for one in value.values())


def _figures(value: object) -> bool:
    return type(value) is dict and all(
        type(one) is list and len(one) >= 4 and all(_number(part) for part in one)
        for one in value.values()
    )


def _number_or_none(value: object) -> bool:
    return value is None or _number(value)


def _texts(value: object) -> bool:
    return type(value) is list and all(type(one) is str for one in value)


def _briefs(value: object) -> bool:
    return type(value) is list and all(_fit(one, _BRIEF, False) for one in value)


def _reviews(value: object) -> bool:
    return type(value) is dict and all(_fit(one, _REVIEW, False) for one in value.values())


def _fit(values: object, kinds: dict, whole: bool = True) -> bool:
    """Whether a record's fields are of these kinds: a tuple of types, a record's kinds, or a
    function that tells.

    whole: each of them has to be there; else a missing one counts as None.
    """
    if type(values) is not dict:
        return False
    for name, kind in kinds.items():
        value = values.get(name)
        if whole and name not in values:
            return False
        if type(kind) is tuple:
            if type(value) not in kind:
                return False
        elif not (_fit(value, kind) if type(kind) is dict else kind(value)):
            return False
    return True


_NONE = type(None)
_BRIEF = {"id": (str,), "subject": (str,), "block": (str, _NONE), "text": (str, _NONE)}
_REVIEW = {
    "score": _number_or_none,
    "issues": _number_or_none,
    "blockers": _number_or_none,
    "passed": (bool, _NONE),
    "blockers_remaining": _number_or_none,
}
_SESSION = {
    **dict.fromkeys(
        (
            "token",
            "stage",
            "status",
            "reason",
            "owner",
            "owner_since",
            "hold_fingerprint",
            "project",
            "started_at",
            "last_updated",
        ),
        (str,),
    ),
    **dict.fromkeys(("stage", "status"), _word),
    **dict.fromkeys(("verdict", "question"), (str, _NONE)),
    **dict.fromkeys(("awaiting", "hold_quiet", "unattended", "native_seen"), (bool,)),
    **dict.fromkeys(
        ("iteration", "spent_seconds", "hold_count", "last_hold_offset", "max_idle_stops"), _number
    ),
    **dict.fromkeys(
        ("owner_pid", "limit_iterations", "limit_usd", "limit_seconds", "running_since"),
        _number_or_none,
    ),
    **dict.fromkeys(("failure", "last_stop"), (dict, _NONE)),
    "usage": _figures,
    "prices": _figures,
    "offsets": _numbers,
    "message_ids": _texts,
    "notices": _texts,
    "subagents": (dict,),
}
_KINDS = {
    **dict.fromkeys(("loop", "reason", "task"), (str,)),
    **dict.fromkeys(("stage", "status"), _word),
    **dict.fromkeys(("verdict", "shape_chosen", "confirm", "next"), (str, _NONE)),
    **dict.fromkeys(("spec_score", "fit_score"), _number_or_none),
    "ledger_offset": (int,),
    "reviews": _reviews,
    "out": _texts,
    "tasks": {
        **dict.fromkeys(("total", "completed", "workable"), _number),
        "open": _briefs,
        "blocked_on": _briefs,
        "fingerprint": (str,),
    },
    "wave": {"number": _number},
    "session": _SESSION,
}
