"""Reading a reply into a value: any text, any schema."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from loopmend._arguments import not_text
from loopmend.reading.decoding import repaired_value
from loopmend.reading.disowning import is_disowned
from loopmend.reading.excerpts import Excerpt, Excerpts, is_bracket, unopened_value
from loopmend.reading.judgement import JsonReading, exact, judged, loses_digits, refused, stopped
from loopmend.reading.lexicon import Role
from loopmend.reading.pairs import NO_JSON, TwiceError, codec_at_hand, value_or_none
from loopmend.reading.plain_values import plain_value
from loopmend.reading.said_values import said_value
from loopmend.reading.scalars import LEFT_OUT, LenientError
from loopmend.reading.schema import Schema, schema_of
from loopmend.reading.templates import echoes_schema, may_hold_slot
from loopmend.reading.turn import Failure, FailurePattern, ReadingConfig
from loopmend.reading.values import Value
from loopmend.reading.written_members import written_members

__all__ = ["JsonReading", "fit_value", "rank", "read_json"]

_DEFAULT: Final = ReadingConfig()
_IN_A_SENTENCE: Final = 2
_STOPS: Final = "The reply stops in the middle of the value."
_LEFT_OUT: Final = "The value leaves parts out."
_SEVERAL: Final = "Several values fit, and it is unclear which one is meant."
_DISOWNED: Final = "The sentence around the value says that it is not the answer."
P: Final = FailurePattern


def read_json(text: str, schema: Any = None, *, config: ReadingConfig = _DEFAULT) -> JsonReading:
    """Read the value in a model's reply, or say why there is no certain one.

    The value may stand between prose, fences, thinking and tags. Its quotes, commas, comments and
    literals may be wrong as long as their meaning is certain. If the reply contains several values,
    the one that it calls its answer counts, else the first that fits the schema, or without a
    schema the first. If several values fit and words stand between them, or follow on the answer,
    it is unclear which one is meant, and that is a failure. So are a duplicate key, a truncated
    value, a placeholder, and a schema instead of a value.

    Args:
        text: The reply.
        schema: The value's schema: a pydantic model, a dataclass, a `TypedDict`, any other type
            that pydantic knows, a `TypeAdapter`, or a JSON Schema; `None` for any value.
        config: How to read. With `salvage` you also get the part of a truncated value that arrived.
            With `strict` a value that needs repair is a failure.

    Raises:
        TypeError: `text` is not a `str`, or `schema` describes no type.
        ValueError: `schema` is an invalid JSON Schema.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class City:
    ...     name: str
    ...     inhabitants: int
    >>> read_json("Sure! {name: 'Oslo', inhabitants: '717710'}", City).value
    City(name='Oslo', inhabitants=717710)
    >>> read_json('{"name": "Oslo"}', City).failure.message
    '`inhabitants` is missing: an integer.'
    """
    if not isinstance(text, str):
        raise not_text(text, "text")
    wanted = None if schema is None else schema_of(schema)
    plain = text.strip()
    start = 0 if plain is text else text.find(plain)
    try:
        data = value_or_none(
            plain, codec_at_hand(load=wanted is not None and wanted.adapter is not None)
        )
    except TwiceError as error:
        whole: Value | None = Value(None, start, start + len(plain), twice=error.key)
    except ValueError:
        whole = None
    else:
        if data is NO_JSON:
            return _by(config, _broken(text, start, wanted, salvage=config.salvage))
        span = (start, start + len(plain))
        if not isinstance(data, str) and not may_hold_slot(plain):
            # Nothing but JSON that fits, as most replies are.
            if wanted is None:
                return exact(data, span, data)
            if (clean := _clean(data, plain, span, wanted)) is not None:
                return clean
        whole = Value(data, *span)
    if whole is not None and (reading := _alone(text, whole, wanted)) is not None:
        return _by(config, reading)
    return _by(config, _Reply(text, wanted, salvage=config.salvage).read())


def _broken(text: str, start: int, wanted: Schema | None, *, salvage: bool) -> JsonReading:
    """Read a reply that is not simply JSON, from where it starts."""
    if not is_bracket(text, start):
        return _Reply(text, wanted, salvage=salvage).read()
    try:
        known = repaired_value(text, start)
    except LenientError as error:
        return _unreadable(text, error)
    if known.end == len(text) or not text[known.end :].strip():
        return _found(text, known, wanted, salvage=salvage)  # it is all there is, as most are
    return _Reply(text, wanted, salvage=salvage).read(known)


def _alone(text: str, whole: Value, wanted: Schema | None) -> JsonReading | None:
    """Return what a value says that is all of a text, unless that takes another look."""
    reading = judged(text, whole, wanted)
    # A string may be a value that was encoded twice, or an answer in words.
    certain = not isinstance(whole.value, str) or (reading.ok and wanted is not None)
    return reading if certain else None


def _clean(data: Any, text: str, span: tuple[int, int], wanted: Schema) -> JsonReading | None:
    """Return quickly what a reply says that is nothing but JSON that fits."""
    if not wanted.numbered and echoes_schema(data, wanted):
        return None
    if wanted.decimal and loses_digits(text, data):
        return None
    try:
        return exact(wanted.clean(data, text), span, data)
    except ValueError:
        return None


def fit_value(value: Any, schema: Any = None, *, config: ReadingConfig = _DEFAULT) -> JsonReading:
    """Fit decoded data to a schema as `read_json` does, for a client that decodes replies itself.

    >>> fit_value({"a": "1"}, {"properties": {"a": {"type": "integer"}}}).value
    {'a': 1}
    """
    if isinstance(value, str):
        return read_json(value, schema, config=config)
    wanted = schema_of(schema)
    return _by(config, judged("", Value(value, 0, 0), wanted, hinted=False))


def _by(config: ReadingConfig, reading: JsonReading) -> JsonReading:
    if config.strict and reading.ok and reading.fidelity != "exact":
        what = reading.repairs[0].what if reading.repairs else "its form"
        failure = Failure(P.MALFORMED, f"The value needs repair: {what}.", reading.span)
        return replace(reading, value=None, failure=failure)
    return reading


class _Reply:
    """Reads one reply that is not simply JSON."""

    def __init__(self, text: str, wanted: Schema | None, *, salvage: bool) -> None:
        self.text = text
        self.wanted = wanted
        self.salvage = salvage

    def read(self, known: Value | None = None) -> JsonReading:
        """Read it.

        Args:
            known: The value that it starts with, if that is known.
        """
        text = self.text
        if not text.strip():
            return _nothing(text, P.EMPTY, "The reply is empty.")
        if known is None and (unopened := unopened_value(text)) is not None:
            return self._found(unopened)
        plain = plain_value(self.text)
        alone = None if plain is None else self._found(plain)
        if alone is not None and (alone.ok or alone.fidelity == "salvaged"):
            return alone
        excerpts = Excerpts(self.text, known)
        written, whole = self._written(excerpts)
        if written is not None and written.ok and whole:
            return written
        reading = self._chosen(excerpts)
        if reading is not None and (reading.ok or reading.fidelity == "salvaged"):
            if written is not None and written.ok and written.data != reading.data:
                return refused(reading, P.MALFORMED, _SEVERAL)
            return reading
        if excerpts.broken:
            return self._none(excerpts)
        said = None if self.wanted is None else self._said(excerpts)
        told = written if whole else None
        return said or reading or alone or told or self._none(excerpts)

    def _chosen(self, excerpts: Excerpts) -> JsonReading | None:
        """Return the first value that fits, else what is wrong with the first."""
        failed: JsonReading | None = None
        answers = [excerpt for excerpt in excerpts.found if excerpt.role is Role.ANSWER]
        ranked = sorted(answers or excerpts.found, key=rank)
        for nth, excerpt in enumerate(ranked):
            if self.wanted is None and not excerpt.apart and isinstance(excerpt.value.value, list):
                continue  # `[1]` in a sentence is a remark
            reading = self._judged(excerpt)
            if reading.ok and len(excerpts.found) > 1 and _is_lone_item(reading, excerpt.value):
                reading = refused(reading, P.MALFORMED, "Several values stand for one list.")
            if reading.ok and rank(excerpt) >= _IN_A_SENTENCE and self._is_disowned(excerpt.value):
                reading = refused(reading, P.MALFORMED, _DISOWNED)
            if reading.ok:
                rest = ranked[nth + 1 :] + (excerpts.behind(excerpt) if answers else [])
                return self._uncontested(reading, excerpt, rest)
            if failed is None:
                failed = reading
            skipped = reading.failure is not None and reading.failure.pattern is P.TEMPLATE_ECHO
            if self.wanted is None and not skipped:
                break
        return failed

    def _is_disowned(self, found: Value) -> bool:
        return is_disowned(self.text[: found.start], self.text[found.end :])

    def _uncontested(
        self, reading: JsonReading, excerpt: Excerpt, rest: list[Excerpt]
    ) -> JsonReading:
        """Refuse a value if another one fits, too, and words stand between or before them.

        Of values that follow each other without a word, the first is the one. What words say of
        them nobody can know, in any language: one may be an example, a draft, a correction.
        """
        if self.wanted is None:
            return reading
        shown = excerpt.role is Role.SHOWN or excerpt.told or excerpt.listed
        for other in rest:
            # One that stands apart is given, and one in a sentence is only mentioned.
            mentioned = rank(other) >= _IN_A_SENTENCE > rank(excerpt)
            if not shown and (mentioned or other.row == excerpt.row):
                continue
            rival = self._judged(other)
            if rival.ok and rival.data != reading.data:
                return refused(reading, P.MALFORMED, _SEVERAL)
        return reading

    def _judged(self, excerpt: Excerpt) -> JsonReading:
        if excerpt.listed and self.wanted is None:
            span = (excerpt.value.start, excerpt.value.end)
            message = "The reply has several values, separated by commas."
            return JsonReading(failure=Failure(P.MALFORMED, message, span), span=span)
        return self._found(excerpt.value)

    def _found(self, found: Value) -> JsonReading:
        return _found(self.text, found, self.wanted, salvage=self.salvage)

    def _written(self, excerpts: Excerpts) -> tuple[JsonReading | None, bool]:
        """Return the object whose members stand without brackets, and whether it is all there is.

        Beside words it is no value, but it may contradict one.
        """
        if self.wanted is None or excerpts.broken or excerpts.unfinished_thought:
            return None, False
        found = written_members(self.text, excerpts.visible, self.wanted)
        return (judged(self.text, found[0], self.wanted), found[1]) if found else (None, False)

    def _said(self, excerpts: Excerpts) -> JsonReading | None:
        """Return the value that a reply without JSON says in words."""
        assert self.wanted is not None
        if excerpts.unfinished_thought or any(each.apart for each in excerpts.found):
            return None
        found = said_value(self.text, excerpts.visible, self.wanted)
        return None if found is None else judged(self.text, found, self.wanted)

    def _none(self, excerpts: Excerpts) -> JsonReading:
        text = self.text
        if excerpts.unfinished_thought:
            return _nothing(text, P.TRUNCATED, "The reply stops while the model is thinking.")
        if excerpts.error is None:
            return _nothing(text, P.NO_ACTION, "The reply contains no JSON.")
        return _unreadable(text, excerpts.error)


def _found(text: str, found: Value, wanted: Schema | None, *, salvage: bool) -> JsonReading:
    """Return what a value that was found says."""
    if not found.torn:
        return judged(text, found, wanted)
    left_out = LEFT_OUT in [repair.what for repair in found.repairs]
    torn = stopped(found, _LEFT_OUT if left_out else _STOPS)
    if not salvage:
        return torn
    reading = judged(text, found, wanted)
    if not reading.ok:
        return replace(reading, whole=False)
    return replace(reading, failure=torn.failure, fidelity="salvaged", whole=False)


def _unreadable(text: str, error: LenientError) -> JsonReading:
    message = f"The JSON cannot be parsed: {error.reason} at position {error.position}."
    return _nothing(text, P.MALFORMED, message)


def _nothing(text: str, pattern: FailurePattern, message: str) -> JsonReading:
    span = (0, len(text))
    return JsonReading(failure=Failure(pattern, message, span), whole=False, span=span)


def _is_lone_item(reading: JsonReading, found: Value) -> bool:
    """Tell whether a list was made of one value; if there are more, it would lose them."""
    return isinstance(reading.data, list) and not isinstance(found.value, list)


def rank(excerpt: Excerpt) -> int:
    """Return how likely a value is to be the one that was asked for; the lowest is likeliest."""
    if excerpt.fenced:
        return 0
    if excerpt.apart:
        return 1
    return _IN_A_SENTENCE + (not isinstance(excerpt.value.value, dict))
