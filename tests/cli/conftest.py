"""A project of a test's own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.kit import Project


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Project:
    """A git repository with one commit, in an environment with nothing of anybody else in it."""
    folder = tmp_path / "proj & co"
    folder.mkdir()
    environment = {name: os.environ[name] for name in os.environ if name.startswith("GIT_")}
    environment |= {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LOOPKIT_DATA": str(tmp_path / "data"),
    }
    environment["CLAUDE_PID"] = str(os.getpid())
    subprocess.run(["git", "init", "-q", folder], check=True, env=environment)
    subprocess.run(
        ["git", "-C", folder, "commit", "-qm", "x", "--allow-empty"], check=True, env=environment
    )
    return Project(folder, environment)
