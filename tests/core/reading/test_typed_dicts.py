"""Every `TypedDict` is a schema, also the one of `typing` on Pythons where pydantic refuses it."""

from __future__ import annotations

from typing import Annotated, Any, List, Literal, Optional, TypedDict, Union  # noqa: UP035

import pytest
from pydantic import Field, TypeAdapter
from typing_extensions import NotRequired, Required

from loopmend import read_json
from loopmend.reading.typed_dicts import retyped


class City(TypedDict):
    """A city."""

    name: str
    people: Annotated[int, Field(ge=0)]
    river: NotRequired[str]


class Strict(TypedDict, total=False):
    """Takes no other keys."""

    __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc] # noqa: RUF012 - so pydantic documents it

    size: Required[Literal["s", "l"]]
    color: str


class Country(City):
    """Holds cities in every way."""

    capital: City
    cities: list[City]
    older: List[City]  # noqa: UP006 - a type of its own
    port: Optional[City]  # noqa: UP045 - a type of its own
    other: City | int
    noted: Annotated[City, "a note"]
    counts: dict[str, int]


class Node(TypedDict):
    """Holds itself."""

    name: str
    inner: NotRequired[list[Node]]


OSLO = {"name": "Oslo", "people": 7}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (City, OSLO),
        (City, {**OSLO, "river": "Aker"}),
        (list[City], [OSLO]),
        (list[Union[City, int]], [3, OSLO]),
        (Strict, {"size": "s"}),
        (
            Country,
            {
                **OSLO,
                **dict.fromkeys(("capital", "port", "other", "noted"), OSLO),
                **{key: [OSLO] for key in ("cities", "older")},
                "counts": {"a": 1},
            },
        ),
        (Node, {"name": "a", "inner": [{"name": "b", "inner": [{"name": "c"}]}]}),
    ],
)
def test_typed_dicts_are_schemas(schema: Any, value: Any) -> None:
    """A reply is read into one, and the type that is made anew takes the same value."""
    assert read_json(f"Here it is: {value}", schema).value == value
    assert TypeAdapter(retyped(schema)).validate_python(value) == value


@pytest.mark.parametrize(
    ("schema", "text", "message"),
    [
        (City, '{"people": -1}', "`name` is missing: a string; `people` must be 0 or more"),
        (Strict, '{"color": "red"}', "`size` is missing"),
        (list[City], '[{"name": "Oslo"}]', "`[0].people` is missing"),
        (Node, '{"name": "a", "inner": [{"name": []}]}', "`inner[0].name` must be a string"),
    ],
)
def test_what_does_not_fit_a_typed_dict(schema: Any, text: str, message: str) -> None:
    """What is required, bounded or fixed in one is so for a reply."""
    failure = read_json(text, schema).failure
    assert failure is not None
    assert message in failure.message


def test_what_is_said_of_a_typed_dict_is_kept() -> None:
    """The type that is made anew has the name, the words and the settings of the other."""
    city = TypeAdapter(retyped(City)).json_schema()
    assert (city["title"], city["description"]) == ("City", "A city.")
    assert TypeAdapter(retyped(Strict)).json_schema()["additionalProperties"] is False


@pytest.mark.parametrize("kind", [int, list[int], Literal["a"], Annotated[int, 1], int | None])
def test_other_types_stay_as_they_are(kind: Any) -> None:
    """Nothing is made anew that holds no `TypedDict`."""
    assert retyped(kind) is kind
