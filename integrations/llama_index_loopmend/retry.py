"""An output parser that asks a model to correct bad replies; LlamaIndex has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, Union

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.output_parsers import BaseOutputParser
from llama_index.core.output_parsers.base import OutputParserException
from llama_index.core.prompts import BasePromptTemplate
from typing_extensions import override

from llama_index_loopmend.decoding import decoding_arguments, takes_schema
from llama_index_loopmend.errors import ActionParseException
from llama_index_loopmend.messages import chat_messages, core_messages
from llama_index_loopmend.parsers import ActionOutputParser, TolerantReActOutputParser
from loopmend import Ask, Failure, FailurePattern, GaveUp, Mending, Reply, RetryPolicy
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import constrained, is_protocol_error, refuses_schema

__all__ = ["Prompt", "RetryingOutputParser"]

Prompt = Union[str, Sequence[ChatMessage], BasePromptTemplate]
"""What a model is asked: a text, messages, or a template with its variables beside it."""

# LlamaIndex's own exception for parsers is not a `ValueError`.
_REFUSALS: Final = (ValueError, OutputParserException)
_LONGEST_REASON: Final = 500


class RetryingOutputParser(BaseOutputParser):
    r"""Wraps any output parser and asks a model to correct the replies that it refuses.

    It tells the model what is wrong and asks again, a bounded number of times. Any `ValueError` of
    the parser, including pydantic's, is a reason to ask again, and so is LlamaIndex's
    `OutputParserException`.

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
            constrain: When to have the provider decode by a JSON schema of the actions, if it can
                and the parser knows the tools: from the first retry on, always or never.

        Raises:
            TypeError: `max_retries` is not an `int`.
            ValueError: `max_retries` is negative, or `constrain` is unknown.
        """
        self.parser = parser
        self.llm = llm
        self._policy = RetryPolicy(max_retries, constrain=constrain)
        self._refuses_schema = False

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
        return self._run(self._messages(prompt, prompt_args), output)

    async def aparse_with_retry(self, output: str, prompt: Prompt, **prompt_args: Any) -> Any:
        """Parse a reply, and go on with the conversation, without blocking."""
        return await self._arun(self._messages(prompt, prompt_args), output)

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
        return self._run(self._told(prompt, prompt_args))

    async def apredict(self, prompt: Prompt, **prompt_args: Any) -> Any:
        """Ask the model, and parse its reply with retries, without blocking."""
        return await self._arun(self._told(prompt, prompt_args))

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

    def _introduced(self, messages: list[ChatMessage]) -> list[ChatMessage]:
        """Put the model's own system prompt in front, as LlamaIndex does where it predicts."""
        said = getattr(self.llm, "system_prompt", None)
        if not said or any(m.role is MessageRole.SYSTEM and m.content == said for m in messages):
            return list(messages)
        return [ChatMessage(role=MessageRole.SYSTEM, content=said), *messages]

    def _form(self) -> str:
        try:
            return self.parser.format("").strip()
        except NotImplementedError:  # a ReAct parser has no form of its own to tell
            return ""

    def _run(self, messages: list[ChatMessage], reply: str | None = None) -> Any:
        asking = _Asking(self, messages)
        step = asking.start(reply)
        while isinstance(step, Ask):
            asked, arguments = asking.put(step)
            try:
                said = self.llm.chat(asked, **arguments).message.content or ""
            except Exception as error:  # noqa: BLE001 - what is not ours is raised again
                step = asking.after_error(step, error)
            else:
                step = asking.judge(said)
        return asking.concluded(step)

    async def _arun(self, messages: list[ChatMessage], reply: str | None = None) -> Any:
        asking = _Asking(self, messages)
        step = asking.start(reply)
        while isinstance(step, Ask):
            asked, arguments = asking.put(step)
            try:
                said = (await self.llm.achat(asked, **arguments)).message.content or ""
            except Exception as error:  # noqa: BLE001 - what is not ours is raised again
                step = asking.after_error(step, error)
            else:
                step = asking.judge(said)
        return asking.concluded(step)


class _Asking:
    """The replies to one question, as a parser judges them."""

    def __init__(self, outer: RetryingOutputParser, messages: list[ChatMessage]) -> None:
        parser = outer.parser
        own = isinstance(parser, (ActionOutputParser, TolerantReActOutputParser))
        tools = getattr(parser, "toolbox", None) if own else None
        self._outer = outer
        self._own = own
        self._messages = outer._introduced(messages)  # noqa: SLF001 - part of it
        self._parsed: Any = None
        self._error: Exception | None = None
        self._mending = Mending(
            tools,
            "react" if isinstance(parser, TolerantReActOutputParser) else "json",
            policy=outer._policy,  # noqa: SLF001 - part of it
            can_constrain=own and not outer._refuses_schema and takes_schema(outer.llm),  # noqa: SLF001
            answer_label="Answer",
        )

    def start(self, reply: str | None) -> Ask | GaveUp | None:
        """Return what to ask at first, or what to do about a reply that is there already."""
        said = (m.content or "" for m in reversed(self._messages) if m.role is MessageRole.USER)
        first = self._mending.start(next(said, ""))
        return first if reply is None else self.judge(reply)

    def put(self, step: Ask) -> tuple[list[ChatMessage], dict[str, Any]]:
        """Return what to ask, and how."""
        if step.schema is None:
            return [*self._messages, *chat_messages(step.messages)], {}
        whole = [*core_messages(self._messages), *step.messages]
        asked = chat_messages(constrained(whole, self._mending.tools))
        return asked, decoding_arguments(self._outer.llm, step.schema) or {}

    def judge(self, said: str) -> Ask | GaveUp | None:
        """Say what to do about a reply; nothing if it was parsed."""
        try:
            self._parsed = self._outer.parser.parse(said)
        except _REFUSALS as error:
            self._error = error
            return self._mending.refuse(Reply(said), _failure(error), self._words(error))
        return None

    def _words(self, error: Exception) -> str | None:
        """Return a parser's own words for the model; `None` if the core has better ones."""
        if isinstance(error, ActionParseException):
            return None if self._own else error.observation
        form = self._outer._form()  # noqa: SLF001 - part of it
        parts = (f"Your last reply could not be used: {_cut(str(error))}", form)
        return "\n\n".join(part for part in parts if part)

    def after_error(self, step: Ask, error: Exception) -> Any:
        """Say what to do about an exception that a model raised; raise it if it is not ours."""
        if step.schema is not None and refuses_schema(error):
            self._outer._refuses_schema = True  # noqa: SLF001 - part of it
            return self._mending.unconstrained()
        if is_protocol_error(error):
            self._error = error
            return self._mending.reply(Reply(error=error))
        raise error

    def concluded(self, verdict: GaveUp | None) -> Any:
        """Return what was parsed, or raise the last error."""
        if verdict is None:
            return self._parsed
        error = self._error or verdict.error()
        # Past whatever an error of others makes of its attributes being set.
        object.__setattr__(error, "retries", verdict.retries)
        raise error


def _failure(error: Exception) -> Failure:
    failure = getattr(error, "failure", None)
    if isinstance(failure, Failure):
        return failure
    return Failure(FailurePattern.MALFORMED, _cut(str(error)), (0, 0))


def _cut(said: str) -> str:
    return said if len(said) <= _LONGEST_REASON else f"{said[:_LONGEST_REASON]} …"
