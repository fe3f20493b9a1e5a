"""`workflow-state.json`: derived from the journal for readers in a hurry (hooks, people, programs).

Its size does not grow with the number of tasks. `check` is a checksum over the canonical text of
everything else, so that a hand-edited or half-written file is noticed and rebuilt; white space, key
order, CRLF and a byte order mark do not matter.
"""

from __future__ import annotations

import json
from binascii import crc32
from itertools import chain, islice

from ..journal import verdict
from ..journal.session import Session

TYPE_CHECKING = False  # hooks read snapshots: no import that reading does not need
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

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
    return crc32(json.dumps(body, sort_keys=True, separators=(",", ":")).encode())


def parse(raw: bytes) -> dict | None:
    """The snapshot in a file's bytes; None where it is torn, foreign, edited or too old."""
    try:
        snapshot = json.loads(raw[3:] if raw[:3] == b"\xef\xbb\xbf" else raw)
        intact = snapshot["version"] == VERSION and snapshot["check"] == checksum(snapshot)
        if not (intact and _fit(snapshot, _KINDS)):
            return None
        Session.load(snapshot["session"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return snapshot


# -- the kinds of what readers use: a checksum is no secret, so an untrusted file may say anything


def _word(value: object) -> bool:
    """Of the names of stages and states, which are shown as they are."""
    return type(value) is str and value.isascii() and value.isidentifier() and len(value) <= 20


def _number(value: object) -> bool:
    return type(value) in (int, float) and -1e15 < value < 1e15  # type: ignore[operator]


def _fit(values: object, kinds: dict, whole: bool = True) -> bool:
    """Whether a record's fields are of these kinds: a tuple of types, a record's kinds, or a
    function that tells. whole: each of them has to be there; else a missing one counts as None."""
    if type(values) is not dict or whole and not values.keys() >= kinds.keys():
        return False
    return all(_is(values.get(name), kind) for name, kind in kinds.items())


def _is(value: object, kind: Any) -> bool:
    if type(kind) is tuple:
        return type(value) in kind
    return _fit(value, kind) if type(kind) is dict else kind(value)


def _list(value: object, fits: Callable[[Any], bool]) -> bool:
    return type(value) is list and all(map(fits, value))


def _record(value: object, fits: Callable[[Any], bool]) -> bool:
    return type(value) is dict and all(map(fits, value.values()))


def _number_or_none(value: object) -> bool:
    return value is None or _number(value)


def _figures(value: object) -> bool:
    return _record(value, lambda row: _list(row, _number) and len(row) >= 4)


def _short_ones(value: object) -> bool:
    return _list(value, lambda row: _fit(row, _BRIEF, False))


_NONE = type(None)
_BRIEF = {"id": (str,), "subject": (str,), "block": (str, _NONE), "text": (str, _NONE)}
_REVIEW = {
    **dict.fromkeys(("score", "issues", "blockers", "blockers_remaining"), _number_or_none),
    "passed": (bool, _NONE),
}
_CLOCK = {
    **dict.fromkeys(("to", "shift"), _number_or_none),
    "busy": lambda value: value is None or _record(value, _number),
}
_SESSION = {
    **dict.fromkeys("token reason owner owner_since hold_fingerprint project".split(), (str,)),
    **dict.fromkeys(("started_at", "last_updated", "unread_since"), (str,)),
    **dict.fromkeys(("stage", "status"), _word),
    **dict.fromkeys(("verdict", "question"), (str, _NONE)),
    **dict.fromkeys(
        ("awaiting", "free", "hold_quiet", "unattended", "by_word", "native_seen"), (bool,)
    ),
    **dict.fromkeys(
        ("iteration", "dispatches", "spent_seconds", "max_idle_stops", "reported"), _number
    ),
    **dict.fromkeys(("hold_count", "last_hold_offset"), _number),
    **dict.fromkeys(
        ("owner_pid", "limit_iterations", "limit_usd", "limit_seconds"),
        _number_or_none,
    ),
    **dict.fromkeys(("failure", "last_stop"), (dict, _NONE)),
    **dict.fromkeys(("usage", "prices"), _figures),
    **dict.fromkeys(
        ("message_ids", "notices"), lambda value: _list(value, lambda text: type(text) is str)
    ),
    "offsets": lambda value: _record(value, _number),
    "clock": lambda value: _fit(value, _CLOCK, False),
    "subagents": (dict,),
}
_KINDS = {
    **dict.fromkeys(("loop", "reason", "task"), (str,)),
    **dict.fromkeys(("stage", "status"), _word),
    **dict.fromkeys(("verdict", "shape_chosen", "confirm", "next", "waits"), (str, _NONE)),
    **dict.fromkeys(("spec_score", "fit_score"), _number_or_none),
    "ledger_offset": (int,),
    "reviews": lambda value: _record(value, lambda row: _fit(row, _REVIEW, False)),
    "out": lambda value: _list(value, lambda text: type(text) is str),
    "tasks": {
        **dict.fromkeys(("total", "completed", "workable"), _number),
        **dict.fromkeys(("open", "blocked_on"), _short_ones),
        "fingerprint": (str,),
    },
    "wave": {"number": _number},
    "session": _SESSION,
}
