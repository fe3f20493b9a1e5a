"""A command run in a child of its own that dies, or meets a fault, at a chosen system call; strace
does both."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from loopkit.core.steps.events import LOOP
from loopkit.engine import process
from tests.cli.kit import Answer, Project

#: Calls that strace is asked for: all that take a path or a descriptor.
TRACED = "trace=%file,%desc"
#: Calls that change something on the disk, or take a lock.
CHANGING = frozenset(
    "write pwrite64 writev fsync fdatasync ftruncate truncate rename renameat renameat2 unlink "
    "unlinkat mkdir mkdirat "
    "rmdir link linkat symlink symlinkat chmod fchmod fchmodat utimensat flock".split()
)
#: Those of them that leave every file as it is: the disk or another process is waited for.
WAITING = frozenset(("fsync", "fdatasync", "flock"))
#: Calls that only look.
LOOKS = frozenset(
    ("newfstatat", "stat", "lstat", "access", "readlink", "getdents64", "ioctl", "lseek", "statx")
)
#: Files that are made anew from the journal, the same way by every command.
DERIVED = ("PROGRESS.md", "workflow-state.json")
#: Whether a fault is met at every single call, those included that say nothing new.
LONG = bool(os.environ.get("LOOPKIT_TEST_LONG"))
#: prctl: who may trace this process, where the system lets only parents do it.
_PR_SET_PTRACER = 0x59616D61


class Call(NamedTuple):
    """One system call of a command: the `number`-th of its name since it began; `line` as strace
    shows it."""

    name: str
    number: int
    line: str

    @property
    def changing(self) -> bool:
        return (
            self.name in CHANGING
            or self.opening
            and any(one in self.line for one in ("O_CREAT", "O_TRUNC"))
        )

    @property
    def again(self) -> tuple:
        """The same for calls that do the same to the same file, or to one named like it."""
        paths = [
            word.rpartition("/")[2]
            for word in re.findall(r"[<\"]([^<>\"]*/[^<>\"]*)[>\"]", self.line)
        ]
        return self.name, *(re.sub(r"\d+|[0-9a-f]{8,}", "#", path) for path in paths)

    @property
    def derived(self) -> bool:
        """Whether it touches only what is made anew from the journal."""
        return any(name in self.line for name in DERIVED)

    @property
    def opening(self) -> bool:
        return self.name in ("open", "openat", "creat")


class Outcome(NamedTuple):
    """How the child ended: its exit code (negative: a signal), and what it had printed until
    then."""

    code: int
    said: str
    trace: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


def needs_strace() -> str | None:
    """Why no fault can be injected here; None where it can."""
    if shutil.which("strace") is None:
        return "needs strace"
    return None


def run(action: Callable[[], Answer], folder: Path, *inject: str) -> Outcome:
    """Do `action` in a child under strace, with these `-e` options; `folder` takes strace's own
    record."""
    trace = folder / "trace"
    reader, writer = os.pipe()
    signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGUSR1}
    )  # the child's word to begin; it waits without a call
    child = os.fork()
    if not child:
        _child(action, writer)
    os.close(writer)
    assert os.read(reader, 1) == b"+"
    options = [word for one in (TRACED, *inject) for word in ("-e", one)]
    words = ["strace", "-y", "-o", str(trace), *options, "-p", str(child)]
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as tracer:
        assert tracer.stderr is not None
        first = tracer.stderr.readline()
        if "attached" not in first:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail(f"strace cannot be used here: {first}{tracer.stderr.read()}")
        os.kill(child, signal.SIGUSR1)
        with os.fdopen(reader, "rb") as file:
            said = file.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        tracer.wait(60)
    return Outcome(code, said.decode(), trace.read_text(errors="replace"))


def _child(action: Callable[[], Answer], writer: int) -> None:
    code = 99
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_long(-1), 0, 0, 0)
        os.write(writer, b"+")
        signal.sigwait({signal.SIGUSR1})
        # it reads a file of each process of this machine, so that calls would have no fixed number
        process.sweep = lambda words, group=0, above=0: ()
        answer = action()
        code = answer.exit
        os.write(writer, (answer.out + answer.err).encode())
    except BaseException as error:
        os.write(writer, f"the child fell: {error!r}".encode())
    finally:
        os._exit(code)


def calls(trace: str, places: tuple) -> list[Call]:
    """The calls of a record that name a file below one of `places`, each with its number among
    those of its name."""
    seen: Counter = Counter()
    found = []
    for line in trace.splitlines():
        match = re.match(r"([a-z0-9_]+)\(", line)
        if match is None:
            continue
        seen[match[1]] += 1
        if any(place in line for place in places):
            found.append(Call(match[1], seen[match[1]], line))
    return found


def kill_at(call: Call) -> str:
    return f"inject={call.name}:signal=KILL:when={call.number}"


def fail_at(call: Call, error: str) -> str:
    return f"inject={call.name}:error={error}:when={call.number}"


# -- the project as it was, as often as it is needed


class Frozen:
    """A copy of all that a command may change: `.loop`, HOME, the data folder. `thaw` puts it
    back."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.home = Path(project.environment["HOME"])
        self.copy = project.folder.parent / "frozen"
        for place, name in self._both():
            if place.exists():
                shutil.copytree(place, self.copy / name, symlinks=True)

    def _both(self) -> tuple:
        data = Path(
            self.project.environment["LOOPKIT_DATA"]
        )  # what the hooks have noted: when they last looked
        return (self.project.root, "loop"), (self.home, "home"), (data, "data")

    @property
    def places(self) -> tuple[str, str]:
        """What is watched: a call counts that names something below it."""
        return str(self.project.root), str(self.home)

    def thaw(self) -> None:
        for place, name in self._both():
            shutil.rmtree(place, ignore_errors=True)
            if (self.copy / name).exists():
                shutil.copytree(self.copy / name, place, symlinks=True)


def moments(project: Project, frozen: Frozen, act: Callable[[], Answer]) -> list[Call]:
    """All calls of `act` that touch a file of the project's or the person's; the first two runs
    warm it up."""
    folder = project.folder.parent
    act()  # in this process: whatever is imported or cached once is so in every child
    frozen.thaw()
    outcome = run(act, folder)
    frozen.thaw()
    assert outcome.code >= 0, outcome
    found = calls(outcome.trace, frozen.places)
    assert found
    return found


def telling(found: list[Call]) -> list[Call]:
    """The calls without those that only read a file as an earlier one has read it."""
    seen: set[tuple] = set()
    kept = []
    for call in found:
        if LONG or call.changing or call.again not in seen:
            kept.append(call)
        seen.add(call.again)
    return kept


def each(project: Project, act: Callable[[], Answer], options: Callable[[Call], list]) -> Iterator:
    """(call, option, Outcome) for every fault that `options` wants at every telling call; the
    project stands as the fault left it."""
    frozen = Frozen(project)
    for call in telling(moments(project, frozen, act)):
        for option in options(call):
            frozen.thaw()
            yield call, option, run(act, project.folder.parent, option)


# -- what has to hold afterwards


def age(project: Project) -> None:
    """Let what a dead process left behind grow old: locks of the list, drafts."""
    old = 1_000_000_000
    for top in (project.root, Path(project.environment["HOME"])):
        for path in top.rglob("*"):
            if path.name.endswith(".lock") or ".tmp" in path.name:
                os.utime(path, (old, old))


def leftovers(project: Project) -> list[str]:
    """Drafts that still lie about. A lock of the list may stay: whoever needs it takes it over."""
    tops = (project.root, Path(project.environment["HOME"]))
    return [str(path) for top in tops for path in top.rglob("*") if ".tmp" in path.name]


def mirrored(project: Project, session: str = "session-one") -> dict[str, str]:
    """{id: status} of the files in a session's list; a file that says nothing is `?`."""
    found = {}
    for path in (Path(project.environment["HOME"]) / ".claude" / "tasks" / session).glob("*.json"):
        try:
            found[path.name[:-5]] = json.loads(path.read_bytes())["status"]
        except (ValueError, KeyError):
            found[path.name[:-5]] = "?"
    return found


def whole(project: Project) -> None:
    """Nothing is half done: the ledger can be read, no id stands twice, what is derived says what
    the ledger says."""
    from loopkit.core.plan import outline
    from loopkit.core.steps import snapshot as snapshots
    from loopkit.store import journal, loops
    from loopkit.store.loop import Loop

    root = str(project.root)
    loop = Loop(root, project.name)
    assert not loop.damaged
    tail = journal.read(str(project.ledger), LOOP)
    assert tail is not None
    added = [event.data["task"]["id"] for event in tail.events if event.type == "task_added"]
    assert len(added) == len(set(added)), added
    there = loops.read_snapshot(root)
    assert there is not None and there == snapshots.build(loop.state, loop.offset)
    assert project.progress == outline.progress(loop.state)
    assert leftovers(project) == []
