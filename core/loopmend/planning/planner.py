"""A planner that can be used: the contract's rules, the user's own, and what is advised.

The contract stays what it is, and `AdvisedPlan.contract` is what `plan` returns. Advised is:

- a correction is not repeated without end,
- with an open breaker nothing is tried that needs inference, in a conversation neither,
- what a rule has to tell the model is a hint, whichever action is selected,
- each action is listed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from loopmend._arguments import require_int
from loopmend.contracts.normalization import MAX_NORMALIZATION_RETRIES
from loopmend.contracts.planner import ActionCandidate, PlannedAction, plan
from loopmend.contracts.synthesis import synthesize_task_state
from loopmend.contracts.task_input import TaskStateInput
from loopmend.contracts.task_state import TaskClassification, TaskOperatingState
from loopmend.planning.advice import Draft, Proposal
from loopmend.planning.advised import AdvisedPlan
from loopmend.planning.hints import plan_hints
from loopmend.planning.wording import is_settled, one_line, sources_of
from loopmend.reading.retry import FORMATS, AskedDialect

__all__ = ["PlanRule", "Planner"]

_LONGEST_NAME: Final = 40


class PlanRule(Protocol):
    """Proposes one thing that could happen next: any function of this form can be a rule.

    >>> from loopmend import ActionCandidate, PlannedAction, Planner, TaskStateInput
    >>> def unsure(state, input):
    ...     if "?!" in input.user_content:
    ...         return ActionCandidate(PlannedAction.INSPECT_MEMORY, 0.96, "They insist.")
    >>> Planner([unsure]).advise(TaskStateInput("What?!")).selected.value
    'InspectMemory'
    """

    def __call__(
        self, state: TaskOperatingState, input: TaskStateInput, /
    ) -> ActionCandidate | None:
        """Return a candidate, or `None` where the rule does not apply."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans what should happen next, by the contract's rules and by the user's.

    Rules of the user's own are asked in every turn, also in conversations, and ranked with the
    contract's. The contract's fallback (0.6) stays what they compete with. While a provider's
    breaker is open, only a rule that is certain (1.0) comes before the blocker: that is how a
    host says that it can do without the provider.

    >>> from loopmend import TaskStateInput
    >>> turn = TaskStateInput(
    ...     "go", intents=["execution"], remaining_budget_tokens=1000,
    ...     previous_turn_had_protocol_issues=True, normalization_retry_streak=2,
    ... )
    >>> advised = Planner().advise(turn)
    >>> advised.contract.selected.value, advised.selected.value
    ('NormalizationRetry', 'ContinueCentralized')
    """

    rules: Sequence[PlanRule] = ()
    """The user's own rules, in order."""
    max_normalization_retries: int = MAX_NORMALIZATION_RETRIES
    """How often in a row the model is corrected at most."""
    dialect: AskedDialect = "native"
    """How the model is asked to write, for the hints."""

    def __post_init__(self) -> None:
        rules: tuple[object, ...] = tuple(self.rules)
        for rule in rules:
            if not callable(rule):
                msg = f"`rules` must hold callables, not {type(rule).__name__}"
                raise TypeError(msg)
        object.__setattr__(self, "rules", rules)
        require_int(self.max_normalization_retries, "max_normalization_retries")
        if self.max_normalization_retries < 0:
            msg = "`max_normalization_retries` must not be negative"
            raise ValueError(msg)
        _check_dialect(self.dialect)

    def advise(
        self,
        input: TaskStateInput,
        state: TaskOperatingState | None = None,
        *,
        dialect: AskedDialect | None = None,
    ) -> AdvisedPlan:
        """Rank what could happen next and say how that departs from the contract.

        Args:
            input: What the host knows.
            state: What to plan from; synthesized from the input when left out.
            dialect: How the model is asked to write, if in another way than the planner's.

        Raises:
            TypeError: An argument is of another type, or a rule returned something else than a
                candidate or `None`.
            ValueError: A rule's confidence is not from 0 to 1, or there is no such dialect.
        """
        asked = self.dialect if dialect is None else dialect
        _check_dialect(asked)
        if state is None:
            state = synthesize_task_state(input)
        contract = plan(state, input)
        breaker_open = state.runtime_constraints.provider_breaker_open
        if not self.rules and not breaker_open and is_settled(contract):
            # Most steps are such, and a host may plan each step of each run.
            hints = plan_hints(contract, state, dialect=asked)
            return AdvisedPlan(contract, contract, sources_of(contract), (), hints, state, input)
        draft = Draft(contract)
        draft.annotate_hints()
        draft.cap_retries(input.normalization_retry_streak, self.max_normalization_retries)
        draft.fall_back()
        if breaker_open:
            draft.add_breaker()
        draft.add_own(self._own(state, input))
        draft.merge()
        if breaker_open:
            is_talk = state.classification == TaskClassification.CONVERSATION
            draft.put_blocker_first("blocker_in_conversation" if is_talk else "breaker_first")
        advised, sources, differences = draft.finish()
        hints = plan_hints(advised, state, dialect=asked)
        return AdvisedPlan(contract, advised, sources, differences, hints, state, input)

    def _own(self, state: TaskOperatingState, input: TaskStateInput) -> Iterator[Proposal]:
        for rule in self.rules:
            name = f"own rule {_name_of(rule)}"
            found = rule(state, input)
            if found is not None:
                yield Proposal(_checked(found, name), name)


def _name_of(rule: PlanRule) -> str:
    return one_line(str(getattr(rule, "__name__", type(rule).__name__)), _LONGEST_NAME)


def _checked(found: object, name: str) -> ActionCandidate:
    """Return a rule's candidate, its confidence a plain float, or say what is wrong with it."""
    if not isinstance(found, ActionCandidate):
        msg = f"{name} must return an ActionCandidate or None, not {type(found).__name__}"
        raise TypeError(msg)
    action: object = found.action
    rationale: object = found.rationale
    if not isinstance(action, PlannedAction):
        msg = f"{name}: `action` must be a PlannedAction, not {type(action).__name__}"
        raise TypeError(msg)
    if not isinstance(rationale, str):
        msg = f"{name}: `rationale` must be a str, not {type(rationale).__name__}"
        raise TypeError(msg)
    return ActionCandidate(action, _confidence(found.confidence, name), rationale)


def _confidence(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        msg = f"{name}: `confidence` must be a number, not {type(value).__name__}"
        raise TypeError(msg)
    if not 0 <= value <= 1:
        msg = f"{name}: `confidence` must be from 0 to 1"
        raise ValueError(msg)
    return float(value)


def _check_dialect(dialect: object) -> None:
    if dialect not in FORMATS:
        msg = f"`dialect` must be one of {', '.join(FORMATS)}, not {dialect!r}"
        raise ValueError(msg)
