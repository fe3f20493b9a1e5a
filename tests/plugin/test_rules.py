"""Permission rules in all that is shipped: none that lets `loopkit` run any command is advised
anywhere."""

from __future__ import annotations

import re

import pytest

from loopkit.core.evidence.permissions import too_wide
from tests.plugin.bundle import DOCUMENTS, ROOT, rules

FOLDERS = (
    "agents",
    "commands",
    "demo",
    "evals",
    "hooks",
    "loopkit",
    "plugins",
    "skills",
    "templates",
)
#: Where such rules are told from others.
APART = ROOT / "loopkit" / "core" / "evidence" / "permissions.py"
SHIPPED = [
    *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.is_file()),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
]


def advised(text: str) -> list[str]:
    """What looks like a rule for the shell in a text, and like what a dialog offers to allow for
    good; not the condition of a hook."""
    return re.findall(r"Bash\([^()\n]*\)", re.sub(r'"if": "[^"\n]*"', "", text))


def test_a_wide_rule_would_be_found() -> None:
    assert [
        too_wide(one) for one in advised('"Bash(loopkit verify *)", `Bash(loopkit status *)`')
    ] == ["verify", ""]


@pytest.mark.parametrize("folder", [*FOLDERS, "."])
def test_no_shipped_text_advises_one(folder: str) -> None:
    found: dict[str, list[str]] = {}
    for path in SHIPPED:
        name = path.relative_to(ROOT)
        if (
            path == APART
            or path.suffix == ".pyc"
            or name.parts[0] != folder
            and (folder != "." or len(name.parts) > 1)
        ):
            continue
        wide = [
            one
            for one in advised(path.read_text(encoding="utf-8", errors="replace"))
            if too_wide(one)
        ]
        if wide:
            found[str(name)] = wide
    assert found == {}


@pytest.mark.parametrize(
    "document", [one for one in DOCUMENTS if rules(one)], ids=lambda one: one.name
)
def test_no_command_allows_one(document) -> None:
    assert not [one for one in rules(document) if too_wide(one)]
