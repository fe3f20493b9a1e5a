"""Read from the client's transcripts what a session did and used; never what it said.

Measured on client 2.1.332. One JSON object a line, of many kinds, some very large. An `assistant`
line holds one content block; the lines of one message repeat its id and its full usage, so each id
counts once. Subagents have files of their own beside the main one:
`<session>/subagents/agent-<id>.jsonl`.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections import namedtuple

from ..core.journal import pricing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..core.journal.session import Session

#: Bytes read at a time; kept of one line (a longer one tells nothing); read in a call in all.
PIECE, LONGEST_LINE, MOST = 1 << 20, 8 << 20, 64 << 20
#: Tokens of one message: no message has as many, so such a figure is none.
MOST_TOKENS = 1 << 40
#: Message ids carried over to the next reading: the lines of a message stand close together.
CARRIED = 64

#: active: a tool was called · usage: {model: figures as in pricing.COUNTED, at least the first
#: four} · offsets: {file name: bytes read} of the files that grew · message_ids: the newest ids, to
#: be submitted next time.
Reading = namedtuple("Reading", "active usage offsets message_ids")


class _Count:
    def __init__(self, seen: list, since: str) -> None:
        self.seen = dict.fromkeys(seen)
        self.since = since[:19]
        self.usage: dict = {}
        self.active = False

    def line(self, line: bytes) -> None:
        """Take one line into account; whatever is not an assistant's message changes nothing."""
        try:
            record = json.loads(line.decode("utf-8", "replace"))
            before = str(record.get("timestamp") or "~")[:19] < self.since
            if record["type"] != "assistant" or before:
                return
            message = record["message"]
            content = message.get("content")
            if not self.active and type(content) is list:
                blocks = (block for block in content if type(block) is dict)
                self.active = any(block.get("type") == "tool_use" for block in blocks)
            name, model, usage = message["id"], message["model"], message["usage"]
            if not type(name) is type(model) is str or name in self.seen or model == "<synthetic>":
                return
            self.seen[name] = None
            if usage.get("speed") == "fast":
                model += pricing.FAST
            self.usage[model] = pricing.add(self.usage.get(model, ()), _figures(usage))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass


_KINDS = ("input", "output", "cache_creation_input", "cache_read_input")
#: What is told apart one level deeper, and counted after the tokens.
_MORE = {
    "cache_creation": "ephemeral_1h_input_tokens",
    "server_tool_use": "web_search_requests",
}


def _figure(table: dict, key: str) -> int:
    figure = table.get(key)
    return figure if type(figure) is int and 0 < figure < MOST_TOKENS else 0


def _figures(usage: dict) -> list:
    """A message's `usage` in the order of pricing.COUNTED, without zeros at its end."""
    figures = [_figure(usage, kind + "_tokens") for kind in _KINDS]
    for group, key in _MORE.items():
        table = usage.get(group)
        figures.append(_figure(table, key) if type(table) is dict else 0)
    figures[4] = min(figures[4], figures[2])
    figures[2] -= figures[4]  # the whole is given, and the part that is kept for an hour
    while len(figures) > len(_KINDS) and not figures[-1]:
        figures.pop()
    return figures


def read(
    path: str,
    offsets: dict,
    message_ids: list,
    since: str = "",
    extra: tuple = (),
    most: int = MOST,
) -> Reading:
    """What happened in a session's transcript and those of its subagents after `offsets`.

    path: the main transcript · offsets: {file name: bytes read before} · message_ids: from the
    reading before · since: UTC stamp, earlier messages do not count (a conversation before the
    loop) · extra: further transcripts · most: bytes to read in all; the rest is left for the next
    time. Files that cannot be read are passed over.
    """
    count, grown = _Count(message_ids, since), {}
    for file in _files(path, extra):
        name = key(file)
        before = offsets.get(name, 0)
        if not before and since:
            before = _older(file, since[:19])
        after, read_bytes = _read_file(file, before, most, count)
        most -= read_bytes
        if after != before:
            grown[name] = after
    return Reading(count.active, count.usage, grown, list(count.seen)[-CARRIED:])


def find(config: str, session_id: str) -> str:
    """The main transcript of a session in the client's folder `config`, or ""."""
    projects, name = os.path.join(config, "projects"), session_id + ".jsonl"
    try:
        folders = os.listdir(projects) if os.path.basename(name) == name else []
    except (OSError, ValueError):
        return ""
    found = (os.path.join(projects, folder, name) for folder in folders)
    return next((path for path in found if os.path.isfile(path)), "")


def of(session: Session, path: str) -> Reading:
    """What the loop's owner has done since its last look."""
    extra = tuple(file for file in session.subagents.values() if type(file) is str)
    return read(path, session.offsets, session.message_ids, session.owner_since, extra)


def unread(config: str, session: Session) -> dict:
    """What the loop's owner has used since its last look: fields for the `owner_changed` that lets
    it go. A session that was killed or cleared in the middle of a turn never comes to the stop that
    would count it."""
    path = find(config, session.owner) if session.owner else ""
    return since_last(session, path) if path else {}


def since_last(session: Session, path: str) -> dict:
    """The same of a main transcript: fields for an event; none where nothing was used."""
    reading = of(session, path)
    if not reading.usage:
        return {"offsets": reading.offsets} if reading.offsets else {}
    return {"usage": reading.usage, "offsets": reading.offsets, "message_ids": reading.message_ids}


def key(path: str) -> str:
    """The name under which `offsets` knows a transcript: session and agent ids are unique."""
    return os.path.basename(path)


def agents(path: str) -> list:
    """The transcripts of a session's subagents; path: its main one."""
    stem, ending = os.path.splitext(path)
    folder = os.path.join(stem, "subagents")
    try:
        names = sorted(os.listdir(folder)) if ending == ".jsonl" else []
    except (OSError, ValueError):
        return []
    names = [name for name in names if name.startswith("agent-") and name.endswith(".jsonl")]
    return [os.path.join(folder, name) for name in names]


#: Bytes at a transcript's end in which the client's notes of its queue are looked for.
_TAIL = 1 << 20


def _tail(path: str) -> list:
    """The lines at a transcript's end, the first perhaps cut; none where it cannot be read."""
    try:
        state = os.stat(path)
        if not stat.S_ISREG(state.st_mode):
            return []
        with open(path, "rb", buffering=0) as file:
            file.seek(max(0, state.st_size - _TAIL))
            return file.read(_TAIL).split(b"\n")
    except (OSError, ValueError):
        return []


def queued(path: str, since: str = "") -> tuple:
    """Whether a turn follows by itself, and whether that will be the person's: the client (2.1.332)
    notes each `queue-operation`, what it puts into its queue and what it takes out. Reports and
    commands wait for the turn's end; no turn follows from commands of the client's own (/compact).
    since: the stamp before which one was left behind by a client that was killed."""
    waiting: list = []
    for line in _tail(path):
        if b'"queue-operation"' not in line:
            continue
        at, operation = re.search(_TIME, line), re.search(_OPERATION, line)
        if operation is None or operation[1] == b"popAll":
            waiting = []
        elif operation[1] != b"enqueue":
            del waiting[:1]
        elif at and at[1].decode() >= since[:19]:
            waiting.append(_REPORT if _is_report(line) else _THEIRS if _begins(line) else "")
    return any(waiting), _THEIRS in waiting


#: How the client notes that Esc was pressed; how lines begin that are no prompt of anybody's.
_ESC = "[Request interrupted by user"
_ASIDE = ("<local-command", "<command-", "<bash-")


def interrupted(path: str, prompt: str = "") -> bool:
    """Whether Esc ended the newest turn, apart from the one that `prompt`, its id, begins: then
    nobody has said anything since."""
    for row in _messages(reversed(_tail(path))):
        if row["type"] == "assistant":
            break
        text = _text(row)
        aside = row.get("isMeta") or prompt and prompt == row.get("promptId")
        if not aside and not text.startswith(_ASIDE):
            return text.startswith(_ESC)
    return False


def by_hand(path: str) -> bool:
    """Whether the newest turn was begun by a line that the person ran in the client's shell mode,
    of which no hook hears."""
    lines = _tail(path)
    if not any(b"<bash-" in line for line in lines):
        return False
    rows = _messages(line for line in reversed(lines) if b'"tool_result"' not in line)
    texts = (_text(row) for row in rows if row["type"] == "user" and not row.get("isMeta"))
    return next(filter(None, texts), "").startswith("<bash-")


def _messages(lines: Iterable) -> Iterator:
    """The messages among the lines of a transcript."""
    for line in lines:
        if b'"user"' not in line and b'"assistant"' not in line:
            continue
        try:
            record = json.loads(line.decode("utf-8", "replace"))
            if record["type"] in ("user", "assistant") and type(record["message"]) is dict:
                yield record
        except (ValueError, KeyError, TypeError, RecursionError):
            continue


def _text(row: dict) -> str:
    """The first words of a message; "" where it holds none, as one of tools' results."""
    content = row["message"].get("content")
    rows = content if type(content) is list else [{"type": "text", "text": content}]
    found = (row.get("text") for row in rows if type(row) is dict and row.get("type") == "text")
    return next((text.lstrip() for text in found if type(text) is str), "")


_REPORT, _THEIRS = "report", "theirs"
#: What a person has typed that begins a turn: our commands, and words that are no command.
_TYPED = rb'"content": ?"(/loop:|[^/"])'


def _begins(line: bytes) -> bool:
    return re.search(_TYPED, line) is not None


_OPERATION = rb'"operation": ?"(\w+)"'


def _is_report(line: bytes) -> bool:
    from .answers import REPORTS  # few transcripts have such a line

    return any(mark.encode() in line for mark in REPORTS)


def _files(path: str, extra: tuple) -> list:
    found = [path, *agents(path)] if path else []
    known = {key(file) for file in found}
    return found + [file for file in extra if file and key(file) not in known]


#: Bytes that are looked at for a line with a time, and bytes of a file that is read whole at once.
_LOOK, _WHOLE = 1 << 16, 1 << 20
#: Patterns are compiled where one is needed: few calls have such a line or such a file.
_TIME = rb'"timestamp": ?"([0-9T:-]{19})'


def _older(path: str, since: str) -> int:
    """Where to begin reading a long file: its lines before that offset are older than `since`, or
    0. Lines are in the order of their time, so that this takes few looks whatever the size."""
    low = 0
    try:
        state = os.stat(path)
        high = state.st_size
        if high <= _WHOLE or not stat.S_ISREG(state.st_mode):  # a pipe would wait for its writer
            return 0
        time = re.compile(_TIME)
        with open(path, "rb", buffering=0) as file:
            while high - low > _WHOLE:
                middle = (low + high) // 2
                file.seek(middle)
                begin, found, piece = 0, None, b""
                while found is None and len(piece) < 2 * LONGEST_LINE:
                    more = file.read(max(_LOOK, len(piece)))
                    piece += more
                    begin = piece.find(b"\n") + 1
                    found = time.search(piece, begin) if begin else None
                    if not more:
                        break
                if found is None or found[1].decode() >= since:
                    high = middle
                else:
                    low = middle + begin
    except (OSError, ValueError):
        return 0
    return low


def _read_file(path: str, offset: int, most: int, count: _Count) -> tuple:
    """(offset after the last whole line, bytes read); from 0 if the file was replaced."""
    total, rest = 0, b""
    try:
        state = os.stat(path)
        if state.st_size == offset or not stat.S_ISREG(state.st_mode):
            return offset, 0
        offset = 0 if state.st_size < offset else offset
        with open(path, "rb", buffering=0) as file:
            file.seek(offset)
            while total < most and (piece := file.read(min(PIECE, most - total))):
                total += len(piece)
                whole, end, rest = (rest + piece).rpartition(b"\n")
                for line in whole.split(b"\n"):
                    if b'"assistant"' in line:
                        count.line(line)
                offset += len(whole + end)
                if len(rest) > LONGEST_LINE:
                    offset += len(rest)  # its end, when it comes, is no JSON and says nothing
                    rest = b""
            if total >= most and len(rest) > most // 2:
                offset += len(rest)
    except (OSError, ValueError):  # ValueError: a path that cannot be one
        pass
    return offset, total
