"""A chat model with mended replies, for LangGraph and for any code that calls a model."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManager, CallbackManager
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from typing_extensions import override

from langchain_loopmend.mending import Constrain, Exchange, Mender
from langchain_loopmend.messages import (
    as_messages,
    as_reply,
    asked_of,
    mended,
    settled,
)
from langchain_loopmend.parsing_retry import ParsingRetry
from langchain_loopmend.schemas import (
    bound_tools,
    structured_model,
    takes_schema,
    tool_schemas,
    toolbox,
)
from langchain_loopmend.value_parsers import PydanticOutputParser
from loopmend import Done, Mending, RetryPolicy
from loopmend.adapting import at_once, require_several
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import OnFailure

__all__ = ["ToolCallRetry", "as_tool_caller", "with_tool_call_retry"]


class ToolCallRetry(Mender[AIMessage], BaseChatModel):  # type: ignore[misc]
    """A chat model that loopmend corrects when it breaks the tool protocol.

    `with_tool_call_retry` and `as_tool_caller` make one. Use it in place of the model: you can bind
    tools, ask for structured output, invoke, batch and stream, and it returns messages.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> llm = FakeListChatModel(responses=["Let me search for that.", "It is in Norway."])
    >>> with_tool_call_retry(llm, tools=["search"]).invoke("Where is Oslo?").content
    'It is in Norway.'
    """

    tools: list[dict[str, Any]] | None = None
    """The available tools, described; `None` if unknown."""
    salvage: bool | Collection[str] = True
    """Whether to make calls that the model wrote as text: all, none, or only to these tools."""

    @property
    @override
    def _llm_type(self) -> str:
        return "loopmend-mended"

    @override
    def bind_tools(self, tools: Iterable[Any], **kwargs: Any) -> ToolCallRetry:
        require_several(tools, "tools", "tools")
        offered = list(tools)
        try:
            bound = cast("Any", self.llm).bind_tools(offered, **kwargs)
        except NotImplementedError:  # then only a schema can say what is on offer
            bound = self.llm
        return self.model_copy(update={"llm": bound, "tools": tool_schemas(offered)})

    @override
    def with_structured_output(
        self, schema: Any, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """Return a step that asks for a value of a schema and corrects the model.

        Args:
            schema: The value's schema, as for the model itself, or any other schema that
                `with_parsing_retry` takes.
            include_raw: Whether to return a dict of `raw`, `parsed` and `parsing_error` instead.
            **kwargs: Other arguments of the model's own method, such as its `method`.
        """
        return ParsingRetry(
            llm=structured_model(self.llm, schema, kwargs),
            parser=PydanticOutputParser(pydantic_object=schema),
            max_retries=self.max_retries,
            constrain=self.constrain,
            on_failure=self.on_failure if callable(self.on_failure) else "raise",
            include_raw=include_raw,
        )

    @override
    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return at_once(self._generated(messages, stop, run_manager, kwargs))

    @override
    async def _agenerate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return await self._generated(messages, stop, run_manager, kwargs, waits=True)

    async def _generated(
        self, messages: Any, stop: Any, run_manager: Any, passed: Any, *, waits: bool = False
    ) -> ChatResult:
        """Ask in runs that are children of a model's, which has no way to make one."""
        config: Any = {}
        if run_manager is not None:
            manager = AsyncCallbackManager if waits else CallbackManager
            child = manager([], parent_run_id=run_manager.run_id)
            child.set_handlers(run_manager.inheritable_handlers)
            config = {"callbacks": child}
        passed = passed if stop is None else {**passed, "stop": stop}
        reply = await self._mend(messages, config, passed=passed, waits=waits)
        return ChatResult(generations=[ChatGeneration(message=reply)])

    @override
    async def _mend(self, input: Any, config: Any, **how: Any) -> AIMessage:
        mending = Mending(
            None if self.tools is None else toolbox(self.tools),
            policy=RetryPolicy(self.max_retries, self.salvage, self.constrain),
            can_constrain=takes_schema(self.llm),
        )
        exchange = Exchange(self.llm, input, mending, config, **how)
        outcome = await exchange.run(mending.start(**asked_of(as_messages(input))))
        last = None if exchange.reply is None else as_reply(exchange.reply)
        if isinstance(outcome, Done):
            return mended(cast("AIMessage", last), outcome)
        return settled(last, outcome, self.on_failure)


def with_tool_call_retry(  # noqa: PLR0913 - all but two by name
    llm: Runnable[Any, Any],
    tools: Iterable[Any] | None = None,
    *,
    max_retries: int = MAX_NORMALIZATION_RETRIES,
    salvage: bool | Collection[str] = True,
    constrain: Constrain = "retry",
    on_failure: OnFailure = "return",
) -> ToolCallRetry:
    """Return a chat model that loopmend corrects when it breaks the tool protocol.

    Use it wherever you need a chat model: in a LangGraph node, or in its `create_react_agent`,
    which binds the tools itself. For `create_agent`, use `NormalizationMiddleware`.

    Args:
        llm: A chat model, bound to its tools or not.
        tools: The available tools; found automatically if the model is bound to them, or if
            you call `bind_tools` on the result.
        max_retries: The maximum number of retries.
        salvage: Whether to make calls that the model wrote as text: all, none, or only to these
            tools.
        constrain: When to have the provider decode by a JSON schema of the actions, if it can:
            from the first retry on, always or never.
        on_failure: Whether to return the last reply, to raise `NormalizationError`, or a function
            of the verdict and the reply that returns the reply to use.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> with_tool_call_retry(FakeListChatModel(responses=["Hello!"])).invoke("Hi").content
    'Hello!'
    """
    return ToolCallRetry(
        llm=llm,
        tools=bound_tools(llm) if tools is None else tool_schemas(tools),
        max_retries=max_retries,
        salvage=salvage,
        constrain=constrain,
        on_failure=on_failure,
    )


def as_tool_caller(
    llm: Runnable[Any, Any],
    tools: Iterable[Any] | None = None,
    *,
    max_retries: int = MAX_NORMALIZATION_RETRIES,
    on_failure: OnFailure = "return",
) -> ToolCallRetry:
    """Turn any model whose provider decodes by a JSON schema into a tool-calling chat model.

    The model sees each tool as a signature and can only reply with a call that fits one of
    them, or with an answer. It needs no tool calling of its own.

    Args:
        llm: A chat model.
        tools: The available tools, unless you call `bind_tools` on the result.
        max_retries: The maximum number of retries.
        on_failure: What to do after the last retry, as for `with_tool_call_retry`.

    Raises:
        TypeError: The model's class does not declare support for a JSON schema.

    >>> from langchain_loopmend.testing import DecodingChatModel
    >>> reply = '{"type": "tool_call", "name": "search", "arguments": {"query": "Oslo"}}'
    >>> model = as_tool_caller(DecodingChatModel(script=[reply]), ["search"])
    >>> model.invoke("Where is Oslo?").tool_calls[0]["args"]
    {'query': 'Oslo'}
    """
    if not takes_schema(llm):
        msg = f"{type(llm).__name__} does not declare support for a JSON schema"
        raise TypeError(msg)
    return with_tool_call_retry(
        llm, tools, max_retries=max_retries, constrain="always", on_failure=on_failure
    )
