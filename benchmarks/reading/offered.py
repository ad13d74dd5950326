"""The tools that the texts call, and what they may be called with."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

Tool = dict[str, Any]
"""An OpenAI-style schema of a tool."""


class Call(NamedTuple):
    """A tool's name and what it is called with."""

    name: str
    arguments: dict[str, Any]


class Parameter(NamedTuple):
    """What a parameter takes, and values that models may well pass."""

    schema: dict[str, Any]
    pool: tuple[Any, ...]
    required: bool = True


def _string(*pool: str) -> Parameter:
    return Parameter({"type": "string"}, pool)


def _integer(*pool: int) -> Parameter:
    return Parameter({"type": "integer"}, pool)


def _number(*pool: float) -> Parameter:
    return Parameter({"type": "number"}, pool)


def _boolean() -> Parameter:
    return Parameter({"type": "boolean"}, (True, False))


def _enum(*pool: str) -> Parameter:
    return Parameter({"type": "string", "enum": list(pool)}, pool)


def _array(*pool: list[Any]) -> Parameter:
    return Parameter({"type": "array", "items": {}}, pool)


def _optional(parameter: Parameter) -> Parameter:
    return parameter._replace(required=False)


# Values are mostly tame, because reading asks for the form; values.py asks for odd values.
OFFERED: dict[str, dict[str, Parameter]] = {
    "current_time": {},
    "lookup_weather": {
        "city": _string("Tromsø", "New Orleans", "São Paulo", "Rothenburg ob der Tauber", "札幌"),
        "unit": _optional(_enum("celsius", "fahrenheit", "kelvin")),
    },
    "sendInvoice": {
        "customer": _string("Meyer & Söhne GmbH", "O'Hara Ltd.", 'The "Blue" Shop', "ACME, Inc."),
        "amountDue": _number(49.9, 1200, 0.75, -15.25),
        "currency": _enum("EUR", "USD", "JPY"),
        "urgent": _optional(_boolean()),
    },
    "calendar.add_event": {
        "title": _string("Dentist: check-up", "Stand-up (daily)", "Elternabend", "Lunch w/ Åse"),
        "start": _string("2031-04-05T09:30", "2030-12-24", "next Friday at noon"),
        "minutes": _integer(15, 45, 480),
        "guests": _optional(_array(["ana@example.org"], ["bo@example.org", "cy@example.org"], [])),
    },
    "größe_umrechnen": {"wert": _number(180.5, 72, 0.01), "nach": _enum("cm", "zoll", "fuß")},
    "查询航班": {"航班号": _string("CA1831", "国航 1831 次", "MU5101")},
    "resize_image": {
        "path": _string(
            "photos/summer 2029/boat.png", "C:\\pictures\\new\\tree.jpg", "~/a-b_c.webp"
        ),
        "width": _integer(640, 1920),
        "height": _integer(480, 1080),
        "keepRatio": _optional(_boolean()),
    },
    "search_notes": {
        "query": _string(
            "tax return 2028",
            "recipes with rhubarb, no sugar",
            "what did Ravi say about the roof?",
            "título:presupuesto estado:abierto",
            "1042",
        )
    },
    "open_page": {
        "url": _string("https://example.org/a?b=1&c=2#top", "https://example.com/müller/index.html")
    },
    "setFilter": {
        "filter": Parameter(
            {"type": "object"},
            (
                {"status": "open", "owner": {"team": "harbour", "lead": None}},
                {"price": {"from": 10, "to": 99.5}, "sold": False},
                {"labels": ["red", "late"], "archived": True},
            ),
        ),
        "limit": _optional(_integer(1, 50, 1000)),
    },
    "roll_dice": {"sides": _integer(6, 20, 100)},
    "translateText": {
        "text": _string(
            "Good morning, everyone!",
            "Dear all,\nthe pool is closed today.\n\nYours, Kim",
            "C'est l'été : « enfin » !",
            "Keep {placeholders} and [brackets] as they are.",
        ),
        "targetLanguage": _enum("de", "pt-BR", "zh"),
    },
    "db.run_query": {
        "sql": _string(
            "SELECT name FROM boats WHERE length > 12 AND berth = 'B-7'",
            'SELECT "berth", count(*) FROM boats GROUP BY 1;',
        ),
        "args": _array([], [7, "B-7"], [1.5, True, None]),
        "dryRun": _optional(_boolean()),
    },
    "tag_photos": {"labels": _array(["harbour", "dusk"], ["Ærø"], ["a, b", "c"])},
}


def tool(name: str, parameters: dict[str, Parameter]) -> Tool:
    """Describe a tool in the way of OpenAI."""
    schema = {
        "type": "object",
        "properties": {key: parameter.schema for key, parameter in parameters.items()},
        "required": [key for key, parameter in parameters.items() if parameter.required],
    }
    function = {"name": name, "description": f"Tool {name}.", "parameters": schema}
    return {"type": "function", "function": function}


def string_tool(name: str, *keys: str) -> Tool:
    """Describe a tool that takes strings."""
    return tool(name, {key: _string() for key in keys})


def offer(called: list[str], chance: random.Random) -> list[Tool]:
    """Offer the called tools among some others, in any order."""
    others = [name for name in OFFERED if name not in called]
    names = [*dict.fromkeys(called), *chance.sample(others, chance.randint(2, len(others)))]
    chance.shuffle(names)
    return [tool(name, OFFERED[name]) for name in names]


def some_call(names: list[str], chance: random.Random) -> Call:
    """Call one of the tools with values from its pools, optional ones half of the time."""
    name = chance.choice(names)
    taken = {
        key: chance.choice(parameter.pool)
        for key, parameter in OFFERED[name].items()
        if parameter.required or chance.random() < 0.5
    }
    return Call(name, taken)


def only_string(name: str) -> bool:
    """Tell whether a tool takes just one string, so that bare text can be meant for it."""
    return [parameter.schema for parameter in OFFERED[name].values()] == [{"type": "string"}]
