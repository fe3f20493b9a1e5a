"""The size of the work: bytes of its shape and its tasks' files."""

from __future__ import annotations

import os
from pathlib import Path

from loopkit.store import sizes


def test_shape_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "SHAPE.md").write_bytes(b"x" * 10)
    (tmp_path / "a.py").write_bytes(b"x" * 5)
    (tmp_path / "src" / "node_modules").mkdir(parents=True)
    (tmp_path / "src" / "b.py").write_bytes(b"x" * 7)
    (tmp_path / "src" / "node_modules" / "c.js").write_bytes(b"x" * 100)
    os.mkfifo(tmp_path / "pipe")
    shape = str(tmp_path / "SHAPE.md")
    assert sizes.of(str(tmp_path), shape, ["a.py", "a.py", "src", "gone.py", "pipe", "a\0b"]) == 22
    assert sizes.of(str(tmp_path), str(tmp_path / "none"), []) == 0
