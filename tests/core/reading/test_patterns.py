"""Every regular expression of the package costs time in proportion to the text."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import loopmend

# The engine's own parser has had two names.
_INNER = (
    ("re._constants", "re._parser") if hasattr(re, "_parser") else ("sre_constants", "sre_parse")
)
codes, parser = map(importlib.import_module, _INNER)

SMALL = (8, 14, 20, 26)
"""Sizes at which a pattern that takes all ways through a text shows, and still ends."""
SIZES = ((1000, 2000), (5000, 10_000))
MOST_SECONDS = 0.02
MOST_GROWTH = 2.6
FLOOR = 0.0002
ENDS = ("\x00", "\n\x00", "x")
"""What none of them goes on with: only then are all ways tried."""


FRAMEWORKS = {"langchain_loopmend": "langchain_core", "llama_index_loopmend": "llama_index"}
ADAPTERS = tuple(FRAMEWORKS)
"""They have patterns of their own; which of them can be imported depends on what is installed."""


def modules() -> Iterator[ModuleType]:
    """Yield all modules of the package, and those of the adapters that can be imported."""
    yield from (_import(name) for name in _names(loopmend))
    for adapter in ADAPTERS:
        for name in _names(_import(adapter)) if find_spec(FRAMEWORKS[adapter]) else ():
            yield from _at_hand(name)


def _at_hand(name: str) -> Iterator[ModuleType]:
    """Yield a module of an adapter, unless it needs an extra that is not installed."""
    try:
        yield _import(name)
    except ImportError as error:
        if "pip install" not in str(error):
            raise


def _names(package: ModuleType) -> list[str]:
    prefix = f"{package.__name__}."
    return [module.name for module in pkgutil.walk_packages(package.__path__, prefix)]


_import = importlib.import_module


def patterns() -> dict[str, re.Pattern[str]]:
    """Return all compiled patterns of the package by where they stand, each once."""
    found: dict[re.Pattern[str], str] = {}
    for module in modules():
        for name, value in vars(module).items():
            for each in _within(value):
                found.setdefault(each, f"{module.__name__.removeprefix('loopmend.')}.{name}")
    return {f"{name}#{n}": each for n, (each, name) in enumerate(found.items())}


def _within(value: Any) -> Iterator[re.Pattern[str]]:
    """Yield the patterns of a value: itself, or those in its collections."""
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, dict):
        yield from _within([*value, *value.values()])
    elif isinstance(value, (list, tuple, set, frozenset)):
        for each in value:
            yield from _within(each)


def sample(parsed: Any) -> str:
    """Return a text that a parsed pattern is likely to match: first ways, fewest repetitions."""
    return "".join(_sample(code, value) for code, value in parsed)


def _sample(code: Any, value: Any) -> str:
    if code in (codes.LITERAL, codes.NOT_LITERAL):
        return chr(value) if code is codes.LITERAL else "\u00a1"
    if code is codes.ANY:
        return "."
    if code is codes.IN:
        return _member(value)
    if code is codes.BRANCH:
        return sample(value[1][0])
    if code is codes.SUBPATTERN:
        return sample(value[-1])
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return sample(value[2]) * int(max(value[0], min(value[1], 1)))
    return ""


def _member(value: Any) -> str:
    if value[0][0] is codes.NEGATE:
        return next(c for c in "a ,.\u00a1" if not any(_holds(item, c) for item in value[1:]))
    code, what = value[0]
    if code is codes.LITERAL:
        return chr(what)
    if code is codes.RANGE:
        return chr(what[0])
    kinds = {"DIGIT": "1", "SPACE": " ", "WORD": "a", "NOT_SPACE": "a"}
    return kinds.get(str(what).removeprefix("CATEGORY_"), ".")


def _holds(item: tuple[Any, Any], char: str) -> bool:
    code, what = item
    if code is codes.LITERAL:
        return bool(what == ord(char))
    if code is codes.RANGE:
        return bool(what[0] <= ord(char) <= what[1])
    kind = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w", "NOT_WORD": r"\W", "NOT_SPACE": r"\S"}
    return re.match(kind[str(what).removeprefix("CATEGORY_")], char) is not None


def pumps(parsed: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield what leads to each repetition of a pattern, and what it repeats, in any way."""
    for code, value in parsed:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            inner = value[2]
            if value[1] > 20:
                yield before, sample(inner)
                for way in _ways(inner):
                    yield before, way
            yield from pumps(inner, before)
        elif code is codes.SUBPATTERN:
            yield from pumps(value[-1], before)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from pumps(branch, before)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from pumps(value[1], before)
        before += _sample(code, value)


def _ways(parsed: Any) -> Iterator[str]:
    """Yield samples of what a repeated part consists of: branches, and members of its classes."""
    for code, value in parsed:
        if code is codes.BRANCH:
            for branch in value[1]:
                yield sample(branch)
        elif code is codes.SUBPATTERN:
            yield from _ways(value[-1])
        elif code is codes.IN:
            yield from (c for c in "a 1.,-_'\"`*<[({\n" if _in(value, c))


def _in(value: Any, char: str) -> bool:
    if value[0][0] is codes.NEGATE:
        return not any(_holds(item, char) for item in value[1:])
    return any(_holds(item, char) for item in value if str(item[1]) != "CATEGORY_NOT_DIGIT")


def texts_for(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """Return leads and pumps for a pattern: its repetitions, and all of it again and again."""
    parsed = parser.parse(pattern.pattern, pattern.flags)
    whole = sample(parsed)
    found = {*pumps(parsed), ("", whole), ("", whole[:-1]), ("", whole[:1])}
    return sorted((lead, pump) for lead, pump in found if pump)


def _all(pattern: re.Pattern[str], text: str) -> Any:
    return list(pattern.finditer(text))


WAYS: dict[str, Callable[[re.Pattern[str], str], Any]] = {
    "match": re.Pattern.match,
    "fullmatch": re.Pattern.fullmatch,
    "search": _all,
}
PACKAGE = Path(loopmend.__path__[0])
TRIES = 10
PLACED = {
    *(
        "reading.lenient._RUN",
        "reading.scalars._ATOMS",
        "reading.strings._AFTER",
        "reading.rewriting._PIECE",
    ),
    "reading.said_values._LEADING",
    "traces.readers.swe_agent._EXITS",
}
"""Patterns that are matched at a place, by another name."""
BOUNDED = {
    "reading.marks.END_OF_TEXT",
    *("reading.excerpts._BEFORE", "reading.growth._APART"),  # 40 characters before a mark
    *("reading.excerpts._LABEL", "reading.disowning._DENIAL"),  # 40 and 80 before a value
}
"""Patterns that only ever see so many characters, once for each text."""


PATTERNS = {
    name: each for name, each in patterns().items() if name.partition("#")[0] not in BOUNDED
}


def ways_of(name: str) -> set[str]:
    """Return how the package uses a pattern: one that is only matched at a place is tried so."""
    module, _, variable = name.partition("#")[0].rpartition(".")
    own = Path(
        str(_import(module if module.startswith(ADAPTERS) else f"loopmend.{module}").__file__)
    )
    files = [own] if variable.startswith("_") else PACKAGE.rglob("*.py")
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    used = set(re.findall(rf"\b{variable}\.(match|fullmatch)\b", source))
    other = re.search(rf"\b{variable}(?!\.match\b|\.fullmatch\b|: |\w)", source)
    if f"{module}.{variable}" in PLACED:
        return {"match"}
    return {*used, "search"} if other or not used else used


def _cost(use: Callable[[re.Pattern[str], str], Any], pattern: re.Pattern[str], text: str) -> float:
    started = time.thread_time()
    use(pattern, text)
    return time.thread_time() - started


def is_linear(pattern: re.Pattern[str], lead: str, pump: str, end: str, way: str) -> bool:
    """Tell whether a pattern takes at most about twice as long for twice the text."""
    use = WAYS[way]

    def text(size: int) -> str:
        return lead + pump * (size // len(pump) + 1) + end

    # A shared machine may be slow once, or thrice: only what is slow each time is slow.
    if any(all(_cost(use, pattern, text(size)) > MOST_SECONDS for _ in range(2)) for size in SMALL):
        return False
    return all(
        any(
            _cost(use, pattern, text(whole)) < MOST_GROWTH * _cost(use, pattern, text(half)) + FLOOR
            for _ in range(TRIES)
        )
        for half, whole in SIZES
    )


def test_patterns_in_collections_are_tried_too() -> None:
    """So are those of the adapters: none is left out because of where it stands."""
    sources = [
        path
        for root in (PACKAGE, *(PACKAGE.parents[1] / "integrations" / name for name in ADAPTERS))
        for path in root.rglob("*.py")
    ]
    written = sum(path.read_text(encoding="utf-8").count("re.compile(") for path in sources)
    assert len(patterns()) > 0.95 * written


@pytest.mark.parametrize("name", list(PATTERNS))
def test_patterns_are_linear(name: str) -> None:
    """No repetition in a pattern makes it costlier per character as the text grows."""
    pattern = PATTERNS[name]
    slow = [
        (way, lead, pump, end)
        for way in ways_of(name)
        for lead, pump in texts_for(pattern)
        for end in ENDS
        if not is_linear(pattern, lead, pump, end, way)
    ]
    for _ in range(3):  # what was slow while others worked is not slow later
        slow = [each for each in slow if not is_linear(pattern, *each[1:], each[0])]
    assert slow == []


@pytest.mark.parametrize(
    ("pattern", "lead", "pump"),
    [(r"(?:a+)+b", "", "a"), (r"a*a*b", "", "a"), (r"\s+x", "", " "), (r"<[^>]*>", "", "<")],
)
def test_what_is_not_linear_is_found(pattern: str, lead: str, pump: str) -> None:
    """The check itself finds patterns that take all ways, or go over the rest at each place."""
    compiled = re.compile(pattern)
    # One measure can be disturbed so much that twice the text seems to cost little more.
    tries = [way for way in WAYS for _ in range(5)]
    assert not all(is_linear(compiled, lead, pump, "\x00", way) for way in tries)
    assert pump in {found for _, found in texts_for(compiled)}
