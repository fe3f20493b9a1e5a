"""What loopkit makes of the requests in tests/data/requests.yaml; as a program it prints that as
JSON."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from loopkit.core.journal import stage
from loopkit.core.request import aspects, intake, topics
from loopkit.core.review import panel
from loopkit.store import profiles
from tests.core.kit import Book

ROOT = Path(__file__).resolve().parents[2]
REQUESTS = yaml.safe_load((ROOT / "tests" / "data" / "requests.yaml").read_text(encoding="utf-8"))


def judged(row: dict) -> dict:
    """Spec, fit, shape, aspects, panel and types of proof of one request, from its scores, topics
    and kind of work."""
    book = Book(task=row["text"])
    values = dict(zip(stage.DIMENSIONS, row["scores"], strict=True))
    book.do(intake.scored, {**values, "kind": row["kind"], "topics": ", ".join(row["topics"])})
    scores, chosen = book.state.scores or {}, aspects.chosen(book.state)
    named = topics.ranked(topics.of_loop(book.state), topics.kind_of(book.state), ())
    asked = panel.choose(profiles.read(str(ROOT)), list(dict.fromkeys([*named, *topics.GENERAL])))
    return {
        "spec": scores["spec"],
        "fit": scores["fit"],
        "shape": scores["shape"],
        "aspects": chosen,
        "panel": [one.name for one in asked],
        "questions": [one.asks[0] for one in asked],
        "proofs": list(dict.fromkeys(aspects.ASPECTS[name].proof for name in chosen)),
    }


if __name__ == "__main__":
    print(json.dumps([judged(row) for row in REQUESTS]))
