"""Permission rules: which let `loopkit` run anything, and which do not."""

from __future__ import annotations

import pytest

from loopkit.core.evidence.permissions import too_wide

WIDE = [
    "Bash(loopkit verify *)",
    "Bash(loopkit verify:*)",
    "Bash(loopkit *)",
    "Bash(loopkit:*)",
    "Bash(loopkit*)",
    "Bash(loopkit v*)",
    "Bash(loopkit verify*)",
    "Bash(loopkit verify * -- *)",
    "Bash(loopkit verify * -- npm test)",
    "Bash(loopkit verify T-001 *)",
    "Bash(loopkit verify T-001:*)",
    "Bash(loopkit verify T-* -- npm test)",
    "Bash(loopkit verify T-001 -- *)",
    "Bash(loopkit verify T-001 -- npm *)",
    "Bash(loopkit verify --json *)",
    "Bash(loopkit --json verify *)",
    "Bash(loopkit baseline *)",
    "Bash(loopkit baseline -- *)",
    "Bash(/home/me/plugin/bin/loopkit verify *)",
    'Bash("/home/my self/bin/loopkit" verify *)',
    "Bash('/home/my self/bin/loopkit' *)",
    'Bash("${CLAUDE_PLUGIN_ROOT}/bin/loopkit" verify:*)',
    "Bash(*/loopkit verify *)",
    "Bash(* loopkit verify T-001 -- npm test)",
    "Bash(LOOPKIT_DIR=/x loopkit verify *)",
    "Bash(timeout 600 loopkit verify *)",
    "Bash(python3 -m loopkit verify *)",
    "Bash(sh /p/bin/loopkit verify *)",
    "Bash(bash bin/loopkit verify:*)",
    "Bash(uv run loopkit verify *)",
    "Bash(env -i loopkit verify *)",
    "Bash(nice -n 5 loopkit verify *)",
    "Bash(FOO='a b' loopkit verify *)",
    "Bash(/path with/bin/loopkit verify *)",
    "Bash(loop*)",
    "Bash(* verify *)",
    "Bash(loopkit confirm *)",
    "Bash(loopkit answer:*)",
    "Bash(loopkit trust *)",
    "Bash(loopkit rollback *)",
    " Bash( loopkit  verify  * ) ",
]
FINE = [
    "Bash(loopkit verify T-001 -- npm test)",
    "Bash(loopkit verify T-001 -- pytest tests/test_limits.py -q)",
    "Bash(loopkit verify)",
    "Bash(loopkit)",
    "Bash(loopkit status *)",
    "Bash(loopkit wave next *)",
    "Bash(loopkit task *)",
    "Bash(loopkit review --wave *)",
    "Bash(npm test)",
    "Bash(npm test *)",
    "Bash",
    "Bash()",
    "Bash(*)",
    "Bash(:*)",
    "Bash(**)",
    "Bash(cat loopkit/*)",
    "Bash(git -C /src/loopkit *)",
    "Bash(ls loopkit*)",
    "Bash(loopkitty verify *)",
    "Bash(verify *)",
    "Read(loopkit verify *)",
    "mcp__loopkit__verify",
    "",
    "Bash(loopkit verify *",
]


@pytest.mark.parametrize("rule", WIDE)
def test_a_rule_that_lets_any_command_run(rule: str) -> None:
    assert too_wide(rule)


@pytest.mark.parametrize("rule", FINE)
def test_one_that_does_not_or_that_gives_everything_on_purpose(rule: str) -> None:
    assert not too_wide(rule)


@pytest.mark.parametrize(
    "text",
    ["Bash(" + "* " * 20000 + ")", "Bash(" + "a=b " * 20000 + "*)", "Bash(" + "*/" * 20000 + "*)"],
)
def test_a_long_rule_is_no_trouble(text: str) -> None:
    too_wide(text)
