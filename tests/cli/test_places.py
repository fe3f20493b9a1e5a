"""bin/loopkit where a person's set-up is unusual: PATH, HOME, shell options, streams, folders."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.kit import ROOT, S1, Project

PROGRAM = ROOT / "bin" / "loopkit"


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def loop(project: Project, data: Path) -> Project:
    """A loop with a task, and the environment that has been prepared."""
    project.environment["LOOPKIT_DATA"] = str(data)
    return project.planned()


def call(
    project: Project,
    *words: str,
    shell: str = "/bin/sh",
    cwd: Path | None = None,
    **env: str | None,
):
    return subprocess.run(
        [shell, str(PROGRAM), *words], cwd=cwd or project.folder, env=project.env(**env), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, encoding="utf-8", timeout=120,
    )  # fmt: skip


def works(done: subprocess.CompletedProcess) -> None:
    assert (done.returncode, done.stderr) == (0, ""), done
    assert json.loads(done.stdout)["stage"] == "decompose"


STATUS = ("status", "--json")


# -- PATH


@pytest.mark.parametrize("path", [None, "", ":/nowhere:.:/*"])
def test_a_prepared_program_needs_no_path(loop: Project, path: str | None) -> None:
    works(call(loop, *STATUS, PATH=path))


@pytest.mark.parametrize("entry", ["", ".", "sub"])
def test_the_project_s_own_programs_are_never_run(
    loop: Project, tmp_path: Path, entry: str
) -> None:
    for folder in (loop.folder, loop.folder / "sub"):
        for name in ("cmp", "readlink", "python3"):
            script(folder / name, f"touch '{tmp_path}/pwned'; exit 1")
    (tmp_path / "link").symlink_to(PROGRAM)
    works(call(loop, *STATUS, PATH=f"{entry}:{os.environ['PATH']}"))
    done = subprocess.run(
        ["/bin/sh", tmp_path / "link", *STATUS], cwd=loop.folder, capture_output=True,
        env=loop.env(PATH=f"{entry}:{os.environ['PATH']}"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "pwned").exists()


def test_what_is_verified_gets_the_path_as_it_is(loop: Project) -> None:
    script(loop.folder / "tools" / "check", "exit 0")
    assert call(loop, "task", "set", "T-001", "--verify", "check").returncode == 0
    assert call(loop, "wave", "next").returncode == 0
    done = call(loop, "verify", "T-001", "--", "check", PATH=f"tools:{os.environ['PATH']}")
    assert done.returncode == 0, done.stdout + done.stderr


def programs(folder: Path, *names: str) -> str:
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(str(shutil.which(name)))
    return str(folder)


def test_no_python_and_nothing_prepared_is_one_line(project: Project, tmp_path: Path) -> None:
    done = call(project, "status", PATH=programs(tmp_path / "few", "cat", "git"))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1 and "install Python 3.11 or newer, or uv" in done.stderr


def test_an_advert_behind_every_name_is_one_line(project: Project, tmp_path: Path) -> None:
    for name in ("python3", "python3.12", "python", "py", "uv"):
        script(tmp_path / "store" / name, "echo get it from the store; exit 49")
    done = call(project, "status", PATH=str(tmp_path / "store"))
    assert (done.returncode, done.stdout) == (3, "")
    assert "install Python 3.11 or newer" in done.stderr.splitlines()[-1]


def test_after_an_update_the_noted_interpreter_renews_the_environment(
    project: Project, tmp_path: Path
) -> None:
    # no Python on the PATH any more, but the one that the environment was made with is still there
    folder = tmp_path / "data"
    (folder / "env").mkdir(parents=True)
    (folder / "env" / "requirements.lock").write_text("of an earlier version")
    text = f'[ "$2" = -c ] && exec {sys.executable} "$@"\necho "$@" >\'{tmp_path}/asked\'\nexit 3'
    (folder / "python").write_text(f"{script(tmp_path / 'python', text)}\n")
    assert call(project, "status", PATH="/nowhere").returncode == 3
    assert "bootstrap.py" in (tmp_path / "asked").read_text()


# -- the shell's surroundings


#: What only shells look at, and what the interpreter does.
OF_SHELLS: list[dict] = [
    {"SHELLOPTS": "braceexpand:errexit:hashall:noclobber:noglob:nounset:xtrace"},
    {"BASH_FUNC_cd%%": "() { echo moved; }", "BASH_FUNC_cmp%%": "() { return 1; }"},
    {"CDPATH": "/:/tmp:..", "IFS": "/o", "PWD": "/no/such/folder"}
    | {"root": "/", "data": "/", "lock": "/", "python": "/bin/false", "given": "/"},
]
OF_PYTHON: list[dict] = [
    {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "xx_YY.nonsense"},
    {"HOME": None},
    {"HOME": "/no/such/home", "TMPDIR": "/no/such/tmp"},
    dict.fromkeys(("PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__"), "/nowhere")
    | {"PYTHONINSPECT": "1", "PYTHONWARNINGS": "error"}
    | {"VIRTUAL_ENV": "/nowhere", "CONDA_PREFIX": "/nowhere"}
    | {"COLUMNS": "0", "TERM": "dumb", "NO_COLOR": ""},
]


@pytest.mark.parametrize(
    ("shell", "env"),
    [
        *((shell, env) for env in OF_SHELLS for shell in ("dash", "bash", "busybox")),
        *(("dash", env) for env in OF_PYTHON),
    ],
    ids=lambda value: value if type(value) is str else next(iter(value)),
)
def test_what_a_person_s_shell_hands_down(
    loop: Project, tmp_path: Path, shell: str, env: dict
) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    (tmp_path / "sh").symlink_to(str(shutil.which(shell)))
    state = {"XDG_STATE_HOME": str(Path(loop.environment["HOME"], ".local", "state"))}
    done = call(loop, *STATUS, shell=str(tmp_path / "sh"), **{**state, **env})
    if "setlocale" in done.stderr and env.get(
        "LC_ALL"
    ):  # the shell's own complaint, before our first line
        done.stderr = ""
    works(done)


ERR, OUT, ALL = ("2>&-", "2>/dev/full"), (">&-", ">/dev/full", "| true"), ("<&-", "<&- >&- 2>&-")


@pytest.mark.parametrize(
    ("words", "closed"),
    [
        *(("status --json", one) for one in (ERR[0], *OUT[:2], ALL[0])),
        *(("task add more --verify ls", one) for one in (*ERR, *OUT, *ALL)),
        *(("no-such-command", one) for one in ERR),
        *(("--help", one) for one in OUT),
    ],
)
def test_closed_and_full_streams(loop: Project, tmp_path: Path, words: str, closed: str) -> None:
    before = loop.ledger.read_bytes()
    line = f'{{ sh "$0" {words}; echo $? >"$1"; }} {closed}'
    argv = ["sh", "-c", line, str(PROGRAM), str(tmp_path / "code")]
    done = subprocess.run(
        argv, cwd=loop.folder, env=loop.env(), capture_output=True, text=True, timeout=120
    )
    assert "Traceback" not in done.stderr and done.stderr.count("\n") <= 4, done.stderr
    after = loop.ledger.read_bytes()
    assert after.startswith(before) and all(json.loads(row) for row in after.decode().splitlines())
    if closed == "| true":
        return  # who asks may be gone before the code is written
    code = int((tmp_path / "code").read_text())
    assert code == (2 if words == "no-such-command" else 3 if closed == ">/dev/full" else 0), done
    if words == "status --json" and ("2" in closed or closed == "<&-") and ">&- 2" not in closed:
        assert json.loads(done.stdout)["stage"] == "decompose"


def test_a_folder_that_is_gone_is_one_line(loop: Project, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    line = f'cd "{tmp_path}/gone" && rmdir "{tmp_path}/gone" && exec sh "$0" status 2>&1'
    done = subprocess.run(
        ["sh", "-c", line, PROGRAM], env=loop.env(), capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stdout.splitlines()[-1].startswith(
        "loopkit: the current folder is gone"
    )
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("home", [None, ""])
def test_without_a_home_and_a_place_is_one_line(project: Project, home: str | None) -> None:
    done = call(project, "status", HOME=home, LOOPKIT_DATA=None)
    assert done.returncode == 3 and done.stderr.startswith(
        "loopkit: no place for its environment: HOME is not set"
    )
    assert done.stderr.count("\n") == 1


ODD = ("a:b", "trailing ", "end\n", "-dash", "[a-z]*?", "$(touch x)", "Ünï cødé's", "任务")


def test_projects_and_plugins_of_any_name(project: Project, data: Path, tmp_path: Path) -> None:
    odd = Path(*ODD)
    plugin = tmp_path / odd / "plugin"
    (plugin / "bin").mkdir(parents=True)
    for name in ("bin/loopkit", "loopkit", "requirements.lock", "templates", "plugins"):
        (plugin / name).symlink_to(ROOT / name) if name != "bin/loopkit" else shutil.copy(
            ROOT / name, plugin / name
        )
    project.folder = tmp_path / odd / "proj"
    project.folder.mkdir()
    project.root = project.folder / ".loop"
    project.environment["LOOPKIT_DATA"] = str(data)
    for words, given in (
        (("start", "--task-file", "-"), "add a limit"),
        (STATUS, ""),
        (("cancel",), ""),
    ):
        done = subprocess.run(
            ["sh", str(plugin / "bin" / "loopkit"), *words], cwd=project.folder, env=project.env(), input=given,
            capture_output=True, text=True,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), done
    assert project.of("loop_started")[0]["session_id"] == S1 and (project.folder / ".loop").is_dir()


@pytest.mark.parametrize("mask", [0o077, 0o222])
def test_masks(loop: Project, mask: int) -> None:
    done = subprocess.run(
        ["sh", PROGRAM, "task", "add", "more", "--verify", "ls"], cwd=loop.folder, env=loop.env(), umask=mask,
        capture_output=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    works(call(loop, *STATUS))


# -- LOOPKIT_DIR


@pytest.mark.parametrize("where", ["elsewhere/.loop", "elsewhere/state", "proj & co/state/loops"])
def test_a_loop_that_is_kept_elsewhere_works_in_the_tree_one_stands_in(
    project: Project, tmp_path: Path, where: str
) -> None:
    project.root = tmp_path / where
    project.root.mkdir(parents=True)
    project.environment["LOOPKIT_DIR"] = str(project.root)
    project.write("limiter.txt")
    (project.folder / "sub").mkdir()
    project.planned()
    assert "\ncheckpoint 1 (start)" in project.ok("wave", "next").out
    project.write("limiter.txt", "2\n")
    assert project.verify("T-001", cwd=project.folder / "sub").exit == 0
    project.ok("wave", "close")
    assert "changed: limiter.txt" in project.ok("rollback", "1").out
