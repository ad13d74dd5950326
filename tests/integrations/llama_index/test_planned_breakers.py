"""A breaker that lets one call try: who may, who need not, and what says nothing of a provider."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentInput
from llama_index.core.workflow import Context
from typing_extensions import override

from llama_index_loopmend import PlannedAgentWorkflow, PlannedFunctionAgent
from llama_index_loopmend.testing import ScriptedLLM, call
from loopmend.breaker import CircuitBreaker
from tests.integrations.llama_index.agents import add, function
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.planned import buffer, planned, ran, run


class Counted(CircuitBreaker):
    """A breaker that knows how often it was asked."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked = 0

    @override
    def is_open(self) -> bool:
        self.asked += 1
        return super().is_open()


def half_open(**options: Any) -> Counted:
    """Return a breaker that lets one call try again."""
    now = [0.0]
    breaker = Counted(threshold=1, cooldown=30, clock=lambda: now[0], **options)
    breaker.record_failure(OSError())
    now[0] = 31.0
    assert breaker.state == "half_open"
    return breaker


def state(breaker: CircuitBreaker) -> str:
    """Return the state as it is now."""
    return breaker.state


def test_a_handover_does_not_use_up_the_trial() -> None:
    """The specialist asks the model, so that the trial is the specialist's."""
    breaker = half_open()
    agents: Any = [function(name="clerk"), function("A poem.", name="poet")]
    hook = hooks(breaker=breaker)
    workflow = PlannedAgentWorkflow(agents=agents, root_agent="clerk", hooks=hook)
    done = run(workflow, "@poet a poem, please")
    assert (done.text, breaker.state, breaker.asked) == ("A poem.", "closed", 1)


def test_each_call_is_asked_for() -> None:
    """A call that was made is over, and the breaker is asked before the next one."""
    breaker = Counted()
    hook = hooks(breaker=breaker)
    assert run(planned("function", call("add", a=1, b=2), "3", hook=hook)).text == "3"
    assert breaker.asked == 2


def test_a_turn_that_needs_no_call_keeps_nothing() -> None:
    """What one turn was allowed and did not use does not hold for the next."""
    breaker = Counted()
    agent = planned("function", hook=hooks(breaker=breaker, token_budget=0))
    ctx: Context[Any] = Context(agent)

    async def turns() -> Any:
        await ran(agent, ctx=ctx)
        await ran(agent, ctx=ctx)
        return await ctx.store.get("loopmend", default=None)

    assert asyncio.run(turns()) is None
    assert breaker.asked == 2


def test_a_callback_that_fails_does_not_use_up_the_trial() -> None:
    """The breaker is asked last, when nothing else can go wrong."""
    breaker = half_open()

    def fail(view: Any) -> Any:
        raise LookupError

    with pytest.raises(LookupError):
        run(planned("function", hook=hooks(breaker=breaker, observe=fail)))
    assert breaker.asked == 0


def test_who_knows_better_is_believed() -> None:
    """A callback that says how the provider is doing saves the question."""
    breaker = half_open()
    hook = hooks(breaker=breaker, observe=lambda _: {"provider_breaker_open": True})
    assert run(planned("function", hook=hook)).text.startswith("Stopped: ")
    assert breaker.asked == 0


def test_a_run_that_is_cancelled_gives_the_trial_back() -> None:
    """A cancelled call says nothing about the provider, and the next run may try."""
    breaker = half_open()
    llm = ScriptedLLM(script=["3", "3"], pause=5.0)
    agent = PlannedFunctionAgent(llm=llm, tools=[add], hooks=hooks(breaker=breaker))

    async def cancelled() -> None:
        start: Any = agent.run
        handler = start(user_msg="1 + 2?", memory=buffer())
        async for event in handler.stream_events():
            if isinstance(event, AgentInput):
                await handler.cancel_run()
        await asyncio.gather(handler, return_exceptions=True)

    asyncio.run(cancelled())
    assert (state(breaker), breaker.asked, breaker.is_open()) == ("half_open", 1, False)


class Own(ValueError):
    """A provider's own error."""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("LLM must be a FunctionCallingLLM"), "closed"),
        (TypeError("no such argument"), "closed"),
        (KeyError("OPENAI_API_KEY"), "closed"),
        (ConnectionError("down"), "open"),
        (Own("overloaded"), "open"),
        (json.JSONDecodeError("Expecting value", "<html>", 0), "open"),
    ],
)
def test_mistakes_in_a_program_are_not_the_providers(error: Exception, expected: str) -> None:
    """Errors of Python's own types do not open a breaker; those of somebody's own do."""
    breaker = CircuitBreaker(threshold=1)
    with pytest.raises(type(error)):
        run(planned("function", error, hook=hooks(breaker=breaker)))
    assert breaker.state == expected


def test_your_breaker_has_the_last_word() -> None:
    """A breaker that was told which errors count is told of all."""
    breaker = CircuitBreaker(threshold=1, counts=lambda error: isinstance(error, ValueError))
    with pytest.raises(ValueError, match="down"):
        run(planned("function", ValueError("down"), hook=hooks(breaker=breaker)))
    assert breaker.state == "open"


def test_a_mistake_gives_the_trial_back() -> None:
    """It says nothing about the provider, so that another may try."""
    now = 0.0
    breaker = CircuitBreaker(threshold=1, cooldown=30, clock=lambda: now)
    breaker.record_failure(OSError())
    now = 31.0
    agent = planned("function", TypeError("?"), "3", hook=hooks(breaker=breaker))
    with pytest.raises(TypeError):
        run(agent)
    assert (run(agent).text, breaker.state) == ("3", "closed")
