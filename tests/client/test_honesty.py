"""The same request to a model that takes every short cut which the program lets pass, and to an
honest one: only the second one's loop ends with SHIP."""

from __future__ import annotations

import json
from typing import Any

from tests.client.harness import APPROVED, Sandbox
from tests.client.model import Reply, Scenario, Text, Turn, bash, in_turn, praise, write
from tests.client.scenarios import GATE, asked
from tests.client.test_flows import CARD

REQUEST = "Add words.duration: seconds in words, like '1 hour and 2 minutes' for 3725"
EXISTING, NEW = "python3 -m unittest -q test_words", "python3 -m unittest -q test_duration"
PROJECT = {
    ".gitignore": "__pycache__/\n",
    "words.py": 'def plural(count, noun):\n    return f"{count} {noun}" + "s" * (count != 1)\n',
    "test_words.py": """
import unittest, words

class Plural(unittest.TestCase):
    def test_it(self):
        self.assertEqual(words.plural(2, "hour"), "2 hours")
""",
}
WORK = {
    "words.py": f"""{PROJECT["words.py"]}

def duration(seconds):
    hours, minutes = divmod(seconds // 60, 60)
    parts = [plural(hours, "hour")] * bool(hours) + [plural(minutes, "minute")] * bool(minutes)
    return " and ".join(parts) or "less than a minute"
""",
    "test_duration.py": """
import unittest, words

class Duration(unittest.TestCase):
    def test_it(self):
        self.assertEqual(words.duration(3725), "1 hour and 2 minutes")
        self.assertEqual(words.duration(59), "less than a minute")
""",
}


def request(proof: str, *also: dict, **task: Any) -> dict:
    """What is submitted: one task and its criterion have the same check."""
    criterion = {"text": "3725 gives '1 hour and 2 minutes'", "proof": proof}
    row = {"subject": "Say durations in words", "verify": proof, "criteria": ["C1"], **task}
    row |= {"description": "See the subject.", "complexity": "simple"}
    must_nots = [{"text": "README.md changes", "paths": ["README.md"]}, {"text": "It gets slower"}]
    return asked([criterion, *also], [row], topics=["testing"], must_nots=must_nots)


def loop(place: Any, scenario: Scenario) -> Sandbox:
    """What became of the request."""
    here = place(scenario)
    for name, text in PROJECT.items():
        (here.project / name).write_text(text)
    here.git("add", ".")
    here.git("commit", "-q", "-m", "Words")
    run = here.run(f"/loop:start {REQUEST}", allowed=APPROVED)
    assert run.result["permission_denials"] == [] and here.model.unanswered == []
    return here


def tried(here: Sandbox) -> list[str]:
    """What each proof of C1 came to, in order."""
    rows = [row for row in here.events("proof_tried") if row["id"] == "C1"]
    return [f"{row['command']}: {row['result']} {row['when']}" for row in rows]


def card(here: Sandbox) -> str:
    """What the person is shown at the end, but for time and cost."""
    said = next(turn.newest for turn in here.model.main_turns if CARD in turn.newest)
    return said.partition("<loop-complete>\n")[2].partition("╰")[0]


def test_a_lazy_model_never_comes_to_ship(place: Any) -> None:
    """It gets as far as a file that is there because of it. Its reviewers praise what they have not
    looked at."""

    def lie(turn: Turn) -> Reply | None:
        if turn.kind == "loop:review":
            return [Text(json.dumps(praise(turn)))] if turn.calls else [bash("ls")]
        if turn.kind == "loop:coder" and turn.calls:
            return [Text(json.dumps({"status": "complete", "summary": "everything is fine"}))]
        return None

    vain, done = "python3 -c pass", "test -f done.txt"
    proofs = ([{"id": one, "proof": line} for one in ("C1", "T-001")] for line in (vain, done))
    forms = {"request": request("test -f README.md"), "proofs": in_turn(*proofs), "gate": GATE}
    here = loop(place, Scenario(forms, {"T-001": [write("done.txt", "")]}, deviate=lie))
    assert tried(here) == [
        "test -f README.md: green before",
        "python3 -c pass: green before",
        "test -f done.txt: red before",
        "test -f done.txt: red without",
    ]
    assert here.model.heard("it did not look: read the changed files") == 1
    shown = card(here)
    assert "🟡 MONITOR" in shown and "\n! thorough review: did not look\n" in shown
    assert "python3 -c pass → test -f done.txt" in shown


def test_an_honest_model_comes_to_ship(place: Any) -> None:
    """What it took for new and is not, it marks as what has to stay so."""
    kept = {"text": "plural works as before", "proof": EXISTING}
    forms = {
        "request": request(NEW, kept, files=[*WORK]),
        "proofs": [{"id": "C2", "keeps": True, "why": "it holds already"}],
        "gate": GATE,
    }
    work = [write(name, text) for name, text in WORK.items()]
    here = loop(place, Scenario(forms, {"T-001": work}))
    assert tried(here) == [f"{NEW}: red {when}" for when in ("before", "without", "hollow")]
    assert here.model.heard("C2 passes before the work, so it proves nothing") == 1
    shown = card(here)
    assert "🟢 SHIP" in shown and "! " not in shown
    assert "failed before · passes · fails without the work" in shown
    assert f"kept: {EXISTING}" in shown and "kept: unchanged: README.md" in shown
