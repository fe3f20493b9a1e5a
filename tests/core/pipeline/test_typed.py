"""What was typed with a start, as it is typed again."""

from __future__ import annotations

import pytest

from loopkit.core.pipeline import typed

WORK = ["work", "csv", "--usd", "3", "--checks", "pytest *", "--checks", "--odd", "--items", "--"]


def test_names_then_options_in_pairs() -> None:
    assert typed.parted(WORK) == (
        ["work", "csv"],
        [("--usd", "3"), ("--checks", "pytest *"), ("--checks", "--odd"), ("--items", "--")],
    )
    assert typed.parted(["work", "csv"]) == (["work", "csv"], [])


def test_a_further_start_keeps_what_it_does_not_say_itself() -> None:
    again = typed.anew(["stage", "work", "csv", "--usd", "9"], WORK)
    assert typed.parted(again)[0] == ["stage", "work", "csv"]
    assert typed.parted(again)[1] == [*typed.parted(WORK)[1][1:], ("--usd", "9")]
    assert typed.anew(["work", "csv"], []) == ["work", "csv"]
    assert typed.anew(["work", "csv"], ["work", "csv", "--tmux"]) == ["work", "csv"]
    assert typed.anew(["work", "csv", "--tmux"], WORK)[-1] == "--tmux"


@pytest.mark.parametrize(
    ("words", "number", "more", "line"),
    [
        (["s", "a"], ["5"], ["--resume"], "s a 5 --resume"),
        (["s", "a", "--usd", "3"], ["5"], ["--force"], "s a 5 --usd 3 --force"),
        (["s", "a", "--usd", "3"], ["5"], ["--resume", "--usd", "6"], "s a 5 --resume --usd 6"),
        (["s", "a", "--iterations", "3"], ["5"], [], "s a 5"),
        (["s", "a", "--usd", "3", "--tmux"], [], ["--force"], "s a --usd 3 --tmux --force"),
        (["p", "a", "--iterations", "3"], [], [], "p a --iterations 3"),
        (["p", "a", "--iterations", "3"], [], ["--iterations", "6"], "p a --iterations 6"),
    ],
)
def test_as_it_is_typed_again(
    words: list[str], number: list[str], more: list[str], line: str
) -> None:
    assert typed.again(words, number, more) == line.split()
