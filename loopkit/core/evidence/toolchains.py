"""Checks that a project's tools make standard, told by their marker files and settings.

A tool chain is rows of data/toolchains.toml (core/evidence/rows.py); a function only where
something has to be put together. Where a tool can be told the folder, a project one level below the
root is found too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import command, rows, scripts
from .checks import BUILD, LINT, TEST, TYPES, Check, Folder, check, inside


def is_test(name: str) -> bool:
    """Whether a file's name is that of Python tests."""
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def python(here: Folder) -> Iterator[Check]:
    """Tests (pytest, unittest, Django), linters, type checkers."""
    tests = [name for name in here.table["folders"]["tests"] if name in here.folders]
    code = {name: text for name, text in here.files.items() if is_test(name)}
    for top in tests if not here.name else ():
        below = here.below[top]
        code.update((f"{top}/{name}", text) for name, text in below.files.items() if is_test(name))
        for name, text in (("conftest.py", "pytest"), ("__init__.py", "")):
            if name in below:
                code[f"{top}/{name}"] = text
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


#: What runs a Python tool and goes to the folder itself.
_MOVES = ("uv", "poetry")


def _python_tests(
    here: Folder, project: dict, tests: list, code: dict, call: str
) -> Iterator[Check]:
    interpreter = call + "python " if call.endswith("run ") else call.removesuffix("-m ")
    place = here.quoted if here.name and not call.startswith(_MOVES) else ""
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
        command = f"{interpreter}-m unittest discover -s {top}{package}"
        yield check(TEST, command, f"unittest in {unittest[0]}")
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
        if here.name and not call.startswith(_MOVES):
            if not command.endswith(" ."):
                command += f" -p {here.quoted}" if "pyright" in tool else ""
            command = command[:-1] + here.quoted if command.endswith(" .") else command
            if tool in ("mypy", "ty"):
                continue  # they read the settings of the folder they are started in
        yield check(kind, call + command, why)
        if tool == "ruff" and "format" in inside(tools, "ruff"):
            where = here.quoted if not call.startswith(_MOVES) else "."
            yield check(LINT, f"{call}ruff format --check {where}", f"{why}.format")


def _names_its_files(here: Folder, table: object) -> bool:
    settings = here.text("mypy.ini", ".mypy.ini", "setup.cfg")
    keys = ("files", "packages", "modules")
    named = isinstance(table, dict) and any(key in table for key in keys)
    pattern = r"^\[mypy\][^\[]*^(?:files|packages|modules)\s*="
    return named or bool(re.search(pattern, settings, re.MULTILINE))


def javascript(here: Folder) -> Iterator[Check]:
    """What package.json's dependencies and settings make standard: tests, types, lint."""
    needs: set[str] = set()
    for folder in (here, here.root):
        for table in ("dependencies", "devDependencies"):
            needs.update(inside(folder.document("package.json"), table))
    kinds = {own.kind for own in scripts.packages(here)}
    if TEST not in kinds and not here.name:
        tests = here.table["javascript"]["tests"].items()
        for tool, command in [row for row in tests if row[0] in needs][:1]:
            yield check(TEST, f"{_exec(here)} {command}", f"package.json: {tool}")
    yield from _typescript(here, needs)
    if LINT not in kinds and not here.name:
        eslint = here.first("eslint.config.*", ".eslintrc*")
        biome = here.first("biome.json", "biome.jsonc")
        if eslint and "eslint" in needs:
            yield check(LINT, f"{_exec(here)} eslint .", eslint)
        elif biome and "@biomejs/biome" in needs:
            yield check(LINT, f"{_exec(here)} biome check .", biome)


def _typescript(here: Folder, needs: set[str]) -> Iterator[Check]:
    settings = here.first("tsconfig.json")
    own = map(str, inside(here.document("package.json"), "scripts").values())
    if not settings or any("tsc" in line and "--noEmit" in line for line in own):
        return
    # a solution that only lists references checks nothing without -b
    table = here.document(settings)
    solution = "references" in table and table.get("files") == []
    where = " -b" if solution else ""
    if here.name:
        where = f" {'-b' if solution else '-p'} {here.quoted}"
    installed = "typescript" in needs
    call = _exec(here) if installed else "npx -p typescript"
    if call and (installed or not here.name):
        yield check(TYPES, f"{call} tsc{where} --noEmit", here.shown(settings))


def _exec(here: Folder) -> str:
    """What runs a tool that is installed in the project; "" where it cannot be told the folder."""
    row = here.table["managers"][scripts.manager(here)]
    return row.get("below", "").format(folder=here.quoted) if here.name else row["exec"]


def dotnet(here: Folder) -> Iterator[Check]:
    """A .NET solution, or the projects where there is none, of which only test projects are run."""
    files = here.table["lists"]
    if here.name and here.root.first(*files["solutions"]):
        return
    solutions, projects = (list(here.matching(files[kind])) for kind in ("solutions", "dotnet"))
    found = solutions or projects
    if not found:
        return
    target = " " + here.path(found[0])
    if len(solutions + projects) == 1:  # alone in its folder it need not be named
        target = " " + here.quoted if here.name else ""
    why = here.shown(found[0])
    tested = re.compile(r"Test\.Sdk|xunit|nunit|mstest", re.IGNORECASE)
    if solutions or any(tested.search(here.files[project]) for project in projects):
        yield check(TEST, f"dotnet test{target}", why)
    if solutions or not here.name:
        yield check(LINT, f"dotnet format{target} --verify-no-changes", why, command.STANDARD)
    yield check(BUILD, f"dotnet build{target}", why)


def standard(here: Folder) -> Iterator[Check]:
    """What each chain of the table makes standard, in its order."""
    return rows.chains(here, {"python": python, "javascript": javascript, "dotnet": dotnet})
