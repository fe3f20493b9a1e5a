"""Checkpoints and rollbacks as rules: when one is due, which is meant, what going back to it
changes.

The trees themselves are made and put back by engine/checkpoints.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..journal import prose, trail, verdict
from ..journal import task as tasks
from ..journal.checkpointed import BATCH, BEFORE, SCAFFOLD, START, Checkpoint
from ..journal.errors import Refused, UsageFault
from ..journal.events import Change
from ..memory import decisions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..journal.state import LoopState

#: The label of one made by hand, unless another is given.
BY_HAND = "manual"
LAST_GOOD = "last-good"
LONGEST_LABEL = 60
#: Hex digits of a commit's id that may stand for it, at least; digits that are shown.
SHORTEST_SHA, SHOWN_SHA = 4, 12
#: Files and tasks that one line names at most, characters of such a name.
NAMED, LONGEST_NAME = 5, 300
#: Files that an anti-pattern of a rollback is tied to at most, that a checkpoint names as left out,
#: that a rollback names.
MOST_FILES, MOST_LEFT, MOST_CHANGED = 40, 200, 200
NONE = "NO_CHECKPOINTS: this loop has none"


# -- making one


def due(state: LoopState) -> tuple[str, int | None] | None:
    """Label and wave of the checkpoint that has to be made by itself now, or None.

    `start` when the first wave is opened, `scaffold` after the wave that ended the scaffold, else
    `batch-N` after wave N. What could not be made then is not made up for: a tree that a batch has
    changed is no start.
    """
    if not state.waves:
        return None
    wave = next((one for one in reversed(state.waves) if one.closed), None)
    if wave is None and not state.checkpointed.checkpoints:
        return START, None
    if wave is None or any(one.wave == wave.number for one in state.checkpointed.checkpoints):
        return None
    own = [state.tasks[one] for one in wave.tasks if one in state.tasks]
    if any(one.scaffold for one in own) and not any(
        state.tasks[one].scaffold for one in state.open
    ):
        return SCAFFOLD, wave.number
    return f"{BATCH}{wave.number}", wave.number


def label_of(words: str | None) -> str:
    """The label that a person gave, in one line. Raises UsageFault for one that means something
    else."""
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
    return next((one.tasks for one in state.waves if one.number == wave), ()) if wave else ()


def message(label: str, subtasks: Iterable[str]) -> str:
    """A checkpoint's commit message."""
    return f"checkpoint: {label} - {', '.join(subtasks) or 'none'}"


def parent(state: LoopState) -> Checkpoint | None:
    """The checkpoint that the next one follows."""
    return state.checkpointed.numbers.get(state.checkpointed.head or 0)


def next_number(state: LoopState) -> int:
    """The number of the next checkpoint, unless its ref is taken."""
    return max(state.checkpointed.numbers, default=0) + 1


def made(
    state: LoopState,
    number: int,
    *,
    sha: str,
    tree: str,
    label: str,
    lines: int,
    left_out: Iterable[str] = (),
    head: str | None = None,
    place: str = ".",
    wave: int | None = None,
    target: int | None = None,
    undo: bool = False,
    plain: str | None = None,
) -> list[Change]:
    """The line of a checkpoint that has been made. lines: of the journal when its tree was
    taken."""
    before, left = parent(state), list(left_out)
    more = len(left) - MOST_LEFT
    failed = next((one.failed for one in state.waves if one.number == wave), ()) if wave else ()
    data = {
        "number": number,
        "sha": sha,
        "tree": tree,
        "label": label,
        "tasks": list(worked_on(state, wave)),
        "parent": before.number if before else None,
        "good": label == START or wave is not None and not failed,
        "left_out": [*left[:MOST_LEFT], *([f"{more} more"] if more > 0 else [])],
        "head": head,
        "wave": wave,
        "place": place,
        "line": lines,
        "plain": plain,
    }
    if label == BEFORE:
        data |= {"target": target, "undo": undo}
    return [("checkpoint_made", data)]


# -- the line


def ancestors(state: LoopState, newest: int | None = None) -> list[Checkpoint]:
    """The line from its newest checkpoint back to its first, without what rollbacks saved."""
    found: list[Checkpoint] = []
    seen: set[int] = set()
    one = state.checkpointed.numbers.get(
        (state.checkpointed.head if newest is None else newest) or 0
    )
    while one is not None and one.number not in seen:
        seen.add(one.number)
        if one.label != BEFORE:
            found.append(one)
        one = state.checkpointed.numbers.get(one.parent or 0)
    return found


def is_good(state: LoopState, one: Checkpoint) -> bool:
    """Whether no task of its batch failed and no blocking finding stands against its wave; `start`
    always is good."""
    if one.label == START:
        return True
    if not one.good or one.wave is None:
        return False
    source = f"wave_{one.wave}"
    blockers = [
        row for row in state.findings.values() if row.source == source and row.severity == "BLOCKER"
    ]
    if blockers:
        return all((row.resolution or {}).get("how") == "waive" for row in blockers)
    return not (state.reviews.get(source) or {}).get("blockers")


def last_good(state: LoopState) -> Checkpoint:
    """The newest good checkpoint of the line. Raises Refused where there is none."""
    for one in ancestors(state):
        if is_good(state, one):
            return one
    raise Refused("no checkpoint of this line is good", "choose one: loopkit checkpoint --list")


def back(state: LoopState, steps: int) -> Checkpoint:
    """The checkpoint that many steps before the newest of the line; where there are fewer, the
    first."""
    line = ancestors(state)
    if not line:
        raise Refused(NONE, "see loopkit checkpoint")
    return line[min(steps, len(line) - 1)]


def find(state: LoopState, words: str) -> Checkpoint:
    """The checkpoint that `last-good`, `~2`, a number or (the beginning of) a commit's id names.

    Raises Refused with NO_CHECKPOINTS where there are none, and for an unknown one; UsageFault for
    other words.
    """
    wanted = words.strip().lower()
    steps = wanted[1:] or "1"
    digits = wanted.isascii() and wanted.isdigit() and len(wanted) < 10
    back_by = wanted[:1] == "~" and steps.isascii() and steps.isdigit() and len(steps) < 10
    hexadecimal = len(wanted) >= SHORTEST_SHA and not wanted.strip("0123456789abcdef")
    if not (wanted == LAST_GOOD or back_by or digits or hexadecimal):
        raise UsageFault(
            f"no checkpoint is named {words[:60]!r}", "use last-good, ~2, a number or a commit's id"
        )
    if not state.checkpointed.checkpoints:
        raise Refused(NONE, "the first is made when a wave is opened; by hand: loopkit checkpoint")
    if wanted == LAST_GOOD:
        return last_good(state)
    if back_by:
        return back(state, int(steps))
    if digits and int(wanted) in state.checkpointed.numbers:
        return state.checkpointed.numbers[int(wanted)]
    found = [
        one for one in state.checkpointed.checkpoints if hexadecimal and one.sha.startswith(wanted)
    ]
    if len(found) > 1:
        raise Refused(
            f"{wanted} begins the ids of {prose.count(len(found), 'checkpoint')}",
            "give more digits",
        )
    if not found:
        raise Refused(f"there is no checkpoint {wanted}", "see loopkit checkpoint --list")
    return found[0]


def undone(state: LoopState) -> Checkpoint:
    """Where `rollback --undo` leads: to what the newest rollback saved; an undo that broke off goes
    on.

    Raises Refused where no rollback was made.
    """
    line = state.checkpointed
    begun = line.numbers.get(line.begun or 0)
    if begun is not None and begun.undo and begun.target in line.numbers:
        return line.numbers[begun.target]
    found = begun or line.numbers.get(line.saved or 0)
    if found is None:
        if not line.checkpoints:
            raise Refused(NONE, "there is nothing to undo")
        raise Refused("no rollback was made", "see loopkit checkpoint --list")
    return found


# -- rolling back


def spared(left_out: Iterable[str]) -> list[str]:
    """Paths that were left out of a checkpoint: that it does not hold them is no reason to delete
    them, nor to write into what is a repository of its own."""
    return [one.rpartition(" (")[0] for one in left_out if " (" in one]


def brought_back(state: LoopState, goal: Checkpoint, saved: int, undo: bool, differs: bool) -> int:
    """The number that an undo of this rollback leads to: what it has just `saved`, unless it is
    another one once more: that broke off, or has been done, and nothing has changed since
    (`differs`)."""
    line = state.checkpointed
    begun, last = line.numbers.get(line.begun or 0), line.numbers.get(line.saved or 0)
    if (
        begun is not None
        and begun.number != saved
        and (begun.target, begun.undo) == (goal.number, undo)
    ):
        return begun.number
    if last is not None and not differs and last.target == goal.number == line.head:
        return last.number
    return saved


#: The ways out while tasks are worked on.
_END = 'wait for the reports, or give an attempt up: loopkit task fail T-NNN --error "<why>"'


def check(state: LoopState, goal: Checkpoint, place: str) -> None:
    """Raises Refused while tasks are worked on, and for a checkpoint of another working tree."""
    if state.wave is not None:
        own = named(list(state.running))
        what = f"wave {state.wave.number} is open" + (
            f", {own} in progress: agents may be writing" if own else ""
        )
        raise Refused(what, (_END + "; then: " if own else "end it first: ") + "loopkit wave close")
    if state.running:
        raise Refused(f"{named(list(state.running))} in progress: agents may be writing", _END)
    if goal.place != place:
        raise Refused(
            f"checkpoint {goal.number} was made in another working tree",
            f"run it there, or see git worktree list ({goal.place})",
        )


def check_conflict(under_way: str | None, committed: list[str], force: bool) -> None:
    """Raises Refused with CONFLICT while the person is in the middle of something in git, and where
    they committed changes to affected files after the checkpoint unless `force`.

    under_way: such as `a merge`, or None · committed: these files.
    """
    if under_way:
        raise Refused(
            f"CONFLICT: {under_way} is in progress", "end or abort it first; nothing was changed"
        )
    if committed and not force:
        raise Refused(
            f"CONFLICT: committed after the checkpoint: {named(committed)}",
            "nothing was changed; --force overwrites these files, the commits stay",
        )


def named(words: list[str], most: int = NAMED) -> str:
    """The first few of a list in one line, and how many more there are; a file's name may hold
    anything."""
    more = len(words) - most
    shown = ", ".join(prose.clean(one, LONGEST_NAME) for one in words[:most])
    return shown + (f" and {more} more" if more > 0 else "")


def reopened(state: LoopState, goal: Checkpoint) -> list[str]:
    """Tasks whose completion came after a checkpoint: it does not hold their work. None in a loop
    that is over."""
    if state.session.status in verdict.FINAL:
        return []
    return [
        one.id
        for one in state.tasks.values()
        if one.status == tasks.COMPLETED and state.checkpointed.completed.get(one.id, 0) > goal.line
    ]


def rolled_back(
    state: LoopState, goal: Checkpoint, saved: int, files: list[str], undo: bool, why: str = ""
) -> list[Change]:
    """The lines of a rollback that has been done: an anti-pattern, tasks that are open again, the
    rollback itself.

    saved: number of the checkpoint that holds the tree before it · files: what was written or
    deleted · why: the reason that was given. Undoing is no lesson.
    """
    again = reopened(state, goal)
    changes: list[Change] = []
    if not undo and (files or again) and state.session.status not in verdict.FINAL:
        changes.append(("anti_pattern_recorded", _lesson(state, goal, again, files, why)))
    reason = f"rolled back to checkpoint {goal.number}"
    for one in again:
        below = [other for other in again if state.tasks[other].parent == one]
        if below:  # what was split waits for its subtasks again
            changes.append(("task_split", {"id": one, "subtasks": below}))
        else:
            changes.append(("task_reopened", {"id": one, "reason": reason}))
    shown, count = files[:MOST_CHANGED], len(files)
    data = {"number": goal.number, "sha": goal.sha, "saved": saved, "files": shown, "count": count}
    return [*changes, ("rolled_back", {**data, "reopened": again, "undo": undo})]


def _lesson(
    state: LoopState, goal: Checkpoint, again: list[str], files: list[str], why: str
) -> dict:
    """What was taken back, why, and what not to do again."""
    waves = [one for one in state.waves if one.number > (goal.wave or 0)]
    involved = list(dict.fromkeys([*again, *(name for wave in waves for name in wave.failed)]))
    rows = [state.tasks[one] for one in involved if one in state.tasks]
    work = "; ".join(f"{one.id} {prose.clean(one.subject, 60)}" for one in rows[:NAMED]) or named(
        files
    )
    tried = [entry for one in rows for entry in one.history[-1:]]
    errors = [
        prose.clean(" ".join(str(entry["error"]).split()), 120)
        for entry in tried
        if entry.get("error")
    ]
    ways = [
        prose.clean(" ".join(str(entry["approach"]).split()), 120)
        for entry in tried
        if entry.get("approach")
    ]
    ways = [one for one in dict.fromkeys(ways) if one != tasks.AS_DESCRIBED]
    status = state.course.standing
    reasons = [
        why.strip(),
        f"the batches were {status}" if status else "",
        "; ".join(errors[:NAMED]),
    ]
    return {
        "number": trail.next_number(state),
        "title": f"Rolled back to checkpoint {goal.number} ({goal.label})",
        "what": prose.clean(f"rolled back to checkpoint {goal.number}: {work}", decisions.LONGEST),
        "why": prose.clean(
            ": ".join(one for one in reasons if one) or "it did not hold", decisions.LONGEST
        ),
        "avoid": prose.clean(
            "the same way again: " + "; ".join(ways[:NAMED])
            if ways
            else "the same again; take another approach",
            decisions.LONGEST,
        ),
        "source": "rollback",
        "files": files[:MOST_FILES],
    }
