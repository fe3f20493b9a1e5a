"""hooks/run: what it looks for, what it exports, which Python it takes."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT, S1, Project

ADVERT = '#!/bin/sh\necho "Python was not found; run without arguments to install it"\nexit 49\n'


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def shells() -> list[str]:
    found = [name for name in ("sh", "dash", "bash", "ksh", "zsh") if shutil.which(name)]
    if shutil.which("busybox"):
        found.append("busybox")
    return found


# -- where nothing is to be done


@pytest.mark.parametrize(
    "event", ["stop", "session_start", "task_created", "session_end", "subagent_stop", "unknown"]
)
def test_no_loop_is_silent_and_starts_no_python(project: Project, event: str) -> None:
    script(project.data / "fake", "#!/bin/sh\necho started >&2\n")
    (project.data / "python").write_text(str(project.data / "fake"))
    assert project.call(event, b"{}").silent
    assert not (project.folder / ".loop").exists()


@pytest.mark.parametrize("event", ["stop", "session_start"])
def test_a_folder_without_a_loop_in_it_is_no_loop(project: Project, event: str) -> None:
    (project.root / "archive" / "001-old").mkdir(parents=True)
    (project.root / "archive" / "001-old" / "ledger.jsonl").write_text("{}\n")
    assert project.call(event, b"{}").silent


@pytest.mark.parametrize("env", [{"LOOPKIT_DISABLED": "1"}, {"LOOPKIT_CHILD": "1"}])
def test_switched_off_and_child_runs_are_silent(project: Project, env: dict) -> None:
    project.start()
    before = project.ledger.read_bytes()
    for event in ("stop", "session_start", "stop_failure", "user_prompt_expansion"):
        assert project.hook(event, {"source": "startup", "stop_hook_active": False}, **env).silent
    assert project.ledger.read_bytes() == before


# -- where the loop is


def test_found_from_a_folder_below(project: Project) -> None:
    project.start()
    deep = project.folder / "a" / "b c"
    deep.mkdir(parents=True)
    assert "T-001" in project.stop(cwd=deep, CLAUDE_PROJECT_DIR=None).held


def test_found_from_a_linked_worktree(project: Project, tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=project.folder, check=True, capture_output=True)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("worktree", "add", "-q", str(tmp_path / "w"))
    project.start()
    assert "T-001" in project.stop(cwd=tmp_path / "w", CLAUDE_PROJECT_DIR=None).held
    git("worktree", "remove", "--force", str(tmp_path / "w"))
    assert "T-001" in project.stop().held


def test_found_where_the_session_was_opened(project: Project, tmp_path: Path) -> None:
    project.start()
    assert project.stop(cwd=tmp_path, CLAUDE_PROJECT_DIR=None).silent
    assert "T-001" in project.stop(cwd=tmp_path).held


def test_the_working_folder_may_be_gone(project: Project, tmp_path: Path) -> None:
    project.start()
    line = f'cd "{tmp_path}/gone" && rmdir "{tmp_path}/gone" && exec sh "{project.launcher}" stop'
    (tmp_path / "gone").mkdir()
    given = json.dumps(
        {"session_id": S1, "cwd": str(tmp_path / "gone"), "stop_hook_active": False}
    ).encode()
    done = subprocess.run(["sh", "-c", line], input=given, env=project.env, capture_output=True)
    # what stands on stderr is the shell's own, before our first line
    assert done.returncode == 0 and b"T-001" in done.stdout


def test_loopkit_dir_names_the_only_place(project: Project, tmp_path: Path) -> None:
    project.start()
    project.root.rename(tmp_path / "elsewhere")
    assert project.stop().silent
    assert "T-001" in project.stop(LOOPKIT_DIR=str(tmp_path / "elsewhere")).held
    assert project.stop(LOOPKIT_DIR=str(tmp_path / "nowhere")).silent


# -- odd places


ODD = ("Ünï cødé's (x)", 'a"b$HOME`c`', "-n *", "line\nbreak", "back\\slash")


@pytest.mark.parametrize(
    ("shell", "odd"), [*(("sh", odd) for odd in ODD), *((shell, ODD[0]) for shell in shells()[1:])]
)
def test_any_path(tmp_path: Path, shell: str, odd: str) -> None:
    project = Project(tmp_path / odd)
    plugin = tmp_path / odd / "plugin"
    plugin.mkdir()
    for name in ("hooks", "loopkit"):
        shutil.copytree(ROOT / name, plugin / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in plugin.rglob("*"):
        file.chmod(
            file.stat().st_mode & ~(stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
            if file.is_file()
            else 0o755
        )
    (plugin / "bin").mkdir()
    script(plugin / "bin" / "loopkit", "#!/bin/sh\necho found us\n")
    project.launcher = plugin / "hooks" / "run"
    project.start()
    words = [shell] if shell != "busybox" else ["busybox", "sh"]
    given = json.dumps(
        {"session_id": S1, "cwd": str(project.folder), "stop_hook_active": False}
    ).encode()
    argv = [*words, str(project.launcher)]
    done = subprocess.run(
        [*argv, "stop"], input=given, env=project.env, cwd=project.folder, capture_output=True
    )
    assert done.returncode == 0 and b"T-001" in done.stdout and done.stderr == b""

    exports = tmp_path / "env"
    env = {**project.env, "CLAUDE_ENV_FILE": str(exports)}
    for _ in range(2):
        done = subprocess.run(
            [*argv, "session_start"], input=b"{}", env=env, cwd=project.folder, capture_output=True
        )
        assert done.returncode == 0 and done.stderr == b""
    show = '. "$0"; printf "%s|%s|" "$LOOPKIT_ROOT" "$LOOPKIT_DATA"; loopkit'
    told = subprocess.run(
        ["sh", "-c", show, str(exports)],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert told.stdout == f"{plugin}|{project.data}|found us\n"
    if "\n" not in odd:
        assert exports.read_text().count("export PATH") == 1


@pytest.mark.parametrize("child", [{}, {"LOOPKIT_CHILD": "1"}])
def test_exports_come_without_a_loop_too(project: Project, tmp_path: Path, child: dict) -> None:
    exports = tmp_path / "env"
    assert project.call("session_start", b"{}", CLAUDE_ENV_FILE=str(exports), **child).silent
    lines = exports.read_text().splitlines()
    state = project.env["XDG_STATE_HOME"]
    places = f"LOOPKIT_ROOT='{ROOT}' LOOPKIT_DATA='{project.data}' LOOPKIT_STATE='{state}'"
    assert lines[0] == f"export {places} LOOPKIT_OPENED='{project.folder}'"
    assert lines[1] == f"export PATH=\"$PATH\":'{ROOT}/bin'"


def test_an_env_file_that_cannot_be_written_is_no_trouble(project: Project, tmp_path: Path) -> None:
    assert project.call(
        "session_start", b"{}", CLAUDE_ENV_FILE=str(tmp_path / "no" / "folder")
    ).silent


@pytest.mark.parametrize("place", ["checkout", "config/plugins/cache/market/loop/0.1.0"])
def test_the_data_folder_is_one_wherever_the_plugin_lies(
    project: Project, tmp_path: Path, place: str
) -> None:
    exports, plugin = tmp_path / "env", tmp_path / place
    plugin.mkdir(parents=True)
    shutil.copytree(ROOT / "hooks", plugin / "hooks")
    project.launcher = plugin / "hooks" / "run"
    told = {"CLAUDE_PLUGIN_DATA": str(tmp_path / "loop-market"), "LOOPKIT_DATA": None}
    assert project.call("session_start", b"{}", CLAUDE_ENV_FILE=str(exports), **told).silent
    assert f"LOOPKIT_DATA='{project.config}/plugins/data/loop-loopkit'" in exports.read_text()
    assert not (tmp_path / "loop-market").exists()


def test_a_typed_command_leaves_marks_where_no_session_start_came_before(project: Project) -> None:
    given = {"session_id": S1, "command_name": "loop:start", "command_args": "x"}
    assert project.call("user_prompt_expansion", json.dumps(given).encode()).silent
    assert (project.data / "beats" / "user_prompt_expansion").read_text().startswith("silent")


def test_a_session_within_a_session_goes_by_the_same_state_folder(
    project: Project, tmp_path: Path
) -> None:
    exports, given = tmp_path / "env", {"LOOPKIT_STATE": str(tmp_path / "outer")}
    assert project.call("session_start", b"{}", CLAUDE_ENV_FILE=str(exports), **given).silent
    assert f"LOOPKIT_STATE='{tmp_path}/outer'" in exports.read_text()


def test_an_eval_s_data_folder_lies_in_its_home(project: Project, tmp_path: Path) -> None:
    # An eval hides the client's own folders from its shell, and hands on no variable but EVAL_…
    exports, home = tmp_path / "env", str(tmp_path / "eval-home")
    given = {"HOME": home, "EVAL_LOOPKIT_DATA": ".cache/loopkit", "LOOPKIT_DATA": None}
    assert project.call("session_start", b"{}", CLAUDE_ENV_FILE=str(exports), **given).silent
    assert f"LOOPKIT_DATA='{home}/.cache/loopkit'" in exports.read_text()


# -- which Python


def test_an_advert_is_passed_over(project: Project, tmp_path: Path) -> None:
    project.start()
    (project.data / "python").unlink()
    script(tmp_path / "store" / "python3", ADVERT)
    (tmp_path / "store" / "python").symlink_to(sys.executable)
    assert "T-001" in project.stop(PATH=f"{tmp_path}/store:/bin").held


def test_a_later_python3_on_the_path_is_found(project: Project, tmp_path: Path) -> None:
    project.start()
    (project.data / "python").unlink()
    script(
        tmp_path / "one" / "python3", "#!/bin/sh\nexit 0\n"
    )  # says nothing at all, and that it went well
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "python3").symlink_to(sys.executable)
    assert "T-001" in project.stop(PATH=f"{tmp_path}/one:{tmp_path}/two:/bin").held


@pytest.mark.parametrize("text", ["/no/such/python", "", "\n", ADVERT])
def test_a_prepared_python_that_is_gone_or_broken(
    project: Project, tmp_path: Path, text: str
) -> None:
    project.start()
    if text == ADVERT:
        text = str(script(tmp_path / "broken", "#!/bin/sh\nexit 127\n"))
    (project.data / "python").write_text(text)
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "python3").symlink_to(sys.executable)
    assert "T-001" in project.stop(PATH=f"{tmp_path}/path", shell="/bin/sh").held


def test_the_environment_s_own_python(project: Project) -> None:
    project.start()
    (project.data / "python").unlink()
    (project.data / "env" / "bin").mkdir(parents=True)
    (project.data / "env" / "bin" / "python").symlink_to(sys.executable)
    assert "T-001" in project.stop(PATH="/nowhere", shell="/bin/sh").held


def test_no_python_lets_everything_through_and_says_so_at_the_start(
    project: Project, tmp_path: Path
) -> None:
    project.start()
    (project.data / "python").unlink()
    script(tmp_path / "store" / "python3", ADVERT)
    path = str(tmp_path / "store")
    assert project.stop(PATH=path, shell="/bin/sh").silent
    told = project.session_start("startup", PATH=path, shell="/bin/sh").json
    assert "Python" in told["systemMessage"] and "doctor" in told["systemMessage"]
    assert project.log().splitlines() == [
        f"{event}: no Python 3.9 or newer found on PATH" for event in ("stop", "session_start")
    ]


def test_the_log_stays_small_without_python(project: Project, tmp_path: Path) -> None:
    project.start()
    (project.data / "python").unlink()
    (project.data / "hooks.log").write_text("x" * 70_000)
    script(tmp_path / "store" / "python3", ADVERT)
    assert project.stop(PATH=path_of("find", "mv", "sh", folder=tmp_path)).silent
    assert (project.data / "hooks.log").stat().st_size < 200


def path_of(*names: str, folder: Path) -> str:
    """A PATH with nothing but these programs."""
    tools = folder / "tools"
    tools.mkdir()
    for name in names:
        (tools / name).symlink_to(str(shutil.which(name)))
    return str(tools)


def other_python(version: str) -> str | None:
    """The path of an interpreter of that version, if this machine has one (pyenv's stand-ins
    included)."""
    program = shutil.which(f"python{version}")
    if program is None:
        return None
    beside = sorted(Path(program).parents[1].glob(f"versions/{version}.*/bin/python{version}"))
    for one in (program, *map(str, beside)):
        asked = subprocess.run(
            [one, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True
        )
        if asked.returncode == 0:
            return asked.stdout.strip()
    return None


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.13", "3.14"])
def test_other_versions_of_python(project: Project, version: str) -> None:
    program = other_python(version)
    if program is None:
        pytest.skip(f"no Python {version} here")
    (project.data / "python").write_text(f"{program}\n")
    project.start()
    only = {"PATH": "/nowhere", "shell": "/bin/sh"}
    assert "T-001" in project.stop(**only).held
    assert "LOOP RESUME" in project.session_start("resume", **only).json["systemMessage"]
    project.native("1")
    assert project.hook("task_created", {"task_id": "1", "task_subject": "x"}, **only).silent
    assert project.state().tasks["T-002"].native == "1"
    refused = project.hook("task_completed", {"task_id": "T-001"}, **only).json
    assert refused["decision"] == "block"
    assert project.log() == ""


@pytest.mark.parametrize("version", ["3.8", "2.7"])
def test_an_older_python_is_passed_over(project: Project, tmp_path: Path, version: str) -> None:
    program = other_python(version)
    if program is None:
        pytest.skip(f"no Python {version} here")
    project.start()
    (project.data / "python").write_text(f"{program}\n")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "python3").symlink_to(program)
    (tmp_path / "path" / "python").symlink_to(sys.executable)
    assert "T-001" in project.stop(PATH=f"{tmp_path}/path", shell="/bin/sh").held
