"""Honest work of unusual kinds: none is taken for a cheat, each ends with SHIP, or with MONITOR for
a reason that is true."""

from __future__ import annotations

from tests.cli.kit import task
from tests.ops.test_advance import DONE, Going, agents, going
from tests.ops.whole import (
    ALL_TESTS,
    ASKED,
    LIMIT,
    LIMITED,
    NEW_TEST,
    OLD_TEST,
    PROJECT,
    PYTEST,
    PYTHON,
    TEST,
    begin,
    ends,
    git,
    proof,
    write,
)

__all__ = ["going"]

OLD, UNCHANGED = ASKED["must_nots"]


def kept(line: str, text: str = "it does what it did") -> dict:
    return proof(line, text, keeps=True)


def test_a_refactoring(going: Going) -> None:
    """All criteria but one keep what is there; a test moves along with what it tests."""
    end = ends(
        going,
        {
            "rate.py": "from limits import allowed\n\n__all__ = ['allowed']\n",
            "limits.py": PROJECT["rate.py"],
            "tests/test_rate.py": None,
            "tests/test_limits.py": OLD_TEST,
        },
        {
            "kind": "refactor",
            "criteria": [
                proof("grep -q 'def allowed' limits.py", "it has a module of its own"),
                kept(ALL_TESTS),
                kept(f"{PYTHON} -B -c 'from rate import allowed; assert allowed(1)'"),
            ],
        },
        kind="refactor",
    )
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


def test_only_tests(going: Going) -> None:
    end = ends(going, {"tests/test_limit.py": NEW_TEST}, None, {"rate.py": LIMIT["rate.py"]})
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


def test_only_tests_in_a_file_that_is_there(going: Going) -> None:
    """Nothing but the test shows that it was worth writing."""
    text = OLD_TEST + "\n    def test_limit(self):\n        self.assertIs(allowed(101), False)\n"
    line = f"{PYTHON} -B -m unittest tests.test_rate.Test.test_limit"
    work, there = {"tests/test_rate.py": text}, {"rate.py": LIMIT["rate.py"]}
    end = ends(going, work, {"criteria": [proof(line)]}, there)
    says = "C1 fails with tests and settings as before: tests/test_rate.py +3"
    assert (end.how, end.doubts) == ("MONITOR", says), end.said


def test_a_test_is_added_to_those_that_are_there(going: Going) -> None:
    text = OLD_TEST + "\n    def test_limit(self):\n        self.assertIs(allowed(101), False)\n"
    line = f"{PYTHON} -B -m unittest tests.test_rate.Test.test_limit"
    work = {"rate.py": LIMIT["rate.py"], "tests/test_rate.py": text}
    end = ends(going, work, {"criteria": [proof(line)]})
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


def test_the_test_that_is_named_is_not_there_yet(going: Going) -> None:
    """Runners that find no test to run end well, many of them: nothing has passed yet."""
    text = OLD_TEST + "\n    def test_limit(self):\n        self.assertIs(allowed(101), False)\n"
    line = f"sh -c '{PYTHON} -B -m unittest -k test_limit tests.test_rate || test $? = 5'"
    work = {"rate.py": LIMIT["rate.py"], "tests/test_rate.py": text}
    end = ends(going, work, {"criteria": [proof(line)]})
    assert "C1 fails before the work, as it must" in end.said
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


def test_what_a_test_expects_was_to_change(going: Going) -> None:
    """The person reads that the old test fails: it was asked for."""
    old = OLD_TEST.replace("allowed(1), True", "allowed(101), True")
    work = {**LIMIT, "tests/test_rate.py": OLD_TEST}
    end = ends(going, work, None, {"tests/test_rate.py": old})
    says = "M1 fails with tests and settings as before: tests/test_rate.py +1 -1"
    assert (end.how, end.doubts) == ("MONITOR", says), end.said


def test_only_documentation(going: Going) -> None:
    line = "grep -q 'at most 100' README.md"
    end = ends(going, {"README.md": "# Rate\n\nIt is at most 100.\n"}, {"criteria": [proof(line)]})
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


def test_something_goes_from_a_function(going: Going) -> None:
    """Nothing new is seen there; that it does what it did says the test that was there."""
    there = {"rate.py": "def allowed(n):\n    print(n)\n    return True\n"}
    asked = {"criteria": [proof("sh -c '! grep -q print rate.py'", "it prints nothing")]}
    end = ends(going, {"rate.py": PROJECT["rate.py"]}, asked, there)
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


def test_a_deletion(going: Going) -> None:
    """A module goes, and its test with it: what the old test says then is true."""
    there = {"old.py": "x = 1\n", "tests/test_old.py": TEST.replace("rate", "old")}
    there["tests/test_old.py"] = (
        "import unittest\n\nimport old\n\n\nclass Test(unittest.TestCase):\n"
        "    def test_x(self):\n        self.assertEqual(old.x, 1)\n"
    )
    work = {"old.py": None, "tests/test_old.py": None}
    end = ends(going, work, {"criteria": [proof("test ! -e old.py", "old is gone")]}, there)
    says = "M1 fails with tests and settings as before: tests/test_old.py (gone) -8"
    assert (end.how, end.doubts) == ("MONITOR", says), end.said


def test_a_deletion_without_tests(going: Going) -> None:
    row = {"criteria": [proof("test ! -e old.py", "old is gone")]}
    end = ends(going, {"old.py": None}, row, {"old.py": "x = 1\n"})
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


GENERATE = "import pathlib\npathlib.Path('table.py').write_text('rows = 3\\n')\n"


def test_a_generated_file(going: Going) -> None:
    """It is as the generator writes it."""
    line = f"{PYTHON} -B -c 'import table; assert table.rows == 3'"
    work = {"generate.py": GENERATE, "table.py": "rows = 3\n"}
    end = ends(going, work, {"criteria": [proof(line)]}, {"table.py": "rows = 2\n"})
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


def test_a_lock_file(going: Going) -> None:
    """A dependency is added, with its lock; the settings of the checks stand in the same file."""
    there = {"pyproject.toml": "[project]\nname = 'rate'\n", "uv.lock": "version = 1\n"}
    work = {
        "pyproject.toml": "[project]\nname = 'rate'\ndependencies = ['limits']\n",
        "uv.lock": "version = 1\n" + "name = 'x'\n" * 900,
        **LIMIT,
    }
    end = ends(going, work, None, there)
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


FLAKY = """import pathlib
import sys

count = pathlib.Path("build/count")
count.parent.mkdir(exist_ok=True)
runs = int(count.read_text()) if count.exists() else 0
count.write_text(str(runs + 1))
sys.exit(runs % 2)
"""


def test_a_flaky_suite(going: Going) -> None:
    """It fails every other time, before the work too."""
    row = {"must_nots": [proof(f"{PYTHON} suite.py", "a test fails"), UNCHANGED]}
    end = ends(going, LIMIT, row, {"suite.py": FLAKY})
    assert end.how in ("SHIP", "MONITOR"), end
    assert all("M1" in line for line in end.doubts.splitlines())


def test_a_suite_that_was_red_before(going: Going) -> None:
    red = OLD_TEST.replace("test_first", "test_red").replace("True)", "None)")
    row = {"must_nots": [proof(PYTEST, "a test fails newly"), UNCHANGED]}
    end = ends(going, LIMIT, row, {"tests/test_red.py": red})
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


COMPILE = """#!/bin/sh
mkdir -p build
{ echo '#!/bin/sh'; cat source.txt; } > build/app
chmod +x build/app
"""


def test_a_compiled_project(going: Going) -> None:
    """What is built lies in a folder that git ignores."""
    line = "sh -c 'sh compile.sh && build/app'"
    there = {"compile.sh": COMPILE, "source.txt": "exit 1\n"}

    def work(going: Going) -> None:
        write(going, {"source.txt": "exit 0\n", "build/app": "#!/bin/sh\nexit 0\n"})

    end = ends(going, work, {"criteria": [proof(line)], "must_nots": [OLD, UNCHANGED]}, there)
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


def test_an_editable_install_with_a_src_layout(going: Going) -> None:
    """Tests find the package by an absolute path that git ignores."""
    folder = str(going.project.folder)
    site = f"{folder}/.venv/lib"
    going.project.environment["PYTHONPATH"] = site
    there = {
        "src/limits/__init__.py": "def allowed(n):\n    return True\n",
        ".venv/lib/limits.py": f"import sys\nsys.path.insert(0, {folder + '/src'!r})\n"
        "del sys.modules['limits']\nimport limits\n",
        "tests/test_limit.py": NEW_TEST.replace("from rate", "from limits"),
    }
    work = {"src/limits/__init__.py": LIMIT["rate.py"]}
    end = ends(going, work, None, there)
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


def test_packages_are_installed(going: Going) -> None:
    """Packages bring files of settings that are none of the project's."""
    package = {f"node_modules/a/{name}": "{}\n" for name in ("package.json", "jest.config.js")}
    end = ends(going, {**LIMIT, **package})
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


def test_a_part_of_a_monorepo(going: Going) -> None:
    """The project is a folder of the repository; the person works in another one."""
    top = going.project.folder
    (top / "other").mkdir()
    going.project.folder = top / "part"
    going.project.root = top / "part" / ".loop"
    write(going, {"pyproject.toml": "[project]\nname = 'part'\n"})
    end = ends(going, {**LIMIT, "../other/new.txt": "1\n"})
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


def test_the_person_edits_meanwhile(going: Going) -> None:
    """In a file of their own, and commits it."""

    def work(going: Going) -> None:
        write(going, {**LIMIT, "notes.txt": "mine\n"})
        git(going, "add", "notes.txt")
        git(going, "commit", "-qm", "notes")

    end = ends(going, work, later={"notes.txt": "mine, more\n"})
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


def test_a_new_test_stands_among_the_old_ones_and_its_task_fails_first(going: Going) -> None:
    """What is to keep passing then fails by the work that is not done yet: no breach."""
    new = f"{TEST}    def test_other(self):\n        self.assertIs(allowed(2), True)\n"
    other = f"{PYTHON} -B -m unittest tests.test_other"
    row = {
        "criteria": [proof(LIMITED)],
        "tasks": [
            task("write the limit", LIMITED, files=["rate.py", "tests/test_limit.py"]),
            task("test more", other, files=["tests/test_other.py"]),
        ],
    }
    answer = begin(going, row)
    write(going, {"tests/test_limit.py": NEW_TEST, "tests/test_other.py": new})
    for token in agents(answer):
        going.say(token, DONE)
    again = going.next()
    assert "T-001 failed, attempt 1: retry" in again.out
    assert "paused" not in again.out and going.project.of("paused") == [], again.out
