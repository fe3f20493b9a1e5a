"""What all commands share: where they run, who runs them, how they answer."""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from ..core.journal import prose, stage, verdict
from ..core.journal.errors import Damaged, LoopError, NotYet, Refused, UsageFault
from ..core.journal.events import Change
from ..core.journal.state import LoopState
from ..core.request import intake
from ..core.steps import nextstep
from ..store import atomic, inside, loops, place, prompts
from ..store.loop import Loop

if TYPE_CHECKING:
    from ..store.origin import Origin

#: Bytes that a command takes from standard input or a file at the most.
MOST_INPUT = 4_000_000
#: Characters of an error's line at the most.
MOST_LINE = 2000
#: How the lines begin that show an open question; characters of it at most.
QUESTION, LONGEST_QUESTION = "The person is asked: ", 4000


class App:
    """Surroundings of one call: environment, folder, session; the loop it is about."""

    def __init__(self, as_json: bool = False) -> None:
        self._take_what_hooks_know()
        self.environment = dict(os.environ)
        self.as_json = as_json
        self.owned = False
        try:
            self.folder = os.getcwd()
        except OSError:
            raise UsageFault("the current folder is gone", "change to the project's folder") from None
        self.session = place.session_id(self.environment)
        self.by = f"session:{self.session}" if self.session else "person"
        self.root = self._serving()
        self._origins: dict[str, Origin] = {}
        self._found: Loop | None = None

    def _serving(self) -> str | None:
        """The `.loop` that serves us: where several may, the one whose loop is meant; None where there is none."""
        roots = place.candidates(self.folder, self.environment)
        opened = place.opened(self.folder, self.environment)
        if opened != self.folder:
            roots = list(dict.fromkeys([*roots, *place.candidates(opened, self.environment)]))
        if len(roots) > 1:
            with contextlib.suppress(OSError):  # said by whoever reads it next
                meant = loops.serving(roots, self.session)
                return meant.root if meant is not None else roots[0]
        return roots[0] if roots else None

    @staticmethod
    def _take_what_hooks_know() -> None:
        """Keep notes of loops where the session's hooks look for them, and know where it was opened, though no
        SessionStart hook has exported it: the plugin was installed in the middle of the session."""
        session = place.session_id(dict(os.environ))
        for name, whose in (("LOOPKIT_STATE", prompts.STATE), ("LOOPKIT_OPENED", prompts.OPENED)):
            if session and not os.environ.get(name):
                noted = prompts.load(place.data_dir(dict(os.environ)), session, whose)
                if noted:
                    os.environ[name] = noted

    @property
    def here(self) -> str:
        """The project in the working tree we stand in, a task's own one included; else the project itself."""
        tree, main = (find(self.folder, self.environment) for find in (place.work_tree, place.main_tree))
        if tree is None or main is None or not place.inside(self.project_root, main):
            return self.project_root
        same = os.path.normpath(os.path.join(tree, os.path.relpath(self.project_root, main)))
        return same if os.path.isdir(same) else self.project_root

    @property
    def project(self) -> str:
        """What checkpoints and digests are about: the same, but for the worktrees of tasks, which lie in `.loop/`."""
        tree = self.here
        return self.project_root if place.inside(tree, self._root) else tree

    @property
    def project_root(self) -> str:
        """The folder that `.loop` lies in; where LOOPKIT_DIR keeps that elsewhere, the one that the loop was begun in."""
        if not self.environment.get("LOOPKIT_DIR"):
            return os.path.dirname(self._root)
        return self._noted_project or place.project(self.folder, self.environment)

    @functools.cached_property
    def _noted_project(self) -> str | None:
        """The project of the loop that LOOPKIT_DIR holds, wherever we stand."""
        try:
            found = loops.serving([self.root] if self.root else [], self.session)
        except OSError:  # said by whoever reads it next
            return None
        return found.session.project if found is not None and os.path.isdir(found.session.project) else None

    def forget_place(self) -> None:
        """Another loop was begun: find out anew where its project is."""
        self.__dict__.pop("_noted_project", None)

    @property
    def input_folders(self) -> list[str]:
        """Folders whose files are input: the project's; in a session that of its own loop, or where it was opened, and
        not wherever it has wandered to."""
        opened = place.session_folder(self.environment)
        folders = [self.project_root, self.here]
        if opened is not None and (self._found is None or self._found.state.session.owner != self.session):
            folders = []
        folders.append(place.project(opened or self.folder, self.environment))
        return [folder for folder in folders if not place.out_of_reach(folder, self.environment)]

    def work_folder(self, state: LoopState, tree: str | None = None) -> str:
        """Where a loop's checks run: the folder that its session was opened in, in the project or in another tree of it."""
        base = tree or self.project
        folder = os.path.normpath(os.path.join(base, state.folder))
        within = place.inside(os.path.realpath(folder), os.path.realpath(base))
        return folder if within and os.path.isdir(folder) else base

    @property
    def _root(self) -> str:
        return self.root or place.future(self.folder, self.environment)

    def origin(self, root: str) -> Origin:
        """Whose the settings, learnings and decisions of a `.loop` are; found out once in a call."""
        if root not in self._origins:
            from ..engine import origins

            self._origins[root] = origins.of(root, self.environment, note)
        return self._origins[root]

    @contextlib.contextmanager
    def next_comes(self) -> Iterator[None]:
        """Let a refusal that says so name the loop's next step."""
        try:
            yield
        except NotYet as refusal:
            refusal.next_comes(nextstep.command(self._found.state) if self._found is not None else None)
            raise

    def loop(self, strangers: bool = False) -> Loop:
        """The active loop. Raises Refused where there is none, Damaged where it cannot be read.

        What stands in a loop that came with the folder reaches no session; a person at a terminal may look at it, and
        commands that are made for it (`strangers`) take it.
        """
        alien = bool(self.session) and strangers_only(self.root)
        if alien and not strangers:
            raise not_ours()
        try:
            found = Loop.active(self.root) if self.root else None
        except Damaged:
            if alien:  # the fault would be told in words of theirs
                raise not_ours() from None
            raise
        if found is None:
            raise Refused("there is no loop in this project", "start one in Claude Code: /loop:start <task>")
        if self.session and not strangers and not found.ours:
            raise not_ours()
        if (found.damaged or found.torn) and not alien:
            what = "its last line is cut short and"
            if found.damaged:
                what = f"line {', '.join(map(str, found.damaged[:5]))} cannot be read and"
            note = f"loopkit: {found.path}: {what} is left out; see loopkit doctor"
            print(note, file=sys.stderr)
        self._found = found
        return found

    def own_loop(self) -> Loop:
        """The active loop, for a command that changes it. Raises Refused in a session that does not own it."""
        loop = self.loop()
        if not loop.ours:
            raise not_ours()
        self.owned = True
        self._check_owner(loop)
        return loop

    def _check_owner(self, loop: Loop) -> None:
        owner = loop.state.session.owner
        if self.session and owner != self.session and loop.state.session.status not in verdict.FINAL:
            raise Refused(
                f"loop {loop.name} belongs to session {owner}", "take it over: loopkit resume" + take_over_hint(loop)
            )

    def change(self, loop: Loop, decide: Callable[..., list[Change]], *arguments: Any, **named: Any) -> list[Change]:
        """Decide on the state as it is under the lock, record, and let what is derived follow."""
        with self.next_comes(), loop.writing() as state:
            if self.owned:  # it may have been taken over since it was opened
                self._check_owner(loop)
            changes = decide(state, *arguments, **named)
            loop.record([*changes, *intake.asked_again(loop.state, changes)], self.by)
            if not changes:  # what was recorded by somebody who died then may be missing in it
                loop.write_snapshot()
        self.follow(loop)
        return changes

    def follow(self, loop: Loop) -> None:
        """PROGRESS.md, the loop's own files and the native task list; derived, none can make a command fail."""
        from ..render import progress
        from ..store import mirror
        from . import derived

        mirror.follow(loop, self.environment)  # it may take in what Claude added
        try:
            atomic.write(os.path.join(loop.root, "PROGRESS.md"), progress.render(loop.state).encode("utf-8", "replace"))
        except OSError as error:
            print(f"loopkit: PROGRESS.md not written: {error.strerror}", file=sys.stderr)
        derived.follow(loop)

    def answer(self, loop: Loop, text: str, data: dict | None = None, steps: list[str] | None = None) -> None:
        """Print what was recorded, then the next step: the state's own, or these `steps`."""
        own = nextstep.command(loop.state)
        session = loop.state.session
        if session.status == verdict.FAILED:
            text = "\n".join([text, f"loop {loop.name} is over ({session.verdict}): {session.reason}", *taught(loop)])
            steps = []
        following = steps if steps is not None else [own] if own else []
        if loop.state.new_checks and stage.confirmation(loop.state) == "tasks":
            named = prose.clean(", ".join(sorted(loop.state.new_checks)), 200)
            text += f"\nthe person is asked again, since their yes was to other checks: {named}"
        if self.as_json:
            row = {"loop": loop.name, "stage": loop.state.stage, **(data or {}), "said": text, "next": following}
            click.echo(json.dumps(row, ensure_ascii=False))
            return
        body = text.rstrip("\n")
        # a paused loop waits for a person: no line that would be followed unasked
        word = "to go on, if the person says so: " if steps is None and session.status == verdict.PAUSED else "next: "
        lines = ([body] if body else []) + [word + one for one in following]
        click.echo(printable("\n".join(lines)))


#: Control characters but line breaks; marks that turn the direction of text, and those that nobody sees (the joiners of
#: scripts and emoji apart), which hide words from a person and not from a model.
_HARMLESS = dict.fromkeys(
    (
        *range(10),
        *range(11, 32),
        *range(127, 160),
        *(0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF),
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFFF9, 0xFFFC),
        *range(0xE0000, 0xE0080),
    ),
    " ",
)


def printable(text: str) -> str:
    """Text that does nothing to a terminal and hides nothing: such characters become blanks, line breaks stay."""
    return text.translate(_HARMLESS)


def quoted(text: str, most: int) -> str:
    """Somebody's words with their line breaks, at most `most` characters: each further line is indented, so that none
    can pass for one of ours."""
    rows = [row.rstrip() for row in text[:most].splitlines() if row.strip()]
    return "\n  ".join(rows) + (" …" if len(text) > most else "")


def asked(loop: Loop) -> list[str]:
    """The question that is open, whole, in a list of one; an empty one where none is."""
    question = loop.state.session.question
    if question is None or loop.state.session.status in verdict.FINAL:
        return []
    return [QUESTION + quoted(question, LONGEST_QUESTION)]


def say_no(error: LoopError) -> None:
    """A refusal that is printed in place of an answer, as one line."""
    click.echo("loopkit says no: " + prose.clean(" ".join(printable(str(error)).split()), MOST_LINE))


def taught(loop: Loop) -> list[str]:
    """What a loop that has ended proposes to keep, folded to 80 columns; nothing of it is written."""
    from ..core.memory import learning
    from ..store import journal, tables

    try:
        tail = journal.read(loop.path)
    except OSError:  # what was asked for is done
        return []
    rows = learning.summary(loop.state, tail.events if tail else (), tables.masks().masked)
    return [wrapped(row, "     ") for row in rows]


def note(text: str) -> None:
    """Say on standard error what could not be read."""
    print(printable(f"loopkit: {text}".replace("\n", " ")), file=sys.stderr)


def strangers_only(root: str | None) -> bool:
    """Whether a `.loop` holds loops of strangers only."""
    try:
        return root is not None and loops.strangers_only(root)
    except OSError:  # said by whoever reads it next
        return False


def not_ours() -> Refused:
    """The refusal of a loop that was neither started nor adopted on this machine; nothing of what stands in it."""
    return Refused(
        "the loop in this folder was not started here, so it does nothing",
        "the person looks at it in a terminal (loopkit status) and, trusting it, says: loopkit resume --adopt",
    )


def take_over_hint(loop: Loop) -> str:
    """` --take-over` where the owner's client still runs."""
    return " --take-over" if place.alive(loop.state.session.owner_pid) else ""


def command(name: str, example: str, **settings: Any) -> Callable:
    """A click command with --json, whose function gets an App first; `example` ends its help."""

    def wrap(function: Callable) -> click.Command:
        @functools.wraps(function)
        def call(as_json: bool, soft: bool, **given: Any) -> int | None:
            try:
                app = App(as_json)
                with app.next_comes():
                    return function(app, **given)
            except LoopError as error:
                if not soft:
                    raise
                say_no(error)
                return 0

        call.__doc__ = f"{function.__doc__}\n\n    Example: {example}\n    "
        call = click.option("--soft", is_flag=True, hidden=True, help="Print a refusal and exit 0.")(call)
        call = click.option("--json", "as_json", is_flag=True, help="Answer as one JSON object.")(call)
        return click.command(name, **settings)(call)

    return wrap


def read_input(call: App, source: str) -> str:
    """Text of a file inside the project, or of standard input for `-`, UTF-8, without a byte order mark.

    Raises UsageFault, Damaged.
    """
    return read_copied(call, source)[0]


def read_shape(call: App, source: str) -> tuple[str, int]:
    """The same for a file called SHAPE.md, which may lie outside too if it is a shape without a fault: any other file there
    is refused in the same words as ever, so that nothing is told of it."""
    try:
        return read_copied(call, source)
    except UsageFault as fault:
        from ..core.request import shape

        path = os.path.join(call.folder, source)
        real = os.path.realpath(path)
        if {os.path.basename(source), os.path.basename(real)} != {shape.FILE} or _is_inside(call, path):
            raise
        try:
            with inside.opened(os.path.realpath(path), MOST_INPUT) as file:
                text, most = file.read().decode("utf-8-sig"), os.fstat(file.fileno()).st_mode & 0o777
            shape.parse(text)
        except (OSError, ValueError, LoopError):
            raise fault from None
        return text, most


def read_copied(call: App, source: str) -> tuple[str, int]:
    """The same with the permission bits that a copy has at most: those of the file. Raises UsageFault, Damaged."""
    most = 0o777
    try:
        if source == "-":
            raw = sys.stdin.buffer.read(MOST_INPUT + 1)
        else:
            with inside.opened(_in_project(call, source), MOST_INPUT) as file:
                most &= os.fstat(file.fileno()).st_mode
                raw = file.read(MOST_INPUT + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "errno", None)
        if why in (None, errno.ENOENT, errno.ENOTDIR, errno.EINVAL):  # a folder, a pipe or a device is no file
            raise UsageFault(f"no such file: {source}", "give a file, or - for standard input") from None
        if why == errno.EFBIG:
            raise _too_large(source) from None
        raise Damaged(f"cannot read {source}: {os.strerror(why)}", "give a file that can be read") from None
    if len(raw) > MOST_INPUT:
        raise _too_large(source)
    try:
        return raw.decode("utf-8-sig"), most
    except UnicodeDecodeError as error:
        raise UsageFault(f"{_named(source)} is not UTF-8 at byte {error.start}", "save it as UTF-8") from None


def _in_project(call: App, source: str) -> str:
    """Where a file that was named really lies. Raises UsageFault outside the project, whether there is one or not: what
    is allowed in advance must not read what the client would not."""
    path = os.path.join(call.folder, source)
    if not _is_inside(call, path):
        where = f"give a file inside {call.input_folders[0]}, or" if call.input_folders else "give"
        raise UsageFault(f"{source} is outside the project", f"{where} - for standard input")
    return os.path.realpath(path)


def _is_inside(call: App, path: str) -> bool:
    """Whether a path really lies in the project, or in the linked worktree of it that we stand in."""
    real = os.path.realpath(path)
    return any(place.inside(real, os.path.realpath(folder)) for folder in call.input_folders)


def _too_large(source: str) -> UsageFault:
    return UsageFault(f"{_named(source)} is larger than {MOST_INPUT:,} bytes", "shorten it")


def _named(source: str) -> str:
    return "standard input" if source == "-" else source


def read_record(call: App, source: str, kind: type) -> Any:
    """A record (kind dict) or a list of records (kind list) of such a file or standard input. Raises UsageFault, Damaged."""
    from ..store import records

    return records.parse(read_input(call, source), _named(source), kind)


def wrapped(line: str, indent: str = "  ") -> str:
    """A line of words for people, folded to 80 columns; what cannot be folded (paths, commands) stays whole."""
    import textwrap

    return textwrap.fill(
        line, 80, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )


def now() -> float:
    """POSIX seconds."""
    return time.time()
