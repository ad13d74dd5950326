"""What a schema leaves open, and what is wrong with a value, in words that repeat nothing of it."""

from __future__ import annotations

import json
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, Union
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from loopmend import FailurePattern, read_json

P = FailurePattern


class Color(Enum):
    """An option."""

    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    """One of two."""

    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    """The other of two."""

    kind: Literal["dog"]


class Account(BaseModel):
    """A model that drops what it does not know."""

    user_name: str


class Open(BaseModel):
    """A model that keeps what it does not know."""

    model_config = ConfigDict(extra="allow")

    user_name: str


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (Account, '{"userName": "a", "user_name": "b"}'),
        (Account, '{"user_name": "b", "userName": "a"}'),
        (Account, '{"userName": "a", "UserName": "b"}'),
        (list[Account], '[{"user_name": "a", "User Name": "a"}]'),
        (Union[Account, int], '{"user_name": "a", "userName": "b"}'),
        (Account.model_json_schema(), '{"user_name": "a", "userName": "b"}'),
    ],
)
def test_two_keys_for_one_part(schema: Any, text: str) -> None:
    """Two spellings of one name are refused as a key that comes twice is."""
    failure = read_json(text, schema).failure
    assert failure is not None
    assert failure.pattern is P.MALFORMED
    assert failure.message.endswith("and another key are spellings of one name.")


def test_two_keys_where_both_are_kept() -> None:
    """A type that keeps keys that it does not know loses nothing, so nothing is refused."""
    value = read_json('{"user_name": "b", "userName": "a"}', Open).value
    assert value == Open.model_validate({"user_name": "b", "userName": "a"})
    for choice in (True, {"type": "object"}):
        either = {"anyOf": [choice, {"type": "integer"}]}
        assert read_json('{"a": 1, "A": 2}', either).value == {"a": 1, "A": 2}


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"type": "string", "pattern": "("}, "pattern"),
        ({"pattern": 7}, "pattern"),
        ({"properties": {"a": {"items": {"pattern": "[z-a]"}}}}, "properties.a.items.pattern"),
        ({"patternProperties": {"*": {}}}, "patternProperties"),
        ({"properties": ["a"]}, "properties"),
        ({"allOf": 7}, "allOf"),
        ({"anyOf": [{"required": "a"}]}, "anyOf[0].required"),
        ({"$defs": {"a": {"enum": "ab"}}}, "$defs.a.enum"),
    ],
)
def test_a_broken_json_schema(schema: Any, where: str) -> None:
    """A JSON Schema that is broken is a `ValueError` that says where, whatever the reply."""
    with pytest.raises(ValueError, match="`schema` is invalid") as caught:
        read_json("{}", schema)
    assert f"`{where}`" in str(caught.value)


def test_a_schema_that_jsonschema_refuses() -> None:
    """So is one that only `jsonschema` knows to be broken."""
    pytest.importorskip("jsonschema")
    for broken in ({"uniqueItems": "yes"}, {"not": {"$ref": "#/$defs/none"}}):
        with pytest.raises(ValueError, match="`schema` is invalid"):
            read_json("[1, 1]", broken)


def test_null_in_a_text_is_a_value() -> None:
    """The name of nothing is a text like another; beside names of types it is part of a shape."""
    assert read_json('{"user_name": "null"}', Account).value == Account(user_name="null")
    assert not read_json('{"user_name": "string", "x": "null"}', Account).ok


class Meeting(BaseModel):
    """A model of parts that only pydantic can judge."""

    pet: Annotated[Union[Cat, Dog], Field(discriminator="kind")]
    day: date
    at: date
    id: UUID
    size: int

    @field_validator("size")
    @classmethod
    def _even(cls, size: int) -> int:
        if size % 2:
            msg = "it has to be even"
            raise ValueError(msg)
        return size


def test_problems_say_what_is_wrong_and_repeat_nothing() -> None:
    """What only pydantic knows is told beside what the schema tells, in words about the part."""
    fine = {"pet": {"kind": "dog"}, "day": "2024-02-28", "at": "2024-02-28", "size": 2}
    fine["id"] = "12345678-1234-5678-1234-567812345678"
    assert read_json(json.dumps(fine), Meeting).ok

    def told(**changed: Any) -> list[str]:
        failure = read_json(json.dumps({**fine, **changed}), Meeting).failure
        return [] if failure is None else [str(problem) for problem in failure.problems]

    assert told(pet={"kind": "cow"}) == ["`pet.kind` must be one of 'cat', 'dog', not another one"]
    assert told(pet={"lives": 9}) == ["`pet.kind` is missing: a value"]
    assert told(id="zebra") == ["`id` must be a valid UUID, not this text"]
    assert told(size=3) == ["`size` must be valid (it has to be even), not a number"]
    assert told(at=1_700_000_000) == ["`at` must be a date or a time, not digits alone"]
    assert told(size="many", day="2024-02-30") == [
        "`size` must be an integer, not a string",
        "`day` must be a valid date or datetime (day value is outside expected range), "
        "not this text",
    ]


def test_a_text_that_is_no_option() -> None:
    """A JSON text that the schema refuses is a value that does not fit, not a lack of JSON."""
    failure = read_json('"green"', Color).failure
    assert failure is not None
    assert failure.pattern is P.BAD_VALUE
