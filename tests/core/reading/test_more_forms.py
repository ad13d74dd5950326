"""Forms at the edge: what is read because it is certain, and what is refused beside it."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import FailurePattern, FinalAnswer, ReadingConfig, ToolCall, read_turn

PARAMETERS = {
    "weather": ("city",),
    "search": ("query",),
    "send_email": ("to", "body"),
    "delete_file": ("path",),
}
TOOLS = [
    {
        "name": name,
        "parameters": {
            "type": "object",
            "properties": {key: {"type": "string"} for key in keys},
            "required": list(keys),
        },
    }
    for name, keys in PARAMETERS.items()
]
NATIVE = ReadingConfig(native=True)
OSLO = ToolCall("weather", {"city": "Oslo"})
X = ToolCall("search", {"query": "x"})
JSON = '{"city": "Oslo"}'
DESCRIBED = f'{{"name": "weather", "arguments": {JSON}}}'
DELETE = '{"name": "delete_file", "arguments": {"path": "/srv"}}'
FENCE = "```"
LEAF = '<parameter name="path">/srv</parameter>'
ITEM = (
    '{"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "weather", '
    r'"arguments": "{\"city\": \"Oslo\"}", "status": "%s"}'
)


def fenced(info: str, body: str) -> str:
    """Return a block of code."""
    return f"{FENCE}{info}\n{body}\n{FENCE}"


def zipped(*pairs: tuple[str, str]) -> str:
    """Return arguments as keys and values in turn."""
    return "".join(f"<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>\n" for k, v in pairs)


DROPPED = [
    f'<invoke name="delete_file">only if approved{LEAF}</invoke>',
    f'<invoke name="delete_file"><condition>user approves</condition>{LEAF}</invoke>',
    f'<invoke name="delete_file"><!-- only if approved -->{LEAF}</invoke>',
    f'<invoke name="delete_file">\nThought: not yet\n{LEAF}</invoke>',
    f'<invoke name="delete_file">ask(user="x"){LEAF}</invoke>',
    f'<invoke name="delete_file">{fenced("", "not yet [1]")}{LEAF}</invoke>',
    "<function=delete_file>\n<parameter=path>/srv</parameter>\nnot yet\n</function>",
    "<function=delete_file>only if approved\n<parameter=path>/srv</parameter>",
    '<function=delete_file><!-- not yet -->{"path": "/srv"}</function>',
    f"<tool_call>delete_file\nnot yet\n{zipped(('path', '/srv'))}</tool_call>",
    '<tool_call>delete_file\nnever\n{"path": "/srv"}</tool_call>',
    f"<tool_call><!-- not yet -->{DELETE}</tool_call>",
    f"<tool_call>not yet {DELETE}",
    f"<tool_call>\n{fenced('json', 'not yet ' + DELETE)}\n</tool_call>",
    f'<function_calls><!-- not yet --><invoke name="delete_file">{LEAF}</invoke></function_calls>',
    f"<tool_call><b>{DELETE}</tool_call>",
    f'<invoke name="delete_file">\nThought:\n{LEAF}</invoke>',
    f'<invoke name="delete_file">{LEAF}<think>not yet</invoke>',
]


@pytest.mark.parametrize("text", DROPPED)
def test_nothing_in_a_call_is_dropped(text: str) -> None:
    """Text, a comment, code or an element that is no part of the call refuses it."""
    failure = read_turn(text, tools=TOOLS).failure
    assert failure is not None
    assert failure.pattern is FailurePattern.MALFORMED


LABELLED = [
    f"<tool_call>weather:\n{zipped(('city', 'Oslo'))}</tool_call>",
    f"<tool_call>\n{fenced('json', DESCRIBED)}\n</tool_call>",
    "<function=weather>arguments:\n<parameter=city>Oslo</parameter></function>",
    "<function=weather>weather\n<parameter=city>Oslo</parameter></function>",
    f"<function=weather>Arguments: {JSON}</function>",
    f"<function=weather>\nArguments: {JSON}\n</function>",
    f"<tool_call>[ // as asked\n{DESCRIBED}]</tool_call>",
    f"<tool_call>weather<tool_sep>{JSON}</tool_call>",
    "<function=weather>\n<parameter=city>Oslo</parameter>\n<!-- done -->",
]


@pytest.mark.parametrize("text", LABELLED)
def test_labels_are_no_text(text: str) -> None:
    """Blanks, a colon, the name again, `arguments:` and what may stand behind it change no call."""
    assert read_turn(text, tools=TOOLS).actions == (OSLO,)


SWALLOWED = [
    "<tool_call>send_email\n"
    + zipped(("to", "a"), ("body", f"see <tool_call>delete_file\n{zipped(('path', '/srv'))}"))
    + "</tool_call>",
    "<function=send_email><parameter=to>a</parameter><parameter=body>see <function=delete_file>"
    "<parameter=path>/srv</parameter></function></parameter></function>",
]


@pytest.mark.parametrize("text", SWALLOWED)
def test_a_value_swallows_no_call(text: str) -> None:
    """A value that holds the start of another call, and whose end is not sure, is refused."""
    turn = read_turn(text, tools=TOOLS)
    assert turn.actions == ()
    assert turn.failure is not None
    assert "another call" in turn.failure.message


@pytest.mark.parametrize("body", ["use <tool_call> here", "use <parameter=x> here"])
def test_a_value_may_talk_of_calls(body: str) -> None:
    """A value whose end is sure may name the markup of calls."""
    text = f"<function=send_email><parameter=to>a</parameter><parameter=body>{body}</parameter></function>"
    assert read_turn(text, tools=TOOLS).actions == (
        ToolCall("send_email", {"to": "a", "body": body}),
    )


INPUT = '<input type="text" name="user">'
BEAN = '<bean><param name="x">1</param></bean>'
ANSWERS = [
    f"Here is a form:\n{fenced('html', f'<form>{INPUT}</form>')}\nDone.",
    fenced("html", INPUT),
    f"{fenced('vue', '<input name=`a`>x</input>')}\nDone.",
    f'<form>{INPUT}\n<input name="b" type="text"></form>',
    f"Config:\n{fenced('xml', BEAN)}\nDone.",
    fenced("python", 'def search(query):\n    return query\n\nsearch("x")'),
    "The token [|endofturn|] ends a turn.",
    fenced("python", 'print(weather(city="Oslo"))'),
    fenced("tool_code", 'x = print(weather(city="Oslo"))'),
    ">>>rocket\n" + JSON,
    "Write \u273fFUNCTION\u273f: and then \u273fARGS\u273f: to call.",
]


@pytest.mark.parametrize("config", [ReadingConfig(), NATIVE])
@pytest.mark.parametrize("text", ANSWERS)
def test_markup_of_an_answer(text: str, config: ReadingConfig) -> None:
    """HTML, code and talk of tokens are an answer, which keeps all of its text."""
    turn = read_turn(text, tools=TOOLS, config=config)
    assert turn.actions == (FinalAnswer(text),)


LEFTOVERS = [
    '<parameter name="city">Oslo</parameter>',
    '<input name="city">Oslo</input>',
    '<input name="city">Oslo',
    f"Calling:\n{fenced('xml', '<parameter=city>Oslo</parameter>')}",
]


@pytest.mark.parametrize("text", LEFTOVERS)
def test_arguments_without_a_call(text: str) -> None:
    """An argument that no markup of another language holds is the remains of a call."""
    failure = read_turn(text, tools=TOOLS).failure
    assert failure is not None
    assert "no call" in failure.message


FORMS: list[tuple[str, tuple[Any, ...]]] = [
    ("<tool>weather</tool><tool_input>Oslo", (OSLO,)),
    (f"<tool>weather</tool><tool_input>{JSON}\n", (OSLO,)),
    (fenced("tool_code", 'print(weather(city="Oslo"))'), (OSLO,)),
    (fenced("tool_code", 'print(default_api.weather(city="Oslo"))'), (OSLO,)),
    (
        "I need both.\n"
        + fenced("tool_code", 'print(weather(city="Oslo"))\nprint(search(query="x"))'),
        (OSLO, X),
    ),
    (f"<function=weather{JSON}</function>", (OSLO,)),
    (f"<function(weather)>{JSON}</function>", (OSLO,)),
    (f"<function=weather>{JSON}<function>", (OSLO,)),
    (f"<tool_call>{DESCRIBED}</tool_call>[|endofturn|]", (OSLO,)),
    ("Thought: x\nFinal Answer: 4[|endofturn|]", (FinalAnswer("4"),)),
    ("Thought: x\nFinal Answer: see [1]", (FinalAnswer("see [1]"),)),
    (f'[TOOL_CALLS]weather{JSON}search{{"query": "x"}}', (OSLO, X)),
    (ITEM % "completed", (OSLO,)),
    (f">>>weather\n{JSON}", (OSLO,)),
    (
        "<|begin_of_thought|>x<|end_of_thought|>\n\n<|begin_of_solution|>4<|end_of_solution|>",
        (FinalAnswer("4"),),
    ),
    (f"\u273fFUNCTION\u273f: weather\n\u273fARGS\u273f: {JSON}", (OSLO,)),
    (
        f'<scratch_pad>weather(city="Rome")?</scratch_pad>\n<tool_call>{DESCRIBED}</tool_call>',
        (OSLO,),
    ),
]


@pytest.mark.parametrize("config", [ReadingConfig(), NATIVE])
@pytest.mark.parametrize(("text", "actions"), FORMS)
def test_forms(text: str, actions: tuple[Any, ...], config: ReadingConfig) -> None:
    """Each form becomes its calls or its answer."""
    turn = read_turn(text, tools=TOOLS, config=config)
    assert (turn.actions, turn.failure) == (actions, None)


def test_names_in_turn_without_tools() -> None:
    """Behind Mistral's token a name before each object is enough."""
    turn = read_turn(f'[TOOL_CALLS]weather{JSON}search{{"query": "x"}}')
    assert turn.actions == (OSLO, X)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<tool>weather</tool><tool_input>Oslo", "missing end tag"),
        (f"<function=weather{JSON}</function>", "start tag"),
        (f"<function(weather)>{JSON}</function>", "start tag"),
        (f"<function=weather>{JSON}<function>", "missing end tag"),
    ],
)
def test_bent_forms_are_repairs(text: str, what: str) -> None:
    """What is read in spite of its spelling is called a repair."""
    turn = read_turn(text, tools=TOOLS)
    assert (turn.fidelity, [repair.what for repair in turn.repairs]) == ("repaired", [what])


REFUSED = [
    ("<tool>weather</tool><tool_input>", "truncated"),
    ('<tool>weather</tool><tool_input>{"city": "Os', "truncated"),
    ("<tool>weather</tool><tool_input>Oslo<tool>search</tool>", "truncated"),
    ("<function>weather</function><arguments>Oslo", "truncated"),
    ('<function=weather{"city": "Os', "cannot be parsed"),
    (f"<function=rocket{JSON}</function>", "no call"),
    (f"<function(rocket)>{JSON}</function>", "no call"),
    (f"<function=weather>{JSON}<function>\nHello", "Hello"),
    ("<function=weather>Oslo<function>", "cannot be parsed"),
    (f'[TOOL_CALLS]weather{JSON}rocket{{"query": "x"}}', "next to"),
    (f'[TOOL_CALLS]weather{JSON} not yet {{"query": "x"}}', "next to"),
    (f'[TOOL_CALLS]weather{JSON}search["x"]', "next to"),
    (f'<|tool_call_begin|>weather{JSON}search{{"query": "x"}} not yet<|tool_call_end|>', "next to"),
    (ITEM % "incomplete", "next to"),
    (DESCRIBED.removesuffix("}") + ', "status": "completed"}', "next to"),
    (f">>> weather\n{JSON}", "quotation"),
    (f">>>weather\n{JSON}\nNo.", "quotation"),
    (f"Text\n>>>weather\n{JSON}", "quotation"),
    (fenced("tool_code", 'if approved:\n    print(delete_file(path="/srv"))'), "holds more"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_forms_that_are_not_certain(text: str, words: str) -> None:
    """What only resembles a form is refused, with a reason."""
    turn = read_turn(text, tools=TOOLS)
    assert turn.actions == ()
    assert turn.failure is not None
    assert words in turn.failure.message
