"""`.loop/learnings.db`: all learnings by their words, in SQLite's FTS5. Derived: made anew whenever it does not fit.

A file that is there is never changed, only replaced: a reader has the old one or the new one whole, and nobody waits.
It holds a seal of this machine: one that came with a repository is none of ours, whatever stands in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
from collections import Counter
from collections.abc import Callable, Iterator

from ..core import learned, recall
from ..core.learned import Learning
from ..core.recall import Match
from . import learnings, origin, trust
from .learnings import PROJECT, USER, Source
from .origin import Origin

NAME = "learnings.db"
#: Changes with the tables, the words and the fields of a learning.
VERSION = 2
#: What a word counts in context, in applies_to, and in the rest.
_WEIGHTS = (3.0, 2.0, 0.5)
_TABLES = (
    "create table source(place integer primary key, spot, stamp, bytes, digest, lines, bad, fault)",
    "create table seal(value)",
    "create table learning(id integer primary key, kind, title, text, at, sure, seen, key, spot, taken, place)",
    "create index learning_key on learning(key)",
    "create table word(word primary key, learnings) without rowid",
    "create virtual table words using fts5(context, applies_to, body, content='', "
    "tokenize=\"porter unicode61 remove_diacritics 0 categories 'L* N* Co M*'\")",
)


def search(whose: Origin, sources: list[Source], request: str, note: Callable[[str], None]) -> list[Match]:
    """The learnings that share a word with the request, at most recall.CONSIDERED, the most relevant. `note` is told what
    could not be read."""
    candidates = recall.wanted(request)
    try:
        with _index(whose, sources) as index:
            for spot, bad, fault in index.execute("select spot, bad, fault from source order by place"):
                path = next((one.path for one in sources if one.where == spot), spot)
                said = fault or learnings.named(_short(whose.root, path), json.loads(bad))
                if said:
                    note(said)
            return _found(index, candidates)
    except sqlite3.Error as error:  # no FTS5 in this Python, no memory
        note(f"nothing can be recalled: {error}; a Python whose SQLite has FTS5 is needed")
        return []


def _found(index: sqlite3.Connection, candidates: list[str]) -> list[Match]:
    known: dict[str, int] = {}
    if candidates:
        marks = ",".join("?" * len(candidates))
        known = dict(index.execute(f"select word, learnings from word where word in ({marks})", candidates).fetchall())
    wanted = recall.chosen(candidates, known)
    if not wanted:
        return []
    rows = index.execute(
        f"select score, kind, title, text, at, sure, seen, key, learning.spot, taken, learning.place from "
        f"(select rowid as id, bm25(words, {', '.join(map(str, _WEIGHTS))}) as score from words where words match ? "
        f"order by score, rowid desc limit {recall.CONSIDERED}) join learning using (id) order by score, id desc",
        [" OR ".join(f'"{word}"' for word in wanted)],
    )
    found = []
    for score, kind, title, text, at, sure, seen, key, spot, taken, place in rows:
        one = Learning(kind, title, text, "", "", "", at, bool(sure), seen, key, spot, bool(taken))
        found.append(Match(-score, at, bool(sure), seen >= recall.AGAIN, place, one))
    return found


@contextlib.contextmanager
def _index(whose: Origin, sources: list[Source]) -> Iterator[sqlite3.Connection]:
    """The index of these sources, as it stands or made anew; in memory where it cannot be kept."""
    index = _standing(whose, sources)
    if index is None:
        index = _added(whose, sources) or _made(whose, sources)
    try:
        yield index
    finally:
        index.close()


def _open(whose: Origin) -> sqlite3.Connection | None:
    """The index of a `.loop`, as far as it is one of ours; None where it is none or damaged at its beginning."""
    path = os.path.join(whose.root, NAME)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        index = sqlite3.connect(f"file:{name}?mode=ro&immutable=1", uri=True)
    except (OSError, sqlite3.Error):
        return None
    try:
        index.execute("pragma trusted_schema = off")
        if index.execute("pragma user_version").fetchone() == (VERSION,) and _plain(index):
            if whose.seal and index.execute("select value from seal limit 1").fetchone() == (whose.seal,):
                return index
    except sqlite3.Error:
        pass
    index.close()
    return None


def _plain(index: sqlite3.Connection) -> bool:
    """Whether nothing but our tables is in it: a view that a stranger put in their place could go on for ever."""
    rows = index.execute("select type, name, sql from sqlite_master where name not like 'words_%' limit 50").fetchall()
    told = {sql for kind, _, sql in rows if sql is not None and kind in ("table", "index")}
    odd = index.execute("select 1 from sqlite_master where type not in ('table', 'index') limit 1").fetchone()
    return odd is None and {one.lower() for one in told} == {one.lower() for one in _TABLES}


def _standing(whose: Origin, sources: list[Source]) -> sqlite3.Connection | None:
    """The index where it fits the sources as they are."""
    index = _open(whose)
    if index is None:
        return None
    try:
        if index.execute("select spot, stamp from source order by place").fetchall() == [
            (one.where, one.stamp) for one in sources
        ]:
            index.execute("select count(*) from words where words match 'x'").fetchone()  # a damaged one says so here
            return index
    except sqlite3.Error:
        pass
    index.close()
    return None


# -- making it


class _Content:
    """What is in the sources: learnings with the place of each, and what is to be known of each source."""

    def __init__(self, whose: Origin) -> None:
        self.whose = whose
        self.learnings: list[tuple[int, Learning]] = []
        self.sources: list[tuple] = []

    def read(self, source: Source) -> None:
        """A whole source; one that cannot be read is named."""
        try:
            raw, stamp = learnings.read(source.path)
        except OSError as error:
            fault = f"cannot read {source.path}: {error.strerror}"
            if source.where != PROJECT and self.whose.tracked(source.where):  # its name is a stranger's as well
                fault = ""
            self.sources.append((source.where, source.stamp, 0, "", 0, "[]", fault))
            return
        stamp = (
            source.stamp if source.stamp.startswith(stamp + learnings.KNOWN) else stamp
        )  # what is known counts as well
        if source.where not in (PROJECT, USER):
            how = self.whose.whose(source.where, origin.DECISION, raw)
            one = learned.decision(raw.decode("utf-8-sig", "replace"), source.where) if how else None
            self.learnings += [(0, one._replace(taken=how == trust.TAKEN))] if one is not None else []
            self.sources.append((source.where, stamp, len(raw), "", 0, "[]", ""))
            return
        self.lines(source.where, stamp, raw, 0, 0, [])

    def lines(self, where: str, stamp: str, raw: bytes, start: int, before: int, bad: list[int]) -> None:
        """The lines from byte `start` on; `before` is how many lines come before them, `bad` which of those are bad."""
        used, taken = learnings.known_lines(raw, self.whose) if where == PROJECT else (raw, frozenset())
        found = learnings.lines(used[start:], before + 1)
        for number, row in found.rows:
            one = learned.entry(row, where)
            if one is not None:
                self.learnings.append((number, one._replace(taken=number in taken)))
        # a last line without its end may go on: then all is read again
        size = len(raw) if found.whole else -1
        count = before + raw.count(b"\n", start)
        self.sources.append((where, stamp, size, _digest(raw), count, json.dumps([*bad, *found.bad]), ""))


def _digest(raw: bytes) -> str:
    import hashlib  # its import costs as much as SQLite's

    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def _made(whose: Origin, sources: list[Source]) -> sqlite3.Connection:
    """A new index of all sources, in the file, or in memory where the file cannot be written."""
    content = _Content(whose)
    for source in sources:
        content.read(source)
    places = {id(one): place for place, one in content.learnings}
    standing = learned.unlike([one for _, one in content.learnings])

    def fill(index: sqlite3.Connection) -> None:
        for statement in _TABLES:
            index.execute(statement)
        index.execute("insert into seal values(?)", [whose.seal])
        _insert(index, [(places[id(one)], one) for one in standing], content.sources)
        index.execute(f"pragma user_version = {VERSION}")

    return _kept(whose, None, fill)


def _added(whose: Origin, sources: list[Source]) -> sqlite3.Connection | None:
    """The index with what was only added: lines at the end of a file, decisions of a new file; None where anything else
    happened, or where something was said again."""
    old = _open(whose)
    if old is None:
        return None
    try:
        known = {row[0]: row for row in old.execute("select spot, stamp, bytes, digest, lines, bad, fault from source")}
        content = _Content(whose)
        for source in sources:
            row = known.pop(source.where, None)
            if row is None:
                content.read(source)
            elif row[1] == source.stamp:
                content.sources.append(row)
            elif not _lengthened(content, source, row):
                return None
        keys = [one.key for _, one in content.learnings]
        said = len(set(keys)) < len(keys) or any(
            old.execute("select 1 from learning where key = ?", (key,)).fetchone() for key in keys
        )
        if known or said:
            return None
        return _kept(whose, old, lambda index: _insert(index, content.learnings, content.sources))
    except (sqlite3.Error, OSError, ValueError):
        return None
    finally:
        old.close()


def _lengthened(content: _Content, source: Source, row: tuple) -> bool:
    """Whether a source has only grown at its end; then its new lines are in the content."""
    where, _, size, digest, count, bad, fault = row
    if fault or size < 0 or source.where not in (PROJECT, USER):
        return False
    if learnings.KNOWN in source.stamp + row[1]:  # lines that stood there may count by now, or no longer
        return False
    raw, stamp = learnings.read(source.path)
    if len(raw) < size or _digest(raw[:size]) != digest:
        return False
    content.lines(where, stamp, raw, size, count, json.loads(bad))
    return True


def _insert(index: sqlite3.Connection, added: list[tuple[int, Learning]], sources: list[tuple]) -> None:
    first = (index.execute("select max(id) from learning").fetchone()[0] or 0) + 1
    counts: Counter[str] = Counter()
    rows, texts = [], []
    for number, (place, one) in enumerate(added, first):
        said = [recall.words(text) for text in (one.context, one.applies_to, one.body)]
        counts.update(set().union(*said))
        texts.append((number, *(" ".join(words) for words in said)))
        rows.append(
            (number, *(one.kind, one.title, one.text, one.at, one.sure, one.seen, one.key, one.where, one.taken), place)
        )
    index.executemany("insert into learning values(?,?,?,?,?,?,?,?,?,?,?)", rows)
    index.executemany("insert into words(rowid, context, applies_to, body) values(?,?,?,?)", texts)
    index.executemany(
        "insert into word values(?,?) on conflict(word) do update set learnings = learnings + excluded.learnings",
        sorted(counts.items()),
    )
    index.execute("delete from source")
    index.executemany(
        "insert into source(spot, stamp, bytes, digest, lines, bad, fault) values(?,?,?,?,?,?,?)", sources
    )


def _kept(
    whose: Origin, old: sqlite3.Connection | None, fill: Callable[[sqlite3.Connection], None]
) -> sqlite3.Connection:
    """An index that `fill` has filled (a copy of the old one, or an empty one), put in its place.

    Where the folder cannot be written it is one in memory. Raises sqlite3.Error.
    """
    path = os.path.join(whose.root, NAME)
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        index = sqlite3.connect(beside, isolation_level=None)
        if old is not None:
            old.backup(index)  # what was read from it, whatever stands in its place by now
        _filled(index, fill).close()
        _sync(beside)
        os.replace(beside, path)
        kept = _open(whose)
        if kept is not None:
            return kept
    except (OSError, sqlite3.OperationalError):
        with contextlib.suppress(OSError):
            os.unlink(beside)
        if old is not None:
            raise
    return _filled(sqlite3.connect(":memory:", isolation_level=None), fill)


def _filled(index: sqlite3.Connection, fill: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    try:
        index.execute("pragma journal_mode = off")
        index.execute("pragma synchronous = off")
        index.execute("begin")
        fill(index)
        index.execute("commit")
    except BaseException:
        index.close()
        raise
    return index


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _short(root: str, path: str) -> str:
    """A path as people know it: from the project's folder on."""
    above = os.path.dirname(root) + os.sep
    return path[len(above) :] if path.startswith(above) else path
