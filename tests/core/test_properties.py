"""Every contract is total, deterministic, and its answers survive JSON."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loopmend import ToolCall
from loopmend.contracts import (
    ActionParseError,
    AgentAction,
    DetectionConfig,
    InvalidJson,
    MetaSignal,
    NormalizationPattern,
    ReactBoundOutcome,
    ReactGrammarOutcome,
    ReactTerminationOutcome,
    TaskExecutionPlan,
    TaskOperatingState,
    TaskStateInput,
    build_normalization_retry_prompt,
    classify_iteration_bound,
    classify_scratchpad_grammar,
    classify_termination,
    detect_meta_signal,
    detect_normalization_failure,
    extract_echo_fragments,
    from_json,
    parse_action,
    plan,
    synthesize_task_state,
    to_json,
)
from tests.core.strategies import emitted_text, json_values, traces


def survives_json(kind: Any, value: Any) -> bool:
    """Tell whether a value comes back from JSON as it was, by its text too."""
    again = from_json(kind, to_json(value))
    return bool(again == value) or repr(again) == repr(value)


@given(emitted_text)
def test_parse_action_is_total(text: str) -> None:
    """Any text is an action or a documented error that points into it; twice the same."""
    try:
        action = parse_action(text)
    except ActionParseError as error:
        assert error.text == text
        assert str(error)
        if isinstance(error, InvalidJson) and error.position is not None:
            assert 0 <= error.position <= len(text)
    else:
        assert action == parse_action(text)
        assert survives_json(AgentAction, action)


@given(json_values)
def test_parse_action_keeps_arguments(arguments: Any) -> None:
    """Arguments come out as they went in, and survive JSON."""
    text = json.dumps({"type": "tool_call", "name": "n", "arguments": arguments})
    action = parse_action(text)
    assert action == ToolCall("n", arguments)
    assert survives_json(AgentAction, action)


@given(emitted_text, st.integers(0, 2**64))
def test_normalization_is_total(text: str, tool_count: int) -> None:
    """Any text is well-formed or shows a pattern that has a prompt; twice the same."""
    pattern = detect_normalization_failure(text)
    assert pattern is detect_normalization_failure(text)
    if pattern is not None:
        assert survives_json(NormalizationPattern, pattern)
        assert build_normalization_retry_prompt(pattern, tool_count)


@given(emitted_text, st.booleans())
def test_detect_meta_signal_is_total(text: str, implicit: bool) -> None:  # noqa: FBT001
    """Any text has one signal or none; twice the same, and it survives JSON."""
    config = DetectionConfig(detect_implicit=implicit)
    signal = detect_meta_signal(text, config)
    assert signal == detect_meta_signal(text, config)
    assert signal is None or survives_json(MetaSignal, signal)


@given(emitted_text)
def test_grammar_is_total(text: str) -> None:
    """Any text has one verdict; twice the same, and it survives JSON."""
    outcome = classify_scratchpad_grammar(text)
    assert outcome == classify_scratchpad_grammar(text)
    assert survives_json(ReactGrammarOutcome, outcome)


@given(traces, st.integers(-(2**63), 2**63 - 1))
def test_trace_verdicts_are_total(body: Any, budget: int) -> None:
    """Any JSON has one verdict on its end and one on its budget; they survive JSON."""
    termination = classify_termination(body)
    bound = classify_iteration_bound(body, budget)
    assert termination == classify_termination(body)
    assert bound == classify_iteration_bound(body, budget)
    assert survives_json(ReactTerminationOutcome, termination)
    assert survives_json(ReactBoundOutcome, bound)


@given(st.from_type(TaskStateInput))
def test_synthesis_and_plan_are_total(turn: TaskStateInput) -> None:
    """Any input gives a state and a plan; twice the same, and all survive JSON."""
    state = synthesize_task_state(turn)
    planned = plan(state, turn)
    assert repr(state) == repr(synthesize_task_state(turn))
    assert planned == plan(state, turn)
    assert planned.selected is planned.candidates[0].action
    assert survives_json(TaskStateInput, turn)
    assert survives_json(TaskOperatingState, state)
    assert survives_json(TaskExecutionPlan, planned)


@given(st.from_type(TaskOperatingState), st.from_type(TaskStateInput))
def test_plan_is_total_over_any_state(state: TaskOperatingState, turn: TaskStateInput) -> None:
    """Also a state that no synthesis would make is planned from, best candidate first."""
    confidences = [candidate.confidence for candidate in plan(state, turn).candidates]
    assert confidences == sorted(confidences, reverse=True)
    assert survives_json(TaskOperatingState, state)


@given(st.lists(emitted_text, max_size=5))
def test_echo_fragments_are_total(messages: list[str]) -> None:
    """Any messages have fragments, each of eight words or more, twice the same."""
    fragments = extract_echo_fragments(messages)
    assert fragments == extract_echo_fragments(messages)
    state = synthesize_task_state(TaskStateInput(" ".join(messages), self_echo_fragments=fragments))
    assert 0 <= state.behavioral_history.self_echo_risk <= 1
