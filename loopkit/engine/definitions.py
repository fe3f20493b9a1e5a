"""Stages and pipelines by their names: where they are looked up, read and checked."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..core.journal.errors import Damaged, UsageFault
from ..core.pipeline import definitions
from ..core.pipeline.definitions import Fault, Known, Pipeline, Source, Stage
from ..replies import records
from ..store import atomic, origin, personal, place, trust
from ..store.origin import Origin

STAGES, PIPELINES = "stages", "pipelines"
#: The file of a stage, and the endings of a pipeline's.
STAGE_FILE, ENDINGS = "stage.yaml", (".yaml", ".yml")
#: Bytes of a definition or a prompt at the most.
LARGEST = 1 << 20


class Place(NamedTuple):
    """A folder with stages and pipelines. label: what people call it · whose: of the project's
    `.loop`, the files that the person trusts; None: all of them are theirs or ours."""

    folder: str
    label: str
    whose: Origin | None = None


class Untrusted(Exception):
    """A file that came with the repository and that the person has not taken over."""


class Library:
    """All stages and pipelines that can be named here; the first place that has one counts.

    untrusted: names below `.loop` of what is passed over since it came with the repository · files:
    what was read, {name: digest} · own: digests of what the project has untracked.
    """

    def __init__(self, root: str | None, environment: dict, whose: Origin | None, known: Known):
        self.known = known
        self.untrusted: list[str] = []
        self.files: dict[str, str] = {}
        self.own: dict[str, str] = {}
        self.places = [] if root is None else [Place(root, ".loop", whose)]
        own = os.path.dirname(personal.path(environment))
        project = os.path.dirname(root) if root else None
        if project is None or not place.inside(os.path.realpath(own), os.path.realpath(project)):
            self.places.append(Place(own, "yours"))
        self.places.append(Place(place.plugin_root(), "shipped"))

    @property
    def digest(self) -> str:
        """A digest of all that was read, whatever place it is in."""
        rows = "".join(f"{name} {self.files[name]}\n" for name in sorted(self.files))
        return hashlib.sha256(rows.encode("utf-8", "surrogateescape")).hexdigest()

    # -- names

    def stages(self) -> Iterator[tuple[str, Place]]:
        """Every stage with its place, the nearest of each name, trusted or not."""
        yield from self._listed(STAGES, _folder)

    def pipelines(self) -> Iterator[tuple[str, Place]]:
        """Every pipeline with its place."""
        yield from self._listed(PIPELINES, _stem)

    def _listed(self, kind: str, named: Callable[[str], str | None]) -> Iterator[tuple[str, Place]]:
        seen = set()
        for one in self.places:
            try:
                found = sorted(os.listdir(os.path.join(one.folder, kind)))
            except OSError:
                continue
            for entry in found:
                name = named(os.path.join(one.folder, kind, entry))
                if name and not name.startswith(".") and name not in seen:
                    seen.add(name)
                    yield name, one

    # -- a stage

    def stage(self, name: str) -> tuple[Stage | None, list[Fault]]:
        """The stage of a name with all that is wrong with it; None without a fault where there is
        no such stage."""
        if os.path.basename(name) != name or not name.strip("."):
            return None, []
        for one in self.places:
            folder = os.path.join(one.folder, STAGES, name)
            if os.path.isdir(folder):
                if not definitions.is_name(name):
                    return None, [Fault(folder, 0, f"{name!r} is no name", definitions.NAMED)]
                try:
                    return self._stage(one, folder, name)
                except Untrusted:
                    self.untrusted.append(f"{STAGES}/{name}")
        return None, []

    def _stage(self, one: Place, folder: str, name: str) -> tuple[Stage | None, list[Fault]]:
        path = os.path.join(folder, STAGE_FILE)
        source, wrong = self._source(one, path)
        if source is None:
            return None, wrong
        made, faults = definitions.stage(source, name, self.known), source.faults
        try:
            prompt, text = self._prompt(one, folder, made.prompt)
        except (OSError, UnicodeDecodeError) as error:
            where = str(getattr(error, "filename", None) or folder)
            return None, [*faults, Fault(where, 0, unreadable(error), "fix or remove it")]
        own = f"prompts/{made.prompt}.md"
        if not text.strip():
            what, cure = "there is no prompt", f"write {os.path.join(folder, 'prompt.md')}"
            source.fault(("prompt",), what, cure)
            return made, faults
        if "prompt" in source.row and os.path.basename(prompt) != os.path.basename(own):
            what, cure = f"there is no {own}, prompt.md is taken", "write it, or leave prompt out"
            source.fault(("prompt",), what, cure, False)
        made = made._replace(text=text, prompt_file=prompt)
        return made, [*faults, *definitions.prompt_faults(made)]

    def _prompt(self, one: Place, folder: str, name: str) -> tuple[str, str]:
        """(path, text) of a stage's prompt, "" where there is none. Raises as `_read` does; the
        error names the file."""
        for candidate in (f"prompts/{name}.md", "prompt.md"):
            path = os.path.normpath(os.path.join(folder, candidate))
            if not place.inside(path, folder):
                continue
            try:
                return path, self._read(one, path)
            except FileNotFoundError:
                continue
            except (OSError, UnicodeDecodeError) as error:
                error.filename = path  # type: ignore[union-attr]
                raise
        return "", ""

    def note_own(self) -> None:
        """Remember what was read untracked as the person's own: it may be committed later."""
        with contextlib.suppress(OSError):  # then they are asked about once more
            trust.vouch(trust.OWN, self.own.items())

    # -- a pipeline

    def pipeline(self, name: str, folder: str) -> tuple[Pipeline | None, list[Fault]]:
        """The pipeline of a name or of a path, seen from `folder`; None without a fault where there
        is none."""
        for one, path in self._candidates(name, folder):
            if os.path.lexists(path) and not os.path.isdir(path):
                try:
                    return self._pipeline(one, path)
                except Untrusted:
                    self.untrusted.append(f"{PIPELINES}/{os.path.basename(path)}")
        return None, []

    def _candidates(self, name: str, folder: str) -> Iterator[tuple[Place, str]]:
        names = [name] if name.endswith(ENDINGS) else [name + ending for ending in ENDINGS]
        is_path = os.sep in name or name.endswith(ENDINGS)
        for one in names if is_path else ():
            path = os.path.normpath(os.path.join(folder, one))
            of_loop = next(
                (at for at in self.places if at.whose and place.inside(path, at.folder)), None
            )
            yield of_loop or Place(folder, "path"), path
        for at in self.places:
            if os.sep not in name:
                yield from ((at, os.path.join(at.folder, PIPELINES, one)) for one in names)

    def _pipeline(self, one: Place, path: str) -> tuple[Pipeline | None, list[Fault]]:
        source, wrong = self._source(one, path)
        if source is None:
            return None, wrong
        made = definitions.pipeline(source, _stem(path) or "", self.known, self.stage)
        return made, source.faults

    # -- files

    def _source(self, one: Place, path: str) -> tuple[Source | None, list[Fault]]:
        """A definition's file, or why there is none of it."""
        try:
            row, lines = records.marked(self._read(one, path))
        except FileNotFoundError:
            return None, [Fault(path, 0, "it is missing", f"write it: {definitions.NEEDED}")]
        except (OSError, UnicodeDecodeError) as error:
            return None, [Fault(path, 0, unreadable(error), "fix or remove it")]
        except records.Unreadable as error:
            return None, [Fault(path, error.line, f"no YAML: {error}", "write key: value lines")]
        if not isinstance(row, dict):
            return None, [Fault(path, 1, "it is no record", "write key: value lines")]
        return Source(path, row, lines, []), []

    def _read(self, one: Place, path: str) -> str:
        """Text of a file. Raises OSError, UnicodeDecodeError, Untrusted."""
        name = os.path.relpath(path, one.folder).replace(os.sep, "/")
        if one.whose:
            atomic.check_inside(one.folder, path)
        raw = atomic.read(path, LARGEST, links=one.whose is None)
        if one.whose and one.whose.whose(name, origin.DEFINITION, raw) is None:
            raise Untrusted(name)
        if one.whose and not one.whose.tracked(name):
            self.own[origin.digest(origin.DEFINITION, raw)] = name
        self.files[name] = hashlib.sha256(raw).hexdigest()
        return raw.decode("utf-8-sig")


def _folder(path: str) -> str | None:
    """The name of a stage's folder; None for anything else."""
    return os.path.basename(path) if os.path.isdir(path) else None


def _stem(path: str) -> str | None:
    """The name of a pipeline's file; None for anything else."""
    entry = os.path.basename(path)
    name = next((entry[: -len(one)] for one in ENDINGS if entry.endswith(one)), None)
    return None if os.path.isdir(path) else name


def unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Why a file of definitions or tasks cannot be read."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 at byte {error.start}"
    if error.errno == errno.ELOOP:
        return "it is a link, which may lead elsewhere tomorrow"
    return f"it cannot be read: {error.strerror}"


def usable(faults: list[Fault]) -> None:
    """Raises Damaged with the first error among the faults of a definition."""
    wrong = [fault for fault in faults if fault.error]
    if wrong:
        fault = wrong[0]
        where = f"{fault.file}:{fault.line}" if fault.line else fault.file
        more = f" (and {len(wrong) - 1} more: loopkit lint)" if len(wrong) > 1 else ""
        raise Damaged(f"{where}: {fault.what}", f"{fault.cure}{more}")


def unknown(what: str, name: str, known: list[str]) -> UsageFault:
    """The refusal of a name that nothing has."""
    import difflib

    near = difflib.get_close_matches(name, known, 1)
    way = f"did you mean {near[0]}? loopkit run lists all" if near else "loopkit run lists all"
    return UsageFault(f"there is no {what} {name[:60]!r}", way)
