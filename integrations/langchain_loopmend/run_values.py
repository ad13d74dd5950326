"""What LangChain passes to callbacks, results and exceptions, as a trace says it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from concurrent import futures
from typing import Any, Final, TypeGuard

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.prompt_values import PromptValue
from pydantic import BaseModel

from langchain_loopmend.messages import ENDED, text_of
from loopmend.traces import Tokens, TraceCall, TraceError
from loopmend.traces.readers.values import get, tokens_in

__all__ = [
    "CANCELS",
    "answer_of",
    "calls_in",
    "causes",
    "error_of",
    "ids_in",
    "is_control_flow",
    "is_fault",
    "is_interrupt",
    "mark_of",
    "question_of",
    "reply_of",
    "results_in",
    "text_of_output",
    "tokens_of",
    "tools_in",
]

CANCELS: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, futures.CancelledError)
_CONTROL: Final = frozenset({"GraphBubbleUp", "GraphInterrupt", "ParentCommand"})
_QUESTIONS: Final = ("input", "question", "query")
_HUMAN: Final = ("human", "user")


def question_of(given: Any) -> str | None:
    """Return what a run was asked: a text, the last thing that a human says, or a field."""
    if isinstance(given, str):
        return given or None
    if isinstance(given, PromptValue):
        return question_of(given.to_messages())
    if isinstance(given, BaseMessage):
        return text_of(given) if given.type == "human" else None
    if isinstance(given, (list, tuple)):
        return _last_human(list(given))
    asked = get(given, "messages")
    if asked is not None:
        return question_of(asked)
    fields = given if isinstance(given, Mapping) else {}
    found = [fields[key] for key in _QUESTIONS if key in fields] or list(fields.values())
    texts = [value for value in found if isinstance(value, str) and value]
    return texts[0] if len(found) == 1 and texts else None


def _last_human(messages: list[Any]) -> str | None:
    for message in reversed(messages):
        if isinstance(message, (BaseMessage, str)):
            found = question_of(message)
        elif isinstance(message, list):  # a model is asked with a list for each prompt
            found = _last_human(message)
        else:
            found = _spoken(message)
        if found is not None:
            return found
    return None


def _spoken(message: Any) -> str | None:
    """Return what a human says in a message that is written as a pair or a dict."""
    if isinstance(message, tuple) and len(message) == 2:  # noqa: PLR2004 - a pair
        role, content = message
    else:
        role, content = get(message, "role"), get(message, "content")
    return content if role in _HUMAN and isinstance(content, str) else None


def answer_of(result: Any) -> str | None:
    """Return a run's result as text; none if it has none or asks for more."""
    if result is None or hasattr(result, "tool_input"):
        return None
    if isinstance(result, str):
        return result if result.strip() else None
    if isinstance(result, LLMResult):
        return answer_of(reply_of(result))
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
        return found if isinstance(found, str) else None
    if hasattr(result, "return_values"):
        found = getattr(result, "reason", None)
        return found if isinstance(found, str) else None
    messages = get(result, "messages")
    return mark_of(messages[-1]) if isinstance(messages, list) and messages else None


def reply_of(result: Any) -> AIMessage | str | None:
    """Return what a model replied, or nothing if it failed."""
    if not isinstance(result, LLMResult) or not result.generations or not result.generations[0]:
        return None
    first = result.generations[0][0]
    message = first.message if isinstance(first, ChatGeneration) else None
    return message if isinstance(message, AIMessage) else first.text


def calls_in(reply: AIMessage | str) -> list[TraceCall]:
    """Return the calls that a model made through its provider, whole or broken."""
    if isinstance(reply, str):
        return []
    made: list[Any] = [*reply.tool_calls, *reply.invalid_tool_calls]
    return [TraceCall(call["name"] or "", call["args"], call["id"]) for call in made]


def tokens_of(result: Any) -> Tokens | None:
    """Return how many tokens a reply took, where the provider says so."""
    found = tokens_in(get(reply_of(result), "usage_metadata"))
    return found or tokens_in(get(get(result, "llm_output"), "token_usage"))


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


# Exceptions: a fault, a pause, a jump or a cancellation


def is_fault(error: BaseException | None) -> TypeGuard[BaseException]:
    """Tell whether something went wrong: to pause, to jump and to be cancelled is no error."""
    return error is not None and not isinstance(error, CANCELS) and not is_control_flow(error)


def is_control_flow(error: BaseException | None) -> bool:
    """Tell whether an exception only steers a graph."""
    return any(kind.__name__ in _CONTROL for kind in type(error).__mro__)


def is_interrupt(error: BaseException) -> bool:
    """Tell whether an exception means that the run waits for a human."""
    return any(kind.__name__ == "GraphInterrupt" for kind in type(error).__mro__)


def error_of(error: BaseException, origin: str) -> TraceError:
    """Return an exception as a trace holds it."""
    return TraceError(type(error).__name__, str(error), origin)


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it was raised from."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__
