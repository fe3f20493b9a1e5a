"""Tasks that a person keeps in a file of the project, `docs/plans/<name>.tasks.yaml`, and the loop
that is made of them."""

from __future__ import annotations

import os

from .. import replies
from ..core.journal import prose, stage
from ..core.journal.errors import Damaged, LoopError, Refused
from ..core.journal.state import LoopState
from ..core.plan import drafts
from ..core.steps.request import of_tasks, shape_of_tasks
from ..store import atomic
from ..store.loop import Loop
from . import request, start
from .workspace import Result, Workspace

FOLDER, ENDING = os.path.join("docs", "plans"), ".tasks.yaml"
#: Bytes of a file at the most; files of a task, above which it is likely two.
LARGEST, MOST_FILES = 1_000_000, 4
FORM = (
    "a task is `- subject: <what it does, one sentence>` and below it `  verify: <command that "
    "fails now and exits 0 when it is done>`"
)


def path_of(name: str) -> str:
    """Where the tasks of a name lie, from the project."""
    return os.path.join(FOLDER, name + ENDING)


def read(path: str, shown: str = "") -> list[dict]:
    """The tasks of a file. Raises Refused where it holds none or one that does not fit, Damaged
    where it cannot be read."""
    shown = shown or path
    text = _text(path, shown)
    try:
        rows: list[dict] = replies.read("tasks", text, shown)
        if not rows:
            raise Refused(f"{shown} holds no task", FORM)
        drafts.added(LoopState("tasks"), rows)
    except Damaged:
        raise
    except LoopError as error:
        raise Refused(error.what, f"{FORM}; check it: loopkit lint tasks {shown}") from None
    return rows


def _text(path: str, shown: str) -> str:
    try:
        return atomic.read(path, LARGEST).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        what = f"there is no file {shown}"
        raise Refused(what, "skill loop:create-tasks makes one; or name it with --tasks") from None
    except UnicodeDecodeError as error:
        raise Refused(f"{shown} is not UTF-8 at byte {error.start}", "save it as UTF-8") from None
    except OSError as error:
        what = f"cannot read {shown}: {error.strerror}"
        raise Damaged(what, "give a file that can be read") from None


def lint(workspace: Workspace, paths: list[str]) -> Result:
    """What is wrong with task files, those in docs/plans where none is named. Code 1 where a run
    would refuse one."""
    base = workspace.folder if paths else workspace.project
    lines, errors, warnings, tasks = [], 0, 0, 0
    for path in paths or _kept(base):
        try:
            rows = read(os.path.join(base, path), path)
        except LoopError as error:
            lines.append(f"{path}: error: {error.what}; {error.todo}")
            errors += 1
            continue
        found = doubtful(rows)
        lines += [f"{path}: warning: task {number}: {text}" for number, text in found]
        warnings, tasks = warnings + len(found), tasks + len(rows)
    counted = f"{prose.count(errors, 'error')}, {prose.count(warnings, 'warning')}"
    text = "\n".join([*lines, f"{prose.count(tasks, 'task')} checked: {counted}"])
    return Result(None, text, {"said": text, "next": [], "tasks": tasks}, code=1 if errors else 0)


def _kept(project: str) -> list[str]:
    """The task files of a project."""
    try:
        names = sorted(os.listdir(os.path.join(project, FOLDER)))
    except OSError:
        return []
    return [os.path.join(FOLDER, name) for name in names if name.endswith(ENDING)]


def doubtful(rows: list[dict]) -> list[tuple[int, str]]:
    """(place of a task, what is doubtful about it), from 1."""
    found = []
    for number, row in enumerate(rows, 1):
        if " and " in row["subject"].lower():
            found.append((number, "a subject with “and” is often two tasks"))
        if len(row.get("files") or ()) > MOST_FILES:
            found.append((number, f"{len(row['files'])} files: is it more than one task?"))
        if not row.get("description"):
            found.append((number, "no description: whoever does it sees nothing else"))
    return found


def begin(workspace: Workspace, name: str, rows: list[dict], options: start.Options) -> Loop:
    """The loop of that name with these tasks, begun here. What the plan beside them says is the
    request."""
    result = start.start(workspace, _request(workspace, name, rows), options._replace(name=name))
    assert result.loop is not None
    return fill(workspace, result.loop, rows)


def fill(workspace: Workspace, loop: Loop, rows: list[dict]) -> Loop:
    """Give a loop that has only begun its tasks."""
    if loop.state.stage == stage.INTENT:
        text = shape_of_tasks(prose.loop_name(loop.name), rows)
        workspace.change(loop, of_tasks, text, rows)
        request.store(loop.folder, text)
    return loop


def _request(workspace: Workspace, name: str, rows: list[dict]) -> str:
    plan = os.path.join(workspace.project, FOLDER, f"{name}.md")
    try:
        text = atomic.read(plan, LARGEST).decode("utf-8-sig").strip()
    except (OSError, ValueError):
        text = ""
    if text:
        return text
    return "\n".join([f"Do the tasks of {name}:", *(f"- {row['subject']}" for row in rows)])
