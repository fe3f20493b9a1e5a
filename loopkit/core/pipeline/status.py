"""Where a run stands, who holds it, and what a start of it may do (rule: Locks, heartbeat, crash).
One word per status, for whoever writes it and whoever reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..journal import verdict
from ..journal.errors import EXIT_DONE, EXIT_LIMIT, EXIT_REFUSED

#: Statuses of a run; those of a stage are PENDING, RUNNING, COMPLETED and LIMIT.
RUNNING, COMPLETED, LIMIT, FAILED, PAUSED = "running", "completed", "limit", "failed", "paused"
PENDING = "pending"
#: What comes after a stage that has used up its runs: the next one, nothing.
CONTINUE, STOP = "continue", "stop"
#: Why a run has ended or paused.
MAX_ITERATIONS, MAX_COST, MAX_DURATION = "max_iterations", "max_cost", "max_duration"
#: The same by the verdict of a loop at such a limit.
LIMITS = {
    verdict.LIMIT_ITERATIONS: MAX_ITERATIONS,
    verdict.LIMIT_BUDGET: MAX_COST,
    verdict.LIMIT_TIME: MAX_DURATION,
}
INTERRUPTED, ASKED, WAITING, STALLED = "interrupted", "asked", "waiting", "stalled"

#: The exit code of the command whose run ended so; one that a signal ended exits 128 + n.
EXITS = {COMPLETED: EXIT_DONE, LIMIT: EXIT_LIMIT}
EXITS.update(dict.fromkeys((FAILED, PAUSED, RUNNING), EXIT_REFUSED))

#: Seconds between two heartbeats, and the age from which on one is stale.
BEAT, STALE = 30, 120
#: Seconds after which a run is marked as long.
LONG = 7200

#: What is known of the process that wrote a lock.
SAME, GONE, UNKNOWN = "same", "gone", "unknown"
#: What holds a run: nobody; a process at work; one without a heartbeat; one that has died.
FREE, ACTIVE, HUNG, CRASHED = "free", "active", "hung", "crashed"


class Here(NamedTuple):
    """The machine we are on. started(pid): when that process began, in the system's own words; None
    where there is none, "" where nobody can say."""

    host: str
    boot: str
    started: Callable[[int], str | None]


def process(lock: dict, here: Here) -> str:
    """SAME, GONE or UNKNOWN: a number alone is no identity, another boot of this host is proof."""
    pid = lock.get("pid")
    if lock.get("host") != here.host or type(pid) is not int:
        return UNKNOWN
    if lock.get("boot_id") and here.boot and lock["boot_id"] != here.boot:
        return GONE
    started = here.started(pid)
    if started is None:
        return GONE
    if not started or not lock.get("pid_started"):
        return UNKNOWN
    return SAME if started == lock["pid_started"] else GONE


def is_stale(lock: dict, now: float) -> bool:
    """Whether a lock's heartbeat is too old, or of a future that no clock explains."""
    beat = lock.get("heartbeat_epoch")
    return not isinstance(beat, (int, float)) or abs(now - beat) > STALE


def holder(lock: dict | None, status: str, here: Here, now: float) -> str:
    """Who holds a run of that status: FREE, ACTIVE, HUNG or CRASHED."""
    if lock is None:
        return CRASHED if status == RUNNING else FREE
    known, stale = process(lock, here), is_stale(lock, now)
    if known == SAME:
        return HUNG if stale else ACTIVE
    if known == GONE or stale:
        return CRASHED if status == RUNNING else FREE
    return ACTIVE


# -- what a start does

PLAIN, RESUME, FORCE = "plain", "resume", "force"
#: Begin a new run; go on with this one; put it away and begin anew; end its process first and look
#: again; say that it is complete; refuse.
BEGIN, GO_ON, ANEW = "begin", "go on", "anew"
END_FIRST, SAY_COMPLETED, REFUSE = "end first", "completed", "refuse"


def start(status: str | None, held: str, ours: bool, how: str, other: bool = False) -> str:
    """What a start may do. status: of the run of that name, None where there is none · held: see
    `holder` · ours: whether its holder can be ended from here · how: PLAIN, RESUME or FORCE ·
    other: that run is one of another stage or pipeline, which has had its turn once it has ended:
    a plan is refined, then worked, under one name."""
    if held in (ACTIVE, HUNG):
        return END_FIRST if how == FORCE and ours else REFUSE
    if status is None:
        return REFUSE if how == RESUME else BEGIN
    if how == FORCE or how == PLAIN and other and status in (COMPLETED, LIMIT):
        return ANEW
    if how == PLAIN or other:
        return REFUSE
    return SAY_COMPLETED if status == COMPLETED else GO_ON


def shown(status: str, held: str) -> str:
    """The word for people: `active (hung)`, `failed (crashed)`, `completed`."""
    if held == CRASHED:
        return f"{FAILED} (crashed)"
    if held in (ACTIVE, HUNG):
        return "active" + " (hung)" * (held == HUNG)
    return status
