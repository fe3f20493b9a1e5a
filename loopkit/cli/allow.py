"""loopkit allow: the person's yes to the checks."""

from __future__ import annotations

import click

from ..ops import allow
from . import app


@app.command("allow", "loopkit allow")
@click.option("--asked", "word", default="", hidden=True, help="The word of an asked call.")
def command(call: app.App, word: str) -> app.Result:
    """List the loop's checks, and which of them may run.

    In a session the client asks the person; this call alone allows nothing. Elsewhere the person
    types /loop:allow, or names patterns in verify_allow of ~/.config/loopkit/config.toml.
    """
    return allow.allow(call, word)
