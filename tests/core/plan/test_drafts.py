"""Tasks as they are handed in: what is refused, with place and field, and how they are
completed."""

from __future__ import annotations

import pytest

from loopkit.core.journal.errors import UsageFault
from loopkit.core.plan import drafts
from tests.core.kit import task


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("text", "task 1 is no record"),
        ({"verify": "ls"}, "task 1 has no subject"),
        ({"subject": None, "verify": "ls"}, "task 1 has no subject"),
        ({"subject": {"a": 1}, "verify": "ls"}, "subject of task 1 is no text"),
        ({"subject": " \n ", "verify": "ls"}, "task 1 has no subject"),
        ({"subject": "x" * 1001, "verify": "ls"}, "1001 characters"),
        ({"subject": "a"}, "has no verification command"),
        ({"subject": "a", "verify": None}, "has no verification command"),
        ({"subject": "a", "verify": ["ls"]}, "verify of task 1 is no text"),
        ({"subject": "a", "verify": "a && b"}, "'&'"),
        ({"subject": "a", "verify": "echo 'x"}, "cannot be split"),
        ({"subject": "a", "verify": "ls", "complexity": "huge"}, "complexity 'huge'"),
        ({"subject": "a", "verify": "ls", "files": "a.py"}, "files of task 1 is not a list"),
        (
            {"subject": "a", "verify": "ls", "blocked_by": [1.5]},
            "blocked_by of task 1 is not a list",
        ),
        ({"subject": "a", "verify": "ls", "blockedBy": []}, "unknown fields: blockedBy"),
    ],
)
def test_a_draft_is_checked(row: object, words: str) -> None:
    with pytest.raises(UsageFault) as caught:
        drafts.draft(row, 1)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "path",
    ["", " ", "a\0b", "/etc/passwd", "\\\\host\\x", "C:/x", "c:\\x", "..", "a/../../b", "a\\..\\b"],
)
def test_a_path_outside_the_project_is_none(path: str) -> None:
    with pytest.raises(UsageFault, match="no path inside the project"):
        drafts.paths(["a.py", path], "it")


def test_a_path_has_one_form() -> None:
    assert drafts.paths(["./a.py", "a.py", "b//c/", "d/./e"], "it") == ["a.py", "b/c", "d/e"]
    assert drafts.paths(None, "it") == []


def test_a_draft_is_completed() -> None:
    row = drafts.draft({"subject": " a\n b ", "verify": " ls "}, 1)
    assert (row["subject"], row["verify"], row["complexity"], row["files"]) == (
        "a b",
        "ls",
        "medium",
        [],
    )
    assert len(drafts.draft(task("x" * 1000), 1)["subject"]) == 1000
