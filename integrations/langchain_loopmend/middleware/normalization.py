"""Middleware that corrects a model which breaks the tool protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Annotated, Any, cast

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    OmitFromInput,
)
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Command
from typing_extensions import NotRequired, override

from langchain_loopmend.mending import (
    Mended,
    Mender,
    OnFailure,
    Steps,
    adrive,
    drive,
    is_clean,
)
from langchain_loopmend.middleware.arrivals import Arrived, Listening, as_it_arrived, listen
from langchain_loopmend.schemas import ToolboxCache
from loopmend import MAX_NORMALIZATION_RETRIES, Failure, FailurePattern
from loopmend._arguments import require_int
from loopmend.reading.tools import Toolbox

__all__ = ["NormalizationMiddleware", "NormalizationState"]

Response = ModelResponse[Any]
Result = ModelResponse[Any] | ExtendedModelResponse[Any]


class NormalizationState(AgentState[Any]):
    """The agent's state, with a report for each reply that was not accepted at once."""

    normalization: NotRequired[Annotated[list[dict[str, Any]], OmitFromInput]]


class _Settled(Exception):
    """There is nothing to mend: the reply is clean, or the model node has dealt with it."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


class NormalizationMiddleware(AgentMiddleware[NormalizationState, Any, Any]):
    """Corrects a model that narrates, says nothing, or calls tools in a way that cannot run.

    Natively such a reply ends the run as if it were the answer. Here the model is told what is
    wrong and asked again, at most `max_retries` times per step. Refused replies never reach
    the state; `stream_mode="messages"` shows their tokens all the same. The retries happen
    inside the model node, so `ModelCallLimitMiddleware` does not count them.

    What counts: narrated and empty replies, calls written as text, calls whose arguments are
    broken or cut off (also where streaming hides that), unknown tools, and finish reasons
    such as Gemini's `MALFORMED_FUNCTION_CALL`. An empty reply after a tool's result is a
    normal way to finish.

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
        salvage: bool = False,
        patterns: Collection[FailurePattern | str] | None = None,
        on_failure: OnFailure = "continue",
    ) -> None:
        """Set the limits.

        Args:
            max_retries: How often the model is asked again for one step.
            salvage: Whether a call that was written as text, or whose arguments were broken,
                is made all the same if the tools on offer vouch for it.
            patterns: Which failures to act on; all if left out.
            on_failure: When all corrections were in vain: `"continue"` with the last reply
                (without calls that must not run), raise `NormalizationError` on `"error"`, or
                a function of the verdict and the last reply that returns the reply to use.

        Raises:
            TypeError: `max_retries` is not an `int`.
            ValueError: `max_retries` is negative, or a pattern or `on_failure` is unknown.
        """
        super().__init__()
        require_int(max_retries, "max_retries")
        if max_retries < 0:
            msg = f"max_retries must not be negative, not {max_retries}"
            raise ValueError(msg)
        if not callable(on_failure) and on_failure not in ("continue", "error"):
            msg = f"on_failure must be 'continue', 'error' or a function, not {on_failure!r}"
            raise ValueError(msg)
        chosen = FailurePattern if patterns is None else map(FailurePattern, patterns)
        self._mender = Mender(
            max_retries, salvage=salvage, patterns=frozenset(chosen), on_failure=on_failure
        )
        self._toolboxes = ToolboxCache()
        self._listening = Listening()

    @override
    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Response]
    ) -> Result:
        """Call the model until its reply can be used."""
        tools = self._toolboxes.get(request.tools)
        request = self._listened(request)
        refused: list[Failure] = []

        def ask(added: list[BaseMessage]) -> AIMessage:
            with listen() as arrived:
                response = handler(_asked(request, added))
            return _reply(response, arrived, tools, at_first=not added)

        try:
            return _result(request, drive(self._steps(request, tools, refused), ask))
        except _Settled as settled:
            return _settled(request, settled.response, refused)

    @override
    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[Response]],
    ) -> Result:
        """Call the model until its reply can be used, without blocking."""
        tools = self._toolboxes.get(request.tools)
        request = self._listened(request)
        refused: list[Failure] = []

        async def ask(added: list[BaseMessage]) -> AIMessage:
            with listen() as arrived:
                response = await handler(_asked(request, added))
            return _reply(response, arrived, tools, at_first=not added)

        try:
            return _result(request, await adrive(self._steps(request, tools, refused), ask))
        except _Settled as settled:
            return _settled(request, settled.response, refused)

    def _listened(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        model = self._listening.get(request.model)
        return request if model is request.model else request.override(model=model)

    def _steps(self, request: ModelRequest[Any], tools: Toolbox, refused: list[Failure]) -> Steps:
        # The state's messages: other middleware may have added a nudge to the request's.
        messages = request.state.get("messages") or request.messages
        answered = bool(messages) and isinstance(messages[-1], ToolMessage)
        return self._mender.steps(tools, after_tool_result=answered, refused=refused)


def _asked(request: ModelRequest[Any], added: list[BaseMessage]) -> ModelRequest[Any]:
    return request.override(messages=[*request.messages, *added]) if added else request  # type: ignore[list-item]


def _reply(response: Response, arrived: Arrived, tools: Toolbox, *, at_first: bool) -> AIMessage:
    """Return the one reply of a response, unless there is nothing to mend about it."""
    reply = response.result[0] if len(response.result) == 1 else None
    if response.structured_response is not None or not isinstance(reply, AIMessage):
        raise _Settled(response)
    if arrived:
        reply = as_it_arrived(reply, arrived)
    if at_first and is_clean(reply, tools):
        raise _Settled(response)
    return reply


def _settled(request: ModelRequest[Any], response: Response, refused: list[Failure]) -> Result:
    """Return what the model node dealt with, and the report if replies were refused before."""
    if not refused:
        return response
    mended = Mended(cast("AIMessage", response.result[0]), tuple(refused), "mended")
    return _reported(request, response, mended)


def _result(request: ModelRequest[Any], mended: Mended) -> Result:
    response: Response = ModelResponse(result=[mended.message])
    return _reported(request, response, mended) if mended.refused else response


def _reported(request: ModelRequest[Any], response: Response, mended: Mended) -> Result:
    # Added up here: a reducer would cost every step of every run, mended or not.
    earlier: Any = request.state.get("normalization") or []
    update = {"normalization": [*earlier, mended.report()]}
    return ExtendedModelResponse(model_response=response, command=Command(update=update))
