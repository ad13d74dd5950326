"""The replies to one question as a parser judges them: any parser, LangChain's own included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import BaseOutputParser, JsonOutputToolsParser
from langchain_core.runnables import Runnable
from typing_extensions import override

from langchain_loopmend.complaints import correction_of, failure_of
from langchain_loopmend.decoding import takes_schema
from langchain_loopmend.mending import Answer, Way, attempt_config
from langchain_loopmend.messages import mended, reply_of
from langchain_loopmend.parsers import ReadingOutputParser
from langchain_loopmend.schemas import bound_tools, tool_schemas, toolbox
from langchain_loopmend.value_parsers import ValueReader, value_parser
from loopmend import Ask, Done, Failure, FailurePattern, GaveUp, Mending, RetryPolicy, Turn

__all__ = ["ParsedReplies", "parsed_replies"]

_PARSED: Final = Done(Turn())
_NO_CALL: Final = Failure(FailurePattern.NO_ACTION, "The reply calls no tool.", (0, 0))


class ParsedReplies:
    """The replies to one question as a parser judges them."""

    def __init__(self, parser: Runnable[Any, Any], mending: Mending) -> None:
        self.parser = parser
        self.mending = mending
        self.reply: Answer = ""
        self.error: Exception | None = None
        self.value: Any = None

    async def judge(self, reply: Answer, way: Way) -> Any:
        """Parse a reply, and say what to do."""
        try:
            self.value = await self._parsed(reply, way)
        except ValueError as error:
            return self.refuse(reply, error)
        self.reply = reply
        return _PARSED

    async def _parsed(self, reply: Any, way: Way) -> Any:
        parser = self.parser
        if isinstance(parser, BaseOutputParser) and not isinstance(reply, (str, BaseMessage)):
            # What a chain of one's own returns; LangChain's retry parsers hand it on as it is.
            return await parser.aparse(reply) if way.caller.waits else parser.parse(reply)
        config = attempt_config(way.config, len(self.mending.refused))
        return await way.caller.invoke(parser, reply, config)

    def refuse(self, reply: Answer, error: Exception) -> Ask | GaveUp:
        """Say that a parser refused a reply."""
        self.reply, self.error = reply, error
        words = correction_of(self.parser, error)
        said = reply_of(reply)
        self._show(bool(said.calls or said.broken_calls))
        return self.mending.refuse(said, failure_of(error), words)

    def _show(self, shown: bool) -> None:  # noqa: FBT001 - the one thing to say
        # A call goes back with our answer to it: a model that made one waits for that.
        self.mending.policy = replace(self.mending.policy, show_refused=shown)


class _CalledReplies(ParsedReplies):
    """The replies of a model that has to call a tool, for LangChain's parsers of tool calls."""

    @override
    async def judge(self, reply: Answer, way: Way) -> Any:
        said = reply_of(reply)
        self._show(bool(said.calls or said.broken_calls))
        step = self.mending.reply(said)
        if not isinstance(step, Done):
            self.reply = reply
            return step
        message = reply if isinstance(reply, AIMessage) else AIMessage(said.text)
        message = mended(message, step)
        if not message.tool_calls:
            self.reply = reply
            return self.mending.refuse(said, _NO_CALL)
        return await super().judge(message, way)


def parsed_replies(
    parser: Runnable[Any, Any], policy: RetryPolicy, llm: Runnable[Any, Any]
) -> ParsedReplies:
    """Return the replies of a model for a parser; the loop knows what the parser knows."""
    parser = value_parser(parser)
    can = takes_schema(llm)
    if isinstance(parser, ReadingOutputParser):
        mending = Mending(parser.toolbox, parser.form, policy=policy, can_constrain=can)
    elif isinstance(parser, ValueReader):
        wanted = parser.wanted
        can = can and wanted is not None
        mending = Mending(schema=wanted or {}, policy=policy, can_constrain=can)
    elif isinstance(parser, JsonOutputToolsParser):
        own = getattr(parser, "tools", None)
        offered = bound_tools(llm) if own is None else tool_schemas(own)
        known = None if offered is None else toolbox(offered)
        mending = Mending(known, policy=policy, can_constrain=can)
        return _CalledReplies(parser, mending)
    else:
        mending = Mending(None, "react", policy=policy)
    return ParsedReplies(parser, mending)
