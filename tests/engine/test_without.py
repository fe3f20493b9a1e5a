"""A check with the work, without it, with emptied files: in overlays and in copies; the real tree
stays as it is."""

from __future__ import annotations

import functools
import io
import os
import py_compile
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loopkit.core.journal.errors import UsageFault
from loopkit.engine import inside_overlay, process, without
from tests.conftest import ROOT
from tests.engine.kit import Watch
from tests.engine.test_checkpoints import Repo

FAR = 1e9
LATIN = os.fsdecode(b"latin-\xe9.txt")


@functools.cache
def can_overlay() -> bool:
    """Whether overlays can be made on this machine, by other means."""
    options = "lowerdir=/etc,upperdir=/mnt/u,workdir=/mnt/w,userxattr"
    code = (
        "mount -t tmpfs t /mnt; mkdir /mnt/u /mnt/w; "
        f'{sys.executable} -c \'import os; os.setxattr("/mnt/u", "user.x", b"")\'; '
        f"mount -t overlay o -o {options} /mnt"
    )
    words = ["unshare", "-Urmp", "--fork", "--mount-proc", "sh", "-ec", code]
    try:
        return not subprocess.run(words, capture_output=True).returncode
    except FileNotFoundError:
        return False


class Project(Repo):
    """A repository in which work was done."""

    def tried(self, line: str, *changed: str, **more: object) -> without.Tried:
        """Try a line; nothing in the real tree has changed afterwards."""
        before = self.files(), self.outside()
        found = self.try_(line, *changed, **more)
        assert (self.files(), self.outside()) == before
        return found

    def try_(self, line: str, *changed: str, **more: object) -> without.Tried:
        given = {"folder": ".", "start": "HEAD", "seconds": 60, "until": time.monotonic() + FAR}
        given["environment"] = self.environment
        check = without.Check(str(self.folder), changed=changed, line=line, **(given | more))  # type: ignore[arg-type]
        return without.tried(check)

    def copies(self, why: str = "none here") -> None:
        without._refusals[os.path.realpath(self.folder)] = why

    def overlays(self) -> None:
        with without.stage(without.repository(str(self.folder), self.environment)) as own:
            place = without._Place(own, os.path.realpath(self.folder), ".", self.environment)
        if place.refusal and not can_overlay():
            pytest.skip(f"no overlays here: {place.refusal}")
        assert not place.refusal


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Project:
    made = Project(tmp_path / "a, b:ü & 'co'")
    made.write("kept.txt", "kept\n")
    made.write("file.txt", "old\n")
    made.write("gone.txt", "old\n")
    made.write("tool.sh", "#!/bin/sh\n")
    made.write("folder/inner.txt", "old\n")
    made.write("größe/new\nline.txt", "old\n")
    made.write(LATIN, "old\n")
    made.write(".gitignore", "build/\n__pycache__/\n")
    os.symlink("kept.txt", made.folder / "link")
    made.commit()
    return made


@pytest.fixture(params=["overlay", "copy"])
def placed(request: pytest.FixtureRequest, project: Project) -> Project:
    """The project, tried in both ways."""
    project.overlays() if request.param == "overlay" else project.copies()
    return project


def worked(project: Project) -> None:
    """Files changed in every way."""
    for name in ("file.txt", "größe/new\nline.txt", LATIN):
        project.write(name, "new\n")
    project.write("added/deep/file.txt", "new\n")
    (project.folder / "tool.sh").chmod(0o755)
    (project.folder / "gone.txt").unlink()
    (project.folder / "link").unlink()
    os.symlink("file.txt", project.folder / "link")
    shutil.rmtree(project.folder / "folder")
    project.write("folder", "a file now\n")


def test_a_check_that_needs_the_work_is_red(placed: Project) -> None:
    worked(placed)
    before = placed.files(), placed.outside()
    for line, *changed in (
        ("grep -q new file.txt", "file.txt"),
        ("test -e added", "added/deep/file.txt"),
        ("test ! -e gone.txt", "gone.txt"),
        ("sh -c 'test -e added/deep/file.txt -a ! -e gone.txt'", "added/deep/file.txt", "gone.txt"),
        ("./tool.sh", "tool.sh"),
        ("test link -ef file.txt", "link"),
        ("test -f folder", "folder", "folder/inner.txt"),
        ("grep -q new 'größe/new\nline.txt'", "größe/new\nline.txt"),
        (f"grep -q new {LATIN}", LATIN),
    ):
        found = placed.try_(line, *changed)
        assert (found.word, found.why, found.emptied) == ("red", "", None), line
        assert found.with_work and found.with_work["passed"]
        assert found.without and found.without["exit"] in (1, 126)
    assert (placed.files(), placed.outside()) == before


def test_a_folder_in_place_of_a_file_and_a_link_in_place_of_a_folder(placed: Project) -> None:
    (placed.folder / "file.txt").unlink()
    placed.write("file.txt/inner", "new\n")
    shutil.rmtree(placed.folder / "folder")
    os.symlink("file.txt", placed.folder / "folder")
    changed = ["file.txt", "file.txt/inner", "folder", "folder/inner.txt"]
    placed.write("check.sh", "test -d file.txt && test -L folder\n")
    assert placed.tried("sh check.sh", *changed).word == "red"
    line = "sh -c 'test -d file.txt || grep old file.txt folder/inner.txt; test -s check.sh'"
    assert placed.tried(line, *changed, "check.sh").word == "red"


def test_a_check_that_passes_without_the_work_proves_nothing(placed: Project) -> None:
    worked(placed)
    found = placed.tried("grep -q . file.txt", "file.txt")
    assert (found.word, found.why) == ("green", "")
    assert [found[number] and found[number]["exit"] for number in range(3)] == [0, 0, 1]
    assert placed.tried("test -e gone.txt -o -e kept.txt", "gone.txt").word == "not tried"


def test_a_check_that_looks_at_no_changed_file_is_not_tried(placed: Project) -> None:
    worked(placed)
    found = placed.tried("true", "file.txt")
    assert found.word == "not tried" and "it does not look at them" in found.why
    assert found.emptied and found.emptied["passed"]


def test_a_check_that_does_not_pass_there_is_not_tried(placed: Project) -> None:
    found = placed.tried("grep -q new file.txt", "file.txt")
    assert found.word == "not tried" and "it does not pass" in found.why
    assert found.with_work and found.with_work["exit"] == 1 and found.without is None
    found = placed.tried("no-such-program", "file.txt")
    assert found.with_work and found.with_work["exit"] == 127 and found.with_work["note"]


def test_where_nothing_changed_nothing_is_taken_away(placed: Project) -> None:
    found = placed.tried("true")
    assert found.word == "not tried" and found.why.startswith("there is nothing to take away")
    assert found.with_work and found.with_work["passed"] and found.without is None


def test_what_one_run_leaves_is_not_there_in_the_next(placed: Project) -> None:
    """A check that fails the second time whatever the work is."""
    worked(placed)
    found = placed.tried("sh -c 'grep -q . file.txt && mkdir build'", "file.txt")
    assert found.word == "green"


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("import mod; mod.new", "green"),
        ("import mod; mod.new()", "green"),
        ("import mod; assert mod.new() == 1", "red"),
        ("import mod; assert mod.Box().size() == 2", "red"),
        ("import os; assert os.access('mod.py', os.X_OK)", "not tried"),
    ],
)
def test_functions_that_do_nothing(placed: Project, code: str, word: str) -> None:
    """A check that passes all the same, and needs the file, sees names alone."""
    placed.write("mod.py", "class Box:\n    def size(self):\n        return 1\n")
    (placed.folder / "mod.py").chmod(0o755)
    placed.commit()
    text = "class Box:\n    def size(self):\n        return 2\n\n\ndef new():\n    return 1\n"
    placed.write("mod.py", text)
    given = {"folder": ".", "start": "HEAD", "seconds": 60, "until": time.monotonic() + FAR}
    line = shlex.join([sys.executable, "-B", "-c", code])
    given |= {"environment": placed.environment, "line": line, "changed": ["mod.py", "gone.py"]}
    before = placed.files()
    found = without.hollowed(without.Check(str(placed.folder), **given))  # type: ignore[arg-type]
    why = {"green": "Box.size, new", "red": "", "not tried": "it looks at other files"}[word]
    said = found.why.partition(" (in a copy")[0]
    assert (found.word, said, placed.files()) == (word, why, before)


def test_without_changed_functions_nothing_is_emptied(placed: Project) -> None:
    placed.write("latin.py", "x = 1\n")
    given = {"folder": ".", "start": "HEAD", "seconds": 60, "until": time.monotonic() + FAR}
    given |= {"environment": placed.environment, "line": "true"}
    (placed.folder / "latin.py").write_bytes(b"def f():\n    return '\xe9'\n")
    check = without.Check(str(placed.folder), changed=["latin.py", "file.txt"], **given)  # type: ignore[arg-type]
    assert without.hollowed(check).why == "no function of Python has changed"
    placed.write("code.py", "x = 1\n")
    placed.commit()
    placed.write("code.py", "x = 1  # one\n")
    for changed, why in ((["code.py"], without.ONLY_COMMENTS), (["code.py", "gone.py"], "")):
        check = without.Check(str(placed.folder), changed=changed, **given)  # type: ignore[arg-type]
        assert without.hollowed(check).why == (why or "no function of Python has changed")


def test_no_compiled_module_answers(placed: Project) -> None:
    """In an overlay, the copy has none: one that Python never compares, and one whose source is
    gone."""
    placed.write("module.py", "new = True\n")
    placed.write("added.py", "")
    changed = ["module.py", "added.py"]
    for name in changed:
        path = str(placed.folder / name)
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(path, invalidation_mode=mode)
        py_compile.compile(path, cfile=path + "c")
    for name in ("added", "module"):
        line = f"{sys.executable} -S -c 'import {name}'"
        assert placed.tried(line, *changed).word == "red"


def test_an_installation_that_points_at_the_tree(placed: Project) -> None:
    """A copy is not where it points at, which shows; an overlay is."""
    placed.write("src/thing.py", "answer = 1\n")
    placed.commit()
    placed.write("src/thing.py", "answer = 2\n")
    placed.write("build/thing.pth", f"{placed.folder / 'src'}\n")
    site = shlex.quote(str(placed.folder / "build"))
    code = "import os, site; site.addsitedir(os.environ['SITE']); import thing; assert thing.answer == 2"
    line = f'env SITE={site} {sys.executable} -S -c "{code}"'
    found = placed.tried(line, "src/thing.py")
    copied = bool(without._refusals[os.path.realpath(placed.folder)])
    assert found.word == ("not tried" if copied else "red")


def test_ignored_files_are_there_in_an_overlay_only(placed: Project) -> None:
    worked(placed)
    placed.write("build/out", "built\n")
    found = placed.tried("grep -q new file.txt build/out", "file.txt")
    assert found.word == "red"
    found = placed.tried("sh -c 'test -e build/out && grep -q new file.txt'", "file.txt")
    copied = bool(without._refusals[os.path.realpath(placed.folder)])
    assert found.word == ("not tried" if copied else "red")
    assert ("in a copy of the tree: none here" in found.why) is copied


def test_the_folder_of_a_check_stays_though_the_work_made_it(placed: Project) -> None:
    worked(placed)
    found = placed.tried("test -e file.txt", "added/deep/file.txt", folder="added/deep")
    assert found.word == "red" and found.without and found.without["exit"] == 1


def test_part_of_a_repository(project: Project, tmp_path: Path) -> None:
    part = Project(tmp_path / "whole")
    part.write("part/file.txt", "old\n")
    part.write("file.txt", "beside\n")
    part.commit()
    start = part.git("rev-parse", "HEAD:part").strip()
    part.write("part/file.txt", "new\n")
    part.folder /= "part"
    for ways in (part.overlays, part.copies):
        ways()
        assert part.tried("grep -q new file.txt", "file.txt", start=start).word == "red"


def test_the_check_has_its_environment(project: Project) -> None:
    project.overlays()
    environment = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "X": "ü y"}
    loop = project.folder.parent / "loop"
    loop.mkdir()
    found = project.tried("env", environment=environment, loop=str(loop), target="C-1")
    assert found.with_work and found.with_work["log"] == "evidence/C-1-1.log"
    text = (loop / "evidence/C-1-1.log").read_text()
    assert text.startswith("[with the work, apart from the real tree]\n$ env\n")
    rows = {row for row in text.splitlines()[2:-2] if not row.startswith("LOOPKIT_MARKS=")}
    assert rows == {f"{name}={value}" for name, value in environment.items()}


def test_logs_are_kept_and_bounded(placed: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_OUTPUT", 1000)
    loop = placed.folder.parent / "loop"
    loop.mkdir()
    found = placed.tried("seq 20000", "file.txt", loop=str(loop), target="C-2")
    logs = [outcome["log"] for outcome in found[:3] if outcome]  # type: ignore[index]
    assert logs == [f"evidence/C-2-{number}.log" for number in (1, 2, 3)]
    assert all(os.path.getsize(loop / log) < 1500 for log in logs)


def test_a_line_that_cannot_be_split_is_refused(project: Project) -> None:
    with pytest.raises(UsageFault):
        project.tried("a | b", "file.txt")


def test_a_start_that_is_not_there_is_not_tried(project: Project) -> None:
    found = project.tried("true", "file.txt", start="0" * 40)
    assert found.word == "not tried" and found.why and found.with_work is None


def test_content_that_is_gone_is_not_tried(placed: Project) -> None:
    worked(placed)
    name = placed.git("rev-parse", "HEAD:file.txt").strip()
    with_it = placed.folder / ".git/objects" / name[:2] / name[2:]
    with_it.unlink()
    found = placed.tried("grep -q new file.txt", "file.txt")
    assert found.word == "not tried" and "content before the work is gone" in found.why


def test_a_disk_that_is_full_on_the_way_is_not_tried(
    placed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked(placed)

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device", "heap")

    monkeypatch.setattr(without._Place, "_pour", fails)
    loop = placed.folder.parent / "loop"
    loop.mkdir()
    found = placed.tried("grep -q new file.txt", "file.txt", loop=str(loop))
    assert found.word == "not tried" and "No space left" in found.why
    ran = [outcome["log"] for outcome in found[:3] if outcome]  # type: ignore[index]
    assert sorted(ran) == sorted(f"evidence/{name}" for name in os.listdir(loop / "evidence"))


def test_no_time_left(project: Project) -> None:
    found = project.tried("true", "file.txt", until=time.monotonic() - 1)
    assert (found.word, found.why.partition(" (")[0]) == ("not tried", "no time is left")
    assert found.with_work is None


def test_a_check_that_is_killed_says_nothing(placed: Project) -> None:
    worked(placed)
    found = placed.tried("sh -c 'grep -q new file.txt || kill -KILL $$'", "file.txt")
    assert found.word == "not tried" and found.why.startswith("it was killed")


# -- files


def brought(
    folder: Path, rows: list, what: str = "start", heap: bytes = b"", modes: bool = True
) -> None:
    change = inside_overlay.Change(str(folder), rows, what, modes)
    change.early(io.BytesIO(heap), str(folder))
    change.late()


def test_what_is_taken_back_is_younger_in_whole_seconds(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("new")
    later = int(time.time()) + 1000
    os.utime(file, (later, later))
    brought(tmp_path, [["file", "100644"]], heap=b"id blob 3\nold\n")
    assert file.read_text() == "old" and int(file.stat().st_mtime) == later + 1


def test_permissions_stay_but_for_the_right_to_run(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("new")
    file.chmod(0o640)
    brought(tmp_path, [["file", "100755"]], heap=b"id blob 3\nold\n")
    assert file.stat().st_mode & 0o777 == 0o750
    brought(tmp_path, [["file", "100644"]], heap=b"id blob 0\n\n", modes=False)
    assert file.stat().st_mode & 0o777 == 0o750


def test_a_file_that_may_not_be_written_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("new")
    (tmp_path / "file").chmod(0o440)
    brought(tmp_path, [["file", "100644"]], heap=b"id blob 3\nold\n")
    assert (tmp_path / "file").read_text() == "old"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o440


def test_nothing_behind_a_link_is_touched(tmp_path: Path) -> None:
    outside, top = tmp_path / "outside", tmp_path / "top"
    for folder in (outside, top):
        folder.mkdir()
    (outside / "file").write_text("mine")
    (top / "folder").symlink_to(outside)
    brought(top, [["folder/file", ""]])
    brought(top, [["folder/file", "100644"]], "empty")
    with pytest.raises(OSError, match="in its way"):
        brought(top, [["folder/file", "100644"]], heap=b"id blob 3\nold\n")
    assert (outside / "file").read_text() == "mine"


def test_a_folder_that_holds_what_git_ignores_stays(tmp_path: Path) -> None:
    for name in ("a/b/added", "a/ignored", "c/d/added"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    brought(tmp_path, [["a/b/added", ""], ["c/d/added", ""]])
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "a",
        "a/ignored",
    ]


# -- namespaces


def test_a_daemon_ends_with_its_run(project: Project, tmp_path: Path) -> None:
    project.overlays()
    watch = Watch(tmp_path / "fifo")
    fifo = shlex.quote(f"exec 3>{tmp_path}/fifo; setsid sleep 1000 & exit 0")
    assert project.tried(f"sh -c {fifo}", "file.txt").with_work["exit"] == 0  # type: ignore[index]
    assert watch.all_gone()


def test_the_check_cannot_take_the_overlay_away(project: Project) -> None:
    project.overlays()
    worked(project)
    code = (
        "umount . || umount -l . || unshare -Urm umount . && exit 1; "
        "echo changed >kept.txt; rm -rf folder; echo 2>/dev/null >spec; "
        'test "$(id -u):$(stat -c %u file.txt)" = "$0:$0" && kill -0 -$$ && grep new file.txt'
    )
    line = f"sh -c {shlex.quote(code)} {os.geteuid()}"
    found = project.tried(line, "file.txt")
    assert found.word == "red", found


def test_an_end_before_the_check_began_says_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.overlays()
    worked(project)
    late = process.Outcome(124, 0.0, "out of time")
    run, ran = without.run, []

    def once(*given: object) -> process.Outcome:
        ran.append(given)
        return late if len(ran) > 1 else run(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(without, "run", once)
    found = project.tried("grep -q new file.txt", "file.txt")
    assert (found.word, found.why) == ("not tried", "out of time before it began")


@pytest.mark.skipif(not hasattr(select, "poll"), reason="needs poll")
@pytest.mark.parametrize("stubborn", [False, True], ids=["ends on TERM", "ignores TERM"])
def test_at_the_limit_all_of_it_is_ended(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stubborn: bool
) -> None:
    project.overlays()
    watch = Watch(tmp_path / "fifo")

    def time_is_up(*_: object) -> str:
        watch.wait_for_a_word()
        return "total"

    if stubborn:
        monkeypatch.setattr(process.end_group, "__defaults__", (0.05,))
    monkeypatch.setattr(process._Watch, "_late", time_is_up)
    code = f"exec 3>{tmp_path}/fifo; setsid sleep 1000 & echo begun >&3; sleep 1000"
    line = shlex.quote("trap '' TERM; " * stubborn + code)
    found = project.tried(f"sh -c {line}", "file.txt")
    assert found.with_work and found.with_work["exit"] == 124
    assert found.word == "not tried" and "does not pass" in found.why
    assert watch.all_gone()


SCRIPT = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from loopkit.engine import without
where = (sys.argv[2], ".", ["file.txt"], "HEAD", sys.argv[3], 60)
found = without.tried(without.Check(*where, dict(os.environ), time.monotonic() + 600))
print(os.getuid(), found.word, found.why)
print(without._refusals)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_where_loopkit_is_killed(
    project: Project, tmp_path: Path, number: int
) -> None:
    project.overlays()
    watch = Watch(tmp_path / "fifo")
    before, mounts = project.files(), Path("/proc/mounts").read_text()
    code = f"exec 3>{tmp_path}/fifo; setsid sleep 1000 & echo more >file.txt; echo begun >&3; sleep 1000"
    words = [sys.executable, "-c", SCRIPT, ROOT, project.folder, f"sh -c {shlex.quote(code)}"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as loopkit:
        watch.wait_for_a_word()
        loopkit.send_signal(number)
    assert watch.all_gone()
    assert project.files() == before and Path("/proc/mounts").read_text() == mounts


def test_a_user_without_rights(project: Project, tmp_path: Path) -> None:
    """As root it needs somebody else, and a Python that he can read."""
    project.overlays()
    worked(project)
    them: list[str] = []
    python = sys.executable
    if os.geteuid() == 0:
        them = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
        top = Path("/tmp", f"loopkit-test-{os.getpid()}")
        shutil.copytree(project.folder, top / "tree", symlinks=True)
        python = "/usr/bin/python3"
        subprocess.run(["chown", "-R", "65534:65534", top], check=True)
    else:
        top = tmp_path
        shutil.copytree(project.folder, top / "tree", symlinks=True)
    try:
        able = "import sys; sys.version_info >= (3, 11) or exit(1); open(sys.argv[1]).close()"
        reads = [*them, python, "-c", able, ROOT / "loopkit/engine/without.py"]
        if not shutil.which("setpriv") or subprocess.run(reads, capture_output=True).returncode:
            pytest.skip("needs setpriv and a Python for everybody")
        line = "sh -c '! umount . && touch new && grep -q new file.txt'"
        words = [*them, python, "-B", "-c", SCRIPT, ROOT, top / "tree", line]
        environment = {"PATH": os.environ["PATH"], "HOME": str(top)}
        done = subprocess.run(words, env=environment, cwd=top, capture_output=True, text=True)
        user = 65534 if them else os.geteuid()
        assert done.stdout.splitlines()[:1] == [f"{user} red "], done.stdout + done.stderr
        assert done.stdout.endswith(": ''}\n") and not (top / "tree/new").exists()
    finally:
        if them:
            shutil.rmtree(top)


def test_memory_that_is_full_is_not_tried(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.overlays()
    worked(project)
    monkeypatch.setattr(without, "SIZE", "1m")
    code = "grep -q new file.txt || { head -c 2000000 /dev/zero >large; exit 1; }"
    found = project.tried(f"sh -c {shlex.quote(code)}", "file.txt")
    assert (found.word, found.why) == ("not tried", "the memory for what it writes was full")


# -- where no overlay can be made


def refused(project: Project) -> without.Tried:
    worked(project)
    found = project.tried("grep -q new file.txt", "file.txt")
    assert found.word == "red", "a copy does"
    return project.tried("true", "file.txt")


def test_without_unshare(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(without, "PROGRAMS", "/nowhere")
    assert "(in a copy of the tree: there is no unshare)" in refused(project).why


def test_on_another_system(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "overlays are known on Linux only" in refused(project).why


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ("echo 'unshare failed: Operation not permitted' >&2; exit 1", "Operation not permitted"),
        ("exit 1", "no overlay could be made"),
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "mount: "),
    ],
    ids=["refused", "silent", "without namespaces"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="Linux")
def test_an_unshare_that_does_not(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, why: str
) -> None:
    if why == "mount: " and os.geteuid() == 0:
        pytest.skip("root could mount")
    stub = tmp_path / "bin/unshare"
    stub.parent.mkdir()
    stub.write_text(f"#!/bin/sh\n{does}\n")
    stub.chmod(0o755)
    monkeypatch.setattr(without, "PROGRAMS", str(stub.parent))
    assert why in refused(project).why


def test_something_mounted_in_the_project(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(without, "_mounts", lambda _: ["/p/data"])
    why = "/p/data is mounted in the project"
    if sys.platform == "linux" and without.shutil.which("unshare", path=without.PROGRAMS):
        assert why in refused(project).why


def test_which_mounts_are_in_a_folder(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    rows = ["/", "/a\\040b", "/a\\040b/c\\054d", "/a\\040bc", "/x"]
    table.write_text("".join(f"1 2 0:1 / {row} rw - ext4 /dev/x rw\n" for row in rows))
    assert without._mounts("/a b", str(table)) == ["/a b/c,d"]


def test_copies_are_gone_afterwards_and_old_ones_with_the_next(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    for name in ("loopkit-without-old", "loopkit-other"):
        (place / name).mkdir(parents=True)
        os.utime(place / name, (0, 0))
    monkeypatch.setattr(without.tempfile, "tempdir", str(place))
    project.copies()
    worked(project)
    assert project.tried("grep -q new file.txt", "file.txt").word == "red"
    assert os.listdir(place) == ["loopkit-other"]
