"""Checks in a project's own words: its scripts, its Makefile, the scripts of its package file. They come first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import tiers
from .checks import Check, Folder, check, inside, kind_of, words

#: Folders in which a project keeps scripts to be called by hand.
FOLDERS = ("script", "scripts", "bin")


def executables(here: Folder) -> Iterator[Check]:
    """`script/test` and its like, in the folders script, scripts and bin; only what may be run."""
    if here.name not in FOLDERS:
        return
    for name in sorted(here.files):
        stem, _, ending = name.partition(".")
        known = kind_of(stem, here.files[name] if here.files[name].count("\n") < 3 else "")
        if known and ending in ("", "sh", "bash", "py"):
            yield check(known[0], here.path(name), here.shown(name), known[1])


MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_RULE = re.compile(r"^([A-Za-z0-9][^:=#%$\n\t]*?) *::?(?![:=])([^=\n]*)$")


def make(here: Folder) -> Iterator[Check]:
    """Targets of a Makefile that have a recipe or a prerequisite; neither patterns nor names that are only .PHONY.

    A target named like a file or folder beside the Makefile is up to date, so that it cannot fail, unless it is .PHONY.
    """
    name = here.first(*MAKEFILES)
    if name is None:
        return
    lines = here.files[name].replace("\\\n", " ").splitlines()
    phony = {word for line in lines if line.startswith(".PHONY") for word in line.partition(":")[2].split()}
    there = {*here.folders, *here.files} - phony
    for place, line in enumerate(lines):
        rule = _RULE.match(line) if len(line) < 1000 else None
        if rule is None:
            continue
        needs, _, own = rule[2].partition(";")
        recipe = [own] if own.strip() else []
        for below in lines[place + 1 : place + 40]:
            if not below.startswith("\t"):
                break
            recipe.append(below.lstrip("\t@-+ "))
        body = " && ".join(one for one in recipe if one and not one.startswith("#"))
        if not body and not needs.strip():
            continue
        for target in rule[1].split():
            known = kind_of(target, body)
            if known and target not in there:
                where = f"-C {here.quoted} " if here.name else ""
                yield check(known[0], f"make {where}{target}", f"{here.shown(name)}: target {target}", known[1])


JUSTFILES = ("justfile", "Justfile", ".justfile")
_RECIPE = re.compile(r"^@?([A-Za-z_][\w-]*)([^:=\n]*):(?!=)(.*)$")


def just(here: Folder) -> Iterator[Check]:
    """Recipes of a justfile that need no argument."""
    name = here.first(*JUSTFILES)
    if name is None:
        return
    lines = here.files[name].splitlines()
    for place, line in enumerate(lines):
        recipe = _RECIPE.match(line) if len(line) < 1000 else None
        if recipe is None or recipe[2].strip():
            continue
        body = " && ".join(one.strip(" \t@-") for one in lines[place + 1 : place + 20] if one[:1] in (" ", "\t"))
        known = kind_of(recipe[1], body)
        if known and (body or recipe[3].strip()):
            where = f"-f {here.path(name)} " if here.name else ""
            yield check(known[0], f"just {where}{recipe[1]}", f"{here.shown(name)}: recipe {recipe[1]}", known[1])


TASKFILES = ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml", "Taskfile.dist.yml")


def taskfile(here: Folder) -> Iterator[Check]:
    """Tasks of a Taskfile, read by their indentation."""
    name = here.first(*TASKFILES)
    if name is None:
        return
    where = f"-d {here.quoted} " if here.name else ""
    inner, width = False, 0
    for line in here.files[name].splitlines():
        blank = len(line) - len(line.lstrip(" "))
        if re.match(r"tasks:\s*(?:#.*)?$", line):
            inner, width = True, 0
        elif line[:1] not in ("", " ", "#"):
            inner = False
        elif inner and line.strip() and line.strip()[0] != "#":
            width = width or blank
            found = (
                re.match(r"""["']?([\w:.-]+?)["']?:(?:\s|$)""", line[blank : blank + 200]) if blank == width else None
            )
            known = kind_of(found[1]) if found else None
            if found and known:
                yield check(known[0], f"task {where}{found[1]}", f"{here.shown(name)}: task {found[1]}", known[1])


def packages(here: Folder) -> Iterator[Check]:
    """Scripts of package.json, by the package manager whose lock file is there."""
    package = here.json("package.json")
    scripts = inside(package, "scripts")
    runner = manager(here)
    for name in sorted(scripts, key=lambda one: (len(one), one)):
        body = words(scripts[name])
        known = kind_of(name, body)
        if not known or not body.strip():
            continue
        call = _run(runner, here, name)
        if known[0] == "test" and re.search(r"\breact-scripts test\b", body):
            call = f"env CI=true {call}"
        if known[0] == "test" and re.match(r"\s*ng test\b(?!.*--watch)", body[:500]):
            call += " -- --watch=false"
        yield check(known[0], call, f"{here.shown('package.json')}: scripts.{name}", known[1])


LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "pnpm-workspace.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}


def manager(here: Folder) -> str:
    """npm, pnpm, yarn or bun: by `packageManager`, else by lock file, of this folder, then of the root."""
    for folder in (here, here.root):
        named = folder.json("package.json").get("packageManager")
        name = named.partition("@")[0] if isinstance(named, str) else ""
        if name in LOCKS.values():
            return name
        lock = folder.first(*LOCKS)
        if lock:
            return LOCKS[lock]
    return "npm"


def _run(runner: str, here: Folder, name: str) -> str:
    flag = {"npm": "--prefix", "pnpm": "-C", "yarn": "--cwd", "bun": "--cwd"}[runner]
    where = f" {flag} {here.quoted}" if here.name else ""
    if runner == "bun":
        return f"bun run{where} {name}"  # `bun test` is its own test runner
    return f"{runner}{where} {name}" if name == "test" else f"{runner}{where} run {name}"


def composer(here: Folder) -> Iterator[Check]:
    """Scripts of composer.json."""
    where = f"--working-dir={here.quoted} " if here.name else ""
    scripts = inside(here.json("composer.json"), "scripts")
    for name in sorted(scripts, key=lambda one: (len(one), one)):
        known = kind_of(name, words(scripts[name]))
        if known:
            why = f"{here.shown('composer.json')}: scripts.{name}"
            yield check(known[0], f"composer {where}run-script {name}", why, known[1])


def deno(here: Folder) -> Iterator[Check]:
    """Tasks of deno.json."""
    name = here.first("deno.json", "deno.jsonc")
    if name is None:
        return
    where = f"--cwd {here.quoted} " if here.name else ""
    tasks = inside(here.json(name), "tasks")
    for task in sorted(tasks, key=lambda one: (len(one), one)):
        known = kind_of(task, words(tasks[task]))
        if known:
            yield check(known[0], f"deno task {where}{task}", f"{here.shown(name)}: tasks.{task}", known[1])


#: (keys of pyproject.toml, how a task of that table is run); none of them takes a folder.
_PYTHON_TASKS = (
    (("tool", "poe", "tasks"), "poe"),
    (("tool", "taskipy", "tasks"), "task"),
    (("tool", "pdm", "scripts"), "pdm run"),
    (("tool", "hatch", "envs", "default", "scripts"), "hatch run"),
    (("tool", "pixi", "tasks"), "pixi run"),
)


def python(here: Folder) -> Iterator[Check]:
    """Tasks in pyproject.toml, and the environments of tox and nox."""
    project = here.toml("pyproject.toml")
    for keys, call in _PYTHON_TASKS if not here.name else ():
        table = inside(project, *keys)
        for name in table:
            known = kind_of(name, words(table[name]))
            if known:
                yield check(known[0], f"{call} {name}", f"pyproject.toml: {'.'.join(keys)}.{name}", known[1])
    if "tox.ini" in here and re.search(r"^\[(?:tox|testenv)", here.text("tox.ini"), re.MULTILINE):
        where = f" -c {here.path('tox.ini')}" if here.name else ""
        yield check("test", f"tox{where}", f"{here.shown('tox.ini')}: [tox]", tiers.THOROUGH)
    elif "tox" in inside(project, "tool"):
        where = f" -c {here.path('pyproject.toml')}" if here.name else ""
        yield check("test", f"tox{where}", f"{here.shown('pyproject.toml')}: tool.tox", tiers.THOROUGH)
    if "noxfile.py" in here:
        where = f" -f {here.path('noxfile.py')}" if here.name else ""
        yield check("test", f"nox{where}", here.shown("noxfile.py"), tiers.THOROUGH)


#: Finders, in the order in which a person would try them.
FINDERS = (executables, make, just, taskfile, packages, composer, deno, python)
