"""Agents with scripts, and the two ways to record them."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.memory import ChatMemoryBuffer
from workflows.handler import WorkflowHandler

from llama_index_loopmend.recorder import record_traces
from llama_index_loopmend.testing import ScriptedLLM
from loopmend.traces.trace import Trace

ACT = 'Thought: add them\nAction: add\nAction Input: {"a": 1, "b": 2}'
FINISH = "Thought: done\nAnswer: 3"
BAD = "Thought: let me see\nAction:"

Agent = BaseWorkflowAgent | AgentWorkflow


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail(why: str) -> str:
    """Fail."""
    raise RuntimeError(why)


async def hang() -> str:
    """Never return."""
    await asyncio.sleep(60)
    return "late"


TOOLS: list[Any] = [add, fail, hang]


def react(*script: Any, **options: Any) -> ReActAgent:
    """Return a ReAct agent whose model follows a script."""
    return ReActAgent(tools=TOOLS, llm=ScriptedLLM(script=script), **options)


def function(*script: Any, name: str = "Agent", **options: Any) -> FunctionAgent:
    """Return a function-calling agent whose model follows a script."""
    given = {"name": name, "description": name, "tools": TOOLS, **options}
    return FunctionAgent(llm=ScriptedLLM(script=script), **given)


def start(agent: Agent, question: Any = "1 + 2?", **options: Any) -> WorkflowHandler:
    """Start a run with a memory of its own."""
    given = {"user_msg": question, "memory": ChatMemoryBuffer.from_defaults(token_limit=100_000)}
    run: Any = agent.run  # its type knows only positions that are deprecated
    handler: WorkflowHandler = run(**given, **options)
    return handler


def recorded(agent: Agent, **options: Any) -> Trace:
    """Record a run."""

    async def run() -> None:
        await asyncio.gather(start(agent, **options), return_exceptions=True)

    with record_traces() as recorder:
        asyncio.run(run())
    (trace,) = recorder.traces
    return trace
