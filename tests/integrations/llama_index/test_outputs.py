"""What agents cannot easily be brought to: outputs, scratchpads, caps and providers one by one."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from llama_index.core.agent.react.types import ObservationReasoningStep
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.tools import ToolSelection

from llama_index_loopmend.outputs import is_clean, kind_of, read_output, remade, text_of
from llama_index_loopmend.provider import finish_reason_of, tokens_of
from llama_index_loopmend.schemas import toolbox
from llama_index_loopmend.scratchpads import (
    CodePad,
    JsonActionStep,
    MessagePad,
    ReasoningPad,
    RefusedStep,
    scratchpad_of,
    selection,
)
from loopmend import Failure, FailurePattern
from loopmend.traces.trace import Tokens
from tests.core.strategies import emitted_text
from tests.integrations.llama_index.agents import ACT, FINISH, TOOLS, teed, watched
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
WRITTEN = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
FAILURE = Failure(FailurePattern.UNKNOWN_TOOL, "There is no such tool.", (0, 0), "sum_up")


@cache
def agent(kind: str) -> Any:
    """Return an agent that is never run."""
    return planned("react", scripted()) if kind == "tolerant" else native(kind, scripted())


def said(text: str, *calls: ToolSelection, raw: Any = None, blocks: Any = ()) -> AgentOutput:
    """Return what an agent's model said."""
    message = ChatMessage(role=MessageRole.ASSISTANT, content=text)
    message.blocks += list(blocks)
    return AgentOutput(
        response=message, tool_calls=list(calls), raw=raw, current_agent_name="Agent"
    )


def test_kinds_of_agents() -> None:
    """An agent's fields tell how it asks for calls, whatever its class is called."""
    assert [kind_of(agent(kind)) for kind in CALLS] == ["react", "native", "code"]
    pads = [scratchpad_of(agent(kind)) for kind in CALLS]
    assert [type(pad) for pad in pads] == [ReasoningPad, MessagePad, CodePad]
    assert [pad.key for pad in pads] == ["current_reasoning", "scratchpad", "scratchpad"]
    assert (kind_of("agent"), scratchpad_of("agent").key) == ("native", None)


def is_used_as_it_is(output: AgentOutput, kind: str) -> bool:
    """Tell whether reading an output at length leaves it as it is."""
    turn = read_output(output, agent(kind), BOX)
    return turn.failure is None and remade(output, turn, kind_of(agent(kind))) is None


def test_the_quick_look_agrees_with_the_long_one() -> None:
    """What is clean is read without a failure and used as it is."""
    fine = selection("add", {"a": 1, "b": 2}, "call_1")
    clean = [
        ("function", said("It is 3.")),
        ("function", said("", fine)),
        ("tolerant", said(FINISH)),
        ("tolerant", said(ACT, fine)),
    ]
    for kind, output in clean:
        assert is_clean(output, agent(kind), BOX)
        assert is_used_as_it_is(output, kind)
    cut = ToolCallBlock(tool_call_id="call_1", tool_name="add", tool_kwargs='{"a": 1, "b"')
    doubtful = [
        ("function", said("")),
        ("function", said("Now.", fine)),
        ("function", said("", selection("add", {"a": "1", "b": 2}))),
        ("function", said("", fine, blocks=[cut])),
        ("function", said("It is 3.", raw={"stop_reason": "max_tokens"})),
        ("react", said(FINISH)),
        ("tolerant", said(WRITTEN, fine)),
        ("tolerant", said(ACT.replace("2", '"2"'), selection("add", {"a": 1, "b": "2"}))),
        ("code", said("", selection("execute", {"code": "1"}))),
    ]
    assert not any(is_clean(output, agent(kind), BOX) for kind, output in doubtful)


@given(emitted_text)
def test_clean_is_never_wrong(text: str) -> None:
    """Whatever the text is, the quick look never lets pass what reading would change."""
    output = said(text)
    assert not is_clean(output, agent("function"), BOX) or is_used_as_it_is(output, "function")
    try:
        step = agent("tolerant").output_parser.parse(text)
    except ValueError:
        return
    made = [selection(step.action, step.action_input)] if hasattr(step, "action") else []
    output = said(text, *made)
    assert not is_clean(output, agent("tolerant"), BOX) or is_used_as_it_is(output, "tolerant")


@given(emitted_text)
def test_refused_replies_that_can_be_read(text: str) -> None:
    """Whatever the native parser refused is a failure, calls, or an answer with words in it."""
    output = said(text)
    output.retry_messages = [output.response, output.response]
    turn = read_output(output, agent("react"), BOX)
    if turn.failure is None:
        made = remade(output, turn, "react")
        assert made is not None
        assert made.tool_calls or isinstance(text_of(made), str)
        assert not made.retry_messages


@pytest.mark.parametrize("arguments", ["[1]", "{", "[" * 100_000], ids=["list", "cut", "deep"])
def test_arguments_that_are_no_object(arguments: str) -> None:
    """Arguments that arrived as text count only if they are a whole object."""
    arrived = ToolCallBlock(tool_call_id="call_1", tool_name="add", tool_kwargs=arguments)
    output = said("", selection("add", {}, "call_1"), blocks=[arrived])
    assert read_output(output, agent("function"), BOX).failure is not None


def test_calls_without_an_id_get_one() -> None:
    """Results are told apart by the ids of their calls, so that each call has one."""
    output = said("", ToolSelection(tool_id="", tool_name="add", tool_kwargs={"a": 1, "b": 2}))
    made = remade(output, read_output(output, agent("function"), BOX), "native")
    assert made is not None
    assert made.tool_calls[0].tool_id.startswith("call_")
    refused = MessagePad("scratchpad").refused(output, FAILURE, "Do it again.")
    assert [message.content for message in refused] == ["Do it again."]


def test_a_value_that_is_no_object_is_named() -> None:
    """LlamaIndex takes only objects, and names a lone value `input` itself."""
    assert selection("f", 5).tool_kwargs == {"input": 5}


def test_reasoning_steps() -> None:
    """Refused replies show as they were, do not end a run, and are not told of."""
    pad = ReasoningPad("current_reasoning")
    text, correction = pad.refused(said("Hm."), FAILURE, "Do it again.")
    assert (text.get_content(), correction.get_content()) == ("Hm.", "Do it again.")
    assert (RefusedStep(text="Hm.").is_done, correction.is_done) == (False, False)
    assert pad.after_result([ObservationReasoningStep(observation="3")]) is False
    pending = JsonActionStep(thought="t", action="add", action_input={})
    assert pad.messages([pending]) == []
    (told,) = pad.messages([pending, ObservationReasoningStep(observation="3"), pending])
    assert told.content == "Thought: t\nAction: add\nAction Input: {}\nObservation: 3"


def test_messages_without_pending_calls() -> None:
    """Calls that nobody answered are left out, wherever the client keeps them."""
    pad = MessagePad("scratchpad")
    native_call = pad.calls("Adding.", [selection("add", {"a": 1}, "call_1")])[0]
    kept = ChatMessage(role=MessageRole.ASSISTANT, additional_kwargs={"tool_calls": [{}]})
    result = ChatMessage(role=MessageRole.TOOL, content="3")
    assert pad.messages([native_call, result, kept, native_call]) == [native_call, result]
    assert pad.messages([kept]) == []
    assert [pad.after_result(e) for e in ([], [result], [kept])] == [False, True, False]


@pytest.mark.parametrize("kind", ["react", "function"])
def test_nothing_was_found_at_the_cap(kind: str) -> None:
    """Where no call was answered there is nothing to remember, and no orphan of a call."""
    llm = scripted(CALLS[kind], "I do not know.")
    options: dict[str, Any] = {"max_iterations": 1, "early_stopping_method": "generate"}
    ran = run(planned(kind, llm), llm, **options)
    assert ran.answer == "I do not know."
    assert ran.prompts[1][0] == QUESTION
    assert len(ran.prompts[1]) == 2


@pytest.mark.parametrize("record", [teed, watched])
def test_refused_replies_are_part_of_a_trace(record: Any) -> None:
    """Who records a planned agent sees what it refused, as steps that failed."""
    trace = record(planned("react", scripted(NARRATED, ACT, FINISH)))
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
    assert finish_reason_of(raw) == reason


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
