"""Decisions as files: their form, their names, made anew where they are gone."""

from __future__ import annotations

from pathlib import Path

from loopkit.store import decisions

ONE = {
    "number": 1,
    "title": "Stream rows to the client",
    "context": "exports reach 2 GB, a worker has 512 MB",
    "choice": "generator response, 1,000 rows at a time",
    "alternatives": ["Temporary file: fills the disk when several exports run"],
    "consequences": "the length is unknown when the answer begins",
    "depends_on": "",
    "invalidated_if": "exports are made in the background",
    "at": "2026-12-01T09:30:00Z",
}
FILE = """\
# Decision 001: Stream rows to the client
**Date**: 2026-12-01
**Status**: DECISION
**Context**: exports reach 2 GB, a worker has 512 MB
**Choice**: generator response, 1,000 rows at a time
**Alternatives Rejected**:
- Temporary file: fills the disk when several exports run
**Consequences**: the length is unknown when the answer begins
**Depends On**: none
**Invalidated If**: exports are made in the background
"""


def test_the_form() -> None:
    assert decisions.text(ONE) == FILE


def test_it_stays_short_and_each_entry_on_one_line() -> None:
    rows = decisions.text({**ONE, "choice": "a\nb" * 2000, "alternatives": ["x\n# y"] * 50}).splitlines()
    assert len(rows) < 30 and max(map(len, rows)) < 650
    assert "- x # y" in rows


def test_names() -> None:
    assert decisions.name(ONE) == "001-stream-rows-client.md"
    assert (
        decisions.name({**ONE, "number": 12, "title": "../../etc/passwd of the host machine"})
        == "012-etc-passwd-host-machine.md"
    )
    assert decisions.name({**ONE, "title": "日本"}) == "001-task-decision.md"
    assert decisions.name({**ONE, "number": 1000, "title": "Cache"}) == "1000-cache-decision.md"


def test_they_are_made_where_they_are_missing_and_left_alone_where_not(tmp_path: Path) -> None:
    two = {**ONE, "number": 2}
    made = decisions.write(str(tmp_path), [ONE, two])
    assert [Path(one).name for one in made] == ["001-stream-rows-client.md", "002-stream-rows-client.md"]
    first, second = (tmp_path / "learnings" / Path(one).name for one in made)
    first.write_text("Status: SUPERSEDED")
    second.unlink()
    assert decisions.write(str(tmp_path), [ONE, two]) == [str(second)]
    assert first.read_text() == "Status: SUPERSEDED" and second.read_text().startswith("# Decision 002")
