"""The targets on their corpus, on nearly valid inputs, and in a short run of the coverage-guided
fuzzer.

All of it is the same in every run: new inputs are looked for by script/fuzz.
"""

from __future__ import annotations

import os
import platform
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from loopkit.hooks import log, mirror, stop
from tests.fuzz import bend, run, targets

ROOT = Path(__file__).resolve().parents[2]
#: Bent inputs a target: a second or two each on one core.
INPUTS = {
    "hook": 150,
    "book": 25,
    "state_file": 30,
    "shape_file": 75,
    "native_list": 40,
    "usage": 200,
    "record": 6,
    "reply": 20,
}
FILES = [
    pytest.param(name, path, id=f"{name}/{path.name}")
    for name in targets.ALL
    for path in run.corpus(name)
]
HAS_ATHERIS = (
    sys.platform == "linux"
    and platform.machine() == "x86_64"
    and platform.python_implementation() == "CPython"
    and sys.version_info < (3, 15)
)


@pytest.fixture(autouse=True)
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a target's project changes in the modules under test is put back."""
    for owner, name in (
        (log, "fault"),
        (stop, "LATE"),
        (stop, "LOOKS"),
        (mirror, "LOCK_SECONDS"),
        (os, "fsync"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setenv("XDG_STATE_HOME", "")
    targets.site().attach()
    yield


def test_every_target_has_inputs_and_a_number() -> None:
    assert set(INPUTS) == set(targets.ALL) == {path.name for path in run.CORPUS.iterdir()}
    assert all(path.stat().st_size < 20_000 for name in targets.ALL for path in run.corpus(name))


@pytest.mark.parametrize(("name", "path"), FILES)
def test_the_corpus(name: str, path: Path) -> None:
    targets.ALL[name](path.read_bytes())


@pytest.mark.parametrize("name", targets.ALL)
def test_nearly_valid_inputs(name: str) -> None:
    seeds = [path.read_bytes() for path in run.corpus(name)]

    @settings(
        max_examples=INPUTS[name],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(some.randoms(use_true_random=False))
    def each(rng: random.Random) -> None:
        targets.ALL[name](bend.bent(rng.choice(seeds), rng))

    each()


# the same promises on the same bent inputs: one target shows that guiding works, script/fuzz does all
@pytest.mark.skipif(not HAS_ATHERIS, reason="atheris has wheels for Linux on x86_64 only")
def test_a_short_guided_run(tmp_path: Path) -> None:
    name = "hook"
    words = [
        "-m",
        "tests.fuzz.run",
        name,
        "--runs",
        str(INPUTS[name] // 2),
        "--seed",
        "1",
        "--cache",
        str(tmp_path),
    ]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "inputs, no promise broken" in done.stdout


def test_a_broken_promise_is_shown_with_the_way_to_repeat_it(tmp_path: Path) -> None:
    """Guided or not, and from a file: a target that fails makes the run fail."""
    broken = tmp_path / "sitecustomize.py"
    broken.write_text(
        "import loopkit.core.request.shape as shape\ndef parse(text):\n    raise "
        "KeyError(text[:20])\nshape.parse = parse\n"
    )
    words = [sys.executable, "-m", "tests.fuzz.run", "shape_file"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    for more in (["--runs", "5", "--cache", str(tmp_path)], [str(run.corpus("shape_file")[0])]):
        done = subprocess.run(
            [*words, *more], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 1, done
        assert "KeyError" in done.stdout + done.stderr
        assert len(more) == 1 or "repeat it: script/fuzz shape_file" in done.stdout
