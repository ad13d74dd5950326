"""The loop: what is used, what is made, what is asked again, and when it ends."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import (
    Ask,
    AskUser,
    Done,
    Failure,
    FailurePattern,
    FinalAnswer,
    GaveUp,
    Mending,
    NormalizationError,
    ReadingConfig,
    Reply,
    RetryPolicy,
    ToolCall,
    read_turn,
)
from loopmend.mending import (
    Message,
    NativeCall,
    action_schema,
    check_on_failure,
    constrained,
    is_clean,
)
from loopmend.reading import Toolbox
from tests.core.strategies import emitted_text

SEARCH = {
    "name": "search",
    "parameters": {
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"],
    },
}
TOOLS = [SEARCH, "now"]
WRITTEN = '{"name": "search", "arguments": {"query": "Oslo"}}'
GOOD = NativeCall("search", {"query": "Oslo"}, "call_1")
NARRATED = "Let me search for that."


def started(**options: Any) -> Mending:
    """Return a loop that has asked its question."""
    question = options.pop("question", "Where is Oslo?")
    after = options.pop("after_tool_result", False)
    policy = RetryPolicy(**options.pop("policy", {}))
    mending = Mending(options.pop("tools", TOOLS), policy=policy, **options)
    mending.start(question, after_tool_result=after)
    return mending


def asked(mending: Mending, reply: Reply) -> Ask:
    """Return what the loop asks after a reply."""
    step = mending.reply(reply)
    assert isinstance(step, Ask)
    return step


@pytest.mark.parametrize(
    "reply",
    [
        Reply("It is in Norway."),
        Reply(calls=(GOOD,)),
        Reply("Looking.", (GOOD,)),
        Reply(calls=(GOOD,), finish_reason="tool_calls"),
        Reply(holds_more=True),
    ],
    ids=["answer", "call", "both", "finish-reason", "image"],
)
def test_a_good_reply_is_used_as_it_is(reply: Reply) -> None:
    """Nothing is changed about a reply that keeps to the protocol."""
    step = started().reply(reply)
    assert isinstance(step, Done)
    assert (step.calls, step.content, step.refused, step.outcome) == (None, None, (), "clean")


@pytest.mark.parametrize(
    ("reply", "pattern"),
    [
        (Reply(NARRATED), "narrated"),
        (Reply(""), "empty"),
        (Reply("```json\n```"), "empty"),
        (Reply("{}"), "empty"),
        (Reply(calls=(NativeCall("serach", {"query": "x"}, "1"),)), "unknown_tool"),
        (Reply('{"name": "launch", "arguments": {"query": "x"}}'), "unknown_tool"),
        (Reply(calls=(NativeCall("search", {"q": "x"}, "1"),)), "bad_arguments"),
        (Reply(broken_calls=(NativeCall("search", '{"query": "Os', "1"),)), "truncated"),
        (Reply(error=ValueError("error parsing tool call")), "malformed"),
        (Reply(finish_reason="MALFORMED_FUNCTION_CALL"), "malformed"),
        (
            Reply(calls=(GOOD, NativeCall("serach", {"query": "x"}, "2"))),
            "unknown_tool",
        ),
    ],
)
def test_a_bad_reply_is_asked_about(reply: Reply, pattern: str) -> None:
    """Listeners learn which retry it is, what was wrong and what the model is told."""
    mending = started()
    step = asked(mending, reply)
    assert step.attempt == 1
    assert step.retry is not None
    assert step.retry.data() == {
        "attempt": 1,
        "pattern": pattern,
        "message": mending.refused[0].message,
        "correction": step.messages[-1].content,
    }


def test_a_written_call_is_made() -> None:
    """It is the whole reply, complete, and fits its tool: asking would only cost a call."""
    for text in (WRITTEN, f"```json\n{WRITTEN}\n```", f"<tool_call>{WRITTEN}</tool_call>"):
        step = started().reply(Reply(text))
        assert isinstance(step, Done)
        assert step.outcome == "made"
        assert step.calls is not None
        assert [(c.name, c.arguments) for c in step.calls] == [("search", {"query": "Oslo"})]
        assert step.calls[0].id
        assert step.content == ""
        assert [failure.pattern.value for failure in step.refused] == ["textual_call"]
    step = started().reply(Reply(f"Let me look that up.\n```json\n{WRITTEN}\n```"))
    assert isinstance(step, Done)
    assert step.content == "Let me look that up."


def test_a_written_call_that_is_repeated_is_made_once() -> None:
    """Models repeat what they write, and nobody wants a thing done twice for that."""
    other = WRITTEN.replace("Oslo", "Bergen")
    done = started().reply(Reply(f"{WRITTEN}\n{other}\n{WRITTEN}"))
    assert isinstance(done, Done)
    assert [call.arguments for call in done.calls or ()] == [{"query": "Oslo"}, {"query": "Bergen"}]
    twice = started().reply(Reply(calls=(GOOD, GOOD)))
    assert isinstance(twice, Done)
    assert len(twice.calls or ()) == 2  # through the interface a model may well mean both


TEXTS = {name: {"type": "string"} for name in ("to", "body")}
SENDERS = [
    {"name": name, "parameters": {"properties": TEXTS, "required": ["to", "body"]}}
    for name in ("send_mail", "send_text")
]


@pytest.mark.parametrize(
    ("tools", "called", "made"),
    [(SENDERS, "send", False), (SENDERS[:1], "send", True), (SENDERS, "send_mail", True)],
    ids=["guessed", "the only one", "named"],
)
def test_arguments_alone_that_several_tools_take(tools: Any, called: str, made: bool) -> None:  # noqa: FBT001
    """Only the model can say which one it means: a tool that we suggested may be the wrong one."""
    mending = started(tools=tools)
    given = {"to": "Ann"} if called == "send_mail" else {"to": "Ann", "body": "Hi"}
    asked(mending, Reply(calls=(NativeCall(called, given, "1"),)))
    step = mending.reply(Reply('{"to": "Ann", "body": "Hello"}'))
    assert isinstance(step, Done) is made
    if isinstance(step, Done):
        assert [call.name for call in step.calls or ()] == ["send_mail"]
    else:
        assert mending.refused[-1].pattern is FailurePattern.TEXTUAL_CALL


def test_the_example_of_a_call_beside_others_is_that_call() -> None:
    """What the text calls beside the interface is shown as it was, not with other values."""
    said = Reply(
        '{"name": "search", "arguments": {"query": "Bergen"}}', (NativeCall("now", {}, "1"),)
    )
    told = asked(started(policy={"show_refused": False}), said).messages[-1].content
    assert told.endswith('{"query": "Bergen"}')


def test_what_is_left_beside_a_made_call_is_no_markup() -> None:
    """A fence, a quote or a bracket as content becomes the next answer."""
    step = started().reply(Reply(f"Calling search [1]:\n{WRITTEN}"))
    assert isinstance(step, Done)
    assert step.content == ""
    contract = '{"type": "tool_call", "name": "search", "arguments": {"query": "Oslo"}}'
    step = started().reply(Reply(contract))
    assert isinstance(step, Done)
    assert (step.content, step.outcome) == ("", "made")


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (f"I\u2019ll look that up.\n{WRITTEN}", "I\u2019ll look that up."),
        (f"I\u2019ll look up \u201cOslo\u201d.\n{WRITTEN}", ""),
        (f"Let me check \u00abOslo\u00bb:\n{WRITTEN}", ""),
        (f"Sure (one moment):\n{WRITTEN}", ""),
        (f"Sure!\njson\n{WRITTEN}", "Sure!"),
        (f"Sure!\nassistant:\n{WRITTEN}", "Sure!"),
        (f"{WRITTEN}\nObservation: in Sweden", ""),
        (f"{WRITTEN}\nI will wait for the result.", ""),
    ],
)
def test_what_stays_beside_a_made_call(said: str, left: str) -> None:
    """Words before it, if they are plain: what follows a call cannot know what it returns."""
    step = started().reply(Reply(said))
    assert isinstance(step, Done)
    assert (step.outcome, step.content) == ("made", left)


MODES = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": ["keep", "drop"]},
        "days": {"type": "integer", "maximum": 90},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "to": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
    "required": ["mode"],
}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"mode": "keep", "days": 7, "ids": [1], "to": {"name": "Ann"}}, True),
        ({"mode": "purge"}, False),
        ({"mode": "keep", "days": 9000}, False),
        ({"mode": "keep", "ids": ["all"]}, False),
        ({"mode": "keep", "to": {"nme": "Ann"}}, False),
    ],
)
def test_a_written_call_has_to_fit_the_whole_schema(given: dict[str, Any], made: bool) -> None:  # noqa: FBT001
    """Nobody but the schema vouches for a call that did not come through the interface."""
    mending = Mending([{"name": "clean", "parameters": MODES}])
    mending.start()
    step = mending.reply(Reply(json.dumps({"name": "clean", "arguments": given})))
    assert isinstance(step, Done if made else Ask)


def test_an_example_of_no_arguments_is_left_out() -> None:
    """`{}` says nothing, and would come back as an empty reply."""
    mending = Mending([{"name": "now", "parameters": {"type": "object", "properties": {}}}])
    mending.start()
    step = mending.reply(Reply("I will call now."))
    assert isinstance(step, Ask)
    assert "{" not in step.messages[-1].content


def test_a_refused_schema_costs_no_retry() -> None:
    """Who repeats a reply that it was never asked about in words is asked in words."""
    mending = Mending(TOOLS, can_constrain=True)
    mending.start("Where is Oslo?", after_tool_result=True)
    told = Reply("I will search for it.")
    assert mending.reply(told).schema is not None  # type: ignore[union-attr]
    assert isinstance(mending.raised(TypeError("unexpected argument 'response_format'")), Ask)
    assert isinstance(mending.reply(told), Ask)
    assert isinstance(mending.reply(told), GaveUp)


def test_which_written_calls_are_made() -> None:
    """None, or only those of tools that somebody named."""
    assert isinstance(started(policy={"salvage": False}).reply(Reply(WRITTEN)), Ask)
    assert isinstance(started(policy={"salvage": ["now"]}).reply(Reply(WRITTEN)), Ask)
    assert isinstance(started(policy={"salvage": ["search"]}).reply(Reply(WRITTEN)), Done)


@pytest.mark.parametrize(
    ("question", "made"),
    [
        ("Show me the JSON for search, do not run it.", False),
        ("What would the tool call look like?", False),
        ("Zeig mir den Aufruf, ohne ihn auszuführen.", False),
        ("Write the call to search for Oslo; it must not be executed.", False),
        ("What search would you send for Oslo? I will run it myself.", False),
        ("Search for Oslo without calling my boss.", True),
        ("Search for Oslo. Do not make anything up.", True),
        ("Search for Oslo, without making assumptions.", True),
        ("Check the weather first, then search for Oslo.", True),
        ("Search for Oslo; no need to do a forecast.", True),
        ("Don't call me Bob. Search for Oslo, and never send me links.", True),
        ("Give me a preview of Oslo.", True),
        ("Show me where Oslo is.", True),
        ("Call a taxi in Oslo.", True),
        ("", True),
    ],
)
def test_a_call_that_the_user_wants_to_see_is_not_made(question: str, made: bool) -> None:  # noqa: FBT001
    """Who asks to see a call does not ask for its effect: then the text is the answer."""
    step = started(question=question, can_constrain=True).reply(Reply(WRITTEN))
    assert isinstance(step, Done)
    assert (step.calls is not None) is made
    assert (step.turn.actions == (FinalAnswer(WRITTEN),)) is not made


def test_broken_arguments_are_used_if_they_can_be_read() -> None:
    """Other quotes are no reason to ask; the id stays."""
    broken = NativeCall("search", "{'query': 'Oslo'}", "b1")
    step = started().reply(Reply(broken_calls=(broken,)))
    assert isinstance(step, Done)
    assert step.calls == (NativeCall("search", {"query": "Oslo"}, "b1"),)
    assert step.content is None


def test_calls_get_ids_of_their_own() -> None:
    """A call without an id, or with that of another, could not be answered."""
    for ids in ((None, None), ("1", "1"), ("1", None)):
        calls = tuple(NativeCall("search", {"query": str(n)}, id) for n, id in enumerate(ids))
        step = started(new_id=iter("ab").__next__).reply(Reply(calls=calls))
        assert isinstance(step, Done)
        assert step.calls is not None
        assert len({call.id for call in step.calls}) == 2
        assert step.calls[0].id == (ids[0] or "a")


def test_who_says_nothing_after_a_result_is_asked_for_the_answer_once() -> None:
    """Then it may finish so; but nothing answers another correction."""
    mending = started(after_tool_result=True)
    step = asked(mending, Reply(""))
    assert step.retry is not None
    assert (step.retry.pattern, step.retry.correction) == (
        "empty",
        "Your reply was empty. Answer from what the tools returned: Where is Oslo?",
    )
    done = mending.reply(Reply(""))
    assert isinstance(done, Done)
    assert done.turn.actions == (FinalAnswer(""),)
    mending = started(after_tool_result=True)
    asked(mending, Reply(NARRATED))
    assert isinstance(mending.reply(Reply("")), Ask)
    never = started(after_tool_result=True, policy={"max_retries": 0})
    assert isinstance(never.reply(Reply("")), Done)


def test_silence_after_another_correction_is_no_answer() -> None:
    """Who was asked for the answer, and describes a call instead, has more to do than to finish."""
    mending = started(after_tool_result=True)
    for said in ("", NARRATED, ""):
        step = mending.reply(Reply(said))
    assert isinstance(step, GaveUp)
    assert [f.pattern.value for f in step.refused] == ["empty", "narrated", "empty"]


def test_without_tools_there_is_no_protocol_to_break() -> None:
    """A chat may say what it likes, but a call is one of an unknown tool."""
    assert isinstance(started(tools=[]).reply(Reply(NARRATED)), Done)
    assert isinstance(started(tools=[]).reply(Reply(calls=(GOOD,))), Ask)


def test_patterns_that_nobody_wants_mended() -> None:
    """A reply that fails in another way than those asked for is used as it is."""
    step = started(policy={"patterns": ["empty"]}).reply(Reply(NARRATED))
    assert isinstance(step, Done)
    assert (step.calls, step.content) == (None, None)


def test_the_refused_reply_is_not_shown_again() -> None:
    """Models repeat what they see: only the correction is added, and a later one replaces it."""
    mending = started()
    first = asked(mending, Reply(NARRATED))
    assert [message.role for message in first.messages] == ["user"]
    second = asked(mending, Reply(""))
    assert [message.role for message in second.messages] == ["user"]
    assert second.messages != first.messages


def test_after_a_result_the_refused_reply_is_shown() -> None:
    """There models go on from what they see; a repeat is dropped once, and calls get answers."""
    mending = started(after_tool_result=True, policy={"max_retries": 5})
    step = asked(mending, Reply(NARRATED))
    assert [message.role for message in step.messages] == ["assistant", "user"]
    assert step.messages[0].content == NARRATED
    step = asked(mending, Reply(NARRATED))
    assert [message.role for message in step.messages] == ["user"]
    assert isinstance(mending.reply(Reply(NARRATED)), GaveUp)
    unknown = Reply(calls=(NativeCall("serach", {"query": "Oslo"}, "2"),))
    step = asked(started(after_tool_result=True), unknown)
    assert [message.role for message in step.messages] == ["assistant", "tool"]
    never = started(after_tool_result=True, policy={"show_refused": False})
    assert [message.role for message in asked(never, unknown).messages] == ["user"]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(error=ValueError("error parsing tool call")),
        Reply(calls=(NativeCall("serach", {"query": "Oslo"}, None),)),
    ],
    ids=["error", "no id"],
)
def test_what_cannot_be_shown_counts_as_dropped(reply: Reply) -> None:
    """Who repeats it has not seen it: to ask about it once more would change nothing."""
    mending = started(after_tool_result=True, policy={"max_retries": 5})
    assert [message.role for message in asked(mending, reply).messages] == ["user"]
    assert isinstance(mending.reply(reply), GaveUp)


def test_under_a_schema_the_refused_reply_is_dropped() -> None:
    """With the form guaranteed, fewer words are better; who cannot be constrained is shown it."""
    policy = {"max_retries": 5}
    mending = started(after_tool_result=True, can_constrain=True, policy=policy)
    assert asked(mending, Reply(NARRATED)).messages == ()
    cut = Reply('{"type": "final", "content": "It is in')
    assert [message.role for message in asked(mending, cut).messages] == ["user"]
    assert isinstance(mending.reply(Reply(NARRATED)), GaveUp)
    mending = started(after_tool_result=True, can_constrain=True, policy=policy)
    asked(mending, Reply(NARRATED))
    assert [m.role for m in mending.unconstrained().messages] == ["assistant", "user"]


def test_what_a_constrained_conversation_cannot_show() -> None:
    """Where there is a picture, nothing is constrained, unless the conversation stays as it is."""
    policy = RetryPolicy(constrain="always")
    mending = Mending(TOOLS, policy=policy, can_constrain=True)
    assert mending.start("What is this?", holds_more=True).schema is None
    assert asked(mending, Reply(NARRATED)).schema is None
    mending = Mending(schema=dict[str, int], policy=policy, can_constrain=True)
    assert mending.start("What is this?", holds_more=True).schema is not None


def test_show_refused_is_checked() -> None:
    """A misspelt option is an error, not a default."""
    with pytest.raises(ValueError, match="show_refused must be"):
        RetryPolicy(show_refused="always")  # type: ignore[arg-type]


def test_every_pending_call_is_answered_exactly_once() -> None:
    """Where refused replies are shown, as providers want it: one valid and one invalid call."""
    calls = (
        GOOD,
        NativeCall("serach", {"query": "b"}, "2"),
        NativeCall("search", {"query": "c"}, "2"),
        NativeCall("search", {"query": "d"}, None),
    )
    broken = (NativeCall("", "{", "3"), NativeCall("search", "{", None))
    mending = started(policy={"show_refused": True})
    step = asked(mending, Reply("Hm.", calls, broken))
    said, *answers = step.messages
    assert [call.id for call in said.calls] == ["call_1", "2", "3"]
    assert [message.call_id for message in answers if message.role == "tool"] == [
        *("call_1", "2", "3")
    ]
    step = asked(mending, Reply("", (NativeCall("nope", {}, "4"),)))
    assert sum(message.role == "tool" for message in step.messages) == 4
    assert step.messages[-1].content.startswith("Unknown tool.")


def test_shown_text_without_calls() -> None:
    """A text is shown with the correction behind it; an empty one is not."""
    policy = {"show_refused": True}
    step = asked(started(policy=policy), Reply(NARRATED))
    assert [message.role for message in step.messages] == ["assistant", "user"]
    step = asked(started(policy=policy), Reply(""))
    assert [message.role for message in step.messages] == ["user"]
    other = NativeCall("search", {"query": "Bergen"}, "2")
    two = Reply(calls=(GOOD, other), finish_reason="length")
    step = asked(started(policy=policy), two)
    assert [message.role for message in step.messages] == ["assistant", "tool", "tool", "user"]


def test_a_repeat_word_for_word_is_dropped_once_and_then_ends() -> None:
    """Who was shown its reply is no longer; who was not, and repeats it, will go on so."""
    mending = started(policy={"max_retries": 5, "show_refused": True})
    asked(mending, Reply(NARRATED))
    step = asked(mending, Reply(NARRATED))
    assert [message.role for message in step.messages] == ["user"]
    verdict = mending.reply(Reply(NARRATED))
    assert isinstance(verdict, GaveUp)
    assert verdict.retries == 2
    mending = started(policy={"max_retries": 5})
    asked(mending, Reply(NARRATED))
    assert isinstance(mending.reply(Reply(NARRATED)), GaveUp)
    mending = started(policy={"max_retries": 5})
    unseen = Reply(error=ValueError("unseen"), holds_more=True)
    failure = Failure(FailurePattern.MALFORMED, "m", (0, 0))
    mending.refuse(unseen, failure)
    assert isinstance(mending.refuse(unseen, failure), Ask)


def test_giving_up() -> None:
    """It says what the model said, or why there is nothing, and what was wrong first."""
    mending = started(policy={"max_retries": 1})
    asked(mending, Reply(""))
    verdict = mending.reply(Reply(calls=(NativeCall("nope", {}, "1"),)))
    assert isinstance(verdict, GaveUp)
    assert verdict.answer == "Gave up after 1 retry: The reply is empty."
    assert [failure.pattern.value for failure in verdict.refused] == ["empty", "unknown_tool"]
    error = verdict.error()
    assert str(error) == "Gave up after 1 retry: There is no tool `nope`."
    back = pickle.loads(pickle.dumps(error))
    assert (back.failure, back.retries) == (error.failure, 1)
    assert isinstance(back, NormalizationError)
    step = started(policy={"max_retries": 0}).reply(Reply(NARRATED))
    assert isinstance(step, GaveUp)
    assert step.answer == NARRATED


def test_a_parser_of_others_may_refuse() -> None:
    """Its own words go to the model."""
    mending = started(form="json")
    failure = Failure(FailurePattern.MALFORMED, "not a number", (0, 0))
    step = mending.refuse(Reply("four"), failure, "Give a number.")
    assert isinstance(step, Ask)
    assert step.messages[0].content == "Give a number."


# -- constraining


FINAL = '{"type": "final", "content": "In Norway."}'


def test_the_first_retry_is_constrained_where_that_can_be() -> None:
    """Then nothing is said: the schema says it all."""
    mending = started(can_constrain=True)
    step = asked(mending, Reply(NARRATED))
    assert step.messages == ()
    assert step.schema is not None
    assert step.retry is not None
    assert step.retry.correction is None
    done = mending.reply(
        Reply('{"type": "tool_call", "name": "search", "arguments": {"query": "x"}}')
    )
    assert isinstance(done, Done)
    assert done.calls is not None
    assert (done.calls[0].name, done.content, done.outcome) == ("search", "", "mended")


def test_constrained_from_the_start() -> None:
    """The reply is read by the contract itself."""
    mending = Mending(TOOLS, policy=RetryPolicy(constrain="always"), can_constrain=True)
    assert mending.start("Where is Oslo?").schema is not None
    step = mending.reply(Reply(FINAL))
    assert isinstance(step, Done)
    assert (step.calls, step.content) == (None, "In Norway.")
    assert step.turn.actions == (FinalAnswer("In Norway."),)
    mending = Mending(TOOLS, policy=RetryPolicy(constrain="always"), can_constrain=True)
    mending.start()
    step = mending.reply(Reply('{"type": "ask_user", "question": "Which Oslo?"}'))
    assert isinstance(step, Done)
    assert (step.turn.actions, step.content) == ((AskUser("Which Oslo?"),), "Which Oslo?")


def test_a_constrained_reply_may_still_be_wrong() -> None:
    """A type that the schema could not say is asked about, with the schema and in words."""
    mending = started(can_constrain=True)
    asked(mending, Reply(NARRATED))
    step = asked(mending, Reply('{"type": "tool_call", "name": "search", "arguments": {}}'))
    assert step.schema is not None
    assert "`search` needs `query`" in step.messages[0].content
    assert "one JSON object" in step.messages[0].content
    done = started(can_constrain=True, policy={"constrain": "always"}).reply(
        Reply('{"type": "tool_call", "name": "search", "arguments": {"query": "x", "limit": "2"}}')
    )
    assert isinstance(done, Done)
    assert done.turn.fidelity == "repaired"


def test_a_provider_that_ignores_the_schema_is_read_as_ever() -> None:
    """Some servers take a schema and do nothing about it."""
    mending = started(can_constrain=True)
    asked(mending, Reply(NARRATED))
    step = mending.reply(Reply("It is in Norway."))
    assert isinstance(step, Done)
    assert step.content is None


def test_a_provider_that_takes_no_schema_is_asked_in_words() -> None:
    """Also where it was to be constrained from the start."""
    mending = started(can_constrain=True)
    asked(mending, Reply(NARRATED))
    step = mending.unconstrained()
    assert (step.schema, step.attempt, step.retry) == (None, 1, None)
    assert step.messages[0].content.startswith("You described a tool call")
    assert asked(mending, Reply("")).schema is None
    mending = Mending(TOOLS, policy=RetryPolicy(constrain="always"), can_constrain=True)
    mending.start()
    assert mending.unconstrained() == Ask()


def test_without_tools_or_without_leave_nothing_is_constrained() -> None:
    """There is no action to constrain to, or nobody wants it."""
    every: list[dict[str, Any]] = [{"tools": []}, {"tools": None}, {"policy": {"constrain": False}}]
    for options in every:
        assert (
            asked(
                started(can_constrain=True, **options),
                Reply(calls=(NativeCall("x", {}, "1"),), finish_reason="length"),
            ).schema
            is None
        )


# -- options


def test_policies_are_checked() -> None:
    """A mistake in an option is an error at once."""
    for options, error in (
        ({"max_retries": -1}, ValueError),
        ({"max_retries": "2"}, TypeError),
        ({"constrain": "never"}, ValueError),
        ({"salvage": "search"}, TypeError),
        ({"patterns": ["no such"]}, ValueError),
    ):
        with pytest.raises(error):
            RetryPolicy(**options)
    with pytest.raises(ValueError, match="'return', 'raise' or a function, not 'answer'"):
        check_on_failure("answer")
    check_on_failure(print)


def test_clean_is_clean() -> None:
    """What is told clean at a glance is what the loop uses as it is."""
    box = Toolbox(TOOLS)
    assert is_clean(Reply(calls=(GOOD,)), box)
    assert not is_clean(Reply("Looking.", (GOOD,)), box)
    assert not is_clean(Reply(calls=(NativeCall("search", {"query": "x"}, None),)), box)
    assert not is_clean(Reply(broken_calls=(GOOD,)), box)
    assert not is_clean(Reply("Fine.", finish_reason="length"), box)


@given(emitted_text)
def test_clean_texts_are_used_as_they_are(text: str) -> None:
    """The short way agrees with the long one."""
    if is_clean(Reply(text), Toolbox(TOOLS)):
        step = started().reply(Reply(text))
        assert isinstance(step, Done)
        assert (step.calls, step.content) == (None, None)


@given(emitted_text, st.booleans())
def test_clean_texts_are_clean_after_a_correction(text: str, can: bool) -> None:  # noqa: FBT001
    """Then too, in words or under a schema: the adapters need not read them again."""
    if is_clean(Reply(text), Toolbox(TOOLS)):
        mending = started(can_constrain=can)
        assert asked(mending, Reply("")).schema is None or can
        step = mending.reply(Reply(text))
        assert isinstance(step, Done)
        assert (step.calls, step.content, step.outcome) == (None, None, "mended")


@given(emitted_text, st.sampled_from([None, "stop", "length", "content_filter"]))
def test_what_is_only_a_text_reads_as_one(text: str, reason: str | None) -> None:
    """Parsers read such a reply without its message."""
    reply, config = Reply(text, finish_reason=reason), ReadingConfig()
    assert reply.is_text == (reason in (None, "stop"))
    if reply.is_text:
        assert reply.read(Toolbox(TOOLS), "text", config) == read_turn(text, tools=TOOLS)


@pytest.mark.parametrize(
    "more", [{"calls": (GOOD,)}, {"broken_calls": (GOOD,)}, {"error": OSError()}]
)
def test_what_is_more_than_a_text(more: Any) -> None:
    """Its text alone does not tell what the model asks for."""
    assert not Reply("It is in Norway.", **more).is_text


replies = st.builds(
    Reply,
    emitted_text,
    st.lists(
        st.builds(
            NativeCall,
            st.sampled_from(["search", "nope", ""]),
            st.just({}),
            st.sampled_from([None, "1"]),
        ),
        max_size=2,
    ).map(tuple),
    finish_reason=st.sampled_from([None, "length", "stop"]),
)


@given(
    st.lists(replies, min_size=1, max_size=8),
    st.integers(0, 4),
    st.sampled_from(["react", "json", "native"]),
    st.sampled_from([True, False, "calls", "after_result"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["retry", "always", False]),
)
def test_the_bound_is_never_exceeded(  # noqa: PLR0913, PLR0917
    script: list[Reply],
    bound: int,
    form: Any,
    show: Any,
    after: bool,  # noqa: FBT001
    can: bool,  # noqa: FBT001
    constrain: Any,
) -> None:
    """Whatever a model replies, however it is asked, it is asked at most that often again."""
    policy = RetryPolicy(bound, show_refused=show, constrain=constrain)
    mending = Mending(TOOLS, form, policy=policy, can_constrain=can)
    step: Any = mending.start("Where is Oslo?", after_tool_result=after)
    times = 0
    for reply in script * 3:
        if not isinstance(step, Ask):
            break
        assert step.attempt == times <= bound
        times += 1
        step = mending.reply(reply)
    assert times <= bound + 1
    if isinstance(step, Done) and step.calls is not None:
        assert len({call.id for call in step.calls}) == len(step.calls)


@given(st.lists(replies, min_size=1, max_size=4))
def test_corrections_are_no_actions(script: list[Reply]) -> None:
    """What the model is told is never read as a call when it comes back in a transcript."""
    for form in ("react", "json", "native"):
        mending = Mending(TOOLS, form, policy=RetryPolicy(4))
        step: Any = mending.start("Where is Oslo?")
        for reply in script:
            step = mending.reply(reply)
            if not isinstance(step, Ask):
                break
            turn = read_turn(step.messages[-1].content, tools=TOOLS)
            assert not any(isinstance(action, ToolCall) for action in turn.actions)


# -- found by a second pair of eyes


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ('{"type": "tool_call", "name": "search", "argum', "truncated"),
        ('{"type": "final", "content": "It is in', "truncated"),
        ('{"type": "explode"}', "malformed"),
    ],
)
def test_a_constrained_reply_that_is_cut_off_is_no_answer(text: str, pattern: str) -> None:
    """A piece of JSON must not reach the user, not even when the model is given up on."""
    mending = started(can_constrain=True, policy={"constrain": "always", "max_retries": 1})
    step = asked(mending, Reply(text))
    assert step.retry is not None
    assert step.retry.pattern == pattern
    verdict = mending.reply(Reply(text + " "))
    assert isinstance(verdict, GaveUp)
    assert verdict.answer.startswith("Gave up after 1 retry: The reply is")


def test_arguments_alone_after_a_correction_are_the_call() -> None:
    """The correction shows them alone, so models write them alone."""
    bad = Reply(calls=(NativeCall("search", {"q": "Oslo"}, "1"),))
    for text in ('{"query": "Oslo"}', '```json\n{"query": "Oslo"}\n```'):
        mending = started()
        asked(mending, bad)
        step = mending.reply(Reply(text))
        assert isinstance(step, Done)
        assert step.calls is not None
        assert [(c.name, c.arguments) for c in step.calls] == [("search", {"query": "Oslo"})]
        assert (step.content, step.outcome) == ("", "made")
    mending = started(policy={"salvage": False})
    asked(mending, bad)
    assert isinstance(mending.reply(Reply('{"query": "Oslo"}')), Ask)


@pytest.mark.parametrize(
    "text",
    ['{"a": 1}', "It is in Norway.", '{"query": "Oslo"', '{"query": "Oslo", "x": 1}'],
)
def test_other_objects_after_a_correction_are_not(text: str) -> None:
    """What does not fit the tool is read as ever."""
    mending = started()
    asked(mending, Reply(calls=(NativeCall("search", {"q": "Oslo"}, "1"),)))
    step = mending.reply(Reply(text))
    assert not isinstance(step, Done) or step.calls is None
    mending = started()
    asked(mending, Reply(calls=(NativeCall("now", {}, "1"), NativeCall("x", {}, "2"))))
    assert not getattr(mending.reply(Reply('{"a": 1}')), "calls", None)


def test_arguments_alone_of_the_wrong_type() -> None:
    """They are asked about, as those of a call are."""
    mending = started()
    asked(mending, Reply(calls=(NativeCall("search", {"q": "Oslo"}, "1"),)))
    step = asked(mending, Reply('{"query": {"a": 1}}'))
    assert step.retry is not None
    assert step.retry.pattern == "bad_arguments"


def test_the_provider_s_exception_is_the_cause() -> None:
    """Who looks for the reason finds it."""
    raised = ValueError("error parsing tool call")
    verdict = started(policy={"max_retries": 0}).reply(Reply(error=raised))
    assert isinstance(verdict, GaveUp)
    assert verdict.error().__cause__ is raised


def test_an_unknown_tool_s_arguments_fill_the_example() -> None:
    """What the model wrote for the tool that it misspelt is what it meant."""
    step = asked(started(form="react"), Reply('Action: serach\nAction Input: {"query": "Oslo"}'))
    assert step.messages[0].content.endswith('Action: search\nAction Input: {"query": "Oslo"}')


@pytest.mark.parametrize("first", ["Let me search for it.", '{"name": "search", "argum'])
def test_who_wants_to_see_a_call_sees_it(first: str) -> None:
    """Whatever the model says is the answer, also in the only form that it knows."""
    question = "Show me the JSON for search, do not run it."
    for constrain in ("retry", "always"):
        policy = RetryPolicy(constrain=constrain)
        mending = Mending(TOOLS, policy=policy, can_constrain=True)
        schema = mending.start(question).schema
        assert schema == (action_schema(TOOLS, ask_user=False) if constrain == "always" else None)
        for said in (first, '{"type": "tool_call", "name": "search", "arguments": {"query": "x"}}'):
            step = mending.reply(Reply(said))
            assert isinstance(step, Done)
            assert not step.calls
    asked = mending.reply(Reply('{"type": "final", "content": "Here."}'))
    assert isinstance(asked, Done)
    assert asked.content == "Here."


def test_an_answer_is_no_forbidden_tool() -> None:
    """A word of the user's that is also the name of the answer forbids nothing."""
    tools = [*TOOLS, {"name": "answer", "parameters": {"properties": {"text": {}}}}]
    policy = RetryPolicy(constrain="always")
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    mending = Mending(tools, policy=policy, answers={"answer": schema}, can_constrain=True)
    mending.start("Who is it? Use no tool. Do not use answer.")
    reply = '{"type": "tool_call", "name": "answer", "arguments": {"text": "Ann"}}'
    step = mending.reply(Reply(reply))
    assert isinstance(step, Done)
    assert step.value == {"text": "Ann"}


def test_arguments_alone_stay_as_they_are() -> None:
    """A fence inside a text is part of it, and other calls of the reply are not dropped."""
    write = {
        "name": "write",
        "parameters": {"properties": {"text": {"type": "string"}}, "required": ["text"]},
    }
    mending = started(tools=[write, SEARCH])
    asked(mending, Reply(calls=(NativeCall("write", {}, "1"),)))
    step = mending.reply(Reply(r'{"text": "```python\nprint(1)\n```"}'))
    assert isinstance(step, Done)
    assert step.calls is not None
    assert step.calls[0].arguments == {"text": "```python\nprint(1)\n```"}
    mending = started(tools=[write, SEARCH])
    asked(mending, Reply(calls=(NativeCall("write", {}, "1"),)))
    step2 = mending.reply(Reply('{"text": "x"}', (NativeCall("nope", {}, "2"),)))
    assert isinstance(step2, Ask)


def test_constrained_replies_of_models_that_think() -> None:
    """What stands in `<think>` is no part of the action; an empty answer is none."""
    mending = started(can_constrain=True)
    asked(mending, Reply(NARRATED))
    step = mending.reply(Reply(f"<think>hm</think>{FINAL}"))
    assert isinstance(step, Done)
    assert step.content == "In Norway."
    mending = started(can_constrain=True)
    asked(mending, Reply(NARRATED))
    assert isinstance(mending.reply(Reply('{"type": "final", "content": " "}')), Ask)


def test_arguments_that_cannot_be_written_down() -> None:
    """Whatever a client passes, the loop decides."""
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    reply = Reply(calls=(NativeCall("nope", deep, "1"),))
    assert reply.said()[1] == (("nope", ""),)


def test_results_belong_to_the_calls_before_them() -> None:
    """Small servers leave ids out, or use them again."""
    polled = [Message("user", "Poll.")]
    for result in ("busy", "done"):
        polled += [Message("assistant", "", (NativeCall("now", {}, "1"),))]
        polled += [Message("tool", result, call_id="1")]
    said = [message.content for message in constrained(polled, TOOLS)]
    assert said[-3:] == ["Result of now: busy", said[-2], "Result of now: done"]
    calls = (NativeCall("now", {}, None), NativeCall("search", {"query": "x"}, None))
    both = [Message("assistant", "", calls), Message("tool", "A"), Message("tool", "B")]
    said = [message.content for message in constrained(both, TOOLS)]
    assert (said[2], said[4]) == ("Result of now: A", "Result of search: B")
    assert constrained(both[:2], TOOLS)[-1].content == "Result of search: "
