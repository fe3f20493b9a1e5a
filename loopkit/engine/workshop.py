"""A git folder of our own for a moment: a repository's objects and a copy of its index, none of its
settings.

So no filter, hook, helper or monitor runs in it, nothing prompts, and a file's bytes are its own,
whatever conversions the repository asks for.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator

from . import git

#: What the names of our folders in the person's git folder begin with.
PREFIX = "loopkit-"
#: Settings of the repository that a tree depends on; none of them runs anything in our hands.
_SETTINGS = (
    r"^(core\.(filemode|symlinks|ignorecase|precomposeunicode|sharedrepository|excludesfile)"
    r"|extensions\.objectformat|filter\..*\.(clean|process))$"
)
#: Seconds after which a workshop was left behind by a process that died.
_LEFT_BEHIND = 3600


class Workshop:
    """`run("write-tree")` calls git with a git folder of ours, `folder`, for a working tree,
    `top`."""

    def __init__(self, folder: str, top: str, environment: dict[str, str]) -> None:
        self.folder, self.top, self.environment = folder, top, environment

    def __call__(
        self,
        *arguments: str,
        given: bytes = b"",
        seconds: float | None = None,
        answers: tuple = (0,),
    ) -> bytes:
        return git.call(self.top, arguments, self.environment, given, seconds, answers)

    def begun(self, *arguments: str) -> git.Call:
        """A call that has begun."""
        return git.Call(self.top, arguments, self.environment)


@contextlib.contextmanager
def workshop(
    place: git.Repository, environment: dict[str, str], settings: dict[str, str] | None = None
) -> Iterator[Workshop]:
    """`git` in a git folder of our own: the repository's objects, a copy of its index, nothing else
    of it."""
    sweep(place.folder)
    with tempfile.TemporaryDirectory(
        prefix=PREFIX, dir=place.folder, ignore_cleanup_errors=True
    ) as own:
        for name in ("refs", "info"):
            os.mkdir(os.path.join(own, name))
        _write(own, "HEAD", "ref: refs/heads/none\n")
        _write(
            own, "config", _config(place, environment, settings or settings_of(place, environment))
        )
        _write(own, "info/attributes", "* -text -ident -filter !eol !crlf !working-tree-encoding\n")
        with contextlib.suppress(OSError):
            shutil.copyfile(
                os.path.join(place.common, "info", "exclude"), os.path.join(own, "info", "exclude")
            )
        with os.scandir(place.folder) as found:
            for one in found:
                if one.name.startswith("sharedindex."):
                    os.symlink(one.path, os.path.join(own, one.name))
        with contextlib.suppress(FileNotFoundError):  # nothing was ever added: there is no index
            # copy2 keeps its time: an entry as young as the index is looked at closely
            shutil.copy2(os.path.join(place.folder, "index"), os.path.join(own, "index"))
        surroundings = git.surroundings(environment, settings=False) | {
            "HOME": own,
            "XDG_CONFIG_HOME": own,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_DIR": own,
            "GIT_WORK_TREE": place.top,
            "GIT_INDEX_FILE": os.path.join(own, "index"),
            "GIT_OBJECT_DIRECTORY": os.path.join(place.common, "objects"),
        }

        yield Workshop(own, place.top, surroundings)


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def settings_of(place: git.Repository, environment: dict[str, str]) -> dict[str, str]:
    """The repository's settings that _SETTINGS names."""
    said = git.git(
        place.top,
        "config",
        "-z",
        "--get-regexp",
        _SETTINGS,
        environment=environment,
        answers=(0, 1),
    )
    rows = (os.fsdecode(row).partition("\n") for row in said.split(b"\0")[:-1])
    return {name: value if given else "true" for name, given, value in rows}


def _config(place: git.Repository, environment: dict[str, str], settings: dict[str, str]) -> str:
    """The settings of our git folder: those of the repository that say what a file is here, and
    what is ignored."""
    rows = {name: value for name, value in settings.items() if name.startswith("core.")}
    kind, ignored = settings.get("extensions.objectformat"), rows.pop("core.excludesfile", None)
    if ignored is None:
        base = environment.get("XDG_CONFIG_HOME") or os.path.join(
            environment.get("HOME", ""), ".config"
        )
        ignored = os.path.join(base, "git", "ignore")
    elif ignored.startswith("~/"):
        ignored = os.path.join(environment.get("HOME", ""), ignored[2:])
    elif ignored.startswith("~"):
        ignored = os.path.expanduser(ignored)
    if not os.path.exists(
        os.path.join(place.folder, "hEAD")
    ):  # a setting that came along from another system
        rows.pop("core.ignorecase", None)
    rows |= {
        "core.excludesfile": ignored and os.path.join(place.top, ignored),
        "core.bare": "false",
        "core.untrackedcache": "false",
    }
    lines = ["[core]", f"repositoryformatversion = {1 if kind else 0}"]
    lines += [f"{name[5:]} = {_quoted(value)}" for name, value in rows.items()]
    if kind:
        lines += ["[extensions]", f"objectFormat = {_quoted(kind)}"]
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        value = value.replace(plain, escaped)
    return f'"{value}"'


def sweep(folder: str) -> None:
    """Remove what a process that died left in a git folder."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if (
                name.startswith(PREFIX)
                and abs(time.time() - os.lstat(path).st_mtime) > _LEFT_BEHIND
            ):
                shutil.rmtree(path, ignore_errors=True)
