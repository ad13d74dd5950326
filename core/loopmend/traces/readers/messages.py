"""Messages of every provider and framework, as one kind of message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from loopmend.traces.readers.failures import SHELL
from loopmend.traces.readers.parts import (
    ONLY,
    WRAPPERS,
    call_of,
    calls_in,
    content_of,
    is_bare_call,
    kind_of,
    once,
    result_of,
    results_beside,
    steps_of,
    text_of,
)
from loopmend.traces.readers.roles import CALL, ROLES, role_of
from loopmend.traces.readers.said import Said
from loopmend.traces.readers.values import (
    FINISHES,
    as_list,
    as_map,
    as_text,
    decoded,
    finish_in,
    first,
    get,
    tokens_in,
)
from loopmend.traces.trace import Observation, Tokens

__all__ = ["is_message", "messages_in"]

# What OpenAI's Responses list one by one; together they are one reply. There is a kind of call, and
# of what it returned, for each of their tools.
_ITEMS: Final = ("_call", "reasoning", "message")
_PARTS: Final = (
    *("text", "thinking", "tool_use", "tool_result", "tool_call", "tool_call_response"),
)
_STEPPED: Final = frozenset({"parts", "toolInvocations"})
_PAIR: Final = 2
_THOUGHT: Final = {"reasoningContent"}
_TAG: Final = "<tool_response>"
"""What Hermes' models read results in."""
_DEEPEST: Final = 8


def is_message(value: Any) -> bool:
    """Tell whether a value is a message, of whichever provider."""
    if type(value) is dict or isinstance(value, Mapping):
        if "raw_item" in value:  # an item of OpenAI's Agents SDK
            return is_message(value["raw_item"])
        called = ("id" in value or "status" in value) and str(value.get("type")).endswith(CALL)
        return (called or not _HOLDING.isdisjoint(value)) and role_of(value) is not None
    return role_of(value) is not None and hasattr(value, "content")


_HOLDING: Final = frozenset(
    {
        *("content", "parts", "tool_calls", "function_call", "value", "data", "text", "call_id"),
        *("toolInvocations", "summary", "tool_call_id", "kwargs", "blocks", "refusal", "message"),
        *("tool_results", "items", "contents", "responses", "toolCalls", "toolExecutionRequests"),
        *("_content", "toolResults", "result"),
    }
)
_USUAL: Final = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
# Most messages have none of these, which is faster to tell than to look for each.
_COUNTING: Final = frozenset(
    {
        *("usage", "usage_metadata", "metrics", "response_metadata"),
        *("incomplete_details", "generation_info", *FINISHES),
        *("promptFeedback", "prompt_feedback"),
    }
)


def messages_in(value: Any, role: str = "user", depth: int = 0) -> list[Said]:
    """Return the messages that a value holds, whatever it is wrapped in.

    Args:
        value: A message, a list of them, a provider's response, or what a framework keeps of one.
        role: Whose text it is, where the value does not say.
        depth: How deep it is wrapped already.
    """
    if type(value) is dict:  # nearly always
        usual = _usual(value)
        if usual is not None:
            return [usual]
    if isinstance(value, str):
        value = decoded(value)
    if depth > _DEEPEST or value is None:
        return []
    if isinstance(value, str):
        return [Said(role, value)] if value else []
    if isinstance(value, (list, tuple)):
        return _listed(value, role, depth)
    if is_message(value):
        return _message(value, role, depth)
    if isinstance(value, Mapping):
        return _wrapped(value, role, depth)
    return []


def _usual(value: dict[str, Any]) -> Said | None:
    """Return a message as most clients write it, or none if there is more to it."""
    role, content = value.get("role"), value.get("content")
    whose = ROLES.get(role) if type(role) is str else None
    if whose is None or not _USUAL.issuperset(value) or "content" not in value:
        return None
    if content is not None and (type(content) is not str or content[:2] == "[{"):
        return None
    name = value.get("name")
    name = name if type(name) is str else None
    if whose == "tool":
        id = value.get("tool_call_id")
        if not content or content.lstrip().startswith((_TAG, SHELL)):
            return None
        seen = Observation(text_of(content), name, id if type(id) is str else None)
        return Said("tool", "", None, [], [seen], name)
    made = value.get("tool_calls")
    calls = [call for each in as_list(made) if (call := call_of(each)) is not None] if made else []
    return Said(whose, content or "", None, calls, [], name)


def _listed(value: Any, role: str, depth: int) -> list[Said]:
    opening = value[0] if value else None
    if type(opening) is dict and "role" in opening and is_message(opening):
        return _each(value, role, depth)  # a conversation, nearly always
    if len(value) == _PAIR and _is_pair(value):
        return [Said(ROLES[value[0].lower()], value[1])]
    calls = list(map(call_of, value)) if all(map(is_bare_call, value)) else []
    if calls:  # Vercel's and koog's replies are their calls
        return [Said("assistant", calls=[call for call in calls if call is not None])]
    if value and all(isinstance(each, str) for each in value):
        return [Said(role, "\n".join(value))]
    if value and all(map(_is_part, value)):  # the content of a message without the message
        return _spoken({}, value, role)
    return _each(value, role, depth)


def _each(value: Any, role: str, depth: int) -> list[Said]:
    """Return the messages of a list; items of one reply are joined."""
    said: list[Said] = []
    for each in value:
        usual = _usual(each) if type(each) is dict else None
        if usual is not None:
            said.append(usual)
            continue
        for more in messages_in(each, role, depth + 1):
            if more.item and said and said[-1].item:
                said[-1].join(more)
            else:
                said.append(more)
    return said


def _is_pair(value: Any) -> bool:
    role, text = value
    return isinstance(role, str) and isinstance(text, str) and role.lower() in ROLES


def _is_part(value: Any) -> bool:
    """Tell whether a value is a part of a message: it says what it is, and not who says it."""
    if not isinstance(value, Mapping) or is_message(value):
        return False
    return kind_of(value).endswith(_PARTS) or not WRAPPERS.keys().isdisjoint(value)


def _wrapped(value: Mapping[str, Any], role: str, depth: int) -> list[Said]:
    """Take a response, or what a framework keeps of one, out of what it is wrapped in."""
    if role == "assistant" and value.keys() <= ONLY and is_bare_call(value):
        return _listed([value], role, depth)
    usage = tokens_in(first(value, "usage", "usage_metadata", "usageMetadata"))
    for found, whose in _inside(value):
        said = messages_in(found, whose or role, depth + 1)
        if said:
            _add(said[-1], usage, _finish(value))
            return said
    finish = _finish(value) if role == "assistant" else None  # a reply that was withheld
    return [] if finish is None else [Said(role, finish=finish)]


def _inside(value: Mapping[str, Any]) -> Iterator[tuple[Any, str | None]]:
    """Yield what may be the messages of a wrapper, the surest first."""
    for key in ("messages", "message", "choices", "candidates", "generations", "replies"):
        if value.get(key):
            chosen = as_list(value[key])
            # Of several choices for one prompt, the first one counts.
            lone = key in ("choices", "candidates", "generations") and chosen
            yield (chosen[0] if lone else value[key]), None if key == "messages" else "assistant"
    # Gemini: {"content": {"role": "model", "parts": […]}}
    if isinstance(value.get("content"), Mapping):
        yield {"role": "model", **value["content"]}, "assistant"
    if value.get("object") == "response" or isinstance(value.get("output"), (list, Mapping)):
        yield value.get("output"), "assistant"
    if value.get("toolCalls") or value.get("tool_calls"):
        yield {"role": "assistant", **value}, "assistant"
    yield as_map(value.get("update")).get("messages"), None
    for key in ("prompt", "prompts"):
        yield value.get(key), "user"
    for key in ("text", "content", "output_text"):
        # Who says something in a role that nobody knows is not understood.
        if isinstance(value.get(key), str) and value[key] and not {"role", "lc"} & set(value):
            yield value[key], None
    yield from ((held, "assistant") for held in value.values() if _keeps_reply(held))


def _keeps_reply(value: Any) -> bool:
    """Tell whether a value keeps messages, whatever its key is called."""
    one = value[0] if isinstance(value, list) and value else value
    return is_message(one) or is_message(as_map(one).get("message"))


def _add(said: Said, usage: Tokens | None, finish: str | None) -> None:
    said.tokens = said.tokens or usage
    said.finish = said.finish or finish


def _message(value: Any, role: str, depth: int) -> list[Said]:
    value = get(value, "raw_item") or value
    whose = role_of(value) or role
    if type(value) is not dict or "kwargs" in value or "data" in value:
        inner = first(value, "kwargs", "data") if isinstance(value, Mapping) else None
        if isinstance(inner, Mapping) and (value.get("lc") == 1 or "content" in inner):
            value = inner
    content = first(value, "content", "parts", "value", "text", "blocks", "message", "tool_results")
    if content is None:
        content = first(value, "items", "contents", "responses", "_content")
    content = content or first(value, "refusal") or content  # OpenAI's word for no
    if isinstance(content, str) and content[:2] == "[{":
        content = _parts_in(content)
    elif isinstance(content, Mapping) and isinstance(content.get("parts"), list):  # Mastra
        value = {**value, **content, "content": content["parts"]}
        content = value["content"]
    elif isinstance(content, Mapping) and is_message(content) and depth < _DEEPEST:
        said = _message(content, whose, depth + 1)
        _add(said[-1], _usage(value), _finish(value))
        return said
    if whose == "tool":
        return [_returned(value, content)]
    if type(value) is dict and not _STEPPED.isdisjoint(value):
        replies = steps_of(value, content)
        if len(replies) > 1:  # Vercel keeps all steps of a run in one message
            return [said for parts in replies for said in _spoken({}, parts, whose)]
        content = replies[0] if replies else content
    return _spoken(value, content, whose)


def _parts_in(text: str) -> Any:
    """Return the parts that a text holds in JSON: koog writes its calls so, others everything."""
    listed = decoded(text)
    if isinstance(listed, list) and all(map(is_bare_call, listed)):
        return [{**each, "type": "tool_call"} for each in listed]
    return listed if isinstance(listed, list) and all(map(_is_block, listed)) else text


def _is_block(value: Any) -> bool:
    """Tell whether a value is a part, also one that tells its kind by its only key."""
    return _is_part(value) or (isinstance(value, Mapping) and {*value} in ({"text"}, _THOUGHT))


def _returned(value: Any, content: Any) -> Said:
    """Read a message of a tool: one result, or several in its parts or in its tags."""
    held = content_of(content).results if isinstance(content, (list, tuple)) else []
    results = held or [result_of(value)]
    if isinstance(content, str) and content.lstrip().startswith(_TAG):
        pieces = content.replace(_TAG.replace("<", "</"), "").split(_TAG)[1:]
        results = [_tagged(results[0], piece.strip()) for piece in pieces]
    return Said("tool", results=results, name=_name(value))


def _tagged(result: Observation, piece: str) -> Observation:
    """Return a result in a tag, which may tell its tool as well."""
    told = as_map(decoded(piece))
    if {"name", "content"} <= told.keys():
        return replace(result_of(told), call_id=result.call_id)
    return replace(result, text=piece)


def _spoken(value: Any, content: Any, role: str) -> list[Said]:
    kind = as_text(get(value, "type")).replace(".", "_")
    held = content_of(None if kind == "reasoning" else content)
    calls = once(held.calls, calls_in(value))
    held.results += results_beside(value)
    held.concludes = held.concludes or "usedTools" in as_map(value)  # Flowise tells them afterwards
    if kind.endswith(CALL):
        named = {"name": kind.removesuffix(CALL), **value}
        calls += [call for call in [call_of(named)] if call is not None]
        if "call_id" not in value:  # the provider runs such a tool itself
            held.results.append(result_of(value))
    elif get(value, "from") == "function_call":  # ShareGPT
        calls += [call for call in [call_of(decoded(content))] if call is not None]
        held.texts.clear()
    answer = get(value, "final_answer")
    if kind == "reasoning":
        held.thoughts += [as_text(get(each, "text")) for each in as_list(get(value, "summary"))]
    thoughts = [*held.thoughts, as_text(first(value, "reasoning_content", "reasoning"))]
    said = Said(
        role,
        "\n".join(held.texts),
        "\n".join(filter(None, thoughts)) or None,
        calls,
        held.results,
        _name(value),
        _usage(value),
        _finish(value),
        item=role == "assistant" and kind.endswith(_ITEMS),
        answer=answer if isinstance(answer, str) else None,
        concludes=held.concludes and len(held.results) >= len(calls),
    )
    if held.results and not said.calls:  # results in a user's message are the tool's words
        # and what stands beside them is the host's note, not another request
        said.results, said.role = [], "system" if role == "user" else role
        returned = Said("tool", results=held.results)
        return [returned, said] if role == "user" or not said.empty else [returned]
    return [said]


def _name(value: Any) -> str | None:
    name = get(value, "name")
    called = as_text(get(value, "type")).endswith(CALL)
    return name if isinstance(name, str) and not called else None


def _usage(value: Any) -> Tokens | None:
    if type(value) is dict and _COUNTING.isdisjoint(value):
        return None
    told = first(value, "usage", "usage_metadata", "metrics")
    told = told or as_map(get(value, "response_metadata")).get("token_usage")
    return tokens_in(told)


def _finish(value: Any) -> str | None:
    if type(value) is dict and _COUNTING.isdisjoint(value):
        return None
    told = finish_in(value) or finish_in(get(value, "response_metadata"))
    return told or finish_in(get(value, "generation_info"))
