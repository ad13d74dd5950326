"""What users of LangChain ask for most about structured output, issue by issue.

Each test is named after the thread and shows the reply that it is about.
"""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import JsonOutputParser as LangChainJsonParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field

from langchain_loopmend import (
    JsonOutputParser,
    PydanticOutputParser,
    RetryingOutputParser,
    with_parsing_retry,
    with_tool_call_retry,
)
from langchain_loopmend.testing import ScriptedChatModel, call

PROMPT = ChatPromptTemplate.from_messages([("system", "Be brief."), ("human", "{question}")])
ASKED = {"question": "Plan it."}


class Step(BaseModel):
    """A step of a plan."""

    name: str
    depends_on: list[str] = Field(default_factory=list)


class Plan(BaseModel):
    """A plan."""

    task: str
    steps: list[Step]


class BindingModel(ScriptedChatModel):
    """A scripted model that can be bound to tools, so that it has structured output."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Bind tools as clients do."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)


GOOD: dict[str, Any] = {"task": "t", "steps": [{"name": "a", "depends_on": ["b"]}]}
PLAN = Plan(**GOOD)
BAD = {"task": "t", "steps": [{"name": "a", "depends_on": "b, c"}]}


def test_langchain_25346_retry_with_error_for_structured_output() -> None:
    """`with_structured_output` asks again and says which part of a nested schema is wrong."""
    llm = BindingModel(script=[call("Plan", **BAD), call("Plan", **GOOD)])
    chain = PROMPT | with_tool_call_retry(llm).with_structured_output(Plan)
    assert chain.invoke(ASKED) == PLAN
    *conversation, made, answer = llm.asked[1]
    assert [message.type for message in conversation] == ["system", "human"]
    assert (made.type, answer.type) == ("ai", "tool")
    assert "`steps[0].depends_on` must be an array" in str(answer.content)
    plain = BindingModel(script=[call("Plan", **BAD)]).with_structured_output(Plan)
    with pytest.raises(ValueError, match="validation error"):
        plain.invoke("Plan it.")


def test_langchain_aws_155_retry_parser_with_structured_output() -> None:
    """The retry sees the reply and the error, also where a retry parser is wanted."""
    llm = ScriptedChatModel(script=['{"task": "t", "steps": []}'])
    parser = RetryingOutputParser.from_llm(llm, PydanticOutputParser(pydantic_object=Plan))
    refused = call("Plan", task="t")
    assert parser.parse_with_prompt(refused, PROMPT.invoke(ASKED)) == Plan(task="t", steps=[])
    assert [message.type for message in llm.asked[0]] == ["system", "human", "ai", "tool"]
    assert "`steps` is missing" in str(llm.asked[0][-1].content)


def test_langchain_32977_a_chain_that_retries_to_parse() -> None:
    """A chain of prompt, model and parser retries by itself, with the prompt at hand."""
    llm = ScriptedChatModel(script=["I would start with a.", '{"task": "t", "steps": []}'])
    chain = PROMPT | with_parsing_retry(llm, PydanticOutputParser(pydantic_object=Plan))
    assert chain.invoke(ASKED) == Plan(task="t", steps=[])
    assert llm.asked[1][:2] == llm.asked[0]


def test_langchain_36349_a_model_that_forgets_the_tool_call() -> None:
    """An agent whose model answers in prose ends with a structured response all the same."""
    agents = pytest.importorskip("langchain.agents")
    structured = pytest.importorskip("langchain.agents.structured_output")
    middleware = pytest.importorskip("langchain_loopmend.middleware")

    def think(thought: str) -> str:
        """Think."""
        return thought

    script = ["The plan has one step.", call("Plan", **GOOD)]
    asked = {"messages": [("user", "Plan it.")]}
    strategy = structured.ToolStrategy(Plan)
    model = ScriptedChatModel(script=script)
    plain = agents.create_agent(model, [think], response_format=strategy)
    assert plain.invoke(asked).get("structured_response") is None
    agent = agents.create_agent(
        ScriptedChatModel(script=script),
        [think],
        response_format=strategy,
        middleware=[middleware.NormalizationMiddleware()],
    )
    assert agent.invoke(asked)["structured_response"] == PLAN


def test_langchain_33863_structured_output_beside_tools() -> None:
    """A provider that takes no schema beside tools still gives the answer: as text or as a call."""
    agents = pytest.importorskip("langchain.agents")
    middleware = pytest.importorskip("langchain_loopmend.middleware")

    class Findings(BaseModel):
        """What was found."""

        flag: bool = Field(description="whether we need clarification", default=False)

    def think(thought: str) -> str:
        """Think."""
        return thought

    for last in ('```json\n{"flag": true}\n```', call("Findings", "2", flag="true")):
        model = ScriptedChatModel(script=[call("think", thought="hm"), last])
        agent = agents.create_agent(
            model,
            [think],
            response_format=Findings,
            middleware=[middleware.NormalizationMiddleware()],
        )
        result = agent.invoke({"messages": [("user", "Look.")]})
        assert result["structured_response"] == Findings(flag=True)


@pytest.mark.parametrize("fence", ["``` json", "```JSON", "```json5", "```"])
def test_langchain_23297_fences_of_every_kind(fence: str) -> None:
    """Whatever follows the backticks, the JSON in a fence is read."""
    text = f'Here is the plan:\n{fence}\n{{"task": "t", "steps": []}}\n```'
    assert JsonOutputParser(pydantic_object=Plan).parse(text) == {"task": "t", "steps": []}


@pytest.mark.parametrize("fenced", [False, True])
def test_langchain_19646_backticks_inside_of_a_value(*, fenced: bool) -> None:
    """Backticks inside of a string are part of the string."""
    text = '{"task": "Run ```python\\nprint(1)\\n``` and then ```", "steps": []}'
    reply = f"```json\n{text}\n```" if fenced else text
    found = JsonOutputParser().parse(reply)
    assert found == {"task": "Run ```python\nprint(1)\n``` and then ```", "steps": []}


@pytest.mark.parametrize(
    "thought", ["I need {braces}.", 'Maybe {"task": "x", "steps": []}?', "```json\n{}\n```"]
)
def test_langchain_32120_thinking_before_the_json(thought: str) -> None:
    """What a reasoning model thinks is not its answer, JSON or not."""
    text = f'<think>\n{thought}\n</think>\n\n{{"task": "t", "steps": []}}'
    assert JsonOutputParser().parse(text) == {"task": "t", "steps": []}
    parts = list(JsonOutputParser().transform(iter(text)))
    assert parts[-1] == {"task": "t", "steps": []}
    try:
        theirs = LangChainJsonParser().parse(text)
    except OutputParserException:
        theirs = None
    assert theirs != {"task": "t", "steps": []}


def test_langchain_32120_thinking_in_the_arguments() -> None:
    """`with_structured_output` takes the value out of arguments that begin with thoughts."""
    thought = '<think>\nMaybe {"task": "x", "steps": []}?\n</think>\n<tool_call>\n'
    mixed = thought + '{"task": "t", "steps": []}\n</tool_call>'
    broken: Any = {"name": "Plan", "args": mixed, "id": "1", "error": None}
    reply = AIMessage("", invalid_tool_calls=[{**broken, "type": "invalid_tool_call"}])
    llm = BindingModel(script=[reply])
    chain = with_tool_call_retry(llm).with_structured_output(Plan)
    assert chain.invoke("Plan it.") == Plan(task="t", steps=[])
    assert len(llm.asked) == 1
