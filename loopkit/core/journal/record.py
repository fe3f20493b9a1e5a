"""`class Task(Record)`: a named tuple with annotated fields and defaults, as typing.NamedTuple,
which a hook cannot afford.

Measured in starts of a bare interpreter: dataclasses costs half of one, typing a quarter, this
nothing.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as Record
else:

    class _Maker(type):
        def __new__(cls, name: str, bases: tuple, body: dict) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body["__annotations__"])
            defaults = [body.pop(field) for field in fields if field in body]
            base = namedtuple(name, fields, defaults=defaults)
            return type(name, (base,), {**body, "__slots__": ()})

    class Record(metaclass=_Maker):
        pass
