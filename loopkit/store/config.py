"""`.loop/config.toml`: the project's settings, all optional, checked; a key nobody reads is an error."""

from __future__ import annotations

import os

import tomllib

from ..core import limits, settings
from ..core.errors import Damaged, UsageFault

NAME = "config.toml"


def read(root: str) -> dict:
    """Settings for a new loop: `limits` (iterations, usd, seconds; None for none), `approval`, settings.DEFAULTS.

    Raises Damaged where the file cannot be read or parsed, UsageFault for an unknown key or a wrong value.
    """
    path = os.path.join(root, NAME)
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except FileNotFoundError:
        raw = b""
    except OSError as error:
        raise Damaged(f"cannot read {path}: {error.strerror}", "mend or remove it") from None
    try:
        given = tomllib.loads(raw.decode("utf-8-sig").replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Damaged(f"{path}: {error}", "mend it") from None
    return _checked(given, path)


def _checked(given: dict, path: str) -> dict:
    from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

    class Limits(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)
        iterations: PositiveInt | str = limits.DEFAULT_ITERATIONS
        usd: float | int | str = limits.DEFAULT_USD
        seconds: PositiveInt | str = limits.DEFAULT_SECONDS

    class Config(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)
        limits: Limits = Limits()
        approval: str = Field("evidence", pattern="^evidence$")
        prices: dict[str, tuple[float, float, float, float]] = {}
        max_idle_stops: int = Field(settings.DEFAULTS["max_idle_stops"], ge=1, le=7)
        max_step_attempts: PositiveInt = settings.DEFAULTS["max_step_attempts"]
        max_fix_cycles: int = Field(settings.DEFAULTS["max_fix_cycles"], ge=0)
        max_replan_depth: int = Field(settings.DEFAULTS["max_replan_depth"], ge=0)
        verify_seconds: PositiveInt = settings.DEFAULTS["verify_seconds"]

    try:
        for name in given.get("prices", {}):
            given["prices"][name] = tuple(float(one) for one in given["prices"][name])
        config = Config.model_validate(given)
        chosen = {
            kind: limits.amount(str(getattr(config.limits, kind)), None, kind)
            for kind in ("iterations", "usd", "seconds")
        }
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageFault(
            f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}", "see the README for the settings"
        ) from None
    except (UsageFault, TypeError, ValueError) as error:
        raise UsageFault(f"{path}: {error}", "see the README for the settings") from None
    values = config.model_dump()
    values["limits"] = chosen
    return values
