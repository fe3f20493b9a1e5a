"""JSON by the standard library's C functions alone. Its package imports `re` and what that needs,
which takes a hook as long as all else that it does; it is asked where anything is out of the
ordinary: faults, another Python, indented text."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BLANKS = " \t\n\r"


class _Rules:
    """What the scanner asks for."""

    strict, memo = True, None
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int

    def __init__(self, constant: Callable[[str], float]) -> None:
        self.parse_constant = constant


def reader(constant: Callable[[str], float] = float) -> Callable[[str], Any]:
    """`json.loads` for text; constant: gives the value of NaN, Infinity and -Infinity."""

    def asked(text: str) -> Any:
        import json

        return json.loads(text, parse_constant=constant)

    def read(text: str) -> Any:
        try:
            value, end = scan(text, len(text) - len(text.lstrip(_BLANKS)))
        except (StopIteration, SystemError, ValueError):  # the package has words for it
            return asked(text)
        return asked(text) if text[end:].strip(_BLANKS) else value

    try:
        from _json import make_scanner

        scan = make_scanner(_Rules(constant))  # type: ignore[arg-type]
        return read if read("[1.5]") == [1.5] else asked
    except Exception:
        return asked


def dumps(
    value: object,
    ascii: bool = True,
    compact: bool = False,
    sort: bool = False,
    indent: int | None = None,
) -> str:
    """`json.dumps`; compact: without blanks."""
    colon, comma = (":", ",") if compact else (": ", ", ")
    if _texts is None or indent is not None:
        import json

        signs = (",", ": ") if indent is not None else (comma, colon)
        return json.dumps(
            value, ensure_ascii=ascii, separators=signs, sort_keys=sort, indent=indent
        )
    encoder = make_encoder({}, _refuse, _texts[ascii], None, colon, comma, sort, False, True)
    return "".join(encoder(value, 0))


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is no value of JSON")


loads = reader()
_texts = None
try:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder

    _texts = (encode_basestring, encode_basestring_ascii)
    if dumps({"a": [1.5, "é"]}) != '{"a": [1.5, "\\u00e9"]}':
        _texts = None
except Exception:
    _texts = None
