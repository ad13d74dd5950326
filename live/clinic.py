"""Twenty tasks of an animal clinic, and nine tools: written before any run, and run once."""

from __future__ import annotations

from typing import Final

from live.tasks import NOT_FOUND, Task, plain

__all__ = ["TASKS", "TOOLS"]

_OWNERS: Final = {"pebble": "Nora Lindqvist", "captain": "Amadou Diallo", "juno": "Petra Novak"}
_PHONES: Final = {
    "nora lindqvist": "555-0142",
    "amadou diallo": "555-0177",
    "petra novak": "555-0109",
}
_SPECIES: Final = {"pebble": "rabbit", "captain": "parrot", "juno": "dog"}
_VACCINES: Final = {
    ("juno", "rabies"): "12 March",
    ("juno", "parvo"): "3 September",
    ("pebble", "myxomatosis"): "21 May",
}
_SLOTS: Final = {
    ("hale", "tuesday"): "9:20",
    ("hale", "thursday"): "no free time",
    ("moreau", "tuesday"): "15:40",
}
_DOSES: Final = {
    ("meloxan", "dog"): "4 drops",
    ("meloxan", "rabbit"): "2 drops",
    ("ornivet", "parrot"): "7 drops",
}
_BOARDING: Final = {
    ("dog", "large"): "38 dollars",
    ("dog", "small"): "26 dollars",
    ("rabbit", "small"): "13 dollars",
}
_STOCK: Final = {"meloxan": "45 packs", "ornivet": "0 packs", "carprol": "112 packs"}
_INVOICES: Final = {"V-208": "73.50 dollars, paid", "V-331": "190 dollars, open"}


def owner_of(animal: str) -> str:
    """Return the owner of an animal, by the animal's name."""
    return _OWNERS.get(plain(animal), f"no animal {animal}")


def phone_number(owner: str) -> str:
    """Return the phone number of an owner, by the owner's full name."""
    return _PHONES.get(plain(owner), f"no owner {owner}")


def species_of(animal: str) -> str:
    """Return what kind of animal a patient is, by the animal's name."""
    return _SPECIES.get(plain(animal), f"no animal {animal}")


def vaccine_due(animal: str, vaccine: str) -> str:
    """Return the day on which an animal needs a vaccine again."""
    return _VACCINES.get(
        (plain(animal), plain(vaccine)), f"no {vaccine} vaccine on record for {animal}"
    )


def free_slot(doctor: str, day: str) -> str:
    """Return the first free time of a doctor, such as Dr. Who, on a day of the week."""
    return _SLOTS.get((plain(doctor, "dr", "dr."), plain(day)), f"{doctor} is not in on {day}")


def daily_dose(medicine: str, species: str) -> str:
    """Return how many drops of a medicine an animal of a species gets each day."""
    return _DOSES.get((plain(medicine), plain(species)), f"{medicine} is not for a {species}")


def boarding_price(species: str, cage: str) -> str:
    """Return what one night costs for an animal of a species; the cage is small or large."""
    return _BOARDING.get((plain(species), plain(cage)), f"no {cage} cage for a {species}")


def stock_of(medicine: str) -> str:
    """Return how many packs of a medicine are in stock."""
    return _STOCK.get(plain(medicine), f"no medicine {medicine}")


def invoice(number: str) -> str:
    """Return the amount and the state of an invoice, by its number such as V-100."""
    return _INVOICES.get(number.strip().upper(), f"no invoice {number}")


TOOLS: Final = (
    *(owner_of, phone_number, species_of, vaccine_due, free_slot),
    *(daily_dose, boarding_price, stock_of, invoice),
)

# One of each class in turn, as far as there are, so that the first few are a fair sample.
TASKS: Final = (
    Task(
        "single",
        "How many packs of Carprol are in stock?",
        ("112",),
        ("stock_of",),
        first={"medicine": "Carprol"},
    ),
    Task(
        "parallel",
        "Who owns Pebble, and who owns Captain?",
        ("lindqvist", "diallo"),
        ("owner_of",),
        first={"animal": "Pebble"},
    ),
    Task(
        "two steps",
        "What is the phone number of the owner of Juno?",
        ("555-0109",),
        ("owner_of", "phone_number"),
        first={"animal": "Juno"},
    ),
    Task("none", "What do you call a young dog?", ("puppy|pup",)),
    Task(
        "impossible",
        "What is the state of invoice V-999?",
        (NOT_FOUND,),
        ("invoice",),
        first={"number": "V-999"},
    ),
    Task(
        "single",
        "When does Juno need the rabies vaccine again?",
        ("12 march|12th of march|march 12|march 12th",),
        ("vaccine_due",),
        first={"animal": "Juno", "vaccine": "rabies"},
    ),
    Task(
        "parallel",
        "What is the first free time of Dr. Hale and of Dr. Moreau on Tuesday?",
        ("9:20", "15:40|3:40"),
        ("free_slot",),
        first={"doctor": "Dr. Hale", "day": "Tuesday"},
    ),
    Task(
        "two steps",
        "How many drops of Ornivet does the patient Captain get each day?",
        ("7|seven",),
        ("species_of", "daily_dose"),
        first={"animal": "Captain"},
    ),
    Task("none", "Translate the word cat into Spanish.", ("gato|gata",)),
    Task(
        "impossible",
        "Who owns the animal called Thunderbolt?",
        (NOT_FOUND,),
        ("owner_of",),
        first={"animal": "Thunderbolt"},
    ),
    Task(
        "single",
        "What does one night in a large cage cost for a dog?",
        ("38",),
        ("boarding_price",),
        first={"species": "dog", "cage": "large"},
    ),
    Task(
        "single",
        "How many drops of Meloxan does a rabbit get each day?",
        ("2|two",),
        ("daily_dose",),
        first={"medicine": "Meloxan", "species": "rabbit"},
    ),
    Task(
        "parallel",
        "What kind of animals are Pebble and Captain?",
        ("rabbit|rabbits", "parrot|parrots"),
        ("species_of",),
        first={"animal": "Pebble"},
    ),
    Task(
        "two steps",
        "What does one night in a small cage cost for the patient Pebble?",
        ("13",),
        ("species_of", "boarding_price"),
        first={"animal": "Pebble"},
    ),
    Task("none", "How many legs does a spider have?", ("8|eight",)),
    Task(
        "impossible",
        "How many packs of Felidox are in stock?",
        (NOT_FOUND,),
        ("stock_of",),
        first={"medicine": "Felidox"},
    ),
    Task(
        "single",
        "Look up invoice V-208. Has it been paid?",
        ("yes|paid",),
        ("invoice",),
        first={"number": "V-208"},
    ),
    Task(
        "parallel",
        "When is Juno due for the rabies vaccine, and when for the parvo vaccine?",
        ("march", "september"),
        ("vaccine_due",),
        first={"animal": "Juno", "vaccine": "rabies"},
    ),
    Task(
        "single",
        "Which phone number does Amadou Diallo have?",
        ("555-0177",),
        ("phone_number",),
        first={"owner": "Amadou Diallo"},
    ),
    Task(
        "single",
        "When is Dr. Moreau free on Tuesday?",
        ("15:40|3:40",),
        ("free_slot",),
        first={"doctor": "Dr. Moreau", "day": "Tuesday"},
    ),
)
