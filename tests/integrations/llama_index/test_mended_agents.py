"""Mending where somebody else has a say: parsers, agents, code, providers and people."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    MessageRole,
)
from llama_index.core.output_parsers.base import OutputParserException
from llama_index.core.workflow import Context
from typing_extensions import override
from workflows.events import HumanResponseEvent, InputRequiredEvent

from llama_index_loopmend import NormalizationHook, with_hooks
from llama_index_loopmend.testing import ScriptedLLM, call
from loopmend.breaker import CircuitBreaker
from tests.integrations.llama_index.agents import FINISH, add
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.mended import (
    ANSWERS,
    CALLS,
    KINDS,
    NARRATED,
    QUESTION,
    ask,
    native,
    planned,
    run,
    scripted,
)


class Choosing(ScriptedLLM):
    """Notes which tool it is made to call."""

    made_to: list[Any]

    @override
    def _prepare_chat_with_tools(self, *given: Any, **named: Any) -> dict[str, Any]:
        self.made_to.append(named.get("tool_choice"))
        return super()._prepare_chat_with_tools(*given, **named)


def test_a_first_call_is_not_forced_again() -> None:
    """`initial_tool_choice` holds for the first reply, and for what is asked again about it."""
    llm = Choosing(script=["", CALLS["function"], NARRATED, "It is 3."], made_to=[])
    agent = native("function", llm, initial_tool_choice="add")
    ran = run(with_hooks(agent, [NormalizationHook()]), llm)
    assert (ran.answer, len(ran.made)) == ("It is 3.", 1)
    assert llm.made_to == ["add", "add", None, None]
    assert agent.initial_tool_choice == "add"


@pytest.mark.parametrize("text", ["<execute>print(", "Here: <execute></execute>"])
def test_code_that_is_not_there(text: str) -> None:
    """Code that is cut off or empty natively is the answer; ours asks for the code."""
    llm = scripted(text)
    assert run(native("code", llm), llm).answer == text
    ran = ask("code", text, CALLS["code"], "It is 3.")
    assert (ran.issues, len(ran.made)) == ([("truncated", "retry")], 1)
    assert "between <execute> and </execute>" in ran.prompts[1][-1]
    assert "interface" not in ran.prompts[1][-1]


def test_a_code_agent_that_calls_a_tool() -> None:
    """Natively a call of a tool outside of the code ends the run; ours asks for the code."""
    llm = scripted(CALLS["function"])
    assert isinstance(run(native("code", llm), llm).error, ValueError)
    ran = ask("code", CALLS["function"], CALLS["code"], "It is 3.")
    assert (ran.answer, ran.issues) == ("It is 3.", [("malformed", "retry")])
    assert len(ran.prompts[1]) == 2


def test_a_call_in_the_words_of_a_code_agent_is_fine() -> None:
    """It writes code all the time, so that what looks like a call is part of its answer."""
    text = "I got it with `add(1, 2)`:\n```python\nadd(1, 2)\n```"
    assert ask("code", text).answer == text


class Shouting(ReActOutputParser):
    """A parser that refuses what does not shout, and reads nothing else."""

    @override
    def parse(self, output: str, is_streaming: bool = False) -> Any:
        if not output.isupper():
            raise ValueError("Shout!")
        return super().parse(output.replace("ANSWER", "Answer").replace("THOUGHT", "Thought"))


def test_a_parser_of_your_own_has_the_say() -> None:
    """What it refuses is refused in its own words, and what it takes is taken."""
    llm = scripted(FINISH, "THOUGHT: I WILL USE THE ADD TOOL\nANSWER: 3")
    ran = run(planned("react", llm, output_parser=Shouting()), llm)
    assert (ran.answer, ran.issues) == ("3", [("malformed", "retry")])
    assert "Shout!" in ran.prompts[1][-1]
    assert ran.prompts[1][:-1] == [QUESTION]
    llm = scripted("i will use the add tool", "", NARRATED)
    ran = run(planned("react", llm, output_parser=Shouting()), llm)
    assert [pattern for pattern, _ in ran.issues] == ["narrated", "empty", "narrated"]


class Foreign(BaseWorkflowAgent):
    """An agent of somebody's own that keeps no scratchpad, and refuses what is not polite."""

    @override
    async def take_step(
        self, ctx: Any, llm_input: list[ChatMessage], tools: Sequence[Any], memory: Any
    ) -> AgentOutput:
        reply = await self.llm.achat_with_tools(tools, chat_history=llm_input)  # type: ignore[attr-defined]
        said = reply.message
        told = ChatMessage(role=MessageRole.USER, content="Say please.")
        calls = self.llm.get_tool_calls_from_response(reply, error_on_no_tool_call=False)  # type: ignore[attr-defined]
        return AgentOutput(
            response=said,
            tool_calls=calls,
            current_agent_name=self.name,
            retry_messages=[said, told] if said.content == "No." else [],
        )

    @override
    async def handle_tool_call_results(self, ctx: Any, results: Any, memory: Any) -> None:
        for result in results:
            await memory.aput(ChatMessage(content=f"Found: {result.tool_output.content}"))

    @override
    async def finalize(self, ctx: Any, output: AgentOutput, memory: Any) -> AgentOutput:
        return output


def foreign(*script: Any) -> Any:
    """Run a planned agent of somebody's own."""
    llm = scripted(*script)
    return run(with_hooks(Foreign(llm=llm, tools=[add])), llm)


def test_an_agent_without_a_scratchpad() -> None:
    """A correction is shown beside the question, and left out afterwards."""
    ran = foreign(NARRATED, call("sum_up"), CALLS["function"], "It is 3.")
    assert (ran.answer, ran.made) == ("It is 3.", [("add", {"a": 1, "b": 2}, "3")])
    assert [len(prompt) for prompt in ran.prompts] == [1, 2, 2, 2]
    assert ran.repeats() == [1, 1, 1, 1]
    ran = foreign("", "")
    assert ran.answer == "Gave up after 1 retry: The reply is empty."
    assert ran.remembered == [QUESTION, ran.answer]


def test_what_an_agent_of_your_own_refuses_is_refused() -> None:
    """Its own words are the correction, and no iteration is spent on it."""
    ran = foreign("No.", "3, please.")
    assert (ran.answer, ran.issues) == ("3, please.", [("malformed", "retry")])
    assert ran.prompts[1] == [QUESTION, "Say please."]
    assert ran.state["num_iterations"] == 1
    assert foreign("No.", "No.").answer == (
        "Gave up after 1 retry: The reply is not in the requested form."
    )


@pytest.mark.parametrize("kind", KINDS)
def test_provider_errors_are_raised_and_counted(kind: str) -> None:
    """What the provider raises reaches you, the breaker counts it, and nothing refused stays."""
    breaker = CircuitBreaker(threshold=1)
    llm = scripted(NARRATED, ConnectionError("down"), ANSWERS[kind])
    agent = planned(kind, llm, hook=hooks(breaker=breaker))
    ran = run(agent, llm)
    assert isinstance(ran.error, ConnectionError)
    assert breaker.state == "open"
    assert ran.state["current_reasoning" if kind == "react" else "scratchpad"] == []
    assert run(agent, llm).answer.startswith("Stopped: ")
    breaker = CircuitBreaker(threshold=2)
    breaker.record_failure(ConnectionError())
    ask(kind, ANSWERS[kind], breaker=breaker)
    breaker.record_failure(ConnectionError())
    assert breaker.state == "closed"


class Unexpected(ReActOutputParser):
    """A parser that refuses with LlamaIndex's own error."""

    @override
    def parse(self, output: str, is_streaming: bool = False) -> Any:
        raise OutputParserException("no")


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_a_parsers_error_is_no_failure_of_the_provider(mode: Any) -> None:
    """What was refused did arrive; where nothing is mended the error is raised as natively."""
    breaker = CircuitBreaker(threshold=1)
    llm = scripted(FINISH)
    hook = hooks(breaker=breaker, mode=mode)
    ran = run(planned("react", llm, hook=hook, output_parser=Unexpected()), llm)
    assert isinstance(ran.error, OutputParserException)
    assert breaker.state == "closed"
    llm = scripted(*[FINISH] * 3)
    ran = run(planned("react", llm, output_parser=Unexpected()), llm)
    assert ran.answer == "Gave up after 2 retries: The parser refused the reply: no"


def test_a_pause_is_no_failure_of_the_provider() -> None:
    """An agent that waits for a human in its step is asked again, and nothing is counted."""
    breaker = CircuitBreaker(threshold=1)

    class Waiting(Foreign):
        @override
        async def take_step(self, ctx: Any, *given: Any) -> AgentOutput:
            said = await ctx.wait_for_event(
                HumanResponseEvent, waiter_event=InputRequiredEvent(), waiter_id="w"
            )
            text = ChatMessage(role=MessageRole.ASSISTANT, content=said.response)
            return AgentOutput(response=text, current_agent_name=self.name)

    async def go() -> str:
        agent = with_hooks(Waiting(llm=scripted()), hooks(breaker=breaker))
        start: Any = agent.run
        handler = start(user_msg=QUESTION, ctx=Context(agent))
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="Three."))  # type: ignore[call-arg]
        return str(await handler)

    assert asyncio.run(go()) == "Three."
    assert breaker.state == "closed"


def test_an_answer_that_the_native_parser_refused() -> None:
    """It is read anew, so that nobody is asked again, and memory holds it in the native form."""
    llm = scripted("Answer: 3")
    ran = run(with_hooks(native("react", llm)), llm)
    assert (ran.answer, ran.issues) == ("3", [])
    assert ran.remembered[1].endswith("\nAnswer: 3")
    llm = scripted('{"type": "ask_user", "question": "Which Action: do you mean?"}')
    ran = run(with_hooks(native("react", llm)), llm)
    assert (ran.answer, ran.issues) == ("Which Action: do you mean?", [])


@pytest.mark.parametrize("kind", ["react", "function"])
def test_a_provider_that_could_not_decode_a_call(kind: str) -> None:
    """Some raise then, which is the model's mistake: it is asked again, and no failure counts."""
    breaker = CircuitBreaker(threshold=1)
    broken = ValueError("error parsing tool call: raw='{'")
    ran = ask(kind, broken, ANSWERS[kind], breaker=breaker)
    assert (ran.error, ran.issues) == (None, [("malformed", "retry")])
    ran = ask(kind, broken, broken, broken, breaker=breaker)
    assert ran.answer == "Gave up after 1 retry: The provider could not decode the call."
    assert breaker.state == "closed"
    own = ask(kind, broken, broken, on_failure=lambda _, output: output)
    assert own.answer.startswith("Gave up after 1 retry: ")
