"""Errors: one line for people, a reason code for programs."""

from __future__ import annotations

import ast
from pathlib import Path

from loopkit.core.journal import errors
from loopkit.core.journal.errors import CODES, NotYet, Refused

ROOT = Path(__file__).resolve().parents[3] / "loopkit"


def given() -> set[str]:
    """The codes that are given anywhere."""
    codes = {one.code for one in vars(errors).values() if hasattr(one, "exit_code")}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id in vars(errors):
                words = [one.value for one in node.keywords if one.arg == "code"]
                codes |= {one.value for one in words if isinstance(one, ast.Constant)}
            if node.func.id == "NotYet" and len(node.args) > 1:
                codes.add(node.args[1].value)
    return codes


def test_codes_are_a_closed_list_and_each_is_used() -> None:
    assert given() == set(CODES)
    assert all(one.replace("_", "").islower() for one in CODES)


def test_a_refusal_has_its_own_code_or_that_of_its_kind() -> None:
    assert Refused("no").code == "refused" and Refused("no", code="busy").code == "busy"
    later = NotYet("first that")
    assert (later.code, str(later)) == ("not_yet", "first that")
    later.next_comes("loopkit score")
    assert str(later) == "first that; next: loopkit score"
    later.next_comes(None)
    assert later.todo == "see loopkit status"
