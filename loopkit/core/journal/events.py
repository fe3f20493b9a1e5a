"""Events of a log: one JSON object a line, `{"v":1,"at":…,"type":…,"by":…,"data":{…}}`, and what
defines them.

An event type is a class: its name on disk is the class's in small letters (`TaskStarted`:
task_started), its annotations are the fields with their kinds and defaults (one without a default
is required), `fold` is what it changes. Others that follow from it stand in functions under `on`.
A `Table` holds the types of one kind of log.
"""

from __future__ import annotations

import json
from collections import namedtuple

from . import kinds

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any

VERSION = 1

#: An event to be written: (type, data).
Change = tuple
#: One line. `at`: UTC stamp; `by`: session:<id>, hook, run:<name> or person; `data`: the type's own
#: fields.
Event = namedtuple("Event", "type data at by")


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
    def fields(cls) -> dict[str, kinds.Kind]:
        """{name: kind}, worked out when they are first needed."""
        known = cls.__dict__.get("_fields")
        if known is None:
            import sys

            known, required = {}, []
            for base in reversed(cls.__mro__[:-1]):
                names = vars(sys.modules[base.__module__])
                for name, kind in base.__dict__.get("__annotations__", {}).items():
                    if name[0] != "_" and name not in _INHERITED:
                        known[name] = kinds.kind_of(kind, names)
                        if not hasattr(cls, name):
                            required.append(name)
                for kind, more in base.__dict__.get("also", {}).items():
                    known.update(dict.fromkeys(more.split(), kinds.kind_of(kind, names)))
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

    Its state class has `before(event)` and `after(event)`, which every event goes through.
    """

    #: Whether a field that is declared nowhere is refused at writing: it harms no reader, so only
    #: tests ask for it.
    strict = False

    def __init__(self, *modules: ModuleType, base: Table | None = None) -> None:
        self.types: dict[str, type[EventType]] = dict(base.types) if base is not None else {}
        self.folds: dict[str, list[Callable]] = {}
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

    def decode(self, line: bytes) -> Event | None:
        """The event of a line, or None where the line is not one (torn, damaged, a field of another
        kind). Unknown types are events that change nothing."""
        try:
            record = _DECODER.decode(line.decode("utf-8", "surrogatepass"))
            data, name, at, by = record["data"], record["type"], record["at"], record["by"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if type(data) is not dict or not type(name) is type(at) is type(by) is str:
            return None
        known = self.types.get(name)
        return Event(name, data, at, by) if known is None or known.fits(data) else None

    def check(self, events: list[Event]) -> None:
        """Raises TypeError where the program is about to write what it has not defined."""
        for event in events:
            known = self.types.get(event.type)
            if known is None:
                raise TypeError(f"no event type {event.type} is defined")
            for name in known.unknown(event.data) if self.strict else ():
                raise TypeError(f"{event.type} has no field {name}")

    def apply(self, state: Any, event: Event) -> None:
        """Take one event into account."""
        state.before(event)
        folds = self.folds.get(event.type)
        if folds:
            record = self.types[event.type](event.data, event.at)
            for fold in folds:
                fold(record, state)
        state.after(event)


def encode(event: Event) -> bytes:
    """The line of an event, newline included. Readable text; lone surrogates are escaped, so it is
    always UTF-8."""
    record = {"v": VERSION, "at": event.at, "type": event.type, "by": event.by, "data": event.data}
    try:
        return (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(record, separators=(",", ":")) + "\n").encode()


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number)
