"""The end of a run that wants a value of a schema."""

from __future__ import annotations

import warnings
from typing import Any

from llama_index.core.agent.utils import generate_structured_response
from llama_index.core.agent.workflow import AgentOutput, AgentStreamStructuredOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.workflow import StopEvent

from llama_index_loopmend.hooks.normalization import NormalizationHook
from llama_index_loopmend.steps import CALLS, COUNT, OWN_WORDS
from llama_index_loopmend.structured_llms import with_parsing_retry

__all__ = ["finished"]


async def finished(agent: Any, ctx: Any, output: AgentOutput, output_cls: Any) -> StopEvent | None:
    """End a run as LlamaIndex does, or return `None` if LlamaIndex should go on by itself.

    What loopmend wrote in the model's place is no answer: nobody is asked to structure it. A value
    is asked for again if it does not fit, where a hook mends replies.
    """
    if output.tool_calls:
        return None
    ours = output.get(OWN_WORDS)
    if not ours and (output_cls is None or output.retry_messages):
        return None
    mends = next((hook for hook in agent.hooks if isinstance(hook, NormalizationHook)), None)
    if not ours:
        # At the cap LlamaIndex ends the run before it looks at the output.
        count = await ctx.store.get(COUNT, default=0)
        most = await ctx.store.get("max_iterations", default=count + 2)
        if mends is None or count + 1 >= most:
            return None
    memory = await ctx.store.get("memory")
    done = await agent.finalize(ctx, output, memory)
    done.tool_calls.extend(await ctx.store.get(CALLS, default=[]))
    await ctx.store.set(CALLS, [])
    if not ours and mends is not None:
        await _structure(agent, ctx, done, await memory.aget(), output_cls, mends)
    return StopEvent(result=done)


async def _structure(  # noqa: PLR0913, PLR0917 - what LlamaIndex does in one long method
    agent: Any,
    ctx: Any,
    output: AgentOutput,
    messages: list[ChatMessage],
    output_cls: Any,
    mends: NormalizationHook,
) -> None:
    """Ask for the value of an answer as LlamaIndex does, and again if it does not fit."""
    if agent.system_prompt:
        system = ChatMessage(role=MessageRole.SYSTEM, content=agent.system_prompt)
        messages = [system, *messages]
    policy = mends.policy
    llm = with_parsing_retry(agent.llm, max_retries=policy.max_retries, constrain=policy.constrain)
    try:
        value = await generate_structured_response(messages, llm, output_cls)
    except Exception as error:  # whatever it is, LlamaIndex only warns of it
        if mends.on_failure == "raise":
            raise
        said = f"There was a problem with the generation of the structured output: {error}"
        warnings.warn(said, stacklevel=2)
        return
    output.structured_response = value
    ctx.write_event_to_stream(AgentStreamStructuredOutput(output=value))
