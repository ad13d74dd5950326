"""Mending where a value of a schema is asked for."""

from __future__ import annotations

import json
from typing import Any, Literal, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from loopmend import (
    Ask,
    Done,
    FailurePattern,
    GaveUp,
    JsonReading,
    Mending,
    ReadingConfig,
    Reply,
    RetryPolicy,
    read_json,
)
from loopmend.mending import NativeCall, value_correction, value_schema
from loopmend.mending.value_corrections import shape
from loopmend.mending.value_replies import calls_first, read_value_reply
from loopmend.reading import Toolbox, schema_of

P = FailurePattern
SEARCH = {"name": "search", "parameters": {"properties": {"q": {"type": "string"}}}}


class City(BaseModel):
    """What is asked for."""

    name: str
    people: int
    kind: Literal["town", "city"] = "city"


OSLO = City(name="Oslo", people=717710)
GOOD = '{"name": "Oslo", "people": 717710}'


def _mending(schema: Any = City, **options: Any) -> Mending:
    mending = Mending(schema=schema, **options)
    mending.start("How large is Oslo?")
    return mending


def test_a_value_is_done() -> None:
    """A reply that is the value is used as it is."""
    step = _mending().reply(Reply(GOOD))
    assert isinstance(step, Done)
    assert (step.value, step.outcome, step.content, step.calls) == (OSLO, "clean", None, None)
    assert step.reading is not None
    assert step.reading.fidelity == "exact"
    assert step.turn.dialect == "schema"


def test_a_repaired_value_is_shown_as_json() -> None:
    """Where the reply is more than the value, or needed repair, its content is the JSON alone."""
    step = _mending().reply(Reply(f"Sure:\n```json\n{GOOD.replace(chr(34), chr(39))}\n```"))
    assert isinstance(step, Done)
    assert step.value == OSLO
    assert json.loads(step.content or "") == {"name": "Oslo", "people": 717710}
    step = _mending().reply(Reply('{"Name": "Oslo", "people": "717710"}'))
    assert isinstance(step, Done)
    assert json.loads(step.content or "") == {"name": "Oslo", "people": 717710}


def test_a_done_without_a_schema_has_no_value() -> None:
    """Where no value was asked for there is none."""
    mending = Mending()
    mending.start()
    step = mending.reply(Reply("Hello."))
    assert isinstance(step, Done)
    assert (step.value, step.reading) == (None, None)


def test_the_correction_names_just_what_is_wrong() -> None:
    """A correction names the paths that are wrong, shows the shape, and repeats no text."""
    mending = _mending()
    step = mending.reply(Reply('{"name": "Oslo", "people": "secret words", "kind": "village"}'))
    assert isinstance(step, Ask)
    assert step.messages[0].content == (
        "Fix only this: `people` must be an integer, not a string; "
        '`kind` must be "town" or "city", not a string.\n'
        "Reply with one JSON object of this shape and nothing else: "
        '{"name": string, "people": integer, "kind"?: "town" | "city"}'
    )
    assert step.retry is not None
    assert step.retry.pattern == "bad_value"
    step = mending.reply(Reply(GOOD))
    assert isinstance(step, Done)
    assert (step.value, step.outcome, len(step.refused)) == (OSLO, "mended", 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Your reply was empty."),
        ("I do not know.", "Your reply contains no JSON."),
        ('{"name": "Oslo", "peo', "Your reply was cut off or is incomplete."),
        ('{"name": "...", "people": 1}', "You repeated the template. Fill in real values."),
        ('{"name": "Oslo", "name": "Os"}', "Your JSON could not be parsed."),
        ('{"name": "Oslo", "people": ', "Your reply was cut off or is incomplete."),
    ],
)
def test_each_failure_has_its_words(text: str, words: str) -> None:
    """What is wrong comes first."""
    step = _mending().reply(Reply(text))
    assert isinstance(step, Ask)
    assert step.messages[0].content.startswith(words)


def test_it_gives_up_with_what_it_has() -> None:
    """After the last retry the failure and what was read are there."""
    mending = _mending(policy=RetryPolicy(max_retries=1))
    assert isinstance(mending.reply(Reply("no")), Ask)
    step = mending.reply(Reply('{"name": "Oslo"}'))
    assert isinstance(step, GaveUp)
    assert step.failure.pattern is P.BAD_VALUE
    assert step.reading is not None
    assert step.reading.data == {"name": "Oslo"}
    assert step.retries == 1


def test_a_failure_that_is_not_acted_on() -> None:
    """A failure that the policy leaves alone is handed on without a value."""
    mending = _mending(policy=RetryPolicy(patterns=[P.EMPTY]))
    step = mending.reply(Reply("Hello."))
    assert isinstance(step, Done)
    assert step.value is None
    assert step.reading is not None
    assert step.turn.failure is not None


@pytest.mark.parametrize(
    ("reply", "pattern"),
    [
        (Reply("12", finish_reason="length"), P.TRUNCATED),
        (Reply("", finish_reason="malformed_response"), P.MALFORMED),
        (Reply("", error=ValueError("x")), P.MALFORMED),
    ],
)
def test_what_the_provider_says_counts(reply: Reply, pattern: FailurePattern) -> None:
    """A value that hit the length limit may go on; an error is a failed reply."""
    mending = _mending(int)
    step = mending.reply(reply)
    assert isinstance(step, Ask)
    assert mending.refused[0].pattern is pattern


def test_a_closed_value_at_the_limit_is_whole() -> None:
    """A value whose bracket is closed is whole, whatever came after it was cut."""
    for text in (GOOD, f"{GOOD}\nThis"):
        step = _mending().reply(Reply(text, finish_reason="length"))
        assert isinstance(step, Done)
        assert step.value == OSLO


def test_the_value_as_a_call() -> None:
    """Where the schema was offered as a tool, the call's arguments are the value."""
    call = NativeCall("City", {"name": "Oslo", "people": 717710}, "1")
    step = _mending().reply(Reply(calls=(call,)))
    assert isinstance(step, Done)
    assert (step.value, step.calls, step.content) == (OSLO, None, None)
    call = NativeCall("City", {"name": "Oslo", "people": "717710", "Kind": "City"}, "1")
    step = _mending().reply(Reply(calls=(call,)))
    assert isinstance(step, Done)
    data = {"name": "Oslo", "people": 717710, "kind": "city"}
    assert step.calls == (NativeCall("City", data, "1"),)
    broken = NativeCall("City", "{'name': 'Oslo', 'people': 717710}", "2")
    step = _mending().reply(Reply(broken_calls=(broken,)))
    assert isinstance(step, Done)
    assert step.value == OSLO
    assert step.calls is not None
    assert step.calls[0].id == "2"


def test_a_refused_call_is_answered() -> None:
    """A refused call goes back as the call and our answer to it, if the reply is shown."""
    mending = _mending(policy=RetryPolicy(show_refused=True))
    step = mending.reply(Reply(calls=(NativeCall("City", {"name": "Oslo"}, "1"),)))
    assert isinstance(step, Ask)
    assert [(message.role, message.call_id) for message in step.messages] == [
        ("assistant", None),
        ("tool", "1"),
    ]
    assert "`people` is missing" in step.messages[1].content
    assert mending.refused[0].tool == "City"


def test_tools_beside_a_schema() -> None:
    """Calls to tools are calls, and everything else should be the value."""
    mending = Mending([SEARCH], schema=City)
    mending.start("How large is Oslo?")
    step = mending.reply(Reply(calls=(NativeCall("search", {"q": "Oslo"}, "1"),)))
    assert isinstance(step, Done)
    assert step.reading is None
    assert isinstance(mending.reply(Reply("It is large.")), Ask)
    step = mending.reply(Reply(GOOD))
    assert isinstance(step, Done)
    assert step.value == OSLO


def test_decoding_by_the_schema_itself() -> None:
    """Where the provider can, a retry decodes by the value's own schema."""
    mending = _mending(can_constrain=True)
    step = mending.reply(Reply("no"))
    assert isinstance(step, Ask)
    assert (step.messages, step.schema) == ((), value_schema(City))
    step = mending.reply(Reply("no, again"))
    assert isinstance(step, Ask)
    assert step.messages[0].content.startswith("Your reply contains no JSON.")
    assert mending.unconstrained().schema is None
    mending = Mending(schema=list[int], policy=RetryPolicy(constrain="always"), can_constrain=True)
    step = mending.start("Show me the JSON of the call, do not run it.")
    assert step.schema == value_schema(list[int])
    step = mending.reply(Reply('{"value": [1, 2]}'))
    assert isinstance(step, Done)
    assert step.value == [1, 2]


def test_the_schema_for_decoders() -> None:
    """References are resolved and only objects are at the root."""

    class Trip(BaseModel):
        stops: list[City]

    found = value_schema(Trip)
    assert found["properties"]["stops"]["items"]["properties"]["name"]["type"] == "string"
    assert "$defs" not in json.dumps(found)
    assert value_schema(int)["properties"]["value"] == {"type": "integer"}
    assert value_schema(None)["properties"] == {"value": {}}


def test_what_a_model_names_is_not_repeated() -> None:
    """A key that is no name is not repeated to the model."""
    schema = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}
    reading = read_json('{"ignore {\\"a\\": 1} all": 1}', schema)
    assert reading.failure is not None
    words = value_correction(reading.failure, schema_of(schema))
    assert words.startswith("Fix only this: remove the keys that the shape does not have.")
    assert "ignore" not in words


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (list[City], '[{"name": string, "people": integer, "kind"?: "town" | "city"}]'),
        (dict[str, list[int]], "{string: [integer]}"),
        (Union[int, None], "integer | null"),
        ({"type": ["string", "null"]}, "null | string"),
        ({}, ""),
        ({"type": "object"}, "{string: any}"),
        ({"type": "array"}, "[any]"),
        ({"enum": []}, ""),
        ({"const": 1}, "1"),
    ],
)
def test_shapes(schema: Any, expected: str) -> None:
    """The shape of a value is short, and types stand where values will."""
    found = schema_of(schema)
    assert found is not None
    assert shape(found) == expected


def test_a_long_shape_is_cut() -> None:
    """What is deep or wide is cut to what helps."""
    inner = {"type": "object", "properties": {f"name_{at}": {"type": "string"} for at in range(30)}}
    wide = {"type": "object", "properties": {"a": inner, "b": inner}}
    assert shape(schema_of(wide)) == '{"a"?: object, "b"?: object}'  # type: ignore[arg-type]
    huge = {"type": "object", "properties": {f"name_{at}": {} for at in range(200)}}
    assert shape(schema_of(huge)) == ""  # type: ignore[arg-type]


parts = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "boolean"},
            {"type": ["string", "null"]},
            {"enum": ["a", "b"]},
            {},
        ]
    ),
    lambda inner: (
        inner.map(lambda items: {"type": "array", "items": items})
        | inner.map(lambda items: {"type": "object", "additionalProperties": items})
        | st.lists(inner, min_size=2, max_size=2).map(lambda choices: {"anyOf": choices})
        | st.dictionaries(st.sampled_from(["a", "b", "name"]), inner, min_size=1, max_size=3).map(
            lambda found: {"type": "object", "properties": found, "required": list(found)}
        )
    ),
    max_leaves=6,
)
replies = st.sampled_from(
    ["", "no", "{", "{}", "[]", '{"a": 1}', "{'a': 'b', 'name': 'c'}", "[1, 2]", "null", "true"]
)


@given(parts, replies)
def test_a_correction_that_comes_back_is_no_value(schema: Any, text: str) -> None:
    """What a correction shows is never taken for the value, whole or in part."""
    mending = Mending(schema=schema, policy=RetryPolicy(max_retries=5))
    mending.start()
    step = mending.reply(Reply(text))
    if isinstance(step, Ask):
        words = step.messages[0].content
        assert not isinstance(mending.reply(Reply(words)), Done)
        wanted = schema_of(schema)
        assert wanted is not None
        shown = shape(wanted)
        if any(mark in shown for mark in "{["):
            assert not isinstance(mending.reply(Reply(shown)), Done)
            assert not isinstance(mending.reply(Reply(f"Here:\n```json\n{shown}\n```")), Done)


@given(
    st.integers(0, 4),
    st.lists(replies, min_size=8, max_size=8),
    st.sampled_from([False, "retry", "always"]),
    st.booleans(),
)
def test_the_bound_is_never_exceeded(
    most: int,
    script: list[str],
    constrain: Any,
    shows: bool,  # noqa: FBT001
) -> None:
    """However a model replies, it is asked again at most `max_retries` times."""
    policy = RetryPolicy(max_retries=most, constrain=constrain, show_refused=shows)
    mending = Mending(schema=City, policy=policy, can_constrain=True)
    step: Any = mending.start()
    asked = -1
    for text in script:
        if not isinstance(step, Ask):
            break
        asked += 1
        step = mending.reply(Reply(text))
    assert asked <= most
    assert isinstance(step, GaveUp)


def test_salvage_does_not_end_the_asking() -> None:
    """A value that stops is asked for again, and what arrived of it is there in the end."""
    mending = _mending(config=ReadingConfig(salvage=True), policy=RetryPolicy(max_retries=0))
    step = mending.reply(Reply('{"name": "Oslo", "people": 7177'))
    assert isinstance(step, GaveUp)
    assert step.failure.pattern is P.TRUNCATED
    assert step.reading is not None
    assert step.reading.value == City(name="Oslo", people=7177)


def test_a_shape_of_two_kinds_that_comes_back_is_no_value() -> None:
    """A text is a value of this schema, but not the shape that a correction showed."""
    schema = {
        "anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"enum": ["a"]}}]
    }
    wanted = schema_of(schema)
    assert wanted is not None
    mending = Mending(schema=schema, policy=RetryPolicy(max_retries=5))
    mending.start()
    assert isinstance(mending.reply(Reply("")), Ask)
    assert isinstance(mending.reply(Reply("no {")), Ask)
    assert not isinstance(mending.reply(Reply(shape(wanted))), Done)


def test_the_last_call_of_a_reply_that_was_cut_off_is_refused() -> None:
    """Its decoded arguments may be completed by a client; a call before it, or a text, is whole."""
    schema = schema_of(dict[str, int])
    cut, other = NativeCall("x", {"a": 1}, "1"), NativeCall("x", {"a": "?"}, "2")
    failure = _read(Reply(calls=(cut,), finish_reason="length"), schema).failure
    assert failure is not None
    assert failure.pattern is P.TRUNCATED
    assert failure.tool == "x"
    assert _read(Reply(calls=(cut, other), finish_reason="length"), schema).value == {"a": 1}
    assert _read(Reply(calls=(cut,), finish_reason="stop"), schema).value == {"a": 1}
    written = NativeCall("x", '{"a": 1}', "1")
    assert _read(Reply(broken_calls=(written,), finish_reason="length"), schema).value == {"a": 1}


def _read(reply: Reply, schema: Any) -> JsonReading:
    return read_value_reply(reply, schema, ReadingConfig()).reading


BOX = Toolbox(
    [{"name": "search", "parameters": {"properties": {"query": {}}, "required": ["query"]}}]
)
CALLED = '{"name": "search", "arguments": {"query": "Oslo"}}'


@pytest.mark.parametrize(
    ("reply", "first"),
    [
        (Reply(CALLED), True),
        (Reply(f"{{'name': 'Oslo', 'people': 1}}\n{CALLED}"), True),
        (Reply("I will search for it."), True),
        (Reply("I will search for it: {'name': 'Oslo', 'people': 1}"), False),
        (Reply("search: {'name': 'Oslo', 'people': 1}"), False),
        (Reply("{'name': 'Oslo', 'people': 1}"), False),
        (Reply(calls=(NativeCall("search", {}),)), True),
        (Reply(calls=(NativeCall("find", {}),)), True),
        (Reply(calls=(NativeCall("City", {}),)), False),
        (Reply(calls=(NativeCall("answer", {"name": "Oslo", "people": 1}),)), False),
    ],
)
def test_what_comes_before_a_value(reply: Reply, first: bool) -> None:  # noqa: FBT001
    """A call is made before the value is given; a value that only names a tool is one."""
    assert calls_first(reply, City, BOX) is first
    assert not calls_first(reply, City, None)
    assert not calls_first(reply, City, Toolbox([]))


def test_who_may_call_or_answer_is_not_held_to_the_value() -> None:
    """A schema of the value alone would leave no way to call a tool."""
    for tools, constrained in ((["search"], False), ([], True), (None, True)):
        mending = Mending(tools, schema=City, can_constrain=True)
        mending.start()
        step = mending.reply(Reply("It is big."))
        assert isinstance(step, Ask)
        assert (step.schema is not None) is constrained
