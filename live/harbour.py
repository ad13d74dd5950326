"""Twenty tasks of a harbour, and nine tools: loopmend was tuned on their runs."""

from __future__ import annotations

from typing import Final

from live.tasks import NOT_FOUND, Task, plain

__all__ = ["TASKS", "TOOLS"]

_BERTHS: Final = {"kestrel": "berth 27", "blue heron": "berth 8", "santa marta": "berth 41"}
_CARGO: Final = {"kestrel": "timber", "blue heron": "coffee", "santa marta": "glass"}
_CAPTAINS: Final = {
    "kestrel": "Oskar Lund",
    "blue heron": "Leila Haddad",
    "santa marta": "Jorge Pinto",
}
_EXTENSIONS: Final = {"oskar lund": "4417", "leila haddad": "4630", "jorge pinto": "4902"}
_CRANES: Final = {"27": "the red crane", "8": "the yellow crane", "41": "the green crane"}
_FEES: Final = {
    ("timber", "day"): "65 dollars",
    ("timber", "week"): "340 dollars",
    ("coffee", "day"): "48 dollars",
    ("coffee", "week"): "290 dollars",
}
_TIDES: Final = {
    ("saturday", "high"): "6:52",
    ("saturday", "low"): "13:08",
    ("sunday", "high"): "7:41",
}
_FERRIES: Final = {
    ("gull island", "morning"): "8:35",
    ("gull island", "evening"): "19:10",
    ("fox island", "morning"): "10:25",
}
_PERMITS: Final = {
    "P-440": "fishing, valid until 30 June",
    "P-712": "diving, expired",
}


def berth_of(ship: str) -> str:
    """Return the number of the berth at which a ship lies."""
    return _BERTHS.get(plain(ship), f"no ship {ship}")


def cargo_of(ship: str) -> str:
    """Return what a ship carries."""
    return _CARGO.get(plain(ship), f"no ship {ship}")


def captain_of(ship: str) -> str:
    """Return the name of a ship's captain."""
    return _CAPTAINS.get(plain(ship), f"no ship {ship}")


def phone_extension(captain: str) -> str:
    """Return the phone extension of a captain, by the captain's full name."""
    return _EXTENSIONS.get(plain(captain, "captain"), f"no captain {captain}")


def crane_at(berth: str) -> str:
    """Return which crane serves a berth, by the number of the berth."""
    return _CRANES.get(plain(berth, "berth"), f"no crane at berth {berth}")


def storage_fee(cargo: str, period: str) -> str:
    """Return what it costs to store a kind of cargo; the period is day or week."""
    return _FEES.get((plain(cargo), plain(period)), f"no fee for {cargo} by the {period}")


def tide_time(day: str, tide: str) -> str:
    """Return the time of a tide on a day of the week; the tide is high or low."""
    return _TIDES.get((plain(day), plain(tide, "tide")), f"no {tide} tide known for {day}")


def ferry_departure(island: str, part_of_day: str) -> str:
    """Return when the ferry to an island leaves; the part of the day is morning or evening."""
    return _FERRIES.get(
        (plain(island), plain(part_of_day)), f"no ferry to {island} in the {part_of_day}"
    )


def permit(number: str) -> str:
    """Return what a permit allows and whether it is valid, by its number such as P-100."""
    return _PERMITS.get(number.strip().upper(), f"no permit {number}")


TOOLS: Final = (
    *(berth_of, cargo_of, captain_of, phone_extension, crane_at),
    *(storage_fee, tide_time, ferry_departure, permit),
)

# One of each class in turn, as far as there are, so that the first few are a fair sample.
TASKS: Final = (
    Task(
        "single",
        "At which berth does the ship Santa Marta lie?",
        ("41",),
        ("berth_of",),
        first={"ship": "Santa Marta"},
    ),
    Task(
        "parallel",
        "Who is the captain of the Kestrel, and who is the captain of the Blue Heron?",
        ("lund", "haddad"),
        ("captain_of",),
        first={"ship": "Kestrel"},
    ),
    Task(
        "two steps",
        "What is the phone extension of the captain of the Santa Marta?",
        ("4902",),
        ("captain_of", "phone_extension"),
        first={"ship": "Santa Marta"},
    ),
    Task("none", "How do you say good morning in German?", ("guten morgen",)),
    Task(
        "impossible",
        "What does the permit P-999 allow?",
        (NOT_FOUND,),
        ("permit",),
        first={"number": "P-999"},
    ),
    Task(
        "single",
        "When is low tide on Saturday?",
        ("13:08|1:08",),
        ("tide_time",),
        first={"day": "Saturday", "tide": "low"},
    ),
    Task(
        "parallel",
        "When do the morning ferries to Gull Island and to Fox Island leave?",
        ("8:35", "10:25"),
        ("ferry_departure",),
        first={"island": "Gull Island", "part_of_day": "morning"},
    ),
    Task(
        "two steps",
        "What does it cost to store the cargo of the ship Blue Heron for one week?",
        ("290",),
        ("cargo_of", "storage_fee"),
        first={"ship": "Blue Heron"},
    ),
    Task("none", "What is the opposite of the word empty?", ("full|filled",)),
    Task(
        "impossible",
        "What does the ship Silver Moth carry?",
        (NOT_FOUND,),
        ("cargo_of",),
        first={"ship": "Silver Moth"},
    ),
    Task(
        "single",
        "What does it cost to store timber for one day?",
        ("65",),
        ("storage_fee",),
        first={"cargo": "timber", "period": "day"},
    ),
    Task(
        "single",
        "When does the evening ferry to Gull Island leave?",
        ("19:10|7:10",),
        ("ferry_departure",),
        first={"island": "Gull Island", "part_of_day": "evening"},
    ),
    Task(
        "parallel",
        "What do the ships Kestrel and Santa Marta carry?",
        ("timber", "glass"),
        ("cargo_of",),
        first={"ship": "Kestrel"},
    ),
    Task(
        "two steps",
        "Which crane serves the berth at which the ship Kestrel lies?",
        ("red",),
        ("berth_of", "crane_at"),
        first={"ship": "Kestrel"},
    ),
    Task("none", "How many minutes are in one hour?", ("60|sixty",)),
    Task(
        "impossible",
        "What is the phone extension of Captain Agnes Whitlock?",
        (NOT_FOUND,),
        ("phone_extension",),
        first={"captain": "Agnes Whitlock"},
    ),
    Task(
        "single",
        "Look up the permit P-712. Is it still valid?",
        ("no|not|expired|isn't",),
        ("permit",),
        first={"number": "P-712"},
    ),
    Task(
        "parallel",
        "When is high tide on Saturday, and when is high tide on Sunday?",
        ("6:52", "7:41"),
        ("tide_time",),
        first={"day": "Saturday", "tide": "high"},
    ),
    Task(
        "single",
        "Which phone extension does Leila Haddad have?",
        ("4630",),
        ("phone_extension",),
        first={"captain": "Leila Haddad"},
    ),
    Task(
        "single",
        "Which crane serves berth 8?",
        ("yellow",),
        ("crane_at",),
        first={"berth": "8"},
    ),
)
