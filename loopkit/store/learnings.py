"""Where learnings lie: the project's lines, decisions of its loops, the user's lines. Read as far as they can be read."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections import namedtuple
from collections.abc import Callable

from ..core import learned, recall
from ..core.learned import Learning
from . import inside, journal, origin, trust
from .origin import Origin

NAME = "learnings.jsonl"
PROJECT, USER = "project", "user"
#: Bytes of a file of lines or a decision at the most, and how many decisions are looked at.
LARGEST, MOST_DECISIONS = 1 << 26, 20_000

#: What parts the stamp of a file that may have come with the repository from that of what is known.
KNOWN = ", known: "

#: A file with learnings. where: project, user, or a decision's path below `.loop`; stamp: changes when the file does.
Source = namedtuple("Source", "where path stamp")
#: What reading lines gave. rows: JSON objects of a known kind, each with its 1-based line number; bad: numbers of the other
#: lines; whole: the bytes end in a line break.
Lines = namedtuple("Lines", "rows bad whole")


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


def sources(whose: Origin, environment: dict) -> list[Source]:
    """The files there are, the project's lines first, then decisions, then the user's lines where they are switched on.

    Those of a file that may have come with the repository are others when other contents are known.
    """
    found = [_source(PROJECT, os.path.join(whose.root, NAME))]
    found += [_source(name, os.path.join(whose.root, name)) for name in decisions(whose.root)]
    found = [
        one._replace(stamp=one.stamp + KNOWN + whose.stamp) if one and whose.tracked(name_of(one)) else one
        for one in found
    ]
    if user_too(whose):
        found.append(_source(USER, os.path.join(user_dir(environment), NAME), links=True))
    return [one for one in found if one is not None]


def name_of(source: Source) -> str:
    """The name below `.loop` of a file with learnings."""
    return NAME if source.where == PROJECT else str(source.where)


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


def _source(where: str, path: str, links: bool = False) -> Source | None:
    try:
        seen = os.stat(path, follow_symlinks=links)
    except OSError:
        return None
    if stat.S_ISLNK(seen.st_mode) or stat.S_ISDIR(seen.st_mode) and where not in (PROJECT, USER):
        return None
    return Source(where, path, stamp(seen))


def stamp(seen: os.stat_result) -> str:
    """Size and times of a file as one text."""
    return f"{seen.st_size} {seen.st_mtime_ns} {seen.st_ctime_ns}"


def read(path: str) -> tuple[bytes, str]:
    """(bytes, stamp) of a file. Raises OSError, also where something else than a file is in its place."""
    with inside.opened(path, LARGEST, links=True) as file:
        return file.read(), stamp(os.fstat(file.fileno()))


def lines(raw: bytes, first: int = 1) -> Lines:
    """The rows of a file's bytes; `first` is the number of its first line. Never an error: what is no row is counted."""
    rows, bad = [], []
    for number, line in enumerate(raw.split(b"\n"), first):
        if line[:3] == journal.BOM:
            line = line[3:]
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict) and learned.entry(row, "") is not None:
            rows.append((number, row))
        else:
            bad.append(number)
    return Lines(rows, bad, not raw or raw.endswith(b"\n"))


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
    try:
        raw, _ = read(path)
    except FileNotFoundError:
        return []
    used, taken = (raw, frozenset()) if whose is None else known_lines(raw, whose)
    return [row for number, row in lines(used).rows if number not in taken]


def known_lines(raw: bytes, whose: Origin) -> tuple[bytes, frozenset[int]]:
    """The bytes of the project's lines with those of strangers made empty, and the numbers of those that were taken over."""
    if not whose.tracked(NAME):
        return raw, frozenset()
    kept, taken = [], []
    for number, line in enumerate(raw.split(b"\n"), 1):
        how = whose.whose(NAME, origin.LEARNING, line)
        kept.append(line if how else b"")
        taken += [number] if how == trust.TAKEN else []
    return b"\n".join(kept), frozenset(taken)


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
    there = sources(whose, environment) if whose else []
    if not there:
        return []
    from . import recall_index

    assert whose is not None
    found = recall.ordered(recall_index.search(whose, there, request, note), now)
    titled: list[Learning] = []
    taken: set[str] = set()
    for match in found[:most]:
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
