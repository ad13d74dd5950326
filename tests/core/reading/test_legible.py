"""What is legible however it is spelled, and what is accounted for or else asked about."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import FailurePattern, FinalAnswer, ReadingConfig, ToolCall, read_turn

P = FailurePattern


def tool(name: str, *required: str, **properties: Any) -> dict[str, Any]:
    """Describe a tool whose parameters are text unless said otherwise."""
    taken = {**{key: {"type": "string"} for key in required}, **properties}
    parameters = {"type": "object", "properties": taken, "required": list(required)}
    return {"name": name, "parameters": parameters}


RATE = tool("rate", "base", "target")
STOCK = tool("stock", "sku", "warehouse")
ROOM = tool("book", "room", nights={"type": "integer"})
MOVE = tool("move", a={"type": "string"}, b={"type": "string"}, folder={"type": "string"})
TAGS = tool("tag", tags={"type": "array", "items": {"type": "string"}})
NOW = tool("now")
TOOLS = [RATE, STOCK, ROOM, MOVE, TAGS, NOW, "search"]
BOOK = ToolCall("book", {"room": "12"})
CALL = '{"name": "book", "arguments": {"room": "12"}}'
FENCE = "```"


def calls_of(text: str, **options: Any) -> tuple[Any, ...]:
    """Return what a text asks for, which has to be sure."""
    turn = read_turn(text, tools=TOOLS, **options)
    assert turn.failure is None, turn.failure
    return turn.actions


@pytest.mark.parametrize(
    ("name", "given", "arguments"),
    [
        ("rate", "base='GBP', target='CHF'", {"base": "GBP", "target": "CHF"}),
        ("rate", 'target="CHF", base="GBP"', {"base": "GBP", "target": "CHF"}),
        ("stock", "sku=KB-220, warehouse=Hamburg", {"sku": "KB-220", "warehouse": "Hamburg"}),
        ("stock", "sku: KB-220\nwarehouse: Hamburg", {"sku": "KB-220", "warehouse": "Hamburg"}),
        ("rate", "usd, yen", {"base": "usd", "target": "yen"}),
        ("rate", '"usd", "yen"', {"base": "usd", "target": "yen"}),
        ("book", 'RoomArgs({"room": "12"})', {"room": "12"}),
        ("book", "RoomArgs(room='12', nights=2)", {"room": "12", "nights": 2}),
        ("book", "room=12, nights=2", {"room": "12", "nights": 2}),
    ],
)
def test_inputs_in_words(name: str, given: str, arguments: dict[str, Any]) -> None:
    """Names, positions and calls in one line are the arguments, and that is a repair."""
    turn = read_turn(f"Thought: go\nAction: {name}\nAction Input: {given}", tools=TOOLS)
    assert turn.actions == (ToolCall(name, arguments),)
    assert turn.fidelity == "repaired"


@pytest.mark.parametrize("given", ["usd", "usd, yen, eur", "usd,", "base=usd", "base=usd, to=yen"])
def test_inputs_that_are_too_few_or_too_many(given: str) -> None:
    """Values are given to parameters only if there are as many as the tool requires."""
    failure = read_turn(f"Action: rate\nAction Input: {given}", tools=TOOLS).failure
    assert failure is not None
    assert failure.pattern in (P.BAD_ARGUMENTS, P.MISSING_INPUT)


@pytest.mark.parametrize("given", ["None", "N/A", "{}", "", "null", "()"])
def test_no_input_for_a_tool_without_parameters(given: str) -> None:
    """What says that there is no input is none."""
    assert calls_of(f"Action: now\nAction Input: {given}") == (ToolCall("now", {}),)


@pytest.mark.parametrize(
    "text",
    [
        "Thought: Action: book\nAction Input: 12",
        "Thought: I need a room. Action: book\nAction Input: 12",
        "thought: t\naction: book\naction input: 12",
        "THOUGHT: t\nACTION: book\nACTION INPUT: 12",
        "Thought: t\nAction : book\nAction_Input : 12",
        "Thought: t\nAction: book\nActionInput: 12",
        "1. Thought: t\n2. Action: book\n3. Action Input: 12",
        "Thought 3: t\nAction 3: book\nAction Input 3: 12",
        "**Thought**: t\n**Action**: book\n**Action Input**: 12",
        "- **Action**: book\n- **Action Input**: 12",
        "## Action\nbook\n## Action Input\n12",
        "Thought\uff1at\nAction\uff1abook\nAction Input\uff1a12",
        "Thought: t\r\nAction: book\r\nAction Input: 12\r\n",
        "Thought: t\nAction: `book`\nAction Input: 12",
        "Thought: t\nAction: Book\nAction Input: 12",
    ],
)
def test_headers_in_any_spelling(text: str) -> None:
    """Case, numbers, decoration, separators and line ends of headers do not matter."""
    assert calls_of(text) == (BOOK,)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I know. Final Answer: 4", "4"),
        ("Thought: I know. Final Answer: 4", "4"),
        ("thought: t\nfinal answer: 4", "4"),
        ("Do I need a tool? No\nIt is 4.", "It is 4."),
        ("Do I need to use a tool? No. It is 4.", "It is 4."),
        ("Thought: Do I need to use a tool? No\nAI: It is 4.", "It is 4."),
        ("Thought: Do I need to use a tool? No\nIt is 4.", "It is 4."),
    ],
)
def test_answers_in_any_place(text: str, answer: str) -> None:
    """An answer in mid-line, or after `No` to whether a tool is needed, is the answer."""
    assert calls_of(text) == (FinalAnswer(answer),)


@pytest.mark.parametrize(
    "text",
    [
        "- **Action**: open the leaflet\n- **Result**: you know more",
        "What to do:\n- **Action**: open the leaflet",
        "print('hi')",
        "def double(x):\n    return 2 * x",
        f"{FENCE}python\nprint('hi')\n{FENCE}",
        f'{FENCE}json\n{{"a": 1}}\n{FENCE}',
    ],
)
def test_lists_and_code_are_answers(text: str) -> None:
    """Where no tool on offer is named, Markdown and code are prose, word for word."""
    assert calls_of(text) == (FinalAnswer(text),)


@pytest.mark.parametrize(
    "text", ["", " \r\n", f"{FENCE}json\n{FENCE}", f"{FENCE}\n{FENCE}", "{}", "<think>t</think>"]
)
def test_empty_replies(text: str) -> None:
    """A reply that holds nothing is empty, with tools and without."""
    for tools in (None, TOOLS):
        failure = read_turn(text, tools=tools).failure
        assert failure is not None
        assert failure.pattern is P.EMPTY


@pytest.mark.parametrize(
    "text",
    [
        '{"thoughts": {"text": "t"}, "command": {"name": "book", "args": {"room": "12"}}}',
        f'{{"reply": {CALL}}}',
        f'{{"my_plugin": {CALL}}}',
        f'{{"decision": {CALL}}}',
        f'{{"decision": {{"turn": {CALL}}}}}',
        '{"toolName": "book", "toolInput": {"room": "12"}}',
        '{"TOOL": "book", "ARGS": {"room": "12"}}',
    ],
)
def test_a_wrapper_under_any_key(text: str) -> None:
    """A wrapper may be called anything if what is inside names a tool on offer."""
    assert calls_of(text) == (BOOK,)


@pytest.mark.parametrize(
    "text",
    [
        f'{{"proposed_call": {CALL}}}',
        f'{{"example": {CALL}}}',
        '{"execute": false, "name": "book", "arguments": {"room": "12"}}',
        '{"description": "how to", "name": "book", "arguments": {"room": "12"}}',
    ],
)
def test_what_a_wrapper_says_of_a_call(text: str) -> None:
    """A call that its own object calls a proposal or an example is never made."""
    turn = read_turn(text, tools=TOOLS)
    assert not any(isinstance(action, ToolCall) for action in turn.actions)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (
            "<function=move><parameter=a>1<parameter=b>2</parameter></function>",
            {"a": "1", "b": "2"},
        ),
        (
            "<tool_call>move<arg_key>a</arg_key><arg_value>1<arg_key>b</arg_key>"
            "<arg_value>2</arg_value></tool_call>",
            {"a": "1", "b": "2"},
        ),
        ("<function=move><parameter=folder=inbox</parameter></function>", {"folder": "inbox"}),
        (
            "<function=move><parameter=a>1</parameter><parameter=b>2</parameter><parameter=folder>i</parameter>",
            {"a": "1", "b": "2", "folder": "i"},
        ),
    ],
)
def test_missing_end_tags(text: str, arguments: dict[str, str]) -> None:
    """Where the next opener ends what was never closed, that is a guess and so a repair."""
    turn = read_turn(text, tools=TOOLS)
    assert turn.actions == (ToolCall("move", arguments),)
    assert turn.fidelity == "repaired"


@pytest.mark.parametrize(
    "text",
    [
        "<function=book><parameter=room>12</parameter></parameter></function></function>",
        f"<tool_call>{CALL}</tool_call></tool_call>",
        '<invoke name="book"><parameter name="room">12</parameter></invoke></invoke>',
        f"<TOOL_CALL>{CALL}</TOOL_CALL>",
        f"<toolCall>{CALL}</toolCall>",
        f"<tool_call>\r\n{CALL}\r\n</tool_call>",
        f"{FENCE}JSON\n{CALL}\n{FENCE}",
        f"{FENCE}tool_call\n{CALL}\n{FENCE}",
    ],
)
def test_tags_and_fences_in_any_spelling(text: str) -> None:
    """Doubled end tags, case, separators and line ends of markup do not matter."""
    assert calls_of(text) == (BOOK,)


def test_repeated_children_are_an_array() -> None:
    """What a tool takes as an array may be written one by one."""
    text = '<invoke name="tag"><tags>a</tags><tags>b</tags></invoke>'
    assert calls_of(text) == (ToolCall("tag", {"tags": ["a", "b"]}),)
    text = '<invoke name="tag"><tags><item>a</item><item>b</item></tags></invoke>'
    assert calls_of(text) == (ToolCall("tag", {"tags": ["a", "b"]}),)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "查询天气", "arguments": {"城市": "北京"}}',
        "查询天气(城市='北京')",
        "<function=查询天气><parameter=城市>北京</parameter></function>",
        "<tool_call>查询天气<arg_key>城市</arg_key><arg_value>北京</arg_value></tool_call>",
        "Action: 查询天气\nAction Input: 北京",
        "<查询天气><城市>北京</城市></查询天气>",
    ],
)
def test_names_that_are_not_ascii(text: str) -> None:
    """Tools and parameters may be called in any script."""
    turn = read_turn(text, tools=[tool("查询天气", "城市")])
    assert turn.actions == (ToolCall("查询天气", {"城市": "北京"}),)


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>analysis<|message|>t<|end|>Four",
        "<|channel|>final<|message|>Four",
        "analysis<|message|>t<|end|><|start|>assistant<|channel|>final<|message|>Four<|return|>",
    ],
)
def test_half_stripped_harmony(text: str) -> None:
    """What is left of a harmony reply still has its answer."""
    assert calls_of(text) == (FinalAnswer("Four"),)


@pytest.mark.parametrize(
    "name",
    ["do not book", "book_v2", "dont_book", "notebook", "book tool", "book or rate", "no.book"],
)
def test_a_name_that_only_contains_a_name(name: str) -> None:
    """A tool runs by its own name only, in every form."""
    for text in (
        CALL.replace('"book"', f'"{name}"'),
        f"<tool_call>{CALL}</tool_call>".replace('"book"', f'"{name}"'),
        f"Action: {name}\nAction Input: 12",
        f'<invoke name="{name}"><parameter name="room">12</parameter></invoke>',
    ):
        failure = read_turn(text, tools=TOOLS).failure
        assert failure is not None
        assert failure.pattern is P.UNKNOWN_TOOL
        assert failure.tool == name


WRITTEN = [
    *("<s>", "a <think>b</think> c", "Action: now", "Final Answer: 4", "</tool_call>", "&lt;b&gt;"),
    *("<|im_end|>", "`x`", " padded ", "1e3", "null", "**x**", "Observation: y", "<tool_call>{"),
    *("now()", "x\u00a0y", "don\u2019t", "{'a': 1}", "...and so on", "```\nx\n```", "50 %"),
]
QUOTED = [value.replace("\n", "\\n") for value in WRITTEN]


@pytest.mark.parametrize("value", QUOTED)
@pytest.mark.parametrize(
    "form",
    [
        '{"name": "book", "arguments": {"room": "%"}}',
        '<tool_call>{"name": "book", "arguments": {"room": "%"}}</tool_call>',
        'Thought: t\nAction: book\nAction Input: {"room": "%"}',
        'book(room="%")',
    ],
)
def test_values_as_written(form: str, value: str) -> None:
    """Nothing in a value is markup, and it arrives unchanged and exact."""
    turn = read_turn(form.replace("%", value, 1), tools=TOOLS)
    assert turn.actions == (ToolCall("book", {"room": value.replace("\\n", "\n")}),)
    assert (turn.fidelity, turn.repairs) == ("exact", ())
    strict = ReadingConfig(strict=True)
    assert read_turn(form.replace("%", value, 1), tools=TOOLS, config=strict) == turn


@pytest.mark.parametrize("value", WRITTEN)
def test_leaves_as_written(value: str) -> None:
    """The text of an element is a value as well."""
    text = f'<invoke name="book"><parameter name="room">{value}</parameter></invoke>'
    assert calls_of(text) == (ToolCall("book", {"room": value}),)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "book", "arguments": {"room": "12", "room": "13"}}',
        "{'name': 'book', 'arguments': {'room': '12', 'room': '13'}}",
        '{"name": "book", "arguments": {"room": "12"}, "args": {"room": "13"}}',
        '{"name": "book", "arguments": "{\\"room\\": \\"12\\", \\"room\\": \\"13\\"}"}',
        '{"name": "book", "name": "now", "arguments": {"room": "12"}}',
        'Action: book\nAction Input: {"room": "12", "room": "13"}',
        "Action: rate\nAction Input: base=usd, base=yen",
        "book(room='12', room='13')",
        "<function=book><parameter=room>12</parameter><parameter=room>13</parameter></function>",
        '<invoke name="book"><room>12</room><room>13</room></invoke>',
        "<tool_call>book<arg_key>room</arg_key><arg_value>12</arg_value>"
        "<arg_key>room</arg_key><arg_value>13</arg_value></tool_call>",
    ],
)
def test_duplicate_keys(text: str) -> None:
    """Nobody knows which of two values is meant, in whatever form they are written."""
    turn = read_turn(text, tools=TOOLS)
    assert turn.actions == ()
    assert turn.failure is not None


@pytest.mark.parametrize(
    "text",
    [
        f'<tool_call>{CALL}</tool_call><tool_call>{{"name": "book", "arguments": {{"room": </tool_call>',
        f"<tool_call>{CALL}</tool_call>\n<tool_call>nothing to see</tool_call>",
        f"<tool_call>{CALL}</tool_call><tool_call></tool_call>",
        f"<tool_call>{CALL}</tool_call><tool_call>",
        f'<tool_call>{CALL}\n{{"name": "book", "arg</tool_call>',
        f'[{CALL}, {{"name": "nope", "arguments": {{}}}}]',
        f"[{CALL}, 5]",
        f'[{CALL}, {{"room": "13"}}]',
        f'{CALL}\n{{"name": "book", "arguments": {{"room": "1',
        f'{{"tool_calls": [{CALL}, {{"name": "book"}}]}}',
        "Action: book\nAction Input: 12\nAction: book",
        "[book(room='12'), book(room=)]",
        "[book(room='12'), nope(room='13')]",
        '<invoke name="book"><parameter name="room">12</parameter></invoke><invoke name="book">'
        '<parameter name="room">1',
        '[TOOL_CALLS]book[ARGS]{"room": "12"}[TOOL_CALLS]book[ARGS]{"room": ',
        "Thought: t\nAction: book\nAction Input: {'room': '12'}\n<tool_call>book(</tool_call>",
    ],
)
def test_a_broken_sibling_fails_the_turn(text: str) -> None:
    """Every announced call is made, or none is and the turn says why."""
    turn = read_turn(text, tools=TOOLS)
    assert turn.actions == ()
    assert turn.failure is not None


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "now"}</tool_call>\nAction: book\nAction Input: 12',
        'Action: now\nAction Input: {}\n<tool_call>{"name": "book", "arguments": {"room": "12"}}'
        "</tool_call>",
        f'<tool_call>{{"name": "now"}}\n{CALL}</tool_call>',
        f'{{"name": "now", "arguments": {{}}}}\n{CALL}',
        f'{{"tool_calls": [{{"name": "now"}}, {CALL}]}}',
        "[now(), book(room='12')]",
    ],
)
def test_two_calls_in_one_turn(text: str) -> None:
    """Several calls, in one form or two, are all read in the order of the text."""
    assert calls_of(text) == (ToolCall("now", {}), BOOK)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "book", "arguments": {"room": }}',
        '{"name": "book", "arguments": {"room" "12"}}',
        '{"name": "book", "arguments": {"room": "say "hi", ok"}}',
        '{"name": "book", "arguments": {"room": "12"}',
        "<tool_call>book 12 <b>",
        f"<tool_call>now {FENCE}json\n[1]\n{FENCE}</tool_call>",
        '<tool_call>{"name": "now", "arguments": {}} do not</tool_call>',
        '<tool_call>do not {"name": "now", "arguments": {}}</tool_call>',
        f"<tool_call>{CALL} but only if the user agrees</tool_call>",
    ],
)
def test_a_broken_call_is_no_answer(text: str) -> None:
    """A call of a tool on offer that cannot be read whole is asked about, never an answer."""
    turn = read_turn(text, tools=TOOLS)
    assert not any(isinstance(action, FinalAnswer) for action in turn.actions)
    assert turn.failure is not None or turn.fidelity == "repaired"


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "move", "arguments": {"a": "{\\"name\\": \\"now\\", \\"arguments\\": {}}"}}',
        '<function=move><parameter=a><tool_call>{"name": "now"}</tool_call></parameter></function>',
        'Action: move\nAction Input: {"a": "Action: now\\nAction Input: {}"}',
        "move(a='now()')",
    ],
)
def test_a_call_in_an_argument_is_text(text: str) -> None:
    """The outermost reading wins: a call hidden in another's argument is never made."""
    (call,) = calls_of(text)
    assert call.name == "move"
    assert "now" in call.arguments["a"]
