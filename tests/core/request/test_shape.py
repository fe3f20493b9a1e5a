"""SHAPE.md: what is taken, and each fault with its line."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from loopkit import replies
from loopkit.core.evidence import proofs
from loopkit.core.journal.errors import Refused, UsageFault
from loopkit.core.journal.state import Criterion
from loopkit.core.request import shape
from tests.core.kit import SHAPE

ROWS = SHAPE.splitlines()


def with_line(number: int, *lines: str) -> str:
    """The good shape with line `number` (1-based) replaced."""
    return "\n".join([*ROWS[: number - 1], *lines, *ROWS[number:]])


def test_the_documented_example() -> None:
    parsed = shape.parse(SHAPE)
    assert parsed["title"] == "Add rate limiting to the API"
    assert parsed["criteria"] == [
        {
            "id": "C1",
            "text": "The 101st request of a minute is answered with 429",
            "type": "execution output",
            "command": "pytest tests/test_limits.py -q",
            "must_not": False,
            "keeps": False,
            "paths": [],
        },
        {
            "id": "M1",
            "text": "The signature of a public route handler changes",
            "type": None,
            "command": None,
            "must_not": True,
            "keeps": False,
            "paths": [],
        },
        {
            "id": "M2",
            "text": "A runtime dependency is added",
            "type": "execution output",
            "command": "git diff --exit-code requirements.txt",
            "must_not": True,
            "keeps": False,
            "paths": [],
        },
    ]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + SHAPE,
        SHAPE.replace("\n", "\r\n"),
        SHAPE.replace("\n", "\n\n"),
        SHAPE.replace("criteria:", "## criteria")
        .replace("mustNot:", "## mustNot")
        .replace("verification:", "## verification"),
        SHAPE.replace("- C1", "* C1"),
        "<!-- a note -->\n" + SHAPE,
    ],
    ids=["bom", "crlf", "blank lines", "headings", "stars", "comment"],
)
def test_spellings_that_are_taken(text: str) -> None:
    assert shape.parse(text)["criteria"] == shape.parse(SHAPE)["criteria"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (with_line(3, "- C1 no colon"), ["line 3", "not `- C1: …`", "C1 no colon"]),
        (with_line(3, "- M1: wrong letter"), ["line 3", "not `- C1: …`"]),
        (with_line(3, ROWS[2], "- C1: again"), ["line 4", "C1 stands twice"]),
        (with_line(6, "prose among the mustNots"), ["line 6", "not `- M1: …`"]),
        (with_line(6), ["1 mustNot, at least 2"]),
        (
            with_line(10, "| C1 | execution output |"),
            ["line 10", "execution output needs a command"],
        ),
        (
            with_line(10, "| C1 | execution output | |"),
            ["line 10", "execution output needs a command"],
        ),
        (
            with_line(10, "| C1 | belief | true |"),
            ["line 10", "unknown type 'belief'", "assumption"],
        ),
        (with_line(10, "| C1 | execution output | a | b |"), ["line 10", "4 columns"]),
        (with_line(10, "| C1 | execution output | a \\| b |"), ["line 10", "'|'"]),
        (with_line(10, "| C1 | execution output | echo 'a |"), ["line 10", "cannot be split"]),
        (with_line(10, ROWS[9], ROWS[9]), ["line 11", "C1 stands twice in the table"]),
        (
            with_line(10, "| C2 | observation | |"),
            ["line 10", "C2 is no criterion", "C1 has no row"],
        ),
        (with_line(10, "C1: observation"), ["line 10", "not a table row"]),
        (with_line(1, ROWS[0], "some prose"), ["line 2", "text outside", "some prose"]),
        ("", ["line 1: no title", "no criterion", "0 mustNot"]),
        (with_line(1, "goals:"), ["line 1", "unknown section", "line 1: no title"]),
        (with_line(1, "# Shape:"), ["line 1", "the title is empty"]),
        (with_line(1, ROWS[0], "# Another"), ["line 2", "a second title"]),
        (with_line(6, ROWS[5], "## Notes"), ["line 7", "unknown section '## Notes'"]),
        (with_line(4, "criteria:"), ["line 4", "criteria stands twice, first in line 2"]),
        (with_line(3, "- C1: " + "x" * 501), ["line 3", "501 characters, at most 500"]),
        (with_line(10, "| C1 | execution output | true |"), ["line 10", "true cannot fail"]),
        (with_line(10, "| C1 | execution output | echo done |"), ["line 10", "echo cannot fail"]),
        (with_line(10, "| C1 | execution output | A=1 make |"), ["line 10", "begins with 'A=1'"]),
        (
            with_line(10, "| C1 | execution output | make a\u200bb |"),
            ["line 10", "invisible character U+200B"],
        ),
        (with_line(10, ROWS[10]), ["line 3", "C1 has no row"]),
        (with_line(1, ROWS[0], "aspects: api, beauty"), ["line 2", "unknown aspect 'beauty'"]),
        (with_line(1, ROWS[0], "aspects: auth, ui"), ["line 2", "auth brings testing"]),
        (with_line(1, ROWS[0], "aspects: api, ui"), ["line 2", "api brings documentation"]),
        (
            with_line(1, ROWS[0], "aspects: migration, data"),
            ["line 2", "migration brings deployment"],
        ),
        (with_line(1, ROWS[0], "aspects: data"), ["line 2", "1 aspects instead of 2 to 5"]),
        (
            with_line(1, ROWS[0], "aspects: data, ui", "aspects: data, ui"),
            ["line 3", "aspects stands twice"],
        ),
    ],
)
def test_each_fault_is_named_with_its_line(text: str, words: list[str]) -> None:
    with pytest.raises(Refused) as caught:
        shape.parse(text)
    for word in words:
        assert word in str(caught.value)


def test_all_faults_come_at_once() -> None:
    with pytest.raises(Refused) as caught:
        shape.parse("criteria:\n- x\nmustNot:\n- y\nverification:\nz\n")
    assert [word in str(caught.value) for word in ("line 2", "line 4", "line 6")] == [True] * 3


def test_each_fault_has_a_line_in_their_order() -> None:
    with pytest.raises(shape.ShapeFaults) as caught:
        shape.parse("criteria:\n" + "- x\n" * 20)
    assert len(caught.value.faults) == 23
    assert [number for number, _ in caught.value.faults] == sorted(
        number for number, _ in caught.value.faults
    )
    assert "and 7 more" in str(caught.value)


def test_aspects_are_kept() -> None:
    assert shape.parse(with_line(1, ROWS[0], "aspects: API, documentation"))["aspects"] == [
        "api",
        "documentation",
    ]
    assert shape.parse(SHAPE)["aspects"] == []


# -- a proof may grow stronger, nothing else may change once there are tasks


def criteria(text: str) -> dict:
    return {row["id"]: Criterion(**row) for row in shape.parse(text)["criteria"]}


GUESSED = with_line(10, "| C1 | assumption | |")


def test_a_proof_grows_stronger() -> None:
    assert shape.stronger(criteria(GUESSED), shape.parse(SHAPE)["criteria"]) == ["C1"]
    more = with_line(11, ROWS[10], "| M1 | execution output | make api-check |")
    assert shape.stronger(criteria(SHAPE), shape.parse(more)["criteria"]) == ["M1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SHAPE, "nothing is stronger"),
        (GUESSED, "the proof of C1 is another"),
        (with_line(10, "| C1 | execution output | make other |"), "the proof of C1 is another"),
        (with_line(10, "| C1 | reasoned inference | |"), "the proof of C1 is another"),
        (with_line(3, "- C1: something else"), "C1 is another"),
        (with_line(6, ROWS[5], "- M3: more"), "M3 is new"),
        (with_line(11).replace("- M2", "- M3"), "M2 is gone"),
    ],
)
def test_what_is_no_stronger_proof(text: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        shape.stronger(criteria(SHAPE), shape.parse(text)["criteria"])


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_two_must_nots_are_the_least(count: int) -> None:
    lines = "".join(f"- M{number}: never {number}\n" for number in range(1, count + 1))
    text = (
        f"# Shape: x\ncriteria:\n- C1: a\nmustNot:\n{lines}verification:\n| C1 | observation | |\n"
    )
    if count < 2:
        with pytest.raises(Refused, match=f"{count} mustNot, at least 2"):
            shape.parse(text)
    else:
        assert len(shape.parse(text)["criteria"]) == 1 + count


@pytest.mark.parametrize("kind", proofs.TYPES)
def test_all_types_are_known(kind: str) -> None:
    text = with_line(10, f"| C1 | {kind.upper()} | `make check` |")
    row = shape.parse(text)["criteria"][0]
    assert (row["type"], row["command"]) == (kind, "make check")


@pytest.mark.parametrize("dash", ["-", "–", "—", ""])
def test_a_dash_is_no_command(dash: str) -> None:
    assert (
        shape.parse(with_line(10, f"| C1 | observation | {dash} |"))["criteria"][0]["command"]
        is None
    )


def test_a_pipe_within_a_command_is_escaped_as_in_markdown() -> None:
    row = shape.parse(with_line(10, r"| C1 | execution output | sh -c 'a \| b' |"))["criteria"][0]
    assert row["command"] == "sh -c 'a | b'"


@given(some.text(max_size=300) | some.lists(some.sampled_from(ROWS), max_size=14).map("\n".join))
def test_any_text_is_taken_or_refused(text: str) -> None:
    try:
        parsed = shape.parse(text)
    except Refused:
        return
    ids = [row["id"] for row in parsed["criteria"]]
    assert len(ids) == len(set(ids)) and sum(row["must_not"] for row in parsed["criteria"]) >= 2


def test_types_are_ordered_by_strength() -> None:
    assert proofs.TYPES == (
        "execution output",
        "observation",
        "measurement",
        "reasoned inference",
        "code review",
        "assumption",
    )


_FACTS = some.text(min_size=1, max_size=60).map(lambda text: " ".join(text.split()) or "x")
#: What stands in a command: nothing that cannot be seen.
_SEEN = some.characters(exclude_categories=("C", "Z"), include_characters=" ")
_WORDS = some.lists(some.text(_SEEN, min_size=1, max_size=12), max_size=4)
_PROOFS = _WORDS.map(lambda words: shlex.join(["grep", *words]))


@given(
    _FACTS,
    some.lists(
        some.tuples(_FACTS, _PROOFS, some.sampled_from(proofs.SEEN)), min_size=1, max_size=2
    ),
    some.lists(some.tuples(_FACTS, some.one_of(some.just(""), _PROOFS)), min_size=2, max_size=3),
)
def test_what_is_written_is_read_back(title: str, criteria: list, must_nots: list) -> None:
    given_ = {
        "title": title,
        "criteria": [{"text": a, "proof": b, "type": c} for a, b, c in criteria],
        "must_nots": [{"text": a, "proof": b} for a, b in must_nots],
    }
    try:
        row = replies.check("request", given_)
    except UsageFault:
        assume(False)
    parsed = shape.parse(shape.written(row["title"], row["criteria"], row["must_nots"]))
    assert parsed["title"] == row["title"]
    assert [
        (one["id"], one["text"], one["command"], one["type"]) for one in parsed["criteria"]
    ] == [
        *(
            (f"C{number}", one["text"], one["proof"], one["type"])
            for number, one in enumerate(row["criteria"], 1)
        ),
        *(
            (
                f"M{number}",
                one["text"],
                one["proof"] or None,
                one["proof"] and "execution output" or None,
            )
            for number, one in enumerate(row["must_nots"], 1)
        ),
    ]


@pytest.mark.parametrize(
    "proof", ["grep -E 'a|b' x", r"grep 'a\|b' x", r"grep a\\ x", "grep '`a`' x", "sh -c 'a || b'"]
)
def test_a_written_proof_keeps_its_words(proof: str) -> None:
    text = shape.written(
        "", [{"text": "a\nb", "proof": proof, "type": ""}], [{"text": "c", "proof": ""}] * 2
    )
    parsed = shape.parse(text)
    assert parsed["title"] == "the request"
    assert parsed["criteria"][0]["text"] == "a b" and parsed["criteria"][0]["command"] == proof


def test_what_is_kept_is_marked_and_stays_marked() -> None:
    text = shape.written(
        "x",
        [
            {"text": "a is new", "proof": "pytest -q", "type": "execution output"},
            {"text": "b stays", "proof": "pytest b", "type": "execution output", "keeps": True},
        ],
        [{"text": "y", "proof": ""}, {"text": "z", "proof": ""}],
    )
    assert "- C2 (keeps): b stays\n" in text
    rows = shape.parse(text)["criteria"]
    assert [row["keeps"] for row in rows] == [False, True, False, False]
    with pytest.raises(shape.ShapeFaults):
        shape.parse(text.replace("- M1: y", "- M1 (keeps): y"))
    with pytest.raises(Refused):
        shape.stronger(
            {row["id"]: Criterion(**row) for row in rows},
            shape.parse(text.replace("- C1:", "- C1 (keeps):"))["criteria"],
        )


def test_a_must_not_names_files_that_must_not_change() -> None:
    rows = {row["id"]: row for row in shape.parse(SHAPE + "| M1 | paths | src/**, a\\,b |\n")["criteria"]}  # fmt: skip
    assert rows["M1"]["paths"] == ["src/**", "a,b"] and rows["M2"]["paths"] == []


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("| C1 | paths | a.py |", "only a mustNot"),
        ("| M1 | paths | |", "names no file"),
        ("| M1 | paths | ../a |", "within it"),
        ("| M1 | paths | a, /b |", "within it"),
        ("| M9 | paths | a |", "no criterion and no mustNot"),
        ("| M1 | paths | a |\n| M1 | paths | b |", "twice"),
    ],
)
def test_paths_that_are_none(row: str, says: str) -> None:
    with pytest.raises(shape.ShapeFaults, match=says):
        shape.parse(SHAPE + row + "\n")


@pytest.mark.parametrize(
    "paths", [["a.py"], ["src/**", "a,b.py"], ["x|y", "ü, [id]/?.ts"], ["a,", ",b"], []]
)
def test_what_is_written_says_the_same_again(paths: list[str]) -> None:
    text = shape.written(
        "t",
        [{"text": "it is there", "proof": "test -f a", "type": None}],
        [{"text": "one", "proof": "test -f b", "paths": paths}, {"text": "two", "proof": ""}],
    )
    rows = {row["id"]: row for row in shape.parse(text)["criteria"]}
    assert rows["M1"]["paths"] == paths and rows["M1"]["command"] == "test -f b"
    assert rows["M2"]["paths"] == [] and rows["M2"]["command"] is None


def test_more_paths_are_a_stronger_proof_and_fewer_are_refused() -> None:
    few, more = SHAPE + "| M1 | paths | a |\n", SHAPE + "| M1 | paths | b, a |\n"
    assert shape.stronger(criteria(SHAPE), shape.parse(few)["criteria"]) == ["M1"]
    assert shape.stronger(criteria(few), shape.parse(more)["criteria"]) == ["M1"]
    with pytest.raises(Refused, match="fewer paths"):
        shape.stronger(criteria(more), shape.parse(few)["criteria"])
