"""Replies where only certain calls will do: tools that give the answer, and calls that are due."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from loopmend import (
    Ask,
    Done,
    FailurePattern,
    GaveUp,
    Mending,
    NormalizationError,
    Reply,
    RetryPolicy,
    ToolCall,
)
from loopmend.mending import NativeCall


class City(BaseModel):
    """A city."""

    name: str
    people: int


class Town(BaseModel):
    """A town."""

    name: str


OSLO: dict[str, Any] = {"name": "Oslo", "people": 717710}
TOOLS = ["search", "City", "Town"]


def answering(**options: Any) -> Mending:
    """Return a mending for an agent that searches and answers with a city or a town."""
    mending = Mending(TOOLS, answers={"City": City, "Town": Town}, **options)
    mending.start("How big is Oslo?")
    return mending


def calling(*made: tuple[str, Any]) -> Reply:
    """Return a reply that makes calls."""
    return Reply(calls=tuple(NativeCall(name, args, str(n)) for n, (name, args) in enumerate(made)))


def test_other_calls_are_no_answers() -> None:
    """A model may call the other tools first."""
    step = answering().reply(calling(("search", {"query": "Oslo"})))
    assert isinstance(step, Done)
    assert step.reading is None


def test_an_answer_that_fits() -> None:
    """The arguments are the value, and the call stays as it is."""
    step = answering().reply(calling(("City", OSLO)))
    assert isinstance(step, Done)
    assert (step.value, step.calls, step.outcome) == (City(**OSLO), None, "clean")


def test_an_answer_that_is_made_to_fit_leaves_the_other_calls() -> None:
    """What is coerced without loss is coerced in the call, too."""
    given = {"name": "Oslo", "people": "717710"}
    step = answering().reply(calling(("search", {"query": "x"}), ("City", given)))
    assert isinstance(step, Done)
    assert step.value == City(**OSLO)
    assert step.calls is not None
    assert [call.arguments for call in step.calls] == [{"query": "x"}, OSLO]


@pytest.mark.parametrize(
    ("reply", "words", "pattern"),
    [
        (calling(("City", {"name": "Oslo"})), "Fix only this: `people` is missing", "bad_value"),
        (
            calling(("City", OSLO), ("Town", {"name": "x"})),
            "You gave several answers.",
            "malformed",
        ),
        (Reply("It is big."), "Give your answer by calling `City`, `Town`.", "no_action"),
    ],
)
def test_an_answer_that_does_not_fit(reply: Reply, words: str, pattern: str) -> None:
    """The model is told what is wrong, in the user's words if there are some."""
    step = answering().reply(reply)
    assert isinstance(step, Ask)
    assert step.messages[-1].content.startswith(words)
    assert step.messages[-1].content.endswith("not in the text.")
    step = answering().reply(reply, words="Try again.")
    assert isinstance(step, Ask)
    assert step.messages[-1].content == "Try again."
    left = answering(policy=RetryPolicy(patterns=[FailurePattern.EMPTY])).reply(reply)
    assert isinstance(left, Done)
    assert left.reading is None
    last = answering(policy=RetryPolicy(max_retries=0)).reply(reply)
    assert isinstance(last, GaveUp)
    assert last.failure.pattern.value == pattern


def test_a_written_answer() -> None:
    """The call is made for the model if that is allowed; else the model is asked to make it."""
    reply = Reply("Sure! {'name': 'Oslo', 'people': 717710}")
    step = answering().reply(reply)
    assert isinstance(step, Done)
    assert (step.value, step.outcome, step.content) == (City(**OSLO), "made", "")
    assert step.calls is not None
    assert (step.calls[0].name, step.calls[0].arguments) == ("City", OSLO)
    step = answering(policy=RetryPolicy(salvage=["Town"])).reply(reply)
    assert isinstance(step, Ask)
    assert step.messages[-1].content.startswith("You wrote the tool call as text")


def test_an_answer_without_a_schema_may_be_any() -> None:
    """Where nothing is known of the arguments, each object is one."""
    mending = Mending(["done"], answers={"done": None})
    mending.start()
    step = mending.reply(calling(("done", {"x": 1})))
    assert isinstance(step, Done)
    assert step.value == {"x": 1}


def test_a_call_that_is_due() -> None:
    """A reply without a call is refused, unless a call is written in it."""
    mending = Mending(["search"], needs_call=True)
    mending.start()
    step = mending.reply(Reply("It is in Norway."))
    assert isinstance(step, Ask)
    assert step.messages[-1].content.startswith("Your reply calls no tool.")
    step = mending.reply(Reply('{"name": "search", "arguments": {"query": "Oslo"}}'))
    assert isinstance(step, Done)


@pytest.mark.parametrize(
    ("form", "written", "answer"),
    [
        ("react", "Action: search\nAction Input: Oslo", "Final Answer: in Norway"),
        (
            "json",
            '{"type": "tool_call", "name": "search", "arguments": {"input": "Oslo"}}',
            '{"type": "final", "content": "in Norway"}',
        ),
    ],
)
def test_a_call_that_is_due_in_text(form: Any, written: str, answer: str) -> None:
    """In a text protocol the call in the text is the call, and an answer is refused."""
    mending = Mending(["search", "fetch"], form, needs_call=True)
    mending.start()
    assert isinstance(mending.reply(Reply(answer)), Ask)
    step = mending.reply(Reply(written))
    assert isinstance(step, Done)
    assert isinstance(step.turn.actions[0], ToolCall)


@pytest.mark.parametrize("how", [{"answers": {"City": City}}, {"needs_call": True}])
@pytest.mark.parametrize("said", ["", "It is in Norway."])
def test_where_only_a_call_will_do_nobody_offers_an_answer(how: Any, said: str) -> None:
    """Neither in words nor by the schema: a model that may answer makes an answer up."""
    mending = Mending(TOOLS, **how, policy=RetryPolicy(constrain=False))
    mending.start()
    step = mending.reply(Reply(said))
    assert isinstance(step, Ask)
    assert "or give the answer" not in step.messages[-1].content
    assert "City" in step.messages[-1].content
    mending = Mending(TOOLS, **how, can_constrain=True, policy=RetryPolicy(constrain="always"))
    schema: Any = mending.start().schema
    assert {kind["properties"]["type"]["const"] for kind in schema["anyOf"]} == {"tool_call"}


@pytest.mark.parametrize("key", ["arguments", "parameters", "args"])
def test_a_written_call_of_an_unknown_tool(key: str) -> None:
    """It is refused, not the answer, if it is all of the reply and holds nothing else."""
    for written in (
        f'{{"name": "find", "{key}": {{}}}}',
        f'```\n{{"name": "find", "{key}": {{}}}}\n```',
    ):
        mending = Mending(["search"])
        mending.start()
        step = mending.reply(Reply(written))
        assert isinstance(step, Ask)
        assert step.messages[-1].content.startswith("Unknown tool.")


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Oslo", "arguments": "many"}',
        '{"name": "Oslo", "people": 717710}',
        '{"name": "Oslo", "arguments": {}, "people": 717710}',
        '{"name": 1, "arguments": {}}',
        'It is {"name": "Oslo", "arguments": {}}, as you know.',
    ],
)
def test_an_object_that_is_no_call(text: str) -> None:
    """What only looks a little like a call is an answer."""
    mending = Mending(["search"])
    mending.start()
    assert isinstance(mending.reply(Reply(text)), Done)


@pytest.mark.parametrize("text", ["{}", "```json\n{}\n```", "```json\n```", ""])
def test_nothing_in_brackets_is_nothing(text: str) -> None:
    """An empty object or fence is an empty reply."""
    mending = Mending(["search"])
    mending.start()
    step = mending.reply(Reply(text))
    assert isinstance(step, Ask)
    assert step.messages[-1].content.startswith("Your reply was empty.")


def test_exceptions_in_place_of_a_reply() -> None:
    """Only what is about the protocol, or about the schema that was sent, is ours to mend."""
    undecoded = ValueError("error parsing tool call: raw='{'")
    refused = ValueError("unknown argument: response_format")
    mending = Mending(["search"])
    mending.start()
    assert mending.raised(refused) is None
    assert isinstance(mending.raised(undecoded), Ask)
    mending = Mending(["search"], policy=RetryPolicy(constrain="always"), can_constrain=True)
    assert mending.start().schema is not None
    assert mending.raised(refused) == Ask()
    mending = Mending(["search"], policy=RetryPolicy(patterns=[FailurePattern.EMPTY]))
    assert mending.raised(undecoded) is None


def test_what_to_use_in_the_end() -> None:
    """An `on_failure` option returns, raises, or asks a function."""
    mending = Mending(["search"], policy=RetryPolicy(max_retries=0))
    mending.start()
    gave_up = mending.reply(Reply(""))
    assert isinstance(gave_up, GaveUp)
    assert gave_up.concluded("return", "what there is") == "what there is"
    assert gave_up.concluded(lambda verdict, reply: (verdict, reply), 1) == (gave_up, 1)
    with pytest.raises(NormalizationError):
        gave_up.concluded("raise", None)
    with pytest.raises(LookupError):
        gave_up.concluded("raise", None, LookupError())


def test_which_refused_replies_are_shown() -> None:
    """With `"calls"` a model sees those that made calls, with an answer to each."""
    for reply, roles in (
        (calling(("find", {})), ["assistant", "tool"]),
        (Reply("I will search for it."), ["user"]),
    ):
        mending = Mending(["search"], policy=RetryPolicy(show_refused="calls"))
        mending.start()
        step = mending.reply(reply)
        assert isinstance(step, Ask)
        assert [message.role for message in step.messages] == roles


# An answer that is written as text, where several tools take one


class Contact(BaseModel):
    """A contact."""

    name: str
    note: str | None = None


class Order(BaseModel):
    """An order."""

    name: str
    total: float


class Person(BaseModel):
    """A person."""

    name: str
    note: str | None = None


def written(text: str, **answers: Any) -> Any:
    """Return what to do about an answer that is written as text."""
    tools = [{"name": name, "parameters": {"properties": {}}} for name in answers]
    mending = Mending(tools, answers=answers)
    mending.start()
    return mending.reply(Reply(text))


@pytest.mark.parametrize("order", [("Contact", "Order"), ("Order", "Contact")])
def test_the_tool_that_keeps_all_that_was_said(order: tuple[str, ...]) -> None:
    """In whatever order they come, the answer goes to the one that drops nothing of it."""
    kinds = {"Contact": Contact, "Order": Order}
    answers = {name: kinds[name] for name in order}
    step = written('{"name": "Ann", "total": 99.5}', **answers)
    assert (step.calls[0].name, step.value) == ("Order", Order(name="Ann", total=99.5))
    step = written('{"name": "Ann", "note": "late"}', **answers)
    assert (step.calls[0].name, step.value) == ("Contact", Contact(name="Ann", note="late"))
    step = written('{"name": "Ann"}', **answers)
    assert step.calls[0].name == "Contact"


def test_the_tool_that_takes_it_without_repair() -> None:
    """Of two that drop nothing, the one that takes it as it is."""
    counted = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
    told = {"properties": {"n": {"type": "string"}}, "required": ["n"]}
    assert written('{"n": "7"}', Counted=counted, Told=told).calls[0].name == "Told"
    assert written('{"n": 7}', Told=told, Counted=counted).calls[0].name == "Counted"


def test_a_tool_that_takes_any_key() -> None:
    """A schema without names of its own drops nothing."""
    step = written('{"name": "Ann", "x": 1}', Contact=Contact, Rest={"type": "object"})
    assert step.calls[0].name == "Rest"


def test_two_tools_that_fit_alike() -> None:
    """Nobody knows which one is meant, so the model is asked to call it."""
    step = written('{"name": "Ann", "note": "late"}', Contact=Contact, Person=Person)
    assert isinstance(step, Ask)
    assert "calling `Contact`, `Person`" in step.messages[-1].content


@pytest.mark.parametrize(
    "written",
    [
        "Action: find\nAction Input: Oslo",
        "Thought: I look it up.\nAction: find\nAction Input: Oslo",
        '{"type": "function", "function": {"name": "find", "arguments": "{}"}}',
        '[{"name": "find", "arguments": {"q": "Oslo"}}]',
        '{"action": "find", "action_input": "Oslo"}',
        "{'name': 'find', 'arguments': {'q': 'Oslo'}}",
        '~~~json\n{"name": "find", "arguments": {"q": "Oslo"}}\n~~~',
    ],
)
def test_a_written_call_of_an_unknown_tool_in_any_dialect(written: str) -> None:
    """To take it for the answer would end the run with it."""
    mending = Mending(["search"])
    mending.start()
    step = mending.reply(Reply(written))
    assert isinstance(step, Ask)
    assert step.messages[-1].content.startswith("Unknown tool.")


@pytest.mark.parametrize(
    "said",
    [
        'print("hello")',
        "find(q='Oslo')",  # code may be what the user asked for
        '{"name": "Oslo", "arguments": "many"}',
        'A call of theirs: {"name": "find", "arguments": {"q": "Oslo"}}',
        '{"name": "find", "arguments": {"q": "Oslo"}} is what they send.',
        "Note: it is in Norway.",
        'Sure: {"name": "find", "arguments": {"q": "Oslo"}}',
    ],
)
def test_what_only_looks_like_an_unknown_tool(said: str) -> None:
    """Code, data, and calls within an explanation are answers."""
    mending = Mending(["search"])
    mending.start()
    assert isinstance(mending.reply(Reply(said)), Done)


@pytest.mark.parametrize(
    "said",
    [
        *("~~~\n~~~", "``` json\n{}\n```", "```json {} ```", "```json\n[]\n```", "```json", "[{}]"),
    ],
)
def test_nothing_but_markup_is_nothing(said: str) -> None:
    """An empty fence or an empty object answers nothing."""
    mending = Mending(["search"])
    mending.start()
    mending.reply(Reply(said))
    assert [failure.pattern for failure in mending.refused] == [FailurePattern.EMPTY]


def test_a_sign_is_an_answer() -> None:
    """A picture, or an ellipsis, says something."""
    for said in ("\U0001f44d", "\u2026", "?"):
        mending = Mending(["search"])
        mending.start()
        assert isinstance(mending.reply(Reply(said)), Done)


@pytest.mark.parametrize(
    "said",
    [
        f"I cannot say. The format would be {json.dumps(OSLO)}",
        f"I do not know it. It would look like this:\n```json\n{json.dumps(OSLO)}\n```",
        f"My previous reply {json.dumps(OSLO)} was wrong.",
        f'{json.dumps(OSLO)}\n{{"name": "Rome", "people": 8}}',
    ],
)
def test_an_answer_that_is_disowned_or_one_of_two(said: str) -> None:
    """It is asked for, not taken out of the text."""
    assert isinstance(answering().reply(Reply(said)), Ask)


@pytest.mark.parametrize("lead", ["", "Sure! ", "Here is the structured answer:\n"])
def test_an_answer_behind_a_lead_in(lead: str) -> None:
    """What stands alone, or behind words that lead to it, is the answer."""
    step = answering().reply(Reply(lead + json.dumps(OSLO)))
    assert isinstance(step, Done)
    assert step.value == City(name="Oslo", people=717710)


# A refusal


@pytest.mark.parametrize(
    "reply", [Reply(finish_reason="content_filter"), Reply("", holds_more=True)]
)
@pytest.mark.parametrize("how", [{"schema": City}, {"answers": {"City": City}}, {"needs_call": 1}])
def test_nobody_asks_again_for_what_was_refused(reply: Reply, how: dict[str, Any]) -> None:
    """A refusal says nothing that could be mended."""
    mending = Mending(TOOLS, **how)
    mending.start()
    step = mending.reply(reply)
    assert isinstance(step, GaveUp)
    assert step.retries == 0


@pytest.mark.parametrize(
    "reply",
    [Reply(""), Reply("I think so.", holds_more=True), Reply("{", (), (), "content_filter")],
)
def test_what_is_no_refusal_is_asked_about(reply: Reply) -> None:
    """Who says nothing without a reason, or says something, is asked again."""
    mending = Mending(schema=City)
    mending.start()
    assert isinstance(mending.reply(reply), Ask)
