"""The first command after installing, whichever way and in whichever session: the typed text
arrives, the loop holds."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.client.harness import DEADLINE, PLUGINS, Sandbox
from tests.client.model import Text
from tests.client.scenarios import greetings
from tests.client.test_install import checkout, claude
from tests.client.test_start_text import assert_kept

__all__ = ["checkout"]

TEXT = """it's "quoted", $HOME, $(touch pwned) and `touch pwned` | cat > pwned; end"""
#: Where a repository could be cloned from, if this machine's git did not know it better.
URL = "https://git.example.test/loopkit.git"


def install(here: Sandbox, checkout: Path, way: str) -> None:
    """Make the plugins available in a way."""
    source = str(checkout)
    if way == "git":
        source = URL
        (here.home / ".gitconfig").write_text(
            f'[url "file://{repository(here, checkout)}"]\n insteadOf = {URL}\n'
        )
    for words in (("marketplace", "add", source), ("install", "loop@loopkit")):
        done = claude(here, "plugin", *words)
        assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(claude(here, "plugin", "list", "--json").stdout)
    listed = {row["id"]: row["enabled"] for row in told}
    assert all(listed.get(f"{name}@loopkit") for name in PLUGINS), listed


def repository(here: Sandbox, checkout: Path) -> Path:
    """The checkout as a repository of its own."""
    folder = here.folder / "repository"
    here.git("clone", "-q", "--bare", str(here.project), str(folder))
    files = [f"--git-dir={folder}", f"--work-tree={checkout}"]
    here.git(*files, "add", "-f", "-A")
    here.git(*files, "commit", "-q", "-m", "All of it")
    return folder


def idle(here: Sandbox) -> None:
    """Once there are tasks the model does nothing any more, so that its loop is held until it
    counts as stalled."""
    here.model.scenario.deviate = lambda turn: (
        [Text("I see.")] if turn.main and here.events("task_added") else None
    )


def data_folders(here: Sandbox) -> list[str]:
    """The plugins' data folders that hold anything: the client makes an empty one for each plugin
    with hooks."""
    folders = (here.home / ".claude" / "plugins" / "data").iterdir()
    return [folder.name for folder in folders if os.listdir(folder)]


def doctor(here: Sandbox, checkout: Path) -> str:
    """What the checkout's own program says in another window; it must find that a loop would
    work."""
    env = {
        name: value
        for name, value in here.environment().items()
        if not name.startswith("ANTHROPIC")
    }
    program = [str(checkout / "bin" / "loopkit"), "doctor"]
    done = subprocess.run(
        program, cwd=here.project, env=env, capture_output=True, encoding="utf-8", timeout=DEADLINE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "claude plugin disable" not in done.stdout
    return " ".join(done.stdout.split())


def held(here: Sandbox) -> bool:
    return "hold" in [row["decision"] for row in here.events("iteration_ended")]


@pytest.mark.parametrize("way", ["path", "git"])
def test_headless(place, checkout: Path, way: str, without_network: dict[str, str]) -> None:
    """Once with nothing prepared: the command prepares loopkit by itself."""
    here = place(greetings(), prepared=way == "git")
    here.env.update(without_network)
    idle(here)
    install(here, checkout, way)
    run = here.run(f"/loop:start {TEXT}", plugins=False)
    assert run.result["is_error"] is False and not run.init.get("plugin_errors")
    assert {row["name"] for row in run.init["plugins"]} >= set(PLUGINS)
    commands = {"loop:start", "loop:status", "loop:resume", "loop:pause", "loop:cancel"}
    assert commands <= set(run.init["slash_commands"])
    assert {"loop:coder", "loop:tester"} <= set(run.init["agents"])
    assert_kept(here, TEXT)
    assert held(here), here.model.story()
    assert data_folders(here) == ["loop-loopkit"]
    said = doctor(here, checkout)
    assert "hook SessionStart: last call 2" in said and "hook Stop: last call 2" in said
    if way == "path":
        assert f"Claude Code reads loop@loopkit from here: {checkout}" in said
        done = claude(here, "plugin", "uninstall", "loop@loopkit")
        assert done.returncode == 0, done.stdout + done.stderr
        assert data_folders(here) == [], "the data folder goes along"
    else:
        assert (
            f"Claude Code reads loop@loopkit 0.1.0 from {here.home}/.claude/plugins/cache/" in said
        )


def test_in_the_session_that_installed_the_plugin(place, tmux, checkout: Path) -> None:
    here = place(greetings())
    idle(here)
    # what a shell's profile says reaches the commands, not the hooks; no SessionStart hook is there
    # to tell
    (here.home / ".bashrc").write_text('export XDG_STATE_HOME="$HOME/state of the profile"\n')
    terminal = here.terminal(plugins=False)
    terminal.say(f"/plugin marketplace add {checkout}")
    terminal.see("Added marketplace: loopkit")
    terminal.say("/plugin install loop@loopkit")
    terminal.answer("❯ Install for you")
    terminal.see("Installed loop")
    terminal.say("/reload-plugins")
    terminal.see(r"Reloaded: 3 plugins")
    terminal.say(f"/loop:start {TEXT}")
    terminal.wait("a turn that is held", lambda: held(here))
    assert_kept(here, TEXT)
    assert data_folders(here) == ["loop-loopkit"]
    said = doctor(here, checkout)
    assert "hook SessionStart: last call never" in said and "hook Stop: last call 2" in said
    assert "hook UserPromptExpansion: last call 2" in said
    assert not (here.home / "state of the profile").exists()
