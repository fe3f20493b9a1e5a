"""What a command costs, in units of `python -c "import click"` in the environment that bin/loopkit
prepared.

.venv/bin/python benchmarks/cli.py [ROUNDS]
"""

from __future__ import annotations

import sys

import _loops
import _measure
from _measure import Program


def main() -> int:
    data = _measure.data_folder()
    python = data / "env" / "bin" / "python"
    with _measure.folder() as home:
        project = home / "project"
        (project / ".git").mkdir(parents=True)
        _loops.running(project, 20)
        env = _measure.clean(home, data, CLAUDE_CODE_SESSION_ID=_loops.SESSION)
        loopkit = str(_measure.ROOT / "bin" / "loopkit")
        programs = {
            "click": Program([str(python), "-c", "import click"], project, env),
            "status": Program([loopkit, "status"], project, env),
            "json": Program([loopkit, "status", "--json"], project, env),
            "help": Program([loopkit, "--help"], project, env),
            "list": Program([loopkit, "task", "list"], project, env),
        }
        said = _measure.output(programs["status"]).decode()
        assert "next: loopkit wave next" in said, said
        times = _measure.in_turn(programs, _measure.rounds(51))
    _measure.head(f'reference: {python} -c "import click"')
    _measure.row("loopkit status", times["status"], times["click"], 1.8)
    _measure.row("loopkit status --json", times["json"], times["click"], None)
    _measure.row("loopkit task list", times["list"], times["click"], None)
    _measure.row("loopkit --help", times["help"], times["click"], None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
