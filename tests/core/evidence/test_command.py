"""Verification commands: split as a shell would, operators refused."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.evidence import command
from loopkit.core.journal.errors import UsageFault

#: Words that a shell would take as they are once quoted.
WORDS = some.lists(some.text(min_size=1), min_size=1, max_size=6).filter(
    lambda words: "=" not in words[0]
)


@given(WORDS)
def test_quoted_words_come_back(words: list[str]) -> None:
    assert command.split(shlex.join(words)) == words


@given(some.text(alphabet=some.sampled_from("ab'\"\\ $()|&;<>`\n-=./#*~{}é"), max_size=30))
def test_whatever_is_accepted_is_what_shlex_gives(text: str) -> None:
    try:
        words = command.split(text)
    except UsageFault:
        return
    assert words == shlex.split(text)


@pytest.mark.parametrize("operator", ["|", "&", ";", "<", ">", "`", "\n", "$("])
def test_an_unquoted_operator_is_refused_by_name(operator: str) -> None:
    with pytest.raises(UsageFault, match="without a shell") as caught:
        command.split(f"a {operator} b")
    assert repr(operator) in str(caught.value)
    assert "sh -c" in caught.value.todo


@pytest.mark.parametrize("operator", ["|", "&", ";", "<", ">", "`", "\n", "$("])
@pytest.mark.parametrize("quoted", ["'{}'", '"{}"'])
def test_a_quoted_operator_is_a_word(operator: str, quoted: str) -> None:
    assert command.split("echo " + quoted.format(operator)) == ["echo", operator]


def test_an_escaped_operator_is_a_word() -> None:
    assert command.split(r"grep a\|b f") == ["grep", "a|b", "f"]


def test_a_backslash_escapes_nothing_within_single_quotes() -> None:
    with pytest.raises(UsageFault, match="'|'"):
        command.split(r"grep 'a\' | b'")
    assert command.split(r'grep "a\" | b"') == ["grep", 'a" | b']


@pytest.mark.parametrize("text", ["", "   ", "\t"])
def test_nothing_is_no_command(text: str) -> None:
    with pytest.raises(UsageFault, match="empty"):
        command.split(text)


def test_an_open_quote_is_named() -> None:
    with pytest.raises(UsageFault, match="cannot be split"):
        command.split("echo 'a")


def test_an_assignment_in_front_is_refused() -> None:
    with pytest.raises(UsageFault, match="A_1=2"):
        command.split("A_1=2 pytest")
    assert command.split("env A_1=2 pytest") == ["env", "A_1=2", "pytest"]


def test_same() -> None:
    assert command.same("pytest -k 'a b'", ["pytest", "-k", "a b"])
    assert not command.same("pytest -k 'a b'", ["pytest", "-k", "a", "b"])
    assert not command.same("", [])
    assert not command.same("a | b", ["a", "|", "b"])


@pytest.mark.parametrize("text", ["sh -c 'a\nb'", 'a "\r"', "a 'b\u2028c'", "a 'b\x85c'"])
def test_a_line_break_in_a_word_is_not_submitted(text: str) -> None:
    assert command.split(text)  # a journal of before may hold it
    with pytest.raises(UsageFault, match="line break"):
        command.accept(text)


@pytest.mark.parametrize(
    "letter", ["\0", "\x1b", "\t", "\x7f", "\u202e", "\u200b", "\ufeff", "\ud800", "\U000e0041"]
)
def test_a_character_that_nobody_sees_is_not_submitted(letter: str) -> None:
    assert command.split(f"echo 'a{letter}b'")
    with pytest.raises(UsageFault, match=f"U\\+{ord(letter):04X}"):
        command.accept(f"grep 'a{letter}b'")


@pytest.mark.parametrize(
    "text",
    ["grep\t'a b'", "grep 'a\u00a0b'", "grep '\U0001f469\u200d\U0001f4bb \u0646\u200c\u0647'"],
)
def test_blanks_between_words_and_joiners_are_taken(text: str) -> None:
    assert command.accept(text)[0] == "grep"


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "/bin/true",
        ":",
        "echo all tests passed",
        "printf x",
        "exit 0",
        "pwd",
        "env A=b true",
        "sh -c true",
        "sh -c 'exit 0'",
        "bash -ec 'echo fine; true && :'",
        "sh -ce true",
        "sh -c -- true",
        "sh -c ''",
        "sh -c '# only words'",
        "sh -c '(true)'",
        "sh -c '{ true; }'",
        "sh -c 'exit 00'",
        "sh -c 'test -f x || true'",
        "/usr/bin/env true",
        "env -i true",
        "env -u X true",
        "env -- true",
        "command true",
        "exec true",
        "nice -n 5 true",
        "busybox true",
        "xargs true",
        "timeout 5 true",
        "timeout -k 1 5 true",
        "test 1",
        "[ 1 ]",
        "sleep 0",
    ],
)
def test_what_cannot_fail_is_no_check(text: str) -> None:
    with pytest.raises(
        UsageFault, match="cannot fail, so it proves nothing; give a command that fails as long as"
    ):
        command.accept(text)


@pytest.mark.parametrize(
    "text",
    [
        "test -f true",
        "false",
        "grep -q true a.txt",
        "sh -c 'echo it fails; exit 3'",
        "sh -c 'test -f a && echo yes'",
        "sh -c './check.sh | grep -q true'",
        "sh true",
        "timeout 5 pytest",
        "nice -n 5 pytest",
        "[ -f x ]",
        "sh -c 'pytest || exit 1'",
        "sh -c 'true && pytest'",
        "sh -c 'a || b || false'",
        "xargs grep x",
        "python -c 'exit()'",
        "env A=b pytest -q",
        "sh -c 'echo \"a && b'",
    ],
)
def test_what_can_fail_is_one(text: str) -> None:
    assert command.accept(text)
