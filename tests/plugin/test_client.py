"""The pinned client's own opinion of the three plugins: strict validation, and what they cost."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.client.harness import sandbox
from tests.client.model import Scenario, Text, bash
from tests.plugin.bundle import ALWAYS_ON, PLUGINS, ROOT, calls_with_here_document


@pytest.fixture(scope="module")
def client() -> str:
    """The client's program; without one these tests are skipped, under CI they fail."""
    given = os.environ.get("LOOPKIT_TEST_CLIENT")
    if not given:
        needed = json.loads((ROOT / "tests" / "package.json").read_text(encoding="utf-8"))
        version = {**needed.get("dependencies", {}), **needed.get("devDependencies", {})}[
            "@anthropic-ai/claude-code"
        ]
        cache = os.environ.get("LOOPKIT_TEST_CACHE")
        base = (
            Path(cache)
            if cache
            else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loopkit-tests"
        )
        given = str(base / version / "node_modules" / ".bin" / "claude")
    if not os.access(given, os.X_OK):
        if os.environ.get("CI"):
            pytest.fail(f"no client at {given}; script/test installs it")
        pytest.skip("no client; script/test installs it")
    return given


@pytest.fixture
def run(client, tmp_path):
    """Run the client in the bundle's folder, away from any personal set-up; gives the finished
    process."""
    environment = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "DISABLE_AUTOUPDATER": "1",
    }
    environment |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

    def call(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [client, *arguments], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            encoding="utf-8", timeout=120,
        )  # fmt: skip

    return call


@pytest.mark.parametrize("plugin", PLUGINS)
def test_strict_validation_for_the_directory_is_clean(run, plugin):
    done = run("plugin", "validate", "--strict", "--profile", "directory", str(PLUGINS[plugin]))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_live_line_is_a_module_that_nothing_depends_on(run):
    """Function hooks are early access: the module stands apart, and the client reads from it what
    it hooks and calls."""
    done = run("plugin", "validate", "--strict", str(ROOT / "mods" / "live"))
    assert done.returncode == 0 and "modules: hooks/register.js" in done.stdout, done
    calls = re.search(r"register\.js calls: (.*)", done.stdout)
    named = set(re.findall(r"\$\.[a-z]+\.[a-z]+", calls[1] if calls else ""))
    assert named == {
        "$.clock.every",
        "$.process.run",
        "$.session.cwd",
        "$.session.id",
        "$.ui.status",
    }
    for folder in (
        "commands",
        "skills",
        "agents",
        "hooks",
        "bin",
        "plugins",
        "loopkit",
        "templates",
    ):
        texts = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
        assert not [path for path in texts if b"mods/live" in path.read_bytes()]


def test_the_clients_own_estimate_of_what_every_session_pays(run, capsys):
    total, shown = 0, []
    for plugin in PLUGINS:
        done = run(
            "--plugin-dir",
            str(ROOT),
            "--plugin-dir",
            str(ROOT / "plugins"),
            "plugin",
            "details",
            plugin,
        )
        found = re.search(r"Always-on:\s+~?(\d+) tok", done.stdout)
        assert found, done.stdout + done.stderr
        total += int(found.group(1))
        shown.append(f"{plugin} {found.group(1)}")
    with capsys.disabled():
        print(f"\nclaude plugin details, always on: {', '.join(shown)}, together {total} tokens")
    assert total <= ALWAYS_ON


def test_the_clients_shell_check_lets_every_example_through(client, data, tmp_path):
    commands = [call.text for call in calls_with_here_document()]
    # the reason why we ask for YAML: where no hook answers
    refused = 'loopkit panel T-003 --file - <<\'EOF\'\n{"consensus": "JSON"}\nEOF'
    said = Scenario(
        deviate=lambda turn: (
            [Text("done")] if turn.calls else [bash(one) for one in [*commands, refused]]
        )
    )
    with sandbox(tmp_path / "place", Path(client), data, said) as here:
        run = here.run("Go.", allowed=["Bash(loopkit *)"])
        results = [
            event.text for event in here.model.records[-1].turn.events if event.kind == "result"
        ]
        denied = [one["tool_input"]["command"] for one in run.result["permission_denials"]]
    assert denied == [refused], "if it lets JSON through by now, this test is out of date"
    assert ["there is no loop in this project" in one for one in results] == [True] * len(
        commands
    ) + [False]
