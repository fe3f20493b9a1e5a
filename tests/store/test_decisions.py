"""Decisions as files: their form, their names, made anew where they are gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.core.memory import learned
from loopkit.store import decisions

ONE = {
    "number": 1,
    "title": "Stream rows to the client",
    "context": "exports reach 2 GB, a worker has 512 MB",
    "choice": "generator response, 1,000 rows at a time",
    "alternatives": ["Temporary file: fills the disk when several exports run"],
    "consequences": "the length is unknown when the answer begins",
    "depends_on": "",
    "invalidated_if": "exports are made in the background",
    "at": "2026-12-01T09:30:00Z",
}
FILE = """\
# Decision 001: Stream rows to the client
**Date**: 2026-12-01
**Status**: DECISION
**Context**: exports reach 2 GB, a worker has 512 MB
**Choice**: generator response, 1,000 rows at a time
**Alternatives Rejected**:
- Temporary file: fills the disk when several exports run
**Consequences**: the length is unknown when the answer begins
**Depends On**: none
**Invalidated If**: exports are made in the background
"""


def test_the_form() -> None:
    assert decisions.text(ONE) == FILE


def test_it_stays_short_and_each_entry_on_one_line() -> None:
    rows = decisions.text(
        {**ONE, "choice": "a\nb" * 2000, "alternatives": ["x\n# y"] * 50}
    ).splitlines()
    assert len(rows) < 30 and max(map(len, rows)) < 650
    assert "- x # y" in rows


def test_names() -> None:
    assert decisions.name(ONE) == "001-stream-rows-client.md"
    assert (
        decisions.name({**ONE, "number": 12, "title": "../../etc/passwd of the host machine"})
        == "012-etc-passwd-host-machine.md"
    )
    assert decisions.name({**ONE, "title": "日本"}) == "001-task-decision.md"
    assert decisions.name({**ONE, "number": 1000, "title": "Cache"}) == "1000-cache-decision.md"


def test_they_are_made_where_they_are_missing_and_left_alone_where_not(tmp_path: Path) -> None:
    two = {**ONE, "number": 2}
    made = decisions.write(str(tmp_path), [ONE, two])
    assert [Path(one).name for one in made] == [
        "001-stream-rows-client.md",
        "002-stream-rows-client.md",
    ]
    first, second = (tmp_path / "learnings" / Path(one).name for one in made)
    first.write_text("Status: SUPERSEDED")
    second.unlink()
    assert decisions.write(str(tmp_path), [ONE, two]) == [str(second)]
    assert first.read_text() == "Status: SUPERSEDED" and second.read_text().startswith(
        "# Decision 002"
    )


LESSON = {
    "number": 3,
    "title": "Key by header",
    "what": "w",
    "why": "y",
    "avoid": "z",
    "source": "rollback",
    "at": "2026-12-01T",
}


def test_the_form_of_an_anti_pattern() -> None:
    assert decisions.text(LESSON) == (
        "# Anti-Pattern 003: Key by header\n**Date**: 2026-12-01\n**Status**: ANTI-PATTERN\n"
        "**Source**: rollback\n"
        "**What**: w\n**Why**: y\n**Instead**: z\n"
    )
    assert decisions.name({**LESSON, "title": "日本"}) == "003-task-lesson.md"


def test_both_kinds_are_found_again_by_recall_and_a_superseded_one_is_not() -> None:
    kinds = [learned.decision(decisions.text(one), "x") for one in (ONE, LESSON)]
    assert [one and one.kind for one in kinds] == ["decision", "anti-pattern"]
    assert learned.decision(decisions.text(ONE, "SUPERSEDED by 002"), "x") is None


def test_what_is_to_be_done_instead_is_told_as_that() -> None:
    found = learned.decision(decisions.text(LESSON), "x")
    assert found is not None and found.text == "instead: z"


def test_a_lesson_about_a_tree_that_was_rolled_back_is_found_no_more(tmp_path: Path) -> None:
    (made,) = decisions.write(str(tmp_path), [LESSON])
    assert learned.decision(Path(made).read_text(), "x") is not None
    decisions.write(str(tmp_path), [LESSON], withdrawn=[3])
    assert "**Status**: WITHDRAWN by a rollback\n" in Path(made).read_text()
    assert learned.decision(Path(made).read_text(), "x") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# x\r\n**Status**: DECISION\r\ny", "# x\r\n**Status**: SUPERSEDED by 002\r\ny"),
        ("# x\n**Status:** accepted by me  \n", "# x\n**Status:** SUPERSEDED by 002\n"),
        ("# x\n**Status**:\n", "# x\n**Status**:SUPERSEDED by 002\n"),
        ("# x\n**Context**: the **Status**: DECISION\n", None),
        (
            "\ufeff# x\n**Status**: DECISION\n**Status**: DECISION\n",
            "\ufeff# x\n**Status**: SUPERSEDED by 002\n**Status**: DECISION\n",
        ),
        ("", None),
    ],
)
def test_only_the_status_line_of_a_superseded_one_changes(
    tmp_path: Path, before: str, after: str | None
) -> None:
    path = tmp_path / "learnings" / "001-mine.md"
    path.parent.mkdir()
    path.write_bytes(before.encode())
    assert decisions.write(str(tmp_path), [ONE], {1: 2}) == []
    assert path.read_bytes().decode() == (before if after is None else after)
    stamp = path.stat().st_mtime_ns
    decisions.write(str(tmp_path), [ONE], {1: 2})
    assert path.stat().st_mtime_ns == stamp, "written once"


def test_a_decision_that_is_superseded_before_its_file_was_written(tmp_path: Path) -> None:
    (made,) = decisions.write(str(tmp_path), [ONE], {1: 2})
    assert "**Status**: SUPERSEDED by 002\n" in Path(made).read_text(encoding="utf-8")
