"""Checks that a project defines itself, by the names and files in data/toolchains.toml."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from . import rows
from .checks import TEST, Check, Folder, inside, kind_of, script, words


def executables(here: Folder) -> Iterator[Check]:
    """`script/test` and its like, in the folders script, scripts and bin; only what may be run."""
    if here.name not in here.table["folders"]["scripts"]:
        return
    for name in sorted(here.files):
        stem, _, ending = name.partition(".")
        body = here.files[name] if here.files[name].count("\n") < 3 else ""
        if ending in ("", "sh", "bash", "py"):
            yield from script(here, stem, body, here.path(name), here.shown(name))


_RULE = re.compile(r"^([A-Za-z0-9][^:=#%$\n\t]*?) *::?(?![:=])([^=\n]*)$")


def make(here: Folder) -> Iterator[Check]:
    """Targets of a Makefile that have a recipe or a prerequisite; no patterns, no mere .PHONY. A
    target named like a file or folder beside the Makefile is up to date, so that it cannot fail,
    unless it is .PHONY."""
    name = here.first(*here.table["lists"]["make"])
    if name is None:
        return
    lines = here.files[name].replace("\\\n", " ").splitlines()
    rules = (line.partition(":")[2] for line in lines if line.startswith(".PHONY"))
    phony = {word for rule in rules for word in rule.split()}
    beside = {*here.folders, *here.files} - phony
    where = f"-C {here.quoted} " if here.name else ""
    for number, line in enumerate(lines):
        rule = _RULE.match(line) if len(line) < 1000 else None
        if rule is None:
            continue
        needs, _, own = rule[2].partition(";")
        recipe = [own] if own.strip() else []
        for below in lines[number + 1 : number + 40]:
            if not below.startswith("\t"):
                break
            recipe.append(below.lstrip("\t@-+ "))
        body = " && ".join(step for step in recipe if step and not step.startswith("#"))
        if not body and not needs.strip():
            continue
        for target in rule[1].split():
            if target not in beside:
                why = f"{here.shown(name)}: target {target}"
                yield from script(here, target, body, f"make {where}{target}", why)


_RECIPE = re.compile(r"^@?([A-Za-z_][\w-]*)([^:=\n]*):(?!=)(.*)$")


def just(here: Folder) -> Iterator[Check]:
    """Recipes of a justfile that need no argument."""
    name = here.first(*here.table["lists"]["just"])
    if name is None:
        return
    lines = here.files[name].splitlines()
    where = f"-f {here.path(name)} " if here.name else ""
    for number, line in enumerate(lines):
        recipe = _RECIPE.match(line) if len(line) < 1000 else None
        if recipe is None or recipe[2].strip():
            continue
        steps = lines[number + 1 : number + 20]
        body = " && ".join(step.strip(" \t@-") for step in steps if step[:1] in (" ", "\t"))
        if body or recipe[3].strip():
            why = f"{here.shown(name)}: recipe {recipe[1]}"
            yield from script(here, recipe[1], body, f"just {where}{recipe[1]}", why)


def taskfile(here: Folder) -> Iterator[Check]:
    """Tasks of a Taskfile, read by their indentation."""
    name = here.first(*here.table["lists"]["taskfile"])
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
            start = line[blank : blank + 200] if blank == width else ""
            task = re.match(r"""["']?([\w:.-]+?)["']?:(?:\s|$)""", start)
            if task:
                why = f"{here.shown(name)}: task {task[1]}"
                yield from script(here, task[1], "", f"task {where}{task[1]}", why)


def packages(here: Folder) -> Iterator[Check]:
    """Scripts of package.json, by the package manager whose lock file is there."""
    package = here.document("package.json")
    scripts = inside(package, "scripts")
    runner = manager(here)
    for name in _by_length(scripts):
        body = words(scripts[name])
        known = kind_of(here.table, name, body)
        if not known or not body.strip():
            continue
        call = _run(runner, here, name)
        if known[0] == TEST and re.search(r"\breact-scripts test\b", body):
            call = f"env CI=true {call}"
        if known[0] == TEST and re.match(r"\s*ng test\b(?!.*--watch)", body[:500]):
            call += " -- --watch=false"
        yield Check(known[0], call, known[1], f"{here.shown('package.json')}: scripts.{name}")


def _by_length(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (len(name), name))


def manager(here: Folder) -> str:
    """npm, pnpm, yarn or bun: by `packageManager`, else by lock file, here, then in the root."""
    managers = here.table["managers"]
    for folder in (here, here.root):
        named = folder.document("package.json").get("packageManager")
        name = named.partition("@")[0] if isinstance(named, str) else ""
        if name in managers:
            return name
        for name, row in managers.items():
            if folder.first(*row["files"]):
                return name
    return "npm"


def _run(runner: str, here: Folder, name: str) -> str:
    where = f" {here.table['managers'][runner]['folder']} {here.quoted}" if here.name else ""
    if runner == "bun":
        return f"bun run{where} {name}"  # `bun test` is its own test runner
    return f"{runner}{where} {name}" if name == "test" else f"{runner}{where} run {name}"


def tasks(here: Folder) -> Iterator[Check]:
    """Tasks by name in a table of a file: composer.json, deno.json, pyproject.toml."""
    for row in here.table["tasks"]:
        name = here.first(*row["files"])
        if name is None or here.name and "in" not in row:
            continue
        table = inside(here.document(name), *row["key"].split("."))
        told = row["in"].format(folder=here.quoted) if here.name else ""
        for task in table if name.endswith(".toml") else _by_length(table):
            line = row["command"].format_map({"in": told, "name": task})
            why = f"{here.shown(name)}: {row['key']}.{task}"
            yield from script(here, task, words(table[task]), line, why)


#: Finders, in the order in which a person would try them.
FINDERS = (executables, make, just, taskfile, packages, tasks, rows.own)
