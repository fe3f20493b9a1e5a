"""Text for people: templates in, text out."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folder = os.path.join(root, "templates")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder, encoding="utf-8"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def text(template: str, **values: object) -> str:
    """A template of `templates/` filled in; a missing value is an error, never a blank."""
    return _environment().get_template(template).render(**values)
