"""Messages of every provider and framework become the same steps."""

from __future__ import annotations

import json
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from loopmend import Trace, classify_trace
from loopmend.traces import Observation, Tokens, TraceCall
from loopmend.traces.readers.spans import said_by_model

ASK = "Where is Oslo?"
ANSWER = "In Norway."
GIVEN = {"query": "Oslo"}


def openai(**call: Any) -> list[Any]:
    """Return a conversation in OpenAI's format, with a call in another shape."""
    return [
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "assistant", "content": ANSWER},
    ]


CONVERSATIONS: dict[str, list[Any]] = {
    "openai": openai(id="c1", function={"name": "search", "arguments": json.dumps(GIVEN)}),
    "langchain dicts": openai(id="c1", name="search", args=GIVEN, type="tool_call"),
    "responses": [
        {"role": "user", "content": ASK},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "look"}]},
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "search",
            "arguments": json.dumps(GIVEN),
        },
        {"type": "function_call_output", "call_id": "c1", "output": "found"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": ANSWER}],
        },
    ],
    "anthropic": [
        {"role": "user", "content": ASK},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "summary": [{"text": "look"}]},
                {"type": "tool_use", "id": "c1", "name": "search", "input": GIVEN},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "found"}],
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": ASK}]},
        {
            "role": "model",
            "parts": [
                {"thought": True, "text": "look"},
                {"functionCall": {"name": "search", "args": GIVEN}},
            ],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "search", "response": {"result": "found"}}}],
        },
        {"role": "model", "parts": [{"text": ANSWER}]},
    ],
    "bedrock": [
        {"role": "user", "content": [{"text": ASK}]},
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "c1", "name": "search", "input": GIVEN}}],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "found"}]}}],
        },
        {"role": "assistant", "content": [{"text": ANSWER}]},
    ],
    "langchain constructors": [
        {"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"], "kwargs": {"content": ASK}},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["x", "AIMessage"],
            "kwargs": {
                "content": "",
                "tool_calls": [{"name": "search", "args": GIVEN, "id": "c1"}],
            },
        },
        {
            "lc": 1,
            "type": "constructor",
            "id": ["x", "ToolMessage"],
            "kwargs": {"content": "found", "tool_call_id": "c1"},
        },
        {"lc": 1, "type": "constructor", "id": ["x", "AIMessage"], "kwargs": {"content": ANSWER}},
    ],
    "langchain data": [
        {"type": "human", "data": {"content": ASK}},
        {
            "type": "ai",
            "data": {
                "content": "",
                "additional_kwargs": {
                    "tool_calls": [
                        {
                            "id": "c1",
                            "function": {"name": "search", "arguments": '{"query":"Oslo"}'},
                        }
                    ]
                },
            },
        },
        {"type": "tool", "data": {"content": "found", "tool_call_id": "c1", "name": "search"}},
        {"type": "ai", "data": {"content": ANSWER}},
    ],
    "vercel": [
        {"role": "user", "content": ASK},
        {
            "role": "assistant",
            "content": [
                {"type": "tool-call", "toolCallId": "c1", "toolName": "search", "input": GIVEN}
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "search",
                    "output": {"type": "text", "value": "found"},
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    ],
    "sharegpt": [
        {"from": "human", "value": ASK},
        {"from": "function_call", "value": json.dumps({"name": "search", "arguments": GIVEN})},
        {"from": "observation", "value": "found"},
        {"from": "gpt", "value": ANSWER},
    ],
    "hermes": [
        {"from": "human", "value": ASK},
        {
            "from": "gpt",
            "value": f"<tool_call>{json.dumps({'name': 'search', 'arguments': GIVEN})}</tool_call>",
        },
        {"from": "tool", "value": "found"},
        {"from": "gpt", "value": ANSWER},
    ],
    "inspect": openai(id="c1", function="search", arguments=GIVEN, type="function"),
    "agentdojo": [
        {"role": "user", "content": [{"type": "text", "content": ASK}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"function": "search", "args": GIVEN, "id": "c1", "placeholder_args": None}
            ],
        },
        {
            "role": "tool",
            "content": [{"type": "text", "content": "found"}],
            "tool_call_id": "c1",
            "tool_call": {"function": "search", "args": GIVEN},
            "error": None,
        },
        {"role": "assistant", "content": [{"type": "text", "content": ANSWER}]},
    ],
    "genai": [
        {"role": "user", "parts": [{"type": "text", "content": ASK}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "look"},
                {"type": "tool_call", "id": "c1", "name": "search", "arguments": GIVEN},
            ],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "c1", "response": "found"}],
        },
        {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]},
    ],
    "objects": [
        SimpleNamespace(role=SimpleNamespace(value="user"), content=ASK),
        SimpleNamespace(
            type="ai",
            content=[SimpleNamespace(text="")],
            tool_calls=[{"name": "search", "args": GIVEN, "id": "c1"}],
        ),
        SimpleNamespace(type="tool", content="found", tool_call_id="c1"),
        SimpleNamespace(type="ai", content=ANSWER),
    ],
    "pairs": [
        ["user", ASK],
        *openai(id="c1", name="search", args=GIVEN)[1:3],
        ("assistant", ANSWER),
    ],
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_same_conversation(name: str) -> None:
    """Whoever wrote it down, a question, a call, its result and an answer are just that."""
    trace = Trace.from_messages(CONVERSATIONS[name])
    calling, answering = trace.steps
    assert (trace.question, trace.answer, answering.answer) == (ASK, ANSWER, ANSWER)
    [call] = calling.calls
    assert (call.name, call.arguments) == ("search", GIVEN)
    [seen] = calling.observations
    assert (seen.text, seen.tool, seen.failed) == ("found", "search", False)
    assert calling.thought in (None, "look")
    assert not classify_trace(trace).findings
    assert trace.unreadable is None


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"content": "bad", "status": "error"}, "bad"),
        ({"content": "", "error": "ValueError: no"}, "ValueError: no"),
        ({"content": "x", "error": {"type": "timeout", "message": "30 s"}}, "x"),
        ({"content": "", "error": {"type": "timeout", "message": "30 s"}}, "timeout: 30 s"),
        ({"content": "x", "is_error": True}, "x"),
        ({"content": None, "isError": True}, "failed"),
        ({"output": {"type": "error-text", "value": "no"}}, "no"),
        ({"content": "", "state": "output-error", "errorText": "no"}, "no"),
    ],
)
def test_results_that_their_host_calls_failed(result: dict[str, Any], text: str) -> None:
    """A host says in many ways that a tool failed."""
    messages = [CONVERSATIONS["openai"][1], {"role": "tool", "tool_call_id": "c1", **result}]
    [seen] = Trace.from_messages(messages).steps[0].observations
    assert (seen.text, seen.failed) == (text, True)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]', "a\nb"),
        ([{"type": "text", "text": "a"}, {"type": "image", "source": {}}], "a"),
        ([{"json": {"a": 1}}, "b"], '{"a": 1}\nb'),
        ([{"type": "text", "text": "a"}, "b"], "a\nb"),
        ({"type": "json", "value": {"a": 1}}, '{"a": 1}'),
        ('{"type": "function_result", "result": "a"}', "a"),
        ('{"type": "flight", "seats": 3}', '{"type": "flight", "seats": 3}'),
        ({"rows": 3}, '{"rows": 3}'),
        ([], "[]"),
        (5, "5"),
        ('{"type": "text", "text": ' * 9 + "1" + "}" * 9, None),
    ],
)
def test_results_in_wrappers(content: Any, text: str | None) -> None:
    """What a result is wrapped in is taken off; what it says stays as it is."""
    messages = [CONVERSATIONS["openai"][1], {"role": "tool", "content": content}]
    [seen] = Trace.from_messages(messages).steps[0].observations
    assert text is None or seen.text == text


def test_one_message_with_several_results() -> None:
    """Each result goes to the call that it answers, in whichever order they come."""
    calls = [
        {"type": "tool_use", "id": id, "name": name, "input": {}}
        for id, name in (("1", "f"), ("2", "g"))
    ]
    results = [
        {"type": "tool_result", "tool_use_id": id, "content": f"of {id}", "is_error": id == "2"}
        for id in ("2", "1")
    ]
    trace = Trace.from_messages(
        [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    )
    assert [(o.tool, o.text, o.failed) for o in trace.steps[0].observations] == [
        *(("g", "of 2", True), ("f", "of 1", False)),
    ]


def test_a_call_that_is_told_twice() -> None:
    """A call in the parts and beside them is one call; two calls with one id are two."""
    part = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    beside = {"id": "1", "name": "f", "args": {}}
    once = {"role": "assistant", "content": [part], "tool_calls": [beside]}
    twice = {"role": "assistant", "content": "", "tool_calls": [beside, beside]}
    assert [len(step.calls) for step in Trace.from_messages([once, twice]).steps] == [1, 2]


@pytest.mark.parametrize(
    "reply",
    [
        {"choices": [{"message": {"role": "assistant", "content": ANSWER}}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": ANSWER}]}}]},
        {"content": {"parts": [{"text": ANSWER}]}, "finish_reason": "STOP"},
        {"object": "response", "output": [{"type": "message", "content": [{"text": ANSWER}]}]},
        {"generations": [[{"text": ANSWER, "type": "Generation"}]]},
        {"index": 0, "message": {"role": "assistant", "content": ANSWER}},
        {"text": ANSWER, "finish_reason": "stop"},
        {"update": {"messages": [{"type": "ai", "content": ANSWER}]}, "goto": []},
        {"role": "assistant", "content": {"role": "assistant", "content": ANSWER}},
        json.dumps(json.dumps({"role": "assistant", "content": ANSWER})),
        json.dumps(json.dumps(json.dumps({"text": ANSWER}))),
        MappingProxyType({"role": "assistant", "content": MappingProxyType({"text": ANSWER})}),
        [{"role": "assistant", "content": [{"type": "text", "text": {"value": ANSWER}}]}],
        [ANSWER],
    ],
)
def test_replies_in_wrappers(reply: Any) -> None:
    """A provider's whole response is the message that it holds."""
    assert said_by_model(reply).text == ANSWER


@pytest.mark.parametrize("key", ["completion", "gen_ai.event.content"])
def test_replies_under_any_key(key: str) -> None:
    """A message is one whatever its wrapper calls it, alone, listed or in a choice."""
    said = {"role": "assistant", "content": ANSWER}
    for held in (said, [said], [{"message": said, "finish_reason": "stop"}]):
        assert said_by_model({"model": "m", "n": [], key: held}).text == ANSWER


@pytest.mark.parametrize("reply", ['{"quality": "good"}', '[{"quality": "good"}]'])
def test_replies_in_json(reply: str) -> None:
    """What a model says in a schema's JSON is its text; an empty response says nothing."""
    assert said_by_model(reply).text == reply
    assert said_by_model({"choices": []}).empty


def test_calls_as_the_whole_reply() -> None:
    """Vercel's and koog's replies are lists of calls."""
    vercel = said_by_model([{"toolCallId": "1", "toolName": "f", "input": "{}"}])
    assert vercel.calls == [TraceCall("f", {}, "1")]
    text = json.dumps(
        [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    )
    koog = said_by_model([{"role": "assistant", "content": text}] * 2)
    assert [call.name for call in koog.calls] == ["f"]
    assert said_by_model([{"role": "assistant", "content": "[{1}]"}]).text == "[{1}]"


@pytest.mark.parametrize(
    "parts",
    [
        [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "1", "name": "f", "input": {}},
        ],
        [{"type": "tool_use", "id": "1", "name": "f", "input": {}}],
        {"message": json.dumps([{"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}])},
        [{"functionCall": {"id": "1", "name": "f", "args": {}}}],
    ],
)
def test_parts_without_a_message(parts: Any) -> None:
    """Platforms keep of a reply its content alone: its parts are the reply."""
    said = said_by_model(parts)
    assert said.calls == [TraceCall("f", {}, "1")]
    assert said.text in ("", "I look.")


def test_vercels_interface() -> None:
    """A part that holds a call and its result is both."""
    part = {"type": "tool-search", "toolCallId": "1", "input": GIVEN, "output": "found"}
    [step] = Trace.from_messages([{"role": "assistant", "parts": [part]}]).steps
    assert step.calls == (TraceCall("search", GIVEN, "1"),)
    assert step.observations == (Observation("found", "search", "1"),)
    waiting = {"type": "tool-search", "toolCallId": "1", "input": GIVEN}
    [step] = Trace.from_messages([{"role": "assistant", "parts": [waiting]}]).steps
    assert step.observations == ()


@pytest.mark.parametrize(
    "usage",
    [
        {"usage": {"prompt_tokens": 3, "completion_tokens": 4}},
        {"usage": {"input_tokens": 3, "output_tokens": 4}},
        {"usage_metadata": {"input_tokens": 3, "output_tokens": 4}},
        {"response_metadata": {"token_usage": {"prompt_tokens": "3", "completion_tokens": 4}}},
    ],
)
def test_tokens(usage: dict[str, Any]) -> None:
    """Tokens are counted under any provider's names."""
    [step] = Trace.from_messages([{"role": "assistant", "content": ANSWER, **usage}]).steps
    assert step.tokens == Tokens(3, 4)


@pytest.mark.parametrize(
    ("last", "options", "reason"),
    [
        ({"name": "submit", "args": {"answer": "4"}}, {}, "final_answer"),
        ({"name": "buy", "args": {}}, {"finish": ["Buy"]}, "final_answer"),
        ({"name": "transfer_to_human_agents", "args": {}}, {}, "yielded"),
        ({"name": "call_boss", "args": {}}, {"handover": ["call_boss"]}, "yielded"),
        ({"name": "search", "args": {}}, {}, "unknown"),
        ({"name": "search", "args": {}}, {"max_iterations": 1}, "max_iterations"),
    ],
)
def test_how_a_conversation_ends(
    last: dict[str, Any], options: dict[str, Any], reason: str
) -> None:
    """A call can end a run; after any other call nobody knows whether the run went on."""
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": "", "tool_calls": [last]},
        {"role": "tool", "content": "done"},
    ]
    report = classify_trace(Trace.from_messages(messages, **options))
    assert report.stop_reason.value == reason
    proven = [f.kind for f in report.findings if f.certainty == "proven"]
    assert proven == (["no_final_answer", "cap"] if reason == "max_iterations" else [])
    messages[-1]["status"] = "error"
    failed = classify_trace(Trace.from_messages(messages, **options)).stop_reason.value
    assert failed in ("unknown", "max_iterations")


def test_what_a_call_that_ends_a_run_answers() -> None:
    """The answer is in the arguments; a mere submission has none."""
    call = {"name": "final_answer", "args": {"answer": {"x": [1]}}}
    trace = Trace.from_messages([{"role": "assistant", "content": "", "tool_calls": [call]}])
    assert trace.answer == '{"x": [1]}'
    bare = {"name": "submit", "args": None}
    trace = Trace.from_messages([{"role": "assistant", "content": "", "tool_calls": [bare]}])
    assert (trace.answer, classify_trace(trace).verdict.value) == ("", "answered")
    listed = {"name": "submit", "args": ["4"]}
    trace = Trace.from_messages([{"role": "assistant", "content": "", "tool_calls": [listed]}])
    assert trace.answer == "4"


def test_tools_that_are_known() -> None:
    """Which tools there were can be told; what ends a run need not be among them."""
    messages = [*CONVERSATIONS["openai"][:3]]
    kinds = classify_trace(Trace.from_messages(messages, tools=["lookup"])).kinds()
    assert "unknown_tool" in kinds
    call = {"name": "submit", "args": "4"}
    ends = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    assert "unknown_tool" not in classify_trace(Trace.from_messages(ends, tools=["f"])).kinds()


@pytest.mark.parametrize(
    "messages",
    [
        [{"speaker": "me", "words": "hello"}],
        [{"role": "narrator", "content": "x"}],
        [5, [1, 2]],
        [{"lc": 1, "type": "constructor", "id": [], "kwargs": {"content": "x"}}],
    ],
)
def test_what_is_no_conversation(messages: list[Any]) -> None:
    """What nothing could be read from is unreadable: nothing is claimed, and nothing is found."""
    trace = Trace.from_messages(messages)
    report = classify_trace(trace)
    assert (trace.unreadable, report.unreadable, report.findings) == ("messages", "messages", ())
    assert (report.verdict.value, report.stop_reason.value) == ("unreadable", "unknown")
    assert "messages" in report.headline
    assert Trace.from_messages([]).unreadable is None


def test_deep_messages() -> None:
    """Wrappers within wrappers are taken off as far as providers go, and no further."""
    deep: Any = {"role": "assistant", "content": "x"}
    for _ in range(50):
        deep = {"message": deep}
    assert Trace.from_messages([deep]).steps == ()
    inner: Any = "x"
    for _ in range(50):
        inner = {"role": "assistant", "content": inner}
    assert len(Trace.from_messages([inner]).steps) == 1


def test_items_of_one_reply() -> None:
    """What a provider lists piece by piece is one step, with its thoughts, calls and results."""
    used = {"type": "server_tool_use", "id": "1", "name": "search", "input": {}}
    found = {"type": "tool_result", "tool_use_id": "1", "content": "found"}
    trace = Trace.from_messages(
        [
            {"type": "reasoning", "summary": [{"text": "first"}]},
            {"type": "reasoning", "summary": [{"text": "then"}]},
            {"type": "message", "role": "assistant", "content": [used, found]},
        ]
    )
    [step] = trace.steps
    assert step.thought == "first\nthen"
    assert [call.name for call in step.calls] == ["search"]
    assert [seen.text for seen in step.observations] == ["found"]
