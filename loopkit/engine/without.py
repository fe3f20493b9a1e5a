"""Does a check need the work? It runs with the work and without it, never in the real tree.

On Linux each run has an overlay over the project's own path (inside_overlay.py); where none can be
made, a copy of the tree elsewhere. What a check writes there is gone afterwards.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import BinaryIO, NamedTuple

from ..core.evidence import command
from ..core.evidence.hollow import hollow, says_the_same
from ..core.journal.parts import GREEN, NOT_TRIED, RED
from . import inside_overlay
from .checkpoints import snapshot
from .git import LONG_SECONDS, GitFault, Unavailable, git, repository
from .inside_overlay import BEGUN, EMPTY, FULL, NOT_STARTED, REFUSED, START, Change
from .process import Outcome, logged, run
from .restoring import obeys_modes
from .scratch import Scratch, folder_of_ours, scratch, stage
from .trees import MODULE

#: How much memory an overlay may take, as tmpfs has it.
SIZE = "50%"
#: Where unshare is looked for: a project's own folders on the PATH are none of it.
PROGRAMS = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/run/current-system/sw/bin"
#: What names of copies begin with.
_COPY = "loopkit-without-"
#: The runs in their order: what becomes of the changed files, and what the log says of it.
_RUNS = (
    ("", "with the work, apart from the real tree"),
    (START, "without the work"),
    (EMPTY, "with the changed files emptied"),
)
#: The same, for a proof that was not there before the work.
_BEFORE = ((START, "with all the work taken away"),)
#: The same, to find out whether a check passes by its own tests alone.
_OLD = (
    (START, "with the work, tests and settings as before"),
    ("", "with the work, apart from the real tree"),
)
#: The same, to find out whether a check needs what changed functions do, or their names alone.
HOLLOW = "hollow"
_HOLLOW = (
    (HOLLOW, "with the work, but nothing in the functions that it changed"),
    (START, "with those files as before"),
)
#: Why nothing can be emptied, where that is worth a word.
ONLY_COMMENTS = "only comments and docstrings have changed in the code"
#: What `Change` calls it: it takes the files' contents from us either way.
_INSIDE = {HOLLOW: START}
#: {project: why no overlay can be made over it, or ""}, found out once.
_refusals: dict[str, str] = {}


class Check(NamedTuple):
    """What runs apart from the real tree.

    project: its root, which the overlay covers · folder: where the check runs · changed: paths that
    are taken back to how they were · start: the project's tree before the work, or the commit of a
    checkpoint · seconds: the check's limit · until: when all must have ended, by `time.monotonic` ·
    loop: the folder that keeps the logs, `evidence/<target>-<number>.log`; without it they go.
    """

    project: str
    folder: str
    changed: Iterable[str]
    start: str
    line: str
    seconds: float
    environment: dict
    until: float
    loop: str | None = None
    target: str = "check"


class Tried(NamedTuple):
    """with_work, without, emptied: what `process.logged` gives of each run, None where there was
    none · word: RED, GREEN or NOT_TRIED · why: of NOT_TRIED, in a few plain words."""

    with_work: dict | None
    without: dict | None
    emptied: dict | None
    word: str
    why: str = ""


def tried(check: Check) -> Tried:
    """Run a check with the work; then without it; where it passes even then, with the changed files
    emptied, which tells whether it looks at this tree at all. Each run begins with the tree as it
    is: what one wrote cannot answer in the next.

    Raises UsageFault for a line that cannot be split, Damaged where no log can be written.
    """
    outcomes, word, why = _tried(check, _RUNS, _found)
    first, second, third, *_ = *outcomes, None, None, None
    return Tried(first, second, third, word, why)


def before(check: Check) -> Tried:
    """Run a check with all of the work taken away: what it would have come to before it. Raises
    what `tried` does."""
    outcomes, word, why = _tried(check, _BEFORE, _found_before)
    return Tried(None, outcomes[0] if outcomes else None, None, word, why)


def held(check: Check) -> Tried:
    """Run a check with the work, but these paths as they were: GREEN where it passes all the same,
    RED where it fails though it passes with them. Raises what `tried` does."""
    outcomes, word, why = _tried(check, _OLD, _found_old)
    first, second, *_ = *outcomes, None, None
    return Tried(second, first, None, word, why)


def hollowed(check: Check) -> Tried:
    """Run a check with the work, but nothing in the functions that it changed in these files of
    Python: GREEN where it passes all the same, though it needs the files, and `why` names the
    functions; RED where it fails, as it should. Raises what `tried` does."""
    outcomes, word, why = _tried(check, _HOLLOW, _found_hollow)
    return Tried(None, outcomes[0] if outcomes else None, None, word, why)


def _tried(
    check: Check, runs: tuple, judge: Callable[[_Place, str, bool], tuple[str, str] | None]
) -> tuple[list[dict], str, str]:
    command.split(check.line)
    outcomes: list[dict] = []
    try:
        repo = repository(check.project, check.environment)
        with stage(repo) as own:
            folder = os.path.join(check.project, check.folder)
            place = _Place(own, repo.project, folder, check.environment)
            place.changed(check.changed, check.start, obeys_modes(repo, check.environment))
            if runs is _HOLLOW and not place.empty_functions():
                return outcomes, NOT_TRIED, place.unsaid or "no function of Python has changed"
            word, why = _runs(check, runs, judge, place, outcomes)
    except (OSError, Unavailable, GitFault) as error:
        word, why = NOT_TRIED, _why(error)
    return outcomes, word, why


def _runs(
    check: Check, runs: tuple, judge: Callable, place: _Place, outcomes: list[dict]
) -> tuple[str, str]:
    """(word, why); each run's outcome is added to `outcomes`."""
    where = f" (in a copy of the tree: {place.refusal})" if place.refusal else ""
    for what, about in runs:
        left = check.until - time.monotonic()
        if left <= 0:
            return NOT_TRIED, "no time is left" + where

        def begin(arguments: list[str], log: str, what: str = what, left: float = left) -> Outcome:
            return place.run(what, arguments, log, min(check.seconds, left))

        outcome = logged(check.loop or place.own, check.target, check.line, begin, about)
        outcomes.append(outcome)
        if outcome["exit"] == command.OUT_OF_TIME and left < check.seconds:
            place.fault = "no time is left"
        elif outcome["exit"] == 137:  # by what ends programs where memory is short, for example
            place.fault = place.fault or "it was killed"
        if found := judge(place, what, outcome["passed"]):
            word, why = found
            return word, why and why + where
    raise AssertionError


def _found(place: _Place, what: str, passed: bool) -> tuple[str, str] | None:
    """(word, why) where one more run has decided, else None."""
    if place.fault:
        return NOT_TRIED, place.fault
    if what == EMPTY:
        look = "it passes with emptied files too: it does not look at them"
        return (NOT_TRIED, look) if passed else (GREEN, "")
    if what == START:
        return None if passed else (RED, "")
    if not passed:
        return NOT_TRIED, "it does not pass apart from the real tree"
    return None if place.rows else (NOT_TRIED, "there is nothing to take away")


def _found_before(place: _Place, what: str, passed: bool) -> tuple[str, str] | None:
    """The same, where that run alone decides."""
    return (NOT_TRIED, place.fault) if place.fault else (GREEN if passed else RED, "")


def _found_old(place: _Place, what: str, passed: bool) -> tuple[str, str] | None:
    """The same, where the changed files are tests and settings."""
    if place.fault:
        return NOT_TRIED, place.fault
    if what == START:
        return (GREEN, "") if passed else None
    return (RED, "") if passed else (NOT_TRIED, "it does not pass apart from the real tree")


def _found_hollow(place: _Place, what: str, passed: bool) -> tuple[str, str] | None:
    """The same, where functions are emptied."""
    if place.fault:
        return NOT_TRIED, place.fault
    if what == HOLLOW:
        return None if passed else (RED, "")
    return (NOT_TRIED, "it looks at other files") if passed else (GREEN, ", ".join(place.functions))


class _Place:
    """Where the runs are: each in an overlay of its own, or in a copy. refusal: why in a copy ·
    fault: why the last run says nothing · rows: what is taken away, as `Change` has it · functions:
    which changed, of Python · unsaid: ONLY_COMMENTS, where that is so."""

    def __init__(self, own: str, project: str, folder: str, environment: dict) -> None:
        self.own, self.project, self.environment = own, project, environment
        self.folder = os.path.relpath(os.path.realpath(folder), project)
        self.rows: list[list[str]] = []
        self.objects: list[str] = []
        self.functions: list[str] = []
        self.hollow: dict[str, bytes] = {}
        self.fault, self.tree, self.unsaid, self.modes = "", "", "", True
        if project not in _refusals:
            _refusals[project] = self._refused()
        self.refusal = _refusals[project]

    def changed(self, paths: Iterable[str], start: str, modes: bool) -> None:
        """Which paths are taken away, and how they were."""
        self.modes = modes
        listed = git(self.project, self.environment, "ls-tree -r -z --full-tree", start)
        held = {}
        for row in listed.split(b"\0")[:-1]:
            facts, _, path = row.partition(b"\t")
            mode, _, object_id = facts.decode("ascii").split(" ")
            held[os.fsdecode(path)] = mode, object_id
        gone = ("", "")
        known = [(path, *held.get(path, gone)) for path in sorted(set(paths))]
        known = [row for row in known if row[1] != MODULE]
        self.rows = [[path, mode] for path, mode, _ in known]
        self.objects = [object_id for _, _, object_id in known if object_id]

    def empty_functions(self) -> list[str]:
        """Read the changed files, and what is left of them without what their functions do; which
        functions these are."""
        same = 0
        with tempfile.TemporaryFile() as heap:
            self._pour(START, heap)
            heap.seek(0)
            for path, mode in self.rows:
                before = inside_overlay.blob(heap, path) if mode else b""
                with contextlib.suppress(OSError, UnicodeDecodeError):
                    text, old = _text(f"{self.project}/{path}"), before.decode()
                    left, names = hollow(text, old)
                    same += says_the_same(text, old)
                    if names:
                        self.hollow[path] = left.encode()
                        self.functions += names
        self.unsaid = ONLY_COMMENTS if same == len(self.rows) else ""
        return self.functions

    def run(self, what: str, arguments: list[str], log: str, seconds: float) -> Outcome:
        """Run the check, with its files as they are, or `what` becomes of the changed ones."""
        self.fault = ""
        if not self.refusal:
            return self._in_overlay(what, arguments, log, seconds)
        with folder_of_ours(tempfile.gettempdir(), _COPY) as top:
            folder = os.path.join(top, self.folder)
            try:
                self._copy(what, top)
                os.makedirs(folder, exist_ok=True)
            except (OSError, Unavailable, GitFault) as error:
                return self._not_begun(error)
            return run(arguments, folder, log, seconds, self.environment)

    def _not_begun(self, error: Exception) -> Outcome:
        self.fault = _why(error)
        return Outcome(command.UNSTARTABLE[0], 0.0, self.fault)

    # -- overlays

    def _refused(self) -> str:
        """Why no overlay can be made over the project, or ""."""
        if sys.platform != "linux":
            return "overlays are known on Linux only"
        if self._unshare() is None:
            return "there is no unshare"
        if inside := _mounts(self.project):
            return f"{inside[0]} is mounted in the project"
        log = os.path.join(self.own, "probe")
        if not self._in_overlay("", [], log, 60).exit:
            return ""
        with open(log, encoding="utf-8", errors="replace") as file:
            return " ".join(file.read().split())[-200:] or self.fault

    def _unshare(self) -> str | None:
        return shutil.which("unshare", path=PROGRAMS)

    def _in_overlay(self, what: str, arguments: list[str], log: str, seconds: float) -> Outcome:
        spec, told = os.path.join(self.own, "spec"), os.path.join(self.own, "report")
        facts = self._facts(what, arguments) | {"report": told}
        try:
            with open(spec, "wb") as file:
                file.write(json.dumps(facts).encode() + b"\n")
                file.flush()
                self._pour(what, file)
        except (OSError, Unavailable, GitFault) as error:
            return self._not_begun(error)
        options = ("-Urmp", "--fork", "--kill-child=KILL", "--mount-proc", "--")
        program = (sys.executable, "-I", "-S", inside_overlay.__file__, spec)
        with open(told, "w+b") as report:
            words = [self._unshare() or "unshare", *options, *program]
            outcome = run(words, self.project, log, seconds, self.environment)
            said = _said(report)
        if BEGUN not in said:
            late = "out of time before it began"
            no_overlay = late if outcome.exit == command.OUT_OF_TIME else "no overlay could be made"
            self.fault = said.get(REFUSED) or no_overlay
        elif FULL in said and outcome.exit:
            self.fault = "the memory for what it writes was full"
        if why := said.get(NOT_STARTED):
            return outcome._replace(note=f"cannot start {arguments[0]}: {why}")
        return outcome

    def _facts(self, what: str, arguments: list[str]) -> dict:
        """What inside_overlay.py is told."""
        return {
            "project": self.project,
            "folder": self.folder,
            "arguments": arguments,
            "rows": self._rows(what),
            "what": _INSIDE.get(what, what),
            "modes": self.modes,
            "size": SIZE,
            "uid": os.geteuid(),
            "gid": os.getegid(),
            "locale": self.environment.get("LC_CTYPE"),
        }

    def _rows(self, what: str) -> list[list[str]]:
        if what == HOLLOW:
            return [[path, _mode(f"{self.project}/{path}")] for path in self.hollow]
        return self.rows if what else []

    def _pour(self, what: str, file: BinaryIO) -> None:
        """Append how the changed files were, or what is left of them, as `Change` reads it."""
        for content in self.hollow.values() if what == HOLLOW else ():
            file.write(b"hollow blob %d\n%b\n" % (len(content), content))
        if what == START and self.objects:
            feed = "\n".join(self.objects).encode() + b"\n"
            options = {"given": feed, "seconds": LONG_SECONDS, "output": file}
            git(self.project, self.environment, "cat-file --batch", **options)

    # -- copies

    def _copy(self, what: str, top: str) -> None:
        """Write the tree as it is into an empty folder, without filters, and change its files."""
        if not self.tree:
            self.tree = snapshot(self.project, self.environment).tree
        repo = repository(self.project, self.environment)
        with scratch(repo, self.environment) as run_git:
            index = os.path.join(run_git.folder, "copy")
            variables = {**run_git.env, "GIT_WORK_TREE": top, "GIT_INDEX_FILE": index}
            fill = Scratch(run_git.folder, top, variables)
            fill("read-tree", self.tree)
            fill("checkout-index -a -q", seconds=LONG_SECONDS)
        if what:
            with tempfile.TemporaryFile() as heap:
                self._pour(what, heap)
                heap.seek(0)
                change = Change(top, self._rows(what), _INSIDE.get(what, what), self.modes)
                change.early(heap, top)
                change.late()


def _mode(path: str) -> str:
    return "100755" if os.access(path, os.X_OK) else "100644"


def _text(path: str) -> str:
    with open(path, "rb") as file:
        return file.read().decode()


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or ""
    return str(getattr(error, "what", error))


def _said(report: BinaryIO) -> dict[str, str]:
    """{word: text} of what was reported from inside."""
    rows = report.read().decode("utf-8", "replace").splitlines()
    return {word: text for word, _, text in (row.partition(": ") for row in rows)}


def _mounts(project: str, table: str = "/proc/self/mountinfo") -> list[str]:
    """What is mounted within a folder: an overlay would hide it."""
    with open(table, "rb") as file:
        places = [line.split(b" ")[4] for line in file]
    names = (
        re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), one) for one in places
    )
    above = os.path.join(os.fsencode(project), b"")
    return [os.fsdecode(name) for name in names if name.startswith(above)]
