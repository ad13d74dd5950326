"""Removing secrets from a trace before it is written."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any, Final, TypeVar

from loopmend._json import MAX_DEPTH
from loopmend.reading.turn import Failure, Repair, Turn
from loopmend.traces.secret_names import Rule, rule_of
from loopmend.traces.trace import Step, Trace

__all__ = ["Redactor", "redact_secrets"]

T = TypeVar("T")

_SECRET: Final = "secret"  # noqa: S105 - the group of a pattern that is replaced
_VALUES: Final = ("default", "const", "enum", "example", "examples")
"""What of a JSON schema holds values."""
_TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")

Place = tuple[int, int]
# A piece of text that was replaced: where it stood, and what the end moved by.
Edit = tuple[int, int, int]


@dataclass(frozen=True)
class Redactor:
    """Replaces secrets in all text of a trace.

    It adjusts the positions in a step's text to the replacements. E-mail addresses are not secrets
    by default; add a pattern if yours are.

    >>> redact = Redactor([r"ACME-[0-9]+", r"badge (?P<secret>[0-9]+)"])
    >>> redact(Trace(answer="ACME-17 has badge 4711 and sk-abcdefghij0k1m2n3p4")).answer
    '[redacted] has badge [redacted] and [redacted]'
    """

    patterns: Iterable[str | re.Pattern[str]] = ()
    """Your own patterns; if a pattern has a group `secret`, only that group is replaced."""
    defaults: bool = True
    """Whether common shapes of keys, and values named `password` and the like, count as secrets."""
    replacement: str = "[redacted]"

    def __post_init__(self) -> None:
        own = tuple(re.compile(pattern) for pattern in self.patterns)
        object.__setattr__(self, "patterns", own)

    def __call__(self, trace: Trace) -> Trace:
        """Return the trace without its secrets.

        Raises:
            ValueError: It is nested deeper than can be written.
        """
        return self._value(trace, 0)

    def text(self, text: str) -> str:
        """Return a text without its secrets.

        >>> Redactor().text("export OPENAI_API_KEY=hunter2")
        'export OPENAI_API_KEY=[redacted]'
        """
        return self._replaced(text, self._places(text))[0]

    def _places(self, text: str) -> list[Place]:
        found = [_span_of(match) for pattern in self.patterns for match in pattern.finditer(text)]  # type: ignore[union-attr]
        if self.defaults:
            # Imported here: its patterns take long, and who only records does without them.
            from loopmend.traces.secret_places import places_of_secrets

            found += places_of_secrets(text)
        return _merged(found)

    def _replaced(self, text: str, places: list[Place]) -> tuple[str, list[Edit]]:
        parts, edits, done, shift = [], [], 0, 0
        for start, end in places:
            parts += [text[done:start], self.replacement]
            shift += len(self.replacement) - (end - start)
            edits.append((start, end, shift))
            done = end
        return ("".join((*parts, text[done:])), edits) if places else (text, edits)

    def _value(self, value: T, depth: int, rule: Rule | None = None) -> T:
        """Return a value without secrets; `rule` tells which texts are some by their name."""
        if isinstance(value, Enum) or value is None or isinstance(value, bool):
            return value
        made: Any = value
        if isinstance(value, str):
            return self.replacement if rule and rule(value) else self.text(value)  # type: ignore[return-value]
        if isinstance(value, (int, float)):
            return self.replacement if rule and value and rule(str(value)) else value  # type: ignore[return-value]
        if depth > MAX_DEPTH:
            msg = f"nested deeper than {MAX_DEPTH} levels"
            raise ValueError(msg)
        if isinstance(value, Mapping):
            made = self._mapping(value, depth + 1, rule)
        elif isinstance(value, (list, tuple)):
            items = self._items(value, depth + 1, rule)
            made = items if isinstance(value, list) else tuple(items)
        elif is_dataclass(value) and not isinstance(value, type):
            made = self._dataclass(value, depth + 1)
        return made  # type: ignore[no-any-return]

    def _mapping(self, value: Mapping[Any, Any], depth: int, rule: Rule | None) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        schema = value.get("type") in _TYPES if isinstance(value.get("type"), str) else False
        # `{"name": "API_KEY", "value": …}`, as settings are listed.
        named = self._rule(value.get("name", value.get("key")))
        for key, item in value.items():
            clean = self._value(key, depth)
            # Two keys that are both secrets must not become one.
            while clean in made:
                clean = f"{clean}'"
            inherited = None if schema and key not in _VALUES else rule
            own = self._rule(key) or (named if key == "value" else None)
            made[clean] = self._value(item, depth, own if inherited is None else inherited)
        return made

    def _rule(self, name: Any) -> Rule | None:
        return rule_of(name) if self.defaults and isinstance(name, str) else None

    def _items(self, value: Sequence[Any], depth: int, rule: Rule | None) -> list[Any]:
        """Return items without secrets; one may go over several texts, or follow an option."""
        if rule is None and len(value) > 1 and all(isinstance(item, str) for item in value):
            return self._pieces(list(value))
        return [self._value(item, depth, rule) for item in value]

    def _pieces(self, pieces: list[str]) -> list[str]:
        """Return texts without secrets; one that goes over a border is replaced on both sides."""
        joined = self._places("".join(pieces))
        made: list[str] = []
        begin = 0
        option: Rule | None = None
        for piece in pieces:
            places = self._places(piece)
            end = begin + len(piece)
            at = max(bisect_right(joined, (begin, begin)) - 1, 0)
            for place in joined[at : bisect_left(joined, (end, end))]:
                places.append((max(place[0], begin) - begin, min(place[1], end) - begin))
            if option is not None and option(piece):
                places = [(0, len(piece))]
            made.append(self._replaced(piece, _merged(places))[0])
            option = self._rule(piece) if piece.startswith("-") and "=" not in piece else None
            begin = end
        return made

    def _dataclass(self, value: Any, depth: int) -> Any:
        changes = {}
        for field in fields(value):
            old = getattr(value, field.name)
            new = old if _is_fixed(field, old) else self._value(old, depth)
            if new is not old:
                changes[field.name] = new
        made = replace(value, **changes) if changes else value
        if isinstance(made, Step) and made.turn is not None and "text" in changes:
            edits = self._replaced(value.text, self._places(value.text))[1]
            made = replace(made, turn=_moved(made.turn, edits))
        return made


def redact_secrets(trace: Trace) -> Trace:
    """Return the trace without keys, tokens and passwords of common shapes.

    >>> redact_secrets(Trace(question="Use ghp_0123456789abcdefghijABCDEFGHIJ012345.")).question
    'Use [redacted].'
    >>> redact_secrets(Trace(metadata={"password": "hunter2"})).metadata
    {'password': '[redacted]'}
    """
    return _COMMON(trace)


_COMMON: Final = Redactor()


def _merged(places: list[Place]) -> list[Place]:
    """Return places in order, those that overlap as one; empty ones are dropped."""
    made: list[Place] = []
    for start, end in sorted(place for place in places if place[0] < place[1]):
        if made and start < made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((start, end))
    return made


def _span_of(match: re.Match[str]) -> Place:
    """Return where the secret of a match stands."""
    return match.span(_SECRET if _SECRET in match.re.groupindex else 0)


def _is_fixed(field: Field[Any], value: Any) -> bool:
    """Tell whether a field holds a word of the format, which no pattern may change."""
    return field.name == "fidelity" or (isinstance(value, str) and value == field.default)


def _moved(turn: Turn, edits: list[Edit]) -> Turn:
    """Point a turn at the same places in the text after it was redacted."""

    def moved(part: T) -> T:
        if not isinstance(part, (Turn, Failure, Repair)):
            return part
        start, end = part.span
        return replace(part, span=(_place(start, edits), _place(end, edits)))

    repairs = tuple(moved(repair) for repair in turn.repairs)
    return replace(moved(turn), failure=moved(turn.failure), repairs=repairs)


def _place(position: int, edits: list[Edit]) -> int:
    """Return where a position is after the edits; one inside a secret goes to its end."""
    before = bisect_left(edits, position, key=lambda edit: edit[0]) - 1
    if before < 0:
        return position
    _, end, shift = edits[before]
    return max(position, end) + shift
