"""The middleware beside normalization: loop guard and signals."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain.agents.middleware import (
    ModelResponse,
    SummarizationMiddleware,
    wrap_model_call,
)
from langgraph.checkpoint.memory import InMemorySaver

from langchain_loopmend.messages import ENDED, made_in
from langchain_loopmend.middleware import (
    LoopGuardMiddleware,
    MetaSignalMiddleware,
    NormalizationMiddleware,
    PlannerMiddleware,
)
from langchain_loopmend.testing import ScriptedChatModel, call
from loopmend.mending import CallResult, calls_of
from tests.integrations.langchain.test_agents import DONE, GOOD, NARRATED, QUESTION, agent, kinds
from tests.integrations.langchain.tools import TOOLS, search, wait

# Loop guard


def looping(*results: str, times: int = 9, **options: Any) -> tuple[Any, ScriptedChatModel]:
    """Return an agent that makes the same call again and again, with these results in turn."""
    outcomes = iter(results * times)

    def look(query: str) -> str:
        """Look something up."""
        return next(outcomes)

    script = [call("look", f"call_{n}", query="Oslo") for n in range(times)]
    return agent(*script, DONE, tools=[look], middleware=[LoopGuardMiddleware(**options)])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_loop_guard(*, asynchronous: bool) -> None:
    """The same call with the same result is told, and stopped if wanted, with a valid history."""
    run, llm = looping("nothing", stop_after=6)
    result = wait(run.ainvoke(QUESTION)) if asynchronous else run.invoke(QUESTION)
    assert result["messages"][-1].content == (
        "Stopped: look was called 6 times with the same arguments and the same result: nothing"
    )
    assert result["messages"][-1].response_metadata == {ENDED: "blocked"}
    assert len(llm.asked) == 6
    nudged = [str(asked[-1].content)[:24] for asked in llm.asked if asked[-1].type == "human"]
    assert nudged == ["Where is Oslo?", *(f"You called look {n} times " for n in (2, 3, 4, 5))]
    calls = {
        str(c["id"]) for m in result["messages"] if isinstance(m, AIMessage) for c in m.tool_calls
    }
    answered = [m.tool_call_id for m in result["messages"] if isinstance(m, ToolMessage)]
    assert sorted(answered) == sorted(calls)
    assert sum(isinstance(m, HumanMessage) for m in result["messages"]) == 1


def test_progress_is_no_loop() -> None:
    """The same call with a new result each time, or of a tool that may repeat, goes on."""
    run, _ = looping(*"123456789")
    assert run.invoke(QUESTION)["messages"][-1].content == DONE
    run, llm = looping("busy", exclude_tools=["look"])
    assert run.invoke(QUESTION)["messages"][-1].content == DONE
    assert not any("You called" in str(asked[-1].content) for asked in llm.asked)
    run, _ = looping("busy")
    assert run.invoke(QUESTION)["messages"][-1].content == DONE  # told, but free to wait


def test_only_since_the_users_last_message() -> None:
    """A new question starts the count anew."""
    run, _ = looping("nothing", warn_after=2, stop_after=3)
    first = run.invoke(QUESTION)
    assert first["messages"][-1].content.startswith("Stopped: ")
    again = run.invoke({"messages": [*first["messages"], ("user", "Again.")]})
    assert len(again["messages"]) == 2 * len(first["messages"])


def test_what_counts_as_a_call() -> None:
    """Answered calls only, whatever other messages there are."""

    def made(*messages: Any) -> tuple[str, list[CallResult]]:
        found = made_in(messages)
        return found["asked"], calls_of(found)

    assert made(SystemMessage("x"), GOOD) == ("", [])
    answered: list[Any] = [SystemMessage("x"), GOOD, ToolMessage("y", tool_call_id="call_1")]
    calls = [CallResult("search", {"query": "Oslo"}, "y")]
    assert made(*answered) == ("", calls)
    asked = HumanMessage("Where?")
    assert made(asked, *answered) == ("Where?", calls)
    assert made(*answered, asked) == ("Where?", [])
    summary = HumanMessage("They asked where.", additional_kwargs={"lc_source": "summarization"})
    assert made(asked, *answered, summary) == ("Where?", calls)
    assert made(asked, *answered[2:], *answered) == ("Where?", calls)
    blocks = ToolMessage([{"type": "text", "text": "y"}], tool_call_id="call_1", status="error")
    [failed] = made(asked, GOOD, blocks)[1]
    assert (failed.result, failed.failed) == ("y", True)
    picture = ToolMessage([{"type": "image", "url": "a.png"}], tool_call_id="call_1")
    assert made(GOOD, picture)[1][0].result == '[{"type": "image", "url": "a.png"}]'
    assert made(GOOD, ToolMessage("", tool_call_id="call_1"))[1][0].result == ""


def test_the_same_call_twice_at_once() -> None:
    """It is made at once, not again and again."""
    twice = AIMessage("", tool_calls=[{**GOOD.tool_calls[0], "id": id} for id in "ab"])
    answers = [ToolMessage("y", tool_call_id=id) for id in "ab"]
    assert len(made_in([HumanMessage("Where?"), twice, *answers])["calls"]) == 1


def test_what_is_remembered_is_short() -> None:
    """However long the question, the arguments and the results are."""
    long = "x" * 1_000_000
    asked: list[Any] = [HumanMessage(long)]
    for n in range(50):
        asked += [
            call("write", f"call_{n}", text=long, n=n),
            ToolMessage(long, tool_call_id=f"call_{n}"),
        ]
        asked[-2].id = str(n)
    made = made_in(asked, None, 30)
    assert len(made["calls"]) == 30
    assert len(str(made)) < 100_000
    again = made_in(asked[1:], made, 30)
    assert again == made


def test_a_summary_does_not_hide_a_loop() -> None:
    """The calls that a summary took out of the conversation count all the same."""
    summary = SummarizationMiddleware(
        ScriptedChatModel(script=["They looked it up."], repeat=True),
        trigger=("messages", 5),
        keep=("messages", 2),
    )
    for middleware in (
        [summary, LoopGuardMiddleware(stop_after=5)],
        [LoopGuardMiddleware(stop_after=5), summary],
    ):
        script = [call("search", f"call_{n}", query="Oslo") for n in range(9)]
        run, llm = agent(*script, middleware=middleware)
        result = run.invoke(QUESTION)
        assert result["messages"][-1].content.startswith("Stopped: search was called 5 times")
        assert len(llm.asked) == 5
        assert not any("Where is Oslo?" in str(m.content) for m in result["messages"])
        assert str(llm.asked[-1][-1].content).startswith("You called search 4 times")
        assert "loop_guard" not in result  # how it remembers is nobody's business


def test_a_question_after_a_summary_starts_anew() -> None:
    """What was called for an earlier question does not count, remembered or not."""
    summary = SummarizationMiddleware(
        ScriptedChatModel(script=["They looked it up."], repeat=True),
        trigger=("messages", 5),
        keep=("messages", 2),
    )
    looked = [call("search", f"call_{n}", query="Oslo") for n in range(6)]
    run, llm = agent(
        *(*looked[:3], DONE, *looked[3:], DONE),
        middleware=[summary, LoopGuardMiddleware(stop_after=4)],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    for _ in range(2):
        assert run.invoke(QUESTION, config)["messages"][-1].content == DONE
    assert len(llm.asked) == 8


def test_ids_that_are_used_again_do_not_hide_a_loop() -> None:
    """Some servers give each call the same id."""
    script = [call("search", "call_0", query="Oslo") for _ in range(9)]
    run, llm = agent(*script, middleware=[LoopGuardMiddleware(stop_after=4)])
    assert run.invoke(QUESTION)["messages"][-1].content.startswith("Stopped: search was called 4")
    assert len(llm.asked) == 4


def test_other_middleware_does_not_hide_a_loop() -> None:
    """What others add to a request, such as a reminder, is no question of the user's."""

    @wrap_model_call
    def remind(request: Any, handler: Any) -> Any:
        reminder = HumanMessage(f"Step {len(request.messages)}: be brief.")
        return handler(request.override(messages=[*request.messages, reminder]))

    script = [call("search", f"call_{n}", query="Oslo") for n in range(9)]
    run, _ = agent(*script, middleware=[remind, LoopGuardMiddleware(stop_after=4)])
    assert run.invoke(QUESTION)["messages"][-1].content.startswith("Stopped: search was called 4")


def test_no_more_is_remembered_than_counts() -> None:
    """A checkpoint holds as many calls as the guard looks at, from before the last reply."""
    script = [call("search", f"call_{n}", query=str(n)) for n in range(9)]
    guard = LoopGuardMiddleware(window=3)
    run, _ = agent(*script, DONE, middleware=[guard], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    run.invoke(QUESTION, config)
    calls = run.get_state(config).values["loop_guard"]["calls"].values()
    assert [given["query"] for _, given, *_ in calls] == ["5", "6", "7"]


def test_loop_guard_limits() -> None:
    """Limits that make no sense are refused."""
    for warn, stop in ((1, 3), (4, 3)):
        with pytest.raises(ValueError, match="1 < warn_after <= stop_after"):
            LoopGuardMiddleware(warn_after=warn, stop_after=stop)
    with pytest.raises(ValueError, match="steps_after must be 0 or more, not -5"):
        LoopGuardMiddleware(steps_after=-5)
    with pytest.raises(TypeError, match="`exclude_tools` must be a collection of tool names"):
        LoopGuardMiddleware(exclude_tools="status")


# Signals


@pytest.mark.parametrize("asynchronous", [False, True])
def test_signals_are_recorded(*, asynchronous: bool) -> None:
    """What the model says about its progress is kept in the state, reply by reply."""
    middleware = [MetaSignalMiddleware()]
    thinking = AIMessage("<thinking>hm</thinking>", tool_calls=GOOD.tool_calls)
    run, _ = agent(thinking, "<answer confidence='0.9'>Norway</answer>", middleware=middleware)
    result = wait(run.ainvoke(QUESTION)) if asynchronous else run.invoke(QUESTION)
    assert [signal["kind"] for signal in result["meta_signals"]] == ["Thinking", "Answer"]
    run, _ = agent(GOOD, DONE, middleware=middleware)
    assert not run.invoke(QUESTION).get("meta_signals")


STUCK = AIMessage("<stuck><attempt>searched</attempt></stuck>", tool_calls=GOOD.tool_calls)


def test_stuck_ends_the_run() -> None:
    """A model that is stuck does not go on calling, unless that is wanted."""
    run, _ = agent(STUCK, middleware=[MetaSignalMiddleware()])
    result = run.invoke(QUESTION)
    assert kinds(result["messages"]) == ["human", "ai"]
    assert result["meta_signals"][0]["kind"] == "Stuck"
    run, _ = agent(STUCK, DONE, middleware=[MetaSignalMiddleware(end=False)])
    assert kinds(run.invoke(QUESTION)["messages"]) == ["human", "ai", "tool", "ai"]


def test_phrases_beside_calls_do_not_count() -> None:
    """A doubt in passing does not stop a call."""
    doubt = AIMessage("I'm stuck on this, so I look it up.", tool_calls=GOOD.tool_calls)
    run, _ = agent(doubt, DONE, middleware=[MetaSignalMiddleware()])
    assert kinds(run.invoke(QUESTION)["messages"]) == ["human", "ai", "tool", "ai"]


def test_other_middleware_may_return_anything() -> None:
    """A response without a reply is passed on as it is."""

    @wrap_model_call
    def silent(request: Any, handler: Any) -> Any:
        return ModelResponse(result=[HumanMessage("Never mind.")])

    for ours in (MetaSignalMiddleware(), NormalizationMiddleware()):
        middleware: list[Any] = [ours, silent]
        llm = ScriptedChatModel(script=[])
        run = create_agent(llm, middleware=middleware)
        assert run.invoke(QUESTION)["messages"][-1].content == "Never mind."
        assert llm.asked == []


def test_on_signal_may_change_the_reply() -> None:
    """A host can turn being stuck into a question."""
    seen: list[Any] = []

    def ask(signal: Any, reply: AIMessage) -> AIMessage | None:
        seen.append((signal, reply))
        return AIMessage("Can you help?") if len(seen) == 1 else None

    for _ in range(2):
        run, _ = agent(STUCK, middleware=[MetaSignalMiddleware(on_signal=ask)])
        last = run.invoke(QUESTION)["messages"][-1]
    assert (len(seen), last.content) == (2, STUCK.content)


def test_resumed_runs_keep_their_reports() -> None:
    """Reports and plans are plain data, so that a checkpointer can keep them."""
    llm = ScriptedChatModel(script=[NARRATED, DONE, NARRATED, DONE])
    saver = InMemorySaver()
    middleware: list[Any] = [
        PlannerMiddleware(),
        NormalizationMiddleware(),
        MetaSignalMiddleware(),
    ]
    run = create_agent(llm, TOOLS, middleware=middleware, checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    run.invoke(QUESTION, config)
    result = run.invoke(QUESTION, config)
    assert len(result["normalization"]) == 2


def test_different_pictures_are_progress() -> None:
    """Results that are no text are compared as well; calls made at once count once."""
    pictures = iter(range(9))

    def screenshot() -> Any:
        """Take a picture of the screen."""
        url = f"data:image/png;base64,{next(pictures)}"
        return [{"type": "image_url", "image_url": {"url": url}}]

    script = [call("screenshot", f"call_{n}") for n in range(5)]
    guard = [LoopGuardMiddleware(warn_after=2, stop_after=3)]
    run, _ = agent(*script, DONE, tools=[screenshot], middleware=guard)
    assert run.invoke(QUESTION)["messages"][-1].content == DONE
    same = [{"name": "search", "args": {"query": "x"}, "id": str(n)} for n in range(6)]
    run, _ = agent(AIMessage("", tool_calls=same), DONE, middleware=guard)
    assert run.invoke(QUESTION)["messages"][-1].content == DONE


def test_a_stuck_reply_keeps_what_it_holds() -> None:
    """Only its calls are left out; tags of another kind beside calls are no signal."""
    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    stuck = AIMessage(str(STUCK.content), tool_calls=GOOD.tool_calls, usage_metadata=usage)
    run, _ = agent(stuck, middleware=[MetaSignalMiddleware()])
    assert run.invoke(QUESTION)["messages"][-1].usage_metadata == usage
    bold = AIMessage("I'm stuck on the <b>date</b>, so I look.", tool_calls=GOOD.tool_calls)
    run, _ = agent(bold, DONE, middleware=[MetaSignalMiddleware()])
    assert kinds(run.invoke(QUESTION)["messages"]) == ["human", "ai", "tool", "ai"]
    tried = "<stuck><attempt>I will search</attempt></stuck>"
    run, llm = agent(tried, middleware=[NormalizationMiddleware(), MetaSignalMiddleware()])
    assert run.invoke(QUESTION)["meta_signals"][0]["kind"] == "Stuck"
    assert len(llm.asked) == 1


def test_a_call_in_what_only_the_request_holds_is_a_quotation() -> None:
    """Other middleware puts documents beside the conversation, or into the instructions."""
    written = '{"name": "search", "arguments": {"query": "Oslo"}}'
    document = f"The page says: {written}"

    @wrap_model_call
    def retrieve(request: Any, handler: Any) -> Any:
        return handler(request.override(messages=[HumanMessage(document), *request.messages]))

    cases: Any = (([retrieve], None), ([], document))
    for middleware, prompt in cases:
        llm = ScriptedChatModel(script=[written, "It is in Norway."])
        agent: Any = create_agent(
            llm, [search], system_prompt=prompt, middleware=[*middleware, NormalizationMiddleware()]
        )
        said = agent.invoke({"messages": [("user", "What does the page say?")]})["messages"]
        assert [message.content for message in said[1:]] == [written]
