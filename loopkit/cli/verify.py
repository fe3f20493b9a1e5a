"""loopkit verify: evidence."""

from __future__ import annotations

import click

from ..ops import verify
from . import app


@app.command(
    "verify",
    "loopkit verify T-003 -- pytest tests/test_store.py -q",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("target")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(call: app.App, target: str, words: tuple) -> app.Result:
    """Run the stored check of a task (T-003), of a criterion (C1, M2) or of a decision (D1: exit 0
    says that it no longer holds) and keep its output as evidence.

    A check that the person allowed (loopkit allow) runs by its name alone. Else it stands here, so
    that whoever approves commands sees it; another than the stored one is refused.
    """
    return verify.verify(call, target, list(words))
