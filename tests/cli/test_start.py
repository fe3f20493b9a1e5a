"""loopkit start: arming a loop, and step 0 where one stands already."""

from __future__ import annotations

import functools
import json
import subprocess
from pathlib import Path

import pytest

from loopkit.ops import start
from loopkit.store import typed
from tests.cli.kit import REQUEST, S1, S2, Project, at_once, task

GONE = "4194304"  # one more than the highest process number there is


def test_a_start_records_task_owner_limits_and_prints_them(project: Project) -> None:
    answer = project.start('add "limits" $(x) `y` & co\nand more')
    assert answer.out.startswith("loop 001-add-limits-x-y-co started, state in .loop/001-")
    assert "limits: 25 iterations, $25, 2 h" in answer.out
    assert answer.steps == ["loopkit next"] and "outcome" not in answer.out
    first = project.of("loop_started")[0]
    assert first["task"] == 'add "limits" $(x) `y` & co\nand more'
    assert (first["session_id"], first["unattended"], first["list"]) == (S1, False, "session")
    assert project.of("limits_set") == [{"iterations": 25, "usd": 25.0, "seconds": 7200}]
    assert (project.snapshot["stage"], project.snapshot["status"]) == ("intent", "running")


@pytest.mark.parametrize(
    ("words", "limits", "shown"),
    [
        (("--iterations", "10"), (10, 25.0, 7200), "10 iterations"),
        (("--iterations", "50", "--usd", "50"), (50, 50.0, 7200), "50 iterations, $50"),
        (("--iterations", "unlimited"), (None, 25.0, 7200), "no limit on iterations"),
        (("--usd", "none", "--time", "90m"), (25, None, 5400), "no limit on money, 1 h 30 min"),
        (("--time", "none"), (25, 25.0, None), "no limit on time"),
    ],
)
def test_chosen_limits_are_kept_and_printed(
    project: Project, words: tuple, limits: tuple, shown: str
) -> None:
    answer = project.start("x", *words)
    assert tuple(project.of("limits_set")[0].values()) == limits
    assert tuple(project.snapshot["limits"].values()) == limits
    assert shown in answer.out


def test_settings_of_the_project_go_into_the_journal(project: Project) -> None:
    project.root.mkdir()
    (project.root / "config.toml").write_text(
        "max_idle_stops = 2\n[limits]\niterations = 10\n[prices]\nm = [1, 2, 3, 4]\n"
    )
    project.start("x", "--usd", "5")
    settings = project.of("loop_started")[0]["settings"]
    assert (settings["max_idle_stops"], settings["prices"]) == (2, {"m": [1.0, 2.0, 3.0, 4.0]})
    assert project.of("limits_set") == [{"iterations": 10, "usd": 5.0, "seconds": 7200}]


@pytest.mark.parametrize(
    ("words", "env"), [(("--unattended",), {}), ((), {"CLAUDE_CODE_SESSION_ATTENDED": "0"})]
)
def test_unattended(project: Project, words: tuple, env: dict) -> None:
    answer = project.start("x", *words, **env)
    assert project.of("loop_started")[0]["unattended"] is True
    assert "unattended" in answer.out and "limits: 25 iterations, $25, 2 h" in answer.out


@pytest.mark.parametrize("text", ["", "  \n\t ", "\ufeff"])
def test_an_empty_task_starts_nothing(project: Project, text: str) -> None:
    project.refused(2, "start", "--task-file", "-", given=text, says="the task is empty")
    assert not project.root.exists()


def test_no_task_at_all(project: Project) -> None:
    project.refused(2, "start", says="no task given")
    project.refused(2, "start", "--task-file", "absent.md", says="no such file: absent.md")


@pytest.mark.parametrize("session", [None, ""])
def test_a_missing_session_id_starts_nothing(project: Project, session: str | None) -> None:
    project.refused(
        2, "start", "--task-file", "-", given="x", session=session, says="the session id is missing"
    )
    assert not project.root.exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--iterations", "0"), "not a limit"),
        (("--usd", "lots"), "not a limit"),
        (("--time", "soon"), "not a duration"),
        (("--purge",), "--purge without --fresh"),
        (("--list", "existing"), "CLAUDE_CODE_TASK_LIST_ID is not set"),
        (("--list", "other"), "--list"),
        (("--approval", "nobody"), "--approval"),
        (("--sideways",), "--sideways"),
    ],
)
def test_wrong_options(project: Project, words: tuple, says: str) -> None:
    project.refused(2, "start", "--task-file", "-", *words, given="x", says=says)


def test_a_wrong_config_starts_nothing(project: Project) -> None:
    project.root.mkdir()
    (project.root / "config.toml").write_text("max_idle_stops = 9\n")
    project.refused(2, "start", "--task-file", "-", given="x", says="max_idle_stops")
    (project.root / "config.toml").write_text("[")
    project.refused(3, "start", "--task-file", "-", given="x", says="config.toml")


def test_an_agent_of_a_run_starts_no_loop(project: Project) -> None:
    project.refused(1, "start", "--task-file", "-", given="x", LOOPKIT_CHILD="1")


@pytest.mark.parametrize("mode", ["new", "existing", "session"])
def test_list_modes_are_kept(project: Project, mode: str) -> None:
    env = {"CLAUDE_CODE_TASK_LIST_ID": "team"} if mode == "existing" else {}
    project.start("x", "--list", mode, **env)
    assert project.of("loop_started")[0]["list"] == mode


def test_a_list_that_cannot_be_made_is_told_of_and_the_loop_starts(project: Project) -> None:
    Path(project.environment["HOME"], ".claude").write_text("a file in the folder's place")
    answer = project.lk("start", "--list", "new", "--task-file", "-", given="x")
    assert answer.exit == 0 and answer.err.startswith("loopkit: no task list: cannot make")
    assert project.status["status"] == "running"


def test_a_named_list_is_taken_without_being_asked_for(project: Project) -> None:
    project.start("x", CLAUDE_CODE_TASK_LIST_ID="team")
    assert project.of("loop_started")[0]["list"] == "existing"


def test_a_text_of_fifty_thousand_characters(project: Project) -> None:
    answer = project.start("limit " * 9000)
    assert len(project.of("loop_started")[0]["task"]) == 54_000
    assert len(answer.out) < 3000


# -- step 0: one stands already


@pytest.mark.parametrize("pid", [None, GONE])
def test_an_unfinished_loop_of_this_session_is_offered(project: Project, pid: str | None) -> None:
    project.planned()
    said = project.refused(1, "start", "--task-file", "-", given="other", says="is not finished")
    for words in (
        "stage decompose",
        "spec 10/10, fit 65",
        "0/1 tasks",
        "running",
        "owner this session",
    ):
        assert words in said
    for words in ("loopkit resume", "loopkit start --fresh", "loopkit status", "git worktree add"):
        assert words in said


def test_one_of_another_running_session_is_protected(project: Project) -> None:
    project.planned()
    said = project.refused(
        1, "start", "--task-file", "-", given="x", session=S2, says=f"session {S1} (running)"
    )
    assert "--take-over" in said and "--fresh" not in said and "git worktree add" in said
    project.refused(1, "start", "--fresh", "--task-file", "-", given="x", session=S2)


def test_one_of_a_session_that_is_gone_can_be_put_away(project: Project) -> None:
    project.start("x", CLAUDE_PID=GONE)
    said = project.refused(1, "start", "--task-file", "-", given="y", session=S2)
    assert "--fresh" in said and "(running)" not in said
    project.start("y", "--fresh", session=S2)
    assert project.name == "002-y"


def test_fresh_archives(project: Project) -> None:
    project.planned()
    name, before = project.name, project.ledger.read_bytes()
    project.start("other thing", "--fresh")
    assert project.name == "002-other-thing"
    kept = project.root / "archive" / name
    assert (kept / "ledger.jsonl").read_bytes().startswith(before)
    assert (
        json.loads((kept / "ledger.jsonl").read_text().splitlines()[-1])["type"] == "loop_cancelled"
    )
    assert (kept / "SHAPE.md").exists()
    assert project.status["loop"] == "002-other-thing" and project.tasks == {}


def test_purge_deletes_the_checkpoints_of_that_loop_alone(project: Project) -> None:
    def refs() -> list[str]:
        done = subprocess.run(
            ["git", "for-each-ref", "--format=%(refname)"], cwd=project.folder, capture_output=True
        )
        return [row for row in done.stdout.decode().split() if row.startswith("refs/loopkit/")]

    for words in ([], ["--fresh"], ["--fresh", "--purge"]):
        project.start("one", *words)
        project.ok("checkpoint")
    assert refs() == ["refs/loopkit/001-one/1", "refs/loopkit/003-one/1"]


def test_purge_deletes_and_the_number_stays_used(project: Project) -> None:
    project.start("first")
    project.start("second", "--fresh", "--purge")
    assert (project.root / "archive" / "001-first.purged").read_bytes() == b""
    assert not (project.root / "001-first").exists()
    assert project.name == "002-second"
    project.start("third", "--fresh", "--purge")
    assert project.name == "003-third"


@pytest.mark.parametrize("purge", [False, True])
def test_fresh_puts_away_what_cannot_be_read(project: Project, purge: bool) -> None:
    project.start("first")
    project.ledger.write_bytes(b"garbage\n")
    said = project.refused(
        3, "start", "--task-file", "-", given="second", says="does not begin with a loop's start"
    )
    assert "loopkit doctor" in said
    project.start("second", "--fresh", *(["--purge"] if purge else []))
    assert project.name == "002-second" and project.status["status"] == "running"
    assert [path.name for path in (project.root / "archive").iterdir()] == [
        "001-first" + (".purged" if purge else "")
    ]


def test_fresh_takes_the_old_tasks_out_of_the_native_list(project: Project) -> None:
    there = Path(project.environment["HOME"], ".claude", "tasks", S1)
    there.mkdir(parents=True)
    project.planned()
    assert [path.name for path in there.glob("T-*.json")] == ["T-001.json"]
    project.start("second", "--fresh")
    assert list(there.glob("T-*.json")) == []


@pytest.mark.parametrize("how", ["complete", "cancel"])
def test_after_the_end_a_new_one_starts_beside_the_old(project: Project, how: str) -> None:
    if how == "complete":
        project.completed()
    else:
        project.start()
        project.ok("cancel")
    project.start("next thing")
    assert project.name == "002-next-thing" and project.status["status"] == "running"
    assert (project.root / "001-add-rate-limiting-api").exists()


def test_twenty_starts_at_the_same_time_give_one_loop(project: Project) -> None:
    start = functools.partial(project.lk, "start", "--task-file", "-", given="add limits")
    answers = at_once(*[start] * 20)
    assert sorted(answer.exit for answer in answers) == [0] + [1] * 19
    assert all("is not finished" in answer.err for answer in answers if answer.exit)
    assert [path.name for path in project.root.glob("0*")] == ["001-add-limits"]


def test_twenty_fresh_starts_at_the_same_time_give_twenty_numbers(project: Project) -> None:
    start = functools.partial(project.lk, "start", "--fresh", "--task-file", "-")
    answers = at_once(*[functools.partial(start, given=f"loop {number}") for number in range(20)])
    assert {answer.exit for answer in answers} == {0}
    numbers = [
        int(path.name[:3])
        for path in [*project.root.glob("0*"), *(project.root / "archive").glob("0*")]
    ]
    assert sorted(numbers) == list(range(1, 21))


# -- --from-prompt


def person_typed(project: Project, text: str, session: str = S1) -> None:
    typed.save(project.environment["LOOPKIT_DATA"], session, text)


def test_the_words_that_were_typed_arm_the_loop_and_are_used_once(project: Project) -> None:
    person_typed(project, 'fix "it" $(rm -rf /) `x`\n\'')
    answer = project.ok("start", "--from-prompt")
    assert "started" in answer.out
    assert project.of("loop_started")[0]["task"] == 'fix "it" $(rm -rf /) `x`\n\''
    assert typed.load(project.environment["LOOPKIT_DATA"], S1) is None


def test_a_refusal_is_printed_and_exits_0_since_a_failed_call_would_end_the_command(
    project: Project,
) -> None:
    project.start("first")
    person_typed(project, "second")
    answer = project.ok("start", "--from-prompt")
    assert answer.out.startswith("loopkit says no: loop 001-first is not finished")
    assert typed.load(project.environment["LOOPKIT_DATA"], S1) == "second", "kept for --fresh"
    project.ok("start", "--from-prompt", "--fresh")
    assert project.name == "002-second"


def test_the_policy_may_be_typed_before_the_request(project: Project) -> None:
    person_typed(project, "--approval sometimes add it")
    assert (
        "--approval is 'sometimes'; use evidence, review, supervisor"
        in project.ok("start", "--from-prompt").out
    )
    assert not project.root.exists()
    person_typed(project, "--approval review\nadd it, and say --approval")
    assert "approval: review" in project.ok("start", "--from-prompt").out
    (started,) = project.of("loop_started")
    assert (started["approval"], started["task"]) == ("review", "add it, and say --approval")


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("--iterations 7 it", (7, 25.0, 7200)),
        ("--usd=1.5 --time 1h30m it", (25, 1.5, 5400)),
        ("--usd '$3'\t--time none --iterations unlimited it", (None, 3.0, None)),
        ("--iterations 7 --iterations 8 it", (8, 25.0, 7200)),  # the last one counts
        ("\n --usd 2 it", (25, 2.0, 7200)),
        ("it --usd 2", (25, 25.0, 7200)),  # within the request it is the request's
        ("—usd 2 –time=1h it", (25, 2.0, 3600)),  # as a phone writes "--"
        ("--usd 2 -- it", (25, 2.0, 7200)),
        ("-- --usd 2 it", (25, 25.0, 7200)),
        ("— it", (25, 25.0, 7200)),
        ("-v it", (25, 25.0, 7200)),
    ],
)
def test_limits_may_be_typed_before_the_request(project: Project, text: str, limits: tuple) -> None:
    person_typed(project, text)
    answer = project.ok("start", "--from-prompt")
    assert answer.steps == ["loopkit submit --file -"], "the form of the request comes with it"
    assert tuple(project.of("limits_set")[0].values()) == limits
    whole = text.startswith(("it", "-- ", "— ", "-v"))
    assert project.of("loop_started")[0]["task"] == (text.removeprefix("-- ") if whole else "it")


def test_list_mode_and_checks_may_be_typed_too(project: Project, tmp_path: Path) -> None:
    project.environment["XDG_STATE_HOME"] = str(tmp_path / "state")
    person_typed(project, "--list new --checks 'test -f *' --checks \"grep -q *\" it")
    project.ok("start", "--from-prompt")
    assert project.of("loop_started")[0]["list"] == "new"
    rows = [task("a", "grep -q x a"), task("b", "test -f b"), task("c", "ls c")]
    asked = project.ok("submit", "--file", "-", given={**REQUEST, "tasks": rows})
    assert "T-003: ls c" in asked.out and asked.steps == ["loopkit allow"]
    assert "T-001" not in asked.out.partition("not allowed yet")[2]
    lines = (tmp_path / "state" / "loopkit" / "leave").read_text()
    assert "test -f *" in lines and "grep -q *" in lines


@pytest.mark.parametrize("attended", ["0", "1"])
def test_what_other_checks_come_to_is_said_where_nobody_can_be_asked(
    project: Project, tmp_path: Path, attended: str
) -> None:
    project.environment["XDG_STATE_HOME"] = str(tmp_path / "state")
    project.environment["CLAUDE_CODE_SESSION_ATTENDED"] = attended
    person_typed(project, "--checks 'pytest *' it")
    out = project.ok("start", "--from-prompt").out
    assert ("checks allowed: pytest *; nobody can be asked about others" in out) == (
        attended == "0"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("--list old it", "--list is 'old'; use new, existing, session"),
        ("--list existing it", "--list existing, but CLAUDE_CODE_TASK_LIST_ID is not set"),
        ("--approval '' it", "--approval is ''; use evidence, review, supervisor"),
        ("--iterations 0 it", "not a limit for iterations: '0'"),
        ("--iterations 1.5 it", "not a limit for iterations: '1.5'"),
        ("--usd add it", "not a limit for usd: 'add'"),
        ("--usd -3 it", "not a limit for usd: '-3'"),
        ("--time soon it", "not a duration: 'soon'"),
        ("--usd 2", "the task is empty"),
        *(
            (f"--{name}", f"--{name} needs a value; for example --{name} ")
            for name in start.EXAMPLES
        ),
        ("--approval\nadd it", "--approval needs a value"),
        ("--usd 2 --checks --time 2h it", "--checks needs a value"),
        ("--iterations= it", "--iterations needs a value"),
        ("--checks 'pytest *'", "the task is empty"),
        ("--checks 'pytest * it", "--checks has a quote that does not end; for example --checks "),
        ("--usd='3 it", "--usd has a quote that does not end"),
        ("--checks 'pytest *'it", "--checks has a quote that does not end"),
        ("--itrations 7 it", "there is no option --itrations; options are --approval, --iterat"),
        ("--usd 2 --fresh it", "there is no option --fresh"),
        ("--verbose is ignored", "other words that begin so stand behind --"),
    ],
)
def test_options_with_wrong_values_start_nothing(project: Project, text: str, says: str) -> None:
    person_typed(project, text)
    assert says in project.ok("start", "--from-prompt").out
    assert not project.root.exists()
    assert typed.load(project.environment["LOOPKIT_DATA"], S1) == text, "kept to be put right"


def test_words_of_another_session_are_not_taken(project: Project) -> None:
    person_typed(project, "theirs", S2)
    answer = project.ok("start", "--from-prompt")
    assert answer.steps == ["loopkit start --task-file -"]
    assert not project.root.exists()


def test_empty_words_are_refused_softly(project: Project) -> None:
    person_typed(project, "   ")
    assert "the task is empty" in project.ok("start", "--from-prompt").out
    assert not project.root.exists()


# -- where


def test_the_loop_stands_at_the_root_of_the_working_tree(project: Project) -> None:
    below = project.folder / "src" / "deep"
    below.mkdir(parents=True)
    project.start("x", cwd=below)
    assert project.name == "001-x"
    assert project.ok("status", cwd=below).out.startswith("Loop 001-x: running")


def test_a_linked_worktree_shares_the_loop_and_another_session_gets_its_own_there(
    project: Project, tmp_path: Path
) -> None:
    project.start("x")
    there = tmp_path / "w"
    subprocess.run(["git", "-C", project.folder, "worktree", "add", "-q", there], check=True)
    assert project.ok("status", cwd=there).out.startswith("Loop 001-x: running")
    project.start("y", session=S2, cwd=there)
    assert (there / ".loop" / "001-y").is_dir()
    assert project.status["loop"] == "001-x"


def test_no_project_folder_outside_git_is_needed(project: Project, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    project.start("x", cwd=plain)
    assert (plain / ".loop" / "001-x" / "ledger.jsonl").exists()


def test_a_gone_folder_is_one_line(project: Project, tmp_path: Path, data: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    words = 'cd gone && rmdir ../gone && exec sh "$0" status'
    program = Path(__file__).resolve().parents[2] / "bin" / "loopkit"
    env = project.env(LOOPKIT_DATA=str(data))
    done = subprocess.run(
        ["sh", "-c", words, program], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, ""), done
    assert "the current folder is gone" in done.stderr
