"""Replies as recent models write them: thoughts, fences, languages, cuts, names, several values.

The expected values were noted before the first run; REFUSED is for what nobody can know.
"""

from __future__ import annotations

from datetime import date
from typing import Any, Final, Literal, Union

import pytest
from pydantic import BaseModel, TypeAdapter

from loopmend import read_json

REFUSED: Final = object()


class Trip(BaseModel):
    """What a reply is asked for: a trip."""

    city: str
    days: int
    budget: Union[float, None] = None


class Person(BaseModel):
    """What a reply is asked for: a person."""

    name: str
    age: int
    emails: list[str] = []


class Ticket(BaseModel):
    """What a reply is asked for: a ticket."""

    title: str
    severity: Literal["low", "medium", "high"]
    labels: list[str] = []
    assignee: Union[str, None] = None


class Invoice(BaseModel):
    """What a reply is asked for: a invoice."""

    number: str
    total: float
    due: date
    paid: bool = False


class Line(BaseModel):
    """What a reply is asked for: a line."""

    sku: str
    qty: int


class Order(BaseModel):
    """What a reply is asked for: a order."""

    order_id: str
    lines: list[Line]
    note: Union[str, None] = None


class Review(BaseModel):
    """What a reply is asked for: a review."""

    sentiment: Literal["positive", "negative", "neutral"]
    score: float
    reasons: list[str] = []


class Sql(BaseModel):
    """What a reply is asked for: a sql."""

    query: str
    explanation: Union[str, None] = None


class Recipe(BaseModel):
    """What a reply is asked for: a recipe."""

    title: str
    steps: list[str]
    minutes: int


class Flag(BaseModel):
    """What a reply is asked for: a flag."""

    ok: bool
    why: str = ""


class Node(BaseModel):
    """What a reply is asked for: a node."""

    name: str
    children: list[Node] = []


class Chart(BaseModel):
    """What a reply is asked for: a chart."""

    kind: Literal["bar", "line"]
    series: dict[str, list[float]]
    title: str = ""


class Step(BaseModel):
    """What a reply is asked for: a step."""

    tool: str
    args: dict[str, Any] = {}
    reason: str = ""


class Plan(BaseModel):
    """What a reply is asked for: a plan."""

    steps: list[Step]
    goal: str


class Contact(BaseModel):
    """What a reply is asked for: a contact."""

    full_name: str
    phone: Union[str, None] = None
    address: Union[dict[str, str], None] = None


class Html(BaseModel):
    """What a reply is asked for: a html."""

    html: str
    title: str


class Loc(BaseModel):
    """What a reply is asked for: a loc."""

    lat: float
    lon: float


REPLIES: Final[list[tuple[str, Any, Any]]] = [
    (
        '<think>\nThe user wants 3 days.\n{"city": "Rome", "days": 2}\nno, 3\n<'
        '/think>\n\n{"city": "Rome", "days": 3}',
        Trip,
        {"city": "Rome", "days": 3},
    ),
    (
        '<reasoning>Looks like a complaint.</reasoning><answer>{"sentiment"'
        ': "negative", "score": 0.91, "reasons": ["late"]}</answer>',
        Review,
        {"sentiment": "negative", "score": 0.91, "reasons": ["late"]},
    ),
    (
        '<|channel|>analysis<|message|>Need JSON. Maybe {"ok": false}?<|end'
        '|><|start|>assistant<|channel|>final<|message|>{"ok": true, "why":'
        ' "tests pass"}<|return|>',
        Flag,
        {"ok": True, "why": "tests pass"},
    ),
    (
        '<tool_call>\n{"name": "Trip", "arguments": {"city": "Lima", "days": 5}}\n</tool_call>',
        Trip,
        {"city": "Lima", "days": 5},
    ),
    (
        "[THINK]short[/THINK]{'city': 'Kyiv', 'days': 4, 'budget': None}",
        Trip,
        {"city": "Kyiv", "days": 4},
    ),
    (
        '<thinking>I should output the invoice.</thinking>\n```json\n{"number'
        '": "2026-014", "total": 199.90, "due": "2026-12-01", "paid": false'
        "}\n```",
        Invoice,
        {"number": "2026-014", "total": 199.9, "due": date(2026, 12, 1), "paid": False},
    ),
    (
        '<output>\n  <json>{"name": "Ana", "age": 31}</json>\n</output>',
        Person,
        {"name": "Ana", "age": 31},
    ),
    (
        '<function=Ticket>{"title": "Crash on save", "severity": "high"}</function>',
        Ticket,
        {"title": "Crash on save", "severity": "high"},
    ),
    (
        '</think>\n{"title": "Pão", "steps": ["misture", "asse"], "minutes": 50}',
        Recipe,
        {"title": "Pão", "steps": ["misture", "asse"], "minutes": 50},
    ),
    (
        '<think>The answer would be {"city": "Oslo", "days": 1',
        Trip,
        REFUSED,
    ),
    (
        'Voici le résultat demandé :\n\n```json\n{\n  "city": "Lyon",\n  "days":'
        ' 2,\n  "budget": 350.5,\n}\n```\n\nN\'hésitez pas à me demander autre ch'
        "ose !",
        Trip,
        {"city": "Lyon", "days": 2, "budget": 350.5},
    ),
    (
        "Hier ist das JSON:\n{\u201ecity\u201c: \u201eK\xf6ln\u201c, \u201edays\u201c: 2}",
        Trip,
        {"city": "Köln", "days": 2},
    ),
    (
        '\u4ee5\u4e0b\u662f\u7ed3\u679c\uff1a\n{"city"\uff1a"\u5317\u4eac"\uff0c"days"\uff1a3}',
        Trip,
        {"city": "北京", "days": 3},
    ),
    (
        'Ecco: ```{"city": "Bari", "days": 1}```',
        Trip,
        {"city": "Bari", "days": 1},
    ),
    (
        '~~~\n{"city": "Bergen", "days": 7}\n~~~',
        Trip,
        {"city": "Bergen", "days": 7},
    ),
    (
        "```json5\n// trip\n{city: 'Graz', days: 2, /* eur */ budget: 120}\n```",
        Trip,
        {"city": "Graz", "days": 2, "budget": 120},
    ),
    (
        '```python\nresult = {"city": "Porto", "days": 3, "budget": None}\nprint(result)\n```',
        Trip,
        {"city": "Porto", "days": 3},
    ),
    (
        '{"name": "Иван", "age": "42", "emails": ["ivan@example.org"]}',
        Person,
        {"name": "Иван", "age": 42, "emails": ["ivan@example.org"]},
    ),
    (
        'Sure thing! json\n{"name": "Mo", "age": 20}',
        Person,
        {"name": "Mo", "age": 20},
    ),
    (
        '**Result**\n\n{"ok": True, "why": "it\'s fine"}',
        Flag,
        {"ok": True, "why": "it's fine"},
    ),
    (
        '{"order_id": "A1", "lines": [{"sku": "x", "qty": 1}, {"sku": "y", "qt',
        Order,
        REFUSED,
    ),
    (
        '{"title": "Soup", "steps": ["boil water", "add sal',
        Recipe,
        REFUSED,
    ),
    (
        '```json\n{"title": "Soup", "steps": ["boil"], "minutes": 1',
        Recipe,
        REFUSED,
    ),
    (
        '{"query": "SELECT * FROM t WHERE a = \'x\' AND b = \\"y\\"", "explanation": "filters',
        Sql,
        REFUSED,
    ),
    (
        '{"name": "Bo", "age": 3',
        Person,
        REFUSED,
    ),
    (
        '{"ok": tru',
        Flag,
        REFUSED,
    ),
    (
        '[{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2},',
        list[Line],
        REFUSED,
    ),
    (
        '{"order_id": "A1", "lines": [{"sku": "x", "qty": 1}, ...]}',
        Order,
        REFUSED,
    ),
    (
        '{"title": "Cake", "steps": ["mix", "bake"], "minutes": 45\n```',
        Recipe,
        REFUSED,
    ),
    (
        '```json\n{"title": "Cake", "steps": ["mix", "bake"], "minutes": 45\n```',
        Recipe,
        {"title": "Cake", "steps": ["mix", "bake"], "minutes": 45},
    ),
    (
        '{"query": "SELECT name FROM users\nWHERE age > 30", "explanation": "adults"}',
        Sql,
        {"query": "SELECT name FROM users\nWHERE age > 30", "explanation": "adults"},
    ),
    (
        '{"title": "The "big" bug", "severity": "low"}',
        Ticket,
        {"title": 'The "big" bug', "severity": "low"},
    ),
    (
        "{'title': 'User can't log in', 'severity': 'medium'}",
        Ticket,
        {"title": "User can't log in", "severity": "medium"},
    ),
    (
        '{"query": `SELECT 1`, "explanation": `one`}',
        Sql,
        {"query": "SELECT 1", "explanation": "one"},
    ),
    (
        '{"query": """\nSELECT 1\n"""}',
        Sql,
        {"query": "SELECT 1"},
    ),
    (
        '{"title": "path C:\\Users\\me", "severity": "low"}',
        Ticket,
        {"title": "path C:\\Users\\me", "severity": "low"},
    ),
    (
        '{\\"ok\\": true, \\"why\\": \\"because\\"}',
        Flag,
        {"ok": True, "why": "because"},
    ),
    (
        '"{\\"ok\\": false, \\"why\\": \\"no\\"}"',
        Flag,
        {"ok": False, "why": "no"},
    ),
    (
        '{"why": "a" + "b", "ok": true}',
        Flag,
        {"ok": True, "why": "ab"},
    ),
    (
        '{"Order ID": "A-7", "Lines": [{"SKU": "q", "Qty": "2"}], "note": null}',
        Order,
        {"order_id": "A-7", "lines": [{"sku": "q", "qty": 2}]},
    ),
    (
        '{"sentiment": "POSITIVE", "score": "0.8", "reasons": "fast"}',
        Review,
        REFUSED,
    ),
    (
        '{"severity": "Severity.HIGH", "title": "x"}',
        Ticket,
        REFUSED,
    ),
    (
        '{"number": 2026, "total": "1,299.00", "due": "2026-11-30"}',
        Invoice,
        REFUSED,
    ),
    (
        '{"number": "7", "total": 12, "due": "30/11/2026"}',
        Invoice,
        REFUSED,
    ),
    (
        '{"city": "Oslo", "days": 2.5}',
        Trip,
        REFUSED,
    ),
    (
        '{"trip": {"city": "Oslo", "days": 2}}',
        Trip,
        {"city": "Oslo", "days": 2},
    ),
    (
        '{"properties": {"city": "Oslo", "days": 2}}',
        Trip,
        {"city": "Oslo", "days": 2},
    ),
    (
        '{"city": {"type": "string"}, "days": {"type": "integer"}}',
        Trip,
        REFUSED,
    ),
    (
        '{"city": "<city name>", "days": 2}',
        Trip,
        REFUSED,
    ),
    (
        'First attempt: {"city": "Oslo", "days": 2}\nWait, I need to correct'
        ' that.\n{"city": "Oslo", "days": 3}',
        Trip,
        REFUSED,
    ),
    (
        '{"sku": "a", "qty": 1}\n{"sku": "b", "qty": 2}\n{"sku": "c", "qty": 3}',
        list[Line],
        REFUSED,
    ),
    (
        'Input: {"text": "great"}\nOutput: {"sentiment": "positive", "score": 1.0}',
        Review,
        {"sentiment": "positive", "score": 1.0},
    ),
    (
        'The schema is {"city": string, "days": int}. Here is the trip: {"c'
        'ity": "Nice", "days": 4}.',
        Trip,
        {"city": "Nice", "days": 4},
    ),
    (
        '{"city": "Nice", "days": 4, "days": 5}',
        Trip,
        REFUSED,
    ),
    (
        '{"city": "Nice", "days": 4}{"city": "Nice", "days": 4}',
        Trip,
        {"city": "Nice", "days": 4},
    ),
    (
        'Final answer: {"ok": true, "why": "done"} (an earlier draft was {"ok": false})',
        Flag,
        {"ok": True, "why": "done"},
    ),
    (
        "I'm sorry, but I can't provide that information.",
        Trip,
        REFUSED,
    ),
    (
        '{"error": "rate limited"}',
        Trip,
        REFUSED,
    ),
    (
        "- city: Oslo\n- days: 2",
        Trip,
        REFUSED,
    ),
    (
        '{"name": "root", "children": [{"name": "a", "children": [{"name": "b"},]},],}',
        Node,
        {"name": "root", "children": [{"name": "a", "children": [{"name": "b"}]}]},
    ),
    (
        '{\n  "name": "root",\n  "children": [\n    {"name": "a"}\n    {"name": "b"}\n  ]\n}',
        Node,
        {"name": "root", "children": [{"name": "a"}, {"name": "b"}]},
    ),
    (
        '{"name": "root", "children": [{"name": "a"}, {"name": "b"}]',
        Node,
        REFUSED,
    ),
    (
        '```json\n{"name": "root", "children": [{"name": "a"}, {"name": "b"}]\n```',
        Node,
        {"name": "root", "children": [{"name": "a"}, {"name": "b"}]},
    ),
    (
        '{"kind": "Bar", "series": {"2024": [1, 2.5, 3], "2025": [4, 5, 6.0'
        ']}, "title": "Sales \u2013 \u201cnet\u201d"}',
        Chart,
        {
            "kind": "bar",
            "series": {"2024": [1, 2.5, 3], "2025": [4, 5, 6]},
            "title": "Sales \u2013 \u201cnet\u201d",
        },
    ),
    (
        '{"kind": "pie", "series": {}}',
        Chart,
        REFUSED,
    ),
    (
        '{"goal": "book", "steps": [{"tool": "search", "args": {"q": "hotel'
        ' \\"Astoria\\""}, "reason": "find it"}, {"tool": "book", "args": {}}'
        "]}",
        Plan,
        {
            "goal": "book",
            "steps": [
                {"tool": "search", "args": {"q": 'hotel "Astoria"'}, "reason": "find it"},
                {"tool": "book", "args": {}},
            ],
        },
    ),
    (
        'Plan:\n1. search\n2. book\n\n{"goal": "book", "steps": [{"tool": "sear'
        'ch", "args": {"q": "hotel"}}]}\n\nLet me know if you\'d like changes '
        "{or more}.",
        Plan,
        {"goal": "book", "steps": [{"tool": "search", "args": {"q": "hotel"}}]},
    ),
    (
        '{"goal": "book", "steps": "[{\\"tool\\": \\"search\\", \\"args\\": {\\"q\\'
        '": \\"hotel\\"}}]"}',
        Plan,
        {"goal": "book", "steps": [{"tool": "search", "args": {"q": "hotel"}}]},
    ),
    (
        '{"full_name": "José Núñez", "phone": +34600111222}',
        Contact,
        {"full_name": "José Núñez", "phone": "+34600111222"},
    ),
    (
        '{"full_name": "Li", "phone": 0601020304}',
        Contact,
        {"full_name": "Li", "phone": "0601020304"},
    ),
    (
        "{\"full_name\": \"O'Brien\", \"address\": {'street': '1 King's Road', 'city': 'Cork'}}",
        Contact,
        {"full_name": "O'Brien", "address": {"street": "1 King's Road", "city": "Cork"}},
    ),
    (
        '{"fullName": "Ada", "Phone": null}',
        Contact,
        {"full_name": "Ada"},
    ),
    (
        '{"html": "<div class=\\"a\\">x</div>", "title": "t"}',
        Html,
        {"html": '<div class="a">x</div>', "title": "t"},
    ),
    (
        '{"html": "<div class="a">x</div>", "title": "t"}',
        Html,
        {"html": '<div class="a">x</div>', "title": "t"},
    ),
    (
        '{"html": \'<a href="/x">y</a>\', "title": \'t\'}',
        Html,
        {"html": '<a href="/x">y</a>', "title": "t"},
    ),
    (
        '{"html": "<p>a</p>\\n<p>b</p>", "title": "t",\n}\n<|im_end|>',
        Html,
        {"html": "<p>a</p>\n<p>b</p>", "title": "t"},
    ),
    (
        '```html\n<p>hi</p>\n```\n```json\n{"html": "<p>hi</p>", "title": "hi"}\n```',
        Html,
        {"html": "<p>hi</p>", "title": "hi"},
    ),
    (
        '{"lat": 59.91N, "lon": 10.75E}',
        Loc,
        REFUSED,
    ),
    (
        '{"lat": 59,91, "lon": 10,75}',
        Loc,
        REFUSED,
    ),
    (
        '{"lat": "59.91", "lon": "10.75"}',
        Loc,
        {"lat": 59.91, "lon": 10.75},
    ),
    (
        "{lat:59.91,lon:-10.75}",
        Loc,
        {"lat": 59.91, "lon": -10.75},
    ),
    (
        "{'lat': 59.91, 'lon': 10.75} # Oslo",
        Loc,
        {"lat": 59.91, "lon": 10.75},
    ),
    (
        'Для Осло: ```json\n{"lat": 59.91, "lon": 10.75}\n``` Готово!',
        Loc,
        {"lat": 59.91, "lon": 10.75},
    ),
    (
        "答えは次の通りです。\n{\n 「lat」: 35.68,\n 「lon」: 139.69\n}",
        Loc,
        {"lat": 35.68, "lon": 139.69},
    ),
    (
        '{"lat": 35.68,\n"lon": 139.69\n\n}}',
        Loc,
        {"lat": 35.68, "lon": 139.69},
    ),
    (
        '{{"lat": 35.68, "lon": 139.69}}',
        Loc,
        {"lat": 35.68, "lon": 139.69},
    ),
    (
        '\ufeff{"lat": 35.68, "lon": 139.69}',
        Loc,
        {"lat": 35.68, "lon": 139.69},
    ),
    (
        'json\n{\n"lat": 35.68,\n"lon": 139.69\n}',
        Loc,
        {"lat": 35.68, "lon": 139.69},
    ),
    (
        '{"lat": 35.68, "lon": 139.69, "_comment": "Tokyo"}',
        Loc,
        {"lat": 35.68, "lon": 139.69},
    ),
    (
        'assistant: {"lat": 35.68, "lon": 139.69}',
        Loc,
        {"lat": 35.68, "lon": 139.69},
    ),
    (
        '{"lat": 35.68, "lon": }',
        Loc,
        REFUSED,
    ),
    (
        '{"lat": 35.68 "lon": 139.69}',
        Loc,
        {"lat": 35.68, "lon": 139.69},
    ),
]


@pytest.mark.parametrize(("text", "schema", "meant"), REPLIES, ids=range(len(REPLIES)))
def test_a_reply_of_a_recent_model(text: str, schema: Any, meant: Any) -> None:
    """The value that is meant is read, and nothing where nobody can know it."""
    reading = read_json(text, schema)
    if meant is REFUSED:
        assert not reading.ok
    else:
        assert reading.failure is None
        assert reading.value == TypeAdapter(schema).validate_python(meant)
