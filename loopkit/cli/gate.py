"""loopkit gate: what is missing before completion."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

import click

from ..core import gate, stage, verdict
from ..core.errors import Refused
from ..store import digest
from ..store.loop import Loop
from . import app


def digests(call: app.App) -> Callable[[str], str]:
    """A file's present digest, each file looked at once."""
    return functools.cache(functools.partial(digest.of, call.project))


def lost(loop: Loop) -> frozenset[str]:
    """Ids of completed tasks and of criteria whose evidence file is not where their journal line says."""
    proofs = [(task.id, task.evidence) for task in loop.state.tasks.values() if task.status == "completed"]
    proofs += list(loop.state.criterion_evidence.items())
    return frozenset(
        name for name, proof in proofs if proof is not None and not os.path.isfile(os.path.join(loop.folder, proof.log))
    )


def next_check(call: app.App, loop: Loop) -> list[str]:
    """The step after a check in review: the next one the gate waits for, or the gate itself."""
    if loop.state.session.status != verdict.RUNNING or loop.state.stage != stage.REVIEW:
        return []
    missing = gate.open_points(loop.state, digests(call), lost(loop))
    return [missing[0][1] if missing else "loopkit gate"]


FORM = """\
kind: <build | debug | refactor>
points:
  runs: "<PASS how you know | FAIL what is wrong>"
criteria:
  C2: "<PASS what was seen | FAIL what is wrong>"
confidence: <0-100>
reversal: <2A undone in a minute | 2B in five | 1 in hours>
size: <1 | 3 | 5 | 8 | 13>
alternative: "<what else was possible>"
risk: "<what could still go wrong>\""""


@app.command("gate", "loopkit gate --file -")
@click.option("--file", "source", metavar="FILE", help="The answers as block YAML; - for standard input.")
def command(call: app.App, source: str | None) -> int:
    """Show what the gate still waits for, or answer for it. It needs every task completed with evidence that fits, the
    thorough review passed, every criterion seen, and four points answered for the kind of work."""
    loop = call.own_loop()
    if source:
        changes = call.change(loop, gate.decided, app.read_record(source, dict), digests(call), lost(loop))
        result = next(change[1] for change in changes if change[0] == "gate_result")
        if result["passed"]:
            call.answer(loop, f"gate passed: {result['card']}", {"passed": True, "card": result["card"]})
            return 0
        made = [change[1]["task"]["id"] for change in changes if change[0] == "task_added"]
        call.answer(
            loop, f"gate refused: {'; '.join(result['failed'])}\n{', '.join(made)} added to mend it", {"passed": False}
        )
        return 1
    missing = gate.open_points(loop.state, digests(call), lost(loop))
    if missing:
        lines = [what for what, _ in missing]
        call.answer(loop, "the gate waits:\n" + "\n".join(lines), {"missing": lines}, [missing[0][1]])
        return 1
    if loop.state.stage != "review":
        raise Refused(f"the loop is in {loop.state.stage}", "the gate comes after the thorough review")
    lines = ["every check is there; answer the four points of your kind of work"]
    for kind, points in gate.POINTS.items():
        lines.append(f"  {kind}: " + ", ".join(f"{name} ({meaning})" for name, meaning in points.items()))
    told = [row for row in loop.state.criteria.values() if not row.command and not row.must_not]
    lines += [f"  criterion {row.id} ({row.type}): {row.text}" for row in told]
    lines.append(
        "hand in as block YAML (" + ("criteria: those above" if told else "no criteria: needed") + "):\n" + FORM
    )
    call.answer(loop, "\n".join(lines), None, ["loopkit gate --file -"])
    return 0
