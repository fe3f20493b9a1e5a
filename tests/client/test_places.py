"""The real client where paths hold what shells trip over, and where Python is slow, worthless or
missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.harness import PLUGINS, ROOT, Headless, Sandbox, sandbox
from tests.client.model import Reply, Text, Turn
from tests.client.scenarios import REQUEST, greeting, greetings
from tests.client.test_sessions import holds

ODD = "Ünï cødé's $HOME 任务"
ADVERT = '#!/bin/sh\necho "Python was not found; run without arguments to install it"\nexit 49\n'


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def odd(tmp_path: Path, client: Path, data: Path) -> Iterator[Sandbox]:
    """HOME, project, temporary files and the plugins themselves below a folder with such a name."""
    with sandbox(tmp_path / ODD, client, data, greeting()) as here:
        yield here


def plugins_at(folder: Path) -> list[str]:
    """The client's words that load copies of the three plugins below `folder`."""
    for name in ("loop", "hope", "counsel"):
        skipped = shutil.ignore_patterns(
            ".*", "tests", "evals", "benchmarks", "plugins", "__pycache__"
        )
        shutil.copytree(PLUGINS[name], folder / name, ignore=skipped)
        shutil.copytree(PLUGINS[name] / ".claude-plugin", folder / name / ".claude-plugin")
    (folder / "loop" / "plugins").symlink_to(ROOT / "plugins")
    return [f"--plugin-dir={folder / name}" for name in ("loop", "hope", "counsel")]


def stop_once(here: Sandbox) -> None:
    """Once there are tasks the model ends one turn of its own accord."""
    done = []

    def deviate(turn: Turn) -> Reply | None:
        if not turn.main or done or not here.events("task_added"):
            return None
        done.append(True)
        return [Text("I leave it here.")]

    here.model.scenario.deviate = deviate


def test_a_whole_loop_in_odd_places_with_a_slow_python_first(odd: Sandbox) -> None:
    called = odd.folder / "called"
    slow = f'#!/bin/sh\necho "$*" >>"$SHIM_CALLS"\nsleep 2\nexec {sys.executable} "$@"\n'
    shim = script(odd.folder / "shims" / "python3", slow).parent
    odd.env.update(PATH=f"{shim}:{os.environ['PATH']}", SHIM_CALLS=str(called))
    stop_once(odd)
    run = odd.run(f"/loop:start {REQUEST}", *plugins_at(odd.folder / "plugins"), plugins=False)
    assert len(holds(run)) == 1 and "T-001" in holds(run)[0]
    assert odd.state["status"] == "completed" and odd.model.unanswered == []
    assert (odd.project / "hello.txt").read_text() == "hello\n"
    assert not run.init.get("plugin_errors") and run.result["is_error"] is False
    assert not called.exists(), "with a prepared environment nothing of ours looks for a python3"
    marks = odd.home / ".claude" / "plugins" / "data" / "loop-loopkit" / "beats"
    assert (marks / "stop").read_text().split()[0] in ("silent", "told")
    doctor = odd.loopkit("doctor", session=run.session)
    assert doctor.returncode == 0, doctor.stdout
    assert (
        "hook Stop: last call 2" in doctor.stdout
        and "hook TaskCreated: last call never" in doctor.stdout
    )


@pytest.fixture(scope="module")
def no_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with every program of this one but interpreters of Python and what could fetch one."""
    folder = tmp_path_factory.mktemp("programs")
    for place in os.environ["PATH"].split(os.pathsep):
        for file in Path(place).iterdir() if os.path.isdir(place) else ():
            if (
                not file.name.startswith(("py", "uv", "pip", "idle", "conda"))
                and not (folder / file.name).exists()
            ):
                (folder / file.name).symlink_to(file)
    return str(folder)


def told(run: Headless) -> list[str]:
    """What the person read at the session's start."""
    return [out["systemMessage"] for out in run.hooks("SessionStart") if "systemMessage" in out]


@pytest.mark.parametrize(
    "advert", [False, True], ids=["no python at all", "a python3 that exits 49"]
)
def test_without_python_nothing_breaks_and_the_person_is_told(
    place, data: Path, no_python: str, tmp_path: Path, advert: bool
) -> None:
    here = place(greetings(), prepared=False)
    path = no_python
    if advert:
        path = f"{script(tmp_path / 'store' / 'python3', ADVERT).parent}:{no_python}"
    here.env["PATH"] = path

    # in a project without a loop: silence at the start, and one line where a loop is asked for
    first = here.run(f"/loop:start {REQUEST}")
    assert told(first) == [] and holds(first) == []
    assert "no Python found on the PATH: install Python 3.11 or newer, or uv" in str(
        first.result
    ), first.story()
    assert not (here.project / ".loop").exists()

    # where a loop stands from better days
    here.env.update(PATH=os.environ["PATH"], LOOPKIT_DATA=str(data))
    started = subprocess.run(
        [str(ROOT / "bin" / "loopkit"), "start", "--task-file", "-"],
        cwd=here.project, input=REQUEST, text=True, capture_output=True,
        env=here.environment({"CLAUDE_CODE_SESSION_ID": first.session}),
    )  # fmt: skip
    assert started.returncode == 0, started.stderr
    here.env["PATH"] = path
    del here.env["LOOPKIT_DATA"]
    before = (here.project / ".loop" / "workflow-state.json").read_bytes()
    second = here.run("hello", "--resume", first.session)
    assert len(told(second)) == 1 and "Install Python 3.11 or newer" in told(second)[0]
    assert holds(second) == [] and second.result["is_error"] is False
    assert (here.project / ".loop" / "workflow-state.json").read_bytes() == before
