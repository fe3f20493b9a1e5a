"""What is kept of a loop: decisions, anti-patterns, what it taught; what is recalled of others."""

import contextlib
import os
import time

from .. import replies
from ..core.journal import clock, prose
from ..core.journal.errors import Damaged, Refused, UsageFault
from ..core.journal.state import LoopState
from ..core.memory import decisions, learned, learning, recall
from ..core.memory.learned import Learning
from ..core.request import intake
from ..core.steps.events import LOOP
from ..store import decisions as files
from ..store import journal, learnings, origin, tables
from ..store.loop import Loop, locked, writes
from .workspace import Result, Workspace

# -- decisions

#: Decisions and anti-patterns that a list shows at the most; its data holds all.
MOST_LISTED = 38


def ask_decision(workspace: Workspace, avoid: bool) -> Result:
    """The form of a decision, or of an anti-pattern."""
    form = replies.form("lesson" if avoid else "decision")
    step = "loopkit decide --avoid --file -" if avoid else "loopkit decide --file -"
    return Result(workspace.loop(), f"submit as block YAML:\n{form}", steps=[step])


def record_decision(workspace: Workspace, row: dict, avoid: bool) -> Result:
    """Record a decision, or an anti-pattern."""
    loop = workspace.own_loop()
    decide = decisions.avoided if avoid else decisions.recorded
    data = workspace.change(loop, decide, row)[0][1]
    lines = [decisions.line(data), shown_decision(loop, data)]
    if not avoid:
        lines += _followed(loop.state, data)
    # agents record theirs while others are still at work: nothing follows from it then
    steps: list[str] | None = [] if loop.state.running else None
    return Result(loop, "\n".join(lines), {"number": data["number"], "file": lines[1]}, steps)


def shown_decision(loop: Loop, row: dict) -> str:
    """The path of a decision's or anti-pattern's file, as it is printed."""
    return "/".join((".loop", loop.name, files.FOLDER, files.name(row)))


def _followed(state: LoopState, data: dict) -> list[str]:
    """What a decision has changed: older ones, what hangs on them, findings that it settles."""
    if not data["supersedes"]:
        return []
    lines = [f"superseded: {_numbers(data['supersedes'])}"]
    hanging = decisions.dependents(state, data["supersedes"])
    if hanging:
        lines.append(f"still stands and depends on it: {_numbers(hanging)}; do they hold?")
    for row in state.findings.values():
        if (row.resolution or {}).get("text") == f"decision {data['number']:03d}":
            is_open = row.task in state.tasks and row.task in state.open
            left = f"; loopkit task remove {row.task}, if nothing needs it" if is_open else ""
            lines.append(f"{row.id} is settled by it{left}")
    return lines


def _numbers(numbers: list[int]) -> str:
    return ", ".join(f"{number:03d}" for number in numbers)


def listed_decisions(workspace: Workspace) -> Result:
    """All decisions and anti-patterns, with what became of them."""
    loop = workspace.loop()
    state = loop.state
    rows = [*state.decisions, *state.decision_log.anti_patterns]
    if not rows:
        return Result(loop, "no decision yet", {"decisions": []}, ["loopkit decide --file -"])
    lines, data = [], []
    for row in sorted(rows, key=lambda row: row.get("number", 0)):
        number, lesson = row.get("number", 0), decisions.is_lesson(row)
        status = "ANTI-PATTERN" if lesson else decisions.status(state, number)
        invalid = number in state.decision_log.invalidated and status == "DECISION"
        gone = " (no longer holds)" if invalid else ""
        title = prose.clean(str(row.get("title", "")), decisions.LONGEST_TITLE)
        lines.append(f"{number:03d} {status}{gone}: {title}")
        data.append({**{key: row[key] for key in row if key != "at"}, "status": status})
    left = len(lines) - MOST_LISTED
    if left > 0:
        more = f"{prose.count(left, 'earlier one')}: see .loop/{loop.name}/learnings/"
        lines = [more, *lines[left:]]
    return Result(loop, "\n".join(lines), {"decisions": data}, [])


# -- what the loop taught


def show_lessons(workspace: Workspace) -> Result:
    """What the loop teaches, and the form for what is better said otherwise."""
    loop = workspace.loop()
    rows = proposals(loop)
    known = _known(workspace, loop.root) + _known(workspace, None)
    kept = [learned.again({**row}, known) is None for row in rows]
    numbered = [{**row, "number": number} for number, row in enumerate(rows, 1)]
    lines = [
        f"{row['number']}. {learning.told(row)}" + " (kept)" * is_kept
        for row, is_kept in zip(numbered, kept, strict=True)
    ]
    head = f"loop {loop.name} proposes nothing; what you know better is kept like this:"
    if lines:
        head = (
            "the person decides (skill hope:learn): loopkit learn --accept N, or in better words:"
        )
    lines += [
        head,
        "loopkit learn --file - (--user: for all your projects), as block YAML:",
        replies.form("learnings"),
    ]
    return Result(loop, "\n".join(lines), {"proposals": numbered, "kept": kept})


def proposals(loop: Loop) -> list[dict]:
    """What the loop teaches, numbered from 1 by everybody who shows it."""
    try:
        tail = journal.read(loop.path, LOOP)
    except OSError as error:
        raise Damaged(f"cannot read {loop.path}: {error.strerror}", "see loopkit doctor") from None
    return learning.proposed(loop.state, tail.events if tail else (), tables.masks().masked)


def accept_lessons(workspace: Workspace, numbers: list[int], user: bool) -> Result:
    """Keep the proposals of these numbers."""
    loop = workspace.loop()
    rows = proposals(loop)
    for number in numbers:
        if not 1 <= number <= len(rows):
            todo = f"see loopkit learn, it shows {len(rows)}"
            raise Refused(f"there is no proposal {number}", todo)
    if not numbers:
        raise UsageFault("no number was given", "write them like 1,3")
    chosen = [rows[number - 1] for number in dict.fromkeys(numbers)]
    bare = [{name: row[name] for name in row if name != "loop"} for row in chosen]
    return _keep(workspace, loop, replies.check("learnings", bare), user)


def keep_lessons(workspace: Workspace, rows: list[dict], user: bool) -> Result:
    """Keep these, which need no loop."""
    loop = None
    if workspace.root:
        with contextlib.suppress(Refused):
            loop = workspace.loop()
    return _keep(workspace, loop, rows, user)


def _keep(workspace: Workspace, loop: Loop | None, rows: list[dict], user: bool) -> Result:
    for number, row in enumerate(rows, 1):
        for name, value in row.items():
            if isinstance(value, str) and tables.masks().masked(value) != value:
                what = f"learning {number}, {name} looks like it holds a secret"
                raise Refused(what, "leave it out: others read this file")
    root = None if user else workspace.root
    if root is None and not user:
        raise Refused("there is no .loop in this project", "keep it for yourself: add --user")
    mine = {"loop": loop.name} if loop is not None else {}
    stamped = [{"ts": clock.stamp(time.time()), **row, **mine} for row in rows]
    path = learnings.path_of(root, workspace.environment)
    kept = _write(workspace, root, path, stamped)
    near = os.path.relpath(path, workspace.folder)
    shown, known = path if near.startswith("..") else near, "" if kept else " (known already)"
    lines = [f"kept in {shown}: {len(kept)} of {len(rows)}{known}"]
    lines += ["  " + learning.told(row) for row in kept]
    if user and workspace.root and not learnings.user_too(workspace.origin(workspace.root)):
        lines.append("recalled in a project whose .loop/config.toml has user = true under [recall]")
    text, data = "\n".join(lines), {"kept": kept, "file": path}
    return Result(loop, text, data if loop is not None else {**data, "said": text, "next": []})


def _write(workspace: Workspace, root: str | None, path: str, rows: list[dict]) -> list[dict]:
    """Write what is new of the rows; returns that. Raises Damaged."""
    folder, kept = os.path.dirname(path), list[dict]()
    with writes(path):
        os.makedirs(folder, exist_ok=True)
        with locked(folder):
            known = _known(workspace, root)
            for row in rows:
                new = learned.again(row, [*known, *kept])
                kept += [] if new is None else [new]
            if kept:
                learnings.append(path, kept)
    return kept


def _known(workspace: Workspace, root: str | None) -> list[dict]:
    """The person's own lines of the project, or (None) of the user. Raises Damaged."""
    path = learnings.path_of(root, workspace.environment)
    try:
        return learnings.rows(path, workspace.origin(root) if root else None)
    except OSError as error:
        raise Damaged(f"cannot read {path}: {error.strerror}", "fix or remove it") from None


# -- what loops taught before

ASK = (
    "what applies here? the person says: skill hope:recall, loopkit recall --confirm N --dismiss N"
)


def recalled(workspace: Workspace) -> Result:
    """What fits the loop's request and was not answered yet."""
    loop = workspace.loop()
    shown = fitting(workspace, loop.root, loop.state)
    lines = recall_lines(shown)
    if shown and loop.state.stage == "intent":
        lines.append(ASK)
    elif not shown:
        nothing = "nothing else was learnt before", "nothing learnt before fits this request"
        lines = [nothing[not _answered(loop.state)]]
    return Result(loop, "\n".join(lines), {"learnings": _recall_rows(shown)})


def answer_recalled(workspace: Workspace, confirm: list[int], dismiss: list[int]) -> Result:
    """Record which of them apply, by their numbers."""
    loop = workspace.persons_loop("confirms what was learnt before")
    titles = [learning.title for learning in _ranked(workspace, loop.root, loop.state)]
    workspace.change(loop, intake.recall_answered, titles, confirm, dismiss)
    return Result(loop, f"recorded: {len(confirm)} confirmed, {len(dismiss)} dismissed")


def recalled_about(workspace: Workspace, text: str) -> Result:
    """What fits a text; needs no loop."""
    whose = workspace.origin(workspace.root) if workspace.root else None
    ranked = learnings.fitting(whose, text, time.time(), workspace.environment, workspace.note)
    shown = list(enumerate(ranked, 1))
    text = "\n".join(recall_lines(shown)) or "nothing learnt before fits this text"
    return Result(None, text, {"learnings": _recall_rows(shown), "said": text, "next": []})


def fitting(workspace: Workspace, root: str, state: LoopState) -> list[tuple[int, Learning]]:
    """The best learnings that this loop has not answered, with numbers that stay."""
    answered = {*state.recall_surfaced, *state.recall_dismissed}
    numbered = enumerate(_ranked(workspace, root, state), 1)
    return [row for row in numbered if row[1].title not in answered][: recall.SHOWN]


def _answered(state: LoopState) -> int:
    return len(state.recall_surfaced) + len(state.recall_dismissed)


def _ranked(workspace: Workspace, root: str, state: LoopState) -> list[Learning]:
    most = recall.SHOWN + _answered(state)
    whose, environment = workspace.origin(root), workspace.environment
    return learnings.fitting(whose, state.text, time.time(), environment, workspace.note, most)


def recall_lines(shown: list[tuple[int, Learning]]) -> list[str]:
    """`1. [failure] title: text`, and where it is from unless that is this project."""
    return [
        f"{number}. [{row.kind}] {prose.clean(row.title, 200)}: {prose.clean(row.text, 200)}"
        + ("" if row.where == origin.PROJECT else f" ({prose.clean(row.where, 120)})")
        for number, row in shown
    ]


def _recall_rows(shown: list[tuple[int, Learning]]) -> list[dict]:
    """The same for programs."""
    names = ("kind", "title", "text", "where")
    return [
        {"number": number, **{name: getattr(row, name) for name in names}} for number, row in shown
    ]
