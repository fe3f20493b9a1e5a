"""Answers of agents: what is safely readable is read, the rest is refused by name."""

from __future__ import annotations

import json
import re

import pytest

from loopkit import replies
from loopkit.replies import lists

GOOD = {
    "score": 82,
    "approved": True,
    "recommendation": "approve",
    "feedback": "C1 holds: tests/test_limits.py:12",
}
YAML = "score: 82\napproved: true\nrecommendation: approve\nfeedback: all of it is there\n"


def test_a_plan_without_tasks_needs_questions():
    assert replies.parse("plan", "questions:\n- per key or per address?")["tasks"] == []
    assert replies.parse("replan", "analysis: it is one thing\nsubtasks: []")["subtasks"] == []


READ = {
    "alone": YAML,
    "the last of two": f"{{}}\n{json.dumps({**GOOD, 'score': 3})}\nno:\n{json.dumps(GOOD)}",
    "beside prose with a colon": f"Here: {json.dumps(GOOD)}",
    "json": json.dumps(GOOD),
    "json over lines, not moved in": json.dumps(GOOD, indent=0),
    "json in a fence": f"```json\n{json.dumps(GOOD, indent=2)}\n```",
    "json with prose around it": f"Here it is:\n\n{json.dumps(GOOD, indent=2)}\n\nTell me if you "
    "need more.",
    "json with a comma at its end": '{"score": 82, "approved": true, "recommendation": "approve", "feedback": "fine",}',
    "single quotes and True": "{'score': 82, 'approved': True, 'recommendation': 'approve', "
    "'feedback': 'ok'}",
    "json with tabs": json.dumps(GOOD, indent="\t"),
    "a heading before": f"# Verdict\n\n{YAML}",
    "a document mark": f"---\n{YAML}",
    "a mark of byte order and CRLF": "\ufeff" + YAML.replace("\n", "\r\n"),
    "APPROVE": YAML.replace("approve\n", "APPROVE\n"),
    "82.0": json.dumps({**GOOD, "score": 82.0}),
    "yes": YAML.replace("true", "yes"),
    "curly quotes in a text": YAML.replace("all of it", "“all” of it"),
    "a fence within a text": YAML + "issues:\n- |\n  ```\n  score: 99\n  ```\n",
}


@pytest.mark.parametrize("name", READ)
def test_what_is_safely_readable_is_read(name):
    found = replies.parse("verification", READ[name])
    assert found["score"] == 82 and found["feedback"]
    assert found["missingElements"] == [] and found["completeness"] is None


REFUSED = {
    "nothing": ("", "no record"),
    "yaml in prose": (f"I looked at it.\n\n{YAML}", "line 3: mapping values are not"),
    "a fence": (f"```yaml\n{YAML}```", "cannot start any token"),
    "prose": ("It is all fine, I would give it 90 points.", "record|line 1"),
    "a list": ("- score: 82", "no record"),
    "a number only": ("82", "no record"),
    "a key twice": (YAML + "score: 90\n", "score stands twice"),
    "curly quotes around keys": ("{“score”: 82, “approved”: true}", "“score”: must be left out"),
    "tabs": ("score: 82\nissues:\n\t- one\n", "line 3: found character .*, at '- one'"),
    "cut off": ('{"score": 82, "approved": tr', "cannot|line 1|expected"),
    "a word with a colon": (YAML.replace("approve\n", "approve: yes\n"), "line 3"),
    "82.5": (YAML.replace("82", "82.5"), "score: must be a whole number, not '82.5'"),
    "82 as a text": (
        json.dumps({**GOOD, "score": "82"}),
        "score: must be a whole number, not '82', without quotes",
    ),
    "101": (YAML.replace("82", "101"), "score: must be at most 100, not 101"),
    "-1": (YAML.replace("82", "-1"), "score: must be a whole number from 0 on, not -1"),
    "NaN": (
        '{"score": NaN, "approved": true, "recommendation": "approve", "feedback": "x"}',
        "score: must be a whole number, not nan",
    ),
    "8/10": (YAML.replace("82", "8/10"), "score: must be a whole number, not '8/10'"),
    "true as a score": (
        '{"score": true, "approved": true, "recommendation": "approve", "feedback": "x"}',
        "score: must be a whole number, not True",
    ),
    "most of it": (YAML + "completeness: most\n", "must be one of complete, partial, insufficient"),
    "a field that nobody reads": (YAML + "confidence: 9\n", "confidence: must be left out"),
    "wrapped": (json.dumps({"verification": GOOD}), "verification: must be left out"),
    "no feedback": (YAML.replace("all of it is there", '""'), "feedback: must say something"),
    "issues as a text": (
        YAML + "issues: none\n",
        "issues: must be a list, like .a, b., not 'none'",
    ),
    "issues as records": (
        YAML + 'issues: [{"severity": "high", "issue": "x"}]\n',
        "issues.1: must be a text",
    ),
    "an alias": (YAML + "issues: &a [x]\nrisks: *a\n", "anchors"),
    "half a surrogate": (json.dumps({**GOOD, "feedback": "\ud800"}), "can be written"),
    "too long": (YAML + "#" * 100_000, "at most 100,000"),
    "a text that is too long": (YAML.replace("all", "a" * 60_000), "at most 50,000 characters"),
    "too many entries": (
        YAML + "issues: [" + "x," * 201 + "]",
        "issues: must have at most 200 entries",
    ),
    "very deep": ("[" * 20_000, "recursion"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_is_refused_on_one_line_that_names_it(name):
    text, words = REFUSED[name]
    with pytest.raises(replies.Invalid) as caught:
        replies.parse("verification", text)
    assert re.search(words, caught.value.what), caught.value.what
    assert "\n" not in caught.value.what and len(caught.value.what) <= 400


def test_several_faults_are_named_at_once():
    with pytest.raises(replies.Invalid) as caught:
        replies.parse(
            "test", "status: fine\ntestsRun: -1\ntestsPassed: many\ntestsFailed: 0\nmood: good\n"
        )
    assert caught.value.what.count(": ") >= 3 and "2 more" not in caught.value.what
    assert "1 more" in caught.value.what


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "status: passed\ntestsRun: 3\ntestsPassed: 2\ntestsFailed: 1",
            "status must not be passed where tests_failed is 1",
        ),
        (
            "status: failed\ntestsRun: 1\ntestsPassed: 2\ntestsFailed: 1",
            "tests_run must be at least 3, what passed and failed, not 1",
        ),
        (
            "status: failed\ntestsRun: 1\ntestsPassed: 0\ntestsFailed: 1\ncoverage: 101",
            "coverage: must be at most 100, not 101",
        ),
        (
            "status: failed\ntestsRun: 1\ntestsPassed: 0\ntestsFailed: 1\ncoverage: most",
            "coverage: must be a number, not 'most'",
        ),
        (
            "status: failed\ntestsRun: 1\ntestsPassed: 0\ntestsFailed: 1\nfailures:\n- testName: "
            "a\n  error: b\n"
            "  severity: grave",
            "failures.1.severity: must be one of critical, major, minor, suggestion, not 'grave'",
        ),
    ],
)
def test_a_test_whose_numbers_cannot_be_is_refused(text, words):
    with pytest.raises(replies.Invalid, match=words):
        replies.parse("test", text)


@pytest.mark.parametrize("given", ["87.5", "87.5%", "87.5 %"])
def test_coverage_may_have_a_fraction(given):
    text = f"status: passed\ntestsRun: 1\ntestsPassed: 1\ntestsFailed: 0\ncoverage: {given}"
    assert replies.parse("test", text)["coverage"] == 87.5


@pytest.mark.parametrize("given", ["true", "１２", "1e309", "-1"])
def test_coverage_is_a_number(given):
    for text in (
        f"status: passed\ntestsRun: 1\ntestsPassed: 1\ntestsFailed: 0\ncoverage: {given}",
        f'{{"status": "passed", "testsRun": 1, "testsPassed": 1, "testsFailed": 0, "coverage": '
        f"{given}}}",
    ):
        with pytest.raises(replies.Invalid, match="coverage"):
            replies.parse("test", text)


def test_a_whole_number_may_be_written_with_a_point():
    text = "score: 70.0\napproved: true\nrecommendation: approve\nfeedback: good"
    assert replies.parse("verification", text)["score"] == 70
    with pytest.raises(replies.Invalid, match="score"):
        replies.parse("verification", text.replace("70.0", "70.5"))


def test_a_count_beyond_all_measure_is_refused():
    for number in (1_000_000, 10**20):
        with pytest.raises(replies.Invalid, match="tests_run: must be at most"):
            replies.parse(
                "test",
                f'{{"status": "passed", "testsRun": {number}, "testsPassed": 1, "testsFailed": 0}}',
            )


def test_what_does_not_apply_may_stay_empty():
    text = "status: passed\ntestsRun: 1\ntestsPassed: 1\ntestsFailed: 0\n"
    for nothing in ("", '""', "null"):
        found = replies.parse(
            "test", f"{text}coverage: {nothing}\nfailures: {nothing}\nfixPlan: {nothing}\n"
        )
        assert (found["coverage"], found["failures"], found["fixPlan"]) == (None, [], "")
        found = replies.parse(
            "fix", f"status: fixed\nsummary: x\ntestsRun: {nothing}\ntestsPass: {nothing}\n"
        )
        assert (found["testsRun"], found["testsPass"]) == (None, None)
        assert (
            replies.parse("verification", f"{YAML}completeness: {nothing}\nissues: {nothing}\n")[
                "issues"
            ]
            == []
        )


def piece(**fields) -> dict:
    return {"description": "Add it", "complexity": "simple", "verify": "pytest -q", **fields}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"complexity": "hard"},
            "tasks.2.complexity: must be one of simple, medium, complex, not 'hard'",
        ),
        ({"verify": "pytest | tail"}, "tasks.2.verify: verification command has an unquoted"),
        ({"verify": "sh -c 'echo ok'"}, "tasks.2.verify: sh -c cannot fail, so it proves nothing"),
        ({"verify": ""}, "tasks.2.verify: must say something"),
        ({"description": None}, "tasks.2.subject: must be given"),
        ({"dependencies": [-1]}, "tasks.2: blocked_by must be given, with places counted from 1"),
        ({"dependencies": ["T-001"]}, "tasks.2: blocked_by must be given"),
        ({"dependencies": [0], "blocked_by": [1]}, "tasks.2: blocked_by must be given"),
        ({"blocked_by": [1.5]}, "tasks.2.blocked_by.1: must be a place in this list"),
        ({"files": ["/etc/passwd"]}, "tasks.2.files: a file must be a path inside the project"),
        ({"files": ["../x"]}, "tasks.2.files: a file must be a path inside the project"),
        ({"scaffold": "perhaps"}, "tasks.2.scaffold: must be true or false, not 'perhaps'"),
    ],
)
def test_a_task_of_a_plan_is_checked_where_it_stands(fields, words):
    with pytest.raises(replies.Invalid, match=words):
        replies.parse("plan", json.dumps({"tasks": [piece(), piece(**fields)]}))


def test_a_blocker_is_a_place_or_a_task_also_in_quotes():
    rows = [piece(), piece(blocked_by=["1"]), piece(blocked_by=[1, " 2 ", "T-009"])]
    read = replies.parse("plan", json.dumps({"tasks": rows}))["tasks"]
    assert [row["blockedBy"] for row in read] == [[], ["#1"], ["#1", "#2", "T-009"]]


def test_a_decision_of_a_plan_needs_a_rejected_alternative():
    row = {"title": "Per address", "context": "headers lie", "choice": "the address"}
    text = json.dumps({"tasks": [piece()], "decisions": [{**row, "alternatives": []}]})
    with pytest.raises(
        replies.Invalid, match="decisions.1.alternatives: must have at least 1 entry"
    ):
        replies.parse("plan", text)
    text = json.dumps(
        {"tasks": [piece()], "decisions": [{**row, "alternatives": [{"a key": "clients set it"}]}]}
    )
    assert replies.parse("plan", text)["decisions"][0]["alternatives"] == ["a key: clients set it"]


def test_reading_what_is_never_closed_comes_to_an_end():
    # by the square of its length each of these would take minutes
    for text in (
        "```a\n" * 9_000,
        "{\n" * 22_000,
        "score:\n" * 7_000,
        "x\n\n" * 15_000,
        "feedback: a\n\n" * 3_500,
        "{" * 50_000,
    ):
        with pytest.raises(replies.Invalid):
            replies.parse("verification", text)


# -- a numbered list as a plan


def test_a_numbered_list_is_read_as_a_plan():
    text = (
        "Here is my plan:\n\n1. Add the **store** | simple\n   beside app/cache.py\n2) Call it | "
        "Complex\n3. Test it\n"
    )
    plan = lists.fallback("plan", text, "pytest -q")
    assert [(one["description"], one["complexity"], one["verify"]) for one in plan["tasks"]] == [
        ("Add the store\nbeside app/cache.py", "simple", "pytest -q"),
        ("Call it", "complex", "pytest -q"),
        ("Test it", "medium", "pytest -q"),
    ]
    replan = lists.fallback("replan", text, "pytest -q")
    assert len(replan["subtasks"]) == 3 and replan["analysis"]
    assert set(plan) == set(replies.parse("plan", replies.example("plan")))


@pytest.mark.parametrize(
    ("kind", "text", "command"),
    [
        ("plan", "1. one | simple", None),
        ("plan", "1. one | simple", ""),
        ("plan", "no list at all", "ls"),
        ("plan", "1. one\n2. two\n\nor:\n\n1. three\n", "ls"),
        ("plan", "2. two\n3. three", "ls"),
        ("plan", "\n".join(f"{place}. step" for place in range(1, 17)), "ls"),
        ("test", "1. one | simple", "ls"),
        ("diagnosis", "1. retry", "ls"),
    ],
)
def test_no_plan_is_read_where_it_would_be_a_guess(kind, text, command):
    assert lists.fallback(kind, text, command) is None


def test_fifteen_items_are_read_and_an_unknown_word_stays_in_the_text():
    plan = lists.fallback("plan", "\n".join(f"{place}. a | b" for place in range(1, 16)), "ls")
    assert len(plan["tasks"]) == 15 and plan["tasks"][0]["description"] == "a | b"
