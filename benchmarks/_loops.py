"""Loops for the benchmarks, written through the store's API: how many tasks a loop may have is a
rule of the CLI's."""

from __future__ import annotations

import json
from pathlib import Path

import _measure  # noqa: F401  (puts the package on the path)

from loopkit.core.plan import drafts
from loopkit.store import loop as store

SESSION = "11111111-2222-4333-8444-555555555555"
BY = f"session:{SESSION}"

_CRITERIA = [
    {
        "id": "C1",
        "text": "The 101st request of a minute is answered with 429",
        "type": "execution output",
    },
    {"id": "M1", "text": "A public route changes its signature", "must_not": True},
    {"id": "M2", "text": "A runtime dependency is added", "must_not": True},
]


def row(number: int) -> dict:
    """The task of a number (1-based): every third waits for the one before it."""
    return {
        "subject": f"Count the requests of client group {number} in its own window",
        "verify": f"python -m pytest tests/test_group_{number}.py -q",
        "description": "Keep a counter for each client and minute; forget those of the minute "
        "before.",
        "blockedBy": [f"T-{number - 1:03d}"] if number % 3 == 0 else [],
        "files": [f"src/limits/group_{number}.py"],
    }


def started(project: Path, text: str = "add rate limiting to the API") -> store.Loop:
    """A project in which a loop stands before its tasks: scored, shaped."""
    root = str(project / ".loop")
    store.prepare(root)
    first = {
        "task": text,
        "session_id": SESSION,
        "client_pid": None,
        "settings": {"max_idle_stops": 3},
    }
    loop = store.Loop.create(
        root,
        text,
        [
            ("loop_started", first),
            ("limits_set", {"iterations": None, "usd": 25.0, "seconds": None}),
        ],
        BY,
    )
    values = {"outcome": 2, "scope": 2, "constraints": 2, "success": 2, "done": 2}
    changes = [("scored", {"values": values, "spec": 10, "fit": 65, "shape": "tool"})]
    changes += [
        ("stage_moved", {"from": "intent", "to": "shape"}),
        ("shape_saved", {"criteria": _CRITERIA}),
    ]
    loop.record([*changes, ("stage_moved", {"from": "shape", "to": "decompose"})], BY)
    return loop


def running(project: Path, tasks: int) -> store.Loop:
    """A project whose loop has that many open tasks (at least 6) and works on its first wave."""
    loop = started(project)
    loop.record(drafts.added(loop.state, [row(number) for number in range(1, tasks + 1)]), BY)
    wave = ["T-001", "T-002", "T-004", "T-005"]
    moved = ("stage_moved", {"from": "decompose", "to": "executing"})
    opened = ("wave_opened", {"wave": 1, "tasks": wave, "sequential": False})
    loop.record([moved, opened, *(("task_started", {"id": one, "wave": 1}) for one in wave)], BY)
    return loop


def transcript(path: Path, messages: int) -> None:
    """A turn of the client: that many calls of a tool, each with its result of some 2 kB."""
    tokens = (
        ("input", 4),
        ("output", 120),
        ("cache_creation_input", 800),
        ("cache_read_input", 30_000),
    )
    usage = {f"{kind}_tokens": count for kind, count in tokens}
    lines = []
    for number in range(messages):
        call = {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": "Bash",
            "input": {"command": "pytest -q"},
        }
        said = {
            "id": f"msg_{number}",
            "role": "assistant",
            "model": "claude-opus-5",
            "content": [call],
            "usage": usage,
        }
        lines.append(
            {"type": "assistant", "timestamp": "2100-01-01T00:00:00.000Z", "message": said}
        )
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "." * 2000}
        lines.append(
            {
                "type": "user",
                "timestamp": "2100-01-01T00:00:01.000Z",
                "message": {"content": [result]},
            }
        )
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
