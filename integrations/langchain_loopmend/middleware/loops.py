"""Middleware that notices when a run goes round in circles."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from typing_extensions import override

from loopmend import CallResult, LoopPolicy, Nudge, Stop

__all__ = ["LoopGuardMiddleware"]

Response = ModelResponse[Any]


class LoopGuardMiddleware(AgentMiddleware[Any, Any, Any]):
    """Nudges, then stops, a model that makes the same call with the same result again and again.

    It keeps nothing between steps: the messages since the user's last one tell. The nudge is
    only shown to the model and never kept; the stop is an answer in the model's place, given
    after every call was answered, so that the history stays valid.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models import FakeMessagesListChatModel
        >>> from langchain_core.messages import AIMessage
        >>> class Model(FakeMessagesListChatModel):
        ...     def bind_tools(self, tools, **kwargs):
        ...         return self
        >>> def search(query: str) -> str:
        ...     "Search the web."
        ...     return "nothing found"
        >>> call = {"name": "search", "args": {"query": "Oslo"}}
        >>> replies = [AIMessage("", tool_calls=[{**call, "id": str(n)}]) for n in range(9)]
        >>> agent = create_agent(Model(responses=replies), [search],
        ...                      middleware=[LoopGuardMiddleware(soft=2, hard=3)])
        >>> result = agent.invoke({"messages": [("user", "Where is Oslo?")]})
        >>> result["messages"][-1].content[:40]
        'I stopped: search was called 3 times wit'
    """

    def __init__(
        self,
        *,
        soft: int = 3,
        hard: int = 6,
        window: int = 30,
        exclude_tools: Collection[str] = (),
    ) -> None:
        """Set the limits.

        Args:
            soft: From so many times on the model is told.
            hard: From so many times on the run is ended.
            window: How many of the latest calls count.
            exclude_tools: Tools that may be repeated at will, such as those that poll.

        Raises:
            ValueError: Not `1 < soft <= hard`.
        """
        super().__init__()
        self._policy = LoopPolicy(soft, hard, window, exclude_tools)

    @override
    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Response]
    ) -> Response | AIMessage:
        """Call the model, nudge it, or answer in its place."""
        guarded = self._guarded(request)
        return guarded if isinstance(guarded, AIMessage) else handler(guarded)

    @override
    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[Response]],
    ) -> Response | AIMessage:
        """Call the model without blocking, nudge it, or answer in its place."""
        guarded = self._guarded(request)
        return guarded if isinstance(guarded, AIMessage) else await handler(guarded)

    def _guarded(self, request: ModelRequest[Any]) -> ModelRequest[Any] | AIMessage:
        decision = self._policy.decide(_calls(request.messages))
        if isinstance(decision, Stop):
            return AIMessage(decision.content)
        if isinstance(decision, Nudge):
            return request.override(messages=[*request.messages, HumanMessage(decision.content)])
        return request


def _calls(messages: Sequence[AnyMessage]) -> list[CallResult]:
    """Return the answered calls since the user's last message, oldest first."""
    found: list[CallResult] = []
    results: dict[str, tuple[str, bool]] = {}
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, ToolMessage):
            content = message.content
            told = content if isinstance(content, str) else repr(content)
            results[message.tool_call_id] = told, message.status == "error"
        elif isinstance(message, AIMessage):
            made = [
                CallResult(call["name"], call["args"], *results[call["id"]])
                for call in reversed(message.tool_calls)
                if call["id"] in results
            ]
            # The same call twice in one reply is made at once, not again and again.
            found += [call for at, call in enumerate(made) if call not in made[:at]]
    return found[::-1]
