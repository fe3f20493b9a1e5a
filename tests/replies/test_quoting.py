"""Texts that block YAML would misread are quoted; everything else stays as it was submitted."""

from __future__ import annotations

import pytest
import yaml

from loopkit.replies import quoting

FIELDS = {"summary", "status", "issues", "verify", "tasks", "description"}
TEXTS = {"summary", "description", "verify"}


def fixed(text: str) -> str:
    return quoting.quoted(text, FIELDS, TEXTS)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("summary: a: b", {"summary": "a: b"}),
        ("summary: a:", {"summary": "a:"}),
        ("summary: see #3", {"summary": "see #3"}),
        ("summary: see\n  issue: 3\n  and #4", {"summary": "see issue: 3 and #4"}),
        ("issues:\n- a: b\n- c", {"issues": ["a: b", "c"]}),
        ("issues:\n  - a: b\n    more", {"issues": ["a: b more"]}),
        (
            "tasks:\n- description: a: b\n  status: x",
            {"tasks": [{"description": "a: b", "status": "x"}]},
        ),
        ("verify: pytest -k 'a: b'", {"verify": "pytest -k 'a: b'"}),
        ("verify: pytest -q # quick", {"verify": "pytest -q"}),
        ('verify: grep -q "x # y" a', {"verify": 'grep -q "x # y" a'}),
        ('summary: "a" and: b', {"summary": '"a" and: b'}),
        ("summary: `a`", {"summary": "`a`"}),
    ],
)
def test_what_would_be_misread_is_quoted(given, value):
    assert yaml.safe_load(fixed(given)) == value


@pytest.mark.parametrize(
    "text",
    [
        "summary: plain",
        'summary: "a: b"',
        "summary: 'a: b' # note",
        "summary: |\n  a: b # c\n\n  status: d\nstatus: e",
        "tasks:\n- description: >-\n    a: b\n  status: c",
        "status: a # note",
        "status: a: b",
        "issues: [a, b]",
        "issues:\n- status: a\n  summary: b",
        'issues: [{"a": 1}]',
        "summary: a\n\n  another: paragraph",
        'summary: "over\n  two: lines"',
        "summary:\n  a: b",
        "",
    ],
)
def test_what_is_read_as_it_stands_is_left_alone(text):
    assert fixed(text) == text
