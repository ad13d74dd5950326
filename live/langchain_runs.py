"""LangChain's agents, as they are and with loopmend, at one task each."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_react_agent
from langchain_classic.agents.format_scratchpad import format_log_to_str
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.prompts import BasePromptTemplate, PromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig, RunnablePassthrough
from langchain_core.tools import BaseTool, StructuredTool, render_text_description

from langchain_loopmend import AgentActionOutputParser, with_action_retry
from langchain_loopmend.middleware import LoopGuardMiddleware, NormalizationMiddleware
from live.langchain_model import Watch
from live.record import Call, Run
from live.tasks import Example, Task
from live.tools import TOOLS

__all__ = ["ARMS", "Agent", "Arm", "run_task"]

Agent = Callable[[BaseChatModel, Task, list[BaseTool], RunnableConfig], str]
"""Answers the question of a task with a model and tools."""

Prompt = BasePromptTemplate[str]


@dataclass(frozen=True, slots=True)
class Arm:
    """A kind of agent, built natively and with loopmend."""

    name: str
    agents: Mapping[str, Agent]
    decoded: bool = True
    """Whether the server decodes the model's calls; many servers do not, or not for each model."""


_STEPS: Final = 3
_SYSTEM: Final = "You are a helpful assistant. Use the tools to answer, in one short sentence."
_REACT: Final = """Answer the following questions as best you can. You have access to the \
following tools:

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

{example}

Begin!

Question: {input}
Thought:{agent_scratchpad}"""


def run_task(agent: Agent, model: BaseChatModel, task: Task, watch: Watch) -> Run:
    """Let an agent answer the question of a task, and note what it does."""
    run = Run(task)
    started = time.monotonic()
    watch.start(run)
    try:
        run.answer = agent(model, task, _tools(task, run), {"callbacks": [watch]})
    except Exception as error:  # noqa: BLE001 - whatever an agent raises is a result here
        run.error = f"{type(error).__name__}: {error}"
    run.seconds = time.monotonic() - started
    return run


def _tools(task: Task, run: Run) -> list[BaseTool]:
    """Return the tools on offer, which note each call."""

    def noted(name: str) -> BaseTool:
        function = TOOLS[name]

        @functools.wraps(function)
        def wrapper(*given: str, **named: str) -> str:
            [text] = (*given, *named.values())
            run.calls.append(Call(name, text, function(text)))
            return run.calls[-1].result

        return StructuredTool.from_function(wrapper)

    return [noted(name) for name in task.group.tools]


def _created(*middleware: Callable[[], Any]) -> Agent:
    """Return an agent of `create_agent`."""

    def answer(
        model: BaseChatModel, task: Task, tools: list[BaseTool], config: RunnableConfig
    ) -> str:
        agent: Any = create_agent(
            model, tools, system_prompt=_SYSTEM, middleware=[make() for make in middleware]
        )
        asked = [*_shown(task), HumanMessage(task.question)]
        limited: RunnableConfig = {**config, "recursion_limit": 2 * _STEPS}
        result = agent.invoke({"messages": asked}, limited)
        return str(result["messages"][-1].text)

    return answer


def _shown(task: Task) -> list[BaseMessage]:
    """Return the examples as a conversation."""
    return [
        message
        for number, example in enumerate(task.group.examples)
        for message in _conversation(example, f"example_{number}")
    ]


def _conversation(example: Example, id: str) -> list[BaseMessage]:
    [argument] = StructuredTool.from_function(TOOLS[example.tool]).args
    call = {"name": example.tool, "args": {argument: example.input}, "id": id}
    return [
        HumanMessage(example.question),
        AIMessage("", tool_calls=[call]),
        ToolMessage(example.result, tool_call_id=id, name=example.tool),
        AIMessage(example.answer),
    ]


def _react(make: Callable[[BaseChatModel, list[BaseTool], Prompt], Any]) -> Agent:
    """Return an agent that writes Thought, Action and Observation."""

    def answer(
        model: BaseChatModel, task: Task, tools: list[BaseTool], config: RunnableConfig
    ) -> str:
        example = _transcript(task.group.examples[0])  # each token of the prompt takes time
        prompt = PromptTemplate.from_template(_REACT).partial(example=example)
        executor = AgentExecutor(
            agent=make(model, tools, prompt),
            tools=tools,
            handle_parsing_errors=True,
            max_iterations=_STEPS,
        )
        return str(executor.invoke({"input": task.question}, config)["output"])

    return answer


def _transcript(example: Example) -> str:
    return (
        f"Question: {example.question}\nThought: I need a tool\nAction: {example.tool}\n"
        f"Action Input: {example.input}\nObservation: {example.result}\n"
        f"Thought: I now know the final answer\nFinal Answer: {example.answer}"
    )


def _native(model: BaseChatModel, tools: list[BaseTool], prompt: Prompt) -> Any:
    return create_react_agent(model, tools, prompt)


def _parsed(model: BaseChatModel, tools: list[BaseTool], prompt: Prompt) -> Any:
    parser: Any = AgentActionOutputParser(tools=tools)
    return create_react_agent(model, tools, prompt, output_parser=parser)


def _retried(model: BaseChatModel, tools: list[BaseTool], prompt: Prompt) -> Any:
    filled = prompt.partial(
        tools=render_text_description(tools), tool_names=", ".join(tool.name for tool in tools)
    )
    scratchpad: Runnable[Any, Any] = RunnablePassthrough.assign(
        agent_scratchpad=lambda given: format_log_to_str(given["intermediate_steps"])
    )
    asked = model.bind(stop=["\nObservation"])
    return scratchpad | filled | with_action_retry(asked, tools=tools, on_exhausted="return")


_MENDED: Final = _created(
    functools.partial(NormalizationMiddleware, salvage=True), LoopGuardMiddleware
)

ARMS: Final = (
    Arm("create_agent", {"native": _created(), "loopmend": _MENDED}),
    Arm(
        "create_agent, server leaves calls in the text",
        {"native": _created(), "loopmend": _MENDED},
        decoded=False,
    ),
    Arm(
        "AgentExecutor with create_react_agent",
        {
            "native": _react(_native),
            "loopmend's parser": _react(_parsed),
            "with_action_retry": _react(_retried),
        },
    ),
)
"""The kinds of agents to compare."""
