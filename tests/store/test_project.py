"""Marker files on disk: what is read, what is passed over, and that nothing there can make it
fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loopkit.core.evidence import checks
from loopkit.store import project


def put(root: Path, files: dict) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def commands(root: Path) -> list[str]:
    return [one.command for one in project.checks(str(root))]


def test_root_and_one_level_below(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "Makefile": "test:\n\tgo test\n",
            "web/package.json": '{"scripts": {"test": "jest"}}',
            "web/deep/package.json": '{"scripts": {"lint": "eslint ."}}',
            "node_modules/x/package.json": "{}",
            "vendor/package.json": '{"scripts": {"test": "jest"}}',
            ".hidden/Makefile": "test:\n\tx\n",
        },
    )
    assert commands(tmp_path) == ["make test", "npm --prefix web test"]


def test_a_tests_folder_below_is_known(tmp_path: Path) -> None:
    put(tmp_path, {"api/pyproject.toml": "", "api/tests/test_a.py": ""})
    assert commands(tmp_path) == ["python -m pytest -q api"]


def test_only_scripts_that_may_be_run(tmp_path: Path) -> None:
    put(tmp_path, {"script/test": "#!/bin/sh\n", "script/lint": "#!/bin/sh\n"})
    (tmp_path / "script/test").chmod(0o755)
    assert commands(tmp_path) == ["script/test"]


def test_an_environment_of_the_project(tmp_path: Path) -> None:
    put(tmp_path, {"pytest.ini": "", ".venv/bin/python": ""})
    assert commands(tmp_path) == [".venv/bin/python -m pytest -q"]


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbftest:\n\tx\n",
        b"test:\r\n\tx\r\n",
        b"# \xff\xfe\ntest:\n\tx\n",
        b"\x00\ntest:\n\tx\n",
    ],
    ids=["byte order mark", "CRLF", "not UTF-8", "NUL"],
)
def test_odd_bytes(tmp_path: Path, text: bytes) -> None:
    put(tmp_path, {"Makefile": text})
    assert commands(tmp_path) == ["make test"]


def test_a_huge_file_is_there_but_unread(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "Makefile": b"test:\n\tx\n" + b"#" * project.LARGEST,
            "go.mod": b"x" * (project.LARGEST + 1),
        },
    )
    assert commands(tmp_path)[0] == "go test ./..."


def test_what_is_no_file_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "Makefile").mkdir()
    os.mkfifo(tmp_path / "package.json")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "go.mod").symlink_to(tmp_path / "go.mod")
    (tmp_path / "Cargo.toml").symlink_to(tmp_path / "nowhere")
    assert commands(tmp_path) == []


def test_names_that_no_command_line_can_hold(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    with open(folder + b"/go.mod", "wb"):
        pass
    put(tmp_path, {"a\nb/go.mod": "", "-x/go.mod": "", "my app/go.mod": ""})
    assert commands(tmp_path) == [
        "go -C 'my app' test ./...",
        "go -C 'my app' vet ./...",
        "go -C 'my app' build ./...",
    ]


def test_a_folder_full_of_files(tmp_path: Path) -> None:
    put(
        tmp_path,
        {"go.mod": "", **{f"test_{number}.py": "import unittest" for number in range(2500)}},
    )
    for number in range(2500):
        (tmp_path / f"{number}").touch()
    assert "go test ./..." in commands(tmp_path)


def test_no_folder_no_checks(tmp_path: Path) -> None:
    assert project.checks(str(tmp_path / "nowhere")) == []


def test_only_what_is_installed_is_hinted_at(tmp_path: Path) -> None:
    """Hints at `uv run …` where there is no uv, or at a mypy that its venv lacks, cost an attempt
    each."""
    programs, libraries = tmp_path / "programs", tmp_path / ".venv" / "lib" / "python3.12"
    for file in (programs / "make", tmp_path / ".venv" / "bin" / "python"):
        file.parent.mkdir(parents=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    (libraries / "site-packages" / "pytest").mkdir(parents=True)
    lines = [
        *("make test", "uv run pytest -q", "mypy", ".venv/bin/python -m pytest -q"),
        *(".venv/bin/python -m mypy .", ".venv/bin/python -m unittest", ".tox/bin/python -m x"),
    ]
    rows = [checks.check(checks.TEST, line, "why") for line in lines]

    def left() -> list[str]:
        return [row.command for row in project.installed(rows, str(tmp_path), str(programs))]

    unknown = ["make test", ".venv/bin/python -m pytest -q", ".venv/bin/python -m mypy ."]
    unknown.append(".venv/bin/python -m unittest")
    assert left() == unknown, "no pyvenv.cfg: it may have others"
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("include-system-site-packages = false\n")
    assert left() == [line for line in unknown if "mypy" not in line]
