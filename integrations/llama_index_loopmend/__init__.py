"""loopmend for LlamaIndex. Needs the extra `llama-index`: `pip install "loopmend[llama-index]"`.

Importing this package imports no framework; each name loads what it needs on first use.
"""

from typing import TYPE_CHECKING

from loopmend.adapting import late, require_extra

require_extra("llama_index.core", extra="llama-index", needed_by="llama_index_loopmend")

if TYPE_CHECKING:
    from llama_index_loopmend.agents import (
        PlannedAgentWorkflow,
        PlannedCodeActAgent,
        PlannedFunctionAgent,
        PlannedReActAgent,
        with_hooks,
    )
    from llama_index_loopmend.errors import ActionParseException, ValueParseException
    from llama_index_loopmend.events import MetaSignalEvent, PlanEvent, ProtocolIssueEvent
    from llama_index_loopmend.hooks.loops import LoopGuardHook
    from llama_index_loopmend.hooks.matching import embedding_match
    from llama_index_loopmend.hooks.normalization import NormalizationHook
    from llama_index_loopmend.hooks.planner import PlannerStepHook
    from llama_index_loopmend.hooks.protocol import (
        Accept,
        Answer,
        AskAgain,
        HandOver,
        Proceed,
        StepHook,
    )
    from llama_index_loopmend.hooks.signals import MetaSignalHook
    from llama_index_loopmend.mending import RetryingOutputParser
    from llama_index_loopmend.parsers import ActionOutputParser, TolerantReActOutputParser
    from llama_index_loopmend.recorder import TraceRecorder, record_traces
    from llama_index_loopmend.steps import AgentStep
    from llama_index_loopmend.structured_llms import with_parsing_retry
    from llama_index_loopmend.value_parsers import PydanticOutputParser

_HELD = {
    "agents": (
        "PlannedAgentWorkflow PlannedCodeActAgent PlannedFunctionAgent PlannedReActAgent with_hooks"
    ),
    "errors": "ActionParseException ValueParseException",
    "events": "MetaSignalEvent PlanEvent ProtocolIssueEvent",
    "hooks.loops": "LoopGuardHook",
    "hooks.matching": "embedding_match",
    "hooks.normalization": "NormalizationHook",
    "hooks.planner": "PlannerStepHook",
    "hooks.protocol": "Accept Answer AskAgain HandOver Proceed StepHook",
    "hooks.signals": "MetaSignalHook",
    "mending": "RetryingOutputParser",
    "parsers": "ActionOutputParser TolerantReActOutputParser",
    "recorder": "TraceRecorder record_traces",
    "steps": "AgentStep",
    "structured_llms": "with_parsing_retry",
    "value_parsers": "PydanticOutputParser",
}
_LATE = {
    name: f"llama_index_loopmend.{module}"
    for module, names in _HELD.items()
    for name in names.split()
}

__all__ = [
    "Accept",
    "ActionOutputParser",
    "ActionParseException",
    "AgentStep",
    "Answer",
    "AskAgain",
    "HandOver",
    "LoopGuardHook",
    "MetaSignalEvent",
    "MetaSignalHook",
    "NormalizationHook",
    "PlanEvent",
    "PlannedAgentWorkflow",
    "PlannedCodeActAgent",
    "PlannedFunctionAgent",
    "PlannedReActAgent",
    "PlannerStepHook",
    "Proceed",
    "ProtocolIssueEvent",
    "PydanticOutputParser",
    "RetryingOutputParser",
    "StepHook",
    "TolerantReActOutputParser",
    "TraceRecorder",
    "ValueParseException",
    "embedding_match",
    "record_traces",
    "with_hooks",
    "with_parsing_retry",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
