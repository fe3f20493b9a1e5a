"""An agent's answer against its schema: what hooks say of it is what `replies` would say."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from loopkit import replies
from loopkit.core.plan import schema
from tests.plugin.examples import ANSWERED

CODED = {"status": "complete", "summary": "wrote it"}
TESTED = {"status": "passed", "tests_run": 2, "tests_passed": 2, "tests_failed": 0}
JUDGED = {"score": 80, "feedback": "a.py:3 is wrong"}
FINDING = {"severity": "WARNING", "issue": "no test"}
TASK = {"subject": "write it", "verify": "test -f a"}


def of(name: str) -> dict:
    return replies.accepted(name)


def unfit(name: str, row: object) -> str:
    return schema.unfit(json.dumps(row), of(name))


def refused(name: str, row: object) -> str:
    """What the model itself says."""
    try:
        replies.check(name, row)
    except replies.Invalid as fault:
        return fault.what
    return ""


@pytest.mark.parametrize("name", ANSWERED)
def test_an_example_fits_and_lacks_what_is_taken_away(name: str) -> None:
    row = yaml.safe_load(replies.example(name))
    assert unfit(name, row) == ""
    for field in of(name).get("required", ()):
        less = {key: value for key, value in row.items() if key != field}
        assert f"{field}: must be given" in unfit(name, less)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("implementation", {"status": "done", "summary": "wrote it"}),
        ("implementation", {"status": "Needs clarification", "summary": "x", "blockReason": None}),
        ("implementation", {**CODED, "files-modified": ["a.py", 3], "testsAdded": []}),
        ("fix", {**CODED, "status": "not fixed", "tests_run": "none", "tests_pass": "yes"}),
        ("test", {**TESTED, "coverage": "87.5 %", "failures": []}),
        ("test", {**TESTED, "tests_run": 2.0, "coverage": None}),
        ("verification", {**JUDGED, "approved": True, "recommendation": "approve"}),
        (
            "verification",
            {**JUDGED, "completeness": "partial", "issues": [{"a.py": "it is wrong"}]},
        ),
        ("review", {"findings": [{**FINDING, "severity": "minor", "expert": "x"}]}),
        ("review", {"build": "fail", "verdicts": {"T-001": "approved"}, "findings": []}),
        ("review", {"findings": [{**FINDING, "contradicts": ["001", 2]}], "score": None}),
        ("plan_review", {"score": 80, "feedback": "good", "approved": "yes", "issues": []}),
        ("plan", {"tasks": [{"description": "write it", "verify": "test -f a"}]}),
        ("plan", {"tasks": [TASK, {**TASK, "dependencies": [0]}, {**TASK, "blocked_by": [1]}]}),
        ("plan", {"questions": ["which port?"]}),
        ("replan", {"analysis": "too large", "tasks": [TASK, TASK]}),
        ("diagnosis", {"decision": "Retry", "reasoning": "a flake"}),
    ],
)
def test_what_replies_take_fits(name: str, row: dict) -> None:
    assert refused(name, row) == "" == unfit(name, row)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("implementation", {"summary": "wrote it"}),
        ("implementation", {**CODED, "status": "finished"}),
        ("implementation", {**CODED, "status": None}),
        ("implementation", {**CODED, "summary": "  "}),
        ("implementation", {**CODED, "summary": ["wrote", "it"]}),
        ("implementation", {**CODED, "files_modified": "a.py"}),
        ("implementation", {**CODED, "proof": "seen"}),
        ("test", {**TESTED, "tests_run": "2"}),
        ("test", {**TESTED, "tests_run": 2.5}),
        ("test", {**TESTED, "tests_run": -1}),
        ("test", {**TESTED, "tests_run": True}),
        ("test", {**TESTED, "failures": [{"test_name": "a"}]}),
        ("test", {**TESTED, "failures": ["a"]}),
        ("verification", {**JUDGED, "score": 101}),
        ("verification", {**JUDGED, "score": "eighty"}),
        ("verification", {**JUDGED, "completeness": "half"}),
        ("fix", {"status": "fixed", "summary": "x", "tests_pass": "perhaps"}),
        ("review", {"findings": [{**FINDING, "severity": "bad"}, {"issue": "no test"}]}),
        ("review", {"findings": {}}),
        ("review", {"verdicts": {"T-001": "fine"}, "findings": []}),
        ("plan", {"risks": ["none"]}),
        ("plan", {"tasks": [{"subject": "write it"}]}),
        ("replan", {"analysis": "x", "subtasks": [{**TASK, "complexity": "huge"}]}),
    ],
)
def test_what_does_not_fit_is_told_in_the_words_of_replies(name: str, row: dict) -> None:
    assert unfit(name, row) == refused(name, row).replace(" of `name: value` lines", "") != ""


def test_three_faults_are_named_and_the_rest_counted() -> None:
    said = unfit("test", {"status": "x", "a": 1, "b": 2, "tests_run": "x"})
    assert said.count(";") == 3 and said.endswith("; 3 more")
    assert len(unfit("implementation", {"status": "x" * 900, "summary": 3, "y" * 900: 1})) <= 400


@pytest.mark.parametrize(
    "text",
    [
        '{"status": "complete", "summary": "wrote it"}',
        '```json\n{"status": "complete", "summary": "wrote it"}\n```',
        'I ran `a {b}` and got {"x": 1}. Here it is:\n{"status": "complete", "summary": "wrote it"}',
        '{"status": "blocked"} was my first thought.\n\n{"status": "complete", "summary": "wrote it"}\n'
        'With {"x": {"y": 2}} in mind. {}',
        '{"status": "complete",\n "summary": "wrote it"}\n{not json}',
    ],
)
def test_the_last_object_with_a_known_field_is_taken(text: str) -> None:
    assert schema.found(text, of("implementation")) == CODED
    assert schema.unfit(text, of("implementation")) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no JSON object in it"),
        ("status: complete\nsummary: wrote it", "there is no JSON object in it"),
        ('{"status": "complete", "summary": }', "there is no JSON object in it: Expecting value in"),
        ('{"status": "complete" "summary": ""}', "Expecting ',' delimiter in line 1, at '\"summary\""),
        ('{"status": NaN, "summary": ""}', "NaN is no number of JSON"),
        ('{"x": 1}', "it has none of the fields status, summary,"),
        ("[1, 2]", "there is no JSON object in it"),
        ('{"status": "complete", "summary": "x"', "there is no JSON object in it: "),
        ("{" * 100_000, "there is no JSON object in it"),
        ('{"a":' * 100_000, "there is no JSON object in it"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told(text: str, said: str) -> None:
    assert said in schema.unfit(text, of("implementation"))


VALUES: Any = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(),
    lambda one: some.lists(one) | some.dictionaries(some.text(), one),
)


@given(name=some.sampled_from(ANSWERED), data=some.data())
def test_any_answer_is_told_in_one_line(name: str, data: some.DataObject) -> None:
    fields = some.sampled_from([*of(name)["properties"], "also", ""])
    row = data.draw(some.dictionaries(fields, VALUES))
    said = schema.unfit(json.dumps(row), of(name))
    assert "\n" not in said and len(said) <= schema.LONGEST
    assert schema.unfit(str(row), of(name)) is not None
