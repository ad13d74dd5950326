"""Who speaks in a message, by the words of every provider and framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from loopmend.traces.readers.values import as_list, as_map, as_text, first, get

__all__ = ["CALL", "ROLES", "role_of"]

ROLES: Final = {
    **dict.fromkeys(("user", "human", "humanmessage", "humanmessagechunk", "usermessage"), "user"),
    **dict.fromkeys(
        ("assistant", "ai", "model", "gpt", "agent", "bot", "chatbot", "aimessage"), "assistant"
    ),
    **dict.fromkeys(("aimessagechunk", "reasoning", "gemini", "apimessage"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation", "tool_result", "toolmessage"), "tool"),
    **dict.fromkeys(("tool_response", "functionmessage", "tool_execution_result"), "tool"),
    **dict.fromkeys(("system", "developer", "systemmessage"), "system"),
}
"""The words by which providers and frameworks call the user, the model, the tools and the rest."""
CALL: Final = "_call"
"""How the kinds of calls end that OpenAI's Responses list."""
_RETURNED: Final = "_call_output"


def role_of(value: Any) -> str | None:
    """Return who speaks, in one of four words.

    >>> role_of({"role": "model"}), role_of({"type": "function_call_output"}), role_of({})
    ('assistant', 'tool', None)
    """
    if type(value) is dict and type(value.get("role")) is str:
        return ROLES.get(value["role"].lower())
    if isinstance(value, Mapping) and value.get("lc") == 1:
        path = as_list(value.get("id"))
        return ROLES.get(str(path[-1]).lower()) if path else None
    told = first(value, "role", "from", "messageType")
    if told is None:  # an export of Claude's; a message of opencode's
        told = get(value, "sender") or get(get(value, "info"), "role")
    if told is None and "parts" in as_map(value):  # pydantic-ai
        told = {"request": "user", "response": "assistant"}.get(as_text(value.get("kind")))
    if told is None:
        told = get(value, "type")
        told = "assistant" if told == "message" else told
        if isinstance(told, str) and told.endswith(("Message", "Event")) and get(value, "source"):
            told = "user" if value["source"] == "user" else "assistant"  # AutoGen
        if told is None and isinstance(get(value, "content"), Mapping):  # an event of Google's ADK
            return role_of(value["content"])
    # An enum's value is a word as well.
    word = getattr(told, "value", told)
    if not isinstance(word, str):
        return None
    ending = "assistant" if word.endswith(CALL) else "tool" if word.endswith(_RETURNED) else None
    return ROLES.get(word.lower(), ending)
