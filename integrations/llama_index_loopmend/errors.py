"""What the parsers raise.

```
ValueError                   the only kind that LlamaIndex's ReAct agent asks again for
└── ActionParseException     a model's reply that cannot be read for sure
```
"""

from __future__ import annotations

from typing import Any

from loopmend import Failure, Turn

__all__ = ["ActionParseException"]


class ActionParseException(ValueError):
    """A model's reply cannot be read for sure.

    Its message is `observation`, because LlamaIndex's own `ReActAgent` sends the message of
    the error to the model. The reply itself is not repeated in it.

    >>> from llama_index_loopmend.parsers import TolerantReActOutputParser
    >>> try:
    ...     TolerantReActOutputParser().parse("Action: search")
    ... except ActionParseException as error:
    ...     print(error.failure.pattern.value, "|", error.observation[:63])
    missing_input | Your last reply cannot be used. The action search has no input.
    """

    llm_output: str
    """What the model said."""
    turn: Turn
    """What could be read of it."""
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
