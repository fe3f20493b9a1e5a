"""What a session is told: the hold, the pause, the announcement at its start; of bounded length."""

from __future__ import annotations

from ..journal import prose, verdict

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from ..journal.session import Session

#: Open tasks that are named (rule: Stop).
SHOWN = 3
#: Characters at most (rule: what Claude must read).
HOLD_LENGTH, PAUSE_LENGTH = 500, 500
#: A command longer than that is not cut, since nobody could run it: `loopkit status` prints it
#: whole. Characters of a goal, of a subject where there is room for it.
LONGEST_NEXT, GOAL, SUBJECT = 200, 60, 90
#: Characters of a line of the plan.
LINE = 300
#: What the person can always type, in the order in which they are likely to want it.
WAYS = "/loop:pause, /loop:resume, /loop:cancel"


def named(snapshot: dict, most: int = GOAL) -> str:
    """`loop 003 “add rate limiting to the API”`: which loop, in a few words of the request."""
    number = str(snapshot["loop"]).partition("-")[0]
    return f"loop {number} “{prose.short(snapshot.get('task') or '', most)}”"


def _named(snapshot: dict, most: int = GOAL) -> str:
    return "L" + named(snapshot, most)[1:]


def _open(work: dict, each: int) -> str:
    """`T-001 “write it”; T-002 “test it” and 3 more`; subjects are quoted: somebody's words."""
    rows = work["open"]
    left = work["total"] - work["completed"] - len(rows)
    named = "; ".join(f"{row['id']} “{prose.short(row['subject'], each)}”" for row in rows)
    if not rows:
        return "nothing: all tasks are done" if work["total"] else "no task yet"
    return named + (f" and {left} more" if left > 0 else "")


def hold(snapshot: dict, session: Session, turn: int, usd: float, tokens: int = 0) -> str:
    """The message of a hold: where the loop stands, what is open, the next command, how to leave.
    tokens: those of the whole loop where some have no price; else 0."""
    head = f"{_named(snapshot)}: {session.stage}, wave {snapshot['wave']['number']}"
    head += f", iteration {turn}"
    head += f" of {session.limit_iterations}" if session.limit_iterations is not None else ""
    if tokens:
        head += f", {tokens} tokens"
    elif session.limit_usd is not None and usd:
        head += f", ${usd:.2f} of ${session.limit_usd:g}"
    head += "."
    step = snapshot["next"] or ""
    step = prose.clean(step, LONGEST_NEXT) if 0 < len(step) <= LONGEST_NEXT else "loopkit status"
    tail = f"next: {step}\nThe person leaves it by {WAYS}."
    shown = max(1, len(snapshot["tasks"]["open"]))
    room = HOLD_LENGTH - len(head) - len(tail) - len("\nOpen: \n") - len(" and 99 more; ; ")
    each = max(12, min(SUBJECT, room // shown - len("T-001 “”")))
    return f"{head}\nOpen: {_open(snapshot['tasks'], each)}\n{tail}"[:HOLD_LENGTH]


def line(name: str, snapshot: dict, session: Session, mine: bool) -> str:
    """Where a loop stands, in the client's status line; "" once it is over. snapshot: {} where it
    would take long to read. It fits 80 columns, so the loop's name is its number."""
    if session.status in verdict.FINAL or session.stage == "complete":
        return ""
    head = f"loop {name.partition('-')[0]}" + ("" if mine else " (another session's)")
    if session.question is not None or snapshot.get("confirm"):
        return f"{head} waits for your answer: /loop:status"
    if session.status != verdict.RUNNING:
        why = f" ({session.verdict})" if session.verdict else ""
        return f"{head} is paused{why}: /loop:resume, /loop:cancel"
    parts = [session.stage]
    if snapshot:
        work, wave, out = snapshot["tasks"], snapshot["wave"]["number"], len(snapshot["out"])
        parts += [f"{work['completed']}/{work['total']} tasks"] if work["total"] else []
        parts += [f"wave {wave}"] if wave else []
        parts += [f"{prose.count(out, 'agent')} at work"] if out else []
    usd = session.cost()[0]
    most = f" of ${session.limit_usd:g}" if session.limit_usd is not None else ""
    parts += [f"${usd:.2f}{most}"] if usd else []
    minutes = session.spent_seconds // 60
    parts.append(f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min")
    return f"{head}: {', '.join(parts)}"


def behind(name: str) -> str:
    """The hold where the snapshot is gone and the journal long."""
    what = f"Loop {name} is not over; where it stands has to be read anew, which takes a while."
    return f"{what}\nnext: loopkit next\nThe person leaves it by {WAYS}."


def plan(snapshot: dict, tasks: list, criteria: list) -> str:
    """What the person reads once of an accepted plan: three lines."""
    work = [prose.short(task.subject, SUBJECT) for task in tasks]
    shown = [prose.short(row.text, SUBJECT) for row in criteria if not row.must_not]
    return (
        f"{_named(snapshot)} begins. ({WAYS})\n"
        f"{prose.count(len(work), 'task')}: {prose.short('; '.join(work), LINE)}\n"
        f"Done when: {prose.short('; '.join(shown), LINE)}"
    )


def spoke(esc: bool) -> str:
    """What Claude reads beside words of the person's that are no command of the loop's."""
    how = "pressed Esc" if esc else "spoke"
    return (
        f"The person {how}: the loop waits, nothing drives this session on. Do what they say; run "
        "`loopkit next` only if they want the work to go on."
    )


def waits(snapshot: dict, working: int) -> str:
    """What the person reads once, as the session is let go since they spoke. working: agents."""
    text = f"{_named(snapshot)} waits, since you spoke: /loop:resume goes on."
    if working:
        agents = prose.count(working, "agent is", "agents are")
        brought = "what it brings" if working == 1 else "what they bring"
        text += f" {agents} still at work; {brought} is taken then."
    return f"{text} ({WAYS})"


def to_decide(snapshot: dict) -> str:
    """What the person reads once, where the loop waits for their word and no question is open."""
    return f"{_named(snapshot)} waits for you: {snapshot['waits']}. ({WAYS})"


def beside(snapshot: dict, work: str) -> str:
    """What the person reads once, where the loop waits though nobody works on it. work: what the
    session runs in the background, as the client describes it."""
    text = f"{_named(snapshot)} waits: nobody works on it, and the session's own background work"
    return f"{text} ({prose.short(work, 80)}) is still running. /loop:resume goes on. ({WAYS})"


def came(snapshot: dict, prompt: str, lost: bool) -> str:
    """What the person reads of a report that begins no turn, since they have spoken."""
    how = "ended without an answer" if lost else "ended; its answer is kept"
    return f"{_named(snapshot)}: {_told(prompt)} has {how}. It waits: /loop:resume goes on."


def report(name: str, waiting: int, lost: bool) -> str:
    """Words for a turn that an agent's report has begun. waiting: agents without an answer ·
    lost: the report says that one was killed or failed."""
    if waiting and not lost:
        agents = prose.count(waiting, "agent is", "agents are")
        return f"Loop {name}: {agents} still at work. End the turn; the next report begins another."
    ended = "an agent has ended without an answer" if waiting else "all agents have ended"
    return f"Loop {name}: {ended}.\nnext: loopkit next"


def spared(name: str, prompt: str, waiting: int) -> str:
    """What the person reads of a report that begins no turn."""
    others = prose.count(waiting, "agent is", "agents are")
    return f"Loop {name}: {_told(prompt)} has ended, {others} still at work."


def _told(prompt: str) -> str:
    """`implementation T-001` for a prompt's name, `implementation-T-001-2`."""
    kind, _, rest = prompt.partition("-")
    return f"{kind.replace('_', ' ')} {rest.rpartition('-')[0]}".rstrip()


def taken(name: str) -> str:
    """The report of an answer that has been taken meanwhile."""
    return f"Loop {name}: this answer was taken already. Do the newest next: lines."


def unpriced(models: list, limit: float) -> str:
    """What the person reads once, when the first tokens without a price were counted."""
    names = prose.clean(", ".join(models), 120)
    return (
        f"loop: no price is known for {names}, so the limit of ${limit:g} cannot be kept; "
        "iterations and time are. Tokens are shown instead. "
        "For later loops: [prices] in .loop/config.toml"
    )


def paused(snapshot: dict, name: str, reason: str, options: str = "") -> str:
    """What the person reads when the hook lets a session go before the work is done. options: of
    the command that goes on."""
    again = f"/loop:resume {options}".rstrip()
    tail = " A second opinion: /counsel:panel." if name == verdict.STALLED else ""
    tail += f" It goes on by {again}. ({WAYS})"
    head = f"{_named(snapshot)} is paused ({name}): "
    return f"{head}{prose.short(reason, PAUSE_LENGTH - len(head) - len(tail) - 1)}.{tail}"


def waited(snapshot: dict, session: Session) -> str:
    """What the loop waits for that is the person's to decide; "" where it does not."""
    if session.status == verdict.PAUSED:
        return f"paused: {session.verdict or verdict.BY_HAND}"
    return "a question is open" if session.question is not None else snapshot["waits"] or ""


def resume(snapshot: dict, session: Session, mine: bool) -> str:
    """The announcement at a session's start, in six lines. mine: this session owns the loop."""
    work = snapshot["tasks"]
    reviews = [_review(name, row) for name, row in snapshot["reviews"].items()]
    if len(reviews) > 4:
        reviews = [f"{len(reviews) - 3} earlier", *reviews[-3:]]
    step: str | None = snapshot["next"]
    waiting = waited(snapshot, session)
    if waiting:  # no word that a command is to be run, which would be the person's
        step = f"waits for the person ({waiting})"
    elif not mine:
        step = "type /loop:resume"
    spec, fit = (_dash(snapshot[key]) for key in ("spec_score", "fit_score"))
    wave = snapshot["wave"]["number"]
    return (
        "[LOOP RESUME] Active loop detected\n"
        f"Stage: {session.stage} | Spec: {spec}/10 | Fit: {fit}\n"
        f"Progress: {work['completed']}/{work['total']} tasks | Wave: {wave}\n"
        f"Reviews: {', '.join(reviews) or 'none'}\n"
        f"Next: {prose.short(step or 'loopkit status', 200)}\n"
        f"{_named(snapshot)}: {WAYS}"
    )


def _review(name: str, row: dict) -> str:
    if name == "thorough":
        blockers = f"{row['blockers_remaining']} blockers"
        return f"thorough {'passed' if row['passed'] else blockers}"
    return f"{name} {_dash(row['score'])}/10 ({row['issues']} issues, {row['blockers']} blockers)"


def _dash(value: object) -> object:
    return "–" if value is None else value


def foreign(subjects: list) -> str:
    """The hold for somebody else's task list: the first three subjects."""
    return "pending tasks: " + "; ".join(prose.clean(subject, 120) for subject in subjects[:SHOWN])
