"""Expert profiles: the shipped ones are read, and others of their form."""

from __future__ import annotations

from pathlib import Path

from loopkit.core.request import topics
from loopkit.store import place, profiles


def test_the_shipped_profiles_cover_every_topic() -> None:
    found = profiles.read(place.plugin_root())
    assert len(found) > 5
    known = {topic for one in found for topic in (*one.depth, *one.core, *one.current)}
    assert known == set(topics.TOPICS)
    assert all(one.name and one.title and one.asks for one in found)


def test_a_folder_with_other_files_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "counsel" / "profiles"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("---\ntitle: A\ndepth: [api]\n---\nText", encoding="utf-8-sig")
    (folder / "b.md").write_text("no front matter")
    (folder / "c.txt").write_text("---\ntitle: C\n---\n")
    found = profiles.read(str(tmp_path))
    assert [(one.name, one.title, one.depth, one.core) for one in found] == [
        ("a", "A", ["api"], [])
    ]


def test_no_folder(tmp_path: Path) -> None:
    assert profiles.read(str(tmp_path)) == []
