"""Files beside a skill that are read on demand: named by it, and in step with the rules they
explain."""

from __future__ import annotations

import re

import pytest

from loopkit.core.evidence import command
from loopkit.core.review import gate
from tests.plugin.bundle import DOCUMENTS, PLUGINS

SKILLS = PLUGINS["hope"] / "skills"
BESIDE = [
    (document, path)
    for document in DOCUMENTS
    if document.kind == "skill"
    for path in sorted(document.path.parent.rglob("*.md"))
    if path != document.path
]


@pytest.mark.parametrize(
    ("document", "path"), BESIDE, ids=lambda one: getattr(one, "stem", None) or one.name
)
def test_a_reference_is_named_by_its_skill_and_its_lines_fit(document, path):
    assert path.name in document.body
    text = path.read_text(encoding="utf-8")
    assert max(map(len, text.split("\n"))) <= 120
    assert not re.search(r"/(home|root|Users|tmp|work)/|https?://", text)


def test_the_checklist_has_the_points_of_each_kind_of_work():
    text = (SKILLS / "gate" / "checklist.md").read_text(encoding="utf-8")
    for kind, points in gate.POINTS.items():
        part = re.search(rf"^## {kind}\n(.*?)^## ", text, re.S | re.M).group(1)
        listed = [one[0].lower() + one[1:] for one in re.findall(r"^- \*\*(.*?)\*\*", part, re.M)]
        assert listed == list(points.values())


def test_the_narrowing_commands_run_without_a_shell():
    text = (SKILLS / "verify" / "proofs.md").read_text(encoding="utf-8")
    table = re.search(r"^\| tool \|.*?\n\n", text, re.S | re.M).group(0)
    lines = [line for row in table.split("\n")[2:] for line in re.findall(r"`([^`]+)`", row)]
    assert len(lines) > 30
    for line in lines:
        assert command.split(line)
