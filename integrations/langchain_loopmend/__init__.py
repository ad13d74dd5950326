"""loopmend for LangChain. Needs the extra `langchain`: `pip install "loopmend[langchain]"`.

Importing this package imports no framework; each name loads what it needs on first use.
Two modules need more than langchain-core, so import them by name:
`langchain_loopmend.middleware` (extra `agents`) and `langchain_loopmend.classic` (extra
`classic`).
"""

from typing import TYPE_CHECKING

from loopmend.adapting import late, require_extra

require_extra("langchain_core", extra="langchain", needed_by="langchain_loopmend")

if TYPE_CHECKING:
    from langchain_loopmend.errors import (
        ActionParseException,
        NormalizationError,
        ValueParseException,
    )
    from langchain_loopmend.parsers import (
        AgentActionOutputParser,
        AgentActionsOutputParser,
        ReadingOutputParser,
        TurnOutputParser,
    )
    from langchain_loopmend.parsing_retry import GaveUpFinish, ParsingRetry, with_parsing_retry
    from langchain_loopmend.recorder import TraceRecorder, record_traces
    from langchain_loopmend.retry import RetryingOutputParser
    from langchain_loopmend.tool_call_retry import (
        ToolCallRetry,
        as_tool_caller,
        with_tool_call_retry,
    )
    from langchain_loopmend.value_parsers import JsonOutputParser, PydanticOutputParser

_HELD = {
    "errors": "ActionParseException NormalizationError ValueParseException",
    "parsers": (
        "AgentActionOutputParser AgentActionsOutputParser ReadingOutputParser TurnOutputParser"
    ),
    "parsing_retry": "GaveUpFinish ParsingRetry with_parsing_retry",
    "recorder": "TraceRecorder record_traces",
    "retry": "RetryingOutputParser",
    "tool_call_retry": "ToolCallRetry as_tool_caller with_tool_call_retry",
    "value_parsers": "JsonOutputParser PydanticOutputParser",
}
_LATE = {name: f"{__name__}.{module}" for module, names in _HELD.items() for name in names.split()}

__all__ = [
    "ActionParseException",
    "AgentActionOutputParser",
    "AgentActionsOutputParser",
    "GaveUpFinish",
    "JsonOutputParser",
    "NormalizationError",
    "ParsingRetry",
    "PydanticOutputParser",
    "ReadingOutputParser",
    "RetryingOutputParser",
    "ToolCallRetry",
    "TraceRecorder",
    "TurnOutputParser",
    "ValueParseException",
    "as_tool_caller",
    "record_traces",
    "with_parsing_retry",
    "with_tool_call_retry",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
