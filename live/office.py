"""Twenty tasks of a small office, and nine tools: looked at while loopmend was built."""

from __future__ import annotations

from typing import Final

from live.tasks import Task

__all__ = ["TASKS", "TOOLS"]

_PEOPLE: Final = {"mara lindt": "E-204", "jonas beck": "E-117", "ines ortega": "E-331"}
_DESKS: Final = {"E-204": "room 3.12", "E-117": "room 1.05", "E-331": "room 2.20"}
_STOCK: Final = {
    ("toner", "berlin"): 14,
    ("toner", "lisbon"): 3,
    ("paper", "berlin"): 220,
    ("paper", "lisbon"): 75,
}
_RATES: Final = {("eur", "usd"): 1.25, ("usd", "eur"): 0.8, ("eur", "chf"): 0.95}
_HOURS: Final = {"library": "9 to 18", "canteen": "11 to 14", "reception": "7 to 19"}
_ROOMS: Final = {
    ("3.12", "monday"): "free",
    ("3.12", "friday"): "taken",
    ("1.05", "monday"): "taken",
}
_PRICES: Final = {"toner": 60, "paper": 5, "stapler": 12}


def employee_id(full_name: str) -> str:
    """Return the id of an employee."""
    return _PEOPLE.get(full_name.strip().lower(), f"no employee called {full_name}")


def desk_of(employee: str) -> str:
    """Return where an employee sits, by employee id such as E-100."""
    return _DESKS.get(employee.strip().upper(), f"no employee with id {employee}")


def stock_level(item: str, site: str) -> str:
    """Return how many pieces of an item are in stock at a site."""
    found = _STOCK.get((item.strip().lower(), site.strip().lower()))
    return f"nothing known of {item} at {site}" if found is None else str(found)


def exchange_rate(base: str, target: str) -> str:
    """Return the exchange rate between two currencies given by their codes."""
    found = _RATES.get((base.strip().lower(), target.strip().lower()))
    return f"no rate from {base} to {target}" if found is None else str(found)


def opening_hours(place: str) -> str:
    """Return the opening hours of a place in the building."""
    return _HOURS.get(place.strip().lower().removeprefix("the "), f"no place called {place}")


def room_booked(room: str, day: str) -> str:
    """Return whether a room is free or taken on a day of the week."""
    key = (room.strip().lower().removeprefix("room "), day.strip().lower())
    return _ROOMS.get(key, f"nothing known of {room} on {day}")


def price_of(item: str) -> str:
    """Return the price of an item in euros."""
    found = _PRICES.get(item.strip().lower())
    return f"no price for {item}" if found is None else f"{found} euros"


def multiply(a: float, b: float) -> str:
    """Multiply two numbers."""
    return f"{a * b:g}"


def send_note(to: str, text: str) -> str:
    """Send a short note to an employee."""
    return f"sent to {to}: {text}"


TOOLS: Final = (
    *(employee_id, desk_of, stock_level, exchange_rate, opening_hours),
    *(room_booked, price_of, multiply, send_note),
)


_T = Task
TASKS: Final = (
    _T(
        "single",
        "What is the employee id of Mara Lindt?",
        ("e-204",),
        ("employee_id",),
        first={"full_name": "Mara Lindt"},
    ),
    _T(
        "single",
        "How many pieces of toner are in stock in Lisbon?",
        ("3",),
        ("stock_level",),
        first={"item": "toner", "site": "Lisbon"},
    ),
    _T(
        "single",
        "What is the exchange rate from EUR to USD?",
        (r"1\.25",),
        ("exchange_rate",),
        first={"base": "EUR", "target": "USD"},
    ),
    _T(
        "single",
        "When is the canteen open?",
        ("11", "14"),
        ("opening_hours",),
        first={"place": "canteen"},
    ),
    _T(
        "single",
        "Is room 3.12 free on Friday?",
        ("taken|no|not",),
        ("room_booked",),
        first={"room": "3.12", "day": "Friday"},
    ),
    _T("single", "What does a stapler cost?", ("12",), ("price_of",), first={"item": "stapler"}),
    _T(
        "single",
        "Send Jonas Beck a note that the meeting starts at 10.",
        ("sent|note",),
        ("send_note",),
        first={"to": "Jonas Beck", "text": "The meeting starts at 10."},
    ),
    _T(
        "parallel",
        "How much toner is in stock in Berlin, and how much in Lisbon?",
        ("14", "3"),
        ("stock_level",),
        first={"item": "toner", "site": "Berlin"},
    ),
    _T(
        "parallel",
        "What do paper and toner cost?",
        ("5", "60"),
        ("price_of",),
        first={"item": "paper"},
    ),
    _T(
        "parallel",
        "When are the library and the reception open?",
        ("18", "19"),
        ("opening_hours",),
        first={"place": "library"},
    ),
    _T(
        "parallel",
        "What are the employee ids of Jonas Beck and Ines Ortega?",
        ("e-117", "e-331"),
        ("employee_id",),
        first={"full_name": "Jonas Beck"},
    ),
    _T(
        "two steps",
        "In which room does Mara Lindt sit?",
        (r"3\.12",),
        ("employee_id", "desk_of"),
        first={"full_name": "Mara Lindt"},
    ),
    _T(
        "two steps",
        "In which room does Ines Ortega sit?",
        (r"2\.20",),
        ("employee_id", "desk_of"),
        first={"full_name": "Ines Ortega"},
    ),
    _T(
        "two steps",
        "What do 7 staplers cost in all?",
        ("84",),
        ("price_of",),
        ("multiply",),
        first={"item": "stapler"},
    ),
    _T(
        "two steps",
        "How many US dollars are 40 euros?",
        ("50",),
        ("exchange_rate",),
        ("multiply",),
        first={"base": "EUR", "target": "USD"},
    ),
    _T("none", "Say hello to our new colleague Ann in one short sentence.", ("ann",)),
    _T("none", "What is the capital of France?", ("paris",)),
    _T("none", "Which day comes after Tuesday?", ("wednesday",)),
    _T(
        "impossible",
        "What is the employee id of Bob Nobody?",
        ("no|not|unable|couldn't|cannot",),
        ("employee_id",),
        first={"full_name": "Bob Nobody"},
    ),
    _T(
        "impossible",
        "What does a flying carpet cost?",
        ("no|not|unable|couldn't|cannot",),
        ("price_of",),
        first={"item": "flying carpet"},
    ),
)
