"""loopmend for LangChain. Needs the extra `langchain`: `pip install "loopmend[langchain]"`.

Importing this package imports no framework; each name loads what it needs when it is first
asked for. Two modules need more than langchain-core and are imported by name:
`langchain_loopmend.middleware` (extra `agents`) and `langchain_loopmend.classic` (extra
`classic`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loopmend._extras import require_extra

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
    "ActionParseException": "errors",
    "ActionRetry": "action_retry",
    "AgentActionOutputParser": "parsers",
    "AgentActionsOutputParser": "parsers",
    "GaveUp": "action_retry",
    "NormalizationError": "errors",
    "ReadingOutputParser": "parsers",
    "RetryingOutputParser": "retry",
    "ToolCallRetry": "tool_call_retry",
    "TraceRecorder": "recorder",
    "TurnOutputParser": "streaming",
    "record_traces": "recorder",
    "with_action_retry": "action_retry",
    "with_tool_call_retry": "tool_call_retry",
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


def __getattr__(name: str) -> Any:
    """Load a name when it is first asked for, because LangChain takes time to import."""
    if name not in _LATE:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found = getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names, also those that are not loaded yet."""
    return sorted(__all__)
