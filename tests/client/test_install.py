"""The three plugins install from this marketplace, load without a fault and pass the directory's
checks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.client.harness import DEADLINE, PLUGINS, ROOT, Sandbox


def claude(place: Sandbox, *args: str) -> subprocess.CompletedProcess:
    """Run the client's program itself, such as `claude plugin …`."""
    return subprocess.run(
        [str(place.client), *args],
        cwd=place.project,
        env=place.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE,
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a person gets who clones the repository: the files under version control, as they are
    now."""
    folder = tmp_path_factory.mktemp("checkout") / "loopkit"
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        source, copy = ROOT / name, folder / name
        if source.is_symlink() or source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_symlink():
                copy.symlink_to(source.readlink())
            else:
                copy.write_bytes(source.read_bytes())
                copy.chmod(source.stat().st_mode)
    return folder


@pytest.mark.parametrize("plugin", PLUGINS)
def test_validate_is_clean(place, checkout: Path, plugin: str) -> None:
    here, folder = place(prepared=False), checkout / PLUGINS[plugin].relative_to(ROOT)
    # A client without the directory's checks warns of manifest fields that came later: there,
    # loadable is enough. tests/plugin demands the checks of the pinned one.
    knows = "--profile" in claude(here, "plugin", "validate", "--help").stdout
    checks = ["--strict", "--profile", "directory"] if knows else []
    done = claude(here, "plugin", "validate", *checks, str(folder))
    assert done.returncode == 0, done.stdout + done.stderr


def test_plugins_of_a_checkout_load_without_errors(place) -> None:
    run = place(prepared=False).run("hello")
    assert not run.init.get("plugin_errors")
    assert {row["name"] for row in run.init["plugins"]} >= set(PLUGINS)
