"""Templates: a missing value is an error, never a blank."""

from __future__ import annotations

import jinja2
import pytest

from loopkit import render


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render.text("complete.txt")


def test_an_unknown_template_is_an_error() -> None:
    with pytest.raises(jinja2.TemplateNotFound):
        render.text("../secrets")
