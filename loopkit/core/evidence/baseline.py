"""Baselines: which names a check gave as failing before the work, and what fails since."""

from __future__ import annotations

import re
from collections import namedtuple

from ..journal import prose, stage
from ..journal.errors import Refused
from ..journal.events import Change
from ..journal.state import LoopState
from . import command

#: Most names of a baseline; characters of a line, and of a name, that are looked at.
MOST_NAMES, LONGEST_LINE, LONGEST_NAME = 2000, 1000, 300
#: regression: bool · new: names that did not fail before · said: the result in a line.
Verdict = namedtuple("Verdict", "regression new said")

# -- failing names, as the usual runners print them

#: What lines have in them that tell of a failure, besides the hints of the table.
_HINTS = ("FAIL", "not ok", "[✕✖✗✘×●]", "failing$")
_TOOK = re.compile(r"\s*[\[(]\s*[\d.,:]+\s*(?:ms|s|m|min|%)?\s*[\])]\s*$|\s+\d+(?:\.\d+)?\s*ms$")

_CARGO_BINARY = re.compile(r"\s+(?:Running (?:unittests )?(\S+) \(|Doc-tests (\S+))")
_TAP_EXCUSED = re.compile(r"#\s*(?:TODO|SKIP)\b", re.IGNORECASE)
_JEST_FILE = re.compile(r"\s*(FAIL|PASS)\s+(?:\|?[\w-]+\|?\s+)?(\S+\.[\w.]*[jt]sx?)(?:\s+\(.*\))?$")
_MOCHA = re.compile(r"\s+\d+\) (.*)$")


def names(text: str, runners: list[dict]) -> list[str]:
    """The failing names in what a check printed, each once, in its order, without times and counts.
    Known are Jest, Vitest, Mocha, Go, Cargo, TAP, and the rows of data/runners.toml, the last of
    which is for `FAILED x` and `FAIL: x` of any other runner."""
    reader = _Reader(runners)
    for line in text.splitlines():
        reader.read(prose.plain(line[:LONGEST_LINE]).rstrip())
    return reader.names()


class _Reader:
    """Takes an output line by line: names may take several, or depend on those before."""

    def __init__(self, runners: list[dict]) -> None:
        self.runners = runners
        self.hint = re.compile("|".join([*_HINTS, *(row["hint"] for row in runners)]))
        self.found: dict[str, None] = {}
        self.crosses: dict[str, None] = {}
        self.of_package: list[str] = []  # Go's tests, whose package comes after them
        self.files: dict[str, bool] = {}  # Jest's failed files: whether a test of it was named
        self.binary = self.file = ""
        self.in_mocha = False
        self.title: list[str] | None = None  # Mocha's, of several lines

    def read(self, line: str) -> None:
        if self.title is not None:
            self._go_on_with_title(line)
        elif line.lstrip().startswith(("Running ", "Doc-tests ")) and (
            hit := _CARGO_BINARY.match(line)
        ):
            self.binary = f"{hit[1] or hit[2]}: "
        elif self.in_mocha and (hit := _MOCHA.match(line)):
            if line.endswith(":"):
                _note(self.found, hit[1].rstrip(":"))
            else:
                self.title = [hit[1]]
        elif line[:4] in ("ok  ", "PASS"):
            hit = _JEST_FILE.match(line)
            self.file, self.of_package = hit[2] if hit else self.file, []
        elif self.hint.search(line):
            for pattern, take in _FORMS:
                if hit := pattern.match(line):
                    take(self, hit)
                    return
            _note(self.found, _other(line, self.runners))

    def names(self) -> list[str]:
        for file, named in self.files.items():
            if file and not named and not any(name.startswith(file) for name in self.found):
                _note(self.found, file)
        return list(self.found or self.crosses)

    def _go_on_with_title(self, line: str) -> None:
        """The parts of a title stand on lines of their own, the last one ends with a colon."""
        self.title = [*(self.title or ()), line.strip()]
        if line.endswith(":") or len(self.title) > 8 or not line.strip():
            _note(self.found, " › ".join(part for part in self.title if part).rstrip(":"))
            self.title = None

    def mocha(self, hit: re.Match) -> None:
        self.in_mocha = True

    def go_package(self, hit: re.Match) -> None:
        for name in self.of_package or [""]:
            self.found.pop(name, None)
            _note(self.found, f"{hit[2]}: {name}" if name else hit[2])
        self.of_package = []

    def go(self, hit: re.Match) -> None:
        self.of_package.append(hit[1])
        _note(self.found, hit[1])

    def cargo(self, hit: re.Match) -> None:
        _note(self.found, self.binary + re.sub(r" \(line \d+\)", "", hit[1]))

    def jest_file(self, hit: re.Match) -> None:
        self.file = hit[2]
        self.files.setdefault(self.file, False)

    def jest(self, hit: re.Match) -> None:
        if not hit[1].startswith(("Console", "Validation", "Deprecation")):
            self.files[self.file] = True
            _note(self.found, f"{self.file} › {hit[1]}" if self.file else hit[1])

    def cross(self, hit: re.Match) -> None:
        if not _TAP_EXCUSED.search(hit[1]):
            _note(self.crosses, hit[1])

    def tap(self, hit: re.Match) -> None:
        if not _TAP_EXCUSED.search(hit[2]):
            _note(self.found, re.sub(r"\s+# time=.*", "", hit[2]) or f"test {hit[1]}")


#: How a line that tells of a failure looks, and what takes it in; the first that fits.
_FORMS = (
    (re.compile(r"\s*\d+ failing$"), _Reader.mocha),
    (re.compile(r"(FAIL|ok  )\t(\S+)"), _Reader.go_package),
    (re.compile(r"\s*--- FAIL: (\S+)"), _Reader.go),
    (re.compile(r"test (.+?) \.\.\. FAILED"), _Reader.cargo),
    (_JEST_FILE, _Reader.jest_file),
    (re.compile(r"\s*● (.+)$"), _Reader.jest),
    (re.compile(r"\s*[✕✖✗✘×] (?!failing tests:$)(.+)$"), _Reader.cross),
    (re.compile(r"\s*not ok\b\s*(\d*)\s*(?:-\s+)?(.*)$"), _Reader.tap),
)


def _note(found: dict, name: str) -> None:
    name = " ".join(_TOOK.sub("", name).split())[:LONGEST_NAME]
    if name:
        found[name] = None


def _other(line: str, runners: list[dict]) -> str:
    """The name in a line of a runner that prints a line a test; "" where there is none."""
    for row in runners:
        if hit := re.match(row["failed"], line):
            name = " ".join(filter(None, hit.groups()))
            return "" if "no_name" in row and re.match(row["no_name"], name) else name
    return ""


# -- before and after


def compare(before: dict, exit_code: int, failing: list[str]) -> Verdict:
    """What has become worse. before: a recorded baseline · the rest: of the run just now. A run
    that failed has to be explained by names that failed before as well, or be the same as a
    baseline without names; one that did not come to its end tells nothing."""
    known, was, left = set(before["failures"]), before["exit"], len(failing)
    new = [name for name in failing if name not in known]
    if new:
        return Verdict(True, new, f"regression, failing since the baseline: {', '.join(new)}")
    if exit_code == 0:
        return Verdict(False, [], "no regression: it passes")
    if exit_code >= command.OUT_OF_TIME and exit_code != was:
        why = f"it did not come to its end (exit {exit_code}, was {was})"
        return Verdict(True, [], f"cannot be compared: {why}")
    if failing:
        fixed = len(known) - left
        better = f", {fixed} fewer" if fixed > 0 else ""
        text = f"no regression: {prose.count(left, 'failure')}, each as before{better}"
        return Verdict(False, [], text)
    if not known and exit_code == was:
        why = f"exit {exit_code} as before; it names nothing to compare"
        return Verdict(False, [], f"no regression: {why}")
    why = f"exit {exit_code} and no failing name (was exit {was})"
    return Verdict(True, [], f"cannot be compared: {why}")


def recorded(
    state: LoopState, line: str, outcome: dict, failing: list[str], replace: bool
) -> list[Change]:
    """How the check stands now. Refused where it is recorded, did not run, or too much fails."""
    check_new(state, line, replace)
    if outcome["exit"] in (command.OUT_OF_TIME, *command.UNSTARTABLE):
        why = outcome["note"] or "it did not run to its end"
        raise Refused(f"no baseline: {why}", "give a check that ends by itself")
    if len(failing) > MOST_NAMES:
        why = f"{len(failing)} names fail, at most {MOST_NAMES}"
        raise Refused(f"no baseline: {why}", "take a smaller check")
    row = {"command": line, "exit": outcome["exit"], "failures": failing, "log": outcome["log"]}
    return [("baseline_recorded", row)]


def check_new(state: LoopState, line: str, replace: bool) -> None:
    """Raise Refused where this command has a baseline already."""
    stage.running(state)
    command.accept(line)
    if line in state.baselines and not replace:
        way_out = "compare with it: loopkit baseline --check; start anew from here: --replace"
        raise Refused(f"the baseline of `{line[:120]}` is recorded already", way_out)


def known(state: LoopState, line: str) -> dict:
    """The baseline of a command. Raises Refused where none is recorded, naming those that are."""
    baseline = state.baselines.get(line)
    if baseline is None:
        names = "; ".join(f"`{name[:120]}`" for name in state.baselines) or "none"
        what = f"no baseline of `{line[:120]}` is recorded"
        raise Refused(what, f"recorded: {names}; loopkit baseline -- <command>")
    return baseline
