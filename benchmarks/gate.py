"""What the proofs of a four-task loop cost at its end, against the sum of their own times.

    .venv/bin/python benchmarks/gate.py [ROUNDS]

Four criteria with a check of about a second each, and a mustNot's. `loopkit next` runs each with
the work, and those of the criteria once more without it. The reference is the five checks, one
after the other.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

import _measure

from loopkit.store import answers

COUNT, MOST = 4, 2.5
SESSION = "11111111-2222-4333-8444-555555555555"
WORK = "sum(range(25_000_000))"


def main() -> int:
    rounds = _measure.rounds(3)
    times = [round_of() for _ in range(rounds)]
    own, ours = (statistics.median(column) for column in zip(*times, strict=True))
    _measure.head(
        f"The proofs of {COUNT} tasks at the end, with the work and without it; medians of "
        f"{rounds};\nthe reference is their own time"
    )
    _measure.row("loopkit next", ours, own, MOST)
    return 0


def check(code: str) -> str:
    return f"{shlex.quote(sys.executable)} -S -c {shlex.quote(f'{WORK}; {code}')}"


def round_of() -> tuple[float, float]:
    """Seconds of the checks by themselves, and of `loopkit next` that runs them all."""
    with _measure.folder() as place:
        project = place / "project"
        project.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": str(place)}
        environment |= {"CLAUDE_CODE_SESSION_ID": SESSION, "CLAUDE_CODE_SESSION_ATTENDED": "0"}
        environment |= {"LOOPKIT_DATA": str(place / "data"), "LOOPKIT_CONFIG_DIR": str(place)}
        (place / "config.toml").write_text('verify_allow = ["*"]\n')
        for words in (("init", "-q"), ("commit", "-qm", "x", "--allow-empty")):
            subprocess.run(["git", "-c", "user.name=b", "-c", "user.email=b", *words], cwd=project)

        def loopkit(*words: str, given: str = "") -> str:
            program = ["sh", str(_measure.ROOT / "bin" / "loopkit"), *words]
            done = subprocess.run(
                program, cwd=project, env=environment, input=given, capture_output=True, text=True
            )
            assert done.returncode == 0, done
            return done.stdout

        lines = [check(f"assert open('f{number}.txt').read()") for number in range(COUNT)]
        kept = check("open('.git/HEAD').read()")
        criteria = [
            {"text": f"part {number} is there", "proof": line} for number, line in enumerate(lines)
        ]
        tasks = [
            {"subject": f"part {number}", "verify": f"test -f f{number}.txt"}
            for number in range(COUNT)
        ]
        request = {
            "scores": dict.fromkeys(("outcome", "scope", "constraints", "success", "done"), 2),
            "kind": "build",
            "title": "parts",
            "criteria": criteria,
            "must_nots": [{"text": "the head moves", "proof": kept}, {"text": "a file goes"}],
            "tasks": tasks,
        }
        loopkit("start", "--task-file", "-", given="write the four parts")
        loopkit("next")
        loopkit("submit", "--file", "-", given=json.dumps(request))
        (folder,) = [one for one in (project / ".loop").iterdir() if one.name[:3] == "001"]
        for number in range(COUNT):
            (project / f"f{number}.txt").write_text("there\n")
            name = f"implementation-T-{number + 1:03d}-1"
            text = json.dumps({"status": "complete", "summary": "written"})
            answers.write(str(folder), name, {"text": text, "by": "stop"})
        began = time.perf_counter()
        said = loopkit("next")
        ours = time.perf_counter() - began
        assert said.count("fails without the work") == COUNT, said
        return sum(own(line, project) for line in (*lines, kept)), ours


def own(line: str, project: Path) -> float:
    began = time.perf_counter()
    subprocess.run(shlex.split(line), cwd=project, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
