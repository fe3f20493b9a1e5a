"""What the doctor must not call healthy, since a loop would not work."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.kit import ROOT, Project
from tests.cli.test_doctor import examine, found, healthy, installed

__all__ = ["healthy", "installed"]


def lock_is_a_folder(project: Project) -> None:
    (project.root / "lock").unlink(missing_ok=True)
    (project.root / "lock").mkdir()


def lock_is_a_link(project: Project) -> None:
    (project.root / "lock").unlink(missing_ok=True)
    (project.root / "lock").symlink_to("elsewhere")


def evidence_is_a_file(project: Project) -> None:
    folder = project.root / project.name / "evidence"
    shutil.rmtree(folder, ignore_errors=True)
    folder.write_text("x")


def settings_are_wrong(project: Project) -> None:
    (project.root / "config.toml").write_text("max_idle_stops = 99\n")


def settings_are_no_toml(project: Project) -> None:
    (project.root / "config.toml").write_text("= =\n")


def progress_is_a_folder(project: Project) -> None:
    (project.root / "PROGRESS.md").unlink()
    (project.root / "PROGRESS.md").mkdir()


def snapshot_is_a_folder(project: Project) -> None:
    (project.root / "workflow-state.json").unlink()
    (project.root / "workflow-state.json").mkdir()


def a_line_is_changed(project: Project) -> None:
    ledger = project.root / project.name / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"iterations":25', b'"iterations":99'))


@pytest.mark.parametrize(
    ("plant", "code", "level", "words"),
    [
        (a_line_is_changed, 1, "fault", "ledger.jsonl is not what loopkit wrote"),
        (lock_is_a_folder, 3, "damaged", "lock is no ordinary file"),
        (lock_is_a_link, 3, "damaged", "lock is no ordinary file"),
        (evidence_is_a_file, 3, "damaged", "evidence is no folder that can be written"),
        (settings_are_wrong, 1, "fault", "max_idle_stops is 99"),
        (settings_are_no_toml, 1, "fault", "config.toml: "),
        (progress_is_a_folder, 0, "note", "PROGRESS.md is no file"),
        (snapshot_is_a_folder, 0, "note", "workflow-state.json is no file; remove it"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_folder_in_which_a_command_would_fail(
    healthy: Project, plant: Callable, code: int, level: str, words: str
) -> None:
    plant(healthy)
    exit_code, rows = examine(healthy)
    assert found(rows, level, words), rows
    assert exit_code == code, rows


def test_a_start_that_would_be_refused(installed: Project) -> None:
    assert examine(installed)[0] == 0
    installed.root.write_text("x")
    code, rows = examine(installed)
    assert code == 1 and found(rows, "fault", f"{installed.root} is no folder"), rows
    assert installed.lk("start", "--task-file", "-", given="x").exit == 3
    installed.root.unlink()
    notes = Path(installed.environment["HOME"], ".local", "state", "loopkit")
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.write_text("x")
    code, rows = examine(installed)
    assert code == 1 and found(rows, "fault", f"{notes} is in the way or read-only"), rows
    assert installed.lk("start", "--task-file", "-", given="x").exit == 3


# -- the plugin's own parts


def without_hook(event: str) -> Callable[[Path], None]:
    def plant(root: Path) -> None:
        file = root / "hooks" / "hooks.json"
        registered = json.loads(file.read_text())
        registered["hooks"].pop(event)
        file.write_text(json.dumps(registered))

    return plant


def other_command(root: Path) -> None:
    file = root / "hooks" / "hooks.json"
    registered = json.loads(file.read_text())
    registered["hooks"]["Stop"][0]["hooks"][0]["command"] = "true"
    file.write_text(json.dumps(registered))


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        (None, ""),
        (without_hook("Stop"), "hooks.json calls no hook for stop"),
        (without_hook("SessionStart"), "hooks.json calls no hook for session_start"),
        (other_command, "hooks.json calls no hook for stop"),
        (lambda root: (root / "loopkit/hooks/stop.py").write_text("def ("), "stop cannot be "
        "loaded: SyntaxError"),
        (lambda root: (root / "loopkit/hooks/session_start.py").unlink(), "session_start cannot "
        "be loaded: Module"),
        (lambda root: (root / "loopkit/core/steps/announce.py").unlink(), "stop cannot be loaded: "
        "ImportError"),
        (lambda root: shutil.rmtree(root / "plugins/counsel/profiles"), ": "
        "plugins/counsel/profiles; install"),
        (lambda root: (root / "bin/loopkit").unlink(), ": bin/loopkit; install"),
        (lambda root: [file.unlink() for file in (root / "agents").iterdir()], ": agents; install"),
    ],
    ids=["whole", "no Stop", "no SessionStart", "another command", "stop is broken", "a module is "
    "gone",
         "what it needs is gone", "no experts", "no program", "no agents"],
)  # fmt: skip
def test_a_plugin_that_lacks_something_before_any_loop(
    installed: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable | None,
    words: str,
) -> None:
    root = tmp_path / "plugin"
    for name in (
        "hooks",
        "loopkit",
        "plugins",
        ".claude-plugin",
        "bin",
        "agents",
        "commands",
        "skills",
        "templates",
    ):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "requirements.lock", root)
    monkeypatch.setattr("loopkit.store.place.plugin_root", lambda: str(root))
    if plant is None:
        assert examine(installed)[0] == 0
        return
    plant(root)
    code, rows = examine(installed)
    assert code == 1 and found(rows, "fault", words), rows
