"""What loopkit makes of the requests in tests/data/requests.yaml; as a program it prints that as
JSON."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from loopkit.core.journal import score
from loopkit.core.request import aspects, topics
from loopkit.core.review import panel
from loopkit.store import profiles

ROOT = Path(__file__).resolve().parents[2]
REQUESTS = yaml.safe_load((ROOT / "tests" / "data" / "requests.yaml").read_text(encoding="utf-8"))


def judged(row: dict) -> dict:
    """Spec, fit, shape, kind of work, aspects, panel and types of proof of one request, from its
    text and scores."""
    text = row["text"]
    scores = score.score(dict(zip(score.DIMENSIONS, row["scores"], strict=True)), 0)
    chosen = aspects.chosen(text)
    asked = panel.choose(profiles.read(str(ROOT)), topics.topics_in(text, *chosen))
    return {
        "spec": scores.spec,
        "fit": scores.fit,
        "shape": scores.shape,
        "kind": aspects.kind_of(text),
        "aspects": chosen,
        "panel": [one.name for one in asked],
        "questions": [one.asks[0] for one in asked],
        "proofs": list(dict.fromkeys(aspects.ASPECTS[name].proof for name in chosen)),
    }


if __name__ == "__main__":
    print(json.dumps([judged(row) for row in REQUESTS]))
