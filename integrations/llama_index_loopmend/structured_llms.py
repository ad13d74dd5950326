"""LLMs whose structured predictions ask again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from functools import lru_cache
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.llms.llm import LLM
from llama_index.core.output_parsers import BaseOutputParser
from llama_index.core.program.function_program import get_function_tool
from llama_index.core.program.utils import create_flexible_model
from llama_index.core.prompts import BasePromptTemplate
from llama_index.core.types import PydanticProgramMode
from pydantic import BaseModel, PrivateAttr
from typing_extensions import override

from llama_index_loopmend.decoding import takes_schema
from llama_index_loopmend.messages import reply_from
from llama_index_loopmend.retry import Exchange, arun, run
from llama_index_loopmend.value_parsers import PydanticOutputParser
from loopmend import Ask, JsonReader, Reply, RetryPolicy
from loopmend.contracts import MAX_NORMALIZATION_RETRIES

if TYPE_CHECKING:
    _LLM = LLM
else:
    _LLM = object

__all__ = ["StructuredRetry", "with_parsing_retry"]

LLMT = TypeVar("LLMT", bound=LLM)
Constrain = Literal["retry", "always", False]
_PREDICTS: Final = ("structured_predict", "astructured_predict")


class StructuredRetry(_LLM):
    """What makes an LLM class ask again; `with_parsing_retry` puts it before the class of yours."""

    if TYPE_CHECKING:
        _retry_policy: RetryPolicy
        _reply_parser: BaseOutputParser | None

    @override
    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        """Chat, and ask again with a correction if the parser refuses the reply."""
        chat: Any = super().chat  # type: ignore[safe-super] # that of your class
        if self._reply_parser is None or kwargs.get("tools"):
            return chat(messages, **kwargs)  # type: ignore[no-any-return]
        replying = _Replying(self, messages, self._reply_parser, chat, kwargs)
        run(replying, replying.start(), replying.ask)
        return replying.latest

    @override
    async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        """Chat without blocking."""
        chat: Any = super().achat  # type: ignore[safe-super]
        if self._reply_parser is None or kwargs.get("tools"):
            return await chat(messages, **kwargs)  # type: ignore[no-any-return]
        replying = _Replying(self, messages, self._reply_parser, chat, kwargs)
        await arun(replying, replying.start(), replying.aask)
        return replying.latest

    @override
    def structured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **prompt_args: Any
    ) -> Any:
        """Ask for a value, and ask again with a correction if needed."""
        asking = _Asking(self, output_cls, prompt, prompt_args, llm_kwargs)
        return run(asking, asking.start(), asking.ask)

    @override
    async def astructured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **prompt_args: Any
    ) -> Any:
        """Ask for a value without blocking."""
        asking = _Asking(self, output_cls, prompt, prompt_args, llm_kwargs)
        return await arun(asking, asking.start(), asking.aask)

    @override
    def stream_structured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **prompt_args: Any
    ) -> Generator[Any, None, None]:
        """Yield what is known of the value while it arrives, and at last the value."""
        asking = _Asking(self, output_cls, prompt, prompt_args, llm_kwargs)
        step: Any = asking.start()
        while isinstance(step, Ask):
            arriving = asking.arriving()
            try:
                for chunk in asking.stream(step):
                    yield from arriving.feed(chunk)
            except Exception as error:  # noqa: BLE001 - what is not ours is raised again
                step = asking.after_error(step, error)
            else:
                step = asking.judge(arriving.reply())
        yield asking.concluded(step)

    @override
    async def astream_structured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **prompt_args: Any
    ) -> AsyncGenerator[Any, None]:
        """Yield what is known of the value while it arrives, without blocking."""
        asking = _Asking(self, output_cls, prompt, prompt_args, llm_kwargs)

        async def values() -> AsyncGenerator[Any, None]:
            step: Any = asking.start()
            while isinstance(step, Ask):
                arriving = asking.arriving()
                try:
                    async for chunk in await asking.stream(step, waits=True):
                        for part in arriving.feed(chunk):
                            yield part
                except Exception as error:  # noqa: BLE001 - what is not ours is raised again
                    step = asking.after_error(step, error)
                else:
                    step = asking.judge(arriving.reply())
            yield asking.concluded(step)

        return values()


class _Replying(Exchange):
    """A chat of which a parser judges the replies, as that of a program."""

    latest: ChatResponse

    def __init__(
        self, llm: Any, messages: Any, parser: BaseOutputParser, chat: Any, passed: dict[str, Any]
    ) -> None:
        super().__init__(llm, messages, parser, llm._retry_policy)  # noqa: SLF001 - part of it
        self._chat = chat
        self._passed = passed

    def ask(self, messages: list[ChatMessage], **arguments: Any) -> Reply:
        """Ask the model."""
        self.latest = self._chat(messages, **{**self._passed, **arguments})
        return reply_from(self.latest.message, (), self.latest.raw)

    async def aask(self, messages: list[ChatMessage], **arguments: Any) -> Reply:
        """Ask the model without blocking."""
        self.latest = await self._chat(messages, **{**self._passed, **arguments})
        return reply_from(self.latest.message, (), self.latest.raw)


class _Asking(Exchange):
    """A question for a value: by a call where the model can make one, else by text."""

    def __init__(
        self, llm: Any, output_cls: Any, prompt: BasePromptTemplate, variables: Any, passed: Any
    ) -> None:
        self._passed = dict(passed or {})
        self._output_cls = output_cls
        parser = PydanticOutputParser(output_cls)
        if llm._reply_parser is not None:  # noqa: SLF001 - part of it
            llm = _with(llm, llm._retry_policy, None)  # noqa: SLF001
        messages = [m.model_copy(deep=True) for m in prompt.format_messages(llm=llm, **variables)]
        text = llm.pydantic_program_mode == PydanticProgramMode.LLM
        calls = llm.metadata.is_function_calling_model and not text
        self._tools = [get_function_tool(output_cls)] if calls else []
        messages = messages if calls else parser.format_messages(messages)
        super().__init__(llm, messages, parser, llm._retry_policy)  # noqa: SLF001 - part of it

    def ask(self, messages: list[ChatMessage], **arguments: Any) -> Reply:
        """Ask the model."""
        return self.reply(self._how("chat", messages, arguments))

    async def aask(self, messages: list[ChatMessage], **arguments: Any) -> Reply:
        """Ask the model without blocking."""
        return self.reply(await self._how("achat", messages, arguments))

    def stream(self, step: Ask, *, waits: bool = False) -> Any:
        """Ask the model and return the chunks of its reply."""
        return self._how("astream_chat" if waits else "stream_chat", *self.put(step))

    def _how(self, name: str, messages: list[ChatMessage], arguments: dict[str, Any]) -> Any:
        # Who decodes by a schema needs no tool for it, and few providers take both.
        if arguments or not self._tools:
            return getattr(self._llm, name)(messages, **{**self._passed, **arguments})
        ask = getattr(self._llm, f"{name}_with_tools")
        return ask(self._tools, chat_history=messages, **{"tool_required": True, **self._passed})

    def reply(self, response: ChatResponse) -> Reply:
        """Return a response as the core takes it."""
        calls = ()
        if self._tools:
            calls = self._llm.get_tool_calls_from_response(response, error_on_no_tool_call=False)
        return reply_from(response.message, calls, response.raw)

    def arriving(self) -> _Arriving:
        """Return what follows one reply while it arrives."""
        return _Arriving(self, create_flexible_model(self._output_cls))


class _Arriving:
    """One reply while it arrives."""

    def __init__(self, asking: _Asking, partial: type[BaseModel]) -> None:
        self._asking = asking
        self._partial = partial
        self._reader = JsonReader()
        self._latest: ChatResponse | None = None
        self._told: Any = None

    def feed(self, chunk: ChatResponse) -> Generator[BaseModel, None, None]:
        """Yield what is known now, if it is more than before."""
        self._latest = chunk
        known = self._reader.feed(chunk.delta or "")
        if calls := self._asking.reply(chunk).calls:
            known = calls[0].arguments
        if isinstance(known, dict) and known and known != self._told:
            self._told = dict(known)
            yield self._partial.model_construct(**known)

    def reply(self) -> Reply:
        """Return the whole reply."""
        return Reply() if self._latest is None else self._asking.reply(self._latest)


@lru_cache(maxsize=256)
def _mended(kind: Any) -> Any:
    """Return a class of LLMs that ask again for a class of LLMs."""

    class Mended(StructuredRetry, kind):  # type: ignore[misc] # known only now
        _retry_policy: RetryPolicy = PrivateAttr()
        _reply_parser: BaseOutputParser | None = PrivateAttr(default=None)

    Mended.__name__ = Mended.__qualname__ = f"Mended{kind.__name__}"
    Mended.__doc__ = kind.__doc__
    return Mended


def _with(llm: Any, policy: RetryPolicy, parser: BaseOutputParser | None) -> Any:
    made, kind = llm.model_copy(), llm.__class__
    if not isinstance(llm, StructuredRetry):
        made.__class__ = _mended(kind)
    made._retry_policy, made._reply_parser = policy, parser  # noqa: SLF001 - part of it
    return made


def _predicts_by_itself(kind: Any) -> bool:
    """Tell whether a class of LLMs has a way of its own to predict values."""
    return any(getattr_static(kind, name) is not getattr_static(LLM, name) for name in _PREDICTS)


def with_parsing_retry(
    llm: LLMT,
    parser: BaseOutputParser | None = None,
    *,
    max_retries: int = MAX_NORMALIZATION_RETRIES,
    constrain: Constrain = "retry",
) -> LLMT:
    """Return an LLM that works like yours, but asks again for values that do not fit.

    `structured_predict`, `as_structured_llm` and their async and streaming twins read what models
    really write, and correct the model if that holds no value of the schema. With a parser, `chat`
    and `achat` correct the model until the parser takes its reply, so that a program which has
    that parser asks again. Everything else is as it was. It is of your model's class and has all
    its attributes; yours stays as it is. A stream yields partial values of a class of its own, and
    at last the whole value of yours.

    Args:
        llm: Any LlamaIndex LLM.
        parser: The parser of the program that the LLM is for; then it has to be a chat model.
        max_retries: The maximum number of retries.
        constrain: When to have the provider decode by the JSON schema of the value, if it can: from
            the first retry on, always or never. A client that does so by itself does it always; one
            that predicts values in a way of its own that we do not know is returned as it is.

    Raises:
        TypeError: `llm` is not a LlamaIndex LLM, or `max_retries` is not an `int`.
        ValueError: `max_retries` is negative, `constrain` is unknown, or `llm` only completes text
            although a parser is to judge it.

    >>> from llama_index.core.prompts import PromptTemplate
    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> class City(BaseModel):
    ...     name: str
    ...     people: int
    >>> llm = ScriptedLLM(script=["It is big.", "{name: 'Oslo', people: '717710'}"])
    >>> with_parsing_retry(llm).structured_predict(City, PromptTemplate("How big is Oslo?"))
    City(name='Oslo', people=717710)
    """
    given: object = llm
    if not isinstance(given, LLM):
        msg = f"`llm` must be a LlamaIndex LLM, not {type(given).__name__}"
        raise TypeError(msg)
    if parser is not None and not llm.metadata.is_chat_model:
        msg = "`llm` must be a chat model: one that only completes text cannot be corrected"
        raise ValueError(msg)
    policy = RetryPolicy(max_retries, constrain=constrain)
    if not isinstance(llm, StructuredRetry) and _predicts_by_itself(type(llm)):
        if not takes_schema(llm) and parser is None:
            return llm
        policy = replace(policy, constrain="always" if constrain else False)
    return _with(llm, policy, parser)  # type: ignore[no-any-return] # of the model's class
