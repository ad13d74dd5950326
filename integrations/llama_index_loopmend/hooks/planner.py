"""A hook that plans each step without a model, and acts on the plan."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, Union, get_args

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.output_parsers.base import OutputParserException
from typing_extensions import override

from llama_index_loopmend.events import PlanEvent
from llama_index_loopmend.hooks.facts import (
    best_score,
    can_inspect,
    conversation,
    failures_in_a_row,
)
from llama_index_loopmend.hooks.normalization import NormalizationHook, issue_of
from llama_index_loopmend.hooks.protocol import After, Answer, Before, HandOver, Proceed, StepHook
from llama_index_loopmend.steps import HANDOFF, PLAN, AgentStep, Beside
from loopmend import AdvisedPlan, FailurePattern, Planner
from loopmend.breaker import Breaker, CircuitBreaker
from loopmend.contracts import PlannedAction
from loopmend.planning import RosterMatch, match_specialists
from loopmend.planning.conduct import COMPOSES, GO_ON, Conduct, Mode, conduct
from loopmend.planning.facts import Facts
from loopmend.planning.limits import TokenBudget, breaker_open, give_back, record_outcome
from loopmend.traces.readers.values import tokens_of

__all__ = ["Compose", "Inspect", "Match", "Observe", "PlannerStepHook"]

Told = Union[str, None]
Inspect = Callable[[AgentStep], Union[Told, Awaitable[Told]]]
"""Looks deeper into memory, and returns what the model should know, or `None`."""
Compose = Callable[[AgentStep, AdvisedPlan], Union[Told, Awaitable[Told]]]
"""Makes a skill or a specialist, and returns what the model should know of it, or `None`."""
Observe = Callable[[AgentStep], Mapping[str, Any]]
"""Returns fields of `TaskStateInput` that the host knows better."""
Match = Callable[[str, Mapping[str, str]], Union[RosterMatch, Awaitable[RosterMatch]]]
"""Finds the specialists that a message asks for."""

_MODES: Final = get_args(Mode)
_DELEGATED: Final = "delegated"
# How LlamaIndex pauses a step, which is no failure of the provider.
_CONTROL_FLOW: Final = "WaitingForEvent"
_CONTEXT: Final = "context"
_LONGEST_MEMORY: Final = 8_000
_PLENTY: Final = 2_000  # tokens, from which on the contract feels no pressure


class PlannerStepHook(StepHook):
    """Plans each step of an agent without a model, and acts on the plan.

    What it plans from comes from the run itself: the roster and its permissions, the tokens that
    the provider reports, the provider's errors, mistakes of the last reply, scores of retrieved
    nodes, tool results, the conversation. What is unknown sets off no rule. Each plan streams a
    `PlanEvent`; it stands until a fact changes.

    >>> PlannerStepHook(mode="advise", authority="Creator").mode
    'advise'
    """

    def __init__(  # noqa: PLR0913 - all by name, and each has a default
        self,
        *,
        mode: Mode = "enforce",
        hints: bool = False,
        planner: Planner | None = None,
        authority: str | None = None,
        observe: Observe | None = None,
        match: Match = match_specialists,
        breaker: Breaker | Literal[False] | None = None,
        token_budget: int | None = None,
        inspect_memory: Inspect | None = None,
        compose: Compose | None = None,
    ) -> None:
        """Set what the planner may know and do.

        Args:
            mode: `"enforce"` acts on the plan; `"advise"` tells the model what the plan would do;
                `"observe"` changes nothing.
            hints: Whether the model is told to vary its replies and to win the user back, as
                rules 9 and 10 advise. They guess at the user's taste.
            planner: Your own planner, such as one with your rules.
            authority: Who the user is, such as `"Creator"`; by default `authority` in the
                workflow's state.
            observe: Returns fields of `TaskStateInput` that you know better, such as `intents`,
                `missing_skills` or `decomposition_proposal`.
            match: Finds the specialists that a message asks for, see `embedding_match`.
            breaker: The provider's circuit breaker, if you share one; by default the hook has one
                for each model. `False` for none.
            token_budget: How many tokens one turn may use before the hook returns a blocker.
            inspect_memory: Looks deeper into memory; by default the hook asks the blocks of a
                `Memory`.
            compose: Creates a skill or a specialist; by default the event says what is missing.

        Raises:
            TypeError: `token_budget` is not an `int`.
            ValueError: `token_budget` is negative, or the mode is unknown.
        """
        if mode not in _MODES:
            msg = f"`mode` must be one of {', '.join(_MODES)}, not {mode!r}"
            raise ValueError(msg)
        self._budget = None if token_budget is None else TokenBudget(token_budget)
        planner = planner or Planner()
        if self._budget is not None:
            planner = replace(planner, rules=[*planner.rules, self._budget.rule])
        self.mode: Mode = mode
        """Whether it acts, advises or only looks."""
        self.acts = mode == "enforce"
        self._hints = hints and mode != "observe"
        self._planner = planner
        self._authority = authority
        self._observe = observe
        self._match = match
        self._shared = breaker
        self._breakers: Beside[CircuitBreaker] = Beside()
        self._inspect = inspect_memory
        self._compose = compose

    @override
    async def before(self, step: AgentStep) -> Before:
        """Plan the step, and act on the plan."""
        facts, planned, stands = await self._plan(step)
        if stands and planned.selected in GO_ON and not self._hints:
            return None  # told with the step that it was made for
        decision, wanted = await self._act(step, planned)
        if not stands or wanted.done or wanted.notes:
            event = step.local[PLAN] = {
                "known": facts.data(),
                **planned.data(),
                "done": wanted.done,
                "told": list(wanted.notes),
                "advice": wanted.advice,
                "current_agent_name": step.agent_name,
            }
            step.tell(PlanEvent(**event))
        return decision

    @override
    async def after(self, step: AgentStep, output: AgentOutput) -> After:
        """Look whether the reply broke the protocol, if no other hook has."""
        if not any(isinstance(hook, NormalizationHook) for hook in step.hooks):
            step.notes.note_issue(issue_of(step, output))
        return None

    @override
    def heard(self, step: AgentStep, output: AgentOutput) -> None:
        """Count what a reply cost, as the provider tells it; the provider is up."""
        self.failed(step, None)
        told = None if output.raw is None else tokens_of(output.raw)
        if told is not None:
            step.run[_CONTEXT] = told.total
        if self._budget is not None:
            shown = [*step.messages, *step.pad.messages(step.held), output.response]
            length = sum(len(message.content or "") for message in shown)
            tokens = None if told is None else told.total
            self._budget.use(step.notes.turn, tokens, characters=length)

    @override
    def failed(self, step: AgentStep, error: BaseException | None) -> None:
        """Tell the breaker: what a parser refuses did arrive, and a pause says nothing."""
        breaker = self._breaker(step)
        if breaker is not None and type(error).__name__ != _CONTROL_FLOW:
            arrived = isinstance(error, OutputParserException)
            record_outcome(breaker, step.notes.turn, None if arrived else error)

    def _breaker(self, step: AgentStep) -> Breaker | None:
        """Return the breaker of an agent's model, or the one that somebody shares."""
        if self._shared is not None:
            return self._shared or None
        return self._breakers.kept(step.agent.llm, CircuitBreaker)

    def _left(self, step: AgentStep) -> int | None:
        """Return how many tokens are left, of the turn or of the context window, if known."""
        if self._budget is not None:
            return self._budget.left(step.notes.turn)
        context: int | None = step.run.get(_CONTEXT) if step.iteration else None
        if context is None:
            return None
        window = step.agent.llm.metadata.context_window
        return max(0, window - context) if window else None

    async def _plan(self, step: AgentStep) -> tuple[Facts, AdvisedPlan, bool]:
        """Plan a step, unless a plan of this run stands: no fact has changed since."""
        known = {} if self._observe is None else dict(self._observe(step))
        left, turn = self._left(step), step.notes.turn
        score, failing = best_score(step.results), failures_in_a_row(step.results)
        said: Any = step.state.get("authority") if self._authority is None else self._authority
        # Fewer tokens are another fact only where they begin to run out.
        pressed = None if left is None else min(left, _PLENTY)
        said = said if said is None else str(said)
        where = step.agent_name, step.toolbox, turn.get(_DELEGATED), said
        issue, streak = noted = step.notes.issue
        seen = where, noted, pressed, score, failing, known
        # A rule of the user's own may look at anything, so that it is asked each time.
        fresh = not step.iteration or bool(self._planner.rules)
        latest: tuple[Any, ...] = () if fresh else step.run.get(self, ())
        stands = latest[:1] == (seen,)
        found = latest[1] if stands else await self._fitting(step)
        # Asked last: it may let one call through, which has to be made then.
        guard = None if "provider_breaker_open" in known else self._breaker(step)
        breaker = None if guard is None else breaker_open(guard, turn)
        if stands and latest[2].breaker_open == breaker:
            return latest[2], latest[3], True
        tools = step.toolbox
        facts = Facts(
            tools=len(tools.tools) - (HANDOFF in tools.tools),
            mcp_tools=tools.mcp,
            roster=tuple(step.roster),
            asked_for=found.names,
            asked=found.explicit,
            tokens_left=left,
            breaker_open=breaker,
            protocol_issue=issue,
            issue_streak=streak,
            best_score=score,
            failures_in_a_row=failing,
            authority=said,
        )
        inspects = self._inspect is not None or can_inspect(step)
        task = facts.task(
            *conversation(step),
            tool_count=len(step.tools),
            streams=step.agent.streaming,
            inspects=inspects,
            **known,
        )
        mistake = None if issue is None else FailurePattern(issue)
        planned = self._planner.advise(task, form=step.pad.form, mistake=mistake)
        step.run[self] = seen, found, facts, planned
        return facts, planned, False

    async def _fitting(self, step: AgentStep) -> RosterMatch:
        """Find whom the user asks for and who has not had the turn yet."""
        delegated = step.notes.turn.get(_DELEGATED, ())
        if step.agent_name in delegated or not (step.user_text and step.tools):
            # Who was handed over to does the work, and is not sent on before that.
            return RosterMatch()
        asked = step.user_text, {**step.roster, step.agent_name: step.agent.description}
        memo: tuple[Any, RosterMatch] | None = step.run.get((self, _DELEGATED))
        if memo is None or memo[0] != asked:  # a matcher may be costly
            found = self._match(*asked)
            found = await found if inspect.isawaitable(found) else found
            memo = step.run[self, _DELEGATED] = asked, found
        match = memo[1].before(step.agent_name)
        names = (name for name in match.names if name in step.roster and name not in delegated)
        return RosterMatch(match.explicit, tuple(names))

    async def _act(self, step: AgentStep, planned: AdvisedPlan) -> tuple[Before, Conduct]:
        """Do what the plan says, and return what that is."""
        turn = step.notes.turn
        delegated = turn.get(_DELEGATED, ())
        wanted = conduct(
            planned,
            self.mode,
            hints=self._hints,
            roster=[name for name in step.roster if name not in delegated],
            composes=self._compose is not None,
        )
        if wanted.answer is not None:
            give_back(turn)
            return Answer(wanted.answer), wanted
        if wanted.to is not None:
            turn[_DELEGATED] = [*delegated, wanted.to]
            return HandOver(wanted.to, planned.selected_rationale), wanted
        done, found = await self._looked(step, planned) if self.acts else (None, [])
        if done is not None:
            wanted = replace(wanted, done=done, notes=(*wanted.notes, *found))
        return Proceed(wanted.notes) if wanted.notes else None, wanted

    async def _looked(self, step: AgentStep, planned: AdvisedPlan) -> tuple[str | None, list[str]]:
        """Look into memory or have something made, once a turn, and return what came of it."""
        action, turn = planned.selected, step.notes.turn
        if action is PlannedAction.INSPECT_MEMORY and not turn.get("inspected"):
            turn["inspected"] = True
            found = await _awaited((self._inspect or _blocks)(step))
            shown = {message.content for message in step.messages}
            if not found or any(found in (text or "") for text in shown):
                return "found nothing new in memory", []
            return "looked into memory", [f"From memory:\n{found[:_LONGEST_MEMORY]}"]
        if action in COMPOSES and self._compose is not None and not turn.get("composed"):
            turn["composed"] = True
            made = await _awaited(self._compose(step, planned))
            return "composed", [made] if made else []
        return None, []


async def _awaited(value: Told | Awaitable[Told]) -> Told:
    return await value if inspect.isawaitable(value) else value


async def _blocks(step: AgentStep) -> str:
    """Ask each block of LlamaIndex's memory what it holds on the user's message, and is new."""
    asked = [ChatMessage(role=MessageRole.USER, content=step.user_text)]
    memory: Any = step.memory
    blocks = memory.memory_blocks
    found = [await block.aget(asked, session_id=memory.session_id) for block in blocks]
    shown = "\n".join(message.content or "" for message in step.messages)
    texts = (_as_text(each) for each in found)
    return "\n\n".join(text for text in texts if text and text not in shown)


def _as_text(content: Any) -> str:
    if isinstance(content, list):
        texts = (getattr(item, "text", None) or getattr(item, "content", None) for item in content)
        return "\n".join(text for text in texts if text)
    return content.strip() if isinstance(content, str) else ""
