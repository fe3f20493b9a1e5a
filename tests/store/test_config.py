"""config.toml: every key does something, an unknown one is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.core.journal import settings
from loopkit.core.journal.errors import Damaged, UsageFault
from loopkit.store import config
from loopkit.store.origin import Origin


def read(tmp_path: Path, text: str | bytes) -> dict:
    (tmp_path / "config.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return config.read(Origin(str(tmp_path), frozenset()))


def test_no_file_gives_the_defaults(tmp_path: Path) -> None:
    values = config.read(Origin(str(tmp_path), frozenset()))
    assert values["limits"] == {"iterations": 25, "usd": 25.0, "seconds": 7200}
    assert values["approval"] == "evidence" and values["prices"] == {}
    assert {key: values[key] for key in settings.DEFAULTS} == settings.DEFAULTS
    assert read(tmp_path, 'approval = "evidence"') == values


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("[limits]\niterations = 10", "iterations", 10),
        ('[limits]\niterations = "none"', "iterations", None),
        ("[limits]\nusd = 2.5", "usd", 2.5),
        ("[limits]\nusd = 50", "usd", 50),
        ('[limits]\nusd = "none"', "usd", None),
        ("[limits]\nseconds = 90", "seconds", 90),
        ('[limits]\nseconds = "1h30m"', "seconds", 5400),
        ('[limits]\nseconds = "unlimited"', "seconds", None),
    ],
)
def test_limits(tmp_path: Path, text: str, key: str, value: object) -> None:
    limits = read(tmp_path, text)["limits"]
    assert limits[key] == value
    assert len(limits) == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [("max_idle_stops", 1), ("max_idle_stops", 7), ("max_step_attempts", 9), ("max_fix_cycles", 0)]
    + [
        ("max_replan_depth", 0),
        ("verify_seconds", 5),
        ("max_plan_revisions", 0),
        ("approval_threshold", 100),
    ]
    + [
        ("revision_threshold", 0),
        ("plan_review_failure", "lower"),
        ("plan_review_failure", "stop"),
    ],
)
def test_each_setting_is_taken(tmp_path: Path, key: str, value: object) -> None:
    assert read(tmp_path, f"{key} = {value!r}")[key] == value


def test_prices(tmp_path: Path) -> None:
    assert read(tmp_path, "[prices]\nmystery = [1, 2.5, 3, 4]")["prices"] == {
        "mystery": (1.0, 2.5, 3.0, 4.0)
    }


@pytest.mark.parametrize(
    "text",
    [
        "max_idle_stops = 0",
        "max_idle_stops = 8",  # the client ends a chain of 8 by itself
        'max_idle_stops = "3"',
        "max_step_attempts = 0",
        "max_fix_cycles = -1",
        "verify_seconds = 0",
        "max_plan_revisions = -1",
        "approval_threshold = 101",
        "approval_threshold = 40",  # below the score from which work is revised
        "revision_threshold = 71",
        'plan_review_failure = "ignore"',
        'approval = "nobody"',
        "unknown = 1",
        "[limits]\nunknown = 1",
        "[limits]\niterations = 0",
        "[limits]\niterations = true",
        '[limits]\niterations = "many"',
        "[limits]\nusd = -1",
        "[limits]\nusd = nan",
        '[limits]\nseconds = "soon"',
        "limits = 3",
        "prices = 3",
        "[prices]\nm = [1, 2]",
        '[prices]\nm = ["a", "b", "c", "d"]',
        "[prices]\nm = 5",
        "[prices]\nm = [1, 2, 3, nan]",
        "[prices]\nm = [1, 2, 3, -1]",
        "[prices]\nm = [1e300, 2, 3, 4]",
        *[
            f"{name} = {1 << 60}"
            for name in ("max_step_attempts", "max_fix_cycles", "max_replan_depth")
        ],
        *[f"{name} = {1 << 60}" for name in ("verify_seconds", "max_plan_revisions")],
    ],
)
def test_a_wrong_value_is_named_with_its_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageFault, match="config.toml") as caught:
        read(tmp_path, text)
    assert "\n" not in caught.value.what or len(caught.value.what) < 400


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max_idle = 3", "unknown key max_idle; known: limits, "),
        ("[limits]\nx = 1", "unknown key limits.x; known: iterations, usd, seconds"),
        ("max_idle_stops = 9", "max_idle_stops is 9; give a whole number from 1 to 7"),
        (
            '[limits]\niterations = "many"',
            "limits.iterations is 'many'; give a whole number from 1 on, or \"none\"",
        ),
        ("[limits]\niterations = 0", "limits.iterations is 0; give a whole number from 1 on"),
        ("[prices]\nm = [1, 2]", "wrong prices; give a table, [prices], of four numbers a model"),
    ],
)
def test_a_fault_is_told_in_plain_words(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageFault) as caught:
        read(tmp_path, text)
    assert f"config.toml: {says}" in str(caught.value)


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"= 1", b"[", b'a = "\n'])
def test_a_file_that_is_no_toml_is_damaged(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(Damaged, match="config.toml"):
        read(tmp_path, raw)


def test_a_folder_in_its_place_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(Damaged, match="cannot read"):
        config.read(Origin(str(tmp_path), frozenset()))


def test_a_byte_order_mark_and_crlf_do_not_matter(tmp_path: Path) -> None:
    assert (
        read(tmp_path, b"\xef\xbb\xbfmax_idle_stops = 2\r\n[limits]\r\nusd = 3\r\n")[
            "max_idle_stops"
        ]
        == 2
    )
