"""What a journal's lines hold: the kind of each field that the fold reads. A line that does not fit
is no event.

The fold and all behind it may trust these kinds, whoever wrote the journal. Fields that nothing
folds are not looked at, and a missing one has its default; an explicit null is only taken where it
means something.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Callable

#: Numbers at most: what fits a double without loss, and what an amount of money, seconds or tokens
#: can be.
_WHOLE, _AMOUNT = 1 << 53, 1e15


def _text(value: object) -> bool:
    return type(value) is str


def _text_or_none(value: object) -> bool:
    return value is None or type(value) is str


def _flag(value: object) -> bool:
    return value is None or type(value) is bool


def _whole(value: object) -> bool:
    return type(value) is int and -_WHOLE < value < _WHOLE


def _count(value: object) -> bool:
    return type(value) is int and 0 <= value < _WHOLE


def _count_or_none(value: object) -> bool:
    return value is None or _count(value)


def _amount(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < _AMOUNT  # type: ignore[operator]


def _amount_or_none(value: object) -> bool:
    return value is None or _amount(value)


def _texts(value: object) -> bool:
    return type(value) is list and all(type(one) is str for one in value)


def _texts_or_none(value: object) -> bool:
    return value is None or _texts(value)


def _list_of(kind: Callable) -> Callable:
    return lambda value: type(value) is list and all(kind(one) for one in value)


def _table_of(kind: Callable) -> Callable:
    return lambda value: (
        value is None or type(value) is dict and all(kind(one) for one in value.values())
    )


def _record(kinds: dict, needed: tuple = ()) -> Callable:
    def fit(value: object) -> bool:
        if type(value) is not dict:
            return False
        for name in needed:
            if name not in value:
                return False
        for name, one in value.items():
            kind = kinds.get(name)
            if kind is not None and not kind(one):
                return False
        return True

    return fit


def _record_or_none(kinds: dict, needed: tuple = ()) -> Callable:
    fit = _record(kinds, needed)
    return lambda value: value is None or fit(value)


def _task_id(value: object) -> bool:
    """`T-` and up to ten digits, as task.number takes them."""
    return (
        type(value) is str
        and value[:2] == "T-"
        and value[2:].isdigit()
        and value.isascii()
        and len(value) <= 12
    )


def _worktree(value: object) -> bool:
    """`worktrees/` and a name, as a task's worktree lies in the loop's folder."""
    return (
        type(value) is str and value[:10] == "worktrees/" and value[10:].replace("-", "").isalnum()
    )


def _stage(value: object) -> bool:
    from .stages import ORDER  # few lines move a stage

    return value in ORDER


def _number(value: object) -> bool:
    return _count(value) and value != 0


def _object(value: object) -> bool:
    """The id of an object of git's: nothing else may reach it as an argument."""
    return type(value) is str and len(value) in (40, 64) and not value.strip("0123456789abcdef")


_FIGURES = _list_of(_amount)

#: What was read in transcripts (session._fold_usage).
_READ = {
    "offsets": _table_of(_count),
    "usage": _table_of(lambda value: _FIGURES(value) and len(value) >= 4),
    "message_ids": _texts_or_none,
}

_TASK_FIELDS = _record(
    {
        "id": _task_id,
        "subject": _text,
        "verify": _text,
        "activeForm": _text,
        "description": _text,
        "blockedBy": _texts,
        "parent": _text_or_none,
        "depth": _count,
        "complexity": _text,
        "criteria": _texts,
        "files": _texts,
        "kind": _text,
        "native": _text_or_none,
    },
    ("id",),
)


def _task(value: object) -> bool:
    """A task; its parent has a lower number, as every parent has: so no task is its own
    ancestor."""
    if not _TASK_FIELDS(value):
        return False
    parent = value.get("parent")  # type: ignore[attr-defined]
    return parent is None or _task_id(parent) and int(parent[2:]) < int(value["id"][2:])  # type: ignore[index]


_CRITERIA = _list_of(
    _record(
        {"id": _text, "text": _text, "type": _text_or_none, "command": _text_or_none},
        ("id", "text"),
    )
)
_FINDINGS = _list_of(
    _record(
        {
            "id": _text,
            "severity": _text,
            "issue": _text,
            "guidance": _text,
            "violates": _texts,
            "resolution": _record_or_none({"how": _text_or_none, "text": _text}),
            "task": _text_or_none,
            "place": _text,
            "reason": _text,
            "breaks": _texts,
            "category": _text,
            "replaced": _text,
            "reverses": _text_or_none,
            "files": _texts,
            "contradicts": _list_of(_count),
        },
        ("id",),
    )
)
_EVIDENCE = {
    "passed": _flag,
    "run": _count,
    "exit": _whole,
    "log": _text,
    "seconds": _amount,
    "head": _text_or_none,
    "files": _table_of(_text),
    "tier": _text_or_none,
}
_JUDGED = {
    "score": _count_or_none,
    "level": _text,
    "feedback": _text,
    "issues": _texts,
    "missing": _texts,
}
_REASONED = _record({"verdict": _text_or_none, "reason": _text})

#: {type of a line: whether its data fit}.
_LINES = {
    "loop_started": _record(
        {
            "task": _text,
            "session_id": _text,
            "client_pid": _count_or_none,
            "unattended": _flag,
            "approval": _text,
            "list": _text,
            "folder": _text,
            "project": _text,
            "token": _text,
            "settings": _record_or_none(
                {
                    "max_idle_stops": _count,
                    "max_step_attempts": _count,
                    "max_fix_cycles": _count,
                    "max_replan_depth": _count,
                    "verify_seconds": _count,
                    "max_plan_revisions": _count,
                    "approval_threshold": _count,
                    "revision_threshold": _count,
                    "plan_review_failure": _text,
                    "blocklist": _texts_or_none,
                    "prices": lambda value: (
                        type(value) is dict
                        and all(_FIGURES(one) and len(one) >= 4 for one in value.values())
                    ),
                }
            ),
        }
    ),
    "adopted": _record({"token": _text}),
    "limits_set": _record(
        {"iterations": _count_or_none, "usd": _amount_or_none, "seconds": _amount_or_none}
    ),
    "recall_answered": _record({"shown": _texts, "confirmed": _texts, "dismissed": _texts}),
    "scored": _record(
        {
            "values": _table_of(_count_or_none),
            "spec": _count_or_none,
            "fit": _count_or_none,
            "shape": _text_or_none,
            "topics": _texts_or_none,
            "kind": _text_or_none,
        }
    ),
    "spec_overruled": _record({"why": _text}),
    "clarified": _record(
        {
            "echo": _text,
            "task": _text,
            "context": _text,
            "done": _text,
            "stakes": _text,
            "reviewers": _text,
            "answers": _table_of(_text),
            "assumptions": _table_of(_text),
            "must_nots": _texts,
            "order": _table_of(lambda value: _text(value) or _texts(value)),
            "round": _count,
        },
        ("echo",),
    ),
    "stage_moved": _record({"to": _stage}),
    "shape_saved": _record({"criteria": _CRITERIA, "aspects": _texts_or_none, "size": _count}),
    "confirmed": _record({"what": _text}),
    "confirmation_dropped": _record({"what": _texts, "ids": _texts}),
    "task_added": _record({"task": _task}, ("task",)),
    "task_changed": _record(
        {
            "id": _text,
            "subject": _text,
            "verify": _text,
            "description": _text,
            "files": _texts,
            "criteria": _texts,
            "complexity": _text,
            "blockedBy": _texts,
        }
    ),
    "task_started": _record({"id": _text, "wave": _count_or_none}),
    "tasks_handed": _record({"ids": _texts}),
    "task_verified": _record(
        {"id": _text, "worktree": _text_or_none, "signature": _text, **_EVIDENCE}
    ),
    "task_completed": _record({"id": _text}),
    "task_failed": _record(
        {
            "id": _text,
            "attempt": _count,
            "approach": _text,
            "result": _text,
            "error": _text,
            "action": _text_or_none,
            "score": _count_or_none,
            "feedback": _text_or_none,
            "level": _text_or_none,
        }
    ),
    "task_blocked": _record({"id": _text, "kind": _text_or_none, "text": _text}),
    "task_split": _record({"id": _text}),
    "task_reopened": _record(
        {"id": _text, "signature": _text, "reason": _text_or_none, "keep_evidence": _flag}
    ),
    "attempts_reset": _record({"ids": _texts}),
    "worktree_made": _record(
        {**dict.fromkeys(("task", "branch", "base", "tree"), _text), "path": _worktree},
        ("task", "path"),
    ),
    "worktree_merged": _record({"task": _text, "path": _worktree, "files": _texts, "tree": _text}),
    "worktree_removed": _record({"task": _text, "path": _worktree}),
    "baseline_recorded": _record(
        {"command": _text, "exit": _whole, "failures": _texts, "log": _text}
    ),
    "task_removed": _record({"id": _text}),
    "wave_opened": _record({"wave": _count_or_none, "worktrees": _flag, "tasks": _texts}),
    "wave_closed": _record(
        {
            "wave": _count_or_none,
            "completed": _texts,
            "failed": _texts,
            "outcomes": _table_of(_record({"result": _text, "signature": _text}, ("result",))),
            **dict.fromkeys(("status", "confidence", "trend", "recommendation"), _text),
        }
    ),
    "checkpoint_made": _record(
        {
            "number": _number,
            "sha": _object,
            "tree": _object,
            "label": _text,
            "tasks": _texts,
            "parent": _count_or_none,
            "good": _flag,
            "left_out": _texts,
            "head": lambda value: value is None or _object(value),
            "wave": _count_or_none,
            "place": _text,
            "line": _count,
            "target": _count_or_none,
            "undo": _flag,
            "plain": _text_or_none,
        },
        ("number", "sha", "tree"),
    ),
    "rolled_back": _record(
        {"number": _number, "saved": _number, "files": _texts, "reopened": _texts, "undo": _flag},
        ("number",),
    ),
    "recovery": _record({"status": _text, "play": _text, "wave": _count_or_none, "counted": _flag}),
    "review_light": _record(
        {
            "wave": _count,
            "score": _count_or_none,
            "issues": _count,
            "blockers": _count,
            "round": _count,
            "findings": _FINDINGS,
            "mode": _text,
            "verdicts": _table_of(_text),
        }
    ),
    "review_thorough": _record(
        {
            "experts": _texts,
            "round": _count,
            "size": _count,
            "score": _count_or_none,
            "findings": _FINDINGS,
        }
    ),
    "review_asked": _record({"experts": _texts}),
    "finding_resolved": _record(
        {"id": _text, "how": _text_or_none, "text": _text, "task": _text_or_none}
    ),
    "decision_recorded": _record(
        {
            "number": _count,
            "title": _text,
            "context": _text,
            "choice": _text,
            "alternatives": _texts,
            "consequences": _text,
            "depends_on": _text,
            "invalidated_if": _text,
            "source": _text,
            "kind": _text,
            "category": _text,
            "findings": _texts,
            "supersedes": _list_of(_count),
            "files": _texts,
        },
        ("number", "title"),
    ),
    "anti_pattern_recorded": _record(
        {
            "number": _count,
            "title": _text,
            "what": _text,
            "why": _text,
            "avoid": _text,
            "source": _text,
            "category": _text,
            "files": _texts,
        },
        ("number", "title"),
    ),
    "decision_checked": _record({"number": _count, "exit": _whole, "log": _text}, ("number",)),
    "decision_invalidated": _record(
        {"number": _count, "exit": _whole, "log": _text, "findings": _FINDINGS}, ("number",)
    ),
    "patterns_gathered": _record({"lines": _texts}),
    "panel_recorded": _record(
        {
            "call": _text,
            "task": _text_or_none,
            "attempt": _count,
            "wave": _count_or_none,
            "dimension": _text,
            "error": _text,
            "experts": _list_of(
                _record(
                    {"name": _text, "question": _text, "diagnosis": _text, "confidence": _amount},
                    ("name",),
                )
            ),
            "recommendations": _list_of(
                _record({"approach": _text, "confidence": _amount}, ("approach",))
            ),
            "consensus": _text,
            "fallback": _text,
            "dissent": _text,
        }
    ),
    "role_asked": _record({"role": _text, "kind": _text, "task": _text_or_none, "number": _count}),
    "reply_unfit": _record({"kind": _text, "task": _text_or_none, "error": _text, "text": _text}),
    "plan_proposed": _record(
        {
            "warning": _text,
            "risks": _texts,
            "assumptions": _texts,
            "questions": _texts,
            "replaces": _texts,
        }
    ),
    "plan_reviewed": _record({"revision": _count, "outcome": _text, "approved": _flag, **_JUDGED}),
    "task_coded": _record(
        {
            "id": _text,
            "kind": _text,
            "status": _text,
            "summary": _text,
            "files": _texts,
            "block_reason": _text,
        }
    ),
    "task_tested": _record(
        {
            "id": _text,
            "passed": _flag,
            "tests_run": _count,
            "tests_passed": _count,
            "tests_failed": _count,
            "failures": _list_of(
                _record({"testName": _text, "error": _text, "file": _text, "severity": _text})
            ),
            "coverage": _amount_or_none,
            "fix_plan": _text,
        }
    ),
    "task_judged": _record({"id": _text, "band": _text, **_JUDGED}),
    "goal_judged": _record({"approved": _flag, **_JUDGED}),
    "task_diagnosed": _record(
        {
            "id": _text,
            "attempt": _count,
            "suggested": _text_or_none,
            "reasoning": _text,
            "blockers": _texts,
        }
    ),
    "criterion_verified": _record({"id": _text, **_EVIDENCE}),
    "gate_result": _record(
        {
            "passed": _flag,
            "kind": _text,
            "points": _table_of(_text),
            "criteria": _table_of(_text),
            "failed": _texts,
            "tasks": _texts,
            "card": _text,
            "confidence": _count,
            "reversal": _text,
            "size": _count,
            "alternative": _text,
            "risk": _text,
        }
    ),
    "iteration_ended": _record(
        {
            "decision": _text,
            "verdict": _text_or_none,
            "reason": _text,
            "fingerprint": _text,
            "transcript_offset": _count,
            **_READ,
        }
    ),
    "question_asked": _record({"text": _text}),
    "question_answered": _record({"text": _text}),
    "paused": _REASONED,
    "owner_changed": _record(
        {"session_id": _text, "client_pid": _count_or_none, "unattended": _flag, **_READ}
    ),
    "stop_failed": _record({"error": _text_or_none, "text": _text}),
    "subagent_stopped": _record({"agent_id": _text, "transcript": _text_or_none}),
    "notice_given": _record({"name": _text}),
    "loop_completed": _REASONED,
    "loop_failed": _REASONED,
    "loop_cancelled": _REASONED,
}

#: The types whose lines are looked at.
FOLDED = frozenset(_LINES)


def fit(kind: str, data: dict) -> bool:
    """Whether the data of a line of this type can be folded; lines of other types always can: they
    change nothing."""
    fits = _LINES.get(kind)
    return fits is None or fits(data)
