"""Two sessions in one project: who is held, who is told what, and how a loop is handed over. The
real client."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.cli.kit import SHAPE, Project, task
from tests.client.harness import EVERYTHING, Sandbox, Told, wait_for
from tests.client.model import Reply, Text, Tool, Turn, bash
from tests.client.scenarios import REQUEST, greetings
from tests.client.test_sessions import holds

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"
FORK = "33333333-3333-4333-8333-333333333333"
TREE = "44444444-4444-4444-8444-444444444444"
MOVED = "55555555-5555-4555-8555-555555555555"
PANEL = {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}
TASKS = {"T-001", "T-002", "T-003"}
OURS = "It belongs to this session"
LIVE = "It belongs to a live session"
LEAVES = "The person leaves it by /loop:pause, /loop:resume, /loop:cancel"
GONE = "It belongs to a session that is gone"


def talk(here: Sandbox) -> None:
    """Obey until the tasks are stored; from then on only talk, or run what stands after `run ` in
    the prompt."""

    def deviate(turn: Turn) -> Reply | None:
        if not turn.main or not here.events("task_added"):
            return None
        wanted = re.match(r"run (loopkit .+)", turn.prompt)
        done = wanted and any(wanted.group(1) in call.text for call in turn.calls)
        return [bash(wanted.group(1))] if wanted and not done else [Text("I leave it as it is.")]

    here.model.scenario.deviate = deviate


def heard(here: Sandbox, session: str, event: str = "") -> list[str]:
    """What hooks told Claude in a session (at an event), oldest first."""
    return [
        told.text
        for told in here.told(session)
        if told.whom == "Claude" and event in ("", told.event)
    ]


def soon(here: Sandbox, session: str, words: str, times: int = 1, event: str = "") -> str:
    """Wait until Claude was told `words` so often in a session; the newest such text. The
    transcript is written late."""

    def look() -> str:
        found = [text for text in heard(here, session, event) if words in text]
        return found[-1] if len(found) >= times else ""

    return wait_for(f"{words!r} told to {session}", look, also=here.model.story)


def turns(here: Sandbox, session: str) -> int:
    """How many requests the main conversation of a session has made."""
    return len([turn for turn in here.model.main_turns if turn.session == session])


def owner(here: Sandbox) -> str:
    """The owner by the ledger, hooks' lines included."""
    return here.status["owner"]["session_id"]


def answers(here: Sandbox, session: str) -> list[Told]:
    """What commands answered in a session about whose loop it is: refusals, and that it goes on
    here."""
    texts = [turn.newest for turn in here.model.main_turns if turn.session == session]
    found = [
        re.search(r"^(loopkit says no: .*|loop \S+ (?:goes on|cancelled).*)$", text, re.M)
        for text in texts
    ]
    return [Told("command", "Claude", one.group()) for one in found if one]


def record(name: str, text: str) -> None:
    """Write `text` into the folder that LOOPKIT_TEST_RECORD names, if it names one."""
    folder = os.environ.get("LOOPKIT_TEST_RECORD")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, name + ".txt").write_text(text, encoding="utf-8")


def put_down(here: Sandbox, name: str, sessions: dict[str, str]) -> None:
    """Record what each of these sessions was told; `sessions` are their titles by id, origins
    before their forks."""
    parts, before = [], set()
    for session, title in sessions.items():
        told = [
            one for one in here.told(session) if one not in before
        ]  # a fork begins with a copy of its origin
        before.update(told)
        told = told + answers(here, session) or [Told("-", "nobody", "(nothing)")]
        parts += [
            f"# {title} ({session})\n",
            *(f"[{one.event} -> {one.whom}]\n{one.text}\n" for one in told),
        ]
    record(name, "\n".join(parts))


def test_two_terminals_of_one_project_each_with_an_attempt_of_its_own(place, tmux) -> None:
    here = place(greetings())
    talk(here)
    one = here.terminal("--session-id", ONE, allowed=EVERYTHING, env=PANEL)
    two = here.terminal("--session-id", TWO, allowed=EVERYTHING, env=PANEL)
    one.say(f"/loop:start {REQUEST}")
    soon(here, ONE, LEAVES, event="Stop")
    ledger = here.ledger

    # the second attempt is refused, with the owner and the ways out; nothing is written
    two.say("/loop:start Something else")
    two.wait("the refusal", lambda: turns(here, TWO))
    refusal = next(turn.newest for turn in here.model.main_turns if turn.session == TWO)
    assert f"owner session {ONE} (running)" in refusal and "loopkit says no" in refusal
    for way in ("loopkit resume --take-over", "loopkit status", "git worktree add"):
        assert way in refusal
    two.see("script over|I leave it")
    assert here.ledger == ledger and heard(here, TWO) == []

    # compaction keeps the owner, /clear hands on to the new id, with the list made again
    one.say("/compact")
    soon(here, ONE, OURS, event="SessionStart")
    assert owner(here) == ONE
    one.say("/clear")
    cleared = one.wait(
        "the new id", lambda: (here.events("owner_changed") or [{}])[-1].get("session_id")
    )
    one.wait("its list", lambda: set(here.list_of(cleared)) == TASKS)
    assert cleared not in (ONE, TWO)
    one.see("LOOP RESUME")
    one.say("hello")  # words of the person's drive nothing on
    one.see("waits, since you spoke")
    one.say("/loop:resume")
    soon(here, cleared, LEAVES, event="Stop")
    assert OURS in heard(here, cleared, "SessionStart")[0]

    # a branch of the conversation is another session: told, not held, and free to take over
    one.say("/branch")
    told = one.see(r"Branched session[\s\S]*new one \(([0-9a-f-]{36})\)")
    branch = told.group(1)
    assert GONE in soon(here, branch, "[LOOP RESUME]")
    one.say("and now?")
    one.wait("the answer", lambda: turns(here, branch) == 1)
    assert heard(here, branch, "Stop") == [] and set(here.list_of(branch)) == set()
    one.say("/loop:resume")
    soon(here, branch, LEAVES, event="Stop")
    one.wait("the lists", lambda: (set(here.list_of(branch)), here.list_of(cleared)) == (TASKS, {}))
    assert owner(here) == branch

    # all that time the other terminal was told nothing, is not held, and can end the loop
    two.say("hello")
    two.wait("the answer", lambda: turns(here, TWO) == 2)
    assert heard(here, TWO) == []
    two.say("/loop:cancel")
    two.wait("the end", lambda: here.events("loop_cancelled"))
    before = turns(here, branch)
    one.say("and after that?")
    one.wait("the answer", lambda: turns(here, branch) > before)
    one.see(r"(?s)after that.*I leave it.*❯")
    assert turns(here, branch) == before + 1 and len(heard(here, branch, "Stop")) == 1
    put_down(
        here,
        "two-terminals",
        {ONE: "one", cleared: "one, cleared", branch: "one, branched", TWO: "two"},
    )


def test_handed_over_by_resume_fork_worktree_and_move(place) -> None:
    here = place(greetings())
    talk(here)
    first = here.run(f"/loop:start {REQUEST}", "--session-id", ONE, env=PANEL)
    assert len(holds(first)) == 1

    # `claude --resume` is the same session: held again
    pause = here.model.pause(lambda turn, _reply: turn.session == ONE and turn.prompt == "Go on.")
    again = here.start("Go on.", "--resume", ONE, env=PANEL)
    pause.wait()
    assert OURS in again.hooks("SessionStart")[0]["hookSpecificOutput"]["additionalContext"]

    # a fork is another one: told of the loop, never held for it; it asks before it takes over, the
    # old one is let go
    fork = here.run("Hello.", "--resume", ONE, "--fork-session", "--session-id", FORK, env=PANEL)
    assert (
        fork.session == FORK
        and LIVE in fork.hooks("SessionStart")[0]["hookSpecificOutput"]["additionalContext"]
    )
    assert holds(fork) == [] and here.list_of(FORK) == {}
    asked = here.run("/loop:resume", "--resume", FORK, env=PANEL)
    assert holds(asked) == [] and owner(here) == ONE
    assert here.model.heard("take it over: loopkit resume --take-over")
    taken = here.run(
        "run loopkit resume --take-over", "--resume", FORK, env=PANEL, allowed=EVERYTHING
    )
    assert len(holds(taken)) == 1 and owner(here) == FORK and set(here.list_of(FORK)) == TASKS
    pause.release()
    again.finish()
    assert holds(again) == [] and [out for out in again.hooks("Stop") if out] == []

    # a linked worktree works on the same loop
    tree = here.folder / "tree"
    here.git("worktree", "add", "-q", str(tree))
    other = here.run("/loop:resume", "--session-id", TREE, env=PANEL, folder=tree)
    assert GONE in other.hooks("SessionStart")[0]["hookSpecificOutput"]["additionalContext"]
    assert len(holds(other)) == 1 and owner(here) == TREE and set(here.list_of(TREE)) == TASKS
    assert not (tree / ".loop").exists()
    let_go = here.run("And?", "--resume", FORK, env=PANEL)
    assert holds(let_go) == [] and owner(here) == TREE and here.list_of(FORK) == {}
    here.git("worktree", "remove", "--force", str(tree))

    # the project's folder is moved: a session there goes on with the same tasks
    here.project.rename(here.folder / "moved")
    here.project = here.folder / "moved"
    moved = here.run("/loop:resume", "--session-id", MOVED, env=PANEL)
    assert GONE in moved.hooks("SessionStart")[0]["hookSpecificOutput"]["additionalContext"]
    assert len(holds(moved)) == 1 and owner(here) == MOVED and set(here.list_of(MOVED)) == TASKS
    put_down(
        here,
        "handed-over",
        {ONE: "one", FORK: "its fork", TREE: "in a worktree", MOVED: "in the moved folder"},
    )


def armed(here: Sandbox) -> None:
    """A loop of session ONE with one open task, made without a model."""
    project = Project(here.project, here.environment())
    project.start(REQUEST, session=ONE)
    assert project.score(session=ONE).exit == 0
    project.ok("shape", "--accept", "-", given=SHAPE, session=ONE)
    project.ok("task", "add", "--file", "-", given=[task()], session=ONE)


def test_cancel_from_another_session_and_folder_while_the_session_works(place) -> None:
    here = place()

    def busy(turn: Turn) -> Reply:
        """Look at a file after each hold, then stop: activity, so that each stop is held anew."""
        looked = any(event.kind == "result" for event in turn.fresh)
        return [Text("I had a look.")] if looked else [Tool("Read", {"file_path": "README.md"})]

    here.model.scenario.deviate = busy
    armed(here)
    pause = here.model.pause(lambda turn, reply: turn.number == 4 and isinstance(reply[0], Text))
    run = here.start("Work.", "--session-id", ONE)
    pause.wait()
    assert len(holds(run)) == 1
    (here.project / "src").mkdir()
    done = here.loopkit("cancel", session=TWO, folder=here.project / "src")
    assert done.returncode == 0, done.stderr
    pause.release()
    run.finish()
    assert [bool(out) for out in run.hooks("Stop")] == [True, False], (
        "held once, then let go without a word"
    )
    assert (here.state["status"], here.state["verdict"]) == ("aborted", "cancelled")
