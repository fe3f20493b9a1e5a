"""core/journal/parts.py: named tuples with annotated fields."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from loopkit.core.journal.parts import Record

ROOT = Path(__file__).resolve().parents[3]


class Point(Record):
    """A place."""

    x: int
    y: int = 2

    @property
    def total(self) -> int:
        return self.x + self.y


def test_fields_defaults_methods_and_docstring():
    assert Point(1) == Point(x=1, y=2) == (1, 2)
    assert Point(1).total == 3
    assert Point(1)._replace(y=5).total == 6
    assert Point._fields == ("x", "y")
    assert Point.__doc__ == "A place."
    assert repr(Point(1)) == "Point(x=1, y=2)"


def test_records_are_hashable_and_pickled():
    assert len({Point(1), Point(1, 2)}) == 1
    assert pickle.loads(pickle.dumps(Point(4))) == Point(4)


def test_a_record_takes_no_other_attribute_and_no_unknown_field():
    with pytest.raises(AttributeError):
        Point(1).z = 3  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        Point(1).x = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        Point(1, z=3)  # type: ignore[call-arg]


def test_the_task_record_imports_neither_dataclasses_nor_typing():
    code = (
        "import sys; sys.path.append(sys.argv[1]); import loopkit.core.journal.state; "
        "print([one for one in ('dataclasses', 'typing', 'inspect') if one in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, ROOT], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
