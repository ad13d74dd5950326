"""Middleware that answers where LangChain's own limits put a stock sentence."""

from __future__ import annotations

import sys
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage
from typing_extensions import override

from langchain_loopmend.messages import ended_by, text_of
from langchain_loopmend.middleware.loops import LoopGuardState
from langchain_loopmend.middleware.made_calls import calls_of, made_in
from loopmend import StopReason
from loopmend.mending import CapError, OnCap, answer_at_cap, check_on_cap
from loopmend.traces.stop import is_cap_sentence

__all__ = ["CapAnswerMiddleware"]


class CapAnswerMiddleware(AgentMiddleware[LoopGuardState, Any, Any]):
    """Answers from what was found where LangChain's own limits end a run.

    `ModelCallLimitMiddleware` and `ToolCallLimitMiddleware` end it with a sentence such as "Model
    call limits exceeded: run limit (5/5)". This middleware puts an answer in its place, made from
    what the calls since the user's last message found and marked as loopmend's.

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
        Stopped: the run reached its limit of calls. What was found: search(Oslo): in Norway
    """

    state_schema = LoopGuardState

    def __init__(self, *, on_cap: OnCap = "answer") -> None:
        """Say what to do.

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
        made = made_in(messages, state.get("loop_guard"), sys.maxsize)
        answer = answer_at_cap(calls_of(made), "its limit of calls")
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
