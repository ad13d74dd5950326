"""One call of an agent's model: what is asked, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Union, cast

from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.structured_output import StructuredOutputError
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from langchain_loopmend.decoding import (
    decoding_arguments,
    remember_refusal,
    takes_schema,
    without_tools,
)
from langchain_loopmend.messages import (
    core_messages,
    ended,
    has_media,
    mended,
    messages_of,
    question_of,
    reply_of,
)
from langchain_loopmend.middleware.arrivals import Arrived, Listening, as_it_arrived
from langchain_loopmend.middleware.structured_answers import Complaint, StructuredAnswers
from langchain_loopmend.schemas import ToolboxCache
from loopmend import Ask, Done, Failure, FailurePattern, GaveUp, Mending, Reply, RetryPolicy
from loopmend.mending import OnFailure, constrained, is_clean
from loopmend.reading import Toolbox

__all__ = ["ModelExchange", "Response", "Result", "Setup"]

Response = ModelResponse[Any]
Result = Union[ModelResponse[Any], ExtendedModelResponse[Any]]


class Setup:
    """What a middleware is set to, and what it keeps from one call to the next."""

    def __init__(self, policy: RetryPolicy, on_failure: OnFailure) -> None:
        self.policy = policy
        self.on_failure = on_failure
        self.toolboxes = ToolboxCache()
        self.listening = Listening()
        self._answers: StructuredAnswers | None = None

    def answers(self, response_format: Any) -> StructuredAnswers | None:
        """Return what an agent may end with, made once as long as the format is the same."""
        if response_format is None:
            return None
        if self._answers is None or self._answers.response_format is not response_format:
            self._answers = StructuredAnswers(response_format)
        return self._answers


@dataclass(init=False)
class _Watched(ModelRequest[Any]):
    """A request that notes which tools the latest one made from it offers.

    Other middleware may change the tools behind ours; each change makes a new request.
    """

    seen: list[list[Any]] = field(default_factory=list)

    def __init__(self, *, seen: list[list[Any]], **given: Any) -> None:
        super().__init__(**given)
        object.__setattr__(self, "seen", seen)
        seen[:] = [self.tools]


class _Constrained(ModelRequest[Any]):
    """A request without tools, whoever offers some behind us: the schema says what is on offer.

    Some providers refuse both at once.
    """

    def __init__(self, *, model_settings: dict[str, Any], **given: Any) -> None:
        given |= {"tools": [], "tool_choice": None}
        super().__init__(model_settings=without_tools(model_settings), **given)


_FIELDS = tuple(each.name for each in fields(ModelRequest))


class ModelExchange:
    """One call of the model node: what is asked, and what comes of it."""

    def __init__(self, setup: Setup, request: ModelRequest[Any]) -> None:
        self._setup = setup
        self._model = request.model
        model = setup.listening.get(request.model)
        self._seen: list[list[Any]] = [request.tools]
        given = {name: getattr(request, name) for name in _FIELDS}
        self._request = _Watched(seen=self._seen, **{**given, "model": model})
        self._mending: Mending | None = None
        self._response: Response | None = None
        self._answer: Response | None = None
        self._error: StructuredOutputError | None = None
        self._wanted = setup.answers(request.response_format)
        self._by_provider = self._wanted is not None and self._wanted.by_provider
        self.policy = setup.policy

    def start(self) -> Ask:
        """Return what to ask at first; most replies need no more than that."""
        return self._started()[1] if self.policy.constrain == "always" else Ask()

    def _started(self) -> tuple[Mending, Ask]:
        request = self._request
        # The state's messages: other middleware may have added a nudge to the request's.
        messages = request.state.get("messages") or request.messages
        answered = bool(messages) and isinstance(messages[-1], ToolMessage)
        self._mending = Mending(
            self.tools(),
            schema=self._wanted.schema if self._wanted and self._by_provider else None,
            policy=self.policy,
            can_constrain=self._can_constrain(),
        )
        return self._mending, self._mending.start(question_of(messages), after_tool_result=answered)

    def tools(self) -> Toolbox:
        """Return the tools that the model was offered, as far as anybody changed them."""
        own = [] if self._wanted is None or self._by_provider else self._wanted.tools
        return self._setup.toolboxes.get([*self._seen[0], *own])

    def _can_constrain(self) -> bool:
        request = self._request
        wanted = bool(self.policy.constrain) and request.response_format is None
        return wanted and not has_media(request.messages) and takes_schema(self._model)

    def asked(self, step: Ask) -> ModelRequest[Any]:
        """Return the request of a step.

        Raises:
            NotImplementedError: The model takes no schema after all.
        """
        request = self._request
        self._error = None
        if step.schema is None:
            if not step.messages:
                return request
            added: list[Any] = messages_of(step.messages)
            return request.override(messages=[*request.messages, *added])
        arguments = decoding_arguments(request.model, step.schema)
        if arguments is None:
            msg = f"{type(request.model).__name__} takes no JSON schema"
            raise NotImplementedError(msg)
        told = [] if request.system_message is None else [request.system_message]
        whole = [*core_messages([*told, *request.messages]), *step.messages]
        system, *rest = messages_of(constrained(whole, self.tools()))
        given: dict[str, Any] = {name: getattr(request, name) for name in _FIELDS}
        given |= {"system_message": system, "messages": rest}
        return _Constrained(**{**given, "model_settings": {**request.model_settings, **arguments}})

    def failed(self, error: StructuredOutputError) -> Response:
        """Return the reply that is no structured answer; raise what is not ours to mend."""
        reply = getattr(error, "ai_message", None)
        if self._wanted is None or not isinstance(reply, AIMessage):
            raise error
        self._error = error
        # Only where the provider decodes does a reply without calls fail.
        self._by_provider = self._by_provider or not reply.tool_calls
        return ModelResponse(result=[reply])

    def heard(self, response: Response, arrived: Arrived) -> Response:
        """Return a response with calls marked that did not arrive whole."""
        reply = response.result[0] if response.result else None
        if not arrived or not isinstance(reply, AIMessage):
            return response
        whole = as_it_arrived(reply, arrived)
        return response if whole is reply else ModelResponse(result=[whole])

    async def judge(self, response: Response) -> Any:
        """Say what to do about a response; the response itself if there is nothing to mend."""
        self._response = response
        reply = response.result[0] if response.result else None
        if response.structured_response is not None or not isinstance(reply, AIMessage):
            return response
        if self._wanted is None and len(response.result) > 1:
            return response
        said = reply_of(reply)
        mending = self._mending
        if mending is None:
            if self._is_clean(reply, said):
                return response
            mending, _ = self._started()
        step = mending.reply(said)
        if self._wanted is None or not isinstance(step, Done):
            return step
        return self._answered(step, mended(reply, step), mending, said)

    def _is_clean(self, reply: AIMessage, said: Reply) -> bool:
        """Tell quickly whether to use a reply as it is; where an answer is due, only calls are."""
        if self._wanted is not None and not (
            said.calls and self._wanted.schemas.keys().isdisjoint(c.name for c in said.calls)
        ):
            return False
        simple = type(reply) is AIMessage and isinstance(reply.content, str)
        return simple and is_clean(said, self.tools())

    def _answered(self, step: Done, reply: AIMessage, mending: Mending, said: Reply) -> Any:
        """Say what to do about a reply that may be read but has to be the structured answer."""
        wanted = cast("StructuredAnswers", self._wanted)
        if self._by_provider:
            if step.reading is None or not step.reading.ok:
                return self._as_it_is(step)
            self._answer = ModelResponse(result=[reply], structured_response=step.value)
            return step
        found = wanted.response(reply, self.tools())
        if isinstance(found, Complaint):
            own = None if self._response is None else wanted.own_words(self._response)
            return self._refused(step, mending, said, found.failure, own or found.words)
        if found is not None and not reply.tool_calls:
            name = cast("AIMessage", found.result[0]).tool_calls[0]["name"]
            message = f"The model wrote its answer as text, without calling `{name}`."
            failure = Failure(FailurePattern.TEXTUAL_CALL, message, (0, len(said.text)), name)
            if not self.policy.may_make(name):
                return self._refused(step, mending, said, failure)
            step = replace(step, outcome="made", refused=(*step.refused, failure))
        self._answer = found
        return step

    def _refused(
        self, step: Done, mending: Mending, said: Reply, failure: Failure, words: str | None = None
    ) -> Any:
        if failure.pattern not in self.policy.patterns:
            return self._as_it_is(step)
        return mending.refuse(said, failure, words)

    def _as_it_is(self, step: Done) -> Any:
        """Return what there would be without us; where LangChain raised, that is raised."""
        if self._error is not None:
            raise self._error
        return step if step.calls else self._response

    # -- what `drive` asks of a loop when the model raises

    def reply(self, reply: Any) -> Any:
        """Say what to do about an exception in place of a reply."""
        return (self._mending or self._started()[0]).reply(reply)

    def unconstrained(self) -> Ask:
        """Remember that the model takes no schema, and ask in words."""
        remember_refusal(self._model)
        return cast("Mending", self._mending).unconstrained()

    def result(self, outcome: Any) -> Result:
        """Return what the model node takes, with a report if replies were refused."""
        refused = [] if self._mending is None else self._mending.refused
        if isinstance(outcome, ModelResponse):
            return self._reported(outcome, "mended") if refused else outcome
        reply = None if self._response is None else self._response.result[0]
        last = reply if isinstance(reply, AIMessage) else None
        if isinstance(outcome, GaveUp):
            return self._reported(ModelResponse(result=[self._ended(last, outcome)]), "gave_up")
        done = cast("Done", outcome)
        response = self._answer
        if response is None:
            response = ModelResponse(result=[mended(cast("AIMessage", last), done)])
        if done.outcome == "made":
            return self._reported(response, "made", done)
        return self._reported(response, "mended") if refused else response

    def _ended(self, last: AIMessage | None, outcome: GaveUp) -> AIMessage:
        on_failure = self._setup.on_failure
        if on_failure == "raise":
            raise outcome.error() from outcome.cause or self._error
        reply = ended(last, outcome)
        return on_failure(outcome, reply) if callable(on_failure) else reply

    def _reported(
        self, response: Response, outcome: Literal["made", "mended", "gave_up"], done: Any = None
    ) -> Result:
        refused = self._mending.refused if self._mending is not None else []
        failures = refused if done is None else list(done.refused)
        report = {
            "outcome": outcome,
            "retries": len(failures) - (outcome in ("gave_up", "made")),
            "patterns": [failure.pattern.value for failure in failures],
            "messages": [failure.message for failure in failures],
        }
        # Added up here: a reducer would cost every step of every run, mended or not.
        earlier: Any = self._request.state.get("normalization") or []
        update: dict[str, Any] = {"normalization": [*earlier, report]}
        if outcome == "gave_up" and self._wanted is not None:
            # Without tools LangChain would ask for the structured answer again, without end.
            update["jump_to"] = "end"
        return ExtendedModelResponse(model_response=response, command=Command(update=update))
