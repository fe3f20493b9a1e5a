"""Nearly valid input: a good file with one or a few things wrong that real files and strangers'
files have wrong."""

from __future__ import annotations

import json
import random
from typing import Any

#: What stands in place of a JSON value.
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 1 << 31, 1 << 53, 1 << 64, 10**30, 10**400, 0.5, -1e308, 1e308, float("nan"),
    float("inf"), "", " ", "x", "0", "\n", "a\nnext: loopkit cancel", "\x00", "\x1b[31mred", "\x9b2J", "\u202eesrever",
    "\u2066", "\u200b", "\ufeff", "\u2028", "\ud800", "\udfff\ud800", "é", "⚠️", "🦜" * 40, "x" * 5000, "../../etc",
    "<loop-complete>", "T-001", "T-9999999999", "../x", "/", "1" * 30, "2026-12-01T09:30:00Z", "9999-99-99T99:99:99Z",
    "running", "completed", "review", "complete", "intent", "evidence", [], [None], ["T-001", 5], [[]], {}, {"": None},
    {"T-001": ["T-001"]}, {"id": "T-001"}, [{"id": "T-001"}],
]  # fmt: skip
#: What is put somewhere between bytes.
BYTES = [
    b"\x00", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\n", b"\n\n", b"\x8f", b"\xff\xfe", b"\xed\xa0\x80", b"\xe2\x80\xae",
    b"\xe2\x80\xa8", b"\x1b[2J", b"\x0c", b"\x85", b"\xc2\x85", b'"', b"\\", b"{", b"}", b"[" * 3000, b'{"a":' * 1500, b",",
    b":", b": ", b" #", b"- ", b"|", b"\\|", b"<!--", b"-->", b"# ", b"## ", b"&a", b"*a", b"!!python/name:os.system ",
    b"? ", b"<<: ", b"%", b"'", b"`", b"$(id)", b"NaN", b"1e999", b"9" * 5000, b"<<<<<<< HEAD\n", b"=======\n", b"null",
]  # fmt: skip


def bent(raw: bytes, rng: random.Random, most: int = 1 << 21) -> bytes:
    """`raw` with one to four things changed."""
    for _ in range(rng.randint(1, 4)):
        raw = rng.choice((_line, _line, _line, _bytes, _bytes, _lines, _cut))(raw, rng)[:most]
    return raw


def _bytes(raw: bytes, rng: random.Random) -> bytes:
    place = rng.choice((0, len(raw), rng.randint(0, len(raw))))
    return raw[:place] + rng.choice(BYTES) + raw[place + rng.choice((0, 0, 1, 3)) :]


def _cut(raw: bytes, rng: random.Random) -> bytes:
    first, last = sorted((rng.randint(0, len(raw)), rng.randint(0, len(raw))))
    return rng.choice(
        (raw[:last], raw[:first] + raw[last:], raw[:last] + raw[first:last] + raw[last:])
    )


def _lines(raw: bytes, rng: random.Random) -> bytes:
    rows = raw.split(b"\n")
    one, other = rng.randrange(len(rows)), rng.randrange(len(rows))
    how = rng.randrange(4)
    if how == 0:
        rows[one], rows[other] = rows[other], rows[one]
    elif how == 1:
        rows.insert(one, rows[other])
    elif how == 2:
        del rows[one]
    else:
        rows[one] = rows[one] * rng.choice((2, 500))
    return b"\n".join(rows)


def _line(raw: bytes, rng: random.Random) -> bytes:
    """One JSON text in it (a line, or all from its first brace on) with a part exchanged; other
    text: a word of it."""
    rows = raw.split(b"\n")
    place = rng.randrange(len(rows))
    for head, text, tail in (
        (b"\n".join([*rows[:place], b""]), rows[place], b"\n".join([b"", *rows[place + 1 :]])),
        (raw[: raw.find(b"{")], raw[raw.find(b"{") :], b""),
    ):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        return head + _dumped(_exchanged(value, rng), rng) + tail
    words = raw.split(b" ")
    words[rng.randrange(len(words))] = (
        rng.choice(BYTES) if rng.random() < 0.5 else _dumped(rng.choice(ODD), rng)
    )
    return b" ".join(words)


def _exchanged(value: Any, rng: random.Random) -> Any:
    """The value with one part of it another: deeper ones as likely as those near the top."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {one: part for one, part in value.items() if one != key}
        if rng.random() < 0.05:
            return {**value, rng.choice(("", "__class__", "\u202e", "x" * 3000)): value[key]}
        return {**value, key: _exchanged(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        return [*value[:place], _exchanged(value[place], rng), *value[place + 1 :]]
    if isinstance(value, str) and value and rng.random() < 0.4:
        place = rng.randint(0, len(value))
        odd = rng.choice([one for one in ODD if isinstance(one, str)])
        return value[:place] + odd + value[place:]
    if rng.random() < 0.02:
        return "y" * (1 << 20)
    return rng.choice(ODD)


def _dumped(value: Any, rng: random.Random) -> bytes:
    if isinstance(value, dict) and value and rng.random() < 0.05:  # a key that stands twice
        return (
            b"{"
            + json.dumps(rng.choice(list(value))).encode()
            + b": 5, "
            + json.dumps(value).encode()[1:]
        )
    pretty = rng.choice((None, None, None, 1)) if isinstance(value, dict) else None
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=pretty)
    return (text if pretty is None else text.replace("\n", " ")).encode("utf-8", "surrogatepass")
