"""A usable planner: the contract's rules, your own, and the advice that follows from both.

The contract stays as it is, and `AdvisedPlan.contract` is what `plan` returns. The advice differs
in four ways:

- it does not correct the model without end,
- with an open breaker it tries nothing that needs inference, not even in a conversation,
- what rules 9 and 10 have to tell the model is a hint, whichever action wins,
- it lists each action once.
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
from loopmend.mending.corrections import FORMS, Form
from loopmend.planning.advice import Draft, Proposal
from loopmend.planning.advised import AdvisedPlan
from loopmend.planning.hints import plan_correction, plan_hints
from loopmend.planning.wording import is_settled, one_line, sources_of
from loopmend.reading.turn import FailurePattern

__all__ = ["PlanRule", "Planner"]

_LONGEST_NAME: Final = 40


class PlanRule(Protocol):
    """Proposes a next step: any function with this signature can be a rule.

    >>> from loopmend import Planner
    >>> from loopmend.contracts import ActionCandidate, PlannedAction, TaskStateInput
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
    """Plans the next step, by the contract's rules and yours.

    The planner calls your rules in every turn, including conversations, and ranks their candidates
    with the contract's, including its fallback (0.6). While a provider's breaker is open, only a
    rule with confidence 1.0 ranks before the blocker; use that if you can do without the provider.

    >>> from loopmend.contracts import TaskStateInput
    >>> turn = TaskStateInput(
    ...     "go", intents=["execution"], remaining_budget_tokens=1000,
    ...     previous_turn_had_protocol_issues=True, normalization_retry_streak=2,
    ... )
    >>> advised = Planner().advise(turn)
    >>> advised.contract.selected.value, advised.selected.value
    ('NormalizationRetry', 'ContinueCentralized')
    """

    rules: Sequence[PlanRule] = ()
    """Your own rules, in order."""
    max_normalization_retries: int = MAX_NORMALIZATION_RETRIES
    """How often in a row to correct the model, at most."""
    form: Form = "native"
    """The form that you asked the model for; it decides the wording of a correction."""

    def __post_init__(self) -> None:
        rules: tuple[object, ...] = tuple(self.rules)
        for rule in rules:
            if not callable(rule):
                msg = f"`rules` must hold callables, not {type(rule).__name__}"
                raise TypeError(msg)
        object.__setattr__(self, "rules", rules)
        require_int(self.max_normalization_retries, "max_normalization_retries")
        if self.max_normalization_retries < 0:
            msg = "`max_normalization_retries` must be 0 or more"
            raise ValueError(msg)
        _check_form(self.form)

    def advise(
        self,
        input: TaskStateInput,
        state: TaskOperatingState | None = None,
        *,
        form: Form | None = None,
        mistake: FailurePattern | None = None,
    ) -> AdvisedPlan:
        """Rank the possible next steps and list where the ranking departs from the contract.

        Args:
            input: The host's knowledge.
            state: The state to plan from; by default synthesized from the input.
            form: The form that you asked the model for, if it is not the planner's.
            mistake: The failure of a reply that broke the protocol, if known.

        Raises:
            TypeError: An argument has the wrong type, or a rule returned something other than a
                candidate or `None`.
            ValueError: A rule's confidence is not between 0 and 1, or the form is unknown.
        """
        asked = self.form if form is None else form
        _check_form(asked)
        if state is None:
            state = synthesize_task_state(input)
        contract = plan(state, input)
        breaker_open = state.runtime_constraints.provider_breaker_open
        sources = sources_of(contract)
        if not self.rules and not breaker_open and is_settled(sources):
            # Most steps are such, and a host may plan each step of each run.
            hints = plan_hints(state)
            return AdvisedPlan(contract, contract, sources, (), None, hints, state, input)
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
        told = plan_correction(advised, form=asked, mistake=mistake)
        hints = plan_hints(state)
        return AdvisedPlan(contract, advised, sources, differences, told, hints, state, input)

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
        msg = f"{name}: `confidence` must be between 0 and 1"
        raise ValueError(msg)
    return float(value)


def _check_form(form: object) -> None:
    if form not in FORMS:
        msg = f"`form` must be one of {', '.join(FORMS)}, not {form!r}"
        raise ValueError(msg)
