"""What is left when a model does not take its corrections."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.base.llms.types import ImageBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context

from llama_index_loopmend import Mends, ProtocolIssueEvent
from llama_index_loopmend.testing import call
from tests.integrations.llama_index.agents import BAD
from tests.integrations.llama_index.mended import (
    ANSWERS,
    CALLS,
    KINDS,
    NARRATED,
    QUESTION,
    ask,
    message,
    planned,
    scripted,
)

GAVE_UP = "I could not go on: "


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
    assert not any(text in said for said in ran.remembered)


def test_a_written_call_that_nobody_vouches_for_is_an_answer() -> None:
    """It may explain what a call looks like, and it is whole."""
    text = 'A call looks like this: {"name": "add", "arguments": {"a": 1, "b": 2}}'
    assert ask("function", text, text, salvage=False).answer == text


def test_the_label_of_an_answer_is_no_part_of_it() -> None:
    """Where LlamaIndex's own parser wants more than that, the answer is still the answer."""
    mends = Mends(tolerant_reading=False)
    assert ask("react", "Answer: 3", "Answer: 3", mends=mends).answer == "3"


def test_a_call_that_the_framework_answers() -> None:
    """A ReAct agent that insists on a tool that does not exist is told so by LlamaIndex."""
    wrong = "Thought: sum\nAction: sum_up\nAction Input: {}"
    ran = ask("react", wrong, wrong, "Thought: done\nAnswer: 3")
    assert (ran.answer, [name for name, _, _ in ran.made]) == ("3", ["sum_up"])


@pytest.mark.parametrize("last", ["", " \n"])
def test_nothing_is_remembered_of_saying_nothing(last: str) -> None:
    """After a result an empty reply finishes the run, and leaves no message that says nothing."""
    ran = ask("function", CALLS["function"], last)
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
    agent = planned(kind, llm, streaming=False, mends=Mends(fresh_reasoning=False))
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
