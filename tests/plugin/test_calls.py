"""Every `loopkit …` call in the Markdown is one that the real command line takes."""

from __future__ import annotations

import json

import click
import pytest

from loopkit.core import shape
from tests.plugin.bundle import DOCUMENTS, PROSE, Call, calls, rules

CALLS = [call for path in PROSE if path.exists() for call in calls(path)]


def root_command() -> click.Group:
    """The top of the command tree."""
    import loopkit.cli

    return loopkit.cli.cli


def check(words: list[str]) -> None:
    """Walk the command tree along the words; raises click.UsageError where it has no such command, option or choice."""
    command, context, name = root_command(), None, "loopkit"
    while True:
        context = click.Context(command, info_name=name, parent=context)
        values, words, _ = command.make_parser(context).parse_args(args=list(words))
        for parameter in command.params:
            value = values.get(parameter.name)
            if isinstance(parameter.type, click.Choice) and isinstance(value, str) and not value.startswith("<"):
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


@pytest.mark.parametrize("document", [one for one in DOCUMENTS if rules(one)], ids=lambda one: one.name)
def test_permission_rules_name_real_commands(document):
    for rule in rules(document):
        words = rule.removeprefix("Bash(loopkit ").removesuffix(")").removesuffix(" *").split()
        check_beginning(words)


def test_here_documents_are_what_the_command_reads():
    seen = 0
    for call in CALLS:
        if call.here_document is None:
            continue
        seen += 1
        if "--file" in call.words:
            given = json.loads(call.here_document)
            assert isinstance(given, list) == (call.words[:2] == ["task", "add"])
        else:
            assert call.words[:2] == ["shape", "--accept"]
            assert shape.parse(call.here_document)["criteria"]
    assert seen >= 5
