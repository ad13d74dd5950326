"""How the LangChain adapters look to a type checker. Checked by mypy, never run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_react_agent
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_core.tools import BaseTool
from pydantic import BaseModel
from typing_extensions import assert_type

from langchain_loopmend import (
    ActionParseException,
    AgentActionOutputParser,
    AgentActionsOutputParser,
    JsonOutputParser,
    PydanticOutputParser,
    RetryingOutputParser,
    TurnOutputParser,
    with_parsing_retry,
    with_tool_call_retry,
)
from langchain_loopmend.classic import ReActOutputParser, handle_parsing_error
from langchain_loopmend.middleware import NormalizationMiddleware
from loopmend import FailurePattern, Turn


class City(BaseModel):
    """A pydantic model."""

    name: str


@dataclass
class Town:
    """A dataclass."""

    name: str


def parsing(text: str, tools: list[BaseTool]) -> None:
    """Parsers say what they return, and take tools of any kind."""
    assert_type(AgentActionOutputParser(tools=tools).parse(text), AgentAction | AgentFinish)
    assert_type(AgentActionsOutputParser(tools=["f"]).parse(text), list[AgentAction] | AgentFinish)
    assert_type(TurnOutputParser(tools=[{"name": "f"}]).parse(text), Turn)
    assert_type(PydanticOutputParser(pydantic_object=City).parse(text), City)
    assert_type(PydanticOutputParser(pydantic_object=Town).parse(text), Town)
    assert_type(JsonOutputParser().parse(text), Any)
    try:
        AgentActionOutputParser().parse(text)
    except ActionParseException as error:
        assert_type(error.failure.pattern, FailurePattern)


def retrying(llm: BaseChatModel, tools: list[BaseTool]) -> None:
    """A wrapped parser keeps its type; a mended model returns messages."""
    assert_type(RetryingOutputParser.from_llm(llm, StrOutputParser()).parse("?"), str)
    assert_type(RetryingOutputParser.from_llm(llm).parse("?"), AgentAction | AgentFinish)
    assert_type(with_parsing_retry(llm, tools=tools).invoke("go"), Any)
    with_parsing_retry(llm, City)
    with_parsing_retry(llm, StrOutputParser())
    taken: BaseChatModel = with_tool_call_retry(llm)
    assert_type(taken.bind_tools(tools).invoke("go"), AIMessage)
    assert_type(with_tool_call_retry(llm, tools).invoke("go"), AIMessage)


def agents(llm: BaseChatModel, tools: list[BaseTool], prompt: PromptTemplate) -> None:
    """What agents take they take without a cast."""
    create_agent(llm, tools, middleware=[NormalizationMiddleware()])
    agent = create_react_agent(llm, tools, prompt, output_parser=ReActOutputParser(tools=tools))
    AgentExecutor(agent=agent, tools=tools, handle_parsing_errors=handle_parsing_error)
