"""Transcripts: usage once a message, activity, bounded pieces, bytes that are no text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.store import transcript

USAGE = {
    "input_tokens": 3,
    "output_tokens": 50,
    "cache_creation_input_tokens": 7,
    "cache_read_input_tokens": 1000,
}


def line(
    name: str,
    block: dict | None = None,
    model: str = "claude-sonnet-5",
    at: str = "2026-12-01T10:00:00.000Z",
    **usage: Any,
) -> str:
    message = {
        "id": name,
        "model": model,
        "role": "assistant",
        "content": [block or {"type": "text", "text": "hm"}],
        "usage": {**USAGE, **usage},
    }
    return (
        json.dumps({"type": "assistant", "timestamp": at, "message": message}, ensure_ascii=False)
        + "\n"
    )


TOOL = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
SAID = 'say "assistant" and "tool_use"'
USER = (
    json.dumps(
        {
            "type": "user",
            "timestamp": "2026-12-01T10:00:00Z",
            "message": {"role": "user", "content": SAID},
        }
    )
    + "\n"
)


@pytest.fixture
def main(tmp_path: Path) -> Path:
    return tmp_path / "3f2c.jsonl"


def read(
    main: Path, offsets: dict | None = None, ids: list | None = None, **more: Any
) -> transcript.Reading:
    return transcript.read(str(main), offsets or {}, ids or [], **more)


def test_each_message_counts_once(main: Path) -> None:
    main.write_text(
        USER
        + line("m1")
        + line("m1", TOOL)
        + line("m2", output_tokens=1)
        + line("m3", model="other")
    )
    reading = read(main)
    assert reading.usage == {"claude-sonnet-5": [6, 51, 14, 2000], "other": [3, 50, 7, 1000]}
    assert reading.active
    assert reading.offsets == {"3f2c.jsonl": main.stat().st_size}
    assert reading.message_ids == ["m1", "m2", "m3"]


def test_the_next_reading_goes_on_where_the_last_one_ended(main: Path) -> None:
    main.write_text(line("m1", TOOL))
    first = read(main)
    with main.open("a") as file:
        file.write(line("m1") + USER + line("m2"))
    second = read(main, first.offsets, first.message_ids)
    assert second.usage == {"claude-sonnet-5": [3, 50, 7, 1000]} and not second.active
    third = read(main, second.offsets, second.message_ids)
    assert third == transcript.Reading(False, {}, {}, ["m1", "m2"], 0, {})


def test_a_line_without_its_end_waits(main: Path) -> None:
    whole = line("m1") + line("m2", TOOL)
    main.write_text(whole[:-20])
    first = read(main)
    assert first.offsets == {"3f2c.jsonl": len(line("m1"))} and not first.active
    main.write_text(whole)
    second = read(main, first.offsets, first.message_ids)
    assert second.active and second.usage["claude-sonnet-5"][1] == 50


def test_subagents_and_noted_transcripts_are_read_too(main: Path, tmp_path: Path) -> None:
    folder = tmp_path / "3f2c" / "subagents"
    folder.mkdir(parents=True)
    main.write_text(line("m1"))
    (folder / "agent-a.jsonl").write_text(line("m2", TOOL))
    (folder / "agent-a.meta.json").write_text("{}")
    (folder / "other.jsonl").write_text(line("m9"))
    (tmp_path / "agent-b.jsonl").write_text(line("m3"))
    extra = (
        str(tmp_path / "agent-b.jsonl"),
        str(folder / "agent-a.jsonl"),
        str(tmp_path / "gone.jsonl"),
        "",
    )
    reading = read(main, extra=extra)
    assert reading.active and reading.usage["claude-sonnet-5"][1] == 150
    assert sorted(reading.offsets) == ["3f2c.jsonl", "agent-a.jsonl", "agent-b.jsonl"]


def test_what_was_said_before_the_loop_does_not_count(main: Path) -> None:
    main.write_text(
        line("m1", TOOL, at="2026-12-01T09:59:59.999Z") + line("m2", at="2026-12-01T10:00:00.001Z")
    )
    reading = read(main, since="2026-12-01T10:00:00Z")
    assert reading.usage == {"claude-sonnet-5": [3, 50, 7, 1000]} and not reading.active
    assert reading.offsets["3f2c.jsonl"] == main.stat().st_size


def test_words_are_not_deeds(main: Path) -> None:
    main.write_text(
        USER
        + line("m1", {"type": "text", "text": 'a "tool_use" of "assistant"'})
        + line("e", model="<synthetic>")
    )
    reading = read(main)
    assert not reading.active and list(reading.usage) == ["claude-sonnet-5"]


@pytest.mark.parametrize(
    "raw",
    [
        b"\x8f",
        b"\x8f\n",
        b'"assistant"\n' * 3,
        b'{"type":"assistant"}\n',
        b'{"type":"assistant","message":[1]}\n',
        b'{"type":"assistant","message":{"id":["x"],"model":{},"usage":7,"content":{}}}\n',
        b'{"type":"assistant","message":{"id":[],"model":"m","usage":{},"content":[{"type":"text"}]}}\n',
        b'{"type":"assistant","message":' + b"[" * 100_000 + b"\n",
        b"\0" * 100 + b"\n",
    ],
)
def test_bytes_that_say_nothing(main: Path, raw: bytes) -> None:
    main.write_bytes(raw + line("m1", TOOL).encode())
    assert read(main).usage.keys() <= {"claude-sonnet-5"}
    main.write_bytes(line("m1", TOOL).encode() + raw)
    reading = read(main)
    assert reading.active and reading.usage == {"claude-sonnet-5": [3, 50, 7, 1000]}


def test_stray_bytes_inside_a_line_are_skipped(main: Path) -> None:
    main.write_bytes(
        line("m1", {"type": "text", "text": "PLACE"}).encode().replace(b"PLACE", b"\x8f\xff")
    )
    assert read(main).usage


@given(st.binary(max_size=400), st.integers(0, 500))
def test_any_bytes_any_offset(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, offset: int
) -> None:
    main = tmp_path_factory.mktemp("t") / "s.jsonl"
    main.write_bytes(raw)
    reading = read(main, {"s.jsonl": offset})
    assert 0 <= reading.offsets.get("s.jsonl", offset) <= max(offset, len(raw))


@pytest.mark.parametrize("piece", [1, 7, 64, 4096])
def test_pieces_of_any_size_give_the_same(
    main: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    main.write_text(
        (USER + line("m1", {"type": "text", "text": "ü" * 300}) + line("m2", TOOL)) * 2 + "torn"
    )
    whole = read(main)
    monkeypatch.setattr(transcript, "PIECE", piece)
    assert read(main) == whole and whole.active


def test_a_reading_is_bounded_and_goes_on_later(main: Path) -> None:
    lines = [line(f"m{number}") for number in range(50)]
    main.write_text("".join(lines))
    offsets: dict = {}
    ids: list = []
    counted, rounds = 0, 0
    while offsets.get("3f2c.jsonl", 0) < main.stat().st_size:
        reading = read(main, offsets, ids, most=1000)
        assert reading.offsets, "no progress"
        offsets, ids = {**offsets, **reading.offsets}, reading.message_ids
        counted += reading.usage.get("claude-sonnet-5", [0, 0])[1]
        rounds += 1
    assert counted == 50 * 50 and rounds > 10


def test_a_line_too_long_to_keep_is_passed_over(
    main: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "PIECE", 256)
    monkeypatch.setattr(transcript, "LONGEST_LINE", 2000)
    main.write_text(line("m1", {"type": "text", "text": "x" * 10_000}) + line("m2", TOOL))
    reading = read(main)
    assert reading.usage == {"claude-sonnet-5": [3, 50, 7, 1000]} and reading.message_ids == ["m2"]
    assert reading.offsets["3f2c.jsonl"] == main.stat().st_size


def test_a_line_longer_than_one_reading_does_not_stop_all_later_ones(main: Path) -> None:
    main.write_text(line("m1", {"type": "text", "text": "x" * 10_000}) + line("m2", TOOL))
    offsets: dict = {}
    active = False
    for _ in range(20):
        reading = read(main, offsets, most=1000)
        offsets.update(reading.offsets)
        active = active or reading.active
    assert active and offsets["3f2c.jsonl"] == main.stat().st_size


def test_a_file_that_was_replaced_is_read_anew(main: Path) -> None:
    main.write_text(line("m1"))
    assert read(main, {"3f2c.jsonl": 10_000}).offsets == {"3f2c.jsonl": main.stat().st_size}


def test_files_that_are_not_there_or_cannot_be_read(main: Path, tmp_path: Path) -> None:
    nothing = transcript.Reading(False, {}, {}, [], 0, {})
    assert read(main) == nothing
    main.mkdir()
    assert read(main) == nothing
    assert transcript.read("", {}, []) == nothing
    assert transcript.read("a\0b", {}, []) == nothing


def test_ids_that_are_carried_stay_few(main: Path) -> None:
    main.write_text("".join(line(f"m{number}") for number in range(500)))
    assert read(main).message_ids == [
        f"m{number}" for number in range(500 - transcript.CARRIED, 500)
    ]


def test_an_hour_s_cache_searches_and_fast_mode_are_told_apart(tmp_path: Path) -> None:
    usage = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_creation_input_tokens": 30,
        "cache_read_input_tokens": 4,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
        "server_tool_use": {"web_search_requests": 3},
    }
    rows = [
        ("m1", usage),
        ("m2", {**usage, "speed": "fast"}),
        ("m3", {**usage, "server_tool_use": None}),
    ]
    odd = {**usage, "cache_creation": {"ephemeral_1h_input_tokens": 10**9}, "server_tool_use": [7]}
    file = tmp_path / "s.jsonl"
    with file.open("w") as out:
        for name, one in [*rows, ("m4", odd)]:
            message = {"id": name, "model": "claude-opus-5", "content": [], "usage": one}
            out.write(json.dumps({"type": "assistant", "message": message}) + "\n")
    assert transcript.read(str(file), {}, []).usage == {
        "claude-opus-5": [3, 6, 20, 12, 70, 3],
        "claude-opus-5 fast": [1, 2, 10, 4, 20, 3],
    }


@pytest.mark.parametrize("text", ["x", "x" * 3_000_000], ids=["many lines", "long lines"])
def test_what_is_older_than_the_loop_is_not_read_however_long_it_is(
    main: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Nor is it found by reading it: the newest lines are, at once, with a tool's call in them."""
    old = line("old", {"type": "text", "text": text}, at="2026-12-01T09:00:00.000Z")
    main.write_text(old * max(8, 20_000_000 // len(old)) + line("new", TOOL))
    looked: list[int] = []
    whole = transcript._read_file

    def counted(path: str, offset: int, *more: Any) -> tuple:
        looked.append(main.stat().st_size - offset)
        return whole(path, offset, *more)

    monkeypatch.setattr(transcript, "_read_file", counted)
    reading = read(main, since="2026-12-01T10:00:00Z", most=12_000_000)
    assert reading.active and list(reading.usage) == ["claude-sonnet-5"]
    assert reading.offsets == {main.name: main.stat().st_size}
    assert looked[0] < 12_000_000


# -- time: lines as the client (2.1.332) writes them, in seconds after ten


def at(second: float) -> str:
    whole = int(second)
    return f"2026-12-01T{10 + whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}.500Z"


def row(kind: str, second: float, **fields: Any) -> str:
    head = {"parentUuid": "62af9a86-5dab-46b4-aac9-69babd69abfa", "isSidechain": False}
    rest = {"timestamp": at(second), "userType": "external", "sessionId": "3f2c"}
    return json.dumps({**head, "type": kind, **fields, **rest}, separators=(",", ":")) + "\n"


def asks(second: float, words: str = 'say "tool_result" and "type":"tool_result"') -> str:
    return row("user", second, message={"role": "user", "content": words})


def says(second: float, stop: str | None = "tool_use", *calls: str) -> str:
    blocks = [{"type": "tool_use", "id": "t", "name": name, "input": {}} for name in calls]
    content = blocks or [{"type": "text", "text": "hm"}]
    message = {"id": f"m{second}", "model": "m", "content": content, "stop_reason": stop}
    return row("assistant", second, message={**message, "usage": USAGE})


def gives(second: float, asked: bool = False, **more: Any) -> str:
    content = [{"tool_use_id": "t", "type": "tool_result", "content": '"timestamp":"2020-01-01"'}]
    word = {"decision": "accept", "source": "user_temporary" if asked else "rule"}
    message = {"role": "user", "content": content}
    return row("user", second, message=message, permissionDecision=word, **more)


def interrupted(second: float) -> str:
    content = [{"type": "text", "text": "[Request interrupted by user for tool use]"}]
    return row("user", second, message={"role": "user", "content": content})


def held(second: float) -> str:
    told = {"type": "hook_additional_context", "content": ["Loop 001: executing"]}
    return row("attachment", second, attachment=told)


def client_says(second: float, failed: bool) -> str:
    """Not the model: at the resume of a session whose client died in a request, or of an error."""
    content = [{"type": "text", "text": "No response requested."}]
    message = {"id": f"c{second}", "model": "<synthetic>", "content": content, "usage": USAGE}
    message["stop_reason"] = "stop_sequence"
    return row("assistant", second, message=message, isApiErrorMessage=failed)


NOTE = '{"type":"mode","mode":"normal","sessionId":"3f2c"}\n'
WORK = asks(0) + NOTE + says(4, "tool_use") + says(5, "tool_use", "Bash") + gives(25)


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        (WORK + says(30, "end_turn") + asks(9000) + says(9010, "end_turn"), 40),
        (WORK + says(30, "end_turn") + held(31) + says(40, "end_turn"), 39),
        (WORK + says(30, "tool_use", "Bash") + gives(9000), 630),
        (WORK + says(30, "tool_use", "Bash") + gives(9000, True), 90),
        (WORK + says(30, "tool_use", "AskUserQuestion") + gives(9000) + says(9007, "end_turn"), 37),
        (WORK + says(30, "tool_use", "Bash") + interrupted(40) + asks(90) + says(95, None), 35),
        (WORK + asks(28) + says(30, "end_turn"), 27),
        (WORK + client_says(9000, False) + asks(9001) + says(9005, "end_turn"), 29),
        (WORK + client_says(40, True), 40),
    ],
    ids=[
        "a wait",
        "a hold",
        "asleep",
        "a dialog",
        "a question",
        "Esc",
        "queued words",
        "a weekend",
        "an error",
    ],
)
def test_time_in_which_the_client_works(main: Path, lines: str, seconds: int) -> None:
    main.write_text(lines)
    assert read(main).worked == seconds
    stepwise, clock, offsets, ids = 0, {}, {}, []
    with main.open("w") as file:
        for one in lines.splitlines(keepends=True):
            file.write(one)
            file.flush()
            reading = read(main, offsets, ids, times=clock)
            stepwise, clock, ids = stepwise + reading.worked, reading.clock, reading.message_ids
            offsets = {**offsets, **reading.offsets}
    assert stepwise <= seconds, "read line by line, by a session that is gone"


def test_an_agent_works_beside_and_is_over_when_it_hands_back(main: Path, tmp_path: Path) -> None:
    folder = tmp_path / "3f2c" / "subagents"
    folder.mkdir(parents=True)
    main.write_text(WORK + says(30, "end_turn"))
    agent = folder / "agent-a.jsonl"
    agent.write_text(asks(26) + says(40, "tool_use", "Bash"))
    now = 1796119200 + 100  # at(100)
    first = read(main, now=now)
    assert first.worked == 100 and first.clock["busy"].keys() == {"agent-a.jsonl"}
    with agent.open("a") as file:
        file.write(gives(130) + says(150, "tool_use", "SubagentHandback") + gives(151))
    second = read(main, first.offsets, first.message_ids, times=first.clock, now=now + 500)
    assert second.worked == 50 and "busy" not in second.clock


def test_older_lines_are_not_about_the_loop_but_those_after_a_clock_set_back_are(
    main: Path,
) -> None:
    main.write_text(WORK + says(30, "end_turn") + asks(100) + says(110, "tool_use", "Bash"))
    first = read(main, since=at(99))
    assert (first.worked, first.usage["m"][1]) == (10, 50)
    with main.open("a") as file:
        file.write(gives(0) + says(20, "tool_use", "Bash") + gives(50))
    second = read(main, first.offsets, first.message_ids, times=first.clock)
    assert (second.worked, second.usage["m"][1]) == (50, 50)


def test_a_line_without_a_time_says_nothing_of_those_behind_it(main: Path) -> None:
    bare = '{"type":"user","message":{"role":"user","content":"2027"}}\n'
    odd = '{"type":"user","timestamp":17,"message":{"role":"user","content":"hm"}}\n'
    nobody = json.loads(says(50, "tool_use", "Bash"))
    del nobody["timestamp"]
    main.write_text(bare + odd + json.dumps(nobody) + "\n" + WORK + asks(100) + says(104, None))
    reading = read(main, since=at(99))
    assert (reading.worked, reading.usage["m"][1]) == (4, 100)
