"""The members of an object without JSON: on lines of their own, or as arguments of its type.

`name: Ann` or `Person(name="Ann")` is a value only because the schema knows each key, and because
nothing else is said in the reply: no list of words would tell which words take it back.
"""

from __future__ import annotations

import re
from typing import Any, Final

from loopmend.reading.alignment import by_fold, folded
from loopmend.reading.lenient import Scanner
from loopmend.reading.placeholders import is_placeholder
from loopmend.reading.pythonic import read_call
from loopmend.reading.quotations import CLOSERS, QUOTES
from loopmend.reading.scalars import LenientError
from loopmend.reading.schema import Schema
from loopmend.reading.turn import Repair
from loopmend.reading.values import Value

__all__ = ["written_members"]

_MOST_LINES: Final = 1000
_LONGEST_LINE: Final = 4000
_MEMBER: Final = re.compile(
    r"(?P<lead>[ \t]*(?:[-*+\u2022][ \t]+)?(?P<mark>[*_]{0,3})(?P<quote>[\"'`]?))"
    r"(?P<key>[^\W_](?:[\w .\-]{0,58}\w)?)(?P=quote)(?P<inner>[:\uff1a])?(?P=mark)[ \t]*"
    r"(?P<sign>(?(inner)|[:\uff1a]))(?P<value>.*)"
)
_YAML_ITEM: Final = re.compile(r"\s*-\s+[\"']?")
"""A list of objects with one member each, in YAML."""
# Nothing, or one fence: any word may take the value back.
_AROUND: Final = re.compile(r"(?:(?P<fence>`{3,}|~{3,})[\w+\-]*[ \t]*\r?\n[\s.;]*(?P=fence)|[.;]?)")
# What means something else at the start of a value, or in it may end it or begin a comment.
_UNCLEAR: Final = re.compile(
    r"[|>&!*#%@~<,;:=]|[-?](?:\s|\Z)|.*?(?:\s(?:#|//)|[,;\\]\Z|\*\*|__|`)", re.DOTALL
)
_SIGN: Final = re.compile(r"[:=\uff1a]")
_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST_KEY: Final = 60
_MOST_WORDS: Final = 6
_WORDS_ONLY: Final = frozenset({"string", "null"})
_MISSING: Final = object()


def written_members(text: str, begin: int, wanted: Schema) -> tuple[Value, bool] | None:
    """Return the object whose members a reply gives, and whether nothing else is said.

    Args:
        text: The reply.
        begin: Where it starts to say something.
        wanted: The schema.
    """
    schema = _object(wanted)
    if schema is None:
        return None
    names = [re.escape(name) for name in {wanted.name, schema.get("title")} if name]
    members = _Members(text, begin, wanted, schema)
    return members.called("|".join(names)) or members.listed()


def _object(wanted: Schema) -> dict[str, Any] | None:
    """Return the schema of the only kind of object that a schema takes, if there is one."""
    types = wanted.checker
    schema = types.resolved(wanted.json)
    choices = schema.get("anyOf") or schema.get("oneOf") or [schema]
    parts = [types.resolved(choice) for choice in choices if isinstance(choice, dict)]
    objects = [part for part in parts if types.kinds(part) != {"null"}]
    if len(objects) != 1 or not isinstance(objects[0].get("properties"), dict):
        return None
    return objects[0]


class _Members:
    """Reads the members of the one object that a reply gives."""

    def __init__(self, text: str, begin: int, wanted: Schema, schema: dict[str, Any]) -> None:
        self.text = text
        self.begin = begin
        self.types = wanted.checker
        self.schema = schema
        self.known: dict[str, Any] = schema["properties"]
        self.folds = by_fold(self.known)

    def _name(self, key: str) -> str | None:
        return key if key in self.known else self.folds.get(folded(key))

    def called(self, names: str) -> tuple[Value, bool] | None:
        """Return the arguments of the one call of the schema, and whether it is all there is."""
        if not names:
            return None
        calls = list(re.compile(rf"(?<![\w.])(?:{names})\(").finditer(self.text, self.begin))
        found = read_call(self.text, calls[0].start()) if len(calls) == 1 else None
        if found is None:
            return None
        call, end = found
        start = calls[0].start()
        if call.torn or call.twice or call.bare or call.positional:
            return None
        keys = [self._name(key) for key in call.named]
        if not keys or None in keys or len(set(keys)) < len(keys):
            return None
        value: dict[Any, Any] = dict(zip(keys, call.named.values(), strict=True))
        if any(isinstance(item, str) and is_placeholder(key, item) for key, item in value.items()):
            return None
        whole = _is_nothing(self.text[self.begin : start] + "\n" + self.text[end:])
        repairs = (Repair("call of the schema", (start, end)), *call.repairs)
        return Value(value, start, end, repairs), whole

    def listed(self) -> tuple[Value, bool] | None:
        """Return the members that stand one below the other, and whether they are all there is."""
        lines = self.text[self.begin :].splitlines(keepends=True)
        if len(lines) > _MOST_LINES:
            return None
        at, found = self.begin, list[tuple[int, int, re.Match[str]]]()
        for nth, line in enumerate(lines):
            member = _MEMBER.match(line) if len(line) <= _LONGEST_LINE else None
            if member is not None and self._name(member["key"]) is not None:
                found.append((nth, at, member))
            at += len(line)
        if not found:
            return None
        first, last = found[0][0], found[-1][0]
        inner = [line for line in lines[first : last + 1] if line.strip()]
        leads = {(member["lead"], member["sign"], member["inner"]) for _, _, member in found}
        if len(inner) != len(found) or len(leads) != 1:
            return None
        if _YAML_ITEM.fullmatch(found[0][2]["lead"]):
            return None
        value = self._object_of(found)
        around = "".join([*lines[:first], "\n", *lines[last + 1 :]])
        return None if value is None else (value, _is_nothing(around))

    def _object_of(self, found: list[tuple[int, int, re.Match[str]]]) -> Value | None:
        value: dict[str, Any] = {}
        commas = [member["value"].rstrip().endswith(",") for _, _, member in found]
        listed = len(found) > 1 and all(commas[:-1])
        for _, _, member in found:
            name = self._name(member["key"])
            assert name is not None
            item = self._value(member["value"], self.known[name], listed=listed)
            if item is _MISSING or name in value:
                return None
            if isinstance(item, str) and is_placeholder(name, item):
                return None
            value[name] = item
        if len(value) == 1 and set(value) != set(self.schema.get("required") or ()):
            return None  # a lone line may be a remark
        start, (_, at, member) = found[0][1], found[-1]
        span = (start, at + len(member[0].rstrip()))
        return Value(value, *span, (Repair("members without brackets", span),))

    def _value(self, written: str, schema: Any, *, listed: bool) -> Any:
        """Return what stands behind a key, or `_MISSING` if that is unclear.

        Args:
            written: What stands there.
            schema: What the key takes.
            listed: Whether commas part the members.
        """
        schema = schema if isinstance(schema, dict) else {}
        plain = written.strip()
        body = plain[:-1].rstrip() if listed and plain.endswith(",") else plain
        if not body:
            return _MISSING
        kinds = self.types.kinds(schema)
        words = bool(kinds) and kinds <= _WORDS_ONLY
        scanner = Scanner(body)
        try:
            value = scanner.string() if body[0] in QUOTES else scanner.value()
        except LenientError:
            value = _MISSING
        whole = scanner.at == len(body) and not scanner.torn and scanner.twice is None
        if body[0] in QUOTES or body[0] in CLOSERS:
            return value if whole and not (words and body[0] in CLOSERS) else _MISSING
        if whole and value is not _MISSING and not isinstance(value, str):
            return body if words and value is not None else value
        return _MISSING if _UNCLEAR.match(plain) or self._holds_key(plain) else plain

    def _holds_key(self, plain: str) -> bool:
        """Tell whether a value holds the next member, too."""
        for sign in _SIGN.finditer(plain):
            words = _WORD.findall(plain, max(0, sign.start() - _LONGEST_KEY), sign.start())
            tails = ("_".join(words[-most:]) for most in range(1, 1 + min(len(words), _MOST_WORDS)))
            if any(self._name(tail) is not None for tail in tails):
                return True
        return False


def _is_nothing(around: str) -> bool:
    return _AROUND.fullmatch(around.strip()) is not None
