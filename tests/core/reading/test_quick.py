"""The short way answers what the long way answers, or leaves it to the long way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from loopmend import FinalAnswer, ReadingConfig, Repair, ToolCall, read_turn
from loopmend.reading.fitting import fit
from loopmend.reading.quick import clean_parts, fit_text, fits, is_plain, quick_turn
from loopmend.reading.reader import read_slowly
from loopmend.reading.tools import Toolbox
from loopmend.reading.written_calls import Call
from tests.core.strategies import emitted_text, json_values

FIND = {
    "name": "find",
    "parameters": {
        "properties": {"q": {"type": "string"}, "n": {"type": "integer"}, "o": {}},
        "required": ["q"],
    },
}
ONE = {"name": "search", "parameters": {"properties": {"q": {"type": "string"}}}}
NUMBER = {"name": "page", "parameters": {"properties": {"n": {"type": "integer"}}}}
ENUM = {"name": "pick", "parameters": {"properties": {"c": {"type": "string", "enum": ["Red"]}}}}
TWO = {
    "name": "rate",
    "parameters": {
        "properties": {"base": {"type": "string"}, "to": {"type": "string"}},
        "required": ["base", "to"],
    },
}
NOTHING = {"name": "now", "parameters": {"properties": {}}}
REF = {
    "name": "ref",
    "parameters": {
        "properties": {"r": {"$ref": "#/$defs/R"}, "a": {"allOf": [{"type": "string"}]}},
        "$defs": {"R": {"type": "string"}},
    },
}
BOXES: tuple[Toolbox | None, ...] = (
    None,
    Toolbox(["search"]),
    Toolbox([FIND, ONE]),
    Toolbox([FIND, ONE, NUMBER, ENUM, TWO, NOTHING, REF]),
    Toolbox([]),
)
CONFIGS = (
    ReadingConfig(),
    ReadingConfig(detect_signals=False),
    ReadingConfig(detect_signals="tags"),
    ReadingConfig(native=True),
    ReadingConfig(native=True, detect_signals=False),
    ReadingConfig(plain_text="error"),
    ReadingConfig(strict=True, detect_signals=False),
    ReadingConfig(after_tool_result=True, detect_signals=False),
    ReadingConfig(calls="any", salvage=True),
    ReadingConfig(forms=(lambda _: None,)),
)
WORDS = (
    *("The", "answer", "is", "Oslo", "search", "Search", "use", "will", "checking", "Checking"),
    *(
        "Thought",
        "thought",
        "Observation",
        "Action",
        "Input",
        "FinalAnswer",
        "Answer",
        "created",
        "sent",
    ),
    *("stuck", "cannot", "N", "times", "should", "be", "one", "of", "x", "Do", "need", "to", "a"),
    *("No", "Yes", "the", "tool", "I", "we", "it", "is unclear", "not sure", "let", "us", "run"),
    *("find", "looking", "up", "wait", "moment", "please", "1", "2", "42", "-", "1.", "a)", "#"),
    *("Result", "result", "User", "Human", "Assistant", "System", "Question", "step", "Step 1"),
    *("python", "return", "end", "None", "null", "N/A", "%", "$", "@", "!", ".", ",", ";", "and"),
    *("\n", "\n\n", "\t", "  ", "*", "**", "_", "__", "~", "\\", "/", "//", "&", "+", "^"),
)
SEPARATORS = ("", " ", " ", " ", "\n")
prose = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from(SEPARATORS)).map("".join), max_size=12
).map("".join)
lines = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
names = st.sampled_from(
    [
        *("search", "Search", "find", "page", "pick", "rate", "now", "ref", "functions.search"),
        *(
            "search-web",
            "other",
            "None",
            "finish",
            "print",
            "s_",
            "FinalAnswer",
            "python",
            "a.b",
            "7",
        ),
    ]
)
inputs = lines | st.sampled_from(
    [
        *("Oslo", "7", "-1.5", "true", "null", "None", "Red", "red", "a, b", "x=1", "string"),
        *("value", "...", "N/A", "no input", "YOUR_KEY", "<city>", "Action", "it's", "a; b", "q"),
        *("Observation", "Oslo ", "a#b", "~a~", "_a_", "/x", "a > b", "- b", "1)", "empty"),
    ]
)
react = st.builds(
    "Thought: {}{}{}".format,
    lines,
    st.sampled_from(["\n", " \n", "\n\n"]),
    st.builds(
        "Action: {}{}Action Input: {}{}".format,
        names,
        st.sampled_from(["\n", " \n"]),
        inputs,
        st.sampled_from(["", "\n", "\n\n", " "]),
    )
    | st.builds(
        "{}Answer: {}{}".format,
        st.sampled_from(["Final ", ""]),
        inputs | prose,
        st.sampled_from(["", "\n", " \n "]),
    ),
)
objects = st.builds(
    "Thought: {}\nAction: {}\nAction Input: {{{}}}{}".format,
    lines,
    names,
    st.lists(
        st.builds(
            '"{}": {}'.format,
            st.sampled_from(["q", "n", "o", "c", "base", "to", "input", "Action"]),
            st.sampled_from(["1", "-7", "01", "true", "false", "null", "1.5"])
            | (lines | inputs).map('"{}"'.format),
        ),
        max_size=3,
    ).map(", ".join),
    st.sampled_from(["", "\n", " \n\n"]),
)
calls = st.builds(
    '{{{}"name": "{}", "arguments": {{{}}}}}'.format,
    st.sampled_from(["", '"type": "tool_call", ', '"type":"tool_call",']),
    names,
    st.lists(
        st.builds(
            '"{}": {}'.format,
            st.sampled_from(["q", "n", "o", "c", "base", "to", "type", "name", "Action"]),
            st.sampled_from(["1", "-7", "01", "true", "false", "null", "1.5", '"..."', '"string"'])
            | (lines | inputs | prose | react).map('"{}"'.format),
        ),
        max_size=3,
    ).map(", ".join),
)
_MANY = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.filter_too_much]
)


def _agree(text: str, tools: Toolbox | None, config: ReadingConfig) -> None:
    quick = quick_turn(text, tools, config)
    if quick is not None:
        assert quick == read_slowly(text, tools, None, config)


@_MANY
@given(react, st.sampled_from(BOXES), st.sampled_from(CONFIGS))
def test_clean_lines_are_read_alike(
    text: str, tools: Toolbox | None, config: ReadingConfig
) -> None:
    """A thought and an action or an answer in plain lines are the same either way."""
    _agree(text, tools, config)


@_MANY
@given(objects, st.sampled_from(BOXES), st.sampled_from(CONFIGS))
def test_objects_are_read_alike(text: str, tools: Toolbox | None, config: ReadingConfig) -> None:
    """A flat object as the input is the same either way."""
    _agree(text, tools, config)


@_MANY
@given(calls, st.sampled_from(BOXES), st.sampled_from(CONFIGS))
def test_calls_in_json_are_read_alike(
    text: str, tools: Toolbox | None, config: ReadingConfig
) -> None:
    """A call that is all of the text is the same either way."""
    _agree(text, tools, config)


@pytest.mark.parametrize("tools", [None, Toolbox([FIND]), Toolbox(["find"])])
def test_a_call_in_json_is_read_the_short_way(tools: Toolbox | None) -> None:
    """What well-behaved models write where calls are JSON takes no second look."""
    text = '{"name": "find", "arguments": {"q": "I\'m stuck, see http://x.org/a.b", "n": 2}}'
    for each, dialect in (
        (text, "json"),
        (text.replace("{", '{"type": "tool_call", ', 1), "contract"),
    ):
        turn = quick_turn(each, tools, ReadingConfig())
        assert turn is not None
        assert turn == read_slowly(each, tools, None, ReadingConfig())
        assert turn.dialect == dialect
    for other in ('{"q": "a", "q": "b"}', '{"q": "string"}', '{"q": [1]}'):
        changed = text[: text.index('{"q')] + other + "}"
        assert quick_turn(changed, tools, ReadingConfig()) is None
    assert quick_turn(text.replace("find", "finish"), tools, ReadingConfig()) is None


def test_an_object_is_read_the_short_way() -> None:
    """What well-behaved models write for a tool with parameters takes no second look."""
    text = 'Thought: look it up\nAction: find\nAction Input: {"q": "Oslo, Norway", "n": 2}'
    config = ReadingConfig(detect_signals=False)
    turn = quick_turn(text, Toolbox([FIND]), config)
    assert turn is not None
    assert turn.actions == (ToolCall("find", {"q": "Oslo, Norway", "n": 2}),)
    for other in ('{"q": "a", "q": "b"}', '{"n": 2}', '{"q": "string"}'):
        changed = text.replace('{"q": "Oslo, Norway", "n": 2}', other)
        assert quick_turn(changed, Toolbox([FIND]), config) is None
    assert quick_turn(text.replace("find", "finish"), Toolbox([FIND]), config) is None


@_MANY
@given(prose, st.sampled_from(BOXES), st.sampled_from(CONFIGS))
def test_prose_is_read_alike(text: str, tools: Toolbox | None, config: ReadingConfig) -> None:
    """Prose that the short way answers is answered alike by the long one."""
    _agree(text, tools, config)


@_MANY
@given(emitted_text, st.sampled_from(BOXES), st.sampled_from(CONFIGS))
def test_anything_is_read_alike(text: str, tools: Toolbox | None, config: ReadingConfig) -> None:
    """Neither does any other text part the two ways."""
    _agree(text, tools, config)
    _agree(f"Thought: {text}\nAction: search\nAction Input: x", tools, config)
    _agree(f"Thought: x\nAction: search\nAction Input: {text}", tools, config)
    _agree(f"Thought: x\nFinal Answer: {text}", tools, config)
    _agree(f"Final Answer: {text}", tools, config)


@_MANY
@given(prose | emitted_text, st.sampled_from(BOXES), st.booleans())
def test_plain_text_is_the_answer(text: str, tools: Toolbox | None, native: bool) -> None:  # noqa: FBT001
    """What is prose beyond doubt is the whole answer the long way, whatever is on offer."""
    assume(is_plain(text))
    config = ReadingConfig(detect_signals=False, native=native)
    assert read_slowly(text, tools, None, config).actions == (FinalAnswer(text.strip()),)


values = json_values | inputs
arguments = st.dictionaries(
    st.sampled_from(["q", "n", "o", "c", "r", "a", "base", "to", "x", "Q"]), values, max_size=3
)


@_MANY
@given(names, arguments | json_values, st.sampled_from(BOXES[1:]))
def test_calls_that_fit_at_once_are_those_that_fit(
    name: str, given_: Any, tools: Toolbox | None
) -> None:
    """The quick check says yes only where fitting returns the call as it is, without a repair."""
    assert tools is not None
    if fits(name, given_, tools):
        repairs: list[Repair] = []
        assert fit(Call(name, given_, (0, 0)), tools, repairs) == ToolCall(name, given_)
        assert repairs == []


@_MANY
@given(names, inputs, st.sampled_from(BOXES[1:]))
def test_texts_that_fit_at_once_are_those_that_fit(
    name: str, text: str, tools: Toolbox | None
) -> None:
    """A plain line that is taken at once is what fitting makes of it, if it can be an input."""
    assert tools is not None
    if clean_parts(f"Thought: x\nAction: {name}\nAction Input: {text}") is None:
        return
    found = fit_text(name, text.strip(), tools)
    if found is not None:
        repairs: list[Repair] = []
        assert fit(Call(name, text.strip(), (0, 0)), tools, repairs) == ToolCall(name, found)
        assert repairs == []


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("It is 4 degrees in Oslo today.", True),
        ("First line.\n\nSecond line.", True),
        ("The answer is Oslo.", True),
        ("", False),
        ("...", False),
        (" \n ", False),
        ("I will look.", False),
        ("Let me see.", False),
        ("{}", False),
        ("Action", False),
        ("3) Answer", False),
        ("Is it?", False),
        ("caf\u00e9", False),
    ],
)
def test_what_is_plain(text: str, *, answer: bool) -> None:
    """Only prose without any sign of markup, a header, a plan or a question is plain."""
    assert is_plain(text) is answer


def test_the_short_way_is_taken() -> None:
    """It is worth its lines: clean ReAct and plain prose go by it."""
    box = Toolbox([ONE])
    config = ReadingConfig()
    call = quick_turn("Thought: t\nAction: search\nAction Input: Oslo", box, config)
    assert call is not None
    assert call.actions == (ToolCall("search", {"q": "Oslo"}),)
    loose = quick_turn("Thought: t\nAction: search\nAction Input: Oslo", None, config)
    assert loose is not None
    assert loose.actions == (ToolCall("search", "Oslo"),)
    assert quick_turn("Final Answer: Oslo", box, config) is not None
    answer = quick_turn("Thought: t\nFinal Answer: Oslo", box, config)
    assert answer is not None
    assert answer.actions == (FinalAnswer("Oslo"),)
    quiet = ReadingConfig(detect_signals=False)
    prose = quick_turn("It is Oslo.", box, quiet)
    assert prose is not None
    assert prose.actions == (FinalAnswer("It is Oslo."),)


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("Thought: I'm stuck\nFinal Answer: Oslo", ReadingConfig()),
        ("Thought: t\nFinal Answer: Oslo", ReadingConfig(forms=(lambda _: None,))),
        ("It is Oslo.", ReadingConfig(plain_text="error", detect_signals=False)),
        ("Oslo, but this might be wrong.", ReadingConfig()),
        ("Thought: t\nAction: None\nAction Input: x", ReadingConfig()),
        ("Thought: t\nAction: nope\nAction Input: x", ReadingConfig()),
        ("Thought: t\nAction: rate\nAction Input: x", ReadingConfig()),
        ("Thought: t\nAction: pick\nAction Input: red", ReadingConfig()),
        ("Thought: t\nAction: page\nAction Input: x", ReadingConfig()),
        ("Thought: t\nAction: ref\nAction Input: x", ReadingConfig()),
        ("Thought: \u00e9\nFinal Answer: Oslo", ReadingConfig()),
        ("Thought: t", ReadingConfig()),
    ],
)
def test_what_takes_a_second_look(text: str, config: ReadingConfig) -> None:
    """Signals, own forms, odd names and inputs, and all that is not ASCII go the long way."""
    assert quick_turn(text, BOXES[3], config) is None


def test_bare_names_take_text_as_it_is() -> None:
    """A tool of which only the name is known takes the line itself."""
    box = Toolbox(["search"])
    assert fit_text("search", "Oslo", box) == "Oslo"
    assert fit_text("nope", "Oslo", box) is None
    assert not fits("search", {"q": "x"}, box)


@pytest.mark.parametrize(
    ("given_", "fit_at_once"),
    [
        ({"q": "x"}, True),
        ({"q": "x", "n": 3}, True),
        ({"q": "x", "o": True}, True),
        ({"n": 3}, False),
        ({"q": 7}, False),
        ({"q": "x", "n": True}, False),
        ({"q": "..."}, False),
        ({"q": "x", "o": "text"}, False),
        ({"q": "x", "o": 1.5}, False),
        ({"q": "x", "y": 1}, False),
        ("x", False),
    ],
)
def test_which_calls_fit_at_once(given_: Any, *, fit_at_once: bool) -> None:
    """Strings for strings, whole numbers and truth values; nothing to look up, nothing missing."""
    assert fits("find", given_, Toolbox([FIND])) is fit_at_once


def test_reading_goes_the_short_way_first() -> None:
    """What the reader returns for a clean text is what the short way returns."""
    text = "Thought: t\nAction: search\nAction Input: Oslo"
    assert read_turn(text, tools=[ONE]) == quick_turn(text, Toolbox([ONE]), ReadingConfig())


@pytest.mark.parametrize(
    "text",
    [
        *("Laissez-moi ouvrir la page.", "Lass mich die Seite suchen.", "Voy a abrir la pagina."),
        *("Sto aprendo la pagina.", "Ik ga de pagina openen.", "We need to run search."),
        *("Ill open the page.", "Im opening the page.", "Lets run search."),
    ],
)
def test_told_plans_are_not_plain(text: str) -> None:
    """A plan that the long way notices is never prose beyond doubt, in any language."""
    assert not is_plain(text)
