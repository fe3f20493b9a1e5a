"""recall, score, shape, confirm: from a request to a list of tasks that may be worked on."""

from __future__ import annotations

import json
import re
import time

import pytest

from loopkit.core.journal import clock
from loopkit.store import place, profiles
from tests.cli.kit import SHAPE, Project, task

LOW = (1, 1, 1, 1, 0)  # spec 4, fit 20


def learn(project: Project, *contexts: str, **fields: object) -> None:
    project.root.mkdir(exist_ok=True)
    stamp = clock.stamp(time.time())
    rows = [
        {"ts": stamp, "kind": "discovery", "context": one, "discovery": one + "!", **fields}
        for one in contexts
    ]
    (project.root / "learnings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


# -- recall


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (2, 2), (5, 5), (7, 5)])
def test_learnings_that_fit_are_shown_with_the_form_and_by_recall(
    project: Project, count: int, shown: int
) -> None:
    learn(project, *[f"rate number {number}" for number in range(count)], "nothing of it")
    assert "[discovery]" not in project.start().out
    answer = project.ok("next")
    assert answer.out.count(". [discovery] rate number") == shown
    listed = project.ok("recall", "--json").json["learnings"]
    assert len(listed) == shown and "nothing of it" not in answer.out
    if not count:
        assert "nothing learnt before" in project.ok("recall").out


def test_answers_are_in_the_ledger_and_confirmed_titles_in_the_snapshot(project: Project) -> None:
    learn(project, "rate c", "rate b", "rate a")
    project.start()
    assert (
        "1 confirmed, 1 dismissed" in project.ok("recall", "--confirm", "2", "--dismiss", "1").out
    )
    assert project.of("recall_answered") == [
        {"shown": ["rate a", "rate b", "rate c"], "confirmed": ["rate b"], "dismissed": ["rate a"]}
    ]
    assert project.snapshot["recall_surfaced"] == ["rate b"]


@pytest.mark.parametrize("count", [5, 4])
def test_confirmed_learnings_count_as_familiarity(project: Project, count: int) -> None:
    learn(project, *[f"rate {number}" for number in range(6)])
    project.start()
    project.ok("recall", "--confirm", ",".join(str(number) for number in range(1, count + 1)))
    assert f"fit {25 + 2 * count}" in project.score(1, 1, 1, 1, 1).out


def test_the_same_learning_twice_counts_once(project: Project) -> None:
    learn(project, "rate a")
    project.start()
    project.ok("recall", "--confirm", "1,1,1")
    project.ok("recall", "--confirm", "1")
    assert "fit 27" in project.score(1, 1, 1, 1, 1).out


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, ("--confirm", "9")),
        (1, ("--dismiss", "0")),
        (2, ("--confirm", "x")),
        (2, ("--confirm", "²")),
    ],
)
def test_numbers_that_were_not_shown(project: Project, code: int, words: tuple) -> None:
    learn(project, "rate a")
    project.start()
    project.refused(code, "recall", *words)


# -- score


def test_a_low_spec_stays_and_says_which_dimensions_are_low(project: Project) -> None:
    project.start()
    answer = project.score(*LOW)
    assert (answer.exit, answer.err) == (1, "")
    assert (
        "spec 4/10, fit 20" in answer.out and "stays in intent: spec 4/10 is under 5" in answer.out
    )
    assert "under 2: outcome, scope, constraints, success, done" in answer.out
    assert project.snapshot["stage"] == "intent" and project.snapshot["spec_score"] == 4


@pytest.mark.parametrize(
    ("values", "said", "shape"),
    [
        ((1, 1, 1, 1, 1), "spec 5/10, fit 25, shape colleague", "colleague"),
        ((2, 1, 2, 0, 0), "spec 5/10, fit 30, shape tool-review", "tool-review"),
        ((2, 2, 1, 1, 1), "spec 7/10, fit 35, shape tool-review", "tool-review"),
        ((2, 2, 2, 2, 2), "spec 10/10, fit 65, shape tool", "tool"),
    ],
)
def test_scores_that_suffice(project: Project, values: tuple, said: str, shape: str) -> None:
    project.start()
    answer = project.score(*values)
    assert answer.exit == 0 and answer.out.startswith(said)
    assert answer.steps == ["loopkit shape --accept -"]
    snapshot = project.snapshot
    assert (snapshot["stage"], snapshot["shape_chosen"]) == ("shape", shape)


def test_an_overrule_is_recorded_and_goes_on(project: Project) -> None:
    project.start()
    assert project.score(0, 0, 2, 2, 0).exit == 1
    assert project.ok("score", "--overrule", "the person knows").steps == [
        "loopkit shape --accept -"
    ]
    assert project.of("spec_overruled") == [{"why": "the person knows"}]


def test_fit_under_25_stays_also_overruled(project: Project) -> None:
    project.start()
    project.score(*LOW)
    answer = project.lk("score", "--overrule", "please")
    assert (
        answer.exit == 1
        and "fit 20 is under 25: blocked, also when the spec was overruled" in answer.out
    )
    assert project.of("spec_overruled") == [{"why": "please"}]
    project.refused(1, "shape", "--accept", "-", given=SHAPE, says="the loop is in intent")


@pytest.mark.parametrize(
    ("code", "words", "says"),
    [
        (2, ("--outcome", "3"), "--outcome is 3"),
        (2, ("--outcome", "2"), "--scope is None"),
        (2, ("--outcome", "two"), "--outcome"),
        (2, ("--overrule", "x", "--done", "2"), "--overrule together with scores"),
        (1, ("--overrule", "x"), "not scored yet"),
        (1, ("--overrule", " "), "no reason given"),
        (2, (), "--outcome is None"),
        (2, ("--kind", "feature"), "unknown kind of work 'feature'; use build, debug, refactor"),
        (2, ("--topics", "api,login"), "unknown topic 'login'; use data, api, ui, auth"),
    ],
)
def test_scores_that_cannot_be_taken(project: Project, code: int, words: tuple, says: str) -> None:
    project.start()
    project.refused(code, "score", *words, says=says)


def test_topics_choose_aspects_and_experts(project: Project) -> None:
    project.start()
    assert "topics, one to three of: data, api, ui, auth" in project.ok("next").out
    words = ("--outcome=2", "--scope=2", "--constraints=2", "--success=2", "--done=2")
    said = project.ok("score", *words, "--kind=refactor", "--topics=auth,ui").out
    assert "aspects: auth, testing, ui" in said
    assert project.of("scored")[0]["topics"] == ["auth", "ui"]
    assert project.of("scored")[0]["kind"] == "refactor"
    project.ok("shape", "--accept", "-", given=SHAPE)
    project.ok("task", "add", "--file", "-", given=[task()])
    said = project.ok("panel", "--wave").out
    assert "identity-engineer" in said


def test_a_scored_loop_is_not_scored_again(project: Project) -> None:
    project.start()
    project.score()
    answer = project.ok("score")
    assert answer.out.startswith("spec 10/10, fit 65")
    before = project.files()
    assert project.score(1, 1, 1, 1, 1).exit == 1
    assert project.files() == before


# -- shape


def test_the_form_is_shown(project: Project) -> None:
    out = project.ok("shape").out
    assert "mustNot:" in out and "execution output, observation, measurement" in out


def test_a_shape_is_stored_as_it_was_submitted(project: Project) -> None:
    project.start()
    project.score()
    (project.folder / "mine.md").write_text(SHAPE, encoding="utf-8-sig")
    answer = project.ok("shape", "--accept", "mine.md")
    assert answer.out.startswith("shape recorded: 1 criterion, 2 mustNot")
    assert (project.root / project.name / "SHAPE.md").read_text() == SHAPE
    assert answer.steps == ["loopkit task add --file -"]
    assert project.snapshot["stage"] == "decompose"


def test_one_must_not_is_refused_with_line_and_reason(project: Project) -> None:
    project.start()
    project.score()
    text = SHAPE.replace("- M2: A runtime dependency is added\n", "").replace("- C1:", "- C1")
    said = project.refused(1, "shape", "--accept", "-", given=text, says="1 mustNot, at least 2")
    assert "line 3: not `- C1: …`" in said
    assert not (project.root / project.name / "SHAPE.md").exists()


def test_assumption_alone_is_warned_about(project: Project) -> None:
    project.start()
    project.score()
    text = SHAPE.replace("| C1 | execution output | test -f limiter.txt |", "| C1 | assumption | |")
    assert (
        "C1 rests on nothing that can be seen"
        in project.ok("shape", "--accept", "-", given=text).out
    )


@pytest.mark.parametrize("given", [b"\xff\xfe", b"\xe4"])
def test_a_shape_that_is_no_text(project: Project, given: bytes) -> None:
    project.start()
    project.score()
    project.refused(2, "shape", "--accept", "-", given=given, says="not UTF-8")
    project.refused(2, "shape", "--accept", ".", says="no such file")


# -- confirmations


def test_tool_review_attended(project: Project) -> None:
    project.shaped(2, 2, 1, 1, 1)
    assert (project.snapshot["stage"], project.snapshot["status"]) == ("shape", "awaiting_approval")
    project.refused(1, "task", "add", "a", "--verify", "ls", says="the loop is in shape")
    assert project.ok("confirm", "shape").steps == ["loopkit next"]
    assert project.ok("task", "add", "a", "--verify", "ls").steps == ["loopkit confirm tasks"]
    assert project.snapshot["status"] == "awaiting_approval"
    project.refused(1, "wave", "next", says="has not confirmed the task list")
    project.refused(1, "confirm", "wave", says="nothing to confirm as wave")
    assert project.ok("confirm", "tasks").steps == ["loopkit next"]
    project.ok("wave", "next")
    assert project.of("confirmed") == [
        {"what": "shape", "default": False},
        {"what": "tasks", "default": False},
    ]


def test_another_check_is_another_question(project: Project) -> None:
    project.shaped(2, 2, 1, 1, 1)
    project.ok("confirm", "shape")
    project.ok("task", "add", "a", "--verify", "test -f a.txt")
    project.ok("confirm", "tasks")
    project.ok("wave", "next")
    changed = project.ok("task", "set", "T-001", "--verify", "touch a.txt")
    assert changed.steps == ["loopkit confirm tasks"]
    assert "the person is asked again, since their yes was to other checks: T-001\n" in changed.out
    project.refused(
        1,
        "verify",
        "T-001",
        "--",
        "touch",
        "a.txt",
        says="the check of T-001 is new since the person's yes",
    )
    assert not (project.folder / "a.txt").exists()
    assert project.of("confirmation_dropped") == [{"what": ["tasks"], "ids": ["T-001"]}]
    assert "other checks" not in project.ok("confirm", "tasks").out
    assert project.verify("T-001").exit == 0


def test_tool_review_unattended_goes_on_by_default(project: Project) -> None:
    project.shaped(2, 2, 1, 1, 1, words=("--unattended",))
    assert (project.snapshot["stage"], project.snapshot["status"]) == ("decompose", "running")
    assert project.ok("task", "add", "a", "--verify", "ls").steps == ["loopkit wave next"]
    assert project.snapshot["status"] == "running"
    project.ok("wave", "next")
    assert project.of("confirmed") == [
        {"what": "shape", "default": True},
        {"what": "tasks", "default": True},
    ]


def test_colleague_attended_confirms_every_wave(project: Project) -> None:
    project.shaped(1, 1, 1, 1, 1)
    project.ok("confirm", "shape")
    project.ok(
        "task", "add", "--file", "-", given=[task("a", "ls"), task("b", "ls", blocked_by=["#1"])]
    )
    assert project.ok("confirm", "tasks").steps == ["loopkit confirm wave"]
    for name in ("T-001", "T-002"):
        project.refused(1, "wave", "next", says="has not confirmed wave")
        assert project.ok("confirm", "wave").steps == ["loopkit next"]
        project.ok("wave", "next")
        assert project.verify(name).exit == 0
        project.ok("wave", "close")
        assert project.verify("M2").exit == 0
    assert project.snapshot["stage"] == "review"


def test_colleague_unattended_pauses(project: Project) -> None:
    project.shaped(1, 1, 1, 1, 1, words=("--unattended",))
    snapshot = project.snapshot
    assert (snapshot["status"], snapshot["verdict"], snapshot["stage"]) == (
        "paused",
        "waiting",
        "shape",
    )
    assert "nobody can be asked" in snapshot["reason"]
    project.refused(1, "task", "add", "a", "--verify", "ls", says="paused (waiting)")


def test_tool_asks_for_nothing(project: Project) -> None:
    project.planned(task("a", "ls"))
    project.refused(1, "confirm", "tasks", says="nothing to confirm as tasks")
    project.ok("wave", "next")
    assert project.of("confirmed") == []


def test_confirm_knows_three_words(project: Project) -> None:
    project.start()
    project.refused(2, "confirm", "everything")


ROWS = SHAPE.splitlines()
MALFORMED = {
    "empty": "",
    "no title": SHAPE.replace("# Shape: Add rate limiting to the API\n", ""),
    "two titles": "# One\n" + SHAPE,
    "prose": SHAPE.replace("criteria:", "We will do this:\ncriteria:", 1),
    "unknown section": SHAPE + "notes:\n- later\n",
    "section twice": SHAPE.replace("mustNot:", "criteria:", 1),
    "no colon": SHAPE.replace("- C1:", "- C1", 1),
    "wrong letter": SHAPE.replace("- M1:", "- C2:", 1),
    "id twice": SHAPE.replace("- M2:", "- M1:", 1),
    "one mustNot": SHAPE.replace("- M1: The signature of a public route handler changes\n", ""),
    "no row": "\n".join(row for row in ROWS if not row.startswith("| C1")),
    "row of nobody": SHAPE.replace("| C1 |", "| C7 |"),
    "unknown type": SHAPE.replace("execution output | test -f", "vibes | test -f"),
    "no command": SHAPE.replace("| test -f limiter.txt |", "| |"),
    "operator": SHAPE.replace("test -f limiter.txt", "make && make check"),
    "open quote": SHAPE.replace("test -f limiter.txt", "sh -c 'x"),
    "cannot fail": SHAPE.replace("test -f limiter.txt", "true"),
    "four columns": SHAPE.replace("| C1 | execution output |", "| C1 | a | execution output |"),
    "aspects": SHAPE.replace("criteria:", "aspects: auth, ui\ncriteria:", 1),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_shape_says_line_and_reason_and_records_nothing(
    project: Project, name: str
) -> None:
    project.start()
    project.score()
    line = project.refused(
        1, "shape", "--accept", "-", given=MALFORMED[name], says="SHAPE.md: line "
    )
    assert re.search(r"line \d+: \w", line) and "loopkit shape" in line
    faults = json.loads(project.lk("shape", "--accept", "-", "--json", given=MALFORMED[name]).out)[
        "refused"
    ]["faults"]
    assert faults and all(one["line"] >= 1 and one["reason"] for one in faults)
    assert project.status["stage"] == "shape" and project.of("shape_saved") == []


def test_where_nobody_can_be_asked_nobody_overrules(project: Project) -> None:
    project.start("make it nicer", "--unattended")
    project.score(*LOW)
    project.refused(1, "score", "--overrule", "go", says="only the person overrules")


@pytest.mark.parametrize("words", [("clarify",), ("panel", "--clarify", "scope")])
def test_nothing_is_clarified_after_intent(project: Project, words: tuple) -> None:
    project.start()
    project.score()
    project.refused(1, *words, says="clarifying belongs to stage intent")


def test_a_blocklist_of_strangers_or_of_too_many_is_a_mistake(project: Project) -> None:
    project.root.mkdir()
    settings = project.root / "config.toml"
    settings.write_text('[panel]\nblocklist = ["nobody"]\n')
    project.refused(
        2, "start", "--task-file", "-", given="x", says="panel.blocklist names no expert: 'nobody'"
    )
    names = [one.name for one in profiles.read(place.plugin_root())]
    settings.write_text(f"[panel]\nblocklist = {json.dumps(names[3:])}\n")
    project.refused(
        2, "start", "--task-file", "-", given="x", says="panel.blocklist leaves 3 experts"
    )
    settings.write_text(f"[panel]\nblocklist = {json.dumps(names[4:])}\n")
    project.start("x")
