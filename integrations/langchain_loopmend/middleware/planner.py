"""Middleware that plans each step without a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from langchain.agents.middleware import AgentState, hook_config
from langchain.agents.middleware.types import ModelRequest, OmitFromInput
from langchain_core.messages import SystemMessage
from langgraph.runtime import Runtime
from typing_extensions import NotRequired, override

from langchain_loopmend.messages import ended_by, said_by
from langchain_loopmend.middleware.model_calls import Handler, ModelCallMiddleware, Result
from loopmend import Planner, StopReason
from loopmend.adapting import observe_messages
from loopmend.contracts import PlannedAction, TaskStateInput, to_data

__all__ = ["PlannerMiddleware", "PlannerState"]

Observe = Callable[[Any, Runtime[Any]], TaskStateInput]


class PlannerState(AgentState[Any]):
    """The agent's state, with the plan of the latest step."""

    plan: NotRequired[Annotated[dict[str, Any], OmitFromInput]]


class PlannerMiddleware(ModelCallMiddleware[PlannerState]):
    """Plans the next step before each model call, and acts on the plan.

    A blocker, such as an open circuit breaker, ends the run with an answer and without a model
    call. Hints against repetition and after protocol issues go into the model's system message.
    The rest of the plan is in the state under `plan`, for the host to act on, with the
    `differences` between the advice and what the contract alone would plan.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from loopmend.contracts import TaskStateInput
        >>> def observe(state, runtime):
        ...     return TaskStateInput("go", intents=["execution"], provider_breaker_open=True)
        >>> agent = create_agent(FakeListChatModel(responses=["never asked"]),
        ...                      middleware=[PlannerMiddleware(observe)])
        >>> result = agent.invoke({"messages": [("user", "go")]})
        >>> result["messages"][-1].content
        'Stopped: Provider circuit breaker open; cannot proceed with inference'
        >>> result["plan"]["selected"]
        'ReturnBlocker'
    """

    state_schema = PlannerState

    def __init__(
        self,
        observe: Observe | None = None,
        *,
        inject: bool = True,
        block: bool = True,
        planner: Planner | None = None,
    ) -> None:
        """Set what the planner knows and may do.

        Args:
            observe: Returns the host's knowledge, from the state and the runtime; by default
                it comes from the messages, see `loopmend.planning.observe_conversation`.
            inject: Whether hints reach the model.
            block: Whether a blocker ends the run.
            planner: Your own planner, such as one with your rules; its advice is followed.
        """
        super().__init__()
        self._observe = observe or _from_messages
        self._inject = inject
        self._block = block
        self._planner = planner or Planner()

    @override
    @hook_config(can_jump_to=["end"])
    def before_model(self, state: PlannerState, runtime: Runtime[Any]) -> dict[str, Any]:
        planned = self._planner.advise(self._observe(state, runtime))
        told = [] if planned.correction is None else [planned.correction]
        update: dict[str, Any] = {
            "plan": {
                **to_data(planned.advised),
                "hints": [*told, *planned.hints],
                "differences": to_data(planned.differences),
            }
        }
        if self._block and planned.selected is PlannedAction.RETURN_BLOCKER:
            said = ended_by(StopReason.BLOCKED, f"Stopped: {planned.selected_rationale}")
            update |= {"messages": [said], "jump_to": "end"}
        return update

    @override
    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: PlannerState, runtime: Runtime[Any]) -> dict[str, Any]:
        return self.before_model(state, runtime)

    @override
    async def _around(self, request: ModelRequest[Any], handler: Handler, *, waits: bool) -> Result:
        planned: Any = request.state.get("plan") or {}
        hints = planned.get("hints") if self._inject else None
        if hints:
            request = request.override(system_message=_with_hints(request.system_message, hints))
        response: Result = await handler(request) if waits else handler(request)
        return response


def _with_hints(told: SystemMessage | None, hints: list[str]) -> SystemMessage:
    """Return the system message with hints after it; blocks stay blocks."""
    text = "\n\n".join(hints)
    if told is None:
        return SystemMessage(text)
    if isinstance(told.content, str):
        return SystemMessage(f"{told.content}\n\n{text}")
    return SystemMessage(content=[*told.content, {"type": "text", "text": text}])


def _from_messages(state: Any, runtime: Runtime[Any]) -> TaskStateInput:  # noqa: ARG001 - a hook
    """Return what the messages tell; an agent of this kind has tools as a rule."""
    return observe_messages(map(said_by, state["messages"]), tool_count=1)
