"""What a loop costs the main session: requests, and characters of these ÷ 4, in the real client.

    script/bench price                 all loops
    benchmarks/price.py 'one task' …   those of these names; with --story also what happened

`claude -p` with agents in the foreground and a scripted model that only follows what is printed.
The first request and the closing one count; a loop is done if it ends with SHIP. Checks are allowed
beforehand, since nobody can be asked: in a terminal `loopkit allow` is one request more.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import _measure

from tests.client.harness import APPROVED, Sandbox, sandbox
from tests.client.scenarios import FOUR, Flow, flows

#: Tokens that a loop of four tasks may cost the main session.
MOST_TOKENS = 250_000


def run(folder: Path, client: str, loop: Flow) -> Sandbox:
    """The loop from its start to its end."""
    with sandbox(folder, Path(client), _measure.data_folder(), loop.scenario) as here:
        here.run(f"/loop:start {loop.words}", allowed=APPROVED)
        return here


def price(here: Sandbox) -> tuple[int, float]:
    """(requests of the main session, their tokens)."""
    requests = [turn.request for turn in here.model.main_turns]
    return len(requests), sum(map(_characters, requests)) / 4


def _characters(request: dict) -> int:
    parts = {name: request.get(name) for name in ("system", "tools", "messages")}
    return len(json.dumps(parts, ensure_ascii=False))


def main(words: list[str]) -> int:
    client = _measure.client()
    if client is None:
        print("no client here (script/test installs one)", file=sys.stderr)
        return 0
    story = "--story" in words
    names = [word for word in words if word != "--story"]
    _measure.head("requests of the main session and their tokens; reference: the most allowed")
    taken: dict[str, int] = {}
    good = True
    for name, loop in flows().items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory(prefix="loopkit-price-") as folder:
            here = run(Path(folder), client, loop)
            done = [one["card"] for one in here.events("loop_completed")] == ["SHIP"]
        taken[name], tokens = price(here)
        most = loop.most + (taken.get(loop.beside, flows()[loop.beside].most) if loop.beside else 0)
        good = good and done and taken[name] <= most
        _measure.row(name if done else f"{name}: NOT DONE", taken[name], most, 1, _requests)
        _measure.row("  its tokens", tokens, MOST_TOKENS, 1 if name == FOUR else None, _tokens)
        if story:
            print(here.model.story())
    return 0 if good else 1


def _requests(number: float) -> str:
    return f"{number:.0f}"


def _tokens(number: float) -> str:
    return f"{number / 1e6:.3f} M"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
