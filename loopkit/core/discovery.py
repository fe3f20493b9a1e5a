"""The project's own commands: tests, lint, types, build, found from its marker files (rule: Verify tiers)."""

from __future__ import annotations

from collections.abc import Iterable

from . import command, scripts, tiers, toolchains
from .checks import BUILD, KINDS, LINT, TEST, TYPES, Check, Folder
from .errors import UsageFault

__all__ = [
    "BUILD",
    "KINDS",
    "LINT",
    "SCRIPT_FOLDERS",
    "TEST",
    "TYPES",
    "Check",
    "found",
    "skipped",
    "text_matters",
    "wanted",
    "wider",
]

SCRIPT_FOLDERS = scripts.FOLDERS
#: Folders whose contents are not the project's own words, and those that only show how something is used.
_SKIPPED = frozenset(
    "node_modules vendor third_party target build dist out venv env __pycache__ testdata fixtures examples example "
    "samples site-packages".split()
)
#: Files whose text tells something.
_READ = frozenset(
    (
        *"pyproject.toml setup.py setup.cfg tox.ini pytest.ini .pytest.ini noxfile.py Pipfile mypy.ini .mypy.ini".split(),
        *"requirements.txt requirements-dev.txt requirements_dev.txt dev-requirements.txt requirements-test.txt".split(),
        *"package.json tsconfig.json deno.json deno.jsonc Cargo.toml rust-toolchain rust-toolchain.toml".split(),
        *"pom.xml Gemfile Rakefile composer.json CMakeLists.txt mix.exs pubspec.yaml".split(),
        *toolchains.GRADLE,
        *scripts.MAKEFILES,
        *scripts.JUSTFILES,
        *scripts.TASKFILES,
    )
)
#: Files whose presence tells something.
_SEEN = frozenset(
    (
        *"conftest.py manage.py ruff.toml .ruff.toml .flake8 .pylintrc pylintrc pyrightconfig.json ty.toml".split(),
        *"uv.lock poetry.lock pdm.lock biome.json biome.jsonc go.mod clippy.toml .clippy.toml rustfmt.toml".split(),
        *".rustfmt.toml mvnw gradlew .rspec .rubocop.yml Steepfile artisan Package.swift .formatter.exs".split(),
        *"build.sbt .pre-commit-config.yaml __init__.py rails".split(),
        *(f".golangci.{end}" for end in ("yml", "yaml", "toml", "json")),
        *(name for names, *_ in toolchains.PHP for name in names),
        *scripts.LOCKS,
    )
)


def skipped(name: str) -> bool:
    """Whether a folder of the root is not looked into: hidden, made by a tool, or no name for a command line."""
    return name[:1] in (".", "-") or name.lower() in _SKIPPED or not name.isprintable()


def wanted(name: str, folder: str = "") -> bool:
    """Whether a file of that name, in a folder of that name ("" for the root), tells anything."""
    if name in _READ or name in _SEEN or text_matters(name, folder):
        return True
    return name.isprintable() and (
        name.endswith(toolchains.SOLUTIONS) or name.startswith(("eslint.config.", ".eslintrc"))
    )


def text_matters(name: str, folder: str = "") -> bool:
    """Whether the text of such a file is read, not only its name."""
    if name in _READ or folder in scripts.FOLDERS and name.isprintable():
        return True
    if toolchains.is_test(name):
        return folder in ("", *toolchains.TEST_FOLDERS)
    return name.isprintable() and name.endswith((*toolchains.DOTNET, ".gemspec"))


def found(files: dict[str, str], folders: Iterable[str] = ()) -> list[Check]:
    """Every check of a project, those of one kind in the order in which to prefer them: the project's own words
    before what its tools make standard, the root before what lies below.

    files: {path relative to the root, one level deep at the most, with `/`: text, "" where only its presence matters}
    · folders: relative names of folders, two levels deep at the most. Nothing in them can make it fail.
    """
    root, below = _tree(files, folders)
    checked: dict[str, Check] = {}
    for finders, arguments in ((scripts.FINDERS, ()), (toolchains.FINDERS, (below,))):
        for here in (root, *below.values()):
            for finder in finders:
                for one in finder(here, *arguments):
                    if _runs(one.command) and not _covered(one, here, checked):
                        checked.setdefault(one.command, one)
    return sorted(checked.values(), key=lambda one: KINDS.index(one.kind))


def wider(found: list[Check], tier: str, but: str) -> list[str]:
    """Up to three commands in which to look when a check keeps failing: those of the tier, else of the nearest narrower
    one that has any; `but` is the command that failed."""
    names = list(tiers.SECONDS)
    for name in reversed(names[: names.index(tier) + 1]):
        fitting = [one.command for one in found if one.tier == name and one.command != but]
        if fitting:
            return fitting[:3]
    return []


def _tree(files: dict[str, str], folders: Iterable[str]) -> tuple[Folder, dict[str, Folder]]:
    names = set(folders)
    inner: dict[str, dict] = {"": {}}
    for path, text in files.items():
        top, _, name = path.rpartition("/")
        if path in toolchains.INTERPRETERS:
            inner[""][path] = text
        else:
            inner.setdefault(top, {})[name] = text.replace("\r\n", "\n").lstrip("\ufeff")
            names |= {top} - {""}
    root = Folder("", inner[""], {one for one in names if "/" not in one})
    below = {}
    for name in sorted(root.folders):
        own = {one.partition("/")[2] for one in names if one.startswith(name + "/")}
        below[name] = Folder(name, inner.get(name, {}), own, root)
    return root, below


def _runs(line: str) -> bool:
    try:
        return bool(command.split(line))
    except UsageFault:
        return False


def _covered(one: Check, here: Folder, known: dict[str, Check]) -> bool:
    """The scripts of a workspace's root run those of its members."""
    if not here.name or not one.why.startswith(f"{here.name}/package.json"):
        return False
    workspace = "pnpm-workspace.yaml" in here.root or "workspaces" in here.root.json("package.json")
    return workspace and any(it.kind == one.kind and it.why.startswith("package.json") for it in known.values())
