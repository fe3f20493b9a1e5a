"""The whole state of a loop, folded from its journal. `LoopState.apply` is the only place where a
line takes effect."""

from __future__ import annotations

from collections import namedtuple

from . import checkpointed, course, reviewed, settings, stage, supervised, trail, worktrees
from . import task as tasks
from .events import SESSION_TYPES, Event
from .reviewed import Finding
from .session import Session, await_person
from .session import fold as fold_session
from .task import Evidence, Task

Wave = namedtuple("Wave", "number tasks sequential closed completed failed")
Criterion = namedtuple("Criterion", "id text type command must_not")
#: Reason of a task_reopened whose attempt was cut short: it is not counted.
INTERRUPTED = "interrupted"

#: What the parts of a state that stand for themselves fold, after the state itself: {type: [(state,
#: data, event) → None]}.
_FOLDS: dict = {}
for _part in (reviewed, supervised, course, checkpointed, trail, worktrees):
    for _type, _fold in _part.FOLDS.items():
        _FOLDS.setdefault(_type, []).append(_fold)


class LoopState:
    """One loop. `tasks` keeps the ledger's order; counters are kept up line by line, so that a fold
    costs O(lines).

    waiting: {task: unfinished blockers} · dependents: {task: tasks that wait for it} · open:
    unfinished tasks in order · running: tasks in progress · free: pending tasks that wait for
    nothing · records: everything that counts as progress beside tasks (reviews, findings settled,
    panels, gates, criteria seen).
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.session = Session()
        self.text = ""
        self.approval = settings.EVIDENCE
        self.terms = settings.TERMS[self.approval]
        self.list_mode = "session"
        self.settings: dict = {}
        self.scores: dict | None = None
        self.overruled: str | None = None
        self.clarified: dict | None = None
        self.rounds = 0  # of questions that the person answered
        self.scored_line = self.clarified_line = 0
        self.recall_surfaced: list = []
        self.recall_shown: list = []
        self.recall_dismissed: list = []
        self.criteria: dict[str, Criterion] = {}
        self.aspects: list = []
        # every shape that was handed in: size in bytes, spec score, goals
        self.shape_rounds: list = []
        self.confirmed: set = set()
        self.new_checks: set[str] = (
            set()
        )  # tasks whose check is another since the person's yes to the tasks
        self.tasks: dict[str, Task] = {}
        self.highest = 0
        self.counts = dict.fromkeys(tasks.STATUSES, 0)
        self.waiting: dict[str, int] = {}
        self.dependents: dict[str, list] = {}
        self.open: dict[str, None] = {}
        self.running: dict[str, None] = {}
        self.due: dict[str, None] = {}  # pending tasks whose failure no panel has looked at
        self.narrow: dict[
            str, None
        ] = {}  # pending tasks that have used up their attempts: to be split, not started
        self.bare: dict[str, None] = {}  # pending tasks without a verification command
        self.free = 0
        self.planned = 0  # tasks that the size rule counts: no subtasks, no remediation
        self.evidence_count = 0
        self.attempts = 0
        self.records = 0
        self.last_completion = 0
        self.waves: list[Wave] = []
        self.wave_closed_line = 0
        self.reviews: dict = {}
        self.findings: dict[str, Finding] = {}
        self.thorough: dict | None = None
        self.review_rounds: list[
            dict
        ] = []  # thorough reviews: round, size in bytes, score, goals, categories of the findings
        self.asked: dict | None = None  # whom a thorough review was given to, and when
        self.decisions: list[dict] = []
        self.panels: list = []
        self.criterion_evidence: dict[str, Evidence] = {}
        self.gate: dict | None = None
        self.baselines: dict[str, dict] = {}  # command → how it stood: exit, failures, log
        self.supervised = supervised.Supervised()
        self.course = course.Course()
        self.checkpointed = checkpointed.Checkpointed()
        self.trail = trail.Trail()
        self.worktrees = worktrees.Worktrees()
        self.lines = 0
        self.idle_at = self.idle_before = 0

    # -- what others ask

    @property
    def stage(self) -> str:
        return self.session.stage

    @property
    def wave(self) -> Wave | None:
        """The open wave, if one is."""
        return self.waves[-1] if self.waves and not self.waves[-1].closed else None

    @property
    def must_nots(self) -> list:
        return [one for one in self.criteria.values() if one.must_not]

    @property
    def shape(self) -> str | None:
        return (self.scores or {}).get("shape")

    @property
    def workable(self) -> int:
        """Tasks that the session can move now: running, failed and awaiting a step, or free to
        start."""
        return self.counts[tasks.IN_PROGRESS] + self.counts[tasks.FAILED] + self.ready

    @property
    def ready(self) -> int:
        """Pending tasks that wait for nothing: no blocker, and where batches are reviewed no open
        scaffold."""
        if not self.terms.scaffold_first or not self.free:
            return self.free
        first = self.scaffold_first
        return sum(self.is_free(self.tasks[one]) for one in first) if first else self.free

    @property
    def scaffold_first(self) -> set[str]:
        """Open scaffold tasks and all they wait for: while there are any, nothing else is begun
        where batches are reviewed."""
        found: set[str] = set()
        left = [one for one in self.open if self.tasks[one].scaffold]
        while left:
            task_id = left.pop()
            if task_id not in found:
                found.add(task_id)
                task = self.tasks[task_id]
                left += [one for one in task.blocked_by if one in self.open]
                if task.block_kind == tasks.SPLIT:
                    left += [one for one in self.open if self.tasks[one].parent == task_id]
        return found

    @property
    def interrupted(self) -> list[str]:
        """Tasks of the open wave whose attempt was cut short and that nobody has started again."""
        own = [
            self.tasks[one] for one in (self.wave.tasks if self.wave else ()) if one in self.tasks
        ]
        return [one.id for one in own if one.interrupted and one.status == tasks.PENDING]

    def verification(self, task: Task) -> str | None:
        """The verification type of the first criterion that a task serves, or None."""
        kinds = (self.criteria[name].type for name in task.criteria if name in self.criteria)
        return next(kinds, None)

    def is_free(self, task: Task) -> bool:
        return task.status == tasks.PENDING and not self.waiting.get(task.id)

    # -- the fold

    def apply(self, event: Event) -> None:
        """Take one line of the journal into account. Lines that name unknown tasks or types change
        nothing."""
        self.lines += 1
        fold_session(self.session, event.type, event.data, event.at, event.by)
        held = event.type == "iteration_ended" and event.data.get("decision") == "hold"
        if held or event.type in ("resumed", "owner_changed"):
            self.idle_before = self.idle_at if held else self.lines
            self.idle_at = self.lines  # no agent of the session can be at work any more
            self.asked = self.asked if held else None  # nor would its report be found
        if event.type not in SESSION_TYPES:
            handler = getattr(self, "_on_" + event.type, None)
            if handler is not None:
                handler(event.data, event)
            for fold in _FOLDS.get(event.type, ()):
                fold(self, event.data, event)
        await_person(self.session, stage.unconfirmed(self) is not None, event.at)

    def _on_loop_started(self, data: dict, event: Event) -> None:
        self.text = data.get("task", "")
        self.approval = data.get("approval", settings.EVIDENCE)
        self.terms = settings.TERMS.get(self.approval, settings.TERMS[settings.SUPERVISOR])
        self.list_mode = data.get("list", "session")
        self.folder = data.get("folder", "")
        self.settings = data.get("settings") or {}

    def _on_recall_answered(self, data: dict, event: Event) -> None:
        self.recall_shown = data.get("shown", self.recall_shown)
        yes, no = data.get("confirmed", []), data.get("dismissed", [])
        self.recall_surfaced = [
            one for one in dict.fromkeys([*self.recall_surfaced, *yes]) if one not in no
        ]
        self.recall_dismissed = [
            one for one in dict.fromkeys([*self.recall_dismissed, *no]) if one not in yes
        ]

    def _on_scored(self, data: dict, event: Event) -> None:
        keys = ("values", "spec", "fit", "shape", "topics", "kind")
        self.scores = {key: data.get(key) for key in keys}
        self.scored_line = self.lines

    def _on_clarified(self, data: dict, event: Event) -> None:
        answers = {**((self.clarified or {}).get("answers") or {}), **(data.get("answers") or {})}
        self.clarified = {
            **data,
            "answers": answers,
            "assumptions": dict(data.get("assumptions") or {}),
        }
        self.rounds = data.get("round", self.rounds)
        self.clarified_line = self.lines

    def _on_spec_overruled(self, data: dict, event: Event) -> None:
        self.overruled = data.get("why", "")

    def _on_shape_saved(self, data: dict, event: Event) -> None:
        known = {name: one.command for name, one in self.criteria.items()}
        self.criteria = {
            row["id"]: Criterion(
                row["id"],
                row["text"],
                row.get("type"),
                row.get("command"),
                bool(row.get("must_not")),
            )
            for row in data.get("criteria", [])
        }
        for name in [one for one in self.criterion_evidence if one in known]:
            if name not in self.criteria or self.criteria[name].command != known[name]:
                del self.criterion_evidence[name]  # another command ran then
        self.aspects = list(data.get("aspects") or ())
        goals = list(self.criteria)
        spec = (self.scores or {}).get("spec")
        self.shape_rounds.append({"size": data.get("size", 0), "score": spec, "goals": goals})
        if not data.get("stronger"):
            self.confirmed.discard("shape")
        self.records += 1

    def _on_confirmed(self, data: dict, event: Event) -> None:
        self.confirmed.add(data.get("what"))
        if data.get("what") == "tasks":
            self.new_checks.clear()

    def _on_confirmation_dropped(self, data: dict, event: Event) -> None:
        self.confirmed.difference_update(data.get("what", ()))
        self.new_checks.update(data.get("ids", ()))

    def _on_task_added(self, data: dict, event: Event) -> None:
        row = data.get("task") or {}
        task = Task(
            id=row["id"],
            subject=row.get("subject", ""),
            verify=row.get("verify", ""),
            active_form=row.get("activeForm", ""),
            description=row.get("description", ""),
            blocked_by=tuple(row.get("blockedBy", ())),
            parent=row.get("parent"),
            depth=row.get("depth", 0),
            complexity=row.get("complexity", "medium"),
            criteria=tuple(row.get("criteria", ())),
            files=tuple(row.get("files", ())),
            scaffold=bool(row.get("scaffold")),
            group=row.get("group"),
            kind=row.get("kind", "work"),
            native=row.get("native"),
        )
        if task.id in self.tasks:
            return
        self.highest = max(self.highest, tasks.number(task.id))
        self.tasks[task.id] = task
        self.waiting[task.id] = 0
        self._release(task.id, 1)  # tasks that named it before it was there
        self._wait_for(task.id, task.blocked_by)
        self._count(task, 1)
        self.open[task.id] = None
        if task.parent is None and task.kind == "work":
            self.planned += 1

    def _wait_for(self, task_id: str, blockers: tuple) -> None:
        for blocker in blockers:
            self.dependents.setdefault(blocker, []).append(task_id)
            other = self.tasks.get(blocker)
            if other is not None and other.status != tasks.COMPLETED:
                self.waiting[task_id] += 1

    def _count(self, task: Task, sign: int) -> None:
        self.counts[task.status] += sign
        if task.status == tasks.PENDING and not task.verify:
            if sign > 0:
                self.bare[task.id] = None
            else:
                self.bare.pop(task.id, None)
        if task.status == tasks.PENDING and not self.waiting[task.id]:
            self.free += sign

    def _put(self, task: Task) -> None:
        """Replace a task; every counter follows."""
        old = self.tasks[task.id]
        self._count(old, -1)
        self.tasks[task.id] = task
        self._count(task, 1)
        if task.status == tasks.IN_PROGRESS:
            self.running[task.id] = None
        else:
            self.running.pop(task.id, None)
        if task.status == tasks.PENDING and task.panel_due:
            self.due[task.id] = None
        else:
            self.due.pop(task.id, None)
        if task.status == tasks.PENDING and task.action == "replan":
            self.narrow[task.id] = None
        else:
            self.narrow.pop(task.id, None)
        was, now = old.status == tasks.COMPLETED, task.status == tasks.COMPLETED
        if was != now:
            if now:
                self.open.pop(task.id, None)
                self.last_completion = self.lines
            else:
                self.open[task.id] = None
            self._release(task.id, -1 if now else 1)

    def _forget_waiting(self, task: Task) -> None:
        for blocker in task.blocked_by:
            if task.id in self.dependents.get(blocker, ()):
                self.dependents[blocker].remove(task.id)

    def _release(self, task_id: str, step: int) -> None:
        for dependent in self.dependents.get(task_id, ()):
            waiting = self.tasks.get(dependent)
            if waiting is not None and task_id in waiting.blocked_by:
                self._count(waiting, -1)
                self.waiting[dependent] += step
                self._count(waiting, 1)

    def _task(self, data: dict) -> Task | None:
        return self.tasks.get(data.get("id", ""))

    def _change(self, data: dict, **changes: object) -> None:
        task = self._task(data)
        if task is not None:
            self._put(task._replace(**changes))  # type: ignore[arg-type]

    def _on_task_changed(self, data: dict, event: Event) -> None:
        task = self._task(data)
        if task is None:
            return
        names = {
            "subject": str,
            "verify": str,
            "description": str,
            "files": tuple,
            "criteria": tuple,
            "complexity": str,
        }
        changes = {name: kind(data[name]) for name, kind in names.items() if name in data}
        if "verify" in changes and changes["verify"] != task.verify:
            changes["evidence"], changes["failing"] = None, 0
            changes["checks_before"] = (
                (*task.checks_before, task.verify) if task.verify else task.checks_before
            )
        self._put(task._replace(**changes))
        if "blockedBy" in data:
            self._count(self.tasks[task.id], -1)
            self._forget_waiting(task)
            self.tasks[task.id] = self.tasks[task.id]._replace(blocked_by=tuple(data["blockedBy"]))
            self.waiting[task.id] = 0
            self._wait_for(task.id, self.tasks[task.id].blocked_by)
            self._count(self.tasks[task.id], 1)

    def _on_task_started(self, data: dict, event: Event) -> None:
        self._change(
            data,
            status=tasks.IN_PROGRESS,
            wave=data.get("wave"),
            handed=self.lines,
            handed_at=event.at,
            fix_cycles=0,
            action=None,
            interrupted=False,
        )
        wave, task_id = self.wave, data.get("id", "")
        if wave is not None and task_id in self.tasks and task_id not in wave.tasks:
            self.waves[-1] = wave._replace(tasks=(*wave.tasks, task_id))

    def _on_tasks_handed(self, data: dict, event: Event) -> None:
        for task_id in data.get("ids", ()):
            self._change({"id": task_id}, handed=self.lines, handed_at=event.at)

    def _on_task_verified(self, data: dict, event: Event) -> None:
        task = self._task(data)
        if task is None:
            return
        self.evidence_count += 1
        evidence = evidence_of(data, event, self.lines)
        cycles, failing = (
            (task.fix_cycles, 0) if evidence.passed else (task.fix_cycles + 1, task.failing + 1)
        )
        if data.get("worktree"):  # it says nothing of the project's own tree: see worktrees
            evidence = task.evidence  # type: ignore[assignment]
        run = data.get("run", task.runs + 1)
        self._put(
            task._replace(
                evidence=evidence, runs=run, fix_cycles=cycles, failing=failing, stale=False
            )
        )

    def _on_task_completed(self, data: dict, event: Event) -> None:
        self._change(data, status=tasks.COMPLETED, block_kind=None, block_text="")

    def _on_task_failed(self, data: dict, event: Event) -> None:
        task = self._task(data)
        if task is None:
            return
        self.attempts += 1
        entry = {key: data.get(key, "") for key in ("attempt", "approach", "result", "error")}
        entry.update((key, data[key]) for key in ("score", "feedback") if data.get(key) is not None)
        retry = data.get("action") == "retry"
        self._put(
            task._replace(
                status=tasks.PENDING if retry else tasks.FAILED,
                attempts=task.attempts + 1,
                stuck_count=task.stuck_count + 1,
                action=data.get("action"),
                history=(*task.history, {**entry, "at": event.at}),
            )
        )

    def _on_task_blocked(self, data: dict, event: Event) -> None:
        self._change(
            data, status=tasks.BLOCKED, block_kind=data.get("kind"), block_text=data.get("text", "")
        )

    def _on_task_split(self, data: dict, event: Event) -> None:
        self._change(data, status=tasks.BLOCKED, block_kind=tasks.SPLIT, block_text="", action=None)

    def _on_task_reopened(self, data: dict, event: Event) -> None:
        evidence = {} if data.get("keep_evidence") else {"evidence": None}
        interrupted = data.get("reason") == INTERRUPTED
        self._change(
            data,
            status=tasks.PENDING,
            block_kind=None,
            block_text="",
            fix_cycles=0,
            interrupted=interrupted,
            **evidence,
        )

    def _on_attempts_reset(self, data: dict, event: Event) -> None:
        for task_id in data.get("ids", ()):
            self._change(
                {"id": task_id},
                attempts=0,
                stuck_count=0,
                panel_for=0,
                fix_cycles=0,
                failing=0,
                action=None,
            )

    def _on_task_removed(self, data: dict, event: Event) -> None:
        task = self._task(data)
        if task is None:
            return
        if task.status != tasks.COMPLETED:
            self._release(task.id, -1)
        self._count(task, -1)
        self._forget_waiting(task)
        if task.parent is None and task.kind == "work":
            self.planned -= 1
        for table in (self.tasks, self.waiting, self.open, self.running, self.due, self.narrow):
            table.pop(task.id, None)
        self.new_checks.discard(task.id)
        for dependent in self.dependents.pop(task.id, ()):
            waiting = self.tasks.get(dependent)
            if waiting is not None:
                left = tuple(one for one in waiting.blocked_by if one != task.id)
                self.tasks[dependent] = waiting._replace(blocked_by=left)

    def _on_wave_opened(self, data: dict, event: Event) -> None:
        self.waves.append(
            Wave(
                data.get("wave"),
                tuple(data.get("tasks", ())),
                bool(data.get("sequential")),
                False,
                (),
                (),
            )
        )

    def _on_wave_closed(self, data: dict, event: Event) -> None:
        if self.waves:
            done, failed = tuple(data.get("completed", ())), tuple(data.get("failed", ()))
            self.waves[-1] = self.waves[-1]._replace(closed=True, completed=done, failed=failed)
            self.wave_closed_line = self.lines

    def _on_decision_recorded(self, data: dict, event: Event) -> None:
        self.records += 1
        self.decisions.append({**data, "at": event.at})

    def _on_criterion_verified(self, data: dict, event: Event) -> None:
        self.records += 1
        self.criterion_evidence[data.get("id", "")] = evidence_of(data, event, self.lines)

    def _on_baseline_recorded(self, data: dict, event: Event) -> None:
        self.records += 1
        row = {
            "exit": data.get("exit", 0),
            "failures": data.get("failures", []),
            "log": data.get("log", ""),
        }
        self.baselines[data.get("command", "")] = {**row, "at": event.at}


def evidence_of(data: dict, event: Event, line: int) -> Evidence:
    """The evidence record of a `task_verified` or `criterion_verified` line."""
    return Evidence(
        passed=bool(data.get("passed")),
        exit=data.get("exit", 1),
        log=data.get("log", ""),
        seconds=data.get("seconds", 0.0),
        at=event.at,
        head=data.get("head"),
        files=data.get("files") or {},
        line=line,
        tier=data.get("tier") or "",
    )
