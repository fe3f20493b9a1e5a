"""How many modules a command imports: the start of a program is what an agent waits for."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.kit import ROOT, Project

#: Runs the program and prints the modules that it has imported.
PROBE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from loopkit.cli import main
code = main(sys.argv[1:])
print(*sorted(sys.modules), sep="\\n", file=sys.stderr)
raise SystemExit(code)
"""


def imported(project: Project, *words: str) -> list[str]:
    state = f"{project.environment['HOME']}/.local/state"
    hooks = {"LOOPKIT_STATE": state, "LOOPKIT_OPENED": str(project.folder)}  # as they export it
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROBE, str(ROOT), *words],
        cwd=project.folder,
        env=project.env(**hooks),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done
    return done.stderr.splitlines()


def test_a_check_that_passes_imports_few_modules(project: Project) -> None:
    project.planned()
    project.ok("wave", "next")
    project.write("limiter.txt")
    modules = imported(project, "verify", "T-001", "--", "test", "-f", "limiter.txt")
    own = [name for name in modules if name.split(".")[0] == "loopkit"]
    assert len(own) <= 50, "\n".join(own)
    assert {"portalocker", "yaml", "pydantic"}.isdisjoint(modules)


def test_a_step_with_nothing_to_read_imports_no_reader(project: Project) -> None:
    project.planned()
    modules = imported(project, "next")
    lazy = {"portalocker", "yaml", "pydantic", "loopkit.core.evidence.signature"}
    assert lazy.isdisjoint(modules), lazy & set(modules)
