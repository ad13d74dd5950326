"""The agreed differences from the Rust code, each by name."""

from __future__ import annotations

import sys

import pytest

from loopmend import ToolCall
from loopmend.contracts import (
    Answer,
    DetectionConfig,
    ExitCodeMismatch,
    HumanIntervention,
    NormalizationPattern,
    Stuck,
    TaskClassification,
    TaskStateInput,
    Thinking,
    Uncertain,
    UnknownReason,
    Yield,
    classify_termination,
    detect_meta_signal,
    detect_normalization_failure,
    parse_action,
    synthesize_task_state,
)
from tests.conformance.deviations import DEFAULT_CONFIDENCE, DEVIATIONS
from tests.conformance.rows import Row


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("</answer> <answer>y</answer>", None),
        ("<answer</answer>", None),
        ('<answer confidence="0.5"</answer>', None),
        ("</uncertain><uncertain>", None),
        ("</stuck> <stuck>x</stuck>", None),
        ("</yield><yield>", None),
        ("</thinking> <thinking>a</thinking>", None),
        ("<thinking</thinking>", None),
        ("</answer> <answer><thinking>plan</thinking>", Thinking("plan")),
        ("<answer</answer><yield><expertise>law</expertise></yield>", Yield(None, ("law",))),
        ("</stuck> I'm not sure <stuck>", Uncertain("</stuck> I'm not sure <stuck>")),
    ],
)
def test_deviation_1_panic_means_the_element_is_not_there(output: str, expected: object) -> None:
    """Where Rust panics on an element, detection goes on with the next rule."""
    assert detect_meta_signal(output) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (
            "<stuck></request><request>a tool</stuck>",
            Stuck(request=HumanIntervention("Agent is stuck")),
        ),
        ("<stuck></hypothesis><hypothesis>h</hypothesis></stuck>", Stuck()),
        ("<yield></partial><partial></yield>", Yield()),
        (
            "<uncertain></partial><partial>p<missing>m</missing></uncertain>",
            Uncertain(None, ("m",)),
        ),
    ],
)
def test_deviation_1_inside_a_signal_only_the_part_is_not_there(
    output: str, expected: object
) -> None:
    """Where Rust panics on a part of a signal, the signal remains without that part."""
    assert detect_meta_signal(output, DetectionConfig(detect_implicit=False)) == expected


@pytest.mark.parametrize("exit_code", [2**32, -(2**32), 2**31, 2**33 + 2, 2**63 - 1, -(2**63)])
def test_deviation_2_exit_code_is_the_integer_it_is(exit_code: int) -> None:
    """An exit code that would wrap around to 0 or 2 in 32 bits is a mismatch."""
    body = {"exit_code": exit_code, "reason": "timeout", "answer": "4"}
    assert classify_termination(body) == ExitCodeMismatch("timeout", exit_code, 2)
    assert classify_termination({"exit_code": exit_code}) == UnknownReason("<missing>")


@pytest.mark.parametrize("confidence", ["nan", "NaN", "-nan", "+NAN"])
def test_deviation_3_nan_confidence_is_the_default(confidence: str) -> None:
    """A confidence that is not a number is 0.8."""
    signal = detect_meta_signal(f'<answer confidence="{confidence}">x</answer>')
    assert signal == Answer("x", DEFAULT_CONFIDENCE)


@pytest.mark.parametrize(
    "literal",
    ["1.602176634e-19", "9007199254740993.0", "2.2250738585072011e-308"],
)
def test_deviation_4_floats_are_cpythons(literal: str) -> None:
    """Floats are rounded correctly, where serde_json may be off in the last place."""
    parsed = parse_action(f'{{"type":"tool_call","name":"n","arguments":{literal}}}')
    assert parsed == ToolCall("n", float(literal))


def test_deviation_5_unicode_tables_are_the_interpreters() -> None:
    """A letter new in Unicode 16 counts as a word from Python 3.14 on."""
    knows_it = sys.version_info >= (3, 14)
    found = detect_normalization_failure("I would use \U00010d40")
    assert found == (NormalizationPattern.NARRATED_TOOL_USE if knows_it else None)


@pytest.mark.parametrize("intent", ["Execution", "DELEGATION", "Cron", "Tool_Request"])
def test_reference_intents_compare_without_case(intent: str) -> None:
    """The seed's own fixtures write `Execution`, the Go port `execution`; both are tasks."""
    state = synthesize_task_state(TaskStateInput("", intents=[intent]))
    assert state.classification is TaskClassification.TASK


def test_every_deviation_can_refuse() -> None:
    """No deviation accepts just any answer."""
    rows: dict[str, Row] = {
        "panic: the element is not there": {
            "id": "detect_meta_signal/x",
            "args": {"output": "<answer</answer>", "detect_implicit": True},
            "panic": "",
            "at": "meta_signal.rs:87",
        },
        "exit_code is not truncated": {
            "id": "classify_termination/x",
            "args": {"body": {"exit_code": 2**32}},
            "result": {},
        },
        "NaN confidence is the default": {
            "id": "detect_meta_signal/x",
            "args": {},
            "result": {"kind": "Answer", "confidence": "NaN"},
        },
        "floats are CPython's": {
            "id": "parse_action/x",
            "args": {},
            "result": {"arguments": [1.0]},
            "ulp": True,
        },
        "Unicode tables are the interpreter's": {
            "id": "detect_normalization_failure/x",
            "args": {},
            "result": "NarratedToolUse",
            "unicode16": True,
        },
        "intents compare without case": {
            "id": "synthesize_task_state/x",
            "args": {"intents": ["Execution"]},
            "result": {},
        },
    }
    for deviation in DEVIATIONS:
        row = rows[deviation.name]
        assert deviation.applies(row)
        assert not deviation.accepts(row, {"result": {"arguments": [2.0]}})
