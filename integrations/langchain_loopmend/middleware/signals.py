"""Middleware that records what a model says about its own progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    OmitFromInput,
)
from langchain_core.messages import AIMessage
from langgraph.types import Command
from typing_extensions import NotRequired, override

from langchain_loopmend.messages import text_of, without_calls
from langchain_loopmend.middleware.model_calls import (
    Handler,
    ModelCallMiddleware,
    Response,
    Result,
)
from loopmend import ReadingConfig, read_turn
from loopmend.contracts import MetaSignal, Stuck, Yield, to_data

__all__ = ["MetaSignalMiddleware", "MetaSignalState"]

_ALL: Final = ReadingConfig()
_TAGS: Final = ReadingConfig(detect_signals="tags")
OnSignal = Callable[[MetaSignal, AIMessage], AIMessage | None]


class MetaSignalState(AgentState[Any]):
    """The agent's state, with the signals of its replies, oldest first."""

    meta_signals: NotRequired[Annotated[list[dict[str, Any]], OmitFromInput]]


class MetaSignalMiddleware(ModelCallMiddleware[MetaSignalState]):
    """Records whether the model answers, doubts, is stuck, yields or thinks aloud.

    A model that is stuck or yields ends the run: the middleware drops the calls next to that
    signal. Next to calls only explicit tags count, because phrases are too weak.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models import FakeListChatModel
        >>> model = FakeListChatModel(responses=["<stuck><attempt>searched</attempt></stuck>"])
        >>> agent = create_agent(model, middleware=[MetaSignalMiddleware()])
        >>> agent.invoke({"messages": [("user", "Find it.")]})["meta_signals"][0]["kind"]
        'Stuck'
    """

    state_schema = MetaSignalState

    def __init__(self, *, end: bool = True, on_signal: OnSignal | None = None) -> None:
        """Set what to do about signals.

        Args:
            end: Whether a reply that is stuck or yields ends the run despite its calls.
            on_signal: Called with each signal and the reply; may return another reply.
        """
        super().__init__()
        self._end = end
        self._on_signal = on_signal

    @override
    async def _around(self, request: ModelRequest[Any], handler: Handler, *, waits: bool) -> Result:
        response: Response = await handler(request) if waits else handler(request)
        reply = response.result[0] if response.result else None
        if not isinstance(reply, AIMessage):
            return response
        text = text_of(reply)
        config = _TAGS if reply.tool_calls else _ALL
        signal = read_turn(text, config=config).signal if text else None
        if signal is None:
            return response
        earlier: Any = request.state.get("meta_signals") or []
        mended = self._mended(reply, signal)
        result = [mended, *response.result[1:]]
        return ExtendedModelResponse(
            model_response=ModelResponse(result, response.structured_response),
            command=Command(update={"meta_signals": [*earlier, to_data(signal)]}),
        )

    def _mended(self, reply: AIMessage, signal: MetaSignal) -> AIMessage:
        if self._end and reply.tool_calls and isinstance(signal, (Stuck, Yield)):
            reply = without_calls(reply)
        chosen = self._on_signal(signal, reply) if self._on_signal is not None else None
        return reply if chosen is None else chosen
