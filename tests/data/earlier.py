"""Loops that commit 27eaab2 left behind when its session was killed, one for each stage; the work
is that of `tests/client/scenarios.py`. A loop's folder lies here with its journal, the project's
files beside it."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from loopkit.core.journal import clock
from loopkit.store import trust

FOLDER = Path(__file__).parent / "loops"
STAGES = (
    "begun",
    "scored",
    "shaped",
    "planned",
    "executing",
    "second-wave",
    "review",
    "gate",
    "complete",
)
NAME = "001-add-greetings-two-languages-list"
_STAMP = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_OURS = ("ledger.jsonl", "SHAPE.md", "evidence")


def plant(stage: str, project: Path) -> Path:
    """Put the loop of a stage into a project as if its session had been killed a minute ago; gives
    its journal.

    It counts as started here: the folder of tokens is the one that the environment of this process
    names.
    """
    folder = project / ".loop" / NAME
    folder.mkdir(parents=True)
    for source in (FOLDER / stage).iterdir():
        target = (folder if source.name in _OURS else project) / source.name
        shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)
    ledger = folder / "ledger.jsonl"
    text = ledger.read_text(encoding="utf-8")
    later = time.time() - 60 - max(map(clock.epoch, _STAMP.findall(text)))
    ledger.write_text(
        _STAMP.sub(lambda found: clock.stamp(clock.epoch(found[0]) + later), text), encoding="utf-8"
    )
    token = re.search(r'"token":"([0-9a-f]{32})"', text)
    assert token is not None
    trust.remember(str(project / ".loop"), NAME, token[1])
    return ledger
