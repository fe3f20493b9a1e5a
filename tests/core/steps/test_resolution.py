"""Which loop a message means: number, name, part of a name, description; several and none are told
with their status."""

from __future__ import annotations

import pytest

from loopkit.core.journal.errors import Refused, UsageFault
from loopkit.core.steps import resolution
from loopkit.core.steps.resolution import Row

ROWS = [
    Row("001-add-csv-export", "Add CSV export to the reports page", "completed", 3, 3),
    Row("002-fix-slow-import", "Fix the slow import of large files", "paused", 1, 4),
    Row("003-task", "レート制限をAPIに追加する", "paused: stalled", 0, 2),
    Row("004-pdf-export-invoices", "Export invoices as PDF", "running", 0, 1),
    Row("1000-rate-limiter", "Add rate limiting to the API", "running", 0, 0),
]


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("002-fix-slow-import", "002-fix-slow-import"),
        ("please go on with 002-Fix-Slow-Import.", "002-fix-slow-import"),
        ("002", "002-fix-slow-import"),
        ("2", "002-fix-slow-import"),
        ("#2", "002-fix-slow-import"),
        ("loop 2", "002-fix-slow-import"),
        ("go on with 004 please", "004-pdf-export-invoices"),
        ("1000", "1000-rate-limiter"),
    ],
)
def test_explicit(message: str, name: str) -> None:
    assert resolution.meant(ROWS, message) == name


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("slow-import", "002-fix-slow-import"),
        ("the slow-import thing", "002-fix-slow-import"),
        ("csv", "001-add-csv-export"),
        ("slow imp", "002-fix-slow-import"),
        ("invoices", "004-pdf-export-invoices"),
    ],
)
def test_partial(message: str, name: str) -> None:
    assert resolution.meant(ROWS, message) == name


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("the one about importing large files", "002-fix-slow-import"),
        ("exports of the reports", "001-add-csv-export"),
        ("the PDF export", "004-pdf-export-invoices"),
        ("制限を追加", "003-task"),
        ("limiter for the API", "1000-rate-limiter"),
    ],
)
def test_descriptive(message: str, name: str) -> None:
    assert resolution.meant(ROWS, message) == name


def test_the_most_matching_keywords_win_over_a_single_one() -> None:
    rows = [
        Row("001-limits-import", "limits of the import", "paused", 0, 0),
        Row("002-a-b", "b export", "paused", 0, 0),
    ]
    assert resolution.meant(rows, "slow import limits, not the export") == "001-limits-import"


def test_ambiguous_is_listed_with_status() -> None:
    with pytest.raises(Refused) as caught:
        resolution.meant(ROWS, "the export task")
    assert caught.value.what == (
        "several loops fit: 001-add-csv-export (completed, 3/3 tasks), 004-pdf-export-invoices "
        "(running, 0/1 tasks)"
    )
    assert caught.value.todo.startswith("ask the person")


def test_a_word_of_several_names_is_ambiguous_even_if_it_says_nothing() -> None:
    rows = [
        Row(f"00{number}-add-{word}", f"Add {word}", "paused", 0, 0)
        for number, word in enumerate(("a", "b"), 1)
    ]
    with pytest.raises(Refused, match="several loops fit: 001-add-a "):
        resolution.meant(rows, "add")


def test_two_numbers_are_ambiguous() -> None:
    with pytest.raises(Refused, match="several loops fit"):
        resolution.meant(ROWS, "002 or 004")


@pytest.mark.parametrize(
    "message", ["something else entirely", "99", "404", "the of and", "…", "🚀"]
)
def test_none_is_listed_and_asked(message: str) -> None:
    with pytest.raises(
        Refused, match=r"no loop fits: 001-add-csv-export \(completed, 3/3 tasks\), "
    ) as caught:
        resolution.meant(ROWS, message)
    assert caught.value.todo == "ask the person: go on with one of them, or start a new one"


def test_a_number_within_a_sentence_is_none_of_a_loop() -> None:
    assert resolution.meant(ROWS, "2 large files") == "002-fix-slow-import", "by what it is about"
    with pytest.raises(Refused, match="no loop fits"):
        resolution.meant(ROWS, "has 2 columns, version 1.002 and v002")


@pytest.mark.parametrize("message", ["", "  \n"])
def test_nothing_is_a_usage_fault(message: str) -> None:
    with pytest.raises(UsageFault, match="no loop is named"):
        resolution.meant(ROWS, message)


def test_a_part_counts_where_one_name_alone_has_it() -> None:
    assert resolution.meant(ROWS, "voice") == "004-pdf-export-invoices", "no word of it"
    rows = [
        Row("001-slow-import", "it is slow", "paused", 0, 0),
        Row("002-slow-import-csv", "CSV", "paused", 0, 0),
    ]
    assert resolution.meant(rows, "the slow-import of csv") == "002-slow-import-csv", (
        "both have the part, one the word"
    )


def test_loops_of_one_more_than_are_listed_are_counted() -> None:
    rows = [
        Row(f"{number:03d}-x", "x", "paused", 0, 0) for number in range(1, resolution.LISTED + 2)
    ]
    assert resolution.listed(rows).endswith(", and 1 more; see loopkit status --list")
    assert "more" not in resolution.listed(rows[1:])


def test_many_loops_are_cut() -> None:
    rows = [Row(f"{number:03d}-x", "x", "paused", 0, 0) for number in range(1, 41)]
    with pytest.raises(Refused) as caught:
        resolution.meant(rows, "nothing")
    assert (
        "and 32 more; see loopkit status --list" in caught.value.what
        and len(caught.value.what) < 400
    )


def test_a_message_of_any_size_takes_no_time() -> None:
    with pytest.raises(Refused):
        resolution.meant(ROWS, "a-" * 100_000)
