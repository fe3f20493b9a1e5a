"""What the benchmarks share: programs timed in turn, medians, the printed table."""

from __future__ import annotations

import filecmp
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

#: Width of the first column; the whole line stays within 80.
_WHAT = 38


class Program(NamedTuple):
    """A program to be timed: arguments, folder, environment, bytes on standard input, and what puts
    things back first."""

    argv: list[str]
    cwd: Path
    env: Mapping[str, str]
    stdin: bytes = b""
    before: Callable[[], object] = lambda: None


def once(program: Program, stdout: Path | None = None) -> float:
    """Seconds from the start of a program to its end; its output goes to the file, or nowhere.

    As little of our own as can be lies between the two clocks. Raises RuntimeError where the exit
    code is not 0.
    """
    program.before()
    with tempfile.TemporaryFile() as given:
        given.write(program.stdin)
        given.seek(0)
        here = os.getcwd()
        os.chdir(program.cwd)
        try:
            actions = [
                (os.POSIX_SPAWN_DUP2, given.fileno(), 0),
                (
                    os.POSIX_SPAWN_OPEN,
                    1,
                    str(stdout or os.devnull),
                    os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
                    0o644,
                ),
            ]
            began = time.perf_counter()
            child = os.posix_spawnp(
                program.argv[0], program.argv, dict(program.env), file_actions=actions
            )
            _, status = os.waitpid(child, 0)
            taken = time.perf_counter() - began
        finally:
            os.chdir(here)
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise RuntimeError(f"{' '.join(program.argv)} ended with {code}")
    return taken


def output(program: Program) -> bytes:
    """What a program writes on standard output."""
    with tempfile.TemporaryDirectory() as folder:
        once(program, Path(folder, "out"))
        return Path(folder, "out").read_bytes()


def in_turn(programs: Mapping[str, Program], rounds: int) -> dict[str, float]:
    """Median seconds of each program. Every round runs each of them once, so that a busy moment
    hits all."""
    taken: dict[str, list[float]] = {name: [] for name in programs}
    for program in programs.values():  # caches warm
        once(program)
    for number in range(rounds):
        names = list(programs)
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            taken[name].append(once(programs[name]))
    return {name: statistics.median(times) for name, times in taken.items()}


def rounds(usual: int) -> int:
    """How many rounds: the first argument of the benchmark, else `usual`."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else usual


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.{2 if seconds < 0.01 else 1}f} ms"


def head(note: str) -> None:
    """What was compared, then the head of the table."""
    print(f"{note}\n{'':{_WHAT}} {'ours':>10} {'reference':>10} {'ratio':>6}  target")


def row(
    what: str,
    ours: float,
    reference: float,
    target: float | None,
    unit: Callable[[float], str] = milliseconds,
) -> None:
    """One line: both figures, ours divided by the reference, the target for that, and whether it is
    kept."""
    ratio = ours / reference if reference else float(ours > 0)
    said = f"≤ {target:<4g} {'ok' if ratio <= target else 'OVER'}" if target is not None else ""
    figures = f"{unit(ours):>10} {unit(reference):>10} {ratio:>6.2f}"
    print(f"{what[:_WHAT]:{_WHAT}} {figures}  {said}".rstrip())


@contextmanager
def folder() -> Iterator[Path]:
    """A folder of our own for as long as it is needed; loops that are started meanwhile are known
    there only."""
    with tempfile.TemporaryDirectory(prefix="loopkit-bench-") as name:
        os.environ["XDG_STATE_HOME"] = os.path.join(name, "state")
        yield Path(name).resolve()


def client() -> str | None:
    """The real client: LOOPKIT_TEST_CLIENT, else the pinned one in the cache of script/test."""
    given = os.environ.get("LOOPKIT_TEST_CLIENT")
    cache = os.environ.get("LOOPKIT_TEST_CACHE") or os.path.expanduser("~/.cache/loopkit-tests")
    version = json.loads((ROOT / "tests" / "package.json").read_text())["dependencies"][
        "@anthropic-ai/claude-code"
    ]
    path = given or os.path.join(cache, version, "node_modules", ".bin", "claude")
    return path if os.access(path, os.X_OK) else None


def data_folder() -> Path:
    """A data folder in which bin/loopkit is prepared: LOOPKIT_DATA, else the one that script/setup
    keeps.

    Ends the benchmark with a line of advice where there is none.
    """
    given = os.environ.get("LOOPKIT_DATA")
    cache = os.environ.get("LOOPKIT_TEST_CACHE") or os.environ.get(
        "XDG_CACHE_HOME", os.path.expanduser("~/.cache")
    )
    kept = (
        [Path(given)]
        if given
        else [*Path(cache).glob("data-*"), *Path(cache, "loopkit-tests").glob("data-*")]
    )
    for data in kept:
        stamp = data / "env" / "requirements.lock"
        if stamp.exists() and filecmp.cmp(stamp, ROOT / "requirements.lock", shallow=False):
            return data
    print(
        "no prepared environment of bin/loopkit: run script/bench, which makes one", file=sys.stderr
    )
    raise SystemExit(0)


def clean(home: Path, data: Path, **more: str) -> dict[str, str]:
    """An environment without a trace of the session that measures."""
    state = {name: value for name, value in os.environ.items() if name == "XDG_STATE_HOME"}
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LOOPKIT_DATA": str(data),
        **state,
        **more,
    }
