"""The subagents: flat, with the tools of their row and no more, each with what it gets, does,
reports."""

from __future__ import annotations

import re

import pytest

from loopkit.core.steps.kinds import AGENT, KINDS, SCAFFOLD
from tests.plugin.bundle import DOCUMENTS, NAMES, ROOT

LOOK, RUN = {"Read", "Grep", "Glob"}, {"Read", "Grep", "Glob", "Bash"}
#: Agent: its tools; None for all but those that start agents (rule: Roles; testers, supervisors and
#: reviewers read and run, they do not edit).
TOOLS = {
    "coder": None,
    "plan-review": LOOK,
    "planner": LOOK,
    "review": RUN,
    "scaffold": None,
    "supervisor": RUN,
    "tester": RUN,
}
STARTS_AGENTS, EDITS = {"Agent", "Task"}, {"Edit", "Write", "MultiEdit", "NotebookEdit"}
COMMANDS = {name for plugin, kind, name in NAMES if (plugin, kind) == ("loop", "command")}
SKILLS = {name for plugin, kind, name in NAMES if (plugin, kind) == ("loop", "skill")}
AGENTS = {one.name: one for one in DOCUMENTS if (one.plugin, one.kind) == ("loop", "agent")}


def words(agent, key: str) -> set[str]:
    return set(filter(None, re.split(r"[,\s]+", agent.meta.get(key, ""))))


def test_the_agents_are_these_and_no_other_plugin_has_any():
    assert set(AGENTS) == set(TOOLS)
    assert {plugin for plugin, kind, _ in NAMES if kind == "agent"} == {"loop"}


@pytest.mark.parametrize("name", TOOLS)
def test_the_tools_are_those_of_the_table(name):
    agent, tools = AGENTS[name], TOOLS[name]
    if tools is None:
        assert "tools" not in agent.meta and words(agent, "disallowedTools") == STARTS_AGENTS
    else:
        assert words(agent, "tools") == tools and "disallowedTools" not in agent.meta


@pytest.mark.parametrize("name", TOOLS)
def test_none_starts_agents_and_only_coder_and_scaffold_edit(name):
    tools = TOOLS[name]
    assert tools is None or not tools & (STARTS_AGENTS | EDITS)
    assert (tools is None) == (name in ("coder", "scaffold"))


@pytest.mark.parametrize("name", TOOLS)
def test_each_says_what_it_gets_when_to_stop_what_to_report_with_an_example(name):
    body = AGENTS[name].body
    assert re.search(r"[Yy]our prompt", body), "what it gets"
    places = [
        body.index(part) for part in ("\n## When to stop\n", "\n## Report\n", "\n## Example\n")
    ]
    assert places == sorted(places) and re.search(r"^1\. ", body, re.M)
    assert len(body) <= 3200


def test_whoever_answers_a_step_has_a_whole_prompt_and_answers_in_its_form():
    roles = {one.agent for one in KINDS.values() if one.who == AGENT}
    assert roles == {
        *("planner", "plan-review", "coder", "scaffold", "tester", "supervisor", "review")
    }
    for role in roles:
        body = " ".join(AGENTS[role].body.split())
        assert "Your prompt is all of it" in body and "`.loop/*/prompts/<name>.md`" in body
        assert "One JSON object in the form of your prompt" in body
        assert "what does not fit comes back" in body
        assert "task show" not in body and "YAML" not in body


@pytest.mark.parametrize("name", ["coder", "scaffold"])
def test_whoever_is_stuck_says_so_and_leaves_the_check_alone(name):
    body = " ".join(AGENTS[name].body.split())
    assert "Stuck on one obstacle for more than five minutes" in body and "you are blocked" in body
    assert "just to make it pass" in body or "to make it pass" in body


def test_a_step_of_the_scaffold_goes_to_an_agent_that_may_edit():
    assert TOOLS[KINDS[SCAFFOLD].agent] is None


def test_each_agent_is_dispatched_by_a_step():
    """What needs no judgement of its own is code, a field of an answer, or the person's step."""
    assert set(AGENTS) == {one.agent for one in KINDS.values() if one.agent}
    words = " ".join(one.body for one in DOCUMENTS) + (ROOT / "README.md").read_text("utf-8")
    assert set(re.findall(r"`loop:([a-z-]+)`", words)) <= set(AGENTS) | COMMANDS | SKILLS
