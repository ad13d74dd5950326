"""Removing secrets from a trace before it is written."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any, Final, TypeVar, cast

from loopmend._json import MAX_DEPTH
from loopmend.reading.turn import Failure, Repair, Turn
from loopmend.traces.trace import Step, Trace

__all__ = ["Redactor", "redact_secrets"]

T = TypeVar("T")

_SECRET: Final = "secret"  # noqa: S105 - the group of a pattern that is replaced
_NAMES: Final = (
    r"(?:api[_-]?key|access[_-]?key(?:[_-]?id)?|secret[_-]?(?:access[_-]?)?key|private[_-]?key"
    r"|(?:access|auth|refresh|session|bearer|id)[_-]?token|(?:client|app|shared)[_-]?secret"
    r"|password|passwd|passphrase|pwd(?!\W{1,6}/))"
)
# What the whole name of a field may end in besides; a token of a page is no secret.
_KEY: Final = re.compile(
    rf"(?!.*(?:page|next|continu|cursor|count|max|num|total)).*"
    rf"(?:{_NAMES}|token|secret|authorization|cookie)",
    re.IGNORECASE | re.DOTALL,
)
# Each pattern comes with words of which its text holds one in any case: to look for a word is a
# hundred times as fast. It starts where nothing of its own kind stands before it, or at a fixed
# word, so that a long run that fails in the end is gone through once.
_SHAPES: Final = (
    # A key that is cut off is one all the same.
    (
        (
            r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            r"(?P<secret>[\w+/=\s\\:,.]*(?:-(?!----)[\w+/=\s\\:,.]*)*)"
        ),
        ("private key",),
    ),
    (r"(?<![\w-])(?P<secret>eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*)", ("eyj",)),
    (r"(?<![\w-])(?P<secret>sk-(?=[\w-]*[0-9])[\w-]{16,})", ("sk-",)),
    (r"(?<!\w)(?P<secret>[sr]k_(?:live|test)_[A-Za-z0-9]{16,})", ("k_live_", "k_test_")),
    (r"(?<![A-Z0-9])(?P<secret>A(?:KI|SI)A[A-Z0-9]{16})(?![A-Z0-9])", ("akia", "asia")),
    (
        r"(?<!\w)(?P<secret>(?:gh[opsur]_|github_pat_|glpat-|hf_)[\w-]{20,})",
        ("gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "hf_"),
    ),
    (r"(?<![\w-])(?P<secret>xox[a-z]-[\w-]{10,})", ("xox",)),
    (r"(?<![\w-])(?P<secret>AIza[\w-]{35})(?![\w-])", ("aiza",)),
    (r"(?i:\bbearer\s{1,8})(?!\[redacted\])(?P<secret>[\w.~+/-]{16,}=*)", ("bearer",)),
    (
        (
            r"(?i:\bauthorization\\{0,3}[\"']?\s{0,8}[:=]\s{0,8}\\{0,3}[\"']?"
            r"(?:bearer|basic|token)\s{1,8})(?!\[redacted\])(?P<secret>[^\s\"'\\,;]+)"
        ),
        ("authorization",),
    ),
    (
        (
            rf"(?=[aAbBcCiIpPrRsS])(?i:{_NAMES}\\{{0,3}}[\"']?\s{{0,8}}(?:=>|:=|[:=])\s{{0,8}})"
            r"(?:\\{0,3}[\"'](?!\[redacted\])(?P<secret>[^\"'\n\\]+)"
            r"|(?!\[redacted\]|(?i:none|null|true|false)\b)(?P<bare>[^\s\"'\\,;&{}()\[\]<>]+))"
        ),
        ("key", "token", "secret", "passw", "passphrase", "pwd"),
    ),
    # The password of an address such as postgres://user:password@host.
    (
        r"(?<=://)[^\s/:@\"']{1,100}:(?!\[redacted\])(?P<secret>[^\s/:@\"']{1,200})(?=@)",
        ("://",),
    ),
)
_DEFAULTS: Final = tuple((re.compile(pattern), words) for pattern, words in _SHAPES)

# A piece of text that was replaced: where it stood, and what the end moved by.
Edit = tuple[int, int, int]


@dataclass(frozen=True)
class Redactor:
    """Replaces secrets in all text of a trace.

    It moves places in a step's text along with the replacements. By default e-mail addresses
    are not secrets; add a pattern if yours are.

    >>> redact = Redactor([r"ACME-[0-9]+", r"badge (?P<secret>[0-9]+)"])
    >>> redact(Trace(answer="ACME-17 has badge 4711 and sk-abcdefghij0123456789")).answer
    '[redacted] has badge [redacted] and [redacted]'
    """

    patterns: Iterable[str | re.Pattern[str]] = ()
    """More secrets; if a pattern has a group named `secret`, only that group is replaced."""
    defaults: bool = True
    """Whether common shapes of keys, and fields such as `password`, count as secrets."""
    replacement: str = "[redacted]"

    def __post_init__(self) -> None:
        own = tuple(re.compile(pattern) for pattern in self.patterns)
        object.__setattr__(self, "patterns", own)
        always = tuple((pattern, ("",)) for pattern in own)
        object.__setattr__(self, "_all", (*_DEFAULTS, *always) if self.defaults else always)

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
        return self._edited(text)[0]

    def _edited(self, text: str) -> tuple[str, list[list[Edit]]]:
        """Return the text without its secrets, and what each pattern replaced."""
        passes = []
        lowered = text.lower()
        patterns: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = self.__dict__["_all"]
        for pattern, words in patterns:
            if not any(word in lowered for word in words):
                continue
            spans = [_span_of(match) for match in pattern.finditer(text)]
            spans = [(start, end) for start, end in spans if start < end]
            if spans:
                text, edits = self._replaced(text, spans)
                passes.append(edits)
        return text, passes

    def _replaced(self, text: str, spans: list[tuple[int, int]]) -> tuple[str, list[Edit]]:
        parts, edits, done, shift = [], [], 0, 0
        for start, end in spans:
            parts += [text[done:start], self.replacement]
            shift += len(self.replacement) - (end - start)
            edits.append((start, end, shift))
            done = end
        return "".join((*parts, text[done:])), edits

    def _value(self, value: T, depth: int) -> T:
        if isinstance(value, Enum):
            return value
        if isinstance(value, str):
            clean = self.text(value)
            return cast("T", value if clean == value else clean)
        if depth > MAX_DEPTH:
            msg = f"nested deeper than {MAX_DEPTH} levels"
            raise ValueError(msg)
        made: Any = value
        if isinstance(value, Mapping):
            made = self._mapping(value, depth + 1)
        elif isinstance(value, (list, tuple)):
            items = [self._value(item, depth + 1) for item in value]
            made = items if isinstance(value, list) else tuple(items)
        elif is_dataclass(value) and not isinstance(value, type):
            made = self._dataclass(value, depth + 1)
        return made  # type: ignore[no-any-return]

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, item in value.items():
            clean = self._value(key, depth)
            # Two keys that are both secrets must not become one.
            while clean in made:
                clean = f"{clean}'"
            hidden = self.defaults and _is_secret(key, item)
            made[clean] = self.replacement if hidden else self._value(item, depth)
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
            made = replace(made, turn=_moved(made.turn, self._edited(value.text)[1]))
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


def _span_of(match: re.Match[str]) -> tuple[int, int]:
    """Return where the secret of a match stands."""
    named = match.re.groupindex
    if _SECRET not in named:
        return match.span()
    return match.span("bare" if "bare" in named and match[_SECRET] is None else _SECRET)


def _is_secret(key: Any, item: Any) -> bool:
    if not isinstance(key, str) or isinstance(item, bool):
        return False
    return bool(item) and isinstance(item, (str, int)) and _KEY.fullmatch(key) is not None


def _is_fixed(field: Field[Any], value: Any) -> bool:
    """Tell whether a field holds a word of the format, which no pattern may change."""
    return field.name == "fidelity" or (isinstance(value, str) and value == field.default)


def _moved(turn: Turn, passes: list[list[Edit]]) -> Turn:
    """Point a turn at the same places in the text after it was redacted."""

    def moved(part: T) -> T:
        if not isinstance(part, (Turn, Failure, Repair)):
            return part
        start, end = part.span
        return replace(part, span=(_place(start, passes), _place(end, passes)))

    repairs = tuple(moved(repair) for repair in turn.repairs)
    return replace(moved(turn), failure=moved(turn.failure), repairs=repairs)


def _place(position: int, passes: list[list[Edit]]) -> int:
    """Return where a position is after the edits; one inside a secret goes to its end."""
    for edits in passes:
        before = bisect_right(edits, position, key=lambda edit: edit[0]) - 1
        if before >= 0:
            start, end, shift = edits[before]
            if position > start:
                position = max(position, end) + shift
            elif before > 0:
                position += edits[before - 1][2]
    return position
