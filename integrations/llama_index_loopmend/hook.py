"""The step hook: plans each step of an agent without a model, acts on it, and mends the reply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal

from llama_index.core.agent.react.types import ResponseReasoningStep
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool

from llama_index_loopmend.acting import Acted, Compose, Inspect, act, break_loop
from llama_index_loopmend.events import REFUSED, PlanEvent
from llama_index_loopmend.mending import Mender, Mends, OnExhausted
from llama_index_loopmend.notes import NOTES_KEY, Notes
from llama_index_loopmend.observing import StepView, roster_of
from llama_index_loopmend.planning import Match, Observe, StepPlanner, are
from llama_index_loopmend.recall import RecallProbe
from llama_index_loopmend.schemas import toolbox
from llama_index_loopmend.scratchpads import ReasoningPad, scratchpad_of
from llama_index_loopmend.steps import UNKEPT, Step, TakeStep, keep, told
from loopmend import (
    MAX_NORMALIZATION_RETRIES,
    AdvisedPlan,
    Breaker,
    LoopPolicy,
    PlannedAction,
    Planner,
    match_specialists,
)
from loopmend._arguments import require_int
from loopmend.reading.tools import Toolbox

__all__ = ["PlannerStepHook"]

Mode = Literal["enforce", "advise", "observe"]
Finish = Callable[[Any, AgentOutput, BaseMemory], Awaitable[AgentOutput]]
"""An agent's own `finalize`."""

_MODES: Final = ("enforce", "advise", "observe")
_DEFAULT_LOOPS: Final = LoopPolicy()
_GO_ON: Final = (PlannedAction.CONTINUE_CENTRALIZED, PlannedAction.ANSWER_DIRECTLY)
_NOTHING: Final = Acted()
_FEW: Final = 2
_CALLS: Final = "current_tool_calls"
_STARTED: Final = ("num_iterations", "max_iterations", "user_msg_str", "state")


class PlannerStepHook:
    """Plans each step of a LlamaIndex agent, acts on the plan, and mends what the model says.

    One hook serves any number of agents and of runs at once: what it has to remember is in the
    run's context. Attach it with `PlannedReActAgent`, `PlannedFunctionAgent`,
    `PlannedCodeActAgent`, `with_planner` or `PlannedAgentWorkflow`.

    >>> PlannerStepHook(mode="advise", authority="Creator").mode
    'advise'
    """

    def __init__(  # noqa: PLR0913 - all by name, and each has a default
        self,
        *,
        mode: Mode = "enforce",
        planner: Planner | None = None,
        authority: str | None = None,
        observe: Observe | None = None,
        match: Match = match_specialists,
        breaker: Breaker | None = None,
        token_budget: int | None = None,
        recall: RecallProbe | None = None,
        inspect_memory: Inspect | None = None,
        compose: Compose | None = None,
        max_retries: int = MAX_NORMALIZATION_RETRIES,
        salvage: bool = True,
        loops: LoopPolicy | None = _DEFAULT_LOOPS,
        mends: Mends | None = None,
        on_exhausted: OnExhausted = "answer",
    ) -> None:
        """Set what the planner may know and do.

        Args:
            mode: `"enforce"` acts on the plan and mends replies; `"advise"` only tells the
                model the plan's hints; `"observe"` changes nothing. All of them stream events.
            planner: Your own, such as one with rules of yours.
            authority: Who the user is, such as `"Creator"`; else what the workflow's state says
                under `authority`.
            observe: Returns fields of `TaskStateInput` that you know better, such as `intents`,
                `missing_skills` or `decomposition_proposal`.
            match: Finds the specialists that a message asks for; asked again when either changes.
            breaker: The provider's circuit breaker, shared by all who use the provider. What
                tells of a mistake in a program, such as a plain `ValueError`, counts only if
                its `counts` says so.
            token_budget: How many tokens one turn may use; afterwards a blocker is returned.
            recall: Knows how well retrieval went in this run.
            inspect_memory: Looks deeper into memory; else the blocks of a `Memory` are asked.
            compose: Makes a skill or a specialist; else the model is told what is missing.
            max_retries: How often a reply is corrected within a step.
            salvage: Whether a call that was written as text is made all the same, if the tools
                on offer vouch for it.
            loops: When to nudge, and then to stop, a model that makes the same call with the same
                result again and again; `None` to let it.
            mends: Which of LlamaIndex's own ways are mended; all of them by default.
            on_exhausted: When all corrections were in vain: `"answer"` with what can be used of
                the last reply, or raise `loopmend.NormalizationError` on `"error"`.

        Raises:
            TypeError: A number is not an `int`.
            ValueError: A number is negative, or there is no such mode.
        """
        for name, number in (("max_retries", max_retries), ("token_budget", token_budget or 0)):
            require_int(number, name)
            if number < 0:
                msg = f"`{name}` must not be negative, not {number}"
                raise ValueError(msg)
        if mode not in _MODES:
            msg = f"`mode` must be one of {', '.join(_MODES)}, not {mode!r}"
            raise ValueError(msg)
        if on_exhausted not in ("answer", "error"):
            msg = f"`on_exhausted` must be 'answer' or 'error', not {on_exhausted!r}"
            raise ValueError(msg)
        self.mode: Mode = mode
        """Whether it acts, advises or only looks."""
        self.mends = mends or Mends()
        """Which of LlamaIndex's own ways are mended."""
        self._planner = StepPlanner(
            planner or Planner(),
            match=match,
            authority=authority,
            observe=observe,
            breaker=breaker,
            token_budget=token_budget,
            recall=recall,
        )
        self._loops = loops
        self._inspect = inspect_memory
        self._compose = compose
        self._latest_tools: tuple[tuple[AsyncBaseTool, ...], Toolbox] = ((), toolbox(()))
        self._mender = Mender(
            max_retries=max_retries,
            salvage=salvage,
            mends=self.mends,
            on_exhausted=on_exhausted,
            breaker=breaker,
            counting=token_budget is not None,
        )

    async def take_step(  # noqa: PLR0913, PLR0917 - the agent's own signature, and whose step it is
        self,
        agent: BaseWorkflowAgent,
        take: TakeStep,
        ctx: AgentContext,
        llm_input: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
        *,
        roster: Mapping[str, str] | None = None,
    ) -> AgentOutput:
        """Take a step of an agent: plan it, act on the plan, ask the model, mend its reply.

        Args:
            agent: Whose step it is.
            take: The agent's own `take_step`.
            ctx: The run's context.
            llm_input: What the model would be shown.
            tools: What is on offer.
            memory: The run's memory.
            roster: What each specialist does that it may be handed over to, if that is known.
        """
        stored = dict((await ctx.store.get_state()).items())
        notes = Notes.of(stored.get(NOTES_KEY))
        step = Step(agent, take, ctx, llm_input, tools, self._toolbox(tools), memory, notes)
        before = list(stored.get(step.pad.key) or ()) if step.pad.key else []
        held = notes.data()
        if stored.get("num_iterations") == 0:
            notes.start_turn()
            if self.acts and self.mends.fresh_reasoning:
                before = await _cleared(step, before, stored)
        try:
            output = await self._planned(step, self._view(step, stored, roster), before, stored)
        except BaseException as error:
            step.blame(error)
            raise
        finally:
            if notes.data() != held:
                await ctx.store.set(NOTES_KEY, notes.data())
        if step.refused:
            output[REFUSED] = step.refused
        if step.unkept:
            output[UNKEPT] = True
        return output

    @property
    def acts(self) -> bool:
        """Whether it changes what an agent does, and not only what the model is told."""
        return self.mode == "enforce"

    async def finalize(
        self,
        agent: BaseWorkflowAgent,
        finish: Finish,
        ctx: Any,
        output: AgentOutput,
        memory: BaseMemory,
    ) -> AgentOutput:
        """Finish a run, or an agent's part of it, in the agent's own way, and mend that.

        The answer is the one that was parsed. After a handover nothing stays behind.
        """
        pad = scratchpad_of(agent)
        if not isinstance(pad, ReasoningPad) or not self.acts:
            done = await finish(ctx, output, memory)
            if output.get(UNKEPT):
                await keep(done, memory)
            return done
        held = list(await ctx.store.get(pad.key, default=[]))
        done = await finish(ctx, output, memory)
        last = held[-1] if held else None
        if isinstance(last, ResponseReasoningStep):
            if self.mends.parsed_answer:
                _answer_with(done, last.response)
        elif self.mends.fresh_reasoning and await ctx.store.get(pad.key, default=[]):
            # Natively the specialist is not told of the handover, and the next run is.
            await memory.aput_messages(pad.messages(held))
            await ctx.store.set(pad.key, [])
        return done

    def _toolbox(self, tools: Sequence[AsyncBaseTool]) -> Toolbox:
        """Return what the reader knows of the tools, which seldom change from step to step."""
        known, box = self._latest_tools
        if not are(known, tools):
            box = toolbox(tools)
            self._latest_tools = tuple(tools), box
        return box

    def _view(
        self, step: Step, stored: dict[str, Any], roster: Mapping[str, str] | None
    ) -> StepView:
        agent = step.agent
        iteration, most, asked, state = map(stored.get, _STARTED)
        window = agent.llm.metadata.context_window if self._planner.needs_window else 0
        return StepView(
            agent_name=agent.name,
            user_text=asked or "",
            messages=step.messages,
            tools=step.tools,
            memory=step.memory,
            iteration=iteration or 0,
            max_iterations=most,
            roster=roster_of(agent.name, stored, step.tools) if roster is None else roster,
            context_window=window,
            streaming=agent.streaming,
            state=state if isinstance(state, Mapping) else {},
        )

    async def _planned(
        self, step: Step, view: StepView, before: list[Any], stored: dict[str, Any]
    ) -> AgentOutput:
        """Plan a step, and take it in the way that was planned."""
        planned = self._planner.plan(step, view)
        acted = await self._act(step, view, planned, stored)
        self._tell(step, planned, acted)
        if acted.output is not None:
            return acted.output
        return await self._taken(step, self._prompt(step, view, planned, acted), before)

    async def _act(
        self, step: Step, view: StepView, planned: AdvisedPlan, stored: dict[str, Any]
    ) -> Acted:
        """Do what was planned, unless the run goes round in circles."""
        if not self.acts:
            return _NOTHING
        made = stored.get(_CALLS)
        circling = await break_loop(step, made, self._loops) if made and self._loops else None
        if circling is not None:
            return circling
        if planned.selected in _GO_ON:
            return _NOTHING
        return await act(step, view, planned, inspect_memory=self._inspect, compose=self._compose)

    def _tell(self, step: Step, planned: AdvisedPlan, acted: Acted) -> None:
        """Stream the decision, and remember it."""
        if acted.outcome is not None:
            step.notes.plan(step.agent.name, planned.selected.value, acted.outcome)
        done = acted.output is not None or bool(acted.texts)
        step.tell(PlanEvent.of(planned, step.agent.name, acted=done, outcome=acted.outcome))

    def _prompt(
        self, step: Step, view: StepView, planned: AdvisedPlan, acted: Acted
    ) -> list[ChatMessage]:
        """Return what the model is shown: the messages, the plan's hints, and what was found."""
        if self.mode == "observe":
            return list(step.messages)
        return told(step.messages, [*planned.hints, *_steps_left(view), *acted.texts], step.kind)

    async def _taken(
        self, step: Step, messages: list[ChatMessage], before: list[Any]
    ) -> AgentOutput:
        if self.acts:
            return await self._mender.take(step, messages, before)
        output = await self._mender.ask(step, messages)
        turn = self._mender.read(step, output, before)
        if turn.failure is not None:
            self._mender.note(step, output, turn.failure, outcome="noticed")
        step.notes.streak = 0 if turn.failure is None else step.notes.streak + 1
        return output


async def _cleared(step: Step, before: list[Any], stored: dict[str, Any]) -> list[Any]:
    """Take away what a run that failed left behind: its reasoning and its calls."""
    if before:
        await step.put([])
    if stored.pop(_CALLS, None):
        await step.ctx.store.set(_CALLS, [])
    return []


def _answer_with(output: AgentOutput, text: str) -> None:
    for block in output.response.blocks:
        if isinstance(block, TextBlock):
            block.text = text
            return
    output.response.blocks.append(TextBlock(text=text))


def _steps_left(view: StepView) -> list[str]:
    """Tell the model when it has to come to an end; natively it learns that from an exception."""
    if view.max_iterations is None or view.max_iterations <= _FEW or not view.tools:
        return []
    left = view.max_iterations - view.iteration
    return ["This is your last step. Answer now, with what you know."] if left == 1 else []
