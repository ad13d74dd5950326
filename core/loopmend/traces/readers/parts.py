"""The parts of a message: texts, thoughts, calls and results, as each provider writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loopmend.traces.readers.failures import SHELL, failed_by, printed
from loopmend.traces.readers.values import as_list, as_map, as_text, decoded, first, get, parsed
from loopmend.traces.trace import Observation, TraceCall

__all__ = [
    "ONLY",
    "WRAPPERS",
    "Content",
    "call_of",
    "calls_in",
    "content_of",
    "is_bare_call",
    "kind_of",
    "once",
    "result_of",
    "results_beside",
    "steps_of",
    "text_of",
]

_THOUGHTS: Final = ("thinking", "reasoning", "thought", "redacted_thinking")
_NAMES: Final = ("name", "tool_name", "toolName", "function_name", "tool")
_GIVEN: Final = (
    *("arguments", "args", "input", "parameters", "kwargs", "tool_input", "toolInput", "argsText"),
    *("tool_kwargs", "action", "queries", "code"),
)
_CALL_IDS: Final = (
    *("tool_call_id", "tool_use_id", "call_id", "toolCallId", "toolUseId", "source_call_id"),
    *("tool_id", "toolUseID"),
)
_RESULTS: Final = (
    *("content", "output", "response", "result", "value", "text", "outputText", "blocks"),
    *("outputs", "results", "responseData", "toolOutput"),
)
# One key that holds the whole part, in Gemini's and in Bedrock's way, and what it holds.
WRAPPERS: Final = {
    **dict.fromkeys(("functionCall", "function_call", "toolUse", "toolCall"), "tool_call"),
    **dict.fromkeys(("tool_call", "executableCode", "executable_code"), "tool_call"),
    **dict.fromkeys(("functionResponse", "function_response", "toolResult"), "tool_result"),
    **dict.fromkeys(("tool_call_result", "codeExecutionResult"), "tool_result"),
    "code_execution_result": "tool_result",
}
_RETURNED: Final = frozenset({"call_id", "outputs", "responseData"})
_CALLING: Final = ("tool_use", "tool_call", "function_call", "toolcall")
_RETURNING: Final = (
    *("tool_result", "tool_call_response", "call_output", "tool_output", "tool_return"),
    *("retry_prompt", "function_result", "toolresult", "tool_error"),
)
# Most messages have none of these, which is faster to tell than to look for each.
_BESIDE: Final = frozenset(
    {"tool_calls", "toolCalls", "additional_kwargs", "invalid_tool_calls", "function_call"}
    | {"toolExecutionRequests", "usedTools", "toolResults"}
)
_LISTS: Final = ("tool_calls", "toolCalls", "toolExecutionRequests", "usedTools")
_DONE: Final = ("result", "toolOutput")
_DEEPEST: Final = 4
# A result that is itself kept as a part, or as a list of them.
_WRAPPED: Final = re.compile(r'\s{0,9}(?:\[\s{0,9})?\{\s{0,9}"(?:type|text)"')

ONLY: Final = frozenset({"name", "arguments", "id", "type", "index", "call_id"})
"""The keys that a call has where nothing else says that it is one."""


@dataclass(slots=True)
class Content:
    """What the parts of a message hold together."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[TraceCall] = field(default_factory=list)
    results: list[Observation] = field(default_factory=list)
    concludes: bool = False
    """Whether text follows the results: the provider ran the tools within the reply."""


def content_of(value: Any) -> Content:
    """Return what a message's content holds: text, one part, or a list of parts."""
    found = Content()
    if type(value) is str:
        found.texts.append(value)
        return found
    for part in as_list(value) or [value]:
        asked = len(found.calls)
        _take(found, part)
        found.concludes = found.concludes and len(found.calls) == asked
    return found


def _take(found: Content, part: Any) -> None:
    if isinstance(part, str):
        found.texts.append(part)
    elif isinstance(part, Mapping):
        _take_part(found, part)
    elif part is not None and not isinstance(part, (list, tuple)):
        kind = get(part, "text")  # a part as an object
        found.texts.append(kind if isinstance(kind, str) else str(part))


def kind_of(part: Mapping[str, Any]) -> str:
    """Return what a part says it is, under any client's key."""
    told = first(part, "type", "part_kind", "block_type", "content_type")
    return str(told or "").lower().replace("-", "_")


def _unwrapped(part: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return what a part is, and what it holds."""
    told = WRAPPERS.keys() & part.keys()
    key = next((key for key in told if isinstance(part[key], Mapping)), None)
    if key is not None:
        named = {"name": "code_execution"} if key.startswith("exec") else {}
        # Goose keeps what it holds one level deeper.
        held = {**part[key], **as_map(part[key].get("value"))}
        return WRAPPERS[key], {**named, "id": part.get("id"), **held}
    kind = kind_of(part)
    inner = part.get(kind)  # GenAI's server_tool_call stands under its own name
    return kind, {**inner, **part} if isinstance(inner, Mapping) else part


def _take_part(found: Content, part: Mapping[str, Any]) -> None:
    kind, part = _unwrapped(part)
    if kind.endswith(_RETURNING) or (not kind and not _RETURNED.isdisjoint(part)):
        found.results.append(result_of(part))
    elif kind.endswith(_CALLING) or _is_call(kind, part):
        found.calls += _listed(call_of(part))
        if "result" in part:  # Inspect keeps what the provider ran in one part
            found.results.append(result_of(part))
    elif kind == "tool" and isinstance(part.get("state"), Mapping):  # opencode
        made = {**part["state"], "name": part.get("tool"), "id": part.get("callID")}
        found.calls += _listed(call_of(made))
        found.results += (
            [result_of({**made, "input": None})] if not {"output", "error"}.isdisjoint(made) else []
        )
    elif kind.startswith(("tool", "dynamic_tool")) and (
        "toolCallId" in part or "toolInvocation" in part
    ):
        _take_invocation(found, part)
    elif kind == "system_prompt":  # pydantic-ai keeps it beside what the user says
        return
    elif kind in _THOUGHTS or part.get("thought") is True:
        found.thoughts.append(_thought(part))
    else:
        said = _said_in(part)
        found.texts += _listed(said)
        found.concludes = bool(said and found.results) or found.concludes


def _is_call(kind: str, part: Mapping[str, Any]) -> bool:
    if kind == "function":  # PostHog
        return isinstance(part.get("function"), Mapping)
    return not kind and "name" in part and "arguments" in part


def _take_invocation(found: Content, part: Mapping[str, Any]) -> None:
    """Take a call and its result, which Vercel's interface keeps in one part."""
    inner = as_map(part.get("toolInvocation")) or part
    named = {**inner, "toolName": inner.get("toolName") or str(part.get("type"))[len("tool-") :]}
    found.calls += _listed(call_of(named))
    told = any(key in inner for key in ("result", "output", "errorText"))
    if told or failed_by(inner) is not None:
        found.results.append(result_of(named))


def _thought(part: Mapping[str, Any]) -> str:
    said = first(part, "thinking", "reasoning", "text", "content")
    if said is None:
        said = "\n".join(as_text(get(each, "text")) for each in as_list(part.get("summary")))
    return as_text(said)


def _said_in(part: Mapping[str, Any]) -> str | None:
    """Return the text of a part, under its key; a picture has none."""
    said = first(part, "text", "content", "output_text", "refusal")
    if isinstance(said, Mapping):  # {"type": "text", "text": {"value": …}}
        said = first(said, "value", "text")
    return said if isinstance(said, str) else None


def _listed(value: Any) -> list[Any]:
    return [] if value is None else [value]


def call_of(raw: Any) -> TraceCall | None:
    """Return a call, in any client's shape, or none if it has no name."""
    inner: Any = get(raw, "function")
    holder: Any = raw if inner is None or isinstance(inner, str) else inner
    # Inspect and AgentDojo name the function there.
    name: Any = inner if isinstance(inner, str) else first(holder, *_NAMES)
    if not isinstance(name, str) or not name:
        return None
    given = first(holder, *_GIVEN)
    if isinstance(given, str):
        given = parsed(given)  # or kept as text: that it is broken is a finding, no error of ours
    id = first(raw, "call_id", "id", *_CALL_IDS)
    return TraceCall(name, given, id if isinstance(id, str) else None)


def calls_in(value: Any) -> list[TraceCall]:
    """Return the calls that a message keeps beside its content."""
    if type(value) is dict and _BESIDE.isdisjoint(value):
        return []
    extra = as_map(get(value, "additional_kwargs"))
    raw = as_list(first(value, *_LISTS))
    raw = raw or as_list(extra.get("tool_calls"))
    raw += as_list(get(value, "invalid_tool_calls"))
    old = first(value, "function_call") or extra.get("function_call")
    raw += [old] if isinstance(old, Mapping) or hasattr(old, "name") else []
    return [call for each in raw if (call := call_of(each)) is not None]


def results_beside(value: Any) -> list[Observation]:
    """Return the results that a message keeps within the calls beside its content."""
    if type(value) is dict and _BESIDE.isdisjoint(value):
        return []
    back = [result_of(each) for each in as_list(get(value, "toolResults"))]  # Vercel's steps
    made = (as_map(each) for each in as_list(first(value, *_LISTS)))
    return back or [_done(each) for each in made if any(each.get(key) is not None for key in _DONE)]


def _done(made: Mapping[str, Any]) -> Observation:
    whole = result_of(made)
    inner = content_of(made["result"]).results if isinstance(made.get("result"), list) else []
    text = "\n".join(each.text for each in inner) or whole.text
    return Observation(text, whole.tool, whole.call_id, whole.failed)


def result_of(raw: Any) -> Observation:
    """Return a tool's result, in any client's shape."""
    ran = get(raw, "run")
    if type(ran) is dict:  # Amp
        raw = {**raw, **ran}
    asked = first(raw, "tool_call", "call", "origin")
    name = first(raw, "name", "toolName", "tool_name", "tool")
    function = get(raw, "function")
    name = function if name is None and isinstance(function, str) else name
    if name is None and asked is not None:
        name = get(call_of(asked), "name")
    id = first(raw, *_CALL_IDS) or first(get(raw, "additional_kwargs"), *_CALL_IDS)
    if id is None:
        ids = as_list(get(raw, "tool_call_ids"))
        id = ids[0] if ids else get(raw, "id") if get(raw, "role") is None else None
        id = get(asked, "id") if id is None else id
    failure = failed_by(raw)
    given = first(raw, *_RESULTS)
    text = text_of(given)
    if type(given) is str and given.startswith(SHELL):
        text, failure = printed(given, failure)
    return Observation(
        text or failure or "",
        name if isinstance(name, str) else None,
        id if isinstance(id, str) else None,
        failure is not None,
    )


def text_of(value: Any, depth: int = 0) -> str:
    """Return a result as text; what it is wrapped in is taken off."""
    if isinstance(value, str):
        inner = decoded(value) if _WRAPPED.match(value) else value
        wrapped = isinstance(inner, (list, Mapping)) and _is_wrapped(inner)
        return text_of(inner, depth + 1) if wrapped and depth < _DEEPEST else value
    if isinstance(value, Mapping) and _is_wrapped(value):
        key = next(key for key in ("value", "result", "text", "content") if key in value)
        return text_of(value[key], depth + 1) if depth < _DEEPEST else as_text(value)
    if isinstance(value, (list, tuple)) and value and all(map(_is_part, value)):
        return "\n".join(text for each in value if (text := _part_text(each)))
    return as_text(value)


def _is_wrapped(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_part, value))
    typed = value.get("type") in ("text", "json", "error-text", "error-json", "function_result")
    held = any(key in value for key in ("value", "result", "text", "content"))
    return (typed and held) or (set(value) == {"result"} and isinstance(value["result"], str))


def _is_part(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, Mapping)
        and ("type" in value or "block_type" in value or set(value) <= {"text", "json"})
        and any(key in value for key in ("text", "content", "json", "source", "image_url"))
    )


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    return _said_in(part) or as_text(part.get("json"))


def steps_of(value: Mapping[str, Any], content: Any) -> list[list[Any]]:
    """Return the parts of each step that a message of Vercel's interface holds."""
    parts = as_list(value.get("parts"))
    made = as_list(value.get("toolInvocations"))
    if made and not parts:
        parts = [{"type": "tool", **each} for each in made if isinstance(each, Mapping)]
        said = isinstance(content, str) and content.strip()
        parts += [{"type": "step-start"}, {"type": "text", "text": content}] if said else []
    elif not any(kind_of(as_map(part)) in ("step_start", "tool_invocation") for part in parts):
        return []
    steps: list[list[Any]] = [[]]
    for part in parts:
        if kind_of(as_map(part)) == "step_start":
            steps.append([])
        else:
            steps[-1].append(part)
    return [step for step in steps if step]


def once(calls: list[TraceCall], more: list[TraceCall]) -> list[TraceCall]:
    """Add calls, but for those that are told twice, in a message's parts and beside them."""
    if not calls:
        return more
    ids = {call.id for call in calls if call.id is not None}
    return [*calls, *(call for call in more if call.id not in ids)]


def is_bare_call(value: Any) -> bool:
    """Tell whether a value is a call without a message around it."""
    if not isinstance(value, Mapping) or "role" in value or "content" in value:
        return False
    named = "toolName" in value or isinstance(value.get("function"), Mapping)
    plain = value.get("type") in ("tool_call", "function") or {"name", "args"} <= value.keys()
    plain = plain or {"name", "arguments"} <= value.keys() <= ONLY
    return (named or plain) and call_of(value) is not None and "output" not in value
