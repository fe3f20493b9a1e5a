"""Reviews that decide, of the plan and of a batch: who is asked, what was found."""

from .. import replies
from ..core.journal import parts, prose
from ..core.journal.errors import UsageFault
from ..core.journal.state import LoopState
from ..core.memory import decisions
from ..core.plan import events, work
from ..core.review import batch_review
from ..core.steps import context, due, kinds, policies
from ..render import quoted
from ..store.loop import Loop
from . import dispatch, memory, review
from .workspace import Result, Workspace

PLAN_REPLY = "loopkit review --plan --file -"
#: What is asked of the reviewer of a batch.
_ASKED = ("build", "tests", "lint", "verdicts", "findings")


def plan(workspace: Workspace, row: dict | None, why: str | None) -> Result:
    """Ask for the review of the plan, record it (row), or let the plan pass unreviewed (why)."""
    if why is not None and row is not None:
        way = "a review is submitted, or the person lets the plan pass"
        raise UsageFault("both --file and --waive", way)
    loop = workspace.own_loop()
    policies.of(loop.state).check_reviews("loopkit review --plan")
    if why is not None:
        workspace.check_somebody("lets a plan pass", loop)
        workspace.change(loop, batch_review.waived, why)
        text = f"the plan passes as it is: {prose.clean(why, 300)}"
        return Result(loop, text, {"outcome": events.CONTINUE})
    if row is None:
        return _ask_plan(workspace, loop)
    changes = workspace.change(loop, batch_review.planned, row)
    data = changes[0][1]
    names = {events.APPROVED: "APPROVED", parts.REVISE: "NEEDS REVISION"}
    lines = [f"plan review: {names.get(data['outcome'], 'NEEDS REVISION, the person is asked')}"]
    lines += [prose.clean(issue, 200) for issue in data["issues"][:20]]
    lines += [f"missing: {prose.clean(part, 200)}" for part in data["missing"][:20]]
    if data["outcome"] == events.APPROVED and batch_review.claimed(row) != batch_review.STATUSES[0]:
        lines.append(
            "the review says NEEDS REVISION but names no BLOCKER, and only a BLOCKER sends a plan "
            "back"
        )
    if data["outcome"] == parts.REVISE:
        lines.append("the planner is told all this")
    if data["outcome"] == events.ASKED:
        lines.append(quoted(changes[-1][1]["text"], 2000))
    recorded = [row for kind, row in changes if kind == "anti_pattern_recorded"]
    lines += [memory.shown_decision(loop, row) for row in recorded]
    shown = {name: data[name] for name in ("outcome", "approved", "issues", "missing")}
    return Result(loop, "\n".join(lines), shown)


def _ask_plan(workspace: Workspace, loop: Loop) -> Result:
    batch_review.check_plan(loop.state)
    form = replies.form("plan_review", "summary", "findings", "missing")
    step = kinds.step(kinds.PLAN_REVIEW, events.OF_PLAN)
    if due.is_out(loop.state, step):
        text = f"loop:{step.agent} has been asked; submit its answer as block YAML:\n{form}"
        return Result(loop, text, {"asked": step.agent}, [PLAN_REPLY])
    path = dispatch.write(workspace, loop, step, PLAN_REPLY, form)

    def asked(state: LoopState) -> list:
        batch_review.check_plan(state)
        return [context.asked(state, step)]

    workspace.change(loop, asked)
    agent = context.agent(loop.state, step, path)
    return Result(loop, "", {"prompt": path}, [agent, PLAN_REPLY])


def decides(workspace: Workspace) -> bool:
    """Whether batches are reviewed in the active loop."""
    return policies.of(workspace.loop().state).reviews_batches


def batch(workspace: Workspace, wave: int | None, scaffold: bool, row: dict | None) -> Result:
    """The review of a batch, the open one where no wave is named: ask for it, or record it."""
    loop, kind = workspace.own_loop(), _kind(scaffold)
    policies.of(loop.state).check_reviews("loopkit review")
    if row is None:
        return _ask_batch(workspace, loop, wave, kind)
    changes = workspace.change(loop, batch_review.judged, wave, kind, row)
    data = changes[0][1]
    shown = {name: data[name] for name in ("verdicts", "findings")}
    return Result(loop, "\n".join(_recorded(loop, data, changes)), shown)


def prompt(workspace: Workspace, wave: int | None, scaffold: bool) -> Result:
    """What the reviewer of a batch has to know; changes nothing."""
    loop = workspace.loop()
    policies.of(loop.state).check_reviews("loopkit review")
    waiting = batch_review.check_batch(loop.state, wave, _kind(scaffold))
    return Result(loop, of_batch(workspace, loop, waiting), steps=[])


def of_batch(workspace: Workspace, loop: Loop, waiting: list[str], fault: str = "") -> str:
    """The prompt of the reviewer of a batch. fault: what was wrong with its last answer."""
    number = loop.state.wave.number if loop.state.wave else 0
    tasks = [loop.state.tasks[name] for name in waiting]
    verdicts = dict.fromkeys(waiting, f"<{' | '.join(batch_review.VERDICTS)}>")
    form = replies.asked("review", *_ASKED, verdicts=verdicts)
    facts = {"form": form, "invalid": fault}
    return review.prompt(workspace, loop, review.BATCH, number, tasks, **facts)


def _kind(scaffold: bool) -> str:
    return batch_review.SCAFFOLD if scaffold else batch_review.BATCH


def _ask_batch(workspace: Workspace, loop: Loop, wave: int | None, kind: str) -> Result:
    """Give the batch to one reviewer; while it is there nobody else is asked."""
    anew = workspace.change(loop, batch_review.asked, wave, kind)
    line, waiting = batch_review.line(loop.state), work.running(loop.state)
    data = {"tasks": waiting, "asked": bool(anew)}
    if not anew:
        text = f"loop:review has been asked; submit its answer as block YAML:\n{_form(waiting)}"
        return Result(loop, text, data, [f"{line} --file -"])
    bare = [name for name in waiting if not work.proven(loop.state.tasks[name])]
    text = f"one review of the whole batch: {', '.join(waiting)}"
    if bare:
        text += (
            f"\nno passing check yet: {', '.join(bare)}; it can only be `changes`, or wait for "
            "its report"
        )
    number = loop.state.wave.number if loop.state.wave else 0
    agent = (
        f"agent loop:review: Review batch {number} of loop {loop.state.name}. Run `{line} --prompt "
        "batch` first."
    )
    return Result(loop, text, data, [agent, f"{line} --file -"])


def _form(waiting: list[str]) -> str:
    verdicts = dict.fromkeys(waiting, f"<{' | '.join(batch_review.VERDICTS)}>")
    return replies.form("review", *_ASKED, verdicts=verdicts)


def _recorded(loop: Loop, data: dict, changes: list) -> list[str]:
    failed = [name for name in ("build", "tests") if data["checks"].get(name) == "failed"]
    why = f": {' and '.join(failed)} failed, so nothing is approved" if failed else ""
    lines = [f"review of {data['mode']} {data['wave']} recorded{why}"]
    for kind, row in changes:
        if kind == "task_completed":
            lines.append(f"{row['id']} completed")
        elif kind == "task_failed":
            lines.append(f"{row['id']} failed, attempt {row['attempt']}: {row['action']}")
        elif kind == "anti_pattern_recorded":
            lines += [decisions.line(row, 160), memory.shown_decision(loop, row)]
        elif kind == "paused":
            lines.append(f"the loop is paused: {prose.clean(row['reason'], 300)}")
    return lines + [
        f"{row['id']} {row['severity']}: {prose.clean(row['issue'], 120)}"
        for row in data["findings"][:12]
    ]
