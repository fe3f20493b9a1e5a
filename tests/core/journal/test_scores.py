"""Spec and fit: every boundary of the formula."""

from __future__ import annotations

import itertools

import pytest

from loopkit.core.journal import stage
from loopkit.core.journal.errors import UsageFault


def scored(*values: int, learnings: int = 0) -> stage.Scores:
    return stage.score(dict(zip(stage.DIMENSIONS, values, strict=True)), learnings)


@pytest.mark.parametrize(
    ("values", "spec", "fit", "shape"),
    [
        ((1, 1, 1, 1, 1), 5, 25, "colleague"),
        ((2, 1, 2, 0, 0), 5, 30, "tool-review"),
        ((2, 2, 1, 1, 1), 7, 35, "tool-review"),
        ((2, 2, 2, 2, 2), 10, 65, "tool"),
        ((0, 0, 0, 0, 0), 0, 0, None),
        ((1, 1, 1, 1, 0), 4, 20, None),
        ((0, 0, 2, 2, 0), 4, 30, "tool-review"),  # fit alone would do; the spec gate comes first
    ],
)
def test_examples(values: tuple, spec: int, fit: int, shape: str | None) -> None:
    assert scored(*values)[1:] == (spec, fit, shape)


@pytest.mark.parametrize(
    ("fit", "shape"),
    [
        (0, None),
        (24, None),
        (25, "colleague"),
        (29, "colleague"),
        (30, "tool-review"),
        (39, "tool-review"),
        (40, "tool"),
    ],
)
def test_shape_boundaries(fit: int, shape: str | None) -> None:
    assert stage.shape_of(fit) == shape


@pytest.mark.parametrize(
    ("learnings", "familiarity"), [(0, 0), (1, 2), (4, 8), (5, 10), (6, 10), (50, 10)]
)
def test_familiarity_counts_two_each_and_ten_at_most(learnings: int, familiarity: int) -> None:
    assert scored(1, 1, 1, 1, 1, learnings=learnings).fit == 25 + familiarity


def test_all_combinations_follow_the_formula() -> None:
    for values in itertools.product((0, 1, 2), repeat=5):
        bonus = 5 * sum(value == 2 for value in values[2:])
        result = scored(*values, learnings=3)
        assert (result.spec, result.fit) == (sum(values), 5 * sum(values) + bonus + 6)
        assert 0 <= result.fit <= 75


@pytest.mark.parametrize("wrong", [-1, 3, None, "2", 1.5])
@pytest.mark.parametrize("name", stage.DIMENSIONS)
def test_a_value_outside_the_rubric_is_named(name: str, wrong: object) -> None:
    with pytest.raises(UsageFault, match=f"--{name}"):
        stage.score({**dict.fromkeys(stage.DIMENSIONS, 1), name: wrong}, 0)


def test_rubric_has_three_levels_for_each_dimension() -> None:
    assert tuple(stage.RUBRIC) == stage.DIMENSIONS
    assert {len(levels) for levels in stage.RUBRIC.values()} == {3}


def test_what_each_shape_asks_a_person() -> None:
    assert stage.needs("tool") == ()
    assert stage.needs(None) == ()
    assert stage.needs("tool-review") == ("shape", "tasks")
    assert stage.needs("colleague") == ("shape", "tasks", "wave")
