"""The five contracts, exactly as their specifications define them.

Each is a pure function over frozen values. They are exact, not clever: the layer above
reads what real models write. Nothing in here may import from outside this package but
`loopmend.errors`, `loopmend.wire` and the private helpers.
"""

from typing import TYPE_CHECKING

from loopmend._late import late

if TYPE_CHECKING:
    from loopmend.contracts.actions import (
        AgentAction,
        AskUser,
        FinalAnswer,
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
        MissingField,
        UnknownType,
    )
    from loopmend.wire import from_data, from_json, to_data, to_json

_HELD = {
    "loopmend.contracts.actions": "AgentAction AskUser FinalAnswer ToolCall parse_action",
    "loopmend.contracts.normalization": (
        "MAX_NORMALIZATION_RETRIES NormalizationPattern build_normalization_retry_prompt "
        "detect_normalization_failure"
    ),
    "loopmend.contracts.planner": "ActionCandidate PlannedAction TaskExecutionPlan plan",
    "loopmend.contracts.react_outcomes": (
        "ActionAfterFinalAnswer BoundOk EmptyScratchpad ExitCodeMismatch "
        "FinalAnswerWithoutAnswerField GrammarOk IterationsExceedBudget IterationsNegative "
        "MissingAction MissingExitCode MissingThought NotAnObject ReactBoundOutcome "
        "ReactGrammarOutcome ReactTerminationOutcome TerminationOk UnknownReason"
    ),
    "loopmend.contracts.react_trace": (
        "I06_REASON_EXIT classify_iteration_bound classify_scratchpad_grammar classify_termination"
    ),
    "loopmend.contracts.signal_detection": "detect_meta_signal",
    "loopmend.contracts.signals": (
        "Answer AttemptSummary Clarification DetectionConfig DifferentTools HumanIntervention "
        "MetaSignal MoreContext Stuck StuckRequest Thinking Uncertain Yield"
    ),
    "loopmend.contracts.synthesis": (
        "ACTION_VERBS assess_declared_action extract_echo_fragments synthesize_task_state"
    ),
    "loopmend.contracts.task_input": (
        "DeclaredAction DecompositionProposal MemoryTierBreakdown RetrievalMetrics "
        "TaskStateInput ToolSearchStats"
    ),
    "loopmend.contracts.task_state": (
        "BehavioralHistory DeclaredActionState MemoryConfidence RosterFit RuntimeConstraints "
        "SkillFit TaskClassification TaskOperatingState ToolFit"
    ),
    "loopmend.errors": "ActionParseError InvalidJson MissingField UnknownType",
    "loopmend.wire": "from_data from_json to_data to_json",
}
_LATE = {name: module for module, names in _HELD.items() for name in names.split()}

__all__ = [
    "ACTION_VERBS",
    "I06_REASON_EXIT",
    "MAX_NORMALIZATION_RETRIES",
    "ActionAfterFinalAnswer",
    "ActionCandidate",
    "ActionParseError",
    "AgentAction",
    "Answer",
    "AskUser",
    "AttemptSummary",
    "BehavioralHistory",
    "BoundOk",
    "Clarification",
    "DeclaredAction",
    "DeclaredActionState",
    "DecompositionProposal",
    "DetectionConfig",
    "DifferentTools",
    "EmptyScratchpad",
    "ExitCodeMismatch",
    "FinalAnswer",
    "FinalAnswerWithoutAnswerField",
    "GrammarOk",
    "HumanIntervention",
    "InvalidJson",
    "IterationsExceedBudget",
    "IterationsNegative",
    "MemoryConfidence",
    "MemoryTierBreakdown",
    "MetaSignal",
    "MissingAction",
    "MissingExitCode",
    "MissingField",
    "MissingThought",
    "MoreContext",
    "NormalizationPattern",
    "NotAnObject",
    "PlannedAction",
    "ReactBoundOutcome",
    "ReactGrammarOutcome",
    "ReactTerminationOutcome",
    "RetrievalMetrics",
    "RosterFit",
    "RuntimeConstraints",
    "SkillFit",
    "Stuck",
    "StuckRequest",
    "TaskClassification",
    "TaskExecutionPlan",
    "TaskOperatingState",
    "TaskStateInput",
    "TerminationOk",
    "Thinking",
    "ToolCall",
    "ToolFit",
    "ToolSearchStats",
    "Uncertain",
    "UnknownReason",
    "UnknownType",
    "Yield",
    "assess_declared_action",
    "build_normalization_retry_prompt",
    "classify_iteration_bound",
    "classify_scratchpad_grammar",
    "classify_termination",
    "detect_meta_signal",
    "detect_normalization_failure",
    "extract_echo_fragments",
    "from_data",
    "from_json",
    "parse_action",
    "plan",
    "synthesize_task_state",
    "to_data",
    "to_json",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
