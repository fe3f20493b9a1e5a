"""Hooks where a person's set-up is unusual: PATH, HOME, shell options, streams, limits, folders of
any name."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ROOT, S1, Project
from .test_launcher import ADVERT, script


def turn(project: Project) -> bytes:
    return json.dumps(
        {"session_id": S1, "cwd": str(project.folder), "stop_hook_active": False}
    ).encode()


@pytest.fixture
def bare(project: Project, tmp_path: Path) -> Path:
    """A project with a loop, no prepared interpreter, and a good Python in `good/`, which is
    given."""
    project.start()
    (project.data / "python").unlink()
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "python3").symlink_to(sys.executable)
    return tmp_path / "good"


# -- PATH


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("", "python3"),
        (".", "python3"),
        (".", "python"),
        (".", "py"),
        ("sub", "python3"),
        ("../proj", "python3"),
        ("./sub/", "python3"),
    ],
)
def test_the_project_s_own_programs_are_never_run(
    project: Project, bare: Path, tmp_path: Path, entry: str, name: str
) -> None:
    for folder in (project.folder, project.folder / "sub"):
        script(
            folder / name, f"#!/bin/sh\ntouch '{tmp_path}/pwned'\nexec {sys.executable} \"$@\"\n"
        )
    assert "T-001" in project.stop(PATH=f"{entry}:{bare}", shell="/bin/sh").held
    assert "T-001" in project.stop(PATH=f"{bare}:{entry}", shell="/bin/sh").held
    assert project.stop(PATH=entry or ":", shell="/bin/sh").silent
    for folder in (project.folder, project.folder / "sub"):  # what the launcher itself needs
        for name in ("mkdir", "find", "mv"):
            script(folder / name, f"#!/bin/sh\ntouch '{tmp_path}/pwned'\n")
    path = f"{entry}:{bare}:{os.environ['PATH']}"
    project.hook("session_start", {"source": "startup"}, PATH=path, shell="/bin/sh")
    assert (project.data / "beats").is_dir()
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path: path.mkdir(), id="a folder"),
        pytest.param(lambda path: path.write_text("#!/bin/sh\n"), id="not executable"),
        pytest.param(lambda path: path.symlink_to("nowhere"), id="a dead link"),
        pytest.param(lambda path: path.symlink_to(path), id="a link to itself"),
        pytest.param(os.mkfifo, id="a pipe"),
        pytest.param(lambda path: script(path, ""), id="an empty file"),
        pytest.param(
            lambda path: script(path, "#!/no/such/interpreter\n"), id="an interpreter that is gone"
        ),
        pytest.param(
            lambda path: path.write_bytes(b"\x7fELF\0\0") and path.chmod(0o755),
            id="another machine's",
        ),
        pytest.param(lambda path: script(path, ADVERT), id="an advert"),
        pytest.param(
            lambda path: script(path, "#!/bin/sh\necho '{}'\nexit 0\n"), id="says an answer"
        ),
        pytest.param(lambda path: script(path, "#!/bin/sh\necho loud >&2\nexit 3\n"), id="loud"),
    ],
)
def test_what_is_called_python3_and_is_none(
    project: Project, bare: Path, tmp_path: Path, make: Callable
) -> None:
    (tmp_path / "first").mkdir()
    make(tmp_path / "first" / "python3")
    assert "T-001" in project.stop(PATH=f"{tmp_path}/first:{bare}:/bin", shell="/bin/sh").held


def test_a_stand_in_works_and_is_not_asked_once_there_is_an_environment(
    project: Project, bare: Path, tmp_path: Path
) -> None:
    shim = f"#!/bin/sh\necho x >>'{tmp_path}/asked'\nexec {sys.executable} \"$@\"\n"
    path = f"{script(tmp_path / 'shims' / 'python3', shim).parent}:/bin"
    assert "T-001" in project.stop(PATH=path).held
    assert (tmp_path / "asked").read_text() == "x\n"
    (project.data / "python").write_text(sys.executable)  # without a line break, too
    assert "T-001" in project.stop(PATH=path).held
    assert (tmp_path / "asked").read_text() == "x\n"


@pytest.mark.parametrize("path", [None, "", ":", "/nowhere", "~/bin", "/*"])
def test_a_prepared_interpreter_needs_no_path(project: Project, path: str | None) -> None:
    project.start()
    assert "T-001" in project.stop(PATH=path, shell="/bin/sh").held
    assert project.session_start("startup", PATH=path, shell="/bin/sh").json["systemMessage"]


@pytest.mark.parametrize(
    "noted", ["python3", "./python3", "-c", "/", "{folder}", "a\0b", "{good} -x"]
)
def test_a_noted_interpreter_that_is_no_path(project: Project, bare: Path, noted: str) -> None:
    script(project.folder / "python3", "#!/bin/sh\necho pwned\nexit 42\n")
    (project.data / "python").write_text(noted.format(folder=bare, good=sys.executable))
    assert "T-001" in project.stop(PATH=str(bare), shell="/bin/sh").held


# -- the shell's surroundings


@pytest.mark.parametrize(
    "env",
    [
        {"SHELLOPTS": "braceexpand:errexit:hashall:noclobber:noglob:nounset:xtrace"},
        {"BASH_FUNC_cd%%": "() { echo moved; }", "BASH_FUNC_printf%%": "() { echo printed; }"},
        {"BASH_FUNC_read%%": "() { return 1; }", "BASH_FUNC_kill%%": "() { return 0; }"},
        {"CDPATH": "/:/tmp:.."},
        {"IFS": "/o"},
        {"ENV": "{noise}", "BASH_ENV": "{noise}"},
        {"POSIXLY_CORRECT": "1"},
        {"PWD": "/no/such/folder", "OLDPWD": "/"},
        {"LC_ALL": "xx_YY.nonsense", "LANG": "ja_JP.SJIS"},
        {
            "PYTHONHOME": "/nowhere",
            "PYTHONPATH": "/nowhere",
            "PYTHONSTARTUP": "{noise}",
            "PYTHONINSPECT": "1",
        },
        {
            "PYTHONWARNINGS": "error",
            "PYTHONDEVMODE": "1",
            "PYTHONVERBOSE": "1",
            "PYTHONDONTWRITEBYTECODE": "x",
        },
        {
            "data": "/",
            "root": "/",
            "here": "/",
            "ran": "0",
            "file": "/",
            "go_on": "1",
            "known": "1",
        },
    ],
    ids=lambda env: next(iter(env)),
)
@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_what_a_person_s_shell_hands_down(
    project: Project, tmp_path: Path, env: dict, shell: str
) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    (tmp_path / "sh").symlink_to(
        str(shutil.which(shell))
    )  # by this name bash reads what a posix shell reads
    noise = script(tmp_path / "noise", "echo noise\n")
    given = {
        name: value.format(noise=noise) if "{noise}" in value else value
        for name, value in env.items()
    }
    exports = tmp_path / "exports"
    assert project.call("stop", turn(project), shell=str(tmp_path / "sh"), **given).out == b""
    project.start()
    answer = project.call("stop", turn(project), shell=str(tmp_path / "sh"), **given)
    assert answer.exit == 0 and "T-001" in answer.held
    more = {**given, "CLAUDE_ENV_FILE": str(exports)}
    assert project.call("session_start", b"{}", shell=str(tmp_path / "sh"), **more).exit == 0
    assert exports.read_text().splitlines()[1] == f"export PATH=\"$PATH\":'{ROOT}/bin'"


@pytest.mark.parametrize("python", ["prepared", "on the PATH"])
@pytest.mark.parametrize(
    "closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "</dev/null", ">/dev/full", "2>/dev/full"]
)
def test_closed_and_full_streams(project: Project, closed: str, python: str) -> None:
    project.start()
    env = dict(project.env)
    if python != "prepared":
        (project.data / "python").unlink()
    before = project.ledger.read_bytes()
    line = f'sh "$0" stop {closed}; echo $? >"$1"'
    argv = ["sh", "-c", line, str(project.launcher), str(project.folder.parent / "code")]
    done = subprocess.run(
        argv, input=turn(project), env=env, cwd=project.folder, capture_output=True, timeout=300
    )
    assert (project.folder.parent / "code").read_text() == "0\n" and done.stderr == b""
    held = (
        "<" not in closed
        and ">&- " not in f"{closed} ".replace("2>&- ", "")
        and closed != ">/dev/full"
    )
    assert (b"T-001" in done.stdout) == held
    assert project.ledger.read_bytes().startswith(before)
    assert all(json.loads(line) for line in project.ledger.read_text().splitlines()), (
        "no answer within the journal"
    )


@pytest.mark.parametrize("python", ["prepared", "on the PATH", "none"])
def test_nobody_reads_the_answer(project: Project, python: str) -> None:
    project.start()
    if python != "prepared":
        (project.data / "python").unlink()
    event, env = "stop", dict(project.env)
    if python == "none":
        event, env["PATH"] = "session_start", "/nowhere"
    out, into = os.pipe()
    os.close(out)
    argv = ["/bin/sh", str(project.launcher), event]
    done = subprocess.run(
        argv, input=turn(project), env=env, cwd=project.folder, stdout=into, stderr=subprocess.PIPE
    )
    os.close(into)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RLIMIT_NOFILE", 16),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_STACK", 1 << 20),
        ("RLIMIT_NOFILE", 1 << 16),
    ],
)
def test_limits_of_a_process(project: Project, name: str, value: int) -> None:
    project.start()
    limit = getattr(resource, name)
    value = min(value, resource.getrlimit(limit)[1]) if resource.getrlimit(limit)[1] > 0 else value
    argv = ["sh", str(project.launcher), "stop"]
    done = subprocess.run(
        argv, input=turn(project), env=project.env, cwd=project.folder, capture_output=True,
        preexec_fn=lambda: resource.setrlimit(limit, (value, value)),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"") and b"T-001" in done.stdout


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277])
def test_masks(project: Project, tmp_path: Path, mask: int) -> None:
    project.start()
    env = {**project.env, "CLAUDE_ENV_FILE": str(tmp_path / "exports")}
    for event, said in (("session_start", b"LOOP RESUME"), ("stop", b"T-001"), ("stop", b"")):
        argv = ["sh", str(project.launcher), event]
        done = subprocess.run(
            argv, input=turn(project), env=env, cwd=project.folder, capture_output=True, umask=mask
        )
        assert (done.returncode, done.stderr) == (0, b"") and said in done.stdout
    assert (project.data / "beats" / "stop").exists()


# -- HOME and the data folder


@pytest.mark.parametrize("home", [None, "", "/no/such/home", "relative", "{file}"])
def test_without_a_home(project: Project, tmp_path: Path, home: str | None) -> None:
    project.start()
    file = script(tmp_path / "file", "")
    env = {"HOME": home.format(file=file) if home else home, "CLAUDE_CONFIG_DIR": None}
    assert "T-001" in project.stop(**env).held
    exports = tmp_path / "exports"
    env |= {"LOOPKIT_DATA": None, "CLAUDE_ENV_FILE": str(exports)}
    before = sorted(os.listdir("/"))
    told = project.session_start("startup", **env)
    assert "LOOP RESUME" in told.json["systemMessage"]
    assert "T-001" in project.stop(**env).held
    assert sorted(os.listdir("/")) == before and os.listdir(project.folder) == [".loop"]
    assert "LOOPKIT_DATA" not in exports.read_text()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path: path.write_text("x"), id="a file"),
        pytest.param(lambda path: path.symlink_to("nowhere"), id="a dead link"),
        pytest.param(lambda path: path.symlink_to(path), id="a link to itself"),
        pytest.param(lambda path: path.symlink_to("/dev/null"), id="nothing"),
        pytest.param(os.mkfifo, id="a pipe"),
    ],
)
def test_a_data_folder_that_is_none(project: Project, tmp_path: Path, make: Callable) -> None:
    project.start()
    make(tmp_path / "other")
    env = {"LOOPKIT_DATA": str(tmp_path / "other")}
    assert "T-001" in project.stop(**env).held
    assert "LOOP RESUME" in project.session_start("startup", **env).json["systemMessage"]
    refused = project.hook(
        "user_prompt_expansion", {"command_name": "loop:start", "command_args": "x"}, **env
    )
    assert refused.silent


# -- folders


LONG = "/".join(["d" * 200] * 17)


@pytest.mark.parametrize(
    "odd", ["a:b", "trailing ", "end\n", "-dash", "[a-z]*?", "~", "$(touch x)", "#", LONG, "\udce9"]
)
def test_folders_of_any_name(tmp_path: Path, odd: str) -> None:
    project = Project(tmp_path / odd)
    plugin = tmp_path / odd / "plugin"
    plugin.mkdir()
    for name in ("hooks", "loopkit"):
        shutil.copytree(
            ROOT / name,
            plugin / name,
            ignore=shutil.ignore_patterns("__pycache__", "cli", "engine"),
        )
    script(plugin / "bin" / "loopkit", '#!/bin/sh\necho "found us: $*"\n')
    project.launcher = plugin / "hooks" / "run"
    project.start()
    assert "T-001" in project.call("stop", turn(project)).held
    exports = tmp_path / "env"
    assert project.call("session_start", turn(project), CLAUDE_ENV_FILE=str(exports)).json[
        "systemMessage"
    ]
    show = '. "$0"; printf "%s|%s|" "$LOOPKIT_ROOT" "$LOOPKIT_DATA"; loopkit a "b c"'
    for shell in ("sh", "bash"):
        told = subprocess.run(
            [shell, "-c", show, exports], env={"PATH": "/usr/bin:/bin"}, capture_output=True
        )
        assert told.stdout == os.fsencode(f"{plugin}|{project.data}|found us: a b c\n"), told.stderr
    if len(odd) < 20:  # started from beside it, by a relative path
        raw = subprocess.run(
            ["sh", "run", "stop"],
            input=turn(project),
            cwd=plugin / "hooks",
            env=project.env,
            capture_output=True,
        )
        assert (raw.returncode, raw.stderr) == (0, b"") and b"T-001" in raw.stdout


def test_a_project_behind_a_link(project: Project, tmp_path: Path) -> None:
    project.start()
    (tmp_path / "link").symlink_to(project.folder)
    assert "T-001" in project.stop(cwd=tmp_path / "link", CLAUDE_PROJECT_DIR=None).held


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda root: root.write_text("x"), id="a file"),
        pytest.param(lambda root: root.symlink_to(root), id="a link to itself"),
        pytest.param(lambda root: root.symlink_to("nowhere"), id="a dead link"),
        pytest.param(os.mkfifo, id="a pipe"),
        pytest.param(
            lambda root: (root / "workflow-state.json").mkdir(parents=True),
            id="a folder for the snapshot",
        ),
        pytest.param(
            lambda root: (root / "001-x" / "ledger.jsonl").mkdir(parents=True),
            id="a folder for the journal",
        ),
    ],
)
def test_a_loop_folder_that_is_none(project: Project, make: Callable) -> None:
    make(project.root)
    assert project.stop().silent
    assert project.session_start("startup").silent


@pytest.mark.parametrize(
    "text", ["", "gitdir:", "gitdir: \n", "x" * 100_000, "gitdir: /a/.git/worktrees/w", "\0\xff"]
)
def test_a_git_file_of_any_kind(project: Project, tmp_path: Path, text: str) -> None:
    (project.folder / ".git").write_text(text, encoding="latin-1")
    assert project.stop().silent
    project.start()
    assert "T-001" in project.stop().held


@pytest.mark.parametrize("given", ["", "/no/such", "relative", "\n", "{file}"])
def test_a_project_dir_that_is_none(project: Project, tmp_path: Path, given: str) -> None:
    env = {"CLAUDE_PROJECT_DIR": given.format(file=project.transcript)}
    assert project.stop(**env).silent
    project.start()
    assert "T-001" in project.stop(**env).held


def test_a_working_folder_that_is_gone_is_not_the_plugin_s_own(tmp_path: Path) -> None:
    mine = Project(tmp_path / "plugin's own")  # a checkout that has a loop of this session's
    mine.start()
    shutil.copytree(ROOT / "hooks", mine.folder / "hooks")
    (mine.folder / "loopkit").symlink_to(ROOT / "loopkit")
    env = {**mine.env, "CLAUDE_PROJECT_DIR": str(tmp_path), "CLAUDE_CODE_TASK_LIST_ID": "any"}
    (tmp_path / "gone").mkdir()
    line = f'cd "{tmp_path}/gone" && rmdir "{tmp_path}/gone" && exec sh "$0" stop'
    given = json.dumps(
        {"session_id": S1, "cwd": str(tmp_path / "gone"), "stop_hook_active": False}
    ).encode()
    argv = ["sh", "-c", line, str(mine.folder / "hooks" / "run")]
    done = subprocess.run(argv, input=given, env=env, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")


# -- every day


@pytest.mark.parametrize("before", ["", "export A=1", "export A=1\n", "# é\r\n", "x" * 5000])
def test_what_others_wrote_into_the_session_s_environment_stays(
    project: Project, tmp_path: Path, before: str
) -> None:
    exports = tmp_path / "exports"
    exports.write_text(before, encoding="utf-8", newline="")
    for _ in range(3):
        assert project.call("session_start", b"{}", CLAUDE_ENV_FILE=str(exports)).silent
    with exports.open(encoding="utf-8", newline="") as file:
        text = file.read()
    assert text.startswith(before) and text.count("export PATH") == 1
    assert text[len(before) :].lstrip("\n").startswith("export LOOPKIT_ROOT=")
    assert before[-1:] in ("\n", "") or text[len(before)] == "\n"


def test_events_at_once_leave_whole_marks_and_one_environment(
    project: Project, tmp_path: Path
) -> None:
    project.start()
    events = [
        "session_start",
        "stop",
        "subagent_stop",
        "task_created",
        "task_completed",
        "stop_failure",
    ] * 2
    running = [
        subprocess.Popen(
            ["sh", str(project.launcher), event], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=project.env, cwd=project.folder,
        )
        for event in events
    ]  # fmt: skip
    for hook in running:
        _, err = hook.communicate(turn(project), timeout=300)
        assert (hook.returncode, err) == (0, b"")
    assert [json.loads(line)["type"] for line in project.ledger.read_text().splitlines()]
    for mark in (project.data / "beats").iterdir():
        assert mark.read_text().split()[0] in ("silent", "held", "told"), mark
    assert project.log() == ""


@pytest.mark.parametrize("size", [0, 1, 1 << 16, 1 << 21])
def test_input_of_any_size_in_a_project_without_a_loop_blocks_nobody(
    project: Project, size: int
) -> None:
    assert project.call("stop", b"x" * size).silent
    assert project.call("session_start", b"x" * size).silent


def test_a_session_that_only_reads_touches_nothing(project: Project) -> None:
    (project.folder / "file").write_text("x")
    before = {path: path.stat().st_mtime_ns for path in (project.folder, project.folder / "file")}
    for event in ("session_start", "user_prompt_expansion", "stop", "session_end"):
        assert project.call(event, turn(project)).silent
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert sorted(path.name for path in project.data.iterdir()) == ["beats", "pyc", "python"]
