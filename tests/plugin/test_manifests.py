"""The manifests of the three plugins and of the marketplace, their icons and readmes."""

from __future__ import annotations

import json
import re
import struct

import pytest

from tests.plugin.bundle import PLUGINS, ROOT, manifest

KEYS = {
    "name",
    "version",
    "description",
    "author",
    "license",
    "keywords",
    "engines",
    "dependencies",
}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_manifest_names_what_the_directory_asks_for(plugin):
    given = manifest(plugin)
    assert given["name"] == plugin
    assert set(given) <= KEYS
    assert KEYS - {"dependencies"} <= set(given)
    assert given["license"] == "MIT"
    assert given["author"]["name"]
    assert given["keywords"]
    assert re.fullmatch(r">=\d+\.\d+\.\d+( <\S+)?", given["engines"]["claude-code"])


def test_one_version_everywhere():
    from loopkit import __version__

    listed = {one["name"]: one["version"] for one in marketplace()["plugins"]}
    assert {manifest(plugin)["version"] for plugin in PLUGINS} | set(listed.values()) == {
        __version__
    }


def test_one_range_of_clients():
    assert len({manifest(plugin)["engines"]["claude-code"] for plugin in PLUGINS}) == 1


def test_loop_depends_on_the_other_two():
    assert manifest("loop")["dependencies"] == ["hope", "counsel"]
    assert "dependencies" not in manifest("hope")
    assert "dependencies" not in manifest("counsel")


def marketplace() -> dict:
    return json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))


def test_marketplace_lists_the_three_plugins_by_their_folders():
    assert marketplace()["name"] == "loopkit"
    listed = {one["name"]: (ROOT / one["source"]).resolve() for one in marketplace()["plugins"]}
    assert listed == {name: root.resolve() for name, root in PLUGINS.items()}


def test_plugin_json_at_the_top_is_the_same_manifest():
    top = ROOT / "plugin.json"
    if top.is_symlink():
        assert top.resolve() == (ROOT / ".claude-plugin" / "plugin.json").resolve()
    else:  # a checkout without links holds the target's name as text
        assert top.read_text(encoding="utf-8").strip() == ".claude-plugin/plugin.json"


@pytest.mark.parametrize("plugin", PLUGINS)
def test_icon_is_a_square_png_of_512(plugin):
    data = (PLUGINS[plugin] / ".claude-plugin" / "icon.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (512, 512)
    assert len(data) < 100_000


def test_icons_differ():
    assert (
        len({(root / ".claude-plugin" / "icon.png").read_bytes() for root in PLUGINS.values()}) == 3
    )


@pytest.mark.parametrize("plugin", PLUGINS)
def test_readme_says_something(plugin):
    assert len((PLUGINS[plugin] / "README.md").read_text(encoding="utf-8").split()) >= 40


def test_hook_files_named_in_hooks_json_exist():
    given = json.loads((ROOT / "hooks" / "hooks.json").read_text(encoding="utf-8"))
    for entries in given["hooks"].values():
        for entry in entries:
            for hook in entry["hooks"]:
                named = re.search(r'"\$\{CLAUDE_PLUGIN_ROOT\}/([^"]+)"', hook["command"])
                assert named, hook["command"]
                assert (ROOT / named.group(1)).is_file()
