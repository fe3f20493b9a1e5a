"""The part of a loop's state that needs no task: owner, status, limits, spending, holds. Hooks fold
this alone."""

from __future__ import annotations

from . import clock, pricing, verdict

#: Stops held on one and the same progress fingerprint before a loop counts as stalled (rule: Stop,
#: row 7).
MAX_IDLE_STOPS = 3
#: Seconds by which a journal line may be older than the one before it, since two were being written
#: at once.
OVERLAP = 60


class Session:
    """Session facts of one loop; changed only by `fold`.

    token: what the machine that started or adopted the loop knows it by · iteration: counted Stops
    · limit_*: None for none (USD, seconds) · spent_seconds: running time up to `running_since`
    (POSIX seconds or None) · awaiting: a confirmation is open, so no time counts · hold_*: the last
    hold's fingerprint, how many on it in a row, anything recorded since, transcript bytes seen ·
    offsets: {transcript path: bytes read} · usage: {model: figures as in pricing.COUNTED}.
    """

    __slots__ = (
        "token",
        "stage",
        "status",
        "verdict",
        "reason",
        "owner",
        "owner_pid",
        "owner_since",
        "iteration",
        "limit_iterations",
        "limit_usd",
        "limit_seconds",
        "usage",
        "message_ids",
        "offsets",
        "spent_seconds",
        "running_since",
        "question",
        "awaiting",
        "hold_fingerprint",
        "hold_count",
        "hold_quiet",
        "last_hold_offset",
        "max_idle_stops",
        "prices",
        "unattended",
        "failure",
        "last_stop",
        "notices",
        "native_seen",
        "subagents",
        "project",
        "started_at",
        "last_updated",
    )

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
        self.limit_iterations: int | None = None
        self.limit_usd: float | None = None
        self.limit_seconds: int | None = None
        self.usage: dict[str, list] = {}
        self.message_ids: list = []
        self.offsets: dict[str, int] = {}
        self.spent_seconds = 0
        self.running_since: int | None = None
        self.question: str | None = None
        self.awaiting = False
        self.hold_fingerprint = ""
        self.hold_count = 0
        self.hold_quiet = False
        self.last_hold_offset = 0
        self.max_idle_stops = MAX_IDLE_STOPS
        self.prices: dict = {}
        self.unattended = False
        self.failure: dict | None = None
        self.last_stop: dict | None = None
        self.notices: list = []
        self.native_seen = False
        self.subagents: dict = {}
        self.project = ""  # its folder, where the state is kept elsewhere (LOOPKIT_DIR)
        self.started_at = ""
        self.last_updated = ""

    def seconds(self, now: float) -> int:
        """Running time in seconds at `now` (POSIX seconds); a clock that went back counts as no
        time."""
        if not self.running_since:  # 0: its stamp in the journal was damaged
            return self.spent_seconds
        return self.spent_seconds + max(0, int(now) - self.running_since)

    @property
    def most(self) -> tuple:
        """The limits as `limits.reached` takes them."""
        return self.limit_iterations, self.limit_usd, self.limit_seconds

    def dump(self) -> dict:
        """Everything, as plain JSON values, for the snapshot."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def load(cls, values: dict) -> Session:
        """The session of a snapshot's `session` object; raises KeyError where a field is
        missing."""
        self = cls.__new__(cls)
        for name in cls.__slots__:
            setattr(self, name, values[name])
        return self


def _halt(session: Session, at: str) -> None:
    if session.running_since is not None:
        session.spent_seconds = session.seconds(clock.epoch(at))
        session.running_since = None


def _turn_back(session: Session, at: str) -> None:
    """A line is older than the one before it. By seconds: written by two at once. By more: the
    clock was set back, and time counts on from there, or a limit would not bind until the clock has
    caught up."""
    last, now = clock.epoch(session.last_updated), clock.epoch(at)
    if now and last - now > OVERLAP:
        session.spent_seconds = session.seconds(last)
        session.running_since = now


def _go_on(session: Session, at: str) -> None:
    if session.status != verdict.RUNNING:  # going on with what runs already is no progress
        session.hold_fingerprint, session.hold_count = "", 0
    session.status = verdict.RUNNING
    session.verdict, session.reason = None, ""
    _run(session, at)


def _run(session: Session, at: str) -> None:
    """Let time count from now on, unless it is the person's turn."""
    asked = session.question is not None or session.awaiting
    if session.status == verdict.RUNNING and not asked and session.running_since is None:
        session.running_since = clock.epoch(at)


def await_person(session: Session, awaiting: bool, at: str) -> None:
    """A confirmation has become open, or no longer is."""
    if awaiting != session.awaiting:
        session.awaiting = awaiting
        if awaiting:
            _halt(session, at)
        else:
            _run(session, at)


def end(session: Session, name: str, reason: str, at: str) -> None:
    """Give the loop a verdict: its status follows from it and its time stops."""
    session.verdict, session.reason = name, reason
    session.status = verdict.STATUS_OF.get(name, verdict.PAUSED)
    _halt(session, at)


_WAKING = ("paused", "resumed", "loop_completed", "loop_failed", "loop_cancelled")


def fold(session: Session, kind: str, data: dict, at: str, by: str) -> None:
    """Apply one journal line (type, data, time stamp, author). Lines of other types only count as
    activity."""
    if session.running_since and at < session.last_updated:
        _turn_back(session, at)
    session.last_updated = at
    if kind == "iteration_ended":
        _fold_stop(session, data, at)
        return
    if by != "hook":
        session.hold_quiet = False
    if (
        session.status in verdict.FINAL and kind in _WAKING
    ):  # written by somebody who had not seen the end
        return
    if kind == "stage_moved":
        session.stage = data.get("to", session.stage)
    elif kind == "limits_set":
        for field, slot in (
            ("iterations", "limit_iterations"),
            ("usd", "limit_usd"),
            ("seconds", "limit_seconds"),
        ):
            if field in data:
                setattr(session, slot, data[field])
    elif kind == "question_asked":
        session.question = data.get("text", "")
        _halt(session, at)
    elif kind == "question_answered":
        session.question = None
        _run(session, at)
    elif kind == "paused":
        session.status = verdict.PAUSED
        session.verdict, session.reason = data.get("verdict"), data.get("reason", "")
        _halt(session, at)
    elif kind == "resumed":
        _go_on(session, at)
        session.failure = None
    elif kind == "owner_changed":
        _fold_usage(session, data)  # the rest of what the old session used
        if session.owner != data.get(
            "session_id", ""
        ):  # a new client of the same session goes on with its transcript
            session.owner_since = at
        session.owner = data.get("session_id", "")
        session.owner_pid = data.get("client_pid")
        if data.get("unattended") is not None:
            session.unattended = bool(data["unattended"])
        session.hold_fingerprint, session.hold_count = "", 0
    elif kind == "adopted":
        session.token = data.get("token", "")
    elif kind == "stop_failed":
        session.failure = {"error": data.get("error"), "text": data.get("text", ""), "at": at}
    elif kind == "subagent_stopped":
        session.subagents[str(data.get("agent_id"))] = data.get("transcript")
    elif kind == "notice_given":
        session.notices = session.notices + [data.get("name", "")]
    elif kind == "native_seen":
        session.native_seen = True
    elif kind == "loop_started":
        _fold_start(session, data, at)
    elif kind == "attempts_reset":
        if (
            session.status == verdict.FAILED
        ):  # the person's own decision: what was impossible is tried again
            _go_on(session, at)
    elif kind == "loop_completed":
        session.stage = "complete"
        end(session, verdict.ACHIEVED, data.get("reason", ""), at)
    elif kind == "loop_failed":
        end(session, verdict.IMPOSSIBLE, data.get("reason", ""), at)
    elif kind == "loop_cancelled":
        end(session, verdict.CANCELLED, data.get("reason", ""), at)


def _fold_start(session: Session, data: dict, at: str) -> None:
    session.token = data.get("token", "")
    session.project = data.get("project", "")
    session.started_at = session.owner_since = at
    session.owner = data.get("session_id", "")
    session.owner_pid = data.get("client_pid")
    session.running_since = clock.epoch(at)
    session.unattended = bool(data.get("unattended"))
    settings = data.get("settings") or {}
    session.max_idle_stops = settings.get("max_idle_stops", MAX_IDLE_STOPS)
    session.prices = settings.get("prices", {})


def _fold_usage(session: Session, data: dict) -> None:
    """What transcripts gave since they were last looked at: tokens, how far they were read, the
    newest messages."""
    offsets = data.get("offsets")
    if offsets:
        session.offsets = {**session.offsets, **offsets}
    for model, figures in (data.get("usage") or {}).items():
        session.usage[model] = pricing.add(session.usage.get(model, ()), figures)
    if data.get("message_ids"):
        session.message_ids = data["message_ids"]


def _fold_stop(session: Session, data: dict, at: str) -> None:
    session.iteration += 1
    session.failure = None  # the turn went through
    session.last_stop = {"at": at, "decision": data.get("decision"), "verdict": data.get("verdict")}
    _fold_usage(session, data)
    if data.get("decision") == "hold":
        same = data.get("fingerprint") == session.hold_fingerprint
        session.hold_count = session.hold_count + 1 if same else 1
        session.hold_fingerprint = data.get("fingerprint", "")
        session.hold_quiet = True
        session.last_hold_offset = data.get("transcript_offset", 0)
    if data.get("verdict") and session.status not in verdict.FINAL:
        end(session, data["verdict"], data.get("reason", ""), at)
