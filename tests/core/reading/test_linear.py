"""Reading costs time in proportion to the text, whatever mark is repeated."""

from __future__ import annotations

import time

import pytest

from loopmend import read_turn
from loopmend.reading.tools import Toolbox

TOOLS = Toolbox(
    [
        "a",
        "f",
        {
            "name": "search",
            "parameters": {"properties": {"q": {"type": "string"}}, "required": ["q"]},
        },
    ]
)
MARKS = (
    *(
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        "|",
        "`",
        "```",
        "~~~",
        "```json\n",
        "```\n",
        "*",
        "#",
    ),
    *(
        "_",
        "-",
        "- ",
        "> ",
        ">",
        ":",
        "=",
        "\\",
        "/",
        "/*",
        "//",
        "...",
        "\u2026",
        ". ",
        "? ",
        "! ",
    ),
    *('"', "'", "\u201c", "\u201d", "\u00ab", "\u300c", '"""', "'''", '\\"', "\\n", "\\u00"),
    *(
        "{}",
        "[]",
        "()",
        "[[",
        "{{",
        "([",
        "{]",
        "[1,",
        "{a:",
        '{"a":',
        "{'a':",
        '{"a": "b" ',
        "1, ",
    ),
    *("a ", "\n", "\t", "\r\n", "\r", "\u200b", "\ufeff", "\u3000", "\u00e9", "1. ", "a.b.", "a-b"),
)
TAGS = (
    *("<tool_call>", "</tool_call>", "<tool_call></tool_call>", "<tool_call>{", "<tool_call>f("),
    *(
        "<function=a>",
        "<function=a><parameter=b>",
        "<parameter=b>",
        "</parameter>",
        "<invoke name='a'>",
    ),
    *(
        '<parameter name="q">',
        "<arg_key>",
        "<arg_value>",
        "<arg_key>q</arg_key>",
        "<a ",
        "<a b='",
        "<!--",
    ),
    *(
        "<think>",
        "</think>",
        "<think></think>",
        "<answer>",
        "</answer>",
        "<answer></answer>",
        "<p>",
    ),
    *(
        "<example>",
        "<tool>",
        "<tool_input>",
        "<yield>",
        "<stuck>",
        "<uncertain>",
        "<search>",
        "<a/>",
    ),
    *(
        "<|",
        "<|channel|>analysis<|message|>",
        "<|im_start|>assistant\n",
        "<|tool_call>",
    ),
    *(
        "to=a<|message|>",
        "<|start|>",
        "<\uff5ctool\u2581calls\u2581begin\uff5c>",
        "[TOOL_CALLS]",
    ),
    *(
        "[TOOL_CALLS]a{",
        "[/TOOL_CALLS]",
        "[INST]",
        "]<]minimax[>[",
        "]<]minimax[>[<a>",
        "<s>",
        "</s>",
        "<|call|>",
        "<|im_end|>",
    ),
)
HEADERS = (
    *(
        "Action:",
        "Action: a\n",
        "Action: a\nAction Input: b\n",
        "Action Input:",
        "Action Input: {\n",
    ),
    *(
        "Thought:",
        "Thought: x\n",
        "Observation: x\n",
        "Final Answer:",
        "Final Answer: x\n",
        "Answer:",
    ),
    *(
        "Question: x\n",
        "User: x\n",
        "- Action: a\n",
        "1. Action: a\n",
        "> Action: a\n",
    ),
    *(
        "Action - ",
        "Action\n",
        "Action: a[\n",
        "Action: f(",
        "Step 1: ",
        "step 1 ",
        "the ",
    ),
    *(
        "Action Input ",
        "Input: ",
        "tool ",
        "name: a\n",
        "\u884c\u52a8\uff1a",
        "Acci\u00f3n: a\n",
        "Action 1: a\n",
    ),
)
CALLS = (
    *(
        "f(a=",
        "f(a=1)",
        "f(a=1)\n",
        "[f(a=1)]",
        "[f(",
        "f(a=[",
        "functools[",
        "call:a{",
    ),
    *(
        '{"name":"a","arguments":{}}',
        '{"name":"a","arguments":{',
        '{"name":"a"}\n',
        '["a",{}],',
        "Search[",
    ),
    *(
        '{"tool_calls":[',
        '{"a":{"a":',
        '{"action":"a","action_input":"',
        "print(f(",
        "x = ",
        "import a\n",
    ),
)
SPEECH = (
    *(
        "I will ",
        "I'll look. ",
        "Let me see: ",
        "to do, ",
        "I'm stuck ",
        "if I'm stuck ",
        "now ",
        "please ",
    ),
    *(
        "not ",
        "I ",
        "so ",
        "then, ",
        "\u6211\u5c06",
        "\u4e0d",
        "ich werde ",
        "step ",
        "a call ",
        "I do not use ",
    ),
)
PUMPS = (*MARKS, *TAGS, *HEADERS, *CALLS, *SPEECH)
AROUND = (
    ("", ""),
    ("Thought: t\nAction: a\nAction Input: ", "\nObservation: x"),
    ("<tool_call>{", "}</tool_call>"),
    ("I'll look:\n", '\n{"name": "a", "arguments": {}}'),
)


def _cost(text: str, *, tools: bool) -> float:
    started = time.thread_time()
    read_turn(text, tools=TOOLS if tools else None)
    return time.thread_time() - started


def _is_linear(before: str, piece: str, after: str, *, tools: bool) -> bool:
    """Tell whether twice the text costs less than three times as much, measured up to thrice."""
    for size in (4_000, 12_500, 12_500):
        half = _cost(before + piece * (size // len(piece)) + after, tools=tools)
        whole = _cost(before + piece * (2 * size // len(piece)) + after, tools=tools)
        if whole < 3 * half + 0.01:
            return True
    return False


@pytest.mark.parametrize("around", AROUND, ids=["alone", "in react", "in a tag", "before a call"])
def test_pumps_are_linear(around: tuple[str, str]) -> None:
    """Any mark, quote, bracket, header, token, call or phrase, repeated, is read in linear time."""
    slow = [piece for piece in PUMPS if not _is_linear(around[0], piece, around[1], tools=True)]
    assert slow == []


def test_pumps_are_linear_without_tools() -> None:
    """So it is where it is unknown what is on offer."""
    assert [piece for piece in PUMPS if not _is_linear("", piece, "", tools=False)] == []


@pytest.mark.parametrize(
    "piece",
    [
        *("{", '"', "<", "`", "<function=a>", "Action: a\n", "f(a=", "plain words. "),
        *("<|channel|>", '{"name":"a","arguments":{}}\n', "[", "I will ", "\r\n"),
    ],
)
def test_a_megabyte(piece: str) -> None:
    """A megabyte of anything is read in seconds, not in minutes."""
    assert _cost(piece * (1_000_000 // len(piece)), tools=True) < 12


PAIRS = (
    *(
        ("{", "}"),
        ("[", "]"),
        ("(", ")"),
        ("<a>", "</a>"),
        ("<tool_call>", "</tool_call>"),
        ("f(", ")"),
    ),
    *(
        ('{"a":', "}"),
        ("```\n", "\n```\n"),
        ("<think>", "</think>"),
        ('"', '"'),
        ("<|x|>", "<|/x|>"),
    ),
)


@pytest.mark.parametrize(("opener", "closer"), PAIRS)
def test_deep_nesting_is_linear(opener: str, closer: str) -> None:
    """However deep marks nest, and whether they are closed or not, time grows with length alone."""

    def cost(depth: int) -> float:
        text = opener * depth + closer * depth
        return _cost(text, tools=True) + _cost(text + opener * depth, tools=False)

    assert any(cost(2 * depth) < 3 * cost(depth) + 0.01 for depth in (1500, 2500, 2500))
