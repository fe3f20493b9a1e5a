"""The tables of the package: read once, and never passed over where they cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.core.journal.errors import Damaged
from loopkit.store import tables


def test_a_table_is_read_once() -> None:
    assert tables.masks() is tables.masks()


@pytest.mark.parametrize(
    "text", [None, "[broken", "\udcff"], ids=["missing", "not TOML", "not UTF-8"]
)
def test_a_table_that_cannot_be_read_is_a_fault(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        (tmp_path / "masks.toml").write_text(text, encoding="utf-8", errors="surrogateescape")
    monkeypatch.setattr(tables, "_FOLDER", str(tmp_path))
    with pytest.raises(Damaged, match=r"masks\.toml"):
        tables.masks.__wrapped__()
