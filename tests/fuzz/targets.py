"""What is fuzzed: one function a target, bytes in, nothing out; AssertionError where a promise is
broken.

Used by the corpus, by hypothesis (test_fuzz.py) and by atheris (run.py). A promise is more than "no
traceback": hooks print nothing or one small JSON object, commands end with a documented code and
one line, nothing recorded is lost.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from loopkit import replies
from loopkit.core.evidence import proofs
from loopkit.core.journal.errors import Damaged, LoopError, UsageFault
from loopkit.core.journal.events import Event, encode
from loopkit.core.journal.settings import POLICIES
from loopkit.core.plan import events, outline
from loopkit.core.request import shape
from loopkit.core.steps import announce, snapshot
from loopkit.core.steps.events import LOOP
from loopkit.hooks import dispatch, log, mirror, stop
from loopkit.render import files, report
from loopkit.replies import lists, records
from loopkit.store import config, journal, learnings, loops, native, transcript, trust
from loopkit.store.origin import Origin
from tests.cli.kit import S1, Project

NAME, TOKEN, STRANGE = "001-limiter", "0" * 32, "1" * 32
#: A number of fixed length: what was found with it must be found again.
PID = 4242
AT, NOW = "2026-12-01T09:30:00Z", 1_796_117_400.0
#: How the project stands for a hook: a loop that runs, one of a stranger, one that is over, none at
#: all.
STANDS = ("running", "stranger", "cancelled", "none")
#: Control characters and the marks that turn or hide text, whichever way it is read.
FORBIDDEN = frozenset(
    map(
        chr,
        (*range(10), *range(11, 32), *range(127, 160), 0x61C, 0x200B, 0x200E, 0x200F, 0xFEFF)
        + (*range(0x2028, 0x202F), *range(0x2060, 0x2070), *range(0xE0000, 0xE0080)),
    )
)


def line(kind: str, /, by: str = f"session:{S1}", **data: Any) -> bytes:
    return encode(Event(kind, data, AT, by))


def ledger(token: str = TOKEN) -> bytes:
    """A loop of S1 with two tasks, in its first wave."""
    task = {"subject": "write the limiter", "verify": "test -f a", "files": ["a"], "blockedBy": []}
    return b"".join(
        (
            line(
                "loop_started",
                task="add a limit",
                session_id=S1,
                client_pid=PID,
                settings={},
                token=token,
            ),
            line("limits_set", iterations=25, usd=25.0, seconds=None),
            line("stage_moved", to="executing"),
            line("task_added", task={"id": "T-001", **task}),
            line("task_added", task={"id": "T-002", **task, "blockedBy": ["T-001"]}),
            line("wave_opened", wave=1, tasks=["T-001"], sequential=False),
            line("task_started", id="T-001", wave=1),
        )
    )


class Site:
    """A project in memory-backed storage, put back to a known state for each input."""

    def __init__(self) -> None:
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        if base and os.environ["HOME"].startswith(
            base
        ):  # a run of its own: its HOME is removed with all in it
            base = os.environ["HOME"]
        self.top = Path(tempfile.mkdtemp(prefix="loopkit-fuzz-", dir=base))
        atexit.register(shutil.rmtree, self.top, ignore_errors=True)
        self.folder = self.top / "proj"
        self.root = self.folder / ".loop"
        self.data, self.config = self.top / "data", self.top / "config"
        self.transcript = self.top / "t.jsonl"
        (self.folder / ".git").mkdir(parents=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "CLAUDE_CONFIG_DIR": str(self.config),
            "CLAUDE_PROJECT_DIR": str(self.folder),
            "CLAUDE_PID": str(PID),
            "LOOPKIT_DATA": str(self.data),
            "XDG_STATE_HOME": str(self.top / "state"),
        }
        self.project = Project(self.folder, self.env)
        self.faults: list[BaseException] = []
        self.attach()

    def attach(self) -> None:
        """Faults of hooks are kept instead of logged; nothing waits for a disk, a lock or a late
        transcript."""
        log.fault = lambda data, event, error: self.faults.append(error)  # type: ignore[assignment]
        stop.LATE, stop.LOOKS, mirror.LOCK_SECONDS = 0, 1, 0
        os.fsync = lambda descriptor: None
        os.environ["XDG_STATE_HOME"] = self.env[
            "XDG_STATE_HOME"
        ]  # processes side by side know loops of the same token

    def reset(self, raw: bytes | None, token: str = TOKEN) -> None:
        """Only this journal in `.loop`, no snapshot, empty data and configuration folders."""
        for folder in (self.root, self.data, self.config):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (self.root / NAME / "evidence", self.data, self.config / "tasks" / S1):
            folder.mkdir(parents=True)
        if raw is None:
            shutil.rmtree(self.root)
        else:
            self.ledger.write_bytes(raw)
            trust.remember(str(self.root), NAME, TOKEN)
        self.transcript.write_bytes(b'{"type":"user"}\n')
        self.faults.clear()

    @property
    def ledger(self) -> Path:
        return self.root / NAME / "ledger.jsonl"

    @property
    def list(self) -> Path:
        return self.config / "tasks" / S1

    # -- calls, each with its promises

    def hook(self, event: str, raw: bytes, **env: str) -> bytes:
        """What the hook answers; checked."""
        before = self.ledger.read_bytes() if self.ledger.exists() else None
        said = dispatch.answer(event, raw, {**self.env, **env}, str(self.data), NOW)
        if self.faults:
            raise AssertionError(f"{event} failed inside") from self.faults[0]
        if said:
            check_answer(event, said)
        after = self.ledger.read_bytes() if self.ledger.exists() else None
        if before is None:
            assert after is None and (self.root.exists() or not said or b'"decision"' in said), (
                "made of nothing"
            )
            return said
        assert after is not None and after.startswith(before), "a recorded line is gone"
        added = after[len(before) :].removeprefix(b"#\n").removeprefix(b"\n")
        for one in added.splitlines(keepends=True):
            assert one.endswith(b"\n") and LOOP.decode(one), f"not a whole line: {one[:200]!r}"
        return said

    def command(
        self, *words: str, given: object = None, codes: tuple = (0, 1, 2, 3, 75), **env: str
    ) -> Any:
        """A command's answer: a documented code, at most lines that begin with its name on standard
        error."""
        answer = self.project.lk(*words, given=given, **env)
        assert "please report it" not in answer.err, self.report(answer.err)
        assert answer.exit in codes, answer
        assert all(one.startswith("loopkit: ") for one in answer.err.splitlines()), answer.err
        if "--json" not in words:
            check_text(answer.out)
        check_text(answer.err)
        return answer

    def report(self, text: str) -> str:
        path = self.data / "error.log"
        return path.read_text() if path.exists() else text


@functools.cache
def site() -> Site:
    return Site()


def check_text(text: str) -> None:
    bad = FORBIDDEN.intersection(text)
    assert not bad, f"{sorted(map(hex, map(ord, bad)))} in {text[:300]!r}"


def check_answer(event: str, said: bytes) -> None:
    """One ASCII JSON object in a known form, bounded, nothing that plays with the screen."""
    assert said.isascii() and said[:1] == b"{" and said[-1:] == b"}" and b"\n" not in said
    record = json.loads(said)
    special = record.get("hookSpecificOutput") or {}
    context = special.get("additionalContext", "")
    texts = [context, record.get("systemMessage", ""), record.get("reason", "")]
    assert len(context) <= (500 if event == "stop" else 2000), len(context)
    assert all(len(one) <= 2000 for one in texts)
    for one in texts:
        check_text(one)
        assert "Traceback" not in one
    commands = [one for one in context.splitlines() if one.startswith("next: ")]
    assert len(commands) <= 1, context


# -- the targets


def hook(raw: bytes) -> None:
    """Two letters say which event and how the project stands; the rest is what the client sends."""
    here = site()
    event = dispatch.EVENTS[raw[0] % len(dispatch.EVENTS)] if raw else "stop"
    stand = STANDS[raw[1] % len(STANDS)] if len(raw) > 1 else "running"
    given = raw[2:].replace(b"@CWD@", str(here.folder).encode()).replace(b"@S1@", S1.encode())
    given = given.replace(b"@TRANSCRIPT@", str(here.transcript).encode())
    start = ledger(STRANGE if stand == "stranger" else TOKEN)
    over = line("loop_cancelled", reason="r") if stand == "cancelled" else b""
    here.reset(None if stand == "none" else start + over)
    said = here.hook(event, given)
    if stand != "running" and event == "stop":
        assert not said, said
    if stand == "stranger":
        assert here.ledger.read_bytes() == start, "a stranger's loop was written to"
        assert b"add a limit" not in said and b"T-001" not in said


def book(raw: bytes) -> None:
    """A journal: read, folded, shown, held by; nothing of it is lost by whoever writes next."""
    here = site()
    here.reset(raw)
    tail = journal.read(str(here.ledger), LOOP)
    assert tail is not None and tail.offset <= len(raw)
    state, _ = loops.fold(str(here.root), NAME)
    built = snapshot.build(state, tail.offset)
    assert snapshot.parse(json.dumps(built).encode()) == json.loads(json.dumps(built)), (
        "not read back"
    )
    check_text(outline.progress(state))
    course = files.loop_state(state)
    check_text(course)
    assert len(course.splitlines()) < 50, course
    for view in (files.plan, files.context, report.render):
        check_text(view(state))
        assert len(view(state).encode("utf-8", "replace")) < 2_000_000
    assert len(files.context(state)) < files.TOKENS * files.PER_TOKEN
    check_text(announce.resume(built, state.session, True))
    given = {
        "session_id": state.session.owner or S1,
        "cwd": str(here.folder),
        "transcript_path": str(here.transcript),
    }
    for event in ("session_start", "stop"):
        here.hook(
            event, json.dumps({**given, "source": "startup", "hook_event_name": event}).encode()
        )
    for words in (("status",), ("status", "--json"), ("task", "list")):
        here.command(*words)
    assert here.ledger.read_bytes().startswith(raw)


def state_file(raw: bytes) -> None:
    """A snapshot: whatever stands in it, the loop is what its journal says. `=` first: its checksum
    is made good by somebody who does not know the loop's token."""
    here = site()
    here.reset(ledger())
    before = loops.view(str(here.root))
    assert before is not None
    forged = raw[:1] == b"="
    if forged:
        raw = _forged(raw[1:])
    (here.root / loops.SNAPSHOT).write_bytes(raw)
    found = loops.view(str(here.root))
    if forged or snapshot.parse(raw) is None:
        assert found is not None and found.name == before.name
        assert found.session.dump() == before.session.dump() and found.snapshot == before.snapshot
    given = {
        "session_id": S1,
        "cwd": str(here.folder),
        "source": "startup",
        "stop_hook_active": False,
    }
    for event in ("session_start", "stop", "task_completed", "session_end"):
        here.hook(event, json.dumps({**given, "task_id": "T-001"}).encode())
    here.command("status")


def _forged(raw: bytes) -> bytes:
    try:
        record = json.loads(raw)
        record["session"]["token"] = STRANGE
        record["check"] = snapshot.checksum(record)
        return json.dumps(record).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        return raw


def shape_file(raw: bytes) -> None:
    """SHAPE.md: taken as a whole, or refused with the line and the reason of every fault."""
    text = raw.decode("utf-8", "replace")
    try:
        found = shape.parse(text)
    except shape.ShapeFaults as error:
        assert error.faults and error.faults == sorted(error.faults, key=lambda one: one[0])
        most = max(1, len(text.splitlines()))
        assert all(1 <= number <= most and reason.strip() for number, reason in error.faults), (
            error.faults
        )
        assert all(len(reason) < 1000 for _, reason in error.faults)
        found = None
    here = site()
    here.reset(ledger().replace(b'"to":"executing"', b'"to":"shape"'))
    before = here.ledger.read_bytes()
    answer = here.command("shape", "--accept", "-", given=raw, codes=(0, 1, 2))
    if answer.exit:
        assert here.ledger.read_bytes() == before and answer.err.count("\n") == 1
        return
    assert found is not None and found["title"]
    kinds = [row for row in found["criteria"] if not row["must_not"]]
    assert kinds and all(row["type"] in proofs.TYPES for row in kinds)
    assert len(found["criteria"]) - len(kinds) >= shape.LEAST_MUST_NOTS
    for one in here.ledger.read_bytes()[len(before) :].splitlines():
        assert LOOP.decode(one), one[:300]


def native_list(raw: bytes) -> None:
    """Task files of the client, one after each line `--- NAME`: read, taken in, held by; the
    client's own stay as they are."""
    here = site()
    here.reset(ledger())
    kept: dict[str, bytes] = {}
    for part in raw.split(b"--- ")[1:20]:
        head, _, body = part.partition(b"\n")
        name = (
            "".join(
                one for one in head.decode("ascii", "ignore")[:30] if one.isalnum() or one in "-_."
            )
            or "x"
        )
        if name.strip("."):
            kept[name] = body
            (here.list / name).write_bytes(body)
    found, unreadable = native.read_tasks(str(here.list))
    assert all(type(one["subject"]) is str for one in found.values())
    assert {*(f"{one}.json" for one in found), *unreadable} <= {
        one for one in kept if one.endswith(".json")
    }
    subjects, _ = native.foreign_open(str(here.list))
    assert all(type(one) is str for one in subjects)
    given = {
        "session_id": S1,
        "cwd": str(here.folder),
        "stop_hook_active": False,
        "task_id": "1",
        "task_subject": "x",
    }
    for event in ("task_created", "stop", "task_completed", "session_start"):
        here.hook(event, json.dumps({**given, "source": "startup"}).encode())
    foreign = {**given, "session_id": "another"}
    here.hook("stop", json.dumps(foreign).encode(), CLAUDE_CODE_TASK_LIST_ID=S1)
    here.command("task", "list", codes=(0,))
    state, tail = loops.fold(str(here.root), NAME)
    assert not tail.damaged and len(state.tasks) >= 2
    ours = {f"{one.native or one.id}.json" for one in state.tasks.values()}
    for name, body in kept.items():
        if name not in ours:
            assert (here.list / name).read_bytes() == body, f"{name} is the client's own"
    assert not [one for one in os.listdir(here.list) if ".lock" in one and one not in kept]


def usage(raw: bytes) -> None:
    """A transcript, after one byte that says where it is cut: read in two steps it says what it
    says in one."""
    path = site().transcript
    cut, raw = (raw[0] * len(raw) // 256, raw[1:]) if raw else (0, raw)
    path.write_bytes(raw)
    whole = transcript.read(str(path), {}, [])
    path.write_bytes(raw[:cut])
    first = transcript.read(str(path), {}, [])
    path.write_bytes(raw)
    second = transcript.read(str(path), first.offsets, first.message_ids)
    assert whole.active == (first.active or second.active)
    assert {**first.offsets, **second.offsets} == whole.offsets
    total: dict = {}
    for one in (first.usage, second.usage):
        for model, figures in one.items():
            total[model] = [
                a + b for a, b in itertools.zip_longest(total.get(model, []), figures, fillvalue=0)
            ]
    if len(whole.message_ids) < transcript.CARRIED:
        assert total == whole.usage
    kept = encode(
        Event(
            "iteration_ended", {"usage": whole.usage, "message_ids": whole.message_ids}, AT, "hook"
        )
    )
    assert LOOP.decode(kept), "what was read cannot be recorded"


def record(raw: bytes) -> None:
    """Records that are submitted, settings, learnings: taken, or refused in plain words."""
    text = raw.decode("utf-8", "replace")
    for kind in (dict, list):
        try:
            assert isinstance(records.parse(text, "standard input", kind), kind)
        except UsageFault as error:
            assert str(error).startswith("standard input")
    here = site()
    here.reset(ledger())
    (here.root / "config.toml").write_bytes(raw)
    try:
        found = config.read(Origin(str(here.root), frozenset()))
        assert found["approval"] in POLICIES and 1 <= found["max_idle_stops"] <= 7
    except (Damaged, UsageFault) as error:
        assert "config.toml" in str(error)
    learnings.user_too(Origin(str(here.root), frozenset()))
    (here.root / "config.toml").unlink()
    (here.root / "learnings.jsonl").write_bytes(raw)
    answer = here.command("recall", codes=(0,))
    assert all(one[0].isdigit() or one[:1] != " " for one in answer.out.splitlines() if one)
    before = here.ledger.read_bytes()
    answer = here.command("task", "add", "--file", "-", given=raw, codes=(0, 1, 2))
    if answer.exit:
        assert here.ledger.read_bytes() == before
    for one in here.ledger.read_bytes()[len(before) :].splitlines():
        assert LOOP.decode(one), one[:300]
    for words in (
        ("panel", "T-001"),
        ("review", "--wave", "1"),
        ("clarify",),
        ("gate",),
        ("learn",),
    ):
        try:
            here.command(*words, "--file", "-", given=raw, codes=(0, 1, 2))
        except LoopError as error:  # pragma: no cover - the command line turns these into one line
            raise AssertionError from error
    loops.fold(str(here.root), NAME)


def reply(raw: bytes) -> None:
    """What roles answer: read to fields that fit once more, or refused on one short line; nothing
    is read out of noise."""
    text = raw.decode("utf-8", "replace")
    for kind in events.KINDS:
        try:
            found = replies.parse(kind, text)
        except replies.Invalid as error:
            assert error.what and "\n" not in error.what and len(error.what) <= 400
        else:
            json.dumps(found, ensure_ascii=False).encode("utf-8")
            assert replies.parse(kind, json.dumps(found)) == found
        listed = lists.fallback(kind, text, "pytest -q")
        assert listed is None or 1 <= len(listed.get("tasks") or listed["subtasks"]) <= lists.MOST


ALL = {
    one.__name__: one
    for one in (hook, book, state_file, shape_file, native_list, usage, record, reply)
}
