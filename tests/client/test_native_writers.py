"""The client and our writers change one task list at the same time: nothing lost, no id twice, no
lock left."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.client.harness import DEADLINE, ROOT, Sandbox
from tests.client.model import Reply, Text, Tool, Turn
from tests.client.test_two_sessions import ONE, PANEL, armed, record

ADDED, CHANGED, HOOKS, SYNCS = 8, 12, 12, 60  # what our three processes do
FIRST, LATER = 12, 3  # what Claude creates, before and after it deletes
DELETED = (3, 6, 9)

# Each waits for the client's first task, works through its calls, and ends with what went wrong.
COMMANDS = f"""
import os, sys, time
import loopkit.cli
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
def call(*words):
    code = loopkit.cli.main(list(words))
    if code != 0:
        sys.exit(f"{{code}}: {{words}}")
for number in range({ADDED}):
    call("task", "add", f"ours {{number}}", "--verify", f"test -f {{number}}.txt")
for number in range({CHANGED}):
    call("task", "set", f"T-{{2 + number % {ADDED}:03d}}", "--verify", f"test -f changed-{{number}}.txt")
"""
EVENTS = f"""
import json, os, subprocess, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
given = json.dumps({{"session_id": sys.argv[2], "cwd": os.getcwd(), "source": "compact"}}).encode()
for number in range({HOOKS}):
    done = subprocess.run(["sh", sys.argv[3], "session_start"], input=given, capture_output=True)
    if done.returncode or done.stderr or b"belongs to this session" not in done.stdout:
        sys.exit(f"{{done}}")
"""
# The sync alone, as fast as it goes, once Claude has made its tasks: each time every task has
# another description.
SYNC = f"""
import os, sys, time
from loopkit.store import loops, native
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
root, name = ".loop", loops.names(".loop")[-1]
for number in range({SYNCS}):
    rows = [row._replace(description=f"{{row.id}} {{number}}") for row in native.rows(loops.fold(root, name)[0])]
    done = native.sync(rows, os.path.dirname(sys.argv[1]), name)
    if done.skipped:
        sys.exit(f"{{done}}")
"""


def writers(here: Sandbox) -> list[subprocess.Popen]:
    """Our commands, our hooks and the sync alone in a process each, on the list of session ONE,
    from its first native task on."""
    env = here.environment({"CLAUDE_CODE_SESSION_ID": ONE, "PYTHONPATH": str(ROOT), **PANEL})
    first, last = (
        str(here.home / ".claude" / "tasks" / ONE / f"{number}.json") for number in (1, FIRST)
    )
    argv = ([COMMANDS, first], [EVENTS, first, ONE, str(ROOT / "hooks" / "run")], [SYNC, last])
    return [
        subprocess.Popen(
            [sys.executable, "-c", *words],
            cwd=here.project,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in argv
    ]


def create(numbers: range) -> Reply:
    """TaskCreate calls in one message."""
    return [
        Tool("TaskCreate", {"subject": f"Claude's {one}", "description": "d"}) for one in numbers
    ]


def update(known: list[int], number: int) -> Reply:
    """A TaskUpdate of each task in one message: fields that our writer has to leave alone."""
    return [
        Tool(
            "TaskUpdate",
            {"taskId": str(one), "owner": f"agent-{one}", "metadata": {f"round {number}": "x"}},
        )
        for one in known
    ]


def test_the_client_and_our_writers_on_one_list(place) -> None:
    here = place()
    everything = list(range(1, FIRST + 1))
    kept = [one for one in everything if one not in DELETED]
    ours: list[subprocess.Popen] = []
    rounds = 0  # of updates; they go on until our writers are done

    def deviate(turn: Turn) -> Reply | None:
        nonlocal rounds
        if not turn.main:
            return None
        if turn.number <= 2:
            half = FIRST // 2
            return create(range(1, half + 1) if turn.number == 1 else range(half + 1, FIRST + 1))
        if turn.number == 4:
            return [
                Tool("TaskUpdate", {"taskId": str(one), "status": "deleted"}) for one in DELETED
            ]
        if rounds < 3 or (any(one.poll() is None for one in ours) and rounds < 500):
            rounds += 1
            return update(everything if rounds == 1 else kept, rounds)
        made = sum(call.text.count("Claude's") for call in turn.calls)
        return create(range(FIRST + 1, FIRST + LATER + 1)) if made == FIRST else [Text("Done.")]

    here.model.scenario.deviate = deviate
    armed(here)
    ours += writers(here)
    run = here.run("Make tasks.", "--session-id", ONE, env=PANEL)
    faults = [one.communicate(timeout=DEADLINE)[1] for one in ours]
    assert [one.returncode for one in ours] == [0, 0, 0], faults
    assert here.loopkit("task", "list", session=ONE).returncode == 0

    # the client's own calls all went through
    calls = [event for event in here.model.main_turns[-1].events if event.kind == "result"]
    done = re.compile("created successfully|Updated task")
    assert [event.text for event in calls if event.failed or not done.search(event.text)] == []
    numbers = [
        int(found) for event in calls for found in re.findall(r"Task #(\d+) created", event.text)
    ]
    assert numbers[:FIRST] == everything
    assert len(set(numbers)) == len(numbers) == FIRST + LATER

    # nothing is lost, in the list or in the ledger
    files, lost = here.list_of(ONE), []
    for one in kept:
        row = files[str(one)]
        assert (row["subject"], row["owner"]) == (f"Claude's {one}", f"agent-{one}")
        assert row["metadata"]["loopId"]
        lost += [
            (one, number)
            for number in range(1, rounds + 1)
            if f"round {number}" not in row["metadata"]
        ]
    assert lost == []
    rows = [event["task"] for event in here.events("task_added")]
    native = [row["native"] for row in rows if row.get("native")]
    assert len(native) == len(set(native)) and set(native) >= {
        str(one) for one in numbers if one not in DELETED
    }
    mine = {row["id"]: row["subject"] for row in rows if not row.get("native")}
    assert len({row["id"] for row in rows}) == len(rows)
    assert sorted(mine.values()) == sorted(
        ["write the limiter", *(f"ours {number}" for number in range(ADDED))]
    )
    assert {name: files[name]["subject"] for name in mine} == mine

    # and nothing is left behind
    folder = here.home / ".claude" / "tasks" / ONE
    assert [path.name for path in folder.iterdir() if path.is_dir() or ".tmp." in path.name] == []
    assert run.result["is_error"] is False
    record(
        "native-writers",
        f"client: {len(numbers)} created, {len(DELETED)} deleted, "
        f"{FIRST + (rounds - 1) * len(kept)} updated\n"
        f"ours meanwhile: {ADDED} tasks added, {CHANGED} changed, {HOOKS} hooks, {SYNCS} syncs of "
        "the whole list\n"
        "lost 0, ids twice 0, locks left 0, calls refused 0\n",
    )
