"""Answers on disk: the first one counts, none is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loopkit.store import answers

NAME = "implementation-T-001-1"


def row(text: str | None, agent: str = "a1") -> dict:
    return {"token": f"loop:{NAME}", "agent_id": agent, "text": text}


def test_the_first_answer_counts_and_later_ones_are_kept(tmp_path: Path) -> None:
    folder = str(tmp_path)
    assert answers.names(folder) == [] and answers.read(folder, NAME) is None
    assert answers.write(folder, NAME, row("größe \ud800")).endswith(f"answers/{NAME}.json")
    assert answers.write(folder, NAME, row("mine", "a2")).endswith(f"{NAME}.late-1.json")
    assert answers.write(folder, NAME, row("changed")).endswith(f"{NAME}.late-2.json")
    assert answers.read(folder, NAME) == row("größe \ud800")
    assert answers.names(folder) == [NAME]
    assert sorted(os.listdir(tmp_path / "answers")) == [
        f"{NAME}.json", f"{NAME}.late-1.json", f"{NAME}.late-2.json",
    ]  # fmt: skip


def test_what_says_nothing_new_is_not_kept(tmp_path: Path) -> None:
    folder = str(tmp_path)
    for agent in ("a1", "a3"):
        answers.write(folder, NAME, row("mine", agent))
        assert answers.write(folder, NAME, row("mine", agent)) == ""
        assert answers.write(folder, NAME, row(None, agent)) == ""
    assert len(os.listdir(tmp_path / "answers")) == 2
    for number in range(answers.MOST_LATE + 5):
        answers.write(folder, NAME, row(str(number), "a2"))
    assert len(os.listdir(tmp_path / "answers")) == answers.MOST_LATE + 1


@pytest.mark.parametrize("first", ["{", "[]", '{"text": null}', ""])
def test_an_answer_takes_the_place_of_none(tmp_path: Path, first: str) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / f"{NAME}.json").write_text(first)
    answers.write(str(tmp_path), NAME, row("mine", "a2"))
    assert answers.read(str(tmp_path), NAME) == row("mine", "a2")


def test_how_often_it_was_asked_for_anew_is_counted(tmp_path: Path) -> None:
    for count in range(3):
        assert answers.held(str(tmp_path), NAME) == count
        answers.hold(str(tmp_path), NAME)
    assert answers.names(str(tmp_path)) == []


def test_nothing_is_written_or_read_through_a_link(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "loop"
    elsewhere.mkdir()
    folder.mkdir()
    (elsewhere / f"{NAME}.json").write_text('{"text": "theirs"}')
    (folder / "answers").symlink_to(elsewhere)
    for write in (answers.write, lambda *_: answers.hold(str(folder), NAME)):
        with pytest.raises(OSError):
            write(str(folder), NAME, row("mine"))
    assert answers.read(str(folder), NAME) is None
    assert os.listdir(elsewhere) == [f"{NAME}.json"]


def test_where_files_cannot_be_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", none)
    for text in ("mine", "other"):
        answers.write(str(tmp_path), NAME, row(text))
    assert answers.read(str(tmp_path), NAME) == row("mine")
    assert sorted(os.listdir(tmp_path / "answers")) == [f"{NAME}.json", f"{NAME}.late-1.json"]
