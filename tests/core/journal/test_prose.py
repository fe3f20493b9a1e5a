"""Somebody's words within text of ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.journal import prose
from loopkit.render import printable


@given(some.text(some.characters()), some.integers(1, 50))
def test_clean_gives_one_short_printable_line(text: str, most: int) -> None:
    line = prose.clean(text, most)
    assert len(line) <= most and line.isprintable()
    if len(text) <= most and text.isprintable():
        assert line == text


def test_numbers_take_the_right_form_of_their_word() -> None:
    assert [prose.count(number, "issue") for number in (0, 1, 2)] == [
        "0 issues",
        "1 issue",
        "2 issues",
    ]
    assert [prose.count(number, "criterion", "criteria") for number in (1, 2)] == [
        "1 criterion",
        "2 criteria",
    ]


def test_no_tag_is_left_in_a_text_and_comparisons_are() -> None:
    assert prose.untagged("</x> <x><!-- <\u200b/x> <é> <[") == "‹/x> ‹x>‹!-- ‹\u200b/x> ‹é> ‹["
    for plain in ("", "a < b", "1<2", "a <= b", "x <- y", "a << 3", "ends with <", "<", "<\nx"):
        assert prose.untagged(plain) == plain
    assert prose.untagged("<<x>") == "<‹x>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mFAILED\x1b[0m tests", "FAILED tests"),
        ("\x1b[1;38;5;196mred\x1b[m", "red"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x1b]0;a title\x07left", "left"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x1bPq#0;2\x1b\\b", "ab"),
        ("one\x1b(B two\x1b=", "one two"),
        ("cut here \x1b[38;5", "cut here "),
        ("cut here \x1b", "cut here "),
        ("\x1b]0;no end\nnext line", "\nnext line"),
        ("a [31m b \\x1b[0m", "a [31m b \\x1b[0m"),
        ("plain ü ✓", "plain ü ✓"),
    ],
)
def test_nothing_is_left_of_what_colours_a_terminal(text: str, shown: str) -> None:
    assert prose.plain(text) == shown
    assert prose.clean(text, 100) == shown.replace("\n", " ")
    assert printable(text) == shown


def test_a_line_is_cut_behind_its_colours() -> None:
    text = "".join(f"\x1b[38;5;{number}m{letter}" for number, letter in enumerate("abcdefgh"))
    assert prose.clean(text, 100) == "abcdefgh" and prose.clean(text, 4) == "abc…"
    assert "[" not in prose.clean(text * 50, 100)


@given(
    some.text(some.sampled_from("\x1b[]PX0;31mHa \n\x07\x9b\x9d\\"), max_size=60),
    some.integers(2, 40),
)
def test_whatever_is_cut_where_no_escape_is_shown(text: str, most: int) -> None:
    assert not set("\x1b\x9b\x9d") & set(prose.plain(text))
    assert len(prose.clean(text, most)) <= most and prose.clean(text, most).isprintable()
    assert prose.plain(prose.plain(text)) == prose.plain(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("short enough", "short enough"),
        ("File one.py, line 12\n  AssertionError: no", "… AssertionError: no"),
        ("x" * 40, "… " + "x" * 20),
    ],
)
def test_the_end_of_a_text_begins_with_a_whole_word(text: str, line: str) -> None:
    assert prose.last(text, 20) == line
