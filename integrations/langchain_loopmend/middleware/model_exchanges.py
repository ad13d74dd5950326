"""One call of the model node: what is asked until the reply can be used, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from operator import is_
from typing import Any, Final, cast

from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.structured_output import StructuredOutputError
from langchain_core.messages import AIMessage
from langgraph.types import Command
from pydantic import ValidationError
from typing_extensions import override

from langchain_loopmend.mending import Exchange
from langchain_loopmend.messages import (
    asked_of,
    constrained_to,
    mended,
    reply_of,
    settled,
)
from langchain_loopmend.middleware.arrivals import Arrivals, may_stream
from langchain_loopmend.middleware.model_calls import Handler, Response, Result
from langchain_loopmend.middleware.structured_answers import StructuredAnswers
from langchain_loopmend.schemas import decoding_arguments, takes_schema, toolbox, without_tools
from loopmend import Ask, Done, GaveUp, Mending, RetryPolicy, Turn
from loopmend.mending import OnFailure, is_clean
from loopmend.reading import Toolbox

__all__ = ["ModelExchange", "Once", "Setup"]

_CLEAN: Final = Done(Turn())
_FIRST: Final = Ask()
_NO_ANSWERS: Final = StructuredAnswers(None)


def _toolbox(*tools: Any) -> Toolbox:
    return toolbox(tools)


@dataclass
class Once:
    """What is made of something, kept from one call to the next as long as that is the same."""

    make: Callable[..., Any]
    # In one piece: other threads may change it meanwhile.
    _last: tuple[tuple[Any, ...], Any] = (), None

    def get(self, *given: Any) -> Any:
        """Return what is made of these objects, the same as last time if they are."""
        known, made = self._last
        if len(known) != len(given) or not all(map(is_, known, given)) or not given:
            made = self.make(*given)
            self._last = given, made
        return made


@dataclass
class Setup:
    """What a middleware is set to, and what it keeps from one call to the next."""

    policy: RetryPolicy
    on_failure: OnFailure
    answers: Once = field(default_factory=partial(Once, StructuredAnswers))
    toolbox: Once = field(default_factory=partial(Once, _toolbox))


@dataclass(init=False)
class _Watched(ModelRequest[Any]):
    """A request that knows the latest one made from it.

    Other middleware may change the tools behind ours; each change makes a new request. One that
    makes the provider decode has no tools, whoever offers some: the schema says what is on offer,
    and some providers refuse both at once.
    """

    seen: list[ModelRequest[Any]] = field(default_factory=list)
    decodes: bool = False

    def __init__(
        self, *, seen: list[ModelRequest[Any]], decodes: bool = False, **given: Any
    ) -> None:
        if decodes:
            settings = without_tools(given["model_settings"])
            given |= {"tools": [], "tool_choice": None, "model_settings": settings}
            given["response_format"] = None
        super().__init__(**given)
        vars(self).update(seen=seen, decodes=decodes)
        if not decodes:
            seen[:] = [self]

    @classmethod
    def of(cls, request: ModelRequest[Any]) -> _Watched:
        """Return a request like another one; `__init__` would take longer than all of the rest."""
        made = object.__new__(cls)
        vars(made).update(vars(request), seen=[made])
        return made


class ModelExchange(Exchange):
    """One call of the model node."""

    _error: StructuredOutputError | None = None
    _mending: Mending | None = None
    _wanted = _NO_ANSWERS
    _by_provider = False

    def __init__(
        self, setup: Setup, request: ModelRequest[Any], handler: Handler, *, waits: bool
    ) -> None:
        self.llm = request.model
        self.waits = waits
        self.heard = []
        self._setup = setup
        self._handler = handler
        if request.response_format is not None:
            self._wanted = setup.answers.get(request.response_format)
            self._by_provider = self._wanted.by_provider
        # Listening takes time.
        self._listens = may_stream(self.llm) or (self._wanted.schemas and not self._by_provider)
        self._request = _Watched.of(request)

    async def result(self) -> Result:
        """Call the model until its reply can be used, and return what the model node takes."""
        always = self._setup.policy.constrain == "always"
        outcome = await self.run(self._start() if always else _FIRST)
        if outcome is _CLEAN:
            reply: Response = self.reply
            return reply
        response = (self._ended if isinstance(outcome, GaveUp) else self._response)(outcome)
        if not outcome.refused:
            return response
        # Added up here: a reducer would cost every step of every run, mended or not.
        earlier: Any = self._request.state.get("normalization") or []
        update: dict[str, Any] = {"normalization": [*earlier, outcome.report()]}
        if isinstance(outcome, GaveUp) and self._wanted.schemas and not self._calls(response):
            # Without tools LangChain would ask for the structured answer again, without end.
            update["jump_to"] = "end"
        return ExtendedModelResponse(model_response=response, command=Command(update=update))

    def _calls(self, response: Response) -> bool:
        """Tell whether somebody's own `on_failure` calls a tool."""
        message = _message_of(response)
        made = [] if message is None else message.tool_calls
        return any(call["name"] not in self._wanted.schemas for call in made)

    @property
    def mending(self) -> Mending:  # type: ignore[override] # most replies need none
        """The loop, which knows the tools that the model was really offered."""
        if self._mending is None:
            self._start()
        return cast("Mending", self._mending)

    def _start(self) -> Ask:
        request, schemas, policy = self._request, self._wanted.schemas, self._setup.policy
        # The state's messages: other middleware may have added a nudge to the request's.
        told = [request.system_message] if request.system_message else []
        shown = [*told, *request.messages]
        asked = asked_of(request.state.get("messages") or request.messages, shown)
        always = policy.constrain == "always"
        can = (
            bool(policy.constrain) and (always or not self._by_provider) and takes_schema(self.llm)
        )
        # Who writes one action at a time gives the answer as one, too.
        self._by_provider = self._by_provider and not can
        self._runtime = request.runtime
        self._mending = Mending(
            self._tools(),
            schema=next(iter(schemas.values())) if self._by_provider else None,
            answers=None if self._by_provider else schemas,
            policy=policy,
            can_constrain=can,
        )
        return self._mending.start(**asked)

    def _tools(self) -> Toolbox:
        """Return the tools that the model was offered, as far as anybody changed them."""
        offered = self._request.seen[0].tools
        answers = () if self._by_provider else self._wanted.tools
        found: Toolbox = self._setup.toolbox.get(*offered, *answers)
        return found

    @override
    def ask(self, step: Ask) -> Coroutine[Any, Any, Response]:
        return (self._heard if self._listens else self._handled)(step)

    async def _heard(self, step: Ask) -> Response:
        """Ask a model that may stream, and look at what really arrives."""
        arrivals = Arrivals()
        with arrivals.heard():
            try:
                response = await self._handled(step)
            except ValidationError:  # LangChain answers a call that has no id
                last = arrivals.replied
                if last is None or all(call["id"] for call in last.tool_calls):
                    raise
                return ModelResponse(result=[last])
        reply = _message_of(response)
        whole = reply and arrivals.as_arrived(reply)
        return response if whole is None or whole is reply else ModelResponse(result=[whole])

    async def _handled(self, step: Ask) -> Response:
        request = self.put(step) if step.attempt or step.schema else self._request
        self._error = None
        response: Response
        try:
            response = await self._handler(request) if self.waits else self._handler(request)
        except StructuredOutputError as error:
            reply = getattr(error, "ai_message", None)
            if not (self._wanted.schemas and isinstance(reply, AIMessage)):
                raise  # it is not ours to mend
            self._error = error
            # Only where the provider decodes does a reply without calls fail.
            self._by_provider = self._by_provider or not reply.tool_calls
            return ModelResponse(result=[reply])
        return response

    @override
    def put(self, step: Ask) -> Any:
        request: Any = self._request
        if step.schema is None:
            return request.override(
                messages=[*request.messages, *self.told(step, _message_of(self.reply))]
            )
        told = [] if request.system_message is None else [request.system_message]
        system, *rest = constrained_to([*told, *request.messages], step, self.mending.offered)
        settings = {**request.model_settings, **decoding_arguments(self.llm, step.schema)}
        return request.override(
            system_message=system, messages=rest, model_settings=settings, decodes=True
        )

    @override
    async def judge(self, reply: Response) -> Any:
        self.reply = reply
        message, schemas = _message_of(self.reply), self._wanted.schemas
        if message is not None and (schemas or len(reply.result) == 1):
            said, taken = reply_of(message), reply.structured_response is not None
            # Only where the provider decodes is a text taken for the answer.
            self._by_provider = self._by_provider or (taken and not said.calls)
            told = self._mending is not None and not schemas  # then it may repeat that
            if told or not is_clean(said, self._tools(), schemas or None, taken=taken):
                words = self._wanted.own_words(reply) if schemas else None
                return self.mending.reply(said, words=words)
        return _CLEAN if self._mending is None else self._mending.accept()

    def _response(self, done: Done) -> Response:
        message = cast("AIMessage", _message_of(self.reply))  # without one there is nothing to mend
        reply = mended(message, done)
        if done.reading is not None and done.reading.ok:
            return self._wanted.response(reply, done)
        if reply is not message:
            return ModelResponse(result=[reply])
        if self._error is not None:  # what there would be without us
            raise self._error
        response: Response = self.reply
        return response

    def _ended(self, outcome: GaveUp) -> Response:
        error, on_failure = outcome.error(), self._setup.on_failure
        message = _message_of(self.reply)
        if message is not None and reply_of(message).declines:
            return ModelResponse(result=[message])  # a refusal stands
        if self._error is not None:
            error.__cause__ = outcome.cause or self._error
            if on_failure == "return" and self._wanted.raises:
                raise self._error
        return ModelResponse(result=[settled(message, outcome, on_failure, error)])


def _message_of(reply: Response | None) -> AIMessage | None:
    """Return what the model said, if it said anything that can be mended."""
    first = reply.result[0] if reply is not None and reply.result else None
    return first if isinstance(first, AIMessage) else None
