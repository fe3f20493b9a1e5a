"""Somebody's words within text of ours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.journal import prose


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
