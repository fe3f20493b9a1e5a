"""A project of a test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.kit import Project


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The git folder of a repository with one empty commit; only copied, since two calls of git
    cost more than most tests."""
    folder = tmp_path_factory.mktemp("repository")
    for words in (["init", "-q"], ["commit", "-qm", "x", "--allow-empty"]):
        subprocess.run(["git", "-C", folder, *words], check=True)
    for sample in (folder / ".git" / "hooks").glob("*.sample"):
        sample.unlink()
    return folder / ".git"


@pytest.fixture
def project(tmp_path: Path, home: Path, repository: Path) -> Project:
    """A git repository with one commit, in an environment with nothing of anybody else in it."""
    folder = tmp_path / "proj & co"
    shutil.copytree(repository, folder / ".git", symlinks=True)
    environment = {name: os.environ[name] for name in os.environ if name.startswith("GIT_")}
    environment |= {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LOOPKIT_DATA": str(tmp_path / "data"),
    }
    environment["CLAUDE_PID"] = str(os.getpid())
    return Project(folder, environment)


@pytest.fixture
def dead() -> str:
    """The process number of a client that has just ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return str(process.pid)
