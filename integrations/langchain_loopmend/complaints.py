"""What a parser says about a reply that it refuses, for people and for the model."""

from __future__ import annotations

from typing import Any, Final

from langchain_core.exceptions import OutputParserException

from langchain_loopmend.errors import ActionParseException, ValueParseException
from loopmend import Failure, FailurePattern

__all__ = ["correction_of", "failure_of", "instructions_of", "said_by"]

_LINK: Final = "\nFor troubleshooting, visit:"
_LONGEST_REASON: Final = 500


def said_by(error: Exception) -> str:
    """Return what a parser says, without the link for people that LangChain appends."""
    return str(error).partition(_LINK)[0].strip()


def failure_of(error: Exception) -> Failure:
    """Return what a parser says in loopmend's terms."""
    failure = getattr(error, "failure", None)
    if isinstance(failure, Failure):
        return failure
    return Failure(FailurePattern.MALFORMED, _cut(said_by(error)), (0, 0))


def instructions_of(parser: Any) -> str:
    """Return what a parser tells the model about the form, with no placeholder left in it."""
    try:
        told = str(parser.get_format_instructions())
    except (NotImplementedError, AttributeError):  # LangChain's base class has none, and need not
        return ""
    return told.replace("exactly one of [{tool_names}]", "one of those on offer")


def correction_of(parser: Any, error: Exception) -> str | None:
    """Return a parser's own words for the model; `None` if the core has better ones."""
    if isinstance(error, (ActionParseException, ValueParseException)):
        return error.observation if parser is None else None
    if isinstance(error, OutputParserException) and error.observation:
        return error.observation
    form = "" if parser is None else instructions_of(parser)
    parts = (f"Your last reply could not be used: {_cut(said_by(error))}", form)
    return "\n\n".join(part for part in parts if part)


def _cut(said: str) -> str:
    return said if len(said) <= _LONGEST_REASON else f"{said[:_LONGEST_REASON]} …"
