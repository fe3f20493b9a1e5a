"""The loop's line in the client's status line: shown, put into the person's settings, taken out."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from loopkit.core.steps import announce
from loopkit.hooks import dispatch
from tests.cli.kit import ROOT, S1, S2, Project, task


def settings(project: Project) -> Path:
    folder = Path(project.environment["HOME"], ".claude")
    folder.mkdir(exist_ok=True)
    return folder / "settings.json"


def shown(project: Project, session: str = S1, **given: object) -> str:
    """What the hook's way prints, within this process."""
    raw = json.dumps({"session_id": session, "cwd": str(project.folder), **given}).encode()
    env = project.env()
    before = os.environ.copy()
    os.environ.update(env)
    try:
        return dispatch.answer("statusline", raw, env, env["LOOPKIT_DATA"], 0).decode()
    finally:
        os.environ.clear()
        os.environ.update(before)


# -- what it says


def test_the_line_follows_the_loop(project: Project) -> None:
    assert shown(project) == "" and project.ok("statusline", given="{}").out == ""
    project.planned(task("a"), task("b"))
    name = "001"
    assert shown(project) == f"loop {name}: decompose, 0/2 tasks, 0 min"
    project.ok("wave", "next")
    assert shown(project) == f"loop {name}: executing, 0/2 tasks, wave 1, 0 min"
    assert f"loop {name} (another session's): " in shown(project, S2)
    assert project.ok("statusline", given={"session_id": S2}).out == shown(project, S2) + "\n"
    project.ok("ask", "which one?")
    assert shown(project) == f"loop {name} waits for your answer: /loop:status"
    project.ok("answer", "this")
    project.ok("pause")
    assert shown(project) == f"loop {name} is paused: /loop:resume, /loop:cancel"
    project.ok("cancel")
    assert shown(project) == ""


@pytest.mark.parametrize("raw", ["", "{", "[]", "\x00", '{"session_id": 7}', "[" * 100_000])
def test_whatever_the_client_gives(project: Project, raw: str) -> None:
    project.planned()
    answer = project.lk("statusline", given=raw)
    assert (answer.exit, answer.err) == (0, "") and answer.out.startswith("loop 001: ")


def test_a_loop_that_came_along_has_no_line(project: Project) -> None:
    project.planned()
    for kept in Path(project.environment["HOME"]).rglob("loops/*"):
        kept.unlink()
    assert shown(project) == "" == project.ok("statusline").out


def test_work_and_money_are_in_the_line(project: Project) -> None:
    project.planned(task("a"))
    project.ok("wave", "next")
    snapshot = {**project.snapshot, "out": ["T-001-1", "T-002-1"]}

    class Session:
        status, stage, question, limit_usd = "running", "executing", None, 25.0
        spent_seconds = 3720

        def cost(self) -> tuple:
            return 1.2, 0, []

    said = announce.line("001-a", snapshot, Session(), True)  # type: ignore[arg-type]
    assert said.endswith("wave 1, 2 agents at work, $1.20 of $25, 1 h 2 min")


# -- the settings

WRITTEN = {
    "none": None,
    "empty": "{}\n",
    "empty with blanks": "{ }",
    "others": '{\n  "model": "opus",\n  "env": {"A": "é\\u00e9"}\n}\n',
    "in one line": '{"model":"opus"}',
    "with tabs and CRLF": '{\r\n\t"model": "opus"\r\n}\r\n',
    "a command": '{\n    "statusLine": {"type": "command", "command": "echo \\u0061 # b", '
    '"padding": 0},\n    "model": "opus"\n}',
    "a command alone": '{"statusLine":{"command":"cat","type":"command"}}\n\n',
}


@pytest.mark.parametrize("how", WRITTEN)
def test_it_is_shown_first_and_taken_out_to_the_byte(project: Project, how: str) -> None:
    path, before = settings(project), WRITTEN[how]
    if before is not None:
        path.write_bytes(before.encode())
        path.chmod(0o600)
    said = project.ok("statusline", "--install").out
    assert "+" in said and "loopkit statusline --install --yes" in said
    assert (path.read_bytes().decode() if path.exists() else None) == before, "shown only"
    project.ok("statusline", "--install", "--yes")
    row = json.loads(path.read_bytes())["statusLine"]
    assert row["type"] == "command" and "/statusline" in row["command"]
    if before is not None:
        assert path.stat().st_mode & 0o777 == 0o600
        kept = json.loads(before)
        assert {**json.loads(path.read_bytes()), "statusLine": kept.get("statusLine")} == {
            "statusLine": None,
            **kept,
        }
    assert "already" in project.ok("statusline", "--install", "--yes").out
    assert "-" in project.ok("statusline", "--remove").out
    project.ok("statusline", "--remove", "--yes")
    assert (path.read_bytes().decode() if path.exists() else None) == before
    assert "not in your status line" in project.ok("statusline", "--remove", "--yes").out
    assert not Path(project.environment["LOOPKIT_DATA"], "statusline").exists()


@pytest.mark.parametrize("how", [how for how, text in WRITTEN.items() if text])
def test_what_the_client_wrote_anew_meanwhile_stays(project: Project, how: str) -> None:
    """It writes its settings whole, in its own form, and others change them too."""
    path = settings(project)
    path.write_text(WRITTEN[how] or "")
    project.ok("statusline", "--install", "--yes")
    written = {"theme": "dark", **json.loads(path.read_text())}
    path.write_text(json.dumps(written, indent=2, ensure_ascii=True))
    project.ok("statusline", "--remove", "--yes")
    assert json.loads(path.read_text()) == {"theme": "dark", **json.loads(WRITTEN[how] or "")}


ODD = {
    "a link": lambda path: path.symlink_to(path.with_name("elsewhere.json")),
    "a link to itself": lambda path: path.symlink_to(path),
    "read-only": lambda path: (path.write_text("{}"), path.chmod(0o444)),
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "damaged": lambda path: path.write_text('{"model": '),
    "a list": lambda path: path.write_text("[]"),
    "twice": lambda path: path.write_text('{"statusLine": {}, "statusLine": {}}'),
    "with a mark": lambda path: path.write_text("\ufeff{}"),
    "not UTF-8": lambda path: path.write_bytes(b'{"a": "\xff"}'),
    "too large": lambda path: path.write_text('{"a": "%s"}' % ("x" * (1 << 20))),
}


@pytest.mark.parametrize("how", ODD)
def test_what_cannot_be_changed_safely_is_left_alone(project: Project, how: str) -> None:
    path = settings(project)
    path.with_name("elsewhere.json").write_text("{}")
    ODD[how](path)
    before = path.read_bytes() if path.is_file() else None
    for words in (("--install", "--yes"), ("--remove", "--yes"), ("--install",)):
        said = project.refused(3, "statusline", *words, says="left alone")
        assert str(path) in said
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize("value", ['"x"', "null", "7", '{"type": "static"}', '{"command": "x"}'])
def test_a_status_line_that_is_no_command_is_kept(project: Project, value: str) -> None:
    path = settings(project)
    path.write_text(f'{{"statusLine": {value}}}')
    project.refused(1, "statusline", "--install", "--yes", says="no command")
    assert "not in your" in project.ok("statusline", "--remove", "--yes").out
    assert path.read_text() == f'{{"statusLine": {value}}}'


def test_both_are_shown_and_each_gets_what_the_client_said(
    project: Project, tmp_path: Path
) -> None:
    """The one that was there to the letter, a remark at its end included; run as the client does,
    which is the only test here that starts programs."""
    path, said = settings(project), tmp_path / "said"
    theirs = f"tee {shlex.quote(str(said))} >/dev/null; echo 'it''s theirs' # and a remark"
    path.write_text(json.dumps({"statusLine": {"type": "command", "command": theirs}}))
    project.environment["LOOPKIT_DATA"] = str(tmp_path / "da'ta & co")
    project.planned()
    project.ok("statusline", "--install", "--yes")
    command = json.loads(path.read_text())["statusLine"]["command"]
    given = json.dumps({"session_id": S1, "cwd": str(project.folder), "é": "$(x) `y` ' \\n"})

    def drawn(folder: Path, **more: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env=project.env(PYTHONDONTWRITEBYTECODE="1", **more),
            input=given.encode(),
            capture_output=True,
            check=True,
        )
        assert done.stderr == b""
        return done.stdout.decode()

    line = "loop 001: decompose, 0/1 tasks, 0 min\n"
    assert drawn(project.folder) == f"{line}its theirs\n"
    assert json.loads(said.read_text()) == json.loads(given)
    assert drawn(tmp_path) == "its theirs\n", "silent without a loop"
    assert drawn(project.folder, LOOPKIT_DISABLED="1") == "its theirs\n"
    root = Path(project.environment["LOOPKIT_DATA"], "root")
    root.write_text("/no/longer/there\n")
    assert drawn(project.folder) == "its theirs\n", "the plugin was removed or moved"
    start = json.dumps({"session_id": S1, "cwd": str(project.folder), "source": "startup"}).encode()
    launcher = ["/bin/sh", ROOT / "hooks" / "run", "session_start"]
    subprocess.run(launcher, cwd=project.folder, env=project.env(), input=start, check=True)
    assert drawn(project.folder) == f"{line}its theirs\n", "each session's start notes where it is"
    assert not Path(project.environment["LOOPKIT_DATA"], "beats", "statusline").exists()


def test_where_a_projects_settings_come_first_it_is_said(project: Project) -> None:
    folder = project.folder / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text('{"statusLine": {"type": "command", "command": "x"}}')
    out = project.ok("statusline", "--install", "--yes").out
    assert str(folder / "settings.json") in out


def test_a_yes_to_nothing_is_refused(project: Project) -> None:
    project.refused(2, "statusline", "--yes", says="--install or --remove")
