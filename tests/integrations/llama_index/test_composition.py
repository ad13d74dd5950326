"""Hooks together: in any order, alone, in workflows, streaming or not, saved, cancelled."""

from __future__ import annotations

import asyncio
from itertools import permutations
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentStream, AgentWorkflow
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context, JsonSerializer

from llama_index_loopmend import (
    LoopGuardHook,
    MetaSignalHook,
    NormalizationHook,
    PlannedAgentWorkflow,
    PlannerStepHook,
    StepHook,
    with_hooks,
)
from llama_index_loopmend.steps import NOTES_KEY
from llama_index_loopmend.testing import ScriptedLLM, call
from tests.integrations.llama_index.mended import (
    ANSWERS,
    CALLS,
    KINDS,
    NARRATED,
    native,
    run,
    scripted,
)

HOOKS = (PlannerStepHook, LoopGuardHook, NormalizationHook, MetaSignalHook)
streams = pytest.mark.parametrize("streaming", [True, False])


def names(order: Any) -> str:
    """Return what to call an order."""
    return "-".join(kind.__name__[:4] for kind in order)


@pytest.mark.parametrize("order", list(permutations(HOOKS)), ids=names)
def test_any_order(order: Any) -> None:
    """Whatever the order, a narration is corrected once and the run answers."""
    for kind in KINDS:
        llm = scripted(NARRATED, CALLS[kind], ANSWERS[kind])
        ran = run(with_hooks(native(kind, llm), [hook() for hook in order]), llm)
        assert (ran.answer, len(ran.made)) == ("3" if kind == "react" else "It is 3.", 1)
        assert ran.issues == [("narrated", "retry")]
        assert not any(NARRATED in text for text in ran.remembered)


@streams
@pytest.mark.parametrize("one", HOOKS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("planned", [True, False])
def test_one_hook_and_a_handover(one: type[StepHook], *, streaming: bool, planned: bool) -> None:
    """Each hook alone leaves a handover of the model's as it is, in either kind of workflow."""

    def made(hooked: bool) -> Any:  # noqa: FBT001 - the one thing to say
        over = call("handoff", to_agent="adder", reason="a sum")
        llms = scripted(over), scripted(call("add", a=1, b=2), "It is 3.")
        agents = [
            native("function", llm, name=name, description=name, streaming=streaming)
            for name, llm in zip(("front", "adder"), llms, strict=True)
        ]
        if not hooked:
            return AgentWorkflow(agents=agents, root_agent="front"), llms
        if planned:
            return PlannedAgentWorkflow(agents=agents, root_agent="front", hooks=[one()]), llms
        agents = [with_hooks(agent, [one()]) for agent in agents]
        return AgentWorkflow(agents=agents, root_agent="front"), llms

    plain, hooked = (run(flow, llms[1]) for flow, llms in (made(False), made(True)))
    assert hooked.answer == plain.answer == "It is 3."
    assert hooked.made == plain.made
    assert hooked.prompts == plain.prompts
    assert hooked.remembered == plain.remembered


@pytest.mark.parametrize("kind", KINDS)
def test_a_context_goes_round(kind: str) -> None:
    """A context that was saved as JSON and loaded again goes on with the hooks' notes."""

    async def turns() -> list[str]:
        llm = scripted("", " ", ANSWERS[kind])
        agent = with_hooks(native(kind, llm), [hook() for hook in HOOKS])
        memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
        first: Any = agent.run(user_msg="1 + 2?", memory=memory, ctx=Context(agent))
        said = [str(await first)]
        saved = first.ctx.to_dict(serializer=JsonSerializer())
        ctx = Context.from_dict(agent, saved, serializer=JsonSerializer())
        notes = await ctx.store.get(NOTES_KEY)
        assert notes["kept"]["issue"] == {"pattern": "empty", "streak": 1}
        second: Any = agent.run(user_msg="1 + 2?", memory=memory, ctx=ctx)
        said.append(str(await second))
        assert "issue" not in (await second.ctx.store.get(NOTES_KEY))["kept"]
        return said

    first, second = asyncio.run(turns())
    assert first.startswith("Gave up after")
    assert second == ("3" if kind == "react" else "It is 3.")


@streams
@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_run_leaves_nothing(kind: str, *, streaming: bool) -> None:
    """A run that is cancelled in the middle of a correction does not show in the next one."""

    async def turns() -> tuple[str, ScriptedLLM]:
        llm = scripted(NARRATED, ANSWERS[kind], ANSWERS[kind], pause=0.01)
        agent = with_hooks(native(kind, llm, streaming=streaming), [hook() for hook in HOOKS])
        memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
        first: Any = agent.run(user_msg="1 + 2?", memory=memory)
        async for event in first.stream_events():
            if type(event).__name__ == "ProtocolIssueEvent":
                await first.cancel_run()
        await asyncio.gather(first, return_exceptions=True)
        # LlamaIndex cannot go on with a context whose run was cancelled.
        second: Any = agent.run(user_msg="And now?", memory=memory)
        return str(await second), llm

    answer, llm = asyncio.run(turns())
    assert answer == ("3" if kind == "react" else "It is 3.")
    assert "describ" not in str([m.content for m in llm.asked[-1][1:]])


@pytest.mark.parametrize("kind", KINDS)
def test_streams_are_told_what_to_take_back(kind: str) -> None:
    """What was streamed of a refused reply is followed by an event that says so."""
    llm = scripted(NARRATED, ANSWERS[kind])
    ran = run(with_hooks(native(kind, llm), [hook() for hook in HOOKS]), llm)
    kinds = [type(event).__name__ for event in ran.events]
    issue = kinds.index("ProtocolIssueEvent")
    before = [e.delta for e in ran.events[:issue] if isinstance(e, AgentStream)]
    assert "".join(before) == NARRATED == ran.events[issue].text
    assert "AgentStream" in kinds[issue:]
