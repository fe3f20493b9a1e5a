"""What a hook costs, in units of a bare interpreter that imports json, and how little that grows
with the loop.

.venv/bin/python benchmarks/hooks.py [ROUNDS] [--against DIR]

DIR is the folder of another plugin with a Stop hook (hooks/hooks.json); its hook and ours run in
turn, with a loop and without one. It is taken to keep its loop as `.claude/ralph-loop.local.md`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import _loops
import _measure
from _measure import Program

#: What a session had said before its loop began.
OLD_BYTES = 300_000_000


def hook(event: str, project: Path, home: Path, data: Path, **given: object) -> Program:
    """A hook event as the client starts it in a project; each run finds the same journal."""
    ledgers = {path: path.stat().st_size for path in project.glob(".loop/*/ledger.jsonl")}

    def before() -> None:
        for path, size in ledgers.items():
            os.truncate(path, size)

    common = {
        "session_id": _loops.SESSION,
        "cwd": str(project),
        "transcript_path": str(project.parent / "turn.jsonl"),
    }
    return Program(
        ["sh", str(_measure.ROOT / "hooks" / "run"), event],
        project,
        _measure.clean(home, data, CLAUDE_PROJECT_DIR=str(project)),
        json.dumps({**common, **given}).encode(),
        before,
    )


#: The state of the other plugin's loop: no promise in it is ever kept, no limit reached.
ARMED = """\
---
active: true
iteration: 1
session_id: {session}
max_iterations: 0
completion_promise: "ALL DONE"
started_at: "2100-01-01T00:00:00Z"
---

Answer the 101st request of a minute to /search with 429.
"""


def theirs(plugin: Path, project: Path, home: Path, data: Path, armed: bool) -> Program:
    """The Stop hook of another plugin as the client starts it: its command, through a shell."""
    entries = json.loads((plugin / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"][
        "Stop"
    ]
    command = entries[0]["hooks"][0]["command"]
    state = project / ".claude" / "ralph-loop.local.md"

    def before() -> None:
        if armed:
            state.parent.mkdir(exist_ok=True)
            state.write_text(ARMED.format(session=_loops.SESSION), encoding="utf-8")

    ours = hook("stop", project, home, data, hook_event_name="Stop", stop_hook_active=False)
    env = {**ours.env, "CLAUDE_PLUGIN_ROOT": str(plugin)}
    return Program(["sh", "-c", command], project, env, ours.stdin, before)


def fill(folder: Path, files: int) -> None:
    """A task list of the client's: that many numbered files, every fifth pending."""
    folder.mkdir(parents=True)
    for number in range(1, files + 1):
        status = "pending" if number % 5 == 0 else "completed"
        record = {
            "id": str(number),
            "subject": f"part {number}",
            "description": "",
            "status": status,
        }
        file = folder / f"{number}.json"
        file.write_text(json.dumps({**record, "blocks": [], "blockedBy": []}), encoding="utf-8")


def main() -> int:
    against = (
        Path(sys.argv.pop(sys.argv.index("--against") + 1)).resolve()
        if "--against" in sys.argv
        else None
    )
    if against is not None:
        sys.argv.remove("--against")
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
            return hook(
                "stop",
                projects[number],
                at,
                data,
                **given,
                last_assistant_message="One task is done.",
            )

        programs = {
            "bare": Program(
                [python, "-I", "-S", "-c", "import json"], home, _measure.clean(home, data)
            )
        }
        programs |= {f"stop {number}": stop(number, home) for number in projects}
        programs["listed 50"] = stop(50, listed)
        long = home / "long"
        (long / "project" / ".git").mkdir(parents=True)
        _loops.running(long / "project", 50)
        before = {"type": "user", "timestamp": "2020-01-01T00:00:00.000Z", "message": "x" * 900}
        line = json.dumps(before) + "\n"
        newest = (home / "turn.jsonl").read_text(encoding="utf-8")
        with open(long / "turn.jsonl", "w", encoding="utf-8") as file:
            file.writelines([line] * (OLD_BYTES // len(line)))
            file.write(newest)
        given = {"hook_event_name": "Stop", "stop_hook_active": False, "background_tasks": []}
        programs["long 50"] = hook("stop", long / "project", home, data, **given)
        for files in (5, 5000):
            at = home / f"filled-{files}"
            project = at / "project"
            (project / ".git").mkdir(parents=True)
            _loops.running(project, 50)
            fill(at / ".claude" / "tasks" / _loops.SESSION, files)
            given = {"hook_event_name": "Stop", "stop_hook_active": False}
            programs[f"files {files}"] = hook("stop", project, at, data, **given)
            bare = home / f"foreign-{files}"
            (bare / "project" / ".git").mkdir(parents=True)
            fill(bare / ".claude" / "tasks" / "team", files)
            one = hook("stop", bare / "project", bare, data, **given)
            programs[f"foreign {files}"] = one._replace(
                env={**one.env, "CLAUDE_CODE_TASK_LIST_ID": "team"}
            )
        if against is not None:
            programs["theirs armed"] = theirs(against, projects[50], home, data, True)
            programs["theirs idle"] = theirs(against, projects[0], home, data, False)
        given = {"hook_event_name": "SessionStart", "source": "startup"}
        programs["start 50"] = hook("session_start", projects[50], home, data, **given)
        for name, program in programs.items():
            said = _measure.output(program)
            assert bool(said) == (name not in ("bare", "stop 0", "theirs idle")), (name, said)
        times = _measure.in_turn(programs, _measure.rounds(101))
    _measure.head(
        f"reference: {python} -I -S -c 'import json'; of the last row: Stop with 50 tasks"
    )
    _measure.row("Stop, no loop in the project", times["stop 0"], times["bare"], 0.5)
    _measure.row("Stop, held, 50 open tasks", times["stop 50"], times["bare"], 1.4)
    _measure.row("the same, with the client's task list", times["listed 50"], times["bare"], None)
    _measure.row(
        "300 MB said before the loop, against none", times["long 50"], times["stop 50"], 1.3
    )
    _measure.row("SessionStart, announced, 50 tasks", times["start 50"], times["bare"], 2)
    _measure.row("Stop, held, 10,000 open tasks", times["stop 10000"], times["stop 50"], 1.2)
    _measure.row("5,000 files in its list, against 5", times["files 5000"], times["files 5"], 2)
    _measure.row(
        "5,000 files in a foreign list, against 5", times["foreign 5000"], times["foreign 5"], 2
    )
    if against is not None:
        _measure.row(
            "Stop, held, against the other plugin", times["stop 50"], times["theirs armed"], 0.3
        )
        _measure.row(
            "Stop, no loop, against the other plugin", times["stop 0"], times["theirs idle"], 0.3
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
