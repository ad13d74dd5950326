"""Twenty tasks of an observatory and nine tools: written before any model ran on them, held out."""

from __future__ import annotations

from typing import Final

from live.tasks import NOT_FOUND, Task, plain

__all__ = ["TASKS", "TOOLS"]

_DOMES: Final = {
    "old copper": "the Slate Dome",
    "tall marit": "the Cedar Dome",
    "lantern": "the Juniper Dome",
}
_GUIDES: Final = {
    "moonrise": "Yusuf Karaman",
    "deep sky": "Hanne Solberg",
    "first light": "Beatriz Moura",
}
_BADGES: Final = {
    "yusuf karaman": "2285",
    "hanne solberg": "3371",
    "beatriz moura": "5068",
    "dmitri orlov": "6194",
    "chiara fenn": "7746",
    "samuel adeyemi": "8813",
}
_SHIFTS: Final = {
    ("cedar", "wednesday"): "Samuel Adeyemi",
    ("cedar", "thursday"): "Dmitri Orlov",
    ("juniper", "wednesday"): "Chiara Fenn",
    ("slate", "wednesday"): "Dmitri Orlov",
    ("slate", "friday"): "Samuel Adeyemi",
}
_STARTS: Final = {
    ("moonrise", "friday"): "21:25",
    ("deep sky", "friday"): "23:10",
    ("first light", "saturday"): "5:35",
    ("first light", "sunday"): "6:25",
}
_CHARTS: Final = {
    ("winter sky", "folded"): "16 euros",
    ("winter sky", "framed"): "58 euros",
    ("moon craters", "folded"): "19 euros",
    ("moon craters", "framed"): "83 euros",
}
_POWERS: Final = {
    ("lantern", "wide"): "62 times",
    ("lantern", "narrow"): "185 times",
    ("old copper", "wide"): "94 times",
}
_SEATS: Final = {
    ("comet riders", "saturday"): "23 seats",
    ("comet riders", "sunday"): "37 seats",
    ("rings of ice", "saturday"): "0 seats",
}
_BOOKINGS: Final = {
    "K-118": "14 guests, confirmed",
    "K-263": "5 guests, on the waiting list",
}


def dome_of(telescope: str) -> str:
    """Return the dome in which a telescope stands."""
    return _DOMES.get(plain(telescope, "the", "telescope"), f"no telescope {telescope}")


def tour_guide(tour: str) -> str:
    """Return the name of the guide who leads a tour."""
    return _GUIDES.get(plain(tour, "the", "tour"), f"no tour {tour}")


def badge_number(person: str) -> str:
    """Return the badge number of a guide or an observer, by the person's full name."""
    return _BADGES.get(plain(person), f"no badge for {person}")


def on_shift(dome: str, night: str) -> str:
    """Return who is on shift in a dome; the night is a day of the week."""
    return _SHIFTS.get(
        (plain(dome, "the", "dome"), plain(night, "the", "night")),
        f"no shift known in {dome} on {night}",
    )


def tour_start(tour: str, day: str) -> str:
    """Return when a tour starts on a day of the week."""
    return _STARTS.get((plain(tour, "the", "tour"), plain(day)), f"no tour {tour} on {day}")


def chart_price(chart: str, finish: str) -> str:
    """Return the price of a star chart in the shop; the finish is folded or framed."""
    return _CHARTS.get(
        (plain(chart, "the", "star", "chart"), plain(finish)), f"no {finish} star chart {chart}"
    )


def magnification(telescope: str, eyepiece: str) -> str:
    """Return how strongly a telescope magnifies; the eyepiece is wide or narrow."""
    return _POWERS.get(
        (plain(telescope, "the", "telescope"), plain(eyepiece, "the", "eyepiece")),
        f"no {eyepiece} eyepiece for {telescope}",
    )


def seats_left(show: str, day: str) -> str:
    """Return how many seats are left for a planetarium show on a day of the week."""
    return _SEATS.get((plain(show, "the", "show"), plain(day)), f"no show {show} on {day}")


def booking(code: str) -> str:
    """Return the guests and the status of a booking, by its code such as K-100."""
    return _BOOKINGS.get(code.strip().upper(), f"no booking {code}")


TOOLS: Final = (
    *(dome_of, tour_guide, badge_number, on_shift, tour_start),
    *(chart_price, magnification, seats_left, booking),
)

# One of each class in turn, as far as there are, so that the first few are a fair sample.
TASKS: Final = (
    Task(
        "single",
        "Which dome is the telescope Old Copper in?",
        ("slate",),
        ("dome_of",),
        first={"telescope": "Old Copper"},
    ),
    Task(
        "parallel",
        "Who leads the Deep Sky tour, and who leads the First Light tour?",
        ("hanne|solberg", "beatriz|moura"),
        ("tour_guide",),
        first={"tour": "Deep Sky"},
    ),
    Task(
        "two steps",
        "What is the badge number of the guide who leads the Moonrise tour?",
        ("2285",),
        ("tour_guide", "badge_number"),
        first={"tour": "Moonrise"},
    ),
    Task("none", "Which planet do people call the red planet?", ("mars",)),
    Task(
        "impossible",
        "Who is the guide of the Green Comet tour?",
        (NOT_FOUND,),
        ("tour_guide",),
        first={"tour": "Green Comet"},
    ),
    Task(
        "single",
        "What time does the Moonrise tour start on Friday?",
        (r"21:25(?: ?pm)?|0?9:25(?: ?pm)?(?! ?a\.?m\b)",),
        ("tour_start",),
        first={"tour": "Moonrise", "day": "Friday"},
    ),
    Task(
        "parallel",
        "How strongly does the telescope Lantern magnify with the wide and the narrow eyepiece?",
        (
            "62(?:x|fold)?|sixty[- ]two",
            "185(?:x|fold)?|(?:one|a) hundred (?:and )?eighty[- ]five",
        ),
        ("magnification",),
        first={"telescope": "Lantern", "eyepiece": "wide"},
    ),
    Task(
        "two steps",
        "Who is on shift on Wednesday night in the dome where the telescope Lantern stands?",
        ("chiara|fenn",),
        ("dome_of", "on_shift"),
        first={"telescope": "Lantern"},
    ),
    Task("none", "How do you say good night in Spanish?", ("buenas noches|buena noche",)),
    Task(
        "impossible",
        "Please look up the booking K-905. How many guests is it for?",
        (NOT_FOUND,),
        ("booking",),
        first={"code": "K-905"},
    ),
    Task(
        "single",
        "How much is a framed Winter Sky star chart?",
        (r"58(?:\.00)?|fifty[- ]eight",),
        ("chart_price",),
        first={"chart": "Winter Sky", "finish": "framed"},
    ),
    Task(
        "single",
        "I would like to see the show Comet Riders on Saturday. How many seats are left?",
        ("23|twenty[- ]three",),
        ("seats_left",),
        first={"show": "Comet Riders", "day": "Saturday"},
    ),
    Task(
        "parallel",
        "In which domes do I find the telescopes Tall Marit and Lantern?",
        ("cedar", "juniper"),
        ("dome_of",),
        first={"telescope": "Tall Marit"},
    ),
    Task(
        "two steps",
        "I need the badge number of the person on shift in the Slate Dome on Friday night.",
        ("8813",),
        ("on_shift", "badge_number"),
        first={"dome": "Slate Dome", "night": "Friday"},
    ),
    Task("none", "How many months does a year have?", ("12|twelve",)),
    Task(
        "impossible",
        "How strongly does the telescope Iron Giant magnify with the wide eyepiece?",
        (NOT_FOUND,),
        ("magnification",),
        first={"telescope": "Iron Giant", "eyepiece": "wide"},
    ),
    Task(
        "single",
        "My booking has the code K-263. What is its status?",
        ("waiting|wait[- ]?list(?:ed)?",),
        ("booking",),
        first={"code": "K-263"},
    ),
    Task(
        "parallel",
        "When does the First Light tour start on Saturday, and when on Sunday?",
        (
            r"0?5:35(?: ?am)?(?! ?p\.?m\b)",
            r"0?6:25(?: ?am)?(?! ?p\.?m\b)",
        ),
        ("tour_start",),
        first={"tour": "First Light", "day": "Saturday"},
    ),
    Task(
        "single",
        "Beatriz Moura has lost her badge. Which number was on it?",
        ("5068",),
        ("badge_number",),
        first={"person": "Beatriz Moura"},
    ),
    Task(
        "single",
        "Who is on shift in the Cedar Dome on Thursday night?",
        ("dmitri|orlov",),
        ("on_shift",),
        first={"dome": "Cedar Dome", "night": "Thursday"},
    ),
)
