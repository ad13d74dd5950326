"""A span's attributes by the conventions of OpenInference, GenAI and Vercel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loopmend.traces.readers.values import as_list, as_map, counted, decoded, first, get
from loopmend.traces.trace import Tokens

__all__ = [
    "failed_in",
    "finish_told",
    "flat",
    "given_in",
    "is_call",
    "kind_in",
    "said_in",
    "tokens_told",
    "tool_in",
    "tools_in",
]

_KIND: Final = "openinference.span.kind"
_OPERATIONS: Final = {
    **dict.fromkeys(("chat", "text_completion", "generate_content", "completion"), "LLM"),
    **dict.fromkeys(("execute_tool",), "TOOL"),
    **dict.fromkeys(("invoke_agent", "create_agent", "invoke_workflow"), "AGENT"),
    **dict.fromkeys(("embeddings", "retrieval"), "OTHER"),
}
_MLFLOW: Final = {"CHAT_MODEL": "LLM"}
_TRACELOOP: Final = {"workflow": "AGENT", "agent": "AGENT", "tool": "TOOL", "task": "CHAIN"}
_VERCEL: Final = re.compile(r"ai\.(?:generate|stream)(?:Text|Object)")
_KINDS: Final = (
    *("mlflow.spanType", "gen_ai.operation.name", "ai.operationId", "traceloop.span.kind"),
)
_TOOLS: Final = (
    *("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name"),
    *("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id"),
)
_WHOLE: Final = (
    *("gen_ai.completion", "gen_ai.output.messages", "llm.request.type", "response_data"),
)
_INDEXED_REPLIES: Final = ("gen_ai.completion.", "llm.output_messages")
_INDEXED: Final = re.compile(r"\.(\d{1,6})\.")
_DEEPEST: Final = 12
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_FINISHES: Final = (
    *("gen_ai.response.finish_reasons", "llm.finish_reason", "ai.response.finishReason"),
    "finish_reason",
)
_MESSAGES: Final = ("llm.input_messages", "llm.output_messages")


def flat(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return attributes under dotted keys: data frames hold them nested."""
    for key in _MESSAGES:
        if isinstance(attributes.get(key), str):  # a column that holds JSON
            attributes = {**attributes, key: decoded(attributes[key])}
    if _PLAIN.issuperset(map(type, attributes.values())):
        return attributes
    found: dict[str, Any] = {}
    stack: list[tuple[str, Any, int]] = [(str(k), v, 0) for k, v in attributes.items()]
    while stack:
        key, value, depth = stack.pop()
        # Lists of messages are nested; lists of words are what they are.
        deep = isinstance(value, Mapping) or any(isinstance(e, Mapping) for e in as_list(value))
        found[key] = value
        if deep and depth < _DEEPEST and not key.endswith(("arguments", ".value", "metadata")):
            items = value.items() if isinstance(value, Mapping) else enumerate(as_list(value))
            stack += [(f"{key}.{inner}", each, depth + 1) for inner, each in items]
    return found


def kind_in(attributes: Mapping[str, Any], name: str, told: Any = None) -> str:
    """Return what kind of work a span does, or `CHAIN` if nothing says so."""
    declared = attributes.get(_KIND) or told
    if isinstance(declared, str) and declared and declared.upper() not in ("INTERNAL", "CLIENT"):
        kind = declared.upper().rpartition(".")[2]
        return kind if kind != "UNKNOWN" else "CHAIN"
    if attributes.keys().isdisjoint(_KINDS):
        return _by_keys(attributes, name)
    mlflow = str(decoded(attributes.get("mlflow.spanType")) or "").upper()
    if mlflow and mlflow != "UNKNOWN":
        return _MLFLOW.get(mlflow, mlflow)
    operation = str(attributes.get("gen_ai.operation.name") or "")
    if operation in _OPERATIONS:
        return _OPERATIONS[operation]
    vercel = str(attributes.get("ai.operationId") or "")
    if vercel:
        return "LLM" if _VERCEL.match(vercel) else "TOOL" if vercel == "ai.toolCall" else "OTHER"
    traceloop = str(attributes.get("traceloop.span.kind") or "").lower()
    if traceloop in _TRACELOOP:
        return _TRACELOOP[traceloop]
    return _by_keys(attributes, name)


def _by_keys(attributes: Mapping[str, Any], name: str) -> str:
    """Return what kind of work a span does by what else it tells, or by its name."""
    if "gen_ai.tool.name" in attributes or "tool.name" in attributes:
        return "TOOL"
    for key in attributes:
        if key in _WHOLE or key.startswith(_INDEXED_REPLIES):
            return "LLM"
    return "TOOL" if name.startswith(("execute_tool ", "running tool")) else "CHAIN"


def given_in(attributes: Mapping[str, Any], events: list[Any], kind: str) -> Any:
    """Return what a span got: a tool's arguments, or messages."""
    if kind == "TOOL":
        named = ("gen_ai.tool.call.arguments", "ai.toolCall.args", "tool.parameters", "input.value")
        extra = ("tool_arguments", "traceloop.entity.input", "input", "mlflow.spanInputs")
        value = first(attributes, *named, *extra)
        return _tool_told(events, answers=False) if value is None else _inputs(value)
    listed = _indexed(attributes, "llm.input_messages", "message.") or _indexed(
        attributes, "gen_ai.prompt", ""
    )
    if any(message.get("role") != "system" for message in listed):
        return listed
    named = ("gen_ai.input.messages", "ai.prompt.messages", "ai.prompt", "gen_ai.prompt")
    value = first(attributes, *named, "input.value", "llm.prompts", "traceloop.entity.input")
    value = first(attributes, "mlflow.spanInputs", "request_data") if value is None else value
    return _events(events or _logged(attributes), answers=False) if value is None else value


def said_in(attributes: Mapping[str, Any], events: list[Any], kind: str) -> Any:
    """Return what a span returned: a tool's result, or messages."""
    if kind == "TOOL":
        named = ("gen_ai.tool.call.result", "ai.toolCall.result", "output.value", "tool_response")
        extra = ("traceloop.entity.output", "output", "mlflow.spanOutputs")
        value = first(attributes, *named, *extra)
        return _tool_told(events, answers=True) if value is None else value
    if kind != "LLM":
        value = first(
            attributes,
            *("output.value", "gen_ai.output.messages", "pydantic_ai.all_messages"),
            *("all_messages_events", "final_result", "ai.response.text", "output"),
            *("traceloop.entity.output", "mlflow.spanOutputs"),
        )
        return _events(events, answers=True) if value is None and kind == "AGENT" else value
    listed = _indexed(attributes, "llm.output_messages", "message.") or _indexed(
        attributes, "gen_ai.completion", ""
    )
    if listed and any(len(message) > 1 for message in listed):
        return listed[:1] if len({message.get("role") for message in listed}) > 1 else listed
    calls = decoded(attributes.get("ai.response.toolCalls"))
    if calls or "ai.response.text" in attributes or "ai.response.object" in attributes:
        text = first(attributes, "ai.response.text", "ai.response.object")
        return {"role": "assistant", "content": text, "tool_calls": calls}
    named = ("gen_ai.output.messages", "gen_ai.completion", "output.value", "output")
    extra = (
        "traceloop.entity.output",
        "mlflow.spanOutputs",
        "response_data",
    )  # the last: Logfire's
    value = first(attributes, *named, *extra)
    return _events(events or _logged(attributes), answers=True) if value is None else value


def _logged(attributes: Mapping[str, Any]) -> list[Any]:
    """Return the events that pydantic-ai writes into an attribute."""
    listed = as_list(decoded(attributes.get("events")))
    return [{"name": get(each, "event.name"), "body": each} for each in listed]


def _inputs(value: Any) -> Any:
    """Return arguments without what Traceloop wraps them in."""
    inner = decoded(value)
    held = inner.get("inputs") if isinstance(inner, Mapping) and "inputs" in inner else None
    return value if held is None else held


def _indexed(attributes: Mapping[str, Any], prefix: str, inside: str) -> list[dict[str, Any]]:
    """Return a list of messages from keys such as `llm.output_messages.0.message.content`."""
    found: dict[str, _Message] = {}
    start = f"{prefix}."
    for key in [key for key in attributes if key.startswith(start)]:
        number, _, rest = key[len(start) :].partition(".")
        if rest.startswith(inside) and number.isdecimal():
            if number not in found:
                found[number] = _Message()
            found[number].take(rest[len(inside) :], attributes[key])
    order = found if len(found) <= 1 else sorted(found, key=int)
    return [found[number].whole() for number in order]


@dataclass(slots=True)
class _Message:
    """A message whose fields stand under keys of their own."""

    fields: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def take(self, key: str, value: Any) -> None:
        if "." not in key and not key.startswith("function_call_"):
            self.fields[key] = value
        elif key.startswith("tool_calls."):
            which, _, name = key[len("tool_calls.") :].partition(".")
            name = name.removeprefix("tool_call.").removeprefix("function.")
            self.calls.setdefault(which, {})[name] = value
        elif key.startswith("contents."):
            if key.endswith("message_content.text") and isinstance(value, str):
                self.texts[key] = value
        elif key.startswith("function_call_"):
            name = key.removeprefix("function_call_").removesuffix("_json")
            self.calls.setdefault("0", {})[name] = value

    def whole(self) -> dict[str, Any]:
        message = {"role": "assistant", **self.fields}
        if self.calls:
            message["tool_calls"] = [self.calls[key] for key in sorted(self.calls, key=_order)]
        if self.texts:
            said = "".join(self.texts[key] for key in sorted(self.texts, key=_order))
            message.setdefault("content", said)
        return message


def _order(key: str) -> tuple[int, str]:
    number = _INDEXED.search(f".{key}.")
    return int(number[1]) if number is not None else 0, key


def _events(events: list[Any], *, answers: bool) -> list[Any] | None:
    """Return the messages that older GenAI instrumentations write as events."""
    found = list(_said_in_events(events, answers=answers))
    return found or None


def _said_in_events(events: list[Any], *, answers: bool) -> Iterator[Any]:
    for event in events:
        name = str(get(event, "name") or "")
        held = as_map(get(event, "attributes"))
        body = decoded(get(event, "body") or held.get("gen_ai.event.content")) or held
        whole = held.get("gen_ai.output.messages" if answers else "gen_ai.input.messages")
        if whole is not None:
            yield from as_list(decoded(whole))
        elif answers and name == "gen_ai.choice":
            said = decoded(first(body, "message"))
            told = (
                body if said is None else said if isinstance(said, Mapping) else {"content": said}
            )
            yield {"role": "assistant", **_finished(body), **as_map(told)}
        elif answers and name == "gen_ai.content.completion":
            yield decoded(held.get("gen_ai.completion"))
        elif not answers and name == "gen_ai.content.prompt":
            yield decoded(held.get("gen_ai.prompt"))
        elif not answers and name.startswith("gen_ai.") and name.endswith(".message"):
            role = name.removeprefix("gen_ai.").removesuffix(".message")
            yield {"role": role, **as_map(body)}


def _finished(body: Mapping[str, Any]) -> dict[str, Any]:
    told = body.get("finish_reason")
    return {} if told is None else {"finish_reason": told}


def _tool_told(events: list[Any], *, answers: bool) -> Any:
    """Return what the events of a tool's span say that it got or returned: Strands."""
    for event in events:
        name, held = get(event, "name"), as_map(get(event, "attributes"))
        whole = held.get("gen_ai.output.messages" if answers else "gen_ai.input.messages")
        message = next(iter(as_list(decoded(whole))), None)
        part = next(iter(as_list(get(message, "parts"))), None)
        if part is not None:
            return get(part, "response" if answers else "arguments")
        if name == ("gen_ai.choice" if answers else "gen_ai.tool.message"):
            return held.get("message" if answers else "content")
    return None


def tool_in(attributes: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return a tool's name and the id of the call that it answers."""
    if attributes.keys().isdisjoint(_TOOLS):
        return None, None
    name = first(attributes, "gen_ai.tool.name", "tool.name", "ai.toolCall.name")
    name = attributes.get("traceloop.entity.name") if name is None else name
    id = first(attributes, "gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id")
    return (name if isinstance(name, str) else None), (id if isinstance(id, str) else None)


def failed_in(attributes: Mapping[str, Any]) -> bool:
    """Tell whether a tool's span says by itself that the tool failed: Strands, LiveKit."""
    if attributes.get("gen_ai.tool.status") == "error":
        return True
    return str(attributes.get("lk.function_tool.is_error")).lower() == "true"


def is_call(attributes: Mapping[str, Any]) -> bool:
    """Tell whether an agent's span stands for the call of a tool, with what the tool got."""
    given = attributes.get("tool.parameters")
    return isinstance(attributes.get("tool.name"), str) and given not in (None, "", "null")


def tools_in(attributes: Mapping[str, Any]) -> list[str]:
    """Return the names of the tools that a span was offered."""
    named = as_list(attributes.get("smolagents.tools_names"))
    told = first(attributes, "gen_ai.tool.definitions", "gen_ai.agent.tools")
    if not named and told is not None:
        listed = decoded(told)
        inner = [get(each, "function") or each for each in as_list(listed)]
        named = [get(each, "name") if isinstance(each, Mapping) else each for each in inner]
    return [name for name in named if isinstance(name, str)]


def finish_told(attributes: Mapping[str, Any]) -> str | None:
    """Return why a span says that the model's reply ended; of several choices, the first counts."""
    told = decoded(first(attributes, *_FINISHES))
    told = as_list(told)[0] if as_list(told) else told
    return told if isinstance(told, str) and told else None


def tokens_told(attributes: Mapping[str, Any]) -> Tokens | None:
    """Return how many tokens a span counts."""
    input = first(
        attributes,
        *("llm.token_count.prompt", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        *("ai.usage.inputTokens", "ai.usage.promptTokens"),
    )
    output = first(
        attributes,
        *("llm.token_count.completion", "gen_ai.usage.output_tokens"),
        *("gen_ai.usage.completion_tokens", "ai.usage.outputTokens", "ai.usage.completionTokens"),
    )
    return counted(input, output)
