"""Values to JSON and back, alone and inside other people's pydantic models."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from loopmend import AskUser, FinalAnswer, ToolCall, contracts
from loopmend.contracts import (
    AgentAction,
    HumanIntervention,
    MemoryConfidence,
    MetaSignal,
    MoreContext,
    ReactGrammarOutcome,
    Stuck,
    StuckRequest,
    TaskClassification,
    from_data,
    from_json,
    to_data,
    to_json,
)

UNIONS = {
    "AgentAction": ("type", ["final", "tool_call", "ask_user"]),
    "MetaSignal": ("kind", ["Answer", "Uncertain", "Stuck", "Yield", "Thinking"]),
    "StuckRequest": (
        "kind",
        ["Clarification", "MoreContext", "DifferentTools", "HumanIntervention"],
    ),
    "ReactTerminationOutcome": (
        "kind",
        [
            "Ok",
            "NotAnObject",
            "MissingExitCode",
            "UnknownReason",
            "ExitCodeMismatch",
            "FinalAnswerWithoutAnswerField",
        ],
    ),
    "ReactGrammarOutcome": (
        "kind",
        ["Ok", "Empty", "MissingThought", "MissingAction", "ActionAfterFinalAnswer"],
    ),
    "ReactBoundOutcome": ("kind", ["Ok", "IterationsExceedBudget", "IterationsNegative"]),
}


@pytest.mark.parametrize("name", list(UNIONS))
def test_unions_are_discriminated(name: str) -> None:
    """Each union is told apart by its tag, under the names of the specification."""
    tag, names = UNIONS[name]
    schema = TypeAdapter(getattr(contracts, name)).json_schema()
    assert schema["discriminator"]["propertyName"] == tag
    assert sorted(schema["discriminator"]["mapping"]) == sorted(names)


def test_an_unknown_tag_is_named() -> None:
    """The error says which tag was found and which were expected."""
    with pytest.raises(ValidationError, match="'explode' found using 'type'"):
        from_data(AgentAction, {"type": "explode"})


def test_values_are_fields_of_other_models() -> None:
    """A value works inside a pydantic model, both ways."""

    class Step(BaseModel):
        action: AgentAction
        outcome: ReactGrammarOutcome
        signal: MetaSignal | None = None

    step = Step.model_validate(
        {
            "action": {"type": "ask_user", "question": "?"},
            "outcome": {"kind": "Empty"},
            "signal": {"kind": "Stuck", "request": {"kind": "MoreContext", "about": "x"}},
        }
    )
    assert step.action == AskUser("?")
    assert step.signal == Stuck(request=MoreContext("x"))
    assert Step.model_validate_json(step.model_dump_json()) == step


def test_nested_values() -> None:
    """Unions inside values, sequences and enums become plain data and come back."""
    stuck = Stuck((contracts.AttemptSummary("a"),), "h", HumanIntervention("r"))
    data = to_data(stuck)
    assert data == {
        "attempts": [{"description": "a", "outcome": ""}],
        "hypothesis": "h",
        "request": {"reason": "r", "kind": "HumanIntervention"},
        "kind": "Stuck",
    }
    assert from_data(MetaSignal, data) == stuck
    assert from_data(StuckRequest, data["request"]) == stuck.request
    assert to_data(TaskClassification.TASK) == "Task"


@pytest.mark.parametrize(
    ("number", "written"), [(math.nan, "NaN"), (math.inf, "inf"), (-math.inf, "-inf")]
)
def test_floats_that_json_lacks(number: float, written: str) -> None:
    """NaN and the infinities are written as strings and read as floats."""
    text = to_json(MemoryConfidence(avg_similarity=number))
    assert json.loads(text)["avg_similarity"] == written
    assert repr(from_json(MemoryConfidence, text).avg_similarity) == repr(number)


def test_lone_surrogates_survive() -> None:
    """Nothing is lost, not even what UTF-8 cannot encode."""
    value = FinalAnswer("\ud800 \x00 😀")
    assert to_json(value).isascii()
    assert from_json(AgentAction, to_json(value)) == value


def test_json_can_be_indented() -> None:
    """People may want to read it."""
    assert to_json(FinalAnswer("x"), indent=1) == '{\n "content": "x",\n "type": "final"\n}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nonsense", "Expecting value"),
        ("[" * 100_000, "nested deeper"),
        ('{"type": "final"}', "content"),
    ],
)
def test_bad_json_is_a_value_error(text: str, reason: str) -> None:
    """Text that is not JSON, too deep or not such a value is refused, never with a crash."""
    with pytest.raises(ValueError, match=reason):
        from_json(AgentAction, text)


def test_what_is_written_can_be_read() -> None:
    """Both directions stop at the same depth, with an error and not with a crash."""
    deepest: Any = []
    for _ in range(125):
        deepest = [deepest]
    assert from_json(AgentAction, to_json(ToolCall("n", deepest))) == ToolCall("n", deepest)
    for _ in range(100_000):
        deepest = [deepest]
    with pytest.raises(ValueError, match="nested deeper than 127 levels"):
        to_json(ToolCall("n", deepest))


def test_only_text_is_read() -> None:
    """Bytes are not text."""
    with pytest.raises(TypeError, match="`text` must be a str"):
        from_json(AgentAction, b"{}")  # type: ignore[call-overload]


def test_values_are_frozen_and_small() -> None:
    """A value cannot be changed and has no room for more."""
    value: Any = FinalAnswer("x")
    with pytest.raises(FrozenInstanceError):
        value.content = "y"
    assert not hasattr(value, "__dict__")


def test_values_pickle_and_match() -> None:
    """Values cross process boundaries and take part in `match`."""
    value: AgentAction = pickle.loads(pickle.dumps(ToolCall("search", {"q": 1})))
    match value:
        case ToolCall(name, arguments):
            assert (name, arguments) == ("search", {"q": 1})
        case _:
            pytest.fail("did not match")
