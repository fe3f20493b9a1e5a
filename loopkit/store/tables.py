"""The tables of loopkit/data, each read once and handed to the rules that apply its rows."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from ..core.journal.errors import Damaged

if TYPE_CHECKING:
    from ..core.evidence.discovery import Catalog
    from ..core.evidence.masking import Masks

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")


@functools.cache
def tool_chains() -> Catalog:
    """How a project's own checks are known."""
    from ..core.evidence.discovery import Catalog

    return Catalog(_read("toolchains"))


@functools.cache
def tests() -> dict:
    """What belongs to tests: names of folders and of files."""
    return _read("toolchains")["tests"]


@functools.cache
def runners() -> list[dict]:
    """How runners of tests print what failed."""
    return list(_read("runners")["runner"])


@functools.cache
def counts() -> list[dict]:
    """How runners of tests count what they ran."""
    return list(_read("runners")["count"])


@functools.cache
def masks() -> Masks:
    """What looks like a credential."""
    from ..core.evidence.masking import Masks

    return Masks(_read("masks"))


def _read(name: str) -> dict:
    import tomllib

    path = os.path.join(_FOLDER, name + ".toml")
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError) as error:
        raise Damaged(f"cannot read {path}: {error}", "install the plugin again") from None
