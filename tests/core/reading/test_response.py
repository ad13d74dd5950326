"""Reading a provider's response: text, calls, broken calls and the reason why it stopped."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import (
    FailurePattern,
    FinalAnswer,
    ReadingConfig,
    ToolCall,
    Turn,
    read_response,
    read_turn,
)
from tests.core.strategies import emitted_text

P = FailurePattern
TOOLS = [
    {"name": "find", "parameters": {"properties": {"q": {"type": "string"}}, "required": ["q"]}}
]
CALL = {"name": "find", "args": {"q": "Oslo"}, "id": "1"}
SALVAGE = ReadingConfig(salvage=True)


def failed(text: str = "", **options: Any) -> FailurePattern | None:
    """Return how a response fails."""
    turn = read_response(text, tools=options.pop("tools", TOOLS), **options)
    return turn.failure.pattern if turn.failure else None


def test_good_responses() -> None:
    """Calls and answers are read as they are."""
    assert read_response("", calls=[CALL], tools=TOOLS).actions == (
        ToolCall("find", {"q": "Oslo"}),
    )
    assert read_response("Norway.", tools=TOOLS).actions == (FinalAnswer("Norway."),)
    assert failed("", calls=[CALL], finish_reason="tool_calls") is None
    assert failed("Norway is a", finish_reason="length") is None  # an answer may be cut


def test_text_beside_calls_is_thought() -> None:
    """What a model says beside a call is no answer."""
    turn = read_response("I look it up.", calls=[CALL], tools=TOOLS)
    assert (turn.thought, turn.dialect) == ("I look it up.", "native")


@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "malformed_tool_call", "UNEXPECTED_TOOL_CALL"]
)
def test_malformed_finish_reasons(reason: str) -> None:
    """A provider that says so is believed, unless the call arrived all the same."""
    assert failed("", finish_reason=reason) is P.MALFORMED
    assert (
        failed("", finish_reason=reason, config=ReadingConfig(after_tool_result=True)) is not None
    )
    assert failed("", finish_reason=reason, calls=[CALL]) is None


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_cut_off_at_the_length_limit(reason: str) -> None:
    """A call at the end of such a reply may not be whole, in text or not."""
    text = "Action: find\nAction Input: population of"
    assert failed("", calls=[CALL], finish_reason=reason) is P.TRUNCATED
    assert failed(text, finish_reason=reason, protocol="text") is P.TRUNCATED
    assert failed("", broken_calls=[{**CALL, "args": '{"q": "O'}], finish_reason=reason) is (
        P.TRUNCATED
    )
    observed = f"{text}\nObservation: made up, and then cut"
    assert failed(observed, finish_reason=reason, protocol="text") is None


def test_calls_in_the_text() -> None:
    """They are what a text protocol asks for, and a failure where the interface was asked for."""
    text = 'Sure. {"name": "find", "arguments": {"q": "Oslo"}}'
    assert failed(text, protocol="text") is None
    assert failed(text) is P.TEXTUAL_CALL
    assert P.TEXTUAL_CALL.parent.value == "MalformedToolCall"
    turn = read_response(text, tools=TOOLS, config=SALVAGE)
    assert (turn.actions, turn.fidelity) == ((ToolCall("find", {"q": "Oslo"}),), "salvaged")
    assert read_response(text, config=SALVAGE).actions == ()  # nobody vouches for it


@pytest.mark.parametrize(
    ("arguments", "pattern", "salvaged"),
    [
        ("{'q': 'Oslo'}", P.MALFORMED, True),
        ('{"q": "Oslo",}', P.MALFORMED, True),
        ('{"q": "Os', P.TRUNCATED, False),
        ('{"q": "Oslo"}]', P.MALFORMED, False),
        ("{]", P.MALFORMED, False),
        ("{'x': 'Oslo'}", P.BAD_ARGUMENTS, False),
    ],
)
def test_broken_calls(arguments: str, pattern: FailurePattern, *, salvaged: bool) -> None:
    """A call that the client gave up on is a failure; what is sure of it can be salvaged."""
    bad = {"name": "find", "args": arguments, "id": "2"}
    assert failed(broken_calls=[bad]) is pattern
    turn = read_response("", calls=[CALL], broken_calls=[bad], tools=TOOLS, config=SALVAGE)
    assert bool(turn.actions) is salvaged
    assert turn.failure is not None
    if salvaged:
        assert turn.actions == (ToolCall("find", {"q": "Oslo"}),) * 2
        assert turn.fidelity == "salvaged"


@pytest.mark.parametrize("arguments", ['{"x": "Oslo"}', "{}", '{"q": "Oslo", "x": 1}'])
def test_salvage_needs_the_tools_to_vouch(arguments: str) -> None:
    """A call that lacks an argument, or has one too many, is corrected and never made."""
    text = f'<tool_call>{{"name": "find", "arguments": {arguments}}}</tool_call>'
    assert read_response(text, tools=TOOLS, config=SALVAGE).actions == ()
    assert read_response(text, tools=["find"], config=SALVAGE).fidelity == "salvaged"
    native = {"name": "find", "args": {"x": "Oslo"}, "id": "1"}
    turn = read_response("", calls=[native], tools=TOOLS, config=SALVAGE)
    assert (turn.actions, turn.failure and turn.failure.pattern) == ((), P.BAD_ARGUMENTS)


def test_broken_calls_without_a_name() -> None:
    """There is nothing to call then."""
    for name in (None, 5):
        assert failed(broken_calls=[{"name": name, "args": "{}"}]) is P.MALFORMED


def test_native_arguments_that_are_cut_off() -> None:
    """A lone parameter does not swallow the beginning of an object."""
    cut = {"name": "find", "args": '{"q": "Os'}
    assert read_turn("", tools=TOOLS, native_calls=[cut]).failure is not None
    assert read_turn("", native_calls=[cut]).failure is not None
    plain = {"name": "find", "args": "Oslo"}
    assert read_turn("", tools=TOOLS, native_calls=[plain]).actions == (
        ToolCall("find", {"q": "Oslo"}),
    )


def test_wrong_types() -> None:
    """Only text is read."""
    with pytest.raises(TypeError, match="`text` must be a str"):
        read_response(None)  # type: ignore[arg-type]


@given(
    emitted_text,
    st.lists(st.fixed_dictionaries({"name": emitted_text, "args": emitted_text}), max_size=2),
    st.sampled_from([None, "stop", "length", "MALFORMED_FUNCTION_CALL", "?"]),
    st.booleans(),
)
def test_total(text: str, broken: list[Any], reason: str | None, salvage: bool) -> None:  # noqa: FBT001
    """Any response is read, and salvage never returns a call that does not fit its tool."""
    config = ReadingConfig(salvage=salvage)
    turn = read_response(
        text, broken_calls=broken, finish_reason=reason, tools=TOOLS, config=config
    )
    assert isinstance(turn, Turn)
    if broken:
        assert turn.failure is not None
    if turn.fidelity == "salvaged" and turn.dialect == "native":
        assert all(isinstance(a, ToolCall) and a.name == "find" for a in turn.actions)


# Options of reading that came with the adapters


BOTH = "Thought: x\nAction: find\nAction Input: Oslo\nFinal Answer: Norway"


def test_action_and_answer() -> None:
    """Which one counts can be set; by default neither does."""
    assert failed(BOTH, protocol="text") is P.ACTION_AND_ANSWER
    action = read_turn(BOTH, config=ReadingConfig(action_and_answer="action"))
    assert (action.actions, action.fidelity) == ((ToolCall("find", "Oslo"),), "repaired")
    answer = read_turn(BOTH, config=ReadingConfig(action_and_answer="answer"))
    assert (answer.actions, answer.fidelity) == ((FinalAnswer("Norway"),), "repaired")
    assert BOTH[slice(*answer.span)].strip() == "Norway"
    salvaged = read_turn(BOTH, config=SALVAGE)
    assert salvaged.actions == (ToolCall("find", "Oslo"),)


def test_plain_text_as_an_error() -> None:
    """Where a form was asked for, prose can be a failure, but signals in tags have a form."""
    config = ReadingConfig(plain_text="error")
    assert read_turn("Norway.", config=config).failure is not None
    assert read_turn("Final Answer: Norway.", config=config).failure is None
    assert read_turn("<yield>someone else</yield>", config=config).failure is None
    assert read_turn("<b>Norway</b>", config=config).failure is not None


def test_strict() -> None:
    """What had to be put right is a failure that names it; what failed anyway stays so."""
    config = ReadingConfig(strict=True)
    exact = read_turn('{"name": "f", "arguments": {}}', config=config)
    assert exact.actions == (ToolCall("f", {}),)
    mended = read_turn("{'name': 'f', 'arguments': {}}", config=config)
    assert mended.failure is not None
    assert mended.failure.message == "Strict reading allows no repairs: quotes."
    fitted = read_turn("Action: Find\nAction Input: x", tools=["find"], config=config)
    assert fitted.failure is not None
    assert "tool name" in fitted.failure.message
    loose = read_turn(": I know. Final Answer: 4", config=config)
    assert loose.failure is not None
    assert loose.failure.message == "Strict reading allows no repairs: header in mid-line."
    salvaging = ReadingConfig(strict=True, salvage=True)
    kept = read_turn(BOTH, config=salvaging)
    assert (kept.actions, kept.failure and kept.failure.pattern) == ((), P.ACTION_AND_ANSWER)
    native = read_turn("", tools=["find"], native_calls=[{"name": "Find"}], config=config)
    assert native.failure is not None


def test_toolboxes_are_equal_by_what_they_hold() -> None:
    """Parsers that hold the same tools are equal."""
    from loopmend.reading.tools import Toolbox

    assert Toolbox(["a"]) == Toolbox(["a"])
    assert Toolbox(["a"]) != Toolbox(["b"])
    assert Toolbox(["a"]) != ["a"]
