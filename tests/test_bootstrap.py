"""bin/loopkit and loopkit/bootstrap.py: the environment is prepared once, whatever happens, and
found from anywhere.

Most tests use a fake uv, which fills an environment with empty modules; two build real ones from
downloaded wheels.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loopkit import bootstrap

ROOT = Path(__file__).resolve().parents[1]

AWKWARD = 'Ünï cødé\'s "plug" $HOME `x` (y)'

# What bin/loopkit needs of the system once the environment stands, and before.
WARM = ("sh", "cmp", "readlink")
COLD = (*WARM, "cat", "mkfifo")

# Stands for loopkit.cli: tells where it runs. "lazy": says so, waits for a line, then imports
# another module.
PROGRAM = """
import json, os, sys
import click

def main():
    told = {"args": sys.argv[1:], "click": click.__file__, "root": os.environ["LOOPKIT_ROOT"],
            "data": os.environ["LOOPKIT_DATA"], "cwd": os.getcwd(), "exe": sys.executable}
    if sys.argv[1:] == ["stdin"]:
        told["stdin"] = sys.stdin.read()
    if sys.argv[1:] == ["late"]:
        import yaml
    if sys.argv[1:] == ["lazy"]:
        print("started", flush=True)
        sys.stdin.readline()
        import jinja2
        told["jinja2"] = jinja2.__file__
    print(json.dumps(told))
    return 7 if sys.argv[1:] == ["seven"] else 0
"""

FAKE_UV = """#!/bin/sh
echo "$1" >> {log}
for last; do :; done
case $1 in
  venv) exec {python} -I -m venv --without-pip "$last" ;;
  pip)
    [ ! -p {gate} ] || cat {gate} >/dev/null
    [ ! -e {broken} ] || {{ cat {broken}; exit 2; }}
    while [ "$1" != --python ]; do shift; done
    site=$(echo "${{2%/bin/python}}"/lib/python*/site-packages) && mkdir -p "$site/rich"
    for module in click jinja2 jsonschema portalocker pydantic yaml rich/__init__ rich/console; do
      echo > "$site/$module.py"
    done ;;
esac
"""


def quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "'\\''") + "'"


class Setup:
    """A copy of what bin/loopkit is made of, a data folder, and a PATH of our own."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / AWKWARD / "loop"
        self.data = base / "dätä 'folder'"
        self.path = base / "path"
        self.log = base / "uv.log"
        self.gate = base / "gate"
        self.broken = base / "broken"
        self.env = {
            "PATH": str(self.path),
            "HOME": str(base / "home"),
            "LOOPKIT_DATA": str(self.data),
        }
        (base / "home").mkdir()
        self.path.mkdir()
        self.install(self.root)
        self.on_path(*COLD)
        self.script("python3", f'exec {quoted(Path(sys.executable))} "$@"')

    def install(self, root: Path) -> None:
        """Put a copy of the plugin's program at `root`."""
        (root / "loopkit/cli").mkdir(parents=True)
        (root / "bin").mkdir()
        for name in (
            "bin/loopkit",
            "loopkit/__init__.py",
            "loopkit/__main__.py",
            "loopkit/bootstrap.py",
            "requirements.lock",
        ):
            shutil.copy(ROOT / name, root / name)
        (root / "loopkit/cli/__init__.py").write_text(PROGRAM)

    def on_path(self, *programs: str) -> None:
        for name in programs:
            found = shutil.which(name)
            assert found, f"this test needs {name}"
            (self.path / name).symlink_to(found)

    def script(self, name: str, body: str) -> None:
        file = self.path / name
        file.write_text(body if body.startswith("#!") else f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)

    def fake_uv(self) -> None:
        python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
        places = {name: quoted(getattr(self, name)) for name in ("log", "gate", "broken")}
        self.env["PIP_NO_INDEX"] = "1"  # what the fake cannot do, pip shall not do for it
        self.on_path(*(name for name in ("mkdir",) if not (self.path / name).exists()))
        self.script("uv", FAKE_UV.format(python=quoted(Path(python)), **places))

    def builds(self) -> int:
        """How often the fake uv was asked for an environment."""
        return self.log.read_text().split().count("venv") if self.log.exists() else 0

    def command(self, *args: str) -> list[str]:
        return [str(self.root / "bin/loopkit"), *args]

    def run(
        self, *args: str, command: list[str] | None = None, **how: Any
    ) -> subprocess.CompletedProcess[str]:
        how.setdefault("input", "")
        return subprocess.run(
            (command or self.command()) + list(args),
            env=self.env,
            capture_output=True,
            encoding="utf-8",
            **how,
        )

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*args),
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )

    def environments(self) -> set[str]:
        return {path.name for path in (self.data / "envs").iterdir()}


def told(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert run.returncode == 0, run.stderr
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def refused(run: subprocess.CompletedProcess[str]) -> str:
    """The one line with which the program declined; progress lines before it do not count."""
    assert run.returncode == 3
    assert run.stdout == ""
    lines = [line for line in run.stderr.splitlines() if not line.endswith(" …")]
    assert len(lines) == 1, run.stderr
    assert lines[0].startswith("loopkit: ")
    return lines[0]


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


@pytest.fixture
def faked(setup: Setup) -> Setup:
    setup.fake_uv()
    return setup


@pytest.fixture
def ready(faked: Setup) -> Setup:
    """With a prepared environment."""
    told(faked.run())
    return faked


@pytest.fixture
def spawn(faked: Setup) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the program in the background; whatever is left of it is killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(*args: str) -> subprocess.Popen[str]:
        started.append(faked.start(*args))
        return started[-1]

    yield start
    for process in started:
        kill(process)


def kill(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()


# First use and afterwards


def test_first_use_prepares_then_runs(faked: Setup) -> None:
    run = faked.run("a", "b c", "")
    answer = told(run)
    assert answer["args"] == ["a", "b c", ""]
    assert answer["root"] == str(faked.root)
    assert answer["data"] == str(faked.data)
    assert answer["click"].startswith(str(faked.data / "envs"))
    assert "preparing the environment with uv (first use, once)" in run.stderr
    assert (faked.data / "env/requirements.lock").read_bytes() == (
        faked.root / "requirements.lock"
    ).read_bytes()


def test_interpreter_for_hooks_is_a_real_one(ready: Setup) -> None:
    text = (ready.data / "python").read_text()
    assert text.endswith("\n") and text.count("\n") == 1
    subprocess.run([text[:-1], "-I", "-S", "-c", "import json"], check=True)
    assert not text.startswith(str(ready.data))


def test_afterwards_nothing_but_cmp_is_needed(ready: Setup) -> None:
    for program in ready.path.iterdir():
        if program.name not in WARM:
            program.unlink()
    run = ready.run()
    told(run)
    assert run.stderr == ""
    assert ready.builds() == 1


def test_without_cmp_it_still_finds_what_is_there(ready: Setup) -> None:
    (ready.path / "cmp").unlink()
    run = ready.run()
    told(run)
    assert run.stderr == ""
    assert ready.builds() == 1


def test_exit_code_is_the_programs(ready: Setup) -> None:
    assert ready.run("seven").returncode == 7


def test_first_use_leaves_standard_input_to_the_program(faked: Setup) -> None:
    assert told(faked.run("stdin", input="ünï\n"))["stdin"] == "ünï\n"


def test_plugin_folder_is_only_read(faked: Setup) -> None:
    before = sorted(faked.root.rglob("*"))
    told(faked.run())
    told(faked.run())
    assert sorted(faked.root.rglob("*")) == before


def test_python_settings_of_the_person_do_not_matter(faked: Setup) -> None:
    faked.env |= {
        "PYTHONHOME": "/nowhere",
        "PYTHONPATH": str(faked.base),
        "PYTHONSTARTUP": "/nowhere",
    }
    (faked.base / "click.py").write_text("raise SystemExit(99)")
    told(faked.run())
    told(faked.run())


# From anywhere


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "busybox", "ksh", "mksh", "zsh"])
def test_every_shell_with_the_exec_bit_lost(ready: Setup, shell: str) -> None:
    found = shutil.which(shell)
    if not found:
        pytest.skip(f"no {shell} here")
    program = ready.root / "bin/loopkit"
    program.chmod(0o644)
    command = [found, "sh"] if shell == "busybox" else [found]
    assert told(ready.run(command=[*command, str(program)]))["root"] == str(ready.root)


def test_the_shell_part_is_plain_ascii() -> None:
    (ROOT / "bin/loopkit").read_text(encoding="ascii")


def test_from_other_folders_by_relative_paths(ready: Setup) -> None:
    for cwd, program in (
        (ready.root, "bin/loopkit"),
        (ready.root / "bin", "./loopkit"),
        (ready.root / "loopkit", "../bin/loopkit"),
        (ready.base, f"{AWKWARD}/loop/bin/../bin/loopkit"),
    ):
        answer = told(ready.run(command=[program], cwd=cwd))
        assert answer["root"] == str(ready.root)
        assert answer["cwd"] == str(cwd)
    assert told(ready.run(command=["sh", "loopkit"], cwd=ready.root / "bin"))["root"] == str(
        ready.root
    )
    assert told(ready.run(command=["sh", "bin/loopkit"], cwd=ready.root))["root"] == str(ready.root)


def test_with_cdpath_set(ready: Setup) -> None:
    ready.env["CDPATH"] = str(ready.base)
    (ready.base / "bin").mkdir()
    assert told(ready.run(command=["bin/loopkit"], cwd=ready.root))["root"] == str(ready.root)


def test_found_on_the_path(ready: Setup) -> None:
    ready.env["PATH"] += f":{ready.root / 'bin'}"
    assert told(ready.run(command=["sh", "-c", "loopkit"]))["root"] == str(ready.root)


def test_through_links(ready: Setup) -> None:
    links = ready.base / "li nks"
    links.mkdir()
    (links / "absolute").symlink_to(ready.root / "bin/loopkit")
    (links / "second").symlink_to("absolute")
    (links / "relative").symlink_to(os.path.relpath(ready.root / "bin/loopkit", links))
    (links / "folder").symlink_to(ready.root)
    for name in ("absolute", "second", "relative"):
        assert told(ready.run(command=[str(links / name)]))["root"] == str(ready.root)
    assert Path(told(ready.run(command=[str(links / "folder/bin/loopkit")]))["root"]).samefile(
        ready.root
    )


# The data folder


def test_data_folder_may_be_relative(faked: Setup) -> None:
    faked.env["LOOPKIT_DATA"] = faked.data.name
    assert told(faked.run(cwd=faked.base))["data"] == str(faked.data)


@pytest.mark.parametrize("place", ["home/.claude/plugins/cache/my-market/loop/0.1.0", "checkout"])
def test_data_folder_is_one_wherever_the_plugin_lies(setup: Setup, place: str) -> None:
    setup.env["CLAUDE_PLUGIN_DATA"] = str(setup.base / "of another name")
    del setup.env["LOOPKIT_DATA"]
    setup.root = setup.base / place
    setup.install(setup.root)
    setup.data = setup.base / "home/.claude/plugins/data/loop-loopkit"
    setup.fake_uv()
    assert told(setup.run())["data"] == str(setup.data)


def test_data_folder_with_a_config_folder_of_ones_own(setup: Setup) -> None:
    del setup.env["LOOPKIT_DATA"]
    setup.env["CLAUDE_CONFIG_DIR"] = str(setup.base / "cfg")
    setup.data = setup.base / "cfg/plugins/data/loop-loopkit"
    setup.fake_uv()
    assert told(setup.run())["data"] == str(setup.data)


def test_no_home_at_all(setup: Setup) -> None:
    del setup.env["LOOPKIT_DATA"], setup.env["HOME"]
    assert "HOME is not set" in refused(setup.run())


# Two at once, kills, changes


def test_two_first_uses_build_once(
    faked: Setup, spawn: Callable[..., subprocess.Popen[str]]
) -> None:
    os.mkfifo(faked.gate)
    first = spawn("first")
    with open(faked.gate, "w"):  # opens when the first one's installation stands at the gate
        second = spawn("second")
        assert second.stderr and "waiting for it" in second.stderr.readline()
        faked.gate.unlink()
    for process, name in ((first, "first"), (second, "second")):
        out, err = process.communicate()
        assert process.returncode == 0, err
        assert json.loads(out)["args"] == [name]
    assert faked.builds() == 1


def test_killed_while_installing(faked: Setup, spawn: Callable[..., subprocess.Popen[str]]) -> None:
    os.mkfifo(faked.gate)
    process = spawn()
    with open(faked.gate, "w"):
        kill(process)
    faked.gate.unlink()
    left = faked.environments()
    assert len(left) == 1
    told(faked.run())
    assert faked.builds() == 2
    assert not left & faked.environments()


def test_killed_before_the_switch(ready: Setup) -> None:
    (ready.data / "env").unlink()
    (ready.data / "python").unlink()
    told(ready.run())
    assert ready.builds() == 1
    assert (ready.data / "python").exists()


def test_killed_before_the_stamp(ready: Setup) -> None:
    (ready.data / "env/requirements.lock").unlink()
    told(ready.run())
    assert ready.builds() == 2
    assert len(ready.environments()) == 1


def change_lock(root: Path) -> None:
    with open(root / "requirements.lock", "a") as file:
        file.write("# changed\n")


def age(ready: Setup, *names: str) -> None:
    """Let it be long since a program was started in these environments."""
    then = time.time() - bootstrap.UNUSED - 60
    for name in names:
        os.utime(ready.data / "envs" / name / "pyvenv.cfg", (then, then))


def test_changed_lock_file_rebuilds(ready: Setup) -> None:
    before = ready.environments()
    age(ready, *before)
    change_lock(ready.root)
    run = ready.run()
    told(run)
    assert "the lock file changed" in run.stderr
    assert not before & ready.environments()
    assert [name for name in os.listdir(ready.data / "pyc") if name in before] == []
    assert (ready.data / "env/requirements.lock").read_text().endswith("# changed\n")


def test_two_versions_of_the_plugin_share_the_data_folder(ready: Setup) -> None:
    other = ready.base / "other" / "loop"
    ready.install(other)
    change_lock(other)
    first = told(ready.run())["click"]
    second = told(ready.run(command=[str(other / "bin/loopkit")]))["click"]
    assert first != second and ready.builds() == 2
    for _ in range(2):
        assert told(ready.run())["click"] == first
        assert told(ready.run(command=[str(other / "bin/loopkit")]))["click"] == second
    assert ready.builds() == 2


def test_an_environment_that_is_used_is_kept_while_others_are_built(ready: Setup) -> None:
    (used,) = ready.environments()
    old = (ready.root / "requirements.lock").read_bytes()
    change_lock(ready.root)
    told(ready.run())
    (second,) = ready.environments() - {used}
    age(ready, used, second)
    (ready.root / "requirements.lock").write_bytes(old)
    told(ready.run())  # it is not the one that was prepared last
    change_lock(ready.root)
    change_lock(ready.root)
    told(ready.run())
    assert used in ready.environments() and second not in ready.environments()


def test_rebuild_leaves_running_programs_alone(
    ready: Setup, spawn: Callable[..., subprocess.Popen[str]]
) -> None:
    (old,) = ready.environments()
    running = spawn("lazy")
    assert running.stdout and running.stdout.readline() == "started\n"
    age(ready, old)
    change_lock(ready.root)
    told(ready.run())
    assert len(ready.environments()) == 2
    out, err = running.communicate("go on\n")
    assert running.returncode == 0, err
    assert f"/envs/{old}/" in json.loads(out)["jinja2"]
    age(ready, *ready.environments())
    change_lock(ready.root)
    told(ready.run())
    assert len(ready.environments()) == 1


def test_interpreter_gone(ready: Setup) -> None:
    python = ready.data / "env/bin/python"
    python.unlink()
    python.symlink_to("/nowhere/python3.11")
    told(ready.run())
    assert ready.builds() == 2


def test_module_gone(ready: Setup) -> None:
    (module,) = (ready.data / "env").glob("lib/python*/site-packages/click.py")
    module.unlink()
    run = ready.run("stdin", input="kept")
    assert told(run)["stdin"] == "kept"
    assert "lacks the module click" in run.stderr
    assert ready.builds() == 2


def test_module_found_missing_in_the_middle_of_a_command(ready: Setup) -> None:
    (module,) = (ready.data / "env").glob("lib/python*/site-packages/yaml.py")
    module.unlink()
    run = ready.run("late")
    assert run.returncode == 3
    assert "run this again" in run.stderr and "Traceback" not in run.stderr
    told(ready.run("late"))


def test_an_empty_folder_in_the_links_place(ready: Setup) -> None:
    link = ready.data / "env"
    link.unlink()
    link.mkdir()
    told(ready.run())
    assert ready.builds() == 1


def test_without_links_the_folder_itself_is_put_in_place(
    ready: Setup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise OSError("no links here")

    (ready.data / "env").unlink()
    monkeypatch.setattr(os, "symlink", no_links)
    bootstrap.prepare(ready.data, ready.root / "requirements.lock")
    monkeypatch.undo()
    assert (ready.data / "env").is_dir() and not (ready.data / "env").is_symlink()
    told(ready.run())
    assert ready.builds() == 1


# Which Python


def test_a_python_that_only_advertises_is_passed_over(faked: Setup) -> None:
    (faked.path / "python3").rename(faked.path / "python3.12")
    faked.script("python3", "echo 'Get Python from the store!'; exit 49")
    run = faked.run()
    told(run)
    assert "store" not in run.stdout + run.stderr


def test_a_python_can_be_named(faked: Setup) -> None:
    (faked.path / "python3").rename(faked.base / "my python")
    faked.env["LOOPKIT_PYTHON"] = str(faked.base / "my python")
    told(faked.run())


def test_no_python(setup: Setup) -> None:
    (setup.path / "python3").unlink()
    assert "no Python found" in refused(setup.run())
    assert not setup.data.exists()


@pytest.mark.parametrize("version", ["2.7", "3.8", "3.10"])
def test_python_too_old(setup: Setup, version: str) -> None:
    setup.script("python3", f"printf 'loopkit {version}'")
    line = refused(setup.run())
    assert f"python3 is {version}" in line
    assert "3.11" in line


@pytest.mark.parametrize("version", ["3.11", "3.14", "3.20", "4.0"])
def test_python_new_enough(setup: Setup, version: str) -> None:
    setup.script(
        "python3",
        f'case $2 in -c) printf "loopkit {version}" ;; *) echo "ran $1 $2" >&2; exit 3 ;; esac',
    )
    assert "bootstrap.py" in setup.run().stderr


def test_uv_brings_a_python(faked: Setup) -> None:
    good = (faked.path / "python3").rename(faked.base / "brought")
    (faked.path / "uv").rename(faked.path / "real-uv")
    faked.script(
        "uv",
        f"""case "$1 $2" in
          "python find") [ -e {quoted(faked.base)}/installed ] && echo {quoted(good)} ;;
          "python install") echo > {quoted(faked.base)}/installed ;;
          *) exec real-uv "$@" ;;
        esac""",
    )
    run = faked.run()
    told(run)
    assert "asking uv" in run.stderr


def test_bootstrap_is_readable_by_old_pythons() -> None:
    text = (ROOT / "loopkit/bootstrap.py").read_text(encoding="utf-8")
    ast.parse(text, feature_version=(3, 6))
    # Nothing before the check of the version may need a new one.
    before = text[: text.index("sys.version_info <")]
    assert re.findall(r"^(?:import|from) .*", before, re.MULTILINE) == ["import sys"]


# What cannot be fixed here


@pytest.mark.parametrize("below", [False, True])
def test_data_folder_cannot_be_written(faked: Setup, below: bool) -> None:
    faked.data.write_text("a file")
    if below:
        faked.env["LOOPKIT_DATA"] = str(faked.data / "below")
    line = refused(faked.run())
    assert str(faked.data) in line
    assert "LOOPKIT_DATA" in line


def test_disk_full(faked: Setup) -> None:
    faked.broken.write_text("error: failed to write: No space left on device (os error 28)\n")
    assert "is full: make room" in refused(faked.run())
    faked.broken.unlink()
    told(faked.run())


def test_lock_file_missing(setup: Setup) -> None:
    (setup.root / "requirements.lock").unlink()
    assert "install the plugin again" in refused(setup.run())


def test_no_network(setup: Setup) -> None:
    """With uv, where it is here, and then with pip, as without uv."""
    if uv := shutil.which("uv"):
        (setup.path / "uv").symlink_to(uv)
    # Port 9 of this machine: nobody listens. Retries would only wait.
    setup.env |= {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }
    setup.env |= {
        "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple",
        "UV_HTTP_RETRIES": "0",
        "UV_NO_CONFIG": "1",
    }
    line = refused(setup.run())
    assert "cannot reach the package index" in line
    assert str(setup.data / "prepare.log") in line


def test_no_venv_module(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Like Debian without python3-venv, and without pip.
    setup.script("bare", "echo No module named ensurepip; exit 1")
    monkeypatch.setenv("PATH", str(setup.path))
    monkeypatch.setattr(bootstrap, "base_interpreter", lambda: str(setup.path / "bare"))
    assert bootstrap.main([str(setup.root), str(setup.data)]) == 3
    line = capsys.readouterr().err.splitlines()[-1]
    assert "python3-venv" in line and "uv" in line


@pytest.mark.parametrize(
    ("kind", "output"),
    [
        ("NoNetwork", "error: Request failed after 3 retries\n  Caused by: dns error\n"),
        (
            "NoNetwork",
            "WARNING: Retrying: NewConnectionError(... [Errno -3] Temporary failure in name "
            "resolution)",
        ),
        (
            "NoNetwork",
            "ERROR: Could not install packages due to an OSError: HTTPSConnectionPool: Max "
            "retries exceeded",
        ),
        ("NoNetwork", "pip._vendor.urllib3.exceptions.ReadTimeoutError: Read timed out."),
        (
            "CannotPrepare",
            "error sending request for url (x)\n  cause: invalid peer certificate: UnknownIssuer",
        ),
        ("DiskFull", "OSError: [Errno 28] No space left on device"),
        ("DiskFull", "error: Disk quota exceeded (os error 122)"),
        (
            "CannotPrepare",
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n  more\n",
        ),
        ("CannotPrepare", ""),
    ],
)
def test_failed_step_is_explained_in_one_line(kind: str, output: str, tmp_path: Path) -> None:
    error = bootstrap.explain("pip install", 2, output, tmp_path, tmp_path / "prepare.log")
    assert type(error).__name__ == kind
    assert "\n" not in str(error)
    assert "run this again" in str(error)


def test_settings_that_redirect_an_installation_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (
        "PIP_TARGET",
        "PIP_USER",
        "UV_SYSTEM_PYTHON",
        "VIRTUAL_ENV",
        "PYTHONPATH",
        "PIP_INDEX_URL",
    ):
        monkeypatch.setenv(name, "x")
    env = bootstrap.clean_environment()
    assert env["PIP_INDEX_URL"] == "x"
    assert (
        not {"PIP_TARGET", "PIP_USER", "UV_SYSTEM_PYTHON", "VIRTUAL_ENV", "PYTHONPATH"} & env.keys()
    )


# The real thing


@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_real_environment(setup: Setup, offline: None, tool: str) -> None:
    setup.env |= {
        name: value
        for name, value in os.environ.items()
        if re.match(r"(PIP|UV)_(NO_INDEX|OFFLINE|FIND_LINKS)$", name)
    }
    setup.env |= {
        "PIP_USER": "1",
        "PIP_TARGET": str(setup.base / "elsewhere"),
        "UV_SYSTEM_PYTHON": "1",
    }
    if tool == "uv":
        uv = shutil.which("uv")
        if not uv:
            pytest.skip("no uv here")
        (setup.path / "uv").symlink_to(uv)
    (setup.root / "pyproject.toml").write_text(
        "not [ toml"
    )  # a project's own settings do not apply
    run = setup.run(cwd=setup.root)
    told(run)
    assert f"preparing the environment with {tool} " in run.stderr
    log = (setup.data / "prepare.log").read_text()
    assert ("uv pip install" in log, "-m pip install" in log) == (tool == "uv", tool == "pip")
    assert not (setup.base / "elsewhere").exists()
    code = (
        "import importlib.metadata as m; print({d.metadata['Name'].lower(): d.version for d in "
        "m.distributions()})"
    )
    listed = subprocess.run(
        [setup.data / "env/bin/python", "-I", "-c", code],
        capture_output=True,
        check=True,
        text=True,
    )
    installed = ast.literal_eval(listed.stdout)
    locked = re.findall(
        r"^([\w.-]+)==(\S+) \\$", (ROOT / "requirements.lock").read_text(), re.MULTILINE
    )
    assert locked
    for name, version in locked:
        assert {k.replace("_", "-"): v for k, v in installed.items()}.get(name) == version


# The lock files


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_lock_file_is_pinned_hashed_and_names_no_index(name: str) -> None:
    text = (ROOT / name).read_text()
    assert not re.search(r"https?:|--(extra-)?index|--find-links|/", text)
    blocks = re.split(r"\n(?=\S)", text.strip())
    for block in blocks:
        assert re.match(r"[\w.-]+==\S+ ", block), block
        assert "--hash=sha256:" in block, block


def test_lock_files_agree_and_cover_what_is_asked_for() -> None:
    def pins(name: str) -> set[str]:
        return set(re.findall(r"^[\w.-]+==[^\s;]+", (ROOT / name).read_text(), re.MULTILINE))

    assert pins("requirements.lock") <= pins("requirements-dev.lock")
    asked = {
        line.lower()
        for line in (ROOT / "requirements.in").read_text().split("\n")
        if line and line[0] != "#"
    }
    assert asked <= {pin.split("==")[0] for pin in pins("requirements.lock")}
    modules = {module.split(".")[0] for module in bootstrap.IMPORTS}
    assert modules == {{"pyyaml": "yaml"}.get(name, name) for name in asked}


def test_client_lock_names_no_registry() -> None:
    lock = json.loads((ROOT / "tests/package-lock.json").read_text())
    wanted = json.loads((ROOT / "tests/package.json").read_text())["dependencies"]
    assert lock["packages"][""]["dependencies"] == wanted
    assert all("resolved" not in package for package in lock["packages"].values())
