"""Whole loops by `loopkit next` on a small project: what is asked, what is done, how it ends."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from loopkit.core.review import gate
from loopkit.store.loop import Loop
from tests.cli.kit import GATE, REQUEST, Answer, task
from tests.ops.test_advance import DONE, FORM, Going, agents

PYTHON = sys.executable
#: {path: text, or None where it goes}.
Files = dict[str, "str | None"]
#: What does the work: files, or whatever else.
Work = Files | Callable[[Going], None]

LIMITED = f"{PYTHON} -B -m unittest tests.test_limit"
ALL_TESTS = f"{PYTHON} -B -m unittest discover -s tests -t ."
#: Without the plugins of whoever runs the tests, which cost more than the run.
PYTEST = f"env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {PYTHON} -B -m pytest -q -p no:cacheprovider tests"
TEST = "import unittest\n\nfrom rate import allowed\n\n\nclass Test(unittest.TestCase):\n"
OLD_TEST = f"{TEST}    def test_first(self):\n        self.assertIs(allowed(1), True)\n"
NEW_TEST = f"{TEST}    def test_limit(self):\n        self.assertIs(allowed(101), False)\n"
#: A project with a module, its test, and what must not change.
PROJECT: Files = {
    ".gitignore": "__pycache__/\nbuild/\nnode_modules/\n.venv/\n",
    "README.md": "# Rate\n",
    "contract.txt": "allowed(n)\n",
    "rate.py": "def allowed(n):\n    return True\n",
    "tests/__init__.py": "",
    "tests/test_rate.py": OLD_TEST,
}
#: The honest work.
LIMIT: Files = {
    "rate.py": "def allowed(n):\n    return n <= 100\n",
    "tests/test_limit.py": NEW_TEST,
}


def proof(line: str, text: str = "there is a limit", **more: Any) -> dict:
    return {"text": text, "proof": line, **more}


#: What is asked for, unless a test says otherwise.
ASKED: dict[str, Any] = {
    "criteria": [proof(LIMITED)],
    "must_nots": [
        proof(ALL_TESTS, "a test that was there fails"),
        {"text": "the contract changes", "paths": ["contract.txt"]},
    ],
}


class End(NamedTuple):
    """how: SHIP, MONITOR, or why it went no further: "refused", "given back" (a proof), "failed"
    (a check), "asked" or "paused" (for the person), "to be allowed", "blocked" (by a review) ·
    doubts: why it is not SHIP · said: all that was printed."""

    how: str
    doubts: str
    said: str


def write(going: Going, files: Files) -> None:
    for name, text in files.items():
        path = going.project.folder / name
        if text is None:
            path.unlink() if path.is_file() else shutil.rmtree(path)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def git(going: Going, *words: str) -> None:
    subprocess.run(["git", *words], cwd=going.project.folder, check=True)


def do(going: Going, work: Work) -> None:
    work(going) if callable(work) else write(going, work)


def begin(
    going: Going,
    asked: dict | None = None,
    there: Files | None = None,
    early: Work | None = None,
    text: str = "add a limit of 100",
) -> Answer:
    """Up to what follows a request about this project; one task, whose check is C1's. early: what
    is done before the request is made clear."""
    write(going, PROJECT | (there or {}))
    git(going, "add", "-A")
    git(going, "commit", "-qm", "begin")
    row: dict[str, Any] = {**REQUEST, **ASKED, **(asked or {})}
    check = next(one["proof"] for one in row["criteria"] if not one.get("keeps"))
    row.setdefault("tasks", [task("write the limit", check, files=["rate.py"])])
    going.project.start(text)
    going.next()
    do(going, early or {})
    return going.project.lk("submit", "--file", "-", given=row)


def ends(
    going: Going,
    work: Work,
    asked: dict | None = None,
    there: Files | None = None,
    later: Work | None = None,
    judged: dict | None = None,
    last: Work | None = None,
    kind: str = "build",
    early: Work | None = None,
    text: str = "add a limit of 100",
    **kept: Any,
) -> End:
    """A whole loop. work: what the coder does · later: what is done while the review looks ·
    judged: what it says, beside that it saw everything · last: what is done before the gate is
    answered · kept: what the hook keeps of the review beside its words."""
    answer = begin(going, asked, there, early, text)
    said = [answer.out]
    if not agents(answer):
        return End(_stands(answer, going), "", answer.out)
    do(going, work)
    for token in agents(answer):
        going.say(token, DONE)
    answer = going.next()
    said.append(answer.out)
    if reviewers := [one for one in agents(answer) if one.startswith("thorough_review")]:
        do(going, later or {})
        for token in reviewers:
            going.say(token, seen_all(going) | (judged or {}), **kept)
        answer = going.next()
        said.append(answer.out)
        if again := agents(answer):
            for token in again:
                going.say(token, seen_all(going) | (judged or {}), **kept)
            answer = going.next()
            said.append(answer.out)
    if answer.steps == FORM and "To fill in: gate" in answer.out:
        do(going, last or {})
        points = dict.fromkeys(gate.POINTS[kind], "PASS seen")
        answer = going.submit({**GATE, "kind": kind, "points": points})
        said.append(answer.out)
        if "loopkit says no" in answer.out:
            answer = going.next()
            said.append(answer.out)
    return End(_stands(answer, going), doubts(going), "\n".join(said))


def doubts(going: Going) -> str:
    """Why the work is not fit to ship, a line each."""
    return "\n".join(gate.doubts(Loop(str(going.project.root), going.project.name).state))


def review(going: Going, answer: Answer) -> Answer:
    """All that are asked to review say that they have seen everything."""
    for token in agents(answer):
        going.say(token, seen_all(going))
    return going.next()


def seen_all(going: Going) -> dict:
    """What a review says that has seen everything, and found nothing."""
    rows = going.project.of("shape_saved")[-1]["criteria"]
    proofs = {row["id"]: "yes" for row in rows if row["id"][0] == "C" and row["command"]}
    unseen = [row for row in rows if row["id"][0] == "M" and not row["command"]]
    kept = {row["id"]: "kept: git diff" for row in unseen if not row.get("paths")}
    return {"findings": [], "proofs": proofs, "must_nots": kept}


def _stands(answer: Answer, going: Going) -> str:
    """In one word, where a loop stands."""
    if done := going.project.of("gate_result"):
        return str(done[-1]["card"]).upper()
    known = {
        "proofs that prove nothing": "given back",
        "loopkit says no": "refused",
        "options:\n1. mine": "asked",
        "the loop is paused": "paused",
        "To fill in: panel": "failed",
        "the person has not allowed yet": "to be allowed",
        "BLOCKER": "blocked",
    }
    return next((how for text, how in known.items() if text in answer.out), answer.out)
