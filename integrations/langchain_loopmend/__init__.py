"""loopmend for LangChain. Needs the extra `langchain`: `pip install "loopmend[langchain]"`.

Importing this package imports no framework; each name loads what it needs when it is first
asked for. Two modules need more than langchain-core and are imported by name:
`langchain_loopmend.middleware` (extra `agents`) and `langchain_loopmend.classic` (extra
`classic`).
"""

from typing import TYPE_CHECKING

from loopmend._extras import require_extra
from loopmend._late import late

require_extra("langchain_core", extra="langchain", needed_by="langchain_loopmend")

if TYPE_CHECKING:
    from langchain_loopmend.action_retry import ActionRetry, GaveUp, with_action_retry
    from langchain_loopmend.errors import ActionParseException, NormalizationError
    from langchain_loopmend.parsers import (
        AgentActionOutputParser,
        AgentActionsOutputParser,
        ReadingOutputParser,
    )
    from langchain_loopmend.recorder import TraceRecorder, record_traces
    from langchain_loopmend.retry import RetryingOutputParser
    from langchain_loopmend.streaming import TurnOutputParser
    from langchain_loopmend.tool_call_retry import ToolCallRetry, with_tool_call_retry

_LATE = {
    "ActionParseException": "langchain_loopmend.errors",
    "ActionRetry": "langchain_loopmend.action_retry",
    "AgentActionOutputParser": "langchain_loopmend.parsers",
    "AgentActionsOutputParser": "langchain_loopmend.parsers",
    "GaveUp": "langchain_loopmend.action_retry",
    "NormalizationError": "langchain_loopmend.errors",
    "ReadingOutputParser": "langchain_loopmend.parsers",
    "RetryingOutputParser": "langchain_loopmend.retry",
    "ToolCallRetry": "langchain_loopmend.tool_call_retry",
    "TraceRecorder": "langchain_loopmend.recorder",
    "TurnOutputParser": "langchain_loopmend.streaming",
    "record_traces": "langchain_loopmend.recorder",
    "with_action_retry": "langchain_loopmend.action_retry",
    "with_tool_call_retry": "langchain_loopmend.tool_call_retry",
}

__all__ = [
    "ActionParseException",
    "ActionRetry",
    "AgentActionOutputParser",
    "AgentActionsOutputParser",
    "GaveUp",
    "NormalizationError",
    "ReadingOutputParser",
    "RetryingOutputParser",
    "ToolCallRetry",
    "TraceRecorder",
    "TurnOutputParser",
    "record_traces",
    "with_action_retry",
    "with_tool_call_retry",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
