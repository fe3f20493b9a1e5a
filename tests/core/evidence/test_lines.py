"""Which lines of Bash are calls of loopkit that may run unasked."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import click
import pytest

import loopkit.cli
from loopkit.core.evidence import lines
from tests.core.attacks import ATTACKS

SAFE = [
    "loopkit next",
    "loopkit status",
    "loopkit status --list --json",
    "loopkit  next  ",
    "loopkit next\n",
    "loopkit verify T-001",
    "loopkit task show T-001",
    "loopkit start --from-prompt",
    "loopkit wave next --sequential",
    "loopkit ask 'Which of the two; is it $HOME or `pwd`?'",
    "loopkit task fail T-001 --error 'it said: no && rm -rf x' --suggest retry",
    "loopkit score --outcome=2 --scope 1 --topics api,auth",
    "loopkit submit --file -  <<'EOF'\na: \"it's\" $(x) `y` {\"b\": '1'}\n  EOF\nEOF \n\nEOF",
    "loopkit shape --accept - <<'END_OF_SHAPE'\nEOF\nEND_OF_SHAPE\n",
    "loopkit --help",
    "loopkit --version",
    "loopkit review resolve --help",
    "loopkit allow -h",
]


@pytest.mark.parametrize("text", SAFE, ids=repr)
def test_a_safe_line_may_run(text: str) -> None:
    line = lines.read(text)
    assert line is not None and lines.safe(line.words)
    assert ("loopkit" + line.rest).rstrip() == text.rstrip()


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "dash"])
def test_a_shell_reads_the_same_words(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    program = tmp_path / "loopkit"
    program.write_text(
        "#!/usr/bin/env python3\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n"
    )
    program.chmod(0o755)
    for text in SAFE:
        line = lines.read(text)
        assert line is not None
        script = f"'{program}'{line.rest}"
        done = subprocess.run([shell, "-c", script], cwd=tmp_path, capture_output=True, text=True)
        assert [json.loads(row) for row in done.stdout.splitlines()] == [line.words], script


@pytest.mark.parametrize("text", ATTACKS, ids=repr)
def test_no_attack_may_run(text: str) -> None:
    line = lines.read(text)
    assert line is None or not lines.safe(line.words) and line.words != lines.ALLOW


@pytest.mark.parametrize("given", [None, 1, [], {}, "", "loopkit"])
def test_anything_else_is_nobodys(given: object) -> None:
    line = lines.read(given)
    assert line is None or not lines.safe(line.words)


@pytest.mark.parametrize("name", lines.SAFE)
def test_the_table_names_what_a_command_takes(name: str) -> None:
    command: click.Command | None = loopkit.cli.cli
    while isinstance(command, click.Group) and command.name in (
        None,
        "cli",
        "task",
        "wave",
        "worktree",
    ):
        word = name.split()[0 if command is loopkit.cli.cli else 1]
        command = command.get_command(click.Context(command), word)
    assert command is not None
    takes = {
        option: isinstance(one, click.Option) and not one.is_flag
        for one in command.params
        for option in one.opts
    }
    options = [*lines.SAFE[name].replace("*", "").split(), *name.split()]
    for option in [option for option in options if option.startswith("-")]:
        assert takes[option.rstrip("=")] == option.endswith("="), option
    words = any(isinstance(one, click.Argument) for one in command.params)
    assert words or "*" not in lines.SAFE[name]
