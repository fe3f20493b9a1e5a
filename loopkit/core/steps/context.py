"""What a role is told for a step: facts by scope, uncut; whoever renders them quotes and cuts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..evidence import changes, command, trials
from ..journal import parts, prose, settings
from ..journal import task as tasks
from ..journal.events import Change
from ..journal.state import LoopState
from ..journal.task import Task
from ..memory import decisions
from ..plan import drafts, events
from ..request import clarify
from ..review import panel
from . import kinds, policies
from .kinds import Step
from .policies import planning

SUBTASK, TASK, PLAN, GOAL = "subtask", "task", "plan", "goal"

#: What everybody is told.
_COMMON = "goal success must_nots reasons"
#: The further facts of each prompt; of a verification by what is judged (rule: Scope of a
#: verification): a subtask against its parent, a task by its own criteria, a plan without evidence,
#: the goal by what was completed.
FACTS: dict[str, list[str]] = {
    name: f"{_COMMON} {facts}".split()
    for name, facts in {
        "plan": "review answers short plan_tasks done sizes",
        "replan": "item parent history diagnosis advice said place sizes",
        "implementation": "item parent again history diagnosis judged advice said",
        "fix": "item parent again work cycles advice said",
        "test": "item parent work",
        "diagnosis": "item parent history work counts place late",
        "verification subtask": "item parent work bands",
        "verification task": "item work bands",
        "verification plan": "plan_tasks proposed bands",
        "verification goal": "done bands",
    }.items()
}

#: Attempts after which a diagnosis is advised against another retry.
LATE = 2
#: Characters of the line of a decision, of a subject in an agent line.
LONGEST_REASON, LONGEST_SUBJECT = 400, 100


def scope(state: LoopState, step: Step) -> str:
    """What a step is about: subtask, task, plan or goal."""
    if step.subject in (events.OF_GOAL, events.OF_PLAN):
        return GOAL if step.subject == events.OF_GOAL else PLAN
    if step.subject is None:
        return PLAN
    return SUBTASK if state.tasks[step.subject].parent in state.tasks else TASK


def values(state: LoopState, step: Step, **extra: Any) -> dict:
    """All that a prompt of this step may hold, by name; what is out of its scope has no name here.

    Always: loop, approval, role, kind, scope, target (task id, "plan", "goal" or None), invalid
    (what was wrong with the last reply, or ""), check (the task's, or ""), `extra`.
    """
    about, kind = scope(state, step), asked_as(step)
    name = f"{kind} {about}" if kind == events.VERIFICATION else kind
    row: dict[str, Any] = {
        "loop": state.name,
        "approval": state.approval,
        "role": step.agent,
        "kind": kind,
        "scope": about,
        "target": step.subject,
        "invalid": state.supervision.invalid.get(kinds.key(step), ""),
    }
    task = state.tasks.get(step.subject or "")
    row["check"] = check(task) if task else ""
    for fact in FACTS[name]:
        row[fact] = _VALUES[fact](state, task)
    return {**row, **extra}


def common(state: LoopState) -> dict:
    """What everybody is told, for who works on no task."""
    return {fact: _VALUES[fact](state, None) for fact in ("goal", "success", "must_nots")}


# -- dispatching


def number(state: LoopState, step: Step) -> int:
    """How often the step will have been asked for with the next time."""
    return state.supervision.asked.get(kinds.key(step), 0) + 1


def asked_as(step: Step) -> str:
    """What the journal calls the kind of a step."""
    return str(kinds.KINDS[step.kind].asked)


def asked(state: LoopState, step: Step) -> Change:
    """The journal line that a step is dispatched."""
    return ("role_asked", {**shown(step), "number": number(state, step)})


def shown(step: Step) -> dict:
    """A step as journal and `--json` show it: role, kind, task."""
    about = None if step.subject is None else str(step.subject)
    return {"role": step.agent, "kind": asked_as(step), "task": about}


def reply(step: Step) -> str:
    """The line that submits the answer to a step."""
    return f"loopkit reply {kinds.key(step)} --file -"


def agent(state: LoopState, step: Step, prompt: str) -> str:
    """The line that gives a step to a subagent. prompt: the path of what it reads."""
    task = state.tasks.get(step.subject or "")
    what = _DOING[step.kind]
    if task is not None:
        what = f"{what} {task.id} ({prose.subject(task.subject, LONGEST_SUBJECT)})"
    return f"agent loop:{step.agent}: {what}. Read `{prompt}` first."


_DOING = {
    kinds.PLAN: "Plan the work",
    kinds.PLAN_REVIEW: "Review the plan",
    kinds.PLAN_VERDICT: "Review the plan",
    kinds.REPLAN: "Cut into smaller tasks:",
    kinds.IMPLEMENTATION: "Do",
    kinds.SCAFFOLD: "Do",
    kinds.FIX: "Fix",
    kinds.TEST: "Test",
    kinds.VERDICT: "Judge",
    kinds.GOAL_VERDICT: "Judge whether the goal is reached",
    kinds.DIAGNOSIS: "Diagnose the failure of",
}


def check(task: Task) -> str:
    """The line that verifies a task."""
    return f"loopkit verify {task.id}"


# -- facts: (state, the task of the step or None) → value


def _goal(state: LoopState, task: Task | None) -> dict:
    """text: the whole request · told: [(what, words)] that made it clear."""
    return {"text": state.text.strip(), "told": clarify.told(state)}


def _success(state: LoopState, task: Task | None) -> list:
    """(name, text, its command, what tells that apart, whether the task serves it) of criteria."""
    served = task.criteria if task else ()
    return [
        (row.id, row.text, row.command, _apart(state, row.id), row.id in served)
        for row in state.criteria.values()
        if not row.must_not
    ]


def _apart(state: LoopState, name: str) -> str:
    """What is known of a proof, to follow "this check"."""
    row, seen = state.criteria[name], state.criterion_evidence.get(name)
    known = state.baselines.get(row.command or "")
    said = [command.APART.get(seen.told, "")] if seen else []
    if known is not None and row.must_not and known["exit"]:
        names = prose.count(len(known["failures"]), "failure")
        said.append(f"failed before the work too ({names}): only what fails newly counts")
    if row.must_not and seen is not None and not seen.passed:
        said.append("fails newly now" if known else "fails now")
    if functions := trials.thin(state).get(name):
        said.append(f"passes though nothing is left in {functions}")
    return "; it ".join(filter(None, said))


def _about(state: LoopState, task: Task | None) -> dict | None:
    if task is None:
        return None
    known = [name for name in task.criteria if name in state.criteria]
    return {
        **{name: getattr(task, name) for name in ("id", "subject", "description")},
        **{name: getattr(task, name) for name in ("verify", "complexity")},
        "criteria": [(name, state.criteria[name].text) for name in known],
        "files": drafts.shown_paths(state, task),
        "apart": task.evidence and command.APART.get(task.evidence.told, ""),
    }


def _plan_tasks(state: LoopState, task: Task | None) -> list[dict]:
    return [
        {
            **{name: getattr(row, name) for name in ("id", "subject", "complexity", "verify")},
            "description": row.description,
            "files": drafts.shown_paths(state, row),
            "criteria": list(row.criteria),
            "after": list(row.blocked_by),
            "status": row.status,
        }
        for row in state.tasks.values()
        if row.kind == "work"
    ]


def _proposed(state: LoopState, task: Task | None) -> dict:
    """What the planner said beside the tasks."""
    plan = state.supervision.plan or {}
    lists = {name: list(plan.get(name) or ()) for name in ("risks", "assumptions")}
    return {**lists, "warning": plan.get("warning", "")}


def _done(state: LoopState, task: Task | None) -> list[dict]:
    """Completed tasks with their evidence; one that was split stands for its subtasks."""
    return [
        {
            **{name: getattr(row, name) for name in ("id", "subject", "verify")},
            "evidence": _evidence(row),
            "score": (row.judged or {}).get("score"),
            "summary": (row.coded or {}).get("summary", ""),
            "files": _changed(state, row),
        }
        for row in state.tasks.values()
        if row.status == tasks.COMPLETED
    ]


def _changed(state: LoopState, task: Task) -> list[str]:
    """What a task changed: of the files that it names those that were measured as changed, or all
    where nothing was measured; what its coder declares does not count."""
    known = state.changes
    if known.whole is None and not known.waves:
        return list(task.files)
    return [path for path in known.first if changes.named(path, task.files)]


def _history(state: LoopState, task: Task | None) -> list[dict]:
    """Every failed attempt: attempt, approach, result, error, at; score, feedback where judged."""
    return [{"score": None, "feedback": "", **row} for row in (task.history if task else ())]


def _again(state: LoopState, task: Task | None) -> dict | None:
    """Why a task that was done is open again (why), and what failed since (signature, log)."""
    if task is None or not task.reopened:
        return None
    why, signature = task.reopened
    log = f"evidence/{task.id}-{task.runs}.log" if signature else ""
    return {"why": why, "signature": signature, "log": log}


def _work(state: LoopState, task: Task | None) -> dict:
    """What the present (or, once it has failed, the newest) attempt left: what the coder says, what
    the tester saw, the newest check that ran; `fresh`: since the coder's report."""
    if task is None:
        return {"coded": None, "tested": None, "evidence": None}
    since = (task.coded or {}).get("line", 0)
    seen, tested = task.evidence, task.tested
    return {
        "coded": task.coded,
        "tested": tested and {**tested, "fresh": tested["line"] > since},
        "evidence": seen and {**(_evidence(task) or {}), "fresh": seen.line > since},
    }


def _evidence(task: Task) -> dict | None:
    seen = task.evidence
    apart = seen and command.APART.get(seen.told, "")
    return seen and {"passed": seen.passed, "exit": seen.exit, "log": seen.log, "apart": apart}


def _judged(state: LoopState, task: Task | None) -> dict | None:
    """The judgement that asks for a revision within the present attempt."""
    judged = task.judged if task else None
    return judged if judged and judged.get("band") == "revise" else None


def _diagnosis(state: LoopState, task: Task | None) -> dict | None:
    known = task.diagnosis if task else None
    return known if known and (known.get("reasoning") or known.get("blockers")) else None


def _counts(state: LoopState, task: Task | None) -> dict:
    """completed, failed, pending, total."""
    names = (tasks.COMPLETED, tasks.FAILED, tasks.PENDING)
    return {**{name: state.counts[name] for name in names}, "total": len(state.tasks)}


def _place(state: LoopState, task: Task | None) -> dict:
    """depth: number of the task's own ancestors · most: where no replan follows · attempts: failed
    ones so far, and most_attempts of them on one level."""
    return {
        "depth": task.depth if task else 0,
        "most": settings.of(state, "max_replan_depth"),
        "attempts": task.attempts if task else 0,
        "most_attempts": settings.of(state, "max_step_attempts"),
    }


def _reasons(state: LoopState, task: Task | None) -> list[str]:
    """The live decisions, those about the task's files first, and anti-patterns about these."""
    lessons = state.decision_log.anti_patterns
    if task is not None:
        lessons = [row for row in decisions.touching(state, task.files) if decisions.is_lesson(row)]
    rows = [*decisions.in_view(state, task.files if task else ()), *lessons]
    return [decisions.line(row, LONGEST_REASON) for row in rows]


_WIDE = (planning.LEAST, planning.MOST)
_SIZES = {"expected": (planning.FEW, planning.MANY), "accepted": _WIDE, "subtasks": _WIDE}
_VALUES: dict[str, Callable[[LoopState, Task | None], Any]] = {
    "goal": _goal,
    "success": _success,
    # (name, text, the command that will be run, what tells that apart, files that must not change)
    "must_nots": lambda state, task: [
        (row.id, row.text, row.command, _apart(state, row.id), row.paths) for row in state.must_nots
    ],
    "item": _about,
    "again": _again,
    "parent": lambda state, task: _about(state, task and state.tasks.get(task.parent or "")),
    "plan_tasks": _plan_tasks,
    "proposed": _proposed,
    "done": _done,
    "history": _history,
    "work": _work,
    "judged": _judged,
    # (this fix, at most)
    "cycles": lambda state, task: (
        (task.fixes if task else 0) + 1,
        settings.of(state, "max_fix_cycles"),
    ),
    "diagnosis": _diagnosis,
    "advice": lambda state, task: panel.advice(state, task.id) if task else None,
    # what the person answered when a recovery asked last
    "said": lambda state, task: state.history.answer,
    "counts": _counts,
    "place": _place,
    "late": lambda state, task: task is not None and task.attempts >= LATE,
    # the review that sent the plan back: score, feedback, issues, missing
    "review": lambda state, task: (
        state.supervision.review if state.supervision.standing == parts.REVISE else None
    ),
    "answers": lambda state, task: [row for row in state.supervision.questions if row["answer"]],
    # the judgement that the goal is not reached by what was planned: more tasks are wanted
    "short": lambda state, task: (
        state.supervision.goal if events.short(state.supervision) else None
    ),
    # scores from which on work is approved, or revised within the attempt; None without scores
    "bands": lambda state, task: policies.of(state).bands(state),
    "reasons": _reasons,
    # tasks of a plan without and with a warning, subtasks of a replan: (least, most) each
    "sizes": lambda state, task: {**_SIZES},
}
