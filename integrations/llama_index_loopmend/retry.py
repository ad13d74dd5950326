"""An output parser that asks a model to correct bad replies; LlamaIndex has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Union

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.output_parsers import BaseOutputParser
from llama_index.core.prompts import BasePromptTemplate
from typing_extensions import override

from llama_index_loopmend.exchanges import Exchange, arun, run
from llama_index_loopmend.messages import reply_from
from loopmend import Reply, RetryPolicy
from loopmend.contracts import MAX_NORMALIZATION_RETRIES

__all__ = ["Prompt", "RetryingOutputParser"]

Prompt = Union[str, Sequence[ChatMessage], BasePromptTemplate]
"""What a model is asked: a text, messages, or a template with its variables beside it."""


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
            prompt: What the model was asked.
            prompt_args: The variables of the prompt, if it is a template.

        Raises:
            ValueError: The last reply was refused too; the parser's own error, or its
                `OutputParserException`, with `retries` set to how often the model was asked.
        """
        exchange = self._exchange(self._messages(prompt, prompt_args))
        exchange.start()
        return run(exchange, exchange.judge(Reply(output)), self._ask)

    async def aparse_with_retry(self, output: str, prompt: Prompt, **prompt_args: Any) -> Any:
        """Parse a reply, and go on with the conversation, without blocking."""
        exchange = self._exchange(self._messages(prompt, prompt_args))
        exchange.start()
        return await arun(exchange, exchange.judge(Reply(output)), self._aask)

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
        exchange = self._exchange(self._told(prompt, prompt_args))
        return run(exchange, exchange.start(), self._ask)

    async def apredict(self, prompt: Prompt, **prompt_args: Any) -> Any:
        """Ask the model, and parse its reply with retries, without blocking."""
        exchange = self._exchange(self._told(prompt, prompt_args))
        return await arun(exchange, exchange.start(), self._aask)

    def _exchange(self, messages: list[ChatMessage]) -> Exchange:
        return Exchange(self.llm, messages, self.parser, self._policy)

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

    def _ask(self, messages: list[ChatMessage], **arguments: Any) -> Reply:
        response = self.llm.chat(messages, **arguments)
        return reply_from(response.message, raw=response.raw)

    async def _aask(self, messages: list[ChatMessage], **arguments: Any) -> Reply:
        response = await self.llm.achat(messages, **arguments)
        return reply_from(response.message, raw=response.raw)
