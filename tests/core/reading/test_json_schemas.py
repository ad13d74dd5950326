"""Values and their schemas: fitting without loss, and what is wrong in words."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from types import MappingProxyType
from typing import Any, Literal, Union

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator, model_validator
from typing_extensions import TypedDict

from loopmend import FailurePattern, ReadingConfig, read_json
from loopmend.reading import Problem, Schema, fit_value, schema_of
from loopmend.reading.alignment import Alignment
from loopmend.reading.checker import Checker

P = FailurePattern


class Color(Enum):
    """An option."""

    RED = "red"
    DARK_BLUE = "dark blue"


class Address(BaseModel):
    """A part."""

    street: str
    zip: str = ""


class Person(BaseModel):
    """A model with a part of each kind."""

    first_name: str
    age: int
    active: bool = True
    tags: list[str] = []
    address: Union[Address, None] = None
    color: Color = Color.RED


@dataclass
class Point:
    """A dataclass."""

    x: int
    y: int


class PointModel(BaseModel):
    """The same, as a model."""

    x: int
    y: int


class Movie(TypedDict):
    """A typed dict."""

    title: str
    year: int


@dataclass
class Flags:
    """A dataclass of which nothing is required."""

    on: bool = False


class Defaults(BaseModel):
    """A model of which nothing is required."""

    note: str = ""


class Optional_(TypedDict, total=False):  # noqa: N801 - the name of what it shows
    """A type of which nothing is required."""

    note: str


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (Point, '{"x": 1, "y": 2}', Point(1, 2)),
        (Movie, '{"title": "Heat", "year": 1995}', {"title": "Heat", "year": 1995}),
        (TypeAdapter(list[Point]), '[{"x": 1, "y": 2}]', [Point(1, 2)]),
        (list[int], "[1, 2]", [1, 2]),
        (Union[int, None], "null", None),
        (Union[int, list[int]], "[3]", [3]),
        (Color, '"red"', Color.RED),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({}, "[1]", [1]),
        (
            Person,
            '{"first_name": "Kim", "age": 30, "address": {"street": "Main"}}',
            Person(first_name="Kim", age=30, address=Address(street="Main")),
        ),
    ],
)
def test_each_way_to_say_what_is_wanted(schema: Any, text: str, value: Any) -> None:
    """Models, dataclasses, typed dicts, adapters, other types and JSON Schemas are schemas."""
    reading = read_json(text, schema)
    assert (reading.value, reading.failure, reading.fidelity) == (value, None, "exact")


KIM = {"first_name": "Kim", "age": 30}


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('{"firstName": "Kim", "Age": 30}', {}),
        ('{"first name": "Kim", " AGE ": "30"}', {}),
        ('{"Person": {"first_name": "Kim", "age": 30}}', {}),
        ('{"person": "{\\"first_name\\": \\"Kim\\", \\"age\\": 30}"}', {}),
        ('[{"first_name": "Kim", "age": 30}]', {}),
        ('{"properties": {"first_name": "Kim", "age": 30}, "required": ["age"]}', {}),
        ('{"first_name": "Kim", "age": 30.0}', {}),
        ('{"first_name": "Kim", "age": 30, "tags": null}', {}),
        ('{"first_name": "Kim", "age": 30, "active": "no"}', {"active": False}),
        ('{"first_name": "Kim", "age": 30, "tags": "[\\"a\\"]"}', {"tags": ["a"]}),
        ('{"first_name": "Kim", "age": 30, "tags": 7}', {"tags": ["7"]}),
        ('{"first_name": "Kim", "age": 30, "color": "Dark_Blue"}', {"color": Color.DARK_BLUE}),
        ('{"first_name": "Kim", "age": 30, "color": {"value": "RED"}}', {"color": Color.RED}),
        (
            '{"first_name": "Kim", "age": 30, "address": {"Street": "Main", "zip": 1234}}',
            {"address": Address(street="Main", zip="1234")},
        ),
        ("Sure: {first_name: 'Kim', age: 30,}", {}),
        ('{"name": "Person", "arguments": {"first_name": "Kim", "age": 30}}', {}),
        ('<tool_call>{"tool": "person", "args": {"first_name": "Kim", "age": 30}}</tool_call>', {}),
    ],
)
def test_fitting_loses_nothing(text: str, changed: dict[str, Any]) -> None:
    """Names, types and wrappers are fitted where only one thing can be meant."""
    reading = read_json(text, Person)
    assert reading.failure is None
    assert reading.value == Person(**{**KIM, **changed})


def test_fitting_says_what_it_changed() -> None:
    """Each change by the schema is a repair."""
    reading = read_json('{"firstName": "Kim", "age": "thirty"}', Person)
    assert reading.failure is not None
    whats = [repair.what for repair in reading.repairs]
    assert whats == ["name of `firstName`"]
    reading = read_json('{"person": {"first_name": "Kim", "age": 30}}', Person)
    assert [repair.what for repair in reading.repairs] == ["wrapper of the value"]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            '{"first_name": "Kim", "age": "thirty"}',
            ["`age` must be an integer, not a string"],
        ),
        ("{}", ["`first_name` is missing: a string", "`age` is missing: an integer"]),
        ('{"first_name": 1.5, "age": 30}', ["`first_name` must be a string, not a number"]),
        (
            '{"first_name": "Kim", "age": 30, "address": {"zip": "1"}}',
            ["`address.street` is missing: a string"],
        ),
        (
            '{"first_name": "Kim", "age": 30, "tags": ["a", null]}',
            ["`tags[1]` must be a string, not null"],
        ),
        (
            '{"first_name": "Kim", "age": 30, "color": {"value": "green"}}',
            ['`color` must be "red" or "dark blue", not an object'],
        ),
        (
            '{"first_name": "Kim", "age": 30, "color": "green"}',
            ['`color` must be "red" or "dark blue", not a string'],
        ),
        ("[1, 2]", ["The value must be an object, not an array"]),
        ('{"first_name": "Kim", "age": 30.5}', ["`age` must be an integer, not a number"]),
        ('{"first_name": null, "age": 30}', ["`first_name` must be a string, not null"]),
        (
            '{"first_name": "Kim", "age": 30, "active": ""}',
            ["`active` must be true or false, not an empty string"],
        ),
    ],
)
def test_what_does_not_fit_is_named(text: str, problems: list[str]) -> None:
    """A failure names each path, what is expected and what came, and repeats no text."""
    reading = read_json(text, Person)
    assert reading.failure is not None
    assert (reading.failure.pattern, reading.value) == (P.BAD_VALUE, None)
    assert [str(problem) for problem in reading.failure.problems] == problems
    assert "; ".join(problems) in reading.failure.message
    assert reading.data is not None


def test_many_problems_are_counted() -> None:
    """A message names the first problems and says how many more there are."""
    reading = read_json('{"a": ["x", "x", "x", "x", "x", "x", "x"]}', dict[str, list[int]])
    assert reading.failure is not None
    assert len(reading.failure.problems) == 7
    assert "`a[4]` must be an integer, not a string; and 2 more." in reading.failure.message


class Strict(BaseModel):
    """A strict model."""

    model_config = ConfigDict(strict=True)

    day: date
    color: Color


class Even(BaseModel):
    """A model with a rule of its own."""

    number: int

    @field_validator("number")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            msg = "an even number is needed"
            raise ValueError(msg)
        return value


def test_pydantic_has_the_last_word() -> None:
    """Strict models take JSON's text for dates, and a validator's own words are passed on."""
    text = '{"day": "2024-02-01", "color": "red"}'
    assert read_json(text, Strict).value == Strict(day=date(2024, 2, 1), color=Color.RED)
    assert read_json('{"number": "4"}', Even).value == Even(number=4)
    failure = read_json('{"number": 3}', Even).failure
    assert failure is not None
    assert failure.problems == (
        Problem(("number",), "valid (an even number is needed)", "a number"),
    )
    assert read_json("1", Strict).failure is not None


class Deadline(BaseModel):
    """A model whose schema says less than its type."""

    day: date


def test_what_the_schema_does_not_explain_is_pydantics_to_say() -> None:
    """Where JSON Schema finds nothing wrong, the problem is in pydantic's words."""
    failure = read_json('{"day": "soon"}', Deadline).failure
    assert failure is not None
    assert failure.problems[0].path == ("day",)
    assert failure.problems[0].expected.startswith("a valid date")
    function = TypeAdapter(Callable[[int], int])
    assert Schema(function).json == {}
    failure = read_json("1", function).failure
    assert failure is not None
    assert failure.problems[0].came == "a number"


class Missing(BaseModel):
    """A model whose JSON Schema does not tell that a field is needed."""

    model_config = ConfigDict(json_schema_extra=lambda schema: schema.pop("required"))

    name: str


def test_a_missing_part_by_pydantic() -> None:
    """What only pydantic misses is missing."""
    failure = read_json("{}", Missing).failure
    assert failure is not None
    assert str(failure.problems[0]) == "`name` is missing: a value"


def test_half_a_character_is_no_crash() -> None:
    """Text that cannot be encoded is refused or taken as it is, never an exception."""
    assert read_json('{"a": "\ud800"}', dict[str, int]).failure is not None
    assert read_json('{"a": "\ud800"}').value == {"a": "\ud800"}


@pytest.mark.parametrize("schema", ["int", 7, [int]])
def test_what_is_no_type_is_refused(schema: Any) -> None:
    """A schema that describes no type is a `TypeError`."""
    with pytest.raises(TypeError):
        read_json("{}", schema)


def test_a_schema_is_made_once() -> None:
    """The same type gives the same schema; a schema is its own."""
    schema = schema_of(Person)
    assert schema_of(Person) is schema is schema_of(schema)
    assert isinstance(schema, Schema)
    assert schema.name == "Person"
    assert schema_of(None) is None


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"enum": ["spam", "not_spam"]}, "NOT SPAM", "not_spam"),
        ({"enum": ["spam", "not_spam"]}, "**spam**", "spam"),
        ({"enum": ["spam", "ham"]}, "Answer: `spam`", "spam"),
        ({"enum": ["spam", "ham"]}, '{"answer": "Spam"}', "spam"),
        ({"enum": [1, 2]}, '"2"', 2),
        ({"const": "done"}, "Done.", "done"),
        (bool, "The text says so.\n\nAnswer: **True**", True),
        (bool, '{"result": true}', True),
        (bool, "Yes.", True),
        (int, '{"value": "7"}', 7),
        (str, "Just some words.", "Just some words."),
        (str, "<think>hm</think>\nJust some words.", "Just some words."),
        (str, '"quoted"', "quoted"),
        (Union[Color, None], "dark-blue", Color.DARK_BLUE),
        ({"anyOf": [False, {"enum": ["spam"]}]}, "Spam", "spam"),
        (
            {"patternProperties": {"^x": {"type": "integer"}}},
            '{"x": "1", "y": "2"}',
            {"x": 1, "y": "2"},
        ),
        (list[int], '{"numbers": [1, 2]}', [1, 2]),
        (Point, '{"place": {"x": 1, "Y": "2"}}', Point(1, 2)),
        (Point, '{"result": {"x": 1, "y": 2}}', Point(1, 2)),
        (Optional_, '{"data": {"note": "x"}}', {"note": "x"}),
        (Optional_, "{}", {}),
        (Flags, '{"on": 1, "off": 2}', Flags(on=True)),
        (Defaults, '{"note": "x", "more": 1}', Defaults(note="x")),
        (list[Point], '{"x": 1, "y": 2}', [Point(1, 2)]),
        (dict[str, int], '{"a": "1"}', {"a": 1}),
        (tuple[int, str], '["1", 2]', (1, "2")),
    ],
)
def test_values_without_brackets_or_with_too_many(schema: Any, text: str, value: Any) -> None:
    """A schema tells what a word, a wrapper or a lone item stands for."""
    reading = read_json(text, schema)
    assert (reading.value, reading.failure) == (value, None)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"enum": ["spam", "ham"]}, "I would not call it spam"),
        ({"enum": ["spam", "ham"]}, "spam - or rather ham"),
        ({"enum": ["spam", "ham"]}, "Category: unclear"),
        ({"enum": ["Spam", "SPAM"]}, "spam"),
        ({"enum": ["spam", "ham"]}, "<think>spam"),
        (bool, "true or false"),
        (bool, "Yes and no."),
        (bool, '{"a": "maybe"}'),
        (int, "There are 3 of them."),
        (int, '{"a": 1, "b": 2}'),
        (list[str], '"a, b"'),
        (list[str], "null"),
        (list[Point], '{"x": 1}'),
        (Person, "Kim is 30."),
        (Person, '[{"first_name": "Kim", "age": 30}, {"first_name": "Lee", "age": 31}]'),
        (Person, '{"result": {}}'),
        (Person, '{"name": "Human", "arguments": {"first_name": "Kim", "age": 30}}'),
        (Person, '{"result": {"unknown": 1}}'),
        (Person, '{"result": "Kim"}'),
        (Point, '{"x": 1, "X": 2}'),
        (Point, '{"error": {"x": 1, "y": 2}}'),
        (Point, '{"previous": {"x": 1, "y": 2}}'),
        (Point, '{"point": {"x": 1}}'),
        (Point, '{"place": {"x": 1, "y": "north"}}'),
        (Point, '{"place": {"x": 1, "y": 2, "z": 3}}'),
        (Optional_, '{"place": {"note": "x"}}'),
        (Optional_, '{"error": "there is none"}'),
        (Defaults, '{"error": "there is none"}'),
        (Flags, '{"error": "there is none"}'),
        (list[Point], '{"x": 1, "y": 2}\n{"x": 3, "y": 4}'),
        (bool, '{"error": "no"}'),
        (int, '{"errorCode": 404}'),
        (list[int], '{"failures": [1]}'),
        ({"enum": ["spam", "ham"]}, '{"not": "spam"}'),
        (dict[str, int], '{"a": "..."}'),
    ],
)
def test_what_a_schema_does_not_decide(schema: Any, text: str) -> None:
    """Where more than one thing can be meant, the reply is refused."""
    assert read_json(text, schema).value is None


class Cat(BaseModel):
    """One of two."""

    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    """The other of two."""

    kind: Literal["dog"]
    tricks: list[str] = []


def test_alternatives() -> None:
    """Of alternatives, the first is taken that the value fits or can be fitted to."""
    either = Union[Cat, Dog]
    assert read_json('{"kind": "Dog", "tricks": "[]"}', either).value == Dog(kind="dog")
    assert read_json('{"kind": "cat", "lives": "9"}', list[either]).value == [
        Cat(kind="cat", lives=9)
    ]
    failure = read_json('{"kind": "cat", "lives": "nine"}', either).failure
    assert failure is not None
    assert [str(problem) for problem in failure.problems] == [
        "`lives` must be an integer, not a string"
    ]
    failure = read_json("7", either).failure
    assert failure is not None
    assert failure.problems[0].expected == "an object"


def test_the_value_that_fits_is_taken() -> None:
    """Of several values, the first that fits the schema is taken, not the first."""
    text = 'For [1, 2] I got {"x": 1} at first, but then:\n{"x": 1, "y": 2}\n{"x": 3, "y": 4}'
    assert read_json(text, Point).value == Point(1, 2)
    assert read_json(text, list[int]).value == [1, 2]
    text = '{"x": 1}, {"x": 1, "y": 2}'
    assert read_json(text, Point).value == Point(1, 2)


def test_a_torn_value_fits_as_far_as_it_goes() -> None:
    """With `salvage`, a torn value that still fits is returned; one that lacks a part is not."""
    salvage = ReadingConfig(salvage=True)
    reading = read_json('{"first_name": "Kim", "age": 30, "tags": ["a", "b', Person, config=salvage)
    assert reading.value == Person(first_name="Kim", age=30, tags=["a", "b"])
    assert (reading.fidelity, reading.whole) == ("salvaged", False)
    reading = read_json('{"first_name": "Ki', Person, config=salvage)
    assert (reading.value, reading.whole) == (None, False)
    assert reading.failure is not None
    assert reading.failure.pattern is P.BAD_VALUE


@pytest.mark.parametrize(
    "text",
    [
        '{"properties": {"first_name": {"type": "string"}, "age": {"type": "integer"}}}',
        '{"properties": {"address": {"$ref": "#/$defs/Address"}}, "type": "object"}',
        '{"first_name": "string", "age": "integer"}',
        '{"first_name": string, "tags": [string], "color": "red"}',
        '{"first_name": "string | null"}',
    ],
)
def test_a_schema_is_no_value_of_it(text: str) -> None:
    """A schema or its shape, sent back, is a template and no value."""
    failure = read_json(text, Person).failure
    assert failure is not None
    assert failure.pattern is P.TEMPLATE_ECHO


class Column(BaseModel):
    """A model of which a type's name may be a value."""

    name: str
    type: str = ""
    properties: dict[str, Any] = {}


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "age", "type": "integer"}',
        '{"name": "person", "properties": {"age": {"type": "integer"}}}',
        '{"name": "person", "properties": {}}',
    ],
)
def test_a_description_may_be_the_value(text: str) -> None:
    """Where a schema asks for descriptions, they are values."""
    assert isinstance(read_json(text, Column).value, Column)


BARE = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10, "multipleOf": 2},
        "low": {"exclusiveMinimum": 0, "maximum": 5},
        "word": {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$"},
        "list": {"type": "array", "items": {"$ref": "#/$defs/Part"}, "minItems": 1, "maxItems": 2},
        "pair": {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
        "any": True,
        "never": False,
        "few": {"minProperties": 1, "maxProperties": 1},
        "pick": {"enum": list(range(12))},
        "either": {"type": ["string", "null"]},
        "number": {"type": "number"},
        "odd": {"type": "custom"},
    },
    "patternProperties": {"^x_": {"type": "integer"}},
    "additionalProperties": False,
    "required": ["n"],
    "$defs": {"Part": {"type": "object", "required": ["id"]}},
}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"n": 2}, None),
        ({"n": 2, "x_1": 3, "any": [1], "either": None, "number": 1.5, "odd": object}, None),
        ({"n": 2, "pair": [1, "a", "b"]}, None),
        ({}, "`n` is missing: an integer"),
        ({"n": True}, "`n` must be an integer, not a boolean"),
        ({"n": 0}, "`n` must be 1 or more, not this number"),
        ({"n": 10}, "`n` must be less than 10, not this number"),
        ({"n": 3}, "`n` must be a multiple of 2, not this number"),
        ({"n": 2, "low": 0}, "`low` must be more than 0, not this number"),
        ({"n": 2, "low": 6}, "`low` must be 5 or less, not this number"),
        ({"n": 2, "word": "a"}, "`word` must be at least 2 characters, not 1"),
        ({"n": 2, "word": "abcd"}, "`word` must be at most 3 characters, not 4"),
        ({"n": 2, "word": "AB"}, "`word` must be text that matches ^[a-z]+$, not this one"),
        ({"n": 2, "list": []}, "`list` must be at least 1 items, not 0"),
        ({"n": 2, "list": [{"id": 1}] * 3}, "`list` must be at most 2 items, not 3"),
        ({"n": 2, "list": [{}]}, "`list[0].id` is missing: a value"),
        ({"n": 2, "pair": ["a"]}, "`pair[0]` must be an integer, not a string"),
        ({"n": 2, "pair": [1, 2]}, "`pair[1]` must be a string, not a number"),
        ({"n": 2, "few": {}}, "`few` must be at least 1 keys, not 0"),
        ({"n": 2, "few": {"a": 1, "b": 2}}, "`few` must be at most 1 keys, not 2"),
        ({"n": 2, "never": 1}, "`never` is not a known key"),
        ({"n": 2, "other": 1}, "`other` is not a known key"),
        ({"n": 2, "x_1": "a"}, "`x_1` must be an integer, not a string"),
        ({"n": 2, "either": 1}, "`either` must be null or a string, not a number"),
        ({"n": 2, "number": True}, "`number` must be a number, not a boolean"),
        ({"n": 2, "pick": 12}, "`pick` must be 0 or 1 or 2 or 3 or 4 or 5 or 6 or 7 or another"),
        ({"n": 2, "pick": True}, "`pick` must be 0 or 1"),
    ],
)
def test_a_bare_schema_is_checked(value: Any, problem: str | None) -> None:
    """Types, options, needs, nesting, bounds, sizes and patterns of a JSON Schema count."""
    found = schema_of(BARE)
    assert found is not None
    problems = found.validated(value)[1]
    assert bool(problems) is (problem is not None)
    assert all(str(each).startswith(problem or "") for each in problems[:1])


def test_what_the_checker_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other keywords are jsonschema's to judge if it is installed, and are not checked if not."""
    schema = {"type": "array", "uniqueItems": True, "anyOf": [{"not": {"const": [7]}}]}
    pytest.importorskip("jsonschema")
    failure = read_json("[1, 1]", schema).failure
    assert failure is not None
    assert failure.problems == (Problem((), "valid by `uniqueItems`", "an array"),)
    assert read_json("[1, 2]", schema).value == [1, 2]
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert read_json("[1, 1]", schema).value == [1, 1]


def test_references_of_all_kinds() -> None:
    """References to definitions, to the schema itself and to nothing are followed."""
    tree = {
        "type": "object",
        "properties": {
            "next": {"$ref": "#"},
            "old": {"allOf": [{"$ref": "#/definitions/Old"}]},
            "lost": {"$ref": "#/$defs/None"},
        },
        "definitions": {"Old": {"type": "integer"}},
    }
    assert read_json('{"next": {"next": {"old": "1", "lost": []}}}', tree).value == {
        "next": {"next": {"old": 1, "lost": []}}
    }
    assert read_json('{"next": 1}', tree).failure is not None


def test_alternatives_within_alternatives_stay_quick() -> None:
    """A value that nests under a schema of alternatives is judged in a moment."""
    nested: Any = "x"
    for _ in range(60):
        nested = [{"a": nested}]
    value = {"type": ["integer", "null"]}
    schema = {
        "$ref": "#/$defs/V",
        "$defs": {
            "V": {
                "anyOf": [
                    value,
                    {"type": "array", "items": {"$ref": "#/$defs/V"}},
                    {"type": "object", "additionalProperties": {"$ref": "#/$defs/V"}},
                    {"type": "object", "properties": {"a": {"$ref": "#/$defs/V"}}},
                ]
            }
        },
    }
    assert fit_value(nested, schema).failure is not None


def test_decoded_data_is_fitted() -> None:
    """What a client decoded is fitted as text is, and text is read."""
    assert fit_value({"x": "1", "y": 2}, Point).value == Point(1, 2)
    assert fit_value("{'x': 1, 'y': 2}", Point).value == Point(1, 2)
    assert fit_value([1, 2]).value == [1, 2]
    failure = fit_value({"name": "..."}).failure
    assert failure is not None
    assert failure.pattern is P.TEMPLATE_ECHO


def test_an_alignment_gives_up_in_time() -> None:
    """A value of very many parts is fitted as far as the bound goes, and then left as it is."""
    alignment = Alignment(Checker({}))
    schema = {"type": "array", "items": {"type": "integer"}}
    found = alignment.aligned(["1"] * 60_000, schema)
    assert found[0] == 1
    assert found[-1] == "1"


def test_one_name_for_two_keys() -> None:
    """Two spellings of one name are not merged."""
    schema = {"properties": {"a_b": {"type": "integer"}}, "additionalProperties": False}
    assert fit_value({"aB": 1}, schema).value == {"a_b": 1}
    assert fit_value({"aB": 1, "A-B": 2}, schema).failure is not None


def test_a_field_by_its_alias() -> None:
    """A model's aliases are the names that count."""

    class Aliased(BaseModel):
        name: str = Field(alias="fullName")

    assert read_json('{"full_name": "Kim"}', Aliased).value == Aliased(fullName="Kim")


def test_a_missing_value_of_any_kind() -> None:
    """What may be anything is still missing if it is not there."""
    failure = read_json("{}", {"properties": {"a": {}}, "required": ["a", "b"]}).failure
    assert failure is not None
    assert [problem.expected for problem in failure.problems] == ["a value", "a value"]


class Odd(BaseModel):
    """A model that wants its keys spelled in its own way."""

    number: int = 0

    @model_validator(mode="before")
    @classmethod
    def _take(cls, data: Any) -> Any:
        if "NUMBER" not in data:
            msg = "NUMBER is needed"
            raise ValueError(msg)
        return {"number": data["NUMBER"]}


def test_a_model_that_takes_what_was_written() -> None:
    """Where fitting does not help but the value is right as it is, it is taken as it is."""
    reading = read_json('{"NUMBER": "5"}', Odd)
    assert (reading.value, reading.data) == (Odd.model_construct(number=5), {"NUMBER": "5"})
    assert [repair.what for repair in reading.repairs] == ["type of the value"]


class Loop(BaseModel):
    """A model without an end."""

    next: Union[Loop, list[Loop], int, None] = None


def test_data_that_no_text_can_hold() -> None:
    """Decoded data that is no JSON, or nests beyond any text, is refused without an exception."""
    assert fit_value({"a": object()}, dict[str, int]).failure is not None
    nested: Any = {"next": "x"}
    for _ in range(400):
        nested = {"next": [nested]}
    assert fit_value(nested, Loop).failure is not None
    assert fit_value(nested, Loop.model_json_schema()).failure is not None


@pytest.mark.parametrize("kind", [Point, PointModel])
def test_before_pydantic_could_forbid(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    """With a pydantic that cannot forbid keys at run time, reading is the same, if slower."""
    schema = schema_of(kind)
    assert schema is not None
    assert schema.adapter is not None

    class Older:
        def validate_python(self, value: Any, *, strict: bool | None = None) -> Any:
            return validator.validate_python(value, strict=strict)

        def validate_json(self, text: bytes, **options: Any) -> Any:
            if options.get("extra") is not None:
                raise TypeError
            return validator.validate_json(text, strict=options["strict"])

    validator = schema.adapter.validator
    monkeypatch.setattr(schema.adapter, "validator", Older())
    assert read_json('{"x": 1, "y": 2}', kind).value == kind(x=1, y=2)


@pytest.mark.parametrize(
    ("schema", "numbered"),
    [
        ({"properties": {"n": {"type": "integer"}}, "required": ["n"]}, True),
        ({"properties": {"n": {"type": ["number", "boolean"]}}, "required": ["m", "n"]}, True),
        (
            {
                "type": "array",
                "items": {"properties": {"n": {"type": "number"}}, "required": ["n"]},
            },
            True,
        ),
        ({"properties": {"n": {"type": "integer"}}}, False),
        ({"properties": {"n": {"type": ["integer", "string"]}}, "required": ["n"]}, False),
        ({"properties": {"n": {}}, "required": ["n"]}, False),
        ({"properties": [], "required": ["n"]}, False),
        ({"type": "array", "items": True}, False),
        ({"type": "string"}, False),
    ],
)
def test_which_schemas_need_more_than_words(schema: dict[str, Any], *, numbered: bool) -> None:
    """A value that has to hold a number is no echo of its schema, which is all words."""
    assert Schema(None, schema).numbered is numbered


def test_an_echo_that_fits_is_an_echo() -> None:
    """Where words fit, the names of types in their place are still no value."""

    class Words(BaseModel):
        name: str
        notes: list[str]

    failure = read_json('{"name": "string", "notes": ["string"]}', Words).failure
    assert failure is not None
    assert failure.pattern is FailurePattern.TEMPLATE_ECHO


def test_a_schema_that_its_owner_changes() -> None:
    """A JSON Schema counts as it is when a reply is read, whatever it said before."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert read_json('{"a": 1}', schema).ok
    schema["properties"]["a"] = {"type": "boolean"}
    assert read_json('{"a": 1}', schema).value == {"a": True}
    schema["required"] = ["b"]
    assert not read_json('{"a": true}', schema).ok
    schema["properties"]["a"] = {"const": 1}
    del schema["required"]
    assert not read_json('{"a": true}', schema).ok
    schema["properties"] = MappingProxyType({"a": {"type": "string"}})  # it cannot be written down
    assert read_json('{"a": "x"}', schema).ok


@dataclass
class Booking:
    """A record of which plain data says less than JSON does."""

    day: Union[date, str]
    color: Color
    rooms: int = 1


class BookingModel(BaseModel):
    """The same, as a model."""

    day: Union[date, str]
    color: Color
    rooms: int = 1


@pytest.mark.parametrize("schema", [Booking, BookingModel])
def test_a_reading_does_not_depend_on_what_was_read_before(schema: Any) -> None:
    """Each reply is read alike, however often and after whatever other replies."""
    replies = ['{"day": "2026-11-18", "color": "red"}', '{"day": "soon", "color": "dark blue"}']
    first = [read_json(reply, schema).value for reply in replies]
    again = [read_json(reply, schema).value for reply in reversed(replies)]
    assert first == again[::-1]
    assert [type(each.day) for each in first] == [date, str]
