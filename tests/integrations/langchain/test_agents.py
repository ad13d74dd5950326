"""`create_agent` with the middleware, and LangGraph's agent with the mended model."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import CallbackManager
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ToolMessage,
)
from pydantic import BaseModel

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware, wrap_model_call
from langchain.agents.structured_output import ToolStrategy
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent  # type: ignore[deprecated]
from langgraph.types import interrupt

from langchain_loopmend import NormalizationError, with_tool_call_retry
from langchain_loopmend.messages import ENDED
from langchain_loopmend.middleware import (
    LoopGuardMiddleware,
    MetaSignalMiddleware,
    NormalizationMiddleware,
    PlannerMiddleware,
)
from langchain_loopmend.middleware.arrivals import may_stream
from langchain_loopmend.middleware.model_exchanges import Once
from langchain_loopmend.schemas import toolbox
from langchain_loopmend.testing import ScriptedChatModel, call
from loopmend import FailurePattern, GaveUp
from tests.integrations.langchain.events import WITH_CONTEXT, Events
from tests.integrations.langchain.test_mending import broken
from tests.integrations.langchain.tools import TOOLS, add, echo, search, wait

GOOD, DONE = call("search", query="Oslo"), "It is in Norway."
QUESTION: Any = {"messages": [("user", "Where is Oslo?")]}
NARRATED = "Let me search for that."


def agent(*script: Any, **options: Any) -> tuple[Any, ScriptedChatModel]:
    """Return an agent whose model follows a script, and the model."""
    llm = ScriptedChatModel(script=script)
    options.setdefault("middleware", [NormalizationMiddleware()])
    return create_agent(llm, options.pop("tools", TOOLS), **options), llm


def kinds(messages: list[BaseMessage]) -> list[str]:
    """Return what kinds of messages there are."""
    return [message.type for message in messages]


WRITTEN = {
    "react": "Action: search\nAction Input: Oslo",
    "json": '{"name": "search", "arguments": {"query": "Oslo"}}',
}
NATIVELY_ENDS_THE_RUN = {
    **WRITTEN,
    "narrated": NARRATED,
    "empty": "",
    "invalid": broken('{"query": "Os'),
    "finish-reason": AIMessage("", response_metadata={"finish_reason": "MALFORMED_FUNCTION_CALL"}),
}


@pytest.mark.parametrize("bad", NATIVELY_ENDS_THE_RUN.values(), ids=NATIVELY_ENDS_THE_RUN)
def test_natively_the_run_ends(bad: Any) -> None:
    """LangChain takes each of these replies for the answer; a fix there will be noticed here."""
    run, _ = agent(bad, GOOD, DONE, middleware=[])
    assert kinds(run.invoke(QUESTION)["messages"]) == ["human", "ai"]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("bad", NATIVELY_ENDS_THE_RUN.values(), ids=NATIVELY_ENDS_THE_RUN)
def test_the_run_goes_on(bad: Any, *, asynchronous: bool) -> None:
    """The model is corrected, the tool runs, and the refused reply never reaches the state."""
    run, llm = agent(bad, GOOD, DONE, middleware=[NormalizationMiddleware(salvage=False)])
    result = wait(run.ainvoke(QUESTION)) if asynchronous else run.invoke(QUESTION)
    assert kinds(result["messages"]) == ["human", "ai", "tool", "ai"]
    assert result["messages"][-1].content == DONE
    assert set(llm.ways) == {"async" if asynchronous else "sync"}
    [report] = result["normalization"]
    assert (report["outcome"], report["retries"]) == ("mended", 1)
    assert llm.asked[2][:3] == result["messages"][:3]  # nothing of the correction is left


def test_a_refused_reply_is_shown_only_after_a_result() -> None:
    """At the first step the model sees the correction alone; neither reaches the conversation."""
    run, llm = agent(NARRATED, GOOD, NARRATED, call("serach", "call_2", query="Oslo"), DONE)
    result = run.invoke(QUESTION)
    assert [kinds(asked) for asked in llm.asked] == [
        ["human"],
        ["human", "human"],
        ["human", "ai", "tool"],
        ["human", "ai", "tool", "ai", "human"],
        ["human", "ai", "tool", "ai", "human", "ai", "tool"],
    ]
    assert llm.asked[3][3].content == NARRATED
    assert "Unknown tool. Did you mean `search`?" in str(llm.asked[4][-1].content)
    assert kinds(result["messages"]) == ["human", "ai", "tool", "ai"]


def test_a_clean_run_leaves_no_trace() -> None:
    """A run without failures has no report and no extra call."""
    run, llm = agent(GOOD, DONE)
    result = run.invoke(QUESTION)
    assert not result.get("normalization")
    assert len(llm.asked) == 2


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_a_written_call_is_made(written: str, *, asynchronous: bool) -> None:
    """A call in the text is made at once, without asking the model again."""
    run, llm = agent(written, DONE)
    result = wait(run.ainvoke(QUESTION)) if asynchronous else run.invoke(QUESTION)
    assert kinds(result["messages"]) == ["human", "ai", "tool", "ai"]
    assert [m.content for m in result["messages"][1:3]] == ["", "about Oslo"]
    assert result["normalization"] == [
        {
            "outcome": "made",
            "retries": 0,
            "patterns": ["textual_call"],
            "messages": ["The model wrote the call to `search` as text."],
        }
    ]
    assert len(llm.asked) == 2


def test_a_written_call_may_follow_a_correction() -> None:
    """A model that was corrected and then writes the call as text has it made, too."""
    run, llm = agent(NARRATED, WRITTEN["json"], DONE)
    [report] = run.invoke(QUESTION)["normalization"]
    assert (report["outcome"], report["retries"]) == ("made", 1)
    assert report["patterns"] == ["narrated", "textual_call"]
    assert len(llm.asked) == 3


def test_which_written_calls_are_made() -> None:
    """Those of the tools that are named; the others are asked about."""
    for salvage, asked in ((["search"], 2), (["add"], 3), (False, 3)):
        script = [WRITTEN["json"], *([GOOD] if asked == 3 else []), DONE]
        run, llm = agent(*script, middleware=[NormalizationMiddleware(salvage=salvage)])
        assert kinds(run.invoke(QUESTION)["messages"]) == ["human", "ai", "tool", "ai"]
        assert len(llm.asked) == asked


def test_a_call_that_is_only_to_be_shown_is_not_made() -> None:
    """Who asks to see a call, not to run it, gets no call that runs."""
    run, _ = agent(WRITTEN["json"], "It would search.")
    asked: Any = {"messages": [("user", "Show me the JSON for that call, but do not run it.")]}
    assert kinds(run.invoke(asked)["messages"]) == ["human", "ai"]


REWORDED = [f"Let me search for that, attempt {n}." for n in range(3)]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_given_up(*, asynchronous: bool) -> None:
    """When nothing helps the run goes on with the last reply, raises, or does as it is told."""
    run, llm = agent(*REWORDED)
    result = wait(run.ainvoke(QUESTION)) if asynchronous else run.invoke(QUESTION)
    last = result["messages"][-1]
    assert (last.content, last.response_metadata[ENDED]) == (REWORDED[-1], "parse_fail")
    assert result["normalization"][0]["outcome"] == "gave_up"
    assert result["normalization"][0]["retries"] == 2
    assert len(llm.asked) == 3
    run, _ = agent(*REWORDED, middleware=[NormalizationMiddleware(on_failure="raise")])
    with pytest.raises(NormalizationError, match="Gave up after 2 retries"):
        run.invoke(QUESTION)

    def say(verdict: GaveUp, reply: AIMessage) -> AIMessage:
        return AIMessage(f"{verdict.failure.pattern.value} after {reply.content}")

    run, _ = agent(*REWORDED, middleware=[NormalizationMiddleware(on_failure=say)])
    assert run.invoke(QUESTION)["messages"][-1].content == f"narrated after {REWORDED[-1]}"


def test_given_up_on_a_provider_that_raises() -> None:
    """Where there never was a reply, the answer says why; who repeats itself is asked twice."""
    error = ValueError("error parsing tool call: raw='{'")
    run, llm = agent(error, error)
    last = run.invoke(QUESTION)["messages"][-1]
    assert last.content.startswith("Gave up after 1 ")
    assert last.content.endswith(": The provider could not decode the call.")
    assert last.response_metadata == {ENDED: "parse_fail"}
    assert len(llm.asked) == 2


@WITH_CONTEXT
def test_each_retry_is_announced(*, asynchronous: bool) -> None:
    """The custom event tells the attempt, what was wrong, and what the model is told."""
    events = Events()
    config: Any = {"callbacks": [events]}
    run, llm = agent(NARRATED, "", GOOD, DONE)
    _ = wait(run.ainvoke(QUESTION, config)) if asynchronous else run.invoke(QUESTION, config)
    assert events.custom == [
        (
            "loopmend_retry",
            {
                "attempt": n,
                "pattern": pattern,
                "message": message,
                "correction": llm.asked[n][-1].content,
            },
        )
        for n, pattern, message in (
            (1, "narrated", "The model described a call to `search` without making it."),
            (2, "empty", "The reply is empty."),
        )
    ]


def test_only_some_patterns() -> None:
    """What is not to be acted on is left alone."""
    middleware = [NormalizationMiddleware(patterns=["empty", FailurePattern.TEXTUAL_CALL])]
    run, _ = agent(NARRATED, middleware=middleware)
    assert run.invoke(QUESTION)["messages"][-1].content == NARRATED
    run, _ = agent("", DONE, middleware=middleware)
    assert run.invoke(QUESTION)["messages"][-1].content == DONE


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_retries": -1}, "max_retries must be 0 or more"),
        ({"on_failure": "ignore"}, "on_failure must be"),
        ({"constrain": "never"}, "constrain must be"),
        ({"patterns": ["bogus"]}, "bogus"),
    ],
)
def test_wrong_settings(options: dict[str, Any], words: str) -> None:
    """A setting that cannot be meant is refused at once."""
    with pytest.raises(ValueError, match=words):
        NormalizationMiddleware(**options)


def test_interrupts_go_through() -> None:
    """A human is asked and the run resumed as if the middleware were not there."""

    @wrap_model_call
    def approve(request: Any, handler: Any) -> Any:
        interrupt("error parsing tool call? continue?")
        return handler(request)

    llm = ScriptedChatModel(script=[NARRATED, GOOD, DONE], repeat=True)
    middleware: list[Any] = [NormalizationMiddleware(), approve]
    run = create_agent(
        llm,
        TOOLS,
        middleware=middleware,
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    assert run.invoke(QUESTION, config)["__interrupt__"][0].value.endswith("continue?")
    assert llm.asked == []


def test_errors_of_the_model_go_through() -> None:
    """Only errors about a call that could not be decoded are corrected."""
    run, _llm = agent(ConnectionError("down"))
    with pytest.raises(ConnectionError, match="down"):
        run.invoke(QUESTION)
    run, _ = agent(ValueError("error parsing tool call: raw='{'"), GOOD, DONE)
    assert run.invoke(QUESTION)["messages"][-1].content == DONE


class Place(BaseModel):
    """A structured answer."""

    country: str


def test_structured_output_is_left_alone() -> None:
    """An answer through LangChain's own tool for structured output is not an unknown tool."""
    answer = call("Place", country="Norway")
    run, _llm = agent(GOOD, answer, response_format=ToolStrategy(Place))
    assert run.invoke(QUESTION)["structured_response"] == Place(country="Norway")
    run, _ = agent(NARRATED, answer, response_format=ToolStrategy(Place))
    assert wait(run.ainvoke(QUESTION))["structured_response"] == Place(country="Norway")
    wrong = call("Place", nation="Norway")
    run, _ = agent(wrong, answer, response_format=ToolStrategy(Place))
    assert run.invoke(QUESTION)["structured_response"] == Place(country="Norway")


@pytest.mark.parametrize("mode", ["updates", "values"])
def test_streaming_hides_refused_replies(mode: Any) -> None:
    """Who streams states or updates never sees a refused reply."""
    run, _ = agent(NARRATED, GOOD, DONE)
    assert NARRATED not in str(list(run.stream(QUESTION, stream_mode=mode)))


def test_streaming_of_messages_shows_them() -> None:
    """Tokens are shown as they arrive, so that refused ones are seen: a documented limit."""
    run, _ = agent(NARRATED, GOOD, DONE)
    said = "".join(str(m.text) for m, _ in run.stream(QUESTION, stream_mode="messages"))
    assert NARRATED in said
    assert DONE in said


def test_truncated_while_streaming() -> None:
    """Arguments that were cut off and completed while streaming are not executed."""
    cut = AIMessage(
        "",
        invalid_tool_calls=broken('{"query": "Os').invalid_tool_calls,
        response_metadata={"finish_reason": "length"},
    )
    for middleware, queries in (([], ["Os", "Oslo"]), ([NormalizationMiddleware()], ["Oslo"])):
        run, _ = agent(cut, GOOD, DONE, middleware=middleware)
        list(run.stream(QUESTION, stream_mode="messages"))
        run, _ = agent(cut, GOOD, DONE, middleware=middleware)
        seen = [
            str(message.content).removeprefix("about ")
            for part in run.stream(QUESTION, stream_mode=["updates", "messages"])
            if part[0] == "updates"
            for update in part[1].values()
            for message in (update or {}).get("messages", [])
            if isinstance(message, ToolMessage)
        ]
        assert seen == queries


def test_retries_cost_no_step_of_the_graph() -> None:
    """Corrections happen inside the model's node, and other limits do not count them."""
    limit = ModelCallLimitMiddleware(run_limit=2, exit_behavior="error")
    run, llm = agent(
        *(NARRATED, "", GOOD, NARRATED, "I'll search.", DONE),
        middleware=[limit, NormalizationMiddleware()],
    )
    result = run.invoke(QUESTION, {"recursion_limit": 12})
    assert result["messages"][-1].content == DONE
    assert len(llm.asked) == 6


def test_all_together() -> None:
    """The four kinds of middleware work side by side."""
    run, _ = agent(
        *(NARRATED, GOOD, "<uncertain><partial>Norway</partial></uncertain>"),
        middleware=[
            PlannerMiddleware(),
            LoopGuardMiddleware(),
            NormalizationMiddleware(),
            MetaSignalMiddleware(),
        ],
        system_prompt="Be brief.",
    )
    events = Events()
    result = run.invoke(QUESTION, {"callbacks": [events]})
    assert result["plan"]["selected"] == "ContinueCentralized"
    assert result["normalization"][0]["patterns"] == ["narrated"]
    assert [signal["kind"] for signal in result["meta_signals"]] == ["Uncertain"]
    assert events.roots == 1
    assert wait(agent(GOOD, DONE)[0].ainvoke(QUESTION))["messages"][-1].content == DONE


@pytest.mark.parametrize("asynchronous", [False, True])
def test_langgraph_react_agent(*, asynchronous: bool) -> None:
    """LangGraph's own agent takes a mended model, binds the tools and goes on."""
    for bad in NATIVELY_ENDS_THE_RUN.values():
        llm = ScriptedChatModel(script=[bad, GOOD, DONE])
        graph = create_react_agent(with_tool_call_retry(llm, salvage=False), [search, add])
        result = wait(graph.ainvoke(QUESTION)) if asynchronous else graph.invoke(QUESTION)
        assert kinds(result["messages"]) == ["human", "ai", "tool", "ai"]
    native = create_react_agent(ScriptedChatModel(script=[NARRATED]), [search])
    assert kinds(native.invoke(QUESTION)["messages"]) == ["human", "ai"]


def test_langgraph_streams() -> None:
    """Streaming its updates shows only what was accepted."""
    llm = ScriptedChatModel(script=[NARRATED, GOOD, DONE])
    graph = create_react_agent(with_tool_call_retry(llm), [search])
    assert NARRATED not in str(list(graph.stream(QUESTION, stream_mode="updates")))


@pytest.mark.parametrize("reason", [None, "stop", "tool_calls"])
def test_cut_off_arguments_of_a_stream_are_never_run(reason: str | None) -> None:
    """LangChain completes them while it streams; what really arrived decides, sync and async."""
    ran: list[str] = []

    def delete(path: str) -> str:
        """Delete a file."""
        ran.append(path)
        return "gone"

    bad = broken('{"path": "/home/bob/tm', name="delete")
    bad.response_metadata = {"finish_reason": reason} if reason else {}
    script = [bad, call("delete", path="/home/bob/tmp"), "Done."]

    async def collected(run: Any) -> list[Any]:
        return [part async for part in run.astream(QUESTION, stream_mode=["messages", "updates"])]

    run, _ = agent(*script, tools=[delete], middleware=[])
    list(run.stream(QUESTION, stream_mode=["messages", "updates"]))
    assert ran == ["/home/bob/tm", "/home/bob/tmp"]  # what happens natively
    for way in (lambda run: list(run.stream(QUESTION, stream_mode=["messages", "updates"])), None):
        ran.clear()
        run, _ = agent(*script, tools=[delete])
        _ = wait(collected(run)) if way is None else way(run)
        assert ran == ["/home/bob/tmp"]


def test_whole_calls_of_a_stream_are_run() -> None:
    """Parallel calls and calls beside text arrive in pieces and are left alone."""
    both = AIMessage(
        "I add and search.",
        tool_calls=[*GOOD.tool_calls, {"name": "add", "args": {"a": 1}, "id": "2"}],
    )
    run, llm = agent(both, DONE)
    parts = list(run.stream(QUESTION, stream_mode=["messages", "values"]))
    assert kinds(parts[-1][1]["messages"]) == ["human", "ai", "tool", "tool", "ai"]
    assert len(llm.asked) == 2


def test_models_with_callbacks_of_their_own() -> None:
    """Listening to a run leaves the model's callbacks as they are, whatever form they have."""
    kinds_of: list[Any] = [[Events()], CallbackManager([Events()]), None]
    for callbacks in kinds_of:
        llm = ScriptedChatModel(script=[GOOD, DONE], callbacks=callbacks)
        run = create_agent(llm, TOOLS, middleware=[NormalizationMiddleware()])
        list(run.stream(QUESTION, stream_mode=["messages", "updates"]))
        assert (llm.ways, llm.callbacks) == (["stream", "stream"], callbacks)
    assert may_stream(llm)  # outside a run nobody knows


def test_a_model_that_always_streams() -> None:
    """A model that is set to stream is listened to although nobody streams from the agent."""

    class Streaming(ScriptedChatModel):
        streaming: bool = True

    bad = broken('{"query": "Os')
    llm = Streaming(script=[bad, GOOD, DONE])
    run = create_agent(llm, TOOLS, middleware=[NormalizationMiddleware()])
    result = run.invoke(QUESTION)
    assert [m.content for m in result["messages"] if m.type == "tool"] == ["about Oslo"]


def test_side_effects_are_not_repeated() -> None:
    """A true report of what was done is the answer, not a claim to be corrected."""
    tickets: list[str] = []

    def create_ticket(title: str) -> str:
        """Create a ticket."""
        tickets.append(title)
        return "TICK-1"

    script = [call("create_ticket", title="x"), "Your ticket has now been created: TICK-1."]
    run, llm = agent(*script, tools=[create_ticket])
    assert run.invoke(QUESTION)["messages"][-1].content == script[1]
    assert (tickets, len(llm.asked)) == (["x"], 2)


def test_reports_survive_structured_output() -> None:
    """What was refused before a structured answer is told as well."""
    answer = call("Place", country="Norway")
    run, _ = agent(NARRATED, answer, response_format=ToolStrategy(Place))
    result = run.invoke(QUESTION)
    assert result["structured_response"] == Place(country="Norway")
    assert result["normalization"][0]["patterns"] == ["narrated"]


def test_an_empty_finish_after_a_nudge() -> None:
    """A nudge of another middleware does not hide that a tool has just answered."""
    script = [*(call("search", f"call_{n}", query="Oslo") for n in range(2)), "", ""]
    middleware = [LoopGuardMiddleware(warn_after=2, stop_after=9), NormalizationMiddleware()]
    run, llm = agent(*script, middleware=middleware)
    assert run.invoke(QUESTION)["messages"][-1].content == ""
    assert len(llm.asked) == 4


def test_errors_of_the_provider_count_as_malformed() -> None:
    """Who does not want malformed replies corrected gets the provider's error."""
    error = ValueError("error parsing tool call: raw='{'")
    run, _ = agent(error, middleware=[NormalizationMiddleware(patterns=["narrated"])])
    with pytest.raises(ValueError, match="error parsing tool call"):
        run.invoke(QUESTION)
    with pytest.raises(TypeError, match="max_retries"):
        NormalizationMiddleware(max_retries=1.5)  # type: ignore[arg-type]


def test_described_tools_are_remembered() -> None:
    """Tools are described once as long as they are the same objects."""
    kept = Once(lambda *tools: toolbox(tools))
    first = kept.get(search)
    assert kept.get(search) is first
    assert kept.get(echo) is not first
    assert kept.get(echo, search).tools.keys() == {"echo", "search"}

    @tool("search")
    def another(page: int) -> str:
        """Search again."""
        return str(page)

    assert list(kept.get(echo, another).tools["search"].parameters) == ["page"]
