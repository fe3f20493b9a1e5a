"""Rules of checkpoints and rollbacks (engine/checkpoints.py makes and restores trees)."""

from __future__ import annotations

from collections.abc import Iterable

from ..journal import prose, verdict
from ..journal import task as tasks
from ..journal.errors import Refused, UsageFault
from ..journal.events import Change
from ..journal.parts import BATCH, BEFORE, SCAFFOLD, START, Checkpoint
from ..journal.state import LoopState
from ..memory import decisions
from ..memory import events as memory

#: The label of one made by hand, unless another is given.
BY_HAND = "manual"
LAST_GOOD = "last-good"
LONGEST_LABEL = 60
#: Hex digits of a commit's id that may stand for it, at least; digits that are shown.
SHORTEST_SHA, SHOWN_SHA = 4, 12
#: Most files and tasks that a line names, characters of such a name.
NAMED, LONGEST_NAME = 5, 300
#: Most files of a rollback's anti-pattern, left out by a checkpoint, named by a rollback.
MOST_FILES, MOST_LEFT, MOST_CHANGED = 40, 200, 200
NONE = "NO_CHECKPOINTS: this loop has none"


# -- making one


def due(state: LoopState) -> tuple[str, int | None] | None:
    """Label and wave of the checkpoint to be made automatically now, or None.

    `start` when the first wave is opened, `scaffold` after the wave that ended the scaffold, else
    `batch-N` after wave N. What could not be made then is not made later.
    """
    if not state.waves:
        return None
    wave = next((wave for wave in reversed(state.waves) if wave.closed), None)
    made = state.checkpoints.rows
    if wave is None:
        return None if made else (START, None)
    if any(checkpoint.wave == wave.number for checkpoint in made):
        return None
    ended = any(state.tasks[name].scaffold for name in wave.tasks if name in state.tasks)
    if ended and not any(state.tasks[name].scaffold for name in state.open):
        return SCAFFOLD, wave.number
    return f"{BATCH}{wave.number}", wave.number


def label_of(words: str | None) -> str:
    """The label that a person gave, in one line. Raises UsageFault for a reserved one."""
    if words is None:
        return BY_HAND
    label = " ".join(prose.clean(" ".join(words.split()), LONGEST_LABEL).split())
    if not label:
        raise UsageFault("the label is empty", 'give a few words: --label "<text>"')
    if label in (BEFORE, START, SCAFFOLD) or label.startswith(BATCH):
        raise UsageFault(f"the label {label} is given by loopkit itself", "take another one")
    return label


def worked_on(state: LoopState, wave: int | None) -> tuple[str, ...]:
    """The tasks of a wave."""
    return next((row.tasks for row in state.waves if row.number == wave), ()) if wave else ()


def message(label: str, subtasks: Iterable[str]) -> str:
    """A checkpoint's commit message."""
    return f"checkpoint: {label} - {', '.join(subtasks) or 'none'}"


def parent(state: LoopState) -> Checkpoint | None:
    """The checkpoint that the next one follows."""
    return state.checkpoints.numbers.get(state.checkpoints.head or 0)


def next_number(state: LoopState) -> int:
    """The number of the next checkpoint, unless its ref is taken."""
    return max(state.checkpoints.numbers, default=0) + 1


def made(state: LoopState, facts: dict) -> list[Change]:
    """The event of a checkpoint. facts: its fields, but for those that follow from the state."""
    before, left, wave = parent(state), list(facts["left_out"]), facts["wave"]
    more = len(left) - MOST_LEFT
    failed = next((row.failed for row in state.waves if row.number == wave), ()) if wave else ()
    data = {
        **facts,
        "tasks": list(worked_on(state, wave)),
        "parent": before.number if before else None,
        "good": facts["label"] == START or wave is not None and not failed,
        "left_out": [*left[:MOST_LEFT], *([f"{more} more"] if more > 0 else [])],
    }
    return [("checkpoint_made", data)]


# -- the branch


def ancestors(state: LoopState, newest: int | None = None) -> list[Checkpoint]:
    """The branch from its newest checkpoint back to its first, without what rollbacks saved."""
    branch: list[Checkpoint] = []
    seen: set[int] = set()
    numbers = state.checkpoints.numbers
    current = numbers.get((state.checkpoints.head if newest is None else newest) or 0)
    while current is not None and current.number not in seen:
        seen.add(current.number)
        if current.label != BEFORE:
            branch.append(current)
        current = numbers.get(current.parent or 0)
    return branch


def is_good(state: LoopState, checkpoint: Checkpoint) -> bool:
    """Whether no task of its batch failed and no blocker stands against its wave."""
    if checkpoint.label == START:
        return True
    if not checkpoint.good or checkpoint.wave is None:
        return False
    source = f"wave_{checkpoint.wave}"
    findings = [row for row in state.findings.values() if row.source == source]
    blockers = [row for row in findings if row.severity == "BLOCKER"]
    if blockers:
        return all((row.resolution or {}).get("how") == "waive" for row in blockers)
    return not (state.reviews.get(source) or {}).get("blockers")


def last_good(state: LoopState) -> Checkpoint:
    """The newest good checkpoint of the branch. Raises Refused where there is none."""
    good = next((row for row in ancestors(state) if is_good(state, row)), None)
    if good is None:
        raise Refused("no checkpoint of this line is good", "choose one: loopkit checkpoint --list")
    return good


def back(state: LoopState, steps: int) -> Checkpoint:
    """The checkpoint that many steps before the newest of the branch, or its first."""
    branch = ancestors(state)
    if not branch:
        raise Refused(NONE, "see loopkit checkpoint")
    return branch[min(steps, len(branch) - 1)]


def find(state: LoopState, words: str) -> Checkpoint:
    """The checkpoint that `start`, `last-good`, `~2`, a number or a commit's id names. Raises
    Refused with NO_CHECKPOINTS, and for an unknown one; UsageFault for other words."""
    wanted = words.strip().lower()
    steps = wanted[1:] or "1"
    digits = wanted.isascii() and wanted.isdigit() and len(wanted) < 10
    back_by = wanted[:1] == "~" and steps.isascii() and steps.isdigit() and len(steps) < 10
    hexadecimal = len(wanted) >= SHORTEST_SHA and not wanted.strip("0123456789abcdef")
    if not (wanted in (START, LAST_GOOD) or back_by or digits or hexadecimal):
        way_out = "use start, last-good, ~2, a number or a commit's id"
        raise UsageFault(f"no checkpoint is named {words[:60]!r}", way_out)
    if not state.checkpoints.rows:
        raise Refused(NONE, "the first is made when a wave is opened; by hand: loopkit checkpoint")
    if wanted == START:
        return ancestors(state)[-1]
    if wanted == LAST_GOOD:
        return last_good(state)
    if back_by:
        return back(state, int(steps))
    if digits and int(wanted) in state.checkpoints.numbers:
        return state.checkpoints.numbers[int(wanted)]
    rows = state.checkpoints.rows if hexadecimal else ()
    fitting = [row for row in rows if row.sha.startswith(wanted)]
    if len(fitting) > 1:
        count = prose.count(len(fitting), "checkpoint")
        raise Refused(f"{wanted} begins the ids of {count}", "give more digits")
    if not fitting:
        raise Refused(f"there is no checkpoint {wanted}", "see loopkit checkpoint --list")
    return fitting[0]


def undone(state: LoopState) -> Checkpoint:
    """Where `rollback --undo` leads: to what the newest rollback saved; an undo that broke off goes
    on. Raises Refused where no rollback was made."""
    known = state.checkpoints
    begun = known.numbers.get(known.begun or 0)
    if begun is not None and begun.undo and begun.target in known.numbers:
        return known.numbers[begun.target]
    saved = begun or known.numbers.get(known.saved or 0)
    if saved is None and not known.rows:
        raise Refused(NONE, "there is nothing to undo")
    if saved is None:
        raise Refused("no rollback was made", "see loopkit checkpoint --list")
    return saved


# -- rolling back


def spared(left_out: Iterable[str]) -> list[str]:
    """Paths left out of a checkpoint, which a rollback neither deletes nor writes into."""
    return [entry.rpartition(" (")[0] for entry in left_out if " (" in entry]


def brought_back(state: LoopState, goal: Checkpoint, saved: int, undo: bool, differs: bool) -> int:
    """The number that an undo of this rollback leads to: what it has just `saved`, unless it
    repeats a rollback that broke off, or one after which nothing has changed (`differs`)."""
    rows = state.checkpoints
    begun, last = rows.numbers.get(rows.begun or 0), rows.numbers.get(rows.saved or 0)
    repeated = begun is not None and (begun.target, begun.undo) == (goal.number, undo)
    if begun is not None and repeated and begun.number != saved:
        return begun.number
    if last is not None and not differs and last.target == goal.number == rows.head:
        return last.number
    return saved


#: The ways out while tasks are worked on.
_END = 'wait for the reports, or give an attempt up: loopkit task fail T-NNN --error "<why>"'


def check(state: LoopState, goal: Checkpoint, place: str) -> None:
    """Raise Refused while tasks are worked on, and for a checkpoint of another working tree."""
    busy = f"{named(list(state.running))} in progress: agents may be writing"
    if state.wave is not None:
        what = f"wave {state.wave.number} is open" + (f", {busy}" if state.running else "")
        first = f"{_END}; then: " if state.running else "end it first: "
        raise Refused(what, first + "loopkit wave close")
    if state.running:
        raise Refused(busy, _END)
    if goal.place != place:
        what = f"checkpoint {goal.number} was made in another working tree"
        raise Refused(what, f"run it there, or see git worktree list ({goal.place})")


def check_conflict(under_way: str | None, committed: list[str], force: bool) -> None:
    """Raise Refused with CONFLICT in the middle of a merge or the like (`under_way`), and, unless
    `force`, where affected files were `committed` after the checkpoint."""
    if under_way:
        way_out = "end or abort it first; nothing was changed"
        raise Refused(f"CONFLICT: {under_way} is in progress", way_out)
    if committed and not force:
        way_out = "nothing was changed; --force overwrites these files, the commits stay"
        raise Refused(f"CONFLICT: committed after the checkpoint: {named(committed)}", way_out)


def named(words: list[str], most: int = NAMED) -> str:
    """The first of a list in one line, and how many more there are."""
    return prose.few(words, most, LONGEST_NAME)


def reopened(state: LoopState, goal: Checkpoint) -> list[str]:
    """Tasks completed after a checkpoint, which lacks their work; none once a loop ended."""
    if state.session.status in verdict.FINAL:
        return []
    done = [task.id for task in state.tasks.values() if task.status == tasks.COMPLETED]
    return [name for name in done if state.checkpoints.completed.get(name, 0) > goal.line]


def rolled_back(
    state: LoopState, goal: Checkpoint, saved: int, files: list[str], undo: bool, why: str = ""
) -> list[Change]:
    """The events of a rollback: an anti-pattern, tasks that are open again, the rollback itself.
    saved: number of the checkpoint that holds the tree before it · files: what was written or
    deleted · why: the reason that was given. Undoing is no lesson."""
    again = reopened(state, goal)
    changes: list[Change] = []
    if not undo and (files or again) and state.session.status not in verdict.FINAL:
        changes.append(("anti_pattern_recorded", _lesson(state, goal, again, files, why)))
    reason = f"rolled back to checkpoint {goal.number}"
    for name in again:
        below = [other for other in again if state.tasks[other].parent == name]
        if below:  # what was split waits for its subtasks again
            changes.append(("task_split", {"id": name, "subtasks": below}))
        else:
            changes.append(("task_reopened", {"id": name, "reason": reason}))
    shown, count = files[:MOST_CHANGED], len(files)
    data = {"number": goal.number, "sha": goal.sha, "saved": saved, "files": shown, "count": count}
    return [*changes, ("rolled_back", {**data, "reopened": again, "undo": undo})]


def _lesson(
    state: LoopState, goal: Checkpoint, again: list[str], files: list[str], why: str
) -> dict:
    """What was taken back, why, and what not to do again."""
    failed = [row.failed for row in state.waves if row.number > (goal.wave or 0)]
    involved = dict.fromkeys([*again, *(name for names in failed for name in names)])
    rows = [state.tasks[name] for name in involved if name in state.tasks]
    work = "; ".join(f"{task.id} {prose.clean(task.subject, 60)}" for task in rows[:NAMED])
    tried = [entry for task in rows for entry in task.history[-1:]]
    ways = [way for way in dict.fromkeys(_texts(tried, "approach")) if way != tasks.AS_DESCRIBED]
    status = state.history.standing
    errors = "; ".join(_texts(tried, "error")[:NAMED])
    reasons = (why.strip(), f"the batches were {status}" if status else "", errors)
    instead = "another approach" + (f" than: {'; '.join(ways[:NAMED])}" if ways else "")
    texts = {
        "what": f"rolled back to checkpoint {goal.number}: {work or named(files)}",
        "why": ": ".join(filter(None, reasons)) or "it did not hold",
        "avoid": instead,
    }
    return {
        "number": memory.next_number(state),
        "title": f"Rolled back to checkpoint {goal.number} ({goal.label})",
        **{key: prose.clean(text, decisions.LONGEST) for key, text in texts.items()},
        "source": "rollback",
        "files": files[:MOST_FILES],
    }


def _texts(entries: list[dict], key: str) -> list[str]:
    texts = (" ".join(str(entry[key]).split()) for entry in entries if entry.get(key))
    return [prose.clean(text, 120) for text in texts]
