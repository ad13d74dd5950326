"""A question that is put to a model until its reply can be used.

The rules are `loopmend.Mending`'s; this only translates. `run` and `arun` do the asking.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final, Union

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.output_parsers import BaseOutputParser
from llama_index.core.output_parsers.base import OutputParserException

from llama_index_loopmend.decoding import decoding_arguments, remember_refusal, takes_schema
from llama_index_loopmend.errors import ActionParseException
from llama_index_loopmend.messages import chat_messages, core_messages, question_of
from llama_index_loopmend.parsers import ActionOutputParser, TolerantReActOutputParser
from llama_index_loopmend.value_parsers import refused_value, value_parser
from loopmend import Ask, Done, Failure, FailurePattern, GaveUp, Mending, Reply, RetryPolicy
from loopmend.mending import constrained, is_protocol_error, refuses_schema

__all__ = ["Exchange", "arun", "run"]

Verdict = Union[Ask, GaveUp, None]
"""What to do about a reply; nothing if it can be used."""
Put = tuple[list[ChatMessage], dict[str, Any]]
"""What to ask, and the arguments that make the provider decode by a schema."""

# LlamaIndex's own exception for parsers is not a `ValueError`.
_REFUSALS: Final = (ValueError, OutputParserException)
_LONGEST_REASON: Final = 500


class Exchange:
    """One question and its replies, as a parser judges them: any parser, LlamaIndex's included."""

    def __init__(
        self,
        llm: Any,
        messages: Sequence[ChatMessage],
        parser: BaseOutputParser,
        policy: RetryPolicy,
    ) -> None:
        self._llm = llm
        self._messages = _introduced(llm, messages)
        self._parser = parser
        self._values = value_parser(parser)
        self._actions = isinstance(parser, (ActionOutputParser, TolerantReActOutputParser))
        self._value: Any = None
        self._error: Exception | None = None
        can = takes_schema(llm)
        if self._values is not None:
            wanted, config = self._values.wanted, self._values.config
            config = replace(config, detect_signals=False)
            self._mending = Mending(schema=wanted, policy=policy, config=config, can_constrain=can)
        else:
            self._mending = Mending(
                getattr(parser, "toolbox", None) if self._actions else None,
                "react" if isinstance(parser, TolerantReActOutputParser) else "json",
                policy=policy,
                can_constrain=can and self._actions,
                answer_label="Answer",
            )

    def start(self) -> Ask:
        """Return what to ask at first."""
        return self._mending.start(question_of(self._messages))

    def put(self, step: Ask) -> Put:
        """Return what to ask, and how."""
        if step.schema is None:
            return [*self._messages, *chat_messages(step.messages)], {}
        arguments = decoding_arguments(self._llm, step.schema) or {}
        if self._values is not None:
            return [*self._messages, *chat_messages(step.messages)], arguments
        whole = [*core_messages(self._messages), *step.messages]
        return chat_messages(constrained(whole, self._mending.tools)), arguments

    def judge(self, reply: Reply) -> Verdict:
        """Say what to do about a reply."""
        if self._values is not None:
            return self._valued(reply)
        try:
            self._value = self._parser.parse(reply.text)
        except _REFUSALS as error:
            self._error = error
            return self._mending.refuse(reply, _failure(error), self._words(error))
        return None

    def _valued(self, reply: Reply) -> Verdict:
        mending = self._mending
        # A call goes back with our answer to it: a model that made one waits for that.
        shown = bool(reply.calls or reply.broken_calls)
        mending.policy = replace(mending.policy, show_refused=shown)
        step = mending.reply(reply)
        if isinstance(step, Done):
            self._value = step.value
            return None
        if isinstance(step, GaveUp) and step.reading is not None:
            self._error = refused_value(reply.text, step.reading, mending.wanted)
        return step

    def _words(self, error: Exception) -> str | None:
        """Return a parser's own words for the model; `None` if the core has better ones."""
        if isinstance(error, ActionParseException):
            return None if self._actions else error.observation
        try:
            form = self._parser.format("").strip()
        except NotImplementedError:  # a ReAct parser has no form of its own to tell
            form = ""
        parts = (f"Your last reply could not be used: {_cut(str(error))}", form)
        return "\n\n".join(part for part in parts if part)

    def after_error(self, step: Ask, error: Exception) -> Verdict:
        """Say what to do about an exception that a model raised; raise it if it is not ours."""
        if step.schema is not None and refuses_schema(error):
            remember_refusal(self._llm)
            return self._mending.unconstrained()
        if is_protocol_error(error):
            self._error = error
            return self._mending.reply(Reply(error=error))  # type: ignore[return-value] # never done
        raise error

    def concluded(self, verdict: Verdict) -> Any:
        """Return what was parsed, or raise the last error."""
        if not isinstance(verdict, GaveUp):
            return self._value
        error = verdict.cause or self._error or verdict.error()
        # Past whatever an error of others makes of its attributes being set.
        object.__setattr__(error, "retries", verdict.retries)
        raise error


def run(exchange: Exchange, step: Verdict, ask: Callable[..., Reply]) -> Any:
    """Ask until there is a result."""
    while isinstance(step, Ask):
        asked, arguments = exchange.put(step)
        try:
            reply = ask(asked, **arguments)
        except Exception as error:  # noqa: BLE001 - what is not ours is raised again
            step = exchange.after_error(step, error)
        else:
            step = exchange.judge(reply)
    return exchange.concluded(step)


async def arun(exchange: Exchange, step: Verdict, ask: Callable[..., Awaitable[Reply]]) -> Any:
    """Ask until there is a result, without blocking."""
    while isinstance(step, Ask):
        asked, arguments = exchange.put(step)
        try:
            reply = await ask(asked, **arguments)
        except Exception as error:  # noqa: BLE001 - what is not ours is raised again
            step = exchange.after_error(step, error)
        else:
            step = exchange.judge(reply)
    return exchange.concluded(step)


def _introduced(llm: Any, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Put the model's own system prompt in front, as LlamaIndex does where it predicts."""
    said = getattr(llm, "system_prompt", None)
    if not said or any(m.role is MessageRole.SYSTEM and m.content == said for m in messages):
        return list(messages)
    return [ChatMessage(role=MessageRole.SYSTEM, content=said), *messages]


def _failure(error: Exception) -> Failure:
    failure = getattr(error, "failure", None)
    if isinstance(failure, Failure):
        return failure
    return Failure(FailurePattern.MALFORMED, _cut(str(error)), (0, 0))


def _cut(said: str) -> str:
    return said if len(said) <= _LONGEST_REASON else f"{said[:_LONGEST_REASON]} …"
