"""LangChain's agents at one question, alone and with loopmend: the frameworks' own prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_react_agent
from langchain_classic.agents.format_scratchpad import format_log_to_str
from langchain_core.language_models import BaseChatModel
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tools import BaseTool, StructuredTool, render_text_description

from langchain_loopmend import AgentActionOutputParser, with_parsing_retry
from langchain_loopmend.classic import with_loop_guard
from langchain_loopmend.middleware import (
    LoopGuardMiddleware,
    NormalizationMiddleware,
    ToolCallingMiddleware,
)
from live.engine import OPTIONS, STEPS, Client, needed
from live.tasks import Tool

__all__ = ["AGENTS", "PROMPT"]

Agent = Callable[[Client, list[Tool], str], str]

PROMPT: Final = PromptTemplate.from_template(
    """Answer the following questions as best you can. You have access to the following tools:

{tools}

Use the following format:

Question: the input question you must answer
Thought: you should always think about what to do
Action: the action to take, should be one of [{tool_names}]
Action Input: the input to the action
Observation: the result of the action
... (this Thought/Action/Action Input/Observation can repeat N times)
Thought: I now know the final answer
Final Answer: the final answer to the original input question

Begin!

Question: {input}
Thought:{agent_scratchpad}"""
)
"""LangChain's own zero-shot prompt for ReAct agents."""


def _model(client: Client) -> BaseChatModel:
    made: BaseChatModel = needed("langchain_openai").ChatOpenAI(
        base_url=client.url,
        api_key="none",
        model=client.model,
        max_retries=0,
        http_client=client.http,
        temperature=OPTIONS["temperature"],
        seed=OPTIONS["seed"],
        max_tokens=OPTIONS["max_tokens"],
        extra_body={"cache_prompt": True},
    )
    return made


def _created(*middleware: Callable[[], Any]) -> Agent:
    def run(client: Client, tools: list[Tool], question: str) -> str:
        offered = [StructuredTool.from_function(tool) for tool in tools]
        hooks = [make() for make in middleware]
        agent: Any = create_agent(_model(client), offered, middleware=hooks)
        # Model and tools are a step of the graph each, and so is each hook.
        config = {"recursion_limit": 4 * STEPS}
        result = agent.invoke({"messages": [("user", question)]}, config)
        return str(result["messages"][-1].text)

    return run


def _executed(build: Callable[[Any, list[BaseTool]], Any]) -> Agent:
    def run(client: Client, tools: list[Tool], question: str) -> str:
        offered: list[BaseTool] = [StructuredTool.from_function(tool) for tool in tools]
        executor = AgentExecutor(
            agent=build(_model(client), offered),
            tools=offered,
            handle_parsing_errors=True,
            max_iterations=STEPS,
        )
        return str(executor.invoke({"input": question})["output"])

    return run


def _mended(**options: Any) -> Callable[[Any, list[BaseTool]], Any]:
    def build(model: Any, tools: list[BaseTool]) -> Any:
        names = ", ".join(tool.name for tool in tools)
        prompt = PROMPT.partial(tools=render_text_description(tools), tool_names=names)
        written = RunnablePassthrough.assign(
            agent_scratchpad=lambda given: format_log_to_str(given["intermediate_steps"])
        )
        parser = AgentActionOutputParser(tools=tools)
        asked = with_parsing_retry(model.bind(stop=["\nObservation"]), parser, **options)
        return with_loop_guard(written | prompt | asked)

    return build


def _native(model: Any, tools: list[BaseTool]) -> Any:
    return create_react_agent(model, tools, PROMPT)


AGENTS: Final[Mapping[str, Mapping[str, Agent]]] = {
    "create_agent": {
        "alone": _created(),
        "defaults": _created(LoopGuardMiddleware, NormalizationMiddleware),
        "salvage=False": _created(
            LoopGuardMiddleware, lambda: NormalizationMiddleware(salvage=False)
        ),
        "always": _created(LoopGuardMiddleware, ToolCallingMiddleware),
    },
    "AgentExecutor": {
        "alone": _executed(_native),
        "defaults": _executed(_mended()),
        "always": _executed(_mended(constrain="always")),
    },
}
"""Each kind of agent, and how it is built in each column."""
