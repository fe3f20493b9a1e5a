"""How a check stood before the work: which names it gave as failing then, and what has come to fail
since."""

from __future__ import annotations

import re
from collections import namedtuple
from typing import TYPE_CHECKING

from ..journal import prose, stage
from ..journal.errors import Refused
from . import command

if TYPE_CHECKING:
    from ..journal.events import Change
    from ..journal.state import LoopState

#: Names that a baseline holds at the most; characters of a line, and of a name, that are looked at.
MOST_NAMES, LONGEST_LINE, LONGEST_NAME = 2000, 1000, 300
#: Exit codes from here on are no verdict of a check: out of time, cannot be started, ended by a
#: signal.
CUT_SHORT = 124
#: What a comparison comes to. regression: bool · new: names that did not fail before · said: one
#: line.
Verdict = namedtuple("Verdict", "regression new said")

# -- failing names, as the usual runners print them

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: What lines have in them that tell of a failure, besides the hints of the table.
_HINTS = ("FAIL", "not ok", "[✕✖✗✘×●]", "failing$")
_TOOK = re.compile(r"\s*[\[(]\s*[\d.,:]+\s*(?:ms|s|m|min|%)?\s*[\])]\s*$|\s+\d+(?:\.\d+)?\s*ms$")

_GO = re.compile(r"\s*--- FAIL: (\S+)")
_GO_PACKAGE = re.compile(r"(FAIL|ok  )\t(\S+)")
_CARGO = re.compile(r"test (.+?) \.\.\. FAILED")
_CARGO_BINARY = re.compile(r"\s+(?:Running (?:unittests )?(\S+) \(|Doc-tests (\S+))")
_TAP = re.compile(r"\s*not ok\b\s*(\d*)\s*(?:-\s+)?(.*)$")
_TAP_EXCUSED = re.compile(r"#\s*(?:TODO|SKIP)\b", re.IGNORECASE)
_JEST_FILE = re.compile(r"\s*(FAIL|PASS)\s+(?:\|?[\w-]+\|?\s+)?(\S+\.[\w.]*[jt]sx?)(?:\s+\(.*\))?$")
_JEST = re.compile(r"\s*● (.+)$")
_CROSS = re.compile(r"\s*[✕✖✗✘×] (?!failing tests:$)(.+)$")
_MOCHA = re.compile(r"\s+\d+\) (.*)$")


def names(text: str, runners: list[dict]) -> list[str]:
    """The failing names in what a check printed, each once, in its order, without times, counts and
    messages.

    Known are Jest, Vitest, Mocha, Go, Cargo, TAP, and the rows of data/runners.toml, the last of
    which is for `FAILED x` and `FAIL: x` of any other runner.
    """
    hint = re.compile("|".join([*_HINTS, *(row["hint"] for row in runners)]))
    found: dict[str, None] = {}
    crosses: dict[str, None] = {}
    of_package: list[str] = []
    files: dict[str, bool] = {}  # Jest's failed files: whether a test of it was named
    binary = file = ""
    mocha, title = False, None
    for whole in text.splitlines():
        line = _COLOURS.sub("", whole[:LONGEST_LINE]).rstrip()
        if (
            title is not None
        ):  # the parts of a title stand on lines of their own, the last one ends with a colon
            title = [*title, line.strip()]
            if line.endswith(":") or len(title) > 8 or not line.strip():
                _note(found, " › ".join(one for one in title if one).rstrip(":"))
                title = None
            continue
        if line.lstrip().startswith(("Running ", "Doc-tests ")) and (
            hit := _CARGO_BINARY.match(line)
        ):
            binary = f"{hit[1] or hit[2]}: "
            continue
        if mocha and (hit := _MOCHA.match(line)):
            if line.endswith(":"):
                _note(found, hit[1].rstrip(":"))
            else:
                title = [hit[1]]
            continue
        if line[:4] in ("ok  ", "PASS"):
            hit = _JEST_FILE.match(line)
            file, of_package = hit[2] if hit else file, []
            continue
        if not hint.search(line):
            continue
        if re.fullmatch(r"\s*\d+ failing", line):
            mocha = True
        elif hit := _GO_PACKAGE.match(line):
            for one in of_package or [""]:
                found.pop(one, None)
                _note(found, f"{hit[2]}: {one}" if one else hit[2])
            of_package = []
        elif hit := _GO.match(line):
            of_package.append(hit[1])
            _note(found, hit[1])
        elif hit := _CARGO.match(line):
            _note(found, binary + re.sub(r" \(line \d+\)", "", hit[1]))
        elif hit := _JEST_FILE.match(line):
            file = hit[2]
            files.setdefault(file, False)
        elif hit := _JEST.match(line):
            if hit[1].startswith(("Console", "Validation", "Deprecation")):
                continue
            files[file] = True
            _note(found, f"{file} › {hit[1]}" if file else hit[1])
        elif hit := _CROSS.match(line):
            if not _TAP_EXCUSED.search(hit[1]):
                _note(crosses, hit[1])
        elif hit := _TAP.match(line):
            if not _TAP_EXCUSED.search(hit[2]):
                _note(found, re.sub(r"\s+# time=.*", "", hit[2]) or f"test {hit[1]}")
        else:
            _note(found, _other(line, runners))
    for one, named in files.items():
        if one and not named and not any(name.startswith(one) for name in found):
            _note(found, one)
    return list(found or crosses)


def _note(found: dict, name: str) -> None:
    name = " ".join(_TOOK.sub("", name).split())[:LONGEST_NAME]
    if name:
        found[name] = None


def _other(line: str, runners: list[dict]) -> str:
    """The name in a line of a runner that prints a line a test; "" where there is none."""
    for row in runners:
        if hit := re.match(row["failed"], line):
            name = " ".join(one for one in hit.groups() if one)
            return "" if "no_name" in row and re.match(row["no_name"], name) else name
    return ""


# -- before and after


def compare(before: dict, exit_code: int, failing: list[str]) -> Verdict:
    """What has become worse. before: a recorded baseline's `exit` and `failures` · the rest: of the
    run just now.

    A run that failed has to be explained by names that failed before as well, or be the same as a
    baseline without names; one that did not come to its end tells nothing.
    """
    known = set(before["failures"])
    new = [one for one in failing if one not in known]
    was, left = before["exit"], len(failing)
    if new:
        return Verdict(True, new, f"regression, failing since the baseline: {', '.join(new)}")
    if exit_code == 0:
        return Verdict(False, [], "no regression: it passes")
    if exit_code >= CUT_SHORT and exit_code != was:
        return Verdict(
            True,
            [],
            f"cannot be compared: it did not come to its end (exit {exit_code}, was {was})",
        )
    if failing:
        mended = len(known) - left
        better = f", {mended} fewer" if mended > 0 else ""
        return Verdict(
            False, [], f"no regression: {prose.count(left, 'failure')}, each as before{better}"
        )
    if not known and exit_code == was:
        return Verdict(
            False, [], f"no regression: exit {exit_code} as before; it names nothing to compare"
        )
    return Verdict(
        True, [], f"cannot be compared: exit {exit_code} and no failing name (was exit {was})"
    )


def recorded(
    state: LoopState, line: str, outcome: dict, failing: list[str], replace: bool
) -> list[Change]:
    """`baseline -- CMD`: how the check stands now.

    Raises Refused where one is recorded, where it did not run, and where more fails than can be
    compared.
    """
    check_new(state, line, replace)
    if outcome["exit"] in (CUT_SHORT, 126, 127):
        raise Refused(
            f"no baseline: {outcome['note'] or 'it did not run to its end'}",
            "give a check that ends by itself",
        )
    if len(failing) > MOST_NAMES:
        raise Refused(
            f"no baseline: {len(failing)} names fail, at most {MOST_NAMES}", "take a smaller check"
        )
    row = {"command": line, "exit": outcome["exit"], "failures": failing, "log": outcome["log"]}
    return [("baseline_recorded", row)]


def check_new(state: LoopState, line: str, replace: bool) -> None:
    """Raises Refused where this command has a baseline already."""
    stage.running(state)
    command.accept(line)
    if line in state.baselines and not replace:
        raise Refused(
            f"the baseline of `{line[:120]}` is recorded already",
            "compare with it: loopkit baseline --check; start anew from here: --replace",
        )


def known(state: LoopState, line: str) -> dict:
    """The baseline of a command. Raises Refused where none is recorded, naming those that are."""
    found = state.baselines.get(line)
    if found is None:
        there = "; ".join(f"`{one[:120]}`" for one in state.baselines) or "none"
        raise Refused(
            f"no baseline of `{line[:120]}` is recorded",
            f"recorded: {there}; loopkit baseline -- <command>",
        )
    return found
