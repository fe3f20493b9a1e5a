"""What the real client reckons for known tokens, model by model, against our own table and our own
reading."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopkit.core.journal import pricing
from loopkit.store import transcript
from tests.client.harness import Sandbox, sandbox, wait_for
from tests.client.model import Reply, Scenario, Text, Turn, agent

#: Models that the client replaces by another one before it asks for them.
REPLACED = {"claude-opus-4-1", "claude-opus-4-0", "claude-opus-4"}
DATED = [
    "claude-haiku-4-5-20251001",
    "claude-sonnet-4-5-20250929",
    "claude-sonnet-4-20250514",
    "claude-opus-4-5-20251101",
    "claude-3-7-sonnet-20250219",
    "claude-3-5-haiku-20241022",
]
STRANGERS = ["claude-sonnet-6", "claude-opus-4-9", "mystery-1"]
MODELS = [*(name for name in pricing.PRICES if name not in REPLACED), *DATED, *STRANGERS]
MANY = 1000  # a context that seems full is compacted, which costs as well
NOTHING = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


def written(short: int, long: int) -> dict:
    kinds = {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long}
    return {"cache_creation_input_tokens": short + long, "cache_creation": kinds}


#: A usage a kind: of it alone, so that its price can be read off; and a mixture. The first model is
#: asked for all of them, the others for the last two.
KINDS = {
    "none": {},
    "input": {"input_tokens": MANY},
    "output": {"output_tokens": MANY},
    "cache write": written(MANY, 0),
    "cache read": {"cache_read_input_tokens": MANY},
    "cache write, 1 hour": written(0, MANY),
    "fast": {"output_tokens": MANY, "speed": "fast"},
    "mixture": {
        **written(5_201, 3_113),
        "input_tokens": 1_237,
        "output_tokens": 4_591,
        "cache_read_input_tokens": 17_777,
        "server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 5},
    },
}

#: The mixture as our table counts it. No two figures are alike, so a wrong price shows in the sum.
MIXED = [1_237, 4_591, 5_201, 17_777, 3_113, 3]


class Talk:
    """One client that is told to change its model, and asked one thing at a time."""

    def __init__(self, here: Sandbox) -> None:
        shape = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        self.errors = (here.folder / "err").open("wb+")
        self.process = subprocess.Popen(
            here.arguments((), "-p", *shape, plugins=False),
            cwd=here.project,
            env=here.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.spent = 0.0

    def send(self, record: dict, answer: str) -> dict:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(record) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            found = json.loads(line)
            if found.get("type") == answer:
                return found
        self.errors.seek(0)
        raise AssertionError(f"the client ended: {self.errors.read().decode()}")

    def model(self, name: str) -> None:
        request = {"subtype": "set_model", "model": name}
        said = self.send(
            {"type": "control_request", "request_id": name, "request": request}, "control_response"
        )
        assert said["response"]["subtype"] == "success", said

    def ask(self) -> tuple[float, dict]:
        """(USD of one turn, figures by model so far)."""
        said = self.send(
            {"type": "user", "message": {"role": "user", "content": "say ok"}}, "result"
        )
        spent, self.spent = said["total_cost_usd"] - self.spent, said["total_cost_usd"]
        return spent, said["modelUsage"]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.errors.close()


@pytest.fixture(scope="module")
def measured(
    client: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict, dict, float, list]]:
    """({model: {kind: USD}}, {model: basis of its cost}, USD of all, transcripts) of one run of the
    client."""
    now = {"usage": NOTHING}
    scenario = Scenario(
        usage=lambda turn: now["usage"] if turn.tools else NOTHING,
        deviate=lambda turn: [Text("ok")],
    )
    with sandbox(tmp_path_factory.mktemp("prices"), client, None, scenario) as here:
        talk = Talk(here)
        try:
            costs: dict = {}
            basis = {}
            for model in MODELS:
                talk.model(model)
                for kind, usage in [*KINDS.items()][0 if model == MODELS[0] else -2 :]:
                    now["usage"] = {**NOTHING, **usage}
                    costs.setdefault(model, {})[kind], by_model = talk.ask()
                basis[model] = by_model[model].get("costBasis", "known")
        finally:
            talk.close()
        files = list((here.home / ".claude" / "projects").glob("*/*.jsonl"))
        assert len(files) == 1
        yield costs, basis, talk.spent, [transcript.read(str(files[0]), {}, [])]


@pytest.mark.parametrize("model", [name for name in MODELS if name not in STRANGERS])
def test_the_client_s_prices_are_those_of_the_table(measured: tuple, model: str) -> None:
    costs = measured[0][model]
    usd, _, unpriced = pricing.cost({model: MIXED}, {})
    assert unpriced == [] and usd == pytest.approx(costs["mixture"])
    fast = pricing.price_of(model + pricing.FAST, {})
    assert fast is not None and fast[1] == pytest.approx(costs["fast"] * 1e6 / MANY)


def test_each_kind_of_token_has_its_own_price(measured: tuple) -> None:
    dear = {kind: spent * 1e6 / MANY for kind, spent in measured[0][MODELS[0]].items()}
    ours = pricing.price_of(MODELS[0], {})
    assert ours is not None and dear["none"] == 0
    seen = tuple(dear[kind] for kind in ("input", "output", "cache write", "cache read"))
    assert ours == pytest.approx(seen), seen
    assert pricing.LONG_WRITE * ours[0] == pytest.approx(dear["cache write, 1 hour"])


@pytest.mark.parametrize("model", STRANGERS)
def test_what_the_client_only_guesses_has_no_price(measured: tuple, model: str) -> None:
    assert measured[1][model] == "unknown", "the client knows this model now: give it a row"
    assert pricing.price_of(model, {}) is None


def test_the_whole_session_costs_what_the_client_says(measured: tuple) -> None:
    """Read from its transcript: mixtures, an hour's cache, searches and fast mode included;
    strangers at its guess."""
    costs, _, spent, (reading,) = measured
    usd, _, unpriced = pricing.cost(reading.usage, {})
    guessed = sum(sum(costs[model].values()) for model in STRANGERS)
    assert sorted(set(unpriced)) == sorted(
        [*STRANGERS, *(name + pricing.FAST for name in STRANGERS)]
    )
    assert usd == pytest.approx(spent - guessed, abs=0.0001)


def test_main_and_subagents_together_cost_what_the_client_says(place) -> None:
    def deviate(turn: Turn) -> Reply:
        if turn.main and not turn.calls:
            return [agent("general-purpose", f"look at part {number} of it") for number in (1, 2)]
        return [Text("done")]

    def usage(turn: Turn) -> dict:
        return {**NOTHING, **KINDS["mixture"], "output_tokens": 7_001 if turn.main else 3_003}

    here = place(Scenario(deviate=deviate, usage=usage))
    run = here.run("share it out", "--model", "claude-sonnet-5", plugins=False)
    files = list((here.home / ".claude" / "projects").glob(f"*/{run.session}.jsonl"))

    def whole() -> transcript.Reading | None:
        """The transcripts once all three are there, each with an answer."""
        reading = transcript.read(str(files[0]), {}, [])
        return reading if len(reading.offsets) == 3 else None

    reading = wait_for("the subagents' transcripts", whole)
    usd, _, unpriced = pricing.cost(reading.usage, {})
    assert unpriced == [] and usd > 0.05
    assert usd == pytest.approx(run.result["total_cost_usd"], abs=0.0001), (
        reading.usage,
        run.result["modelUsage"],
    )
