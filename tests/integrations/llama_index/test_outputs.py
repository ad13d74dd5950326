"""What agents cannot easily be brought to: outputs, scratchpads, caps and providers one by one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from llama_index.core.agent.react.types import ObservationReasoningStep, ResponseReasoningStep
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.tools import ToolSelection

from llama_index_loopmend.hooks.step_mending import StepMending
from llama_index_loopmend.messages import (
    ReasoningPad,
    Scratchpad,
    calling,
    chat_messages,
    core_messages,
    reply_of,
    scratchpad_of,
    selection,
    text_of,
)
from llama_index_loopmend.parsers import JsonActionStep
from llama_index_loopmend.schemas import toolbox
from loopmend import Done, RetryPolicy
from loopmend.mending import Message, NativeCall
from loopmend.traces.readers.values import finish_of, tokens_of
from loopmend.traces.trace import Tokens
from tests.core.strategies import emitted_text
from tests.integrations.llama_index.agents import ACT, FINISH, TOOLS, recorded
from tests.integrations.llama_index.mended import (
    CALLS,
    NARRATED,
    QUESTION,
    native,
    planned,
    run,
    scripted,
)

BOX = toolbox(TOOLS)


@cache
def agent(kind: str) -> Any:
    """Return an agent that is never run."""
    return planned("react", scripted()) if kind == "tolerant" else native(kind, scripted())


def taken(kind: str) -> Any:
    """Return a step of an agent that is never run."""
    made = agent(kind)
    pad = scratchpad_of(made)
    given: dict[str, Any] = {"messages": [], "held": [], "user_text": "", "reading": None}
    return SimpleNamespace(agent=made, pad=pad, form=pad.form, toolbox=BOX, decoded=False, **given)


def mends(kind: str) -> StepMending:
    """Return what decides about the replies of such a step."""
    return StepMending(taken(kind), RetryPolicy())


def said(text: str, *calls: ToolSelection, raw: Any = None, blocks: Any = ()) -> AgentOutput:
    """Return what an agent's model said."""
    message = ChatMessage(role=MessageRole.ASSISTANT, content=text)
    message.blocks += list(blocks)
    return AgentOutput(
        response=message, tool_calls=list(calls), raw=raw, current_agent_name="Agent"
    )


def test_kinds_of_agents() -> None:
    """An agent's fields tell how it asks for calls, whatever its class is called."""
    pads = [scratchpad_of(agent(kind)) for kind in CALLS]
    assert [pad.form for pad in pads] == ["react", "native", "code"]
    assert [type(pad) for pad in pads] == [ReasoningPad, Scratchpad, Scratchpad]
    assert [pad.key for pad in pads] == ["current_reasoning", "scratchpad", "scratchpad"]
    assert (scratchpad_of("agent").form, scratchpad_of("agent").key) == ("native", None)


@given(emitted_text)
def test_a_reply_that_is_let_through_is_used_as_it_is(text: str) -> None:
    """Whatever the text is, the quick look never lets pass what reading would change."""
    for kind in ("function", "tolerant"):
        decides, output = mends(kind), said(text)
        reply = reply_of(output)
        read = None if kind == "function" else agent(kind).output_parser.read(text)
        if decides.is_fine(output, reply, read):
            verdict = decides.mending.reply(reply, read)
            assert isinstance(verdict, Done)
            assert decides.made_of(verdict, output) is None


@given(emitted_text)
def test_refused_replies_that_can_be_read(text: str) -> None:
    """Whatever the native parser refused is refused, calls, or an answer with words in it."""
    output = said(text)
    output.retry_messages = [output.response, output.response]
    decides = mends("react")
    verdict = decides.verdict(output)
    if isinstance(verdict, Done):
        made = decides.made_of(verdict, output)
        assert made is not None
        assert made.tool_calls or isinstance(text_of(made), str)
        assert not made.retry_messages


@pytest.mark.parametrize("arguments", ["[1]", "{", "[" * 100_000], ids=["list", "cut", "deep"])
def test_arguments_that_are_no_object(arguments: str) -> None:
    """Arguments that arrived as text count only if they are a whole object."""
    arrived = ToolCallBlock(tool_call_id="call_1", tool_name="add", tool_kwargs=arguments)
    reply = reply_of(said("", selection("add", {}, "call_1"), blocks=[arrived]))
    assert (reply.calls, [call.name for call in reply.broken_calls]) == ((), ["add"])


def test_calls_without_an_id_get_one() -> None:
    """Results are told apart by the ids of their calls, so that each call has one."""
    output = said("", ToolSelection(tool_id="", tool_name="add", tool_kwargs={"a": 1, "b": 2}))
    decides = mends("function")
    verdict = decides.verdict(output)
    assert isinstance(verdict, Done)
    made = decides.made_of(verdict, output)
    assert made is not None
    assert made.tool_calls[0].tool_id.startswith("call_")


def test_a_value_that_is_no_object_is_named() -> None:
    """LlamaIndex takes only objects, and names a lone value `input` itself."""
    assert selection("f", 5).tool_kwargs == {"input": 5}


def test_reasoning_steps() -> None:
    """A correction is shown as the user's words and does not end a run."""
    pad = ReasoningPad("current_reasoning")
    refused, words = Message("assistant", "Hm."), Message("user", "Do it again.")
    (correction,) = pad.again([refused, words])
    assert (correction.get_content(), correction.is_done) == ("Do it again.", False)
    assert pad.after_result([ObservationReasoningStep(observation="3")]) is False
    pending = JsonActionStep(thought="t", action="add", action_input={})
    assert pad.messages([pending]) == []
    (told,) = pad.messages([pending, ObservationReasoningStep(observation="3"), pending])
    assert told.content == "Thought: t\nAction: add\nAction Input: {}\nObservation: 3"


def test_messages_without_pending_calls() -> None:
    """Calls that nobody answered are left out, wherever the client keeps them."""
    pad = Scratchpad("scratchpad")
    native_call = calling("Adding.", [selection("add", {"a": 1}, "call_1")])
    kept = ChatMessage(role=MessageRole.ASSISTANT, additional_kwargs={"tool_calls": [{}]})
    result = ChatMessage(role=MessageRole.TOOL, content="3")
    assert pad.messages([native_call, result, kept, native_call]) == [native_call, result]
    assert pad.messages([kept]) == []
    assert [pad.after_result(e) for e in ([], [result], [kept])] == [False, True, False]


REFUSED = [
    Message("assistant", "Adding.", (NativeCall("add", {"a": 1}, "call_1"),)),
    Message("tool", "Not run.", call_id="call_1"),
    Message("user", "Do it again."),
]


def test_calls_and_their_answers_come_back_as_they_were() -> None:
    """The core's messages and LlamaIndex's stand for each other, calls and answers included."""
    messages: list[Any] = chat_messages(REFUSED)
    assert [message.role.value for message in messages] == ["assistant", "tool", "user"]
    assert messages[0].blocks[1].tool_kwargs == {"a": 1}
    assert messages[1].additional_kwargs == {"tool_call_id": "call_1"}
    assert core_messages(messages) == REFUSED
    (silent,) = chat_messages([replace(REFUSED[0], content="")])
    assert [type(block) for block in silent.blocks] == [ToolCallBlock]


def test_a_scratchpad_in_the_cores_terms() -> None:
    """Each observation is the result of the first action that has none, and others are said."""
    first, second = (JsonActionStep(thought="", action="add", action_input={"a": n}) for n in "12")
    seen = [ObservationReasoningStep(observation=text) for text in ("one", "two", "more")]
    steps = [first, second, *seen, ResponseReasoningStep(thought="", response="Hm.")]
    assert ReasoningPad("current_reasoning").core(steps) == [
        Message("assistant", calls=(NativeCall("add", {"a": "1"}, "0"),)),
        Message("assistant", calls=(NativeCall("add", {"a": "2"}, "1"),)),
        Message("tool", "one", call_id="0"),
        Message("tool", "two", call_id="1"),
        Message("tool", "more"),
        Message("assistant", "Thought: \nAnswer: Hm."),
    ]


def test_messages_in_the_cores_terms() -> None:
    """Whoever is neither the system, the assistant nor a tool is the user."""
    roles = [MessageRole.SYSTEM, MessageRole.DEVELOPER, MessageRole.USER, MessageRole.FUNCTION]
    found = core_messages([ChatMessage(role=role, content=None) for role in roles])
    assert [message.role for message in found] == ["system", "user", "user", "tool"]
    assert [message.content for message in found] == [""] * 4


@pytest.mark.parametrize("kind", ["react", "function"])
def test_nothing_was_found_at_the_cap(kind: str) -> None:
    """Where no call was answered there is nothing to remember, and no orphan of a call."""
    llm = scripted(CALLS[kind], "I do not know.")
    options: dict[str, Any] = {"max_iterations": 1, "early_stopping_method": "generate"}
    ran = run(planned(kind, llm), llm, **options)
    assert ran.answer == "I do not know."
    assert ran.prompts[1][0] == QUESTION
    assert len(ran.prompts[1]) == 2


def test_refused_replies_are_part_of_a_trace() -> None:
    """Who records a planned agent sees what it refused, as steps that failed."""
    trace: Any = recorded(planned("react", scripted(NARRATED, ACT, FINISH)))
    assert [step.text for step in trace.steps] == [NARRATED, ACT, FINISH]
    assert [step.error is None for step in trace.steps] == [False, True, True]
    assert (trace.answer, trace.steps[0].error.origin) == ("3", "parser")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, None),
        ({}, None),
        ({"choices": []}, None),
        ({"choices": [{"finish_reason": "stop"}]}, "stop"),
        ({"choices": [{"finish_reason": 1}], "stop_reason": "end_turn"}, None),
        (SimpleNamespace(candidates=[SimpleNamespace(finish_reason="STOP")]), "STOP"),
        ({"done_reason": "length"}, "length"),
        (SimpleNamespace(stop_reason="tool_use"), "tool_use"),
    ],
)
def test_why_a_provider_stopped(raw: Any, reason: str | None) -> None:
    """The reason is found wherever providers put it, and only a text is one."""
    assert finish_of(raw) == reason


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        (None, None),
        ("text", None),
        ({"usage": {"prompt_tokens": 2, "completion_tokens": 1}}, Tokens(2, 1)),
        (SimpleNamespace(usage=SimpleNamespace(input_tokens=2, output_tokens=None)), Tokens(2, 0)),
        ({"prompt_eval_count": 2, "eval_count": 1}, Tokens(2, 1)),
        (
            {"usage_metadata": {"prompt_token_count": 2, "candidates_token_count": 1}},
            Tokens(2, 1),
        ),
    ],
)
def test_what_a_provider_counted(raw: Any, tokens: Tokens | None) -> None:
    """Tokens are found wherever providers put them."""
    assert tokens_of(raw) == tokens
