"""Verification commands: one line, split as a shell would, run without one; their tiers."""

from __future__ import annotations

import posixpath
import re
import shlex

from ..journal import prose
from ..journal.errors import UsageFault
from ..journal.task import NOT_STARTABLE

_OPERATORS = "|&;<>`\n"
#: Programs that end well whatever the work is like: as a check they show nothing.
_IDLE = ("true", ":", "echo", "printf", "pwd", "date", "exit", "sleep")
#: Programs that only start another one, and those of their options that take a value.
_STARTERS = {
    **dict.fromkeys(("command", "exec", "nohup", "time", "busybox", "xargs"), ()),
    "env": ("-u", "--unset", "-C", "--chdir", "-S"),
    "nice": ("-n",),
    "timeout": ("-s", "-k"),
}
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def split(text: str) -> list[str]:
    """The arguments of a line. UsageFault for a shell operator, an assignment, nothing."""
    what, operator = "verification command", _operator(text)
    if operator:
        what += f" has an unquoted {operator!r}: it runs without a shell"
        raise UsageFault(what, "quote it, put it into a script, or write sh -c '…'")
    try:
        arguments = shlex.split(text)
    except ValueError as error:
        raise UsageFault(f"{what} cannot be split: {error}", "balance its quotes") from None
    if not arguments:
        raise UsageFault(f"{what} is empty", 'give --verify "<command>"')
    if _ASSIGNMENT.match(arguments[0]):
        raise UsageFault(f"{what} begins with {arguments[0]!r}", "write env NAME=value command …")
    return arguments


def accept(text: str) -> list[str]:
    """The arguments of a check that is submitted, whatever it is to show. UsageFault as for
    `split`; for a line break or a character that nobody sees in a word, since the command is shown,
    allowed and run on a line of its own; and for a program that cannot fail."""
    arguments = split(text)
    if len(text.strip().splitlines()) > 1:
        raise UsageFault("verification command has a line break", "put it into a script")
    hidden = next((letter for word in arguments for letter in word if _is_hidden(letter)), None)
    if hidden is not None:
        what = f"verification command has the invisible character U+{ord(hidden):04X}"
        raise UsageFault(what, "put it into a script")
    program = idle(arguments)
    if program:
        way_out = "give a command that fails as long as the work is not done"
        raise UsageFault(f"{program} cannot fail, so it proves nothing", way_out)
    return arguments


def idle(arguments: list[str]) -> str:
    """The program of a command that always ends well, such as `true`; "" where it may fail."""
    words = unwrapped(arguments)
    if not words:
        return ""
    program = posixpath.basename(words[0])
    operands = [word for word in words[1:] if word != "]"]
    if program in _IDLE or program in ("test", "[") and len(operands) == 1:
        return program
    options = (at for at, word in enumerate(words) if re.fullmatch(r"-[a-z]*c[a-z]*", word))
    given = next(options, None)
    if program in _SHELLS and given is not None:
        script = " ".join([word for word in words[given + 1 :] if word != "--"][:1])
        if is_idle_script(script) or not script.partition("#")[0].strip():
            return f"{program} {words[given]}"
    return ""


def unwrapped(arguments: list[str]) -> list[str]:
    """The words from the program on that others (env, timeout, nice, …) only start."""
    words = list(arguments)
    while len(words) > 1:
        program = posixpath.basename(words[0])
        if program not in _STARTERS and not _ASSIGNMENT.match(words[0]):
            break
        words.pop(0)
        while len(words) > 1 and words[0].startswith("-"):
            option = words.pop(0)
            if option in _STARTERS.get(program, ()) and len(words) > 1:
                words.pop(0)  # its value
        if program == "timeout" and len(words) > 1:
            words.pop(0)
    return words


def is_idle_script(text: str) -> bool:
    """Whether no command of a shell's line (or its last `||` branch) can fail; `exit 1` can."""
    any_word = False
    last = re.split(r"\|\|", text)[-1] if "||" in text else ""
    for part in re.split(r"[&|;\n]+", last or text):
        try:
            words = shlex.split(part.strip("(){} \t"), comments=True)
        except ValueError:
            return False
        fails = words[:1] == ["exit"] and not re.fullmatch("0*", "".join(words[1:2]))
        if words and (fails or not idle(words)):
            return False
        any_word = any_word or bool(words)
    return any_word


def _is_hidden(letter: str) -> bool:
    """Control and format characters, halves of characters; not the joiners of scripts and emoji."""
    if letter.isprintable():
        return False
    import unicodedata  # few words need it

    return unicodedata.category(letter) in ("Cc", "Cf", "Cs") and letter not in "\u200c\u200d"


def _operator(text: str) -> str | None:
    """The first shell operator that stands outside quotes."""
    quote, at = "", 0
    while at < len(text):
        letter = text[at]
        if letter == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            if letter == quote:
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter in _OPERATORS:
            return letter
        elif letter == "$" and text[at + 1 : at + 2] == "(":
            return "$("
        at += 1
    return None


def same(stored: str, given: list[str]) -> bool:
    """Whether the words of a call are the stored command."""
    try:
        return split(stored) == list(given)
    except UsageFault:
        return False


# -- tiers: how long a check may take, and when a wider one is due

QUICK, STANDARD, THOROUGH = "quick", "standard", "thorough"
#: Seconds that a check of a tier may take, narrowest tier first.
SECONDS = {QUICK: 5, STANDARD: 30, THOROUGH: 120}
#: Failures of the standard tier, one after the other, after which the thorough one is due.
STANDARD_FAILURES = 3
#: Exit codes of a check that has not run to its end, or not at all: they are no verdict.
OUT_OF_TIME, UNSTARTABLE = 124, (126, 127)
#: What the journal keeps of a check that ran.
OUTCOME = ("passed", "exit", "log", "seconds", "head", "files")
#: What it keeps as well where there is something to say.
_SEEN = ("told", "digest", "folder", "program")

# -- checks told apart: the one word that is kept with what came of a check

#: It has neither passed nor failed (NOT_STARTABLE) · it writes what it vouches for · it failed,
#: then passed with nothing changed · it wants a terminal · what it started has outlived it.
CHANGES, FLAKY, ASKS, LEFT = "changes its files", "flaky", "asks", "left processes"
#: The same in words, to follow the check.
APART = {
    NOT_STARTABLE: "cannot be started",
    CHANGES: "changes the files that it vouches for",
    FLAKY: "is flaky: it failed, then passed with nothing changed",
    ASKS: "asks, and nobody answers: it has no terminal",
    LEFT: "leaves processes behind",
}
TOLD = tuple(APART)
#: What a program prints that finds nobody to answer it.
_ASKING = re.compile(
    r"(?i)EOFError: EOF when reading|not a (?:tty|terminal)\b|/dev/tty|inappropriate ioctl"
    r"|(?:no|requires an?|needs an?|must be run in an?) (?:interactive )?terminal\b"
)


def kept(outcome: dict) -> dict:
    """What the journal keeps of a check that ran."""
    row = {key: outcome[key] for key in OUTCOME}
    return row | {key: outcome[key] for key in _SEEN if outcome.get(key)}


def is_startable(outcome: dict) -> bool:
    """Whether a check has run at all."""
    return bool(outcome.get("told") != NOT_STARTABLE)


def tell(code: int, left: list, output: str) -> str:
    """The word on a check that ran. left: processes it left behind · output: the end of it."""
    if code in UNSTARTABLE:
        return NOT_STARTABLE
    if code not in (0, OUT_OF_TIME) and _ASKING.search(output):
        return ASKS
    return LEFT if left else ""


#: What is said of a check that ended well and ran none.
NONE_RAN = "no test ran: all were left out or skipped"


def none_ran(text: str, rows: list[dict]) -> bool:
    """Whether what a check printed says so: all its counts come to none, by [[count]]."""
    counting = re.compile("|".join(row["line"] for row in rows))
    lines = [line for line in prose.plain(text).splitlines() if counting.match(line)]
    return bool(lines) and sum(_ran(line, rows) for line in lines) <= 0


def _ran(line: str, rows: list[dict]) -> int:
    row = next(row for row in rows if re.match(row["line"], line))
    return _sum(row.get("ran"), line) - _sum(row.get("less"), line)


def _sum(pattern: str | None, line: str) -> int:
    """The numbers that a pattern finds in a line; 1 for each place where it has no number."""
    found = re.findall(pattern, line) if pattern else []
    return sum(int(hit) if hit.isdigit() else 1 for hit in found)


def due_tier(failures: int) -> str:
    """The tier to look in after so many failures in a row."""
    return STANDARD if 0 < failures <= STANDARD_FAILURES else THOROUGH if failures > 0 else QUICK


def remark(tier: str, seconds: float) -> str | None:
    """A word on a check that took as long as its tier allows or longer, or None."""
    if seconds < SECONDS[tier]:
        return None
    return f"slow: {seconds:.1f} s, where under {SECONDS[tier]} s is good; narrow it if you can"
