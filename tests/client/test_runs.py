"""Runs with the real client as their agent: a loop's tasks to completion, one fresh client each."""

from __future__ import annotations

import json
import subprocess

import pytest

from loopkit.core.journal import pricing
from tests.client.conftest import Place
from tests.client.harness import ROOT, Sandbox
from tests.client.model import SMALL_USAGE, Reply, Scenario, Text, Tool, Turn, bash, write
from tests.waiting import DEADLINE

TASKS = "".join(
    f"- subject: Write {name}\n  verify: grep -qx good {name}.txt\n  files: [{name}.txt]\n"
    for name in "abc"
)
REPORT = {"status": "complete", "summary": "It is written.", "files_modified": ["a.txt"]}


def works(turn: Turn) -> Reply | None:
    """An agent of a run: it writes its file, runs its check, reports."""
    if not turn.main or not turn.prompt.startswith("loop:implementation-T-00"):
        return None
    number = int(turn.prompt.partition("T-00")[2][0])
    if turn.number == 1:
        return [write(f"{' abc'[number]}.txt", "good\n")]
    if turn.number == 2:
        return [bash(f"loopkit verify T-00{number}")]
    return [Tool("StructuredOutput", REPORT)] if turn.number == 3 else [Text("Done.")]


def loopkit(made: Sandbox, *words: str) -> subprocess.CompletedProcess:
    """The program as a person calls it, with the client on the PATH."""
    programs = made.folder / "programs"
    programs.mkdir(exist_ok=True)
    link = programs / "claude"
    if not link.is_symlink():
        link.symlink_to(made.client)
    environment = made.environment()
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    return subprocess.run(
        [str(ROOT / "bin" / "loopkit"), *words],
        cwd=made.project,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE,
    )


def test_three_tasks_are_done_by_three_clients(place: Place) -> None:
    """Each is a session of its own, in which our hooks are silent; what they cost is summed up."""
    made = place(Scenario(deviate=works))
    plans = made.project / "docs" / "plans"
    plans.mkdir(parents=True)
    (plans / "demo.tasks.yaml").write_text(TASKS)
    made.git("add", "-A")
    made.git("commit", "-qm", "tasks")
    ran = loopkit(made, "run", "work", "demo", "5", "--agent", "claude", "--json")
    story = f"{ran.stdout}\n{ran.stderr}\n{made.model.story()}"
    assert ran.returncode == 0, story
    state = json.loads(ran.stdout)
    assert state["status"] == "completed", story
    assert made.git("log", "--format=%s").splitlines()[:3] == [
        "Write c (T-003)",
        "Write b (T-002)",
        "Write a (T-001)",
    ]
    turns = made.model.main_turns
    sessions = {turn.session for turn in turns}
    assert (len(sessions), len(turns)) == (3, 9), story
    told = "\n".join(turn.newest for turn in turns)
    assert "hook additional context" not in told and "[LOOP" not in told, story
    # what each agent's own check said is evidence as the run's
    assert all(f"T-00{n} completed" in story for n in (1, 2, 3))
    model = turns[0].request["model"]
    figures = [SMALL_USAGE["input_tokens"], SMALL_USAGE["output_tokens"], 0, 0]
    usd = pricing.cost({model: [9 * figure for figure in figures]}, {})[0]
    assert state["spent"]["usd"] == pytest.approx(usd)
    assert sum(row["usd"] for row in state["history"]) == pytest.approx(usd)
    assert made.state["spent"]["usd"] == pytest.approx(usd)
    assert made.events("iteration_ended") == []


def test_commands_and_skills_of_runs_reach_the_model_whole(place: Place) -> None:
    """What `/loop:run` prints before the model reads it, and a skill that is typed with a name."""
    made = place(Scenario(deviate=lambda turn: [Text("Seen.")]))
    made.run("/loop:run")
    made.run("/loop:create-prd csv: export reports as CSV")
    told = [turn.newest for turn in made.model.main_turns]
    story = made.model.story()
    assert len(told) == 2, story
    for words in (
        "\nstage     work  ",
        "\npipeline  full-refine  ",
        "there are no runs; start one",
    ):
        assert words in told[0], story
    for words in ("docs/plans/<name>.md", "csv: export reports as CSV"):
        assert words in told[1], story
