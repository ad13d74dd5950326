"""One driver for all that asks a model until its reply can be used.

The rules are `loopmend.Mending`'s. An exchange is written once, as a coroutine; a `Way` says
whether it waits. One that does not never suspends, so `at_once` runs it without an event loop.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, TypeVar, Union, cast

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
    reply_of,
)
from loopmend import Ask, Mending
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import OnFailure, check_on_failure, constrained

__all__ = ["RETRY_EVENT", "Answer", "Constrain", "Exchange", "Mender", "Way", "at_once"]

T = TypeVar("T")
Constrain = Literal["retry", "always", False]
"""When to have the provider decode by a JSON schema."""
Answer = Union[str, BaseMessage]
"""What a language model returns: text, or a message of a chat model."""

RETRY_EVENT: Final = "loopmend_retry"
"""The name of the custom event that is sent whenever a model is asked again."""

_LOG: Final = logging.getLogger(__name__)


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
    msg = "a blocking call must not wait"
    raise RuntimeError(msg)


@dataclass(frozen=True, slots=True)
class Way:
    """How a runnable was called."""

    config: RunnableConfig = field(default_factory=RunnableConfig)
    passed: dict[str, Any] = field(default_factory=dict)
    """What goes to the model."""
    waits: bool = False
    streaming: bool = False

    async def invoke(
        self, runnable: Runnable[Any, Any], input: Any, attempt: int, **passed: Any
    ) -> Any:
        """Invoke a runnable in a run that is tagged with the attempt it belongs to."""
        config = self._tagged(attempt)
        if self.waits:
            return await runnable.ainvoke(input, config, **passed)
        return runnable.invoke(input, config, **passed)

    async def ask(self, llm: Runnable[Any, Any], input: Any, attempt: int) -> Answer:
        """Ask a model; what it streams is put together."""
        config, passed = self._tagged(attempt), self.passed
        if not self.streaming:
            return cast("Answer", await self.invoke(llm, input, attempt, **passed))
        if self.waits:
            return put_together([chunk async for chunk in llm.astream(input, config, **passed)])
        return put_together(list(llm.stream(input, config, **passed)))

    async def tell(self, step: Ask) -> None:
        """Tell listeners that the model is asked again."""
        if step.retry is None:
            return
        try:
            if self.waits:
                await adispatch_custom_event(RETRY_EVENT, step.retry.data(), config=self.config)
            else:
                dispatch_custom_event(RETRY_EVENT, step.retry.data(), config=self.config)
        except RuntimeError as error:  # outside of any chain nobody listens
            _LOG.debug("no run to report a retry to: %s", error)

    def _tagged(self, attempt: int) -> RunnableConfig:
        tags = [*(self.config.get("tags") or []), f"loopmend:attempt:{attempt + 1}"]
        return {**self.config, "tags": tags}


class Exchange:
    """A question that is put to a model until its reply can be used."""

    retry_llm: Runnable[Any, Any] | None = None
    """Another model for asking again."""
    mending: Mending

    def __init__(self, llm: Any, input: Any, way: Way) -> None:
        self.llm = llm
        self.input = input
        self.way = way
        self.reply: Any = None
        """The latest reply."""
        self._speaks_text = False

    async def run(self, step: Any) -> Any:
        """Go on from a step to the end."""
        while isinstance(step, Ask):
            try:
                reply = await self.ask(step)
            except Exception as error:  # noqa: PERF203 - each question may fail
                following = self.mending.raised(error)
                if following is None:
                    raise
                if step.schema is not None and not self.mending.can_constrain:
                    remember_refusal(self._asked(step))
                step = following
            else:
                step = await self.judge(reply)
        return step

    async def ask(self, step: Ask) -> Any:
        """Ask the model."""
        await self.way.tell(step)
        llm = self._asked(step)
        if step.schema is not None:
            llm = decoding_model(llm, step.schema)
        reply = await self.way.ask(llm, self.put(step), step.attempt)
        self._speaks_text = isinstance(reply, str)
        return reply

    def _asked(self, step: Ask) -> Any:
        return self.retry_llm if step.attempt and self.retry_llm is not None else self.llm

    def put(self, step: Ask) -> Any:
        """Return what to ask."""
        if step.schema is not None and self.mending.wanted is None:
            whole = [*core_messages(as_messages(self.input)), *step.messages]
            return messages_of(constrained(whole, self.mending.tools))
        if not step.messages:
            return self.input
        if self._speaks_text:  # a model of plain text knows no roles
            added = "".join(f"\n\n{message.content}" for message in step.messages)
            return f"{as_text(self.input)}{added}\n\n"
        return [*as_messages(self.input), *messages_of(step.messages)]

    async def judge(self, reply: Any) -> Any:
        """Say what to do about a reply."""
        self.reply = reply
        return self.mending.reply(reply_of(reply))


class Mender(RunnableSerializable[LanguageModelInput, T]):
    """A runnable that asks a model until its reply can be used; a stream yields the one result."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    llm: Annotated[Runnable[Any, Any], SkipValidation()]
    """The model."""
    max_retries: int = Field(default=MAX_NORMALIZATION_RETRIES, ge=0, strict=True)
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
        return self._run(input, config, kwargs)

    @override
    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> T:
        """Ask without blocking."""
        return await self._arun(input, config, kwargs)

    @override
    def stream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[T]:
        """Ask with streaming and yield the one result."""
        yield self._run(input, config, kwargs, streaming=True)

    @override
    async def astream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> AsyncIterator[T]:
        """Ask with streaming and yield the one result, without blocking."""
        yield await self._arun(input, config, kwargs, streaming=True)

    def _run(
        self, input: Any, config: Any, passed: dict[str, Any], *, streaming: bool = False
    ) -> T:
        def run(input: LanguageModelInput, config: RunnableConfig) -> T:
            return at_once(self._mend(input, Way(config, passed, streaming=streaming)))

        return self._call_with_config(cast("Any", run), input, config)

    async def _arun(
        self, input: Any, config: Any, passed: dict[str, Any], *, streaming: bool = False
    ) -> T:
        def run(input: LanguageModelInput, config: RunnableConfig) -> Awaitable[T]:
            return self._mend(input, Way(config, passed, waits=True, streaming=streaming))

        return await self._acall_with_config(cast("Any", run), input, config)

    @abstractmethod
    async def _mend(self, input: LanguageModelInput, way: Way) -> T:
        """Ask until there is a result."""
