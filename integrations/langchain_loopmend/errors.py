"""What the adapters raise.

```
OutputParserException (LangChain's, a ValueError)
└── ActionParseException     a model's reply that cannot be read for sure
LoopmendError (the core's)
└── NormalizationError       a model that kept breaking the tool protocol
```
"""

from __future__ import annotations

from typing import Any

from langchain_core.exceptions import OutputParserException

from loopmend import Failure, GiveUp, LoopmendError, Turn

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


class NormalizationError(LoopmendError):
    """A model kept breaking the tool protocol, however often it was corrected.

    >>> from loopmend import Failure, FailurePattern, GiveUp
    >>> failure = Failure(FailurePattern.EMPTY, "Nothing was said.", (0, 0))
    >>> NormalizationError(GiveUp(failure, attempts=2))
    NormalizationError('The model was corrected 2 times, but: Nothing was said.')
    """

    def __init__(self, given_up: GiveUp) -> None:
        times = f"{given_up.attempts} time{'s' * (given_up.attempts != 1)}"
        super().__init__(f"The model was corrected {times}, but: {given_up.failure.message}")
        self.given_up = given_up
        self.failure = given_up.failure

    def __reduce__(self) -> tuple[type[NormalizationError], tuple[GiveUp]]:
        """Rebuild from the verdict."""
        return type(self), (self.given_up,)
