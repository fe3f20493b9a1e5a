"""Tasks that a person keeps in a file of the project, `docs/plans/<name>.tasks.yaml`, and the loop
that is made of them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping

from .. import replies
from ..core.journal import prose, stage
from ..core.journal.errors import Damaged, LoopError, Refused
from ..core.journal.state import LoopState
from ..core.pipeline.definitions import Fault, is_name
from ..core.pipeline.on_loop import suggested
from ..core.plan import drafts
from ..core.steps.request import of_tasks, shape_of_tasks
from ..engine import definitions
from ..replies import records
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
#: Where a record or a text is wrong, as refusals name it.
_PLACE = re.compile(r"tasks\.(\d+)(?:\.(\w+))?: ")
_LINE = re.compile(r"line (\d+): ")


def path_of(name: str) -> str:
    """Where the tasks of a name lie, from the project."""
    return os.path.join(FOLDER, name + ENDING)


def read(path: str, shown: str = "") -> list[dict]:
    """The tasks of a file. Raises Refused where it holds none or one that does not fit, Damaged
    where it cannot be read."""
    shown = shown or path
    rows, fault = _looked(_text(path, shown), shown)
    if fault is None:
        return rows
    where = f"{shown}:{fault.line}" if fault.line else shown
    cure = fault.cure if FORM in fault.cure else f"{fault.cure}; {FORM}"
    raise Refused(f"{where}: {fault.what}", f"{cure}; check it: loopkit lint tasks {shown}")


def _text(path: str, shown: str) -> str:
    try:
        return atomic.read(path, LARGEST).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        what = f"there is no file {shown}"
        raise Refused(what, "give a file of tasks; skill loop:create-tasks makes one") from None
    except UnicodeDecodeError as error:
        what = f"{shown}: {definitions.unreadable(error)}"
        raise Refused(what, "save it as UTF-8") from None
    except OSError as error:
        raise Damaged(f"{shown}: {definitions.unreadable(error)}", "give a file of tasks") from None


def _looked(text: str, shown: str) -> tuple[list[dict], Fault | None]:
    """The tasks of a text, and the first thing that is wrong with it."""
    try:
        lines = records.marked(text)[1]
    except records.Unreadable as error:
        return [], Fault(shown, error.line, f"no YAML: {error}", f"write a list: {FORM}")
    try:
        rows: list[dict] = replies.read("tasks", text, shown)
        drafts.added(LoopState("tasks"), rows)
    except LoopError as error:
        return [], _fault(error, shown, lines)
    return rows, None


def _fault(error: LoopError, shown: str, lines: Mapping[tuple, int]) -> Fault:
    """A refusal of tasks with its place: `tasks.2.verify: …` is task 2, `blocked by #9 …` all."""
    what = error.what.removeprefix(f"{shown} ")
    line = 0
    if place := _PLACE.match(what):
        number, key, what = int(place[1]), place[2] or "", what[place.end() :]
        path = (number - 1, key) if key else (number - 1,)
        line = lines.get(path) or lines.get(path[:1], 0)
        what = f"task {number}{f', {key}' if key else ''}: {what}"
    elif numbered := _LINE.match(what):
        line, what = int(numbered[1]), what[numbered.end() :]
    if what == "is no list":
        return Fault(shown, 1, f"it {what}", f"write a list: {FORM}")
    return Fault(shown, line, what, error.todo.removesuffix("; nothing was added") or FORM)


def lint(workspace: Workspace, paths: list[str]) -> Result:
    """What is wrong with task files, those in docs/plans where none is named; the name of a run
    means its own there. Code 1 where a run would refuse one."""
    base = workspace.folder if paths else workspace.project
    paths = [_of_run(workspace, base, path) for path in paths]
    found: list[Fault] = []
    tasks = 0
    for path in paths or _kept(base):
        try:
            rows, fault = _looked(_text(os.path.join(base, path), path), path)
        except LoopError as error:
            rows, fault = [], Fault(path, 0, error.what.removeprefix(f"{path}: "), error.todo)
        tasks += len(rows)
        found += [fault] if fault else []
        found += [
            Fault(path, 0, f"task {number}: {text}", cure, False)
            for number, text, cure in doubtful(rows)
        ]
    errors = sum(fault.error for fault in found)
    counted = f"{prose.count(errors, 'error')}, {prose.count(len(found) - errors, 'warning')}"
    lines = [*map(str, found), f"{prose.count(tasks, 'task')} checked: {counted}"]
    if len(paths) == 1 and not errors:
        lines.append(f"work them: {_worked(paths[0], tasks)}")
    text = "\n".join(lines)
    faults = [fault._asdict() for fault in found]
    data = {"faults": faults, "said": text, "next": [], "tasks": tasks}
    return Result(None, text, data, code=1 if errors else 0)


def _of_run(workspace: Workspace, base: str, name: str) -> str:
    """The tasks of a run of that name, seen from `base`; else the path as it is."""
    own = os.path.join(workspace.project, path_of(name))
    if not is_name(name) or os.path.lexists(os.path.join(base, name)) or not os.path.exists(own):
        return name
    return os.path.relpath(own, base)


def _worked(path: str, tasks: int) -> str:
    """The command that works a file's tasks, with as many iterations as they may take."""
    name = os.path.basename(path).removesuffix(ENDING)
    more = [] if os.path.normpath(path) == path_of(name) else ["--tasks", path]
    name = name if is_name(name) else prose.slug(name) or "tasks"
    return shlex.join(["loopkit", "run", "work", name, str(suggested(tasks)), *more])


def _kept(project: str) -> list[str]:
    """The task files of a project."""
    try:
        names = sorted(os.listdir(os.path.join(project, FOLDER)))
    except OSError:
        return []
    return [os.path.join(FOLDER, name) for name in names if name.endswith(ENDING)]


def doubtful(rows: list[dict]) -> list[tuple[int, str, str]]:
    """(place of a task from 1, what is doubtful about it, what to do)."""
    found = []
    for number, row in enumerate(rows, 1):
        if " and " in row["subject"].lower():
            found.append((number, "a subject with “and” is often two tasks", "cut it in two"))
        if len(row.get("files") or ()) > MOST_FILES:
            what = f"{len(row['files'])} files are many for one task"
            found.append((number, what, "cut it, or name those that it changes"))
        if not row.get("description"):
            what, cure = "there is no description", "say what whoever does it has to know"
            found.append((number, what, cure))
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
