"""The examples in the Markdown are those of the registry, and the real rules take them under every
policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopkit import replies
from loopkit.core.journal import parts
from loopkit.core.memory import decisions
from loopkit.core.plan import drafts
from loopkit.core.review import batch_review, review
from loopkit.replies import records
from tests.core.kit import Book, task
from tests.core.roles import Roles
from tests.plugin import examples

EXPERTS = {"experts": ["api-designer", "security-reviewer", "simplifier"]}


@pytest.mark.parametrize(
    "path", examples.files(), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_an_example_is_the_registrys(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert examples.written(text) == text, "run script/forms"


def record(name: str, file: str) -> dict:
    text = (examples.ROOT / file).read_text(encoding="utf-8")
    ((found, example),) = examples.found(text)
    assert found == name
    return replies.read(name, example, "the example")


def test_a_finding_of_a_reviewer_is_taken_by_every_review() -> None:
    """Once it was refused for a batch."""
    row = record("review", "agents/review.md")
    book = Book().worked()
    review.thorough(book.state, {**row, **EXPERTS})
    book = Book(approval="review").planned(task("a"))
    book.do(batch_review.planned, {"findings": []})
    book.wave()
    book.verify("T-001")
    batch_review.judged(book.state, 1, batch_review.BATCH, row)


def test_a_review_of_a_plan_is_taken_under_both_policies() -> None:
    """Once it was refused under `approval = review`."""
    row = record("plan_review", "agents/plan-review.md")
    book = Book(approval="review").planned(task("a"), task("b"))
    (reviewed, *_) = batch_review.planned(book.state, row)
    assert reviewed[1]["outcome"] == parts.REVISE
    roles = Roles()
    roles.ask()
    roles.reply("plan", None, {"tasks": [task("a"), task("b"), task("c")]})
    roles.ask()
    (reviewed, *_) = roles.reply("verification", "plan", row)
    assert reviewed[1]["outcome"] == parts.REVISE and reviewed[1]["issues"]


def test_a_plan_is_taken_by_whoever_hands_it_in() -> None:
    text = (examples.ROOT / "agents/planner.md").read_text(encoding="utf-8")
    ((name, example),) = examples.found(text)
    assert name == "plan"
    drafts.submit(Book().shaped().state, replies.check("tasks", json.loads(example)["tasks"]))
    roles = Roles()
    roles.ask()
    assert "task_added" in roles.kinds("plan", None, replies.parse("plan", example))


def test_a_judgement_and_a_decision_are_taken() -> None:
    assert record("verification", "agents/supervisor.md")["score"] < 70
    book = Book().shaped()
    ((kind, data),) = decisions.recorded(book.state, record("decision", "agents/decide.md"))
    book.line(kind, **data)
    assert book.state.decision_log.checks[1] == "grep -q trusted_proxy app/settings.py"


def test_a_changed_example_is_found_and_written_anew() -> None:
    text = "a\n```json decision\n{}\n```\nb\n```sh\nls\n```\n"
    assert '```json decision\n{\n  "title": ' in examples.written(text)
    assert examples.written(examples.written(text)) == examples.written(text)
    assert examples.written("```json gate\n```\n").count("confidence") == 1
    assert "```sh\nls\n```" in examples.written(text)
    here = "```sh gate\nloopkit gate --file - <<'EOF'\nkind: x\nEOF\n```\n"
    ((name, example),) = examples.found(examples.written(here))
    assert name == "gate" and records.parse(example, "it", dict)["kind"] == "build"
