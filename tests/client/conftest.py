"""Fixtures of the tests that run the real client: `place` makes a sandbox, and tells its story when
the test fails."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.client.harness import Sandbox, find_client, sandbox
from tests.client.model import Scenario

Place = Callable[..., Sandbox]


def missing(what: str) -> None:
    """Skip a test that lacks a program; where CI is set that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing")
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="session")
def client() -> Path:
    """The real client's program."""
    found = find_client()
    if found is None:
        missing("the client of tests/package.json (script/test installs it)")
    return found


@pytest.fixture
def tmux() -> None:
    """For tests that need a terminal."""
    if not shutil.which("tmux"):
        missing("tmux")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """Let fixtures know whether their test failed."""
    report = yield
    setattr(item, f"report_{report.when}", report)
    return report


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path, client: Path) -> Iterator[Place]:
    """Makes sandboxes: `place(scenario)`. With `prepared=False` its HOME has no prepared
    bin/loopkit."""
    with contextlib.ExitStack() as stack:
        made: list[Sandbox] = []

        def make(scenario: Scenario | None = None, *, prepared: bool = True) -> Sandbox:
            data = request.getfixturevalue("data") if prepared else None
            folder = tmp_path / f"place-{len(made) + 1}"
            made.append(stack.enter_context(sandbox(folder, client, data, scenario or Scenario())))
            return made[-1]

        yield make
        report = getattr(request.node, "report_call", None)
        if report is not None and report.failed:
            for one in made:
                print(f"=== the story in {one.folder}\n{one.model.story()[-20_000:]}")
