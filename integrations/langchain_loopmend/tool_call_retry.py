"""A chat model whose replies are mended, for LangGraph and for any code that calls a model."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any, Literal, cast

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig
from typing_extensions import override

from langchain_loopmend.asking import Asking
from langchain_loopmend.mending import Mender, Steps, adrive, drive
from langchain_loopmend.messages import as_messages, put_together
from langchain_loopmend.retry import RETRY_EVENT, attempt_config
from langchain_loopmend.schemas import tool_schemas, toolbox
from loopmend import MAX_NORMALIZATION_RETRIES

__all__ = ["ToolCallRetry", "with_tool_call_retry"]


class ToolCallRetry(Asking[AIMessage]):
    """A chat model that is corrected when it breaks the tool protocol.

    Made by `with_tool_call_retry`. It takes the place of the model: it can be bound to tools,
    invoked, batched and streamed, and it returns messages.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> llm = FakeListChatModel(responses=["Let me search for that.", "It is in Norway."])
    >>> with_tool_call_retry(llm, tools=["search"]).invoke("Where is Oslo?").content
    'It is in Norway.'
    """

    tools: list[dict[str, Any]] | None = None
    """What is on offer, described; `None` if that is unknown."""
    salvage: bool = False
    """Whether a call that was written as text, or whose arguments were broken, is used all the
    same if the tools vouch for it."""
    on_failure: Literal["continue", "error"] = "continue"
    """Whether to return the last reply, without calls that must not run, or to raise."""

    def bind_tools(self, tools: Iterable[Any], **kwargs: Any) -> ToolCallRetry:
        """Return this with the model bound to tools, which are then also known here."""
        offered = list(tools)
        bound = cast("Any", self.llm).bind_tools(offered, **kwargs)
        return self.model_copy(update={"llm": bound, "tools": tool_schemas(offered)})

    @override
    def _run(
        self,
        input: LanguageModelInput,
        config: RunnableConfig,
        *,
        passed: dict[str, Any],
        streaming: bool = False,
    ) -> AIMessage:
        messages = as_messages(input)
        attempts = count()

        def ask(added: list[BaseMessage]) -> AIMessage:
            attempt = next(attempts)
            child = attempt_config(config, attempt)
            if attempt:
                dispatch_custom_event(RETRY_EVENT, _told(attempt, added), config=config)
            asked = [*messages, *added] if added else input
            if streaming:
                chunks = list(self.llm.stream(asked, child, **passed))
                return cast("AIMessage", put_together(chunks))
            return cast("AIMessage", self.llm.invoke(asked, child, **passed))

        return (drive(self._steps(messages), ask)).message

    @override
    async def _arun(
        self,
        input: LanguageModelInput,
        config: RunnableConfig,
        *,
        passed: dict[str, Any],
        streaming: bool = False,
    ) -> AIMessage:
        messages = as_messages(input)
        attempts = count()

        async def ask(added: list[BaseMessage]) -> AIMessage:
            attempt = next(attempts)
            child = attempt_config(config, attempt)
            if attempt:
                await adispatch_custom_event(RETRY_EVENT, _told(attempt, added), config=config)
            asked = [*messages, *added] if added else input
            if streaming:
                chunks = [c async for c in self.llm.astream(asked, child, **passed)]
                return cast("AIMessage", put_together(chunks))
            return cast("AIMessage", await self.llm.ainvoke(asked, child, **passed))

        return (await adrive(self._steps(messages), ask)).message

    def _steps(self, messages: list[BaseMessage]) -> Steps:
        mender = Mender(self.max_retries, salvage=self.salvage, on_failure=self.on_failure)
        answered = bool(messages) and isinstance(messages[-1], ToolMessage)
        known = None if self.tools is None else toolbox(self.tools)
        return mender.steps(known, after_tool_result=answered)


def with_tool_call_retry(
    llm: Runnable[Any, Any],
    tools: Iterable[Any] | None = None,
    *,
    max_retries: int = MAX_NORMALIZATION_RETRIES,
    salvage: bool = False,
    on_failure: Literal["continue", "error"] = "continue",
) -> ToolCallRetry:
    """Return a chat model that is corrected when it breaks the tool protocol.

    Use it where a chat model is expected: in a LangGraph node, or for its `create_react_agent`,
    which binds the tools itself. For `create_agent` there is `NormalizationMiddleware`.

    Args:
        llm: A chat model, bound to its tools or not.
        tools: What is on offer; found by itself if the model is bound to it, or if
            `bind_tools` is called on the result.
        max_retries: How often the model is asked again at most.
        salvage: Whether to use calls that were written as text if the tools vouch for them.
        on_failure: Whether to return the last reply or to raise `NormalizationError`.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> with_tool_call_retry(FakeListChatModel(responses=["Hello!"])).invoke("Hi").content
    'Hello!'
    """
    return ToolCallRetry(
        llm=llm,
        tools=_offered(llm, tools),
        max_retries=max_retries,
        salvage=salvage,
        on_failure=on_failure,
    )


def _offered(llm: Runnable[Any, Any], tools: Iterable[Any] | None) -> list[dict[str, Any]] | None:
    """Describe the tools that are given, or those that the model is bound to."""
    if tools is None and isinstance(llm, RunnableBinding):
        tools = llm.kwargs.get("tools")
    return None if tools is None else tool_schemas(tools)


def _told(attempt: int, added: list[BaseMessage]) -> dict[str, Any]:
    return {"attempt": attempt, "correction": str(added[-1].text)}
