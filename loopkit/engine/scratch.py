"""A scratch repository: a git folder of our own for a moment, with the objects of a repository and
a copy of its index, but none of its settings.

So no filter, hook, helper or monitor runs in it, nothing prompts, and a file's bytes are its own,
whatever conversions the repository asks for.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import struct
import tempfile
import time
import zlib
from collections.abc import Iterator
from typing import Any

from . import git

#: What the names of our folders in the person's git folder begin with.
PREFIX = "loopkit-"
#: The mode of a path that an index does not hold.
NOTHING = "000000"
#: Settings of the repository that a tree depends on; none of them runs anything in our hands.
_SETTINGS = (
    r"^(core\.(filemode|symlinks|ignorecase|precomposeunicode|sharedrepository|excludesfile)"
    r"|extensions\.objectformat|filter\..*\.(clean|process))$"
)
_ATTRIBUTES = "* -text -ident -filter !eol !crlf !working-tree-encoding\n"
#: Seconds after which a scratch repository was left behind by a process that died.
_LEFT_BEHIND = 3600


class Scratch:
    """`run("write-tree")` calls git with the scratch folder `folder` and the working tree `top`."""

    def __init__(self, folder: str, top: str, env: dict) -> None:
        self.folder, self.top, self.env = folder, top, env

    def __call__(self, command: str, *arguments: str, **options: Any) -> bytes:
        return git.call(self.top, (*command.split(), *arguments), self.env, **options)

    def begun(self, command: str, *arguments: str) -> git.Call:
        """A call that is running."""
        return git.Call(self.top, (*command.split(), *arguments), self.env)

    def look_from(self, tree: str) -> None:
        """Have HEAD be a commit of that tree. Only where nothing is kept."""
        content = f"tree {tree}\nauthor - <-> 0 +0000\ncommitter - <-> 0 +0000\n\n".encode()
        whole = b"commit %d\0" % len(content) + content
        name = _digest(whole, tree).hex()
        os.mkdir(os.path.join(self.folder, "objects", name[:2]))
        with open(os.path.join(self.folder, "objects", name[:2], name[2:]), "wb") as file:
            file.write(zlib.compress(whole))
        _write(self.folder, "HEAD", name + "\n")

    def holding(self, entries: dict[bytes, tuple[str, str]]) -> Scratch:
        """The same with another index. entries: {path: (mode, object id)} of all that it holds."""
        path = os.path.join(self.folder, "few")
        rows = [(name, *entry) for name, entry in sorted(entries.items()) if entry[0] != NOTHING]
        if rows:  # else there is none
            with open(path, "wb") as file:
                file.write(_index(rows))
        return Scratch(self.folder, self.top, self.env | {"GIT_INDEX_FILE": path})


def _index(rows: list[tuple[bytes, str, str]]) -> bytes:
    """An index in git's version 2, in which no entry has times: files are read. rows: (path, mode,
    object id), ordered."""
    parts = [struct.pack(">4sII", b"DIRC", 2, len(rows))]
    for path, mode, object_id in rows:
        entry = struct.pack(">24xI12x", int(mode, 8)) + bytes.fromhex(object_id)
        entry += struct.pack(">H", min(len(path), 0xFFF)) + path
        parts += entry, bytes(8 - len(entry) % 8)
    whole = b"".join(parts)
    return whole + _digest(whole, rows[0][2])


def _digest(content: bytes, like: str) -> bytes:
    """The digest of the kind that another object's id is."""
    kind = "sha1" if len(like) == 40 else "sha256"
    return hashlib.new(kind, content, usedforsecurity=False).digest()


@contextlib.contextmanager
def scratch(
    repo: git.Repository, env: dict, settings: dict | None = None, keeps: bool = True
) -> Iterator[Scratch]:
    """A scratch repository; settings: those of `settings_of`, where they are known · keeps: what is
    written goes to the repository's objects, else it is gone with the folder."""
    objects = os.path.join(repo.common, "objects")
    with stage(repo) as own:
        for name in ("refs", "info", "objects"):
            os.mkdir(os.path.join(own, name))
        _write(own, "HEAD", f"{repo.head or 'ref: refs/heads/none'}\n")
        _write(own, "config", _config(repo, env, settings or settings_of(repo, env), keeps))
        _write(own, "info/attributes", _ATTRIBUTES)
        with contextlib.suppress(OSError):
            exclude = os.path.join("info", "exclude")
            shutil.copyfile(os.path.join(repo.common, exclude), os.path.join(own, exclude))
        for name in os.listdir(repo.folder):
            if name.startswith("sharedindex."):
                os.symlink(os.path.join(repo.folder, name), os.path.join(own, name))
        with contextlib.suppress(FileNotFoundError):  # nothing was ever added: there is no index
            # copy2 keeps its time: an entry as young as the index is looked at closely
            shutil.copy2(os.path.join(repo.folder, "index"), os.path.join(own, "index"))
        variables = git.isolated(env, settings=False) | {
            "HOME": own,
            "XDG_CONFIG_HOME": own,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_DIR": own,
            "GIT_WORK_TREE": repo.top,
            "GIT_INDEX_FILE": os.path.join(own, "index"),
            "GIT_OBJECT_DIRECTORY": objects if keeps else os.path.join(own, "objects"),
        }
        if not keeps:
            variables["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = _quoted(objects)
        yield Scratch(own, repo.top, variables)


@contextlib.contextmanager
def stage(repo: git.Repository) -> Iterator[str]:
    """An empty folder in the git folder."""
    with folder_of_ours(repo.folder, PREFIX) as folder:
        yield folder


@contextlib.contextmanager
def folder_of_ours(place: str, prefix: str) -> Iterator[str]:
    """An empty folder; what a process that died left there under this prefix is removed first."""
    with contextlib.suppress(OSError):
        for name in os.listdir(place):
            if name.startswith(prefix):
                path = os.path.join(place, name)
                if abs(time.time() - os.lstat(path).st_mtime) > _LEFT_BEHIND:
                    shutil.rmtree(path, ignore_errors=True)
    with tempfile.TemporaryDirectory("", prefix, place, ignore_cleanup_errors=True) as folder:
        yield folder


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def settings_of(repo: git.Repository, env: dict) -> dict[str, str]:
    """The repository's settings that _SETTINGS names."""
    question = ("settings", repo.top, repo.folder)

    def ask() -> bytes:
        return git.git(repo.top, env, "config -z --get-regexp", _SETTINGS, answers=(0, 1))

    home = env.get("HOME", "")
    person = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    own = [os.path.join(home, ".gitconfig"), os.path.join(person, "git", "config")]
    output = git.once(env, question, lambda _: [*git.settings_files(repo), *own], ask)
    rows = (os.fsdecode(row).partition("\n") for row in output.split(b"\0")[:-1])
    return {name: value if given else "true" for name, given, value in rows}


def _config(repo: git.Repository, env: dict, settings: dict[str, str], keeps: bool) -> str:
    """The scratch repository's config: what a file is here, and what is ignored."""
    rows = {name: value for name, value in settings.items() if name.startswith("core.")}
    kind, ignored = settings.get("extensions.objectformat"), rows.pop("core.excludesfile", None)
    home = env.get("HOME", "")
    if ignored is None:
        base = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        ignored = os.path.join(base, "git", "ignore")
    elif ignored.startswith("~/"):
        ignored = os.path.join(home, ignored[2:])
    elif ignored.startswith("~"):
        ignored = os.path.expanduser(ignored)
    if not os.path.exists(os.path.join(repo.folder, "hEAD")):  # the setting of another system
        rows.pop("core.ignorecase", None)
    rows |= {
        "core.excludesfile": ignored and os.path.join(repo.top, ignored),
        "core.bare": "false",
        "core.untrackedcache": "false",
    }
    if not keeps:
        rows["core.fsync"] = "none"
    lines = ["[core]", f"repositoryformatversion = {1 if kind else 0}"]
    lines += [f"{name[5:]} = {_quoted(value)}" for name, value in rows.items()]
    if kind:
        lines += ["[extensions]", f"objectFormat = {_quoted(kind)}"]
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        value = value.replace(plain, escaped)
    return f'"{value}"'
