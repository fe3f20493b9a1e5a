"""Which checks of a loop may run: what the person allowed, by command or by pattern.

An allowed command binds its words, not what the project's files make of them. So a later check may
also be an allowed runner with other names of the project, and a check whose program is still to be
written is not asked for.
"""

from __future__ import annotations

import posixpath
import re

from ..journal.errors import UsageFault
from . import command, permissions

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..journal.state import LoopState

#: What the person is told of the checks that they are asked for.
WHAT = "runs the project's own code: before the work, after it, and on a copy without it"
#: Where nobody can say yes to a dialog.
UNATTENDED = (
    'nobody can be asked here: the person adds verify_allow = ["<pattern>"] to '
    "~/.config/loopkit/config.toml, or types /loop:start --checks '<pattern>' <request>"
)
#: Programs that look at what they are told and run nothing else, by their first words: the options
#: that may be added to those which were allowed.
_LINTERS = ("ruff check", "mypy", "eslint", "npx eslint", "npx tsc --noEmit")
RUNNERS = {
    **dict.fromkeys(("pytest", "python -m pytest"), "-q -v -x -k"),
    **dict.fromkeys(("uv run pytest", "poetry run pytest"), "-q -v -x -k"),
    **dict.fromkeys(("python -m unittest", "python -m doctest"), "-v"),
    **dict.fromkeys(("npm test", "pnpm test", "yarn test"), "--"),
    **dict.fromkeys(("npx jest", "npx vitest run", "npx mocha"), "-t"),
    **dict.fromkeys(("jest", "vitest run", "mocha"), "-t"),
    **dict.fromkeys(("node --test", "deno test", "bun test", "cargo test"), ""),
    **dict.fromkeys(("bundle exec rspec", *_LINTERS), ""),
    "go test": "-run -v",
    "grep": "-q -i -E -F -w -x",
    "test": "-f -d -e -s !",
}
#: Those that only look at the files they are given.
_LOOKING = ("grep", "test", *_LINTERS)
_LONGEST = max(len(head.split()) for head in RUNNERS)
#: A name or path within the project: nothing absolute, no option, no URL.
_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./\[\]-]*(?:::?[A-Za-z0-9_.\[\]-]+)*")
#: Programs that run the file they are given, and letters of their options that say that none is.
_INTERPRETERS = {
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh"), "cs"),
    **dict.fromkeys(("python", "node", "ruby", "perl", "php"), "cmepr"),
}


def checks(state: LoopState) -> list[tuple[str, str]]:
    """(whose, command) of each check of a loop; the same command counts once."""
    found: dict[tuple, tuple[list, str]] = {}
    decided = [f"D{number}" for number in state.decision_log.checks]
    for name in (*state.tasks, *state.criteria, *decided):
        if line := state.check_of(name):
            found.setdefault(words(line), ([], line))[0].append(name)
    return [(", ".join(names), line) for names, line in found.values()]


def words(line: str) -> tuple:
    """The arguments of a check; a line that cannot be split is one of its own."""
    try:
        return tuple(command.split(line))
    except UsageFault:
        return ("", line)


def is_covered(line: str, allowed: Iterable[str], patterns: Iterable[str]) -> bool:
    """Whether a check may run: a pattern fits it as written, or it is an allowed command, or an
    allowed runner with other names of the project."""
    asked = words(line)
    if not asked[0]:
        return False
    if any(fits(pattern, line) for pattern in patterns):
        return True
    return any(asked == known or _same_runner(asked, known) for known in map(words, allowed))


def fits(pattern: str, line: str) -> bool:
    """Whether a check fits a pattern; `*` stands for any text. `pytest *` means `pytest` too."""
    return permissions.fits(pattern, line) or pattern.endswith(" *") and line == pattern[:-2]


def _same_runner(asked: tuple, known: tuple) -> bool:
    begin = _runner(known)
    if not begin or asked[: len(begin)] != begin:
        return False
    options = (*known, *RUNNERS[_head(begin)].split())
    return all(word in options or _is_name(word) for word in asked[len(begin) :])


def pattern(line: str) -> str:
    """A pattern that lets a check run: of a runner of tests the runner with whatever follows, else
    the command as it is written."""
    begin = _runner(words(line))
    return f"{' '.join(begin)} *" if begin else line


def is_runner(line: str) -> bool:
    """Whether a check gives its words to a runner of tests, which runs the files among them."""
    plain = re.sub(r"(?<=python) (?:-[BEIOPSsuv]+ |-[WX] ?\S+ )+(?=-m )", " ", _plain(line))
    begin = _runner(words(plain))
    return bool(begin) and _head(begin) not in _LOOKING


def _plain(line: str) -> str:
    """A line whose interpreter has no version."""
    return re.sub(r"(?<=python)[\d.]+(?= )", "", line)


def _runner(known: tuple) -> tuple:
    """The words of an allowed command up to where the names begin; () where it is no runner."""
    start = len(known) - len(command.unwrapped(list(known)))
    ends = range(start + _LONGEST, start, -1)
    return next((known[:end] for end in ends if _head(known[start:end]) in RUNNERS), ())


def _head(begin: tuple) -> str:
    program, *rest = command.unwrapped(list(begin))
    return " ".join([re.sub(r"(?<=^python)[\d.]+$", "", posixpath.basename(program)), *rest])


def _is_name(word: str) -> bool:
    return bool(_NAME.fullmatch(word)) and ".." not in word.split("/")


def program_file(line: str) -> str:
    """The file that a check runs as its program, as written; "" where the system finds it."""
    found = command.unwrapped(list(words(line)))
    name = re.sub(r"(?<=^python)[\d.]+$", "", posixpath.basename(found[0]))
    if name not in _INTERPRETERS:
        return found[0] if "/" in found[0] else ""
    for word in found[1:]:
        if word.startswith("-"):
            if set(word) & set(_INTERPRETERS[name]):
                break
        elif set(word) & set("./") or name.endswith("sh"):  # else the value of an option
            return word
    return ""
