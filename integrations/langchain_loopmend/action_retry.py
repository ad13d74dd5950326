"""A model and a parser as one step of a chain, which asks again by itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, cast

from langchain_core.agents import AgentFinish
from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.language_models import LanguageModelInput
from langchain_core.output_parsers import BaseOutputParser
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import SkipValidation
from typing_extensions import override

from langchain_loopmend.asking import Asking
from langchain_loopmend.attempts import (
    Ask,
    Exhausted,
    Parse,
    Reply,
    Steps,
    Tell,
    adrive,
    attempts,
    drive,
    follow_up,
)
from langchain_loopmend.errors import ActionParseException
from langchain_loopmend.messages import as_messages, as_text, put_together, text_of
from langchain_loopmend.parsers import AgentActionOutputParser
from langchain_loopmend.retry import RETRY_EVENT, attempt_config
from loopmend import MAX_NORMALIZATION_RETRIES, Failure

__all__ = ["ActionRetry", "GaveUp", "with_action_retry"]


class GaveUp(AgentFinish):
    """The end of a run whose model could not be brought to the form that was asked for.

    Its output is the model's last reply, so agents end with what there is; chains can tell it
    from an answer by its type.

    >>> GaveUp(return_values={"output": "?"}, log="?", error="no action", retries=2).retries
    2
    """

    error: str
    """What is wrong with the last reply."""
    failure: Failure | None = None
    """The same in loopmend's terms, if the parser is loopmend's."""
    retries: int
    """How often the model was asked again."""

    @classmethod
    @override
    def is_lc_serializable(cls) -> bool:
        """Whether it can be dumped: no, it is about one run."""
        return False


class ActionRetry(Asking[Any]):
    """Asks a model, parses its reply, and asks again with a correction as long as that helps.

    Made by `with_action_retry`. Everything a runnable can do it does: sync, async, batches,
    streams (of one object, as agents need it; the model's tokens reach the callbacks).

    >>> from langchain_core.language_models import FakeListChatModel
    >>> llm = FakeListChatModel(responses=["", "Final Answer: 4"])
    >>> with_action_retry(llm).invoke("What is 2 + 2?").return_values
    {'output': '4'}
    """

    parser: Annotated[BaseOutputParser[Any], SkipValidation()]
    """The parser that has the say."""
    retry_llm: Annotated[Runnable[Any, Any] | None, SkipValidation()] = None
    """Another model for asking again, such as a stronger one."""
    on_exhausted: Literal["raise", "return"] = "raise"
    """Whether to raise the last error or to return a `GaveUp`."""

    @classmethod
    @override
    def is_lc_serializable(cls) -> bool:
        """Whether it can be dumped and loaded: yes, if its parts can."""
        return True

    @property
    @override
    def InputType(self) -> Any:
        """What the model takes."""
        return self.llm.InputType

    @property
    @override
    def OutputType(self) -> Any:
        """What the parser returns; agents look at it."""
        return self.parser.OutputType

    @override
    def _run(
        self,
        input: LanguageModelInput,
        config: RunnableConfig,
        *,
        passed: dict[str, Any],
        streaming: bool = False,
    ) -> Any:
        def ask(step: Ask) -> Reply:
            model, child = self._model(step), attempt_config(config, step.attempt)
            if streaming:
                return put_together(list(model.stream(step.input, child, **passed)))
            return cast("Reply", model.invoke(step.input, child, **passed))

        def parse(step: Parse) -> Any:
            return self.parser.invoke(step.reply, attempt_config(config, step.attempt))

        def tell(step: Tell) -> None:
            dispatch_custom_event(RETRY_EVENT, step.data(), config=config)

        return self._concluded(drive(self._steps(input), ask, parse, tell))

    @override
    async def _arun(
        self,
        input: LanguageModelInput,
        config: RunnableConfig,
        *,
        passed: dict[str, Any],
        streaming: bool = False,
    ) -> Any:
        async def ask(step: Ask) -> Reply:
            model, child = self._model(step), attempt_config(config, step.attempt)
            if streaming:
                return put_together([c async for c in model.astream(step.input, child, **passed)])
            return cast("Reply", await model.ainvoke(step.input, child, **passed))

        async def parse(step: Parse) -> Any:
            return await self.parser.ainvoke(step.reply, attempt_config(config, step.attempt))

        async def tell(step: Tell) -> None:
            await adispatch_custom_event(RETRY_EVENT, step.data(), config=config)

        return self._concluded(await adrive(self._steps(input), ask, parse, tell))

    def _model(self, step: Ask) -> Runnable[Any, Any]:
        return self.retry_llm if step.attempt and self.retry_llm is not None else self.llm

    def _steps(self, input: LanguageModelInput) -> Steps:
        added: list[tuple[Reply, str]] = []

        def asked(reply: Reply, words: str) -> Any:
            added.append((reply, words))
            return _continued(input, added)

        return attempts(self.parser, self.max_retries, asked=asked, first=input)

    def _concluded(self, outcome: Any) -> Any:
        if not isinstance(outcome, Exhausted):
            return outcome
        if self.on_exhausted == "raise":
            raise outcome.error
        said = text_of(outcome.reply)
        failure = outcome.error.failure if isinstance(outcome.error, ActionParseException) else None
        return GaveUp(
            return_values={"output": said},
            log=said,
            error=str(outcome.error) if failure is None else failure.message,
            failure=failure,
            retries=outcome.retries,
        )


def with_action_retry(  # noqa: PLR0913 - all but three by name
    llm: Runnable[Any, Any],
    parser: BaseOutputParser[Any] | None = None,
    tools: Iterable[Any] | None = None,
    *,
    max_retries: int = MAX_NORMALIZATION_RETRIES,
    retry_llm: Runnable[Any, Any] | None = None,
    on_exhausted: Literal["raise", "return"] = "raise",
) -> ActionRetry:
    r"""Return a step that asks a model for an action and corrects it; use `prompt | …` with it.

    The correction follows the conversation, with the roles kept and all attempts visible. The
    runs of each attempt are tagged `loopmend:attempt:N`, and before each retry a custom event
    `loopmend_retry` is sent.

    Args:
        llm: A chat model or language model.
        parser: The parser that has the say; by default one for agent actions.
        tools: What is on offer, for the default parser.
        max_retries: How often the model is asked again at most.
        retry_llm: Another model for asking again.
        on_exhausted: Whether to raise the last error or to return a `GaveUp`.

    Raises:
        TypeError: Both `parser` and `tools` are given.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> from langchain_core.prompts import ChatPromptTemplate
    >>> llm = FakeListChatModel(
    ...     responses=["Let me look that up.", "Action: search\nAction Input: Oslo"]
    ... )
    >>> chain = ChatPromptTemplate.from_template("{question}") | with_action_retry(llm)
    >>> chain.invoke({"question": "Where is Oslo?"}).tool_input
    'Oslo'
    """
    if parser is not None and tools is not None:
        msg = "give the tools to the parser, or leave the parser out"
        raise TypeError(msg)
    offered = None if tools is None else list(tools)
    chosen = AgentActionOutputParser(tools=offered) if parser is None else parser
    return ActionRetry(
        llm=llm,
        parser=chosen,
        retry_llm=retry_llm,
        max_retries=max_retries,
        on_exhausted=on_exhausted,
    )


def _continued(input: LanguageModelInput, added: list[tuple[Reply, str]]) -> Any:
    """Return the input with the bad replies and the corrections after it."""
    if all(isinstance(reply, str) for reply, _ in added):
        # A model of plain text goes on with its own text; it knows no roles.
        said = "".join(f"{text_of(reply)}\n\n{words}\n\n" for reply, words in added)
        return f"{as_text(input)}{said}"
    messages = as_messages(input)
    for reply, words in added:
        messages += follow_up(reply, words)
    return messages
