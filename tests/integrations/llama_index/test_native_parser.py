"""What LlamaIndex's own ReAct parser reads, ours reads alike."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.react.types import ActionReasoningStep

from llama_index_loopmend import TolerantReActOutputParser

CORPUS = Path(__file__).parents[4] / "shared/corpus"
OUTPUTS = sorted(CORPUS.glob("outputs/action.*.gz")) + sorted(CORPUS.glob("outputs/field.*.gz"))
HEADERS = ("Thought:", "Action:", "Answer:")
TOOLS = ["add", "search_web", "QueryEngineTool", "tool-2"]

words = st.sampled_from(
    ["I need to look.", "Let me see", "3 + 5 is 8", "es ist so", "ok", "the user wants a number"]
)
values = st.one_of(
    st.integers(-99, 99), st.booleans(), st.none(), st.sampled_from(["Oslo", "a b", "x: y"])
)
objects = st.dictionaries(
    st.sampled_from(["a", "b", "query", "input"]),
    st.one_of(values, st.lists(values, max_size=2)),
    max_size=3,
)
about = st.sampled_from(["", " ", " (add two numbers)", "(the tool)", " with care"])
around = st.sampled_from(
    [("", ""), ("", " and so on"), ("QueryEngineTool(", ")"), ("input = ", "")]
)


@st.composite
def actions(draw: st.DrawFn) -> str:
    """Write an action as the prompt asks for it, with what models put around it."""
    blank = draw(st.sampled_from(["\n", "\n\n"]))
    before, after = draw(around)
    given = json.dumps(draw(objects))
    start = draw(st.sampled_from(["Thought: ", "\nThought: ", ""]))
    name = draw(st.sampled_from(TOOLS))
    said = f"{start}{draw(words)}{blank}Action: {name}{draw(about)}{blank}"
    return f"{said}Action Input: {before}{given}{after}"


@st.composite
def answers(draw: st.DrawFn) -> str:
    """Write an answer as the prompt asks for it, on one line or on several."""
    joint = draw(st.sampled_from(["\n", " ", "\n\n"]))
    text = draw(st.sampled_from(["8", "It is 8.", "- one\n- two", "Oslo, in Norway", "{8}"]))
    return f"Thought: {draw(words)}{joint}Answer: {text}"


def read(parser: ReActOutputParser, text: str) -> tuple[Any, ...] | None:
    """Return what a parser reads, or `None` if it refuses the text."""
    try:
        step: Any = parser.parse(text)
    except ValueError:
        return None
    if isinstance(step, ActionReasoningStep):
        return step.action, json.loads(json.dumps(step.action_input, default=str))
    return (step.response.strip(),)


@settings(max_examples=400)
@given(st.one_of(actions(), answers()), st.booleans())
def test_generated_texts(text: str, known: bool) -> None:  # noqa: FBT001
    """Actions and answers in the form that the prompt asks for are read as LlamaIndex does."""
    theirs = read(ReActOutputParser(), text)
    assert theirs is not None
    # Where nobody knows the tools, a name may have several words, which LlamaIndex never reads.
    tools = TOOLS if known or "with care" in text else None
    assert read(TolerantReActOutputParser(tools=tools), text) == theirs


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Thought: 3 + 5 is 8. Answer: 8", ("8",)),
        ("Thought: The result is 8\\Answer: The sum is 8", ("The sum is 8",)),
        ("Thought: I will use the add tool.|Answer: 8", ("8",)),
        (
            'Thought: t\nAction: query_engine\nAction Input: QueryEngineTool({"input": "Oslo"})',
            ("query_engine", {"input": "Oslo"}),
        ),
        (
            'Thought: t\nAction: add (add two numbers)\nAction Input: {"a": 1, "b": 2}',
            ("add", {"a": 1, "b": 2}),
        ),
        (
            'Thought: t\nAction: add with care\nAction Input: use {"a": 1, "b": 2}',
            ("add", {"a": 1, "b": 2}),
        ),
    ],
)
def test_reported_texts(text: str, found: tuple[Any, ...]) -> None:
    """Texts that were refused or misread before, with the tools known and without."""
    for tools in (["query_engine", "add"], *([] if "care" in text else [None])):
        assert read(TolerantReActOutputParser(tools=tools), text) == found
    assert read(ReActOutputParser(), text) == found


@pytest.mark.parametrize(
    "text",
    [
        "Thought: I will use the add tool.",
        "Thought: I will use the add tool.|Answer:",
        "I will use the add tool.|Answer: 8",
    ],
)
def test_no_answer_is_none(text: str) -> None:
    """A thought that leads nowhere is refused, and an empty answer is no answer."""
    assert read(TolerantReActOutputParser(tools=["add"]), text) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Thought: t\nAction: add\nAction Input: [in {SF}]", ("add", {"input": "[in {SF}]"})),
        ('Thought: t\nAction: note\nAction Input: it is {"a": 1}', None),
        ('Thought: t\nAction: nothing at all\nAction Input: x {"a": 1}', None),
        ('Thought: t\nAction: add\nAction Input: see {"a": 1', None),
        ("Thought: t\nAction: add\nAction Input: see {" + "[" * 100_000, None),
    ],
)
def test_an_object_in_the_input_is_not_always_the_input(
    text: str, found: tuple[Any, ...] | None
) -> None:
    """What is no JSON, or does not fit the tool, is left as it was read."""
    note = {"name": "note", "parameters": {"properties": {"text": {"type": "string"}}}}
    parser = TolerantReActOutputParser(tools=["add", {**note, "description": ""}])
    seen = read(parser, text)
    assert seen == found if found else seen is None or seen[0] in ("add", "note")
    assert seen is None or "a" not in seen[1]


@pytest.mark.skipif(not OUTPUTS, reason="needs texts that are not part of the repository")
@pytest.mark.parametrize("path", OUTPUTS, ids=lambda path: path.name)
def test_texts_of_others(path: Path) -> None:
    """In the form of the prompt, ours differs only where LlamaIndex loses arguments or names."""
    differ = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        text = json.loads(line)["input"]
        theirs = read(ReActOutputParser(), text)
        if theirs is not None and any(header in text for header in HEADERS):
            ours = read(TolerantReActOutputParser(), text)
            differ += [] if ours == theirs else [(text, theirs, ours)]
    for _, theirs, ours in differ:
        assert ours is not None
        more = len(str(ours[1])) > len(str(theirs[1])) or ours[0].startswith(theirs[0])
        echoed = set(theirs[1]) == {"properties"}
        assert more or echoed
