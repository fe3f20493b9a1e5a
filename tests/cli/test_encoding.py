"""Records, settings and output in other encodings, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.kit import SHAPE, Project, task

BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    "words",
    [("task", "add", "--file", "-"), ("shape", "--accept", "-"), ("clarify", "--file", "-")],
)
@pytest.mark.parametrize("codec", ["latin-1", "utf-16", "cp932"])
def test_what_is_submitted_in_another_encoding_is_refused_naming_the_byte(
    project: Project, words: tuple, codec: str
) -> None:
    project.planned()
    text = "- subject: größer\n" if codec != "cp932" else "- subject: 日本\n"
    project.refused(2, *words, given=text.encode(codec), says="standard input is not UTF-8 at byte")


@pytest.mark.parametrize(
    ("raw", "subject"),
    [
        (BOM + "- subject: größer\n  verify: 'ls'\n".encode(), "größer"),
        (b"- subject: a\r\n  verify: 'ls'\r\n", "a"),
        (b"- subject: a\r  verify: 'ls'\r", "a"),
        (json.dumps([task("größer \U0001f99c")]).encode(), "größer \U0001f99c"),
        (
            "- subject: \U0001f99c 👩‍💻 e\u0301\n  verify: 'ls'\n".encode(),
            "\U0001f99c 👩‍💻 e\u0301",
        ),
    ],
    ids=[
        "byte order mark",
        "CRLF",
        "CR alone",
        "JSON with escapes in pairs",
        "letters of several marks",
    ],
)
def test_what_is_utf8_is_taken_to_the_letter(project: Project, raw: bytes, subject: str) -> None:
    project.shaped()
    project.ok("task", "add", "--file", "-", given=raw)
    assert project.tasks["T-001"]["subject"] == subject


@pytest.mark.parametrize(
    "raw", [b"\xff\xfea\x00", "x = 'ü'".encode("latin-1"), b"a\x00b", b"# \x00"]
)
def test_settings_in_another_encoding_are_refused_in_one_line(project: Project, raw: bytes) -> None:
    project.root.mkdir()
    (project.root / "config.toml").write_bytes(raw)
    answer = project.lk("start", "--task-file", "-", given="x")
    assert answer.exit == 3 and answer.err.count("\n") == 1 and "config.toml" in answer.err
    assert [path.name for path in project.root.iterdir()] == ["config.toml"]


@pytest.mark.parametrize(
    "text",
    ["İstanbul ßtraße ﬀ", "日本語だけ", "👩‍💻🦜", "\u202e\u200b", "...", "é" * 5000, "con", "-rf"],
)
def test_a_request_in_any_script_starts_a_loop_of_a_plain_name(project: Project, text: str) -> None:
    """The folder's name is ASCII whatever the request; the request is kept to the letter."""
    project.start(text)
    assert project.name.isascii() and project.name[:3] == "001" and len(project.name) < 80
    assert project.of("loop_started")[0]["task"] == text
    assert project.lk("status").exit == 0


@pytest.mark.parametrize(
    "variables",
    [{"LC_ALL": "C", "PYTHONIOENCODING": "ascii:strict"}, {"PYTHONIOENCODING": "cp932"}],
)
def test_output_is_utf8_whatever_the_locale(project: Project, data: Path, variables: dict) -> None:
    project.shaped().ok("task", "add", "--file", "-", given=[task("größer ⚠ 日本")])
    out, err = project.program(
        "task", "list", data=data, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", **variables
    ).communicate()
    assert "größer ⚠ 日本" in out and err == ""


def test_a_shape_keeps_its_letters_and_its_bytes(project: Project) -> None:
    project.start()
    project.score()
    text = SHAPE.replace("The 101st", "Die größte 🦜")
    project.ok("shape", "--accept", "-", given=BOM + text.replace("\n", "\r\n").encode())
    assert project.of("shape_saved")[0]["criteria"][0]["text"].startswith("Die größte 🦜")
    assert "Die größte 🦜" in (project.root / project.name / "SHAPE.md").read_text(encoding="utf-8")


def test_learnings_of_several_encodings_are_read_line_by_line(project: Project) -> None:
    project.start("add a limit")
    row = {
        "ts": "2026-11-01T00:00:00Z",
        "kind": "discovery",
        "context": "limit",
        "discovery": "größer",
    }
    good = json.dumps({**row, "context": "limit two"}, ensure_ascii=False).encode()
    odd = json.dumps(row, ensure_ascii=False).encode("latin-1")
    (project.root / "learnings.jsonl").write_bytes(
        b"\n".join([odd, BOM + good, good.decode().encode("utf-16"), b""])
    )
    answer = project.lk("recall")
    assert answer.exit == 0 and "limit two: größer" in answer.out
    assert answer.err.startswith("loopkit: ") and "cannot be read" in answer.err
