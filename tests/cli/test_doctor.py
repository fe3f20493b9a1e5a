"""loopkit doctor: each planted fault is found, and --fix rebuilds derived files only."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopkit.core.journal import clock
from loopkit.engine import environment, installation
from loopkit.store import client, loops, native, place
from tests.cli.kit import ROOT, S1, S2, Project, task
from tests.conftest import share_compiled


@pytest.fixture
def installed(project: Project) -> Project:
    """A project in which the session's hooks are run: its start left a mark."""
    data = data_of(project)
    data.mkdir()
    (data / "python").write_text(sys.executable + "\n")
    share_compiled(data)
    paths = os.environ["PATH"].split(os.pathsep)  # stand-ins of a version manager are slow
    project.environment["PATH"] = os.pathsep.join(
        path for path in paths if not path.endswith("shims")
    )
    call(project, "session_start", {"session_id": S1, "source": "startup"})
    return project


@pytest.fixture
def healthy(installed: Project) -> Project:
    return installed.planned(task("a"), task("b"))


#: What programs answered, by their words.
ANSWERED: dict[tuple, Any] = {}


@pytest.fixture
def remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what stands in files: interpreters and hooks are asked in the first one only."""
    real = installation._run

    def run(seconds: float, *words: str, **options: Any) -> Any:
        key = tuple(word.replace(str(tmp_path), "") for word in words)
        if key not in ANSWERED:
            ANSWERED[key] = real(seconds, *words, **options)
        return ANSWERED[key]

    monkeypatch.setattr(installation, "_run", run)


def data_of(project: Project) -> Path:
    return Path(project.environment["LOOPKIT_DATA"])


def call(project: Project, event: str, given: dict, **env: str) -> bytes:
    """A hook event through the real launcher; what it printed."""
    raw = json.dumps({"cwd": str(project.folder), **given}).encode()
    argv = ["sh", str(ROOT / "hooks" / "run"), event]
    done = subprocess.run(
        argv, input=raw, env=project.env(**env), cwd=project.folder, capture_output=True, check=True
    )
    return done.stdout


def examine(project: Project, **more: Any) -> tuple[int, list[list[str]]]:
    answer = project.lk("doctor", "--json", **more)
    assert answer.exit == answer.json["exit"]
    return answer.exit, answer.json["findings"]


def append(project: Project, kind: str, **data: Any) -> None:
    line = {"v": 1, "at": clock.stamp(1_800_000_000), "type": kind, "by": "person", "data": data}
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def test_a_healthy_loop(healthy: Project) -> None:
    before = healthy.files()
    code, rows = examine(healthy)
    assert code == 0, rows
    assert {level for level, _ in rows} <= {"ok", "note"}
    text = "\n".join(line for _, line in rows)
    for words in (
        "loopkit runs on Python",
        "SessionEnd, SessionStart",
        "let go",
        "ledger of 001-",
        "this session",
    ):
        assert words in text
    assert healthy.files() == before


def test_without_a_loop(installed: Project) -> None:
    code, rows = examine(installed)
    assert code == 0 and ["ok", "no loop in this project"] in rows


def no_command(project: Project) -> None:
    append(project, "task_added", task={"id": "T-003", "subject": "native"})


def same_failure(project: Project) -> None:
    for attempt in (1, 2, 3):
        append(
            project, "task_failed", id="T-001", attempt=attempt, error="it says no", action="retry"
        )
        append(project, "panel_recorded", task="T-001", attempt=attempt)


def circle(project: Project) -> None:
    append(project, "task_changed", id="T-001", blockedBy=["T-002"])
    append(project, "task_changed", id="T-002", blockedBy=["T-001"])


def no_panel(project: Project) -> None:
    append(project, "task_failed", id="T-001", attempt=1, error="x", action="retry")


def no_limits(project: Project) -> None:
    append(project, "limits_set", iterations=None, seconds=None)


def no_price(project: Project) -> None:
    append(project, "iteration_ended", decision="hold", usage={"mystery": [1, 1, 1, 1]})


def paused(project: Project) -> None:
    append(
        project,
        "iteration_ended",
        decision="allow",
        verdict="stalled",
        reason="3 turns without any progress",
    )


def died(project: Project) -> None:
    append(project, "stop_failed", error="rate_limit", text="resets 1pm")


def no_snapshot(project: Project) -> None:
    (project.root / loops.SNAPSHOT).unlink()


def edited_snapshot(project: Project) -> None:
    path = project.root / loops.SNAPSHOT
    path.write_bytes(path.read_bytes().replace(b'"running"', b'"completed"'))


def damaged_line(project: Project) -> None:
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write('{"no":"event"}\n')


def torn_line(project: Project) -> None:
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write('{"v":1,"at"')


def garbage(project: Project) -> None:
    project.ledger.write_text("garbage\n")


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    ("plant", "code", "level", "words"),
    [
        (no_command, 1, "fault", "T-003 has no verification command"),
        (same_failure, 1, "fault", "T-001 failed 3 times with the same error"),
        (circle, 1, "fault", "cycle: T-001 → T-002 → T-001"),
        (no_panel, 0, "note", "T-001 failed and no panel has looked at it: loopkit panel T-001"),
        (no_limits, 0, "note", "no limit on iterations or time"),
        (no_price, 0, "note", "no price for mystery: no money limit can be kept"),
        (paused, 0, "note", "the loop is paused (stalled): 3 turns without any progress"),
        (died, 0, "note", "the last turn died of rate_limit: resets 1pm"),
        (no_snapshot, 0, "note", "workflow-state.json"),
        (edited_snapshot, 0, "note", "is damaged or was edited by hand"),
        (damaged_line, 3, "damaged", "line 9 is no event"),
        (torn_line, 0, "note", "the last line has no end"),
        (garbage, 3, "damaged", "does not begin with a loop's start"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_each_planted_fault_is_found(
    healthy: Project, plant: Callable, code: int, level: str, words: str
) -> None:
    plant(healthy)
    found, rows = examine(healthy)
    assert [row for row in rows if row[0] == level and words in row[1]], rows
    assert found == code, rows
    assert all("\n" not in line for _, line in rows)


def found(rows: list[list[str]], level: str, words: str) -> bool:
    return any(row[0] == level and words in row[1] for row in rows)


ENVIRONMENT: list[tuple[dict, int, str, str]] = [
    (
        {"LOOPKIT_DISABLED": "1"},
        1,
        "fault",
        "LOOPKIT_DISABLED=1: hooks are off (the environment)",
    ),
    ({"LOOPKIT_CHILD": "1"}, 1, "fault", "LOOPKIT_CHILD=1"),
    ({"LOOPKIT_DIR": "sub/.loop"}, 1, "fault", "LOOPKIT_DIR=sub/.loop is no full path"),
    ({"LOOPKIT_DIR": "/no/such/.loop"}, 1, "fault", "LOOPKIT_DIR=/no/such/.loop is no folder"),
    ({"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "3"}, 1, "fault", "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=3"),
    ({"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "8"}, 0, "ok", "plugins: loop "),
    ({"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "0"}, 0, "ok", "plugins: loop "),
    (
        {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"},
        0,
        "ok",
        "CLAUDE_CODE_ENABLE_TODO_TOOLS=1 (the environment)",
    ),
    (
        {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "0"},
        0,
        "note",
        "CLAUDE_CODE_ENABLE_TODO_TOOLS=0 (the environment)",
    ),
    ({}, 0, "note", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1 in the environment"),
    ({"CLAUDE_CODE_TASK_LIST_ID": "ours"}, 0, "ok", "CLAUDE_CODE_TASK_LIST_ID=ours"),
    (
        {"LOOPKIT_DATA": "/dev/null/data"},
        1,
        "fault",
        "data folder /dev/null/data cannot be written",
    ),
]


def test_faults_of_the_environment(healthy: Project, remembered: None) -> None:
    for env, code, level, words in ENVIRONMENT:
        exit_code, rows = examine(healthy, **env)
        assert found(rows, level, words), rows
        assert exit_code == code, rows


LOCAL, SHARED, USER = (
    ".claude/settings.local.json",
    ".claude/settings.json",
    "~/.claude/settings.json",
)


def path_of(project: Project, name: str) -> Path:
    if name == "managed":
        return Path(client.MANAGED["linux"])
    return Path(project.environment["HOME"], name[2:]) if name[0] == "~" else project.folder / name


def put(project: Project, name: str, values: object) -> Path:
    path = path_of(project, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(values if isinstance(values, str) else json.dumps(values))
    return path


@pytest.fixture(autouse=True)
def administrator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        client.MANAGED, "linux", str(tmp_path / "managed" / "managed-settings.json")
    )


WIDE, EXACT = "Bash(loopkit verify *)", "Bash(loopkit verify T-001 -- npm test)"


def allowing(*rules: object) -> dict:
    return {"permissions": {"allow": [*rules]}}


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("name", [USER, SHARED, LOCAL, "managed"])
def test_a_rule_that_lets_every_check_run_is_named_where_it_stands(
    healthy: Project, name: str
) -> None:
    path = put(
        healthy,
        name,
        allowing("Bash(npm test)", WIDE, EXACT, 'Bash("/x y/bin/loopkit":*)'),
    )
    exit_code, rows = examine(healthy)
    assert found(
        rows, "note", f'{path} allows {WIDE}, Bash("/x y/bin/loopkit":*): Claude may change a check'
    ), rows
    assert (
        found(rows, "note", "take it out of permissions.allow; checks run once you have said yes")
        and exit_code == 0
    )


def test_such_a_rule_is_found_at_the_projects_root_too(healthy: Project) -> None:
    path = put(healthy, LOCAL, allowing(WIDE))
    (healthy.folder / "sub").mkdir()
    out = healthy.lk("doctor", cwd=healthy.folder / "sub").out
    assert str(path) in " ".join(out.split()) and WIDE in " ".join(out.split())


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    "values",
    [
        allowing("Bash", "Bash(*)", EXACT, "Bash(loopkit status *)"),
        {"permissions": {"deny": [WIDE], "ask": [WIDE]}},
        {"permissions": {"allow": WIDE}},
        {"permissions": [WIDE]},
        {"permissions": {"allow": [7, None, {}, [WIDE]]}},
        json.dumps(allowing(WIDE))[:-1],
        json.dumps(allowing(WIDE)) + " " * client.LARGEST,
    ],
    ids=lambda values: str(values)[:40],
)
def test_other_rules_and_files_that_say_nothing_are_let_be(
    healthy: Project, values: object
) -> None:
    put(healthy, LOCAL, values)
    exit_code, rows = examine(healthy)
    assert not [text for _, text in rows if "permissions.allow" in text] and exit_code == 0, rows


@pytest.mark.usefixtures("remembered")
def test_many_rules_and_odd_ones_stay_one_line(healthy: Project) -> None:
    put(healthy, USER, allowing(*[f"Bash(loopkit verify T-{number} *)" for number in range(50)]))
    put(healthy, LOCAL, allowing("Bash(loopkit verify *" + "x\n" * 300_000 + "\ud800)"))
    rows = [text for _, text in examine(healthy)[1] if "permissions.allow" in text]
    assert len(rows) == 2 and any(" and 45 more: " in one for one in rows)
    assert max(map(len, rows)) < 1500 and healthy.lk("doctor", "--json").exit == 0


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("kind", ["pipe", "folder", "link to nowhere", "link to itself", "endless"])
def test_settings_that_are_no_file_hold_nobody_up(healthy: Project, kind: str) -> None:
    path = path_of(healthy, LOCAL)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(
            {"link to nowhere": "nowhere", "link to itself": path.name, "endless": "/dev/zero"}[
                kind
            ]
        )
    exit_code, rows = examine(healthy)
    assert found(rows, "note", f"{path} is no file") and exit_code == 0, rows


TOOLS = "CLAUDE_CODE_ENABLE_TODO_TOOLS"
STOP = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    ("files", "code", "level", "words"),
    [
        ({USER: {"disableAllHooks": True}}, 1, "fault", "disableAllHooks in {path}"),
        (
            {LOCAL: {"disableAllHooks": True}, USER: {"disableAllHooks": False}},
            1,
            "fault",
            "disableAllHooks in {path}",
        ),
        (
            {SHARED: {"disableAllHooks": False}, USER: {"disableAllHooks": True}},
            0,
            "ok",
            "plugins: loop",
        ),
        (
            {"managed": {"allowManagedHooksOnly": True}},
            1,
            "fault",
            "allowManagedHooksOnly in {path}",
        ),
        (
            {SHARED: {"allowManagedHooksOnly": True}},
            0,
            "ok",
            "plugins: loop",
        ),  # only an administrator may
        ({SHARED: STOP}, 0, "note", "{path} has a Stop hook"),
        ({SHARED: "{"}, 0, "note", "{path} is not JSON"),
        ({SHARED: "[]"}, 0, "note", "{path} is no JSON object"),
        ({SHARED: {"env": [], "hooks": 1, "enabledPlugins": "x"}}, 0, "ok", "plugins: loop"),
    ],
    ids=str,
)
def test_settings_that_collide(
    healthy: Project, files: dict, code: int, level: str, words: str
) -> None:
    paths = [put(healthy, name, values) for name, values in files.items()]
    exit_code, rows = examine(healthy)
    assert found(rows, level, words.format(path=paths[0])), rows
    assert exit_code == code, rows


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    ("files", "session", "env", "level", "words"),
    [
        ({USER: {"env": {TOOLS: "1"}}}, S1, {TOOLS: "1"}, "ok", f"{TOOLS}=1 (env in {{path}})"),
        ({USER: {"env": {TOOLS: "1"}}}, None, {}, "ok", f"{TOOLS}=1 (env in {{path}})"),
        ({USER: {"env": {TOOLS: "0"}}}, S1, {TOOLS: "1"}, "ok", f"{TOOLS}=1 (the environment)"),
        ({LOCAL: {"env": {TOOLS: "0"}}, USER: {"env": {TOOLS: "1"}}}, None, {}, "note", f"{TOOLS}=0 "
        f"(env in {{path}})"),
    ],
)  # fmt: skip
def test_the_setting_that_decided_on_task_tools(
    healthy: Project, files: dict, session: str | None, env: dict, level: str, words: str
) -> None:
    paths = [put(healthy, name, values) for name, values in files.items()]
    rows = examine(healthy, session=session, **env)[1]
    assert found(rows, level, words.format(path=paths[0])), rows


def test_ours_switched_off_in_settings(healthy: Project) -> None:
    path = put(healthy, SHARED, {"env": {"LOOPKIT_DISABLED": "1"}})
    code, rows = examine(healthy, session=None)
    assert code == 1 and found(rows, "fault", f"LOOPKIT_DISABLED=1: hooks are off (env in {path})")


# -- plugins


def plugin(folder: Path, version: str = "1.0", hooks: dict | None = None) -> str:
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin" / "plugin.json").write_text(
        json.dumps({"name": folder.name, "version": version})
    )
    if hooks:
        (folder / "hooks").mkdir()
        (folder / "hooks" / "hooks.json").write_text(json.dumps(hooks))
    return str(folder)


@pytest.fixture
def marketplace(healthy: Project, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The three plugins, as the client installs them from a marketplace; {id: folder}, to be
    changed and written."""
    cache = Path(healthy.environment["HOME"], ".claude", "plugins", "cache", "mine")
    found = {f"{name}@mine": plugin(cache / name / "1.0") for name in ("loop", "hope", "counsel")}
    shutil_copy(ROOT, Path(found["loop@mine"]))
    monkeypatch.setattr(place, "plugin_root", lambda: found["loop@mine"])
    record(healthy, found)
    return found


def shutil_copy(source: Path, target: Path) -> None:
    for name in (
        "hooks",
        "loopkit",
        "requirements.lock",
        *{part.split("/")[0] for part in installation.PARTS},
    ):
        (target / name).symlink_to(source / name)


def record(project: Project, plugins: dict[str, str]) -> None:
    rows = {name: [{"scope": "user", "installPath": folder}] for name, folder in plugins.items()}
    put(project, "~/.claude/plugins/installed_plugins.json", {"version": 2, "plugins": rows})
    put(project, USER, {"enabledPlugins": dict.fromkeys(plugins, True)})


def test_installed_plugins(healthy: Project, marketplace: dict) -> None:
    code, rows = examine(healthy)
    assert code == 0 and found(rows, "ok", "plugins: loop 1.0, hope 1.0, counsel 1.0"), rows


def test_an_installed_plugin_is_of_another_version(
    healthy: Project, marketplace: dict, tmp_path: Path
) -> None:
    record(healthy, {**marketplace, "hope@mine": plugin(tmp_path / "new", "1.1")})
    code, rows = examine(healthy)
    assert code == 1 and found(
        rows, "fault", "plugins of different versions: loop 1.0, hope 1.1, counsel 1.0"
    ), rows


@pytest.mark.parametrize("name", ["hope", "counsel"])
def test_a_plugin_that_is_needed_is_not_installed(
    healthy: Project, marketplace: dict, name: str
) -> None:
    record(healthy, {one: folder for one, folder in marketplace.items() if one != f"{name}@mine"})
    code, rows = examine(healthy)
    assert code == 1 and found(rows, "fault", f"plugin {name} is not installed"), rows


@pytest.mark.parametrize("name", ["loop", "hope"])
def test_a_disabled_plugin(healthy: Project, marketplace: dict, name: str) -> None:
    put(healthy, LOCAL, {"enabledPlugins": {f"{name}@mine": False}})
    code, rows = examine(healthy)
    assert code == 1 and found(rows, "fault", f"disables {name}@mine"), rows


def test_an_update_that_the_session_does_not_run(
    healthy: Project, marketplace: dict, tmp_path: Path
) -> None:
    record(healthy, {**marketplace, "loop@mine": loop_copy(tmp_path / "newer")})
    code, rows = examine(healthy)
    assert found(
        rows,
        "note",
        f"has since installed loop@mine 1.0 from {tmp_path}/newer: start Claude Code again",
    ), rows
    assert code == 0 and "disable" not in str(rows)


def test_a_session_whose_plugin_was_uninstalled(healthy: Project, marketplace: dict) -> None:
    record(healthy, {})
    code, rows = examine(healthy)
    assert code == 1 and found(
        rows, "fault", "the plugin loop is not installed: claude plugin install loop@mine"
    ), rows


def loop_copy(folder: Path, version: str = "1.0") -> str:
    """A copy of this plugin, as far as the doctor looks at one that it is not run from."""
    plugin(folder, version, hooks=STOP)
    (folder / "bin").mkdir()
    (folder / "bin" / "loopkit").write_text("#!/bin/sh\n")
    return str(folder)


def read_in_place(project: Project, folder: Path) -> dict[str, str]:
    """Our marketplace, added by the path of a checkout, and the three plugins installed from it:
    the client has made copies and reads the folder itself. {id: the folder that the client's own
    list names}."""
    source = {"source": "directory", "path": str(folder)}
    put(project, "~/.claude/plugins/known_marketplaces.json", {"loopkit": {"source": source}})
    cache = Path(project.environment["HOME"], ".claude", "plugins", "cache", "loopkit")
    return {
        f"{name}@loopkit": plugin(cache / name / "0.0.1") for name in ("loop", "hope", "counsel")
    }


def test_a_checkout_that_is_installed_by_its_path(healthy: Project) -> None:
    record(healthy, read_in_place(healthy, ROOT))
    for session in (S1, None):
        code, rows = examine(healthy, session=session)
        assert code == 0 and found(
            rows, "ok", f"Claude Code reads loop@loopkit from here: {ROOT}"
        ), rows
        assert found(rows, "ok", "plugins: loop 0.1.0, hope 0.1.0, counsel 0.1.0"), (
            "not those of the copies"
        )
        assert "Stop hook" not in str(rows) and "claude plugin disable" not in str(rows)


@pytest.mark.parametrize("session", [S1, None])
def test_a_checkout_beside_an_installed_copy(
    healthy: Project, tmp_path: Path, session: str | None
) -> None:
    named = {f"{name}@loopkit": plugin(tmp_path / name) for name in ("hope", "counsel")}
    record(healthy, {"loop@loopkit": loop_copy(tmp_path / "cached"), **named})
    code, rows = examine(healthy, session=session)
    reads = (
        f"this is loop 0.1.0 in {ROOT}; Claude Code reads loop@loopkit 1.0 from "
        f"{tmp_path}/cached, unless --plugin-dir"
    )
    assert code == 0 and found(rows, "ok", reads), rows
    assert found(rows, "ok", "plugins: loop 1.0, hope 1.0, counsel 1.0"), (
        "those that the client reads"
    )
    assert "Stop hook" not in str(rows) and "claude plugin disable" not in str(rows)
    record(healthy, {"loop@loopkit": str(tmp_path / "cached")})
    assert found(
        examine(healthy)[1],
        "fault",
        "plugin hope is not installed, and without it the client does not load",
    )


def test_a_checkout_that_is_not_installed(healthy: Project) -> None:
    code, rows = examine(healthy)
    assert code == 0 and found(rows, "ok", f"where --plugin-dir names it: {ROOT}"), rows


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    ("ids", "ours", "kept", "why"),
    [
        (
            ["loop@fork", "loop@loopkit"],
            "",
            "loop@loopkit",
            "uninstalling it also removes the data folder",
        ),
        (
            ["loop@fork", "loop@loopkit"],
            "loop@fork",
            "loop@fork",
            "it is the one that this `loopkit` comes from",
        ),
        (["loop@fork", "loop@other"], "", "loop@fork", "any one will do"),
    ],
)
def test_two_copies_that_the_client_loads(
    healthy: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ids: list[str],
    ours: str,
    kept: str,
    why: str,
) -> None:
    listed = {}
    for name in ids:
        market = name.partition("@")[2]
        listed |= {
            f"{one}@{market}": plugin(tmp_path / market / one) for one in ("hope", "counsel")
        }
        listed[name] = loop_copy(tmp_path / market / "loop")
    if ours:
        monkeypatch.setattr(place, "plugin_root", lambda: listed[ours])
    record(healthy, listed)
    rows = examine(healthy)[1]
    (text,) = [text for _, text in rows if "several copies" in text]
    (other,) = set(ids) - {kept}
    assert text.endswith(f"keep {kept} ({why}): claude plugin disable {other}")
    assert "has a Stop hook" not in str(rows)

    put(healthy, LOCAL, {"enabledPlugins": {other: False}})
    rows = examine(healthy)[1]
    assert "several copies" not in str(rows) and f"claude plugin enable {other}" not in str(rows)
    assert [text for _, text in rows if f"Claude Code reads {kept}" in text and other not in text]


def test_one_folder_installed_twice_is_one_copy(healthy: Project, tmp_path: Path) -> None:
    folder = loop_copy(tmp_path / "loop")
    record(healthy, {"loop@loopkit": folder, "loop@fork": folder})
    assert "several copies" not in str(examine(healthy)[1])


def test_somebody_elses_plugin_of_that_name_is_not_ours(healthy: Project, tmp_path: Path) -> None:
    record(healthy, {"loop@elsewhere": plugin(tmp_path / "loop", hooks=STOP)})
    rows = examine(healthy)[1]
    assert found(rows, "note", "plugin loop@elsewhere has a Stop hook"), rows
    assert found(rows, "ok", "the plugin loop is not installed"), rows


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    "market",
    [
        [],
        {"loopkit": 1},
        {"loopkit": {"source": {"source": "directory"}}},
        {"loopkit": {"source": {"source": "directory", "path": "/no/such/folder"}}},
        {"loopkit": {"source": {"source": "git", "url": "x"}}},
    ],
    ids=str,
)
def test_a_list_of_marketplaces_of_any_shape(
    healthy: Project, tmp_path: Path, market: object
) -> None:
    put(healthy, "~/.claude/plugins/known_marketplaces.json", json.dumps(market))
    named = {f"{name}@loopkit": plugin(tmp_path / name) for name in ("hope", "counsel")}
    record(healthy, {"loop@loopkit": loop_copy(tmp_path / "cached"), **named})
    code, rows = examine(healthy)
    assert code == 0 and found(
        rows, "ok", f"Claude Code reads loop@loopkit 1.0 from {tmp_path}/cached"
    ), rows


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    ("enabled", "scope", "where", "named"),
    [
        (True, "user", "hooks.json", True),
        (True, "user", "manifest", True),
        (False, "user", "hooks.json", False),
        (True, "elsewhere", "hooks.json", False),
    ],
)
def test_other_plugins_with_a_stop_hook(
    healthy: Project, tmp_path: Path, enabled: bool, scope: str, where: str, named: bool
) -> None:
    folder = plugin(tmp_path / "other", hooks=STOP if where == "hooks.json" else None)
    if where == "manifest":
        Path(folder, ".claude-plugin", "plugin.json").write_text(
            json.dumps({"name": "other", **STOP})
        )
    row = {"scope": scope, "projectPath": "/somewhere", "installPath": folder}
    put(healthy, "~/.claude/plugins/installed_plugins.json", {"plugins": {"other@x": [row]}})
    put(healthy, USER, {"enabledPlugins": {"other@x": enabled}})
    code, rows = examine(healthy)
    assert found(rows, "note", "plugin other@x has a Stop hook") == named
    assert code == 0, rows


def test_an_installed_list_of_any_shape(healthy: Project) -> None:
    for text in (
        "[]",
        "{",
        '{"plugins": []}',
        '{"plugins": {"a": 1, "b": [1], "c": [{"installPath": 3}]}}',
    ):
        put(healthy, "~/.claude/plugins/installed_plugins.json", text)
        assert examine(healthy)[0] == 0


# -- hooks and when they were called


def beat(project: Project, event: str) -> Path:
    return data_of(project) / "beats" / event


def row_of(project: Project, hook: str) -> tuple[int, str, str]:
    code, rows = examine(project)
    level, text = next((level, text) for level, text in rows if text.startswith(f"hook {hook}: "))
    return code, level, text


def test_every_hook_has_the_time_of_its_last_call(healthy: Project) -> None:
    turn = {"session_id": S1, "stop_hook_active": False}
    assert b"T-001" in call(healthy, "stop", turn)
    then = time.time() - 600
    os.utime(beat(healthy, "stop"), (then, then))
    before = {path: path.stat().st_mtime_ns for path in beat(healthy, "stop").parent.iterdir()}
    code, rows = examine(healthy)
    lines = dict(text[5:].split(": ", 1) for _, text in rows if text.startswith("hook "))
    registered = json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"]
    assert set(lines) == set(registered) and code == 0
    stamp = clock.stamp(then)[:-2]  # the seconds that the call took are counted back
    assert re.fullmatch(
        rf"last call {stamp[:-3]}.*Z \(10 min.* ago\), it held the turn", lines["Stop"]
    ), lines
    assert "no loop there" in lines["SessionStart"]
    assert {text for name, text in lines.items() if name not in ("Stop", "SessionStart")} == {
        "last call never"
    }
    after = {path: path.stat().st_mtime_ns for path in beat(healthy, "stop").parent.iterdir()}
    assert after == before, "the doctor's own sample is no call"


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    ("mark", "age", "level", "words"),
    [
        (
            "begun 1999999999",
            60,
            "note",
            "it was begun and did not end: killed, as at its time limit of 10 s",
        ),
        ("begun {pid}", 60, "note", "it was begun and did not end"),
        ("begun {pid}", 0, "ok", "it is running"),
        ("held 14.0", 60, "note", "it held the turn, too late: after 14 s"),
        ("fault 0.1", 60, "note", "it failed"),
        ("no-python", 60, "note", "no Python was found"),
        ("disabled", 60, "note", "switched off by LOOPKIT_DISABLED"),
        ("no-loop", 60, "ok", "no loop there"),
        ("", 60, "ok", "what came of it is not noted"),
        ("\0\0garbage 1 2 3", 60, "ok", "garbage"),
    ],
)
def test_what_a_mark_says(healthy: Project, mark: str, age: int, level: str, words: str) -> None:
    beat(healthy, "stop").write_text(mark.format(pid=os.getpid()))
    then = time.time() - age
    os.utime(beat(healthy, "stop"), (then, then))
    code, found_level, text = row_of(healthy, "Stop")
    assert (code, found_level) == (0, level) and words in text, text


def test_a_session_whose_start_no_hook_has_seen(healthy: Project) -> None:
    beat(healthy, "session_start").unlink()
    code, level, text = row_of(healthy, "SessionStart")
    assert (code, level) == (1, "fault") and "never" in text
    assert examine(healthy, session=None)[0] == 0


def test_a_session_that_the_plugin_was_installed_in(healthy: Project) -> None:
    beat(healthy, "session_start").unlink()
    call(
        healthy,
        "user_prompt_expansion",
        {"session_id": S1, "command_name": "loop:start", "command_args": "x"},
    )
    assert row_of(healthy, "SessionStart") == (0, "ok", "hook SessionStart: last call never")


def test_the_last_line_of_the_hooks_log(healthy: Project) -> None:
    (data_of(healthy) / "hooks.log").write_text("first\nstop: OSError in x.py:1: no\n")
    assert found(examine(healthy)[1], "note", "hooks.log: stop: OSError in x.py:1: no")


def test_the_list_is_named(healthy: Project) -> None:
    folder = Path(healthy.environment["HOME"], ".claude", "tasks", S1)
    folder.mkdir(parents=True)
    assert ["ok", f"native task list {S1} is mirrored: {folder}"] in examine(healthy)[1]


def test_a_loop_of_somebody_else(healthy: Project) -> None:
    _, rows = examine(healthy, session=S2)
    wanted = f"loop {healthy.name} belongs to session {S1} (running); go on here: loopkit resume"
    assert ["note", wanted] in rows


# -- interpreters


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


ADVERT = "echo get Python from the store\nexit 49"


def test_the_noted_interpreter_and_a_worthless_one_on_the_path(
    healthy: Project, tmp_path: Path
) -> None:
    fake = program(tmp_path / "bin" / "python3", ADVERT)
    code, rows = examine(healthy, PATH=f"{fake.parent}{os.pathsep}{healthy.environment['PATH']}")
    assert code == 0
    assert [
        line
        for _, line in rows
        if str(fake) in line and "exits 49" in line and "it is passed over" in line
    ], rows
    pattern = (
        rf"python for hooks: {sys.executable}, noted when the environment was prepared; it starts "
        r"in \d+ ms"
    )
    assert [line for _, line in rows if re.fullmatch(pattern, line)], rows


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ADVERT, "exits 49 and prints 'get Python from the store'"),
        ("exit 0", "exits 0 and prints ''"),
        ("printf 3.8", "is Python 3.8, hooks need 3.9"),
        (
            'case "$*" in *loopkit*) echo broken >&2; exit 1 ;; *) printf 3.12 ;; esac',
            "ends with 1 on hooks: broken",
        ),
    ],
)
def test_what_is_wrong_with_the_interpreters_before(
    healthy: Project, tmp_path: Path, text: str, words: str
) -> None:
    (data_of(healthy) / "python").unlink()
    first = program(tmp_path / "one" / "python3", text)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "python3").symlink_to(sys.executable)
    code, rows = examine(
        healthy,
        PATH=os.pathsep.join(
            (str(first.parent), str(tmp_path / "two"), healthy.environment["PATH"])
        ),
    )
    assert code == 0
    assert found(rows, "note", f"python for hooks: {first}: {words}"), rows
    assert found(
        rows, "ok", f"python for hooks: {tmp_path}/two/python3, the first on the PATH that works"
    ), rows


def test_a_noted_interpreter_that_is_gone(healthy: Project) -> None:
    (data_of(healthy) / "python").write_text("/no/such/python\n")
    code, rows = examine(healthy)
    assert code == 0 and found(rows, "note", "names /no/such/python, which is no program"), rows


def test_no_interpreter_for_hooks(healthy: Project, tmp_path: Path) -> None:
    (data_of(healthy) / "python").unlink()
    (tmp_path / "path").mkdir()
    for name in ("sh", "git"):
        (tmp_path / "path" / name).symlink_to(str(shutil.which(name)))
    code, rows = examine(healthy, PATH=str(tmp_path / "path"))
    assert code == 1 and found(rows, "fault", "no Python 3.9 or newer runs here"), rows


def test_the_environment_of_the_program(healthy: Project, data: Path) -> None:
    assert found(
        examine(healthy)[1], "note", "is not prepared; the next `loopkit` command prepares it"
    )
    (data_of(healthy) / "env").symlink_to(data / "env")
    assert found(examine(healthy)[1], "ok", "environment prepared: ")
    (data_of(healthy) / "env").unlink()
    (data_of(healthy) / "env").mkdir()
    (data_of(healthy) / "env" / "requirements.lock").write_text("old")
    assert found(examine(healthy)[1], "note", "is for another version")


def test_a_plugin_folder_without_its_parts(
    healthy: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = tmp_path / "plugin"
    (root / "hooks").mkdir(parents=True)
    (root / "hooks" / "hooks.json").write_text('{"hooks": {"Stop": []}}')
    monkeypatch.setattr("loopkit.store.place.plugin_root", lambda: str(root))
    code, rows = examine(healthy)
    assert found(rows, "note", "plugin counsel is not beside this one")
    assert found(rows, "fault", "requirements.lock is missing from the plugin")
    assert code == 1, "and hooks/run does not answer"
    for text in ("[", "{}", '{"hooks": {"Stop": [{"hooks": [{}]}]}}', '{"hooks": []}'):
        (root / "hooks" / "hooks.json").write_text(text)
        assert found(examine(healthy)[1], "fault", "hooks.json cannot be read"), text


@pytest.mark.parametrize(
    ("system", "words"),
    [
        ("linux", ""),
        ("win32", "Git for Windows"),
        ("darwin", "xcode-select --install"),
        ("freebsd14", ""),
    ],
)
def test_what_is_known_of_other_systems(
    healthy: Project, monkeypatch: pytest.MonkeyPatch, system: str, words: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    rows = examine(healthy)[1]
    told = [
        text for texts in environment.NOTES.values() for text in texts if ["note", text] in rows
    ]
    assert bool(told) == bool(words) and words in "".join(told)


# -- locks, drafts, trust


@pytest.mark.parametrize(("stopped", "code", "level"), [(False, 0, "note"), (True, 1, "fault")])
def test_who_holds_the_writing_lock(healthy: Project, stopped: bool, code: int, level: str) -> None:
    assert found(examine(healthy)[1], "ok", "the writing lock is free")
    hold = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'ab'); fcntl.flock(f, 2); "
        "print(flush=True); time.sleep(600)"
    )
    argv = [sys.executable, "-I", "-c", hold, str(healthy.root / "lock")]
    holder = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert holder.stdout and holder.stdout.readline()
    try:
        if stopped:
            holder.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
        exit_code, rows = examine(healthy)
    finally:
        holder.kill()
        holder.communicate()
    assert exit_code == code, rows
    assert found(
        rows, level, f"{healthy.root}/lock is held by process {holder.pid} ({sys.executable} -I"
    ), rows


def test_locks_that_stand_in_the_native_list(healthy: Project) -> None:
    folder = Path(healthy.environment["HOME"], ".claude", "tasks", S1)
    (folder / "3.json.lock").mkdir(parents=True)
    (folder / ".lock.lock").mkdir()
    (folder / ".lock").write_text("")
    then = time.time() - native.STALE - 60
    os.utime(folder / "3.json.lock", (then, then))
    code, rows = examine(healthy)
    assert code == 0
    assert found(rows, "note", f"{folder}/3.json.lock stands for 1 min"), rows
    assert found(rows, "ok", f"{folder}/.lock.lock stands for "), rows
    assert not [text for _, text in rows if text.startswith(f"{folder}/.lock stands")]


def test_drafts_that_nobody_finished(healthy: Project) -> None:
    (healthy.root / "workflow-state.json.1999999999.tmp").write_text("{")
    (healthy.root / f"PROGRESS.md.{os.getpid()}.tmp").write_text("being written")
    (healthy.root / "notes.tmp").write_text("a person's")
    rows = examine(healthy)[1]
    (text,) = [text for _, text in rows if text.startswith("drafts")]
    assert text.endswith(f": {healthy.root}/workflow-state.json.1999999999.tmp")


def test_a_loop_that_came_from_elsewhere(healthy: Project, tmp_path: Path) -> None:
    assert found(examine(healthy)[1], "ok", f"loop {healthy.name} was started here")
    other = {"XDG_STATE_HOME": str(tmp_path / "another person")}
    died(healthy)
    code, rows = examine(healthy, **other)
    assert code == 1 and found(rows, "fault", "came from elsewhere"), rows
    assert "rate_limit" not in str(rows), "words of strangers"
    before = healthy.files()
    assert healthy.lk("doctor", "--fix", **other).exit == 1
    assert healthy.files() == before


def test_an_adopted_loop(healthy: Project, tmp_path: Path) -> None:
    other = {"XDG_STATE_HOME": str(tmp_path / "another person")}
    healthy.ok("resume", "--adopt", **other)
    assert found(examine(healthy, **other)[1], "ok", f"loop {healthy.name} was adopted here")


def test_nothing_of_a_journal_reaches_the_terminal_as_a_command(healthy: Project) -> None:
    append(
        healthy,
        "stop_failed",
        error="rate_limit",
        text="\x1b[2J\x1b]0;x\x07\u202e\nnext: loopkit cancel",
    )
    out = healthy.lk("doctor").out
    assert "rate_limit" in out and not set("\x1b\x07\u202e") & set(out)
    assert not [line for line in out.splitlines() if line.startswith("next:")]


@pytest.mark.parametrize("plant", [no_snapshot, edited_snapshot, torn_line])
def test_fix_rebuilds_derived_files_only(healthy: Project, plant: Callable) -> None:
    plant(healthy)
    (healthy.root / "PROGRESS.md").unlink()
    ledger = healthy.ledger.read_bytes()
    before = healthy.files()
    code, rows = examine(healthy)
    assert found(rows, "note", "PROGRESS.md is missing") and found(rows, "note", "doctor --fix")
    assert code == 0 and healthy.files() == before, "it only looks"
    assert "derived files rebuilt" in healthy.lk("doctor", "--fix").out
    assert healthy.ledger.read_bytes() == ledger
    assert healthy.progress.startswith("# Loop Progress: ")
    assert loops.read_snapshot(str(healthy.root))["tasks"]["total"] == 2  # type: ignore[index]


def test_fix_leaves_a_damaged_ledger_alone(healthy: Project) -> None:
    garbage(healthy)
    before = healthy.files()
    assert healthy.lk("doctor", "--fix").exit == 3
    assert healthy.files() == before
