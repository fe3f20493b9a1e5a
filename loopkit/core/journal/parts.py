"""What a loop's state is made of beside its session and its tasks: records, and tables that the
folds of core's subjects fill."""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as Record
else:

    class _Maker(type):
        def __new__(cls, name: str, bases: tuple, body: dict) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body["__annotations__"])
            defaults = [body.pop(field) for field in fields if field in body]
            base = namedtuple(name, fields, defaults=defaults)
            return type(name, (base,), {**body, "__slots__": ()})

    class Record(metaclass=_Maker):
        """typing.NamedTuple, which a hook cannot afford: dataclasses costs half the start of a bare
        interpreter, typing a quarter, this nothing (measured)."""

# -- request


#: keeps: it holds before the work and must go on holding · paths: of a mustNot, patterns of files
#: that must not change, relative to the project.
Criterion = namedtuple(
    "Criterion", "id text type command must_not keeps paths", defaults=(False, ())
)

#: When a proof is put to the trial: on the untouched tree; with the loop's changes taken away; with
#: the work, but tests and settings of checks as they were before it; with the work, but nothing in
#: the functions that it changed.
BEFORE_WORK, WITHOUT_WORK, OLD_TESTS, HOLLOW = "before", "without", "old tests", "hollow"
#: What it comes to: it fails, as it must; it passes; nobody knows.
RED, GREEN, NOT_TRIED = "red", "green", "not tried"
#: command: what was tried · result: one of these three · why: of what was not tried · exit, log: of
#: the run, where there was one · line: of the journal · program: which one the system found for it,
#: "" where that is none of interest.
Trial = namedtuple("Trial", "command result why exit log line program", defaults=("",))
#: A criterion's, mustNot's or task's proof that another took the place of. `failed`: it had failed
#: on the work · word: whose it was, PERSON or REVIEWER; "" for the session itself.
Replaced = namedtuple("Replaced", "id old new why failed word", defaults=("",))
PERSON, REVIEWER = "person", "plan reviewer"

# -- plan

#: A wave of tasks.
Wave = namedtuple("Wave", "number tasks sequential closed completed failed")

#: Where a plan stands: none yet, to be reviewed, to be revised, to be worked on.
DRAFT, REVISE, SETTLED = "draft", "revise", "settled"


class Supervision:
    """Facts of a supervised or reviewed loop that belong to no single task; see plan/events.

    asked: how often each step was dispatched · out: the journal line that dispatched it, while no
    reply is in · stopped: how many subagents had ended by then · invalid: what was wrong with the
    newest reply, while a better one is awaited · misses: invalid ones in a row; each by key.
    plan: the newest plan_proposed (warning, risks, assumptions, questions, replaces, line) ·
    standing: "", DRAFT, REVISE, SETTLED · review: the newest plan_reviewed · revisions: plans after
    the first, additions for the goal included · goal: the newest goal_judged, with its line ·
    worked: the line of the newest completion of a task that is no remediation · questions:
    {question, answer (None while open)} in order · level: the newest escalation level.
    """

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.out: dict[str, int] = {}
        self.stopped: dict[str, int] = {}
        self.invalid: dict[str, str] = {}
        self.misses: dict[str, int] = {}
        self.plan: dict | None = None
        self.standing = ""
        self.review: dict | None = None
        self.revisions = 0
        self.goal: dict | None = None
        self.worked = 0
        self.questions: list[dict] = []
        self.started = False
        self.level = ""

    def settle(self, name: str) -> None:
        """The reply to a step is in."""
        for table in (self.out, self.invalid, self.misses):
            table.pop(name, None)

    def forget(self, task_id: str) -> None:
        """Nothing that was asked about a task is awaited any longer."""
        for table in (self.out, self.invalid, self.misses):
            for name in [one for one in table if one.endswith(" " + task_id)]:
                del table[name]


#: A worktree. path: relative to the loop's folder · branch: its name · base: the commit it began
#: with · tree: of its files then · passed: the task's check has passed in it · merged: the tree
#: that was merged, "" if none was · checked: the check has run in the project's own tree since.
Row = namedtuple("Row", "task path branch base tree passed merged checked")


class Worktrees:
    """Worktrees of one loop; see plan/work. rows: {path: Row} of those that were made and not
    removed · current: {task: path} while an attempt in it goes on · wave: the number of the newest
    wave that works in worktrees."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.current: dict[str, str] = {}
        self.wave = 0

    def of(self, task_id: str) -> Row | None:
        """The worktree in which a task is worked on; None without one."""
        return self.rows.get(self.current.get(task_id, ""))


# -- memory


class DecisionLog:
    """Anti-patterns and what became of decisions; see memory/events.

    superseded: {number: number of the newer one} · invalidated: {number: {exit, log, finding}} ·
    checks: {number: command that exits 0 when the decision no longer holds}, of live ones ·
    checked: {number: journal line of the newest check} · kinds: categories of findings that gave an
    anti-pattern · withdrawn: anti-patterns about a tree that a rollback took away · patterns: what
    was gathered about the code, a few lines · outline: {task id: "1.2"}, ids: inverse.
    """

    def __init__(self) -> None:
        self.anti_patterns: list[dict] = []
        self.withdrawn: list[dict] = []
        self.highest = 0
        self.superseded: dict[int, int] = {}
        self.invalidated: dict[int, dict] = {}
        self.checks: dict[int, str] = {}
        self.checked: dict[int, int] = {}
        self.kinds: set[str] = set()
        self.patterns: list[str] = []
        self.outline: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.groups: dict[str, int] = {}
        self.children: dict[str, int] = {}


#: What marks an `Invalidated If` that is a command.
COMMAND = "$ "


def command_of(data: dict) -> str:
    """The command that tells whether a decision still holds; "" where that is said in words."""
    words = data.get("invalidated_if", "")
    one_line = words.startswith(COMMAND) and len(words.splitlines()) == 1
    return words[len(COMMAND) :].strip() if one_line else ""


# -- health

START, SCAFFOLD, BATCH, BEFORE = "start", "scaffold", "batch-", "before-rollback"


class Checkpoint(Record):
    """One tree that was kept.

    tree, sha: object ids of the tree and its commit · head: the commit that HEAD named then ·
    tasks: what the batch worked on · parent: number of the one before it · good: no task of its
    batch failed · wave: the wave it was made after · place: the working tree, "." for the main one
    · line: journal lines when the tree was taken · target, undo: of a BEFORE one, the rollback that
    it was saved for · plain: see engine/checkpoints.py.
    """

    number: int
    sha: str
    tree: str
    label: str = ""
    tasks: tuple = ()
    parent: int | None = None
    good: bool = False
    left_out: tuple = ()
    head: str | None = None
    wave: int | None = None
    place: str = "."
    line: int = 0
    target: int | None = None
    undo: bool = False
    plain: str | None = None
    at: str = ""


class Checkpoints:
    """Checkpoints and rollbacks of one loop; see plan/course.

    checkpoints: in the journal's order · numbers: the same by number · head: number of the newest
    one on the line · begun: the BEFORE one of a rollback that has not come to its end · saved: the
    BEFORE one of the newest rollback · completed: {task id: journal line of its completion} ·
    reopened: tasks that the newest rollback opened again · away: their work is not there.
    """

    def __init__(self) -> None:
        self.rows: list[Checkpoint] = []
        self.numbers: dict[int, Checkpoint] = {}
        self.head: int | None = None
        self.begun: int | None = None
        self.saved: int | None = None
        self.completed: dict[str, int] = {}
        self.reopened: tuple = ()
        self.away = False


PROGRESSING, STALLED, BLOCKED = "PROGRESSING", "STALLED", "BLOCKED"
REGRESSING, FLIP_FLOPPING = "REGRESSING", "FLIP-FLOPPING"
STATUSES = (BLOCKED, FLIP_FLOPPING, REGRESSING, STALLED, PROGRESSING)
INITIALIZING = "INITIALIZING"
CONFIDENCES, TRENDS = ("high", "medium", "low"), ("improving", "stable", "declining")

#: What a task came to in a batch. A blocked one was no attempt.
PASSED, FAILED, TASK_BLOCKED = "passed", "failed", "blocked"
#: result: one of these three · signature: of its error, "" where it has none.
Outcome = namedtuple("Outcome", "result signature", defaults=("",))

#: A closed wave. outcomes: {task: Outcome}; the rest is what the detectors said of it.
Batch = namedtuple(
    "Batch", "wave outcomes status confidence trend recommendation", defaults=("", "", "", "")
)

#: How a recovery goes.
ROLLBACK, SPLIT, PANEL, WAIT, ASK = "rollback", "split", "panel", "wait", "ask"
#: status: that of the batch before it · wave: that batch's · counted: towards asking a person.
Recovery = namedtuple("Recovery", "status play wave counted")


class History:
    """Closed batches and recoveries of one loop; see plan/course.

    since: the first batch of the present window · standing: the status that no recovery has
    answered yet, or "" · rolled_back: a flip-flop has been rolled back and the person has not been
    asked yet · used: {status: counted recoveries since a person's last answer} · answer: what the
    person said when a recovery asked last, or "".

    Of the open wave: tasks of which an attempt `failed` in it, `struck` {task: signature of its
    newest check, where that failed}, `broken` {task: signature} for completed ones found broken.
    """

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.since = 0
        self.standing = ""
        self.rolled_back = False
        self.recoveries: list[Recovery] = []
        self.used: dict[str, int] = {}
        self.asking = False
        self.answer = ""
        self.failed: set[str] = set()
        self.struck: dict[str, str] = {}
        self.broken: dict[str, str] = {}
        self._done: set[str] = set()
        self._replans: set[str] = set()

    @property
    def window(self) -> list[Batch]:
        """The batches since the last recovery, those apart in which nothing was tried."""
        return [one for one in self.batches[self.since :] if one.outcomes]

    @property
    def status(self) -> str:
        """What the detectors said of the last batch."""
        return (self.batches[-1].status or PROGRESSING) if self.batches else INITIALIZING

    @property
    def undone(self) -> bool:
        """The last batch has been rolled back."""
        last = self.recoveries[-1] if self.recoveries else None
        return last is not None and last.play == ROLLBACK and self.since == len(self.batches)

    def failing(self) -> list[str]:
        """The tasks that failed in the last batch."""
        last = self.batches[-1].outcomes if self.batches else {}
        return [one for one, outcome in last.items() if outcome.result == FAILED]

    def recovered(self, play: str, counted: bool) -> None:
        """The window starts anew, or the same batches would ask for a recovery at once."""
        wave = self.batches[-1].wave if self.batches else None
        self.recoveries.append(Recovery(self.standing or self.status, play, wave, counted))
        if counted:
            self.used[self.standing] = self.used.get(self.standing, 0) + 1
        self.since = len(self.batches)
        self.standing = ""


# -- what changed

#: A file that was measured as changed. status: A, M, D, T (another kind of file) or R (renamed:
#: `was` is its old path) · added, removed: lines, None where nobody knows.
Changed = namedtuple("Changed", "path status added removed was", defaults=("",))

#: A file that must not change, and did. criterion: the mustNot's · by: whose tool call explains it,
#: "" where none does · mark: what it holds since, "" where it is gone · how: what came of it: "",
#: MINE (the person's own), UNDO.
Touched = namedtuple("Touched", "criterion path by mark how", defaults=("", "", ""))
MINE, UNDO = "mine", "undo"


class Changes:
    """What was measured as changed; see evidence/changes.

    waves: {number: [Changed]} · whole: since the start, None while that was not measured · ignored:
    names of ignored files that changed since the start · left_out: rows that were not kept ·
    tests, settings: paths of existing tests that lost something, of changed settings of checks ·
    session: paths that the main session itself wrote · unanswered: tasks that are done and for
    which no coder answered · early: paths that changed between the request and the first wave ·
    unfit: of these tests and settings of checks · outside: what was written outside the project ·
    above: settings of checks in folders above it that changed ·
    unmoved: files that the request names and that are as they were · first: {path: the journal
    line that measured it first} · base: number of the checkpoint that was measured last · at: when
    · touched: files that must not change and did · asked: about how many of the newest the person
    is asked.
    """

    def __init__(self) -> None:
        self.waves: dict[int, list[Changed]] = {}
        self.whole: list[Changed] | None = None
        self.ignored: list[str] = []
        self.left_out = 0
        self.tests: list[str] = []
        self.settings: list[str] = []
        self.session: list[str] = []
        self.unanswered: list[str] = []
        self.early: list[str] = []
        self.unfit: list[str] = []
        self.outside: list[str] = []
        self.above: list[str] = []
        self.unmoved: list[str] = []
        self.first: dict[str, int] = {}
        self.base: int | None = None
        self.at = ""
        self.touched: list[Touched] = []
        self.asked = 0


# -- review

#: What a thorough review says of a criterion's proof, or of a mustNot that nothing watches. word:
#: see core/review/shown · text: why · by: the views of those who said it.
Shown = namedtuple("Shown", "word text by", defaults=("",))
#: Does this proof show it? The category of a finding that says that it does not.
YES, PARTLY, NO, PROOF = "yes", "partly", "no", "proof"

#: A finding of a review. place: `file` or `file:line`; breaks: criteria and mustNots that the work
#: misses; replaced: the guidance that would have broken a mustNot; resolution: {how, text} or None;
#: contradicts: numbers of live decisions; experts: whose it is.
Finding = namedtuple(
    "Finding",
    "id severity issue guidance violates source round resolution task place reason breaks "
    "category replaced reverses files "
    "contradicts experts repeats",
    defaults=(None, None, "", "", (), "other", "", None, (), (), (), ""),
)
