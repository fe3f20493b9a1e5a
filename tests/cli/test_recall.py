"""loopkit recall in a loop and without one: numbers that stay, answers, familiarity, texts, faults
of the file."""

from __future__ import annotations

import json

from tests.cli.kit import Project
from tests.cli.test_intake import learn


def shown(project: Project, *words: str, **more: object) -> list:
    return [
        (one["number"], one["title"])
        for one in project.lk("recall", "--json", *words, **more).json["learnings"]
    ]


def test_numbers_stay_and_what_was_answered_is_not_shown_again(project: Project) -> None:
    learn(project, *[f"rate {number}" for number in range(10, 18)])
    project.start()
    assert shown(project) == [
        (1, "rate 17"),
        (2, "rate 16"),
        (3, "rate 15"),
        (4, "rate 14"),
        (5, "rate 13"),
    ]
    project.ok("recall", "--dismiss", "2")
    project.ok("recall", "--confirm", "4")
    assert shown(project) == [
        (1, "rate 17"),
        (3, "rate 15"),
        (5, "rate 13"),
        (6, "rate 12"),
        (7, "rate 11"),
    ]
    assert project.of("recall_answered")[1]["confirmed"] == ["rate 14"]
    project.ok("recall", "--confirm", "2")
    assert project.snapshot["recall_surfaced"] == ["rate 14", "rate 16"], (
        "the person may think again"
    )
    project.ok("recall", "--dismiss", "4")
    assert project.snapshot["recall_surfaced"] == ["rate 16"]


def test_five_and_six_confirmed_learnings_give_the_same_familiarity(project: Project) -> None:
    learn(project, *[f"rate {number}" for number in range(10, 20)])
    project.start()
    project.ok("recall", "--confirm", "1,2,3,4,5")
    assert (
        project.lk(
            "score", *["--outcome=1", "--scope=1", "--constraints=1", "--success=0", "--done=1"]
        ).exit
        == 1
    )
    assert project.snapshot["fit_score"] == 20 + 10
    project.ok("recall", "--confirm", "6")
    project.score(1, 1, 1, 1, 1)
    assert len(project.snapshot["recall_surfaced"]) == 6
    assert project.snapshot["fit_score"] == 25 + 10


def test_when_all_is_answered(project: Project) -> None:
    learn(project, "rate 1")
    project.start()
    project.ok("recall", "--dismiss", "1")
    assert "nothing else was learnt before" in project.ok("recall").out


def test_the_form_and_recall_show_the_same(project: Project) -> None:
    learn(project, "rate 1")
    project.start()
    out = project.ok("next").out
    assert "learnt before:\n  1. [discovery] rate 1: rate 1!\n" in out
    assert "\nlearnings: [<numbers of those that apply>]\n" in out
    assert "\n1. [discovery] rate 1: rate 1!\n" in "\n" + project.ok("recall").out


def test_a_text_without_a_loop(project: Project) -> None:
    learn(project, "rate limiting", "検索の制限")
    assert (
        "1. [discovery] rate limiting"
        in project.ok("recall", "--about", "-", given="limit the rate").out
    )
    assert (
        project.lk("recall", "--about", "-", "--json", given="検索").json["learnings"][0]["title"]
        == "検索の制限"
    )
    assert "nothing learnt before fits" in project.ok("recall", "--about", "-", given="").out
    project.refused(
        2, "recall", "--about", "-", "--confirm", "1", says="--about together with answers"
    )
    project.refused(1, "recall", says="no loop in this project")


def test_a_text_where_nothing_is_at_all(project: Project) -> None:
    assert "nothing learnt before" in project.ok("recall", "--about", "-", given="rate").out
    assert not project.root.exists()


def test_what_stands_in_a_learning_does_nothing_to_a_terminal(project: Project) -> None:
    learn(project, "rate \x1b[31m\n\u202eevil")
    out = project.start().out + project.ok("next").out + project.ok("recall").out
    assert "rate" in out and "\x1b" not in out and "\u202e" not in out and "\nevil" not in out


def test_bad_lines_are_named_once_in_each_call(project: Project) -> None:
    learn(project, "rate 1")
    path = project.root / "learnings.jsonl"
    torn = b'{"kind":"failure","context":"rate'
    path.write_bytes(
        b"\xef\xbb\xbf" + path.read_bytes() + b"null\r\n" + b"x" * 1_000_000 + b"\r\n" + torn
    )
    project.start("rate")
    answer = project.lk("next")
    wanted = "loopkit: .loop/learnings.jsonl: lines 2, 3, 4 cannot be read and are left out\n"
    assert (answer.exit, answer.err) == (0, wanted)
    answer = project.lk("recall")
    assert answer.err == wanted and "1. [discovery] rate 1" in answer.out


def test_the_users_own_learnings(project: Project, tmp_path) -> None:
    mine = tmp_path / "home" / ".config" / "loopkit"
    mine.mkdir(parents=True)
    row = {
        "kind": "discovery",
        "context": "rate limits",
        "discovery": "mine",
        "ts": "2026-01-01T00:00:00Z",
    }
    (mine / "learnings.jsonl").write_text(json.dumps(row) + "\n")
    project.start()
    assert shown(project) == []
    (project.root / "config.toml").write_text("[recall]\nuser = true\n")
    assert "1. [discovery] rate limits: mine (user)" in project.ok("recall").out
    (project.root / "config.toml").write_text('[recall]\nuser = "yes"\n')
    project.refused(
        2,
        "start",
        "--fresh",
        "--task-file",
        "-",
        given="x",
        says="recall.user is 'yes'; give true or false",
    )
