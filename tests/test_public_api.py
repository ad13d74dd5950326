"""The public API is locked: what is added or lost here is added or lost for users."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections import Counter
from types import ModuleType

import pytest

import loopmend

EXPECTED = [
    "ACTION_VERBS",
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
    "DETECTORS",
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
    "I06_REASON_EXIT",
    "InvalidJson",
    "IterationsExceedBudget",
    "IterationsNegative",
    "Limits",
    "LoopDecision",
    "LoopPolicy",
    "LoopmendError",
    "MAX_NORMALIZATION_RETRIES",
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

WITHOUT_DOCSTRING = {
    *("AgentAction", "LoopDecision", "MetaSignal", "RetryDecision", "StuckRequest", "__version__"),
    *("ReactBoundOutcome", "ReactGrammarOutcome", "ReactTerminationOutcome"),
    *("ACTION_VERBS", "DETECTORS", "I06_REASON_EXIT", "MAX_NORMALIZATION_RETRIES"),
}
"""Aliases and constants: Python keeps no docstring for them, their source has one."""


def test_public_names() -> None:
    """Exactly these names are public, each once."""
    assert sorted(loopmend.__all__) == sorted(EXPECTED)
    assert len(set(loopmend.__all__)) == len(loopmend.__all__)
    assert [name for name in EXPECTED if not hasattr(loopmend, name)] == []


def test_modules_export_what_the_package_does() -> None:
    """Each public name is exported by exactly one module under its own name."""
    modules = [
        importlib.import_module(info.name)
        for info in pkgutil.walk_packages(loopmend.__path__, "loopmend.")
    ]
    exported = Counter(n for m in modules for n in getattr(m, "__all__", ()) if _is_public(m))
    wrong = {n: exported[n] for n in EXPECTED if exported[n] != 1 and n != "__version__"}
    assert wrong == {}


def _is_public(module: ModuleType) -> bool:
    return not module.__name__.rpartition(".")[2].startswith("_")


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - WITHOUT_DOCSTRING))
def test_every_public_name_has_a_docstring_with_an_example(name: str) -> None:
    """The docstring of each public class and function holds an example that runs."""
    documented = getattr(loopmend, name)
    assert doctest.DocTestParser().get_examples(inspect.getdoc(documented) or "")


def test_names_that_do_not_exist() -> None:
    """A misspelt name is an error as in any module, and all names are listed."""
    with pytest.raises(AttributeError, match="has no attribute 'raed_turn'"):
        _ = loopmend.raed_turn
    assert dir(loopmend) == sorted(EXPECTED)
