"""Who speaks in a message, by the words of every provider and framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from loopmend.traces.readers.values import as_list, as_map, as_text, first, get

__all__ = ["CALL", "ROLES", "by_name", "is_tagged", "is_turned", "role_of", "speaks", "turned"]

ROLES: Final = {
    **dict.fromkeys(("user", "human", "humanmessage", "humanmessagechunk", "usermessage"), "user"),
    **dict.fromkeys(
        ("assistant", "ai", "model", "gpt", "agent", "bot", "chatbot", "aimessage"), "assistant"
    ),
    **dict.fromkeys(("aimessagechunk", "reasoning", "gemini", "apimessage"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation", "tool_result", "toolmessage"), "tool"),
    **dict.fromkeys(("toolresult", "function_result", "ipython", "environment"), "tool"),
    **dict.fromkeys(("tool_response", "functionmessage", "tool_execution_result"), "tool"),
    **dict.fromkeys(("system", "developer", "systemmessage"), "system"),
}
"""The words by which providers and frameworks call the user, the model, the tools and the rest."""
CALL: Final = "_call"
"""How the kinds of calls end that OpenAI's Responses list."""
_RETURNED: Final = "_call_output"
_LONGEST_TAG: Final = 60


def _is_step(value: Mapping[str, Any]) -> bool:
    """Tell whether a value is a step of a run of Vercel's, which is a reply with its results."""
    return isinstance(value.get("content"), list) or isinstance(value.get("toolCalls"), list)


def _told(value: Any) -> Any:
    """Return the word for who speaks, if a message has one."""
    told = first(value, "role", "from", "messageType", "_role")
    if type(told) is dict:  # Microsoft's agent framework
        told = told.get("value")
    if told is None:  # an export of Claude's; a message of opencode's
        told = get(value, "sender") or get(get(value, "info"), "role")
    if told is None and "parts" in as_map(value):  # pydantic-ai
        told = {"request": "user", "response": "assistant"}.get(as_text(value.get("kind")))
    if told is None and "finishReason" in as_map(value) and _is_step(value):
        told = "assistant"
    return told


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
    told = _told(value)
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
    word = word.replace(".", "_")  # Mistral's
    ending = "assistant" if word.endswith(CALL) else "tool" if word.endswith(_RETURNED) else None
    return ROLES.get(word.lower(), ending)


def speaks(value: Any) -> bool:
    """Tell whether somebody says something in a value, in whatever role.

    >>> speaks({"role": "Critic", "content": "No."}), speaks({"role": "admin"})
    (True, False)
    """
    told = as_map(value)
    return isinstance(told.get("role"), str) and isinstance(told.get("content"), str)


def by_name(messages: Sequence[Any]) -> list[Any]:
    """Return messages in which agents speak in roles of their own as what they are: the model's.

    >>> by_name([{"role": "user", "content": "Go."}, {"role": "Critic", "content": "No."}])[1]
    {'role': 'assistant', 'content': 'No.', 'name': 'Critic'}
    """
    if not any(role_of(each) == "user" for each in messages):
        return list(messages)
    own = [speaks(each) and role_of(each) is None for each in messages]
    return [
        {**each, "role": "assistant", "name": each["role"]} if agents else each
        for each, agents in zip(messages, own, strict=True)
    ]


def is_turned(messages: Sequence[Any]) -> bool:
    """Tell whether one speaker has both roles: AutoGen keeps a talk as one of the two hears it."""
    first_name = get(messages[0], "name") if messages else None
    if not isinstance(first_name, str):
        return False
    roles: dict[str, set[Any]] = {}
    for each in messages:
        roles.setdefault(str(get(each, "name")), set()).add(get(each, "role"))
    return "None" not in roles and any({"user", "assistant"} <= told for told in roles.values())


def turned(messages: Sequence[Any]) -> list[Any]:
    """Return the messages with the one who asked first as the user, and all others as agents."""
    asks = get(messages[0], "name")
    return [
        each
        if role_of(each) not in ("user", "assistant")
        else {**each, "role": "user" if each["name"] == asks else "assistant"}
        for each in map(as_map, messages)
    ]


def is_tagged(text: str) -> bool:
    """Tell whether a text stands in tags named by words with a hyphen: nobody types these.

    >>> is_tagged("<system-reminder>Be brief.</system-reminder>"), is_tagged("<b>Hi.</b>")
    (True, False)
    """
    text = text.strip()
    name = text[1 : text.find(">")] if text.startswith("<") else ""
    _, _, closing = text[-_LONGEST_TAG:].rpartition("</")
    tags = (name, closing.removesuffix(">"))
    return text.endswith(">") and all(
        len(tag) < _LONGEST_TAG and tag.replace("-", "_").isidentifier() and {*tag} & {*"-_"}
        for tag in tags
    )
