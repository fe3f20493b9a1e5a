"""loopkit allow: the person's yes to the checks."""

from ..ops import allow as ops
from . import app

allow = app.command("allow", "loopkit allow", app.ASKED, goes_on=True)(ops.allow)
