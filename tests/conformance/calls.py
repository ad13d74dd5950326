"""Asking loopmend what the Rust code was asked, in the terms of the vector files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from loopmend.contracts import (
    ActionParseError,
    DetectionConfig,
    MissingField,
    TaskOperatingState,
    TaskStateInput,
    UnknownType,
    build_normalization_retry_prompt,
    classify_iteration_bound,
    classify_scratchpad_grammar,
    classify_termination,
    detect_meta_signal,
    detect_normalization_failure,
    from_data,
    parse_action,
    plan,
    synthesize_task_state,
    to_data,
)
from tests.conformance.rows import plan_base

Answer = dict[str, Any]
"""`{"result": …}` or `{"error": {"kind", …}}`, as in the files."""

_BASE = plan_base()
_ACTION_CODES = {
    "AnswerDirectly": "AD",
    "ContinueCentralized": "CC",
    "InspectMemory": "IM",
    "ComposeSkill": "CK",
    "ComposeSubagent": "CS",
    "DelegateToSpecialist": "DS",
    "ReturnBlocker": "RB",
    "NormalizationRetry": "NR",
}


def ask(function: str, args: Mapping[str, Any]) -> Answer:
    """Call the function and put its answer into the form of the files."""
    try:
        return {"result": _CALLS[function](args)}
    except ActionParseError as error:
        return {"error": _error(error)}
    except Exception as error:  # noqa: BLE001 - a row that raises is a mismatch, not the end
        return {"raised": repr(error)}


def _error(error: ActionParseError) -> dict[str, Any]:
    described: dict[str, Any] = {"kind": type(error).__name__}
    if isinstance(error, MissingField):
        described["field"] = error.field
    if isinstance(error, UnknownType):
        described["type"] = error.type
    return described


def _plan(args: Mapping[str, Any]) -> Any:
    state = dict(_BASE["state"])
    for section, change in args.get("state", {}).items():
        state[section] = {**state[section], **change} if isinstance(change, dict) else change
    turn = {**_BASE["input"], **args.get("input", {})}
    return to_data(plan(from_data(TaskOperatingState, state), from_data(TaskStateInput, turn)))


def _plan_cartesian(args: Mapping[str, Any]) -> str:
    names = _BASE["cartesian_bits"]
    on = {name: bit == "1" for name, bit in zip(names, args["bits"], strict=True)}
    planned = _plan(_switched(on))
    return " ".join(
        f"{_ACTION_CODES[c['action']]}{c['confidence']:.2f}" for c in planned["candidates"]
    )


def _switched(on: Mapping[str, bool]) -> dict[str, Any]:
    """Return the changes to the base that switch each rule's conditions on or off."""
    return {
        "state": {
            "classification": "Conversation" if on["conversation"] else "Task",
            "runtime_constraints": {
                "provider_breaker_open": on["breaker"],
                "budget_pressured": on["pressured"],
            },
            "roster_fit": {
                "explicit_workflow": on["explicit"],
                "fit_count": int(on["fit"]),
                "taskable_count": int(not on["taskable0"]),
            },
            "memory_confidence": {
                "recall_gap": on["gap"],
                "avg_similarity": 0.3 if on["lowsim"] else 0.7,
            },
            "skill_fit": {"missing_skills": ["skill"] if on["missing"] else []},
            "behavioral_history": {
                "structural_repetition": on["repeat"],
                "engagement_declining": on["declining"],
            },
        },
        "input": {
            "authority": "Creator" if on["creator"] else "Peer",
            "decomposition_proposal": {"should_delegate": True} if on["delegate"] else None,
            "previous_turn_had_protocol_issues": on["protocol"],
        },
    }


def _synthesize(args: Mapping[str, Any]) -> Any:
    """Translate the Go port's names, both ways; what it alone has is left out."""
    state = to_data(synthesize_task_state(from_data(TaskStateInput, _from_go(args))))
    limits = state["runtime_constraints"]
    history = state["behavioral_history"]
    memory = state["memory_confidence"]
    return {
        "classification": state["classification"],
        "memory_confidence": {k: v for k, v in memory.items() if k != "empty_tiers"},
        "runtime_constraint": {
            "breaker_open": limits["provider_breaker_open"],
            "budget_pressured": limits["budget_pressured"],
            "inference_mode": limits["inference_mode"],
            "remaining_budget": limits["remaining_budget_tokens"],
        },
        "tool_fit": state["tool_fit"],
        "roster_fit": state["roster_fit"],
        "skill_fit": state["skill_fit"],
        "behavioral": {
            name: history[name]
            for name in ("structural_repetition", "repetition_streak", "engagement_declining")
        },
    }


def _from_go(args: Mapping[str, Any]) -> dict[str, Any]:
    renamed = dict(args)
    metrics = {
        "avg_similarity": renamed.pop("retrieval_avg_similarity", 0.0),
        "budget_utilization": renamed.pop("retrieval_budget_used", 0.0),
    }
    stats = {
        "candidates_considered": renamed.pop("tool_candidates_considered", 0),
        "candidates_selected": renamed.pop("tool_candidates_selected", 0),
    }
    issues = renamed.pop("previous_turn_had_protocol", False)
    return {
        "user_content": "",
        "inference_mode": "",
        **renamed,
        "retrieval_metrics": metrics,
        "tool_search_stats": stats,
        "previous_turn_had_protocol_issues": issues,
    }


_CALLS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "parse_action": lambda a: to_data(parse_action(a["content"])),
    "detect_normalization_failure": lambda a: to_data(detect_normalization_failure(a["content"])),
    "build_normalization_retry_prompt": lambda a: build_normalization_retry_prompt(
        a["pattern"], a["tool_count"]
    ),
    "detect_meta_signal": lambda a: to_data(
        detect_meta_signal(a["output"], DetectionConfig(detect_implicit=a["detect_implicit"]))
    ),
    "classify_termination": lambda a: to_data(classify_termination(a["body"])),
    "classify_scratchpad_grammar": lambda a: to_data(classify_scratchpad_grammar(a["scratchpad"])),
    "classify_iteration_bound": lambda a: to_data(
        classify_iteration_bound(a["body"], a["max_iterations"])
    ),
    "plan": _plan,
    "plan_cartesian": _plan_cartesian,
    "synthesize_task_state": _synthesize,
}
