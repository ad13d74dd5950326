"""One call of an agent's model: what is asked, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from operator import is_
from typing import Any, Final, cast

from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.structured_output import (
    AutoStrategy,
    OutputToolBinding,
    ProviderStrategy,
    StructuredOutputError,
    ToolStrategy,
)
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command
from typing_extensions import override

from langchain_loopmend.decoding import decoding_arguments, takes_schema, without_tools
from langchain_loopmend.mending import RETRY_EVENT, Exchange
from langchain_loopmend.messages import (
    asked_of,
    core_messages,
    has_media,
    mended,
    messages_of,
    reply_of,
    settled,
    text_of,
)
from langchain_loopmend.middleware.arrivals import Listening, as_it_arrived, listen
from langchain_loopmend.middleware.model_calls import Handler, Response, Result
from langchain_loopmend.schemas import toolbox
from loopmend import Ask, Done, GaveUp, Mending, RetryPolicy, Turn
from loopmend.mending import OnFailure, Retry, constrained, is_clean
from loopmend.reading import Toolbox

__all__ = ["ModelExchange", "Setup"]


_CLEAN: Final = Done(Turn())
_GIVEN: Final = "Returning structured response: {}"


class StructuredAnswers:
    """The structured answers that an agent may end with."""

    def __init__(self, response_format: Any) -> None:
        self.response_format = response_format
        self.by_provider = isinstance(response_format, ProviderStrategy)
        """Whether the provider decodes by the schema; else the model calls a tool."""
        strategy = response_format
        if isinstance(strategy, ProviderStrategy):
            specs = [strategy.schema_spec]
        else:
            if not isinstance(strategy, ToolStrategy):  # LangChain chooses by the model
                auto = isinstance(strategy, AutoStrategy)
                strategy = ToolStrategy(strategy.schema if auto else strategy)
            specs = strategy.schema_specs
        self.schemas: dict[str, Any] = {spec.name: spec.schema for spec in specs}
        self.tools: list[BaseTool] = [OutputToolBinding.from_schema_spec(s).tool for s in specs]
        self.raises = getattr(response_format, "handle_errors", True) is False
        """Whether the user wants LangChain's own error for an answer that does not fit."""
        self._content: str | None = getattr(strategy, "tool_message_content", None)

    @property
    def schema(self) -> Any:
        """What the provider decodes by."""
        return next(iter(self.schemas.values()))

    def own_words(self, response: ModelResponse[Any]) -> str | None:
        """Return the user's own words for a bad answer, if there are any."""
        handles = getattr(self.response_format, "handle_errors", None)
        if not isinstance(handles, str) and (isinstance(handles, type) or not callable(handles)):
            return None
        told = [m for m in response.result if isinstance(m, ToolMessage)]
        return text_of(told[0]) if told else None

    def response(self, reply: AIMessage, value: Any) -> ModelResponse[Any]:
        """Return what LangChain makes of a structured answer."""
        result: list[Any] = [reply]
        call = next((c for c in reply.tool_calls if c["name"] in self.schemas), None)
        if call is not None:
            content, id = self._content or _GIVEN.format(value), cast("str", call["id"])
            result.append(ToolMessage(content, tool_call_id=id, name=call["name"]))
        return ModelResponse(result=result, structured_response=value)


class Setup:
    """What a middleware is set to, and what it keeps from one call to the next."""

    def __init__(self, policy: RetryPolicy, on_failure: OnFailure) -> None:
        self.policy = policy
        self.on_failure = on_failure
        self.listening = Listening()
        # Describing takes time. Other threads may change these meanwhile.
        self._tools: tuple[list[Any], Toolbox] = [], Toolbox([])
        self._answers: StructuredAnswers | None = None

    def toolbox(self, tools: list[Any]) -> Toolbox:
        """Return what the reader needs to know of tools, made once as long as they are the same."""
        known, made = self._tools
        if len(known) != len(tools) or not all(map(is_, known, tools)):
            made = toolbox(tools)
            self._tools = list(tools), made
        return made

    def answers(self, response_format: Any) -> StructuredAnswers | None:
        """Return what an agent may end with, made once as long as the format is the same."""
        if response_format is None:
            return None
        last = self._answers
        if last is None or last.response_format is not response_format:
            self._answers = last = StructuredAnswers(response_format)
        return last


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


class ModelExchange(Exchange):
    """One call of the model node: what is asked, and what comes of it."""

    def __init__(
        self, setup: Setup, request: ModelRequest[Any], handler: Handler, *, waits: bool = False
    ) -> None:
        model = setup.listening.get(request.model)
        super().__init__(request.model, _Watched.of(request, model), waits=waits)
        self._setup = setup
        self._handler = handler
        self._first = Ask()
        self._error: StructuredOutputError | None = None
        self._wanted = wanted = setup.answers(request.response_format)
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
        earlier: Any = self.input.state.get("normalization") or []
        update: dict[str, Any] = {"normalization": [*earlier, outcome.report()]}
        if isinstance(outcome, GaveUp) and self._wanted is not None:
            # Without tools LangChain would ask for the structured answer again, without end.
            update["jump_to"] = "end"
        return ExtendedModelResponse(model_response=response, command=Command(update=update))

    @cached_property
    def mending(self) -> Mending:  # type: ignore[override] # made when it is needed
        """The loop, which knows the tools that the model was really offered."""
        request, wanted, policy = self.input, self._wanted, self._setup.policy
        # The state's messages: other middleware may have added a nudge to the request's.
        asked = asked_of(request.state.get("messages") or request.messages)
        can = wanted is None and bool(policy.constrain) and not has_media(request.messages)
        mending = Mending(
            self._tools(),
            schema=wanted.schema if wanted and self._by_provider else None,
            answers=wanted.schemas if wanted and not self._by_provider else None,
            policy=policy,
            can_constrain=can and takes_schema(self.llm),
        )
        self._first = mending.start(**asked)
        return mending

    def _tools(self) -> Toolbox:
        """Return the tools that the model was offered, as far as anybody changed them."""
        own = [] if self._wanted is None or self._by_provider else self._wanted.tools
        return self._setup.toolbox([*self.input.seen[0].tools, *own])

    @override
    async def ask(self, step: Ask) -> Response:
        if step.retry is not None:
            await self.tell(step.retry)
        self._error = None
        if self.input.model is self.llm:  # it does not stream
            return await self._handled(step)
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
        if self.input.runtime is not None:
            # `stream_mode="custom"` does not show the events of callbacks.
            self.input.runtime.stream_writer({RETRY_EVENT: retry.data()})

    async def _handled(self, step: Ask) -> Response:
        try:
            return await self._handler(self.put(step))
        except StructuredOutputError as error:
            reply = getattr(error, "ai_message", None)
            if self._wanted is None or not isinstance(reply, AIMessage):
                raise  # it is not ours to mend
            self._error = error
            # Only where the provider decodes does a reply without calls fail.
            self._by_provider = self._by_provider or not reply.tool_calls
            return ModelResponse(result=[reply])

    @override
    def put(self, step: Ask) -> ModelRequest[Any]:
        request: ModelRequest[Any] = self.input
        if step.schema is None:
            if not step.messages:
                return request
            added: list[Any] = messages_of(step.messages)
            return request.override(messages=[*request.messages, *added])
        told = [] if request.system_message is None else [request.system_message]
        whole = [*core_messages([*told, *request.messages]), *step.messages]
        system, *rest = messages_of(constrained(whole, self._tools()))
        decoding = decoding_arguments(request.model, step.schema)
        given = {each.name: getattr(request, each.name) for each in fields(ModelRequest)}
        given |= {"system_message": system, "messages": rest}
        given["model_settings"] = {**request.model_settings, **decoding}
        return _Constrained(**given)

    @override
    async def judge(self, reply: Response) -> Any:
        self.reply = reply
        message, wanted = self._message, self._wanted
        several = wanted is None and len(reply.result) > 1
        if reply.structured_response is not None or message is None or several:
            return self._accepted()
        said = reply_of(message)
        answers = None if wanted is None else wanted.schemas
        simple = type(message) is AIMessage and isinstance(message.content, str)
        if simple and is_clean(said, self._tools(), answers):
            return self._accepted()
        words = None if wanted is None else wanted.own_words(reply)
        return self.mending.reply(said, words=words)

    def _accepted(self) -> Done:
        return self.mending.accept() if "mending" in vars(self) else _CLEAN

    @property
    def _message(self) -> AIMessage | None:
        """What the model said last, if it said anything."""
        first = self.reply.result[0] if self.reply is not None and self.reply.result else None
        return first if isinstance(first, AIMessage) else None

    def _response(self, done: Done) -> Response:
        message = cast("AIMessage", self._message)  # without one there is nothing to mend
        reply = mended(message, done)
        if self._wanted is not None and done.reading is not None and done.reading.ok:
            return self._wanted.response(reply, done.value)
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
