"""Bytes and letters that are not what one expects: input, files, names and environments in other
encodings."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz.targets import FORBIDDEN
from tests.hooks.conftest import S1, Project

BOM = b"\xef\xbb\xbf"


def stop_input(project: Project, **more: object) -> dict:
    given = {
        "session_id": S1,
        "cwd": str(project.folder),
        "transcript_path": str(project.transcript),
    }
    return {**given, "stop_hook_active": False, "background_tasks": [], **more}


# -- what the client sends


@pytest.mark.parametrize(
    ("how", "held"),
    [
        pytest.param(lambda text: BOM + text.encode(), True, id="a byte order mark before it"),
        pytest.param(
            lambda text: text.replace("{", "{\r\n", 1).encode() + b"\r\n", True, id="CRLF"
        ),
        pytest.param(
            lambda text: text.encode().replace(b"words", b"w\x8frds"),
            True,
            id="a byte of no UTF-8 in a text",
        ),
        pytest.param(
            lambda text: text.replace("words", "\\ud800 \\udfff").encode(),
            True,
            id="lone surrogates, escaped",
        ),
        pytest.param(
            lambda text: text.encode().replace(b"words", b"\xed\xa0\x80"),
            True,
            id="a surrogate as bytes",
        ),
        pytest.param(
            lambda text: text.replace("words", "\u2028\u2029\x85\x7f").encode(),
            True,
            id="line separators",
        ),
        pytest.param(
            lambda text: text.replace("words", "\\u0000").encode(), True, id="NUL, escaped"
        ),
        pytest.param(lambda text: text.encode("utf-16"), False, id="UTF-16"),
        pytest.param(lambda text: text.encode("utf-32-le"), False, id="UTF-32"),
        pytest.param(lambda text: b"\x00" * 100 + text.encode(), False, id="NUL before it"),
    ],
)
def test_a_turns_input(project: Project, how: Callable[[str], bytes], held: bool) -> None:
    """What can be read as UTF-8 holds, whatever its texts contain; the rest is nothing,
    silently."""
    project.start()
    raw = how(json.dumps(stop_input(project, last_assistant_message="words"), ensure_ascii=False))
    answer = project.call("stop", raw)
    assert (answer.exit, answer.err) == (0, b"")
    assert answer.held if held else answer.silent
    assert project.log() == ""


@pytest.mark.parametrize("name", ["日本語", "e\u0301", "\u202e", "a b", "\ud800", "x" * 5000])
def test_a_session_of_any_name(project: Project, name: str) -> None:
    """It owns the loop that names it, and only that one; no name leads to a fault."""
    project.start(session_id=name)
    assert project.call("stop", json.dumps(stop_input(project, session_id=name)).encode()).held
    assert project.call(
        "stop", json.dumps(stop_input(project, session_id=name + "x")).encode()
    ).silent
    assert project.log() == ""


# -- names of folders


def test_a_folder_whose_name_is_no_utf8(tmp_path: Path) -> None:
    """The client can only send it mangled: the hook goes by where it runs."""
    top = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    top.mkdir()
    project = Project(top)
    project.start()
    answer = project.call("stop", json.dumps(stop_input(project), ensure_ascii=True).encode())
    assert answer.held
    mangled = stop_input(
        project, cwd=os.fsencode(project.folder).decode("utf-8", "replace"), transcript_path=""
    )
    answer = project.call("stop", json.dumps(mangled, ensure_ascii=False).encode())
    assert answer.held and project.log() == ""


@pytest.mark.parametrize("there", ["NFC", "NFD"])
def test_a_folder_that_is_spelt_otherwise(tmp_path: Path, there: str) -> None:
    """é as one letter on disk and as two in the input, or the reverse."""
    top = tmp_path / unicodedata.normalize(there, "été")
    top.mkdir()
    project = Project(top)
    project.start()
    other = unicodedata.normalize("NFD" if there == "NFC" else "NFC", str(project.folder))
    assert other != str(project.folder)
    given = stop_input(project, cwd=other, transcript_path=other + "/t.jsonl")
    assert project.call("stop", json.dumps(given, ensure_ascii=False).encode()).held
    assert project.log() == ""


def test_variables_that_are_no_utf8(project: Project) -> None:
    """A list id and a project folder of odd bytes: the list is not there, the loop is."""
    project.start()
    odd = os.fsdecode(b"\xff/\xfe")
    answer = project.stop(CLAUDE_CODE_TASK_LIST_ID=odd, CLAUDE_PROJECT_DIR=odd)
    assert answer.held and project.log() == ""


# -- files


LEDGER: dict[str, Callable[[bytes], bytes]] = {
    "CRLF": lambda raw: raw.replace(b"\n", b"\r\n"),
    "a byte order mark at every line": lambda raw: b"".join(
        BOM + one for one in raw.splitlines(keepends=True)
    ),
    "zeros at the end": lambda raw: raw + b"\x00" * 4096,
    "a line of another encoding": lambda raw: raw + '{"é":1}\n'.encode("utf-16"),
    "escapes for every letter": lambda raw: b"".join(
        json.dumps(json.loads(one), ensure_ascii=True).encode() + b"\n" for one in raw.splitlines()
    ),
}


@pytest.mark.parametrize("how", LEDGER)
def test_a_ledger_that_went_through_another_program(project: Project, how: str) -> None:
    """Holds with every task; what is recorded afterwards is there too."""
    project.start("größer ⚠️", "b")
    (project.root / "workflow-state.json").unlink()
    project.ledger.write_bytes(LEDGER[how](project.ledger.read_bytes()))
    assert "größer ⚠" in project.stop().held
    project.record("task_added", task={"id": "T-003", "subject": "c"})
    assert [task.subject for task in project.state().tasks.values()] == ["größer ⚠️", "b", "c"]
    assert project.log() == ""


@pytest.mark.parametrize(
    "raw", [b"\xff\xfe", BOM + b"{}\n", "é\n".encode("latin-1"), b"\x00" * 5000, b"\r" * 5000]
)
def test_a_transcript_in_another_encoding(project: Project, raw: bytes) -> None:
    project.start()
    project.transcript.write_bytes(raw)
    assert project.stop().held and project.log() == ""


@pytest.mark.parametrize("codec", ["utf-16", "latin-1", "utf-8-sig"])
def test_a_task_file_in_another_encoding(project: Project, codec: str) -> None:
    """What the client would not read either says nothing and stays as it is; with a byte order mark
    it is read."""
    project.start()
    file = project.native("1", subject="größer")
    raw = json.dumps(
        {**json.loads(file.read_text()), "subject": "größer"}, ensure_ascii=False
    ).encode(codec)
    file.write_bytes(raw)
    assert project.stop().held
    taken = [task.subject for task in project.state().tasks.values()]
    assert taken == ["write the limiter", *(["größer"] if codec == "utf-8-sig" else [])]
    if codec != "utf-8-sig":
        assert file.read_bytes() == raw and "unreadable 1.json" in project.log()


# -- what is said


@pytest.mark.parametrize(
    "subject",
    [
        "👩‍💻" * 200,
        "e\u0301" * 300,
        "\u0600" * 300,
        "\u202e" * 300,
        "﷽" * 200,
        "𝒳" * 400,
        "\u200d" * 300,
        "a\n" * 200,
    ],
)
def test_a_hold_stays_small_and_whole_whatever_the_letters(project: Project, subject: str) -> None:
    """At most 500 characters, no half letter, nothing that turns or hides text; the next command is
    there."""
    project.start(subject, subject, subject)
    for answer in (project.stop().held, project.session_start("startup").json["systemMessage"]):
        assert len(answer) <= 500 and not FORBIDDEN.intersection(answer)
        answer.encode("utf-8")
        assert len([one for one in answer.splitlines() if one.lower().startswith("next: ")]) == 1
