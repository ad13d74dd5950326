"""What happens to a run at its cap of iterations, mended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Union

from llama_index.core.agent.workflow import AgentInput, AgentOutput, ToolCall
from llama_index.core.agent.workflow.base_agent import DEFAULT_MAX_ITERATIONS
from llama_index.core.workflow import StopEvent

from llama_index_loopmend.hook import PlannerStepHook
from llama_index_loopmend.scratchpads import scratchpad_of

__all__ = ["Parsed", "in_time", "remembered"]

Parsed = Union[StopEvent, AgentInput, ToolCall, None]
"""What LlamaIndex goes on with after an output."""

_COUNT = "num_iterations"


@asynccontextmanager
async def in_time(ctx: Any, output: AgentOutput, hook: PlannerStepHook) -> AsyncIterator[None]:
    """Let an answer count that comes in the very last iteration.

    LlamaIndex looks at the cap before it looks at the output, so that for an answer it is
    told of one iteration less while it looks.
    """
    if output.retry_messages or not hook.acts or not hook.mends.last_answer:
        yield
        return
    counted = await ctx.store.get(_COUNT, default=0)
    most = await ctx.store.get("max_iterations", default=DEFAULT_MAX_ITERATIONS)
    if counted + 1 < most:
        yield
        return
    await ctx.store.set(_COUNT, most - 2)
    try:
        yield
    finally:
        await ctx.store.set(_COUNT, counted + 1)


async def remembered(agent: object, ctx: Any, hook: PlannerStepHook) -> None:
    """Write to memory what was found so far, for an answer that is made of the memory alone."""
    pad = scratchpad_of(agent)
    if pad.key is None or not hook.acts or not hook.mends.informed_stop:
        return
    found = pad.messages(await ctx.store.get(pad.key, default=[]))
    if found:
        memory = await ctx.store.get("memory")
        await memory.aput_messages(found)
    await ctx.store.set(pad.key, [])
