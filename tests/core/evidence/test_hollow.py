"""Functions that do nothing in the place of those that changed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from loopkit.core.evidence.hollow import hollow, says_the_same
from tests.conftest import ROOT

OLD = '''\
"""A module."""
import functools

LIMIT = 100


def same(n):
    return n + 1


class Rate:
    def allowed(self, n):
        """Whether n is."""
        return True

    @property
    def kept(self):
        return 1

    @kept.setter
    def kept(self, to):
        self.to = to
'''


def test_only_what_changed_is_emptied() -> None:
    text = OLD.replace("return True", "for _ in ():\n            pass\n        return n <= LIMIT")
    text += "\n\nasync def new(): return 1; print(2)  # at once\n"
    found, names = hollow(text, OLD)
    assert names == ["Rate.allowed", "new"]
    want = OLD.replace("return True", "pass") + "\n\nasync def new(): pass  # at once\n"
    assert found == want


def test_a_docstring_and_comments_change_nothing() -> None:
    text = OLD.replace("Whether n is.", "Whether it is.").replace("return n + 1", "return n + 1  #")
    assert hollow(text, OLD) == (text, [])


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("if True:\n    def f():\n        return 'ä'\n", "if True:\n    def f():\n        pass\n"),
        ("def f():\n    'only text'\n", "def f():\n    'only text'\n"),
        ("def f():\n    'text'\n    return 1\n", "def f():\n    'text'\n    pass\n"),
        ("def f(): ...\n", "def f(): pass\n"),
        ("f = lambda n: n + 1  # it\n", "f = lambda n: None  # it\n"),
        ("f: Any = lambda: (\n    1)\n", "f: Any = lambda: (\n    None)\n"),
        ("x = 1\n\f\ndef f():\n    return 1\n", "x = 1\n\f\ndef f():\n    pass\n"),
        (
            "def f():\n    @functools.cache\n    def g():\n        return 1\n    return g\n",
            "def f():\n    pass\n",
        ),
        ("def f(a='ü'): return 'é' + a  # ö\n", "def f(a='ü'): pass  # ö\n"),
        ("def f():\n    return '''\n  x'''\nlast = 1\n", "def f():\n    pass\nlast = 1\n"),
    ],
)
def test_forms(text: str, want: str) -> None:
    assert hollow(text, "") == (want, ["f"])


@pytest.mark.parametrize("text", ["", "x = 1\n", "def f(:\n", "\0", "{" * 300])
def test_what_has_no_function(text: str) -> None:
    assert hollow(text, "") == (text, [])


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (f"# 2024\n{OLD}\n\n# the end\n", True),
        (OLD.replace("A module", "Another").replace("Whether n is", "Whether it is"), True),
        (OLD.replace("100", "101"), False),
        (OLD.replace("import functools", ""), False),
        ("def f(:\n", False),
        ("", False),
    ],
)
def test_comments_and_docstrings_say_nothing(text: str, same: bool) -> None:
    assert says_the_same(text, OLD) is same


def test_overloads_are_no_functions() -> None:
    text = "@typing.overload\ndef f(a: int) -> int: ...\ndef f(a):\n    return a\n"
    assert hollow(text, "") == (text.replace("return a", "pass"), ["f"])


def _modules() -> list[Path]:
    return sorted((ROOT / "loopkit").rglob("*.py"))


def test_what_comes_out_is_python() -> None:
    for path in _modules():
        ast.parse(hollow(path.read_text(encoding="utf-8"), "")[0])
