"""`loopkit next` and `submit`: each block that is printed, and what answers make of a loop."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from loopkit.core.journal.events import Event, encode
from loopkit.core.review import review
from loopkit.engine import process
from loopkit.ops import advance
from loopkit.store import answers, prompts
from tests.cli.kit import GATE, PANEL, REQUEST, S1, S2, SEEN, Answer, Project
from tests.ops.kit import part

DONE = {"status": "complete", "summary": "it is there"}
REVIEW = {"findings": [], **SEEN}
#: Criteria that no command shows; one of them somebody can see.
BARE = [{"text": "a"}, {"text": "b", "type": "observation"}, {"text": "c", "keeps": True}]
LIGHT = {"score": 8, "findings": []}
FIRST, SECOND = "implementation-T-001-1", "implementation-T-002-1"
FORM = ["loopkit submit --file -"]


class Going:
    """A loop that goes on by `loopkit next` alone, all of its checks allowed."""

    def __init__(self, project: Project, config: Path) -> None:
        self.project = project
        self.config = config

    def allow(self, *patterns: str) -> None:
        self.config.write_text(f"verify_allow = {json.dumps(patterns)}\n")

    def next(self, **env: Any) -> Answer:
        return self.project.ok("next", **env)

    def submit(self, given: object, **more: Any) -> Answer:
        return self.project.ok("submit", "--file", "-", given=given, **more)

    def no(self, *words: str, **more: Any) -> str:
        """A refusal, which is printed softly and records nothing."""
        before = self.project.files()
        answer = self.project.ok(*words, **more)
        assert answer.out.startswith("loopkit says no: ") and answer.steps == []
        assert self.project.files() == before
        refused = self.project.ok(*words, "--json", **more).json["refused"]
        assert refused["what"] in answer.out and refused["code"]
        return answer.out

    def begin(self, *rows: dict, words: tuple = (), **env: Any) -> Answer:
        """Up to the first agents of a request with these tasks."""
        self.project.start("add rate limiting to the API", *words, **env)
        self.next(**env)
        tasks = list(rows) or [part("limiter")]
        shown = [{"text": "there is a limit", "proof": tasks[0]["verify"]}]
        return self.submit(REQUEST | {"criteria": shown, "tasks": tasks}, **env)

    @property
    def folder(self) -> str:
        return str(self.project.root / self.project.name)

    def say(self, name: str, reply: object, **more: object) -> None:
        """What the hook keeps of an agent's answer."""
        text = reply if isinstance(reply, str) else json.dumps(reply)
        answers.write(self.folder, name, {"text": text, "by": "stop", **more})

    def heard(self) -> None:
        """Hooks hear which agents start."""
        marks = Path(self.project.environment["LOOPKIT_DATA"]) / "beats"
        marks.mkdir(parents=True)
        (marks / "pre_tool_use").write_text("told 0.1\n")
        os.utime(marks / "pre_tool_use", (2e9, 2e9))

    def held(self, name: str, times: int) -> None:
        """The hook has asked the agent for another answer so often."""
        for _ in range(times):
            answers.hold(self.folder, name)

    def did(self, name: str, text: str = "good", task: int = 1, attempt: int = 1) -> None:
        """A coder has written the file of a part, and said so."""
        self.project.write(f"{name}.txt", text + "\n")
        self.say(f"implementation-T-{task:03d}-{attempt}", DONE)

    def prompt(self, name: str) -> str:
        return prompts.read(self.folder, name) or ""

    def reviewed(self, *replies: object) -> Answer:
        """The thorough review is answered, by each of its agents in turn."""
        count = self.project.of("review_asked")[-1]["agents"]
        for number in range(1, count + 1):
            given = replies[number - 1] if number <= len(replies) else REVIEW
            self.say(f"thorough_review-{number}-1", given)
        return self.next()


@pytest.fixture
def going(project: Project, tmp_path: Path) -> Going:
    project.environment["LOOPKIT_CONFIG_DIR"] = str(tmp_path / "config")
    project.environment["XDG_STATE_HOME"] = str(tmp_path / "state")
    (tmp_path / "config").mkdir()
    loop = Going(project, tmp_path / "config" / "config.toml")
    loop.allow("*")
    return loop


def agents(answer: Answer) -> list[str]:
    """The tokens of the agents that are to be started."""
    lines = [line for line in answer.steps if line.startswith("agent ")]
    assert answer.steps == [*lines, "loopkit next"] if lines else True
    return [line.split()[-1].removeprefix("loop:") for line in lines]


def journal(going: Going) -> list[str]:
    return [line["type"] for line in going.project.lines]


# -- each block


def test_a_form_comes_with_what_it_is_filled_in_by_once_in_a_session(going: Going) -> None:
    assert going.project.start().steps == ["loopkit next"]
    first = going.next()
    assert first.steps == FORM
    for text in ("How this loop goes on", "what proves each.", "Goal: tasks, each provable"):
        assert first.out.count(text) == 1
    assert "  outcome: 0 vague wish" in first.out and "must_nots:" in first.out
    again = going.next()
    assert again.steps == FORM and "must_nots:" in again.out
    assert "# How" not in again.out and "# The request" not in again.out


def test_a_whole_loop_of_one_task(going: Going) -> None:
    begun = going.begin()
    assert agents(begun) == [FIRST] and "wave 1 opened: T-001" in begun.out
    assert going.prompt(FIRST).startswith(f"loop:{FIRST}\n") and "write limiter" in going.prompt(
        FIRST
    )
    going.did("limiter")
    review = going.next()
    assert "T-001 completed" in review.out and "wave 1 closed: 1 completed" in review.out
    assert agents(review) == ["thorough_review-1-1"]
    gate = going.reviewed()
    assert gate.steps == FORM and "# How: gate" in gate.out
    assert "C1 shown" in review.out + gate.out
    over = going.submit(GATE)
    assert over.steps == [] and "<loop-complete>" in over.out
    assert going.project.snapshot["verdict"] == "achieved"
    assert going.next().steps == []  # what is over says nothing more


def test_what_the_session_did_itself_and_what_rests_on_one_command_is_named(going: Going) -> None:
    """Its coder ran the check of the first task itself; nobody was started for the second."""
    going.project.start("add rate limiting to the API")
    going.next()
    tasks = [part("a"), part("b")]
    shown = [{"text": text, "proof": tasks[1]["verify"]} for text in ("a limit", "another")]
    going.submit(REQUEST | {"criteria": shown, "tasks": tasks})
    for name in ("a", "b"):
        going.project.write(f"{name}.txt", "good\n")
    assert "T-001 completed" in going.project.ok("verify", "T-001").out
    going.say(FIRST, DONE)
    assert "T-002 completed" in going.project.ok("verify", "T-002").out
    home = Path(going.project.environment["HOME"], ".claude", "projects", "p")
    home.mkdir(parents=True)
    lines = [
        ("Bash", {"command": "loopkit submit --file - <<'EOF'\nfiles: [a.txt]\nEOF"}),
        ("Bash", {"command": "cat a.txt"}),
        ("Bash", {"command": r'grep -n "go\|good" a.txt | head; grep "x > y; z" a.txt'}),
        ("Write", {"file_path": str(going.project.folder / "b.txt")}),
    ]
    with open(home / f"{S1}.jsonl", "w") as file:
        for tool, given in lines:
            block = {"type": "tool_use", "id": "t", "name": tool, "input": given}
            file.write(json.dumps({"type": "assistant", "message": {"content": [block]}}) + "\n")
    going.next()
    going.reviewed()
    over = going.submit(GATE)
    assert "~ one command shows C1, C2: grep -qx good b.txt" in over.out
    assert "~ the session wrote itself, no agent: b.txt\n" in over.out
    assert "~ no coder answered for T-002\n" in over.out
    report = (going.project.root / going.project.name / "report.md").read_text()
    assert "no coder answered for T-002" in report


def test_agents_of_a_wave_start_side_by_side(going: Going) -> None:
    begun = going.begin(part("a"), part("b"))
    assert agents(begun) == [FIRST, SECOND]
    assert going.project.of("agents_dispatched") == [{"agents": 2}]
    going.did("a")
    half = going.next()
    assert "T-001 implementation: complete" in half.out and half.steps == []
    assert "at work: implementation T-002" in half.out and "exit" not in half.out  # no check yet
    going.did("b", task=2)
    assert "T-001 completed" in (both := going.next()).out and "T-002 completed" in both.out


def test_an_agent_hears_of_its_own_check_alone(going: Going) -> None:
    going.begin(part("a"), part("b"))
    going.project.write("a.txt", "good\n")
    verified = going.project.ok("verify", "T-001")
    assert "T-001 completed" in verified.out and verified.steps == []
    assert "still to report" not in verified.out


def test_who_is_at_work_is_named_and_nothing_is_recorded(going: Going) -> None:
    going.begin()
    before = len(going.project.lines)
    for _ in range(2):
        waits = going.next()
        assert waits.steps == [] and "at work: implementation T-001" in waits.out
        assert "their reports wake you" in waits.out
    assert len(going.project.lines) == before


def test_two_calls_at_once_start_one_agent(going: Going, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between what one has seen as due and what it records, another dispatches the same."""
    write = advance._Run._write

    def between(run: advance._Run, *given: Any) -> None:
        monkeypatch.setattr(advance._Run, "_write", write)
        assert agents(going.next()) == [FIRST]
        write(run, *given)

    monkeypatch.setattr(advance._Run, "_write", between)
    assert agents(going.begin()) == [FIRST]
    assert journal(going).count("role_asked") == 1


def test_lines_that_nobody_has_followed_are_printed_again(going: Going) -> None:
    """`next` was killed between its record and its print, or nobody read that."""
    going.heard()
    going.begin(part("a"), part("b"))
    for _ in range(2):
        assert agents(going.next()) == [FIRST, SECOND]
    answers.start(going.folder, FIRST)  # by the hook that hears its agent start
    assert agents(going.next()) == [SECOND]
    answers.start(going.folder, SECOND)
    assert "at work: implementation T-001, implementation T-002" in going.next().out
    assert journal(going).count("agents_dispatched") == 1


def test_what_is_done_by_hand_leads_back_to_next(going: Going) -> None:
    going.begin(part("a"))
    assert going.project.ok("task", "add", "more", "--verify", "ls").steps == ["loopkit next"]
    assert going.project.lk("gate").steps == ["loopkit next"]
    going.project.refused(1, "review", "--thorough", says="next: loopkit next")
    going.project.ok("pause")
    assert going.project.ok("resume").steps == ["loopkit next"]


def test_what_only_a_person_can_say_is_asked_of_the_person(going: Going) -> None:
    going.project.start()
    going.next()
    low = REQUEST | {"scores": dict.fromkeys(REQUEST["scores"], 0), "tasks": [part("limiter")]}
    asked = going.submit(low)
    assert asked.steps == FORM and "stays" not in asked.out  # too vague: one round of questions
    assert (
        "not explicit; each needs a line of its own" in asked.out
        and going.project.of("shape_saved") == []
    )


def test_a_decision_of_the_persons_goes_on_by_itself(going: Going) -> None:
    going.begin()
    going.did("limiter")
    going.next()
    going.reviewed({**REVIEW, "findings": [{"severity": "WARNING", "issue": one} for one in "ab"]})
    one = going.project.ok("review", "resolve", "F-001", "--approve")
    assert one.steps and "1 left" in one.out and "# To fill in" not in one.out
    last = going.project.ok("review", "resolve", "F-002", "--approve")
    assert last.steps == FORM and "# To fill in: gate" in last.out
    assert "13 points of work, 1 for a few lines>" in last.out
    assert '  M1: "<only if it is broken: FAIL what was seen>"' in last.out
    assert "# only where something is FAIL:\nverify:" in last.out


def test_a_confirmation_is_the_persons(going: Going) -> None:
    going.project.start()
    going.next()
    vague = REQUEST | {"scores": dict.fromkeys(REQUEST["scores"], 1), "tasks": [part("limiter")]}
    assert going.submit(vague).steps == going.next().steps == ["loopkit confirm shape"]
    going.project.ok("confirm", "shape")
    tasks = going.next()
    assert tasks.steps == FORM and "scores:" not in tasks.out and "must_nots:" not in tasks.out
    assert going.submit({"tasks": [part("limiter")]}).steps == ["loopkit confirm tasks"]
    going.project.ok("confirm", "tasks")
    assert going.next().steps == ["loopkit confirm wave"]
    going.project.ok("confirm", "wave")
    assert agents(going.next()) == [FIRST]


def test_a_paused_loop_waits_for_the_person(going: Going) -> None:
    going.begin()
    going.project.ok("pause", "for lunch")
    going.did("limiter")
    paused = going.next()
    assert paused.steps == [] and paused.waits == ["loopkit resume"]
    assert going.project.of("task_coded") == []


def test_another_session_is_not_told(going: Going) -> None:
    going.begin()
    assert "belongs to session" in going.no("next", session=S2)


# -- what agents answered


def test_an_attempt_whose_check_fails_is_over(going: Going) -> None:
    going.begin(part("a"))
    going.did("a", "bad")
    failed = going.next()
    assert "T-001 failed, attempt 1: retry" in failed.out and failed.steps == FORM
    assert "# How: panel" in failed.out
    again = going.submit(PANEL)
    assert agents(again) == ["implementation-T-001-2"]
    assert PANEL["consensus"] in going.prompt("implementation-T-001-2")
    going.did("a", attempt=2)
    assert "T-001 completed" in going.next().out


def test_a_task_that_keeps_failing_is_split_by_a_form(going: Going) -> None:
    asked = going.begin(part("a"))
    for attempt in range(1, 9):
        going.did("a", f"bad {attempt}", attempt=attempt)
        asked = going.next()
        if "systematic-debugger" not in asked.out:
            break
        going.submit(PANEL | {"consensus": f"way {attempt}"})
    assert asked.steps == FORM and "T-001 failed: write a" in asked.out
    assert '\n- subject: "<what it does' in asked.out
    split = going.submit([part("b"), part("c")])
    assert "T-001 split into T-002, T-003" in split.out
    assert agents(split) == [SECOND, "implementation-T-003-1"]


def test_a_reported_block_is_asked_of_the_person_while_the_others_go_on(going: Going) -> None:
    going.begin(part("a"), part("b"))
    going.say(FIRST, {"status": "blocked", "summary": "half", "block_reason": "no endpoint"})
    said = going.next()
    assert "T-001 waits for the person, the others go on: no endpoint\n" in said.out
    line = 'loopkit task unblock T-001 "<what the person said>"'
    assert f"ask now; then: {line}" in said.out and "at work: implementation T-002" in said.out
    going.did("b", task=2)
    assert "T-002 completed" in going.next().out
    assert going.project.of("task_failed") == [] and "panel_recorded" not in journal(going)
    assert going.project.of("question_asked")  # now nothing else is left
    going.project.ok("task", "unblock", "T-001", "it is /v2")
    assert "implementation-T-001-2" in agents(going.next())
    told = going.prompt("implementation-T-001-2")
    assert "It was blocked: no endpoint" in told and "The person said: it is /v2" in told


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("BLOCKED: the endpoint is not there", "BLOCKED: the endp"),
        ('{"status": "blocked", "summary": "", "block_reason": "no endpoint"}', "no endpoint"),
        ("status: blocked\nblock_reason: no endpoint\nsummary: ''", "no endpoint"),
    ],
    ids=["words", "unfit JSON", "unfit YAML"],
)
def test_where_nobody_can_be_asked_a_block_is_only_told(going: Going, words: str, why: str) -> None:
    """An answer that does not fit its form, and was asked for twice, says it as well."""
    alone = {"CLAUDE_CODE_SESSION_ATTENDED": "0"}
    going.begin(part("a"), part("b"), **alone)
    going.held(FIRST, 2)
    going.say(FIRST, words)
    said = going.next(**alone)
    assert f"T-001 waits for the person, the others go on: {why}" in said.out
    assert "ask now" not in said.out


def test_what_is_blocked_by_an_open_task_waits_for_that(going: Going) -> None:
    going.begin(part("a"), part("b"))
    going.say(FIRST, "BLOCKED: this takes what T-002 makes")
    assert "waits for the person" not in going.next().out
    going.did("b", "bad", task=2)
    going.next()
    assert going.project.of("task_blocked")[0]["kind"] == "dependency"


def test_words_of_a_coder_are_a_report(going: Going) -> None:
    going.begin()
    going.did("limiter")
    (Path(going.folder) / "answers" / f"{FIRST}.json").unlink()
    going.say(FIRST, "I wrote it, and it works.")
    assert "T-001 completed" in going.next().out
    assert "reply_unfit" not in journal(going)


def test_what_an_agent_left_without_words_is_handed_out_anew(going: Going) -> None:
    going.begin()
    answers.write(going.folder, FIRST, {"text": None, "by": "stop"})
    again = going.next()
    assert "its agent has ended without an answer" in again.out
    assert agents(again) == ["implementation-T-001-2"]
    going.did("limiter", attempt=2)
    assert "T-001 completed" in going.next().out


def test_a_late_answer_changes_nothing(going: Going) -> None:
    going.begin(part("a"))
    going.did("a", "bad")
    going.next()
    again = going.submit(PANEL)
    assert agents(again) == ["implementation-T-001-2"]
    going.project.write("a.txt", "good\n")
    going.say(FIRST, "BLOCKED: a second word of the first agent")
    assert "at work: implementation T-001" in going.next().out
    assert len(going.project.of("task_coded")) == 1


def test_an_answer_of_an_earlier_dispatch_is_not_taken(going: Going) -> None:
    going.begin()
    going.say("implementation-T-001-7", DONE)
    assert "at work: implementation T-001" in going.next().out


def test_an_answer_that_does_not_fit_is_asked_for_anew(going: Going) -> None:
    going.project.start("add rate limiting to the API", "--approval", "review")
    going.next()
    assert agents(going.submit(REQUEST)) == ["plan-1"]
    going.say("plan-1", "I would do it like this.")
    again = going.next()
    assert "does not fit" in again.out and agents(again) == ["plan-2"]
    assert "the reply is no record" in going.prompt("plan-2")
    assert going.project.of("agents_dispatched") == [{"agents": 1}] * 2
    going.say("plan-2", {"tasks": [part("a"), part("b"), part("c")]})
    assert agents(going.next()) == ["verification-plan-1"]
    assert going.prompt("verification-plan-1").count("- T-00") == 3


def test_batches_are_reviewed_where_that_completes(going: Going) -> None:
    going.project.start("add rate limiting to the API", "--approval", "review")
    going.next()
    going.submit(REQUEST)
    going.say("plan-1", {"tasks": [part("a"), part("b"), part("c")]})
    going.next()
    going.say("verification-plan-1", {"findings": []})
    opened = going.next()
    assert "plan review: APPROVED" in opened.out and len(agents(opened)) == 3
    for number, name in enumerate("abc", 1):
        going.did(name, task=number)
    asked = going.next()
    assert agents(asked) == ["review-1-1"] and "still to report" not in asked.out
    assert "<approved | changes>" in going.prompt("review-1-1")
    good = {f"T-00{number}": "approved" for number in (1, 2, 3)}
    checks = dict.fromkeys(("build", "tests", "lint"), "passed")
    going.say("review-1-1", {**checks, "verdicts": good, "findings": []})
    assert agents(going.next())[0] == "thorough_review-1-1"
    assert all(row["status"] == "completed" for row in going.project.tasks.values())


@pytest.mark.parametrize("held", [1, 2])
def test_what_stays_unfit_after_two_corrections_counts_as_it_is(going: Going, held: int) -> None:
    going.project.start("add rate limiting to the API", "--approval", "supervisor")
    going.next()
    going.submit(REQUEST)
    going.say("plan-1", {"tasks": [part("a"), part("b"), part("c")]})
    assert agents(going.next()) == ["verification-plan-1"]
    going.held("verification-plan-1", held)
    going.say("verification-plan-1", "looks good to me")
    said = going.next()
    asked, count = ("plan-2", "no score") if held == 2 else ("verification-plan-2", "does not fit")
    assert agents(said) == [asked] and count in said.out


def test_an_answer_by_hand_is_marked(going: Going) -> None:
    going.begin(part("a"))
    going.project.write("a.txt", "good\n")
    told = going.project.ok(
        "submit", "--file", "-", "--answer-of", f"loop:{FIRST}", given=json.dumps(DONE)
    )
    assert "the answer to implementation T-001 is submitted by hand" in told.out
    assert "T-001 completed" in told.out
    assert (answers.read(going.folder, FIRST) or {})["by"] == "hand"
    assert going.project.of("task_coded")[-1]["by"] == "hand"


def test_work_reported_by_hand_is_shown_and_its_check_still_counts(going: Going) -> None:
    going.begin()
    going.project.write("limiter.txt", "good\n")
    going.project.ok("submit", "--file", "-", "--answer-of", f"loop:{FIRST}", given="done")
    assert going.reviewed().steps == FORM
    over = going.submit(GATE)
    assert "🟢 SHIP" in over.out and "report on T-001: submitted by hand" in over.out
    assert going.project.of("review_thorough")[-1]["by"] == "stop"


def test_a_review_by_hand_never_gives_ship(going: Going) -> None:
    going.begin()
    going.did("limiter")
    token = f"loop:{agents(going.next())[0]}"
    given = json.dumps(REVIEW)
    going.project.ok("submit", "--file", "-", "--answer-of", token, given=given)
    over = going.submit(GATE)
    assert "gate passed: MONITOR; thorough review: submitted by hand" in over.out
    assert "🟡 MONITOR" in over.out and "\n! thorough review: submitted by hand\n" in over.out
    report = (Path(going.folder) / "report.md").read_text()
    assert "- thorough review: submitted by hand\n" in report


# -- reviews


def test_a_wave_is_reviewed_beside_the_next_one_and_never_after_the_last(going: Going) -> None:
    going.begin(part("a"), part("b", blocked_by=[1]))
    going.did("a")
    beside = going.next()
    assert agents(beside) == [SECOND, "wave_review-1-1"]
    told = going.prompt("wave_review-1-1")
    assert "between checkpoints 1 (start) and 2 (batch-1). Others work on in this tree" in told
    made = going.project.of("checkpoint_made")[1]
    assert f"`git show {made['sha'][:12]}:<path>`" in told
    going.did("b", task=2)
    wait = going.next()
    assert "T-002 completed" in wait.out and "at work: wave_review 1" in wait.out
    assert wait.steps == []
    found = {"severity": "BLOCKER", "issue": "a.txt says too much", "place": "a.txt:1"}
    going.say("wave_review-1-1", {**LIGHT, "findings": [found], "blockers": 7})
    on = going.next()
    assert "review of wave 1 recorded: 8/10, 0 issues, 1 blocker" in on.out
    assert {one[:15] for one in agents(on)} == {"thorough_review"}, "the last has none of its own"
    last = going.prompt("thorough_review-1-1")
    assert "- F-001 BLOCKER, wave 1: a.txt:1 a.txt says too much" in last and '"repeats"' in last


def test_several_reviewers_are_one_review(going: Going, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review, "LARGE", 0)
    monkeypatch.setattr(review, "SMALL", 0)
    going.begin(part("a"))
    going.did("a")
    asked = agents(going.next())
    names = going.project.of("review_asked")[-1]["experts"]
    assert asked == [f"thorough_review-{number + 1}-1" for number in range(len(names))]
    assert len(asked) > 2
    going.say(asked[0], REVIEW)
    half = going.next()
    assert "at work: " in half.out and half.steps == []
    found = {"severity": "SUGGESTION", "issue": "a name is long", "guidance": "shorten it"}
    done = going.reviewed(REVIEW, {**REVIEW, "findings": [found]})
    assert "thorough review 1 recorded: 1 finding" in done.out
    assert going.project.of("review_thorough")[-1]["experts"] == names


@pytest.mark.parametrize(("lines", "count"), [(60, 1), (61, 2), (401, 4)])
def test_the_size_of_the_work_says_how_many_look(going: Going, lines: int, count: int) -> None:
    going.begin(part("a"))
    going.did("a", "good" + "\nline" * (lines - 1))
    asked = agents(going.next())
    views = len(going.project.of("review_asked")[-1]["experts"])
    assert len(asked) == min(count, views)
    told = sum(going.prompt(name).count("## View: ") for name in asked)
    assert told == views and f"a.txt (new) +{lines}" in going.prompt(asked[0])


def test_reviewers_whose_words_do_not_fit_are_asked_again(going: Going) -> None:
    going.begin()
    going.did("limiter")
    going.next()
    again = going.reviewed("looks fine to me")
    assert "cannot be used" in again.out and agents(again) == ["thorough_review-1-2"]
    assert going.project.of("review_thorough") == []
    going.say("thorough_review-1-2", REVIEW)
    assert going.next().steps == FORM


def test_a_review_that_did_not_look_is_asked_for_once_more_and_then_gives_monitor(
    going: Going,
) -> None:
    going.begin()
    going.did("limiter")
    going.next()
    going.say("thorough_review-1-1", REVIEW, seen={"calls": 1, "read": ["SHAPE.md"]})
    again = going.next()
    assert agents(again) == ["thorough_review-1-2"] and "it did not look" in again.out
    assert "it did not look: read the changed files" in going.prompt("thorough_review-1-2")
    going.say("thorough_review-1-2", REVIEW, seen={"calls": 0, "read": [], "commands": []})
    assert going.next().steps == FORM
    assert going.project.of("review_thorough")[-1]["looked"] is False
    over = going.submit(GATE)
    assert "🟡 MONITOR" in over.out and "\n! thorough review: did not look\n" in over.out


def test_a_look_that_the_client_wrote_after_the_answer_counts(going: Going) -> None:
    going.begin()
    going.did("limiter")
    going.next()
    going.say("thorough_review-1-1", REVIEW, seen={"calls": 0, "read": [], "commands": []})
    folder = Path(going.project.environment["HOME"], ".claude", "projects", "p")
    (folder / S1 / "subagents").mkdir(parents=True)
    (folder / f"{S1}.jsonl").touch()
    look = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "git diff a b"}}
    rows = [
        {"type": "user", "message": {"content": "loop:thorough_review-1-1"}},
        {"type": "assistant", "message": {"content": [look]}},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / S1 / "subagents" / "agent-a1.jsonl").write_text(lines)
    assert going.next().steps == FORM
    assert going.project.of("review_thorough")[-1]["looked"] is True


def test_a_review_looks_at_what_was_changed_whatever_the_tasks_say(going: Going) -> None:
    """Tasks that name no file, work that no coder did: as a lazy session left it."""
    going.begin(part("limiter") | {"files": []})
    going.did("limiter")
    going.next()
    seen = {"calls": 2, "read": ["README.md"], "commands": ["git diff --stat"]}
    going.say("thorough_review-1-1", REVIEW, seen=seen)
    assert "it did not look" in going.next().out


def test_a_review_that_looked_says_so(going: Going) -> None:
    going.begin()
    going.did("limiter")
    going.next()
    going.say("thorough_review-1-1", REVIEW, seen={"calls": 1, "read": ["limiter.txt"]})
    going.next()
    assert going.project.of("review_thorough")[-1]["looked"] is True


def test_a_blocker_of_a_review_becomes_work(going: Going) -> None:
    going.begin()
    going.did("limiter")
    going.next()
    found = {"severity": "BLOCKER", "issue": "limiter.txt says too little", "guidance": "say more"}
    found["verify"] = "grep -q more limiter.txt"
    told = going.reviewed({**REVIEW, "findings": [found]})
    assert "F-001 BLOCKER → T-002" in told.out and agents(told) == [SECOND]
    going.project.write("limiter.txt", "good\nmore\n")
    going.say(SECOND, DONE)
    assert agents(going.next()) == ["thorough_review-1-2"]


def test_what_a_reviewer_leaves_out_is_asked_for_by_the_schema(going: Going) -> None:
    going.begin(part("a"))
    going.did("a")
    going.next()
    path = Path(going.folder) / "prompts" / "thorough_review-1-1.json"
    wanted = json.loads(path.read_text())
    assert {"findings", "proofs", "must_nots"} == set(wanted["required"])
    assert wanted["properties"]["must_nots"]["required"] == ["M1", "M2"]
    told = going.prompt("thorough_review-1-1")
    assert '"C1": "yes | partly: what is missing | no: why"' in told
    assert "no command watches M1, M2" in told


def test_a_proof_that_the_review_refuses_is_replaced_by_a_form(going: Going) -> None:
    going.begin(part("a"))
    going.did("a")
    going.next()
    no = {**SEEN, "proofs": {"C1": "no: any file will do"}}
    told = going.reviewed({**REVIEW, **no})
    assert "does not show it, the review says: any file will do" in told.out
    assert told.steps == FORM
    row = {"id": "C1", "proof": "grep -c good a.txt", "why": "it looks inside"}
    again = going.submit([row])
    assert [one[:15] for one in agents(again)] == ["thorough_review"]
    assert going.project.of("proof_replaced")[-1]["command"] == "grep -c good a.txt"


def test_after_a_fix_only_whose_point_was_open_looks_again(
    going: Going, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review, "LARGE", 0)
    monkeypatch.setattr(review, "SMALL", 0)
    going.begin(part("a"))
    going.did("a")
    going.next()
    first = going.project.of("review_asked")[-1]["experts"]
    found = {"severity": "BLOCKER", "issue": "too little", "verify": "grep -q more a.txt"}
    found["files"] = ["a.txt"]
    told = going.reviewed(REVIEW, {**REVIEW, "findings": [found]})
    assert agents(told) == [SECOND], told.out
    going.project.write("a.txt", "good\nmore\n")
    going.say(SECOND, DONE)
    again = agents(going.next())
    assert len(again) == 1 and going.project.of("review_asked")[-1]["experts"] == first[1:2]
    told = going.prompt(again[0])
    assert "Of it, since the last review: `git diff " in told and f"## View: {first[1]}" in told


@pytest.mark.parametrize("allowed", [True, False])
def test_unattended_a_small_warning_is_fixed_where_its_check_may_run(
    going: Going, allowed: bool
) -> None:
    alone = {"CLAUDE_CODE_SESSION_ATTENDED": "0"}
    going.allow("*" if allowed else "grep -qx good *", "test *")
    going.begin(part("a"), **alone)
    going.did("a")
    going.next(**alone)
    small = {"severity": "WARNING", "issue": "a.txt says too little", "place": "a.txt:1"}
    small |= {"guidance": "say more", "verify": "grep -q more a.txt"}
    wide = {**small, "issue": "so do others", "files": ["a.txt", "b.txt"]}
    going.say("thorough_review-1-1", {**REVIEW, "findings": [small, wide]})
    told = going.next(**alone)
    hows = [row["resolution"]["how"] for row in going.project.of("review_thorough")[0]["findings"]]
    assert hows == ["task" if allowed else "unattended", "unattended"]
    assert agents(told) == ([SECOND] if allowed else [])


# -- time and limits


def test_when_its_time_is_up_it_stops_between_two_checks(
    going: Going, monkeypatch: pytest.MonkeyPatch
) -> None:
    going.begin(part("a"), part("b"))
    for number, name in enumerate("ab", 1):
        going.did(name, task=number)
    monkeypatch.setattr(advance, "SECONDS", -1)
    for _ in range(2):
        short = going.next()
        assert short.steps == ["loopkit next"] and "exit" not in short.out
    monkeypatch.undo()
    assert "T-002 completed" in going.next().out


def test_a_check_that_is_cut_has_all_the_time_of_the_next_call(
    going: Going, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call may take one check however long that is, and no second one for which no time is
    left."""
    going.begin(part("a"), part("b"))
    for number, name in enumerate("ab", 1):
        going.did(name, task=number)
    monkeypatch.setattr(advance, "MOST_SECONDS", 0)
    for done in ("", "T-001 completed", "T-002 completed"):
        short = going.next()
        assert short.steps == ["loopkit next"] and short.out.count("completed:") == bool(done)
        assert done in short.out
    assert going.project.of("task_failed") == []


def test_what_runs_out_of_our_time_is_no_failure(
    going: Going, monkeypatch: pytest.MonkeyPatch
) -> None:
    going.begin(part("a"))
    going.did("a")
    run = process.verify
    monkeypatch.setattr(process, "verify", lambda *given: {**run(*given), "exit": 124})
    assert going.next().steps == ["loopkit next"]
    assert not {"task_verified", "task_failed"} & set(journal(going))


def test_a_limit_ends_the_turn_before_agents_start(going: Going) -> None:
    stopped = going.begin(words=("--iterations", "1"))
    assert agents(stopped) == [FIRST]
    going.did("limiter")
    paused = going.next()
    assert "the loop is paused: 1 of 1 iterations used" in paused.out and agents(paused) == []
    assert paused.waits == ["loopkit resume --iterations +1"]
    going.project.ok("resume", "--iterations", "+1")
    assert agents(going.next()) == ["thorough_review-1-1"]


# -- consent


def test_checks_wait_for_the_persons_yes(going: Going) -> None:
    going.allow("nothing")
    asked = going.begin(part("a"))
    assert asked.steps == ["loopkit allow"]
    assert "checks that the person has not allowed yet" in asked.out
    assert "grep -qx good a.txt" in asked.out and "wave_opened" not in journal(going)
    going.allow("*")
    assert agents(going.next()) == [FIRST]


def test_where_nobody_can_be_asked_the_loop_waits(going: Going) -> None:
    alone = {"CLAUDE_CODE_SESSION_ATTENDED": "0"}
    going.allow("nothing")
    stopped = going.begin(part("a"), **alone)
    assert stopped.steps == [] and "verify_allow" in stopped.out
    assert going.project.status["status"] == "paused"
    assert "wave_opened" not in journal(going)
    going.allow("*")
    going.project.ok("resume", **alone)
    assert agents(going.next(**alone)) == [FIRST]


# -- refusals of submit


def test_no_form_is_asked_for_while_agents_work(going: Going) -> None:
    going.begin()
    says = "no form is asked for now; next: loopkit next\n"
    assert says in going.no("submit", "--file", "-", given=REQUEST)


@pytest.mark.parametrize("token", ["loop:implementation-T-001-2", "loop:plan-1", "x", FIRST])
def test_an_answer_that_nobody_waits_for_is_refused(going: Going, token: str) -> None:
    going.begin()
    words = ("submit", "--file", "-", "--answer-of", token)
    assert "is awaited" in going.no(*words, given=DONE)
    assert answers.names(going.folder) == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "scores, kind must be given"),
        (REQUEST | {"tasks": []}, "tasks must be given"),
        (REQUEST | {"scores": None, "tasks": [part("a")]}, "scores must be given"),
        (REQUEST | {"criteria": [], "tasks": [part("a")]}, "criteria must be given"),
        (REQUEST | {"kind": "song", "tasks": [part("a")]}, "kind"),
        (REQUEST | {"tasks": [part("a", blocked_by=[7])]}, "blocked"),
        (REQUEST | {"must_nots": REQUEST["must_nots"][:1], "tasks": [part("a")]}, "mustNot"),
        (REQUEST | {"criteria": BARE, "tasks": [part("a")]}, "nothing would show C1, C3; give a"),
        (
            REQUEST | {"criteria": [{"text": "a", "type": "assumption"}], "tasks": [part("a")]},
            "criteria.1.type",
        ),
        ("tasks: [", "line 1"),
    ],
)
def test_a_form_that_cannot_be_taken_records_nothing(
    going: Going, given: object, says: str
) -> None:
    going.project.start()
    going.next()
    assert says in going.no("submit", "--file", "-", given=given)


# -- the person speaks, pauses, comes back


def test_after_words_of_the_person_s_next_goes_on(going: Going) -> None:
    going.begin()
    with going.project.ledger.open("ab") as file:
        file.write(encode(Event("person_spoke", {"how": "typed"}, "2026-01-01T00:00:00Z", "hook")))
    iteration = going.project.status["iteration"]
    going.project.ok("status", "--soft")
    assert going.project.status["iteration"] == iteration and "went_on" not in journal(going)
    assert "at work: implementation T-001" in going.next().out
    assert journal(going).count("went_on") == 1


@pytest.mark.parametrize("words", [("pause",), ()])
def test_nobody_is_sent_beside_a_coder_at_work(going: Going, words: tuple) -> None:
    """Paused or not, `/loop:resume` in the client that its agents work in starts no second one."""
    client = {"CLAUDE_PID": str(os.getpid())}
    going.begin(part("a"), part("b"), **client)
    for number in (1, 2):
        answers.start(going.folder, f"implementation-T-00{number}-1")
    if words:
        going.project.ok(*words, **client)
    going.project.ok("resume", **client)
    said = going.next(**client)
    assert "at work: implementation T-001, implementation T-002" in said.out and not agents(said)
    assert "task_reopened" not in journal(going)
    going.project.lk("verify", "T-001", "--", *shlex.split(going.project.tasks["T-001"]["verify"]))
    assert not agents(going.next(**client)), "its first check has failed, and it goes on"
    for number, name in ((1, "a"), (2, "b")):
        going.did(name, task=number)
    done = going.next(**client).out
    assert "T-001 completed" in done and "T-002 completed" in done


def test_in_another_client_nobody_is_at_work(going: Going) -> None:
    going.begin(CLAUDE_PID=str(os.getpid()))
    answers.start(going.folder, FIRST)
    going.project.ok("pause")
    going.project.ok("resume", CLAUDE_PID="1")
    assert agents(going.next(CLAUDE_PID="1")) == ["implementation-T-001-2"]
