"""The snapshot: names that others read, bounded size, a fingerprint of progress, damage noticed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.steps import snapshot
from tests.core.kit import S1, Book, task


def build(book: Book) -> dict:
    return snapshot.build(book.state, 123)


def written(book: Book) -> bytes:
    return json.dumps(build(book)).encode()


def test_the_documented_names_and_meanings() -> None:
    book = Book().reviewed(task("a"), task("b"))
    book.line("review_light", wave=1, score=8, issues=2, blockers=0)
    view = build(book)
    assert view["version"] == 1
    assert (view["stage"], view["status"], view["verdict"]) == ("review", "running", None)
    assert (view["task"], view["loop"]) == ("add rate limiting", "001-limiter")
    assert (view["spec_score"], view["fit_score"], view["shape_chosen"]) == (10, 65, "tool")
    assert (view["started_at"], view["last_updated"]) == (book.events[0].at, book.events[-1].at)
    assert view["recall_surfaced"] == []
    assert view["reviews"]["wave_1"] == {"score": 8, "issues": 2, "blockers": 0}
    thorough = view["reviews"]["thorough"]
    assert set(thorough) == {
        "passed",
        "blockers_remaining",
        "findings_total",
        "experts",
        "timestamp",
    }
    assert view["owner"] == {"session_id": S1, "client_pid": 1, "since": book.events[0].at}
    assert view["limits"] == {"iterations": None, "usd": None, "seconds": None}
    assert set(view["spent"]) == {"iterations", "usd", "seconds", "tokens", "unpriced_models"}
    assert view["ledger_offset"] == 123
    counts = {"total": 2, "pending": 0, "in_progress": 0, "completed": 2, "failed": 0, "blocked": 0}
    assert {key: view["tasks"][key] for key in counts} == counts


def test_confirmed_learnings_are_named() -> None:
    book = Book()
    book.line("recall_answered", shown=["a", "b"], confirmed=["b"], dismissed=["a"])
    assert build(book)["recall_surfaced"] == ["b"]


def test_unpriced_models_are_named() -> None:
    book = Book()
    book.line("iteration_ended", by="hook", decision="hold", usage={"mystery": [1, 2, 3, 4]})
    assert build(book)["spent"]["unpriced_models"] == ["mystery"]
    assert build(book)["spent"]["tokens"] == 10


@pytest.mark.parametrize("status", ["free", "blocked", "completed"])
def test_its_size_does_not_grow_with_the_tasks(status: str) -> None:
    def size(count: int) -> int:
        book = Book().shaped()
        book.line("stage_moved", to="executing")
        for number in range(1, count + 1):
            row = {
                "id": f"T-{number:03d}",
                "subject": "s" * 200,
                "verify": "ls",
                "description": "d" * 200,
            }
            book.line("task_added", task=row)
            if status == "blocked":
                book.line("task_blocked", id=row["id"], kind="external", text="t" * 200)
            elif status == "completed":
                book.line("task_completed", id=row["id"])
        return len(written(book))

    assert size(2000) - size(10) < 40  # the digits of the counts


def test_open_tasks_are_shown_running_first_then_free_then_the_rest() -> None:
    book = Book().planned(task("a", blocked_by=["#3"]), task("b"), task("c"), task("d"), task("e"))
    assert [row["id"] for row in build(book)["tasks"]["open"]] == ["T-002", "T-003", "T-004"]
    book.line("task_started", id="T-005")
    assert [row["id"] for row in build(book)["tasks"]["open"]] == ["T-005", "T-002", "T-003"]
    for name in ("T-002", "T-003", "T-004"):
        book.line("task_completed", id=name)
    assert [row["id"] for row in build(book)["tasks"]["open"]] == ["T-005", "T-001"]


# -- fingerprint


def lines(*rows: tuple) -> Callable[[Book], None]:
    def apply(book: Book) -> None:
        for kind, data in rows:
            book.line(kind, **data)

    return apply


FINDING = {"id": "F-001", "severity": "WARNING", "issue": "x"}
PROGRESS = {
    "stage": lines(("stage_moved", {"to": "review"})),
    "task added": lines(("task_added", {"task": {"id": "T-009", "subject": "x", "verify": "ls"}})),
    "task started": lines(("task_started", {"id": "T-001"})),
    "evidence": lines(("task_verified", {"id": "T-001", "passed": False, "exit": 1})),
    "task completed": lines(("task_completed", {"id": "T-001"})),
    "attempt": lines(("task_failed", {"id": "T-001", "action": "retry"})),
    "task blocked": lines(("task_blocked", {"id": "T-001", "kind": "external", "text": "x"})),
    "light review": lines(("review_light", {"wave": 1, "score": 8})),
    "thorough review": lines(("review_thorough", {"experts": [], "findings": []})),
    "finding settled": lines(("finding_resolved", {"id": "F-001", "how": "skip"})),
    "panel": lines(("panel_recorded", {"task": "T-001"})),
    "gate": lines(("gate_result", {"passed": True})),
    "criterion": lines(("criterion_verified", {"id": "C1", "passed": True})),
    "shape": lines(("shape_saved", {"criteria": []})),
}
NONE = {
    "hold": lines(("iteration_ended", {"decision": "hold", "fingerprint": "x"})),
    "limits": lines(("limits_set", {"iterations": 99})),
    "pause and resume": lines(("paused", {"reason": "x"}), ("resumed", {})),
    "question": lines(("question_asked", {"text": "?"}), ("question_answered", {"text": "!"})),
    "owner": lines(("owner_changed", {"session_id": "x"})),
    "notice": lines(("notice_given", {"name": "x"})),
    "subagent": lines(("subagent_stopped", {"agent_id": "x"})),
    "failed turn": lines(("stop_failed", {"error": "x"})),
    "unknown line": lines(("from_the_future", {"id": "T-001"})),
    "line about nobody": lines(
        ("task_completed", {"id": "T-404"}), ("finding_resolved", {"id": "F-404"})
    ),
}


def working() -> Book:
    book = Book().planned(task("a"), task("b"))
    book.line("review_light", wave=1, score=8, findings=[FINDING])
    return book


@pytest.mark.parametrize("what", PROGRESS)
def test_the_fingerprint_changes_with_progress(what: str) -> None:
    book = working()
    before = snapshot.fingerprint(book.state)
    PROGRESS[what](book)
    assert snapshot.fingerprint(book.state) != before


@pytest.mark.parametrize("what", NONE)
def test_the_fingerprint_stays_without_progress(what: str) -> None:
    book = working()
    before = snapshot.fingerprint(book.state)
    NONE[what](book)
    assert snapshot.fingerprint(book.state) == before


# -- parse


def test_parse_gives_what_was_built() -> None:
    book = working()
    assert snapshot.parse(written(book)) == json.loads(written(book))


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda view: json.dumps(view, separators=(",", ":")),
        lambda view: json.dumps(dict(reversed(view.items())), indent=7),
        lambda view: json.dumps(view, indent=1).replace("\n", "\r\n"),
        lambda view: "\ufeff" + json.dumps(view),
        lambda view: json.dumps(view, ensure_ascii=False),
    ],
    ids=["compact", "reversed", "crlf", "bom", "not escaped"],
)
def test_spelling_does_not_matter(rewrite: Callable) -> None:
    book = Book(task="Größe 🎉 “x”")
    assert snapshot.parse(rewrite(build(book)).encode()) == json.loads(written(book))


@pytest.mark.parametrize(
    "name", ["stage", "status", "iteration", "task", "ledger_offset", "tasks", "session", "owner"]
)
def test_an_edited_value_is_noticed(name: str) -> None:
    view = build(working())
    assert snapshot.parse(json.dumps({**view, name: "complete"}).encode()) is None
    assert (
        snapshot.parse(
            json.dumps({key: value for key, value in view.items() if key != name}).encode()
        )
        is None
    )


def test_another_version_is_not_read() -> None:
    view = {**build(working()), "version": 2}
    view["check"] = snapshot.checksum(view)
    assert snapshot.parse(json.dumps(view).encode()) is None


@given(some.binary(max_size=200))
def test_garbage_is_none(raw: bytes) -> None:
    assert snapshot.parse(raw) is None


def test_a_file_torn_anywhere_is_none() -> None:
    raw = written(working())
    for end in range(0, len(raw), 7):
        assert snapshot.parse(raw[:end]) is None


def test_json_that_is_no_snapshot_is_none() -> None:
    for text in ("null", "[]", "{}", "1", '"x"', '{"version":1}', "[" * 100_000):
        assert snapshot.parse(text.encode()) is None


def test_a_checksum_made_good_over_a_missing_field_of_the_session_is_no_snapshot() -> None:
    view = build(Book().planned(task("a")))
    del view["session"]["verdict"]
    view["check"] = snapshot.checksum(view)
    assert snapshot.parse(json.dumps(view).encode()) is None
