"""The error that the parsers raise.

```
ValueError                   the only kind for which LlamaIndex's ReAct agent asks again
└── ActionParseException     a model's reply that cannot be read with certainty
```
"""

from __future__ import annotations

from typing import Any

from loopmend import Failure, Turn

__all__ = ["ActionParseException"]


class ActionParseException(ValueError):
    """A model's reply that cannot be read with certainty.

    Its message is `observation`, because LlamaIndex's own `ReActAgent` sends the message of
    the error to the model. It does not repeat the reply.

    >>> from llama_index_loopmend.parsers import TolerantReActOutputParser
    >>> try:
    ...     TolerantReActOutputParser().parse("Action: search")
    ... except ActionParseException as error:
    ...     print(error.failure.pattern.value, "|", error.observation.splitlines()[0])
    missing_input | The tool call has no input.
    """

    llm_output: str
    """What the model said."""
    turn: Turn
    """What the reader could make out."""
    failure: Failure
    """Why that is not enough."""
    observation: str
    """What to tell the model about it."""
    retries: int
    """How often the model was asked again before this was raised."""

    def __init__(self, llm_output: str, turn: Turn, failure: Failure, observation: str) -> None:
        super().__init__(observation)
        self.llm_output = llm_output
        self.turn = turn
        self.failure = failure
        self.observation = observation
        self.retries = 0

    def __reduce__(self) -> tuple[type[ActionParseException], tuple[Any, ...], dict[str, Any]]:
        """Rebuild from the parts, so that the error survives pools of processes."""
        parts = (self.llm_output, self.turn, self.failure, self.observation)
        return type(self), parts, {"retries": self.retries}
