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
#: What a hold keeps to where it can, since it stays in the conversation. A command longer than the
#: last is not cut, since nobody could run it: `loopkit status` prints it whole.
USUAL_HOLD, LONGEST_NEXT = 224, 200


def _open(work: dict, each: int) -> str:
    """`T-001 “write it”; T-002 “test it” and 3 more`; subjects are quoted: somebody's words."""
    rows = work["open"]
    left = work["total"] - work["completed"] - len(rows)
    named = "; ".join(f"{row['id']} “{prose.clean(row['subject'], each)}”" for row in rows)
    if not rows:
        return "no task" if work["total"] else "no task yet"
    return named + (f" and {left} more" if left > 0 else "")


def hold(snapshot: dict, session: Session, turn: int, usd: float, tokens: int = 0) -> str:
    """The message of a hold: where the loop stands, what is open, the next command, how to leave.

    tokens: those of the whole loop where some have no price, so that no sum of money would be true;
    else 0.
    """
    head = f"Loop {snapshot['loop']}: {session.stage}, wave {snapshot['wave']['number']}"
    head += f", iteration {turn}"
    head += f" of {session.limit_iterations}" if session.limit_iterations is not None else ""
    if tokens:
        head += f", {tokens} tokens"
    elif session.limit_usd is not None and usd:
        head += f", ${usd:.2f} of ${session.limit_usd:g}"
    head += "."
    step = snapshot["next"] or ""
    step = prose.clean(step, LONGEST_NEXT) if 0 < len(step) <= LONGEST_NEXT else "loopkit status"
    tail = f"next: {step}\nTo leave it: loopkit cancel"
    shown = max(1, len(snapshot["tasks"]["open"]))
    room = USUAL_HOLD - len(head) - len(tail) - len("\nOpen: \n") - len(" and 99 more; ; ")
    each = max(12, min(80, room // shown - len("T-001 “”")))
    return f"{head}\nOpen: {_open(snapshot['tasks'], each)}\n{tail}"[:HOLD_LENGTH]


def line(name: str, snapshot: dict, session: Session, mine: bool, now: float) -> str:
    """Where a loop stands, in the client's status line; "" once it is over. snapshot: {} where it
    would take long to read · now: POSIX seconds."""
    if session.status in verdict.FINAL or session.stage == "complete":
        return ""
    head = f"loop {name}" + ("" if mine else " (another session's)")
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
    minutes = session.seconds(now) // 60
    parts.append(f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min")
    return f"{head}: {', '.join(parts)}"


def behind(name: str) -> str:
    """The hold where the snapshot is gone and the journal long."""
    return (
        f"Loop {name} is not over; where it stands has to be read anew, which takes a while.\n"
        "next: loopkit next\nTo leave it: loopkit cancel"
    )


def report(name: str, waiting: int, lost: bool) -> str:
    """One line for a turn that an agent's report has begun. waiting: agents without an answer ·
    lost: the report says that one was killed or failed."""
    if waiting and not lost:
        agents = prose.count(waiting, "agent is", "agents are")
        return f"Loop {name}: {agents} still at work. End the turn; the next report begins another."
    ended = "an agent has ended without an answer" if waiting else "all agents have ended"
    return f"Loop {name}: {ended}. next: loopkit next"


def spared(name: str, prompt: str, waiting: int) -> str:
    """What the person reads of a report that begins no turn."""
    others = prose.count(waiting, "agent is", "agents are")
    return f"Loop {name}: {prompt} has ended, {others} still at work."


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


def paused(snapshot: dict, name: str, reason: str) -> str:
    """What the person reads when the hook lets a session go before the work is done."""
    text = f"Loop {snapshot['loop']} paused ({name}): {prose.clean(reason, 300)}."
    text += " A second opinion: /counsel:panel." if name == verdict.STALLED else ""
    return (text + " Go on: /loop:resume, end it: /loop:cancel")[:PAUSE_LENGTH]


def resume(snapshot: dict, session: Session, mine: bool) -> str:
    """The announcement at a session's start, five lines. `mine`: this session owns the loop."""
    work = snapshot["tasks"]
    reviews = [_review(name, row) for name, row in snapshot["reviews"].items()]
    if len(reviews) > 4:
        reviews = [f"{len(reviews) - 3} earlier", *reviews[-3:]]
    step = snapshot["next"] if mine and session.status == verdict.RUNNING else "loopkit resume"
    spec, fit = (_dash(snapshot[key]) for key in ("spec_score", "fit_score"))
    wave = snapshot["wave"]["number"]
    return (
        "[LOOP RESUME] Active loop detected\n"
        f"Stage: {session.stage} | Spec: {spec}/10 | Fit: {fit}\n"
        f"Progress: {work['completed']}/{work['total']} tasks | Wave: {wave}\n"
        f"Reviews: {', '.join(reviews) or 'none'}\n"
        f"Next: {prose.clean(step or 'loopkit status', 200)}"
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
