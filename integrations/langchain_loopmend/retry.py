"""An output parser that has bad replies corrected by a model."""

from __future__ import annotations

from typing import Annotated, Any, NoReturn, TypeVar, cast, overload

from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    CallbackManagerForChainRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.output_parsers import BaseOutputParser
from langchain_core.outputs import ChatGeneration, Generation
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import ConfigDict, Field, SkipValidation
from typing_extensions import override

from langchain_loopmend.attempts import (
    Ask,
    Exhausted,
    Parse,
    Reply,
    Steps,
    Tell,
    adrive,
    attempts,
    correction,
    drive,
    follow_up,
    instructions_of,
)
from langchain_loopmend.messages import text_of
from langchain_loopmend.parsers import AgentActionOutputParser
from loopmend import MAX_NORMALIZATION_RETRIES

__all__ = ["RETRY_EVENT", "RetryingOutputParser", "attempt_config"]

T = TypeVar("T")
P = TypeVar("P")

RETRY_EVENT = "loopmend_retry"
"""The name of the custom event that is sent whenever a model is asked again."""

_ASK = "Reply in the form that was asked for."


def attempt_config(config: RunnableConfig | None, attempt: int) -> RunnableConfig:
    """Return a config whose children are tagged with the attempt they belong to."""
    config = cast("RunnableConfig", dict(config or {}))
    config["tags"] = [*(config.get("tags") or []), f"loopmend:attempt:{attempt + 1}"]
    return config


class RetryingOutputParser(BaseOutputParser[T]):
    r"""Wraps a parser and has replies that it refuses corrected by a model.

    It has the interface of LangChain's `RetryWithErrorOutputParser` and `OutputFixingParser`,
    but can be piped, keeps the roles of the messages, shows the model all its attempts, and is
    really async. Any `ValueError` of the parser is a reason to ask again, so pydantic's too.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> llm = FakeListChatModel(responses=["Action: search\nAction Input: Oslo"])
    >>> parser = RetryingOutputParser.from_llm(llm)
    >>> parser.invoke("I will search the web for Oslo.").tool
    'search'
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    parser: Annotated[BaseOutputParser[T], SkipValidation()]
    """The parser that has the say."""
    llm: Annotated[Runnable[Any, Any], SkipValidation()]
    """The model that is asked again."""
    prompt: Annotated[BasePromptTemplate[Any] | None, SkipValidation()] = None
    """A template of your own for asking again, with any of the variables `prompt`,
    `completion`, `error` and `instructions`; else the conversation goes on."""
    max_retries: int = Field(default=MAX_NORMALIZATION_RETRIES, ge=0)
    """How often the model is asked again; never exceeded."""

    @overload
    @classmethod
    def from_llm(
        cls,
        llm: Runnable[Any, Any],
        parser: None = None,
        prompt: BasePromptTemplate[Any] | None = None,
        max_retries: int = MAX_NORMALIZATION_RETRIES,
    ) -> RetryingOutputParser[AgentAction | AgentFinish]: ...

    @overload
    @classmethod
    def from_llm(
        cls,
        llm: Runnable[Any, Any],
        parser: BaseOutputParser[P],
        prompt: BasePromptTemplate[Any] | None = None,
        max_retries: int = MAX_NORMALIZATION_RETRIES,
    ) -> RetryingOutputParser[P]: ...

    @classmethod
    def from_llm(
        cls,
        llm: Runnable[Any, Any],
        parser: BaseOutputParser[Any] | None = None,
        prompt: BasePromptTemplate[Any] | None = None,
        max_retries: int = MAX_NORMALIZATION_RETRIES,
    ) -> RetryingOutputParser[Any]:
        """Return a parser that asks `llm` again.

        Args:
            llm: The model to ask.
            parser: The parser that has the say; by default one for agent actions.
            prompt: A template of your own for asking again.
            max_retries: How often to ask again.
        """
        inner: Any = AgentActionOutputParser() if parser is None else parser
        return cls(parser=inner, llm=llm, prompt=prompt, max_retries=max_retries)

    @classmethod
    @override
    def is_lc_serializable(cls) -> bool:
        """Whether the parser can be dumped and loaded: yes, if its parts can."""
        return True

    @property
    @override
    def OutputType(self) -> Any:
        """What the wrapped parser returns."""
        return self.parser.OutputType

    @property
    def _type(self) -> str:
        return "loopmend-retrying"

    @override
    def get_format_instructions(self) -> str:
        """Return what the wrapped parser tells the model."""
        return self.parser.get_format_instructions()

    @override
    def invoke(
        self, input: str | BaseMessage, config: RunnableConfig | None = None, **kwargs: Any
    ) -> T:
        """Parse a reply; the model's runs are children of this one."""
        return self._call_with_config(self._invoke, input, config, run_type="parser")

    @override
    async def ainvoke(
        self, input: str | BaseMessage, config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> T:
        """Parse a reply; the model is asked without blocking."""
        return await self._acall_with_config(self._ainvoke, input, config, run_type="parser")

    @override
    def parse(self, text: str) -> T:
        """Parse a completion, and ask again without the prompt, which is not known here."""
        return self._run(text, None, None)

    @override
    async def aparse(self, text: str) -> T:
        """Parse a completion without blocking."""
        return await self._arun(text, None, None)

    @override
    def parse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        """Parse the first of several replies."""
        return self._run(_reply_of(result), None, None)

    @override
    async def aparse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        """Parse the first of several replies without blocking."""
        return await self._arun(_reply_of(result), None, None)

    @override
    def parse_with_prompt(
        self,
        completion: Reply,
        prompt: PromptValue | None = None,
        *,
        prompt_value: PromptValue | None = None,
        config: RunnableConfig | None = None,
    ) -> T:
        """Parse a completion, and go on with the conversation that led to it.

        Args:
            completion: The reply, as text or as a message.
            prompt: What the model was asked; LangChain's base class calls it so.
            prompt_value: The same; LangChain's retry parsers call it so.
            config: Callbacks, tags and the like for asking again.
        """
        return self._run(completion, prompt_value or prompt, config)

    async def aparse_with_prompt(
        self,
        completion: Reply,
        prompt: PromptValue | None = None,
        *,
        prompt_value: PromptValue | None = None,
        config: RunnableConfig | None = None,
    ) -> T:
        """Parse a completion, and go on with the conversation, without blocking."""
        return await self._arun(completion, prompt_value or prompt, config)

    def _invoke(
        self,
        input: Reply,
        run_manager: CallbackManagerForChainRun,  # noqa: ARG002 - `config` leads to it
        config: RunnableConfig,
    ) -> T:
        return self._run(input, None, config)

    async def _ainvoke(
        self,
        input: Reply,
        run_manager: AsyncCallbackManagerForChainRun,  # noqa: ARG002 - `config` leads to it
        config: RunnableConfig,
    ) -> T:
        return await self._arun(input, None, config)

    def _run(self, reply: Reply, prompt: PromptValue | None, config: RunnableConfig | None) -> T:
        def ask(step: Ask) -> Reply:
            found: Reply = self.llm.invoke(step.input, attempt_config(config, step.attempt))
            return found

        def parse(step: Parse) -> T:
            return self.parser.invoke(step.reply, attempt_config(config, step.attempt))

        def tell(step: Tell) -> None:
            if config is not None:
                dispatch_custom_event(RETRY_EVENT, step.data(), config=config)

        return self._concluded(drive(self._steps(reply, prompt), ask, parse, tell))

    async def _arun(
        self, reply: Reply, prompt: PromptValue | None, config: RunnableConfig | None
    ) -> T:
        async def ask(step: Ask) -> Reply:
            found: Reply = await self.llm.ainvoke(step.input, attempt_config(config, step.attempt))
            return found

        async def parse(step: Parse) -> T:
            return await self.parser.ainvoke(step.reply, attempt_config(config, step.attempt))

        async def tell(step: Tell) -> None:
            if config is not None:
                await adispatch_custom_event(RETRY_EVENT, step.data(), config=config)

        return self._concluded(await adrive(self._steps(reply, prompt), ask, parse, tell))

    def _steps(self, reply: Reply, prompt: PromptValue | None) -> Steps:
        history: list[BaseMessage]
        history = (
            prompt.to_messages() if prompt else [HumanMessage(instructions_of(self.parser) or _ASK)]
        )

        def asked(reply: Reply, words: str) -> Any:
            if self.prompt is not None:
                return self._formatted(self.prompt, reply, prompt, words)
            history.extend(follow_up(reply, words))
            return list(history)

        return attempts(self.parser, self.max_retries, asked=asked, reply=reply)

    def _formatted(
        self,
        template: BasePromptTemplate[Any],
        reply: Reply,
        prompt: PromptValue | None,
        words: str,
    ) -> PromptValue:
        known = {
            "prompt": prompt.to_string() if prompt else "",
            "completion": text_of(reply),
            "error": words,
            "instructions": instructions_of(self.parser),
        }
        return template.format_prompt(**{k: known.get(k, "") for k in template.input_variables})

    def _concluded(self, outcome: Any) -> T:
        if isinstance(outcome, Exhausted):
            self._give_up(outcome)
        return cast("T", outcome)

    def _give_up(self, last: Exhausted) -> NoReturn:
        """Raise what agents can handle: always LangChain's kind of exception."""
        if isinstance(last.error, OutputParserException):
            raise last.error
        raise OutputParserException(
            last.error,
            observation=correction(self.parser, last.error, last.retries),
            llm_output=text_of(last.reply),
            send_to_llm=True,
        ) from last.error


def _reply_of(result: list[Generation]) -> Reply:
    first = result[0]
    return first.message if isinstance(first, ChatGeneration) else first.text
