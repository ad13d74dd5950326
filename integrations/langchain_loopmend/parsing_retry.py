"""A model and a parser as one chain step that asks again by itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from langchain_core.agents import AgentFinish
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import BaseOutputParser, JsonOutputToolsParser
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import SkipValidation
from typing_extensions import override

from langchain_loopmend.errors import correction_of, failure_of
from langchain_loopmend.mending import Constrain, Exchange, Mender
from langchain_loopmend.messages import (
    as_messages,
    as_reply,
    asked_of,
    mended,
    reply_of,
    text_of,
)
from langchain_loopmend.parsers import AgentActionOutputParser, ReadingOutputParser
from langchain_loopmend.schemas import bound_tools, takes_schema, tool_schemas, toolbox
from langchain_loopmend.value_parsers import PydanticOutputParser, ValueReader, value_parser
from loopmend import Ask, Done, Failure, GaveUp, Mending, RetryPolicy, StopReason, Turn
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import OnFailure

__all__ = ["GaveUpFinish", "ParsedExchange", "ParsingRetry", "with_parsing_retry"]


class GaveUpFinish(AgentFinish):
    """Ends a run whose model never replied in the requested form.

    Its output is the model's last reply, so an agent still returns something; the type tells
    chains that it is not an answer.

    >>> GaveUpFinish(return_values={"output": "?"}, log="?", error="no action", retries=2).retries
    2
    """

    error: str
    """What is wrong with the last reply."""
    failure: Failure | None = None
    """The failure, in loopmend's terms."""
    retries: int
    """How often loopmend asked again."""
    reason: str = StopReason.PARSE_FAIL.value
    """Why the run ended, as a `StopReason`."""

    @classmethod
    @override
    def is_lc_serializable(cls) -> bool:
        return False  # it belongs to one run


class ParsedExchange(Exchange):
    """A question that is put to a model until a parser can use its reply: any parser."""

    def __init__(
        self, own: Any, llm: Any, input: Any, config: Any, *, retry_llm: Any = None, **how: Any
    ) -> None:
        self.parser = value_parser(own.parser)
        self.value: Any = None
        self._error: Exception | None = None
        # A call goes back with our answer to it: a model that made one waits for that.
        policy = RetryPolicy(own.max_retries, constrain=own.constrain, show_refused="calls")
        mending = _mending(self.parser, policy, llm if retry_llm is None else retry_llm)
        super().__init__(llm, input, mending, config, retry_llm=retry_llm, **how)

    def start(self, messages: Sequence[BaseMessage]) -> Ask:
        """Return what to ask at first; what a parser reads has to be said, also after a result."""
        return self.mending.start(**{**asked_of(messages), "after_tool_result": False})

    @override
    async def judge(self, reply: Any) -> Any:
        self.reply = reply
        if isinstance(self.parser, JsonOutputToolsParser):
            step = self.mending.reply(reply_of(reply))
            if not isinstance(step, Done):
                return step
            self.reply = reply = mended(as_reply(reply), step)
        try:
            self.value = await self._parsed(reply)
        except ValueError as error:
            self._error = error
            said, words = failure_of(error), correction_of(self.parser, error)
            return self.mending.refuse(reply_of(reply), said, words)
        answers = isinstance(self.value, AgentFinish)
        echo = self.mending.echo(reply_of(reply)) if answers else None
        return Done(Turn()) if echo is None else self.mending.refuse(reply_of(reply), *echo)

    async def _parsed(self, reply: Any) -> Any:
        parser = self.parser
        if isinstance(parser, BaseOutputParser) and not isinstance(reply, (str, BaseMessage)):
            # What a chain of one's own returns; LangChain's retry parsers hand it on as it is.
            return await parser.aparse(reply) if self.waits else parser.parse(reply)
        config = self.config
        return await parser.ainvoke(reply, config) if self.waits else parser.invoke(reply, config)

    def error_of(self, outcome: GaveUp) -> Exception:
        """Return the error to raise after giving up: the parser's, if it raised one."""
        return self._error or outcome.error()


class ParsingRetry(Mender[Any]):
    """Asks a model, parses its reply, and asks again with a correction if needed.

    `with_parsing_retry` makes one. It does everything a runnable can: sync, async, batches,
    fallbacks, and streams of one object, as agents need it; the tokens reach the callbacks.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> llm = FakeListChatModel(responses=["", "Final Answer: 4"])
    >>> with_parsing_retry(llm).invoke("What is 2 + 2?").return_values
    {'output': '4'}
    """

    parser: Annotated[Runnable[Any, Any], SkipValidation()]
    """The parser that decides."""
    retry_llm: Annotated[Runnable[Any, Any] | None, SkipValidation()] = None
    """Another model for the retries, such as a stronger one."""
    on_failure: Annotated[OnFailure, SkipValidation()] = "raise"
    """Whether to raise the last error, to return a `GaveUpFinish`, or a function of it."""
    include_raw: bool = False
    """Whether to return the reply and the error as well, as `with_structured_output` does."""

    @classmethod
    @override
    def is_lc_serializable(cls) -> bool:
        return True

    @property
    @override
    def InputType(self) -> Any:
        return self.llm.InputType

    @property
    @override
    def OutputType(self) -> Any:
        return dict[str, Any] if self.include_raw else self.parser.OutputType

    @override
    async def _mend(self, input: Any, config: Any, **how: Any) -> Any:
        exchange = ParsedExchange(self, self.llm, input, config, retry_llm=self.retry_llm, **how)
        outcome = await exchange.run(exchange.start(as_messages(input)))
        done, reply = isinstance(outcome, Done), exchange.reply or ""
        error = None if done else exchange.error_of(outcome)
        if self.include_raw:
            return {
                "raw": reply,
                "parsed": exchange.value if done else None,
                "parsing_error": error,
            }
        if done:
            return exchange.value
        finish = GaveUpFinish(
            return_values={"output": text_of(reply)},
            log=text_of(reply),
            error=outcome.failure.message,
            failure=outcome.failure,
            retries=outcome.retries,
        )
        return outcome.concluded(self.on_failure, finish, error)


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
    r"""Return a step that asks a model and corrects it until a parser accepts its reply.

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
        return AgentActionOutputParser(tools=tools)  # type: ignore[arg-type] # described there
    if isinstance(parser, Runnable):
        return parser
    if inspect.isroutine(parser):  # as in a pipe
        return RunnableLambda(parser)
    by_schema = PydanticOutputParser(pydantic_object=parser)
    _ = by_schema.wanted  # what is no schema is refused at once
    return by_schema


def _mending(parser: Any, policy: RetryPolicy, llm: Any) -> Mending:
    """Return a loop that knows what the parser knows."""
    can = takes_schema(llm)
    if isinstance(parser, ReadingOutputParser):
        return Mending(parser.toolbox, parser.form, policy=policy, can_constrain=can)
    if isinstance(parser, ValueReader):
        wanted = parser.wanted
        can = can and wanted is not None
        return Mending(schema=wanted or {}, policy=policy, can_constrain=can)
    if isinstance(parser, JsonOutputToolsParser):
        own = getattr(parser, "tools", None)
        offered = bound_tools(llm) if own is None else tool_schemas(own)
        known = None if offered is None else toolbox(offered)
        return Mending(known, needs_call=True, policy=policy, can_constrain=can)
    return Mending(None, "react", policy=policy)
