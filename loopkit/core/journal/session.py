"""The part of a loop's state that needs no task: owner, status, limits, spending, holds; and the
events that change it. Hooks fold this alone."""

from __future__ import annotations

import sys

from . import pricing, verdict
from .events import Event, EventType, Fields, Table

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from .events import Amount, Count, Figures, Flag, StageName, Text

#: Stops held on the same progress before a loop counts as stalled (rule: Stop, row 7).
MAX_IDLE_STOPS = 3


class Session:
    """Session facts of one loop; changed only by SESSION's events.

    token: what the machine that started or adopted the loop knows it by · iteration: counted Stops
    · limit_*: None for none (USD, seconds) · spent_seconds: in which anything was at work ·
    reported: USD that agents of headless runs said they cost, whose transcripts are not the
    owner's · awaiting: a confirmation is open · free: the person has spoken, so the session is let
    go until a command of the loop · by_word: they said that nobody can be asked, whatever the
    client says · hold_*: the last hold's fingerprint, how many on it in a row, anything recorded
    since, transcript bytes seen · offsets: {transcript's name: bytes read} · unread_since: the
    stamp from which on transcripts are about the loop, "" once they were read · clock: as
    `working.Times` goes on with it · usage: {model: figures as in pricing.COUNTED}.
    """

    def __init__(self) -> None:
        self.token = ""
        self.stage = "intent"
        self.status = verdict.RUNNING
        self.verdict: str | None = None
        self.reason = ""
        self.owner = ""
        self.owner_pid: int | None = None
        self.owner_since = ""
        self.iteration = 0
        self.dispatches = 0
        self.limit_iterations: int | None = None
        self.limit_usd: float | None = None
        self.limit_seconds: int | None = None
        self.usage: dict[str, list] = {}
        self.reported = 0.0
        self.message_ids: list = []
        self.offsets: dict[str, int] = {}
        self.spent_seconds = 0
        self.clock: dict = {}
        self.unread_since = ""
        self.question: str | None = None
        self.awaiting = False
        self.free = False
        self.hold_fingerprint = ""
        self.hold_count = 0
        self.hold_quiet = False
        self.last_hold_offset = 0
        self.max_idle_stops = MAX_IDLE_STOPS
        self.prices: dict = {}
        self.unattended = False
        self.by_word = False
        self.failure: dict | None = None
        self.last_stop: dict | None = None
        self.notices: list = []
        self.native_seen = False
        self.subagents: dict = {}
        self.project = ""  # its folder, where the state is kept elsewhere (LOOPKIT_DIR)
        self.started_at = ""
        self.last_updated = ""

    def cost(self, unread: dict | None = None) -> tuple:
        """(USD, tokens, models without a price); unread: usage by model, not recorded yet."""
        usage = dict(self.usage)
        for model, figures in (unread or {}).items():
            usage[model] = pricing.add(usage.get(model, ()), figures)
        usd, tokens, unpriced = pricing.cost(usage, self.prices)
        return usd + self.reported, tokens, unpriced

    @property
    def spent(self) -> tuple[int, float, int]:
        """(iterations, USD, seconds), as `limits.reached` takes them."""
        return self.iteration, self.cost()[0], self.spent_seconds

    @property
    def most(self) -> tuple:
        """The limits as `limits.reached` takes them."""
        return self.limit_iterations, self.limit_usd, self.limit_seconds

    def dump(self) -> dict:
        """Everything, as plain JSON values, for the snapshot."""
        return dict(vars(self))

    @classmethod
    def load(cls, values: dict) -> Session:
        """The session of a snapshot's `session` object; KeyError for a missing field."""
        self = cls()
        vars(self).update([(name, values[name]) for name in vars(self)])
        return self

    def before(self, event: Event) -> None:
        """Whatever is written counts as activity."""
        self.last_updated = event.at
        if event.by != "hook" and event.type != IterationEnded.type:
            self.hold_quiet = False

    def after(self, event: Event) -> None:
        """Nothing follows from every event."""


def _read_from(session: Session, at: str) -> None:
    """Older lines of transcripts are not about the loop."""
    session.unread_since = at
    session.clock = {**session.clock, "busy": {}} if session.clock else {}


def _go_on(session: Session) -> None:
    if session.status != verdict.RUNNING:  # going on with what runs already is no progress
        session.hold_fingerprint, session.hold_count = "", 0
    session.status = verdict.RUNNING
    session.verdict, session.reason = None, ""
    session.free = False


def _end(session: Session, name: str, reason: str) -> None:
    """Give the loop a verdict: its status follows from it. One that is over keeps its own: this was
    written by somebody who had not seen the end."""
    if session.status in verdict.FINAL:
        return
    session.verdict, session.reason = name, reason
    session.status = verdict.STATUS_OF.get(name, verdict.PAUSED)


# -- events


class Settings(Fields):
    """What a loop keeps of the settings at its start; settings.DEFAULTS says what each means."""

    max_idle_stops: Count = MAX_IDLE_STOPS
    prices: dict[str, Figures] = {}
    also = {
        "Count": "max_step_attempts max_fix_cycles max_replan_depth verify_seconds"
        " max_plan_revisions approval_threshold revision_threshold",
        "Text": "approval plan_review_failure",
        "list[Text] | None": "blocklist",
        "Flag": "user",
    }


class LoopStarted(EventType):
    task: Text = ""
    token: Text = ""
    session_id: Text = ""
    client_pid: Count | None = None
    unattended: Flag = False
    by_word: Flag = False
    approval: Text = "evidence"
    list: Text = "session"
    folder: Text = ""
    project: Text = ""
    settings: Settings | None = None

    def fold(self, session: Session) -> None:
        session.token, session.project = self.token, self.project
        session.started_at = session.owner_since = session.unread_since = self.at
        session.owner, session.owner_pid = self.session_id, self.client_pid
        session.unattended, session.by_word = self.unattended, self.by_word
        settings = self.settings or Settings({})
        session.max_idle_stops, session.prices = settings.max_idle_stops, settings.prices


class Adopted(EventType):
    """The person took a loop over that came from elsewhere."""

    alone = True
    token: Text = ""

    def fold(self, session: Session) -> None:
        session.token = self.token


class LimitsSet(EventType):
    """Those that are named; null: none any more."""

    alone = True
    iterations: Count | None = None
    usd: Amount | None = None
    seconds: Amount | None = None

    def fold(self, session: Session) -> None:
        for name, value in self.data.items():
            if name in self.fields():
                setattr(session, "limit_" + name, value)


class Clock(Fields):
    """How far time is counted: the arguments of `working.Times`."""

    to: Count = 0
    shift: Count = 0
    busy: dict[str, Count] = {}


class OfTranscripts(Fields):
    """What transcripts gave since they were last looked at: tokens, seconds of work, how far they
    were read, the newest messages."""

    offsets: dict[str, Count] = {}
    usage: dict[str, Figures] = {}
    message_ids: list[Text] | None = None
    worked: Count = 0
    clock: Clock | None = None

    def add(self, session: Session) -> None:
        session.spent_seconds += self.worked
        if self.clock is not None:
            session.clock = {name: getattr(self.clock, name) for name in Clock.fields()}
        if self.offsets:
            session.offsets = {**session.offsets, **self.offsets}
            session.unread_since = ""
        for model, figures in self.usage.items():
            session.usage[model] = pricing.add(session.usage.get(model, ()), figures)
        session.message_ids = self.message_ids or session.message_ids


class LetGo(OfTranscripts):
    """An event that lets the session go: what it used belongs to the loop up to here."""


class AgentsDispatched(OfTranscripts, EventType):
    """`loopkit next` gave agents work: from then on that is an iteration, and no Stop is."""

    alone = True
    agents: Count = 0

    def fold(self, session: Session) -> None:
        session.iteration += 1
        session.dispatches += 1
        session.free = False
        self.add(session)


class AgentEnded(EventType):
    """An agent of a headless run has ended; usd: what it said that it cost."""

    alone = True
    usd: Amount | None = None
    seconds: Amount = 0
    also = {"Text": "step outcome session"}

    def fold(self, session: Session) -> None:
        session.reported += self.usd or 0
        session.spent_seconds += int(self.seconds)


class IterationEnded(OfTranscripts, EventType):
    """A Stop; `decision`: hold or allow."""

    alone = True
    decision: Text | None = None
    verdict: Text | None = None
    reason: Text = ""
    fingerprint: Text = ""
    transcript_offset: Count = 0

    def fold(self, session: Session) -> None:
        session.iteration += not session.dispatches
        session.failure = None  # the turn went through
        session.last_stop = {"at": self.at, "decision": self.decision, "verdict": self.verdict}
        self.add(session)
        if self.decision == "hold":
            same = self.fingerprint == session.hold_fingerprint
            session.hold_count = session.hold_count + 1 if same else 1
            session.hold_fingerprint = self.fingerprint
            session.hold_quiet = True
            session.last_hold_offset = self.transcript_offset
            forget(session, BESIDE)
            forget(session, WAITS)
        if self.verdict:
            _end(session, self.verdict, self.reason)


class StageMoved(EventType):
    also = {"StageName": "from"}
    to: StageName = ""

    def fold(self, session: Session) -> None:
        session.stage = self.to or session.stage


class QuestionAsked(EventType):
    text: Text = ""

    def fold(self, session: Session) -> None:
        session.question = self.text


class QuestionAnswered(EventType):
    text: Text = ""

    def fold(self, session: Session) -> None:
        session.question = None
        session.free = False


class Paused(LetGo, EventType):
    alone = True
    verdict: Text | None = None
    reason: Text = ""

    def fold(self, session: Session) -> None:
        self.add(session)
        if session.status not in verdict.FINAL:
            session.status = verdict.PAUSED
            session.verdict, session.reason = self.verdict, self.reason


class Resumed(EventType):
    """The loop goes on. same_client: in which its agents are at work still."""

    alone = True
    same_client: Flag = False
    also = {"Text | None": "from"}

    def fold(self, session: Session) -> None:
        if session.status not in verdict.FINAL:
            if session.status != verdict.RUNNING:
                _read_from(session, self.at)
            _go_on(session)
            session.failure = None
            forget(session, GUIDE)  # whoever goes on has not read it


class OwnerChanged(OfTranscripts, EventType):
    """Another session goes on, or a new client of the same one; with the rest of what the old one
    used. same_client: another session of one client, whose agents are at work still."""

    alone = True
    session_id: Text = ""
    client_pid: Count | None = None
    unattended: Flag | None = None
    same_client: Flag = False
    also = {"Text": "why"}

    def fold(self, session: Session) -> None:
        self.add(session)
        forget(session, GUIDE)
        forget(session, WAITS)
        if session.owner != self.session_id:  # else it goes on with its transcript
            session.owner_since, session.by_word = self.at, False
            _read_from(session, self.at)
        session.owner, session.owner_pid = self.session_id, self.client_pid
        if self.unattended is not None:
            session.unattended = self.unattended
        session.hold_fingerprint, session.hold_count = "", 0


class AttendedChanged(EventType):
    """Somebody can be asked in the loop's session from now on, or nobody can."""

    unattended: Flag = False

    def fold(self, session: Session) -> None:
        session.unattended = self.unattended
        session.by_word = session.by_word and self.unattended


class PersonSpoke(EventType):
    """The person typed something, or pressed Esc (`how`): nothing drives the session on until a
    command of the loop's does."""

    alone = True
    also = {"Text": "how"}

    def fold(self, session: Session) -> None:
        session.free = session.status == verdict.RUNNING
        forget(session, WAITS)


class WentOn(EventType):
    """A command of the loop's, after the person had spoken."""

    alone = True

    def fold(self, session: Session) -> None:
        session.free = False


class StopFailed(EventType):
    """A turn died."""

    alone = True
    error: Text | None = None
    text: Text = ""

    def fold(self, session: Session) -> None:
        session.failure = {"error": self.error, "text": self.text, "at": self.at}


class SubagentStopped(OfTranscripts, EventType):
    """With what the transcripts gave by then."""

    alone = True
    agent_id: Text | None = None
    transcript: Text | None = None
    also = {"Text": "agent_type token"}

    def fold(self, session: Session) -> None:
        session.subagents[str(self.agent_id)] = self.transcript
        self.add(session)


#: Notices of guidance that was shown, and that what was shown is no longer in the conversation.
GUIDE, COMPACTED = "guide ", "compacted"


#: Notices that the loop waits for the person, and that it waits beside other work of the session.
WAITS, BESIDE = "waits", "beside"
#: A stop was let pass for a command of the person's that waited for it; that it has begun.
QUEUED, BEGUN = "queued", "begun"


def forget(session: Session, start: str) -> None:
    """What begins so is said anew."""
    session.notices = [one for one in session.notices if not one.startswith(start)]


class NoticeGiven(EventType):
    """What is said once was said."""

    alone = True
    name: Text = ""

    def fold(self, session: Session) -> None:
        if self.name == COMPACTED:
            forget(session, GUIDE)
        elif self.name == BEGUN:
            forget(session, QUEUED)
        else:
            session.notices = [*session.notices, self.name]


class NativeSeen(EventType):
    """The client keeps a task list."""

    alone = True

    def fold(self, session: Session) -> None:
        session.native_seen = True


class AttemptsReset(EventType):
    """The person's own decision: what was impossible is tried again."""

    ids: list[Text] = []

    def fold(self, session: Session) -> None:
        if session.status == verdict.FAILED:
            _go_on(session)


class LoopCompleted(LetGo, EventType):
    reason: Text = ""
    also = {"Text": "card"}

    def fold(self, session: Session) -> None:
        self.add(session)
        if session.status not in verdict.FINAL:
            session.stage = "complete"
            _end(session, verdict.ACHIEVED, self.reason)


class LoopFailed(LetGo, EventType):
    reason: Text = ""
    also = {"Text | None": "verdict"}

    def fold(self, session: Session) -> None:
        self.add(session)
        _end(session, verdict.IMPOSSIBLE, self.reason)


class LoopCancelled(LetGo, EventType):
    alone = True
    reason: Text = ""

    def fold(self, session: Session) -> None:
        self.add(session)
        _end(session, verdict.CANCELLED, self.reason)


#: What a session folds. Types that are `alone` need no task and leave the snapshot's next step as
#: it is, or make it plain by the status: whoever has the snapshot can fold them onto it.
SESSION = Table(sys.modules[__name__])
ALONE = frozenset(name for name, known in SESSION.types.items() if hasattr(known, "alone"))
