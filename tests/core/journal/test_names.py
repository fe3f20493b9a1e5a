"""Names of loop folders."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.journal import prose


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Add user auth", "add-user-auth"),
        ("please add rate limiting to the API", "add-rate-limiting-api"),
        ("Größe ändern", "groe-andern"),
        ("日本語", "task"),
        ("", "task"),
        ("../../etc/passwd; rm -rf /", "etc-passwd-rm-rf"),
    ],
)
def test_examples(text: str, name: str) -> None:
    assert prose.slug(text) == name


@given(some.text(some.characters()))
def test_always_a_safe_short_folder_name(text: str) -> None:
    name = prose.slug(text)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+){0,4}", name)
    assert len(name) <= prose.LONGEST


@given(some.integers(1, 100_000), some.text())
def test_the_number_can_be_read_back(number: int, text: str) -> None:
    assert prose.loop_number(prose.loop_folder(number, text)) == number
    assert prose.loop_number(prose.loop_folder(number, text) + ".purged") == number


@pytest.mark.parametrize(
    "name",
    ["", "1-a", "abc", "archive", "001", "-001-a", "tree", "٣٣٣-a", "²²²-a", "9" * 250 + "-a"],
)
def test_other_names_have_no_number(name: str) -> None:
    assert prose.loop_number(name) is None


def test_a_word_that_does_not_fit_is_left_out_and_none_is_cut() -> None:
    long = "antidisestablishmentarianismus" * 2
    assert prose.slug(f"fix {long} quickly") == "fix-quickly"
    assert prose.slug(long) == "task"
