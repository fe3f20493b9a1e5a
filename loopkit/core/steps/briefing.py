"""What a role is told for a step: facts by scope and none beyond. Texts are as somebody wrote them,
uncut; whoever renders them quotes and cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..journal import parts, prose, settings
from ..journal import task as tasks
from ..memory import decisions
from ..plan import roles
from ..request import clarify
from ..review import panel
from . import kinds, policies
from .policies import planning

if TYPE_CHECKING:
    from ..journal.events import Change
    from ..journal.state import LoopState
    from ..journal.task import Evidence, Task
    from .kinds import Step

SUBTASK, TASK, PLAN, GOAL = "subtask", "task", "plan", "goal"

#: What everybody is told.
_COMMON = "goal success must_nots reasons"
#: The further facts of each brief; of a verification by what is judged (rule: Scope of a
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
#: Characters of the line of a decision.
LONGEST_REASON = 400
#: Characters of a subject in an agent line.
LONGEST_SUBJECT = 100


def scope(state: LoopState, step: Step) -> str:
    """What a step is about: subtask, task, plan or goal."""
    if step.subject in (roles.OF_GOAL, roles.OF_PLAN):
        return GOAL if step.subject == roles.OF_GOAL else PLAN
    if step.subject is None:
        return PLAN
    return SUBTASK if state.tasks[step.subject].parent in state.tasks else TASK


def values(state: LoopState, step: Step, **extra: Any) -> dict:
    """All that a brief of this step may hold, by name; what is out of its scope has no name here.

    Always there: loop, approval, role, kind, scope, target (task id, "plan", "goal" or None),
    invalid (what was wrong with the last reply, or ""), check (the line that verifies the task, or
    ""), and what `extra` brings.
    """
    about, kind = scope(state, step), asked_as(step)
    name = f"{kind} {about}" if kind == roles.VERIFICATION else kind
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
        row[fact] = _GIVEN[fact](state, task)
    return {**row, **extra}


def common(state: LoopState) -> dict:
    """What everybody is told, for who works on no task."""
    return {fact: _GIVEN[fact](state, None) for fact in ("goal", "success", "must_nots")}


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
    """The line that hands the answer to a step over."""
    return f"loopkit reply {kinds.key(step)} --file -"


def agent(state: LoopState, step: Step, brief: str) -> str:
    """The line that hands a step to a subagent. brief: the path of what it reads."""
    task = state.tasks.get(step.subject or "")
    what = _DOING[step.kind]
    if task is not None:
        what = f"{what} {task.id} ({prose.subject(task.subject, LONGEST_SUBJECT)})"
    return f"agent loop:{step.agent}: {what}. Read `{brief}` first."


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
    """(name, text, the command that will be run, whether the task serves it) of each criterion."""
    own = task.criteria if task else ()
    return [
        (one.id, one.text, one.command, one.id in own)
        for one in state.criteria.values()
        if not one.must_not
    ]


def _must_nots(state: LoopState, task: Task | None) -> list:
    """(name, text, the command that will be run)."""
    return [(one.id, one.text, one.command) for one in state.must_nots]


def _about(state: LoopState, task: Task) -> dict:
    return {
        "id": task.id,
        "subject": task.subject,
        "description": task.description,
        "criteria": [
            (one, state.criteria[one].text) for one in task.criteria if one in state.criteria
        ],
        "files": list(task.files),
        "verify": task.verify,
        "complexity": task.complexity,
    }


def _item(state: LoopState, task: Task | None) -> dict | None:
    return None if task is None else _about(state, task)


def _parent(state: LoopState, task: Task | None) -> dict | None:
    parent = state.tasks.get((task.parent if task else None) or "")
    return None if parent is None else _about(state, parent)


def _plan_tasks(state: LoopState, task: Task | None) -> list[dict]:
    return [
        {
            "id": one.id,
            "subject": one.subject,
            "description": one.description,
            "files": list(one.files),
            "complexity": one.complexity,
            "criteria": list(one.criteria),
            "verify": one.verify,
            "after": list(one.blocked_by),
            "status": one.status,
        }
        for one in state.tasks.values()
        if one.kind == "work"
    ]


def _proposed(state: LoopState, task: Task | None) -> dict:
    """What the planner said beside the tasks."""
    plan = state.supervision.plan or {}
    return {name: list(plan.get(name) or ()) for name in ("risks", "assumptions")} | {
        "warning": plan.get("warning", "")
    }


def _done(state: LoopState, task: Task | None) -> list[dict]:
    """Completed tasks with their evidence; one that was split stands for its subtasks."""
    rows = []
    for one in state.tasks.values():
        if one.status != tasks.COMPLETED:
            continue
        seen = one.evidence
        rows.append(
            {
                "id": one.id,
                "subject": one.subject,
                "verify": one.verify,
                "evidence": None if seen is None else _seen(seen),
                "score": (one.judged or {}).get("score"),
                "summary": (one.coded or {}).get("summary", ""),
                "files": list((one.coded or {}).get("files") or one.files),
            }
        )
    return rows


def _history(state: LoopState, task: Task | None) -> list[dict]:
    """Every failed attempt: attempt, approach, result, error, at; score and feedback where it was
    judged."""
    rows = task.history if task else ()
    return [{"score": None, "feedback": "", **one} for one in rows]


def _again(state: LoopState, task: Task | None) -> dict | None:
    """Why a task that was done is open again (why), and what failed since (signature, log); None
    for one that was never done."""
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
        "tested": None if tested is None else {**tested, "fresh": tested["line"] > since},
        "evidence": None if seen is None else {**_seen(seen), "fresh": seen.line > since},
    }


def _seen(evidence: Evidence) -> dict:
    return {"passed": evidence.passed, "exit": evidence.exit, "log": evidence.log}


def _judged(state: LoopState, task: Task | None) -> dict | None:
    """The judgement that asks for a revision within the present attempt."""
    judged = task.judged if task else None
    return judged if judged and judged.get("band") == "revise" else None


def _cycles(state: LoopState, task: Task | None) -> tuple[int, int]:
    """(this fix, at most)."""
    return (task.fixes if task else 0) + 1, settings.of(state, "max_fix_cycles")


def _diagnosis(state: LoopState, task: Task | None) -> dict | None:
    found = task.diagnosis if task else None
    return found if found and (found.get("reasoning") or found.get("blockers")) else None


def _advice(state: LoopState, task: Task | None) -> dict | None:
    return panel.advice(state, task.id) if task else None


def _said(state: LoopState, task: Task | None) -> str:
    """What the person answered when a recovery asked last."""
    return state.history.answer


def _counts(state: LoopState, task: Task | None) -> dict:
    """completed, failed, pending, total."""
    done, failed = state.counts[tasks.COMPLETED], state.counts[tasks.FAILED]
    return {
        "completed": done,
        "failed": failed,
        "pending": state.counts[tasks.PENDING],
        "total": len(state.tasks),
    }


def _place(state: LoopState, task: Task | None) -> dict:
    """depth: number of the task's own ancestors · most: where no replan follows · attempts: failed
    ones so far, and most_attempts of them on one level."""
    return {
        "depth": task.depth if task else 0,
        "most": settings.of(state, "max_replan_depth"),
        "attempts": task.attempts if task else 0,
        "most_attempts": settings.of(state, "max_step_attempts"),
    }


def _late(state: LoopState, task: Task | None) -> bool:
    return task is not None and task.attempts >= LATE


def _review(state: LoopState, task: Task | None) -> dict | None:
    """The review that sent the plan back: score, feedback, issues, missing."""
    return state.supervision.review if state.supervision.standing == parts.REVISE else None


def _answers(state: LoopState, task: Task | None) -> list[dict]:
    return [one for one in state.supervision.questions if one["answer"] is not None]


def _short(state: LoopState, task: Task | None) -> dict | None:
    """The judgement that the goal is not reached by what was planned: more tasks are wanted."""
    return state.supervision.goal if roles.short(state.supervision) else None


def _bands(state: LoopState, task: Task | None) -> dict | None:
    """Scores from which on work is approved, or revised within the attempt; None without scores."""
    return policies.of(state).bands(state)


def _reasons(state: LoopState, task: Task | None) -> list[str]:
    """The live decisions, those that touch the files of the task first, and the anti-patterns that
    do, a line each; all of them for a plan."""
    lessons = state.decision_log.anti_patterns
    if task is not None:
        lessons = [one for one in decisions.touching(state, task.files) if decisions.is_lesson(one)]
    rows = [*decisions.in_view(state, task.files if task else ()), *lessons]
    return [decisions.line(one, LONGEST_REASON) for one in rows]


def _sizes(state: LoopState, task: Task | None) -> dict:
    """How many tasks a plan has without and with a warning, and how many subtasks a replan: (least,
    most) each."""
    wide = (planning.LEAST, planning.MOST)
    return {"expected": (planning.FEW, planning.MANY), "accepted": wide, "subtasks": wide}


_GIVEN = {
    "goal": _goal,
    "success": _success,
    "must_nots": _must_nots,
    "item": _item,
    "again": _again,
    "parent": _parent,
    "plan_tasks": _plan_tasks,
    "proposed": _proposed,
    "done": _done,
    "history": _history,
    "work": _work,
    "judged": _judged,
    "cycles": _cycles,
    "diagnosis": _diagnosis,
    "advice": _advice,
    "said": _said,
    "counts": _counts,
    "place": _place,
    "late": _late,
    "review": _review,
    "answers": _answers,
    "short": _short,
    "bands": _bands,
    "reasons": _reasons,
    "sizes": _sizes,
}
