"""What the adapters raise.

```
OutputParserException (LangChain's, a ValueError)
└── ActionParseException     a model's reply that cannot be read for sure
NormalizationError           a model that kept breaking the tool protocol (the core's)
```
"""

from __future__ import annotations

from typing import Any

from langchain_core.exceptions import OutputParserException

from loopmend import Failure, Turn
from loopmend.reading.retry import NormalizationError

__all__ = ["ActionParseException", "NormalizationError"]


class ActionParseException(OutputParserException):
    """A model's reply cannot be read for sure.

    Its message starts as LangChain's own does, so that code which strips that prefix gets
    the reply; unlike LangChain's it carries no link for people at the end. `AgentExecutor`
    sends `observation` back to the model.

    >>> from langchain_loopmend import AgentActionOutputParser
    >>> try:
    ...     AgentActionOutputParser().parse("Action: search")
    ... except ActionParseException as error:
    ...     print(error, error.failure.pattern.value, error.send_to_llm)
    Could not parse LLM output: `Action: search` missing_input True
    """

    turn: Turn
    """What could be read."""
    failure: Failure
    """Why that is not enough."""

    def __init__(self, llm_output: str, turn: Turn, failure: Failure, observation: str) -> None:
        message = f"Could not parse LLM output: `{llm_output}`"
        # Given as text, LangChain would append a link that agents then read as model output.
        super().__init__(ValueError(message), observation, llm_output, send_to_llm=True)
        self.args = (message,)
        self.turn = turn
        self.failure = failure

    def __reduce__(self) -> tuple[type[ActionParseException], tuple[Any, ...]]:
        """Rebuild from the parts, so that the error survives pools of processes."""
        return type(self), (self.llm_output, self.turn, self.failure, self.observation)
