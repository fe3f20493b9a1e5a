"""Words of a person, a model or a file within text of ours: one line, bounded; names of loops."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Sequence

#: What stands behind a `<` that begins no tag; nothing does so too.
_NO_TAG = ("", *" \t\n0123456789=-")


#: A word that is longer than that is cut, where a line has to be.
_WORD = 24


#: What colours or steers a terminal: CSI, strings (OSC and the like) to their end or that of the
#: line, anything else behind an escape. Each may have been cut short.
_ESCAPES = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_BEGINS = ("\x1b", "\x9b", "\x90", "\x98", "\x9d", "\x9e", "\x9f")


def plain(text: str) -> str:
    """A text without what colours or steers a terminal."""
    if not any(letter in text for letter in _BEGINS):
        return text
    import re  # rare

    return re.sub(_ESCAPES, "", text)


def clean(text: str, most: int) -> str:
    """One line of somebody's text: nothing in it colours or steers a terminal, control characters
    become spaces, at most `most` characters, whole words alone."""
    if not text[: most + 1].isprintable():
        text = plain(text[: 20 * most + 200])
    shown = "".join(letter if letter.isprintable() else " " for letter in text[: most + 1])
    if len(shown) <= most:
        return shown
    head, _, word = shown[:most].rpartition(" ")
    return (head if head.strip() and len(word) <= _WORD else shown[: most - 1]) + "…"


def line(words: object, most: int) -> str:
    """Somebody's words on one line, at most `most` characters, with single blanks."""
    return clean(" ".join(str(words).split()), most)


def few(rows: Sequence[str], most: int, longest: int = 300) -> str:
    """`a, b and 3 more`: the first of some words on one line, at most `longest` characters each."""
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return ", ".join(clean(row, longest) for row in rows[:most]) + more


def last(text: str, most: int) -> str:
    """The end of a text in one line, at most `most` characters, if it can from a word on."""
    if len(text) > most:
        end = text[-most - 1 :]  # with the character before
        whole = end if end[0].isspace() else "".join(end.split(None, 1)[1:]) or end[1:]
        text = f"… {whole.strip()}"
    return clean(text, most + 2)


def short(text: str, most: int) -> str:
    """The same without white space that says nothing, and without a comma before the cut."""
    cut = line(text[: 4 * most], most)
    return cut[:-1].rstrip(" ,;:.") + "…" if cut.endswith("…") else cut


def untagged(text: str) -> str:
    """Somebody's text in which no `<` begins or ends a block of a prompt; comparisons stay."""
    first, *rest = text.split("<")
    return first + "".join(("<" if part[:1] in _NO_TAG else "‹") + part for part in rest)


def subject(text: str, most: int) -> str:
    """A task's subject within a line of ours: cut like `clean`, without the marks between which our
    own commands and paths stand, so that no subject can bring any of its own."""
    return clean(text, most).replace("`", "'")


def count(number: int, one: str, many: str = "") -> str:
    """A number with its word: `1 issue`, `2 issues`; many: a plural without an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


# -- names of loop folders: `001-add-user-auth`

_STOP = frozenset(
    "a an the to of in on at for and or with by from into is are be it its this that we i you "
    "please can could should "
    "make sure so as our my your not do does when where which will would".split()
)
LONGEST, MOST_WORDS = 40, 5
MOST_DIGITS = 9


def slug(text: str) -> str:
    """3-5 keywords of a request in kebab-case, ASCII, at most 40 characters; `task` for nothing."""
    import re  # hooks, which only clean, do without both
    import unicodedata

    plain = unicodedata.normalize("NFKD", text[:2000]).encode("ascii", "ignore").decode().lower()
    words = [word for word in re.findall(r"[a-z0-9]+", plain) if word not in _STOP]
    result = ""
    for word in words[:MOST_WORDS]:
        longer = f"{result}-{word}" if result else word
        if len(longer) <= LONGEST:  # a long word is left out, never cut
            result = longer
    return result or "task"


def loop_folder(number: int, text: str, name: str = "") -> str:
    """`001-add-user-auth` of a loop's number and request, or name; four digits from 1000 on."""
    return f"{number:03d}-{name or slug(text)}"


def loop_name(folder: str) -> str:
    """The name in a loop's folder, `add-user-auth`."""
    return folder.partition("-")[2]


def loop_number(name: str) -> int | None:
    """The number of a loop folder, archive or purge mark, or None for any other name."""
    number, dash, _ = name.partition("-")
    return int(number) if dash and len(number) >= 3 and is_number(number) else None


def is_number(text: str) -> bool:
    """Whether a text is a number that a loop may have; what came along may be of any length."""
    return len(text) <= MOST_DIGITS and text.isascii() and text.isdigit()
