"""The command line's project, for commands that die; what was injected and what became of it, for
the run's summary."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.crash.kit")

from tests.cli.conftest import project, repository  # noqa: E402
from tests.cli.kit import S1, Project  # noqa: E402
from tests.crash import kit  # noqa: E402

__all__ = ["listed", "project", "repository", "strace", "tally"]


@pytest.fixture
def strace() -> None:
    """Faults can be injected; where CI runs they must be."""
    missing = kit.needs_strace()
    if missing and os.environ.get("CI"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)


@pytest.fixture
def listed(project: Project) -> Project:
    """The project, in a session that has a native task list."""
    (Path(project.environment["HOME"]) / ".claude" / "tasks" / S1).mkdir(parents=True)
    return project


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Iterator[Counter]:
    """Numbers for the table at the run's end, by their names; a test that fails adds none."""
    counted: Counter = Counter()
    yield counted
    report = getattr(request.node, "report_of_call", None)
    if report is None or report.passed:
        request.node.user_properties.append(("tally", dict(counted)))
