"""Run git without prompts, foreign programs or endless waits; find a project's repository."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..core.journal.errors import Damaged, Refused
from ..store import digest, place
from . import process


class Repository(namedtuple("Repository", "top folder common head part")):
    """top: root of the working tree · folder: its git folder · common: the git folder that all its
    working trees share · head: the commit of HEAD or None · part: the project relative to top, ""
    for all of it."""

    __slots__ = ()

    @property
    def project(self) -> str:
        return os.path.join(self.top, self.part) if self.part else self.top

    @property
    def prefix(self) -> str:
        """What paths of the project begin with in the repository."""
        return self.part + "/" if self.part else ""

    @property
    def paths(self) -> tuple[str, ...]:
        """Arguments that limit a call of git to the project."""
        return ("--", f":(top,literal){self.part}") if self.part else ()


#: Seconds that one call of git may take, and one that reads or hashes many files.
SECONDS, LONG_SECONDS = 60.0, 300.0
#: Options that keep git from running programs, waiting and writing more than was asked for.
_QUIET = (
    *("--no-pager", "--no-optional-locks", "--no-replace-objects"),
    *("-c", "core.hooksPath=" + os.devnull),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.logAllRefUpdates=false"),
    *("-c", "gc.auto=0"),
    *("-c", "credential.helper="),
    *("-c", "protocol.allow=never"),
)
#: What makes a repository where a project has none of its own.
ALONE = "git init here makes checkpoints possible"
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
    """There is no repository with working files, or no git. Exit 1."""


class GitFault(Damaged):
    """git failed at something that has to work. Exit 3."""


class Late(GitFault):
    """git did not end in time. Exit 3."""


def git(project: str, env: dict, command: str, *arguments: str, **options: Any) -> bytes:
    """What git prints in `project`, isolated from prompts, hooks and the caller's git variables.
    command: subcommand and options, split at blanks · arguments: taken as they are · options: of
    `call`. Raises Unavailable without git, Late out of time, GitFault where it fails."""
    return call(project, (*command.split(), *arguments), isolated(env), **options)


def call(folder: str, arguments: tuple, env: dict, answers: tuple = (0,), **options: Any) -> bytes:
    """The same with all arguments and an environment that is used as it is. answers: exit codes
    that are not a failure · options: of `Call`."""
    with Call(folder, arguments, env, **options) as begun:
        return begun.end(answers)


def word(output: bytes) -> str:
    """One line that git printed, such as an object id."""
    return output.decode("ascii", "replace").strip()


def paths(output: bytes) -> list[str]:
    """The paths in a list that git ended with NULs."""
    return [os.fsdecode(path) for path in output.split(b"\0") if path]


class Call:
    """A running git; leaving the context ends its process group. given: standard input · seconds:
    time limit, SECONDS by default · output: a file for what it prints."""

    def __init__(
        self,
        folder: str,
        arguments: tuple,
        env: dict,
        given: bytes = b"",
        seconds: float | None = None,
        output: Any = subprocess.PIPE,
    ) -> None:
        self.folder, self.name = folder, f"git {arguments[0]}"
        self.limit = SECONDS if seconds is None else seconds
        try:
            with _source(given) as source:
                self.child = subprocess.Popen(
                    ["git", *_QUIET, *arguments],
                    cwd=folder,
                    env=env,
                    stdin=source,
                    stdout=output,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
        except FileNotFoundError:
            if not os.path.isdir(folder):
                raise Unavailable(f"there is no folder {folder}") from None
            what = "checkpoints need git, and none is found"
            raise Unavailable(what, "install git to have them") from None
        except OSError as error:
            what = f"cannot start git in {folder}: {error.strerror}"
            raise GitFault(what, "make room, or see loopkit doctor") from None

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
        """Wait for what it prints. Raises Late, GitFault for an exit code not in `answers`."""
        try:
            out, err = self.child.communicate(None, self.limit)
        except subprocess.TimeoutExpired:
            what = f"{self.name} did not end within {self.limit:g} s and was stopped"
            raise Late(what, f"try it in {self.folder}") from None
        if self.child.returncode not in answers:
            rows = (row for row in err.decode("utf-8", "replace").splitlines() if row.strip())
            what = f"{self.name} fails in {self.folder}: {next(rows, 'no word why')[:300]}"
            raise GitFault(what, "see git status there")
        return out or b""


@contextlib.contextmanager
def _source(given: bytes) -> Iterator[Any]:
    """Standard input: nothing, or a file, since a pipe is slow and may block."""
    if not given:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        yield file


#: git's variables that say how a repository is found.
_KEPT = frozenset(("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH"))


def isolated(env: dict, settings: bool = True) -> dict:
    """An environment in which git speaks English, does not prompt, signs as loopkit and takes no
    folder from the caller; settings: keep those that the environment gives to git."""
    kept = {name: value for name, value in env.items() if not name.startswith("GIT_")}
    kept |= {name: env[name] for name in _KEPT & env.keys()}
    if settings:
        kept |= {name: value for name, value in env.items() if name.startswith("GIT_CONFIG")}
    for role in ("AUTHOR", "COMMITTER"):
        kept |= {f"GIT_{role}_NAME": "loopkit", f"GIT_{role}_EMAIL": "loopkit@localhost"}
    quiet = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    quiet["PATH"] = place.search_path(env)
    return kept | quiet | {"GIT_ASKPASS": "", "SSH_ASKPASS": ""}


def unfiltered(project: str, env: dict) -> dict:
    """The environment for calls that read or write working files: the filters that the repository's
    settings name, its programs or a stranger's, are switched off."""
    names = git(project, env, "config -z --name-only --get-regexp", r"^filter\.", answers=(0, 1))
    drivers = {name[len("filter.") :].rpartition(".")[0] for name in paths(names)}
    first = env.get("GIT_CONFIG_COUNT") or "0"
    number = int(first) if first.isdecimal() else 0
    rows = [
        (f"filter.{driver}.{key}", value)
        for driver in sorted(drivers)
        for key, value in (("process", ""), ("clean", ""), ("smudge", ""), ("required", "false"))
    ]
    if not rows:
        return env
    more = {"GIT_CONFIG_COUNT": str(number + len(rows))}
    for at, (name, value) in enumerate(rows, number):
        more |= {f"GIT_CONFIG_KEY_{at}": name, f"GIT_CONFIG_VALUE_{at}": value}
    return env | more


#: Questions to `rev-parse`, each answered by a line.
_QUESTIONS = (
    *("--is-inside-work-tree", "--is-bare-repository", "--show-cdup"),
    *("--absolute-git-dir", "--git-common-dir"),
)


#: What was asked for an environment, the newest: it is one object in all of a command.
_known: tuple[dict, dict] = {}, {}


def once(env: dict, question: Any, files: Callable[[Any], Iterable[str]], ask: Callable) -> Any:
    """What `ask` gives: asked once for an environment, and again where one of the files that the
    answer depends on is another one by now."""
    global _known
    if _known[0] is not env:
        _known = env, {}
    answer, marks = _known[1].get(question, (None, None))
    if marks is None or any(digest.mark(path) != mark for path, mark in marks):
        answer = ask()
        _known[1][question] = answer, [(path, digest.mark(path)) for path in files(answer)]
    return answer


def settings_files(repo: Repository) -> list[str]:
    """Where the repository's own settings stand."""
    return [os.path.join(repo.common, "config"), os.path.join(repo.folder, "config.worktree")]


def repository(project: str, env: dict) -> Repository:
    """The repository whose working tree holds `project`. A repository at the home folder or above
    does not count: it would reach over everything the person has."""
    folder = os.path.realpath(project)
    inner = next((top for top in place.upwards(folder) if place.has_git(top)), folder)
    asked: list[Repository] = []

    def ask() -> Repository:
        asked.append(_asked(folder, env))
        return asked[0]

    def files(repo: Repository) -> list[str]:
        return [os.path.join(inner, ".git"), *settings_files(repo)]

    found = once(env, ("repository", folder, inner), files, ask)
    if asked:
        return found
    commit = digest.commit_of(found.folder, found.common)
    return found._replace(head=commit) if commit else _asked(folder, env)


def _asked(folder: str, env: dict) -> Repository:
    commit = ("--revs-only", "HEAD^{commit}")
    answer = git(folder, env, "rev-parse", *_QUESTIONS, *commit, answers=(0, 128))
    rows = answer.split(b"\n")[:-1]
    if len(rows) < 3 or rows[0] != b"true":
        raise _unavailable(folder, rows, env)
    commits = [row for row in rows[len(_QUESTIONS) :] if _ID.fullmatch(row)]
    if len(rows) != len(_QUESTIONS) + len(commits) or len(commits) > 1:  # a line break in a name
        rows[2:] = [git(folder, env, "rev-parse", question)[:-1] for question in _QUESTIONS[2:]]
        rows += git(folder, env, "rev-parse", *commit).split(b"\n")[:-1]
    up, git_folder, common = map(os.fsdecode, rows[2:5])
    top = os.path.normpath(os.path.join(folder, up))
    if place.out_of_reach(top, env):
        what = f"the only repository above {folder} is {top}"
        raise Unavailable(f"{what}, which holds much more than the project", ALONE)
    head = rows[5].decode("ascii", "replace") if len(rows) > 5 else None
    part = "" if folder == top else os.path.relpath(folder, top)
    return Repository(top, git_folder, os.path.normpath(os.path.join(folder, common)), head, part)


def _unavailable(folder: str, rows: list[bytes], env: dict) -> Unavailable:
    what, way_out = f"{folder} is in no git repository", "checkpoints are not available"
    if len(rows) > 1 and rows[1] == b"true":
        return Unavailable(f"{folder} is a bare repository, without working files", way_out)
    if rows:
        return Unavailable(f"{folder} lies inside a git folder", way_out)
    try:
        git(folder, env, "rev-parse --git-dir")
    except GitFault as error:
        if "not a git repository (or any" not in error.what:
            return Unavailable(error.what, way_out)
    return Unavailable(what, ALONE)


def head(project: str, env: dict) -> str | None:
    """The commit of HEAD; None where there is none yet."""
    return repository(project, env).head


def under_way(repo: Repository) -> str | None:
    """What the person has begun in the repository, such as `a merge`, or None."""
    for name, what in _UNDER_WAY:
        if os.path.lexists(os.path.join(repo.folder, name)):
            return what
    return None


def place_of(repo: Repository) -> str:
    """Which of the repository's working trees it is, "." for the main one, and whether the project
    is a part of it: a part that is renamed is the same project."""
    tree = os.path.relpath(os.path.realpath(repo.folder), os.path.realpath(repo.common))
    return f"{tree}:part" if repo.part else tree
