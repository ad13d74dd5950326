"""What LangChain passes to callbacks, as a trace says it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from langchain_core.outputs import ChatGeneration, Generation, LLMResult
from langchain_core.prompt_values import PromptValue
from pydantic import BaseModel

from langchain_loopmend.messages import ENDED, reply_of_generation, text_of
from loopmend.adapting import Finish, ModelReply, get, tokens_in
from loopmend.traces import Observation, TraceCall

__all__ = [
    "UNKNOWN",
    "actions_in",
    "answer_of",
    "ids_in",
    "mark_of",
    "model_reply",
    "observed",
    "question_of",
    "results_in",
    "text_of_output",
    "told_by",
    "tools_in",
]

# AgentExecutor runs these two in place of a tool: for a reply that its parser refused, and for
# a tool that there is not.
_REFUSED: Final = "_Exception"
UNKNOWN: Final = "invalid_tool"
_QUESTIONS: Final = ("input", "question", "query")


def question_of(given: Any) -> str | None:
    """Return what a run was asked: a text, the last thing that a human says, or a field."""
    if isinstance(given, str):
        return given or None
    if isinstance(given, (BaseMessage, PromptValue)):
        given = [given] if isinstance(given, BaseMessage) else given.to_messages()
    if isinstance(given, (list, tuple)):
        return _last_human(list(given))
    asked = get(given, "messages")
    if asked is not None:
        return question_of(asked)
    fields = given if isinstance(given, Mapping) else {}
    found = [fields[key] for key in _QUESTIONS if key in fields] or list(fields.values())
    texts = [value for value in found if isinstance(value, str) and value]
    return texts[0] if len(found) == 1 and texts else None


def _last_human(given: list[Any]) -> str | None:
    # A model is asked with a list for each prompt.
    flat = [one for each in given for one in (each if isinstance(each, list) else [each])]
    for said in reversed(flat):
        try:
            [message] = [said] if isinstance(said, BaseMessage) else convert_to_messages([said])
        except (ValueError, TypeError, KeyError, NotImplementedError):  # no conversation
            return None
        if message.type == "human":
            return text_of(message) or None
    return None


def answer_of(result: Any) -> str | None:
    """Return a run's result as text; none if it has none or asks for more."""
    if result is None or hasattr(result, "tool_input"):
        return None
    if isinstance(result, str):
        return result if result.strip() else None
    if isinstance(result, LLMResult):
        first = _generation(result)
        return answer_of(first.message if isinstance(first, ChatGeneration) else get(first, "text"))
    if isinstance(result, BaseMessage):
        return _answer_in(result)
    finished = getattr(result, "return_values", None)
    if isinstance(finished, dict):
        return answer_of(finished)
    for key in ("structured_response", "output", "messages"):
        found = get(result, key)
        if found is not None:
            return answer_of(found if key != "messages" else found[-1] if found else None)
    if isinstance(result, list) and any(hasattr(one, "tool_input") for one in result):
        return None
    return _as_json(result)


def _answer_in(message: BaseMessage) -> str | None:
    """Return what the last message says, if it is the model's or a tool's last word."""
    if isinstance(message, ToolMessage):
        return text_of_output(message)
    if not isinstance(message, AIMessage) or message.tool_calls:
        return None
    return answer_of(text_of(message))


def mark_of(result: Any) -> str | None:
    """Return why loopmend ended a run in the model's place, if its result says so."""
    if isinstance(result, AIMessage):
        found = result.response_metadata.get(ENDED)
    elif hasattr(result, "return_values"):
        found = getattr(result, "reason", None)
    else:
        messages = get(result, "messages")
        return mark_of(messages[-1]) if isinstance(messages, list) and messages else None
    return found if isinstance(found, str) else None


def actions_in(result: Any) -> list[TraceCall]:
    """Return the actions that a chain for agents returns outside of an agent."""
    several = result if isinstance(result, list) else [result]
    actions = (one for one in several if hasattr(one, "tool_input") and hasattr(one, "tool"))
    return [TraceCall(action.tool, action.tool_input) for action in actions]


def told_by(action: Any) -> TraceCall | Finish | None:
    """Return what an executor tells; nothing if it goes on because a reply was refused."""
    if hasattr(action, "return_values"):
        # Without a log it is the executor's own word for a cap, or a tool's output.
        return Finish(answer_of(action) if action.log else None, mark_of(action))
    if action.tool == _REFUSED:
        return None
    return TraceCall(action.tool, action.tool_input, getattr(action, "tool_call_id", None))


def model_reply(result: Any) -> ModelReply | None:
    """Return what a model replied, or nothing if it returned nothing."""
    first = _generation(result)
    if first is None:
        return None
    message = first.message if isinstance(first, ChatGeneration) else None
    tokens = tokens_in(get(message, "usage_metadata"))
    tokens = tokens or tokens_in(get(get(result, "llm_output"), "token_usage"))
    return ModelReply(reply_of_generation(first), tokens, isinstance(message, AIMessage))


def _generation(result: Any) -> Generation | None:
    several = result.generations if isinstance(result, LLMResult) else []
    return several[0][0] if several and several[0] else None


def tools_in(params: Any) -> tuple[str, ...] | None:
    """Return the names of the tools that a model was offered, if they are told."""
    offered = get(params, "tools")
    if not isinstance(offered, (list, tuple)):
        return None
    names = (get(get(tool, "function") or tool, "name") for tool in offered)
    return tuple(name for name in names if isinstance(name, str))


def ids_in(given: Any) -> frozenset[str]:
    """Return the ids of the messages that a node is given or a model is asked."""
    messages = given if isinstance(given, list) else get(given, "messages") or given
    if isinstance(messages, list) and messages and isinstance(messages[0], list):
        messages = messages[0]  # a model is asked with a list for each prompt
    many = messages if isinstance(messages, (list, tuple)) else ()
    return frozenset(m.id for m in many if isinstance(m, BaseMessage) and m.id is not None)


def results_in(output: Any) -> Iterator[ToolMessage]:
    """Yield the tools' results that a graph's node returns, in whatever form."""
    if isinstance(output, BaseMessage):
        if isinstance(output, ToolMessage):
            yield output
    elif isinstance(output, (list, tuple)):
        for one in output:
            yield from results_in(one)
    elif isinstance(output, dict):
        if "messages" in output:
            yield from results_in(output["messages"])
    elif hasattr(output, "update") and hasattr(output, "goto"):  # LangGraph's Command
        yield from results_in(output.update)


def observed(output: Any) -> Observation:
    """Return what a tool returned."""
    failed = getattr(output, "status", None) == "error"
    known = get(output, "name"), get(output, "tool_call_id")
    return Observation(text_of_output(output), *known, failed)


def text_of_output(output: Any) -> str:
    """Return what a tool returned as text."""
    if isinstance(output, str):
        return output
    if isinstance(output, BaseMessage):
        # A picture or another part without text is told apart from nothing.
        return text_of(output) or ("" if not output.content else _as_json(output.content))
    found = next(results_in(output), None)
    return _as_json(output) if found is None else text_of_output(found)


def _as_json(value: Any) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    try:
        return json.dumps(value, ensure_ascii=False, default=_as_text)
    except (TypeError, ValueError, RecursionError):  # such as keys that are no text, or a cycle
        return str(value)


def _as_text(value: Any) -> str:
    return text_of_output(value) if isinstance(value, BaseMessage) else str(value)
