"""Runs of stages and pipelines, with scripted agents and small programs."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from loopkit.core.pipeline import status
from loopkit.core.pipeline.completion import Verdict, counted
from loopkit.engine import agents
from loopkit.ops.runs import completions, validators
from loopkit.store import journal, runs
from tests.cli.kit import Answer, Project, at_once

PLATEAU = "completion: plateau\nmin_iterations: 2\noutput_parse: plateau:PLATEAU why:WHY\n"


class Bench:
    """A project with stages, and agents that answer from a script."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.root = project.root
        self.root.mkdir()

    def stage(self, name: str, rest: str = "completion: fixed-n\n", prompt: str = "Do it.") -> None:
        folder = self.root / "stages" / name
        folder.mkdir(parents=True, exist_ok=True)
        text = f"name: {name}\ndescription: Try it\n{rest}"
        (folder / "stage.yaml").write_text(
            text if "delay" in rest else text + "delay: 0\n", "utf-8"
        )
        (folder / "prompt.md").write_text(prompt, "utf-8")

    def pipeline(self, name: str, *rows: str) -> None:
        folder = self.root / "pipelines"
        folder.mkdir(exist_ok=True)
        rows = tuple(f"  - {{{row}}}\n" for row in rows)
        (folder / f"{name}.yaml").write_text(f"name: {name}\nstages:\n{''.join(rows)}", "utf-8")

    def script(self, **steps: Any) -> None:
        """Answers by stage, or by stage and iteration as `s_2`."""
        rows = {name.replace("_", " "): row for name, row in steps.items()}
        file = self.project.folder / "s.yaml"
        file.write_text(json.dumps({"steps": rows}), "utf-8")
        os.utime(file, (1, 1))  # no agent has changed it

    def run(self, *words: str, **more: Any) -> Answer:
        scripted = () if "--" in words else ("--agent", "script", "--script", "s.yaml")
        return self.project.lk("run", *scripted, *words, session=None, **more)

    def lk(self, *words: str, **more: Any) -> Answer:
        return self.project.lk(*words, session=None, **more)

    def folder(self, session: str = "a") -> Path:
        return self.root / "runs" / session

    def state(self, session: str = "a") -> dict[str, Any]:
        return json.loads((self.folder(session) / "state.json").read_text("utf-8"))

    def progress(self, session: str = "a") -> str:
        return (self.folder(session) / f"progress-{session}.md").read_text("utf-8")


@pytest.fixture
def bench(project: Project) -> Bench:
    return Bench(project)


def votes(*values: str) -> dict[str, dict]:
    return {f"s_{number}": {"text": f"PLATEAU: {one}"} for number, one in enumerate(values, 1)}


def told(state: dict) -> dict:
    """What two runs of the same have in common."""
    times = ("started_at", "timestamp", "completed_at", "seconds", "spent", "session")
    rows = json.loads(json.dumps(state))
    for row in (rows, *rows["stages"], *rows["history"]):
        for name in times:
            row.pop(name, None)
    return rows


def git_only(bench: Bench) -> str:
    """A PATH with nothing but git."""
    folder = bench.project.folder.parent / "git-only"
    folder.mkdir(exist_ok=True)
    (folder / "git").symlink_to(str(shutil.which("git")))
    return str(folder)


# -- three forms, one path


def test_three_forms_give_the_same_state(bench: Bench) -> None:
    bench.stage("s", PLATEAU)
    bench.script(**votes("false", "true", "true"))
    forms = (("s", "a"), ("stage", "s", "b"), ("pipeline", "--single-stage", "s", "c"))
    for form in forms:
        answer = bench.run(*form, "5")
        assert answer.exit == 0 and answer.err == "", answer
    first, *others = (told(bench.state(name)) for name in "abc")
    assert all(other == first for other in others)
    assert first["type"] == "loop" and first["status"] == "completed"
    assert first["completion_reason"] == "complete" and first["iteration_completed"] == 3


def test_a_run_leaves_its_files_and_no_lock(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "found it", "cost": 0.5})
    answer = bench.run("s", "a", "2")
    assert answer.exit == 0, answer
    names = {str(path.relative_to(bench.folder())) for path in bench.folder().rglob("*")}
    assert {"ledger.jsonl", "state.json", "progress-a.md", "stage-1-s/run-0.md"} <= names
    assert "lock" not in names and not [name for name in names if name.endswith(".tmp")]
    assert (bench.folder() / "stage-1-s/run-1.md").read_text() == "found it"
    assert bench.state()["spent"]["usd"] == 1.0
    assert "s 2 of 2: done" in answer.out and "$0.50, $1.00 of $25 so far" in answer.out
    text = bench.progress()
    assert text.startswith("# Progress: a\n\nVerify: (no command is known)\n")
    assert "## Codebase patterns" in text
    assert text.count("found it") == 2


def test_limits_that_nobody_gave_are_printed_and_in_force(bench: Bench) -> None:
    bench.stage("s", PLATEAU)
    bench.script(s={"text": "PLATEAU: no"})
    answer = bench.run("s", "a")
    assert "at most 25 iterations, $25, 2 h" in answer.out
    assert answer.exit == 75 and bench.state()["spent"]["iterations"] == 25
    assert bench.state()["limits"] == {"iterations": 25, "usd": 25, "seconds": 7200}
    assert "incomplete" in answer.out.splitlines()[-1] and bench.state()["status"] == "limit"
    (bench.root / "config.toml").write_text("[limits]\niterations = 3\n")
    answer = bench.run("s", "b", "--usd", "none", "--time", "none")
    assert "at most 3 iterations, no limit on cost, no limit on time" in answer.out


# -- strategies


@pytest.mark.parametrize(
    ("given", "least", "done"),
    [("TT", 1, 2), ("TT", 2, 2), ("TTT", 3, 3), ("FT", 2, None), ("TFTT", 2, 4), ("T-T", 2, None)],
)
def test_plateau_as_it_runs(bench: Bench, given: str, least: int, done: int | None) -> None:
    bench.stage("s", PLATEAU.replace("2", str(least)))
    words = {"T": "PLATEAU: true", "F": "PLATEAU: false", "-": "nothing"}
    bench.script(**{f"s_{n}": {"text": words[one]} for n, one in enumerate(given, 1)})
    answer = bench.run("s", "a", str(len(given)))
    assert answer.exit == (0 if done else 75), answer
    assert bench.state()["spent"]["iterations"] == (done or len(given))
    if "-" in given:
        assert bench.state()["history"][1]["plateau"] is None
        assert "PLATEAU" in bench.progress()


def test_votes_do_not_count_across_stages(bench: Bench) -> None:
    bench.stage("s", PLATEAU)
    bench.pipeline("two", "name: a, stage: s, runs: 1", "name: b, stage: s, runs: 2")
    bench.script(a={"text": "PLATEAU: true"}, b_1={"text": "PLATEAU: true"}, b_2={"text": "x"})
    assert bench.run("two", "a").exit == 75
    assert [row["status"] for row in bench.state()["stages"]] == ["limit", "limit"]
    bench.script(a={"text": "PLATEAU: true"}, b={"text": "PLATEAU: true"})
    assert bench.run("two", "b").exit == 75  # stage a had one agent only
    assert [row["status"] for row in bench.state("b")["stages"]] == ["limit", "completed"]


def test_fixed_n_runs_exactly_so_often(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "PLATEAU: true"})
    assert bench.run("s", "a", "7").exit == 0
    assert bench.state()["iteration_completed"] == 7 and bench.state()["status"] == "completed"


ODD = ["a b", "$(touch pwned)", "${SESSION} $${ITEM}", "'\"\\", "ünï🙂", "-x", "a;b|c"]


def test_all_items_each_once_in_order_odd_characters_included(bench: Bench) -> None:
    bench.stage("s", "completion: all-items\n", "Work on <${ITEM}> ${INDEX}.")
    (bench.project.folder / "items.txt").write_text("\n".join(ODD) + "\n", "utf-8")
    echo = "import sys; print(sys.stdin.read().split('>')[0].split('<')[1])"
    words = ("s", "a", "--items-file", "items.txt", "--", sys.executable, "-c", echo)
    answer = bench.run(*words)
    assert answer.exit == 0, answer
    results = [(bench.folder() / f"stage-1-s/run-{n}.md").read_text("utf-8") for n in range(7)]
    assert [one.rstrip("\n") for one in results] == ODD
    assert not (bench.project.folder / "pwned").exists()


def test_no_items_are_no_work_and_many_are_all_done(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # so many take their time
    bench.stage("s", "completion: all-items\nitems: [one, two]\n")
    bench.script(s={"text": "x"})
    assert bench.run("s", "a").exit == 0 and bench.state()["iteration_completed"] == 2
    (bench.project.folder / "none.txt").write_text("\n")
    assert bench.run("s", "b", "--items-file", "none.txt").exit == 0
    assert bench.state("b")["iteration_completed"] == 0
    assert bench.state("b")["status"] == "completed"
    assert bench.run("s", "d", "--items", "only").exit == 0
    assert bench.state("d")["iteration_completed"] == 1
    (bench.project.folder / "many.txt").write_text("\n".join(map(str, range(200))))
    assert bench.run("s", "c", "--items-file", "many.txt", "--usd", "none").exit == 0
    assert bench.state("c")["iteration_completed"] == 200


def test_items_stay_those_of_the_start(bench: Bench) -> None:
    bench.stage("s", "completion: all-items\n", "${ITEM}")
    bench.script(s={"text": "x"}, s_3={"outcome": "fatal", "error": "fell"})
    items = [word for one in ("a", "b", "c", "d") for word in ("--items", one)]
    assert bench.run("s", "a", *items).exit == 1
    bench.script(s={"text": "x"})
    assert "keeps the items" in bench.run("s", "a", "--resume", "--items", "z").err
    assert bench.run("s", "a", "--resume").exit == 0
    assert [row["iteration"] for row in bench.state()["history"]] == [1, 2, 3, 4]


FAKE_BD = "#!{python}\nimport json, sys\nsys.exit(exec(open({plan!r}).read()))\n"


def bd(bench: Bench, plan: str) -> str:
    """A PATH on which `bd` does what `plan` says."""
    folder = bench.project.folder.parent / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "plan.py").write_text(plan)
    program = folder / "bd"
    program.write_text(FAKE_BD.format(python=sys.executable, plan=str(folder / "plan.py")))
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_beads_empty_asks_for_the_sessions_label(bench: Bench) -> None:
    bench.stage("s", "completion: beads-empty\ncheck_before: true\n")
    bench.script(s={"text": "x"})
    plan = "import os; open('asked','a').write(' '.join(sys.argv[1:])+'\\n')\n"
    plan += "print('[]' if os.path.getsize('asked') > 90 else '[{}]')"
    path = bd(bench, plan)
    assert bench.run("s", "a", "5", PATH=path).exit == 0
    asked = (bench.project.folder / "asked").read_text().splitlines()
    ready, begun = "ready --label=loop/a --json", "list --label=loop/a --status=in_progress --json"
    assert asked == [*[ready] * 4, begun]
    assert bench.state()["iteration_completed"] == 3
    assert bench.run("s", "b", PATH=path).exit == 0  # empty before the first iteration
    assert bench.state("b")["iteration_completed"] == 0


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ("print('[]'); sys.exit(1)", "exits 1"),
        ("print('No ready work found')", "no JSON"),
        ("print('{}')", "no list"),
        ("print('')", "no JSON"),
        ("print('null')", "no list"),
    ],
)
def test_a_tracker_that_cannot_say_is_never_empty(bench: Bench, plan: str, why: str) -> None:
    bench.stage("s", "completion: beads-empty\n")
    bench.script(s={"text": "x"})
    answer = bench.run("s", "a", PATH=bd(bench, plan))
    assert answer.exit == 1 and why in bench.state()["error"]
    assert bench.state()["status"] == "failed"


TRACKER = """
import json, os
rows = json.loads(os.environ.get("ROWS", "[]"))
known = {"ready": ("--label=loop/a", "--json"),
         "list": ("--label=loop/a", "--status=in_progress", "--json")}
if tuple(sys.argv[2:]) != known.get(sys.argv[1]):
    sys.exit(f"unknown: {sys.argv[1:]}")
status = {"ready": "open", "list": "in_progress"}[sys.argv[1]]
if status in os.environ.get("BROKEN", ""):
    sys.exit("Error: no beads database found")
at = "seen"
first = not os.path.exists(at)
found = [row for row in rows if row["status"] == status and first]
if status == "in_progress":
    open(at, "w").close()
print(json.dumps({"schema_version": 1, "data": found} if os.environ.get("ENVELOPE") else found))
"""


@pytest.mark.parametrize("envelope", ["", "1"])
def test_a_bead_that_an_agent_was_cut_off_from_is_not_done(bench: Bench, envelope: str) -> None:
    bench.script(**{"work-beads": {"text": "x"}})
    rows = json.dumps([{"id": "bd-1", "status": "in_progress", "labels": ["loop/a"]}])
    more = {"PATH": bd(bench, TRACKER), "ROWS": rows, "ENVELOPE": envelope}
    answer = bench.run("work-beads", "a", **more)
    assert answer.exit == 0 and bench.state()["iteration_completed"] == 1, answer
    assert bench.state()["stages"][0]["reason"] == "no bead is ready with label loop/a"


def test_what_is_in_progress_need_not_be_known(bench: Bench) -> None:
    bench.stage("s", "completion: beads-empty\ncheck_before: true\n")
    bench.script(s={"text": "x"})
    path = bd(bench, TRACKER)
    assert bench.run("s", "a", PATH=path, BROKEN="in_progress").exit == 0
    assert "nobody knows: bd cannot say" in bench.state()["stages"][0]["reason"]
    assert bench.run("s", "a", "--force", PATH=path, BROKEN="open").exit == 1
    assert "no beads database found" in bench.state()["error"]


def test_prompts_of_beads_ask_for_the_sessions_label(bench: Bench) -> None:
    path = bd(bench, TRACKER)
    said = {
        name: bench.lk("run", name, "a", "--dry-run", PATH=path).out
        for name in ("refine-beads", "work-beads")
    }
    assert "bd list --label=loop/a --json" in said["refine-beads"]
    for words in ("list --label=loop/a --status=in_progress", "ready --label=loop/a"):
        assert f"bd {words} --json" in said["work-beads"]


def test_a_missing_tracker_is_named_before_anything_begins(bench: Bench) -> None:
    bench.stage("s", "completion: beads-empty\n")
    bench.script(s={"text": "x"})
    answer = bench.run("s", "a", PATH=git_only(bench))
    assert answer.exit == 3 and "bd is not on the PATH" in answer.err
    assert not bench.folder().exists()


# -- prompts and results


def test_every_variable_reaches_the_agent(bench: Bench) -> None:
    names = "SESSION SESSION_NAME ITERATION INDEX PROGRESS PROGRESS_FILE OUTPUT ITEM PERSPECTIVE"
    prompt = "".join(f"{name}=${{{name}}}\n" for name in names.split()) + "${INPUTS} ${NOPE}"
    bench.stage("s", "completion: fixed-n\n", prompt)
    bench.pipeline("p", "name: one, stage: s, runs: 3, perspectives: [near, far]")
    answer = bench.run("p", "a", "--", sys.executable, "-c", "import sys; print(sys.stdin.read())")
    assert answer.exit == 0, answer
    rows = [(bench.folder() / f"stage-1-one/run-{n}.md").read_text() for n in range(3)]
    second = dict(line.split("=", 1) for line in rows[1].splitlines() if "=" in line)
    assert second["SESSION"] == second["SESSION_NAME"] == "a"
    assert (second["ITERATION"], second["INDEX"], second["PERSPECTIVE"]) == ("2", "1", "far")
    assert second["PROGRESS"] == second["PROGRESS_FILE"] == str(bench.folder() / "progress-a.md")
    assert second["OUTPUT"] == str(bench.folder() / "stage-1-one/run-1.md")
    assert "PERSPECTIVE=near" in rows[2] and "${NOPE}" in rows[2]
    assert "in the foreground" in rows[0]


def test_results_flow_from_stage_to_stage_to_the_letter(bench: Bench) -> None:
    bench.stage("a")
    bench.stage("b", prompt="<${INPUTS}>${INPUTS.one}")
    bench.pipeline("p", "name: one, stage: a, runs: 1", "name: two, stage: b, runs: 1")
    text = "${SESSION} $${X} \\1 ${INPUTS}"
    code = f"import sys; t = sys.stdin.read(); print(t if '<' in t else {text!r}, end='')"
    assert bench.run("p", "a", "--", sys.executable, "-c", code).exit == 0
    assert (bench.folder() / "stage-1-one/output.md").read_text() == text
    assert (bench.folder() / "stage-2-two/output.md").read_text().startswith(f"<{text}>{text}")
    assert "## Stage 1: one" in bench.progress() and "## Stage 2: two" in bench.progress()


def test_what_the_agent_wrote_itself_is_its_result(bench: Bench) -> None:
    bench.stage("s", prompt="${OUTPUT}")
    code = "import sys; open(sys.stdin.readline().strip(), 'w').write('mine'); print('said')"
    assert bench.run("s", "a", "1", "--", sys.executable, "-c", code).exit == 0
    assert (bench.folder() / "stage-1-s/output.md").read_text() == "mine"


@pytest.mark.parametrize(("name", "runs"), [("quick", 3), ("full", 5), ("deep", 8)])
def test_shipped_pipelines_run_all_their_agents(bench: Bench, name: str, runs: int) -> None:
    for stage in ("improve-plan", "refine-tasks"):
        shipped = Path(__file__).resolve().parents[2] / "stages" / stage / "prompt.md"
        bench.stage(stage, PLATEAU, shipped.read_text("utf-8") + "\n<<${INPUTS}>>")
    code = "import sys; t = sys.stdin.read(); n = t.split('<<')[-1].count('result '); print(f'saw {n}', 'PLATEAU: no')"
    answer = bench.run(f"{name}-refine", "a", "--", sys.executable, "-c", code)
    assert answer.exit == 75 and bench.state()["spent"]["iterations"] == 2 * runs
    seen = (bench.folder() / "stage-2-tasks/run-0.md").read_text()
    assert f"saw {runs}" in seen  # the results of stage 1 are in the prompts of stage 2


def test_exports_reach_the_agents_and_no_run_begins_within_a_run(bench: Bench) -> None:
    bench.stage("s")
    code = (
        "import os; print(*(os.environ[k] for k in ('LOOPKIT_CHILD', 'CLAUDE_LOOP_AGENT', "
        "'CLAUDE_LOOP_SESSION', 'CLAUDE_LOOP_TYPE')), os.environ.get('CLAUDECODE'))"
    )
    words = ("s", "a", "1", "--", sys.executable, "-c", code)
    assert bench.run(*words, CLAUDECODE="1").exit == 0
    assert (bench.folder() / "stage-1-s/output.md").read_text() == "1 1 a s None\n"
    answer = bench.run("s", "b", "1", "--", "true", LOOPKIT_CHILD="1")
    assert answer.exit == 1 and "no further run" in answer.err


# -- how iterations end


def test_a_failed_agent_fails_the_run_and_the_iteration_is_run_again(bench: Bench) -> None:
    bench.stage("s")
    bench.script(
        s={"text": "x", "cost": 1}, s_2={"outcome": "fatal", "error": "it fell", "cost": 2}
    )
    answer = bench.run("s", "a", "3")
    assert answer.exit == 1 and bench.state()["status"] == "failed"
    assert bench.state()["iteration_completed"] == 1 and bench.state()["spent"]["usd"] == 3
    assert answer.out.splitlines()[-4:] == [
        "a: failed at iteration 2/3, last completed: 1",
        "error: it fell",
        "go on with iteration 2: loopkit run s a 3 --resume",
        "start over: loopkit run s a 3 --force",
    ]
    assert bench.run("s", "a", "3").exit == 1  # refused
    bench.script(s={"text": "x", "cost": 1})
    assert bench.run("s", "a", "--resume").exit == 0
    assert [row["iteration"] for row in bench.state()["history"]] == [1, 2, 3]
    assert bench.state()["spent"]["usd"] == 5 and bench.state()["resumed_at"]


def test_a_deadline_counts_the_iteration_and_the_next_one_begins(bench: Bench) -> None:
    bench.stage("s", "completion: fixed-n\ntimeouts: {start: 0.05, idle: 5, total: 5}\n")
    bench.script(s={"text": "x"}, s_1={"text": "late", "seconds": 60})
    answer = bench.run("s", "a", "2")
    assert answer.exit == 0
    first, second = bench.state()["history"]
    assert (first["outcome"], first["exit"], second["exit"]) == ("timed_out", 124, 0)
    assert "deadline" in first["error"] and "not finished" in bench.progress()


def test_a_denied_command_ends_the_run_and_names_the_rule(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"outcome": "denied", "denied": ["Bash: npm test 2>&1 | tail -5"]})
    answer = bench.run("s", "a", "3")
    assert answer.exit == 1 and "npm test 2>&1 | tail -5" in answer.out
    assert bench.state()["status"] == "failed"
    row = {"text": "x", "denied": ["Bash: rm x"]}
    bench.script(s=row)
    answer = bench.run("s", "b", "2")
    assert answer.exit == 1 and "changed nothing, and was not allowed: Bash: rm x" in answer.out
    bench.script(s={**row, "write": {"done.txt": "x"}})
    assert bench.run("s", "c", "1").exit == 0
    assert "Bash: rm x" in bench.state("c")["history"][0]["denied"][0]
    bench.stage("t", "completion: fixed-n\noutput_parse: plateau:PLATEAU\n")
    bench.script(t={**row, "text": "PLATEAU: yes"})
    assert bench.run("t", "d", "1").exit == 0, "it said what it was asked for"


def test_a_limit_on_cost_ends_the_run_and_more_money_goes_on(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "x", "cost": 0.6})
    answer = bench.run("s", "a", "5", "--usd", "1")
    assert answer.exit == 75 and bench.state()["completion_reason"] == "max_cost"
    assert "error: $1.20 of $1 spent" in answer.out
    assert bench.state()["iteration_completed"] == 2
    assert bench.run("s", "a", "--resume").exit == 75
    assert bench.run("s", "a", "--resume", "--usd", "9").exit == 0
    assert bench.state()["iteration_completed"] == 5 and bench.state()["limits"]["usd"] == 9


def test_cost_that_nobody_knows_is_said_and_nan_is_none(bench: Bench) -> None:
    bench.stage("s")
    rows = "s: {text: x}, s 1: {text: x, cost: .nan}, s 2: {text: x, cost: -5}, s 3: {text: x, cost: 1}"
    (bench.project.folder / "s.yaml").write_text(f"steps: {{{rows}}}")
    answer = bench.run("s", "a", "4", "--usd", "2")
    assert answer.exit == 0 and "cost unknown, $1.00 of $2 (3 unknown)" in answer.out
    assert answer.out.count("the limit of $2 cannot be kept") == 1
    assert bench.state()["spent"]["usd"] == 1 and bench.state()["spent"]["unpriced"] == 3


def test_output_that_cannot_be_parsed_text_and_errors_within_it_mean_nothing(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": '"is_error": false EXIT_SIGNAL: false <promise>DONE</promise>'})
    assert bench.run("s", "a", "6").exit == 0
    assert bench.state()["iteration_completed"] == 6


# -- going on, starting over


def test_force_puts_the_old_run_away(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "x"})
    assert bench.run("s", "a", "1").exit == 0
    answer = bench.run("s", "a", "1")
    assert answer.exit == 1 and "--force" in answer.out + answer.err
    assert bench.run("s", "a", "1", "--resume").exit == 0
    last = answer.out.splitlines()[-1]
    assert last.startswith("nothing was begun: run a is there already; --resume goes on")
    assert "--force" in last
    assert bench.lk("run", "s", "a", "1", "--force").exit == 0  # its agent is the same
    assert len(list((bench.root / "archive/runs").iterdir())) == 1


def test_resuming_what_is_not_there(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "x"})
    assert "no run a" in bench.run("s", "a", "--resume").err
    assert not bench.folder().exists()


def test_a_pipeline_goes_on_in_the_right_stage(bench: Bench) -> None:
    bench.stage("s")
    bench.pipeline("p", "name: one, stage: s, runs: 2", "name: two, stage: s, runs: 2")
    bench.script(one={"text": "x"}, two_1={"text": "x"}, two_2={"outcome": "fatal", "error": "no"})
    assert bench.run("p", "a").exit == 1
    assert "at iteration 2/2 of stage two" in bench.lk("runs", "show", "a").out
    bench.script(two={"text": "again"})
    assert bench.run("p", "a", "--resume").exit == 0
    assert [row["stage"] for row in bench.state()["history"]] == ["one", "one", "two", "two"]
    assert (bench.folder() / "stage-1-one/run-0.md").read_text() == "x"


def test_a_stage_at_its_limit_stops_or_goes_on(bench: Bench) -> None:
    bench.stage("s", PLATEAU)
    rows = ("name: one, stage: s, runs: 2, on_limit: {}", "name: two, stage: s, runs: 2")
    bench.script(s={"text": "x"}, one={"text": "x"}, two={"text": "x"})
    bench.pipeline("p", rows[0].format("stop"), rows[1])
    stopped = bench.run("p", "a")
    assert stopped.exit == 75 and bench.state()["spent"]["iterations"] == 2
    assert bench.state()["current_stage"] == "one"
    assert "at iteration 2/2 of stage one" in stopped.out and "--force" in stopped.out
    again = bench.run("p", "a", "--resume", "--iterations", "9")
    assert again.exit == 75 and "stage one has used up its runs" in again.err, again
    bench.pipeline("p", rows[0].format("stop").replace("2", "3"), rows[1])
    again = bench.run("p", "a", "--resume", "--accept-changes")
    assert again.exit == 75 and bench.state()["spent"]["iterations"] == 3, again
    bench.pipeline("p", rows[0].format("continue"), rows[1])
    assert bench.run("p", "b").exit == 75 and bench.state("b")["spent"]["iterations"] == 4


def test_changed_files_are_named_and_taken_on_request(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "x"}, s_2={"outcome": "fatal", "error": "no"})
    assert bench.run("s", "a", "3").exit == 1
    bench.stage("s", prompt="Something else.")
    bench.script(s={"text": "x"})
    way = "go on as they are now: loopkit run s a 3 --resume --accept-changes\n"
    assert way in bench.run("s", "a", "--resume").err
    assert bench.run("s", "a", "--resume", "--accept-changes").exit == 0


def line_of(answer: Answer, begins: str) -> list[str]:
    """The words of a printed command, without `loopkit`."""
    rows = [row for row in answer.out.splitlines() if row.startswith(begins)]
    return shlex.split(rows[-1][rows[-1].index("loopkit ") :])[1:]


@pytest.mark.parametrize(
    "words",
    [
        ("s", "a", "3", "--usd", "9"),
        ("stage", "s", "a", "--iterations", "3", "--time", "90m"),
        ("pipeline", "--single-stage", "s", "a", "3"),
        ("s", "a", "3", "--items", "it's", "--items", "two  words"),
        ("p", "a", "5", "--usd", "none"),
    ],
)
def test_a_printed_line_does_what_it_says_when_typed(bench: Bench, words: tuple) -> None:
    bench.stage("s")
    bench.pipeline("p", "name: s, stage: s, runs: 3")
    bench.script(s={"text": "x"}, s_2={"outcome": "fatal", "error": "no"})
    failed = bench.run(*words)
    assert failed.exit == 1 and bench.state()["iteration_completed"] == 1
    before = bench.state()
    again = bench.lk(*line_of(failed, "start over: "))
    assert again.exit == 1 and bench.state()["iteration_completed"] == 1, again
    for key in ("limits", "type", "pipeline"):
        assert bench.state()[key] == before[key], key
    bench.script(s={"text": "x"})
    assert bench.lk(*line_of(again, "go on with iteration 2: ")).exit in (0, 75)
    assert bench.state()["iteration_completed"] == 3


def test_a_line_that_raises_a_limit_keeps_the_others(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "x", "cost": 2.0})
    capped = bench.run("s", "a", "3", "--usd", "3", "--time", "5h")
    assert capped.exit == 75 and bench.state()["spent"]["iterations"] == 2
    assert "--usd 6" in capped.out and capped.out.count("--usd") == 1
    assert bench.lk(*line_of(capped, "incomplete")).exit == 0
    assert bench.state()["limits"] == {"iterations": 3, "usd": 6.0, "seconds": 18000.0}


def test_stages_that_have_used_up_their_runs_begin_anew(bench: Bench) -> None:
    bench.stage("s", PLATEAU)
    bench.pipeline("p", "name: one, stage: s, runs: 2", "name: two, stage: s, runs: 1")
    bench.script(s={"text": "x"}, one={"text": "x"}, two={"text": "x"})
    capped = bench.run("p", "a", "--iterations", "2")
    assert capped.exit == 75 and bench.state()["spent"]["iterations"] == 2
    used = bench.lk(*line_of(capped, "incomplete"))  # the limit of all of them can be raised
    assert used.exit == 75 and bench.state()["spent"]["iterations"] == 3
    assert "raise" not in used.out.splitlines()[-1]
    again = bench.run("p", "a", "--resume")
    assert again.exit == 75 and "start over: loopkit run p a" in again.err
    assert bench.lk(*line_of(used, "incomplete")).exit == 75
    assert len(list((bench.root / "archive/runs").iterdir())) == 1


def test_another_stage_takes_the_place_of_one_that_has_ended(bench: Bench) -> None:
    bench.stage("s", prompt="Notes: ${PROGRESS}")
    bench.stage("t")
    bench.script(s={"text": "learnt by s"}, t={"text": "x"})
    assert bench.run("s", "a", "1").exit == 0
    refused = bench.run("t", "a", "1", "--resume")
    assert refused.exit == 1 and "is one of s, not of t, and is completed" in refused.err
    answer = bench.run("t", "a", "1")
    assert answer.exit == 0 and "is put away: .loop/archive/runs/a-" in answer.out
    assert bench.state()["pipeline"] == "t" and "learnt by s" in bench.progress()
    assert len(list((bench.root / "archive/runs").iterdir())) == 1
    bench.script(s={"outcome": "fatal", "error": "no"})
    assert bench.run("s", "a", "1").exit == 1
    unfinished = bench.run("t", "a", "1")
    line = "nothing was begun: run a is there already, of s; put it away and begin this one: "
    assert (
        unfinished.exit == 1 and f"{line}loopkit run t a --iterations 1 --force\n" in unfinished.out
    )


def test_what_stands_in_the_way_is_said_before_what_is_missing(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "x"})
    assert bench.run("s", "a", "1").exit == 0
    bare = {"PATH": git_only(bench)}
    words = ("run", "s", "a", "1", "--agent", "claude")
    for more, code in ((), 1), (("--resume",), 0):
        answer = bench.lk(*words, *more, **bare)
        assert answer.exit == code and "claude" not in answer.err, answer
        assert "a: completed after 1 iteration" in answer.out and "--force" in answer.out
    for more in ("--dry-run",), ("--dry-run", "--resume"):
        answer = bench.lk(*words, *more, **bare)
        assert answer.exit == 0 and "this start would be refused: a: completed" in answer.out
    for more in ("--force",), ():
        words = ("run", "s", "b" if not more else "a", "1", "--agent", "claude")
        answer = bench.lk(*words, *more, **bare)
        assert answer.exit == 3 and "claude is not on the PATH" in answer.err
    assert bench.state()["status"] == "completed" and not bench.folder("b").exists()
    dry = bench.lk(*words, "--dry-run", **bare)
    assert dry.exit == 0 and "this start would be refused: claude is not on the PATH" in dry.out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--", "no-such", "-p"), 3, "no-such is not on the PATH"),
        (("--", "./no-such"), 3, "no-such; install it, or give the path of a program"),
        (("--",), 2, "agent 'command' has no program"),
        (("--agent", "gemini"), 3, "gemini is not on the PATH"),
    ],
)
def test_a_program_that_is_not_there_is_said_before_anything_begins(
    bench: Bench, words: tuple, code: int, says: str
) -> None:
    bench.stage("s")
    answer = bench.lk("run", "s", "a", "1", *words, PATH=git_only(bench))
    assert answer.exit == code and says in answer.err, answer
    assert not (bench.root / "runs").exists()


def test_a_program_is_found_from_where_it_was_typed_or_from_the_project(bench: Bench) -> None:
    bench.stage("s")
    program = bench.project.folder / "tools" / "agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\ncat >/dev/null; echo from $0\n")
    program.chmod(0o755)
    assert bench.lk("run", "s", "a", "1", "--", "tools/agent").exit == 0
    assert f"from {program}" in bench.lk("runs", "logs", "a").out
    (bench.root / "config.toml").write_text(
        '[agents.own]\nuse = "command"\nprogram = ["tools/agent"]\n'
    )
    assert bench.lk("run", "s", "b", "1", "--agent", "own").exit == 0


def test_another_stage_is_not_what_the_run_is_of(bench: Bench) -> None:
    bench.stage("s")
    bench.stage("t")
    bench.script(s={"outcome": "fatal", "error": "no"}, t={"text": "x"})
    assert bench.run("s", "a", "3").exit == 1
    assert "is one of s, not of t" in bench.run("t", "a", "--resume").err


def test_a_run_that_came_along_does_not_go_on(bench: Bench, tmp_path: Path) -> None:
    bench.stage("s")
    bench.script(s={"outcome": "fatal", "error": "no"})
    assert bench.run("s", "a", "3").exit == 1
    answer = bench.run("s", "a", "--resume", XDG_STATE_HOME=str(tmp_path / "another"))
    assert answer.exit == 1 and "was not started here" in answer.err
    away: dict[str, Any] = {"session": "s1", "XDG_STATE_HOME": str(tmp_path / "another")}
    assert bench.project.lk("runs", **away).out.startswith("there are no runs")
    scripted = ("--agent", "script", "--script", "s.yaml")
    for words in (("runs", "show", "a"), ("watch", "a"), ("run", "s", "a", *scripted)):
        answer = bench.project.lk(*words, **away)
        assert (answer.exit, answer.out) == (1, "") and "was not started here" in answer.err, words


# -- locks


def locked(bench: Bench, **more: object) -> None:
    """The run was cut off while it worked; its lock is this."""
    bench.stage("s")
    bench.script(s={"text": "x"}, s_2={"outcome": "fatal", "error": "no"})
    bench.run("s", "a", "3")
    path = bench.folder() / "ledger.jsonl"
    rows = path.read_text("utf-8").splitlines(keepends=True)[:-2]  # neither ended nor failed
    path.write_text("".join(rows), "utf-8")
    bench.script(s={"text": "x"})
    lock = runs.Lock(str(bench.root), "a", lambda: None)
    row = {**json.loads(lock._text()), **more}
    (bench.folder() / "lock").write_text(json.dumps(row))


def beat(age: float) -> dict:
    return {"heartbeat_epoch": time.time() - age}


def test_a_crash_is_told_and_gone_on_with(bench: Bench) -> None:
    locked(bench, pid_started="1")  # the number was given to somebody else
    stands = bench.lk("status")
    assert stands.exit == 0 and "run a: failed at iteration 2/3, last completed: 1" in stands.out
    assert "go on with iteration 2" in stands.out
    for words in (("s", "a", "3"), ("s", "a")):
        answer = bench.run(*words)
        assert answer.exit == 1
        assert answer.out.splitlines()[:3] == [
            "a: failed at iteration 2/3, last completed: 1",
            "error: the run's process is gone, and its agent left no result",
            "go on with iteration 2: loopkit run s a 3 --resume",
        ]
    assert "failed (crashed)" in bench.lk("runs").out
    assert bench.run("s", "a", "--resume").exit == 0
    assert [row["iteration"] for row in bench.state()["history"]] == [1, 2, 3]


@pytest.mark.parametrize(
    ("more", "shown", "resumes"),
    [
        ({}, "active", False),
        (beat(3600) | {"pid": os.getpid()}, "active (hung)", False),
        ({"boot_id": "another"}, "failed (crashed)", True),
        ({"pid": 2**22 + 1}, "failed (crashed)", True),
        ({"host": "elsewhere"}, "active", False),
        ({"host": "elsewhere", **beat(3600)}, "failed (crashed)", True),
    ],
)
def test_rows_of_the_table_of_locks(bench: Bench, more: dict, shown: str, resumes: bool) -> None:
    locked(bench, **more)
    assert shown in bench.lk("runs", "show", "a").out
    assert bench.run("s", "a", "3").exit == 1
    answer = bench.run("s", "a", "--resume")
    assert answer.exit == (0 if resumes else 1), answer
    if not resumes:
        assert "last heartbeat" in answer.err and ("hangs" in answer.err) is ("hung" in shown)


def test_a_lock_elsewhere_is_not_forced(bench: Bench) -> None:
    locked(bench, host="elsewhere")
    assert bench.run("s", "a", "--force").exit == 1
    assert "elsewhere" in bench.lk("runs", "stop", "a").err


def test_no_lock_and_running_is_a_crash(bench: Bench) -> None:
    locked(bench)
    (bench.folder() / "lock").unlink()
    assert "failed (crashed)" in bench.lk("runs").out
    (bench.folder() / "lock").write_text("{")
    assert " active" in bench.lk("runs").out  # somebody wrote it a moment ago
    os.utime(bench.folder() / "lock", (1, 1))
    assert "failed (crashed)" in bench.lk("runs").out


def test_a_release_removes_ones_own_lock_only(bench: Bench) -> None:
    locked(bench)
    (bench.folder() / "lock").unlink()
    lost: list[int] = []
    mine = runs.Lock(str(bench.root), "a", lambda: lost.append(1))
    with runs.guarded(str(bench.root)):
        mine.take()
    assert mine.ours and mine.beat()
    (bench.folder() / "lock").write_text(json.dumps({"key": "another's"}))
    assert not mine.beat()
    mine.release()
    assert (bench.folder() / "lock").exists()


def test_a_heart_that_waited_out_the_release_has_lost_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.folder().mkdir(parents=True)
    monkeypatch.setattr(status, "BEAT", 0)
    for released in (True, False):
        lost: list[int] = []
        mine = runs.Lock(str(bench.root), "a", lambda lost=lost: lost.append(1))

        def beat(mine: runs.Lock = mine, released: bool = released) -> bool:
            if released:
                mine.release()
            return mine.ours

        monkeypatch.setattr(mine, "beat", beat)
        mine._beat()
        assert lost == ([] if released else [1])


def test_the_lock_has_all_that_identifies_its_holder(bench: Bench) -> None:
    row = json.loads(runs.Lock(str(bench.root), "a", lambda: None)._text())
    wanted = "session pid pid_started host boot_id started_at heartbeat heartbeat_epoch"
    assert set(wanted.split()) < set(row) and row["pid"] == os.getpid()
    assert status.process(row, runs.here()) == status.SAME


def test_of_several_that_start_one_wins(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "x", "seconds": 3})
    answers = at_once(*[lambda: bench.run("s", "a", "1")] * 6)
    assert sorted(answer.exit for answer in answers) == [0] + [1] * 5
    assert bench.state()["iteration_completed"] == 1
    assert not (bench.folder() / "lock").exists()


def test_several_of_different_names_go_on_beside_each_other(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "x"})
    answers = at_once(*[lambda name=f"r{n}": bench.run("s", name, "2") for n in range(8)])
    assert {answer.exit for answer in answers} == {0}
    assert len(bench.lk("runs", "--json").json["runs"]) == 8


# -- looking, stopping


def test_dry_run_writes_and_starts_nothing(bench: Bench) -> None:
    bench.stage("s", PLATEAU, "Session ${SESSION}, ${ITERATION}.")
    before = bench.project.files()
    answer = bench.lk("run", "s", "a", "5", "--dry-run")
    assert answer.exit == 0, answer
    for word in ("plateau", "at most 5 iterations", "$25", "Session a, 1.", "prompt.md", "runs/a"):
        assert word in answer.out
    assert "agent claude;" in answer.out
    given = bench.lk("run", "s", "a", "--dry-run", "--model", "m", "--", "x").out
    assert "agent command, model m;" in given
    assert bench.project.files() == before and not (bench.root / "runs").exists()


def test_options_without_a_name_and_no_such_command_are_usage(bench: Bench) -> None:
    assert "stage or pipeline" in bench.project.refused(2, "run", "--resume")
    assert "No such command 'sho'" in bench.project.refused(2, "runs", "sho")


def test_without_arguments_everything_is_listed(bench: Bench) -> None:
    bench.stage("mine")
    answer = bench.lk("run")
    for word in (
        "mine",
        "looper",
        "improve-plan",
        "idea-wizard",
        "quick-refine",
        "deep-refine-beads",
    ):
        assert word in answer.out
    assert {"loop", "said", "next"} - {"loop"} <= set(bench.lk("run", "--json").json)


def test_what_somebody_did_to_a_runs_folder(bench: Bench) -> None:
    bench.stage("s")
    assert bench.run("s", "a", "1", "--", "true").exit == 0
    stage = bench.folder() / "stage-1-s"
    ledger = bench.folder() / "ledger.jsonl"
    ledger.write_text(ledger.read_text() + "garbage\n")
    assert bench.run("s", "b", "1", "--", "false").exit == 1
    shutil.rmtree(bench.folder("b") / "stage-1-s")
    answer = bench.run("s", "b", "--resume", "--", "true")
    assert answer.exit == 0 and bench.state("b")["status"] == "completed", answer
    assert "cannot be read and is left out" in bench.lk("runs", "show", "a").err
    shutil.rmtree(stage)
    answer = bench.run("s", "c", "1", "--", "rm", "-r", ".loop/runs/c")
    assert answer.exit == 3 and "its folder is gone" in answer.err, answer
    for session in "ab":
        (bench.folder(session) / "ledger.jsonl").write_text("garbage\n")
    answer = bench.lk("runs")
    assert "there are no other runs" in answer.out and answer.err.count("put it away") == 2


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("s",), 2, "give a stage or pipeline and a session"),
        (("s", "A"), 2, "not a session's name"),
        (("s", "a" * 64), 2, "not a session's name"),
        (("s", "a/b"), 2, "not a session's name"),
        (("nope", "a"), 2, "no stage or pipeline 'nope'"),
        (("improve-plam", "a"), 2, "did you mean improve-plan"),
        (("stage", "quick-refine", "a"), 2, "no stage 'quick-refine', but a pipeline; leave the"),
        (("pipeline", "s", "a"), 2, "no pipeline 's', but a stage; leave the word pipeline out"),
        (("pipeline", "qiuck-refine", "a"), 2, "did you mean quick-refine"),
        (("looper", " "), 2, "the goal is empty"),
        (("s", "a", "many"), 2, "not a limit for iterations"),
        (("s", "a", "--usd", "-1"), 2, "not a limit for usd"),
        (("s", "a", "none"), 2, "a run has a number of iterations"),
        (("s", "a", "--resume", "--force"), 2, "exclude each other"),
        (("bad", "a"), 3, "stage.yaml:3: there is no completion 'x'"),
        (("goal", "a"), 3, "stage.yaml:3: there is no completion 'goal-reached'"),
    ],
)
def test_what_cannot_be_run(bench: Bench, words: tuple, code: int, says: str) -> None:
    bench.stage("s")
    bench.stage("bad", "completion: x\n")
    bench.stage("goal", "completion: goal-reached\n")
    bench.script(s={"text": "x"})
    answer = bench.run(*words)
    assert answer.exit == code and says in answer.err and "Traceback" not in answer.err, answer
    assert not (bench.root / "runs").exists()


def test_show_list_logs_and_clean(bench: Bench) -> None:
    bench.stage("s", PLATEAU)
    bench.script(s={"text": "PLATEAU: true", "cost": 0.25})
    assert bench.run("s", "a", "4").exit == 0
    assert "a " in bench.lk("runs").out and "completed" in bench.lk("runs", "list").out
    shown = bench.lk("runs", "show", "a")
    assert "2 done · 0 s · $0.25 · plateau: true" in shown.out
    assert bench.lk("runs", "show", "a", "--json").json["shown"] == "completed"
    answer = bench.run("s", "b", "1", "--", sys.executable, "-c", "print('hello there')")
    assert answer.exit == 75
    logs = bench.lk("runs", "logs", "b", "--iteration", "1").out
    assert "hello there\n" in logs
    assert logs.endswith(f"result: {bench.folder('b')}/stage-1-s/output.md\n")
    assert "2 done" in bench.lk("watch", "a").out
    assert bench.lk("runs", "show", "nope").exit == 1
    assert "nothing to put away" in bench.lk("runs", "clean").out
    assert bench.lk("runs", "clean", "a").exit == 0
    assert not bench.folder().exists() and (bench.root / "archive/runs").is_dir()


def test_the_list_has_heads_and_columns_that_fit(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "x", "cost": 0.5})
    long = "b" * 63
    for session in ("a-run", long, "c"):
        assert bench.run("s", session, "1").exit == 0
    head, *rows = bench.lk("runs").out.splitlines()
    assert head.split() == ["run", "state", "stage", "iteration", "cost", "time", "began"]
    assert [row.split()[0] for row in rows] == ["a-run", long, "c"]  # the newest last
    at = head.index("state")
    assert rows[0][at:].startswith("completed  s      1/1        $0.50 of $25  ")
    assert len(rows[0]) <= 80 and all("completed" in row for row in rows)
    assert bench.lk("runs", "clean", "c").out.startswith("c → .loop/archive/runs/c-")


def test_clean_takes_away_nothing_that_is_at_work(bench: Bench) -> None:
    locked(bench)
    answer = bench.lk("runs", "clean", "a")
    assert answer.exit == 1 and f"process {os.getpid()}" in answer.out and bench.folder().exists()
    shutil.copytree(bench.folder(), bench.folder("0"))
    (bench.folder("0") / "ledger.jsonl").write_text("no journal\n")
    answer = bench.lk("runs", "clean", "--days", "0")
    assert answer.exit == 1 and answer.out.startswith("0 stays: "), answer
    (bench.folder() / "lock").write_text("{}")
    os.utime(bench.folder() / "lock", (1, 1))
    assert bench.lk("runs", "clean", "a").exit == 0


def test_a_run_pauses_between_two_iterations(bench: Bench) -> None:
    bench.stage("s")
    code = "import pathlib; pathlib.Path('.loop/runs/a/pause').touch(); print('x')"
    assert bench.run("s", "a", "3", "--", sys.executable, "-c", code).exit == 1
    assert bench.state()["status"] == "paused" and bench.state()["iteration_completed"] == 1
    assert bench.run("s", "a", "--resume", "--", "true").exit == 0
    assert bench.state()["iteration_completed"] == 3


# -- checks of a stage


def test_a_check_runs_only_if_the_person_allowed_it(bench: Bench, home: Path) -> None:
    bench.stage("s", "completion: fixed-n\nvalidate: test -f good\n")
    bench.script(s={"text": "x"}, s_3={"write": {"good": "x"}})
    answer = bench.run("s", "a", "2")
    assert answer.exit == 1 and "verify_allow" in answer.err and not bench.folder().exists()
    (home / ".config/loopkit").mkdir(parents=True)
    (home / ".config/loopkit/config.toml").write_text('verify_allow = ["test -f *"]\n')
    answer = bench.run("s", "a", "2")
    assert answer.exit == 75 and "`test -f good` exits 1" in answer.out
    assert bench.state()["error"] == "the last iteration: `test -f good` exits 1"
    assert "`test -f good` exits 1" in bench.progress()
    assert bench.state()["history"][1]["validation"][0]["exit"] == 1
    assert (bench.folder() / "evidence/s-1.log").exists()
    assert bench.run("s", "a", "--resume", "--iterations", "3").exit == 0
    assert bench.state()["history"][2]["validation"][0]["passed"] is True
    bench.stage("t", "completion: all-items\nvalidate: test -f never\n")
    assert "`test -f never` exits 1" in bench.run("t", "b").out, "before the first iteration"
    bench.pipeline("p", "name: a, stage: s, runs: 1", "name: b, stage: t, runs: 1")
    bench.script(a={"text": "x"}, b={"text": "x"})
    assert "`test -f never` exits 1" in bench.run("p", "c").out, "a stage before it has passed"


# -- settings


def test_agents_and_notices_by_settings(bench: Bench, home: Path) -> None:
    bench.stage("s", "completion: fixed-n\nagent: mine\n")
    record = (
        f"import os, sys; open({str(home / 'told')!r}, 'a').write(' '.join(sys.argv[1:]) + '|')"
    )
    tell = [sys.executable, "-c", record, "{event}", "<{session}>", "{text}"]
    program = [sys.executable, "-c", "print('hello')"]
    text = f"notify = {json.dumps(tell)}\n[agents.mine]\nuse = 'command'\n"
    (home / ".config/loopkit").mkdir(parents=True)
    (home / ".config/loopkit/config.toml").write_text(f"{text}program = {json.dumps(program)}\n")
    assert bench.lk("run", "s", "a", "2").exit == 0
    assert (bench.folder() / "stage-1-s/run-1.md").read_text() == "hello\n"
    failing = ("s", "b", "1", "--", sys.executable, "-c", "raise SystemExit(3)")
    assert bench.run(*failing).exit == 1
    assert (
        home / "told"
    ).read_text() == "complete <a> completed after 2 iterations|failed <b> exit 3|"


def test_a_setting_that_is_wrong_is_named(bench: Bench, home: Path) -> None:
    bench.stage("s")
    bench.script(s={"text": "x"})
    (home / ".config/loopkit").mkdir(parents=True)
    (home / ".config/loopkit/config.toml").write_text("notify = 'ls'\n")
    answer = bench.run("s", "a")
    assert answer.exit == 2 and "config.toml: notify" in answer.err


# -- what came with the repository


def test_a_strangers_stage_does_nothing_before_the_person_took_it_over(bench: Bench) -> None:
    bench.stage("s", prompt="Evil words.")
    bench.stage("idea-wizard", prompt="Evil idea.")
    bench.script(**{"s": {"text": "x"}, "idea-wizard": {"text": "x"}})
    git = ["git", "-C", str(bench.project.folder), "add", "-f", ".loop/stages"]
    subprocess.run(git, check=True, env=bench.project.env(None))
    answer = bench.run("s", "a", "1")
    assert answer.exit == 1 and "came with the repository" in answer.err, answer
    shown = bench.lk("run", "idea-wizard", "b", "--dry-run")
    assert "Evil" not in shown.out and ".loop/stages/idea-wizard came with" in shown.out
    assert "Evil" not in bench.lk("lint").out
    assert "Evil words." in bench.lk("trust").out
    assert bench.lk("trust", "stages").exit == 0
    assert bench.run("s", "a", "1").exit == 0
    bench.stage("s", prompt="Changed since.")
    assert bench.run("s", "c", "1").exit == 1


def test_ones_own_stage_stays_ones_own_once_it_is_committed(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "x"})
    assert bench.run("s", "a", "1").exit == 0
    git = ["git", "-C", str(bench.project.folder), "add", "-f", ".loop/stages"]
    subprocess.run(git, check=True, env=bench.project.env(None))
    assert bench.run("s", "b", "1").exit == 0


# -- lint


def test_lint_names_file_line_and_cure_and_exits_by_errors(bench: Bench) -> None:
    bench.stage("s", "completion: plateu\n", "${SESION}")
    bench.pipeline("p", "name: a, stage: nope, runs: 1")
    answer = bench.lk("lint")
    assert answer.exit == 1
    assert ".loop/stages/s/stage.yaml:3: error: there is no completion 'plateu'; write plateau" in (
        answer.out
    )
    assert "prompt.md:1: warning: unknown variable ${SESION}" in answer.out
    assert "pipelines/p.yaml:3: error: there is no stage 'nope'" in answer.out
    assert bench.lk("lint", "stage", "improve-plan").exit == 0
    assert bench.lk("lint", "pipeline", "quick-refine").exit == 0
    assert bench.lk("lint", "nope").exit == 1
    rows = bench.lk("lint", "stage", "s", "--json").json["faults"]
    assert rows[0]["line"] == 3 and rows[0]["error"] is True


# -- tmux


def test_tmux_is_started_with_the_runs_name_and_missed_by_name(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "x"})
    folder = bench.project.folder.parent / "bin"
    folder.mkdir()
    program = folder / "tmux"
    record = str(folder / "called")
    code = f"import json, sys; open({record!r}, 'w').write(json.dumps(sys.argv[1:]))"
    program.write_text(f"#!{sys.executable}\n{code}\n")
    program.chmod(0o755)
    answer = bench.run("s", "a", "2", "--tmux", PATH=f"{folder}:{os.environ['PATH']}")
    assert answer.exit == 0 and "tmux attach -t loop-a" in answer.out, answer
    called = json.loads(Path(record).read_text())
    assert called[:4] == ["new-session", "-d", "-s", "loop-a"]
    assert not bench.folder().exists()
    answer = bench.run("s", "a", "2", "--tmux", PATH=git_only(bench))
    assert answer.exit == 3 and "tmux is not on the PATH" in answer.err


def test_a_run_in_tmux_goes_on_there(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"outcome": "fatal", "error": "no"})
    answer = bench.run("s", "a", "2", LOOPKIT_TMUX="1")  # as the session is started
    assert "go on with iteration 1: loopkit run s a 2 --tmux --resume\n" in answer.out
    told = bench.lk("doctor", PATH=git_only(bench)).out
    assert "tmux is not on the PATH (run a needs it)" in " ".join(told.split())
    assert "loopkit run s a 2 --resume\n" in bench.run("s", "a", "--resume").out


# -- disks, settings of the system, what users bring


def test_a_full_disk_ends_the_run_in_one_line_and_it_goes_on_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.stage("s")
    bench.script(s={"text": "x"})
    real, calls = journal.append, []

    def append(*given: Any) -> int:
        calls.append(1)
        if len(calls) >= 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*given)

    monkeypatch.setattr(journal, "append", append)
    answer = bench.run("s", "a", "4")
    assert answer.exit == 3 and answer.err.count("\n") == 1 and "No space left" in answer.err, (
        answer
    )
    monkeypatch.undo()
    assert not (bench.folder() / "lock").exists()
    assert bench.run("s", "a", "--resume").exit == 0
    assert [row["iteration"] for row in bench.state()["history"]] == [1, 2, 3, 4]


def test_a_notice_is_shown_on_the_desktop_where_there_is_one(bench: Bench) -> None:
    bench.stage("s")
    bench.script(s={"text": "x"})
    folder = bench.project.folder.parent / "bin"
    folder.mkdir()
    program = folder / "notify-send"
    code = f"import json, sys; open({str(folder / 'told')!r}, 'w').write(json.dumps(sys.argv[1:]))"
    program.write_text(f"#!{sys.executable}\n{code}\n")
    program.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    assert bench.run("s", "a", "1", PATH=path).exit == 0
    assert not (folder / "told").exists()
    assert bench.run("s", "b", "1", PATH=path, DISPLAY=":9").exit == 0
    assert json.loads((folder / "told").read_text())[-2:] == [
        "loopkit: b complete",
        "completed after 1 iteration",
    ]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["no-such"], "'no-such' cannot be started: No such file or directory"),
        ([""], "'' cannot be started: "),
        (["sh", "-c", "echo bad >&2; exit 9"], "sh exits 9: bad"),
    ],
)
def test_a_notice_that_fails_is_noted_and_fails_nothing(
    bench: Bench, command: list[str], says: str
) -> None:
    bench.stage("s")
    bench.script(s={"text": "x"})
    (bench.root / "config.toml").write_text(f"notify = {json.dumps(command)}\n")
    answer = bench.run("s", "a", "1")
    assert answer.exit == 0 and f"the command of setting notify: {says}" in answer.err, answer


class Point(NamedTuple):
    name: str
    loaded: Any
    value: str = "mine"

    def load(self) -> Any:
        return self.loaded


def offer(monkeypatch: pytest.MonkeyPatch, own: dict[str, dict[str, Any]]) -> None:
    """Entry points by group and name."""

    def points(group: str) -> list[Point]:
        return [Point(*item) for item in own.get(group, {}).items()]

    monkeypatch.setattr(metadata, "entry_points", points)


def test_strategies_and_validators_of_the_users_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Twice(completions.Strategy):
        def verdict(self, view: completions.View) -> Verdict:
            return counted(view.done, 2, "times")

    class Third(validators.Validator):
        def validate(self, view: completions.View) -> validators.Outcome:
            return validators.Outcome(view.done == 3, [], "not the third")

    offer(monkeypatch, {completions.GROUP: {"twice": Twice}, validators.GROUP: {"third": Third()}})
    bench.stage("s", "completion: twice\nvalidate: anything\nvalidator: third\n")
    bench.script(s={"text": "x"})
    answer = bench.run("s", "a", "9")
    if answer.exit:  # what a validator of one's own is given needs no leave
        pytest.fail(str(answer))
    assert bench.state()["iteration_completed"] == 3 and "not the third" in bench.progress()


class Broken(completions.Strategy, validators.Validator):
    """One of a user's own that raises at one of its calls."""

    at = ""

    def _do(self, call: str, result: Any) -> Any:
        if call == self.at:
            raise KeyError("mine")
        return result

    def verdict(self, view: completions.View) -> Verdict:
        return self._do("verdict", counted(view.done, 1, "time"))

    def prepare(self, view: completions.View) -> dict[str, str]:
        return self._do("prepare", {})

    def settle(self, view: completions.View, answer: agents.Answer) -> list[str]:
        return self._do("settle", [])

    def validate(self, view: completions.View) -> validators.Outcome:
        return self._do("validate", validators.Outcome(True, []))

    def interrupt(self) -> None:
        """Nothing to end."""

    def run(self, *given: object) -> agents.Answer:
        return self._do("run", agents.Answer("done", "x"))


@pytest.mark.parametrize("at", ["", "verdict", "prepare", "settle", "validate", "run"])
def test_what_a_users_own_raises_fails_the_run_in_one_line(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    monkeypatch.setattr(Broken, "at", at)
    groups = (completions.GROUP, validators.GROUP)
    made = {group: {"mine": Broken} for group in groups}
    offer(monkeypatch, {**made, agents.GROUP: {"mine": lambda options: Broken()}})
    bench.stage("s", "completion: mine\nvalidate: anything\nvalidator: mine\nagent: mine\n")
    answer = bench.lk("run", "s", "a", "3")
    assert answer.exit == bool(at) and "Traceback" not in answer.err, answer
    assert bench.state()["status"] == ("failed" if at else "completed")
    if at:
        assert "'mine' cannot be used: 'mine'" in bench.state()["error"], bench.state()["error"]
