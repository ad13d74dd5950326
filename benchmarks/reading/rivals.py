"""Parsers of other projects as plugs; those that are not installed are passed over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.reading.scoring import Read

_NAMES = ("name", "tool", "tool_name", "action", "function_name")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "action_input", "tool_input", "input")


def rivals() -> dict[str, Read | None]:
    """Return each rival with its plug, or with `None` if it is not installed."""
    return {name: _built(build) for name, build in _BUILD.items()}


def _built(build: Callable[[], Read]) -> Read | None:
    try:
        return build()
    except ImportError:
        return None


def _langchain(parser: Any) -> Read:
    """Plug in a parser that returns LangChain's actions."""
    logging.getLogger(type(parser).__module__).setLevel(logging.ERROR)

    def read(text: str, _: list[Any] | None) -> dict[str, Any]:
        got = parser.parse(text)
        if hasattr(got, "return_values"):
            return {"type": "final", "content": got.return_values["output"]}
        return _calls([{"name": got.tool, "arguments": got.tool_input}])

    return read


def _calls(calls: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "tool_calls", "calls": calls}


def _react() -> Read:
    from langchain_classic.agents.output_parsers import ReActSingleInputOutputParser

    return _langchain(ReActSingleInputOutputParser())


def _json() -> Read:
    from langchain_classic.agents.output_parsers import JSONAgentOutputParser

    return _langchain(JSONAgentOutputParser())


def _structured_chat() -> Read:
    from langchain_classic.agents.structured_chat.output_parser import StructuredChatOutputParser

    return _langchain(StructuredChatOutputParser())


def _xml() -> Read:
    from langchain_classic.agents.output_parsers import XMLAgentOutputParser

    return _langchain(XMLAgentOutputParser())


def _llama_index() -> Read:
    from llama_index.core.agent.react.output_parser import ReActOutputParser

    parser = ReActOutputParser()

    def read(text: str, _: list[Any] | None) -> dict[str, Any]:
        got: Any = parser.parse(text)
        if hasattr(got, "response"):
            return {"type": "final", "content": got.response}
        return _calls([{"name": got.action, "arguments": got.action_input}])

    return read


def _json_repair() -> Read:
    import json_repair

    def read(text: str, _: list[Any] | None) -> dict[str, Any]:
        value: Any = json_repair.loads(text)
        calls = list(_in(value))
        if not calls:
            raise ValueError(text)
        return _calls(calls)

    return read


def _in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the calls in a decoded value: the glue that most users of json_repair write."""
    if isinstance(value, list):
        for each in value:
            yield from _in(each)
    if not isinstance(value, dict):
        return
    wrapped = next((value[k] for k in ("tool_calls", "function", "function_call") if k in value), 0)
    if isinstance(wrapped, (list, dict)):
        yield from _in(wrapped)
        return
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    if name is not None:
        given: Any = next((value[key] for key in _ARGUMENTS if key in value), {})
        yield {"name": name, "arguments": given}


_BUILD: dict[str, Callable[[], Read]] = {
    "LangChain ReAct": _react,
    "LangChain JSON agent": _json,
    "LangChain structured chat": _structured_chat,
    "LangChain XML agent": _xml,
    "LlamaIndex ReAct": _llama_index,
    "json_repair with glue": _json_repair,
}
