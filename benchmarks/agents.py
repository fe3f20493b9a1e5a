"""Agents that are programs: what a long output takes of our memory, what fifty at once cost.

benchmarks/agents.py [ROUNDS]    (of starting programs; default 60)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import _measure as measure

#: Bytes of output, peak memory of whoever runs that agent, agents at once.
SIZE, MOST_MEMORY, MANY = 200_000_000, 120_000_000, 50
#: Seconds between two beats of a heart that beats beside them, and the most there may be.
BEAT, LATEST = 0.1, 2.0

#: Prints SIZE bytes as Claude Code would: much of it in one line, then its result.
STREAM = f"""
import json, sys
result = {{"type": "result", "is_error": False, "result": "done", "num_turns": 1}}
row = json.dumps({{"type": "user", "message": {{"content": "x" * 99_900}}}}) + "\\n"
for _ in range({SIZE} // 2 // len(row)): sys.stdout.write(row)
for _ in range({SIZE} // 2 // 100_000): sys.stdout.write("y" * 100_000)
print("\\n" + json.dumps(result))
"""
#: Runs an agent once and prints its outcome and its own peak memory in bytes.
RUNNER = """
import json, resource, sys
from loopkit.engine import agents
from loopkit.engine.agents import Options, Prompt
from loopkit.engine.process import Deadlines
name, program, log = sys.argv[1:]
agent = agents.make(name, Options(program=(program,)))
answer = agent.run(Prompt("x", log=log), None, Deadlines(), ".")
print(json.dumps([answer.outcome, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
"""


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return path


def memory(folder: Path, name: str) -> None:
    """Peak memory of a process that runs an agent with a long output."""
    path = program(folder, "claude", STREAM)
    env = {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(measure.ROOT),
    }
    words = [sys.executable, "-c", RUNNER, name, str(path), str(folder / "log")]
    done = subprocess.run(words, env=env, cwd=folder, capture_output=True, check=True)
    outcome, peak = json.loads(done.stdout)
    assert outcome == "done", outcome
    what = f"memory, {SIZE // 1_000_000} MB through agent {name}"
    measure.row(what, peak, MOST_MEMORY, 1, lambda size: f"{size / 1e6:.0f} MB")


def starts(folder: Path, rounds: int) -> None:
    """An agent's run and the bare start of its program, in turn."""
    from loopkit.engine import agents
    from loopkit.engine.process import Deadlines

    words = (sys.executable, "-c", "import json")
    agent = agents.make("command", agents.Options(program=words))
    ours, bare = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        agent.run(agents.Prompt("x"), None, Deadlines(), folder)
        ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        subprocess.run(words, cwd=folder, input=b"x", capture_output=True, check=True)
        bare.append(time.perf_counter() - began)
    ours.sort()
    bare.sort()
    measure.row("agent command, a short program", ours[rounds // 2], bare[rounds // 2], 1.3)


def at_once(folder: Path) -> None:
    """Many agents side by side: against the bare programs, and beside a heart that beats."""
    from loopkit.engine import agents
    from loopkit.engine.process import Deadlines

    text = "import sys, time\nfor _ in range(20): print('x' * 10_000, flush=True); time.sleep(0.05)"
    words = (str(program(folder, "slow", text)),)
    agent = agents.make("command", agents.Options(program=words))
    beats, over = list[float](), threading.Event()

    def beat() -> None:
        while not over.wait(BEAT):
            beats.append(time.perf_counter())

    def bare() -> None:
        subprocess.run(words, cwd=folder, input=b"x", capture_output=True, check=True)

    taken, ends = [], list[float]()

    def ours() -> None:
        answer = agent.run(agents.Prompt("x"), None, Deadlines(), folder)
        assert answer.outcome == "done", answer
        ends.append(time.perf_counter())

    heart = threading.Thread(target=beat)
    for action in (bare, ours):
        threads = [threading.Thread(target=action) for _ in range(MANY)]
        began = time.perf_counter()
        if action is ours:
            beats.append(began)
            heart.start()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        taken.append(time.perf_counter() - began)
    over.set()
    heart.join()
    measure.row(f"{MANY} agents at once", taken[1], taken[0], 1.5)
    first = min(ends) - (max(ends) - taken[1])
    measure.row("the last of them ÷ the first", taken[1], first, 2)
    gap = max(later - sooner for sooner, later in zip(beats, beats[1:], strict=False))
    measure.row("longest time between two heartbeats", gap, LATEST, 1)


def main() -> None:
    measure.head("agents that are programs; reference: the bare programs, or what is allowed")
    with measure.folder() as folder:
        for name in ("command", "claude"):
            with tempfile.TemporaryDirectory(dir=folder) as inner:
                memory(Path(inner), name)
        starts(folder, measure.rounds(60))
        at_once(folder)


if __name__ == "__main__":
    main()
