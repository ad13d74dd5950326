"""LangChain's agents, as they are and with loopmend, at one task each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor
from langchain_classic.agents.format_scratchpad import format_log_to_messages
from langchain_classic.agents.output_parsers import ReActSingleInputOutputParser
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool, StructuredTool

from langchain_loopmend import AgentActionOutputParser, record_traces
from langchain_loopmend.classic import with_loop_guard
from langchain_loopmend.middleware import LoopGuardMiddleware, NormalizationMiddleware
from live.arms import Agent, Outcome
from live.asking import OPTIONS, Server
from live.engine import needed
from live.prompts import HARD, SOFT, STEPS, SYSTEM, example_calls, react_examples, react_system
from live.record import Run, noted_tools
from live.tasks import Example, Task

__all__ = ["created", "created_mended", "executed", "executed_mended"]

Build = Callable[[Runnable[Any, Any], BaseChatModel, list[BaseTool]], Runnable[Any, Any]]
"""Makes an agent of a prompt that holds the steps so far, a model and tools."""


def _model(server: Server, run: Run) -> BaseChatModel:
    made: BaseChatModel = needed("langchain_openai").ChatOpenAI(
        base_url=server.url,
        api_key="none",
        model=server.model,
        max_retries=0,
        disable_streaming=True,
        http_client=server.client(run),
        **OPTIONS,
    )
    return made


def _recorded(answer: Callable[[], str]) -> Outcome:
    with record_traces(max_iterations=STEPS) as recorder:
        try:
            return Outcome(answer(), recorder.last)
        except Exception as error:  # noqa: BLE001 - whatever an agent raises is a result here
            return Outcome("", recorder.last, error)


def _created(*middleware: Callable[[], Any]) -> Agent:
    """Return an agent of `create_agent`."""

    def agent(server: Server, run: Run) -> Outcome:
        made: Any = create_agent(
            _model(server, run),
            [StructuredTool.from_function(tool) for tool in noted_tools(run)],
            system_prompt=SYSTEM,
            middleware=[make() for make in middleware],
        )
        asked = [*_shown(run.task), HumanMessage(run.task.question)]

        def answer() -> str:
            result = made.invoke({"messages": asked}, {"recursion_limit": 2 * STEPS})
            return str(result["messages"][-1].text)

        return _recorded(answer)

    return agent


def _shown(task: Task) -> list[BaseMessage]:
    """Return the examples as a conversation."""
    return [message for example in task.group.examples for message in _conversation(example)]


def _conversation(example: Example) -> list[BaseMessage]:
    messages: list[BaseMessage] = [HumanMessage(example.question)]
    for step in example.steps:
        calls = example_calls(step)
        made = [{"id": id, "name": name, "args": args} for id, name, args in calls]
        messages.append(AIMessage("", tool_calls=made))
        messages += [
            ToolMessage(call.result, tool_call_id=id, name=name)
            for call, (id, name, _) in zip(step, calls, strict=True)
        ]
    return [*messages, AIMessage(example.answer)]


def _executed(build: Build) -> Agent:
    """Return an `AgentExecutor` that writes Thought, Action and Observation."""

    def agent(server: Server, run: Run) -> Outcome:
        tools: list[BaseTool] = [StructuredTool.from_function(tool) for tool in noted_tools(run)]
        executor = AgentExecutor(
            agent=build(_react_prompt(run.task), _model(server, run), tools),
            tools=tools,
            handle_parsing_errors=True,
            max_iterations=STEPS,
        )
        return _recorded(lambda: str(executor.invoke({"input": run.task.question})["output"]))

    return agent


def _react_prompt(task: Task) -> Runnable[Any, Any]:
    said = react_examples(task, answer="Final Answer", as_json=False)
    prompt = ChatPromptTemplate.from_messages(
        [
            SystemMessage(react_system(task, answer="Final Answer", as_json=False)),
            *(_message(role, content) for role, content in said),
            HumanMessage(task.question),
            MessagesPlaceholder("agent_scratchpad"),
        ]
    )
    return RunnableLambda(_with_scratchpad) | prompt


def _message(role: str, content: str) -> BaseMessage:
    return HumanMessage(content) if role == "user" else AIMessage(content)


def _with_scratchpad(given: dict[str, Any]) -> dict[str, Any]:
    steps = given["intermediate_steps"]
    return {"agent_scratchpad": format_log_to_messages(steps, "Observation: {observation}")}


def _asking(model: BaseChatModel) -> Runnable[Any, AIMessage]:
    return model.bind(stop=["\nObservation"])


def _native(
    prompt: Runnable[Any, Any], model: BaseChatModel, _: list[BaseTool]
) -> Runnable[Any, Any]:
    return prompt | _asking(model) | ReActSingleInputOutputParser()


def _mended(prompt: Runnable[Any, Any], model: BaseChatModel, tools: list[BaseTool]) -> Any:
    parser = AgentActionOutputParser(tools=tools)
    return with_loop_guard(prompt | _asking(model) | parser, warn_after=SOFT, stop_after=HARD)


created: Final = _created()
created_mended: Final = _created(
    functools.partial(LoopGuardMiddleware, warn_after=SOFT, stop_after=HARD),
    functools.partial(NormalizationMiddleware, salvage=True),
)
executed: Final = _executed(_native)
executed_mended: Final = _executed(_mended)
