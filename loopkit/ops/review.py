"""Expert reviews: light after a wave, thorough before the gate; whom to ask, what was found."""

from __future__ import annotations

import os

from .. import replies
from ..core.journal import prose, verdict
from ..core.journal.errors import Refused
from ..core.journal.state import LoopState
from ..core.memory import decisions
from ..core.review import convergence, review
from ..core.steps import kinds, nextstep
from ..store import digest, place, profiles
from ..store.loop import Loop
from . import decide, experts
from .workspace import Result, Workspace

#: Files that are listed in a brief at the most.
MOST_FILES = 40
#: Decisions, and anti-patterns, that are listed at the most.
MOST_REASONS = 20


# -- what was found


def record_light(workspace: Workspace, wave: int, row: dict) -> Result:
    """Record the light review of a wave."""
    loop = workspace.own_loop()
    changes = workspace.change(loop, review.light, wave, row)
    data = changes[0][1]
    counts = f"{prose.count(data['issues'], 'issue')}, {prose.count(data['blockers'], 'blocker')}"
    line = f"review of wave {data['wave']} recorded: {data['score']}/10, {counts}"
    return _recorded(loop, data, [line], changes)


def record_thorough(workspace: Workspace, row: dict) -> Result:
    """Record a thorough review."""
    loop = workspace.own_loop()
    paths = sorted({path for task in loop.state.tasks.values() for path in task.files})
    size = digest.size(workspace.project, os.path.join(loop.folder, "SHAPE.md"), paths)
    changes = workspace.change(loop, review.thorough, row, size)
    data = next(data for kind, data in changes if kind == "review_thorough")
    return _recorded(loop, data, _found(loop.state, data), changes)


def _recorded(loop: Loop, data: dict, lines: list[str], changes: list) -> Result:
    said = [*lines, *(line for change in changes for line in _followed(*change))]
    kinds = ("decision_recorded", "anti_pattern_recorded")
    said += [decide.shown(loop, row) for kind, row in changes if kind in kinds]
    return Result(loop, "\n".join(said), {"findings": data["findings"]})


def _found(state: LoopState, data: dict) -> list[str]:
    lines = [
        f"thorough review {data['round']} recorded: {prose.count(len(data['findings']), 'finding')}"
    ]
    for row in data["findings"]:
        task = f" → {row['task']}" if row.get("task") else ""
        settled = row.get("resolution") or {}
        done = {
            convergence.DECIDED: " (decided)",
            convergence.REPEATED: f" (repeats {settled.get('text')})",
        }.get(settled.get("how", ""), "")
        lines.append(f"{row['id']} {row['severity']}{task}{done}: {prose.clean(row['issue'], 120)}")
        if row.get("replaced"):
            broken = ", ".join(row["violates"])
            lines.append(f"  guidance replaced, it would break {broken}: {_cut(row['guidance'])}")
    unsettled = [one for one in state.findings.values() if review.unsettled(one, state)]
    waiting = [one for one in unsettled if one.severity == review.WARNING]
    left = review.blockers_left(state)
    if left or not waiting:
        lines.append("passed" if review.passed(state) else f"blockers left: {left}")
    return lines + [
        f"for the person: {one.id} {_cut(one.issue)}; guidance: {_cut(one.guidance)}"
        for one in waiting
    ]


def _followed(kind: str, data: dict) -> list[str]:
    if kind == "decision_recorded":
        return [f"decided, not raised again: {_decided(data)}"]
    if kind == "paused" and data.get("verdict") == verdict.BREACHED:
        return [f"the loop is paused: {prose.clean(data['reason'], 300)}"]
    return []


def _decided(data: dict) -> str:
    return f"decision {data['number']:03d} ({data['kind']}): {_cut(data['choice'], 160)}"


def _cut(text: str, most: int = 120) -> str:
    return prose.clean(" ".join(text.split()) or "none", most)


def resolve(workspace: Workspace, names: list[str], how: str, text: str, verify: str) -> Result:
    """Settle findings of the thorough review, several in the same way at once."""
    loop = workspace.own_loop()
    workspace.change(loop, review.resolved, names, how, text, verify)
    left = sum(review.unsettled(one, loop.state) for one in loop.state.findings.values())
    return Result(loop, f"{', '.join(one.upper() for one in names)} settled ({how}), {left} left")


# -- whom to ask what


def ask_light(workspace: Workspace, wave: int) -> Result:
    """Whom to ask what about a wave; the main session looks itself."""
    loop = workspace.own_loop()
    if wave not in [one.number for one in loop.state.waves]:
        raise Refused(f"there is no wave {wave}", f"waves so far: {len(loop.state.waves)}")
    lines = experts.lines(loop.state, experts.LIGHT, wave)
    return Result(
        loop,
        "\n".join(lines),
        steps=[nextstep.line(loop.state, kinds.step(kinds.WAVE_REVIEW, wave))],
    )


def ask_thorough(workspace: Workspace) -> Result:
    """Give the thorough review to its experts, an agent each; while they may be at work nobody is
    started twice."""
    loop = workspace.own_loop()
    rows = experts.chosen(loop.state, experts.THOROUGH)
    if len(rows) < review.THOROUGH_EXPERTS[0]:
        raise Refused(
            f"only {prose.count(len(rows), 'expert')} may speak",
            "shorten the blocklist of panel in .loop/config.toml",
        )
    form = replies.form("review", "experts", "findings")
    if not workspace.change(loop, review.asked, [one.name for one, _, _ in rows]):
        names = ", ".join((loop.state.asked or {}).get("experts", []))
        left = review.still_out(loop.state)
        if left:
            said = (
                f"{names} have been asked, {left} still to report; wait for that, end the turn if "
                "need be"
            )
            return Result(loop, said, {"asked": names, "left": left}, [])
        said = f"{names} have reported; submit as block YAML:\n{form}"
        return Result(loop, said, steps=["loopkit review --thorough --file -"])
    head = "ask {} to {} experts, an agent each:".format(*review.THOROUGH_EXPERTS)
    lines = [head, *[experts.line(*row) for row in rows], *_context(loop.state)]
    lines.append(f"submit together, as block YAML; nothing found: findings: []\n{form}")
    asked = [(one.name, prose.clean(question, 120)) for one, question, _ in rows]
    data = {"experts": [one.name for one, _, _ in rows]}
    return Result(loop, "\n".join(lines), data, nextstep.reviewers(loop.state, asked))


def _context(state: LoopState) -> list[str]:
    """What a thorough review has to respect and to look at."""
    lines = [
        f"  must not be broken by any guidance: {one.id} {one.text}" for one in state.must_nots
    ]
    lines += [
        f"  open from wave reviews: {_cut(one.issue, 100)}"
        for one in state.findings.values()
        if one.severity == review.BLOCKER
        and one.source not in ("thorough", "decision")
        and not one.resolution
        if not convergence.fixed(state, one)
    ]
    return lines + reasons(state, experts.files(state))


def reasons(state: LoopState, files: list[str]) -> list[str]:
    """The live decisions, those that touch these files first, and the anti-patterns that do;
    bounded."""
    rows = decisions.in_view(state, files)
    lines = []
    for one in rows[:MOST_REASONS]:
        if one.get("kind") in convergence.KINDS:
            lines.append(f"  decided, not raised again: {_decided(one)}")
        else:
            lines.append(
                f"  decided, a BLOCKER with contradicts: [{one['number']}] where the work goes "
                f"against it: {_cut(decisions.line(one, 240), 240)}"
            )
    if len(rows) > MOST_REASONS:
        lines.append(f"  +{len(rows) - MOST_REASONS} more decisions: loopkit decide --list")
    lessons = [one for one in decisions.touching(state, files) if decisions.is_lesson(one)]
    return lines + [
        f"  failed before: {_cut(decisions.line(one, 240), 240)}" for one in lessons[-MOST_REASONS:]
    ]


def brief(workspace: Workspace, wave: int | None, name: str) -> Result:
    """Everything that one expert of a review has to know, and the form of the report."""
    loop = workspace.loop()
    state = loop.state
    known = {one.name: one for one in profiles.read(place.plugin_root())}
    profile = known.get(name)
    bounds = experts.THOROUGH if wave is None else experts.LIGHT
    rows = {one.name: question for one, question, _ in experts.chosen(state, bounds, wave)}
    if profile is None:
        raise Refused(f"there is no expert {name[:40]}", f"asked are: {', '.join(rows)}")
    own = [rows[name]] if name in rows else []
    asks = list(dict.fromkeys([*own, *experts.questions(profile)]))
    lines = [
        f"{profile.title}: {profile.viewpoint}",
        f"your question: {asks[0]}",
        *[f"ask too: {one}" for one in asks[1:]],
        f"evidence you trust: {profile.evidence}",
        f"blind spots of the role: {profile.blind_spots}",
        f"the request: {prose.clean(' '.join(state.text.split()), 1000)}",
        *[f"criterion {one.id}: {one.text}" for one in state.criteria.values() if not one.must_not],
        *_context(state),
        *_work(state, wave),
        "A BLOCKER says in breaks: which criterion or mustNot it misses.",
        "Answer with your findings in this form, or with: findings: []",
        replies.form("review", "findings"),
    ]
    return Result(loop, "\n".join(lines), steps=[])


def _work(state: LoopState, wave: int | None) -> list[str]:
    """What was changed, and what of it was settled earlier."""
    lines = []
    if wave is None and not state.terms.check_completes:
        lines.append(
            "the build, the tests, lint and UI tests are run in this review: what fails is a "
            "BLOCKER"
        )
    changed = experts.files(state)
    more = f" and {len(changed) - MOST_FILES} more" if len(changed) > MOST_FILES else ""
    lines.append(
        "changed files: " + (", ".join(changed[:MOST_FILES]) + more if changed else "see git diff")
    )
    return lines + [
        f"settled earlier: {one.id} ({one.category}) {one.place} {_cut(one.issue, 100)} "
        f"({(one.resolution or {}).get('how') or 'fixed'})"
        for one in list(state.findings.values())[-12:]
        if one.source == "thorough"
        and not review.unsettled(one, state)
        and one.severity != review.SUGGESTION
    ]
