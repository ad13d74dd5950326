"""What cannot be read for sure is a failure that says what is wrong and where."""

from __future__ import annotations

import pytest

from loopmend import FailurePattern, FinalAnswer, ReadingConfig, ToolCall, read_turn
from loopmend.contracts import NormalizationPattern, build_normalization_retry_prompt

P = FailurePattern
SEARCH = {
    "name": "search",
    "parameters": {
        "properties": {"q": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["q"],
    },
}


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("", P.EMPTY),
        (" \n", P.EMPTY),
        ("<think>only this</think>", P.EMPTY),
        ("<think>never ends", P.EMPTY),
        ("Thought: t\nAction:   ", P.EMPTY),
        ('Thought: so\nAction:\nAction Input: {"n": 2}', P.EMPTY),
        ("Thought: t\nFinal Answer:", P.EMPTY),
        ("Action: None\nAction Input: None", P.NO_ACTION),
        ("Action: N/A", P.NO_ACTION),
        ("Action: search Final Answer:\nAction Input: x", P.MALFORMED),
        ("Thought: the capital is Paris", P.NO_ACTION),
        ("Thought: t\nAction Input: x", P.NO_ACTION),
        ("Do I need to use a tool? No.", P.NO_ACTION),
        ("<thinking>still at it</thinking>", P.NO_ACTION),
        ("Action: search", P.MISSING_INPUT),
        ("Thought: t\nAction: `print(df)`", P.MISSING_INPUT),
        ("Thought: t\nAction: search[x", P.MALFORMED),
        ("Action: search {nonsense", P.TRUNCATED),
        ("Action: search\nAction Input: x\nFinal Answer: 4", P.ACTION_AND_ANSWER),
        ('Action: search\nAction Input: {"q": "x"', P.TRUNCATED),
        ('{"town": "Ber', P.TRUNCATED),
        ('{"name": "search", "arguments": {"q": "x', P.TRUNCATED),
        ('{"action": "Final Answer", "action_input": "It is', P.TRUNCATED),
        ('<function name="f"><param name="a">1', P.TRUNCATED),
        ('<tool>search</tool><tool_input>{"q": "x', P.TRUNCATED),
        ("<function=f><parameter=a>1", P.TRUNCATED),
        (
            '<function name="f"><param name="a">1</param><param name="a">2</param></function>',
            P.MALFORMED,
        ),
        ('<invoke name="f"><a>1</b></invoke>', P.MALFORMED),
        ('<invoke name="f">plain</invoke>', P.MALFORMED),
        ('<invoke name="f">[1]</invoke>', P.MALFORMED),
        ('<invoke name="f">{]</invoke>', P.MALFORMED),
        ("<tool_call>not json", P.MALFORMED),
        ("<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1", P.TRUNCATED),
        ("<tool_call>f\n<arg_key>a</arg_key></tool_call>", P.MALFORMED),
        ("<tool_call>{}</tool_call>", P.MALFORMED),
        ("<tool_call>f {]</tool_call>", P.MALFORMED),
        ("<tool_call>", P.TRUNCATED),
        ("<tool_call>-</tool_call>", P.MALFORMED),
        ("[TOOL_CALLS] [these are words]", P.MALFORMED),
        ("[TOOL_CALLS]f{]", P.MALFORMED),
        ("[TOOL_CALLS]f[ARGS]x", P.MALFORMED),
        ("<tool_call>f ```json\n[1]\n```</tool_call>", P.MALFORMED),
        ("Thought: t\nAction: None\nAction Input: x", P.NO_ACTION),
        ("Action: {]", P.EMPTY),
        ("Action: search {]", P.TRUNCATED),
        ('Action: search(q="x" y)', P.MISSING_INPUT),
        ('Action: {"a": 1}', P.MALFORMED),
        ("<|tool_call>call:f{]<tool_call|>", P.MALFORMED),
        ("Here </tool_call>", P.MALFORMED),
        ("[f(a=1) is how one calls f.", P.TRUNCATED),
        ("[f('x')]", P.BAD_ARGUMENTS),
        ("<tool_call>f('x')</tool_call>", P.BAD_ARGUMENTS),
        ("I will use the `read_file` function.", P.NARRATED),
        ("Let me examine that log…", P.NARRATED),
        ("I\u2019ll run the tests now", P.NARRATED),
        ("Inspecting the settings now", P.NARRATED),
        ("Running `git status --short` ...", P.NARRATED),
        ("我将使用搜索工具来查找。", P.NARRATED),
        ("Ich werde danach suchen.", P.NARRATED),
        ("Now let me do it… Good, both created.", P.FABRICATED_OUTPUT),
        ("Observation: 34 files", P.FABRICATED_OUTPUT),
        ("<yield>...</yield>", P.TEMPLATE_ECHO),
        ("... (this Thought/Action can repeat N times)", P.TEMPLATE_ECHO),
    ],
)
def test_failures(text: str, pattern: FailurePattern) -> None:
    """Each way to fail is told by its pattern, with a sentence and a place in the text."""
    turn = read_turn(text)
    assert turn.failure is not None
    assert turn.failure.pattern is pattern
    assert turn.actions == ()
    assert turn.failure.message.endswith(".")
    start, end = turn.failure.span
    assert 0 <= start <= end <= len(text)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ('{"name": "serach", "arguments": {"q": "x"}}', P.UNKNOWN_TOOL),
        ('{"name": "search", "arguments": {"query": "x"}}', P.BAD_ARGUMENTS),
        ('{"name": "search", "arguments": ["x", "y"]}', P.BAD_ARGUMENTS),
        ('{"name": "search", "arguments": {"n": 1}}', P.BAD_ARGUMENTS),
        ('{"name": "search", "arguments": {"q": "..."}}', P.TEMPLATE_ECHO),
        ('{"name": "search", "arguments": {"q": {"type": "string"}}}', P.TEMPLATE_ECHO),
        ('{"name": "search", "arguments": {"q": {"text": "x"}}}', P.BAD_ARGUMENTS),
        ('{"name": "search", "arguments": {"q": "x"', P.TRUNCATED),
        ("search('a', 1, 'c')", P.BAD_ARGUMENTS),
        ('{"name": "search", "arguments": {"n": 1', P.TRUNCATED),
        ("I should look it up, perhaps with search, as it can find such things.", P.NARRATED),
        ('{"name": "pair", "arguments": "x"}', P.BAD_ARGUMENTS),
    ],
)
def test_failures_with_tools(text: str, pattern: FailurePattern | None) -> None:
    """Knowing the tools, a call that does not fit them is a failure."""
    pair = {"name": "pair", "parameters": {"properties": {"a": {}, "b": {}}}}
    turn = read_turn(text, tools=[SEARCH, pair])
    assert (turn.failure.pattern if turn.failure else None) is pattern


def test_a_bare_name_vouches_for_nothing() -> None:
    """A tool whose parameters are unknown cannot make a broken call sure."""
    torn = read_turn('Action: search\nAction Input: {"q": "x"', tools=["search"]).failure
    assert torn is not None
    assert torn.pattern is P.TRUNCATED
    nameless = read_turn("search('x')", tools=["search"]).failure
    assert nameless is not None
    assert nameless.pattern is P.BAD_ARGUMENTS


def test_an_unknown_tool_has_a_nearest() -> None:
    """The failure names what was written and what may have been meant."""
    failure = read_turn('{"name": "serach", "arguments": {}}', tools=[SEARCH, "lookup"]).failure
    assert failure is not None
    assert (failure.tool, failure.nearest) == ("serach", "search")
    far = read_turn('{"name": "zzz", "arguments": {}}', tools=[SEARCH]).failure
    assert far is not None
    assert far.nearest is None


@pytest.mark.parametrize("pattern", list(FailurePattern))
def test_every_pattern_has_a_parent(pattern: FailurePattern) -> None:
    """Each pattern is a kind of one of the contract's, so its prompt always applies."""
    assert pattern.parent in NormalizationPattern
    assert build_normalization_retry_prompt(pattern.parent, 1)
    assert str(pattern) == pattern.value


@pytest.mark.parametrize(
    "text",
    [
        "The capital is Paris.",
        "I would need the order number. Which one is it?",
        "Would you like me to search for more information on it?",
        "I can look it up, but the answer is 4 because 2 + 2 is 4.",
        "Let me explain. Water boils at 100 degrees. Ice melts at zero. Steam is hot. That is all.",
        "Use this format: [link text](url). Example: [Wikipedia](https://example.org).",
    ],
)
def test_plain_answers_are_answers(text: str) -> None:
    """Prose that answers or asks is a final answer, word for word."""
    assert read_turn(text).actions == (FinalAnswer(text),)


def test_an_empty_turn_after_a_tool_result_is_a_finish() -> None:
    """Saying nothing is a failure, but not after a tool's result."""
    after = ReadingConfig(after_tool_result=True)
    assert read_turn("", config=after).actions == (FinalAnswer(""),)


def test_salvage_returns_what_is_likely() -> None:
    """On request the likely action comes with the failure, and says that it is salvaged."""
    text = 'Action: search\nAction Input: {"q": "x"'
    assert read_turn(text).actions == ()
    turn = read_turn(text, config=ReadingConfig(salvage=True))
    assert turn.actions == (ToolCall("search", {"q": "x"}),)
    assert (turn.fidelity, turn.failure is not None) == ("salvaged", True)
    unknown = read_turn(
        '{"name": "f", "arguments": {}}', tools=["g"], config=ReadingConfig(salvage=True)
    )
    assert (unknown.actions, unknown.fidelity) == ((), "exact")


@pytest.mark.parametrize(
    "text", ["<tool_response>\n24 degrees\n</tool_response>", "24 degrees\n</tool_response>"]
)
def test_made_up_results_in_tags(text: str) -> None:
    """A tool's result in its tags was made up, as no tool was called."""
    failure = read_turn(text).failure
    assert failure is not None
    assert failure.pattern is P.FABRICATED_OUTPUT


RUN_ON = "\n\nQuestion: What is next?\nThought: I need a tool\nAction: search\nAction Input: next"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thought: x\nFinal Answer: 42", FinalAnswer("42")),
        ("23 * 17 = 391", FinalAnswer("23 * 17 = 391")),
        ("Thought: x\nAction: search\nAction Input: Oslo", ToolCall("search", "Oslo")),
    ],
)
def test_a_question_of_its_own_is_cut_off(text: str, expected: object) -> None:
    """A model that goes on with another question is read up to there."""
    turn = read_turn(text + RUN_ON)
    assert turn.actions == (expected,)
    assert turn.fidelity == "repaired"
    assert turn.repairs[-1].what == "made-up continuation cut off"
    assert turn.repairs[-1].span[1] == len(text + RUN_ON)
    assert read_turn(text + RUN_ON, config=ReadingConfig(strict=True)).failure is not None


def test_other_questions_stay() -> None:
    """The question that leads a transcript, and questions in an answer, are no run-on."""
    led = read_turn("Question: Where?\nThought: x\nAction: search\nAction Input: Oslo")
    assert led.actions == (ToolCall("search", "Oslo"),)
    quiz = "Final Answer: a quiz\nQuestion: Where is Oslo?\nIn Norway."
    assert read_turn(quiz).repairs == ()
    failed = read_turn("Thought: hm" + RUN_ON).failure
    assert failed is not None
    assert failed.pattern is P.NO_ACTION
