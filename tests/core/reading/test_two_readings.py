"""What has two readings is refused, and what goes on is not cut."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from loopmend import FailurePattern, Mending, ReadingConfig, Reply, ToolCall, read_json, read_turn
from loopmend.mending import Ask, Done, GaveUp, NativeCall
from loopmend.reading.placeholders import stands_in
from loopmend.reading.response import read_response


class Numbers(BaseModel):
    """Numbers in every shape."""

    items: list[int] = []
    rows: list[list[int]] = []
    n: int = 0
    s: str = ""


def _tool(name: str, *required: str, kind: str = "string", **more: Any) -> dict[str, Any]:
    properties = {**{key: {"type": kind} for key in required}, **more}
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "parameters": parameters}


PYTHON = _tool("python", "code")
FIND = _tool("find", "query", limit={"type": "integer"})
REMOVE = _tool("rm", "path", recursive={"type": "boolean"})
GREP = _tool("grep", "pattern")
SUM = _tool("sum", "numbers", kind="array")
LIST = _tool("ls", dir={"type": "string"})


@pytest.mark.parametrize(
    "given",
    [
        "[1, 2] + [3]",
        "[1,2]\nprint(3)",
        "[3,1,2].sort()",
        "[2024] report on Oslo",
        '{"a": 1}.items()',
        '{"a": 1} | {"b": 2}',
    ],
)
@pytest.mark.parametrize("tools", [None, ["python"], [PYTHON]])
def test_an_input_that_goes_on_behind_a_value_is_one_text(given: str, tools: Any) -> None:
    """A tool that takes one text gets all of an input that only starts with a value."""
    turn = read_turn(f"Thought: x\nAction: python\nAction Input: {given}", tools=tools)
    (call,) = turn.actions
    assert call.arguments in (given, {"code": given})  # type: ignore[union-attr] # a call


@pytest.mark.parametrize(
    ("given", "tool"),
    [
        ('{"query": "x"} LIMIT 5', FIND),
        ('{"query": "x"} + {', FIND),
        ("[1, 2] + [3]", _tool("two", "x", "y")),
        ('{"a": 1} | {"b": 2', _tool("two", "x", "y")),
        ('{"a": 1', PYTHON),
    ],
)
def test_an_input_that_goes_on_is_refused_by_a_tool_that_takes_no_text(
    given: str, tool: dict[str, Any]
) -> None:
    """What follows a tool's own object or list is neither dropped nor passed on."""
    turn = read_turn(f"Thought: x\nAction: {tool['name']}\nAction Input: {given}", tools=[tool])
    assert turn.failure is not None
    assert not turn.actions


@pytest.mark.parametrize(
    "behind",
    [
        "\nThis finds it.",
        " # go",
        " (it is there)",
        ", along those lines.",
        "\n\nI wait for the result.",
    ],
)
def test_an_explanation_behind_a_whole_object_is_left_out_and_named(behind: str) -> None:
    """What follows an object on a line of its own, or as a comment, is no part of the input."""
    text = f'Thought: x\nAction: find\nAction Input: {{"query": "x"}}{behind}'
    turn = read_turn(text, tools=[FIND])
    (call,) = turn.actions
    assert call.arguments == {"query": "x"}  # type: ignore[union-attr] # a call
    assert "text behind the input" in [repair.what for repair in turn.repairs]


@pytest.mark.parametrize("behind", ["", "\n", "<|im_end|>", "}", "</tool_call>", "\n```"])
def test_an_end_behind_an_object_is_nothing(behind: str) -> None:
    """Tokens, brackets and tags that end something are no part of an input."""
    text = f'Thought: x\nAction: find\nAction Input: {{"query": "x"}}{behind}'
    (call,) = read_turn(text, tools=[FIND]).actions
    assert call.arguments == {"query": "x"}  # type: ignore[union-attr] # a call


def _broken(tool: dict[str, Any], arguments: str) -> Any:
    calls = [{"name": tool["name"], "args": arguments}]
    salvage = ReadingConfig(salvage=True)
    return read_response("", broken_calls=calls, tools=[tool], config=salvage)


@pytest.mark.parametrize(
    "arguments",
    [
        *("null", "None", "true", "5", "[]", '""', '["/srv/a"]', "['/srv/a'"),
        '{"path": "/srv/a"{"path": "/srv/b"}',
    ],
)
def test_arguments_that_are_json_but_no_object_are_no_text(arguments: str) -> None:
    """A native call whose arguments are a value, but no object, does not run with its spelling."""
    turn = _broken(REMOVE, arguments)
    assert turn.failure is not None
    assert not turn.actions


@pytest.mark.parametrize(
    ("tool", "arguments", "meant"),
    [
        (REMOVE, '"/srv/a"', {"path": "/srv/a"}),
        (REMOVE, "'/srv/a'", {"path": "/srv/a"}),
        (REMOVE, "/srv/a", {"path": "/srv/a"}),
        (REMOVE, '"a" or "b"', {"path": '"a" or "b"'}),
        (REMOVE, '"{\\"path\\": \\"/x\\"}"', {"path": "/x"}),
        (SUM, "[1, 2]", {"numbers": [1, 2]}),
        (LIST, "null", {}),
    ],
)
def test_arguments_that_say_what_is_meant_are_taken(
    tool: dict[str, Any], arguments: str, meant: Any
) -> None:
    """A string, a list for a list, and nothing for no arguments are what they say."""
    assert [call.arguments for call in _broken(tool, arguments).actions] == [meant]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (r'{"q": "log\.txt"}', {"q": r"log\.txt"}),
        (r'{"q": "\(main\) \d+ 50\%"}', {"q": r"\(main\) \d+ 50\%"}),
        (r'{"q": "C:\dir\.git"}', {"q": r"C:\dir\.git"}),
        (r'{"max\_rows": "it\'s"}', {"max_rows": "it's"}),
        (r"{'q': 'a\'b\`'}", {"q": r"a'b\`"}),
    ],
)
def test_a_backslash_that_escapes_nothing_stays(text: str, meant: Any) -> None:
    """Patterns and paths keep their backslashes; names and other dialects' quotes need none."""
    reading = read_json(text)
    assert reading.value == meant
    assert reading.fidelity == "repaired"


@pytest.mark.parametrize(
    ("text", "meant"), [(r"""search(query="it\'s")""", "it's"), (r"search(query='a\.b')", r"a\.b")]
)
def test_python_escapes_a_quote_that_needs_none(text: str, meant: str) -> None:
    """In a call written as in Python, that quote is clean, as Python has it; elsewhere a repair."""
    turn = read_turn(text, tools=["search"], config=ReadingConfig(salvage=True))
    assert turn.actions == (ToolCall("search", {"query": meant}),)
    assert any("escape" in each.what for each in turn.repairs) == ("." in meant)


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "conf.json", "content": "{"port": 80, "host": "x"}", "mode": "a"}',
        '{"code": "d = {"a": 1, "b": 2}", "lang": "py"}',
        "{'code': 'd = {'a': 1, 'b': 2}', 'lang': 'py'}",
        '{"path": "a", "content": "{"mode": "r"}"}',
        '{"content": "d = {"k": 1}\nprint(d["k"])", "mode": "w"}',
        '{"path": "a.html", "content": "<a href="x", "mode": "a"}',
        '{"q": "say "yes", "no": both"}',
        '{"q": "' + "a([" * 30 + '"b" c", "n": 1}',
        'See: {"a": {"b": 1}", "lang": "py"}',
    ],
)
def test_a_string_that_ends_within_what_it_quotes_is_refused(text: str) -> None:
    """Unescaped code in a string is not cut, and its rest makes no members."""
    assert not read_json(text).ok


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('{"a": "the "big" one", "n": 1}', {"a": 'the "big" one', "n": 1}),
        ('{"a": "<a href="x" class="y">z</a>"}', {"a": '<a href="x" class="y">z</a>'}),
        ('{"a": "{"b": 1}", "n": 1}', {"a": '{"b": 1}', "n": 1}),
        ('{"a": "a 5" pipe ]", "n": 1}', {"a": 'a 5" pipe ]', "n": 1}),
        ('{"a": "if (x) {", "n": 1}', {"a": "if (x) {", "n": 1}),
        ('{"a": "x, "b": "y"}', {"a": "x", "b": "y"}),
    ],
)
def test_quotes_that_open_and_close_are_part_of_a_string(text: str, meant: Any) -> None:
    """A string that closes what it quotes is read, and so is one that quotes nothing."""
    assert read_json(text).value == meant


@pytest.mark.parametrize("comment", ["// ... 98 more\n", "/* ... */", "# \u2026\n", "/*...*/ 100"])
def test_a_comment_with_dots_leaves_parts_out(comment: str) -> None:
    """Dots in a comment stand for more of the same, as they do without one."""
    reading = read_json(f'{{"items": [1, 2, {comment}]}}', Numbers)
    assert reading.failure is not None
    assert reading.failure.message == "The value leaves parts out."
    assert read_json('{"items": [1, 2, // and so on\n 3 /* wait... */]}', Numbers).ok


def test_a_list_of_lists_is_not_made_of_a_list() -> None:
    """Nobody knows whether `[1, 2]` is one row or two."""
    assert not read_json('{"rows": [1, 2]}', Numbers).ok
    assert read_json('{"rows": [[1], [2]], "items": 3}', Numbers).ok


@pytest.mark.parametrize("digits", ["07", "1_0", "1__000", "-07"])
def test_digits_that_are_no_number_are_text_or_nothing(digits: str) -> None:
    """A number is read as it is written, or not at all."""
    assert not read_json(f'{{"n": {digits}}}', Numbers).ok
    assert read_json(f'{{"s": {digits}}}', Numbers).value == Numbers(s=digits)
    tool = _tool("add", "n", kind="integer")
    call = f'{{"name": "add", "arguments": {{"n": {digits}}}}}'
    assert read_turn(call, tools=[tool]).failure is not None


def test_underscores_between_thousands_are_a_repair() -> None:
    """`7_000` is 7000, as Python writes it."""
    reading = read_json('{"n": 7_000}', Numbers)
    assert (reading.value, reading.fidelity) == (Numbers(n=7000), "repaired")


@pytest.mark.parametrize("tools", [None, ["search"], ["other"]])
def test_an_answer_that_goes_on_with_an_action_is_neither(tools: Any) -> None:
    """What an answer announces with a colon does not vanish, and does not run."""
    text = "Thought: I know\nFinal Answer: Use:\nAction: search\nAction Input: x\nand so on"
    for choice in ("error", "action"):
        turn = read_turn(text, tools=tools, config=ReadingConfig(action_and_answer=choice))
        assert turn.failure is not None
        assert turn.failure.pattern is FailurePattern.ACTION_AND_ANSWER
    whole = read_turn("Thought: I know\nFinal Answer: 4\nAction: search\nAction Input: x")
    assert [repair.what for repair in whole.repairs] == ["action after the answer cut off"]


def _grep(value: Any, id: str = "1") -> Reply:
    return Reply(calls=(NativeCall("grep", {"pattern": value, "n": 1}, id),))


@pytest.mark.parametrize("value", ["string", "${HOME}", "...", "[pattern]", "{{name}}"])
def test_a_value_that_the_user_speaks_of_is_no_placeholder(value: str) -> None:
    """Whoever asks for a value gets a call with that value."""
    mending = Mending([GREP])
    mending.start(f"How often does '{value}' occur in our code?")
    assert isinstance(mending.reply(_grep(value)), Done)
    mending.start("How often does it occur in our strings?")
    assert isinstance(mending.reply(_grep(value)), Ask)


def test_who_writes_a_value_again_that_was_taken_for_a_slot_means_it() -> None:
    """A model that insists on a native call is believed; another slot is refused."""
    mending = Mending([GREP])
    mending.start("Look.")
    assert isinstance(mending.reply(_grep("${HOME}")), Ask)
    assert isinstance(mending.reply(_grep("${HOME}", "2")), Done)
    mending = Mending([GREP])
    mending.start("Look.")
    assert isinstance(mending.reply(_grep("...")), Ask)
    assert isinstance(mending.reply(_grep("${HOME}", "2")), (Ask, GaveUp))


def test_a_value_stands_in_a_question_as_a_whole() -> None:
    """Dots at the end of a word, and no value at all, are nothing that a user speaks of."""
    assert not stands_in("...", "Wait... what?")
    assert not stands_in("  ", "Is it there?")
