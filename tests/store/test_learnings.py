"""What loops taught: found by words, the fresh, sure and repeated first, at most five."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from loopkit.core.journal import clock
from loopkit.store import learnings
from loopkit.store.origin import Origin

NOW = 1_800_000_000
DAY = 86400

DECISION = """\
# Decision 001: Stream rows to the client
**Date**: 2026-12-01
**Status**: {status}
**Context**: exports reach 2 GB, a worker has 512 MB
**Choice**: generator response, 1,000 rows at a time
**Alternatives Rejected**:
- Temporary file: fills the disk when several exports run
"""


def row(context: str, /, **fields: object) -> dict:
    text = {"discovery": context + "!"}
    return {
        "ts": clock.stamp(NOW - 100 * DAY),
        "kind": "discovery",
        "context": context,
        **text,
        **fields,
    }


def write(root: Path, rows: list, mode: str = "wb") -> None:
    with open(root / "learnings.jsonl", mode) as file:
        file.write(b"".join(json.dumps(one).encode() + b"\n" for one in rows))


class Found(list):
    notes: list


def fitting(
    root: Path, request: str = "add rate limiting to the api", most: int = 5, **environment: str
) -> Found:
    notes: list = []
    environment = {"HOME": str(root / "home"), **environment}
    found = Found(
        learnings.fitting(
            Origin(str(root), frozenset()), request, NOW, environment, notes.append, most
        )
    )
    found.notes = notes
    return found


@pytest.fixture
def titles(tmp_path: Path):
    def titles(rows: list, request: str = "add rate limiting to the api") -> list:
        write(tmp_path, rows)
        return [one.title for one in fitting(tmp_path, request)]

    return titles


# -- what is found, in which order


def test_words_of_context_and_applies_to_are_matched(titles) -> None:
    rows = [row("rate things"), row("other", applies_to="API work"), row("nothing of it")]
    assert set(titles(rows)) == {"rate things", "other"}


def test_short_and_common_words_do_not_count(titles) -> None:
    assert titles([row("to be or not to be a new x")], "to do a new x") == []


@pytest.mark.parametrize(
    ("context", "request_"),
    [
        ("limits of the counters", "a counter's limit"),
        ("limiting", "limiter"),
        ("rate_limit.py", "rate limit"),
        ("véritable", "VERITABLE"),
        ("検索に制限を追加する", "APIの検索"),
        ("给搜索接口加限流", "搜索 太慢"),
        ("검색을 고치다", "검색 속도"),
        ("खोज धीमी है", "खोज सुधारें"),
        ("ทดสอบการค้นหา", "การค้นหาช้า"),
        ("медленный поиск", "ПОИСК по каталогу"),
    ],
)
def test_words_in_other_forms_and_scripts(titles, context: str, request_: str) -> None:
    assert titles([row(context), row("nothing of it")], request_) == [context]


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (2, 2), (5, 5), (6, 5), (40, 5)])
def test_the_best_five_are_shown(titles, count: int, shown: int) -> None:
    assert len(titles([row(f"rate {number}") for number in range(count)])) == shown


@pytest.mark.parametrize(
    "better",
    [
        {"ts": clock.stamp(NOW - 29 * DAY)},
        {"confidence": 0.8},
        {"kind": "failure", "prevention": "x", "seen": 2},
        {"applies_to": "limiting"},
    ],
    ids=["fresh", "sure", "repeated", "more words"],
)
def test_what_comes_first(titles, better: dict) -> None:
    rows = [row("rate good", **better), *[row(f"rate {number}") for number in range(9)]]
    assert titles(rows)[0] == "rate good"


@pytest.mark.parametrize(
    "worse", [{"ts": clock.stamp(NOW - 30 * DAY)}, {"confidence": 0.79}, {"seen": 1}]
)
def test_just_below_each_bound_is_nothing_special(titles, worse: dict) -> None:
    rows = [row("rate older", **worse), row("rate newer", ts=worse.get("ts", row("x")["ts"]))]
    assert titles(rows)[0] == "rate newer"


def test_sure_and_fresh_ones_come_before_those_that_fit_a_little_better(titles) -> None:
    old = [
        row(f"rate limiting of the api {one}", ts="2020-01-01T00:00:00Z", confidence=0.3)
        for one in "abcdef"
    ]
    new = row("limiting", ts=clock.stamp(NOW - DAY), confidence=0.9)
    assert titles([*old, new], "rate limiting of the api")[0] == "limiting"


def test_what_barely_fits_pushes_nothing_out_however_fresh_and_sure_it_is(titles) -> None:
    good = row("rate limiting with a token bucket", ts="2020-01-01T00:00:00Z")
    noise = [
        row(f"api of module {one}", confidence=1, ts=clock.stamp(NOW)) for one in "abcdefghijk"
    ]
    assert titles([good, *noise])[0] == good["context"]


def test_what_is_shown_of_each_kind(tmp_path: Path) -> None:
    rows = [
        {"kind": "failure", "context": "rate", "prevention": "prevent"},
        {"kind": "discovery", "context": "rate", "discovery": "discover"},
        {"kind": "constraint", "context": "rate", "constraint": "constrain"},
        {"kind": "delegation", "context": "rate", "prevention": "delegate"},
    ]
    write(tmp_path, rows)
    assert {one.text for one in fitting(tmp_path, "rate")} == {
        "prevent",
        "discover",
        "constrain",
        "delegate",
    }


def test_several_of_one_context_have_titles_of_their_own(titles) -> None:
    rows = [
        {"kind": "constraint", "context": "limits", "constraint": f"rule {number}"}
        for number in range(5)
    ]
    assert len(set(titles(rows, "limits"))) == 5


def test_the_same_learning_is_shown_once_as_its_newest_line_says(tmp_path: Path) -> None:
    first = {"kind": "failure", "context": "rate", "failure": "lost counts", "prevention": "old"}
    write(
        tmp_path,
        [first, {**first, "context": "Rate ", "prevention": "new", "seen": 2}, row("rate 2")],
    )
    assert [one.text for one in fitting(tmp_path, "rate")] == ["new", "rate 2!"]


def test_the_same_input_gives_the_same_order(tmp_path: Path) -> None:
    write(tmp_path, [row(f"rate limiting {number}") for number in range(100, 600)])
    first = fitting(tmp_path)
    assert fitting(tmp_path) == first
    assert first[0].title == "rate limiting 599", "the newest where all else is the same"


def test_a_request_of_any_length_and_with_any_characters(titles) -> None:
    rows = [row("rate")]
    assert titles(rows, "rate " + " ".join(f"word{n}" for n in range(200_000))) == ["rate"]
    for strange in (
        '"rate',
        "rate\0",
        "rate* OR (",
        "NEAR(rate)",
        "rate\ud800",
        "context:rate",
        "-rate",
        "rate'",
    ):
        assert titles(rows, strange) == ["rate"], strange
    assert titles(rows, "") == titles(rows, "?!") == []


# -- files with anything in them


def test_a_file_with_anything_in_it(tmp_path: Path) -> None:
    good = json.dumps(row("rate")).encode()
    other = json.dumps(row("rate 2")).encode()
    long = json.dumps(row("rate 3 " + "x" * 1_000_000)).encode()
    strange = (
        b'{"kind":"mood"}\n\xff\xff\n'
        + b"[" * 100_000
        + b"\n"
        + b'{"kind":"failure"}\n'
        + b"y" * 1_000_000
    )
    (tmp_path / "learnings.jsonl").write_bytes(
        b"\xef\xbb\xbf"
        + good
        + b"\r\n\n{\nnull\n[]\n"
        + strange
        + b"\n"
        + long
        + b"\n"
        + other
        + b'\n{"kind":"disc'
    )
    found = fitting(tmp_path)
    assert {one.title[:6] for one in found} == {"rate", "rate 2", "rate 3"}
    wanted = "learnings.jsonl: lines 3, 4, 5, 6, 7 and 4 more cannot be read and are left out"
    assert [one.split("/")[-1] for one in found.notes] == [wanted]


def test_one_bad_line(tmp_path: Path) -> None:
    write(tmp_path, [row("rate")])
    with open(tmp_path / "learnings.jsonl", "ab") as file:
        file.write(b'{"kind":"failure","context":"rate')
    found = fitting(tmp_path)
    assert len(found) == 1 and found.notes[0].endswith("line 2 cannot be read and is left out")


@pytest.mark.parametrize(
    "strange",
    [
        {"ts": None},
        {"ts": "9999999-99"},
        {"confidence": "high"},
        {"confidence": float("nan")},
        {"seen": []},
        {"seen": 1e400, "kind": "failure", "failure": "f"},
        {"seen": 10**400, "kind": "failure", "failure": "f"},
        {"context": 7, "applies_to": "rate"},
        {"discovery": None},
        {"discovery": "\ud800 \0"},
        {"applies_to": {"a": 1}},
        {"applies_to": ["api", 1, None]},
    ],
)
def test_strange_fields_do_no_harm(titles, strange: dict) -> None:
    assert len(titles([row("rate", **strange), row("rate 2", applies_to=["api", "x"])])) == 2


def test_no_file_is_no_learning(tmp_path: Path) -> None:
    assert fitting(tmp_path) == []
    assert learnings.fitting(None, "rate", NOW, {}, pytest.fail) == []
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_something_else_in_the_place_of_the_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "learnings.jsonl"
    {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path), "link": lambda: path.symlink_to(path)}[
        kind
    ]()
    found = fitting(tmp_path)
    assert found == []
    assert len(found.notes) == (kind != "link") and all("cannot read" in one for one in found.notes)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    write(tmp_path, [row("rate")])
    (tmp_path / "learnings.jsonl").chmod(0)
    assert "Permission denied" in fitting(tmp_path).notes[0]


# -- the other sources


def decide(
    root: Path,
    status: str = "DECISION",
    loop: str = "001-export",
    name: str = "001-stream.md",
    **more,
) -> Path:
    folder = root / loop / "learnings"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(
        DECISION.format(status=status).replace("Stream", more.get("verb", "Stream")),
        encoding="utf-8",
    )
    return path


def test_decisions_of_earlier_loops_are_found_superseded_ones_are_not(tmp_path: Path) -> None:
    decide(tmp_path)
    decide(tmp_path, "SUPERSEDED by 004", name="002-other.md", verb="Write")
    decide(tmp_path, loop="archive")
    (tmp_path / "001-export" / "learnings" / "notes.md").write_bytes(b"# rows\n\xff")
    (one,) = fitting(tmp_path, "stream the rows of an export")
    assert one.kind == "decision" and one.title == "Stream rows to the client"
    assert one.text == "generator response, 1,000 rows at a time"
    assert one.where == "001-export/learnings/001-stream.md"


@pytest.mark.parametrize("head", ["Instead", "Avoid"])
def test_anti_patterns_say_what_to_do_instead(tmp_path: Path, head: str) -> None:
    path = decide(tmp_path)
    path.write_text(
        "# Anti-pattern 002: Retry in the client\r\n**Status**: ANTI-PATTERN\r\n**What**: each "
        "call retries\r\n"
        f"**Why**: load triples\r\n**{head}**: retry once,\r\nat the edge\r\n"
    )
    (one,) = fitting(tmp_path, "retry of client calls")
    assert (one.kind, one.title, one.text) == (
        "anti-pattern",
        "Retry in the client",
        "instead: retry once, at the edge",
    )


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ("", 0),
        ("[recall]\nuser = true\n", 1),
        ("\ufeff[recall]\r\nuser = true\r\n", 1),
        ("[recall]\nuser = false\n", 0),
        ("recall = 7\n", 0),
        ("[recall\n", 0),
    ],
)
def test_the_users_own_learnings_are_read_where_the_project_says_so(
    tmp_path: Path, config: str, found: int
) -> None:
    (tmp_path / "config.toml").write_text(config, encoding="utf-8")
    mine = tmp_path / "mine"
    mine.mkdir()
    write(mine, [row("rate")])
    assert len(fitting(tmp_path, LOOPKIT_CONFIG_DIR=str(mine))) == found


def test_the_projects_word_stands_where_the_user_has_the_same(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[recall]\nuser = true\n")
    (tmp_path / "mine").mkdir()
    write(tmp_path, [row("rate")])
    write(tmp_path / "mine", [row("rate"), row("rate more")])
    found = fitting(tmp_path, LOOPKIT_CONFIG_DIR=str(tmp_path / "mine"))
    assert sorted((one.title, one.where) for one in found) == [
        ("rate", "project"),
        ("rate more", "user"),
    ]


# -- as the files are now


def test_a_recall_says_what_the_files_say_now_and_writes_nothing(tmp_path: Path) -> None:
    write(tmp_path, [row("rate 1"), row("rate 2")])
    decision = decide(tmp_path, verb="Rate")
    (tmp_path / "learnings.db").write_bytes(b"of an earlier version")
    assert {one.title for one in fitting(tmp_path)} == {
        "rate 1",
        "rate 2",
        "Rate rows to the client",
    }
    write(tmp_path, [{}, row("rate 2", confidence=1), row("rate 3")], "ab")
    decision.write_text(DECISION.format(status="SUPERSEDED by 002"))
    found = fitting(tmp_path)
    assert [one.title for one in found] == ["rate 2", "rate 3", "rate 1"]
    assert [one.partition(": ")[2][:6] for one in found.notes] == ["line 3"]
    assert sorted(os.listdir(tmp_path)) == ["001-export", "learnings.db", "learnings.jsonl"]


# -- adding


def test_lines_are_added_behind_an_unfinished_one(tmp_path: Path) -> None:
    path = tmp_path / "learnings.jsonl"
    learnings.append(str(path), [row("rate 1"), row("\ud800")])
    path.write_bytes(path.read_bytes() + b'{"kind":"dis')
    learnings.append(str(path), [row("rate 2")])
    found = learnings.rows(str(path))
    assert [one["context"] for one in found] == ["rate 1", "\ud800", "rate 2"]


def test_nothing_is_left_of_lines_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "learnings.jsonl"
    learnings.append(str(path), [row("rate 1")])
    before, real, calls = path.read_bytes(), os.write, []

    def full(descriptor: int, data: bytes) -> int:
        calls.append(1)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[:10])

    monkeypatch.setattr(learnings.os, "write", full)
    with pytest.raises(OSError):
        learnings.append(str(path), [row("rate 2")])
    assert path.read_bytes() == before
