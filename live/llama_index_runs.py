"""LlamaIndex's agents, as they are and with loopmend, at one task each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from llama_index.core.agent.react import ReActChatFormatter
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool

from live.arms import Agent, Outcome
from live.asking import Server
from live.llama_index_model import ServedLLM
from live.prompts import HARD, SOFT, STEPS, SYSTEM, example_calls, react_examples, react_system
from live.record import Run, noted_tools
from live.tasks import Example, Task
from live.tools import described
from llama_index_loopmend import (
    LoopGuardHook,
    NormalizationHook,
    PlannedFunctionAgent,
    PlannedReActAgent,
    PlannerStepHook,
    StepHook,
    record_traces,
)

__all__ = ["functions", "functions_mended", "reacts", "reacts_mended"]

Make = Callable[..., Any]
"""A class of agents, or what is called like one."""

# The framework throws away the answer of the last step that it allows.
_ITERATIONS: Final = STEPS + 1


def _answered(make: Make, options: Callable[[Task], dict[str, Any]], shown: Any) -> Agent:
    def agent(server: Server, run: Run) -> Outcome:
        return asyncio.run(_run(make, options(run.task), shown(run.task), server, run))

    return agent


async def _run(
    make: Make, options: dict[str, Any], shown: list[ChatMessage], server: Server, run: Run
) -> Outcome:
    llm = ServedLLM.of(server, run)
    tools = [
        FunctionTool.from_defaults(tool, name=tool.__name__, description=described(tool.__name__))
        for tool in noted_tools(run)
    ]
    agent = make(tools=tools, llm=llm, streaming=False, **options)
    with record_traces() as recorder:
        try:
            done = await agent.run(
                user_msg=run.task.question,
                chat_history=shown,
                memory=ChatMemoryBuffer.from_defaults(llm=llm),
                max_iterations=_ITERATIONS,
            )
        except Exception as error:  # noqa: BLE001 - whatever an agent raises is a result here
            return Outcome("", recorder.last, error)
    return Outcome(str(done.response.content or ""), recorder.last)


def _react_options(task: Task) -> dict[str, Any]:
    header = react_system(task, answer="Answer", as_json=True)
    # The framework fills in its own, longer description of the tools where it is asked to.
    header = header.replace("{", "{{").replace("}", "}}")
    return {"formatter": ReActChatFormatter(system_header=header)}


def _react_shown(task: Task) -> list[ChatMessage]:
    said = react_examples(task, answer="Answer", as_json=True)
    return [ChatMessage(role=role, content=content) for role, content in said]


def _function_options(_: Task) -> dict[str, Any]:
    return {"system_prompt": SYSTEM}


def _function_shown(task: Task) -> list[ChatMessage]:
    return [message for example in task.group.examples for message in _conversation(example)]


def _conversation(example: Example) -> list[ChatMessage]:
    messages = [ChatMessage(role=MessageRole.USER, content=example.question)]
    for step in example.steps:
        calls = example_calls(step)
        blocks = [
            ToolCallBlock(tool_call_id=id, tool_name=name, tool_kwargs=args)
            for id, name, args in calls
        ]
        messages.append(ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks))
        messages += [
            ChatMessage(
                role=MessageRole.TOOL, content=call.result, additional_kwargs={"tool_call_id": id}
            )
            for call, (id, _, _) in zip(step, calls, strict=True)
        ]
    return [*messages, ChatMessage(role=MessageRole.ASSISTANT, content=example.answer)]


def _hooks() -> list[StepHook]:
    return [
        PlannerStepHook(),
        LoopGuardHook(warn_after=SOFT, stop_after=HARD),
        NormalizationHook(),
    ]


def _planned_react(**options: Any) -> Any:
    return PlannedReActAgent(**options, hooks=_hooks())


def _planned_function(**options: Any) -> Any:
    return PlannedFunctionAgent(**options, hooks=_hooks())


reacts: Final = _answered(ReActAgent, _react_options, _react_shown)
reacts_mended: Final = _answered(_planned_react, _react_options, _react_shown)
functions: Final = _answered(FunctionAgent, _function_options, _function_shown)
functions_mended: Final = _answered(_planned_function, _function_options, _function_shown)
