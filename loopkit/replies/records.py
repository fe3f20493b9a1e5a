"""Records that a model or a person submits: block YAML, of which JSON is a part.

Block YAML is the form that is asked for, since the client's shell check refuses a here-document in
which a brace meets a quote. Scalars stay texts unless they are whole numbers or null.
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from ..core.journal.errors import UsageFault


def _fault(what: str, at: Any) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, what, at.start_mark)


class _Loader(yaml.SafeLoader):
    """Safe, without aliases (a few can stand for gigabytes), tags and YAML's words for booleans."""

    yaml_implicit_resolvers: dict = {}
    _in_plain = False

    def scan_plain(self) -> Any:
        self._in_plain = True
        try:
            token = super().scan_plain()
        finally:
            self._in_plain = False
        cut = self.peek() == "#" and self.line == token.end_mark.line
        if cut and not re.fullmatch(r"-?[0-9]+|null", token.value):
            raise _fault("the text ends before ' #'", token)
        return token

    def peek(self, index: int = 0) -> str:
        """In a plain text a question mark is a letter like any other: `[Which one?, And when?]`."""
        letter = super().peek(index)
        return "." if letter == "?" and self._in_plain else letter

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            raise _fault("aliases are not used here", event)
        if getattr(event, "anchor", None) is not None:
            raise _fault("anchors are not used here", event)
        if getattr(event, "tag", None) is not None:
            raise _fault("tags are not used here", event)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict:
        seen: set = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise _fault("a key is no word", key)
            if key.value in seen:
                raise _fault(f"{key.value} stands twice", key)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


for _tag, _form, _first in (
    ("tag:yaml.org,2002:int", r"-?(0|[1-9][0-9]{0,9})", list("-0123456789")),
    ("tag:yaml.org,2002:null", r"null|", ["n", ""]),
):
    _Loader.add_implicit_resolver(_tag, re.compile(rf"^(?:{_form})$"), _first)


def once(pairs: list) -> dict:
    """The record of these pairs. Raises ValueError where a key stands twice."""
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a key stands twice")
    return row


def _json(text: str) -> Any:
    """What a text means as JSON, or None; YAML reads its escapes beyond 16 bits otherwise."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return None


_QUOTES = "put into single quotes a text with ': ' or ' #', and one that begins with `@%&*!|>[{"


def parse(text: str, source: str, kind: type) -> Any:
    """The record or list (`kind`) in a text. Raises UsageFault naming source, line and reason."""
    todo = "write block YAML"
    try:
        value = _json(text) or yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{source} line {mark.line + 1}" if mark else source
        rows = text.splitlines()
        near = f", at {rows[mark.line].strip()[:60]!r}" if mark and mark.line < len(rows) else ""
        todo += f"; {_QUOTES}"
        raise UsageFault(f"{where}: {error.problem or error}{near}", todo) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageFault(f"{source} cannot be read: {str(error)[:200]}", todo) from None
    if not isinstance(value, kind):
        what, todo = "record", "key: value lines"
        if kind is list:
            what, todo = "list", "a list: each entry begins with `- `"
        raise UsageFault(f"{source} is no {what}", f"write {todo}; see --help")
    return value


# -- files that people write, with the line of each value


class _Lines(_Loader):
    """The same with comments behind values, as people write them."""

    def scan_plain(self) -> Any:
        return yaml.SafeLoader.scan_plain(self)


class Unreadable(Exception):
    """A file that cannot be read. line: from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


def marked(text: str) -> tuple[Any, dict[tuple, int]]:
    """What YAML text says (texts, whole numbers, null, lists, records), and the line, from 1, of
    what stands under each path of keys. Raises Unreadable."""
    try:
        loader = _Lines(text)
        try:
            node = loader.get_single_node()
            value = None if node is None else loader.construct_document(node)
            lines: dict[tuple, int] = {}
            _mark(node, (), lines)
            return value, lines
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise Unreadable(line, str(error.problem or error)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Unreadable(line, f"a character that no text has: {error.character:#x}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise Unreadable(1, str(error)[:200]) from None


def _mark(node: Any, path: tuple, lines: dict[tuple, int]) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            lines[(*path, key.value)] = key.start_mark.line + 1
            _mark(value, (*path, key.value), lines)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            lines[(*path, number)] = value.start_mark.line + 1
            _mark(value, (*path, number), lines)
