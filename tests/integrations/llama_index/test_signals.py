"""What a model says about its own progress is recorded, and ends a run if it gives up."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole

from llama_index_loopmend import MetaSignalEvent, MetaSignalHook
from loopmend.contracts import MetaSignal, Stuck
from tests.integrations.llama_index.agents import FINISH
from tests.integrations.llama_index.mended import Ran, block, message, planned, run, scripted

STUCK = "<stuck><attempt>looked</attempt><request>more context</request></stuck>"
ACTION = 'Action: add\nAction Input: {"a": 1, "b": 2}'


def ask(kind: str, *script: Any, **options: Any) -> Ran:
    """Run an agent with this hook alone."""
    llm = scripted(*script)
    return run(planned(kind, llm, hook=[MetaSignalHook(**options)]), llm)


def signals(ran: Ran) -> list[str]:
    """Return the kinds of the signals that were streamed."""
    return [event.signal["kind"] for event in ran.events if isinstance(event, MetaSignalEvent)]


@pytest.mark.parametrize("kind", ["react", "function"])
def test_giving_up_ends_the_run(kind: str) -> None:
    """Calls beside a model's word that it is stuck are not made, unless you want them."""
    calls = message(block("add", {"a": 1, "b": 2}), text=STUCK)
    said: Any = f"Thought: {STUCK}\n{ACTION}" if kind == "react" else calls
    answer = FINISH if kind == "react" else "3"
    ended = ask(kind, said, answer)
    assert (signals(ended), ended.made) == (["Stuck"], [])
    assert ended.output is not None
    assert (STUCK in ended.answer, ended.output["loopmend_ended"]) == (True, "stuck")
    goes_on = ask(kind, said, answer, end=False)
    assert (goes_on.answer, len(goes_on.made)) == ("3", 1)
    assert signals(goes_on) == ["Stuck"]


def test_phrases_count_without_calls_only() -> None:
    """Beside a call "I'm stuck" is a thought; as an answer it is a signal."""
    beside = message(block("add", {"a": 1, "b": 2}), text="I'm stuck.")
    ran = ask("function", beside, "I'm stuck.")
    assert (signals(ran), len(ran.made), ran.answer) == (["Stuck"], 1, "I'm stuck.")
    assert signals(ask("function", "It is 3.")) == []


def test_you_have_the_last_word() -> None:
    """A function may return another output, or nothing."""
    seen: list[MetaSignal] = []

    def help_out(signal: MetaSignal, output: AgentOutput) -> AgentOutput | None:
        seen.append(signal)
        if len(seen) > 1:
            return None
        said = ChatMessage(role=MessageRole.ASSISTANT, content="Ask Ada.")
        return AgentOutput(response=said, current_agent_name=output.current_agent_name)

    first = ask("function", STUCK, on_signal=help_out)
    second = ask("function", STUCK, on_signal=help_out)
    assert (first.answer, second.answer) == ("Ask Ada.", STUCK)
    assert all(isinstance(signal, Stuck) for signal in seen)
