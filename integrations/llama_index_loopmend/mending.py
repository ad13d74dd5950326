"""Asking a model until its reply can be used: any parser judges, `loopmend.Mending` decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, Union

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.output_parsers import BaseOutputParser
from llama_index.core.output_parsers.base import OutputParserException
from llama_index.core.prompts import BasePromptTemplate
from typing_extensions import override

from llama_index_loopmend.errors import ActionParseException
from llama_index_loopmend.messages import (
    chat_messages,
    core_messages,
    has_media,
    question_of,
    reply_from,
)
from llama_index_loopmend.parsers import ActionOutputParser, TolerantReActOutputParser
from llama_index_loopmend.schemas import decoding_arguments, remember_refusal, takes_schema
from llama_index_loopmend.value_parsers import refused_value, value_parser
from loopmend import Ask, Done, Failure, FailurePattern, GaveUp, Mending, Reply, RetryPolicy
from loopmend.adapting import at_once
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import constrained, cut_reason, parser_correction, refuses_schema

__all__ = ["Exchange", "Prompt", "RetryingOutputParser"]

Prompt = Union[str, Sequence[ChatMessage], BasePromptTemplate]
"""What a model is asked: a text, messages, or a template with its variables beside it."""

Verdict = Union[Ask, GaveUp, None]
"""What to do about a reply; nothing if it can be used."""

# LlamaIndex's own exception for parsers is not a `ValueError`.
_REFUSALS: Final = (ValueError, OutputParserException)


class Exchange:
    """One question and its replies, as a parser judges them: any parser, LlamaIndex's included.

    It is written once, as coroutines. One that does not wait never suspends, so `at_once` runs it.
    """

    def __init__(  # noqa: PLR0913 - all but four by name
        self,
        llm: Any,
        messages: Sequence[ChatMessage],
        parser: BaseOutputParser,
        policy: RetryPolicy,
        *,
        waits: bool = False,
        chat: Any = None,
        passed: Mapping[str, Any] | None = None,
    ) -> None:
        self.latest: Any = None
        """The latest response."""
        self._llm = llm
        self._waits = waits
        self._chat = chat
        self._passed = dict(passed or {})
        self._messages = _introduced(llm, messages)
        self._parser = parser
        self._values = value_parser(parser)
        self._value: Any = None
        self._error: Exception | None = None
        can = takes_schema(llm)
        if self._values is not None:
            config = replace(self._values.config, detect_signals=False)
            # A call goes back with our answer to it: a model that made one waits for that.
            policy = replace(policy, show_refused="calls")
            how: dict[str, Any] = {"schema": self._values.wanted, "config": config}
        else:
            form = "react" if isinstance(parser, TolerantReActOutputParser) else "json"
            how = {"form": form, "answer_label": "Answer"}
            if isinstance(parser, (TolerantReActOutputParser, ActionOutputParser)):
                how["tools"] = parser.toolbox
            can = can and "tools" in how
        self._mending = Mending(policy=policy, can_constrain=can, **how)

    def start(self) -> Ask:
        """Return what to ask at first."""
        messages = self._messages
        return self._mending.start(question_of(messages), holds_more=has_media(messages))

    async def run(self, step: Verdict) -> Any:
        """Ask until there is a result."""
        while isinstance(step, Ask):
            try:
                response = self.chat(*self.put(step))
                self.latest = await response if self._waits else response
            except Exception as error:  # noqa: BLE001, PERF203 - what is not ours is raised again
                step = self.after_error(step, error)
            else:
                step = self.judge(self.reply(self.latest))
        return self.concluded(step)

    def chat(self, messages: list[ChatMessage], arguments: dict[str, Any]) -> Any:
        """Ask the model, or return what is to be awaited for it."""
        chat = self._chat or (self._llm.achat if self._waits else self._llm.chat)
        return chat(messages, **{**self._passed, **arguments})

    def reply(self, response: ChatResponse) -> Reply:
        """Return a response as the core takes it."""
        return reply_from(response.message, raw=response.raw)

    def put(self, step: Ask) -> tuple[list[ChatMessage], dict[str, Any]]:
        """Return what to ask, and the arguments that make the provider decode by a schema."""
        whole = [*self._messages, *chat_messages(step.messages)]
        if step.schema is None:
            return whole, {}
        if self._values is None:
            told = [*core_messages(self._messages), *step.messages]
            whole = chat_messages(constrained(told, self._mending.offered))
        return whole, decoding_arguments(self._llm, step.schema) or {}

    def judge(self, reply: Reply) -> Verdict:
        """Say what to do about a reply."""
        if self._values is not None:
            step = self._mending.reply(reply)
            if isinstance(step, Done):
                self._value = step.value
                return None
            if isinstance(step, GaveUp) and step.reading is not None:
                self._error = refused_value(reply.text, step.reading, self._values.wanted)
            return step
        try:
            self._value = self._parser.parse(reply.text)
        except _REFUSALS as error:
            self._error = error
            said = Failure(FailurePattern.MALFORMED, cut_reason(str(error)), (0, 0))
            failure = getattr(error, "failure", said)
            return self._mending.refuse(reply, failure, self._words(error))
        return None

    def _words(self, error: Exception) -> str | None:
        """Return a parser's own words for the model; `None` if the core has better ones."""
        if isinstance(error, ActionParseException):
            ours = isinstance(self._parser, (ActionOutputParser, TolerantReActOutputParser))
            return None if ours else error.observation
        try:
            form = self._parser.format("").strip()
        except NotImplementedError:  # a ReAct parser has no form of its own to tell
            form = ""
        return parser_correction(str(error), form)

    def after_error(self, step: Ask, error: Exception) -> Verdict:
        """Say what to do about an exception that a model raised; raise it if it is not ours."""
        if step.schema is not None and refuses_schema(error):
            remember_refusal(self._llm)
        verdict = self._mending.raised(error)
        if verdict is None:
            raise error
        self._error = error
        return verdict  # type: ignore[return-value] # never done

    def concluded(self, verdict: Verdict) -> Any:
        """Return what was parsed, or raise the last error."""
        if not isinstance(verdict, GaveUp):
            return self._value
        error = verdict.cause or self._error or verdict.error()
        # Past whatever an error of others makes of its attributes being set.
        object.__setattr__(error, "retries", verdict.retries)
        raise error


def _introduced(llm: Any, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Put the model's own system prompt in front, as LlamaIndex does where it predicts."""
    said = getattr(llm, "system_prompt", None)
    if not said or any(m.role is MessageRole.SYSTEM and m.content == said for m in messages):
        return list(messages)
    return [ChatMessage(role=MessageRole.SYSTEM, content=said), *messages]


class RetryingOutputParser(BaseOutputParser):
    r"""Wraps any output parser and asks a model to correct the replies that it refuses.

    It tells the model what is wrong and asks again, a bounded number of times. Any `ValueError` of
    the parser, including pydantic's, is a reason to ask again, and so is LlamaIndex's
    `OutputParserException`. In place of LlamaIndex's `PydanticOutputParser` it reads with ours.

    >>> from llama_index_loopmend.parsers import ActionOutputParser
    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> llm = ScriptedLLM(script=["Let me look that up.", "Action: search\nAction Input: Oslo"])
    >>> RetryingOutputParser(ActionOutputParser(), llm).predict("Where is Oslo?")
    ToolCall(name='search', arguments='Oslo', type='tool_call')
    """

    def __init__(
        self,
        parser: BaseOutputParser,
        llm: BaseLLM,
        *,
        max_retries: int = MAX_NORMALIZATION_RETRIES,
        constrain: Literal["retry", "always", False] = "retry",
    ) -> None:
        """Make a parser.

        Args:
            parser: The parser that decides.
            llm: The model to ask.
            max_retries: The maximum number of retries.
            constrain: When to have the provider decode by a JSON schema of the value or of the
                actions, if it can and the parser knows them: from the first retry on, always or
                never.

        Raises:
            TypeError: `max_retries` is not an `int`.
            ValueError: `max_retries` is negative, or `constrain` is unknown.
        """
        self.parser = parser
        self.llm = llm
        self._policy = RetryPolicy(max_retries, constrain=constrain)

    @override
    def parse(self, output: str) -> Any:
        """Parse a reply as the wrapped parser does, without retries: the prompt is unknown here."""
        return self.parser.parse(output)

    @override
    def format(self, query: str) -> str:
        """Format a query as the wrapped parser does."""
        return self.parser.format(query)

    @override
    def format_messages(self, messages: list[ChatMessage]) -> list[ChatMessage]:
        """Format messages as the wrapped parser does."""
        return self.parser.format_messages(messages)

    def parse_with_retry(self, output: str, prompt: Prompt, **prompt_args: Any) -> Any:
        """Parse a reply, and continue the conversation that led to it until that works.

        Args:
            output: The reply.
            prompt: The model's prompt.
            prompt_args: The variables of the prompt, if it is a template.

        Raises:
            ValueError: The last reply was refused too; the parser's own error, or its
                `OutputParserException`, with `retries` set to how often the model was asked.
        """
        return at_once(self._parsed(output, self._messages(prompt, prompt_args)))

    async def aparse_with_retry(self, output: str, prompt: Prompt, **prompt_args: Any) -> Any:
        """Parse a reply, and go on with the conversation, without blocking."""
        return await self._parsed(output, self._messages(prompt, prompt_args), waits=True)

    def predict(self, prompt: Prompt, **prompt_args: Any) -> Any:
        """Ask the model, and parse its reply with retries.

        The wrapped parser tells the model the form of the reply, unless the prompt is a template
        with its own parser, which then does.

        Args:
            prompt: What to ask.
            prompt_args: The variables of the prompt, if it is a template.

        Raises:
            ValueError: As for `parse_with_retry`.
        """
        return at_once(self._parsed(None, self._told(prompt, prompt_args)))

    async def apredict(self, prompt: Prompt, **prompt_args: Any) -> Any:
        """Ask the model, and parse its reply with retries, without blocking."""
        return await self._parsed(None, self._told(prompt, prompt_args), waits=True)

    async def _parsed(
        self, output: str | None, messages: list[ChatMessage], *, waits: bool = False
    ) -> Any:
        exchange = Exchange(self.llm, messages, self.parser, self._policy, waits=waits)
        first = exchange.start()
        return await exchange.run(first if output is None else exchange.judge(Reply(output)))

    def _messages(self, prompt: Prompt, prompt_args: dict[str, Any]) -> list[ChatMessage]:
        if isinstance(prompt, BasePromptTemplate):
            return prompt.format_messages(llm=self.llm, **prompt_args)
        if prompt_args:
            msg = f"only a template takes variables such as `{next(iter(prompt_args))}`"
            raise TypeError(msg)
        if isinstance(prompt, str):
            return [ChatMessage(role=MessageRole.USER, content=prompt)]
        return list(prompt)

    def _told(self, prompt: Prompt, prompt_args: dict[str, Any]) -> list[ChatMessage]:
        messages = self._messages(prompt, prompt_args)
        if isinstance(prompt, BasePromptTemplate) and prompt.output_parser is not None:
            return messages
        try:
            # LlamaIndex changes the messages that it is given.
            return self.parser.format_messages([m.model_copy(deep=True) for m in messages])
        except NotImplementedError:  # a ReAct parser has no form of its own to tell
            return messages
