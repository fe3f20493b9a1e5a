"""What changed, as it was measured: which of it nobody named, which of it must not have changed.

Paths are relative to the project, with `/`. A pattern is one too: `*` and `?` stay within a name,
`**` reaches over any folders, and what names a folder names all in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from ..journal import prose, verdict
from ..journal.errors import UsageFault
from ..journal.events import Change
from ..journal.parts import MINE, UNDO, Changed, Criterion, Touched
from ..journal.state import LoopState

#: Rows of an event, names of ignored files, files that a line names; at the most.
MOST, MOST_IGNORED, SHOWN = 400, 40, 6
#: Names of one folder above which it stands for them.
MOST_OF_A_FOLDER = 5


# -- patterns


def pattern_fault(pattern: str) -> str:
    """Why something cannot be a pattern of paths; "" where it can."""
    if not pattern.strip("/. "):
        return "it names no file"
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        return "it must be relative to the project, within it"
    if "\\" in pattern:
        return "folders are parted by /"
    return "it must be one line" if "\0" in pattern or len(pattern.splitlines()) > 1 else ""


def matches(pattern: str, path: str) -> bool:
    """Whether a path is one that a pattern names, or lies in a folder that it names."""
    words = pattern.removeprefix("./").rstrip("/")
    if path == words or path.startswith(words + "/"):  # brackets may stand in a name
        return True
    return re.fullmatch(_translated(words) + r"(?:/.*)?", path, re.DOTALL) is not None


def _translated(pattern: str) -> str:
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])", pattern)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(known.get(part) or _plain(part) for part in parts)


def _plain(part: str) -> str:
    if not re.fullmatch(r"\[[^\]/]+\]", part):
        return re.escape(part)
    inner = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
    negated = inner[:1] in ("!", "^")
    return f"[^/{inner[1:]}]" if negated and inner[1:] else f"[{inner}]"


# -- rows


def paths(row: Changed) -> list[str]:
    """The path of a file, and the one that it had before."""
    return [row.path, row.was] if row.was else [row.path]


def of_wave(state: LoopState, number: int | None) -> list[Changed] | None:
    """What was measured of a wave, of all (None); None where nothing was."""
    return state.changes.whole if number is None else state.changes.waves.get(number)


def named(path: str, files: Iterable[str]) -> bool:
    """Whether a path is one of these, or lies in one."""
    folders = (name.removeprefix("./").rstrip("/") for name in files)
    return any(path == name or path.startswith(name + "/") for name in folders if name)


def outside(rows: Iterable[Changed], files: Collection[str]) -> list[Changed]:
    """Those whose path none of the tasks named."""
    return [row for row in rows if not all(named(path, files) for path in paths(row))]


def told(row: Changed) -> str:
    """`src/a.py +3 -1`, `a.py (new) +5`, `b.py (was a.py)`."""
    how = {"A": " (new)", "D": " (gone)", "T": " (another kind of file)"}.get(row.status, "")
    how = f" (was {row.was})" if row.was else how
    lines = [f" {sign}{count}" for sign, count in (("+", row.added), ("-", row.removed)) if count]
    return f"{row.path}{how}{''.join(lines)}"


def lost(row: Changed) -> bool:
    """Whether what was there before is gone, or some of it."""
    return row.status in ("D", "T") or row.status != "A" and row.removed != 0


def notes(state: LoopState) -> list[str]:
    """What a reader has to know of how the work was checked, a line each: existing tests that lost
    something, settings of checks that changed."""
    rows = {path: told(row) for row in state.changes.whole or () for path in paths(row)}
    named = [("an existing test changed", path) for path in state.changes.tests]
    named += [("what says how checks run changed", path) for path in state.changes.settings]
    lines = [
        f"{what}: {prose.clean(rows.get(path) or f'{path} (git ignores it)', 200)}"
        for what, path in named
    ]
    for what, names in (
        ("changed between the request and the first wave", state.changes.early),
        ("written outside the project", state.changes.outside),
        ("named in the request and not changed", state.changes.unmoved),
    ):
        lines += [f"{what}: {prose.clean(', '.join(names), 400)}"] if names else []
    return lines


def event(
    wave: int | None,
    rows: list[Changed],
    ignored: Iterable[str],
    checkpoint: int | None = None,
    beside: dict[str, list[str]] | None = None,
) -> Change:
    """The event of what was measured. beside: `tests`, `settings`, `session` and such of
    journal/parts."""
    more: dict = {"checkpoint": checkpoint} if checkpoint is not None else {}
    more |= {name: names[:MOST] for name, names in (beside or {}).items() if names}
    files = [
        {name: value for name, value in row._asdict().items() if value not in ("", None)}
        for row in rows[:MOST]
    ]
    more |= {"ignored": _gathered(ignored), "left_out": max(0, len(rows) - MOST)}
    return ("changes_measured", {"wave": wave, "files": files, **more})


def _gathered(names: Iterable[str]) -> list[str]:
    """Names in order; a folder with many of them stands for them."""
    folders: dict[str, list[str]] = {}
    for name in sorted(set(names)):
        folders.setdefault(name.rstrip("/").rpartition("/")[0], []).append(name)
    found: list[str] = []
    for folder, inner in folders.items():
        many = folder and len(inner) > MOST_OF_A_FOLDER
        found += [f"{folder}/ ({len(inner)} files)"] if many else inner
    more = len(found) - MOST_IGNORED
    return found[:MOST_IGNORED] + ([f"{more} more"] if more > 0 else [])


# -- evidence


def unvouched(state: LoopState, line: int) -> list[str]:
    """Files that were there before and were first seen to have changed after this journal line:
    what was recorded then has not seen that."""
    first = state.changes.first
    rows = [row for row in state.changes.whole or () if row.status != "A"]
    return [path for row in rows for path in paths(row) if first.get(path, 0) > line]


# -- what must not change


def broken(state: LoopState, marks: dict[str, str]) -> list[Touched]:
    """Files that must not change, of those that did since they were last looked at. marks: {path:
    what it holds now, "" where it is gone}.

    A file that a mustNot only names in words counts where no task named it: the plan says what is
    to change. What was looked at before, and holds the same still, is told once.
    """
    files = {name for task in state.tasks.values() for name in task.files}
    known = {(row.criterion, row.path, row.mark) for row in state.changes.touched}
    found = []
    for criterion in (row for row in state.must_nots if row.paths or not row.command):
        for path, mark in sorted(marks.items()):
            if (criterion.id, path, mark) in known:
                continue
            if any(matches(one, path) for one in criterion.paths) or (
                not criterion.paths and _in_words(criterion.text, path) and not named(path, files)
            ):
                found.append(Touched(criterion.id, path, "", mark))
    return found


def forbidden(state: LoopState, path: str) -> bool:
    """Whether a mustNot names a path, as a pattern or in words."""
    rows = state.must_nots
    return any(
        _in_words(row.text, path) or any(matches(one, path) for one in row.paths) for row in rows
    )


def _in_words(text: str, path: str) -> bool:
    """Whether a text names a path: the whole of it, or a file's name with an ending. A bare word
    counts where it is said to be a file's or a folder's."""
    name = path.rpartition("/")[2]
    names = [path, *([name] if "." in name.strip(".") else [])]
    return any(re.search(_as_name(one), text) for one in names)


def _as_name(name: str) -> str:
    whole = rf"(?<![\w./-]){re.escape(name)}(?![\w-]|/\w|\.\w)"
    if re.search(r"[./]", name):
        return whole
    kind = "(?:files?|folders?|director(?:y|ies))"
    return rf"[`'\"]{whole}[`'\"]|{whole}(?:/| {kind}\b)|\b{kind} {whole}"


def watched(state: LoopState, criterion: Criterion) -> str:
    """What was measured of the files that a mustNot names; "" where nothing was."""
    newest = {row.path: row for row in state.changes.touched if row.criterion == criterion.id}
    if not newest:
        unchanged = criterion.paths and state.changes.whole is not None
        return f"unchanged: {', '.join(criterion.paths)}" if unchanged else ""
    how = {MINE: "by the person", UNDO: "to be undone"}
    who = {path: how.get(row.how) or row.by for path, row in newest.items()}
    rows = [f"{path} ({by or 'nobody knows by whom'})" for path, by in who.items()]
    return f"changed: {', '.join(rows)}"


def judged(
    state: LoopState,
    rows: list[Touched],
    wave: int | None,
    again: bool = False,
    own: Collection[str] = (),
) -> list[Change]:
    """What follows: the loop stops where an agent's tool call explains a change of what `paths`
    name, else the person is asked; where nobody can be, it waits. again: it has stopped for them
    before, and they are still so · own: what the session itself wrote."""
    if not rows:
        return []
    breached = [row for row in rows if row.by and state.criteria[row.criterion].paths and not again]
    ask = not breached and not state.session.unattended
    keys = ("criterion", "path", "by", "mark")
    files = [{key: getattr(row, key) for key in keys} for row in rows[:MOST]]
    changes: list[Change] = [("watched_changed", {"wave": wave, "files": files, "ask": ask})]
    if ask:
        return [*changes, ("question_asked", {"text": question(state, rows, own)})]
    name = verdict.BREACHED if breached else verdict.WAITING
    reason = "; ".join(_words(state, row, own) for row in (breached or rows)[:SHOWN])
    return [*changes, ("paused", {"verdict": name, "reason": reason})]


def _words(state: LoopState, row: Touched, own: Collection[str]) -> str:
    who = "changed, and no agent's tool call explains it"
    if row.by or row.path in own:
        who = f"changed by {row.by or 'the session itself'}"
    text = prose.clean(state.criteria[row.criterion].text, 120)
    return f"{row.criterion} ({text}): {prose.clean(row.path, 200)} was {who}"


def question(state: LoopState, rows: list[Touched], own: Collection[str] = ()) -> str:
    """What the person is asked about files that must not change, and did."""
    lines = [_words(state, row, own) for row in rows[:SHOWN]]
    lines += [f"and {len(rows) - SHOWN} more"] if len(rows) > SHOWN else []
    options = (f"1. {MINE}: I changed it, go on", f"2. {UNDO}: put it back, go on")
    return "\n".join([*lines, "options:", *options])


def settled(state: LoopState, text: str) -> list[Change]:
    """What an answer says of such files that the person was asked about. Raises UsageFault."""
    words = text.strip().lower()
    for how, number in ((UNDO, "2"), (MINE, "1")):
        if re.match(rf"(?:{number}\b|(?:\W*{how}\b))", words):
            return [("watched_settled", {"how": how})]
    raise UsageFault(f"neither {MINE} nor {UNDO}: {text[:40]!r}", f'loopkit answer "{MINE}"')


def open_rows(state: LoopState, differs: Collection[str]) -> list[Touched]:
    """Files that must not have changed, are not the person's own, and still differ from the
    start. differs: the paths that do."""
    newest = {(row.criterion, row.path): row for row in state.changes.touched}
    return [row for row in newest.values() if row.how != MINE and row.path in differs]
