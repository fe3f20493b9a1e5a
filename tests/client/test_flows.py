"""Each kind of loop from `/loop:start` to its card, headless, for no more requests than it may take."""

from __future__ import annotations

import pytest

from tests.client.harness import APPROVED
from tests.client.scenarios import flows

FLOWS = flows()
CARD = "</loop-complete>"


@pytest.mark.parametrize("name", FLOWS)
def test_it_is_completed_at_its_price(name: str, place) -> None:
    flow = FLOWS[name]
    here = place(flow.scenario)
    run = here.run(f"/loop:start {flow.words}", allowed=APPROVED)
    assert here.state["status"] == "completed" and here.model.heard(CARD) == 1, here.model.story()
    assert run.result["permission_denials"] == [] and here.model.unanswered == []
    most = flow.most + (FLOWS[flow.beside].most if flow.beside else 0)
    # nobody is asked for leave in `-p`
    assert len(here.model.main_turns) <= most - 1, here.model.story()
    heard = [one.turn.newest for one in here.model.records if not one.turn.main]
    assert not [text for text in heard if "next: loopkit" in text], "nothing follows for an agent"
