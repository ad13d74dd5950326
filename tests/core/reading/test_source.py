"""The text as it is read can be traced back to the text as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import FinalAnswer, ToolCall, read_turn
from loopmend.reading.source import Source

PIECES = (
    *("\r\n", "\r", "\n", "\ufeff", "\u200b", "\u2060", "]<]minimax[>[", "]<]e~b[>[", "<", ">"),
    *(
        "Action:",
        "Action Input: b",
        "Thought: t",
        "Final Answer:",
        "{",
        "}",
        "[",
        "]",
        "`",
        "x",
        " ",
    ),
    *("a: ", "b\uff1a", "<tool_call>", "- item", "plain words"),
)
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=15).map("".join)
_DROPPED = frozenset("\r\ufeff\u200b\u2060")


@given(texts)
def test_spans_of_the_read_text_lie_in_the_original(text: str) -> None:
    """Wherever a span starts and ends, it maps into the original, in the same order."""
    source = Source(text)
    places = [source.span((at, at))[0] for at in range(len(source.text) + 1)]
    assert all(0 <= place <= len(text) for place in places)
    assert places == sorted(places)
    for start in range(0, len(source.text) + 1, 3):
        for end in range(start, len(source.text) + 1, 5):
            low, high = source.span((start, end))
            assert 0 <= low <= high <= len(text)


@given(texts)
def test_characters_agree_where_nothing_was_dropped(text: str) -> None:
    """Each character that is read stands where the map says, but for line ends put right."""
    source = Source(text)
    for at, char in enumerate(source.text):
        original = text[source.span((at, at + 1))[0]]
        assert original == char or (original == "\r" and char == "\n")


@given(texts)
def test_nothing_is_lost_but_what_says_nothing(text: str) -> None:
    """Only half a line end, a zero-width space or a vendor's mark is dropped; all else stays."""
    source = Source(text)
    if source.changed is None:
        assert source.text == text
        return
    kept = {source.span((at, at))[0] for at in range(len(source.text))}
    dropped = "".join(char for at, char in enumerate(text) if at not in kept)
    marks = dropped.replace("]<]minimax[>[", "").replace("]<]e~b[>[", "")
    assert set(marks) <= _DROPPED


@given(st.text(st.characters(exclude_characters="\r\ufeff\u200b\u2060[")))
def test_a_text_without_marks_is_read_as_it_is(text: str) -> None:
    """Where there is no damage there is no change and each span is its own."""
    source = Source(text)
    assert source.changed is None
    assert source.text is text
    assert source.span((0, len(text))) == (0, len(text))


def test_line_ends_of_the_transport() -> None:
    """CRLF beside markup is the transport's and becomes a line end."""
    text = "Thought: t\r\nAction: a\r\nAction Input: b"
    source = Source(text)
    assert source.text == text.replace("\r\n", "\n")
    assert source.changed == "line ends"
    at = source.text.index("Action Input")
    assert source.span((at, at + 12)) == (
        text.index("Action Input"),
        text.index("Action Input") + 12,
    )
    assert source.span((at, at + 12)) == source.span((at, at + 12))


def test_line_ends_of_the_model_stay() -> None:
    """CRLF in a part of the text alone is what the model wrote."""
    text = "Action: a\nAction Input: b\r\nc"
    source = Source(text)
    assert source.text == text
    assert source.changed is None


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("one line\r\nanother line", "one line\r\nanother line"),
        ("nothing to see\r\n", "nothing to see"),
    ],
)
def test_line_ends_in_prose_stay(text: str, content: str) -> None:
    """CRLF far from markup is read as a line end, and still stands in the answer."""
    assert not Source(text).certain
    turn = read_turn(text)
    assert (turn.actions, turn.repairs) == ((FinalAnswer(content),), ())


def test_a_value_far_from_markup_keeps_its_line_ends() -> None:
    """Where CRLF stands in a value alone, the call that is read is the same and loses nothing."""
    text = "<function=write><parameter=text>a\r\nb</parameter></function>"
    assert read_turn(text, tools=["write"]).actions == (ToolCall("write", {"text": "a\r\nb"}),)


@pytest.mark.parametrize(
    "text",
    [
        "Action:\n{```j",
        'r\n<t|>\n{"argument":{"":n}"name":e',
    ],
)
def test_line_ends_decide_nothing(text: str) -> None:
    """A text says the same with CRLF, however broken it is; found by `make fuzz`."""
    for tools in (None, ["search", "f"], []):
        plain, other = (read_turn(each, tools=tools) for each in (text, text.replace("\n", "\r\n")))
        assert [action.type for action in plain.actions] == [a.type for a in other.actions]
        assert (plain.failure is None) == (other.failure is None)


@pytest.mark.parametrize("start", ["\n", "\n\n", " ", "\r\n"])
def test_blanks_before_a_call_decide_nothing(start: str) -> None:
    """Nor do they change what the words behind a call are worth."""
    text = '{"arguments": {"": ""}, "name": "n"}<im>Based n the,are nt o n.'
    plain, other = (read_turn(each, tools=["search"]) for each in (text, start + text))
    assert (plain.failure is None) == (other.failure is None)
    assert plain.actions == other.actions


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n \n", "  "])
def test_blanks_at_the_end_decide_nothing(end: str) -> None:
    """What is cut off in a key or a comment is so with blanks behind too; found by `make fuzz`."""
    cut = [']<call>{"name":"","', '<tool_call>{"name":"f","a', "[{//\nname:''}\n//<think>]"]
    cut.append('}<tool_>{"tool":"","' + "k" * 81)
    for text in cut:
        plain, other = (read_turn(each, tools=["search", "f"]) for each in (text, text + end))
        assert plain.failure is not None
        assert other.failure is not None
        assert plain.failure.pattern == other.failure.pattern


def test_lone_returns_before_headers() -> None:
    """A carriage return that stands for a line end is one."""
    text = "Thought: t\rAction: a\rAction Input: b"
    source = Source(text)
    assert source.text == text.replace("\r", "\n")
    assert source.changed == "line ends"
    assert source.span((3, 5)) == (3, 5)
    mixed = "x\nThought: t\rAction: a\nAction Input: b"
    assert "\r" not in Source(mixed).text
    assert Source("<function=write>\r<parameter=text>").text.count("\n") == 1


def test_the_line_of_a_header_ends_either_way() -> None:
    """One CRLF among other line ends, behind an action, is a line end; in an input it stays."""
    text = "Thought: t\nAction: a\r\nAction Input:\r\nb\r\nc\n"
    source = Source(text)
    assert source.text == "Thought: t\nAction: a\nAction Input:\nb\r\nc\n"
    assert text[slice(*source.span((11, 19)))] == "Action: "
    assert text[slice(*source.span((21, 33)))] == "Action Input"


def test_a_lone_return_in_a_value_is_a_character() -> None:
    """Beside words alone a carriage return stays what the model wrote."""
    turn = read_turn("<function=write><parameter=text>a\rb</parameter></function>", tools=["write"])
    assert turn.actions == (ToolCall("write", {"text": "a\rb"}),)


def test_marks_that_say_nothing() -> None:
    """A byte order mark, a zero-width space behind a colon and MiniMax's tokens are dropped."""
    text = "\ufeffAction:\u200b a]<]minimax[>[<b>"
    source = Source(text)
    assert source.text == "Action: a<b>"
    assert source.changed == "meaningless marks"
    assert source.span((7, 12)) == (9, len(text))


def test_marks_inside_a_value_stay() -> None:
    """A zero-width space elsewhere is part of what was written."""
    text = "wo\u200brd and [>[< too"
    source = Source(text)
    assert source.text == text
    assert source.changed is None


def test_both_kinds_of_damage_at_once() -> None:
    """Marks are dropped first, then line ends; the way back undoes both."""
    text = "\ufeffAction: a\r\nAction Input: b"
    source = Source(text)
    assert source.text == "Action: a\nAction Input: b"
    at = source.text.index("Input")
    assert text[slice(*source.span((at, at + 5)))] == "Input"


@pytest.mark.parametrize("prefix", ["", "\ufeff"])
def test_the_turn_names_places_of_the_original(prefix: str) -> None:
    """A call read from a text with CRLF is a repaired one whose spans lie in that text."""
    text = f"{prefix}Thought: t\r\nAction: search\r\nAction Input: Oslo"
    turn = read_turn(text, tools=["search"])
    assert turn.actions == (ToolCall("search", "Oslo"),)
    assert turn.fidelity == "repaired"
    assert "line ends" in [repair.what for repair in turn.repairs]
    assert 0 <= turn.span[0] < turn.span[1] <= len(text)


def test_values_keep_their_line_ends() -> None:
    """Where line ends are not all of one kind, a value arrives as written."""
    text = '{"name": "search", "arguments": {"q": "a\\r\\nb"}}'
    turn = read_turn(text, tools=["search"])
    assert turn.actions == (ToolCall("search", {"q": "a\r\nb"}),)
    assert turn.fidelity == "exact"


@pytest.mark.parametrize(
    "text",
    ["\ufeffHello <b>there</b>", "Note:\r\n- one\r\n- two", "I cannot do that:\u200b sorry."],
)
def test_an_answer_without_markup_of_ours_keeps_every_character(text: str) -> None:
    """Where nothing is read out of a text, nothing in it is put right."""
    turn = read_turn(text, tools=["search"])
    assert (turn.actions, turn.repairs, turn.fidelity) == ((FinalAnswer(text),), (), "exact")
