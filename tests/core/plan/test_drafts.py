"""New tasks: the paths that they name."""

from __future__ import annotations

import pytest

from loopkit.core.journal.errors import UsageFault
from loopkit.core.plan import drafts
from tests.core.kit import Book, task


@pytest.mark.parametrize(
    "path",
    ["", " ", "a\0b", "/etc/passwd", "\\\\host\\x", "C:/x", "c:\\x", "..", "a/../../b", "a\\..\\b"],
)
def test_a_path_outside_the_project_is_none(path: str) -> None:
    with pytest.raises(UsageFault, match="must be a path inside the project"):
        drafts.paths(["a.py", path])


def test_a_path_has_one_form() -> None:
    assert drafts.paths(["./a.py", "a.py", "b//c/", "d/./e"]) == ["a.py", "b/c", "d/e"]


def test_files_count_from_where_the_session_was_opened() -> None:
    book = Book(folder="api").shaped()
    book.do(drafts.submit, [task(files=["a.py", "api/b.py", ":/README.md"])])
    (one,) = book.state.tasks.values()
    assert one.files == ("api/a.py", "api/b.py", "README.md")
    assert drafts.shown_paths(book.state, one) == ["a.py", "b.py", ":/README.md"]
    book.do(drafts.changed, "T-001", None, None, ["x.py"])
    assert book.state.tasks["T-001"].files == ("api/x.py",)
    with pytest.raises(UsageFault, match="inside the project"):
        book.do(drafts.changed, "T-001", None, None, ["../x.py"])
