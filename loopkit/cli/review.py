"""loopkit review: expert reviews, light after a wave, thorough before the gate."""

from __future__ import annotations

import os

import click

from ..core.journal import prose, verdict
from ..core.journal.errors import Refused, UsageFault
from ..core.journal.state import LoopState
from ..core.memory import decisions
from ..core.review import convergence, review
from ..core.steps import kinds, nextstep, policies
from ..ops import experts
from ..store import place, profiles, sizes
from ..store.loop import Loop
from . import app, batch, decide, forms

FINDING = forms.finding("task")
FORM = "experts: [<name>, <name>, <name>]\nfindings:\n" + FINDING
#: Files that are listed in a brief at the most.
MOST_FILES = 40
#: Decisions, and anti-patterns, that are listed at the most.
MOST_REASONS = 20


@click.group(
    "review", invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--wave",
    type=int,
    metavar="N",
    help="Of this wave: light, never blocks; with approval = review it decides.",
)
@click.option("--thorough", is_flag=True, help="The review before the gate; blocks.")
@click.option(
    "--plan", is_flag=True, help="With approval = review: of the plan, before work begins."
)
@click.option(
    "--scaffold",
    is_flag=True,
    help="With approval = review: of the batch that all others build on.",
)
@click.option("--waive", metavar="WHY", help="With --plan: the person lets it pass as it is.")
@click.option("--brief", metavar="EXPERT", help="What this expert has to know; changes nothing.")
@click.option("--score", type=int, help="0 to 10, for a light review without a file.")
@click.option("--issues", type=int, help="How many issues.")
@click.option("--blockers", type=int, help="How many blockers, handed on to the thorough review.")
@click.option("--experts", metavar="A,B", help="Who looked.")
@click.option(
    "--file", "source", metavar="FILE", help="The review as block YAML; - for standard input."
)
@click.option("--json", "as_json", is_flag=True, help="Answer as one JSON object.")
@click.pass_context
def command(
    context: click.Context,
    /,
    wave: int | None,
    thorough: bool,
    plan: bool,
    scaffold: bool,
    waive: str | None,
    brief: str | None,
    source: str | None,
    as_json: bool,
    **given: object,
) -> None:
    """Record a review, or (without --file) show what to ask whom, and the form.

    Example: loopkit review --wave 1 --score 8 --issues 2 --blockers 0 --experts testing,simplicity
    """
    if context.invoked_subcommand:
        return
    if sum((wave is not None, thorough, plan, scaffold)) != 1:
        raise UsageFault(
            "give one of --wave N, --thorough, --plan, --scaffold", "see loopkit review --help"
        )
    if waive is not None and not plan:
        raise UsageFault(
            "--waive goes with --plan", "for a finding: loopkit review resolve F-001 --waive WHY"
        )
    call = app.App(as_json)
    if plan:
        batch.of_plan(call, source, waive)
        return
    if scaffold or wave is not None and policies.of(call.loop().state).reviews_batches:
        batch.of_batch(call, wave, scaffold, source, brief, _options(given))
        return
    if brief is not None:
        loop = call.loop()
        call.answer(loop, "\n".join(_for_expert(loop.state, wave, brief)), None, [])
        return
    loop = call.own_loop()
    row = app.read_record(call, source, dict) if source else _options(given)
    if not row:
        _ask(call, loop) if thorough else _ask_light(call, loop, wave)
        return
    if thorough:
        changes = call.change(loop, review.thorough, row, _size(call, loop))
    else:
        changes = call.change(loop, review.light, wave, row)
    data = next(change[1] for change in changes if change[0].startswith("review_"))
    told = _said(loop, data, thorough) + [line for change in changes for line in _followed(change)]
    told += _files(loop, changes)
    call.answer(loop, "\n".join(told), {"findings": data["findings"]})


def _options(given: dict) -> dict:
    row = {name: value for name, value in given.items() if value is not None}
    if "experts" in row:
        row["experts"] = [one.strip() for one in str(row["experts"]).split(",")]
    return row


def _size(call: app.App, loop: Loop) -> int:
    paths = sorted({path for task in loop.state.tasks.values() for path in task.files})
    return sizes.of(call.project, os.path.join(loop.folder, "SHAPE.md"), paths)


def _said(loop: Loop, data: dict, thorough: bool) -> list[str]:
    if not thorough:
        counts = (
            f"{prose.count(data['issues'], 'issue')}, {prose.count(data['blockers'], 'blocker')}"
        )
        return [f"review of wave {data['wave']} recorded: {data['score']}/10, {counts}"]
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
            lines.append(
                f"  guidance replaced, it would break {', '.join(row['violates'])}: "
                f"{_cut(row['guidance'])}"
            )
    state = loop.state
    waiting = [
        one
        for one in state.findings.values()
        if review.unsettled(one, state) and one.severity == "WARNING"
    ]
    left = review.blockers_left(state)
    if left or not waiting:
        lines.append("passed" if review.passed(state) else f"blockers left: {left}")
    lines += [
        f"for the person: {one.id} {_cut(one.issue)}; guidance: {_cut(one.guidance)}"
        for one in waiting
    ]
    return lines


def _followed(change: tuple) -> list[str]:
    kind, data = change
    if kind == "decision_recorded":
        return [f"decided, not raised again: {_decided(data)}"]
    if kind == "paused" and data.get("verdict") == verdict.BREACHED:
        return [f"the loop is paused: {prose.clean(data['reason'], 300)}"]
    return []


def _decided(data: dict) -> str:
    return f"decision {data['number']:03d} ({data['kind']}): {_cut(data['choice'], 160)}"


def _cut(text: str, most: int = 120) -> str:
    return prose.clean(" ".join(text.split()) or "none", most)


def _files(loop: Loop, changes: list) -> list[str]:
    """The files of the decisions and anti-patterns among these lines."""
    kinds = ("decision_recorded", "anti_pattern_recorded")
    return [decide.shown(loop, data) for kind, data in changes if kind in kinds]


# -- briefs


def _ask_light(call: app.App, loop: Loop, wave: int | None) -> None:
    """Whom to ask what about a wave; the main session looks itself."""
    if wave not in [one.number for one in loop.state.waves]:
        raise Refused(f"there is no wave {wave}", f"waves so far: {len(loop.state.waves)}")
    lines = experts.lines(loop.state, experts.LIGHT, wave)
    call.answer(
        loop,
        "\n".join(lines),
        None,
        [nextstep.line(loop.state, kinds.step(kinds.WAVE_REVIEW, wave))],
    )


def _ask(call: app.App, loop: Loop) -> None:
    """Give the thorough review to its experts, an agent each; while they may be at work nobody is
    started twice."""
    rows = experts.chosen(loop.state, experts.THOROUGH)
    if len(rows) < review.THOROUGH_EXPERTS[0]:
        raise Refused(
            f"only {prose.count(len(rows), 'expert')} may speak",
            "shorten the blocklist of panel in .loop/config.toml",
        )
    asked = call.change(loop, review.asked, [one.name for one, _, _ in rows])
    hand_in = "loopkit review --thorough --file -"
    if not asked:
        names = ", ".join((loop.state.asked or {}).get("experts", []))
        left = review.still_out(loop.state)
        if left:
            said = (
                f"{names} have been asked, {left} still to report; wait for that, end the turn if "
                "need be"
            )
            call.answer(loop, said, {"asked": names, "left": left}, [])
        else:
            call.answer(
                loop, f"{names} have reported; hand in as block YAML:\n{FORM}", None, [hand_in]
            )
        return
    head = "ask {} to {} experts, an agent each:".format(*review.THOROUGH_EXPERTS)
    lines = [head, *[experts.line(*row) for row in rows], *_context(loop.state)]
    lines.append(
        "hand in together, as block YAML, leaving out what does not apply; nothing found: "
        "findings: []\n" + FORM
    )
    steps = nextstep.reviewers(
        loop.state, [(one.name, prose.clean(question, 120)) for one, question, _ in rows]
    )
    call.answer(loop, "\n".join(lines), {"experts": [one.name for one, _, _ in rows]}, steps)


def _context(state: LoopState) -> list[str]:
    """What a thorough review has to respect and to look at."""
    lines = [
        f"  must not be broken by any guidance: {one.id} {one.text}" for one in state.must_nots
    ]
    lines += [
        f"  open from wave reviews: {_cut(one.issue, 100)}"
        for one in state.findings.values()
        if one.severity == "BLOCKER"
        and one.source not in ("thorough", "decision")
        and not one.resolution
        if not convergence.mended(state, one)
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
                "against it: "
                f"{_cut(decisions.line(one, 240), 240)}"
            )
    if len(rows) > MOST_REASONS:
        lines.append(f"  +{len(rows) - MOST_REASONS} more decisions: loopkit decide --list")
    lessons = [one for one in decisions.touching(state, files) if decisions.is_lesson(one)]
    lines += [
        f"  failed before: {_cut(decisions.line(one, 240), 240)}" for one in lessons[-MOST_REASONS:]
    ]
    return lines


def _for_expert(state: LoopState, wave: int | None, name: str) -> list[str]:
    """Everything that one expert of a review has to know, and the form of the report."""
    known = {one.name: one for one in profiles.read(place.plugin_root())}
    profile = known.get(name)
    bounds = experts.THOROUGH if wave is None else experts.LIGHT
    rows = {one.name: question for one, question, _ in experts.chosen(state, bounds, wave)}
    if profile is None:
        raise Refused(f"there is no expert {name[:40]}", f"asked are: {', '.join(rows)}")
    asks = list(
        dict.fromkeys([*([rows[name]] if name in rows else []), *experts.questions(profile)])
    )
    lines = [
        f"{profile.title}: {profile.viewpoint}",
        f"your question: {asks[0]}",
        *[f"ask too: {one}" for one in asks[1:]],
        f"evidence you trust: {profile.evidence}",
        f"blind spots of the role: {profile.blind_spots}",
        f"the request: {prose.clean(' '.join(state.text.split()), 1000)}",
        *[f"criterion {one.id}: {one.text}" for one in state.criteria.values() if not one.must_not],
        *_context(state),
    ]
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
    lines += [
        f"settled earlier: {one.id} ({one.category}) {one.place} {_cut(one.issue, 100)} "
        f"({(one.resolution or {}).get('how') or 'mended'})"
        for one in list(state.findings.values())[-12:]
        if one.source == "thorough"
        and not review.unsettled(one, state)
        and one.severity != "SUGGESTION"
    ]
    lines.append("A BLOCKER says in breaks: which criterion or mustNot it misses.")
    lines.append(
        "Answer with your findings in this form, what does not apply left out, or with: findings: "
        "[]\n" + FINDING
    )
    return lines


@command.command("resolve")
@click.argument("findings", nargs=-1, required=True, metavar="FINDING…")
@click.option(
    "--approve",
    "how",
    flag_value="approve",
    help="Right as it is; the guidance is followed or not needed.",
)
@click.option("--task", "how", flag_value="task", help="A task mends it; needs --verify.")
@click.option("--verify", default="", metavar="COMMAND", help="With --task: its check.")
@click.option("--discuss", metavar="TEXT", help="What was said about it.")
@click.option("--skip", metavar="TEXT", help="Why it is left.")
@click.option("--waive", metavar="WHY", help="The person lets a blocker pass.")
@click.option("--json", "as_json", is_flag=True, help="Answer as one JSON object.")
def resolve(
    findings: tuple[str, ...], how: str | None, verify: str, as_json: bool, **texts: str | None
) -> None:
    """Settle findings of the thorough review, several in the same way at once.

    Example: loopkit review resolve F-003 --skip "covered by the next loop"
    """
    chosen = [name for name, text in texts.items() if text is not None] + ([how] if how else [])
    if len(chosen) != 1:
        raise UsageFault(
            "give exactly one of --approve, --task, --discuss, --skip, --waive",
            "see loopkit review resolve --help",
        )
    call = app.App(as_json)
    loop = call.own_loop()
    call.change(loop, review.resolved, findings, chosen[0], texts.get(chosen[0]) or "", verify)
    left = sum(review.unsettled(one, loop.state) for one in loop.state.findings.values())
    call.answer(
        loop, f"{', '.join(one.upper() for one in findings)} settled ({chosen[0]}), {left} left"
    )
