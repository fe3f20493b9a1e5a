"""What the client's own files say: settings, installed plugins. Only read; a file that is no use says nothing."""

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


class Settings(NamedTuple):
    """One settings file. values: {} where it says nothing; wrong: why, or empty; managed: an administrator's."""

    path: str
    values: dict
    wrong: str
    managed: bool


def settings(environment: dict, folders: list[str], system: str) -> list[Settings]:
    """The settings files that exist, the strongest first: managed, local, project (of each of `folders`), user."""
    paths = [os.path.join(one, ".claude", name) for name in ("settings.local.json", "settings.json") for one in folders]
    paths.append(os.path.join(place.config_dir(environment), "settings.json"))
    managed = MANAGED.get(system, MANAGED["linux"])
    return [
        Settings(path, *_record(path), path == managed) for path in dict.fromkeys([managed, *paths]) if _exists(path)
    ]


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
            found = json.load(file)
    except OSError as error:
        return {}, f"cannot be read ({error.strerror})"
    except (ValueError, RecursionError):
        return {}, "is not JSON"
    return (found, "") if isinstance(found, dict) else ({}, "is no JSON object")


def table(values: dict, name: str) -> dict:
    """A part of a file that should be an object; {} where it is none."""
    found = values.get(name)
    return found if isinstance(found, dict) else {}


def deciding(files: list[Settings], part: str, name: str) -> tuple[object, str] | None:
    """(value, path) of the strongest file in whose object `part` `name` stands (`part` empty: at the top); or None."""
    for file in files:
        values = table(file.values, part) if part else file.values
        if name in values:
            return values[name], file.path
    return None


def installed(environment: dict, folders: list[str]) -> dict[str, str]:
    """{plugin id: its folder} of the plugins that are installed for everybody, or for one of these project folders."""
    values, _ = _record(os.path.join(place.config_dir(environment), "plugins", "installed_plugins.json"))
    found = {}
    for name, rows in table(values, "plugins").items():
        for row in rows if isinstance(rows, list) else [rows]:
            if not isinstance(row, dict) or not isinstance(row.get("installPath"), str):
                continue
            if row.get("scope", "user") in ("user", "managed") or row.get("projectPath") in folders:
                found[name] = row["installPath"]
    return found


def manifest(folder: str) -> dict:
    """A plugin's manifest; {} where there is none."""
    return _record(os.path.join(folder, ".claude-plugin", "plugin.json"))[0]


def has_hook(folder: str, event: str) -> bool:
    """Whether a plugin has hooks for an event: in hooks/hooks.json, or where its manifest says."""
    named = manifest(folder).get("hooks")
    if isinstance(named, dict) and table(named, "hooks").get(event, named.get(event)):
        return True
    paths = [os.path.join(folder, "hooks", "hooks.json")]
    paths += [os.path.join(folder, one) for one in (named if isinstance(named, list) else [named]) if type(one) is str]
    return any(table(_record(path)[0], "hooks").get(event) for path in paths)
