"""Prompts on disk: a file each, by what is asked for and how often, with its token."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loopkit.store import prompts
from tests.core.roles import named


def test_each_prompt_has_a_name_of_its_own(tmp_path: Path) -> None:
    names = [
        prompts.name(named("plan", None), 1),
        prompts.name(named("replan", "T-003"), 1),
        prompts.name(named("test", "T-001"), 12),
        prompts.name(named("verification", "plan"), 2),
        prompts.name(named("verification", "goal"), 1),
    ]
    assert names == [
        "plan-1",
        "replan-T-003-1",
        "test-T-001-12",
        "verification-plan-2",
        "verification-goal-1",
    ]
    assert [prompts.named(prompts.token(one)) for one in names] == names
    path = prompts.write(str(tmp_path), named("test", "T-001"), 1, "größe 漢字 \ud800\n", {"a": 1})
    assert path == str(tmp_path / "prompts" / "test-T-001-1.md")
    text = "loop:test-T-001-1\n\ngröße 漢字 ?\n"
    assert Path(path).read_bytes() == text.encode()
    assert prompts.read(str(tmp_path), "test-T-001-1") == text
    assert prompts.schema(str(tmp_path), "test-T-001-1") == {"a": 1}
    assert sorted(os.listdir(tmp_path / "prompts")) == ["test-T-001-1.json", "test-T-001-1.md"]


@pytest.mark.parametrize(
    "text",
    ["", "loop:", "loop:../x", "loop:a/b", "loop:.x", "Loop:a-1", "do loop:a-1", "loop:a-1 now",
     "loop:" + "a" * 101, "loop:a\x00", "loop:ä-1", "# x\nloop:a-1", None, 3],
)  # fmt: skip
def test_what_is_no_token_has_no_name(text: object) -> None:
    assert prompts.named(text) == ""


@pytest.mark.parametrize("text", ["loop:a-1", " loop:a-1 \r\n", "\nloop:a-1\n\nand be quick"])
def test_a_token_is_the_first_line(text: str) -> None:
    assert prompts.named(text) == "a-1"


def test_what_is_not_there_or_of_another_name_is_none(tmp_path: Path) -> None:
    assert prompts.read(str(tmp_path), "x-1") is None is prompts.schema(str(tmp_path), "x-1")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "x-1.md").write_text("loop:y-1\n")
    for text in ("{", "[]", "[" * 100_000):
        (tmp_path / "prompts" / "x-1.json").write_text(text)
        assert prompts.read(str(tmp_path), "x-1") is None is prompts.schema(str(tmp_path), "x-1")


def test_nothing_is_written_or_read_through_a_link(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "loop"
    elsewhere.mkdir()
    folder.mkdir()
    (elsewhere / "x-1.md").write_text("loop:x-1\n")
    (folder / "prompts").symlink_to(elsewhere)
    with pytest.raises(OSError):
        prompts.write(str(folder), named("test", "T-001"), 1, "x")
    assert prompts.read(str(folder), "x-1") is None
    assert os.listdir(elsewhere) == ["x-1.md"]
