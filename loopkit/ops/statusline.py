"""The loop's line of the client's status line: printed, put into the person's settings, taken out.

The client runs one command for its status line, a text for a shell, and hands it JSON, one line; it
shows each line that comes back, in the session's folder and with the variables that hooks get
(measured on 2.1.332). Ours is a small program in the data folder, which stays where it is when the
plugin is updated. Where the
person has a command already, the two stand in one text, theirs to the letter: the client runs it
as ever, and no shell of ours does.
"""

import difflib
import json
import os
import shlex
import sys

from ..core.journal.errors import Damaged, Refused
from ..core.steps import announce
from ..store import atomic, client, loops, place, splice
from ..store.loop import writes
from .workspace import Result, Workspace

NAME = "statusLine"
#: Files in the data folder: the program, and where the plugin lies, which each session start notes.
PROGRAM, ROOT = "statusline", "root"
_PROGRAM = """\
#!/bin/sh
# The loop's line of Claude Code's status line, made by `loopkit statusline --install`.
IFS= read -r root 2>/dev/null <"${0%/*}/root" && [ -f "$root/hooks/run" ] || exit 0
exec /bin/sh "$root/hooks/run" statusline
"""
#: Bytes of settings that are changed at all.
LARGEST = 1 << 20


def line(workspace: Workspace, given: dict) -> Result:
    """Where the loop stands, in a line; nothing without one. given: what the client says."""
    found = loops.serving([workspace.root] if workspace.root else [], _session(workspace, given))
    if found is None:
        return Result(None, "", {"line": ""})
    mine = found.session.owner == _session(workspace, given) != ""
    text = announce.line(found.name, found.snapshot, found.session, mine)
    return Result(None, text, {"line": text})


def _session(workspace: Workspace, given: dict) -> str:
    name = given.get("session_id")
    return name if type(name) is str else workspace.session


def install(workspace: Workspace, sure: bool) -> Result:
    """Show what would change in the person's settings; do it where they are `sure`."""
    path, text = _settings(workspace)
    command = _ours(workspace)
    if text is None:
        after = json.dumps({NAME: _row(command)}, ensure_ascii=False) + "\n"
    else:
        after = _with(path, text, command)
    if after == text:
        return _said("the loop's line is in your status line already", path, False)
    if not sure:
        return _shown(path, text or "", after, "--install")
    data = place.data_dir(workspace.environment)
    with writes(path):
        os.makedirs(data, exist_ok=True)
        atomic.write(os.path.join(data, ROOT), os.fsencode(place.plugin_root()) + b"\n")
        atomic.write(os.path.join(data, PROGRAM), _PROGRAM.encode())
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _write(path, after)
    words = "the status line of each session shows its loop from now on"
    stronger = _stronger(workspace, path)
    note = f"\nwhere {stronger} says otherwise, that comes first" if stronger else ""
    return _said(f"{words}\nto take it out: loopkit statusline --remove --yes{note}", path, True)


def remove(workspace: Workspace, sure: bool) -> Result:
    """Show, or do, what takes it out again: all else stays to the byte."""
    path, text = _settings(workspace)
    after = None if text is None else _without(path, text, _ours(workspace))
    if text is None or after == text:
        return _said("the loop's line is not in your status line", path, False)
    if not sure:
        return _shown(path, text, after or "", "--remove")
    with writes(path):
        if after is None:
            os.unlink(path)
        else:
            _write(path, after)
    data = place.data_dir(workspace.environment)
    for name in (PROGRAM, ROOT):
        atomic.remove(os.path.join(data, name))
    return _said("the status line is what it was", path, True)


def _said(text: str, path: str, changed: bool) -> Result:
    return Result(None, text, {"settings": path, "changed": changed})


def _shown(path: str, before: str, after: str, word: str) -> Result:
    """What would change, and how to have it changed."""
    old, new = before.splitlines(), after.splitlines()
    difference = "\n".join(difflib.unified_diff(old, new, path, path, lineterm="", n=1))
    text = f"{difference}\nnothing was changed; to do it: loopkit statusline {word} --yes"
    return Result(None, text, {"settings": path, "changed": False, "change": difference})


# -- the command


def _ours(workspace: Workspace) -> str:
    """The command that the client runs for us."""
    path = os.path.join(os.path.abspath(place.data_dir(workspace.environment)), PROGRAM)
    return f"/bin/sh {shlex.quote(path)}"


def _around(command: str) -> tuple[str, str]:
    """What stands before and behind the person's own command, where both are run: ours first, which
    is silent without a loop, each with all that the client said."""
    said = "printf '%s\\n' \"$said\" |"
    return f"said=$(cat); {said} {command}; {said} (\n", "\n)"


def _row(command: str) -> dict:
    return {"type": "command", "command": command}


def _inner(text: str) -> str:
    """What stands between the quotes of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _with(path: str, text: str, command: str) -> str:
    found = _members(path, text)
    if NAME not in found:
        return splice.added(text, NAME, _row(command))
    at, end = _command_at(path, text, found[NAME])
    theirs = json.loads(text[at:end])
    before, behind = _around(command)
    if theirs == command or theirs.startswith(before):
        return text
    both = f'"{_inner(before)}{text[at + 1 : end - 1]}{_inner(behind)}"'
    return text[:at] + both + text[end:]


def _without(path: str, text: str, command: str) -> str | None:
    """The text as it was before; None where the file was not there."""
    found = _members(path, text)
    if NAME not in found:
        return text
    own = found[NAME]
    value = json.loads(text[own.value : own.end])
    if value == _row(command):
        whole = json.dumps({NAME: value}, ensure_ascii=False) + "\n"
        return None if text == whole else splice.without(text, NAME)
    theirs = value.get("command") if type(value) is dict else None
    before, behind = _around(command)
    if type(theirs) is not str or not (theirs.startswith(before) and theirs.endswith(behind)):
        return text
    at, end = _command_at(path, text, own)
    inner = text[at + 1 : end - 1]
    if inner.startswith(_inner(before)) and inner.endswith(_inner(behind)):
        inner = inner[len(_inner(before)) : len(inner) - len(_inner(behind))]
    else:  # somebody wrote the same in other words
        inner = _inner(theirs[len(before) : len(theirs) - len(behind)])
    return f'{text[:at]}"{inner}"{text[end:]}'


def _command_at(path: str, text: str, own: splice.Member) -> tuple[int, int]:
    """Where the person's own command stands. Raises Refused where there is none that could go on
    beside ours."""
    value = text[own.value : own.end]
    row = json.loads(value)
    if type(row) is not dict or row.get("type") != "command" or type(row.get("command")) is not str:
        what = f"{path} has a {NAME} that is no command"
        raise Refused(what, f"take {NAME} out of it, or have yours run {PROGRAM} itself")
    inner = splice.members(value)["command"]
    return own.value + inner.value, own.value + inner.end


# -- the file


def _settings(workspace: Workspace) -> tuple[str, str | None]:
    """(path, text) of the person's settings; None where there are none. Raises Damaged where they
    are not to be touched."""
    path = os.path.join(place.config_dir(workspace.environment), "settings.json")
    why = ""
    try:
        if os.path.islink(path):
            why = "is a link"
        elif not os.path.lexists(path):
            return path, None
        elif not os.access(path, os.W_OK) or not os.stat(path).st_mode & 0o222:
            why = "is read-only"
        else:
            text = atomic.read(path, LARGEST).decode("utf-8")
            _members(path, text)
            return path, text
    except UnicodeDecodeError:
        why = "is not UTF-8"
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
    raise _left_alone(path, why)


def _members(path: str, text: str) -> dict[str, splice.Member]:
    try:
        return splice.members(text)
    except (ValueError, RecursionError) as error:
        raise _left_alone(path, f"is not what the client reads ({error})") from None


def _left_alone(path: str, why: str) -> Damaged:
    ways = f'put {{"type": "command", "command": …}} of {PROGRAM} there yourself'
    return Damaged(f"{path} {why}, so it is left alone", f"mend it, or {ways}")


def _write(path: str, text: str) -> None:
    atomic.write(path, text.encode(), sync=True)


def _stronger(workspace: Workspace, path: str) -> str:
    """Another settings file here whose status line comes before the person's own; else ""."""
    files = client.settings(workspace.environment, [workspace.folder], sys.platform)
    found = client.deciding(files, "", NAME)
    return found[1] if found is not None and found[1] != path else ""
