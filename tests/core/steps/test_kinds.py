"""The table of step kinds: closed, whole, and in step with agents, prompts and forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.core.steps import kinds
from loopkit.core.steps.kinds import AGENT, FORM, KINDS, PERSON, PROGRAM

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_says_who_does_it_and_by_which_file(name: str) -> None:
    one = KINDS[name]
    assert one.who in (PROGRAM, AGENT, FORM, PERSON)
    assert bool(one.agent) == (one.who == AGENT) and (one.reply or one.who != AGENT)
    if one.agent:
        assert (ROOT / "agents" / f"{one.agent}.md").is_file()
    if one.prompt:
        assert (ROOT / "templates" / "prompts" / one.prompt).is_file()


def test_every_kind_that_is_named_has_a_row_and_the_other_way_round() -> None:
    named = [value for name, value in vars(kinds).items() if name.isupper() and name[0] != "_"]
    words = {value for value in named if isinstance(value, str)} - {kinds.WAVE_NEXT}
    assert words - {PROGRAM, AGENT, FORM, PERSON} == set(KINDS)


def test_an_agent_that_is_dispatched_has_a_form_and_a_prompt() -> None:
    for one in KINDS.values():
        if one.who == AGENT and one.command == kinds.WAVE_NEXT:
            assert one.prompt and one.asked and one.reply
            assert (ROOT / "templates" / "replies" / f"{one.reply}.yaml").is_file()


def test_the_journal_counts_a_step_by_what_is_asked() -> None:
    assert kinds.key(kinds.step(kinds.PLAN)) == "plan"
    assert kinds.key(kinds.step(kinds.PLAN_VERDICT, "plan")) == "verification plan"
    assert kinds.key(kinds.step(kinds.PLAN_REVIEW, "plan")) == "verification plan"
    assert kinds.key(kinds.step(kinds.SCAFFOLD, "T-001")) == "implementation T-001"
