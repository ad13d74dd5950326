"""What hooks cost on a clean run, counted in calls: they are the same on a busy machine."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.memory import ChatMemoryBuffer

from llama_index_loopmend import MetaSignalHook, PlannerStepHook, with_hooks
from llama_index_loopmend.hooked_steps import default_hooks
from llama_index_loopmend.testing import ScriptedLLM, call
from tests.integrations.llama_index.agents import add

ACT = 'Thought: I have to add them.\nAction: add\nAction Input: {{"a": {}, "b": 2}}'
MOST = {"planner": 0.02, "all": 0.05}


def agent(kind: Any) -> Any:
    """Return an agent whose model makes four different calls and answers."""
    react = kind is ReActAgent
    calls = [ACT.format(n) if react else call("add", a=n, b=2) for n in range(4)]
    script = [*calls, "Thought: I can answer now.\nAnswer: It is 6." if react else "It is 6."]
    return kind(tools=[add], llm=ScriptedLLM(script=script, repeat=True), streaming=False)


def calls_of(made: Any) -> int:
    """Return how many functions one run calls."""

    async def run() -> None:
        memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
        handler = made.run(user_msg="1 + 2?", memory=memory)
        async for _ in handler.stream_events():
            pass
        await handler

    found = 0

    def heard(_frame: object, event: str, _argument: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    asyncio.run(run())  # what is made once is no part of it
    before = sys.getprofile()
    sys.setprofile(heard)
    try:
        asyncio.run(run())
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("hooks", list(MOST))
@pytest.mark.parametrize("kind", [ReActAgent, FunctionAgent])
def test_a_clean_step(kind: Any, hooks: str) -> None:
    """The planner adds at most 2 % to the calls of a clean run, and all four hooks 5 %."""
    chosen = [PlannerStepHook()] if hooks == "planner" else [*default_hooks(), MetaSignalHook()]
    native, hooked = calls_of(agent(kind)), calls_of(with_hooks(agent(kind), chosen))
    assert hooked / native - 1 <= MOST[hooks]
