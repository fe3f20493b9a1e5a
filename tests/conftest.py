"""What all tests share: an empty HOME, an environment without a trace of the session that runs
them, a prepared data folder.

script/test sets LOOPKIT_TEST_CACHE, LOOPKIT_TEST_CLIENT, LOOPKIT_TEST_DATA and LOOPKIT_TEST_WHEELS;
a bare `pytest` finds the client that an earlier script/test left in the cache, and builds the rest.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from loopkit.core.journal.events import Table

ROOT = Path(__file__).resolve().parents[1]

FOREIGN = ("CLAUDE", "LOOPKIT_", "ANTHROPIC_", "MCP_", "GIT_", "XDG_", "PYTEST_ADDOPTS")

GIT = {
    "GIT_AUTHOR_NAME": "A. Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.com",
    "GIT_COMMITTER_NAME": "A. Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.com",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


#: A field that an event type does not declare is a mistake of the code under test.
Table.strict = True


#: Half of hypothesis' own number of examples; the machine may be busy.
settings.register_profile("half", parent=settings(), max_examples=50, deadline=None)
settings.load_profile("half")


def _remember_cache() -> None:
    """Note where the cache is, and the client in it, before HOME changes."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    cache = os.environ.setdefault("LOOPKIT_TEST_CACHE", f"{cache}/loopkit-tests")
    version = json.loads((ROOT / "tests/package.json").read_text())["dependencies"][
        "@anthropic-ai/claude-code"
    ]
    client = Path(cache, version, "node_modules", ".bin", "claude")
    if client.exists():
        os.environ.setdefault("LOOPKIT_TEST_CLIENT", str(client))


def pytest_configure(config: pytest.Config) -> None:
    """Clean the environment before any test module is imported."""
    if "LOOPKIT_TEST_HOME" in os.environ:  # a worker: its parent did this
        return
    _remember_cache()
    for name in list(os.environ):
        if name.startswith(FOREIGN) and not name.startswith("LOOPKIT_TEST_"):
            del os.environ[name]
    top = tempfile.mkdtemp(prefix="loopkit-home-")
    config.add_cleanup(lambda: shutil.rmtree(top, ignore_errors=True))
    home, compiled = (os.path.join(top, name) for name in ("home", "pyc"))
    for folder in (home, compiled):
        os.mkdir(folder)
    os.environ.update(GIT, HOME=home, LOOPKIT_TEST_HOME=home, LOOPKIT_TEST_PYC=compiled)


def share_compiled(data: Path) -> None:
    """Let hooks that are started with this data folder find their modules compiled, which costs
    more than a hook."""
    (data / "pyc").symlink_to(os.environ["LOOPKIT_TEST_PYC"])


#: Where single tests take long.
LONG = ("tests/client/", "tests/crash/", "tests/test_bootstrap.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin the long tests first, a half of them at the head of each worker's half of all tests: at
    the end no worker is left alone with one. A module stays whole, since its tests share set-ups.
    """
    long = [item for item in items if item.nodeid.startswith(LONG)]
    short = [item for item in items if not item.nodeid.startswith(LONG)]
    ahead = set(list(dict.fromkeys(item.path for item in long))[::2])
    first = [item for item in long if item.path in ahead]
    second = [item for item in long if item.path not in ahead]
    half = max(0, len(items) // 2 - len(first))
    items[:] = first + short[:half] + second + short[half:]


#: What the tests have counted, by their names: faults injected, survived, and so on.
COUNTED: Counter = Counter()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what a test has counted; workers send it with their reports."""
    if report.when == "teardown":
        for name, value in report.user_properties:
            if name == "tally":
                COUNTED.update(value)  # type: ignore[arg-type]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print it, before the runner's own last line."""
    if COUNTED:
        terminalreporter.section("counted")
        for name in sorted(COUNTED):
            terminalreporter.line(f"{name}: {COUNTED[name]:,}")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME of this test's own."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def other_pid() -> Iterator[str]:
    """The id of a process that lives as long as the test and is not the one that runs it; that of
    our parent may be 1, which is no client's."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        yield str(child.pid)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which bin/loopkit is prepared; shared, so only read by tests."""
    folder = Path(
        os.environ.get("LOOPKIT_TEST_DATA")
        or tmp_path_factory.getbasetemp().parent / "loopkit-data"
    )
    subprocess.run([sys.executable, "-I", ROOT / "loopkit/bootstrap.py", ROOT, folder], check=True)
    return folder


@pytest.fixture
def without_network() -> dict[str, str]:
    """Variables with which pip and uv install from the folder of wheels that script/setup
    downloaded; a bare `pytest` has none."""
    wheels = os.environ.get("LOOPKIT_TEST_WHEELS")
    if not wheels:
        return {}
    links = dict.fromkeys(("PIP_FIND_LINKS", "UV_FIND_LINKS"), wheels)
    return {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1", **links}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, without_network: dict[str, str]) -> None:
    """pip and uv install from there in this process too."""
    if not without_network:
        pytest.skip("needs the wheels that script/test downloads")
    for name, value in without_network.items():
        monkeypatch.setenv(name, value)
