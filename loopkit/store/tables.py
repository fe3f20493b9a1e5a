"""The tables of loopkit/data, each read once and handed to the rules that apply its rows."""

from __future__ import annotations

import functools
import os

import tomllib

from ..core import discovery

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")


@functools.cache
def tool_chains() -> discovery.Catalog:
    """How a project's own checks are known."""
    return discovery.Catalog(_read("toolchains"))


@functools.cache
def runners() -> list[dict]:
    """How runners of tests print what failed."""
    return list(_read("runners")["runner"])


def _read(name: str) -> dict:
    with open(os.path.join(_FOLDER, name + ".toml"), "rb") as file:
        return tomllib.load(file)
