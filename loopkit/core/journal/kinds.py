"""Kinds of values in journal lines, as annotations of a record's fields.

A type checker sees plain types. At run time each name is a `Kind`: a rule that a value fits, and
what it becomes for the fold.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
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

#: Numbers at most: what fits a double without loss, and what an amount of money, seconds or tokens
#: can be.
_WHOLE, _AMOUNT = 1 << 53, 1e15


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _WHOLE


def _is_amount(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < _AMOUNT  # type: ignore[operator]


def _is_task_id(value: object) -> bool:
    """`T-` and up to ten digits, as task.number takes them."""
    return (
        type(value) is str
        and value[:2] == "T-"
        and value[2:].isdigit()
        and value.isascii()
        and len(value) <= 12
    )


def _is_worktree_path(value: object) -> bool:
    """`worktrees/` and a name, as a task's worktree lies in the loop's folder."""
    return (
        type(value) is str and value[:10] == "worktrees/" and value[10:].replace("-", "").isalnum()
    )


def _is_object_id(value: object) -> bool:
    """The id of an object of git's: nothing else may reach it as an argument."""
    return type(value) is str and len(value) in (40, 64) and not value.strip("0123456789abcdef")


def _is_stage(value: object) -> bool:
    from .stages import ORDER  # few lines move a stage

    return value in ORDER


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
    "TaskId": Kind(_is_task_id),
    "ObjectId": Kind(_is_object_id),
    "WorktreePath": Kind(_is_worktree_path),
    "StageName": Kind(_is_stage),
    "Figures": Kind(_are_figures),
    "TextOrTexts": Kind(_is_text_or_texts),
    "Anything": Kind(lambda value: True),
    "str": str,
    "list": _ListOf(),
    "dict": _TableOf(),
}
