"""Everyday misfortunes of a held session: transcripts that tear, move, shrink or hang, clocks, two
stops at once."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from loopkit.core.journal import clock
from loopkit.hooks import dispatch
from loopkit.store import loops
from tests.hooks.conftest import S1, S2, Project
from tests.hooks.test_stop import TOOL, assistant

ONE = {"claude-sonnet-5": [10, 20, 0, 30]}  # what `assistant` says that a message used
TWO = {"claude-sonnet-5": [20, 40, 0, 60]}


def stop(project: Project, now: float | None = None, **given: object) -> dict:
    """A Stop within this process, at a time of our choice."""
    said = {"session_id": S1, "cwd": str(project.folder), "stop_hook_active": False}
    raw = json.dumps({**said, "transcript_path": str(project.transcript), **given}).encode()
    out = dispatch.answer("stop", raw, project.env, str(project.data), now or time.time())
    assert project.log() == ""
    return json.loads(out) if out else {}


def held(answer: dict) -> bool:
    return "hookSpecificOutput" in answer


def test_behind_a_long_journal_without_a_snapshot_nothing_is_folded(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folding 100,000 events takes longer than a stop may: one hold has a command do it."""
    project.start()
    snapshot = project.root / "workflow-state.json"
    whole = snapshot.read_bytes()
    snapshot.unlink()
    before = project.ledger.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(loops, "MOST_FOLDED", len(before) - 1)
        patch.setattr(loops, "fold", None)
        text = stop(project)["hookSpecificOutput"]["additionalContext"]
        assert "next: loopkit next" in text and "/loop:cancel" in text and len(text) < 500
        assert stop(project, stop_hook_active=True) == {}, "once a turn"
        assert stop(project, session_id=S2) == {}
        agents = [{"type": "subagent", "status": "running"}]
        assert stop(project, background_tasks=agents) == {}
        assert project.ledger.read_bytes() == before
        snapshot.write_bytes(whole)  # which any command does
        assert "T-001" in stop(project)["hookSpecificOutput"]["additionalContext"]
        snapshot.unlink()
        project.record("paused", reason="x")
        assert stop(project) == {}
    monkeypatch.setattr(loops, "MOST_FOLDED", project.ledger.stat().st_size)
    project.record("resumed", session_id=S1)
    assert stop(project)["hookSpecificOutput"]


def test_a_line_that_grows_between_two_stops_counts_once(project: Project) -> None:
    project.start()
    line = assistant("m1", TOOL)
    project.transcript.write_text(line[:40])
    assert held(stop(project)) and project.session.usage == {}
    project.transcript.write_text(line[:-1])
    assert held(stop(project)) and project.session.usage == {}
    project.transcript.write_text(line + assistant("m1", TOOL))
    stop(project)
    assert project.session.usage == ONE


def test_a_transcript_replaced_by_a_shorter_one_counts_what_is_new(project: Project) -> None:
    project.start()
    project.transcript.write_text(assistant("m1", TOOL) + "x" * 5000 + "\n")
    assert held(stop(project))
    project.transcript.write_text(assistant("m1", TOOL) + assistant("m2", TOOL))
    assert held(stop(project)) and project.session.usage == TWO


def test_a_transcript_that_was_moved_is_not_counted_again(project: Project) -> None:
    project.start()
    project.transcript.write_text(assistant("m1", TOOL))
    assert held(stop(project))
    moved = project.folder.parent / "elsewhere" / project.transcript.name
    moved.parent.mkdir()
    project.transcript.rename(moved)
    with moved.open("a") as file:
        file.write(assistant("m2", TOOL))
    assert held(stop(project, transcript_path=str(moved))) and project.session.usage == TWO


def test_two_sessions_one_after_the_other_are_both_counted(
    project: Project, tmp_path: Path
) -> None:
    project.start()
    project.transcript.write_text(assistant("m1", TOOL) + "x" * 9000 + "\n")
    assert held(stop(project))
    project.record("owner_changed", session_id=S2, client_pid=os.getpid())
    second = tmp_path / "second.jsonl"
    second.write_text(assistant("m2", TOOL))
    assert held(stop(project, session_id=S2, transcript_path=str(second)))
    assert project.session.usage == TWO
    project.record("owner_changed", session_id=S1, client_pid=os.getpid())
    assert held(stop(project)) and project.session.usage == TWO, "offsets belong to files"


def test_a_transcript_that_vanishes_takes_nothing_with_it(project: Project) -> None:
    project.start()
    project.transcript.write_text(assistant("m1", TOOL))
    assert held(stop(project))
    project.transcript.unlink()
    assert held(stop(project)) and project.session.usage == ONE


def test_a_line_of_nine_million_characters_hides_nothing_behind_it(project: Project) -> None:
    project.start()
    with project.transcript.open("w") as file:
        file.write(
            json.dumps({"type": "user", "message": {"content": "x" * 9_000_000}})
            + "\n"
            + assistant("m1", TOOL)
        )
    assert held(stop(project)) and project.session.usage == ONE


def test_a_transcript_that_is_a_pipe_hangs_nobody(project: Project) -> None:
    project.start()
    project.transcript.unlink()
    os.mkfifo(project.transcript)
    assert project.stop().held


@pytest.mark.parametrize("sign", ["true", 1, [], {}, None])
def test_only_the_client_s_own_true_is_a_forced_stop(project: Project, sign: object) -> None:
    project.start()
    assert held(stop(project)) and held(stop(project, stop_hook_active=sign))


def test_the_clock_goes_back_and_no_time_is_lost_or_won(project: Project) -> None:
    project.start()
    now = time.time()
    assert held(stop(project, now - 86400)) and held(stop(project, now - 3 * 86400))
    assert project.session.status == "running"


@pytest.mark.parametrize(("seconds", "verdict"), [(1799, None), (1800, "limit_time")])
def test_the_time_limit_binds_at_its_second(
    project: Project, seconds: int, verdict: str | None
) -> None:
    project.start()
    project.record("limits_set", seconds=1800)
    begun = clock.epoch(project.session.started_at)
    stamps = [*range(begun, begun + seconds, 500), begun + seconds]
    lines = [assistant(f"m{at}", TOOL, at=clock.stamp(at)) for at in stamps]
    project.transcript.write_text("".join(lines))
    assert held(stop(project, begun + seconds)) == (verdict is None)
    assert project.session.verdict == verdict
    progress = project.root / loops.PROGRESS
    said = progress.read_text() if progress.exists() else ""
    assert ("**Paused**: 30 min of 30 min used" in said) == bool(verdict)
    if verdict:
        project.record("owner_changed", session_id=S2, client_pid=os.getpid())
        project.record("limits_set", seconds=7200)
        project.record("resumed")
        assert held(stop(project, session_id=S2)), "raised, it goes on in another session"


@pytest.mark.parametrize(("messages", "verdict"), [(1, None), (2, "limit_budget")])
def test_the_money_limit_binds_at_its_cent_over_two_sessions(
    project: Project, tmp_path: Path, messages: int, verdict: str | None
) -> None:
    project.start(settings={"prices": {"claude-sonnet-5": [100_000.0, 0, 0, 0]}})  # 1 USD a message
    project.record("limits_set", usd=2.0)
    project.transcript.write_text(assistant("m1", TOOL))
    said = stop(project)["hookSpecificOutput"]["additionalContext"]
    assert "$1.00 of $2" in said and project.session.usage == ONE
    project.record("owner_changed", session_id=S2, client_pid=os.getpid())
    second = tmp_path / "second.jsonl"
    second.write_text("".join(assistant(f"n{number}", TOOL) for number in range(1, messages)))
    answer = stop(project, session_id=S2, transcript_path=str(second))
    assert held(answer) == (verdict is None) and project.session.verdict == verdict


def test_two_stops_at_once_are_two_whole_lines(project: Project) -> None:
    project.start()
    project.record("limits_set", iterations=None)
    before = len(project.lines)
    threads = [threading.Thread(target=project.stop) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [row["type"] for row in project.lines[before:]] == ["iteration_ended"] * 2
    assert project.session.iteration == 2


def test_an_input_of_five_megabytes_is_answered_like_any_other(project: Project) -> None:
    project.start()
    assert held(stop(project, last_assistant_message="é" * 5_000_000))
