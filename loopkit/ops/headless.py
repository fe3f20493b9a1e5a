"""A loop is worked on without a session: the runner's driver with fresh agents, one at a time, and
the identity under which a run owns a loop."""

from __future__ import annotations

import contextlib
import os
import shlex
import time
import uuid
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..core.evidence import consent as rules
from ..core.journal import limits, prose, verdict
from ..core.journal.errors import LoopError, UsageFault
from ..core.journal.events import Change
from ..core.journal.state import LoopState
from ..core.steps import due, kinds, waves
from ..core.steps.kinds import AGENT, PERSON, PROGRAM, Step
from ..engine import run
from ..engine.agents import Agent, Answer
from ..engine.process import Deadlines
from ..store import answers, looks, place, prompts, transcript
from ..store.loop import Loop, writes
from . import consent, drive, guides, wave
from .workspace import Workspace

#: What the id of a run's session begins with.
RUN = "run-"
#: How the reason of a pause begins where a check may not run.
NOT_ALLOWED = "checks that may not run"
#: Most patterns that are named to let checks run.
_MOST_PATTERNS = 5
#: Steps of the program's own that run checks.
_RUNS = (kinds.OPEN_WAVE, kinds.CHECK, kinds.RED_FIRST)
#: Steps that begin an attempt: an iteration each.
ATTEMPTS = (kinds.IMPLEMENTATION, kinds.SCAFFOLD)
#: Seconds that an agent has altogether: to change code, and for everything else.
_LONG, _SHORT = 3600.0, 600.0
_CHANGING = (*ATTEMPTS, kinds.FIX)
#: Variables of ours that stay as they are; all others belong to the session around us.
_KEPT = (
    *("LOOPKIT_DIR", "LOOPKIT_DATA", "LOOPKIT_STATE", "LOOPKIT_CONFIG_DIR"),
    *("LOOPKIT_DISABLED", "CLAUDE_CONFIG_DIR"),
)
#: Roles, which may have a model each, by the agent of a step; forms are the planner's before the
#: work, the supervisor's after it.
PLANNER, CODER, TESTER, SUPERVISOR, REVIEWER = ROLES = (
    *("planner", "coder", "tester", "supervisor", "reviewer"),
)
_ROLE = {
    "planner": PLANNER,
    "coder": CODER,
    "scaffold": CODER,
    "tester": TESTER,
    "supervisor": SUPERVISOR,
    "plan-review": SUPERVISOR,
    "review": REVIEWER,
}
#: What whoever fills in a form is told, where no session does.
_FORM = (
    "You fill in one form of a piece of work that others do before and after you. Look at the code "
    "before you answer, change nothing, and end with the form as block YAML or one JSON object: "
    "its fields and no others, `<a | b>` names the words that are allowed, what does not apply is "
    "left out."
)
_JUDGED = (kinds.PANEL, kinds.GATE, kinds.GATE_AGAIN)


@contextlib.contextmanager
def session(folder: str, name: str) -> Iterator[str]:
    """Stand in a folder as a session of its own does, that nobody attends, with nothing of the one
    around us; gives its id."""
    kept, before, data = os.environ.copy(), os.getcwd(), place.data_dir(dict(os.environ))
    for variable in list(os.environ):
        if variable.startswith(("CLAUDE", "LOOPKIT_")) and variable not in _KEPT:
            del os.environ[variable]
    own = f"{RUN}{name}-{uuid.uuid4().hex[:12]}"
    os.environ |= {
        "CLAUDE_CODE_SESSION_ID": own,
        "CLAUDE_CODE_SESSION_ATTENDED": "0",
        "CLAUDE_PID": str(os.getpid()),
        "CLAUDE_PROJECT_DIR": folder,
        "LOOPKIT_DATA": data,
    }
    try:
        os.chdir(folder)
        yield own
    finally:
        os.environ.clear()
        os.environ.update(kept)
        os.chdir(before)


def run_of(session: str) -> str:
    """The run that stands as a session of this id; "" where none does."""
    return session.removeprefix(RUN).rpartition("-")[0] if session.startswith(RUN) else ""


class Agents(NamedTuple):
    """of: the agent of a role · deadlines: seconds until the first output and without any; the
    whole is the step's."""

    of: Callable[[str], Agent]
    deadlines: Deadlines = Deadlines()


def role(step: Step) -> str:
    """Whose model a step takes."""
    if step.agent:
        return _ROLE[step.agent]
    return SUPERVISOR if step.kind in _JUDGED else PLANNER


def _as_it_is(step: Step, text: str) -> str:
    return text


def in_role(step: Step, text: str) -> str:
    """A prompt with what the step's agent is told in a session besides."""
    if not step.agent:
        return f"{_FORM}\n\n{text}"
    path = os.path.join(place.plugin_root(), "agents", f"{step.agent}.md")
    with open(path, encoding="utf-8") as file:
        body = file.read().split("\n---\n", 1)[-1].strip()
    return f"{body}\n\n---\n\n{text}"


class Driver(drive.Driver):
    """The active loop, one agent at a time: they share a tree. What is a person's stays theirs: the
    loop is paused there. What was asked and answered lies in the loop's folder as ever. words: what
    is made of the prompt of a step · clock: seconds of work, which the loop's limit on time counts.
    """

    def __init__(
        self,
        note: Callable[[str], None],
        agents: Agents,
        words: Callable[[Step, str], str] = _as_it_is,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(note)
        self.agents, self.words, self.clock = agents, words, clock
        self._asked: dict[Step, tuple[str, float]] = {}
        self._again: set[Step] = set()

    def who(self, step: Step) -> str:
        # what no command shows to be fixed is settled by a person
        return PERSON if step.kind == kinds.RESOLVE else super().who(step)

    def due(self) -> list[Step]:
        """The next step alone."""
        for _ in range(2):
            # a wave is one task: the thorough review sees as much as a light one of each
            steps = [step for step in super().due() if step.kind != kinds.WAVE_REVIEW]
            if not steps or self.who(steps[0]) != PROGRAM or steps[0].kind not in _RUNS:
                break
            if not self._waits_for_leave():
                break
        agents = [step for step in steps if self.who(step) == AGENT]
        return (agents or steps)[:1]

    def do(self, step: Step) -> Iterator[run.Recorded]:
        if step.kind != kinds.OPEN_WAVE:
            yield from super().do(step)
            return
        workspace, _ = self._open()
        opened = wave.next_wave(workspace, sequential=True, asks=False)
        yield run.Recorded(step, opened.text, opened.data, not opened.code)

    def ask(self, steps: list[Step], faults: dict[Step, str]) -> dict[Step, run.Request]:
        workspace, loop = self._open()
        step = steps[0]
        self._again = set(faults)
        left, over = _left(loop, step)
        if over is not None:
            workspace.change(loop, lambda state: [over])
            return {}
        number = prompts.next_number(loop.folder, step)
        name = prompts.name(step, number)
        # the agent before was interrupted and gave no answer
        cut = number > 1 and answers.read(loop.folder, prompts.name(step, number - 1)) is None
        asked = drive.request_of(workspace, loop, step, faults.get(step, ""), cut)
        text = asked.prompt.text
        if self.who(step) == kinds.FORM:
            text = f"{guides.of(workspace, loop, step)}\n\n{text}"
        shown = self.words(step, text)
        with writes(loop.folder):
            prompts.write(loop.folder, step, number, shown, asked.schema)
        loop.refresh()  # asking for a review records whom it asks
        changes = self._dispatched(loop, step)
        if changes:
            workspace.change(loop, lambda state: changes)
        self._asked[step] = name, self.clock()
        text = f"{prompts.token(name)}\n\n{shown}"
        limit = _LONG if step.kind in _CHANGING else _SHORT
        return {
            step: asked._replace(
                prompt=asked.prompt._replace(text=text, budget=left),
                agent=self.agents.of(role(step)),
                deadlines=self.agents.deadlines._replace(total=limit),
            )
        }

    def take(self, step: Step, answer: Answer) -> Iterator[run.Recorded]:
        workspace, loop = self._open()
        seen = self._seen(workspace, answer)
        looked = drive.looked(loop.state, step, seen, workspace.project)
        if looked is False and step not in self._again:
            raise UsageFault(drive.UNSEEN)
        yield from super().take(step, answer._replace(looked=looked))

    def cut(self, step: Step, answer: Answer) -> None:
        with contextlib.suppress(LoopError):
            self.ended(step, answer)

    def ended(self, step: Step, answer: Answer) -> None:
        """Keep what an agent answered, and what it cost, whatever came of it."""
        workspace, loop = self._open()
        name, began = self._asked.pop(step, ("", self.clock()))
        row = {
            "usd": answer.cost if answer.cost is not None and answer.cost >= 0 else None,
            "step": kinds.key(step),
            "outcome": answer.outcome,
            "session": answer.session,
            "seconds": self.clock() - began,
        }
        changes: list[Change] = [("agent_ended", row)]
        path = self._transcript(workspace, answer)
        if path:
            stopped = {"agent_id": answer.session, "transcript": path, "token": name}
            changes.append(("subagent_stopped", stopped))
        workspace.change(loop, lambda state: changes)
        if name and answer.text:
            try:
                answers.write(loop.folder, name, {"text": answer.text, "by": answer.by})
            except OSError as error:
                self.note(f"the answer to {name} is not kept: {error.strerror}")

    # -- what belongs to a step

    def _waits_for_leave(self) -> bool:
        """Pause the loop where a check may not run; whether it was."""
        workspace, loop = self._open()
        waiting = consent.missing(workspace, loop)
        if not waiting:
            return False
        reason = not_allowed(waiting)
        paused = ("paused", {"verdict": verdict.WAITING, "reason": reason})
        workspace.change(loop, lambda state: [paused])
        return True

    def _dispatched(self, loop: Loop, step: Step) -> list[Change]:
        """That it was asked; where an attempt begins, that too."""
        changes: list[Change] = []
        if step in due.awaited(loop.state) and step.kind not in drive.FORMS:
            changes += waves.dispatched(loop.state, step)
        if step.kind in ATTEMPTS:
            changes.append(("agents_dispatched", {"agents": 1}))
        return changes

    def _transcript(self, workspace: Workspace, answer: Answer) -> str:
        config = place.config_dir(workspace.environment)
        return transcript.find(config, answer.session) if answer.session else ""

    def _seen(self, workspace: Workspace, answer: Answer) -> dict | None:
        """What the agent looked at, where the client has written that down."""
        path = self._transcript(workspace, answer)
        return looks.read([path])[0] if path else None


def _left(loop: Loop, step: Step) -> tuple[float | None, Change | None]:
    """(USD that are left, None where nothing limits them; the pause that a limit asks for now). The
    number of iterations limits attempts alone."""
    state = loop.state.session
    usd = state.cost()[0]
    turns, money, seconds = state.most
    most = turns if step.kind in ATTEMPTS else None, money, seconds
    over = limits.reached(state.iteration, usd, state.spent_seconds, most)
    left = None if money is None else max(0.0, money - usd)
    return left, over and ("paused", {"verdict": over[0], "reason": over[1]})


def not_allowed(waiting: list[tuple[str, str]]) -> str:
    """Why a run waits for the person's leave, and what lets it go on."""
    named = prose.clean("; ".join(f"{names}: {line}" for names, line in waiting), 300)
    options, patterns = shlex.join(leave(waiting)), leave(waiting)[1::2]
    return (
        f"{NOT_ALLOWED} ({named}). Allow them: {options} for this loop, or "
        f"verify_allow = [{', '.join(map(_toml, patterns))}] in ~/.config/loopkit/config.toml"
    )


def leave(waiting: list[tuple[str, str]]) -> list[str]:
    """The options that let these checks run, the first of them."""
    patterns = dict.fromkeys(rules.pattern(line) for _, line in waiting)
    return [word for one in list(patterns)[:_MOST_PATTERNS] for word in ("--checks", one)]


def _toml(pattern: str) -> str:
    import json

    return json.dumps(pattern, ensure_ascii=False)


def waits_for(state: LoopState, step: Step) -> str:
    """What a run waits for that only a person can do, and how they do it."""
    about = ""
    if step.kind == kinds.ANSWER:
        about = prose.clean(state.session.question or "", 600)
    elif step.kind == kinds.RESOLVE:
        finding = state.findings[str(step.subject)]
        about = f"{finding.severity} {finding.id}: {prose.clean(finding.issue, 300)}"
    elif step.kind == kinds.UNBLOCK:
        task = state.tasks[str(step.subject)]
        about = f"{task.id} is blocked: {prose.clean(task.block_text or '', 300)}"
    line = due.line(state, step)
    return f"{about}; {line}" if about else line


def stop(note: Callable[[str], None], reason: str, name: str = verdict.WAITING) -> None:
    """Let the active loop go, which this run owns: nobody works on it from now on, and where it
    still runs it is paused."""
    workspace = Workspace(note)
    with contextlib.suppress(LoopError):
        loop = workspace.own_loop()
        gone = {"session_id": workspace.session, "client_pid": None, "why": "run ended"}
        changes: list[Change] = [("owner_changed", gone)]
        if loop.state.session.status == verdict.RUNNING:
            changes.append(("paused", {"verdict": name, "reason": reason}))
        if loop.state.session.status not in verdict.FINAL:
            workspace.change(loop, lambda state: changes)
