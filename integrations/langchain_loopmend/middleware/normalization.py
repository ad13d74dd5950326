"""Middleware that corrects a model that breaks the tool protocol."""

from __future__ import annotations

from collections.abc import Collection, Coroutine
from typing import Annotated, Any

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import ModelRequest, OmitFromInput
from typing_extensions import NotRequired, override

from langchain_loopmend.mending import Constrain
from langchain_loopmend.middleware.model_calls import Handler, ModelCallMiddleware, Result
from langchain_loopmend.middleware.model_exchanges import ModelExchange, Setup
from loopmend import FailurePattern, RetryPolicy
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import OnFailure, check_on_failure

__all__ = ["NormalizationMiddleware", "NormalizationState", "ToolCallingMiddleware"]


class NormalizationState(AgentState[Any]):
    """The agent's state, with a report for each reply that was not accepted at once."""

    normalization: NotRequired[Annotated[list[dict[str, Any]], OmitFromInput]]


class NormalizationMiddleware(ModelCallMiddleware[NormalizationState]):
    """Corrects a model that only describes calls, says nothing, or makes calls that cannot run.

    Without loopmend such a reply ends the run as if it were the answer. This middleware makes a
    call that the model wrote as text if it is complete and fits its tool. Otherwise it asks the
    model again, at most `max_retries` times per step, and has the provider decode by a schema of
    the actions if it can. Refused replies never reach the state; if you stream tokens, a custom
    event `loopmend_retry` says which to retract. Put it anywhere in the list: it knows the tools
    that the model receives in the end.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models import FakeListChatModel
        >>> class Model(FakeListChatModel):
        ...     def bind_tools(self, tools, **kwargs):
        ...         return self
        >>> def search(query: str) -> str:
        ...     "Search the web."
        ...     return "Norway"
        >>> model = Model(responses=["Let me search for that.", "It is in Norway."])
        >>> agent = create_agent(model, [search], middleware=[NormalizationMiddleware()])
        >>> result = agent.invoke({"messages": [("user", "Where is Oslo?")]})
        >>> result["messages"][-1].content, result["normalization"][0]["patterns"]
        ('It is in Norway.', ['narrated'])
    """

    state_schema = NormalizationState

    def __init__(
        self,
        *,
        max_retries: int = MAX_NORMALIZATION_RETRIES,
        salvage: bool | Collection[str] = True,
        constrain: Constrain = "retry",
        patterns: Collection[FailurePattern | str] | None = None,
        on_failure: OnFailure = "return",
    ) -> None:
        """Set the limits.

        Args:
            max_retries: The maximum number of retries for one step.
            salvage: Whether to make calls that the model wrote as text: all, none, or only to
                these tools.
            constrain: When to have the provider decode by a JSON schema of the actions, if it
                can: from the first retry on, always or never.
            patterns: The failures to act on; by default all.
            on_failure: After the last retry, `"return"` the last reply without calls that must not
                run, `"raise"` a `NormalizationError`, or a function of the verdict and the last
                reply that returns the reply to use.

        Raises:
            TypeError: `max_retries` is not an `int`.
            ValueError: `max_retries` is negative, or an option is unknown.
        """
        super().__init__()
        check_on_failure(on_failure)
        chosen: dict[str, Any] = {} if patterns is None else {"patterns": patterns}
        policy = RetryPolicy(max_retries, salvage, constrain, **chosen)
        self._setup = Setup(policy, on_failure)

    @override
    def _around(
        self, request: ModelRequest[Any], handler: Handler, *, waits: bool
    ) -> Coroutine[Any, Any, Result]:
        return ModelExchange(self._setup, request, handler, waits=waits).result()


class ToolCallingMiddleware(NormalizationMiddleware):
    """Turns any model whose provider decodes by a JSON schema into a tool-calling agent.

    The model sees each tool as a signature, and its provider lets it write only a call that
    fits one of them, or an answer. It needs no tool calling of its own. Put other middleware that
    adds or selects tools before it in the list.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_loopmend.testing import DecodingChatModel
        >>> def search(query: str) -> str:
        ...     "Search the web."
        ...     return "in Norway"
        >>> model = DecodingChatModel(script=[
        ...     '{"type": "tool_call", "name": "search", "arguments": {"query": "Oslo"}}',
        ...     '{"type": "final", "content": "In Norway."}',
        ... ])
        >>> agent = create_agent(model, [search], middleware=[ToolCallingMiddleware()])
        >>> agent.invoke({"messages": [("user", "Where is Oslo?")]})["messages"][-1].content
        'In Norway.'
    """

    def __init__(
        self,
        *,
        max_retries: int = MAX_NORMALIZATION_RETRIES,
        on_failure: OnFailure = "return",
    ) -> None:
        """Set the limits, as for `NormalizationMiddleware`."""
        super().__init__(max_retries=max_retries, constrain="always", on_failure=on_failure)
