"""What looks like a credential, wherever it stands, and what only sounds like one."""

from __future__ import annotations

import pytest

from loopkit.core import masking

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("password=hunter22 in url", "password=*** in url"),
        ("API_KEY: abcdefgh", "API_KEY: ***"),
        ('{"api_key": "abcdefgh", "n": 1}', '{"api_key": "***", "n": 1}'),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=***"),
        ("deploy --token abcd1234 now", "deploy --token *** now"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("-H 'Authorization: Basic am9lOmdlaGVpbQ=='", "-H 'Authorization: Basic ***'"),
        ("key sk-ant-REDACTED0123456789", "key ***"),
        ("sk_live_0123456789abcdefXY", "***"),
        ("https://joe:geheim@host/x", "https://***@host/x"),
        ("postgres://:geheim@host/x", "postgres://***@host/x"),
        ("ghp_0123456789abcdef", "***"),
        ("github_pat_11ABCDEFG0123456789", "***"),
        ("AKIAIOSFODNN7EXAMPLE", "***"),
        ("npm_0123456789abcdef", "***"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "***"),
        ("https://hooks.slack.com/services/T0/B0/abc", "https://hooks.slack.com/services/***"),
        ("the token bucket, the secret of success", "the token bucket, the secret of success"),
        ("tokens: 3", "tokens: 3"),
        ("skip test_task_started_in_wave", "skip test_task_started_in_wave"),
        ("http://localhost:8080/a@b", "http://localhost:8080/a@b"),
    ],
)
def test_what_looks_like_a_credential_is_masked(text: str, kept: str) -> None:
    assert masking.masked(text) == kept
    assert masking.masked(kept) == kept, "and only once"


def test_values_of_an_environment_are_chosen_by_name_and_length() -> None:
    environment = {
        "DEPLOY_TOKEN": "longenough1",
        "DB_PASSWORD": "short",
        "TOKEN_FILE": "/home/x/tok",
        "PATH": "a:b:c:d:e",
    }
    assert masking.values(environment) == ["longenough1"]


@pytest.mark.parametrize("size", [1, 2, 7, 4096])
def test_a_stream_masks_the_same_in_whatever_pieces_it_comes(size: int) -> None:
    text = f"start\ntoken=abcd1234 é\n{KEY}it was longenough1, \xff\nghp_0123456789abcdef"
    data = text.encode("utf-8", "surrogateescape")
    stream = masking.Stream(["longenough1"])
    said = b"".join(stream.feed(data[at : at + size]) for at in range(0, len(data), size)) + stream.end()
    assert said.decode() == "start\ntoken=*** é\n***\nit was ***, \xff\n***"


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    stream = masking.Stream([])
    assert stream.feed(b"\xff\xfe\x00 a\r\nb\rc\n") + stream.end() == b"\xff\xfe\x00 a\r\nb\rc\n"


def test_a_line_without_an_end_is_passed_on_in_pieces() -> None:
    stream = masking.Stream([])
    said = stream.feed(b"x" * (masking.LONGEST_LINE + 1))
    assert len(said) > masking.LONGEST_LINE and stream.end() == b""
