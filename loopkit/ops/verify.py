"""Evidence: the check of a task, of a criterion or of a decision is run, what it printed is kept.

What only another branch than a task's passing check needs is imported there: agents wait for it.
"""

import os
import re

from ..core.evidence import command
from ..core.journal import settings, stage, verdict
from ..core.journal import task as tasks
from ..core.journal.errors import NotYet, Refused, UsageFault
from ..core.journal.events import Change
from ..core.journal.state import LoopState
from ..core.journal.task import Evidence
from ..core.plan import outline, work
from ..core.steps import attempts, policies
from ..engine import process
from ..store import digest, place
from ..store.loop import Loop
from .workspace import OutOfTime, Result, Workspace, data_of


def verify(workspace: Workspace, target: str, words: list[str]) -> Result:
    """Run the stored check of a task (T-003), of a criterion (C1, M2) or of a decision (D1: exit 0
    says that it no longer holds) and keep its output as evidence.

    A check that the person allowed (loopkit allow) runs by its name alone. Else it stands here, so
    that whoever approves commands sees it; another than the stored one is refused.
    """
    loop, workspace.checking = workspace.own_loop(), True
    name = target.upper()
    words = words or _allowed(workspace, loop, name)
    if name.startswith("T-") or outline.is_number(target):
        return _task(workspace, loop, target, words)
    if name[:1] in ("C", "M") and name[1:].isdigit():
        return _criterion(workspace, loop, name, words)
    if name[:1] == "D" and name[1:].isdigit() and name.isascii():
        return _decision(workspace, loop, name, words)
    what = f"neither a task nor a criterion: {target[:40]!r}"
    raise UsageFault(what, "loopkit verify T-003 -- <its command>")


def _allowed(workspace: Workspace, loop: Loop, name: str) -> list[str]:
    """The words of the stored check. Raises Refused where it may not run."""
    from ..core.evidence import command
    from . import consent as leaves

    name = outline.named(loop.state, name) or name
    line = loop.state.check_of(name)
    if line and not leaves.allowed(workspace, loop, line):
        way_out = f"the person types /loop:allow; or spell it out: loopkit verify {name} -- {line}"
        raise Refused(f"nobody has allowed the check of {name}", way_out, code="unconfirmed")
    return command.split(line) if line else []


def run(
    workspace: Workspace,
    loop: Loop,
    name: str,
    line: str,
    files: list,
    tree: str | None = None,
    earlier: Evidence | None = None,
    again: bool = False,
) -> dict:
    """Run a check in the project or another tree; its outcome, with how that is told as `shown`.

    earlier: what came of it before; a check that writes its own files each time is taken at its
    word, as a doubt · again: run it once more where it fails, since it may be flaky.
    """
    environment = environment_of(workspace)
    base = tree or workspace.project
    folder = workspace.work_folder(loop.state, base)
    seconds = settings.of(loop.state, "verify_seconds")
    limit = workspace.time.cuts(seconds)
    if limit <= 0:
        raise OutOfTime
    given = (base, folder, loop.folder, name, line, files, limit, environment)
    outcome = process.verify(*given)
    if outcome["exit"] == command.OUT_OF_TIME and limit < seconds:
        raise OutOfTime
    if again and _is_worth_another(outcome) and outcome["seconds"] < workspace.time.left:
        first, outcome = outcome, process.verify(*given)
        if outcome["passed"] and outcome["files"] == first["files"]:
            why = f"flaky: failed ({first['log']}), then passed with nothing changed"
            outcome.update(told=command.FLAKY, note=why)
    _seen(outcome, earlier)
    outcome["folder"] = os.path.relpath(folder, base) if folder != base else ""
    elsewhere = f" (run in {outcome['folder']})" if outcome["folder"] else ""
    if not elsewhere and folder not in (workspace.folder, workspace.project):
        elsewhere = f" (run in {os.path.relpath(folder, workspace.folder)})"
    return {**outcome, "shown": shown(loop, outcome, elsewhere)}


def _is_worth_another(outcome: dict) -> bool:
    ended = outcome["exit"] not in (0, command.OUT_OF_TIME)
    return not outcome["passed"] and ended and command.is_startable(outcome)


def environment_of(workspace: Workspace) -> dict[str, str]:
    """What a check sees: it may be `loopkit baseline --check -- …`, also of this checkout's
    bin/loopkit."""
    programs = os.path.join(place.plugin_root(), "bin")
    path = os.pathsep.join([workspace.environment.get("PATH") or os.defpath, programs])
    return {**workspace.environment, "PATH": path}


def shown(loop: Loop, outcome: dict, elsewhere: str = "") -> str:
    """How a run is told: its exit code, seconds and log."""
    note = f" ({outcome['note']})" if outcome["note"] else ""
    how = f"exit {outcome['exit']} in {outcome['seconds']:.1f} s{note}{elsewhere}"
    return f"{how}, {evidence(loop, outcome)}"


def _vouch(loop: Loop, name: str, line: str, outcome: dict) -> None:
    """Note outside the project that this was run; without that it is not believed."""
    if outcome.get("digest"):
        digest.vouch_evidence(loop.state.session.token, name, line, outcome)


def _seen(outcome: dict, earlier: Evidence | None) -> None:
    """Say in words what tells a check apart."""
    if outcome["told"] == command.CHANGES:
        names = work.named_paths(outcome["changed"])
        outcome["note"] = f"it changes what it vouches for: {names}"
        if earlier is not None and earlier.told == command.CHANGES:
            outcome["files"] = outcome["after"]
    elif outcome["told"] == command.ASKS:
        why = "it asks and nobody answers: a check has no terminal"
        outcome["note"] = "; ".join(filter(None, [outcome["note"], why]))
    elif outcome["told"] == command.NOT_STARTABLE and not outcome["note"]:
        outcome["note"] = "not started: a program is missing"


def evidence(loop: Loop, outcome: dict) -> str:
    """`evidence <path of the log>`, the path as seen from the project."""
    log = os.path.join(loop.folder, outcome["log"])
    return "evidence " + os.path.relpath(log, os.path.dirname(loop.root))


def _row(outcome: dict, **subject: object) -> dict:
    return {**subject, **{key: outcome[key] for key in ("passed", "exit", "log", "seconds")}}


#: How the lines begin that are for whoever runs the check.
LOOK_WIDER = "look wider before you fix again"


#: And those that are for whoever leads the loop: an agent can change neither check nor wave.
_LEADS = r"slow: |wave \d+: .* still to report"


def without_hints(text: str, hints: str = f"{LOOK_WIDER}|{_LEADS}") -> str:
    """What came of a check, without the lines for whoever runs it by hand."""
    return "\n".join(row for row in text.split("\n") if not re.match(hints, row))


# -- a task


def _task(workspace: Workspace, loop: Loop, target: str, words: list[str]) -> Result:
    """An agent that was started with a prompt answers next, so nothing else comes next."""
    task = attempts.check_verify(loop.state, target, words)
    by_agent = any(key.endswith(f" {task.id}") for key in loop.state.supervision.out)
    result = _looked(workspace, loop, task, target, words)
    if not by_agent:
        return result
    return result._replace(text=without_hints(result.text, _LEADS), steps=[])


def _looked(
    workspace: Workspace, loop: Loop, task: tasks.Task, target: str, words: list[str]
) -> Result:
    row, tree = work.isolated(loop.state, task.id), None
    if row:
        from . import worktree

        tree = worktree.place_of(workspace, loop, row)
    again = task.coded is not None or task.status == tasks.COMPLETED
    files, earlier = list(task.files), task.evidence
    outcome = run(workspace, loop, task.id, task.verify, files, tree, earlier, again)
    _vouch(loop, task.id, task.verify, outcome)
    if row:
        outcome["worktree"] = row.path

    def decide(state: LoopState) -> list[Change]:
        again = attempts.check_verify(state, target, words)  # the state may have moved meanwhile
        now = work.isolated(state, again.id)
        if (now.path if now else None) != (row.path if row else None):
            raise NotYet(f"{again.id} was dispatched anew while its check ran")
        return attempts.verified(state, again, outcome)

    changes = workspace.change(loop, decide)
    after = loop.state.tasks[task.id]
    if after.status == tasks.IN_PROGRESS and not policies.of(loop.state).check_counts:
        return _judged_later(workspace, loop, after, outcome)
    if outcome["passed"]:
        return _passed(workspace, loop, after, changes, outcome)
    return _not_passed(workspace, loop, after, changes, outcome)


def _judged_later(workspace: Workspace, loop: Loop, task: tasks.Task, outcome: dict) -> Result:
    """Under a supervisor a check is what the tester's reply rests on, no more."""
    from ..core.steps import due, kinds

    text = f"{task.id} passed: {outcome['shown']}"
    if not outcome["passed"]:
        text = _failure(workspace, loop, task, outcome)
    if kinds.step(kinds.TEST, task.id) in due.outstanding(loop.state):
        text += "\nthe tester's reply can be submitted now"
    return Result(loop, text, _row(outcome, task=task.id), [], int(not outcome["passed"]))


def _passed(
    workspace: Workspace, loop: Loop, task: tasks.Task, changes: list[Change], outcome: dict
) -> Result:
    completed = [data["id"] for kind, data in changes if kind == "task_completed"]
    how = "completed" if completed else "verified again"
    if "worktree" in outcome:
        how = "has passed in its worktree, nothing is merged yet"
    elif task.status == tasks.IN_PROGRESS:
        how = "has passed, its judgement is still to come"
    text = f"{task.id} {how}: {outcome['shown']}"
    parents = [name for name in completed if name != task.id]
    text += f"\n{', '.join(parents)} completed with its last subtask" if parents else ""
    text += _slow((data_of(changes, "task_verified") or {})["tier"], outcome)
    return _reported(workspace, loop, text, _row(outcome, task=task.id))


def _not_passed(
    workspace: Workspace, loop: Loop, task: tasks.Task, changes: list[Change], outcome: dict
) -> Result:
    if not command.is_startable(outcome):
        return _not_started(loop, task.id, task.verify, outcome, _row(outcome, task=task.id))
    text, row = _failure(workspace, loop, task, outcome), _row(outcome, task=task.id)
    failed = data_of(changes, "task_failed")
    if failed is not None:
        text += f"\n{task.id} failed, attempt {task.attempts}: {failed['action']}"
        row["action"] = failed["action"]
        return _reported(workspace, loop, text, row)._replace(code=1)
    if data_of(changes, "task_reopened") is not None:
        return Result(loop, f"{text}\n{task.id} is open again", row, code=1)
    left = settings.of(loop.state, "max_fix_cycles") - task.fix_cycles + 1
    text += f"\nfix it and verify again ({left} more before the attempt counts as failed)"
    return Result(loop, text, row, [f"loopkit verify {task.id} -- {task.verify}"], 1)


def _not_started(loop: Loop, name: str, line: str, outcome: dict, row: dict) -> Result:
    """Nothing was checked, so nothing has failed."""
    way_out = f'make it start, or give another: loopkit task set {name} --verify "<command>"'
    if not name.startswith("T-"):
        way_out = "make it start, then: loopkit resume"
    what = f"{name} was not checked, its check cannot start: {outcome['shown']}"
    text = f"{what}{_end(outcome['output'])}\nno attempt is counted; {way_out}"
    state = loop.state
    at_work = name in state.tasks and state.tasks[name].status == tasks.IN_PROGRESS
    return Result(loop, text, row, [f"loopkit verify {name} -- {line}"] if at_work else None, 1)


def _failure(workspace: Workspace, loop: Loop, task: tasks.Task, outcome: dict) -> str:
    """What failed, its last lines, and in words where to look next."""
    from ..core.evidence import discovery
    from ..store import project

    tier = command.due_tier(task.failing)
    checks = project.runnable(workspace.work_folder(loop.state), workspace.environment)
    wider = ", ".join(f"`{check}`" for check in discovery.wider(checks, tier, task.verify))
    what = f"the project's own checks {wider}" if wider else "what stands around it"
    return (
        f"{task.id} not passed: {outcome['shown']}{_end(outcome['output'])}\n{LOOK_WIDER}: {what}"
    )


def _reported(workspace: Workspace, loop: Loop, text: str, row: dict) -> Result:
    """Nothing comes next while agents of the wave are at work; theirs goes on."""
    state = loop.state
    out = policies.of(state).at_work(state)
    left = [one for one in out if state.tasks[one].coded is None]
    if state.wave and left:
        text += f"\nwave {state.wave.number}: {', '.join(left)} still to report"
    steps = [] if left else _next_check(workspace, loop)
    tree = state.worktrees.of(row["task"])
    if (
        tree is not None and not tree.merged
    ):  # whoever started its agent brings the results together
        steps = []
    elif work.in_worktrees(state):
        from . import worktree

        steps = worktree.following(state)
    return Result(loop, text, row, steps)


# -- criteria and decisions


def _criterion(workspace: Workspace, loop: Loop, name: str, words: list[str]) -> Result:
    from ..core.evidence import trials
    from ..core.review import gate
    from . import changes as measured
    from . import proof

    gate.check_criterion(loop.state, name, words)
    noted = measured.at_end(workspace, loop)
    if loop.state.session.status != verdict.RUNNING or loop.state.session.question is not None:
        return Result(loop, "\n".join(noted), {"criterion": name}, code=1)
    line = gate.check_criterion(loop.state, name, words)
    named = {path for task in loop.state.tasks.values() for path in task.files}
    files = sorted(named.union(loop.state.changes.first))
    outcome, tried = proof.run(workspace, loop, name, line, files)
    outcome["files"] = _vouched(workspace, outcome["files"], named)
    if outcome.get("told") == command.CHANGES and not named.intersection(
        outcome.get("changed", ())
    ):
        outcome.update(told="", note="")  # what it writes no task names
    _vouch(loop, name, line, outcome)
    for when, (result, _, ran) in tried.items():
        digest.vouch_trial(loop.state.session.token, name, when, line, result, ran or {})

    def decide(state: LoopState) -> list[Change]:
        gate.check_criterion(state, name, words)  # the state may have moved meanwhile
        seen = gate.criterion_verified(state, name, outcome)
        return seen + trials.tried_apart(state, name, line, tried)

    workspace.change(loop, decide)
    row = _row(outcome, criterion=name)
    if outcome["passed"]:
        said = f" ({outcome['said']})" if outcome.get("said") else proof.told(tried)
        how = "kept" if loop.state.criteria[name].must_not else "shown"
        text = f"{name} {how}: {outcome['shown']}{said}{_slow(command.THOROUGH, outcome)}"
        return Result(loop, text, row, _next_check(workspace, loop))
    if not command.is_startable(outcome):
        return _not_started(loop, name, line, outcome, row)
    how = "not shown"
    if loop.state.criteria[name].must_not:
        waits = ", ".join(gate.half_done(loop.state))
        how = f"fails, seen again after {waits}" if waits else "broken, the loop is paused"
    text = f"{name} {how}: {outcome['shown']}{_end(outcome['output'])}"
    if not workspace.unattended:
        way = f'loopkit proof {name} --why "<why>" -- <command>'
        text += f"\nwhere the proof itself is wrong, the person may correct it: {way}"
    return Result(loop, text, row, code=1)


def _vouched(workspace: Workspace, files: dict[str, str], named: set[str]) -> dict[str, str]:
    """The files that evidence vouches for: not what the check itself writes and no task names."""
    return {
        path: seen
        for path, seen in files.items()
        if path in named or digest.of(workspace.project, path) == seen
    }


def _decision(workspace: Workspace, loop: Loop, name: str, words: list[str]) -> Result:
    from ..core.memory import decisions

    number, line = decisions.check_due(loop.state, name, words)
    files = list((decisions.find(loop.state, number) or {}).get("files", ()))
    outcome = run(workspace, loop, f"D{number}", line, files)

    def decide(state: LoopState) -> list[Change]:
        decisions.check_due(state, name, words)  # it may have been superseded meanwhile
        return decisions.checked(state, number, outcome)

    changes = workspace.change(loop, decide)
    row = _row(outcome, decision=number)
    if not outcome["passed"]:
        return Result(loop, f"decision {number:03d} still holds: {outcome['shown']}", row)
    text = f"decision {number:03d} no longer holds: {outcome['shown']}"
    invalidated = data_of(changes, "decision_invalidated")
    if invalidated and invalidated["findings"]:
        finding = invalidated["findings"][0]["id"]
        text += (
            f"\n{finding} BLOCKER: supersede it (loopkit decide --file -, with supersedes: "
            f"{number}), or a task fixes it:"
            f'\n  loopkit review resolve {finding} --task --verify "<command>"'
        )
    return Result(loop, text, row, code=1)


def _next_check(workspace: Workspace, loop: Loop) -> list[str] | None:
    """In review: what the gate waits for next."""
    if loop.state.session.status != verdict.RUNNING or loop.state.stage != stage.REVIEW:
        return None
    from .gate import next_check

    return next_check(workspace, loop) or None


def _slow(tier: str, outcome: dict) -> str:
    remark = command.remark(tier, outcome["seconds"])
    return f"\n{remark}" if remark else ""


def _end(output: str) -> str:
    """The last lines of what the check printed, without the log's own frame."""
    lines = [line for line in output.rstrip().splitlines() if line.strip()][:-1]
    if lines and lines[0].startswith("$ "):
        del lines[0]
    return "".join("\n  " + line[:200] for line in lines[-12:])
