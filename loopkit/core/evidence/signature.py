"""The signature of an error: its first telling line without what differs from run to run."""

from __future__ import annotations

import re

from ..journal import prose

#: Characters of a text's begin and end that are looked at, of a line, and of a signature.
LOOKED, LONGEST_LINE, LONGEST = 65_536, 400, 160

# -- which line

#: A line that says what is wrong, whatever else is printed: pytest's `E`, a named exception,
#: `error:`, `panic:`, a compiler's or Go test's `file:line: …`.
_SURE = re.compile(
    r"E {2,}\S"
    r"|(?:Uncaught |Caused by: |Exception in thread \"[^\"]*\" )?"
    r"(?:[A-Za-z_$][\w$]*[.:]{1,2})*[A-Za-z_]\w*(?:Error|Exception)\b(?: \[\w+\])?(?::|$)"
    r"|(?i:(?:fatal )?error(?:\[\w+\])?\s*:|fatal\s*:|panic\s*:)"
    r"|thread '[^']*' (?:\(\d+\) )?panicked at "
    r"|[^\s:()]+(?::\d+){1,2}:?\s+(?!warning|note|info|in |help)\S"
    r"|[^\s:()]+\(\d+,\d+\):\s+(?:fatal )?error\b"
)
#: A line that names the test which failed.
_TEST = re.compile(
    r"● (?!Test suite failed)\S|not ok \d+|--- FAIL: |FAILED \S+::|(?:FAIL|ERROR): \w+ \("
)
#: A line with a word of trouble in it.
_MAYBE = re.compile(
    r"\b(?:fail(?:ed|ure|s)?|errors?|err!|cannot|can't|could(?: not|n't)|not found|no such"
    r"|no module|no rule|undefined|unresolved|denied|refused|missing|unexpected|exception|timed out"
    r"|timeout|expected|mismatch|invalid|killed|segmentation fault|assert(?:ion)?)\b",
    re.IGNORECASE,
)
#: Headings, counts and frames that only say that there was an error.
_EMPTY = re.compile(
    r"\W*(?:failures|errors)\W*$|[=_-]{3,} ?.* ?[=_-]{3,}$|Traceback \(most recent call last\)|\$ "
    r"|\[exit -?\d+ in|\d+ (?:errors?|failed|failures?)\b|● Test suite failed to run"
    r"|(?:There (?:was|were)|Found) \d+ (?:errors?|failures?)\b"
    r"|> Task \S+ FAILED|\[xUnit\.net |[*~]{3,}$|(?:Expected|Actual|Received|Got|Error Message)\W*$"
    r"|FAIL(?:ED)?\s*\S*(?: \(.*\))?$|(?:test )?\S+ \.\.\. |Error Trace:"
    r"|File \"|\.{3,}|[FE.]+\s*(?:\[ *\d+%\])?$",
    re.IGNORECASE,
)
_PANIC = re.compile(r"thread '[^']*' (?:\(\d+\) )?panicked at '(.*)', \S+$")
_PANIC_BELOW = re.compile(r"thread '[^']*' (?:\(\d+\) )?panicked at \S+:\d+:\d+:$")

# -- what of it

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]m\b)?"
_ZONE = r"(?:z\b|[+-]\d{2}:?\d{2}\b|\s(?:utc|gmt|[ceg]?est|ces?t|[pm][sd]t)\b)?"
#: (what is replaced, by what), one after the other, on a line in lower case.
_REPLACED = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        (r"\b[a-z][a-z0-9+.-]{1,20}://[^\s'\"<>)\]]+", "<url>"),
        (
            r"(?<!\w)(?:\"[^\"]*\"|'[^']*'(?!\w)|`[^`']*[`']|“[^”]*”|‘[^’]*’|«[^»]*»|„[^“”]*[“”])",
            "<text>",
        ),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<id>"),
        (rf"\b\d{{4}}[-/.]\d{{2}}[-/.]\d{{2}}(?:[t ]{_CLOCK}{_ZONE})?", "<time>"),
        (rf"\b\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}(?:,? {_CLOCK}{_ZONE})?", "<time>"),
        (
            rf"\b(?:(?:mon|tue|wed|thu|fri|sat|sun)\w*,? )?(?:(?:{_MONTH})[a-z]*\.? +\d{{1,2}}\b"
            rf"|\d{{1,2}} (?:{_MONTH})[a-z]*\b)"
            rf"(?:,? \d{{4}}\b)?(?:,? {_CLOCK}{_ZONE})?(?: \d{{4}}\b)?",
            "<time>",
        ),
        # `3:5` before the message, as linters put it, and ports of addresses, are no times of day
        (r"^\d+:\d+(?= +\D)", "<path>"),
        (
            r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\w.])"
            r"|\[[0-9a-f]{0,4}(?::[0-9a-f.]{0,15}){2,9}(?:%\w+)?\](?::\d+)?",
            "<host>",
        ),
        (rf"(?<![\w:]){_CLOCK}{_ZONE}(?![\w:])", "<time>"),
        # from a root, or with a folder, or with an ending that files have; with line and column
        (
            r"(?:(?<![\w/\\])(?:[a-z]:[\\/]|~?/|\.{1,2}[\\/]|\\\\)[^\s:;,'\"()<>\[\]]+"
            r"|(?<![\w/\\.-])[\w.@+-]+(?:[\\/][\w.@+-]+)+"
            r"|(?<![\w/\\.-])[\w-]+(?:\.[\w-]+)*\.(?:py|pyx|go|rs|jsx?|tsx?|mjs|cjs|vue|java|kt"
            r"|scala|c|h|cc|cpp|hpp|cs|rb|php|pl|lua"
            r"|swift|sh|mk|toml|ya?ml|json|xml|html|css|md|txt|cfg|ini|lock|so|o|a|dll|exe|jar|log"
            r"|tmp|csv|sql)\b|\bmakefile\b)"
            r"(?:::[\w\[\]:.-]+)?(?:(?::\d+)+:?|\(\d+(?:,\d+)?\):?)?",
            "<path>",
        ),
        (r"\b0x[0-9a-f]+\b", "<hex>"),
        (r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b", "<hex>"),
        (r"\b[a-z]{1,4}-\d{2,}\b", "<id>"),
        (r"^make\[\d+\]", "make"),
        (
            r"(?<![\w.])[-+]?\d+(?:[_,]\d+)*(?:\.\d+)*(?:e[-+]?\d+)?"
            r"(?: ?(?:[nuµm]?s|sec|seconds?|min|minutes?|[kmg]i?b)\b|%)?",
            "<n>",
        ),
        (r"(?<=[a-z])-\d+\b", "-<n>"),
    )
)


def line_of(text: str) -> str:
    """The line of an output or an error's text that says what is wrong; "" where there is none."""
    if len(text) > 2 * LOOKED:
        text = text[:LOOKED] + "\n" + text[-LOOKED:]
    lines = prose.plain(text).splitlines()
    stripped = (_CONTROL.sub("", line[:LONGEST_LINE]).strip() for line in lines)
    rows = [row for row in stripped if row]
    test = maybe = first = None
    for number, row in enumerate(rows, 1):
        if _SURE.match(row) and not _TEST.match(row):
            return _told(row, rows[number : number + 1])
        if test is None and _TEST.match(row):
            test = row
        elif _EMPTY.match(row):
            continue
        if maybe is None and _MAYBE.search(row):
            maybe = row
        first = row if first is None else first
    return test or maybe or first or ""


def _told(row: str, below: list[str]) -> str:
    panic = _PANIC.match(row)
    if panic:
        return "panic: " + panic[1]
    if _PANIC_BELOW.match(row):
        return "panic: " + "".join(below)
    return row.removeprefix("E ").lstrip() if row.startswith("E  ") else row


def of(text: str) -> str:
    """The signature of an error, at most 160 characters; "" for a text without words. Numbers, hex,
    addresses, paths with their line numbers, times, dates, ids and quoted text are replaced (rule:
    Detectors), so the same error has the same signature on another machine and another day."""
    line = line_of(text).lower()
    for pattern, by in _REPLACED:
        line = pattern.sub(by, line)
    return " ".join(line.split())[:LONGEST]
