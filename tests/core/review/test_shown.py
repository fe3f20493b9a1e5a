"""What a thorough review says of each proof and of what nothing watches: closed, the worst counts."""

from __future__ import annotations

import pytest

from loopkit import replies
from loopkit.core.evidence import trials
from loopkit.core.journal import verdict
from loopkit.core.plan import schema
from loopkit.core.review import gate, review, shown
from loopkit.core.steps import due, kinds
from tests.core.kit import GATE, SHAPE, Book, same

WHY = "tests/test_limits.py asserts nothing"


def seen(**answers: dict) -> Book:
    book = Book().worked()
    book.review([], **answers)
    return book


@pytest.mark.parametrize(
    ("field", "given", "kept"),
    [
        ("proofs", "yes", "yes"),
        ("proofs", "Yes, it asserts 429", "yes: it asserts 429"),
        ("proofs", "partly: one case of three", "partly: one case of three"),
        ("proofs", "PARTLY - one case", "partly: one case"),
        ("proofs", "no: it asserts nothing", "no: it asserts nothing"),
        ("proofs", "no", ""),
        ("proofs", "partly:", ""),
        ("proofs", "nothing to say", ""),
        ("proofs", "maybe", ""),
        ("proofs", "kept: git diff", ""),
        ("must_nots", "kept: git diff names no handler", "kept: git diff names no handler"),
        ("must_nots", "kept", ""),
        ("must_nots", "broken: search() takes another argument", None),
        ("must_nots", "cannot be checked", "cannot be checked"),
        ("must_nots", "Cannot be checked: no diff", "cannot be checked: no diff"),
        ("must_nots", "yes", ""),
    ],
)
def test_the_answers_are_closed(field: str, given: str, kept: str | None) -> None:
    kept = given if kept is None else kept
    assert shown.read(field, given) == kept
    row = {"findings": [], field: {"m1": given}}
    if kept:
        assert replies.check("review", row)[field] == {"M1": kept}
    else:
        with pytest.raises(
            replies.Invalid, match=f"{field}.*must be .*{shown.FIELDS[field][2][:4]}"
        ):
            replies.check("review", row)


def test_a_hook_asks_for_each_answer_before_the_agent_ends() -> None:
    book = Book().worked()
    wanted = replies.accepted("review", **shown.schemas(book.state))
    proofs = {"C1": "yes", "REQUEST": "yes"}
    whole = {"proofs": proofs, "must_nots": {"M1": "kept: git diff"}}
    for row, fault in (
        ({}, "proofs: must be given"),
        ({"proofs": {}, "must_nots": whole["must_nots"]}, "proofs.C1: must be given"),
        ({**whole, "proofs": {"C1": "yes"}}, "proofs.REQUEST: must be given"),
        (
            {**whole, "proofs": {**proofs, "C1": "fine"}},
            "proofs.C1: must be yes | partly: what is missing",
        ),
        ({**whole, "must_nots": {"M1": "kept"}}, "must_nots.M1: must be kept: how seen"),
        (whole, ""),
    ):
        text = replies.json.dumps({"findings": [], **row})
        assert schema.unfit(text, wanted)[: len(fault) or None].startswith(fault)


def test_nothing_is_asked_of_what_commands_watch() -> None:
    book = Book().worked()
    assert shown.asked(book.state) == {
        "proofs": dict.fromkeys(["C1", "REQUEST"], shown.FIELDS["proofs"][2]),
        "must_nots": {"M1": shown.FIELDS["must_nots"][2]},
    }


def test_of_several_agents_the_worst_answer_counts() -> None:
    rows = [
        (["a", "b"], {"proofs": {"C1": "yes"}, "must_nots": {"M1": "kept: diff"}, "findings": []}),
        (
            ["c"],
            {
                "proofs": {"C1": "partly: one case"},
                "must_nots": {"M1": "cannot be checked"},
                "findings": [{"issue": "x"}],
            },
        ),
    ]
    whole = shown.merged(rows)
    assert whole["experts"] == ["a", "b", "c"] and whole["proofs"] == {"C1": "partly: one case"}
    assert whole["must_nots"] == {"M1": "kept: diff"} and whole["seen_by"] == {
        "C1": "c",
        "M1": "a, b",
    }
    assert [row["experts"] for row in whole["findings"]] == [["c"]]
    rows.append(
        (["d"], {"proofs": {"C1": "no: y"}, "must_nots": {"M1": "broken: z"}, "findings": []})
    )
    whole = shown.merged(rows)
    assert (whole["proofs"]["C1"], whole["must_nots"]["M1"]) == ("no: y", "broken: z")


def test_a_finding_is_of_the_view_that_it_names_else_of_all_that_its_agent_carried() -> None:
    rows = [{"issue": "x", "expert": "b"}, {"issue": "y", "expert": "nobody"}]
    whole = shown.merged([(["a", "b"], {"findings": rows})])
    assert [row["experts"] for row in whole["findings"]] == [["b"], ["a", "b"]]


def test_what_two_agents_say_alike_is_one_finding_of_both() -> None:
    row = {"issue": "x", "place": "a.py:1", "verify": ""}
    other = {**row, "verify": "test -f b"}
    whole = shown.merged([(["a"], {"findings": [row]}), (["b", "c"], {"findings": [other]})])
    assert whole["findings"] == [{**other, "experts": ["a", "b", "c"]}]
    whole = shown.merged([(["a"], {"findings": [row, {**row, "place": "a.py:2"}]})])
    assert [one["place"] for one in whole["findings"]] == ["a.py:1", "a.py:2"]


def test_a_proof_that_shows_nothing_blocks_until_another_stands_and_was_looked_at() -> None:
    book = seen(proofs={"C1": f"no: {WHY}"})
    (finding,) = book.state.findings.values()
    assert (finding.severity, finding.breaks, finding.task) == ("BLOCKER", ("C1",), None)
    assert WHY in finding.issue and not review.passed(book.state)
    assert due.due(book.state) == [kinds.step(kinds.PROOFS)], "another proof settles it"
    assert any(WHY in row for row in shown.doubts(book.state))
    assert trials.vain(book.state) == {"C1": f"does not show it, the review says: {WHY}"}
    row = {"id": "C1", "proof": "pytest tests/test_real.py", "keeps": False, "why": "it asserts"}
    book.do(trials.replaced, [row])
    assert due.due(book.state)[0].kind == kinds.THOROUGH_REVIEW
    book.review([])
    assert review.passed(book.state) and not shown.doubts(book.state)


def test_a_person_lets_such_a_proof_pass_once_and_the_card_still_says_it() -> None:
    book = seen(proofs={"C1": f"no: {WHY}"})
    book.do(review.resolved, "F-001", "waive", "it is a prototype", "")
    assert review.passed(book.state) and not trials.vain(book.state)
    book.review([], proofs={"C1": f"no: {WHY}"})
    assert list(book.state.findings) == ["F-001"] and review.passed(book.state)
    assert gate.card_kind(book.state, GATE) == verdict.MONITOR


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"proofs": {"C1": "partly: one case of three"}}, "a part of it: one case of three"),
        ({"must_nots": {"M1": "cannot be checked"}}, "M1: nobody could check"),
        ({"proofs": {"REQUEST": "partly: no milliseconds"}}, "more than the criteria say: no mill"),
        ({"proofs": {"REQUEST": "no: one file is there"}}, "than the criteria say: one file is"),
    ],
)
def test_what_was_not_seen_passes_and_is_a_doubt(answers: dict, says: str) -> None:
    book = seen(**answers)
    assert review.passed(book.state)
    assert [row for row in gate.doubts(book.state) if says in row]
    assert gate.card_kind(book.state, GATE) == verdict.MONITOR
    assert gate.card_kind(seen().seen().state, GATE) == verdict.SHIP


def test_what_is_missing_in_a_proof_stays_until_those_who_missed_it_say_otherwise() -> None:
    book = Book().worked().seen()
    for by, word, stands in (
        ("a, b", "partly: one case", True),
        ("c", "yes", True),
        ("b, c", "yes", True),
        ("a, b, c", "yes", False),
    ):
        whole = {"findings": [], "experts": [], "proofs": {"C1": word}}
        given = {**shown.merged([(by.split(", "), whole)]), "experts": ["a", "b", "c"]}
        book.do(lambda state, given=given: review.thorough(state, given))
        said = [row for row in gate.doubts(book.state) if "a part of it: one case" in row]
        assert bool(said) is stands, by
        assert ("a" in review.looks_again(book.state, {})) is True


@pytest.mark.parametrize("word", ["no", "partly"])
def test_a_command_that_does_not_notice_what_must_not_happen(word: str) -> None:
    book = seen(proofs={"C1": "yes", "M2": f"{word}: it runs no test"})
    assert not book.state.findings and book.state.session.status == verdict.RUNNING
    assert trials.vain(book.state) == (
        {"M2": "does not show it, the review says: it runs no test"} if word == "no" else {}
    )
    assert [row for row in gate.doubts(book.state) if row.startswith("the proof of M2")]


def test_a_mustnot_with_a_command_that_a_reviewer_saw_kept_is_no_doubt() -> None:
    whole = {"proofs": {"C1": "yes"}, "must_nots": {"M1": "kept: x", "M2": "kept: x"}}
    assert shown.doubts(seen(**whole).state) == []
    whole["must_nots"]["M2"] = "cannot be checked"
    assert shown.doubts(seen(**whole).state) == ["M2: nobody could check"]


def test_what_nobody_answered_is_not_taken_for_seen() -> None:
    book = Book().worked().seen()
    book.do(review.thorough, {"experts": ["a", "b", "c"], "findings": []})
    assert gate.doubts(book.state) == [
        "nobody has said whether the proof of C1 shows it",
        "M1: nobody could check",
    ]


def test_a_mustnot_that_somebody_saw_broken_pauses_the_loop_and_is_the_persons() -> None:
    book = seen(must_nots={"M1": "broken: search() takes another argument"})
    assert book.state.session.verdict == verdict.BREACHED
    assert "M1 is broken" in book.state.session.reason and "search()" in book.state.session.reason
    (finding,) = book.state.findings.values()
    assert finding.task is None and review.unsettled(finding, book.state)


def test_a_finding_that_says_it_already_is_not_said_twice() -> None:
    book = Book().worked()
    broken = {"severity": "BLOCKER", "issue": "search() changed", "breaks": ["M1"], "verify": "ls"}
    book.review([broken], must_nots={"M1": "broken: search()"})
    assert list(book.state.findings) == ["F-001"]


@pytest.mark.parametrize(("field", "name"), [("proofs", "C9"), ("must_nots", "C1")])
def test_an_answer_about_what_there_is_not(field: str, name: str) -> None:
    answer = {"proofs": "yes", "must_nots": "kept: x"}[field]
    with pytest.raises(review.Refused, match=f"{field}: there is no {name}"):
        Book().worked().review([], **{field: {name: answer}})


def test_a_rollback_takes_what_was_seen_along() -> None:
    book = seen()
    assert book.state.shown
    book.line("checkpoint_made", number=1, sha="a" * 40, tree="a" * 40, label="start", line=1)
    book.line("rolled_back", number=1, saved=None, files=[], undo=False)
    assert not book.state.shown


def test_who_saw_it_is_told() -> None:
    book = seen(must_nots={"M1": "kept: git diff names no handler"})
    assert shown.answer(book.state, "M1") == "kept: git diff names no handler (a, b, c)"
    assert "kept: git diff" in SHAPE + shown.answer(book.state, "M1")
    assert gate.decided(book.seen().state, dict(GATE, verify={}), same)
