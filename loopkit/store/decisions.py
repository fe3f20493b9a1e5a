"""Decisions and anti-patterns as files, `.loop/NNN-slug/learnings/NNN-slug.md`."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping

from ..core.journal import prose
from ..core.memory import decisions
from . import atomic, origin, trust

FOLDER = "learnings"
#: Most words of a file's name, alternatives and files listed, characters of a line.
MOST_WORDS, MOST_ALTERNATIVES, MOST_FILES, LONGEST = 4, 10, 20, 600
#: Bytes of a file in which a status is looked for.
LARGEST = 1_000_000
#: The status of an anti-pattern about a tree that a rollback took away.
WITHDRAWN = "WITHDRAWN by a rollback"
_DECISION = "context", "choice", "alternatives", "consequences", "depends_on", "invalidated_if"
_STATUS = re.compile(rb"^(\*\*Status:?\*\*:?[ \t]*)([^\r\n]*)", re.MULTILINE)


def name(row: dict) -> str:
    """`001-settled-once-use.md` of a decision or an anti-pattern."""
    words = prose.slug(str(row.get("title", ""))).split("-")[:MOST_WORDS]
    if len(words) < 2:
        words.append("lesson" if decisions.is_lesson(row) else "decision")
    return f"{_number(row)}-{'-'.join(words)}.md"


def _number(row: dict) -> str:
    return f"{int(row.get('number', 0)):03d}"


def text(row: dict, status: str = "") -> str:
    """The file of a decision or an anti-pattern (rule: Files, learnings/NNN-slug.md)."""
    lesson = decisions.is_lesson(row)
    stands = "ANTI-PATTERN" if lesson else "DECISION"
    lines = [
        f"# {'Anti-Pattern' if lesson else 'Decision'} {_number(row)}: {_line(row, 'title')}",
        f"**Date**: {prose.line(str(row.get('at', ''))[:10], 10)}",
        f"**Status**: {status or stands}",
    ]
    for key in ("source", "what", "why", "avoid") if lesson else _DECISION:
        if key == "alternatives":
            lines.append("**Alternatives Rejected**:")
            others = row.get(key, [])[:MOST_ALTERNATIVES]
            lines += [f"- {prose.line(other, LONGEST)}" for other in others]
        else:
            head = "instead" if key == "avoid" else key.replace("_", " ")
            lines.append(f"**{head.title()}**: {_line(row, key)}")
    if row.get("supersedes") and not lesson:
        older = ", ".join(f"{number:03d}" for number in row["supersedes"])
        lines.append(f"**Supersedes**: {older}")
    if row.get("files"):
        lines.append(f"**Files**: {prose.line(', '.join(row['files'][:MOST_FILES]), LONGEST)}")
    return "\n".join(lines) + "\n"


def _line(row: dict, key: str) -> str:
    return prose.line(row.get(key) or "none", LONGEST)


def write(
    folder: str,
    rows: Iterable[dict],
    superseded: Mapping[int, int] | None = None,
    withdrawn: Iterable[int] = (),
) -> list[str]:
    """Write the files that are missing, and the status of what no longer stands; gives the new
    paths. folder: the loop's; rows: as folded from the journal; superseded: {number: number of the
    newer one}; withdrawn: numbers of anti-patterns. A file that is there stays as it is, but for
    its status, whoever edited or renamed it. What is written is known as the person's own from then
    on. Raises OSError."""
    fallen = {number: f"SUPERSEDED by {newer:03d}" for number, newer in (superseded or {}).items()}
    fallen.update(dict.fromkeys(withdrawn, WITHDRAWN))
    made, rows = [], list(rows)
    present = _present(folder) if rows else {}
    for row in rows:
        number = int(row.get("number", 0))
        status = fallen.get(number, "")
        target = os.path.join(folder, FOLDER, present.get(_number(row)) or name(row))
        if _number(row) in present:
            if status:
                _mark(folder, target, status)
            continue
        atomic.check_inside(folder, target)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        atomic.clean_up(os.path.dirname(target))
        data = text(row, status).encode("utf-8", "replace")
        trust.vouch(trust.OWN, [_vouched(data)])
        atomic.write(target, data)
        made.append(target)
    return made


def _vouched(data: bytes) -> tuple[str, str]:
    return origin.digest(origin.DECISION, data), origin.DECISION


def _present(folder: str) -> dict[str, str]:
    """{number as written: name} of the files that are there."""
    present: dict[str, str] = {}
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for entry in sorted(os.listdir(os.path.join(folder, FOLDER))):
            if entry.endswith(".md") and entry[:3].isdigit():
                present.setdefault(entry.split("-")[0].removesuffix(".md"), entry)
    return present


def _mark(folder: str, target: str, status: str) -> None:
    """Set the status line of a regular file that is not too large; every other byte stays."""
    try:
        atomic.check_inside(folder, target)
        raw = atomic.read(target, LARGEST)
    except OSError:
        return
    wanted, match = status.encode(), _STATUS.search(raw)
    if match is not None and match[2].strip() != wanted:
        data = raw[: match.start(2)] + wanted + raw[match.end(2) :]
        how = trust.known_contents().get(_vouched(raw)[0])
        if how is not None:  # it is as trusted as before
            trust.vouch(how, [_vouched(data)])
        atomic.write(target, data)
