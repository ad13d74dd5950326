"""Every form: what stands in the text, and the calls or the answer it must become."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import AskUser, FailurePattern, FinalAnswer, ReadingConfig, ToolCall, read_turn

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}
PARIS = ToolCall("get_weather", {"city": "Paris"})
ROME = ToolCall("get_weather", {"city": "Rome"})
SEARCH = ToolCall("search", {"q": "x"})
FENCE = "```"
CALL = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
OTHER = '{"name": "get_weather", "arguments": {"city": "Rome"}}'

CONTRACT: list[tuple[str, Any]] = [
    ('{"type": "final", "content": "done"}', FinalAnswer("done")),
    ('{"type": "ask_user", "question": "Which?"}', AskUser("Which?")),
    (
        f'{FENCE}json\n{{"type": "tool_call", "name": "search", "arguments": {{"q": "x"}}}}\n{FENCE}',
        SEARCH,
    ),
    ('Here you go: {"type": "ask_user", "question": "Which?"}', AskUser("Which?")),
    ('{"type": "ask_user", "message": "Which?"}', AskUser("Which?")),
    ('{"type": "final", "answer": "blue"}', FinalAnswer("blue")),
    ('{"type": "final", "colour": "blue"}', FinalAnswer('{"type": "final", "colour": "blue"}')),
    ('{"type": 1, "name": "search", "arguments": {"q": "x"}}', SEARCH),
    ('I am done. {"type": "final", "content": "4"}', FinalAnswer("4")),
]
REACT: list[tuple[str, Any]] = [
    ("Thought: t\nAction: search\nAction Input: the x", ToolCall("search", "the x")),
    ('Thought: t\nAction: search\nAction Input: "the x"', ToolCall("search", "the x")),
    ('Thought: t\nAction: search\nAction Input: {"q": "x"}', SEARCH),
    ("**Thought:** t\n**Action:** search\n**Action Input:** {'q': 'x'}", SEARCH),
    ("Thought 1: t\nAction 1: Search[Oslo (city)]", ToolCall("Search", "Oslo (city)")),
    ("Thought 2: t\nAction 2: Finish[Oslo]", FinalAnswer("Oslo")),
    ('Action: search({"q": "x"})', SEARCH),
    ('Action: search ({"q": "x"})', SEARCH),
    ('Action: search(q="x")', SEARCH),
    ('Action: search {"q": "x"}', SEARCH),
    ("Action:\nsearch\n\nAction Input:\nthe x\n", ToolCall("search", "the x")),
    (f'Action: search\nAction Input: {FENCE}json\n{{"q": "x"}}\n{FENCE}', SEARCH),
    (
        f"Action: py\nAction Input:\n{FENCE}\nprint(1)\n{FENCE}",
        ToolCall("py", f"{FENCE}\nprint(1)\n{FENCE}"),
    ),
    (
        f'Action:\n{FENCE}json\n{{"action": "search", "action_input": {{"q": "x"}}}}\n{FENCE}',
        SEARCH,
    ),
    ('Action:\n{"name": "search", "arguments": {"q": "x"}}', SEARCH),
    ('Action:\n{"action": "Final Answer", "action_input": "4"}', FinalAnswer("4")),
    ("Action: Final Answer\nAction Input: 4", FinalAnswer("4")),
    ("Thought: t\nFinal Answer: 4\n5", FinalAnswer("4\n5")),
    ("That took me a while.\nAnswer: seven", FinalAnswer("seven")),
    ("Thought: no tool\nAI:\nLine one\nLine two", FinalAnswer("Line one\nLine two")),
    (": said so. Final Answer: Hello again!", FinalAnswer("Hello again!")),
    ("Thought: said so. Answer: Hello again!", FinalAnswer("Hello again!")),
    (
        "Thought: done\nAnswer: The word 'Action:' has 7 letters",
        FinalAnswer("The word 'Action:' has 7 letters"),
    ),
    ("Final Answer: 4\n\nAction: search\nAction Input: x", FinalAnswer("4")),
    ("Gedanke: t\nAktion: search\nAktionseingabe: x", ToolCall("search", "x")),
    ("思考：t\n行动：search\n行动输入：x", ToolCall("search", "x")),
    (
        "Action: search\nAction Input: x\nObservation: made up\nFinal Answer: 4",
        ToolCall("search", "x"),
    ),
    ("Thought: t\nAction: search[x\nAction Input: y", ToolCall("search[x", "y")),
    ("Thought: I know it now\nFinal Answer: It is 4.", FinalAnswer("It is 4.")),
    ("<think>a</think>Final Answer: 4\nAction: x\nAction Input: y<|im_end|>", FinalAnswer("4")),
    (
        "Final Answer: Minutes\nAction: Anna sends them.",
        FinalAnswer("Minutes\nAction: Anna sends them."),
    ),
]
OBJECTS: list[tuple[str, Any]] = [
    (CALL, PARIS),
    (f"Sure:\n{FENCE}json\n{CALL}\n{FENCE}\n", PARIS),
    (f"{CALL}\n{OTHER}", (PARIS, ROME)),
    (f"[{CALL}, {OTHER}]", (PARIS, ROME)),
    (f'{{"tool_calls": [{CALL}]}}', PARIS),
    ('{"function": {"name": "get_weather", "arguments": "{\\"city\\": \\"Paris\\"}"}}', PARIS),
    ('{"tool": "get_weather", "parameters": {"city": "Paris"}}', PARIS),
    ("{'name': 'get_weather', 'args': {'city': 'Paris',},}", PARIS),
    ('{"tool_call": {"action": "get_weather", "action_input": {"city": "Paris"}}}', PARIS),
    ('{"tool_call": "get_weather", "params": {"city": "Paris"}}', PARIS),
    (
        '{"response": "{\\"name\\": \\"get_weather\\", \\"arguments\\": {\\"city\\": \\"Paris\\"}}"}',
        PARIS,
    ),
    (f"<answer>{CALL}</answer>", PARIS),
    ('get_weather\n{"city": "Paris"}', FinalAnswer('get_weather\n{"city": "Paris"}')),
    ('{"name": "f", "arguments": "{\\"a\\": \\"b\\""}', ToolCall("f", '{"a": "b"')),
    ('{"name": "f", "arguments": null}', ToolCall("f", {})),
    ('{"name": "f", "arguments": {"properties": {"a": 1}}}', ToolCall("f", {"a": 1})),
    ('{"action": "respond", "action_input": {"content": "hi"}}', FinalAnswer("hi")),
    (
        '{"name": "final_answer", "arguments": {"trigger": true}}',
        ToolCall("final_answer", {"trigger": True}),
    ),
    (f'{CALL} {{"action": "Final Answer", "action_input": "made up"}}', PARIS),
    ('{"name": "f", "arguments": {"n": 1e999}}', ToolCall("f", {"n": float("inf")})),
    ('[{"action": "Final Answer", "action_input": "4"}]', FinalAnswer("4")),
    ('{"name": "f", "arguments": "{]"}', ToolCall("f", "{]")),
    ('{"response": "{]"}', FinalAnswer('{"response": "{]"}')),
    (
        '{"call": {"call": {"call": {"call": {"call": {"call": {"call": {"name": "f", "arguments": {}}}}}}}}}',
        ToolCall("f", {}),
    ),
    ('{"result": "a JSON answer"}', FinalAnswer('{"result": "a JSON answer"}')),
    ("A set {1, 2} and a list [3] in prose.", FinalAnswer("A set {1, 2} and a list [3] in prose.")),
]
TAGGED: list[tuple[str, Any]] = [
    (f"<tool_call>\n{CALL}\n</tool_call>", PARIS),
    (f"<tool_call>\n{CALL}", PARIS),
    (f"<tool_call>{CALL}</tool_call><tool_call>{OTHER}</tool_call>", (PARIS, ROME)),
    (f"<tool_call>{CALL}\n{OTHER}</tool_call>", (PARIS, ROME)),
    (f"<tool_calls>[{CALL}]</tool_calls>", PARIS),
    (f"<TOOLCALL>[{CALL}]</TOOLCALL>", PARIS),
    (f"<function_call> {CALL}", PARIS),
    (f"<|tool_call|> [{CALL}]", PARIS),
    (f"[TOOL_CALLS][{CALL}]", PARIS),
    (f"functools[{CALL}]", PARIS),
    (f"<|python_tag|>{CALL}", PARIS),
    (f"<|message_sep|>\n\nfunction call<|role_sep|>\n{CALL}", PARIS),
    (f"<|action_start|><|plugin|>{CALL}<|action_end|>", PARIS),
    ('<|tools_prefix|>[{"get_weather": {"city": "Paris"}}]<|tools_suffix|>', PARIS),
    ('<|tool_call_start|>[get_weather(city="Paris")]<|tool_call_end|>', PARIS),
    ("<function_calls>get_weather(city='Paris')</function_calls>", PARIS),
    (f"<tool_call>{FENCE}json\n{CALL}\n{FENCE}</tool_call>", PARIS),
    (
        "<tool_call>get_weather\n<arg_key>city</arg_key> <arg_value>Paris</arg_value>\n</tool_call>",
        PARIS,
    ),
    ("<tool_call> tick </tool_call>", ToolCall("tick", {})),
    ("<tool_calls><tool_call>now<tool_sep></tool_call></tool_calls>", ToolCall("now", {})),
    ('<tool_call>get_weather {"city": "Paris"}</tool_call>', PARIS),
    ('<tool_call>f<tool_sep>\n{"a": 1}</tool_call>', ToolCall("f", {"a": 1})),
    ('<tool_call>f(a="<tool_call>{")</tool_call>', ToolCall("f", {"a": "<tool_call>{"})),
    ('<tool_call>{"name": "ping"}</tool_call>', ToolCall("ping", {})),
    ('<tool_call>{"action": "Final Answer", "action_input": "4"}</tool_call>', FinalAnswer("4")),
    ("<tool>search</tool><tool_input>the x</tool_input>", ToolCall("search", "the x")),
    ("<tool>now</tool>", ToolCall("now", {})),
    ("<final_answer>4</final_answer>", FinalAnswer("4")),
    ("<final_answer>4", FinalAnswer("4")),
    ("<tool>a</tool><tool_input>[[tool]]</tool_input>", ToolCall("a", "[[tool]]")),
]
ELEMENTS: list[tuple[str, Any]] = [
    ("<function=f><parameter=a>1<parameter=b>2</function>", ToolCall("f", {"a": "1", "b": "2"})),
    ("<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>", PARIS),
    (
        "<tool_call>\n<function=get_weather>\n<parameter=city>Paris</parameter>\n</function>\n</tool_call>",
        PARIS,
    ),
    ("<function=get_weather>\n<parameter=city>Paris</parameter>", PARIS),
    ('<function=get_weather>{"city": "Paris"}</function>', PARIS),
    ('<invoke name="get_weather"><parameter name="city">Paris</parameter></invoke>', PARIS),
    ('<invoke name="get_weather">\n{"city": "Paris"}\n</invoke>', PARIS),
    ('<invoke name="get_weather"><city>Paris</city></invoke>', PARIS),
    ('<invoke name="f"><a><b>1</b></a></invoke>', ToolCall("f", {"a": {"b": "1"}})),
    ('<invoke name="ping"/>', ToolCall("ping", {})),
    ('<function name="ping"></function>', ToolCall("ping", {})),
    (
        '<call_record tool="get_weather"><parameter name="city">Paris</parameter></call_record>',
        PARIS,
    ),
    (
        '<\uff5cDSML\uff5cinvoke name="f"><\uff5cDSML\uff5cparameter name="a" string="false">[1]</\uff5cDSML\uff5cparameter></\uff5cDSML\uff5cinvoke>',
        ToolCall("f", {"a": [1]}),
    ),
    (
        '<invoke name="f"><parameter name="a">1 &lt; 2</parameter></invoke>',
        ToolCall("f", {"a": "1 &lt; 2"}),
    ),
    (
        "<function=f><parameter=a>1<parameter=b>2</parameter></function>",
        ToolCall("f", {"a": "1", "b": "2"}),
    ),
    (
        '<invoke name="get_weather"><parameter name="city">Paris</parameter></invoke>'
        '<invoke name="get_weather"><parameter name="city">Rome</parameter></invoke>',
        (PARIS, ROME),
    ),
    (
        ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Paris]<]minimax[>[</city>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>',
        PARIS,
    ),
]
SEQUENCES: list[tuple[str, Any]] = [
    (
        '<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>get_weather\n```json\n{"city": "Paris"}\n```<\uff5ctool\u2581call\u2581end\uff5c>',
        PARIS,
    ),
    (
        '<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|>',
        PARIS,
    ),
    (
        '[TOOL_CALLS]get_weather[CALL_ID]1[ARGS]{"city": "Paris"}[TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}',
        (PARIS, ROME),
    ),
    (
        '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}',
        PARIS,
    ),
    (
        '<|start|>assistant to=functions.get_weather<|channel|>analysis<|message|>{"city": "Paris"}',
        PARIS,
    ),
    ('commentary to=functions.get_weather json{"city": "Paris"}', PARIS),
    ('<|tool_call>call:get_weather{city:<|"|>Paris<|"|>}<tool_call|>', PARIS),
    (
        "<start_function_call>call:f{n:1}<end_function_call><start_function_call>call:g{}",
        (ToolCall("f", {"n": 1}), ToolCall("g", {})),
    ),
    (
        '<|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|><|close|>call<|sep|>',
        PARIS,
    ),
    (
        '<|open|>call tool="f"<|sep|><|open|>argument key="a" type="object"<|sep|>{"b": 1}<|close|>argument<|sep|><|open|>argument key="c" type="number"<|sep|>x<|close|>argument<|sep|><|close|>call<|sep|>',
        ToolCall("f", {"a": {"b": 1}, "c": "x"}),
    ),
]
CALLS: list[tuple[str, Any]] = [
    ('[get_weather(city="Paris")]', PARIS),
    (
        f"{FENCE}python\n[get_weather(city='Paris'), get_weather(city='Rome')]\n{FENCE}",
        (PARIS, ROME),
    ),
    ("['get_weather(city=\"Paris\")']", PARIS),
    ("[get\\_weather(city='Paris')]", PARIS),
    (
        '[f(a=(1, 2), b={\'c\': None}, d=True, e=-1.5, g="""x\ny""")]',
        ToolCall("f", {"a": [1, 2], "b": {"c": None}, "d": True, "e": -1.5, "g": "x\ny"}),
    ),
    ("[f(b=San Diego)]", ToolCall("f", {"b": "San Diego"})),
    ("f(a=1) is how one calls f.", FinalAnswer("f(a=1) is how one calls f.")),
    ("see [B(b= )B(b=,", FinalAnswer("see [B(b= )B(b=,")),
]
THINKING: list[tuple[str, Any]] = [
    (f"<think>hm</think>{CALL}", PARIS),
    ("I think\n</think>\nThe answer is 42.", FinalAnswer("The answer is 42.")),
    ("<think>a</think>One <think>b</think>two", FinalAnswer("One two")),
    ("[THINK]a[/THINK]Four", FinalAnswer("Four")),
    (
        "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>Four<|END_RESPONSE|>",
        FinalAnswer("Four"),
    ),
    (
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Four",
        FinalAnswer("Four"),
    ),
    (" to=self<|message|>a<|eom|><|start|>assistant to=user<|message|>Four", FinalAnswer("Four")),
    ("Four<|im_end|>", FinalAnswer("Four")),
    ("<think>a<think>b</think>Four", FinalAnswer("Four")),
    ("<|channel|>analysis<|message|>a<think>b</think>c<|end|>Four", FinalAnswer("Four")),
    ("<|channel>thought\na<channel|>Four<channel|>", FinalAnswer("Four")),
]
EVERYTHING = {
    "contract": CONTRACT,
    "react": REACT,
    "objects": OBJECTS,
    "tagged": TAGGED,
    "elements": ELEMENTS,
    "sequences": SEQUENCES,
    "calls": CALLS,
    "thinking": THINKING,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(*case, id=f"{group}-{n}")
        for group, cases in EVERYTHING.items()
        for n, case in enumerate(cases)
    ],
)
def test_without_tools(text: str, expected: Any) -> None:
    """Without knowing the tools, the text becomes just these actions."""
    turn = read_turn(text)
    assert turn.failure is None
    assert turn.actions == (expected if isinstance(expected, tuple) else (expected,))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[get_weather('Paris')]", PARIS),
        ("get_weather('Paris', 2)", ToolCall("get_weather", {"city": "Paris", "days": 2})),
        ("get_weather({'city': 'Paris'})", PARIS),
        ("1. get_weather(city='Paris')\n2. get_weather(city='Rome')", (PARIS, ROME)),
        ("Let me see.\n`get_weather(city='Paris')`", PARIS),
        ('{"get_weather": {"city": "Paris"}}', PARIS),
        ('["get_weather", {"city": "Paris"}]', PARIS),
        ('Calling it.\nget_weather\n{"city": "Paris"}\nDone.', PARIS),
        ("Action: get_weather\nAction Input: Paris", PARIS),
        ('{"name": "functions.get_weather", "arguments": {"city": "Paris"}}', PARIS),
        ('{"name": "Get-Weather", "arguments": {"city": "Paris"}}', PARIS),
        ('{"name": "get_weather(city: str) -> str", "arguments": {"city": "Paris"}}', PARIS),
        ('{"name": "get_weather.get_weather", "arguments": {"city": "Paris"}}', PARIS),
        ('{"name": "get_weather", "arguments": {"arguments": {"city": "Paris"}}}', PARIS),
        (
            '{"name": "get_weather", "arguments": {"city": "Paris", "days": "2"}}',
            ToolCall("get_weather", {"city": "Paris", "days": 2}),
        ),
        (
            '{"name": "get_weather", "arguments": {"city": "Paris", "days": 2.0}}',
            ToolCall("get_weather", {"city": "Paris", "days": 2}),
        ),
        (
            "<function=get_weather><parameter=city>Paris</parameter><parameter=days>\n2\n</parameter></function>",
            ToolCall("get_weather", {"city": "Paris", "days": 2}),
        ),
        ('{"type": "get_weather", "input": "Paris"}', PARIS),
        ('{"type": "get_weather", "city": "Paris"}', PARIS),
        ('{"type": "city", "city": "Paris"}', FinalAnswer('{"type": "city", "city": "Paris"}')),
        ('{"type": "get_weather", "name": "get_weather", "args": {"city": "Paris"}}', PARIS),
        ("now\n", FinalAnswer("now")),
        ("Action: now", ToolCall("now", {})),
        ('{"name": "now", "arguments": ""}', ToolCall("now", {})),
        ('{"name": "now", "arguments": null}', ToolCall("now", {})),
        (
            'get_weather(city="Paris" x) is wrong',
            FinalAnswer('get_weather(city="Paris" x) is wrong'),
        ),
    ],
)
def test_with_tools(text: str, expected: Any) -> None:
    """Knowing the tools, names and arguments are fitted to them where that is sure."""
    now = {"name": "now", "parameters": {"type": "object", "properties": {}}}
    turn = read_turn(text, tools=[WEATHER, now])
    assert turn.failure is None
    assert turn.actions == (expected if isinstance(expected, tuple) else (expected,))


def test_thought_and_repairs_are_told() -> None:
    """What was thought and what was put right is told, each with its place."""
    text = "<think>hm</think>Let me see.\nThought: look\nAction: search\nAction Input: {'q': 'x',}\nObservation: y"
    turn = read_turn(text)
    assert turn.thought == "hm\nlook"
    assert (turn.fidelity, turn.dialect) == ("repaired", "react")
    assert {r.what for r in turn.repairs} == {
        "quotes",
        "trailing comma",
        "made-up continuation cut off",
    }
    comma = next(r for r in turn.repairs if r.what == "trailing comma")
    assert text[slice(*comma.span)] == ","
    cut = next(r for r in turn.repairs if "continuation" in r.what)
    assert text[cut.span[0] : cut.span[1]] == "Observation: y"


@pytest.mark.parametrize("text", [CALL, REACT[0][0], "It is 4."])
def test_what_keeps_the_form_is_exact(text: str) -> None:
    """Text that keeps to its form needs no repair."""
    turn = read_turn(text)
    assert (turn.fidelity, turn.repairs) == ("exact", ())


@pytest.mark.parametrize(
    "call",
    [
        {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}},
        {"name": "search", "args": {"q": "x"}, "id": "1"},
        type("Selection", (), {"tool_name": "search", "tool_kwargs": {"q": "x"}})(),
    ],
)
def test_native_calls_win(call: Any) -> None:
    """Calls beside the text are read in each client's shape, and the text is the thought."""
    turn = read_turn("I'm stuck, so I search.", native_calls=[call])
    assert turn.actions == (SEARCH,)
    assert (turn.dialect, turn.thought) == ("native", "I'm stuck, so I search.")
    assert turn.signal is None


def test_a_native_call_without_arguments() -> None:
    """A call of a tool that takes nothing has an empty object."""
    assert read_turn("", native_calls=[{"name": "now", "args": None}]).actions == (
        ToolCall("now", {}),
    )


def test_a_native_call_needs_a_name() -> None:
    """What has no name is no call."""
    with pytest.raises(TypeError, match="needs a name"):
        read_turn("", native_calls=[{"args": {}}])


def test_only_text_is_read() -> None:
    """Anything else is the caller's mistake."""
    with pytest.raises(TypeError, match="`text` must be a str"):
        read_turn(None)  # type: ignore[arg-type]


def test_a_form_of_ones_own_comes_first() -> None:
    """It is asked before the built-in ones, and what it returns is fitted to the tools."""

    def arrow(text: str) -> list[ToolCall] | None:
        """Read `-> name`."""
        return [ToolCall(text[3:], {})] if text.startswith("-> ") else None

    own = ReadingConfig(forms=(arrow,))
    turn = read_turn("-> now", config=own)
    assert (turn.dialect, turn.actions) == ("own", (ToolCall("now", {}),))
    assert read_turn("-> Now", tools=["now"], config=own).actions == (ToolCall("now", {}),)
    assert read_turn("-> never", tools=["now"], config=own).failure is not None
    assert read_turn(CALL, config=own).actions == (PARIS,)
    assert read_turn("Thought: x\nFinal Answer: 4", config=own).actions == (FinalAnswer("4"),)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('{"type": "final", "content": "done"}', "contract"),
        (CALL, "json"),
        (f"<tool_call>{CALL}</tool_call>", "tags"),
        ("[get_weather(city='Paris')]", "python"),
        ("Action: get_weather\nAction Input: Paris", "react"),
        ("It is 4.", None),
    ],
)
def test_the_form_is_told(text: str, form: str | None) -> None:
    """A turn says in which form it was read."""
    assert read_turn(text).dialect == form


def test_thinking_that_never_ends_holds_no_call() -> None:
    """A call inside thinking is only thought of, whether or not the thinking ends."""
    turn = read_turn("<think>I should look.\nAction: search\nAction Input: x")
    assert turn.actions == ()
    assert turn.thought == "I should look.\nAction: search\nAction Input: x"
    unknown = read_turn(f"<think>hm {CALL}", tools=["other"])
    assert unknown.failure is not None
    assert read_turn("Done. <think>Action: search[x]").actions == (FinalAnswer("Done."),)
    assert read_turn("<think>Action: None").failure is not None


def test_an_example_is_not_a_call() -> None:
    """Showing how a call would look is not calling: that is asked about, unless any call is."""
    for text in (f"Example:\n{CALL}", f"For example: <calls>{CALL}</calls>"):
        turn = read_turn(text)
        assert turn.actions == ()
        assert turn.failure is not None
        assert turn.failure.pattern is FailurePattern.MALFORMED
        assert read_turn(text, config=ReadingConfig(calls="any")).actions == (PARIS,)


def test_a_number_is_no_name() -> None:
    """A call with a number for a name is asked about, even if only one tool takes its arguments."""
    text = '<|tool_call_begin|>0<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|>'
    failure = read_turn(text, tools=[WEATHER, "other"]).failure
    assert failure is not None
    assert failure.pattern is FailurePattern.UNKNOWN_TOOL


@pytest.mark.parametrize(
    "written",
    [
        '{"name": "search", "arguments": {"q": "Oslo"}}',
        '```json\n{"name": "search", "arguments": {"q": "Oslo"}}\n```',
        'search(q="Oslo")',
        'search\n{"q": "Oslo"}',
    ],
)
def test_a_call_in_another_form_after_a_thought(written: str) -> None:
    """A thought may be followed by a call that is not written as an action."""
    turn = read_turn(f"Thought: I should look it up.\n{written}", tools=["search"])
    assert turn.actions == (ToolCall("search", {"q": "Oslo"}),)
    assert turn.thought is not None
    assert turn.thought.startswith("I should look it up.")


def test_a_thought_about_objects_is_no_call() -> None:
    """Unless a thought announces it, a call behind it is asked about."""
    alone = 'Thought: I need to look.\n{"name": "search", "arguments": {"q": "Oslo"}}'
    assert read_turn(alone).actions == (ToolCall("search", {"q": "Oslo"}),)
    for text in (
        'Thought: I could write {"name": "search", "arguments": {}} or not.',
        "Thought: then search(q=1) it is",
        'Thought: the answer is {"q": 1}',
    ):
        turn = read_turn(text)
        assert turn.failure is not None
        assert turn.failure.pattern in (FailurePattern.NO_ACTION, FailurePattern.MALFORMED)
    unknown = read_turn(alone, tools=["other"])
    assert unknown.failure is not None
    cut = read_turn(alone[:-5], tools=["search"])
    assert cut.failure is not None
    assert cut.failure.pattern is FailurePattern.TRUNCATED


def test_backticks_around_an_action_input() -> None:
    """They are no part of the input, be it an object or a text."""
    turn = read_turn('Action: search\nAction Input: `{"q": "Oslo"}`', tools=["search"])
    assert turn.actions == (ToolCall("search", {"q": "Oslo"}),)
    assert read_turn("Action: search\nAction Input: `Oslo`").actions == (
        ToolCall("search", "Oslo"),
    )
    two = "`a` and `b`"
    assert read_turn(f"Action: search\nAction Input: {two}").actions == (ToolCall("search", two),)
