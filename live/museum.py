"""Twenty tasks of a museum, and nine tools: held out at first; eight have been run with agents."""

from __future__ import annotations

from typing import Final

from live.tasks import NOT_FOUND, Task, plain

__all__ = ["TASKS", "TOOLS"]

_ROOMS: Final = {"night ferry": "room 14", "blue kettle": "room 3", "the harvest": "room 22"}
_PAINTERS: Final = {
    "night ferry": "Ilse Brandt",
    "blue kettle": "Tomas Okafor",
    "the harvest": "Mira Sandoval",
}
_BORN: Final = {"ilse brandt": "1871", "tomas okafor": "1934", "mira sandoval": "1902"}
_HOURS: Final = {
    ("main hall", "friday"): "10:00 to 21:00",
    ("main hall", "monday"): "closed",
    ("sculpture garden", "friday"): "9:00 to 17:00",
    ("sculpture garden", "monday"): "9:00 to 15:00",
}
_TICKETS: Final = {
    ("adult", "day"): "18 dollars",
    ("adult", "year"): "95 dollars",
    ("student", "day"): "11 dollars",
    ("child", "day"): "4 dollars",
}
_TOURS: Final = {
    ("english", "morning"): "6 places",
    ("english", "evening"): "0 places",
    ("french", "morning"): "13 places",
}
_SHOP: Final = {
    ("poster", "large"): "24.50 dollars",
    ("poster", "small"): "9.80 dollars",
    ("mug", "small"): "7.20 dollars",
}
_LOANS: Final = {"L-304": "Night Ferry, lent to Oslo", "L-517": "Blue Kettle, lent to Madrid"}


def painting_room(title: str) -> str:
    """Return the room in which a painting hangs."""
    return _ROOMS.get(plain(title), f"no painting {title}")


def painter_of(title: str) -> str:
    """Return who painted a painting."""
    return _PAINTERS.get(plain(title), f"no painting {title}")


def birth_year(painter: str) -> str:
    """Return the year in which a painter was born."""
    return _BORN.get(plain(painter), f"no painter {painter}")


def opening_hours(area: str, day: str) -> str:
    """Return the opening hours of an area of the museum on a day of the week."""
    return _HOURS.get((plain(area, "the"), plain(day)), f"no opening hours for {area} on {day}")


def ticket_price(visitor: str, period: str) -> str:
    """Return a ticket's price; the visitor is adult, student or child, the period day or year."""
    return _TICKETS.get((plain(visitor), plain(period)), f"no {period} ticket for {visitor}")


def tour_places(language: str, time: str) -> str:
    """Return how many places are left on a guided tour; the time is morning or evening."""
    return _TOURS.get((plain(language), plain(time)), f"no {language} tour in the {time}")


def shop_price(article: str, size: str) -> str:
    """Return the price of an article in the museum shop; the size is small or large."""
    return _SHOP.get((plain(article), plain(size)), f"the shop has no {size} {article}")


def loan_record(loan: str) -> str:
    """Return what was lent to whom, by the loan's id such as L-100."""
    return _LOANS.get(loan.strip().upper(), f"no loan {loan}")


def multiply(a: float, b: float) -> str:
    """Multiply two numbers."""
    return f"{a * b:g}"


TOOLS: Final = (
    *(painting_room, painter_of, birth_year, opening_hours, ticket_price),
    *(tour_places, shop_price, loan_record, multiply),
)

# One of each class in turn, as far as there are, so that the first few are a fair sample.
TASKS: Final = (
    Task(
        "single",
        "In which room does the painting Night Ferry hang?",
        ("14",),
        ("painting_room",),
        first={"title": "Night Ferry"},
    ),
    Task(
        "parallel",
        "Who painted Blue Kettle, and who painted The Harvest?",
        ("okafor", "sandoval"),
        ("painter_of",),
        first={"title": "Blue Kettle"},
    ),
    Task(
        "two steps",
        "In which year was the painter of Night Ferry born?",
        ("1871",),
        ("painter_of", "birth_year"),
        first={"title": "Night Ferry"},
    ),
    Task("none", "Say thank you in French.", ("merci",)),
    Task(
        "impossible",
        "What was lent under the loan L-999?",
        (NOT_FOUND,),
        ("loan_record",),
        first={"loan": "L-999"},
    ),
    Task(
        "single",
        "How many places are left on the French tour in the morning?",
        ("13|thirteen",),
        ("tour_places",),
        first={"language": "French", "time": "morning"},
    ),
    Task(
        "parallel",
        "What are the opening hours of the main hall and of the sculpture garden on Friday?",
        ("21:00|9 ?pm|9:00 ?pm", "17:00|5 ?pm|5:00 ?pm"),
        ("opening_hours",),
        first={"area": "main hall", "day": "Friday"},
    ),
    Task(
        "two steps",
        "A student day ticket: what do 7 of them cost together?",
        ("77",),
        ("ticket_price",),
        ("multiply",),
        {"visitor": "student", "period": "day"},
    ),
    Task("none", "Which colour do you get when you mix blue and yellow?", ("green",)),
    Task(
        "impossible",
        "In which room does the painting The Glass Elephant hang?",
        (NOT_FOUND,),
        ("painting_room",),
        first={"title": "The Glass Elephant"},
    ),
    Task(
        "single",
        "What does a large poster cost in the museum shop?",
        (r"24\.50?",),
        ("shop_price",),
        first={"article": "poster", "size": "large"},
    ),
    Task(
        "single",
        "When was the painter Mira Sandoval born?",
        ("1902",),
        ("birth_year",),
        first={"painter": "Mira Sandoval"},
    ),
    Task(
        "parallel",
        "How many places are left on the English tours, in the morning and in the evening?",
        ("6|six", "0|no|none|zero"),
        ("tour_places",),
        first={"language": "English", "time": "morning"},
    ),
    Task(
        "two steps",
        "What do 3 small mugs cost in the museum shop?",
        (r"21\.60?",),
        ("shop_price",),
        ("multiply",),
        {"article": "mug", "size": "small"},
    ),
    Task("none", "How many days are in a week?", ("7|seven",)),
    Task(
        "impossible",
        "What does a large umbrella cost in the museum shop?",
        (NOT_FOUND,),
        ("shop_price",),
        first={"article": "umbrella", "size": "large"},
    ),
    Task(
        "single",
        "Look up the loan L-517. Who has the painting now?",
        ("madrid",),
        ("loan_record",),
        first={"loan": "L-517"},
    ),
    Task(
        "two steps",
        "When was the painter of The Harvest born?",
        ("1902",),
        ("painter_of", "birth_year"),
        first={"title": "The Harvest"},
    ),
    Task(
        "single",
        "What does a year ticket for an adult cost?",
        ("95",),
        ("ticket_price",),
        first={"visitor": "adult", "period": "year"},
    ),
    Task(
        "single",
        "What are the opening hours of the main hall on Monday?",
        ("closed|close|not open",),
        ("opening_hours",),
        first={"area": "main hall", "day": "Monday"},
    ),
)
