"""What a hook costs, in units of a bare interpreter that imports json, and how little that grows with the loop.

.venv/bin/python benchmarks/hooks.py [ROUNDS]
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import _loops
import _measure
from _measure import Program


def hook(event: str, project: Path, home: Path, data: Path, **given: object) -> Program:
    """A hook event as the client starts it in a project; each run finds the same journal."""
    ledgers = {path: path.stat().st_size for path in project.glob(".loop/*/ledger.jsonl")}

    def before() -> None:
        for path, size in ledgers.items():
            os.truncate(path, size)

    common = {"session_id": _loops.SESSION, "cwd": str(project), "transcript_path": str(project.parent / "turn.jsonl")}
    return Program(
        ["sh", str(_measure.ROOT / "hooks" / "run"), event],
        project,
        _measure.clean(home, data, CLAUDE_PROJECT_DIR=str(project)),
        json.dumps({**common, **given}).encode(),
        before,
    )


def main() -> int:
    data = _measure.data_folder()
    python = (data / "python").read_text(encoding="utf-8").strip()
    with _measure.folder() as home:
        _loops.transcript(home / "turn.jsonl", 20)
        projects = {number: home / f"project-{number}" for number in (0, 50, 10_000)}
        for number, project in projects.items():
            (project / ".git").mkdir(parents=True)
            if number:
                _loops.running(project, number)

        listed = home / "listed"  # a home in which the client keeps a task list for the session
        (listed / ".claude" / "tasks" / _loops.SESSION).mkdir(parents=True)

        def stop(number: int, at: Path) -> Program:
            given = {"hook_event_name": "Stop", "stop_hook_active": False, "background_tasks": []}
            return hook("stop", projects[number], at, data, **given, last_assistant_message="One task is done.")

        programs = {"bare": Program([python, "-I", "-S", "-c", "import json"], home, _measure.clean(home, data))}
        programs |= {f"stop {number}": stop(number, home) for number in projects}
        programs["listed 50"] = stop(50, listed)
        given = {"hook_event_name": "SessionStart", "source": "startup"}
        programs["start 50"] = hook("session_start", projects[50], home, data, **given)
        for name, program in programs.items():
            said = _measure.output(program)
            assert bool(said) == (name not in ("bare", "stop 0")), (name, said)
        times = _measure.in_turn(programs, _measure.rounds(101))
    _measure.head(f"reference: {python} -I -S -c 'import json'; of the last row: Stop with 50 tasks")
    _measure.row("Stop, no loop in the project", times["stop 0"], times["bare"], 0.5)
    _measure.row("Stop, held, 50 open tasks", times["stop 50"], times["bare"], 1.5)
    _measure.row("the same, with the client's task list", times["listed 50"], times["bare"], None)
    _measure.row("SessionStart, announced, 50 tasks", times["start 50"], times["bare"], None)
    _measure.row("Stop, held, 10,000 open tasks", times["stop 10000"], times["stop 50"], 1.2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
