"""What looks like a credential, wherever it stands, and what only sounds like one."""

from __future__ import annotations

import re

import pytest

from loopkit.core.evidence import masking
from loopkit.store import tables

MASKS = tables.masks()

KEY = (
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n-----END OPENSSH PRIVATE "
    "KEY-----\n"
)


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
        ("DB_PASSWORD='a b c d'", "DB_PASSWORD='***'"),
        ("PASSWORD=p;w,d 1234", "PASSWORD=***"),
        ("export STRIPE_KEY=abc123def456", "export STRIPE_KEY=***"),
        ("MYSQL_PWD=geheim", "MYSQL_PWD=***"),
        ('password: "hunter two three" # x', 'password: "***" # x'),
        (r'{"password":"a\"bcdefg","n":1}', '{"password":"***","n":1}'),
        (r'"{\"token\":\"abcdefgh\",\"n\":1}"', r'"{\"token\":\"***\",\"n\":1}"'),
        ("token => 'abcdefgh'", "token => '***'"),
        ("<db:password>geheim12</db:password>", "<db:password>***</db:password>"),
        (
            "\x1b[1mpassword\x1b[0m=\x1b[33mgeheim12\x1b[0m",
            "\x1b[1mpassword\x1b[0m=\x1b[33m***\x1b[0m",
        ),
        ("https://x?access_token=abcdef12&y=1", "https://x?access_token=***&y=1"),
        ("https://x/?se=2024&sig=abcdefgh12345678", "https://x/?se=2024&sig=***"),
        ("AccountKey=abcdefghijk==;", "AccountKey=***;"),
        ("< Set-Cookie: sid=abcdef0123456789; Path=/", "< Set-Cookie: ***"),
        ("curl -u joe:geheim12 https://x", "curl -u joe:*** https://x"),
        (
            '{"key": "-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----", "n": 1}',
            '{"key": "***", "n": 1}',
        ),
        ("git clone https://0123456789abcdefghij@host/x", "git clone https://***@host/x"),
        ("CREATE USER joe IDENTIFIED BY 'geheim12';", "CREATE USER joe IDENTIFIED BY '***';"),
        (
            "identified with sha256_password as 'geheim12'",
            "identified with sha256_password as '***'",
        ),
        ("ALTER USER joe IDENTIFIED BY geheim;", "ALTER USER joe IDENTIFIED BY ***;"),
        ("they are identified by their number", "they are identified by their number"),
        ("ssh://git@host/x https://joe@host/x", "ssh://git@host/x https://joe@host/x"),
        ("https://host/0123456789abcdefghij@v1", "https://host/0123456789abcdefghij@v1"),
        (
            "gsk_ is a prefix, xai-and-other-words-of-no-use",
            "gsk_ is a prefix, xai-and-other-words-of-no-use",
        ),
        ("docker run -u 1000:1000 x", "docker run -u 1000:1000 x"),
        (
            "from huggingface_hub import hf_hub_download",
            "from huggingface_hub import hf_hub_download",
        ),
        (
            "npm_config_registry=x npm_package_version=1",
            "npm_config_registry=x npm_package_version=1",
        ),
        (
            "sk-learn-based-classifiers and pk_primary_key_of_users",
            "sk-learn-based-classifiers and pk_primary_key_of_users",
        ),
        ("task-sk-abcdefghijkl1", "task-sk-abcdefghijkl1"),
        ("SyntaxError: Unexpected token: punc (})", "SyntaxError: Unexpected token: punc (})"),
        ("token = None, password: required", "token = None, password: required"),
        ("assert token == expected_token", "assert token == expected_token"),
        ("the bearer certificates are", "the bearer certificates are"),
        ("SECRET_FILE=/run/secrets/x", "SECRET_FILE=/run/secrets/x"),
        ("--token =Cookie: Cookie: abcdefgh", "--token *** Cookie: ***"),
        ("the token bucket, the secret of success", "the token bucket, the secret of success"),
        ("tokens: 3", "tokens: 3"),
        ("skip test_task_started_in_wave", "skip test_task_started_in_wave"),
        ("http://localhost:8080/a@b", "http://localhost:8080/a@b"),
    ],
)
def test_what_looks_like_a_credential_is_masked(text: str, kept: str) -> None:
    assert MASKS.masked(text) == kept
    assert MASKS.masked(kept) == kept, "and only once"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("SECRET_KEY = 'django-insecure-abc'", "insecure"),
        ("secret_key: abcdefgh12", "abcdefgh12"),
        ('secretKey: "abcdefgh12"', "abcdefgh12"),
        ("Authorization: 0123456789abcdef", "0123456789abcdef"),
        ("authorization=0123456789abcdef", "0123456789abcdef"),
        ("pass: geheim12", "geheim12"),
        ("db.pwd: geheim12", "geheim12"),
        ("postgres://joe:ge@heim12@host/x", "heim12"),
        ('"auth": "am9lOmdlaGVpbQ=="', "am9l"),
        ("client-key-data: LS0tLS1CRUdJTiBSU0E", "LS0tLS1"),
        ("machine example.org login joe password geheim12", "geheim12"),
        ("  password geheim12", "geheim12"),
        ("xapp-1-A0123456789-abcdef", "A0123456789"),
        ("hvs.CAESIJ0123456789abc", "CAESIJ"),
        ("GOCSPX-0123456789abcdef", "0123456789abcdef"),
        ("dapi0123456789abcdef0123456789abcdef", "0123456789abcdef"),
        ("AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQ", "1QQQQQQ"),
        ("password: |\n  geheim12\n  geheim34\nafter: it", "geheim34"),
        ("a:\n  token: >-\n    geheim12\n  b: after", "geheim12"),
        (
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\nlQOYBF\n=AbCd\n"
            "-----END PGP PRIVATE KEY BLOCK-----\nafter",
            "lQOYBF",
        ),
        ("glrt-0123456789abcdefghij", "0123456789"),
        ("gsk_abcdefghij0123456789", "0123456789"),
        ("Groq: gsk_abcdefghij0123456789", "0123456789"),
        ("xai-abcdefghij0123456789", "0123456789"),
        ("pplx-abcdefghij0123456789", "0123456789"),
        ("dckr_pat_0123456789abcdefXYZ", "0123456789"),
        ("sq0atp-0123456789abcdefghij", "0123456789"),
        ("key-0123456789abcdef0123456789abcdef", "0123456789"),
        ("lin_api_0123456789abcdefghij", "0123456789"),
        ("//registry.example.org/:_auth=am9lOmdlaGVpbQ", "am9l"),
        ("SSHPASS=geheim12", "geheim12"),
        (".dockerconfigjson: eyJhdXRocyI6e319", "eyJhdX"),
        ("https://api.telegram.org/bot123456789:AAabcdefghijklmnopqrstuvwxyz0123456/x", "klmnop"),
        ("joe:$6$rounds=5000$salt$0123456789abcdefghij:19000:after", "0123456789"),
        ("hash $2b$12$0123456789abcdefghijkl0123456789abcdefghij0123456789abc", "ghijkl0"),
        ("123456789:AAabcdefghijklmnopqrstuvwxyz0123456", "abcdefghij"),
    ],
)
def test_further_forms_are_masked_in_a_stream(text: str, secret: str) -> None:
    stream = masking.Stream(MASKS, [])
    said = (stream.feed(text.encode()) + stream.end()).decode()
    assert secret not in said and "***" in said
    assert ("after" in said) is ("after" in text), "what follows is shown"


@pytest.mark.parametrize(
    "text",
    [
        "pass: 12, fail: 3",
        "so that its tests pass: amounts like these",
        "pwd: /home/joe",
        "tests pass: 1234",
        "test_token_bucket.py::test_password PASSED",
        "token: |",
        "author: joe9",
        "whsec_of_the_hooks",
        "echo $5$a $6$x costs $5$ or $6$ each",
        "see https://host/a@b and http://localhost:80 of joe@host",
    ],
)
def test_what_only_sounds_like_a_further_form(text: str) -> None:
    stream = masking.Stream(MASKS, [])
    assert (stream.feed(text.encode()) + stream.end()).decode() == text


def test_lines_without_a_mark_are_passed_by_and_all_others_looked_at() -> None:
    """What the stream shows of a line is what looking at every line would show."""
    rows = [row["example"] for row in tables._read("masks")["form"]]
    rows += ["API_KEY: abcdefgh", "--api-key abcdefgh12", "export X_PAT=abcdefgh", "X_DSN=abcdefgh"]
    rows += [
        "curl --user joe:geheim12 x",
        "Cookie: a=bcdefgh",
        "x?signature=abcdefgh12",
        "x?key=abcdefgh",
    ]
    rows += ["\x1b[1mtoken\x1b[0m=\x1b[33mgeheim12\x1b[0m", "<db:secret>geheim12</db:secret>"]
    for row in rows:
        for end in ("\n", "\r\n", "\r"):
            text = f"plain{end}{row}{end}plain{end}"
            stream = masking.Stream(MASKS, [])
            said = (stream.feed(text.encode()) + stream.end()).decode()
            assert said == f"plain{end}{MASKS.masked(row)}{end}plain{end}" != text, row


def test_each_form_masks_its_example() -> None:
    for row in tables._read("masks")["form"]:
        assert set(row) == {"of", "marks", "pattern", "example"}
        hit = re.search(row["pattern"], row["example"])
        assert hit and hit[0] not in MASKS.masked(row["example"]), row["of"]


def test_values_of_an_environment_are_chosen_by_name_and_length() -> None:
    environment = {
        "DEPLOY_TOKEN": "longenough1",
        "DB_PASSWORD": "short",
        "TOKEN_FILE": "/home/x/tok",
        "PATH": "a:b:c:d:e",
    }
    assert MASKS.values(environment) == ["longenough1"]


@pytest.mark.parametrize("size", [1, 2, 7, 4096])
def test_a_stream_masks_the_same_in_whatever_pieces_it_comes(size: int) -> None:
    text = f"start\ntoken=abcd1234 é\n{KEY}it was longenough1, \xff\nghp_0123456789abcdef"
    data = text.encode("utf-8", "surrogateescape")
    stream = masking.Stream(MASKS, ["longenough1"])
    said = (
        b"".join(stream.feed(data[at : at + size]) for at in range(0, len(data), size))
        + stream.end()
    )
    assert said.decode() == "start\ntoken=*** é\n***\nit was ***, \xff\n***"


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    stream = masking.Stream(MASKS, [])
    assert stream.feed(b"\xff\xfe\x00 a\r\nb\rc\n") + stream.end() == b"\xff\xfe\x00 a\r\nb\rc\n"


def test_a_line_without_an_end_is_passed_on_in_pieces() -> None:
    stream = masking.Stream(MASKS, [])
    said = stream.feed(b"x" * (masking.LONGEST_LINE + 1))
    assert len(said) > masking.LONGEST_LINE // 2
    assert said + stream.end() == b"x" * (masking.LONGEST_LINE + 1)


@pytest.mark.parametrize("shift", range(-60, 61, 14))
@pytest.mark.parametrize(
    "edge", [0, masking.OVERLAP], ids=["at the end of a piece", "where it is cut"]
)
def test_a_credential_on_the_edge_of_a_piece_is_masked(
    shift: int, edge: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masking, "LONGEST_LINE", 1 << 14)
    before = b"ab " * ((masking.LONGEST_LINE - edge + shift) // 3)
    line = before + b"password=geheim1234 longenough1 ghp_0123456789abcdef " + b"cd " * 8_000
    stream = masking.Stream(MASKS, ["longenough1"])
    said = (
        b"".join(stream.feed(line[at : at + 16_384]) for at in range(0, len(line), 16_384))
        + stream.end()
    )
    assert said == before + b"password=*** *** *** " + b"cd " * 8_000


@pytest.mark.parametrize(
    "shown",
    [
        r'{"x": "a\"b/c d\u00e9+1"}',
        "?x=a%22b/c%20d%C3%A9%2B1",
        "x=a%22b%2Fc+d%C3%A9%2B1",
        "YSJiL2MgZMOpKzE=",
        'a"b/c d\u00e9+1',
    ],
)
def test_a_value_of_the_environment_is_known_however_it_is_written(shown: str) -> None:
    stream = masking.Stream(MASKS, ['a"b/c d\u00e9+1'])
    said = (stream.feed(shown.encode() + b"\n") + stream.end()).decode()
    assert "***" in said and "b/c" not in said and "%22" not in said and "YSJi" not in said, said


def test_a_value_of_several_lines_is_masked_line_by_line() -> None:
    stream = masking.Stream(MASKS, ["first line\nsecond line\nx"])
    assert stream.feed(b"got first line\nsecond line\nx\n") + stream.end() == b"got ***\n***\nx\n"


def test_the_head_of_a_key_alone_hides_nothing_after_it() -> None:
    stream = masking.Stream(MASKS, [])
    text = b"a.py: -----BEGIN RSA PRIVATE KEY-----\nb.py: all is well, 3 passed\nok\n"
    assert stream.feed(text) + stream.end() == b"a.py: ***\nb.py: all is well, 3 passed\nok\n"


@pytest.mark.parametrize("prefix", ["", "+", "  | ", "> ", "key.pem:2:", '"'])
def test_a_key_is_hidden_whatever_shows_its_lines(prefix: str) -> None:
    lines = KEY.splitlines()
    text = "".join(f"{prefix}{line}\n" for line in lines) + "after\n"
    stream = masking.Stream(MASKS, [])
    said = (stream.feed(text.encode()) + stream.end()).decode()
    assert "b3Blb" not in said and "AAAA" not in said and said.endswith("\nafter\n")


@pytest.mark.parametrize(
    "piece",
    ["a-", "eyJ-", "eyJa.", "token", "token ", "token-", "://", "://a:", "sk-", "sk-a ", "-----BEGIN ", "A ", "token\"",
     "password=\"a\\", "authorization: ", "--token ", "-u a", "Cookie: ", "A_KEY", "\x1b[", "bearer "
     "a.", "?key="],
)  # fmt: skip
def test_no_line_is_looked_through_again_and_again(piece: str) -> None:
    """A square of its length would be minutes for each of these; the test would never come to its
    end."""
    MASKS.masked(piece * (100_000 // len(piece)))


def test_names_that_only_sound_like_it() -> None:
    assert MASKS.values({"SECRET_BACKEND": "kubernetes", "MAX_OUTPUT_TOKENS": "32000000"}) == []
    assert MASKS.values({"API_TOKEN": "/slash+first", "STRIPE_KEY": "abcdefgh1"}) == [
        "/slash+first",
        "abcdefgh1",
    ]
