"""loopmend for LlamaIndex. Needs the extra `llama-index`: `pip install "loopmend[llama-index]"`.

Importing this package imports no framework; each name loads what it needs when it is first
asked for.
"""

from typing import TYPE_CHECKING

from loopmend._extras import require_extra
from loopmend._late import late

require_extra("llama_index.core", extra="llama-index", needed_by="llama_index_loopmend")

if TYPE_CHECKING:
    from llama_index_loopmend.agents import (
        PlannedAgent,
        PlannedCodeActAgent,
        PlannedFunctionAgent,
        PlannedReActAgent,
        PlannedSteps,
        with_planner,
    )
    from llama_index_loopmend.errors import ActionParseException
    from llama_index_loopmend.events import PlanEvent, ProtocolIssueEvent
    from llama_index_loopmend.hook import PlannerStepHook
    from llama_index_loopmend.mending import Mends
    from llama_index_loopmend.observing import StepView
    from llama_index_loopmend.parsers import ActionOutputParser, TolerantReActOutputParser
    from llama_index_loopmend.recall import RecallProbe, empty_tiers
    from llama_index_loopmend.recorder import TraceRecorder, record_traces
    from llama_index_loopmend.retry import RetryingOutputParser
    from llama_index_loopmend.workflow import PlannedAgentWorkflow

_LATE = {
    "ActionOutputParser": "llama_index_loopmend.parsers",
    "ActionParseException": "llama_index_loopmend.errors",
    "Mends": "llama_index_loopmend.mending",
    "PlanEvent": "llama_index_loopmend.events",
    "PlannedAgent": "llama_index_loopmend.agents",
    "PlannedAgentWorkflow": "llama_index_loopmend.workflow",
    "PlannedCodeActAgent": "llama_index_loopmend.agents",
    "PlannedFunctionAgent": "llama_index_loopmend.agents",
    "PlannedReActAgent": "llama_index_loopmend.agents",
    "PlannedSteps": "llama_index_loopmend.agents",
    "PlannerStepHook": "llama_index_loopmend.hook",
    "ProtocolIssueEvent": "llama_index_loopmend.events",
    "RecallProbe": "llama_index_loopmend.recall",
    "RetryingOutputParser": "llama_index_loopmend.retry",
    "StepView": "llama_index_loopmend.observing",
    "TolerantReActOutputParser": "llama_index_loopmend.parsers",
    "TraceRecorder": "llama_index_loopmend.recorder",
    "empty_tiers": "llama_index_loopmend.recall",
    "record_traces": "llama_index_loopmend.recorder",
    "with_planner": "llama_index_loopmend.agents",
}

__all__ = [
    "ActionOutputParser",
    "ActionParseException",
    "Mends",
    "PlanEvent",
    "PlannedAgent",
    "PlannedAgentWorkflow",
    "PlannedCodeActAgent",
    "PlannedFunctionAgent",
    "PlannedReActAgent",
    "PlannedSteps",
    "PlannerStepHook",
    "ProtocolIssueEvent",
    "RecallProbe",
    "RetryingOutputParser",
    "StepView",
    "TolerantReActOutputParser",
    "TraceRecorder",
    "empty_tiers",
    "record_traces",
    "with_planner",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
