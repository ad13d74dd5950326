"""One driver for all that asks a model until its reply can be used.

The rules are `loopmend.Mending`'s. An exchange is written once, as a coroutine. One that does not
wait never suspends, so `at_once` runs it without an event loop.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Final, Literal, TypeVar

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableSerializable
from pydantic import ConfigDict, Field, SkipValidation
from typing_extensions import override

from langchain_loopmend.messages import (
    as_messages,
    as_text,
    constrained_to,
    messages_of,
    put_together,
    reply_of,
)
from langchain_loopmend.schemas import decoding_model, remember_refusal
from loopmend import Ask, Mending
from loopmend.adapting import at_once
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import OnFailure, check_on_failure

__all__ = ["RETRY_EVENT", "Constrain", "Exchange", "Mender"]

T = TypeVar("T")
Constrain = Literal["retry", "always", False]
"""When to have the provider decode by a JSON schema."""

RETRY_EVENT: Final = "loopmend_retry"
"""The name of the custom event that is sent whenever a model is asked again."""

_LOG: Final = logging.getLogger(__name__)


class Exchange:
    """A question that is put to a model until its reply can be used."""

    mending: Mending
    reply: Any = None
    """The latest reply."""
    _config: RunnableConfig | None = None
    _retry_llm: Any = None
    _runtime: Any = None
    _speaks_text = False

    def __init__(  # noqa: PLR0913 - how a runnable was called
        self,
        llm: Any,
        input: Any,
        mending: Mending,
        config: RunnableConfig | None = None,
        *,
        passed: dict[str, Any] | None = None,
        waits: bool = False,
        streaming: bool = False,
        retry_llm: Any = None,
    ) -> None:
        self.llm = llm
        self.input = input
        self.mending = mending
        self.waits = waits
        self._config = config
        self._passed = passed or {}
        self._streaming = streaming
        self._retry_llm = retry_llm
        self.heard: list[AIMessage] = []
        """The refused replies."""
        self.config = self._tagged(0)
        """How to run what belongs to the latest attempt, tagged with its number."""

    async def run(self, step: Any) -> Any:
        """Go on from a step to the end."""
        refuses: Any = None
        while isinstance(step, Ask):
            if step.retry is not None:
                await self.tell(step.retry.data())
            try:
                reply = await self.ask(step)
            except Exception as error:
                following = self.mending.raised(error)
                if following is None:
                    raise
                if step.schema is not None and not self.mending.can_constrain:
                    refuses = self._asked(step)
                step = following
            else:
                if refuses is not None:  # the schema was to blame: without it the same works
                    remember_refusal(refuses)
                    refuses = None
                step = await self.judge(reply)
        return step

    def told(self, step: Ask, reply: Any) -> list[BaseMessage]:
        """Return what to add to the conversation; refused replies in it keep their blocks."""
        if isinstance(reply, AIMessage):
            self.heard.append(reply)
        return messages_of(step.messages, self.heard)

    async def ask(self, step: Ask) -> Any:
        """Ask the model; what it streams is put together."""
        llm = self._asked(step)
        if step.schema is not None:
            llm = decoding_model(llm, step.schema)
        how = f"{'a' if self.waits else ''}{'stream' if self._streaming else 'invoke'}"
        self.config = self._tagged(step.attempt)
        reply = getattr(llm, how)(self.put(step), self.config, **self._passed)
        if self._streaming:
            reply = put_together([part async for part in reply] if self.waits else list(reply))
        elif self.waits:
            reply = await reply
        self._speaks_text = isinstance(reply, str)
        return reply

    async def tell(self, told: dict[str, Any]) -> None:
        """Tell listeners that the model is asked again."""
        if self._runtime is not None:
            # LangGraph's `stream_mode="custom"` does not show the events of callbacks.
            self._runtime.stream_writer({RETRY_EVENT: told})
        try:
            if self.waits:
                await adispatch_custom_event(RETRY_EVENT, told, config=self._config)
            else:
                dispatch_custom_event(RETRY_EVENT, told, config=self._config)
        except RuntimeError as error:  # outside of any chain nobody listens
            _LOG.debug("no run to report a retry to: %s", error)

    def _tagged(self, attempt: int) -> RunnableConfig:
        config = self._config or {}
        return {**config, "tags": [*(config.get("tags") or ()), f"loopmend:attempt:{attempt + 1}"]}

    def _asked(self, step: Ask) -> Any:
        return self._retry_llm if step.attempt and self._retry_llm is not None else self.llm

    def put(self, step: Ask) -> Any:
        """Return what to ask."""
        if step.schema is not None and self.mending.wanted is None:
            return constrained_to(as_messages(self.input), step, self.mending.offered)
        if not step.messages:
            return self.input
        if self._speaks_text:  # a model of plain text knows no roles
            added = "".join(f"\n\n{message.content}" for message in step.messages)
            return f"{as_text(self.input)}{added}\n\n"
        return [*as_messages(self.input), *self.told(step, self.reply)]

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
        check_on_failure(self.on_failure)
        llm: object = self.llm
        if not isinstance(llm, Runnable):
            msg = f"`llm` must be a model, not {type(llm).__name__}"
            raise TypeError(msg)

    @override
    def invoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> T:
        return self._call_with_config(self._blocking(kwargs), input, config)

    @override
    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> T:
        return await self._acall_with_config(self._waiting(kwargs), input, config)

    @override
    def stream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[T]:
        yield self._call_with_config(self._blocking(kwargs, streaming=True), input, config)

    @override
    async def astream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> AsyncIterator[T]:
        yield await self._acall_with_config(self._waiting(kwargs, streaming=True), input, config)

    def _blocking(self, passed: Any, **how: Any) -> Any:
        return lambda input, config: at_once(self._mend(input, config, passed=passed, **how))

    def _waiting(self, passed: Any, **how: Any) -> Any:
        return lambda input, config: self._mend(input, config, passed=passed, waits=True, **how)

    @abstractmethod
    async def _mend(self, input: Any, config: Any, **how: Any) -> T:
        """Ask until there is a result; `how` is an `Exchange`'s."""
