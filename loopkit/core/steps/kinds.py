"""The kinds of steps: who does one, which reply answers it, which prompt an agent works from.

A step is what a loop waits for. Its kind is a row of KINDS, a closed table.
"""

from __future__ import annotations

import re
from collections import namedtuple

from ..journal import stage
from ..plan import events

#: kind: a key of KINDS · subject: a task's id, "plan", "goal", the id of a criterion, decision or
#: finding, the number of a wave, what a person confirms, where a rollback goes; None where the kind
#: says all · agent: the file of the subagent that does it, "" where no agent does.
Step = namedtuple("Step", "kind subject agent", defaults=(None, ""))

#: Who does a step: loopkit itself, a subagent, the session in a form, the person.
PROGRAM, AGENT, FORM, PERSON = "program", "agent", "form", "person"

#: who: one of these four · reply: the name of the schema that answers it, "" where none does ·
#: agent: the subagent's file, without `.md` · prompt: its template below `templates/prompts/` ·
#: asked: what `role_asked` calls it · command: the line that does it or asks for it, "" where that
#: needs the state (core/steps/due.py).
Kind = namedtuple("Kind", "who reply agent prompt asked command", defaults=("", "", "", "", ""))

RESUME, ANSWER, CONFIRM = "resume", "answer", "confirm"
CLARIFY, SCORE, SHAPE, TASKS = "clarify", "score", "shape", "tasks"
PLAN, PLAN_REVIEW, PLAN_VERDICT = "plan", "plan_review", "plan_verdict"
IMPLEMENTATION, SCAFFOLD, FIX, TEST = "implementation", "scaffold", "fix", "test"
VERDICT, GOAL_VERDICT, DIAGNOSIS, REPLAN = "verdict", "goal_verdict", "diagnosis", "replan"
OPEN_WAVE, CLOSE_WAVE, MERGE, CHECK = "open_wave", "close_wave", "merge", "check"
WAVE_REVIEW, BATCH_REVIEW, THOROUGH_REVIEW = "wave_review", "batch_review", "thorough_review"
PANEL, SPLIT, SET_CHECK, UNBLOCK = "panel", "split", "set_check", "unblock"
RECOVER, ROLLBACK, BELATED = "recover", "rollback", "belated"
RESOLVE, GATE, GATE_AGAIN, COMPLETE, LOOK = "resolve", "gate", "gate_again", "complete", "look"
RED_FIRST, PROOFS = "red_first", "proofs"

#: Dispatches whatever agents have to do, and does what loopkit does by itself between waves.
WAVE_NEXT = "loopkit wave next"
_SCORE = f"loopkit score {' '.join(f'--{name} <0-2>' for name in stage.DIMENSIONS)} "
_SCORE += f"--kind <{'|'.join(stage.KINDS)}> --topics <a,b>"


def _agent(asked: str, agent: str, prompt: str, reply: str = "") -> Kind:
    """A kind that `wave next` dispatches and `loopkit reply` answers."""
    return Kind(AGENT, reply or asked, agent, prompt, asked, WAVE_NEXT)


_PLAN_REVIEWER = ("plan-review", "plan-review/review.md")
KINDS: dict[str, Kind] = {
    # the person's
    RESUME: Kind(PERSON),
    ANSWER: Kind(PERSON, command='loopkit answer "<what the person said>"'),
    CONFIRM: Kind(PERSON, command="loopkit confirm {subject}"),
    ROLLBACK: Kind(PERSON, command="loopkit rollback {subject}"),
    UNBLOCK: Kind(PERSON, command="loopkit task unblock {subject}"),
    # request and plan
    CLARIFY: Kind(FORM, "clarification", command="loopkit clarify"),
    SCORE: Kind(FORM, "request", command=_SCORE),
    SHAPE: Kind(FORM, "request", command="loopkit shape --accept -"),
    TASKS: Kind(FORM, "request", command="loopkit task add --file -"),
    PLAN: _agent(events.PLAN, "planner", "planner/plan.md"),
    PLAN_VERDICT: _agent(events.VERIFICATION, *_PLAN_REVIEWER, reply="plan_review"),
    PLAN_REVIEW: Kind(
        *(AGENT, "plan_review", *_PLAN_REVIEWER, events.VERIFICATION), "loopkit review --plan"
    ),
    RED_FIRST: Kind(PROGRAM),
    PROOFS: Kind(FORM, "proofs", command="loopkit next"),
    # tasks
    IMPLEMENTATION: _agent(events.IMPLEMENTATION, "coder", "coder/implement.md"),
    SCAFFOLD: _agent(events.IMPLEMENTATION, "scaffold", "scaffold/implement.md"),
    FIX: _agent(events.FIX, "coder", "coder/fix.md"),
    TEST: _agent(events.TEST, "tester", "tester/test.md"),
    VERDICT: _agent(events.VERIFICATION, "supervisor", "supervisor/verify.md"),
    DIAGNOSIS: _agent(events.DIAGNOSIS, "supervisor", "supervisor/diagnose.md"),
    REPLAN: _agent(events.REPLAN, "planner", "planner/replan.md"),
    GOAL_VERDICT: _agent(events.VERIFICATION, "supervisor", "supervisor/verify.md"),
    SPLIT: Kind(FORM, "tasks", command="loopkit task split {subject} --file -"),
    SET_CHECK: Kind(FORM, command='loopkit task set {subject} --verify "<command>"'),
    PANEL: Kind(FORM, "panel", command="loopkit panel {subject}"),
    # waves
    OPEN_WAVE: Kind(PROGRAM, command=WAVE_NEXT),
    CLOSE_WAVE: Kind(PROGRAM, command="loopkit wave close"),
    MERGE: Kind(PROGRAM, command="loopkit wave merge {subject}"),
    CHECK: Kind(PROGRAM),
    RECOVER: Kind(PROGRAM, command=WAVE_NEXT),
    BELATED: Kind(PROGRAM, command=WAVE_NEXT),
    # reviews and the end
    WAVE_REVIEW: Kind(
        *(AGENT, "wave_review", "review", "", "wave_review"), "loopkit review --wave {subject}"
    ),
    BATCH_REVIEW: Kind(AGENT, "review", "review", asked=events.REVIEWING),
    THOROUGH_REVIEW: Kind(
        *(AGENT, "review", "review", "", "thorough_review"), "loopkit review --thorough"
    ),
    RESOLVE: Kind(FORM, "resolution"),
    GATE: Kind(FORM, "gate", command="loopkit gate"),
    GATE_AGAIN: Kind(FORM, "gate", command="loopkit gate --file -"),
    COMPLETE: Kind(PROGRAM, command="loopkit complete"),
    LOOK: Kind(PROGRAM, command="loopkit status"),
}


def step(kind: str, subject: str | int | None = None) -> Step:
    """A step of this kind, with the agent that does it."""
    return Step(kind, subject, KINDS[kind].agent)


def key(one: Step) -> str:
    """The name under which the journal counts what is asked of an agent: `test T-001`, `plan`."""
    return events.key(KINDS[one.kind].asked or one.kind, one.subject)


def name(key: str, number: int) -> str:
    """The name of a dispatch: `test T-001`, 2 → `test-T-001-2`."""
    return f"{re.sub('[^A-Za-z0-9._-]', '-', key)}-{number}"
