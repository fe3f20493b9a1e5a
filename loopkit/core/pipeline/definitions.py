"""Stages and pipelines as their files define them, and what is wrong with those files.

The same functions serve a run and lint: a run refuses what lint calls an error.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from . import parsing, template
from .status import CONTINUE, STOP

#: Words that a stage cannot be called by: they are commands.
RESERVED = ("stage", "pipeline", "looper", "tree")
PLATEAU, FIXED_N, ALL_ITEMS = "plateau", "fixed-n", "all-items"
#: The marker of a vote for being finished.
VOTE = "PLATEAU"
#: The agent of a stage that names none.
AGENT = "claude"
#: Seconds between two iterations.
DELAY = 3.0
#: Characters of a session's or a stage's name at the most.
LONGEST = 63
#: What a name is made of, and what a stage's file needs, as cures.
NAMED = f"rename it: lower-case letters, digits and hyphens, at most {LONGEST}"
NEEDED = "lines name:, description: and completion:"


class Fault(NamedTuple):
    """Something wrong with a file. line: from 1, 0 where it is about all of it · cure: what to do ·
    error: a run refuses it; else it is a warning."""

    file: str
    line: int
    what: str
    cure: str
    error: bool = True

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {'error' if self.error else 'warning'}: {self.what}; {self.cure}"


class Source(NamedTuple):
    """A file that was read. lines: {path of keys: line from 1} of what it holds · faults: what was
    found to be wrong with it."""

    file: str
    row: dict
    lines: Mapping[tuple, int]
    faults: list[Fault]

    def fault(self, path: tuple, what: str, cure: str, error: bool = True) -> None:
        """Note one about what stands under these keys, or nearest to it."""
        while path and path not in self.lines:
            path = path[:-1]
        self.faults.append(Fault(self.file, self.lines.get(path, 1), what, cure, error))


class Timeouts(NamedTuple):
    """Seconds until the first output, without any output, and altogether."""

    start: float = 120
    idle: float = 600
    total: float = 3600


class Stage(NamedTuple):
    """A prompt and when it has been run often enough. markers: {key: marker} of what its output
    says · items: one an iteration · text: the prompt · prompt_file: where that stands · validate:
    commands that must pass after an iteration that ends the stage · validator: who runs them."""

    name: str
    description: str = ""
    completion: str = FIXED_N
    delay: float = DELAY
    min_iterations: int = 1
    check_before: bool = False
    markers: Mapping[str, str] = {}
    items: tuple[str, ...] = ()
    prompt: str = "prompt"
    agent: str = ""
    model: str = ""
    timeouts: Timeouts = Timeouts()
    validate: tuple[str, ...] = ()
    validator: str = "command"
    text: str = ""
    prompt_file: str = ""


class Entry(NamedTuple):
    """A stage in its place in a pipeline. runs: at the most · perspectives: taken in turn."""

    name: str
    stage: Stage
    runs: int
    perspectives: tuple[str, ...] = ()
    on_limit: str = CONTINUE
    named: str = ""


class Pipeline(NamedTuple):
    """Stages in a row."""

    name: str
    entries: tuple[Entry, ...]
    description: str = ""
    single: bool = False


def is_name(text: str) -> bool:
    """Whether a text can name a run or a stage: lower-case letters, digits, hyphens."""
    plain = text.replace("-", "")
    return 0 < len(text) <= LONGEST and plain.isascii() and plain.isalnum() and text == text.lower()


# -- values


def _text(value: Any) -> str:
    if type(value) is int:
        return str(value)
    if type(value) is not str or not value.strip():
        raise ValueError("takes a text")
    return value.strip()


def _whole(value: Any) -> int:
    if type(value) is not int or not 1 <= value <= 1_000_000:
        raise ValueError("takes a whole number from 1 on")
    return value


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1
    if not 0 <= seconds < math.inf or type(value) is bool:
        raise ValueError("takes a number of seconds")
    return seconds


def _flag(value: Any) -> bool:
    flag = {"true": True, "false": False}.get(str(value).lower())
    if flag is None:
        raise ValueError("takes true or false")
    return flag


def _texts(value: Any) -> tuple[str, ...]:
    rows = value if type(value) is list else [value]
    return tuple(_text(row) for row in rows)


def _items(value: Any) -> tuple[str, ...]:
    if type(value) is not list:
        raise ValueError("takes a list of texts")
    return tuple(_text(row) for row in value)


def _timeouts(value: Any) -> Timeouts:
    if type(value) is not dict or set(value) - set(Timeouts._fields):
        raise ValueError("takes start, idle and total")
    seconds = {key: _seconds(amount) for key, amount in value.items()}
    if not all(seconds.values()):
        raise ValueError("takes seconds above 0")
    return Timeouts(**seconds)


def _markers(value: Any) -> dict[str, str]:
    try:
        return parsing.pairs(_text(value))
    except ValueError as error:
        raise ValueError(f"takes key:MARKER, with spaces between several: {error}") from None


def _on_limit(value: Any) -> str:
    if value not in (CONTINUE, STOP):
        raise ValueError(f"takes {CONTINUE} or {STOP}")
    return str(value)


#: {key of a file: (field, what reads it)}
_STAGE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "name": ("name", _text),
    "description": ("description", _text),
    "completion": ("completion", _text),
    "delay": ("delay", _seconds),
    "min_iterations": ("min_iterations", _whole),
    "check_before": ("check_before", _flag),
    "output_parse": ("markers", _markers),
    "items": ("items", _items),
    "prompt": ("prompt", _text),
    "agent": ("agent", _text),
    "model": ("model", _text),
    "timeouts": ("timeouts", _timeouts),
    "validate": ("validate", _texts),
    "validator": ("validator", _text),
}
#: What a pipeline's file may say of a stage besides; all but the name of a stage's own keys may
#: stand there too, and count before those of the stage.
_ENTRY: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "runs": ("runs", _whole),
    "perspectives": ("perspectives", _texts),
    "on_limit": ("on_limit", _on_limit),
}
_STAGE_OF = ("stage", "loop")
#: Keys of which `_unfit` judges.
_FITTING = {"completion", "output_parse", "min_iterations", "agent", "validator"}


def _fields(source: Source, path: tuple, row: dict, table: dict, also: tuple = ()) -> dict:
    """The fields that a record gives. Notes what is wrong with it, as all functions here do."""
    fields = {}
    for key, value in row.items():
        if key not in table:
            if key not in also:
                near = difflib.get_close_matches(str(key), table, 1)
                cure = f"write {near[0]}" if near else "known: " + ", ".join(table)
                source.fault((*path, key), f"unknown key {key!r}", cure)
            continue
        name, read = table[key]
        try:
            fields[name] = read(value)
        except ValueError as error:
            source.fault((*path, key), f"{key} is {str(value)[:40]!r}", f"it {error}")
    return fields


#: The stage of a name, with what is wrong with it.
Find = Callable[[str], tuple[Stage | None, list[Fault]]]


class Known(NamedTuple):
    """What there is to name: completion strategies, agents, validators."""

    completions: Collection[str]
    agents: Collection[str]
    validators: Collection[str]


def stage(source: Source, folder: str, known: Known) -> Stage:
    """The stage of a `stage.yaml` in a folder of that name, without its prompt."""
    fields = _fields(source, (), source.row, _STAGE)
    for key, cure in (
        ("name", f"write name: {folder}"),
        ("description", "say what it does in a line"),
        ("completion", "give one of " + ", ".join(known.completions)),
    ):
        if key not in source.row:
            source.fault((), f"there is no {key}", cure, key != "description")
    made = Stage(**{"name": folder, **fields})
    if made.name != folder:
        what = f"the name is {made.name!r}, its folder is {folder!r}"
        source.fault(("name",), what, f"write name: {folder}", False)
    if folder in RESERVED:
        what, cure = f"no stage can be called {folder!r}, which is a command", "rename its folder"
        source.fault(("name",), what, cure)
    _unfit(source, (), made, known, source.row)
    return made


def _unfit(source: Source, path: tuple, made: Stage, known: Known, row: dict) -> None:
    """What does not go together in a stage, as far as its record says it."""
    for key, given, names in (
        ("completion", made.completion, known.completions),
        ("agent", made.agent, known.agents),
        ("validator", made.validator, known.validators),
    ):
        if key in row and given and given not in names:
            near = difflib.get_close_matches(given, names, 1)
            cure = f"write {near[0]}" if near else "give one of " + ", ".join(names)
            source.fault((*path, key), f"there is no {key} {given[:40]!r}", cure)
    if made.completion == PLATEAU:
        if VOTE not in made.markers.values():
            cure = f"write output_parse: plateau:{VOTE}, and ask for that line in the prompt"
            what = f"{PLATEAU} without {VOTE} in output_parse"
            source.fault((*path, "completion"), what, cure)
        if made.min_iterations < 2:
            what = f"{PLATEAU} with min_iterations {made.min_iterations}"
            cure = "write min_iterations: 2 or more"
            source.fault((*path, "min_iterations"), what, cure, False)


def prompt_faults(
    made: Stage, earlier: Collection[str] | None = None, first: bool = False
) -> Iterator[Fault]:
    """What is wrong with a stage's prompt. earlier: names of the stages before it in its pipeline;
    None: it stands in none, so that nothing is known of inputs."""
    for name, line in template.used(made.text):
        if not template.is_known(name):
            near = difflib.get_close_matches(name, template.NAMES, 1)
            cure = f"write ${{{near[0]}}}" if near else f"write $${{{name}}} for these very words"
            yield Fault(made.prompt_file, line, f"unknown variable ${{{name}}}", cure, False)
        elif earlier is not None and name.startswith(template.OF_STAGE):
            stage_name = name.removeprefix(template.OF_STAGE)
            if stage_name not in earlier:
                what = f"${{{name}}} names no stage before this one"
                cure = "name one of " + ", ".join(earlier) if earlier else "it is the first stage"
                yield Fault(made.prompt_file, line, what, cure)
        elif first and name == template.INPUTS:
            what, cure = "the first stage uses ${INPUTS}", "there is nothing before it"
            yield Fault(made.prompt_file, line, what, cure, False)


def pipeline(source: Source, name: str, known: Known, find: Find) -> Pipeline:
    """The pipeline of a file."""
    row = source.row
    for key in row:
        if key == "parallel":
            what, cure = "parallel has no effect", "stages run one after the other: remove it"
            source.fault((key,), what, cure, False)
        elif key not in ("name", "description", "stages"):
            cure = "known: name, description, stages"
            source.fault((key,), f"unknown key {str(key)[:40]!r}", cure)
    if not row.get("name"):
        source.fault((), "there is no name", f"write name: {name}")
    elif type(row["name"]) not in (str, int):
        source.fault(("name",), "the name is no text", f"write name: {name}")
    rows = row.get("stages")
    if type(rows) is not list or not rows:
        cure = "write stages: with a list of {name, stage, runs}"
        source.fault(("stages",), "there are no stages", cure)
        rows = []
    entries: list[Entry] = []
    for number, one in enumerate(rows):
        path = ("stages", number)
        if type(one) is not dict:
            source.fault(path, f"stage {number + 1} is no record", "write {name, stage, runs}")
            continue
        entry = _entry(source, path, one, known, find)
        _place(source, path, entry, entries, one)
        entries.append(entry)
    description = row.get("description")
    text = description.strip() if type(description) is str else ""
    return Pipeline(str(row.get("name") or name), tuple(entries), text)


def _entry(source: Source, path: tuple, row: dict, known: Known, find: Find) -> Entry:
    """One stage of a pipeline: that of a name, or one with its prompt inline."""
    fields = _fields(source, path, row, {**_STAGE, **_ENTRY}, _STAGE_OF)
    own = {key: fields.pop(key) for key in _ENTRY if key in fields}
    named = next((row[key] for key in _STAGE_OF if row.get(key)), "")
    inline = fields.pop("prompt", "") if not named else ""
    if named and "prompt" in row:
        source.fault((*path, "prompt"), "it has both a stage and a prompt", "keep one of them")
    found: Stage | None = None
    if named:
        found, wrong = find(str(named))
        source.faults.extend(wrong)
        if found is None and not any(fault.error for fault in wrong):
            what = f"there is no stage {str(named)[:40]!r}"
            source.fault((*path, "stage"), what, "see loopkit run")
    elif not inline:
        cure = "write stage: with a name that loopkit run lists"
        source.fault(path, "it has neither stage nor prompt", cure)
    name = str(fields.get("name") or "")
    base = found or Stage(name or "stage", text=inline, prompt_file=source.file)
    fields.pop("name", None)
    fields.pop("prompt", None)
    made = base._replace(**fields)
    if found is None or row.keys() & _FITTING:
        _unfit(source, path, made, known, row)
    if "runs" not in row:
        cure = "write how often it may run"
        source.fault(path, "runs is missing, so it runs once", cure, False)
    return Entry(name, made, **{"runs": 1, **own}, named=str(named))


def _place(source: Source, path: tuple, entry: Entry, before: list[Entry], row: dict) -> None:
    """What is wrong with a stage in its place: its name, the inputs that it asks for."""
    names = [one.name for one in before]
    if not row.get("name"):
        source.fault(path, "the stage has no name", "write name: with a word of its own")
    elif entry.name in names:
        cure = "each stage needs a name of its own"
        source.fault((*path, "name"), f"two stages are named {entry.name!r}", cure)
    elif not is_name(entry.name):
        cure = "write lower-case letters, digits and hyphens"
        source.fault((*path, "name"), f"the name is {entry.name[:40]!r}", cure)
    inline = source.lines.get((*path, "prompt"), 1)  # an inline prompt's lines are the pipeline's
    for fault in prompt_faults(entry.stage, names, not before):
        source.faults.append(fault if entry.named else fault._replace(line=inline))


def single(found: Stage, runs: int) -> Pipeline:
    """A stage as a pipeline of its own."""
    return Pipeline(found.name, (Entry(found.name, found, runs, named=found.name),), single=True)
