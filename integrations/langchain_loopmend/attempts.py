"""What asking a model again takes in LangChain: its messages, and what its parsers say.

The steps themselves are `loopmend.reading.attempts`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Union

from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.output_parsers import BaseOutputParser

from langchain_loopmend.errors import ActionParseException
from langchain_loopmend.messages import text_of
from loopmend.reading import attempts as core
from loopmend.reading.attempts import (
    Ask,
    Exhausted,
    Parse,
    Steps,
    Tell,
    adrive,
    drive,
    words_about,
)

__all__ = [
    "Ask",
    "Exhausted",
    "Parse",
    "Reply",
    "Steps",
    "Tell",
    "adrive",
    "attempts",
    "correction",
    "drive",
    "follow_up",
    "instructions_of",
    "said_by",
]

Reply = Union[str, BaseMessage]
"""What a language model returns: text, or a message of a chat model."""

_LINK: Final = "\nFor troubleshooting, visit:"


def attempts(
    parser: Any,
    max_retries: int,
    *,
    asked: Callable[[Reply, str], Any],
    first: Any = None,
    reply: Reply | None = None,
) -> Steps:
    """Say what to do until a reply can be parsed or all retries are used up.

    Args:
        parser: The parser, for its corrections only.
        max_retries: How often to ask again; never exceeded.
        asked: Makes the next input of a bad reply and the correction; it keeps the history.
        first: What to ask at first, unless there is a reply already.
        reply: The reply that is there already.
    """
    correct = partial(correction, parser)
    return core.attempts(
        max_retries, correct=correct, asked=asked, said_by=said_by, first=first, reply=reply
    )


def correction(parser: Any, error: Exception, attempt: int) -> str:
    """Return what to tell the model, from whichever parser the error is."""
    if isinstance(error, ActionParseException):
        correct = getattr(parser, "correct", None)
        return error.observation or "" if correct is None else str(correct(error.turn, attempt))
    if isinstance(error, OutputParserException) and error.observation:
        return error.observation
    return words_about(said_by(error), "" if parser is None else instructions_of(parser))


def said_by(error: Exception) -> str:
    """Return what a parser says, without the link for people that LangChain appends."""
    return str(error).partition(_LINK)[0].strip()


def instructions_of(parser: BaseOutputParser[Any]) -> str:
    """Return what a parser tells the model about the form, with no placeholder left in it."""
    try:
        told = parser.get_format_instructions()
    except NotImplementedError:  # LangChain's base class has none, and need not
        return ""
    return told.replace("exactly one of [{tool_names}]", "one of those on offer")


def follow_up(reply: Reply, words: str) -> list[BaseMessage]:
    """Return what is added to a conversation after a bad reply."""
    said = text_of(reply)
    # Providers refuse empty messages, and there is nothing to refer to.
    return [*([AIMessage(said)] if said.strip() else []), HumanMessage(words)]
