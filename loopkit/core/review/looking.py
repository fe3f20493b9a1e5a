"""Whether an agent has looked at the work that it judges: at a changed file, or at a diff."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from ..evidence.changes import paths
from ..journal.parts import Changed
from ..journal.task import Task

#: Commands that show what was changed, or search through it; words by which git only counts.
_SHOWS = re.compile(
    r"\bgit\b.*\b(?:diff|show|log\b.*\s(?:-p|--patch)|blame|grep|cat-file)\b|^\s*(?:grep|rg)\b"
)
#: Where another command begins; commands that say of a file that it is there, and nothing of what
#: is in it, and git where it shows nothing.
_NEXT = re.compile(r"&&|\|\||[;\n]")
_BLIND = re.compile(
    r"^\s*(?:ls|echo|printf|stat|wc|find|file|du|true|:|test|\[|touch|cp|mv|rm|mkdir|chmod|cd|git"
    r"|basename|dirname|realpath|readlink|md5sum|sha\d*sum|cksum)(?:\s|$)"
)
_COUNTS = re.compile(r"\s(?:--(?:\w*stat|name-\w+|summary|check|quiet|no-patch)|-s|-q)(?:[\s=]|$)")


def looked(
    seen: dict,
    tasks: Iterable[Task],
    project: str,
    changed: Iterable[Changed] = (),
    *,
    tries: bool = False,
) -> bool:
    """seen: what its transcript says it read and ran (store/looks.py) · tasks: what it judges ·
    project: the folder that their files are in · changed: what was measured of them; before that
    counts what is said of them · tries: to run the check of the work is a look at it, as for a
    tester. Where nobody knows which files were changed, any look counts."""
    rows = list(tasks)
    files = {path for row in changed for path in paths(row)} or {
        path for task in rows for path in (*task.files, *(task.coded or {}).get("files", ()))
    }
    read, commands = seen.get("read") or (), seen.get("commands") or ()
    if not files:
        return bool(read or commands)
    checks = [check for task in rows for check in (task.verify, f"loopkit verify {task.id}")]
    ran = re.compile(
        "|".join(rf"{re.escape(check)}[^;&|\n]*" for check in checks if check) or "(?!)"
    )
    others = [part for line in commands for part in _NEXT.split(ran.sub("", line))]
    return (
        any(_is_near(path, files, project) for path in read)
        or any(_shows(part) or _names(part, files) for part in others)
        or (tries and any(map(ran.search, commands)))
    )


def _shows(line: str) -> bool:
    return bool(_SHOWS.search(line)) and not _COUNTS.search(line)


def _is_near(path: str, files: set[str], project: str) -> bool:
    """Whether a path that was read or searched is one of the files, or a folder of one."""
    path = posixpath.normpath(path.replace("\\", "/").removeprefix(f"{project}/"))
    if path in (".", project):
        return True
    return any(f"{file}/".startswith(f"{path}/") or path.endswith(f"/{file}") for file in files)


def _names(line: str, files: set[str]) -> bool:
    """Whether a command that can show what is in a file names one of them, as a module too."""
    if _BLIND.match(line):
        return False
    stems = {posixpath.splitext(posixpath.basename(file))[0] for file in files}
    return any(re.search(rf"(?<!\w){re.escape(stem)}(?!\w)", line) for stem in stems)
