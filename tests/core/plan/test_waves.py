"""Cycles by name and waves, against graphlib."""

from __future__ import annotations

import graphlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.plan import outline

NAMES = [f"T-{number:03d}" for number in range(8)]
GRAPHS = some.dictionaries(
    some.sampled_from(NAMES), some.lists(some.sampled_from(NAMES), max_size=4), max_size=8
)


def reference(blocked_by: dict) -> list[set] | None:
    """Layers by graphlib, or None where it finds a cycle."""
    known = {
        task: {one for one in wants if one in blocked_by} for task, wants in blocked_by.items()
    }
    sorter = graphlib.TopologicalSorter(known)
    try:
        sorter.prepare()
    except graphlib.CycleError:
        return None
    layers = []
    while sorter.is_active():
        ready = sorter.get_ready()
        layers.append(set(ready))
        sorter.done(*ready)
    return layers


@given(GRAPHS)
def test_waves_are_those_of_graphlib(blocked_by: dict) -> None:
    wanted = reference(blocked_by)
    if wanted is None:
        with pytest.raises(ValueError, match="cycle: "):
            outline.waves(blocked_by)
    else:
        layers = outline.waves(blocked_by)
        assert [set(layer) for layer in layers] == wanted
        assert sum(map(len, layers)) == len(blocked_by)


@given(GRAPHS)
def test_a_named_cycle_is_one(blocked_by: dict) -> None:
    for start in blocked_by:
        circle = outline.cycle_from(start, blocked_by)
        if circle is not None:
            assert circle[0] == circle[-1] == start and len(circle) > 1
            assert all(after in blocked_by[before] for before, after in itertools.pairwise(circle))
    on_cycle = {one for one in blocked_by if outline.cycle_from(one, blocked_by)}
    assert bool(on_cycle) is (reference(blocked_by) is None)


def test_the_name_of_a_cycle() -> None:
    with pytest.raises(ValueError, match="^cycle: T-002 → T-005 → T-002$"):
        outline.waves({"T-001": [], "T-002": ["T-005"], "T-005": ["T-002"]})


def test_a_very_long_chain_is_no_problem() -> None:
    chain = {str(number): [str(number - 1)] if number else [] for number in range(10_000)}
    assert len(outline.waves(chain)) == 10_000
    assert outline.cycle_from("9999", chain) is None
