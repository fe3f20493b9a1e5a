"""Read from the client's transcripts what a session did and used; never what it said.

Measured on client 2.1.332. One JSON object a line, of many kinds, some very large. An `assistant`
line holds one content block; the lines of one message repeat its id and its full usage, so each id
counts once. Subagents have files of their own beside the main one:
`<session>/subagents/agent-<id>.jsonl`. Time is that up to a message of the model's or a tool's
result; what ends with a prompt was a wait.
"""

from __future__ import annotations

import os
import stat
from collections import namedtuple

from ..core.journal import clock, jsons, pricing, working

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

#: The stamp of a message without one: it counts.
UNKNOWN = "~"
#: Bytes at a line's begin that hold its type.
_HEAD = 1000
#: Tools whose call waits for the person, and the one whose call is an agent's last.
_ASKING, _LAST = ("AskUserQuestion", "ExitPlanMode"), "SubagentHandback"

#: active: a tool was called · usage: {model: figures as in pricing.COUNTED, at least the first
#: four} · offsets: {file name: bytes read} of the files that grew · message_ids: the newest ids, to
#: be submitted next time · worked: seconds in which anything was at work · clock: as
#: `working.Times` goes on with it.
Reading = namedtuple("Reading", "active usage offsets message_ids worked clock")


class _Count:
    def __init__(self, seen: list, since: str, times: working.Times) -> None:
        self.seen = dict.fromkeys(seen)
        self.since = since[:19]
        self.times = times
        self.usage: dict = {}
        self.active = self.is_older = self.is_over = False

    def begin(self, file: str) -> None:
        """The lines that follow are those of another file."""
        self.times.begin(file)
        self.is_older, self.is_over = bool(self.since), False

    def line(self, line: bytes) -> None:
        """Take one line into account: a message of the model's, a prompt, a tool's result."""
        if b'"assistant"' in line and self._message(line):
            return
        head = line[:_HEAD]
        if b'"user"' in head:
            self._given(line)
        elif b'"attachment"' in head and not self.times.is_busy:  # of a hook that held the session
            self._at(_stamp(line), False, False)

    def _at(self, at: str, ends: bool, begins: bool, most: int = working.MOST_GAP) -> bool:
        """Take the time of a line into account; False where it is older than the loop. Lines are
        in the order in which they were written, whatever the clock said."""
        if at[:1].isdigit():
            self.is_older = self.is_older and at < self.since
            if not self.is_older:
                self.times.line(clock.epoch(at), ends, begins, most)
        return not self.is_older or at == UNKNOWN

    def _given(self, line: bytes) -> None:
        """A prompt, or what a tool gave."""
        is_result = b'"type":"tool_result"' in line or b'"type": "tool_result"' in line
        ends = is_result and self.times.is_busy
        begins = not self.is_over and b'"[Request interrupted by user' not in line
        most = working.MOST_ASKED if b'"source":"user_' in line else working.MOST_GAP
        self._at(_stamp(line), ends, begins, most)

    def _message(self, line: bytes) -> bool:
        """A message of the model's; whether it is one."""
        try:
            record = jsons.loads(line.decode("utf-8", "replace"))
            if record["type"] != "assistant":
                return False
            message = record["message"]
            blocks = message.get("content")
            blocks = [one for one in blocks if type(one) is dict] if type(blocks) is list else ()
            calls = [block.get("name") for block in blocks if block.get("type") == "tool_use"]
            self.is_over = _LAST in calls
            waits = self.is_over or any(name in _ASKING for name in calls)
            begins = not waits and message.get("stop_reason") in ("tool_use", None)
            # written when a session is resumed whose client died: it ends no request
            own = message.get("model") == _OWN and not record.get("isApiErrorMessage")
            if self._at(str(record.get("timestamp") or UNKNOWN)[:19], not own, begins):
                self.active = self.active or bool(calls)
                self._use(message)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return False
        return True

    def _use(self, message: dict) -> None:
        name, model, usage = message["id"], message["model"], message["usage"]
        if not type(name) is type(model) is str or name in self.seen or model == _OWN:
            return
        self.seen[name] = None
        if usage.get("speed") == "fast":
            model += pricing.FAST
        self.usage[model] = pricing.add(self.usage.get(model, ()), _figures(usage))


def _stamp(line: bytes) -> str:
    """When a line was written, as in its record; "" without one."""
    begin = line.find(b'"timestamp"') + 11
    if begin < 11:
        return ""
    return line[begin : begin + 24].lstrip(b': "')[:19].decode("ascii", "replace")


def _time(lines: bytes, begin: int = 0) -> str:
    """The first stamp from `begin` on that is a time; "" for none."""
    while (at := lines.find(b'"timestamp"', begin) + 11) > 10:
        stamp = lines[at : at + 24].lstrip(b': "')[:19]
        if len(stamp) == 19 and not stamp.strip(b"0123456789T:-"):
            return stamp.decode("ascii")
        begin = at
    return ""


#: The model of a message that the client wrote itself.
_OWN = "<synthetic>"
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
    times: dict | None = None,
    now: float = 0,
) -> Reading:
    """What happened in a session's transcript and those of its subagents after `offsets`.

    path: the main transcript · offsets: {file name: bytes read before} · message_ids: from the
    reading before · since: UTC stamp, earlier messages do not count (a conversation before the
    loop) · extra: further transcripts · most: bytes to read in all; the rest is left for the next
    time · times: what the reading before gave as `clock` · now: POSIX seconds, 0 where the session
    is gone, so that nothing is at work any more. Files that cannot be read are passed over.
    """
    known = working.Times(**(times or {}))
    count, grown = _Count(message_ids, since, known), {}
    for file in _files(path, extra):
        name = key(file)
        before = offsets.get(name, 0)
        if not before and since:
            before = _older(file, since[:19])
        count.begin(name)
        after, read_bytes = _read_file(file, before, most, count)
        most -= read_bytes
        if after != before:
            grown[name] = after
    ids = list(count.seen)[-CARRIED:]
    return Reading(count.active, count.usage, grown, ids, known.worked(now), known.dump())


def find(config: str, session_id: str) -> str:
    """The main transcript of a session in the client's folder `config`, or ""."""
    projects, name = os.path.join(config, "projects"), session_id + ".jsonl"
    try:
        folders = os.listdir(projects) if os.path.basename(name) == name else []
    except (OSError, ValueError):
        return ""
    found = (os.path.join(projects, folder, name) for folder in folders)
    return next((path for path in found if os.path.isfile(path)), "")


def of(session: Session, path: str, now: float) -> Reading:
    """What the loop's owner has done since its last look; now: as in `read`."""
    extra = tuple(file for file in session.subagents.values() if type(file) is str)
    known = session.offsets, session.message_ids, session.unread_since
    return read(path, *known, extra, times=session.clock, now=now)


def unread(config: str, session: Session, now: float) -> dict:
    """What the loop's owner has used since its last look: fields for an event. A session that was
    killed or cleared in the middle of a turn never comes to the stop that would count it."""
    path = find(config, session.owner) if session.owner else ""
    return since_last(session, path, now) if path else {}


def since_last(session: Session, path: str, now: float) -> dict:
    """The same of a main transcript."""
    return fields(session, of(session, path, now))


def fields(session: Session, reading: Reading) -> dict:
    """What of a reading belongs into an event; {} where nothing has happened since."""
    given = {"usage": reading.usage, "offsets": reading.offsets, "worked": reading.worked}
    if reading.usage:
        given["message_ids"] = reading.message_ids
    if reading.clock != session.clock:
        given["clock"] = reading.clock
    return {name: value for name, value in given.items() if value or name == "clock"}


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


def _tail(path: str, word: bytes = b"") -> list:
    """The lines at a transcript's end, the first perhaps cut; none where it cannot be read, or
    none of them has that word."""
    try:
        state = os.stat(path)
        if not stat.S_ISREG(state.st_mode):
            return []
        with open(path, "rb", buffering=0) as file:
            file.seek(max(0, state.st_size - _TAIL))
            end = file.read(_TAIL)
            return end.split(b"\n") if word in end else []
    except (OSError, ValueError):
        return []


def queued(path: str, since: str = "") -> tuple:
    """Whether a turn follows by itself, and whether that will be the person's: the client (2.1.332)
    notes each `queue-operation`, what it puts into its queue and what it takes out. Reports and
    commands wait for the turn's end; no turn follows from commands of the client's own (/compact).
    since: the stamp before which one was left behind by a client that was killed."""
    waiting: list = []
    for line in _tail(path, b'"queue-operation"'):
        if b'"queue-operation"' not in line:
            continue
        operation = line.partition(b'"operation"')[2].lstrip(b': "').partition(b'"')[0]
        if operation in (b"popAll", b""):
            waiting = []
        elif operation != b"enqueue":
            del waiting[:1]
        elif since[:19] <= _time(line) != "":
            waiting.append(_begun(line))
    return any(waiting), _THEIRS in waiting


#: How the client notes that Esc was pressed; how lines begin that are no prompt of anybody's.
_ESC = "[Request interrupted by user"
_ASIDE = ("<local-command", "<command-", "<bash-")


def interrupted(path: str, prompt: str = "") -> bool:
    """Whether Esc ended the newest turn, apart from the one that `prompt`, its id, begins."""
    for row in _messages(reversed(_tail(path))):
        if row["type"] == "assistant":
            break
        text = _text(row)
        aside = row.get("isMeta") or prompt and prompt == row.get("promptId")
        if not aside and not text.startswith(_ASIDE):
            return text.startswith(_ESC)
    return False


def by_hand(path: str) -> bool:
    """Whether the newest turn was begun by the client's shell mode, of which no hook hears."""
    lines = reversed(_tail(path, b"<bash-"))
    rows = _messages(line for line in lines if b'"tool_result"' not in line)
    texts = (_text(row) for row in rows if row["type"] == "user" and not row.get("isMeta"))
    return next(filter(None, texts), "").startswith("<bash-")


def _messages(lines: Iterable) -> Iterator:
    """The messages among the lines of a transcript."""
    for line in lines:
        if b'"user"' not in line and b'"assistant"' not in line:
            continue
        try:
            record = jsons.loads(line.decode("utf-8", "replace"))
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


#: What the client notes of an agent whose report came as a message (2.1.332).
_HANDED_BACK = b"(its SubagentHandback call)"


def _begun(line: bytes) -> str:
    """Whose turn begins by what the client put into its queue; "" for none."""
    from .answers import REPORTS  # few transcripts have such a line

    if _HANDED_BACK in line and REPORTS[0].encode() in line:
        return ""  # the message before it begins the turn
    if any(mark.encode() in line for mark in REPORTS):
        return _REPORT
    import re  # rare as well

    return _THEIRS if re.search(_TYPED, line) else ""


def _files(path: str, extra: tuple) -> list:
    found = [path, *agents(path)] if path else []
    known = {key(file) for file in found}
    return found + [file for file in extra if file and key(file) not in known]


#: Bytes that are looked at for a line with a time, and bytes of a file that is read whole at once.
_LOOK, _WHOLE = 1 << 16, 1 << 20


def _older(path: str, since: str) -> int:
    """Where to begin reading a long file: its lines before that offset are older than `since`, or
    0. Lines are in the order of their time, so that this takes few looks whatever the size."""
    low = 0
    try:
        state = os.stat(path)
        high = state.st_size
        if high <= _WHOLE or not stat.S_ISREG(state.st_mode):  # a pipe would wait for its writer
            return 0
        with open(path, "rb", buffering=0) as file:
            while high - low > _LOOK:
                middle = (low + high) // 2
                file.seek(middle)
                begin, found, piece = 0, "", b""
                while not found and len(piece) < 2 * LONGEST_LINE:
                    more = file.read(max(_LOOK, len(piece)))
                    piece += more
                    begin = piece.find(b"\n") + 1
                    found = _time(piece, begin) if begin else ""
                    if not more:
                        break
                if not found or found >= since:
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
