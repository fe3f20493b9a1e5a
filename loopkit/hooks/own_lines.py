"""loopkit's own lines in Bash: safe ones run unasked, for `loopkit allow` and `loopkit proof` the
person is asked."""

from __future__ import annotations

import json
import os

from ..core.evidence import lines
from ..store import loops, place
from . import project, reply
from .reply import Call

#: Milliseconds that a line which may take long gets from the client.
LONGEST = 600_000


def handle(call: Call) -> dict | None:
    """Leave for a safe line of a session with a loop; anything else is the client's."""
    given = call.given.get("tool_input")
    line = lines.read(given.get("command")) if type(given) is dict else None
    if line is None or call.given.get("permission_mode") == "plan":
        return None
    found = project.view(call)
    if found is None:
        return None
    mine = found.session.owner == project.session_id(call) != ""
    ask = _ask if line.words == lines.ALLOW else _ask_proof
    if mine and (ask is _ask or line.words[:1] == [lines.PROOF]):
        return None if call.given.get("agent_id") else ask(call, found, given, line)
    name = lines.safe(line.words)
    if not name or not mine and name not in lines.LOOKS:
        return None
    return reply.permit(_input(given, line.rest, line.words[0] in lines.LONG))


def _ask_proof(call: Call, found: loops.View, given: dict, line: lines.Line) -> dict | None:
    """Another proof is the person's word, and so is that it may run."""
    import shlex

    from ..core.evidence import consent
    from ..store import leave

    if "--" not in line.words or "--asked" in line.words:
        return None
    proof = shlex.join(line.words[line.words.index("--") + 1 :])
    state, _ = loops.fold(found.root, found.name)
    known = leave.of(found.root, state, call.env)
    session, token = project.session_id(call), found.session.token
    word = leave.request(call.data, session, token, known, [proof])
    rest = line.rest.replace(lines.PROOF, f"{lines.PROOF} --asked {word}", 1)
    text = f"another proof that the work is done: {_shown(proof)}"
    return reply.permit(_input(given, rest, True), f"{text} ({consent.WHAT}, in {known.folder})")


def _ask(call: Call, found: loops.View, given: dict, line: lines.Line) -> dict:
    """The call that the person says yes to gets a word of its own, by which it grants, and the
    checks as a here-document: the client cuts a long reason short, never a command."""
    from ..core.evidence import consent
    from ..store import leave

    state, _ = loops.fold(found.root, found.name)
    known = leave.of(found.root, state, call.env)
    wanted = leave.askable(state, known)
    if not wanted:
        return reply.permit(_input(given, " allow", True))
    session = project.session_id(call)
    word = leave.request(call.data, session, found.session.token, known, wanted)
    # indented: none can be the document's end
    shown = [f"  {_shown(check)}\n" for check in wanted]
    rest = f" allow --asked {word} <<'CHECKS'\n{''.join(shown)}CHECKS"
    text = f"{consent.WHAT} (in {known.folder})"
    if place.unattended(call.env):
        text += "; " + consent.UNATTENDED
    return reply.permit(_input(given, rest, True), text)


def _shown(check: str) -> str:
    """A check such that nothing in it steers a terminal or turns words round."""
    return check if check.isprintable() else json.dumps(check)


def _input(given: dict, rest: str, long: bool) -> dict:
    """The call with the plugin's own program, whatever a shell would find under its name."""
    program = os.path.join(place.plugin_root(), "bin", "loopkit").replace("'", "'\\''")
    kept = {name: value for name, value in given.items() if name != "run_in_background"}
    return {**kept, "command": f"'{program}'{rest}", **({"timeout": LONGEST} if long else {})}
