"""Token figures of `claude plugin details`, of this tree and of the commit before it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

_ROW = re.compile(
    r"^  ([a-z][a-z-]*)\s+(< ?|~ ?)?([\d.,]+k?)\s+(< ?|~ ?)?([\d.,]+k?)\s*$", re.MULTILINE
)


class Plugin(NamedTuple):
    """A plugin's figures, tokens: in every session; and of each entry (in every session, on use) as
    they are printed."""

    always: float
    entries: dict[str, tuple[str, str]]

    @property
    def on_use(self) -> float:
        """What all its entries cost together, each used once."""
        return sum(number(use) for _always, use in self.entries.values())


def number(text: str) -> float:
    """`~1.2k` → 1200.0; the most that `< 20` can be is 20."""
    found = text.lstrip("~< ").replace(",", "")
    return float(found.removesuffix("k")) * (1000 if found.endswith("k") else 1)


def of(client: str, tree: Path, plugins: list[str], home: Path) -> dict[str, Plugin]:
    """{plugin: its figures} by the client's own count; a plugin that it does not show is left
    out."""
    found = {}
    for name in plugins:
        argv = [
            client,
            "--plugin-dir",
            str(tree),
            "--plugin-dir",
            str(tree / "plugins"),
            "plugin",
            "details",
            name,
        ]
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "DISABLE_AUTOUPDATER": "1"}
        done = subprocess.run(
            argv, cwd=home, env=environment, capture_output=True, encoding="utf-8", timeout=60
        )
        always = re.search(r"Always-on:\s+(~?[\d.,]+k?)", done.stdout)
        if always:
            rows = {
                row[1]: ((row[2] or "") + row[3], (row[4] or "") + row[5])
                for row in _ROW.finditer(done.stdout)
            }
            found[name] = Plugin(number(always[1]), rows)
    return found


def before(tree: Path, folder: Path) -> tuple[str, Path] | str:
    """(revision, its files in `folder`) of the commit that this tree is compared with; a text where
    there is none.

    That is HEAD where something is not committed, else the one before it.
    """

    def git(*words: str, **options: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["git", "-C", str(tree), *words], capture_output=True, timeout=60, **options
        )

    try:
        status = git("status", "--porcelain")
        revision = "HEAD" if status.stdout.strip() else "HEAD~1"
        packed = git("archive", revision)
        if status.returncode or packed.returncode:
            return "no earlier commit here"
        folder.mkdir()
        subprocess.run(
            ["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return "git or tar is missing"
    return revision, folder


def table(now: dict[str, Plugin], then: dict[str, Plugin], revision: str) -> list[str]:
    """The comparison as lines: a row a plugin, below it the entries that are new, gone or cost
    another sum."""
    lines = [f"claude plugin details, tokens; before: {revision}"]
    lines.append(f"{'':24} {'always-on':>10} {'before':>8} {'on use':>9} {'before':>8}")
    none = Plugin(0, {})
    for name in {**now, **then}:
        one, old = now.get(name, none), then.get(name, none)
        lines.append(
            f"{name:24} {one.always:>10.0f} {old.always:>8.0f} {one.on_use:>9.0f} "
            f"{old.on_use:>8.0f}"
        )
        for entry in sorted({**one.entries, **old.entries}):
            mine, theirs = one.entries.get(entry, ("–", "–")), old.entries.get(entry, ("–", "–"))
            if mine != theirs:
                lines.append(
                    f"  {entry:22} {mine[0]:>10} {theirs[0]:>8} {mine[1]:>9} {theirs[1]:>8}"
                )
    if all(now.get(name) == then.get(name) for name in {**now, **then}):
        lines.append("no entry changed")
    return lines
