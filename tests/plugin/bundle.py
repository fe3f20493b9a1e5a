"""The bundle as its files are: manifests, front matter, bodies, and the `loopkit` calls that the
Markdown names."""

from __future__ import annotations

import json
import re
import shlex
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = {"loop": ROOT, "hope": ROOT / "plugins" / "hope", "counsel": ROOT / "plugins" / "counsel"}
PROFILES = sorted((PLUGINS["counsel"] / "profiles").glob("*.md"))

#: A file that Claude reads. kind: command, skill or agent; name: as in `/plugin:name`.
Document = namedtuple("Document", "plugin kind name path meta body")
#: A `loopkit …` call in a text. words: after `loopkit`; here_document: the body it is given, else
#: None; text: all of it as it would be typed, the here-document included.
Call = namedtuple("Call", "path words here_document text")


def split(path: Path) -> tuple[dict, str]:
    """Front matter and body of a Markdown file; the front matter must be a YAML mapping."""
    text = path.read_text(encoding="utf-8")
    match = re.match(r"---\n(.*?)\n---\n(.*)\Z", text, re.S)
    assert match, f"{path}: no front matter"
    meta = yaml.safe_load(match.group(1))
    assert isinstance(meta, dict), f"{path}: front matter is no mapping"
    return meta, match.group(2)


def documents() -> list[Document]:
    """Every command, skill and agent of the three plugins."""
    found = []
    for plugin, root in PLUGINS.items():
        for kind, paths in (
            ("command", sorted(root.glob("commands/**/*.md"))),
            ("skill", sorted(root.glob("skills/*/SKILL.md"))),
            ("agent", sorted(root.glob("agents/*.md"))),
        ):
            for path in paths:
                name = path.parent.name if kind == "skill" else path.stem
                found.append(Document(plugin, kind, name, path, *split(path)))
    return found


DOCUMENTS = documents()
NAMES = {(one.plugin, one.kind, one.name): one for one in DOCUMENTS}
#: What Claude is led to by a skill, and what agents of runs are told.
LED_TO = [*sorted(ROOT.glob("skills/*/*/*.md")), *sorted(ROOT.glob("stages/*/prompt.md"))]
PROSE = [
    *(one.path for one in DOCUMENTS),
    *LED_TO,
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]


def manifest(plugin: str) -> dict:
    """The manifest of a plugin."""
    return json.loads(
        (PLUGINS[plugin] / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8")
    )


def rules(document: Document) -> list[str]:
    """The permission rules of `allowed-tools`, one each."""
    given = document.meta.get("allowed-tools", [])
    if isinstance(given, str):
        given = re.findall(r"[^\s,(]+(?:\([^)]*\))?", given)
    return list(given)


def injections(document: Document) -> list[str]:
    """The commands that the client runs before Claude sees the text."""
    return re.findall(r"!`([^`]+)`", document.body)


def _fences(text: str) -> Iterator[str]:
    yield from re.findall(r"^```[^\n]*\n(.*?)^```", text, re.S | re.M)


def calls_with_here_document() -> list[Call]:
    """The calls in what Claude reads that are given a text."""
    return [call for one in DOCUMENTS for call in calls(one.path) if call.here_document is not None]


def _words(line: str) -> list[str]:
    line = re.split(r"\|\||<<", line, maxsplit=1)[0]
    return shlex.split(line, comments=True)[1:]


def calls(path: Path) -> list[Call]:
    """The `loopkit …` calls of a Markdown file: code spans, lines of code blocks (with
    here-document), injections."""
    text = path.read_text(encoding="utf-8")
    found = []
    for block in _fences(text):
        lines = block.split("\n")
        for place, line in enumerate(lines):
            line = line.strip().removeprefix("next: ").removeprefix("bin/")
            if not re.match(r"loopkit(\s|$)", line):
                continue
            body, typed = None, line
            here = re.search(r"<<'(\w+)'", line)
            if here:
                end = lines.index(here.group(1), place)
                body = "\n".join(lines[place + 1 : end])
                typed = "\n".join([line, *lines[place + 1 : end + 1]])
            found.append(Call(path, _words(line), body, typed))
    for span in re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)):
        span = " ".join(span.split()).removeprefix("next: ").removeprefix("bin/")
        if re.match(r"loopkit(\s|$)", span) and "…" not in span:
            found.append(Call(path, _words(span), None, span))
    return found


#: Tokens at most of the descriptions of all three plugins, which every session pays.
ALWAYS_ON = 500
