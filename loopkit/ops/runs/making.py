"""The agents of a run's stages: what was given with its start counts before what a stage says, and
that before the settings."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...core.pipeline.definitions import AGENT, Entry
from ...engine import agents
from ...engine.agents import Agent, Options
from ...engine.agents.patient import Patient
from ...store.runs import Run
from .driver import RUN
from .ready import Asked, Ready, agent_of


def bare(
    entry: Entry,
    settings: dict,
    chosen: dict,
    more: dict,
    options: Options = Options(),  # noqa: B008
) -> tuple[Agent, Agent | None]:
    """The agent of a stage and the one that falls back for it, where it does not do so itself.
    settings: `agents` by name · chosen: agent and options of the start · more: between these two ·
    options: what holds for all. Raises UsageFault, Damaged."""
    name = chosen.get("agent") or entry.stage.agent or AGENT
    row = dict(settings.get(name, {}))
    use = row.pop("use", "") or name
    model = {"model": entry.stage.model} if entry.stage.model else {}
    given = {key: value for key, value in chosen.items() if key != "agent"}
    values = {**row, **model, **more, **given}
    values = {key: tuple(one) if type(one) is list else one for key, one in values.items()}
    options = options._replace(**values)
    fallback = None
    if options.fallback_model and use != AGENT:  # the client falls back by itself
        fallback = agents.make(use, options._replace(model=options.fallback_model))
    return agents.make(use, options), fallback


def maker(
    opened: Run, settings: dict, chosen: dict, told: Callable[[str], None]
) -> Callable[..., Agent]:
    """Makes the agent of a stage (and with further options), which tries again what passes and
    waits for limits within the run's time. told: gets its lines of progress."""

    def end() -> float:
        return time.time() + opened.left

    usual = Options(environment={RUN: opened.state.token}, told=told)

    def make(entry: Entry, more: dict = {}) -> Agent:  # noqa: B006  # only read
        agent, fallback = bare(entry, settings, chosen, more, usual)
        return Patient(agent, fallback, end, told, opened.waiting)

    return make


def check(found: Ready, asked: Asked) -> None:
    """Raises LoopError where an agent cannot be made, before anything is begun."""
    wanted = agent_of(asked, Run.open(found.root, asked.session))
    for entry in found.pipeline.entries:
        bare(entry, found.settings["agents"], wanted, {})
