"""Contract 5, synthesis: from what the host knows to the state that is planned from.

The source of this step is not public. The thresholds are those of the original's later
Go port where it has the rule; empty tiers, self-echo, the variation hint and lasting
harm are this package's own reading of the documented fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Final

from loopmend._arguments import not_text, wrong_type
from loopmend.contracts.task_input import (
    DeclaredAction,
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

__all__ = [
    "ACTION_VERBS",
    "assess_declared_action",
    "extract_echo_fragments",
    "synthesize_task_state",
]

TASK_INTENTS: Final = frozenset(
    {"execution", "delegation", "cron", "tool_request", "current_events"}
)
"""Intents that make a turn a task."""
RECALL_SIMILARITY_FLOOR: Final = 0.5
"""Memories less similar than this on average leave a gap …"""
RECALL_BUDGET_CEILING: Final = 0.8
"""… unless this much of the retrieval budget was used up."""
BUDGET_PRESSURE_TOKENS: Final = 2000
"""Fewer tokens than this are pressing."""
HIGH_RELEVANCE_DIVISOR: Final = 3
"""At most one in this many tools counts as highly relevant."""
REPETITION_STREAK: Final = 3
"""This many replies of one structure are a repetition."""
ENGAGEMENT_WINDOW: Final = 3
"""This many messages, each shorter than the one before, are a decline …"""
ENGAGEMENT_SHORT_MESSAGE: Final = 30
"""… if the last is shorter than this."""
ECHO_FRAGMENT_WORDS: Final = 8
"""Phrases of fewer words than this are common language, not an echo."""
SELF_ECHO_RISK: Final = 0.3
"""A larger share of echoed phrases is suspicious."""

ACTION_VERBS: Final[tuple[str, ...]] = (
    "attack",
    "stab",
    "grab",
    "cast",
    "hide",
    "dodge",
    "climb",
    "shoot",
    "throw",
    "kick",
    "punch",
    "slash",
    "block",
    "parry",
    "charge",
    "flee",
    "sneak",
    "search",
    "pick up",
    "open",
)
"""Verbs that declare an action; the first in this order that the text contains counts.

>>> ACTION_VERBS[0]
'attack'
"""
HIGH_CONSEQUENCE_WORDS: Final = re.compile(
    r"\b(?:attack|burn|delete|destroy|drop|erase|execute|format|kill|overwrite|pay|purge"
    r"|remove|sell|shoot|shut down|stab|transfer|uninstall|wipe)\b",
    re.IGNORECASE,
)
"""Words of lasting harm."""

# One character each and nothing to go back on, so that "......" costs linear time.
_SENTENCE_END: Final = re.compile(r"[.!?;:](?=\s)|\n")
_WORD: Final = re.compile(r"\w+")


def synthesize_task_state(input: TaskStateInput) -> TaskOperatingState:
    """Turn what the host knows into the state that `plan` reads.

    Raises:
        TypeError: `input` is not a `TaskStateInput`.

    >>> state = synthesize_task_state(
    ...     TaskStateInput("run it", intents=["Execution"], remaining_budget_tokens=1500)
    ... )
    >>> state.classification.value, state.runtime_constraints.budget_pressured
    ('Task', True)
    """
    if not isinstance(input, TaskStateInput):
        raise wrong_type(input, "input", TaskStateInput)
    return TaskOperatingState(
        classification=_classification(input),
        memory_confidence=_memory_confidence(input.retrieval_metrics),
        runtime_constraints=RuntimeConstraints(
            remaining_budget_tokens=input.remaining_budget_tokens,
            budget_pressured=input.remaining_budget_tokens < BUDGET_PRESSURE_TOKENS,
            provider_breaker_open=input.provider_breaker_open,
            inference_mode=input.inference_mode,
        ),
        tool_fit=_tool_fit(input.tool_search_stats, mcp_available=input.mcp_tools_available),
        roster_fit=RosterFit(
            taskable_count=input.taskable_agent_count,
            fit_count=input.fit_agent_count,
            fit_names=input.fit_agent_names,
            explicit_workflow=input.explicit_specialist_workflow,
        ),
        skill_fit=SkillFit(
            enabled_count=input.enabled_skill_count,
            matching_count=input.matching_skill_count,
            missing_skills=input.missing_skills,
        ),
        behavioral_history=_behavioral_history(input),
        declared_action=_declared_action_state(input),
    )


def extract_echo_fragments(messages: Iterable[str]) -> tuple[str, ...]:
    """Return the phrases of eight or more words in a model's messages.

    If they return in the user's next message, the user probably quotes the model.

    Raises:
        TypeError: `messages` is one `str`, or holds something else than `str`.

    >>> extract_echo_fragments(["Sure. The deployment failed because the disk was full again."])
    ('The deployment failed because the disk was full again',)
    """
    if isinstance(messages, str):
        msg = "`messages` must be several messages, not one str"
        raise TypeError(msg)
    sentences = (part for message in messages for part in _sentences(message))
    phrases = (" ".join(sentence.split()).rstrip(".!?;:") for sentence in sentences)
    return tuple(phrase for phrase in phrases if _is_long_enough(phrase))


def assess_declared_action(user_content: str) -> DeclaredAction | None:
    """Return the action that a message declares, if any.

    It finds verbs anywhere in the lower-cased text, even inside other words; their order
    in `ACTION_VERBS` decides, not their place in the text.

    Raises:
        TypeError: `user_content` is not a `str`.

    >>> assess_declared_action("I open the chest. Then I rest.")
    DeclaredAction(verb='open', text='I open the chest', high_consequence=False)
    """
    if not isinstance(user_content, str):
        raise not_text(user_content, "user_content")
    folded = user_content.lower()
    verb = next((verb for verb in ACTION_VERBS if verb in folded), None)
    if verb is None:
        return None
    sentences = (" ".join(part.split()) for part in _sentences(user_content))
    sentence = next(part for part in sentences if verb in part.lower())
    return DeclaredAction(verb, sentence, HIGH_CONSEQUENCE_WORDS.search(user_content) is not None)


def _sentences(message: str) -> list[str]:
    if not isinstance(message, str):
        raise not_text(message, "message")
    return _SENTENCE_END.split(message)


def _classification(input: TaskStateInput) -> TaskClassification:
    is_task = input.explicit_specialist_workflow or any(
        intent.lower() in TASK_INTENTS for intent in input.intents
    )
    return TaskClassification.TASK if is_task else TaskClassification.CONVERSATION


def _memory_confidence(metrics: RetrievalMetrics | None) -> MemoryConfidence:
    metrics = RetrievalMetrics() if metrics is None else metrics
    tiers = metrics.tiers
    empty = () if tiers is None else (f.name for f in fields(tiers) if getattr(tiers, f.name) == 0)
    return MemoryConfidence(
        avg_similarity=metrics.avg_similarity,
        budget_utilization=metrics.budget_utilization,
        retrieval_count=metrics.retrieval_count,
        recall_gap=metrics.avg_similarity < RECALL_SIMILARITY_FLOOR
        and metrics.budget_utilization < RECALL_BUDGET_CEILING,
        empty_tiers=tuple(empty),
    )


def _tool_fit(stats: ToolSearchStats | None, *, mcp_available: bool) -> ToolFit:
    stats = ToolSearchStats() if stats is None else stats
    considered = stats.candidates_considered
    return ToolFit(
        available_count=considered,
        high_relevance_count=min(
            stats.candidates_selected, max(considered // HIGH_RELEVANCE_DIVISOR, 1)
        ),
        token_savings=stats.token_savings,
        mcp_available=mcp_available,
    )


def _behavioral_history(input: TaskStateInput) -> BehavioralHistory:
    streak = _repetition_streak(input.recent_response_skeletons)
    repeated = streak >= REPETITION_STREAK
    risk, echoed = _self_echo(input.self_echo_fragments, input.user_content)
    echoing = risk > SELF_ECHO_RISK
    return BehavioralHistory(
        structural_repetition=repeated,
        repetition_streak=streak if repeated else 0,
        repeated_pattern=input.recent_response_skeletons[-1] if repeated else None,
        engagement_declining=is_declining(input.recent_user_message_lengths),
        self_echo_risk=risk,
        echo_fragment=echoed if echoing else None,
        variation_hint=_variation_hint(repeated=repeated, echoing=echoing),
    )


def _repetition_streak(skeletons: Sequence[str]) -> int:
    streak = 0
    for skeleton in reversed(skeletons):
        if skeleton != skeletons[-1]:
            break
        streak += 1
    return streak


def is_declining(lengths: Sequence[int]) -> bool:
    last = lengths[-ENGAGEMENT_WINDOW:]
    return (
        len(last) == ENGAGEMENT_WINDOW
        and all(later < earlier for earlier, later in pairwise(last))
        and last[-1] < ENGAGEMENT_SHORT_MESSAGE
    )


def _self_echo(fragments: Sequence[str], user_content: str) -> tuple[float, str | None]:
    """Return the share of the phrases that the message repeats, and the first of them.

    A phrase is repeated if each of its runs of eight words stands in the message. Runs
    are looked up, not searched for, so many phrases cost no more than their length.
    """
    phrases = [phrase for phrase in fragments if _is_long_enough(phrase)]
    if not phrases:
        return 0.0, None
    said = runs_of_words(user_content)
    echoed = [phrase for phrase in phrases if runs_of_words(phrase) <= said]
    return len(echoed) / len(phrases), echoed[0] if echoed else None


def runs_of_words(text: str) -> set[tuple[str, ...]]:
    """Return all runs of as many words as are no common language."""
    words = _WORD.findall(text.lower())
    return set(zip(*(words[start:] for start in range(ECHO_FRAGMENT_WORDS)), strict=False))


def _is_long_enough(phrase: str) -> bool:
    return len(_WORD.findall(phrase)) >= ECHO_FRAGMENT_WORDS


def _variation_hint(*, repeated: bool, echoing: bool) -> str | None:
    hints = []
    if repeated:
        hints.append("Vary the structure of the reply: the latest ones are all built alike.")
    if echoing:
        hints.append("Do not repeat your earlier wording: the user's message quotes it.")
    return " ".join(hints) or None


def _declared_action_state(input: TaskStateInput) -> DeclaredActionState:
    action = input.declared_action or assess_declared_action(input.user_content)
    return DeclaredActionState(
        action_declared=action is not None,
        action=action,
        high_consequence=action is not None and action.high_consequence,
    )
