"""Apply the rows of data/toolchains.toml to a folder; the table says what a row may hold."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Iterator, Sequence

from .checks import KINDS, Check, Folder, check, has

#: How a condition holds. folder, name: a file ("" if none is asked for) · why: what says so.
Match = namedtuple("Match", "folder name why")


def match(here: Folder, row: dict, files: Sequence[str] = ()) -> Match | None:
    """How a row's condition holds, or None. files: the default for those that it asks for."""
    files = row.get("files", files)
    if row.get("folder", "") not in {"", *here.folders}:
        return None
    below = here.below.values()
    known = {"": [here], "root": [here.root], "all": [here, *below]}
    at = row.get("at", "")
    folders = known[at] if at in known else [folder for folder in below if folder.name == at]
    names = here.table["lists"][files] if isinstance(files, str) else files
    files_there = ((folder, name) for folder in folders for name in folder.matching(names))
    fitting = (pair for pair in files_there if _fits(*pair, row))
    found = next(fitting, None if names else (here, ""))
    if found and "any" in row:
        return next(filter(None, (match(here, inner, files) for inner in row["any"])), None)
    return Match(*found, row.get("why", "{file}")) if found else None


def _fits(folder: Folder, name: str, row: dict) -> bool:
    if "text" in row and not re.search(row["text"], folder.files[name], re.MULTILINE):
        return False
    return "key" not in row or any(has(folder.document(name), key) for key in row["key"])


def own(here: Folder) -> Iterator[Check]:
    """What the chains give that are the project's own words."""
    return chains(here, {}, own=True)


def chains(here: Folder, functions: dict, own: bool = False) -> Iterator[Check]:
    """The checks of the chains. functions: {name in a chain: what finds its checks}."""
    for chain in here.table["chain"]:
        if chain.get("own", False) != own or not match(here, chain):
            continue
        if "function" in chain:
            yield from functions[chain["function"]](here)
        elif not (here.name and "within" in chain and match(here.root, chain["within"])):
            yield from _checks(here, chain)


def _checks(here: Folder, chain: dict) -> Iterator[Check]:
    groups = set()
    for row in chain["checks"]:
        (kind, line), group = command(row), row.get("group")
        if not (re.search(r"{in}|{here\[|{folder}", line) if here.name else "{folder}" not in line):
            continue
        matched = match(here, row, chain.get("files", ()))
        if (
            not matched
            or group in groups
            or any(match(here, inner) for inner in row.get("unless", ()))
        ):
            continue
        groups |= {group} - {None}
        words = _words(here, chain, matched)
        yield check(kind, line.format_map(words), matched.why.format_map(words), row.get("tier"))


def _words(here: Folder, chain: dict, found: Match) -> dict:
    """What stands for the names in braces, in the commands of a chain and in what tells of them."""
    words = _files(here, found)
    for word, choices in chain.get("words", {}).items():
        pairs = ((match(here, choice), choice["word"]) for choice in choices)
        texts = (text.format_map(_files(here, found)) for found, text in pairs if found)
        words[word] = next(texts, "")
    return {**words, "in": chain.get("in", "").format_map(words) if here.name else ""}


def _files(here: Folder, found: Match) -> dict:
    folder, name, _ = found
    shown = {"file": folder.shown(name), "path": folder.path(name)}
    return {"here": here, "folder": here.quoted, **shown}


def command(row: dict) -> tuple[str, str]:
    """(kind, command) of a row."""
    return next((kind, row[kind]) for kind in KINDS if kind in row)


def why(here: Folder, row: dict) -> str | None:
    """What tells that a row's condition holds, or None."""
    matched = match(here, row)
    return matched and matched.why.format_map(_files(here, matched))
