"""One step: answers are taken, what needs no judgement is done, what needs it is asked for."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from .. import replies
from ..core.evidence import changes
from ..core.evidence import consent as rules
from ..core.journal import clock, prose, verdict
from ..core.journal.errors import LoopError, Refused, UsageFault
from ..core.journal.events import Change
from ..core.plan import events
from ..core.review import review, shown
from ..core.steps import context, due, kinds, resumption, waves
from ..core.steps.kinds import AGENT, FORM, KINDS, PROGRAM, Step
from ..engine.agents import DONE, EMPTY, Answer
from ..store import answers, beats, looks, place, prompts, transcript
from ..store.loop import writes
from . import consent, control, dispatch, drive, guides, wave
from . import review as reviews
from .workspace import OutOfTime, Result, Time, Workspace

if TYPE_CHECKING:
    from ..core.journal.state import LoopState
    from ..store.loop import Loop

#: Seconds after which nothing more is begun, after which a check is cut; rounds of one call.
SECONDS, MOST_SECONDS, MOST_ROUNDS = 480, 530, 500
#: Seconds of a call that the client gives no longer time than usual.
SHORT = 90
SUBMIT = "loopkit submit --file -"
#: Seconds without a word in an agent's transcript after which it is taken for gone.
QUIET = 600


def advance(workspace: Workspace, before: str = "", seconds: int | None = None) -> Result:
    """Go on as far as no judgement is needed. before: what was recorded already · seconds: after
    which a check is cut and all of them left to the next call."""
    return _Run(workspace, before, seconds).result()


def submit(workspace: Workspace, text: str, token: str = "") -> Result:
    """Take the form that was asked for, or (token) an agent's answer that did not come by itself;
    then go on. Raises UsageFault, Refused; then nothing is recorded."""
    driver = drive.Driver(workspace.note)
    loop = workspace.own_loop()
    steps = driver.due()
    if token:
        out = [*steps, *_reviewers(loop.state), *_late_reviews(loop.state)]
        step = _dispatched(loop.state, out, token)
        _keep(loop, _name(loop.state, step), text)
        return advance(workspace, f"the answer to {kinds.key(step)} is submitted by hand")
    form = next((step for step in steps if KINDS[step.kind].who == FORM), None)
    if form is None:
        raise Refused("no form is asked for now", f"next: {due.NEXT}", code="not_yet")
    said = [record.text for record in driver.take(form, Answer(DONE, text=text))]
    return advance(workspace, "\n".join(said))


def _dispatched(state: LoopState, steps: list[Step], token: str) -> Step:
    for step in steps:
        if token == prompts.token(_name(state, step)):
            return step
    raise UsageFault(f"no answer to {token[:60]!r} is awaited", "see loopkit next")


def _name(state: LoopState, step: Step) -> str:
    """The name of the newest dispatch of a step."""
    return prompts.name(step, state.supervision.asked.get(kinds.key(step), 0))


def _keep(loop: Loop, name: str, text: str) -> None:
    with writes(loop.folder):
        answers.write(loop.folder, name, {"text": text, "by": events.HAND})


class _Run:
    def __init__(self, workspace: Workspace, before: str, seconds: int | None) -> None:
        self.workspace = workspace
        self.driver = drive.Driver(workspace.note)
        self.lines = [before] if before else []
        began = time.monotonic()
        self.until, self.cut = began + (seconds or SECONDS), began + (seconds or MOST_SECONDS)
        #: Whether something has run already, or a later call has more time.
        self.worked = seconds is not None
        self.out: set[str] | None = None

    def result(self) -> Result:
        for _ in range(MOST_ROUNDS):
            loop = self.workspace.own_loop()
            if self.out is None:
                self._begin(loop)
            if loop.state.session.status != verdict.RUNNING:
                self.lines.append(control.ended_unseen(self.workspace, loop))
                if not any(self.lines):
                    self.lines.append(f"the loop is {loop.state.session.status.replace('_', ' ')}")
                return self._result(loop)
            steps = self.driver.due()
            self.lines, self.driver.told = [*self.lines, *self.driver.told], []
            if time.monotonic() > self.until:
                break
            if self._take(loop, steps) or self._decide_alone(loop, steps):
                self.worked = True
                continue
            programs = [one for one in steps if KINDS[one.kind].who == PROGRAM]
            if not programs or programs[0].kind == kinds.LOOK:
                return self._ask(loop, steps)
            runs = programs[0].kind in (kinds.OPEN_WAVE, kinds.CHECK, kinds.RED_FIRST)
            if runs and (waiting := consent.missing(self.workspace, loop)):
                return self._wait_for_leave(loop, waiting)
            if not self._do(programs[0]):
                break
        return self._result(loop, [due.NEXT])

    def _begin(self, loop: Loop) -> None:
        self.out = set(loop.state.supervision.out)
        if loop.state.session.free:  # the person has spoken, and wants the work to go on
            self.workspace.change(loop, lambda state: [("went_on", {})])
        self.lines += wave.caught_up(self.workspace, loop)
        loop.refresh()

    def _decide_alone(self, loop: Loop, steps: list[Step]) -> bool:
        """Where nobody can be asked, what the person would decide takes its default, or puts the
        loop off; whether there was such a thing."""
        alone = loop.state.session.unattended and bool(steps)
        changes = resumption.alone(loop.state, steps[0]) if alone else []
        if changes:
            self.workspace.change(loop, lambda state: changes)
            self.lines += [_of_default(*change) for change in changes]
        return bool(changes)

    def _do(self, step: Step) -> bool:
        """Do what a program can; whether there was time for it."""
        self.driver.time = Time(self.cut, whole=not self.worked)
        self.worked = True
        try:
            self._said(list(self.driver.do(step)))
        except OutOfTime:
            return False
        return True

    def _result(self, loop: Loop, steps: list[str] | None = None) -> Result:
        return Result(loop, "\n".join(filter(None, self.lines)), {}, steps)

    def _said(self, records: list) -> None:
        self.lines += [record.text for record in records]

    def _wait_for_leave(self, loop: Loop, waiting: list[tuple[str, str]]) -> Result:
        """Checks run once the person has said yes to them; where nobody can, the loop waits."""
        if not self.workspace.unattended:
            self.lines.append("checks that the person has not allowed yet:")
            self.lines += [f"  {names}: {line}" for names, line in waiting]
            return self._result(loop, ["loopkit allow"])
        named = "; ".join(f"{names}: {line}" for names, line in waiting)
        reason = f"checks that may not run ({prose.clean(named, 300)}). {rules.UNATTENDED}"
        paused = ("paused", {"verdict": verdict.WAITING, "reason": reason})
        self.workspace.change(loop, lambda state: [paused])
        self.lines.append(reason)
        return self._result(loop)

    # -- what agents answered

    def _take(self, loop: Loop, steps: list[Step]) -> bool:
        """Take an answer that has come; whether one had."""
        for step in [*steps, *_late_reviews(loop.state)]:
            if KINDS[step.kind].who != AGENT:
                continue
            if step.kind == kinds.THOROUGH_REVIEW:
                if self._take_review(loop):
                    return True
                continue
            answer = self._answer(loop, step)
            if answer is not None:
                try:
                    _check(loop.state, step, answer)
                    self._said(list(self.driver.take(step, answer)))
                except (UsageFault, Refused) as fault:
                    self._unfit(loop, step, fault, answer.text)
                return True
        return False

    def _answer(self, loop: Loop, step: Step) -> Answer | None:
        """What the agent of a step has answered; the outcome is EMPTY where it is gone."""
        if kinds.key(step) not in loop.state.supervision.out:
            return None
        name = _name(loop.state, step)
        row = answers.read(loop.folder, name)
        if row is None and not self._is_quiet(loop, name):
            return None
        if row is None or type(row.get("text")) is not str:
            return Answer(EMPTY)
        corrected = answers.held(loop.folder, name) >= answers.MOST_HELD
        by = str(row.get("by", ""))
        seen = {} if by == events.HAND else row.get("seen")
        looked = drive.looked(loop.state, step, seen, self.workspace.project)
        files = self._transcripts(loop, name) if seen and looked is False else []
        if files:  # the client may write of its last calls after the hook has taken the answer
            seen = looks.read(files)[0]
            looked = drive.looked(loop.state, step, seen, self.workspace.project)
        return Answer(DONE, text=row["text"], final=corrected, by=by, looked=looked)

    def _is_quiet(self, loop: Loop, name: str) -> bool:
        """Its transcript says nothing new for QUIET seconds: it was killed, or came to its last
        turn, and no hook has heard of that."""
        with contextlib.suppress(OSError, ValueError):
            written = max(os.stat(path).st_mtime for path in self._transcripts(loop, name))
            return time.time() - written > QUIET
        return False

    def _transcripts(self, loop: Loop, name: str) -> list[str]:
        """Of the agent that was started with a prompt."""
        config = place.config_dir(self.workspace.environment)
        main = transcript.find(config, loop.state.session.owner)
        for path in transcript.agents(main) if main else ():
            line, files = looks.started(path)
            if prompts.named(line) == name:
                return files
        return []

    def _unfit(self, loop: Loop, step: Step, fault: LoopError, text: str) -> None:
        """The step is due once more; its next prompt says why."""
        row = {
            "kind": context.asked_as(step),
            "task": step.subject and str(step.subject),
            "error": fault.what[:4000],
            "text": text[:4000],
        }
        self.workspace.change(loop, lambda state: [("reply_unfit", row)])
        self.lines.append(f"the answer to {kinds.key(step)} cannot be used: {fault.what}")

    def _take_review(self, loop: Loop) -> bool:
        """The thorough review is recorded once all of its agents have answered."""
        out = _reviewers(loop.state)
        found = [self._answer(loop, one) for one in out]
        for one, answer in zip(out, found, strict=True):
            try:
                _check(loop.state, one, answer)
            except UsageFault as fault:
                self._unfit(loop, one, fault, "")
                return True
        if not out or not all(found):
            return False
        try:
            rows = [replies.parse("review", answer.text) for answer in found if answer]
            views = [_views(loop.state, one) for one in out]
            whole = shown.merged(zip(views, rows, strict=True))
            sources = sorted({answer.by for answer in found if answer})
            looked = {answer.looked for answer in found if answer}
            self.workspace.source = {
                "by": events.HAND if events.HAND in sources else sources[0],
                "looked": False if False in looked else True if True in looked else None,
            }
            self._said([reviews.record_thorough(self.workspace, whole)])
        except (UsageFault, Refused) as fault:
            for one in out:
                self._unfit(loop, one, fault, "")
        return True

    # -- asking

    def _ask(self, loop: Loop, steps: list[Step]) -> Result:
        agents = [one for one in steps if KINDS[one.kind].who == AGENT]
        if steps:
            self.lines.append(guides.due(self.workspace, loop, [] if agents else steps[:1]))
        if agents:
            return self._dispatch(loop, agents)
        if not steps:
            return self._result(loop)
        step = steps[0]
        if KINDS[step.kind].who == FORM and step.kind != kinds.RESOLVE:
            asked = drive.FORMS[step.kind].ask(self.workspace, *drive.subject_of(step))
            self.lines.append(f"# To fill in: {KINDS[step.kind].reply}\n\n{asked.text}")
            return self._result(loop, [SUBMIT])
        question = loop.state.session.question or ""
        if step.kind == kinds.ANSWER and question not in "\n".join(self.lines):
            self.lines.append(question)
        return self._result(loop, [due.line(loop.state, step)])

    def _dispatch(self, loop: Loop, steps: list[Step]) -> Result:
        """Agent lines for what nobody works on yet; where all is at work, that."""
        steps = [one for step in steps for one in self._agents(loop, step)]
        fresh = [one for one in steps if not events.is_out(loop.state, kinds.key(one))]
        used = self.workspace.unread(loop) if fresh else {}
        over = dispatch.over(loop, used) if fresh else None
        if over is not None:
            self.workspace.change(loop, lambda state: [over])
            self.lines.append(f"the loop is paused: {over[1]['reason']}")
            return self._result(loop)
        if fresh and loop.state.wave and not loop.state.checkpoints.rows:
            self._keep_start(loop)
        for step in fresh:
            self._write(loop, step)
        if fresh:
            self.workspace.change(loop, _asked, fresh, used)
        known = self.out or set()
        started = [
            one
            for one in steps
            if one in fresh or kinds.key(one) not in known or self._is_unstarted(loop, one)
        ]
        if not started:
            # what is derived follows, should whoever dispatched them have died
            self.workspace.change(loop, lambda state: [])
            names = ", ".join(kinds.key(one) for one in steps)
            self.lines.append(f"at work: {names}. End the turn: their reports wake you")
            return self._result(loop, [])
        lines = [
            f"agent loop:{one.agent}: {prompts.token(_name(loop.state, one))}" for one in started
        ]
        return self._result(loop, [*lines, due.NEXT])

    def _keep_start(self, loop: Loop) -> None:
        """Whoever opened the first wave may have died before its checkpoint was made."""
        coders = tuple(f"{kind} " for kind in (kinds.IMPLEMENTATION, kinds.SCAFFOLD))
        if not any(key.startswith(coders) for key in loop.state.supervision.asked):
            self.lines.append(wave.begun(self.workspace, loop))
            loop.refresh()

    def _is_unstarted(self, loop: Loop, step: Step) -> bool:
        """It was dispatched, and no agent was ever started with its token: whoever was told to has
        not read it. Only where hooks hear agents start, and one that we miss is started twice at
        the worst: the first answer counts."""
        heard = beats.read(place.data_dir(self.workspace.environment), "pre_tool_use")
        since = clock.epoch(loop.state.session.owner_since)
        return (
            heard is not None
            and heard.at >= since
            and not answers.started(loop.folder, _name(loop.state, step))
        )

    def _write(self, loop: Loop, step: Step) -> None:
        fault = loop.state.supervision.invalid.get(kinds.key(step), "")
        number = context.number(loop.state, step)
        if step.kind == kinds.THOROUGH_REVIEW:
            names = _views(loop.state, step)
            text = reviews.of_experts(self.workspace, loop, None, names, fault)
        else:
            known = number == 1 or answers.read(loop.folder, prompts.name(step, number - 1))
            text = drive.prompt_of(self.workspace, loop, step, fault, cut=not known).text
        needed = shown.schemas(loop.state) if step.kind == kinds.THOROUGH_REVIEW else {}
        schema = replies.accepted(KINDS[step.kind].reply, **needed)
        with writes(loop.folder):
            prompts.write(loop.folder, step, number, text, schema)

    def _agents(self, loop: Loop, step: Step) -> list[Step]:
        """The step of each agent that works on a step: of a thorough review several."""
        if step.kind != kinds.THOROUGH_REVIEW:
            return [step]
        if not _reviewers(loop.state):
            late = _late_reviews(loop.state)
            if late:  # what they find is told to the thorough review
                return late
            rows = reviews.of_thorough(loop.state)
            names = [one.name for one, _, _ in rows]
            count = review.agents_for(changes.of_wave(loop.state, None), len(names))
            self.workspace.change(loop, _review_asked, names, count)
        return _reviewers(loop.state)


def _of_default(kind: str, data: dict) -> str:
    """What is said of a decision that nobody could be asked about."""
    if kind == "confirmed":
        return f"{data['what']}: taken as confirmed, since nobody can be asked"
    if kind == "finding_resolved":
        return f"{data['id']} stays open, since nobody can be asked"
    return f"the loop is paused: {data['reason']}" if kind == "paused" else ""


def _check(state: LoopState, step: Step, answer: Answer | None) -> None:
    """Raises UsageFault for an answer that says nothing, and once for one that judges what its
    agent has not looked at."""
    if answer is None:
        return
    if answer.outcome == EMPTY:
        raise UsageFault("its agent has ended without an answer")
    again = state.supervision.misses.get(kinds.key(step), 0)
    if answer.looked is False and answer.by != events.HAND and not again:
        raise UsageFault(drive.UNSEEN)


def _asked(state: LoopState, steps: list[Step], used: dict) -> list[Change]:
    """Agents are dispatched, but for what another call has dispatched in this moment."""
    fresh = [one for one in steps if not events.is_out(state, kinds.key(one))]
    changes = [change for one in fresh for change in waves.dispatched(state, one)]
    return [*changes, ("agents_dispatched", {"agents": len(fresh), **used})] if fresh else []


def _late_reviews(state: LoopState) -> list[Step]:
    """Reviews of waves that are still out: the work has gone on beside them."""
    head = kinds.WAVE_REVIEW + " "
    numbers = [int(one[len(head) :]) for one in state.supervision.out if one.startswith(head)]
    return [kinds.step(kinds.WAVE_REVIEW, number) for number in numbers]


def _review_asked(state: LoopState, names: list[str], count: int) -> list[Change]:
    review.check_due(state)
    return [("review_asked", {"experts": names, "agents": count})]


def _reviewers(state: LoopState) -> list[Step]:
    """The agents that the thorough review was given to, while it has not been recorded."""
    asked = state.asked
    if asked is None or not review.with_experts(state):
        return []
    return [Step(kinds.THOROUGH_REVIEW, n, "review") for n in range(1, asked["agents"] + 1)]


def _views(state: LoopState, step: Step) -> list[str]:
    """The experts whose views one of the agents carries."""
    asked = state.asked or {}
    return list(asked["experts"][int(step.subject or 1) - 1 :: asked["agents"]])
