"""Time: what was at work, side by side counted once; waits, sleep and clocks that are set."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.core.journal.working import MOST_ASKED, MOST_GAP, OVERLAP, Times

T = 1_800_000_000
#: A prompt, a tool's call or result in the middle of a turn, a turn's end; a line is (second, one).
ASKS, WORKS, ENDS = (False, True), (True, True), (True, False)


def read(times: Times, now: int = 0, **files: list) -> int:
    for file, lines in files.items():
        times.begin(file)
        for at, (ends, begins) in lines:
            times.line(T + at, ends, begins)
    return times.worked(now and T + now)


TURN = [(0, ASKS), (10, WORKS), (40, WORKS), (60, ENDS)]


@pytest.mark.parametrize(
    ("files", "seconds"),
    [
        ({"main": TURN}, 60),
        ({"main": [*TURN, (86400, ASKS), (86410, ENDS)]}, 70),
        ({"main": TURN, "agent": [(20, ASKS), (50, WORKS), (90, ENDS)]}, 90),
        ({"main": TURN, "agent": [(200, ASKS), (250, ENDS)]}, 110),
        ({"main": [(0, ASKS), (5, WORKS), (30_000, WORKS), (30_010, ENDS)]}, 5 + MOST_GAP + 10),
        ({"main": [(0, ASKS), (5, WORKS), (30_000, ASKS), (30_010, ENDS)]}, 15),
        ({"main": [(0, ENDS), (30, ENDS)]}, 30),
    ],
    ids="a turn,a day between,side by side,one after the other,asleep,killed,held".split(","),
)
def test_what_counts(files: dict, seconds: int) -> None:
    times = Times()
    assert read(times, **files) == seconds
    again = Times(**times.dump())
    assert read(again) == 0, "once"


def test_what_is_at_work_counts_as_far_as_it_has_come() -> None:
    first = Times()
    assert read(first, 100, main=[(0, ASKS), (40, WORKS)]) == 100
    assert first.dump() == {"to": T + 100, "busy": {"main": T + 40}}
    second = Times(**first.dump())
    assert read(second, 300) == 200
    third = Times(**second.dump())
    assert read(third, 320, main=[(310, ENDS)]) == 10
    assert third.dump() == {"to": T + 310}


@pytest.mark.parametrize(("now", "seconds"), [(0, 40), (39, 40), (640, 640), (10**6, 640)])
def test_what_is_gone_counts_no_further(now: int, seconds: int) -> None:
    times = Times()
    assert read(times, now, main=[(0, ASKS), (40, WORKS)]) == seconds
    assert times.busy == ({"main": T + 40} if now in (39, 640) else {})


def test_an_agent_that_ends_late_counts_from_where_others_were_counted_to() -> None:
    times = Times()
    assert read(times, 100, main=TURN, agent=[(50, ASKS)]) == 100
    assert read(times, main=[], agent=[(130, WORKS), (180, ENDS)]) == 80


@pytest.mark.parametrize("back", [OVERLAP + 11, 3600, 365 * 86400])
def test_a_clock_that_is_set_back_gives_nothing_back(back: int) -> None:
    times = Times()
    read(times, main=TURN)
    later = [(at - back, kind) for at, kind in [(70, ASKS), (100, WORKS), (160, ENDS)]]
    assert read(times, main=later) == 90
    again = Times(**times.dump())
    assert read(again, main=[(200 - back, ASKS), (230 - back, ENDS)]) == 30


@pytest.mark.parametrize("step", [3600, 365 * 86400])
def test_a_clock_that_is_set_in_the_middle_of_work(step: int) -> None:
    def turn(by: int) -> list:
        late = [(40 + by, WORKS), (60 + by, ENDS)]
        return [(0, ASKS), (10, WORKS), *late, (100 + by, ASKS), (130 + by, ENDS)]

    assert read(Times(), main=turn(step)) == 10 + MOST_GAP + 20 + 30
    assert read(Times(), main=turn(-step)) == 10 + 20 + 30
    times = Times()
    forth = [*turn(step), (140 + step, ASKS), (150 + step, ENDS)]
    assert read(times, main=forth) == 70 + MOST_GAP
    assert read(times, main=[(160, ASKS), (190, ENDS)]) == 30, "and back again"


def test_a_person_who_was_asked_took_the_time() -> None:
    times = Times()
    times.begin("main")
    times.line(T, True, True)
    times.line(T + 3000, True, True, MOST_ASKED)
    assert times.worked(0) == MOST_ASKED


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["main", "a", "b"]),
            st.integers(-(10**6), 10**6),
            st.booleans(),
            st.booleans(),
        ),
        max_size=40,
    ),
    st.integers(0, 2 * 10**6),
)
def test_never_less_than_nothing_nor_more_than_each_line_may(rows: list, now: int) -> None:
    times = Times()
    for file, at, ends, begins in rows:
        times.begin(file)
        times.line(T + at, ends, begins)
    seconds = times.worked(now and T + now)
    assert 0 <= seconds <= MOST_GAP * (len(rows) + 3)
    assert all(value >= 0 for value in (times.to, times.shift, *times.busy.values()))
    assert Times(**times.dump()).worked(0) == 0


def test_stamps_beyond_all_measure_are_none() -> None:
    times = Times()
    times.begin("main")
    for at in (-1, 0, 1 << 33, 10**18, T, -(10**18), T + 10):
        times.line(at, True, True)
    assert times.worked(0) == 10
    again = Times(to=T, shift=(1 << 50) + 1)
    assert again.dump() == {}, "what is recorded can be read back"
