"""A plan read from a numbered list, where a planner gives no record."""

from __future__ import annotations

import re

from . import Invalid, check

#: Characters of an answer that are looked at.
LARGEST = 100_000
#: Entries that such a list may have.
MOST = 15
_ITEM = re.compile(r"^[ ]{0,3}(\d{1,3})[.)][ \t]+(\S.*)$")


def fallback(name: str, text: str, test_command: str | None) -> dict | None:
    """A plan or replan, or None: no such list, two of them, too long, no test command known. An
    entry is `description | complexity`; without a complexity that we know it is medium."""
    if name not in ("plan", "replan") or not test_command:
        return None
    tasks: list[dict] = []
    for line in text[:LARGEST].splitlines():
        item = _ITEM.match(line)
        if item:
            if int(item[1]) != len(tasks) + 1:
                return None
            tasks.append({**_task(item[2]), "verify": test_command})
        elif tasks and line[:2] in ("  ", "\t") and line.strip():
            tasks[-1]["description"] += "\n" + line.strip()
    if not tasks or len(tasks) > MOST:
        return None
    analysis = {} if name == "plan" else {"analysis": "read from a numbered list"}
    try:
        return check(name, {**analysis, "tasks": tasks})
    except Invalid:
        return None


def _task(text: str) -> dict:
    words, _, grade = text.rpartition("|")
    grade = grade.strip(" *_.`").lower()
    if not words or grade not in ("simple", "medium", "complex"):
        words, grade = text, "medium"
    return {"description": " ".join(words.replace("**", "").split()), "complexity": grade}
