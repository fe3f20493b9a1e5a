"""Templates: a missing value is an error, never a blank."""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
import pytest

from loopkit import render


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render.text("complete.txt")


def test_an_unknown_template_is_an_error() -> None:
    with pytest.raises(jinja2.TemplateNotFound):
        render.text("../secrets")


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a process whose modules are kept compiled keeps its templates."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "pyc"))
    return tmp_path / "pyc" / "templates"


def rules() -> str:
    """A template as a new process fills it in."""
    return render._environment.__wrapped__().get_template("rules.md").render()


def test_a_template_is_compiled_once(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_anew(*_: object) -> None:
        raise AssertionError("it was compiled before")

    first = rules()
    assert list(compiled.iterdir())
    monkeypatch.setattr(jinja2.Environment, "compile", compile_anew)
    assert rules() == first


@pytest.mark.parametrize("raw", [b"", b"garbage", None])
def test_what_is_damaged_or_cannot_be_kept_is_compiled_anew(
    compiled: Path, raw: bytes | None
) -> None:
    first = rules()
    for path in compiled.iterdir():
        path.write_bytes(path.read_bytes()[:20] if raw is None else raw)
    assert rules() == first


def test_no_place_to_keep_it(compiled: Path) -> None:
    compiled.parent.write_text("a file")
    assert rules()
