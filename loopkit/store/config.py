"""`.loop/config.toml`: the project's settings, all optional; an unknown key is an error."""

from __future__ import annotations

import os
from typing import Any

import tomllib

from ..core.journal import limits, settings
from ..core.journal.errors import Damaged, UsageFault
from . import personal, trust
from .origin import CONFIG, SETTINGS, Origin, digest

#: The largest whole number that a setting takes.
MOST = 1_000_000_000
#: What each setting takes, in the words of a fault.
_TAKES = {
    "limits": "a table, [limits]",
    "limits.iterations": 'a whole number from 1 on, or "none"',
    "limits.usd": 'an amount above 0, or "none"',
    "limits.seconds": 'seconds from 1 on, a duration like "1h30m", or "none"',
    "approval": ", ".join(f'"{word}"' for word in settings.POLICIES),
    "panel": "a table, [panel]",
    "panel.blocklist": 'a list of expert names, as in blocklist = ["simplifier"]',
    "recall": "a table, [recall]",
    "recall.user": "true or false",
    "prices": "a table, [prices], of four numbers a model: input, output, cache write, cache read",
    "max_idle_stops": "a whole number from 1 to 7",
    "max_step_attempts": "a whole number from 1 on",
    "max_fix_cycles": "a whole number from 0 on",
    "max_replan_depth": "a whole number from 0 on",
    "verify_seconds": "seconds, a whole number from 1 on",
    "max_plan_revisions": "a whole number from 0 on",
    "approval_threshold": "a score from 0 to 100",
    "revision_threshold": "a score from 0 to 100, at most approval_threshold",
    "plan_review_failure": ", ".join(f'"{word}"' for word in settings.PLAN_REVIEW_FAILURES),
    "notify": 'a command as a list of words, as in notify = ["notify-send", "{title}", "{text}"]',
    "agents": "tables by name, [agents.<name>]",
    "models": 'a table, [models], as in coder = ["opus", "sonnet"]: the model, its fallback',
}
#: Settings of runs; loops store the others when they start.
_OF_RUNS = ("notify", "agents", "models")


def read(origin: Origin) -> dict:
    """Settings for a new loop, the defaults where the file is untrusted: `limits` (iterations, usd,
    seconds; None for none), `approval`, settings.DEFAULTS, `blocklist` (experts that are not
    asked), `user` (whether the user's own learnings are recalled). Raises Damaged where the file
    cannot be read or parsed, UsageFault for an unknown key or a wrong value."""
    values = _read(origin)
    return {key: values[key] for key in values if key not in _OF_RUNS}


def _read(origin: Origin) -> dict:
    path = os.path.join(origin.root, CONFIG)
    try:
        return parsed(origin.settings(), path)
    except OSError as error:
        raise Damaged(f"cannot read {path}: {error.strerror}", "fix or remove it") from None


def of_runs(origin: Origin | None, environment: dict, project: str) -> dict:
    """Settings of headless runs: `limits` as of `read`, `notify` (a command's words), `agents`
    {name: its options}, `models` {role: [model, the one that it falls back to]}. The person's own
    agents and notice stand behind the project's. Raises as `read` does."""
    given = personal.load(environment, project)
    rows = {key: given[key] for key in _OF_RUNS if key in given}
    own = _checked(rows, personal.path(environment))
    values = own if origin is None else _read(origin)
    return {
        "limits": values["limits"],
        "notify": values["notify"] or own["notify"],
        "agents": {**own["agents"], **values["agents"]},
        "models": {role: names for role, names in values["models"].items() if names},
    }


def note_own(origin: Origin) -> None:
    """Remember untracked settings as the person's own: they may be committed later."""
    try:
        raw = origin.settings()
        if raw and not origin.tracked(CONFIG):
            trust.vouch(trust.OWN, [(digest(SETTINGS, raw, origin.root), SETTINGS)])
    except OSError:  # then they are asked about once more
        pass


def parsed(raw: bytes, path: str) -> dict:
    """The settings that stand in a file's bytes. Raises Damaged, UsageFault, which name `path`."""
    try:
        given = tomllib.loads(raw.decode("utf-8-sig").replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Damaged(f"{path}: {error}", "fix it") from None
    return _checked(given, path) if given else _usual()


def _usual() -> dict:
    """The settings of a file that says nothing, as most: no model is paid for."""
    amounts = {
        "iterations": limits.DEFAULT_ITERATIONS,
        "usd": limits.DEFAULT_USD,
        "seconds": limits.DEFAULT_SECONDS,
    }
    whole = {**settings.DEFAULTS, "approval": settings.EVIDENCE, "prices": {}}
    whole |= {"notify": [], "agents": {}, "models": settings.MODELS}
    return {"limits": amounts, **whole, "blocklist": [], "user": False}


def _checked(given: dict, path: str) -> dict:
    from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

    usual = _usual()

    def one_of(words: tuple[str, ...], default: str) -> Any:
        return Field(default, pattern=f"^(?:{'|'.join(words)})$")

    def number(name: str, least: int, most: int = MOST) -> Any:
        return Field(usual[name], ge=least, le=most)

    class Strict(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)

    class Limits(Strict):
        iterations: PositiveInt | str = usual["limits"]["iterations"]
        usd: float | int | str = usual["limits"]["usd"]
        seconds: PositiveInt | str = usual["limits"]["seconds"]

    class Panel(Strict):
        blocklist: list[str] = usual["blocklist"]

    class Recall(Strict):
        user: bool = usual["user"]

    class Agent(Strict):
        use: str = ""
        model: str = ""
        fallback_model: str = ""
        permission_mode: str = ""
        allowed_tools: list[str] = []
        arguments: list[str] = []
        program: list[str] = []
        prompt_by: str = one_of(("stdin", "file"), "stdin")
        script: str = ""

    class Models(Strict):
        planner: list[str] = settings.MODELS["planner"]
        coder: list[str] = settings.MODELS["coder"]
        tester: list[str] = settings.MODELS["tester"]
        supervisor: list[str] = settings.MODELS["supervisor"]
        reviewer: list[str] = settings.MODELS["reviewer"]

    class Config(Strict):
        limits: Limits = Limits()
        panel: Panel = Panel()
        recall: Recall = Recall()
        approval: str = one_of(settings.POLICIES, usual["approval"])
        prices: dict[str, tuple[float, float, float, float]] = usual["prices"]
        notify: list[str] = usual["notify"]
        agents: dict[str, Agent] = usual["agents"]
        models: Models = Models()
        max_idle_stops: int = number("max_idle_stops", 1, 7)
        max_step_attempts: int = number("max_step_attempts", 1)
        max_fix_cycles: int = number("max_fix_cycles", 0)
        max_replan_depth: int = number("max_replan_depth", 0)
        verify_seconds: int = number("verify_seconds", 1)
        max_plan_revisions: int = number("max_plan_revisions", 0)
        approval_threshold: int = number("approval_threshold", 0, 100)
        revision_threshold: int = number("revision_threshold", 0, 100)
        plan_review_failure: str = one_of(
            settings.PLAN_REVIEW_FAILURES, usual["plan_review_failure"]
        )

    try:
        for name, amounts in given.get("prices", {}).items():
            given["prices"][name] = tuple(float(amount) for amount in amounts)
            if not all(0 <= amount < 1e15 for amount in given["prices"][name]):
                raise ValueError(name)
    except (AttributeError, TypeError, ValueError):
        raise UsageFault(f"{path}: wrong prices", f"give {_TAKES['prices']}") from None
    try:
        config = Config.model_validate(given)
    except ValidationError as error:
        raise _fault(path, error.errors()[0]) from None
    if config.revision_threshold > config.approval_threshold:
        what = f"{path}: revision_threshold is {config.revision_threshold}"
        raise UsageFault(what, f"give {_TAKES['revision_threshold']}")
    values = config.model_dump()
    for kind, value in values["limits"].items():
        try:
            values["limits"][kind] = limits.amount(str(value), None, kind)
        except UsageFault:
            what = f"{path}: limits.{kind} is {value!r}"
            raise UsageFault(what, f"give {_TAKES[f'limits.{kind}']}") from None
    panel, recall = values.pop("panel"), values.pop("recall")
    return values | panel | recall


def _fault(path: str, error: Any) -> UsageFault:
    """One of pydantic's errors in plain words: the key, its value, what it takes."""
    parts = [str(part) for part in error["loc"]]
    key = ".".join(parts)
    if error["type"] == "extra_forbidden":
        table = parts[0] + "." if len(parts) > 1 else ""
        names = [name[len(table) :] for name in _TAKES if name.startswith(table)]
        known = ", ".join(name for name in names if "." not in name)
        return UsageFault(f"{path}: unknown key {key}", f"known: {known}")
    key = next((name for name in (".".join(parts[:2]), parts[0]) if name in _TAKES), key)
    what = "wrong prices" if key == "prices" else f"{key} is {repr(error['input'])[:60]}"
    return UsageFault(f"{path}: {what}", f"give {_TAKES.get(key, 'another value')}")
