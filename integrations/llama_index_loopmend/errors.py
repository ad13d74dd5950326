"""The errors that the parsers raise.

```
ValueError                   the only kind for which LlamaIndex's ReAct agent asks again
├── ActionParseException     a model's reply that cannot be read with certainty
└── ValueParseException      a model's reply that holds no value of the schema for sure
```
"""

from __future__ import annotations

from typing import Any

from loopmend import Failure, JsonReading, Turn

__all__ = ["ActionParseException", "ValueParseException"]


class _ParseException(ValueError):
    """Its message is `observation`, because LlamaIndex's `ReActAgent` sends it to the model."""

    llm_output: str
    """The model's reply."""
    failure: Failure
    """What is wrong with it."""
    observation: str
    """The correction for the model."""
    retries: int
    """How often loopmend asked again before it raised this."""

    def __init__(self, llm_output: str, read: Any, failure: Failure, observation: str) -> None:
        super().__init__(observation)
        self.llm_output = llm_output
        self.failure = failure
        self.observation = observation
        self.retries = 0
        self._read = read

    def __reduce__(self) -> tuple[type[_ParseException], tuple[Any, ...], dict[str, Any]]:
        """Rebuild from the parts, so that the error survives pools of processes."""
        parts = (self.llm_output, self._read, self.failure, self.observation)
        return type(self), parts, {"retries": self.retries}


class ActionParseException(_ParseException):
    """A model's reply whose meaning is not certain.

    Its message is `observation`, because LlamaIndex's own `ReActAgent` sends the message of
    the error to the model. It does not repeat the reply.

    >>> from llama_index_loopmend.parsers import TolerantReActOutputParser
    >>> try:
    ...     TolerantReActOutputParser().parse("Action: search")
    ... except ActionParseException as error:
    ...     print(error.failure.pattern.value, "|", error.observation.splitlines()[0])
    missing_input | The tool call has no input.
    """

    @property
    def turn(self) -> Turn:
        """What the reader could make out."""
        return self._read  # type: ignore[no-any-return] # as it was given


class ValueParseException(_ParseException):
    """A model's reply without a certain value of the schema.

    >>> from llama_index_loopmend.value_parsers import PydanticOutputParser
    >>> try:
    ...     PydanticOutputParser(dict[str, int]).parse('{"Oslo": "many"}')
    ... except ValueParseException as error:
    ...     print(error.failure.message)
    `Oslo` must be an integer, not a string.
    """

    @property
    def reading(self) -> JsonReading:
        """What the reader could make out."""
        return self._read  # type: ignore[no-any-return] # as it was given
