"""Checks that a project's tools make standard, told by their marker files and settings.

A tool chain is rows of data/toolchains.toml (core/evidence/rows.py); a function only where
something has to be put together. Where a tool can be told the folder, a project one level below the
root is found too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import rows, scripts, tiers
from .checks import BUILD, LINT, TEST, TYPES, Check, Folder, check, inside


def is_test(name: str) -> bool:
    """Whether a file's name is that of Python tests."""
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def python(here: Folder) -> Iterator[Check]:
    """Tests (pytest, unittest, Django), linters, type checkers."""
    tests = [one for one in here.table["folders"]["tests"] if one in here.folders]
    code = {name: text for name, text in here.files.items() if is_test(name)}
    for one in tests if not here.name else ():
        code.update(
            (f"{one}/{name}", text) for name, text in here.below[one].files.items() if is_test(name)
        )
        for name, text in (("conftest.py", "pytest"), ("__init__.py", "")):
            if name in here.below[one]:
                code[f"{one}/{name}"] = text
    if not here.first(*here.table["python"]["marks"]) and (
        here.name or not code and "conftest.py" not in here
    ):
        return
    project = here.document("pyproject.toml")
    runner = _python_runner(here, project)
    yield from _python_tests(here, project, tests, code, runner[0])
    yield from _python_linters(here, project, runner)


def _python_runner(here: Folder, project: dict) -> tuple[str, bool]:
    """(what stands before a Python tool, whether tools are modules of an interpreter then)."""
    if "uv" in inside(project, "tool") or "uv.lock" in here or "uv.lock" in here.root:
        return (f"uv run --directory {here.quoted} " if here.name else "uv run "), False
    if "poetry" in inside(project, "tool") or "poetry.lock" in here:
        return (f"poetry -C {here.quoted} run " if here.name else "poetry run "), False
    if not here.name and ("pdm" in inside(project, "tool") or "pdm.lock" in here):
        return "pdm run ", False
    if "Pipfile" in here and not here.name:
        return "pipenv run ", False
    found = here.root.first(*here.table["python"]["interpreters"])
    return (f"{found} -m " if found else "python -m "), found is not None


def _moves(runner: str) -> bool:
    """Whether the runner itself goes to the folder."""
    return runner.startswith(("uv", "poetry"))


def _python_tests(
    here: Folder, project: dict, tests: list, code: dict, call: str
) -> Iterator[Check]:
    interpreter = call + "python " if call.endswith("run ") else call.removesuffix("-m ")
    place = here.quoted if here.name and not _moves(call) else ""
    named = {name: text for name, text in {**here.files, **code}.items() if "pytest" in text}
    django = any(re.search(r"pytest.django", text) for text in named.values())
    if "manage.py" in here and not django:
        script = here.path("manage.py") if place else "manage.py"
        yield check(TEST, f"{interpreter}{script} test {place}".rstrip(), here.shown("manage.py"))
        return
    why = rows.why(here, {"any": here.table["python"]["pytest"]})
    if not why and named:
        why = f"pytest in {here.shown(min(named))}"
    unittest = [name for name in sorted(code) if "unittest" in code[name]]
    if not why and unittest:
        top = tests[0] if tests else "."
        package = " -t ." if f"{top}/__init__.py" in code else ""
        yield check(
            TEST,
            f"{interpreter}-m unittest discover -s {top}{package}",
            f"unittest in {unittest[0]}",
        )
        return
    if not why and (tests or code):
        why = here.shown(f"{tests[0]}/" if tests else min(code))
    if why:
        yield check(TEST, f"{call}pytest -q {place}".rstrip(), why)


def _python_linters(here: Folder, project: dict, runner: tuple) -> Iterator[Check]:
    tools = inside(project, "tool")
    for row in here.table["python"]["linters"]:
        kind, command = rows.command(row)
        tool, why = command.split()[0], rows.why(here, row)
        if why is None:
            continue
        if tool == "mypy" and _names_its_files(here, tools.get("mypy")):
            command = "mypy"
        call = runner[0] if runner[1] or "run " in runner[0] else ""
        if here.name and not _moves(call):
            if not command.endswith(" ."):
                command += f" -p {here.quoted}" if "pyright" in tool else ""
            command = command[:-1] + here.quoted if command.endswith(" .") else command
            if tool in ("mypy", "ty"):
                continue  # they read the settings of the folder they are started in
        yield check(kind, call + command, why)
        if tool == "ruff" and "format" in inside(tools, "ruff"):
            where = here.quoted if not _moves(call) else "."
            yield check(LINT, f"{call}ruff format --check {where}", f"{why}.format")


def _names_its_files(here: Folder, table: object) -> bool:
    settings = here.text("mypy.ini", ".mypy.ini", "setup.cfg")
    named = isinstance(table, dict) and any(
        key in table for key in ("files", "packages", "modules")
    )
    return named or bool(
        re.search(r"^\[mypy\][^\[]*^(?:files|packages|modules)\s*=", settings, re.MULTILINE)
    )


def javascript(here: Folder) -> Iterator[Check]:
    """What package.json's dependencies and the settings beside it make standard: tests, types,
    lint."""
    package = here.document("package.json")
    needs = set()
    for folder in {id(here): here, id(here.root): here.root}.values():
        for table in ("dependencies", "devDependencies"):
            needs |= set(inside(folder.document("package.json"), table))
    own = inside(package, "scripts")
    if not any(one.kind == TEST for one in scripts.packages(here)) and not here.name:
        for tool, command in here.table["javascript"]["tests"].items():
            if tool in needs:
                yield check(TEST, f"{_exec(here)} {command}", f"package.json: {tool}")
                break
    typed = here.first("tsconfig.json")
    if typed and not any("tsc" in str(own[name]) and "--noEmit" in str(own[name]) for name in own):
        # a solution that only lists references checks nothing without -b
        solution = "references" in here.document(typed) and here.document(typed).get("files") == []
        where = f" -p {here.quoted}" if here.name else ""
        if solution:
            where = f" -b {here.quoted}" if here.name else " -b"
        call = _exec(here) if "typescript" in needs else "npx -p typescript"
        if call and ("typescript" in needs or not here.name):
            yield check(TYPES, f"{call} tsc{where} --noEmit", here.shown(typed))
    linter = here.first("eslint.config.*", ".eslintrc*")
    if not here.name and not any(one.kind == LINT for one in scripts.packages(here)):
        if linter and "eslint" in needs:
            yield check(LINT, f"{_exec(here)} eslint .", linter)
        elif here.first("biome.json", "biome.jsonc") and "@biomejs/biome" in needs:
            yield check(
                LINT, f"{_exec(here)} biome check .", str(here.first("biome.json", "biome.jsonc"))
            )


def _exec(here: Folder) -> str:
    """What runs a tool that is installed in the project; "" where it cannot be told the folder."""
    row = here.table["managers"][scripts.manager(here)]
    return row.get("below", "").format(folder=here.quoted) if here.name else row["exec"]


def dotnet(here: Folder) -> Iterator[Check]:
    """A .NET solution, or the projects where there is none; of those only what is a test project is
    tested."""
    files = here.table["lists"]
    if here.name and here.root.first(*files["solutions"]):
        return
    solutions, projects = (
        list(here.matching(files["solutions"])),
        list(here.matching(files["dotnet"])),
    )
    found = solutions or projects
    if not found:
        return
    # alone in its folder it need not be named
    target = "" if len(solutions + projects) == 1 and not here.name else " " + here.path(found[0])
    if len(solutions + projects) == 1 and here.name:
        target = " " + here.quoted
    why = here.shown(found[0])
    if solutions or any(
        re.search(r"Test\.Sdk|xunit|nunit|mstest", here.files[one], re.IGNORECASE)
        for one in projects
    ):
        yield check(TEST, f"dotnet test{target}", why)
    if solutions or not here.name:
        yield check(LINT, f"dotnet format{target} --verify-no-changes", why, tiers.STANDARD)
    yield check(BUILD, f"dotnet build{target}", why)


def standard(here: Folder) -> Iterator[Check]:
    """What each chain of the table makes standard, in its order."""
    return rows.chains(here, {"python": python, "javascript": javascript, "dotnet": dotnet})
