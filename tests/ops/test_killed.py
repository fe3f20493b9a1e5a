"""`loopkit next` dies after each line that it records, in turn: the next call goes on, and what was
recorded is recorded once."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.store import journal
from tests.cli.kit import GATE, REQUEST, Answer
from tests.ops.kit import part
from tests.ops.test_advance import FIRST, FORM, REVIEW, Going, going

__all__ = ["going"]


class Killed(BaseException):
    """Nothing of the program runs any more."""


class Deaths:
    """Each call may write so many batches of lines; None: all of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        self.written, self._append = 0, journal.append
        monkeypatch.setattr(journal, "append", self)

    def __call__(self, path: str, *given: object) -> None:
        self._append(path, *given)  # type: ignore[arg-type]
        self.written += 1
        if self.left is not None and self.written == self.left:
            raise Killed


def _kept(going: Going, base: Path) -> Callable[[], None]:
    """Everything as it is now; puts it back."""
    names = [one for one in base.iterdir() if one.name != "kept"]
    shutil.rmtree(base / "kept", ignore_errors=True)
    for one in names:
        if one.is_dir():
            shutil.copytree(one, base / "kept" / one.name, symlinks=True)

    def back() -> None:
        for one in (base / "kept").iterdir():
            shutil.rmtree(base / one.name)
            shutil.copytree(one, base / one.name, symlinks=True)

    return back


def _recorded(going: Going) -> Counter:
    """How often each type of line is there, those apart that say something once if at all."""
    types = [line["type"] for line in going.project.lines]
    return Counter(name for name in types if name != "notice_given")


def _submit(given: object) -> Callable[[Going], Answer]:
    """Submit a form, again where it is asked for still."""

    def act(going: Going) -> Answer:
        asked = going.next()
        return going.submit(given) if asked.steps == FORM else asked

    return act


def _answer(name: str, reply: object) -> Callable[[Going], Answer]:
    def act(going: Going) -> Answer:
        going.say(name, reply)
        return going.next()

    return act


def test_next_that_dies_after_any_record_goes_on_and_does_nothing_twice(
    going: Going, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [part("limiter")]
    wanted = [{"text": "there is a limit", "proof": tasks[0]["verify"]}]
    going.heard()
    going.project.start("add rate limiting to the API")
    going.next()
    walk: list[Callable[[Going], Answer]] = [
        _submit(REQUEST | {"criteria": wanted, "tasks": tasks}),
        _answer(FIRST, {"status": "complete", "summary": "it is there"}),
        _answer("thorough_review-1-1", REVIEW),
        _submit(GATE),
    ]
    deaths, died = Deaths(monkeypatch), 0
    for number, act in enumerate(walk):
        if number == 1:
            going.project.write("limiter.txt", "good\n")
        back = _kept(going, tmp_path)
        deaths.written = 0
        whole = act(going)
        records, steps = deaths.written, whole.steps
        after, starts = _recorded(going), going.project.of("checkpoint_made")[:1]
        for death in range(1, records + 1):
            back()
            deaths.left, deaths.written = death, 0
            with pytest.raises(Killed):
                act(going)
            deaths.left = None
            again = act(going)
            assert again.steps == steps, (number, death, again)
            assert _recorded(going) == after, (number, death, _recorded(going) - after)
            assert going.project.of("checkpoint_made")[:1] == starts or number == 0
            died += 1
    assert "<loop-complete>" in again.out, "its card is not lost"
    assert going.project.snapshot["verdict"] == "achieved" and died > 15
    assert [row["label"] for row in going.project.of("checkpoint_made")] == ["start", "batch-1"]
