"""One driver for all that asks a model until its reply can be used.

The rules are `loopmend.Mending`'s. Each exchange is written once, as a coroutine; a `Caller` says
whether it waits. One that does not never suspends, so `at_once` runs it without an event loop.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, Protocol, TypeVar, Union, cast

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableSerializable
from pydantic import ConfigDict, Field, SkipValidation
from typing_extensions import override

from langchain_loopmend.decoding import decoding_model, remember_refusal
from langchain_loopmend.messages import (
    as_messages,
    as_text,
    core_messages,
    messages_of,
    put_together,
)
from loopmend import Ask, FailurePattern, Mending, Reply, RetryPolicy
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import (
    OnFailure,
    check_on_failure,
    constrained,
    is_protocol_error,
    refuses_schema,
)

__all__ = [
    "AWAITING",
    "BLOCKING",
    "RETRY_EVENT",
    "Answer",
    "Caller",
    "Constrain",
    "Exchange",
    "Mender",
    "Question",
    "Replies",
    "Way",
    "at_once",
    "attempt_config",
    "drive",
]

T = TypeVar("T")
Constrain = Literal["retry", "always", False]
"""When to have the provider decode by a JSON schema."""
Answer = Union[str, BaseMessage]
"""What a language model returns: text, or a message of a chat model."""

RETRY_EVENT: Final = "loopmend_retry"
"""The name of the custom event that is sent whenever a model is asked again."""

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls runnables, and waits for them or not."""

    waits: bool

    async def invoke(
        self, runnable: Runnable[Any, Any], input: Any, config: RunnableConfig, **passed: Any
    ) -> Any:
        """Invoke a runnable."""
        if self.waits:
            return await runnable.ainvoke(input, config, **passed)
        return runnable.invoke(input, config, **passed)

    async def stream(
        self, runnable: Runnable[Any, Any], input: Any, config: RunnableConfig, **passed: Any
    ) -> Any:
        """Stream from a runnable and put the chunks together."""
        if self.waits:
            chunks = [chunk async for chunk in runnable.astream(input, config, **passed)]
        else:
            chunks = list(runnable.stream(input, config, **passed))
        return put_together(chunks)

    async def tell(self, step: Ask, config: RunnableConfig | None = None) -> None:
        """Tell listeners that the model is asked again."""
        if step.retry is None:
            return
        try:
            if self.waits:
                await adispatch_custom_event(RETRY_EVENT, step.retry.data(), config=config)
            else:
                dispatch_custom_event(RETRY_EVENT, step.retry.data(), config=config)
        except RuntimeError as error:  # outside of any chain nobody listens
            _LOG.debug("no run to report a retry to: %s", error)


BLOCKING: Final = Caller(waits=False)
AWAITING: Final = Caller(waits=True)


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends.

    Raises:
        RuntimeError: It does suspend.
    """
    try:
        work.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    work.close()
    msg = "a call that blocks must not wait for anything"
    raise RuntimeError(msg)


def attempt_config(config: RunnableConfig | None, attempt: int) -> RunnableConfig:
    """Return a config whose children are tagged with the attempt they belong to."""
    config = cast("RunnableConfig", dict(config or {}))
    config["tags"] = [*(config.get("tags") or []), f"loopmend:attempt:{attempt + 1}"]
    return config


class Loop(Protocol):
    """What decides about replies: `Mending`, or what stands in for it."""

    policy: RetryPolicy

    def reply(self, reply: Reply, /) -> Any:
        """Say what to do about a reply."""

    def unconstrained(self) -> Ask:
        """Say what to ask now that the provider turned out not to take a schema."""


async def drive(
    loop: Loop,
    step: Any,
    ask: Callable[[Ask], Awaitable[Any]],
    judge: Callable[[Any], Awaitable[Any]],
) -> Any:
    """Do what the steps say until there is no more to ask."""
    while isinstance(step, Ask):
        try:
            reply = await ask(step)
        except Exception as error:  # noqa: BLE001, PERF203 - what is not ours is raised again
            step = _after_error(loop, step, error)
        else:
            step = await judge(reply)
    return step


def _after_error(loop: Loop, step: Ask, error: Exception) -> Any:
    """Say what to do about an exception that a model raised; raise it if it is not ours."""
    if step.schema is not None and refuses_schema(error):
        return loop.unconstrained()
    if is_protocol_error(error) and FailurePattern.MALFORMED in loop.policy.patterns:
        return loop.reply(Reply(error=error))
    raise error


class Question:
    """What a model is asked, and how it is put again."""

    def __init__(
        self, llm: Runnable[Any, Any], input: Any, *, retry_llm: Runnable[Any, Any] | None = None
    ) -> None:
        self.llm = llm
        self.input = input
        self.retry_llm = retry_llm
        self.speaks_text = False
        """Whether the model takes and returns plain text; it knows no roles."""

    def put(self, step: Ask, mending: Mending) -> tuple[Runnable[Any, Any], Any]:
        """Return whom to ask, and what."""
        llm = self.retry_llm if step.attempt and self.retry_llm is not None else self.llm
        if step.schema is not None:
            llm = decoding_model(llm, step.schema)
            if mending.wanted is None:
                whole = [*core_messages(as_messages(self.input)), *step.messages]
                return llm, messages_of(constrained(whole, mending.tools))
        if not step.messages:
            return llm, self.input
        if self.speaks_text:
            added = "".join(f"\n\n{message.content}" for message in step.messages)
            return llm, f"{as_text(self.input)}{added}\n\n"
        return llm, [*as_messages(self.input), *messages_of(step.messages)]


@dataclass(frozen=True, slots=True)
class Way:
    """How a runnable was called."""

    caller: Caller
    config: RunnableConfig = field(default_factory=RunnableConfig)
    passed: dict[str, Any] = field(default_factory=dict)
    """What goes to the model."""
    streaming: bool = False


class Replies(Protocol):
    """The replies to one question, and what is made of them."""

    mending: Mending

    async def judge(self, reply: Answer, way: Way, /) -> Any:
        """Say what to do about a reply."""


class Exchange:
    """A question that is put to a model until its reply can be used."""

    def __init__(self, question: Question, replies: Replies, way: Way) -> None:
        self._question = question
        self._replies = replies
        self._way = way

    async def run(self, step: Any) -> Any:
        """Go on from a step to the end."""
        return await drive(self._replies.mending, step, self._ask, self._judge)

    async def _judge(self, reply: Answer) -> Any:
        return await self._replies.judge(reply, self._way)

    async def _ask(self, step: Ask) -> Answer:
        way = self._way
        await way.caller.tell(step, way.config)
        llm, asked = self._question.put(step, self._replies.mending)
        call = way.caller.stream if way.streaming else way.caller.invoke
        with _refusals(self._question.llm, step):
            reply = await call(llm, asked, attempt_config(way.config, step.attempt), **way.passed)
        self._question.speaks_text = isinstance(reply, str)
        return cast("Answer", reply)


@contextmanager
def _refusals(llm: Any, step: Ask) -> Iterator[None]:
    """Remember a provider that refuses a schema."""
    try:
        yield
    except Exception as error:
        if step.schema is not None and refuses_schema(error):
            remember_refusal(llm)
        raise


class Mender(RunnableSerializable[LanguageModelInput, T]):
    """A runnable that asks a model until its reply can be used; a stream yields the one result."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    llm: Annotated[Runnable[Any, Any], SkipValidation()]
    """The model."""
    max_retries: int = Field(default=MAX_NORMALIZATION_RETRIES, ge=0)
    """How often the model is asked again; never exceeded."""
    constrain: Constrain = "retry"
    """When to have the provider decode by a JSON schema, if it can."""
    on_failure: Annotated[OnFailure, SkipValidation()] = "return"
    """Whether to return what there is, to raise, or a function of the verdict and the reply."""

    @override
    def model_post_init(self, context: Any, /) -> None:
        """Refuse what is no way to deal with a failure."""
        check_on_failure(self.on_failure)

    @override
    def invoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> T:
        """Ask; other keyword arguments go to the model."""
        return self._call_with_config(self._blocking(kwargs), input, config)

    @override
    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> T:
        """Ask without blocking."""
        return await self._acall_with_config(self._awaiting(kwargs), input, config)

    @override
    def stream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[T]:
        """Ask with streaming and yield the one result."""
        yield self._call_with_config(self._blocking(kwargs, streaming=True), input, config)

    @override
    async def astream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> AsyncIterator[T]:
        """Ask with streaming and yield the one result, without blocking."""
        run = self._awaiting(kwargs, streaming=True)
        yield await self._acall_with_config(run, input, config)

    def _blocking(self, passed: dict[str, Any], *, streaming: bool = False) -> Callable[..., T]:
        def run(input: LanguageModelInput, config: RunnableConfig) -> T:
            return at_once(self._mend(input, Way(BLOCKING, config, passed, streaming)))

        return run

    def _awaiting(
        self, passed: dict[str, Any], *, streaming: bool = False
    ) -> Callable[..., Awaitable[T]]:
        async def run(input: LanguageModelInput, config: RunnableConfig) -> T:
            return await self._mend(input, Way(AWAITING, config, passed, streaming))

        return run

    @abstractmethod
    async def _mend(self, input: LanguageModelInput, way: Way) -> T:
        """Ask until there is a result."""
