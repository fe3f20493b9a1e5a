"""What looks like a credential is not kept: in evidence, in learnings, in what is quoted from them."""

from __future__ import annotations

import re

MASK = "***"

#: Forms that their issuers gave them, wherever they stand.
_FORMS = re.compile(
    r"\b(?:sk|rk|pk)[-_](?:live_|test_|ant-|proj-)?[A-Za-z0-9_-]{16,}"  # Stripe, Anthropic, OpenAI
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|npm_|pypi-|hf_|dop_v1_|shpat_|ATATT|ya29\.|SG\.)[\w.-]{8,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bAIza[\w-]{20,}|\bsk-\w[\w-]{7,}"
    r"|\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*"  # a JSON web token
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*"
    r"|(?<=://)[^\s:/@]*:[^\s@/]+(?=@)"  # user and password of an address
    r"|(?<=hooks\.slack\.com/services/)[\w/]+"
)
#: A name that says so, and its value.
_NAMED = re.compile(
    r"""(?i)((?:\b[\w-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)["']?\s*[=:]\s*["']?"""
    r"""|--(?:password|token|secret|api-key)\s+|\bbearer\s+|\bauthorization["']?:\s*["']?\w+\s+))(?!\*)[^\s,;'"]{4,}"""
)
_PRIVATE = re.compile(rb"-----(BEGIN|END) [A-Z0-9 ]*PRIVATE KEY-----")
#: Variables of the environment whose values are credentials, by their names.
_VARIABLE = re.compile(r"(?i)(?:password|passwd|passphrase|secret|token|api_?key|access_?key|private_?key|credential)")
#: Characters from which on such a value is long enough not to stand in a text by chance.
SHORTEST_VALUE = 8
#: Bytes of an unfinished line that are kept back; a longer one is masked in pieces.
LONGEST_LINE = 1 << 16


def masked(text: str) -> str:
    """The text without what looks like a credential; masking again changes nothing."""
    return _NAMED.sub(rf"\1{MASK}", _FORMS.sub(MASK, text))


def values(environment: dict) -> list:
    """The values of an environment's variables that are credentials by name, longest first."""
    found = {
        value
        for name, value in environment.items()
        if _VARIABLE.search(name) and len(value) >= SHORTEST_VALUE and not value.startswith(("/", "~"))
    }
    return sorted(found, key=len, reverse=True)


class Stream:
    """Masks output as it comes, line by line; the lines of a private key vanish from its first to its last.

    secrets: texts that are left out wherever they stand (`values`).
    """

    def __init__(self, secrets: list) -> None:
        self._secrets = [one.encode("utf-8", "surrogateescape") for one in secrets]
        self._rest = b""
        self._key = False

    def feed(self, piece: bytes) -> bytes:
        """What may be written of the bytes so far; the last unfinished line waits for its end."""
        data = self._rest + piece
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if not end and len(data) > LONGEST_LINE:
            end = len(data)
        self._rest = data[end:]
        return b"".join(map(self._line, data[:end].splitlines(keepends=True)))

    def end(self) -> bytes:
        """The rest."""
        rest, self._rest = self._rest, b""
        return self._line(rest)

    def _line(self, line: bytes) -> bytes:
        for mark in _PRIVATE.findall(line):
            self._key = mark == b"BEGIN"
            if mark == b"END":
                return b""
        if self._key and not _PRIVATE.search(line):
            return b""
        for secret in self._secrets:
            line = line.replace(secret, MASK.encode())
        return masked(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
