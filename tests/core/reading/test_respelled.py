"""One call in the spellings of models and servers, and what looks like them and is none."""

from __future__ import annotations

import time
from typing import Any

import pytest

from loopmend import FinalAnswer, ToolCall, read_turn


def _tool(name: str, required: tuple[str, ...] = (), **parameters: str) -> dict[str, Any]:
    properties = {key: {"type": kind} for key, kind in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = [
    _tool("wipe", ("path",), path="string", force="boolean"),
    _tool("execute_command", ("command",), command="string", cwd="string"),
    _tool("write_file", ("path", "content"), path="string", content="string", tags="array"),
    _tool("now"),
]
WIPE = ToolCall("wipe", {"path": "/data"})
CALL = '{"name": "wipe", "arguments": {"path": "/data"}}'

READ = {
    "the speaker's name": (f"AI: {CALL}", WIPE),
    "the speaker's name, bold": (f"**Assistant:** {CALL}", WIPE),
    "the speaker's name before ReAct": (
        "Agent: Thought: t\nAction: wipe\nAction Input: /data",
        WIPE,
    ),
    "a break of HTML": ('<br>Action: wipe\n<br />Action Input: {"path": "/data"}', WIPE),
    "headers in brackets": ('[Thought] t\n[Action] wipe\n[Action Input] {"path": "/data"}', WIPE),
    "an action in bold": ("**Action: wipe[/data]**", WIPE),
    "a block around ReAct": ("```\nAction: wipe\nAction Input: /data\n```", WIPE),
    "an action in mid-line": ("Sure! Action: wipe[/data]", WIPE),
    "a thought in mid-line": (
        "Sure! Thought: t such as x\nAction: wipe\nAction Input: /data",
        WIPE,
    ),
    "entities": (
        "{&quot;name&quot;: &quot;wipe&quot;, &quot;arguments&quot;: {&quot;path&quot;: &quot;/data&quot;}}",
        WIPE,
    ),
    "entities of a tag": (
        "&lt;think&gt;t&lt;/think&gt;&lt;tool_call&gt;{'name': 'wipe', 'arguments': {'path': '/data'}}&lt;/tool_call&gt;",
        WIPE,
    ),
    "arguments under a key that says nothing": (
        '{"name": "wipe", "payload": {"path": "/data"}}',
        WIPE,
    ),
    "arguments encoded there": (r'{"name": "wipe", "details": "{\"path\": \"/data\"}"}', WIPE),
    "a name under a key that says nothing": ('{"request": "wipe", "path": "/data"}', WIPE),
    "a name in an object of its own": (
        '{"action": {"name": "wipe"}, "arguments": {"path": "/data"}}',
        WIPE,
    ),
    "blanks that do not break": (
        'Action:\u00a0\n{"name": "wipe", "arguments": {"path": "/data"}}\u00a0\n',
        WIPE,
    ),
    "blanks of no width": ('Action: \u200bwipe\nAction Input: \u200b{"path": "/data"}', WIPE),
    "curly quotes of attributes": (
        "<invoke name=\u201cwipe\u201d><parameter name=\u201cpath\u201d>/data</parameter></invoke>",
        WIPE,
    ),
    "curly quotes of a tag's value": (
        "<function=\u201cwipe\u201d><parameter=path>/data</parameter></function>",
        WIPE,
    ),
    "a namespace behind the name": (
        "<tool_call:x>wipe<tool_sep:x><arg_key:x>path</arg_key:x><arg_value:x>/data</arg_value:x></tool_call:x>",
        WIPE,
    ),
    "an element that its parent ends": (
        "<tool_calls><tool_call>wipe<arg_key>path</arg_key><arg_value>/data</arg_value></tool_calls>",
        WIPE,
    ),
    "an end tag that is cut off": (f"<tool_call>{CALL}</tool_", WIPE),
    "a tool whose name means a call": (
        "<execute_command>\n<command>npm test</command>\n</execute_command>",
        ToolCall("execute_command", {"command": "npm test"}),
    ),
    "markup in a parameter": (
        "<execute_command><command>echo '<wipe><path>/</path></wipe>'</command></execute_command>",
        ToolCall("execute_command", {"command": "echo '<wipe><path>/</path></wipe>'"}),
    ),
    "an element of its own name in a parameter": (
        "<write_file><path>a</path><content>x <content>y</content> z</content></write_file>",
        ToolCall("write_file", {"path": "a", "content": "x <content>y</content> z"}),
    ),
    "CDATA, an empty element and repeated ones": (
        "<write_file><path>a</path><tags>1</tags><tags>2</tags><tags>3</tags><content><![CDATA[a < b]]></content></write_file>",
        ToolCall("write_file", {"path": "a", "tags": ["1", "2", "3"], "content": "a < b"}),
    ),
    "an empty element": (
        "<write_file><path>a</path><content/></write_file>",
        ToolCall("write_file", {"path": "a", "content": ""}),
    ),
    "nested elements": (
        "<write_file><path>a</path><content>b</content><tags><item>1</item><item>2</item></tags></write_file>",
        ToolCall("write_file", {"path": "a", "content": "b", "tags": ["1", "2"]}),
    ),
    "parameters as elements of a function": (
        "<tool_call>\n<function=wipe>\n<path>\n/data\n</path>\n</function>\n</tool_call>",
        WIPE,
    ),
    "indented parameters": (
        "<function=write_file>\n  <parameter=path>\n    a\n  </parameter>\n  <parameter=content>\n    b\n      c\n  </parameter>\n</function>",
        ToolCall("write_file", {"path": "a", "content": "b\n  c"}),
    ),
    "a blank after a start tag": (
        "<function=wipe><parameter=path>  \n/data\n</parameter></function>",
        WIPE,
    ),
    "an element that is no parameter": (
        "<wipe><path>/data</path><other>x</other></wipe>",
        ToolCall("wipe", {"path": "/data", "other": "x"}),
    ),
    "a value that ends at its end tag": (
        "<function=wipe><parameter=path>\n/data</parameter></function>",
        WIPE,
    ),
    "headers with dashes and no thought": (
        'Fine.\nAction - a\nAction Input - {"x": 1}',
        ToolCall("a", {"x": 1}),
    ),
    "a name of one letter": ("<|tool_call>call:a{x:1}<tool_call|>", ToolCall("a", {"x": 1})),
}


@pytest.mark.parametrize(("text", "call"), READ.values(), ids=READ)
def test_a_call_is_read_however_it_is_spelled(text: str, call: ToolCall) -> None:
    """What is spelled otherwise is the same call."""
    tools = None if call.name == "a" else TOOLS
    assert read_turn(text, tools=tools).actions == (call,)


SEVERAL = {
    "arguments in blocks of tildes": (
        "<\uff5ctool\u2581calls\u2581begin\uff5c>"
        '<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>f\n~~~json\n{"a": 1}\n~~~<\uff5ctool\u2581call\u2581end\uff5c>'
        '<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>g\n~~~json\n{"b": 2}\n~~~<\uff5ctool\u2581call\u2581end\uff5c>'
        "<\uff5ctool\u2581calls\u2581end\uff5c>",
        ["f", "g"],
    ),
    "calls in turn behind one token": (
        '<|tool_call>call:f{q:<|"|>a<|"|>}call:g{q:<|"|>b<|"|>}<tool_call|>',
        ["f", "g"],
    ),
    "a second call of the same speaker": (
        '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"x": 1}<|call|>'
        '<|start|>assistant<|channel|>commentary to=functions.g <|constrain|>json<|message|>{"y": 2}<|call|>',
        ["f", "g"],
    ),
    "an open call before the next": (
        "<tool_calls><tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value>"
        "<tool_call>g<arg_key>b</arg_key><arg_value>2</arg_value></tool_call></tool_calls>",
        ["f", "g"],
    ),
}


@pytest.mark.parametrize(("text", "names"), SEVERAL.values(), ids=SEVERAL)
def test_no_sibling_is_dropped(text: str, names: list[str]) -> None:
    """Each call that is announced is made."""
    assert [call.name for call in read_turn(text).actions] == names  # type: ignore[union-attr]


REFUSED = {
    "an element that no tool takes": "<wipe><other>x</other></wipe>",
    "an input that is no value": "Action: wipe\nAction Input: {[",
    "an element that holds no value": "<tool_call>{/</tool_call>",
    "many stray end tags": "<write_file><path>a</path><content>"
    + "x</content>" * 60
    + "</write_file>",
    "a tool that is disabled": "Action: wipe (disabled by policy)\nAction Input: /data",
    "an argument beside the arguments": '{"tool": "write_file", "content": "a", "args": {"path": "p", "content": "b"}}',
    "a question beside a call": '{"name": "wipe", "arguments": {"path": "/"}, "message": "Shall I?"}',
    "a thought that forbids it": '{"thought": "Do not run this.", "command": {"name": "wipe", "arguments": {"path": "/"}}}',
    "a quotation in a thought": 'Thought: a page said "ok. Action: wipe\nAction Input: /data"',
    "a value that breaks out": (
        "<function=now></function><function=wipe><parameter=path>/</parameter></function></parameter></function>"
    ),
    "another key beside such arguments": '{"name": "wipe", "payload": {"path": "/data"}, "denied": true}',
    "such arguments that do not fit": '{"name": "wipe", "payload": {"path": "/data", "x": 1}}',
    "such arguments that are broken": '{"name": "wipe", "payload": "{broken"}',
    "two keys that say nothing": '{"request": "wipe", "body": "now"}',
    "arguments without quotes": '{"name": "wipe", "arguments": invalid json here}',
    "an argument with a stray end tag": "<write_file><path>a</path><content>b</content></content></write_file>",
    "an argument twice": "<write_file><path>a</path><path>b</path><content>c</content></write_file>",
    "an argument that nothing closes": "<write_file><path>a</path><content>b</write_file>",
    "arguments that are broken": "<tool><name>wipe</name><arguments>{broken}</arguments></tool>",
    "a user before the assistant": f"User: go on\nAI: {CALL}",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_is_not_sure_is_no_call(text: str) -> None:
    """A spelling that leaves a doubt runs nothing."""
    assert not [a for a in read_turn(text, tools=TOOLS).actions if isinstance(a, ToolCall)]


@pytest.mark.parametrize("text", ['<|python_tag|>{"name": invalid}', "<tools>42</tools>"])
def test_a_name_is_no_guess(text: str) -> None:
    """Where no tool speaks for it, a word without quotes or a number is no name."""
    assert read_turn(text).failure is not None


STANDING = {
    "a list without a name": "- Action:\n- Owner: Bob",
    "a list that ends without a name": "Notes\n\n- Action:",
    "two names": "AI: Artificial Intelligence\nML: Machine Learning",
    "a token in a sentence": "The [Action Input] field holds the text.",
    "brackets": "[Action] items for today: clean the table",
    "a definition": "AI: the study of agents.",
    "an entity in prose": "Write &lt;b&gt; and &quot;quotes&quot; like this.",
    "an element of HTML": "Use <path> in the <svg> element.",
}


@pytest.mark.parametrize("text", STANDING.values(), ids=STANDING)
def test_prose_stays_prose(text: str) -> None:
    """The same signs in prose are part of an answer."""
    assert read_turn(text, tools=TOOLS).actions == (FinalAnswer(text),)


@pytest.mark.parametrize("value", ["a:\u200bb", "say, &quot;hi&quot;", "&lt;call&gt; it"])
def test_marks_in_a_value_stay(value: str) -> None:
    """What looks like damage is left alone in a value."""
    (call,) = read_turn(f"[execute_command(command='{value}')]", tools=TOOLS).actions
    assert call == ToolCall("execute_command", {"command": value})


def test_many_values_of_one_parameter() -> None:
    """Reading them takes time in proportion to their number."""
    text = "<write_file><path>a</path><content>b</content>" + "<tags>x</tags>" * 20_000
    start = time.process_time()
    (call,) = read_turn(f"{text}</write_file>", tools=TOOLS).actions
    assert isinstance(call, ToolCall)
    assert isinstance(call.arguments, dict)
    assert len(call.arguments["tags"]) == 20_000
    assert time.process_time() - start < 5


def test_what_is_put_right_is_told() -> None:
    """A call that needed a repair is not exact, and each repair has its place in the original."""
    text = "<function=wipe>\n  <parameter=path>\n    /data\n  </parameter>\n</function>"
    for written, what in [
        (f"AI: {CALL}", "the speaker's name"),
        (READ["entities"][0], "entities"),
        (READ["arguments under a key that says nothing"][0], "arguments under `payload`"),
        (text, "indentation"),
    ]:
        turn = read_turn(written, tools=TOOLS)
        assert turn.fidelity == "repaired"
        assert what in [repair.what for repair in turn.repairs]
        assert all(0 <= repair.span[0] <= repair.span[1] <= len(written) for repair in turn.repairs)
    escaped = read_turn(READ["entities"][0])
    assert escaped.span == (0, len(READ["entities"][0]))
