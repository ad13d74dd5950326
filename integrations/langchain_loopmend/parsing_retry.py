"""A model and a parser as one chain step that asks again by itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Annotated, Any

from langchain_core.agents import AgentFinish
from langchain_core.language_models import LanguageModelInput
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import SkipValidation
from typing_extensions import override

from langchain_loopmend.mending import Constrain, Mender, Way
from langchain_loopmend.messages import as_messages, question_of, text_of
from langchain_loopmend.parsed_replies import ParsedExchange
from langchain_loopmend.parsers import AgentActionOutputParser
from langchain_loopmend.value_parsers import PydanticOutputParser
from loopmend import Done, Failure, GaveUp, StopReason
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import OnFailure

__all__ = ["GaveUpFinish", "ParsingRetry", "with_parsing_retry"]


class GaveUpFinish(AgentFinish):
    """The end of a run whose model never replied in the requested form.

    Its output is the model's last reply, so agents end with what there is; the type tells chains
    that it is not an answer.

    >>> GaveUpFinish(return_values={"output": "?"}, log="?", error="no action", retries=2).retries
    2
    """

    error: str
    """What is wrong with the last reply."""
    failure: Failure | None = None
    """The same in loopmend's terms."""
    retries: int
    """How often the model was asked again."""
    reason: str = StopReason.PARSE_FAIL.value
    """Why the run ended, in a trace's terms."""

    @classmethod
    @override
    def is_lc_serializable(cls) -> bool:
        """Whether it can be dumped: no, it belongs to one run."""
        return False


class ParsingRetry(Mender[Any]):
    """Asks a model, parses its reply, and asks again with a correction if needed.

    `with_parsing_retry` makes one. It does everything a runnable can: sync, async, batches,
    streams (of one object, as agents need it; the model's tokens reach the callbacks), fallbacks.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> llm = FakeListChatModel(responses=["", "Final Answer: 4"])
    >>> with_parsing_retry(llm).invoke("What is 2 + 2?").return_values
    {'output': '4'}
    """

    parser: Annotated[Runnable[Any, Any], SkipValidation()]
    """The parser that decides."""
    retry_llm: Annotated[Runnable[Any, Any] | None, SkipValidation()] = None
    """Another model for asking again, such as a stronger one."""
    on_failure: Annotated[OnFailure, SkipValidation()] = "raise"
    """Whether to raise the last error, to return a `GaveUpFinish`, or a function of it."""
    include_raw: bool = False
    """Whether to return the reply and the error, too, as `with_structured_output` does."""

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
        return dict[str, Any] if self.include_raw else self.parser.OutputType

    @override
    async def _mend(self, input: LanguageModelInput, way: Way) -> Any:
        exchange = ParsedExchange(
            self.llm,
            input,
            way,
            parser=self.parser,
            limits=(self.max_retries, self.constrain),
            retry_llm=self.retry_llm,
        )
        start = exchange.mending.start(question_of(as_messages(input)))
        outcome = await exchange.run(start)
        return (
            self._with_raw(outcome, exchange) if self.include_raw else self._of(outcome, exchange)
        )

    def _of(self, outcome: Done | GaveUp, exchange: ParsedExchange) -> Any:
        if isinstance(outcome, Done):
            return exchange.value
        said = text_of(exchange.reply or "")
        finish = GaveUpFinish(
            return_values={"output": said},
            log=said,
            error=outcome.failure.message,
            failure=outcome.failure,
            retries=outcome.retries,
        )
        return outcome.concluded(self.on_failure, finish, exchange.error_of(outcome))

    def _with_raw(self, outcome: Done | GaveUp, exchange: ParsedExchange) -> dict[str, Any]:
        error = exchange.error_of(outcome) if isinstance(outcome, GaveUp) else None
        parsed = exchange.value if error is None else None
        return {"raw": exchange.reply or "", "parsed": parsed, "parsing_error": error}


def with_parsing_retry(  # noqa: PLR0913 - all but three by name
    llm: Runnable[Any, Any],
    parser: Any = None,
    tools: Iterable[Any] | None = None,
    *,
    max_retries: int = MAX_NORMALIZATION_RETRIES,
    constrain: Constrain = "retry",
    retry_llm: Runnable[Any, Any] | None = None,
    on_failure: OnFailure = "raise",
) -> ParsingRetry:
    r"""Return a step that asks a model and corrects it until a parser is content.

    Use it as `prompt | with_parsing_retry(llm, parser)`. It tags the runs of each attempt
    `loopmend:attempt:N`, and sends a custom event `loopmend_retry` before each retry.

    Args:
        llm: A chat model or language model.
        parser: What decides: any parser, LangChain's own included, a function of the reply, or a
            schema of the value you want: a pydantic model, a dataclass, a `TypedDict`, a JSON
            Schema. By default, a parser for agent actions.
        tools: The available tools, for the default parser.
        max_retries: The maximum number of retries.
        constrain: When to have the provider decode by a JSON schema of the value or of the
            actions, if it can and the parser knows them: from the first retry on, always or never.
        retry_llm: Another model for asking again.
        on_failure: Whether to raise the last error, to return a `GaveUpFinish`, or a function of
            the verdict and the finish that returns what to use.

    Raises:
        TypeError: You passed both `parser` and `tools`, or `parser` is neither parser nor schema.

    >>> from dataclasses import dataclass
    >>> from langchain_core.language_models import FakeListChatModel
    >>> from langchain_core.prompts import ChatPromptTemplate
    >>> @dataclass
    ... class City:
    ...     name: str
    ...     people: int
    >>> llm = FakeListChatModel(responses=["It is big.", "{'name': 'Oslo', 'people': 717710}"])
    >>> chain = ChatPromptTemplate.from_template("{question}") | with_parsing_retry(llm, City)
    >>> chain.invoke({"question": "How big is Oslo?"})
    City(name='Oslo', people=717710)
    """
    if parser is not None and tools is not None:
        msg = "pass the tools to the parser, or leave the parser out"
        raise TypeError(msg)
    return ParsingRetry(
        llm=llm,
        parser=_parser_of(parser, tools),
        retry_llm=retry_llm,
        max_retries=max_retries,
        constrain=constrain,
        on_failure=on_failure,
    )


def _parser_of(parser: Any, tools: Iterable[Any] | None) -> Runnable[Any, Any]:
    if parser is None:
        return AgentActionOutputParser(tools=None if tools is None else list(tools))
    if isinstance(parser, Runnable):
        return parser
    if inspect.isroutine(parser):  # as in a pipe
        return RunnableLambda(parser)
    by_schema = PydanticOutputParser(pydantic_object=parser)
    _ = by_schema.wanted  # what is no schema is refused at once
    return by_schema
