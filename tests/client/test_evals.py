"""evals/: each case passes with the scripted model, and fails with one that does nothing; its keys
are known ones."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

from tests.client import evals
from tests.client.harness import ROOT

CASES = {file.parent.name: file for file in sorted((ROOT / "evals").glob("*/case.yaml"))}
#: What the client reads (found in 2.1.332); it passes unknown keys over in silence, and is strict
#: in graders only.
KEYS = {
    "": set(
        "schema_version name description tags plugins context execution runs graders "
        "expected_outcome".split()
    ),
    "context": {"scaffold_script", "history_file", "add_dirs"},
    "execution": set(
        "prompt max_turns timeout_seconds model allowed_tools disallowed_tools "
        "append_system_prompt env".split()
    ),
}
#: A grader that says what must not happen holds where nothing happens: these records break it.
BROKEN = {
    "never a change to README.md": "# Another project\n",
    "never a task completed without evidence": '{"type":"loop_started"}\n{"type":"task_completed","data":{"id":"T-001"}}',
    "never the same task again without a panel": '{"type":"task_failed","data":{"id":"T-002"}}\n'
    '{"type":"task_started","data":{"id":"T-002"}}',
    "never a question to the person for being stuck": '{"type":"question_asked"}',
    "never a task": '{"type":"task_added"}',
    "never overruled by the model": '{"type":"spec_overruled"}',
    "never complete with a blocker left": '{"type":"review_thorough","data":{"severity":"BLOCKER"}}\n'
    '{"type":"loop_completed"}',
    "never waived": '{"type":"finding_resolved","data":{"how":"waived"}}',
    "never complete without a passed gate": '{"type":"gate_result","data":{"passed":false}}\n{"type":"loop_completed"}',
}


@pytest.fixture(scope="module")
def evaluator(client: Path) -> Path:
    """A client that can run evals; older ones than the pinned one may not."""
    if not evals.able(client):
        if evals.pinned(client):
            pytest.fail("the pinned client has no `plugin eval` with these options any more")
        pytest.skip("this client has no `plugin eval` with all options that are needed")
    return client


def case(name: str) -> dict:
    return yaml.safe_load(CASES[name].read_text(encoding="utf-8"))


def test_there_is_a_scenario_for_each_case() -> None:
    assert set(CASES) == set(evals.SCENARIOS)


@pytest.mark.parametrize("name", CASES)
def test_a_case_says_only_what_the_client_reads(name: str) -> None:
    given = case(name)
    for place, known in KEYS.items():
        assert set(given[place] if place else given) <= known
    assert given["name"] == name and given["schema_version"] == "1.0"
    assert [(CASES[name].parent / folder).resolve() for folder in given["plugins"]] == [
        ROOT,
        ROOT / "plugins" / "hope",
        ROOT / "plugins" / "counsel",
    ]
    assert (CASES[name].parent / given["context"]["scaffold_script"]).is_file()
    assert CASES[name].read_text(encoding="utf-8").startswith("# "), "says what it is for"


@pytest.mark.parametrize("name", CASES)
def test_what_must_not_happen_would_be_seen(name: str) -> None:
    for grader in case(name)["graders"]:
        if grader["name"].startswith("never "):
            found = re.search(grader["pattern"], BROKEN[grader["name"]])
            assert bool(found) == (grader.get("match") == "not_contains"), grader["name"]


@pytest.mark.parametrize("name", CASES)
def test_nothing_of_it_is_found_in_a_loop_that_was_only_started(name: str) -> None:
    left = {
        "ledger.jsonl": f'{{"type":"loop_started","data":{{"task":"{case(name)["name"]}"}}}}\n',
        "workflow-state.json": '{"stage": "intent", "status": "running"}',
    }
    for grader in case(name)["graders"]:
        if not grader["name"].startswith("never "):
            text = left.get(grader["target"]["path"].rpartition("/")[2], "")
            assert not re.search(grader["pattern"], text), grader["name"]


#: tests/ops/test_graders.py has what the others look for; each needs eleven seconds of a core here.
PASSING = [*CASES] if os.environ.get("LOOPKIT_TEST_LONG") else ["blocker-remediation"]


@pytest.mark.parametrize("name", PASSING)
def test_it_passes(name: str, evaluator: Path, tmp_path: Path) -> None:
    run = evals.run(evaluator, evals.SCENARIOS[name](), "--case", name, folder=tmp_path)
    assert not run.cases[name].get("error"), run.told
    assert all(run.graders(name).values()), f"{run.graders(name)}\n{run.told}"
    assert run.code == 0, run.told


def test_one_fails_with_a_model_that_does_nothing(evaluator: Path, tmp_path: Path) -> None:
    name = "vague-intent"
    run = evals.run(evaluator, evals.idle(), "--case", name, folder=tmp_path)
    assert run.code == 1, run.told
    assert not run.cases[name].get("error"), run.told
    held = {grader for grader, passed in run.graders(name).items() if passed}
    assert held == {grader for grader in run.graders(name) if grader.startswith("never ")}, run.told
