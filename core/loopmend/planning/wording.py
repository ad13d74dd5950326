"""Naming who proposed a candidate, and keeping foreign text on one line."""

from __future__ import annotations

from typing import Final

from loopmend.contracts.planner import ActionCandidate, PlannedAction, TaskExecutionPlan

__all__ = ["HINT_RULES", "RETRY_RULE", "is_settled", "one_line", "source_of", "sources_of"]

RETRY_RULE: Final = "rule 8"
HINT_RULES: Final = {
    "rule 9": "Structural repetition",
    "rule 10": "Declining engagement",
}
"""Rules that have something to tell the model, and what sets them off."""

# The confidences of the contract are fixed, so that each tells its rule.
_RULES: Final = {
    (PlannedAction.ANSWER_DIRECTLY, 0.95): "rule 1",
    (PlannedAction.RETURN_BLOCKER, 0.8): "rule 2",
    (PlannedAction.DELEGATE_TO_SPECIALIST, 0.9): "rule 3",
    (PlannedAction.COMPOSE_SUBAGENT, 0.85): "rule 4",
    (PlannedAction.DELEGATE_TO_SPECIALIST, 0.75): "rule 5",
    (PlannedAction.INSPECT_MEMORY, 0.7): "rule 6",
    (PlannedAction.COMPOSE_SKILL, 0.65): "rule 7",
    (PlannedAction.NORMALIZATION_RETRY, 0.75): RETRY_RULE,
    (PlannedAction.CONTINUE_CENTRALIZED, 0.55): "rule 9",
    (PlannedAction.CONTINUE_CENTRALIZED, 0.5): "rule 10",
    (PlannedAction.CONTINUE_CENTRALIZED, 0.6): "fallback",
}
_SETTLED: Final = ("rule 1", "fallback")


def source_of(candidate: ActionCandidate) -> str:
    """Return the rule of the contract that proposes such a candidate, or `other`."""
    return _RULES.get((candidate.action, candidate.confidence), "other")


def sources_of(planned: TaskExecutionPlan) -> tuple[str, ...]:
    """Return the rule of the contract behind each candidate."""
    return tuple(map(source_of, planned.candidates))


def is_settled(sources: tuple[str, ...]) -> bool:
    """Tell whether there is nothing to advise about a plan: it is to answer or to go on."""
    return len(sources) == 1 and sources[0] in _SETTLED


def one_line(text: str, longest: int) -> str:
    """Return a text without line breaks and control characters, cut where it is too long.

    Also direction marks and lone surrogates go: no terminal and no file trips over the rest.
    """
    shown = "".join(char if char.isprintable() else " " for char in text)
    line = " ".join(shown.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"
