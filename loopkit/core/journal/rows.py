"""Rows that events of more than one subject hold."""

from __future__ import annotations

from .events import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .kinds import Count, Text


class Resolution(Fields):
    how: Text | None = None
    text: Text = ""


class FindingRow(Fields):
    """A Finding as it is written."""

    id: Text
    severity: Text | None = None
    issue: Text = ""
    guidance: Text = ""
    violates: list[Text] = []
    verify: Text = ""
    resolution: Resolution | None = None
    task: Text | None = None
    place: Text = ""
    reason: Text = ""
    breaks: list[Text] = []
    category: Text = "other"
    replaced: Text = ""
    reverses: Text | None = None
    files: list[Text] = []
    contradicts: list[Count] = []
