"""Quotes for what block YAML would misread in a model's words: a text with `: ` or ` #`."""

from __future__ import annotations

import json
import re

#: The field that holds a command line.
COMMAND = "verify"
#: What a plain text begins with.
_PLAIN = re.compile(r"""[^\s"'\[\]{}|>&*!%@`#,?-]|-(?=\S)""")
#: What begins something else in YAML that no text of a reply can be, and a quotation that goes on
#: behind its end.
_ODD = re.compile(r"""[`@%*&!>|\[]|"(?:[^"\\]|\\.)*"\s*[^\s#,]|'[^']*'\s*[^\s#',]""")
_KEY = re.compile(r"([A-Za-z_]\w*):(?:[ \t]+(.*))?$")
_BLOCK = re.compile(r"(?:^|[:\-]\s+)[|>][+-]?\d*[+-]?\s*(?:#.*)?$")


def quoted(text: str, fields: set[str], texts: set[str]) -> str:
    """The same record with such texts in double quotes. fields: every field's name · texts: those
    that hold a text.

    Looked at are values of `texts` and entries of lists that begin with no field; what goes on over
    further lines is put on one, as YAML reads it. Literal blocks, paragraphs and what is quoted
    already stay as they are.
    """
    lines = text.split("\n")
    made: list[str] = []
    start = 0
    while start < len(lines):
        line, end = lines[start], start + 1
        head, value, depth = _value(line, fields, texts)
        if _BLOCK.search(line):
            value, depth = None, _depth(line)
            while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > depth):
                end += 1
        elif value is not None:
            while end < len(lines) and _goes_on(lines[end], depth, fields):
                end += 1
            below = next((row for row in lines[end:] if row.strip()), "")
            whole = " ".join([value.strip(), *map(str.strip, lines[start + 1 : end])])
            if not _goes_on(below, depth, fields) and _needs_quotes(head, whole):
                lines[start:end], end = [head + json.dumps(whole, ensure_ascii=False)], start + 1
        made += lines[start:end]
        start = end
    return "\n".join(made)


def _needs_quotes(head: str, text: str) -> bool:
    if head.endswith(f"{COMMAND}: ") and _comment(text):
        return False  # a note behind a command is none of its arguments
    return bool(_ODD.match(text)) or ": " in text or " #" in text or text.endswith(":")


def _comment(command: str) -> bool:
    """Whether ` #` stands in a command line outside of quotes."""
    quote = ""
    for before, letter in zip(" " + command, command, strict=False):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#" and before == " ":
            return True
    return False


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _depth(line: str) -> int:
    """The indentation that what belongs to a line must exceed: of its key, or of the line."""
    mark = re.match(r" *(?:- +)?", line)
    assert mark is not None
    return mark.end() if _KEY.match(line[mark.end() :]) else _indent(line)


def _value(line: str, fields: set[str], texts: set[str]) -> tuple[str, str | None, int]:
    """(what stands before a plain text, the text or None, the indentation that it must exceed)."""
    mark = re.match(r"( *)((?:- +)?)", line)
    assert mark is not None
    head, rest = mark[0], line[mark.end() :]
    key = _KEY.match(rest)
    if key is not None and key[1] in fields:
        if key[1] not in texts or not key[2] or not (_PLAIN.match(key[2]) or _ODD.match(key[2])):
            return "", None, 0
        return f"{head}{key[1]}: ", key[2], len(head)
    if mark[2] and (_PLAIN.match(rest) or _ODD.match(rest)):
        return head, rest, len(mark[1])
    return "", None, 0


def _goes_on(line: str, depth: int, fields: set[str]) -> bool:
    """Whether a line belongs to the plain text above it, which begins at this depth."""
    bare = line.strip()
    if not bare or _indent(line) <= depth or bare.startswith("- "):
        return False
    key = _KEY.match(bare)
    return key is None or key[1] not in fields
