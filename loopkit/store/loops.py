"""The loops of a project: folders, the active one, its state. Standard library only."""

from __future__ import annotations

import errno
import os
import sys
from collections import namedtuple

from ..core.journal import jsons, prose, verdict
from ..core.journal.session import ALONE, SESSION, Session
from ..core.steps import snapshot as snapshots
from . import atomic, journal, trust

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from ..core.journal.state import LoopState

SNAPSHOT, PROGRESS = "workflow-state.json", "PROGRESS.md"
#: Bytes of a snapshot at the most; of an untrusted journal, and how many of these are looked at.
LARGEST, GLANCE, MOST_UNTRUSTED = 1 << 25, 1 << 20, 20

#: Bytes of a journal without a snapshot that who cannot wait folds: more takes seconds.
MOST_FOLDED = 1 << 21

#: What a hook works with: `.loop` path, loop name, session facts (up to date), snapshot of the work
#: (up to date), whether that had to be rebuilt from the journal.
View = namedtuple("View", "root name session snapshot rebuilt")


def names(root: str) -> list:
    """Loop folders with a journal, lowest number first."""
    try:
        numbered = [(name.split("-", 1)[0], name) for name in os.listdir(root)]
    except OSError:
        return []
    numbered = [row for row in numbered if prose.is_number(row[0])]
    numbered.sort(key=lambda row: (int(row[0]), row[1]))
    return [name for _, name in numbered if is_loop(root, name)]


def is_loop(root: str, name: str) -> bool:
    """Whether a folder of `root` itself has that name and holds a journal; links, which lead
    elsewhere, pipes, folders and devices are none."""
    path = ledger(root, name)
    if not _is_plain(name) or os.path.islink(os.path.dirname(path)):
        return False
    return os.path.isfile(path) and not os.path.islink(path)


def _is_plain(name: str) -> bool:
    """Whether a name stays in its folder."""
    return os.path.basename(name) == name and name not in (os.curdir, os.pardir)


def ledger(root: str, name: str) -> str:
    """Where the journal of a loop lies; `root` is the project's `.loop`."""
    return os.path.join(root, name, journal.NAME)


def read_snapshot(root: str) -> dict | None:
    """The snapshot as it stands on disk, or None where it is missing, damaged or edited."""
    try:
        snapshot = snapshots.parse(atomic.read(os.path.join(root, SNAPSHOT), LARGEST))
    except OSError:
        return None
    name = snapshot.get("loop") if snapshot is not None else None
    return snapshot if type(name) is str and name and _is_plain(name) else None


def write_snapshot(root: str, snapshot: dict) -> None:
    """Write the snapshot atomically; raises OSError."""
    text = jsons.dumps(snapshot, indent=1)
    atomic.write(os.path.join(root, SNAPSHOT), (text + "\n").encode())


def write_progress(root: str, text: str) -> None:
    """Write the loop for people atomically; raises OSError."""
    atomic.write(os.path.join(root, PROGRESS), text.encode("utf-8", "replace"))


def view(root: str, most: int = journal.LARGEST) -> View | None:
    """The active loop for a hook: the snapshot with the journal's tail folded in; rebuilt where
    that cannot be done. None: no loop, or its journal cannot be read. Nothing is written. No more
    than the session is found out, and the snapshot stays empty, of untrusted loops, which come last
    (`trust.known` tells), and where more than `most` bytes would have to be folded."""
    snapshot = read_snapshot(root)
    if snapshot is not None and is_loop(root, snapshot["loop"]) and vouched(root, snapshot):
        session = _catch_up(root, snapshot)
        if session is not None and not outdated(root, snapshot["loop"], session):
            return View(root, snapshot["loop"], session, snapshot, False)
    name, session = _meant(root)
    if name is None or session is None:
        return None
    if not ours(root, name) or os.path.getsize(ledger(root, name)) > most:
        return View(root, name, session, {}, True)
    return rebuilt(root, name)


def rebuilt(root: str, name: str) -> View | None:
    """A loop's view from its whole journal; None where nothing in it counts. Raises OSError."""
    state, tail = fold(root, name)
    if not state.lines:
        return None
    return View(root, name, state.session, snapshots.build(state, tail.offset), True)


def serving(roots: list, session_id: str, most: int = journal.LARGEST) -> View | None:
    """Which loop is meant, of those in these `.loop` folders, nearest first: the session's own,
    else the nearest that is not over, else the nearest. Loops that came from elsewhere do not
    count. most: of `view`. Raises OSError."""
    best = None
    for root in roots:
        found = view(root, most)
        if found is None or not trust.known(found.root, found.name, found.session.token):
            continue
        if found.session.owner == session_id != "":
            return found
        over = found.session.status in verdict.FINAL
        if best is None or best[0] and not over:
            best = (over, found)
    return best[1] if best is not None else None


def vouched(root: str, snapshot: dict) -> bool:
    """Whether a snapshot is that of a loop of this person. Raises OSError."""
    return trust.known(root, snapshot["loop"], snapshot["session"]["token"])


def ours(root: str, name: str) -> bool:
    """Whether a journal may be that of a loop of this person; nothing of it is folded. One that is
    too large to be of use is looked at where its loop begins. Raises OSError."""
    with atomic.opened(ledger(root, name), sys.maxsize) as file:
        large = os.fstat(file.fileno()).st_size > journal.LARGEST
        return trust.mentioned(file.read(GLANCE if large else -1))


def untrusted_only(root: str) -> bool:
    """Whether there are loops, and none of this person. Raises OSError."""
    snapshot = read_snapshot(root)
    if snapshot is not None and vouched(root, snapshot):
        return False
    known = names(root)
    return bool(known) and not any(ours(root, name) for name in known)


def again(found: View) -> Session | None:
    """The session of a view as its journal says by now; None where it cannot be read any more."""
    session = _catch_up(found.root, found.snapshot)
    later = view(found.root) if session is None else None
    return later.session if later is not None and later.name == found.name else session


def renew(root: str, name: str) -> None:
    """Let snapshot and PROGRESS.md follow a journal to which a hook has written, unless it is too
    long for one; they are derived, so a failure loses nothing and is not raised."""
    from ..core.plan import outline

    try:
        if os.stat(ledger(root, name)).st_size > MOST_FOLDED:
            return
        state, tail = fold(root, name)
        if state.lines:
            write_snapshot(root, snapshots.build(state, tail.offset))
            write_progress(root, outline.progress(state))
    except OSError:
        pass


def outdated(root: str, name: str, session: Session) -> bool:
    """Whether a snapshot is that of a loop which was over before the newest one began: an old copy
    that was put back. One that was taken up again and ended later is not."""
    if session.status not in verdict.FINAL:
        return False
    newest = names(root)[-1:]
    return newest != [name] and (not newest or _began(root, newest[0]) >= session.last_updated)


def _began(root: str, name: str) -> str:
    """When a loop was started, as a stamp; one that cannot be told is later than any."""
    try:
        with atomic.opened(ledger(root, name), journal.LARGEST) as file:
            first = SESSION.decode(file.readline(LARGEST))
    except OSError:
        first = None
    return first.at if first is not None else "~"


def put_aside(found: View) -> View | None:
    """An unfinished loop beside one that is over, where a later one was begun, or None."""
    if names(found.root)[-1:] == [found.name]:  # the usual case costs nothing
        return None
    name = active(found.root)
    if name is None or name == found.name or not ours(found.root, name):
        return None
    return rebuilt(found.root, name)


def _catch_up(root: str, snapshot: dict) -> Session | None:
    """The snapshot's session with later lines; None where one needs the whole state."""
    path, offset = ledger(root, snapshot["loop"]), snapshot["ledger_offset"]
    try:
        size = os.stat(path).st_size
        session = Session.load(snapshot["session"])
        if size == offset:
            return session
        tail = journal.read(path, SESSION, offset) if size > offset else None
    except OSError:
        return None
    if tail is None or any(event.type not in ALONE for event in tail.events):
        return None
    for event in tail.events:
        SESSION.apply(session, event)
    return session


def fold(root: str, name: str) -> tuple[LoopState, journal.Tail]:
    """(LoopState, Tail) of a loop from its whole journal. Raises OSError."""
    from ..core.journal.state import LoopState
    from ..core.steps.events import LOOP

    tail = journal.read(ledger(root, name), LOOP)
    assert tail is not None  # it was read from the start
    state = LoopState(name)
    if tail.events and tail.events[0].type == "loop_started":
        for event in tail.events:
            LOOP.apply(state, event)
    return state, tail


def _glance(root: str, name: str) -> tuple[Session, str]:
    """(Session, when it was started or resumed last) of a journal; of an untrusted one that is too
    large, one that runs. Raises OSError and ValueError where it is none."""
    session, last = Session(), ""
    mine = ours(root, name)
    try:
        tail = journal.read(ledger(root, name), SESSION, 0, journal.LARGEST if mine else GLANCE)
    except OSError as error:
        if mine or error.errno != errno.EFBIG:
            raise
        return session, last
    if tail is None or not tail.events or tail.events[0].type != "loop_started":
        raise ValueError("no journal")
    for event in tail.events:
        SESSION.apply(session, event)
        if event.type in ("loop_started", "resumed"):
            last = event.at
    return session, last


def active(root: str) -> str | None:
    """The loop that is meant without a name, by the journals: started or resumed last.

    Our own come before those that came from elsewhere, those that are not over before the others,
    and of these the one that runs before those that were put aside. Journals that cannot be read
    are passed over. Raises OSError where it cannot be found out which are ours.
    """
    return _meant(root)[0]


def _meant(root: str) -> tuple[str | None, Session | None]:
    """That loop and its session."""
    best = None
    for order, name in enumerate(_candidates(root)):
        try:
            session, last = _glance(root, name)
        except (OSError, ValueError):
            continue
        unfinished = session.status not in verdict.FINAL
        # of those that are over the one of the highest number: a clock may have been set back
        running = session.status == verdict.RUNNING
        known = trust.known(root, name, session.token)
        key = (known, unfinished, running, last if unfinished else "", order)
        if best is None or key > best[0]:
            best = (key, name, session)
    return best[1:] if best else (None, None)


def _candidates(root: str) -> list:
    """Our loops; where there is none, the untrusted ones of the highest numbers."""
    known, mine = names(root), []
    for name in known:
        try:
            if ours(root, name):
                mine.append(name)
        except OSError as error:
            if not os.fspath(error.filename or "").startswith(root):  # not this journal's fault
                raise
    return mine or known[-MOST_UNTRUSTED:]
