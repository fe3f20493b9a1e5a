"""Names of loop folders."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.journal import slug


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
    assert slug.slug(text) == name


@given(some.text(some.characters()))
def test_always_a_safe_short_folder_name(text: str) -> None:
    name = slug.slug(text)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+){0,4}", name)
    assert len(name) <= slug.LONGEST


@given(some.integers(1, 100_000), some.text())
def test_the_number_can_be_read_back(number: int, text: str) -> None:
    assert slug.number_of(slug.folder(number, text)) == number
    assert slug.number_of(slug.folder(number, text) + ".purged") == number


@pytest.mark.parametrize("name", ["", "1-a", "abc", "archive", "001", "-001-a", "tree"])
def test_other_names_have_no_number(name: str) -> None:
    assert slug.number_of(name) is None
