"""Whether a runner of tests ran any, by the counts that it prints at its end."""

from __future__ import annotations

import re

from ..journal import prose

#: What is said of a check that ended well and ran none.
NONE_RAN = "no test ran: all were left out or skipped"


def none_ran(text: str, rows: list[dict]) -> bool:
    """Whether what a check printed says so: it counts, and all its counts together come to none.
    rows: of data/runners.toml, [[count]]."""
    counting = re.compile("|".join(row["line"] for row in rows))
    lines = [line for line in prose.plain(text).splitlines() if counting.match(line)]
    return bool(lines) and sum(_ran(line, rows) for line in lines) <= 0


def _ran(line: str, rows: list[dict]) -> int:
    row = next(row for row in rows if re.match(row["line"], line))
    return _sum(row.get("ran"), line) - _sum(row.get("less"), line)


def _sum(pattern: str | None, line: str) -> int:
    """The numbers that a pattern finds in a line; 1 for each place where it has no number."""
    found = re.findall(pattern, line) if pattern else []
    return sum(int(hit) if hit.isdigit() else 1 for hit in found)
