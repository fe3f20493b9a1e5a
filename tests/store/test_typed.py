"""The words after /loop:start: kept by session, given out as they were typed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.store import typed


@given(text=some.text(some.characters()), session=some.text(some.characters(), max_size=200))
def test_any_words_of_any_session_come_back(
    tmp_path_factory: pytest.TempPathFactory, text: str, session: str
) -> None:
    data = str(tmp_path_factory.mktemp("d"))
    typed.save(data, session, text)
    assert typed.load(data, session) == text
    assert Path(typed.path(data, session)).parent == Path(data, "prompts"), (
        "no name leads out of the folder"
    )
    typed.forget(data, session)
    assert typed.load(data, session) is None


def test_nothing_kept(tmp_path: Path) -> None:
    assert typed.load(str(tmp_path), "s") is None
    typed.forget(str(tmp_path), "s")


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"{}", b'{"text":1}', b"\xff"])
def test_a_damaged_file_is_nothing(tmp_path: Path, raw: bytes) -> None:
    typed.save(str(tmp_path), "s", "x")
    Path(typed.path(str(tmp_path), "s")).write_bytes(raw)
    assert typed.load(str(tmp_path), "s") is None


def test_others_cannot_read_the_folder(tmp_path: Path) -> None:
    typed.save(str(tmp_path), "s", "x")
    assert os.stat(tmp_path / "prompts").st_mode & 0o077 == 0
