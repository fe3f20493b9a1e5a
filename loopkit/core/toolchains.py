"""Checks that a project's tools make standard, told by their marker files and settings. One function a tool chain.

Where a tool can be told the folder, a project one level below the root is found too; where it cannot, it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import scripts, tiers
from .checks import BUILD, LINT, TEST, TYPES, Check, Folder, check, inside

_PYTHON_MARKS = (
    "pyproject.toml setup.py setup.cfg tox.ini pytest.ini .pytest.ini requirements.txt Pipfile manage.py noxfile.py "
    "mypy.ini ruff.toml"
).split()
#: Interpreters of an environment that lies in the project.
INTERPRETERS = (".venv/bin/python", "venv/bin/python", ".venv/Scripts/python.exe", "venv/Scripts/python.exe")
TEST_FOLDERS = ("tests", "test")


def is_test(name: str) -> bool:
    """Whether a file's name is that of Python tests."""
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def python(here: Folder, below: dict) -> Iterator[Check]:
    """Tests (pytest, unittest, Django), ruff, black, flake8, pylint, mypy, pyright. below: {name: Folder}."""
    tests = [one for one in TEST_FOLDERS if one in here.folders]
    code = {name: text for name, text in here.files.items() if is_test(name)}
    for one in tests if not here.name else ():
        code.update((f"{one}/{name}", text) for name, text in below[one].files.items() if is_test(name))
        for name, text in (("conftest.py", "pytest"), ("__init__.py", "")):
            if name in below[one]:
                code[f"{one}/{name}"] = text
    if not here.first(*_PYTHON_MARKS) and (here.name or not code and "conftest.py" not in here):
        return
    project = here.toml("pyproject.toml")
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
    found = here.root.first(*INTERPRETERS)
    return (f"{found} -m " if found else "python -m "), found is not None


def _moves(runner: str) -> bool:
    """Whether the runner itself goes to the folder."""
    return runner.startswith(("uv", "poetry"))


def _python_tests(here: Folder, project: dict, tests: list, code: dict, call: str) -> Iterator[Check]:
    interpreter = call + "python " if call.endswith("run ") else call.removesuffix("-m ")
    place = here.quoted if here.name and not _moves(call) else ""
    named = {name: text for name, text in {**here.files, **code}.items() if "pytest" in text}
    django = any(re.search(r"pytest.django", text) for text in named.values())
    if "manage.py" in here and not django:
        script = here.path("manage.py") if place else "manage.py"
        yield check(TEST, f"{interpreter}{script} test {place}".rstrip(), here.shown("manage.py"))
        return
    why = _pytest_config(here, project)
    if not why and "conftest.py" in here:
        why = here.shown("conftest.py")
    if not why and named:
        why = f"pytest in {here.shown(min(named))}"
    unittest = [name for name in sorted(code) if "unittest" in code[name]]
    if not why and unittest:
        top = tests[0] if tests else "."
        package = " -t ." if f"{top}/__init__.py" in code else ""
        yield check(TEST, f"{interpreter}-m unittest discover -s {top}{package}", f"unittest in {unittest[0]}")
        return
    if not why and (tests or code):
        why = here.shown(f"{tests[0]}/" if tests else min(code))
    if why:
        yield check(TEST, f"{call}pytest -q {place}".rstrip(), why)


def _pytest_config(here: Folder, project: dict) -> str | None:
    if "pytest" in inside(project, "tool"):
        return f"{here.shown('pyproject.toml')}: tool.pytest"
    for name, mark in (
        ("pytest.ini", ""),
        (".pytest.ini", ""),
        ("tox.ini", "[pytest]"),
        ("setup.cfg", "[tool:pytest]"),
    ):
        if name in here and mark in here.files[name]:
            return f"{here.shown(name)}{': ' + mark if mark else ''}"
    return None


#: (tool, its command, kind, its own files, section of setup.cfg or tox.ini); `.` is where it looks.
_PYTHON_LINTERS = (
    ("ruff", "ruff check .", LINT, ("ruff.toml", ".ruff.toml"), None),
    ("black", "black --check .", LINT, (), None),
    ("flake8", "flake8 .", LINT, (".flake8",), "[flake8]"),
    ("pylint", "pylint .", LINT, (".pylintrc", "pylintrc"), None),
    ("mypy", "mypy .", TYPES, ("mypy.ini", ".mypy.ini"), "[mypy]"),
    ("pyright", "pyright", TYPES, ("pyrightconfig.json",), None),
    ("basedpyright", "basedpyright", TYPES, (), None),
    ("ty", "ty check", TYPES, ("ty.toml",), None),
)


def _python_linters(here: Folder, project: dict, runner: tuple) -> Iterator[Check]:
    tools = inside(project, "tool")
    for tool, command, kind, own, section in _PYTHON_LINTERS:
        name = here.first(*own)
        why = here.shown(name) if name else None
        if tool in tools:
            why = f"{here.shown('pyproject.toml')}: tool.{tool}"
        elif section and not why:
            name = next((one for one in ("setup.cfg", "tox.ini") if section in here.files.get(one, "")), None)
            why = f"{here.shown(name)}: {section}" if name else None
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
    named = isinstance(table, dict) and any(key in table for key in ("files", "packages", "modules"))
    return named or bool(re.search(r"^\[mypy\][^\[]*^(?:files|packages|modules)\s*=", settings, re.MULTILINE))


def javascript(here: Folder, below: dict) -> Iterator[Check]:
    """What package.json's dependencies and the settings beside it make standard: tests, types, lint."""
    package = here.json("package.json")
    needs = set()
    for folder in {id(here): here, id(here.root): here.root}.values():
        for table in ("dependencies", "devDependencies"):
            needs |= set(inside(folder.json("package.json"), table))
    runner = scripts.manager(here)
    own = inside(package, "scripts")
    if not any(one.kind == TEST for one in scripts.packages(here)) and not here.name:
        for tool, command in (("vitest", "vitest run"), ("jest", "jest"), ("mocha", "mocha"), ("ava", "ava")):
            if tool in needs:
                yield check(TEST, f"{_exec(runner)} {command}", f"package.json: {tool}")
                break
    typed = here.first("tsconfig.json")
    if typed and not any("tsc" in str(own[name]) and "--noEmit" in str(own[name]) for name in own):
        # a solution that only lists references checks nothing without -b
        solution = "references" in here.json(typed) and here.json(typed).get("files") == []
        where = f" -p {here.quoted}" if here.name else ""
        if solution:
            where = f" -b {here.quoted}" if here.name else " -b"
        call = _exec(runner, here) if "typescript" in needs else "npx -p typescript"
        if call and ("typescript" in needs or not here.name):
            yield check(TYPES, f"{call} tsc{where} --noEmit", here.shown(typed))
    linter = next((one for one in sorted(here.files) if re.match(r"(?:eslint\.config\.|\.eslintrc)", one)), None)
    if not here.name and not any(one.kind == LINT for one in scripts.packages(here)):
        if linter and "eslint" in needs:
            yield check(LINT, f"{_exec(runner)} eslint .", linter)
        elif here.first("biome.json", "biome.jsonc") and "@biomejs/biome" in needs:
            yield check(LINT, f"{_exec(runner)} biome check .", str(here.first("biome.json", "biome.jsonc")))
    settings = here.first("deno.json", "deno.jsonc")
    if settings and not here.name:
        yield check(TEST, "deno test", settings)
        yield check(LINT, "deno lint", settings)


def _exec(runner: str, here: Folder | None = None) -> str:
    """What runs a tool that is installed in the project; "" where it cannot be told the folder."""
    if here is not None and here.name:
        return {"npm": f"npx --prefix {here.quoted}", "pnpm": ""}.get(runner, "")
    return {"npm": "npx", "pnpm": "pnpm exec", "yarn": "yarn run", "bun": "bunx"}[runner]


def go(here: Folder, below: dict) -> Iterator[Check]:
    """Go modules."""
    if "go.mod" not in here:
        return
    call = f"go -C {here.quoted}" if here.name else "go"
    why = here.shown("go.mod")
    yield check(TEST, f"{call} test ./...", why)
    yield check(LINT, f"{call} vet ./...", why)
    settings = here.first(*(f".golangci.{end}" for end in ("yml", "yaml", "toml", "json")))
    if settings and not here.name:
        yield check(LINT, "golangci-lint run", settings, tiers.STANDARD)
    yield check(BUILD, f"{call} build ./...", why)


def rust(here: Folder, below: dict) -> Iterator[Check]:
    """Cargo packages and workspaces."""
    if "Cargo.toml" not in here or here.name and re.search(r"^\[workspace", here.root.text("Cargo.toml"), re.MULTILINE):
        return
    manifest = here.toml("Cargo.toml")
    where = f" --manifest-path {here.path('Cargo.toml')}" if here.name else ""
    every = " --workspace" if "workspace" in manifest else ""
    why = here.shown("Cargo.toml")
    yield check(TEST, f"cargo test{where}{every}", why)
    strict = here.first("clippy.toml", ".clippy.toml")
    reason = here.shown(strict) if strict else None
    for table, key in ((manifest, "lints"), (inside(manifest, "workspace"), "lints")):
        if "clippy" in inside(table, key):
            reason = f"{why}: lints.clippy"
    for name in ("rust-toolchain.toml", "rust-toolchain"):
        if "clippy" in here.files.get(name, ""):
            reason = f"{here.shown(name)}: clippy"
    if reason:
        yield check(LINT, f"cargo clippy{where}{every} --all-targets -- -D warnings", reason, tiers.STANDARD)
    style = here.first("rustfmt.toml", ".rustfmt.toml")
    if style:
        yield check(LINT, f"cargo fmt{where}{' --all' if every else ''} --check", here.shown(style))
    yield check(TYPES, f"cargo check{where}{every}", why)
    yield check(BUILD, f"cargo build{where}{every}", why)


def maven(here: Folder, below: dict) -> Iterator[Check]:
    """Maven projects; a module of the root's project is not looked at by itself."""
    if "pom.xml" not in here or here.name and "pom.xml" in here.root:
        return
    call = "./mvnw" if "mvnw" in here.root else here.path("mvnw") if "mvnw" in here else "mvn"
    where = f" -f {here.path('pom.xml')}" if here.name else ""
    why, text = here.shown("pom.xml"), here.text("pom.xml")
    yield check(TEST, f"{call} -q{where} test", why)
    for plugin, goal in (("checkstyle", "checkstyle:check"), ("spotless", "spotless:check"), ("ktlint", "ktlint:check"),
                         ("detekt", "detekt:check"), ("pmd", "pmd:check")):  # fmt: skip
        if f"{plugin}-maven-plugin" in text or f"maven-{plugin}-plugin" in text:
            yield check(LINT, f"{call} -q{where} {goal}", f"{why}: {plugin}", tiers.STANDARD)
    yield check(TYPES, f"{call} -q{where} test-compile", why)
    yield check(BUILD, f"{call} -q{where} verify", why)


GRADLE = ("build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle")


def gradle(here: Folder, below: dict) -> Iterator[Check]:
    """Gradle builds, with the linters whose plugins a build script names."""
    name = here.first(*GRADLE)
    if name is None or here.name and here.root.first(*GRADLE):
        return
    call = "./gradlew" if "gradlew" in here.root else here.path("gradlew") if "gradlew" in here else "gradle"
    where = f" -p {here.quoted}" if here.name else ""
    texts = [here.text(*GRADLE), here.text("libs.versions.toml")]
    if not here.name:
        texts += [one.text(*GRADLE) for one in below.values()]
    text = "\n".join(re.sub(r"//[^\n]*", "", one) for one in texts)
    why = here.shown(name)
    yield check(TEST, f"{call}{where} test", why)
    for plugin, task in (("ktlint", "ktlintCheck"), ("detekt", "detekt"), ("spotless", "spotlessCheck"),
                         ("checkstyle", "checkstyleMain"), ("pmd", "pmdMain")):  # fmt: skip
        if re.search(rf"\b{plugin}\b", text):
            yield check(LINT, f"{call}{where} {task}", f"{why}: {plugin}", tiers.STANDARD)
    if not re.search(r"com\.android|multiplatform", text):
        kotlin = re.search(r"kotlin\(\"jvm\"\)|kotlin\.jvm", text)
        yield check(TYPES, f"{call}{where} {'compileTestKotlin' if kotlin else 'testClasses'}", why)
    yield check(BUILD, f"{call}{where} build", why)


def ruby(here: Folder, below: dict) -> Iterator[Check]:
    """Bundler projects: RSpec, Rails, Rake, RuboCop, Sorbet, Steep. Bundler cannot be told a folder."""
    if here.name:
        if "Gemfile" not in here and re.search(r"TestTask|task :test|task test", here.text("Rakefile")):
            yield check(TEST, f"rake -C {here.quoted} test", here.shown("Rakefile"))
        return
    gems = re.sub(r"#[^\n]*", "", here.text("Gemfile", "Gemfile.lock", *here.ending(".gemspec")))
    call = "bundle exec " if "Gemfile" in here else ""
    rake = here.text("Rakefile")
    if not (call or "Rakefile" in here):
        return
    if call and (re.search(r"\brspec\b|rspec-rails", gems) or ".rspec" in here):
        yield check(TEST, "bundle exec rspec", "Gemfile: rspec" if "rspec" in gems else ".rspec")
    if re.search(r"""\brails\b""", gems) and "test" in here.folders:
        rails = "bin/rails" if "rails" in below.get("bin", here).files else "bundle exec rails"
        yield check(TEST, f"{rails} test", "Gemfile: rails")
    elif re.search(r"TestTask|task :test|task test|Minitest", rake):
        yield check(TEST, f"{call}rake test", "Rakefile: test")
    elif "RSpec::Core::RakeTask" in rake and not re.search(r"\brspec\b", gems):
        yield check(TEST, f"{call}rake spec", "Rakefile: spec")
    if ".rubocop.yml" in here or re.search(r"\brubocop\b", gems):
        why = ".rubocop.yml" if ".rubocop.yml" in here else "Gemfile: rubocop"
        yield check(LINT, f"{call}rubocop", why)
    elif re.search(r"""gem ["']standard["']""", gems):
        yield check(LINT, f"{call}standardrb", "Gemfile: standard")
    if re.search(r"\bsorbet\b", gems) and "sorbet" in here.folders:
        yield check(TYPES, f"{call}srb tc", "sorbet/")
    if "Steepfile" in here:
        yield check(TYPES, f"{call}steep check", "Steepfile")


#: (files, kind, command, option that names the file for a project in a sub-folder, or None where there is none)
PHP = (
    (("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"), TEST, "phpunit", "-c"),
    (("phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"), TYPES, "phpstan analyse", "-c"),
    (("psalm.xml", "psalm.xml.dist"), TYPES, "psalm", "-c"),
    (("pint.json",), LINT, "pint --test", None),
    ((".php-cs-fixer.php", ".php-cs-fixer.dist.php"), LINT, "php-cs-fixer fix --dry-run --diff", None),
    (("phpcs.xml", "phpcs.xml.dist", ".phpcs.xml", ".phpcs.xml.dist"), LINT, "phpcs", None),
)


def php(here: Folder, below: dict) -> Iterator[Check]:
    """PHPUnit, Pest, Laravel, PHPStan, Psalm, Pint, PHP-CS-Fixer, PHP_CodeSniffer."""
    needs = {**inside(here.json("composer.json"), "require"), **inside(here.json("composer.json"), "require-dev")}
    if "artisan" in here and "laravel/framework" in needs:
        yield check(TEST, f"php {here.path('artisan')} test", here.shown("artisan"))
    elif "pestphp/pest" in needs and not here.name:
        yield check(TEST, "vendor/bin/pest", "composer.json: pestphp/pest")
    for names, kind, command, option in PHP:
        name = here.first(*names)
        if name is None and command == "pint --test" and "laravel/pint" in needs:
            name = "composer.json"
        if name is None or here.name and option is None:
            continue
        if kind == TEST and "pestphp/pest" in needs:
            continue
        tool, _, rest = command.partition(" ")
        line = f"{here.path(f'vendor/bin/{tool}')} {rest}".rstrip()
        yield check(kind, line + (f" {option} {here.path(name)}" if here.name else ""), here.shown(name))


SOLUTIONS, DOTNET = (".sln", ".slnx"), (".csproj", ".fsproj", ".vbproj")


def dotnet(here: Folder, below: dict) -> Iterator[Check]:
    """A .NET solution, or the projects where there is none; of those only what is a test project is tested."""
    if here.name and here.root.ending(*SOLUTIONS):
        return
    solutions, projects = here.ending(*SOLUTIONS), here.ending(*DOTNET)
    found = solutions or projects
    if not found:
        return
    # alone in its folder it need not be named
    target = "" if len(solutions + projects) == 1 and not here.name else " " + here.path(found[0])
    if len(solutions + projects) == 1 and here.name:
        target = " " + here.quoted
    why = here.shown(found[0])
    if solutions or any(re.search(r"Test\.Sdk|xunit|nunit|mstest", here.files[one], re.IGNORECASE) for one in projects):
        yield check(TEST, f"dotnet test{target}", why)
    if solutions or not here.name:
        yield check(LINT, f"dotnet format{target} --verify-no-changes", why, tiers.STANDARD)
    yield check(BUILD, f"dotnet build{target}", why)


def others(here: Folder, below: dict) -> Iterator[Check]:
    """CMake, Elixir, Swift, Dart, Scala, pre-commit: a few lines each."""
    cmake = here.text("CMakeLists.txt")
    if re.search(r"enable_testing|add_test|include\s*\(\s*CTest", cmake, re.IGNORECASE):
        place = here.path("build")
        why = here.shown("CMakeLists.txt")
        yield check(TEST, f"ctest --test-dir {place} --output-on-failure", f"{why}: tests, once {place} is configured")
        yield check(BUILD, f"cmake --build {place}", why)
    swift = f" --package-path {here.quoted}" if here.name else ""
    if "Package.swift" in here:
        yield check(TEST, f"swift test{swift}", here.shown("Package.swift"))
        yield check(BUILD, f"swift build{swift}", here.shown("Package.swift"))
    if here.name:
        return
    if "mix.exs" in here:
        yield check(TEST, "mix test", "mix.exs")
        if ".formatter.exs" in here:
            yield check(LINT, "mix format --check-formatted", ".formatter.exs")
        if ":credo" in here.text("mix.exs"):
            yield check(LINT, "mix credo", "mix.exs: credo")
        yield check(TYPES, "mix compile --warnings-as-errors", "mix.exs")
    if "pubspec.yaml" in here:
        tool = "flutter" if re.search(r"^[ \t]*sdk:[ \t]*flutter", here.text("pubspec.yaml"), re.MULTILINE) else "dart"
        yield check(TEST, f"{tool} test", "pubspec.yaml")
        yield check(LINT, f"{tool} analyze", "pubspec.yaml", tiers.STANDARD)
    if "build.sbt" in here:
        yield check(TEST, "sbt test", "build.sbt")
    if ".pre-commit-config.yaml" in here:
        yield check(LINT, "pre-commit run --all-files", ".pre-commit-config.yaml", tiers.STANDARD)


#: Finders, each (folder, {name: Folder below the root}) → checks.
FINDERS = (python, javascript, go, rust, maven, gradle, ruby, php, dotnet, others)
