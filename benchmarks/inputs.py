"""Texts to measure on, made from a fixed seed."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from loopmend.contracts import (
    BehavioralHistory,
    DecompositionProposal,
    MemoryConfidence,
    RosterFit,
    RuntimeConstraints,
    SkillFit,
    TaskClassification,
    TaskOperatingState,
    TaskStateInput,
)

SIZES = {"200B": 200, "2KB": 2_000, "20KB": 20_000, "1MB": 1_000_000}
_WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "while",
    "it",
    "rains",
    "in",
    "the",
    "far",
    "north",
]
_BLOCK = "Thought: I should look it up\nAction: search\nAction Input: x\nObservation: a result\n"


def prose(size: int) -> str:
    """Return plain words."""
    words = random.Random(1).choices(_WORDS, k=size // 3 + 1)
    return " ".join(words)[:size].strip()


def react(size: int) -> str:
    """Return whole blocks of a scratchpad."""
    return _BLOCK * max(size // len(_BLOCK), 1)


def react_final(size: int) -> str:
    """Return a scratchpad that ends in a final answer."""
    return f"{react(size)}Thought: I know it\nFinal Answer: 4"


def answer(size: int) -> str:
    """Return an answer with a caveat."""
    return f'<answer confidence="0.9">{prose(size - 60)}<caveat>so far</caveat></answer>'


def final(size: int) -> str:
    """Return a final action."""
    return json.dumps({"type": "final", "content": prose(size - 35)})


def tool(size: int) -> str:
    """Return a tool call with arguments of every kind."""
    chance = random.Random(2)
    arguments: dict[str, Any] = {}
    length = 60
    while length < size:
        value = chance.choice(
            [
                chance.randrange(10_000),
                round(chance.random(), 6),
                {"a": [1, 2.5, None], "b": "text here"},
                "some words in a string",
                [True, {"x": 1}],
            ]
        )
        arguments[f"k{len(arguments)}"] = value
        length += len(json.dumps(value)) + 10
    return json.dumps({"type": "tool_call", "name": "search", "arguments": arguments})


@dataclass(frozen=True)
class Turn:
    """A state to plan from, and the input it belongs to."""

    state: TaskOperatingState
    input: TaskStateInput


TRACE = {"iterations": 3, "answer": "4", "reason": "final_answer", "exit_code": 0}
_INPUT = TaskStateInput("go", intents=["Execution"], authority="Creator")
CONVERSATION = Turn(TaskOperatingState(TaskClassification.CONVERSATION), _INPUT)
QUIET = Turn(TaskOperatingState(TaskClassification.TASK), _INPUT)
EVERYTHING = Turn(
    TaskOperatingState(
        TaskClassification.TASK,
        memory_confidence=MemoryConfidence(avg_similarity=0.3, recall_gap=True),
        runtime_constraints=RuntimeConstraints(provider_breaker_open=True),
        roster_fit=RosterFit(0, 2, ["ann", "bob"], explicit_workflow=True),
        skill_fit=SkillFit(missing_skills=["pdf"]),
        behavioral_history=BehavioralHistory(
            structural_repetition=True,
            repetition_streak=3,
            repeated_pattern="list",
            engagement_declining=True,
        ),
    ),
    TaskStateInput(
        "go",
        authority="Creator",
        decomposition_proposal=DecompositionProposal(should_delegate=True, utility_margin=0.3),
        previous_turn_had_protocol_issues=True,
    ),
)
