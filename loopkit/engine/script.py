"""The `script` agent: recorded answers instead of a model, for the demo and for tests."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ..core.journal.errors import Damaged, Refused
from ..store import atomic

#: Runs `loopkit` with arguments and standard input; gives (exit code, output).
Call = Callable[[list, str], tuple]

#: What in a step has to be filled in: a placeholder, or standard input.
_ASKS = re.compile(r"<[^<>]+>| -$")
#: The line of a Python traceback that names the error.
_FAULT = re.compile(r"\s*\w*(Error|Exception)\b")


@dataclass
class Rule:
    """What answers a step: the pattern it fits, arguments to use instead (or None), standard input,
    how often it may fire."""

    step: re.Pattern
    arguments: list | None
    input: str
    times: float


@dataclass
class Script:
    """A script file: the task, rules for steps that need judgement, and each task's attempts.

    An attempt is a list of edits; an edit maps a path, relative to the project, to the file's new
    text, or a command that the agent runs beside its own check (`loopkit verify T-001 -- …`) to the
    standard input of that.
    """

    task: str
    rules: list[Rule]
    attempts: dict[str, list]
    used: dict[str, int] = field(default_factory=dict)

    def answer(self, step: str) -> tuple[list | None, str]:
        """(arguments or None for the step's own, standard input) for a step.

        Raises Refused for a step that asks for something and that no rule answers.
        """
        for rule in self.rules:
            found = rule.step.search(step)
            if found and rule.times > 0:
                rule.times -= 1
                arguments = (
                    None
                    if rule.arguments is None
                    else [found.expand(one) for one in rule.arguments]
                )
                return arguments, rule.input
        if _ASKS.search(step.split(" -- ")[0]):
            raise Refused(f"the script has no answer to: {step}", "add a rule to it")
        return None, ""

    def work(self, task: str, project: str, call: Call, tell: Callable[[str], None]) -> str:
        """Do a task as its agent: read it, edit, verify, until the check passes or the attempt is
        over. Gives the report.

        tell(text): one line, or two where a check failed for another reason than before. Raises
        Refused for an agent that the script does not know.
        """
        attempts = self.attempts.get(task)
        if not attempts:
            raise Refused(f"the script has no agent for {task}", "add one to it")
        number = self.used.get(task, 0)
        self.used[task] = number + 1
        _, shown = call(["task", "show", task], "")
        verify = next_steps(shown)[-1] if next_steps(shown) else ""
        report = shown
        told = ""
        for edit in attempts[min(number, len(attempts) - 1)]:
            for path, text in edit.items():
                if path.startswith("loopkit "):
                    tell(
                        f"{task} runs {path}: "
                        f"{(call(words(path), text)[1].splitlines() or ['nothing said'])[0]}"
                    )
                    continue
                target = os.path.join(project, path)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                atomic.write(target, text.encode())
                tell(f"{task} writes {path}")
            code, report = call(words(verify), "")
            said, why = report.splitlines()[0] if report else "no report", _why(report)
            if code == 0:
                tell(said)
                break
            tell(said if why in ("", told) else f"{said}\n{why}")
            told = why
        return report


def _why(report: str) -> str:
    """The line of a failed check's output that says what was wrong: `AssertionError: …`; empty
    where none does."""
    lines = [line.strip() for line in report.splitlines() if _FAULT.match(line)]
    return lines[-1] if lines else ""


def load(path: str, **values: str) -> Script:
    """Read a script file; `{name}` in its texts is replaced by a value. Raises Damaged."""
    import yaml

    try:
        with open(path, encoding="utf-8-sig") as file:
            row = yaml.safe_load(file)
        rules = [
            Rule(
                re.compile(rule["step"]),
                rule.get("arguments"),
                _filled(rule.get("input", ""), values),
                rule.get("times", float("inf")),
            )
            for rule in row["answers"]
        ]
        return Script(row["task"], rules, row["agents"])
    except (OSError, yaml.YAMLError, KeyError, TypeError, re.error) as error:
        raise Damaged(f"cannot use {path}: {error}", "install the plugin again") from None


def _filled(text: str, values: dict) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def next_steps(output: str) -> list[str]:
    """The steps in the last block of `next:` lines of an output."""
    steps: list[str] = []
    for line in output.splitlines():
        if line.startswith("next: "):
            steps.append(line[6:])
        elif steps and line.strip():
            steps = []
    return steps


def words(step: str) -> list[str]:
    """The arguments of a `loopkit …` step."""
    import shlex

    parts = shlex.split(step)
    return parts[1:] if parts[:1] == ["loopkit"] else parts
