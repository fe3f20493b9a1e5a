"""Driving a loop by its `next:` lines, with a program that only pretends."""

from __future__ import annotations

import re
import threading

import pytest

from loopkit.core.journal.errors import Refused
from loopkit.engine import drive, script


def driven(
    outputs: dict[str, tuple], first: str, rules: list[script.Rule] | None = None, **agents: list
) -> list[tuple]:
    """What was told; `outputs` maps a call's arguments to (exit code, output)."""
    told: list[tuple] = []
    answers = script.Script(
        "x", rules or [], {name.replace("_", "-"): one for name, one in agents.items()}
    )
    lock = threading.Lock()

    def call(arguments: list, given: str) -> tuple:
        return outputs[" ".join(arguments)]

    def tell(kind: str, text: str) -> None:
        with lock:
            told.append((kind, text))

    drive.drive(answers, "/nowhere", call, first, tell)
    return told


def test_it_follows_the_steps_to_the_end() -> None:
    outputs = {"a": (0, "did a\nnext: loopkit b"), "b": (0, "did b")}
    assert driven(outputs, "next: loopkit a") == [
        ("step", "loopkit a"),
        ("said", "did a\nnext: loopkit b"),
        ("step", "loopkit b"),
        ("said", "did b"),
    ]


def test_a_step_is_told_with_the_values_that_are_used() -> None:
    rule = script.Rule(
        re.compile("^loopkit score"), ["score", "--outcome", "2", "--why", "so it is"], "", 1
    )
    told = driven(
        {"score --outcome 2 --why so it is": (0, "")}, "next: loopkit score --outcome <0-2>", [rule]
    )
    assert told[0] == ("step", "loopkit score --outcome 2 --why 'so it is'")


def test_a_step_without_an_answer_ends_it_with_one_line() -> None:
    with pytest.raises(Refused, match="no answer to: loopkit score --outcome <0-2>"):
        driven({}, "next: loopkit score --outcome <0-2>")


def test_a_refusal_that_offers_nothing_ends_it() -> None:
    with pytest.raises(Refused, match="loopkit a exits 1: loopkit: no"):
        driven({"a": (1, "said\nloopkit: no\n")}, "next: loopkit a")
    assert driven({"a": (1, "no\nnext: loopkit b"), "b": (0, "")}, "next: loopkit a")[-2] == (
        "step",
        "loopkit b",
    )


def test_agents_of_a_block_work_before_the_step_after_them() -> None:
    outputs = {
        f"task show T-00{one}": (0, f"next: loopkit verify T-00{one} -- true") for one in (1, 2)
    }
    outputs |= {f"verify T-00{one} -- true": (0, f"T-00{one} completed") for one in (1, 2)}
    outputs["wave close"] = (0, "closed")
    first = (
        "next: agent loop:coder: Do T-001\nnext: agent loop:coder: Do T-002\nnext: loopkit wave "
        "close"
    )
    told = driven(outputs, first, T_001=[[{}]], T_002=[[{}]])
    assert [kind for kind, _ in told] == ["step", "step", "agent", "agent", "step", "said"]
    assert sorted(told[2:4]) == [("agent", "T-001 completed"), ("agent", "T-002 completed")]


def test_going_round_in_circles_is_given_up() -> None:
    with pytest.raises(Refused, match="no end after 500 steps"):
        driven({"a": (0, "next: loopkit a")}, "next: loopkit a")
