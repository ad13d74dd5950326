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
from pydantic import PrivateAttr
from typing_extensions import override

from llama_index_loopmend.mending import Exchange
from llama_index_loopmend.messages import reply_from
from llama_index_loopmend.schemas import takes_schema
from llama_index_loopmend.value_parsers import PydanticOutputParser
from loopmend import Ask, JsonReader, Reply, RetryPolicy
from loopmend.adapting import at_once, each_at_once
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
        _failed: Exception | None

    @override
    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        """Chat, and ask again with a correction if the parser refuses the reply."""
        return at_once(self._replied(super().chat, messages, kwargs))  # type: ignore[safe-super]

    @override
    async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        """Chat without blocking."""
        chat: Any = super().achat  # type: ignore[safe-super] # that of your class
        return await self._replied(chat, messages, kwargs, waits=True)

    async def _replied(
        self, chat: Any, messages: Any, passed: dict[str, Any], *, waits: bool = False
    ) -> ChatResponse:
        if self._reply_parser is None or passed.get("tools"):
            said: Any = chat(messages, **passed)
            return await said if waits else said  # type: ignore[no-any-return]
        parser, policy = self._reply_parser, self._retry_policy
        exchange = Exchange(self, messages, parser, policy, waits=waits, chat=chat, passed=passed)
        await exchange.run(exchange.start())
        return exchange.latest  # type: ignore[no-any-return] # what the class of yours returns

    @override
    def structured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **prompt_args: Any
    ) -> Any:
        """Ask for a value, and ask again with a correction if needed."""
        asking = _Asking(self, output_cls, prompt, prompt_args, llm_kwargs)
        return at_once(asking.run(asking.start()))

    @override
    async def astructured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **prompt_args: Any
    ) -> Any:
        """Ask for a value without blocking."""
        asking = _Asking(self, output_cls, prompt, prompt_args, llm_kwargs, waits=True)
        try:
            return await asking.run(asking.start())
        except Exception as error:
            self._failed = error
            raise

    @property
    def failed(self) -> Exception | None:
        """What `astructured_predict` raised at last; LlamaIndex's agents only warn of it."""
        return self._failed

    @override
    def stream_structured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **prompt_args: Any
    ) -> Generator[Any, None, None]:
        """Yield what is known of the value while it arrives, and at last the value."""
        yield from each_at_once(_Asking(self, output_cls, prompt, prompt_args, llm_kwargs).values())

    @override
    async def astream_structured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **prompt_args: Any
    ) -> AsyncGenerator[Any, None]:
        """Yield what is known of the value while it arrives, without blocking."""
        return _Asking(self, output_cls, prompt, prompt_args, llm_kwargs, waits=True).values()


class _Asking(Exchange):
    """A question for a value: by a call where the model can make one, else by text."""

    def __init__(  # noqa: PLR0913 - what LlamaIndex passes
        self,
        llm: Any,
        output_cls: Any,
        prompt: BasePromptTemplate,
        variables: Any,
        passed: Any,
        *,
        waits: bool = False,
    ) -> None:
        self._partial = create_flexible_model(output_cls)
        policy, parser = llm._retry_policy, PydanticOutputParser(output_cls)  # noqa: SLF001
        if llm._reply_parser is not None:  # noqa: SLF001 - part of it
            llm = _with(llm, policy, None)
        messages = [m.model_copy(deep=True) for m in prompt.format_messages(llm=llm, **variables)]
        text = llm.pydantic_program_mode == PydanticProgramMode.LLM
        calls = llm.metadata.is_function_calling_model and not text
        self._tools = [get_function_tool(output_cls)] if calls else []
        messages = messages if calls else parser.format_messages(messages)
        super().__init__(llm, messages, parser, policy, waits=waits, passed=passed)

    @override
    def chat(self, messages: list[ChatMessage], arguments: Any, *, how: str = "chat") -> Any:
        name = f"a{how}" if self._waits else how
        # Who decodes by a schema needs no tool for it, and few providers take both.
        if arguments or not self._tools:
            return getattr(self._llm, name)(messages, **{**self._passed, **arguments})
        ask = getattr(self._llm, f"{name}_with_tools")
        return ask(self._tools, chat_history=messages, **{"tool_required": True, **self._passed})

    @override
    def reply(self, response: ChatResponse) -> Reply:
        calls = ()
        if self._tools:
            calls = self._llm.get_tool_calls_from_response(response, error_on_no_tool_call=False)
        return reply_from(response.message, calls, response.raw)

    async def values(self) -> AsyncGenerator[Any, None]:
        """Yield what is known of the value while it arrives, and at last the value."""
        step: Any = self.start()
        while isinstance(step, Ask):
            self.latest, told, reader = None, None, JsonReader()
            try:
                async for chunk in self._chunks(step):
                    self.latest = chunk
                    known = reader.feed(chunk.delta or "")
                    if calls := self.reply(chunk).calls:
                        known = calls[0].arguments
                    if isinstance(known, dict) and known and known != told:
                        told = dict(known)
                        yield self._partial.model_construct(**known)
            except Exception as error:  # noqa: BLE001 - what is not ours is raised again
                step = self.after_error(step, error)
            else:
                step = self.judge(Reply() if self.latest is None else self.reply(self.latest))
        yield self.concluded(step)

    async def _chunks(self, step: Ask) -> AsyncGenerator[ChatResponse, None]:
        chunks = self.chat(*self.put(step), how="stream_chat")
        if self._waits:
            async for chunk in await chunks:
                yield chunk
            return
        for chunk in chunks:
            yield chunk


@lru_cache(maxsize=256)
def _mended(kind: Any) -> Any:
    """Return a class of LLMs that ask again for a class of LLMs."""

    class Mended(StructuredRetry, kind):  # type: ignore[misc] # known only now
        _retry_policy: RetryPolicy = PrivateAttr()
        _reply_parser: BaseOutputParser | None = PrivateAttr(default=None)
        _failed: Exception | None = PrivateAttr(default=None)

        def __reduce__(self) -> Any:
            plain = self.model_copy()
            plain.__class__ = kind
            return _with, (plain, self._retry_policy, self._reply_parser)

    Mended.__name__ = Mended.__qualname__ = f"Mended{kind.__name__}"
    Mended.__doc__ = kind.__doc__
    return Mended


def _with(llm: Any, policy: RetryPolicy, parser: BaseOutputParser | None) -> Any:
    made, kind = llm.model_copy(), llm.__class__
    if not isinstance(llm, StructuredRetry):
        made.__class__ = _mended(kind)
    made._retry_policy, made._reply_parser, made._failed = policy, parser, None  # noqa: SLF001
    return made


def _predicts_by_itself(kind: Any) -> bool:
    """Tell whether a class of LLMs has a way of its own to predict values."""
    return any(getattr_static(kind, name) is not getattr_static(LLM, name) for name in _PREDICTS)


def with_parsing_retry(
    llm: LLMT,
    parser: Any = None,
    *,
    max_retries: int = MAX_NORMALIZATION_RETRIES,
    constrain: Constrain = "retry",
) -> LLMT:
    """Return an LLM that works like yours, but asks again if a value does not fit.

    `structured_predict`, `as_structured_llm` and their async and streaming versions read what a
    model really writes, and correct it if its reply contains no value of the schema. With a parser,
    `chat` and `achat` correct the model until the parser accepts its reply, so a program with that
    parser asks again. Everything else works as before. It has your model's class and attributes;
    your model stays as it is. A stream yields partial values of another class, and finally the
    whole value of your class.

    Args:
        llm: Any LlamaIndex LLM.
        parser: The parser of the program that the LLM is for, or a schema of the value you want: a
            pydantic model, or any other that `PydanticOutputParser` takes; then the LLM has to be
            a chat model.
        max_retries: The maximum number of retries.
        constrain: When to have the provider decode by the JSON schema of the value, if it can: from
            the first retry on, always or never. Some clients always do so by themselves; a client
            that predicts values in its own, unknown way is returned unchanged.

    Raises:
        TypeError: `llm` is not a LlamaIndex LLM, `parser` is neither parser nor schema, or
            `max_retries` is not an `int`.
        ValueError: `max_retries` is negative, `constrain` is unknown, or you passed a parser and
            `llm` only completes text.

    >>> from llama_index.core.prompts import PromptTemplate
    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> from pydantic import BaseModel
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
    if parser is not None and not isinstance(parser, BaseOutputParser):
        parser = PydanticOutputParser(parser)
    policy = RetryPolicy(max_retries, constrain=constrain)
    if not isinstance(llm, StructuredRetry) and _predicts_by_itself(type(llm)):
        if not takes_schema(llm) and parser is None:
            return llm
        policy = replace(policy, constrain="always" if constrain else False)
    return _with(llm, policy, parser)  # type: ignore[no-any-return] # of the model's class
