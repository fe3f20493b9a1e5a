"""What the last words of a failed agent say: limit messages in their forms and zones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopkit.core.health import failures


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("You've hit your limit · resets 1pm (Asia/Tokyo)", "limit"),
        ("You’ve hit your session limit · resets 3:45pm (Europe/Berlin)", "limit"),
        ("You've hit your weekly limit", "limit"),
        ("You've reached your usage limit", "limit"),
        ("Claude AI usage limit reached|1796115870", "limit"),
        ("5-hour limit reached ∙ resets 3pm", "limit"),
        ("usage limit was exceeded", "limit"),
        ("API Error: Request rejected (429) · This request would exceed your account's rate limit",
         "limit"),
        ("HTTP 429: slow down", "limit"),
        ("You exceeded your current quota, please check your plan", "limit"),
        ('{"error": {"status": "RESOURCE_EXHAUSTED"}}', "limit"),
        ("Too Many Requests", "limit"),
        ('{"error": {"code": 429, "message": "slow down"}}', "limit"),
        ('{"error": {"code": 503}}', "transient"),
        ("You've hit your monthly spend limit · /usage-credits to raise it", ""),
        ("Your credit balance is too low (429)", ""),
        ("API Error: 529 Overloaded. This is a server-side issue", "transient"),
        ("API Error: 500 Internal server error", "transient"),
        ("API Error: Connection error.", "transient"),
        ("Request timed out", "transient"),
        ("fetch failed: getaddrinfo ENOTFOUND api.example.com", "transient"),
        ("status 503", "transient"),
        ("ERROR: We’re currently experiencing high demand, which may cause temporary errors.",
         "transient"),
        ("ERROR: stream disconnected before completion: idle timeout waiting", "transient"),
        ("error sending request for url (https://api.example.com/v1/responses)", "transient"),
        ("No capacity available for model m on the server", "transient"),
        ("Error: Unable to connect. Is the computer able to access the url?", "transient"),
        ("You've hit your usage limit. Upgrade to Plus, or try again at 3:25 PM.", "limit"),
        ("You have exhausted your capacity on this model.", "limit"),
        ("[API Error: You have exhausted your daily quota on this model.]", "limit"),
        ("You exceeded your current quota, please check your plan and billing details. "
         "Please retry in 40.5s.", "limit"),
        ("You exceeded your current quota, please check your plan and billing details.", ""),
        ("You're out of credits. Add credits to continue.", ""),
        ("Invalid API key · Fix external API key", ""),
        ("the session's time limit of the test was not reached", ""),
        ("the rate limiter works, its limit is 500", ""),
        ("test_limits.py failed: 429 != 200", ""),
        ("the tests timed out", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_kinds(words: str, kind: str) -> None:
    assert failures.kind(words) == kind


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("You've hit your limit\nresets 1pm (Asia/Tokyo)", "limit"),
        ("You've hit your session limit.\n· resets 3pm\n\n/upgrade to raise your limit", "limit"),
        ("ERROR: You've hit your usage limit. Upgrade to Pro\nor try again at 5:20 PM.", "limit"),
        ("2026-11-29T13:00:00Z ERROR: usage limit reached\nsee the log", "limit"),
        ("✕ [API Error: You have exhausted your daily quota.]\nAn unexpected error occurred", "limit"),
        ('Error: {\n  "error": {\n    "code": 429,\n    "message": "slow down"\n  }\n}', "limit"),
        ('{\n  "type": "error",\n  "error": {\n    "type": "rate_limit_error"\n  }\n}', "limit"),
        ('{\n  "error": {\n    "status": "RESOURCE_EXHAUSTED"\n  }\n}', "limit"),
        ("API Error: Request rejected (429) · try again later\nrequest id: req_1", "limit"),
        ("Error: 429 Too Many Requests\n    at fetch (node:internal)", "limit"),
        ("openai.RateLimitError: Error code: 429 - {\n'message': 'x'\n}", "limit"),
        ("Error: 529 Overloaded\nlast", ""),
        # a person has to pay
        ("Error: 429\nYour credit balance is too low\nsee the docs", ""),
        # prose
        ("The rate limit was exceeded by the test.\nI stop here.", ""),
        ("Rate limit exceeded is what the client gets.\nI stop here.", ""),
        ("rate limit exceeded, says a test\nno", ""),
        ("The API answers: usage limit reached.\nI stop here.", ""),
        ("I read about 429 Too Many Requests.\nI stop here.", ""),
        ("Too many requests are sent by the crawler\nI stop here.", ""),
        ("FAILED test_limits.py::test_rate - AssertionError: 429 != 200\n1 failed", ""),
        ("You've hit your limit\n" + "later words\n" * 12, ""),
        ("", ""),
    ],
)  # fmt: skip
def test_a_limit_that_is_told_in_several_lines(words: str, kind: str) -> None:
    found, said = failures.read(words)
    assert found == kind
    assert said == (said if kind else words.strip().rpartition("\n")[2])


def test_the_second_stream_is_read_where_the_first_says_nothing_of_a_limit() -> None:
    noise, told = "(node:1) Warning: old\n", "You've hit your limit\nresets 1pm"
    assert failures.read(noise, told) == ("limit", told)
    assert failures.read(noise, "it is about the rate limit") == ("", noise.strip())
    assert failures.read("", "no") == ("", "no") and failures.read("", "") == ("", "")


@given(st.text(max_size=300))
@settings(max_examples=50)
def test_reading_any_words_raises_nothing(words: str) -> None:
    failures.read(words, words)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine's zone."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(text: str) -> float:
    """Seconds of `2026-12-01 12:58 Asia/Tokyo`."""
    wall, zone = text.rsplit(" ", 1)
    return datetime.fromisoformat(wall).replace(tzinfo=ZoneInfo(zone)).timestamp()


NOON = "2026-12-01 12:00 Europe/Berlin"  # a Tuesday


@pytest.mark.parametrize(
    ("words", "now", "until"),
    [
        # zones
        ("You've hit your limit · resets 1pm (Asia/Tokyo)", "2026-12-01 12:58 Asia/Tokyo",
         "2026-12-01 13:00 Asia/Tokyo"),
        ("resets 1pm (Asia/Tokyo)", "2026-12-01 13:01 Asia/Tokyo", "2026-12-02 13:00 Asia/Tokyo"),
        ("resets 1am (Asia/Tokyo)", "2026-12-01 23:30 Asia/Tokyo", "2026-12-02 01:00 Asia/Tokyo"),
        ("resets 3:45pm (America/New_York)", NOON, "2026-12-01 15:45 America/New_York"),
        ("resets 12am (UTC)", NOON, "2026-12-02 00:00 UTC"),
        ("resets 12pm UTC", NOON, "2026-12-01 12:00 UTC"),
        ("resets 3pm PST", NOON, "2026-12-01 15:00 America/Los_Angeles"),
        ("resets at 3pm Pacific Time", NOON, "2026-12-01 15:00 America/Los_Angeles"),
        ("resets at 15:00 UTC+2", NOON, "2026-12-01 13:00 UTC"),
        ("resets at 15:00 (GMT-03:30)", NOON, "2026-12-01 18:30 UTC"),
        # none, or none that is known: local
        ("limit reached, reset at 7pm", NOON, "2026-12-01 19:00 Europe/Berlin"),
        ("Your limit will reset at 19:30.", NOON, "2026-12-01 19:30 Europe/Berlin"),
        ("resets 7 p.m. (Nowhere/Atall)", NOON, "2026-12-01 19:00 Europe/Berlin"),
        ("resets 7pm to go on", NOON, "2026-12-01 19:00 Europe/Berlin"),
        ("resets 11am", NOON, "2026-12-02 11:00 Europe/Berlin"),
        ("resets 12pm", NOON, "2026-12-02 12:00 Europe/Berlin"),
        # dates
        ("resets Thu 9am", NOON, "2026-12-03 09:00 Europe/Berlin"),
        ("resets Tuesday at 9am", NOON, "2026-12-08 09:00 Europe/Berlin"),
        ("resets tomorrow at 9:15am", NOON, "2026-12-02 09:15 Europe/Berlin"),
        ("resets Dec 5 at 1pm (UTC)", NOON, "2026-12-05 13:00 UTC"),
        ("resets Dec 5, 1pm (UTC)", NOON, "2026-12-05 13:00 UTC"),
        ("resets Jan 2, 1am (UTC)", NOON, "2027-01-02 01:00 UTC"),
        ("try again at Dec 3rd, 2026 3:00 PM.", NOON, "2026-12-03 15:00 Europe/Berlin"),
        ("resets Nov 30 at 1pm", NOON, None),
        ("resets Feb 31 at 1pm", NOON, None),
        ("resets at 2026-12-01T15:00:00Z", NOON, "2026-12-01 15:00 UTC"),
        ("resets 2026-12-01 15:00:30+01:00", NOON, "2026-12-01 15:00:30 Europe/Berlin"),
        ("resets 2026-12-01 15:00 (Asia/Tokyo)", NOON, None),
        ("resets 2026-12-01 23:00 (Asia/Tokyo)", NOON, "2026-12-01 23:00 Asia/Tokyo"),
        # the day on which clocks change: twice 2:30 in October, none in March
        ("resets 2:30am", "2026-10-25 01:00 Europe/Berlin", "2026-10-25 00:30 UTC"),
        ("resets 2:30am", "2026-10-25 00:31 UTC", "2026-10-25 01:30 UTC"),
        ("resets 2:30am", "2027-03-28 01:00 Europe/Berlin", "2027-03-28 01:30 UTC"),
        ("resets 9am", "2027-03-27 12:00 Europe/Berlin", "2027-03-28 07:00 UTC"),
        ("resets 1:30am (America/New_York)", "2026-11-01 00:00 America/New_York",
         "2026-11-01 05:30 UTC"),
        # spans and numbers
        ("try again in 5 minutes", NOON, "2026-12-01 12:05 Europe/Berlin"),
        ("try again in 2 days 3 hours 5 minutes.", NOON, "2026-12-03 15:05 Europe/Berlin"),
        ("Your quota will reset after 2h15m30s.", NOON, "2026-12-01 14:15:30 Europe/Berlin"),
        ("Please retry in 30s", NOON, "2026-12-01 12:00:30 Europe/Berlin"),
        ("retry-after: 90", NOON, "2026-12-01 12:01:30 Europe/Berlin"),
        ("retry-after-ms: 90000", NOON, "2026-12-01 12:01:30 Europe/Berlin"),
        ("Claude AI usage limit reached|1796130000", NOON, "2026-12-01 13:00 UTC"),
        ('"resetsAt": 1796130000000', NOON, "2026-12-01 13:00 UTC"),
        ("usage limit reached|1000000000", NOON, None),
        # nothing stated
        ("You've hit your limit", NOON, None),
        ("429 Too Many Requests", NOON, None),
        ("resets next month", NOON, None),
        ("it resets 3 counters", NOON, None),
        ("resets 25:99", NOON, None),
        ("", NOON, None),
    ],
)  # fmt: skip
def test_until(berlin: None, words: str, now: str, until: str | None) -> None:
    found = failures.until(words, at(now))
    shown = found and datetime.fromtimestamp(found, UTC).isoformat()
    assert shown == (until and datetime.fromtimestamp(at(until), UTC).isoformat())


@settings(deadline=None)  # the machine may be busy
@given(st.text(alphabet="resetsat inm1234567890|:-+apm()/ JanT", max_size=40), st.floats(0, 4e9))
def test_no_words_raise(words: str, now: float) -> None:
    found = failures.until(f"resets {words}", now)
    assert found is None or found > now
