"""loopkit decide, learn, recall: why something is so, what loops taught."""

import click

from ..core.journal.errors import UsageFault
from ..ops import memory as ops
from ..ops.workspace import Result
from . import app


@app.command("decide", "loopkit decide --file -")
@app.file("The decision as block YAML")
@app.flag("--avoid", help="An anti-pattern instead: what was done, why it failed, what to do.")
@app.flag("--list", "listed", help="All decisions and anti-patterns, with what became of them.")
def decide(call: app.App, source: str | None, avoid: bool, listed: bool) -> Result:
    """Record a decision with its reasons and the ways that were rejected; without --file: print the
    form.

    An `invalidated_if` that begins with `$ ` is a command; after each wave `loopkit verify D1 --
    <command>` is offered, and exit 0 says that the decision no longer holds. What changed your mind
    supersedes: nothing is rewritten.
    """
    if listed:
        return ops.listed_decisions(call)
    if source is None:
        return ops.ask_decision(call, avoid)
    row = app.read_record(call, source, "lesson" if avoid else "decision")
    return ops.record_decision(call, row, avoid)


@app.command("learn", "loopkit learn --accept 1,3")
@click.option("--accept", metavar="N,…", help="Keep the proposals of these numbers.")
@app.file("Keep these, as block YAML")
@app.flag("--user", help="Keep them for all projects of this user.")
def learn(call: app.App, accept: str | None, source: str | None, user: bool) -> Result:
    """Show what the loop taught, or keep what the person chose of it. Nothing is kept unasked."""
    if accept and source:
        what = "--accept together with --file"
        raise UsageFault(what, "submit the edited ones first, accept the rest then")
    if source:
        return ops.keep_lessons(call, app.read_record(call, source, "learnings"), user)
    if accept:
        return ops.accept_lessons(call, app.numbers(accept), user)
    if user:
        raise UsageFault("--user without something to keep", "give --accept or --file")
    return ops.show_lessons(call)


@app.command("recall", "loopkit recall --confirm 1,3 --dismiss 2")
@click.option("--confirm", metavar="N,…", help="Numbers that apply here.")
@click.option("--dismiss", metavar="N,…", help="Numbers that do not.")
@app.file("Find what fits this text instead", "--about", end=" Needs no loop.")
def recall(call: app.App, confirm: str | None, dismiss: str | None, source: str | None) -> Result:
    """Show learnings that fit the request; record which apply. Confirmed ones count as familiarity
    in the fit score."""
    answers = confirm or dismiss
    if source and answers:
        raise UsageFault("--about together with answers", "answer what fits the loop's own request")
    if source:
        return ops.recalled_about(call, app.read_input(call, source))
    if answers:
        return ops.answer_recalled(call, app.numbers(confirm), app.numbers(dismiss))
    return ops.recalled(call)
