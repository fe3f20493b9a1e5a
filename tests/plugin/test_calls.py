"""Every `loopkit …` call in the Markdown is one that the real command line takes."""

from __future__ import annotations

import json

import click
import pytest

from tests.plugin.bundle import DOCUMENTS, PROSE, Call, calls, rules

CALLS = [call for path in PROSE if path.exists() for call in calls(path)]


def root_command() -> click.Group:
    """The top of the command tree."""
    import loopkit.cli

    groups = [one for one in vars(loopkit.cli).values() if isinstance(one, click.Group)]
    assert groups, "loopkit.cli has no command group"
    return groups[0]


def check(words: list[str], here_document: str | None) -> None:
    """Walk the command tree along the words; raises click.UsageError where it has no such command or option."""
    command, context = root_command(), None
    info = "loopkit"
    while True:
        context = click.Context(command, info_name=info, parent=context, resilient_parsing=True)
        context.allow_interspersed_args = command.allow_interspersed_args
        values, words, _ = command.make_parser(context).parse_args(args=list(words))
        for parameter in command.params:
            value = values.get(parameter.name)
            if isinstance(parameter.type, click.Choice) and isinstance(value, str) and not value.startswith("<"):
                parameter.type.convert(value, parameter, context)
        if not isinstance(command, click.Group) or not words:
            break
        if words[0].startswith("<"):
            break
        info, command, words = command.resolve_command(context, words)
    assert not words or command.allow_extra_args or not isinstance(command, click.Group), words


@pytest.mark.parametrize(
    "call", CALLS, ids=lambda call: f"{call.path.parent.name}/{call.path.stem}:{' '.join(call.words)[:50]}"
)
def test_call_parses(call: Call):
    check(call.words, call.here_document)


@pytest.mark.parametrize("document", [one for one in DOCUMENTS if rules(one)], ids=lambda one: one.name)
def test_permission_rules_name_real_commands(document):
    for rule in rules(document):
        words = rule.removeprefix("Bash(loopkit ").removesuffix(")").removesuffix(" *").split()
        if words[-1].startswith("--") and rule.endswith(" *)"):
            words.append("1")
        try:
            check(words, None)
        except click.BadOptionUsage:
            check([*words[:-1]], None)


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
            assert call.here_document.startswith("# Shape: ")
    assert seen >= 5
