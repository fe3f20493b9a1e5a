"""The client's own files: settings, installed plugins. Only read; invalid ones count as empty."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from . import place

#: Where an administrator's settings lie, by `sys.platform`; any other system: as on Linux.
MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
    "win32": "C:\\Program Files\\ClaudeCode\\managed-settings.json",
    "linux": "/etc/claude-code/managed-settings.json",
}
#: Most characters of such a file.
LARGEST = 8_000_000


class Settings(NamedTuple):
    """wrong: why the file is of no use, else ""; managed: it is an administrator's."""

    path: str
    values: dict
    wrong: str
    managed: bool


def settings(environment: dict, folders: list[str], system: str) -> list[Settings]:
    """The settings files that exist: managed, local, project (of each of `folders`), user."""
    managed = MANAGED.get(system, MANAGED["linux"])
    paths = [managed]
    for name in ("settings.local.json", "settings.json"):
        paths += [os.path.join(folder, ".claude", name) for folder in folders]
    paths.append(os.path.join(place.config_dir(environment), "settings.json"))
    present = filter(_exists, dict.fromkeys(paths))
    return [Settings(path, *_record(path), path == managed) for path in present]


def _exists(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:
        return False


def _record(path: str) -> tuple[dict, str]:
    try:
        if not os.path.isfile(path):
            return {}, "is no file"
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            return {}, "is too large"
        record = json.loads(text)
    except OSError as error:
        return {}, f"cannot be read ({error.strerror})"
    except (ValueError, RecursionError):
        return {}, "is not JSON"
    return (record, "") if isinstance(record, dict) else ({}, "is no JSON object")


def table(values: dict, name: str) -> dict:
    """A part of a file that should be an object; {} where it is none."""
    value = values.get(name)
    return value if isinstance(value, dict) else {}


def allowed(file: Settings) -> list[str]:
    """The rules in a file's `permissions.allow`; [] where it has none."""
    rules = table(file.values, "permissions").get("allow")
    return [rule for rule in rules if isinstance(rule, str)] if isinstance(rules, list) else []


def deciding(files: list[Settings], part: str, name: str) -> tuple[object, str] | None:
    """(value, path) of the strongest file with `name` in its object `part` ("": at the top)."""
    for file in files:
        values = table(file.values, part) if part else file.values
        if name in values:
            return values[name], file.path
    return None


def installed(environment: dict, folders: list[str]) -> dict[str, str]:
    """{plugin id: its folder} of the plugins installed for everybody or for one of `folders`."""
    home = os.path.join(place.config_dir(environment), "plugins")
    values, _ = _record(os.path.join(home, "installed_plugins.json"))
    markets, _ = _record(os.path.join(home, "known_marketplaces.json"))
    plugins = {}
    for name, rows in table(values, "plugins").items():
        for row in rows if isinstance(rows, list) else [rows]:
            if not isinstance(row, dict) or not isinstance(row.get("installPath"), str):
                continue
            if row.get("scope", "user") in ("user", "managed") or row.get("projectPath") in folders:
                plugins[name] = _read_in_place(markets, name) or row["installPath"]
    return plugins


def _read_in_place(markets: dict, plugin_id: str) -> str | None:
    """The folder in a marketplace on this machine: the client copies it, but reads that one."""
    name, _, market = plugin_id.rpartition("@")
    source = table(table(markets, market), "source")
    if source.get("source") != "directory" or not isinstance(source.get("path"), str):
        return None
    listing, _ = _record(os.path.join(source["path"], ".claude-plugin", "marketplace.json"))
    rows = listing.get("plugins")
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and row.get("name") == name and isinstance(row.get("source"), str):
            folder = os.path.normpath(os.path.join(source["path"], row["source"]))
            return folder if os.path.isdir(folder) else None
    return None


def copies(plugins: dict[str, str]) -> dict[str, str]:
    """Those of `installed` that are this plugin, from whichever marketplace."""
    ours = {name: folder for name, folder in plugins.items() if name.startswith("loop@")}
    program = os.path.join("bin", "loopkit")
    return {name: ours[name] for name in ours if os.path.isfile(os.path.join(ours[name], program))}


def manifest(folder: str) -> dict:
    """A plugin's manifest; {} where there is none."""
    return _record(os.path.join(folder, ".claude-plugin", "plugin.json"))[0]


def has_hook(folder: str, event: str) -> bool:
    """Whether a plugin has hooks for an event: in hooks/hooks.json, or where its manifest says."""
    named = manifest(folder).get("hooks")
    if isinstance(named, dict) and table(named, "hooks").get(event, named.get(event)):
        return True
    files = ["hooks/hooks.json", *(named if isinstance(named, list) else [named])]
    paths = [os.path.join(folder, file) for file in files if type(file) is str]
    return any(table(_record(path)[0], "hooks").get(event) for path in paths)
