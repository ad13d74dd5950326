"""LlamaIndex's agents at one question, alone and with loopmend: the framework's own prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool

from live.engine import STEPS, Client
from live.llama_index_model import ServedLLM
from live.tasks import Tool
from llama_index_loopmend import (
    LoopGuardHook,
    NormalizationHook,
    PlannedFunctionAgent,
    PlannedReActAgent,
    PlannerStepHook,
)

__all__ = ["AGENTS"]

Agent = Callable[[Client, list[Tool], str], str]


def _answered(kind: Callable[..., Any], hooks: Callable[[], list[Any]] | None = None) -> Agent:
    async def ask(client: Client, tools: list[Tool], question: str) -> str:
        llm = ServedLLM.of(client)
        offered = [FunctionTool.from_defaults(tool) for tool in tools]
        options: dict[str, Any] = {} if hooks is None else {"hooks": hooks()}
        agent = kind(tools=offered, llm=llm, streaming=False, **options)
        # The framework throws away the answer of the last step that it allows.
        done = await agent.run(
            user_msg=question,
            memory=ChatMemoryBuffer.from_defaults(llm=llm),
            max_iterations=STEPS + 1,
        )
        return str(done.response.content or "")

    def run(client: Client, tools: list[Tool], question: str) -> str:
        return asyncio.run(ask(client, tools, question))

    return run


def _hooks(**options: Any) -> Callable[[], list[Any]]:
    """Return the default hooks, with options for the one that corrects."""
    return lambda: [PlannerStepHook(), LoopGuardHook(), NormalizationHook(**options)]


AGENTS: Final[Mapping[str, Mapping[str, Agent]]] = {
    "FunctionAgent": {
        "alone": _answered(FunctionAgent),
        "defaults": _answered(PlannedFunctionAgent),
        "salvage=False": _answered(PlannedFunctionAgent, _hooks(salvage=False)),
        "always": _answered(PlannedFunctionAgent, _hooks(constrain="always")),
    },
    "ReActAgent": {
        "alone": _answered(ReActAgent),
        "defaults": _answered(PlannedReActAgent),
        "always": _answered(PlannedReActAgent, _hooks(constrain="always")),
    },
}
"""Each kind of agent, and how it is built in each column."""
