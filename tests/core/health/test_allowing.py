"""A refused call in words, and the rule that would allow it."""

from __future__ import annotations

import pytest

from loopkit.core.health import allowing


@pytest.mark.parametrize(
    ("tool", "given", "call", "rules"),
    [
        ("Bash", {"command": "npm test 2>&1 | tail -5"}, "Bash: npm test 2>&1 | tail -5",
         "Bash(npm test *)"),
        ("Bash", {"command": "npm test"}, "Bash: npm test", "Bash(npm test *)"),
        ("Bash", {"command": "npm ci && npm test"}, "Bash: npm ci && npm test",
         "Bash(npm ci *) Bash(npm test *)"),
        ("Bash", {"command": "rm -rf 'a b'"}, "Bash: rm -rf 'a b'", "Bash(rm -rf 'a b')"),
        ("Bash", {"command": "make"}, "Bash: make", "Bash(make)"),
        ("Bash", {"command": "python3 x.py >/dev/null"}, "Bash: python3 x.py >/dev/null",
         "Bash(python3 x.py)"),
        ("Bash", {"command": "cat a | grep b"}, "Bash: cat a | grep b", ""),
        ("Bash", {"command": "make > out"}, "Bash: make > out", ""),
        ("Bash", {"command": "echo $(make)"}, "Bash: echo $(make)", ""),
        ("Bash", {"command": "sed 's/a|b/c/' x"}, "Bash: sed 's/a|b/c/' x", ""),
        ("Bash", {"command": "cat <<E\nx\nE"}, "Bash: cat <<E x E", ""),
        ("Bash", {}, "Bash", ""),
        ("Write", {"file_path": "/p/a.py"}, "Write: /p/a.py", "Edit"),
        ("WebFetch", {"url": "https://example.com/a"}, "WebFetch: https://example.com/a",
         "WebFetch(domain:example.com)"),
        ("ExitPlanMode", {"plan": "x"}, "ExitPlanMode", "ExitPlanMode"),
        ("mcp__x__y", None, "mcp__x__y", "mcp__x__y"),
        (None, 3, "None", ""),
        ("Bash", {"command": "x" * 300}, "Bash: " + "x" * 193 + "…", f"Bash({'x' * 300})"),
    ],
)  # fmt: skip
def test_calls_and_rules(tool: object, given: object, call: str, rules: str) -> None:
    assert allowing.call(tool, given) == call
    assert " ".join(allowing.rules(tool, given)) == rules
