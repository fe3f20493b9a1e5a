"""The task record and its states."""

from __future__ import annotations

from .errors import Refused, UsageFault
from .events import Fields, is_task_id
from .parts import Record

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from .events import Amount, Flag, Text, Whole

PENDING, IN_PROGRESS, COMPLETED = "pending", "in_progress", "completed"
FAILED, BLOCKED = "failed", "blocked"
STATUSES = (PENDING, IN_PROGRESS, COMPLETED, FAILED, BLOCKED)
COMPLEXITIES = ("simple", "medium", "complex")
BLOCK_KINDS = ("dependency", "external", "permission", "information", "fundamental")
SPLIT = "split"
#: Of a check that has neither passed nor failed; the other words are evidence/command's.
NOT_STARTABLE = "not startable"
#: The approach of an attempt that followed nothing but the task's own words.
AS_DESCRIBED = "as described"
#: (from, to) pairs that the rules know; everything else is refused (rule: task states).
MOVES = frozenset(
    (
        *((PENDING, IN_PROGRESS), (PENDING, BLOCKED), (COMPLETED, PENDING), (FAILED, PENDING)),
        *((IN_PROGRESS, COMPLETED), (IN_PROGRESS, FAILED), (IN_PROGRESS, BLOCKED)),
        *((FAILED, BLOCKED), (BLOCKED, PENDING), (BLOCKED, COMPLETED)),
    )
)


class Evidence(Record):
    """One verification that ran, in seconds; its log is relative to the loop's folder. files: {path
    relative to the project: digest, "" for absent} of the files it vouches for."""

    passed: bool
    exit: int
    log: str
    seconds: float
    at: str
    head: str | None = None
    files: dict = {}
    line: int = 0
    tier: str = ""  # of core/evidence/command; "" in journals older than that
    said: str = ""  # how it compares with how it stood before the work
    told: str = ""  # how it is told apart, of core/evidence/command
    digest: str = ""  # of the log; "" in journals older than that
    folder: str = ""  # where it ran, relative to the project
    command: str = ""
    program: str = ""  # which one the system found for it, where that is of interest


class Check(Fields):
    """A check that ran. tier, told: of evidence/command, none in journals older than they are."""

    passed: Flag = False
    exit: Whole = 1
    log: Text = ""
    seconds: Amount = 0.0
    head: Text | None = None
    files: dict[str, Text] = {}
    tier: Text | None = None
    said: Text = ""
    told: Text = ""
    digest: Text = ""
    folder: Text = ""
    command: Text = ""
    program: Text = ""

    def evidence(self, at: str, line: int) -> Evidence:
        """The same as a record of the state."""
        seen = {name: getattr(self, name) for name in Check.fields()}
        return Evidence(**{**seen, "at": at, "line": line, "tier": self.tier or ""})


class Task(Record):
    """A task of the ledger. `verify` is one command line; `depth` counts its ancestors."""

    id: str
    subject: str
    verify: str = ""
    checks_before: tuple = ()  # commands that `verify` has taken the place of
    keeps: bool = False  # its check passes before the work too, and has to stay so
    active_form: str = ""
    description: str = ""
    blocked_by: tuple = ()
    parent: str | None = None
    depth: int = 0
    complexity: str = "medium"
    criteria: tuple = ()
    files: tuple = ()
    scaffold: bool = False
    group: str | None = None
    kind: str = "work"
    native: str | None = None
    status: str = PENDING
    block_kind: str | None = None
    block_text: str = ""
    attempts: int = 0
    stuck_count: int = 0
    panel_for: int = 0  # the attempt that the newest panel looked at
    fix_cycles: int = 0  # failed verifications within the present attempt
    failing: int = 0  # failed verifications in a row, over all attempts
    wave: int | None = None
    handed: int = 0  # the journal line that gave it to an agent
    action: str | None = None  # what the clamp table said of the newest failure
    history: tuple = ()
    evidence: Evidence | None = None
    runs: int = 0  # verifications ever run: the number of the newest evidence file
    stale: bool = False
    interrupted: bool = False  # its attempt was cut short, and is not counted
    back: bool = False  # a rollback took its work away and was undone: its check alone completes it
    reopened: tuple = ()  # of one that was done and is open again: (why, what fails since)
    handed_at: str = ""  # when it was given to an agent, as a stamp of the journal
    # under a supervisor (core/plan/events.py); the newest reply of each role within the
    # present attempt, with its line
    turn: str = ""  # the kind of reply that the present attempt waits for
    coded: dict | None = None
    tested: dict | None = None
    judged: dict | None = None
    fixes: int = 0
    revisions: int = 0
    diagnosed: int = 0  # the attempt that the newest diagnosis looked at
    diagnosis: dict | None = None

    @property
    def panel_due(self) -> bool:
        """A failure stands that no panel has looked at, without which it is not started."""
        return self.stuck_count > 0 and self.panel_for < self.attempts

    def metadata(self, loop: str, verification: str | None) -> dict:
        """What the native list keeps of it (rule: task record)."""
        return {
            "wave": self.wave,
            "loopId": loop,
            "verification": verification,
            "stuckCount": self.stuck_count,
        }

    def to_json(self, loop: str, verification: str | None) -> dict:
        """The task as `--json` prints it; verification: its criterion's type."""
        names = "id subject description verify parent depth complexity scaffold group kind status"
        lists = {"blockedBy": self.blocked_by, "criteria": self.criteria, "files": self.files}
        block, seen = {"kind": self.block_kind, "text": self.block_text}, self.evidence
        return {
            **{name: getattr(self, name) for name in names.split()},
            "activeForm": self.active_form,
            **{name: list(rows) for name, rows in lists.items()},
            "block": block if self.block_kind else None,
            "attempts": self.attempts,
            "history": list(self.history),
            "evidence": seen and {key: getattr(seen, key) for key in _SHOWN},
            "metadata": self.metadata(loop, verification),
        }


#: What `--json` prints of evidence.
_SHOWN = ("passed", "exit", "log", "at")


def is_blocked_outside(task: Task) -> bool:
    """It waits for something outside the loop."""
    return task.status == BLOCKED and task.block_kind != SPLIT


def moved(task: Task, to: str, **changes: object) -> Task:
    """The task in another state. Raises Refused where the rules know no such move."""
    if (task.status, to) not in MOVES:
        what = f"{task.id} is {task.status} and cannot become {to}"
        raise Refused(what, f"see loopkit task show {task.id}", code="wrong_state")
    return task._replace(status=to, **changes)  # type: ignore[arg-type]


def number(task_id: str) -> int:
    """3 for `T-003`; raises UsageFault for anything that is not a task id."""
    if is_task_id(task_id[:2].upper() + task_id[2:]):
        return int(task_id[2:])
    todo = "task ids look like T-003; see loopkit task list"
    raise UsageFault(f"not a task id: {task_id[:40]!r}", todo)


def make_id(count: int) -> str:
    """`T-003` for 3; four digits from 1000 on."""
    return f"T-{count:03d}"
