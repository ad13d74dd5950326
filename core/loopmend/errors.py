"""The errors loopmend raises.

```
LoopmendError
├── ActionParseError            a model's text is not an action (also a ValueError)
│   ├── InvalidJson             not strict JSON, or a field of the wrong type
│   ├── MissingField            no usable `type` field
│   └── UnknownType             a `type` that names no action
├── CapError                    a run reached its cap (in `mending.caps`)
├── NormalizationError          a model kept breaking the tool protocol (in `mending.steps`)
└── TraceFormatError            a line is not a recorded trace (also a ValueError)
```

Arguments that are not text at all raise `TypeError`. For any text that a model may write,
you get a value, never an exception.
"""

from __future__ import annotations

from typing import Final, Literal

from loopmend._repr import without_controls

__all__ = [
    "ActionParseError",
    "InvalidJson",
    "LoopmendError",
    "MissingField",
    "TraceFormatError",
    "UnknownType",
]

_LONGEST: Final = 1000
JsonErrorCategory = Literal["syntax", "eof", "data"]


class LoopmendError(Exception):
    """Base of every error that loopmend raises on purpose.

    >>> issubclass(ActionParseError, LoopmendError)
    True
    """


class ActionParseError(LoopmendError, ValueError):
    """Raised by `parse_action` when the text is not one of the three actions.

    Catch this one to tell "the model did not follow the protocol" from a bug.

    >>> from loopmend.contracts import parse_action
    >>> try:
    ...     parse_action("Sure! Here is the action:")
    ... except ActionParseError as error:
    ...     print(type(error).__name__, repr(error.text))
    InvalidJson 'Sure! Here is the action:'
    """

    text: str
    """The text that the parser received."""


class InvalidJson(ActionParseError):
    """The text is not strict JSON, or a field of the action has the wrong type.

    >>> from loopmend.contracts import parse_action
    >>> try:
    ...     parse_action('{"type": "final", "content": NaN}')
    ... except InvalidJson as error:
    ...     print(error.category, error.position, error.line, error.column)
    syntax 29 1 30
    """

    reason: str
    """The reason, in a few words."""
    position: int | None
    """Offset into `text` where decoding stopped; `None` when a field is at fault."""
    category: JsonErrorCategory
    """`"syntax"`, `"eof"` when the text ends too early, `"data"` when a field is at fault."""

    def __init__(
        self,
        reason: str,
        text: str = "",
        position: int | None = None,
        category: JsonErrorCategory = "syntax",
    ) -> None:
        super().__init__(reason, text, position, category)
        self.reason = reason
        self.text = text
        self.position = position
        self.category = category

    @property
    def line(self) -> int | None:
        """Line of `position`, from 1."""
        return None if self.position is None else self.text.count("\n", 0, self.position) + 1

    @property
    def column(self) -> int | None:
        """Column of `position`, from 1."""
        return (
            None if self.position is None else self.position - self._line_start(self.position) + 1
        )

    def _line_start(self, position: int) -> int:
        return self.text.rfind("\n", 0, position) + 1

    def __str__(self) -> str:
        place = "" if self.position is None else f" at line {self.line} column {self.column}"
        return f"invalid JSON: {self.reason}{place}"


class MissingField(ActionParseError):
    """The JSON is not an object, or its `type` is absent or not a string.

    >>> from loopmend.contracts import parse_action
    >>> try:
    ...     parse_action('{"name": "search", "arguments": {}}')
    ... except MissingField as error:
    ...     print(error, "/", error.field)
    missing required field: type / type
    """

    field: str
    """Name of the field."""

    def __init__(self, field: str, text: str = "") -> None:
        super().__init__(field, text)
        self.field = field
        self.text = text

    def __str__(self) -> str:
        return f"missing required field: {self.field}"


class UnknownType(ActionParseError):
    """The `type` is a string, but none of `final`, `tool_call` and `ask_user`.

    >>> from loopmend.contracts import parse_action
    >>> try:
    ...     parse_action('{"type": "explode"}')
    ... except UnknownType as error:
    ...     print(error, "/", error.type)
    unknown action type: explode / explode
    """

    type: str
    """The type that the model asked for."""

    def __init__(self, type: str, text: str = "") -> None:
        super().__init__(type, text)
        self.type = type
        self.text = text

    def __str__(self) -> str:
        return f"unknown action type: {self.type}"


class TraceFormatError(LoopmendError, ValueError):
    """A line is not a trace, or has a version that this package does not support.

    >>> from loopmend import Trace
    >>> Trace.from_json("{}")
    Traceback (most recent call last):
        ...
    loopmend.errors.TraceFormatError: unsupported trace version None (supported: 1)
    """

    def __init__(self, message: str = "") -> None:
        # It repeats words of a file that anybody may have written.
        said = without_controls(message[: _LONGEST + 1])
        super().__init__(said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…")
