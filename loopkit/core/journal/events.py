"""Events of a log: one JSON object a line, `{"v":1,"at":…,"type":…,"by":…,"data":{…}}`, and what
defines them.

An event type is a class: its name on disk is the class's in small letters (`TaskStarted`:
task_started), its annotations are the fields with their kinds and defaults (one without a default
is required), `fold` is what it changes. Others that follow from it stand in functions under `on`.
A `Table` holds the types of one kind of log.

A type checker sees the kinds in annotations as plain types. At run time each name is a `Kind`: a
rule that a value fits, and what it becomes for the fold.
"""

from __future__ import annotations

from collections import namedtuple

from . import jsons

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any

    Text = str
    TaskId = str
    ObjectId = str
    WorktreePath = str
    StageName = str
    TextOrTexts = str | list[str]
    Whole = int
    Count = int
    Number = int
    Amount = float
    Figures = list[float]
    Flag = bool
    Anything = Any

VERSION = 1

#: An event to be written: (type, data).
Change = tuple
#: One line. `at`: UTC stamp; `by`: session:<id>, hook, run:<name> or person; `data`: its fields.
Event = namedtuple("Event", "type data at by")

#: The stages of a loop, in their order.
STAGES = ("intent", "shape", "decompose", "executing", "review", "complete")

# -- kinds of values

#: Numbers at most: what fits a double without loss, an amount of money, seconds or tokens.
_WHOLE, _AMOUNT = 1 << 53, 1e15


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _WHOLE


def _is_amount(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < _AMOUNT  # type: ignore[operator]


def is_task_id(value: object) -> bool:
    """`T-` and up to ten digits."""
    if type(value) is not str or value[:2] != "T-" or len(value) > 12:
        return False
    return value[2:].isdigit() and value.isascii()


def _is_worktree_path(value: object) -> bool:
    """`worktrees/` and a name, as a task's worktree lies in the loop's folder."""
    text = value if type(value) is str else ""
    return text[:10] == "worktrees/" and text[10:].replace("-", "").isalnum()


def _is_object_id(value: object) -> bool:
    """The id of an object of git's: nothing else may reach it as an argument."""
    return type(value) is str and len(value) in (40, 64) and not value.strip("0123456789abcdef")


def _is_text_or_texts(value: object) -> bool:
    return type(value) is str or type(value) is list and all(type(one) is str for one in value)


def _are_figures(value: object) -> bool:
    """What is counted of a model, at the least the first four of pricing.COUNTED."""
    return type(value) is list and len(value) >= 4 and all(map(_is_amount, value))


class Kind:
    """fits: whether a value is of this kind · make: what the fold gets of it; None: the value
    itself · unknown: names of undeclared fields in rows within it; None: there are no rows."""

    __slots__ = ("fits", "make", "unknown")

    def __init__(self, fits: Any, make: Any = None, unknown: Any = None) -> None:
        self.fits, self.make, self.unknown = fits, make, unknown

    def __or__(self, none: None) -> Kind:
        fits, make, unknown = self.fits, self.make, self.unknown
        return Kind(
            lambda value: value is None or fits(value),
            make and (lambda value: None if value is None else make(value)),
            unknown and (lambda value: () if value is None else unknown(value)),
        )


def kind_of(annotation: str, names: dict) -> Kind:
    """The kind that an annotation says; `names`: those of its module."""
    inner = annotation.removesuffix(" | None")
    kind = NAMES.get(inner) or _kind(eval(inner, names, NAMES))
    return kind if inner == annotation else kind | None


def _kind(value: Any) -> Kind:
    """Of rows: what their class says."""
    return value if type(value) is Kind else Kind(value.fits, value, value.unknown)


class _ListOf:
    def __getitem__(self, of: Any) -> Kind:
        kind = _kind(of)
        fits, make, unknown = kind.fits, kind.make, kind.unknown
        return Kind(
            lambda value: type(value) is list and all(map(fits, value)),
            make and (lambda value: list(map(make, value))),
            unknown and (lambda value: (name for one in value for name in unknown(one))),
        )


class _TableOf:
    """A table by names: `dict[str, Count]`; null stands for an empty one."""

    def __getitem__(self, of: tuple) -> Kind:
        rows = _ListOf()[of[1]]
        fits, make, unknown = rows.fits, rows.make or list, rows.unknown
        return Kind(
            lambda value: value is None or type(value) is dict and fits(list(value.values())),
            lambda value: dict(zip(value, make(value.values()))) if value else {},
            unknown and (lambda value: unknown((value or {}).values())),
        )


#: What the names in annotations stand for at run time.
NAMES: dict[str, Any] = {
    "Text": Kind(lambda value: type(value) is str),
    "Flag": Kind(lambda value: value is None or type(value) is bool, bool),
    "Whole": Kind(lambda value: type(value) is int and -_WHOLE < value < _WHOLE),
    "Count": Kind(_is_count),
    "Number": Kind(lambda value: _is_count(value) and value != 0),
    "Amount": Kind(_is_amount),
    "TaskId": Kind(is_task_id),
    "ObjectId": Kind(_is_object_id),
    "WorktreePath": Kind(_is_worktree_path),
    "StageName": Kind(lambda value: value in STAGES),
    "Figures": Kind(_are_figures),
    "TextOrTexts": Kind(_is_text_or_texts),
    "Anything": Kind(lambda value: True),
    "str": str,
    "list": _ListOf(),
    "dict": _TableOf(),
}


# -- event types


class Fields:
    """Named fields with kinds and defaults: an event type, or rows within one. Declared ones only
    become attributes; `data` is all that was recorded."""

    data: dict
    #: {kind: "names of more fields"}: no fold asks for them by name.
    also: dict[str, str] = {}

    def __init__(self, data: dict) -> None:
        fields, own = self.fields(), self.__dict__
        for name, value in data.items():
            kind = fields.get(name)
            if kind is not None:
                own[name] = value if kind.make is None else kind.make(value)
        own["data"] = data

    @classmethod
    def fields(cls) -> dict[str, Kind]:
        """{name: kind}, worked out when they are first needed."""
        known = cls.__dict__.get("_fields")
        if known is None:
            import sys

            known, required = {}, []
            for base in reversed(cls.__mro__[:-1]):
                names = vars(sys.modules[base.__module__])
                for name, kind in base.__dict__.get("__annotations__", {}).items():
                    if name[0] != "_" and name not in _INHERITED:
                        known[name] = kind_of(kind, names)
                        if not hasattr(cls, name):
                            required.append(name)
                for kind, more in base.__dict__.get("also", {}).items():
                    known.update(dict.fromkeys(more.split(), kind_of(kind, names)))
            cls._fields, cls._required = known, required  # type: ignore[attr-defined]
        return known

    @classmethod
    def fits(cls, data: object) -> bool:
        """Whether each field is of its kind and those that are required are there; others may
        stand beside them: later and earlier versions have other ones."""
        if type(data) is not dict:
            return False
        fields = cls.fields()
        for name in cls._required:  # type: ignore[attr-defined]
            if name not in data:
                return False
        for name, value in data.items():
            kind = fields.get(name)
            if kind is not None and not kind.fits(value):
                return False
        return True

    @classmethod
    def unknown(cls, data: dict) -> Iterator[str]:
        """Names of fields, in rows too, that are declared nowhere."""
        fields = cls.fields()
        for name, value in data.items():
            kind = fields.get(name)
            if kind is None:
                yield name
            elif kind.unknown is not None:
                yield from (f"{name}.{one}" for one in kind.unknown(value))

    def filled(self) -> dict:
        """All that was recorded, and the defaults of what was not."""
        named = [one for one in self.fields() if hasattr(type(self), one)]
        return {**{one: getattr(type(self), one) for one in named}, **self.data}


_INHERITED = ("data", "also", "at")


class EventType(Fields):
    """A type of events; `at` is when it was written."""

    type = ""
    at: str

    def __init_subclass__(cls) -> None:
        name = cls.__name__
        cls.type = "".join("_" + one.lower() if one.isupper() else one for one in name)[1:]

    def __init__(self, data: dict, at: str = "") -> None:
        super().__init__(data)
        self.at = at

    def fold(self, state: Any) -> None:
        """What it changes in the state of its log."""


def on(*types: type[EventType]) -> Callable:
    """Marks a function `(event, state)` that follows from events which another subject defines."""

    def mark(function: Callable) -> Callable:
        function.follows = types  # type: ignore[attr-defined]
        return function

    return mark


class Table:
    """The event types of one kind of log: those that modules define, in the order in which they
    fold. Types of `base` are known and fold elsewhere.

    later: {what imports modules: names of all types that they define or follow}; they are imported,
    and fold after the others, from the first event of one of these on. Its state class has
    `before(event)` and `after(event)`, which every event goes through.
    """

    #: Whether a field that is declared nowhere is refused at writing, as only tests ask.
    strict = False

    def __init__(
        self,
        *modules: ModuleType,
        base: Table | None = None,
        later: dict[Callable[[], tuple[ModuleType, ...]], str] | None = None,
    ) -> None:
        self.types: dict[str, type[EventType]] = dict(base.types) if base is not None else {}
        self.folds: dict[str, list[Callable]] = {}
        self._later = {
            name: read for read, names in (later or {}).items() for name in names.split()
        }
        self._take(modules)

    def _take(self, modules: tuple[ModuleType, ...]) -> None:
        for module in modules:
            for value in vars(module).values():
                if getattr(value, "__module__", None) != module.__name__:
                    continue
                if isinstance(value, type) and issubclass(value, EventType):
                    if self.types.setdefault(value.type, value) is not value:
                        raise TypeError(f"two event types are named {value.type}")
                    if value.fold is not EventType.fold:
                        self.folds.setdefault(value.type, []).append(value.fold)
                for followed in getattr(value, "follows", ()):
                    self.folds.setdefault(followed.type, []).append(value)

    def known(self, name: str) -> type[EventType] | None:
        """The type of this name, if it is defined."""
        if name in self._later:
            read = self._later[name]
            self._take(read())
            self._later = {name: one for name, one in self._later.items() if one is not read}
        return self.types.get(name)

    def decode(self, line: bytes) -> Event | None:
        """The event of a line, or None where the line is not one (torn, damaged, a field of another
        kind). Unknown types are events that change nothing."""
        try:
            record = _DECODE(line.decode("utf-8", "surrogatepass"))
            data, name, at, by = record["data"], record["type"], record["at"], record["by"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if type(data) is not dict or not type(name) is type(at) is type(by) is str:
            return None
        known = self.known(name)
        return Event(name, data, at, by) if known is None or known.fits(data) else None

    def check(self, events: list[Event]) -> None:
        """Raises TypeError where the program is about to write what it has not defined."""
        for event in events:
            known = self.known(event.type)
            if known is None:
                raise TypeError(f"no event type {event.type} is defined")
            for name in known.unknown(event.data) if self.strict else ():
                raise TypeError(f"{event.type} has no field {name}")

    def apply(self, state: Any, event: Event) -> None:
        """Take one event into account."""
        state.before(event)
        known = self.known(event.type)
        folds = self.folds.get(event.type)
        if known is not None and folds:
            record = known(event.data, event.at)
            for fold in folds:
                fold(record, state)
        state.after(event)


def encode(event: Event) -> bytes:
    """The line of an event, newline included. Always UTF-8: lone surrogates are escaped."""
    record = {"v": VERSION, "at": event.at, "type": event.type, "by": event.by, "data": event.data}
    return encoded(record, compact=True) + b"\n"


def encoded(value: object, compact: bool = False, indent: int | None = None) -> bytes:
    """JSON in readable UTF-8; what that does not know, lone surrogates, is escaped."""
    try:
        return jsons.dumps(value, ascii=False, compact=compact, indent=indent).encode()
    except UnicodeEncodeError:
        return jsons.dumps(value, compact=compact, indent=indent).encode()


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


_DECODE = jsons.reader(_no_number)
