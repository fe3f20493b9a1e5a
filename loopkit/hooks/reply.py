"""What a hook is called with and may answer, in the forms of the client (2.1.332)."""

from __future__ import annotations

from collections import namedtuple

#: What a handler gets. given: the event's input (a dict, {} where it is none) · readable: whether
#: it was one · env: environment variables · data: the plugin's data folder · now: POSIX seconds.
Call = namedtuple("Call", "event given readable env data now")


def hold(text: str) -> dict:
    """The turn goes on, and Claude reads `text`; `decision: block` would arrive twice."""
    return add(text, "Stop")


def add(text: str, event: str) -> dict:
    """Claude reads `text` beside what the event is about; an agent that was about to end goes
    on."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def tell(text: str) -> dict | None:
    """The person reads `text`; nothing else happens. Empty: silence."""
    return {"systemMessage": text} if text else None


def announce(text: str, context: str) -> dict:
    """A session's start: `text` for the person, `context` for Claude."""
    return {
        "systemMessage": text,
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context},
    }


def refuse(reason: str) -> dict:
    """A prompt or a task's completion is refused, with the reason and the way out."""
    return {"decision": "block", "reason": reason}


def spare(reason: str) -> dict:
    """A prompt that nobody typed does not reach the model: no request; the person reads why."""
    special = {"hookEventName": "UserPromptSubmit", "suppressOriginalPrompt": True}
    return {**refuse(reason), "hookSpecificOutput": special}


def permit(tool_input: dict, ask: str = "") -> dict:
    """A tool call runs with this input: unasked, or once the person has said yes to `ask`."""
    special = {"hookEventName": "PreToolUse", "permissionDecision": "ask" if ask else "allow"}
    if ask:
        special["permissionDecisionReason"] = ask
    return {"hookSpecificOutput": {**special, "updatedInput": tool_input}}


def deny(reason: str) -> dict:
    """A tool is not called, and whoever called it reads why."""
    own = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
    return {"hookSpecificOutput": {**own, "permissionDecisionReason": reason}}


def kind(answer: dict | None) -> str:
    """What an answer made of the forms above does: silent, held, refused or told."""
    if not answer:
        return "silent"
    own = answer.get("hookSpecificOutput", {})
    if "decision" in answer or own.get("permissionDecision") == "deny":
        return "refused"
    return "held" if own.get("hookEventName") in ("Stop", "SubagentStop") else "told"
