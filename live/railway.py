"""Twenty tasks of a railway, and nine tools: once held out, and looked at since."""

from __future__ import annotations

from typing import Final

from live.tasks import NOT_FOUND, Task, plain

__all__ = ["TASKS", "TOOLS"]

_TRAINS: Final = {
    ("porto", "lyon"): "IC 512",
    ("lyon", "basel"): "EN 77",
    ("basel", "graz"): "RJ 340",
}
_PLATFORMS: Final = {"ic512": "platform 9", "en77": "platform 4", "rj340": "platform 12"}
_DELAYS: Final = {"ic512": "25 minutes late", "en77": "on time", "rj340": "8 minutes late"}
_FARES: Final = {
    ("porto", "lyon", "first"): "143 euros",
    ("porto", "lyon", "second"): "86 euros",
    ("lyon", "basel", "second"): "52 euros",
    ("basel", "graz", "second"): "71 euros",
}
_WEATHER: Final = {
    ("graz", "sunday"): "snow",
    ("graz", "monday"): "sunny",
    ("porto", "sunday"): "fog",
}
_LOCKERS: Final = {"basel": "17 lockers", "lyon": "0 lockers", "graz": "5 lockers"}
_MENU: Final = {"soup": "6.40 euros", "coffee": "2.80 euros", "sandwich": "5.10 euros"}
_LOST: Final = {"R-58": "a green umbrella, kept in Lyon", "R-91": "a violin, kept in Graz"}


def train_between(origin: str, destination: str) -> str:
    """Return the number of the direct train between two cities."""
    return _TRAINS.get(
        (plain(origin), plain(destination)), f"no direct train from {origin} to {destination}"
    )


def platform_of(train: str) -> str:
    """Return the platform of a train, by its number such as AB 123."""
    return _PLATFORMS.get(plain(train).replace(" ", ""), f"no train {train}")


def delay_of(train: str) -> str:
    """Return how late a train is, by its number such as AB 123."""
    return _DELAYS.get(plain(train).replace(" ", ""), f"no train {train}")


def ticket_fare(origin: str, destination: str, travel_class: str) -> str:
    """Return the fare between two cities in euros; the class is first or second."""
    return _FARES.get(
        (plain(origin), plain(destination), plain(travel_class, "class")),
        f"no fare from {origin} to {destination}",
    )


def forecast(city: str, day: str) -> str:
    """Return the weather forecast for a city on a day of the week."""
    return _WEATHER.get((plain(city), plain(day)), f"no forecast for {city} on {day}")


def free_lockers(station: str) -> str:
    """Return how many lockers are free at a station."""
    return _LOCKERS.get(plain(station), f"no station {station}")


def menu_price(dish: str) -> str:
    """Return the price of a dish in the dining car."""
    return _MENU.get(plain(dish), f"not on the menu: {dish}")


def lost_property(report: str) -> str:
    """Return what was found for a lost property report, by its id such as R-10."""
    return _LOST.get(report.strip().upper(), f"no report {report}")


def add(a: float, b: float) -> str:
    """Add two numbers."""
    return f"{a + b:g}"


TOOLS: Final = (
    *(train_between, platform_of, delay_of, ticket_fare, forecast),
    *(free_lockers, menu_price, lost_property, add),
)

# One of each class in turn, as far as there are, so that the first few are a fair sample.
TASKS: Final = (
    Task(
        "single",
        "Which train goes from Lyon to Basel?",
        ("en ?77",),
        ("train_between",),
        first={"origin": "Lyon", "destination": "Basel"},
    ),
    Task(
        "parallel",
        "What do a coffee and a sandwich cost?",
        (r"2\.80?", r"5\.10?"),
        ("menu_price",),
        first={"dish": "coffee"},
    ),
    Task(
        "two steps",
        "From which platform does the train from Basel to Graz leave?",
        ("12",),
        ("train_between", "platform_of"),
        first={"origin": "Basel", "destination": "Graz"},
    ),
    Task("none", "Wish me a good journey in one short sentence.", ("journey|trip|travel|travels",)),
    Task(
        "impossible",
        "How late is the train ZZ 999?",
        (NOT_FOUND,),
        ("delay_of",),
        first={"train": "ZZ 999"},
    ),
    Task(
        "single",
        "How many lockers are free in Basel?",
        ("17",),
        ("free_lockers",),
        first={"station": "Basel"},
    ),
    Task(
        "parallel",
        "What is the weather in Graz and in Porto on Sunday?",
        ("snow|snowy", "fog|foggy"),
        ("forecast",),
        first={"city": "Graz", "day": "Sunday"},
    ),
    Task(
        "two steps",
        "How late is the train from Porto to Lyon?",
        ("25",),
        ("train_between", "delay_of"),
        first={"origin": "Porto", "destination": "Lyon"},
    ),
    Task("none", "What is the opposite of early?", ("late",)),
    Task(
        "impossible",
        "What does a roast dragon cost in the dining car?",
        (NOT_FOUND,),
        ("menu_price",),
        first={"dish": "roast dragon"},
    ),
    Task(
        "single",
        "How late is the train RJ 340?",
        ("8",),
        ("delay_of",),
        first={"train": "RJ 340"},
    ),
    Task(
        "parallel",
        "From which platforms do IC 512 and EN 77 leave?",
        ("9", "4"),
        ("platform_of",),
        first={"train": "IC 512"},
    ),
    Task(
        "two steps",
        "What do the second class tickets from Porto to Lyon and from Lyon to Basel cost together?",
        ("138",),
        ("ticket_fare",),
        ("add",),
        {"origin": "Porto", "destination": "Lyon", "travel_class": "second"},
    ),
    Task("none", "In which country is the city of Graz?", ("austria",)),
    Task(
        "single",
        "What is the forecast for Graz on Sunday?",
        ("snow|snowy",),
        ("forecast",),
        first={"city": "Graz", "day": "Sunday"},
    ),
    Task(
        "parallel",
        "How many lockers are free in Graz, and how many in Lyon?",
        ("5", "0|no|none|zero"),
        ("free_lockers",),
        first={"station": "Graz"},
    ),
    Task(
        "two steps",
        "What do a soup and a coffee cost together?",
        (r"9\.20?",),
        ("menu_price",),
        ("add",),
        {"dish": "soup"},
    ),
    Task(
        "single",
        "How much is a first class ticket from Porto to Lyon?",
        ("143",),
        ("ticket_fare",),
        first={"origin": "Porto", "destination": "Lyon", "travel_class": "first"},
    ),
    Task(
        "single",
        "What does a soup cost in the dining car?",
        (r"6\.40?",),
        ("menu_price",),
        first={"dish": "soup"},
    ),
    Task(
        "single",
        "I filed the report R-91. What was found?",
        ("violin",),
        ("lost_property",),
        first={"report": "R-91"},
    ),
)
