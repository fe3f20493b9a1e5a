"""Imports point one way: between the packages of loopkit, between the subjects of core, and within
each of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "loopkit"
#: Each may import what stands before it.
SUBJECTS = (
    "journal",
    "evidence",
    "request",
    "plan",
    "memory",
    "health",
    "review",
    "steps",
    "pipeline",
)
PACKAGES = {
    "core": (),
    "store": ("core",),
    "render": ("core",),
    "replies": ("core", "store"),
    "engine": ("core", "store", "replies", "render"),
    "hooks": ("core", "store"),
    "ops": ("core", "store", "replies", "render", "engine"),
    "cli": ("core", "store", "replies", "render", "engine", "ops"),
}


def imported(name: str, text: str) -> Iterator[str]:
    """Modules of loopkit that a module's text imports, wherever in it, for types too:
    `core.plan.work`."""
    parts = name.split(".")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = parts[: len(parts) - node.level] + (
                node.module.split(".") if node.module else []
            )
            for alias in node.names:
                whole = ".".join([*base, alias.name])
                yield whole if whole in MODULES else ".".join(base)


def named(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


MODULES = {named(path): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}


def back(name: str, text: str) -> list[str]:
    """Imports of a module that point back."""
    parts = name.split(".")
    found = []
    for other in imported(name, text):
        there = other.split(".")
        if (
            there[0] != parts[0]
            and parts[0] in PACKAGES
            and there[0] in PACKAGES
            and there[0] not in PACKAGES[parts[0]]
        ):
            found.append(other)
        if (
            parts[0] == there[0] == "core"
            and len(parts) > 2
            and len(there) > 1
            and there[1] in SUBJECTS
        ):
            if SUBJECTS.index(there[1]) > SUBJECTS.index(parts[1]):
                found.append(other)
    return found


@pytest.mark.parametrize("name", sorted(name for name in MODULES if "." in name))
def test_no_import_points_back(name: str) -> None:
    assert back(name, MODULES[name]) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("core.journal.stage", "from ..steps import due"),
        ("core.plan.work", "def f():\n    from ..review.gate import POINTS"),
        ("core.plan.work", "if TYPE_CHECKING:\n    from ..health import monitor"),
        ("core.plan.work", "from ...store import place"),
        ("core.plan.work", "from ..steps.policies import of"),
        ("store.place", "from ..engine import git"),
        ("engine.git", "from ..cli import app"),
    ],
)
def test_one_that_does_is_found(name: str, line: str) -> None:
    assert len(back(name, MODULES[name] + "\n" + line + "\n")) == 1


def test_every_module_of_core_belongs_to_a_subject() -> None:
    parts = [name.split(".") for name in MODULES if name.startswith("core.")]
    assert {part[1] for part in parts if len(part) > 2} == set(SUBJECTS)
    assert [part for part in parts if len(part) == 2 and part[1] != "__init__"] == []


def at_start(name: str, text: str) -> set[str]:
    """What a module imports when it is imported itself: neither in a function nor for types
    alone."""
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return set(imported(name, ast.unparse(tree))) - {name}


def test_no_modules_wait_for_each_other() -> None:
    graph = {
        name: at_start(name, text)
        for name, text in MODULES.items()
        if not name.endswith("__init__")
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


#: What a module of cli may import: what it calls, what is common to all commands, refusals, the
#: closed lists that its options offer, the registry of schemas ("": the package itself) and the
#: records of the runner.
FOR_COMMANDS = (
    "",
    "cli.app",
    "core.journal.task",
    "core.steps.kinds",
    "core.pipeline.typed",
    "engine.run",
    "core.journal.errors",
    "core.journal.stage",
    "core.journal.settings",
    "core.plan.events",
    "core.request.topics",
    "render",
)


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name in MODULES
        if name.startswith("cli.") and name.split(".")[1] not in ("__init__", "app")
    ),
)
def test_a_command_parses_calls_a_use_case_and_prints(name: str) -> None:
    others = {
        other
        for other in imported(name, MODULES[name])
        if not other.startswith("ops.") and other not in FOR_COMMANDS
    }
    assert others == set()


@pytest.mark.parametrize("name", sorted(name for name in MODULES if name.startswith("ops.")))
def test_a_use_case_knows_no_terminal(name: str) -> None:
    tree = ast.parse(MODULES[name])
    roots = {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    roots |= {
        (node.module or "").split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not node.level
    }
    assert roots.isdisjoint({"click", "rich"})
    streams = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    assert streams.isdisjoint({"sys.stdin", "sys.stdout", "sys.stderr"})
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert names.isdisjoint({"print", "input", "App"})


# -- which policy is in force

#: What knows the names of policies: their strategies, the setting, and the fold of it.
POLICIES = "core.steps.policies."
NAMING = ("core.journal.settings", "core.journal.state", "store.config")


def asks_for_policy(text: str) -> list[str]:
    """Where a module asks which approval policy a loop has: it compares `approval`, or names one of
    the policies."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            if any(isinstance(one, ast.Attribute) and one.attr == "approval" for one in sides):
                found.append(ast.unparse(node))
        if isinstance(node, ast.Attribute) and node.attr in ("EVIDENCE", "REVIEW", "SUPERVISOR"):
            if ast.unparse(node.value) == "settings":
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("name", sorted(name for name in MODULES if "." in name))
def test_only_policies_know_which_of_them_is_in_force(name: str) -> None:
    assert name.startswith(POLICIES) or name in NAMING or asks_for_policy(MODULES[name]) == []


@pytest.mark.parametrize(
    "line",
    [
        "if state.approval == 'review': pass",
        "if loop.state.approval in ('review',): pass",
        "x = settings.SUPERVISOR",
    ],
)
def test_one_that_asks_is_found(line: str) -> None:
    assert len(asks_for_policy(line)) == 1
