"""What the recipe for a local server says of vLLM, against a server that answers as vLLM does.

vLLM itself needs hardware that the tests do not have. What it takes and what it refuses is from its
documentation: a schema in `response_format`, and no tools unless it was started with two options.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("langchain_openai")
pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from openai import BadRequestError

from langchain_loopmend.middleware import NormalizationMiddleware, ToolCallingMiddleware
from tests.model_server import Answer, completion, serving

jsonschema: Any = import_module("jsonschema")  # has no types
QUIET = pytest.mark.filterwarnings("ignore::Warning")
QUESTION: Any = {"messages": [("user", "How many live in Oslo?")]}
CALL = {"type": "tool_call", "name": "search", "arguments": {"query": "Oslo"}}
FINAL = {"type": "final", "content": "717,710 people."}
NO_TOOLS = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
# What vLLM adds to a reply of OpenAI's interface.
BESIDE_CHOICE = {"logprobs": None, "stop_reason": None, "token_ids": None}
BESIDE_MESSAGE: dict[str, Any] = {"refusal": None, "reasoning": None, "tool_calls": []}
BESIDE_REPLY = {"prompt_logprobs": None, "prompt_token_ids": None, "kv_transfer_params": None}


def search(query: str) -> str:
    """Search the web."""
    return f"{query}: 717,710 people"


def _refused(message: str) -> tuple[int, dict[str, Any]]:
    error = {"message": message, "type": "BadRequestError", "param": None, "code": 400}
    return 400, {"error": error}


def _vllm(*, tools: bool) -> Answer:
    """Answer as `vllm serve` does, with or without the two options for tools."""

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if body.get("tools") and not tools:
            return _refused(NO_TOOLS)
        asked = body.get("response_format")
        if asked is None:
            return 200, _dressed("Let me search for that.")
        assert asked["type"] == "json_schema"
        assert isinstance(asked["json_schema"]["name"], str)
        knows = "717,710 people" in json.dumps(body["messages"])
        action = FINAL if knows else CALL
        jsonschema.validate(action, asked["json_schema"]["schema"])
        return 200, _dressed(json.dumps(action))

    return answer


def _dressed(text: str) -> dict[str, Any]:
    reply = {**completion(text), **BESIDE_REPLY}
    (choice,) = reply["choices"]
    message = {**choice["message"], **BESIDE_MESSAGE}
    return {**reply, "choices": [{**choice, **BESIDE_CHOICE, "message": message}]}


def _model(url: str) -> ChatOpenAI:
    return ChatOpenAI(base_url=url, api_key="none", model="m", max_retries=0)  # type: ignore[arg-type]


@QUIET
def test_a_schema_needs_no_tools_of_the_server() -> None:
    """`ToolCallingMiddleware` asks by the schema alone, so a server without tools does."""
    with serving(_vllm(tools=False)) as (url, asked):
        agent = create_agent(_model(url), [search], middleware=[ToolCallingMiddleware()])
        done = agent.invoke(QUESTION)["messages"]
    assert [message.content for message in done[2:]] == [
        "Oslo: 717,710 people",
        "717,710 people.",
    ]
    assert all("response_format" in body and "tools" not in body for body in asked)


@QUIET
def test_the_first_retry_is_by_the_schema() -> None:
    """With its tools switched on, a model that only describes its call is constrained."""
    with serving(_vllm(tools=True)) as (url, asked):
        agent = create_agent(_model(url), [search], middleware=[NormalizationMiddleware()])
        done = agent.invoke(QUESTION)["messages"]
    assert done[-1].content == "717,710 people."
    assert ["response_format" in body for body in asked] == [False, True] * 2


@QUIET
def test_a_server_without_tools_says_which_options_it_needs() -> None:
    """The server's own words reach the user; they are no failure of the model to mend."""
    with serving(_vllm(tools=False)) as (url, asked):
        agent = create_agent(_model(url), [search], middleware=[NormalizationMiddleware()])
        with pytest.raises(BadRequestError, match="--enable-auto-tool-choice"):
            agent.invoke(QUESTION)
    assert len(asked) == 1
