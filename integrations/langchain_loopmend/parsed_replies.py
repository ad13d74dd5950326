"""An exchange in which a parser judges the replies: any parser, LangChain's own included."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import BaseOutputParser, JsonOutputToolsParser
from langchain_core.runnables import Runnable
from typing_extensions import override

from langchain_loopmend.decoding import takes_schema
from langchain_loopmend.errors import correction_of, failure_of
from langchain_loopmend.mending import Constrain, Exchange, Way
from langchain_loopmend.messages import mended, reply_of
from langchain_loopmend.parsers import ReadingOutputParser
from langchain_loopmend.schemas import bound_tools, tool_schemas, toolbox
from langchain_loopmend.value_parsers import ValueReader, value_parser
from loopmend import Done, GaveUp, Mending, RetryPolicy, Turn

__all__ = ["ParsedExchange"]


class ParsedExchange(Exchange):
    """A question that is put to a model until a parser can use its reply."""

    def __init__(  # noqa: PLR0913 - what there is to know
        self,
        llm: Runnable[Any, Any],
        input: Any,
        way: Way,
        *,
        parser: Runnable[Any, Any],
        limits: tuple[int, Constrain],
        retry_llm: Runnable[Any, Any] | None = None,
    ) -> None:
        super().__init__(llm, input, way)
        self.retry_llm = retry_llm
        self.parser = value_parser(parser)
        # A call goes back with our answer to it: a model that made one waits for that.
        policy = RetryPolicy(limits[0], constrain=limits[1], show_refused="calls")
        self.mending = _mending(self.parser, policy, retry_llm or llm)
        self.error: Exception | None = None
        self.value: Any = None

    @override
    async def judge(self, reply: Any) -> Any:
        """Parse a reply, and say what to do."""
        self.reply = reply
        if isinstance(self.parser, JsonOutputToolsParser):
            said = reply_of(reply)
            step = self.mending.reply(said)
            if not isinstance(step, Done):
                return step
            reply = mended(reply if isinstance(reply, AIMessage) else AIMessage(said.text), step)
            self.reply = reply
        try:
            self.value = await self._parsed(reply)
        except ValueError as error:
            self.error = error
            words = correction_of(self.parser, error)
            return self.mending.refuse(reply_of(reply), failure_of(error), words)
        return Done(Turn())

    async def _parsed(self, reply: Any) -> Any:
        parser = self.parser
        if isinstance(parser, BaseOutputParser) and not isinstance(reply, (str, BaseMessage)):
            # What a chain of one's own returns; LangChain's retry parsers hand it on as it is.
            return await parser.aparse(reply) if self.way.waits else parser.parse(reply)
        return await self.way.invoke(parser, reply, len(self.mending.refused))

    def error_of(self, outcome: GaveUp) -> Exception:
        """Return the error to raise after giving up: the parser's, if it raised one."""
        return self.error or outcome.error()


def _mending(parser: Any, policy: RetryPolicy, llm: Runnable[Any, Any]) -> Mending:
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
