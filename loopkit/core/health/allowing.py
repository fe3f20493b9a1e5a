"""A tool call of an agent, as a person reads it, and the permission rules that would allow it."""

from __future__ import annotations

import re
import shlex

#: What of a call's input says what it is about.
_ABOUT = "command file_path notebook_path url query pattern skill description".split()
#: Most characters that are shown of a call.
_MOST = 200
#: Tools that edit: one rule is for all of them.
_EDITING = ("Edit", "Write", "NotebookEdit")
#: What divides a shell line into commands, each of which needs its own rule.
_PARTS = re.compile(r"&&|\|\||[;|\n]|(?<![>&])&(?![>&\d])")
#: Redirections, which need none of their own or cannot be allowed by a pattern.
_REDIRECTION = re.compile(r"\s*\d*>{1,2}\s*(&\d|/dev/null)|\s*&>\s*/dev/null")
#: Programs that the client lets run unasked, since they only read.
_READING = frozenset("cat cd cut echo grep head ls pwd sort tail tr true uniq wc".split())
#: A word that names a subcommand, not an option, path or value.
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*")


def call(tool: object, given: object) -> str:
    """`Bash: npm test`, `Edit: src/a.py`; on one line, cut to what can be read."""
    values = given if isinstance(given, dict) else {}
    about = next((values[name] for name in _ABOUT if isinstance(values.get(name), str)), "")
    text = " ".join(f"{tool}: {about}".split()) if about else str(tool)
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"


def rules(tool: object, given: object) -> list[str]:
    """The rules that would allow a call, as they stand in `permissions.allow`: a program with its
    subcommand, else the very command; none where none can."""
    if tool in _EDITING:
        return ["Edit"]
    if tool == "WebFetch" and isinstance(given, dict):
        host = re.match(r"https?://([^/:]+)", str(given.get("url")))
        return [f"WebFetch(domain:{host[1]})" if host else "WebFetch"]
    if tool != "Bash":
        return [tool] if isinstance(tool, str) and re.fullmatch(r"\w+", tool) else []
    line = given.get("command") if isinstance(given, dict) else None
    if not isinstance(line, str) or re.search(r"[`<]|\$\(", line):
        return []  # no pattern allows what stands in quotes, substitutions or documents
    found = []
    for part in map(str.strip, _PARTS.split(line)):
        try:
            words = shlex.split(_REDIRECTION.sub("", part))
        except ValueError:  # an operator within quotes
            return []
        if any(">" in word for word in words):
            return []
        found += _patterns(words)
    return list(dict.fromkeys(found))


def _patterns(words: list[str]) -> list[str]:
    """The rule for one command, none for one that needs none."""
    if not words or words[0] in _READING:
        return []
    if len(words) > 1 and _SUBCOMMAND.fullmatch(words[1]):
        return [f"Bash({words[0]} {words[1]} *)"]
    return [f"Bash({shlex.join(words)})"]
