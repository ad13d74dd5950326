"""Planning the steps of a run: until when a plan stands, and what is done about it in a turn."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, Union, get_args

from loopmend._beside import Beside
from loopmend.breaker import Breaker, CircuitBreaker
from loopmend.contracts.planner import PlannedAction
from loopmend.planning.advised import AdvisedPlan
from loopmend.planning.conduct import COMPOSES, GO_ON, Conduct, Mode, conduct
from loopmend.planning.facts import Facts
from loopmend.planning.limits import TokenBudget
from loopmend.planning.planner import Planner
from loopmend.planning.roster import RosterMatch, match_specialists
from loopmend.planning.step_view import Found, StepView
from loopmend.reading.turn import FailurePattern

__all__ = ["Match", "PlannedStep", "StepPlanner"]

Match = Callable[[str, Mapping[str, str]], Union[RosterMatch, Awaitable[RosterMatch]]]
"""Finds the specialists that a message asks for."""

_MODES: Final = get_args(Mode)
_DELEGATED: Final = "delegated"
_CONTEXT: Final = "context"
_LONGEST_MEMORY: Final = 8_000
_MAY_CALL: Final = "may_call"
_PRESSING: Final = 2_000
"""Tokens from which on the contract feels no pressure."""
_PLANNER: Final = Planner()


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A plan of a step, and what to do about it."""

    facts: Facts
    plan: AdvisedPlan
    conduct: Conduct
    is_news: bool
    """Whether to tell of it: a plan that stands and changes nothing was told before."""

    def data(self) -> dict[str, Any]:
        """Return what an event tells of it, as JSON."""
        wanted = self.conduct
        return {
            "known": self.facts.data(),
            **self.plan.data(),
            "done": wanted.done,
            "told": list(wanted.notes),
            "advice": wanted.advice,
        }


class StepPlanner:
    """Plans each step of a run anew as soon as a fact changes, and says what to do about it.

    What it waits for is only what it is passed, so a host that never waits runs it with
    `loopmend.adapting.at_once`.

    >>> StepPlanner(mode="advise").mode
    'advise'
    """

    def __init__(  # noqa: PLR0913 - all by name, and each has a default
        self,
        planner: Planner | None = None,
        *,
        mode: Mode = "enforce",
        hints: bool = False,
        authority: str | None = None,
        observe: Callable[[Any], Mapping[str, Any]] | None = None,
        match: Match = match_specialists,
        breaker: Breaker | Literal[False] | None = None,
        token_budget: int | None = None,
        inspect_memory: Callable[[Any], Found | Awaitable[Found]] | None = None,
        compose: Callable[[Any, AdvisedPlan], Found | Awaitable[Found]] | None = None,
    ) -> None:
        """Set what it may know and do.

        Args:
            planner: Your own planner, such as one with your rules.
            mode: `"enforce"` acts on the plan; `"advise"` tells the model what the plan would do;
                `"observe"` changes nothing.
            hints: Whether to tell the model to vary its replies and to win the user back, as
                rules 9 and 10 advise. They guess at the user's taste.
            authority: Who the user is, such as `"Creator"`; by default what the host says.
            observe: Returns fields of `TaskStateInput` that you know better, such as `intents`,
                `missing_skills` or `decomposition_proposal`.
            match: Finds the specialists that a message addresses.
            breaker: The provider's circuit breaker, if you share one; by default one for each
                model. `False` for none.
            token_budget: How many tokens one turn may use before the answer is a blocker.
            inspect_memory: Looks deeper into memory, and returns what the model should know, or
                `None`; by default the host's own look.
            compose: Makes a skill or a specialist, and returns what the model should know of it, or
                `None`; by default the plan says what is missing.

        Raises:
            TypeError: `token_budget` is not an `int`.
            ValueError: `token_budget` is negative, or the mode is unknown.
        """
        if mode not in _MODES:
            msg = f"`mode` must be one of {', '.join(_MODES)}, not {mode!r}"
            raise ValueError(msg)
        planner = planner or _PLANNER
        self._budget = None if token_budget is None else TokenBudget(token_budget)
        if self._budget is not None:
            planner = replace(planner, rules=[*planner.rules, self._budget.rule])
        self.mode: Mode = mode
        """Whether it acts, advises or only looks."""
        self.acts: bool = mode == "enforce"
        """Whether it may change a run."""
        self._planner = planner
        self._hints = hints and mode != "observe"
        self._authority = authority
        self._observe = observe
        self._match = match
        self._shared: Breaker | Literal[False] | None = breaker
        self._breakers: Beside[CircuitBreaker] = Beside()
        self._inspect = inspect_memory
        self._compose = compose

    async def plan(self, step: StepView) -> PlannedStep | None:
        """Plan a step; `None` if the plan of an earlier step stands and there is nothing to do."""
        facts, planned, stands = await self._standing(step)
        action = planned.advised.selected
        if stands and action in GO_ON and not self._hints:
            return None
        delegated = step.turn.get(_DELEGATED, ())
        roster = set(step.roster).difference(delegated)
        composes = self._compose is not None
        wanted = conduct(planned, self.mode, hints=self._hints, roster=roster, composes=composes)
        if wanted.answer is not None:
            step.turn.pop(_MAY_CALL, None)
        elif wanted.to is not None:
            step.turn[_DELEGATED] = [*delegated, wanted.to]
        elif self.mode == "enforce" and action not in GO_ON:
            wanted = await self._looked(step, planned, wanted)
        is_news = not stands or wanted.done is not None or bool(wanted.notes)
        return PlannedStep(facts, planned, wanted, is_news)

    def count_reply(
        self, step: StepView, tokens: int | None, texts: Callable[[], Iterable[str]]
    ) -> None:
        """Count what a reply cost; the provider is up.

        Args:
            step: The step.
            tokens: What the provider says that it cost, if it does.
            texts: Returns all that the model saw and said, to estimate the cost from.
        """
        self.count_call(step, None)
        if tokens is not None:
            step.run[_CONTEXT] = tokens
        if self._budget is not None:
            self._budget.use(step.turn, tokens, characters=sum(map(len, texts())))

    def count_call(self, step: StepView, error: BaseException | None) -> None:
        """Tell the breaker what came of a call: an error, or `None`."""
        breaker = self._breaker(step)
        if breaker is None:
            return
        step.turn.pop(_MAY_CALL, None)
        if error is None:
            breaker.record_success()
        else:
            breaker.record_failure(error)

    def _is_open(self, step: StepView) -> bool | None:
        """Ask the breaker, unless it let a call through in this turn that was not made yet."""
        breaker, turn = self._breaker(step), step.turn
        if breaker is None:
            return None
        if not turn.get(_MAY_CALL):
            if breaker.is_open():
                return True
            turn[_MAY_CALL] = True
        return False

    def _breaker(self, step: StepView) -> Breaker | None:
        """Return the breaker of an agent's model, or the one that somebody shares."""
        if self._shared is None:
            return self._breakers.kept(step.model, CircuitBreaker)
        return None if self._shared is False else self._shared

    def _left(self, step: StepView) -> int | None:
        """Return how many tokens are left, of the turn or of the context window, if known."""
        if self._budget is not None:
            return self._budget.left(step.turn)
        context: int | None = step.run.get(_CONTEXT) if step.iteration else None
        window = None if context is None else step.window()
        if context is None or not window or context > window:
            return None  # who saw more than that has another window
        return window - context

    async def _standing(self, step: StepView) -> tuple[Facts, AdvisedPlan, bool]:
        """Plan a step, unless a plan of this run stands: no fact has changed since."""
        known = {} if self._observe is None else dict(self._observe(step))
        facts, left = step.facts(), self._left(step)
        if self._authority is not None:
            facts = replace(facts, authority=self._authority)
        # Fewer tokens are another fact only where they begin to run out.
        pressed = None if left is None else min(left, _PRESSING)
        seen = facts, step.agent_name, step.turn.get(_DELEGATED), pressed, known
        # A rule of the user's own may look at anything, so that it is asked each time.
        fresh = not step.iteration or bool(self._planner.rules)
        latest: tuple[Any, ...] = () if fresh else step.run.get(self, ())
        stands = latest[:1] == (seen,)
        found = latest[1] if stands else await self._asked_for(step)
        # Asked last: it may let one call through, which has to be made then.
        is_open = None if "provider_breaker_open" in known else self._is_open(step)
        if stands and latest[2].breaker_open == is_open:
            return latest[2], latest[3], True
        facts = replace(
            facts,
            asked_for=found.names,
            asked=found.explicit,
            tokens_left=left,
            breaker_open=is_open,
        )
        task = facts.task(
            *step.conversation(),
            tool_count=step.tool_count,
            streams=step.streams,
            inspects=facts.best_score is not None and self._look(step) is not None,
            **known,
        )
        issue = facts.protocol_issue
        mistake = None if issue is None else FailurePattern(issue)
        planned = self._planner.advise(task, form=step.form, mistake=mistake)
        step.run[self] = seen, found, facts, planned
        return facts, planned, False

    async def _asked_for(self, step: StepView) -> RosterMatch:
        """Find whom the user asks for and who has not had the turn yet."""
        delegated = step.turn.get(_DELEGATED, ())
        if step.agent_name in delegated or not (step.user_text and step.tool_count):
            # Who was handed over to does the work, and is not sent on before that.
            return RosterMatch()
        asked = step.user_text, {**step.roster, step.agent_name: step.about or ""}
        memo: tuple[Any, RosterMatch] | None = step.run.get((self, _DELEGATED))
        if memo is None or memo[0] != asked:  # a matcher may be costly
            found = self._match(*asked)
            found = await found if inspect.isawaitable(found) else found
            memo = step.run[self, _DELEGATED] = asked, found
        match = memo[1].before(step.agent_name)
        names = (name for name in match.names if name in step.roster and name not in delegated)
        return RosterMatch(match.explicit, tuple(names))

    def _look(self, step: StepView) -> Callable[[], Found | Awaitable[Found]] | None:
        return step.memory_look() if self._inspect is None else partial(self._inspect, step)

    async def _looked(self, step: StepView, planned: AdvisedPlan, wanted: Conduct) -> Conduct:
        """Look into memory or have something made, once a turn, and tell what came of it."""
        action, turn = planned.advised.selected, step.turn
        look = self._look(step) if action is PlannedAction.INSPECT_MEMORY else None
        if look is not None and not turn.get("inspected"):
            turn["inspected"] = True
            found = await _awaited(look())
            if not found or any(found in text for text in step.shown()):
                return replace(wanted, done="found nothing new in memory")
            told = f"From memory:\n{found[:_LONGEST_MEMORY]}"
            return replace(wanted, done="looked into memory", notes=(*wanted.notes, told))
        if action in COMPOSES and self._compose is not None and not turn.get("composed"):
            turn["composed"] = True
            made = await _awaited(self._compose(step, planned))
            notes = (*wanted.notes, made) if made else wanted.notes
            return replace(wanted, done="composed", notes=notes)
        return wanted


async def _awaited(value: Found | Awaitable[Found]) -> Found:
    return await value if inspect.isawaitable(value) else value
