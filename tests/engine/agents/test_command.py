"""The agent that is any program: real processes, how their end is told, what is left of them."""

from __future__ import annotations

import os
import select
import sys
import threading
from pathlib import Path

import pytest

from loopkit.engine import process
from loopkit.engine.agents import Answer, Prompt, command
from loopkit.engine.process import Deadlines
from tests.engine.kit import Watch

ENV = {"PATH": os.environ["PATH"]}
AMPLE = Deadlines(600, 600, 600)


def run(
    folder: Path,
    *words: str,
    prompt: str = "",
    deadlines: Deadlines = AMPLE,
    env: dict | None = None,
) -> Answer:
    agent = command.Command(words, {**ENV, **(env or {})})
    return agent.run(Prompt(prompt), None, deadlines, folder)


def sh(folder: Path, line: str, **named: object) -> Answer:
    return run(folder, "sh", "-c", line, **named)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "outcome", "error"),
    [
        ("echo hello", "done", ""),
        ("echo 'the usage limit is reached, says the text'", "done", ""),
        ("true", "empty", ""),
        ("echo said; exit 7", "fatal", "exit 7: said"),
        ("echo said; echo why >&2; exit 7", "fatal", "exit 7: why"),
        ("exit 1", "fatal", "exit 1"),
        ("exit 75", "transient", "exit 75"),
        ("echo 'HTTP 529: overloaded' >&2; exit 1", "transient", "exit 1: HTTP 529: overloaded"),
        ("echo 'usage limit reached' >&2; exit 1", "limit", "exit 1: usage limit reached"),
        ("echo 'rate limit exceeded, says a test'; echo no; exit 1", "fatal", "exit 1: no"),
        ("echo 'usage limit reached'; echo '}'; exit 1", "limit", "exit 1: usage limit reached"),
        (
            "echo 'usage limit reached'; echo old >&2; exit 1",
            "limit",
            "exit 1: usage limit reached",
        ),
        ("kill -TERM $$", "interrupted", "it was ended"),
        ("exit 143", "interrupted", "it was ended"),
        ("kill -KILL $$", "fatal", "exit 137"),
    ],
)
def test_exit_code_and_last_line_tell_the_outcome(
    tmp_path: Path, line: str, outcome: str, error: str
) -> None:
    answer = sh(tmp_path, line)
    assert (answer.outcome, answer.error) == (outcome, error)
    assert answer.ended >= answer.started > 0


@pytest.mark.parametrize("words", [("no-such-program",), ("/",), ("bad\0word",)])
def test_a_program_that_cannot_be_started_is_fatal(tmp_path: Path, words: tuple) -> None:
    answer = run(tmp_path, *words)
    assert answer.outcome == "fatal" and answer.error.startswith(f"cannot start {words[0]}: ")
    assert "Errno" not in answer.error


def test_a_folder_that_is_gone_is_fatal(tmp_path: Path) -> None:
    assert run(tmp_path / "gone", "true").outcome == "fatal"


LONG = "a prompt with ünïcode\n" * 20_000  # more than a pipe holds


def test_the_prompt_comes_on_standard_input(tmp_path: Path) -> None:
    assert run(tmp_path, "cat", prompt=LONG).text == LONG


def test_or_as_a_file_wherever_an_argument_asks_for_it(tmp_path: Path) -> None:
    answer = run(tmp_path, "sh", "-c", 'cat "$1"; echo "$2"; cat', "x", "{prompt}", "--in={prompt}",
                 prompt=LONG)  # fmt: skip
    text, path = answer.text[: len(LONG)], answer.text[len(LONG) :].strip().removeprefix("--in=")
    assert text == LONG
    assert os.path.isabs(path) and not os.path.exists(path), "it is gone afterwards"
    assert list(tmp_path.iterdir()) == []


def test_a_prompt_that_nobody_reads_is_no_harm(tmp_path: Path) -> None:
    assert sh(tmp_path, "exec <&-; echo done", prompt=LONG).text == "done\n"
    assert sh(tmp_path, "echo done", prompt=LONG).text == "done\n"


@pytest.mark.parametrize("name", ["a b", "$HOME", "-x", "ü'\"", "a\nb"])
def test_odd_folders_and_programs(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    program = folder / name
    program.write_text(f"#!{sys.executable}\nimport os, sys\nprint([os.getcwd(), *sys.argv[1:]])")
    program.chmod(0o755)
    words = ["a b", "*", "", "'", "--"]
    assert run(folder, str(program), *words).text.strip() == repr([str(folder), *words])


def test_a_child_is_known_as_one_and_not_as_the_session(tmp_path: Path) -> None:
    answer = run(
        tmp_path,
        "env",
        env={"CLAUDE_CODE_TASK_LIST_ID": "x", "CLAUDE_CODE_SESSION_ID": "y", "A": "b"},
    )
    assert "LOOPKIT_CHILD=1\n" in answer.text and "A=b\n" in answer.text
    assert "CLAUDE_CODE" not in answer.text


# -- deadlines


@pytest.mark.parametrize(
    ("line", "deadlines", "late"),
    [
        ("exec sleep 1000", Deadlines(0, 600, 600), "start"),
        ("exec >&- 2>&-; sleep 1000", Deadlines(0, 600, 600), "start"),
        ("echo begun; exec sleep 1000", Deadlines(600, 0, 600), "idle"),
        ("while :; do echo more; done", Deadlines(600, 600, 0), "total"),
        ("exec sleep 1000", Deadlines(600, 600, 0), "total"),
    ],
)
def test_a_deadline_ends_it(tmp_path: Path, line: str, deadlines: Deadlines, late: str) -> None:
    answer = sh(tmp_path, line, deadlines=deadlines)
    assert answer.outcome == "timed_out"
    assert answer.error.startswith(f"{late} deadline of 0 s passed")
    assert ("no output" in answer.error) == (late == "start")


def test_what_it_said_until_then_is_kept(tmp_path: Path) -> None:
    answer = sh(tmp_path, "echo begun; exec sleep 1000", deadlines=Deadlines(600, 0, 600))
    assert answer.text == "begun\n"


needs_poll = pytest.mark.skipif(not hasattr(select, "poll"), reason="needs poll")


@needs_poll
@pytest.mark.parametrize("trap", ["", "trap '' TERM; "], ids=["ends on TERM", "ignores TERM"])
def test_a_deadline_ends_the_whole_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trap: str
) -> None:
    monkeypatch.setattr(process.end_group, "__defaults__", (0.05,))
    watch = Watch(tmp_path / "fifo")
    line = f"{trap}exec 3>fifo; sleep 1000 & (sleep 1000 & wait) & echo x; while :; do wait; done"
    assert sh(tmp_path, line, deadlines=Deadlines(600, 0, 600)).outcome == "timed_out"
    assert watch.all_gone()


@needs_poll
def test_what_lingers_does_not_hold_the_answer(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "fifo")
    answer = sh(tmp_path, "exec 3>fifo; echo x >&3; echo said; sleep 1000 & exit 0")
    assert (answer.outcome, answer.text) == ("done", "said\n")
    assert watch.all_gone()


@needs_poll
def test_an_interrupt_ends_the_group_and_all_that_comes_later(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "fifo")
    agent = command.Command(["sh", "-c", "exec 3>fifo; echo x >&3; sleep 1000 & wait"], ENV)
    answers: list[Answer] = []
    thread = threading.Thread(
        target=lambda: answers.append(agent.run(Prompt(""), None, AMPLE, tmp_path))
    )
    thread.start()
    watch.wait_for_a_word()
    agent.interrupt()
    thread.join()
    assert [answer.outcome for answer in answers] == ["interrupted"]
    assert watch.all_gone()
    assert agent.run(Prompt(""), None, AMPLE, tmp_path).outcome == "interrupted"


# -- size


def test_fifty_megabytes_are_cut_in_the_middle(tmp_path: Path) -> None:
    line = "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last"
    text = sh(tmp_path, line).text
    assert text.startswith("first\nxxx") and text.endswith("xxx\nlast\n")
    assert "bytes left out …]" in text
    assert len(text) <= command.MOST_TEXT + 100


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["ab"], "ab"),
        (["abcd", "efgh"], "abcdefgh"),
        (["abcdefgh", "i"], "abcd\n[… 1 bytes left out …]\nfghi"),
        (list("abcdefghijkl"), "abcd\n[… 4 bytes left out …]\nijkl"),
    ],
)
def test_the_beginning_and_the_end_are_kept(pieces: list[str], text: str) -> None:
    kept = process.Bounded(8)
    for piece in pieces:
        kept.feed(piece.encode())
    assert kept.text() == text
