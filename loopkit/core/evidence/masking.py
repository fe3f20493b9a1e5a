"""Mask credentials in evidence, reports, learnings and what is quoted from them."""

from __future__ import annotations

import re

MASK = "***"

# No expression may begin anew within what it passed over: lines have up to LONGEST_LINE bytes.
_NAME = r"(?<![\w-])[\w-]*"
_COLOUR = r"(?:\x1b\[[0-9;]{0,16}m)?"
#: What a value is in quotes.
_QUOTED = (
    r"""\\"(?!\*{3})(?:[^"\\\r\n]|\\[^"\r\n]){4,}|"(?!\*{3})(?:[^"\\\r\n]|\\.){4,}"""
    r"""|'(?!\*{3})[^'\s][^'\r\n]{3,}"""
)
_PRIVATE = re.compile(rb"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
#: A line within a private key, whatever shows it.
_KEY_LINE = re.compile(
    rb"""[\s>|+#*"'-]{0,40}(?:(?:[\w./-]{1,200}:){0,2}\s{0,8}[A-Za-z0-9+/=]{0,130}|(?:Proc-Type|DEK-Info|Comment|Version):.*)"""
    rb"""(?:\\n)?["',+\\]{0,4}\s*"""
)
#: Characters from which on such a value is long enough not to stand in a text by chance.
SHORTEST_VALUE = 8
#: Bytes of an unfinished line that are kept back; a longer one is masked in pieces that overlap.
LONGEST_LINE, OVERLAP = 1 << 16, 1 << 12


class Masks:
    """The rows of data/masks.toml, as what they mask."""

    def __init__(self, table: dict) -> None:
        kind = "|".join(table["kinds"])
        words = rf"(?!(?:{'|'.join(table['words'])})\b)"
        bare = words + r"""(?!\*)[^\s,;'"&<>\x1b]{4,}"""
        self.marks = _marks(table)
        named = "|".join((kind, *table["names"]))
        #: A name in YAML whose value is the lines below that are further in.
        block = rf"(?i)^([ \t]*)(?:- )?[\w.-]*(?:{kind})[\"']?:[ \t]+[|>][-+0-9]{{0,2}}[ \t]*\r?\n"
        self.block = re.compile(block.encode())
        self._forms = re.compile("|".join(row["pattern"] for row in table["form"]))
        #: A name that says so, and its value.
        self._named = re.compile(
            rf"""(?i)((?:{_NAME}(?:{named}){_COLOUR}\\?["']?{_COLOUR}[ \t]{{0,20}}"""
            r"""(?:=>|:=|[=:](?!=))"""
            rf"""{_COLOUR}[ \t]{{0,20}}{_COLOUR}"""
            rf"""|{_NAME}(?:{kind})>(?=[^<]{{4,500}}</)"""
            r"""|--(?:password|token|secret|api-key)\s{1,20}|(?<![\w-])(?:-u|--user)\s{1,20}[^\s:]{1,100}:(?![0-9]+(?![^\s]))"""
            r"""|\bauthorization\\?["']?:\s{0,20}\\?["']?(?:basic|bearer|token|digest|negotiate|apikey)\s{1,20}"""
            r"""|\bauthorization\\?["']?[:=]\s{0,20}(?=\\?["']?[^\s"']{0,500}[0-9])"""
            r"""|\blogin\s{1,20}[^\s]{1,200}\s{1,20}password\s{1,20}"""
            r"""|(?m:^)[ \t]{0,20}password[ \t]{1,20}(?=[^\s]{1,500}[ \t]{0,20}(?m:$))"""
            r"""|\bidentified\s{1,9}(?:with\s{1,9}[^\s]{1,60}\s{1,9})?(?:by|as)\s{1,9}(?:password\s{1,9})?"""
            r"""(?=["']|[^\s;]{4,60};)"""
            r"""|\bbearer\s{1,20}(?=[\w.~+/-]*[0-9.])|[?&](?:x-amz-)?(?:sig|signature|key|auth)=))"""
            rf"""({_QUOTED}|["']?{bare})"""
        )
        #: A line of an environment: the value is all the rest of it. A cookie's as well.
        self._line = re.compile(
            rf"""(?m)^((?:[ \t]{{0,20}}(?:export|declare -x|set)[ \t]{{1,5}})?"""
            rf"""(?:[A-Z0-9_]*(?:{kind.upper()})|[A-Z0-9_]+_(?:KEY|PWD|PASS|PAT|AUTH|DSN))="""
            rf"""|[^\r\n]{{0,20}}\b(?i:(?:set-)?cookie:)[ \t]{{0,20}})"""
            rf"""{words}(?![ \t/~*]|\\?["'](?:/|~|\*{{3}}|\$))([^\r\n]{{4,}})"""
        )
        #: Names of variables that hold credentials, and those that only sound like it.
        self._variable = re.compile(rf"(?i)(?:{kind}|_(?:key|pwd|pass|pat|dsn)$)")
        self._about = re.compile(rf"(?i)(?:{'|'.join(table['about'])})$")
        self._itself = re.compile(rf"(?i)(?:{kind})$")

    def masked(self, text: str) -> str:
        """The text without what looks like a credential; masking again changes nothing."""
        for _ in range(4):  # what was put in place of one may make another plain
            before = text
            text = self._line.sub(_hidden, self._forms.sub(MASK, text))
            text = self._named.sub(_hidden, text)
            if text == before:
                break
        return text

    def values(self, environment: dict) -> list:
        """The values of an environment's variables that are credentials by name, longest first."""
        found = {
            value
            for name, value in environment.items()
            if self._variable.search(name)
            and not self._about.search(name)
            and len(value) >= SHORTEST_VALUE
            if not value.startswith(("/", "~")) or self._itself.search(name)
        }
        return sorted(found, key=len, reverse=True)

    def without(self, text: str, environment: dict) -> str:
        """A text as evidence would show it, also without an environment's credentials."""
        stream = Stream(self, self.values(environment))
        shown = stream.feed(text.encode("utf-8", "surrogateescape")) + stream.end()
        return shown.decode("utf-8", "surrogateescape")


def _hidden(found: re.Match) -> str:
    value = found[2]
    start = value[: len(value) - len(value.lstrip("\\\"'"))][:2]
    end = start if start and value.endswith(start) and len(value) > 2 * len(start) else ""
    return found[1] + start + MASK + end


def _forms_of(secret: str) -> set:
    """How a credential may stand in an output: as it is, by line, as JSON, in URLs, in base64."""
    import base64
    import json
    from urllib.parse import quote, quote_plus

    raw = secret.encode("utf-8", "surrogateescape")
    found = {raw, *(line for line in raw.splitlines() if len(line.strip()) >= SHORTEST_VALUE)}
    plain = raw.decode("utf-8", "replace")
    escaped = (json.dumps(plain)[1:-1], json.dumps(plain, ensure_ascii=False)[1:-1])
    found.update(text.encode() for text in (*escaped, quote(raw), quote_plus(raw)))
    coded = (base64.b64encode(raw), base64.urlsafe_b64encode(raw))
    return {*found, *(code.rstrip(b"=") for code in coded)}


#: What may stand between a name and its value; without it the name is a word.
_BETWEEN = r"""[a-z_-]{0,12}+(?:[\\"' \t]|\x1b\[[0-9;]{0,16}m){0,24}+[=:>]"""


def _marks(table: dict) -> list:
    """(bytes in lower case, expression that begins with them) of what a line to be looked at has in
    it. That each begins with what is sought is what makes it fast."""
    found: dict[str, list[str]] = {}
    for mark in table["marks"]:
        word = re.escape(mark)
        found[mark] = [_BETWEEN, f"(?<=--{word})", f"(?<=--api-{word})"]
    for marks in (table["near"], *(row["marks"] for row in table["form"])):
        for mark, near in marks.items():
            found.setdefault(mark, []).append(near or f"(?<![a-z0-9_]{re.escape(mark)})")
    return [
        (mark.encode(), re.compile(f"{re.escape(mark)}(?:{'|'.join(rows)})".encode()))
        for mark, rows in found.items()
    ]


def _is_fast(mark: bytes) -> bool:
    """Whether looking for the expression itself is faster than for its mark: the engine goes from
    one first letter to the next, a find the faster the longer the mark is (measured)."""
    return len(mark) < 8 and mark[0] not in b"_aest"


def _line_end(data: bytes, at: int) -> int:
    """Where the line ends that `at` stands in, its break included."""
    end = data.find(b"\n", at) + 1 or len(data)
    early = data.find(b"\r", at, end)
    return end if early < 0 or data[early + 1 : early + 2] == b"\n" else early + 1


class Stream:
    """Masks output line by line; the lines of a private key vanish. secrets: texts that are left
    out wherever they stand (`Masks.values`)."""

    def __init__(self, masks: Masks, secrets: list) -> None:
        self._masks = masks
        self._secrets = sorted(set().union(*map(_forms_of, secrets)), key=len, reverse=True)
        self._rest = b""
        self._key = False
        self._inside: int | None = None  # how far in the name of a text of several lines stands

    def feed(self, piece: bytes) -> bytes:
        """What may be written of the bytes so far; the last unfinished line waits for its end."""
        data = self._rest + piece
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if len(data) - end > LONGEST_LINE:
            end = self._cut(data)
        self._rest = data[end:]
        return self._lines(data[:end])

    def _lines(self, data: bytes) -> bytes:
        """Look at the lines that have a mark, and at those within what has begun."""
        shown: list[bytes] = []
        at = 0
        for start in [*self._marked(data), len(data)]:
            while at < start and (self._key or self._inside is not None):
                at = self._take(data, at, shown)
            shown.append(data[at:start])
            at = self._take(data, start, shown)
        return b"".join(shown)

    def _take(self, data: bytes, at: int, shown: list) -> int:
        """Mask the line at `at`; where the next one begins."""
        end = _line_end(data, at)
        if at < end:
            shown.append(self._line(data[at:end]))
        return end

    def _marked(self, data: bytes) -> list:
        """Where the lines begin that may have to be masked, in order."""
        lower = data.lower()
        starts: set[int] = set()
        for mark, near in self._masks.marks:
            at = 0 if _is_fast(mark) else lower.find(mark)
            while at >= 0 and (hit := near.search(lower, at)):
                at = self._begun(data, hit.start(), starts)
        for secret in self._secrets:
            at = data.find(secret)
            while at >= 0:
                at = data.find(secret, self._begun(data, at, starts))
        return sorted(starts)

    @staticmethod
    def _begun(data: bytes, at: int, starts: set) -> int:
        """Note where the line of `at` begins; where the next one does."""
        start = data.rfind(b"\n", 0, at) + 1
        starts.add(max(start, data.rfind(b"\r", start, at) + 1))
        return _line_end(data, at)

    def _cut(self, data: bytes) -> int:
        """Where a line that is too long can be cut in two without cutting what is to be masked."""
        end = len(data) - OVERLAP
        for at in range(end, end - OVERLAP // 2, -OVERLAP // 16):
            before, after = data[at - OVERLAP : at], data[at:]
            if self._without(before + after) == self._without(before) + self._without(after):
                return at
        return end

    def end(self) -> bytes:
        """The rest."""
        rest, self._rest = self._rest, b""
        return self._lines(rest)

    def _without(self, line: bytes) -> bytes:
        for secret in self._secrets:
            line = line.replace(secret, MASK.encode())
        text = self._masks.masked(line.decode("utf-8", "surrogateescape"))
        return text.encode("utf-8", "surrogateescape")

    def _line(self, line: bytes) -> bytes:
        if self._inside is not None:
            text = line.strip()
            indent = len(line) - len(line.lstrip(b" \t"))
            if not text or indent > self._inside:
                return line.replace(text, MASK.encode()) if text else line
            self._inside = None
        if opened := self._masks.block.match(line):
            self._inside = len(opened[1])
            return line
        marks = _PRIVATE.findall(line)
        if self._key and not marks and not _KEY_LINE.fullmatch(line):
            self._key = False  # only its first line was shown
        if self._key and b"END" not in marks:
            return b""
        if marks:
            was, self._key = self._key, marks[-1] == b"BEGIN"
            if was or marks[0] == b"END":
                return b""
        return self._without(line)
