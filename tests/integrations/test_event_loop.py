"""The event loop is never blocked by files, which LangGraph's server refuses."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

LANGCHAIN = """
    from langchain.agents import create_agent
    from langchain_loopmend import TraceRecorder
    from langchain_loopmend.middleware import (
        LoopGuardMiddleware, MetaSignalMiddleware, NormalizationMiddleware, PlannerMiddleware,
    )
    from langchain_loopmend.testing import ScriptedChatModel

    parts = [NormalizationMiddleware(), MetaSignalMiddleware(), LoopGuardMiddleware()]
    agent = create_agent(ScriptedChatModel(script=SCRIPT), [search], middleware=parts)

    async def main():
        asked = {"messages": [("user", "Where is Oslo?")]}
        said = await agent.ainvoke(asked, {"callbacks": [TraceRecorder()]})
        return said["messages"][-1].content
"""
LLAMA_INDEX = """
    from llama_index_loopmend import PlannedFunctionAgent
    from llama_index_loopmend.testing import ScriptedLLM

    async def main():
        agent = PlannedFunctionAgent(tools=[search], llm=ScriptedLLM(script=SCRIPT))
        return str(await agent.run(user_msg="Where is Oslo?"))
"""
CORE = """
    from loopmend import read_json, read_turn

    async def main():
        read_json("Sure: {'a': 1,}", {"type": "object"})
        return read_turn(SCRIPT[0], tools=["search"]).calls[0].arguments["query"]
"""


@pytest.mark.parametrize(
    ("part", "answer", "adapter", "needs"),
    [
        (CORE, "Oslo", "loopmend", "loopmend"),
        (LANGCHAIN, "In Norway.", "langchain_loopmend", "langchain.agents"),
        (LLAMA_INDEX, "In Norway.", "llama_index_loopmend", "llama_index.core"),
    ],
)
def test_nothing_blocks_the_event_loop(part: str, answer: str, adapter: str, needs: str) -> None:
    """What the first reply needs is imported, not opened: a server lets imports pass."""
    pytest.importorskip(needs)
    code = dedent("""
        import asyncio
        from blockbuster import blockbuster_ctx

        SCRIPT = [
            'Let me look that up now.\\n{"name": "search", "arguments": {"query": "Oslo"}}',
            "In Norway.",
        ]

        def search(query: str) -> str:
            "Search the web."
            return "Oslo is in Norway."
    """)
    code += dedent(part)
    code += dedent(f"""
        with blockbuster_ctx(["loopmend", "{adapter}"]):
            print(asyncio.run(main()))
    """)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == answer, done.stderr
