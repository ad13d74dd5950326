"""LlamaIndex's `ReActAgent`, as it is and with loopmend's default hooks."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any, Final

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.memory import ChatMemoryBuffer

from demo.runs import ANSWER, QUESTION, Ran, ran, search
from llama_index_loopmend import PlannedReActAgent, record_traces
from llama_index_loopmend.testing import ScriptedLLM

__all__ = ["run"]

_ACT: Final = 'Thought: I have to look it up.\nAction: search\nAction Input: {"query": "Oslo"}'
_THEN: Final = (_ACT, f"Thought: I can answer now.\nAnswer: {ANSWER} people live in Oslo.")
_SCRIPTS: Final[dict[str, list[str]]] = {
    "malformed": [_ACT[:-4], *_THEN],
    "narrated": ["I will use the search tool to find that out.", *_THEN],
    "empty": ["", *_THEN],
    "unknown tool": [_ACT.replace("search", "google"), *_THEN],
    "loop": [_ACT] * 30,
}


def run(failure: str, mended: bool) -> Ran:  # noqa: FBT001 - one of two ways
    """Run the agent on a model that fails in a way."""
    with warnings.catch_warnings():
        # LlamaIndex uses what pydantic deprecates.
        warnings.simplefilter("ignore", DeprecationWarning)
        return asyncio.run(_run(failure, mended=mended))


async def _run(failure: str, *, mended: bool) -> Ran:
    llm = ScriptedLLM(script=_SCRIPTS[failure])
    agent: Any = ReActAgent(tools=[search], llm=llm)
    if mended:
        agent = PlannedReActAgent(tools=[search], llm=llm)
    memory = ChatMemoryBuffer.from_defaults(token_limit=10_000)
    with record_traces() as recorder:
        try:
            answer = str(await agent.run(user_msg=QUESTION, memory=memory))
        except Exception as error:  # noqa: BLE001 - what the user would get to see
            answer = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return ran(answer, len(llm.asked), recorder.last)
