"""The project's own commands: one small project for each tool, and files that nobody would
write."""

from __future__ import annotations

import itertools
import json
from string import Formatter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from loopkit.core.evidence import command, discovery, rows
from loopkit.core.evidence.checks import Folder
from loopkit.store import tables

CATALOG = tables.tool_chains()

PACKAGE = {
    "scripts": {"test": "vitest run", "lint": "eslint .", "build": "vite build", "dev": "vite"}
}
NO_TEST = {"scripts": {"test": 'echo "Error: no test specified" && exit 1'}}
TYPED = json.dumps({"devDependencies": {"typescript": "5"}})


def package(**scripts: str) -> str:
    return json.dumps({"scripts": scripts})


def folders_of(files: dict) -> list[str]:
    return sorted({path.rpartition("/")[0] for path in files} - {""})


def lines(files: dict, *folders: str) -> list[str]:
    """`kind: command` of every check, in order."""
    found = CATALOG.found(files, [*folders_of(files), *folders])
    for one in found:
        assert command.split(one.command), one
        assert one.tier in command.SECONDS and one.why, one
    return [f"{one.kind}: {one.command}" for one in found]


PROJECTS: dict[str, tuple[dict, list[str]]] = {
    # -- Python
    "pytest": (
        {"pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\nfiles=['a']\n"},
        ["test: python -m pytest -q", "lint: ruff check .", "types: mypy"],
    ),
    "a tests folder": ({"setup.py": "", "tests/test_a.py": "def test_a(): ..."}, ["test: python "
    "-m pytest -q"]),
    "unittest": (
        {"setup.py": "", "tests/test_a.py": "import unittest"},
        ["test: python -m unittest discover -s tests"],
    ),
    "unittest, a package of tests": (
        {"setup.py": "", "tests/__init__.py": "", "tests/test_a.py": "import unittest"},
        ["test: python -m unittest discover -s tests -t ."],
    ),
    "a script and its test": ({"test_a.py": "def test_a(): ..."}, ["test: python -m pytest -q"]),
    "Django": ({"manage.py": "", "requirements.txt": "django"}, ["test: python manage.py test"]),
    "pytest-django": ({"manage.py": "", "requirements.txt": "pytest-django"}, ["test: python -m "
    "pytest -q"]),
    "uv": (
        {"pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff.format]\n[tool.ty]", "uv.lock": ""},
        ["test: uv run pytest -q", "lint: uv run ruff check .", "lint: uv run ruff format --check "
        ".", "types: uv run ty check"],
    ),
    "poetry": (
        {"pyproject.toml": "[tool.poetry.group.dev.dependencies]\npytest = '8'\n[tool.black]\n"
        "[tool.pyright]"},
        ["test: poetry run pytest -q", "lint: poetry run black --check .", "types: poetry run "
        "pyright"],
    ),
    "an environment in the project": (
        {"pytest.ini": "", ".flake8": "", ".venv/bin/python": ""},
        ["test: .venv/bin/python -m pytest -q", "lint: .venv/bin/python -m flake8 ."],
    ),
    "tox, nox and setup.cfg": (
        {"tox.ini": "[tox]\n", "noxfile.py": "", "setup.cfg": "[mypy]\n[flake8]\n"},
        ["test: tox", "test: nox", "lint: flake8 .", "types: mypy ."],
    ),
    "tasks in pyproject.toml": (
        {"pyproject.toml": "[tool.poe.tasks]\ntest = 'pytest -x'\n"
        "[tool.hatch.envs.default.scripts]\ntypes = 'mypy src'"},
        ["test: poe test", "test: python -m pytest -q", "types: hatch run types"],
    ),
    # -- JavaScript and TypeScript
    "npm": (
        {"package.json": json.dumps(PACKAGE), "package-lock.json": ""},
        ["test: npm test", "lint: npm run lint", "build: npm run build"],
    ),
    "yarn": ({"package.json": package(test="jest"), "yarn.lock": ""}, ["test: yarn test"]),
    "pnpm": (
        {"package.json": package(test="jest", typecheck="tsc --noEmit"), "pnpm-lock.yaml": "", "tsconfig.json": "{}"},
        ["test: pnpm test", "types: pnpm run typecheck"],
    ),
    "bun by packageManager": (
        {"package.json": json.dumps({"packageManager": "bun@1.2", "scripts": {"test": "bun test"}})},
        ["test: bun run test"],
    ),
    "npm's own no test": ({"package.json": json.dumps(NO_TEST)}, []),
    "scripts that prove nothing or change files": (
        {"package.json": package(test="jest --watch", lint="eslint --fix .", types="true", **{"lint:check": "eslint ."})},
        ["lint: npm run lint:check"],
    ),
    "create-react-app and Angular": (
        {"package.json": package(test="react-scripts test"), "web/package.json": package(test="ng test")},
        ["test: env CI=true npm test", "test: npm --prefix web test -- --watch=false"],
    ),
    "tsconfig.json": ({"package.json": TYPED, "tsconfig.json": "{}"}, ["types: npx tsc --noEmit"]),
    "a tsconfig.json that only lists others": (
        {"package.json": TYPED, "tsconfig.json": '{"files": [], /* c */ "references": [{"path": "./a"},],}'},
        ["types: npx tsc -b --noEmit"],
    ),
    "tools without scripts": (
        {"package.json": '{"devDependencies": {"vitest": "1", "eslint": "9"}}', "eslint.config.js": ""},
        ["test: npx vitest run", "lint: npx eslint ."],
    ),
    "deno": (
        {"deno.jsonc": '{"tasks": {"test": "deno test -A", "dev": "x"}} // c'},
        ["test: deno task test", "test: deno test", "lint: deno lint"],
    ),
    # -- Go, Rust
    "go": (
        {"go.mod": "", ".golangci.yml": ""},
        ["test: go test ./...", "lint: go vet ./...", "lint: golangci-lint run", "build: go build "
        "./..."],
    ),
    "cargo": ({"Cargo.toml": "[package]"}, ["test: cargo test", "types: cargo check", "build: "
    "cargo build"]),
    "cargo workspace with clippy": (
        {"Cargo.toml": "[workspace]\n[workspace.lints.clippy]\nall = 'deny'", "rustfmt.toml": "", "a/Cargo.toml": "[package]"},
        [
            "test: cargo test --workspace",
            "lint: cargo clippy --workspace --all-targets -- -D warnings",
            "lint: cargo fmt --all --check",
            "types: cargo check --workspace",
            "build: cargo build --workspace",
        ],
    ),
    # -- Java, Kotlin
    "maven": (
        {"pom.xml": "<artifactId>maven-checkstyle-plugin</artifactId>", "core/pom.xml": ""},
        ["test: mvn -q test", "lint: mvn -q checkstyle:check", "types: mvn -q test-compile", "build: "
        "mvn -q verify"],
    ),
    "maven wrapper": (
        {"pom.xml": "", "mvnw": ""},
        ["test: ./mvnw -q test", "types: ./mvnw -q test-compile", "build: ./mvnw -q verify"],
    ),
    "gradle, Kotlin": (
        {"build.gradle.kts": 'plugins { kotlin("jvm"); id("io.gitlab.arturbosch.detekt") } // '
        'ktlint', "gradlew": ""},
        ["test: ./gradlew test", "lint: ./gradlew detekt", "types: ./gradlew compileTestKotlin", "build: "
        "./gradlew build"],
    ),
    "gradle, several projects": (
        {"settings.gradle": "", "app/build.gradle": "id 'checkstyle'\nid 'java'"},
        ["test: gradle test", "lint: gradle checkstyleMain", "types: gradle testClasses", "build: "
        "gradle build"],
    ),
    # -- Ruby, PHP, .NET
    "rspec and rubocop": (
        {"Gemfile": "gem 'rspec'\n# gem 'rails'", ".rubocop.yml": ""},
        ["test: bundle exec rspec", "lint: bundle exec rubocop"],
    ),
    "rails": ({"Gemfile": "gem 'rails'", "bin/rails": "", "test/x.rb": ""}, ["test: bin/rails test"]),
    "minitest by rake": ({"Gemfile": "", "Rakefile": "Rake::TestTask.new"}, ["test: bundle exec "
    "rake test"]),
    "php": (
        {"composer.json": '{"scripts": {"test": "phpunit"}}', "phpunit.xml": "", "phpstan.neon": "", "pint.json": ""},
        [
            "test: composer run-script test",
            "test: vendor/bin/phpunit",
            "lint: vendor/bin/pint --test",
            "types: vendor/bin/phpstan analyse",
        ],
    ),
    "Laravel": (
        {"artisan": "", "composer.json": '{"require": {"laravel/framework": "11"}}', "phpunit.xml": ""},
        ["test: php artisan test", "test: vendor/bin/phpunit"],
    ),
    "a solution": (
        {"Shop.sln": "", "Shop/Shop.csproj": "", "Shop.Tests/Shop.Tests.csproj": "Microsoft.NET.Test.Sdk"},
        ["test: dotnet test", "lint: dotnet format --verify-no-changes", "build: dotnet build"],
    ),
    "projects without a solution": (
        {"Shop/Shop.csproj": "", "Shop.Tests/Shop.Tests.csproj": "Microsoft.NET.Test.Sdk"},
        ["test: dotnet test Shop.Tests", "build: dotnet build Shop", "build: dotnet build "
        "Shop.Tests"],
    ),
    "two solutions": (
        {"A.sln": "", "B.sln": ""},
        ["test: dotnet test A.sln", "lint: dotnet format A.sln --verify-no-changes", "build: "
        "dotnet build A.sln"],
    ),
    # -- Make and its like: the project's own words come first
    "make before the tool's default": (
        {
            "Makefile": ".PHONY: test lint typecheck\nCC := gcc\ntest: build ## runs all\n\tgo "
            "test ./...\n"
            "lint:\n\tgolangci-lint run\nbuild:\n\tgo build\n%.o: %.c\n\tcc $<\ncheck::\n\t@go "
            "vet ./... && go test ./...\n",
            "go.mod": "",
        },
        ["test: make test", "test: make check", "test: go test ./...", "lint: make lint", "lint: "
        "go vet ./...",
         "build: make build", "build: go build ./..."],
    ),  # fmt: skip
    "just": (
        {"justfile": "set shell := ['sh']\n@test:\n  pytest\nlint arg:\n  ruff check {{arg}}\n"
        "build: test\n"},
        ["test: just test", "build: just build"],
    ),
    "a Taskfile": (
        {"Taskfile.yml": "version: '3'\nvars:\n  test: 1\ntasks:\n  # c\n  test:\n    cmds:\n     "
        " - lint: x\n  'lint': golint\n"},
        ["test: task test", "lint: task lint"],
    ),
    "scripts": ({"script/test": "", "bin/lint": "", "scripts/deploy": ""}, ["test: script/test", "lint: "
    "bin/lint"]),
    # -- others
    "cmake": (
        {"CMakeLists.txt": "enable_testing()"},
        ["test: ctest --test-dir build --output-on-failure", "build: cmake --build build"],
    ),
    "mix": (
        {"mix.exs": "{:credo, 1}", ".formatter.exs": ""},
        ["test: mix test", "lint: mix format --check-formatted", "lint: mix credo", "types: mix "
        "compile --warnings-as-errors"],
    ),
    "swift": ({"Package.swift": ""}, ["test: swift test", "build: swift build"]),
    "Flutter": ({"pubspec.yaml": "dependencies:\n  flutter:\n    sdk: flutter\n"}, ["test: "
    "flutter test", "lint: flutter analyze"]),
    "sbt and pre-commit": (
        {"build.sbt": "", ".pre-commit-config.yaml": ""},
        ["test: sbt test", "lint: pre-commit run --all-files"],
    ),
    "nothing": ({"README.md": ""}, []),
}  # fmt: skip


@pytest.mark.parametrize("name", PROJECTS)
def test_a_project_of_each_tool(name: str) -> None:
    files, wanted = PROJECTS[name]
    assert lines(files) == wanted


CONDITION = {"files", "text", "key", "folder", "at", "any", "why"}
ROWS = {
    "chain": CONDITION | {"name", "own", "function", "within", "in", "words", "checks"},
    "check": CONDITION | {*discovery.KINDS, "tier", "group", "unless"},
    "word": CONDITION | {"word"},
}


def test_the_rows_hold_only_what_is_understood() -> None:
    known = {path: text for files, _ in PROJECTS.values() for path, text in files.items()}
    for chain in CATALOG.table["chain"]:
        assert set(chain) <= ROWS["chain"], chain["name"]
        named = {"here", "folder", "file", "path", "in", *chain.get("words", {})}
        for row in chain.get("checks", ()):
            kind, line = rows.command(row)
            assert set(row) <= ROWS["check"] and len(set(row) & {*discovery.KINDS}) == 1, row
            assert row.get("tier", "quick") in command.SECONDS, row
            assert {
                one.split("[")[0] for _, one, _, _ in Formatter().parse(line) if one
            } <= named, row
            for one in (*row.get("any", ()), *row.get("unless", ())):
                assert set(one) <= CONDITION, one
        for one in itertools.chain(*chain.get("words", {}).values()):
            assert set(one) <= ROWS["word"], one
        assert "function" in chain or any(
            rows.match(Folder("", known, set(), CATALOG.table), row, chain.get("files", ()))
            for row in chain["checks"]
        )


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({"web/package.json": package(test="jest")}, "test: npm --prefix web test"),
        (
            {"web/package.json": package(test="jest"), "pnpm-lock.yaml": ""},
            "test: pnpm -C web test",
        ),
        (
            {"web/package.json": package(lint="eslint ."), "web/yarn.lock": ""},
            "lint: yarn --cwd web run lint",
        ),
        (
            {"web/package.json": TYPED, "web/tsconfig.json": "{}"},
            "types: npx --prefix web tsc -p web --noEmit",
        ),
        ({"api/Cargo.toml": ""}, "test: cargo test --manifest-path api/Cargo.toml"),
        ({"api/go.mod": ""}, "test: go -C api test ./..."),
        ({"api/Makefile": "test:\n\t./unit"}, "test: make -C api test"),
        ({"api/pom.xml": ""}, "test: mvn -q -f api/pom.xml test"),
        ({"api/build.gradle": "", "gradlew": ""}, "test: ./gradlew -p api test"),
        ({"api/build.gradle": "", "api/gradlew": ""}, "test: api/gradlew -p api test"),
        (
            {"api/composer.json": package(test="pest")},
            "test: composer --working-dir=api run-script test",
        ),
        ({"api/pytest.ini": ""}, "test: python -m pytest -q api"),
        (
            {"api/pyproject.toml": "[tool.pytest]\n[tool.uv]"},
            "test: uv run --directory api pytest -q",
        ),
        ({"api/manage.py": ""}, "test: python api/manage.py test api"),
        ({"my api/go.mod": ""}, "test: go -C 'my api' test ./..."),
        ({"it's/package.json": package(test="jest")}, """test: npm --prefix 'it'"'"'s' test"""),
        ({"a;b/Makefile": "test:\n\tx"}, "test: make -C 'a;b' test"),
        ({"ui/justfile": "test:\n  x"}, "test: just -f ui/justfile test"),
        ({"ui/Taskfile.yml": "tasks:\n  test: x"}, "test: task -d ui test"),
    ],
)
def test_one_level_below_the_tool_is_told_the_folder(files: dict, wanted: str) -> None:
    assert wanted in lines(files)


def test_members_of_a_workspace_are_run_by_its_root() -> None:
    root = json.dumps({"workspaces": ["web"], "scripts": {"test": "npm test -ws"}})
    assert lines(
        {"package.json": root, "web/package.json": package(test="jest", lint="eslint .")}
    ) == ["test: npm test", "lint: npm --prefix web run lint"]


def test_what_a_tool_cannot_be_told_is_left_out() -> None:
    assert lines({"web/Gemfile": "gem 'rspec'", "web/mix.exs": "", "web/.golangci.yml": ""}) == []


def test_the_root_comes_before_what_lies_below_and_nothing_stands_twice() -> None:
    files = {"Makefile": "test: a\ntest: b\n\tx\n", "a/Makefile": "test:\n\tx", "script/test": ""}
    assert lines(files) == ["test: make test", "test: make -C a test", "test: script/test"]


def test_a_make_target_that_is_always_up_to_date_is_none() -> None:
    files = {"Makefile": ".PHONY: build\ntest:\n\tx\nbuild:\n\tx\n", "test/a": ""}
    assert lines(files, "build") == ["build: make build"]


def test_where_to_look_wider() -> None:
    found = CATALOG.found(*tree("npm"))
    assert discovery.wider(found, "standard", "pytest -q") == ["npm test"]
    assert discovery.wider(found, "standard", "npm test") == ["npm run lint"]
    assert discovery.wider(found, "thorough", "npm test") == ["npm run build"]
    assert discovery.wider([], "thorough", "") == []


def test_each_check_says_what_tells_of_it_and_its_tier() -> None:
    found = {one.command: one for one in CATALOG.found(*tree("npm"))}
    assert found["npm test"].why == "package.json: scripts.test"
    assert [one.tier for one in found.values()] == ["standard", "quick", "thorough"]


def tree(name: str) -> tuple[dict, list[str]]:
    files = PROJECTS[name][0]
    return files, folders_of(files)


ODD = ("", "\x00", "[", '{"scripts": [1]}', '{"scripts": {"test": 5, "lint": {"a": 1}}}', '"x"', "[1, "
"2]", "\ufeff{}",
       "[tool]\nruff = 3\npoe = 'x'", "a = [" + "[" * 9000, "{" * 9000, '{"a":' * 9000, "test:\r\n"
       "\ttrue\r\n", "\t" * 5000,
       '{"packageManager": 3, "workspaces": 1, "dependencies": []}', ": " * 5000, '\\"' * 20000, "/*" * 20000,
       "test" * 5000 + ":", "tasks:\n" + " " * 20000 + "test:")  # fmt: skip
NAMES = sorted({*(name.replace("*", "a") for name in CATALOG.names), "test_a.py"})


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_no_text_makes_it_fail(text: str) -> None:
    lines(
        {
            **dict.fromkeys(NAMES, text),
            **{f"web/{name}": text for name in NAMES},
            "script/test": text,
        },
        "tests",
        "web/tests",
    )


@pytest.mark.parametrize(
    "piece", ["\n", "\t", " ", '"', "/*", "a ", "a\n", ",}", ": ", "#", "\\\n", "[mypy]\n"]
)
def test_a_long_text_of_one_piece_is_read_in_a_moment(piece: str) -> None:
    # A pattern that looks at the same blanks again and again would take minutes here.
    text = piece * (100_000 // len(piece))
    assert isinstance(lines(dict.fromkeys(NAMES, text), "tests"), list)


@settings(max_examples=60, deadline=None)
@given(
    some.dictionaries(some.sampled_from(NAMES), some.text(max_size=200)),
    some.text(min_size=1, max_size=8).filter(
        lambda name: name.isprintable() and "/" not in name and name[0] not in ".-"
    ),
)
def test_every_command_runs_without_a_shell(files: dict, folder: str) -> None:
    lines({**files, **{f"{folder}/{name}": text for name, text in files.items()}})


def test_a_byte_order_mark_and_crlf_change_nothing() -> None:
    text = "\ufeff" + "test:\r\n\tgo test\r\nlint:\r\n\tgo vet\r\n"
    assert lines({"Makefile": text}) == ["test: make test", "lint: make lint"]


@pytest.mark.parametrize(
    "name",
    ["node_modules", "vendor", "target", "build", "dist", ".venv", ".git", "-x", "a\nb", "\udc80"],
)
def test_folders_that_are_not_looked_into(name: str) -> None:
    assert CATALOG.skipped(name)
    assert not CATALOG.skipped("web")


def test_every_file_that_a_finder_reads_is_wanted() -> None:
    for files, _ in PROJECTS.values():
        for path in files:
            folder, _, name = path.rpartition("/")
            if path not in (*CATALOG.interpreters, "README.md", "test/x.rb"):
                assert CATALOG.wanted(name, folder), path
                assert not files[path] or CATALOG.text_matters(name, folder), path
    assert not CATALOG.wanted("main.py")
