"""What Claude reads: holds, announcements, `/loop:start` with what it prints, descriptions of
every session.

    .venv/bin/python benchmarks/context.py

Four characters count as one token. The client's own count is used where LOOPKIT_TEST_CLIENT names
one, or script/test has put one into its cache; its figures are then printed beside those of the
commit before.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import _details
import _loops
import _measure
from _measure import ROOT, Program

from loopkit.core.plan import drafts
from loopkit.core.steps import announce
from loopkit.core.steps import snapshot as snapshots

PLUGINS = {"loop": ROOT, "hope": ROOT / "plugins" / "hope", "counsel": ROOT / "plugins" / "counsel"}
#: Skills that are loaded only where there is something to recall, or was something to learn.
ON_DEMAND = ("recall", "learn")
#: Tokens of all descriptions at most (as in tests/plugin/bundle.py).
ALWAYS_ON = 400


def tokens(text: str) -> float:
    return len(text) / 4


def body(path: Path) -> str:
    """What Claude reads of a Markdown file: all after its front matter."""
    return re.sub(r"\A---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def worst_hold(home: Path) -> tuple[str, str]:
    """The hold and the announcement of a loop whose tasks have very long subjects and whose numbers
    are large."""
    project = home / "project"
    project.mkdir()
    loop = _loops.started(project, "a request " * 2000)
    rows = [
        {**_loops.row(number), "subject": f"{number} " + "a very long subject " * 48}
        for number in range(1, 10_001)
    ]
    loop.record(drafts.added(loop.state, rows), _loops.BY)
    changes: list = [("stage_moved", {"from": "decompose", "to": "executing"})]
    for wave in range(1, 41):
        changes.append(
            ("wave_opened", {"wave": wave, "tasks": [f"T-{wave:03d}"], "sequential": False})
        )
        changes.append(
            ("wave_closed", {"wave": wave, "completed": [f"T-{wave:03d}"], "failed": []})
        )
        changes.append(
            (
                "review_light",
                {"wave": wave, "score": 10, "issues": 100, "blockers": 100, "findings": []},
            )
        )
    finding = {"id": "F-001", "severity": "BLOCKER", "issue": "wrong " * 200, "task": "T-9999"}
    changes.append(
        ("review_thorough", {"round": 1, "experts": ["a", "b", "c"], "findings": [finding]})
    )
    loop.record(changes, _loops.BY)
    snapshot = snapshots.build(loop.state, loop.offset)
    session = loop.state.session
    return announce.hold(snapshot, session, 999_999, 24.99), announce.resume(
        snapshot, session, mine=True
    )


def forty_holds(home: Path) -> list[str]:
    """The holds of an everyday loop: ten tasks in four waves, ten stops in each."""
    project = home / "everyday"
    project.mkdir()
    loop = _loops.started(project, "Answer the 101st request of a minute to /search with 429")
    sizes = (3, 3, 2, 2)
    rows = [{**_loops.row(number), "blockedBy": []} for number in range(1, sum(sizes) + 1)]
    limits = {"iterations": 50, "usd": 25.0, "seconds": None}
    loop.record([("limits_set", limits), *drafts.added(loop.state, rows)], _loops.BY)
    loop.record([("stage_moved", {"from": "decompose", "to": "executing"})], _loops.BY)
    held: list[str] = []

    def stops(number: int) -> None:
        snapshot = snapshots.build(loop.state, loop.offset)
        for _ in range(number):
            turn = len(held) + 1
            held.append(announce.hold(snapshot, loop.state.session, turn, turn * 0.6))

    for wave, size in enumerate(sizes, 1):
        ids = list(loop.state.open)[:size]
        stops(2)
        loop.record([("wave_opened", {"wave": wave, "tasks": ids, "sequential": False})], _loops.BY)
        loop.record([("task_started", {"id": one, "wave": wave}) for one in ids], _loops.BY)
        stops(5)
        loop.record([("task_completed", {"id": one}) for one in ids], _loops.BY)
        loop.record([("wave_closed", {"wave": wave, "completed": ids, "failed": []})], _loops.BY)
        stops(3)
    return held


def hook_output(home: Path, data: Path, project: Path, event: str, **given: object) -> str:
    """What a hook prints, and so what it puts into a session."""
    common = {
        "session_id": _loops.SESSION,
        "cwd": str(project),
        "transcript_path": str(home / "none.jsonl"),
    }
    program = ["sh", str(ROOT / "hooks" / "run"), event]
    environment = _measure.clean(home, data, CLAUDE_PROJECT_DIR=str(project))
    return _measure.output(
        Program(program, project, environment, json.dumps({**common, **given}).encode())
    ).decode()


def started(home: Path, data: Path) -> str:
    """What `loopkit start` and the first form put into the session."""
    project = home / "fresh"
    (project / ".git").mkdir(parents=True)
    environment = _measure.clean(home, data, CLAUDE_CODE_SESSION_ID=_loops.SESSION)
    program, printed = str(ROOT / "bin" / "loopkit"), b""
    for argv in ([program, "start", "--task-file", "-"], [program, "next"]):
        given = b"add rate limiting to the API"
        printed += _measure.output(Program(argv, project, environment, given))
    return printed.decode()


def entries() -> list[Path]:
    """The Markdown files whose descriptions every session reads."""
    patterns = ("commands/*.md", "agents/*.md", "skills/*/SKILL.md")
    return [
        path
        for folder in PLUGINS.values()
        for pattern in patterns
        for path in sorted(folder.glob(pattern))
    ]


def always_on(counted: dict[str, _details.Plugin]) -> tuple[float, str]:
    """(tokens of the descriptions of all three plugins, who counted)."""
    if len(counted) == len(PLUGINS):
        return sum(one.always for one in counted.values()), "claude plugin details"
    text = ""
    for path in entries():
        found = re.search(r"^description: *(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        name = path.parent.name if path.name == "SKILL.md" else path.stem
        text += f"{name}: {found[1] if found else ''}\n"
    return tokens(text), "front matter / 4"


def beside_before(
    program: str | None, counted: dict[str, _details.Plugin], home: Path
) -> list[str]:
    """The client's figures of this tree and of the commit before, as lines."""
    if program is None or not counted:
        return ["claude plugin details: no client here (script/test installs one)"]
    found = _details.before(ROOT, home / "before")
    if isinstance(found, str):
        return [f"claude plugin details: nothing to compare with: {found}"]
    revision, folder = found
    return _details.table(counted, _details.of(program, folder, list(PLUGINS), home), revision)


def main() -> int:
    data = _measure.data_folder()
    start = ROOT / "commands" / "start.md"
    with _measure.folder() as home:
        held, announced = worst_hold(home)
        everyday = forty_holds(home)
        empty = home / "empty"
        (empty / ".git").mkdir(parents=True)
        nothing = hook_output(
            home, data, empty, "session_start", hook_event_name="SessionStart", source="startup"
        )
        nothing += hook_output(
            home, data, empty, "stop", hook_event_name="Stop", stop_hook_active=False
        )
        in_project = hook_output(home, data, home / "project", "session_start", source="resume")
        injected = json.loads(in_project)["hookSpecificOutput"]["additionalContext"]
        printed = started(home, data)
        program = _measure.client()
        counted = _details.of(program, ROOT, list(PLUGINS), home) if program else {}
        compared = beside_before(program, counted, home)
    described, counted_by = always_on(counted)
    demanded = [PLUGINS["hope"] / "skills" / name / "SKILL.md" for name in ON_DEMAND]
    later = sum(tokens(body(path)) for path in demanded if path.exists())
    read = tokens(body(start)) + tokens(printed)
    _measure.head("reference: the most that is allowed; characters, or tokens of four characters")
    _measure.row("a hold, at its longest", len(held), 500, 1, characters)
    _measure.row(
        f"{len(everyday)} holds of a loop of ten tasks", tokens("".join(everyday)), 2500, 1, count
    )
    _measure.row("an announcement, at its longest", len(announced), 1200, 1, characters)
    _measure.row("the same, as its hook injects it", len(injected), 1200, 1, characters)
    _measure.row("/loop:start with rules, guides and first form", read, 4000, 1, count)
    _measure.row("hope:recall, hope:learn, where due", later, 4000, None, count)
    _measure.row(f"{len(entries())} descriptions, in every session", described, ALWAYS_ON, 1, count)
    _measure.row("injected where no loop is", len(nothing), 0, 0, characters)
    print(
        f"descriptions counted by: {counted_by}; start.md {tokens(body(start)):.0f}, what it "
        f"prints {tokens(printed):.0f}"
    )
    print("\n".join(compared))
    return 0


def characters(number: float) -> str:
    return f"{number:.0f} ch"


def count(number: float) -> str:
    return f"{number:.0f} tk"


if __name__ == "__main__":
    sys.exit(main())
