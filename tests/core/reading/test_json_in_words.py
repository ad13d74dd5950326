"""Values without JSON, where the schema vouches for what words and lines mean."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from loopmend import read_json


class Person(BaseModel):
    """What lines and calls give."""

    name: str
    age: int


class Node(BaseModel):
    """What holds another of its kind."""

    value: int
    child: Node | None = None


class Answer(BaseModel):
    """One text."""

    answer: str


class Entry(BaseModel):
    """Nothing that is required."""

    note: str = ""
    tags: list[str] = []
    done: bool | None = None


ANN = Person(name="Ann", age=3)

CALLS = [
    'Person(name="Ann", age=3)',
    "Person(name='Ann', age=3).",
    'Person(Name="Ann", Age=3);',
    '```python\nPerson(name="Ann", age=3)\n```',
    'Person(\n    name="Ann",\n    age=3,\n)',
    '<think>Person(name="Bob", age=9)?</think>\nPerson(name="Ann", age=3)',
    '<think>Hm.</think>Person(name="Ann", age=3)',
]
LINES = [
    "name: Ann\nage: 3",
    "name: Ann\n\nage: 3\n",
    "Name: Ann\r\nAge: 3",
    "* name: Ann\n* age: 3",
    "- **name:** Ann\n- **age:** 3",
    "**Name:** Ann\n**Age:** 3",
    "* **Name**: Ann\n* **Age**: 3",
    "`name`: Ann\n`age`: 3",
    '"name": "Ann",\n"age": 3',
    "name: 'Ann',\nage: 3,",
    "name\uff1aAnn\nage\uff1a3",
    "```yaml\nname: Ann\nage: 3\n```",
    "<think>name: Bob\nage: 9</think>\nname: Ann\nage: 3",
]


@pytest.mark.parametrize("reply", [*CALLS, *LINES])
def test_members_without_brackets_are_an_object_of_the_schema(reply: str) -> None:
    """The schema knows each key, and nothing else in the reply looks like another value."""
    reading = read_json(reply, Person)
    assert reading.value == ANN
    assert reading.fidelity == "repaired"
    assert "name" in reply[slice(*reading.span)].lower()


@pytest.mark.parametrize("schema", [Person.model_json_schema(), Person | None])
@pytest.mark.parametrize("reply", ['Person(name="Ann", age=3)', "name: Ann\nage: 3"])
def test_a_json_schema_and_an_optional_type_vouch_too(schema: Any, reply: str) -> None:
    """A JSON Schema is called as its title says."""
    assert read_json(reply, schema).data == {"name": "Ann", "age": 3}


@pytest.mark.parametrize(
    "reply",
    [
        'Human(name="Ann", age=3)',
        'person(name="Ann", age=3)',
        'Person("Ann", 3)',
        "Person()",
        "Person(name=ann, age=3)",
        'Person(name="Ann", age=3, city="Oslo")',
        'Person(name="Ann", Name="Bob", age=3)',
        'Person(name="Ann", name="Bob", age=3)',
        'Person(name="Ann", age=3',
        'Person(name="Ann", age=3) or so',
        'Use Person(name="Ann", age=3)',
        'An example:\nPerson(name="Ann", age=3)',
        'You call\nPerson(name="Ann", age=3)',
        'Person(name="Ann", age=3)\nand nothing else',
        'Person(name="Ann", age=3)\n\nPerson(name="Bob", age=4)',
        'my.Person(name="Ann", age=3)',
        'Person(name="Ann", age=age())',
        'Person(name="<name>", age=3)',
        'p = Person(name="Ann", age=3)',
        'p = Person(name="Ann", age=3)\n\np.age += 1',
        'Person(name="Ann", age=3)\n\nHowever, she may be 4.',
        'if urgent:\n    Person(name="Ann", age=3)',
        'Here you are:\n\nPerson(name="Ann", age=3)',
        '```\nPerson(name="Ann", age=3)\n```\nThat was an example.',
    ],
)
def test_a_call_that_is_not_surely_the_value_is_refused(reply: str) -> None:
    """Another name, an unknown key, a variable, a second call, or words around it."""
    assert not read_json(reply, Person).ok


@pytest.mark.parametrize(
    "reply",
    [
        "name: Ann\nage: 3\ncity: Oslo",
        "name: Ann\nage: 3\nLet me know!",
        "Sure!\nname: Ann\nage: 3",
        "name: Ann\nSome words.\nage: 3",
        "name: Ann\nage: 3\n\nname: Bob\nage: 4",
        "name: Ann\nname: Bob\nage: 3",
        "name: Ann\n  age: 3",
        "name: Ann\n- age: 3",
        "- name: Ann\n- age: 3",
        "name: Ann\nage = 3",
        "name:\nage: 3",
        "name: |\n  Ann\nage: 3",
        "name: Ann # the girl\nage: 3",
        "name: Ann // the girl\nage: 3",
        "name: Ann,\nage: 3",
        "name: ,\nage: 3",
        "name: **Ann**\nage: 3",
        "name: - Ann\nage: 3",
        "name: [Ann]\nage: 3",
        'name: "Ann" the girl\nage: 3',
        'name: "Ann\nage: 3',
        "name: Ann\nage: 3 years",
        "name: Ann\nage: three",
        "name: null\nage: 3",
        "name: <name>\nage: 3",
        "For example:\n\nname: Ann\nage: 3",
        "Example:\n```\nname: Ann\nage: 3\n```",
        "name: Ann, age: 3",
        "name: Ann, age: 4\nage: 3",
        "name: Ann, age = 4\nage: 3",
        "name: Ann; your Age: 4\nage: 3",
        "name: ...\nage: 3",
        "name: YOUR_NAME\nage: 3",
        'name = "Ann"\nage = 3',
        "name: Ann\nage: 3\n\nCorrection: 4",
        "name: Ann\nage: 3\n\nIf it is the other Ann, take 4.",
        "Here is an example:\n\nname: Ann\nage: 3",
        "Sure!\n\nname: Ann\nage: 3",
        "```yaml\nname: Ann\nage: 3\n```\nThat is all.",
        "name: Ann\nage: 3\n{",
        'name: Ann\nage: 3\n{"a": [',
        "<think>name: Ann\nage: 3",
        "name: " + "A" * 5000 + "\nage: 3",
        "name: Ann\nage: 3" + "\n" * 1001,
    ],
)
def test_lines_that_are_not_surely_the_members_are_refused(reply: str) -> None:
    """An unknown key, words that touch the lines, a value that may end elsewhere."""
    assert not read_json(reply, Person).ok


@pytest.mark.parametrize(
    ("reply", "ok"),
    [
        ('name: Ann\nage: 3\n\n{"name": "Bob", "age": 4}', False),
        ('```yaml\nname: Ann\nage: 3\n```\n```json\n{"name": "Bob", "age": 4}\n```', False),
        ('name: Ann\nage: 3\n\n{"name": "Ann", "age": 3}', True),
        ('name: Ann\nage: 3\n\n{"city": "Oslo"}', False),
        ('Person(name="Ann", age=3)\n\n{"name": "Bob", "age": 4}', False),
        ('Not three:\nname: Ann\nage: three\n\n{"name": "Bob", "age": 4}', True),
    ],
)
def test_json_beside_the_lines_may_not_say_something_else(reply: str, ok: bool) -> None:  # noqa: FBT001 - a row
    """Which of two values is meant, nobody knows."""
    assert read_json(reply, Person).ok is ok


def test_a_key_that_may_be_anything_keeps_its_value() -> None:
    """A schema may say nothing of a key."""
    schema = {"properties": {"a": True, "b": {}}, "required": ["a", "b"]}
    assert read_json("a: x y\nb: 2", schema).value == {"a": "x y", "b": 2}


def test_what_is_wrong_with_a_member_is_told() -> None:
    """Lines that are surely the members are judged like an object."""
    failure = read_json("name: Ann\nage: three", Person).failure
    assert failure is not None
    assert failure.message == "`age` must be an integer, not a string."


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('value: 1\nchild: {"value": 2}', Node(value=1, child=Node(value=2))),
        ('Node(value=1, child={"value": 2})', Node(value=1, child=Node(value=2))),
        ("Answer: I could not find it: sorry", Answer(answer="I could not find it: sorry")),
        ("note: 007\ntags: [a, b]\ndone: yes", Entry(note="007", tags=["a", "b"], done=True)),
        ("note: 12\ndone: null", Entry(note="12")),
        ("note: x,\ntags: [],", None),
    ],
)
def test_each_member_is_what_its_schema_takes(reply: str, value: Any) -> None:
    """Text stays as it is written; an inner object is not taken for all there is."""
    assert read_json(reply, type(value) if value else Entry).value == value


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: Yes, you can.\n\nHowever, only before 2020.",
        "Answer: Three points:\n\n- old\n- new",
        "Answer: foo, answer: bar",
        "Answer: ...",
    ],
)
def test_a_text_behind_its_key_is_no_value_if_more_is_said(reply: str) -> None:
    """What follows may belong to it, or take it back."""
    assert not read_json(reply, Answer).ok


def test_a_value_that_holds_the_next_member_is_refused() -> None:
    """Only the schema tells that `limit` is a member, and no part of the text."""
    properties = {"query": {"type": "string"}, "limit": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["query"]}
    assert not read_json("query: foo, limit: 5", schema).ok
    assert not read_json("query: foo, limit=5", schema).ok
    assert read_json("query: foo, site: x.org", schema).value == {"query": "foo, site: x.org"}


@pytest.mark.parametrize("reply", ["Note: I could not find any.", "Sorry.\n\nnote: nothing"])
def test_a_lone_line_of_a_key_that_is_not_required_may_be_a_remark(reply: str) -> None:
    """A schema that requires nothing does not vouch for one line."""
    assert not read_json(reply, Entry).ok


@pytest.mark.parametrize("schema", [dict[str, str], Person | Node, list[Person]])
def test_a_schema_without_known_keys_vouches_for_no_lines(schema: Any) -> None:
    """Nor does one with two kinds of objects: which is meant, nobody knows."""
    assert not read_json("name: Ann\nvalue: 3", schema).ok


@pytest.mark.parametrize(
    ("reply", "schema", "value"),
    [
        ("Answer: 42", int, 42),
        ("**Answer:** 42", int, 42),
        ("**Final answer**: **42**", int, 42),
        ("3 + 4 = 7, so 6 * 7 = 42.\n\nAnswer: 42", int, 42),
        ("The answer is 42.", int, 42),
        ("The answer to 6*7 is 42", int, 42),
        ("Die Antwort ist 42", int, 42),
        ("\u7b54\u6848\u662f42", int, 42),
        ("## Answer\n42", int, 42),
        ("**Answer**\n\n42", int, 42),
        ("<answer>42</answer>", int, 42),
        ("<answer>\n42\n</answer>", int, 42),
        ("So it is this.\n$\\boxed{42}$.", int, 42),
        ("So it is this.\n\\(\\boxed{42}\\).", int, 42),
        ("**Answer: 42**", int, 42),
        ("\u201c42\u201d.", int, 42),
        ("Spam: no. Answer below.\n\n## Answer\n42", int, 42),
        ("Answer: $\\boxed{42}$.", int, 42),
        ("**42**", int, 42),
        ("<think>41?</think>42", int, 42),
        ("Answer: 42\nFinal answer: 42", int, 42),
        ("Answer: -0.5", float, -0.5),
        ("Answer: .5.", float, 0.5),
        ("Answer: 3.142", float, 3.142),
        ("Answer: 3.50", Decimal, Decimal("3.5")),
        ("Answer: null", int | None, None),
        ("Age: 42", {"title": "Age", "type": "integer"}, 42),
        ("Answer: 2024-01-02", dt.date, dt.date(2024, 1, 2)),
        ("2024-01-02.", dt.date, dt.date(2024, 1, 2)),
        ("The answer is spam.", Literal["spam", "ham"], "spam"),
        ("<answer>spam</answer>", Literal["spam", "ham"], "spam"),
        ("The answer is yes.", bool, True),
        ("Yes!", bool, True),
        ("This is no ham.\n\nAnswer: spam", Literal["spam", "c++"], "spam"),
        ("Answer: C++", Literal["spam", "c++"], "c++"),
        ("Answer: 2", Literal[2, 3], 2),
        ("Mood: glad", {"title": "Mood", "enum": ["glad", "sad"]}, "glad"),
        ("Answer: 42", int | str, "Answer: 42"),
    ],
)
def test_what_a_reply_calls_its_answer_is_the_value(reply: str, schema: Any, value: Any) -> None:
    """The last line is a label, a tag, a box or a heading's, with a number, an option or a date."""
    assert read_json(reply, schema).value == value
    assert read_json(reply, schema).fidelity == "repaired"


@pytest.mark.parametrize(
    ("reply", "schema"),
    [
        ("Answer: 42 km", int),
        ("<think>Hm.</think>", int),
        ("Answer: 42%", int),
        ("Answer: 42!", int),
        ("Answer: 42*", int),
        ("-\\boxed{42}", int),
        ("$\\boxed{42}$ km", int),
        ("$-2 \\cdot \\boxed{42}$", int),
        ("So it is $\\boxed{42}$.", int),
        ("So it is:\n$\\boxed{42}$.", int),
        ("It would be this if it rained:\n\nAnswer: 42", int),
        ("<answer>42</answer> km", int),
        ("about <answer>42</answer>", int),
        ("Answer: 42\n\nThat is all.", int),
        ("## Answer\n42\n\nThat is all.", int),
        ("## Pages\n42", int),
        ("Some words.\n42", int),
        ("Response code: 500", int),
        ("Error value: 2", int),
        ("Result = $42$", int),
        ("> Answer: 42", int),
        ("Draft answer: 41\nFinal answer: 42", int),
        ("Answer: 41 or so\nFinal answer: 42", int),
        ("41\nAnswer: 42", int),
        ("Not: safe", Literal["safe", "unsafe"]),
        ("Everything except: B", Literal["A", "B"]),
        ("I refuse to: approve", Literal["approve", "reject"]),
        ("Error: 2", Literal[2, 3]),
        ("Answer: -2", Literal[2, 3]),
        ("Answer: 2!", Literal[2, 3]),
        ("Answer: 1-0", Literal[10, 3]),
        ("spam - or so people say", Literal["spam", "ham"]),
        ("spam\n\nNo, wait.", Literal["spam", "ham"]),
        ("It was hard.\n\nCategory: **Spam**.", Literal["spam", "ham"]),
        ("spam - it sells something", Literal["spam", "ham"]),
        ("**No**\n\nIt sells nothing.", bool),
        ("The answer is unclear.\nAnswer: spam", Literal["spam", "ham"]),
        ("Answer: $5", int),
        ("Answer: 1,000", int),
        ("Answer: 1.000", int),
        ("Answer: 12.500", float),
        ("Answer: 07", int),
        ("Answer: forty-two", int),
        ("Answer: {42}", int),
        ("Answer: 41\nAnswer: 42", int),
        ("Answer: 41\n\nWait, it is 42.", int),
        ("Not the answer: 42", int),
        ("If the answer is 42", int),
        ("Error: 42", int),
        ("Pages: 42", int),
        ("It costs 42 or 43.", int),
        ("The answer is 42, I think.", int),
        ("It is 2024-01-02", dt.date),
        ("Answer: soon", dt.date),
        ("The answer is not spam.", Literal["spam", "ham"]),
        ("The answer is spam, not ham.", Literal["spam", "ham"]),
        ("I would say it is spam.", Literal["spam", "ham"]),
    ],
)
def test_what_is_not_surely_the_answer_is_refused(reply: str, schema: Any) -> None:
    """A unit, a sign, thousands, two answers, words below, a label that is no answer's."""
    assert not read_json(reply, schema).ok
