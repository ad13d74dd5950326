"""Middleware that corrects a model that breaks the tool protocol."""

from __future__ import annotations

from collections.abc import Collection, Coroutine
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Annotated, Any, Final, cast

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    OmitFromInput,
)
from langchain.agents.structured_output import StructuredOutputError
from langchain_core.messages import AIMessage
from langgraph.types import Command
from typing_extensions import NotRequired, override

from langchain_loopmend.mending import RETRY_EVENT, Constrain, Exchange
from langchain_loopmend.messages import (
    asked_of,
    constrained_to,
    has_media,
    mended,
    messages_of,
    reply_of,
    settled,
)
from langchain_loopmend.middleware.arrivals import as_it_arrived, listen, listened, may_stream
from langchain_loopmend.middleware.model_calls import (
    Handler,
    ModelCallMiddleware,
    Once,
    Response,
    Result,
)
from langchain_loopmend.middleware.structured_answers import StructuredAnswers
from langchain_loopmend.schemas import decoding_arguments, takes_schema, toolbox, without_tools
from loopmend import Ask, Done, FailurePattern, GaveUp, Mending, RetryPolicy, Turn
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import OnFailure, Retry, check_on_failure, is_clean
from loopmend.reading import Toolbox

__all__ = ["NormalizationMiddleware", "NormalizationState", "ToolCallingMiddleware"]

_CLEAN: Final = Done(Turn())


class NormalizationState(AgentState[Any]):
    """The agent's state, with a report for each reply that was not accepted at once."""

    normalization: NotRequired[Annotated[list[dict[str, Any]], OmitFromInput]]


class NormalizationMiddleware(ModelCallMiddleware[NormalizationState]):
    """Corrects a model that narrates, says nothing, or calls tools in a way that cannot run.

    Without loopmend such a reply ends the run as if it were the answer. This middleware makes a
    call that the model wrote as text if it is complete and fits its tool. Otherwise it asks the
    model again, at most `max_retries` times per step, and has the provider decode by a schema of
    the actions if it can. Refused replies never reach the state; if you stream tokens, a custom
    event `loopmend_retry` says which to retract. Put it anywhere in the list: it knows the tools
    that the model finally got.

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
            patterns: Which failures to act on; all if left out.
            on_failure: After the last retry, `"return"` the last reply without calls that must not
                run, `"raise"` a `NormalizationError`, or a function of the verdict and the last
                reply that returns the reply to use.

        Raises:
            TypeError: `max_retries` is not an `int`.
            ValueError: `max_retries` is negative, or an option is unknown.
        """
        super().__init__()
        check_on_failure(on_failure)
        chosen = FailurePattern if patterns is None else map(FailurePattern, patterns)
        policy = RetryPolicy(max_retries, salvage, constrain, patterns=frozenset(chosen))
        self._setup = _Setup(policy, on_failure)

    @override
    def _around(
        self, request: ModelRequest[Any], handler: Handler, *, waits: bool
    ) -> Coroutine[Any, Any, Result]:
        return _ModelExchange(self._setup, request, handler, waits=waits).result()


class ToolCallingMiddleware(NormalizationMiddleware):
    """Turns any model whose provider decodes by a JSON schema into a tool-calling agent.

    The model sees the tools by their signatures, and its provider lets it write only a call that
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


class _Setup:
    """What a middleware is set to, and what it keeps from one call to the next."""

    def __init__(self, policy: RetryPolicy, on_failure: OnFailure) -> None:
        self.policy = policy
        self.on_failure = on_failure
        self.listened = Once(listened)
        self.answers = Once(StructuredAnswers)
        self.toolbox = Once(lambda *tools: toolbox(tools))


@dataclass(init=False)
class _Watched(ModelRequest[Any]):
    """A request that knows the latest one made from it.

    Other middleware may change the tools behind ours; each change makes a new request.
    """

    seen: list[ModelRequest[Any]] = field(default_factory=list)

    def __init__(self, *, seen: list[ModelRequest[Any]], **given: Any) -> None:
        super().__init__(**given)
        object.__setattr__(self, "seen", seen)
        seen[:] = [self]

    @classmethod
    def of(cls, request: ModelRequest[Any], model: Any) -> _Watched:
        """Return a request like another one; `__init__` would take longer than all of the rest."""
        made = object.__new__(cls)
        vars(made).update(vars(request), model=model, seen=[made])
        return made


class _Constrained(ModelRequest[Any]):
    """A request without tools, whoever offers some behind us: the schema says what is on offer.

    Some providers refuse both at once.
    """

    def __init__(self, *, model_settings: dict[str, Any], **given: Any) -> None:
        given |= {"tools": [], "tool_choice": None}
        super().__init__(model_settings=without_tools(model_settings), **given)


class _ModelExchange(Exchange):
    """One call of the model node: what is asked, and what comes of it."""

    _error: StructuredOutputError | None = None
    _first = Ask()

    def __init__(
        self, setup: _Setup, request: ModelRequest[Any], handler: Handler, *, waits: bool
    ) -> None:
        self.llm = model = request.model
        self.waits = waits
        # Listening takes time.
        model = setup.listened.get(model) if may_stream(model) else model
        self._request = _Watched.of(request, model)
        self._setup = setup
        self._handler = handler
        format = request.response_format
        wanted = self._wanted = None if format is None else setup.answers.get(format)
        self._by_provider = wanted is not None and wanted.by_provider

    async def result(self) -> Result:
        """Call the model until its reply can be used, and return what the model node takes."""
        if self._setup.policy.constrain == "always":  # else most replies need no loop
            _ = self.mending
        outcome = await self.run(self._first)
        if outcome is _CLEAN:
            return cast("Response", self.reply)
        response = (self._ended if isinstance(outcome, GaveUp) else self._response)(outcome)
        if not outcome.refused:
            return response
        # Added up here: a reducer would cost every step of every run, mended or not.
        earlier: Any = self._request.state.get("normalization") or []
        update: dict[str, Any] = {"normalization": [*earlier, outcome.report()]}
        if isinstance(outcome, GaveUp) and self._wanted is not None:
            # Without tools LangChain would ask for the structured answer again, without end.
            update["jump_to"] = "end"
        return ExtendedModelResponse(model_response=response, command=Command(update=update))

    @cached_property
    def mending(self) -> Mending:  # type: ignore[override] # made when it is needed
        """The loop, which knows the tools that the model was really offered."""
        request, wanted, policy = self._request, self._wanted, self._setup.policy
        # The state's messages: other middleware may have added a nudge to the request's.
        asked = asked_of(request.state.get("messages") or request.messages)
        asked |= {"holds_more": has_media(request.messages)}
        can = wanted is None and bool(policy.constrain)
        schemas = {} if wanted is None else wanted.schemas
        mending = Mending(
            self._tools(),
            schema=next(iter(schemas.values())) if self._by_provider else None,
            answers=None if self._by_provider else schemas,
            policy=policy,
            can_constrain=can and takes_schema(self.llm),
        )
        self._first = mending.start(**asked)
        return mending

    def _tools(self) -> Toolbox:
        """Return the tools that the model was offered, as far as anybody changed them."""
        own = [] if self._wanted is None or self._by_provider else self._wanted.tools
        return cast("Toolbox", self._setup.toolbox.get(*self._request.seen[0].tools, *own))

    @override
    def ask(self, step: Ask) -> Coroutine[Any, Any, Response]:
        streams = self._request.model is not self.llm
        return self._heard(step) if streams else self._handled(step)

    async def _heard(self, step: Ask) -> Response:
        """Ask a model that may stream, and look at what really arrives."""
        with listen() as arrived:
            response = await self._handled(step)
        reply = response.result[0] if response.result else None
        if arrived and isinstance(reply, AIMessage):
            whole = as_it_arrived(reply, arrived)
            return response if whole is reply else ModelResponse(result=[whole])
        return response

    @override
    async def tell(self, retry: Retry) -> None:
        await super().tell(retry)
        if self._request.runtime is not None:
            # `stream_mode="custom"` does not show the events of callbacks.
            self._request.runtime.stream_writer({RETRY_EVENT: retry.data()})

    async def _handled(self, step: Ask) -> Response:
        if step.retry is not None:
            await self.tell(step.retry)
        self._error, request = None, self._asking(step)
        response: Response
        try:
            response = await self._handler(request) if self.waits else self._handler(request)
        except StructuredOutputError as error:
            reply = getattr(error, "ai_message", None)
            if self._wanted is None or not isinstance(reply, AIMessage):
                raise  # it is not ours to mend
            self._error = error
            # Only where the provider decodes does a reply without calls fail.
            self._by_provider = self._by_provider or not reply.tool_calls
            return ModelResponse(result=[reply])
        return response

    def _asking(self, step: Ask) -> ModelRequest[Any]:
        request: ModelRequest[Any] = self._request
        if step.schema is None:
            if not step.messages:
                return request
            added: list[Any] = messages_of(step.messages)
            return request.override(messages=[*request.messages, *added])
        told = [] if request.system_message is None else [request.system_message]
        system, *rest = constrained_to([*told, *request.messages], step, self._tools())
        decoding = decoding_arguments(request.model, step.schema)
        given = {each.name: getattr(request, each.name) for each in fields(ModelRequest)}
        given |= {"system_message": system, "messages": rest}
        given["model_settings"] = {**request.model_settings, **decoding}
        return _Constrained(**given)

    @override
    async def judge(self, reply: Response) -> Any:
        self.reply = reply
        result, wanted = reply.result, self._wanted
        message = result[0] if result and reply.structured_response is None else None
        several = wanted is None and len(result) > 1
        if several or not isinstance(message, AIMessage):
            return self._accepted()
        said = reply_of(message)
        if is_clean(said, self._tools(), None if wanted is None else wanted.schemas):
            return self._accepted()
        words = None if wanted is None else wanted.own_words(reply)
        return self.mending.reply(said, words=words)

    def _accepted(self) -> Done:
        return self.mending.accept() if "mending" in self.__dict__ else _CLEAN

    @property
    def _message(self) -> AIMessage | None:
        """What the model said last, if it said anything."""
        first = self.reply.result[0] if self.reply is not None and self.reply.result else None
        return first if isinstance(first, AIMessage) else None

    def _response(self, done: Done) -> Response:
        message = cast("AIMessage", self._message)  # without one there is nothing to mend
        reply = mended(message, done)
        if self._wanted is not None and done.reading is not None and done.reading.ok:
            return cast("Response", self._wanted.response(reply, done.value))
        if self._error is not None:  # what there would be without us
            raise self._error
        return cast("Response", self.reply) if reply is message else ModelResponse(result=[reply])

    def _ended(self, outcome: GaveUp) -> Response:
        error, on_failure = outcome.error(), self._setup.on_failure
        if self._error is not None:
            error.__cause__ = outcome.cause or self._error
            if on_failure == "return" and self._wanted is not None and self._wanted.raises:
                raise self._error
        return ModelResponse(result=[settled(self._message, outcome, on_failure, error)])
