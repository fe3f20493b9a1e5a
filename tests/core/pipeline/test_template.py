"""Variables of a prompt: one pass, and nothing that comes in through one is expanded again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.pipeline import template

VALUES = {"SESSION": "auth", "INPUTS": "${SESSION} $${SESSION} \\1 ${INPUTS}", "INPUTS.plan": "p"}


def expand(text: str) -> str:
    return template.expand(text, VALUES.get)


def test_variables_are_replaced_unknown_ones_stay_and_doubled_ones_are_literal() -> None:
    assert expand("a ${SESSION} b") == "a auth b"
    assert expand("${FOO} ${} $SESSION ${SESSION") == "${FOO} ${} $SESSION ${SESSION"
    assert expand("$${SESSION} $$${SESSION}") == "${SESSION} $${SESSION}"
    assert expand("${INPUTS.plan} ${INPUTS.other}") == "p ${INPUTS.other}"


def test_what_comes_in_stays_as_it_is() -> None:
    assert expand("[${INPUTS}]") == f"[{VALUES['INPUTS']}]"


@given(some.text(), some.text())
def test_any_text_comes_through_a_variable_to_the_letter(before: str, value: str) -> None:
    before = before.replace("$", "")
    assert template.expand(before + "${ITEM}", {"ITEM": value}.get) == before + value


@given(some.text(alphabet="${}AISTEM.-_a "))
def test_what_was_used_is_what_is_asked_for(text: str) -> None:
    asked: list[str] = []
    template.expand(text, lambda name: asked.append(name) or "")
    assert [name for name, _ in template.used(text)] == asked


def test_lines_are_counted() -> None:
    assert list(template.used("a\n${X}\n\n$${Y} ${Z}")) == [("X", 2), ("Z", 4)]


def test_inputs_by_their_number_and_size() -> None:
    assert template.inputs("plan", []) == "(no output of stage plan)"
    assert template.inputs("plan", [("p", "  raw\n")]) == "  raw\n"
    two = template.inputs("plan", [("a", "one"), ("b", "two")])
    assert two == "## plan, result 1 of 2\n\none\n\n## plan, result 2 of 2\n\ntwo"
    large = [("a", "x" * 30_000), ("b", "y" * 30_001)]
    assert template.inputs("plan", large) == "- a\n- b"
    assert template.inputs("plan", [("a", "x" * 60_000)]) == "x" * 60_000


def test_which_variables_there_are() -> None:
    assert all(map(template.is_known, (*template.NAMES, "INPUTS.any")))
    assert not template.is_known("SESION")
