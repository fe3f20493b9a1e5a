"""New tasks: the paths that they name."""

from __future__ import annotations

import pytest

from loopkit.core.journal.errors import UsageFault
from loopkit.core.plan import drafts


@pytest.mark.parametrize(
    "path",
    ["", " ", "a\0b", "/etc/passwd", "\\\\host\\x", "C:/x", "c:\\x", "..", "a/../../b", "a\\..\\b"],
)
def test_a_path_outside_the_project_is_none(path: str) -> None:
    with pytest.raises(UsageFault, match="must be a path inside the project"):
        drafts.paths(["a.py", path])


def test_a_path_has_one_form() -> None:
    assert drafts.paths(["./a.py", "a.py", "b//c/", "d/./e"]) == ["a.py", "b/c", "d/e"]
