"""Digests and sizes of files that evidence vouches for, the commit of HEAD; seals of journals."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import stat
from collections.abc import Iterable, Iterator

from . import atomic, journal, place, trust

#: Bytes of a file that are hashed whole; of larger ones size and modification time stand in.
LARGEST = 100_000_000
#: Most files of a folder whose sizes are added.
MOST_FILES = 20_000
#: Bytes of packed branches that are read.
_MOST_PACKED = 1_000_000
#: A commit's id; variables that lead git to another folder than that of the working tree.
_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_LEADING = {
    *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_NAMESPACE"),
    *("GIT_CEILING_DIRECTORIES", "GIT_REF_STORAGE"),
}
#: Folders that are not looked into.
SKIPPED = {".git", ".loop", "__pycache__", "node_modules"}


def of(project: str, path: str) -> str:
    """The digest of a file or of a folder's files, or "". `path`: relative to the project."""
    full = os.path.join(project, path)
    link = _link(full)
    if os.path.isdir(full):
        digest = hashlib.sha256(link.encode())
        for top, folders, names in os.walk(os.path.realpath(full)):
            folders[:] = sorted(set(folders) - SKIPPED)
            for name in sorted(names):
                file = os.path.join(top, name)
                content = (_link(file) + _file(file)).encode()
                digest.update(os.fsencode(os.path.relpath(file, full)) + b"\0" + content + b"\0")
        return digest.hexdigest()[:32]
    return link + _file(full)


def _link(full: str) -> str:
    """What a symbolic link says, as a digest; "" for anything else."""
    try:
        return "link:" + hashlib.sha256(os.fsencode(os.readlink(full))).hexdigest()[:16] + ":"
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return ""


def _file(full: str) -> str:
    """A regular file's content and right to be run; anything else is never opened."""
    try:
        state = os.stat(full)
        if not stat.S_ISREG(state.st_mode):
            return f"special:{stat.S_IFMT(state.st_mode):o}"
        run = "x:" if state.st_mode & stat.S_IXUSR else ""
        if state.st_size > LARGEST:
            return f"{run}large:{state.st_size}:{state.st_mtime_ns}"
        with open(full, "rb") as file:
            return run + hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except (OSError, ValueError):
        return ""


def head(project: str, environment: dict) -> str | None:
    """The commit of HEAD; None without git, without a commit, or in a home folder's repository."""
    tree = place.work_tree(project, environment)
    if tree is None:
        return None
    own = os.path.join(tree, ".git")
    plain = os.path.isdir(own) and _LEADING.isdisjoint(environment)
    if commit := plain and commit_of(own, own):
        return commit
    import subprocess  # a command that only looks does without

    command = ["git", "rev-parse", "--verify", "-q", "HEAD"]
    env = {**environment, "PATH": place.search_path(environment)}
    try:
        done = subprocess.run(
            command, cwd=project, env=env, input=b"", capture_output=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("ascii", "replace").strip() or None if done.returncode == 0 else None


def commit_of(folder: str, common: str) -> str | None:
    """The commit of HEAD as the files of a git folder and of that which its working trees share
    say; None where git has to be asked, since there is none, or it is kept in another way."""
    try:
        if os.stat(folder).st_uid != os.getuid() or not os.path.isdir(os.path.join(common, "refs")):
            return None
        said = _line(os.path.join(folder, "HEAD"))
        if said.startswith("ref: refs/heads/") and ".." not in said:
            said = _branch(common, said[5:])
    except (OSError, ValueError, AttributeError):  # AttributeError: a system without owners
        return None
    return said if _COMMIT.fullmatch(said) else None


def _branch(common: str, name: str) -> str:
    try:
        return _line(os.path.join(common, name))
    except FileNotFoundError:
        with atomic.opened(os.path.join(common, "packed-refs"), _MOST_PACKED) as file:
            before, found, _ = file.read().partition(f" {name}\n".encode())
        return before[before.rfind(b"\n") + 1 :].decode("ascii") if found else ""


def _line(path: str) -> str:
    with atomic.opened(path, 4096) as file:
        return file.read(4096).decode("ascii").rstrip("\n")


def mark(path: str) -> tuple | None:
    """What tells whether a file is still the same; of a folder, whether it is that folder."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    whose = (state.st_dev, state.st_ino)
    return whose if stat.S_ISDIR(state.st_mode) else (*whose, state.st_size, state.st_mtime_ns)


def size(project: str, shape: str, paths: Iterable[str]) -> int:
    """Bytes of the file `shape` and of the files or folders `paths`, relative to the project."""
    files: Iterable[str] = [shape]
    for path in dict.fromkeys(paths):
        full = os.path.join(project, path)
        inner = itertools.islice(_below(full), MOST_FILES) if os.path.isdir(full) else [full]
        files = itertools.chain(files, inner)
    return sum(map(_size, files))


def _below(folder: str) -> Iterator[str]:
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED]
        yield from (os.path.join(top, name) for name in names)


def _size(full: str) -> int:
    try:
        state = os.stat(full)
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return 0
    return state.st_size if stat.S_ISREG(state.st_mode) else 0


# -- what was recorded of checks: one line for each, outside the project


def _vouched_path(token: str) -> str:
    return os.path.join(os.path.dirname(trust.folder()), "evidence", token)


def of_evidence(name: str, command: str, exit_code: int, log: str, content: str) -> str:
    """The digest of what is recorded of a check: whose, command, exit code, log and its digest."""
    row = "\0".join((name, command, str(exit_code), log, content))
    return hashlib.sha256(row.encode("utf-8", "surrogateescape")).hexdigest()


def vouch_evidence(token: str, name: str, command: str, outcome: dict) -> None:
    """Note that loopkit itself has run a check. Without that its evidence is not believed."""
    _vouch(token, of_evidence(name, command, outcome["exit"], outcome["log"], outcome["digest"]))


def of_trial(name: str, when: str, command: str, result: str, code: int | None, log: str) -> str:
    """The digest of what a proof came to when it was put to the trial."""
    return of_evidence(f"{name} {when}", command, code or 0, log, result)


def vouch_trial(token: str, name: str, when: str, command: str, result: str, ran: dict) -> None:
    """Note that loopkit itself has tried a proof. ran: the run's outcome, {} where it was none."""
    _vouch(token, of_trial(name, when, command, result, ran.get("exit"), ran.get("log", "")))


def _vouch(token: str, line: str) -> None:
    if trust.is_token(token):
        path = _vouched_path(token)
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            atomic.append(path, line.encode() + b"\n", sync=False, bits=0o600)


def vouched_evidence(token: str) -> frozenset[str]:
    """The digests of what loopkit has recorded of a loop's checks."""
    try:
        raw = atomic.read(_vouched_path(token), journal.LARGEST) if trust.is_token(token) else b""
    except OSError:
        return frozenset()
    return frozenset(raw.decode("ascii", "replace").split())


# -- seals of journals: how far commands have seen one, and its digest up to there, so that a line
# which is changed or removed later is noticed: `<offset> <digest>`. A digest is that of the one
# before and the next line, so a command reads only what is new; lines of hooks, which write without
# a lock, are sealed by the next command. It tells of careless changes: it is no proof against
# somebody who can write there.


def seals() -> str:
    """Where the seals lie, each under its loop's token."""
    return os.path.join(os.path.dirname(trust.folder()), "seals")


def _seal_path(token: str) -> str:
    return os.path.join(seals(), token)


def _sealed(token: str) -> tuple[int, str] | None:
    try:
        offset, digest = atomic.read(_seal_path(token), 200).decode("ascii").split()
        return int(offset), digest
    except (OSError, ValueError):
        return None


def _digest(lines: list[bytes], digest: str = "") -> str:
    for line in lines:
        digest = hashlib.sha256(digest.encode() + line).hexdigest()
    return digest


def seal(token: str, ledger: str) -> None:
    """Seal what a journal holds by now; one that became shorter keeps its seal. No fault where that
    cannot be done: then the next command does it. The caller holds the writing lock."""
    offset, digest = _sealed(token) or (0, "")
    with contextlib.suppress(OSError), atomic.opened(ledger, journal.LARGEST) as file:
        file.seek(offset)
        new = file.read()
        new = new[: new.rfind(b"\n") + 1]
        if new and trust.is_token(token):
            os.makedirs(seals(), mode=0o700, exist_ok=True)
            digest = _digest(new.splitlines(keepends=True), digest)
            atomic.write(_seal_path(token), f"{offset + len(new)} {digest}\n".encode())


def seal_broken(token: str, ledger: str) -> bool:
    """Whether a journal is another one than was sealed, if one was. Raises OSError."""
    sealed = _sealed(token) if trust.is_token(token) else None
    if sealed is None:
        return False
    with atomic.opened(ledger, journal.LARGEST) as file:
        raw = file.read(sealed[0])
    return len(raw) < sealed[0] or _digest(raw.splitlines(keepends=True)) != sealed[1]
