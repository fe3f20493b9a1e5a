"""Every `loopkit …` call in the Markdown is one that the real command line takes."""

from __future__ import annotations

import re

import click
import pytest

from loopkit.core.pipeline import definitions
from loopkit.core.plan import drafts
from loopkit.core.request import intake
from loopkit.core.review import gate, panel, review
from loopkit.core.steps import attempts
from loopkit.ops.runs.on_loop import LOOPER
from loopkit.replies import records
from tests.core.kit import Book, same, task
from tests.plugin.bundle import (
    DOCUMENTS,
    PROFILES,
    PROSE,
    ROOT,
    Call,
    calls,
    calls_with_here_document,
    rules,
)

CALLS = [call for path in PROSE if path.exists() for call in calls(path)]
GIVEN = calls_with_here_document()


def root_command() -> click.Group:
    """The top of the command tree."""
    import loopkit.cli

    return loopkit.cli.cli


def check(words: list[str]) -> None:
    """Walk the command tree along the words; raises click.UsageError where it has no such command,
    option or choice."""
    command, context, name = root_command(), None, "loopkit"
    while True:
        # as the program makes it: a command keeps the help option of its first context
        context = click.Context(
            command, info_name=name, parent=context, help_option_names=["-h", "--help"]
        )
        values, words, _ = command.make_parser(context).parse_args(args=list(words))
        for parameter in command.params:
            value = values.get(parameter.name)
            if (
                isinstance(parameter.type, click.Choice)
                and isinstance(value, str)
                and not value.startswith("<")
            ):
                parameter.type.convert(value, parameter, context)
        if not isinstance(command, click.Group) or not words:
            break
        name, command, words = command.resolve_command(context, words)


def check_beginning(words: list[str]) -> None:
    """The same for a mention or a rule that may end where an option's value begins."""
    try:
        check(words)
    except click.BadOptionUsage:
        check([*words, "1"])


def label(call: Call) -> str:
    return f"{call.path.parent.name}/{call.path.stem}:{' '.join(call.words)[:50]}"


def test_the_check_itself_refuses():
    for wrong in (
        "frobnicate",
        "task frobnicate",
        "status --frobnicate",
        "confirm nothing",
        "task fail T-1 --suggest x",
    ):
        with pytest.raises(click.UsageError):
            check(wrong.split())


@pytest.mark.parametrize("call", CALLS, ids=label)
def test_call_parses(call: Call):
    check_beginning(call.words)


RUNS = [
    call
    for call in CALLS
    if call.words[:1] == ["run"] and len(call.words) > 2 and "--continue" not in call.words
]
#: Stages that the reader is to write, in examples.
WRITTEN = ("nightly",)


@pytest.mark.parametrize("call", RUNS, ids=label)
def test_a_run_that_is_named_is_of_what_there_is(call: Call) -> None:
    """What cannot be found out by the options alone: its names, in their order."""
    group = root_command()
    command = group.get_command(click.Context(group), "run")
    assert command is not None
    words = call.words[1 : call.words.index("--")] if "--" in call.words else call.words[1:]
    values, _, _ = command.make_parser(click.Context(command)).parse_args(args=list(words))
    names = [word for word in values["words"] if word not in ("stage", "pipeline")]
    if names[0].startswith("<"):
        return
    shipped = [path.parent.name for path in ROOT.glob("stages/*/stage.yaml")]
    shipped += [path.stem for path in ROOT.glob("pipelines/*.yaml")]
    assert names[0] in (*shipped, *WRITTEN, LOOPER), call.text
    if names[0] != LOOPER and len(names) > 1:
        assert names[1].startswith("<") or definitions.is_name(names[1]), call.text


def test_what_a_skill_leads_to_and_what_agents_are_told_is_read_here() -> None:
    read = {str(call.path.relative_to(ROOT)) for call in CALLS}
    assert {"skills/sessions/workflows/start.md", "stages/refine-tasks/prompt.md"} <= read


@pytest.mark.parametrize(
    "document", [one for one in DOCUMENTS if rules(one)], ids=lambda one: one.name
)
def test_permission_rules_name_real_commands(document):
    for rule in rules(document):
        words = rule.removeprefix("Bash(loopkit ").removesuffix(")").removesuffix(" *").split()
        check_beginning(words)


def test_the_examples_with_a_here_document_are_these():
    assert sorted(" ".join(call.words[:2]) for call in GIVEN) == [
        "gate --file", "panel T-003", "review --thorough", "shape --accept", "task add",
    ]  # fmt: skip


def record(call: Call):
    """What the command reads, by the parser that it uses."""
    return records.parse(
        call.here_document, "example", list if call.words[:2] == ["task", "add"] else dict
    )


def given(name: str) -> Call:
    return next(call for call in GIVEN if call.words[0] == name)


@pytest.mark.parametrize("call", [call for call in GIVEN if "--file" in call.words], ids=label)
def test_records_stand_in_block_yaml(call: Call):
    assert not call.here_document.lstrip().startswith(("{", "[")), (
        "JSON is read, but the client refuses it"
    )
    assert record(call)


@pytest.mark.parametrize("call", GIVEN, ids=label)
def test_the_clients_shell_check_has_nothing_to_refuse(call: Call):
    # Measured in client 2.1.332; each of these makes it ask, or refuse where nobody can be asked.
    assert not re.search(r"\{[^}]*['\"]|['\"][{}]|[{}]['\"]", call.text), "a brace next to a quote"
    assert not re.search(r"<\d+-\d+>", call.text), "a range in angle brackets"
    assert not re.search(r"\\\s", call.text), "a backslash before white space"
    assert not re.search(r"[^\S \n]", call.text), "white space but blanks and line ends"
    assert not re.search(r"(^|\s)=\w", call.text), "an equals sign at the beginning of a word"
    assert len(call.text) <= 10_000


def test_the_shape_and_the_tasks_are_accepted():
    book = Book()
    book.score()
    book.do(intake.shaped, given("shape").here_document)
    book.do(drafts.submit, record(given("task")))
    assert [one.blocked_by for one in book.state.tasks.values()] == [(), ("T-001",)]
    assert {name for one in book.state.tasks.values() for name in one.criteria} <= set(
        book.state.criteria
    )
    book.wave()
    assert list(book.state.running) == ["T-001"]


def test_the_panel_is_accepted():
    book = Book().planned(*[task(f"Part {number}") for number in (1, 2, 3)])
    book.wave()
    book.do(attempts.failed, "T-003", "it does not start", "retry")
    book.do(panel.recorded, "T-003", record(given("panel")))
    assert not book.state.tasks["T-003"].panel_due


def test_the_thorough_review_is_accepted_and_its_blocker_becomes_a_task():
    book = Book().worked()
    book.do(review.thorough, record(given("review")))
    assert [one.verify for one in book.state.tasks.values() if one.kind == "remediation"] == [
        "pytest tests/test_limits.py -q -k spoofed"
    ]


def test_the_gate_is_passed():
    book = Book().reviewed().seen()
    book.do(gate.decided, record(given("gate")), same)
    assert book.state.gate["passed"] and book.state.gate["card"] == gate.SHIP


def test_experts_in_the_examples_have_a_profile():
    known = {path.stem for path in PROFILES}
    assert set(record(given("review"))["experts"]) <= known
    assert {one["name"] for one in record(given("panel"))["experts"]} <= known
