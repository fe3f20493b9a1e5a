"""Long reports of agents, `.loop/NNN-slug/reports/<name>-N.md`, so that answers stay short."""

from __future__ import annotations

import os
import re
import unicodedata

from ..core.journal.errors import Refused, UsageFault
from . import atomic
from .loop import writes

FOLDER = "reports"
#: Bytes of a report, characters of its name, reports of one name at the most.
LARGEST, LONGEST_NAME, MOST = 1_000_000, 40, 999


def slugged(name: str) -> str:
    """A name in lower case, digits and dashes; `report` where nothing remains."""
    plain = unicodedata.normalize("NFKD", name[:400]).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:LONGEST_NAME].strip("-") or "report"


def keep(folder: str, name: str, text: str, most: int = 0o777) -> str:
    """Keep a report in the loop's folder under the next number of its name; gives its path. most:
    mask of its permission bits. Raises UsageFault for an empty or too large one, Refused where the
    folder is a link, Damaged where it cannot be written."""
    if not text.strip():
        raise UsageFault("the report is empty", "give it on standard input")
    data = text.encode("utf-8", "replace")
    if len(data) > LARGEST:
        raise UsageFault(f"the report has {len(data):,} bytes, at most {LARGEST:,}", "shorten it")
    home = os.path.join(folder, FOLDER)
    if os.path.islink(home):
        raise Refused(f"{home} is a link", "remove it")
    with writes(home):
        os.makedirs(home, exist_ok=True)
        for number in range(1, MOST + 1):
            target = os.path.join(home, f"{slugged(name)}-{number}.md")
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | atomic.open_flags("O_BINARY")
                with open(os.open(target, flags, atomic.USUAL & most), "wb") as file:
                    file.write(data)
                return target
            except FileExistsError:
                continue
    raise Refused(f"{MOST} reports are called {slugged(name)}", "give another name")
