"""Middleware that notices when a run goes in circles, and answers where a limit ends it."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Annotated, Any

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.managed.is_last_step import RemainingStepsManager
from langgraph.types import Command
from typing_extensions import NotRequired, override

from langchain_loopmend.messages import ended_by, made_in, text_of
from langchain_loopmend.middleware.model_calls import (
    Handler,
    ModelCallMiddleware,
    Response,
    Result,
)
from loopmend import LoopPolicy, StopReason
from loopmend.adapting import Pace, is_cap_sentence, is_last_round, paced, require_int
from loopmend.mending import (
    CapError,
    MadeCalls,
    Nudge,
    OnCap,
    Stop,
    answer_at_cap,
    ask_before_cap,
    calls_of,
    check_on_cap,
)

__all__ = ["CapAnswerMiddleware", "LoopGuardMiddleware", "LoopGuardState"]


class LoopGuardState(AgentState[Any]):
    """The agent's state, with the calls since the user's last message.

    A summary of the conversation takes them out of the messages.
    """

    loop_guard: NotRequired[Annotated[MadeCalls, PrivateStateAttr]]
    loop_guard_pace: NotRequired[Annotated[Pace, UntrackedValue, PrivateStateAttr]]
    loop_guard_left: NotRequired[Annotated[int, PrivateStateAttr, RemainingStepsManager]]


class LoopGuardMiddleware(ModelCallMiddleware[LoopGuardState]):
    """Warns a model that goes in circles, and answers from the results so far at the step limit.

    It counts the calls since the user's last message, including those that a summary removed from
    the conversation: the same call with the same result, a tool that keeps failing, agents that
    hand the work back and forth. The model sees the warning, but the conversation does not keep it.

    When only one model call is left before the `recursion_limit`, the guard tells the model to
    answer. If the model calls tools instead, an answer from the results so far replaces the calls.
    loopmend marks an answer that it gives in the model's place, and every call has its result, so
    the history stays valid.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models import FakeMessagesListChatModel
        >>> from langchain_core.messages import AIMessage
        >>> class Model(FakeMessagesListChatModel):
        ...     def bind_tools(self, tools, **kwargs):
        ...         return self
        >>> def search(query: str) -> str:
        ...     "Search the web."
        ...     return "nothing found"
        >>> call = {"name": "search", "args": {"query": "Oslo"}}
        >>> replies = [AIMessage("", tool_calls=[{**call, "id": str(n)}]) for n in range(9)]
        >>> agent = create_agent(Model(responses=replies), [search],
        ...                      middleware=[LoopGuardMiddleware(warn_after=2, stop_after=3)])
        >>> result = agent.invoke({"messages": [("user", "Where is Oslo?")]})
        >>> result["messages"][-1].content[:40]
        'Stopped: search was called 3 times with '
    """

    state_schema = LoopGuardState

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        *,
        warn_after: int = 2,
        stop_after: int | None = None,
        window: int = 30,
        exclude_tools: Collection[str] = (),
        on_cap: OnCap = "answer",
        steps_after: int = 0,
    ) -> None:
        """Set the limits.

        Args:
            warn_after: Repeats before the model is warned.
            stop_after: Repeats before the run ends; never by default.
            window: How many of the latest calls count.
            exclude_tools: Tools that may repeat freely.
            on_cap: What to do before the `recursion_limit` is reached: `"answer"` from what was
                found, or let LangGraph `"raise"` its `GraphRecursionError`.
            steps_after: How many other middleware take a step after the answer (`after_agent`).

        Raises:
            ValueError: Not `1 < warn_after <= stop_after`, or another `on_cap`.
        """
        super().__init__()
        check_on_cap(on_cap)
        self._policy = LoopPolicy(warn_after, stop_after, window, exclude_tools)
        require_int(steps_after, "steps_after", 0)
        self._answers = on_cap == "answer"
        self._steps_after = steps_after

    @override
    async def _around(self, request: ModelRequest[Any], handler: Handler, *, waits: bool) -> Result:
        state: Any = request.state
        # The state's messages: other middleware may have changed the request's for this one call.
        messages = state.get("messages") or request.messages
        made = made_in(messages, state.get("loop_guard"), self._policy.window)
        calls, asked = calls_of(made), made["asked"]
        left = state.get("loop_guard_left", sys.maxsize) - self._steps_after
        pace = paced(left, state.get("loop_guard_pace"))
        is_last = self._answers and is_last_round(pace)
        decision = self._policy.decide(calls, asked)
        if isinstance(decision, Stop):
            answer = ended_by(StopReason(decision.reason), decision.content)
            return ModelResponse(result=[answer])
        told = decision.content if isinstance(decision, Nudge) else None
        if calls and is_last:
            told = ask_before_cap(asked)
        if told is not None:
            request = request.override(messages=[*request.messages, HumanMessage(told)])
        response: Response = await handler(request) if waits else handler(request)
        if not _calls(response):
            return response
        if is_last and _goes_on(response, pace, request):
            cap = answer_at_cap(calls)
            return ModelResponse(result=[ended_by(StopReason(cap.reason), cap.content)])
        update = {"loop_guard": made, "loop_guard_pace": pace}
        command: Command[Any] = Command(update=update)
        return ExtendedModelResponse(model_response=response, command=command)


def _goes_on(response: Response, pace: Pace, request: ModelRequest[Any]) -> bool:
    """Tell whether a response makes calls for which there are not enough steps."""
    if response.structured_response is not None:
        return False
    if pace["left"] < pace["round"]:
        return True
    # What such tools return is the answer: the model is not needed any more.
    direct = {
        tool.name for tool in request.tools if not isinstance(tool, dict) and tool.return_direct
    }
    return any(call["name"] not in direct for call in _calls(response))


def _calls(response: Response) -> list[Any]:
    replies = (message for message in response.result if isinstance(message, AIMessage))
    return [call for reply in replies for call in reply.tool_calls]


class CapAnswerMiddleware(AgentMiddleware[LoopGuardState, Any, Any]):
    """Answers from the results so far when LangChain's own limits end a run.

    `ModelCallLimitMiddleware` and `ToolCallLimitMiddleware` end it with a sentence such as "Model
    call limits exceeded: run limit (5/5)". This middleware replaces it with an answer from the
    results of the calls since the user's last message, and marks that answer as loopmend's.

    `LoopGuardMiddleware` does the same for the `recursion_limit`. If you use both, give it
    `steps_after=1`, because this one takes a step after the answer.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain.agents.middleware import ModelCallLimitMiddleware
        >>> from langchain_loopmend.testing import ScriptedChatModel, call
        >>> def search(query: str) -> str:
        ...     "Search the web."
        ...     return "in Norway"
        >>> limits = [ModelCallLimitMiddleware(run_limit=1), CapAnswerMiddleware()]
        >>> model = ScriptedChatModel(script=[call("search", query="Oslo")])
        >>> agent = create_agent(model, [search], middleware=limits)
        >>> print(agent.invoke({"messages": [("user", "Where is Oslo?")]})["messages"][-1].content)
        Stopped: the run reached its call limit. Results so far: search(Oslo): in Norway
    """

    state_schema = LoopGuardState

    def __init__(self, *, on_cap: OnCap = "answer") -> None:
        """Set what to do at the limit.

        Args:
            on_cap: `"answer"` from what was found, or `"raise"` a `loopmend.mending.CapError`.

        Raises:
            ValueError: Another `on_cap`.
        """
        super().__init__()
        check_on_cap(on_cap)
        self._raises = on_cap == "raise"

    @override
    def after_agent(self, state: LoopGuardState, runtime: Any) -> dict[str, Any] | None:
        messages = state["messages"]
        if not messages or not _is_limits(messages[-1]):
            return None
        made = made_in(messages, state.get("loop_guard"))
        answer = answer_at_cap(calls_of(made), "its call limit")
        if self._raises:
            raise CapError(answer)
        said = ended_by(StopReason(answer.reason), answer.content)
        return {"messages": [said.model_copy(update={"id": messages[-1].id})]}

    @override
    async def aafter_agent(self, state: LoopGuardState, runtime: Any) -> dict[str, Any] | None:
        return self.after_agent(state, runtime)


def _is_limits(message: BaseMessage) -> bool:
    """Tell whether a limit said it; what a provider sent says so in its metadata."""
    if not isinstance(message, AIMessage) or message.tool_calls:
        return False
    if message.response_metadata or message.usage_metadata:
        return False
    return is_cap_sentence(text_of(message))
