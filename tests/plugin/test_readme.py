"""What the README says that one can type, typed by somebody who has nothing yet."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from loopkit import replies
from loopkit.ops import taskfile
from tests.plugin.bundle import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
HEADLESS = README[README.index("## Without a session") :]

CLAUDE = """
import json, sys
sys.stdin.read()
open("hello.txt", "w").write("hello\\n")
answer = json.dumps({"status": "complete", "summary": "It says hello."})
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "num_turns": 1,
                  "result": answer, "total_cost_usd": 0.25, "terminal_reason": "completed"}))
"""


def block(text: str, kind: str) -> str:
    """The first fenced block of a kind."""
    found = re.search(rf"^```{kind}\n(.*?)^```", text, re.S | re.M)
    assert found is not None
    return found.group(1)


def test_from_nothing_to_a_run_in_three_lines(tmp_path: Path, data: Path) -> None:
    """In an empty HOME and a repository without a commit or a name of its committer."""
    home, project, programs = (tmp_path / name for name in ("home", "project", "bin"))
    for folder in (home, project, programs):
        folder.mkdir()
    (programs / "claude").write_text(f"#!{sys.executable}\n{CLAUDE}")
    (programs / "claude").chmod(0o755)
    environment = {
        "HOME": str(home),
        "PATH": f"{programs}:{home}/.local/bin:{os.environ['PATH']}",
        "LOOPKIT_DATA": str(data),
    }

    def sh(script: str) -> str:
        words = ["sh", "-eu", "-c", script]
        done = subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done
        return done.stdout

    sh("git init -q")
    install = README[README.index("Put it on your PATH") :]
    sh(block(install, "sh").replace("<folder>", str(ROOT)))
    lines = block(HEADLESS, "sh")
    assert len(lines.splitlines()) == 3
    assert "hello: completed after 1 iteration" in sh(lines)
    assert sh("git log --format=%s") == "Say hello in hello.txt (T-001)\n"
    assert json.loads(sh("loopkit runs --json"))["runs"][0]["spent"]["usd"] == 0.25


def test_the_tasks_that_it_shows_are_tasks() -> None:
    rows = replies.read("tasks", block(HEADLESS, "yaml"), "the README")
    assert [len(row["blockedBy"]) for row in rows] == [0, 1]
    assert taskfile.path_of("<name>") in HEADLESS
