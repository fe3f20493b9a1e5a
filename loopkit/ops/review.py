"""Expert reviews: light after a wave, thorough before the gate; whom to ask, what was found."""

import functools
import os
from typing import Any

from .. import replies
from ..core.evidence import changes, command
from ..core.journal import prose, task, verdict
from ..core.journal.errors import Refused
from ..core.journal.parts import BEFORE, Changed, Checkpoint
from ..core.journal.state import LoopState
from ..core.journal.task import Task
from ..core.memory import decisions
from ..core.review import convergence, panel, review, shown
from ..core.steps import context, due
from ..render import prompts
from ..store import digest, place, profiles
from ..store.loop import Loop
from . import changes as measured
from . import consent, dispatch, memory
from .workspace import Result, Workspace

#: Files that are listed in a prompt at the most.
MOST_FILES = 40
#: Decisions, and anti-patterns, that are listed at the most.
MOST_REASONS = 20


# -- what was found


def record_light(workspace: Workspace, wave: int, row: dict) -> Result:
    """Record the light review of a wave."""
    loop = workspace.own_loop()
    known = panel.allowed(profiles.read(place.plugin_root()), loop.state)
    printed = [expert.name for expert, _, _ in of_review(loop.state, LIGHT, wave)]
    if row["experts"]:  # nobody knows who was printed then; who has a profile may look
        printed += [expert.name for expert in known if expert.name not in printed]
    changes = workspace.change(loop, review.light, wave, row, printed)
    data = changes[0][1]
    counts = f"{prose.count(data['issues'], 'issue')}, {prose.count(data['blockers'], 'blocker')}"
    line = f"review of wave {data['wave']} recorded: {data['score']}/10, {counts}"
    return _recorded(loop, data, [line], changes)


def record_thorough(workspace: Workspace, row: dict) -> Result:
    """Record a thorough review."""
    loop = workspace.own_loop()
    paths = sorted({path for task in loop.state.tasks.values() for path in task.files})
    paths = [row.path for row in loop.state.changes.whole or ()] or paths
    size = digest.size(workspace.project, os.path.join(loop.folder, "SHAPE.md"), paths)
    may_run = functools.partial(consent.allowed, workspace, loop)
    changes = workspace.change(loop, review.thorough, row, size, printed(loop.state), may_run)
    data = next(data for kind, data in changes if kind == "review_thorough")
    return _recorded(loop, data, _found(loop.state, data), changes)


def printed(state: LoopState) -> list[str]:
    """The experts that a thorough review was given to, or would be."""
    if review.with_experts(state):
        return list((state.asked or {})["experts"])
    return [expert.name for expert, _, _ in of_thorough(state)]


def _recorded(loop: Loop, data: dict, lines: list[str], changes: list) -> Result:
    files = []
    for kind, row in changes:
        if kind == "decision_recorded":
            lines.append(f"decided, not raised again: {_decided(row)}")
        elif kind == "paused" and row.get("verdict") == verdict.BREACHED:
            lines.append(f"the loop is paused: {prose.clean(row['reason'], 300)}")
        if kind in ("decision_recorded", "anti_pattern_recorded"):
            files.append(memory.shown_decision(loop, row))
    return Result(loop, "\n".join([*lines, *files]), {"findings": data["findings"]})


#: What the person can say to a warning, as `review resolve` names it.
WAYS = (
    "approve: it stays as it is · task: a task fixes it, COMMAND shows it · discuss: what was said "
    "about it · skip: why it is left"
)


def _found(state: LoopState, data: dict) -> list[str]:
    lines = [
        f"thorough review {data['round']} recorded: {prose.count(len(data['findings']), 'finding')}"
    ]
    for row in data["findings"]:
        mark = f" → {row['task']}" if row.get("task") else ""
        resolution = row.get("resolution") or {}
        done = {
            convergence.DECIDED: " (decided)",
            convergence.REPEATED: f" (repeats {resolution.get('text')})",
        }.get(resolution.get("how", ""), "")
        lines.append(f"{row['id']} {row['severity']}{mark}{done}: {prose.clean(row['issue'], 120)}")
        if row.get("replaced"):
            broken = ", ".join(row["violates"])
            lines.append(f"  guidance replaced, it would break {broken}: {_cut(row['guidance'])}")
    unsettled = [finding for finding in state.findings.values() if review.unsettled(finding, state)]
    waiting = [finding for finding in unsettled if finding.severity == review.WARNING]
    left = review.blockers_left(state)
    if left or not waiting:
        lines.append("review passed" if review.passed(state) else f"blockers left: {left}")
    checks = {row["id"]: row.get("verify") for row in data["findings"]}
    for finding in waiting:
        lines.append(
            f"for the person: {finding.id} {_cut(finding.issue)}; "
            f"guidance: {_cut(finding.guidance)}"
        )
        if checks.get(finding.id):
            lines.append(f"  shown by: {checks[finding.id]}")
    return [*lines, WAYS] if waiting else lines


def _decided(data: dict) -> str:
    return f"decision {data['number']:03d} ({data['kind']}): {_cut(data['choice'], 160)}"


def _cut(text: str, most: int = 120) -> str:
    return prose.clean(" ".join(text.split()) or "none", most)


def resolve(workspace: Workspace, names: list[str], how: str, text: str, verify: str) -> Result:
    """Settle findings of the thorough review, several in the same way at once."""
    loop = workspace.own_loop()
    if how != "task":
        workspace.check_somebody("settles a finding without a task", loop)
    workspace.change(loop, review.resolved, names, how, text, verify)
    left = sum(review.unsettled(row, loop.state) for row in loop.state.findings.values())
    text = f"{', '.join(names).upper()} settled ({how}), {left} left"
    return Result(loop, text, {"left": left}).going_on()


def settle(workspace: Workspace, names: list[str], how: str, text: str, verify: str) -> Result:
    """The same on the person's word; where none is left the loop goes on, as `next` does."""
    done = resolve(workspace, names, how, text, verify)
    if done.data["left"] or done.steps != [due.NEXT]:
        return done
    from . import advance

    return advance.advance(workspace, done.text, advance.SHORT)


# -- whom to ask what


def ask_light(workspace: Workspace, wave: int) -> Result:
    """Whom to ask what about a wave; the main session looks itself."""
    loop = workspace.own_loop()
    if wave not in [row.number for row in loop.state.waves]:
        raise Refused(f"there is no wave {wave}", f"waves so far: {len(loop.state.waves)}")
    form = replies.form("wave_review", "score", "findings")
    lines = [*expert_lines(loop.state, LIGHT, wave), f"submit as block YAML:\n{form}"]
    return Result(loop, "\n".join(lines), steps=[f"loopkit review --wave {wave} --file -"])


def ask_thorough(workspace: Workspace) -> Result:
    """Give the thorough review to its experts, an agent each; none is started twice."""
    loop = workspace.own_loop()
    noted = measured.at_end(workspace, loop)
    rows = of_thorough(loop.state)
    answers = shown.asked(loop.state)
    form = replies.form("review", "experts", "findings", *answers, **answers)
    names = [expert.name for expert, _, _ in rows]
    if not workspace.change(loop, review.asked, names):
        asked = ", ".join((loop.state.asked or {}).get("experts", []))
        left = review.still_out(loop.state)
        if left:
            text = (
                f"{asked} have been asked, {left} still to report; wait for that, end the turn if "
                "need be"
            )
            return Result(loop, text, {"asked": asked, "left": left}, [])
        text = f"{asked} have reported; submit as block YAML:\n{form}"
        return Result(loop, text, steps=["loopkit review --thorough --file -"])
    head = "ask {} to {} experts, an agent each:".format(*review.THOROUGH_EXPERTS)
    lines = [*noted, head, *[expert_line(*row) for row in rows], *_context(loop.state)]
    lines.append(f"submit together, as block YAML; nothing found: findings: []\n{form}")
    questions = [(expert.name, prose.clean(question, 120)) for expert, question, _ in rows]
    steps = due.reviewers(loop.state, questions)
    return Result(loop, "\n".join(lines), {"experts": names}, steps)


def _context(state: LoopState) -> list[str]:
    """What a thorough review has to respect and to look at."""
    lines = [
        f"  must not be broken by any guidance: {row.id} {row.text}" for row in state.must_nots
    ]
    lines += [f"  open from wave reviews: {_cut(issue, 100)}" for issue in _open(state)]
    return lines + reasons(state, _changed(state))


def _changed(state: LoopState) -> list[str]:
    """What was measured as changed; else the files of the completed tasks, newest task first."""
    rows = changes.of_wave(state, None)
    if rows is not None:
        return [path for row in rows for path in changes.paths(row)]
    done = [row for row in reversed(list(state.tasks.values())) if row.status == task.COMPLETED]
    return list(dict.fromkeys(path for row in done for path in row.files))


def reasons(state: LoopState, files: list[str]) -> list[str]:
    """The live decisions, those that touch these files first, and the anti-patterns that do."""
    rows = decisions.in_view(state, files)
    lines = []
    for row in rows[:MOST_REASONS]:
        if row.get("kind") in convergence.KINDS:
            lines.append(f"  decided, not raised again: {_decided(row)}")
        else:
            lines.append(
                f"  decided, a BLOCKER with contradicts: [{row['number']}] where the work goes "
                f"against it: {_cut(decisions.line(row, 240), 240)}"
            )
    if len(rows) > MOST_REASONS:
        lines.append(f"  +{len(rows) - MOST_REASONS} more decisions: loopkit decide --list")
    lessons = [row for row in decisions.touching(state, files) if decisions.is_lesson(row)]
    return lines + [f"  {_cut(decisions.line(row, 240), 240)}" for row in lessons[-MOST_REASONS:]]


WAVE, BATCH, ALL = "wave", "batch", "all"


def show(workspace: Workspace, wave: int | None, name: str) -> Result:
    """Everything that one expert of a review has to know, and the form of the answer; changes
    nothing."""
    loop = workspace.loop()
    return Result(loop, of_experts(workspace, loop, wave, [name]), steps=[])


def of_experts(
    workspace: Workspace, loop: Loop, wave: int | None, names: list[str], fault: str = ""
) -> str:
    """The prompt of an agent that carries the views of these experts. wave: of a light review ·
    fault: what was wrong with its last answer."""
    state, kind = loop.state, ALL if wave is None else WAVE
    rows = {row.name: question for row, question, _ in of_review(state, _BOUNDS[kind], wave)}
    known, views = {row.name: row for row in profiles.read(place.plugin_root())}, []
    for name in names:
        profile = known.get(name)
        if profile is None:
            raise Refused(f"there is no expert {name[:40]}", f"asked are: {', '.join(rows)}")
        asks = list(dict.fromkeys(filter(None, [rows.get(name), *questions(profile)])))
        views.append({**profile._asdict(), "asks": asks})
    asked = shown.asked(state)
    form = replies.asked("review", "findings", *asked, **asked)
    if wave is not None:
        form = replies.asked("wave_review", "score", "findings")
    if wave is not None or not _open(state) + _settled(state):  # it knows of no earlier finding
        form = replies.without(form, "reverses", "repeats")
    facts = {"views": views, "invalid": fault, "form": form}
    return prompt(workspace, loop, kind, wave or 0, _tasks(state, wave), **facts)


def prompt(
    workspace: Workspace, loop: Loop, kind: str, number: int, tasks: list[Task], **facts: Any
) -> str:
    """What a reviewer is told. kind: WAVE, BATCH, ALL · number: of the wave or batch · facts:
    views, invalid, form, and whatever else differs."""
    state = loop.state
    named = list(dict.fromkeys(path for one in tasks for path in one.files))
    rows = _rows(workspace, loop, kind, number)
    files = named if rows is None else [path for row in rows for path in changes.paths(row)]
    values = {
        "kind": kind,
        "number": number,
        "scope": kind,
        "loop": state.name,
        "reply": "",
        "cut": False,
        "views": (),
        "invalid": "",
        "folder": dispatch.shown(workspace, loop.folder),
        "runs": kind == BATCH or kind == ALL and not state.terms.check_completes,
        **_diff(state, kind, number),
        **_measured(state, kind, rows, named),
        "newer": _newer(state) if kind == ALL else "",
        "tasks": [_told(one) for one in tasks],
        "open": _open(state) if kind == ALL else [],
        "settled": _settled(state) if kind == ALL else [],
        "asked": shown.asked(state) if kind == ALL else {},
        "reasons": [row.strip() for row in reasons(state, files)],
        **context.common(state),
        **facts,
    }
    return prompts.filled("review/review.md", values)


def _rows(workspace: Workspace, loop: Loop, kind: str, number: int) -> list[Changed] | None:
    """What was measured of what is reviewed; None where nothing was."""
    if kind == BATCH:  # the wave is still open
        return measured.at_work(workspace, loop) or None
    return changes.of_wave(loop.state, None if kind == ALL else number)


def _measured(state: LoopState, kind: str, rows: list[Changed] | None, named: list[str]) -> dict:
    """files: what changed, with its lines, or what the tasks name where nothing was measured ·
    outside: of it what no task names · watched: of it what a mustNot names · ignored."""
    if rows is None:
        files = named[:MOST_FILES]
        return {"files": files, "outside": [], "watched": [], "ignored": [], "checks": []}
    outside = [changes.told(row) for row in changes.outside(rows, named)]
    touched = [f"{row.path} ({row.criterion})" for row in state.changes.touched]
    return {
        "files": [changes.told(row) for row in rows[:MOST_FILES]] or ["none"],
        "outside": outside[:MOST_FILES],
        "watched": list(dict.fromkeys(touched)),
        "ignored": state.changes.ignored if kind == ALL else [],
        "checks": changes.notes(state)[:MOST_FILES] if kind == ALL else [],
    }


def _tasks(state: LoopState, wave: int | None) -> list[Task]:
    """The completed tasks, the newest first; of a wave all that were worked on in it."""
    if wave is None:
        done = [row for row in state.tasks.values() if row.status == task.COMPLETED]
        return done[::-1]
    names = next((row.tasks for row in state.waves if row.number == wave), ())
    return [state.tasks[name] for name in names if name in state.tasks]


def _told(one: Task) -> dict:
    passed = one.evidence is not None and one.evidence.passed
    how = one.status.replace("_", " ")
    if one.status == task.IN_PROGRESS:
        how = "its check passed" if passed else "its check has not passed"
    return {
        **{name: getattr(one, name) for name in ("id", "subject", "verify", "description")},
        "how": how,
        "apart": one.evidence and command.APART.get(one.evidence.told, ""),
        "failed": one.history[-1]["error"][-300:] if one.history and how != "completed" else "",
    }


def _diff(state: LoopState, kind: str, number: int) -> dict[str, str]:
    """diff: the line that shows the diff between the checkpoints, "" where there are none ·
    between: which these are, of a wave beside which others work on · then: the newer one."""
    rows = [row for row in state.checkpoints.rows if row.label != BEFORE]
    facts = {"diff": "", "between": "", "then": ""}
    if not rows:
        return facts
    if kind == BATCH:
        return {**facts, "diff": f"git diff {rows[-1].sha[:12]}"}
    before, after = rows[0], rows[-1]
    if kind == WAVE:
        place = next((n for n, row in enumerate(rows) if row.wave == number), 0)
        before, after = rows[max(0, place - 1)], rows[place]
    if before is after:
        return facts
    facts["diff"] = f"git diff {before.sha[:12]} {after.sha[:12]}"
    if kind == WAVE:
        facts["between"] = " and ".join(f"{row.number} ({row.label})" for row in (before, after))
        facts["then"] = after.sha[:12]
    return facts


def _newer(state: LoopState) -> str:
    """The line that shows what was changed since the last thorough review; "" where none was."""
    last = since_review(state)
    if state.thorough is None or last is None or last is state.checkpoints.rows[-1]:
        return ""
    return f"git diff {last.sha[:12]} {state.checkpoints.rows[-1].sha[:12]}"


def since_review(state: LoopState) -> Checkpoint | None:
    """The checkpoint that the last thorough review looked at, the first one where none was."""
    rows = [row for row in state.checkpoints.rows if row.label != BEFORE]
    line = (state.thorough or {}).get("line", 0)
    return next((row for row in reversed(rows) if row.line <= line), rows[0] if rows else None)


def _open(state: LoopState) -> list[str]:
    """What wave reviews found and nothing has fixed, blockers first: `F-001 BLOCKER, wave 1: T-002
    app/x.py:3 …`."""
    rows = sorted(state.findings.values(), key=lambda row: row.severity != review.BLOCKER)
    partly = [
        f"{name}, its proof: partly: {seen.text}"
        for name, seen in state.shown.items()
        if seen.word == shown.PARTLY
    ]
    return partly + [
        f"{finding.id} {finding.severity}, {finding.source.replace('_', ' ')}: "
        + " ".join(filter(None, (finding.task, finding.place, finding.issue)))
        for finding in rows
        if finding.source not in ("thorough", "decision")
        and not finding.resolution
        and not convergence.fixed(state, finding)
    ]


def _settled(state: LoopState) -> list[str]:
    return [
        f"{row.id} ({row.category}) {row.place} {_cut(row.issue, 100)} "
        f"({(row.resolution or {}).get('how') or 'fixed'})"
        for row in list(state.findings.values())[-12:]
        if row.source == "thorough"
        and not review.unsettled(row, state)
        and row.severity != review.SUGGESTION
    ]


# -- who is chosen

LIGHT, THOROUGH = review.LIGHT_EXPERTS, review.THOROUGH_EXPERTS
_BOUNDS = {WAVE: LIGHT, ALL: THOROUGH}

#: An expert, the question that nobody before it is asked, how sure it may be.
Chosen = tuple[panel.Profile, str, int]


def chosen(state: LoopState, topics: list[str], count: int = panel.NORMAL) -> list[Chosen]:
    """The experts for these topics, of those that the project lets speak."""
    allowed = panel.allowed(profiles.read(place.plugin_root()), state)
    rows: list[Chosen] = []
    for expert in panel.choose(allowed, topics, count):
        taken, asks = [question for _, question, _ in rows], questions(expert)
        question = next((ask for ask in asks if ask not in taken), asks[0])
        rows.append((expert, question, panel.confidence(expert, topics)))
    return rows


def of_review(state: LoopState, bounds: tuple[int, int], wave: int | None = None) -> list[Chosen]:
    """The experts of a review; the more topics, the more of them. bounds: least and most · wave:
    whose tasks a light review is about, by default the newest."""
    if wave is None and bounds == LIGHT:
        wave = state.waves[-1].number if state.waves else None
    topics = panel.review_topics(state, wave)
    return chosen(state, topics, bounds[len(topics) >= bounds[1]])


def of_thorough(state: LoopState) -> list[Chosen]:
    """The experts of a thorough review. Raises Refused where too few may speak."""
    if state.thorough is not None:
        return _once_more(state)
    rows = of_review(state, THOROUGH)
    if len(rows) < THOROUGH[0]:
        what = f"only {prose.count(len(rows), 'expert')} may speak"
        raise Refused(what, "shorten the blocklist of panel in .loop/config.toml")
    return rows


def _once_more(state: LoopState) -> list[Chosen]:
    """Those of the experts who have something to look at again, each with its first question."""
    known = {row.name: row for row in panel.allowed(profiles.read(place.plugin_root()), state)}
    names = review.looks_again(state, {name: row.depth for name, row in known.items()})
    topics = panel.review_topics(state, None)
    return [
        (row, questions(row)[0], panel.confidence(row, topics))
        for row in (known[name] for name in names if name in known)
    ] or of_review(state, THOROUGH)


def expert_lines(state: LoopState, bounds: tuple[int, int], wave: int | None = None) -> list[str]:
    """One line for each expert of a review: role, confidence, question."""
    head = f"ask {bounds[0]} to {bounds[1]} experts, each with the question of the role:"
    return [head, *[expert_line(*row) for row in of_review(state, bounds, wave)]]


def expert_line(expert: panel.Profile, question: str, confidence: int | str) -> str:
    """`  api-designer (API designer), confidence 8: Can a caller …?`"""
    asked = prose.clean(question, 120)
    return f"  {expert.name} ({expert.title}), confidence {confidence}: {asked}"


def questions(expert: panel.Profile) -> list[str]:
    """What a role asks."""
    asks = expert.asks
    return [str(ask) for ask in asks] if isinstance(asks, (list, tuple)) and asks else [str(asks)]
