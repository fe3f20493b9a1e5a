"""One registry of what is submitted: forms, schemas and examples out of the models; what does not
fit is told by its path, counted from 1."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
import yaml

from loopkit import replies
from loopkit.core.journal import stage
from loopkit.core.journal.errors import UsageFault
from loopkit.core.memory import decisions
from loopkit.core.request import clarify
from loopkit.core.review import gate
from loopkit.replies import records, texts
from tests.core.kit import GATE, PANEL
from tests.plugin import examples
from tests.plugin.bundle import ROOT

NAMES = list(replies.REGISTRY)
#: What agents answer.
ANSWERS = [path.stem for path in (ROOT / "templates" / "schemas").glob("*.json")]
#: (required, optional) as the rules name them.
FIELDS = {
    "plan": (set(), {"tasks", "risks", "assumptions", "decisions", "questions"}),
    "replan": ({"analysis", "subtasks"}, {"blocker_resolution"}),
    "implementation": (
        {"status", "summary"},
        {"files_modified", "tests_added", "commands", "block_reason"},
    ),
    "fix": (
        {"status", "summary"},
        {"files_modified", "tests_run", "tests_pass", "remaining_issues", "block_reason"},
    ),
    "test": (
        {"status", "tests_run", "tests_passed", "tests_failed"},
        {"failures", "coverage", "fix_plan", "block_reason"},
    ),
    "verification": (
        {"score", "feedback"},
        {"completeness", "issues", "missing_elements", "risks"},
    ),
    "diagnosis": ({"decision", "reasoning"}, {"blockers"}),
    "plan_review": ({"score", "summary", "findings"}, {"missing", "proofs"}),
    "review": (
        {"findings"},
        {"experts", "build", "tests", "lint", "ui", "verdicts", "score", "summary"}
        | {"proofs", "must_nots"},
    ),
}


def read(text: str, kind: Any = (dict, list)) -> Any:
    return records.parse(text, "it", kind)


def given_of(name: str) -> dict:
    """The example of a record as it is read."""
    return read(replies.example(name), dict)


def fits(value: object, schema: dict, whole: dict) -> bool:
    """Whether a value fits a JSON Schema as a small reader sees it: required, type, enum."""
    if "$ref" in schema:
        return fits(value, whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    choices = schema.get("anyOf") or schema.get("oneOf") or ()
    if "type" not in schema and choices:
        return any(fits(value, one, whole) for one in choices)
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    kinds |= {"integer": int, "number": (int, float)}  # type: ignore[dict-item]
    if "type" in schema and not isinstance(value, kinds[schema["type"]]):
        return False
    if isinstance(value, dict):
        if set(schema.get("required", ())) - set(value):
            return False
        fields = schema.get("properties", {})
        return all(fits(one, fields.get(name, {}), whole) for name, one in value.items())
    if isinstance(value, list):
        return all(fits(one, schema.get("items", {}), whole) for one in value)
    return "enum" not in schema or value in schema["enum"]


def names(schema: dict, whole: dict) -> set[str]:
    """The fields of a schema at whatever depth."""
    if "$ref" in schema:
        return names(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    found = set(schema.get("properties", ()))
    parts = [*schema.get("properties", {}).values(), schema.get("items", {})]
    for one in [*parts, *schema.get("anyOf", ()), *schema.get("oneOf", ())]:
        found |= names(one, whole) if one else set()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_an_example_fits_its_schema_and_is_read(name: str) -> None:
    schema, example = replies.schema(name), replies.example(name)
    assert fits(yaml.safe_load(example), schema, schema)
    row = replies.read(name, example, "it")
    assert json.loads(json.dumps(row)) == row
    if name in ANSWERS:
        given = json.dumps(yaml.safe_load(example), indent=1)
        assert replies.parse(name, f"I looked.\n\n```\n{given}\n```\nThat is all.") == row
        assert replies.parse(name, example) == row


@pytest.mark.parametrize("name", NAMES)
def test_a_form_shows_every_field_and_can_be_read_and_typed(name: str) -> None:
    form, schema = replies.form(name), replies.schema(name)
    assert form + "\n" == texts.form(replies.model(name)), "run script/forms"
    assert read(form)
    for field in names(schema, schema):
        assert re.search(rf"^ *(- )?{field}:", form, re.M), field
    for text in (form, replies.example(name)):
        assert not re.search(r"\{[^}]*[\"']|\\\s|<\d-\d>", text), "the client's shell refuses these"


@pytest.mark.parametrize("name", examples.ANSWERED)
def test_the_schema_that_hooks_check_by_is_the_model_s(name: str) -> None:
    assert replies.accepted(name) == json.loads(examples.accepted(name)), "run script/forms"
    assert replies.asked(name) + "\n" == texts.asked(replies.model(name)), "run script/forms"
    assert "instead" not in json.dumps(replies.schema(name)), "no other program knows it"


def test_required_fields_come_first_with_the_allowed_words() -> None:
    assert replies.form("fix").split("\n")[:4] == [
        "status: <fixed | still_failing | blocked>",
        'summary: "<the cause, and what was changed>"',
        "# may be left out:",
        "files_modified: [<path>]",
    ]
    form = replies.form("review", "verdicts", "findings", verdicts={"T-001": "<a | b>"})
    assert form.startswith("verdicts:\n  T-001: <a | b>\nfindings:\n- severity: <BLOCKER | ")


@pytest.mark.parametrize("name", FIELDS)
def test_the_fields_are_those_of_the_rule(name: str) -> None:
    required, optional = FIELDS[name]
    schema = replies.schema(name)
    assert set(schema["properties"]) == required | optional
    assert set(schema.get("required", ())) == required


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "plan"])
def test_a_missing_required_field_is_named(name: str) -> None:
    for field in FIELDS[name][0] - {"score", "summary"}:
        row = {**given_of(name)}
        del row[field]
        with pytest.raises(replies.Invalid, match=f"{field}: must be given"):
            replies.check(name, row)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    for call in (replies.form, replies.schema, replies.example):
        with pytest.raises(UsageFault, match="use request, proofs, tasks, plan"):
            call("poem")


def test_every_name_of_a_field_that_was_taken_is() -> None:
    row = {"subject": "a", "verify": "ls", "activeForm": "b", "blockedBy": ["T-001", 2]}
    found = replies.check("tasks", [row])[0]
    assert (found["activeForm"], found["blockedBy"]) == ("b", ["T-001", "#2"])
    plan = {"tasks": [{"description": "a", "verify": "ls", "dependencies": [0]}]}
    assert replies.check("plan", plan)["tasks"][0]["blockedBy"] == ["#1"]
    failure = {"testName": "t", "error": "e", "stackTrace": "s"}
    row = {"status": "failed", "testsRun": 1, "testsPassed": 0, "tests_failed": 1}
    assert replies.check("test", {**row, "failures": [failure]})["failures"][0]["stackTrace"] == "s"
    with pytest.raises(replies.Invalid, match="tests_run must be given once"):
        replies.check("test", {**row, "tests_run": 2})


@pytest.mark.parametrize(
    ("name", "field", "given", "taken"),
    [
        ("fix", "status", "not fixed", "still_failing"),
        ("fix", "status", "STILL-FAILING", "still_failing"),
        ("test", "status", "FAIL", "failed"),
        ("implementation", "status", "Needs clarification", "needs_clarification"),
        ("review", "build", "PASSED", "passed"),
        ("gate", "size", 2, 3),
        ("gate", "size", 6, 8),
        ("gate", "reversal", "2a undone in a minute", "2A"),
        ("gate", "reversal", 1, "1"),
        ("lesson", "source", "Plan review", "plan-review"),
        ("decision", "depends_on", "decision 1, D2", [1, 2]),
        ("decision", "supersedes", "none", []),
        ("decision", "alternatives", [{"a key": "clients set it"}], ["a key: clients set it"]),
        ("panel", "sequential", "yes", True),
    ],
)
def test_what_is_meant_is_taken(name: str, field: str, given: object, taken: object) -> None:
    assert replies.check(name, {**given_of(name), field: given})[field] == taken


@pytest.mark.parametrize(
    ("given", "taken"),
    [("Critical", "BLOCKER"), ("major", "BLOCKER"), ("Minor", "WARNING"), ("Suggestion",) * 2],
)
def test_other_words_for_a_severity(given: str, taken: str) -> None:
    for name in ("review", "wave_review", "plan_review"):
        row = {**given_of(name), "findings": [{"severity": given, "issue": "x"}]}
        assert replies.check(name, row)["findings"][0]["severity"] == taken.upper()
    row = {"test_name": "t", "error": "e", "severity": "warning"}
    test = {**given_of("test"), "failures": [row]}
    assert replies.check("test", test)["failures"][0]["severity"] == "minor"


def test_a_task_is_completed() -> None:
    row = replies.check("tasks", [{"subject": " a\n b ", "verify": " ls "}])[0]
    assert (row["subject"], row["verify"], row["complexity"]) == ("a b", "ls", "medium")
    assert (row["files"], row["group"], row["scaffold"]) == ([], None, False)
    row = replies.check("tasks", [{"description": "x" * 300, "verify": "ls", "subject": ""}])[0]
    assert len(row["subject"]) == 120 and row["description"] == "x" * 300


def test_the_tasks_of_a_plan_are_taken_as_tasks() -> None:
    assert replies.check("tasks", read(replies.example("plan"))) == replies.check(
        "tasks", read(replies.example("tasks"))
    )


JUDGED = {"score": 55, "feedback": "no", "missingElements": ["m"], "completeness": "partial"}


@pytest.mark.parametrize(
    ("more", "severities"),
    [
        ({"approved": "false", "issues": ["T-002: empty"]}, ["BLOCKER"]),
        ({"recommendation": "revise", "issues": []}, ["BLOCKER"]),
        ({"approved": "true", "recommendation": "approve", "issues": ["a"]}, ["WARNING"]),
        ({"approved": "true"}, []),
    ],
)
def test_a_judgement_of_a_plan_is_a_review_of_it(more: dict, severities: list) -> None:
    row = replies.check("plan_review", {**JUDGED, **more})
    assert [one["severity"] for one in row["findings"]] == severities
    assert (row["feedback"], row["missing"], row["missingElements"]) == ("no", ["m"], ["m"])
    assert row["issues"] == more.get("issues", [])


# -- what does not fit


def task(**fields: object) -> list:
    return [{"subject": "a", "verify": "ls", **fields}]


def wave(**fields: object) -> dict:
    return {"score": 8, "experts": ["a", "b"], **fields}


def found(**fields: object) -> dict:
    return {"findings": [{"severity": "WARNING", "issue": "x", **fields}]}


def answers(**fields: object) -> dict:
    return {**GATE, **fields}


def panel(**fields: object) -> dict:
    return {**PANEL, **fields}


def experts(count: int) -> list:
    return [
        {"name": str(number), "question": f"q{number}", "diagnosis": "d"} for number in range(count)
    ]


CLEAR = {"echo": "Bring /search under 200 ms", "task": "t", "context": "c", "done": "d"}
DECISION = {"title": "t", "context": "c", "choice": "x", "alternatives": ["y: no"]}
ORDER = {
    "objective": "o",
    "non_goals": list("abc"),
    "constraints": ["c"],
    "acceptance": list("abcdefg"),
    "must_nots": ["m", "n"],
    "stop_conditions": list("xyz"),
}
UNFIT: list[tuple[str, Any, str]] = [
    ("tasks", ["text"], "tasks.1: must be a record of `name: value` lines, not 'text'"),
    ("tasks", [], "tasks: must have at least 1 entry"),
    ("tasks", [{"verify": "ls"}], 'tasks.1.subject: must be given; write subject: "<what it does'),
    ("tasks", task(subject=None), "tasks.1.subject: must be given"),
    ("tasks", task(subject={"a": 1}), "tasks.1.subject: must be a text, not a record"),
    ("tasks", task(subject=" \n "), "tasks.1.subject: must say something"),
    ("tasks", task(subject="x" * 1001), "tasks.1.subject: must have at most 1,000 characters"),
    ("tasks", [{"subject": "a"}], "tasks.1.verify: must be given"),
    ("tasks", task(verify=["ls"]), "tasks.1.verify: must be a text, not a list"),
    ("tasks", [*task(), *task(verify="a && b")], "tasks.2.verify: verification command has an"),
    ("tasks", task(verify="echo 'x"), "cannot be split"),
    ("tasks", task(complexity="huge"), "must be one of simple, medium, complex, not 'huge'"),
    ("tasks", task(files="a.py"), "tasks.1.files: must be a list, like [a, b], not 'a.py'"),
    ("tasks", task(blockedby=[]), "tasks.1.blockedby: must be left out, there is no such field"),
    ("wave_review", wave(score=11), "score: must be at most 10, not 11; write score: <0 to 10>"),
    ("wave_review", wave(score=None), "score: must be given; write score: <0 to 10>"),
    ("wave_review", wave(score=7.5), "score: must be a whole number, not 7.5"),
    ("wave_review", wave(issues=-1), "issues: must be a whole number from 0 on, not -1"),
    ("wave_review", wave(blockers="1"), "blockers: must be a whole number, not '1'"),
    ("wave_review", wave(findings=[{"severity": "BLOCKER"}]), "findings.1.issue: must be given"),
    ("wave_review", wave(**found(severity="bad")), "findings.1.severity: must be one of BLOCKER"),
    ("review", {"experts": ["a"]}, "findings: must be given"),
    ("review", found(brakes=["M1"]), "findings.1.brakes: must be left out, there is no such field"),
    ("review", found(category="vibes"), "findings.1.category: must be one of security"),
    ("review", found(verify="a | b"), "findings.1.verify: verification command has an unquoted"),
    ("review", found(alternative="x"), "findings.1: violates must be given beside an alternative"),
    ("review", {**found(), "verdicts": {"T-001": "fine"}}, "verdicts.T-001: must be one of"),
    ("review", {**found(), "verdicts": ["T-001"]}, "verdicts: must be a record"),
    ("review", {**found(), "tests": "green"}, "tests: must be one of passed, failed, none"),
    ("review", {"findings": "none"}, "findings: must be a list"),
    ("plan_review", {}, "findings: must be given"),
    ("plan_review", {"findings": [], "status": "GOOD"}, "status: must be one of APPROVED"),
    ("plan_review", {"findings": [], "missing": "x"}, "missing: must be a list"),
    ("gate", answers(kind="party"), "kind: must be one of build, debug, refactor, not 'party'"),
    ("gate", answers(points=[]), "points: must be a record"),
    ("gate", answers(confidence=101), "confidence: must be at most 100, not 101"),
    ("gate", answers(confidence="90"), "confidence: must be a whole number, not '90', without"),
    ("gate", answers(confidence=True), "confidence: must be a whole number, not True"),
    ("gate", answers(reversal="2C"), "reversal: must be one of 2A, 2B, 1, not '2C'"),
    ("gate", answers(size=14), "size: must be one of 1, 3, 5, 8, 13, not 14"),
    ("gate", answers(alternative=" "), "alternative: must say something"),
    ("gate", answers(verify=[1]), "verify: must be a record"),
    ("gate", answers(verify={"runs": "a | b"}), "verify.runs: verification command has an"),
    ("panel", panel(experts="many"), "experts: must be a list"),
    ("panel", panel(experts=[1, 2]), "experts.1: must be a record"),
    ("panel", panel(experts=experts(1)), "experts: must have at least 2 entries"),
    ("panel", panel(experts=experts(5)), "experts: must have at most 4 entries"),
    ("panel", panel(experts=[*experts(1), {"name": "x", "question": "y"}]), "experts.2.diagnosis"),
    (
        "panel",
        panel(experts=[*experts(1), {**experts(1)[0], "question": " Q0 ."}]),
        "experts must each have a question of their own",
    ),
    ("panel", panel(recommendations=[]), "recommendations: must have at least 1 entry"),
    ("panel", panel(recommendations=[{"confidence": 3}]), "recommendations.1.approach: must be"),
    ("panel", panel(recommendations=[{"approach": "a", "confidence": 10}]), "must be at most 9"),
    ("panel", panel(recommendations=[{"approach": "a", "confidence": "high"}]), "must be a"),
    (
        "panel",
        panel(recommendations=[{"approach": "a", "by": "me"}]),
        "recommendations.1.by must be one of debugging, testing, or left out",
    ),
    ("panel", panel(consensus=" "), "consensus: must say something"),
    ("decision", {**DECISION, "alternatives": []}, "alternatives: must have at least 1 entry"),
    ("decision", {**DECISION, "alternatives": ["a: b"] * 11}, "alternatives: must have at most 10"),
    ("decision", {**DECISION, "title": "x" * 121}, "title: must have at most 120 characters"),
    ("decision", {**DECISION, "depends_on": ["two"]}, "depends_on.1: must be numbers of decisions"),
    ("decision", {**DECISION, "invalidated_if": "$ true"}, "invalidated_if: true cannot fail"),
    ("lesson", {"what": "x", "why": "y"}, "do_instead: must be given"),
    ("learnings", [{"kind": "poem"}], "learnings.1: kind must be one of failure, discovery"),
    ("learnings", [{"context": "c"}], "learnings.1: kind must be one of failure, discovery"),
    (
        "learnings",
        [{"kind": "discovery", "context": "c", "discovery": ""}],
        "learnings.1.discovery: must say something",
    ),
    ("clarification", {**CLEAR, "answers": {"taste": "A"}}, "answers must name dimensions"),
    ("clarification", {**CLEAR, "answers": "A"}, "answers: must be a record"),
    ("clarification", {**CLEAR, "answers": {"scope": ""}}, "answers.scope: must say something"),
    (
        "clarification",
        {**CLEAR, "answers": {"scope": "a"}, "assumptions": {"scope": "x"}},
        "scope must be answered or assumed, not both",
    ),
    ("clarification", {**CLEAR, "echo": ""}, "echo: must say something"),
    ("clarification", {**CLEAR, "echo": "One. Two."}, "echo: must be a single sentence"),
    ("clarification", {**CLEAR, "echo": "検索を速くする。ベンチで示す"}, "echo: must be a single"),
    ("clarification", {**CLEAR, "echo": "x" * 401}, "echo: must have at most 400 characters"),
    ("clarification", {**CLEAR, "done": ["x"]}, "done: must be a text, not a list"),
    ("clarification", {**CLEAR, "must_nots": "x"}, "must_nots: must be a list"),
    ("clarification", {**CLEAR, "order": {**ORDER, "objective": ""}}, "order.objective: must say"),
]


@pytest.mark.parametrize(("name", "value", "words"), UNFIT, ids=[row[2][:50] for row in UNFIT])
def test_what_does_not_fit_is_named_on_one_line(name: str, value: Any, words: str) -> None:
    with pytest.raises(replies.Invalid) as caught:
        replies.check(name, value)
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "least", "most"),
    [
        ("non_goals", 3, 5),
        ("acceptance", 7, 12),
        ("stop_conditions", 3, 5),
        ("must_nots", 2, 99),
        ("constraints", 1, 99),
    ],
)
def test_the_counts_of_a_full_order(field: str, least: int, most: int) -> None:
    for count in (least, most):
        order = {**ORDER, field: ["x"] * count}
        assert replies.check("clarification", {**CLEAR, "order": order})["order"] == order
    for count in (least - 1, *([most + 1] if most < 99 else [])):
        with pytest.raises(replies.Invalid, match=f"order.{field}: must have at"):
            replies.check("clarification", {**CLEAR, "order": {**ORDER, field: ["x"] * count}})


@pytest.mark.parametrize(
    "echo",
    [
        "Bring p95 under 200 ms vs. today's 400 ms",
        "Accept U.S. addresses, e.g. with ZIP codes",
        "検索を速くする。",
    ],
)
def test_one_sentence_may_hold_abbreviations(echo: str) -> None:
    assert replies.check("clarification", {**CLEAR, "echo": echo})["echo"] == echo


def test_the_registry_itself_costs_no_model() -> None:
    code = "import sys; from loopkit import replies as r; r.form('plan'); sys.exit(any(m.startswith('pydantic') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_lists_that_core_knows_are_those_of_the_models() -> None:
    assert replies.schema("gate")["properties"]["kind"]["enum"] == list(gate.POINTS)
    assert replies.schema("lesson")["properties"]["source"]["enum"] == list(decisions.SOURCES)
    assert set(clarify.FIELDS) < set(replies.schema("clarification")["properties"])
    assert set(stage.DIMENSIONS)
