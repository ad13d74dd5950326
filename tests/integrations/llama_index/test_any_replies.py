"""Whatever a model says, and whatever hooks are there in whatever order, a run ends well."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.memory import ChatMemoryBuffer

from llama_index_loopmend import (
    LoopGuardHook,
    MetaSignalHook,
    NormalizationHook,
    PlannedAgentWorkflow,
    PlannerStepHook,
    StepHook,
    with_hooks,
)
from llama_index_loopmend.testing import ScriptedLLM, call
from tests.integrations.llama_index.agents import ACT, FINISH, add, fail
from tests.integrations.llama_index.mended import NARRATED, WRITTEN, block, message, native

HOOKS: tuple[type[StepHook], ...] = (
    *(PlannerStepHook, LoopGuardHook, NormalizationHook, MetaSignalHook),
)
TEXTS = ("", NARRATED, WRITTEN, "It is 3.", '{"type": "final", "content": "3"}', "<stuck/> No.")
REACT = (ACT, FINISH, "Thought: x\nAction: add", "Thought: x\nAction: nope\nAction Input: {}")
CODE = ("<execute>add(1, 2)</execute>", "<execute>add(")


class Run:
    """A run of agents whose models say anything, and what they were shown."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - a choice, no secret
        self.said = 0
        self.unanswered: list[str] = []

    def call(self) -> ChatMessage:
        """Return any call."""
        self.said += 1
        id, number = f"call_{self.said}", self.chance.randrange(3)
        return self.chance.choice(
            [
                call("add", id, a=number, b=2),
                call("add", id, a="x"),
                call("fail", id, why="no"),
                call("nope", id),
                call("handoff", id, to_agent=self.chance.choice("abc"), reason=id),
                message(block("add", {"a": 1, "b": 2}, id), block("fail", {"why": "no"}, f"{id}b")),
            ]
        )

    def model(self, kind: str) -> ScriptedLLM:
        """Return a model that says anything, or always the same."""
        stubborn = self.chance.choice((None, None, *TEXTS[:3]))

        def say(shown: Sequence[ChatMessage]) -> Any:
            calls = (b for m in shown for b in m.blocks if isinstance(b, ToolCallBlock))
            answered = {m.additional_kwargs.get("tool_call_id") for m in shown}
            self.unanswered += [c.tool_name for c in calls if c.tool_call_id not in answered]
            self.said += 1
            assert self.said < 200, "the run goes on without end"
            if stubborn is not None:
                return stubborn
            texts = {"react": (*TEXTS, *REACT), "code": (*TEXTS, *CODE)}.get(kind, TEXTS)
            native_call = kind == "function" and self.chance.random() < 0.6
            return self.call() if native_call else self.chance.choice(texts)

        return ScriptedLLM(script=[say], repeat=True)

    def agent(self) -> Any:
        """Return an agent, or a workflow of two."""
        hooks = [kind() for kind in self.chance.sample(HOOKS, self.chance.randint(1, 4))]
        hooks += [] if any(isinstance(one, LoopGuardHook) for one in hooks) else [LoopGuardHook()]
        kinds = [self.chance.choice(["react", "function", "code"]) for _ in "ab"]
        agents = [
            native(kind, self.model(kind), name=name, description=name, tools=[add, fail])
            for name, kind in zip("ab", kinds, strict=True)
        ]
        if self.chance.random() < 0.5:
            return with_hooks(agents[0], hooks)
        return PlannedAgentWorkflow(agents=agents, root_agent="a", hooks=hooks)

    async def turns(self) -> None:
        """Ask twice in one conversation."""
        agent, most = self.agent(), self.chance.randint(1, 6)
        memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
        for question in ("1 + 2?", "And now?"):
            self.said = 0
            await agent.run(user_msg=question, memory=memory, max_iterations=most)


# With the guard after the mending, 50 and 80 once went on without end.
@pytest.mark.parametrize("seed", range(45, 85))
def test_a_run_ends(seed: int) -> None:
    """It answers within its steps, raises nothing, and shows no model a call without a result."""
    run = Run(seed)
    asyncio.run(run.turns())
    assert run.unanswered == []
