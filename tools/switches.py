"""`python -m tools.switches`: how often one bad reply makes a reader of the code change files.

A run is traced, and each call that goes from one file of ours to another counts. Few switches mean
that a rule can be followed in one place.
"""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

__all__ = ["main", "switches"]

ROOT: Final = Path(__file__).parents[1]
_READER: Final = str(ROOT / "core" / "loopmend" / "reading")
_OURS: Final = tuple(str(ROOT / folder) for folder in ("core", "integrations"))


def search(query: str) -> str:
    """Search the web."""
    return f"about {query}"


def switches(run: Callable[[], Any]) -> tuple[int, int]:
    """Return how many calls in a run go from one file of ours to another, and into the reader."""
    found = reader = 0
    last = ""
    frames: set[FrameType] = set()  # a coroutine that goes on is no call

    def traced(frame: FrameType, event: str, _: Any) -> None:
        nonlocal found, reader, last
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(_OURS) and frame not in frames:
            frames.add(frame)
            found += name != last
            reader += name != last and name.startswith(_READER)
            last = name

    sys.setprofile(traced)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found, reader


def _create_agent() -> Any:
    from langchain.agents import create_agent

    from langchain_loopmend.middleware import NormalizationMiddleware
    from langchain_loopmend.testing import ScriptedChatModel

    model = ScriptedChatModel(script=["Let me search for that.", "It is in Norway."])
    agent: Any = create_agent(model, [search], middleware=[NormalizationMiddleware()])
    return agent.invoke({"messages": [("user", "Where is Oslo?")]})


def _executor() -> Any:
    from langchain_classic.agents import AgentExecutor
    from langchain_core.prompts import PromptTemplate
    from langchain_core.tools import tool

    from langchain_loopmend import with_parsing_retry
    from langchain_loopmend.testing import ScriptedChatModel

    made = tool(search)
    model = ScriptedChatModel(script=["Let me search for that.", "Final Answer: in Norway"])
    agent = PromptTemplate.from_template("{input}") | with_parsing_retry(model, tools=[made])
    return AgentExecutor(agent=agent, tools=[made]).invoke({"input": "Where is Oslo?"})


def _planned() -> Any:
    from llama_index.core.tools import FunctionTool

    from llama_index_loopmend import PlannedReActAgent
    from llama_index_loopmend.testing import ScriptedLLM

    async def run() -> Any:
        llm = ScriptedLLM(script=["Let me search for that.", "Thought: done\nAnswer: in Norway"])
        tools: list[Any] = [FunctionTool.from_defaults(search)]
        agent: Any = PlannedReActAgent(tools=tools, llm=llm)
        return await agent.run(user_msg="Where is Oslo?")

    return asyncio.run(run())


def main() -> None:
    """Print the switches of one bad reply in each kind of agent."""
    warnings.simplefilter("ignore")
    for name, run in (
        ("create_agent", _create_agent),
        ("AgentExecutor", _executor),
        ("PlannedReActAgent", _planned),
    ):
        run()  # what is imported or compiled once is no part of it
        found, reader = switches(run)
        print(f"{name:18} {found:4}, of which {reader} into files of the reader")


if __name__ == "__main__":
    main()
