"""What the doctor finds of runs: journals that are damaged, programs that they use and that are not
there."""

from __future__ import annotations

from ..core.journal.errors import Damaged
from ..core.pipeline import typed
from ..store import runs
from . import process
from .agents.presets import PRESETS
from .findings import Case, Report

#: Programs that a completion strategy asks.
_ASKED = {"beads-empty": "bd"}


def runs_of(report: Report, case: Case, root: str) -> None:
    """Look at this person's runs. `claude` is looked for in any case, and not here."""
    used: dict[str, list[str]] = {}
    try:
        names = runs.names(root)
    except Damaged as error:
        report.damage(str(error))
        return
    for name in names:
        try:
            run = runs.Run.open(root, name)
            if run is None or not run.ours:  # no untrusted name reaches a session
                continue
        except Damaged as error:
            report.damage(str(error))
            continue
        for number in run.damaged:
            report.damage(f"{run.path} line {number} is no event: changed by something else")
        for program in _programs(run):
            used.setdefault(program, []).append(name)
    for program, sessions in sorted(used.items()):
        try:
            found = process.find(program, case.env.get("PATH", ""))
            report.ok(f"{program}: {found}")
        except FileNotFoundError:
            report.warn(f"{program} is not on the PATH (run {sessions[0]} needs it): install it")


def _programs(run: runs.Run) -> set[str]:
    state = run.state
    needed = {_ASKED.get(stage.part.completion, "") for stage in state.stages}
    preset = PRESETS.get(str(state.chosen.get("agent")))
    needed.add(preset.words[0] if preset else "")
    needed.add("tmux" if typed.TMUX in state.words else "")
    return needed - {""}
