"""The errors that the adapter raises, and what errors of parsers say about a reply.

```
OutputParserException (LangChain's, a ValueError)
├── ActionParseException     a model's reply that cannot be read with certainty
└── ValueParseException      a model's reply without a certain value of the schema
NormalizationError           a model that kept breaking the tool protocol (the core's)
```
"""

from __future__ import annotations

import json
from typing import Any, Final

from langchain_core.exceptions import OutputParserException

from loopmend import Failure, FailurePattern, JsonReading, NormalizationError, Turn
from loopmend.mending import cut_reason, parser_correction

__all__ = [
    "ActionParseException",
    "NormalizationError",
    "ValueParseException",
    "correction_of",
    "failure_of",
    "instructions_of",
    "reason_in",
]

_LINK: Final = "\nFor troubleshooting, visit:"


class _Refusal(OutputParserException):
    failure: Failure
    """What is wrong with the reply."""
    _parts: tuple[Any, ...]

    def __init__(self, message: str, failure: Failure, observation: str, llm_output: str) -> None:
        # Given as text, LangChain would append a link that agents then read as model output.
        super().__init__(ValueError(message), observation, llm_output, send_to_llm=True)
        self.args = (message,)
        self.failure = failure

    def __reduce__(self) -> tuple[type[_Refusal], tuple[Any, ...]]:
        """Rebuild from the parts, so that the error survives pools of processes."""
        return type(self), self._parts


class ActionParseException(_Refusal):
    """A model's reply whose meaning is not certain.

    Its message starts like LangChain's own, so code that strips that prefix gets the reply;
    unlike LangChain's, it has no link at the end. `AgentExecutor` sends `observation` back to the
    model.

    >>> from langchain_loopmend import AgentActionOutputParser
    >>> try:
    ...     AgentActionOutputParser().parse("Action: search")
    ... except ActionParseException as error:
    ...     print(error, error.failure.pattern.value, error.send_to_llm)
    Could not parse LLM output: `Action: search` missing_input True
    """

    turn: Turn
    """The reader's result."""

    def __init__(self, llm_output: str, turn: Turn, failure: Failure, observation: str) -> None:
        message = f"Could not parse LLM output: `{llm_output}`"
        super().__init__(message, failure, observation, llm_output)
        self.turn = turn
        self._parts = llm_output, turn, failure, observation


class ValueParseException(_Refusal):
    """A model's reply without a certain value of the schema.

    Its message starts like LangChain's own, without the link at the end; `observation` says what
    to tell the model.

    >>> from langchain_loopmend import JsonOutputParser
    >>> try:
    ...     JsonOutputParser().parse('{"reason": "beca')
    ... except ValueParseException as error:
    ...     print(error, "|", error.failure.message)
    Invalid json output: {"reason": "beca | The reply stops in the middle of the value.
    """

    reading: JsonReading
    """The reader's result."""

    def __init__(
        self, llm_output: str, reading: JsonReading, failure: Failure, observation: str, name: str
    ) -> None:
        message = f"Invalid json output: {llm_output}"
        if failure.pattern is FailurePattern.BAD_VALUE:
            data = json.dumps(reading.data, ensure_ascii=False, default=str)
            message = f"Failed to parse {name} from completion {data}. Got: {failure.message}"
        super().__init__(message, failure, observation, llm_output)
        self.reading = reading
        self._parts = llm_output, reading, failure, observation, name


def reason_in(error: Exception) -> str:
    """Return what a parser says, without the link for people that LangChain appends."""
    return str(error).partition(_LINK)[0].strip()


def failure_of(error: Exception) -> Failure:
    """Return what a parser says in loopmend's terms."""
    if isinstance(error, _Refusal):
        return error.failure
    return Failure(FailurePattern.MALFORMED, cut_reason(reason_in(error)), (0, 0))


def instructions_of(parser: Any) -> str:
    """Return what a parser tells the model about the form, with no placeholder left in it."""
    try:
        told = str(parser.get_format_instructions())
    except (NotImplementedError, AttributeError):  # LangChain's base class has none, and need not
        return ""
    return told.replace("exactly one of [{tool_names}]", "one of the available tools")


def correction_of(parser: Any, error: Exception) -> str | None:
    """Return a parser's own words for the model; `None` if the core has better ones."""
    if isinstance(error, _Refusal):
        return error.observation if parser is None else None
    if isinstance(error, OutputParserException) and error.observation:
        return error.observation
    return parser_correction(reason_in(error), instructions_of(parser))
