"""What planning and mending cost on a clean run of LlamaIndex's agents, in one run with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.timing import interleaved

GOAL = 0.03
MOST_OVERHEAD = 0.08
TRIES = 5
ROUNDS = 120
RUNS = 2

pytest.importorskip("llama_index.core")
# LlamaIndex uses what it deprecated itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step"),
]


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streaming"])
@pytest.mark.parametrize("kind", ["ReActAgent", "FunctionAgent"])
def test_hook(kind: str, streaming: bool, report: list[str]) -> None:  # noqa: FBT001 - a parameter
    """On a clean run with a model that costs nothing the hook adds at most 8 % to a step.

    The goal is 3 %; what is reached is reported beside it.
    """
    from llama_index.core.agent import workflow

    import llama_index_loopmend

    native = getattr(workflow, kind)
    planned = getattr(llama_index_loopmend, f"Planned{kind}")
    runs = {"native": _run(native, streaming), "planned": _run(planned, streaming)}
    found: list[float] = []
    while not found or (found[-1] > GOAL and len(found) < TRIES):
        seconds = interleaved(runs, rounds=ROUNDS)
        found.append(seconds["planned"] / seconds["native"] - 1)
    way = "streaming" if streaming else "whole"
    report.append(f"Planned{kind}, {way:9}: {min(found):6.1%} of a step of {kind}, goal {GOAL:.0%}")
    assert min(found) <= MOST_OVERHEAD


def _run(agent: Any, streaming: bool) -> Callable[[], Any]:  # noqa: FBT001 - a parameter
    """Return runs of an agent whose model calls a tool four times and answers."""
    from llama_index.core.memory import ChatMemoryBuffer

    from llama_index_loopmend.testing import ScriptedLLM, call

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    # Another call each time: the same one again would be told of, which is no clean run.
    act = 'Thought: I have to add them.\nAction: add\nAction Input: {{"a": {}, "b": 2}}'
    answer = "Thought: I can answer now.\nAnswer: It is 6."
    react = "ReAct" in agent.__name__
    calls: list[Any] = [act.format(n) if react else call("add", a=n, b=2) for n in range(4)]
    script = [*calls, answer if react else "It is 6."]
    llm = ScriptedLLM(script=script, repeat=True)
    made = agent(tools=[add], llm=llm, streaming=streaming)

    async def several() -> None:
        for _ in range(RUNS):
            memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
            handler = made.run(user_msg="1 + 2?", memory=memory)
            async for _ in handler.stream_events():
                pass
            await handler

    return lambda: asyncio.run(several())
