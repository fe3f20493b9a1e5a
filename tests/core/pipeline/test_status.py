"""Who holds a run, and what a start of it may do: every row of the tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.pipeline import status
from loopkit.core.pipeline.status import ACTIVE, CRASHED, FREE, HUNG, Here

NOW = 1_796_115_870.0


def here(**started: str | None) -> Here:
    return Here("box", "boot-1", lambda pid: started.get(f"p{pid}"))


def lock(**more: object) -> dict:
    row = {"pid": 7, "pid_started": "100", "host": "box", "boot_id": "boot-1"}
    return {**row, "heartbeat_epoch": NOW, **more}


@pytest.mark.parametrize(
    ("row", "started", "wanted"),
    [
        (lock(), "100", status.SAME),
        (lock(), "101", status.GONE),  # the number was given to another process
        (lock(), None, status.GONE),
        (lock(boot_id="boot-0"), "100", status.GONE),  # the machine has started anew
        (lock(host="other"), "100", status.UNKNOWN),
        (lock(pid="7"), "100", status.UNKNOWN),
        (lock(), "", status.UNKNOWN),  # the system does not say when it began
        (lock(pid_started=""), "100", status.UNKNOWN),
        ({}, "100", status.UNKNOWN),
    ],
)
def test_a_number_alone_is_no_identity(row: dict, started: str | None, wanted: str) -> None:
    assert status.process(row, here(p7=started)) == wanted


@pytest.mark.parametrize(
    ("age", "stale"), [(0, False), (119, False), (120, False), (121, True), (-121, True)]
)
def test_a_heartbeat_is_stale_after_two_minutes(age: float, stale: bool) -> None:
    assert status.is_stale(lock(heartbeat_epoch=NOW - age), NOW) is stale
    assert status.is_stale({"heartbeat_epoch": "soon"}, NOW) and status.is_stale({}, NOW)


FRESH, OLD = NOW - 10, NOW - 3600
ALIVE, DEAD = {"p7": "100"}, {"p7": None}
ELSEWHERE = lock(host="other")


@pytest.mark.parametrize(
    ("row", "started", "held"),
    [
        (None, ALIVE, CRASHED),
        (lock(heartbeat_epoch=FRESH), ALIVE, ACTIVE),
        (lock(heartbeat_epoch=OLD), ALIVE, HUNG),
        (lock(heartbeat_epoch=FRESH), DEAD, CRASHED),
        (lock(heartbeat_epoch=OLD), DEAD, CRASHED),
        ({**ELSEWHERE, "heartbeat_epoch": FRESH}, ALIVE, ACTIVE),
        ({**ELSEWHERE, "heartbeat_epoch": OLD}, ALIVE, CRASHED),
    ],
)
def test_who_holds_a_run_that_is_running(row: dict | None, started: dict, held: str) -> None:
    assert status.holder(row, status.RUNNING, here(**started), NOW) == held
    if held == CRASHED:  # what a dead process has left of a run that ended holds nobody up
        assert status.holder(row, status.COMPLETED, here(**started), NOW) == FREE


P, R, F = status.PLAIN, status.RESUME, status.FORCE


@pytest.mark.parametrize(
    ("known", "held", "ours", "plain", "resume", "force"),
    [
        (None, FREE, False, status.BEGIN, status.REFUSE, status.BEGIN),
        ("completed", FREE, False, status.REFUSE, status.SAY_COMPLETED, status.ANEW),
        ("limit", FREE, False, status.REFUSE, status.GO_ON, status.ANEW),
        ("failed", FREE, False, status.REFUSE, status.GO_ON, status.ANEW),
        ("paused", FREE, False, status.REFUSE, status.GO_ON, status.ANEW),
        ("running", CRASHED, False, status.REFUSE, status.GO_ON, status.ANEW),
        ("running", ACTIVE, True, status.REFUSE, status.REFUSE, status.END_FIRST),
        ("running", HUNG, True, status.REFUSE, status.REFUSE, status.END_FIRST),
        ("running", ACTIVE, False, status.REFUSE, status.REFUSE, status.REFUSE),
        (None, ACTIVE, True, status.REFUSE, status.REFUSE, status.END_FIRST),
    ],
)
def test_what_a_start_does(
    known: str | None, held: str, ours: bool, plain: str, resume: str, force: str
) -> None:
    assert [status.start(known, held, ours, how) for how in (P, R, F)] == [plain, resume, force]


@pytest.mark.parametrize(
    ("known", "held", "plain", "resume", "force"),
    [
        ("completed", FREE, status.ANEW, status.REFUSE, status.ANEW),
        ("limit", FREE, status.ANEW, status.REFUSE, status.ANEW),
        ("failed", FREE, status.REFUSE, status.REFUSE, status.ANEW),
        ("paused", FREE, status.REFUSE, status.REFUSE, status.ANEW),
        ("running", CRASHED, status.REFUSE, status.REFUSE, status.ANEW),
        ("running", ACTIVE, status.REFUSE, status.REFUSE, status.END_FIRST),
    ],
)
def test_what_a_start_of_another_stage_does(
    known: str, held: str, plain: str, resume: str, force: str
) -> None:
    found = [status.start(known, held, True, how, other=True) for how in (P, R, F)]
    assert found == [plain, resume, force]


@given(
    some.sampled_from([None, *status.EXITS]),
    some.sampled_from([FREE, ACTIVE, HUNG, CRASHED]),
    some.booleans(),
)
def test_nothing_but_force_touches_what_somebody_works_on(
    known: str | None, held: str, ours: bool
) -> None:
    for how in (P, R):
        if held in (ACTIVE, HUNG):
            assert status.start(known, held, ours, how) == status.REFUSE
        assert status.start(known, held, ours, how) not in (status.ANEW, status.END_FIRST)


@pytest.mark.parametrize(
    ("known", "held", "word"),
    [
        ("running", ACTIVE, "active"),
        ("running", HUNG, "active (hung)"),
        ("running", CRASHED, "failed (crashed)"),
        ("completed", FREE, "completed"),
        ("limit", FREE, "limit"),
        ("paused", FREE, "paused"),
        ("failed", FREE, "failed"),
    ],
)
def test_what_people_see(known: str, held: str, word: str) -> None:
    assert status.shown(known, held) == word
