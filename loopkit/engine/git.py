"""Calls of git that ask nobody, run no program of somebody's and end in time; where a project's
repository is."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

from ..core.journal.errors import Damaged, Refused
from ..store import place
from . import process


class Repository(namedtuple("Repository", "top folder common head part")):
    """Where a project's repository is: root of the working tree, its git folder, the folder that
    all working trees share, the commit that HEAD names or None; the part of it that is the project,
    relative to the root, "" for the whole."""

    __slots__ = ()

    @property
    def project(self) -> str:
        """The folder of the project."""
        return os.path.join(self.top, self.part) if self.part else self.top

    @property
    def prefix(self) -> str:
        """What paths of the project begin with in the repository."""
        return self.part + "/" if self.part else ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The words that keep a call of git to the project."""
        return ("--", f":(top,literal){self.part}") if self.part else ()


#: Seconds that one call of git may take, and one that reads or hashes many files.
SECONDS, LONG_SECONDS = 60.0, 300.0
#: Nothing of git's that runs programs, waits for somebody or writes what was not asked for.
_QUIET = (
    "--no-pager",
    "--no-optional-locks",
    "--no-replace-objects",
    *("-c", "core.hooksPath=" + os.devnull),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.logAllRefUpdates=false"),
    *("-c", "gc.auto=0"),
    *("-c", "credential.helper="),
    *("-c", "protocol.allow=never"),
)
#: What makes a repository where a project has none of its own.
ALONE = "git init here makes checkpoints possible"
_NOBODY = ("loopkit", "loopkit@localhost")
#: An object's id.
_ID = re.compile(rb"[0-9a-f]{40}|[0-9a-f]{64}")
#: Names of operations in progress, and the file or folder that git keeps meanwhile.
_UNDER_WAY = (
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
)


class Unavailable(Refused):
    """There is no repository with working files here, or no git: no checkpoint can be made. Exit
    1."""


class GitFault(Damaged):
    """git said no to something that has to work. Exit 3."""


class Late(GitFault):
    """git did not end in time. Exit 3."""


def git(
    project: str,
    *arguments: str,
    environment: dict[str, str],
    given: bytes = b"",
    seconds: float | None = None,
    answers: tuple = (0,),
    output: Any = subprocess.PIPE,
) -> bytes:
    """What `git arguments…` prints in `project`, with nothing that could prompt or run a program of
    somebody's.

    given: its standard input · seconds: a time limit, SECONDS unless given; then its whole process
    group is ended · answers: exit codes that are no fault · output: a file that takes what it
    prints.

    Raises Unavailable without git, Late out of time, GitFault where it fails.
    """
    return call(project, arguments, surroundings(environment), given, seconds, answers, output)


def call(
    folder: str,
    arguments: tuple,
    environment: dict[str, str],
    given: bytes = b"",
    seconds: float | None = None,
    answers: tuple = (0,),
    output: Any = subprocess.PIPE,
) -> bytes:
    """The same in a folder and in surroundings that are given whole, such as a workshop's."""
    with Call(folder, arguments, environment, given, seconds, output) as begun:
        return begun.end(answers)


class Call:
    """One call of git, begun; whatever is still running when it is left is ended with its whole
    group."""

    def __init__(
        self,
        folder: str,
        arguments: tuple,
        environment: dict[str, str],
        given: bytes = b"",
        seconds: float | None = None,
        output: Any = subprocess.PIPE,
    ) -> None:
        self.folder, self.said = folder, f"git {arguments[0]}"
        self.limit = SECONDS if seconds is None else seconds
        try:
            with _source(given) as source:
                self.child = subprocess.Popen(
                    ["git", *_QUIET, *arguments],
                    cwd=folder,
                    env=environment,
                    stdin=source,
                    stdout=output,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
        except FileNotFoundError:
            if not os.path.isdir(folder):
                raise Unavailable(f"there is no folder {folder}") from None
            raise Unavailable(
                "checkpoints need git, and none is found", "install git to have them"
            ) from None
        except OSError as error:
            raise GitFault(
                f"cannot start git in {folder}: {error.strerror}",
                "make room, or see loopkit doctor",
            ) from None

    def __enter__(self) -> Call:
        return self

    def __exit__(self, *given: object) -> None:
        if self.child.poll() is None:
            process.end_group(self.child, 1.0)
        for pipe in (self.child.stdout, self.child.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def end(self, answers: tuple = (0,)) -> bytes:
        """What it printed, once it has ended. Raises Late, GitFault for an exit code that is none
        of `answers`."""
        try:
            out, err = self.child.communicate(None, self.limit)
        except subprocess.TimeoutExpired:
            raise Late(
                f"{self.said} did not end within {self.limit:g} s and was stopped",
                f"try it in {self.folder}",
            ) from None
        if self.child.returncode not in answers:
            first = next(
                (row for row in err.decode("utf-8", "replace").splitlines() if row.strip()),
                "no word why",
            )
            raise GitFault(
                f"{self.said} fails in {self.folder}: {first[:300]}", "see git status there"
            )
        return out or b""


@contextlib.contextmanager
def _source(given: bytes) -> Iterator[Any]:
    """Standard input: nothing, or a file, since much would pass slowly through a pipe and could get
    stuck in it."""
    if not given:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        yield file


#: What of git's variables says how a repository is found.
_KEPT = frozenset(("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH"))


def surroundings(environment: dict[str, str], settings: bool = True) -> dict[str, str]:
    """An environment in which git speaks English, asks nobody, signs as us and takes no folder from
    whoever runs us.

    settings: with those that the environment itself gives to git.
    """
    kept = {
        name: value
        for name, value in environment.items()
        if not name.startswith("GIT_")
        or name in _KEPT
        or settings
        and name.startswith("GIT_CONFIG")
    }
    author, mail = _NOBODY
    return kept | {
        "GIT_AUTHOR_NAME": author,
        "GIT_AUTHOR_EMAIL": mail,
        "GIT_COMMITTER_NAME": author,
        "GIT_COMMITTER_EMAIL": mail,
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
    }


def repository(project: str, environment: dict[str, str]) -> Repository:
    """The repository whose working tree holds `project`. Raises Unavailable with the reason,
    GitFault, Late.

    One that begins in the home folder or above it is none of a project's: it would reach over
    everything the person has.
    """
    here = os.path.realpath(project)
    asked = (
        "--is-inside-work-tree",
        "--is-bare-repository",
        "--show-cdup",
        "--absolute-git-dir",
        "--git-common-dir",
    )
    commit = ("--revs-only", "HEAD^{commit}")
    said = git(here, "rev-parse", *asked, *commit, environment=environment, answers=(0, 128))
    rows = said.split(b"\n")[:-1]
    if len(rows) < 3 or rows[0] != b"true":
        raise _none(here, rows, environment)
    commits = [row for row in rows[len(asked) :] if _ID.fullmatch(row)]
    if (
        len(rows) != len(asked) + len(commits) or len(commits) > 1
    ):  # a line break in one of the names
        rows[2:] = [git(here, "rev-parse", one, environment=environment)[:-1] for one in asked[2:]]
        rows += git(here, "rev-parse", *commit, environment=environment).split(b"\n")[:-1]
    up, folder, common = (os.fsdecode(one) for one in rows[2:5])
    top = os.path.normpath(os.path.join(here, up))
    if place.out_of_reach(top, environment):
        raise Unavailable(
            f"the only repository above {here} is {top}, which holds much more than the project",
            ALONE,
        )
    head = rows[5].decode("ascii", "replace") if len(rows) > 5 else None
    part = "" if here == top else os.path.relpath(here, top)
    return Repository(top, folder, os.path.normpath(os.path.join(here, common)), head, part)


def _none(here: str, rows: list[bytes], environment: dict[str, str]) -> Unavailable:
    if len(rows) > 1 and rows[1] == b"true":
        return Unavailable(
            f"{here} is a bare repository, without working files", "checkpoints are not available"
        )
    if rows:
        return Unavailable(f"{here} lies inside a git folder", "checkpoints are not available")
    try:
        git(here, "rev-parse", "--git-dir", environment=environment)
    except GitFault as error:
        if "not a git repository (or any" not in error.what:
            return Unavailable(error.what, "checkpoints are not available")
    return Unavailable(f"{here} is in no git repository", ALONE)


def head(project: str, environment: dict[str, str]) -> str | None:
    """The commit that HEAD names; None where there is none yet."""
    return repository(project, environment).head


def under_way(found: Repository) -> str | None:
    """What the person has begun in the repository and not ended, such as `a merge`; None if
    nothing."""
    for name, what in _UNDER_WAY:
        if os.path.lexists(os.path.join(found.folder, name)):
            return what
    return None


def place_of(found: Repository) -> str:
    """Which of the repository's working trees it is, "." for the main one, and whether the project
    is a part of it: a part that is renamed is the same project."""
    tree = os.path.relpath(os.path.realpath(found.folder), os.path.realpath(found.common))
    return f"{tree}:part" if found.part else tree
