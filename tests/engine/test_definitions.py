"""Stages and pipelines: where they are looked up, and each rule that their files may break."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.journal.errors import Damaged
from loopkit.core.pipeline.definitions import Fault, Known
from loopkit.engine.definitions import Library, usable
from loopkit.store.origin import Origin

KNOWN = Known(("plateau", "fixed-n", "all-items"), ("claude", "script"), ("command",))

STAGE = """\
name: {name}
description: Try it
completion: fixed-n
"""
PIPELINE = """\
name: both
description: Two stages
stages:
  - {name: first, stage: one, runs: 2}
  - {name: second, stage: two, runs: 3}
"""


class Books:
    """A `.loop` with stages and pipelines, in a home without any."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "proj" / ".loop"
        self.home = folder / "home"
        self.root.mkdir(parents=True)
        self.tracked: frozenset[str] = frozenset()

    @property
    def library(self) -> Library:
        environment = {"HOME": str(self.home)}
        return Library(str(self.root), environment, Origin(str(self.root), self.tracked), KNOWN)

    def stage(self, name: str, text: str | None = None, prompt: str | None = "Do it.") -> None:
        folder = self.root / "stages" / name
        folder.mkdir(parents=True)
        if text != "":
            (folder / "stage.yaml").write_text(text or STAGE.format(name=name), "utf-8")
        if prompt is not None:
            (folder / "prompt.md").write_text(prompt, "utf-8")

    def pipeline(self, text: str, name: str = "both.yaml") -> None:
        folder = self.root / "pipelines"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Books:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Books(tmp_path)


def told(faults: list[Fault], file: str, root: Path) -> list[tuple[int, bool, str]]:
    assert all(fault.cure for fault in faults)
    assert {os.path.relpath(fault.file, root) for fault in faults} <= {file}
    return [(fault.line, fault.error, fault.what) for fault in faults]


def test_a_stage_has_the_defaults_of_what_it_does_not_say(books: Books) -> None:
    books.stage("one")
    found, faults = books.library.stage("one")
    assert faults == [] and found is not None
    assert (found.delay, found.min_iterations, found.check_before) == (3, 1, False)
    assert tuple(found.timeouts) == (120, 600, 3600) and found.text == "Do it."


def test_every_key_of_a_stage(books: Books) -> None:
    text = (
        "name: one  # a comment\ndescription: Try it\ncompletion: plateau\ndelay: 0.5\n"
        "min_iterations: 3\ncheck_before: true\noutput_parse: plateau:PLATEAU why:REASON\n"
        "items: [a, b]\nprompt: other\nagent: script\nmodel: large\n"
        "timeouts: {start: 1, total: 9}\nvalidate: pytest -q\nvalidator: command\n"
    )
    books.stage("one", text)
    (books.root / "stages/one/prompts").mkdir()
    (books.root / "stages/one/prompts/other.md").write_text("Other.")
    found, faults = books.library.stage("one")
    assert faults == [] and found is not None
    assert (found.delay, found.min_iterations, found.check_before) == (0.5, 3, True)
    assert found.markers == {"plateau": "PLATEAU", "why": "REASON"} and found.items == ("a", "b")
    assert (found.agent, found.model, found.text) == ("script", "large", "Other.")
    assert tuple(found.timeouts) == (1, 600, 9) and found.validate == ("pytest -q",)


@pytest.mark.parametrize("name", ["stage", "pipeline", "looper", "tree"])
def test_a_stage_is_not_called_by_a_command(books: Books, name: str) -> None:
    books.stage(name)
    _, faults = books.library.stage(name)
    assert [(fault.line, fault.error) for fault in faults] == [(1, True)], faults


PLATEAU = "name: s\ndescription: x\ncompletion: plateau\nmin_iterations: 2\n"
GOOD = STAGE.format(name="s")


@pytest.mark.parametrize(
    ("text", "line", "error", "what"),
    [
        ("", 0, True, "it is missing"),
        ("name: [", 1, True, "no YAML"),
        ("- a\n- b\n", 1, True, "it is no record"),
        ("just words\n", 1, True, "it is no record"),
        ("name: s\nname: s\n", 2, True, "no YAML: name stands twice"),
        ("description: x\ncompletion: fixed-n\n", 1, True, "there is no name"),
        ("name: s\ndescription: x\n", 1, True, "there is no completion"),
        ("name: s\ncompletion: fixed-n\n", 1, False, "there is no description"),
        (GOOD.replace("fixed-n", "fixed"), 3, True, "there is no completion 'fixed'"),
        (GOOD + "dealy: 3\n", 4, True, "unknown key 'dealy'"),
        (GOOD + "delay: soon\n", 4, True, "delay is 'soon'"),
        (GOOD + "delay: -1\n", 4, True, "delay is '-1'"),
        (GOOD + "delay: .nan\n", 4, True, "delay is '.nan'"),
        (GOOD + "min_iterations: 0\n", 4, True, "min_iterations is '0'"),
        (GOOD + "check_before: perhaps\n", 4, True, "check_before is 'perhaps'"),
        (GOOD + "items: a\n", 4, True, "items is 'a'"),
        (GOOD + "timeouts: {start: 0}\n", 4, True, "timeouts is"),
        (GOOD + "timeouts: 3\n", 4, True, "timeouts is '3'"),
        (GOOD + "output_parse: PLATEAU\n", 4, True, "output_parse is 'PLATEAU'"),
        (GOOD + "output_parse: exit:EXIT\n", 4, True, "output_parse is 'exit:EXIT'"),
        (GOOD + "agent: nobody\n", 4, True, "there is no agent 'nobody'"),
        (GOOD + "validator: nobody\n", 4, True, "there is no validator 'nobody'"),
        (GOOD + "model: {a: 1}\n", 4, True, "model is"),
        (PLATEAU, 3, True, "plateau without PLATEAU"),
        (PLATEAU + "output_parse: x:OTHER\n", 3, True, "plateau without PLATEAU"),
        (
            PLATEAU.replace("2", "1") + "output_parse: p:PLATEAU\n",
            4,
            False,
            "plateau with min_iterations 1",
        ),
        (GOOD.replace("name: s", "name: other"), 1, False, "the name is 'other'"),
        ("name: s\n\x00", 2, True, "no YAML"),
        ("a: &x [*x]\n", 1, True, "no YAML"),
        ("? [a]\n: b\n", 1, True, "no YAML"),
    ],
)
def test_each_rule_of_a_stage(books: Books, text: str, line: int, error: bool, what: str) -> None:
    books.stage("s", text)
    _, faults = books.library.stage("s")
    rows = told(faults, "stages/s/stage.yaml", books.root)
    assert [row for row in rows if row[:2] == (line, error) and row[2].startswith(what)], rows
    with pytest.raises(Damaged) if error else pytest.MonkeyPatch.context():
        usable(faults)


def test_a_prompt_that_is_missing_empty_or_unreadable(books: Books) -> None:
    books.stage("a", prompt=None)
    books.stage("b", prompt=" \n")
    books.stage("c")
    (books.root / "stages/c/prompt.md").write_bytes(b"\xff")
    books.stage("d", prompt=None)
    (books.root / "stages/d/prompt.md").symlink_to("/etc/passwd")
    for name, what in zip("abcd", ("no prompt", "no prompt", "UTF-8", "link"), strict=True):
        faults = books.library.stage(name)[1]
        assert len(faults) == 1 and what in faults[0].what and faults[0].error, faults


def test_variables_of_a_prompt(books: Books) -> None:
    books.stage("s", prompt="${SESSION}\n${SESION} $${ANY}\n${INPUTS.x}")
    _, faults = books.library.stage("s")
    assert told(faults, "stages/s/prompt.md", books.root) == [
        (2, False, "unknown variable ${SESION}")
    ]
    assert faults[0].cure == "write ${SESSION}"


def test_a_pipeline_of_two_stages(books: Books) -> None:
    books.stage("one")
    books.stage("two", prompt="${INPUTS} ${INPUTS.first}")
    books.pipeline(PIPELINE)
    for name in ("both", "both.yaml", str(books.root / "pipelines/both.yaml"), "pipelines/both"):
        found, faults = books.library.pipeline(name, str(books.root))
        assert faults == [] and found is not None
        assert [(one.name, one.stage.name, one.runs) for one in found.entries] == [
            ("first", "one", 2),
            ("second", "two", 3),
        ]


def entry(text: str) -> str:
    return f"name: both\nstages:\n  - {text}\n"


@pytest.mark.parametrize(
    ("text", "line", "error", "what"),
    [
        ("name: both\nstages: []\n", 2, True, "there are no stages"),
        ("name: both\n", 1, True, "there are no stages"),
        ("name: both\nstages: one\n", 2, True, "there are no stages"),
        (PIPELINE.replace("name: both", "nane: both"), 1, True, "unknown key 'nane'"),
        ("stages:\n  - {name: a, stage: one, runs: 1}\n", 1, True, "there is no name"),
        ("a: [", 1, True, "no YAML"),
        (PIPELINE.replace("both", "[both]"), 1, True, "the name is no text"),
        (entry("{stage: one, runs: 1}"), 3, True, "the stage has no name"),
        (entry("{name: A b, stage: one, runs: 1}"), 3, True, "the name is 'A b'"),
        (PIPELINE.replace("second", "first"), 5, True, "two stages are named 'first'"),
        (entry("{name: a, runs: 1}"), 3, True, "it has neither stage nor prompt"),
        (entry("{name: a, stage: nope, runs: 1}"), 3, True, "there is no stage 'nope'"),
        (entry("{name: a, stage: one, prompt: x, runs: 1}"), 3, True, "it has both"),
        (entry("{name: a, stage: one, runs: 0}"), 3, True, "runs is '0'"),
        (entry("{name: a, stage: one, runs: many}"), 3, True, "runs is 'many'"),
        (entry("{name: a, stage: one, runs: 1, on_limit: go}"), 3, True, "on_limit is 'go'"),
        (entry("{name: a, stage: one, runs: 1, tpyo: 1}"), 3, True, "unknown key 'tpyo'"),
        (entry("{name: a, stage: one, runs: 1, completion: x}"), 3, True, "there is no completion"),
        (entry("{name: a, stage: one, runs: 1, validator: x}"), 3, True, "there is no validator"),
        (
            entry("{name: a, prompt: x, runs: 1, completion: plateau}"),
            3,
            True,
            "plateau without PLATEAU",
        ),
        (entry("{name: a, prompt: 'use ${INPUTS.b}', runs: 1}"), 3, True, "${INPUTS.b} names no"),
        (entry("{name: a, prompt: 'use ${INPUTS}', runs: 1}"), 3, False, "the first stage uses"),
        (entry("{name: a, prompt: 'use ${SESION}', runs: 1}"), 3, False, "unknown variable"),
        (entry("{name: a, stage: one}"), 3, False, "runs is missing"),
        (entry("just words"), 3, True, "stage 1 is no record"),
        ("parallel: 3\n" + PIPELINE, 1, False, "parallel has no effect"),
    ],
)
def test_each_rule_of_a_pipeline(
    books: Books, text: str, line: int, error: bool, what: str
) -> None:
    books.stage("one")
    books.stage("two")
    books.pipeline(text)
    _, faults = books.library.pipeline("both", "/nowhere")
    rows = told(faults, "pipelines/both.yaml", books.root)
    assert [row for row in rows if row[:2] == (line, error) and row[2].startswith(what)], rows


def test_a_stage_named_loop_as_older_files_have_it_and_one_with_its_prompt_inline(
    books: Books,
) -> None:
    books.stage("one")
    rows = "  - {name: a, loop: one, runs: 1, model: small}\n"
    rows += "  - {name: b, prompt: 'Use ${INPUTS.a}', runs: 2, perspectives: [x, y]}\n"
    books.pipeline(f"name: both\nstages:\n{rows}")
    found, faults = books.library.pipeline("both", "/nowhere")
    assert faults == [] and found is not None
    first, second = found.entries
    assert (first.stage.name, first.stage.model) == ("one", "small")
    assert (second.stage.text, second.stage.completion) == ("Use ${INPUTS.a}", "fixed-n")
    assert second.perspectives == ("x", "y")


def test_inputs_of_a_later_stage_are_an_error_where_the_prompt_stands(books: Books) -> None:
    books.stage("one", prompt="\n${INPUTS.second}")
    books.stage("two")
    books.pipeline(PIPELINE)
    _, faults = books.library.pipeline("both", "/nowhere")
    rows = told(faults, "stages/one/prompt.md", books.root)
    assert rows == [(2, True, "${INPUTS.second} names no stage before this one")]


def test_the_project_comes_before_the_person_and_both_before_what_is_shipped(
    books: Books,
) -> None:
    own = books.home / ".config/loopkit/stages/work"
    own.mkdir(parents=True)
    (own / "stage.yaml").write_text(STAGE.format(name="work"))
    (own / "prompt.md").write_text("Mine.")
    found, _ = books.library.stage("work")
    assert found is not None and found.text == "Mine."
    books.stage("work", prompt="The project's.")
    found, _ = books.library.stage("work")
    assert found is not None and found.text == "The project's."
    places = {name: place.label for name, place in books.library.stages()}
    assert places["work"] == ".loop" and places["idea-wizard"] == "shipped"


def test_what_came_with_the_repository_is_passed_over(books: Books) -> None:
    books.stage("work", prompt="A stranger's.")
    books.stage("mine")
    books.pipeline(PIPELINE, "quick-refine.yaml")
    names = ("stages/work/prompt.md", "stages/mine/stage.yaml", "pipelines/quick-refine.yaml")
    books.tracked = frozenset(names)
    library = books.library
    assert "stranger" not in str(library.stage("work"))
    assert library.stage("mine") == (None, [])
    found, _ = library.pipeline("quick-refine", "/nowhere")
    assert found is None or found.name == "quick-refine"
    path = str(books.root / "pipelines/quick-refine.yaml")
    assert library.pipeline(path, "/nowhere") == (None, [])  # nor by its path
    assert {"stages/work", "stages/mine", "pipelines/quick-refine.yaml"} == set(library.untrusted)


def test_nothing_is_read_through_a_link_in_the_project(books: Books, tmp_path: Path) -> None:
    books.stage("one")
    (books.root / "stages").rename(tmp_path / "elsewhere")
    (books.root / "stages").symlink_to(tmp_path / "elsewhere")
    _, faults = books.library.stage("one")
    assert len(faults) == 1 and "link" in faults[0].what


def test_the_digest_follows_the_words_and_not_the_place(books: Books) -> None:
    books.stage("one")

    def digest() -> str:
        library = books.library
        library.stage("one")
        return library.digest

    before = digest()
    assert digest() == before
    (books.root / "stages/one/prompt.md").write_text("Do it well.")
    assert digest() != before


@pytest.mark.parametrize("name", ["../one", "", "a/b", "UPPER", "a" * 64, "-", "one\n"])
def test_names_that_are_none(books: Books, name: str) -> None:
    books.stage("one")
    assert books.library.stage(name) == (None, [])


def test_what_lies_there_and_is_none_is_told_by_its_place(books: Books, tmp_path: Path) -> None:
    books.stage("one")
    books.stage("Upper")
    (books.root / "stages" / "README.md").write_text("about these stages")
    (books.root / "stages" / "round").symlink_to("round")
    books.pipeline(PIPELINE)
    folder = books.root / "pipelines"
    (folder / "folder.yaml").mkdir()
    (folder / "dead.yaml").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / "pipe.yaml")
    library = books.library
    mine = [name for name, one in library.stages() if one.label == ".loop"]
    assert mine == ["Upper", "one"]
    found, faults = library.stage("Upper")
    path = books.root / "stages" / "Upper"
    assert found is None and str(faults[0]).startswith(f"{path}: error: 'Upper' is no name; rename")
    mine = [name for name, one in library.pipelines() if one.label == ".loop"]
    assert mine == ["both", "dead", "pipe"]
    for name, why in (("dead", "it is a link"), ("pipe", "it cannot be read: it is no file")):
        assert why in str(library.pipeline(name, "")[1][0])


def test_a_prompt_that_is_named_and_missing_is_said(books: Books) -> None:
    books.stage("one", STAGE.format(name="one") + "prompt: other\n")
    found, faults = books.library.stage("one")
    assert found is not None and found.prompt_file.endswith("/prompt.md")
    assert "there is no prompts/other.md" in faults[0].what and not faults[0].error
    assert faults[0].line == 4
    (books.root / "stages/one/prompts").mkdir()
    (books.root / "stages/one/prompts/other.md").write_text("Do that.")
    found, faults = books.library.stage("one")
    assert found is not None and (found.text, faults) == ("Do that.", [])


def test_what_is_shipped_is_without_a_fault(tmp_path: Path) -> None:
    from loopkit.ops.runs import completions

    known = KNOWN._replace(completions=[*completions.names(), "tasks-empty"])
    library = Library(None, {"HOME": str(tmp_path)}, None, known)
    for name, _ in [*library.stages()]:
        assert library.stage(name)[1] == [], name
    for name, _ in [*library.pipelines()]:
        assert library.pipeline(name, "/nowhere")[1] == [], name


WORDS = some.sampled_from(
    ["name", "stages", "stage", "runs", "completion", "plateau", "output_parse", "items", "delay"]
    + ["timeouts", "prompt", "x", "3", "-1", "true", "null", "${INPUTS.a}", "${X}", "", "ü🙂"]
)
VALUES = some.recursive(
    WORDS | some.integers() | some.none() | some.floats(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(some.binary(max_size=200) | some.text(max_size=200).map(str.encode))
def test_no_bytes_make_a_reader_fall(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    root = tmp_path_factory.mktemp("loop")
    fallen(root, raw, raw)


@given(VALUES, VALUES)
def test_no_values_make_a_reader_fall(
    tmp_path_factory: pytest.TempPathFactory, stage: object, pipeline: object
) -> None:
    root = tmp_path_factory.mktemp("loop")
    fallen(root, json.dumps(stage).encode(), json.dumps(pipeline).encode())


def fallen(root: Path, stage: bytes, pipeline: bytes) -> None:
    """Read both as definitions: each error is a fault with a cure, whatever they hold."""
    for name, raw in (("stages/s/stage.yaml", stage), ("pipelines/p.yaml", pipeline)):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_bytes(raw)
    (root / "stages/s/prompt.md").write_bytes(pipeline or b"x")
    library = Library(str(root), {"HOME": str(root)}, Origin(str(root), frozenset()), KNOWN)
    for found, faults in (library.stage("s"), library.pipeline("p", "/nowhere")):
        assert found is not None or faults
        assert all(fault.what and fault.cure and fault.line >= 0 for fault in faults)
        assert all("\n" not in str(fault) for fault in faults)
