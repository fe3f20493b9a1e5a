"""loopkit verify: evidence."""

from __future__ import annotations

import os

import click

from ..core.evidence import tiers
from ..core.journal import settings, supervised, worktrees
from ..core.journal import task as tasks
from ..core.journal.errors import Refused, UsageFault
from ..core.journal.state import LoopState
from ..core.memory import decisions
from ..core.plan import approval, outline, work
from ..core.review import gate
from ..core.steps import supervision
from ..engine import verify as runner
from ..store import place
from ..store.loop import Loop
from . import app, worktree
from .gate import next_check


@app.command(
    "verify",
    "loopkit verify T-003 -- pytest tests/test_store.py -q",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("target")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, required=True)
def command(call: app.App, target: str, words: tuple) -> int:
    """Run the stored check of a task (T-003), of a criterion (C1, M2) or of a decision (D1: exit 0
    says that it no longer holds) and keep its output as evidence.

    The command stands here so that whoever approves commands sees it; another than the stored one
    is refused.
    """
    loop = call.own_loop()
    if target[:2].upper() == "T-" or outline.is_number(target):
        return _task(call, loop, target, list(words))
    if target[:1].upper() in "CM" and target[1:].isdigit():
        return _criterion(call, loop, target.upper(), list(words))
    if target[:1].upper() == "D" and target[1:].isdigit() and target.isascii():
        return _decision(call, loop, target.upper(), list(words))
    raise UsageFault(
        f"neither a task nor a criterion: {target[:40]!r}", "loopkit verify T-003 -- <its command>"
    )


def _run(
    call: app.App, loop: Loop, name: str, line: str, files: list, tree: str | None = None
) -> dict:
    environment = {
        key: value
        for key, value in call.environment.items()
        if not key.startswith("LOOPKIT_REPAIRED")
    }
    seconds = settings.of(loop.state, "verify_seconds")
    # a check may be `loopkit baseline --check -- …`, also where it is this checkout's bin/loopkit
    # that runs
    own = os.path.join(place.plugin_root(), "bin")
    environment["PATH"] = os.pathsep.join([environment.get("PATH") or os.defpath, own])
    base = tree or call.project
    work = call.work_folder(loop.state, base)
    return {
        **runner.run(base, work, loop.folder, name, line, files, seconds, environment),
        "folder": work,
    }


def _shown(call: app.App, loop: Loop, outcome: dict) -> str:
    folder = outcome["folder"]
    where = (
        ""
        if folder in (call.folder, call.project)
        else f" (run in {os.path.relpath(folder, call.folder)})"
    )
    log = os.path.relpath(os.path.join(loop.folder, outcome["log"]), os.path.dirname(loop.root))
    note = f" ({outcome['note']})" if outcome["note"] else ""
    return f"exit {outcome['exit']} in {outcome['seconds']:.1f} s{note}{where}, evidence {log}"


def _task(call: app.App, loop: Loop, target: str, words: list) -> int:
    task = work.check_verify(loop.state, target, words)
    row = worktrees.apart(loop.state, task.id)
    tree = worktree.place_of(call, loop, row) if row else None
    if tree and not os.path.isdir(tree):
        raise Refused(
            f"the worktree of {task.id} is gone: {tree}",
            f"give the attempt up: loopkit task fail {task.id}",
        )
    outcome = _run(call, loop, task.id, task.verify, list(task.files), tree)
    if row:
        outcome["worktree"] = row.path

    def decide(state: LoopState) -> list:
        again = work.check_verify(
            state, target, words
        )  # the state may have moved while the check ran
        now = worktrees.apart(state, again.id)
        if (now.path if now else None) != (row.path if row else None):
            raise Refused(
                f"{again.id} was handed out anew while its check ran", "next: loopkit wave next"
            )
        return work.verified(state, again, outcome)

    changes = call.change(loop, decide)
    kinds = [change[0] for change in changes]
    tier = changes[kinds.index("task_verified")][1]["tier"]
    after = loop.state.tasks[task.id]
    shown = _shown(call, loop, outcome)
    if loop.state.approval == approval.SUPERVISOR and after.status == tasks.IN_PROGRESS:
        return _judged_later(call, loop, after, outcome)
    if outcome["passed"]:
        again = "completed" if "task_completed" in kinds else "verified again"
        if row:
            again = "has passed in its worktree, nothing is merged yet"
        elif after.status == tasks.IN_PROGRESS:
            again = "has passed, its judgement is still to come"
        said = f"{task.id} {again}: {shown}"
        parents = [
            change[1]["id"]
            for change in changes
            if change[0] == "task_completed" and change[1]["id"] != task.id
        ]
        said += f"\n{', '.join(parents)} completed with its last subtask" if parents else ""
        said += _slow(tier, outcome)
        _report(call, loop, said, {"task": task.id, **_row(outcome)})
        return 0
    said = f"{task.id} not passed: {shown}{_end(outcome['output'])}"
    said += _wider(call, loop, tiers.due(after.failing), task.verify)
    if "task_failed" in kinds:
        data = changes[kinds.index("task_failed")][1]
        said += f"\n{task.id} failed, attempt {after.attempts}: {data['action']}"
        _report(call, loop, said, {"task": task.id, **_row(outcome), "action": data["action"]})
    elif "task_reopened" in kinds:
        call.answer(loop, said + f"\n{task.id} is open again", {"task": task.id, **_row(outcome)})
    else:
        left = settings.of(loop.state, "max_fix_cycles") - after.fix_cycles + 1
        said += f"\nfix it and verify again ({left} more before the attempt counts as failed)"
        call.answer(
            loop,
            said,
            {"task": task.id, **_row(outcome)},
            [f"loopkit verify {task.id} -- {task.verify}"],
        )
    return 1


def _judged_later(call: app.App, loop: Loop, task: tasks.Task, outcome: dict) -> int:
    """Under a supervisor a check is what the tester's reply rests on, no more: nothing follows from
    it by itself."""
    said = (
        f"{task.id} {'passed' if outcome['passed'] else 'not passed'}: "
        f"{_shown(call, loop, outcome)}"
    )
    said += (
        ""
        if outcome["passed"]
        else _end(outcome["output"]) + _wider(call, loop, tiers.due(task.failing), task.verify)
    )
    if supervision.step(supervised.TEST, task.id) in supervision.outstanding(loop.state):
        said += "\nthe tester's reply can be handed in now"
    call.answer(loop, said, {"task": task.id, **_row(outcome)}, [])
    return 0 if outcome["passed"] else 1


def _report(call: app.App, loop: Loop, said: str, row: dict) -> None:
    """The step after a task's last check: none while agents of its wave are still at work; theirs
    goes on."""
    wave = loop.state.wave
    left = approval.at_work(loop.state)
    if wave and left:
        said += f"\nwave {wave.number}: {', '.join(left)} still to report"
    steps = [] if left else next_check(call, loop) or None
    place = loop.state.worktrees.of(row["task"])
    if (
        place is not None and not place.merged
    ):  # an agent reports, and whoever started it brings the results together
        steps = []
    elif worktrees.used(loop.state):
        steps = worktree.following(loop.state)
    call.answer(loop, said, row, steps)


def _criterion(call: app.App, loop: Loop, target: str, words: list) -> int:
    line = gate.check_criterion(loop.state, target, words)
    files = sorted({path for task in loop.state.tasks.values() for path in task.files})
    outcome = _run(call, loop, target, line, files)
    call.change(loop, gate.criterion_verified, target, outcome)
    if outcome["passed"]:
        said = f"{target} holds: {_shown(call, loop, outcome)}{_slow(tiers.THOROUGH, outcome)}"
        call.answer(
            loop, said, {"criterion": target, **_row(outcome)}, next_check(call, loop) or None
        )
        return 0
    must_not = loop.state.criteria[target].must_not
    said = (
        f"{target} {'has come true, the loop is paused' if must_not else 'does not hold'}: "
        f"{_shown(call, loop, outcome)}"
    )
    call.answer(loop, said + _end(outcome["output"]), {"criterion": target, **_row(outcome)})
    return 1


def _decision(call: app.App, loop: Loop, target: str, words: list) -> int:
    number, line = decisions.check_due(loop.state, target, words)
    files = list((decisions.find(loop.state, number) or {}).get("files", ()))
    outcome = _run(call, loop, f"D{number}", line, files)

    def decide(state: LoopState) -> list:
        decisions.check_due(state, target, words)  # it may have been superseded while the check ran
        return decisions.checked(state, number, outcome)

    changes = call.change(loop, decide)
    row = {"decision": number, **_row(outcome)}
    if not outcome["passed"]:
        call.answer(loop, f"decision {number:03d} still holds: {_shown(call, loop, outcome)}", row)
        return 0
    found = [
        one["id"]
        for kind, data in changes
        if kind == "decision_invalidated"
        for one in data["findings"]
    ]
    said = f"decision {number:03d} no longer holds: {_shown(call, loop, outcome)}"
    if found:
        said += (
            f"\n{found[0]} BLOCKER: supersede it (loopkit decide --file -, with supersedes: "
            f"{number}), or a task mends it:"
        )
        said += f'\n  loopkit review resolve {found[0]} --task --verify "<command>"'
    call.answer(loop, said, row)
    return 1


def _slow(tier: str, outcome: dict) -> str:
    remark = tiers.remark(tier, outcome["seconds"])
    return f"\n{remark}" if remark else ""


def _wider(call: app.App, loop: Loop, tier: str, but: str) -> str:
    """Where to look next, in words: only the stored command completes the task."""
    from ..core.evidence import discovery
    from ..store import project

    own = discovery.wider(project.checks(call.work_folder(loop.state)), tier, but)
    what = (
        "the project's own checks " + ", ".join(f"`{one}`" for one in own)
        if own
        else "what stands around it"
    )
    return f"\nlook wider before you fix again, in the {tier} tier: {what}"


def _row(outcome: dict) -> dict:
    return {key: outcome[key] for key in ("passed", "exit", "log", "seconds")}


def _end(output: str) -> str:
    """The last lines of what the check printed, without the log's own frame."""
    lines = [line for line in output.rstrip().splitlines() if line.strip()][:-1]
    if lines and lines[0].startswith("$ "):
        del lines[0]
    return "".join("\n  " + line[:200] for line in lines[-12:])
