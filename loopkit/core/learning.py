"""What is worth remembering: entries of four kinds, decisions of earlier loops, and what a loop proposes to keep."""

from __future__ import annotations

import re
from collections import Counter, namedtuple
from typing import TYPE_CHECKING

from . import announce, clock, recall, verdict
from . import task as tasks
from .shape import TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .events import Event
    from .state import LoopState

FAILURE, DISCOVERY, CONSTRAINT, DELEGATION = "failure", "discovery", "constraint", "delegation"
#: What is told of an entry of each kind: the first of these fields that says something.
_TOLD = {
    FAILURE: ("prevention", "root_cause", "failure"),
    DISCOVERY: ("discovery",),
    CONSTRAINT: ("constraint",),
    DELEGATION: ("prevention", "failure_pattern", "outcome"),
}
#: What makes two entries of a kind and a context the same one.
_SAME = {
    FAILURE: ("failure", "prevention"),
    DISCOVERY: ("discovery",),
    CONSTRAINT: ("constraint",),
    DELEGATION: ("loop", "shape_chosen", "outcome", "prevention"),
}
#: Fields that say what happened; words in them count, but less than those of context and applies_to.
_BODY = (
    "failure",
    "root_cause",
    "prevention",
    "discovery",
    "constraint",
    "source",
    "failure_pattern",
)
#: Characters of a title, of a text as it is told, of one field as far as it is searched, of one field that is proposed.
TITLE, TEXT, SEARCHED, PROPOSED = 120, 300, 20_000, 400
#: Proposals that are listed at the end of a loop.
LISTED = 5

#: A learning as it is found again. title: its context; text: what it says; context, applies_to, body: what it is found
#: by; at: POSIX seconds, 0 where unknown; seen: how often it came back; key: the same for two that say the same; where:
#: project, user or the file of a decision.
Learning = namedtuple("Learning", "kind title text context applies_to body at sure seen key where")

FORM = """\
- kind: failure
  context: <what was done, in words a later request would use>
  failure: <what went wrong>
  root_cause: <why>
  prevention: <what to do instead>
- kind: discovery
  context: <…>
  discovery: <what was found to be so>
  confidence: <0 to 1>
  applies_to: <where else it holds>
- kind: constraint
  context: <…>
  constraint: <what must hold>
  source: <who or what says so>
  permanent: <true or false>"""


# -- reading


def entry(row: object, where: str) -> Learning | None:
    """The learning of a JSON line, or None where it is none: no object, another kind, nothing said. Odd fields are
    passed over, never an error."""
    if not isinstance(row, dict) or row.get("kind") not in _TOLD:
        return None
    kind = row["kind"]
    context = _text(row.get("context"))
    told = next((text for text in (_text(row.get(name)) for name in _TOLD[kind]) if text), "")
    if not context and not told:
        return None
    body = " ".join(filter(None, (_text(row.get(name)) for name in _BODY)))
    return Learning(
        kind,
        context[:TITLE] or told[:TITLE],
        told[:TEXT],
        context,
        _text(row.get("applies_to")),
        body,
        max(clock.epoch(_text(row.get("ts"))), 0),
        _number(row.get("confidence")) >= recall.SURE,
        _number(row.get("seen")) if kind == FAILURE else 0,
        key(row),
        where,
    )


def key(row: dict) -> str:
    """The same for two rows of one kind, one context and one main text."""
    said = [_text(row.get("kind")), _text(row.get("context")), *(_text(row.get(one)) for one in _SAME[row["kind"]][:1])]
    if not said[-1] or row["kind"] == DELEGATION:
        said += [_text(row.get(name)) for name in _SAME[row["kind"]][1:]]
    return "\n".join(" ".join(one.lower().split()) for one in said)


def unlike(rows: Iterable[Learning]) -> list[Learning]:
    """Those that say different things, in their order: of two that say the same the later one stands, in its place; but
    one of an earlier source (`where`) before one of a later one."""
    stand: dict[str, tuple[int, Learning]] = {}
    for place, one in enumerate(rows):
        known = stand.get(one.key)
        if known is None or known[1].where == one.where:
            stand[one.key] = (place, one)
    return [one for _, one in sorted(stand.values(), key=lambda pair: pair[0])]


def decision(text: str, where: str) -> Learning | None:
    """The learning of a decision's or an anti-pattern's file, or None where it is none or was superseded."""
    lines = text.replace("\r\n", "\n").split("\n")
    head = next((line for line in lines if line.startswith("# ")), "")
    fields: dict[str, str] = {}
    name = ""
    for line in lines:
        found = re.match(r"\*\*([A-Za-z ]{2,30}):?\*\*:?\s*(.*)", line)
        if found:
            name = found[1].strip().lower()
            fields[name] = found[2].strip()
        elif name and line.strip() and not line.startswith("#"):
            fields[name] += " " + line.strip()
    status = fields.get("status", "").upper()
    kind = "anti-pattern" if status.startswith("ANTI-PATTERN") else "decision" if status.startswith("DECISION") else ""
    title = re.sub(r"^#\s*(?:[\w-]+\s+\d+\s*:)?\s*", "", head).strip()
    if not kind or not title:
        return None
    told = ("avoid", "what") if kind == "anti-pattern" else ("choice", "context")
    said = next((fields[one] for one in told if fields.get(one)), "")
    context = f"{title} {fields.get('context', '')}".strip()
    body = " ".join(filter(None, (fields.get(one, "") for one in ("choice", "what", "why", "avoid"))))
    at = max(clock.epoch(fields.get("date", "")[:10] + "T00:00:00Z"), 0)
    same = "\n".join((kind, title.lower(), said.lower()))
    return Learning(kind, title[:TITLE], said[:TEXT], context, "", body, at, False, 0, same, where)


def _text(value: object) -> str:
    """A field as text that can be stored: lists joined, lone surrogates replaced, bounded."""
    if isinstance(value, (list, tuple)):
        value = " ".join(str(one)[:SEARCHED] for one in value[:100])
    if value is None or isinstance(value, (dict, bool)):
        return ""
    text = str(value)[:SEARCHED]
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return float(min(max(value, 0), 10**9)) if value == value else 0


# -- keeping


def again(row: dict, known: list[dict]) -> dict | None:
    """The line to write for a learning that is to be kept, or None where it stands already; known: the lines so far.

    A failure that another loop has met before is written with one more in `seen`; the newer line takes the older's place.
    """
    same = [one for one in known if key(one) == key(row)]
    if not same:
        return row
    last = same[-1]
    if row["kind"] == FAILURE and row.get("loop") != last.get("loop"):
        return {**last, **row, "seen": int(max(_number(last.get("seen")), 1)) + 1}
    if row["kind"] == FAILURE and "seen" in last:
        row = {**row, "seen": last["seen"]}
    return row if any(row[name] != last.get(name) for name in row if name not in ("ts", "loop")) else None


# -- what a loop proposes


def proposed(state: LoopState, events: Iterable[Event] = ()) -> list[dict]:
    """What a loop taught, as rows without `ts`, the most useful first: tasks that failed, what must hold, what was
    decided, how it went. events: the loop's journal, for what the state has forgotten.

    Nothing of it is kept unless the person says so.
    """
    request = _one_line(state.text, TITLE)
    rows = [
        *_failures(state, request),
        *_constraints(state, request, events),
        *_decisions(state),
        *_outcome(state, request),
    ]
    found: dict[str, dict] = {}
    for row in rows:
        row = {"kind": row["kind"], **{k: masked(v) if isinstance(v, str) else v for k, v in row.items()}}
        found.setdefault(key(row), {**row, "loop": state.name})
    return list(found.values())


def _failures(state: LoopState, request: str) -> list[dict]:
    rows = []
    met = [task for task in state.tasks.values() if task.history]
    for task in sorted(met, key=lambda one: one.status != tasks.COMPLETED):
        panels = [one for one in state.panels if one.get("task") == task.id]
        panel = panels[-1] if panels else None
        line = error_line(task.history[-1]["error"])
        context = f"{_one_line(task.subject, TITLE)} (in: {request})"
        consensus = _one_line(panel.get("consensus"), PROPOSED) if panel else ""
        done = task.status == tasks.COMPLETED
        if not line:  # nothing to know the failure by again, but what helped may be worth keeping
            if consensus and done:
                sure = _number((panel or {}).get("recommendations", [{}])[0].get("confidence")) / 10
                rows.append(
                    {
                        "kind": DISCOVERY,
                        "context": context,
                        "discovery": consensus,
                        "confidence": round(sure, 1),
                        "applies_to": ", ".join(task.files[:5]),
                    }
                )
            continue
        causes = [_one_line(one.get("diagnosis"), 150) for one in (panel or {}).get("experts", [])]
        split = any(one.parent == task.id for one in state.tasks.values())
        way = consensus or ("split it into smaller tasks" if split else "")
        rows.append(
            {
                "kind": FAILURE,
                "context": context,
                "failure": line,
                "root_cause": "; ".join(dict.fromkeys(filter(None, causes))) or "not known",
                "prevention": (way if done else f"not solved; tried: {way}" if way else "not solved") or "not known",
                "seen": 1,
            }
        )
    return rows


def _constraints(state: LoopState, request: str, events: Iterable[Event]) -> list[dict]:
    rows = []

    def add(text: str, source: str, permanent: bool) -> None:
        rows.append(
            {
                "kind": CONSTRAINT,
                "context": request,
                "constraint": _one_line(text, PROPOSED),
                "source": _one_line(source, PROPOSED),
                "permanent": permanent,
            }
        )

    for rule in state.must_nots:
        seen = state.criterion_evidence.get(rule.id)
        near = [one.id for one in state.findings.values() if rule.id in (*one.violates, *one.breaks)]
        broke = (
            seen is not None and not seen.passed or rule.id in (state.session.reason or "").replace(":", " ").split()
        )
        if broke and state.session.verdict == verdict.BREACHED:
            add(f"must not: {rule.text}", f"{rule.id}, which came true in {state.name}", True)
        elif near:
            add(f"must not: {rule.text}", f"{rule.id}, nearly broken in {state.name} ({', '.join(near[:3])})", True)
    for one in state.findings.values():
        how = one.resolution or {}
        if how.get("how") == "waive":
            add(f"accepted: {one.issue}", f"the person: {how.get('text', '')}", False)
    for event in events:
        if event.type == "task_blocked" and event.data.get("kind") in ("external", "permission"):
            add(str(event.data.get("text", "")), f"a task of {state.name} waited for it ({event.data['kind']})", False)
    return rows


def _decisions(state: LoopState) -> list[dict]:
    """Reviews that swung to and fro: what was settled. Fatigue with a category or with growth is of this loop only."""
    return [
        {
            "kind": DISCOVERY,
            "context": _one_line(one.get("context") or one.get("title"), PROPOSED),
            "discovery": _one_line(one.get("choice") or one.get("title"), PROPOSED),
            "confidence": 0.7,
            "applies_to": _one_line(one.get("title"), TITLE),
        }
        for one in state.decisions
        if one.get("kind") not in ("category", "growth") and (one.get("choice") or one.get("title"))
    ]


def _outcome(state: LoopState, request: str) -> list[dict]:
    if state.session.status not in verdict.FINAL or state.scores is None:
        return []
    types = [one for one in TYPES if any(row.type == one for row in state.criteria.values() if not row.must_not)]
    errors = Counter(error_line(entry["error"]) for task in state.tasks.values() for entry in task.history)
    errors.pop("", None)
    worst = [line for line, _ in errors.most_common(1)]
    failed = [task for task in state.tasks.values() if task.history]
    done, total = state.counts[tasks.COMPLETED], len(state.tasks)
    pattern = f"{announce.count(len(failed), 'task')} of {total} failed first" if failed else "none"
    went = f"{done} of {total} tasks in {announce.count(len(state.waves), 'wave')}"
    return [
        {
            "kind": DELEGATION,
            "context": request,
            "spec_score": state.scores.get("spec"),
            "fit_score": state.scores.get("fit"),
            "shape_chosen": state.scores.get("shape") or "none",
            "verification_type": types[0] if types else "none",
            "outcome": f"{state.session.verdict or state.session.status}: {went}",
            "failure_pattern": pattern,
            "root_cause": worst[0] if worst else "none",
            "prevention": _advice(state, bool(failed)),
        }
    ]


def _advice(state: LoopState, failed: bool) -> str:
    """What to do differently next time, as far as figures tell."""
    if state.session.verdict == verdict.ACHIEVED:
        return "smaller tasks, or the failures above told in advance" if failed else "the same again"
    low = [name for name, value in ((state.scores or {}).get("values") or {}).items() if value != 2]
    return f"make these explicit first: {', '.join(low)}" if low else "a smaller request"


#: Lines that name an error by its kind; else those that say something of failing.
_NAMED = re.compile(
    r"^(?:E\s{2,}|\s*)(?:[\w.]*(?:Error|Exception|Panic)\b|error(?:\[\w+\])?:|fatal:|panic:|FAIL(?:ED)?\b)"
)
_FAILING = re.compile(r"error|exception|fail|assert|panic|fatal|denied|not found|cannot|timed out", re.I)


def error_line(error: str) -> str:
    """The line by which an error is known again, or empty where nothing was told."""
    lines = [line.strip() for line in str(error or "").splitlines() if line.strip()]
    if not lines or lines == ["no error given"]:
        return ""
    for pattern in (_NAMED, _FAILING):
        fitting = [line for line in lines if pattern.search(line) and not re.match(r"=+ .* =+$", line)]
        if fitting:
            return _one_line(re.sub(r"^E\s+", "", fitting[-1]), PROPOSED)
    return _one_line(lines[-1], PROPOSED)


_SECRET = re.compile(
    r"\b(?:sk-|ghp_|gho_|github_pat_|glpat-|xox[abp]-|AKIA|AIza)[\w-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*"
    r"|(?<=://)[^\s:/@]+:[^\s@/]+(?=@)"
    r"|\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*"
)
_ASSIGNED = re.compile(
    r"(?i)\b([\w-]*(?:password|passwd|secret|token|api[_-]?key)\s*[=:]\s*|bearer\s+|authorization:\s*\w+\s+)(?!\*)[^\s,;'\"]{4,}"
)


def masked(text: str) -> str:
    """The text without what looks like a secret; `learnings.jsonl` is kept in version control."""
    return _ASSIGNED.sub(r"\1***", _SECRET.sub("***", text))


def _one_line(text: object, most: int) -> str:
    return announce.clean(" ".join(str(text or "").split()), most)


# -- showing


def told(row: dict) -> str:
    """`[failure] context: what to do`, one line of a row as it is proposed."""
    one = entry(row, "")
    assert one is not None
    text = f"{row.get('failure')} → {one.text}" if row["kind"] == FAILURE else one.text
    if row["kind"] == DELEGATION:
        text = f"{row.get('outcome')}; next time: {one.text}"
    return f"[{one.kind}] {announce.clean(one.title, TITLE)}: {announce.clean(text, TEXT)}"


def summary(state: LoopState, events: Iterable[Event] = ()) -> list[str]:
    """What to tell at the end of a loop: short numbered proposals and how to keep them; empty where nothing was learnt.

    The numbers are those of `loopkit learn`.
    """
    rows = proposed(state, events)
    if not rows or [row["kind"] for row in rows] == [DELEGATION]:
        return []
    lines = ["learnt in this loop, not kept yet:"]
    lines += [f"  {place}. {announce.clean(told(row), 140)}" for place, row in enumerate(rows[:LISTED], 1)]
    more = f" ({len(rows) - LISTED} more)" if len(rows) > LISTED else ""
    return [*lines, f"the person decides what is kept: skill hope:learn, loopkit learn{more}"]
