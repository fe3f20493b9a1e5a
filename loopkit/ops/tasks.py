"""Tasks: added, shown, started, given up, changed."""

from ..core.journal import prose, verdict
from ..core.journal import task as tasks
from ..core.journal.state import LoopState
from ..core.journal.task import Task
from ..core.memory import decisions
from ..core.plan import drafts, outline, work
from ..core.request import clarify
from ..core.review import panel
from ..core.steps import attempts
from ..core.steps.waves import started
from ..render import quoted
from ..store.loop import Loop
from .reply import weighed
from .workspace import Result, Workspace, data_of

#: Decisions and anti-patterns that a task shows at the most, the oldest first.
MOST_REASONS = 12
#: Tasks that a list shows at the most.
MOST_LISTED = 36


def add(workspace: Workspace, rows: list[dict], replace: bool = False) -> Result:
    """Add tasks, or put them in place of all there are."""
    loop = workspace.own_loop()
    changes = workspace.change(loop, drafts.replaced if replace else drafts.submit, rows)
    gone = [data["id"] for kind, data in changes if kind == "task_removed"]
    made = [data["task"] for kind, data in changes if kind == "task_added"]
    lines = [f"{', '.join(gone)} replaced"] if gone else []
    lines += [f"{row['id']} added: {prose.clean(row['subject'], 100)}" for row in made]
    doubtful = [row["id"] for row in made if " and " in row["subject"].lower()]
    if doubtful:
        lines.append(f"{', '.join(doubtful)}: a subject with “and” is often two tasks")
    data = {"added": [row["id"] for row in made]}
    return Result(loop, "\n".join(lines), {**data, "replaced": gone} if replace else data)


def split(workspace: Workspace, task_id: str, rows: list[dict]) -> Result:
    """Replace a task by smaller ones."""
    loop = workspace.own_loop()
    data = workspace.change(loop, drafts.split, task_id, rows)[-1][1]
    return Result(loop, f"{data['id']} split into {', '.join(data['subtasks'])}")


def listed(workspace: Workspace) -> Result:
    """All tasks with their states; data: {"tasks": each as a record}."""
    loop = workspace.loop()
    state = loop.state
    every = list(state.tasks.values())
    left = max(0, len(every) - MOST_LISTED)
    more = f"; {left} of them not shown: loopkit task list --json" if left else ""
    spare = [task.id for task in every if task.status == tasks.COMPLETED]
    spare += [task.id for task in reversed(every) if task.status != tasks.COMPLETED]
    lines = [_line(state, task) for task in every if task.id not in spare[:left]]
    lines.append(f"{state.counts['completed']}/{len(every)} completed{more}")
    rows = [task.to_json(loop.name, state.verification(task)) for task in every]
    return Result(loop, "\n".join(lines), {"tasks": rows})


_MARKS = {"pending": " ", "in_progress": ">", "completed": "x", "failed": "!", "blocked": "-"}


def _line(state: LoopState, task: Task) -> str:
    waits = _waits(state, task)
    note = f" (waits for {', '.join(waits)})" if waits else ""
    if task.block_kind:
        text = f": {prose.clean(task.block_text, 60)}" if task.block_text else ""
        note = f" ({task.block_kind}{text})"
    return f"[{_MARKS[task.status]}] {task.id} {prose.clean(task.subject, 90)}{note}"


def _waits(state: LoopState, task: Task) -> list[str]:
    return [name for name in task.blocked_by if name in state.open]


def start(workspace: Workspace, task_id: str) -> Result:
    """Start a task: within the open wave, or in a wave of its own."""
    loop = workspace.own_loop()
    changes = workspace.change(loop, started, task_id)
    task = work.find(loop.state, task_id)
    lines = [f"{task.id} {'started' if changes else 'runs already'} in wave {task.wave}"]
    if data_of(changes, "wave_opened") is not None:
        from . import checkpoint

        lines.append(checkpoint.make(workspace, loop))
    return Result(loop, "\n".join(filter(None, lines)))


def fail(workspace: Workspace, task_id: str, error: str, suggest: str | None) -> Result:
    """Give the attempt up. Code 1 where that ends the loop."""
    loop = workspace.own_loop()
    data = workspace.change(loop, attempts.failed, task_id, error, suggest)[0][1]
    task = work.find(loop.state, task_id)
    text = f"{task.id} failed, attempt {task.attempts}: {data['action']}{weighed(data)}"
    over = int(loop.state.session.status == verdict.FAILED)
    return Result(loop, text, work.escalated(loop.state, task.id, data), code=over)


def block(workspace: Workspace, task_id: str, kind: str, reason: str) -> Result:
    """Mark a task as waiting for something outside the loop."""
    loop = workspace.own_loop()
    workspace.change(loop, work.blocked, task_id, kind, reason)
    task = work.find(loop.state, task_id)
    return Result(loop, f"{task.id} blocked ({kind}): {prose.clean(reason, 300)}")


def unblock(workspace: Workspace, task_id: str, said: str = "") -> Result:
    """What it waited for is there; what the person said of it is told to whoever does it."""
    loop = workspace.persons_loop("says that a task is free again")
    workspace.change(loop, work.unblocked, task_id, said)
    return Result(loop, f"{work.find(loop.state, task_id).id} is pending again").going_on()


def change(
    workspace: Workspace,
    task_id: str,
    verify: str | None,
    blocked_by: list[str] | None = None,
    files: list[str] | None = None,
) -> Result:
    """Change the check, the blockers or the files of a task; None leaves one as it is."""
    loop = workspace.own_loop()
    workspace.change(loop, drafts.changed, task_id, verify, blocked_by, files)
    return Result(loop, f"{work.find(loop.state, task_id).id} changed").going_on()


def remove(workspace: Workspace, task_id: str) -> Result:
    """Take a task out that has not been worked on; its id stays used."""
    loop = workspace.own_loop()
    return Result(loop, f"{workspace.change(loop, drafts.removed, task_id)[0][1]['id']} removed")


def waves(workspace: Workspace) -> Result:
    """The order in which the open tasks can be worked on, wave by wave."""
    loop = workspace.loop()
    state = loop.state
    layers = outline.waves({name: _waits(state, state.tasks[name]) for name in state.open})
    lines = [f"{number}: {', '.join(layer)}" for number, layer in enumerate(layers, 1)]
    return Result(loop, "\n".join(lines), {"waves": layers})


def show(workspace: Workspace, task_id: str) -> Result:
    """Text, files, criteria, earlier attempts, advice of a task; the check is the next step."""
    loop = workspace.loop()
    state = loop.state
    task = work.find(state, task_id)
    lines = [
        f"{task.id} {task.status}: {prose.clean(task.subject, 300)}",
        *_goal(state),
        *([quoted(task.description, drafts.LONGEST_TEXT)] if task.description else []),
        *_trees(loop, task),
        *_bounds(state, task),
        *_attempts(state, task),
        *_advice(state, task),
    ]
    if task.evidence:
        lines.append(f"last check: exit {task.evidence.exit}, {loop.folder}/{task.evidence.log}")
    lines.append(
        "only this task; nothing in .loop/ is edited; when its check has passed, stop and report "
        "what verify printed"
    )
    step = f'loopkit task set {task.id} --verify "<command>"'
    if task.verify:
        step = f"loopkit verify {task.id} -- {task.verify}"
    row = task.to_json(loop.name, state.verification(task))
    return Result(loop, "\n".join(lines), row, [step])


def _goal(state: LoopState) -> list[str]:
    goal = (state.clarified or {}).get("echo") or state.text.strip()
    answers = [(what, text) for what, text in clarify.told(state)[1:] if "," in what]
    lines = [f"goal of the loop: {prose.clean(goal, 300)}"]
    return lines + [f"{what}: {prose.clean(text, 160)}" for what, text in answers]


def _trees(loop: Loop, task: Task) -> list[str]:
    """The worktree that a task is done in, and those of earlier attempts."""
    lines = []
    row = work.isolated(loop.state, task.id)
    if row:
        lines = [
            f"work in {loop.folder}/{row.path}, a git worktree of its own, and change nothing "
            "outside it;",
            "  its check runs there; what it needs and git does not know is not there; no commit "
            "is needed",
        ]
    return lines + [
        f"an earlier attempt lies in {loop.folder}/{tree.path}: to be looked at, not to be changed"
        for tree in work.earlier_worktrees(loop.state, task.id)
    ]


def _bounds(state: LoopState, task: Task) -> list[str]:
    """What a task changes, serves and must keep to."""
    lines = ["files: " + prose.clean(", ".join(task.files), 2000)] if task.files else []
    criteria = [name for name in task.criteria if name in state.criteria]
    lines += [f"criterion {name}: {state.criteria[name].text}" for name in criteria]
    lines += [f"must not: {criterion.text}" for criterion in state.must_nots]
    reasons = decisions.touching(state, task.files)
    for row in reasons[:MOST_REASONS]:
        what = "" if decisions.is_lesson(row) else "keep to "
        lines.append(what + decisions.line(row, 300))
    if len(reasons) > MOST_REASONS:
        lines.append(f"and {len(reasons) - MOST_REASONS} more: loopkit decide --list")
    return lines


def _attempts(state: LoopState, task: Task) -> list[str]:
    """What earlier attempts failed on, what reviews found."""
    lines = [
        f"attempt {entry['attempt']} failed ({prose.clean(entry['approach'], 160)}): "
        + quoted(f"{entry['result']}; {entry['error'][-400:].strip()}", 600)
        for entry in task.history[-3:]
    ]
    known = task.history[-1]["error"] if task.history else task.description
    for finding in state.findings.values():
        if finding.task == task.id and finding.issue not in known:
            do = f"; do: {finding.guidance}" if finding.guidance else ""
            text = quoted(f"{finding.place} {finding.issue}{do}", 600)
            lines.append(f"found by review {finding.source}: {text}")
    return lines


def _advice(state: LoopState, task: Task) -> list[str]:
    """What the person answered, and what the newest panel says."""
    lines = []
    if state.history.answer:
        lines.append(f"the person was asked and said: {quoted(state.history.answer, 600)}")
    advice = panel.advice(state, task.id)
    if advice:
        lines.append(
            f"the panel says: {quoted(advice['consensus'], 600)}; if that fails: "
            f"{quoted(advice['fallback'], 400)}"
        )
        lines += [
            f"  recommended ({row['confidence']}/9): {prose.clean(row['approach'], 300)}"
            for row in advice["recommendations"]
            if row["approach"] != advice["consensus"]
        ]
        if advice.get("dissent"):
            lines.append(f"  seen otherwise: {prose.clean(advice['dissent'], 300)}")
    return lines
