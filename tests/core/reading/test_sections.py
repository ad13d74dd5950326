"""Headers are found however they are decorated, numbered and separated, and prose is left alone."""

from __future__ import annotations

import pytest

from loopmend import FinalAnswer, ToolCall, read_turn
from loopmend.reading.inline_headers import inline_header
from loopmend.reading.lexicon import Role
from loopmend.reading.sections import (
    Header,
    ends_text,
    header_at,
    header_places,
    is_strong,
    next_section,
    open_bracket,
)
from loopmend.reading.tools import Toolbox

BOX = Toolbox(["search", "page"])
THOUGHT = Header(Role.THINK, ("thought",), 0, 0, 0)
ACTION = Header(Role.CALL, ("action",), 0, 0, 0)
INPUT = Header(Role.ARGUMENTS, ("action", "input"), 0, 0, 0)
SPELLINGS = [
    *(
        "Action: search",
        "action: search",
        "ACTION: search",
        "Action : search",
        "**Action:** search",
    ),
    *(
        "**Action**: search",
        "*Action*: search",
        "__Action__: search",
        "### Action: search",
        "1. Action: search",
    ),
    *(
        "1) Action: search",
        "- Action: search",
        "\u2022 Action: search",
        "Action 1: search",
        "Action #2: search",
    ),
    *(
        "Action\uff1a search",
        "`Action`: search",
        '"Action": search',
        "Step 1: Action: search",
        "Action => search",
    ),
    *("Action -> search", "Action = search", "Action - search", "Action \u2014 search"),
    *(
        "Tool: search",
        "Function: search",
        "Tool Call: search",
        "tool_call: search",
        "Aktion: search",
        "\u884c\u52a8\uff1asearch",
    ),
    *(
        "a) Action: search",
        "ii. Action: search",
        "\U0001f527 Action: search",
        "Next Action: search",
        "Action Name: search",
    ),
]


@pytest.mark.parametrize("line", SPELLINGS)
def test_spellings_of_a_header(line: str) -> None:
    """Case, numbers, decoration and separators do not matter for an action of a tool on offer."""
    turn = read_turn(f"Thought: t\n{line}\nAction Input: Oslo", tools=BOX)
    assert turn.actions == (ToolCall("search", "Oslo"),)


@pytest.mark.parametrize(
    "line",
    [
        "Course of Action: search",
        "Instead of Action: search",
        "Reaction: search",
        "Actions speak: search",
        "Example Action: search",
    ],
)
def test_unknown_words_make_no_header(line: str) -> None:
    """Every word of a header must be known, and none may say that it is only shown."""
    assert header_at(line, 0, BOX, None) is None


@pytest.mark.parametrize(
    ("line", "above", "tools", "found"),
    [
        ("Action => search", None, BOX, True),
        ("Action => nothing of it", None, BOX, False),
        ("Action => search[x]", None, BOX, True),
        ("Action - look", None, None, False),
        ("Action - look", THOUGHT, None, True),
        ("Action => look[x]", None, None, True),
        ("> Action => search", None, BOX, False),
        ("~~Action~~ => search", None, BOX, False),
        ("Input - x", None, BOX, False),
        ("Input - x", ACTION, BOX, True),
        ("Answer\n4", None, BOX, False),
        ("## Final Answer\n4", None, BOX, True),
        ("**Thought**\nx", None, BOX, True),
        ("Thinking\nx", None, BOX, False),
        ("Observation - x", ACTION, BOX, False),
        ("User - x", None, BOX, False),
        ("Content: x", None, BOX, False),
        ("[TOOL CALLS]", None, BOX, False),
        ("no header here", None, BOX, False),
        ("Action\n", None, BOX, False),
        ("**Action**\nsearch", None, BOX, True),
    ],
)
def test_vouching(line: str, above: Header | None, tools: Toolbox | None, *, found: bool) -> None:
    """Without a colon a line is a header only if what stands around it says so."""
    assert (header_at(line, 0, tools, above) is not None) is found


def test_a_thought_in_mid_text_needs_a_header_above() -> None:
    """`Thought` alone on a line starts a text, or follows a header; else it is a word."""
    text = "Some words.\n**Thought**\nx"
    assert header_at(text, 12, None, None) is None
    assert header_at(text, 12, None, ACTION) is not None


def test_parts_of_a_header() -> None:
    """A header knows its words, its body and how it is decorated."""
    header = header_at("- **Action:** search\nmore", 0, BOX, None)
    assert header is not None
    assert (header.role, header.words, header.listed, header.quoted) == (
        Role.CALL,
        ("action",),
        True,
        False,
    )
    assert header.strong
    assert header.resume == 20
    quoted = header_at("> Action: search", 0, BOX, None)
    assert quoted is not None
    assert quoted.quoted
    starred = header_at("Answer: *yes* it is", 0, BOX, None)
    assert starred is not None
    assert "Answer: *yes* it is"[starred.body :] == " *yes* it is"
    opened = header_at("Answer:*yes* it is", 0, BOX, None)
    assert opened is not None
    assert "Answer:*yes* it is"[opened.body :] == "*yes* it is"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Action: search\nx", "\nx"),
        ("Action: search {}", "{}"),
        ("Action: {}", "{}"),
        ("Action:\nsearch\nx", "\nx"),
        ("Action:\nObservation: x", "\nObservation: x"),
        ("Action: ```json", "```json"),
        ("Action: [search]\nx", "\nx"),
        ("Action: search(q=1)", "(q=1)"),
        ("Action: search[a]\nx", "\nx"),
        ("Action: search[a\nb]\nObservation: x", "\nb]\nObservation: x"),
        ("Action: search, Action Input: x", ", Action Input: x"),
        ("Action:", ""),
    ],
)
def test_where_a_name_ends(text: str, rest: str) -> None:
    """The line of an action holds a name, up to a value, an input or its own end."""
    header = header_at(text, 0, BOX, None)
    assert header is not None
    assert text[header.resume :] == rest


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("Action: search[a\nb]", "a\nb]"),
        ("Action: search[a]\nb]", None),
        ("Action: search\nb]", None),
        ("Action: [search\nb]", None),
        ("Observation: search[a\nb]", None),
    ],
)
def test_open_brackets(text: str, inside: str | None) -> None:
    """An action's line may open a bracket that a later line closes."""
    header = header_at(text, 0, BOX, None)
    assert header is not None
    at = open_bracket(text, header)
    assert (None if at is None else text[at:]) == inside


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("Action: search[a\nb]\nObservation: x", "a\nb"),
        ("Tool: search[a\nTool: search[b\nc]\nObservation: x", "a\nTool: search[b\nc"),
    ],
)
def test_brackets_over_lines(text: str, given: str) -> None:
    """What a bracket holds goes on to the line that closes it, if its section ends there."""
    tools = [{"name": "search", "parameters": {"properties": {"q": {"type": "string"}}}}]
    (call,) = read_turn(text, tools=tools).actions
    assert isinstance(call, ToolCall)
    assert call.arguments == {"q": given}


def test_brackets_that_nothing_closes() -> None:
    """Each action whose bracket stays open ends with its own line."""
    turn = read_turn("Thought: t\nTool: search[a\nTool: search[b\nObservation: x", tools=BOX)
    assert turn.failure is not None


def test_fillers_are_no_header() -> None:
    """Words that only fill a header make none by themselves."""
    assert header_at("The next list: x", 0, BOX, None) is None


def test_strong_words() -> None:
    """Parts of ReAct end a text wherever they stand; weaker words only with more."""
    assert is_strong(("action", "input"))
    assert is_strong(("the", "final", "answer"))
    assert not is_strong(("tool",))
    assert ends_text(("user",), Role.SPEAKER)
    assert ends_text(("tool", "result"), Role.OBSERVATION)
    assert not ends_text(("result",), Role.OBSERVATION)
    assert not ends_text(("answer",), Role.ANSWER)


def test_places() -> None:
    """Headers may be at the starts of lines and before colons in mid-line, in order."""
    text = "Thought: x. Action: search\nplain\n- Action Input: y"
    places = list(header_places(text))
    assert places == sorted(places)
    assert [at for at, inline in places if not inline] == [0, 33]
    assert [text[at] for at, inline in places if inline] == [":", ":", ":"]


def _inline(text: str, tools: Toolbox | None, above: Header | None) -> Header | None:
    return inline_header(text, text.rindex(":"), tools, above)


@pytest.mark.parametrize(
    ("text", "tools", "above", "found"),
    [
        ("I know. Final Answer: 4", None, THOUGHT, True),
        ("I know the Final Answer: 4", None, None, True),
        ("my final answer: 4", None, None, False),
        ("I know. Answer: 4", None, THOUGHT, True),
        ("I know. Answer: 4", None, None, False),
        ("This is the Answer: 4", None, THOUGHT, False),
        ("Now Answer: 4", None, THOUGHT, True),
        ("so answer: 4", None, THOUGHT, False),
        ('He said "Final Answer: 4', None, None, False),
        ("I look. Action: search", BOX, THOUGHT, True),
        ("I look. **Action:** search", BOX, THOUGHT, True),
        ("I look. Action: nope", BOX, THOUGHT, False),
        ("some action: search", BOX, THOUGHT, False),
        ("Do Action: search", BOX, THOUGHT, True),
        ("I look. Action: nope", None, THOUGHT, False),
        ("search Action Input: x", BOX, ACTION, True),
        ("search Action Input: x", BOX, THOUGHT, False),
        ("Oslo. Observation: x", BOX, INPUT, True),
        ("Oslo Observation: x", BOX, INPUT, False),
        ("Oslo. Observation: x", BOX, THOUGHT, False),
        ("Reaction: x", BOX, THOUGHT, False),
    ],
)
def test_headers_in_mid_line(
    text: str, tools: Toolbox | None, above: Header | None, *, found: bool
) -> None:
    """After a sentence, a thought or with a tool's name a word with a colon is a header."""
    assert (_inline(text, tools, above) is not None) is found


def test_an_action_in_mid_line_with_its_input() -> None:
    """`Action: x Action Input: y` in one line is both headers, whatever is on offer."""
    text = "I look. Action: look, Action Input: y"
    assert inline_header(text, text.index(":"), None, THOUGHT) is not None
    assert inline_header(text, text.index(":"), BOX, THOUGHT) is not None


def test_a_later_answer_counts() -> None:
    """A header of its own on a later line is the answer, not the words in mid-line."""
    text = "The Final Answer: soon.\nFinal Answer: 4"
    assert inline_header(text, text.index(":"), None, None) is None


@pytest.mark.parametrize(
    ("text", "after_answer", "rest"),
    [
        ("body\nAction: x", False, "Action: x"),
        ("body\nQuestion: x\nmore", False, ""),
        ("body\nQuestion: x\nThought: y", False, "Question: x\nThought: y"),
        ("body\nTool: x", False, ""),
        ("body\nUser: x", False, "User: x"),
        ("body\nBad action: x\nmore", False, ""),
        ("body\nAction: x\nmore", True, ""),
        ("body\nAction: x\nAction Input: y", True, "Action: x\nAction Input: y"),
        ("body\nFinal Answer: y", True, "Final Answer: y"),
        ("body\nQuestion: x\nThought: y", True, "Question: x\nThought: y"),
        ("body\nCourse of action: x", False, ""),
    ],
)
def test_next_section(text: str, *, after_answer: bool, rest: str) -> None:
    """A body ends at the next header of ReAct; an answer goes on over actions that are only listed."""
    assert text[next_section(text, 4, after_answer=after_answer) :] == rest


def test_next_section_has_a_limit() -> None:
    """No header is looked for behind a limit."""
    assert next_section("body\nAction: x", 0, limit=4) == 4


def test_in_mid_line_through_the_reader() -> None:
    """`Thought: Action: search` and `… I know. Final Answer: 4` are legible."""
    turn = read_turn("Thought: Action: search\nAction Input: Oslo", tools=BOX)
    assert turn.actions == (ToolCall("search", "Oslo"),)
    assert read_turn("Thought: I know. Final Answer: 4", tools=BOX).actions == (FinalAnswer("4"),)


def test_a_list_is_prose() -> None:
    """`- **Action**: open the leaflet` without a tool on offer is an answer."""
    text = "Two things:\n- **Action**: open the leaflet\n- **Result**: you know more"
    assert read_turn(text, tools=BOX).actions == (FinalAnswer(text),)
