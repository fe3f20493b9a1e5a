"""What Claude reads: front matter, permission rules, references, sizes. The client checks none of
these itself."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from loopkit.core.journal import stage
from loopkit.core.request import aspects
from loopkit.store import config
from loopkit.store.origin import Origin
from tests.plugin.bundle import ALWAYS_ON, DOCUMENTS, NAMES, PLUGINS, ROOT, injections, rules

KEYS = {
    "command": {"description", "argument-hint", "disable-model-invocation", "allowed-tools"},
    "skill": {"description"},
    "agent": {"description", "tools", "disallowedTools"},
}
#: Bare names that the client has itself; a front-matter `name` of ours would fight for them.
BUILT_IN = set(
    "batch code-review context diff doctor goal help init loop plan resume rewind run simplify "
    "status tasks usage "
    "verify workflows".split()
)
#: What a text calls by its bare name though it lies in a project's `.loop/`.
LOOP_FILES = {
    "SHAPE.md",
    "PROGRESS.md",
    "config.toml",
    "plan.md",
    "context.md",
    "loop-state.md",
    "report.md",
    "prompt.md",
}
#: Tokens at most (characters / 4) of `/loop:start` with the skills it pulls in and what it prints.
ON_START = 4000
#: Characters of a description at most: each costs every session.
DESCRIPTION = 100
#: Subcommands that only a person, or whoever watches the shell, may let run.
GUARDED = (
    *(
        "verify",
        "run",
        "rollback",
        "baseline",
        "wave merge",
        "confirm",
        "answer",
        "cancel",
        "pause",
        "review resolve",
    ),
    "trust",
    *("review --plan --waive", "resume --take-over", "resume --again", "resume --adopt"),
)
#: Subcommands that show when called bare, and record a person's decision with anything behind them.
SHOWING = ("recall", "learn")
PERSON_ONLY = {"start", "status", "resume", "pause", "cancel"}


def named(document) -> str:
    return f"{document.plugin}:{document.name} ({document.kind})"


def pytest_generate_tests(metafunc):
    if "document" in metafunc.fixturenames:
        metafunc.parametrize("document", DOCUMENTS, ids=named)


def get(plugin: str, kind: str, name: str):
    return NAMES[plugin, kind, name]


def test_the_bundle_has_its_parts():
    assert {
        name for plugin, kind, name in NAMES if (plugin, kind) == ("loop", "command")
    } >= PERSON_ONLY
    assert {name for plugin, kind, name in NAMES if (plugin, kind) == ("hope", "skill")} >= {
        "intent",
        "shape",
        "verify",
        "gate",
    }
    assert ("counsel", "skill", "panel") in NAMES
    assert {name for plugin, kind, name in NAMES if kind == "agent"} >= {
        "coder",
        "tester",
        "planner",
        "review",
    }


def test_front_matter_has_known_keys_only(document):
    assert set(document.meta) <= KEYS[document.kind]


def test_no_name_takes_a_built_in_command(document):
    assert str(document.meta.get("name", "")) not in BUILT_IN


def test_description_is_short_third_person_and_says_when(document):
    description = document.meta["description"]
    assert len(description) <= DESCRIPTION
    # a command is typed by a person; the client lists it all the same
    assert ("Use when" in description) == (document.kind != "command")
    assert re.match(r"[A-Z][a-z]+s ", description), "begins with a verb in the third person"


def test_no_command_hides_a_skill():
    for plugin in PLUGINS:
        commands = {name for owner, kind, name in NAMES if (owner, kind) == (plugin, "command")}
        skills = {name for owner, kind, name in NAMES if (owner, kind) == (plugin, "skill")}
        assert not commands & skills


def test_a_goal_comes_first_and_the_rest_is_there(document):
    if document.kind == "skill":
        assert document.body.lstrip().startswith("Goal: ")
    if document.name in ("start", "resume"):
        assert document.body.lstrip().startswith("Goal: ")
    if document.kind in ("skill", "agent"):
        assert "When to stop" in document.body
        assert "Example" in document.body


def test_nobody_is_shouted_at(document):
    text = re.sub(r"`[^`]*`", "", document.body)
    shouted = set(re.findall(r"\b(?:MUST|NEVER|ALWAYS|IMPORTANT|CRITICAL|DO NOT|WARNING:)\b", text))
    assert not shouted
    assert "!!" not in text


def test_lines_fit(document):
    assert max(len(line) for line in document.body.split("\n")) <= 122


def test_a_persons_words_stay_out_of_every_command_line(document):
    for line in document.body.split("\n"):
        if "loopkit" in line:
            assert not re.search(r"\$(ARGUMENTS|\d|@|\*)", line)
    assert "$ARGUMENTS" not in "".join(injections(document))


def test_injections_are_covered_by_their_rules_and_stand_alone(document):
    for command in injections(document):
        assert f"\n!`{command}`\n" in document.body, "on a line of its own"
        begins = (" ".join(command.split()[:words]) for words in (2, 3))
        covered = {f"Bash({command})", *(f"Bash({words} *)" for words in begins)}
        assert covered & set(rules(document))
        assert command.startswith("loopkit "), "the bare name: bin/ is on the path"


def test_injections_do_not_abort_the_command_when_loopkit_refuses(document):
    # A non-zero exit of an injected program would end the whole command; these options print a
    # refusal and exit 0.
    for command in injections(document):
        assert command.split()[2:] in (
            *(["--soft"], ["--asked", "--soft"], ["--ask"], ["--from-prompt"]),
            ["list", "--soft"],
        )


def test_rules_name_safe_subcommands_one_by_one(document):
    for rule in rules(document):
        inner = re.fullmatch(r"Bash\(loopkit ([a-z]+[^)]*)\)", rule)
        assert inner, rule
        words = inner.group(1)
        for guarded in GUARDED:
            wanted = words == f"{document.name} --soft" and f"loopkit {words}" in injections(
                document
            )
            assert wanted or not f"{words} ".startswith(f"{guarded} "), rule
        assert words.split()[0] not in SHOWING or words in SHOWING, rule
        assert words.removesuffix(" *") not in ("start", "score", "review", "wave", "resume"), (
            f"{rule} lets a person's decision through"
        )
        assert words != "review --plan *", "a plan is waived by a person"


def test_only_a_person_starts_and_ends_a_loop():
    for name in PERSON_ONLY:
        assert get("loop", "command", name).meta["disable-model-invocation"] is True


def test_claude_may_load_every_skill_unattended(document):
    if document.kind == "skill":
        assert not {"allowed-tools", "disallowed-tools", "hooks"} & set(document.meta)


def test_agents_cannot_start_agents(document):
    if document.kind != "agent":
        return
    tools = re.split(r"[,\s]+", document.meta.get("tools", ""))
    refused = re.split(r"[,\s]+", document.meta.get("disallowedTools", ""))
    if document.meta.get("tools"):
        assert not {"Agent", "Task"} & set(tools)
    else:
        assert {"Agent", "Task"} <= set(refused)


def test_what_a_trigger_is_about_stands_in_it(document):
    """Nothing but the description is read: `Use when it needs many.` cannot fire."""
    when = document.meta["description"].partition("Use when ")[2]
    assert document.kind == "command" or not re.match(
        r"(it|this|that|these|one|some|they|many|due)\b", when
    )


@pytest.mark.parametrize(
    "name", ["hope:shape", "loop:decomposition", "hope:intent", "hope:gate", "counsel:panel"]
)
def test_what_is_printed_with_a_form_names_no_command_that_takes_another(name):
    """`loopkit next` prints this part; what does a step by hand stands below it."""
    plugin, _, skill = name.partition(":")
    printed = get(plugin, "skill", skill).body.partition("**By itself.**")
    assert printed[1] and "--file" not in printed[0] and "--accept" not in printed[0]


def test_named_skills_agents_and_commands_exist():
    known = {f"{plugin}:{name}" for plugin, _, name in NAMES}
    for path in [
        *(one.path for one in DOCUMENTS),
        *ROOT.glob("*.md"),
        *ROOT.glob("plugins/*/README.md"),
    ]:
        for reference in re.findall(
            r"`/?((?:loop|hope|counsel):[a-z-]+)(?![\w-])", path.read_text(encoding="utf-8")
        ):
            assert reference in known, f"{path}: {reference}"


def test_links_lead_somewhere():
    for path in [*ROOT.glob("*.md"), *ROOT.glob("plugins/**/*.md"), *ROOT.glob("skills/**/*.md")]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if not re.match(r"https?:", target):
                assert (path.parent / target).exists(), f"{path}: {target}"


def test_descriptions_cost_little_in_every_session(capsys):
    total = sum(len(f"{one.plugin}:{one.name}: {one.meta['description']}") for one in DOCUMENTS) / 4
    with capsys.disabled():
        print(f"\nalways on: {total:.0f} of {ALWAYS_ON} tokens in {len(DOCUMENTS)} entries")
    assert len(DOCUMENTS) >= 23
    assert total <= ALWAYS_ON


def printed_by_start(tmp_path, data) -> str:
    """What `loopkit start` and the first form print, where nobody can be asked (the longer
    answer)."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "LOOPKIT_DATA": str(data),
        "LANG": "C.UTF-8",
    }
    environment |= {"CLAUDE_CODE_SESSION_ID": "one", "CLAUDE_CODE_SESSION_ATTENDED": "0"}
    given = (
        "Answer the 101st request of a minute to /search with 429; pytest tests/test_limits.py "
        "shows it"
    )
    printed = ""
    for words in ("start --task-file -", "next"):
        done = subprocess.run(
            ["sh", str(ROOT / "bin" / "loopkit"), *words.split()],
            cwd=project,
            env=environment,
            input=given,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        printed += done.stdout
    return printed


def test_a_start_costs_little_with_all_that_it_loads(tmp_path, data, capsys):
    """The whole file of the command, though the client leaves the front matter out; rules, request,
    guides and form are what the program prints."""
    command = get("loop", "command", "start").path.read_text(encoding="utf-8")
    printed = printed_by_start(tmp_path, data)
    for part in (
        "# How this loop goes on",
        "# The request",
        "# How: shape",
        "# How: decomposition",
    ):
        assert printed.count(part) == 1, part
    assert "must_nots:" in printed and printed.rstrip().endswith("next: loopkit submit --file -")
    sizes = [len(text) / 4 for text in (command, printed)]
    with capsys.disabled():
        print(f"\non start: {sum(sizes):.0f} of {ON_START} tokens")
    assert sum(sizes) <= ON_START


def test_the_rules_of_a_loop_stand_in_one_place():
    """`loopkit next` prints them; agents start in the foreground by the hook, where a client has
    one."""
    text = " ".join((ROOT / "templates" / "rules.md").read_text(encoding="utf-8").split())
    assert "end the turn before it" in text
    assert not [named(one) for one in DOCUMENTS if "run_in_background" in one.body]


def test_json_is_asked_of_agents_alone(document):
    assert ("json" in document.body.lower()) == (document.kind == "agent")


def test_the_readme_names_every_command_and_the_panel():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.search(r"\| you type \| what happens \|\n(.*?)\n\n", text, re.S).group(1)
    assert set(re.findall(r"^\| `/([a-z:]+)", table, re.M)) == {
        *(f"loop:{name}" for plugin, kind, name in NAMES if (plugin, kind) == ("loop", "command")),
        "counsel:panel",
    }


def test_the_settings_in_the_readme_are_all_there_are_and_their_defaults(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    part = text.partition("\n### Settings\n")[2]
    shown = re.search(r"```toml\n(.*?)```", part, re.S).group(1)
    (tmp_path / "config.toml").write_text(shown, encoding="utf-8")
    given, defaults = (
        config.read(Origin(str(one), frozenset())) for one in (tmp_path, tmp_path / "nowhere")
    )
    assert given.pop("prices") and defaults.pop("prices") == {}
    assert given == defaults
    named = set(re.findall(r"^(\w+) = ", shown, re.M))
    assert named == {*defaults, *defaults["limits"]} - {"limits"}


def test_the_subcommands_named_in_contributing_and_the_readme_are_scripts():
    text = "".join(
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")
    )
    named = set(re.findall(r"script/([a-z-]+)", text))
    assert named and all((ROOT / "script" / name).is_file() for name in named)


def test_files_named_in_the_readme_and_contributing_exist():
    for name in ("README.md", "CONTRIBUTING.md"):
        text = re.sub(
            r"^```.*?^```", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.S | re.M
        )
        for span in re.findall(
            r"`([A-Za-z./_-]+/[A-Za-z./_-]*|[A-Za-z_-]+\.(?:py|md|lock|toml))`", text
        ):
            if span.startswith((".loop/", ".claude/", "/", "refs/")) or span in LOOP_FILES:
                continue
            found = [ROOT / span, ROOT / "loopkit" / span]
            assert any(path.exists() for path in found), f"{name}: {span}"


def test_no_machine_path_or_address(document):
    text = document.path.read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|Users|tmp|work)/|https?://", text)


def test_the_shape_skill_leaves_the_aspects_to_loopkit():
    document = get("hope", "skill", "shape")
    steps = document.body[: document.body.index("**Example.**")]
    assert "`loopkit shape` prints aspects" in steps
    assert not {name for name in aspects.ASPECTS if re.search(rf"\b{name}\b", steps)} - {"data"}


def test_the_rubric_has_an_example_for_each_value_in_several_kinds_of_work():
    text = (PLUGINS["hope"] / "skills" / "intent" / "rubric.md").read_text(encoding="utf-8")
    kinds = [part for part in text.split("\n## ")[1:] if not part.startswith("In doubt")]
    assert len(kinds) >= 4
    for kind in kinds:
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in kind.splitlines()
            if line[:1] == "|"
        ]
        assert [row[0] for row in rows[2:]] == list(stage.DIMENSIONS)
        assert rows[0][1:] == ["0", "1", "2"] and all(len(row) == 4 and all(row) for row in rows)


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("planner", {"Read", "Grep", "Glob"}),
        ("review", {"Read", "Grep", "Glob", "Bash"}),
    ],
)
def test_an_agent_that_only_looks_has_no_more_tools_than_that(name, tools):
    assert set(re.split(r"[,\s]+", get("loop", "agent", name).meta["tools"])) == tools
