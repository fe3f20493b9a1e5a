"""Run one check in an overlay over the project: the first process of namespaces that unshare made.

A program of its own, `inside_overlay.py SPEC`, with the standard library only. All that the check
writes into the project stays in memory and goes with the namespaces; they end with the check, or
when nobody reads its output any longer. The check itself has its own uid in a namespace further
inside, so that it cannot take the overlay away.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Iterable
from typing import IO, BinaryIO

#: What becomes of a changed path: as before the work, an empty file.
START, EMPTY = "start", "empty"
#: Modes of git.
_LINK, _RUN = "120000", "100755"

#: What the report says, a word and sometimes a text: the check was not begun; it was; its program
#: could not be started; there was no room for what it wrote.
REFUSED, BEGUN, NOT_STARTED, FULL = "refused", "begun", "not started", "full"
#: Seconds between two looks at the room that is left, and at who still reads.
_LOOK = 0.2
_MNT_DETACH, _CLONE_NEWUSER = 2, 0x10000000


# -- files


def change(top: str, rows: Iterable[list], what: str, heap: BinaryIO, modes: bool) -> None:
    """Bring files below `top` to how they were before the work, or empty them, with a new time and
    without what Python compiled of them.

    rows: [path, git's mode before the work or "" where there was no such file] · heap: the answers
    of `git cat-file --batch` for those with a mode, in their order · modes: whether git's mode says
    who may run a file. Raises OSError.
    """
    before = {path: _removed(top, path) for path, _ in rows}
    _without_compiled(top, [path for path, _ in rows])
    if what == START:
        _without_empty(top, [path for path, mode in rows if not mode])
    for path, mode in rows:
        full, was = os.path.join(top, path), before[path]
        rights = _rights(was, mode if modes else "")
        if what == EMPTY:
            if not _blocked(top, path) and not os.path.isdir(full):
                _make_folders(top, path)
                _write(full, b"", rights, was)
        elif mode:
            content = _next(heap, path)
            _make_folders(top, path)
            if mode == _LINK:
                os.symlink(content, os.fsencode(full))
            else:
                _write(full, content, rights, was)


def _removed(top: str, path: str) -> os.stat_result | None:
    """Remove a file or link; what it was, where it was a file. Nothing behind a link is touched."""
    full = os.path.join(top, path)
    if _blocked(top, path):
        return None
    try:
        state = os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISDIR(state.st_mode):
        os.unlink(full)
    return state if stat.S_ISREG(state.st_mode) else None


def _blocked(top: str, path: str) -> str:
    """The first of the folders above a path that is a link or a file, or ""."""
    parts = path.split("/")
    for number in range(1, len(parts)):
        folder = "/".join(parts[:number])
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if not stat.S_ISDIR(os.lstat(os.path.join(top, folder)).st_mode):
                return folder
    return ""


def _without_compiled(top: str, paths: list[str]) -> None:
    """Remove what Python has compiled of these modules: its time may agree."""
    modules: dict[str, set[str]] = {}
    for path in paths:
        folder, name = os.path.split(path)
        if name.endswith(".py") and not _blocked(top, path):
            modules.setdefault(os.path.join(top, folder), set()).add(name[:-3])
    for folder, names in modules.items():
        for place in (folder, os.path.join(folder, "__pycache__")):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                for entry in os.listdir(place):
                    if entry.endswith(".pyc") and entry.partition(".")[0] in names:
                        os.unlink(os.path.join(place, entry))


def _without_empty(top: str, paths: list[str]) -> None:
    """Remove folders that have become empty with these files."""
    for folder in {os.path.dirname(path) for path in paths}:
        while folder:
            full = os.path.join(top, folder)
            if _blocked(top, folder) or os.path.islink(full):
                break
            try:
                with contextlib.suppress(OSError):
                    os.rmdir(os.path.join(full, "__pycache__"))
                os.rmdir(full)
            except FileNotFoundError:
                pass
            except OSError:
                break
            folder = os.path.dirname(folder)


def _next(heap: BinaryIO, path: str) -> bytes:
    """The next content in the answers of `git cat-file --batch`."""
    words = heap.readline().split()
    if len(words) != 3:
        raise OSError(errno.ENOENT, "its content before the work is gone", path)
    content = heap.read(int(words[2]) + 1)
    if len(content) != int(words[2]) + 1:
        raise OSError(errno.EIO, "its content before the work is cut short", path)
    return content[:-1]


def _make_folders(top: str, path: str) -> None:
    if blocked := _blocked(top, path):
        raise OSError(errno.ENOTDIR, "a link or a file is in its way", f"{path} ({blocked})")
    os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
    if os.path.isdir(full := os.path.join(top, path)):  # it holds what git does not know
        import shutil

        shutil.rmtree(full)


def _rights(was: os.stat_result | None, mode: str) -> int:
    """The permissions of a new file: those of the one before; who may run it as git says."""
    rights = stat.S_IMODE(was.st_mode) if was else 0o644
    if not mode:
        return rights
    return rights | (rights & 0o444) >> 2 if mode == _RUN else rights & ~0o111


def _write(full: str, content: bytes, rights: int, was: os.stat_result | None) -> None:
    now = time.time()
    file = os.open(full, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(file, view) :]
        os.fchmod(file, rights)
        if was is not None and was.st_mtime >= int(now):  # some compare whole seconds
            os.utime(file, (now, was.st_mtime + 1))
    finally:
        os.close(file)


# -- the namespaces


def _system(function: str, *arguments: object) -> None:
    call = getattr(ctypes.CDLL(None, use_errno=True), function)
    if call(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")


def _cover(size: str) -> int:
    """Mount an overlay over the current folder; gives a descriptor of the memory behind it, which
    lies nowhere in the tree then."""
    place = "/proc"  # a folder that is there and will be there again
    _system("mount", b"tmpfs", place.encode(), b"tmpfs", 0, f"size={size},mode=700".encode())
    upper, work = f"{place}/upper", f"{place}/work"
    os.mkdir(upper)
    os.mkdir(work)
    os.chmod(upper, stat.S_IMODE(os.stat(".").st_mode))
    try:
        os.setxattr(upper, "user.loopkit", b"")
    except OSError:  # a folder that was deleted could not be made again
        raise OSError(errno.ENOTSUP, "the kernel is older than 6.6") from None
    options = f"lowerdir=.,upperdir={upper},workdir={work},userxattr".encode()
    _system("mount", b"overlay", b".", b"overlay", 0, options)
    memory = os.open(place, os.O_RDONLY)
    _system("umount2", place.encode(), _MNT_DETACH)
    return memory


def _is_full(memory: int) -> bool:
    room = os.fstatvfs(memory)
    return room.f_bavail * 100 < room.f_blocks or room.f_favail * 100 < room.f_files


def _begin(facts: dict, report: IO[bytes]) -> int:
    """Start the check, in a session of its own and with the uid that loopkit has; gives its id."""
    child = os.fork()
    if child:
        return child
    word = REFUSED
    code = 126
    try:
        os.setsid()
        _system("unshare", _CLONE_NEWUSER)
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{facts['uid']} 0 1"),
            ("gid_map", f"{facts['gid']} 0 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        report.write(f"{BEGUN}\n".encode())
        word = NOT_STARTED
        if not facts["arguments"]:
            os._exit(0)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        os.environ.pop("LC_CTYPE", None)  # Python sets it where there is no locale
        if facts["locale"] is not None:
            os.environ["LC_CTYPE"] = facts["locale"]
        os.execvp(facts["arguments"][0], facts["arguments"])
    except (OSError, ValueError) as error:
        code = 127 if isinstance(error, FileNotFoundError) else 126
        why = error.strerror if isinstance(error, OSError) else str(error)
        report.write(f"{word}: {why}\n".encode())
    finally:
        os._exit(code)


def _end(child: int, memory: int, report: IO[bytes]) -> int:
    """Wait for the check; gives its exit code. What it leaves running ends with us."""
    reader = select.poll()
    reader.register(1, 0)
    full = False

    def look(*_: object) -> None:
        nonlocal full
        full = full or _is_full(memory)
        if reader.poll(0):  # loopkit is gone
            os._exit(1)

    def end(*_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGTERM)

    signal.signal(signal.SIGALRM, look)
    signal.signal(signal.SIGTERM, end)
    signal.setitimer(signal.ITIMER_REAL, _LOOK, _LOOK)
    ended = 0
    while ended != child:
        ended, status = os.wait()
    look()
    if full:
        report.write(f"{FULL}\n".encode())
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def main(path: str) -> int:
    """path: a file with a line of JSON, and after it the heap of `change`."""
    with open(path, "rb") as spec:
        facts = json.loads(spec.readline())
        report = open(facts["report"], "wb", buffering=0)  # noqa: SIM115  # until the end
        os.unlink(facts["report"])  # only loopkit, which has it open, reads it
        try:
            os.chdir(facts["project"])
            memory = _cover(facts["size"])
            os.chdir(facts["project"])
            change(".", facts["rows"], facts["what"], spec, facts["modes"])
            os.makedirs(facts["folder"], exist_ok=True)
            os.chdir(facts["folder"])
        except OSError as error:
            why = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
            report.write(f"{REFUSED}: {why}\n".encode("utf-8", "replace"))
            return 1
    return _end(_begin(facts, report), memory, report)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
