"""An output parser that has bad replies corrected by a model; LlamaIndex has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Union

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.output_parsers import BaseOutputParser
from llama_index.core.output_parsers.base import OutputParserException
from llama_index.core.prompts import BasePromptTemplate
from typing_extensions import override

from llama_index_loopmend.errors import ActionParseException
from loopmend import MAX_NORMALIZATION_RETRIES
from loopmend._arguments import require_int
from loopmend.reading.attempts import (
    Ask,
    Exhausted,
    Parse,
    Steps,
    adrive,
    attempts,
    drive,
    words_about,
)

__all__ = ["Prompt", "RetryingOutputParser"]

Prompt = Union[str, Sequence[ChatMessage], BasePromptTemplate]
"""What a model is asked: a text, messages, or a template with its variables beside it."""

# LlamaIndex's own exception for parsers is not a `ValueError`.
_REFUSALS: Final = (ValueError, OutputParserException)


class RetryingOutputParser(BaseOutputParser):
    r"""Wraps any output parser and has replies that it refuses corrected by a model.

    The model is shown the conversation with all its attempts and what is wrong with each,
    and is asked again a bounded number of times. Any `ValueError` of the parser is a reason
    to ask again, so pydantic's too, and so is LlamaIndex's `OutputParserException`.

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
    ) -> None:
        """Make a parser.

        Args:
            parser: The parser that has the say.
            llm: The model that is asked.
            max_retries: How often it is asked again at most.

        Raises:
            TypeError: `max_retries` is not an `int`.
            ValueError: `max_retries` is negative.
        """
        require_int(max_retries, "max_retries")
        if max_retries < 0:
            msg = "`max_retries` must not be negative"
            raise ValueError(msg)
        self.parser = parser
        self.llm = llm
        self.max_retries = max_retries

    @override
    def parse(self, output: str) -> Any:
        """Parse a reply as the wrapped parser does; here nobody knows what was asked."""
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
        """Parse a reply, and go on with the conversation that led to it until that works.

        Args:
            output: The reply.
            prompt: What the model was asked.
            prompt_args: The variables of the prompt, if it is a template.

        Raises:
            ValueError: The last reply was refused too; the parser's own error, or its
                `OutputParserException`, with `retries` set to how often the model was asked.
        """
        return self._run(self._steps(self._messages(prompt, prompt_args), output))

    async def aparse_with_retry(self, output: str, prompt: Prompt, **prompt_args: Any) -> Any:
        """Parse a reply, and go on with the conversation, without blocking."""
        return await self._arun(self._steps(self._messages(prompt, prompt_args), output))

    def predict(self, prompt: Prompt, **prompt_args: Any) -> Any:
        """Ask the model, and parse its reply with retries.

        The model is told the form of the reply by the wrapped parser, unless the prompt is a
        template with a parser of its own, which tells it.

        Args:
            prompt: What to ask.
            prompt_args: The variables of the prompt, if it is a template.

        Raises:
            ValueError: As for `parse_with_retry`.
        """
        return self._run(self._steps(self._told(prompt, prompt_args)))

    async def apredict(self, prompt: Prompt, **prompt_args: Any) -> Any:
        """Ask the model, and parse its reply with retries, without blocking."""
        return await self._arun(self._steps(self._told(prompt, prompt_args)))

    def _messages(self, prompt: Prompt, prompt_args: dict[str, Any]) -> list[ChatMessage]:
        if isinstance(prompt, BasePromptTemplate):
            return prompt.format_messages(llm=self.llm, **prompt_args)
        if prompt_args:
            msg = f"only a template has variables such as `{next(iter(prompt_args))}`"
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

    def _steps(self, messages: list[ChatMessage], reply: str | None = None) -> Steps:
        history = self._introduced(messages)

        def asked(reply: str, words: str) -> list[ChatMessage]:
            history.extend(_follow_up(reply, words))
            return list(history)

        return attempts(
            self.max_retries, correct=self._correction, asked=asked, first=history, reply=reply
        )

    def _introduced(self, messages: list[ChatMessage]) -> list[ChatMessage]:
        """Put the model's own system prompt in front, as LlamaIndex does where it predicts."""
        said = getattr(self.llm, "system_prompt", None)
        if not said or any(m.role is MessageRole.SYSTEM and m.content == said for m in messages):
            return list(messages)
        return [ChatMessage(role=MessageRole.SYSTEM, content=said), *messages]

    def _correction(self, error: Exception, attempt: int) -> str:
        if not isinstance(error, ActionParseException):
            return words_about(str(error), self._form())
        correct = getattr(self.parser, "correct", None)
        return error.observation if correct is None else str(correct(error.turn, attempt))

    def _form(self) -> str:
        try:
            return self.parser.format("").strip()
        except NotImplementedError:  # a ReAct parser has no form of its own to tell
            return ""

    def _run(self, steps: Steps) -> Any:
        def ask(step: Ask) -> str:
            return self.llm.chat(list(step.input)).message.content or ""

        def parse(step: Parse) -> Any:
            return self.parser.parse(step.reply)

        return _concluded(drive(steps, ask, parse, refusals=_REFUSALS))

    async def _arun(self, steps: Steps) -> Any:
        async def ask(step: Ask) -> str:
            return (await self.llm.achat(list(step.input))).message.content or ""

        async def parse(step: Parse) -> Any:
            return self.parser.parse(step.reply)

        return _concluded(await adrive(steps, ask, parse, refusals=_REFUSALS))


def _follow_up(reply: str, words: str) -> list[ChatMessage]:
    """Return what is added to a conversation after a bad reply."""
    correction = ChatMessage(role=MessageRole.USER, content=words)
    if not reply.strip():  # providers refuse empty messages, and there is nothing to refer to
        return [correction]
    return [ChatMessage(role=MessageRole.ASSISTANT, content=reply), correction]


def _concluded(outcome: Any) -> Any:
    if isinstance(outcome, Exhausted):
        # Past whatever an error of others makes of its attributes being set.
        object.__setattr__(outcome.error, "retries", outcome.retries)
        raise outcome.error
    return outcome
