"""Mending a chat model's replies: what is refused, what the model is told, what comes of it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolMessage,
)

from langchain_loopmend import NormalizationError, ToolCallRetry, with_tool_call_retry
from langchain_loopmend.messages import ENDED, core_messages, messages_of, reply_of
from langchain_loopmend.testing import ScriptedChatModel, call
from loopmend import Ask, GaveUp, Mending, RetryPolicy
from loopmend.mending import Message, is_protocol_error
from tests.integrations.langchain.events import Events
from tests.integrations.langchain.tools import TOOLS, echo, search, wait

GOOD = call("search", query="Oslo")
DONE = "It is in Norway."
WRITTEN = '{"name": "search", "arguments": {"query": "Oslo"}}'
NARRATED = "Let me search for that."


def broken(args: str, id: str | None = "b1", name: str | None = "search") -> AIMessage:
    """Return a reply with a call that the client could not decode."""
    bad = InvalidToolCall(name=name, args=args, id=id, error="bad", type="invalid_tool_call")
    return AIMessage("", invalid_tool_calls=[bad])


def mended(*script: Any, **options: Any) -> tuple[AIMessage, ScriptedChatModel]:
    """Ask a model that follows a script; return the reply and the model."""
    llm = ScriptedChatModel(script=script)
    model = with_tool_call_retry(llm, options.pop("tools", TOOLS), **options)
    return model.invoke("Where is Oslo?"), llm


def told(llm: ScriptedChatModel) -> str:
    """Return what the model was told last."""
    return str(llm.asked[-1][-1].text)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (NARRATED, "You described a tool call but did not make it."),
        ("", "Your reply was empty."),
        (WRITTEN, "You wrote the tool call as text, so it did not run."),
        ("Action: search\nAction Input: Oslo", "You wrote the tool call as text"),
        (broken('{"query": "Os'), "Your reply was cut off."),
        (broken("{'query': 'Oslo'}"), "Your tool call could not be parsed."),
        (broken("{}", name=None), "Your tool call could not be parsed."),
        (call("serach", query="Oslo"), "Unknown tool. Did you mean `search`?"),
        (call("search", q="Oslo"), "`search` needs `query` and does not accept `q`."),
        (
            AIMessage("", response_metadata={"finish_reason": "MALFORMED_FUNCTION_CALL"}),
            "Your tool call could not be parsed.",
        ),
        (
            AIMessage(
                "", tool_calls=GOOD.tool_calls, response_metadata={"stop_reason": "max_tokens"}
            ),
            "Your reply was cut off.",
        ),
        (ValueError("error parsing tool call: raw='{'"), "Your tool call could not be parsed."),
    ],
    ids=[
        *("narrated", "empty", "textual-json", "textual-react", "truncated", "single-quotes"),
        *("nameless", "unknown-tool", "wrong-arguments", "finish-reason", "truncated-stream"),
        "server-error",
    ],
)
def test_what_is_refused(bad: Any, words: str) -> None:
    """Each way to break the protocol is corrected in its own words, and the good reply used."""
    reply, llm = mended(bad, GOOD, salvage=False)
    assert reply.tool_calls == GOOD.tool_calls
    assert told(llm).startswith(words)
    assert len(llm.asked) == 2


def test_a_refused_reply_is_not_shown_again() -> None:
    """Each retry is the conversation and one correction, which takes the place of the last."""
    _, llm = mended(NARRATED, "", GOOD)
    question = HumanMessage("Where is Oslo?")
    assert [asked[:-1] for asked in llm.asked[1:]] == [[question], [question]]
    corrections = [str(asked[-1].content).splitlines()[0] for asked in llm.asked[1:]]
    assert corrections[0].startswith("You described a tool call")
    assert corrections[1] == "Your reply was empty."
    assert all(asked[-1].type == "human" for asked in llm.asked)


@pytest.mark.parametrize(
    "good",
    [
        GOOD,
        "It is in Norway.",
        AIMessage("Looking.", tool_calls=GOOD.tool_calls),
        AIMessage(
            "", tool_calls=GOOD.tool_calls, response_metadata={"finish_reason": "tool_calls"}
        ),
        AIMessage([{"type": "image_url", "image_url": {"url": "data:,"}}]),
        AIMessage("", tool_calls=[*GOOD.tool_calls, {"name": "add", "args": {"a": 1}, "id": "2"}]),
    ],
    ids=["call", "answer", "both", "finish-reason", "image", "parallel"],
)
def test_what_is_not_touched(good: Any) -> None:
    """A good reply is returned as it is, after one call of the model."""
    reply, llm = mended(good)
    expected = AIMessage(good) if isinstance(good, str) else good
    assert (reply.content, reply.tool_calls) == (expected.content, expected.tool_calls)
    assert len(llm.asked) == 1


def test_an_empty_reply_after_a_result() -> None:
    """The model is asked for the answer once; some finish by saying nothing, and may."""
    asked = [HumanMessage("go"), GOOD, ToolMessage("Norway", tool_call_id="call_1")]
    llm = ScriptedChatModel(script=["", "In Norway."])
    assert with_tool_call_retry(llm, TOOLS).invoke(asked).content == "In Norway."
    llm = ScriptedChatModel(script=["", ""])
    assert with_tool_call_retry(llm, TOOLS).invoke(asked).content == ""


def test_without_tools_there_is_no_protocol() -> None:
    """A chat without tools may say what it likes, but a call is still one of an unknown tool."""
    reply, _ = mended("Let me search for that.", tools=[])
    assert reply.content == "Let me search for that."
    reply, llm = mended(call("search"), "Sorry.", tools=[])
    assert (reply.content, len(llm.asked)) == ("Sorry.", 2)


def test_names_and_types_are_put_right() -> None:
    """A name that can mean one tool only is used, and so are numbers that came as text."""
    reply, llm = mended(call("functions.add", a="1"))
    assert [(c["name"], c["args"], c["id"]) for c in reply.tool_calls] == [
        ("add", {"a": 1}, "call_1"),
    ]
    assert len(llm.asked) == 1


def test_calls_get_ids_of_their_own() -> None:
    """A call without an id, or with that of another, would make LangGraph fail."""
    for ids in ((None, None), ("1", "1"), ("1", None)):
        made = [{"name": "search", "args": {"query": "x"}, "id": id} for id in ids]
        reply, _ = mended(AIMessage("", tool_calls=made))
        found = [call["id"] for call in reply.tool_calls]
        assert len({*found}) == 2
        assert None not in found
        assert found[0] == (ids[0] or found[0])


def test_a_written_call_is_made() -> None:
    """A call in the text is made if it is whole and the tools vouch for it, else asked about."""
    for text, said in ((WRITTEN, ""), (f"Sure! {WRITTEN}", "Sure!")):
        reply, llm = mended(text)
        assert (reply.content, len(llm.asked)) == (said, 1)
        [made] = reply.tool_calls
        assert (made["name"], made["args"]) == ("search", {"query": "Oslo"})
        assert str(made["id"]).startswith("call_")
    for text in ('{"name": "launch", "arguments": {"query": "Oslo"}}', WRITTEN[:-8]):
        reply, llm = mended(text, "Sorry.")
        assert (reply.content, len(llm.asked)) == ("Sorry.", 2)


@pytest.mark.parametrize(
    ("salvage", "asked"), [(True, 1), (False, 2), (["search"], 1), (["add"], 2), ([], 2)]
)
def test_which_written_calls_are_made(salvage: Any, asked: int) -> None:
    """Any, none, or those of some tools; the others are asked about."""
    reply, llm = mended(*[WRITTEN, GOOD][:asked], salvage=salvage)
    assert (len(reply.tool_calls), len(llm.asked)) == (1, asked)


def test_a_call_that_is_only_to_be_shown_is_not_made() -> None:
    """Who asks to see a call, not to run it, gets to see it and no call that runs."""
    llm = ScriptedChatModel(script=[WRITTEN])
    reply = with_tool_call_retry(llm, TOOLS).invoke("Show me the JSON call, do not run it.")
    assert (reply.content, reply.tool_calls) == (WRITTEN, [])


def test_broken_arguments_are_made_whole() -> None:
    """Arguments that only need other quotes are used; cut off ones never are."""
    raw = {"tool_calls": [{"id": "b1"}], "refusal": None}
    quoted = broken("{'query': 'Oslo'}")
    quoted.additional_kwargs = raw
    reply, llm = mended(quoted)
    assert [(c["args"], c["id"]) for c in reply.tool_calls] == [({"query": "Oslo"}, "b1")]
    assert (reply.invalid_tool_calls, reply.additional_kwargs) == ([], {"refusal": None})
    reply, llm = mended(broken('{"query": "Os'), GOOD)
    assert len(llm.asked) == 2


def test_written_calls_of_a_tool_of_one_text() -> None:
    """LangChain's own name for that argument is used."""
    reply, _ = mended("Action: echo\nAction Input: hello", tools=[echo])
    assert reply.tool_calls[0]["args"] == {"__arg1": "hello"}
    assert echo.invoke(reply.tool_calls[0]).content == "echo: hello"
    reply, _ = mended('{"type": "tool_call", "name": "echo", "arguments": {}}')
    assert (reply.content, reply.tool_calls[0]["args"]) == ("", {})


def pending(messages: list[BaseMessage]) -> dict[str, int]:
    """Count the answers to each call of a conversation."""
    counts: dict[str, int] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            for made in (*message.tool_calls, *message.invalid_tool_calls):
                counts.setdefault(str(made["id"]), 0)
        elif isinstance(message, ToolMessage):
            counts[message.tool_call_id] += 1
    return counts


def test_every_call_is_answered_exactly_once() -> None:
    """Providers refuse a conversation in which a call has no answer or two.

    So a refused call is not shown, or, where the policy says so, answered.
    """
    mixed = AIMessage(
        "",
        tool_calls=[
            {"name": "search", "args": {"query": "a"}, "id": "1"},
            {"name": "serach", "args": {"query": "b"}, "id": "2"},
            {"name": "search", "args": {"query": "c"}, "id": "2"},
            {"name": "search", "args": {"query": "d"}, "id": None},
        ],
        invalid_tool_calls=[
            *broken("{", "3").invalid_tool_calls,
            *broken("{", None).invalid_tool_calls,
        ],
    )
    _, llm = mended(mixed, broken("{", "4"), GOOD)
    assert [pending(asked) for asked in llm.asked] == [{}, {}, {}]
    mending = Mending([tool.name for tool in TOOLS], policy=RetryPolicy(show_refused=True))
    mending.start("Where is Oslo?")
    mending.reply(reply_of(mixed))
    step = mending.reply(reply_of(broken("{", "4")))
    assert isinstance(step, Ask)
    shown = messages_of(step.messages)
    assert pending(shown) == {"1": 1, "2": 1, "3": 1, "4": 1}
    answers = [m for m in shown if isinstance(m, ToolMessage)]
    assert {m.status for m in answers} == {"error"}
    assert sum("another call" in str(m.content) for m in answers) == 2


def test_conversations_to_the_core_and_back() -> None:
    """Roles, texts, calls and their answers survive."""
    asked = [SystemMessage("Be brief."), HumanMessage("Where?"), GOOD]
    asked.append(ToolMessage("Norway", tool_call_id="call_1", status="error"))
    assert messages_of(core_messages(asked)) == asked
    assert messages_of([Message("assistant", "It is in Norway.")])[0].content == "It is in Norway."


def reworded(retries: int) -> list[AIMessage]:
    """Return one more broken call than the model is asked again, no two of them the same."""
    return [broken("{" * (n + 1)) for n in range(retries + 1)]


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_given_up(retries: int) -> None:
    """When nothing helps, calls that must not run are left out, or an error says so."""
    reply, llm = mended(*reworded(retries), max_retries=retries)
    assert (reply.tool_calls, reply.invalid_tool_calls) == ([], [])
    assert str(reply.content).startswith(f"Gave up after {retries} retr")
    assert reply.response_metadata[ENDED] == "parse_fail"
    assert len(llm.asked) == retries + 1
    times = f"Gave up after {retries} {'retry' if retries == 1 else 'retries'}: "
    with pytest.raises(NormalizationError, match=times) as caught:
        mended(*reworded(retries), max_retries=retries, on_failure="raise")
    assert (caught.value.failure.tool, caught.value.retries) == ("search", retries)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_who_repeats_itself_is_not_asked_a_third_time() -> None:
    """A model that says a refused reply again without having seen it will go on saying it."""
    for bad in (NARRATED, "", broken("{")):
        reply, llm = mended(bad, bad, max_retries=9)
        assert (reply.tool_calls, len(llm.asked)) == ([], 2)
        assert reply.response_metadata[ENDED] == "parse_fail"


def test_a_function_has_the_last_word() -> None:
    """After giving up, a host's own function says what to use, given the verdict and the reply."""

    def say(verdict: GaveUp, reply: AIMessage) -> AIMessage:
        return AIMessage(f"{verdict.failure.pattern.value}, {verdict.retries}: {reply.content}")

    reply, _ = mended(NARRATED, NARRATED, on_failure=say)
    assert reply.content == f"narrated, 1: {NARRATED}"
    with pytest.raises(ValueError, match="on_failure must be"):
        mended(on_failure="ignore")


def test_given_up_keeps_what_was_said() -> None:
    """A narrated reply is returned as it is, and so is what stands beside calls."""
    assert mended("Let me search.", max_retries=0)[0].content == "Let me search."
    beside = AIMessage("I think so.", tool_calls=[{"name": "nope", "args": {}, "id": "1"}])
    reply, _ = mended(beside, max_retries=0)
    assert (reply.content, reply.tool_calls) == ("I think so.", [])


def test_given_up_on_a_server_that_raises() -> None:
    """An error that only says that a call could not be decoded does not end the run."""
    error = ValueError("error parsing tool call: raw='{'")
    reply, llm = mended(error, error)
    assert (str(reply.content)[:13], len(llm.asked)) == ("Gave up after", 2)
    llm = ScriptedChatModel(script=[error, GOOD])
    reply = wait(with_tool_call_retry(llm, TOOLS).ainvoke("go"))
    assert reply.tool_calls == GOOD.tool_calls
    with pytest.raises(NormalizationError, match="The provider could not decode the call"):
        mended(error, max_retries=0, on_failure="raise")


def test_models_of_plain_text() -> None:
    """A model that returns text becomes one that returns messages, with calls it wrote made."""
    for text, calls in ((DONE, []), (WRITTEN, ["search"])):
        reply = with_tool_call_retry(FakeListLLM(responses=[text]), TOOLS).invoke("Where is Oslo?")
        assert isinstance(reply, AIMessage)
        assert [c["name"] for c in reply.tool_calls] == calls
    given_up = with_tool_call_retry(FakeListLLM(responses=[NARRATED]), TOOLS, max_retries=0)
    assert given_up.invoke("Where is Oslo?").content == NARRATED


def test_other_errors_go_through() -> None:
    """What is not about the protocol is not ours, least of all how LangGraph interrupts."""
    GraphBubbleUp = type("GraphBubbleUp", (Exception,), {})  # noqa: N806 - a class
    interrupt = type("GraphInterrupt", (GraphBubbleUp,), {})("error parsing tool call")
    for error in (ConnectionError("down"), interrupt):
        with pytest.raises(type(error)):
            mended(error)
        llm = ScriptedChatModel(script=[error])
        with pytest.raises(type(error)):
            wait(with_tool_call_retry(llm, TOOLS).ainvoke("go"))
        assert not is_protocol_error(error)


def test_clients_that_fail_to_validate() -> None:
    """Arguments that are no object make a client fail while it builds the message."""
    with pytest.raises(ValueError, match="validation error") as caught:
        AIMessage("", tool_calls=[{"name": "f", "args": [1], "id": "1"}])
    assert is_protocol_error(caught.value)


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream", "batch"])
def test_every_way_to_run(way: str) -> None:
    """Sync and async, at once and streaming, a bad reply is corrected, and told of."""
    llm = ScriptedChatModel(script=["Let me search for that.", GOOD])
    model = with_tool_call_retry(llm, TOOLS)
    events = Events()
    config: Any = {"callbacks": [events]}

    async def collected() -> list[Any]:
        return [m async for m in model.astream("go", config)]

    run: dict[str, Any] = {
        "invoke": lambda: [model.invoke("go", config)],
        "ainvoke": lambda: [wait(model.ainvoke("go", config))],
        "stream": lambda: list(model.stream("go", config)),
        "astream": lambda: wait(collected()),
        "batch": lambda: model.batch(["go"], config),
    }
    [reply] = run[way]()
    assert reply.tool_calls == GOOD.tool_calls
    assert [tags for name, tags in events.runs if name == "model"] == [
        ("loopmend:attempt:1",),
        ("loopmend:attempt:2",),
    ]
    [(name, data)] = events.custom
    assert name == "loopmend_retry"
    assert data == {
        "attempt": 1,
        "pattern": "narrated",
        "message": "The model described a call to `search` without making it.",
        "correction": told(llm),
    }


def test_cut_off_in_a_stream() -> None:
    """While it streams LangChain completes cut off arguments; here the model is asked again."""
    llm = ScriptedChatModel(script=[broken('{"query": "Os'), GOOD])
    [reply] = with_tool_call_retry(llm, TOOLS).stream("go")
    assert reply.tool_calls[0]["args"] == {"query": "Oslo"}


def test_bound_to_tools() -> None:
    """Binding tools to it binds them to the model, and makes them known."""
    bound = with_tool_call_retry(ScriptedChatModel(script=["Let me search.", GOOD])).bind_tools(
        [search]
    )
    assert isinstance(bound, ToolCallRetry)
    assert [described["name"] for described in bound.tools or ()] == ["search"]
    assert bound.invoke("go").tool_calls == GOOD.tool_calls


def test_tools_of_a_bound_model_are_found() -> None:
    """A model that is bound to tools already need not be told of them again."""
    llm = ScriptedChatModel(script=[GOOD, call("serach", query="x"), GOOD])
    schema = {"type": "function", "function": {"name": "search", "parameters": {}}}
    model = with_tool_call_retry(llm.bind(tools=[schema]))
    assert model.invoke("go").tool_calls == GOOD.tool_calls
    assert model.invoke("go").tool_calls == GOOD.tool_calls
    assert len(llm.asked) == 3
    stopped = with_tool_call_retry(llm.bind(tools=[schema]).bind(stop=["x"]).with_config(tags=[]))
    assert [described["name"] for described in stopped.tools or ()] == ["search"]
    unknown = with_tool_call_retry(ScriptedChatModel(script=[GOOD]))
    assert (unknown.tools, unknown.invoke("go").tool_calls) == (None, GOOD.tool_calls)


def test_tools_of_the_provider_are_not_ours() -> None:
    """What a provider runs itself has no name that a model could call."""
    offered: list[Any] = [{"google_search": {}}, {"type": "web"}, {"toolSpec": {"name": "x"}}]
    for theirs in offered:
        reply, _ = mended(GOOD, tools=[search, theirs])
        assert reply.tool_calls == GOOD.tool_calls


def test_blocks_of_a_provider_follow_its_calls() -> None:
    """Where a call is renamed, what the provider wrote about it in the content is left out."""
    blocks: Any = [
        {"type": "text", "text": "look"},
        {"type": "tool_use", "id": "1", "name": "functions.search", "input": {"query": "x"}},
    ]
    made = [{"name": "functions.search", "args": {"query": "x"}, "id": "1"}]
    reply, _ = mended(AIMessage(blocks, tool_calls=made))
    assert (reply.content, reply.tool_calls[0]["name"]) == (blocks[:1], "search")


@pytest.mark.parametrize("beside", [{"refusal": "I cannot help."}, {"audio": {"data": "x"}}])
def test_what_stands_beside_the_text(beside: dict[str, Any]) -> None:
    """A refusal or a sound is no empty reply."""
    reply, llm = mended(AIMessage("", additional_kwargs=beside))
    assert (reply.additional_kwargs, len(llm.asked)) == (beside, 1)


def test_nothing_is_no_answer_to_a_correction() -> None:
    """An empty reply after a tool's result is a finish, but not after a correction."""
    llm = ScriptedChatModel(script=["Let me search for that.", "", "It is in Norway."])
    asked = [HumanMessage("go"), GOOD, ToolMessage("Norway", tool_call_id="call_1")]
    assert with_tool_call_retry(llm, TOOLS).invoke(asked).content == "It is in Norway."


@pytest.mark.parametrize("max_retries", [0, 1])
def test_what_is_given_up_keeps_no_broken_call(max_retries: int) -> None:
    """A provider would want an answer to it on the next turn."""
    bad = broken('{"query": ')
    bad.content = "I search for it."
    reply, _ = mended(*[bad] * (max_retries + 1), max_retries=max_retries)
    assert (reply.content, reply.invalid_tool_calls) == ("I search for it.", [])
    assert "tool_calls" not in reply.additional_kwargs
