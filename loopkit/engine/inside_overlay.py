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

#: What is where a folder should be: one, nothing, a link or a file.
_REAL, _MISSING, _BLOCKED = "real", "missing", "blocked"


class Change:
    """Brings files below a folder to how they were before the work, or empties them; they get a new
    time, and what Python has compiled of them goes. Nothing behind a link is touched.

    rows: [path, git's mode before the work or "" where there was no such file] · what: START or
    EMPTY · modes: whether git's mode says who may run a file.
    """

    def __init__(self, top: str, rows: list[list[str]], what: str, modes: bool) -> None:
        self.top, self.rows, self.what, self.modes = top + "/", rows, what, modes
        self.kinds = {"": _REAL}
        self.made = {""}
        #: (path, mode, content, or None for no file) of what `late` does.
        self.left: list[tuple[str, str, bytes | None]] = []

    def early(self, heap: BinaryIO, place: str) -> None:
        """Write to `place` what is a file and stays one; most are. place: the folder itself, or an
        empty one that covers it from now on · heap: the answers of `git cat-file --batch` for the
        rows with a mode, in their order. Raises OSError."""
        for path, mode in self.rows:
            content: bytes | None = b""
            if self.what == START:
                content = blob(heap, path) if mode else None
            was = self._file(path)
            if content is None or was is None or self._is_link(mode):
                self.left.append((path, mode, content))
                continue
            full = f"{place}/{path}"
            if full == self.top + path:
                os.unlink(full)
            else:
                self._make_same(place, os.path.dirname(path))
            _write(full, content, _rights(was, mode if self.modes else ""), was)

    def late(self) -> None:
        """Do the rest. Raises OSError."""
        self.kinds = {"": _REAL}
        for path, _, _ in self.left:
            self._clear(path)
        self._drop_compiled()
        self._drop_empty(
            {os.path.dirname(path) for path, _, content in self.left if content is None}
        )
        for path, mode, content in self.left:
            if content is not None and self._has_room(path):
                full = self.top + path
                if self._is_link(mode):
                    os.symlink(content, os.fsencode(full))
                else:
                    _write(full, content, _rights(None, mode if self.modes else ""))
                self._forget(path)

    def _is_link(self, mode: str) -> bool:
        return mode == _LINK and self.what == START

    def _kind(self, folder: str) -> str:
        """_REAL, _MISSING or _BLOCKED, which all above it has a say in."""
        if folder not in self.kinds:
            kind = self._kind(os.path.dirname(folder))
            if kind == _REAL:
                try:
                    real = stat.S_ISDIR(os.lstat(self.top + folder).st_mode)
                    kind = _REAL if real else _BLOCKED
                except FileNotFoundError:
                    kind = _MISSING
            self.kinds[folder] = kind
        return self.kinds[folder]

    def _forget(self, path: str) -> None:
        """Something else is at this path now."""
        if path in self.kinds:
            self.kinds = {"": _REAL}

    def _file(self, path: str) -> os.stat_result | None:
        """The state of an ordinary file, None where there is none."""
        if self._kind(os.path.dirname(path)) == _REAL:
            with contextlib.suppress(FileNotFoundError):
                state = os.lstat(self.top + path)
                return state if stat.S_ISREG(state.st_mode) else None
        return None

    def _make_same(self, place: str, folder: str) -> None:
        """Make a folder and those above it below `place`, with the permissions that they have."""
        if folder not in self.made:
            self._make_same(place, os.path.dirname(folder))
            os.mkdir(f"{place}/{folder}")
            os.chmod(f"{place}/{folder}", stat.S_IMODE(os.lstat(self.top + folder).st_mode))
            self.made.add(folder)

    def _clear(self, path: str) -> None:
        """Remove what is at a path, except a folder."""
        if self._kind(os.path.dirname(path)) == _REAL and not self._is_folder(path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.top + path)
                self._forget(path)

    def _is_folder(self, path: str) -> bool:
        return os.path.isdir(self.top + path) and not os.path.islink(self.top + path)

    def _drop_compiled(self) -> None:
        """Remove what Python has compiled of these modules: its time may agree."""
        modules: dict[str, set[str]] = {}
        for path, _ in self.rows:
            folder, _, name = path.rpartition("/")
            if name.endswith(".py") and self._kind(folder) == _REAL:
                modules.setdefault(folder, set()).add(name[:-3])
        for folder, names in modules.items():
            for place in (folder, f"{folder}/__pycache__".lstrip("/")):
                for entry in os.listdir(self.top + place) if self._kind(place) == _REAL else ():
                    if entry.endswith(".pyc") and entry.partition(".")[0] in names:
                        os.unlink(f"{self.top}{place}/{entry}")

    def _drop_empty(self, folders: set[str]) -> None:
        """Remove folders that hold no file any more, and those above."""
        for folder in folders:
            while folder and self._kind(folder) != _BLOCKED:
                with contextlib.suppress(OSError):
                    os.rmdir(f"{self.top}{folder}/__pycache__")
                try:
                    os.rmdir(self.top + folder)
                except FileNotFoundError:
                    pass
                except OSError:
                    break
                folder = os.path.dirname(folder)
        self.kinds = {"": _REAL}

    def _has_room(self, path: str) -> bool:
        """Make the folders above a path, and remove one in its place: git knows nothing in it.
        Where something is in the way, it is not to be emptied."""
        folder = os.path.dirname(path)
        kind, taken = self._kind(folder), self._is_folder(path)
        if self.what == EMPTY and (kind == _BLOCKED or taken):
            return False
        if kind == _BLOCKED:
            raise OSError(errno.ENOTDIR, "a link or a file is in its way", path)
        if kind == _MISSING:
            os.makedirs(self.top + folder)
            self.kinds = {"": _REAL}
        if taken:
            import shutil

            shutil.rmtree(self.top + path)
        return True


def blob(heap: BinaryIO, path: str) -> bytes:
    """The next content in the answers of `git cat-file --batch`."""
    words = heap.readline().split()
    content = heap.read(int(words[2]) + 1)[:-1] if len(words) == 3 else b""
    if len(words) != 3 or len(content) != int(words[2]):
        raise OSError(errno.ENOENT, "its content before the work is gone", path)
    return content


def _rights(was: os.stat_result | None, mode: str) -> int:
    """The permissions of a file: those it has; who may run it as git says."""
    rights = stat.S_IMODE(was.st_mode) if was else 0o644
    if not mode:
        return rights
    return rights | (rights & 0o444) >> 2 if mode == _RUN else rights & ~0o111


def _write(full: str, content: bytes, rights: int, was: os.stat_result | None = None) -> None:
    """was: the state of the file that was there."""
    file = os.open(full, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(file, view) :]
        os.fchmod(file, rights)
        if was is not None and was.st_mtime >= int(now := time.time()):
            os.utime(file, (now, was.st_mtime + 1))  # some compare whole seconds
    finally:
        os.close(file)


# -- the namespaces


def _system(function: str, *arguments: object) -> None:
    call = getattr(ctypes.CDLL(None, use_errno=True), function)
    if call(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")


#: A folder that is there, and will be there again.
_PLACE = "/proc"
_UPPER, _WORK = f"{_PLACE}/upper", f"{_PLACE}/work"


def _make_layers(size: str) -> int:
    """Make in memory what an overlay over the current folder needs; gives a descriptor of it."""
    _system("mount", b"tmpfs", _PLACE.encode(), b"tmpfs", 0, f"size={size},mode=700".encode())
    os.mkdir(_UPPER)
    os.mkdir(_WORK)
    os.chmod(_UPPER, stat.S_IMODE(os.stat(".").st_mode))
    try:
        os.setxattr(_UPPER, "user.loopkit", b"")
    except OSError:  # a folder that was deleted could not be made again
        raise OSError(errno.ENOTSUP, "the kernel is older than 6.6") from None
    return os.open(_PLACE, os.O_RDONLY)


def _cover() -> None:
    """Mount the overlay over the current folder; its layers lie nowhere in the tree then."""
    options = f"lowerdir=.,upperdir={_UPPER},workdir={_WORK},userxattr".encode()
    _system("mount", b"overlay", b".", b"overlay", 0, options)
    _system("umount2", _PLACE.encode(), _MNT_DETACH)


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
    """path: a file with a line of JSON, and after it the heap of `Change.early`."""
    with open(path, "rb") as spec:
        facts = json.loads(spec.readline())
        report = open(facts["report"], "wb", buffering=0)  # noqa: SIM115  # until the end
        os.unlink(facts["report"])  # only loopkit, which has it open, reads it
        try:
            os.chdir(facts["project"])
            memory = _make_layers(facts["size"])
            change = Change(".", facts["rows"], facts["what"], facts["modes"])
            change.early(spec, _UPPER)
            _cover()
            os.chdir(facts["project"])
            change.late()
            os.makedirs(facts["folder"], exist_ok=True)
            os.chdir(facts["folder"])
        except OSError as error:
            why = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
            report.write(f"{REFUSED}: {why}\n".encode("utf-8", "replace"))
            return 1
    return _end(_begin(facts, report), memory, report)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
