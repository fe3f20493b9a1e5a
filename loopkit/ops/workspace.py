"""Where a use case runs: folder, project, loop, session; how what it decides is recorded."""

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.journal import prose, stage, verdict
from ..core.journal.errors import Damaged, LoopError, NotYet, Refused, UsageFault
from ..core.journal.events import Change
from ..core.journal.session import LetGo
from ..core.journal.state import LoopState
from ..core.plan.events import HAND, OfAgent
from ..core.steps import due
from ..core.steps.events import LOOP
from ..store import atomic, loops, place
from ..store.loop import Loop

if TYPE_CHECKING:
    from ..store.origin import Origin


class Result(NamedTuple):
    """What a use case gives. loop: what it is about; None: no loop, text and data say all · text:
    what was recorded, lines for people · data: the same as a record · steps: what comes next, where
    the use case knows better than the state · code: the exit code of its command."""

    loop: Loop | None
    text: str
    data: Any = {}
    steps: list[str] | None = None
    code: int = 0

    def going_on(self) -> "Result":
        """The same after a word of the person's: what comes next is found out by `loopkit next`."""
        if self.loop is None or self.loop.state.session.status != verdict.RUNNING:
            return self
        line = due.onward(self.loop.state)
        return self._replace(steps=[line] if line else [])

    def completed(self) -> "Result":
        """The same with how the loop ended, what is asked again and what comes next."""
        if self.loop is None:
            return self
        state = self.loop.state
        session = state.session
        text, steps = self.text, self.steps
        if session.status == verdict.FAILED:
            over = f"loop {state.name} is over ({session.verdict}): {session.reason}"
            text, steps = "\n".join([text, over, *taught(self.loop)]), []
        if steps is None:
            steps = [step for step in [due.command(state)] if step]
        if state.new_checks and stage.confirmation(state) == "tasks":
            checks = prose.clean(", ".join(sorted(state.new_checks)), 200)
            text += f"\nthe person is asked again, since their yes was to other checks: {checks}"
        row = {"loop": state.name, "stage": state.stage, **self.data, "said": text, "next": steps}
        # a paused loop waits for a person: no line that would be followed unasked
        waits = self.steps is None and session.status == verdict.PAUSED
        word = verdict.AGAIN if waits else "next: "
        body, lines = text.rstrip("\n"), [word + step for step in steps]
        if waits:
            from ..core.steps import announce

            named = announce.named({"loop": state.name, "task": state.text})
            lines.insert(0, f"{named} is paused; the person has {announce.WAYS}")
        return self._replace(text="\n".join([body, *lines] if body else lines), data=row)


def data_of(changes: list[Change], kind: str) -> dict | None:
    """The data of the first journal line of a type among these; None where there is none."""
    return next((data for name, data in changes if name == kind), None)


#: The variable by which agents of a run know the session as which it owns its loop.
OWNER = "LOOPKIT_OWNER"


class OutOfTime(Exception):
    """A check was cut since `loopkit next` must end; nothing is recorded, and the next call, which
    begins with it, has all of its time for it."""


class Time(NamedTuple):
    """What a call may take. until: when it must end, by time.monotonic · whole: whether nothing has
    run in it yet, so that another call would have no more."""

    until: float = math.inf
    whole: bool = True

    @property
    def left(self) -> float:
        return max(0.0, self.until - time.monotonic())

    def cuts(self, seconds: float) -> float:
        """How long a check may run that has a limit of its own."""
        return seconds if self.whole else min(seconds, self.left)


class Workspace:
    """Surroundings of one call: environment, folder, session; the loop it is about. note: takes a
    line about what could not be read or written without harm to what was asked for.

    owned: the loop was opened to change it · checking: only by running a check."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._take_what_hooks_know()
        self.environment = dict(os.environ)
        self.note = note
        self.owned, self.checking = False, False
        #: Where the answers that are taken here are from.
        self.source: dict = {"by": HAND}
        self.time = Time()
        try:
            self.folder = os.getcwd()
        except OSError:
            what = "the current folder is gone"
            raise UsageFault(what, "change to the project's folder") from None
        self.session = place.session_id(self.environment)
        self.by = f"session:{self.session}" if self.session else "person"
        self.root = self._serving()
        self._origins: dict[str, Origin] = {}
        self._loop: Loop | None = None

    def _serving(self) -> str | None:
        """The `.loop` that serves us: of several the one whose loop is meant."""
        roots = place.candidates(self.folder, self.environment)
        opened = place.opened(self.folder, self.environment)
        if opened != self.folder:
            roots = list(dict.fromkeys([*roots, *place.candidates(opened, self.environment)]))
        if len(roots) > 1:
            with contextlib.suppress(OSError):  # told by whoever reads it next
                meant = loops.serving(roots, self.session)
                return meant.root if meant is not None else roots[0]
        return roots[0] if roots else None

    @staticmethod
    def _take_what_hooks_know() -> None:
        """Know the session's state and opened folder though no SessionStart hook has exported them:
        the plugin was installed in the middle of the session."""
        session = place.session_id(dict(os.environ))
        names = ("LOOPKIT_STATE", "LOOPKIT_OPENED")
        if not session or all(map(os.environ.get, names)):
            return
        from ..store import typed

        for name, whose in zip(names, (typed.STATE, typed.OPENED), strict=True):
            noted = typed.load(place.data_dir(dict(os.environ)), session, whose)
            if noted and not os.environ.get(name):
                os.environ[name] = noted

    @property
    def unattended(self) -> bool:
        """Whether nobody can be asked in this session."""
        return place.unattended(self.environment)

    def whose(self, owner: str) -> str:
        """`this session`, or which one."""
        return "this session" if owner == self.session else f"session {owner}"

    def in_tree(self, project: str) -> str:
        """The project's folder in the working tree that we stand in, a task's own one included."""
        tree = place.work_tree(self.folder, self.environment)
        main = place.main_tree(self.folder, self.environment)
        if tree is None or main is None or not place.inside(project, main):
            return project
        return os.path.normpath(os.path.join(tree, os.path.relpath(project, main)))

    @property
    def project_in_tree(self) -> str:
        """The same of this project, where there is such a folder; else the project itself."""
        folder = self.in_tree(self.project_root)
        return folder if os.path.isdir(folder) else self.project_root

    @property
    def project(self) -> str:
        """What checkpoints are about: the same, but for worktrees in `.loop/`."""
        tree = self.project_in_tree
        return self.project_root if place.inside(tree, self._root) else tree

    @property
    def project_root(self) -> str:
        """The folder of `.loop`, or the one that the loop in LOOPKIT_DIR was begun in."""
        if not self.environment.get("LOOPKIT_DIR"):
            return os.path.dirname(self._root)
        with contextlib.suppress(OSError):  # told by whoever reads it next
            view = loops.serving([self.root] if self.root else [], self.session)
            if view is not None and os.path.isdir(view.session.project):
                return view.session.project
        return place.project(self.folder, self.environment)

    @property
    def input_folders(self) -> list[str]:
        """Folders whose files are input: the project's; in a session that of its own loop, or where
        it was opened, and not wherever it has wandered to."""
        opened = place.session_folder(self.environment)
        folders = (
            [self.project_root, self.project_in_tree] if opened is None or self._owns_loop() else []
        )
        folders.append(place.project(opened or self.folder, self.environment))
        return [folder for folder in folders if not place.out_of_reach(folder, self.environment)]

    def _owns_loop(self) -> bool:
        """Whether the active loop is our session's; input is read before the loop is asked for."""
        loop = self._loop
        if loop is None and self.root:
            with contextlib.suppress(LoopError, OSError):
                loop = Loop.active(self.root)
        return loop is not None and loop.state.session.owner == self.session

    def work_folder(self, state: LoopState, tree: str | None = None) -> str:
        """Where a loop's checks run: where its session was opened, in this or another tree."""
        base = tree or self.project
        folder = os.path.normpath(os.path.join(base, state.folder))
        within = place.inside(os.path.realpath(folder), os.path.realpath(base))
        return folder if within and os.path.isdir(folder) else base

    @property
    def _root(self) -> str:
        return self.root or place.future(self.folder, self.environment)

    def origin(self, root: str) -> "Origin":
        """Whose the settings, learnings and decisions of a `.loop` are."""
        if root not in self._origins:
            from ..engine import origins

            self._origins[root] = origins.of(root, self.environment, self.note)
        return self._origins[root]

    @contextlib.contextmanager
    def next_comes(self) -> Iterator[None]:
        """Let a refusal that says so name the loop's next step."""
        try:
            yield
        except NotYet as refusal:
            refusal.next_comes(due.command(self._loop.state) if self._loop else None)
            raise

    def loop(self, untrusted: bool = False) -> Loop:
        """The active loop. Raises Refused where there is none, Damaged where it cannot be read.
        Nothing of an untrusted loop reaches a session, but for commands that ask for it."""
        alien = bool(self.session) and untrusted_only(self.root)
        if alien and not untrusted:
            raise not_ours()
        try:
            loop = Loop.active(self.root, self._loop) if self.root else None
        except Damaged:
            if alien:  # its text would hold untrusted words
                raise not_ours() from None
            raise
        if loop is None:
            raise no_loop()
        if self.session and not untrusted and not loop.ours:
            raise not_ours()
        if (loop.damaged or loop.torn) and not alien:
            what = "its last line is cut short and"
            if loop.damaged:
                what = f"line {', '.join(map(str, loop.damaged[:5]))} cannot be read and"
            self.note(f"{loop.path}: {what} is left out; see loopkit doctor")
        self._loop = loop
        return loop

    def our_loop(self) -> Loop:
        """The active loop, whoever owns it. Raises Refused where it was not started here."""
        loop = self.loop()
        if not loop.ours:
            raise not_ours()
        return loop

    def own_loop(self) -> Loop:
        """The active loop, to change it. Raises Refused in a session that does not own it."""
        loop = self.our_loop()
        self._check_owner(loop)
        self.owned = True
        self._note_attended(loop)
        return loop

    def persons_loop(self, what: str) -> Loop:
        """The same for what only the person does, `what`. Raises Refused where nobody can be
        asked."""
        loop = self.our_loop()
        self._check_owner(loop)
        self.check_somebody(what, loop)
        return self.own_loop()

    def check_somebody(self, what: str, loop: Loop) -> None:
        """Raises Refused where nobody can be asked: `what` only the person does."""
        session = loop.state.session
        alone = session.by_word and self.session == session.owner != ""
        alone = alone and session.status != verdict.PAUSED  # who goes on with it is there
        if self.unattended or alone:
            said = f"nobody can be asked, and only the person {what}"
            raise Refused(said, "next: loopkit next", code="nobody_to_ask")

    def _note_attended(self, loop: Loop) -> None:
        """Record whether somebody can be asked, where the client says otherwise than before."""

        def changed(state: LoopState) -> list[Change]:
            session = state.session
            mine = self.session == session.owner != "" and session.status not in verdict.FINAL
            return stage.attended(state, self.unattended) if mine else []

        if changed(loop.state):
            with loop.writing() as state:
                loop.record(changed(state), self.by)

    def _check_owner(self, loop: Loop) -> None:
        session = loop.state.session
        # an agent of the run that owns the loop runs its task's check
        named = self.environment.get(OWNER) if self.environment.get("LOOPKIT_CHILD") else None
        if session.owner in (self.session, named) or not self.session:
            return
        if session.status in verdict.FINAL:
            return
        raise Refused(
            f"loop {loop.name} belongs to session {session.owner}",
            "take it over: loopkit resume" + " --take-over" * place.alive(session.owner_pid),
            code="not_yours",
        )

    def _check_agent(self, loop: Loop) -> None:
        """Raises Refused for an agent of the run that owns the loop, which runs its check alone."""
        owner = self.environment.get(OWNER) if self.environment.get("LOOPKIT_CHILD") else None
        if owner and owner == loop.state.session.owner and not self.checking:
            raise Refused(
                "an agent of a run runs its task's check and changes nothing else of the loop",
                "say it in the answer",
                code="not_yours",
            )

    def change(
        self, loop: Loop, decide: Callable[..., list[Change]], *arguments: Any, **named: Any
    ) -> list[Change]:
        """Decide on the state as it is under the lock, record, and let what is derived follow."""
        self._check_agent(loop)
        with self.next_comes(), loop.writing() as state:
            if self.owned:  # it may have been taken over since it was opened
                self._check_owner(loop)
            changes = decide(state, *arguments, **named)
            for kind, data in changes:
                known = LOOP.known(kind) or object
                if issubclass(known, OfAgent):
                    data.update(self.source)
                elif issubclass(known, LetGo):
                    data.update(self.unread(loop))
            loop.record([*changes, *stage.asked_again(loop.state, changes)], self.by)
            if not changes:  # what was recorded by somebody who died then may be missing in it
                loop.write_snapshot()
        self.follow(loop)
        return changes

    def unread(self, loop: Loop) -> dict:
        """What the loop's session has used since its transcripts were looked at, for an event; of
        one that lives up to now."""
        from ..store import transcript

        session = loop.state.session
        now = time.time() if place.alive(session.owner_pid) else 0
        return transcript.unread(place.config_dir(self.environment), session, now)

    def follow(self, loop: Loop) -> None:
        """Write what is derived: PROGRESS.md, files, native list. Fails no command."""
        from ..core.plan import outline

        if os.path.isdir(os.path.join(place.config_dir(self.environment), "tasks")):
            from ..store import mirror

            mirror.follow(loop, self.environment)  # it may take in what Claude added
        try:
            loops.write_progress(loop.root, outline.progress(loop.state))
        except OSError as error:
            self.note(f"{loops.PROGRESS} not written: {error.strerror}")
        _write_derived(loop, self.note)


def untrusted_only(root: str | None) -> bool:
    """Whether a `.loop` holds untrusted loops only."""
    try:
        return root is not None and loops.untrusted_only(root)
    except OSError:  # told by whoever reads it next
        return False


def no_loop() -> Refused:
    """The refusal where the project has no loop."""
    return Refused(
        "there is no loop in this project",
        "start one in Claude Code: /loop:start <task>",
        code="no_loop",
    )


def not_ours() -> Refused:
    """The refusal of a loop that was not started here; tells nothing of it."""
    return Refused(
        "the loop in this folder was not started here, so it does nothing",
        "the person looks at it in a terminal (loopkit status) and, trusting it, says: loopkit "
        "resume --adopt",
        code="not_yours",
    )


def taught(loop: Loop) -> list[str]:
    """What a loop that has ended proposes to keep; nothing of it is written."""
    from ..core.memory import learning
    from ..render import wrapped
    from ..store import journal, tables

    try:
        tail = journal.read(loop.path, LOOP)
    except OSError:  # what was asked for is done
        return []
    rows = learning.summary(loop.state, tail.events if tail else (), tables.masks().masked)
    return [wrapped(row, "     ") for row in rows]


# -- files for people and agents, derived from the journal: written when they say something else

#: Bytes of a file that is compared; a larger one was not written here.
_LARGEST = 4_000_000


def _write_derived(loop: Loop, note: Callable[[str], None]) -> None:
    """Let a loop's files follow its state; a failure is told and loses nothing."""
    state = loop.state
    log = state.decision_log
    rows = [*state.decisions, *log.anti_patterns, *log.withdrawn]
    name = "learnings"
    try:
        if rows:
            from ..store import decisions

            gone = [row["number"] for row in log.withdrawn]
            decisions.write(loop.folder, rows, log.superseded, gone)
        judged = state.terms.plan_reviewed and state.stage == stage.DECOMPOSE
        if not state.tasks and not judged:
            return
        from ..render import files

        name = "plan.md"
        _put(loop.folder, name, files.plan(state))
        name = "context.md"
        _put(loop.folder, name, files.context(state), "Updated: ")
        if state.waves:
            name = files.LOOP_STATE
            _put(loop.folder, name, files.loop_state(state))
        if reported(state):
            from ..render import report

            name = "report.md"
            _put(loop.folder, name, report.render(state))
    except OSError as error:
        note(f"{name} not written: {error.strerror}")


def reported(state: LoopState) -> bool:
    """From the thorough review on there is something to report."""
    over = state.thorough is not None or state.session.status in verdict.FINAL
    return over and bool(state.tasks)


def _put(folder: str, name: str, text: str, but: str = "") -> None:
    """Write a file that differs in more than lines beginning with `but`. Raises OSError."""
    path = os.path.join(folder, name)
    atomic.check_inside(folder, path)
    data = text.encode("utf-8", "replace")
    try:
        old = atomic.read(path, _LARGEST)
    except OSError:
        old = b""
    if old == data or but and old and _without(old, but.encode()) == _without(data, but.encode()):
        return
    atomic.write(path, data)


def _without(data: bytes, start: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if not line.startswith(start)]
