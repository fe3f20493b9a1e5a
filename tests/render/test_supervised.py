"""What people are told at the end of a supervised loop."""

from __future__ import annotations

from loopkit.render import card, report
from tests.core.roles import Asked, Roles, good, scored


def test_a_plan_that_was_not_approved_is_told_beside_the_card_and_in_the_report() -> None:
    book = Roles(settings={"max_plan_revisions": 0})

    def answer(one: Asked) -> dict:
        return scored(62) if one.task == "plan" else good(one)

    book.drive(answer)
    assert book.state.session.verdict == "achieved"
    words = "the plan was not approved (with 62 after revision 0)"
    assert f"! {words}" in card.render(book.state) and f"warning: {words}" in report.render(
        book.state
    )
    assert "goal: 82 of 100, approved" in report.render(book.state)
