"""What is left when a model does not take its corrections."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ImageBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context

from llama_index_loopmend import ProtocolIssueEvent, with_hooks
from llama_index_loopmend.messages import selection
from llama_index_loopmend.steps import ENDED
from llama_index_loopmend.testing import call
from loopmend import GaveUp
from tests.integrations.llama_index.agents import BAD, add
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.mended import (
    ANSWERS,
    CALLS,
    KINDS,
    NARRATED,
    QUESTION,
    ask,
    message,
    planned,
    run,
    scripted,
)
from tests.integrations.llama_index.test_mended_agents import Foreign

GAVE_UP = "Gave up after 1 retry: "


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("said", [NARRATED, "", " "])
def test_who_repeats_a_reply_is_not_asked_a_third_time(kind: str, said: str) -> None:
    """The first correction did not help at all, so that a second one only costs."""
    ran = ask(kind, said, said, max_retries=5)
    assert [outcome for _, outcome in ran.issues] == ["retry", "gave_up"]
    assert len(ran.llm.asked) == 2
    assert len(ran.remembered) == 2


def test_the_same_call_again_is_a_repetition_too() -> None:
    """What counts is what is called with what, and not the id that the call has."""
    ran = ask("function", call("sum_up", a=1), call("sum_up", a=1), "It is 3.")
    assert [outcome for _, outcome in ran.issues] == ["retry", "gave_up"]
    ran = ask("function", call("sum_up", a=1), call("sum_up", a=2), "It is 3.")
    assert [outcome for _, outcome in ran.issues] == ["retry", "retry"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (NARRATED, NARRATED),
        (f"Thought: {NARRATED}", NARRATED),
        ("Thought: It must be 3.", "It must be 3."),
    ],
)
def test_a_react_answer_that_the_model_stands_by(text: str, answer: str) -> None:
    """Plain words in no form are natively an answer, and ours if the model does not change them."""
    ran = ask("react", text, text)
    assert ran.answer == answer
    assert ran.remembered == [QUESTION, f"Thought: \nAnswer: {answer}"]


def test_bare_code_is_an_answer_at_once() -> None:
    """Code in no form is what was asked for, as natively; nobody is asked again."""
    code = "import os\nprint(os.getcwd())"
    ran = ask("react", code)
    assert (ran.answer, ran.issues) == (code, [])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("react", BAD),
        ("react", "Thought: add\nAction: add"),
        ("react", 'Action: add\nAction Input: {"a": '),
        ("react", "<tool_call>{name: add, arguments}</tool_call>"),
        ("function", '<tool_call>{"name": "add", "argu'),
        ("code", "<execute>\nadd(1"),
        ("code", "Here: <execute></execute>"),
    ],
)
def test_a_broken_call_is_no_answer(kind: str, text: str) -> None:
    """Nobody wants to read half a call; there are words that say what is wrong."""
    ran = ask(kind, text, text)
    assert ran.answer.startswith(GAVE_UP)
    assert ran.answer == ran.remembered[-1].removeprefix("Thought: \nAnswer: ")
    assert not any(text in said for said in ran.remembered)


def test_a_written_call_that_nobody_vouches_for_is_an_answer() -> None:
    """It may explain what a call looks like, and it is whole."""
    text = 'A call looks like this: {"name": "add", "arguments": {"a": 1, "b": 2}}'
    assert ask("function", text, text, salvage=False).answer == text
    odd = 'Let me see. <tool_call>{"name": "sum_up", "arguments": {"a": 1}}</tool_call>'
    ran = ask("function", odd, odd)
    assert (ran.answer, ran.issues[0]) == (odd, ("unknown_tool", "retry"))


def test_the_label_of_an_answer_is_no_part_of_it() -> None:
    """Where LlamaIndex's own parser wants more than that, the answer is still the answer."""
    llm = scripted("Answer: 3")
    agent = planned("react", llm, output_parser=ReActOutputParser())
    assert run(agent, llm).answer == "3"


def test_a_call_that_the_framework_answers() -> None:
    """A ReAct agent that insists on a tool that does not exist is told so by LlamaIndex."""
    wrong = "Thought: sum\nAction: sum_up\nAction Input: {}"
    ran = ask("react", wrong, wrong, "Thought: done\nAnswer: 3")
    assert (ran.answer, [name for name, _, _ in ran.made]) == ("3", ["sum_up"])


@pytest.mark.parametrize("last", ["", " \n"])
def test_nothing_is_remembered_of_saying_nothing(last: str) -> None:
    """Who keeps silent finishes the run, and leaves no message that says nothing."""
    ran = ask("function", CALLS["function"], "", last)
    assert ran.answer.strip() == ""
    assert [said.role.value for said in ran.memory.get_all()] == ["user", "assistant", "tool"]


def test_an_image_is_remembered() -> None:
    """A reply that shows something says something."""
    shown: Any = message(ImageBlock(url="http://example.org/3.png"))
    ran = ask("function", CALLS["function"], shown)
    assert ran.memory.get_all()[-1].blocks == shown.blocks


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_cancelled_while_it_is_corrected(kind: str) -> None:
    """Nothing of what was refused stays in the scratchpad, also where nobody clears it."""
    llm = scripted(NARRATED, ANSWERS[kind])
    llm.pause = 0.1
    agent = planned(kind, llm, streaming=False)
    ctx: Context[Any] = Context(agent)

    async def cancelled() -> Any:
        start: Any = agent.run
        memory = ChatMemoryBuffer.from_defaults(token_limit=1_000)
        handler = start(user_msg=QUESTION, memory=memory, ctx=ctx)
        async for event in handler.stream_events():
            if isinstance(event, ProtocolIssueEvent):
                await handler.cancel_run()
        await asyncio.gather(handler, return_exceptions=True)
        return await ctx.store.get("current_reasoning" if kind == "react" else "scratchpad")

    assert asyncio.run(cancelled()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_output_says_that_we_ended_the_run(kind: str) -> None:
    """No words tell what is an answer, but a mark on the output; a model that answers has none."""
    for script, ended in (
        (["", ""], "parse_fail"),
        ([NARRATED, NARRATED], "parse_fail"),
        ([NARRATED, ANSWERS[kind]], None),
        ([f"{GAVE_UP}so I say." if kind != "react" else f"Answer: {GAVE_UP}so I say."], None),
    ):
        ran = ask(kind, *script)
        assert ran.output is not None
        assert ran.output.get(ENDED) == ended


def test_a_call_that_the_framework_answers_ends_nothing() -> None:
    """The run goes on after it, and the model may still answer."""
    ran = ask("function", call("sum_up", a=1), call("sum_up", a=1), "It is 3.")
    outputs = [event for event in ran.events if isinstance(event, AgentOutput)]
    assert [output.get(ENDED) for output in outputs] == [None, None]


def other(verdict: GaveUp, output: AgentOutput) -> AgentOutput:
    """Answer in words of one's own."""
    text = f"Ask me later ({verdict.failure.pattern.value}, {verdict.retries})."
    return AgentOutput(response=message(text=text), current_agent_name=output.current_agent_name)


def changed(verdict: GaveUp, output: AgentOutput) -> AgentOutput:
    """Say the same in the output that there is."""
    output.response = other(verdict, output).response
    return output


@pytest.mark.parametrize("on_failure", [other, changed])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", NARRATED])
def test_what_you_answer_instead(kind: str, text: str, on_failure: Any) -> None:
    """A function has the last word, which is what the run answers and memory keeps."""
    ran = ask(kind, text, text, on_failure=on_failure)
    pattern = "narrated" if text else "empty"
    assert ran.answer == f"Ask me later ({pattern}, 1)."
    assert [said.removeprefix("Thought: \nAnswer: ") for said in ran.remembered] == [
        *(QUESTION, ran.answer)
    ]
    assert ran.output is not None
    assert ran.output.get(ENDED) == (None if on_failure is other else "parse_fail")


@pytest.mark.parametrize("kind", KINDS)
def test_you_may_leave_it_at_that(kind: str) -> None:
    """A function that only looks leaves what there is, with its mark."""
    seen: list[GaveUp] = []

    def look(verdict: GaveUp, output: AgentOutput) -> AgentOutput:
        seen.append(verdict)
        return output

    ran = ask(kind, "", "", on_failure=look)
    assert ran.answer == f"{GAVE_UP}The reply is empty." == str(seen[0].error())
    assert ran.output is not None
    assert ran.output[ENDED] == "parse_fail"
    assert len(seen) == 1


@pytest.mark.parametrize("kind", ["react", "function"])
def test_you_may_make_the_call_yourself(kind: str) -> None:
    """A function may return a call, which is made and shown as the model's own."""

    def calling(verdict: GaveUp, output: AgentOutput) -> AgentOutput:
        return AgentOutput(
            response=message(*CALLS["function"].blocks),
            tool_calls=[selection("add", {"a": 1, "b": 2}, "call_1")],
            current_agent_name=output.current_agent_name,
        )

    ran = ask(kind, NARRATED, NARRATED, ANSWERS[kind], on_failure=calling)
    assert ran.made == [("add", {"a": 1, "b": 2}, "3")]
    assert [said.role.value for said in ran.asked[2]][-2] == "assistant"
    assert ran.prompts[2][-1].endswith("3")


def test_what_you_answer_for_another_kind_of_agent() -> None:
    """Where no scratchpad is known your answer is in memory once, too."""
    llm = scripted(NARRATED, NARRATED)
    agent = with_hooks(Foreign(llm=llm, tools=[add]), hooks(on_failure=other))
    ran = run(agent, llm)
    assert ran.remembered == [QUESTION, "Ask me later (narrated, 1)."] == [QUESTION, ran.answer]


@pytest.mark.parametrize("answer", ["Ask me later.", None])
def test_what_is_no_output_is_told_so(answer: Any) -> None:
    """A function that returns words, or forgets to return, is named in the error."""
    ran = ask("function", NARRATED, NARRATED, on_failure=lambda *_: answer)
    assert isinstance(ran.error, TypeError)
    assert str(ran.error).startswith("`on_failure` must return an AgentOutput, not ")
