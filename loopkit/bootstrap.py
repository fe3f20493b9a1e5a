"""Builds the environment that bin/loopkit runs in, from a lock file, outside the plugin folder.

    python3 bootstrap.py ROOT DATA [LOCK]

ROOT is the plugin folder (only read), DATA the folder that holds the environment, LOCK the lock
file (default ROOT/requirements.lock). In DATA:

    envs/<name>/   environments, each built in its final place; one is complete when it holds a
                   copy of its lock file, by which versions of the plugin that share DATA know it
    env            link to the one that was prepared last (a folder where there are no links)
    python         one line: the interpreter below it, for what needs only the standard library
    pyc/           compiled modules (the program is started with this pycache prefix)
    env.lock       held while building; the system releases it when the holder dies
    prepare.log    what the installers printed at the last build

Killed at any point, the next call cleans up and starts again, or finds the work done.
Everything for people goes to standard error: progress, and on failure one line (what, where, what
to do) and exit code 3. Standard library only, and readable by every Python 3 so that an old one can
say what it lacks.
"""

import sys

OLDEST = (3, 11)

if sys.version_info < OLDEST:
    sys.stderr.write(
        "loopkit: Python %d.%d (%s) is too old: install Python %d.%d or newer, or uv, and run "
        "this again\n"
        % (sys.version_info[0], sys.version_info[1], sys.executable, OLDEST[0], OLDEST[1])
    )
    sys.exit(3)

import contextlib
import errno
import os
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

WINDOWS = os.name == "nt"

#: Seconds after which an unused environment is removed when another one is built.
UNUSED = 30 * 86400

# Settings of pip and uv that send an installation elsewhere or change what is installed. All others
# of a person (index, proxy, certificates, cache) are left to work.
REDIRECTING = (
    *("CONSTRAINT", "DRY_RUN", "EDITABLE", "NO_DEPS", "OVERRIDE", "PREFIX", "PYTHON"),
    *("REQUIREMENT", "ROOT", "SYSTEM_PYTHON", "TARGET", "USER"),
)

# What each requirement is imported as: this shows that the environment works, and compiles it.
IMPORTS = ("click", "jinja2", "jsonschema", "portalocker", "pydantic", "rich.console", "yaml")

OFFLINE = re.compile(
    r"connection ?(error|refused|reset)|dns error|error sending request|failed to establish|"
    r"max retries|name (or service|resolution)|nodename nor servname|no route to host|"
    r"network is (unreachable|down|disabled)|proxy ?error|tcp connect|tim(ed|e) ?out|"
    r"temporary failure|tunnel",
    re.IGNORECASE,
)


# Options of pip and uv that install wheels with the hashes of the lock file only.
LOCKED = ("--require-hashes", "--only-binary", ":all:")


class CannotPrepare(Exception):
    """The environment could not be built; the text says what, where, and what to do."""


class NoNetwork(CannotPrepare):
    """The package index was not reached."""


class DiskFull(CannotPrepare):
    """Nothing more can be written."""

    def __init__(self, data: Path) -> None:
        super().__init__(f"the disk with {data} is full: make room and run this again")


def say(text: str) -> None:
    """Print a line of progress on standard error, if somebody listens."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"loopkit: {text}\n")
        sys.stderr.flush()


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Wait for an exclusive lock on `path`; it ends with the process, however that ends."""
    with open(path, "ab") as file:
        if WINDOWS:
            _lock_on_windows(file.fileno())
        else:
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("another loopkit is preparing the environment, waiting for it")
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError as error:
                # a file system without locks: better an unprotected first use than none
                if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
                    raise
        yield


def _lock_on_windows(descriptor: int) -> None:
    import msvcrt

    told = False
    while True:
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
            return
        except OSError:
            if not told:
                say("another loopkit is preparing the environment, waiting for it")
                told = True
            time.sleep(0.2)


def python_of(env: Path) -> Path:
    """The interpreter of an environment."""
    return env / "Scripts" / "python.exe" if WINDOWS else env / "bin" / "python"


def is_complete(env: Path, lock: bytes) -> bool:
    """Whether `env` was built to its end from this lock file and its interpreter is still there."""
    try:
        same = (env / "requirements.lock").read_bytes() == lock
        return same and os.access(python_of(env), os.X_OK)
    except OSError:
        return False


def complete(data: Path, lock: bytes) -> "Path | None":
    """The complete environment in `data` of this lock file, the current one first, or None."""
    envs = (data / "env", *sorted(data.glob("envs/*")))
    return next((env for env in envs if is_complete(env, lock)), None)


def base_interpreter() -> str:
    """Path of the interpreter below this one, links resolved, so that it goes with its version."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    real = os.path.realpath(base)
    return real if os.path.basename(real).startswith("python") else base


def clean_environment() -> dict[str, str]:
    """This process's environment without what would lead an installer or interpreter astray."""
    dropped = {f"{tool}_{name}" for tool in ("PIP", "UV") for name in REDIRECTING}
    dropped |= {"CONDA_PREFIX", "UV_PROJECT_ENVIRONMENT", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"}
    env = {k: v for k, v in os.environ.items() if k not in dropped and not k.startswith("PYTHON")}
    env["PIP_NO_INPUT"] = "1"
    if env.get("PIP_RETRIES", "0") == "0":
        env["PIP_RETRIES"] = "2"  # with none pip does not say that it was the network
    return env


class Builder:
    """Builds one environment. uv: its path, or None."""

    def __init__(self, data: Path, lock: Path, uv: "str | None") -> None:
        self.data = data
        self.lock = lock
        self.uv = uv
        self.log = data / "prepare.log"

    def build(self, env: Path) -> None:
        """Fill `env` with an interpreter and the locked packages: with uv, else with venv and pip.
        Raises CannotPrepare; `env` is then in any state."""
        self.log.write_bytes(b"")
        if not self.uv:
            self._with_pip(env)
            return
        try:
            self._with_uv(env)
        except DiskFull:
            raise
        except CannotPrepare as first:
            # uv does not read pip's settings, which may name an index
            shutil.rmtree(env, ignore_errors=True)
            try:
                self._with_pip(env)
            except CannotPrepare as second:
                offline = isinstance(first, NoNetwork) and not isinstance(second, NoNetwork)
                raise (first if offline else second) from None

    def _with_uv(self, env: Path) -> None:
        assert self.uv
        venv = ["venv", "--quiet", "--no-project", "--python", base_interpreter(), str(env)]
        self._run("uv venv", [self.uv, *venv])
        install = ["install", "--quiet", "--no-progress", "--python", str(python_of(env))]
        locked = [*LOCKED, "--requirements", str(self.lock)]
        self._run("uv pip install", [self.uv, "pip", *install, *locked])
        self._try_imports(env)

    def _with_pip(self, env: Path) -> None:
        python = base_interpreter()
        venv = [python, "-I", "-m", "venv"]
        newer = "import venv, pip; assert int(pip.__version__.split('.')[0]) >= 23"
        if self._works([python, "-I", "-c", "import venv, ensurepip"]):
            self._run("python -m venv", [*venv, str(env)])
            pip = [str(python_of(env)), "-I", "-m", "pip"]
        elif self._works([python, "-I", "-c", newer]):
            self._run("python -m venv", [*venv, "--without-pip", str(env)])
            pip = [python, "-I", "-m", "pip", "--python", str(python_of(env))]
        else:
            raise CannotPrepare(
                f"{python} cannot make environments (its venv or ensurepip module is missing): "
                "install python3-venv (Debian, Ubuntu) or uv, and run this again"
            )
        quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-compile"]
        locked = ["--no-user", *LOCKED, "--requirement", str(self.lock)]
        self._run("pip install", [*pip, "install", *quiet, *locked])
        self._try_imports(env)

    def _try_imports(self, env: Path) -> None:
        """Import every requirement, compiling it where the program will look for it."""
        python = python_of(Path(os.path.realpath(env)))
        cache = f"pycache_prefix={self.data / 'pyc'}"
        code = "import " + ", ".join(IMPORTS)
        self._run("the new environment", [str(python), "-I", "-X", cache, "-c", code])

    def _works(self, command: "list[str]") -> bool:
        try:
            return self._call(command, subprocess.DEVNULL) == 0
        except OSError:
            return False

    def _call(self, command: "list[str]", output: "IO[bytes] | int") -> int:
        """Run in the data folder, so that no settings of the project that a person is in apply."""
        return subprocess.call(
            command,
            cwd=self.data,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def _run(self, name: str, command: "list[str]") -> None:
        """Run one step with its output in the log."""
        with open(self.log, "ab") as log:
            log.write(f"$ {' '.join(command)}\n".encode("utf-8", "surrogateescape"))
            log.flush()
            begin = log.tell()
            try:
                code = self._call(command, log)
            except OSError as error:
                what = f"cannot run {command[0]} ({error.strerror})"
                raise CannotPrepare(f"{what}: install Python again, or uv") from None
        if code == 0:
            return
        with open(self.log, "rb") as log_again:
            log_again.seek(begin)
            output = log_again.read().decode("utf-8", "replace")
        raise explain(name, code, output, self.data, self.log)


def explain(step: str, code: int, output: str, data: Path, log: Path) -> CannotPrepare:
    """The error for a failed step, from what it printed."""
    again = f"and run this again; details in {log}"
    if re.search(r"no space left|disk quota|errno 28\b|os error 28\b", output, re.IGNORECASE):
        return DiskFull(data)
    if re.search(r"peer certificate|certificate_verify_failed", output, re.IGNORECASE):
        return CannotPrepare(
            f"the package index shows a certificate that is not trusted here ({step}): name your "
            f"network's certificates in SSL_CERT_FILE or PIP_CERT {again}"
        )
    if OFFLINE.search(output):
        return NoNetwork(
            f"cannot reach the package index for the first-use set-up ({step}): connect to the "
            f"network, or set PIP_INDEX_URL or HTTPS_PROXY, {again}"
        )
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(error|×|.*error:)", line, re.IGNORECASE)]
    last = "".join(f" ({line[:160]})" for line in (errors or lines)[-1:])
    what = f"{step} failed with exit code {code}{last}"
    return CannotPrepare(f"{what}: details in {log}; fix that and run this again")


def prepare(data: Path, lock: Path) -> None:
    """Make `data`/env the environment of the lock file, unless it is so already. Raises
    CannotPrepare, and OSError where the data folder cannot be written."""
    wanted = lock.read_bytes()
    data.mkdir(parents=True, exist_ok=True)
    with held(data / "env.lock"):
        current = data / "env"
        if is_complete(current, wanted):
            return
        envs = data / "envs"
        envs.mkdir(exist_ok=True)
        new = complete(data, wanted)
        if new is None:
            clean_up(data, current)
            new = envs / secrets.token_hex(4)
            begun = time.monotonic()
            changed = (current / "requirements.lock").exists()
            why = "the lock file changed" if changed else "first use, once"
            uv = shutil.which("uv")
            say(f"preparing the environment with {'uv' if uv else 'pip'} ({why}) in {data} …")
            Builder(data, lock, uv).build(new)
            write_whole(new / "requirements.lock", wanted)
            say(f"environment ready after {time.monotonic() - begun:.0f} s")
        write_whole(data / "python", os.fsencode(base_interpreter()) + b"\n")
        switch(current, new)
        clean_up(data, current)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    fresh = path.with_name(path.name + ".new")
    with open(fresh, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def switch(current: Path, new: Path) -> None:
    """Let `current` stand for the folder `new`, in one step where the file system has links."""
    link = current.with_name("env.new")
    with contextlib.suppress(FileNotFoundError):
        link.unlink()
    if current.is_dir() and not current.is_symlink():
        os.rename(current, current.with_name("envs") / f"old-{secrets.token_hex(4)}")
    try:
        os.symlink(os.path.join("envs", new.name), link, target_is_directory=True)
    except (OSError, NotImplementedError):
        os.rename(new, current)
    else:
        os.replace(link, current)


def clean_up(data: Path, current: Path) -> None:
    """Remove environments other than `current`, and what was compiled for them, that nobody runs
    in: those that were not built to their end, and those that have long been unused."""
    kept = os.path.realpath(current)
    for env in (data / "envs").iterdir():
        if os.path.realpath(env) == kept or in_use(env) or is_recent(env):
            continue
        shutil.rmtree(env, ignore_errors=True)
        for path in {str(env), os.path.realpath(env)}:
            shutil.rmtree(f"{data / 'pyc'}{os.path.splitdrive(path)[1]}", ignore_errors=True)


def is_recent(env: Path) -> bool:
    """Whether `env` is complete, and its pyvenv.cfg shows that it was used of late."""
    try:
        age = time.time() - (env / "pyvenv.cfg").stat().st_mtime
        return age < UNUSED and is_complete(env, (env / "requirements.lock").read_bytes())
    except OSError:
        return False


def in_use(env: Path) -> bool:
    """Whether a running loopkit holds `env`: each has a shared lock on its pyvenv.cfg."""
    if WINDOWS:
        return False  # Windows itself refuses to remove what is in use.
    import fcntl

    try:
        with open(env / "pyvenv.cfg", "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def main(arguments: "list[str]") -> int:
    """Exit code: 0 ready, 2 wrong call, 3 cannot, 130 interrupted."""
    if len(arguments) not in (2, 3):
        sys.stderr.write("usage: bootstrap.py ROOT DATA [LOCK]\n")
        return 2
    # absolute: the installers run in the data folder
    root, data, *given = (Path(os.path.abspath(path)) for path in arguments)
    lock = given[0] if given else root / "requirements.lock"
    try:
        prepare(data, lock)
    except CannotPrepare as error:
        say(str(error))
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        where = error.filename or data
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            say(str(DiskFull(data)))
        elif str(where) == str(lock):
            say(f"cannot read {lock} ({error.strerror}): install the plugin again")
        else:
            what = f"cannot write {where} ({error.strerror})"
            say(
                f"{what}: make the data folder {data} writable, or name another one in LOOPKIT_DATA"
            )
    except Exception as error:  # a person gets a line, never a traceback
        what = f"preparing {data} failed ({type(error).__name__}: {error})"
        say(f"{what}: remove that folder's envs/ and try again")
    else:
        return 0
    return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
