"""Where learnings lie: the project's lines, decisions of its loops, the user's lines. Read as far as they can be read."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator
from typing import Any

from ..core import learned, recall
from ..core.learned import Learning
from . import inside, journal, origin, trust
from .origin import Origin

NAME = "learnings.jsonl"
PROJECT, USER = "project", "user"
#: Bytes of a file of lines or a decision at the most, and how many decisions are looked at.
LARGEST, MOST_DECISIONS = 1 << 26, 20_000


def user_dir(environment: dict) -> str:
    """The user's own folder: LOOPKIT_CONFIG_DIR, else `loopkit` in XDG_CONFIG_HOME, else in ~/.config."""
    given = environment.get("LOOPKIT_CONFIG_DIR")
    if given:
        return os.path.abspath(given)
    base = environment.get("XDG_CONFIG_HOME") or os.path.join(
        environment.get("HOME") or os.path.expanduser("~"), ".config"
    )
    return os.path.join(base, "loopkit")


def user_too(whose: Origin) -> bool:
    """Whether the project reads the user's learnings too: `[recall] user = true` in its config.toml. A file with a fault in
    it says no; whoever starts a loop is told of the fault."""
    try:
        raw = whose.settings()
    except OSError:
        return False
    if b"recall" not in raw:  # the parser costs more than the rest of this
        return False
    import tomllib

    try:
        given = tomllib.loads(raw.decode("utf-8-sig").replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return False
    table = given.get("recall")
    return isinstance(table, dict) and table.get("user") is True


def decisions(root: str) -> list[str]:
    """The names of decisions' files below `.loop`, in their order."""
    found: list[str] = []
    for loop in sorted(_listed(root)):
        if loop[:1].isdigit():
            folder = os.path.join(root, loop, "learnings")
            if os.path.islink(os.path.dirname(folder)) or os.path.islink(
                folder
            ):  # a person's file, but not of this project
                continue
            names = sorted(name for name in _listed(folder) if name.endswith(".md"))
            found += [f"{loop}/learnings/{name}" for name in names[: max(0, MOST_DECISIONS - len(found))]]
    return found


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def read(path: str, links: bool = False) -> bytes | None:
    """The bytes of a file, None where there is none or only a link; `links`: a link is followed.

    Raises OSError, also where something else than a file is in its place.
    """
    if not links and os.path.islink(path):
        return None
    try:
        with inside.opened(path, LARGEST, links) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def lines(raw: bytes, whose: Origin | None = None) -> Iterator[tuple[int, bytes, str | None]]:
    """(number, bytes, whose it is) of each line that is not blank. whose: of a project's file."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        line = line.removeprefix(journal.BOM)
        if line.strip():
            yield number, line, whose.whose(NAME, origin.LEARNING, line) if whose else trust.OWN


def row(line: bytes) -> Any:
    """What a line holds as JSON; None where it is none, never an error."""
    try:
        return json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def named(path: str, bad: list[int]) -> str:
    """The note about lines that cannot be read: all of a file in one."""
    if not bad:
        return ""
    numbers = ", ".join(map(str, bad[:5])) + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
    one = len(bad) == 1
    return f"{path}: line{'' if one else 's'} {numbers} cannot be read and {'is' if one else 'are'} left out"


def rows(path: str, whose: Origin | None = None) -> list[dict]:
    """The rows of a file of lines, in their order; none where there is no file. Raises OSError for any other reason.

    whose: of a project's file; then the person's own rows only.
    """
    raw = read(path, links=whose is None) or b""
    found = [row(line) for _, line, how in lines(raw, whose) if how == trust.OWN]
    return [one for one in found if learned.entry(one, "")]


def known(whose: Origin, environment: dict, note: Callable[[str], None]) -> list[Learning]:
    """All learnings that count, each once: the project's lines, decisions, and the user's lines where they are switched on.
    `note` is told, once a file, what could not be read."""
    found = _noted(PROJECT, os.path.join(whose.root, NAME), whose, note)
    for name in decisions(whose.root):
        path = os.path.join(whose.root, name)
        try:
            raw = read(path)
        except OSError as error:
            if not whose.tracked(name):  # else its name is a stranger's as well
                note(f"cannot read {path}: {error.strerror}")
            continue
        how = whose.whose(name, origin.DECISION, raw) if raw is not None else None
        one = learned.decision(raw.decode("utf-8-sig", "replace"), name) if raw is not None and how else None
        found += [one._replace(taken=how == trust.TAKEN)] if one else []
    if user_too(whose):
        found += _noted(USER, os.path.join(user_dir(environment), NAME), None, note)
    return learned.unlike(found)


def _noted(where: str, path: str, whose: Origin | None, note: Callable[[str], None]) -> list[Learning]:
    """The learnings of a file of lines."""
    try:
        raw = read(path, links=whose is None) or b""
    except OSError as error:
        note(f"cannot read {path}: {error.strerror}")
        return []
    found, bad = [], []
    for number, line, how in lines(raw, whose):
        one = learned.entry(row(line), where) if how else None
        if one is not None:
            found.append(one._replace(taken=how == trust.TAKEN))
        elif how:
            bad.append(number)
    if bad:
        note(named(os.path.relpath(path, os.path.dirname(whose.root)) if whose else path, bad))
    return found


def fitting(
    whose: Origin | None,
    request: str,
    now: float,
    environment: dict,
    note: Callable[[str], None],
    most: int = recall.SHOWN,
) -> list[Learning]:
    """The learnings that fit a request best, at most `most`, each with a title of its own. `note` is told, once a file, what
    could not be read. No `.loop`: none."""
    there = known(whose, environment, note) if whose else []
    titled: list[Learning] = []
    taken: set[str] = set()
    for match in recall.ordered(recall.relevant(there, request), now)[:most]:
        one = match.what
        title = f"{learned.CAME} {one.title}" if one.taken else one.title
        if title in taken:  # an answer names one of them by its title
            title = f"{title}: {one.text[:80]}"
        taken.add(title)
        titled.append(one._replace(title=title))
    return titled


def path_of(root: str | None, environment: dict) -> str:
    """The file that learnings are added to: the project's, or the user's where `root` is None."""
    return os.path.join(root or user_dir(environment), NAME)


def append(path: str, added: list[dict]) -> None:
    """Add rows as lines with one write; an unfinished last line stays a line of its own. The caller holds the lock.
    They are known as the person's own from then on, wherever the file goes.

    Raises OSError; what was written of them is then taken back.
    """
    written = [_line(row) for row in added]
    trust.vouch(trust.OWN, [(origin.digest(origin.LEARNING, line), origin.LEARNING) for line in written])
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o644)
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise OSError(errno.EINVAL, "it is no file", path)
        size = seen.st_size
        before = b"\n" if size and _last_byte(descriptor, size) != b"\n" else b""
        try:
            data = before + b"".join(written)
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        journal.close(descriptor)


def _last_byte(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, size - 1, os.SEEK_SET)  # writes go to the end all the same: O_APPEND
    return os.read(descriptor, 1)


def _line(row: dict) -> bytes:
    try:
        return (json.dumps(row, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(row) + "\n").encode()
