"""How long a loop's client was at work, by the lines of its transcripts: requests, tool calls,
agents side by side counted once. Waiting, sleep and a client that is gone take no time; a clock
that is set takes and gives back MOST_GAP at most."""

from __future__ import annotations

#: Seconds between two lines that count at the most: no request and no tool call takes longer, so
#: the machine slept, its clock was set, or the client was gone. Where a person was asked whether
#: the tool may run: how long it ran itself is not to be known.
MOST_GAP, MOST_ASKED = 600, 60
#: Seconds by which a line may be older than what is counted, since files are written side by side.
#: By more: the clock was set back.
OVERLAP = 60
#: No second of a time that is meant is later; no sum of such steps is taken along.
LATEST, MOST_SHIFT = 1 << 33, 1 << 50


class Times:
    """What transcripts say of the time, file by file: `begin`, `line` for each, at last `worked`.

    to: up to when all is counted · shift: seconds by which clocks were set back so far, added to
    every stamp, so that time goes on · busy: {file: when something began that has not ended}. All
    in whole seconds since 1970; `dump` gives them for the next reading.
    """

    def __init__(self, to: int = 0, shift: int = 0, busy: dict | None = None) -> None:
        self.to, self.shift, self.busy = to, shift, dict(busy or {})
        self.spans: list = []
        self._file, self._last, self._is_busy = "", 0, False

    def begin(self, file: str) -> None:
        """The lines that follow are those of another file."""
        self._end_file()
        self._file, self._last = file, self.busy.pop(file, 0)
        self._is_busy = self._last > 0

    def _end_file(self) -> None:
        if self._is_busy:
            self.busy[self._file] = self._last
        self._is_busy = False

    @property
    def is_busy(self) -> bool:
        """Whether something was at work at the last line."""
        return self._is_busy

    def line(self, at: int, ends: bool, begins: bool, most: int = MOST_GAP) -> None:
        """A line of POSIX second `at`. ends: what was at work since the line before it, for `most`
        seconds at the most · begins: something is at work after it."""
        if not 0 < at < LATEST:
            return
        at += self.shift
        least = max(self.to, self._last)
        if at < least - OVERLAP:
            self.shift, at = self.shift + least - at, least
        if ends and 0 < self._last < at:
            self.spans.append((self._last, min(at, self._last + most)))
        self._last, self._is_busy = at, begins

    def worked(self, now: float) -> int:
        """Seconds after `to` in which anything was at work; what is still so counts up to `now`, 0
        where nobody is there to go on with it."""
        self._end_file()
        now = int(now) and int(now) + self.shift
        for file, began in list(self.busy.items()):
            end = min(now, began + MOST_GAP)
            if end > began:
                self.spans.append((began, end))
            if not began - OVERLAP <= now <= began + MOST_GAP:
                del self.busy[file]
        seconds = 0
        for begin, end in sorted(self.spans):
            seconds += max(0, end - max(begin, self.to))
            self.to = max(self.to, end)
        self.spans = []
        return seconds

    def dump(self) -> dict:
        """What the next reading goes on with; {} where nothing is known."""
        if self.shift > MOST_SHIFT:
            return {}
        values = {"to": self.to, "shift": self.shift, "busy": self.busy}
        return {name: value for name, value in values.items() if value}
