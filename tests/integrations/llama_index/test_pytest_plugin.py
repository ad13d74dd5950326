"""The pytest plugin records LlamaIndex, in sync and async tests."""

from __future__ import annotations

import pytest

pytest_plugins = ("pytester",)

TESTS = """
import asyncio

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer

from llama_index_loopmend.testing import ScriptedLLM

async def ask():
    llm = ScriptedLLM(script=["In Norway."])
    memory = ChatMemoryBuffer.from_defaults(llm=llm)
    await FunctionAgent(tools=[], llm=llm).run("Where is Oslo?", memory=memory)

def test_records(loopmend_traces):
    asyncio.run(ask())
    assert [trace.answer for trace in loopmend_traces.all] == ["In Norway."]

@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_records_a_coroutine(loopmend_traces, anyio_backend):
    await ask()
    assert [trace.answer for trace in loopmend_traces.all] == ["In Norway."]
"""


def test_llama_index_is_recorded(pytester: pytest.Pytester) -> None:
    """A test that uses LlamaIndex needs no recorder of its own."""
    pytester.makepyfile(TESTS)
    pytester.runpytest_inprocess("-p", "loopmend.pytest").assert_outcomes(passed=2)
