"""loopmend makes LLM agents keep to their protocol.

The core is pure: functions over frozen values, no framework, no model, no I/O. It answers
five questions about a turn or a run, each a *contract*:

- `parse_action`: which action did the model ask for?
- `detect_normalization_failure`: did the turn break the tool protocol?
- `detect_meta_signal`: what does the model say about its own progress?
- `classify_termination`, `classify_scratchpad_grammar`, `classify_iteration_bound`:
  how did a run stop, is its scratchpad grammatical, did it keep its budget?
- `synthesize_task_state`, `plan`: what should happen next?

On top of them stands the reader, which copes with what models really emit: `read_turn` and,
for streams, `TurnReader`; `read_response` reads a provider's whole response. `RetryPolicy`
decides whether and with which words to ask again, `LoopPolicy` when a run goes in circles,
and `observe_conversation` gathers what the planner can know from the messages alone. `Planner`
adds rules of your own and says how its advice departs from `plan`; `explain` puts it in words.

A run is a `Trace`, read from logs, messages or spans; `classify_trace` says why it stopped
and what is wrong with it. `TraceStore` and `TraceLog` keep traces; they alone touch files.
In a notebook, turns, traces, reports and plans show themselves; `show_turn` marks in the text
what was read of it.
"""

from typing import TYPE_CHECKING

from loopmend._late import late
from loopmend._version import __version__
from loopmend.contracts.actions import (
    AgentAction,
    AskUser,
    Final,
    ToolCall,
    parse_action,
)
from loopmend.contracts.normalization import (
    MAX_NORMALIZATION_RETRIES,
    NormalizationPattern,
    build_normalization_retry_prompt,
    detect_normalization_failure,
)
from loopmend.contracts.planner import ActionCandidate, PlannedAction, TaskExecutionPlan, plan
from loopmend.contracts.react_outcomes import (
    ActionAfterFinalAnswer,
    BoundOk,
    EmptyScratchpad,
    ExitCodeMismatch,
    FinalAnswerWithoutAnswerField,
    GrammarOk,
    IterationsExceedBudget,
    IterationsNegative,
    MissingAction,
    MissingExitCode,
    MissingThought,
    NotAnObject,
    ReactBoundOutcome,
    ReactGrammarOutcome,
    ReactTerminationOutcome,
    TerminationOk,
    UnknownReason,
)
from loopmend.contracts.react_trace import (
    I06_REASON_EXIT,
    classify_iteration_bound,
    classify_scratchpad_grammar,
    classify_termination,
)
from loopmend.contracts.signal_detection import detect_meta_signal
from loopmend.contracts.signals import (
    Answer,
    AttemptSummary,
    Clarification,
    DetectionConfig,
    DifferentTools,
    HumanIntervention,
    MetaSignal,
    MoreContext,
    Stuck,
    StuckRequest,
    Thinking,
    Uncertain,
    Yield,
)
from loopmend.contracts.synthesis import (
    ACTION_VERBS,
    assess_declared_action,
    extract_echo_fragments,
    synthesize_task_state,
)
from loopmend.contracts.task_input import (
    DeclaredAction,
    DecompositionProposal,
    MemoryTierBreakdown,
    RetrievalMetrics,
    TaskStateInput,
    ToolSearchStats,
)
from loopmend.contracts.task_state import (
    BehavioralHistory,
    DeclaredActionState,
    MemoryConfidence,
    RosterFit,
    RuntimeConstraints,
    SkillFit,
    TaskClassification,
    TaskOperatingState,
    ToolFit,
)
from loopmend.errors import (
    ActionParseError,
    InvalidJson,
    LoopmendError,
    MissingField,
    TraceFormatError,
    UnknownType,
)
from loopmend.wire import from_data, from_json, to_data, to_json

if TYPE_CHECKING:
    from loopmend.breaker import Breaker, CircuitBreaker
    from loopmend.loops import CallResult, GoOn, LoopDecision, LoopPolicy, Nudge, Stop
    from loopmend.planning.advised import AdvisedPlan, PlanDifference
    from loopmend.planning.conversation import observe_conversation, response_skeleton
    from loopmend.planning.explanation import Explanation, explain
    from loopmend.planning.hints import plan_hints
    from loopmend.planning.planner import Planner, PlanRule
    from loopmend.planning.roster import RosterMatch, match_specialists
    from loopmend.reading.reader import read_turn
    from loopmend.reading.response import read_response
    from loopmend.reading.retry import (
        Accept,
        GiveUp,
        Message,
        NormalizationError,
        Retry,
        RetryDecision,
        RetryPolicy,
    )
    from loopmend.reading.streaming import TurnReader
    from loopmend.reading.tools import ToolSpec
    from loopmend.reading.turn import (
        Failure,
        FailurePattern,
        ReadingConfig,
        Repair,
        Turn,
    )
    from loopmend.rendering.turn import show_turn
    from loopmend.traces.detectors import DETECTORS
    from loopmend.traces.finding import Detector, Finding
    from loopmend.traces.otel import export_spans
    from loopmend.traces.redaction import Redactor, redact_secrets
    from loopmend.traces.report import TraceReport, classify_trace
    from loopmend.traces.stop import Stopped, StopReason, stop_of
    from loopmend.traces.store import TraceLog, TraceStore
    from loopmend.traces.trace import (
        Limits,
        Observation,
        Step,
        Tokens,
        Trace,
        TraceCall,
        TraceError,
    )

# The reader's patterns take time to compile: who needs only the contracts does not pay.
_HELD = {
    "loopmend.breaker": "Breaker CircuitBreaker",
    "loopmend.loops": "CallResult GoOn LoopDecision LoopPolicy Nudge Stop",
    "loopmend.planning.advised": "AdvisedPlan PlanDifference",
    "loopmend.planning.conversation": "observe_conversation response_skeleton",
    "loopmend.planning.explanation": "Explanation explain",
    "loopmend.planning.hints": "plan_hints",
    "loopmend.planning.planner": "PlanRule Planner",
    "loopmend.planning.roster": "RosterMatch match_specialists",
    "loopmend.reading.reader": "read_turn",
    "loopmend.reading.response": "read_response",
    "loopmend.reading.retry": (
        "Accept GiveUp Message NormalizationError Retry RetryDecision RetryPolicy"
    ),
    "loopmend.reading.streaming": "TurnReader",
    "loopmend.reading.tools": "ToolSpec",
    "loopmend.reading.turn": "Failure FailurePattern ReadingConfig Repair Turn",
    "loopmend.rendering.turn": "show_turn",
    "loopmend.traces.detectors": "DETECTORS",
    "loopmend.traces.finding": "Detector Finding",
    "loopmend.traces.otel": "export_spans",
    "loopmend.traces.redaction": "Redactor redact_secrets",
    "loopmend.traces.report": "TraceReport classify_trace",
    "loopmend.traces.stop": "StopReason Stopped stop_of",
    "loopmend.traces.store": "TraceLog TraceStore",
    "loopmend.traces.trace": "Limits Observation Step Tokens Trace TraceCall TraceError",
}
_LATE = {name: module for module, names in _HELD.items() for name in names.split()}

__all__ = [
    "ACTION_VERBS",
    "DETECTORS",
    "I06_REASON_EXIT",
    "MAX_NORMALIZATION_RETRIES",
    "Accept",
    "ActionAfterFinalAnswer",
    "ActionCandidate",
    "ActionParseError",
    "AdvisedPlan",
    "AgentAction",
    "Answer",
    "AskUser",
    "AttemptSummary",
    "BehavioralHistory",
    "BoundOk",
    "Breaker",
    "CallResult",
    "CircuitBreaker",
    "Clarification",
    "DeclaredAction",
    "DeclaredActionState",
    "DecompositionProposal",
    "DetectionConfig",
    "Detector",
    "DifferentTools",
    "EmptyScratchpad",
    "ExitCodeMismatch",
    "Explanation",
    "Failure",
    "FailurePattern",
    "Final",
    "FinalAnswerWithoutAnswerField",
    "Finding",
    "GiveUp",
    "GoOn",
    "GrammarOk",
    "HumanIntervention",
    "InvalidJson",
    "IterationsExceedBudget",
    "IterationsNegative",
    "Limits",
    "LoopDecision",
    "LoopPolicy",
    "LoopmendError",
    "MemoryConfidence",
    "MemoryTierBreakdown",
    "Message",
    "MetaSignal",
    "MissingAction",
    "MissingExitCode",
    "MissingField",
    "MissingThought",
    "MoreContext",
    "NormalizationError",
    "NormalizationPattern",
    "NotAnObject",
    "Nudge",
    "Observation",
    "PlanDifference",
    "PlanRule",
    "PlannedAction",
    "Planner",
    "ReactBoundOutcome",
    "ReactGrammarOutcome",
    "ReactTerminationOutcome",
    "ReadingConfig",
    "Redactor",
    "Repair",
    "RetrievalMetrics",
    "Retry",
    "RetryDecision",
    "RetryPolicy",
    "RosterFit",
    "RosterMatch",
    "RuntimeConstraints",
    "SkillFit",
    "Step",
    "Stop",
    "StopReason",
    "Stopped",
    "Stuck",
    "StuckRequest",
    "TaskClassification",
    "TaskExecutionPlan",
    "TaskOperatingState",
    "TaskStateInput",
    "TerminationOk",
    "Thinking",
    "Tokens",
    "ToolCall",
    "ToolFit",
    "ToolSearchStats",
    "ToolSpec",
    "Trace",
    "TraceCall",
    "TraceError",
    "TraceFormatError",
    "TraceLog",
    "TraceReport",
    "TraceStore",
    "Turn",
    "TurnReader",
    "Uncertain",
    "UnknownReason",
    "UnknownType",
    "Yield",
    "__version__",
    "assess_declared_action",
    "build_normalization_retry_prompt",
    "classify_iteration_bound",
    "classify_scratchpad_grammar",
    "classify_termination",
    "classify_trace",
    "detect_meta_signal",
    "detect_normalization_failure",
    "explain",
    "export_spans",
    "extract_echo_fragments",
    "from_data",
    "from_json",
    "match_specialists",
    "observe_conversation",
    "parse_action",
    "plan",
    "plan_hints",
    "read_response",
    "read_turn",
    "redact_secrets",
    "response_skeleton",
    "show_turn",
    "stop_of",
    "synthesize_task_state",
    "to_data",
    "to_json",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
