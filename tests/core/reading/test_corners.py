"""Corners of the forms: what stands in odd places, and what is refused there."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import FailurePattern, FinalAnswer, ToolCall, read_response, read_turn
from loopmend.reading.tools import Toolbox

TOOLS: list[Any] = [
    {
        "name": "search",
        "parameters": {"properties": {"q": {"type": "string"}}, "required": ["q"]},
    },
    {"name": "now", "parameters": {"properties": {}}},
    {
        "name": "move",
        "parameters": {
            "properties": {
                "a": {"type": "string"},
                "tags": {"type": "array"},
                "o": {"type": "object"},
            }
        },
    },
]

CALLS: list[tuple[str, list[tuple[str, Any]], str]] = [
    (
        "Reasoning: I should look\nAction: search\nAction Input: x",
        [("search", {"q": "x"})],
        "exact",
    ),
    (
        "Thought: t\nAction: search (looks things up)\nAction Input: x",
        [("search", {"q": "x"})],
        "exact",
    ),
    ("Action: search (q)\nAction Input: x", [("search", {"q": "x"})], "exact"),
    ('Thought: t\nAction: search ({"q": "x"})', [("search", {"q": "x"})], "exact"),
    ('Thought: t\nAction: search ({"q": bad bad: })', [("search", {"q": "bad bad:"})], "repaired"),
    (
        "Action: search\nAction Input: x\nObservation: y\nFinal Answer: 4",
        [("search", {"q": "x"})],
        "repaired",
    ),
    (
        '{"name": "search", "arguments": {"q": "x"}}\n{"action": "Final Answer", "action_input": "4"}',
        [("search", {"q": "x"})],
        "repaired",
    ),
    ('<|tool_call>call:search{q:<|"|>a}<tool_call|>', [("search", {"q": "a"})], "repaired"),
    ("search(q='\\xe9')", [("search", {"q": "é"})], "exact"),
    ('{"name"：“search”，"arguments"：{"q": "x"}}', [("search", {"q": "x"})], "repaired"),
    (
        '[TOOL_CALLS]search[ARGS]{"q": "x"}\nThought: done\nFinal Answer: 4',
        [("search", {"q": "x"})],
        "repaired",
    ),
    (
        "<tool_call>\nAction: search\nAction Input: x y\n</tool_call>",
        [("search", {"q": "x y"})],
        "exact",
    ),
    (
        '```\n~~~\n{"name": "search", "arguments": {"q": "x"}}\n~~~\n```',
        [("search", {"q": "x"})],
        "exact",
    ),
    (
        '<tool call>{"name": "search", "arguments": {"q": "x"}}</tool call>',
        [("search", {"q": "x"})],
        "exact",
    ),
    (
        "<function=move><parameter=a>1</function><function=move><parameter=a>2</parameter></function>",
        [("move", {"a": "1"}), ("move", {"a": "2"})],
        "repaired",
    ),
    ('search\n{"q": "x"}', [("search", {"q": "x"})], "exact"),
    (
        '<|im_start|>assistant\n{"name": "search", "arguments": {"q": "x"}}<|im_end|>',
        [("search", {"q": "x"})],
        "exact",
    ),
    (
        '<tool_call type="function">{"name": "search", "arguments": {"q": "x"}}</tool_call>',
        [("search", {"q": "x"})],
        "exact",
    ),
    (
        '<tool_call><name>search</name><arguments>{"q": "x"}</arguments></tool_call>',
        [("search", {"q": "x"})],
        "exact",
    ),
    (
        "<tool_call><name>search</name><arguments><q>x</q></arguments></tool_call>",
        [("search", {"q": "x"})],
        "exact",
    ),
    (
        "<tool_call><tool_name>search</tool_name><parameters>x</parameters></tool_call>",
        [("search", {"q": "x"})],
        "exact",
    ),
    (
        '<invoke name="move"><arguments>{"a": "1"}</arguments><parameter name="o">{"b": 1}</parameter></invoke>',
        [("move", {"a": "1", "o": {"b": 1}})],
        "exact",
    ),
    (
        '<invoke name="move"><id>7</id><parameter name="a">1</parameter></invoke>',
        [("move", {"a": "1"})],
        "exact",
    ),
    (
        '<invoke name="move"><parameter name="tags">a</parameter><parameter name="tags">b</parameter></invoke>',
        [("move", {"tags": ["a", "b"]})],
        "exact",
    ),
    (
        '<invoke name="search"><parameter name="arguments">{"q": "x"}</parameter></invoke>',
        [("search", {"q": "x"})],
        "exact",
    ),
    ('<tool_call>search ```json\n{"q": "x"}\n```</tool_call>', [("search", {"q": "x"})], "exact"),
    ("<function=search><q>x</q></function>", [("search", {"q": "x"})], "exact"),
    ("<search><q>x</q></search>", [("search", {"q": "x"})], "exact"),
    ("<search><q>\nx\n</q></search>", [("search", {"q": "x"})], "exact"),
    ("<search>x</search>", [("search", {"q": "x"})], "exact"),
    ("<move><o><b>1</b></o></move>", [("move", {"o": {"b": "1"}})], "exact"),
    ("<now/>", [("now", {})], "exact"),
    ("<now></now>", [("now", {})], "exact"),
    ("[TOOL_CALLS]now", [("now", {})], "exact"),
    (
        "<tool_call>search\\n<arg_key>q</arg_key>\\n<arg_value>x</arg_value></tool_call>",
        [("search", {"q": "x"})],
        "exact",
    ),
    (
        "Action: search\nAction Input: x\n\nAction: now\nAction Input: none",
        [("search", {"q": "x"}), ("now", {})],
        "exact",
    ),
    (
        '<tool_call>{"type": "tool_call", "name": "search", "arguments": {"q": "x"}}</tool_call>',
        [("search", {"q": "x"})],
        "exact",
    ),
    ("Action: search\nAction Input: [x", [("search", {"q": "[x"})], "exact"),
    ("Action: search\nAction Input: x<|im_end|> y", [("search", {"q": "x"})], "repaired"),
    (
        "<function=move><parameter=a>1</parameter></function> <function=move><parameter=a>2</parameter></function>",
        [("move", {"a": "1"}), ("move", {"a": "2"})],
        "exact",
    ),
    (
        '<|tool_call>call:search{<|"|>q<|"|>:<|"|>x<|"|>}<tool_call|>',
        [("search", {"q": "x"})],
        "exact",
    ),
    ('{"name": "search", "arguments": {"q": "x"}}}}', [("search", {"q": "x"})], "repaired"),
    (
        '<|im_start|>\n{"name": "search", "arguments": {"q": "x"}}',
        [("search", {"q": "x"})],
        "exact",
    ),
    (
        '<tool_call><|message|>{"name": "search", "arguments": {"q": "x"}}</tool_call>',
        [("search", {"q": "x"})],
        "exact",
    ),
    (
        '<tool_calls><tool_call>{"name": "search", "arguments": {"q": "x"}}',
        [("search", {"q": "x"})],
        "repaired",
    ),
    (
        '<invoke name="move"><parameter name="a">1</parameter><parameter name="zzz">2</parameter></invoke>',
        [("move", {"a": "1", "zzz": "2"})],
        "exact",
    ),
    ("Thought - I know\nAction - search\nAction Input - x", [("search", {"q": "x"})], "exact"),
    ("<tool_call>now</tool_call>\n<tool_response>1</tool_response>", [("now", {})], "repaired"),
    (
        '<function=move><parameter=a>1</parameter><parameter=o>{"x": "<parameter=zzz>"}</parameter></function>',
        [("move", {"a": "1", "o": {"x": "<parameter=zzz>"}})],
        "exact",
    ),
]
ANSWERS: list[tuple[str, str]] = [
    ("Explanation: as follows\nNotes: none", "Explanation: as follows\nNotes: none"),
    ("Thought: a\nObservation: b\nThought: c\nFinal Answer: 4", "4"),
    ("- Answer: four\n- Price: five", "- Answer: four\n- Price: five"),
    ("> Final Answer: four", "> Final Answer: four"),
    ("```\nThought: t\nFinal Answer: 4\n```", "4"),
    ('Action: x `a` {"q": 1}', 'Action: x `a` {"q": 1}'),
    ('Action: finish\nAction Input: {"answer": "4"}', "4"),
    ('Action: finish\nAction Input: {"a": 1, "b": 2}', '{"a": 1, "b": 2}'),
    ('<think>{"name": "search", "arguments": {"q": "x"}}</think>ok', "ok"),
    ("Final Answer: a <|im_end|> b", "a <|im_end|> b"),
    ("Final Answer: a<|eot_id|>", "a"),
    ("The [tool] is here.", "The [tool] is here."),
    ("The token <|im_end|> ends a turn.", "The token <|im_end|> ends a turn."),
    ("<s>old</s> new", "<s>old</s> new"),
    ("I think <thought> is a tag.", "I think <thought> is a tag."),
    ('Look:\nfoo\n{"q": "x"}', 'Look:\nfoo\n{"q": "x"}'),
    ('Final Answer: {"action": "Final Answer", "action_input": "4"}', "4"),
    ('Final Answer: {"a": }', '{"a": }'),
    ('Final Answer: {"a": 1}', '{"a": 1}'),
    ("◁think▷hm◁/think▷ok", "ok"),
    ("Do I need to use a tool? No\nIt is 4.", "It is 4."),
    ("<final_answer>4</final_answer>", "4"),
    ('<final_answer>{"a": }</final_answer>', '{"a": }'),
    (
        '<!-- {"name": "search", "arguments": {"q": "x"}} -->',
        '<!-- {"name": "search", "arguments": {"q": "x"}} -->',
    ),
    ("See <parameter/> there.", "See <parameter/> there."),
    ('Thought: a\nObservation: {"b": 1}\nInput: c\nFinal Answer: 4', "4"),
    ("See here.\nand there\nAnswer: 4", "See here.\nand there\nAnswer: 4"),
    ("<result>5</result>", "<result>5</result>"),
    ("Use <|channel|> in harmony.", "Use <|channel|> in harmony."),
    ("> Thought: a\n> Final Answer: 4", "> Thought: a\n> Final Answer: 4"),
    ("<search>x", "<search>x"),
    ("<|channel>thought\nhm<channel|>ok<channel|>", "ok"),
    ("<answer>a</answer><answer>b</answer>", "a"),
    ("[[search]]", "[[search]]"),
    ("<arguments>x</arguments>", "<arguments>x</arguments>"),
    ("```bash\nFinal Answer: 4\n```\nso", "```bash\nFinal Answer: 4\n```\nso"),
    ("Question: What?\nAnswer: 4", "Question: What?\nAnswer: 4"),
    ('Action: finish\nAction Input: {"a": 1}', '{"a": 1}'),
    ("# Thought\nI know\n# Final Answer\n4", "4"),
    ('{"name": "search", "arguments": {"q": "x"}}</think>ok', "ok"),
    ("```\nhm</think>ok\n```", "```\nhm</think>ok\n```"),
    ("Action: cannot be done (yet). So we wait.", "Action: cannot be done (yet). So we wait."),
    ("<s>hello", "hello"),
    ("Sure, I can search ( that ) for you.", "Sure, I can search ( that ) for you."),
    ('Final Answer: {"action": "Final Answer", "action_input": "4"}', "4"),
]
FAILURES: list[tuple[str, str]] = [
    ("Thought: t\nAction: search (only later)\nAction Input: x", "unknown_tool"),
    ("Thought: t\nAction: search({bad)", "malformed"),
    ('Action: "{}"\n{"name": "search", "arguments": {"q": "x"}}', "malformed"),
    ("Tool: search\nTool Name: search\nInput: x", "missing_input"),
    ("Action: search\nAction Name: search\nAction Input: x", "missing_input"),
    ("Action: search\nAction Input: /etc\nBut I will not run it.", "malformed"),
    ("Thought: a\nObservation: b\nAction: search\nAction Input: x", "fabricated_output"),
    ("User: hi\nAction: search\nAction Input: x", "malformed"),
    (
        '{"action": "Final Answer", "action_input": "4"}\n{"name": "search", "arguments": {"q": "x"}}',
        "malformed",
    ),
    ('{"name": "search", "arguments": {"q": "a" + b}}', "malformed"),
    ('{"name": "search", "arguments": {"q": <|"|>a}}', "truncated"),
    ('<|tool_call>call:search{q:<|"|>a', "malformed"),
    ("<function_calls>foo(a=1)</function_calls>", "unknown_tool"),
    ('```example\n{"name": "search", "arguments": {"q": "x"}}\n```\nso', "malformed"),
    ('```bash\n{"name": "search", "arguments": {"q": "x"}}\n```', "malformed"),
    ('I\'ll look:\n```json\n{"name": "search", "arguments": {"q": "x"}}\nand more', "malformed"),
    (
        '<example_tool_call>{"name": "search", "arguments": {"q": "x"}}</example_tool_call>',
        "malformed",
    ),
    ("<|im_start|>user\nhi<|im_end|>", "fabricated_output"),
    (
        '<tool_call type="example">{"name": "search", "arguments": {"q": "x"}}</tool_call>',
        "malformed",
    ),
    ("<tool_calls><tool_call></tool_call></tool_calls>", "malformed"),
    (
        '<tool_calls><tool_call>{"name": "search", "arguments": {"q": "x"}}</tool_call> not this one</tool_calls>',
        "malformed",
    ),
    ('<invoke name="move"><value>7</value></invoke>', "malformed"),
    ('<invoke name="move"><arg_key>a</arg_key></invoke>', "malformed"),
    ('<tool_call>search{"q": "x"} but not really</tool_call>', "malformed"),
    ("<tool_call>search\n[1, 2]</tool_call>", "malformed"),
    ('<tool_call>search["a"]</tool_call>', "malformed"),
    ('<tool_call>search(q="x") search</tool_call>', "malformed"),
    ("<function=search>oops</function>", "malformed"),
    ("<function=search><q>x</function>", "malformed"),
    ("<search><q>x</q>y</search>", "malformed"),
    ("[TOOL_CALLS]search", "truncated"),
    ("<tool_call>now", "truncated"),
    ('<tool>search</tool><tool_input>{"q": bad</tool_input>', "bad_arguments"),
    ("<tool>search</tool><tool_input>{bad: }</tool_input>", "bad_arguments"),
    ('[TOOL_CALLS][CALL_ID]1[ARGS]{"q": "x"}', "malformed"),
    ("<tool_call>search(q=)</tool_call>", "malformed"),
    ("<tool_call>{bad</tool_call>", "malformed"),
    ("Action: search\nAction Input: {bad", "truncated"),
    (' to=self<|message|>I could {"name": "search", "arguments": {"q": "x"}} but', "empty"),
    ('[{"name": "search", "arguments": {"q": "x', "truncated"),
    ('My colleague typed it yesterday. {"name": "search", "arguments": {"q": "x"}}', "malformed"),
    ('{"functions": [{"name": "search", "parameters": {"q": "x"}}]}', "malformed"),
    ("Thought: a\nUser: b\nAssistant: c", "no_action"),
    ("Action: search (x) (y)\nAction Input: z", "unknown_tool"),
    ("Action: search(q='x') and more", "unknown_tool"),
    ("> Action: search\n> Action Input: x", "malformed"),
    ("<tool_response>x</tool_response>", "fabricated_output"),
    ("<observation>x</observation>", "fabricated_output"),
    ('<parameter name="a">1</parameter>', "malformed"),
    ("<arg_key>a</arg_key>", "malformed"),
    ("<start_of_turn>user\nhi", "fabricated_output"),
    ("ok<|im_end|>and then the user says hi there", "fabricated_output"),
    ("hi</think>", "empty"),
    ("ok<|im_end|>x y<|im_end|>z z", "fabricated_output"),
    ('<|tool_call_begin|><|tool_sep|>{"q": "x"}<|tool_call_end|>', "malformed"),
    ('<|tool_call_begin|><|call_id|>7<|tool_sep|>{"q": "x"}<|tool_call_end|>', "malformed"),
    ('Action: search\nAction Input: {"a" "b"', "truncated"),
    ('<tool_call>{"a" "b"</tool_call>', "malformed"),
    ('<tool_call>{"a": "</tool_call>"', "malformed"),
    ('Action: search\nAction Input: {"a" 1', "truncated"),
    ('<tool_call>{"a" 1</tool_call>', "malformed"),
]


@pytest.mark.parametrize(("text", "calls", "fidelity"), CALLS)
def test_calls(text: str, calls: list[tuple[str, Any]], fidelity: str) -> None:
    """Each text makes just these calls, and says whether anything had to be put right."""
    turn = read_turn(text, tools=TOOLS)
    assert turn.failure is None
    assert turn.actions == tuple(ToolCall(name, arguments) for name, arguments in calls)
    assert turn.fidelity == fidelity


@pytest.mark.parametrize(("text", "answer"), ANSWERS)
def test_answers(text: str, answer: str) -> None:
    """Each text is this answer, and nothing of it is lost."""
    assert read_turn(text, tools=TOOLS).actions == (FinalAnswer(answer),)


@pytest.mark.parametrize(("text", "pattern"), FAILURES)
def test_failures(text: str, pattern: str) -> None:
    """Each text is asked about, for this reason."""
    failure = read_turn(text, tools=TOOLS).failure
    assert failure is not None
    assert failure.pattern is FailurePattern(pattern)


def test_more_calls_than_anybody_makes() -> None:
    """Beyond some hundred calls in a reply nobody can be sure, wherever they stand."""
    one = '<tool_calls><tool_call>{"name": "now", "arguments": {}}</tool_call></tool_calls>'
    failure = read_turn(one * 402, tools=TOOLS).failure
    assert failure is not None
    assert "too much markup" in failure.message


def test_talk_beside_the_interface() -> None:
    """Where calls go through the interface, markup in a sentence is talk, a broken action is not."""
    talk = 'Use <parameter name="a">1</parameter> here, please.'
    assert read_response(talk, tools=TOOLS).failure is None
    broken = read_response('Action: search\nAction Input: {"q": "x', tools=TOOLS).failure
    assert broken is not None
    taken_back = "Action: search\nAction Input: x\nBut I will not run it."
    assert read_response(taken_back, tools=TOOLS).failure is not None


def test_names_in_many_brackets() -> None:
    """Decoration comes off a name a few times, not for ever."""
    tools = Toolbox(["x"])
    assert tools.find("[[[x]]]") is not None
    assert tools.find("[" * 9 + "x" + "]" * 9) is None


def test_many_tags_of_other_names() -> None:
    """Tags of ever new names cost no search each."""
    text = "".join(f"<message_{a}{b}>x" for a in "abcdefghij" for b in "qrstuvwxyz")
    assert read_turn(text).actions == (FinalAnswer(text),)


def test_messages_to_itself() -> None:
    """What a model says to itself up to a token is thought, however often it starts anew."""
    turn = read_turn("to=self<|message|>one to=self<|message|>two<|eom|>")
    assert turn.thought == "one to=self<|message|>two\ntwo"


def test_wrappers_of_all_there_is() -> None:
    """Markup that wraps all there is, even twice, does not make a call unclear."""
    turn = read_turn('<pre><pre>{"name": "f", "arguments": {}}</pre></pre>')
    assert turn.actions == (ToolCall("f", {}),)


def test_thinking_that_starts_twice() -> None:
    """Thinking that never ends starts where it starts first."""
    turn = read_turn("Well. <thinking>a\n\n<reasoning>b")
    assert turn.thought == "a\n\n<reasoning>b"


def test_fences_of_nothing() -> None:
    """Fences that hold nothing, however many, leave the answer before them as it is."""
    text = "Four." + "\n```\n```" * 3
    assert read_turn(text).actions == (FinalAnswer(text),)


TWO = [
    {
        "name": "wipe",
        "parameters": {"properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
    {"name": "search", "parameters": {"properties": {"q": {"type": "string"}}, "required": ["q"]}},
]
WIPE = '{"name": "wipe", "arguments": {"path": "/x"}}'


def test_a_tool_beside_a_tool_is_accounted_for() -> None:
    """Where one key holds a call, another key that is a tool as well is not dropped."""
    turn = read_turn('{"search": {"q": "x"}, "wipe": "/tmp"}', tools=TWO)
    assert turn.actions == ()
    assert turn.failure is not None
    answer = read_turn('{"search": "nothing", "wipe": "done"}', tools=TWO)
    assert isinstance(answer.actions[0], FinalAnswer)


@pytest.mark.parametrize("key", ["deny", "rejected_calls", "quoted", "skip", "blockedCall"])
def test_a_wrapper_that_withholds(key: str) -> None:
    """A wrapper may have any name but one that says that the call is held back or shown."""
    assert read_turn(f'{{"{key}": {WIPE}}}', tools=TWO).actions == ()
    assert read_turn(f'{{"frob": {WIPE}}}', tools=TWO).actions == (
        ToolCall("wipe", {"path": "/x"}),
    )


@pytest.mark.parametrize("key", ["content_blocks", "blocks", "reports"])
def test_a_wrapper_that_is_a_noun(key: str) -> None:
    """What a verb of holding back is as a noun holds nothing back."""
    (call,) = read_turn(f'{{"{key}": [{WIPE}]}}', tools=TWO).actions
    assert call == ToolCall("wipe", {"path": "/x"})


def test_a_key_that_is_a_parameter_is_no_wrapper() -> None:
    """In whatever spelling; nor is one beside the tool's own name, unless it means arguments."""
    types = {"data": {"type": "object"}, "tool_name": {"type": "string"}}
    save = [{"name": "save", "parameters": {"properties": types}}]
    (call,) = read_turn(
        '{"name": "save", "arguments": {"Data": {"tool_name": "x"}}}', tools=save
    ).actions
    assert call == ToolCall("save", {"data": {"tool_name": "x"}})
    rejected = '{"name": "search", "arguments": {"name": "search", "rejected": {"q": "x"}}}'
    assert read_turn(rejected, tools=TWO).actions == ()


@pytest.mark.parametrize(
    "text",
    [
        "A) Action: search\nAction Input: cats\nB) Action: wipe\nAction Input: /a",
        "A) Action: wipe\nAction Input: /a\nB) Keep it",
    ],
)
def test_options(text: str) -> None:
    """What stands behind letters side by side is a choice; the letters of one call's parts are not."""
    assert read_turn(text, tools=TWO).actions == ()
    parts = "a) Thought: go\nb) Action: search\nc) Action Input: x"
    assert read_turn(parts, tools=TWO).actions == (ToolCall("search", {"q": "x"}),)


def test_a_call_written_once_more_in_its_input() -> None:
    """`Tool: wipe` above a whole call of `wipe` is that call; above one of another tool it is not."""
    turn = read_turn(f"Tool: wipe\n\n{WIPE}", tools=TWO)
    assert turn.actions == (ToolCall("wipe", {"path": "/x"}),)
    assert turn.fidelity == "repaired"
    assert read_turn(f"Tool: search\n\n{WIPE}", tools=TWO).actions == ()


def test_a_note_is_no_input() -> None:
    """Words in parentheses that set a condition are no input; an expression or a title is."""
    note = "Action: wipe\nAction Input: (on hold, the user has not approved it yet)"
    assert read_turn(note, tools=TWO).actions == ()
    slot = "Action: wipe\nAction Input: <the folder you give me>\n\nWhich folder is it?"
    assert read_turn(slot, tools=TWO).actions == ()
    for given in (
        "(cats and dogs not birds)",
        "${HOME}\nls",
        "(2 + 3)",
        "(What's the story, morning glory)",
        "(a b)",
    ):
        (call,) = read_turn(f"Action: search\nAction Input: {given}", tools=TWO).actions
        assert call == ToolCall("search", {"q": given})


@pytest.mark.parametrize(
    "before",
    [
        *("<|im_start|>assistant\n", "<|start_header_id|>assistant<|end_header_id|>\n\n"),
        *("<think>\n\n</think>\n\n", "<think>so</think>\n<|im_start|>assistant\n"),
    ],
)
def test_an_echoed_question_behind_the_template(before: str) -> None:
    """Tokens, the speaker's name and thinking say nothing: the question is still the first word."""
    text = "Question: what?\nThought: I look\nAction: search\nAction Input: x\nObservation: y"
    assert read_turn(before + text, tools=TWO).actions == (ToolCall("search", {"q": "x"}),)
    spoken = read_turn(f"{before}It is done.\n{text}", tools=TWO)
    assert not any(isinstance(action, ToolCall) for action in spoken.actions)


def test_line_ends_behind_a_broken_text_decide_nothing() -> None:
    """Whether there is work left for a try at a value does not hang on two blanks."""
    text = '{"": " ", "argu</answer>0}<think>[2J</think>{"action": "search", "args": "\\u001b[2J"'
    turns = [read_turn(text + end, tools=TOOLS) for end in ("", "\n", "\n\n", " " * 40)]
    assert {turn.actions for turn in turns} == {()}
    assert len({turn.failure.message for turn in turns if turn.failure}) == 1
