"""Fuzzes one target: `python -m tests.fuzz.run TARGET [--seconds N | --runs N] [--seed N] [FILE…]`;
see script/fuzz.

With atheris: coverage-guided, from the corpus of the tree and the inputs that earlier runs found.
Without: the same bent inputs, unguided. FILE…: only these inputs, to repeat what was found. Exits 1
where a promise was broken.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
#: Bytes of an input at most, seconds one may take.
LONGEST, SLOWEST = 1 << 16, 20


def main() -> int:
    words = argparse.ArgumentParser(
        prog="script/fuzz", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    words.add_argument("target")
    words.add_argument("files", nargs="*", type=Path)
    words.add_argument("--seconds", type=int, default=60)
    words.add_argument("--runs", type=int, default=0)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--cache", type=Path, default=None)
    given = words.parse_args()
    # what a target writes outside its project goes where nobody looks
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(
        prefix="loopkit-fuzz-home-", dir=fast, ignore_cleanup_errors=True
    ) as home:
        os.environ["HOME"] = home
        for name in [one for one in os.environ if one.startswith(("CLAUDE", "LOOPKIT_", "XDG_"))]:
            del os.environ[name]
        return (
            _files(given) if given.files else _guided(given) if _has_atheris() else _unguided(given)
        )


def _has_atheris() -> bool:
    try:
        import atheris  # noqa: F401
    except ImportError:
        print(
            "atheris is not installed here (Linux on x86_64 only): inputs are bent at random, "
            "unguided",
            flush=True,
        )
        return False
    return True


def _files(given: argparse.Namespace) -> int:
    from tests.fuzz import targets

    for file in given.files:
        targets.ALL[given.target](file.read_bytes())
    print(f"{given.target}: {len(given.files)} inputs, no promise broken")
    return 0


def _unguided(given: argparse.Namespace) -> int:
    from tests.fuzz import bend, targets

    rng, seeds, count = (
        random.Random(given.seed or None),
        [one.read_bytes() for one in corpus(given.target)],
        0,
    )
    until = time.monotonic() + given.seconds
    while count < given.runs if given.runs else time.monotonic() < until:
        raw = bend.bent(rng.choice(seeds), rng, LONGEST)
        count += 1
        try:
            targets.ALL[given.target](raw)
        except Exception:
            traceback.print_exc()
            path = (given.cache or Path(tempfile.mkdtemp())) / f"{given.target}-crash-{count}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)
            _say_how(given.target, path)
            return 1
    print(f"{given.target}: {count} inputs, no promise broken")
    return 0


def _say_how(target: str, path: Path) -> None:
    print(
        f"\nrepeat it: script/fuzz {target} {path}\nkeep it:   cp {path} "
        f"tests/fuzz/corpus/{target}/<what-it-is>"
    )


def _guided(given: argparse.Namespace) -> int:
    import atheris

    with atheris.instrument_imports(include=["loopkit"], enable_loader_override=False):
        from tests.fuzz import bend, targets
    target = targets.ALL[given.target]
    cache = given.cache or Path(tempfile.mkdtemp(prefix="loopkit-fuzz-"))
    (cache / given.target).mkdir(parents=True, exist_ok=True)
    count = mmap.mmap(-1, 8)  # shared with the process that fuzzes

    def done() -> int:
        return int.from_bytes(count[:8], "little")

    def one(raw: bytes) -> None:
        count[:8] = (done() + 1).to_bytes(8, "little")
        try:
            target(raw)
        except BaseException:
            path = cache / f"{given.target}-found-{os.getpid()}"
            path.write_bytes(raw)
            print(f"{given.target}: broken after {done()} inputs", flush=True)
            _say_how(given.target, path)
            sys.stdout.flush()
            raise

    def change(raw: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.4:
            return bytes(atheris.Mutate(raw, most))
        return bend.bent(bytes(raw), rng, most)

    options = [
        f"-max_len={LONGEST}", f"-timeout={SLOWEST}", "-rss_limit_mb=4096", "-print_final_stats=0", "-verbosity=0",
        f"-artifact_prefix={cache}/{given.target}-", f"-seed={given.seed}", "-use_value_profile=0", "-len_control=0",
        f"-runs={given.runs}" if given.runs else f"-max_total_time={given.seconds}",
    ]  # fmt: skip
    folders = [str(cache / given.target), str(CORPUS / given.target)]
    atheris.Setup([sys.argv[0], *options, *folders], one, custom_mutator=change)
    child = os.fork()  # libFuzzer ends the process by itself
    if child == 0:
        atheris.Fuzz()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    print(
        f"{given.target}: {done()} inputs, "
        f"{'no promise broken' if code == 0 else f'ended with {code}'}",
        flush=True,
    )
    return 1 if code else 0


def corpus(target: str) -> list[Path]:
    """The inputs in the tree, each a file."""
    return sorted((CORPUS / target).iterdir())


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # libFuzzer's own end is for its process
