"""An output parser that asks a model to correct bad replies."""

from __future__ import annotations

from typing import Annotated, Any, Union, cast

from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.output_parsers import BaseOutputParser
from langchain_core.outputs import ChatGeneration, Generation
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from pydantic import ConfigDict, Field, SkipValidation
from typing_extensions import TypeVar, override

from langchain_loopmend.errors import correction_of, instructions_of
from langchain_loopmend.mending import Constrain
from langchain_loopmend.messages import text_of
from langchain_loopmend.parsers import AgentActionOutputParser
from langchain_loopmend.parsing_retry import ParsedExchange
from loopmend import Ask, GaveUp
from loopmend.adapting import at_once
from loopmend.contracts import MAX_NORMALIZATION_RETRIES

__all__ = ["RetryingOutputParser"]

T = TypeVar("T")
P = TypeVar("P", default=Union[AgentAction, AgentFinish])

_ASK = "Reply in the requested form."


class _OwnExchange(ParsedExchange):
    """An exchange whose question is put again in the words of a template, or by a chain."""

    def __init__(self, own: RetryingOutputParser[Any], prompt: Any, **how: Any) -> None:
        told = [HumanMessage(instructions_of(own.parser) or _ASK)]
        super().__init__(own, own.asked, prompt.to_messages() if prompt else told, **how)
        self._own = own
        self._prompt = prompt

    @override
    def put(self, step: Ask) -> Any:
        template, chain = self._own.prompt, self._own.retry_chain
        if step.schema is not None or (template is None and chain is None):
            return super().put(step)
        known = {
            "prompt": self._prompt.to_string() if self._prompt else "",
            "completion": text_of(self.reply),
            "error": step.messages[-1].content,
            "instructions": instructions_of(self._own.parser),
        }
        if template is None:
            return known
        return template.format_prompt(**{k: known.get(k, "") for k in template.input_variables})


class RetryingOutputParser(BaseOutputParser[T]):
    r"""Wraps a parser and asks a model to correct the replies that it refuses.

    It takes what LangChain's `RetryOutputParser`, `RetryWithErrorOutputParser` and
    `OutputFixingParser` take, but works in a pipe, keeps the roles of the messages, and is truly
    async. Any `ValueError` of the parser, including pydantic's, is a reason to ask again. In place
    of LangChain's own JSON parsers it uses ours, which read more.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> llm = FakeListChatModel(responses=["Action: search\nAction Input: Oslo"])
    >>> parser = RetryingOutputParser.from_llm(llm)
    >>> parser.invoke("I will search the web for Oslo.").tool
    'search'
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    parser: Annotated[BaseOutputParser[T], SkipValidation()]
    """The parser that decides."""
    llm: Annotated[Runnable[Any, Any] | None, SkipValidation()] = None
    """The model to ask again."""
    retry_chain: Annotated[Any, SkipValidation()] = None
    """A chain of your own to ask in place of the model; it gets `prompt`, `completion`, `error` and
    `instructions`."""
    legacy: bool = True
    """Whether to call `run` or `arun` if the `retry_chain` has them, as an `LLMChain` does."""
    prompt: Annotated[BasePromptTemplate[Any] | None, SkipValidation()] = None
    """Your own template for asking again, with any of the variables `prompt`,
    `completion`, `error` and `instructions`; without it, the conversation goes on."""
    max_retries: int = Field(default=MAX_NORMALIZATION_RETRIES, ge=0, strict=True)
    """The maximum number of retries."""
    constrain: Constrain = "retry"
    """When to have the provider decode by a schema, if it can and the parser knows one."""

    @override
    def model_post_init(self, context: Any, /) -> None:
        if (self.llm is None) == (self.retry_chain is None):
            msg = "pass either `llm` or `retry_chain`"
            raise ValueError(msg)

    @property
    def asked(self) -> Runnable[Any, Any]:
        """The model or the chain that is asked again."""
        chain = self.retry_chain
        if self.llm is not None:
            return self.llm
        return _as_runnable(chain) if self.legacy and hasattr(chain, "run") else chain

    @classmethod
    def from_llm(
        cls,
        llm: Runnable[Any, Any],
        parser: BaseOutputParser[P] | None = None,
        prompt: BasePromptTemplate[Any] | None = None,
        max_retries: int = MAX_NORMALIZATION_RETRIES,
    ) -> RetryingOutputParser[P]:
        """Return a parser that asks `llm` again.

        Args:
            llm: The model to ask.
            parser: The parser that decides; by default one for agent actions.
            prompt: Your own template for asking again.
            max_retries: The maximum number of retries.
        """
        inner: Any = AgentActionOutputParser() if parser is None else parser
        made: Any = cls(parser=inner, llm=llm, prompt=prompt, max_retries=max_retries)
        return cast("RetryingOutputParser[P]", made)

    @classmethod
    @override
    def is_lc_serializable(cls) -> bool:
        return True

    @property
    @override
    def OutputType(self) -> Any:
        return self.parser.OutputType

    @property
    def _type(self) -> str:
        return "loopmend-retrying"

    @override
    def get_format_instructions(self) -> str:
        return self.parser.get_format_instructions()

    @override
    def invoke(
        self, input: str | BaseMessage, config: RunnableConfig | None = None, **kwargs: Any
    ) -> T:
        run: Any = lambda input, config: at_once(self._run(input, config))  # noqa: E731
        return self._call_with_config(run, input, config, run_type="parser")

    @override
    async def ainvoke(
        self, input: str | BaseMessage, config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> T:
        run: Any = lambda input, config: self._run(input, config, waits=True)  # noqa: E731
        return await self._acall_with_config(run, input, config, run_type="parser")

    @override
    def parse(self, text: str) -> T:
        return at_once(self._run(text))

    @override
    async def aparse(self, text: str) -> T:
        return await self._run(text, waits=True)

    @override
    def parse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        return at_once(self._run(_reply_of(result)))

    @override
    async def aparse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        return await self._run(_reply_of(result), waits=True)

    @override
    def parse_with_prompt(
        self,
        completion: str | BaseMessage,
        prompt: PromptValue | None = None,
        *,
        prompt_value: PromptValue | None = None,
        config: RunnableConfig | None = None,
    ) -> T:
        """Parse a completion, and go on with the conversation that led to it.

        Args:
            completion: The reply, as text or as a message.
            prompt: The model's prompt, under its name in LangChain's base class.
            prompt_value: The same, under its name in LangChain's retry parsers.
            config: Callbacks, tags and the like for asking again.
        """
        return at_once(self._run(completion, config, prompt_value or prompt))

    async def aparse_with_prompt(
        self,
        completion: str | BaseMessage,
        prompt: PromptValue | None = None,
        *,
        prompt_value: PromptValue | None = None,
        config: RunnableConfig | None = None,
    ) -> T:
        """Do the same without blocking."""
        return await self._run(completion, config, prompt_value or prompt, waits=True)

    async def _run(
        self,
        reply: Any,
        config: RunnableConfig | None = None,
        prompt: PromptValue | None = None,
        *,
        waits: bool = False,
    ) -> T:
        exchange = _OwnExchange(self, prompt, config=config, waits=waits)
        exchange.start(prompt.to_messages() if prompt else [])
        outcome = await exchange.run(await exchange.judge(reply))
        if not isinstance(outcome, GaveUp):
            return cast("T", exchange.value)
        # What agents can handle is always LangChain's kind of exception.
        error = exchange.error_of(outcome)
        if isinstance(error, OutputParserException):
            raise error
        words, said = correction_of(self.parser, error), text_of(exchange.reply)
        raise OutputParserException(error, words, said, send_to_llm=True) from error


def _reply_of(result: list[Generation]) -> str | BaseMessage:
    first = result[0]
    return first.message if isinstance(first, ChatGeneration) else first.text


def _as_runnable(chain: Any) -> Runnable[Any, Any]:
    """Return an `LLMChain` as a runnable; it takes only what its prompt names."""

    def own(known: dict[str, Any]) -> dict[str, Any]:
        keys = getattr(chain, "input_keys", known)
        return {name: text for name, text in known.items() if name in keys}

    async def arun(known: dict[str, Any]) -> Any:
        return await chain.arun(**own(known))

    return RunnableLambda(lambda known: chain.run(**own(known)), arun)
