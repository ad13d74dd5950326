"""What a value may be turned into: never something else than what was written."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any, Union

import pytest
from pydantic import BaseModel, ConfigDict, Field

from loopmend import FailurePattern, read_json
from loopmend.reading import fit_value, schema_of


class Item(BaseModel):
    """A model of scalars."""

    name: str = ""
    price: float = 0


class Priced(BaseModel):
    """A model whose numbers are exact."""

    price: Decimal


class Strict(BaseModel):
    """A model whose owner wants no conversions."""

    model_config = ConfigDict(strict=True)
    a: int
    day: date = date(2024, 1, 1)


class StrictPart(BaseModel):
    """A model with one strict field."""

    a: int = Field(default=0, strict=True)
    b: int = 0


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (dict[str, int], '{"scores": {"a": 1}}'),
        (dict[str, int], '{"Oslo": {"people": 7}, "Rome": {"people": 8}}'),
        (Item, '{"price": {"discount": 5}, "name": "x"}'),
        (Item, '{"price": {"result": 5}, "name": "x"}'),
        (list[int], '[{"a": 1}, {"a": 2}]'),
        (str, '{"a": 1}'),
        (int, '{"a": 1}'),
        (int, '{"value": 1, "unit": 2}'),
        ({"enum": ["spam", "ham"]}, '{"ruled_out": "spam"}'),
    ],
)
def test_an_object_is_no_scalar(schema: Any, text: str) -> None:
    """A name that says more than the place does is not taken off a scalar."""
    failure = read_json(text, schema).failure
    assert failure is not None
    assert failure.pattern is FailurePattern.BAD_VALUE


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (Item, '{"price": {"Price": 5}, "name": "x"}', Item(name="x", price=5)),
        (Item, '{"price": {"value": "5"}, "name": "x"}', Item(name="x", price=5)),
        (list[int], '[{"value": 1}, {"value": 2}]', [1, 2]),
        (int, '{"answer": 1}', 1),
        (dict[str, dict[str, int]], '{"Oslo": {"people": 7}}', {"Oslo": {"people": 7}}),
    ],
)
def test_a_scalar_under_its_own_name(schema: Any, text: str, value: Any) -> None:
    """A name that says no more than the place does is taken off, and objects stay objects."""
    reading = read_json(text, schema)
    assert (reading.value, reading.failure) == (value, None)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "x"; "b": "y"}',
        "{'a': 'x'; 'b': 'y'}",
        '{"a": "x"; "b": 2}',
        '{"a": 1; "b": 2}',
        "{a: x; b: y}",
        "{a: x;}",
        '["a"; "b"]',
    ],
)
def test_a_semicolon_between_members_merges_nothing(text: str) -> None:
    """Members or items with `;` in between are refused."""
    failure = read_json(text).failure
    assert failure is not None
    assert failure.pattern is FailurePattern.MALFORMED


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "x; y", b: "z"}', {"a": "x; y", "b": "z"}),
        ('{"a": "he said "hi"; then left"}', {"a": 'he said "hi"; then left'}),
        ("{a: x; y, b: 1}", {"a": "x; y", "b": 1}),
    ],
)
def test_a_semicolon_in_a_text_is_text(text: str, value: Any) -> None:
    """A semicolon that no other member follows belongs to the text."""
    assert read_json(text).value == value


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (list[int], "[1], [2]"),
        (list[int], '[1], {"x": 1}, [2]'),
        (dict[str, int], '{"a": 1}, {"a": 2}'),
        (list[int], "See [1] for details. [3, 4]"),
        (dict[str, int], 'Use {"a": 1} or {"a": 2}.'),
    ],
)
def test_several_values_in_a_row_or_a_sentence(schema: Any, text: str) -> None:
    """Of values that all fit and do not stand apart, none is known to be the one."""
    failure = read_json(text, schema).failure
    assert failure is not None
    assert failure.message == "Several values fit, and it is unclear which one is meant."


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (list[int], "See [1] for details.\n[3, 4]", [3, 4]),
        (list[int], '[1], {"x": 1}', [1]),
        (dict[str, int], 'Use {"a": 1}, I repeat, {"a": 1}.', {"a": 1}),
        (dict[str, int], '{"a": 1}\n{"a": 2}', {"a": 1}),
    ],
)
def test_one_value_of_several_that_is_known(schema: Any, text: str, value: Any) -> None:
    """The value that stands apart, the only one that fits, or the same one twice is taken."""
    assert read_json(text, schema).value == value


@pytest.mark.parametrize(
    ("schema", "given", "came"),
    [
        (int, "true", "a boolean"),
        (float, "false", "a boolean"),
        (Union[int, None], "true", "a boolean"),
        (datetime, '"2024"', "digits alone"),
        (datetime, "2024", "digits alone"),
        (Union[datetime, None], '"1700000000"', "digits alone"),
        (date, '"0"', "digits alone"),
    ],
)
def test_what_would_say_something_else_is_refused(schema: Any, given: str, came: str) -> None:
    """A truth value is no number, and digits are no date."""
    reading = read_json(f'{{"a": {given}}}', dict[str, schema])
    assert reading.failure is not None
    assert reading.failure.problems[0].came == came


def test_what_is_lost_behind_many_conversions() -> None:
    """However many parts are converted before it, what is lost is seen."""
    text = "[" + '"7.0", ' * 30 + "true]"
    failure = read_json(text, list[int]).failure
    assert failure is not None
    assert str(failure.problems[0]).startswith("`[30]` must be")


def test_a_number_is_no_date_where_no_text_is_wanted() -> None:
    """Where the schema leaves a number as it is, a date is not counted from 1970 either."""
    schema = schema_of(datetime)
    assert schema is not None
    assert schema.turned(2024)[1]


@pytest.mark.parametrize(
    ("schema", "given", "value"),
    [
        (int, '"7.0"', 7),
        (int, '"1_000"', 1000),
        (bool, '"y"', True),
        (bool, '"n"', False),
        (bool, '"1"', True),
        (float, '"inf"', float("inf")),
        (float, "1e400", float("inf")),
        (Any, "1e400", float("inf")),
        (datetime, '"2024-01-01"', datetime(2024, 1, 1)),  # noqa: DTZ001 - as written
        (date, '"2024-01-01T00:00:00Z"', date(2024, 1, 1)),
        (Union[int, bool], '"7.0"', 7),
    ],
)
def test_what_the_validator_turns_is_a_repair(schema: Any, given: str, value: Any) -> None:
    """A value of another type than the written one is never called exact."""
    reading = read_json(f'{{"a": {given}}}', dict[str, schema])
    assert (reading.value, reading.fidelity) == ({"a": value}, "repaired")
    assert len(reading.repairs) == 1


@pytest.mark.parametrize(
    ("schema", "given", "value"),
    [
        (int, "1", 1),
        (float, "5", 5.0),
        (bool, "true", True),
        (datetime, '"2024-01-01T00:00:00Z"', datetime(2024, 1, 1, tzinfo=timezone.utc)),
        (date, '"2024-01-01"', date(2024, 1, 1)),
        (str, '"2024"', "2024"),
        (set[int], "[1]", {1}),
        (float, "1e300", 1e300),
    ],
)
def test_what_json_has_no_other_form_for_is_exact(schema: Any, given: str, value: Any) -> None:
    """What JSON writes in this way is no repair."""
    reading = read_json(f'{{"a": {given}}}', dict[str, schema])
    assert (reading.value, reading.fidelity) == ({"a": value}, "exact")


def test_a_place_within_alternatives() -> None:
    """The repair names the place in the value, not the alternative; items have places too."""
    reading = read_json('{"a": [1, "7.0"]}', dict[str, list[Union[int, bool]]])
    assert [repair.what for repair in reading.repairs] == ["type of `a[1]`"]


@pytest.mark.parametrize("text", ['{"a": "1"}', '{"a": 1.0}', '{"a": true}'])
def test_a_strict_model_takes_no_other_type(text: str) -> None:
    """Who declares a model strict gets no conversions."""
    assert read_json(text, Strict).failure is not None


def test_a_strict_model_still_reads_json() -> None:
    """Strictness is about types: names, quotes and dates are read as ever."""
    reading = read_json("{A: 1, 'day': '2024-02-03'}", Strict)
    assert reading.value == Strict(a=1, day=date(2024, 2, 3))


def test_a_strict_field_leaves_the_others_alone() -> None:
    """A field that is not strict takes what it always does."""
    assert read_json('{"a": 1, "b": "2"}', StrictPart).value == StrictPart(a=1, b=2)
    assert read_json('{"a": "1", "b": 2}', StrictPart).failure is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"name": +4712345678}', "+4712345678"),
        ('{"name": 4712345678}', "4712345678"),
        ('{"name": "x", "price": +5}', "x"),
    ],
)
def test_a_number_for_a_text_keeps_its_form(text: str, value: str) -> None:
    """What was written for a text is kept as it was written."""
    assert read_json(text, Item).value.name == value


def test_a_number_in_two_forms() -> None:
    """Where a number is written in two ways, nobody can tell which text is which: it is plain."""
    found = read_json('{"a": 5, "b": +5, "c": [+7, {"d": +7}]}', dict[str, Any])
    assert found.value == {"a": 5, "b": 5, "c": [7, {"d": 7}]}
    assert read_json('{"a": 5, "b": +5}', dict[str, str]).value == {"a": "5", "b": "5"}
    assert read_json('{"a": +7, "b": +7}', dict[str, str]).value == {"a": "+7", "b": "+7"}
    nested = read_json('{"a": [+7, +7], "b": [{"c": 1}]}', dict[str, list[Any]])
    assert nested.ok


def test_half_a_surrogate_pair_is_no_conversion() -> None:
    """Text that no JSON can hold is no repair, and hides none."""
    assert fit_value({"a": "\ud800"}, dict[str, Any]).fidelity == "exact"
    schema = schema_of(dict[str, Any])
    assert schema is not None
    assert schema.turned({"a": "\ud800"}) == ([], ())
    mixed = fit_value({"name": "\ud800", "price": True}, Item)
    assert mixed.failure is not None


def test_numbers_in_odd_spelling() -> None:
    """A number keeps its spelling where a text is wanted; one that Python would not write is no crash."""
    integers = {"type": "array", "items": {"type": "integer"}}
    assert read_json("[10, +2]", integers).value == [10, 2]
    assert not read_json("[1__0, +2]", integers).ok
    assert read_json("[1_0, +2]", list[str]).value == ["1_0", "+2"]


@pytest.mark.parametrize(
    "reply",
    [
        '{"price": 12345678901234567890.12}',
        "{'price': -12345678901234567890.12}",
        'Here:\n```json\n{"price": 0.12345678901234567890}\n```',
        '{"price": 1234567890123456.78e1}',
    ],
)
def test_a_decimal_keeps_each_digit_or_is_refused(reply: str) -> None:
    """A float on the way would round what is written."""
    failure = read_json(reply, Priced).failure
    assert failure is not None
    assert failure.message == "A number has more digits than can be kept."


@pytest.mark.parametrize(
    ("reply", "price"),
    [
        ('{"price": "12345678901234567890.12"}', "12345678901234567890.12"),
        ('{"price": 12345678901234567890}', "12345678901234567890"),
        ('{"price": 3.141592653589793}', "3.141592653589793"),
        ("{'price': 12.50}", "12.5"),
    ],
)
def test_a_decimal_takes_what_no_float_changes(reply: str, price: str) -> None:
    """Text, integers and fractions that a float holds as they are written."""
    assert read_json(reply, Priced).value == Priced(price=Decimal(price))
