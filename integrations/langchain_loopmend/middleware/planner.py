"""Middleware that plans each step without a model, and acts on the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Annotated, Any, Final

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    OmitFromInput,
    PrivateStateAttr,
)
from langchain.agents.structured_output import StructuredOutputError
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.types import Command
from typing_extensions import NotRequired, override

from langchain_loopmend.messages import ended_by, is_users, question_of, said_by, text_of
from langchain_loopmend.middleware.model_calls import Handler, ModelCallMiddleware, Response, Result
from loopmend import NormalizationError, StopReason
from loopmend.adapting import Facts, StepPlanner, get, is_fault, latest_issue, tokens_in
from loopmend.mending import Form

__all__ = ["ModelStep", "PlannerMiddleware", "PlannerState"]

# The model did reply.
_ARRIVED: Final = (StructuredOutputError, NormalizationError)


@dataclass
class Kept:
    """What the planner keeps while a run goes on.

    It has no fields, so a checkpoint contains none of it: older releases of LangChain write the
    whole state down with each call of a tool.
    """

    def __post_init__(self) -> None:
        self.run: dict[Any, Any] = {}


class PlannerState(AgentState[Any]):
    """The agent's state, with the plan of the latest step and what the planner remembers."""

    plan: NotRequired[Annotated[dict[str, Any], OmitFromInput]]
    planner_turn: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    planner_run: NotRequired[Annotated[Kept, UntrackedValue, PrivateStateAttr]]


class ModelStep:
    """A call of the model, as the planner and your functions see it.

    >>> ModelStep.__doc__.split(",")[0]
    'A call of the model'
    """

    agent_name = "agent"
    """The agent's name, which LangChain does not tell."""
    about: str | None = None
    """What the agent does."""
    form: Form = "native"
    """How the model is asked to write."""
    streams = False
    """Whether the model streams, which LangChain does not tell."""

    def __init__(self, request: ModelRequest[Any]) -> None:
        self.request = request
        """What LangChain is about to ask."""
        state: Any = request.state
        self.messages: Sequence[BaseMessage] = state.get("messages") or request.messages
        """The conversation, without what other middleware adds for this one call."""
        news = list(takewhile(lambda message: not is_users(message), reversed(self.messages)))
        self.user_text = question_of(self.messages)
        """The user's message."""
        self.iteration = sum(isinstance(message, AIMessage) for message in news)
        """How many steps the run has taken."""
        self.tool_count = len(request.tools)
        """How many tools there are."""
        self.roster: Mapping[str, str] = {}
        """Whom the agent may hand over to: nobody."""
        self.model: object = request.model
        """Whom the agent asks."""
        self.turn: dict[str, Any] = {}
        """What is kept until the user's next message, as plain data."""
        self._kept = Kept()
        if self.iteration:
            self.turn.update(state.get("planner_turn") or {})
            self._kept = state.get("planner_run", self._kept)
        self.run: dict[Any, Any] = self._kept.run
        """What is kept while the run goes on."""
        self._results = [message for message in news if isinstance(message, ToolMessage)]
        self._before = dict(self.turn)

    def facts(self) -> Facts:
        """Return what is known without asking anybody."""
        issue, streak = latest_issue(map(said_by, reversed(self.messages)))
        failing = takewhile(lambda result: result.status == "error", self._results)
        return Facts(
            tools=self.tool_count,
            protocol_issue=issue,
            issue_streak=streak,
            failures_in_a_row=len(list(failing)),
        )

    def window(self) -> int | None:
        """Return how many tokens the model can see, if its profile says so."""
        told = get(getattr(self.model, "profile", None), "max_input_tokens")
        return told if isinstance(told, int) else None

    def memory_look(self) -> None:
        """Return what looks deeper into memory: LangChain has nothing that does."""

    def conversation(self) -> tuple[list[str], list[str]]:
        """Return what the user said and what was answered, oldest first."""
        users = [text_of(message) for message in self.messages if is_users(message)]
        answers = (m for m in self.messages if isinstance(m, AIMessage) and not m.tool_calls)
        return users, [text_of(message) for message in answers]

    def shown(self) -> list[str]:
        """Return the texts that the model is about to see."""
        told = self.request.system_message
        return [text_of(m) for m in ([told] if told else []) + list(self.request.messages)]

    def new(self) -> dict[str, Any]:
        """Return what the agent's state has to remember of it."""
        turn = {} if self.turn == self._before else {"planner_turn": self.turn}
        known = self.request.state.get("planner_run") is self._kept
        return turn if known else {**turn, "planner_run": self._kept}


class PlannerMiddleware(StepPlanner, ModelCallMiddleware[PlannerState]):
    """Plans each step without a model, and acts on the plan.

    Its facts come from the run itself: the user's messages, protocol errors of the latest reply,
    failing tools, the tokens that the provider reports, the provider's errors. No rule fires on
    an unknown fact. A blocker ends the run with an answer and without a model call. The latest plan
    is in the state under `plan`, and stays in force until a fact changes. Callbacks are passed a
    `ModelStep`.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models import FakeListChatModel
        >>> agent = create_agent(FakeListChatModel(responses=["never asked"]),
        ...                      middleware=[PlannerMiddleware(token_budget=0)])
        >>> result = agent.invoke({"messages": [("user", "go")]})
        >>> result["messages"][-1].content
        'Stopped: Token budget of 0 is used up.'
        >>> result["plan"]["selected"]
        'ReturnBlocker'
    """

    state_schema = PlannerState

    @override
    async def _around(self, request: ModelRequest[Any], handler: Handler, *, waits: bool) -> Result:
        step = ModelStep(request)
        planned = await self.plan(step)
        plan = {"plan": planned.data()} if planned is not None and planned.is_news else {}
        wanted = None if planned is None else planned.conduct
        if wanted is not None and wanted.answer is not None:
            # Without the jump LangChain would ask for a structured answer again, without end.
            ends = {} if request.response_format is None else {"jump_to": "end"}
            said = ended_by(StopReason.BLOCKED, wanted.answer)
            return _with_update(ModelResponse(result=[said]), {**plan, **step.new(), **ends})
        if wanted is not None and wanted.notes:
            told = _with_notes(request.system_message, wanted.notes)
            request = request.override(system_message=told)
        try:
            response: Response = await handler(request) if waits else handler(request)
        except Exception as error:
            if is_fault(error):
                self.count_call(step, None if isinstance(error, _ARRIVED) else error)
            raise
        replies = [message for message in response.result if isinstance(message, AIMessage)]
        costs = [tokens_in(reply.usage_metadata) for reply in replies]
        cost = next((tokens.total for tokens in costs if tokens is not None), None)
        self.count_reply(step, cost, partial(_texts, step, replies))
        return _with_update(response, {**plan, **step.new()})


def _with_update(response: Response, update: dict[str, Any]) -> Result:
    if not update:
        return response
    return ExtendedModelResponse(model_response=response, command=Command(update=update))


def _texts(step: ModelStep, replies: list[AIMessage]) -> list[str]:
    return [*step.shown(), *map(text_of, replies)]


def _with_notes(told: SystemMessage | None, notes: Sequence[str]) -> SystemMessage:
    """Return the system message with notes after it; blocks stay blocks."""
    text = "\n\n".join(notes)
    if told is None:
        return SystemMessage(text)
    if isinstance(told.content, str):
        return SystemMessage(f"{told.content}\n\n{text}")
    return SystemMessage(content=[*told.content, {"type": "text", "text": text}])
